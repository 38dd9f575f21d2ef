#!/usr/bin/env python3
"""Single operators against ONNX Runtime: which steps are slow, whatever network they are in.

    bench/operators.py --threads 1 2 --tune 10 --only 'Transpose|Softmax' --json

Each line of CASES becomes a file of one node, a library that is compiled without trials (-O1), with --tune another one that
was tuned so many seconds, and takes turns with ONNX Runtime (bench/peers.py, inputs and outputs where they are). Prints a
row a case, the slowest first: our time over ONNX Runtime's. BARS says what is aimed at. With --folder the files stay and
--step says what is done there: `build`, or `measure` what an earlier call has built.
"""
import argparse
import json
import os
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import measure
from table import mean

PEER = "onnxruntime"
# Of our time over ONNX Runtime's, tuned where that was asked for: of each, and of the geometric mean.
BARS = {"each": 1.5, "mean": 0.9}
TURNS = ["--bound", "--block", "30", "--blocks", "9"]

# ---- a case: an operator, its operands in order, its attributes. An operand is made when it is needed, by a generator of
# numbers: (whether it is an input, its value).
def x(*shape, low=-3.0, high=3.0):
    return lambda rng: (True, rng.uniform(low, high, shape).astype(np.float32))


def whole(below, *shape, dtype=np.int64):
    return lambda rng: (True, rng.integers(0, below, shape).astype(dtype))


def w(*shape):
    return lambda rng: (False, (rng.standard_normal(shape) * 0.1).astype(np.float32))


def constant(value, dtype=np.float32):
    return lambda rng: (False, np.array(value, dtype))


def ints(*values):
    return constant(values, np.int64)


