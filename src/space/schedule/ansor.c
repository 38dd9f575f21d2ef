// ansor.c - drafts and mutations of the space `ansor`. Names in comments are TVM's rules.
#include "space/schedule/ansor.h"

#include <string.h>

#include "space/schedule/factorise.h"

// Mutations: weights of the rules (MutateTileSize, MutateComputeLocation, MutateAutoUnroll,
// MutateParallel, which has the rest) on CPUs; GPUs have the first and the third alone.
#define TILE_SIZE_SHARE 0.90
#define LOCATION_SHARE 0.05
#define UNROLL_SHARE 0.04
#define PARTS_PER_THREAD 16  // loops are fused until there are more parts than this
#define MAX_LENGTHS SEER_FACTORISE_MAX_LENGTHS

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  seer_rng *rng;
  seer_schedule *out;
  seer_frame *frame;
} draft;

// ---- splits

// The knobs of an axis's lengths, outer to inner; the outermost length is implied.
static uint32_t list_lengths(const seer_sketch_stage *s, uint32_t axis, uint16_t *out_knob) {
  uint32_t n = 0;
  for (uint32_t level = 0; level < SEER_MAX_LEVELS; level++) {
    if (s->factor[axis][level] != SEER_NO_KNOB) out_knob[n++] = s->factor[axis][level];
  }
  return n;
}

// InitFillTileSize
static void draw_tile_sizes(const draft *d) {
  for (uint32_t stage = 0; stage < d->sketch->dag->n_stage; stage++) {
    const seer_sketch_stage *s = &d->sketch->stage[stage];
    for (uint32_t axis = 0; axis < SEER_DAG_MAX_AXES; axis++) {
      if (!s->ways[axis]) continue;
      uint16_t knob[MAX_LENGTHS], length[MAX_LENGTHS];
      uint32_t n = list_lengths(s, axis, knob);
      seer_factorisations_draw(s->ways[axis], d->rng, length);
      for (uint32_t k = 0; k < n; k++) d->out->knob[knob[k]] = length[k];
    }
  }
  for (uint32_t k = 0; k < d->sketch->n_split; k++) {  // into two lengths each
    uint16_t knob = d->sketch->split_knob[k];
    d->out->knob[knob] = (uint16_t)seer_rng_below(d->rng, d->sketch->knob[knob].n_values);
  }
}

// The split that a pick falls on: reservoir sampling over those with an innermost length within the
// limit. How many there are.
static uint64_t pick_split(const draft *d, uint32_t *out_stage, uint32_t *out_axis) {
  uint64_t n = 0;
  for (uint32_t stage = 0; stage < d->sketch->dag->n_stage; stage++) {
    const seer_sketch_stage *s = &d->sketch->stage[stage];
    for (uint32_t axis = 0; axis < SEER_DAG_MAX_AXES; axis++) {
      uint16_t knob[MAX_LENGTHS];
      uint32_t n_length = s->ways[axis] ? list_lengths(s, axis, knob) : 0;
      bool fits = n_length > 0 && d->out->knob[knob[n_length - 1]] <= SEER_FACTORISE_MAX_INNERMOST;
      if (!fits || seer_rng_below(d->rng, ++n) != 0) continue;
      *out_stage = stage;
      *out_axis = axis;
    }
  }
  return n;
}

// A reduction in two: as below, one length gives a divisor of it to the other. The limit of the
// inner one is its list's end.
static bool move_between(const draft *d, const seer_knob *knob, uint16_t *value) {
  bool to_inner_first = seer_rng_below(d->rng, 2) == 0;
  for (int turn = 0; turn < 2; turn++) {
    bool to_inner = to_inner_first == (turn == 0);
    uint16_t from = knob->number[*value], drawn = *value;
    uint64_t n = 0;
    for (uint16_t k = 0; k < knob->n_values; k++) {
      uint16_t to = knob->number[k];
      bool fits = to_inner ? to > from && to % from == 0 : to < from && from % to == 0;
      if (fits && seer_rng_below(d->rng, ++n) == 0) drawn = k;
    }
    if (n == 0) continue;
    *value = drawn;
    return true;
  }
  return false;
}

