#!/bin/bash
# cross.sh MODEL OUT [CPU]: a network and a program that runs it, for 64-bit Arm, made on another machine. OUT then holds all that
# a board needs: copy it there. CPU is a name that LLVM knows (cortex-a76, neoverse-n1); without it any 64-bit Arm will do.
#   cross.sh mobilenet_v2 board cortex-a76 && scp -r board pi: && ssh pi board/main < x.bin > y.bin
# Needs libc's headers and gcc's startup files for Arm (Debian: libc6-dev-arm64-cross, libgcc-12-dev-arm64-cross), and a compiler:
# aarch64-linux-gnu-gcc, or clang with lld.
set -euo pipefail
here=$(dirname "$0") network=$1 out=$2 target=aarch64-linux-gnu
familyseer compile "$network" -o "$out" --target "$target${3:+ -cpu=$3}"

if command -v $target-gcc >/dev/null; then
  compiler=($target-gcc)
else
  compiler=(clang --target=$target -fuse-ld=lld)
fi
# shellcheck disable=SC2046
"${compiler[@]}" -O2 "$here/main.c" $(pkg-config --cflags familyseer-runtime) "$out/model.so" -Wl,-rpath,'$ORIGIN' -o "$out/main"
file_of() { head -c 20 "$1" | od -An -tx1 | tr -d ' \n'; }
[[ $(file_of "$out/main") == 7f454c46*b700 ]] || { echo "$out/main is no program for 64-bit Arm" >&2; exit 1; }
