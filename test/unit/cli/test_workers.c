// Workers that die: in each of their states, once or again and again. Each death costs at most one
// trial and is told as what it is; the tuning goes on. This program is its own worker: it kills
// itself at the points that TEST_DEATHS names ("build:2:FILE,..." as seer_os_plant_death).
// SEER_TEST: timeout=300 cost=35
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seer/familyseer.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "choose/tables.h"
#include "cli/command.h"
#include "measure/backends.h"
#include "models/models.h"
#include "support/test.h"
#include "tune/campaign.h"

// ---- the worker
static void plant(char *text) {
  for (char *each = strtok(text, ","); each; each = strtok(NULL, ",")) {
    char *nth = strchr(each, ':'), *file = nth ? strchr(nth + 1, ':') : NULL;
    if (!file) abort();
    *nth++ = *file++ = 0;
    seer_os_plant_death(each, strtoull(nth, NULL, 10), file);
  }
}

#define PAUSE_NS 6000000000u  // longer than LIMIT
#define LIMIT "4s"

static int work(int argc, char **argv) {
  char *deaths = getenv("TEST_DEATHS");
  if (deaths) plant(strdup(deaths));
  const char *paused = getenv("TEST_PAUSE");
  if (paused) seer_os_plant_pause(paused, PAUSE_NS);
  return seer_cli_main(argc, argv);
}

// ---- the tests
typedef struct {
  seer_context *context;
  seer_arena *arena;
  seer_network *network;
  const char *folder, *once;
  seer_sketch_list *sketches;
  seer_measurer *measurer;
} world;

static void open_world(world *w, const char *deaths) {
  memset(w, 0, sizeof(*w));
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  w->once = seer_os_path_join(w->arena, w->folder, "died");
  must(seer_context_create(&w->context));
  setenv("XDG_CACHE_HOME", w->folder, 1);
  seer_text text;
  seer_text_init(&text, w->arena);
  for (const char *at = deaths; *at; at++)
    *at == '@' ? seer_text_put(&text, w->once) : seer_text_put_n(&text, at, 1);
  setenv("TEST_DEATHS", text.data ? text.data : "", 1);
  const char *self;
  bool is_library;
  must(seer_os_self_path(w->arena, &self, &is_library));
  must(seer_context_set(w->context, "worker-path", self));
  must(seer_context_set(w->context, "threads", "1"));
  must(seer_context_set(w->context, "builders", "1"));
  must(seer_context_set(w->context, "confine", "0"));  // a death makes a file
  must(seer_context_find_target(w->context));
  must(seer_front_load(w->context, "mlp", seer_model_build, w->arena, &w->network));
}

static void open_measurer(world *w) {
  const seer_measure_desc *local = &seer_measure_local;
  const seer_target *target = seer_context_target(w->context);
  const seer_task *task = &w->network->task[0];
  must(seer_sketch_generate(task->dag, target, SEER_SPACE_FULL, w->arena, &w->sketches));
  must(local->open(w->context, target, "", &w->measurer));
  seer_measure_task announced = {0, task->dag, w->sketches, SEER_SPACE_FULL, 0};
  must(local->add_task(w->measurer, &announced));
}

static void close_world(world *w) {
  if (w->measurer) seer_measure_local.close(w->measurer);
  seer_graph_close(w->network->graph);
  seer_context_destroy(w->context);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
}

enum { N = 6 };

static void draw(const world *w, seer_measure_request *requests) {
  seer_rng rng;
  seer_rng_init(&rng, 1);
  memset(requests, 0, N * sizeof(*requests));
  seer_schedule_default(w->sketches, 0, &requests[0].schedule);
  for (int i = 1; i < N;) {
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, w->sketches->n);
    if (seer_schedule_sample(w->sketches, sketch, &rng, &requests[i].schedule, NULL) ==
        SEER_REJECT_NONE)
      i++;
  }
}

// Deaths during two rounds of measuring: so many candidates are lost, with `cls`.
static void measure_with(const char *deaths, seer_measured_class cls, uint32_t n_lost) {
  world w;
  open_world(&w, deaths);
  open_measurer(&w);
  seer_measure_request requests[N];
  seer_measure_result results[N];
  draw(&w, requests);
  uint32_t n_failed = 0;
  for (int round = 0; round < 2; round++) {
    must(seer_measure_local.measure(w.measurer, requests, N, NULL, results));
    for (int i = 0; i < N; i++) {
      if (results[i].cls == SEER_MEASURED_OK) continue;
      n_failed++;
      if (results[i].cls != cls) fail_msg("%s: class %d", deaths, (int)results[i].cls);
      if (!strstr(results[i].message, "killed by signal 9") && !strstr(results[i].message, "equal"))
        fail_msg("%s: '%s'", deaths, results[i].message);
    }
  }
  if (n_failed != n_lost) fail_msg("%s: %u failed, not %u", deaths, n_failed, n_lost);
  if (*deaths && !seer_os_exists(w.once)) fail_msg("%s: nobody died", deaths);
  close_world(&w);
}

