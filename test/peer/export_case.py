"""One network exported by torch: does it import, run as ONNX Runtime does at -O0 and -O1, and does verify say so? Or is it
refused by a reason that doc/operators.md states?"""
import dataclasses
import os
import sys
import time
import warnings
from typing import Callable

import numpy as np
import onnx
import torch

from peer import compare, familyseer, reference, run_ours

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


@dataclasses.dataclass
class Export:
    """make() -> (module, inputs); the module gives a tensor or several."""
    make: Callable
    opset: int = 18
    dynamo: bool = True  # today's exporter; False: the older one, by TorchScript
    names: tuple = ()  # of the inputs
    dynamic: dict | None = None  # input -> {axis: name of the size}
    rtol: float = 1e-3
    discriminate: bool = True  # False: an output may be alike everywhere (labels, masks)
    # What is not built: words of the message, and the words of doc/operators.md that say so.
    refused: tuple = ()


def spread(net):
    """Random BatchNorm statistics, and random weights where a fresh network has zeros or next to nothing: all answers would
    be alike, which hides faults, and scores would tie, which makes differences of roundings."""
    generator = torch.Generator().manual_seed(5)
    for parameter in net.parameters():
        usual = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0
        if parameter.dim() > 1 and parameter.std() < 0.5 * usual:
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * usual)
    for module in net.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.copy_(0.1 * torch.randn(module.running_mean.shape, generator=generator))
            module.running_var.copy_(0.8 + 0.4 * torch.rand(module.running_var.shape, generator=generator))


def export(case, path):
    """Writes the file; inputs by the names that it has for them."""
    torch.manual_seed(1)
    net, inputs = case.make()
    net.eval()
    with torch.no_grad():
        spread(net)
    names = list(case.names) or [f"in{k}" for k in range(len(inputs))]
    more = {"optimize": True, "external_data": False} if case.dynamo else {}
    if case.dynamic and case.dynamo:
        more["dynamic_shapes"] = [case.dynamic.get(n) for n in names]
    elif case.dynamic:
        more["dynamic_axes"] = case.dynamic
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, inputs, path, opset_version=case.opset, input_names=names, dynamo=case.dynamo, verbose=False, **more)
    given = {n: x.numpy() for n, x in zip(names, inputs)}
    kept = {i.name for i in onnx.load(path, load_external_data=False).graph.input}  # an input that nobody reads may be left out
    return {n: x for n, x in given.items() if n in kept}


def refusal(case, done):
    """Right when it is the one that is expected, and the pages state it."""
    words, stated = case.refused
    assert done.returncode == 1 and words in done.stderr, f"should be refused for '{words}': status {done.returncode}, {done.stderr}"
    with open(os.path.join(SOURCE, "doc", "operators.md"), encoding="utf-8") as file:
        assert stated in file.read(), f"doc/operators.md does not say '{stated}'"
    return f"refused: {words}"


def check(name, case, tmp):
    """What came of it, in words; AssertionError when that is not right."""
    path = os.path.join(tmp, name + ".onnx")
    start = time.time()
    feeds = export(case, path)
    exported = time.time() - start
    opsets = {o.domain: o.version for o in onnx.load(path).opset_import}
    shapes = [f"{n}:{'x'.join(map(str, x.shape))}" for n, x in feeds.items() if x.ndim] if case.dynamic else []
    fixed = ["--input-shapes", ",".join(shapes)] if shapes else []
    if case.refused:
        return refusal(case, familyseer("compile", path, "-O1", "-o", os.path.join(tmp, name), *fixed, check=False))
    want = reference(path, feeds)
    took = 0
    for level in "-O0", "-O1":
        folder, out = os.path.join(tmp, name + level), os.path.join(tmp, name + level + "-run")
        os.mkdir(out)
        start = time.time()
        familyseer("compile", path, level, "-o", folder, *fixed)
        took = time.time() - start
        compare(f"{name} {level}", run_ours(folder, feeds, out, 2), want, discriminate=case.discriminate, rtol=case.rtol)
    given = []
    for k, (n, x) in enumerate(feeds.items()):
        np.save(os.path.join(tmp, f"in{k}.npy"), x)
        given += ["-i", f"{n}={tmp}/in{k}.npy"]
    done = familyseer("verify", os.path.join(folder, "model.so"), path, "--against", "onnxruntime", "--python", sys.executable, *fixed, *given, check=False)
    assert done.returncode == 0, f"verify: {done.stdout} {done.stderr}"
    nodes = len(onnx.load(path).graph.node)
    return f"right: opset {opsets.get('')}, {nodes} nodes, exported in {exported:.1f} s, compiled in {took:.1f} s"
