// Policies on made-up histories: who gets the next round, and why.
#include <stdio.h>
#include <string.h>

#include "learn/cost.h"
#include "learn/family.h"
#include "setup/context.h"
#include "support/test.h"
#include "tune/measure.h"
#include "tune/scheduler.h"

enum { N = 4 };
static seer_task_state tasks[N];
static double history[N][8];
// Entries of the table that are asked by themselves.
extern const seer_scheduler_desc seer_scheduler_ansor, seer_scheduler_familyseer,
    seer_scheduler_round_robin, seer_scheduler_random, seer_scheduler_seer;

static seer_schedule_state state_of;

// Tasks 0 and 1 are one family, 2 and 3 another; every one has had its first round.
static seer_schedule_state *fresh(void) {
  memset(tasks, 0, sizeof tasks);
  for (uint32_t t = 0; t < N; t++) {
    tasks[t] = (seer_task_state){.weight = 1,
        .flops = 1e6,
        .bound_s = 1e-6,
        .untuned_s = 1e-3,
        .best_s = 1e-3,
        .family = t / 2,
        .n_trial = 64,
        .n_round = 1,
        .spent_s = 6.4,
        .n_history = 1,
        .cap_history = 8,
        .history = history[t]};
    history[t][0] = 1e-3;
  }
  state_of = (seer_schedule_state){.n_task = N, .task = tasks, .round_size = 64, .foresee = 0.25};
  return &state_of;
}

static seer_pick next(const seer_scheduler_desc *policy) {
  seer_pick pick;
  assert_true(policy->next(&state_of, &pick));
  state_of.last = pick;
  state_of.n_pick++;
  tasks[pick.task].n_round++;
  return pick;
}

static void test_ansor_warms_up_then_takes_the_heaviest(void **state) {
  (void)state;
  fresh();
  tasks[2].n_round = 0;
  tasks[2].best_s = 0;
  assert_int_equal(next(&seer_scheduler_ansor).task, 2);
  fresh();
  tasks[1].weight = 5;
  assert_int_equal(next(&seer_scheduler_ansor).task, 1);
  // Its share falls with its rounds: after enough of them another one is steeper.
  tasks[1].n_round = 20;
  assert_int_not_equal(next(&seer_scheduler_ansor).task, 1);
}

// Algorithm 1: bottleneck, then the bottleneck among its relatives with p * n, then the bottleneck
// of all again.
static void test_familyseer_foresees(void **state) {
  (void)state;
  fresh();
  tasks[2].weight = 8;
  seer_pick main_pick = next(&seer_scheduler_familyseer);
  assert_int_equal(main_pick.task, 2);
  assert_int_equal(main_pick.n, 64);
  seer_pick relative = next(&seer_scheduler_familyseer);
  assert_int_equal(relative.task, 3);
  assert_int_equal(relative.n, 16);
  assert_true(relative.is_foreseen);
  assert_false(next(&seer_scheduler_familyseer).is_foreseen);
  // A family of one has no relative to foresee.
  fresh();
  tasks[3].is_dead = true;
  tasks[2].weight = 8;
  assert_int_equal(next(&seer_scheduler_familyseer).task, 2);
  assert_false(next(&seer_scheduler_familyseer).is_foreseen);
}

static void test_seer_leaves_saturated_tasks_alone(void **state) {
  (void)state;
  fresh();
  tasks[0].weight = 100;
  tasks[0].bound_s = 0.99e-3;  // within 3 % of its bound
  tasks[0].is_confirmed = true;
  assert_int_not_equal(next(&seer_scheduler_seer).task, 0);
  tasks[0].is_confirmed = false;  // or so it seemed, once
  assert_int_equal(next(&seer_scheduler_seer).task, 0);
  tasks[0].bound_s = 0.5e-3;
  assert_int_equal(next(&seer_scheduler_seer).task, 0);
}

static void test_seer_tries_relatives_winners_first(void **state) {
  (void)state;
  fresh();
  tasks[3].n_queued = 3;
  seer_pick pick = next(&seer_scheduler_seer);
  assert_int_equal(pick.task, 3);
  assert_int_equal(pick.n, 3);
  assert_true(pick.is_foreseen);
}

static void test_nothing_left(void **state) {
  (void)state;
  static const seer_scheduler_desc *const policies[] = {&seer_scheduler_ansor,
      &seer_scheduler_familyseer, &seer_scheduler_round_robin, &seer_scheduler_seer};
  for (size_t i = 0; i < SEER_COUNT_OF(policies); i++) {
    fresh();
    for (uint32_t t = 0; t < N; t++) tasks[t].is_dead = true;
    seer_pick pick;
    assert_false(policies[i]->next(&state_of, &pick));
  }
}

static void test_round_robin_takes_turns(void **state) {
  (void)state;
  fresh();
  tasks[1].is_done = true;
  uint32_t want[] = {0, 2, 3, 0};
  for (size_t i = 0; i < SEER_COUNT_OF(want); i++)
    assert_int_equal(next(&seer_scheduler_round_robin).task, want[i]);
}

static void test_random_takes_any_open_task(void **state) {
  (void)state;
  uint32_t seen[2][N] = {{0}};
  for (int run = 0; run < 2; run++) {
    fresh();
    seer_rng_init(&state_of.rng, 5);
    tasks[1].is_done = true;
    uint32_t last = 0;
    for (uint32_t i = 0; i < 200; i++) {
      uint32_t t = next(&seer_scheduler_random).task;
      seen[run][t] += t == last ? 4 : 1;  // the order counts, too
      last = t;
    }
  }
  assert_int_equal(seen[0][1], 0);
  for (uint32_t t = 0; t < N; t++) {
    assert_true(t == 1 || seen[0][t] > 40);
    assert_int_equal(seen[0][t], seen[1][t]);
  }
  seer_pick pick;
  for (uint32_t t = 0; t < N; t++) tasks[t].is_dead = true;
  assert_false(seer_scheduler_random.next(&state_of, &pick));
}

