"""NVRTC and CUDA's driver through ctypes; graphs and events by PyTorch. A kernel is what kernels.py prints.

What a kernel takes is timed as in a network: as a node of a captured graph between others, its activations just used, its
weights not read since the last-level cache held other data.
"""
import ctypes
import glob
import os
import re
import statistics
import sys
import time


# ---- NVRTC (needs no device)

def open_library(*names):
    places = ["", "/usr/local/cuda/lib64/"] + [os.path.dirname(path) + "/" for root in sys.path
                                               for path in glob.glob(root + "/nvidia/*/lib/libnvrtc.so*")]
    for name in names:
        for place in places:
            try:
                return ctypes.CDLL(place + name)
            except OSError:
                pass
    raise OSError(f"none of {', '.join(names)} can be opened")


nvrtc = None


def compile_text(text, architecture, name="kernel.cu"):
    """(cubin, facts): facts by kernel's name: registers, spill bytes (stored), shared bytes; and "ms", what it took."""
    global nvrtc
    if nvrtc is None:
        nvrtc = open_library("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
    begin = time.perf_counter()
    program = ctypes.c_void_p()
    options = [f"--gpu-architecture={architecture}".encode(), b"--ptxas-options=-v", b"--std=c++17",
               b"--no-cache"]  # what NVRTC finds in its cache has no log
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    log = log.value.decode()
    if status:
        raise RuntimeError(f"NVRTC refuses a kernel ({status}): {log[:2000]}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    facts = {"ms": (time.perf_counter() - begin) * 1e3}
    for part in log.split("Compiling entry function")[1:]:
        entry = re.search(r"'(\w+)'", part).group(1)
        spilled, registers = re.search(r"(\d+) bytes spill stores", part), re.search(r"Used (\d+) registers", part)
        facts[entry] = {"registers": int(registers.group(1)), "spills": int(spilled.group(1)) if spilled else 0}
    return cubin.raw, facts


# ---- the driver

class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_int * 16)]


class Config(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("n_attributes", ctypes.c_uint)]


class Device:
    """The first CUDA device, in PyTorch's context. What flushes its L2 is four times as large."""

    def __init__(self):
        import torch
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.zeros(1, device="cuda")
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.facts = torch.cuda.get_device_properties(0)
        self.architecture = f"sm_{self.facts.major}{self.facts.minor}"
        self.stream = torch.cuda.Stream()
        self.noise = torch.zeros(4 * self.facts.L2_cache_size // 4, device="cuda")

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def load(self, cubin):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def unload(self, module):
        self.call("cuModuleUnload", module)

    def function(self, module, kernel):
        """The function of a kernel, allowed its shared bytes, and how many blocks of it a multiprocessor holds."""
        function, blocks = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel["name"].encode())
        if kernel["shared"]:
            self.call("cuFuncSetAttribute", function, 8, kernel["shared"])  # the largest dynamic shared memory
        self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), function, kernel["block"],
                  ctypes.c_size_t(kernel["shared"]))
        return function, blocks.value

    def launch(self, function, kernel, *values):
        """On PyTorch's current stream; values: tensors, whose addresses are passed, or ctypes values."""
        slots = [value if isinstance(value, (ctypes._SimpleCData, ctypes.Array)) else ctypes.c_void_p(value.data_ptr())
                 for value in values]
        pointers = (ctypes.c_void_p * len(slots))(*(ctypes.cast(ctypes.byref(slot), ctypes.c_void_p) for slot in slots))
        early = Attribute(6, b"", (ctypes.c_int * 16)(1))  # a programmatic dependence on the kernel before
        config = Config(kernel["grid"], 1, 1, kernel["block"], 1, 1, kernel["shared"], self.torch.cuda.current_stream().cuda_stream,
                        ctypes.pointer(early), int(bool(kernel.get("early"))))
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)

    def tensor_map(self, tensor, lines, words, box_lines, box_words, kind):
        """A map of a matrix in rows, read in boxes whose rows are 128 bytes, swizzled: a kernel's argument."""
        size = tensor.element_size()
        space = ctypes.create_string_buffer(192)
        begin = -ctypes.addressof(space) % 64
        found = (ctypes.c_char * 128).from_buffer(space, begin)
        number = {"f16": 6, "bf16": 9, "tf32": 7}[kind]
        self.call("cuTensorMapEncodeTiled", ctypes.byref(found), number, 2, ctypes.c_void_p(tensor.data_ptr()),
                  (ctypes.c_uint64 * 2)(words, lines), (ctypes.c_uint64 * 1)(words * size), (ctypes.c_uint32 * 2)(box_words, box_lines),
                  (ctypes.c_uint32 * 2)(1, 1), 0, 3, 2, 0)
        return found

    def time_us(self, enqueue, count, touch, replays=7, stop_us=None):
        """[us] of one of `count` calls enqueue(0), ..., one graph, each replay after a flush of the cache and a read of `touch`.

        The median of replays, with the lowest and the third quartile; where the first takes over stop_us, that alone.
        """
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        enqueue(0)
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):  # not torch.cuda.graph: it collects garbage and empties caches each time
            graph.capture_begin(capture_error_mode="thread_local")
            for i in range(count):
                enqueue(i)
            graph.capture_end()
        torch.cuda.synchronize()
        times = []
        for i in range(replays + 1):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.noise.sum()
            for tensor in touch:
                tensor.sum()
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if i > 0:
                times.append(begin.elapsed_time(end) * 1e3 / count)
                if stop_us and times[0] > stop_us:
                    break
        times.sort()
        return {"us": statistics.median(times), "low": times[0], "q3": times[len(times) * 3 // 4]}
