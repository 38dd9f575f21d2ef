// local.c - requests -> builder processes -> objects -> the runner process -> times.
// Building and timing alternate: while the runner times, the builders wait, since their cores are
// the ones that are timed. Workers live as long as the session; one that crashes or hangs is
// replaced, at the cost of the candidate it had.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tune/measure/backends.h"
#include "tune/measure/worker.h"

#define MAX_BUILDERS 32
#define HELLO_TIMEOUT_NS 20000000000u
#define MAX_RESTARTS 5  // of a worker in a row without an answer: then the device counts as lost
#define RUN_LIMIT_FACTOR 500  // of the best known time, plus RUN_LIMIT_SLACK_S
#define RUN_LIMIT_SLACK_S 2.0
#define NO_REQUEST UINT32_MAX

typedef struct {
  const char *job;
  seer_os_process process;
  seer_wire wire;
  uint8_t *knows;  // by task index: announced to this process
  size_t cap_knows;
  uint32_t request;  // index in the batch at hand
  uint64_t deadline_ns;
  uint32_t n_failed;  // restarts in a row
} child;

typedef struct {
  seer_measure_task task;
  const char *text;
} local_task;

typedef struct {
  bool is_built;
  uint64_t object_hash;
  double build_s;
  seer_kernel *kernel;
} built;

struct seer_measurer {
  const seer_context *context;
  seer_arena *arena, *batch;
  const char *program, *target_text;
  seer_map *by_id;
  size_t n_task, cap_task;
  local_task *task;
  uint32_t n_builder;
  child builder[MAX_BUILDERS], runner;
  int lock_fd;
  seer_map *
      // hash of (task, schedule) -> index: what checks and comparisons built, most often the
      // default
      kept;
  size_t n_kept, cap_kept;
  built *kept_builds;
  seer_map *twins;  // hash of (task, object) -> index of first result
  size_t n_twin, cap_twin;
  seer_measure_result *twin;
  double build_timeout_s, run_timeout_s, min_repeat_s;
};

// ---- children
static void stop_child(child *c) {
  seer_os_kill(&c->process);
  seer_os_close(c->wire.in_fd);
  seer_os_close(c->wire.out_fd);
  c->wire = (seer_wire){-1, -1};
  if (c->knows) memset(c->knows, 0, c->cap_knows);
}

static seer_status spawn(seer_measurer *m, child *c, int to_child[2], int from_child[2]) {
  char in_text[16], out_text[16], threads[32], pin[16];
  (void)snprintf(in_text, sizeof in_text, "%d", to_child[0]);
  (void)snprintf(out_text, sizeof out_text, "%d", from_child[1]);
  (void)snprintf(threads, sizeof threads, "--threads=%u", seer_context_target(m->context)->threads);
  (void)snprintf(pin, sizeof pin, "--pin=%d", seer_context_bool(m->context, SEER_OPT_PIN) ? 1 : 0);
  const char *target = seer_arena_printf(m->arena, "--target=%s", m->target_text);
  const char *argv[] = {
      m->program, "worker", c->job, in_text, out_text, target, threads, pin, NULL};
  int keep[] = {to_child[0], from_child[1]};
  seer_os_spawn_options options = {.argv = argv, .keep_fds = keep, .n_keep_fds = 2};
  options.max_memory_bytes = (uint64_t)(seer_context_f64(m->context, SEER_OPT_MAX_MEMORY) * 0x1p30);
  return seer_os_spawn(&options, &c->process);
}

static seer_status start_child(seer_measurer *m, child *c) {
  int to_child[2] = {-1, -1}, from_child[2] = {-1, -1};
  c->wire = (seer_wire){-1, -1};
  c->request = NO_REQUEST;
  seer_status status = seer_os_pipe(to_child);
  if (!status) status = seer_os_pipe(from_child);
  if (!status) status = spawn(m, c, to_child, from_child);
  seer_os_close(to_child[0]);
  seer_os_close(from_child[1]);
  c->wire = (seer_wire){from_child[0], to_child[1]};
  if (!status) {
    seer_wire_header header;
    const void *payload;
    status = seer_wire_receive(&c->wire, m->batch, HELLO_TIMEOUT_NS, &header, &payload);
    if (!status && header.type != SEER_WIRE_HELLO)
      status = SEER_FAIL(CORRUPT, "expected hello, got %u", header.type);
  }
  if (status) {
    stop_child(c);
    return seer_status_context(status, "starting '%s worker %s'", m->program, c->job);
  }
  return SEER_OK;
}

