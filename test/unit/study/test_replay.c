// Tunings on a table of times, test/data/times.gz: three tasks of mlp on a made-up machine, 60
// schedules each, times of a formula. It is made by
//   familyseer study collect mlp -o test/data/times.gz --schedules 60 --measure fake
//     --target "$(cat test/targets/zen4-avx2.target)"
// and made anew when the sketches have left more than a few of its schedules behind.
// Every policy repeats, measures nothing twice and nothing that the table does not have; with
// trials for all of it, it finds the table's best. What the table cannot answer is refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/choose.h"
#include "measure/times/times.h"
#include "models/models.h"
#include "study/regret.h"
#include "study/tuning.h"
#include "support/test.h"
#include "support/test_target.h"
#include "tune/campaign.h"

#define TABLE SEER_SOURCE_DIR "/test/data/times.gz"
enum { MOST = 512 };

typedef struct {
  seer_context *context;
  seer_arena *arena;
  seer_network *network;
  seer_times times;
} world;

static void open_world(world *w, const char *machine, const char *shapes) {
  *w = (world){.arena = seer_arena_create("test")};
  must(seer_context_create(&w->context));
  must(seer_context_set(w->context, "target", test_target_text(machine, w->arena)));
  if (shapes) must(seer_context_set(w->context, "input-shapes", shapes));
  must(seer_context_set(w->context, "measure", "replay:" TABLE));
  must(seer_context_find_target(w->context));
  must(seer_front_load(w->context, "mlp", seer_model_build, w->arena, &w->network));
  must(seer_times_read(TABLE, w->arena, &w->times));
}

