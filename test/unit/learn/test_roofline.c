// The bound of a task, on made-up machines, against figures worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/roofline.h"
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

static void near(double value, double want) {
  if (fabs(value - want) > 1e-9 * fabs(want)) fail_msg("%.9g, not %.9g", value, want);
}

static seer_dag *parse(seer_arena *arena, const char *text) {
  seer_dag *dag;
  seer_status status = seer_dag_parse("test", text, strlen(text), arena, &dag);
  if (status) fail_msg("%s", seer_status_message(status));
  return dag;
}

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
  seer_dag *dag = parse(arena, depthwise);
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
  seer_dag *dag = parse(arena, product);
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
  near(seer_roofline_seconds(dag, &t, 32 * MiB), r.level_s[2]);
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
      {"[i<1000] = cast.f32(cast.i32($b[i]) * cast.i32($b[i]))", 0.25}};
  seer_arena *arena = seer_arena_create("test");
  seer_target t = machine();
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *text = seer_arena_printf(arena,
        "dag one {\n  input $x f32[1000]\n  input $b i8[1000]\n  stage y role anchor %s\n"
        "  output $y\n}\n",
        cases[i].stage);
    seer_roofline r = seer_roofline_build(parse(arena, text), &t, 0);
    double slots = r.compute_s * 200e9 / 2 / 1000;
    if (fabs(slots - cases[i].slots) > 1e-9)
      fail_msg("%s: %g, not %g", cases[i].stage, slots, cases[i].slots);
  }
  seer_arena_destroy(arena);
}

// On every machine: finite, not negative, and a machine that is better in anything has no higher
// one.
static void better_machines_have_lower_bounds(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_dag *dags[] = {parse(arena, depthwise), parse(arena, product)};
  for (uint32_t m = 0; m < TEST_TARGETS * 2; m++) {
    const seer_dag *dag = dags[m % 2];
    seer_target base = test_target_read(test_target_names[m / 2], arena), t;
    double cold = 1.5 * (double)base.l3_bytes, bound = seer_roofline_seconds(dag, &base, cold);
    assert_true(isfinite(bound) && bound > 0);
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
      cmocka_unit_test(better_machines_have_lower_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