// After a crash or a hang. Fails only when it does not come up any more.
static seer_status restart(seer_measurer *m, child *c) {
  stop_child(c);
  if (++c->n_failed > MAX_RESTARTS) {
    return SEER_FAIL(DEVICE, "the %s failed %d times in a row", c->job, MAX_RESTARTS);
  }
  return start_child(m, c);
}

static seer_status announce(seer_measurer *m, child *c, uint64_t index) {
  if (index >= c->cap_knows) {
    size_t cap = (index + 64) * 2;
    uint8_t *grown = realloc(c->knows, cap);
    if (!grown) return SEER_FAIL(RESOURCE, "no memory for %zu tasks", cap);
    memset(grown + c->cap_knows, 0, cap - c->cap_knows);
    c->knows = grown;
    c->cap_knows = cap;
  }
  if (c->knows[index]) return SEER_OK;
  const local_task *task = &m->task[index];
  seer_worker_task header = {task->task.id, (uint32_t)task->task.space,
      task->task.network_weight_bytes, strlen(task->text)};
  seer_text out;
  seer_text_init(&out, m->batch);
  SEER_WIRE_PUT(&out, header);
  seer_wire_put(&out, task->text, header.n_text);
  SEER_TRY(seer_wire_send(&c->wire, SEER_WIRE_TASK, 0, out.data, out.n_bytes));
  c->knows[index] = 1;
  return SEER_OK;
}

static seer_status index_of(const seer_measurer *m, uint32_t id, uint64_t *out_index) {
  if (seer_map_get(m->by_id, id, out_index)) return SEER_OK;
  return SEER_FAIL(INTERNAL, "task %u was never announced", id);
}

// ---- building
static void refuse(seer_measure_result *result, seer_measured_class cls, const char *message) {
  result->cls = cls;
  (void)snprintf(result->message, sizeof result->message, "%s", message);
}

static seer_status send_build(
    seer_measurer *m, child *c, const seer_measure_request *request, uint32_t nth) {
  uint64_t index;
  SEER_TRY(index_of(m, request->task, &index));
  SEER_TRY(announce(m, c, index));
  seer_worker_build message;
  memset(&message, 0, sizeof message);
  message.task = request->task;
  message.schedule = request->schedule;
  SEER_TRY(seer_wire_send(&c->wire, SEER_WIRE_BUILD, nth, &message, sizeof message));
  c->request = nth;
  c->deadline_ns = seer_os_now_ns() + (uint64_t)(m->build_timeout_s * 1e9);
  return SEER_OK;
}

static seer_status receive_build(
    seer_measurer *m, child *c, built *out, seer_measure_result *result) {
  seer_wire_header header;
  const void *payload;
  SEER_TRY(seer_wire_receive(
      &c->wire, m->batch, (uint64_t)(m->build_timeout_s * 1e9), &header, &payload));
  if (header.type != SEER_WIRE_BUILT || header.seq != c->request) {
    return SEER_FAIL(
        CORRUPT, "answer %u to %u, expected to %u", header.type, header.seq, c->request);
  }
  seer_wire_reader reader = {payload, header.n_bytes, false};
  seer_worker_built answer;
  SEER_WIRE_GET(&reader, answer);
  out->build_s = answer.seconds;
  out->object_hash = answer.object_hash;
  if (!answer.is_ok) {
    answer.message[sizeof answer.message - 1] = 0;
    refuse(result, SEER_MEASURED_BUILD_ERROR, answer.message);
    return SEER_OK;
  }
  out->kernel = SEER_NEW(m->batch, seer_kernel);
  SEER_TRY(seer_wire_get_kernel(&reader, m->batch, out->kernel));
  out->is_built = true;
  return SEER_OK;
}

