// Columns of feature rows: their names, their values for nests worked out by hand, and that they
// depend on nothing but the nest, the machine and the estimate.
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "learn/feature.h"
#include "learn_nets.h"
#include "support/random_dag.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_nest nest;
static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];

static size_t column(const char *name) { return learn_column(&seer_feature_seer, name); }
#define EXPECT(row, ...) LEARN_EXPECT(&seer_feature_seer, row, __VA_ARGS__)

// Models that are stored know columns by their place. Who adds, renames or moves one: raise
// the set's version, so that older files are refused, and write the new sum here.
static void columns_are_of_their_version(void **state) {
  (void)state;
  uint64_t sum = seer_feature_seer.version;
  for (size_t c = 0; c < seer_feature_seer.n_column; c++) {
    sum = seer_hash_str(seer_feature_seer.column[c], sum);
    for (size_t k = 0; k < c; k++)
      assert_string_not_equal(seer_feature_seer.column[c], seer_feature_seer.column[k]);
  }
  assert_int_equal(seer_feature_seer.n_column, 82);
  assert_in_range(seer_feature_seer.n_column, 1, SEER_FEATURE_MAX);
  if (sum != UINT64_C(0x866b4283d53a2d09))
    fail_msg("the columns have the sum 0x%llx", (unsigned long long)sum);
}

static void columns_of_a_product(void **state) {
  (void)state;
  learn_gemm(&nest);
  const double n = 64 * 64 * 64, kib = 1024;
  assert_int_equal(seer_feature_seer.extract(&nest, &test_target_wide, 1.0 / 1024, rows), 1);
  EXPECT(rows, {"program_log_seconds", 10}, {"program_statements", 1}, {"program_local_bytes", 0},
      {"program_packed_bytes", learn_slog(16 * kib)}, {"iterations", learn_slog(n)}, {"padding", 1},
      {"fma", learn_slog(n)}, {"add", 0}, {"mul", 0}, {"div", 0}, {"cmp", 0}, {"special", 0},
      {"int_ops", 0}, {"is_reduction", 1});
  EXPECT(rows, {"n_loops", 5}, {"outer_iterations", learn_slog(1)}, {"tile_rows", learn_slog(8)},
      {"tile_vectors", learn_slog(2)}, {"vector_lanes", 1}, {"registers", 19 / 32.0},
      {"innermost_extent", learn_slog(64)}, {"reduce_inside", learn_slog(64)},
      {"max_unroll", learn_slog(4)}, {"inexact_loops", 0}, {"parts", learn_slog(8)},
      {"imbalance", 1}, {"part_iterations", learn_slog(n / 8)});
  // The figures of test_profile.c.
  EXPECT(rows, {"issue_cycles", learn_slog(8)}, {"load_cycles", learn_slog(7.5)},
      {"issue_share", 8 / 15.5}, {"cycles", learn_slog(1024 * 12.15)},
      {"to_l1_bytes", learn_slog(160 * kib)}, {"to_l2_bytes", learn_slog(16 * kib)},
      {"to_l3_bytes", learn_slog(16 * kib)},
      {"intensity_l1", learn_slog(16 * 2 * n / (160 * kib + 1))},
      {"intensity_l2", learn_slog(16 * 2 * n / (16 * kib + 1))},
      {"intensity_l3", learn_slog(16 * 2 * n / (16 * kib + 1))});
  // C, then B before A: it brings more into L1.
  EXPECT(rows, {"target_kind", SEER_NEST_ARG + 1}, {"target_guarded", 0},
      {"target_bytes", learn_slog(16 * kib)}, {"target_to_l1", learn_slog(16 * kib)},
      {"target_to_l2", 0}, {"target_to_l3", 0}, {"target_run_bytes", learn_slog(128)},
      {"target_stride", learn_slog(32)}, {"target_reuse", learn_slog(64)},
      {"target_tile_elems", learn_slog(256)}, {"target_row_conflict", 0});
  EXPECT(rows, {"a_kind", SEER_NEST_PACKED + 1}, {"a_to_l1", learn_slog(128 * kib)},
      {"a_to_l2", learn_slog(16 * kib)}, {"a_to_l3", learn_slog(16 * kib)},
      {"a_run_bytes", learn_slog(128)}, {"a_stride", learn_slog(1)},
      {"a_tile_elems", learn_slog(32)});
  EXPECT(rows, {"b_kind", SEER_NEST_ARG + 1}, {"b_to_l1", learn_slog(16 * kib)},
      {"b_run_bytes", learn_slog(256)}, {"b_stride", learn_slog(1)},
      {"b_tile_elems", learn_slog(8)}, {"c_kind", 0}, {"c_bytes", 0}, {"c_reuse", 0});
}

