// A winner that is far slower than the untuned schedule, whatever its pairs say: the library is
// compiled without it, the records say so, and what is compiled from them is the same to the byte.
// What the tasks took in the network goes to the records, and is what the library tells of them.
// Who wins is made up (no test depends on a clock), but for libraries whose code is not even tiled.
// SEER_TEST: timeout=240 cost=20
#include "tune/whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/rng.h"
#include "choose/choose.h"
#include "choose/tables.h"
#include "record/sound.h"
#include "support/test.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_network *network;
  seer_records *records;
  int64_t target, campaign;
  seer_build_kept *kept;
} world;

// Three tasks, the heaviest of them of two steps. What is tested compiles a network a dozen times.
static const char small[] =
    "graph \"small\" {\n"
    "input %x f32[64,64]\n"
    "const $a f32[64,256] = splat 0.01\n"
    "const $b f32[256,256] = splat 0.02\n"
    "const $c f32[256,256] = splat 0.03\n"
    "const $d f32[256,32] = splat 0.04\n"
    "%p f32[64,256] = MatMul \"p\" v13 (%x, $a)\n"
    "%q f32[64,256] = Relu \"q\" v14 (%p)\n"
    "%r f32[64,256] = MatMul \"r\" v13 (%q, $b)\n"
    "%s f32[64,256] = Relu \"s\" v14 (%r)\n"
    "%t f32[64,256] = MatMul \"t\" v13 (%s, $c)\n"
    "%u f32[64,256] = Relu \"u\" v14 (%t)\n"
    "%y f32[64,32] = MatMul \"y\" v13 (%u, $d)\n"
    "output %y }\n";

static const char *in_folder(const world *w, const char *name) {
  return seer_os_path_join(w->arena, w->folder, name);
}

static uint32_t heaviest(const seer_network *network) {
  uint32_t best = 0;
  for (uint32_t t = 1; t < network->n_task; t++)
    if (network->task[t].flops > network->task[best].flops) best = t;
  return best;
}

static uint32_t lightest(const seer_network *network) {
  uint32_t best = 0;
  for (uint32_t t = 1; t < network->n_task; t++)
    if (network->task[t].flops < network->task[best].flops) best = t;
  return best;
}

static void open_world(world *w) {
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  setenv("XDG_CACHE_HOME", w->folder, 1);
  must(seer_context_create(&w->context));
  must(seer_context_find_target(w->context));
  const char *path = in_folder(w, "small.graph");
  must(seer_os_write_file(path, small, strlen(small)));
  must(seer_front_load(w->context, path, NULL, w->arena, &w->network));
  assert_int_equal(w->network->n_task, 3);
  assert_int_equal(w->network->task[heaviest(w->network)].weight, 2);
  must(seer_records_open(w->context, in_folder(w, "r.sqlite"), &w->records));
  must(seer_records_target(w->records, seer_context_target(w->context), &w->target));
  must(seer_records_campaign(w->records, w->context, "m", "seer", &w->campaign));
  w->kept = seer_build_kept_create();
}

static void close_world(world *w) {
  seer_build_kept_destroy(w->kept);
  seer_records_close(w->records);
  seer_graph_close(w->network->graph);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

static seer_choice *choose(world *w, seer_records *records, int level) {
  seer_choice *choices;
  seer_choose_counts counts;
  must(seer_choose(w->context, w->network, records, level, w->arena, &choices, &counts));
  return choices;
}

static void plant(world *w, uint32_t t) {
  seer_choice *plain;
  must(seer_plain_choices(w->context, w->network, w->arena, &plain));
  const seer_task *task = &w->network->task[t];
  seer_record record = {.campaign = w->campaign,
      .schedule = seer_schedule_print(plain[t].sketches, &plain[t].schedule, w->arena),
      .target = w->target,
      .seconds = 1e-3,
      .ab = {1.5, 1e-9, 200, 1e-3, 1.5e-3},
      .origin = "pairs"};
  must(seer_records_workload(w->records, task->dag, task->key, task->name, &record.workload));
  must(seer_records_accept(w->records, &record));
}

static void expect_same_files(const char *a, const char *b, seer_arena *arena) {
  static const char *const names[] = {"model.so", "model.json", "model.h", "weights.bin"};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) {
    char *of_a, *of_b;
    size_t n_a, n_b;
    must(seer_os_read_file(seer_os_path_join(arena, a, names[i]), arena, 1 << 28, &of_a, &n_a));
    must(seer_os_read_file(seer_os_path_join(arena, b, names[i]), arena, 1 << 28, &of_b, &n_b));
    assert_int_equal(n_a, n_b);
    assert_memory_equal(of_a, of_b, n_a);
  }
}

