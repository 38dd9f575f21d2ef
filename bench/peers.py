#!/usr/bin/env python3
"""Latency of a tuned network against its peers, as ratios of things interleaved in one run.

    bench/peers.py --onnx net.onnx --ours tuned=out/model.so --ours untuned=out1/model.so --peer onnxruntime --threads 2

Each contender is a process of its own, stopped (SIGSTOP) while another one runs. Blocks of at least --block ms alternate
in random order, at least --blocks of them; the ratio of two contenders is the median of the ratios of their blocks of the
same round, with a 95 % bootstrap interval. All get the same inputs, and before anything is timed each one's answer is held
against the first peer's. A peer that does not take the network, or computes something else, is left out and named. Prints a
table with the precision that each one ran its products in, as it says itself, or one JSON object with --json. What a contender says goes to stderr with --verbose.
"""
import argparse
import atexit
import importlib.util
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


# ---- a contender: reads "<milliseconds>" lines, runs that long, answers the median latency [ms] of its runs
def aligned(value):
    """The same where a cache line begins: elsewhere, vectors as long as a line cross into the next one."""
    memory = np.empty(value.nbytes + 64, np.uint8)
    first = -memory.ctypes.data % 64
    copy = memory[first:first + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


# A maker: (file, feeds, threads, folder of its own) -> a function that runs it once and gives the model's outputs in order.
# f32 throughout: what would compute in less is told not to, but for openvino-default, which is what people get who ask for nothing.
# The function's attribute `precision` says what products are computed in; without it, it is the file's.
def open_ours(path, threads):
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import familyseer
    return familyseer.Model(path, threads=threads, pin=True)


def our_precision(path):
    """What a library says that it was made with; None: the file's."""
    with open(os.path.join(os.path.dirname(path), "model.json"), encoding="utf-8") as file:
        return json.load(file).get("precision")


def make_ours(path, feeds, threads, folder):
    model = open_ours(path, threads)

    def run():
        return list(model.run(feeds).values())

    run.precision = our_precision(path)
    return run


def make_ours_bound(path, feeds, threads, folder):
    model = open_ours(path, threads)
    own, kept, out = model._bind(feeds)
    out = [aligned(value) for value in out]
    for i, value in enumerate(out):
        model._session.bind_output(i, value)
    is_sized = any(value.bounded for value in own.outputs)

    def run(kept=kept):  # which live as long as it is run
        model._session.run()
        return [model._cut(i, v, y) for i, (v, y) in enumerate(zip(own.outputs, out))] if is_sized else out

    run.precision = our_precision(path)
    return run


def open_onnxruntime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def make_onnxruntime(path, feeds, threads, folder):
    session = open_onnxruntime(path, threads)
    return lambda: session.run(None, feeds)


def make_onnxruntime_bound(path, feeds, threads, folder):
    session = open_onnxruntime(path, threads)
    binding, answer = session.io_binding(), [aligned(value) for value in session.run(None, feeds)]
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output, value in zip(session.get_outputs(), answer):
        binding.bind_output(output.name, "cpu", 0, value.dtype, value.shape, value.ctypes.data)

    def run():
        session.run_with_iobinding(binding)
        return answer

    return run


PRODUCTS = {"Convolution", "GroupConvolution", "Deconvolution", "FullyConnected", "MatMul", "RNNCell", "RNNSeq", "ScaledDotProductAttention",
            "ScaledDotProductAttentionWithKVCache", "LLMMLP", "QKVProjection"}


def openvino_precision(compiled):
    """Of the products of the graph that runs, by how many have each: "bf16", or "i8 f32". Where it has none, what was asked for."""
    names, counts = {"i8": "i8", "u8": "i8"}, {}
    for node in compiled.get_runtime_model().get_ordered_ops():
        if node.get_rt_info()["layerType"].astype(str) in PRODUCTS:
            kind = node.get_rt_info()["runtimePrecision"].astype(str)
            counts[names.get(kind, kind)] = counts.get(names.get(kind, kind), 0) + 1
    hint = {"float": "f32", "bfloat16": "bf16", "float16": "f16"}
    asked = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
    return " ".join(sorted(counts, key=lambda kind: -counts[kind])) or hint.get(asked, asked)


def openvino_with(options, path, feeds, threads):
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({name: list(value.shape) for name, value in feeds.items()})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": str(threads), "NUM_STREAMS": "1",
                                                 "PERFORMANCE_HINT": "LATENCY", **options})
    request = compiled.create_infer_request()

    def run():
        answer = request.infer(feeds)
        return [answer[port] for port in compiled.outputs]

    run.precision = openvino_precision(compiled)
    return run


