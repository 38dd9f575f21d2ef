// source_run.h - kernels printed as source, many in one file, compiled and run in a process of
// their own, each buffer exactly as large as it is said to be: under AddressSanitizer every access
// outside of one ends the process. Programs for other processors run in an emulator.
#ifndef SEER_TEST_SOURCE_RUN_H
#define SEER_TEST_SOURCE_RUN_H

#include "code/source/source.h"

typedef struct source_batch source_batch;

// A processor that is not this machine's: GCC for it, what makes clang compile for it with that
// GCC's linker and libc, and what runs its programs here.
typedef struct {
  const char *gcc, *clang_flags;
  const char *emulator, *cpu;  // of qemu's user mode
} source_machine;
// By Debian's cross compilers. All that the emulator knows; and the plainest, without dot products
// and half precision (aarch64), without vectors (riscv64).
extern const source_machine source_aarch64, source_aarch64_plain, source_riscv64,
    source_riscv64_plain;
// What of `cc`, and of what a program that it makes needs to run, this machine lacks. NULL:
// nothing.
//   machine  NULL: this one, where cc is "gcc" or "clang" as on every other
const char *source_missing(const source_machine *machine, const char *cc, seer_arena *arena);

source_batch *source_batch_create(const char *dialect, seer_arena *arena);
// One more kernel, whose functions are named like no other's.
//   n_parts  of each phase; borrowed for this call
//   data     by buffer of code->loop, kept until source_batch_run: INPUT and PACKED are read,
//            OUTPUT and SHARED are full of ones at first, and written. LOCAL ones are not looked at
// NULL, or what the printer says (in the arena).
const char *source_batch_add(
    source_batch *batch, const seer_vec_code *code, const uint32_t *n_parts, void *const *data);
uint32_t source_batch_n(const source_batch *batch);

// Compiles with `cc flags`, cc "gcc" or "clang", and runs. NULL, or what went wrong and where the
// files are (in the arena). Parts run in falling order in every second kernel.
//   machine  borrowed; NULL: this one
const char *source_batch_run(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags);
// The same, and its object of the kernels calls nothing: neither libm nor libgcc are meant to be.
const char *source_batch_run_alone(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags);
// The functions that an object of the kernels would call (names, separated by blanks; "" for
// none), or what went wrong.
const char *source_batch_calls(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags);

#endif
