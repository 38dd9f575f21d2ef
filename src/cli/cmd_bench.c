// cmd_bench.c - familyseer bench: latency of a compiled model. Single runs are timed; the profile
// comes from runs of its own; --compare alternates two models on the same threads, so that the
// machine's drift falls on both.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "cli/command.h"
#include "cli/json.h"
#include "library/use.h"

typedef struct {
  double *ms;  // sorted after statistics
  size_t n;
  double min, median, mean, p90, p95, p99, stddev;
} samples;

// Nearest rank: the smallest value that at least this share of the samples does not exceed.
static double percentile(const samples *s, double share) {
  size_t rank = (size_t)ceil(share * (double)s->n);
  return s->ms[rank > 0 ? rank - 1 : 0];
}

static void finish(samples *s) {
  SEER_ASSERT(s->n > 0, "%zu samples", s->n);
  seer_sort_f64(s->ms, s->n);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < s->n; i++) sum += s->ms[i];
  s->mean = sum / (double)s->n;
  for (size_t i = 0; i < s->n; i++) squares += (s->ms[i] - s->mean) * (s->ms[i] - s->mean);
  s->stddev = s->n > 1 ? sqrt(squares / (double)(s->n - 1)) : 0;
  s->min = s->ms[0];
  s->median = seer_sorted_median(s->ms, s->n);
  s->p90 = percentile(s, 0.90);
  s->p95 = percentile(s, 0.95);
  s->p99 = percentile(s, 0.99);
}

static double timed_run(seer_use *use, seer_status *status) {
  uint64_t before = seer_os_now_ns();
  if (!*status) *status = seer_use_run(use);
  return (double)(seer_os_now_ns() - before) * 1e-6;
}

static void add(samples *s, double ms, seer_arena *arena, size_t *cap) {
  s->ms = SEER_GROW(arena, double, s->ms, s->n, cap);
  s->ms[s->n++] = ms;
}

static json_t *to_json(const samples *s, uint32_t threads, const seer_use *use) {
  return json_pack("{s:s, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:i, s:f}", "model",
      seer_text_safe_whole(use->arena, use->path), "inputs", seer_use_shapes(use, use->set),
      "on_device", use->n_on_device > 0, "min_ms", s->min, "median_ms", s->median, "mean_ms",
      s->mean, "p90_ms", s->p90, "p95_ms", s->p95, "p99_ms", s->p99, "stddev_ms", s->stddev, "n",
      (json_int_t)s->n, "threads", (int)threads, "throughput_per_s", 1000 / s->mean);
}

static void print_samples(const samples *s, uint32_t threads, const seer_use *use) {
  printf("%s, %u thread%s, %zu runs", use->path, threads, threads == 1 ? "" : "s", s->n);
  if (use->n_sets > 1) printf(", %s", seer_use_shapes(use, use->set));
  if (use->n_on_device > 0) printf(", inputs and outputs on the device");
  printf("\n");
  printf("  min %.4f ms   median %.4f   mean %.4f   P90 %.4f   P95 %.4f   P99 %.4f   stddev %.4f\n",
      s->min, s->median, s->mean, s->p90, s->p95, s->p99, s->stddev);
  printf("  throughput %.2f inferences/s\n", 1000 / s->mean);
}

// ---- profile

#define MIN_PROFILE_RUNS 20
#define MAX_PROFILE_RUNS 1000
#define PROFILE_MS 1000  // about as long is profiled

static uint32_t profile_runs(const samples *s) {
  double n = PROFILE_MS / s->median;
  return n < MIN_PROFILE_RUNS ? MIN_PROFILE_RUNS
      : n > MAX_PROFILE_RUNS  ? MAX_PROFILE_RUNS
                              : (uint32_t)n;
}

static int by_seconds(const void *a, const void *b) {
  double x = ((const seer_step_info *)a)->seconds, y = ((const seer_step_info *)b)->seconds;
  return x < y ? 1 : x > y ? -1 : 0;
}