def make_openvino(path, feeds, threads, folder):
    return openvino_with({"INFERENCE_PRECISION_HINT": "f32"}, path, feeds, threads)


def make_openvino_default(path, feeds, threads, folder):
    """Its precision is its own choice: bf16, or f16, where the processor has instructions for it."""
    return openvino_with({}, path, feeds, threads)


def shell(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(command[0])}: status {done.returncode}:\n{done.stdout[-2000:]}")


def beside_python(program):
    """A program that a package has put beside the interpreter that we run in."""
    return os.path.join(os.path.dirname(sys.executable), program)


def inside_package(package, program):
    """A program of a package, without the Python around it, which may need more than is installed."""
    folder = importlib.util.find_spec(package).submodule_search_locations[0]
    return os.path.join(folder, program)


def make_ncnn(path, feeds, threads, folder):
    """By pnnx, ncnn's own way from ONNX. A batch of one has no dimension in ncnn."""
    import ncnn
    shutil.copy(path, f"{folder}/net.onnx")
    names = {"float32": "f32", "int64": "i64", "int32": "i32", "bool": "bool"}
    shapes = ",".join("[" + ",".join(map(str, v.shape)) + "]" + names[v.dtype.name] for v in feeds.values())
    shell(inside_package("pnnx", "pnnx"), "net.onnx", f"inputshape={shapes}", "fp16=0", cwd=folder)
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    for reduced in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, f"use_{reduced}", False)
    if net.load_param(f"{folder}/net.ncnn.param") or net.load_model(f"{folder}/net.ncnn.bin"):
        sys.exit("ncnn: does not load what pnnx wrote")
    inputs = [ncnn.Mat(np.ascontiguousarray(v[0] if v.shape[0] == 1 else v)).clone() for v in feeds.values()]
    names = net.output_names()

    def run():
        extractor = net.create_extractor()
        for i, value in enumerate(inputs):
            extractor.input(f"in{i}", value)
        return [np.array(extractor.extract(name)[1]) for name in names]

    return run


def make_mnn(path, feeds, threads, folder):
    import MNN
    shell(beside_python("mnnconvert"), "-f", "ONNX", "--modelFile", os.path.abspath(path), "--MNNModel", "net.mnn",
          "--bizCode", "MNN", cwd=folder)
    net = MNN.Interpreter(f"{folder}/net.mnn")
    session = net.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
    kinds = {"float32": MNN.Halide_Type_Float, "int32": MNN.Halide_Type_Int, "int64": MNN.Halide_Type_Int}
    into, given = net.getSessionInputAll(session), {}
    for name, value in feeds.items():
        if tuple(into[name].getShape()) != value.shape:
            net.resizeTensor(into[name], value.shape)
        value = value.astype(np.int32) if value.dtype == np.int64 else value
        given[name] = MNN.Tensor(value.shape, kinds[value.dtype.name], value, MNN.Tensor_DimensionType_Caffe)
    net.resizeSession(session)

    def run():
        for name, value in given.items():
            into[name].copyFrom(value)
        net.runSession(session)
        answer = []
        for tensor in net.getSessionOutputAll(session).values():
            shape = tensor.getShape()
            host = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            answer.append(np.array(host.getNumpyData()).reshape(shape))
        return answer

    return run