// Every task takes 10 us, once for each step, but the one that `user` points to, which takes three
// times as long while it is tuned.
static seer_status made_up(const seer_contest *contest, void *user, seer_contest_times *out) {
  const uint32_t *slow = user;
  uint32_t n_task = contest->network->n_task;
  double one_s = 1e-5;
  out->whole.n = 11;
  for (uint32_t i = 0; i < 11; i++) {
    out->whole.untuned[i] = one_s * n_task;
    out->whole.tuned[i] = one_s * (n_task + (slow ? 2 : 0));
  }
  for (uint32_t t = 0; t < n_task; t++) {
    out->task[t].n = 8;
    for (uint32_t i = 0; i < 8; i++) {
      out->task[t].untuned[i] = one_s;
      out->task[t].tuned[i] = slow && t == *slow ? 3 * one_s : one_s;
    }
  }
  return SEER_OK;
}

// The first look is in a bad moment: some of its pairs are slower, or all of them.
typedef struct {
  uint32_t n_pairs, n_lost;
  uint32_t n_looks;  // out
} unlucky;

static seer_status made_up_unlucky(
    const seer_contest *contest, void *user, seer_contest_times *out) {
  unlucky *u = user;
  SEER_TRY(made_up(contest, NULL, out));
  if (u->n_looks++ > 0) return SEER_OK;
  out->whole.n = u->n_pairs;
  for (uint32_t i = 0; i < u->n_lost; i++) out->whole.tuned[i] = 1.1 * out->whole.untuned[i];
  return SEER_OK;
}

// A run is the sum of its tasks, and of a step that moves nothing.
static void expect_shares(const seer_network *network, const seer_alone *alone, double latency_s) {
  double sum_s = 0;
  assert_true(alone->latency_s > 0 && alone->latency_s == latency_s);
  for (uint32_t k = 0; k < network->n_task; k++) {
    assert_true(alone->n_steps[k] > 0 && alone->step_s[k] > 0);
    sum_s += alone->n_steps[k] * alone->step_s[k];
  }
  assert_true(sum_s <= latency_s * (1 + 1e-9) && sum_s > 0.5 * latency_s);
}

static seer_verdict_report hold(
    world *w, seer_choice *choices, bool has_records, const uint32_t *slow) {
  const char *out = in_folder(w, "out");
  must(seer_choice_build(w->context, w->network, choices, SEER_BUILD_LIBRARY, w->kept, out));
  seer_whole whole = {.context = w->context,
      .network = w->network,
      .records = has_records ? w->records : NULL,
      .campaign = w->campaign,
      .folder = out,
      .kept = w->kept,
      .seconds = 0.1,
      .choices = choices,
      .contest = made_up,
      .user = (void *)slow};
  seer_verdict_report report;
  seer_status fault;
  seer_alone alone;
  must(seer_whole_hold(&whole, w->arena, &report, &alone, &fault));
  must(fault);
  expect_shares(w->network, &alone, report.latency_s);
  for (uint32_t k = 0; k < w->network->n_task; k++)
    assert_true(choices[k].network_seconds == alone.step_s[k]);
  return report;
}

// The heaviest task's winner is slow, and falls back.
static seer_verdict_report hold_with_slow_winner(world *w, bool has_records) {
  uint32_t t = heaviest(w->network);
  plant(w, t);
  seer_choice *choices = choose(w, w->records, 2);
  assert_int_equal(choices[t].origin, SEER_ORIGIN_TUNED);
  seer_verdict_report report = hold(w, choices, has_records, &t);
  assert_int_equal(report.n_fallen, 1);
  assert_int_equal(report.fallen[0], t);
  assert_int_equal(choices[t].origin, SEER_ORIGIN_UNTUNED);
  return report;
}

