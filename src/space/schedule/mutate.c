// mutate.c - a schedule from one or two others. Mutation moves a prime factor between two levels of
// one axis, redraws a level, or redraws a register tile as a whole; beyond Ansor it may jump to
// another sketch, to which the schedule is re-fitted. Crossover takes each register tile as a whole
// and every other axis and choice from either parent.
#include <string.h>

#include "space/schedule/ansor.h"
#include "space/schedule/draw.h"

#define JUMP_SHARE 0.05  // to another sketch
#define LOCATION_SHARE 0.06  // of the rest; spread over factors where a sketch has none
#define UNROLL_SHARE 0.05
#define PARALLEL_SHARE 0.04
#define TILE_SHARE 0.30  // of the factor mutations: a register tile anew
// Of the others: a prime factor moves between levels; the rest redraw the axis.
#define MOVE_SHARE 0.60
#define TILED_SHARE 0.85  // factor mutations that hit a tiled stage, where there is one
#define MAX_TRIES 8

// A random knob of the kind, reservoir sampling; -1 if there is none.
static int pick_knob(const seer_sketch *sketch, seer_rng *rng, seer_knob_kind kind) {
  int picked = -1;
  uint64_t n = 0;
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if (sketch->knob[k].kind == kind && seer_rng_below(rng, ++n) == 0) picked = (int)k;
  }
  return picked;
}

static int pick_stage(const seer_draw *draw) {
  bool has_tiled = false;
  for (uint32_t k = 0; k < draw->sketch->n_order; k++) {
    has_tiled |= draw->sketch->stage[draw->sketch->order[k]].role == SEER_ROLE_TILED;
  }
  bool wants_tiled = has_tiled && seer_rng_chance(draw->rng, TILED_SHARE);
  int picked = -1;
  uint64_t n = 0;
  for (uint32_t k = 0; k < draw->sketch->n_order; k++) {
    uint32_t stage = draw->sketch->order[k];
    seer_sketch_role role = draw->sketch->stage[stage].role;
    bool fits = role == SEER_ROLE_TILED || (role == SEER_ROLE_SIMPLE && !wants_tiled);
    if (fits && draw->sketch->stage[stage].n_loop > 0 && seer_rng_below(draw->rng, ++n) == 0)
      picked = (int)stage;
  }
  return picked;
}

static int64_t smallest_prime(int64_t n) {
  for (int64_t p = 2; p * p <= n; p++) {
    if (seer_divide(n, p).remainder == 0) return p;
  }
  return n;
}

// A random prime factor of n > 1.
static int64_t random_prime(seer_rng *rng, int64_t n) {
  int64_t prime[16];
  uint32_t count = 0;
  while (n > 1 && count < SEER_COUNT_OF(prime)) {
    int64_t p = smallest_prime(n);
    prime[count++] = p;
    seer_division by = {n, 0};
    while (by.remainder == 0) {
      n = by.quotient;
      by = seer_divide(n, p);
    }
  }
  return prime[seer_rng_below(rng, count)];
}

// Moves a prime factor between two levels of an axis, the implied outermost level (index n) among
// them.
static bool move_factor(const seer_draw *draw, uint32_t stage, uint32_t axis) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  int64_t outer = draw->sketch->dag->stage[stage].axis[axis].extent;
  uint16_t knob[SEER_MAX_LEVELS];
  uint32_t n = 0;
  for (uint32_t level = 0; level < SEER_MAX_LEVELS; level++) {
    uint16_t k = s->factor[axis][level];
    if (k == SEER_NO_KNOB) continue;
    knob[n++] = k;
    outer = seer_ceil_div(outer, draw->knob[k]);
  }
  if (n == 0) return false;
  uint32_t from = (uint32_t)seer_rng_below(draw->rng, n + 1u),
           to = (uint32_t)seer_rng_below(draw->rng, n);
  if (to >= from) to++;
  int64_t source = from < n ? draw->knob[knob[from]] : outer;
  if (source <= 1) return false;
  int64_t p = random_prime(draw->rng, source);
  if (to < n) {
    int64_t grown = draw->knob[knob[to]] * p;
    if (grown > SEER_MAX_FACTOR) return false;
    draw->knob[knob[to]] = (uint16_t)grown;
  }
  if (from < n) draw->knob[knob[from]] = (uint16_t)(source / p);
  return true;
}

static bool mutate_factor(const seer_draw *draw) {
  int stage = pick_stage(draw);
  if (stage < 0) return false;
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  if (s->is_vectorised && seer_rng_chance(draw->rng, TILE_SHARE)) {
    seer_draw_tile(draw, (uint32_t)stage);
    return true;
  }
  const seer_dag_stage *dag = &draw->sketch->dag->stage[stage];
  uint32_t axis = SEER_DAG_MAX_AXES;
  uint64_t n = 0;
  for (uint32_t a = 0; a < (uint32_t)dag->n_space + dag->n_reduce; a++) {
    bool has_knob = false;
    for (uint32_t level = 0; level < SEER_MAX_LEVELS; level++)
      has_knob |= s->factor[a][level] != SEER_NO_KNOB;
    if (has_knob && seer_rng_below(draw->rng, ++n) == 0) axis = a;
  }
  if (axis == SEER_DAG_MAX_AXES) return false;
  if (seer_rng_chance(draw->rng, MOVE_SHARE)) return move_factor(draw, (uint32_t)stage, axis);
  seer_draw_axis(draw, (uint32_t)stage, axis);
  return true;
}