// Splits with knobs of their own: a reduction in two; how many neighbours an item of a GPU's fetch
// copies, which is drawn as 1; and how many items share a reduction, drawn as a warp's. Where the
// pick falls on one of those it is changed, if it can be.
typedef enum { NOT_PICKED, CHANGED, UNCHANGED } given;
static given mutate_given(const draft *d, uint64_t n_split) {
  int picked = -1;
  for (uint32_t k = 0; k < d->sketch->n_knob; k++) {
    seer_knob_kind kind = d->sketch->knob[k].kind;
    bool is_given = kind == SEER_KNOB_WIDTH || kind == SEER_KNOB_ITEMS || kind == SEER_KNOB_RFACTOR;
    if (is_given && seer_rng_below(d->rng, ++n_split) == 0) picked = (int)k;
  }
  if (picked < 0) return NOT_PICKED;
  const seer_knob *knob = &d->sketch->knob[picked];
  uint16_t *value = &d->out->knob[picked], n = knob->n_values;
  if (knob->kind == SEER_KNOB_RFACTOR) return move_between(d, knob, value) ? CHANGED : UNCHANGED;
  *value = (uint16_t)((*value + 1 + seer_rng_below(d->rng, n - 1u)) % n);
  return CHANGED;
}

// A random divisor > 1 of a length, at most `limit`; 1: there is none. `of`: the extent's, of which
// the length is one.
static int64_t draw_divisor(
    seer_rng *rng, const seer_factorisations *of, int64_t length, int64_t limit) {
  int64_t drawn = 1;
  uint64_t n = 0;
  limit = seer_min_i64(length, limit);
  for (uint32_t k = 1; k < of->n_divisor && of->divisor[k] <= limit; k++) {
    bool divides = seer_divide(length, of->divisor[k]).remainder == 0;
    if (divides && seer_rng_below(rng, ++n) == 0) drawn = of->divisor[k];
  }
  return drawn;
}

// MutateTileSize: in a random order of the levels, the outermost among them, the first with a
// length above 1 gives a divisor of it to the next.
static bool mutate_tile_size(const draft *d) {
  uint32_t stage = 0, axis = 0;
  uint64_t n_split = pick_split(d, &stage, &axis);
  given how = mutate_given(d, n_split);
  if (how != NOT_PICKED || n_split == 0) return how == CHANGED;
  const seer_sketch_stage *s = &d->sketch->stage[stage];
  uint16_t knob[MAX_LENGTHS];
  uint32_t n = list_lengths(s, axis, knob), order[MAX_LENGTHS + 1];
  int64_t extent = seer_ceil_div(d->sketch->dag->stage[stage].axis[axis].extent, s->step[axis]),
          length[MAX_LENGTHS + 1], outermost = extent;
  for (uint32_t k = 0; k < n; k++) {
    length[k + 1] = d->out->knob[knob[k]];
    outermost = seer_ceil_div(outermost, length[k + 1]);
  }
  length[0] = outermost;
  for (uint32_t k = 0; k <= n; k++) order[k] = k;
  seer_rng_shuffle_u32(d->rng, order, n + 1);
  for (uint32_t k = 0; k <= n; k++) {
    uint32_t from = order[k], to = order[(k + 1) % (n + 1)];
    int64_t limit = to == 0 ? INT64_MAX : to == n ? SEER_FACTORISE_MAX_INNERMOST : SEER_MAX_FACTOR;
    int64_t moved = draw_divisor(d->rng, s->ways[axis], length[from], limit / length[to]);
    if (moved == 1) continue;
    if (from > 0) d->out->knob[knob[from - 1]] = (uint16_t)(length[from] / moved);
    if (to > 0) d->out->knob[knob[to - 1]] = (uint16_t)(length[to] * moved);
    return true;
  }
  return false;
}

// ---- locations