// Everything that learn_gemm leaves at its usual value, one after another.
static void columns_that_follow_a_field(void **state) {
  (void)state;
  learn_gemm(&nest);
  seer_nest_statement *st = &nest.statement[0];
  const double n = 64 * 64 * 64;
  st->n_add = 2;
  st->n_mul = 3;
  st->n_div = 4;
  st->n_cmp = 5;
  st->n_special = 6;
  st->n_int = 7;
  st->padded_iterations = 1.5 * n;
  st->first_own = 2;
  st->loop[1].is_exact = st->loop[2].is_exact = false;
  st->loop[1].is_reduce = true;
  st->access[0].row_pitch = 256;
  st->access[1].is_guarded = true;
  st->access[2].row_pitch = 256;
  nest.local_bytes = 1000;
  assert_int_equal(seer_feature_seer.extract(&nest, &test_target_wide, 2, rows), 1);
  EXPECT(rows, {"program_log_seconds", -1}, {"program_local_bytes", learn_slog(1000)},
      {"padding", 1.5}, {"fma", learn_slog(n)}, {"add", learn_slog(2 * n)},
      {"mul", learn_slog(3 * n)}, {"div", learn_slog(4 * n)}, {"cmp", learn_slog(5 * n)},
      {"special", learn_slog(6 * n)}, {"int_ops", learn_slog(7 * n)},
      {"outer_iterations", learn_slog(16)}, {"reduce_inside", learn_slog(128)},
      {"inexact_loops", 2}, {"target_guarded", 0}, {"b_guarded", 1}, {"a_guarded", 0},
      {"target_row_conflict", 1}, {"a_row_conflict", 0});  // packed: there are no rows
  // An exp counts eight, and integers nothing.
  double ops = (2 + 2 + 3 + 4 + 5 + 8 * 6) * n;
  double moved = exp2((double)rows[column("to_l2_bytes")]);
  EXPECT(rows, {"intensity_l2", learn_slog(16 * ops / moved)});
  // 3 parts on 2 threads are two waves for one and a half; half a vector.
  st->loop[0].extent = 3;
  st->loop[4].extent = 8;
  seer_feature_seer.extract(&nest, &test_target_wide, 1, rows);
  EXPECT(rows, {"parts", learn_slog(3)}, {"imbalance", 2 / 1.5}, {"vector_lanes", 0.5},
      {"part_iterations", learn_slog(n / 3)}, {"program_log_seconds", 0});
  // All that is left are tile loops: there is no innermost one.
  st->first_tile = 0;
  seer_feature_seer.extract(&nest, &test_target_wide, 1, rows);
  EXPECT(rows, {"innermost_extent", 0}, {"reduce_inside", learn_slog(1)});
}

// A row for each statement; the columns of the program are the same in all.
static void rows_of_several_statements(void **state) {
  (void)state;
  static seer_nest map;
  learn_gemm(&nest);
  learn_map(&map);
  nest.statement[1] = map.statement[0];
  nest.n_statement = 2;
  for (size_t i = 0; i < SEER_COUNT_OF(rows); i++) rows[i] = -7;
  assert_int_equal(seer_feature_seer.extract(&nest, &test_target_wide, 0.5, rows), 2);
  const float *second = rows + seer_feature_seer.n_column;
  EXPECT(
      rows, {"program_statements", 2}, {"fma", learn_slog(64 * 64 * 64)}, {"parts", learn_slog(8)});
  EXPECT(second, {"program_log_seconds", 1}, {"program_statements", 2},
      {"program_packed_bytes", learn_slog(16384)}, {"fma", 0}, {"add", learn_slog(4096)},
      {"parts", learn_slog(4)}, {"is_reduction", 0}, {"b_kind", 0});
  assert_true(second[seer_feature_seer.n_column] == -7);
}

static const char sched[] =
    "sched \"direct/tile(c)\" {\n"
    "  split c.m 1:1 2:1 3:8\n  split c.n 1:1 2:1 3:32\n  split c.k 1:%s\n"
    "  parallel c 1\n  unroll c 4\n}\n";

static const seer_nest *nest_of(
    const char *dag_text, const char *sched_text, seer_arena *arena, seer_nest *out) {
  seer_dag *dag = learn_parse(arena, dag_text);
  seer_sketch_list *list = learn_sketches(arena, dag, &test_target_wide);
  seer_schedule schedule;
  must(seer_schedule_parse(list, "test", sched_text, strlen(sched_text), &schedule));
  static seer_frame frame;
  seer_frame_make(list, &schedule, &frame);
  seer_nest_make(seer_nest_facts_build(list, arena), &frame, out);
  return out;
}

