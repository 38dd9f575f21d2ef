"""Libraries written as C (compile --emit c), plain and with vectors, against ONNX Runtime: the networks of emit_nets.py.
SEER_TEST: timeout=1800 labels=full"""
import shutil
import sys

sys.dont_write_bytecode = True
from emit_nets import NETS  # noqa: E402
from peer import STRICT, check_model, make_library, run_tests  # noqa: E402

TARGETS = {"vectors": ("native", []), "plain": ("c", ["-std=c17", "-pedantic"]), "4 lanes": ("c-vectors", [])}


def both(name, build, **how):
    def test(word, target, flags, cc):
        check_model(f"{name} {word} {cc}", build(), flags=["--emit", "c", "--target", target], threads=(2,),
                    make=lambda folder: make_library(folder, cc, " ".join([STRICT, *flags])), **how)
    return [(f"{name} {word} {cc}", lambda w=word, t=target, f=flags, c=cc: test(w, t, f, c))
            for word, (target, flags) in TARGETS.items() for cc in ("gcc", "clang") if shutil.which(cc)]


run_tests([test for name, (build, how) in NETS.items() for test in both(name, build, **how)])
