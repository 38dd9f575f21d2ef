"""The nine networks of the onnx package with random weights (and classifiers of 512 channels) against ONNX Runtime. SEER_TEST: timeout=1800 cost=40"""
import onnx

from peer import check_model, run_tests
from randomise import light_models, randomise

run_tests([(name, lambda path=path, name=name, turn=turn: check_model(name, randomise(onnx.load(path), hidden=512), turn=turn))
           for turn, (name, path) in enumerate(light_models().items())])