static void close_world(world *w) {
  seer_graph_close(w->network->graph);
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

typedef struct {
  world *w;
  seer_text text;
  uint32_t n[3];
  uint64_t seen[3][MOST];
  seer_times_pool pool[3];
} record;

static void on_event(void *user, const seer_event *event) {
  record *r = user;
  if (event->kind == SEER_EVENT_ACCEPT)
    seer_text_printf(&r->text, "accept %u %d\n", event->task, event->is_accepted);
  if (event->kind != SEER_EVENT_MEASUREMENT) return;
  uint32_t t = event->task;
  const seer_time *time = seer_times_pool_find(&r->pool[t], &event->proposal->schedule);
  assert_non_null(time);
  assert_int_equal(time->cls, event->result->cls);
  assert_true(time->seconds == event->result->seconds);
  uint64_t hash = seer_schedule_hash(&event->proposal->schedule);
  seer_text_printf(
      &r->text, "%u %016" PRIx64 " %s\n", t, hash, seer_origin_name(event->proposal->origin));
  if (event->proposal->origin == SEER_ORIGIN_WITNESS) return;
  for (uint32_t i = 0; i < r->n[t]; i++) assert_true(r->seen[t][i] != hash);
  assert_true(r->n[t] < MOST);
  r->seen[t][r->n[t]++] = hash;
}

// All that happened, as text.
static const char *tune(world *w, const char *policy, const char *trials, bool is_all) {
  must(seer_context_set(w->context, "search-policy", policy));
  must(seer_context_set(w->context, "trials", trials));
  seer_campaign *campaign;
  must(seer_campaign_create(w->context, w->network, NULL, "mlp", &campaign));
  record *r = SEER_NEW(w->arena, record);
  r->w = w;
  seer_text_init(&r->text, w->arena);
  seer_choice choices[3];
  seer_campaign_choices(campaign, choices);
  assert_int_equal(w->network->n_task, 3);
  for (uint32_t t = 0; t < 3; t++) {
    const seer_times_task *task =
        seer_times_find_task(&w->times, w->network->task[t].key, SEER_SPACE_FULL);
    assert_non_null(task);
    seer_times_pool_make(task, choices[t].sketches, w->arena, &r->pool[t]);
    if (r->pool[t].n < 50) fail_msg("%u schedules are left: %s", r->pool[t].n, r->pool[t].why);
    assert_non_null(seer_times_pool_find(&r->pool[t], &choices[t].schedule));
    const seer_target *target = seer_context_target(w->context);
    const seer_sketch_list *sketches = choices[t].sketches;
    double least_s = seer_choose_estimate(target, sketches, &choices[t].schedule).seconds;
    for (uint32_t i = 0; i < r->pool[t].n; i++) {
      const seer_schedule *one = &r->pool[t].schedule[i];
      assert_true(sketches->sketch[one->sketch]->needs_trials ||
          seer_choose_estimate(target, sketches, one).seconds >= least_s);
    }
  }
  seer_campaign_listen(campaign, on_event, r);
  must(seer_campaign_run(campaign));
  must(seer_campaign_take_fault(campaign));
  for (uint32_t t = 0; t < 3; t++) {
    double best_s = seer_campaign_state(campaign)->task[t].best_s;
    assert_true(r->n[t] == 0 ? best_s == 0 : best_s >= seer_times_pool_best(&r->pool[t]));
    if (is_all) assert_int_equal(r->n[t], r->pool[t].n);
    if (r->n[t] == r->pool[t].n) assert_true(best_s == seer_times_pool_best(&r->pool[t]));
    const seer_measure_ab *won = seer_campaign_winner(campaign, t);
    if (won) assert_true(won->seconds == best_s && won->speedup > 1);
  }
  seer_campaign_destroy(campaign);
  return r->text.data;
}

static void policies_repeat_and_find_the_best(void **state) {
  (void)state;
  static const char *const policies[] = {"seer", "ansor", "round-robin"};
  for (size_t p = 0; p < SEER_COUNT_OF(policies); p++) {
    world w;
    open_world(&w, "zen4-avx2", NULL);
    const char *first = tune(&w, policies[p], "60", false);
    assert_string_equal(first, tune(&w, policies[p], "60", false));
    // A policy with bounds may find that nothing is left to gain before the table is used up.
    (void)tune(&w, policies[p], "1000", strcmp(policies[p], "seer") != 0);
    close_world(&w);
  }
}

static void refuses(seer_status status, const char *what) {
  if (!status) fail_msg("not refused: %s", what);
  if (!strstr(seer_status_message(status), what))
    fail_msg("'%s' is not in: %s", what, seer_status_message(status));
  seer_status_free(status);
}

static void what_it_cannot_answer_is_refused(void **state) {
  (void)state;
  world w;
  seer_campaign *campaign;
  open_world(&w, "server", NULL);
  refuses(
      seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign), "--target 'cpu -triple");
  close_world(&w);
  open_world(&w, "zen4-avx2", "input:8x784");
  refuses(
      seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign), "no times of this task");
  must(seer_context_set(w.context, "measure", "replay"));
  refuses(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign), "replay:FILE");
  must(seer_context_set(w.context, "measure", "replay:/nowhere.gz"));
  refuses(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign), "/nowhere.gz");
  must(seer_context_set(w.context, "measure", "fake:3"));
  refuses(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign), "'3'");
  must(seer_context_set(w.context, "measure", "guess"));
  refuses(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign),
      "unknown measurer 'guess'; allowed: local fake replay:FILE");
  close_world(&w);
}

static void a_delay_is_parsed(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_measure_choice choice;
  must(seer_measure_find("local:delay=500ms", arena, &choice));
  assert_string_equal(choice.desc->name, "local");
  assert_string_equal(choice.argument, "");
  assert_float_equal(choice.delay_s, 0.5, 1e-12);
  must(seer_measure_find("replay:a:b.gz:delay=2", arena, &choice));
  assert_string_equal(choice.argument, "a:b.gz");
  assert_float_equal(choice.delay_s, 2, 0);
  must(seer_measure_find("fake", arena, &choice));
  assert_float_equal(choice.delay_s, 0, 0);
  static const char *const bad[] = {"", "fast", "-1s", "61s", "nan", "3 apples"};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    const char *text = seer_arena_printf(arena, "fake:delay=%s", bad[i]);
    refuses(seer_measure_find(text, arena, &choice), "must be a time from 0 to 60 seconds");
  }
  refuses(seer_measure_find("local:slow=1s", arena, &choice), "nothing behind its name but delay");
  refuses(seer_measure_find("replay:delay=1s", arena, &choice), "its FILE is missing");
  seer_arena_destroy(arena);
}