typedef struct {
  double all_s, wait_s, cold_s;
} step_sum;

static step_sum add_steps(const seer_step_info *steps, int32_t n) {
  step_sum sum = {0, 0, 0};
  for (int32_t i = 0; i < n; i++) {
    sum.all_s += steps[i].seconds;
    sum.wait_s += steps[i].wait_seconds;
    sum.cold_s += steps[i].cold_seconds;
  }
  return sum;
}

static double gflops(const seer_step_info *step) {
  return step->seconds > 0 ? step->flops / step->seconds * 1e-9 : 0;
}

static void profile_json(const seer_step_info *steps, int32_t n, const step_sum *sum,
    seer_arena *arena, json_t *object) {
  json_t *list = json_array();
  for (int32_t i = 0; i < n; i++)
    json_array_append_new(list,
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "name",
            seer_text_safe_whole(arena, steps[i].name), "kind", steps[i].kind, "source",
            steps[i].source, "ms", steps[i].seconds * 1e3, "share",
            sum->all_s > 0 ? steps[i].seconds / sum->all_s : 0, "gflops", gflops(&steps[i]),
            "wait_ms", steps[i].wait_seconds * 1e3, "cold_ms", steps[i].cold_seconds * 1e3));
  json_object_set_new(object, "profile", list);
}

static double percent(double part, double of) { return of > 0 ? 100 * part / of : 0; }

static seer_status profile(seer_use *use, const samples *s, json_t *object) {
  int32_t n = seer_use_n_steps(use);
  seer_step_info *steps = SEER_NEW_ARRAY(use->arena, seer_step_info, n + 1);
  SEER_TRY(seer_use_time_steps(use, profile_runs(s), steps, n));
  qsort(steps, (size_t)n, sizeof *steps, by_seconds);
  step_sum sum = add_steps(steps, n);
  if (object) {
    profile_json(steps, n, &sum, use->arena, object);
    return SEER_OK;
  }
  printf("\n%9s %7s %7s %6s %6s %9s  %-8s %s\n", "ms", "share", "sum", "wait", "cold", "GFLOP/s",
      "source", "step");
  double so_far = 0;
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(steps[i].kind, "view") == 0) continue;
    so_far += steps[i].seconds;
    printf("%9.4f %6.1f%% %6.1f%% %5.1f%% %5.1f%% %9.1f  %-8s %s\n", steps[i].seconds * 1e3,
        percent(steps[i].seconds, sum.all_s), percent(so_far, sum.all_s),
        percent(steps[i].wait_seconds, steps[i].seconds),
        percent(steps[i].cold_seconds, steps[i].seconds), gflops(&steps[i]),
        strcmp(steps[i].kind, "kernel") == 0 ? steps[i].source : steps[i].kind,
        seer_text_safe(use->arena, steps[i].name));
  }
  printf("%9.4f  sum of the steps: %.1f %% work, %.1f %% waiting for threads, %.1f %% cold start\n",
      sum.all_s * 1e3, percent(sum.all_s - sum.wait_s - sum.cold_s, sum.all_s),
      percent(sum.wait_s, sum.all_s), percent(sum.cold_s, sum.all_s));
  printf("%9.4f  latency: %.1f %% of it is between the steps\n", s->median,
      percent(s->median - sum.all_s * 1e3, s->median));
  return SEER_OK;
}

