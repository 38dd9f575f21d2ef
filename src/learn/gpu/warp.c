// warp.c - see warp.h. The items of the first warp stand for all: they are the last ones of the
// items' loops, and each has as its place the sum of its coordinates times the loops' strides.
#include "learn/gpu/warp.h"

#include <string.h>

#define MOST_WIDE 4  // elements
#define MOST_WIDE_BYTES 16
#define MOST_RUN 8  // elements: a sector of f32

// Of a packed weight every loop that moves it is a dimension of its own, in the loops' order; those
// of a tile's items are last (lower/pack.c).
static void strides_of_packed(
    const seer_nest_statement *st, const seer_nest_access *access, seer_warp_strides *out) {
  bool is_tile = st->dealt.n_steps == 0;
  int64_t step = 1;
  for (int of_items = 1; of_items >= 0; of_items--) {
    for (uint32_t l = st->n_loop; l-- > 0;) {
      if ((is_tile && st->loop[l].ann == SEER_LOOP_THREAD) != of_items) continue;
      bool moves = access->loop_dim[l] != SEER_NEST_NO_DIM && access->loop_coef[l] != 0;
      out->by[l] = moves ? step : 0;
      if (moves) step *= st->loop[l].extent;
    }
  }
}

void seer_warp_strides_of(
    const seer_nest_statement *st, const seer_nest_access *access, seer_warp_strides *out) {
  if (access->storage == SEER_NEST_PACKED) {
    strides_of_packed(st, access, out);
    return;
  }
  int64_t of_dim[SEER_MAX_RANK], step = 1;
  for (uint32_t d = access->rank; d-- > 0;) {
    of_dim[d] = step;
    step *= d + 1u == access->rank && access->row_pitch > 0 ? access->row_pitch : access->dim[d];
  }
  for (uint32_t l = 0; l < st->n_loop; l++) {
    uint8_t d = access->loop_dim[l];
    out->by[l] = d < access->rank ? access->loop_coef[l] * of_dim[d] : 0;
  }
}

// ---- the places of a warp's items

typedef struct {
  uint32_t n;
  int64_t at[SEER_WARP_MOST_ITEMS];  // elements; each place once
} places;

static bool is_item_loop(const seer_nest_statement *st, uint32_t l) {
  return st->loop[l].ann == SEER_LOOP_THREAD;
}

// Divided by `unit`, each quotient once.
static void add_place(places *p, int64_t place) {
  // Mostly they rise.
  if (p->n > 0 && p->at[p->n - 1] == place) return;
  for (uint32_t k = p->n; k-- > 0 && p->at[k] >= place;)
    if (p->at[k] == place) return;
  uint32_t k = p->n++;
  for (; k > 0 && p->at[k - 1] > place; k--) p->at[k] = p->at[k - 1];
  p->at[k] = place;
}

// The items' places, of `unit` elements each. Ascending.
static void find_places(const seer_nest_statement *st, const seer_warp_strides *strides,
    uint32_t n_items, int64_t unit, places *out) {
  uint32_t loops[SEER_NEST_MAX_LOOPS], n_loop = 0;
  int64_t count[SEER_NEST_MAX_LOOPS];
  for (uint32_t l = st->n_loop; l-- > 0;)
    if (is_item_loop(st, l)) loops[n_loop++] = l;  // the fastest first
  for (uint32_t k = 0; k < n_loop; k++) count[k] = 0;
  out->n = 0;
  int64_t at = 0;
  for (uint32_t i = 0; i < n_items; i++) {
    int64_t place = unit == 1 ? at : (at >= 0 ? at / unit : -1 - (-1 - at) / unit);
    add_place(out, place);
    uint32_t k = 0;
    for (; k < n_loop; k++) {
      at += strides->by[loops[k]];
      if (++count[k] < st->loop[loops[k]].extent) break;
      at -= strides->by[loops[k]] * count[k];
      count[k] = 0;
    }
    if (k == n_loop) break;  // there are no more
  }
}

// The most places that fall on one bank, `wide` of which one takes.
static double turns_of(const places *p, uint32_t wide, const seer_target_gpu *gpu) {
  uint32_t n_bank = gpu->n_banks > wide ? gpu->n_banks / wide : 1, most = 0;
  uint8_t on[1024];
  memset(on, 0, n_bank);
  for (uint32_t k = 0; k < p->n; k++) {
    uint32_t bank = (uint32_t)((uint64_t)p->at[k] % n_bank);
    if (++on[bank] > most) most = on[bank];
  }
  double least = wide >= MOST_WIDE ? 2 : 1;  // measured: doc/decisions, 81
  return most > least ? most : least;
}

// ---- neighbours

// Loops from first_written on, which stand inside the items', make a run of neighbours as far as
// they follow each other; *out_in: the loops of the run.
static int64_t run_of(const seer_nest_statement *st, const seer_warp_strides *strides,
    uint32_t first_written, uint64_t *out_in) {
  int64_t run = 1;
  *out_in = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (uint32_t l = st->n_loop; l-- > first_written;) {
      bool is_in = *out_in >> l & 1;
      if (is_in || is_item_loop(st, l) || strides->by[l] != run) continue;
      run *= st->loop[l].extent;
      *out_in |= (uint64_t)1 << l;
      goes_on = true;
      break;
    }
  }
  return run;
}

