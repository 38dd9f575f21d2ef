"""What a functional graph of aten operators is: whether it can be a library, by what a library of it is known, its ONNX file."""
import hashlib
import os
import threading
import warnings
from typing import Any, Callable, Optional, Sequence

import torch

from .. import _runtime, _tune

Tensor = torch.Tensor
# Those that ONNX and NumPy's carriers (Model) have.
DTYPES = {torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.uint8, torch.bool}


def operators(graph: Any) -> list:
    return [n for n in graph.graph.nodes if n.op in ("call_function", "call_method", "call_module")]


def _values(node: Any) -> list:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _is_random(node: Any) -> bool:
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    for k, argument in enumerate(node.target._schema.arguments):  # attention is, if anything is dropped
        if argument.name == "dropout_p":
            return (node.args[k] if k < len(node.args) else node.kwargs.get("dropout_p", argument.default_value)) != 0
    return True


def obstacle(graph: Any) -> Optional[str]:
    """Why this graph is none for a library, if so; looks at the graph alone."""
    for node in graph.graph.nodes:
        if node.op == "call_function" and _is_random(node):
            return f"{node.target} is random"
        if node.op == "call_function" and isinstance(node.target, torch._ops.HigherOrderOperator):
            return f"{node.target} is control flow of PyTorch"
    ends = [n for n in graph.graph.nodes if n.op == "placeholder"]
    ends += [n for n in graph.graph.output_node().all_input_nodes]
    for value in (v for node in ends for v in _values(node) if isinstance(v, Tensor)):
        if value.device.type != "cpu":
            return f"a tensor is on {value.device}, must be on cpu"
        if value.layout != torch.strided or value.is_quantized:
            return f"a tensor is {'quantized' if value.is_quantized else value.layout}, must be dense"
        if value.dtype not in DTYPES:
            return f"a tensor is {value.dtype}"
        if any(isinstance(s, int) and s == 0 for s in value.shape):
            return f"a tensor has no elements ({list(value.shape)})"
    return None


def fixed(graph: Any, args: Sequence) -> list:
    """Which arguments are the network's own (parameters and buffers that no run changes), by PyTorch's word: positions.
    Their values go into the library; who calls must see to it that they are these tensors still."""
    context = torch._guards.TracingContext.try_get()
    meta = getattr(context, "fw_metadata", None)
    if meta is None:
        return []
    changed = set(meta.mutated_inp_runtime_indices)
    n = sum(node.op == "placeholder" for node in graph.graph.nodes)
    return [k for k in meta.static_input_indices or () if k not in changed and k < n and isinstance(args[k], Tensor)]


def _digest_tensor(h: Any, tensor: Tensor) -> None:
    plain = tensor.detach().contiguous().reshape(-1)
    h.update(f"{tensor.dtype}{list(tensor.shape)}".encode())
    if plain.numel():
        h.update(memoryview(plain.view(torch.uint8).numpy()))


def _attribute(graph: Any, path: str) -> Any:
    for name in path.split("."):
        graph = getattr(graph, name)
    return graph


def digest(graph: Any, args: Sequence, own: Sequence[int], words: Sequence[str]) -> str:
    """By what the library of this graph with these arguments is known: all that it depends on, and `words`."""
    h = hashlib.blake2b(digest_size=16)
    numbers: dict = {}
    for word in words:
        h.update(f"{word}\n".encode())
    for node in graph.graph.nodes:
        numbers[node] = f"%{len(numbers)}"
        target = "" if node.op in ("placeholder", "output") else str(node.target)
        inside = torch.fx.map_arg((node.args, tuple(sorted(node.kwargs.items()))), lambda n: _Number(numbers[n]))
        h.update(f"{node.op} {target} {inside}\n".encode())
        if node.op == "get_attr":
            value = _attribute(graph, node.target)
            if isinstance(value, Tensor):
                _digest_tensor(h, value)
    mine = set(own)
    for k, a in enumerate(args):
        if k in mine:
            _digest_tensor(h, a)
        else:
            h.update(f"{a.dtype}{list(a.shape)}\n".encode() if isinstance(a, Tensor) else f"{a!r}\n".encode())
    return h.hexdigest()


