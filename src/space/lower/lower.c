// lower.c - a frame (the loops of one schedule with numbers) -> loop IR.
// Root stages become phases. Each stage is emitted as its nest of loops; before loop d, the stages
// attached inside its first d loops: the starts of their regions (readers first, a maker's
// start hangs on its readers'), then allocation and nest of each in topological order. A
// reduction gets a nest of plain stores of the identity just before its outermost reduction loop.
// Loops of one iteration are left out. Requires: a verified DAG, a complete schedule.  Provides:
// loop IR that seer_loop_verify accepts.

#include "space/lower/lower.h"
#include "dag/scalar.h"

static seer_status emit_loops(
    seer_lower *lower, uint32_t s, uint32_t k, bool is_init, seer_lower_block *block);

static uint32_t first_reduce_loop(const seer_lower *lower, uint32_t s) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  uint32_t k = 0;
  while (k < frame->n_loop && !frame->loop[k].is_reduce) k++;
  return k;
}

static seer_status emit_store(
    seer_lower *lower, uint32_t s, bool is_init, seer_lower_block *block) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  seer_expr_pool *pool = &lower->loop->expr;
  seer_expr axis[SEER_DAG_MAX_AXES];
  seer_loop_node node = {
      .kind = SEER_NODE_STORE, .stage = s, .n_values = stage->n_values, .n_index = stage->n_space};
  node.is_init = is_init;
  node.combiner = is_init ? SEER_COMBINE_NONE : stage->combiner;
  uint32_t n_axes = is_init ? stage->n_space : (uint32_t)stage->n_space + stage->n_reduce;
  for (uint32_t a = 0; a < n_axes; a++) {
    seer_linear at;
    if (!seer_lower_axis(lower, s, a, &at)) {
      return SEER_FAIL(
          UNSUPPORTED, "stage %s: axis %s has too many loops", stage->name, stage->axis[a].name);
    }
    if (at.n >= 2 && seer_lower_is_faulty(lower, SEER_LOWER_FAULT_WRONG_COEF)) at.term[0].coef++;
    axis[a] = seer_linear_emit(pool, &at);
    if (a >= stage->n_space) continue;
    node.index[a] = axis[a];
    if (!seer_lower_has_region(lower, s)) continue;
    node.index[a] = seer_linear_normal(
        pool, seer_expr_binary(pool, SEER_EXPR_SUB, axis[a], lower->stage[s].start[a]));
  }
  if (node.n_index >= 2 && node.index[0].i != node.index[1].i &&
      seer_lower_is_faulty(lower, SEER_LOWER_FAULT_SWAPPED_AXES)) {
    seer_expr first = node.index[0];
    node.index[0] = node.index[1];
    node.index[1] = first;
  }
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  seer_scalar identity[SEER_DAG_MAX_VALUES];
  for (uint32_t v = 0; v < stage->n_values; v++) {
    dtype[v] = lower->dag->buf[stage->out[v]].dtype;
    node.buf[v] = seer_lower_buf(lower, stage->out[v]);
    if (is_init) continue;
    seer_expr inside = seer_lower_inside(lower, s, axis);
    node.value[v] = seer_lower_expr(lower, s, lower->stage[s].body[v], axis, inside);
  }
  if (is_init) {
    seer_combiner_init(stage->combiner, dtype, stage->n_values, identity);
    bool is_wrong = seer_lower_is_faulty(lower, SEER_LOWER_FAULT_WRONG_IDENTITY);
    for (uint32_t v = 0; v < stage->n_values; v++) {
      if (seer_dtype_is_float(dtype[v])) {
        node.value[v] = seer_expr_f(pool, dtype[v], is_wrong ? 1 : identity[v].f);
      } else {
        node.value[v] = seer_expr_int(pool, dtype[v], is_wrong ? 1 : identity[v].i);
      }
    }
  }
  node.n_index = (uint8_t)seer_lower_halved(lower, s, node.index, node.n_index);
  if (lower->stage[s].is_loading) seer_lower_ahead_hold(lower, s, &node);
  seer_lower_append(lower, block, &node);
  return SEER_OK;
}

// The nest of plain stores before a reduction. Its loops get variables of their own and are closed
// again.
static seer_status emit_init(seer_lower *lower, uint32_t s, uint32_t k, seer_lower_block *block) {
  if (seer_lower_is_faulty(lower, SEER_LOWER_FAULT_NO_INIT)) return SEER_OK;
  SEER_TRY(emit_loops(lower, s, k, true, block));
  lower->stage[s].n_open = k;
  return SEER_OK;
}

