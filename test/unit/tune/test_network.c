// A tuning from a network to its library, with the fake measurer and a contest that is made up:
// what is slower in the network ships untuned, whatever the pairs of its task said, and nothing
// ships that was not judged.
// SEER_TEST: timeout=240
#include <string.h>

#include "base/os.h"
#include "base/recover.h"
#include "choose/choose.h"
#include "support/test.h"
#include "tune/tune.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_precise precise;
  seer_records *records;
  seer_tuning tuning;
  double slower;  // times the untuned one, in the made-up contest
  uint32_t n_contest, n_before, n_begin, n_end, n_said;
  uint32_t breaks_at;  // the line that is said when memory runs out; 0: none
  bool is_over;
} world;

static const char *in_folder(const world *w, const char *name) {
  return seer_os_path_join(w->arena, w->folder, name);
}

static void open_world(world *w) {
  *w = (world){.arena = seer_arena_create("test"), .slower = 0.5};
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  w->context = seer_context_create_default();
  must(seer_context_set(w->context, "measure", "fake"));
  must(seer_context_set(w->context, "trials", "60"));
  must(seer_context_set(w->context, "seed", "3"));
  must(seer_context_set(w->context, "no-pretrained", "1"));
  must(seer_context_find_target(w->context));
  must(seer_precise_open(w->context, "mlp", w->arena, &w->precise));
  must(seer_records_open(w->context, in_folder(w, "r.sqlite"), &w->records));
}

static void close_world(world *w) {
  seer_tuning_clear(&w->tuning);
  seer_records_close(w->records);
  seer_precise_close(&w->precise);
  seer_context_destroy(w->context);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
}

// Whole and tasks alike.
static seer_status made_up(const seer_contest *contest, void *user, seer_contest_times *out) {
  world *w = user;
  w->n_contest++;
  out->whole.n = 12;
  for (uint32_t i = 0; i < 12; i++) {
    out->whole.tuned[i] = w->slower * 1e-3;
    out->whole.untuned[i] = 1e-3;
    for (uint32_t t = 0; t < contest->network->n_task; t++) {
      out->task[t].n = i + 1;
      out->task[t].tuned[i] = w->slower * 1e-4;
      out->task[t].untuned[i] = 1e-4;
    }
  }
  return SEER_OK;
}

static seer_status broken(const seer_contest *contest, void *user, seer_contest_times *out) {
  (void)contest, (void)user, (void)out;
  return SEER_FAIL(INTERNAL, "no times today");
}

static bool is_over(void *user) { return ((const world *)user)->is_over; }

static void before(void *user, seer_event_kind kind, const char *text) {
  (void)kind, (void)text;
  ((world *)user)->n_before++;
}

static void begin(void *user, seer_campaign *campaign) {
  world *w = user;
  assert_non_null(campaign);
  assert_int_equal(w->n_end, 0);
  w->n_begin++;
}

static void end(void *user) {
  world *w = user;
  assert_int_equal(w->n_begin, 1);
  assert_int_equal(w->n_contest, 0);  // what can be stopped is over before libraries are run
  w->n_end++;
}

static void hear(void *user, const char *text) {
  world *w = user;
  assert_true(text[0] && text[strlen(text) - 1] != '\n');
  if (++w->n_said == w->breaks_at) seer_recover_out_of_memory(1, "this test");
}

static seer_status tune(world *w, const char *folder, seer_contest_fn *contest) {
  seer_context_hear(w->context, hear, w);
  const seer_tuning_request request = {.context = w->context,
      .model = "mlp",
      .precise = &w->precise,
      .records = w->records,
      .folder = folder,
      .contest = contest,
      .contest_user = w,
      .watch = {w, is_over, before, begin, end}};
  return seer_tune_network(&request, &w->tuning);
}

static uint32_t n_tuned(const world *w) {
  uint32_t n = 0;
  for (uint32_t t = 0; t < w->precise.taken->network->n_task; t++)
    n += w->tuning.choices[t].origin == SEER_ORIGIN_TUNED;
  return n;
}

