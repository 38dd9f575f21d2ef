// The bound of a task, on made-up machines, against figures worked out by hand, and against what
// schedules of it ask for.
#include <math.h>
#include <string.h>

#include "learn/feature.h"
#include "learn/profile.h"
#include "learn/roofline.h"
#include "learn_nets.h"
#include "support/random_dag.h"
#include "support/test.h"
#include "support/test_target.h"

#define KiB 1024.0
#define MiB (1024 * KiB)

// 2 threads: 100 GFLOP/s, L1 32 KiB, L2 512 KiB, L3 8 MiB, 100, 50 and 10 GB/s each.
static seer_target machine(void) {
  seer_target t = test_target_narrow;
  t.threads = 2;
  t.l1_bytes = 32 << 10;
  t.l2_bytes = 512 << 10;
  t.l3_bytes = 8 << 20;
  t.peak_gflops = 100;
  t.l2_gbs = 100;
  t.l3_gbs = 50;
  t.dram_gbs = 10;
  return t;
}

static void near(double value, double want) { learn_near(value, want, "the bound"); }

// A 3x3 depthwise convolution of 64 channels at 56x56: 784 KiB in, 784 KiB out, 2.25 KiB of
// weights.
static const char depthwise[] =
    "dag depthwise {\n"
    "  input $x f32[56, 56, 64]\n"
    "  weight $w f32[3, 3, 64]\n"
    "  stage pad role pad [y<58, x<58, c<64] = "
    "$x[y - 1, x - 1, c] if (y >= 1) & (y < 57) & ((x >= 1) & (x < 57)) else 0.0\n"
    "  stage y role anchor [y<56, x<56, c<64] sum[ky<3, kx<3] = "
    "$pad[y + ky, x + kx, c] * $w[ky, kx, c]\n"
    "  output $y\n}\n";

// What lies in both cores' L2 comes from there, not from L3.
static void activations_stay_in_l2(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = learn_parse(arena, depthwise);
  seer_target t = machine();
  double in = 56 * 56 * 64 * 4 + 9 * 64 * 4, flops = 2.0 * 9 * 56 * 56 * 64;
  seer_roofline r = seer_roofline_build(dag, &t, 0);
  near(r.compute_s, flops / 200e9);
  near(r.level_s[0], (in - 64 * KiB) / 200e9);
  assert_true(r.level_s[1] == 0 && r.level_s[2] == 0);  // 786 KiB in, 1,088 KiB of caches
  near(seer_roofline_seconds(dag, &t, 0), flops / 200e9);
  // A quarter of the L2: 576 KiB less than what is read, or written, comes from L3.
  t.l2_bytes = 128 << 10;
  r = seer_roofline_build(dag, &t, 0);
  near(r.level_s[1], (in - 2 * (128 + 32) * KiB) / 100e9);
  assert_true(r.level_s[2] == 0);
  // No L3: it comes from memory, and the level that is not there says nothing.
  t.l3_bytes = 0;
  r = seer_roofline_build(dag, &t, 0);
  assert_true(r.level_s[1] == 0);
  near(r.level_s[2], (in - 2 * (128 + 32) * KiB) / 20e9);
  // Nor any L2.
  t.l2_bytes = 0;
  r = seer_roofline_build(dag, &t, 0);
  assert_true(r.level_s[0] == 0 && r.level_s[1] == 0);
  near(r.level_s[2], (in - 64 * KiB) / 20e9);
  // All in L1.
  t.l1_bytes = 1 << 20;
  assert_true(seer_roofline_build(dag, &t, 0).level_s[2] == 0);
  seer_arena_destroy(arena);
}

static const char product[] =
    "dag product {\n"
    "  input $x f32[1, 2048]\n"
    "  weight $w f32[2048, 1024]\n"
    "  stage y role anchor [i<1, j<1024] sum[k<2048] = $x[i, k] * $w[k, j]\n"
    "  output $y\n}\n";

