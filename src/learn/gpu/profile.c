// profile.c - nest summary of a GPU's schedule -> what its kernels ask of the device.
// Loops around an item's work say how often it is done: serial ones outside of the items' are steps
// of a block, between barriers; those inside are turns, as far as they are not written out, and
// each turn waits for what it loads.
#include "learn/gpu/profile.h"

#include <math.h>
#include <string.h>

#include "learn/gpu/warp.h"

// Instructions of operators that are more than one, as the dialects print them (by the text; none
// is fitted).
#define DIV_ISSUES 8.0
#define SPECIAL_ISSUES 16.0
#define HALVES_ISSUES 5.0  // more than its FMA: another one, and halves taken out of words
// Of a group that is dealt out: quotient and remainder of an axis; of an access its address; of a
// guard its comparisons.
#define DEAL_ISSUES 5.0
#define ADDRESS_ISSUES 2.0
#define GUARD_ISSUES 2.0
#define LOOP_ISSUES 3.0  // of a turn: count, compare, branch
#define LOADS_AT_ONCE 8.0  // that lowering writes out (SEER_LOWER_LOADS_AT_ONCE)
// Smaller weights lie among what L2 has kept (learn/roofline.c).
#define MIN_COLD_BYTES 65536.0
#define MOST_EARLY 64.0  // registers of loads that are begun early
#define ADDRESSES 2.0  // registers of an access's address
#define SECTORS_A_CYCLE 4.0  // of the pipe that global accesses go through: 128 bytes
#define LOADS_A_CYCLE 2.0  // of a processor behind OpenCL, vectors or lanes
// Of lanes, measured with Intel's OpenCL (doc/decisions, 112): vectors of which some lanes are not
// to do anything take 2.3 times as long; each item behind the last whole vector nearly as long as
// one.
#define MASKED 2.3

// ---- a statement

typedef struct {
  const seer_nest_statement *st;
  const seer_target_gpu *gpu;
  double *arg_read;  // by buffer: how many bytes of it statements before have read
  uint32_t first_item, end_item;  // the loops of items are among these
  uint32_t first_written;  // from here on loops are written out
  double visits;  // of a block: steps around the items' loops
  double rounds;  // of an item at a visit: groups that it is dealt
  double turns;  // of an item in a round: of loops that are not written out
  double body;  // iterations that one turn has
  double warps;  // that have work
  double issued;  // of lanes: vectors, items by themselves, and what masks take; else the warps
  double items;
  bool is_of_warps;  // products of warps
  seer_warps_tile product;
  uint32_t factor[2];  // its accesses
} shape;

static double max_d(double a, double b) { return a > b ? a : b; }
static double min_d(double a, double b) { return a < b ? a : b; }

// Whether there are items that have nothing to do: a bound of their axis is not always met.
static bool is_masked(const seer_nest_statement *st) {
  for (uint32_t l = 0; l < st->n_loop; l++) {
    const seer_nest_loop *item = &st->loop[l];
    if (item->ann != SEER_LOOP_THREAD || item->extent == 1) continue;
    for (uint32_t k = 0; k < st->n_loop; k++) {
      const seer_nest_loop *loop = &st->loop[k];
      if (loop->stage == item->stage && loop->axis == item->axis && !loop->is_exact) return true;
    }
  }
  return false;
}

static double issued_by(const shape *s, bool is_dealt) {
  double lanes = s->gpu->warp_items, vectors = floor(s->items / lanes);
  if (!s->gpu->items_are_lanes) return s->warps;
  double issued = vectors + (s->items - vectors * lanes);
  return issued * (!is_dealt && is_masked(s->st) ? MASKED : 1);
}

static void find_items(shape *s) {
  const seer_nest_statement *st = s->st;
  bool is_dealt = st->dealt.n_steps > 0;
  s->first_item = is_dealt ? st->dealt.first : st->n_loop;
  s->end_item = is_dealt ? (uint32_t)st->dealt.first + st->dealt.n : st->n_loop;
  s->items = is_dealt ? (double)st->dealt.items : 1;
  s->rounds = is_dealt && !st->dealt.is_root ? (double)st->dealt.n_steps : 1;
  bool is_found = is_dealt;
  for (uint32_t l = 0; l < st->n_loop && !is_dealt; l++) {
    if (st->loop[l].ann != SEER_LOOP_THREAD) continue;
    if (!is_found) s->first_item = l;
    is_found = true;
    s->end_item = l + 1;
    s->items *= (double)st->loop[l].extent;
  }
  if (!is_found) {  // an item alone: all serial loops are its own
    s->first_item = 0;
    while (s->first_item < st->n_loop && st->loop[s->first_item].ann == SEER_LOOP_PARALLEL)
      s->first_item++;
    s->end_item = s->first_item;
  }
  s->warps = ceil(s->items / s->gpu->warp_items);
  s->issued = issued_by(s, is_dealt);
}

