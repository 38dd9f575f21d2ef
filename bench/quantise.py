#!/usr/bin/env python3
"""A network in f32 -> the same quantised, for bench/peers.py.

    bench/quantise.py net.onnx net.qdq.onnx [--dynamic]
    bench/quantise.py net.onnx net.qdq.onnx --tool nncf [--transformer]

Both calibrate on random numbers (0 and 1 for integers). ONNX Runtime's tool: QDQ, u8 activations, i8 weights with a scale per
output channel, after its own preparation, shape inference and fusions; --dynamic: weights alone, activations while running.
NNCF (`pip install nncf`): QDQ where operators gain by it, signed activations symmetric, a scale for each channel in front of
depthwise convolutions, the network as it was otherwise; --transformer: as it does for models of that kind.
"""
import argparse
import os
import tempfile

import peers

N_CALIBRATIONS = 4


def by_nncf(source, to, is_transformer):
    import nncf
    import onnx
    kind = {"model_type": nncf.ModelType.TRANSFORMER} if is_transformer else {}
    feeds = [peers.random_feeds(source)] * N_CALIBRATIONS
    onnx.save(nncf.quantize(onnx.load(source), nncf.Dataset(feeds), subset_size=N_CALIBRATIONS, **kind), to)


def by_onnxruntime(source, to, is_dynamic):
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    class Random(quantization.CalibrationDataReader):
        def __init__(self):
            self.feeds = [peers.random_feeds(source)] * N_CALIBRATIONS

        def get_next(self):
            return self.feeds.pop() if self.feeds else None

    with tempfile.TemporaryDirectory() as work:
        prepared = os.path.join(work, "prepared.onnx")
        shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
        if is_dynamic:
            quantization.quantize_dynamic(prepared, to, per_channel=True, weight_type=quantization.QuantType.QInt8)
        else:
            quantization.quantize_static(prepared, to, Random(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                         activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("to")
    parser.add_argument("--tool", choices=("onnxruntime", "nncf"), default="onnxruntime")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--transformer", action="store_true")
    args = parser.parse_args()
    if args.dynamic and args.tool == "nncf" or args.transformer and args.tool != "nncf":
        parser.error("--dynamic is for ONNX Runtime's tool, --transformer for NNCF's")
    if args.tool == "nncf":
        by_nncf(args.source, args.to, args.transformer)
    else:
        by_onnxruntime(args.source, args.to, args.dynamic)


if __name__ == "__main__":
    main()
