// emit.h - NETWORK + SCHEDULES -> KERNELS FOR A GPU, as files: each task's text, what a compiler
// makes of it, and tables of what each kernel asks of the target and what bounds it. Nothing is
// run, and no GPU is needed; what would call the kernels is not there yet.
//
//   002_conv_3x3_s1_.cu  the kernels of task 2, one for each phase, and what stands in front of
//                        them: whole, for any compiler. Of OpenCL: .cl
//   002_conv_3x3_s1_.cubin, .ptx   what NVRTC makes of it. Of OpenCL nothing: drivers compile
//   kernels.txt, kernels.json      the tables
// Equal input, target and compiler give equal bytes.
//
// A task is there once, with the literals of the first step that has it. What has no kernel is in
// the tables with the reason: steps of the host, and tasks that cannot be expressed on the target.
// A kernel that a compiler refuses is an error, and then nothing is written.
#ifndef SEER_CODE_EMIT_H
#define SEER_CODE_EMIT_H

#include "code/artefact.h"

typedef struct {
  const seer_context *context;  // with the target, a GPU
  const seer_network *network;
  const seer_choice *choice;  // by task, for that target
  double cold_bytes;  // of weights that are read between two runs of a task, for the bounds
  // Of NVIDIA's compiler; "": by the names that it has where it is installed. For CUDA only
  const char *nvrtc;
  const char *folder;  // made; it may be there if it is empty
} seer_emit_request;

typedef struct {
  uint32_t n_task, n_kernel;  // that were written
  uint32_t n_spilling;  // kernels
  uint32_t n_without;  // tasks without a kernel
  uint32_t n_host;  // steps that are not of a kernel, beside views
  double register_error;  // of the estimate, median; 0: no compiler has said
  const char *compiler;  // in `arena`: "NVRTC 13.0"; "": none, texts alone
} seer_emitted;

// Whether all that is needed is there: before a network is loaded.
// Errors: INVALID the folder is there and not empty, or a file; NOT_FOUND no compiler, with how to
// get one; UNSUPPORTED a compiler that does not know the target's architecture.
SEER_MUST_USE seer_status seer_emit_check(
    const seer_target *target, const char *nvrtc, const char *folder);

// On all threads that the process may use, each with a compiler of its own. All files or none.
// Errors: as of seer_emit_check; of lowering, of code and of compilers, by task; IO, RESOURCE of
// files.
SEER_MUST_USE seer_status seer_emit_kernels(
    const seer_emit_request *request, seer_arena *arena, seer_emitted *out);

#endif