static void find_turns(shape *s) {
  const seer_nest_statement *st = s->st;
  s->visits = 1;
  for (uint32_t l = 0; l < s->first_item; l++)
    if (st->loop[l].ann != SEER_LOOP_PARALLEL) s->visits *= (double)st->loop[l].extent;
  double copies = 1;
  uint32_t l = st->n_loop;
  s->body = s->turns = 1;
  while (l > s->end_item && st->loop[l - 1].ann != SEER_LOOP_SERIAL)
    s->body *= (double)st->loop[--l].extent;
  s->first_written = l;
  double limit = max_d(1, st->max_unroll);
  for (bool is_written = true; l > s->end_item; l--) {
    double extent = (double)st->loop[l - 1].extent;
    double part = is_written ? min_d(extent, max_d(1, floor(limit / copies))) : 1;
    is_written &= part == extent;
    if (is_written) s->first_written = l - 1;
    copies *= part;
    s->turns *= ceil(extent / part);
    s->body *= part;
  }
  if (st->dealt.is_tree) {  // up to eight elements of an item together
    s->turns = ceil(s->rounds / LOADS_AT_ONCE);
    s->rounds = 1;
    s->body = (double)st->dealt.n_steps / s->turns;
  }
}

static bool find_factors(shape *s) {
  const seer_nest_statement *st = s->st;
  uint32_t n = 0;
  for (uint32_t a = 0; a < st->n_access; a++) {
    const seer_nest_access *x = &st->access[a];
    if (x->is_write) continue;
    if (n == 2 || x->is_guarded || x->is_whole || x->storage != SEER_NEST_LOCAL) return false;
    s->factor[n++] = a;
  }
  return n == 2;
}

static bool moves(const seer_nest_access *access, uint32_t l) {
  return access->loop_dim[l] != SEER_NEST_NO_DIM && access->loop_coef[l] != 0;
}

// Whether it is products of warps. What is fetched is whole, so that only a region's end cuts.
static bool find_warps(shape *s, const seer_target *target) {
  const seer_nest_statement *st = s->st;
  seer_warps_loop loop[SEER_NEST_MAX_LOOPS];
  bool may_be = seer_target_has_mma(target) && st->is_reduction &&
      (st->n_halves > 0 || st->is_of_tf32) && st->dealt.n_steps == 0 && find_factors(s);
  for (uint32_t l = 0; l < st->n_loop && may_be; l++) {
    uint8_t ann = st->loop[l].ann;
    loop[l] = (seer_warps_loop){.extent = st->loop[l].extent,
        .kind = l < s->first_item     ? SEER_WARPS_AROUND
            : ann == SEER_LOOP_THREAD ? SEER_WARPS_ITEM
            : st->loop[l].is_reduce   ? SEER_WARPS_STEP
                                      : SEER_WARPS_COPY};
    for (uint32_t k = 0; k < 2; k++) loop[l].moves[k] = moves(&st->access[s->factor[k]], l);
  }
  return may_be && seer_warps_find(loop, st->n_loop, &s->product);
}

// Of the turns of products: the words of one.
static void find_product_turns(shape *s) {
  const seer_nest_statement *st = s->st;
  double written = (double)st->loop[s->product.depth].extent / SEER_WARPS_WORDS, tile = 1;
  if (written > SEER_WARPS_WRITTEN) written = 1;
  s->turns = 1;
  for (uint32_t l = s->end_item; l < st->n_loop; l++)
    *(st->loop[l].is_reduce ? &s->turns : &tile) *= (double)st->loop[l].extent;
  s->turns /= SEER_WARPS_WORDS * written;
  s->body = tile * written;
}

// Of an item, in a turn.
static double products_of(const shape *s) { return s->body / SEER_WARPS_SUMS; }

