"""From a graph of torch.compile to libraries, one for each set of sizes and weights that it meets."""
import os
import shutil
import threading
import time
from typing import Any, Callable, Optional, Sequence

import torch
from torch._dynamo.backends.common import aot_autograd

from .. import _runtime, _tune
from . import _cache, _graph
from ._background import Improving
from ._library import Library, Unsuited, computed as computed_of, plan_of
from ._options import Graph, Options, fall_back, graphs

Tensor = torch.Tensor
MOST_LIBRARIES = 8  # of one graph; who brings more sizes or weights than that runs the rest in eager mode


def backend(graph: Any, example_inputs: Sequence, *, mode: Optional[str] = None, options: Optional[dict] = None) -> Callable:
    """What torch.compile(..., backend="familyseer") calls for each graph."""
    own = Options(mode, options)
    told = Graph(len(graphs), len(_graph.operators(graph)))
    graphs.append(told)
    tensors = [a for a in example_inputs if isinstance(a, Tensor)] + list(graph.parameters())
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        fall_back(told, own, "gradients are asked for (training); inference wants torch.inference_mode() or torch.no_grad() around the call")
        return graph.forward

    def lower(functional: Any, _examples: Sequence) -> Callable:
        return _Lowered(functional, own, told)

    def differentiable(functional: Any, _examples: Sequence) -> Callable:
        from torch._functorch.aot_autograd import make_boxed_func

        fall_back(told, own, "gradients are asked for (training)")
        return make_boxed_func(functional.forward)

    return aot_autograd(fw_compiler=differentiable, bw_compiler=differentiable, inference_compiler=lower)(graph, example_inputs)


class _Specialised:
    """A library and the arguments that it is for."""

    def __init__(self, library: Callable, args: Sequence, own: Sequence[int], loose: Sequence[int]):
        self.library = library
        self.own = [args[k] for k in own]
        self.positions = list(own)
        self.state = [(a._version, a.data_ptr()) for a in self.own]
        self.loose = list(loose)
        self.sizes = _sizes(args, loose)

    def fits(self, args: Sequence) -> bool:
        for k, mine, (version, address) in zip(self.positions, self.own, self.state):
            a = args[k]
            if a is not mine or a._version != version or a.data_ptr() != address:
                return False
        return not self.loose or self.sizes == _sizes(args, self.loose)


def _sizes(args: Sequence, positions: Sequence[int]) -> list:
    return [tuple(args[k].shape) if isinstance(args[k], Tensor) else args[k] for k in positions]


