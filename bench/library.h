// library.h - a compiled library in this process, for benches that run its steps themselves: its
// plan and kernels (symbols that it does not export), models and sessions of it.
// Where something cannot be had, or a library is not what such a bench can replay, the program ends
// with status 1 and "<program>: <what>: <why>".
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "base/arena.h"
#include "runtime/session.h"

_Noreturn void bench_fail(const char *what, const char *why);

typedef struct bench_library bench_library;

// `folder` holds model.so, with the names of its symbols, and weights.bin; kept. In `arena`; the
// library stays loaded until the program ends.
bench_library *bench_library_load(const char *folder, seer_arena *arena);
// A model of it, with weights of its own (owned; seer_rt_close). Of several sets of shapes the
// first one counts. Fails where a step is neither kernel nor copy nor view: what loops, branches
// and the host run is not known before.
seer_model *bench_library_open(const bench_library *library);
// A session that has run once (owned; seer_rt_session_destroy), everything bound to memory in
// `arena`, inputs to zeros. `pool` is kept; NULL: the caller's thread alone.
seer_session *bench_library_session(const seer_model *model, seer_pool *pool, seer_arena *arena);
// Of one phase's machine code; 0: not known.
uint64_t bench_library_code_bytes(const bench_library *library, seer_phase_function function);

static inline const char *bench_step_name(const seer_rt_set *of, uint32_t step) {
  return of->strings + of->step[step].name_string;
}

#endif
