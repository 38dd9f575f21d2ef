// refit.c - carries a schedule to another task (or another sketch): the sketch with the same
// signature, or the nearest; knobs by name. The register tile and the inner levels are kept, the S1
// level is stretched with the extents, and what has no counterpart takes the default's value. Then
// normalise and check. Nearest: same signature; else the most knob names in common, the same
// formulation before others; else the first.
#include <string.h>

#include "space/schedule/draw.h"
#include "space/schedule/names.h"

static bool same_knob(const seer_knob *a, const seer_knob *b) {
  return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static int find_knob(const seer_sketch *in, const seer_knob *like, uint32_t hint) {
  if (hint < in->n_knob && same_knob(&in->knob[hint], like)) return (int)hint;
  for (uint32_t k = 0; k < in->n_knob; k++) {
    if (same_knob(&in->knob[k], like)) return (int)k;
  }
  return -1;
}

static uint32_t common_knobs(const seer_sketch *a, const seer_sketch *b) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < a->n_knob; k++) n += find_knob(b, &a->knob[k], k) >= 0;
  return n;
}

static bool same_location(
    const seer_sketch *a, const seer_location *x, const seer_sketch *b, const seer_location *y) {
  if (x->is_root || x->is_inline || y->is_root || y->is_inline) {
    return x->is_root == y->is_root && x->is_inline == y->is_inline;
  }
  const seer_sketch_loop *p = &a->stage[x->at].loop[x->depth - 1],
                         *q = &b->stage[y->at].loop[y->depth - 1];
  return p->level == q->level && strcmp(a->stage[x->at].prefix, b->stage[y->at].prefix) == 0 &&
      strcmp(a->dag->stage[x->at].axis[p->axis].name, b->dag->stage[y->at].axis[q->axis].name) == 0;
}

static void carry_location(const seer_sketch *from, uint32_t from_stage, uint16_t value,
    const seer_sketch *to, uint32_t to_stage, uint16_t *out) {
  const seer_location *location = &from->stage[from_stage].location[value];
  for (uint16_t k = 0; k < to->stage[to_stage].n_location; k++) {
    if (!same_location(from, location, to, &to->stage[to_stage].location[k])) continue;
    *out = k;
    return;
  }
}

// The same inner length of a reduction in two, or the next smaller one.
static uint16_t carry_length(const seer_knob *from, uint16_t value, const seer_knob *to) {
  uint16_t k = (uint16_t)(to->n_values - 1);
  while (k > 0 && to->number[k] > from->number[value]) k--;
  return k;
}

// How often the levels of an axis repeat outside level 1: what is kept when extents change.
static int64_t outer_count(
    const seer_sketch *sketch, const uint16_t *knob, uint32_t stage, uint32_t axis) {
  int64_t left = sketch->dag->stage[stage].axis[axis].extent;
  for (uint32_t level = 1; level <= 3; level++) {
    uint16_t k = sketch->stage[stage].factor[axis][level];
    if (k != SEER_NO_KNOB) left = seer_ceil_div(left, knob[k]);
  }
  return left;
}

static void stretch(const seer_sketch *from, const seer_schedule *old, const seer_knob *knob,
    const seer_sketch *to, const seer_knob *mine, seer_schedule *out) {
  const seer_dag_axis *old_axis = &from->dag->stage[knob->stage].axis[knob->axis];
  const seer_dag_axis *new_axis = &to->dag->stage[mine->stage].axis[mine->axis];
  if (old_axis->extent == new_axis->extent) return;
  int64_t outer = outer_count(from, old->knob, knob->stage, knob->axis), inner = 1;
  for (uint32_t level = 2; level <= 3; level++) {
    uint16_t k = to->stage[mine->stage].factor[mine->axis][level];
    if (k != SEER_NO_KNOB) inner *= out->knob[k];
  }
  uint16_t level1 = to->stage[mine->stage].factor[mine->axis][1];
  int64_t tiles = seer_ceil_div(new_axis->extent, inner);
  out->knob[level1] = (uint16_t)seer_min_i64(SEER_MAX_FACTOR, seer_ceil_div(tiles, outer));
}

seer_reject seer_schedule_refit_to(const seer_sketch_list *from, const seer_schedule *schedule,
    const seer_sketch_list *to, uint32_t sketch, seer_schedule *out, seer_frame *out_frame) {
  const seer_sketch *a = from->sketch[schedule->sketch], *b = to->sketch[sketch];
  seer_schedule_default(to, sketch, out);
  seer_schedule fallback = *out;
  uint32_t n_carried = 0;
  for (uint32_t k = 0; k < b->n_knob; k++) {
    int old = find_knob(a, &b->knob[k], k);
    if (old < 0) continue;
    n_carried++;
    uint16_t value = schedule->knob[old];
    if (b->knob[k].kind == SEER_KNOB_LOCATION) {
      carry_location(a, a->knob[old].stage, value, b, b->knob[k].stage, &out->knob[k]);
    } else if (b->knob[k].kind == SEER_KNOB_RFACTOR) {
      out->knob[k] = carry_length(&a->knob[old], value, &b->knob[k]);
    } else {
      out->knob[k] = value;
    }
  }
  if (n_carried == 0 && b->n_knob > 0) return SEER_REJECT_NO_MATCH;
  for (uint32_t k = 0; k < b->n_knob; k++) {
    const seer_knob *knob = &b->knob[k];
    bool is_outer =
        knob->kind == SEER_KNOB_FACTOR && knob->level == 1 && !knob->is_reduce && !knob->is_tile;
    int old = is_outer ? find_knob(a, knob, k) : -1;
    if (old >= 0) stretch(a, schedule, &a->knob[old], b, knob, out);
  }
  seer_frame own, *frame = out_frame ? out_frame : &own;
  seer_frame_normalise(to, out, frame);
  if (seer_frame_check(to, frame) == SEER_REJECT_NONE) return SEER_REJECT_NONE;
  // Too large here: the default's register tiles and locations, the rest as carried.
  for (uint32_t k = 0; k < b->n_knob; k++) {
    if (b->knob[k].is_tile || b->knob[k].kind != SEER_KNOB_FACTOR) out->knob[k] = fallback.knob[k];
  }
  seer_frame_normalise(to, out, frame);
  return seer_frame_check(to, frame) == SEER_REJECT_NONE ? SEER_REJECT_NONE : SEER_REJECT_NO_MATCH;
}

seer_reject seer_schedule_refit(const seer_sketch_list *from, const seer_schedule *schedule,
    const seer_sketch_list *to, seer_schedule *out) {
  const seer_sketch *a = from->sketch[schedule->sketch];
  uint16_t index;
  if (seer_names_sketch(to, a->signature, &index))
    return seer_schedule_refit_to(from, schedule, to, index, out, NULL);
  uint32_t best = 0, best_score = 0;
  for (uint32_t k = 0; k < to->n; k++) {
    const seer_sketch *b = to->sketch[k];
    uint32_t score = 2 * common_knobs(a, b) + (strcmp(a->formulation, b->formulation) == 0);
    if (score > best_score) {
      best_score = score;
      best = k;
    }
  }
  return best_score < 2 ? SEER_REJECT_NO_MATCH
                        : seer_schedule_refit_to(from, schedule, to, best, out, NULL);
}