// What a runner had goes to the next one, once.
static void a_death_costs_one_trial_at_most(void **state) {
  (void)state;
  measure_with("", SEER_MEASURED_OK, 0);
  measure_with("build:2:@", SEER_MEASURED_BUILD_ERROR, 1);
  measure_with("run:2:@", SEER_MEASURED_OK, 0);
  measure_with("pack:1:@", SEER_MEASURED_OK, 0);
  measure_with("time:3:@", SEER_MEASURED_OK, 0);
  measure_with("run:1:@,run:1:@.again", SEER_MEASURED_RUN_CRASH, 1);
  measure_with("time:1:@,pack:1:@.again", SEER_MEASURED_RUN_CRASH, 1);
}

// Killed after the last answer of a round: who sends to it next notices, and it costs nothing. (The
// builder's hello is its first idle moment; the runner has one for each message.)
static void an_idle_death_costs_nothing(void **state) {
  (void)state;
  world w;
  open_world(&w, "idle:7:@");
  open_measurer(&w);
  seer_measure_request requests[N];
  seer_measure_result results[N];
  draw(&w, requests);
  for (int round = 0; round < 3; round++) {
    must(seer_measure_local.measure(w.measurer, requests, N, NULL, results));
    for (int i = 0; i < N; i++)
      if (results[i].cls) fail_msg("round %d: %s", round, results[i].message);
    seer_os_sleep_ns(100000000);  // time to die in
  }
  assert_true(seer_os_exists(w.once));
  close_world(&w);
}

// What is checked or compared is asked again after a death.
static void judge_with(const char *deaths, seer_measured_class want) {
  world w;
  open_world(&w, deaths);
  open_measurer(&w);
  seer_measure_request requests[N];
  draw(&w, requests);
  seer_measured_class cls;
  char message[SEER_MEASURE_MESSAGE_BYTES] = "";
  must(seer_measure_local.check(w.measurer, &requests[1], &cls, message, sizeof message));
  if (cls != want) fail_msg("%s: check: %d, %s", deaths, (int)cls, message);
  seer_schedule contenders[2] = {requests[2].schedule, requests[3].schedule};
  seer_measure_ab ab[2];
  must(seer_measure_local.compare(
      w.measurer, SEER_MEASURE_HOME, 0, contenders, 2, &requests[0].schedule, 3, ab, NULL));
  for (int k = 0; k < 2; k++) assert_int_equal(ab[k].n_pairs, want ? 0 : 3);
  close_world(&w);
}

static void judging_survives_a_death(void **state) {
  (void)state;
  judge_with("check:1:@", SEER_MEASURED_OK);
  judge_with("compare:1:@", SEER_MEASURED_OK);
  judge_with("build:1:@", SEER_MEASURED_OK);
  judge_with("pack:2:@", SEER_MEASURED_OK);
}

// A candidate that takes two runners along is a candidate that crashes. More such deaths than there
// once were restarts.
static void who_always_kills_is_refused(void **state) {
  (void)state;
  world w;
  char deaths[1024] = "";
  open_world(&w, "");
  for (int i = 0; i < 14; i++) {
    size_t n = strlen(deaths);
    (void)snprintf(deaths + n, sizeof deaths - n, "%srun:1:%s.%d", i ? "," : "", w.once, i);
  }
  setenv("TEST_DEATHS", deaths, 1);
  open_measurer(&w);
  seer_measure_request requests[N];
  seer_measure_result results[N];
  draw(&w, requests);
  uint32_t n_failed = 0;
  for (int round = 0; round < 4; round++) {
    must(seer_measure_local.measure(w.measurer, requests, N, NULL, results));
    for (int i = 0; i < N; i++) n_failed += results[i].cls == SEER_MEASURED_RUN_CRASH;
  }
  assert_int_equal(n_failed, 7);
  for (int i = 0; i < N; i++) assert_int_equal(results[i].cls, SEER_MEASURED_OK);
  close_world(&w);
}

// A whole tuning with a death in every state that it is sure to come to (who is checked depends on
// what was fast): it ends, with a library.
static void count_failed(void *user, const seer_event *event) {
  uint32_t *n = user;
  if (event->kind == SEER_EVENT_MEASUREMENT) n[event->result->cls]++;
}