// One step of the build phase: wait for any builder, take its answer.
static seer_status await_builder(seer_measurer *m, built *builds, seer_measure_result *results) {
  int fds[MAX_BUILDERS];
  bool ready[MAX_BUILDERS];
  uint64_t now = seer_os_now_ns(), wait_ns = (uint64_t)(m->build_timeout_s * 1e9);
  for (uint32_t b = 0; b < m->n_builder; b++) {
    fds[b] = m->builder[b].request == NO_REQUEST ? -1 : m->builder[b].wire.in_fd;
    if (fds[b] < 0) continue;
    uint64_t left = m->builder[b].deadline_ns > now ? m->builder[b].deadline_ns - now : 0;
    if (left < wait_ns) wait_ns = left;
  }
  (void)seer_os_poll_in(fds, m->n_builder, wait_ns, ready);
  now = seer_os_now_ns();
  for (uint32_t b = 0; b < m->n_builder; b++) {
    child *c = &m->builder[b];
    if (fds[b] < 0) continue;
    uint32_t nth = c->request;
    if (ready[b]) {
      seer_status status = receive_build(m, c, &builds[nth], &results[nth]);
      c->request = NO_REQUEST;
      if (!status) {
        c->n_failed = 0;
        continue;
      }
      refuse(&results[nth], SEER_MEASURED_BUILD_ERROR, seer_status_message(status));
      seer_status_free(status);
      SEER_TRY(restart(m, c));
    } else if (now >= c->deadline_ns) {
      refuse(&results[nth], SEER_MEASURED_BUILD_TIMEOUT, "the build took too long");
      SEER_TRY(restart(m, c));
    }
  }
  return SEER_OK;
}

static seer_status build_all(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    built *builds, seer_measure_result *results) {
  uint32_t next = 0, busy = 0;
  do {
    for (uint32_t b = 0; b < m->n_builder; b++) {
      child *c = &m->builder[b];
      while (next < n && builds[next].is_built) next++;  // kept from an earlier batch
      if (next == n) break;
      if (c->request != NO_REQUEST) continue;
      seer_status status = send_build(m, c, &requests[next], next);
      if (status) {  // it died while idle
        seer_status_free(status);
        SEER_TRY(restart(m, c));
        SEER_TRY(send_build(m, c, &requests[next], next));
      }
      next++;
    }
    busy = 0;
    for (uint32_t b = 0; b < m->n_builder; b++) busy += m->builder[b].request != NO_REQUEST;
    if (busy == 0) break;
    SEER_TRY(await_builder(m, builds, results));
  } while (next < n || busy);
  return SEER_OK;
}

// ---- running
// Sends to the runner and waits for the answer. *out_class is not OK when the runner crashed or
// hung (it is restarted).
static seer_status ask_runner(seer_measurer *m, uint32_t task, seer_wire_type type,
    const seer_text *message, double limit_s, void *answer, size_t n_answer,
    seer_measured_class *out_class) {
  child *c = &m->runner;
  uint64_t index;
  SEER_TRY(index_of(m, task, &index));
  seer_status status = announce(m, c, index);
  if (!status) status = seer_wire_send(&c->wire, type, 1, message->data, message->n_bytes);
  seer_wire_header header = {0};
  const void *payload = NULL;
  if (!status)
    status = seer_wire_receive(&c->wire, m->batch, (uint64_t)(limit_s * 1e9), &header, &payload);
  if (!status && (header.type != (uint32_t)type + 1 || header.n_bytes != n_answer)) {
    status =
        SEER_FAIL(CORRUPT, "answer of type %u with %" PRIu64 " bytes", header.type, header.n_bytes);
  }
  *out_class = SEER_MEASURED_OK;
  if (!status) {
    memcpy(answer, payload, n_answer);
    c->n_failed = 0;
    return SEER_OK;
  }
  *out_class = seer_status_code(status) == SEER_CODE_TIMEOUT ? SEER_MEASURED_RUN_TIMEOUT
                                                             : SEER_MEASURED_RUN_CRASH;
  seer_status_free(status);
  return restart(m, c);
}

static uint64_t twin_key(uint32_t task, uint64_t object_hash) {
  return seer_hash_u64(object_hash, task + 1);
}

