// What a statement asks of the machine, against figures worked out by hand for nests written by
// hand, on a made-up machine with 16 lanes, 32 registers, two FMA pipes of latency 4, and caches of
// 32 KiB, 1 MiB and 32 MiB for two threads.
#include <string.h>

#include "learn/profile.h"
#include "learn_nets.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_nest nest;

static seer_statement_profile profile(const seer_target *target) {
  seer_statement_profile p;
  seer_profile_statement(&nest, &nest.statement[0], target, &p, NULL);
  return p;
}

// Eight rows of two vectors: 16 FMAs on two pipes; eight elements of A and two vectors of B a step,
// and the tile of C in and out once in 64 steps, 5 for each of its 16 vectors; 1.5 of them a cycle.
static void a_tile_of_a_product(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_statement_profile p = profile(&test_target_wide);
  learn_near(p.lanes, 16, "lanes");
  learn_near(p.vectors, 2, "vectors");
  learn_near(p.rows, 8, "rows");
  learn_near(p.registers, 16 + 2 + 1, "registers");
  learn_near(p.parts, 8, "parts");
  learn_near(p.tile_runs, 8 * 2 * 64, "tile runs");
  learn_near(p.issue_cycles, 8, "issue");
  learn_near(p.load_cycles, (8 + 2 + 5 * 16 / 64.0) / 1.5, "loads");
  // Half of the shorter shows; a branch for four copies, a start of the loop for 64.
  learn_near(p.cycles, 1024 * (8 + 7.5 / 2 + 1.4 / 4 + 3.2 / 64), "cycles");
  // What cannot be masked away is run: padding counts, exact iterations do not.
  nest.statement[0].padded_iterations *= 2;
  learn_near(profile(&test_target_wide).tile_runs, 2048, "padded runs");
}

// The same tile on narrower vectors, in fewer registers, with less to do at once.
static void tiles_that_do_not_fit_the_machine(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  // Eight vectors of 4 by eight rows: 64 sums and 9 more in 16 registers, each of the 57 that spill
  // takes two cycles.
  seer_statement_profile p = profile(&test_target_narrow);
  learn_near(p.lanes, 4, "lanes");
  learn_near(p.registers, 73, "registers");
  learn_near(p.issue_cycles, 64 / 2.0 + 57 * 2, "issue with spills");
  st->loop[4].extent = 24;  // two vectors, the second in half
  p = profile(&test_target_wide);
  learn_near(p.lanes, 16, "lanes");
  learn_near(p.vectors, 2, "vectors");
  st->loop[4].extent = 8;
  p = profile(&test_target_wide);
  learn_near(p.lanes, 8, "lanes in use");
  learn_near(p.vectors, 1, "vectors");
  // One row of one vector: a chain of FMAs, one in four cycles.
  st->loop[3].extent = 1;
  learn_near(profile(&test_target_wide).issue_cycles, 4, "issue of a chain");
  st->is_reduction = false;
  learn_near(profile(&test_target_wide).issue_cycles, 0.5, "issue without a chain");
  // No vectors: 32 rows of a single lane.
  learn_gemm(&nest);
  st->loop[4].ann = SEER_LOOP_UNROLL;
  p = profile(&test_target_wide);
  learn_near(p.lanes, 1, "lanes");
  learn_near(p.vectors, 1, "vectors");
  learn_near(p.rows, 8 * 32, "rows");
}

