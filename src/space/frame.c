// frame.c - (sketch, knobs) -> frame: the numbers of every loop, readers first. Factors are
// clamped as they are used, on a copy of the knobs, so that normalising is nothing but handing that
// copy back, and a frame never depends on whether its schedule was normalised.
#include "space/frame.h"

#include <string.h>

#include "dag/access.h"
#include "space/in_place.h"
#include "space/matrix.h"

// ---- regions

// Stages between a producer and the place where it is attached are few; more of them are computed
// again when asked for.
#define MEMO_STAGES 6

typedef struct {
  const seer_frame *frame;
  uint32_t at, depth, n_memo;
  uint8_t memo_stage[MEMO_STAGES];
  seer_region memo[MEMO_STAGES][SEER_DAG_MAX_AXES];
} query;

static void set_whole(seer_region *r, int64_t extent) {
  r->length = extent;
  r->is_whole = true;
  r->is_exact = true;
  r->n = 0;
  r->constant = 0;
  r->div = 1;
  r->step = 0;
}

static int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  if (a == 0 || b == 1) return b;  // nearly always
  while (b) {
    int64_t r = seer_divide(a, b).remainder;
    a = b;
    b = r;
  }
  return a;
}

// to.start += coef * (start of the interval `from`, or its end when coef < 0)
static bool add_start(seer_region *to, const seer_region *from, int64_t coef) {
  to->constant += coef * (coef > 0 ? from->constant : from->constant + from->length - 1);
  if (from->n > 0) {
    if (to->n > 0 && to->div != from->div) return false;
    to->div = from->div;
    to->step = gcd(to->step, coef * from->step);
  }
  for (uint32_t t = 0; t < from->n; t++) {
    uint32_t k = 0;
    while (k < to->n && to->axis[k] < from->axis[t]) k++;
    if (k < to->n && to->axis[k] == from->axis[t]) {
      to->coef[k] += coef * from->coef[t];
      if (to->coef[k] != 0) continue;
      for (uint32_t m = k; m + 1 < to->n; m++) {
        to->axis[m] = to->axis[m + 1];
        to->coef[m] = to->coef[m + 1];
      }
      to->n--;
      continue;
    }
    if (to->n == SEER_REGION_MAX_TERMS) return false;
    for (uint32_t m = to->n; m > k; m--) {
      to->axis[m] = to->axis[m - 1];
      to->coef[m] = to->coef[m - 1];
    }
    to->axis[k] = from->axis[t];
    to->coef[k] = coef * from->coef[t];
    to->n++;
  }
  return true;
}

// Of an index that is a sum of axes.
static void read_sum(const seer_access_dim *dim, bool is_guarded, const seer_region *reader,
    int64_t extent, seer_region *out) {
  out->length = 1;
  out->is_whole = false;
  out->is_exact = !is_guarded;
  out->n = 0;
  out->constant = dim->constant;
  out->div = 1;
  out->step = 0;
  for (uint32_t left = dim->moving; left; left &= left - 1) {
    int a = __builtin_ctz(left);
    const seer_region *axis = &reader[a];
    int64_t coef = dim->coef[a];
    if (!add_start(out, axis, coef)) {
      set_whole(out, extent);
      return;
    }
    out->length += (coef > 0 ? coef : -coef) * (axis->length - 1);
    out->is_exact &= axis->is_exact;
  }
  if (dim->div > 1) {
    seer_division step = seer_divide(out->step, dim->div);
    if (step.remainder != 0) {  // where the region starts within a step is not known
      set_whole(out, extent);
      return;
    }
    int64_t first = seer_floor_div(out->constant, dim->div);
    out->length = seer_floor_div(out->constant + out->length - 1, dim->div) - first + 1;
    out->constant = first;
    out->div *= dim->div;
    out->step = step.quotient;
  }
  if (out->length >= extent) set_whole(out, extent);
}

static inline void read_region(const seer_access_table *table, const seer_access *access,
    uint32_t d, const seer_region *reader, int64_t extent, seer_region *out) {
  const seer_access_dim *dim = seer_access_index(table, access, d);
  if (dim->is_whole) {
    set_whole(out, extent);
  } else if (dim->axis < 0) {
    read_sum(dim, access->is_guarded, reader, extent, out);
  } else if (reader[dim->axis].length >= extent) {
    set_whole(out, extent);
  } else {  // most are one axis: what the reader needs of it
    *out = reader[dim->axis];
    out->is_whole = false;
    out->is_exact &= !access->is_guarded;
  }
}

