// neighbour.c - the schedules one step away from another: what a search tries around its best. Each
// knob has its values on a ladder, and a neighbour is one rung up or down.
//
// The ladder of a factor depends on the other factors of its axis, which stay as they are: all
// values with which the loops cover no more than they must, and of those that waste a little powers
// of two, and small ones of a register tile. (Any value at all may be drawn; steps from 40 to 41
// would go on for ever and change nothing.) A vector's factor steps by whole vectors, and by the
// halves and quarters of one. Where a factor grows beyond what the outer ones leave over, those
// shrink: a factor has moved from one level to another.
#include <string.h>

#include "space/frame.h"
#include "space/schedule/draw.h"
#include "space/schedule/factorise.h"

#define MAX_WASTE 1.20  // padded / useful, as of what is drawn
#define SMALL_ROWS 16  // of a register tile, each number of rows is a rung
// A stage that comes to stand at the root is cut into at least so many parts for each thread.
#define PARTS_PER_THREAD 4

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  const seer_schedule *from;
  seer_frame frame, next;  // from's; of the neighbour in hand
  uint32_t n;
  seer_schedule *out;
} walk;

// What a stage was cut into where it stood need not divide it at the root.
static bool is_exact(const seer_frame *frame) {
  for (uint32_t r = 0; r < frame->n_root; r++) {
    const seer_frame_stage *s = &frame->stage[frame->root[r]];
    for (uint32_t l = 0; l < s->n_loop; l++)
      if (!s->loop[l].is_exact) return false;
  }
  return true;
}

// Normalised, new and valid: then it is a neighbour. False: it is not.
static bool add(walk *w, seer_schedule *schedule) {
  seer_frame_normalise(w->list, schedule, &w->next);
  if (seer_schedule_equal(schedule, w->from)) return false;
  if (seer_frame_check(w->list, &w->next) != SEER_REJECT_NONE) return false;
  if (w->list->space == SEER_SPACE_ANSOR && !is_exact(&w->next)) return false;
  for (uint32_t i = 0; i < w->n; i++)
    if (seer_schedule_equal(schedule, &w->out[i])) return false;
  w->out[w->n++] = *schedule;
  return true;
}

// ---- factors

// An axis's factors, outer to inner, of which one takes a step.
typedef struct {
  int64_t extent;
  uint32_t n, at;
  int64_t factor[SEER_MAX_LEVELS];
  int64_t inside;  // product of those inside the one at `at`
  const seer_knob *knob;
  uint32_t lanes;
  bool is_exact;  // of the space ansor
} ladder;

static ladder ladder_of(const walk *w, uint32_t k) {
  const seer_knob *knob = &w->sketch->knob[k];
  const seer_sketch_stage *s = &w->sketch->stage[knob->stage];
  const seer_frame_stage *frame = &w->frame.stage[knob->stage];
  ladder l = {.knob = knob,
      .lanes = s->vector_lanes,
      .inside = 1,
      .is_exact = w->list->space == SEER_SPACE_ANSOR};
  // What is computed for a reader's loops is as large as they need, unless it decides their extents
  // itself.
  bool is_region = frame->place == SEER_PLACE_AT && s->partner == SEER_NO_STAGE;
  l.extent = is_region ? frame->region[knob->axis]
                       : w->sketch->dag->stage[knob->stage].axis[knob->axis].extent;
  l.extent = seer_ceil_div(l.extent, s->step[knob->axis]);
  for (uint32_t level = 0; level < SEER_MAX_LEVELS; level++) {
    uint16_t of = s->factor[knob->axis][level];
    if (of == SEER_NO_KNOB) continue;
    if (of == k) l.at = l.n;
    l.factor[l.n++] = w->from->knob[of];
  }
  for (uint32_t i = l.at + 1; i < l.n; i++) l.inside *= l.factor[i];
  return l;
}

// Elements that the loops cover with this value of the factor.
static int64_t padded(const ladder *l, int64_t value) {
  int64_t span = 1;
  for (uint32_t i = l->n; i-- > 0;) {
    int64_t factor = i == l->at ? value : l->factor[i], left = seer_ceil_div(l->extent, span);
    span *= seer_min_i64(factor, left);
  }
  return span * seer_ceil_div(l->extent, span);
}

static bool is_power_of_two(int64_t value) { return (value & (value - 1)) == 0; }

static bool is_whole_vectors(const ladder *l, int64_t value) {
  if (value % l->lanes == 0) return true;
  return l->lanes >= 4 && (value * 2 == l->lanes || value * 4 == l->lanes);
}

static bool is_rung(const ladder *l, int64_t value) {
  int64_t covered = padded(l, value);
  if (l->is_exact) {
    bool is_innermost = l->at + 1 == l->n;
    return covered == l->extent && (!is_innermost || value <= SEER_FACTORISE_MAX_INNERMOST);
  }
  bool wastes_little = (double)covered <= MAX_WASTE * (double)l->extent;
  if (l->knob->is_vector)
    return value == l->extent || (wastes_little && is_whole_vectors(l, value));
  if (covered == l->inside * seer_ceil_div(l->extent, l->inside)) return true;
  return wastes_little && (is_power_of_two(value) || (l->knob->is_tile && value <= SMALL_ROWS));
}

