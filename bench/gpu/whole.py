#!/usr/bin/env python3
"""Whole networks on one OpenCL or CUDA device: untuned and after a tuning, held against the network as its file has it, and timed in turns.

    bench/gpu/whole.py [--target opencl:generic] [--budget 60] [--networks NAME[:OPTION=N],...] [--times]

For each network `compile -O1`, `verify --rtol 1e-4` (of the largest value), `tune --time-budget`, `verify` again; a row each, status 1 where
an answer is wrong. --times: also untiled (-O0) against untuned and untuned against tuned, in turns (`bench --compare`). `lstm`, `control`
(a Loop and an If, in which kernels and steps of the host meet) and `bert_two` (two layers of BERT-Large, 16 tokens) are ONNX files that this script makes.

OCL_ICD_VENDORS (or OCL_ICD_FILENAMES) says whose OpenCL it is, where there are several.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("TEST_SOURCE_DIR", ROOT)
sys.path.insert(0, os.path.join(ROOT, "test", "peer"))
PROGRAM = os.path.join(ROOT, "build", "familyseer")
NETWORKS = "mobilenet_v2,resnet18,resnet50_v1,bert_two,gpt2_small:sequence=1,yolov8n,lstm,control"


def lstm():
    import test_recurrent
    return test_recurrent.recurrent("LSTM", 24, 1, 64, 128, direction="bidirectional")[0]


def control():
    from onnx import helper
    from control import BOOL, F, I64, Graph
    g = Graph()
    x, c, n = g.input("x", F, [32, 64]), g.input("c", BOOL, []), g.input("n", I64, [])
    sides = [Graph(first=100), Graph(first=200)]
    weights = [side.const([[((i * 7 + j * 3 + k) % 13 - 6) / 40 for j in range(64)] for i in range(64)], "float32") for k, side in enumerate(sides)]
    made = [side.op("MatMul", x, w) for side, w in zip(sides, weights)]
    y = g.op("If", c, **{name: helper.make_graph(side.nodes, name, [], [helper.make_tensor_value_info(v, F, [32, 64])], side.constants)
                         for name, side, v in zip(("then_branch", "else_branch"), sides, made)})
    body = Graph(first=300)
    v = body.op("Tanh", body.op("MatMul", "v", body.const([[((i + 5 * j) % 11 - 5) / 40 for j in range(64)] for i in range(64)], "float32")))
    inputs = [helper.make_tensor_value_info(*i) for i in (("i", I64, []), ("go", BOOL, []), ("v", F, [32, 64]))]
    outputs = [helper.make_tensor_value_info(*i) for i in ((body.op("Identity", "go"), BOOL, []), (v, F, [32, 64]))]
    body_graph = helper.make_graph(body.nodes, "body", inputs, outputs, body.constants)
    z = g.op("Loop", n, "", y, body=body_graph)
    return g.model((g.op("Add", z, y), F))


def bert_two(tokens=16, hidden=1024, heads=16, layers=2):
    """The encoder of BERT-Large, two of its layers."""
    import numpy as np
    from control import F, Graph
    g, rng = Graph(), np.random.default_rng(0)

    def weights(*shape):
        return g.const(rng.normal(0, 0.02, shape), "float32")

    def product(x, n, k):
        return g.op("Add", g.op("MatMul", x, weights(n, k)), weights(k))

    def by_head(x, *order):
        return g.op("Transpose", g.op("Reshape", x, g.const([1, tokens, heads, hidden // heads])), perm=order)

    def normal(x):
        return g.op("LayerNormalization", x, g.const(np.ones(hidden), "float32"), weights(hidden), axis=-1, epsilon=1e-12)

    x = g.input("x", F, [1, tokens, hidden])
    for _ in range(layers):
        q, k, v = (by_head(product(x, hidden, hidden), *order) for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
        shares = g.op("Softmax", g.op("Div", g.op("MatMul", q, k), g.const((hidden // heads) ** 0.5, "float32")), axis=-1)
        mixed = g.op("Reshape", g.op("Transpose", g.op("MatMul", shares, v), perm=(0, 2, 1, 3)), g.const([1, tokens, hidden]))
        x = normal(g.op("Add", x, product(mixed, hidden, hidden)))
        wide = product(x, hidden, 4 * hidden)
        gelu = g.op("Mul", g.op("Mul", wide, g.const(0.5, "float32")),
                    g.op("Add", g.op("Erf", g.op("Div", wide, g.const(2 ** 0.5, "float32"))), g.const(1, "float32")))
        x = normal(g.op("Add", x, product(gelu, 4 * hidden, hidden)))
    return g.model((x, F))


def run(*args, check=True):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"familyseer {' '.join(args)}: {done.stderr.strip()}")
    return done


def prepare(name, folder):
    """(the network as commands take it, options with its inputs)"""
    if name not in MADE:
        return name, []
    import numpy as np
    import onnx
    path = os.path.join(folder, f"{name}.onnx")
    onnx.save(MADE[name](), path)
    if name != "control":
        return path, []
    np.save(os.path.join(folder, "c.npy"), np.array(True))
    np.save(os.path.join(folder, "n.npy"), np.array(3))
    return path, ["-i", f"c={folder}/c.npy", "-i", f"n={folder}/n.npy"]


def error(library, network, inputs):
    """(largest error, of the largest value; None: something is wrong, what verify said)"""
    done = run("verify", os.path.join(library, "model.so"), network, "--rtol", "1e-4", "--json", *inputs, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [done.stdout])[-1]
    outs = [out for one in json.loads(done.stdout)["sets"] for out in one["outputs"]]
    return max(out["max_error"] / (out["max_expected"] or 1) for out in outs), ""


def turns(library, other, inputs):
    """Medians [ms] of both, in turns."""
    done = json.loads(run("bench", os.path.join(library, "model.so"), "--compare", os.path.join(other, "model.so"), "--json", *inputs).stdout)
    return done["median_ms"], done["other"]["median_ms"]


def row(name, args, folder):
    network, inputs = prepare(name, folder)
    where = {form: os.path.join(folder, form) for form in ("untiled", "untuned", "tuned")}
    common = ["--target", args.target, "--records", os.path.join(folder, "records.db")]
    errors = {}

    def make(form, command, *options):
        run(command, network, *common, "-o", where[form], *options)
        errors[form], said = error(where[form], network, inputs)
        if errors[form] is None:
            print(f"{name}, {form}: {said}", file=sys.stderr)

    make("untuned", "compile", "-O1")
    if args.budget:
        make("tuned", "tune", "--time-budget", f"{args.budget}s", *inputs)
    cells = [name] + [("" if form not in errors else "wrong" if errors[form] is None else f"{errors[form]:.1e}") for form in ("untuned", "tuned")]
    if args.times:
        make("untiled", "compile", "-O0")
        last = "tuned" if args.budget else "untuned"
        ms = {form: turns(where[last], where[form], inputs) for form in ("untiled", "untuned") if form != last}
        cells += [f"{ms['untiled'][1]:.2f}", f"{ms['untuned'][1]:.2f}" if "untuned" in ms else "", f"{ms['untiled'][0]:.2f}"]
        cells += [f"{other / own:.2f}" for own, other in ms.values()]
    print("| " + " | ".join(cells) + " |", flush=True)
    return None not in errors.values()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="opencl:generic")
    parser.add_argument("--budget", type=int, default=60, help="seconds of tuning; 0: untuned alone")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--times", action="store_true")
    args = parser.parse_args()
    print("| network | error, untuned | tuned |" + (" untiled [ms] | untuned | tuned | times untiled | times untuned |" if args.times else ""))
    print("|---|---|---|" + ("---|---|---|---|---|" if args.times else ""))
    good = True
    for name in args.networks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            good &= row(name, args, folder)
    sys.exit(0 if good else 1)


MADE = {"lstm": lstm, "control": control, "bert_two": bert_two}

if __name__ == "__main__":
    main()