// What is run takes so long at least; twins and what has no code are not run.
static void a_delay_is_of_what_is_run(void **state) {
  (void)state;
  seer_measure_result r[] = {{.run_s = 0.1}, {.run_s = 3}, {.is_twin = true},
      {.cls = SEER_MEASURED_BUILD_ERROR}, {.cls = SEER_MEASURED_RUN_CRASH}};
  assert_float_equal(seer_measure_delay(0.5, 0.2, r, SEER_COUNT_OF(r)), 1.3, 1e-12);
  assert_float_equal(r[0].run_s, 0.5, 0);
  assert_float_equal(r[1].run_s, 3, 0);
  assert_float_equal(r[2].run_s, 0, 0);
  assert_float_equal(r[3].run_s, 0, 0);
  assert_float_equal(r[4].run_s, 0.5, 0);
  assert_float_equal(seer_measure_delay(0.5, 2, r, SEER_COUNT_OF(r)), 0, 0);
}

// A minute for each, ten minutes: nobody waits for them, and few are measured.
static void a_delay_on_a_table_is_reckoned(void **state) {
  (void)state;
  world w;
  open_world(&w, "zen4-avx2", NULL);
  must(seer_context_set(w.context, "measure", "replay:" TABLE ":delay=60s"));
  must(seer_context_set(w.context, "time-budget", "10m"));
  seer_campaign *campaign;
  seer_campaign_totals totals;
  must(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign));
  must(seer_campaign_run(campaign));
  seer_campaign_get_totals(campaign, &totals);
  assert_true(totals.trials > 0 && totals.trials <= 32);
  assert_true(totals.elapsed_s >= 59.9 * (totals.trials + totals.repeats));
  seer_campaign_destroy(campaign);
  close_world(&w);
}

static void unknown_schedules_are_failures(void **state) {
  (void)state;
  world w;
  open_world(&w, "zen4-avx2", NULL);
  seer_measure_choice choice;
  must(seer_measure_find("replay:" TABLE, w.arena, &choice));
  assert_string_equal(choice.argument, TABLE);
  const seer_measure_desc *measure = choice.desc;
  seer_measurer *measurer;
  const seer_target *target = seer_context_target(w.context);
  must(measure->open(w.context, target, choice.argument, &measurer));
  seer_sketch_list *sketches;
  const seer_dag *dag = w.network->task[0].dag;
  must(seer_sketch_generate(dag, target, SEER_SPACE_FULL, w.arena, &sketches));
  seer_measure_task task = {7, dag, sketches, SEER_SPACE_FULL, 0};
  must(measure->add_task(measurer, &task));
  const seer_schedule *pool;
  uint32_t n;
  must(measure->pool(measurer, 7, &pool, &n));
  assert_true(n >= 50);
  seer_rng rng;
  seer_rng_init(&rng, 11);
  seer_measure_request requests[2] = {{.task = 7, .schedule = pool[0]}, {.task = 7}};
  bool is_known = true;
  while (is_known) {
    if (seer_schedule_sample(sketches, 0, &rng, &requests[1].schedule, NULL)) continue;
    is_known = false;
    for (uint32_t i = 0; i < n; i++)
      is_known = is_known || seer_schedule_equal(&pool[i], &requests[1].schedule);
  }
  seer_measure_result results[2];
  must(measure->measure(measurer, requests, 2, NULL, results));
  assert_int_equal(results[0].cls, SEER_MEASURED_OK);
  assert_true(results[0].seconds > 0 && results[0].n_samples > 0);
  assert_int_equal(results[1].cls, SEER_MEASURED_BUILD_ERROR);
  assert_non_null(strstr(results[1].message, "not in the table"));
  assert_true(results[1].seconds == 0);
  seer_measured_class cls;
  char message[SEER_MEASURE_MESSAGE_BYTES];
  must(measure->check(measurer, &requests[0], &cls, message, sizeof message));
  assert_int_equal(cls, SEER_MEASURED_OK);
  must(measure->check(measurer, &requests[1], &cls, message, sizeof message));
  assert_int_equal(cls, SEER_MEASURED_BUILD_ERROR);
  const seer_schedule both[2] = {pool[0], requests[1].schedule};
  seer_measure_ab ab[2];
  must(measure->compare(measurer, SEER_MEASURE_HOME, 7, both, 2, &pool[0], 5, ab, NULL));
  assert_true(ab[0].n_pairs == 5 && ab[0].speedup == 1);
  assert_int_equal(ab[1].n_pairs, 0);
  must(measure->compare(measurer, SEER_MEASURE_HOME, 7, both, 2, &both[1], 5, ab, NULL));
  assert_int_equal(ab[0].n_pairs, 0);
  measure->close(measurer);
  close_world(&w);
}

