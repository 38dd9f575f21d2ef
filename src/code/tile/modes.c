// modes.c - what becomes of each loop: UNROLL and short SERIAL loops become copies, VECTOR loops
// lanes, the rest stays loops (unrolled in part where the schedule allows).
#include "code/tile/pass.h"

// More copies of statements than this in one nest: the outer loops stay loops. LLVM's time grows
// faster than the code (measured: 64 copies of a 14x1 tile's init, 0.9 s). A 14x2 tile in a 3x3
// window is 252.
#define MAX_COPIES 1024
#define MAX_SERIAL_COPIES 256
#define MAX_PARTIAL_COPIES 64
// More elements than this that vectors load or store one by one: SERIAL loops around them stay
// loops. A vector whose lanes lie apart is as many instructions as it has lanes, and LLVM's time
// grows faster than the code. Measured against no limit on the 5,946 kernels of bench/replay: with
// 800, 16 change and take 0.982 of the time, and ConvNeXt's slowest takes 0.03 s to build, not
// 0.28; with 640, 26 change, two of them slower by 9 and 33 %; with 1,024 six, without ConvNeXt's.
#define MAX_SINGLES 800
// More vectors than this in one VECTOR loop: a loop over vectors.
#define MAX_CHUNKS 16

typedef struct {
  int64_t copies;  // of statements
  int64_t serial;  // of bodies, by unrolled SERIAL loops
  int64_t singles;  // elements that vectors load or store one by one
  bool has_loop;  // a loop that stays
  bool has_reduction;
} size;

// ---- lanes

typedef struct {
  seer_tile *tile;
  seer_lane *lane;  // by stage: of what all of its statements load and store
} decider;

typedef struct {
  const seer_tile *tile;
  seer_lane *lane;
} widest;

static void widen_by(void *user, seer_expr load) {
  const widest *w = user;
  seer_lane_loads(w->lane, (seer_dtype)seer_tile_at(w->tile, load)->dtype);
}

// What a reduction starts from has its lanes too, though it loads nothing.
static seer_lane *lanes_of_stages(seer_tile *tile) {
  const seer_loop *loop = tile->loop;
  uint32_t n_stage = 1;
  for (uint32_t id = 1; id < loop->n_node; id++)
    if (loop->node[id].stage >= n_stage) n_stage = loop->node[id].stage + 1u;
  seer_lane *lane = SEER_NEW_ARRAY(tile->arena, seer_lane, n_stage);
  for (uint32_t id = 1; id < loop->n_node; id++) {
    const seer_loop_node *node = &loop->node[id];
    widest w = {tile, &lane[node->stage]};
    for (uint32_t k = 0; node->kind == SEER_NODE_STORE && k < node->n_values; k++) {
      seer_lane_stores(w.lane, loop->buf[node->buf[k]].dtype, k);
      seer_tile_visit_loads(tile, node->value[k], widen_by, &w);
    }
  }
  return lane;
}

static uint32_t lanes_of_block(const decider *d, uint32_t id) {
  const seer_loop *loop = d->tile->loop;
  uint32_t least = d->tile->machine.vector_bytes;
  for (; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    uint32_t lanes = node->kind == SEER_NODE_FOR ? lanes_of_block(d, node->body)
        : node->kind == SEER_NODE_STORE
        ? seer_lanes(&d->lane[node->stage], d->tile->machine.vector_bytes)
        : least;
    if (lanes < least) least = lanes;
  }
  return least;
}

typedef struct {
  seer_tile *tile;
  uint32_t var, lanes;
  int64_t n;  // accesses whose lanes are loaded or stored one by one
} apart;

static void count_apart(
    void *user, uint32_t buf, const seer_expr *index, uint32_t n_index, bool is_store) {
  apart *a = user;
  int64_t step;
  (void)n_index;
  bool is_one_by_one = !seer_tile_lane_step(a->tile, buf, index, a->var, &step) ||
      (step != 0 && step != 1 && (is_store || !seer_tile_is_picked(step, a->lanes)));
  a->n += is_one_by_one;
}

