// device_run.h - block programs as kernels on any device that the table of devices has
// (runtime/device/device.h): as opencl_run.h, for OpenCL and CUDA alike.
#ifndef SEER_TEST_DEVICE_RUN_H
#define SEER_TEST_DEVICE_RUN_H

#include "code/vector/vector.h"
#include "runtime/device/device.h"

typedef struct device_runner device_runner;

//   name   "cuda:0", "opencl:1"; kernels of CUDA C are compiled by the NVRTC that SEER_NVRTC names,
//          else by the installed one
// NULL: it is not to be had, and *out_why says why. In `arena`, until device_run_close.
device_runner *device_run_open(const char *name, seer_arena *arena, const char **out_why);
void device_run_close(device_runner *runner);  // NULL is fine
const seer_device_info *device_run_info(const device_runner *runner);
// "cuda:sm_90", "opencl:generic": what schedules for it are drawn for.
const char *device_run_target(const device_runner *runner, seer_arena *arena);

// Kernels whose symbols differ, in one module. Blocks' memory is full of ones (NaN) at first. NULL
// if all went well, else what went wrong (in `arena`); freed also then.
typedef struct device_program device_program;
const char *device_run_build(device_runner *runner, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, device_program **out);
void device_run_free(device_program *program);  // NULL is fine

// As seer_vec_eval(code, data): INPUT and PACKED are read; OUTPUT and SHARED are full of ones at
// first on the device, and written. Every buffer is an allocation of its own.
const char *device_run_launch(
    device_program *program, const seer_vec_code *code, void *const *data, seer_arena *arena);

#endif
