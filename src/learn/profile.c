// profile.c - nest summary -> issue cycles and bytes by level of cache, in closed form.
// Issue: a tile of rows x vectors needs rows * vectors operations per term of the body on
// `n_fma_ports`, and the loads of its distinct operands on two load ports; fewer independent
// accumulators than latency * ports leave ports idle; more than the register file spills.
// Caches: the loops from depth d inwards touch a working set; the outermost d whose set fits a
// cache is where that cache is filled once per iteration of the loops outside (what a set is,
// seer_nest_touched says, so tails and windows are priced once).

#include "learn/profile.h"

#include <math.h>
#include <string.h>

#include "space/matrix.h"

// Fitted to 21,000 measured schedules of 46 tasks (ResNet-18 and MobileNetV2, AVX2, two threads),
// by the time of what the model would choose; doc/decisions, 12.
#define LOADS_PER_CYCLE 1.5  // two ports, and what else uses them
#define TILE_OVERLAP 0.5  // of the shorter of arithmetic and loads, what still shows
#define TARGET_MOVES 5.0  // loads, stores and waiting of an accumulator that leaves its register
#define GUARD_CYCLES 0.05  // of a guarded tile, per row
// Of guarded loads inside an unrolled window: each neighbour has a border of its own.
#define GUARDED_WINDOW 2.9
#define LOOP_CYCLES 1.4  // counter, compare, branch of a loop that is not unrolled
#define LOOP_START_CYCLES 3.2
#define WARM_SHARE 0.75  // of a cache, what stays there until the next step
#define CACHE_SHARE 0.5  // of a cache, what one working set may fill
// Set by hand, not fitted.
#define DIV_CYCLES 8.0  // a vector of divisions or square roots
#define SPECIAL_CYCLES 14.0  // a vector of exp or tanh as polynomials
// FMAs in whose time a vector of i32 products is done. A product of that width is two operations of
// an FMA pipe on Intel's processors since Haswell and on Arm's (uops.info, optimisation guides),
// one on AMD's (Zen 5: 0.122 ns, an FMA 0.124, a product and a sum 0.139; 2026-11). SSE2 has none:
// two of 64 bits, and shuffles.
#define INT_MUL_FMAS 2.0
#define INT_MUL_FMAS_ZEN 1.0
#define INT_MUL_FMAS_SSE2 6.0
// The same of dot4: an instruction with VNNI or i8mm (the same: 1 to 0.98), two with dotprod, else
// two products of 16 bits and two sums, and their operands taken apart.
#define DOT_FMAS_ONE 1.0
#define DOT_FMAS_DOTPROD 2.0
#define DOT_FMAS 4.0
// Of dot2 without an instruction as fast as an FMA: two of them, and their operands taken apart,
// once for each row and each vector of a tile. 128x768x768 takes 1.45 of f32's time.
#define HALVES_FMAS 3.5
// Of a narrow float that is widened as it is loaded, once for each row or vector of a tile: two
// instructions of the ports that FMAs have, and what brings it there. 128x768x768 of bf16 took 1.46
// ms where f32 took 0.89, of f16 1.59 (sapphirerapids, 2026-11).
#define WIDENED_FMAS 2.5
#define INT_CYCLES 0.25  // of any other operator on integers: four pipes
#define SPILL_CYCLES 2.0  // store and reload of a register that does not fit

// Products of matrices: cycles of one, of a factor's load, of the load and store of a matrix of
// sums and the stores of its zeros, and of what is set up and taken down around a part
// (sapphirerapids, 2026-11).
#define MATRIX_CYCLES 16.0
#define MATRIX_LOAD_CYCLES 8.0
#define MATRIX_SUM_CYCLES 40.0
#define MATRIX_PART_CYCLES 350.0
// Of a vector of sums whose row is another row of an image, not a neighbour in one: what is stored
// behind them shares sets of a cache (1x1, 56x56 of 64 to 256 channels: 0.69 ms for 0.34).
#define MATRIX_APART_CYCLES 20.0