// One vector of 16; two FMA pipes for what they can, divisions and functions for themselves.
static void operations_by_kind(void **state) {
  (void)state;
  static const struct {
    const char *name;
    float fma, add, mul, cmp, div, special, integer;
    double cycles;
  } cases[] = {{"fma", 1, 0, 0, 0, 0, 0, 0, 0.5}, {"add", 0, 1, 0, 0, 0, 0, 0, 0.5},
      {"mul", 0, 0, 1, 0, 0, 0, 0, 0.5}, {"cmp", 0, 0, 0, 1, 0, 0, 0, 0.5},
      {"div", 0, 0, 0, 0, 1, 0, 0, 8}, {"special", 0, 0, 0, 0, 0, 1, 0, 14},
      {"integer", 0, 0, 0, 0, 0, 0, 1, 0.25}, {"all", 1, 2, 3, 4, 1, 1, 4, 5 + 8 + 14 + 1}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    learn_map(&nest);
    seer_nest_statement *st = &nest.statement[0];
    st->n_fma = cases[i].fma;
    st->n_add = cases[i].add;
    st->n_mul = cases[i].mul;
    st->n_cmp = cases[i].cmp;
    st->n_div = cases[i].div;
    st->n_special = cases[i].special;
    st->n_int = cases[i].integer;
    learn_near(profile(&test_target_wide).issue_cycles, cases[i].cycles, cases[i].name);
  }
  learn_map(&nest);
  seer_statement_profile p = profile(&test_target_wide);
  learn_near(p.registers, 1 + 2, "registers of a map");
  learn_near(p.load_cycles, 2 / 1.5, "a load and a store");
  // A branch each: there are no copies; 64 iterations share a start.
  learn_near(p.cycles, 256 * (2 / 1.5 + 0.5 / 2 + 1.4 + 3.2 / 64), "cycles of a map");
}

// An i32 product takes the FMA pipes for as long as the processor says, a dot4 too; other operators
// on integers go to any pipe.
static void integers_by_processor(void **state) {
  (void)state;
  static const struct {
    const char *cpu, *triple, *features;
    double product, dot;  // FMAs
  } cases[] = {{"icelake-server", "x86_64-linux-gnu", "+avx512f,+avx512vnni,+sse4.1", 2, 1},
      {"alderlake", "x86_64-linux-gnu", "+avx2,+avxvnni,+sse4.1", 2, 1},
      {"skylake", "x86_64-linux-gnu", "+avx2,+sse4.1", 2, 4},
      {"znver5", "x86_64-linux-gnu", "+avx512f,+avx512vnni,+sse4.1", 1, 1},
      {"znver3", "x86_64-linux-gnu", "+avx2,+sse4.1", 1, 4},
      {"x86-64", "x86_64-linux-gnu", "", 6, 4}, {"neoverse-n1", "aarch64-linux-gnu", "", 2, 4}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = test_target_wide;
    t.cpu = cases[i].cpu;
    t.triple = cases[i].triple;
    t.features = cases[i].features;
    learn_map(&nest);
    seer_nest_statement *st = &nest.statement[0];
    st->n_add = 0;
    st->n_int = 3;
    st->n_int_mul = 1;
    learn_near(profile(&t).issue_cycles, cases[i].product / 2 + 2 * 0.25, cases[i].cpu);
    st->n_int_mul = 0;
    st->n_dot = 1;
    learn_near(profile(&t).issue_cycles, cases[i].dot / 2 + 2 * 0.25, cases[i].cpu);
  }
}

// A dot2 is an FMA where its instruction is as fast, and an FMA for each product and what takes the
// halves apart elsewhere: without it, and with the slow one of processors that have AMX.
static void halves_by_processor(void **state) {
  (void)state;
  static const struct {
    const char *triple, *features;
    double dot;  // FMAs
  } cases[] = {{"x86_64-linux-gnu", "+avx512bf16,+avx512f", 1},
      {"x86_64-linux-gnu", "+amx-bf16,+amx-tile,+avx512bf16,+avx512f", 3.5},
      {"x86_64-linux-gnu", "+avx512f", 3.5}, {"x86_64-linux-gnu", "", 3.5},
      {"aarch64-linux-gnu", "+bf16", 1}, {"aarch64-linux-gnu", "+dotprod", 3.5}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = test_target_wide;
    t.triple = cases[i].triple;
    t.features = cases[i].features;
    learn_map(&nest);
    seer_nest_statement *st = &nest.statement[0];
    st->n_add = 0;
    st->n_fma = st->n_halves = 1;
    learn_near(profile(&t).issue_cycles, cases[i].dot / 2, cases[i].features);
  }
}

