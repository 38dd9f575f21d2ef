// Campaigns on the fake machine: every policy makes progress, repeats to the byte, resumes without
// measuring twice.
// SEER_TEST: timeout=400 cost=40
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "choose/choose.h"
#include "choose/share.h"
#include "learn/bank.h"
#include "models/models.h"
#include "support/test.h"
#include "support/test_target.h"
#include "tune/campaign.h"
#include "tune/campaign/budget.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  seer_network *network;
} world;

// On a made-up machine; `more`: options behind its text. Nothing runs: the measurer is a formula.
static void open_world_on(world *w, const char *machine, const char *more, const char *shapes,
    const char *model, const char *policy, const char *trials) {
  must(seer_context_create(&w->context));
  w->arena = seer_arena_create("test");
  const char *target =
      seer_arena_printf(w->arena, "%s%s", test_target_text(machine, w->arena), more);
  must(seer_context_set(w->context, "target", target));
  if (shapes) must(seer_context_set(w->context, "input-shapes", shapes));
  must(seer_context_set(w->context, "measure", "fake"));
  must(seer_context_set(w->context, "search-policy", policy));
  must(seer_context_set(w->context, "trials", trials));
  must(seer_context_find_target(w->context));
  must(seer_front_load(w->context, model, seer_model_build, w->arena, &w->network));
}

static void open_world(world *w, const char *model, const char *policy, const char *trials) {
  open_world_on(w, "zen4-avx2", "", NULL, model, policy, trials);
}