class _Number(str):
    __repr__ = str.__str__


def machine() -> list:
    """What a library depends on besides its graph: the versions of all that takes part, and the processor."""
    package = os.path.dirname(os.path.abspath(_tune.__file__))
    library = os.stat(os.path.join(package, "libfamilyseer.so"))
    processor = []
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("model name", "flags", "Features", "CPU part")):
                processor.append(line.strip())
            elif not line.strip():
                break
    return [torch.__version__, f"{library.st_size} {library.st_mtime_ns}", *processor]


class _Whole(torch.nn.Module):
    """The graph with all that is not an input of the library inside."""

    def __init__(self, graph: Any, args: Sequence, inputs: Sequence[int], results: Sequence[int]):
        super().__init__()
        self.inside, self.inputs, self.results = graph, list(inputs), list(results)
        self.rest = [None if isinstance(a, Tensor) else a for a in args]
        self.names = {k: f"w{k}" for k, a in enumerate(args) if isinstance(a, Tensor) and k not in set(inputs)}
        for k, name in self.names.items():
            self.register_buffer(name, args[k].detach())

    def forward(self, *given: Any) -> Any:
        args = list(self.rest)
        for k, name in self.names.items():
            args[k] = getattr(self, name)
        for k, a in zip(self.inputs, given):
            args[k] = a
        every = self.inside(*args)
        return tuple(every[k] for k in self.results)


def apart(work: Callable[[], Any]) -> Any:
    """work() in a thread of its own: what the caller set for its own (gradients, casts, what a compiled graph runs under)
    is not for who looks at a graph."""
    done: list = []

    def run() -> None:
        try:
            with torch.no_grad():
                done.append((work(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=run, name="familyseer.torch")
    thread.start()
    thread.join()
    result, error = done[0]
    if error is not None:
        raise error
    return result


def _essence(error: BaseException) -> str:
    """The first line of what was wrong at the bottom of it."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__) or error
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _with_whole_heads(graph: Any) -> Any:
    """The graph with keys and values repeated where attention has fewer heads of them than of queries (grouped-query attention):
    the operator of processors takes them as they are, and PyTorch's exporter makes plain products of it, which do not."""
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default

    def times(node: Any) -> int:
        query, key = (node.args[k].meta["val"].shape[1] for k in range(2))
        return query // key

    if not any(n.target is attention and times(n) > 1 for n in graph.graph.nodes):
        return graph
    made = torch.fx.Graph()
    made.output(made.graph_copy(graph.graph, {}))
    for node in [n for n in made.nodes if n.target is attention and times(n) > 1]:
        n_times = times(node)
        with made.inserting_before(node):
            for k in 1, 2:
                node.update_arg(k, made.call_function(torch.ops.aten.repeat_interleave.self_int, (node.args[k], n_times, 1)))
    return torch.fx.GraphModule(graph, made)


def write_onnx(graph: Any, args: Sequence, inputs: Sequence[int], results: Sequence[int], path: str) -> tuple:
    """Writes the graph as an ONNX file whose inputs are the arguments `inputs` and whose outputs are the results
    `results`; returns their names."""
    whole = _Whole(_with_whole_heads(graph), args, inputs, results).eval()
    return write_module(whole, tuple(args[k] for k in inputs), None, path, "it")


def write_module(module: torch.nn.Module, args: tuple, kwargs: Optional[dict], path: str, what: str) -> tuple:
    """Writes a module as an ONNX file, by PyTorch's exporter, whose errors call it `what`; returns the names of its inputs and outputs."""
    def work() -> Any:
        exported = torch.export.export(module, args, kwargs, strict=False)
        program = torch.onnx.export(exported, optimize=False, verbose=False, dynamo=True)
        program.save(path, external_data=True)
        return program.model.graph

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph = apart(work)
        except ImportError as error:
            raise _runtime.Error("unsupported", f"PyTorch's exporter to ONNX lacks a module: {error}") from error
        except Exception as error:  # of any kind that PyTorch's exporter has
            raise _runtime.Error("unsupported", f"PyTorch cannot export {what} to ONNX: {_essence(error)}") from error
    return [v.name for v in graph.inputs], [v.name for v in graph.outputs]
