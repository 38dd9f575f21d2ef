#!/bin/bash
# Installs what is missing: Debian packages by apt-get, Python oracles into .venv. When nothing is missing it is
# fast and needs no network.   tool/deps.sh [gpu|gpu-full|intel-opencl|cross|bench|exports|inductor|browser|deb|site]
# (also the compiler that tests of kernels for GPUs need, what only check-gpu needs besides, Intel's OpenCL, 0.8 GB
# in .venv-intel, compilers for other processors, which only check-full needs, the peers that only benches need, what
# networks are exported from, 6 GB in .venv-exports, PyTorch's compiler as a peer, 6 GB in .venv-inductor, the browser that reports are looked at with, what make deb takes, or the generator of make site)
set -euo pipefail
cd "$(dirname "$0")/.."

packages="ninja-build cmake gcc g++ make pkg-config python3 python3-venv
  llvm-19-dev lld-19 liblld-19-dev libxgboost-dev libprotobuf-c-dev protobuf-c-compiler libonnx-dev libsqlite3-dev
  libjansson-dev libxxhash-dev libcmocka-dev zlib1g-dev libhiredis-dev libssl-dev openssl redis-server
  clang clang-format-14 clang-tidy-14 cppcheck musl-tools qemu-user libc6-dev-arm64-cross
  libgcc-12-dev-arm64-cross pocl-opencl-icd ocl-icd-opencl-dev"
if [ "${1:-}" = cross ]; then
  packages="$packages gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
fi
if [ "${1:-}" = gpu-full ]; then packages="$packages oclgrind"; fi
if [ "${1:-}" = browser ]; then packages="$packages chromium fonts-dejavu-core"; fi
if [ "${1:-}" = deb ]; then packages="$packages binutils dpkg-dev lintian"; fi

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
  echo "installing:$missing"
  run=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "missing packages:$missing; install them as root" >&2; exit 1; }
    run="sudo"
  fi
  export DEBIAN_FRONTEND=noninteractive
  # Old lists are good enough when they know the packages; else fetch them.
  # shellcheck disable=SC2086
  $run apt-get install -y --no-install-recommends $missing || {
    $run apt-get update
    $run apt-get install -y --no-install-recommends $missing
  }
fi

# A virtual environment (.venv by default): a stamp with the list that was installed.
install_python() {
  local list=$1 venv=${2:-.venv} stamp
  shift; shift || true
  stamp=$venv/.installed-$(basename "$list")
  if [ -e "$stamp" ] && cmp -s "$list" "$stamp"; then return 0; fi
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" -r "$list"
  cp "$list" "$stamp"
}
install_python tool/requirements.txt
case "${1:-}" in
  bench)
    install_python tool/requirements-bench.txt
    install_python tool/requirements-pnnx.txt .venv --no-deps
    ;;
  exports) install_python tool/requirements-exports.txt .venv-exports ;;
  site) install_python tool/requirements-site.txt .venv-site ;;
  inductor) install_python tool/requirements-inductor.txt .venv-inductor ;;
  intel-opencl)
    # Its own files say where it is on another machine: what the loader reads is written here.
    install_python tool/requirements-intel-opencl.txt .venv-intel
    mkdir -p .venv-intel/vendors
    echo "$PWD/.venv-intel/lib/libintelocl.so" >.venv-intel/vendors/intel.icd
    ;;
  gpu | gpu-full) install_python tool/requirements-gpu.txt .venv --no-deps ;;
  browser | cross | deb | "") ;;
  *) echo "tool/deps.sh: '$1' is not one of gpu, gpu-full, intel-opencl, cross, bench, exports, inductor, browser, deb, site" >&2; exit 2 ;;
esac