static double flops_of(const seer_nest_statement *st) {
  return 2 * (double)(st->n_fma + st->n_dot + st->n_halves) +
      (double)(st->n_add + st->n_mul + st->n_div + st->n_cmp + st->n_special);
}

static double issues_of(const seer_nest_statement *st) {
  return (double)(st->n_fma + st->n_add + st->n_mul + st->n_cmp + st->n_widened + st->n_rounding) +
      (double)st->n_int + (double)st->n_div * DIV_ISSUES + (double)st->n_special * SPECIAL_ISSUES +
      (double)st->n_halves * HALVES_ISSUES;
}

// How many elements of the access an item touches in a round: what a loop does not move stays in a
// register, unless one inside of it moves the access and is not of the tile.
static double touched_by_item(const shape *s, const seer_warp_strides *strides,
    const seer_nest_access *access, double *out_of_body) {
  const seer_nest_statement *st = s->st;
  double n = 1, of_body = 1;
  bool moved_inside = false;
  for (uint32_t l = st->n_loop; l-- > s->end_item;) {
    bool moves = strides->by[l] != 0 || access->is_whole;
    double extent = (double)st->loop[l].extent;
    bool is_tile = l >= st->first_tile;
    if (is_tile && moves) of_body *= extent;
    if (moves || (!is_tile && moved_inside)) n *= extent;
    moved_inside |= moves && !is_tile;
  }
  for (uint32_t d = 0; d < access->rank; d++) {
    n *= access->span[d];
    of_body *= access->span[d];
  }
  if (st->dealt.is_tree) n *= (double)st->dealt.n_steps;
  *out_of_body = of_body;
  return n;
}

// ---- footprints

// Distinct elements that loops of the given extents touch.
static double footprint(
    const seer_nest_statement *st, const seer_nest_access *access, const double *extent) {
  if (access->storage == SEER_NEST_PACKED || access->is_whole) {
    double n = 1;
    for (uint32_t l = 0; l < st->n_loop; l++)
      if (access->loop_dim[l] != SEER_NEST_NO_DIM || access->is_whole) n *= extent[l];
    double most = 1;
    for (uint32_t d = 0; d < access->rank; d++) most *= (double)access->dim[d];
    return access->is_whole ? min_d(n, most) : n;
  }
  double product[SEER_MAX_RANK], reach[SEER_MAX_RANK], n = 1;
  for (uint32_t d = 0; d < access->rank; d++) product[d] = reach[d] = access->span[d];
  for (uint32_t l = 0; l < st->n_loop; l++) {
    uint8_t d = access->loop_dim[l];
    if (d >= access->rank) continue;
    product[d] *= extent[l];
    reach[d] += fabs((double)access->loop_coef[l]) * (extent[l] - 1);
  }
  for (uint32_t d = 0; d < access->rank; d++)
    n *= min_d(min_d(product[d], reach[d]), (double)access->dim[d]);
  return n;
}

// The extents that a block goes through: a dealt root's items have the last ones of its groups.
static void extents_of(const shape *s, double *out_all, double *out_block) {
  const seer_nest_statement *st = s->st;
  double left = s->items;
  for (uint32_t l = st->n_loop; l-- > 0;) {
    double extent = (double)st->loop[l].extent;
    bool is_dealt = l >= s->first_item && l < s->end_item && st->dealt.is_root;
    out_all[l] = extent;
    out_block[l] = st->loop[l].ann == SEER_LOOP_PARALLEL ? 1 : extent;
    if (!is_dealt) continue;
    out_block[l] = max_d(1, min_d(extent, left));
    left /= out_block[l];
  }
}

// ---- accesses

static bool is_global(const seer_nest_access *access) {
  return access->storage == SEER_NEST_ARG || access->storage == SEER_NEST_PACKED ||
      access->storage == SEER_NEST_SHARED;
}

// What a statement waits for, in each round.
typedef struct {
  bool reads_group;
  double far;  // of cycles: the furthest that a turn loads from
  double dram, l2, l1;  // shares of the waits for far ones
  double loads;  // registers of far loads in a turn, addresses too
} waits;

typedef struct {
  const double *all, *block;  // extents
  double n_rounds;  // of all items of a block, by warps
  double n_issued;  // likewise, with what lanes take more
} rounds;

// Of accesses of warps that so many elements of each item take.
static double requests_of(const seer_warp_access *warp, double elems, const rounds *r) {
  return elems / warp->wide * r->n_issued * warp->issues;
}