// 8 MiB of weights: warm they stay in caches of 9.06 MiB; between 32 MiB of others they do not.
static void weights_are_as_cold_as_they_are_timed(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = learn_parse(arena, product);
  seer_target t = machine();
  double w = 8 * MiB, l1 = 64 * KiB, l2 = l1 + 1 * MiB, all = l2 + 8 * MiB;
  seer_roofline r = seer_roofline_build(dag, &t, 0);
  near(r.compute_s, 2.0 * 2048 * 1024 / 200e9);
  near(r.level_s[0], (w - l1) / 200e9);
  near(r.level_s[1], (w - l2) / 100e9);
  assert_true(r.level_s[2] == 0);
  r = seer_roofline_build(dag, &t, 32 * MiB);
  near(r.level_s[0], w * (1 - l1 / (32 * MiB)) / 200e9);
  near(r.level_s[1], w * (1 - l2 / (32 * MiB)) / 100e9);
  near(r.level_s[2], w * (1 - all / (32 * MiB)) / 20e9);
  near(seer_roofline_seconds(dag, &t, 32 * MiB), r.level_s[2] / SEER_ROOFLINE_BEST_BANDWIDTH);
  seer_arena_destroy(arena);
}

// What does not move with all axes can be done once; of a choice one side is done; multiplications
// need FMA pipes, additions need not; narrow operands have more lanes.
static void only_what_all_points_need_is_counted(void **state) {
  (void)state;
  static const struct {
    const char *stage;
    double slots;  // FMAs in the time of a point; there are 1,000
  } cases[] = {{"[i<1000] = $x[i] * $x[i]", 1}, {"[i<1000] = $x[i] + 1.0", 0.25},
      {"[i<10, j<100] = exp($x[i]) * $x[j]", 1}, {"[i<1000] = exp($x[i])", 4},
      {"[i<1000] = $x[i] * 2.0 * ($x[i] * 2.0)", 2}, {"[i<1000] = neg($x[i])", 0},
      {"[i<1000] = select($x[i] > 0.0, $x[i] * 2.0, exp($x[i]))", 0.25},
      {"[i<1000] = max($x[i] * 3.0, 0.0) + $x[i]", 1}, {"[i<1] sum[k<1000] = $x[k]", 0.25},
      {"[i<10] sum[k<100] = $x[i] * 2.0", 0}, {"[i<10] sum[k<100] = $x[i] * $x[k]", 1},
      {"[i<1000] = cast.f32(cast.i32($b[i]) * cast.i32($b[i]))", 0.25},
      // four bytes a lane, product and sum; i32 in lanes of its own; a dot4 is one of each
      {"[i<1] sum[k<1000] = cast.i32($b[k]) * cast.i32($b[k])", 0.25},
      {"[i<1] sum[k<1000] = cast.i32($x[k]) * cast.i32($x[k])", 1},
      {"[i<1] sum[k<1000] = dot4(cast.i32($x[k]), cast.i32($x[k]))", 1},
      // two halves a lane; a dot2 is one of two
      {"[i<1] sum[k<1000] = cast.f32($h[k]) * cast.f32($h[k])", 0.5},
      {"[i<1] sum[k<1000] = dot2(cast.i32($x[k]), cast.i32($x[k]))", 1}};
  seer_arena *arena = seer_arena_create("test");
  seer_target t = machine();
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *text = seer_arena_printf(arena,
        "dag one {\n  input $x f32[1000]\n  input $b i8[1000]\n  input $h bf16[1000]\n  stage y "
        "role anchor %s\n"
        "  output $y\n}\n",
        cases[i].stage);
    seer_roofline r = seer_roofline_build(learn_parse(arena, text), &t, 0);
    double slots = r.compute_s * 200e9 / 2 / 1000;
    if (fabs(slots - cases[i].slots) > 1e-9)
      fail_msg("%s: %g, not %g", cases[i].stage, slots, cases[i].slots);
  }
  seer_arena_destroy(arena);
}

