// draw.c - random knobs of one stage. A register tile is drawn as (rows, vectors) so that most
// drafts are valid; the other levels split what is left. All probabilities stand in the table
// below; they were chosen by hand, and none has been measured against another, except where a line
// says more.
#include "space/schedule/draw.h"

#include <string.h>

#include "space/matrix.h"
#include "space/schedule/draw_items.h"

#define DIVISOR_SHARE 0.70  // factors that divide; the rest is any value up to FREE_LIMIT
#define FREE_LIMIT 64
#define MAX_WASTE 1.20  // padded / useful, masked lanes counted
// Register tiles that use as many rows as fit; the rest any number of rows.
#define FULL_TILE_SHARE 0.50
#define FULL_VECTOR_SHARE 0.80  // vectors of all lanes; the rest half or a quarter
#define MATRIX_SHARE 0.75  // of tiles that may be matrices
#define MAX_VECTORS 4  // vectors side by side in a tile
#define MAX_TILE_VECTORS 64  // no more than the checks of schedule.c allow
#define SIMPLE_ROWS 8  // rows of a simple stage's tile
#define ROOT_SHARE 0.25  // a stage with a location knob: root; inline likewise; the rest any loop
#define INLINE_SHARE 0.25
// Parallel loops: as many as give a drawn number of parts per thread; the rest any.
#define BALANCED_SHARE 0.70
#define WHOLE_REDUCE_SHARE 0.30  // the inner reduction level takes the whole axis

const seer_divisors *seer_divisors_build(int64_t extent, seer_arena *arena) {
  int64_t limit = seer_min_i64(extent, SEER_MAX_FACTOR);
  uint32_t n = 0;
  for (int64_t d = 1; d <= limit; d++) n += extent % d == 0;
  seer_divisors *made =
      seer_arena_alloc(arena, sizeof *made + n * sizeof made->value[0], _Alignof(seer_divisors));
  for (int64_t d = 1; d <= limit; d++) {
    if (extent % d == 0) made->value[made->n++] = (uint16_t)d;
  }
  return made;
}

static bool wastes_little(int64_t extent, int64_t factor) {
  return (double)(seer_ceil_div(extent, factor) * factor) <= MAX_WASTE * (double)extent;
}

// A uniform choice among the divisors of `extent` (itself a divisor, or a quotient, of the list's
// number).
static int64_t draw_divisor(
    seer_rng *rng, const seer_divisors *divisors, int64_t extent, int64_t limit) {
  uint16_t fit[64];
  uint32_t n = 0;
  bool is_own = divisors->value[divisors->n - 1] == extent;  // all of them are divisors of it
  for (uint32_t k = 0; k < divisors->n && divisors->value[k] <= limit && n < SEER_COUNT_OF(fit);
       k++) {
    if (is_own || seer_divide(extent, divisors->value[k]).remainder == 0)
      fit[n++] = divisors->value[k];
  }
  return n > 0 ? fit[seer_rng_below(rng, n)] : 1;
}

static bool draw_exact(const seer_draw *draw) { return seer_rng_chance(draw->rng, DIVISOR_SHARE); }

// A factor of at most `limit` for `extent`: a divisor, or any that wastes little.
static int64_t draw_factor(const seer_draw *draw, const seer_divisors *divisors, int64_t extent,
    int64_t limit, bool is_exact) {
  limit = seer_min_i64(limit, extent);
  if (limit <= 1) return 1;
  if (!is_exact) {
    for (int tries = 0; tries < 4; tries++) {
      int64_t factor =
          1 + (int64_t)seer_rng_below(draw->rng, (uint64_t)seer_min_i64(limit, FREE_LIMIT));
      if (wastes_little(extent, factor)) return factor;
    }
  }
  return draw_divisor(draw->rng, divisors, extent, limit);
}

static void set(const seer_draw *draw, uint16_t knob, int64_t value) {
  if (knob == SEER_NO_KNOB) return;
  draw->knob[knob] = (uint16_t)(value < 1 ? 1 : value > SEER_MAX_FACTOR ? SEER_MAX_FACTOR : value);
}

// ---- the register tile

static int64_t draw_vector(
    const seer_draw *draw, uint32_t stage, int64_t extent, int64_t max_vectors) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  int64_t lanes = s->vector_lanes;
  bool must_divide = seer_rng_chance(draw->rng, DIVISOR_SHARE);
  int64_t width = lanes;
  for (int tries = 0; tries < 6; tries++) {
    int64_t unit = lanes;
    if (lanes >= 4 && !seer_rng_chance(draw->rng, FULL_VECTOR_SHARE)) {
      unit = seer_rng_chance(draw->rng, 0.5) ? lanes / 2 : lanes / 4;
    }
    width = unit * (1 + (int64_t)seer_rng_below(draw->rng, (uint64_t)max_vectors));
    if (width >= extent) {
      width = extent;
      if ((double)(seer_ceil_div(extent, unit) * unit) <= MAX_WASTE * (double)extent) return width;
      continue;
    }
    if (seer_divide(extent, width).remainder == 0 || (!must_divide && wastes_little(extent, width)))
      return width;
  }
  return seer_min_i64(width, extent);
}

