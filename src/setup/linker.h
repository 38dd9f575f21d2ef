// linker.h - ld.lld, and the files beside this program that it links into libraries or against: the
// runtime's archives, and libraries of names in place of libc (runtime/libc.inc).
// Memory: paths are in the arena that is given. Threads: any.
#ifndef SEER_SETUP_LINKER_H
#define SEER_SETUP_LINKER_H

#include "base/arena.h"
#include "base/status.h"
#include "setup/isa.h"

// The architecture that this program is for, as seer_isa_name has it; "": none of those.
const char *seer_linker_here(void);
// An archive of the runtime for processors of `isa`; that for other processors than this program's
// lies in a folder of their name. NULL: there is none.
const char *seer_linker_archive(seer_isa isa, const char *name, seer_arena *arena);
// The linker beside this program (make portable brings it), else the one that is installed.
SEER_MUST_USE seer_status seer_linker_find(seer_arena *arena, const char **out_path);
// The first of these files that is there. NOT_FOUND: "`what` is not installed".
SEER_MUST_USE seer_status seer_linker_first(
    const char *const *paths, uint32_t n, const char *what, const char **out_path);

#define SEER_LINKER_STUBS 3
// What is linked against in place of libc, beside this archive; and in place of libm, which
// operators of users may call, and the runtime does not.
SEER_MUST_USE seer_status seer_linker_stubs(
    const char *archive, seer_arena *arena, const char *out_path[SEER_LINKER_STUBS]);
SEER_MUST_USE seer_status seer_linker_maths(
    const char *archive, seer_arena *arena, const char **out_path);

// Runs a linker or a tool like it, for 5 minutes at most; what it says goes into a file.
// *out_log: that, if it did not end with 0, else "".
SEER_MUST_USE seer_status seer_linker_try(const char *const *argv, const char *log_path,
    seer_arena *arena, int *out_exit_status, const char **out_log);
// The same; that it did not end with 0 is INTERNAL.
SEER_MUST_USE seer_status seer_linker_run(
    const char *const *argv, const char *log_path, seer_arena *arena);

#endif
