// compile.c - the compiler: its stages in order, each by its entry function; what these consist of,
// call by call, is in ARCHITECTURE.md. The contract: compile.h.
#include "tune/compile.h"

seer_status seer_compile(const seer_compile_request *r, seer_arena *arena, seer_precise *p) {
  // MODEL FILE -> GRAPH -> STEPS AND TASKS, at f32 and at what --precision asks for. Of each
  // seer_front_load: read, resolved, simplified by passes, fused, cut into tasks.
  if (p->n == 0) {
    SEER_TRY(seer_precise_open(r->context, r->model, arena, p));
    if (r->hear_loaded) r->hear_loaded(r->user, p->version[0].network);
  }
  // TASKS -> SCHEDULES. Of each seer_choose_by_options: sketches, then what records know of them,
  // else what the models like best.
  SEER_TRY(seer_precise_choose(p, SEER_PRECISE_COMPILE));
  // WHICH PRECISION. Where f32 is not all that there is, libraries of both are run and compared.
  SEER_TRY(seer_precise_take(p, SEER_PRECISE_COMPILE));
  // SCHEDULES -> LIBRARY. seer_choice_build: lowered to loops, these to tiles, vector code and
  // objects; planned, linked, renamed into place. What was compared above is only moved.
  return seer_precise_write(p, r->kind, r->folder);
}
