// local.c - requests -> builder processes -> objects -> the runner process -> times.
// Building and timing alternate: while the runner times, the builders wait, since their cores are
// the ones that are timed. Workers live as long as the session; one that crashes or hangs is
// replaced, at the cost of the candidate it had.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"
#include "measure/local/inside.h"

#define RUN_LIMIT_FACTOR 500  // of the best known time, plus RUN_LIMIT_SLACK_S
#define RUN_LIMIT_SLACK_S 2.0
// A comparison's or a check's: so many times what its runs are known to take. Of a kernel that was
// never timed each run may take as long as --timeout says.
#define KNOWN_LIMIT_FACTOR 10
#define UNCOUNTED_RUNS 4  // of each kernel, before its pairs
#define SLOW_REFERENCE 200  // times the candidate: what it is checked against is not tiled

// What is known of a kernel that has been timed: all that a twin of it needs, as values of a table.
typedef struct {
  double seconds;
  seer_measured_class cls;
  bool is_raced_out;
} twin;
enum { TWIN_VALUES = 2 };
_Static_assert(sizeof(twin) <= TWIN_VALUES * sizeof(uint64_t), "a twin fits");

// ---- running
// Sends to the runner and waits for the answer. *out_class is not OK when there is none: the runner
// died or hung (`message` says which, and it is started again).
static seer_status ask_runner(seer_measurer *m, uint32_t task, seer_wire_type type,
    const seer_text *text, double limit_s, const void **out_payload, size_t *out_n,
    seer_measured_class *out_class, char message[SEER_MEASURE_MESSAGE_BYTES]) {
  uint64_t index;
  SEER_TRY(seer_local_index_of(m, task, &index));
  *out_class = SEER_MEASURED_OK;
  seer_status status = seer_child_ask(&m->runner, index, &m->task[index].message, type, text);
  if (status && seer_status_code(status) == SEER_CODE_DEVICE) return status;
  if (!status)
    status = seer_child_answer(
        &m->runner, type, m->batch, seer_local_ns_of(limit_s), out_payload, out_n);
  if (!status) return SEER_OK;
  seer_code code = seer_status_code(status);
  *out_class = code == SEER_CODE_TIMEOUT ? SEER_MEASURED_RUN_TIMEOUT : SEER_MEASURED_RUN_CRASH;
  (void)snprintf(message, SEER_MEASURE_MESSAGE_BYTES, "%s",
      code == SEER_CODE_TIMEOUT ? "the run took too long" : seer_status_message(status));
  if (code == SEER_CODE_IO) seer_child_bury(&m->runner, message, SEER_MEASURE_MESSAGE_BYTES);
  seer_status_free(status);
  return seer_child_restart(&m->runner);
}

// An answer that cannot be read is a runner that cannot be trusted any more.
static seer_status distrust(seer_measurer *m, seer_status status, seer_measured_class *out_class,
    char message[SEER_MEASURE_MESSAGE_BYTES]) {
  if (!status) return SEER_OK;
  *out_class = SEER_MEASURED_RUN_CRASH;
  (void)snprintf(message, SEER_MEASURE_MESSAGE_BYTES, "%s", seer_status_message(status));
  seer_status_free(status);
  return seer_child_restart(&m->runner);
}

static uint64_t twin_key(uint32_t task, uint64_t object_hash) {
  return seer_hash_u64(object_hash, task + 1);
}

// What one run of a kernel takes, as far as it was timed; else the longest that it may.
static double run_seconds(seer_measurer *m, uint32_t task, const seer_built *build) {
  const uint64_t *known = seer_table_values(&m->twins, twin_key(task, build->object_hash));
  twin first = {0};
  if (known) memcpy(&first, known, sizeof first);
  bool is_timed = known && first.cls == SEER_MEASURED_OK && first.seconds > 0;
  return is_timed ? fmin(m->run_timeout_s, KNOWN_LIMIT_FACTOR * first.seconds) : m->run_timeout_s;
}

static void result_of_twin(const twin *t, seer_measure_result *out) {
  *out = (seer_measure_result){.cls = t->cls,
      .is_raced_out = t->is_raced_out,
      .is_twin = true,
      .seconds = t->seconds,
      .n_samples = t->seconds > 0,
      .sample = {t->seconds}};
  if (t->cls != SEER_MEASURED_OK)
    (void)snprintf(out->message, sizeof out->message, "as equal code before it");
}

// A request's own timing lasts as long as --min-repeat says, where it was given.
static seer_timing timing_of(const seer_measurer *m, const seer_measure_request *request) {
  seer_timing timing = request->timing ? *request->timing : m->timing;
  if (seer_context_is_set(m->context, SEER_OPT_MIN_REPEAT)) timing.least_s = m->timing.least_s;
  return timing;
}

