"""What the table of architectures says of items, blocks and workgroup bytes, against CUDA's assembler, which warns of a launch bound
that no processor can keep. Architectures that this ptxas does not know are left out; without ptxas there is nothing to do."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from peer import SKIP, familyseer, run_tests

PTXAS = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
TEXT = """.version {version}
.target sm_{architecture}
.address_size 64
.visible .entry k() .maxntid {items},1,1 .minnctapersm {blocks}
{{
.shared .align 4 .b8 buffer[{shared}];
ret;
}}
"""


def complaint(folder, architecture, items, blocks, shared=16):
    """What ptxas says of a kernel of `items` that is to be `blocks` times on a processor; "" if it finds nothing."""
    path = os.path.join(folder, "k.ptx")
    with open(path, "w") as stream:
        stream.write(TEXT.format(version="7.8" if architecture < 100 else "8.7", architecture=architecture, items=items, blocks=blocks,
                                 shared=shared))
    done = subprocess.run([PTXAS, f"-arch=sm_{architecture}", path, "-o", path + ".o"], capture_output=True, text=True)
    return done.stdout + done.stderr


def architectures():
    text = familyseer("devices").stdout
    return [int(sm) for sm in re.findall(r"cuda:sm_(\d+)", text)]


def limits_are_the_assemblers():
    tried = []
    with tempfile.TemporaryDirectory() as folder:
        for sm in architectures():
            if complaint(folder, sm, 32, 1):
                print(f"left out: sm_{sm}: {complaint(folder, sm, 32, 1).strip()}")
                continue
            facts = json.loads(familyseer("devices", "--target", f"cuda:sm_{sm}", "--json").stdout)
            items, blocks, shared = facts["processor_items"], facts["processor_blocks"], facts["block_bytes"]
            # Sixteen blocks are within all limits of blocks; one warp more each is too much.
            assert not complaint(folder, sm, items // 16, 16), f"sm_{sm}: {items} items"
            assert "threads per SM" in complaint(folder, sm, items // 16 + 32, 16), f"sm_{sm}: more than {items} items"
            assert not complaint(folder, sm, 32, blocks), f"sm_{sm}: {blocks} blocks"
            assert "minnctapersm" in complaint(folder, sm, 32, blocks + 1), f"sm_{sm}: more than {blocks} blocks"
            assert not complaint(folder, sm, 32, 1, shared), f"sm_{sm}: {shared} bytes"
            assert "too much shared data" in complaint(folder, sm, 32, 1, shared + 1), f"sm_{sm}: more than {shared} bytes"
            tried.append(sm)
    print("architectures:", *tried)
    assert tried, "this ptxas knows none of them"


if __name__ == "__main__":
    if not PTXAS:
        print("skipped: no ptxas here")
        sys.exit(SKIP)
    run_tests([("limits", limits_are_the_assemblers)])