static void close_world(world *w) {
  seer_graph_close(w->network->graph);
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

// Everything but the clock.
static void write_event(void *user, const seer_event *event) {
  seer_text *text = user;
  seer_text_printf(text, "%s trials %u estimate %.9g task %u", seer_event_kind_name(event->kind),
      event->trials, event->estimated_s, event->task);
  if (event->pick) seer_text_printf(text, " n %u %s", event->pick->n, event->pick->reason);
  if (event->result)
    seer_text_printf(text, " %s %.9g %s", seer_measured_class_name(event->result->cls),
        event->result->seconds, seer_origin_name(event->proposal->origin));
  if (event->kind == SEER_EVENT_ACCEPT && event->is_accepted) seer_text_put(text, " accepted");
  if (event->kind == SEER_EVENT_NOTE) seer_text_put(text, event->text);
  seer_text_put(text, "\n");
}

typedef struct {
  seer_campaign_totals totals;
  const char *events;
} outcome;

static outcome run(world *w, seer_records *records) {
  seer_campaign *campaign;
  seer_text text;
  seer_text_init(&text, w->arena);
  must(seer_campaign_create(w->context, w->network, records, "test", &campaign));
  seer_campaign_listen(campaign, write_event, &text);
  must(seer_campaign_run(campaign));
  outcome out = {.events = text.data};
  seer_campaign_get_totals(campaign, &out.totals);
  seer_choice *choices = SEER_NEW_ARRAY(w->arena, seer_choice, w->network->n_task);
  seer_campaign_choices(campaign, choices);
  for (uint32_t t = 0; t < w->network->n_task; t++) assert_non_null(choices[t].sketches);
  seer_campaign_destroy(campaign);
  return out;
}

// The published policies begin at random: after a round a task one tuning of six is no better than
// the default. They fit a model anew after each round until it knows all samples by heart, which is
// most of the time: their rounds are half as long here, and they are tried on one machine only.
#define PUBLISHED_TRIALS "240"
#define PUBLISHED_ROUND "32"
#define PUBLISHED_TARGETS 1
static void test_policies_make_progress(void **state) {
  (void)state;
  static const struct {
    const char *name, *trials;
  } policies[] = {{"seer", "160"}, {"round-robin", "160"}, {"random", "160"},
      {"familyseer", PUBLISHED_TRIALS}, {"ansor", PUBLISHED_TRIALS},
      {"sketch.xgb.family_ind", PUBLISHED_TRIALS}};
  for (size_t i = 0; i < SEER_COUNT_OF(policies) * TEST_TARGETS; i++) {
    const char *name = policies[i / TEST_TARGETS].name, *trials = policies[i / TEST_TARGETS].trials;
    bool is_published = strcmp(trials, PUBLISHED_TRIALS) == 0;
    if (is_published && i % TEST_TARGETS >= PUBLISHED_TARGETS) continue;
    world w;
    open_world_on(&w, test_target_names[i % TEST_TARGETS], "", NULL, "mlp", name, trials);
    if (is_published) must(seer_context_set(w.context, "round-size", PUBLISHED_ROUND));
    outcome out = run(&w, NULL);
    if (getenv("SHOW")) {
      printf(
          "%s: %.3g -> %.3g us, %u trials, %u failed, drafted %g scored %g, propose %.2f train "
          "%.2f s\n",
          name, out.totals.untuned_s * 1e6, out.totals.estimated_s * 1e6, out.totals.trials,
          out.totals.failed[SEER_MEASURED_RUN_CRASH], (double)out.totals.search.drafted,
          (double)out.totals.search.scored, out.totals.propose_s, out.totals.train_s);
    }
    assert_true(out.totals.trials > 0 && out.totals.trials <= (uint32_t)atoi(trials));
    assert_true(out.totals.estimated_s < out.totals.untuned_s);
    close_world(&w);
  }
}

typedef struct {
  uint32_t n_foreseen, n_measured, n_witness;
  const char *why;
} tally;

static void count_event(void *user, const seer_event *event) {
  tally *t = user;
  if (event->kind == SEER_EVENT_ROUND) t->n_foreseen += event->pick->is_foreseen;
  if (event->kind == SEER_EVENT_MEASUREMENT) {
    t->n_measured++;
    t->n_witness += event->proposal->origin == SEER_ORIGIN_WITNESS;
  }
  if (event->kind == SEER_EVENT_DONE) t->why = event->text;
}

// Every policy ends, with exactly its trials; in a published one each measurement is one: a round
// for each of the three tasks, another one, and part of one.
#define SHORT_ROUND "16"
#define ALL_ROUNDS 69
static void test_policies_use_their_trials(void **state) {
  (void)state;
  for (size_t i = 0; i < seer_scheduler_table_count; i++) {
    const seer_scheduler_desc *policy = seer_scheduler_table[i];
    bool is_published = policy->traits->counts_rounds;
    world w;
    open_world(&w, "mlp", policy->name, is_published ? "69" : "90");
    if (is_published) must(seer_context_set(w.context, "round-size", SHORT_ROUND));
    seer_campaign *campaign;
    tally t = {0};
    must(seer_campaign_create(w.context, w.network, NULL, "test", &campaign));
    seer_campaign_listen(campaign, count_event, &t);
    must(seer_campaign_run(campaign));
    seer_campaign_totals totals;
    seer_campaign_get_totals(campaign, &totals);
    seer_os_sleep_ns(1000000);  // as if it had been compiled
    seer_campaign_totals later;
    seer_campaign_get_totals(campaign, &later);
    assert_true(totals.elapsed_s > 0 && later.elapsed_s == totals.elapsed_s);
    if (strcmp(t.why, "the budget of trials is used up") != 0)
      fail_msg("%s ended: %s", policy->name, t.why);
    assert_int_equal(totals.trials, is_published ? ALL_ROUNDS : 90);
    bool foresees = strcmp(policy->name, "ansor-quarter") == 0 ||
        (strstr(policy->name, "familyseer") == policy->name && !strstr(policy->name, "-model") &&
            !strstr(policy->name, "-single"));
    if (is_published) {
      assert_int_equal(t.n_measured, ALL_ROUNDS);
      assert_int_equal(t.n_witness, 0);
      assert_int_equal(t.n_foreseen > 0, foresees);
      // t is what picks said: whole rounds, or those and shares.
      const seer_schedule_state *s = seer_campaign_state(campaign);
      for (uint32_t k = 0; k < s->n_task; k++) {
        const seer_task_state *task = &s->task[k];
        assert_true(task->t >= 1 && task->t <= task->n_round);
        assert_true(foresees || fabs(task->t - task->n_round) < 1e-9);
        assert_true(fabs(task->history[task->n_history - 1].t - task->t) < 1e-9);
      }
    }
    seer_campaign_destroy(campaign);
    close_world(&w);
  }
}

// Families are one thing, who shares a cost model is another: what a campaign leaves in its file of
// models.
static void test_models_of_policies(void **state) {
  (void)state;
  static const struct {
    const char *policy, *family, *model;
    bool is_there;
  } cases[] = {{"familyseer", "anchor-op", "contraction.f32", true},
      {"familyseer-foresee", "anchor-op", "all", true},
      {"familyseer-foresee", "anchor-op", "contraction.f32", false},
      {"familyseer-artifact", NULL, "nn.dense", true},
      {"familyseer-artifact", "op-count", "nn.dense", false},
      {"familyseer-warm", NULL, "contraction.f32", true}, {"ansor-quarter", NULL, "all", true}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    world w;
    open_world(&w, "mlp", cases[i].policy, "60");
    const char *folder;
    must(seer_os_temp_dir("seer-test", w.arena, &folder));
    const char *path = seer_os_path_join(w.arena, folder, "models");
    must(seer_context_set(w.context, "save-model", path));
    if (cases[i].family) must(seer_context_set(w.context, "family", cases[i].family));
    (void)run(&w, NULL);
    static const uint32_t family_of[] = {0};
    seer_bank_options options = {.n_family = 1,
        .family_name = &cases[i].model,
        .n_task = 1,
        .family_of = family_of,
        .features = &seer_feature_ansor,
        .learning = &seer_learning_ansor};
    must(seer_cost_find("xgboost", &options.model));
    seer_bank *bank;
    must(seer_bank_create(&options, &bank));
    must(seer_bank_load(bank, path));
    if (seer_bank_is_continued(bank, 0) != cases[i].is_there)
      fail_msg("%s: model %s", cases[i].policy, cases[i].model);
    seer_bank_destroy(bank);
    must(seer_os_remove_tree(folder));
    close_world(&w);
  }
}

static void test_campaigns_repeat(void **state) {
  (void)state;
  char *first = NULL;
  for (int i = 0; i < 2; i++) {
    world w;
    open_world(&w, "mlp", "seer", "120");
    outcome out = run(&w, NULL);
    if (i == 0) {
      first = strdup(out.events);
    } else {
      assert_string_equal(first, out.events);
    }
    close_world(&w);
  }
  free(first);
}

static seer_records *new_records(world *w, const char **out_folder, const char **out_path) {
  seer_records *records;
  must(seer_os_temp_dir("seer-test", w->arena, out_folder));
  *out_path = seer_os_path_join(w->arena, *out_folder, "r.sqlite");
  must(seer_records_open(w->context, *out_path, &records));
  return records;
}

static void test_a_finished_tuning_measures_nothing_twice(void **state) {
  (void)state;
  world w;
  open_world(&w, "mlp", "round-robin", "60");
  const char *folder, *path;
  seer_records *records = new_records(&w, &folder, &path);
  outcome one = run(&w, records);
  outcome two = run(&w, records);
  assert_true(two.totals.restored >= one.totals.trials);
  // What the first campaign measured is known to the second one: no schedule appears in both.
  assert_true(two.totals.estimated_s <= one.totals.estimated_s);
  seer_records_close(records);
  must(seer_os_remove_tree(folder));
  close_world(&w);
}

static uint32_t count_of(const char *text, const char *what) {
  uint32_t n = 0;
  for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) n++;
  return n;
}