static seer_status run_one(seer_measurer *m, const seer_measure_request *request,
    const built *build, seer_measure_result *result) {
  uint64_t key = twin_key(request->task, build->object_hash), known;
  if (!request->is_witness && seer_map_get(m->twins, key, &known)) {
    *result = m->twin[known];
    result->is_twin = true;
    return SEER_OK;
  }
  seer_worker_run message = {.task = request->task,
      .best_seconds = request->best_seconds,
      .min_repeat_s = m->min_repeat_s};
  seer_text out;
  seer_text_init(&out, m->batch);
  SEER_WIRE_PUT(&out, message);
  seer_wire_put_kernel(&out, build->kernel);
  double limit = m->run_timeout_s;
  if (request->best_seconds > 0)
    limit = fmin(limit, RUN_LIMIT_SLACK_S + RUN_LIMIT_FACTOR * request->best_seconds);
  seer_measured_class cls;
  seer_measure_result answer = {0};
  SEER_TRY(ask_runner(m, request->task, SEER_WIRE_RUN, &out, limit, &answer, sizeof answer, &cls));
  if (cls == SEER_MEASURED_OK) {
    *result = answer;
  } else {
    refuse(result, cls,
        cls == SEER_MEASURED_RUN_TIMEOUT ? "the run took too long" : "the runner crashed");
  }
  result->build_s = build->build_s;
  if (request->is_witness) return SEER_OK;
  m->twin = SEER_GROW(m->arena, seer_measure_result, m->twin, m->n_twin, &m->cap_twin);
  seer_map_set(m->twins, key, m->n_twin);
  m->twin[m->n_twin++] = *result;
  return SEER_OK;
}

// ---- kernels that outlive the batch: witnesses, contenders, what they are compared with
static uint64_t kept_key(uint32_t task, const seer_schedule *schedule) {
  return seer_hash_u64(seer_schedule_hash(schedule), task + 1);
}

static void keep(seer_measurer *m, uint64_t key, built *build) {
  seer_kernel *kernel = seer_arena_memdup(m->arena, build->kernel, sizeof(*kernel));
  kernel->symbol = seer_arena_strdup(m->arena, kernel->symbol);
  kernel->object = seer_arena_memdup(m->arena, kernel->object, kernel->n_object_bytes);
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_pack *pack = kernel->arg[a].pack;
    if (pack) kernel->arg[a].pack = seer_arena_memdup(m->arena, pack, sizeof(*pack));
  }
  build->kernel = kernel;
  m->kept_builds = SEER_GROW(m->arena, built, m->kept_builds, m->n_kept, &m->cap_kept);
  seer_map_set(m->kept, key, m->n_kept);
  m->kept_builds[m->n_kept++] = *build;
}

// Builds all of n schedules of a task, or takes what was kept; builds anew are kept.
static seer_status build_kept(seer_measurer *m, uint32_t task, const seer_schedule *schedules,
    uint32_t n, built *out_builds, seer_measure_result *out_results) {
  seer_arena_reset(m->batch);
  memset(out_builds, 0, n * sizeof(*out_builds));
  memset(out_results, 0, n * sizeof(*out_results));
  seer_measure_request requests[SEER_MEASURE_MAX_CONTENDERS + 1] = {0};
  bool is_new[SEER_MEASURE_MAX_CONTENDERS + 1];
  for (uint32_t i = 0; i < n; i++) {
    uint64_t index;
    requests[i] = (seer_measure_request){.task = task, .schedule = schedules[i]};
    is_new[i] = !seer_map_get(m->kept, kept_key(task, &schedules[i]), &index);
    if (!is_new[i]) out_builds[i] = m->kept_builds[index];
  }
  SEER_TRY(build_all(m, requests, n, out_builds, out_results));
  for (uint32_t i = 0; i < n; i++) {
    if (is_new[i] && out_builds[i].is_built) keep(m, kept_key(task, &schedules[i]), &out_builds[i]);
  }
  return SEER_OK;
}

// ---- measuring
static seer_status local_measure(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_meanwhile *meanwhile, seer_measure_result *results) {
  seer_arena_reset(m->batch);
  built *builds = SEER_NEW_ARRAY(m->batch, built, n);
  memset(results, 0, n * sizeof(*results));
  for (uint32_t i = 0; i < n; i++) {
    uint64_t index, key = kept_key(requests[i].task, &requests[i].schedule);
    if (requests[i].is_witness && seer_map_get(m->kept, key, &index))
      builds[i] = m->kept_builds[index];
  }
  seer_os_thread *beside = NULL;
  if (meanwhile) SEER_TRY(seer_os_thread_create(meanwhile->run, meanwhile->user, &beside));
  seer_status status = n ? build_all(m, requests, n, builds, results) : SEER_OK;
  uint64_t built_ns = seer_os_now_ns();
  if (beside) {
    seer_os_thread_join(beside);
    meanwhile->waited_s = (double)(seer_os_now_ns() - built_ns) * 1e-9;
  }
  SEER_TRY(status);
  double witness_s = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!builds[i].is_built) continue;
    seer_measure_request request = requests[i];
    uint64_t key = kept_key(request.task, &request.schedule);
    if (request.is_witness && !seer_map_get(m->kept, key, NULL)) keep(m, key, &builds[i]);
    if (!request.is_witness && witness_s > 0) request.best_seconds = witness_s;
    SEER_TRY(run_one(m, &request, &builds[i], &results[i]));
    bool is_first =
        request.is_witness && seer_schedule_equal(&request.schedule, &requests[0].schedule);
    if (is_first && results[i].cls == SEER_MEASURED_OK) witness_s = results[i].seconds;
  }
  return SEER_OK;
}

