# Who gets into a fleet: without the password, or with another key, nobody; over TLS whoever has a certificate.
# SEER_TEST: timeout=120 cost=10
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "safety"))
from fleet import PASSWORD, PROGRAM, Fleet, check_trials, expect, name_of  # noqa: E402

fleet = Fleet()
FAKE = ["--measure", "fake"]


def refusals():
    """Without the password there is nothing, and no message shows one; another key is as good as nobody."""
    for given in ("", "wrong secret"):
        out = subprocess.run([PROGRAM, "fleet", fleet.url], env=dict(fleet.env, SEER_FLEET_PASSWORD=given), capture_output=True, text=True)
        expect(out.returncode == 1 and out.stderr, f"fleet without the password: {out.returncode}")
        expect(PASSWORD not in out.stderr and "wrong secret" not in out.stderr, f"a password is shown: {out.stderr}")
    out = subprocess.run([PROGRAM, "fleet", "http://host"], env=fleet.env, capture_output=True, text=True)
    expect(out.returncode == 1 and "redis://" in out.stderr, out.stderr)
    few = [*FAKE, "--trials", "10", "--fleet-wait", "1s"]
    _, errors = fleet.tune(*few, status=1)
    expect("no worker at" in errors, errors)
    key = os.path.join(fleet.folder, "key")
    open(key, "w").write("another secret")
    stranger = fleet.start_worker("--fleet-key", key)
    while fleet.redis("EXISTS", f"familyseer:worker:{name_of(stranger)}").strip() != "1":
        time.sleep(0.05)
    _, errors = fleet.tune(*few, status=1)
    expect("another key" in errors, errors)
    fleet.stop(stranger)
    other = fleet.start_worker("--threads", "1", "--target", "x86_64-linux-gnu -cpu=x86-64-v2")
    fleet.wait_for_workers(1)
    _, errors = fleet.tune(*few, "--target", "x86_64-linux-gnu -cpu=x86-64-v3", status=1)
    expect("works for target" in errors, errors)
    fleet.stop(other)


def over_tls():
    """A server that asks who connects; the password comes from a file."""
    folder = os.path.join(fleet.folder, "tls")
    os.mkdir(folder)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "certificates.sh")
    subprocess.run(["sh", script, folder], check=True, capture_output=True)
    own, secret = (os.path.join(folder, name) for name in ("both.pem", "secret"))
    with open(secret, "w") as file:
        file.write(PASSWORD + "\n")
    port = fleet.start_tls_server(folder)
    url = f"rediss://localhost:{port}?ca={folder}/ca.pem"
    env = {key: value for key, value in fleet.env.items() if key != "SEER_FLEET_PASSWORD"}
    bare = subprocess.run([PROGRAM, "fleet", url, "--fleet-password-file", secret], env=env, capture_output=True, text=True)
    expect(bare.returncode == 1 and "wants a certificate of who connects" in bare.stderr, f"without a certificate: {bare.stderr}")
    url += f"&cert={own}"
    out = subprocess.run([PROGRAM, "fleet", url], env=env, capture_output=True, text=True)
    expect(out.returncode == 1 and "NOAUTH" in out.stderr, f"without the password: {out.stderr}")
    with_password, fleet.env = fleet.env, dict(env, SEER_FLEET_PASSWORD_FILE=secret)
    worker = fleet.start_worker(url=url)
    events, _ = fleet.tune(*FAKE, "--trials", "20", "--records", os.path.join(folder, "r.sqlite"), url=url)
    check_trials(events, 20)
    fleet.stop(worker)
    fleet.env = with_password


try:
    refusals()
    over_tls()
finally:
    fleet.close()
