// question.c - checks and comparisons: kernels that are kept or built -> one request to one device
// -> its answer.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/local/inside.h"

// So many times what its runs are known to take. Of a kernel that was never timed each run may take
// as long as --timeout says.
#define KNOWN_LIMIT_FACTOR 10
#define UNCOUNTED_RUNS 4  // of each kernel, before its pairs
#define SLOW_REFERENCE 200  // times the candidate: what it is checked against is not tiled

// What one run of a kernel takes, as far as it was timed; else the longest that it may.
static double run_seconds(
    const seer_measurer *m, uint32_t device, uint32_t task, const seer_built *build) {
  seer_twin first;
  bool is_timed = seer_twins_find(&m->device[device].twins, task, build->object_hash, &first) &&
      first.cls == SEER_MEASURED_OK && first.seconds > 0;
  return is_timed ? fmin(m->run_timeout_s, KNOWN_LIMIT_FACTOR * first.seconds) : m->run_timeout_s;
}

// A runner may die of something else than its candidate, and a winner is not given up for that: it
// has crashed only if two runners died over it, which is what the queue counts.
typedef struct {
  seer_measurer *m;
  uint32_t device;  // or SEER_MEASURE_HOME
  uint32_t task;
  seer_wire_type type;
  const seer_text *text;
  double limit_s;
  seer_status (*read)(void *answer, const void *payload, size_t n_bytes, seer_arena *arena);
  void *answer;
  seer_measured_class cls;
  char message[SEER_MEASURE_MESSAGE_BYTES];
} question;

static seer_status order_question(
    void *user, uint32_t job, uint32_t device, seer_endpoint_order *out, bool *out_is_done) {
  (void)job, (void)device, (void)out_is_done;
  const question *q = user;
  *out = (seer_endpoint_order){.type = q->type, .message = q->text, .limit_s = q->limit_s};
  return seer_local_order_task(q->m, q->task, out);
}

static seer_status take_reply(
    void *user, uint32_t job, uint32_t device, const void *payload, size_t n_bytes) {
  (void)job, (void)device;
  question *q = user;
  return q->read(q->answer, payload, n_bytes, q->m->batch);
}

static void fail_question(
    void *user, uint32_t job, uint32_t device, seer_measured_class cls, const char *why) {
  (void)job, (void)device;
  question *q = user;
  q->cls = cls;
  (void)snprintf(q->message, sizeof q->message, "%s", why);
}

static uint32_t device_of(const seer_measurer *m, uint32_t device) {
  return device == SEER_MEASURE_HOME ? seer_devices_home(&m->devices) : device;
}

// On one device; at home on another one when that was lost over it, and no candidate's fault it is.
static seer_status ask_one(question *q) {
  seer_measurer *m = q->m;
  do {
    seer_queue queue;
    seer_queue_init(&queue, 1, m->batch);
    queue.job[0].wanted = device_of(m, q->device);
    seer_queue_built(&queue, 0, true);
    q->cls = SEER_MEASURED_OK;
    const seer_device_work work = {.user = q,
        .queue = &queue,
        .arena = m->batch,
        .order = order_question,
        .take = take_reply,
        .fail = fail_question};
    SEER_TRY(seer_devices_run(&m->devices, &work));
  } while (q->cls == SEER_MEASURED_DEVICE_LOST && q->device == SEER_MEASURE_HOME);
  return SEER_OK;
}

static seer_status read_checked(
    void *answer, const void *payload, size_t n_bytes, seer_arena *arena) {
  return seer_message_get_result(payload, n_bytes, arena, answer);
}

// What evaluates the constants that the kernels pack: runners have no compiler for it.
static seer_status add_constants(seer_measurer *m, const seer_sketch_list *sketches,
    const seer_schedule *schedule, const seer_kernel *kernel, seer_constant_kernels *out) {
  const seer_dag *dag = seer_sketch_of(sketches, schedule)->dag;
  const seer_target *target = seer_context_target(m->context);
  seer_target here;
  if (target->kind != SEER_TARGET_CPU) {  // packed by the host
    SEER_TRY(seer_target_detect(m->batch, &here));
    target = &here;
  }
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    if (arg->storage != SEER_STORE_PACKED) continue;
    if (dag->buf[arg->pack->source_buf].kind != SEER_BUF_STAGE) continue;
    SEER_TRY(seer_constant_compile(dag, arg->pack->source_buf, target, m->batch, out));
  }
  return SEER_OK;
}