// How many copies of its body the vectors of a loop come to.
static int64_t cut_into_vectors(const decider *d, const seer_loop_node *node, seer_tile_for *of) {
  of->lanes = (uint16_t)lanes_of_block(d, node->body);
  of->mode = SEER_TILE_LANES;
  int64_t chunks = 0;
  for (int64_t at = 0; at < node->extent && chunks <= MAX_CHUNKS; chunks++)
    at += seer_tile_next_lanes(of, node->extent - at);
  of->is_chunk_loop = chunks > MAX_CHUNKS;
  return of->is_chunk_loop ? 4 : chunks;
}

static int64_t count_singles(seer_tile *tile, const seer_loop_node *node, const seer_tile_for *of) {
  apart a = {.tile = tile, .var = node->var, .lanes = of->lanes};
  seer_tile_visit_accesses(tile, node->body, count_apart, &a);
  return a.n * (of->is_chunk_loop ? of->lanes : node->extent);
}

// ---- loops

static void cut_serial(
    const seer_loop_node *node, const size *inner, seer_tile_for *of, size *all) {
  // Around a loop that stays, or of plain stores, copies gain nothing.
  int64_t limit =
      node->max_unroll && !inner->has_loop && inner->has_reduction ? node->max_unroll : 1;
  if (node->extent == 1 ||
      (node->extent * inner->serial <= limit && node->extent * inner->copies <= MAX_SERIAL_COPIES &&
          node->extent * inner->singles <= MAX_SINGLES)) {
    of->mode = SEER_TILE_COPIES;
    all->serial *= node->extent;
    return;
  }
  for (int64_t step = limit / inner->serial; step > 1 && of->is_exact; step--) {
    if (node->extent % step == 0 && step * inner->copies <= MAX_PARTIAL_COPIES &&
        step * inner->singles <= MAX_SINGLES) {
      of->step = (uint16_t)step;
      all->serial *= step;
      all->copies *= step;
      all->singles *= step;
      return;
    }
  }
}

static size of_block(const decider *d, uint32_t id);

static size of_for(const decider *d, uint32_t id) {
  seer_tile *tile = d->tile;
  const seer_loop_node *node = &tile->loop->node[id];
  seer_tile_for *of = &tile->of[id];
  size inner = of_block(d, node->body), all = inner;
  of->mode = SEER_TILE_LOOP;
  of->step = 1;
  if (tile->machine.vector_bytes == 0) {  // plain: nothing is written out that is a loop
    if (node->extent == 1 && node->ann != SEER_LOOP_PARALLEL) of->mode = SEER_TILE_COPIES;
    return all;
  }
  switch (node->ann) {
    case SEER_LOOP_PARALLEL:
    case SEER_LOOP_THREAD:
      break;
    case SEER_LOOP_UNROLL:
      if (node->extent * inner.copies <= MAX_COPIES) of->mode = SEER_TILE_COPIES;
      break;
    case SEER_LOOP_VECTOR:
      all.copies *= cut_into_vectors(d, node, of);
      all.singles = count_singles(tile, node, of);
      break;
    case SEER_LOOP_SERIAL:
      cut_serial(node, &inner, of, &all);
      break;
  }
  if (of->mode == SEER_TILE_COPIES) {
    all.copies *= node->extent;
    all.singles *= node->extent;
  }
  if (of->mode == SEER_TILE_LOOP || of->is_chunk_loop) all.has_loop = true;
  return all;
}

static size of_block(const decider *d, uint32_t id) {
  size sum = {.copies = 0, .serial = 1};
  for (; id != 0; id = d->tile->loop->node[id].next) {
    const seer_loop_node *node = &d->tile->loop->node[id];
    size one = {.copies = 1, .serial = 1};
    if (node->kind == SEER_NODE_STORE && node->combiner != SEER_COMBINE_NONE)
      one.has_reduction = true;
    if (node->kind == SEER_NODE_FOR) one = of_for(d, id);
    sum.copies += one.copies;
    sum.singles += one.singles;
    sum.has_loop = sum.has_loop || one.has_loop;
    sum.has_reduction = sum.has_reduction || one.has_reduction;
    sum.serial = seer_max_i64(sum.serial, one.serial);
  }
  if (sum.copies == 0) sum.copies = 1;
  return sum;
}

static void run(seer_tile *tile) {
  decider d = {tile, lanes_of_stages(tile)};
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) (void)of_block(&d, tile->loop->phase[p]);
}

const seer_tile_pass seer_tile_pass_modes = {
    "modes", "loops that stay, copies, lanes", SEER_TILE_GIVES_FACTS, SEER_TILE_GIVES_MODES, run};
