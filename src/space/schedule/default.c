// default.c - the schedule that a task gets without any search: a register tile that fills the
// vector registers and divides the extents where it can, whole inner reductions, weights' panels
// reused over an inner block of rows, enough parallel parts, nothing computed twice. Deterministic.
#include <string.h>

#include "space/frame.h"
#include "space/matrix.h"
#include "space/schedule/draw_items.h"

// Panels of packed weights and of activations that the S1 block works on stay within a share of L2.
#define MAX_REDUCE_PANEL 2304  // products of reduction extents up to this are done whole (3x3x256)
#define REDUCE_BLOCK 256  // longer ones: blocks of about this many steps of the innermost axis
#define PARTS_PER_THREAD 2
#define BLOCK_STEPS 14  // tiles of a transform in a block: rows of the products inside it
#define MAX_WIDE_MATRICES 4  // beside each other in a tile
#define MAX_MATRIX_ROWS 64  // times those: no more than the checks of schedule.c allow
#define BLOCK_TILES 8  // register tiles along a row axis that share one weight panel

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  seer_schedule *out;
} maker;

static uint16_t find(const maker *m, uint32_t stage, uint32_t axis, uint32_t level) {
  return m->sketch->stage[stage].factor[axis][level];
}

static void set(const maker *m, uint32_t stage, uint32_t axis, uint32_t level, int64_t value) {
  uint16_t knob = find(m, stage, axis, level);
  if (knob != SEER_NO_KNOB)
    m->out->knob[knob] = (uint16_t)seer_max_i64(1, seer_min_i64(value, SEER_MAX_FACTOR));
}

static double used_share(int64_t extent, int64_t factor) {
  return (double)extent / (double)(seer_ceil_div(extent, factor) * factor);
}

// ---- the register tile: rows over the two axes before the vector axis

typedef struct {
  int64_t vector, x, y;
  double score;
} tile;

// Cycles of one reduction step of rows x vectors: multiply-adds against loads and broadcasts, and
// the latency that the independent accumulators must cover.
static double step_efficiency(const seer_target *target, int64_t rows, int64_t vectors) {
  double ports = target->n_fma_ports > 0 ? target->n_fma_ports : 1;
  double latency = target->fma_latency_cycles > 0 ? target->fma_latency_cycles : 4;
  double fma = (double)(rows * vectors) / ports;
  double loads = (double)(rows + vectors) / 2.0;
  double cycles = fma > loads ? fma : loads;
  if (latency > cycles) cycles = latency;
  // Loads that hide behind multiply-adds still cost a little: 14x2 beats 28x1 (measured: 101-117
  // of 117 GFLOP/s).
  return fma / (cycles + 0.1 * loads);
}

static tile best_tile(const maker *m, uint32_t stage, int64_t n_vector, int64_t n_x, int64_t n_y) {
  const seer_target *target = m->list->target;
  int64_t lanes = m->sketch->stage[stage].vector_lanes,
          registers = (int64_t)target->n_vector_registers;
  tile best = {seer_min_i64(lanes, n_vector), 1, 1, -1};
  for (int64_t vectors = 1; vectors <= 4; vectors++) {
    if (vectors > 1 && (vectors - 1) * lanes >= n_vector) break;
    int64_t width = seer_min_i64(vectors * lanes, n_vector);
    int64_t max_rows = (registers - 1 - vectors) / vectors;
    double vector_share =
        used_share(n_vector, width) * (double)width / (double)(seer_ceil_div(width, lanes) * lanes);
    for (int64_t x = 1; x <= n_x && x <= max_rows; x++) {
      for (int64_t y = 1; y <= n_y && x * y <= max_rows; y++) {
        double score = vector_share * used_share(n_x, x) * used_share(n_y, y) *
            step_efficiency(target, x * y, vectors) *
            (1.0 + 1e-3 * (double)(x * y * vectors) - 1e-4 * (double)y);
        if (score > best.score) best = (tile){width, x, y, score};
      }
    }
  }
  return best;
}

// Cycles that the products of one depth of a tile keep their unit busy, against the loads of the
// factors: an instruction takes 16 cycles, however many of its rows are meant, a load 8
// (sapphirerapids, 2026-11).
static double matrix_efficiency(const seer_matrix_tile *t) {
  double products = 16.0 * (double)(t->x * t->y), loads = 8.0 * (double)(t->x + t->y);
  return products / ((products > loads ? products : loads) + 0.3 * loads);
}

