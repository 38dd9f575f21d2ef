"""What `familyseer devices` lists of drivers: OpenCL's on PoCL, where it is, and CUDA's on a libcuda that computes and fails as told.

Drivers that crash, hang, lose their device, count wrong or are not there end nothing: each is a line of the list.

SEER_TEST: timeout=120 cost=25
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FAMILYSEER = os.path.abspath(os.environ.get("FAMILYSEER", "build/familyseer"))
SOURCE = os.path.abspath(os.environ.get("SEER_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
MOCK = os.path.join(os.path.dirname(FAMILYSEER), "mock")
NO_OPENCL = {"OCL_ICD_VENDORS": "/nowhere", "OCL_ICD_FILENAMES": ""}
failures = []

IMAGE = """
typedef struct { const char *name; void (*run)(void *const *, unsigned); unsigned n_args, n_items, group_bytes; unsigned long long scratch_bytes; } kernel;
static void run(void *const *buffers, unsigned block) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (unsigned i = 64 * block; i < 64 * block + 64; i++) y[i] = %s;
}
const kernel mock_kernels[] = {{"seer_check", run, 2, 64, 0, 0}};
const unsigned mock_n_kernels = 1, mock_architecture = 90;
"""


def check(ok, message):
    if not ok:
        failures.append(message)
        print("FAILED:", message)


def run(*args, **environment):
    return subprocess.run([FAMILYSEER, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300)


def with_mock(told="", image=None):
    path = os.environ.get("LD_LIBRARY_PATH")
    return {**NO_OPENCL, "LD_LIBRARY_PATH": f"{MOCK}:{path}" if path else MOCK, "MOCK_CUDA": told, **({"MOCK_CUDA_PTX": image} if image else {})}


def driver(name, **environment):
    done = run("devices", "--json", **environment)
    check(done.returncode == 0 and done.stderr == "", f"devices with {environment}: {done.returncode} {done.stderr[-500:]}")
    drivers = {one["driver"]: one for one in json.loads(done.stdout)["drivers"]}
    check(sorted(drivers) == ["cuda", "opencl"], f"drivers are {sorted(drivers)}")
    return drivers[name]


def image_of(folder, name, value):
    text, out = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".so")
    with open(text, "w") as file:
        file.write(IMAGE % value)
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", text, "-o", out], check=True)
    return out


def opencl_is_listed():
    opencl = driver("opencl")
    if not opencl["devices"]:
        print("no OpenCL device here:", opencl["why"])
        return
    check("why" not in opencl, f"devices, and {opencl.get('why')}")
    for number, device in enumerate(opencl["devices"]):
        check(device["name"] == f"opencl:{number}", f"number {number} is {device['name']}")
        if "model" not in device:
            check(not device["answers"] and device["check"], f"{device}")
            continue
        check(device["answers"] and device["check"] == "answers right", f"{device}")
        check(device["processors"] > 0 and device["items"] > 0 and device["block_bytes"] >= 1024 and device["memory_bytes"] > 0, f"{device}")
    text = run("devices").stdout
    for device in opencl["devices"]:
        check(re.search(rf"^  {device['name']} .*{re.escape(device['check'])}$", text, re.M), f"devices does not show {device['name']}: {text}")


def devices_without_shared_memory_are_told(folder):
    """Oclgrind's, where it is installed."""
    library = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
    if not os.path.exists(library):
        return
    with open(os.path.join(folder, "oclgrind.icd"), "w") as file:
        file.write(library + "\n")
    why = "it has no shared virtual memory (OpenCL 2.0)"
    devices = driver("opencl", OCL_ICD_VENDORS=folder)["devices"]
    check(len(devices) == 1 and not devices[0]["answers"] and why in devices[0]["check"] and "Oclgrind" in devices[0]["check"], f"{devices}")
    done = run("devices", "--target", "opencl:0", OCL_ICD_VENDORS=folder)
    check(done.returncode == 1 and done.stderr.startswith("familyseer devices: target opencl:0: ") and why in done.stderr, f"a target: {done.stderr}")


def drivers_may_be_missing():
    opencl = driver("opencl", **NO_OPENCL)
    check(opencl["devices"] == [] and opencl["why"] == "the driver has none", f"no OpenCL: {opencl}")
    text = run("devices", **with_mock("devices=0")).stdout
    check(re.search(r"^  cuda +none: the driver has none$", text, re.M) and re.search(r"^  opencl +none: ", text, re.M), text)
    cuda = driver("cuda", **with_mock("init=803"))
    check(cuda["devices"] == [] and "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" in cuda["why"], f"a driver that does not begin: {cuda}")


def cuda_computes(right, wrong):
    cuda = driver("cuda", **with_mock("devices=2", right))
    check([device["name"] for device in cuda["devices"]] == ["cuda:0", "cuda:1"], f"{cuda}")
    for device in cuda["devices"]:
        check(device["answers"] and device["check"] == "answers right" and device["architecture"] == 90 and not device["is_cpu"], f"{device}")
    check(run("devices", "check", "cuda", 0, **with_mock("", right)).stderr == "", "the check breaks rules of CUDA")
    device = driver("cuda", **with_mock("", wrong))["devices"][0]
    check(not device["answers"] and re.fullmatch(r"wrong: 300\.48\d* \+ 1 is 0 there, not 301\.48\d* \(number 2704\)", device["check"]), f"{device}")


