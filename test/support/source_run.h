// source_run.h - kernels printed as source, many in one file, compiled by a compiler of this
// machine and run in a process of their own, each buffer exactly as large as it is said to be:
// under AddressSanitizer every access outside of one ends the process.
#ifndef SEER_TEST_SOURCE_RUN_H
#define SEER_TEST_SOURCE_RUN_H

#include "code/source/source.h"

typedef struct source_batch source_batch;

source_batch *source_batch_create(const char *dialect, seer_arena *arena);
// One more kernel, whose functions are named like no other's.
//   n_parts  of each phase; borrowed for this call
//   data     by buffer of code->loop, kept until source_batch_run: INPUT and PACKED are read,
//            OUTPUT and SHARED are full of ones at first, and written. LOCAL ones are not looked at
// NULL, or what the printer says (in the arena).
const char *source_batch_add(
    source_batch *batch, const seer_vec_code *code, const uint32_t *n_parts, void *const *data);
uint32_t source_batch_n(const source_batch *batch);

// Compiles with `cc flags` and runs. NULL, or what went wrong and where the files are (in the
// arena). Parts run in falling order in every second kernel.
const char *source_batch_run(source_batch *batch, const char *cc, const char *flags);
// The functions that an object of the kernels would call (names, separated by blanks; "" for
// none), or what went wrong.
const char *source_batch_calls(source_batch *batch, const char *cc, const char *flags);

bool source_has_compiler(const char *cc, seer_arena *arena);

#endif
