// What ships is what has won: winners and their pairs are stored, keep their place until they are
// beaten, and are what is compiled; what comes from elsewhere is tried first, and believed only
// when it is vouched for.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/os.h"
#include "choose/choose.h"
#include "models/models.h"
#include "record/sound.h"
#include "support/test.h"
#include "tune/campaign/inside.h"

// mlp on a made-up machine, tuned with made-up times.
static const char machine[] =
    "cpu -triple=x86_64-linux-gnu -cpu=haswell -features=+avx,+avx2,+fma -model=\"made up\" "
    "-threads=2 -lanes=8 -registers=16 -fma-ports=2 -fma-latency=5 -cache-line=64 -l1=32768 "
    "-l2=262144 -l3=8388608 -gflops=50 -dram-gbs=10 -l2-gbs=80 -l3-gbs=30 -measured";

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_network *network;
  seer_records *records;
  seer_text events;  // of acceptance
  bool is_removed;
} world;

// The formula's machine, on which one schedule of each task cannot be timed, or not be checked, and
// nothing can be timed the first times.
static struct {
  const seer_measure_desc *other;
  seer_measured_class pairs, check;  // what becomes of it; OK: as usual
  seer_schedule of[8];
  uint32_t n_first;  // comparisons that do not get an answer, of the next ones
} slow;

static seer_status compare_slowly(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  bool is_slow = false;
  for (uint32_t k = 0; k < n; k++)
    is_slow = is_slow || seer_schedule_equal(&contenders[k], &slow.of[task]);
  if (slow.n_first > 0) {
    slow.n_first--;
    is_slow = true;
  }
  if (!is_slow || slow.pairs == SEER_MEASURED_OK)
    return slow.other->compare(
        m, device, task, contenders, n, baseline, n_pairs, out_ab, out_pairs);
  for (uint32_t k = 0; k < n; k++) out_ab[k] = (seer_measure_ab){.cls = slow.pairs};
  return SEER_OK;
}

static seer_status check_slowly(seer_measurer *m, const seer_measure_request *request,
    seer_measured_class *out_class, char *message, size_t message_bytes) {
  bool is_slow = seer_schedule_equal(&request->schedule, &slow.of[request->task]);
  if (!is_slow || slow.check == SEER_MEASURED_OK)
    return slow.other->check(m, request, out_class, message, message_bytes);
  *out_class = slow.check;
  (void)snprintf(message, message_bytes, "as it was asked for");
  return SEER_OK;
}

static void slow_down(seer_campaign *campaign) {
  static seer_measure_desc own;
  slow.other = campaign->device.desc;
  own = *slow.other;
  own.compare = compare_slowly;
  own.check = check_slowly;
  campaign->device.desc = &own;
}

static void export_all(seer_records *records, const char *path) {
  uint32_t n_dropped;
  must(seer_records_export(records, path, &n_dropped));
  assert_int_equal(n_dropped, 0);
}

static seer_records *new_records(world *w, const char *name) {
  seer_records *records;
  must(seer_records_open(w->context, seer_os_path_join(w->arena, w->folder, name), &records));
  return records;
}

static void open_world(world *w) {
  static const char *const options[][2] = {
      {"target", machine}, {"measure", "fake"}, {"trials", "60"}, {"search-policy", "round-robin"}};
  w->is_removed = false;
  memset(&slow, 0, sizeof slow);
  must(seer_context_create(&w->context));
  for (size_t i = 0; i < SEER_COUNT_OF(options); i++)
    must(seer_context_set(w->context, options[i][0], options[i][1]));
  must(seer_context_find_target(w->context));
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  must(seer_front_load(w->context, "mlp", seer_model_build, w->arena, &w->network));
  w->records = new_records(w, "r.sqlite");
}

