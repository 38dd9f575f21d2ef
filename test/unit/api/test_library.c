// The C interface ends a tuning as the command does: the library takes turns with the untuned one,
// and outputs are held against f32 where that was asked for.
// SEER_TEST: timeout=240
#include <seer/familyseer.h>
#include <string.h>

#include "base/os.h"
#include "report/data.h"
#include "support/test.h"

typedef struct {
  seer_arena *arena;
  const char *folder;
  seer_tuner *tuner;
  uint32_t n_verdict, n_after;
  seer_tuner_event verdict;
} world;

static const char *in_folder(const world *w, const char *name) {
  return seer_os_path_join(w->arena, w->folder, name);
}

static void set(const world *w, const char *option, const char *value) {
  if (seer_tuner_set(w->tuner, option, value)) fail_msg("%s", seer_tuner_message(w->tuner));
}

static void open_world(world *w) {
  *w = (world){.arena = seer_arena_create("test")};
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  assert_int_equal(seer_tuner_create(&w->tuner), 0);
  set(w, "device-lock", in_folder(w, "lock"));
  set(w, "threads", "1");
}

static void close_world(world *w) {
  seer_tuner_destroy(w->tuner);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
}

static void expect_files(const world *w, const char *folder, bool is_there) {
  static const char *const names[] = {"model.so", "model.h", "model.json", "weights.bin"};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++)
    assert_int_equal(seer_os_exists(seer_os_path_join(w->arena, folder, names[i])), is_there);
}

// ---- precision
static void compiles(const char *precision, const char *tolerance, const char *wrong) {
  world w;
  open_world(&w);
  const char *out = in_folder(&w, "out");
  set(&w, "ignore-records", "1");
  set(&w, "precision", precision);
  if (tolerance) set(&w, "tolerance", tolerance);
  if (seer_tuner_load(w.tuner, "mlp")) fail_msg("%s", seer_tuner_message(w.tuner));
  int has_failed = seer_tuner_compile(w.tuner, out);
  const char *message = seer_tuner_message(w.tuner);
  if (wrong ? !strstr(message, wrong) : message[0]) fail_msg("%s: %s", precision, message);
  assert_int_equal(has_failed, wrong != NULL);
  expect_files(&w, out, !wrong);
  close_world(&w);
}

static void test_precision(void **state) {
  (void)state;
  compiles("auto", NULL, NULL);
  compiles("bf16", "0.5", NULL);
  compiles("bf16", "1e-12", "--tolerance allows 1e-12: no library is written");
  compiles("bf16", NULL, NULL);
  compiles("f32", "0.01", NULL);
}

// ---- a tuning
static void hear(void *user, const seer_tuner_event *event) {
  world *w = user;
  bool is_verdict = strcmp(event->kind, "verdict") == 0;
  w->n_after += w->n_verdict > 0;
  w->n_verdict += is_verdict;
  if (is_verdict) w->verdict = *event;
}

static void tune(world *w, const char *measure) {
  set(w, "worker-path", SEER_BUILD_DIR "/familyseer");
  set(w, "measure", measure);
  set(w, "records", in_folder(w, "records"));
  set(w, "trials", "24");
  set(w, "seed", "1");
  if (seer_tuner_load(w->tuner, "mlp")) fail_msg("%s", seer_tuner_message(w->tuner));
  seer_tuner_listen(w->tuner, hear, w);
  if (seer_tuner_tune(w->tuner)) fail_msg("%s", seer_tuner_message(w->tuner));
}

// What the library takes is known once it was run, beside the untuned one where they differ: how
// long that is, is not asked here. Compiling twice is as good as once.
static void a_tuning_ends_with_the_library(void **state) {
  (void)state;
  world w;
  open_world(&w);
  tune(&w, "local");
  assert_int_equal(w.n_verdict, 1);
  assert_int_equal(w.n_after, 0);
  assert_true(w.verdict.latency_ms > 0);
  for (int i = 0; i < 2; i++) {
    if (seer_tuner_compile(w.tuner, in_folder(&w, "out")))
      fail_msg("%s", seer_tuner_message(w.tuner));
    expect_files(&w, in_folder(&w, "out"), true);
  }
  close_world(&w);
}

// Times of a formula are held against nothing.
static void made_up_times_have_no_verdict(void **state) {
  (void)state;
  world w;
  open_world(&w);
  tune(&w, "fake");
  assert_int_equal(w.n_verdict, 0);
  if (seer_tuner_compile(w.tuner, in_folder(&w, "out")))
    fail_msg("%s", seer_tuner_message(w.tuner));
  expect_files(&w, in_folder(&w, "out"), true);
  close_world(&w);
}

// As the command writes it: latency, and a measurement for each trial.
static void a_report_where_one_is_wanted(void **state) {
  (void)state;
  static const char *const measures[] = {"local", "fake"};
  for (size_t i = 0; i < SEER_COUNT_OF(measures); i++) {
    world w;
    open_world(&w);
    const char *path = in_folder(&w, "page.html");
    set(&w, "report", path);
    tune(&w, measures[i]);
    seer_report_data data;
    must(seer_report_read(path, w.arena, &data));
    assert_string_equal(data.model, "mlp");
    assert_true(data.trials > 0);
    assert_int_equal(data.n_task, seer_tuner_n_tasks(w.tuner));
    assert_int_equal(data.latency_s > 0, w.n_verdict);
    close_world(&w);
  }
}

// Said before the tuning, which has used up nothing then.
static void a_report_that_cannot_be_written(void **state) {
  (void)state;
  world w;
  open_world(&w);
  set(&w, "report", in_folder(&w, "no/page.html"));
  set(&w, "records", in_folder(&w, "none"));
  if (seer_tuner_load(w.tuner, "mlp")) fail_msg("%s", seer_tuner_message(w.tuner));
  assert_int_equal(seer_tuner_tune(w.tuner), 1);
  assert_non_null(strstr(seer_tuner_message(w.tuner), "no/page.html"));
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_precision),
      cmocka_unit_test(a_tuning_ends_with_the_library),
      cmocka_unit_test(made_up_times_have_no_verdict),
      cmocka_unit_test(a_report_where_one_is_wanted),
      cmocka_unit_test(a_report_that_cannot_be_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