// The loops that `stage` may be computed at, those of its readers being placed; a loop of one
// iteration is no other place than the loop around it.
static uint32_t list_loops(const draft *d, uint32_t stage, uint16_t *out_location) {
  const seer_sketch_stage *s = &d->sketch->stage[stage];
  uint32_t n = 0;
  for (uint16_t k = 0; k < s->n_location; k++) {
    const seer_location *l = &s->location[k];
    if (l->is_root || l->is_inline || !seer_frame_may_stand(d->frame, stage, l)) continue;
    if (d->frame->stage[l->at].loop[l->depth - 1].extent > 1) out_location[n++] = k;
  }
  return n;
}

// InitChangeComputeLocation, readers first: uniform over the loops, the root and "inline", which is
// only followed where the sketch has attached the stage already. No sketch of a CPU does, so that
// it is the root as well.
static void draw_locations(const draft *d) {
  const seer_sketch *sketch = d->sketch;
  for (uint32_t k = 0; k < sketch->n_order; k++) {
    const seer_sketch_stage *s = &sketch->stage[sketch->order[k]];
    if (s->location_knob != SEER_NO_KNOB)
      d->out->knob[s->location_knob] = (uint16_t)(s->n_location - 1);
  }
  for (uint32_t k = 0; k < sketch->n_order; k++) {
    uint32_t stage = sketch->order[k];
    const seer_sketch_stage *s = &sketch->stage[stage];
    if (s->location_knob == SEER_NO_KNOB) continue;
    uint16_t loops[SEER_COUNT_OF(s->location)];
    seer_frame_make(d->list, d->out, d->frame);
    uint32_t n = list_loops(d, stage, loops);
    uint64_t drawn = seer_rng_below(d->rng, n + 2);
    if (drawn < n) d->out->knob[s->location_knob] = loops[drawn];
  }
}

// MutateComputeLocation: a stage that is computed at a loop, at any such loop.
static bool mutate_location(const draft *d) {
  const seer_sketch *sketch = d->sketch;
  uint32_t stage = 0;
  uint64_t n_stage = 0;
  for (uint32_t k = 0; k < sketch->n_order; k++) {
    const seer_sketch_stage *s = &sketch->stage[sketch->order[k]];
    if (s->location_knob == SEER_NO_KNOB) continue;
    const seer_location *now = &s->location[d->out->knob[s->location_knob]];
    if (!now->is_root && !now->is_inline && seer_rng_below(d->rng, ++n_stage) == 0)
      stage = sketch->order[k];
  }
  if (n_stage == 0) return false;
  const seer_sketch_stage *s = &sketch->stage[stage];
  uint16_t loops[SEER_COUNT_OF(s->location)];
  seer_frame_make(d->list, d->out, d->frame);
  uint32_t n = list_loops(d, stage, loops);
  if (n == 0) return false;
  d->out->knob[s->location_knob] = loops[seer_rng_below(d->rng, n)];
  return true;
}

// ---- unroll limits

// InitUnroll
static void draw_unroll(const draft *d) {
  for (uint32_t k = 0; k < d->sketch->n_knob; k++) {
    if (d->sketch->knob[k].kind == SEER_KNOB_UNROLL)
      d->out->knob[k] = (uint16_t)seer_rng_below(d->rng, d->sketch->knob[k].n_values);
  }
}

// MutateAutoUnroll
static bool mutate_unroll(const draft *d) {
  uint32_t picked = 0;
  uint64_t n = 0;
  for (uint32_t k = 0; k < d->sketch->n_knob; k++) {
    bool is_unroll = d->sketch->knob[k].kind == SEER_KNOB_UNROLL;
    if (is_unroll && seer_rng_below(d->rng, ++n) == 0) picked = k;
  }
  if (n == 0) return false;
  d->out->knob[picked] = (uint16_t)seer_rng_below(d->rng, d->sketch->knob[picked].n_values);
  return true;
}

// ---- parallel loops

// Asks for as many as there can be; the frame then has how many that is.
static void ask_for_most_parallel(const draft *d) {
  for (uint32_t k = 0; k < d->sketch->n_knob; k++) {
    const seer_knob *knob = &d->sketch->knob[k];
    if (knob->kind == SEER_KNOB_PARALLEL) d->out->knob[k] = (uint16_t)(knob->n_values - 1);
  }
}

