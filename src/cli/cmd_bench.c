// cmd_bench.c - familyseer bench: latency of a compiled model. Single runs are timed; the profile
// comes from runs of its own; --compare alternates two models on the same threads, so that the
// machine's drift falls on both; --streams runs one model several times at once.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/rival.h"
#include "cli/samples.h"
#include "cli/streams.h"
#include "library/use.h"

static double timed_run(seer_use *use, seer_status *status) {
  uint64_t before = seer_os_now_ns();
  if (!*status) *status = seer_use_run(use);
  return (double)(seer_os_now_ns() - before) * 1e-6;
}

static json_t *to_json(const seer_samples *s, uint32_t threads, const seer_use *use) {
  json_t *object =
      json_pack("{s:s, s:s, s:b, s:i, s:f}", "model", seer_text_safe_whole(use->arena, use->path),
          "inputs", seer_use_shapes(use, use->set), "on_device", use->n_on_device > 0, "threads",
          (int)threads, "throughput_per_s", 1000 / s->mean);
  seer_samples_put(s, object);
  return object;
}

static void print_samples(const seer_samples *s, uint32_t threads, const seer_use *use) {
  printf("%s, %u thread%s, %zu runs", use->path, threads, threads == 1 ? "" : "s", s->n);
  if (use->n_sets > 1) printf(", %s", seer_use_shapes(use, use->set));
  if (use->n_on_device > 0) printf(", inputs and outputs on the device");
  printf("\n");
  seer_samples_print(s);
  printf("  throughput %.2f inferences/s\n", 1000 / s->mean);
}

// ---- profile

#define MIN_PROFILE_RUNS 20
#define MAX_PROFILE_RUNS 1000
#define PROFILE_MS 1000  // about as long is profiled