def make_inductor(path, feeds, threads, folder):
    """PyTorch's compiler with everything that it offers for inference: frozen weights, autotuning, a C++ wrapper."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    import onnx2torch
    import torch
    import torch._inductor.config
    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    torch._inductor.config.cpp_wrapper = True
    model = torch.compile(onnx2torch.convert(path).eval(), mode="max-autotune-no-cudagraphs")
    inputs = [torch.from_numpy(v) for v in feeds.values()]

    def run():
        with torch.inference_mode():
            answer = model(*inputs)
        return [a.numpy() for a in (answer if isinstance(answer, (tuple, list)) else [answer])]

    return run


MAKERS = {"ours": make_ours, "onnxruntime": make_onnxruntime, "openvino": make_openvino, "openvino-default": make_openvino_default, "ncnn": make_ncnn, "mnn": make_mnn,
          "inductor": make_inductor}
# With inputs and outputs where they are: what a call costs is the network's alone.
BOUND_MAKERS = {"ours": make_ours_bound, "onnxruntime": make_onnxruntime_bound}
# PyTorch is 6 GB: an environment of its own, made by tool/deps.sh inductor.
PYTHON = {"inductor": os.path.join(ROOT, ".venv-inductor", "bin", "python")}


def contend(kind, path, threads, folder, is_bound):
    to_parent = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print as they like
    feeds = {name: aligned(value) for name, value in np.load(f"{folder}/../feeds.npz").items()}
    run = (BOUND_MAKERS if is_bound else MAKERS)[kind](path, feeds, threads, folder)
    for _ in range(5):
        answer = run()
    np.savez(f"{folder}/answer.npz", *answer)
    with open(f"{folder}/precision", "w", encoding="utf-8") as file:
        file.write(getattr(run, "precision", None) or "")
    print("ready", file=to_parent, flush=True)
    for line in sys.stdin:
        budget, times = float(line) * 1e-3, []
        start = time.perf_counter()
        while len(times) < 3 or time.perf_counter() - start < budget:
            before = time.perf_counter()
            run()
            times.append(time.perf_counter() - before)
        print(repr(statistics.median(times) * 1e3), file=to_parent, flush=True)


# ---- the parent
class Unfit(Exception):
    """Why a contender cannot take part."""


class Contender:
    def __init__(self, name, kind, path, args, folder):
        self.name, self.kind = name, kind
        self.folder = tempfile.mkdtemp(prefix=f"{kind}-", dir=folder)
        command = [PYTHON.get(kind, sys.executable), os.path.abspath(__file__), "--contend", kind, os.path.abspath(path), self.folder,
                   "--threads", str(args.threads)] + (["--bound"] if args.bound else [])
        if not os.path.exists(command[0]):
            raise Unfit(f"not installed: run tool/deps.sh {kind}")
        with open(f"{self.folder}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=None if args.verbose else log, text=True)
        atexit.register(self.end)  # one that is stopped would outlive us
        if self.process.stdout.readline().strip() != "ready":
            with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as log:
                raise Unfit(f"does not start\n{log.read()[-2000:]}".rstrip())
        self.stop()
        with np.load(f"{self.folder}/answer.npz") as answer:
            self.answer = [answer[key] for key in answer.files]
        with open(f"{self.folder}/precision", encoding="utf-8") as file:
            self.precision = file.read() or file_precision(args.onnx)
        self.error = 0.0  # of the largest output of the judge

    def stop(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def block(self, milliseconds):
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(f"{milliseconds}\n")
        self.process.stdin.flush()
        latency = float(self.process.stdout.readline())
        self.stop()
        return latency

    def end(self):
        self.process.kill()
        self.process.wait()


KINDS = {1: np.float32, 6: np.int32, 7: np.int64, 9: bool, 11: np.float64}  # of onnx.TensorProto


def random_feeds(path):
    """Inputs of the network by name: random numbers; 0 and 1 for integers, which may be indices or flags; 1 for a symbolic size."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    constant = {t.name for t in graph.initializer}
    rng, feeds = np.random.default_rng(1), {}
    for value in graph.input:
        if value.name not in constant:
            shape = [d.dim_value if d.dim_value > 0 else 1 for d in value.type.tensor_type.shape.dim]
            dtype = np.dtype(KINDS[value.type.tensor_type.elem_type])
            is_float = np.issubdtype(dtype, np.floating)
            feeds[value.name] = (rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)).astype(dtype)
    return feeds


QUANTISED = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QGemm", "ConvInteger",
             "MatMulInteger"}