static void merge(seer_region *to, const seer_region *from, int64_t extent) {
  if (to->is_whole) return;
  bool same = !from->is_whole && to->n == from->n && to->div == from->div;
  for (uint32_t t = 0; same && t < to->n; t++) {
    same = to->axis[t] == from->axis[t] && to->coef[t] == from->coef[t];
  }
  if (!same) {
    set_whole(to, extent);
    return;
  }
  int64_t start = seer_min_i64(to->constant, from->constant);
  int64_t end = seer_max_i64(to->constant + to->length, from->constant + from->length);
  to->constant = start;
  to->length = end - start;
  to->is_exact &= from->is_exact;
  if (to->length >= extent) set_whole(to, extent);
}

// The loops of `at` itself: per axis, what its loops inside the first `depth` run over.
static void own_axes(const query *q, seer_region *out) {
  const seer_frame_stage *at = &q->frame->stage[q->at];
  const seer_dag_stage *dag = &q->frame->sketch->dag->stage[q->at];
  uint32_t n = (uint32_t)dag->n_space + dag->n_reduce;
  for (uint32_t a = 0; a < n; a++) {
    seer_region *r = &out[a];
    // A region that is not the whole axis has a start of its own.
    bool is_moved = at->region[a] < dag->axis[a].extent;
    r->length = at->region[a];
    r->is_exact = at->is_region_exact[a];
    r->is_whole = false;
    r->constant = 0;
    r->n = is_moved;
    r->axis[0] = (uint8_t)a;
    r->coef[0] = 1;
    r->div = 1;
    r->step = is_moved;
  }
  for (uint32_t l = 0; l < q->depth; l++) {
    const seer_frame_loop *loop = &at->loop[l];
    if (loop->extent <= 1) continue;
    seer_region *r = &out[loop->axis];
    r->length = seer_min_i64(r->length, loop->coef);
    r->is_exact &= seer_divide(at->region[loop->axis], loop->coef).remainder == 0;
    r->n = 1;
    r->step = r->step == 1 ? 1 : loop->coef;  // coefficients of outer loops are multiples
  }
}

static void needed(query *q, uint32_t stage, seer_region *out);

// What is needed of each axis of `stage`: its own loops if it is `at`, else what its readers need.
static const seer_region *axes_of(query *q, uint32_t stage, seer_region *own) {
  for (uint32_t k = 0; k < q->n_memo; k++) {
    if (q->memo_stage[k] == stage) return q->memo[k];
  }
  bool is_kept = q->n_memo < MEMO_STAGES;
  uint32_t slot = q->n_memo;
  if (is_kept) {  // taken now, known by its stage once it is filled
    q->memo_stage[slot] = SEER_NO_STAGE;
    q->n_memo++;
  }
  seer_region *out = is_kept ? q->memo[slot] : own;
  if (stage == q->at) {
    own_axes(q, out);
  } else {
    needed(q, stage, out);
    const seer_dag_stage *dag = &q->frame->sketch->dag->stage[stage];
    // A stage that is placed and computes a whole axis at each visit needs it whole.
    const seer_frame_stage *placed = &q->frame->stage[stage];
    for (uint32_t a = 0; placed->place == SEER_PLACE_AT && a < dag->n_space; a++) {
      if (placed->region[a] >= dag->axis[a].extent) set_whole(&out[a], dag->axis[a].extent);
    }
    for (uint32_t a = dag->n_space; a < (uint32_t)dag->n_space + dag->n_reduce; a++) {
      set_whole(&out[a], dag->axis[a].extent);
    }
  }
  if (is_kept) q->memo_stage[slot] = (uint8_t)stage;
  return out;
}

static void needed(query *q, uint32_t stage, seer_region *out) {
  const seer_sketch *sketch = q->frame->sketch;
  const seer_access_table *table = sketch->dag->access;
  const seer_dag_stage *dag = &sketch->dag->stage[stage];
  bool is_first = true;
  for (uint32_t k = table->first_read[stage]; k < table->first_read[stage + 1]; k++) {
    const seer_access *access = &table->read[k];
    seer_region own[SEER_DAG_MAX_AXES];
    const seer_region *reader = axes_of(q, access->reader, own);
    for (uint32_t d = 0; d < access->rank; d++) {
      if (is_first) {
        read_region(table, access, d, reader, dag->axis[d].extent, &out[d]);
      } else {
        seer_region r;
        read_region(table, access, d, reader, dag->axis[d].extent, &r);
        merge(&out[d], &r, dag->axis[d].extent);
      }
    }
    is_first = false;
  }
  if (!is_first) return;
  for (uint32_t d = 0; d < dag->n_space; d++) set_whole(&out[d], dag->axis[d].extent);
}

