// The analytic model: a case worked out by hand, and what must hold of its estimates on any
// machine. Machines are made up; what is compared are estimates.
#include <math.h>
#include <string.h>

#include "learn/feature.h"
#include "learn/profile.h"
#include "learn_nets.h"
#include "support/random_dag.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_nest nest;

// 12.15 cycles for each of 1024 runs of a tile at 100 / (2 * 16 * 2) GHz (test_profile.c), 160 KiB
// from L2, 16 KiB from L3 and from memory; a fifth of what is hidden shows. Eight parts on two
// threads, one phase.
static void a_product_by_hand(void **state) {
  (void)state;
  learn_gemm(&nest);
  double cycles = 1024 * 12.15 / (100e9 / 64), l2 = 163840 / 100e9, l3 = 16384 / 50e9,
         dram = 16384 / 10e9, phase = 2.7e-6 + 1.25e-7 * 8 / 2;
  double want = 0.6 * (cycles + 0.2 * (l2 + l3 + dram)) / 2 + phase;
  learn_near(seer_analytic_seconds(&nest, &test_target_wide), want, "compute-bound");
  // With a tenth of the bandwidth L2 is what takes longest.
  seer_target target = test_target_wide;
  target.l2_gbs /= 10;
  want = 0.6 * (10 * l2 + 0.2 * (cycles + l3 + dram)) / 2 + phase;
  learn_near(seer_analytic_seconds(&nest, &target), want, "L2-bound");
  target = test_target_wide;
  target.l3_gbs /= 100;
  want = 0.6 * (100 * l3 + 0.2 * (cycles + l2 + dram)) / 2 + phase;
  learn_near(seer_analytic_seconds(&nest, &target), want, "L3-bound");
  target = test_target_wide;
  target.dram_gbs /= 10;
  want = 0.6 * (10 * dram + 0.2 * (cycles + l2 + l3)) / 2 + phase;
  learn_near(seer_analytic_seconds(&nest, &target), want, "memory-bound");
  // Three threads: of eight parts the last two leave one of them idle.
  target = test_target_wide;
  target.threads = 3;
  want = 0.6 * (cycles + 0.2 * (l2 + l3 + dram)) * 3 / 8 + 2.7e-6 + 1.25e-7 * 8 / 3;
  // The thirds of eight blocks are not those of memory: of 32 KiB an eighth is another thread's.
  want += 8 * 32768 / 8 / 50e9 / 3;
  learn_near(seer_analytic_seconds(&nest, &target), want, "three threads");
  // More threads than parts: each takes one.
  target.threads = 16;
  want = 0.6 * (cycles + 0.2 * (l2 + l3 + dram)) / 8 + 2.7e-6 + 1.25e-7 * 8 / 16;
  want += 8 * 32768 * 15 / 16 / 50e9 / 16;
  learn_near(seer_analytic_seconds(&nest, &target), want, "sixteen threads");
}

// Statements follow each other, phases too.
static void programs_are_sums(void **state) {
  (void)state;
  static seer_nest map, both;
  learn_gemm(&nest);
  learn_map(&map);
  both = nest;
  both.statement[both.n_statement++] = map.statement[0];
  both.n_parts[both.n_phase++] = map.n_parts[0];
  const seer_target *target = &test_target_wide;
  double sum = seer_analytic_seconds(&nest, target) + seer_analytic_seconds(&map, target);
  learn_near(seer_analytic_seconds(&both, target), sum, "both");
  nest.n_statement = nest.n_phase = 0;
  assert_true(seer_analytic_seconds(&nest, target) == 0);
}

// Whatever memory had before, and whatever was asked for in between.
static void the_same_again(void **state) {
  (void)state;
  static seer_nest other;
  memset(&nest, 0, sizeof nest);
  memset(&other, 0xA5, sizeof other);
  void (*const make[])(seer_nest *) = {learn_gemm, learn_map, learn_depthwise};
  double first[3];
  for (int i = 0; i < 3; i++) {
    make[i](&nest);
    first[i] = seer_analytic_seconds(&nest, &test_target_wide);
  }
  for (int i = 3; i-- > 0;) {
    make[i](&other);
    assert_true(seer_analytic_seconds(&other, &test_target_wide) == first[i]);
  }
}

