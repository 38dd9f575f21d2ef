#!/bin/bash
# What make portable runs: familyseer as a folder and an archive that another x86-64 Linux machine needs nothing for but
# the libc of Debian 12 or a later one (2.36): the program with LLVM and its linker inside (tool/portable.cc), every
# other library in lib/ beside it, what goes into libraries that it makes, and headers. Drivers of GPUs, NVRTC and
# OpenSSL are the machine's, looked for when they are needed.   tool/portable.sh [BUILD] [--folder]   (no archive)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
cmake --build "$build" --target portable_familyseer >"$build/portable.log" || { tail -20 "$build/portable.log" >&2; exit 1; }
name=familyseer-$(uname -m)
out=$build/portable/$name
rm -rf "$out" "$out.tar.xz"
mkdir -p "$out/lib"
cp "$build/portable/programs/familyseer" "$out/"
ln -s familyseer "$out/ld.lld"

# What the program needs, and what that needs, but libc's own.
libc='^(ld-linux|libc|libm|libpthread|libdl|librt|linux-vdso)[.-]'
LD_LIBRARY_PATH='' ldd "$out/familyseer" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r soname path; do
  if [[ "$soname" =~ $libc ]]; then continue; fi
  install -m 644 "$path" "$out/lib/$soname"
  strip --strip-unneeded "$out/lib/$soname"
done

for file in libseer_rt.a libseer_rt_device.a libseer_stub_c.so libseer_stub_pthread.so libseer_stub_dl.so libseer_stub_m.so familyseer-runner; do
  cp "$build/$file" "$out/"
done
for file in "$build"/*/libseer_rt.a; do  # for processors that are not this machine's
  [ -e "$file" ] || continue
  arch=$(basename "$(dirname "$file")")
  mkdir "$out/$arch"
  cp "$file" "$(dirname "$file")"/libseer_stub_*.so "$out/$arch/"
done
mkdir -p "$out/include"
cp -r include/seer "$out/include/"
cp -r python/familyseer.py LICENSE README.md "$out/"
if [ "${2:-}" = --folder ]; then exit 0; fi

tar -C "$build/portable" --owner=0 --group=0 --sort=name -c "$name" | xz -T0 -9 >"$out.tar.xz"
du -bsh "$out" "$out/familyseer" "$out/lib" | sed "s|$build/portable/||"
du -bh "$out.tar.xz"