void seer_frame_region_start(const seer_frame *frame, uint32_t producer_stage, uint32_t at,
    uint32_t depth, seer_region *out_dim) {
  query q;
  q.frame = frame;
  q.at = at;
  q.depth = depth;
  q.n_memo = 0;
  needed(&q, producer_stage, out_dim);
}

void seer_frame_region(const seer_frame *frame, uint32_t producer_stage, uint32_t at,
    uint32_t depth, int64_t *out_extent) {
  seer_region dim[SEER_DAG_MAX_AXES];
  seer_frame_region_start(frame, producer_stage, at, depth, dim);
  for (uint32_t d = 0; d < frame->sketch->dag->stage[producer_stage].n_space; d++)
    out_extent[d] = dim[d].length;
}

// ---- locations

// True if stage `reader` runs inside the first `depth` loops of `at` (and nowhere else).
static bool is_inside(const seer_frame *frame, uint32_t reader, uint32_t at, uint32_t depth) {
  uint32_t entry = UINT32_MAX;
  while (reader != at) {
    const seer_frame_stage *s = &frame->stage[reader];
    if (s->place != SEER_PLACE_AT) return false;
    entry = s->depth;
    reader = s->at;
  }
  return entry >= depth;
}

static bool readers_inside(const seer_frame *frame, uint32_t stage, uint32_t at, uint32_t depth) {
  uint64_t readers = frame->sketch->dag->access->readers[stage];
  for (; readers; readers &= readers - 1) {
    uint32_t c = (uint32_t)__builtin_ctzll(readers);
    bool is_inline = frame->stage[c].place == SEER_PLACE_INLINE;
    if (is_inline ? !readers_inside(frame, c, at, depth) : !is_inside(frame, c, at, depth))
      return false;
  }
  return true;
}

bool seer_frame_may_stand(const seer_frame *frame, uint32_t stage, const seer_location *location) {
  if (location->is_root || location->is_inline) return true;
  seer_place place = frame->stage[location->at].place;
  if (place != SEER_PLACE_ROOT && place != SEER_PLACE_AT) return false;
  return readers_inside(frame, stage, location->at, location->depth);
}

// ---- loops

// The vector loop covers the axis or is a multiple of the shortest vector.
static int64_t vector_factor(int64_t factor, int64_t extent, uint32_t lanes) {
  int64_t unit = lanes >= 4 ? lanes / 4 : 1;
  if (factor >= extent) return extent;
  factor = factor < unit ? unit : factor - factor % unit;
  return seer_min_i64(factor, extent);
}

// At most as many trips of `span` elements as it takes to run through `region`.
static int64_t clamp_trips(int64_t trips, int64_t region, int64_t span) {
  return (trips - 1) * span < region ? trips : seer_ceil_div(region, span);
}

static uint16_t clamp_knob(uint16_t *knob, int64_t region, int64_t span) {
  int64_t value = *knob < 1 ? 1 : *knob > SEER_MAX_FACTOR ? SEER_MAX_FACTOR : *knob;
  return *knob = (uint16_t)clamp_trips(value, region, span);
}

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  seer_frame *frame;
  uint16_t *knob;
  uint64_t used[2];  // bit k: knob k is read
} filler;

static uint16_t *use(filler *f, uint16_t knob) {
  f->used[knob >> 6] |= (uint64_t)1 << (knob & 63);
  return &f->knob[knob];
}

// The length that an axis's factors are kept within at a loop of `span` elements: a product of
// warps that would end within a patch has the patch whole, where that is not more than twice as
// much.
static int64_t length_for(const seer_sketch_stage *sketch, const seer_sketch_loop *loop,
    uint16_t factor, int64_t region, int64_t span) {
  if (!(sketch->padded_axes >> loop->axis & 1) || loop->binding == SEER_BIND_GRID) return region;
  bool is_item = loop->binding == SEER_BIND_ITEM, is_row = factor % SEER_WARPS_ROW_ITEMS == 0;
  int64_t unit = !is_item ? 2 : is_row ? SEER_WARPS_ROW_ITEMS : SEER_WARPS_COLUMN_ITEMS;
  int64_t n = seer_ceil_div(region, span);
  int64_t whole = seer_ceil_div(n, unit) * unit;
  return whole <= 2 * n ? whole * span : region;
}

