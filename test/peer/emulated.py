"""What tests on processors that are not this machine's share: programs in qemu's user mode, and answer.c, which runs a
library there."""
import os
import subprocess

import numpy as np
import onnx

from peer import safe

ANSWER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "answer.c")
PLAIN_ARM = "cortex-a57"  # nothing beyond what every aarch64 has


def emulated(arch, cpu, program, *words):
    return subprocess.run([f"qemu-{arch}", "-L", f"/usr/{arch}-linux-gnu", "-cpu", cpu, program, *map(str, words)],
                          capture_output=True, text=True, check=False)


def run_emulated(folder, feeds, out, threads, arch, cpu, answer=None):
    """Outputs by (safe) name of folder/model.so. `answer`: the program, folder/answer else."""
    words = []
    for k, (name, x) in enumerate(feeds.items()):
        path = os.path.join(out, f"in{k}")
        np.ascontiguousarray(x).tofile(path)
        words.append(f"{name}={path}")
    program = answer or os.path.join(folder, "answer")
    done = emulated(arch, cpu, program, os.path.join(folder, "model.so"), threads, out, *words)
    assert done.returncode == 0, f"answer: status {done.returncode}\n{done.stderr}"
    answers = {}
    for k, line in enumerate(done.stdout.splitlines()):
        name, kind, *dims = line.split(" ")
        dtype = onnx.helper.tensor_dtype_to_np_dtype(int(kind))
        answers[safe(name)] = np.fromfile(os.path.join(out, str(k)), dtype).reshape([int(d) for d in dims])
    return answers
