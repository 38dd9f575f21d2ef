// The estimate's order of kernels of products against times that an H200 took (doc/decisions/81;
// bench/gpu/products-h200.jsonl.gz has 9,659, from which these were taken: every so many-th of four
// shapes, whatever its time). Nothing is timed here: the times are data.
//   zcat bench/gpu/products-h200.jsonl.gz | build/bench/gpu_order --all --rows
#include <math.h>

#include "base/stats.h"
#include "support/gpu_measured.h"
#include "support/test.h"

// [m, n, k], tiles of m, n and k, A by depth, elements that one access fetches, pads, steps ahead,
// parts of k, copies, us
static const gpu_measured bert_qkv[] = {
    {128, 1024, 1024, {1, 7, 1, 8}, {1, 64, 1, 2}, {4, 1}, false, 2, 1, 0, 0, 1, 4, 1024, 34.84},
    {128, 1024, 1024, {1, 2, 1, 2}, {1, 32, 1, 4}, {4, 4}, false, 4, 4, 4, 0, 0, 8, 16, 25.15},
    {128, 1024, 1024, {1, 32, 1, 4}, {4, 8, 1, 8}, {1, 4}, true, 2, 1, 0, 4, 0, 1, 1024, 428.79},
    {128, 1024, 1024, {1, 4, 1, 8}, {1, 32, 2, 2}, {2, 8}, true, 2, 4, 0, 0, 1, 1, 512, 55.88},
    {128, 1024, 1024, {1, 8, 1, 1}, {2, 8, 1, 4}, {2, 4}, true, 2, 4, 0, 0, 0, 4, 512, 31.30},
    {128, 1024, 1024, {1, 32, 1, 4}, {2, 8, 2, 1}, {4, 1}, true, 4, 2, 4, 4, 3, 2, 1024, 67.60},
    {128, 1024, 1024, {1, 8, 1, 4}, {1, 16, 1, 4}, {4, 8}, false, 4, 4, 0, 0, 3, 3, 64, 17.30},
    {128, 1024, 1024, {1, 2, 2, 2}, {2, 64, 1, 4}, {2, 2}, true, 4, 4, 4, 0, 1, 1, 512, 164.50},
    {128, 1024, 1024, {2, 8, 1, 4}, {1, 32, 1, 4}, {4, 4}, false, 2, 4, 0, 0, 1, 4, 64, 22.09},
    {128, 1024, 1024, {1, 2, 1, 8}, {2, 32, 2, 1}, {2, 4}, true, 2, 4, 0, 4, 1, 8, 512, 13.96},
    {128, 1024, 1024, {1, 2, 1, 8}, {2, 32, 2, 1}, {2, 4}, true, 2, 4, 0, 0, 1, 8, 512, 14.03},
    {128, 1024, 1024, {1, 7, 1, 4}, {1, 32, 1, 4}, {1, 8}, true, 1, 4, 0, 0, 2, 16, 1024, 16.21},
    {128, 1024, 1024, {2, 4, 1, 2}, {1, 32, 1, 4}, {2, 8}, true, 4, 4, 0, 0, 1, 8, 1024, 14.41},
    {128, 1024, 1024, {2, 4, 1, 2}, {1, 32, 1, 4}, {2, 8}, true, 4, 4, 1, 0, 1, 8, 512, 15.33},
};
static const gpu_measured gpt2_qkv[] = {
    {1, 2304, 768, {1, 1, 1, 1}, {1, 64, 1, 1}, {2, 8}, true, 4, 2, 0, 0, 1, 1, 512, 30.04},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 1, 4}, {2, 2}, true, 1, 2, 4, 0, 2, 16, 512, 7.15},
    {1, 2304, 768, {1, 1, 1, 1}, {4, 64, 2, 1}, {4, 2}, false, 1, 4, 0, 0, 0, 16, 16, 21.07},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 64, 1, 4}, {8, 1}, false, 2, 2, 0, 4, 0, 16, 1024, 12.25},
    {1, 2304, 768, {1, 1, 1, 1}, {2, 32, 1, 4}, {4, 1}, true, 2, 2, 1, 0, 1, 16, 0, 10.88},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 64, 1, 1}, {4, 4}, false, 4, 1, 0, 0, 1, 2, 512, 16.14},
    {1, 2304, 768, {1, 1, 1, 1}, {4, 64, 1, 1}, {8, 2}, false, 2, 4, 0, 0, 1, 1, 512, 31.98},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 64, 1, 2}, {16, 2}, true, 4, 4, 1, 0, 3, 16, 512, 6.26},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 64, 2, 1}, {2, 8}, true, 2, 2, 0, 0, 2, 8, 64, 6.12},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 1, 4}, {1, 2}, false, 2, 1, 0, 0, 3, 2, 512, 33.97},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 2, 1}, {1, 16}, true, 4, 4, 0, 4, 2, 3, 512, 8.16},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 1, 1}, {8, 4}, false, 1, 2, 1, 0, 2, 16, 0, 5.94},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 1, 1}, {8, 4}, false, 1, 2, 4, 0, 2, 16, 64, 6.00},
    {1, 2304, 768, {1, 1, 1, 1}, {1, 32, 1, 1}, {8, 4}, true, 1, 2, 1, 0, 2, 8, 0, 5.90},
};
static const gpu_measured r50_s3_3x3[] = {
    {196, 256, 2304, {1, 4, 2, 1}, {1, 8, 1, 4}, {1, 4}, true, 1, 2, 1, 0, 3, 2, 512, 44.90},
    {196, 256, 2304, {1, 16, 2, 4}, {2, 32, 1, 1}, {1, 8}, false, 1, 2, 0, 0, 1, 1, 16, 323.18},
    {196, 256, 2304, {2, 8, 1, 4}, {1, 4, 1, 4}, {4, 2}, true, 1, 4, 0, 4, 0, 8, 512, 53.71},
    {196, 256, 2304, {1, 16, 1, 8}, {2, 16, 1, 4}, {4, 2}, false, 1, 1, 0, 0, 0, 4, 512, 105.95},
    {196, 256, 2304, {1, 2, 2, 1}, {1, 32, 2, 2}, {1, 4}, true, 2, 4, 0, 0, 2, 1, 0, 136.62},
    {196, 256, 2304, {1, 7, 1, 8}, {1, 64, 1, 4}, {4, 4}, true, 4, 2, 1, 0, 1, 2, 1024, 148.24},
    {196, 256, 2304, {1, 14, 2, 2}, {1, 32, 1, 1}, {8, 8}, false, 1, 1, 4, 4, 0, 1, 512, 102.08},
    {196, 256, 2304, {1, 32, 1, 4}, {2, 4, 1, 1}, {4, 8}, true, 4, 4, 1, 4, 1, 8, 16, 30.82},
    {196, 256, 2304, {1, 4, 2, 4}, {1, 64, 1, 2}, {2, 2}, false, 4, 1, 0, 0, 3, 16, 512, 18.18},
    {196, 256, 2304, {2, 4, 1, 4}, {1, 64, 1, 2}, {2, 2}, false, 4, 4, 0, 0, 3, 16, 512, 17.41},
    {196, 256, 2304, {1, 4, 2, 2}, {1, 16, 1, 4}, {2, 4}, true, 2, 2, 0, 0, 3, 16, 0, 19.86},
    {196, 256, 2304, {1, 4, 2, 2}, {1, 16, 1, 4}, {8, 1}, true, 2, 2, 0, 0, 1, 16, 0, 18.86},
    {196, 256, 2304, {1, 4, 2, 4}, {1, 64, 2, 2}, {1, 8}, false, 4, 4, 0, 4, 3, 16, 512, 15.27},
    {196, 256, 2304, {1, 8, 2, 4}, {1, 16, 2, 2}, {1, 16}, false, 4, 4, 0, 0, 3, 16, 512, 13.74},
};
static const gpu_measured r50_s1_1x1[] = {
    {3136, 256, 64, {1, 16, 1, 2}, {4, 4, 2, 4}, {4, 1}, true, 4, 1, 1, 0, 1, 4, 1024, 14.83},
    {3136, 256, 64, {2, 1, 1, 2}, {1, 64, 1, 4}, {4, 4}, true, 4, 4, 4, 0, 1, 1, 16, 8.36},
    {3136, 256, 64, {1, 8, 2, 8}, {4, 8, 1, 2}, {1, 2}, false, 2, 4, 4, 0, 1, 16, 64, 30.97},
    {3136, 256, 64, {4, 7, 1, 4}, {1, 64, 1, 1}, {4, 4}, true, 2, 1, 0, 0, 1, 4, 0, 13.37},
    {3136, 256, 64, {1, 7, 1, 8}, {1, 32, 2, 1}, {2, 4}, true, 1, 2, 4, 0, 3, 1, 64, 7.42},
    {3136, 256, 64, {2, 14, 1, 4}, {1, 16, 1, 1}, {8, 4}, true, 1, 4, 0, 0, 2, 1, 512, 15.89},
    {3136, 256, 64, {1, 8, 2, 1}, {1, 8, 2, 4}, {4, 1}, true, 2, 2, 0, 4, 0, 4, 512, 15.90},
    {3136, 256, 64, {1, 4, 2, 4}, {1, 32, 1, 2}, {4, 8}, true, 4, 4, 4, 0, 1, 2, 16, 9.10},
    {3136, 256, 64, {1, 4, 2, 4}, {1, 32, 1, 2}, {8, 1}, true, 2, 2, 1, 4, 0, 1, 1024, 7.50},
    {3136, 256, 64, {4, 4, 1, 4}, {1, 16, 1, 4}, {4, 8}, false, 4, 4, 0, 0, 0, 1, 512, 6.99},
    {3136, 256, 64, {2, 2, 1, 4}, {1, 32, 1, 2}, {4, 4}, true, 4, 2, 0, 4, 1, 1, 1024, 7.26},
    {3136, 256, 64, {1, 4, 2, 4}, {1, 16, 1, 2}, {4, 8}, true, 4, 4, 4, 0, 3, 1, 0, 7.01},
    {3136, 256, 64, {1, 4, 4, 4}, {1, 32, 1, 2}, {8, 4}, true, 4, 4, 4, 0, 1, 1, 512, 6.36},
    {3136, 256, 64, {1, 4, 1, 8}, {1, 32, 2, 2}, {4, 8}, false, 4, 4, 4, 0, 1, 1, 16, 6.59},
};
// Of shapes of ResNet-50 and MobileNetV2: what the space has as it is.
static const gpu_measured as_it_is[] = {
    {3136, 256, 64, {1, 32, 2, 1}, {1, 32, 2, 4}, {1, 4}, false, 1, 4, 1, 4, 0, 1, 16, 29.72},
    {3136, 256, 64, {1, 14, 1, 4}, {1, 16, 2, 8}, {2, 1}, false, 1, 1, 0, 4, 0, 1, 64, 34.87},
    {3136, 256, 64, {4, 8, 2, 1}, {1, 64, 1, 4}, {4, 4}, false, 1, 2, 0, 0, 0, 1, 1024, 10.76},
    {3136, 256, 64, {2, 16, 1, 2}, {2, 4, 1, 8}, {4, 4}, false, 4, 4, 4, 0, 0, 1, 16, 8.99},
    {784, 512, 256, {1, 2, 2, 4}, {2, 64, 1, 4}, {2, 1}, false, 2, 4, 0, 0, 0, 1, 512, 72.83},
    {784, 512, 256, {2, 32, 1, 4}, {2, 32, 1, 1}, {2, 2}, false, 1, 4, 1, 0, 0, 1, 512, 76.31},
    {784, 512, 256, {1, 1, 1, 4}, {1, 32, 2, 1}, {4, 4}, false, 4, 2, 0, 4, 0, 1, 512, 23.20},
    {784, 512, 256, {4, 8, 1, 4}, {1, 32, 1, 2}, {8, 4}, false, 2, 1, 0, 0, 0, 1, 1024, 23.13},
    {3136, 256, 64, {4, 4, 1, 4}, {1, 16, 1, 4}, {4, 8}, false, 4, 4, 0, 0, 0, 1, 512, 6.99},
    {3136, 256, 64, {2, 2, 1, 4}, {1, 32, 1, 2}, {4, 4}, false, 4, 2, 4, 4, 0, 1, 1024, 6.82},
    {784, 512, 256, {4, 4, 1, 2}, {2, 16, 1, 1}, {4, 8}, false, 2, 4, 0, 0, 0, 1, 512, 15.87},
    {784, 512, 256, {2, 4, 1, 4}, {1, 16, 2, 2}, {8, 8}, false, 4, 4, 0, 0, 0, 1, 0, 15.05},
    {784, 512, 256, {2, 4, 1, 4}, {1, 16, 2, 2}, {4, 16}, false, 4, 4, 0, 0, 0, 1, 0, 17.30},
    {3136, 256, 64, {1, 4, 1, 8}, {1, 32, 1, 2}, {2, 16}, false, 4, 4, 4, 0, 0, 1, 16, 5.97},
};