// 512 x 512 x 512: on the arithmetic, wherever the 3 MiB come from. 1024 x 4096 sums: 16 MiB in
// twice and out once, of which 9.06 MiB stay; a quarter of a slot each, and memory.
static void a_product_and_a_sum(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target t = machine();
  seer_dag *dag = learn_parse(arena,
      "dag product {\n  input $x f32[512, 512]\n  input $w f32[512, 512]\n"
      "  stage y role anchor [i<512, j<512] sum[k<512] = $x[i, k] * $w[k, j]\n"
      "  stage z role epilogue [i<512, j<512] = max($y[i, j], 0.0)\n  output $z\n}\n");
  seer_roofline r = seer_roofline_build(dag, &t, 0);
  // The 2^18 maxima start beside the 2^27 FMAs.
  near(r.compute_s, 2.0 * 512 * 512 * 512 / 200e9);
  near(r.level_s[0], (2 * MiB - 64 * KiB) / 200e9);
  near(r.level_s[1], (2 * MiB - 64 * KiB - 1 * MiB) / 100e9);
  assert_true(r.level_s[2] == 0);
  near(seer_roofline_seconds(dag, &t, 0), r.compute_s);
  dag = learn_parse(arena,
      "dag sum {\n  input $x f32[1024, 4096]\n  input $y f32[1024, 4096]\n"
      "  stage z role anchor [i<1024, j<4096] = $x[i, j] + $y[i, j]\n  output $z\n}\n");
  double all = 64 * KiB + 1 * MiB + 8 * MiB;
  r = seer_roofline_build(dag, &t, 0);
  near(r.compute_s, 2 * 0.25 * 1024 * 4096 / 200e9);
  near(r.level_s[2], (32 * MiB - all) / 20e9);
  near(seer_roofline_seconds(dag, &t, 0), r.level_s[2] / SEER_ROOFLINE_BEST_BANDWIDTH);
  // What is written crosses beside what is read: the larger of both counts.
  dag = learn_parse(arena,
      "dag spread {\n  input $x f32[4096]\n"
      "  stage z role anchor [i<4096, j<4096] = $x[i] * 2.0\n  output $z\n}\n");
  near(seer_roofline_seconds(dag, &t, 0), (64 * MiB - all) / 20e9 / SEER_ROOFLINE_BEST_BANDWIDTH);
  assert_true(seer_roofline_build(dag, &t, 0).compute_s == 0);  // once a row
  seer_arena_destroy(arena);
}

// A schedule may compute a product where a part of it is read: 16 of its 1024 rows, so that the
// rest is none that all schedules need.
static void what_nobody_reads_is_not_counted(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target t = machine();
  static const char text[] =
      "dag part {\n  input $x f32[1024, 256]\n  weight $w f32[256, 256]\n"
      "  stage y role anchor [i<1024, j<256] sum[k<256] = $x[i, k] * $w[k, j]\n"
      "  stage z role epilogue [i<16, j<256] = max($y[i * 64, j], 0.0)\n  output $z\n%s}\n";
  seer_dag *dag = learn_parse(arena, seer_arena_printf(arena, text, ""));
  double row = 2.0 * 256 * 256 / 200e9;
  near(seer_roofline_build(dag, &t, 0).compute_s, 16 * row);
  dag = learn_parse(arena, seer_arena_printf(arena, text, "  output $y\n"));
  near(seer_roofline_build(dag, &t, 0).compute_s, 1024 * row);
  seer_arena_destroy(arena);
}

// 10 processors of 4 schedulers and 128 FMAs at 1 GHz, tensor cores of 1,024 operations a cycle in
// halves, L2 of 1 MiB, 100 GB/s, 2 us a launch.
static seer_target gpu(void) {
  seer_target t = {.kind = SEER_TARGET_CUDA, .model_name = ""};
  t.gpu = (seer_target_gpu){.n_processors = 10,
      .warp_items = 32,
      .n_schedulers = 4,
      .l2_bytes = 1 << 20,
      .dram_gbs = 100,
      .clock_ghz = 1,
      .n_fmas = 128,
      .f16_flops = 1024,
      .launch_s = 2e-6};
  return t;
}