static void step_factor(walk *w, uint32_t k, int direction) {
  ladder l = ladder_of(w, k);
  int64_t most = seer_min_i64(seer_ceil_div(l.extent, l.inside), SEER_MAX_FACTOR);
  for (int64_t v = w->from->knob[k] + direction; v >= 1 && v <= most; v += direction) {
    if (!is_rung(&l, v)) continue;
    seer_schedule near = *w->from;
    near.knob[k] = (uint16_t)v;
    (void)add(w, &near);
    return;
  }
}

// ---- locations

// A stage that had no loops of its own has those of the default.
static void give_loops(const walk *w, uint32_t stage, seer_schedule *near) {
  seer_schedule usual;
  seer_schedule_default(w->list, near->sketch, &usual);
  for (uint32_t k = 0; k < w->sketch->n_knob; k++)
    if (w->sketch->knob[k].stage == stage && w->sketch->knob[k].kind != SEER_KNOB_LOCATION)
      near->knob[k] = usual.knob[k];
}

// A stage that did not stand at the root (it may be one that another has pushed there) has no
// parallel loops yet.
static void give_parts(walk *w, uint32_t stage, seer_schedule *near) {
  const seer_sketch_stage *s = &w->sketch->stage[stage];
  near->knob[s->parallel_knob] = s->max_parallel;
  seer_frame_normalise(w->list, near, &w->next);
  const seer_frame_stage *frame = &w->next.stage[stage];
  int64_t enough = PARTS_PER_THREAD * (int64_t)w->list->target->threads, parts = 1;
  uint16_t n = 0;
  for (; n < frame->n_parallel && parts < enough; n++) parts *= frame->loop[n].extent;
  near->knob[s->parallel_knob] = n;
}

// A loop of one iteration is no other place than the loop around it.
static bool is_place(const walk *w, uint32_t stage, const seer_location *l) {
  if (l->is_root) return true;
  if (l->is_inline) return w->list->space != SEER_SPACE_ANSOR;
  return seer_frame_may_stand(&w->frame, stage, l) &&
      w->frame.stage[l->at].loop[l->depth - 1].extent > 1;
}

// The next place in this direction from which a valid schedule comes.
static void step_location(walk *w, uint32_t k, int direction) {
  uint32_t stage = w->sketch->knob[k].stage;
  const seer_sketch_stage *s = &w->sketch->stage[stage];
  seer_place old = w->frame.stage[stage].place;
  for (int at = w->from->knob[k] + direction; at >= 0 && at < s->n_location; at += direction) {
    const seer_location *l = &s->location[at];
    if (!is_place(w, stage, l)) continue;
    seer_schedule near = *w->from;
    near.knob[k] = (uint16_t)at;
    if (old == SEER_PLACE_INLINE) give_loops(w, stage, &near);
    seer_frame_normalise(w->list, &near, &w->next);
    for (uint32_t i = 0; i < w->sketch->dag->n_stage; i++) {
      bool is_new =
          w->next.stage[i].place == SEER_PLACE_ROOT && w->frame.stage[i].place != SEER_PLACE_ROOT;
      if (is_new && w->sketch->stage[i].parallel_knob != SEER_NO_KNOB) give_parts(w, i, &near);
    }
    if (add(w, &near)) return;
  }
}

// ---- the other choices

// Values that come to the one that is there (a loop of one iteration more) are passed over.
static void step_choice(walk *w, uint32_t k, int direction) {
  const seer_knob *knob = &w->sketch->knob[k];
  bool needs_one = knob->kind == SEER_KNOB_PARALLEL && w->list->space == SEER_SPACE_ANSOR;
  for (int v = w->from->knob[k] + direction; v >= needs_one && v < knob->n_values; v += direction) {
    seer_schedule near = *w->from;
    near.knob[k] = (uint16_t)v;
    if (add(w, &near)) return;
  }
}

static void step(walk *w, uint32_t k, int direction) {
  switch (w->sketch->knob[k].kind) {
    case SEER_KNOB_FACTOR:
      step_factor(w, k, direction);
      break;
    case SEER_KNOB_LOCATION:
      step_location(w, k, direction);
      break;
    case SEER_KNOB_PARALLEL:
    case SEER_KNOB_UNROLL:
    case SEER_KNOB_ITEMS:
    case SEER_KNOB_WIDTH:
    case SEER_KNOB_PAD:
    case SEER_KNOB_AHEAD:
    case SEER_KNOB_RFACTOR:
      step_choice(w, k, direction);
      break;
    case SEER_KNOB_KIND_COUNT:
      break;
  }
}

uint32_t seer_schedule_neighbours(const seer_sketch_list *list, const seer_schedule *schedule,
    seer_arena *arena, seer_schedule **out) {
  const seer_sketch *sketch = seer_sketch_of(list, schedule);
  walk w = {.list = list, .sketch = sketch, .from = schedule};
  w.out = *out = SEER_NEW_ARRAY(arena, seer_schedule, 2 * sketch->n_knob + 1);
  seer_frame_make(list, schedule, &w.frame);
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    step(&w, k, 1);
    step(&w, k, -1);
  }
  return w.n;
}
