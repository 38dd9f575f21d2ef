"""ask.py SOCKET NAME X.npy Y.npy: has server.cc run its network NAME on the array in X.npy, and writes the first output's
elements to Y.npy."""
import socket
import sys

import numpy as np

path, name, x, y = sys.argv[1:]
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    server.sendall(" ".join([name, *(f"{v:.9g}" for v in np.load(x).ravel())]).encode() + b"\n")
    verdict, _, answer = server.makefile().readline().strip().partition(" ")
if verdict != "ok":
    sys.exit(f"{path}: {answer}")
np.save(y, np.array(answer.split(), np.float32))