// Accepted schedules of other shapes are re-fitted, and join the drafts; their times count for
// nothing. Where none was accepted there is nothing to join.
static void test_records_of_other_shapes_are_tried(void **state) {
  (void)state;
  uint32_t n_with = 0;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    world w, wide;
    open_world_on(&w, test_target_names[m], "", NULL, "mlp", "seer", "60");
    const char *folder, *path;
    seer_records *records = new_records(&w, &folder, &path);
    bool is_accepted = count_of(run(&w, records).events, " accepted\n") > 0;
    open_world_on(&wide, test_target_names[m], "", "input:8x784", "mlp", "seer", "60");
    outcome out = run(&wide, records);
    assert_int_equal(out.totals.restored, 0);
    bool has_candidates = count_of(out.events, "from records of other shapes are candidates") > 0;
    assert_int_equal(has_candidates, is_accepted);
    n_with += is_accepted;
    close_world(&wide);
    seer_records_close(records);
    must(seer_os_remove_tree(folder));
    close_world(&w);
  }
  assert_true(n_with > 0);
}

// What was accepted on a similar machine is measured first here, and compiled where nothing else
// is known; its times are not this machine's. Returns how many were accepted there.
static uint32_t try_similar_machine(const char *machine) {
  world w;
  open_world_on(&w, machine, "", NULL, "mlp", "seer", "60");
  const char *folder, *path;
  seer_records *records = new_records(&w, &folder, &path);
  outcome one = run(&w, records);
  assert_int_equal(count_of(one.events, " record\n"), 0);
  uint32_t n_accepted = count_of(one.events, " accepted\n");
  seer_records_close(records);

  world here;
  open_world_on(&here, machine, " -model=another", NULL, "mlp", "seer", "24");
  must(seer_records_open(here.context, path, &records));
  seer_choice *choices;
  seer_choose_counts counts;
  must(seer_choose(here.context, here.network, records, 2, here.arena, &choices, &counts));
  assert_int_equal(counts.n_untuned, here.network->n_task);
  must(seer_choose(here.context, here.network, records, 3, here.arena, &choices, &counts));
  assert_int_equal(counts.n_record, 0);
  assert_int_equal(counts.n_sibling, n_accepted);
  uint32_t n_similar = 0;
  for (uint32_t t = 0; t < here.network->n_task; t++)
    n_similar += choices[t].origin == SEER_ORIGIN_SIMILAR;
  assert_int_equal(n_similar, counts.n_sibling);
  must(seer_context_set(here.context, "no-resume", "1"));
  outcome alone = run(&here, NULL), anew = run(&here, records);
  assert_string_equal(alone.events, anew.events);
  seer_records_close(records);
  close_world(&here);

  open_world_on(&here, machine, " -model=third", NULL, "mlp", "seer", "24");
  must(seer_records_open(here.context, path, &records));
  outcome two = run(&here, records);
  assert_int_equal(two.totals.restored, 0);
  assert_true(count_of(two.events, " record\n") >= n_similar);
  seer_records_close(records);
  close_world(&here);
  must(seer_os_remove_tree(folder));
  close_world(&w);
  return n_accepted;
}