def rows(n):
    """Different numbers below n, in no order: one a row."""
    return lambda rng: (True, rng.permutation(n)[:n // 8].reshape(-1, 1).astype(np.int64))


def boxes(n):
    def made(rng):
        corner, size = rng.uniform(0, 600, (1, n, 2)), rng.uniform(8, 120, (1, n, 2))
        return True, np.concatenate([corner, corner + size], axis=2).astype(np.float32)

    return made


def op(kind, *operands, outputs=1, **attributes):
    return kind, operands, outputs, attributes


def conv(channels, size, out, kernel, stride=1, group=1):
    return op("Conv", x(1, channels, size, size), w(out, channels // group, kernel, kernel), w(out), strides=[stride] * 2,
              pads=[kernel // 2] * 4, group=group)


def recurrent(kind, gates, length=32, size=128):
    return op(kind, x(length, 1, size), w(1, gates * size, size), w(1, gates * size, size), w(1, 2 * gates * size), hidden_size=size)


MILLION = (1024, 1024)
IMAGE = (1, 64, 112, 112)
CASES = {
    "Conv 1x1": conv(256, 28, 256, 1),
    "Conv 3x3": conv(64, 56, 64, 3),
    "Conv 7x7 s2": conv(3, 224, 64, 7, 2),
    "Conv depthwise 3x3": conv(144, 56, 144, 3, group=144),
    "Conv depthwise 5x5 s2": conv(240, 28, 240, 5, 2, group=240),
    "ConvTranspose 4x4 s2": op("ConvTranspose", x(1, 64, 28, 28), w(64, 32, 4, 4), strides=[2, 2], pads=[1] * 4),
    "MatMul 512": op("MatMul", x(512, 512), w(512, 512)),
    "MatMul tall": op("MatMul", x(3136, 64), w(64, 256)),
    "MatMul batched": op("MatMul", x(12, 128, 64), x(12, 64, 128)),
    "MatMul of a row": op("MatMul", x(1, 1024), w(1024, 4096)),
    "Gemm": op("Gemm", x(128, 768), w(768, 768), w(768), transB=1),
    "MaxPool 3x3 s2": op("MaxPool", x(*IMAGE), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
    "AveragePool 2x2 s2": op("AveragePool", x(*IMAGE), kernel_shape=[2, 2], strides=[2, 2]),
    "GlobalAveragePool": op("GlobalAveragePool", x(1, 512, 28, 28)),
    "Softmax 256x1000": op("Softmax", x(256, 1000), axis=-1),
    "Softmax long rows": op("Softmax", x(8, 65536), axis=-1),
    "LayerNormalization": op("LayerNormalization", x(384, 768), w(768), w(768)),
    "InstanceNormalization": op("InstanceNormalization", x(*IMAGE), w(64), w(64)),
    "BatchNormalization": op("BatchNormalization", x(*IMAGE), w(64), w(64), w(64), constant([1.0] * 64)),
    "Tanh": op("Tanh", x(*MILLION)),
    "Gelu": op("Gelu", x(*MILLION)),
    "Erf": op("Erf", x(*MILLION)),
    "Sigmoid": op("Sigmoid", x(*MILLION)),
    "Exp": op("Exp", x(*MILLION)),
    "Log": op("Log", x(*MILLION, low=0.1)),
    "Pow": op("Pow", x(256, 1024, low=0.1), x(256, 1024)),
    "Div": op("Div", x(*MILLION), x(*MILLION, low=0.5)),
    "Add of a channel": op("Add", x(*IMAGE), x(1, 64, 1, 1)),
    "Transpose 1024x1024": op("Transpose", x(*MILLION), perm=[1, 0]),
    "Transpose to channels last": op("Transpose", x(*IMAGE), perm=[0, 2, 3, 1]),
    "Transpose to channels first": op("Transpose", x(1, 112, 112, 64), perm=[0, 3, 1, 2]),
    "Transpose of heads": op("Transpose", x(1, 384, 12, 64), perm=[0, 2, 1, 3]),
    "Transpose of keys": op("Transpose", x(1, 384, 12, 64), perm=[0, 2, 3, 1]),
    "Concat of channels": op("Concat", *(x(1, 64, 56, 56) for _ in range(4)), axis=1),
    "Concat of columns": op("Concat", *(x(4096, 48) for _ in range(4)), axis=1),
    "Split": op("Split", x(4096, 192), axis=1, outputs=4, num_outputs=4),
    "Slice strided": op("Slice", x(*IMAGE), ints(0, 0), ints(112, 112), ints(2, 3), ints(2, 2)),
    "Pad": op("Pad", x(*IMAGE), ints(0, 0, 1, 1, 0, 0, 1, 1)),
    "Gather of rows": op("Gather", w(30522, 256), whole(30522, 512)),
    "GatherElements": op("GatherElements", x(512, 1024), whole(1024, 512, 256), axis=1),
    "ScatterND of rows": op("ScatterND", x(4096, 64), rows(4096), x(512, 64)),
    "TopK": op("TopK", x(16, 8400), ints(100), outputs=2),
    "CumSum": op("CumSum", x(64, 4096), constant(1, np.int64)),
    "ArgMax": op("ArgMax", x(256, 1000), axis=1),
    "ReduceSum last": op("ReduceSum", x(*MILLION), ints(1)),
    "ReduceSum first": op("ReduceSum", x(*MILLION), ints(0)),
    "ReduceSum middle": op("ReduceSum", x(64, 128, 128), ints(1)),
    "ReduceMax last": op("ReduceMax", x(*MILLION), ints(1)),
    **{f"Resize {mode}": op("Resize", x(1, 32, 64, 64), constant([]), constant([1, 1, 2, 2]), mode=mode)
       for mode in ("linear", "nearest", "cubic")},
    "Cast to i64": op("Cast", x(256, 1024), to=T.INT64),
    "Where": op("Where", whole(2, *MILLION, dtype=bool), x(*MILLION), x(*MILLION)),
    "Expand": op("Expand", x(64, 1, 128), ints(64, 64, 128)),
    "DepthToSpace": op("DepthToSpace", x(1, 256, 56, 56), blocksize=2),
    "QuantizeLinear": op("QuantizeLinear", x(*MILLION), constant(0.03), constant(128, np.uint8)),
    "DequantizeLinear": op("DequantizeLinear", whole(256, *MILLION, dtype=np.uint8), constant(0.03), constant(128, np.uint8)),
    "GRU": recurrent("GRU", 3),
    "LSTM": recurrent("LSTM", 4),
    "NonMaxSuppression": op("NonMaxSuppression", boxes(1000), x(1, 1, 1000, low=0, high=1), constant(50, np.int64), constant(0.5),
                            constant(0.1)),
}


def as_model(case):
    """(the file's contents, {input: array})."""
    kind, operands, n_outputs, attributes = case
    rng, feeds, constants, inputs = np.random.default_rng(7), {}, [], []
    names = [f"x{k}" for k in range(len(operands))]
    for name, operand in zip(names, operands):
        is_input, value = operand(rng)
        if is_input:
            feeds[name] = value
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        else:
            constants.append(numpy_helper.from_array(value, name))
    outputs = [f"y{k}" for k in range(n_outputs)]
    node = helper.make_node(kind, names, outputs, **attributes)
    graph = helper.make_graph([node], "operator", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True), feeds


# ---- building and measuring
def place(folder, name):
    return os.path.join(folder, re.sub(r"\W+", "-", name))


def build(name, folder, tune, threads):
    at = place(folder, name)
    os.makedirs(at, exist_ok=True)
    model, feeds = as_model(CASES[name])
    onnx.save(model, f"{at}/net.onnx")
    np.savez(f"{at}/feeds.npz", **feeds)
    for n in threads:
        measure.run(measure.SEER, "compile", f"{at}/net.onnx", "-O1", "--ignore-records", "--threads", n, "-o", f"{at}/untuned{n}")
        if tune:
            measure.run(measure.SEER, "tune", f"{at}/net.onnx", "--threads", n, "--time-budget", tune, "--records",
                        f"{at}/tuned{n}.sqlite", "-o", f"{at}/tuned{n}")


def compare(name, folder, threads):
    """A row: our times over ONNX Runtime's, of the tuned library too where there is one."""
    at = place(folder, name)
    ours = {how: f"{at}/{how}{threads}/model.so" for how in ("tuned", "untuned") if os.path.exists(f"{at}/{how}{threads}")}
    found = measure.in_turns([PEER], f"{at}/net.onnx", ours, threads, "--feeds", f"{at}/feeds.npz", *TURNS)["contenders"]
    first = next(iter(ours))
    row = {"case": name, "threads": threads, "ms": {how: entry["median_ms"] for how, entry in found.items()},
           "ratio": found[PEER]["ratio"], "low": found[PEER]["ratio_low"], "high": found[PEER]["ratio_high"]}
    row["untuned"] = row["ratio"] if first == "untuned" else row["ratio"] / found["untuned"]["ratio"]
    return row


def closing(found):
    """Geometric mean and what misses its bar, for each number of threads."""
    lines = []
    for n in sorted({row["threads"] for row in found}):
        rows_of = [row for row in found if row["threads"] == n]
        slow = [f"{row['case']} {row['ratio']:.2f}" for row in rows_of if row["ratio"] > BARS["each"]]
        lines.append(f"{n} threads: geometric mean {mean([r['ratio'] for r in rows_of]):.3f} of {len(rows_of)} (at most {BARS['mean']}), "
                     f"untuned {mean([r['untuned'] for r in rows_of]):.3f}; slower than {BARS['each']}: {', '.join(slow) or 'none'}")
    return lines


def show(found, failed):
    print(f"{'':28s} threads  ONNX Runtime   untuned     tuned   time / ONNX Runtime's     untuned")
    for row in sorted(found, key=lambda r: -r["ratio"]):
        tuned = f"{row['ms']['tuned']:9.4f}" if "tuned" in row["ms"] else " " * 9
        print(f"{row['case']:28s} {row['threads']:7d} {row['ms'][PEER]:10.4f} ms {row['ms']['untuned']:9.4f} {tuned}   "
              f"{row['ratio']:.3f} [{row['low']:.3f}, {row['high']:.3f}]   {row['untuned']:.3f}")
    for name, why in failed.items():
        print(f"{name}: {why}")
    for line in closing(found):
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tune", type=float, default=0, help="seconds for each operator; 0: only without trials")
    parser.add_argument("--only", default="", help="of the cases, a regular expression")
    parser.add_argument("--folder", help="where files and libraries stay; without it they go")
    parser.add_argument("--step", choices=["build", "measure"], help="one of the two, in --folder; without it both")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.step and not args.folder:
        parser.error("--step needs --folder: the other step is another call's")
    found, failed = [], {}
    with measure.workplace("operators", None) as own:
        folder = args.folder or own
        for name in [name for name in CASES if re.search(args.only, name)]:
            try:
                if args.step != "measure":
                    build(name, folder, args.tune, args.threads)
                if args.step != "build":
                    found += [compare(name, folder, n) for n in args.threads]
            except measure.Failed as why:
                failed[name] = str(why)
            print(f"\r{name:40s}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if args.json:
        print(json.dumps({"rows": found, "failed": failed, "closing": closing(found)}))
    else:
        show(found, failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