static seer_tuning_options tuning_of(
    const world *w, const char *network, const char *policy, const char *cost_model) {
  return (seer_tuning_options){.times = &w->times,
      .path = TABLE,
      .network = network,
      .only = SEER_TUNING_ALL,
      .policy = policy,
      .cost_model = cost_model,
      .seed = 1};
}

static void regret_falls_to_nothing(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("regret test");
  double ranks[4];
  assert_true(seer_rank_correlation((double[]){1, 2, 3}, (double[]){5, 6, 9}, 3, arena) == 1);
  assert_true(seer_rank_correlation((double[]){1, 2, 3}, (double[]){9, 6, 5}, 3, arena) == -1);
  assert_true(seer_rank_correlation((double[]){1, 1, 1}, (double[]){9, 6, 5}, 3, arena) == 0);
  ranks[0] = seer_rank_correlation((double[]){1, 2, 2, 3}, (double[]){1, 3, 2, 4}, 4, arena);
  assert_true(fabs(ranks[0] - 0.948683298) < 1e-8);
  world w;
  open_world(&w, "zen4-avx2", NULL);
  const char *const *names;
  assert_int_equal(seer_tuning_networks(&w.times, arena, &names), 1);
  assert_string_equal(names[0], "mlp");
  seer_regret one, two;
  const seer_tuning_options usual = tuning_of(&w, "mlp", "round-robin", ""),
                            other = tuning_of(&w, "mlp", "round-robin", "xgboost"),
                            none = tuning_of(&w, "vgg", "seer", "");
  must(seer_regret_measure(w.context, &usual, &one));
  must(seer_regret_measure(w.context, &other, &two));
  assert_int_equal(one.n_task, 3);
  for (int b = 0; b < SEER_REGRET_BUDGETS; b++) {
    assert_true(one.regret[b] == two.regret[b]);
    assert_true(one.regret[b] >= 0 && (b == 0 || one.regret[b] <= one.regret[b - 1]));
  }
  assert_true(one.regret[0] > 0);
  assert_true(one.regret[SEER_REGRET_BUDGETS - 1] == 0);  // all of the table
  assert_true(one.n_rounds > 0 && fabs(one.rank_correlation) <= 1);
  refuses(seer_regret_measure(w.context, &none, &one), "vgg");
  w.times.task[0].n_time = 0;  // of a collection that was stopped early
  must(seer_regret_measure(w.context, &usual, &two));
  assert_int_equal(two.n_task, 2);
  close_world(&w);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(policies_repeat_and_find_the_best),
      cmocka_unit_test(what_it_cannot_answer_is_refused), cmocka_unit_test(a_delay_is_parsed),
      cmocka_unit_test(a_delay_is_of_what_is_run), cmocka_unit_test(a_delay_on_a_table_is_reckoned),
      cmocka_unit_test(unknown_schedules_are_failures), cmocka_unit_test(regret_falls_to_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
