// What becomes of each candidate, whatever devices do: the queue's states, and leases to made-up
// endpoints that die, hang, answer nonsense, are slow, or do not come up again. No process and no
// clock; what takes time is counted in turns of the loop.
#include <stdio.h>
#include <string.h>

#include "measure/local/devices.h"
#include "setup/context.h"
#include "support/test.h"

// ---- states
static void a_job_goes_through_all_states(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_queue q;
  uint32_t job;
  seer_queue_init(&q, 3, arena);
  assert_false(seer_queue_lease(&q, 0, &job));  // nothing is built
  assert_true(seer_queue_build(&q, &job) && job == 0);
  assert_true(seer_queue_build(&q, &job) && job == 1);
  seer_queue_built(&q, 2, true);  // kept from before
  assert_false(seer_queue_build(&q, &job));
  assert_true(seer_queue_is_building(&q));
  assert_true(seer_queue_lease(&q, 5, &job) && job == 2);
  assert_int_equal(q.job[2].device, 5);
  seer_queue_built(&q, 1, false);  // no code: over
  seer_queue_built(&q, 0, true);
  assert_false(seer_queue_is_building(&q));
  assert_true(seer_queue_lease(&q, 1, &job) && job == 0);
  assert_false(seer_queue_lease(&q, 1, &job));
  assert_true(seer_queue_return(&q, 0));  // once
  assert_int_equal(q.job[0].state, SEER_JOB_BUILT);
  assert_true(seer_queue_lease(&q, 2, &job) && job == 0);
  assert_false(seer_queue_return(&q, 0));  // and no more
  assert_int_equal(q.job[0].state, SEER_JOB_DONE);
  assert_false(seer_queue_is_done(&q));
  seer_queue_done(&q, 2);
  assert_true(seer_queue_is_done(&q));
  seer_arena_destroy(arena);
}

static void who_is_wanted_gets_it(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_queue q;
  uint32_t job;
  seer_queue_init(&q, 3, arena);
  q.job[0].wanted = 1;
  q.job[1].wanted = 1;
  for (uint32_t i = 0; i < 3; i++) seer_queue_built(&q, i, true);
  assert_true(seer_queue_lease(&q, 0, &job) && job == 2);
  assert_true(seer_queue_lease(&q, 1, &job) && job == 0);
  assert_true(seer_queue_leave_out(&q, 1, &job) && job == 1);
  assert_false(seer_queue_leave_out(&q, 1, &job));  // what it has in hand is its own
  seer_arena_destroy(arena);
}

// ---- made-up endpoints
enum { MAX_JOBS = 512, MAX_DEVICES = 8 };

// What it does at each request, one after the other, then answers: 'o' answers, 'd' dies, 'n'
// answers nonsense, 'h' hangs, 'u' cannot be reached, 'x' dies and does not come up again, 'X' is
// not there any more when it is asked.
typedef struct {
  seer_endpoint endpoint;
  const char *script;
  uint32_t turns, left;  // of the loop, until an answer
  uint32_t n_asked, n_restarts, n_lost;
  char now;
  bool is_busy, must_restart, is_starting;
  const cpu_set_t *processors;
  uint32_t turns_to_start, left_to_start;
  uint32_t job;
  int fd;
} made_up;

static seer_endpoint_facts describe(const seer_endpoint *e) {
  return (seer_endpoint_facts){.name = "made-up", .processors = ((const made_up *)e)->processors};
}

static seer_status ask(seer_endpoint *e, const seer_endpoint_order *order) {
  made_up *m = (made_up *)e;
  assert_false(m->is_busy);  // one thing at a time
  assert_false(m->must_restart);
  assert_false(m->is_starting);
  assert_int_equal(m->n_lost, 0);
  m->n_asked++;
  m->now = *m->script ? *m->script++ : 'o';
  m->job = (uint32_t)order->index;
  m->left = m->turns;
  m->must_restart = m->now == 'u';
  if (m->now == 'u') return SEER_FAIL(IO, "not reached");
  if (m->now == 'X') return SEER_FAIL(DEVICE, "gone");
  m->is_busy = true;
  return SEER_OK;
}