// What is loaded narrow is widened once for all that reads it: a tile of eight rows by four vectors
// has as many operands of one as of the other. What is rounded takes operators of its own.
static void narrow_floats(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  double plain = profile(&test_target_wide).issue_cycles;
  st->n_widened = 1;
  learn_near(profile(&test_target_wide).issue_cycles, plain, "what is widened is in no access");
  double vectors = profile(&test_target_wide).vectors, rows = profile(&test_target_wide).rows;
  for (uint32_t a = 0; a < st->n_access; a++) {
    bool is_weight = st->access[a].loop_dim[st->n_loop - 1] != SEER_NEST_NO_DIM;
    if (st->access[a].is_write) continue;
    st->access[a].is_narrow = true;
    learn_near(profile(&test_target_wide).issue_cycles,
        plain + (is_weight ? vectors : rows) * 2.5 / 2, is_weight ? "weights" : "rows");
    st->access[a].is_narrow = false;
  }
  st->n_widened = 0;
  st->n_rounding = 10;
  learn_near(profile(&test_target_wide).issue_cycles, plain + rows * vectors * 10 / 2, "rounded");
}

// What a cast to a narrow float counts as: operators that round, and no comparison.
static void casts_by_type(void **state) {
  (void)state;
  static const struct {
    const char *value;
    double rounding, cmp;
    bool is_narrow;  // what is written
  } cases[] = {{"cast.bf16($x[i])", 10, 0, true}, {"cast.f16($x[i])", 2, 0, true},
      {"cast.f8e4m3fn($x[i])", 25, 0, true}, {"cast.f32(cast.i32($x[i]))", 0, 2, false},
      {"$x[i]", 0, 0, false}};
  seer_arena *arena = seer_arena_create("test");
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *text = seer_arena_printf(arena,
        "dag casts {\n  input $x f32[64]\n  stage y role anchor [i<64] = %s\n  output $y\n}\n",
        cases[i].value);
    seer_sketch_list *list = learn_sketches(arena, learn_parse(arena, text), &test_target_wide);
    seer_schedule schedule;
    seer_schedule_default(list, 0, &schedule);
    const seer_nest_statement *st =
        &seer_summarise(seer_summariser_create(list, arena), &schedule)->statement[0];
    learn_near((double)st->n_rounding, cases[i].rounding, cases[i].value);
    learn_near((double)st->n_cmp, cases[i].cmp, cases[i].value);
    for (uint32_t a = 0; a < st->n_access; a++)
      assert_int_equal(st->access[a].is_narrow, st->access[a].is_write && cases[i].is_narrow);
  }
  seer_arena_destroy(arena);
}

// A sum of products of floats is FMAs; one of integers is a product and a sum, whose accumulator is
// there a cycle later; dot4 has its sum with it, and is waited for as an FMA is.
static void sums_of_products_by_type(void **state) {
  (void)state;
  static const struct {
    const char *term;
    double fma, mul, integer, int_mul, dot;
    bool adds_integers;
  } cases[] = {{"$x[i, k] * $x[i, k]", 1, 0, 0, 0, 0, false},
      {"cast.i32($b[i, k]) * cast.i32($b[i, k])", 0, 0, 2, 1, 0, true},
      {"$w[i, k] * $w[i, k]", 0, 0, 2, 1, 0, true},
      {"(cast.i32($b[i, k]) + 3:i32) * $w[i, k]", 0, 0, 3, 1, 0, true},
      {"dot4($w[i, k], $w[i, k])", 0, 0, 1, 0, 1, false},
      {"dot2($w[i, k], $w[i, k])", 1, 0, 0, 0, 0, false}, {"$w[i, k]", 0, 0, 1, 0, 0, true}};
  seer_arena *arena = seer_arena_create("test");
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *text = seer_arena_printf(arena,
        "dag sums {\n  input $x f32[32, 64]\n  input $b u8[32, 64]\n  input $w i32[32, 64]\n"
        "  stage y role anchor [i<32, j<64] sum[k<64] = %s\n  output $y\n}\n",
        cases[i].term);
    seer_sketch_list *list = learn_sketches(arena, learn_parse(arena, text), &test_target_wide);
    seer_schedule schedule;
    seer_schedule_default(list, 0, &schedule);
    const seer_nest_statement *st =
        &seer_summarise(seer_summariser_create(list, arena), &schedule)->statement[0];
    double got[] = {(double)st->n_fma, (double)st->n_mul, (double)st->n_int, (double)st->n_int_mul,
        (double)st->n_dot};
    double want[] = {cases[i].fma, cases[i].mul, cases[i].integer, cases[i].int_mul, cases[i].dot};
    for (size_t k = 0; k < SEER_COUNT_OF(want); k++) {
      if (got[k] < want[k] || got[k] > want[k])
        fail_msg("%s: count %zu is %g, not %g", cases[i].term, k, got[k], want[k]);
    }
    assert_int_equal(st->adds_integers, cases[i].adds_integers);
  }
  // One row of one vector: a chain of FMAs, one in four cycles; of sums of integers, one a cycle.
  learn_gemm(&nest);
  nest.statement[0].loop[3].extent = 1;
  nest.statement[0].loop[4].extent = 8;
  learn_near(profile(&test_target_wide).issue_cycles, 4, "a chain of FMAs");
  nest.statement[0].adds_integers = true;
  learn_near(profile(&test_target_wide).issue_cycles, 1, "a chain of sums of integers");
  seer_arena_destroy(arena);
}

