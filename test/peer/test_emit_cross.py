"""Libraries written as C for processors that are not this machine's, by cross compilers, run in qemu's user mode by
answer.c, against ONNX Runtime: the networks of emit_nets.py. What a library needs of a processor is asked for where it is
opened. SEER_TEST: timeout=3600 labels=full"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from emit_nets import NETS  # noqa: E402
from emulated import ANSWER, PLAIN_ARM, emulated, run_emulated  # noqa: E402
from peer import SKIP, STRICT, check_model, familyseer, make_library, run_tests  # noqa: E402

PLAIN_RISCV = "rv64"
VECTORS_RISCV = "rv64,v=true,vext_spec=v1.0,vlen=128"
# Names: target, architecture, processor of qemu, compiler, flags, make's goal.
WAYS = {
    "neon": ("aarch64-linux-gnu", "aarch64", PLAIN_ARM, "gcc", "", "model.so"),
    "neon-clang": ("aarch64-linux-gnu -threads=2", "aarch64", PLAIN_ARM, "clang", "", "model.so"),
    "neoverse": ("aarch64-linux-gnu -features=+bf16,+dotprod,+fullfp16,+i8mm,+lse", "aarch64", "max", "gcc", "-O3", "model.so"),
    "aarch64-8-lanes": ("c-vectors -lanes=8", "aarch64", PLAIN_ARM, "gcc", "-O2", "model.so"),
    "aarch64-plain": ("c", "aarch64", PLAIN_ARM, "gcc", "-std=c17 -pedantic", "model.so"),
    "aarch64-linked": ("aarch64-linux-gnu", "aarch64", PLAIN_ARM, "gcc", "", "model.a"),
    "riscv64": ("riscv64-linux-gnu", "riscv64", PLAIN_RISCV, "gcc", "", "model.so"),
    "riscv64-clang": ("riscv64-linux-gnu", "riscv64", PLAIN_RISCV, "clang", "", "model.so"),
    "riscv64-vectors": ("riscv64-linux-gnu -features=+v", "riscv64", VECTORS_RISCV, "gcc", "", "model.so"),
    "riscv64-4-lanes": ("c-vectors", "riscv64", PLAIN_RISCV, "gcc", "", "model.so"),
    "riscv64-plain": ("c", "riscv64", PLAIN_RISCV, "gcc", "-std=c17 -pedantic", "model.so"),
    "riscv64-linked": ("riscv64-linux-gnu", "riscv64", PLAIN_RISCV, "gcc", "", "model.a"),
}


def compiler(arch, cc):
    if cc == "gcc":
        return f"{arch}-linux-gnu-gcc"
    return f"clang --target={arch}-linux-gnu" + (" -mabi=lp64d" if arch == "riscv64" else "")


def missing(arch, cc):
    needed = [f"{arch}-linux-gnu-gcc", f"{arch}-linux-gnu-objcopy", f"qemu-{arch}"] + ([cc] if cc != "gcc" else [])
    return [program for program in needed if not shutil.which(program)]


def build(folder, arch, cc, flags, goal):
    """The library, and `answer` beside it."""
    tools = [f"AR={arch}-linux-gnu-ar", f"OBJCOPY={arch}-linux-gnu-objcopy"]
    goals = [goal] + (["weights.o"] if goal == "model.a" else [])
    make_library(folder, compiler(arch, cc), f"{STRICT} {flags}", goals + tools)
    inside = ["-static", "-DLINKED", "model.a", "weights.o"] if goal == "model.a" else []
    command = [*compiler(arch, "gcc").split(), *STRICT.split(), "-std=c17", "-Iruntime", ANSWER,
               *inside, "-pthread", "-ldl", "-lm", "-o", "answer"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if inside:
        os.remove(os.path.join(folder, "weights.bin"))


def network(name, word):
    target, arch, cpu, cc, flags, goal = WAYS[word]
    build_net, how = NETS[name]
    check_model(f"{name} {word}", build_net(), flags=["--emit", "c", "--target", target], threads=(2,),
                make=lambda folder: build(folder, arch, cc, flags, goal),
                run=lambda folder, feeds, out, n: run_emulated(folder, feeds, out, n, arch, cpu), **how)


def lacking(word, cpu, *lacks):
    """A library on a processor that lacks something ends where it is opened."""
    target, arch, _, cc, flags, goal = WAYS[word]
    with tempfile.TemporaryDirectory() as folder:
        familyseer("compile", "mlp", "-o", folder, "-O1", "--emit", "c", "--target", target)
        build(folder, arch, cc, flags, goal)
        done = emulated(arch, cpu, os.path.join(folder, "answer"), os.path.join(folder, "model.so"), 1, folder)
        print(done.stderr.strip())
        assert done.returncode == 1 and all(text in done.stderr for text in ("this processor lacks", *lacks)), done


there, absent = [], set()
for word, (_, arch, _, cc, _, _) in WAYS.items():
    absent.update(missing(arch, cc))
    if not missing(arch, cc):
        there.append(word)
if absent:
    print(f"{'NOT ALL RUN' if there else 'skipped'}: there is no {', '.join(sorted(absent))} (tool/deps.sh cross)")
if not there:
    sys.exit(SKIP)
run_tests([(f"{name} {word}", lambda n=name, w=word: network(n, w)) for word in there for name in NETS] +
          [(f"lacking {word}", lambda w=word, c=cpu, l=lacks: lacking(w, c, *l)) for word, cpu, *lacks in
           (("neoverse", PLAIN_ARM, "dotprod", "fullfp16"), ("riscv64-vectors", PLAIN_RISCV, "v")) if word in there])
