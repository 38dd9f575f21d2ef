"""batch.py MODEL IN OUT: runs a compiled network on every .npy file of the folder IN, and writes its outputs to the folder OUT
as NAME.OUTPUT.npy. What another run has written already is left alone, so one that was interrupted can be said again. Files
that do not fit the network are named at the end, and the status is 1.

Needs NumPy and familyseer: the wheel, or PYTHONPATH=<prefix>/share/familyseer."""
import concurrent.futures
import os
import sys
import threading

import familyseer
import numpy as np

model_path, folder, out = sys.argv[1:]
os.makedirs(out, exist_ok=True)
model = familyseer.Model(model_path)
if len(model.inputs) != 1:
    sys.exit(f"{model_path} has {len(model.inputs)} inputs, batch.py is for networks with one")
own = threading.local()  # a Model serves one thread at a time; a clone shares the weights


def run(name):
    paths = {v.name: os.path.join(out, f"{name[:-4]}.{v.name.replace('/', '_')}.npy") for v in model.outputs}
    if all(map(os.path.exists, paths.values())):
        return None
    try:
        if not hasattr(own, "model"):
            own.model = model.clone()
        answers = own.model.run([np.load(os.path.join(folder, name))])
    except (familyseer.Error, ValueError, TypeError) as e:
        return f"{name}: {e}"
    for key, path in paths.items():
        np.save(path + ".part.npy", answers[key])
        os.replace(path + ".part.npy", path)  # a file that is there is whole
    return None


names = sorted(n for n in os.listdir(folder) if n.endswith(".npy"))
with concurrent.futures.ThreadPoolExecutor(2) as threads:  # one reads and writes while the other one computes
    wrong = [message for message in threads.map(run, names) if message]
print(f"{len(names) - len(wrong)} of {len(names)} files are in {out}")
sys.exit("\n".join(wrong) or None)