static double min_d(double a, double b) { return a < b ? a : b; }
static double max_d(double a, double b) { return a > b ? a : b; }

// Of each access, for each depth: what the loops from there inwards touch.
typedef struct {
  double elems[SEER_NEST_MAX_ACCESSES][SEER_NEST_MAX_LOOPS + 1];
  double bytes[SEER_NEST_MAX_ACCESSES][SEER_NEST_MAX_LOOPS + 1];  // of whole cache lines
} footprint;

// Bytes of whole cache lines for an element of runs of `run` elements in rows of `row`.
static double line_bytes(const seer_nest_access *access, double run, double row, double line) {
  double length = min_d(run, row), bytes = length * access->elem_bytes;
  // A short run still brings a whole line; on average half a line hangs over at its ends.
  double fetched = bytes + (row > length ? line / 2 : 0);
  return access->elem_bytes * max_d(1, max_d(fetched, line) / max_d(bytes, 1));
}

static void measure_access(const seer_nest_statement *st, uint32_t a, double line, footprint *out) {
  const seer_nest_access *access = &st->access[a];
  double *elems = out->elems[a], *bytes = out->bytes[a];
  seer_nest_touched_by_depth(st, access, elems);
  bool is_dense = access->rank == 0 || access->storage == SEER_NEST_PACKED;
  uint8_t last = (uint8_t)(access->rank - 1);
  double run = 1, row = is_dense ? 0 : (double)access->dim[last], most = access->elem_bytes;
  for (uint32_t d = 0; access->is_whole && d < access->rank; d++) most *= (double)access->dim[d];
  if (is_dense) {
    for (uint32_t l = 0; l <= st->n_loop; l++) bytes[l] = elems[l] * access->elem_bytes;
    return;
  }
  double byte_per_elem = line_bytes(access, run, row, line);
  for (uint32_t l = st->n_loop + 1u; l-- > 0;) {
    if (l < st->n_loop && access->loop_dim[l] == last) {
      run += fabs((double)access->loop_coef[l]) * (double)(st->loop[l].extent - 1);
      byte_per_elem = line_bytes(access, run, row, line);
    }
    bytes[l] = elems[l] * byte_per_elem;
    if (access->is_whole) bytes[l] = min_d(bytes[l], most);
  }
}

// Bytes of each access that come into L1, L2, L3.
static void profile_caches(const seer_nest_statement *st, const seer_target *target,
    const footprint *feet, double out_moved[][3]) {
  // What a level holds, the larger one behind it is taken to hold, too: also where a thread's share
  // of that is smaller, or there is no such level.
  double l1 = (double)target->l1_bytes, l2 = max_d(l1, (double)target->l2_bytes);
  double size[3] = {l1, l2, max_d(l2, (double)target->l3_bytes / target->threads)};
  double outer = 1, before = 1;  // iterations of the loops outside of `depth`, of `depth` - 1
  int level = 2;  // filled from the largest cache inwards
  double all[SEER_NEST_MAX_ACCESSES], activations = 0;
  for (uint32_t a = 0; a < st->n_access; a++) {
    seer_nest_storage storage = st->access[a].storage;
    uint8_t visit = st->access[a].visit;
    if (storage != SEER_NEST_REGISTER && storage != SEER_NEST_PACKED)
      activations += feet->bytes[a][visit ? visit - 1 : 0];
  }
  for (uint32_t depth = 0; depth <= st->n_loop && level >= 0; depth++) {
    double set = 0;
    for (uint32_t a = 0; a < st->n_access; a++) {
      bool is_free = st->access[a].storage == SEER_NEST_REGISTER;
      all[a] = is_free ? 0 : feet->bytes[a][depth];
      set += all[a];
    }
    while (level >= 0 && (set <= CACHE_SHARE * size[level] || depth == st->n_loop)) {
      // What one iteration of the loop outside leaves behind is there for the next one, which then
      // brings only what is new: one run of that loop moves what it touches, once.
      uint32_t run = depth > 0 ? depth - 1 : 0;
      for (uint32_t a = 0; a < st->n_access; a++) {
        double bytes = all[a] > 0 ? feet->bytes[a][run] : 0;
        double times = before;
        if (bytes >= feet->bytes[a][0] * 0.999 && bytes <= 0.25 * size[level])
          times = 1;  // small and whole: stays
        // What the step before wrote is still in the cache that holds it all; weights were last
        // read a whole run ago.
        bool is_weight = st->access[a].storage == SEER_NEST_PACKED;
        if (!is_weight && level > 0 && activations <= WARM_SHARE * size[level]) times = 0;
        // So is what this visit made.
        uint8_t visit = st->access[a].visit;
        bool is_made = visit != 0 && !st->access[a].is_first;
        if (is_made && feet->bytes[a][visit - 1] <= WARM_SHARE * size[level]) times = 0;
        out_moved[a][level] = bytes * times;
      }
      level--;
    }
    before = outer;
    if (depth < st->n_loop) outer *= (double)st->loop[depth].extent;
  }
}

