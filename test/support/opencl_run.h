// opencl_run.h - block programs as OpenCL C, run on a device of this machine (PoCL's: the
// processor).
#ifndef SEER_TEST_OPENCL_RUN_H
#define SEER_TEST_OPENCL_RUN_H

#include "code/vector/vector.h"

typedef struct opencl_runner opencl_runner;

// A device of the first platform whose name contains `platform`, which programs are built for with
// `options` (kept). NULL: there is none, and *out_why says so.
opencl_runner *opencl_open(
    const char *platform, const char *options, seer_arena *arena, const char **out_why);
// What a block's memory is full of at first shows, and so does what a compiler warns of.
#define OPENCL_POISON "-Werror -DSEER_POISON"
void opencl_close(opencl_runner *runner);  // NULL is fine

// As seer_vec_eval(code, data): INPUT and PACKED are read; OUTPUT and SHARED are full of ones (NaN)
// at first on the device, and written. With OPENCL_POISON blocks' memory is full of ones at first,
// too. NULL if all went well, else what went wrong (in `arena`).
const char *opencl_run(
    opencl_runner *runner, const seer_vec_code *code, void *const *data, seer_arena *arena);

// The same in two steps: several kernels, whose symbols differ, in one program, and one of them
// run. Owned: opencl_program_free, also where something is wrong; the struct is in `arena`.
typedef struct opencl_program opencl_program;
const char *opencl_build(opencl_runner *runner, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, opencl_program **out);
const char *opencl_launch(
    opencl_program *program, const seer_vec_code *code, void *const *data, seer_arena *arena);
void opencl_program_free(opencl_program *program);  // NULL is fine

#endif
