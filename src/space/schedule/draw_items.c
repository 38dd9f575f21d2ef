// draw_items.c - knobs of a GPU's stages: drawn at random, and the default's. A tiled stage's are
// found axis by axis from two budgets, of a block's items and of an item's elements, so that most
// drafts are valid. The probabilities were chosen by hand; none has been measured on a device.
#include "space/schedule/draw_items.h"

#include "space/schedule/draw.h"
#include "space/warps.h"

#define EXACT_SHARE 0.70  // of axes: factors that divide
#define MAX_STEP 64  // of the reduction, for which a block fetches: elements, all axes together
#define MAX_INNER_STEP 8  // of it, the part that may be unrolled
#define DEFAULT_ITEMS 256
#define DEFAULT_SUMS 16
#define DEFAULT_STEP 16
#define DEFAULT_INNER_STEP 4
#define DEFAULT_ROW_ITEMS 16  // of the last axis: neighbours load neighbours

enum { APART = 1, ITEM = 2, OUTER = 3, INNER = 4 };  // levels of a spatial axis
enum { MIDDLE_STEP = 1, INNER_STEP = 2 };  // of a reduction axis

// A tiled stage's knobs, being given values.
typedef struct {
  const seer_sketch_stage *stage;
  const seer_dag_stage *dag;
  uint16_t *knob;
  seer_rng *rng;  // NULL: the default
} maker;

static void set(const maker *m, uint32_t axis, uint32_t level, int64_t value) {
  uint16_t k = m->stage->factor[axis][level];
  if (k != SEER_NO_KNOB)
    m->knob[k] = (uint16_t)seer_max_i64(1, seer_min_i64(value, SEER_MAX_FACTOR));
}

// A factor of at most `limit` for `extent`. By default the largest power of two.
static int64_t choose(const maker *m, uint32_t axis, int64_t extent, int64_t limit, bool is_exact) {
  limit = seer_min_i64(limit, extent);
  if (limit <= 1) return 1;
  if (!m->rng) {
    int64_t most = 1;
    while (2 * most <= limit) most *= 2;
    return most == limit || limit < extent ? most : limit;
  }
  const seer_divisors *divisors = m->stage->divisors[axis];
  int64_t fit[64];
  uint32_t n = 0;
  for (uint32_t k = 0; is_exact && k < divisors->n && n < SEER_COUNT_OF(fit); k++) {
    int64_t d = divisors->value[k];
    if (d <= limit && extent % d == 0) fit[n++] = d;
  }
  // Powers of two else: items come in warps.
  for (int64_t d = 1; !is_exact && d <= limit && n < SEER_COUNT_OF(fit); d *= 2) fit[n++] = d;
  return fit[seer_rng_below(m->rng, n)];
}

static int64_t draw_budget(const maker *m, int64_t least, uint32_t doublings, int64_t usual) {
  return m->rng ? least << seer_rng_below(m->rng, doublings + 1) : usual;
}

// Parts of a reduction are for the grid alone.
static bool is_cut(const maker *m, uint32_t axis) {
  return m->stage->factor[axis][ITEM] != SEER_NO_KNOB;
}

static void fill_space(const maker *m) {
  int64_t items = draw_budget(m, 32, 4, DEFAULT_ITEMS), sums = draw_budget(m, 1, 6, DEFAULT_SUMS);
  uint32_t n = 0;
  for (uint32_t a = 0; a < m->dag->n_space; a++) n += is_cut(m, a);
  for (uint32_t a = m->dag->n_space; a-- > 0;) {  // the last axis first: neighbours are items
    int64_t left = m->dag->axis[a].extent;
    if (!is_cut(m, a)) continue;
    bool is_exact = m->rng && seer_rng_chance(m->rng, EXACT_SHARE), is_last = --n == 0;
    // Of what is left of the budgets the axis takes all where it is the outermost one, else a part.
    int64_t row = is_last || (m->rng && seer_rng_chance(m->rng, 0.5)) ? items : DEFAULT_ROW_ITEMS;
    int64_t factor = choose(m, a, left, seer_min_i64(row, items), is_exact);
    set(m, a, ITEM, factor);
    items = seer_max_i64(1, items / factor);
    left = seer_ceil_div(left, factor);
    int64_t most = m->rng || is_last ? sums : seer_min_i64(sums, 4);
    static const uint8_t levels[] = {INNER, OUTER, APART};
    for (uint32_t k = 0; k < SEER_COUNT_OF(levels); k++) {
      int64_t limit = levels[k] == APART ? seer_min_i64(most, 4) : most;
      factor = k > 0 && !m->rng ? 1 : choose(m, a, left, limit, is_exact);
      set(m, a, levels[k], factor);
      sums = seer_max_i64(1, sums / factor);
      most = seer_max_i64(1, most / factor);
      left = seer_ceil_div(left, factor);
    }
  }
}