// ---- checking and comparing
static seer_status local_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  uint64_t index;
  SEER_TRY(index_of(m, request->task, &index));
  seer_schedule reference;
  seer_schedule_default(m->task[index].task.sketches, 0, &reference);
  built builds[2];
  seer_measure_result results[2], answer = {0};
  const seer_schedule schedules[2] = {request->schedule, reference};
  SEER_TRY(build_kept(m, request->task, schedules, 2, builds, results));
  for (int i = 0; i < 2; i++) {
    if (builds[i].is_built) continue;
    *out_class = results[i].cls;
    (void)snprintf(message, message_bytes, "%s", results[i].message);
    return SEER_OK;
  }
  seer_worker_build candidate, base;
  memset(&candidate, 0, sizeof candidate);
  memset(&base, 0, sizeof base);
  candidate.task = base.task = request->task;
  candidate.schedule = request->schedule;
  base.schedule = reference;
  seer_text out;
  seer_text_init(&out, m->batch);
  SEER_WIRE_PUT(&out, candidate);
  SEER_WIRE_PUT(&out, base);
  seer_wire_put_kernel(&out, builds[0].kernel);
  seer_wire_put_kernel(&out, builds[1].kernel);
  SEER_TRY(ask_runner(m, request->task, SEER_WIRE_CHECK, &out, m->run_timeout_s * 6, &answer,
      sizeof answer, out_class));
  if (*out_class == SEER_MEASURED_OK) *out_class = answer.cls;
  (void)snprintf(message, message_bytes, "%s", answer.message);
  return SEER_OK;
}

static seer_status local_compare(seer_measurer *m, uint32_t task, const seer_schedule *contenders,
    uint32_t n, const seer_schedule *baseline, uint32_t n_pairs, seer_measure_ab *out_ab) {
  SEER_ASSERT(n <= SEER_MEASURE_MAX_CONTENDERS, "%u contenders", n);
  memset(out_ab, 0, n * sizeof(*out_ab));
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  built builds[SEER_MEASURE_MAX_CONTENDERS + 1];
  seer_measure_result results[SEER_MEASURE_MAX_CONTENDERS + 1];
  memcpy(schedules, contenders, n * sizeof(*schedules));
  schedules[n] = *baseline;
  SEER_TRY(build_kept(m, task, schedules, n + 1, builds, results));
  if (!builds[n].is_built)
    return SEER_FAIL(DEVICE, "building for a comparison: %s", results[n].message);
  seer_worker_run message = {.task = task, .n_pairs = n_pairs};
  for (uint32_t i = 0; i < n; i++) message.n_candidate += builds[i].is_built;
  if (message.n_candidate == 0) return SEER_OK;
  seer_text out;
  seer_text_init(&out, m->batch);
  SEER_WIRE_PUT(&out, message);
  for (uint32_t i = 0; i <= n; i++) {
    if (builds[i].is_built) seer_wire_put_kernel(&out, builds[i].kernel);
  }
  seer_measured_class cls;
  seer_measure_ab answer[SEER_MEASURE_MAX_CONTENDERS];
  SEER_TRY(ask_runner(
      m, task, SEER_WIRE_COMPARE, &out, m->run_timeout_s * 4, answer, sizeof answer, &cls));
  if (cls != SEER_MEASURED_OK) return SEER_OK;
  for (uint32_t i = 0, k = 0; i < n; i++) {
    if (builds[i].is_built) out_ab[i] = answer[k++];
  }
  return SEER_OK;
}