static void add_global(const shape *s, const seer_nest_access *access, const seer_warp_access *warp,
    double elems, const rounds *r, seer_kernel_profile *out, waits *w) {
  double requests = requests_of(warp, elems, r);
  double bytes = elems / warp->run * warp->run_sectors * SEER_SECTOR_BYTES * r->n_rounds;
  double of_block = footprint(s->st, access, r->block) * access->elem_bytes;
  double asked = elems * access->elem_bytes * s->items * s->rounds * s->visits;
  // What a block reads several times L1 has.
  double reuse = max_d(1, asked / max_d(1, of_block));
  if (!access->is_write) bytes /= reuse;
  out->requests += requests;
  out->sectors += requests * warp->sectors;
  out->l2_bytes += bytes;
  bool has_lanes = s->gpu->items_are_lanes;
  double turns = has_lanes ? 1 / LOADS_A_CYCLE : max_d(1, warp->sectors / SECTORS_A_CYCLE);
  out->turns += requests * turns;
  double whole = footprint(s->st, access, r->all) * access->elem_bytes;
  if (access->is_write) {
    out->written_bytes += whole;
    if (access->storage == SEER_NEST_ARG) out->result_bytes += whole;
    return;
  }
  w->loads += elems / (s->turns * s->visits > 0 ? s->turns : 1) * (1 + ADDRESSES / warp->wide);
  bool is_cold = access->is_weight && whole >= MIN_COLD_BYTES;
  *(is_cold ? &out->weight_bytes : &out->read_bytes) += whole;
  double *before = &s->arg_read[access->buf];
  if (!is_cold && access->storage == SEER_NEST_ARG && whole > *before) {
    out->arg_bytes += whole - *before;
    *before = whole;
  }
  // In a turn L1 has what an earlier one has brought.
  double hit = s->turns > 1 && s->visits * s->rounds == 1 ? 1 - 1 / min_d(reuse, s->turns) : 0;
  double far = is_cold ? s->gpu->dram_cycles : s->gpu->l2_cycles;
  if (far * (1 - hit) + hit * s->gpu->l1_cycles <= w->far) return;
  w->far = far * (1 - hit) + hit * s->gpu->l1_cycles;
  w->l1 = hit;
  w->dram = is_cold ? 1 - hit : 0;
  w->l2 = is_cold ? 0 : 1 - hit;
}

// Accesses to a block's memory.
static void add_group(const seer_warp_access *warp, double requests, seer_kernel_profile *out) {
  out->group_requests += requests;
  out->group_turns += requests * warp->turns;
  out->turns += requests * warp->turns;
}

// A factor of products of warps.
static void add_factor(const shape *s, const seer_nest_access *access, bool is_rows,
    const rounds *r, seer_kernel_profile *out, waits *w) {
  seer_warp_strides strides;
  seer_warp_access warp;
  seer_warp_strides_of(s->st, access, &strides);
  seer_warp_words_make(s->st, &strides, &s->product, is_rows, s->gpu, &warp);
  uint32_t factor = is_rows ? s->product.rows : !s->product.rows;
  double patches = (double)s->product.patches[factor],
         held = patches * (is_rows ? SEER_WARPS_X_WORDS : SEER_WARPS_Y_WORDS),
         of_turn = products_of(s) / (double)(s->product.patches[0] * s->product.patches[1]);
  double requests = requests_of(&warp, held * of_turn * s->turns, r);
  out->issues += requests;
  // Each word is rounded by an instruction of its own.
  if (s->st->is_of_tf32) out->issues += held * of_turn * s->turns * r->n_issued;
  out->operands += held;
  add_group(&warp, requests, out);
  w->reads_group = true;
}

static void add_access(const shape *s, const seer_nest_access *access, const rounds *r,
    seer_kernel_profile *out, waits *w) {
  if (access->storage == SEER_NEST_REGISTER) return;
  seer_warp_strides strides;
  seer_warp_access warp;
  seer_warp_strides_of(s->st, access, &strides);
  seer_warp_access_make(s->st, access, &strides, s->first_written, s->gpu, &warp);
  double of_body, elems = touched_by_item(s, &strides, access, &of_body);
  double requests = requests_of(&warp, elems, r);
  double address = access->is_guarded ? ADDRESS_ISSUES + GUARD_ISSUES : ADDRESS_ISSUES;
  out->issues += requests;
  bool is_rounded = s->st->is_of_tf32 && !access->is_write;
  if (is_rounded) out->issues += SEER_NEST_TF32_ROUNDING * elems * r->n_issued;
  // What all lanes have in common is an operand in memory of the instruction that takes it.
  if (!access->is_write && s->st->is_reduction && !warp.is_same) out->operands += of_body;
  if (is_global(access)) {
    out->issues += requests / warp.issues * address;
    add_global(s, access, &warp, elems, r, out, w);
    return;
  }
  add_group(&warp, requests, out);
  w->reads_group |= !access->is_write;
}