static void a_tuning_survives_them_all(void **state) {
  (void)state;
  static const char *const points[] = {
      "idle:5", "build:4", "run:6", "pack:9", "time:5", "compare:1"};
  world w;
  open_world(&w, "");
  seer_text deaths;
  seer_text_init(&deaths, w.arena);
  for (size_t i = 0; i < SEER_COUNT_OF(points); i++)
    seer_text_printf(&deaths, "%s%s:%s.%zu", i ? "," : "", points[i], w.once, i);
  setenv("TEST_DEATHS", deaths.data, 1);
  must(seer_context_set(w.context, "trials", "48"));
  seer_records *records;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "r"), &records));
  seer_campaign *campaign;
  must(seer_campaign_create(w.context, w.network, records, "mlp", &campaign));
  uint32_t n[SEER_MEASURED_COUNT] = {0};
  seer_campaign_listen(campaign, count_failed, n);
  must(seer_campaign_run(campaign));
  for (size_t i = 0; i < SEER_COUNT_OF(points); i++) {
    const char *once = seer_arena_printf(w.arena, "%s.%zu", w.once, i);
    if (!seer_os_exists(once)) fail_msg("nobody died at %s", points[i]);
  }
  assert_true(n[SEER_MEASURED_OK] >= 48);
  // One at "build"; one more if the next candidate was on its way when the idle builder died.
  assert_in_range(n[SEER_MEASURED_BUILD_ERROR], 1, 2);
  assert_in_range(n[SEER_MEASURED_RUN_CRASH], 0, 2);  // two deaths over the same candidate
  seer_choice choices[8];
  assert_true(w.network->n_task <= SEER_COUNT_OF(choices));
  seer_campaign_choices(campaign, choices);
  must(seer_choice_build(w.context, w.network, choices, SEER_BUILD_LIBRARY, NULL,
      seer_os_path_join(w.arena, w.folder, "out")));
  seer_campaign_destroy(campaign);
  seer_records_close(records);
  close_world(&w);
}

// ---- programs that fork while a tuner is open
typedef struct {
  const char *list;  // what a program that was exec'd has open
  pid_t stays;  // a copy of this process that lives on
  bool is_done;
} host;