static uint32_t profile_runs(const seer_samples *s) {
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

static seer_status profile(seer_use *use, const seer_samples *s, json_t *object) {
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
static seer_status measure(const seer_context *context, seer_use *a, seer_use *b,
    seer_samples *of_a, seer_samples *of_b, double *out_ratio) {
  seer_status status = SEER_OK;
  for (int64_t i = seer_context_i64(context, SEER_OPT_WARMUP); i > 0 && !status; i--) {
    timed_run(a, &status);
    if (b) timed_run(b, &status);
  }
  int64_t least = seer_context_i64(context, SEER_OPT_ITERATIONS);
  uint64_t until =
      seer_os_now_ns() + (uint64_t)(seer_context_f64(context, SEER_OPT_DURATION) * 1e9);
  seer_samples ratio = {0};
  for (int64_t i = 0; !status && (i < least || seer_os_now_ns() < until); i++) {
    double ms_b = 0, ms_a = 0;
    if (b && i % 2) ms_b = timed_run(b, &status);
    ms_a = timed_run(a, &status);
    if (b && i % 2 == 0) ms_b = timed_run(b, &status);
    seer_samples_add(of_a, ms_a, a->arena);
    if (!b) continue;
    seer_samples_add(of_b, ms_b, a->arena);
    seer_samples_add(&ratio, ms_a / ms_b, a->arena);
  }
  if (status) return status;
  seer_samples_finish(of_a);
  if (!b) return SEER_OK;
  seer_samples_finish(of_b);
  seer_samples_finish(&ratio);
  *out_ratio = ratio.median;
  return SEER_OK;
}

static seer_status bench_one(seer_context *context, seer_use *use) {
  seer_samples s = {0};
  bool is_json = seer_context_bool(context, SEER_OPT_JSON);
  SEER_TRY(measure(context, use, NULL, &s, NULL, NULL));
  uint32_t threads = use->api->pool_threads(use->pool);
  json_t *object = is_json ? to_json(&s, threads, use) : NULL;
  if (!is_json) print_samples(&s, threads, use);
  if (seer_context_bool(context, SEER_OPT_PROFILE)) SEER_TRY(profile(use, &s, object));
  return is_json ? seer_cli_put_json(object) : SEER_OK;
}

static seer_status bench_two(seer_context *context, seer_use *a, seer_use *b) {
  seer_samples of_a = {0}, of_b = {0};
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

static seer_status bench_streams(seer_context *context, const seer_use *use) {
  seer_streams streams;
  SEER_TRY(seer_streams_run(context, use, &streams));
  double throughput = (double)streams.of_run.n / streams.seconds;
  if (seer_context_bool(context, SEER_OPT_JSON)) {
    json_t *object = to_json(&streams.of_run, streams.n_threads, use);
    json_object_set_new(object, "streams", json_integer(streams.n_streams));
    json_object_set_new(object, "throughput_per_s", json_real(throughput));
    return seer_cli_put_json(object);
  }
  printf("%s, %u streams of %u thread%s each, %zu runs in %.1f s\n", use->path, streams.n_streams,
      streams.n_threads, streams.n_threads == 1 ? "" : "s", streams.of_run.n, streams.seconds);
  seer_samples_print(&streams.of_run);
  printf("  throughput %.2f inferences/s of all streams together\n", throughput);
  return SEER_OK;
}

static seer_status bench_rival(
    seer_context *context, seer_use *use, const char *model, const cpu_set_t *processors) {
  seer_rival rival;
  seer_status status = SEER_OK;
  for (int64_t i = seer_context_i64(context, SEER_OPT_WARMUP); i > 0 && !status; i--)
    timed_run(use, &status);
  SEER_TRY(status);
  SEER_TRY(seer_rival_race(
      context, use, model, processors, seer_context_f64(context, SEER_OPT_DURATION), &rival));
  uint32_t threads = use->api->pool_threads(use->pool);
  if (seer_context_bool(context, SEER_OPT_JSON)) {
    json_t *object = to_json(&rival.ours, threads, use);
    seer_rival_put(&rival, object);
    return seer_cli_put_json(object);
  }
  print_samples(&rival.ours, threads, use);
  printf("ONNX Runtime %s, as many threads, %zu runs\n", rival.version, rival.theirs.n);
  seer_samples_print(&rival.theirs);
  printf("%s\n", seer_rival_text(&rival, use->path, use->arena));
  return SEER_OK;
}

// One thing at a time is compared, and steps that run beside others' have no times of their own.
static seer_status check_comparison(const seer_context *context, const char *model) {
  bool has_rival = seer_context_is_set(context, SEER_OPT_AGAINST);
  if (has_rival && !model)
    return seer_usage_error(
        "--against needs the network that the library was made of: bench MODEL.so MODEL");
  if (!has_rival && model)
    return seer_usage_error(
        "what is '%s' for? A network stands there with --against onnxruntime", model);
  if (has_rival && *seer_context_str(context, SEER_OPT_COMPARE))
    return seer_usage_error("--against and --compare: one at a time takes turns with the library");
  if (seer_context_i64(context, SEER_OPT_STREAMS) == 1) return SEER_OK;
  if (has_rival) return seer_usage_error("--streams and --against: turns are of one stream");
  if (*seer_context_str(context, SEER_OPT_COMPARE))
    return seer_usage_error("--streams and --compare: two libraries are compared run by run");
  if (seer_context_bool(context, SEER_OPT_PROFILE))
    return seer_usage_error("--streams and --profile: steps are timed in one stream alone");
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  const char *model = argc > 1 ? argv[1] : NULL;
  cpu_set_t processors;  // before threads are pinned
  SEER_TRY(check_comparison(context, model));
  bool is_known = sched_getaffinity(0, sizeof processors, &processors) == 0;
  bool is_alone = seer_context_i64(context, SEER_OPT_STREAMS) == 1;
  seer_arena *arena = seer_context_arena(context);
  const char *other = seer_context_str(context, SEER_OPT_COMPARE);
  seer_use a = {0}, b = {0};
  seer_status status = seer_use_open(context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS),
      NULL, is_alone && seer_context_bool(context, SEER_OPT_PIN), arena, &a);
  if (!status) status = seer_use_choose(context, &a);
  if (!status) status = seer_use_fill(context, &a);
  bool is_on_device = seer_context_bool(context, SEER_OPT_ON_DEVICE);
  if (!status && is_on_device) status = seer_use_move_to_device(&a);
  if (!status && *other) status = seer_use_open(context, other, "", a.pool, false, arena, &b);
  if (!status && *other) status = seer_use_choose(context, &b);
  if (!status && *other) status = seer_use_fill(context, &b);
  if (!status && *other && is_on_device) status = seer_use_move_to_device(&b);
  if (!status)
    status = *other ? bench_two(context, &a, &b)
        : model     ? bench_rival(context, &a, model, is_known ? &processors : NULL)
        : is_alone  ? bench_one(context, &a)
                    : bench_streams(context, &a);
  seer_use_close(&b);
  seer_use_close(&a);
  return status;
}

const seer_command seer_command_bench = {
    .name = "bench",
    .args =
        "MODEL.so [MODEL --against onnxruntime] [--threads N] [--input-shapes x:1x8] [--iterations "
        "N] [--duration 2s] "
        "[--profile] [--compare OTHER.so] [--streams N] [--on-device] [--json]",
    .doc =
        "latency of a compiled model: minimum, median, percentiles, time of each step; two models "
        "in turns; throughput of several streams; beside ONNX Runtime",
    .example =
        "  familyseer bench out/model.so\n"
        "  familyseer bench out/model.so --compare other/model.so\n"
        "  familyseer bench out/model.so --streams 2 --threads 2\n"
        "  familyseer bench out/model.so my.onnx --against onnxruntime\n",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