// ---- a kernel

// Of one turn with all loads of a fetch together: the fetches of a step wait at the same time.
static void add_waits(const shape *s, const waits *w, double n, seer_kernel_profile *out) {
  out->dram_waits += w->dram * n;
  out->l2_waits += w->l2 * n;
  out->l1_waits += w->l1 * n;
  if (w->reads_group) out->near_waits += s->turns * s->rounds * s->visits;
}

// Every item hands over what it has; then half of them add what the other half has, to the last.
static void add_tree(const shape *s, seer_kernel_profile *out) {
  double requests = s->warps;
  for (double half = s->items / 2; half >= 1; half /= 2) {
    requests += 3 * ceil(half / s->gpu->warp_items);
    out->barriers++;
    out->near_waits++;
  }
  out->barriers++;
  out->workgroup_bytes += s->items * 4;
  out->issues += 2 * requests;
  out->group_requests += requests;
  out->group_turns += requests;
  out->turns += requests;
}

// What the statement adds to its kernel; *fetch: the waits of a step's fetches so far, the longest
// of which counts.
static void add_statement(const seer_nest_statement *st, const seer_target *target,
    double *arg_read, seer_kernel_profile *out, waits *fetch, double *fetch_turns) {
  shape s = {.st = st, .gpu = &target->gpu, .arg_read = arg_read};
  find_items(&s);
  find_turns(&s);
  s.is_of_warps = find_warps(&s, target);
  if (s.is_of_warps) find_product_turns(&s);
  double all[SEER_NEST_MAX_LOOPS], block[SEER_NEST_MAX_LOOPS];
  extents_of(&s, all, block);
  double n_rounds = s.visits * s.rounds;
  rounds r = {all, block, n_rounds * s.warps, n_rounds * s.issued};
  if (s.items > out->items) out->items = s.items;
  waits w = {.far = 0};
  for (uint32_t a = 0; a < st->n_access; a++) {
    bool is_factor = s.is_of_warps && (a == s.factor[0] || a == s.factor[1]);
    if (is_factor)
      add_factor(&s, &st->access[a], a == s.factor[s.product.rows], &r, out, &w);
    else
      add_access(&s, &st->access[a], &r, out, &w);
  }
  double work = s.turns * s.body * r.n_issued, products = s.turns * products_of(&s) * r.n_rounds;
  if (s.is_of_warps) {
    *(st->is_of_tf32 ? &out->tf32_products : &out->products) += products;
    out->issues += products;
  } else {
    out->fmas += work * (double)(st->n_fma + st->n_halves);
    out->issues += work * issues_of(st);
  }
  if (s.turns > 1) out->issues += LOOP_ISSUES * s.turns * r.n_issued;
  out->issues += DEAL_ISSUES * st->dealt.n * r.n_issued;
  out->flops += flops_of(st) * st->iterations;
  double at_once = s.rounds > LOADS_AT_ONCE ? LOADS_AT_ONCE : s.rounds;
  out->loads = max_d(out->loads, w.loads * at_once);
  double own = 1;
  for (uint32_t l = st->first_tile; l < st->n_loop; l++) own *= (double)st->loop[l].extent;
  bool is_fetch = st->dealt.n_steps > 0 && !st->dealt.is_root && !st->dealt.is_tree;
  if (is_fetch) {
    double n = ceil(s.rounds / LOADS_AT_ONCE) * s.visits;
    if (s.visits > out->steps) out->steps = s.visits;
    if (st->dealt.is_ahead) out->ahead = 1;
    if (st->dealt.is_copied) out->is_copied = true;
    if (st->dealt.is_ahead && !st->dealt.is_copied) {
      // Moved behind the sums, and dealt out for that once more.
      out->held += own * s.rounds;
      out->issues += DEAL_ISSUES * st->dealt.n * r.n_rounds;
    }
    if (w.far * n > fetch->far * *fetch_turns) {
      *fetch = w;
      *fetch_turns = n;
    }
    return;
  }
  add_waits(&s, &w, s.turns * s.visits, out);
  if (st->dealt.is_root) out->own = max_d(out->own, own);
  if (st->is_reduction && !st->dealt.is_tree && st->dealt.n_steps == 0) {
    out->sums = own;
    out->depth = s.body / own;
  }
  if (st->dealt.is_tree) add_tree(&s, out);
}