static void poll(const seer_endpoint *e, int *out_fd, uint64_t *out_until_ns) {
  const made_up *m = (const made_up *)e;
  bool hangs = m->now == 'h' && !m->is_starting;
  *out_fd = hangs ? -1 : m->fd;
  *out_until_ns = hangs ? 0 : UINT64_MAX;
}

static seer_status answer(seer_endpoint *e, seer_arena *arena, bool *out_is_over,
    const void **out_payload, size_t *out_n) {
  (void)arena;
  made_up *m = (made_up *)e;
  *out_is_over = --m->left == 0;
  if (m->left > 0) return SEER_OK;
  m->is_busy = false;
  m->must_restart = m->now != 'o';
  *out_payload = m->now == 'n' ? NULL : &m->job;
  *out_n = sizeof m->job;
  return m->now == 'd' || m->now == 'x' ? SEER_FAIL(IO, "killed by signal 9") : SEER_OK;
}

static seer_status restart(seer_endpoint *e) {
  made_up *m = (made_up *)e;
  m->n_restarts++;
  m->is_busy = m->must_restart = false;
  m->is_starting = true;
  m->left_to_start = m->turns_to_start;
  return m->now == 'x' ? SEER_FAIL(DEVICE, "it does not come up") : SEER_OK;
}

static seer_status rise(seer_endpoint *e, bool *out_is_up) {
  made_up *m = (made_up *)e;
  assert_true(m->is_starting);
  *out_is_up = m->left_to_start == 0;
  m->is_starting = !*out_is_up;
  if (m->left_to_start > 0) m->left_to_start--;
  return SEER_OK;
}

static void lost(seer_endpoint *e) { ((made_up *)e)->n_lost++; }

static const seer_endpoint_desc made_up_desc = {.describe = describe,
    .ask = ask,
    .poll = poll,
    .answer = answer,
    .restart = restart,
    .rise = rise,
    .lost = lost};

typedef struct {
  seer_context *context;
  seer_arena *arena;
  seer_queue queue;
  seer_devices devices;
  made_up device[MAX_DEVICES];
  int fds[2];  // [0] can always be read
  uint32_t n_ended[MAX_JOBS];
  seer_measured_class cls[MAX_JOBS];
  uint32_t by[MAX_JOBS];
  char why[MAX_JOBS][64];
  uint32_t known;  // this one's result is there already; UINT32_MAX: none
} world;

static seer_status order(
    void *user, uint32_t job, uint32_t device, seer_endpoint_order *out, bool *out_is_done) {
  world *w = user;
  assert_int_equal(w->queue.job[job].state, SEER_JOB_LEASED);
  out->index = job;
  *out_is_done = job == w->known;
  if (!*out_is_done) return SEER_OK;
  w->n_ended[job]++;
  w->by[job] = device;
  return SEER_OK;
}

static seer_status take(
    void *user, uint32_t job, uint32_t device, const void *payload, size_t n_bytes) {
  world *w = user;
  if (!payload) return SEER_FAIL(CORRUPT, "nonsense");
  assert_int_equal(n_bytes, sizeof job);
  assert_memory_equal(payload, &job, sizeof job);  // the answer to this one, not to another
  w->n_ended[job]++;
  w->by[job] = device;
  return SEER_OK;
}

static void fail_job(
    void *user, uint32_t job, uint32_t device, seer_measured_class cls, const char *why) {
  world *w = user;
  w->n_ended[job]++;
  w->by[job] = device;
  w->cls[job] = cls;
  (void)snprintf(w->why[job], sizeof w->why[job], "%s", why);
}