// ---- what passes between threads

#define NO_LOOP SEER_NEST_MAX_LOOPS

// The parts of a phase are dealt out in blocks of neighbours, one block a thread, so the outermost
// parallel loop says who has what. NO_LOOP: one thread does it all.
static uint32_t cut_loop(const seer_nest_statement *st) {
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (st->loop[l].ann == SEER_LOOP_PARALLEL && st->loop[l].extent > 1) return l;
  }
  return NO_LOOP;
}

// The dimension along which the threads share a tensor: of an argument the outermost one, so that
// each has a block of its memory; of what a phase leaves to another that one along which its maker
// is cut. Its rank: nobody shares it.
static uint32_t shared_dim(
    const seer_nest *nest, const seer_nest_statement *st, const seer_nest_access *access) {
  if (access->storage == SEER_NEST_ARG) {
    uint32_t d = 0;
    while (d + 1u < access->rank && access->dim[d] == 1) d++;
    return d;
  }
  for (uint32_t i = 0; nest && !access->is_write && i < nest->n_statement; i++) {
    const seer_nest_statement *maker = &nest->statement[i];
    if (maker == st) continue;
    for (uint32_t a = 0; a < maker->n_access; a++) {
      if (!maker->access[a].is_write || maker->access[a].buf != access->buf) continue;
      uint32_t cut = cut_loop(maker);
      return cut == NO_LOOP ? access->rank : maker->access[a].loop_dim[cut];
    }
  }
  return SEER_NEST_NO_DIM;
}

// Of `bytes` that the statement touches by this access, those that are another thread's.
static double crossing_bytes(const seer_nest *nest, const seer_nest_statement *st,
    const seer_nest_access *access, double bytes, double threads) {
  bool is_common = access->storage == SEER_NEST_ARG || access->storage == SEER_NEST_SHARED;
  is_common &= access->visit == 0 || access->is_first;
  if (!is_common || access->is_whole || threads < 2) return 0;
  uint32_t dim = shared_dim(nest, st, access), cut = cut_loop(st);
  if (dim == SEER_NEST_NO_DIM) return 0;
  double others = (threads - 1) / threads;
  if (cut == NO_LOOP) return dim == access->rank ? 0 : others * bytes;
  if (access->loop_dim[cut] == SEER_NEST_NO_DIM) return threads * others * bytes;  // all read it
  if (access->loop_dim[cut] != dim) return others * bytes;
  double blocks = (double)st->loop[cut].extent;
  return fmod(blocks, threads) == 0 ? 0 : bytes * min_d(others, (threads - 1) / (2 * blocks));
}

