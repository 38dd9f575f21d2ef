// nvrtc.h - CUDA C -> machine code and PTX in this process, by NVIDIA's runtime compiler. It is
// opened when it is asked for: nothing is linked, and no device is needed. CUDA 13's knows
// processors from sm_75 on, CUDA 12's from sm_50 on.
//
// Threads: one at a time for each that was opened. Errors: as said; the library's own text is in
// them.
#ifndef SEER_CODE_GPU_NVRTC_H
#define SEER_CODE_GPU_NVRTC_H

#include "code/gpu/cubin.h"

typedef struct seer_nvrtc seer_nvrtc;

//   path  of the library; NULL: by the names that it has where it is installed
// Owned: seer_nvrtc_close. NOT_FOUND: it is not there, or is something else. For tests.
SEER_MUST_USE seer_status seer_nvrtc_open(const char *path, seer_nvrtc **out);
void seer_nvrtc_close(seer_nvrtc *nvrtc);  // NULL is fine. For tests.
// As 13.0 is 1300. For tests.
uint32_t seer_nvrtc_version(const seer_nvrtc *nvrtc);
// Whether it makes code for sm_<sm>.
bool seer_nvrtc_knows(const seer_nvrtc *nvrtc, uint32_t sm);

typedef struct {
  const void *cubin;
  size_t n_cubin_bytes;
  const char *ptx;
  seer_cubin kernels;
} seer_nvrtc_program;

// The text of seer_source_prelude and of kernels, for sm_<sm>. No product becomes one operation
// with a sum where the text does not say so.
//   name  of the program, for messages
// Errors: INVALID: the compiler refuses it, with what it says; UNSUPPORTED: a processor that it
// does not know; CORRUPT, INTERNAL: it gives something else.
// For tests.
SEER_MUST_USE seer_status seer_nvrtc_build(seer_nvrtc *nvrtc, const char *name,
    const char *const *texts, uint32_t n_texts, uint32_t sm, seer_arena *arena,
    seer_nvrtc_program *out);

#endif
