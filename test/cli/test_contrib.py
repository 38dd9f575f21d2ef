# What comes along for running workers elsewhere says what the program knows: options, times to end, libraries of the image;
# systemd's own judge of the unit, and the shell's of the script, where they are installed.
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
POST_S = 5  # what a worker takes to give back what it has, where the broker is slow (serve/post.c)


def expect(what, message):
    if not what:
        sys.exit(f"FAILED: {message}")


def read(name):
    with open(os.path.join(SOURCE, "contrib", name), encoding="utf-8") as file:
        return file.read()


def say(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


def grace_s():
    """The default of --grace."""
    found = re.search(r"--grace\s.*?(\d+)s\b", say("worker", "--help"), re.S)
    expect(found, "worker --help does not say how long --grace is")
    return int(found[1])


def options():
    """Each SEER_ variable is an option, or the password's."""
    known = say("list", "options")
    for name in ("familyseer-worker.service", "kubernetes.yaml", "Dockerfile", "slurm.sh"):
        for variable in re.findall(r"SEER_[A-Z_]+[A-Z]", read(name)):
            flag = variable[5:].lower().replace("_", "-")
            expect(re.search(rf"^(--)?{flag}\s", known, re.M), f"{name}: {variable} is no option")
        for flag in re.findall(r"(?<![\w-])--(grace|device-lock|fleet[\w-]*)\b", read(name)):
            expect(re.search(rf"^(--)?{flag}\s", known, re.M), f"{name}: --{flag} is no option")


def times_to_end():
    """Who is told to end has the time to: a round's grace, and what posting takes."""
    needed = grace_s() + POST_S
    for name, pattern in (("familyseer-worker.service", r"^TimeoutStopSec=(\d+)$"),
                          ("kubernetes.yaml", r"^ *terminationGracePeriodSeconds: (\d+)$"), ("slurm.sh", r"^#SBATCH --signal=TERM@(\d+)$")):
        found = re.search(pattern, read(name), re.M)
        expect(found and int(found[1]) >= needed, f"{name}: needs {needed} s to end, has {found and found[1]}")


def libraries():
    """The image has every package that the program's libraries are of."""
    if not shutil.which("dpkg"):
        return
    last = read("Dockerfile").rsplit("\nFROM", 1)[1]
    for line in subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.search(r"=> (/\S+)", line)
        out = found and subprocess.run(["dpkg", "-S", os.path.realpath(found[1])], capture_output=True, text=True).stdout
        package = out.split(":")[0] if out else ""
        is_there = package in ("", "libc6", "libgcc-s1") or re.search(rf"\b{re.escape(package)}(?![\w.+-])", last)
        expect(is_there, f"Dockerfile: {package} is missing, for {line.strip()}")


def unit():
    """systemd takes it without a word, and finds little that it could do."""
    if not shutil.which("systemd-analyze"):
        print("no systemd-analyze: the unit was not verified")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(PROGRAM, os.path.join(folder, "bin", "familyseer"))
        path = os.path.join(folder, "familyseer-worker.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(read("familyseer-worker.service").replace("@PREFIX@", folder))
        done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
        expect(done.returncode == 0 and not done.stderr.strip(), f"systemd-analyze verify: {done.stderr}")
        done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=20", path],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"systemd-analyze security: exposed above 2.0 of 10: {done.stdout[-400:]}{done.stderr}")


def deployment():
    """Guaranteed: requests are limits, in whole processors. Nobody's account, and nothing that can be written but /tmp."""
    text = read("kubernetes.yaml")
    requests, limits = (re.search(rf"^ *{what}: \{{(.*)\}}$", text, re.M) for what in ("requests", "limits"))
    expect(requests and limits and requests[1] == limits[1], "kubernetes.yaml: requests are not the limits")
    expect(re.search(r'cpu: "[1-9][0-9]*"', limits[1]), "kubernetes.yaml: processors that are not whole")
    for line in ("runAsNonRoot: true", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "drop: [ALL]"):
        expect(line in text, f"kubernetes.yaml: {line} is missing")


def script():
    subprocess.run(["bash", "-n", os.path.join(SOURCE, "contrib", "slurm.sh")], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", os.path.join(SOURCE, "contrib", "slurm.sh")], check=True)


options()
times_to_end()
libraries()
unit()
deployment()
script()
