// in_place.c - which stages are made where their reader's values will be.
#include "space/in_place.h"

#include "dag/access.h"

// Whether `reader`, or all that it is inlined in, is stage `at`, and needs of `maker` the element
// at its own place alone.
static bool ends_in(const seer_frame *frame, uint32_t maker, uint32_t reader, uint32_t at) {
  const seer_dag *dag = frame->sketch->dag;
  if (!seer_access_is_elementwise(dag, maker, reader)) return false;
  if (reader == at) return true;
  uint64_t readers = dag->access->readers[reader];
  bool is_inline = frame->stage[reader].place == SEER_PLACE_INLINE && readers != 0;
  for (; is_inline && readers; readers &= readers - 1) {
    is_inline = ends_in(frame, reader, (uint32_t)__builtin_ctzll(readers), at);
  }
  return is_inline;
}

// Whether `reader`, or all that it is inlined in, has done its work before the loops of `at` inside
// the first `depth` begin: it is attached there, or inside of what is.
static bool is_before(const seer_frame *frame, uint32_t reader, uint32_t at, uint32_t depth) {
  const seer_frame_stage *stage = &frame->stage[reader];
  if (stage->place == SEER_PLACE_INLINE) {
    uint64_t readers = frame->sketch->dag->access->readers[reader];
    for (; readers; readers &= readers - 1) {
      if (!is_before(frame, (uint32_t)__builtin_ctzll(readers), at, depth)) return false;
    }
    return true;
  }
  while (stage->place == SEER_PLACE_AT && stage->at != at) stage = &frame->stage[stage->at];
  return stage->place == SEER_PLACE_AT && stage->depth == depth;
}

static bool is_read_in_time(const seer_frame *frame, uint32_t maker, uint32_t at, uint32_t depth) {
  uint64_t readers = frame->sketch->dag->access->readers[maker];
  for (; readers; readers &= readers - 1) {
    uint32_t reader = (uint32_t)__builtin_ctzll(readers);
    if (!ends_in(frame, maker, reader, at) && !is_before(frame, reader, at, depth)) return false;
  }
  return true;
}

// Elements of an axis that stage `at` runs over inside its first `depth` loops, but for a last
// visit that is cut.
static int64_t visited(const seer_frame_stage *at, uint32_t depth, uint32_t axis, int64_t extent) {
  int64_t length = extent;
  for (uint32_t l = 0; l < depth; l++) {
    const seer_frame_loop *loop = &at->loop[l];
    if (loop->axis == axis && loop->extent > 1) length = seer_min_i64(length, loop->coef);
  }
  return length;
}

// Whether `stage` computes at each visit what `at` does: what others read of it does not reach
// further, as the lengths say.
static bool is_same_visit(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage], *at = &frame->stage[s->at];
  const seer_dag_stage *dag = &frame->sketch->dag->stage[stage];
  for (uint32_t a = 0; a < dag->n_space; a++) {
    if (dag->axis[a].extent != frame->sketch->dag->stage[s->at].axis[a].extent) return false;
    if (s->region[a] != visited(at, s->depth, a, dag->axis[a].extent)) return false;
  }
  return true;
}

static bool is_in_place(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage];
  if (s->place != SEER_PLACE_AT || frame->stage[s->at].place != SEER_PLACE_ROOT) return false;
  const seer_dag *dag = frame->sketch->dag;
  const seer_dag_stage *mine = &dag->stage[stage], *its = &dag->stage[s->at];
  if (mine->combiner != SEER_COMBINE_NONE || its->combiner != SEER_COMBINE_NONE) return false;
  if (its->n_values != 1 || mine->n_values != 1) return false;
  if (mine->n_space != its->n_space || seer_frame_is_in_registers(s)) return false;
  if (dag->buf[mine->out[0]].dtype != dag->buf[its->out[0]].dtype) return false;
  return is_same_visit(frame, stage) && is_read_in_time(frame, stage, s->at, s->depth);
}

void seer_in_place_find(seer_frame *frame) {
  uint64_t taken = 0;
  for (uint32_t k = 0; k < frame->sketch->n_order; k++) {
    uint32_t stage = frame->sketch->order[k];
    seer_frame_stage *s = &frame->stage[stage];
    if (s->place != SEER_PLACE_AT || taken >> s->at & 1) continue;
    s->in_place = is_in_place(frame, stage);
    if (s->in_place) taken |= (uint64_t)1 << s->at;
  }
}

uint32_t seer_in_place_visit(const seer_frame *frame, uint32_t at) {
  for (uint32_t k = 0; k < frame->sketch->n_order; k++) {
    const seer_frame_stage *s = &frame->stage[frame->sketch->order[k]];
    if (s->place != SEER_PLACE_AT || s->at != at || !s->in_place) continue;
    uint32_t n = 0;
    for (uint32_t l = 0; l < s->depth; l++) n += frame->stage[at].loop[l].extent > 1;
    return n;
  }
  return UINT32_MAX;
}