static bool mutate_choice(const seer_draw *draw, seer_knob_kind kind) {
  int k = pick_knob(draw->sketch, draw->rng, kind);
  // There may be but one number of parts.
  if (k < 0 || draw->sketch->knob[k].n_values < 2) return mutate_factor(draw);
  const seer_knob *knob = &draw->sketch->knob[k];
  uint16_t old = draw->knob[k];
  if (kind == SEER_KNOB_LOCATION) {
    // The loops inside are other loops: the stage is drawn anew.
    seer_draw_stage(draw, knob->stage);
  }
  draw->knob[k] = (uint16_t)seer_rng_below(draw->rng, knob->n_values - 1u);
  if (draw->knob[k] >= old) draw->knob[k]++;
  return true;
}

// A GPU's grid follows from factors: what stands beside them in the place of parallel loops.
static seer_knob_kind pick_given(const seer_draw *draw) {
  static const seer_knob_kind given[] = {
      SEER_KNOB_ITEMS, SEER_KNOB_WIDTH, SEER_KNOB_PAD, SEER_KNOB_AHEAD, SEER_KNOB_RFACTOR};
  if (draw->list->target->kind == SEER_TARGET_CPU) return SEER_KNOB_PARALLEL;
  return given[seer_rng_below(draw->rng, SEER_COUNT_OF(given))];
}

static bool mutate_once(const seer_draw *draw) {
  double u = seer_rng_f64(draw->rng);
  if (u < LOCATION_SHARE) return mutate_choice(draw, SEER_KNOB_LOCATION);
  if (u < LOCATION_SHARE + UNROLL_SHARE) return mutate_choice(draw, SEER_KNOB_UNROLL);
  if (u < LOCATION_SHARE + UNROLL_SHARE + PARALLEL_SHARE)
    return mutate_choice(draw, pick_given(draw));
  return mutate_factor(draw);
}

static seer_reject finish(const seer_sketch_list *list, seer_schedule *out, seer_frame *out_frame) {
  seer_frame_normalise(list, out, out_frame);
  return seer_frame_check(list, out_frame);
}

static seer_reject jump(const seer_sketch_list *list, seer_rng *rng, const seer_schedule *parent,
    seer_schedule *out, seer_frame *out_frame) {
  uint32_t to = (uint32_t)seer_rng_below(rng, list->n - 1);
  if (to >= parent->sketch) to++;
  return seer_schedule_refit_to(list, parent, list, to, out, out_frame);
}

seer_reject seer_schedule_mutate(const seer_sketch_list *list, seer_rng *rng,
    const seer_schedule *parent, seer_schedule *out, seer_frame *out_frame) {
  seer_frame own, *frame = out_frame ? out_frame : &own;
  if (list->space == SEER_SPACE_ANSOR) return seer_ansor_mutate(list, rng, parent, out, frame);
  seer_reject reject = SEER_REJECT_DUPLICATE;
  for (int tries = 0; tries < MAX_TRIES; tries++) {
    if (list->n > 1 && seer_rng_chance(rng, JUMP_SHARE)) {
      reject = jump(list, rng, parent, out, frame);
    } else {
      *out = *parent;
      seer_draw draw = {list, seer_sketch_of(list, out), rng, out->knob};
      if (!mutate_once(&draw)) continue;
      reject = finish(list, out, frame);
    }
    if (reject != SEER_REJECT_NONE) continue;
    if (!seer_schedule_equal(parent, out)) return SEER_REJECT_NONE;
    reject = SEER_REJECT_DUPLICATE;
  }
  return reject;
}

seer_reject seer_schedule_cross(const seer_sketch_list *list, seer_rng *rng, const seer_schedule *a,
    const seer_schedule *b, seer_schedule *out, seer_frame *out_frame) {
  if (a->sketch != b->sketch) return SEER_REJECT_NO_MATCH;
  const seer_sketch *sketch = list->sketch[a->sketch];
  seer_frame own, *frame = out_frame ? out_frame : &own;
  seer_reject reject = SEER_REJECT_DUPLICATE;
  for (int tries = 0; tries < MAX_TRIES; tries++) {
    *out = *a;
    // One coin per stage for its register tile, one per (stage, axis) for the other levels, one per
    // other knob; from bits.
    uint64_t tile_coin = seer_rng_u64(rng),
             coin[4] = {seer_rng_u64(rng), seer_rng_u64(rng), seer_rng_u64(rng), seer_rng_u64(rng)};
    for (uint32_t k = 0; k < sketch->n_knob; k++) {
      const seer_knob *knob = &sketch->knob[k];
      uint64_t at_axis = ((uint64_t)knob->stage * SEER_DAG_MAX_AXES + knob->axis) & 255;
      bool from_b = (coin[at_axis >> 6] >> (at_axis & 63) & 1) != 0;
      if (knob->is_tile) from_b = (tile_coin >> (knob->stage & 63) & 1) != 0;
      if (knob->kind != SEER_KNOB_FACTOR) from_b = seer_rng_chance(rng, 0.5);
      if (from_b) out->knob[k] = b->knob[k];
    }
    reject = finish(list, out, frame);
    if (reject != SEER_REJECT_NONE) continue;
    if (!seer_schedule_equal(a, out) && !seer_schedule_equal(b, out)) return SEER_REJECT_NONE;
    reject = SEER_REJECT_DUPLICATE;
  }
  return reject;
}