def faults_are_told(right):
    for told, image, wanted in (("lost=1", right, "CUDA_ERROR_LAUNCH_FAILED"), ("oom=1", right, "no memory for 16384 bytes"),
                                ("refuse=218", right, "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed: refused as was asked for"),
                                ("", None, "no image that this driver knows"), ("architecture=61", right, "no code for this device"),
                                ("crash=1", right, "its driver ended the process, signal 6"), ("hang=1", right, "no answer within 20 s")):
        devices = driver("cuda", **with_mock(told, image))["devices"]
        check(len(devices) == 1 and not devices[0]["answers"] and wanted in devices[0]["check"], f"{told}: {devices}")
        check(devices and devices[0].get("model") and devices[0]["processors"] > 0, f"{told}: what the device is: {devices}")


def shown(target, **environment):
    done = run("devices", "--json", "--target", target, **environment)
    check(done.returncode == 0, f"{target}: {done.stderr[-500:]}")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def numbers_are_targets(folder):
    """As the driver describes them, in the printed form, which means the same where the driver is not."""
    listed = driver("cuda", **with_mock("devices=2"))["devices"]
    one, other = (shown(f"cuda:{number}", **with_mock("devices=2")) for number in (0, 1))
    check(one["model"] == listed[0]["model"] and one["processors"] == listed[0]["processors"] and one["l2_bytes"] == listed[0]["cache_bytes"], f"{one}")
    check(one["architecture"] == "sm_90" and one["rates"] == "assumed" and one["clock_ghz"] == 1.98, f"{one}")
    check(other["model"] == listed[1]["model"], f"{other}")
    check(shown(one["target"], **NO_OPENCL) == one, "the printed form is another device")
    check(shown("cuda:0", **with_mock("architecture=80"))["architecture"] == "sm_80", "another architecture is not seen")
    check(shown("cuda:0 -processors=7", **with_mock())["processors"] == 7, "options behind the number are lost")
    for target, told, wanted in (("cuda:2", "devices=2", r"target cuda:2: no device number 2: CUDA has 2; there are cuda:0 \(.*\), cuda:1 \(.*\); "),
                                 ("cuda:0", "devices=0", "no device number 0: CUDA has 0; "), ("cuda:0", "init=803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
                                 ("cuda:0", "architecture=61", "target cuda:0|sm_61; known are cuda:sm_70"), ("opencl:0", "", "OpenCL has 0; ")):
        for command in (["devices"], ["compile", "mlp", "-o", os.path.join(folder, "out")], ["tasks", "mlp"]):
            done = run(*command, "--target", target, **with_mock(told))
            check(done.returncode == 1 and re.search(wanted, done.stderr), f"{command} for {target}, {told}: {done.returncode} {done.stderr}")
    done = run("tasks", "mlp", SEER_TARGET="cuda:0", **with_mock())
    check(done.returncode == 1 and "target cuda:sm_90: GPUs are served by compile and tune" in done.stderr, f"tasks: {done.stderr}")
    done = run("list", "targets", SEER_TARGET="cuda:9")
    check(done.returncode == 0, f"a command without a target looks for it: {done.stderr}")
    here = driver("opencl")["devices"]
    if here and here[0]["answers"]:
        opencl_is_a_target(folder, here[0])


def opencl_is_a_target(folder, listed):
    one = shown("opencl:0")
    check((one["model"], one["processors"]) == (listed["model"], listed["processors"]), f"{one} for {listed}")
    check(one["max_block_bytes"] == listed["block_bytes"] and one["block_items"] == min(listed["items"], 1024), f"{one} for {listed}")
    out = os.path.join(folder, "library")
    for args in (["compile", "mlp", "--target", "opencl:0", "-O0", "-o", out], ["verify", os.path.join(out, "model.so"), "mlp"]):
        done = run(*args)
        check(done.returncode == 0, f"{args}: {done.stderr[-800:]}")


def text_is_ptx(folder):
    """The libcuda above runs an image in its place."""
    ptxas = shutil.which("ptxas")
    if not ptxas:
        return
    source = open(os.path.join(SOURCE, "src", "cli", "drivers_job.c")).read()
    lines = re.findall(r'^    "(.*)\\n"', source[source.index("cuda_text[]"):source.index("images[]")], re.M)
    path = os.path.join(folder, "check.ptx")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    for architecture in ("sm_75", "sm_90", "sm_120"):
        done = subprocess.run([ptxas, f"-arch={architecture}", path, "-o", path + ".cubin"], capture_output=True, text=True)
        check(done.returncode == 0, f"ptxas for {architecture}: {done.stdout}{done.stderr}")


def jobs_are_no_arguments():
    for args in (["x"], ["check"], ["check", "x"], ["check", "cuda", "x"], ["x", "cuda", "0"]):
        done = run("devices", *args)
        check(done.returncode == 2 and done.stdout == "", f"devices {args}: {done.returncode} {done.stdout}{done.stderr[-300:]}")
    done = run("devices", "check", "cuda", 1, **with_mock())
    check(done.returncode == 0 and "no device number 1: CUDA has 1" in done.stdout, f"number 1 of 1: {done.stdout}")


def main():
    folder = tempfile.mkdtemp(prefix="familyseer-drivers-")
    try:
        right = image_of(folder, "right", "x[i] + 1")
        opencl_is_listed()
        devices_without_shared_memory_are_told(folder)
        drivers_may_be_missing()
        cuda_computes(right, image_of(folder, "wrong", "i == 2704 ? 0 : x[i] + 1"))
        faults_are_told(right)
        numbers_are_targets(folder)
        text_is_ptx(folder)
        jobs_are_no_arguments()
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
