// work.c - a job -> its answer, by a measurer of this machine. The contract: desk.h.
// To its tuner a worker is one device, however many it has: what was timed on another one is told
// as the first one would have taken it, by what the round's incumbent took on both.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "measure/backends.h"
#include "measure/serve/desk.h"

#define MAX_TASKS 2000  // that a measurer is told of; then it begins anew

typedef struct {
  const char *name;
  seer_sketch_list *sketches;
} work_task;

struct seer_work {
  seer_desk *desk;
  seer_measure_choice choice;
  seer_measure_pace pace;
  seer_measurer *measurer;
  seer_measure_facts facts;
  seer_arena *options, *arena;  // arena: of the tasks that the measurer knows
  seer_map *by_key;
  uint32_t n_tasks;
  size_t cap;
  work_task *task;
  double slower[SEER_MEASURE_MAX_DEVICES];  // than the first device, as last seen
};

// ---- the measurer
static void close_measurer(seer_work *w) {
  if (w->measurer) w->choice.desc->close(w->measurer);
  if (w->arena) seer_arena_destroy(w->arena);
  w->measurer = NULL;
  w->arena = NULL;
}

static seer_status open_measurer(seer_work *w) {
  const seer_context *context = w->desk->context;
  close_measurer(w);
  w->arena = seer_arena_create("fleet work");
  w->by_key = seer_map_create(w->arena);
  w->n_tasks = 0;
  w->cap = 0;
  w->task = NULL;
  SEER_TRY(w->choice.desc->open(
      context, seer_context_target(context), w->choice.argument, &w->measurer));
  if (w->choice.desc->set_pace) w->choice.desc->set_pace(w->measurer, &w->pace);
  w->choice.desc->describe(w->measurer, &w->facts);
  return SEER_OK;
}

seer_status seer_work_create(seer_desk *desk, seer_work **out) {
  seer_work *w = *out = calloc(1, sizeof *w);
  if (!w) return SEER_FAIL(RESOURCE, "no memory for a worker");
  w->desk = desk;
  w->options = seer_arena_create("fleet work options");
  for (uint32_t k = 0; k < SEER_MEASURE_MAX_DEVICES; k++) w->slower[k] = 1;
  SEER_TRY(
      seer_measure_find(seer_context_str(desk->context, SEER_OPT_MEASURE), w->options, &w->choice));
  w->pace = (seer_measure_pace){w->choice.delay_s, desk->is_stopped, desk->leave_fd};
  SEER_TRY(open_measurer(w));
  seer_text names;
  seer_text_init(&names, desk->arena);
  for (uint32_t k = 0; k < w->facts.n_devices; k++)
    seer_text_printf(&names, "%s%s", k ? ", " : "", w->facts.name[k]);
  desk->letter.devices = names.data;
  desk->letter.n_devices = w->facts.n_devices;
  desk->letter.n_builders = w->facts.n_builders;
  desk->letter.build_s = seer_context_f64(desk->context, SEER_OPT_BUILD_TIMEOUT);
  desk->letter.run_s = seer_context_f64(desk->context, SEER_OPT_TIMEOUT) + w->choice.delay_s;
  return SEER_OK;
}

void seer_work_destroy(seer_work *w) {
  if (!w) return;
  close_measurer(w);
  if (w->options) seer_arena_destroy(w->options);
  free(w);
}

// ---- tasks
static seer_status add_task(seer_work *w, const seer_message_task *message, uint32_t *out_id) {
  seer_dag *dag;
  const seer_target *target = seer_context_target(w->desk->context);
  work_task task = {0};
  SEER_TRY(seer_dag_parse("task", message->dag, strlen(message->dag), w->arena, &dag));
  SEER_TRY(seer_sketch_generate(dag, target, message->space, w->arena, &task.sketches));
  seer_sketch_keep_within(task.sketches, message->tolerance);
  task.name = seer_text_safe(w->arena, dag->name);
  *out_id = w->n_tasks;
  const seer_measure_task told = {
      *out_id, dag, task.sketches, message->space, message->network_weight_bytes};
  SEER_TRY(w->choice.desc->add_task(w->measurer, &told));
  w->task = SEER_GROW(w->arena, work_task, w->task, w->n_tasks, &w->cap);
  w->task[w->n_tasks++] = task;
  return SEER_OK;
}