static seer_status time_one(seer_measurer *m, const seer_measure_request *request,
    const seer_built *build, seer_measure_result *result) {
  seer_message_run *message = SEER_NEW(m->batch, seer_message_run);
  *message = (seer_message_run){
      request->task, request->best_seconds, timing_of(m, request), *build->kernel};
  seer_text text;
  seer_text_init(&text, m->batch);
  seer_message_put_run(&text, message);
  double limit = m->run_timeout_s;
  if (request->best_seconds > 0)
    limit = fmin(limit, RUN_LIMIT_SLACK_S + RUN_LIMIT_FACTOR * request->best_seconds);
  const void *payload;
  size_t n_bytes;
  seer_measured_class cls;
  char why[SEER_MEASURE_MESSAGE_BYTES];
  SEER_TRY(
      ask_runner(m, request->task, SEER_WIRE_RUN, &text, limit, &payload, &n_bytes, &cls, why));
  if (cls == SEER_MEASURED_OK) {
    seer_status status = seer_message_get_result(payload, n_bytes, m->batch, result);
    if (!status && result->cls == SEER_MEASURED_OK && result->n_samples == 0)
      status = SEER_FAIL(CORRUPT, "a result without samples");
    SEER_TRY(distrust(m, status, &cls, why));
  }
  if (cls != SEER_MEASURED_OK) {
    memset(result, 0, sizeof(*result));
    seer_local_refuse(result, cls, why);
  }
  return SEER_OK;
}

static seer_status run_one(seer_measurer *m, const seer_measure_request *request,
    const seer_built *build, seer_measure_result *result) {
  uint64_t key = twin_key(request->task, build->object_hash);
  const uint64_t *known = request->is_witness ? NULL : seer_table_values(&m->twins, key);
  if (known) {
    twin first;
    memcpy(&first, known, sizeof first);
    result_of_twin(&first, result);
    return SEER_OK;
  }
  SEER_TRY(time_one(m, request, build, result));
  result->build_s = build->build_s;
  // A crash may have been the runner's own, killed by somebody: its twins get a chance.
  if (request->is_witness || result->cls == SEER_MEASURED_RUN_CRASH) return SEER_OK;
  const twin first = {result->seconds, result->cls, result->is_raced_out};
  (void)seer_table_add(&m->twins, key);
  memcpy(seer_table_values(&m->twins, key), &first, sizeof first);
  return SEER_OK;
}

// ---- measuring
typedef struct {
  seer_measurer *m;
  const seer_measure_request *requests;
  uint32_t n;
  seer_built *builds;
  seer_measure_result *results;
} all_builds;

static seer_status build_all_of(void *user) {
  all_builds *all = user;
  return seer_builders_build(all->m, all->requests, all->n, all->builds, all->results);
}

static seer_status local_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  seer_arena_reset(m->batch);
  seer_built *builds = SEER_NEW_ARRAY(m->batch, seer_built, n);
  memset(results, 0, n * sizeof(*results));
  for (uint32_t i = 0; i < n; i++) {
    if (requests[i].is_witness) (void)seer_kept_find(m, &requests[i], &builds[i]);
  }
  seer_os_thread *beside = NULL;
  // Where no thread can be had it is done when all is built.
  if (meanwhile) seer_status_free(seer_os_thread_create(meanwhile->run, meanwhile->user, &beside));
  all_builds all = {m, requests, n, builds, results};
  // the thread is joined whatever building ends with
  seer_status status = n ? seer_recover(build_all_of, &all) : SEER_OK;
  uint64_t built_ns = seer_os_now_ns();
  if (beside) seer_os_thread_join(beside);
  if (meanwhile && !beside) meanwhile->run(meanwhile->user);
  if (meanwhile) meanwhile->waited_s = (double)(seer_os_now_ns() - built_ns) * 1e-9;
  SEER_TRY(status);
  double witness_s = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!builds[i].is_built) continue;
    seer_measure_request request = requests[i];
    if (!request.is_witness && witness_s > 0) request.best_seconds = witness_s;
    SEER_TRY(run_one(m, &request, &builds[i], &results[i]));
    bool is_first =
        request.is_witness && seer_schedule_equal(&request.schedule, &requests[0].schedule);
    if (is_first && results[i].cls == SEER_MEASURED_OK) witness_s = results[i].seconds;
  }
  seer_kept_add_near_best(m, requests, n, builds, results);
  return SEER_OK;
}

// ---- checking and comparing
// A runner may die of something else than its candidate, and a winner is not given up for that: it
// has crashed only if two runners died over it.
#define CHECK_TRIES 2

