"""A library in the place of a graph: arguments of the graph in, its results out, without a copy where memory allows."""
from typing import Any, Sequence

import torch

from .. import _runtime

Tensor = torch.Tensor


class Unsuited(Exception):
    """Why there is no library of a graph."""


def computed(results: Sequence, args: Sequence) -> list:
    """Which results a library computes: not those that are arguments, or that lie in the memory of another or of an
    argument, which plan_of has as views."""
    places = _places(args)
    found = []
    for k, r in enumerate(results):
        if isinstance(r, Tensor) and _storage(r) not in places:
            base = _base(results, r)
            if base == k:
                found.append(k)
    return found


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _places(tensors: Sequence) -> dict:
    return {_storage(a): k for k, a in reversed(list(enumerate(tensors))) if isinstance(a, Tensor)}


def _extent(tensor: Tensor) -> tuple:
    begin = tensor.storage_offset() * tensor.element_size()
    return begin, begin + (sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) + 1) * tensor.element_size()


def _base(results: Sequence, tensor: Tensor) -> int:
    """Of the results in the memory of `tensor` the first that has no gaps and all others inside."""
    same = [(k, r) for k, r in enumerate(results) if isinstance(r, Tensor) and _storage(r) == _storage(tensor)]
    begin, end = min(_extent(r)[0] for _, r in same), max(_extent(r)[1] for _, r in same)
    if len(same) == 1:
        return same[0][0]
    for k, r in same:
        if _extent(r) == (begin, end) and end - begin == r.numel() * r.element_size():
            if any(r.dtype != o.dtype for _, o in same):
                break
            return k
    raise Unsuited("results lie in memory that none of them has as a whole")


def plan_of(results: Sequence, args: Sequence, names: tuple, inputs: Sequence[int], made: Sequence[int]) -> dict:
    """What is bound to what. `results`: what a run of the graph gave; `inputs`: which arguments the library has as inputs,
    `made`: which results are its outputs (computed()), both in the order of `names`."""
    outputs_of = {k: name for k, name in zip(made, names[1])}
    places = _places(args)
    outputs: list = []
    for k, r in enumerate(results):
        if k in outputs_of:
            outputs.append({"name": outputs_of[k], "dtype": str(r.dtype).removeprefix("torch."), "shape": list(r.shape),
                            "stride": list(r.stride())})
        elif isinstance(r, Tensor):
            of = places.get(_storage(r))
            whose, base = ("argument", of) if of is not None else ("result", _base(results, r))
            other = args[base] if of is not None else results[base]
            if other is r:
                outputs.append({"whose": whose, "base": base})
                continue
            if other.dtype != r.dtype:
                raise Unsuited(f"result {k} lies in the memory of one of another type")
            outputs.append({"whose": whose, "base": base, "shape": list(r.shape), "stride": list(r.stride()),
                            "offset": r.storage_offset() - other.storage_offset()})
        else:
            outputs.append({"value": r})
    return {"inputs": [{"argument": k, "name": name} for k, name in zip(inputs, names[0])], "outputs": outputs}


def _contiguous(shape: Sequence[int], stride: Sequence[int]) -> bool:
    need = 1
    for n, s in zip(reversed(shape), reversed(stride)):
        if n != 1 and s != need:
            return False
        need *= n
    return True


class Library:
    """folder: what compile or tune wrote; plan: what plan_of said of it. Threads may call it at the same time: each call
    has a session of its own."""

    def __init__(self, folder: str, plan: dict, threads: int):
        model = _runtime.Model(folder, threads=threads)
        numbers = {v.name: i for i, v in enumerate(model.inputs)}
        self._inputs = [(numbers[i["name"]], i["argument"]) for i in plan["inputs"] if i["name"] in numbers]
        numbers = {v.name: i for i, v in enumerate(model.outputs)}
        self._computed, self._views, self._results = [], [], []
        for k, o in enumerate(plan["outputs"]):
            self._results.append(o.get("value"))
            if "name" in o:
                shape, stride = tuple(o["shape"]), tuple(o["stride"])
                self._computed.append((k, numbers[o["name"]], shape, stride, getattr(torch, o["dtype"]), _contiguous(shape, stride)))
            elif "base" in o:
                self._views.append((k, o["whose"] == "argument", o["base"], o.get("shape"), o.get("stride"), o.get("offset")))
        self._free = [model]
        self._model = model

    def __call__(self, args: Sequence) -> list:
        try:
            model = self._free.pop()
        except IndexError:
            model = self._model.clone()
        session = model._session
        kept, results, copies = [], list(self._results), []
        for i, k in self._inputs:
            a = args[k]
            if not a.is_contiguous() or a.is_conj() or a.is_neg() or a.data_ptr() % a.element_size():
                a = a.resolve_neg().clone(memory_format=torch.contiguous_format)
            kept.append(a)
            session.bind_input_at(i, a.data_ptr(), a.nbytes)
        for k, i, shape, stride, dtype, plain in self._computed:
            memory = results[k] = torch.empty(shape, dtype=dtype)
            session.bind_output_at(i, memory.data_ptr(), memory.nbytes)
            if not plain:
                copies.append((k, memory))
                results[k] = torch.empty_strided(shape, stride, dtype=dtype)
        session.run()
        self._free.append(model)
        for k, memory in copies:
            results[k].copy_(memory)
        for k, of_argument, base, shape, stride, offset in self._views:
            one = args[base] if of_argument else results[base]
            results[k] = one if shape is None else one.as_strided(shape, stride, one.storage_offset() + offset)
        return results