// A reduction loop whose iterations read some of the same elements.
static bool is_window(const seer_nest_statement *st, const footprint *feet, uint32_t l) {
  if (!st->loop[l].is_reduce) return false;
  double extent = (double)st->loop[l].extent;
  for (uint32_t a = 0; a < st->n_access; a++) {
    const double *elems = feet->elems[a];
    if (!st->access[a].is_write && st->access[a].loop_dim[l] != SEER_NEST_NO_DIM &&
        elems[l] < 0.9 * extent * elems[l + 1])
      return true;
  }
  return extent == 1;
}

// How much of the guarded access's tiles reach over its border, and so run with guards: code has a
// version without any for the others. `block`: the first loop of what one test decides.
static double border_share(
    const seer_nest_statement *st, const seer_nest_access *access, uint32_t block) {
  double inside = 1;
  for (uint8_t d = 0; d < access->rank; d++) {
    double reach = access->span[d], window = access->span[d], tiles = 1;
    for (uint32_t l = 0; l < st->n_loop; l++) {
      if (access->loop_dim[l] != d) continue;
      double move = fabs((double)access->loop_coef[l]) * (double)(st->loop[l].extent - 1);
      reach += move;
      if (l >= block)
        window += move;
      else
        tiles *= (double)st->loop[l].extent;
    }
    double over = reach - (double)access->dim[d];  // on both sides together
    if (over <= 0) continue;
    double step = tiles > 1 ? (reach - window) / (tiles - 1) : reach;
    double at_border = min_d(over, 2) * ceil(max_d(over / 2, 1) / max_d(step, 1));
    inside *= max_d(0, 1 - at_border / tiles);
  }
  return 1 - inside;
}

static double int_mul_fmas(const seer_target *target) {
  bool is_x86 = strncmp(target->triple, "x86_64", 6) == 0;
  if (is_x86 && !seer_target_has(target, "sse4.1")) return INT_MUL_FMAS_SSE2;
  return strncmp(target->cpu, "znver", 5) == 0 ? INT_MUL_FMAS_ZEN : INT_MUL_FMAS;
}

static double dot_fmas(const seer_target *target) {
  bool has_it = seer_target_has(target, "avxvnni") || seer_target_has(target, "avx512vnni") ||
      seer_target_has(target, "i8mm");
  if (has_it) return DOT_FMAS_ONE;
  return seer_target_has(target, "dotprod") ? DOT_FMAS_DOTPROD : DOT_FMAS;
}

// Cycles of the operators of one iteration on a vector.
static double operator_cycles(const seer_nest_statement *st, const seer_target *target) {
  double fmas = (double)(st->n_fma + st->n_add + st->n_mul + st->n_cmp);
  // Reading a target's features is most of what a draft takes here: where there are such operators.
  if (st->n_int_mul > 0) fmas += (double)st->n_int_mul * int_mul_fmas(target);
  if (st->n_dot > 0) fmas += (double)st->n_dot * dot_fmas(target);
  if (st->n_halves > 0 && !seer_target_dots_halves(target))
    fmas += (double)st->n_halves * (HALVES_FMAS - 1);
  fmas += (double)st->n_rounding;
  return fmas / target->n_fma_ports + (double)st->n_div * DIV_CYCLES +
      (double)st->n_special * SPECIAL_CYCLES +
      INT_CYCLES * (double)(st->n_int - st->n_int_mul - st->n_dot);
}

// Of an element whose lanes lie rows apart: a load and an insert for each. Where copies of the tile
// go along the rows, squares are loaded row by row and turned round by shuffles, of which one
// starts in a cycle (code/access/square.c).
static double apart_loads(const seer_nest_statement *st, uint32_t a, double lanes) {
  const seer_nest_access *access = &st->access[a];
  for (uint32_t l = st->first_tile; l + 1 < st->n_loop; l++) {
    bool is_along = access->loop_dim[l] == access->rank - 1 && access->loop_coef[l] == 1;
    if (is_along && (double)st->loop[l].extent >= lanes)
      return (1 + LOADS_PER_CYCLE * log2(lanes)) / lanes;
  }
  return 1.5;
}

