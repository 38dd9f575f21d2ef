#!/usr/bin/env python3
"""A network in f32 -> the same quantised by ONNX Runtime's own tool, for bench/peers.py.

    bench/quantise.py net.onnx net.qdq.onnx [--dynamic]

Static: QDQ, u8 activations, i8 weights with a scale per output channel, calibrated on random numbers (0 and 1 for integers),
after that tool's own preparation, shape inference and fusions. --dynamic: weights alone, activations while running.
"""
import argparse
import os
import tempfile

from onnxruntime import quantization
from onnxruntime.quantization import shape_inference

import peers

N_CALIBRATIONS = 4


class Random(quantization.CalibrationDataReader):
    def __init__(self, path):
        self.feeds = [peers.random_feeds(path)] * N_CALIBRATIONS

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("to")
    parser.add_argument("--dynamic", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        prepared = os.path.join(work, "prepared.onnx")
        shape_inference.quant_pre_process(args.source, prepared, skip_symbolic_shape=True)
        if args.dynamic:
            quantization.quantize_dynamic(prepared, args.to, per_channel=True, weight_type=quantization.QuantType.QInt8)
        else:
            quantization.quantize_static(prepared, args.to, Random(args.source), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                         activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


if __name__ == "__main__":
    main()