// What neighbours along a window share is loaded once where its loop is unrolled around the tile.
static void windows_share_loads(void **state) {
  (void)state;
  learn_depthwise(&nest);
  seer_nest_statement *st = &nest.statement[0];
  const double sums = 5 * 4 / 9.0;
  // kx is: 6 vectors of x for three bodies, and its weight; ky does not move what a tile reads
  // over itself.
  seer_statement_profile p = profile(&test_target_wide);
  learn_near(p.load_cycles, (2 + 1 + sums) / 1.5, "loads of a window");
  // Four sums on pipes that want eight take twice their two cycles; three copies and, with the
  // loop around them, nine steps.
  learn_near(p.issue_cycles, 4, "issue of a window");
  learn_near(p.cycles, 8 * 2 * 9 * (4 + p.load_cycles / 2 + 1.4 / 3 + 3.2 / 9), "a window");
  // There is room for no more than two copies, or too few registers for what they share.
  st->max_unroll = 2;
  learn_near(profile(&test_target_wide).load_cycles, (4 + 1 + sums) / 1.5, "loads, two copies");
  // Room for more: ky is no window of this tile, so that it is unrolled, but shares nothing.
  st->max_unroll = 16;
  p = profile(&test_target_wide);
  learn_near(p.load_cycles, (2 + 1 + sums) / 1.5, "loads, 16 copies");
  learn_near(p.cycles, 8 * 2 * 9 * (4 + p.load_cycles / 2 + 1.4 / 9 + 3.2 / 9), "16 copies");
  st->max_unroll = 4;
  seer_target few = test_target_wide;
  few.n_vector_registers = 5;
  p = profile(&few);
  learn_near(p.load_cycles, (4 + 1 + sums) / 1.5, "loads, five registers");
  learn_near(p.issue_cycles, 4 + 2, "issue, five registers");
}

// Loads of a vector that is not contiguous are gathers; registers are not loaded.
static void loads_by_storage(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_access *b = &nest.statement[0].access[2];
  b->storage = SEER_NEST_ARG;
  learn_near(profile(&test_target_wide).load_cycles, 7.5, "contiguous");
  learn_move(b, 1, 0, 32);
  learn_move(b, 2, 1, 1);
  learn_move(b, 4, 0, 1);
  learn_near(profile(&test_target_wide).load_cycles, (8 + 32 * 1.5 + 1.25) / 1.5, "gathered");
  b->storage = SEER_NEST_PACKED;  // in read order, whatever the order of its dimensions
  learn_near(profile(&test_target_wide).load_cycles, 7.5, "packed");
  b->storage = SEER_NEST_REGISTER;
  learn_near(profile(&test_target_wide).load_cycles, (8 + 1.25) / 1.5, "registers");
}

