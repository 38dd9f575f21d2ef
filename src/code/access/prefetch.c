// prefetch.c - packed weights are asked for before they are needed.
// A kernel reads its packed weights in the order in which they lie, a panel at a time: the stream
// of the reduction's loops, read again for each tile of rows, before the next panel. Two requests:
// - near: the line that the same load needs some iterations later, into the first-level cache. A
//   processor that notices streams by itself stops at each page of 4 KB;
// - far: one that does not fit a core's cache is memory's to bring. All iterations over a panel
//   together ask for the next one, each for its share, so that memory works all the time and not
//   only while a panel is read for the first time.
// Neither changes what is computed; addresses may be beyond the end, where a request does nothing.
#include "code/gen/gen.h"

#define LINE 64
// A request takes a load's place in a cycle: below this many multiply-adds of a loaded vector there
// is none to spare.
#define MIN_USES 4
// Vector multiply-adds from a near request to its load; two issue in a cycle.
#define NEAR_USES 224
// Packed weights that stay in the first-level cache.
#define MIN_BYTES (16 << 10)

enum { TAG_PREFETCH = 220 };
enum { INTO_L1 = 1, INTO_L2 = 2 };

static const seer_sum_term *term_of(const seer_gen *g, const seer_sum *at, uint32_t var) {
  for (uint32_t k = 0; k < at->n; k++) {
    seer_vec value = seer_gen_value_of(&at->term[k]);
    if (value.i != 0 && value.i == g->var[var].value.i) return &at->term[k];
  }
  return NULL;
}

// What lies between two steps of one of the open loops, `next`, and is read `times` times by the
// iterations of the run-time loops inside it.
typedef struct {
  uint32_t next;  // position in g->open
  int64_t times, iterations, bytes;
} panel;

static bool is_run_time(const seer_gen_open *loop) { return !loop->is_copies && loop->trip > 1; }

// The largest panel of which two fit the second-level cache. What is read again further out than
// that comes from memory each time.
static bool find_panel(const seer_gen *g, const seer_sum *at, int64_t elem, panel *out) {
  int64_t times = 1, iterations = 1, reach = 0;
  uint32_t n_inside = 0;
  *out = (panel){0};
  for (uint32_t k = g->n_open; k > 0; k--) {
    const seer_gen_open *loop = &g->open[k - 1];
    if (!is_run_time(loop)) continue;
    const seer_sum_term *term = term_of(g, at, loop->var);
    if (term) {
      int64_t bytes = term->coef * elem;
      if (bytes <= 0 || 2 * (uint64_t)bytes > g->machine->l2_bytes) break;
      // Anything else that moves the address further in (a sum of variables) is no panel.
      uint32_t n = 0;
      for (uint32_t i = 0; i < at->n; i++) n += at->term[i].depth > term->depth;
      if (times > 1 && n == n_inside && reach < bytes && 2 * reach >= bytes && iterations <= bytes)
        *out = (panel){k - 1, times, iterations, bytes};
      reach += bytes * (loop->trip - 1);
      n_inside++;
    } else {
      times *= loop->trip;
    }
    iterations *= loop->trip;
  }
  return out->times > 0;
}

// The line of the next panel that is this iteration's to ask for.
static void request_next_panel(seer_gen *g, const seer_gen_addr *addr, int64_t elem) {
  const seer_sum *at = &addr->at;
  panel own;
  if (!find_panel(g, at, elem, &own)) return;
  // Of the loads of an iteration one in `times` asks.
  int64_t within = at->c * elem % own.bytes;
  if (within % (LINE * own.times) >= LINE) return;
  uint32_t depth = term_of(g, at, g->open[own.next].var)->depth;
  seer_vec p = g->buf[addr->buf].base;
  for (uint32_t k = 0; k < at->n; k++) {
    if (at->term[k].depth > depth) continue;
    p = seer_gen_move(g, SEER_VEC_I8, p, seer_gen_term_value(g, &at->term[k], elem));
  }
  p = seer_gen_move_by(g, SEER_VEC_I8, p, at->c * elem - within + own.bytes + within / own.times);
  int64_t inner = own.iterations;
  for (uint32_t k = own.next + 1; k < g->n_open; k++) {
    const seer_gen_open *loop = &g->open[k];
    if (!is_run_time(loop)) continue;
    inner /= loop->trip;
    int64_t step = seer_ceil_div(own.bytes * inner, own.iterations);
    p = seer_gen_move(g, SEER_VEC_I8, p, seer_gen_mul_i64(g, g->var[loop->var].value, step));
  }
  seer_vec_prefetch(g->b, p, INTO_L2);
}

void seer_gen_prefetch(
    seer_gen *g, const seer_expr *index, uint32_t n_index, const seer_gen_addr *addr, seer_vec p) {
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  int64_t elem = seer_dtype_bytes(decl->dtype), width = elem * (int64_t)g->lanes, uses = 1;
  int64_t n_bytes = decl->n_elems * elem;
  if (decl->storage != SEER_STORE_PACKED || n_bytes < MIN_BYTES) return;
  if (g->counter.loop == 0 || addr->at.lane != 1 || addr->at.c * elem % LINE >= width) return;
  for (uint32_t k = 0; k < g->n_open; k++) {
    const seer_gen_open *loop = &g->open[k];
    if (loop->is_copies && !seer_tile_index_depends(g->tile, index, n_index, loop->var))
      uses *= loop->trip;
  }
  if (uses < MIN_USES || seer_gen_memo_find(g, TAG_PREFETCH, p, SEER_GEN_NONE, 0).i != 0) return;
  seer_gen_memo_add(g, TAG_PREFETCH, p, SEER_GEN_NONE, 0, p);
  seer_vec_prefetch(
      g->b, seer_gen_move_by(g, SEER_VEC_I8, p, LINE * seer_ceil_div(NEAR_USES, uses)), INTO_L1);
  if ((uint64_t)n_bytes > g->machine->l2_bytes / 2) request_next_panel(g, addr, elem);
}