static seer_status local_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  uint64_t index;
  SEER_TRY(seer_local_index_of(m, request->task, &index));
  seer_schedule reference;
  seer_schedule_default(m->task[index].task.sketches, 0, &reference);
  seer_built builds[2];
  seer_measure_result results[2], answer = {.cls = SEER_MEASURED_OK};
  const seer_schedule schedules[2] = {request->schedule, reference};
  SEER_TRY(seer_kept_build(m, request->task, schedules, 2, builds, results));
  for (int i = 0; i < 2; i++) {
    if (builds[i].is_built) continue;
    *out_class = results[i].cls;
    (void)snprintf(message, message_bytes, "%s", results[i].message);
    return SEER_OK;
  }
  seer_message_check *order = SEER_NEW(m->batch, seer_message_check);
  *order = (seer_message_check){
      request->task, {request->schedule, reference}, {*builds[0].kernel, *builds[1].kernel}};
  seer_text text;
  seer_text_init(&text, m->batch);
  seer_message_put_check(&text, order);
  const void *payload;
  size_t n_bytes;
  *out_class = SEER_MEASURED_RUN_CRASH;
  double limit_s = 6 * m->run_timeout_s +
      SLOW_REFERENCE / KNOWN_LIMIT_FACTOR * run_seconds(m, request->task, &builds[0]);
  for (int i = 0; i < CHECK_TRIES && *out_class == SEER_MEASURED_RUN_CRASH; i++) {
    SEER_TRY(ask_runner(m, request->task, SEER_WIRE_CHECK, &text, limit_s, &payload, &n_bytes,
        out_class, answer.message));
    if (*out_class != SEER_MEASURED_OK) continue;
    seer_status status = seer_message_get_result(payload, n_bytes, m->batch, &answer);
    *out_class = answer.cls;
    SEER_TRY(distrust(m, status, out_class, answer.message));
  }
  (void)snprintf(message, message_bytes, "%s", answer.message);
  return SEER_OK;
}

// The kernels that were built, into *order; the baseline, which was, is last.
static void list_built(const seer_built *builds, uint32_t n, seer_message_compare *order) {
  for (uint32_t i = 0; i < n; i++) {
    if (builds[i].is_built) order->kernel[order->n++] = *builds[i].kernel;
  }
  order->kernel[order->n] = *builds[n].kernel;
}

static seer_status local_compare(seer_measurer *m, uint32_t task, const seer_schedule *contenders,
    uint32_t n, const seer_schedule *baseline, uint32_t n_pairs, seer_measure_ab *out_ab,
    seer_measure_pair *out_pairs) {
  SEER_ASSERT(n <= SEER_MEASURE_MAX_CONTENDERS, "%u contenders", n);
  SEER_ASSERT(n_pairs >= 1 && n_pairs <= SEER_MEASURE_MAX_PAIRS, "%u pairs", n_pairs);
  memset(out_ab, 0, n * sizeof(*out_ab));
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  seer_built builds[SEER_MEASURE_MAX_CONTENDERS + 1];
  seer_measure_result results[SEER_MEASURE_MAX_CONTENDERS + 1];
  memcpy(schedules, contenders, n * sizeof(*schedules));
  schedules[n] = *baseline;
  SEER_TRY(seer_kept_build(m, task, schedules, n + 1, builds, results));
  for (uint32_t i = 0; i < n; i++) out_ab[i].cls = results[builds[n].is_built ? i : n].cls;
  if (!builds[n].is_built) {
    seer_log(m->context, "measure", 0, "task %u: what it is compared with cannot be built: %s",
        task, results[n].message);
    return SEER_OK;
  }
  seer_message_compare *order = SEER_NEW(m->batch, seer_message_compare);
  order->task = task;
  order->n_pairs = n_pairs;
  list_built(builds, n, order);
  if (order->n == 0) return SEER_OK;
  seer_text text;
  seer_text_init(&text, m->batch);
  seer_message_put_compare(&text, order);
  seer_message_compared *answer = SEER_NEW(m->batch, seer_message_compared);
  answer->cls = SEER_MEASURED_RUN_CRASH;
  double limit_s = m->run_timeout_s;  // for all that is no run
  for (uint32_t i = 0; i <= n; i++)
    if (builds[i].is_built)
      limit_s += (n_pairs + UNCOUNTED_RUNS) * run_seconds(m, task, &builds[i]);
  const void *payload;
  size_t n_bytes;
  for (int i = 0; i < CHECK_TRIES && answer->cls == SEER_MEASURED_RUN_CRASH; i++) {
    SEER_TRY(ask_runner(m, task, SEER_WIRE_COMPARE, &text, limit_s, &payload, &n_bytes,
        &answer->cls, answer->message));
    if (answer->cls != SEER_MEASURED_OK) continue;
    seer_status status = seer_message_get_compared(payload, n_bytes, m->batch, answer);
    if (!status && answer->cls == SEER_MEASURED_OK &&
        (answer->n != order->n || answer->n_pairs != n_pairs))
      status = SEER_FAIL(CORRUPT, "%u pairs of %u contenders, asked were %u of %u", answer->n_pairs,
          answer->n, n_pairs, order->n);
    SEER_TRY(distrust(m, status, &answer->cls, answer->message));
  }
  if (answer->cls != SEER_MEASURED_OK) {
    seer_log(m->context, "measure", 1, "task %u: no comparison: %s", task, answer->message);
    for (uint32_t i = 0; i < n; i++)
      if (builds[i].is_built) out_ab[i].cls = answer->cls;
    return SEER_OK;
  }
  for (uint32_t i = 0, k = 0; i < n; i++) {
    if (!builds[i].is_built) continue;
    const seer_measure_pair *pairs = &answer->pair[k++ * n_pairs];
    out_ab[i] = seer_measure_summarise(pairs, n_pairs);
    if (out_pairs) memcpy(&out_pairs[i * n_pairs], pairs, n_pairs * sizeof(*pairs));
  }
  return SEER_OK;
}

