// fleet.c - the measurer of a tuning that has a fleet: requests -> jobs on the board -> answers of
// workers. Nothing is built or timed here.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "measure/backends.h"
#include "measure/fleet/board.h"

#define SECOND_NS 1000000000u
#define SLICE_NS (SECOND_NS / 4)
// One that it does, and one that it has when that is done; where the broker is far, one that is on
// its way.
#define ROUNDS_A_WORKER 2
#define FAR_S 0.02
#define MAX_TIMES 64  // that one question is foreseen
// What is faster than a target can be is no use; who says so is not right in the head if it is so
// much faster. Between the two, a target's peak may be a poor estimate.
#define BLAMED_SHARE (1.0 / 16)

// Where a task's comparisons are made: what was built there need not be built again, and all
// workers are to have their share. In units of a kernel's build.
#define CONTENDERS 7.0
#define COMPARISONS 4.0  // what all of a task take
typedef struct {
  seer_measure_task task;
  uint64_t key;
  double least_s;
  uint32_t n_measured, n_measured_by[SEER_MEASURE_MAX_DEVICES];
  uint32_t home;  // UINT32_MAX: none yet
} fleet_task;

struct seer_measurer {
  const seer_context *context;
  seer_arena *arena;
  seer_board board;
  seer_map *by_id;
  size_t n, cap;
  fleet_task *task;
  const volatile sig_atomic_t *is_stopped;
};

static bool is_stopped(const seer_measurer *m) { return m->is_stopped && *m->is_stopped; }

static void fleet_describe(const seer_measurer *m, seer_measure_facts *out) {
  const seer_roster *roster = &m->board.roster;
  *out = (seer_measure_facts){.n_devices = roster->n};
  for (uint32_t k = 0; k < roster->n; k++) {
    const seer_roster_worker *worker = &roster->worker[k];
    out->name[k] = worker->id;
    out->parts[k] = worker->devices;
    out->is_left_out[k] = !worker->is_there;
    out->n_builders += worker->is_there ? worker->n_builders : 0;
  }
  if (out->n_builders == 0) out->n_builders = 1;
  uint32_t n_each = ROUNDS_A_WORKER + (m->board.away_s > FAR_S);
  out->n_rounds = n_each * (roster->n_there > 0 ? roster->n_there : 1);
}

// What a certain worker is to do is lost with it.
static void lose_with_workers(seer_measurer *m) {
  const seer_roster *roster = &m->board.roster;
  for (seer_ledger_job *job = m->board.ledger.first; job; job = job->next) {
    if (job->letter.kind == SEER_JOB_MEASURE) continue;  // somebody else does it
    uint32_t k = job->worker ? seer_roster_find(roster, job->worker) : UINT32_MAX;
    if (k != UINT32_MAX && !job->is_done && !roster->worker[k].is_there)
      seer_ledger_lose(
          job, k, SEER_MEASURED_DEVICE_LOST, "its worker has not been heard of any more");
  }
}

static seer_status step(seer_measurer *m) {
  SEER_TRY(seer_board_step(&m->board, SLICE_NS));
  lose_with_workers(m);
  return SEER_OK;
}

static seer_status wait_for(seer_measurer *m, const seer_ledger_job *job) {
  while (!job->is_done) SEER_TRY(step(m));
  return SEER_OK;
}

// ---- jobs
static seer_status find_task(const seer_measurer *m, uint32_t id, const fleet_task **out) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(m->by_id, id, &index));
  *out = &m->task[index];
  return SEER_OK;
}

static void fill(
    seer_ledger_job *job, const fleet_task *task, uint32_t i, const seer_schedule *schedule) {
  job->letter.task = task->key;
  job->least_s = task->least_s;
  job->letter.candidate[i].schedule =
      seer_schedule_print(task->task.sketches, schedule, job->arena);
}

static seer_status add_round(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_measure_result *results, seer_ledger_job **out) {
  const fleet_task *task;
  SEER_TRY(find_task(m, requests[0].task, &task));
  for (uint32_t i = 1; i < n; i++)
    if (requests[i].task != requests[0].task)
      return SEER_FAIL(
          INTERNAL, "a round of two tasks, %u and %u", requests[0].task, requests[i].task);
  seer_ledger_job *job = seer_ledger_add(&m->board.ledger, SEER_JOB_MEASURE, n);
  for (uint32_t i = 0; i < n; i++) {
    seer_letter_candidate *candidate = &job->letter.candidate[i];
    fill(job, task, i, &requests[i].schedule);
    candidate->best_seconds = requests[i].best_seconds;
    candidate->is_witness = requests[i].is_witness;
    candidate->has_timing = requests[i].timing != NULL;
    if (requests[i].timing) candidate->timing = *requests[i].timing;
  }
  job->results = results;
  *out = job;
  return SEER_OK;
}