def file_precision(path):
    """What the products of a file are of: "f32", "i8 f32", "4 bits f32"."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    bits = {a.i for n in graph.node if n.op_type == "MatMulNBits" for a in n.attribute if a.name == "bits"}
    found = [f"{b} bits" for b in sorted(bits or {4})] if any(n.op_type == "MatMulNBits" for n in graph.node) else []
    found += ["i8"] if any(n.op_type in QUANTISED for n in graph.node) else []
    floats = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.FLOAT16: "f16", onnx.TensorProto.BFLOAT16: "bf16", onnx.TensorProto.DOUBLE: "f64"}
    kinds = {t.data_type for t in graph.initializer} | {v.type.tensor_type.elem_type for v in graph.input}
    return " ".join(found + [name for kind, name in floats.items() if kind in kinds]) or "f32"


def is_lower(contender, judge):
    """Whether it computes in something narrower than f32 that the judge does not compute in."""
    return bool(set(contender.precision.split()) - set(judge.precision.split()) - {"f32", "f64"})


def check_answer(c, judge, tolerance):
    """Its outputs against those of another, by size (ncnn drops a batch of one)."""
    if len(c.answer) != len(judge.answer):
        raise Unfit(f"{len(c.answer)} outputs, {judge.name} has {len(judge.answer)}")
    for got, want in zip(c.answer, judge.answer):
        got, want = got.astype(np.float64), want.astype(np.float64)
        error = np.inf if got.size != want.size else np.abs(got.ravel() - want.ravel()).max() / max(np.abs(want).max(), 1e-30)
        if not error <= tolerance:
            raise Unfit(f"an output differs from {judge.name}'s by {error:.2g} of its largest (shapes {got.shape}, {want.shape}; "
                        f"{c.precision}, {judge.name} {judge.precision})")
        c.error = max(c.error, error)


def start(args, folder):
    """(contenders that compute the same, {peer: why it is left out}). Ours and the first peer must take part."""
    wanted = []
    for text in args.ours:
        name, has_name, path = text.partition("=")
        if not has_name or "/" in name:  # a path alone, which may have an `=` in it
            name, path = "", text
        wanted.append((name or "familyseer", "ours", path))
    wanted += [(peer, peer, args.onnx) for peer in args.peer]
    must = [name for name, kind, _ in wanted if kind == "ours"] + args.peer[:1]
    judge, ready, left_out = None, [], {}
    for name, kind, path in sorted(wanted, key=lambda w: w[0] != (args.peer or must)[0]):  # the judge comes first
        try:
            contender = Contender(name, kind, path, args, folder)
            judge = judge or contender
            check_answer(contender, judge, args.low_tolerance if is_lower(contender, judge) else args.tolerance)
            ready.append(contender)
        except Unfit as reason:
            if name in must:
                sys.exit(f"{name}: {reason}")
            left_out[name] = str(reason)
    order = [name for name, _, _ in wanted]
    return sorted(ready, key=lambda c: order.index(c.name)), left_out


def interval(ratios, rng):
    """95 % bootstrap interval of the median."""
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(1000))
    return medians[25], medians[974]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contend", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--onnx", help="the network, for the peers")
    parser.add_argument("--ours", action="append", default=[], help="name=model.so; the first one is compared")
    parser.add_argument("--peer", action="append", default=[], choices=[kind for kind in MAKERS if kind != "ours"])
    parser.add_argument("--feeds", help="its inputs by name, an .npz; without it random ones")
    parser.add_argument("--bound", action="store_true", help="inputs and outputs stay where they are; of: " + ", ".join(BOUND_MAKERS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--block", type=float, default=300, help="ms")
    parser.add_argument("--tolerance", type=float, default=1e-2,
                        help="of the largest output; quantised networks spread single steps further")
    parser.add_argument("--low-tolerance", type=float, default=0.3,
                        help="the same of who computes in less than the first peer; how far it is off stands in its row")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if args.contend:
        kind, path, folder = args.contend
        contend(kind, path, args.threads, folder, args.bound)
        return
    if not args.onnx:
        parser.error("--onnx is needed: the network's inputs")
    unbound = [peer for peer in args.peer if args.bound and peer not in BOUND_MAKERS]
    if unbound:
        parser.error(f"--bound: {', '.join(unbound)} cannot, only {', '.join(BOUND_MAKERS)}")
    # Its removal is registered first, so that it comes after the end of those who use it.
    work = tempfile.TemporaryDirectory(prefix="peers-")
    np.savez(f"{work.name}/feeds.npz", **(np.load(args.feeds) if args.feeds else random_feeds(args.onnx)))
    contenders, left_out = start(args, work.name)
    rng = random.Random(args.seed)
    latency = {c.name: [] for c in contenders}
    for _ in range(args.blocks):
        for c in rng.sample(contenders, len(contenders)):
            latency[c.name].append(c.block(args.block))
    for c in contenders:
        c.end()
    first = contenders[0].name
    result = {"threads": args.threads, "blocks": args.blocks, "block_ms": args.block, "contenders": {}, "left_out": left_out}
    by_name = {c.name: c for c in contenders}
    for name, values in latency.items():
        entry = {"median_ms": statistics.median(values), "min_ms": min(values), "precision": by_name[name].precision,
                 "error": float(by_name[name].error)}
        if name != first:
            ratios = [a / b for a, b in zip(latency[first], values)]
            entry["ratio"] = statistics.median(ratios)
            entry["ratio_low"], entry["ratio_high"] = interval(ratios, rng)
        result["contenders"][name] = entry
    if args.json:
        print(json.dumps(result))
        return
    print(f"{'':16s} {'median':>10s} {'min':>10s}  {'precision':9s} {'error':>7s}   {first} / this")
    for name, entry in result["contenders"].items():
        ratio = f"{entry['ratio']:.3f} [{entry['ratio_low']:.3f}, {entry['ratio_high']:.3f}]" if "ratio" in entry else ""
        print(f"{name:16s} {entry['median_ms']:7.3f} ms {entry['min_ms']:7.3f} ms  {entry['precision']:9s} {entry['error']:7.1e}   {ratio}")
    for name, reason in left_out.items():
        print(f"{name:16s} left out: {reason}")


if __name__ == "__main__":
    main()
