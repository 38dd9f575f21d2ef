"""Weights of 2, 4 and 8 bits quantised by blocks, activations real: MatMulNBits, GatherBlockQuantized, and DequantizeLinear in front of
MatMul, Gemm and Gather. Answers against sums of dequantised weights in f64 and against ONNX Runtime in f32. SEER_TEST: timeout=600"""
from onnx import TensorProto as T

from blocks import SMALL, Net
from peer import run_tests


def products_of_nbits():
    net = Net(1)
    for bits in (2, 4, 8):
        for block, n, k, rows in ((16, 33, 64, [1]), (32, 17, 100, [3]), (64, 5, 65, [2, 3]), (128, 16, 256, [1, 1]), (256, 40, 15, [20])):
            for zero in ("none", "packed", "real")[: 2 if bits == 8 else 3]:  # ONNX Runtime has no real ones of 8 bits
                net.nbits(bits, block, n, k, rows, zero, bias=block == 32)
    net.check()


def rows_of_blocks():
    net = Net(2)
    for bits in (2, 4, 8):
        for block, rows, k in ((16, 7, 64), (32, 1, 96), (128, 9, 128)):
            for zero in (False, True):
                net.gather(bits, block, rows, k, zero)
    net.check()


def dequantised():
    net = Net(3)
    for elem in SMALL:
        for block in (None, 0, 16, 32):
            for how in ("MatMul", "Transpose", "Gemm"):
                net.linear(elem, 19, 75, block, how, zero=how != "Transpose")
            net.look_up(elem, 11, 75, block, zero=block != 16)
    net.linear(T.INT4, 9, 30, 3, "MatMul", True)  # blocks that end within words
    net.check()


run_tests([("nbits", products_of_nbits), ("rows", rows_of_blocks), ("dequantised", dequantised)])