// From a text of a DAG and one of a schedule to columns: eight rows of blocks in parallel, in them
// k, in it a tile of 8 x 32. What a schedule says beyond the extents, names, and what was in memory
// before, make no difference; the number of copies does.
static void equal_schedules_have_equal_rows(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static float other[SEER_FEATURE_MAX];
  static const char renamed[] =
      "dag product {\n  weight $right f32[64, 64]\n  input $left f32[64, 64]\n"
      "  stage c role anchor [m:m<64, n:n<64] sum[k:k<64] = $left[m, k] * $right[k, n]\n"
      "  output $c\n}\n";
  const char *text = seer_arena_printf(arena, sched, "64");
  size_t n_bytes = seer_feature_seer.n_column * sizeof(float);
  memset(&nest, 0xA5, sizeof nest);
  assert_int_equal(nest_of(learn_nets[0].text, text, arena, &nest)->n_statement, 1);
  seer_feature_seer.extract(&nest, &test_target_wide, 1, rows);
  EXPECT(rows, {"iterations", learn_slog(64 * 64 * 64)}, {"fma", learn_slog(64 * 64 * 64)},
      {"mul", 0}, {"tile_rows", learn_slog(8)}, {"tile_vectors", learn_slog(2)},
      {"parts", learn_slog(8)}, {"innermost_extent", learn_slog(64)},
      {"target_run_bytes", learn_slog(128)}, {"max_unroll", learn_slog(4)},
      {"a_kind", SEER_NEST_PACKED + 1}, {"cycles", learn_slog(1024 * 12.15)}, {"n_loops", 5});
  memset(&nest, 0, sizeof nest);
  const char *beyond = seer_arena_printf(arena, sched, "4000");
  seer_feature_seer.extract(
      nest_of(learn_nets[0].text, beyond, arena, &nest), &test_target_wide, 1, other);
  assert_memory_equal(rows, other, n_bytes);
  seer_feature_seer.extract(nest_of(renamed, text, arena, &nest), &test_target_wide, 1, other);
  assert_memory_equal(rows, other, n_bytes);
  char *copies = seer_arena_strdup(arena, text);
  strstr(copies, "unroll c 4")[9] = '1';
  seer_feature_seer.extract(
      nest_of(learn_nets[0].text, copies, arena, &nest), &test_target_wide, 1, other);
  assert_true(memcmp(rows, other, n_bytes) != 0);
  seer_arena_destroy(arena);
}

// What holds of every row.
static void check_rows(
    void *user, const seer_sketch_list *list, const seer_schedule *schedule, const seer_nest *of) {
  (void)schedule;
  double seconds = seer_analytic_seconds(of, list->target);
  uint32_t n = seer_feature_seer.extract(of, list->target, seconds, rows);
  assert_int_equal(n, of->n_statement);
  assert_in_range(n, 1, SEER_NEST_MAX_STATEMENTS);
  static const char *const flags[] = {"is_reduction", "target_guarded", "a_guarded", "b_guarded",
      "c_guarded", "target_row_conflict", "a_row_conflict", "b_row_conflict", "c_row_conflict"};
  static const char *const of_program[] = {
      "program_log_seconds", "program_statements", "program_local_bytes", "program_packed_bytes"};
  for (uint32_t i = 0; i < n; i++) {
    const float *row = rows + i * seer_feature_seer.n_column;
    for (size_t c = 0; c < seer_feature_seer.n_column; c++) {
      if (!isfinite(row[c])) fail_msg("%s is %g", seer_feature_seer.column[c], (double)row[c]);
      if (row[c] < 0 && c != column("program_log_seconds"))
        fail_msg("%s is %g", seer_feature_seer.column[c], (double)row[c]);
    }
    for (size_t k = 0; k < SEER_COUNT_OF(flags); k++)
      assert_true(row[column(flags[k])] == 0 || row[column(flags[k])] == 1);
    for (size_t k = 0; k < SEER_COUNT_OF(of_program); k++)
      assert_true(row[column(of_program[k])] == rows[column(of_program[k])]);
    assert_true(row[column("vector_lanes")] > 0 && row[column("vector_lanes")] <= 1);
    assert_true(row[column("issue_share")] <= 1 && row[column("imbalance")] >= 1);
    assert_true(row[column("padding")] >= 0.999F);
    assert_true(row[column("target_kind")] >= 1);  // each statement writes something
    assert_true(row[column("a_to_l1")] >= row[column("b_to_l1")]);
    assert_true(row[column("b_to_l1")] >= row[column("c_to_l1")]);
  }
  *(uint32_t *)user += n;
}

static void rows_are_finite(void **state) {
  (void)state;
  uint32_t n = 0;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    for (uint32_t i = 0; i < learn_nets_count + 20; i++) {
      seer_arena *arena = seer_arena_create("test");
      seer_target target = test_target_read(test_target_names[m], arena);
      seer_dag *dag = i < learn_nets_count ? learn_parse(arena, learn_nets[i].text)
                                           : random_dag_of(i + 20 * m, arena);
      learn_each_schedule(dag, &target, 4, check_rows, &n);
      seer_arena_destroy(arena);
    }
  }
  assert_true(n > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_of_their_version),
      cmocka_unit_test(columns_of_a_product), cmocka_unit_test(columns_that_follow_a_field),
      cmocka_unit_test(rows_of_several_statements),
      cmocka_unit_test(equal_schedules_have_equal_rows), cmocka_unit_test(rows_are_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
