"""Libraries that are linked here for aarch64, run in qemu's user mode by answer.c, against ONNX Runtime: small networks for a
plain processor and for one with all that kernels may use; in check-full by random schedules, too, and MobileNetV2 and two
layers of BERT. What a library needs of a processor is asked for where it is opened. SEER_TEST: timeout=300"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.dont_write_bytecode = True
from onnx import TensorProto as T  # noqa: E402

from emit_nets import NETS, array, model_of  # noqa: E402
from emulated import ANSWER, PLAIN_ARM, emulated, run_emulated  # noqa: E402
from peer import FULL, SKIP, check_model, familyseer, random_feeds, run_tests  # noqa: E402

ARCH, LIBC = "aarch64", "/usr/aarch64-linux-gnu"
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINKERS = ("/usr/lib/llvm-19/bin/ld.lld", "/usr/bin/ld.lld-19", "/usr/bin/ld.lld")
# Names: the target, and a processor of qemu that has all that it asks for.
WAYS = {
    "plain": ("aarch64-linux-gnu -threads=2", PLAIN_ARM),
    "neoverse-n1": ("aarch64-linux-gnu -cpu=neoverse-n1 -threads=2", "neoverse-n1"),
    "all": ("aarch64-linux-gnu -features=+bf16,+dotprod,+fullfp16,+i8mm,+lse,+rdm -threads=2", "max"),
}
# A plain processor for all; what only newer ones have is products of bytes and of bf16, and f16.
QUICK = [(name, "plain") for name in NETS] + [("quantised", "neoverse-n1"), ("quantised", "all"), ("half", "all"), ("transformer", "all")]
ALL = [(name, way) for name in NETS for way in WAYS]

work = tempfile.TemporaryDirectory()
answer = os.path.join(work.name, "answer")


def build_answer():
    """By clang and lld, as the runtime in the libraries is."""
    linker = next(path for path in LINKERS if os.path.exists(path))
    subprocess.run(["clang", f"--target={ARCH}-linux-gnu", "-std=c17", "-D_GNU_SOURCE", "-O1", "-nostdlibinc", "-isystem", f"{LIBC}/include",
                    f"-I{SOURCE}/include", f"--ld-path={linker}", "-nostartfiles", "-nodefaultlibs", f"-L{LIBC}/lib",
                    f"{LIBC}/lib/crt1.o", f"{LIBC}/lib/crti.o", ANSWER, "-lc", "-ldl", "-lpthread", f"{LIBC}/lib/crtn.o",
                    "-o", answer], check=True)


LEVELS = ("-O1", "-O0", "--random-schedules=1", "--random-schedules=2") if FULL else ("-O1",)


def check(label, model, way, feeds=None, levels=LEVELS, threads=(2,), **how):
    target, cpu = WAYS[way]
    check_model(f"{label} {way}", model, feeds, levels=levels, flags=["--target", target], threads=threads,
                run=lambda folder, feeds, out, n: run_emulated(folder, feeds, out, n, ARCH, cpu, answer), **how)


def network(name, way):
    build_net, how = NETS[name]
    check(name, build_net(), way, **how)


def mobilenet_v2():
    with tempfile.TemporaryDirectory() as tmp:
        familyseer("models", "--export", "mobilenet_v2", "-o", tmp)
        check("mobilenet_v2", os.path.join(tmp, "mobilenet_v2.onnx"), "plain", levels=("-O1",), threads=(1, 2), rtol=1e-4)


def bert():
    """What the first two layers of BERT come to is an output; 32 tokens, the last of them padding."""
    with tempfile.TemporaryDirectory() as tmp:
        familyseer("models", "--export", "bert_base", "-o", tmp, "--input-shapes", "input_ids:1x32")
        whole, path = os.path.join(tmp, "bert_base.onnx"), os.path.join(tmp, "bert.onnx")
        model = onnx.load(whole)
        name = next(node.input[0] for node in model.graph.node if any("layer.2." in i for i in node.input))
        onnx.utils.extract_model(whole, path, [i.name for i in model.graph.input], [name])
        feeds = random_feeds(onnx.load(path))
        feeds["attention_mask"][:] = np.arange(32) < 27
        feeds["token_type_ids"] %= 2
        check("bert", path, "plain", feeds, levels=("-O1",), rtol=1e-4)


def denormals():
    """Numbers below the least normal one, times 2^100: 0 with --flush-denormals, on all threads, else not."""
    n, least = 1 << 14, np.finfo(np.float32).tiny
    x = (np.random.default_rng(1).uniform(0.01, 4, n) * least).astype(np.float32)
    net = model_of([("Mul", ["x", "c"], ["y"], {})], [("x", T.FLOAT, [n])], [("y", T.FLOAT, [n])], [array("c", np.float32(2.0 ** 100))])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.onnx")
        onnx.save(net, path)
        for flags in ([], ["--flush-denormals"]):
            out = os.path.join(folder, f"out{len(flags)}")
            familyseer("compile", path, "-o", out, "-O0", "--target", WAYS["plain"][0], *flags)
            y = run_emulated(out, {"x": x}, out, 2, ARCH, PLAIN_ARM, answer)["y"]
            want = (np.where(x < least, 0, x) if flags else x) * np.float32(2.0 ** 100)
            assert np.array_equal(y, want) and (y == 0).any() == bool(flags), (flags, y, want)


def lacking(way, cpu, *lacks):
    """A library on a processor that lacks something ends where it is opened."""
    with tempfile.TemporaryDirectory() as folder:
        familyseer("compile", "mlp", "-o", folder, "-O1", "--target", WAYS[way][0])
        done = emulated(ARCH, cpu, answer, os.path.join(folder, "model.so"), 1, folder)
        print(done.stderr.strip())
        assert done.returncode == 1 and all(text in done.stderr for text in ("this processor lacks", *lacks)), done


if os.uname().machine == ARCH:
    print("skipped: this machine is one; other tests run all of this on it")
    sys.exit(SKIP)
needed = [program for program in ("clang", f"qemu-{ARCH}") if not shutil.which(program)]
needed += [path for path in (f"{LIBC}/lib/crt1.o", f"{os.environ.get('TEST_BUILD_DIR', 'build')}/{ARCH}/libseer_rt.a")
           if not os.path.exists(path)]
if needed:
    print(f"skipped: there is no {', '.join(needed)} (tool/deps.sh, then a build)")
    sys.exit(SKIP)
build_answer()
tests = [(f"{name} {way}", lambda n=name, w=way: network(n, w)) for name, way in (ALL if FULL else QUICK)]
tests += [("denormals", denormals), ("lacking", lambda: lacking("all", PLAIN_ARM, "bf16", "dotprod", "fullfp16", "i8mm", "lse", "rdm"))]
if FULL or sys.argv[1:]:
    tests += [("mobilenet_v2", mobilenet_v2), ("bert", bert)]
run_tests(tests)
