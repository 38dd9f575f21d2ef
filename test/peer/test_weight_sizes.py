"""weights.bin is as large as the codes of weights of 4 and 8 bits, and what blocks say of them, at all levels; a table that rows are taken
from and that is multiplied with is there once. SEER_TEST: timeout=300 labels=target"""
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T

from blocks import MS, Net, bytes_of
from peer import familyseer, run_tests


def size_of(net, folder, *flags):
    path = os.path.join(folder, "m.onnx")
    onnx.save(net.model(), path)
    familyseer("compile", path, "-o", folder, *flags)
    return os.path.getsize(os.path.join(folder, "weights.bin"))


def sizes():
    n = k = 1024
    for name, bits, make in (("4 bits", 4, lambda net: net.nbits(4, 32, n, k, [1], "none")), ("8 bits", 8, lambda net: net.nbits(8, 32, n, k, [1], "packed")),
                             ("int4", 4, lambda net: net.linear(T.INT4, n, k, 32, "MatMul", False)), ("uint8", 8, lambda net: net.linear(T.UINT8, n, k, 0, "Gemm", True)),
                             ("rows", 4, lambda net: net.look_up(T.UINT4, n, k, 32, True))):
        net = Net(4)
        make(net)
        codes, blocks = n * k * bits // 8, n * k // 32
        with tempfile.TemporaryDirectory() as folder:
            found = {flag: size_of(net, folder, flag) for flag in ("-O0", "-O1", "--random-schedules=1")}
        print(f"{name}: {found}, {codes} of codes", flush=True)
        # What tiles that do not divide columns fill up with zeros comes on top.
        assert all(codes < size < 1.25 * (codes + 5 * blocks) for size in found.values()), name


def tied():
    """A table that rows are taken from and that the last product is made with is stored once."""
    n, k, block = 32768, 512, 32
    net = Net(5)
    codes, scales = net.rng.integers(0, 16, (n, k // block, block)), net.constant(net.scales(n, k // block))
    data = bytes_of(codes, 4)
    net.feeds["i"] = np.array([5], np.int64)
    rows = net.node("GatherBlockQuantized", [net.constant(data.reshape(n, -1)), "i", scales], MS, bits=4, block_size=block, gather_axis=0, quantize_axis=1)
    y = net.node("MatMulNBits", [rows, net.constant(data), scales], MS, K=k, N=n, bits=4, block_size=block, accuracy_level=1)
    net.want[y] = None
    with tempfile.TemporaryDirectory() as folder:
        found = [size_of(net, folder, flag) for flag in ("-O0", "-O1")]
    print(f"tied: {found}, a table has {data.nbytes}", flush=True)
    assert all(size < 1.1 * (data.nbytes + 4 * n * k // block) for size in found)


run_tests([("sizes", sizes), ("tied", tied)])