class _Lowered:
    """A functional graph that is run: made a library when it first is, as the weights are there only then."""

    _boxed_call = True  # PyTorch hands over a list, which is emptied here

    def __init__(self, graph: Any, options: Options, told: Graph):
        self.graph, self.options, self.told = graph, options, told
        told.n_operators = len(_graph.operators(graph))
        self.made: list = []
        self.lock = threading.Lock()
        self.is_eager = False
        self.args_of_own: list = _graph.fixed(graph, [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"])
        # Arguments whose sizes a guard of PyTorch's does not fix
        self.loose = [k for k, n in enumerate(n for n in graph.graph.nodes if n.op == "placeholder") if _is_loose(n.meta.get("val"))]
        reason = _graph.obstacle(graph)
        if reason:
            self._give_up(reason)

    def _give_up(self, reason: str, for_good: bool = True) -> None:
        """Eager this time, or from here on but for what there is a library for."""
        self.is_eager = for_good
        fall_back(self.told, self.options, reason)

    def __call__(self, given: list) -> Any:
        args = list(given)
        given.clear()
        for one in self.made:
            if one.fits(args):
                return one.library(args)
        if self.is_eager:
            return self.graph(*args)
        with self.lock:
            for one in self.made:
                if one.fits(args):
                    return one.library(args)
            return self._make(args)

    def _make(self, args: list) -> Any:
        """The results for `args`, which eager mode makes; and from then on there is a library, or the graph is eager."""
        results = self.graph(*args)
        empty = next((a for a in [*args, *results] if isinstance(a, Tensor) and a.numel() == 0), None)
        if empty is not None:
            self._give_up(f"a tensor has no elements ({list(empty.shape)})", False)
            return results
        reason = _obstacle_of_values(args, results)
        if not reason and len(self.made) == MOST_LIBRARIES:
            reason = f"sizes or weights change between calls: {MOST_LIBRARIES} libraries were made"
        if reason:
            self._give_up(reason)
            return results
        own = [k for k in self.args_of_own if not args[k].is_inference()]
        inputs = [k for k, a in enumerate(args) if isinstance(a, Tensor) and k not in set(own)]
        try:
            library = self._library(args, results, own, inputs)
        except (_runtime.Error, Unsuited) as error:
            self._give_up(str(error))
            return results
        if library is None:
            self.is_eager, self.told.state = True, "nothing to compute"
            return results
        self.made.append(_Specialised(library, args, own, self.loose))
        self.told.state, self.told.libraries = "library", len(self.made)
        return results

    def _library(self, args: list, results: Sequence, own: list, inputs: list) -> Optional[Callable]:
        options, told = self.options, self.told
        computed = computed_of(results, args)
        if not computed:
            return None
        threads = torch.get_num_threads()
        settings = {"threads": threads, **options.others}
        begin = time.perf_counter()
        root = _cache.folder(options.cache_dir)
        digest = _graph.digest(self.graph, args, own, [*_graph.machine(), repr(sorted(settings.items()))])
        told.seconds["digest"] = time.perf_counter() - begin
        while (found := _cache.find(root, digest, None if options.mode == "untuned" else options.time_budget)) is not None:
            try:
                library = Library(found, _cache.read_plan(found), settings["threads"])
                told.cached, told.tuned = True, _tuned(os.path.basename(found))
                return library
            except (OSError, ValueError, KeyError, _runtime.Error):
                shutil.rmtree(found)  # damaged: it is made anew
        budget = options.time_budget if options.mode == "tune" else None
        with _cache.place(root) as work:
            file, names = self._export(args, inputs, computed, work)
            folder = os.path.join(work, "library")
            begin = time.perf_counter()
            if budget is None:
                _tune.compile(file, folder, **settings)
            else:
                _tune.tune(file, folder, time_budget=budget, **settings)
            told.seconds["tuning" if budget else "compilation"] = time.perf_counter() - begin
            told.tuned = _tuned(budget)
            plan = plan_of(results, args, names, inputs, computed)
            _cache.write_plan(folder, plan)
            library = Library(folder, plan, settings["threads"])
            if options.check:
                _check(results, library(args), computed, "precision" in settings)
            if options.mode == "background":
                return Improving(library, file, plan, settings, told, options, digest)
            if root is not None:
                _cache.keep(root, digest, budget, folder, options.cache_bytes)
            return library

    def _export(self, args: list, inputs: list, computed: list, work: str) -> tuple:
        begin = time.perf_counter()
        file = os.path.join(work, "graph.onnx")
        names = _graph.write_onnx(self.graph, args, inputs, computed, file)
        self.told.seconds["export"] = time.perf_counter() - begin
        return file, names


def _tuned(budget: Optional[str]) -> str:
    return f"tuned for {budget}" if budget and budget != "untuned" else ""


def _is_loose(value: Any) -> bool:
    return not isinstance(value, Tensor) or any(not isinstance(s, int) for s in value.shape)


def _obstacle_of_values(args: Sequence, results: Sequence) -> Optional[str]:
    """What the graph alone does not tell."""
    for a in [*args, *results]:
        if isinstance(a, Tensor) and (type(a) not in (Tensor, torch.nn.Parameter, torch.nn.Buffer) or a.device.type != "cpu"):
            return f"an argument or a result is a {type(a).__name__} on {a.device}, must be a plain tensor on cpu"
        if not isinstance(a, (Tensor, int, float, bool, type(None))):
            return f"an argument or a result is a {type(a).__name__}"
    return None


# Largest difference from eager mode, of the largest value: what sums in another order and approximations leave behind.
_TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}


def _check(expected: Sequence, found: Sequence, computed: Sequence[int], precision: bool) -> None:
    """Holds a new library's first answer against eager mode's."""
    for k in computed:
        want, have = expected[k], found[k]
        if want.dtype != have.dtype or want.shape != have.shape:
            raise Unsuited(f"result {k} is {have.dtype}{list(have.shape)}, in eager mode {want.dtype}{list(want.shape)}")
        if not want.dtype.is_floating_point:
            n_other = int((want != have).sum())
            if n_other * 100 > want.numel():  # scores that tie may be in another order
                raise Unsuited(f"{n_other} of {want.numel()} whole numbers of result {k} are not eager mode's")
            continue
        want, have = want.double(), have.double()
        finite = want.isfinite()
        if not torch.equal(finite, have.isfinite()):
            raise Unsuited(f"result {k} has infinities or NaN in other places than in eager mode")
        if not bool(finite.any()):
            continue
        tolerance = 1e-1 if precision else _TOLERANCE.get(expected[k].dtype, 1e-3)
        scale = float(want[finite].abs().max())
        error = float((want - have)[finite].abs().max())
        if error > tolerance * max(scale, 1e-30):
            raise Unsuited(f"result {k} is up to {error:.3g} off eager mode's, whose largest is {scale:.3g}")


def export(module: torch.nn.Module, example_inputs: Any, path: str) -> None:
    """Writes `module` as an ONNX file, with weights in one beside it where there are many. example_inputs: a tensor, a
    tuple of what forward takes in order, or a dict by name; its sizes are the network's."""
    if module.training:
        raise _runtime.Error("invalid", f"{type(module).__name__} is in training mode; call eval() first")
    by_name = dict(example_inputs) if isinstance(example_inputs, dict) else None
    in_order = () if by_name is not None else example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    _graph.write_module(module, in_order, by_name, path, type(module).__name__)