seer_status seer_local_check(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  uint64_t index;
  SEER_TRY(seer_measure_index_of(m->tasks.by_id, request->task, &index));
  const seer_sketch_list *sketches = m->tasks.task[index].task.sketches;
  seer_schedule reference;
  seer_schedule_default(sketches, 0, &reference);
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
  *order = (seer_message_check){request->task,
      {seer_schedule_print(sketches, &request->schedule, m->batch),
          seer_schedule_print(sketches, &reference, m->batch)},
      {*builds[0].kernel, *builds[1].kernel}, {0}};
  for (int i = 0; i < 2; i++) {
    seer_status status =
        add_constants(m, sketches, &schedules[i], builds[i].kernel, &order->constants);
    if (!status) continue;
    *out_class = SEER_MEASURED_BUILD_ERROR;
    (void)snprintf(message, message_bytes, "%s", seer_status_message(status));
    seer_status_free(status);
    return SEER_OK;
  }
  seer_text text;
  seer_text_init(&text, m->batch);
  seer_message_put_check(&text, order);
  double run_s = run_seconds(m, device_of(m, SEER_MEASURE_HOME), request->task, &builds[0]);
  question q = {.m = m,
      .device = SEER_MEASURE_HOME,
      .task = request->task,
      .type = SEER_WIRE_CHECK,
      .text = &text,
      .limit_s = 6 * m->run_timeout_s + SLOW_REFERENCE / KNOWN_LIMIT_FACTOR * run_s,
      .read = read_checked,
      .answer = &answer};
  SEER_TRY(ask_one(&q));
  *out_class = q.cls ? q.cls : answer.cls;
  (void)snprintf(message, message_bytes, "%s", q.cls ? q.message : answer.message);
  return SEER_OK;
}

// The kernels that were built, into *order; the baseline, which was, is last.
static void list_built(const seer_built *builds, uint32_t n, seer_message_compare *order) {
  for (uint32_t i = 0; i < n; i++) {
    if (builds[i].is_built) order->kernel[order->n++] = *builds[i].kernel;
  }
  order->kernel[order->n] = *builds[n].kernel;
}

typedef struct {
  uint32_t n, n_pairs;  // that were asked for
  seer_message_compared *answer;
} compared;

static seer_status read_compared(
    void *user, const void *payload, size_t n_bytes, seer_arena *arena) {
  const compared *c = user;
  const seer_message_compared *answer = c->answer;
  SEER_TRY(seer_message_get_compared(payload, n_bytes, arena, c->answer));
  bool is_asked = answer->n == c->n && answer->n_pairs == c->n_pairs;
  if (answer->cls != SEER_MEASURED_OK || is_asked) return SEER_OK;
  return SEER_FAIL(CORRUPT, "%u pairs of %u contenders, asked were %u of %u", answer->n_pairs,
      answer->n, c->n_pairs, c->n);
}

seer_status seer_local_compare(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
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
  compared c = {order->n, n_pairs, SEER_NEW(m->batch, seer_message_compared)};
  double limit_s = m->run_timeout_s;  // for all that is no run
  uint32_t at = device_of(m, device);
  for (uint32_t i = 0; i <= n; i++)
    if (builds[i].is_built)
      limit_s += (n_pairs + UNCOUNTED_RUNS) * run_seconds(m, at, task, &builds[i]);
  question q = {.m = m,
      .device = device,
      .task = task,
      .type = SEER_WIRE_COMPARE,
      .text = &text,
      .limit_s = limit_s,
      .read = read_compared,
      .answer = &c};
  SEER_TRY(ask_one(&q));
  const seer_message_compared *answer = c.answer;
  seer_measured_class cls = q.cls ? q.cls : answer->cls;
  if (cls != SEER_MEASURED_OK) {
    seer_log(m->context, "measure", 1, "task %u: no comparison: %s", task,
        q.cls ? q.message : answer->message);
    for (uint32_t i = 0; i < n; i++)
      if (builds[i].is_built) out_ab[i].cls = cls;
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