// 9 tiles of 2 rows go over 18 elements of 16: the first and the last hang over by one and run with
// guards.
static void guards_cost_at_the_border_only(void **state) {
  (void)state;
  learn_map(&nest);
  seer_nest_statement *st = &nest.statement[0];
  const int64_t dim[2] = {16, 16};
  st->n_access = 1;
  st->loop[0].extent = 9;
  st->loop[1] = learn_loop(2, SEER_LOOP_UNROLL, false);
  st->first_tile = 1;
  seer_nest_access *x = learn_access(st, SEER_NEST_ARG, false, 2, dim);
  learn_move(x, 0, 0, 2);
  learn_move(x, 1, 0, 1);
  learn_move(x, 2, 1, 1);
  double without = profile(&test_target_wide).cycles, runs = 4 * 64 / 2;
  x->is_guarded = true;
  learn_near(profile(&test_target_wide).cycles - without, runs * 0.05 * 2 / 9 * 2, "guards");
  x->dim[0] = 18;  // nothing hangs over
  learn_near(profile(&test_target_wide).cycles, without, "no guards");
}

// Which loops a cache holds the data of, and how often the loops outside fill it.
static void bytes_by_level_of_cache(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  seer_access_profile access[SEER_NEST_MAX_ACCESSES];
  seer_statement_profile p;
  seer_profile_statement(&nest, st, &test_target_wide, &p, access);
  // Half of L1 is 16 KiB. All is 48 KiB; a row of tiles of A and C and all of B is 20 KiB; a tile
  // of C (5 bytes an element: half a line hangs over), its rows of A and half of B are 11.25 KiB.
  // So each of the 8 row blocks brings its part of A and C, and B again.
  const double kib = 1024;
  const double moved[3][3] = {{16 * kib, 0, 0}, {16 * kib, 0, 0}, {128 * kib, 16 * kib, 16 * kib}};
  for (uint32_t a = 0; a < 3; a++) {
    learn_near(access[a].bytes, 16 * kib, "bytes");
    for (uint32_t l = 0; l < 3; l++) learn_near(access[a].moved[l], moved[a][l], "moved");
  }
  for (uint32_t l = 0; l < 3; l++)
    learn_near(p.moved[l], moved[0][l] + moved[1][l] + moved[2][l], "moved in all");
  // Half of 64 KiB holds a row of tiles and B, half of 96 KiB all.
  seer_target target = test_target_wide;
  for (uint64_t k = 64; k <= 96; k += 32) {
    target.l1_bytes = k << 10;
    learn_near(profile(&target).moved[0], 3 * 16 * kib, "moved into a larger L1");
  }
  // A level that is smaller than the one before it, or not there, holds what that does.
  target = test_target_wide;
  target.l2_bytes = target.l3_bytes = 0;
  p = profile(&target);
  for (uint32_t l = 0; l < 3; l++) learn_near(p.moved[l], 160 * kib, "moved past no L2, no L3");
  // Activations of 32 KiB are there from the step before where they fit three quarters of a cache.
  target.l2_bytes = 42 << 10;
  learn_near(profile(&target).moved[1], 3 * 16 * kib, "moved into a cold L2");
  target.l2_bytes = 43 << 10;
  learn_near(profile(&target).moved[1], 16 * kib, "moved into a warm L2");
  // Two threads share L3.
  target.l3_bytes = 85 << 10;
  target.l2_bytes = 0;
  assert_true(profile(&target).moved[2] > 16 * kib);
  target.l3_bytes = 86 << 10;
  learn_near(profile(&target).moved[2], 16 * kib, "moved into a warm L3");
}

// Tiles of 64 rows: a row of them and B are 48 KiB, of which half of 70 KiB holds a tile of C, its
// A and half of B. B is whole, and at most a quarter of the cache: it stays there.
static void small_operands_stay(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  st->loop[3].extent = 64;
  for (uint32_t a = 0; a < 2; a++) {
    st->access[a].dim[0] = 512;
    learn_move(&st->access[a], 0, 0, 64);
  }
  seer_target target = test_target_wide;
  target.l1_bytes = 70 << 10;
  seer_access_profile access[SEER_NEST_MAX_ACCESSES];
  seer_statement_profile p;
  seer_profile_statement(&nest, st, &target, &p, access);
  for (uint32_t a = 0; a < 3; a++)
    learn_near(access[a].moved[0], (a < 2 ? 8 : 1) * 16 * 1024.0, "moved past what stays");
}