static seer_status find_task(seer_work *w, const seer_desk_job *job, uint32_t *out_id) {
  uint64_t id;
  if (w->n_tasks >= MAX_TASKS) SEER_TRY(open_measurer(w));
  if (seer_map_get(w->by_key, job->letter.task, &id)) {
    *out_id = (uint32_t)id;
    return SEER_OK;
  }
  SEER_TRY(add_task(w, job->task, out_id));
  seer_map_set(w->by_key, job->letter.task, *out_id);
  return SEER_OK;
}

// ---- rounds
static uint32_t n_left(const seer_work *w) { return seer_measure_devices_left(&w->facts); }

static seer_status read_candidate(const seer_work *w, const seer_desk_job *job, uint32_t id,
    uint32_t i, seer_measure_request *out) {
  const seer_letter_candidate *candidate = &job->letter.candidate[i];
  *out = (seer_measure_request){.task = id,
      .best_seconds = candidate->best_seconds,
      .is_witness = candidate->is_witness,
      .timing = candidate->has_timing ? &candidate->timing : NULL};
  return seer_message_read_schedule(
      w->task[id].sketches, candidate->schedule, job->arena, &out->schedule);
}

// What each device took for the round's incumbent, of the first `n` results.
static void compare_devices(seer_work *w, const seer_measure_result *results, uint32_t n) {
  double took_s[SEER_MEASURE_MAX_DEVICES] = {0};
  for (uint32_t i = 0; i < n; i++)
    if (results[i].cls == SEER_MEASURED_OK) took_s[results[i].device] = results[i].seconds;
  for (uint32_t k = 0; k < w->facts.n_devices; k++)
    if (took_s[k] > 0 && took_s[0] > 0) w->slower[k] = took_s[k] / took_s[0];
}

static void tell_as_first(const seer_work *w, seer_measure_result *result) {
  double slower = w->slower[result->device];
  result->part = result->device;
  result->device = 0;
  if (result->seconds <= 0) return;
  result->seconds /= slower;
  for (uint32_t s = 0; s < result->n_samples; s++) result->sample[s] /= slower;
}

// How far two times of the incumbent lie apart, if it was timed twice.
static double noise_of(const seer_desk_job *job, const seer_measure_result *results) {
  const seer_letter_candidate *candidate = job->letter.candidate;
  for (uint32_t i = 1; i < job->letter.n; i++) {
    bool is_same = candidate[0].is_witness && candidate[i].is_witness &&
        strcmp(candidate[0].schedule, candidate[i].schedule) == 0;
    double a = results[0].seconds, b = results[i].seconds;
    if (is_same && a > 0 && b > 0) return fabs(a - b) / fmax(a, b);
  }
  return -1;
}