static void run_child(const char *script) {
  pid_t child = fork();
  if (child == 0 && !script) exit(0);  // with what is registered for it
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

// What a program that is exec'd has open, into file `path`.
static void list_open(const char *path) {
  char script[500];
  (void)snprintf(
      script, sizeof script, "for f in /proc/$$/fd/*; do readlink $f; done > %s; true", path);
  run_child(script);
}

static uint32_t count_text(const world *w, const char *path, const char *text) {
  char *at;
  uint32_t n = 0;
  must(seer_os_read_file(path, w->arena, 1 << 16, &at, NULL));
  for (; (at = strstr(at, text)); at++) n++;
  return n;
}

static void fork_once(void *user, const seer_tuner_event *event) {
  host *h = user;
  if (h->is_done || strcmp(event->kind, "measurement") != 0) return;
  h->is_done = true;
  (void)fflush(NULL);
  list_open(h->list);
  run_child(NULL);
  h->stays = fork();
  if (h->stays == 0) {
    (void)alarm(60);  // whatever becomes of the test
    for (;;) pause();
  }
}

static uint32_t count_workers(const char *folder) {
  char command[500], line[64] = "";
  (void)snprintf(command, sizeof command,
      "grep -l \"^PPid:.$PPID$\" /proc/[0-9]*/status 2>/dev/null | while read s; do tr '\\0' ' ' < "
      "${s%%status}cmdline; echo; done | grep -c 'worker [br]' > %s/workers",
      folder);
  (void)!system(command);
  (void)snprintf(command, sizeof command, "%s/workers", folder);
  FILE *file = fopen(command, "re");
  if (!file || !fgets(line, sizeof line, file)) fail_msg("nothing was counted");
  (void)fclose(file);
  return (uint32_t)atoi(line);
}

// What a fresh worker does before its first request (reads the task, fills operands, loads code)
// is not the candidate's time; what it does with the candidate is.
static void setting_up_is_no_candidate_s_time(void **state) {
  (void)state;
  static const struct {
    const char *point;
    seer_measured_class cls;
  } pauses[] = {{"task", SEER_MEASURED_OK}, {"run", SEER_MEASURED_OK},
      {"time", SEER_MEASURED_RUN_TIMEOUT}, {"build", SEER_MEASURED_BUILD_TIMEOUT}};
  for (size_t i = 0; i < SEER_COUNT_OF(pauses); i++) {
    world w;
    seer_measure_request request[N];
    seer_measure_result result;
    open_world(&w, "");
    must(seer_context_set(w.context, "timeout", LIMIT));
    must(seer_context_set(w.context, "build-timeout", LIMIT));
    setenv("TEST_PAUSE", pauses[i].point, 1);
    open_measurer(&w);
    draw(&w, request);
    must(seer_measure_local.measure(w.measurer, request, 1, NULL, &result));
    if (result.cls != pauses[i].cls)
      fail_msg("paused at %s: %s: %s", pauses[i].point, seer_measured_class_name(result.cls),
          result.message);
    close_world(&w);
    unsetenv("TEST_PAUSE");
  }
}

// What fits beside building is done where no thread can be had for it, too.
static void count_call(void *user) { ++*(uint32_t *)user; }

static void work_beside_is_done_without_a_thread(void **state) {
  (void)state;
  world w;
  seer_measure_request request[N];
  seer_measure_result result;
  uint32_t n_done = 0;
  open_world(&w, "");
  open_measurer(&w);
  draw(&w, request);
  seer_meanwhile meanwhile = {.run = count_call, .user = &n_done};
  seer_os_plant_fault(1);
  must(seer_measure_local.measure(w.measurer, request, 1, &meanwhile, &result));
  seer_os_plant_fault(0);
  assert_int_equal(result.cls, SEER_MEASURED_OK);
  assert_int_equal(n_done, 1);
  close_world(&w);
}

// Nothing of the tuner goes to what is exec'd; what a copy does when it exits, or that one lives
// on, is nothing to the tuner, and the workers end with it.
static void hosts_may_fork(void **state) {
  (void)state;
  world w;
  open_world(&w, "");
  host h = {.list = seer_os_path_join(w.arena, w.folder, "open")};
  const char *self, *records = seer_os_path_join(w.arena, w.folder, "records"),
                    *lock = seer_os_path_join(w.arena, w.folder, "device.lock"),
                    *before = seer_os_path_join(w.arena, w.folder, "before");
  (void)fflush(NULL);
  list_open(before);
  bool is_library;
  must(seer_os_self_path(w.arena, &self, &is_library));
  seer_tuner *tuner;
  bool is_ok = !seer_tuner_create(&tuner) && !seer_tuner_set(tuner, "worker-path", self) &&
      !seer_tuner_set(tuner, "threads", "1") && !seer_tuner_set(tuner, "builders", "1") &&
      !seer_tuner_set(tuner, "trials", "24") && !seer_tuner_set(tuner, "records", records) &&
      !seer_tuner_set(tuner, "device-lock", lock) && !seer_tuner_load(tuner, "mlp");
  seer_tuner_listen(tuner, fork_once, &h);
  is_ok = is_ok && !seer_tuner_tune(tuner);
  assert_int_equal(count_workers(w.folder), 2);
  is_ok = is_ok && !seer_tuner_compile(tuner, seer_os_path_join(w.arena, w.folder, "out"));
  if (!is_ok) fail_msg("%s", seer_tuner_message(tuner));
  seer_tuner_destroy(tuner);
  assert_int_equal(count_workers(w.folder), 0);
  assert_true(h.is_done);
  assert_int_equal(kill(h.stays, SIGKILL), 0);
  assert_int_equal(waitpid(h.stays, NULL, 0), h.stays);
  // Who started this test may have left some open to it.
  static const char *const ours[] = {"socket:", "records", "device.lock"};
  for (size_t i = 0; i < SEER_COUNT_OF(ours); i++)
    assert_int_equal(count_text(&w, h.list, ours[i]), count_text(&w, before, ours[i]));
  close_world(&w);
}

// Whatever fails once while workers are started (no process, no socket) is done without,
// or done again.
static void one_failure_at_the_start_is_none(void **state) {
  (void)state;
  world w;
  open_world(&w, "");
  for (uint64_t nth = 1; nth <= 10; nth++) {
    seer_os_plant_fault(nth);
    seer_status status =
        seer_measure_local.open(w.context, seer_context_target(w.context), "", &w.measurer);
    seer_os_plant_fault(0);
    if (status) fail_msg("call %d: %s", (int)nth, seer_status_message(status));
    seer_measure_local.close(w.measurer);
    w.measurer = NULL;
  }
  close_world(&w);
}

// A worker that cannot be started at all, or is of another version, is said at once.
static void what_is_no_worker_is_said(void **state) {
  (void)state;
  world w;
  open_world(&w, "");
  must(seer_context_set(w.context, "worker-path", "/nowhere/familyseer"));
  seer_status status =
      seer_measure_local.open(w.context, seer_context_target(w.context), "", &w.measurer);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "/nowhere/familyseer"));
  seer_status_free(status);
  close_world(&w);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "worker") == 0) return work(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_death_costs_one_trial_at_most),
      cmocka_unit_test(an_idle_death_costs_nothing),
      cmocka_unit_test(judging_survives_a_death),
      cmocka_unit_test(who_always_kills_is_refused),
      cmocka_unit_test(a_tuning_survives_them_all),
      cmocka_unit_test(setting_up_is_no_candidate_s_time),
      cmocka_unit_test(work_beside_is_done_without_a_thread),
      cmocka_unit_test(hosts_may_fork),
      cmocka_unit_test(one_failure_at_the_start_is_none),
      cmocka_unit_test(what_is_no_worker_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