static tile best_matrices(int64_t n_vector, int64_t n_x, int64_t n_y) {
  tile best = {seer_min_i64(SEER_MATRIX_SIDE, n_vector), 1, 1, -1};
  for (int64_t wide = 1; wide <= MAX_WIDE_MATRICES; wide++) {
    if (wide > 1 && (wide - 1) * SEER_MATRIX_SIDE >= n_vector) break;
    int64_t width = seer_min_i64(wide * SEER_MATRIX_SIDE, n_vector);
    for (int64_t x = 1; x <= n_x && x * wide <= MAX_MATRIX_ROWS; x++) {
      for (int64_t y = 1; y <= n_y && x * y * wide <= MAX_MATRIX_ROWS; y++) {
        seer_matrix_tile t = seer_matrix_begin(width);
        seer_matrix_add_rows(&t, y);
        seer_matrix_add_rows(&t, x);
        if (!seer_matrix_fits(&t, SEER_MATRIX_SIDE, 1)) continue;
        double meant =
            (double)(x * y * width) / (double)(t.x * t.y * SEER_MATRIX_SIDE * SEER_MATRIX_SIDE);
        double score = used_share(n_vector, width) * used_share(n_x, x) * used_share(n_y, y) *
            meant * matrix_efficiency(&t) *
            (1.0 - 1e-3 * (double)y);  // rows of x are neighbours, those of y lie far apart
        if (score > best.score) best = (tile){width, x, y, score};
      }
    }
  }
  return best;
}

// ---- tiled stages

// At most `wanted`: a divisor of `extent` if there is one within a factor of two, else blocks of
// even size.
static int64_t near_divisor(int64_t extent, int64_t wanted) {
  if (wanted >= extent) return extent;
  for (int64_t d = wanted; 2 * d >= wanted; d--) {
    if (extent % d == 0) return d;
  }
  return seer_ceil_div(extent, seer_ceil_div(extent, wanted));  // as many blocks, of even size
}

static void fill_reduction(const maker *m, uint32_t stage) {
  const seer_dag_stage *s = &m->sketch->dag->stage[stage];
  int64_t product = 1;
  for (uint32_t a = s->n_space + (uint32_t)s->n_reduce; a-- > s->n_space;) {
    int64_t extent = s->axis[a].extent, factor = extent;
    if (product * extent > MAX_REDUCE_PANEL)
      factor = near_divisor(extent, seer_max_i64(1, REDUCE_BLOCK / product));
    if (product > MAX_REDUCE_PANEL) factor = 1;
    product *= factor;
    set(m, stage, a, 1, factor);
  }
}

static void fill_tiled(const maker *m, uint32_t stage) {
  const seer_dag_stage *s = &m->sketch->dag->stage[stage];
  const seer_sketch_stage *sketch = &m->sketch->stage[stage];
  fill_reduction(m, stage);
  if (!sketch->is_vectorised) return;
  uint32_t v = sketch->vector_axis, row[2] = {v, v}, n_row = 0;
  for (uint32_t a = v; a-- > 0 && n_row < 2;) {
    if (s->axis[a].extent > 1) row[n_row++] = a;
  }
  int64_t n_x = n_row > 0 ? s->axis[row[0]].extent : 1,
          n_y = n_row > 1 ? s->axis[row[1]].extent : 1;
  tile t = {.score = -1};
  if (sketch->matrix_depth != SEER_MATRIX_NONE) t = best_matrices(s->axis[v].extent, n_x, n_y);
  if (t.score < 0) t = best_tile(m, stage, s->axis[v].extent, n_x, n_y);
  set(m, stage, v, 3, t.vector);
  // Blocks of rows inside, so that a panel of weights is used for several tiles; enough parts
  // outside.
  int64_t parts_wanted = PARTS_PER_THREAD * (int64_t)m->list->target->threads;
  int64_t outer = seer_ceil_div(s->axis[v].extent, t.vector);
  for (uint32_t a = 0; a < s->n_space; a++) {
    if (a != v && a != row[0] && a != row[1]) outer *= s->axis[a].extent;
  }
  int64_t tiles_x = seer_ceil_div(n_x, t.x), tiles_y = seer_ceil_div(n_y, t.y);
  int64_t block_x = seer_min_i64(tiles_x, BLOCK_TILES),
          block_y = seer_min_i64(tiles_y, BLOCK_TILES);
  while (block_x * block_y > 1 &&
      outer * seer_ceil_div(tiles_x, block_x) * seer_ceil_div(tiles_y, block_y) < parts_wanted) {
    if (block_y > 1) {
      block_y = (block_y + 1) / 2;
    } else {
      block_x = (block_x + 1) / 2;
    }
  }
  if (n_row > 0) {
    set(m, stage, row[0], 3, t.x);
    set(m, stage, row[0], 1, near_divisor(tiles_x, block_x));
  }
  if (n_row > 1) {
    set(m, stage, row[1], 3, t.y);
    set(m, stage, row[1], 1, near_divisor(tiles_y, block_y));
  }
}