static void profile_tile(const seer_nest_statement *st, const seer_target *target,
    const footprint *feet, seer_statement_profile *out) {
  double lanes_max = seer_target_lanes(target), extent = 1;
  bool is_vector = st->n_loop > 0 && st->loop[st->n_loop - 1].ann == SEER_LOOP_VECTOR;
  if (is_vector) extent = (double)st->loop[st->n_loop - 1].extent;
  out->lanes = is_vector ? min_d(lanes_max, extent) : 1;
  out->vectors = ceil(extent / lanes_max);
  out->rows = 1;
  for (uint32_t l = st->first_tile; l + (is_vector ? 1 : 0) < st->n_loop; l++) {
    out->rows *= (double)st->loop[l].extent;
  }
  double ops = out->rows * out->vectors, ports = target->n_fma_ports;
  out->tile_runs = st->padded_iterations / max_d(1, out->rows * extent);
  double arithmetic = ops * operator_cycles(st, target);
  double independent = ops;
  if (st->is_reduction) {
    double latency = st->adds_integers ? 1 : target->fma_latency_cycles;
    double busy = independent / (ports * latency);
    if (busy < 1) arithmetic /= busy;
  }
  // Window loops that are unrolled whole right around the tile: what their iterations share is
  // loaded once. (Not with a loop over channels in between: the registers would have to hold them
  // all.)
  uint32_t unrolled = st->first_tile;
  double bodies = 1;
  // else each iteration loads for itself (code/tile/windows.c)
  bool shares = 4 * ops < 3 * target->n_vector_registers;
  while (shares && unrolled > 0 && is_window(st, feet, unrolled - 1) &&
      bodies * (double)st->loop[unrolled - 1].extent <= st->max_unroll)
    bodies *= (double)st->loop[--unrolled].extent;
  uint32_t block = st->first_tile;  // reductions right around the tile are in its tests
  while (block > 0 && st->loop[block - 1].is_reduce) block--;
  double operands = 0, widened = 0, target_moves = 0, border = 0;
  for (uint32_t a = 0; a < st->n_access; a++) {
    const seer_nest_access *access = &st->access[a];
    double elems = feet->elems[a][unrolled] / bodies;
    if (access->is_write) elems = feet->elems[a][st->first_tile];
    bool moves_with_vector = is_vector && access->loop_dim[st->n_loop - 1] != SEER_NEST_NO_DIM;
    double loads = moves_with_vector ? elems / out->lanes : elems;
    bool is_strided = moves_with_vector && access->storage != SEER_NEST_PACKED &&
        access->rank > 0 && access->loop_dim[st->n_loop - 1] != access->rank - 1;
    if (is_strided) loads = elems * apart_loads(st, a, out->lanes);
    if (access->is_guarded) {
      double share = border_share(st, access, block);
      if (bodies > 1) loads *= 1 + (GUARDED_WINDOW - 1) * share;
      border = max_d(border, share);
    }
    if (access->is_write && st->is_reduction) {
      // loaded and stored once per run of the loops that do not move it
      target_moves += TARGET_MOVES * loads;
      continue;
    }
    if (access->storage == SEER_NEST_REGISTER) continue;
    operands += loads;
    if (access->is_narrow && !access->is_write && st->n_widened > 0) widened += loads;
  }
  // The reduction loops right around the tile keep the accumulators in registers.
  double kept = 1;
  for (uint32_t l = st->first_tile; l-- > 0 && st->loop[l].is_reduce;)
    kept *= (double)st->loop[l].extent;
  out->registers = st->is_reduction ? ops + out->vectors + 1 : min_d(ops, 8) + 2;
  double spills = max_d(0, out->registers - target->n_vector_registers) * SPILL_CYCLES;
  out->issue_cycles = arithmetic + widened * WIDENED_FMAS / ports + spills;
  out->load_cycles = (operands + (st->is_reduction ? target_moves / kept : 0)) / LOADS_PER_CYCLE;
  double body = max_d(out->issue_cycles, out->load_cycles) +
      TILE_OVERLAP * min_d(out->issue_cycles, out->load_cycles) + GUARD_CYCLES * border * out->rows;
  double innermost = unrolled > 0 ? (double)st->loop[unrolled - 1].extent : 1;
  double copies = bodies * max_d(1, min_d(innermost, floor(st->max_unroll / bodies)));
  double overhead = LOOP_CYCLES / copies + LOOP_START_CYCLES / (bodies * max_d(1, innermost));
  out->cycles = out->tile_runs * (body + overhead);
}