// What a processor's schedulers begin, what its pipes do, and what L2 cannot have kept.
static void a_gpu_by_its_facts(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target t = gpu();
  seer_dag *dag = learn_parse(arena, product);
  seer_roofline r = seer_roofline_build(dag, &t, 0);
  near(r.compute_s, 2048.0 * 1024 / 1280e9);
  near(r.level_s[2], (8 * MiB) * (1 - 1.0 / 8) / 100e9);
  assert_true(r.level_s[0] == 0 && r.level_s[1] == 0 && r.launch_s == 2e-6);
  // What is published is not exceeded, what is measured may be.
  near(seer_roofline_seconds(dag, &t, 0), 2e-6 + r.level_s[2]);
  near(seer_roofline_seconds(dag, &t, 32 * MiB), 2e-6 + 8 * MiB * (1 - 1.0 / 32) / 100e9);
  t.is_measured = true;
  near(seer_roofline_seconds(dag, &t, 0), 2e-6 + r.level_s[2] / SEER_ROOFLINE_BEST_BANDWIDTH);
  t = gpu();
  t.gpu.l2_bytes = 16 << 20;
  near(seer_roofline_seconds(dag, &t, 0), 2e-6 + 2048.0 * 1024 / 1280e9);
  // Pipes for half of what schedulers begin: FMAs wait for them, half as many sums do not.
  t.gpu.n_fmas = 64;
  near(seer_roofline_build(dag, &t, 0).compute_s, 2048.0 * 1024 / 640e9);
  static const struct {
    const char *stage;
    double slots;  // of a product in f32, of a point; there are 1,000
  } cases[] = {{"[i<1000] = $x[i] * $x[i]", 1}, {"[i<1000] = $x[i] + 1.0", 0.5},
      {"[i<1000] = exp($x[i])", 0.5}, {"[i<1] sum[k<1000] = $x[k] * $x[k]", 1},
      // tensor cores: 512 products of halves a cycle where there are 128 in f32
      {"[i<1] sum[k<1000] = cast.f32($h[k]) * cast.f32($h[k])", 0.25},
      {"[i<1] sum[k<1000] = cast.i32($b[k]) * cast.i32($b[k])", 0.125}};
  t = gpu();
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *text = seer_arena_printf(arena,
        "dag one {\n  input $x f32[1000]\n  input $b i8[1000]\n  input $h bf16[1000]\n  stage y "
        "role anchor %s\n  output $y\n}\n",
        cases[i].stage);
    r = seer_roofline_build(learn_parse(arena, text), &t, 0);
    double slots = r.compute_s * 1280e9 / 1000;
    if (fabs(slots - cases[i].slots) > 1e-9)
      fail_msg("%s: %g, not %g", cases[i].stage, slots, cases[i].slots);
  }
  seer_arena_destroy(arena);
}

// ---- schedules

typedef struct {
  seer_target target;
  bool is_random;
  uint32_t n;
} checks;