static void open_world(world *w, uint32_t n_jobs, uint32_t n_devices) {
  memset(w, 0, sizeof *w);
  w->known = UINT32_MAX;
  w->arena = seer_arena_create("test");
  must(seer_context_create(&w->context));
  must(seer_os_pipe(w->fds));
  must(seer_os_write_all(w->fds[1], "x", 1));
  w->devices.context = w->context;
  for (uint32_t k = 0; k < n_devices; k++) {
    w->device[k] =
        (made_up){.endpoint = {&made_up_desc}, .script = "", .turns = 1, .fd = w->fds[0]};
    seer_devices_add(&w->devices, &w->device[k].endpoint);
  }
  seer_queue_init(&w->queue, n_jobs, w->arena);
  for (uint32_t i = 0; i < n_jobs; i++) seer_queue_built(&w->queue, i, true);
}

static seer_device_work work_of(world *w) {
  return (seer_device_work){.user = w,
      .queue = &w->queue,
      .arena = w->arena,
      .order = order,
      .take = take,
      .fail = fail_job};
}

static void close_world(world *w) {
  seer_os_close(w->fds[0]);
  seer_os_close(w->fds[1]);
  seer_context_destroy(w->context);
  seer_arena_destroy(w->arena);
}

// All are over, once each; so many of class `cls`, the others are fine.
static void all_ended(const world *w, seer_measured_class cls, uint32_t n_failed) {
  uint32_t n = 0;
  assert_true(seer_queue_is_done(&w->queue));
  for (uint32_t i = 0; i < w->queue.n; i++) {
    if (w->n_ended[i] != 1) fail_msg("job %u ended %u times", i, w->n_ended[i]);
    if (w->cls[i] == SEER_MEASURED_OK) continue;
    assert_int_equal(w->cls[i], cls);
    n++;
  }
  assert_int_equal(n, n_failed);
}

typedef struct {
  const char *script[2];
  seer_measured_class cls;
  uint32_t n_failed, n_asked, n_restarts;
  const char *why;
} misfortune;

// What one device could not do the other one takes, while that is started again: it is lost if
// both die over it. 20 jobs on two devices; what is asked of both is 20 and what went back.
static void misfortunes_cost_what_they_must(void **state) {
  (void)state;
  static const misfortune table[] = {
      {{"", ""}, SEER_MEASURED_OK, 0, 20, 0, ""},
      {{"od", ""}, SEER_MEASURED_OK, 0, 21, 1, ""},
      {{"dd", ""}, SEER_MEASURED_OK, 0, 22, 2, ""},
      {{"d", "od"}, SEER_MEASURED_RUN_CRASH, 1, 21, 2, "killed by signal 9"},
      {{"n", ""}, SEER_MEASURED_OK, 0, 21, 1, ""},
      {{"n", "on"}, SEER_MEASURED_RUN_CRASH, 1, 21, 2, "nonsense"},
      {{"d", "on"}, SEER_MEASURED_RUN_CRASH, 1, 21, 2, "nonsense"},
      {{"u", ""}, SEER_MEASURED_OK, 0, 21, 1, ""},
      {{"uu", ""}, SEER_MEASURED_OK, 0, 22, 2, ""},
      {{"uud", ""}, SEER_MEASURED_OK, 0, 23, 3, ""},
      {{"h", ""}, SEER_MEASURED_RUN_TIMEOUT, 1, 20, 1, "took too long"},
      {{"dddd", "dddd"}, SEER_MEASURED_RUN_CRASH, 4, 24, 8, "signal 9"},
      {{"x", ""}, SEER_MEASURED_OK, 0, 21, 1, ""},
      {{"oX", "ooo"}, SEER_MEASURED_OK, 0, 21, 0, ""},
      {{"ddX", "odhn"}, SEER_MEASURED_COUNT, 0, 0, 0, ""},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(table); i++) {
    const misfortune *t = &table[i];
    world w;
    open_world(&w, 20, 2);
    w.device[0].script = t->script[0];
    w.device[1].script = t->script[1];
    const seer_device_work work = work_of(&w);
    must(seer_devices_run(&w.devices, &work));
    if (t->cls == SEER_MEASURED_COUNT) {
      for (uint32_t k = 0; k < 20; k++) assert_int_equal(w.n_ended[k], 1);
    } else {
      all_ended(&w, t->cls, t->n_failed);
      assert_int_equal(w.device[0].n_asked + w.device[1].n_asked, t->n_asked);
      assert_int_equal(w.device[0].n_restarts + w.device[1].n_restarts, t->n_restarts);
      for (uint32_t k = 0; k < 20; k++)
        if (w.cls[k] && !strstr(w.why[k], t->why)) fail_msg("case %zu: %s", i, w.why[k]);
    }
    close_world(&w);
  }
}