static seer_status emit_alloc(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  for (uint32_t v = 0; v < stage->n_values && seer_lower_has_region(lower, s); v++) {
    seer_loop_node alloc = {.kind = SEER_NODE_ALLOC, .stage = s, .n_values = 1};
    alloc.buf[0] = seer_lower_buf(lower, stage->out[v]);
    if (lower->dag->buf[stage->out[v]].is_output) {
      return SEER_FAIL(
          UNSUPPORTED, "stage %s is an output and attached inside another", stage->name);
    }
    seer_lower_append(lower, block, &alloc);
  }
  return SEER_OK;
}

// What is fetched for a stage has one buffer for all steps.
static seer_status emit_allocs(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  if (seer_lower_is_fetch(lower, s)) return SEER_OK;
  for (uint32_t f = 0; f < s; f++) {
    bool is_mine = seer_lower_is_fetch(lower, f) && lower->frame->stage[f].at == s;
    if (is_mine) SEER_TRY(emit_alloc(lower, f, block));
  }
  return emit_alloc(lower, s, block);
}

static seer_status emit_attached(
    seer_lower *lower, uint32_t at, uint32_t depth, seer_lower_block *block) {
  uint32_t n = 0;
  uint8_t mine[SEER_DAG_MAX_STAGES];
  for (uint32_t p = 0; p < lower->dag->n_stage; p++) {
    const seer_frame_stage *frame = &lower->frame->stage[p];
    if (frame->place == SEER_PLACE_AT && frame->at == at && frame->depth == depth)
      mine[n++] = (uint8_t)p;
  }
  for (uint32_t k = n; k-- > 0;) SEER_TRY(seer_lower_start(lower, mine[k], block));
  for (uint32_t k = 0; k < n; k++) {
    SEER_TRY(emit_allocs(lower, mine[k], block));
    SEER_TRY(emit_loops(lower, mine[k], 0, false, block));
    lower->stage[mine[k]].n_open = 0;
  }
  return SEER_OK;
}

static seer_loop_ann annotation(const seer_frame_loop *loop) {
  if (loop->is_parallel) return SEER_LOOP_PARALLEL;
  if (loop->is_item) return SEER_LOOP_THREAD;
  if (loop->is_vector) return SEER_LOOP_VECTOR;
  return loop->is_tile ? SEER_LOOP_UNROLL : SEER_LOOP_SERIAL;
}

static seer_expr fault_bound(seer_lower *lower, seer_expr bound) {
  if (bound.i == 0) return bound;
  if (seer_lower_is_faulty(lower, SEER_LOWER_FAULT_NO_TAIL)) return (seer_expr){0};
  int64_t by = seer_lower_is_faulty(lower, SEER_LOWER_FAULT_TAIL_BOUND) ? 1
      : seer_lower_is_faulty(lower, SEER_LOWER_FAULT_SHORT_TAIL)        ? -1
                                                                        : 0;
  return seer_expr_binary(
      &lower->loop->expr, SEER_EXPR_ADD, bound, seer_expr_i(&lower->loop->expr, by));
}

// Whether `k` is the last of a stage's loops over items, all of one: a nest there must be.
static bool is_only_item(const seer_lower *lower, uint32_t s, uint32_t k) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  if (!frame->loop[k].is_item || seer_frame_items(frame) > 1) return false;
  for (uint32_t l = k + 1; l < frame->n_loop; l++) {
    if (frame->loop[l].is_item) return false;
  }
  return true;
}

// Opens loop `k` of stage `s` and goes on inside it.
static seer_status emit_loop(
    seer_lower *lower, uint32_t s, uint32_t k, bool is_init, seer_lower_block *block) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  const seer_frame_loop *loop = &lower->frame->stage[s].loop[k];
  seer_lower_stage *state = &lower->stage[s];
  seer_linear before;
  if (!seer_lower_axis(lower, s, loop->axis, &before)) {
    return SEER_FAIL(UNSUPPORTED, "stage %s: axis %s has too many loops", stage->name,
        stage->axis[loop->axis].name);
  }
  seer_expr bound = fault_bound(lower, seer_lower_bound(lower, s, k, &before));
  state->var[k] = SEER_LOWER_NO_VAR;
  state->n_open = k + 1;
  bool is_left_out = loop->extent == 1 && bound.i == 0 && !is_only_item(lower, s, k);
  if (is_left_out) return emit_loops(lower, s, k + 1, is_init, block);

  const char *name = seer_arena_printf(lower->scratch, "%s.%s.%u%s", stage->name,
      stage->axis[loop->axis].name, loop->level, is_init ? ".init" : "");
  seer_loop_node node = {.stage = s, .extent = loop->extent, .bound = bound};
  node.ann = annotation(loop);
  node.is_reduce = loop->is_reduce;
  node.max_unroll = node.ann == SEER_LOOP_SERIAL ? lower->frame->stage[s].max_unroll : 0;
  seer_lower_open open = seer_lower_open_for(lower, name, node, block);
  state->var[k] = lower->loop->node[open.id].var;
  seer_lower_block body = {0, 0};
  SEER_TRY(emit_loops(lower, s, k + 1, is_init, &body));
  seer_lower_close_for(lower, &open, &body);
  return SEER_OK;
}