static void test_foreign_names_say_policy_grouping_and_model(void **state) {
  (void)state;
  static const struct {
    const char *name, *policy, *grouping, *model;
  } cases[] = {{"ansor", "ansor", "all", NULL}, {"familyseer", "familyseer", NULL, NULL},
      {"sketch.xgb", "ansor", "all", "xgboost"}, {"sketch.random", "ansor", "all", "random"},
      {"sketch.xgb.family_op", "familyseer", "anchor-op", "xgboost"},
      {"sketch.xgb.family_hash", "familyseer", "op-sequence", "xgboost"},
      {"sketch.xgb.family_ind", "familyseer", "single", "xgboost"},
      {"random", "random", NULL, NULL}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_policy policy;
    assert_null(seer_policy_find(cases[i].name, &policy));
    assert_string_equal(policy.policy->name, cases[i].policy);
    assert_int_equal(policy.grouping != NULL, cases[i].grouping != NULL);
    if (policy.grouping) assert_string_equal(policy.grouping, cases[i].grouping);
    assert_int_equal(policy.cost_model != NULL, cases[i].model != NULL);
    if (policy.cost_model) assert_string_equal(policy.cost_model, cases[i].model);
  }
  seer_policy none;
  seer_status status = seer_policy_find("sketch.xgb.family", &none);
  assert_non_null(strstr(seer_status_message(status), "seer familyseer ansor round-robin random"));
  assert_non_null(strstr(seer_status_message(status), "sketch.xgb.family_ind"));
  seer_status_free(status);
}

// The words before the colon of an option's doc are the table's, in its order.
static void doc_has(seer_option option, const char *const *name, size_t n) {
  char list[256] = "";
  for (size_t i = 0; i < n; i++) strcat(strcat(list, i ? "|" : ""), name[i]);
  const char *doc = seer_option_table[option].doc;
  assert_int_equal(strcspn(doc, ":"), strlen(list));
  assert_memory_equal(doc, list, strlen(list));
  assert_string_equal(seer_option_table[option].fallback, *name);
}

static void test_options_name_what_the_tables_have(void **state) {
  (void)state;
  const char *names[16];
  for (size_t i = 0; i < seer_scheduler_table_count; i++) names[i] = seer_scheduler_table[i]->name;
  doc_has(SEER_OPT_SEARCH_POLICY, names, seer_scheduler_table_count);
  for (size_t i = 0; i < seer_family_table_count; i++) names[i] = seer_family_table[i]->name;
  doc_has(SEER_OPT_FAMILY, names, seer_family_table_count);
  for (size_t i = 0; i < seer_cost_table_count; i++) names[i] = seer_cost_table[i]->name;
  doc_has(SEER_OPT_COST_MODEL, names, seer_cost_table_count);
  for (size_t i = 0; i < seer_measure_table_count; i++) names[i] = seer_measure_table[i]->name;
  doc_has(SEER_OPT_MEASURE, names, seer_measure_table_count);
  for (size_t i = 0; i < seer_policy_alias_table_count; i++) {
    const char *alias = seer_policy_alias_table[i].name;
    bool is_foreign = strchr(alias, '.') != NULL;
    assert_true(!is_foreign || strstr(seer_option_table[SEER_OPT_SEARCH_POLICY].doc, alias));
  }
}

// A task that is faster than its bound has none: it is not left alone, and tables say so.
static void test_a_beaten_bound_is_none(void **state) {
  (void)state;
  fresh();
  for (uint32_t t = 0; t < N; t++) {
    tasks[t].is_confirmed = true;
    tasks[t].best_s = 1.01e-6;
    assert_string_equal(seer_task_state_name(&tasks[t]), "at bound");
  }
  seer_pick pick;
  assert_false(seer_scheduler_seer.next(&state_of, &pick));
  tasks[2].best_s = 0.4e-6;
  assert_true(seer_task_beats_bound(&tasks[2]) && !seer_task_is_at_bound(&tasks[2]));
  assert_string_equal(seer_task_state_name(&tasks[2]), "beats bound");
  assert_true(seer_scheduler_seer.next(&state_of, &pick));
  assert_int_equal(pick.task, 2);
  // However little it is faster; and what is not confirmed proves nothing.
  tasks[2].best_s = 0.999e-6;
  assert_true(seer_scheduler_seer.next(&state_of, &pick));
  tasks[2].is_confirmed = false;
  assert_false(seer_task_beats_bound(&tasks[2]));
  assert_string_equal(seer_task_state_name(&tasks[2]), "");
  // The more wrong the bound, the more may be left.
  tasks[1].best_s = 0.9e-6;
  tasks[2].is_confirmed = true;
  tasks[2].best_s = 0.5e-6;
  history[1][0] = 0.9e-6;
  history[2][0] = 0.5e-6;
  assert_true(seer_scheduler_seer.next(&state_of, &pick));
  assert_int_equal(pick.task, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ansor_warms_up_then_takes_the_heaviest),
      cmocka_unit_test(test_familyseer_foresees),
      cmocka_unit_test(test_seer_leaves_saturated_tasks_alone),
      cmocka_unit_test(test_seer_tries_relatives_winners_first),
      cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_round_robin_takes_turns),
      cmocka_unit_test(test_random_takes_any_open_task),
      cmocka_unit_test(test_foreign_names_say_policy_grouping_and_model),
      cmocka_unit_test(test_options_name_what_the_tables_have),
      cmocka_unit_test(test_a_beaten_bound_is_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
