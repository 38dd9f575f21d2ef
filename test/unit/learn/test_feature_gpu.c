// Rows of GPU schedules: a product by hand, and what holds of every row of random schedules of
// random DAGs; sets of features are of processors or of GPUs, and each kind of target has one.
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "learn/feature.h"
#include "learn_nets.h"
#include "space/sketch.h"
#include "support/random_dag.h"
#include "support/test.h"

static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];
#define EXPECT(row, ...) LEARN_EXPECT(&seer_feature_gpu, row, __VA_ARGS__)

// Files of models know the version alone: whoever changes columns changes it.
static void columns_are_of_their_version(void **state) {
  (void)state;
  uint64_t sum = seer_feature_gpu.version;
  for (size_t c = 0; c < seer_feature_gpu.n_column; c++) {
    sum = seer_hash_str(seer_feature_gpu.column[c], sum);
    for (size_t k = 0; k < c; k++)
      assert_string_not_equal(seer_feature_gpu.column[c], seer_feature_gpu.column[k]);
  }
  assert_int_equal(seer_feature_gpu.n_column, 41);
  assert_int_equal(sum, UINT64_C(0x79df8d79367d6311));
}

static void each_kind_of_target_has_a_set(void **state) {
  (void)state;
  for (size_t k = 0; k < seer_feature_set_table_count; k++) {
    const seer_feature_set *set = seer_feature_set_table[k];
    for (int kind = 0; kind < SEER_TARGET_KIND_COUNT; kind++) {
      const seer_feature_set *of = seer_feature_set_of(set, (seer_target_kind)kind);
      assert_int_equal(of->is_of_items, kind != SEER_TARGET_CPU);
      if (set->is_of_items == of->is_of_items) assert_ptr_equal(of, set);
    }
  }
  assert_ptr_equal(seer_feature_set_of(&seer_feature_program, SEER_TARGET_CUDA), &seer_feature_gpu);
}

// 64x128 by 256: tiles of 32x64 by 64 items that have 4x8 sums each, steps of 16, by 2 terms
// that are written out; what is fetched in groups of four, and A's rows with a pad of 4.
static const char product[] =
    "dag product {\n  input $A f32[64, 256]\n  weight $B f32[256, 128]\n"
    "  stage C role anchor [m:m<64, n:n<128] sum[k:k<256] = $A[m, k] * $B[k, n]\n  output $C\n}\n";
static const char schedule_text[] =
    "sched \"direct/cachewrite(C)/fetch(C)/fuse@1(C)\" {\n"
    "  split C.m 1:1 2:8 3:1 4:4\n  split C.n 1:1 2:8 3:1 4:8\n  split C.k 1:8 2:2\n"
    "  width A.fetch 4\n  pad A.fetch 4\n  width B.fetch 4\n  unroll C 0\n}\n";

static void a_product_by_hand(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  seer_schedule schedule;
  must(seer_target_parse("cuda:h200", arena, &target));
  seer_sketch_list *list = learn_sketches(arena, learn_parse(arena, product), &target);
  must(seer_schedule_parse(list, "test", schedule_text, strlen(schedule_text), &schedule));
  const seer_nest *nest = seer_summarise(seer_summariser_create(list, arena), &schedule);
  assert_int_equal(seer_feature_gpu.extract(nest, &target, 1.0 / 1024, rows), 1);
  EXPECT(rows, {"program_log_seconds", 10}, {"program_kernels", learn_slog(1)},
      {"program_packed_bytes", learn_slog(256 * 128 * 4)}, {"blocks", learn_slog(4)},
      {"items", learn_slog(64)}, {"sums", learn_slog(32)}, {"operands", learn_slog(12)},
      {"depth", learn_slog(1)}, {"workgroup_bytes", learn_slog(4 * (32 * 20 + 16 * 64))},
      {"imbalance", 33}, {"ahead", 0}, {"l1_waits", 0});
  // 256 terms of 32 sums by two warps; two barriers a step; each term waits for what it reads.
  EXPECT(rows, {"fmas", learn_slog(2 * 256 * 32)}, {"steps", learn_slog(16)},
      {"barriers", learn_slog(32)}, {"near_waits", learn_slog(256)});
  // Each step A's and B's groups are stored, 128 and 256 for 64 items; each term reads four
  // rows' words one by one (a row ends between them), and eight neighbours as two.
  EXPECT(rows, {"group_requests", learn_slog(2 * (16 * (2 + 4) + 256 * (4 + 2)))});
  // As many loads of 16 bytes, and 32 results of an item in groups of four.

  EXPECT(rows, {"requests", learn_slog(2 * (16 * (2 + 4) + 4 * 2))},
      {"fetch_dram_waits", learn_slog(16)}, {"fetch_l2_waits", 0});
  EXPECT(rows, {"flops", learn_slog(2.0 * 64 * 128 * 256)},
      {"weight_bytes", learn_slog(256 * 128 * 4)}, {"read_bytes", learn_slog(64 * 256 * 4)},
      {"written_bytes", learn_slog(64 * 128 * 4)});
  seer_arena_destroy(arena);
}

static void check_rows(
    void *user, const seer_sketch_list *list, const seer_schedule *schedule, const seer_nest *of) {
  (void)schedule;
  double seconds = seer_analytic_seconds(of, list->target);
  uint32_t n = seer_feature_gpu.extract(of, list->target, seconds, rows);
  assert_int_equal(n, of->n_phase);
  assert_in_range(n, 1, SEER_NEST_MAX_STATEMENTS);
  for (uint32_t i = 0; i < n; i++) {
    const float *row = rows + i * seer_feature_gpu.n_column;
    for (size_t c = 0; c < seer_feature_gpu.n_column; c++) {
      bool is_log = c == learn_column(&seer_feature_gpu, "program_log_seconds");
      if (!isfinite(row[c]) || (row[c] < 0 && !is_log))
        fail_msg("%s is %g", seer_feature_gpu.column[c], (double)row[c]);
    }
    assert_true(row[0] == rows[0] && row[1] == rows[1] && row[2] == rows[2]);
    assert_true(row[learn_column(&seer_feature_gpu, "imbalance")] >= 1);
    assert_true(row[learn_column(&seer_feature_gpu, "fma_share")] <= 1);
    float degree = row[learn_column(&seer_feature_gpu, "group_degree")];
    assert_true(degree == 0 || (degree >= 0.99F && degree <= 32));
    assert_true(row[learn_column(&seer_feature_gpu, "request_sectors")] <= 32);
  }
  *(uint32_t *)user += n;
}

static void rows_are_finite(void **state) {
  (void)state;
  static const char *const names[] = {"cuda:h200", "cuda:v100", "opencl:generic", "opencl:cpu"};
  uint32_t n = 0;
  for (uint32_t m = 0; m < SEER_COUNT_OF(names); m++) {
    for (uint32_t i = 0; i < learn_nets_count + 20; i++) {
      seer_arena *arena = seer_arena_create("test");
      seer_target target;
      must(seer_target_parse(names[m], arena, &target));
      seer_dag *dag = i < learn_nets_count ? learn_parse(arena, learn_nets[i].text)
                                           : random_dag_of(i + 20 * m, arena);
      learn_each_schedule(dag, &target, 4, check_rows, &n);
      seer_arena_destroy(arena);
    }
  }
  assert_true(n > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_of_their_version),
      cmocka_unit_test(each_kind_of_target_has_a_set), cmocka_unit_test(a_product_by_hand),
      cmocka_unit_test(rows_are_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