// One loop of 4096, with and without vectors.
static void vectors_beat_scalars(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (int m = 0; m < TEST_TARGETS; m++) {
    seer_target target = test_target_read(test_target_names[m], arena);
    learn_map(&nest);
    double vector = seer_analytic_seconds(&nest, &target);
    seer_nest_statement *st = &nest.statement[0];
    st->loop[2].ann = SEER_LOOP_UNROLL;
    double unrolled = seer_analytic_seconds(&nest, &target);
    st->loop[2].ann = SEER_LOOP_SERIAL;
    st->first_tile = st->n_loop;
    double scalar = seer_analytic_seconds(&nest, &target);
    assert_true(vector < unrolled && unrolled < scalar);
    // In pieces of half a vector: better than none.
    learn_map(&nest);
    int64_t half = seer_target_lanes(&target) / 2;
    st->loop[2].extent = half;
    st->loop[1].extent = 1024 / half;
    learn_move(&st->access[0], 1, 0, (int32_t)half);
    learn_move(&st->access[1], 1, 0, (int32_t)half);
    double halves = seer_analytic_seconds(&nest, &target);
    assert_true(vector < halves && halves < scalar);
  }
  seer_arena_destroy(arena);
}

// ---- what holds of every schedule

typedef struct {
  seer_target base;
  uint32_t n, n_faster[8];
} changes;

// Better in one thing. More threads bring their own part of L3 along: else each would have less of
// it.
static const char *const change_names[] = {
    "threads", "L1", "L2", "L3", "peak", "L2 bandwidth", "L3 bandwidth", "memory bandwidth"};
static seer_target changed(const seer_target *base, int change) {
  seer_target t = *base;
  t.threads *= change == 0 ? 2 : 1;
  t.l1_bytes *= change == 1 ? 2 : 1;
  t.l2_bytes *= change == 2 ? 2 : 1;
  t.l3_bytes *= change == 0 || change == 3 ? 2 : 1;
  t.peak_gflops *= change == 4 ? 2 : 1;
  t.l2_gbs *= change == 5 ? 2 : 1;
  t.l3_gbs *= change == 6 ? 2 : 1;
  t.dram_gbs *= change == 7 ? 2 : 1;
  return t;
}

static bool crosses(const seer_nest *of, const seer_target *target) {
  double sum = 0;
  for (uint32_t i = 0; i < of->n_statement; i++) {
    seer_statement_profile p;
    seer_profile_statement(of, &of->statement[i], target, &p, NULL);
    sum += p.crossing;
  }
  return sum > 0;
}

// Up to a hundredth: the profile takes nearly all of an operand for all of it, and counts bytes by
// lines, which rows of a few elements share.
static void check_changes(
    void *user, const seer_sketch_list *list, const seer_schedule *schedule, const seer_nest *of) {
  (void)list, (void)schedule;
  changes *c = user;
  double seconds = seer_analytic_seconds(of, &c->base);
  assert_true(isfinite(seconds) && seconds > 0);
  c->n++;
  for (int k = 0; k < 8; k++) {
    seer_target better = changed(&c->base, k);
    double faster = seer_analytic_seconds(of, &better);
    // Lines that more threads have to share cost more than they save in a small kernel.
    bool may_lose = k == 0 && crosses(of, &better);
    if (faster > seconds * 1.01 && !may_lose)
      fail_msg("more %s: %g s, before %g s", change_names[k], faster, seconds);
    c->n_faster[k] += faster < seconds;
  }
  // Everything twice as fast but what waking the pool takes: exactly half of the rest.
  seer_nest alone = *of;
  alone.n_phase = 0;
  seer_target fast = c->base;
  fast.peak_gflops *= 2;
  fast.l2_gbs *= 2;
  fast.l3_gbs *= 2;
  fast.dram_gbs *= 2;
  assert_true(seer_analytic_seconds(&alone, &fast) * 2 == seer_analytic_seconds(&alone, &c->base));
}

static void better_machines_are_never_slower(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t n_faster[8] = {0};
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    changes c = {.base = test_target_read(test_target_names[m], arena)};
    if (m % 2) {  // caches that the small ones do not fit either
      c.base.l1_bytes = 512;
      c.base.l2_bytes = 2048;
      c.base.l3_bytes = 8192;
    }
    for (uint32_t i = 0; i < learn_nets_count + 20; i++) {
      seer_dag *dag = i < learn_nets_count ? learn_parse(arena, learn_nets[i].text)
                                           : random_dag_of(i + 20 * m, arena);
      learn_each_schedule(dag, &c.base, 4, check_changes, &c);
    }
    assert_true(c.n > 100);
    for (int k = 0; k < 8; k++) n_faster[k] += c.n_faster[k];
  }
  for (int k = 0; k < 8; k++) {
    if (n_faster[k] == 0) fail_msg("more %s never made a difference", change_names[k]);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_product_by_hand),
      cmocka_unit_test(programs_are_sums), cmocka_unit_test(the_same_again),
      cmocka_unit_test(vectors_beat_scalars), cmocka_unit_test(better_machines_are_never_slower)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