// What was made in the same visit is there; what makes it brings it, but is warm by what a visit
// touches.
static void values_in_place(void **state) {
  (void)state;
  const double kib = 1024;
  learn_gemm(&nest);
  seer_nest_access *shared = &nest.statement[0].access[0];
  seer_access_profile access[SEER_NEST_MAX_ACCESSES];
  seer_statement_profile p;
  seer_target target = test_target_wide;
  target.l2_bytes = 40 << 10;  // too small for two activations of 16 KiB
  seer_profile_statement(&nest, &nest.statement[0], &target, &p, access);
  learn_near(access[0].moved[0], 16 * kib, "moved");
  learn_near(access[0].moved[1], 16 * kib, "moved into a cold L2");
  shared->visit = 2;  // of an iteration of the first loop
  seer_profile_statement(&nest, &nest.statement[0], &target, &p, access);
  for (uint32_t l = 0; l < 3; l++) learn_near(access[0].moved[l], 0, "made in this visit");
  shared->visit = 1;  // of the whole statement
  target.l1_bytes = 20 << 10;
  seer_profile_statement(&nest, &nest.statement[0], &target, &p, access);
  assert_true(access[0].moved[0] > 0);
  learn_near(access[0].moved[1], 0, "made in this visit, gone from L1");
  shared->is_first = true;
  shared->visit = 2;
  target.l1_bytes = test_target_wide.l1_bytes;
  seer_profile_statement(&nest, &nest.statement[0], &target, &p, access);
  learn_near(access[0].moved[0], 16 * kib, "the first of a visit");
  learn_near(access[0].moved[1], 0, "the first of a visit, warm");
}

// Data comes in lines of 64 bytes.
static void bytes_of_whole_lines(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  seer_access_profile access[SEER_NEST_MAX_ACCESSES];
  seer_statement_profile p;
  // 64 of 128 elements in a row: on average half a line hangs over.
  st->access[0].dim[1] = 128;
  // One in 128: a line each.
  st->access[1].dim[1] = 128;
  st->access[1].loop_dim[2] = SEER_NEST_NO_DIM;
  // Packed: as much as is read, whatever its rows are.
  st->access[2].dim[1] = 128;
  seer_profile_statement(&nest, st, &test_target_wide, &p, access);
  learn_near(access[0].bytes, 64 * (64 * 4 + 32), "half rows");
  learn_near(access[1].bytes, 64 * 64, "columns");
  learn_near(access[2].bytes, 64 * 64 * 4, "packed");
  seer_target target = test_target_wide;
  target.cache_line_bytes = 128;
  seer_profile_statement(&nest, st, &target, &p, access);
  learn_near(access[0].bytes, 64 * (64 * 4 + 64), "half rows of longer lines");
  learn_near(access[1].bytes, 64 * 128, "columns of longer lines");
}

static void accesses_of_a_product(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  seer_access_profile c[SEER_NEST_MAX_ACCESSES];
  seer_statement_profile p;
  // C, A, B: B is packed, so that its neighbour is the next one whatever its dimensions are.
  static const double stride[] = {32, 1, 1}, run[] = {128, 256, 128}, tile[] = {256, 8, 32};
  seer_profile_statement(&nest, st, &test_target_wide, &p, c);
  for (uint32_t a = 0; a < 3; a++) {
    learn_near(c[a].innermost_stride, stride[a], "stride");
    learn_near(c[a].run_bytes, run[a], "run");
    learn_near(c[a].tile_elems, tile[a], "tile");
    learn_near(c[a].reuse, 64, "reuse");
  }
  st->access[2].storage = SEER_NEST_ARG;  // a step of k is a row of 64
  st->access[0].storage = SEER_NEST_REGISTER;
  seer_profile_statement(&nest, st, &test_target_wide, &p, c);
  learn_near(c[2].innermost_stride, 64, "stride of rows");
  learn_near(c[0].bytes, 0, "bytes of registers");
  learn_near(c[0].moved[0], 0, "bytes moved into registers");
  // Indices that are data: an element each time, of a table of 4096.
  st->access[1].is_whole = true;
  seer_profile_statement(&nest, st, &test_target_wide, &p, c);
  learn_near(c[1].tile_elems, 256, "elements of a gather");
  learn_near(c[1].bytes, 16384, "bytes of a gather");
}