// ---- one model, or two in turns
static seer_status measure(const seer_context *context, seer_use *a, seer_use *b, samples *of_a,
    samples *of_b, double *out_ratio) {
  seer_status status = SEER_OK;
  for (int64_t i = seer_context_i64(context, SEER_OPT_WARMUP); i > 0 && !status; i--) {
    timed_run(a, &status);
    if (b) timed_run(b, &status);
  }
  int64_t least = seer_context_i64(context, SEER_OPT_ITERATIONS);
  uint64_t until =
      seer_os_now_ns() + (uint64_t)(seer_context_f64(context, SEER_OPT_DURATION) * 1e9);
  size_t cap_a = 0, cap_b = 0, cap_ratio = 0;
  samples ratio = {0};
  for (int64_t i = 0; !status && (i < least || seer_os_now_ns() < until); i++) {
    double ms_b = 0, ms_a = 0;
    if (b && i % 2) ms_b = timed_run(b, &status);
    ms_a = timed_run(a, &status);
    if (b && i % 2 == 0) ms_b = timed_run(b, &status);
    add(of_a, ms_a, a->arena, &cap_a);
    if (!b) continue;
    add(of_b, ms_b, a->arena, &cap_b);
    add(&ratio, ms_a / ms_b, a->arena, &cap_ratio);
  }
  if (status) return status;
  finish(of_a);
  if (!b) return SEER_OK;
  finish(of_b);
  finish(&ratio);
  *out_ratio = ratio.median;
  return SEER_OK;
}

static seer_status bench_one(seer_context *context, seer_use *use) {
  samples s = {0};
  bool is_json = seer_context_bool(context, SEER_OPT_JSON);
  SEER_TRY(measure(context, use, NULL, &s, NULL, NULL));
  uint32_t threads = use->api->pool_threads(use->pool);
  json_t *object = is_json ? to_json(&s, threads, use) : NULL;
  if (!is_json) print_samples(&s, threads, use);
  if (seer_context_bool(context, SEER_OPT_PROFILE)) SEER_TRY(profile(use, &s, object));
  return is_json ? seer_cli_put_json(object) : SEER_OK;
}

static seer_status bench_two(seer_context *context, seer_use *a, seer_use *b) {
  samples of_a = {0}, of_b = {0};
  double ratio = 0;
  SEER_TRY(measure(context, a, b, &of_a, &of_b, &ratio));
  uint32_t threads = a->api->pool_threads(a->pool);
  if (seer_context_bool(context, SEER_OPT_JSON)) {
    json_t *object = to_json(&of_a, threads, a);
    json_object_set_new(object, "other", to_json(&of_b, threads, b));
    json_object_set_new(object, "ratio", json_real(ratio));
    return seer_cli_put_json(object);
  }
  print_samples(&of_a, threads, a);
  print_samples(&of_b, threads, b);
  printf("ratio %.4f (median of %s / %s over %zu pairs): the %s is %.2f times as fast\n", ratio,
      a->path, b->path, of_a.n, ratio <= 1 ? "first" : "second", ratio <= 1 ? 1 / ratio : ratio);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_context_arena(context);
  const char *other = seer_context_str(context, SEER_OPT_COMPARE);
  seer_use a = {0}, b = {0};
  seer_status status = seer_use_open(context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS),
      NULL, seer_context_bool(context, SEER_OPT_PIN), arena, &a);
  if (!status) status = seer_use_choose(context, &a);
  if (!status) status = seer_use_fill(context, &a);
  bool is_on_device = seer_context_bool(context, SEER_OPT_ON_DEVICE);
  if (!status && is_on_device) status = seer_use_move_to_device(&a);
  if (!status && *other) status = seer_use_open(context, other, "", a.pool, false, arena, &b);
  if (!status && *other) status = seer_use_choose(context, &b);
  if (!status && *other) status = seer_use_fill(context, &b);
  if (!status && *other && is_on_device) status = seer_use_move_to_device(&b);
  if (!status) status = *other ? bench_two(context, &a, &b) : bench_one(context, &a);
  seer_use_close(&b);
  seer_use_close(&a);
  return status;
}

const seer_command seer_command_bench = {
    .name = "bench",
    .args =
        "MODEL.so [--threads N] [--input-shapes x:1x8] [--iterations N] [--duration 2s] "
        "[--profile] [--compare OTHER.so] [--on-device] "
        "[--json]",
    .doc =
        "latency of a compiled model: minimum, median, percentiles, time of each step; two models "
        "in turns",
    .example =
        "  familyseer bench out/model.so\n"
        "  familyseer bench out/model.so --compare other/model.so\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