// ---- life
static void local_close(seer_measurer *m) {
  if (!m) return;
  for (uint32_t b = 0; b < m->n_builder; b++) {
    stop_child(&m->builder[b]);
    free(m->builder[b].knows);
  }
  stop_child(&m->runner);
  free(m->runner.knows);
  seer_os_close(m->lock_fd);
  seer_arena_destroy(m->arena);
  seer_arena_destroy(m->batch);
  free(m);
}

// The program that workers are: named by the option; else this one, or, in a library that somebody
// else's program has loaded, the one beside the library or in the bin folder of its installation.
static seer_status find_program(seer_measurer *m) {
  const char *path = seer_context_str(m->context, SEER_OPT_WORKER_PATH);
  if (path[0]) {
    m->program = seer_arena_strdup(m->arena, path);
    return SEER_OK;
  }
  bool is_library;
  SEER_TRY(seer_os_self_path(m->arena, &m->program, &is_library));
  if (!is_library) return SEER_OK;
  const char *folder = seer_os_path_dir(m->arena, m->program);
  static const char *const places[] = {"familyseer", "../bin/familyseer"};
  for (size_t i = 0; i < SEER_COUNT_OF(places); i++) {
    m->program = seer_os_path_join(m->arena, folder, places[i]);
    if (seer_os_exists(m->program) && !seer_os_is_dir(m->program)) return SEER_OK;
  }
  return SEER_FAIL(NOT_FOUND,
      "no program familyseer beside the library in %s or in ../bin of it; --worker-path names one",
      folder);
}

// One tuner per device: a second one waits and says so.
static seer_status take_device(seer_measurer *m) {
  const char *folder;
  SEER_TRY(seer_os_cache_dir(m->arena, &folder));
  const char *path = seer_os_path_join(m->arena, folder, "cpu.lock");
  SEER_TRY(seer_os_lock_file(path, false, &m->lock_fd));
  if (m->lock_fd >= 0) return SEER_OK;
  seer_log(m->context, "measure", 0,
      "another tuner is measuring on this machine; waiting for it to end");
  return seer_os_lock_file(path, true, &m->lock_fd);
}

static seer_status local_open(
    const seer_context *context, const seer_target *target, seer_measurer **out_measurer) {
  *out_measurer = NULL;
  seer_measurer *m = calloc(1, sizeof(*m));
  if (!m) return SEER_FAIL(RESOURCE, "no memory for a measurer");
  m->context = context;
  m->arena = seer_arena_create("measurer");
  m->batch = seer_arena_create("measure batch");
  m->by_id = seer_map_create(m->arena);
  m->twins = seer_map_create(m->arena);
  m->kept = seer_map_create(m->arena);
  m->lock_fd = -1;
  m->target_text = seer_target_print(target, m->arena);
  m->build_timeout_s = seer_context_f64(context, SEER_OPT_BUILD_TIMEOUT);
  m->run_timeout_s = seer_context_f64(context, SEER_OPT_TIMEOUT);
  m->min_repeat_s = seer_context_f64(context, SEER_OPT_MIN_REPEAT);
  int64_t n = seer_context_i64(context, SEER_OPT_BUILDERS);
  if (n == 0) n = seer_os_n_threads();
  m->runner = (child){.job = "runner", .wire = {-1, -1}, .request = NO_REQUEST};
  seer_status status = find_program(m);
  if (!status) status = take_device(m);
  if (!status) status = start_child(m, &m->runner);
  for (int64_t b = 0; b < n && b < MAX_BUILDERS && !status; b++) {
    m->builder[m->n_builder] = (child){.job = "builder", .wire = {-1, -1}, .request = NO_REQUEST};
    status = start_child(m, &m->builder[m->n_builder++]);
  }
  if (status) {
    local_close(m);
    return status;
  }
  *out_measurer = m;
  return SEER_OK;
}

static seer_status local_add_task(seer_measurer *m, const seer_measure_task *task) {
  m->task = SEER_GROW(m->arena, local_task, m->task, m->n_task, &m->cap_task);
  seer_map_set(m->by_id, task->id, m->n_task);
  m->task[m->n_task++] = (local_task){*task, seer_dag_print(task->dag, m->arena)};
  return SEER_OK;
}

const seer_measure_desc seer_measure_local = {"local", "worker processes on this machine",
    local_open, local_close, local_add_task, local_measure, local_check, local_compare};