static void test_records_of_a_similar_machine_come_first(void **state) {
  (void)state;
  uint32_t n_accepted = 0;
  for (uint32_t m = 0; m < TEST_TARGETS; m++)
    n_accepted += try_similar_machine(test_target_names[m]);
  assert_true(n_accepted > 0);
}

// Nobody is to be asked when all tasks read one form already.
static seer_status no_judge(
    void *user, const seer_share_offer *offer, seer_choice *out_choice, double *out_ratio) {
  (void)user, (void)out_choice, (void)out_ratio;
  fail_msg("task %u still packs its weights in a form of its own", offer->task);
  return SEER_OK;
}

static void try_several_sets(const char *machine) {
  world w = {0};
  must(seer_context_create(&w.context));
  w.arena = seer_arena_create("test");
  const char *const options[][2] = {{"target", test_target_text(machine, w.arena)},
      {"measure", "fake"}, {"trials", "400"}, {"share-weights", "1000"},
      {"input-shapes", "input:1x784"}, {"input-shapes", "input:8x784"}};
  for (size_t i = 0; i < SEER_COUNT_OF(options); i++)
    must(seer_context_set(w.context, options[i][0], options[i][1]));
  must(seer_context_find_target(w.context));
  must(seer_front_load(w.context, "mlp", seer_model_build, w.arena, &w.network));
  assert_int_equal(w.network->n_task, 6);
  seer_campaign *campaign = NULL;
  must(seer_campaign_create(w.context, w.network, NULL, "mlp", &campaign));
  must(seer_campaign_run(campaign));
  // The estimate is the mean of the sets, each the sum of its own tasks.
  seer_campaign_totals totals;
  seer_campaign_get_totals(campaign, &totals);
  double first = seer_campaign_set_seconds(campaign, 0),
         second = seer_campaign_set_seconds(campaign, 1);
  assert_true(first > 0 && second > first);
  assert_true(fabs(totals.estimated_s - (first + second) / 2) < 1e-6 * totals.estimated_s);
  double sum = 0;
  for (uint32_t t = 0; t < 6; t++)
    sum += w.network->set[0]->count[t] * seer_campaign_state(campaign)->task[t].best_s;
  assert_true(fabs(sum - first) < 1e-6 * first);
  seer_choice choices[7];
  seer_campaign_choices(campaign, choices);
  seer_share_counts counts;
  must(seer_share_weights(
      w.network, seer_context_target(w.context), 1000, no_judge, NULL, choices, &counts));
  assert_int_equal(counts.n_adapted + counts.n_apart, 0);
  seer_campaign_destroy(campaign);
  seer_graph_close(w.network->graph);
  seer_arena_destroy(w.arena);
  seer_context_destroy(w.context);
}

