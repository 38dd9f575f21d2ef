"""Networks of torchvision, timm and transformers (those of exports.py, random weights) through torch.compile(...,
backend="familyseer"): are their answers eager mode's, and how many are libraries as a whole?

    torch_networks.py [NAME ...]     all, or those whose name contains one of these

`make check-torch` installs what it needs (tool/requirements-exports.txt, some 6 GB, into .venv-exports) and runs it. The first
call of each has other inputs than the second, which the library answers alone. A line each: whole (every graph of it is a library),
or which graphs are eager and why. Status 1 if an answer is wrong.
"""
import dataclasses
import os
import sys
import tempfile
import time
import warnings

import torch

import package  # noqa: F401  familyseer as a wheel lays it out, over this build
from exports import cases
from export_case import spread

import familyseer.torch as backend  # noqa: E402

TOLERANCE = 1e-3  # of the largest


def tensors(answer):
    """Those inside, in an order of their own."""
    if isinstance(answer, torch.Tensor):
        return [answer]
    if dataclasses.is_dataclass(answer) or isinstance(answer, dict):
        return [t for v in (answer.values() if isinstance(answer, dict) else vars(answer).values()) for t in tensors(v)]
    return [t for v in answer for t in tensors(v)] if isinstance(answer, (list, tuple)) else []


def far(want, have):
    """How far one answer is from the other, of the largest; of whole numbers the share that differs."""
    if want.shape != have.shape or want.dtype != have.dtype or want.stride() != have.stride():
        return f"{have.dtype}{list(have.shape)} with strides {have.stride()} in place of {want.dtype}{list(want.shape)} with {want.stride()}"
    if not want.numel():
        return 0.0
    if not want.dtype.is_floating_point:
        return float((want != have).double().mean())
    want, have = want.double(), have.double()
    finite = want.isfinite()
    if not torch.equal(finite, have.isfinite()):
        return "infinities or NaN elsewhere"
    return float((want - have)[finite].abs().max() / want[finite].abs().max().clamp(min=1e-30)) if finite.any() else 0.0


def another(x):
    """Inputs of the same kind: pictures and noise anew, whole numbers in another order."""
    if x.dtype.is_floating_point:
        return torch.rand_like(x) if 0 <= float(x.min()) and float(x.max()) <= 1 else torch.randn_like(x)
    return x.flip(-1) if x.dim() else x


def run(case):
    """Returns a line on it and whether the answers are right, and whether it is a library as a whole."""
    torch._dynamo.reset()
    torch.manual_seed(1)
    net, inputs = case.make()
    net.eval()
    begin = len(backend.explain())
    with torch.no_grad():
        spread(net)
        compiled = torch.compile(net, backend="familyseer", options={"cache_dir": "", "on_fallback": "ignore"})
        started = time.perf_counter()
        compiled(*(another(x) for x in inputs))
        first = time.perf_counter() - started
        have, want = tensors(compiled(*inputs)), tensors(net(*inputs))
    graphs = backend.explain()[begin:]
    differences = [far(w, h) for w, h in zip(want, have)] + ["other results"] * (len(want) != len(have))
    wrong = [d for d in differences if isinstance(d, str) or d > TOLERANCE]
    graphs = [g for g in graphs if g.state in ("library", "eager")]
    whole = bool(graphs) and all(g.state == "library" for g in graphs)
    reasons = sorted({g.reason for g in graphs if g.state != "library"})
    line = "whole" if whole else f"{sum(g.state == 'library' for g in graphs)} of {len(graphs)} graphs: {'; '.join(reasons)}"
    if len(graphs) > 1 and whole:
        line += f", {len(graphs)} graphs"
    line += f", first call {first:.1f} s"
    return (f"WRONG: {wrong[0]}; " if wrong else "") + line, not wrong, whole


def main():
    only, n_whole, failed = sys.argv[1:], 0, []
    tried = {n: case for n, case in cases().items() if not only or any(o in n for o in only)}
    warnings.simplefilter("ignore")
    for name, case in tried.items():
        try:
            line, right, whole = run(case)
        except Exception as problem:  # whatever it is: who asked for an answer got none
            line, right, whole = f"WRONG: {' '.join(str(problem).split())[:400]}", False, False
        n_whole += whole
        failed += [name] * (not right)
        print(f"{name}: {line}", flush=True)
    print(f"{len(tried) - len(failed)} of {len(tried)} networks are right, {n_whole} of them libraries as a whole")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEER_DEVICE_LOCK"] = os.path.join(folder, "device.lock")
        main()