static void fill_loops(filler *f, uint32_t stage) {
  const seer_sketch_stage *sketch = &f->sketch->stage[stage];
  const seer_dag_stage *dag = &f->sketch->dag->stage[stage];
  seer_frame_stage *s = &f->frame->stage[stage];
  int64_t span[SEER_DAG_MAX_AXES];
  uint32_t n_axis = (uint32_t)dag->n_space + dag->n_reduce;
  for (uint32_t a = 0; a < n_axis; a++) span[a] = 1;
  s->n_loop = sketch->n_loop;
  for (uint32_t k = sketch->n_loop; k-- > 0;) {
    uint32_t l = sketch->by_rank[k];
    const seer_sketch_loop *from = &sketch->loop[l];
    seer_frame_loop *loop = &s->loop[l];
    uint32_t a = from->axis;
    int64_t region = s->region[a], extent;
    if (from->knob != SEER_NO_KNOB) {
      uint16_t *knob = use(f, from->knob);
      extent = clamp_knob(knob, length_for(sketch, from, *knob, region, span[a]), span[a]);
      if (from->is_vector && f->list->space == SEER_SPACE_FULL) {
        extent = vector_factor(extent, region, sketch->vector_lanes);
        f->knob[from->knob] = (uint16_t)extent;
      }
      if (from->knob2 != SEER_NO_KNOB) {
        int64_t inner = span[a] * extent;
        knob = use(f, from->knob2);
        extent *= clamp_knob(knob, length_for(sketch, from, *knob, region, inner), inner);
        if (!(sketch->padded_axes >> a & 1)) extent = clamp_trips(extent, region, span[a]);
      }
    } else if (from->fixed > 0) {
      extent = clamp_trips(from->fixed, region, span[a]);
    } else {
      extent = seer_ceil_div(region, span[a]);
    }
    loop->axis = from->axis;
    loop->level = from->level;
    loop->is_reduce = from->is_reduce;
    loop->is_tile = from->is_tile;
    loop->is_vector = from->is_vector;
    loop->is_item = from->is_item;
    loop->is_parallel = false;
    loop->extent = extent;
    loop->coef = span[a];
    span[a] *= extent;
  }
  // A tile that reaches beyond an axis's end is computed as a whole.
  for (uint32_t a = 0; a < dag->n_space && sketch->role == SEER_ROLE_TILED; a++)
    if (sketch->padded_axes >> a & 1) s->region[a] = seer_max_i64(s->region[a], span[a]);
  // Exact loops: follow the last block of each axis from its most significant loop on.
  int64_t rest[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < n_axis; a++) rest[a] = s->region[a];
  for (uint32_t k = 0; k < sketch->n_loop; k++) {
    seer_frame_loop *loop = &s->loop[sketch->by_rank[k]];
    int64_t r = rest[loop->axis];
    if (loop->coef == 1) {
      loop->is_exact = s->is_region_exact[loop->axis] && r == loop->extent;
      rest[loop->axis] = 1;
    } else {
      bool is_full = r == loop->coef * loop->extent;  // no division for what divides
      int64_t trips = is_full ? loop->extent : seer_ceil_div(r, loop->coef);
      loop->is_exact = s->is_region_exact[loop->axis] && trips == loop->extent;
      rest[loop->axis] = r - (trips - 1) * loop->coef;
    }
  }
}

// The value of a choice, kept within what there is.
static uint16_t choose(filler *f, uint16_t knob) {
  uint16_t *value = use(f, knob);
  if (*value >= f->sketch->knob[knob].n_values)
    *value = (uint16_t)(f->sketch->knob[knob].n_values - 1);
  return *value;
}

// The number that its value stands for.
static int64_t chosen(filler *f, uint16_t knob) {
  return seer_knob_number(f->list, &f->sketch->knob[knob], choose(f, knob));
}

