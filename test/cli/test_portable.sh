# make portable: the folder has all that tuning, compiling, running and verifying take where nothing is installed: in a
# root folder with libc's files alone, where that is allowed, and of every library that is loaded all but libc's are its own.
# SEER_TEST: timeout=120 cost=20
. "$(dirname "$0")/lib.sh"
[ -e /usr/lib/llvm-19/lib/liblldELF.a ] || { echo "no liblld-19-dev: left out"; exit 77; }
grep -q portable_familyseer "$TEST_BUILD_DIR/build.ninja" || { echo "no such target in this build"; exit 77; }

bash "$SOURCE/tool/portable.sh" "$TEST_BUILD_DIR" --folder || fail "tool/portable.sh"
made=$TEST_BUILD_DIR/portable/familyseer-$(uname -m)

# Another place, and nothing of this one: no variable, no PATH.
root=$WORK/root
mkdir -p root/lib64 root/tmp root/proc root/dev root/etc
cp -r "$made" root/familyseer
bare() { env -i XDG_CACHE_HOME="$WORK/cache" SEER_DEVICE_LOCK="$WORK/device.lock" "$@"; }
mkdir cache
expect_status 0 bare LD_DEBUG=libs "$root/familyseer/familyseer" compile mlp -O1 -o a
grep -h 'calling init:' stderr | sed 's/.*calling init: //' | sort -u > loaded
grep -q "$root/familyseer/lib/libxgboost" loaded || { cat loaded; fail "libxgboost is not the one that came with it"; }
# What the program loads, and the linker, which it starts.
grep -vE "^$root/familyseer/lib/|/(ld-linux-x86-64\.so\.2|lib(c|m|pthread|dl|rt)\.so\.[0-9]+)$" loaded > others || true
[ ! -s others ] || fail "loaded from elsewhere: $(tr '\n' ' ' < others)"
expect_status 0 bare LD_DEBUG=libs "$root/familyseer/ld.lld" --version
expect_text stdout "LLD 19"

# The linker is that of the folder: without it the installed one would do, and hide its absence.
mv root/familyseer/ld.lld hidden
echo "no linker" > root/familyseer/ld.lld
expect_status 1 bare "$root/familyseer/familyseer" compile mlp -O1 -o b
expect_text stderr "$root/familyseer/ld.lld"
mv hidden root/familyseer/ld.lld

# A root folder with nothing but libc's files.
cp /lib64/ld-linux-x86-64.so.2 root/lib64/
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do cp "/lib/x86_64-linux-gnu/$name" root/lib64/; done
inside() { # COMMAND...: there
  unshare --user --map-root-user --mount --pid --fork sh -c '
    root=$1; shift
    mount --rbind /proc "$root/proc" 2> /dev/null || true
    mount --rbind /dev "$root/dev" || exit 99
    exec env -i LD_LIBRARY_PATH=/lib64 XDG_CACHE_HOME=/tmp SEER_UNTUNED_DRAFTS=256 "$(command -v chroot)" "$root" "$@"' sh "$root" "$@"
}
if ! inside /familyseer/familyseer --version > stdout 2> stderr; then
  if unshare --user --map-root-user --mount true 2> /dev/null; then cat stdout stderr; fail "it does not start there"; fi
  echo "no namespaces here: passed without a root folder of its own"
  exit 0
fi
expect_status 0 inside /familyseer/familyseer compile mobilenet_v2 -O1 -o /tmp/net
expect_status 0 inside /familyseer/familyseer run /tmp/net/model.so
expect_status 0 inside /familyseer/familyseer verify /tmp/net/model.so mobilenet_v2
expect_status 0 inside /familyseer/familyseer tune mlp --trials 8 -o /tmp/tuned
expect_status 0 inside /familyseer/familyseer verify /tmp/tuned/model.so mlp
expect_status 0 inside /familyseer/familyseer devices
expect_text stdout "libcuda.so.1: cannot open"
expect_status 0 inside /familyseer/familyseer compile mlp --target opencl:generic -O0 -o /tmp/opencl
[ ! -e "$made/aarch64" ] || expect_status 0 inside /familyseer/familyseer compile mlp --target aarch64-linux-gnu -O0 -o /tmp/arm
echo passed