enum { MOST = 32 };

typedef struct {
  const char *name;
  const gpu_measured *rows;
  uint32_t n;
} sample;
#define SAMPLE(rows) \
  { #rows, rows, SEER_COUNT_OF(rows) }
static const sample samples[] = {
    SAMPLE(bert_qkv), SAMPLE(gpt2_qkv), SAMPLE(r50_s3_3x3), SAMPLE(r50_s1_1x1)};

static void estimate(const sample *s, const seer_target *target, double *out, double *out_us) {
  for (uint32_t i = 0; i < s->n; i++) {
    seer_kernel_profile kernels[SEER_PROFILE_MAX_KERNELS];
    uint32_t n;
    assert_true(gpu_measured_profile(&s->rows[i], target, kernels, &n));
    assert_int_equal(n, s->rows[i].split == 1 ? 1 : 2);
    out[i] = 1e6 * seer_kernels_seconds(kernels, n, target);
    out_us[i] = s->rows[i].us;
  }
}

static void it_orders_kernels_as_they_were_measured(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse("cuda:h200", arena, &target));
  double ranks[SEER_COUNT_OF(samples)];
  for (size_t k = 0; k < SEER_COUNT_OF(samples); k++) {
    const sample *s = &samples[k];
    double guess[MOST], us[MOST], off[MOST];
    assert_in_range(s->n, 10, MOST);
    estimate(s, &target, guess, us);
    for (uint32_t i = 0; i < s->n; i++) off[i] = fabs(log(guess[i] / us[i]));
    ranks[k] = gpu_measured_rank(guess, us, s->n);
    double error = exp(seer_median(off, s->n));
    print_message("%s: rank %.3f, %.2f times off in the median\n", s->name, ranks[k], error);
    assert_true(ranks[k] >= 0.75 && error < 1.4);
  }
  assert_true(seer_median(ranks, SEER_COUNT_OF(samples)) >= 0.85);
  seer_arena_destroy(arena);
}

// Without anything that is told by hand.
static void schedules_of_the_space_too(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse("cuda:h200", arena, &target));
  const sample all = SAMPLE(as_it_is);
  double guess[MOST], us[MOST];
  for (uint32_t i = 0; i < all.n; i++)
    assert_true(all.rows[i].ahead == 0 && all.rows[i].split == 1 && !all.rows[i].by_depth);
  estimate(&all, &target, guess, us);
  double rank = gpu_measured_rank(guess, us, all.n);
  print_message("of today's space: rank %.3f of %u\n", rank, all.n);
  assert_true(rank >= 0.85);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_orders_kernels_as_they_were_measured),
      cmocka_unit_test(schedules_of_the_space_too)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