// No more items than halve what there is to add up.
static void fill_tree(filler *f, uint32_t stage, int64_t n_elems) {
  const seer_sketch_stage *sketch = &f->sketch->stage[stage];
  uint32_t sum = sketch->partner == SEER_NO_STAGE ? stage : sketch->partner;
  const seer_dag_stage *dag = &f->sketch->dag->stage[sum];
  int64_t n = 1, most = f->list->target->gpu.max_block_items;
  for (uint32_t a = 0; a < dag->n_reduce; a++) n *= dag->axis[dag->n_space + a].extent;
  int64_t items = chosen(f, sketch->items_knob);
  uint16_t *value = &f->knob[sketch->items_knob];
  for (; *value > 0 && (items / 2 >= n || items > most); (*value)--) items /= 2;
  seer_frame_stage *s = &f->frame->stage[stage];
  s->tree_items = items;
  s->flat = (seer_frame_flat){.n_groups = n_elems, .n_steps = n_elems, .items = 1, .width = 1};
}

// Elements of a tile that an item makes together, besides neighbours. More of them than this, and
// there are fewer neighbours.
#define MAX_FLAT_TILE 64

static void fill_flat(filler *f, uint32_t stage) {
  const seer_sketch_stage *sketch = &f->sketch->stage[stage];
  const seer_dag_stage *dag = &f->sketch->dag->stage[stage];
  const seer_target_gpu *gpu = &f->list->target->gpu;
  seer_frame_stage *s = &f->frame->stage[stage];
  int64_t n_elems = 1, row = dag->n_space > 0 ? s->region[dag->n_space - 1] : 1, tile = 1;
  for (uint32_t d = 0; d < dag->n_space; d++) {
    n_elems *= seer_ceil_div(s->region[d], sketch->step[d]);
    tile *= sketch->step[d];
  }
  if (sketch->is_tree) {
    fill_tree(f, stage, n_elems);
    return;
  }
  int64_t width = 1, items = gpu->warp_items;
  if (sketch->width_knob != SEER_NO_KNOB) {
    width = chosen(f, sketch->width_knob);
    uint16_t *value = &f->knob[sketch->width_knob];
    for (; *value > 0 && (row % width != 0 || tile * width > MAX_FLAT_TILE); (*value)--) width /= 2;
  }
  int64_t pad = 0;
  if (sketch->pad_knob != SEER_NO_KNOB) {
    if (n_elems == row) f->knob[sketch->pad_knob] = 0;  // there is one
    pad = chosen(f, sketch->pad_knob);
  }
  if (sketch->items_knob != SEER_NO_KNOB) items = chosen(f, sketch->items_knob);
  if (sketch->role == SEER_ROLE_FETCH) items = seer_frame_items(&f->frame->stage[sketch->partner]);
  int64_t n_groups = n_elems / width;
  s->flat = (seer_frame_flat){.n_groups = n_groups, .width = width, .pad = pad};
  s->flat.items = seer_min_i64(seer_min_i64(items, gpu->max_block_items), n_groups);
  s->flat.n_steps = seer_ceil_div(n_groups, s->flat.items);
}

// What is fetched for a tile that reaches beyond its axes' ends does, too.
static void fill_padded(const filler *f, uint32_t fetch) {
  const seer_access_table *table = f->sketch->dag->access;
  uint32_t reader = f->sketch->stage[fetch].partner;
  const seer_frame_stage *tile = &f->frame->stage[reader];
  seer_frame_stage *s = &f->frame->stage[fetch];
  for (uint32_t k = table->first_read[fetch]; k < table->first_read[fetch + 1]; k++) {
    for (uint32_t d = 0; d < table->read[k].rank; d++) {
      int8_t a = seer_access_index(table, &table->read[k], d)->axis;
      bool is_padded = a >= 0 && (f->sketch->stage[reader].padded_axes >> a & 1);
      if (is_padded && tile->region[a] > f->sketch->dag->stage[reader].axis[a].extent)
        s->region[d] = tile->region[a];
    }
  }
}