static seer_status do_round(seer_work *w, seer_desk_job *job, uint32_t id) {
  uint32_t n = job->letter.n, n_more = 0;
  seer_measure_request *requests =
      SEER_NEW_ARRAY(job->arena, seer_measure_request, n + SEER_MEASURE_MAX_DEVICES);
  seer_measure_result *results =
      SEER_NEW_ARRAY(job->arena, seer_measure_result, n + SEER_MEASURE_MAX_DEVICES);
  // The incumbent once for each device, if there are several.
  seer_measure_request first;
  SEER_TRY(read_candidate(w, job, id, 0, &first));
  for (uint32_t k = 0; first.is_witness && n_left(w) > 1 && k < w->facts.n_devices; k++) {
    if (w->facts.is_left_out[k]) continue;
    requests[n_more] = first;
    requests[n_more++].wanted = k + 1;
  }
  if (n_more > 0) n_more--;  // the job's own is the last of these
  for (uint32_t i = n_more > 0 ? 1 : 0; i < n; i++)
    SEER_TRY(read_candidate(w, job, id, i, &requests[n_more + i]));
  SEER_TRY(w->choice.desc->measure(w->measurer, requests, n + n_more, NULL, results));
  w->choice.desc->describe(w->measurer, &w->facts);
  if (n_more > 0) compare_devices(w, results, n_more + 1);
  for (uint32_t i = n_more; i < n + n_more; i++) tell_as_first(w, &results[i]);
  job->answer.n = n;
  job->answer.result = results + n_more;
  double noise = noise_of(job, job->answer.result);
  if (noise >= 0) {
    seer_desk_lock(w->desk);
    double *known = &w->desk->letter.noise;
    *known = *known > 0 ? 0.8 * *known + 0.2 * noise : noise;
    seer_desk_unlock(w->desk);
  }
  return SEER_OK;
}

static seer_status do_check(seer_work *w, seer_desk_job *job, uint32_t id) {
  seer_measure_request request;
  SEER_TRY(read_candidate(w, job, id, 0, &request));
  seer_measure_result *result = SEER_NEW(job->arena, seer_measure_result);
  SEER_TRY(w->choice.desc->check(
      w->measurer, &request, &result->cls, result->message, sizeof result->message));
  job->answer.n = 1;
  job->answer.result = result;
  return SEER_OK;
}

static seer_status do_comparison(seer_work *w, seer_desk_job *job, uint32_t id) {
  uint32_t n = job->letter.n - 1, n_pairs = job->letter.n_pairs;
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS];
  for (uint32_t i = 0; i <= n; i++) {
    seer_measure_request request;
    SEER_TRY(read_candidate(w, job, id, i, &request));
    schedules[i] = request.schedule;
  }
  seer_message_compared *out = SEER_NEW(job->arena, seer_message_compared);
  SEER_TRY(w->choice.desc->compare(
      w->measurer, SEER_MEASURE_HOME, id, schedules, n, &schedules[n], n_pairs, ab, out->pair));
  out->n = n;
  out->n_pairs = n_pairs;
  for (uint32_t i = 0; i < n; i++)
    if (ab[i].n_pairs == 0) out->cls = ab[i].cls ? ab[i].cls : SEER_MEASURED_RUN_CRASH;
  if (out->cls != SEER_MEASURED_OK) out->n = out->n_pairs = 0;
  job->answer.compared = out;
  return SEER_OK;
}

static seer_status do_job(seer_work *w, seer_desk_job *job) {
  uint32_t id;
  SEER_TRY(find_task(w, job, &id));
  seer_desk_lock(w->desk);
  job->task_name = w->task[id].name;
  seer_desk_unlock(w->desk);
  if (job->letter.kind == SEER_JOB_MEASURE) return do_round(w, job, id);
  if (job->letter.kind == SEER_JOB_CHECK) return do_check(w, job, id);
  return do_comparison(w, job, id);
}

seer_status seer_work_do(seer_work *w, seer_desk_job *job) {
  job->answer = (seer_letter_answer){.session = job->session,
      .number = job->letter.number,
      .attempt = job->letter.attempt,
      .asked = seer_letter_job_key(&job->letter),
      .worker = w->desk->id,
      .lost = "",
      .kind = job->letter.kind};
  seer_status status = do_job(w, job);
  if (!status || seer_status_code(status) == SEER_CODE_DEVICE) return status;
  job->answer.lost = seer_arena_strdup(job->arena, seer_status_message(status));
  seer_log(w->desk->context, "measure", 0, "a job cannot be done: %s", job->answer.lost);
  seer_status_free(status);
  return SEER_OK;
}