// ---- life
static void local_close(seer_measurer *m) {
  if (!m) return;
  for (uint32_t b = 0; b < m->n_builder; b++) seer_child_clear(&m->builder[b].child);
  seer_child_clear(&m->runner);
  for (uint32_t k = 0; k < m->n_kept; k++) seer_arena_destroy(m->kept[k].arena);
  seer_table_destroy(&m->twins);
  seer_arena_destroy(m->arena);
  seer_arena_destroy(m->batch);
  free(m);
}

// The program that workers are: named by the option; else this one, or, in a library that somebody
// else's program has loaded, the one beside the library or in the bin folder of its installation.
static seer_status find_program(seer_measurer *m) {
  const char *path = seer_context_str(m->context, SEER_OPT_WORKER_PATH);
  if (path[0]) {
    m->home.program = seer_arena_strdup(m->arena, path);
    return SEER_OK;
  }
  bool is_library;
  SEER_TRY(seer_os_self_path(m->arena, &m->home.program, &is_library));
  if (!is_library) return SEER_OK;
  const char *folder = seer_os_path_dir(m->arena, m->home.program);
  static const char *const places[] = {"familyseer", "../bin/familyseer"};
  for (size_t i = 0; i < SEER_COUNT_OF(places); i++) {
    m->home.program = seer_os_path_join(m->arena, folder, places[i]);
    if (seer_os_exists(m->home.program) && !seer_os_is_dir(m->home.program)) return SEER_OK;
  }
  return SEER_FAIL(NOT_FOUND,
      "no program familyseer beside the library in %s or in ../bin of it; --worker-path names one",
      folder);
}

static seer_status local_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  (void)argument;
  *out_measurer = NULL;
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->context = m->home.context = context;
  m->arena = seer_arena_create("measurer");
  m->batch = seer_arena_create("measure batch");
  m->by_id = seer_map_create(m->arena);
  m->twins.n_values = TWIN_VALUES;
  m->home.target_flag =
      seer_arena_printf(m->arena, "--target=%s", seer_target_print(target, m->arena));
  m->build_timeout_s = seer_context_f64(context, SEER_OPT_BUILD_TIMEOUT);
  m->run_timeout_s = seer_context_f64(context, SEER_OPT_TIMEOUT);
  m->timing.least_s = seer_context_f64(context, SEER_OPT_MIN_REPEAT);
  int64_t n = seer_context_i64(context, SEER_OPT_BUILDERS);
  if (n == 0) n = seer_os_n_threads();
  seer_status status = find_program(m);
  if (!status) {
    seer_child_init(&m->runner, &m->home, "runner");
    status = seer_child_start(&m->runner, SEER_LOCAL_START_PATIENCE_NS);
  }
  if (!status)
    status =
        seer_builders_start(m, n < SEER_LOCAL_MAX_BUILDERS ? (uint32_t)n : SEER_LOCAL_MAX_BUILDERS);
  if (status) {
    local_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

static seer_status local_add_task(seer_measurer *m, const seer_measure_task *task) {
  m->task = SEER_GROW(m->arena, seer_local_task, m->task, m->n_task, &m->cap_task);
  seer_map_set(m->by_id, task->id, m->n_task);
  seer_message_task message = {task->id, task->space, task->sketches->tolerance,
      task->network_weight_bytes, seer_dag_print(task->dag, m->arena)};
  m->task[m->n_task++] = (seer_local_task){*task, message};
  return SEER_OK;
}

const seer_measure_desc seer_measure_local = {.name = "local",
    .doc = "worker processes on this machine",
    .is_on_device = true,
    .open = local_open,
    .close = local_close,
    .add_task = local_add_task,
    .measure = local_measure,
    .check = local_check,
    .compare = local_compare};
