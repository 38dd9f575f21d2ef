"""compile --emit kernels: what is written for a GPU that is not here, what its tables say, and what is refused.

NVRTC is the one that tool/deps.sh installs. Where there is no OpenCL device, kernels in OpenCL C are written and not compiled.

SEER_TEST: timeout=180 cost=20
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from files import state_of

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.abspath(os.environ.get("SEER_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
NVRTC = glob.glob(os.path.join(SOURCE, ".venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"))
failures = []

# A product, a sum of its own kernel, two steps that are one task, parts of a value, and what only the host does.
NET = """graph "net" { input %x f32[1,16,12,12]
const $w f32[8,16,3,3] = splat 0.25 const $v f32[8,16,1,1] = splat 0.5
%a f32 = Conv "a" v13 (%x, $w) {pads=[1,1,1,1]}
%b f32 = Conv "b" v13 (%x, $v)
%c f32 = Conv "c" v13 (%x, $v)
%d f32 = Concat "d" v13 (%a, %b, %c) {axis=1}
%m f32 = MaxPool "m" v12 (%d) {kernel_shape=[2,2], strides=[2,2]}
%s f32 = ReduceMean "s" v13 (%m) {axes=[1,2,3]}
%n i64 = NonZero "n" v13 (%m)
output %s output %n }
"""


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, before=(), **environment):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SEER_TARGET", "SEER_NVRTC"))}
    return subprocess.run([*before, FAMILYSEER, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**env, **environment}, timeout=120)


def compile_for(target, model, out, *more, **how):
    nvrtc = ["--nvrtc", NVRTC[0]] if target.startswith("cuda") and "--nvrtc" not in more else []
    return run("compile", model, "--target", target, "--emit", "kernels", "-o", out, *nvrtc, *more, **how)


def written(folder):
    return {name: content for name, content in ((os.path.relpath(path, folder), content) for path, content in state_of(folder).items())}


def read(out):
    with open(os.path.join(out, "kernels.json")) as stream:
        return json.load(stream)


def check_kernel(kernel, facts, what):
    """Occupancy by arithmetic of our own."""
    warps = -(-kernel["items"] // 32)
    check(kernel["blocks"] >= 1 and 1 <= kernel["items"] <= facts["block-items"], f"{what}: {kernel}")
    fits = [facts["processor-blocks"], facts["processor-items"] // 32 // warps]
    if "registers" in kernel:
        check(0 < kernel["registers"] <= 255 and kernel["spilled_bytes"] == 0, f"{what}: {kernel}")
        of_warp = -(-kernel["registers"] * 32 // facts["register-unit"]) * facts["register-unit"]
        fits.append(facts["registers"] // facts["schedulers"] // of_warp * facts["schedulers"] // warps)
    if kernel["shared_bytes"] or facts.get("bytes-reserved"):
        unit, bytes_ = facts["bytes-unit"], kernel["shared_bytes"] + facts.get("bytes-reserved", 0)
        fits.append(facts["processor-bytes"] // (-(-bytes_ // unit) * unit))
    got = kernel["occupancy"]
    check(got["blocks"] == min(fits), f"{what}: {got['blocks']} blocks at a time, by hand {min(fits)} of {fits}")
    check(abs(got["share"] - min(fits) * kernel["items"] / facts["processor-items"]) < 1e-9, f"{what}: {got}")


def check_tables(out, target, sm):
    table, text = read(out), open(os.path.join(out, "kernels.txt")).read()
    facts = {name: float(value) if re.search(r"[.e]", value) else int(value) for name, value in re.findall(r"-([a-z0-9-]+)=([0-9.e-]+)(?= |$)", table["facts"])}
    facts.setdefault("processor-blocks", 2**32)
    check(table["target"] == target and target in text, f"{target}: {table['target']}")
    names, endings = [], ["cu", "cubin", "ptx"] if sm else ["cl"]
    wanted = {"kernels.txt", "kernels.json", "."}
    for task in table["tasks"]:
        wanted |= {f"{task['file']}.{ending}" for ending in endings}
        source = open(os.path.join(out, f"{task['file']}.{endings[0]}")).read()
        names += [kernel["name"] for kernel in task["kernels"]]
        for kernel in task["kernels"]:
            what = f"{target}, {kernel['name']}"
            check(f"{kernel['name']}(" in source, f"{what}: not in its source")
            check_kernel(kernel, facts, what)
            check(("registers" in kernel) == bool(sm), f"{what}: {kernel}")
            if sm:
                ptx = open(os.path.join(out, f"{task['file']}.ptx")).read()
                check(f".target sm_{sm}" in ptx and f".entry {kernel['name']}(" in ptx, f"{what}: not in its PTX")
        bound = task["bound"]
        check(abs(bound["us"] - bound["launch_us"] - max(bound["compute_us"], bound["memory_us"])) < 1e-6 * bound["us"], f"{target}: {bound}")
        check(task["estimate_us"] >= bound["us"] * (1 - 1e-9), f"{target}: {task['name']}: {task['estimate_us']} us, bound {bound}")
        total = sum(kernel["estimate_us"] for kernel in task["kernels"])
        check(0 < total <= task["estimate_us"] * (1 + 1e-9), f"{target}: {task['name']}: kernels take {total} us of {task['estimate_us']}")
        check(task["flops"] <= 0 or bound["compute_us"] > 0, f"{target}: {task['name']} takes no time")
        check(task["name"] in text and task["schedule"].startswith("sched "), f"{target}: {task['name']}")
        if sm:
            with open(os.path.join(out, f"{task['file']}.cubin"), "rb") as stream:
                check(stream.read(4) == b"\x7fELF", f"{task['file']}: no binary")
    check(len(set(names)) == len(names), f"{target}: two kernels have one name: {names}")
    check(set(written(out)) == wanted, f"{target}: {sorted(set(written(out)) ^ wanted)}")
    return table, text


def network(folder, net):
    for target, sm in (("cuda:sm_90", 90), ("cuda:sm_80", 80), ("cuda:sm_70", 70), ("cuda:h100", 90), ("opencl:generic", 0)):
        out = os.path.join(folder, target.replace(":", "-"), "net")
        done = compile_for(target, net, out + "/" if sm == 80 else out)
        check(done.returncode == 0, f"{target}: {done.stderr[-2000:]}")
        if done.returncode:
            continue
        table, text = check_tables(out, target, sm)
        check([(step["step"], step["operator"]) for step in table["host"]] == [("n/NonZero", "NonZero")], f"{target}: on the host {table['host']}")
        check("no kernel: step n/NonZero (NonZero): only data says" in text, f"{target}: {text[-1500:]}")
        # b and c are one task. 8 channels each: all are parts of d, which is not copied.
        convs = [task for task in table["tasks"] if task["name"].startswith("conv 1x1")]
        check(len(convs) == 1 and convs[0]["steps"] == 2, f"{target}: {[task['name'] for task in table['tasks']]}")
        check(os.listdir(os.path.dirname(out)) == ["net"], f"{target}: {os.listdir(os.path.dirname(out))}")
        n = sum(len(task["kernels"]) for task in table["tasks"])
        check(f"{n} kernels of {len(table['tasks'])} tasks" in done.stderr and "1 step on the host" in done.stderr, f"{target}: {done.stderr}")


def the_same_again(folder, net):
    """To the byte, on one processor too; and with the plain schedule something else."""
    first, second, plain = (os.path.join(folder, name) for name in ("first", "second", "plain"))
    os.mkdir(second)  # it may be there, empty
    cpu = min(os.sched_getaffinity(0))
    check(compile_for("cuda:sm_80", net, first).returncode == 0, "first")
    check(compile_for("cuda:sm_80", net, second, before=["taskset", "-c", str(cpu)]).returncode == 0, "on one processor")
    check(written(first) == written(second), "twice the same are not the same")
    check(compile_for("cuda:sm_80", net, plain, "-O0").returncode == 0, "-O0")
    half = compile_for("cuda:sm_80", net, os.path.join(folder, "half"), "--precision", "f16")
    check(half.returncode == 0 and "what f16 changes in outputs is not judged of kernels" in half.stderr, f"f16: {half.stderr}")
    check(written(first) != written(plain), "-O0 is as -O1")
    untuned, untiled = (sum(task["estimate_us"] * task["steps"] for task in read(out)["tasks"]) for out in (first, plain))
    check(untuned < untiled, f"-O1 is estimated at {untuned} us, -O0 at {untiled}")


def refuses(folder, what, text, *args, status=1, **environment):
    before = state_of(folder)
    done = run("compile", *args, **environment)
    check(done.returncode == status, f"{what}: status {done.returncode}: {done.stderr[-500:]}")
    check(text in done.stderr and done.stdout == "", f"{what}: {done.stderr[-500:]}")
    check(state_of(folder) == before, f"{what} leaves something behind")


def bad_inputs(folder):
    out, file, full = (os.path.join(folder, name) for name in ("new/out", "file", "full"))
    os.mkdir(full)
    for name in (file, os.path.join(full, "mine")):
        with open(name, "w") as stream:
            stream.write("mine")
    gpu = ["mlp", "--emit", "kernels", "--target", "cuda:sm_80", "--nvrtc", NVRTC[0]]
    refuses(folder, "a file", "is a file, must be a folder", *gpu, "-o", file)
    refuses(folder, "a folder with something in it", "with 'mine' in it", *gpu, "-o", full)
    refuses(folder, "no architecture", "cuda:sm_80 ", "mlp", "--emit", "kernels", "--target", "cuda:sm_77", "-o", out)
    refuses(folder, "a processor", "--emit kernels is for GPUs", "mlp", "--emit", "kernels", "-o", out)
    refuses(folder, "no network", "nothere", "nothere", *gpu[1:], "-o", out)
    refuses(folder, "--strict", "no task of a GPU has a record", *gpu, "--strict", "-o", out)
    refuses(folder, "auto", "--precision auto", *gpu, "--precision", "auto", "-o", out)
    refuses(folder, "no folder", "-o DIR is missing", *gpu, status=2)
    # A libcuda that lacks what NVRTC calls is said; one without a device that has it is none of a compiler's business.
    with open(os.path.join(folder, "none.c"), "w") as file:
        file.write("int cuInit(unsigned flags) { return flags ? 1 : 100; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", os.path.join(folder, "none.c"), "-o", os.path.join(folder, "libcuda.so.1")], check=True)
    refuses(folder, "a libcuda that is none", "has no cuGetExportTable", *gpu, "-o", out, LD_LIBRARY_PATH=folder)
    done = run("compile", *gpu, "-o", os.path.join(folder, "mocked"), LD_LIBRARY_PATH=os.path.join(os.path.dirname(FAMILYSEER), "mock"))
    check(done.returncode == 0, f"with a driver without a device: {done.returncode} {done.stderr}")
    for name, text in (("/nowhere/libnvrtc.so", "/nowhere/libnvrtc.so"), ("libm.so.6", "it is no NVRTC")):
        refuses(folder, name, text, *gpu[:-1], name, "-o", out)
        refuses(folder, f"{name} by the environment", "pip install nvidia-cuda-nvrtc-cu12", *gpu[:-2], "-o", out, SEER_NVRTC=name)
    # A device that is said to have more than there is, and memory so far off that steps are few and large: some block asks for it, and
    # the compiler knows better.
    much = "cuda:sm_80 -block-bytes=150000 -l2-cycles=100000 -dram-cycles=100000"
    refuses(folder, "too much", "uses too much shared data", "mobilenet_v2", *gpu[1:], "--target", much, "-o", os.path.join(folder, "much"))
    done = compile_for("cuda -arch=sm_100 -processors=8", "mlp", os.path.join(folder, "sm100"))
    check(done.returncode == 0 or "makes no code for sm_100" in done.stderr, f"sm_100: {done.stderr}")


def opencl_without_a_device(folder):
    out = os.path.join(folder, "alone")
    done = compile_for("opencl:generic", "mlp", out, OCL_ICD_VENDORS="/nowhere", OCL_ICD_FILENAMES="")
    check(done.returncode == 0 and "not compiled, no OpenCL device is here" in done.stderr, f"no device: {done.stderr}")
    check(read(out)["compiler"] == "", f"no device: {read(out)['compiler']}")


def main():
    if not NVRTC:
        print("FAILED: tool/deps.sh gpu installs NVRTC")
        return 1
    folder = tempfile.mkdtemp(prefix="familyseer-kernels-")
    try:
        net = os.path.join(folder, "net.graph")
        with open(net, "w") as stream:
            stream.write(NET)
        network(folder, net)
        the_same_again(folder, net)
        bad_inputs(folder)
        opencl_without_a_device(folder)
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