static void test_several_sets_of_shapes(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) try_several_sets(test_target_names[m]);
}

// A campaign with these options (name, value, ..., NULL), and why it ended. path: of records; NULL:
// none.
static seer_campaign_totals run_with(
    const char *const *options, const char *path, seer_budget *out_budget, char *out_why) {
  world w;
  must(seer_context_create(&w.context));
  w.arena = seer_arena_create("test");
  must(seer_context_set(w.context, "target", test_target_text("server", w.arena)));
  must(seer_context_set(w.context, "measure", "fake"));
  for (; options[0]; options += 2) must(seer_context_set(w.context, options[0], options[1]));
  must(seer_context_find_target(w.context));
  must(seer_front_load(w.context, "mlp", seer_model_build, w.arena, &w.network));
  seer_campaign *campaign;
  seer_records *records = NULL;
  tally t = {0};
  if (path) must(seer_records_open(w.context, path, &records));
  must(seer_campaign_create(w.context, w.network, records, "test", &campaign));
  seer_campaign_listen(campaign, count_event, &t);
  *out_budget = *seer_campaign_budget(campaign);
  must(seer_campaign_run(campaign));
  (void)snprintf(out_why, 256, "%s", t.why);
  seer_campaign_totals totals;
  seer_campaign_get_totals(campaign, &totals);
  seer_campaign_destroy(campaign);
  seer_records_close(records);
  close_world(&w);
  return totals;
}

// Without a budget a tuning ends by itself when little is to be expected of going on, and says so;
// one that has ended so has next to nothing to do when it is begun
// again.
static void test_until_done(void **state) {
  (void)state;
  static const char *const none[] = {NULL},
                           *const control[] = {"search-policy", "round-robin", NULL};
  char why[256];
  seer_budget budget;
  const char *folder;
  seer_arena *arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", arena, &folder));
  const char *path = seer_os_path_join(arena, folder, "records.sqlite");
  seer_campaign_totals first = run_with(none, path, &budget, why);
  assert_true(budget.is_until_done && budget.time_s > 299 && budget.trials == 0);
  assert_true(strstr(why, "done: as many measurements again are expected to bring") == why);
  assert_non_null(strstr(why, "of 3 tasks are at a local optimum"));
  assert_true(first.expected_gain < SEER_DONE_BELOW && first.n_optimum > 0 && first.n_tuned == 3);
  assert_true(first.trials > 100 && first.estimated_s < first.untuned_s);
  seer_campaign_totals again = run_with(none, path, &budget, why);
  assert_true(strstr(why, "done:") == why);
  // But for neighbours of earlier bests that were left out as equal code, which records do not
  // tell.
  assert_true(again.trials <= first.trials / 4);
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
  // So does a policy that knows of no neighbours.
  seer_campaign_totals other = run_with(control, NULL, &budget, why);
  assert_true(strstr(why, "done:") == why && !strstr(why, "optimum"));
  assert_true(other.expected_gain < SEER_DONE_BELOW && other.n_optimum == 0);
}