// InitParallel: the outermost loops of each root stage are fused until there are parts enough.
static void set_parallel(const draft *d) {
  ask_for_most_parallel(d);
  seer_frame_make(d->list, d->out, d->frame);
  int64_t enough = PARTS_PER_THREAD * (int64_t)d->list->target->threads;
  for (uint32_t r = 0; r < d->frame->n_root; r++) {
    uint32_t stage = d->frame->root[r];
    const seer_frame_stage *s = &d->frame->stage[stage];
    uint16_t knob = d->sketch->stage[stage].parallel_knob, n = 0;
    if (knob == SEER_NO_KNOB) continue;
    for (int64_t parts = 1; n < s->n_parallel && parts <= enough; n++) parts *= s->loop[n].extent;
    d->out->knob[knob] = n;
  }
}

// The loops of a root stage that MutateParallel may fuse: those before the first one at which
// something is computed.
static uint32_t most_fusable(const draft *d, uint32_t stage) {
  uint32_t n = d->sketch->stage[stage].max_parallel;
  for (uint32_t k = 0; k < d->sketch->n_order; k++) {
    const seer_frame_stage *s = &d->frame->stage[d->sketch->order[k]];
    bool is_at = s->place == SEER_PLACE_AT && s->at == stage;
    if (is_at && s->depth <= n) n = s->depth - 1u;
  }
  return n;
}

// MutateParallel: of a root stage with two parallel loops or more, any other number from 1 on.
static bool mutate_parallel(const draft *d) {
  seer_frame_make(d->list, d->out, d->frame);
  uint32_t stage = 0;
  uint64_t n_stage = 0;
  for (uint32_t r = 0; r < d->frame->n_root; r++) {
    uint32_t root = d->frame->root[r];
    bool is_fused = d->frame->stage[root].n_parallel > 1;
    if (is_fused && seer_rng_below(d->rng, ++n_stage) == 0) stage = root;
  }
  uint32_t most = n_stage > 0 ? most_fusable(d, stage) : 0;
  if (most == 0) return false;
  uint16_t *knob = &d->out->knob[d->sketch->stage[stage].parallel_knob], old = *knob;
  *knob = (uint16_t)(1 + seer_rng_below(d->rng, most));
  return *knob != old;
}

// ---- whole schedules

static seer_reject finish(const draft *d) {
  seer_frame_normalise(d->list, d->out, d->frame);
  return seer_frame_check(d->list, d->frame);
}

seer_reject seer_ansor_sample(const seer_sketch_list *list, uint32_t sketch, seer_rng *rng,
    seer_schedule *out, seer_frame *frame) {
  const seer_sketch *s = list->sketch[sketch];
  memset(out, 0, sizeof *out);
  out->sketch = (uint16_t)sketch;
  out->n = (uint16_t)s->n_knob;
  const draft d = {list, s, rng, out, frame};
  draw_tile_sizes(&d);
  draw_locations(&d);
  draw_unroll(&d);
  set_parallel(&d);
  return finish(&d);
}

seer_reject seer_ansor_mutate(const seer_sketch_list *list, seer_rng *rng,
    const seer_schedule *parent, seer_schedule *out, seer_frame *frame) {
  *out = *parent;
  const draft d = {list, list->sketch[parent->sketch], rng, out, frame};
  double u = seer_rng_f64(rng);
  if (list->target->kind != SEER_TARGET_CPU) {
    bool is_gpu_changed = u < TILE_SIZE_SHARE ? mutate_tile_size(&d) : mutate_unroll(&d);
    return is_gpu_changed ? finish(&d) : SEER_REJECT_DUPLICATE;
  }
  bool is_changed = u < TILE_SIZE_SHARE                     ? mutate_tile_size(&d)
      : u < TILE_SIZE_SHARE + LOCATION_SHARE                ? mutate_location(&d)
      : u < TILE_SIZE_SHARE + LOCATION_SHARE + UNROLL_SHARE ? mutate_unroll(&d)
                                                            : mutate_parallel(&d);
  return is_changed ? finish(&d) : SEER_REJECT_DUPLICATE;
}
