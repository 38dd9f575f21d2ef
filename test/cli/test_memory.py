"""Without enough memory (RLIMIT_AS) a command ends with status 1 and a message, never by a signal, and leaves nothing.

SEER_TEST: timeout=300
"""
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
import limits  # noqa: E402

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
MODEL = "test/fuzz/corpus/onnx/net0.onnx"
MIB = 1 << 20


def run(args, limit):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return subprocess.run([FAMILYSEER, *args], capture_output=True, text=True, timeout=120, preexec_fn=limited)


def main():
    if limits.is_sanitized():
        print("AddressSanitizer reserves more address space than there is memory")
        return 77
    # The libraries alone need some: start where the program can say its version.
    start = next(n for n in range(64, 4096, 16) if run(["version"], n * MIB).returncode == 0)
    failed = ended = 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        for args in ["info", MODEL], ["tasks", MODEL], ["compile", MODEL, "-O1", "-o", out]:
            for step in range(14):
                limit = (start + step * 12) * MIB
                done = run(args, limit)
                is_short = done.returncode == 1 and ("memory" in done.stderr or "allocate" in done.stderr)
                ended += is_short
                if done.returncode != 0 and not is_short:
                    print(f"{args[0]} with {limit // MIB} MiB: status {done.returncode}: {done.stderr[-300:]}")
                    failed += 1
                left = [n for n in os.listdir(out) if n.startswith(".")] if os.path.isdir(out) else []
                if left:
                    print(f"{args[0]} with {limit // MIB} MiB: left {left}")
                    failed += 1
    print(f"from {start} MiB on: {ended} runs out of memory, {failed} failed")
    return 1 if failed or ended == 0 else 0


sys.exit(main())