// ---- simple stages

static void fill_simple(const maker *m, uint32_t stage) {
  const seer_dag_stage *s = &m->sketch->dag->stage[stage];
  const seer_sketch_stage *sketch = &m->sketch->stage[stage];
  if (!sketch->is_vectorised) return;
  uint32_t v = sketch->vector_axis;
  int64_t lanes = sketch->vector_lanes, extent = s->axis[v].extent;
  bool accumulates = s->n_reduce > 0;
  int64_t vectors = seer_min_i64(seer_ceil_div(extent, lanes), 4);
  while (vectors > 1 && used_share(extent, vectors * lanes) < 0.9) vectors--;
  // a transform's index axes
  int64_t fixed_rows = 1, registers = (int64_t)m->list->target->n_vector_registers;
  for (uint32_t l = sketch->first_tile_loop; l < sketch->n_loop; l++) {
    fixed_rows *= sketch->loop[l].fixed ? sketch->loop[l].fixed : 1;
  }
  while (vectors > 1 && (fixed_rows + 1) * vectors >= registers) vectors--;
  set(m, stage, v, 1, vectors * lanes);
  for (uint32_t a = v; a-- > 0;) {
    if (s->axis[a].extent == 1) continue;
    // Rows only where accumulators need company; few, so that tails are small.
    int64_t rows = accumulates ? seer_max_i64(1, 8 / vectors) : 1;
    set(m, stage, a, 1, near_divisor(s->axis[a].extent, rows));
    break;
  }
  if (find(m, stage, v, 0) != SEER_NO_KNOB) set(m, stage, v, 0, SEER_MAX_FACTOR);
  int64_t left = BLOCK_STEPS;  // of a transform's tiles, in one block
  for (uint32_t a = v; a-- > 0;) {
    if (sketch->step[a] == 1) continue;
    int64_t tiles = near_divisor(seer_ceil_div(s->axis[a].extent, sketch->step[a]), left);
    set(m, stage, a, 0, tiles);
    left = seer_max_i64(1, left / tiles);
  }
}

// ---- locations and parallel loops, on frames

// How often an element of an attached stage is computed.
static double repetition(const seer_frame *frame, uint32_t stage) {
  const seer_frame_stage *s = &frame->stage[stage];
  const seer_dag_stage *dag = &frame->sketch->dag->stage[stage];
  double computed = 1, whole = 1;
  for (uint32_t d = 0; d < dag->n_space; d++) {
    computed *= (double)s->region[d];
    whole *= (double)dag->axis[d].extent;
  }
  uint32_t at = stage;
  while (frame->stage[at].place == SEER_PLACE_AT) {
    uint32_t depth = frame->stage[at].depth;
    at = frame->stage[at].at;
    for (uint32_t l = 0; l < depth; l++) computed *= (double)frame->stage[at].loop[l].extent;
  }
  return computed / whole;
}

// The innermost place at which (almost) nothing is computed twice, readers first.
static void fill_locations(const maker *m, seer_frame *frame) {
  for (uint32_t k = 0; k < m->sketch->n_order; k++) {
    uint32_t stage = m->sketch->order[k];
    const seer_sketch_stage *s = &m->sketch->stage[stage];
    if (s->location_knob == SEER_NO_KNOB) continue;
    uint16_t root = (uint16_t)(s->n_location - 1), chosen = root;
    for (uint16_t v = 0; v < root && chosen == root; v++) {
      if (s->location[v].is_inline) continue;
      m->out->knob[s->location_knob] = v;
      seer_schedule trial = *m->out;
      seer_frame_normalise(m->list, &trial, frame);
      bool is_taken = trial.knob[s->location_knob] == v && repetition(frame, stage) <= 1.1 &&
          seer_frame_check(m->list, frame) == SEER_REJECT_NONE;
      // Not inside all loops of the root: parallel parts must be left.
      if (is_taken) chosen = v;
    }
    m->out->knob[s->location_knob] = chosen;
  }
}