// Whether row by row of the factor `x` is one long row: its last dimension is what loop `l` goes
// along, and the loop around that goes on with the next.
static bool goes_on(const seer_nest_statement *st, const seer_nest_access *x, uint32_t l) {
  return l > 0 && x->rank > 1 && st->loop[l - 1].is_reduce && x->loop_dim[l - 1] == x->rank - 2 &&
      x->loop_coef[l - 1] == 1 && x->dim[x->rank - 1] * x->elem_bytes == 4 * st->loop[l].extent;
}

// Whether the tile is products of matrices, of what depth, and with rows that lie apart; the words
// of the factor that does not move with lanes have to be neighbours along the loop around the tile.
static bool find_matrices(const seer_nest_statement *st, const seer_target *target,
    seer_matrix_tile *out, double *out_depth, bool *out_is_apart) {
  bool is_product = st->is_reduction &&
      ((st->n_dot > 0 && seer_target_multiplies_bytes(target)) ||
          (st->n_halves > 0 && seer_target_multiplies_halves(target)));
  if (!is_product || st->first_tile == 0 || st->first_tile >= st->n_loop) return false;
  uint32_t lanes = st->n_loop - 1u, depth = st->first_tile - 1u;
  if (st->loop[lanes].ann != SEER_LOOP_VECTOR || !st->loop[depth].is_reduce) return false;
  int64_t row = st->loop[depth].extent, rows = 1;
  for (uint32_t a = 0; a < st->n_access; a++) {
    const seer_nest_access *x = &st->access[a];
    if (x->is_guarded || x->is_whole) return false;
    if (x->is_write || x->loop_dim[lanes] != SEER_NEST_NO_DIM) continue;
    uint8_t last = x->rank;
    while (last > 1 && x->dim[last - 1] == 1) last--;
    if (x->loop_dim[depth] != last - 1 || x->loop_coef[depth] * x->elem_bytes != 4) return false;
    if (goes_on(st, x, depth)) rows = st->loop[depth - 1].extent;
  }
  *out = seer_matrix_begin(st->loop[lanes].extent);
  uint32_t longest = lanes;
  for (uint32_t l = st->first_tile; l < lanes; l++) {
    seer_matrix_add_rows(out, st->loop[l].extent);
    if (out->longest == st->loop[l].extent) longest = l;
  }
  *out_is_apart = false;
  for (uint32_t a = 0; a < st->n_access; a++) {
    const seer_nest_access *x = &st->access[a];
    if (x->is_write || longest == lanes || x->loop_dim[longest] == SEER_NEST_NO_DIM) continue;
    for (uint32_t d = x->loop_dim[longest] + 1u; d + 1 < x->rank; d++)
      *out_is_apart |= x->dim[d] > 1;
  }
  bool is_one = rows > 1 && seer_matrix_fits(out, rows, row);
  *out_depth = (double)(is_one ? rows * row : row);
  return is_one || seer_matrix_fits(out, row, 1);
}

