#!/bin/bash
# What make wheel runs: familyseer as a Python wheel for every x86-64 Linux with glibc 2.28 or later, on which nothing else has
# to be installed. XGBoost is made of its sources on PyPI, as Debian ships no archive of it; once, five minutes. Then a build of
# its own with every library inside (tool/wheel/*.cmake), then the archive (tool/wheel/pack.py).   tool/wheel.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
work=${1:-build}/wheel
mkdir -p "$work"
work=$(realpath "$work")
say_why() { tail -20 "$1" >&2; exit 1; }

xgboost=$work/sources/xgboost-1.7.4/xgboost  # what Debian 12 has, too
if [ ! -e "$work/xgboost/made" ]; then
  echo "making XGBoost"
  rm -rf "$work/sources" "$work/xgboost"
  mkdir -p "$work/sources"
  # Within a build by pip another Python's packages are in the way.
  env -u PYTHONPATH python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --require-hashes \
    -r tool/wheel/requirements-xgboost.txt -d "$work/sources"
  tar -C "$work/sources" -xf "$work"/sources/xgboost-*.tar.gz
  {
    cmake -G Ninja -S "$xgboost" -B "$work/xgboost" -DBUILD_STATIC_LIB=ON -DUSE_OPENMP=OFF -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
      -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections -fvisibility=hidden -ffile-prefix-map=$xgboost/="
    ninja -C "$work/xgboost"
  } >"$work/xgboost.log" 2>&1 || say_why "$work/xgboost.log"
  touch "$work/xgboost/made"
fi

[ -f "$work/cmake/build.ninja" ] || cmake -G Ninja -S . -B "$work/cmake" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWHEEL=ON \
  "-DXGBOOST_LIBRARY=$xgboost/lib/libxgboost.a;$work/xgboost/dmlc-core/libdmlc.a" >"$work/cmake.log" 2>&1 || say_why "$work/cmake.log"
ninja -C "$work/cmake" wheel >"$work/ninja.log" 2>&1 || say_why "$work/ninja.log"
rm -f "$work"/familyseer-*.whl  # of an earlier version
python3 tool/wheel/pack.py "$work/cmake" "$xgboost/LICENSE" "$work"