static void fill_parallel(const maker *m, seer_frame *frame) {
  for (uint32_t k = 0; k < m->sketch->n_knob; k++) {
    if (m->sketch->knob[k].kind == SEER_KNOB_PARALLEL)
      m->out->knob[k] = m->sketch->knob[k].n_values;
  }
  seer_schedule trial = *m->out;
  seer_frame_normalise(m->list, &trial, frame);
  int64_t wanted = 4 * PARTS_PER_THREAD * (int64_t)m->list->target->threads;
  for (uint32_t r = 0; r < frame->n_root; r++) {
    uint32_t stage = frame->root[r];
    uint16_t knob = m->sketch->stage[stage].parallel_knob;
    if (knob == SEER_NO_KNOB) continue;
    int64_t parts = 1;
    uint16_t n = 0;
    while (n < frame->stage[stage].n_parallel && parts < wanted) {
      int64_t next = parts * frame->stage[stage].loop[n].extent;
      if (next > 65535) break;
      parts = next;
      n++;
    }
    m->out->knob[knob] = n;
  }
}

// Of the kernels that reduce in parts the least number of blocks.
static int64_t blocks_of_parts(const maker *m, const seer_frame *frame) {
  int64_t least = INT64_MAX;
  for (uint32_t k = 0; k < m->sketch->n_split; k++) {
    uint32_t sum = m->sketch->knob[m->sketch->split_knob[k]].stage;
    least = seer_min_i64(least, seer_frame_parts(frame, sum - 1u));
  }
  return least;
}

// The default with that value of the numbers of parts, or the least that may be asked for.
static bool fill_items(const maker *m, uint16_t parts, bool is_least, seer_frame *frame) {
  if (is_least) seer_draw_least_items(m->list, m->sketch, m->out->knob);
  for (uint32_t k = 0; k < m->sketch->n_split; k++) m->out->knob[m->sketch->split_knob[k]] = parts;
  const seer_sketch *sketch = seer_sketch_of(m->list, m->out);
  for (uint32_t s = 0; s < sketch->dag->n_stage && !is_least; s++)
    seer_draw_items(sketch, s, NULL, m->out->knob);
  seer_frame_normalise(m->list, m->out, frame);
  return seer_frame_check(m->list, frame) == SEER_REJECT_NONE;
}

// Of the numbers of parts the first with which all processors have a block.
static void fill_gpu(const maker *m) {
  const seer_sketch *s = m->sketch;
  uint32_t n_value = s->n_split > 0 ? s->knob[s->split_knob[0]].n_values : 1;
  int64_t enough = (int64_t)m->list->target->gpu.n_processors;
  bool is_valid = false;
  for (int is_least = 0; is_least < 2 && !is_valid; is_least++) {
    for (uint32_t v = 0; v < n_value; v++) {
      seer_frame frame;
      is_valid = fill_items(m, (uint16_t)v, is_least, &frame);
      if (is_valid && blocks_of_parts(m, &frame) >= enough) return;
    }
  }
}

void seer_schedule_default(const seer_sketch_list *list, uint32_t sketch, seer_schedule *out) {
  SEER_ASSERT(sketch < list->n, "sketch %u of %u", sketch, list->n);
  memset(out, 0, sizeof *out);
  maker m = {list, list->sketch[sketch], out};
  out->sketch = (uint16_t)sketch;
  out->n = (uint16_t)m.sketch->n_knob;
  if (list->target->kind != SEER_TARGET_CPU) {
    fill_gpu(&m);
    return;
  }
  for (uint32_t k = 0; k < m.sketch->n_knob; k++) {
    const seer_knob *knob = &m.sketch->knob[k];
    out->knob[k] = knob->kind == SEER_KNOB_FACTOR ? 1 : 0;
    bool is_last = knob->kind == SEER_KNOB_LOCATION || knob->kind == SEER_KNOB_RFACTOR;
    if (is_last) out->knob[k] = (uint16_t)(knob->n_values - 1);
  }
  for (uint32_t s = 0; s < m.sketch->dag->n_stage; s++) {
    if (m.sketch->stage[s].role == SEER_ROLE_TILED) fill_tiled(&m, s);
    if (m.sketch->stage[s].role == SEER_ROLE_SIMPLE) fill_simple(&m, s);
  }
  seer_frame frame;
  fill_locations(&m, &frame);
  fill_parallel(&m, &frame);
  seer_frame_normalise(list, out, &frame);
  // Always valid: what does not fit is given up, the register tile first.
  if (seer_frame_check(list, &frame) == SEER_REJECT_NONE) return;
  for (uint32_t k = 0; k < m.sketch->n_knob; k++) {
    if (m.sketch->knob[k].kind == SEER_KNOB_LOCATION)
      out->knob[k] = (uint16_t)(m.sketch->knob[k].n_values - 1);
    if (m.sketch->knob[k].kind == SEER_KNOB_FACTOR) out->knob[k] = 1;
  }
  fill_parallel(&m, &frame);
  seer_frame_normalise(list, out, &frame);
}
