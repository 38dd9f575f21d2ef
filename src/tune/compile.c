// compile.c - the compiler: its stages in order, each by its entry function; what these consist of,
// call by call, is in ARCHITECTURE.md. The contract: compile.h.
#include "tune/compile.h"

#include <string.h>

#include "measure/measure.h"
#include "models/models.h"

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

static seer_status emit(const seer_compile_request *r, const seer_network *network,
    seer_arena *arena, seer_emitted *out) {
  seer_choice *choices;
  bool is_plain = seer_context_i64(r->context, SEER_OPT_OPT_LEVEL) == 0;
  SEER_TRY(seer_choice_of_items(r->context, network, is_plain, arena, &choices));
  const seer_emit_request request = {.context = r->context,
      .network = network,
      .choice = choices,
      .cold_bytes = (double)seer_measure_network_bytes(network),
      .nvrtc = seer_context_str(r->context, SEER_OPT_NVRTC),
      .folder = r->folder};
  return seer_emit_kernels(&request, arena, out);
}

// Kernels as files are no library that could be run and held against f32: who asks for a precision
// gets it, but it can't be chosen by what it changes.
static seer_status check_precision(const seer_context *context) {
  if (strcmp(seer_context_str(context, SEER_OPT_PRECISION), "auto") != 0) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "--precision auto: what a precision changes in the outputs is judged of libraries (--emit so "
      "or obj), not of kernels");
}

// Before a network is read, which may take long.
static seer_status check_kernels(const seer_compile_request *r) {
  SEER_TRY(check_precision(r->context));
  return seer_emit_check(
      seer_context_target(r->context), seer_context_str(r->context, SEER_OPT_NVRTC), r->folder);
}

seer_status seer_compile_kernels_of(const seer_compile_request *r, const seer_network *network,
    seer_arena *arena, seer_emitted *out) {
  SEER_TRY(check_kernels(r));
  return emit(r, network, arena, out);
}

seer_status seer_compile_kernels(
    const seer_compile_request *r, seer_arena *arena, seer_emitted *out) {
  SEER_TRY(check_kernels(r));
  seer_network *network;
  SEER_TRY(seer_front_load(r->context, r->model, seer_model_build, arena, &network));
  if (r->hear_loaded) r->hear_loaded(r->user, network);
  seer_status status = emit(r, network, arena, out);
  seer_graph_close(network->graph);
  return status;
}
