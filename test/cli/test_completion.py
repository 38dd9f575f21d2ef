# What shells and man are given: bash, asked as it asks, offers each command's flags, the words of those that have some, and
# built-in networks; zsh, fish and the manual pages have each flag of each command, and no other.
# SEER_TEST: timeout=120
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
folder = tempfile.mkdtemp()


def expect(what, message):
    if not what:
        sys.exit(f"FAILED: {message}")


def run(*args, status=0):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
    expect(done.returncode == status, f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout


def table():
    """Flag -> (is on by default, commands, type), as doc/options.md has them, which lint holds against the program."""
    options = {}
    for line in open(os.path.join(SOURCE, "doc", "options.md")):
        cells = re.split(r"(?<!\\)\|", line)
        if line.startswith("| `--"):
            is_on = cells[3].strip() == "switch" and cells[4].strip() == "on"
            name = cells[1].strip(" `-")
            options["--" + ("no-" if is_on else "") + name] = (cells[6].strip().replace("\\", "").split(), cells[3].strip())
    return options


OPTIONS = table()
COMMANDS = [line.split()[0] for line in run("list", "commands").splitlines()]
SHORT = {"--output": "-o", "--input": "-i", "--opt-level": "-O"}


def flags_of(command):
    return {flag for flag, (commands, _) in OPTIONS.items() if command in commands or commands == ["*"]}


def bash(script, *words):
    """What bash offers for the last of these words."""
    quoted = " ".join(f"'{w}'" for w in words)
    done = subprocess.run(["bash", "-uc", f"""source {script}
COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _familyseer; printf '%s\\n' "${{COMPREPLY[@]}}" """],
                          capture_output=True, text=True, cwd=folder)
    expect(done.returncode == 0 and not done.stderr, f"bash, {words}: {done.stderr}")
    return set(done.stdout.split("\n")) - {""}


def bash_offers_all():
    script = os.path.join(folder, "share/bash-completion/completions/familyseer")
    expect(set(COMMANDS) <= bash(script, "familyseer", "") <= {*COMMANDS, "help", "version"}, "bash: not the commands")
    expect(bash(script, "familyseer", "tu") == {"tune"}, "bash: tu")
    for command in COMMANDS:
        offered = bash(script, "familyseer", command, "-")
        wanted = flags_of(command) | {SHORT[f] for f in flags_of(command) if f in SHORT} | {"--help", "--help-all"}
        expect(offered == wanted, f"bash, {command}: {sorted(offered ^ wanted)}")
    for at in (["--preset", "q"], ["--preset", "=", "q"]):
        expect(bash(script, "familyseer", "tune", *at) == {"quick"}, f"bash: {at}")
    open(os.path.join(folder, "resnet18.onnx"), "w").close()
    expect({"resnet18", "resnet18.onnx"} <= bash(script, "familyseer", "tune", "resnet18"), "bash: no networks beside files")
    expect("resnet18" not in bash(script, "familyseer", "bench", "resnet18"), "bash: a network where a library is wanted")


def others_have_all():
    zsh, fish = run("completion", "zsh"), run("completion", "fish")
    bodies = dict(re.findall(r"^    ([a-z]+)\)\n      _arguments(.*?)^      ;;", zsh, re.M | re.S))
    expect(set(bodies) == set(COMMANDS), f"zsh: {set(bodies) ^ set(COMMANDS)}")
    for command, body in bodies.items():
        found = set(re.findall(r"^ +'\*?(--[a-z0-9-]+)[=\[]", body, re.M)) - {"--help", "--help-all"}
        expect(found == flags_of(command), f"zsh, {command}: {found ^ flags_of(command)}")
        expect(all(line.replace("'\\''", "").count("'") % 2 == 0 for line in body.splitlines()), f"zsh, {command}: quotes")
    lines = {}
    for line in fish.splitlines():
        flag = re.search(r" -l ([a-z0-9-]+)", line)
        if flag:
            of = re.search(r"__fish_seen_subcommand_from ([a-z ]+)'", line)
            lines["--" + flag[1]] = of[1].split() if of else ["*"]
    expect(lines == {flag: commands for flag, (commands, _) in OPTIONS.items()}, "fish: not the flags that there are")
    for command in COMMANDS:
        page = open(os.path.join(folder, f"share/man/man1/familyseer-{command}.1")).read()
        expect(page == run("completion", "man", command), f"man, {command}: printed and written differ")
        found = set(re.findall(r"^\.TP\n\.B .*?(--[a-z0-9-]+)", page.replace("\\-", "-"), re.M))
        expect(found == flags_of(command), f"man, {command}: {found ^ flags_of(command)}")
        expect(not re.search(r"^\.(?!TH |SH |SS |TP$|B |BR |nf$|fi$)", page, re.M), f"man, {command}: a line that roff takes for its own")
    page = open(os.path.join(folder, "share/man/man1/familyseer.1")).read().replace("\\-", "-")
    expect(set(re.findall(r"^\.BR familyseer-([a-z]+) \(1\)", page, re.M)) == set(COMMANDS), "man: not the commands")
    man = shutil.which("groff")
    if man:
        done = subprocess.run([man, "-man", "-Tutf8", "-ww", "-Wbreak", f"{folder}/share/man/man1/familyseer-tune.1"], capture_output=True, text=True)
        expect(done.returncode == 0 and not done.stderr and "--time-budget" in re.sub(r"\x1b\[\d*m", "", done.stdout), f"groff: {done.stderr}")


def wrong_ones():
    run("completion", "tcsh", status=2)
    run("completion", "man", "tun", status=2)
    run("completion", "all", status=2)


try:
    run("completion", "all", "-o", os.path.join(folder, "share"))
    bash_offers_all()
    others_have_all()
    wrong_ones()
finally:
    shutil.rmtree(folder)
