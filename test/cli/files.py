"""What lies in a folder, for tests that hold it against what did before."""
import os


def state_of(folder):
    """Every folder below, and every file with what is in it."""
    found = {}
    for path, _, files in os.walk(folder):
        found[path] = None
        for file in files:
            with open(os.path.join(path, file), "rb") as stream:
                found[os.path.join(path, file)] = stream.read()
    return found
