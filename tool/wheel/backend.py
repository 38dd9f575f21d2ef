"""What pip calls for `pip install .` (PEP 517): the wheel that make wheel makes. There is no archive of sources for PyPI: it
would have to bring what Debian's packages bring."""
import glob
import os
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run([os.path.join(ROOT, "tool", "wheel.sh")], check=True)
    (made,) = glob.glob(os.path.join(ROOT, "build", "wheel", "familyseer-*.whl"))
    shutil.copy(made, wheel_directory)
    return os.path.basename(made)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("familyseer is built from a checkout")
