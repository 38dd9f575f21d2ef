// When a candidate has been timed for long enough, by made-up samples: no clock is read here.
#include "measure/timing.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "measure/wire/message.h"
#include "support/test.h"

static void near(double value, double want, double by) {
  if (!(fabs(value - want) <= by)) fail_msg("%.9g, not %.9g", value, want);
}

// Against tables of Student's distribution and sums by hand.
static void intervals_of_means(void **state) {
  (void)state;
  const double three[] = {9, 10, 11};  // deviation 1
  near(seer_mean(three, 3), 10, 1e-12);
  near(seer_mean_interval(three, 3), 2 * 4.303 / sqrt(3), 1e-9);
  assert_true(isinf(seer_mean_interval(three, 1)));
  double many[32];
  for (int i = 0; i < 32; i++) many[i] = i % 2 ? 1 : 3;
  near(seer_mean_interval(many, 32), 2 * 2.0395 * sqrt(32.0 / 31) / sqrt(32), 1e-3);
  near(seer_mean_interval(many, 22), 2 * 2.0796 * sqrt(22.0 / 21) / sqrt(22), 1e-3);
  for (int i = 0; i < 32; i++) many[i] = 7;
  assert_true(seer_mean_interval(many, 32) == 0);
}

// Samples one after the other until they are enough; each takes sample_s in all.
static uint32_t taken(const seer_timing *timing, const double *samples, double sample_s) {
  for (uint32_t n = 1;; n++) {
    assert_true(n <= SEER_MEASURE_MAX_SAMPLES);
    if (seer_timing_is_enough(timing, samples, n, n * sample_s)) return n;
  }
}

static void published_times_are_precise(void **state) {
  (void)state;
  const seer_timing *t = &seer_timing_published;
  double samples[SEER_MEASURE_MAX_SAMPLES];
  // Steady: three are enough, and never fewer, however long they last.
  for (int i = 0; i < 32; i++) samples[i] = 1e-3 * (1 + 1e-4 * (i % 3));
  assert_int_equal(taken(t, samples, 3e-3), 3);
  assert_int_equal(taken(t, samples, 2), 3);
  // 1 % up and down: the interval is 1.51 % of ten samples, and 1.40 % of eleven.
  for (int i = 0; i < 32; i++) samples[i] = 1e-3 * (i % 2 ? 1.01 : 0.99);
  uint32_t n = taken(t, samples, 3e-3);
  assert_true(seer_mean_interval(samples, n) <= 0.015 * seer_mean(samples, n));
  assert_true(seer_mean_interval(samples, n - 1) > 0.015 * seer_mean(samples, n - 1));
  assert_int_equal(n, 11);
  // 20 %: until 100 ms are over, or there is no room for more.
  for (int i = 0; i < 32; i++) samples[i] = 1e-3 * (i % 2 ? 1.2 : 0.8);
  assert_int_equal(taken(t, samples, 10.1e-3), 10);
  assert_int_equal(taken(t, samples, 1e-3), SEER_MEASURE_MAX_SAMPLES);
  // One burst: the mean has it.
  for (int i = 0; i < 32; i++) samples[i] = i == 1 ? 5 : 1;
  near(seer_timing_seconds(t, samples, 4), 2, 1e-12);
  // Samples as long as that all of them fill the 100 ms.
  near(seer_timing_sample_s(t) * SEER_MEASURE_MAX_SAMPLES, 0.1, 1e-12);
}

static void a_least_time_is_kept(void **state) {
  (void)state;
  double samples[SEER_MEASURE_MAX_SAMPLES];
  for (int i = 0; i < 32; i++) samples[i] = i == 1 ? 5 : 1;
  // As options say: so long, whatever the samples are like; the lower quartile.
  const seer_timing plain = {.least_s = 4e-3};
  assert_int_equal(taken(&plain, samples, 0.5e-3), 8);
  assert_int_equal(taken(&plain, samples, 5e-3), 3);
  assert_int_equal(taken(&plain, samples, 0.1e-3), 15);
  near(seer_timing_seconds(&plain, samples, 4), 1, 1e-12);
  near(seer_timing_sample_s(&plain), 4e-3 / 15, 1e-12);
  // Both: steady samples go on until it is over.
  seer_timing both = seer_timing_published;
  both.least_s = 30e-3;
  for (int i = 0; i < 32; i++) samples[i] = 1;
  assert_int_equal(taken(&both, samples, 3e-3), 10);
}

static void workers_are_told(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static seer_message_run order, read;
  order = (seer_message_run){.task = 4, .best_seconds = 2e-4, .timing = {1e-3, 0.015, 0.1}};
  order.kernel = (seer_kernel){.symbol = "k", .n_arg = 1, .object = "", .n_object_bytes = 0};
  order.kernel.arg[0].storage = SEER_STORE_LOCAL;
  seer_text text;
  seer_text_init(&text, arena);
  seer_message_put_run(&text, &order);
  must(seer_message_get_run(text.data, text.n_bytes, arena, &read));
  assert_memory_equal(&read.timing, &order.timing, sizeof read.timing);
  static const seer_timing wrong[] = {{-1, 0, 0}, {0, NAN, 0}, {0, 0, INFINITY}};
  for (size_t i = 0; i < SEER_COUNT_OF(wrong); i++) {
    order.timing = wrong[i];
    seer_text_init(&text, arena);
    seer_message_put_run(&text, &order);
    seer_status status = seer_message_get_run(text.data, text.n_bytes, arena, &read);
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(intervals_of_means),
      cmocka_unit_test(published_times_are_precise), cmocka_unit_test(a_least_time_is_kept),
      cmocka_unit_test(workers_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
