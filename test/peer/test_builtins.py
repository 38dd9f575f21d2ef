"""The built-in networks, written out as ONNX, against ONNX Runtime. SEER_TEST: timeout=900 labels=serial"""
import os
import tempfile

import onnx

from peer import check_model, familyseer, run_tests


def builtin(name):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, name + ".onnx")
        familyseer("models", "--export", name, "-o", tmp)
        onnx.checker.check_model(path)
        check_model(name, path)


run_tests([(name, lambda name=name: builtin(name)) for name in ("mlp", "mobilenet_v2", "mobilenet", "resnet18", "resnet50_v1")])