static void close_world(world *w) {
  seer_records_close(w->records);
  seer_graph_close(w->network->graph);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

static void listen(void *user, const seer_event *event) {
  world *w = user;
  if (event->kind == SEER_EVENT_ACCEPT)
    seer_text_printf(&w->events, "%u: %s\n", event->task, event->text);
  if (event->kind == SEER_EVENT_NOTE || event->kind == SEER_EVENT_WAIT)
    seer_text_printf(&w->events, "%s\n", event->text);
  if (event->kind == SEER_EVENT_MEASUREMENT && event->proposal->origin == SEER_ORIGIN_RECORD)
    seer_text_put(&w->events, "tried\n");
}

// What the campaign would compile: choices[task], in w->arena.
static seer_choice *tune(world *w, seer_records *records, const char *trials) {
  seer_campaign *campaign;
  must(seer_context_set(w->context, "trials", trials));
  seer_text_init(&w->events, w->arena);
  seer_text_put(&w->events, "");
  must(seer_campaign_create(w->context, w->network, records, "mlp", &campaign));
  seer_campaign_listen(campaign, listen, w);
  slow_down(campaign);
  must(seer_campaign_run(campaign));
  seer_choice *choices = SEER_NEW_ARRAY(w->arena, seer_choice, w->network->n_task + 1);
  seer_campaign_choices(campaign, choices);
  for (uint32_t t = 0; t < w->network->n_task; t++) {
    const seer_measure_ab *ab = seer_campaign_winner(campaign, t);
    assert_int_equal(ab != NULL, choices[t].origin == SEER_ORIGIN_TUNED);
    seer_sketch_list *own;  // the campaign's end with it
    must(seer_sketch_generate(
        w->network->task[t].dag, seer_context_target(w->context), SEER_SPACE_FULL, w->arena, &own));
    choices[t].sketches = own;
  }
  seer_campaign_destroy(campaign);
  return choices;
}

static seer_choice *choose(world *w, seer_records *records, int level, seer_choose_counts *counts) {
  seer_choice *choices;
  must(seer_choose(w->context, w->network, records, level, w->arena, &choices, counts));
  return choices;
}

static void expect_same(const world *w, const seer_choice *a, const seer_choice *b) {
  for (uint32_t t = 0; t < w->network->n_task; t++) {
    assert_true(seer_schedule_equal(&a[t].schedule, &b[t].schedule));
    assert_int_equal(a[t].origin, b[t].origin);
    assert_int_equal(a[t].n_pairs, b[t].n_pairs);
    assert_true(a[t].speedup == b[t].speedup && a[t].untuned_seconds == b[t].untuned_seconds);
    if (a[t].n_pairs > 0) assert_true(a[t].seconds == b[t].seconds);
  }
}

typedef struct {
  int64_t target, workload;
  seer_record_rule rule;
  seer_record record;
  seer_schedule schedule;
} winner;

static winner find_winner(world *w, seer_records *records, uint32_t t) {
  winner f;
  int64_t targets[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  seer_sketch_list *sketches;
  const seer_task *task = &w->network->task[t];
  const seer_target *target = seer_context_target(w->context);
  must(seer_sketch_generate(task->dag, target, SEER_SPACE_FULL, w->arena, &sketches));
  f.rule = seer_record_rule_of(sketches);
  must(seer_records_find_targets(records, target, targets, &n));
  f.target = targets[0];
  must(seer_records_find_workload(records, task->key, &f.workload));
  must(seer_records_winner(
      records, f.workload, f.target, &f.rule, w->arena, &f.record, &f.schedule));
  return f;
}

static uint32_t n_winners(world *w, seer_records *records) {
  uint32_t n = 0;
  for (uint32_t t = 0; t < w->network->n_task; t++) n += find_winner(w, records, t).record.id != 0;
  return n;
}

// ---- what is stored
static void test_what_is_compiled_is_what_won(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choice *tuned = tune(&w, w.records, "60");
  assert_true(n_winners(&w, w.records) > 0);
  seer_choose_counts counts;
  expect_same(&w, tuned, choose(&w, w.records, 2, &counts));
  assert_int_equal(counts.n_record, n_winners(&w, w.records));
  for (uint32_t t = 0; t < w.network->n_task; t++) {
    winner f = find_winner(&w, w.records, t);
    if (!f.record.id) continue;
    assert_true(f.record.ab.n_pairs >= 15 && f.record.ab.speedup > 1.02);
    assert_true(f.record.ab.p_value <= 0.05 && f.record.judged > 0);
    assert_true(f.record.seconds == f.record.ab.seconds);
    assert_string_equal(f.record.origin, "pairs");
    assert_non_null(strstr(f.record.baseline, "sched \""));
  }
  close_world(&w);
}

// The lowest time of all is not what won: a measurement may have been lucky.
static void test_a_lucky_time_is_not_compiled(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choice *tuned = tune(&w, w.records, "60");
  for (uint32_t t = 0; t < w.network->n_task; t++) {
    winner f = find_winner(&w, w.records, t);
    if (!f.record.id) continue;
    seer_record lucky = {.campaign = f.record.campaign,
        .workload = f.workload,
        .target = f.target,
        .schedule = f.record.baseline,
        .state = SEER_RECORD_CHECKED,
        .seconds = f.record.seconds / 2};
    must(seer_records_add(w.records, &lucky));
  }
  seer_choose_counts counts;
  expect_same(&w, tuned, choose(&w, w.records, 3, &counts));
  close_world(&w);
}

// ---- keeping a place
static winner put_winner(world *w, uint32_t t, const seer_schedule *schedule, seer_measure_ab ab) {
  winner f = find_winner(w, w->records, t);
  int64_t campaign;
  must(seer_records_campaign(w->records, w->context, "mlp", "seer", &campaign));
  seer_record record = {.campaign = campaign,
      .workload = f.workload,
      .target = f.target,
      .schedule = seer_schedule_print(f.rule.sketches, schedule, w->arena),
      .seconds = ab.seconds,
      .ab = ab,
      .judged = 1234};
  must(seer_records_accept(w->records, &record));
  return find_winner(w, w->records, t);
}

static const seer_measure_ab strong = {
    .speedup = 1.5, .p_value = 1e-9, .n_pairs = 200, .seconds = 1e-5, .baseline_seconds = 1.5e-5};

// Nothing is measured any more, the winner is as good as any: it stays with the pairs that it has.
static void test_a_winner_stays(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choice *tuned = tune(&w, w.records, "60");
  winner before = find_winner(&w, w.records, 0);
  assert_true(before.record.id != 0);
  before = put_winner(&w, 0, &before.schedule, strong);
  seer_choice *again = tune(&w, w.records, "1");
  assert_non_null(strstr(w.events.data, "0: the winner of the records stays"));
  winner after = find_winner(&w, w.records, 0);
  assert_int_equal(after.record.id, before.record.id);
  assert_int_equal(after.record.judged, 1234);
  assert_true(seer_schedule_equal(&tuned[0].schedule, &again[0].schedule));
  assert_int_equal(again[0].n_pairs, 200);
  assert_true(again[0].seconds == strong.seconds);
  close_world(&w);
}

// A winner that takes longer than a run may keeps its place; one that crashes or is wrong does not.
static void test_a_slow_winner_stays(void **state) {
  (void)state;
  static const struct {
    seer_measured_class pairs, check;
    bool stays;
    const char *said;
  } cases[] = {
      {SEER_MEASURED_RUN_TIMEOUT, SEER_MEASURED_OK, true, "could not be timed: run-timeout"},
      {SEER_MEASURED_BUILD_TIMEOUT, SEER_MEASURED_OK, true, "could not be timed: build-timeout"},
      {SEER_MEASURED_OK, SEER_MEASURED_RUN_TIMEOUT, true, "its answer: run-timeout"},
      {SEER_MEASURED_RUN_CRASH, SEER_MEASURED_OK, false, "does not run any more: run-crash"},
      {SEER_MEASURED_BUILD_ERROR, SEER_MEASURED_OK, false, "does not run any more: build-error"},
      {SEER_MEASURED_OK, SEER_MEASURED_WRONG_RESULT, false, "its answer: wrong-result"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    world w;
    open_world(&w);
    (void)tune(&w, w.records, "60");
    winner before = find_winner(&w, w.records, 0);
    assert_true(before.record.id != 0);
    before = put_winner(&w, 0, &before.schedule, strong);
    slow.of[0] = before.schedule;
    slow.pairs = cases[i].pairs;
    slow.check = cases[i].check;
    must(seer_context_set(w.context, "no-resume", "1"));  // nobody else to take its place
    seer_choice *again = tune(&w, w.records, "1");
    if (!strstr(w.events.data, cases[i].said)) fail_msg("%s: %s", cases[i].said, w.events.data);
    assert_int_equal(strstr(w.events.data, "does not run any more") != NULL,
        strstr(cases[i].said, "does not run any more") != NULL);
    winner after = find_winner(&w, w.records, 0);
    bool stays = after.record.id == before.record.id;
    if (stays != cases[i].stays) fail_msg("%s: %s", cases[i].said, w.events.data);
    assert_int_equal(seer_schedule_equal(&again[0].schedule, &before.schedule), stays);
    close_world(&w);
  }
}

// A device that hangs once is no reason to end; a schedule that never answers is.
static void test_the_first_timing_is_tried_three_times(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 3; n++) {
    world w;
    open_world(&w);
    seer_campaign *campaign;
    must(seer_campaign_create(w.context, w.network, w.records, "mlp", &campaign));
    slow_down(campaign);
    slow.n_first = n;
    slow.pairs = SEER_MEASURED_RUN_TIMEOUT;
    seer_status status = seer_campaign_run(campaign);
    if (n < 3) {
      must(status);
    } else {
      assert_int_equal(seer_status_code(status), SEER_CODE_DEVICE);
      assert_non_null(
          strstr(seer_status_message(status), "cannot be timed: run-timeout; --timeout"));
      seer_status_free(status);
    }
    assert_int_equal(slow.n_first, 0);
    seer_campaign_destroy(campaign);
    close_world(&w);
  }
}

// A default that is known as the winner is no faster than itself.
static void test_a_winner_that_is_no_faster_than_the_default_goes(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choose_counts counts;
  seer_choice *untuned = choose(&w, NULL, 1, &counts);
  int64_t id;  // nothing was measured for it: it is there because it is the winner
  must(seer_records_target(w.records, seer_context_target(w.context), &id));
  const seer_task *task = &w.network->task[1];
  must(seer_records_workload(w.records, task->dag, task->key, task->name, &id));
  winner before = put_winner(&w, 1, &untuned[1].schedule, strong);
  assert_true(before.record.id != 0);
  seer_choice *tuned = tune(&w, w.records, "1");
  assert_non_null(strstr(w.events.data, "1: the winner of the records is no faster"));
  assert_int_equal(tuned[1].origin, SEER_ORIGIN_UNTUNED);
  assert_int_equal(find_winner(&w, w.records, 1).record.id, 0);
  close_world(&w);
}

// Another that beats it in pairs takes its place, and the records have one winner.
static void test_a_winner_that_is_beaten_goes(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choice *tuned = tune(&w, w.records, "60");
  winner best = find_winner(&w, w.records, 0);
  assert_true(best.record.id != 0);
  seer_choose_counts counts;
  seer_choice *untuned = choose(&w, NULL, 1, &counts);
  (void)put_winner(&w, 0, &untuned[0].schedule, strong);
  seer_choice *again = tune(&w, w.records, "1");
  assert_null(strstr(w.events.data, "0: the winner of the records"));
  assert_non_null(strstr(w.events.data, "0: accepted"));
  assert_true(seer_schedule_equal(&tuned[0].schedule, &again[0].schedule));
  winner after = find_winner(&w, w.records, 0);
  assert_true(seer_schedule_equal(&best.schedule, &after.schedule));
  assert_true(after.record.ab.n_pairs > 0 && after.record.id != best.record.id);
  close_world(&w);
}

// ---- the file
static void remove_at_first_verdict(void *user, const seer_event *event) {
  world *w = user;
  const char *path = seer_os_path_join(w->arena, w->folder, "r.sqlite");
  if (event->kind == SEER_EVENT_ACCEPT && !w->is_removed) must(seer_os_remove_tree(path));
  w->is_removed |= event->kind == SEER_EVENT_ACCEPT;
}

// As in a round: what finals have found is written to no file that nobody can find, and the winners
// are those that they would have been.
static void test_a_file_that_is_removed_during_finals_is_missed(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_campaign *campaign;
  must(seer_campaign_create(w.context, w.network, w.records, "mlp", &campaign));
  seer_campaign_listen(campaign, remove_at_first_verdict, &w);
  must(seer_campaign_run(campaign));
  assert_true(w.is_removed);
  seer_status fault = seer_campaign_take_fault(campaign);
  assert_non_null(fault);
  assert_non_null(strstr(seer_status_message(fault), "was removed while it was open"));
  seer_status_free(fault);
  seer_choice *kept = SEER_NEW_ARRAY(w.arena, seer_choice, w.network->n_task + 1);
  seer_campaign_choices(campaign, kept);
  seer_choice *alone = tune(&w, NULL, "60");
  for (uint32_t t = 0; t < w.network->n_task; t++)
    assert_true(seer_schedule_equal(&kept[t].schedule, &alone[t].schedule));
  seer_campaign_destroy(campaign);
  assert_true(seer_os_exists(seer_os_path_join(w.arena, w.folder, "r.sqlite")));
  close_world(&w);
}

// ---- going on
// A time of a slow moment is compared with those of others as the campaign that took it has
// compared it: by what its reference took then.
static void test_drift_is_divided_out_of_restored_times(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choose_counts counts;
  const seer_choice *untuned = choose(&w, NULL, 1, &counts);
  const seer_task *task = &w.network->task[0];
  int64_t target, workload, id;
  seer_schedule other;
  must(seer_records_target(w.records, seer_context_target(w.context), &target));
  must(seer_records_workload(w.records, task->dag, task->key, task->name, &workload));
  must(seer_records_campaign(w.records, w.context, "mlp", "seer", &id));
  seer_schedule_default(untuned[0].sketches, 0, &other);
  const struct {
    const seer_schedule *schedule;
    double seconds, reference_s;
  } times[] = {{&untuned[0].schedule, 1e-3, 5e-4}, {&other, 1.5e-3, 1e-3}};
  for (size_t i = 0; i < SEER_COUNT_OF(times); i++) {
    seer_record record = {.campaign = id,
        .workload = workload,
        .target = target,
        .schedule = seer_schedule_print(untuned[0].sketches, times[i].schedule, w.arena),
        .seconds = times[i].seconds,
        .n_samples = 1,
        .sample = {times[i].seconds},
        .reference_s = times[i].reference_s};
    must(seer_records_add(w.records, &record));
  }
  seer_campaign *campaign;
  must(seer_context_set(w.context, "trials", "0"));
  must(seer_campaign_create(w.context, w.network, w.records, "mlp", &campaign));
  must(seer_campaign_run(campaign));
  assert_true(fabs(seer_campaign_state(campaign)->task[0].best_s - 0.75e-3) < 1e-9);
  seer_campaign_destroy(campaign);
  close_world(&w);
}

// ---- made-up times
// Winners by a formula are nobody's choices, nor are its machine's speeds; on their way through a
// file of lines they stay what they are.
static void test_made_up_winners_are_not_compiled(void **state) {
  (void)state;
  world w;
  open_world(&w);
  (void)tune(&w, w.records, "60");
  uint32_t n_made_up = n_winners(&w, w.records);
  assert_true(n_made_up > 0);
  const char *lines = seer_os_path_join(w.arena, w.folder, "r.jsonl"),
             *path = seer_os_path_join(w.arena, w.folder, "r.sqlite"),
             *copy = seer_os_path_join(w.arena, w.folder, "copy.sqlite");
  export_all(w.records, lines);
  seer_record_counts in, again;
  seer_records *other = new_records(&w, "copy.sqlite");
  must(seer_records_import(other, lines, true, &in));
  assert_true(in.n[SEER_RECORD_SOUND] > 0);
  assert_int_equal(seer_record_counts_bad(&in), 0);
  must(seer_records_import(other, lines, true, &again));
  assert_int_equal(again.n[SEER_RECORD_SOUND], 0);
  assert_int_equal(n_winners(&w, other), n_made_up);
  seer_records_close(other);
  must(seer_context_set(w.context, "measure", "local"));
  const char *const paths[] = {path, copy};
  for (size_t i = 0; i < SEER_COUNT_OF(paths); i++) {
    seer_records *records;
    int64_t targets[SEER_RECORD_MAX_TARGETS];
    uint32_t n;
    must(seer_records_open_to_read(w.context, paths[i], &records));
    must(seer_records_find_targets(records, seer_context_target(w.context), targets, &n));
    assert_true(n == 1 && targets[0] == 0);  // no similar machine's either
    assert_int_equal(n_winners(&w, records), 0);
    seer_choose_counts counts;
    expect_same(&w, choose(&w, records, 3, &counts), choose(&w, NULL, 1, &counts));
    seer_records_close(records);
  }
  close_world(&w);
}

// ---- files that cannot be written
typedef struct {
  world *w;
  seer_event_kind at;  // the first event of this kind begins it
  seer_records *holder;  // another process, as it were; NULL: the disk is full
  bool has_begun;
  uint32_t n_waits, n_announced;
} trouble;

static uint64_t bytes_of(const world *w, const char *name) {
  uint64_t n = 0;
  seer_status_free(seer_os_file_bytes(seer_os_path_join(w->arena, w->folder, name), &n));
  return n;
}

// No file becomes longer than the records' longest is: what a full disk does to them.
static void fill_disk(const world *w) {
  uint64_t file = bytes_of(w, "r.sqlite"), wal = bytes_of(w, "r.sqlite-wal");
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = file > wal ? file : wal;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void make_room(void) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void make_trouble(void *user, const seer_event *event) {
  trouble *t = user;
  if (event->kind == SEER_EVENT_WAIT) {
    t->n_waits++;
    if (t->holder) seer_records_rollback(t->holder);
  }
  t->n_announced += event->kind == SEER_EVENT_MEASUREMENT;
  if (event->kind != t->at || t->has_begun) return;
  t->has_begun = true;
  if (t->holder)
    must(seer_records_begin(t->holder));
  else
    fill_disk(t->w);
}

// With records or without: the winners are those that they would have been.
static seer_choice *tune_in_trouble(world *w, trouble *t, bool *out_has_records) {
  seer_campaign *campaign;
  must(seer_campaign_create(w->context, w->network, w->records, "mlp", &campaign));
  seer_campaign_listen(campaign, make_trouble, t);
  must(seer_campaign_run(campaign));
  make_room();
  assert_true(t->has_begun);
  *out_has_records = seer_campaign_has_records(campaign);
  seer_status fault = seer_campaign_take_fault(campaign);
  assert_int_equal(fault != NULL, !*out_has_records);
  seer_status_free(fault);
  seer_choice *choices = SEER_NEW_ARRAY(w->arena, seer_choice, w->network->n_task + 1);
  seer_campaign_choices(campaign, choices);
  seer_campaign_destroy(campaign);
  return choices;
}

static void test_a_full_disk_ends_the_records_only(void **state) {
  (void)state;
  static const seer_event_kind at[] = {SEER_EVENT_ACCEPT, SEER_EVENT_MEASUREMENT};
  (void)signal(SIGXFSZ, SIG_IGN);
  for (size_t i = 0; i < SEER_COUNT_OF(at); i++) {
    world w;
    bool has_records;
    open_world(&w);
    trouble t = {.w = &w, .at = at[i]};
    seer_choice *kept = tune_in_trouble(&w, &t, &has_records);
    assert_false(has_records);
    if (at[i] == SEER_EVENT_ACCEPT) {
      seer_choice *alone = tune(&w, NULL, "60");
      for (uint32_t k = 0; k < w.network->n_task; k++)
        assert_true(seer_schedule_equal(&kept[k].schedule, &alone[k].schedule));
    }
    // The file is whole, and holds what was announced.
    seer_records_close(w.records);
    w.records = new_records(&w, "r.sqlite");
    seer_record_counts counts;
    seer_text text;
    seer_text_init(&text, w.arena);
    must(seer_records_check(w.records, &text, &counts));
    assert_int_equal(seer_record_counts_bad(&counts), 0);
    assert_true(t.n_announced > 0 && counts.n[SEER_RECORD_SOUND] >= t.n_announced);
    close_world(&w);
  }
}

// Who holds the file for longer than SQLite waits by itself costs time, and nothing else.
static void test_a_long_lock_is_waited_for(void **state) {
  (void)state;
  world w;
  bool has_records;
  open_world(&w);
  trouble t = {.w = &w, .at = SEER_EVENT_ACCEPT, .holder = new_records(&w, "r.sqlite")};
  seer_choice *kept = tune_in_trouble(&w, &t, &has_records);
  assert_true(has_records);
  assert_int_equal(t.n_waits, 1);
  seer_choose_counts counts;
  expect_same(&w, kept, choose(&w, w.records, 2, &counts));
  assert_true(counts.n_record > 0);
  seer_records_close(t.holder);
  close_world(&w);
}

// What else goes wrong is no reason to give up the records.
static void remove_folder(void *user, const seer_event *event) {
  const world *w = user;
  if (event->kind == SEER_EVENT_ROUND_END)
    must(seer_os_remove_tree(seer_os_path_join(w->arena, w->folder, "models")));
}

static void test_records_stay_where_something_else_fails(void **state) {
  (void)state;
  world w;
  open_world(&w);
  must(seer_os_make_dirs(seer_os_path_join(w.arena, w.folder, "models")));
  must(seer_context_set(w.context, "save-model", seer_os_path_join(w.arena, w.folder, "models/m")));
  seer_campaign *campaign;
  must(seer_campaign_create(w.context, w.network, w.records, "mlp", &campaign));
  seer_campaign_listen(campaign, remove_folder, &w);
  must(seer_campaign_run(campaign));
  seer_status fault = seer_campaign_take_fault(campaign);
  assert_non_null(fault);
  assert_non_null(strstr(seer_status_message(fault), "models/m"));
  seer_status_free(fault);
  assert_true(seer_campaign_has_records(campaign));
  seer_campaign_destroy(campaign);
  close_world(&w);
}

// ---- from elsewhere
static const char *export_tuned(world *w) {
  const char *lines = seer_os_path_join(w->arena, w->folder, "r.jsonl");
  (void)tune(w, w->records, "60");
  export_all(w->records, lines);
  return lines;
}

static void test_what_is_imported_is_not_compiled(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_record_counts in;
  seer_records *other = new_records(&w, "o.sqlite");
  must(seer_records_import(other, export_tuned(&w), false, &in));
  assert_true(in.n[SEER_RECORD_SOUND] > 0);
  assert_int_equal(n_winners(&w, other), 0);
  seer_choose_counts counts;
  (void)choose(&w, other, 2, &counts);
  assert_int_equal(counts.n_untuned, w.network->n_task);
  // At -O3 one that the model likes no less than the default, and nothing is said of its time.
  seer_choice *choices = choose(&w, other, 3, &counts);
  assert_int_equal(counts.n_record, 0);
  seer_choice *untuned = choose(&w, NULL, 1, &counts);
  for (uint32_t t = 0; t < w.network->n_task; t++) {
    double estimate = seer_choose_estimate(
        seer_context_target(w.context), choices[t].sketches, &choices[t].schedule)
                          .seconds;
    assert_true(estimate <= seer_choose_estimate(seer_context_target(w.context),
                                untuned[t].sketches, &untuned[t].schedule)
                                .seconds);
    assert_true(choices[t].seconds == 0 && choices[t].n_pairs == 0);
  }
  seer_records_close(other);
  close_world(&w);
}

static void test_what_is_imported_is_tried_first(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_record_counts in;
  seer_records *other = new_records(&w, "o.sqlite");
  must(seer_records_import(other, export_tuned(&w), false, &in));
  seer_choice *tuned = tune(&w, other, "30");
  assert_non_null(strstr(w.events.data, "from records of other machines"));
  assert_non_null(strstr(w.events.data, "tried"));
  assert_null(strstr(w.events.data, "measurements from the records"));
  seer_choose_counts counts;
  expect_same(&w, tuned, choose(&w, other, 2, &counts));
  assert_true(n_winners(&w, other) > 0);
  seer_records_close(other);
  close_world(&w);
}

static void test_who_is_vouched_for_is_believed(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *lines = export_tuned(&w);
  seer_record_counts in;
  seer_records *other = new_records(&w, "o.sqlite");
  must(seer_records_import(other, lines, true, &in));
  assert_int_equal(n_winners(&w, other), n_winners(&w, w.records));
  seer_choose_counts counts;
  expect_same(&w, choose(&w, w.records, 2, &counts), choose(&w, other, 2, &counts));
  assert_true(counts.n_record > 0);
  // Handed on, it is hearsay of hearsay no more than once: who vouches for `other` has its word.
  const char *more = seer_os_path_join(w.arena, w.folder, "more.jsonl");
  seer_records *third = new_records(&w, "t.sqlite");
  export_all(other, more);
  must(seer_records_import(third, more, false, &in));
  export_all(third, more);
  seer_records *fourth = new_records(&w, "f.sqlite");
  must(seer_records_import(fourth, more, true, &in));
  assert_int_equal(n_winners(&w, third) + n_winners(&w, fourth), 0);
  seer_records_close(fourth);
  seer_records_close(third);
  seer_records_close(other);
  close_world(&w);
}

// A winner of this machine's does not give way to one of another's.
static void test_own_winners_stay_beside_trusted_ones(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *lines = export_tuned(&w);
  winner best = find_winner(&w, w.records, 0);
  seer_choose_counts counts;
  seer_choice *untuned = choose(&w, NULL, 1, &counts);
  winner own = put_winner(&w, 0, &untuned[0].schedule, strong);
  must(seer_records_set_state(w.records, best.record.id, SEER_RECORD_MEASURED));
  seer_record_counts in;
  char *data;
  size_t n_bytes;
  must(seer_os_read_file(lines, w.arena, 1 << 24, &data, &n_bytes));
  for (char *at = data; (at = strstr(at, "\"judged\":")) != NULL; at++)
    if (at[9] != '0') at[9] = '1' + (at[9] == '1');  // other pairs than those known here
  must(seer_os_write_file(lines, data, n_bytes));
  must(seer_records_import(w.records, lines, true, &in));
  assert_true(in.n[SEER_RECORD_SOUND] > 0);
  assert_int_equal(find_winner(&w, w.records, 0).record.id, own.record.id);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_compiled_is_what_won),
      cmocka_unit_test(test_a_lucky_time_is_not_compiled), cmocka_unit_test(test_a_winner_stays),
      cmocka_unit_test(test_a_slow_winner_stays),
      cmocka_unit_test(test_the_first_timing_is_tried_three_times),
      cmocka_unit_test(test_a_winner_that_is_no_faster_than_the_default_goes),
      cmocka_unit_test(test_a_winner_that_is_beaten_goes),
      cmocka_unit_test(test_a_file_that_is_removed_during_finals_is_missed),
      cmocka_unit_test(test_drift_is_divided_out_of_restored_times),
      cmocka_unit_test(test_made_up_winners_are_not_compiled),
      cmocka_unit_test(test_a_full_disk_ends_the_records_only),
      cmocka_unit_test(test_a_long_lock_is_waited_for),
      cmocka_unit_test(test_records_stay_where_something_else_fails),
      cmocka_unit_test(test_what_is_imported_is_not_compiled),
      cmocka_unit_test(test_what_is_imported_is_tried_first),
      cmocka_unit_test(test_who_is_vouched_for_is_believed),
      cmocka_unit_test(test_own_winners_stay_beside_trusted_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
