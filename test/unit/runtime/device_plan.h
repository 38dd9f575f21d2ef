// device_plan.h - a library with a device, made by hand: launches, copies to the device and back, a
// loop and a branch with moves on both sides, and steps of the host between them.
//
//   inputs   x f32[n], trips i64, c bool      weights  w f32[DEVICE_PLAN_MAX_N]
//   outputs  y f32[n], z f32[n], rows f32[DEVICE_PLAN_ROWS,n]
//
//   a = x + w;  s = a;  repeat trips times: s = s + a, a row of `rows` each
//   r = c ? s + s : a;  h = c ? x : w;  y = r + h;  z = h
// Kernels compute a, s and r; moves of h are the host's.
#ifndef TEST_DEVICE_PLAN_H
#define TEST_DEVICE_PLAN_H

#include "runtime/device/device.h"
#include "runtime/exec.h"

#define DEVICE_PLAN_N 64  // of the first set of shapes; of the second twice as many
#define DEVICE_PLAN_MAX_N 128
#define DEVICE_PLAN_ROWS 4

// Kernel "add" of blocks of 64 items, y = a + b, as CUDA's stand-in takes it.
extern const char device_plan_kernel[];

typedef enum { DP_X, DP_TRIPS, DP_C, DP_Y, DP_Z, DP_ROWS, DP_N_IO } device_plan_io;
enum { DP_N_ARG = 28, DP_N_STEP = 13, DP_N_MOVE = 6, DP_N_MADE = 4 };

typedef struct {
  seer_plan_header header;
  seer_plan_step step[DP_N_STEP];
  seer_plan_arg arg[DP_N_ARG];
  seer_plan_io io[DP_N_IO];
  seer_plan_phase phase[4];
  seer_plan_loop loop;
  seer_plan_branch branch;
  seer_plan_move move[DP_N_MOVE];
  seer_plan_made made[DP_N_MADE];
  int64_t extent[2];
  seer_plan_device device;
  seer_plan_launch launch[4];
  seer_plan_module module;
  seer_plan_image image;
  uint8_t is_on_device[8];
  char strings[64];
  char json[8];
} device_plan;

typedef struct {
  seer_weights_header header;
  char pad[SEER_PLAN_ALIGN - sizeof(seer_weights_header)];
  float w[DEVICE_PLAN_MAX_N];
} device_plan_weights;

// A library of n_sets (1 or 2) plans on the heap, whose first has this image behind it.
//   driver  "cuda", "opencl"
device_plan *device_plan_make(
    const char *driver, const seer_device_image *image, uint32_t n_sets, size_t *out_bytes);
void device_plan_make_weights(device_plan_weights *out);
// What a run for n numbers gives. Rows: those that were made.
void device_plan_expect(const float *x, int64_t n_trips, bool c, uint32_t n, float *y, float *z,
    float rows[DEVICE_PLAN_ROWS][DEVICE_PLAN_MAX_N]);

#endif