// Of what the library has: its description says each task's schedule.
static uint32_t n_other_than_untuned(world *w) {
  seer_choice *untuned;
  seer_choose_counts counts;
  const seer_network *network = w->precise.taken->network;
  uint32_t n = 0;
  must(seer_choose(w->context, network, NULL, 1, w->arena, &untuned, &counts));
  for (uint32_t t = 0; t < network->n_task; t++)
    n += !seer_schedule_equal(&w->tuning.choices[t].schedule, &untuned[t].schedule);
  return n;
}

static bool says_tuned(world *w, const char *folder) {
  char *text;
  size_t n;
  must(seer_os_read_file(
      seer_os_path_join(w->arena, folder, "model.json"), w->arena, 1 << 24, &text, &n));
  return strstr(text, "\"tuned\"") != NULL;
}

static void what_is_faster_ships(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *folder = in_folder(&w, "out");
  must(tune(&w, folder, made_up));
  assert_true(w.tuning.is_written && w.tuning.was_run);
  assert_int_equal(w.n_begin + w.n_end, 2);
  assert_int_equal(w.n_contest, 1);
  assert_true(n_tuned(&w) > 0);
  assert_int_equal(w.tuning.verdict.n_fallen, 0);
  assert_true(w.n_said > 0);
  assert_int_equal(n_other_than_untuned(&w), n_tuned(&w));
  assert_true(says_tuned(&w, folder));
  close_world(&w);
}

static void what_is_slower_in_the_network_ships_untuned(void **state) {
  (void)state;
  world w;
  open_world(&w);
  w.slower = 1.5;
  const char *folder = in_folder(&w, "out");
  must(tune(&w, folder, made_up));
  assert_true(w.n_contest > 0);
  assert_true(w.tuning.verdict.is_all);
  assert_true(w.tuning.verdict.n_fallen > 0);
  assert_int_equal(n_other_than_untuned(&w), 0);
  assert_false(says_tuned(&w, folder));
  // And so it is compiled from then on.
  seer_choose_counts counts;
  seer_choice *choices;
  must(seer_choose(w.context, w.precise.taken->network, w.records, 2, w.arena, &choices, &counts));
  assert_int_equal(counts.n_record, 0);
  close_world(&w);
}

static void what_was_not_judged_stays_away(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *folder = in_folder(&w, "out");
  seer_status status = tune(&w, folder, broken);
  assert_non_null(strstr(seer_status_message(status), "no times today"));
  seer_status_free(status);
  assert_true(w.tuning.was_run && !w.tuning.is_written);
  assert_false(seer_os_exists(seer_os_path_join(w.arena, folder, "model.so")));
  close_world(&w);
}

// Without a folder nothing is built, and nothing judged; the records have what was found.
static void without_a_folder(void **state) {
  (void)state;
  world w;
  open_world(&w);
  must(tune(&w, NULL, made_up));
  assert_int_equal(w.n_contest, 0);
  assert_true(w.tuning.was_run && !w.tuning.is_written);
  assert_true(n_tuned(&w) > 0);
  close_world(&w);
}

// Before the campaign, and behind it, memory may run out: that ends the tuning, and nothing else.
static void memory_may_run_out(void **state) {
  (void)state;
  for (uint32_t k = 1; k <= 2; k++) {
    world w;
    open_world(&w);
    seer_precise_close(&w.precise);
    must(seer_context_set(w.context, "precision", "bf16"));
    must(seer_precise_open(w.context, "mlp", w.arena, &w.precise));
    seer_context_hear(w.context, hear, &w);
    must(seer_precise_choose(&w.precise, SEER_PRECISE_TUNE_UNTIMED));
    must(seer_precise_take(&w.precise, SEER_PRECISE_TUNE_UNTIMED));
    w.breaks_at = w.n_said + (k == 1 ? 1 : w.n_said + 1);
    seer_status status = tune(&w, in_folder(&w, "out"), NULL);
    assert_int_equal(seer_status_code(status), SEER_CODE_RESOURCE);
    seer_status_free(status);
    assert_int_equal(w.tuning.was_run, k == 2);
    assert_false(w.tuning.is_written);
    seer_campaign_totals totals;
    if (k == 2) seer_campaign_get_totals(w.tuning.campaign, &totals);
    close_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_faster_ships),
      cmocka_unit_test(what_is_slower_in_the_network_ships_untuned),
      cmocka_unit_test(what_was_not_judged_stays_away),
      cmocka_unit_test(without_a_folder),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