// A device that is left out is not asked again, and what only it might have had is lost; without
// any the measurer is.
static void who_is_gone_is_left_out(void **state) {
  (void)state;
  world w;
  open_world(&w, 20, 2);
  w.device[0].script = "x";
  for (uint32_t i = 0; i < 6; i++) w.queue.job[i].wanted = 0;
  seer_device_work work = work_of(&w);
  must(seer_devices_run(&w.devices, &work));
  all_ended(&w, SEER_MEASURED_DEVICE_LOST, 6);
  assert_int_equal(w.device[0].n_asked, 1);
  assert_int_equal(w.device[0].n_lost, 1);
  assert_int_equal(seer_devices_left(&w.devices), 1);
  assert_int_equal(seer_devices_home(&w.devices), 1);
  close_world(&w);

  open_world(&w, 20, 2);
  w.device[0].script = "ox";
  w.device[1].script = "oooX";
  work = work_of(&w);
  seer_status status = seer_devices_run(&w.devices, &work);
  assert_int_equal(seer_status_code(status), SEER_CODE_DEVICE);
  seer_status_free(status);
  close_world(&w);
}

// Results that are there already take nobody's time.
static void what_is_known_is_not_asked(void **state) {
  (void)state;
  world w;
  open_world(&w, 20, 2);
  w.known = 7;
  const seer_device_work work = work_of(&w);
  must(seer_devices_run(&w.devices, &work));
  all_ended(&w, SEER_MEASURED_OK, 0);
  assert_int_equal(w.device[0].n_asked + w.device[1].n_asked, 19);
  close_world(&w);
}

// Where somebody works, only those on other processors are asked.
static void sharers_wait_for_builders(void **state) {
  (void)state;
  world w;
  cpu_set_t first, second;
  CPU_ZERO(&first);
  CPU_ZERO(&second);
  CPU_SET(0, &first);
  CPU_SET(1, &second);
  open_world(&w, 20, 3);
  w.device[0].processors = &first;
  w.device[1].processors = &second;
  const seer_device_work work = work_of(&w);
  must(seer_devices_hand_out(&w.devices, &work, &first));
  assert_int_equal(w.device[0].n_asked, 0);
  assert_int_equal(w.device[1].n_asked, 1);
  assert_int_equal(w.device[2].n_asked, 1);  // it has none that could be busy
  must(seer_devices_hand_out(&w.devices, &work, NULL));
  for (uint32_t k = 0; k < 3; k++) assert_int_equal(w.device[k].n_asked, 1);
  close_world(&w);
}

// A pace is kept by each device, also behind the last job, until the user has stopped.
static void a_pace_is_kept(void **state) {
  (void)state;
  volatile sig_atomic_t is_stopped = 0;
  const seer_measure_pace pace = {0.01, &is_stopped, 0};
  world w;
  open_world(&w, 6, 2);
  seer_device_work work = work_of(&w);
  work.pace = &pace;
  work.start_ns = seer_os_now_ns();
  must(seer_devices_run(&w.devices, &work));
  all_ended(&w, SEER_MEASURED_OK, 0);
  assert_true(seer_os_now_ns() - work.start_ns >= 30000000u);
  assert_int_equal(w.device[0].n_asked, 3);  // none is done before it is due
  work.start_ns += 3600u * (uint64_t)1000000000u;
  seer_queue_init(&w.queue, 1, w.arena);
  seer_queue_built(&w.queue, 0, true);
  must(seer_devices_hand_out(&w.devices, &work, NULL));
  const bool ready[2] = {true, true};
  must(seer_devices_take(&w.devices, &work, ready));
  assert_true(seer_queue_is_done(&w.queue) && seer_devices_are_due(&w.devices, &work));
  is_stopped = 1;
  assert_false(seer_devices_are_due(&w.devices, &work));
  close_world(&w);
}

