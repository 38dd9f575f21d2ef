#!/usr/bin/env python3
"""ShuffleNetV2 x1.0 (Ma et al., 2018) as an ONNX file, as torchvision would export it: 2.3 M random weights, built without
PyTorch. It is not built in, and the one among the light models of the onnx package is the first version.

    bench/shufflenet.py OUT.onnx [SIZE]
"""
import os
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "peer"))
from build_onnx import Net  # noqa: E402

STAGES = ((4, 116), (8, 232), (4, 464))  # units, channels out
STEM, LAST, CLASSES = 24, 1024, 1000


def convolution(net, x, channels_in, channels, size=1, stride=1, group=1, relu=True):
    x = net.conv(x, channels, channels_in, size, group=group, strides=[stride] * 2, pads=[size // 2] * 4)
    return net.op("Relu", x) if relu else x


def branch(net, x, channels_in, channels, stride):
    x = convolution(net, x, channels_in, channels)
    x = convolution(net, x, channels, channels, 3, stride, channels, relu=False)
    return convolution(net, x, channels, channels)


def shortcut(net, x, channels_in, channels):
    x = convolution(net, x, channels_in, channels_in, 3, 2, channels_in, relu=False)
    return convolution(net, x, channels_in, channels)


def shuffle(net, left, right, channels, size):
    """Channels of both take turns."""
    x = net.op("Concat", left, right, axis=1)
    x = net.op("Reshape", x, net.const(np.array([1, 2, channels // 2, size, size])))
    x = net.op("Transpose", x, perm=[0, 2, 1, 3, 4])
    return net.op("Reshape", x, net.const(np.array([1, channels, size, size])))


def build(size=224):
    if size % 32:
        sys.exit(f"shufflenet_v2: size is {size}, must be a multiple of 32")
    net = Net("shufflenet_v2", [1, 3, size, size], input_name="input")
    x = convolution(net, "input", 3, STEM, 3, 2)
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels, size = STEM, size // 4
    for n_units, wide in STAGES:
        half, size = wide // 2, size // 2
        x = shuffle(net, shortcut(net, x, channels, half), branch(net, x, channels, half, 2), wide, size)
        for _ in range(n_units - 1):
            left, right = net.op("Split", x, net.const(np.array([half, half])), n_out=2, axis=1)
            x = shuffle(net, left, branch(net, right, half, half, 1), wide, size)
        channels = wide
    x = net.op("GlobalAveragePool", convolution(net, x, channels, LAST))
    net.gemm(net.op("Flatten", x), CLASSES, LAST)
    return net.model()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    onnx.save(build(*map(int, sys.argv[2:])), sys.argv[1])