// ---- products of warps

#define WARPS_SHARE 0.75  // of drafts of stages that may be, as of matrices
#define MAX_WARPS_WORDS 64  // of a step
#define MAX_ROW_WARPS 8
#define DEFAULT_ROW_WARPS 4

// A power of two in [least, most], by default the last one that `usual` allows; 0: there is none.
static int64_t choose_power(const maker *m, int64_t least, int64_t most, int64_t usual) {
  int64_t fit[16];
  uint32_t n = 0, n_usual = 0;
  for (int64_t d = least; d <= most && n < SEER_COUNT_OF(fit); d *= 2) {
    fit[n++] = d;
    if (d <= usual) n_usual = n;
  }
  if (n == 0) return 0;
  return m->rng ? fit[seer_rng_below(m->rng, n)] : fit[n_usual > 0 ? n_usual - 1 : 0];
}

// `copies`, even, of an axis: neighbours, or far apart.
static void set_copies(const maker *m, uint32_t axis, int64_t copies) {
  int64_t inner = m->rng ? choose_power(m, 1, copies, 1) : seer_min_i64(copies, 2);
  if (copies / inner > 4) inner = copies / 4;
  bool is_apart = m->rng && seer_rng_chance(m->rng, 0.5);
  set(m, axis, INNER, inner);
  set(m, axis, OUTER, is_apart ? 1 : copies / inner);
  set(m, axis, APART, is_apart ? copies / inner : 1);
}

static bool moves_alone(const maker *m, uint32_t axis, uint32_t factor) {
  return (m->stage->factor_axes[factor] >> axis & 1) &&
      !(m->stage->factor_axes[!factor] >> axis & 1);
}

// What a tile of the axis may have of it, and beyond its end.
static int64_t most_of(const maker *m, uint32_t axis) {
  int64_t extent = m->dag->axis[axis].extent, patch = 2 * SEER_WARPS_ROW_ITEMS;
  bool is_padded = (m->stage->padded_axes >> axis & 1) && 2 * extent >= patch;
  return is_padded ? seer_ceil_div(extent, patch) * patch : extent;
}

// The axes of rows, the last first.
static uint32_t find_rows(const maker *m, uint32_t column, uint32_t factor, uint32_t *out) {
  static const uint8_t levels[] = {APART, ITEM, OUTER, INNER};
  uint32_t n = 0;
  for (uint32_t a = column; a-- > 0;) {
    if (!is_cut(m, a)) continue;
    for (uint32_t k = 0; k < SEER_COUNT_OF(levels); k++) set(m, a, levels[k], 1);
    if (moves_alone(m, a, factor)) out[n++] = a;
  }
  return n;
}

// A multiple of eight items, and an even number of copies of one axis. False: there are too few
// rows.
static bool fill_rows(const maker *m, uint32_t column, uint32_t factor, int64_t sums) {
  uint32_t row[SEER_DAG_MAX_AXES], n = find_rows(m, column, factor, row);
  int64_t warps = choose_power(m, 1, MAX_ROW_WARPS, DEFAULT_ROW_WARPS), items = 8 * warps;
  bool has_pair = false;
  for (uint32_t k = 0; k < n; k++) {
    int64_t extent = most_of(m, row[k]), most = has_pair ? extent : extent / 2;
    if (most < 1) continue;
    int64_t least = k + 1 == n ? seer_min_i64(items, most) : 1;
    while ((least & (least - 1)) != 0) least &= least - 1;
    int64_t factors = choose_power(m, least, seer_min_i64(items, most), items);
    set(m, row[k], ITEM, factors);
    items /= factors;
    if (has_pair) continue;
    int64_t copies = choose_power(
        m, 2, seer_max_i64(2, seer_min_i64(seer_min_i64(sums, 8), extent / factors)), 4);
    set_copies(m, row[k], copies);
    has_pair = true;
  }
  // For what rows are missing there are fewer warps.
  return has_pair && items <= warps;
}