// Of three tasks one is not as in the untuned library; the last build has no task of its own, and
// one after a task has fallen back neither.
static void expect_kept(const world *w, uint32_t n_builds) {
  assert_int_equal(seer_build_kept_found(w->kept), 2 + 3 * (n_builds - 2));
}

static void test_a_slow_winner_falls_back(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_verdict_report report = hold_with_slow_winner(&w, true);
  assert_true(report.is_all && report.n_pairs == 0 && report.speedup == 1);
  // compile, as it is by default.
  const char *again = in_folder(&w, "again");
  must(seer_choice_build(
      w.context, w.network, choose(&w, w.records, 3), SEER_BUILD_LIBRARY, NULL, again));
  expect_same_files(in_folder(&w, "out"), again, w.arena);
  expect_kept(&w, 4);
  close_world(&w);
}

static void test_tasks_have_times_of_the_network(void **state) {
  (void)state;
  world w;
  open_world(&w);
  plant(&w, lightest(w.network));
  seer_choice *choices = choose(&w, w.records, 2);
  for (uint32_t k = 0; k < w.network->n_task; k++) assert_true(choices[k].network_seconds == 0);
  hold(&w, choices, true, NULL);
  const char *again = in_folder(&w, "again");
  must(seer_choice_build(
      w.context, w.network, choose(&w, w.records, 3), SEER_BUILD_LIBRARY, NULL, again));
  expect_same_files(in_folder(&w, "out"), again, w.arena);
  expect_kept(&w, 3);
  close_world(&w);
}

static uint64_t file_of_weights(const world *w, const char *folder) {
  seer_os_file_id id;
  seer_os_identify(seer_os_path_join(w->arena, in_folder(w, folder), "weights.bin"), &id);
  return id.file;
}

// Weights are another library's where all kernels are, and that has its weights still.
static void test_weights_are_linked(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const seer_choice *plain = choose(&w, NULL, 1);
  static const char *const folders[] = {"made", "kept", "cut", "later"};
  for (size_t i = 0; i < SEER_COUNT_OF(folders); i++) {
    must(seer_choice_build(w.context, w.network, plain, SEER_BUILD_LIBRARY, i > 0 ? w.kept : NULL,
        in_folder(&w, folders[i])));
    expect_same_files(in_folder(&w, "made"), in_folder(&w, folders[i]), w.arena);
    if (i == 1) continue;
    bool is_linked = file_of_weights(&w, folders[i]) == file_of_weights(&w, "kept");
    assert_int_equal(is_linked, i == 2);
    if (i != 2) continue;
    // Both names are of one file, which is shorter from here on.
    assert_int_equal(
        truncate(seer_os_path_join(w.arena, in_folder(&w, "kept"), "weights.bin"), 64), 0);
  }
  assert_int_equal(seer_build_kept_found(w.kept), 6);
  close_world(&w);
}

// Kernels that read them packed otherwise have weights of their own.
static void test_packed_otherwise_they_are_made(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_choice *choices = choose(&w, NULL, 1), *drawn = &choices[heaviest(w.network)];
  must(seer_choice_build(
      w.context, w.network, choices, SEER_BUILD_LIBRARY, w.kept, in_folder(&w, "first")));
  seer_rng rng;
  seer_rng_init(&rng, 1);
  uint32_t n_other = 0;
  for (int k = 0; k < 8; k++) {
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, drawn->sketches->n);
    seer_schedule schedule;
    if (seer_schedule_sample(drawn->sketches, sketch, &rng, &schedule, NULL) != SEER_REJECT_NONE)
      continue;
    drawn->schedule = schedule;
    const char *alone = in_folder(&w, "alone"), *kept = in_folder(&w, "kept");
    must(seer_choice_build(w.context, w.network, choices, SEER_BUILD_LIBRARY, NULL, alone));
    must(seer_choice_build(w.context, w.network, choices, SEER_BUILD_LIBRARY, w.kept, kept));
    expect_same_files(alone, kept, w.arena);
    n_other += file_of_weights(&w, "kept") != file_of_weights(&w, "first");
  }
  assert_true(n_other >= 2);
  close_world(&w);
}

