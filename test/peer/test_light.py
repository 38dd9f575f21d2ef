"""The nine networks of the onnx package with random weights (and classifiers of 512 channels) against ONNX Runtime. SEER_TEST: timeout=1800"""
import onnx

from peer import check_model, run_tests
from randomise import light_models, randomise

run_tests([(name, lambda path=path, name=name: check_model(name, randomise(onnx.load(path), hidden=512)))
           for name, path in light_models().items()])