// Bytes of what is fetched, each buffer once: by the statement that writes it.
static double fetched_bytes(const seer_nest_statement *st) {
  if (st->n_access == 0 || st->access[0].storage != SEER_NEST_LOCAL) return 0;
  const seer_nest_access *access = &st->access[0];
  double n = access->elem_bytes;
  for (uint32_t d = 0; d < access->rank; d++)
    n *= (double)(d + 1u == access->rank ? access->row_pitch : access->dim[d]);
  if (st->dealt.is_copied) n += ceil(n / SEER_TARGET_ITEMS_ALIGN) * SEER_TARGET_ITEMS_ALIGN;
  return n;
}

// As NVRTC has it, in the median 10 % off where there are tiles and 16 % elsewhere (544 kernels of
// four networks, sm_90; doc/decisions, 104). A compiler begins loads of terms to come where they
// are written out, as far as registers go.
static double registers_of(const seer_kernel_profile *k) {
  if (k->sums == 0) return 8 + 0.25 * k->own + 0.5 * k->loads;
  double early = min_d(0.75 * k->operands * (k->depth - 1), k->operands + k->sums);
  return 24 + k->sums + 0.7 * k->operands + k->held + min_d(early, MOST_EARLY);
}

void seer_profile_residence(const seer_target_gpu *gpu, seer_kernel_profile *k) {
  double registers = k->estimated_registers;
  if (gpu->max_item_registers > 0) {
    // A compiler keeps to what the block leaves.
    double most = min_d(
        gpu->max_item_registers, floor(gpu->n_registers / (k->warps * gpu->warp_items) / 8) * 8);
    registers = min_d(registers, max_d(most, 16));
  }
  const seer_occupancy_block block = {(uint32_t)min_d(k->items, gpu->max_block_items),
      gpu->n_registers > 0 ? (uint32_t)registers : 0, (uint64_t)k->workgroup_bytes};
  k->resident = max_d(1, seer_occupancy_of(gpu, &block).n_blocks);
}

static void finish(const seer_target_gpu *gpu, seer_kernel_profile *k) {
  k->items = max_d(k->items, 1);
  k->warps = ceil(k->items / gpu->warp_items);
  k->estimated_registers = registers_of(k);
  seer_profile_residence(gpu, k);
}

uint32_t seer_profile_kernels(
    const seer_nest *nest, const seer_target *target, seer_kernel_profile *out) {
  const seer_target_gpu *gpu = &target->gpu;
  uint32_t n = nest->n_phase < SEER_PROFILE_MAX_KERNELS ? nest->n_phase : SEER_PROFILE_MAX_KERNELS;
  waits fetch[SEER_PROFILE_MAX_KERNELS];
  double fetch_turns[SEER_PROFILE_MAX_KERNELS], arg_read[SEER_DAG_MAX_BUFFERS];
  memset(arg_read, 0, sizeof arg_read);
  memset(out, 0, n * sizeof *out);
  memset(fetch, 0, sizeof fetch);
  memset(fetch_turns, 0, sizeof fetch_turns);
  for (uint32_t k = 0; k < n; k++) out[k].blocks = max_d(1, nest->n_parts[k]);
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    const seer_nest_statement *st = &nest->statement[i];
    if (st->phase >= n) continue;
    out[st->phase].workgroup_bytes += fetched_bytes(st);
    add_statement(
        st, target, arg_read, &out[st->phase], &fetch[st->phase], &fetch_turns[st->phase]);
  }
  for (uint32_t k = 0; k < n; k++) {
    out[k].fetch_dram_waits = fetch[k].dram * fetch_turns[k];
    out[k].fetch_l2_waits = fetch[k].l2 * fetch_turns[k];
    out[k].barriers += (out[k].is_copied ? 1 : 2) * out[k].steps;
    finish(gpu, &out[k]);
  }
  return n;
}