static void fill_stage(filler *f, uint32_t stage) {
  const seer_sketch_stage *sketch = &f->sketch->stage[stage];
  const seer_dag_stage *dag = &f->sketch->dag->stage[stage];
  seer_frame *frame = f->frame;
  seer_frame_stage *s = &frame->stage[stage];
  s->n_loop = 0;
  s->n_parallel = 0;
  s->max_unroll = 1;
  s->is_flat = sketch->is_flat;
  s->tree_items = 0;
  s->is_ahead = s->is_copied = false;
  if (sketch->role == SEER_ROLE_INLINE) {
    s->place = SEER_PLACE_INLINE;
    return;
  }
  if (sketch->role == SEER_ROLE_SHARED) {
    s->place = SEER_PLACE_SHARED;
    return;
  }
  const seer_location *location = &sketch->location[0];
  if (sketch->location_knob != SEER_NO_KNOB) {
    uint16_t *at = use(f, sketch->location_knob);
    if (*at >= sketch->n_location) *at = (uint16_t)(sketch->n_location - 1);
    while (!seer_frame_may_stand(frame, stage, &sketch->location[*at])) (*at)++;
    location = &sketch->location[*at];
  }
  if (location->is_inline) {
    s->place = SEER_PLACE_INLINE;
    return;
  }
  for (uint32_t a = 0; a < (uint32_t)dag->n_space + dag->n_reduce; a++) {
    s->region[a] = dag->axis[a].extent;
    s->is_region_exact[a] = true;
  }
  if (location->is_root) {
    s->place = SEER_PLACE_ROOT;
    frame->root[frame->n_root++] = (uint8_t)stage;
  } else {
    s->place = SEER_PLACE_AT;
    s->in_place = false;
    s->at = location->at;
    s->depth = location->depth;
    seer_frame_region_start(frame, stage, s->at, s->depth, s->start);
    for (uint32_t d = 0; d < dag->n_space; d++) {
      s->region[d] = s->start[d].length;
      s->is_region_exact[d] = s->start[d].is_exact;
    }
    if (sketch->role == SEER_ROLE_FETCH) fill_padded(f, stage);
  }
  fill_loops(f, stage);
  if (s->is_flat) fill_flat(f, stage);
  if (sketch->unroll_knob != SEER_NO_KNOB) s->max_unroll = (uint16_t)chosen(f, sketch->unroll_knob);
}

// Parallel loops stand outside everything that is attached; loops of extent 1 at their end count as
// serial.
static void fill_parallel(filler *f) {
  uint8_t limit[SEER_DAG_MAX_STAGES];
  seer_frame *frame = f->frame;
  for (uint32_t r = 0; r < frame->n_root; r++)
    limit[frame->root[r]] = f->sketch->stage[frame->root[r]].max_parallel;
  for (uint32_t k = 0; k < f->sketch->n_order; k++) {
    const seer_frame_stage *s = &frame->stage[f->sketch->order[k]];
    bool at_root = s->place == SEER_PLACE_AT && frame->stage[s->at].place == SEER_PLACE_ROOT;
    if (at_root && s->depth < limit[s->at]) limit[s->at] = s->depth;
  }
  for (uint32_t r = 0; r < frame->n_root; r++) {
    seer_frame_stage *s = &frame->stage[frame->root[r]];
    uint16_t knob = f->sketch->stage[frame->root[r]].parallel_knob;
    if (knob == SEER_NO_KNOB) continue;
    uint16_t *n = use(f, knob);
    if (*n > limit[frame->root[r]]) *n = limit[frame->root[r]];
    while (*n > 0 && s->loop[*n - 1].extent == 1) (*n)--;
    s->n_parallel = (uint8_t)*n;
    for (uint32_t l = 0; l < s->n_parallel; l++) s->loop[l].is_parallel = true;
  }
}

// A GPU's grid.
static void fill_grid(filler *f) {
  for (uint32_t r = 0; r < f->frame->n_root; r++) {
    uint32_t stage = f->frame->root[r];
    seer_frame_stage *s = &f->frame->stage[stage];
    const seer_sketch_loop *loop = f->sketch->stage[stage].loop;
    while (s->n_parallel < s->n_loop && loop[s->n_parallel].binding == SEER_BIND_GRID)
      s->loop[s->n_parallel++].is_parallel = true;
  }
}

// What an item loads for the next step has a register.
static bool has_registers(const filler *f, uint32_t fetch) {
  return f->frame->stage[fetch].flat.n_steps <= SEER_FRAME_STEPS_AHEAD;
}

// What a device copies by itself (which the sketch knows of its fetches) is words; and there is an
// index for the half.
static bool is_of_words(const filler *f, uint32_t fetch) {
  const seer_dag_stage *stage = &f->sketch->dag->stage[fetch];
  uint32_t bytes = seer_dtype_bytes(f->sketch->dag->buf[stage->out[0]].dtype);
  return f->frame->stage[fetch].flat.width * bytes >= SEER_TARGET_COPY_BYTES &&
      stage->n_space < SEER_MAX_RANK;
}