// Rows and columns that fill matrices; false: none were found.
static bool draw_matrices(const seer_draw *draw, uint32_t stage) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  const seer_dag_stage *dag = &draw->sketch->dag->stage[stage];
  uint32_t v = s->vector_axis, row[SEER_DAG_MAX_AXES], n = 0;
  for (uint32_t a = dag->n_space; a-- > 0;)
    if (a != v && s->factor[a][3] != SEER_NO_KNOB) row[n++] = a;
  int64_t wide = 1 + (int64_t)seer_rng_below(draw->rng, MAX_VECTORS);
  int64_t width = seer_min_i64(wide * SEER_MATRIX_SIDE, dag->axis[v].extent);
  if (n == 0 || !wastes_little(dag->axis[v].extent, width)) return false;
  if (n > 1 && seer_rng_chance(draw->rng, 0.3)) seer_rng_shuffle_u32(draw->rng, row, n);
  for (int tries = 0; tries < 6; tries++) {
    seer_matrix_tile tile = seer_matrix_begin(width);
    int64_t factor[2] = {1, 1};
    for (uint32_t k = 0; k < 2 && k < n; k++) {
      const seer_divisors *divisors = s->divisors[row[k]];
      int64_t limit = k == 0 ? 2 * SEER_MATRIX_SIDE : SEER_MATRIX_MAX_SUMS;
      factor[k] = draw_factor(draw, divisors, dag->axis[row[k]].extent, limit, draw_exact(draw));
      seer_matrix_add_rows(&tile, factor[k]);
    }
    int64_t vectors = seer_ceil_div(width, SEER_MATRIX_SIDE);
    bool fits = seer_matrix_fits(&tile, SEER_MATRIX_SIDE, 1) &&
        tile.longest * tile.others * vectors <= MAX_TILE_VECTORS;
    if (!fits) continue;
    set(draw, s->factor[v][3], width);
    for (uint32_t k = 0; k < n; k++) set(draw, s->factor[row[k]][3], k < 2 ? factor[k] : 1);
    return true;
  }
  return false;
}

void seer_draw_tile(const seer_draw *draw, uint32_t stage) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  if (!s->is_vectorised) return;
  const seer_dag_stage *dag = &draw->sketch->dag->stage[stage];
  bool is_tiled = s->role == SEER_ROLE_TILED;
  uint32_t level = is_tiled ? 3 : 1, v = s->vector_axis;
  if (s->factor[v][level] == SEER_NO_KNOB) return;
  if (s->matrix_depth != SEER_MATRIX_NONE && seer_rng_chance(draw->rng, MATRIX_SHARE) &&
      draw_matrices(draw, stage))
    return;
  int64_t registers = (int64_t)draw->list->target->n_vector_registers;
  int64_t max_vectors = seer_max_i64(1, seer_min_i64(MAX_VECTORS, (registers - 1) / 2));
  max_vectors = seer_max_i64(
      1, seer_min_i64(max_vectors, seer_divide(MAX_TILE_VECTORS, s->tile_copies).quotient));
  int64_t width = draw_vector(draw, stage, dag->axis[v].extent, max_vectors);
  set(draw, s->factor[v][level], width);
  int64_t vectors = seer_ceil_div(width, s->vector_lanes);
  int64_t max_rows = seer_divide(registers - 1 - vectors, vectors).quotient;
  if (!is_tiled && max_rows > SIMPLE_ROWS) max_rows = SIMPLE_ROWS;
  max_rows =
      seer_max_i64(1, seer_min_i64(max_rows, seer_divide(MAX_TILE_VECTORS, vectors).quotient));
  if (!seer_rng_chance(draw->rng, FULL_TILE_SHARE)) {
    max_rows = 1 + (int64_t)seer_rng_below(draw->rng, (uint64_t)max_rows);
  }
  uint32_t row[SEER_DAG_MAX_AXES], n = 0;
  for (uint32_t a = dag->n_space; a-- > 0;) {
    if (a != v && s->factor[a][level] != SEER_NO_KNOB) row[n++] = a;
  }
  // The axis next to the vectors first, most of the time.
  if (n > 1 && seer_rng_chance(draw->rng, 0.3)) seer_rng_shuffle_u32(draw->rng, row, n);
  int64_t rows = 1;
  for (uint32_t k = 0; k < n; k++) {
    int64_t left = seer_divide(max_rows, rows).quotient, extent = dag->axis[row[k]].extent;
    bool is_exact = draw_exact(draw);
    int64_t factor = draw_factor(draw, s->divisors[row[k]], extent, left, is_exact);
    int64_t other = draw_factor(draw, s->divisors[row[k]], extent, left, is_exact);
    if (other > factor) factor = other;
    set(draw, s->factor[row[k]][level], factor);
    rows *= factor;
  }
}

