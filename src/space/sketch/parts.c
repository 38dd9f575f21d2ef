// parts.c - knobs and loops of a sketch that is being built; see skeleton.h.
#include "space/sketch/skeleton.h"

uint16_t seer_skeleton_knob(seer_skeleton *b, const seer_knob *knob) {
  if (b->n_knob == SEER_SCHEDULE_MAX_KNOBS) {
    b->is_full = true;
    return SEER_NO_KNOB;
  }
  b->knob[b->n_knob] = *knob;
  return (uint16_t)b->n_knob++;
}

uint16_t seer_skeleton_factor(seer_skeleton *b, uint32_t stage, uint32_t axis, uint32_t level) {
  const seer_dag_stage *s = &b->plan->dag->stage[stage];
  seer_knob knob = {.kind = SEER_KNOB_FACTOR,
      .stage = (uint8_t)stage,
      .axis = (uint8_t)axis,
      .level = (uint8_t)level,
      .is_reduce = axis >= s->n_space};
  knob.name = seer_arena_printf(
      b->context->arena, "%s.%s.%u", b->plan->stage[stage].prefix, s->axis[axis].name, level);
  return b->sketch->stage[stage].factor[axis][level] = seer_skeleton_knob(b, &knob);
}

void seer_skeleton_loop(seer_skeleton *b, uint32_t stage, seer_sketch_loop loop, uint32_t rank) {
  seer_sketch_stage *s = &b->sketch->stage[stage];
  SEER_ASSERT(s->n_loop < SEER_COUNT_OF(s->loop), "stage %u: %u loops", stage, s->n_loop);
  b->rank[stage][s->n_loop] = (uint8_t)rank;
  s->loop[s->n_loop++] = loop;
}

uint32_t seer_skeleton_axes(
    const seer_skeleton *b, uint32_t stage, bool is_reduce, uint8_t *out_axis) {
  const seer_dag_stage *s = &b->plan->dag->stage[stage];
  uint32_t open = b->plan->stage[stage].open_axes;
  uint32_t first = is_reduce ? s->n_space : 0,
           end = is_reduce ? (uint32_t)s->n_space + s->n_reduce : s->n_space, n = 0;
  for (uint32_t a = first; a < end; a++) {
    if (s->axis[a].extent > 1 || (open >> a & 1)) out_axis[n++] = (uint8_t)a;
  }
  return n;
}

void seer_skeleton_add(seer_skeleton *b, uint32_t stage, uint32_t axis, uint16_t knob) {
  uint32_t rank = 0;
  for (uint32_t l = 0; l < b->sketch->stage[stage].n_loop; l++)
    rank += b->sketch->stage[stage].loop[l].axis == axis;
  seer_skeleton_loop(b, stage,
      (seer_sketch_loop){.axis = (uint8_t)axis, .knob = knob, .knob2 = SEER_NO_KNOB}, rank);
}

void seer_skeleton_mark_tile(seer_skeleton *b, uint16_t knob, bool is_vector) {
  if (knob == SEER_NO_KNOB) return;
  b->knob[knob].is_tile = true;
  b->knob[knob].is_vector |= is_vector;
}

void seer_skeleton_block(
    seer_skeleton *b, uint32_t stage, uint32_t n, const uint8_t *axis, uint16_t *out_knob) {
  for (uint32_t k = 0; k < n; k++) out_knob[k] = SEER_NO_KNOB;
  const seer_plan_stage *plan = &b->plan->stage[stage];
  bool has_two_levels = plan->role == SEER_ROLE_TILED ||
      (plan->role == SEER_ROLE_FOLLOW && b->plan->stage[plan->partner].fuse_level == 2);
  b->sketch->stage[stage].block_depth = (uint8_t)n;
  if (!plan->has_block || has_two_levels) return;
  uint32_t owner = plan->role == SEER_ROLE_FOLLOW ? plan->partner : stage;
  for (uint32_t k = 0; k < n; k++) {
    seer_skeleton_add(b, stage, axis[k], SEER_NO_KNOB);
    out_knob[k] = seer_skeleton_factor(b, owner, axis[k], 0);
  }
}
