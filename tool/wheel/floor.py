#!/usr/bin/env python3
"""What the wheel is linked against in place of this machine's glibc: libraries without code that offer each of its
functions in the newest version that glibc FLOOR had, so that what is linked runs with that one and with all later ones.
What came later is not offered: the linker names it, and shim.c has to make it.

Versions are this machine's own: glibc keeps old ones of what it has changed. Functions that 2.34 moved into libc.so.6
are offered where they were before, as older ones have them there.   tool/wheel/floor.py FOLDER FLOOR LLD
"""
import os
import re
import subprocess
import sys

# What was in which library before; libc.so.6 has newer versions of these now.
MOVED = [
    ("libdl.so.2", r"dl(addr1?|close|error|info|mopen|open|sym|vsym)"),
    ("librt.so.1", r"(aio|lio|mq|shm|timer)_.*"),
    ("libutil.so.1", r"forkpty|login(_tty)?|logout|logwtmp|openpty"),
    ("libanl.so.1", r"getaddrinfo_a|gai_.*"),
    ("libresolv.so.2", r"_*(res|ns|dn|inet|host|p|fp|sym|loc)_.*|__b64_.*|__(putlong|putshort|hostalias)"),
    ("libpthread.so.0", r"_*(pthread|sem|mtx|thrd|cnd|tss)_.*|call_once|__(open|read|write|recv|send|wait).*"),
]
LIBRARIES = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"]


def version(text):
    return tuple(int(part) for part in text.split("."))


def offered(path):
    """Of a library: {name: {version: (kind, size)}}, and the version that a linker would take."""
    found, default = {}, {}
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", path], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        word = line.split()
        if len(word) != 8 or word[6] == "UND" or word[4] not in ("GLOBAL", "WEAK"):
            continue
        match = re.fullmatch(r"(\w+)(@@?)GLIBC_([0-9.]+)", word[7])
        if not match or word[3] == "TLS":
            continue
        name, at, number = match[1], match[2], version(match[3])
        found.setdefault(name, {})[number] = ("@object" if word[3] == "OBJECT" else "@function", int(word[2], 0))
        if at == "@@":
            default[name] = number
    return found, default


def home(library, name, newest, floor):
    if library != "libc.so.6" or newest <= floor or name == "__libc_start_main":
        return library
    for other, names in MOVED:
        if re.fullmatch(names, name):
            return other
    return library


def write(folder, soname, symbols, lld):
    """symbols: {name: (version, kind, size)}."""
    base = os.path.join(folder, "lib" + re.sub(r"^lib|\.so.*", "", soname))
    with open(base + ".s", "w") as out:
        for i, (name, (number, kind, size)) in enumerate(sorted(symbols.items())):
            text = "GLIBC_" + ".".join(map(str, number))
            out.write(f".globl s{i}\n.type s{i},{kind}\n.size s{i},{size}\ns{i}:\n.symver s{i},{name}@@{text}\n")
            if size:
                out.write(f".skip {size if kind == '@object' else 1}\n")
    versions = sorted({number for number, _, _ in symbols.values()})
    with open(base + ".map", "w") as out:
        out.writelines("GLIBC_%s { };\n" % ".".join(map(str, number)) for number in versions)
    subprocess.run(["as", "-o", base + ".o", base + ".s"], check=True)
    flags = ["--version-script", base + ".map"] if versions else []
    subprocess.run([lld, "-shared", "-soname", soname, *flags, "-o", base + ".so", base + ".o"], check=True)


def main(folder, floor, lld):
    os.makedirs(folder, exist_ok=True)
    floor = version(floor)
    made = {soname: {} for soname in LIBRARIES + [soname for soname, _ in MOVED]}
    for library in LIBRARIES:
        path = subprocess.run(["gcc", "-print-file-name=" + library], check=True, capture_output=True, text=True)
        found, default = offered(path.stdout.strip())
        for name, versions in found.items():
            old = [number for number in versions if number <= floor]
            if old:
                made[home(library, name, default.get(name, floor), floor)][name] = (max(old), *versions[max(old)])
    for soname, symbols in made.items():
        write(folder, soname, symbols, lld)


if __name__ == "__main__":
    main(*sys.argv[1:])