static seer_status fleet_send(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_measure_result *results, uint32_t *out_round) {
  seer_ledger_job *job;
  SEER_TRY(add_round(m, requests, n, results, &job));
  *out_round = (uint32_t)job->letter.number;  // it goes out with the next step
  return SEER_OK;
}

// Who has built the candidates of a round.
static void count_measured(seer_measurer *m, const seer_ledger_job *job) {
  for (size_t t = 0; t < m->n; t++) {
    if (m->task[t].key != job->letter.task || job->lost[0]) continue;
    m->task[t].n_measured += job->letter.n;
    m->task[t].n_measured_by[job->device] += job->letter.n;
  }
}

static seer_status fleet_await(seer_measurer *m, uint64_t timeout_ns, uint32_t *out_round) {
  uint64_t until_ns = seer_os_now_ns() + timeout_ns;
  *out_round = SEER_MEASURE_NO_ROUND;
  for (;;) {
    for (seer_ledger_job *job = m->board.ledger.first; job; job = job->next) {
      if (!job->is_done || job->letter.kind != SEER_JOB_MEASURE) continue;
      *out_round = (uint32_t)job->letter.number;
      count_measured(m, job);
      seer_ledger_remove(&m->board.ledger, job);
      return SEER_OK;
    }
    uint64_t now = seer_os_now_ns();
    if (now >= until_ns || is_stopped(m)) return SEER_OK;
    SEER_TRY(seer_board_step(&m->board, until_ns - now < SLICE_NS ? until_ns - now : SLICE_NS));
  }
}

static void fleet_tell_bias(seer_measurer *m, const seer_measure_bias *bias, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (bias[k].takes > 0 && m->board.bias[k].takes <= 0) m->board.kept_ns = 0;  // it goes out now
    m->board.bias[k] = bias[k];
  }
}

static void fleet_recall(seer_measurer *m) { seer_board_recall(&m->board); }

// All of it as one round.
static seer_status fleet_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  seer_ledger_job *job;
  if (meanwhile) meanwhile->run(meanwhile->user);
  if (n == 0) return SEER_OK;
  SEER_TRY(add_round(m, requests, n, results, &job));
  SEER_TRY(wait_for(m, job));
  seer_ledger_remove(&m->board.ledger, job);
  return SEER_OK;
}

static double home_cost(const fleet_task *task, uint32_t k) {
  double share = task->n_measured ? (double)task->n_measured_by[k] / task->n_measured : 0;
  return COMPARISONS + CONTENDERS * (1 - share);
}

// The present worker with the least to do for those tasks that have a home, this one included.
static void choose_home(const seer_measurer *m, fleet_task *task) {
  const seer_roster *roster = &m->board.roster;
  double load[SEER_MEASURE_MAX_DEVICES] = {0}, least = INFINITY;
  for (size_t t = 0; t < m->n; t++)
    if (m->task[t].home != UINT32_MAX)
      load[m->task[t].home] += home_cost(&m->task[t], m->task[t].home);
  task->home = UINT32_MAX;
  for (uint32_t k = 0; k < roster->n; k++) {
    double cost = load[k] + home_cost(task, k);
    if (!roster->worker[k].is_there || cost >= least) continue;
    least = cost;
    task->home = k;
  }
}

// Of a task that has none, or whose worker is gone, it is chosen. UINT32_MAX: nobody is there.
static uint32_t fleet_home(seer_measurer *m, uint32_t id) {
  uint64_t index;
  SEER_ASSERT(seer_map_get(m->by_id, id, &index), "task %u is not known", id);
  fleet_task *task = &m->task[index];
  bool has_home = task->home != UINT32_MAX && m->board.roster.worker[task->home].is_there;
  if (!has_home) choose_home(m, task);
  return task->home;
}

// Waits for a worker, where none is there.
static seer_status find_home(seer_measurer *m, uint32_t task, uint32_t *out) {
  while (m->board.roster.n_there == 0) SEER_TRY(seer_board_step(&m->board, SLICE_NS));
  *out = fleet_home(m, task);
  return SEER_OK;
}