// Where there is a next step, and each fetch of the stage is such a one.
static bool may_be_ahead(
    const filler *f, uint32_t stage, bool (*is_fit)(const filler *f, uint32_t fetch)) {
  if (seer_frame_fetch_steps(&f->frame->stage[stage]) == 1) return false;
  for (uint32_t p = 0; p < stage; p++) {
    const seer_sketch_stage *fetch = &f->sketch->stage[p];
    bool is_mine = fetch->role == SEER_ROLE_FETCH && fetch->partner == stage;
    if (is_mine && !is_fit(f, p)) return false;
  }
  return true;
}

static void fill_ahead(filler *f) {
  for (uint32_t k = 0; k < f->sketch->n_order; k++) {
    uint32_t stage = f->sketch->order[k];
    uint16_t knob = f->sketch->stage[stage].ahead_knob;
    if (knob == SEER_NO_KNOB) continue;
    seer_frame_stage *s = &f->frame->stage[stage];
    uint16_t how = choose(f, knob);
    s->is_copied = how == SEER_AHEAD_BY_COPIES && may_be_ahead(f, stage, is_of_words);
    s->is_ahead = s->is_copied || (how > 0 && may_be_ahead(f, stage, has_registers));
    f->knob[knob] = s->is_copied ? SEER_AHEAD_BY_COPIES : s->is_ahead;
  }
}

static void fill(filler *f) {
  const seer_sketch *sketch = f->sketch;
  seer_frame *frame = f->frame;
  frame->sketch = sketch;
  frame->n_root = 0;
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++) {
    frame->stage[s].place =
        sketch->stage[s].role == SEER_ROLE_CONST ? SEER_PLACE_CONST : SEER_PLACE_NONE;
    frame->stage[s].n_loop = 0;
  }
  for (uint32_t k = 0; k < sketch->n_split; k++) (void)choose(f, sketch->split_knob[k]);
  for (uint32_t k = 0; k < sketch->n_order; k++) fill_stage(f, sketch->order[k]);
  bool is_cpu = f->list->target->kind == SEER_TARGET_CPU;
  if (is_cpu) {
    fill_parallel(f);
  } else {
    fill_grid(f);
    fill_ahead(f);
  }
  for (uint32_t i = 0, j = frame->n_root; i + 1 < j; i++) {  // execution order: producers first
    uint8_t swap = frame->root[i];
    frame->root[i] = frame->root[--j];
    frame->root[j] = swap;
  }
  if (is_cpu) seer_in_place_find(frame);
}

void seer_frame_make(const seer_sketch_list *list, const seer_schedule *schedule, seer_frame *out) {
  const seer_sketch *sketch = seer_sketch_of(list, schedule);
  uint16_t knob[SEER_SCHEDULE_MAX_KNOBS];
  memcpy(knob, schedule->knob, sizeof(uint16_t) * sketch->n_knob);
  filler f = {list, sketch, out, knob, {0, 0}};
  fill(&f);
}

void seer_frame_normalise(const seer_sketch_list *list, seer_schedule *schedule, seer_frame *out) {
  const seer_sketch *sketch = seer_sketch_of(list, schedule);
  filler f = {list, sketch, out, schedule->knob, {0, 0}};
  fill(&f);
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if (f.used[k >> 6] >> (k & 63) & 1) continue;
    schedule->knob[k] = sketch->knob[k].kind == SEER_KNOB_FACTOR ? 1 : 0;
  }
  memset(schedule->knob + sketch->n_knob, 0,
      sizeof(uint16_t) * (SEER_SCHEDULE_MAX_KNOBS - sketch->n_knob));
}

// ---- what the checks read

int64_t seer_frame_local_bytes(const seer_frame *frame) {
  int64_t bytes = 0;
  for (uint32_t k = 0; k < frame->sketch->n_order; k++) {
    uint32_t stage = frame->sketch->order[k];
    const seer_frame_stage *s = &frame->stage[stage];
    if (s->place != SEER_PLACE_AT || s->in_place) continue;
    const seer_dag *dag = frame->sketch->dag;
    int64_t elems = 1;
    for (uint32_t d = 0; d < dag->stage[stage].n_space; d++) {
      elems *= s->region[d];
      if (elems > INT32_MAX) return INT64_MAX;
    }
    for (uint32_t v = 0; v < dag->stage[stage].n_values; v++) {
      bytes += elems * seer_dtype_bytes(dag->buf[dag->stage[stage].out[v]].dtype);
    }
  }
  return bytes;
}

