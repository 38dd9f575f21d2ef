"""Which refusals doc/operators.md states: an operator's message, and the words of its row that say so."""
import os
import re

import onnx

DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc", "operators.md")
# operator, message, what the operator's row says (or, where it begins with "=", what stands anywhere in the page)
STATED = [
    ("Erf", "must be a float type", "floats"),
    ("OneHot", r"'depth' is N, must be at least N", "=Tensors without elements"),
    ("DFT", r"^N points, must be N to N", "=Tensors without elements"),
    ("AffineGrid", r"^'size' has N, must be N to N", "=Tensors without elements"),
    ("ConvTranspose", r"has no elements", "=Tensors without elements"),
    ("MaxUnpool", r"of the result is N$", "=Tensors without elements"),
    ("Unique", r"has no elements", "=Tensors without elements"),
]


def _page():
    with open(DOC, encoding="utf-8") as file:
        return file.read()


def newest_opset():
    """What the page says is read, as far as the installed onnx package knows it."""
    says = re.search(r"opsets 1 to (\d+)", _page())
    return min(int(says.group(1)), onnx.defs.onnx_opset_version())


def stated(op, message):
    """The words of the page that state this refusal, or None."""
    page = _page()
    row = next((line for line in page.splitlines() if line.startswith(f"| {op} |")), "")
    for which, pattern, words in STATED:
        if re.fullmatch(which, op) and re.search(pattern, message):
            if words.lstrip("=") in (page if words.startswith("=") else row):
                return words
    return None