// The most neighbours that one access has: their first is at a multiple of so many, whatever the
// other loops do.
static uint32_t wide_of(const seer_nest_statement *st, const seer_nest_access *access,
    const seer_warp_strides *strides, int64_t run, uint64_t in_run) {
  int64_t wide = MOST_WIDE_BYTES / access->elem_bytes;
  wide = seer_min_i64(wide, MOST_WIDE);
  while (wide > 1 && run % wide != 0) wide /= 2;
  for (uint32_t l = 0; l < st->n_loop && wide > 1; l++) {
    if (in_run >> l & 1) continue;
    while (wide > 1 && strides->by[l] % wide != 0) wide /= 2;
  }
  return (uint32_t)(wide > 1 ? wide : 1);
}

// ---- words of products

// Where item `item` of the first warp has its places by the innermost items' loops.
static int64_t place_of(
    const seer_nest_statement *st, const seer_warp_strides *strides, int64_t item) {
  int64_t at = 0;
  for (uint32_t l = st->n_loop; l-- > 0 && item > 0;) {
    if (!is_item_loop(st, l)) continue;
    at += item % st->loop[l].extent * strides->by[l];
    item /= st->loop[l].extent;
  }
  return at;
}

void seer_warp_words_make(const seer_nest_statement *st, const seer_warp_strides *strides,
    const seer_warps_tile *tile, bool is_rows, const seer_target_gpu *gpu, seer_warp_access *out) {
  int64_t step = strides->by[tile->depth];
  bool is_wide = step == 1;
  for (uint32_t l = 0; l < st->n_loop && is_wide; l++)
    is_wide = l == tile->depth || strides->by[l] % 2 == 0;
  *out = (seer_warp_access){.wide = is_wide ? 2 : 1, .run = 2, .issues = 1, .sectors = 1};
  places p = {.n = 0};
  for (int64_t i = 0; i < SEER_WARPS_ITEMS; i++) {
    int64_t row = i / SEER_WARPS_COLUMN_ITEMS, at = i % SEER_WARPS_COLUMN_ITEMS * 2 * step;
    at += place_of(st, strides, is_rows ? i : i - i % SEER_WARPS_COLUMN_ITEMS + row / 2);
    if (!is_rows) at += row % 2 * strides->by[tile->pair[!tile->rows]];
    add_place(&p, is_wide ? at / 2 : at);
  }
  out->turns = turns_of(&p, out->wide, gpu);
  out->run_sectors = 1;
}

// ---- lanes

#define MOST_APART 3  // elements between lanes that a compiler takes whole vectors for
#define GATHER_ISSUES 1.5  // of a lane that is loaded by itself: its address, and to where it goes

// A vector's lanes are one load where they are neighbours, or all the same: as far as a compiler
// knows that, which sees the item's number. Of several loops it is quotients and remainders.
static double lane_issues(const seer_nest_statement *st, const seer_warp_strides *strides,
    const seer_target_gpu *gpu, bool *out_is_same) {
  uint32_t n_loop = 0;
  int64_t by = 0;
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (!is_item_loop(st, l) || st->loop[l].extent == 1) continue;
    n_loop++;
    by = strides->by[l] ? strides->by[l] : by;
  }
  *out_is_same = by == 0;
  if (by == 0) return 1;
  if (n_loop == 1 && by > 0 && by <= MOST_APART) return (double)by;
  return GATHER_ISSUES * gpu->warp_items;
}

void seer_warp_access_make(const seer_nest_statement *st, const seer_nest_access *access,
    const seer_warp_strides *strides, uint32_t first_written, const seer_target_gpu *gpu,
    seer_warp_access *out) {
  uint64_t in_run;
  int64_t run = run_of(st, strides, first_written, &in_run);
  out->wide = wide_of(st, access, strides, run, in_run);
  out->run = (uint32_t)seer_min_i64(run, MOST_RUN);
  out->turns = out->sectors = out->run_sectors = out->issues = 1;
  out->is_same = false;
  if (gpu->items_are_lanes) {
    out->wide = 1;
    out->issues = lane_issues(st, strides, gpu, &out->is_same);
  }
  places p;
  uint32_t n_items =
      gpu->warp_items < SEER_WARP_MOST_ITEMS ? gpu->warp_items : SEER_WARP_MOST_ITEMS;
  if (access->storage == SEER_NEST_LOCAL) {
    find_places(st, strides, n_items, out->wide, &p);
    out->turns = turns_of(&p, out->wide, gpu);
    return;
  }
  int64_t of_sector = SEER_SECTOR_BYTES / access->elem_bytes;
  find_places(st, strides, n_items, of_sector, &p);
  out->sectors = out->run_sectors = p.n;
  if (out->run > out->wide) {
    // Runs that lie side by side are no more than their bytes.
    find_places(st, strides, n_items, of_sector, &p);
    double apart = (double)out->run / (double)of_sector;
    out->run_sectors = p.n * (apart > 1 ? apart : 1);
  }
}