static void test_so_it_does_without_records(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_verdict_report report = hold_with_slow_winner(&w, false);
  // Not asked, not told.
  assert_int_equal(choose(&w, w.records, 2)[report.fallen[0]].origin, SEER_ORIGIN_TUNED);
  close_world(&w);
}

static void test_what_seems_slower_is_looked_at_again(void **state) {
  (void)state;
  world w;
  open_world(&w);
  plant(&w, lightest(w.network));
  seer_choice *choices = choose(&w, w.records, 2);
  const char *out = in_folder(&w, "out");
  must(seer_choice_build(w.context, w.network, choices, SEER_BUILD_LIBRARY, NULL, out));
  // Too few pairs to say so, and enough; a short look, and the longest that there is.
  unlucky moments[] = {{5, 3, 0}, {11, 11, 0}};
  double seconds[] = {0.1, 3};
  for (uint32_t i = 0; i < 2; i++) {
    seer_whole whole = {.context = w.context,
        .network = w.network,
        .folder = out,
        .seconds = seconds[i],
        .choices = choices,
        .contest = made_up_unlucky,
        .user = &moments[i]};
    seer_verdict_report report;
    seer_status fault;
    seer_alone alone;
    must(seer_whole_hold(&whole, w.arena, &report, &alone, &fault));
    must(fault);
    assert_int_equal(moments[i].n_looks, 2);
    assert_int_equal(report.n_pairs, 11);
    assert_true(report.speedup == 1 && report.n_fallen == 0);
  }
  close_world(&w);
}

static void test_what_is_untuned_is_not_compared(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_verdict_report report = hold(&w, choose(&w, NULL, 1), true, NULL);
  assert_int_equal(report.n_pairs, 0);
  assert_int_equal(report.n_fallen, 0);
  assert_string_equal(report.text, "");
  close_world(&w);
}

// Code that tiles nothing takes many times as long, on any machine and whoever else uses it.
static void test_a_contest_tells_which_is_slow(void **state) {
  (void)state;
  world w;
  open_world(&w);
  uint32_t n_task = w.network->n_task;
  seer_choice *plain;
  must(seer_plain_choices(w.context, w.network, w.arena, &plain));
  const char *slow = in_folder(&w, "slow"), *fast = in_folder(&w, "fast");
  must(seer_choice_build(w.context, w.network, plain, SEER_BUILD_LIBRARY, NULL, slow));
  must(
      seer_choice_build(w.context, w.network, choose(&w, NULL, 1), SEER_BUILD_LIBRARY, NULL, fast));
  seer_contest_times times = {.task = SEER_NEW_ARRAY(w.arena, seer_pairs, n_task)};
  for (int turned = 0; turned < 2; turned++) {
    seer_contest contest = {w.context, w.network, turned ? fast : slow, turned ? slow : fast, 0.1};
    must(seer_contest_run(&contest, NULL, &times));
    uint32_t t = heaviest(w.network);
    seer_pairs_summary whole, task;
    seer_pairs_summarise(&times.whole, &whole);
    seer_pairs_summarise(&times.task[t], &task);
    assert_true(whole.n >= 11 && task.n >= 8);
    assert_true(turned ? whole.speedup > 1 : whole.speedup < 1);
    assert_true(turned ? task.speedup > 1 : task.speedup < 1);
  }
  // Who stops it has what was timed: nothing, as it was before the first pair.
  const volatile sig_atomic_t stop = 1;
  seer_context_stop_by(w.context, &stop);
  const seer_contest contest = {w.context, w.network, fast, slow, 100};
  must(seer_contest_run(&contest, NULL, &times));
  assert_int_equal(times.whole.n, 0);
  assert_int_equal(times.task[heaviest(w.network)].n, 0);
  seer_context_stop_by(w.context, NULL);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_slow_winner_falls_back),
      cmocka_unit_test(test_tasks_have_times_of_the_network),
      cmocka_unit_test(test_weights_are_linked),
      cmocka_unit_test(test_packed_otherwise_they_are_made),
      cmocka_unit_test(test_so_it_does_without_records),
      cmocka_unit_test(test_what_seems_slower_is_looked_at_again),
      cmocka_unit_test(test_a_contest_tells_which_is_slow),
      cmocka_unit_test(test_what_is_untuned_is_not_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