// ---- the other levels

void seer_draw_axis(const seer_draw *draw, uint32_t stage, uint32_t axis) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  const seer_divisors *divisors = s->divisors[axis];
  if (!divisors) return;
  const seer_dag_stage *dag = &draw->sketch->dag->stage[stage];
  int64_t extent = dag->axis[axis].extent;
  if (axis >= dag->n_space) {
    bool is_whole = extent <= SEER_MAX_FACTOR && seer_rng_chance(draw->rng, WHOLE_REDUCE_SHARE);
    int64_t factor =
        is_whole ? extent : draw_factor(draw, divisors, extent, SEER_MAX_FACTOR, draw_exact(draw));
    set(draw, s->factor[axis][1], factor);
    return;
  }
  uint32_t tile_level = s->role == SEER_ROLE_TILED ? 3 : 1;
  uint16_t tile = s->factor[axis][tile_level];
  extent = seer_ceil_div(extent, s->step[axis]);
  int64_t left = tile == SEER_NO_KNOB
      ? extent
      : seer_ceil_div(extent, draw->knob[tile] > 0 ? draw->knob[tile] : 1);
  // one coin for the axis: else hardly any schedule would divide everywhere
  bool is_exact = draw_exact(draw);
  for (uint32_t level = tile_level; level-- > 0;) {
    if (s->factor[axis][level] == SEER_NO_KNOB) continue;
    int64_t factor = draw_factor(draw, divisors, left, SEER_MAX_FACTOR, is_exact);
    set(draw, s->factor[axis][level], factor);
    left = seer_ceil_div(left, factor);
  }
}

static uint16_t draw_location(const seer_draw *draw, const seer_sketch_stage *s) {
  uint16_t root = (uint16_t)(s->n_location - 1);
  bool has_inline = s->location[0].is_inline;
  double u = seer_rng_f64(draw->rng);
  if (u < ROOT_SHARE) return root;
  if (has_inline && u < ROOT_SHARE + INLINE_SHARE) return 0;
  uint16_t first = has_inline ? 1 : 0;
  return root > first ? (uint16_t)(first + seer_rng_below(draw->rng, (uint64_t)(root - first)))
                      : root;
}

void seer_draw_stage(const seer_draw *draw, uint32_t stage) {
  const seer_sketch_stage *s = &draw->sketch->stage[stage];
  if (s->role == SEER_ROLE_CONST || s->role == SEER_ROLE_INLINE) return;
  if (draw->list->target->kind != SEER_TARGET_CPU) {
    seer_draw_items(draw->sketch, stage, draw->rng, draw->knob);
    return;
  }
  if (s->location_knob != SEER_NO_KNOB) draw->knob[s->location_knob] = draw_location(draw, s);
  if (s->unroll_knob != SEER_NO_KNOB) {
    draw->knob[s->unroll_knob] =
        (uint16_t)seer_rng_below(draw->rng, draw->sketch->knob[s->unroll_knob].n_values);
  }
  if (s->role == SEER_ROLE_FOLLOW) return;
  const seer_dag_stage *dag = &draw->sketch->dag->stage[stage];
  seer_draw_tile(draw, stage);
  for (uint32_t a = 0; a < (uint32_t)dag->n_space + dag->n_reduce; a++)
    seer_draw_axis(draw, stage, a);
}

void seer_draw_parallel(const seer_draw *draw, seer_frame *frame) {
  for (uint32_t r = 0; r < frame->n_root; r++) {
    uint32_t stage = frame->root[r];
    uint16_t knob = draw->sketch->stage[stage].parallel_knob;
    if (knob == SEER_NO_KNOB) continue;
    seer_frame_stage *s = &frame->stage[stage];
    uint32_t n = s->n_parallel;  // the most that is allowed
    if (seer_rng_chance(draw->rng, BALANCED_SHARE)) {
      int64_t wanted = (int64_t)draw->list->target->threads << seer_rng_below(draw->rng, 6),
              parts = 1;
      uint32_t limit = n;
      for (n = 0; n < limit && parts < wanted; n++) parts *= s->loop[n].extent;
    } else {
      n = (uint32_t)seer_rng_below(draw->rng, n + 1u);
    }
    while (n > 0 && s->loop[n - 1].extent == 1) n--;
    for (uint32_t l = n; l < s->n_parallel; l++) s->loop[l].is_parallel = false;
    s->n_parallel = (uint8_t)n;
    draw->knob[knob] = (uint16_t)n;
  }
}
