// kernels.h - the distinct kernels of a build: made by code/artefact/kernels.c, listed by plans,
// linked or written in the end.
#ifndef SEER_CODE_PLAN_KERNELS_H
#define SEER_CODE_PLAN_KERNELS_H

#include "code/artefact.h"
#include "code/gpu/maker.h"

typedef struct {
  const seer_step *step;  // the first one that needs it
  const seer_choice *choice;
  const seer_step_packs *packs;
  const seer_sketch *sketch;  // of the step's own DAG; kernel.arg's buffer ids are of its DAG
  const char *schedule_text;
  seer_kernel kernel;
  uint32_t n_arg;  // without the thread's scratch
  double codegen_s;  // that its code took
  bool is_kept;  // made by an earlier build: kernel and images are seer_build_kept's
  // Of a library with a device, what that may load: each has all of the kernel's phases
  uint32_t n_image;
  seer_device_image image[SEER_GPU_MAX_IMAGES];
} seer_built_kernel;

typedef struct {
  uint32_t n;
  seer_built_kernel *kernel;
  uint32_t **of_step;  // by set of shapes, then by step; UINT32_MAX for views and host steps
  uint32_t n_arenas;
  seer_arena **arenas;  // hold the kernels
} seer_built_kernels;

#endif