static seer_status add_question(
    seer_measurer *m, const seer_measure_question *q, seer_ledger_job **out) {
  const fleet_task *task;
  const seer_roster *roster = &m->board.roster;
  uint32_t k = q->device;
  SEER_TRY(find_task(m, q->task, &task));
  if (k == SEER_MEASURE_HOME) SEER_TRY(find_home(m, q->task, &k));
  bool is_check = q->n_pairs == 0;
  seer_ledger_job *job =
      seer_ledger_add(&m->board.ledger, is_check ? SEER_JOB_CHECK : SEER_JOB_COMPARE, q->n);
  for (uint32_t i = 0; i < q->n; i++) fill(job, task, i, &q->schedules[i]);
  job->asked_of = q->device;
  job->letter.n_pairs = q->n_pairs;
  if (is_check) job->results = SEER_NEW_ARRAY(job->arena, seer_measure_result, q->n);
  if (k < roster->n && roster->worker[k].is_there)
    job->worker = roster->worker[k].id;
  else
    seer_ledger_lose(job, k, SEER_MEASURED_DEVICE_LOST, "its worker is not there");
  *out = job;
  return SEER_OK;
}

// ---- what is foreseen
// Those of this question, in order; at most n_max.
static uint32_t find_foreseen(const seer_measurer *m, const seer_measure_question *q,
    const fleet_task *task, uint32_t n_max, seer_ledger_job **out) {
  const char *texts[SEER_MEASURE_MAX_CONTENDERS + 1];
  seer_arena *arena = seer_arena_create("question");
  for (uint32_t i = 0; i < q->n; i++)
    texts[i] = seer_schedule_print(task->task.sketches, &q->schedules[i], arena);
  const seer_ledger_question asked = {task->key, q->device, q->n, q->n_pairs, texts};
  uint32_t n = seer_ledger_find_foreseen(&m->board.ledger, &asked, n_max, out);
  seer_arena_destroy(arena);
  return n;
}

static seer_status fleet_foresee(
    seer_measurer *m, const seer_measure_question *q, uint32_t n_times, bool is_certain) {
  const fleet_task *task;
  seer_ledger_job *job[MAX_TIMES];
  SEER_ASSERT(n_times <= MAX_TIMES, "a question that is asked %u times", n_times);
  SEER_TRY(find_task(m, q->task, &task));
  uint32_t n = find_foreseen(m, q, task, n_times, job);
  for (; n < n_times; n++) {
    SEER_TRY(add_question(m, q, &job[n]));
    job[n]->is_foreseen = job[n]->letter.is_maybe = true;
  }
  for (uint32_t k = 0; k < n_times && is_certain; k++) job[k]->letter.is_maybe = false;
  return SEER_OK;
}

static seer_status find_settled(seer_measurer *m, const uint32_t *tasks, uint32_t n,
    bool *out_is_settled, uint32_t *out_n_settled) {
  *out_n_settled = 0;
  for (uint32_t i = 0; i < n; i++) {
    const fleet_task *task;
    SEER_TRY(find_task(m, tasks[i], &task));
    out_is_settled[i] = seer_ledger_is_settled(&m->board.ledger, task->key);
    *out_n_settled += out_is_settled[i];
  }
  return SEER_OK;
}

static seer_status fleet_settle(
    seer_measurer *m, const uint32_t *tasks, uint32_t n, bool *out_is_settled) {
  uint32_t n_settled;
  SEER_TRY(find_settled(m, tasks, n, out_is_settled, &n_settled));
  while (n > 0 && n_settled == 0) {
    SEER_TRY(step(m));
    SEER_TRY(find_settled(m, tasks, n, out_is_settled, &n_settled));
  }
  return SEER_OK;
}

static seer_status fleet_forgo(seer_measurer *m, uint32_t id) {
  const fleet_task *task;
  SEER_TRY(find_task(m, id, &task));
  seer_ledger_forgo(&m->board.ledger, task->key);
  return SEER_OK;
}

// That was foreseen, or is begun now. The caller removes it.
static seer_status answer_question(
    seer_measurer *m, const seer_measure_question *q, seer_ledger_job **out) {
  const fleet_task *task;
  SEER_TRY(find_task(m, q->task, &task));
  seer_ledger_job *job = NULL;
  (void)find_foreseen(m, q, task, 1, &job);
  if (job) job->is_foreseen = false;
  // At home it is another worker's, once, if the first one is lost over it.
  for (int n_tries = 2; n_tries > 0; n_tries--) {
    if (!job) SEER_TRY(add_question(m, q, &job));
    SEER_TRY(wait_for(m, job));
    bool is_lost = job->lost[0] && q->device == SEER_MEASURE_HOME;
    if (!is_lost || n_tries == 1) break;
    seer_ledger_remove(&m->board.ledger, job);
    job = NULL;
  }
  *out = job;
  return SEER_OK;
}