// Whatever the devices are at, and however long they would take.
static void what_is_not_done_is_left(void **state) {
  (void)state;
  int fds[2];
  must(seer_os_pipe(fds));
  world w;
  open_world(&w, 6, 2);
  w.devices.leave_fd = fds[0];
  for (uint32_t k = 0; k < 2; k++) w.device[k].turns = UINT32_MAX;
  must(seer_os_write_all(fds[1], "x", 1));
  const seer_device_work work = work_of(&w);
  seer_status status = seer_devices_run(&w.devices, &work);
  assert_int_equal(seer_status_code(status), SEER_CODE_DEVICE);
  seer_status_free(status);
  for (int i = 0; i < 2; i++) seer_os_close(fds[i]);
  close_world(&w);
}

// Turns of the loop until all is done.
static uint32_t count_turns(world *w) {
  const seer_device_work work = work_of(w);
  for (uint32_t n = 0;; n++) {
    must(seer_devices_hand_out(&w->devices, &work, NULL));
    if (seer_queue_is_done(&w->queue)) return n;
    seer_watch watch;
    seer_watch_begin(&watch);
    seer_devices_watch(&w->devices, &work, &watch);
    must(seer_watch_wait(&watch, 0));
    must(seer_devices_take(&w->devices, &work, watch.is_ready));
  }
}

// Measurements of 30 turns each: n devices are n times as fast, and one that is slow by 3 times
// gets a third, not its share.
static void devices_add_up(void **state) {
  (void)state;
  enum { TURNS = 30, JOBS = 480 };
  for (uint32_t n = 1; n <= MAX_DEVICES; n *= 2) {
    world w;
    open_world(&w, JOBS, n);
    for (uint32_t k = 0; k < n; k++) w.device[k].turns = TURNS;
    assert_true(count_turns(&w) * n * 0.95 <= JOBS * TURNS);
    all_ended(&w, SEER_MEASURED_OK, 0);
    close_world(&w);
  }
  world w;
  open_world(&w, 400, 2);
  w.device[0].turns = TURNS;
  w.device[1].turns = 3 * TURNS;
  assert_in_range(count_turns(&w), 300 * TURNS, 303 * TURNS);
  assert_in_range(w.device[1].n_asked, 99, 101);
  close_world(&w);
}

// A device that takes 1000 turns to come up again costs these, and the others nothing.
static void a_restart_stops_nobody_else(void **state) {
  (void)state;
  enum { TURNS = 30, JOBS = 100 };
  world w;
  open_world(&w, JOBS, 2);
  w.device[0].script = "od";
  w.device[0].turns_to_start = 1000;
  for (uint32_t k = 0; k < 2; k++) w.device[k].turns = TURNS;
  assert_in_range(
      count_turns(&w), (JOBS * TURNS + 1000) / 2, (JOBS * TURNS + 1000) / 2 + 3 * TURNS);
  all_ended(&w, SEER_MEASURED_OK, 0);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_job_goes_through_all_states),
      cmocka_unit_test(who_is_wanted_gets_it),
      cmocka_unit_test(misfortunes_cost_what_they_must),
      cmocka_unit_test(who_is_gone_is_left_out),
      cmocka_unit_test(what_is_known_is_not_asked),
      cmocka_unit_test(sharers_wait_for_builders),
      cmocka_unit_test(a_pace_is_kept),
      cmocka_unit_test(what_is_not_done_is_left),
      cmocka_unit_test(devices_add_up),
      cmocka_unit_test(a_restart_stops_nobody_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
