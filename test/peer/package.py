"""familyseer as a wheel lays it out, from this checkout and its build folder: import this, then familyseer."""
import atexit
import glob
import os
import shutil
import sys
import tempfile

source = os.environ.get("TEST_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
build = os.environ.get("TEST_BUILD_DIR", os.path.join(source, "build"))
folder = tempfile.mkdtemp()
_process = os.getpid()
atexit.register(lambda: os.getpid() == _process and shutil.rmtree(folder, ignore_errors=True))  # not where a forked child ends
_package = os.path.join(folder, "familyseer")
shutil.copytree(os.path.join(source, "python", "package"), _package, ignore=shutil.ignore_patterns("__pycache__"))
shutil.copy(os.path.join(source, "python", "familyseer.py"), os.path.join(_package, "_runtime.py"))
for _file in ("libfamilyseer.so", "familyseer", "familyseer-runner"):
    os.symlink(os.path.realpath(os.path.join(build, _file)), os.path.join(_package, _file))
for _file in glob.glob(os.path.join(build, "lib*")):
    if not os.path.exists(os.path.join(_package, os.path.basename(_file))):
        os.symlink(os.path.realpath(_file), os.path.join(_package, os.path.basename(_file)))
# As pip lays down: PyTorch finds the backend by it.
_info = os.path.join(folder, "familyseer-0.dist-info")
os.mkdir(_info)
with open(os.path.join(_info, "METADATA"), "w", encoding="utf-8") as _out:
    _out.write("Metadata-Version: 2.1\nName: familyseer\nVersion: 0\n")
with open(os.path.join(_info, "entry_points.txt"), "w", encoding="utf-8") as _out:
    _out.write("[torch_dynamo_backends]\nfamilyseer = familyseer.torch:backend\n")
sys.dont_write_bytecode = True
sys.path.insert(0, folder)