// With another budget it is whichever comes first; a budget or a preset alone is what it was.
static void test_until_done_or_a_budget(void **state) {
  (void)state;
  static const struct {
    const char *option[7];
    bool is_until_done;
    double time_s;
    const char *why;
  } cases[] = {
      {{"until-done", "1", "trials", "20"}, true, 0, "the budget of trials is used up"},
      {{"until-done", "1", "time-budget", "1ms"}, true, 1e-3, "the time budget is used up"},
      {{"until-done", "1", "time-budget", "20m"}, true, 1200, "done:"},
      {{"until-done", "1", "preset", "quick"}, true, 60, "done:"},
      {{"until-done", "1"}, true, 300, "done:"},
      {{"until-done", "0", "early-stopping", "64"}, false, 300, "no progress any more"},
      {{"preset", "thorough", "early-stopping", "64"}, false, 1800, "no progress any more"},
      {{"trials", "20"}, false, 0, "the budget of trials is used up"},
      {{"trials", "0"}, false, 0, "the budget is no trials"},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    char why[256];
    seer_budget budget;
    (void)run_with(cases[i].option, NULL, &budget, why);
    assert_int_equal(budget.is_until_done, cases[i].is_until_done);
    assert_true(fabs(budget.time_s - cases[i].time_s) < 1e-9);
    if (strstr(why, cases[i].why) != why) fail_msg("case %zu: %s", i, why);
  }
}

typedef struct {
  double end_s, estimated_s, untuned_s;  // what the end takes; what it was asked with
} told_end;

static double tell_end(void *user, double estimated_s, double untuned_s) {
  told_end *end = user;
  end->estimated_s = estimated_s;
  end->untuned_s = untuned_s;
  return end->end_s;
}

// Of a budget of time what comes before the campaign and behind it is taken off, but half is left.
static void test_a_budget_keeps_time_for_the_end(void **state) {
  (void)state;
  static const struct {
    const char *budget;
    double before_s, end_s, left_s;
  } cases[] = {{"100s", 0, 0, 100}, {"100s", 2, 8, 90}, {"100s", 30, 19, 51}, {"100s", 30, 21, 50},
      {"100s", 200, 1000, 50}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    world w;
    open_world(&w, "mlp", "seer", "60");
    must(seer_context_set(w.context, "time-budget", cases[i].budget));
    seer_campaign *campaign;
    must(seer_campaign_create(w.context, w.network, NULL, "test", &campaign));
    assert_true(seer_campaign_time_s(campaign) == 100);
    told_end end = {.end_s = cases[i].end_s};
    seer_campaign_keep_for_end(campaign, cases[i].before_s, tell_end, &end);
    assert_true(fabs(seer_campaign_time_s(campaign) - cases[i].left_s) < 1e-9);
    must(seer_campaign_run(campaign));
    seer_campaign_totals totals;
    seer_campaign_get_totals(campaign, &totals);
    (void)seer_campaign_time_s(campaign);
    assert_true(end.estimated_s == totals.estimated_s && end.untuned_s == totals.untuned_s);
    assert_true(end.estimated_s < end.untuned_s);
    seer_campaign_destroy(campaign);
    close_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies_make_progress),
      cmocka_unit_test(test_policies_use_their_trials), cmocka_unit_test(test_models_of_policies),
      cmocka_unit_test(test_campaigns_repeat),
      cmocka_unit_test(test_a_finished_tuning_measures_nothing_twice),
      cmocka_unit_test(test_records_of_a_similar_machine_come_first),
      cmocka_unit_test(test_records_of_other_shapes_are_tried),
      cmocka_unit_test(test_several_sets_of_shapes), cmocka_unit_test(test_until_done),
      cmocka_unit_test(test_until_done_or_a_budget),
      cmocka_unit_test(test_a_budget_keeps_time_for_the_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