static seer_status fleet_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  const seer_measure_question q = {SEER_MEASURE_HOME, request->task, &request->schedule, 1, 0};
  seer_ledger_job *job;
  SEER_TRY(answer_question(m, &q, &job));
  *out_class = job->results->cls;
  (void)snprintf(message, message_bytes, "%s", job->results->message);
  seer_ledger_remove(&m->board.ledger, job);
  return SEER_OK;
}

static seer_status fleet_compare(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  SEER_ASSERT(n <= SEER_MEASURE_MAX_CONTENDERS, "%u contenders", n);
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  memcpy(schedules, contenders, n * sizeof *schedules);
  schedules[n] = *baseline;
  const seer_measure_question q = {device, task, schedules, n + 1, n_pairs};
  seer_ledger_job *job;
  SEER_TRY(answer_question(m, &q, &job));
  const seer_message_compared *answer = job->compared;
  memset(out_ab, 0, n * sizeof *out_ab);
  for (uint32_t i = 0; i < n; i++) {
    out_ab[i].cls = answer->cls;
    if (answer->cls != SEER_MEASURED_OK) continue;
    const seer_measure_pair *pairs = &answer->pair[i * n_pairs];
    out_ab[i] = seer_measure_summarise(pairs, n_pairs);
    if (out_pairs) memcpy(&out_pairs[i * n_pairs], pairs, n_pairs * sizeof *pairs);
  }
  seer_ledger_remove(&m->board.ledger, job);
  return SEER_OK;
}

// ---- life
static seer_status fleet_add_task(seer_measurer *m, const seer_measure_task *task) {
  const seer_message_task message = {.space = task->space,
      .tolerance = task->sketches->tolerance,
      .network_weight_bytes = task->network_weight_bytes,
      .dag = seer_dag_print(task->dag, m->arena)};
  m->task = SEER_GROW(m->arena, fleet_task, m->task, m->n, &m->cap);
  seer_map_set(m->by_id, task->id, m->n);
  m->task[m->n++] = (fleet_task){.task = *task,
      .key = seer_board_add_task(&m->board, &message),
      .least_s = BLAMED_SHARE * seer_measure_least_seconds(task->sketches),
      .home = UINT32_MAX};
  return SEER_OK;
}

static void fleet_close(seer_measurer *m) {
  if (!m) return;
  seer_board_clear(&m->board);
  seer_arena_destroy(m->arena);
  free(m);
}

// Until somebody is there.
static seer_status wait_for_workers(seer_measurer *m) {
  uint64_t start_ns = seer_os_now_ns();
  bool is_told = false;
  for (uint32_t n = 0; m->board.roster.n_there == 0; n++) {
    m->board.looked_ns = 0;  // names, then their letters: these two are not waited behind
    SEER_TRY(seer_board_step(&m->board, n < 2 ? 0 : SLICE_NS));
    bool is_late = seer_os_now_ns() - start_ns > SECOND_NS;
    if (m->board.roster.n_there > 0 || is_told || !is_late) continue;
    seer_log(m->context, "measure", 0, "waiting for a worker at %s", m->board.hub.address.shown);
    is_told = true;
  }
  return SEER_OK;
}

static seer_status fleet_open(const seer_context *context, const seer_target *target,
    const char *argument, seer_measurer **out_measurer) {
  (void)argument;
  *out_measurer = NULL;
  seer_measurer *m = calloc(1, sizeof *m);
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->context = context;
  m->arena = seer_arena_create("fleet");
  m->by_id = seer_map_create(m->arena);
  seer_status status = seer_board_init(&m->board, context, target);
  if (!status) status = wait_for_workers(m);
  if (status) {
    fleet_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

// The delay of a device is its worker's; what counts here is when the tuning is stopped.
static void fleet_set_pace(seer_measurer *m, const seer_measure_pace *pace) {
  m->is_stopped = pace->is_stopped;
}

const seer_measure_desc seer_measure_fleet = {.name = "fleet",
    .doc = "workers of a fleet, on other machines (--fleet)",
    .open = fleet_open,
    .close = fleet_close,
    .describe = fleet_describe,
    .set_pace = fleet_set_pace,
    .add_task = fleet_add_task,
    .measure = fleet_measure,
    .send = fleet_send,
    .await = fleet_await,
    .recall = fleet_recall,
    .tell_bias = fleet_tell_bias,
    .check = fleet_check,
    .compare = fleet_compare,
    .home = fleet_home,
    .foresee = fleet_foresee,
    .settle = fleet_settle,
    .forgo = fleet_forgo};