// What threads have of a tensor that is theirs, and what of others': C and A are 16 KiB each, the
// packed B is nobody's.
static void lines_that_cross_threads(void **state) {
  (void)state;
  const double kib16 = 16 * 1024;
  seer_target target = test_target_wide;
  learn_gemm(&nest);
  learn_near(profile(&target).crossing, 0, "cut along the rows");
  target.threads = 3;
  learn_near(profile(&target).crossing, 2 * kib16 / 8, "eight blocks of rows for three");
  target.threads = 1;
  nest.statement[0].loop[0].ann = SEER_LOOP_SERIAL;
  learn_near(profile(&target).crossing, 0, "one thread");
  target.threads = 2;
  learn_near(profile(&target).crossing, kib16, "one part for two threads");
  // Columns: each writes half of the other's rows of C, and reads all of A, which is half the
  // other's.
  nest.statement[0].loop[1].ann = SEER_LOOP_PARALLEL;
  learn_near(profile(&target).crossing, kib16 / 2 + kib16, "cut along the columns");
  nest.statement[0].access[1].storage = SEER_NEST_LOCAL;
  learn_near(profile(&target).crossing, kib16 / 2, "what is a thread's own");
}

// One phase leaves its C to the next one, which reads it as its A: what matters is that both are
// cut alike, not where a dimension lies.
static void lines_that_cross_between_phases(void **state) {
  (void)state;
  static seer_nest two;
  learn_gemm(&two);
  two.statement[two.n_statement++] = two.statement[0];
  seer_nest_statement *maker = &two.statement[0], *reader = &two.statement[1];
  for (uint32_t k = 0; k < 3; k++) {
    maker->access[k].buf = k;
    reader->access[k].buf = k + 3;
  }
  maker->access[0].storage = reader->access[1].storage = SEER_NEST_SHARED;
  reader->access[1].buf = 0;
  const seer_target *target = &test_target_wide;
  seer_statement_profile p;
  seer_profile_statement(&two, reader, target, &p, NULL);
  learn_near(p.crossing, 0, "rows, then rows");
  seer_profile_statement(&two, maker, target, &p, NULL);
  learn_near(p.crossing, 0, "its maker's own");
  // The maker shares the columns: half of the rows' elements are the other's.
  maker->loop[0].ann = SEER_LOOP_SERIAL;
  maker->loop[1].ann = SEER_LOOP_PARALLEL;
  seer_profile_statement(&two, reader, target, &p, NULL);
  learn_near(p.crossing, 8192, "columns, then rows");
  // One thread makes it all, another one reads half.
  maker->loop[1].ann = SEER_LOOP_SERIAL;
  seer_profile_statement(&two, reader, target, &p, NULL);
  learn_near(p.crossing, 8192, "made by one");
  seer_profile_statement(NULL, reader, target, &p, NULL);
  learn_near(p.crossing, 0, "made by nobody known");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_tile_of_a_product),
      cmocka_unit_test(tiles_that_do_not_fit_the_machine), cmocka_unit_test(operations_by_kind),
      cmocka_unit_test(integers_by_processor), cmocka_unit_test(halves_by_processor),
      cmocka_unit_test(narrow_floats), cmocka_unit_test(casts_by_type),
      cmocka_unit_test(sums_of_products_by_type), cmocka_unit_test(windows_share_loads),
      cmocka_unit_test(loads_by_storage), cmocka_unit_test(guards_cost_at_the_border_only),
      cmocka_unit_test(bytes_by_level_of_cache), cmocka_unit_test(small_operands_stay),
      cmocka_unit_test(values_in_place), cmocka_unit_test(bytes_of_whole_lines),
      cmocka_unit_test(lines_that_cross_threads), cmocka_unit_test(lines_that_cross_between_phases),
      cmocka_unit_test(accesses_of_a_product)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