seer_frame_tile seer_frame_register_tile(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage];
  seer_frame_tile tile = {1, 1, 1};
  for (uint32_t l = s->n_loop; l-- > 0 && s->loop[l].is_tile;) {
    const seer_frame_loop *loop = &s->loop[l];
    if (loop->is_vector) {
      int64_t lanes = frame->sketch->stage[stage].vector_lanes;
      tile.vectors = seer_ceil_div(loop->extent, lanes);
    } else if (loop->is_reduce) {
      tile.steps *= loop->extent;
    } else {
      tile.rows *= loop->extent;
    }
  }
  return tile;
}

bool seer_frame_is_of_matrices(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage];
  uint8_t how = frame->sketch->stage[stage].matrix_depth;
  if (how == SEER_MATRIX_NONE || s->n_loop == 0) return false;
  seer_matrix_tile tile = seer_matrix_begin(s->loop[s->n_loop - 1].extent);
  uint32_t first = s->n_loop;
  while (first > 0 && s->loop[first - 1].is_tile) first--;
  for (uint32_t l = first; l + 1 < s->n_loop; l++) seer_matrix_add_rows(&tile, s->loop[l].extent);
  while (first > 0 && s->loop[first - 1].extent == 1) first--;
  if (first == 0 || !s->loop[first - 1].is_reduce) return false;
  const seer_frame_loop *last = &s->loop[first - 1], *before = last;
  bool is_row = last->extent == frame->sketch->dag->stage[stage].axis[last->axis].extent;
  if (how == SEER_MATRIX_TWO_AXES && is_row && first > 1) before = &s->loop[first - 2];
  bool is_one =
      before != last && before->is_reduce && seer_matrix_fits(&tile, before->extent, last->extent);
  return is_one || seer_matrix_fits(&tile, last->extent, 1);
}

int64_t seer_frame_fetch_steps(const seer_frame_stage *stage) {
  int64_t steps = 1;
  for (uint32_t l = 0; l < stage->n_loop; l++)
    steps *= stage->loop[l].is_reduce && stage->loop[l].level == 0 ? stage->loop[l].extent : 1;
  return steps;
}

bool seer_frame_is_of_warps(const seer_frame *frame, uint32_t stage, seer_warps_tile *out_tile) {
  const seer_frame_stage *s = &frame->stage[stage];
  const seer_sketch_stage *sketch = &frame->sketch->stage[stage];
  seer_warps_loop loop[SEER_COUNT_OF(s->loop)];
  if (sketch->warps_type == SEER_WARPS_NONE) return false;
  // Beyond the ends of operands what was fetched is 0, so that only what does not divide a region
  // cuts.
  int64_t length[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) length[a] = 1;
  for (uint32_t l = 0; l < s->n_loop; l++) length[s->loop[l].axis] *= s->loop[l].extent;
  bool in_items = false;
  for (uint32_t l = 0; l < s->n_loop; l++) {
    const seer_frame_loop *of = &s->loop[l];
    in_items |= of->is_item;
    loop[l] = (seer_warps_loop){.extent = of->extent,
        .kind = of->is_item ? SEER_WARPS_ITEM
            : of->is_tile   ? SEER_WARPS_COPY
            : in_items      ? SEER_WARPS_STEP
                            : SEER_WARPS_AROUND,
        .is_cut = !of->is_reduce && length[of->axis] != s->region[of->axis]};
    for (uint32_t k = 0; k < 2; k++) loop[l].moves[k] = sketch->factor_axes[k] >> of->axis & 1;
  }
  return seer_warps_find(loop, s->n_loop, out_tile);
}

int64_t seer_frame_items(const seer_frame_stage *stage) {
  int64_t items = 1;
  for (uint32_t l = 0; l < stage->n_loop; l++)
    items *= stage->loop[l].is_item ? stage->loop[l].extent : 1;
  return items;
}

int64_t seer_frame_parts(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage];
  if (s->is_flat) return s->flat.n_steps;
  int64_t parts = 1;
  for (uint32_t l = 0; l < s->n_parallel; l++) {
    parts *= s->loop[l].extent;
    if (parts > INT32_MAX) return parts;
  }
  return parts;
}
