#!/bin/bash
# What make check-gpu runs: every test of kernels for GPUs, those too that take too long for make check. No device is
# needed: doc/gpu.md says what judges what.   tool/check_gpu.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -R "block_|opencl|kernels_of_items|gpu|items"
# Ten times what make check has of drawn schedules as CUDA C: each for sm_80 and sm_90, a sixth of them for sm_70, too.
SEER_PROPERTY_PAIRS=400 "$build/test/test_property_items_cuda"
# A second OpenCL, where it has been installed: it optimises more than PoCL, and takes a tenth of its time.
if [ -e .venv-intel/vendors/intel.icd ]; then
  OCL_ICD_VENDORS=$PWD/.venv-intel/vendors SEER_TEST_OPENCL=Intel SEER_PROPERTY_PAIRS=400 \
    "$build/test/test_property_items_opencl"
else
  echo "Intel's OpenCL: NOT RUN, it is not there (make check-gpu INTEL=1 installs it, 0.8 GB)"
fi
# Every task of the built-in networks has a sketch, and its schedules lower and have code.
"$build/bench/gpu_tasks" --target cuda:sm_90 --drawn 1 | tail -1