// False: no such tile was found, and knobs are anything.
static bool fill_warps(const maker *m) {
  uint32_t column = m->dag->n_space, depth = (uint32_t)m->dag->n_space + m->dag->n_reduce;
  while (column-- > 0 && !is_cut(m, column)) continue;
  while (depth-- > m->dag->n_space && m->dag->axis[depth].extent == 1) continue;
  if (column >= m->dag->n_space || depth < m->dag->n_space) return false;
  uint32_t factor = moves_alone(m, column, 1);
  int64_t extent = most_of(m, column), words = m->dag->axis[depth].extent;
  if (!moves_alone(m, column, factor) || extent < 8 || words < SEER_WARPS_WORDS) return false;
  int64_t sums = draw_budget(m, 8, 3, 64);
  int64_t copies = choose_power(m, 2, seer_min_i64(sums / 2, extent / SEER_WARPS_COLUMN_ITEMS), 16);
  if (copies > 16) copies = 16;
  set(m, column, ITEM, SEER_WARPS_COLUMN_ITEMS);
  set_copies(m, column, copies);
  for (uint32_t a = m->dag->n_space; a <= depth; a++) {
    set(m, a, MIDDLE_STEP, 1);
    set(m, a, INNER_STEP, 1);
  }
  int64_t inner = choose_power(m, SEER_WARPS_WORDS, seer_min_i64(words, 32), 16);
  set(m, depth, INNER_STEP, inner);
  int64_t most = seer_min_i64(MAX_WARPS_WORDS, words) / inner;
  set(m, depth, MIDDLE_STEP, choose_power(m, 1, most, 32 / inner));
  return fill_rows(m, column, !factor, sums / copies);
}

static void fill_reduction(const maker *m) {
  int64_t step = draw_budget(m, 4, 4, DEFAULT_STEP),
          inner = draw_budget(m, 1, 3, DEFAULT_INNER_STEP);
  for (uint32_t a = (uint32_t)m->dag->n_space + m->dag->n_reduce; a-- > m->dag->n_space;) {
    int64_t extent = m->dag->axis[a].extent;
    if (extent == 1) continue;
    bool is_exact = m->rng && seer_rng_chance(m->rng, EXACT_SHARE);
    int64_t in = choose(m, a, extent, seer_min_i64(inner, step), is_exact);
    set(m, a, INNER_STEP, in);
    step = seer_max_i64(1, step / in);
    inner = seer_max_i64(1, inner / in);
    int64_t middle = choose(m, a, seer_ceil_div(extent, in), step, is_exact);
    set(m, a, MIDDLE_STEP, middle);
    step = seer_max_i64(1, step / middle);
  }
}

static void fill_choices(const seer_sketch *sketch, uint32_t stage, uint16_t *knob, seer_rng *rng) {
  const seer_sketch_stage *s = &sketch->stage[stage];
  const uint16_t choice[] = {
      s->unroll_knob, s->items_knob, s->width_knob, s->pad_knob, s->ahead_knob};
  // 64 copies, 128 items, 4 neighbours, no pad, nothing ahead
  static const uint16_t usual[] = {2, 2, 2, 0, 0};
  for (uint32_t k = 0; k < SEER_COUNT_OF(choice); k++) {
    if (choice[k] == SEER_NO_KNOB) continue;
    uint16_t n = sketch->knob[choice[k]].n_values;
    knob[choice[k]] = rng ? (uint16_t)seer_rng_below(rng, n) : usual[k];
  }
}

void seer_draw_items(const seer_sketch *sketch, uint32_t stage, seer_rng *rng, uint16_t *knob) {
  maker m = {&sketch->stage[stage], &sketch->dag->stage[stage], knob, rng};
  fill_choices(sketch, stage, knob, rng);
  if (m.stage->role != SEER_ROLE_TILED) return;
  bool may_be =
      m.stage->warps_type != SEER_WARPS_NONE && (!rng || seer_rng_chance(rng, WARPS_SHARE));
  if (may_be && fill_warps(&m)) return;
  fill_space(&m);
  fill_reduction(&m);
}

void seer_draw_least_items(
    const seer_sketch_list *list, const seer_sketch *sketch, uint16_t *knob) {
  for (uint32_t k = 0; k < sketch->n_knob; k++) knob[k] = sketch->knob[k].kind == SEER_KNOB_FACTOR;
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++) {
    const seer_sketch_stage *stage = &sketch->stage[s];
    const seer_dag_stage *dag = &sketch->dag->stage[s];
    int64_t items = list->target->gpu.warp_items;
    for (uint32_t a = dag->n_space; stage->role == SEER_ROLE_TILED && a-- > 0;) {
      uint16_t k = stage->factor[a][ITEM];
      if (k == SEER_NO_KNOB) continue;
      int64_t factor = 1;
      while (2 * factor <= seer_min_i64(items, dag->axis[a].extent)) factor *= 2;
      knob[k] = (uint16_t)factor;
      items /= factor;
    }
  }
}