// What the nest asks of the machine is not less than what the bound says of its DAG: cycles of the
// pipes, bytes into each level. (The profile thinks that the caches hold what each statement of a
// random DAG reads, one after another: there arithmetic only.)
static void check_schedule(void *user, const seer_sketch_list *list, const seer_schedule *schedule,
    const seer_nest *nest) {
  checks *c = user;
  const seer_target *t = list->target;
  seer_roofline bound = seer_roofline_build(list->sketch[schedule->sketch]->dag, t, 0);
  const double rate[] = {t->peak_gflops * 1e9 / (2.0 * seer_target_lanes(t) * t->n_fma_ports),
      t->l2_gbs * 1e9, t->l3_gbs * 1e9, t->dram_gbs * 1e9};
  double time[4] = {0};
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    seer_statement_profile p;
    seer_profile_statement(nest, &nest->statement[i], t, &p, NULL);
    double threads = fmin(t->threads, p.parts), share = ceil(p.parts / threads) / p.parts;
    time[0] += p.cycles * share / rate[0];
    for (int l = 0; l < 3; l++) time[1 + l] += p.moved[l] * share / rate[1 + l];
  }
  const double least[] = {bound.compute_s, bound.level_s[0], bound.level_s[1], bound.level_s[2]};
  for (int k = 0; k < (c->is_random ? 1 : 4); k++) {
    if (time[k] < least[k])
      fail_msg("%s: term %d is %g s, its bound %g s", list->dag->name, k, time[k], least[k]);
  }
  if (c->is_random) return;
  // The estimate weighs its terms, so that it may be a little below.
  double seconds = seer_analytic_seconds(nest, t);
  assert_true(seconds >= 0.6 * seer_roofline_seconds(list->sketch[schedule->sketch]->dag, t, 0));
  c->n++;
}

static void no_schedule_asks_for_less(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  checks c = {.n = 0};
  for (int m = 0; m < TEST_TARGETS; m++) {
    c.target = test_target_read(test_target_names[m], arena);
    for (uint32_t i = 0; i < learn_nets_count + 40; i++) {
      c.is_random = i >= learn_nets_count;
      seer_dag *dag =
          c.is_random ? random_dag_of(200 + i, arena) : learn_parse(arena, learn_nets[i].text);
      learn_each_schedule(dag, &c.target, 20, check_schedule, &c);
    }
  }
  assert_true(c.n > 1000);
  seer_arena_destroy(arena);
}

// On every machine: finite, not negative, and a machine that is better in anything has no higher
// one.
static void better_machines_have_lower_bounds(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const uint32_t n_dags = 2 + (uint32_t)learn_nets_count;
  for (uint32_t m = 0; m < TEST_TARGETS * n_dags * 2; m++) {
    uint32_t d = m / 2 % n_dags;
    const char *text = d == 0 ? depthwise : d == 1 ? product : learn_nets[d - 2].text;
    const seer_dag *dag = learn_parse(arena, text);
    seer_target base = test_target_read(test_target_names[m / 2 / n_dags], arena), t;
    double cold = m % 2 ? 1.5 * (double)base.l3_bytes : 0;
    double bound = seer_roofline_seconds(dag, &base, cold);
    assert_true(isfinite(bound) && bound > 0);
    seer_roofline terms = seer_roofline_build(dag, &base, cold);
    double bytes_s = fmax(terms.level_s[0], fmax(terms.level_s[1], terms.level_s[2]));
    assert_true(bound == fmax(terms.compute_s, bytes_s / SEER_ROOFLINE_BEST_BANDWIDTH));
    for (int change = 0; change < 8; change++) {
      t = base;
      t.threads *= change == 0 ? 2 : 1;
      t.l1_bytes *= change == 1 ? 2 : 1;
      t.l2_bytes *= change == 2 ? 2 : 1;
      t.l3_bytes *= change == 3 ? 2 : 1;
      t.peak_gflops *= change == 4 ? 2 : 1;
      t.l2_gbs *= change == 5 ? 2 : 1;
      t.l3_gbs *= change == 6 ? 2 : 1;
      t.dram_gbs *= change == 7 ? 2 : 1;
      double better = seer_roofline_seconds(dag, &t, cold);
      assert_true(better <= bound && better > 0);
    }
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations_stay_in_l2),
      cmocka_unit_test(weights_are_as_cold_as_they_are_timed),
      cmocka_unit_test(only_what_all_points_need_is_counted),
      cmocka_unit_test(a_product_and_a_sum),
      cmocka_unit_test(what_nobody_reads_is_not_counted),
      cmocka_unit_test(a_gpu_by_its_facts),
      cmocka_unit_test(no_schedule_asks_for_less),
      cmocka_unit_test(better_machines_have_lower_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
