"""The faults that are planted, by the part of the source that they are in. What a fault is:

  name   says what is wrong
  kind   which sort of mistake
  file   and the text `old`, which is there once, and what stands there instead
  near   tests of ctest (regular expressions, with | between them, the likeliest first) that may see it: they are run first,
         one after another, so that most faults cost seconds.
         What they do not see is looked for everywhere, so a name here decides nothing but the time.
  ops    operators whose cases the differential test draws, where it comes to that

To add one: an entry of front_faults.py, code_faults.py, below_faults.py, device_faults.py or far_faults.py. A fault must compile, and be wrong for some input that the product takes.
"""
from code_faults import CODE
from front_faults import FRONT
from below_faults import BELOW
from device_faults import DEVICE
from far_faults import FAR

FAULTS = FRONT + CODE + BELOW + DEVICE + FAR

# Each of these has one, at least.
AREAS = ("src/dag/", "src/front/op/", "src/front/pass/", "src/front/expand/", "src/space/", "src/code/tile/", "src/code/gen/",
         "src/code/math/", "src/code/llvm/", "src/code/source/", "src/code/artefact/", "src/runtime/", "src/runtime/host/", "src/runtime/runner/", "src/code/plan/",
         "src/library/", "src/choose/", "src/cli/", "src/measure/fleet/", "src/base/os/", "src/record/")