static seer_status emit_plain_store(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  return emit_store(lower, s, false, block);
}

static seer_status emit_init_store(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  return emit_store(lower, s, true, block);
}

static seer_status emit_dealt(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  return emit_loops(lower, s, 0, false, block);
}

// The body of a step that has been fetched for in the one before.
static seer_status emit_ahead(seer_lower *lower, uint32_t s, uint32_t k, seer_lower_block *block) {
  SEER_TRY(seer_lower_ahead_load(lower, s, k, emit_dealt, block));
  SEER_TRY(emit_loop(lower, s, k, false, block));
  if (lower->frame->stage[s].is_copied) return SEER_OK;
  return seer_lower_ahead_store(lower, s, k, block);
}

static seer_status emit_loops(
    seer_lower *lower, uint32_t s, uint32_t k, bool is_init, seer_lower_block *block) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  seer_lower_stage *state = &lower->stage[s];
  state->n_open = k;
  if (frame->is_flat && !state->is_dealt) return seer_lower_flat(lower, s, emit_dealt, block);
  if (!is_init) {
    if (frame->is_ahead && k == seer_lower_step_loops(lower, s))
      return emit_ahead(lower, s, k, block);
    SEER_TRY(emit_attached(lower, s, k, block));
    bool is_reduction = lower->dag->stage[s].combiner != SEER_COMBINE_NONE;
    uint32_t init_at = first_reduce_loop(lower, s);
    if (is_reduction && k == init_at && k < frame->n_loop && frame->loop[k].extent > 1 &&
        seer_lower_is_faulty(lower, SEER_LOWER_FAULT_LATE_INIT)) {
      lower->late_init = s + 1;
    }
    if (lower->late_init == s + 1) init_at++;
    if (is_reduction && k == init_at) SEER_TRY(emit_init(lower, s, k, block));
    if (frame->is_ahead && k == 0) SEER_TRY(seer_lower_ahead_begin(lower, s, emit_dealt, block));
  }
  if (k == frame->n_loop)
    return seer_lower_group(lower, s, is_init ? emit_init_store : emit_plain_store, block);
  if (is_init && frame->loop[k].is_reduce) {
    state->var[k] = SEER_LOWER_NO_VAR;
    return emit_loops(lower, s, k + 1, is_init, block);
  }
  return emit_loop(lower, s, k, is_init, block);
}

static seer_status lower_phases(seer_lower *lower) {
  seer_lower_flatten(lower);
  for (uint32_t r = 0; r < lower->frame->n_root; r++) {
    seer_lower_block block = {0, 0};
    SEER_TRYF(emit_loops(lower, lower->frame->root[r], 0, false, &block), "lowering %s",
        lower->dag->name);
    seer_lower_leave(lower, &block, 0);
    if (lower->list->target->kind != SEER_TARGET_CPU) seer_lower_barriers(lower, block.first);
    lower->loop->phase[lower->loop->n_phase++] = block.first;
  }
  return SEER_OK;
}

seer_status seer_lower_frame(const seer_sketch_list *list, const seer_frame *frame,
    seer_lower_fault fault, seer_arena *arena, seer_loop **out_loop, bool *out_was_faulty) {
  *out_loop = NULL;
  seer_arena *scratch = seer_arena_create("lower");
  seer_lower *lower = SEER_NEW(scratch, seer_lower);
  lower->list = list;
  lower->sketch = frame->sketch;
  lower->dag = frame->sketch->dag;
  lower->frame = frame;
  lower->fault = fault;
  lower->scratch = scratch;
  lower->loop = seer_loop_create(arena, lower->dag->name);
  seer_status status = lower_phases(lower);
  if (out_was_faulty) *out_was_faulty = lower->was_faulty;
  if (!status) *out_loop = lower->loop;
  seer_arena_destroy(scratch);
  return status;
}

seer_status seer_loop_lower(const seer_sketch_list *list, const seer_schedule *schedule,
    seer_arena *arena, seer_loop **out_loop) {
  seer_frame frame;
  seer_frame_make(list, schedule, &frame);
  SEER_TRY(seer_lower_frame(list, &frame, SEER_LOWER_FAULT_NONE, arena, out_loop, NULL));
  seer_status status = seer_loop_verify(*out_loop);
  if (!status) return SEER_OK;
  // Not the schedule's fault: whatever the knobs say, lowering must come out right.
  seer_status internal = SEER_FAIL(INTERNAL, "lowering %s by %s: %s", frame.sketch->dag->name,
      frame.sketch->signature, seer_status_message(status));
  seer_status_free(status);
  *out_loop = NULL;
  return internal;
}
