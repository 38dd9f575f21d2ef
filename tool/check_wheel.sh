#!/bin/bash
# What make check-wheel runs: the wheel as who installs it has it. It is small enough, auditwheel takes it for what its name
# says, and no path of this machine and no name but the interface's is in it; in a clean environment of Python it tunes and
# verifies MobileNetV2 and runs it from Python, with no library but libc and its own; and so it does in a root folder that has
# libc's files and nothing else (where that is allowed).   tool/check_wheel.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
work=$(realpath "${1:-build}/wheel")
fail() { echo "FAILED: $*" >&2; exit 1; }
MAX_BYTES=30000000
BUDGET=${BUDGET:-15s}

wheel=$(ls "$work"/familyseer-*.whl)
[ "$(wc -w <<<"$wheel")" = 1 ] || fail "not one wheel: $wheel"
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le "$MAX_BYTES" ] || fail "$bytes bytes, more than $MAX_BYTES"
echo "$(basename "$wheel"): $bytes bytes"

if ! cmp -s tool/wheel/requirements-check.txt "$work/audit/.installed"; then
  python3 -m venv --clear "$work/audit"
  "$work/audit/bin/python" -m pip install --quiet --disable-pip-version-check -r tool/wheel/requirements-check.txt
  cp tool/wheel/requirements-check.txt "$work/audit/.installed"
fi
"$work/audit/bin/auditwheel" show "$wheel" >"$work/audit.txt" 2>"$work/audit.log" || { cat "$work/audit.log"; fail auditwheel; }
tr '\n' ' ' <"$work/audit.txt" | grep -q 'consistent with the following platform tag: "manylinux_2_28_x86_64"' ||
  { cat "$work/audit.txt"; fail "auditwheel takes it for something else"; }
echo "auditwheel: manylinux_2_28_x86_64"

# ---- a clean environment of Python
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
"$tmp/venv/bin/python" -m pip check --disable-pip-version-check >/dev/null || fail "pip check"
cd "$tmp"
bare() { env -i HOME="$tmp" PATH="$tmp/venv/bin" XDG_CACHE_HOME="$tmp/cache" SEER_DEVICE_LOCK="$tmp/device.lock" "$@"; }
package=$(bare python -c 'import familyseer, os; print(os.path.dirname(familyseer.__file__))')
[[ "$package" == "$tmp"/venv/* ]] || fail "imported from $package"
if grep -rlaF "$source" "$package" venv/bin/familyseer; then fail "it knows where it was made"; fi
licences=$(echo "$package"/../familyseer-*.dist-info/licenses)
sed -n 's/^- .*; \(.*\.txt\)$/\1/p' "$licences/NOTICE" >named.txt
[ "$(wc -l <named.txt)" -ge 10 ] || { cat "$licences/NOTICE"; fail "the notices name no files"; }
while read -r file; do [ -s "$licences/$file" ] || fail "the terms in $file are missing"; done <named.txt
names=$(readelf --dyn-syms -W "$package/libfamilyseer.so" | awk '$7 ~ /^[0-9]+$/ { print $8 }' | grep -vE '^seer_(tuner_.*|version)$' | tr '\n' ' ')
[ "$names" = "seer_program " ] || fail "names for others: $names"

bare familyseer --version >/dev/null || fail "the script"
[ "$(bare "$work/cmake/wheel_throws")" = caught ] || fail "exceptions are not caught"
begin=$(date +%s)
bare LD_DEBUG=libs LD_DEBUG_OUTPUT="$tmp/libs" "$package/familyseer" tune mobilenet_v2 --time-budget "$BUDGET" -o net >out.txt 2>&1 || { cat out.txt; fail tune; }
grep -h 'calling init:' libs.* | sed 's/.*calling init: //' | sort | uniq -c >loaded.txt
[ "$(awk -v file="$package/libfamilyseer.so" '$2 == file { print $1 }' loaded.txt)" -ge 3 ] ||
  { cat loaded.txt; fail "no three processes (the tuner, a worker, the linker) have the library"; }
# Besides what is made and compared here.
if grep -vE "$package/libfamilyseer.so\$| net/.*/model\.so\$|/(ld-linux-x86-64\.so\.2|lib(c|m|pthread|dl|rt)\.so\.[0-9]+)\$" loaded.txt; then fail "loaded from elsewhere"; fi
bare "$package/familyseer" verify net/model.so mobilenet_v2 >verdict.txt 2>&1 || { cat verdict.txt; fail verify; }
echo "installed: MobileNetV2 tuned and verified in $(($(date +%s) - begin)) s"
bare python - <<'END'
import familyseer
import numpy as np

zeros = np.zeros(familyseer.load("net").inputs[0].shape, np.float32)
tuned = familyseer.load("net")(zeros)
untuned = familyseer.compile("mobilenet_v2", untuned_drafts=256)(zeros)
assert tuned.size == 1000 and np.allclose(tuned, untuned, rtol=1e-3, atol=1e-3), abs(tuned - untuned).max()
events = []
model = familyseer.tune("mlp", trials=16, on_event=events.append)
assert np.isfinite(model(np.zeros(model.inputs[0].shape, np.float32))).all()
assert events[-1].kind == "verdict" and events[-1].trials >= 16, events[-1]
END

# ---- a root folder with nothing but libc's files
root=$tmp/root
mkdir -p root/lib64 root/tmp root/proc root/dev root/etc
cp -r "$package" root/familyseer
LIBC=${LIBC:-/lib/x86_64-linux-gnu}  # another one may be given: what a Debian package of an older libc6 unpacks to
for name in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do cp "$LIBC/$name" root/lib64/; done
# shellcheck disable=SC2016
inside() { # COMMAND...: there
  unshare --user --map-root-user --mount --pid --fork sh -c '
    root=$1; shift
    mount --rbind /proc "$root/proc" 2> /dev/null || true
    mount --rbind /dev "$root/dev" || exit 99
    exec env -i LD_LIBRARY_PATH=/lib64 XDG_CACHE_HOME=/tmp "$(command -v chroot)" "$root" "$@"' sh "$root" "$@"
}
if ! unshare --user --map-root-user --mount true 2>/dev/null; then
  echo "no namespaces here: not tried in a root folder of its own"
  exit 0
fi
cp "$work/cmake/wheel_throws" root/
[ "$(inside /wheel_throws)" = caught ] || fail "exceptions are not caught in a bare root folder"
begin=$(date +%s)
inside /familyseer/familyseer tune mobilenet_v2 --time-budget "$BUDGET" -o /tmp/net >out.txt 2>&1 || { cat out.txt; fail "tune in a bare root folder"; }
inside /familyseer/familyseer verify /tmp/net/model.so mobilenet_v2 >verdict.txt 2>&1 || { cat verdict.txt; fail "verify in a bare root folder"; }
echo "with libc's files alone: MobileNetV2 tuned and verified in $(($(date +%s) - begin)) s"