// In place of what profile_tile found for vectors.
static void profile_matrices(const seer_nest_statement *st, const seer_matrix_tile *tile,
    double depth, bool is_apart, seer_statement_profile *out) {
  double kept = 1;
  for (uint32_t l = st->first_tile; l-- > 0 && st->loop[l].is_reduce;)
    kept *= (double)st->loop[l].extent;
  double sums = (double)(tile->x * tile->y), products = ceil(depth / SEER_MATRIX_SIDE);
  out->registers = sums + 2;
  out->issue_cycles = MATRIX_CYCLES * sums * products / depth;
  out->load_cycles = MATRIX_LOAD_CYCLES * (double)(tile->x + tile->y) * products / depth;
  double body = max_d(out->issue_cycles, out->load_cycles) +
      TILE_OVERLAP * min_d(out->issue_cycles, out->load_cycles);
  double of_sums = MATRIX_SUM_CYCLES * sums;
  if (is_apart) of_sums += MATRIX_APART_CYCLES * out->rows * out->vectors;
  double around = (LOOP_CYCLES * products + LOOP_START_CYCLES) / depth + of_sums / kept;
  out->cycles = out->tile_runs * (body + around) + MATRIX_PART_CYCLES * out->parts;
}

static void profile_access(
    const seer_nest_statement *st, uint32_t a, const footprint *feet, seer_access_profile *out) {
  const seer_nest_access *access = &st->access[a];
  out->bytes = access->storage == SEER_NEST_REGISTER ? 0 : feet->bytes[a][0];
  out->reuse = st->padded_iterations / max_d(1, feet->elems[a][0]);
  out->tile_elems = feet->elems[a][st->first_tile];
  out->innermost_stride = 0;
  for (uint32_t l = st->first_tile; l-- > 0;) {
    if (access->loop_dim[l] == SEER_NEST_NO_DIM) continue;
    double stride = fabs((double)access->loop_coef[l]);
    for (uint32_t d = access->loop_dim[l] + 1u; d < access->rank; d++)
      stride *= (double)access->dim[d];
    out->innermost_stride = access->storage == SEER_NEST_PACKED ? 1 : stride;
    break;
  }
  out->run_bytes = 1;
  for (uint32_t l = st->first_tile ? st->first_tile - 1 : 0; l < st->n_loop; l++) {
    bool is_last = access->rank > 0 && access->loop_dim[l] == access->rank - 1;
    if (is_last)
      out->run_bytes += fabs((double)access->loop_coef[l]) * (double)(st->loop[l].extent - 1);
  }
  out->run_bytes *= access->elem_bytes;
}

void seer_profile_statement(const seer_nest *nest, const seer_nest_statement *st,
    const seer_target *target, seer_statement_profile *out, seer_access_profile *out_access) {
  out->parts = 1;
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (st->loop[l].ann == SEER_LOOP_PARALLEL) out->parts *= (double)st->loop[l].extent;
  }
  footprint feet;
  for (uint32_t a = 0; a < st->n_access; a++)
    measure_access(st, a, target->cache_line_bytes, &feet);
  profile_tile(st, target, &feet, out);
  seer_matrix_tile matrices;
  double depth;
  bool is_apart;
  if (find_matrices(st, target, &matrices, &depth, &is_apart))
    profile_matrices(st, &matrices, depth, is_apart, out);
  double moved[SEER_NEST_MAX_ACCESSES][3];
  profile_caches(st, target, &feet, moved);
  for (int level = 0; level < 3; level++) {
    out->moved[level] = 0;
    for (uint32_t a = 0; a < st->n_access; a++) out->moved[level] += moved[a][level];
  }
  out->crossing = 0;
  for (uint32_t a = 0; a < st->n_access; a++)
    out->crossing += crossing_bytes(nest, st, &st->access[a], feet.bytes[a][0], target->threads);
  for (uint32_t a = 0; out_access && a < st->n_access; a++) {
    memcpy(out_access[a].moved, moved[a], sizeof moved[a]);
    profile_access(st, a, &feet, &out_access[a]);
  }
}
