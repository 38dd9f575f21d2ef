// Policies on made-up histories: who gets the next round, and why.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/cost.h"
#include "learn/family.h"
#include "measure/measure.h"
#include "setup/context.h"
#include "support/test.h"
#include "tune/scheduler/gradient.h"

enum { N = 4 };
static seer_task_state tasks[N];
static seer_task_point history[N][256];
// Entries of the table that are asked by themselves.
extern const seer_scheduler_desc seer_scheduler_ansor, seer_scheduler_ansor_quarter,
    seer_scheduler_familyseer, seer_scheduler_familyseer_artifact,
    seer_scheduler_familyseer_foresee, seer_scheduler_familyseer_model,
    seer_scheduler_familyseer_single, seer_scheduler_familyseer_warm, seer_scheduler_round_robin,
    seer_scheduler_random, seer_scheduler_seer;

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
        .t = 1,
        .n_history = 1,
        .history = history[t]};
    history[t][0] = (seer_task_point){1, 1e-3};
  }
  state_of = (seer_schedule_state){.n_task = N, .task = tasks, .round_size = 64, .foresee = 0.25};
  return &state_of;
}

// What a campaign does with a pick, whose round finds `best_s` (0: nothing better).
static seer_pick next_with(const seer_scheduler_desc *policy, double best_s) {
  seer_pick pick;
  assert_true(policy->next(&state_of, &pick));
  state_of.last = pick;
  state_of.n_pick++;
  seer_task_state *task = &tasks[pick.task];
  task->n_round++;
  task->t += pick.counts_as;
  task->n_trial += pick.n;
  if (best_s > 0) task->best_s = best_s;
  assert_true(task->n_history < SEER_COUNT_OF(history[0]));
  task->history[task->n_history++] = (seer_task_point){task->t, task->best_s};
  return pick;
}

static seer_pick next(const seer_scheduler_desc *policy) { return next_with(policy, 0); }

static void test_ansor_warms_up_then_takes_the_heaviest(void **state) {
  (void)state;
  fresh();
  tasks[2].n_round = 0;
  tasks[2].best_s = tasks[2].t = 0;
  tasks[2].n_history = 0;
  assert_int_equal(next(&seer_scheduler_ansor).task, 2);
  assert_true(tasks[2].t == 1);
  fresh();
  tasks[1].weight = 5;
  assert_int_equal(next(&seer_scheduler_ansor).task, 1);
  // Its share falls with its rounds: after enough of them another one is steeper.
  tasks[1].t = 20;
  assert_int_not_equal(next(&seer_scheduler_ansor).task, 1);
}

static void near(double value, double want) {
  if (!(value - want < 1e-12 && want - value < 1e-12)) fail_msg("%.12g, not %.12g", value, want);
}

// weight x (0.2 x backward over three rounds + 0.8 x -best / t), by hand.
static void test_gradients_by_hand(void **state) {
  (void)state;
  fresh();
  seer_task_state *task = &tasks[0];
  task->weight = 3;
  near(seer_gradient_of(task), 3 * 0.8 * -1e-3);
  near(seer_gradient_of_artifact(task), 3 * 0.8 * -1e-3);
  // Two more rounds: still no fourth one to look back from.
  history[0][1] = (seer_task_point){2, 0.8e-3};
  history[0][2] = (seer_task_point){3, 0.7e-3};
  task->t = task->n_history = 3;
  task->best_s = 0.7e-3;
  near(seer_gradient_of(task), 3 * 0.8 * -0.7e-3 / 3);
  history[0][3] = (seer_task_point){4, 0.4e-3};
  task->t = task->n_history = 4;
  task->best_s = 0.4e-3;
  near(seer_gradient_of(task), 3 * (0.2 * (0.4e-3 - 1e-3) / 3 + 0.8 * -0.4e-3 / 4));
  near(seer_gradient_of_artifact(task), seer_gradient_of(task));
  // A fifth round: the window moves, to the second one.
  history[0][4] = (seer_task_point){5, 0.4e-3};
  task->t = task->n_history = 5;
  near(seer_gradient_of(task), 3 * (0.2 * (0.4e-3 - 0.8e-3) / 3 + 0.8 * -0.4e-3 / 5));
  // What has never worked is steeper than anything that has.
  fresh();
  tasks[1].best_s = history[1][0].best_s = 0;
  near(seer_gradient_of(&tasks[1]) / 1e10, -0.8);
  tasks[1].is_dead = true;
  assert_true(seer_gradient_of(&tasks[1]) == 0);
  assert_true(seer_gradient_of_artifact(&tasks[1]) == 0);
}

// Quarter rounds: three rounds of t are looked back over, whatever they are made of. Its code reads
// the history at t - 1, though it has an entry for each foreseen round as well.
static void test_a_quarter_round_counts_as_a_quarter(void **state) {
  (void)state;
  fresh();
  static const seer_task_point points[] = {{1, 10}, {1.25, 9}, {2.25, 8}, {3.25, 5}, {4.25, 4}};
  memcpy(history[0], points, sizeof points);
  tasks[0].best_s = 4;
  tasks[0].t = 4.25;
  tasks[0].n_history = 5;
  // From 1.25 to 4.25, not from the place three before the last.
  near(seer_gradient_of(&tasks[0]), 0.2 * (4.0 - 9.0) / 3 + 0.8 * -4 / 4.25);
  tasks[0].t = 4.5;  // 3.25 rounds since the second entry
  near(seer_gradient_of(&tasks[0]), 0.2 * (4.0 - 9.0) / 3.25 + 0.8 * -4 / 4.5);
  tasks[0].t = 4;  // one round of the five was foreseen, and counts as none
  near(seer_gradient_of_artifact(&tasks[0]), 0.2 * (5.0 - 10.0) / 3 + 0.8 * -4 / 4);
}

// Where all gradients are equal, chance decides, and each open task is as likely.
static void test_ties_are_drawn(void **state) {
  (void)state;
  static const seer_scheduler_desc *const policies[] = {
      &seer_scheduler_ansor, &seer_scheduler_familyseer_artifact};
  for (size_t i = 0; i < SEER_COUNT_OF(policies); i++) {
    uint32_t seen[N] = {0};
    fresh();
    seer_rng rng;
    seer_rng_init(&rng, 3);
    for (int k = 0; k < 300; k++) {
      fresh();
      state_of.rng = rng;
      tasks[1].is_done = true;
      seen[next(policies[i]).task]++;
      rng = state_of.rng;
    }
    assert_int_equal(seen[1], 0);
    for (uint32_t t = 0; t < N; t++) assert_true(t == 1 || (seen[t] > 70 && seen[t] < 130));
  }
  // Two of three equal: the first of them.
  fresh();
  tasks[0].weight = 0.5;
  for (int k = 0; k < 20; k++) {
    seer_pick pick;
    assert_true(seer_scheduler_ansor.next(&state_of, &pick));
    assert_int_equal(pick.task, 1);
  }
}

// What each of a policy's picks is to be, and what its round finds.
typedef struct {
  uint32_t task, n;
  bool is_foreseen;
  double best_s;
} step;

static void follow(const seer_scheduler_desc *policy, const step *steps, size_t n) {
  for (size_t i = 0; i < n; i++) {
    seer_pick pick = next_with(policy, steps[i].best_s);
    if (pick.task != steps[i].task || pick.n != steps[i].n ||
        pick.is_foreseen != steps[i].is_foreseen)
      fail_msg("%s, step %zu: task %u, %u measurements, foreseen %d (%s)", policy->name, i,
          pick.task, pick.n, pick.is_foreseen, pick.reason);
  }
}

// Algorithm 1: warm-up; a bottleneck; the bottleneck among its relatives with p * n; and again.
static void test_familyseer_step_by_step(void **state) {
  (void)state;
  fresh();
  tasks[2].weight = 8;
  tasks[1].weight = 4;
  tasks[3].n_round = 0;  // its first round is warm-up: nobody is foreseen after it
  tasks[3].t = tasks[3].n_history = 0;
  tasks[3].best_s = 0;
  const step steps[] = {
      {3, 64, false, 1e-3},
      {2, 64, false, 0},  // weight x best / t: 1, 4, 8, 1 ms
      {3, 16, true, 0},  // the only other one of its family
      {1, 64, false, 0},  // 1, 4, 4, 0.8: the first of two
      {0, 16, true, 0},
      {2, 64, false, 0},  // 0.8, 2, 4, 0.8
      {3, 16, true, 0},
      {2, 64, false, 0},  // 0.8, 2, 2.7, 0.67
      {3, 16, true, 0},
  };
  follow(&seer_scheduler_familyseer, steps, SEER_COUNT_OF(steps));
  near(tasks[3].t, 1 + 3 * 0.25);
  near(tasks[0].t, 1.25);
  near(tasks[2].t, 4);
  // Its share: 5 % of a round of 64 are 3, and count as 3/64; none of none.
  fresh();
  tasks[2].weight = 8;
  state_of.foresee = 0.05;
  assert_int_equal(next(&seer_scheduler_familyseer).task, 2);
  seer_pick relative = next(&seer_scheduler_familyseer);
  assert_int_equal(relative.n, 3);
  near(relative.counts_as, 3.0 / 64);
  state_of.foresee = 0;
  assert_false(next(&seer_scheduler_familyseer).is_foreseen);
  assert_false(next(&seer_scheduler_familyseer).is_foreseen);
  // A family of one has no relative to foresee.
  fresh();
  tasks[3].is_dead = true;
  tasks[2].weight = 8;
  assert_int_equal(next(&seer_scheduler_familyseer).task, 2);
  assert_false(next(&seer_scheduler_familyseer).is_foreseen);
  // A bottleneck that died of its round has relatives still.
  fresh();
  tasks[2].weight = 8;
  assert_int_equal(next(&seer_scheduler_familyseer).task, 2);
  tasks[2].is_dead = true;
  assert_int_equal(next(&seer_scheduler_familyseer).task, 3);
}

// Three tasks of one family: the relative's gradient changes between the bottleneck's round and its
// own (here by decree; a campaign's rounds change no other task's). Algorithm 1 sees that, the code
// does not; and the code's foreseen rounds count in no t, so the same relative stays attractive.
static void test_the_artifact_foresees_by_stale_gradients(void **state) {
  (void)state;
  static const seer_scheduler_desc *const policies[] = {
      &seer_scheduler_familyseer, &seer_scheduler_familyseer_artifact};
  for (size_t i = 0; i < SEER_COUNT_OF(policies); i++) {
    fresh();
    tasks[2].family = 0;
    tasks[0].weight = 9;
    tasks[1].weight = 2;
    tasks[2].weight = 1;
    assert_int_equal(next(policies[i]).task, 0);
    tasks[1].best_s = history[1][0].best_s = 0.1e-3;
    seer_pick relative = next(policies[i]);
    assert_true(relative.is_foreseen);
    assert_int_equal(relative.task, i == 0 ? 2 : 1);
    assert_int_equal(relative.n, 16);
    near(tasks[relative.task].t, i == 0 ? 1.25 : 1);
    assert_int_equal(tasks[relative.task].n_history, 2);
  }
  // Literally 16, whatever a round or a share is.
  fresh();
  state_of.round_size = 20;
  state_of.foresee = 0.9;
  tasks[2].weight = 8;
  const step steps[] = {{2, 20, false, 0}, {3, 16, true, 0}, {2, 20, false, 0}, {3, 16, true, 0},
      {2, 20, false, 0}, {3, 16, true, 0}};
  follow(&seer_scheduler_familyseer_artifact, steps, SEER_COUNT_OF(steps));
  near(tasks[3].t, 1);
}

// The control: a quarter round for the second steepest of all, relatives or not.
static void test_ansor_quarter_takes_the_second_steepest(void **state) {
  (void)state;
  fresh();
  tasks[2].weight = 8;
  tasks[0].weight = 3;
  const step steps[] = {
      {2, 64, false, 0},  // 3, 1, 8, 1
      {0, 16, true, 0},  // 3, 1, 4, 1: not 3, its relative
      {2, 64, false, 0},  // 2.4, 1, 4, 1
      {0, 16, true, 0}, {2, 64, false, 0},  // 2, 1, 2.7, 1
      {0, 16, true, 0}, {2, 64, false, 0},  // 1.7, 1, 2, 1
  };
  follow(&seer_scheduler_ansor_quarter, steps, SEER_COUNT_OF(steps));
  near(tasks[0].t, 1.75);
}

static void test_ansor_schedules_families_models(void **state) {
  (void)state;
  static const seer_scheduler_desc *const policies[] = {
      &seer_scheduler_ansor, &seer_scheduler_familyseer_model, &seer_scheduler_familyseer_single};
  for (size_t i = 0; i < SEER_COUNT_OF(policies); i++) {
    fresh();
    tasks[2].weight = 8;
    tasks[0].weight = 3;
    const step steps[] = {{2, 64, false, 0}, {2, 64, false, 0}, {0, 64, false, 0.1e-3},
        {2, 64, false, 0}, {2, 64, false, 0}};
    follow(policies[i], steps, SEER_COUNT_OF(steps));
  }
  static const seer_scheduler_desc *const foreseeing[] = {
      &seer_scheduler_familyseer_foresee, &seer_scheduler_familyseer_warm};
  for (size_t i = 0; i < SEER_COUNT_OF(foreseeing); i++) {
    fresh();
    tasks[2].weight = 8;
    const step steps[] = {{2, 64, false, 0}, {3, 16, true, 0}, {2, 64, false, 0}};
    follow(foreseeing[i], steps, SEER_COUNT_OF(steps));
  }
}

// What policies are besides their picks.
static void test_traits(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool is_published, has_one_model, shares_warm_up;
    const char *grouping, *usual;
  } cases[] = {{"seer", false, true, false, NULL, NULL},
      {"familyseer", true, false, false, NULL, NULL},
      {"familyseer-artifact", true, false, false, NULL, "artifact-op"},
      {"familyseer-model", true, false, false, NULL, NULL},
      {"familyseer-foresee", true, true, false, NULL, NULL},
      {"familyseer-warm", true, false, true, NULL, NULL},
      {"familyseer-single", true, false, false, "single", NULL},
      {"ansor", true, true, false, "all", NULL}, {"ansor-quarter", true, true, false, "all", NULL},
      {"round-robin", false, true, false, NULL, NULL}, {"random", false, true, false, NULL, NULL}};
  assert_int_equal(SEER_COUNT_OF(cases), seer_scheduler_table_count);
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const seer_scheduler_desc *desc = seer_scheduler_table[i];
    const seer_policy_traits *traits = desc->traits;
    assert_string_equal(desc->name, cases[i].name);
    assert_int_equal(traits->has_one_model, cases[i].has_one_model);
    assert_int_equal(traits->shares_warm_up, cases[i].shares_warm_up);
    assert_string_equal(
        desc->grouping ? desc->grouping : "-", cases[i].grouping ? cases[i].grouping : "-");
    assert_string_equal(traits->usual_grouping ? traits->usual_grouping : "-",
        cases[i].usual ? cases[i].usual : "-");
    for (int k = 0; k < 2; k++) {
      const char *name = k ? traits->usual_grouping : desc->grouping;
      const seer_family_desc *grouping;
      if (name) assert_null(seer_family_find(name, &grouping));
    }
    bool is_ours = !cases[i].is_published;
    assert_int_equal(traits->round_size, is_ours ? 16 : 64);
    assert_int_equal(traits->learns_over_estimate, is_ours);
    assert_int_equal(traits->is_raced, is_ours);
    assert_int_equal(traits->has_witnesses, is_ours);
    assert_int_equal(traits->follows_drift, is_ours);
    assert_int_equal(traits->tries_untuned, is_ours);
    assert_int_equal(traits->tries_transfers, is_ours);
    assert_int_equal(traits->learns_beside, is_ours);
    assert_int_equal(traits->counts_rounds, !is_ours);
    assert_ptr_equal(traits->times, is_ours ? NULL : &seer_timing_published);
  }
}

// Ansor counts rounds, and only when more than the patience has passed; ours counts trials.
static void test_patience(void **state) {
  (void)state;
  seer_task_state task = {.t = 3, .t_of_best = 1, .n_trial = 200, .trial_of_best = 72};
  assert_true(seer_task_has_lost_patience(&task, &seer_traits_published, 64, 127));
  assert_false(seer_task_has_lost_patience(&task, &seer_traits_published, 64, 128));
  task.t = 3.25;
  assert_true(seer_task_has_lost_patience(&task, &seer_traits_published, 64, 143));
  assert_false(seer_task_has_lost_patience(&task, &seer_traits_published, 64, 144));
  assert_true(seer_task_has_lost_patience(&task, &seer_traits_seer, 16, 128));
  assert_false(seer_task_has_lost_patience(&task, &seer_traits_seer, 16, 129));
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

static void forget_all(void) {
  fresh();
  for (uint32_t t = 0; t < N; t++) {
    tasks[t].n_trial = tasks[t].n_round = tasks[t].n_history = 0;
    tasks[t].untuned_s = tasks[t].best_s = tasks[t].spent_s = 0;
    tasks[t].estimate_s = t < 2 ? 1e-3 : 1e-5;
  }
  tasks[1].weight = 2;
}

// A round that takes 0.1 s a trial, and finds `best_s`.
static uint32_t spend(double best_s) {
  uint32_t t = next_with(&seer_scheduler_seer, best_s).task;
  tasks[t].spent_s = 0.1 * tasks[t].n_trial;
  return t;
}

// A light task's first look waits for the next rounds of the heavy ones, but not for long, and not
// where something was found for it elsewhere.
static void test_seer_looks_at_light_tasks_later(void **state) {
  (void)state;
  forget_all();
  assert_int_equal(spend(1e-3), 1);
  assert_int_equal(spend(1e-3), 0);
  assert_true(spend(0) < 2);
  uint32_t n = 3;
  for (; tasks[2].n_round == 0 || tasks[3].n_round == 0; n++) {
    assert_true(n < 4 * N);
    uint32_t t = spend(0);
    if (tasks[t].best_s <= 0) tasks[t].best_s = 1e-5;
  }
  assert_true(n > 2 * N);
  forget_all();
  tasks[3].n_queued = 2;
  seer_pick pick = next_with(&seer_scheduler_seer, 1e-5);
  assert_int_equal(pick.task, 3);
  assert_true(pick.n > 2 && !pick.is_foreseen);
  // Estimates of nothing are no reason to look at nothing.
  forget_all();
  for (uint32_t t = 0; t < N; t++) tasks[t].estimate_s = 0;
  seer_pick any;
  assert_true(seer_scheduler_seer.next(&state_of, &any));
}

static void test_seer_tries_what_is_queued_first(void **state) {
  (void)state;
  fresh();
  tasks[3].n_queued = 3;
  seer_pick pick = next(&seer_scheduler_seer);
  assert_int_equal(pick.task, 3);
  assert_int_equal(pick.n, 3);
  assert_false(pick.is_foreseen);  // nobody's relative
}

static void test_nothing_left(void **state) {
  (void)state;
  for (size_t i = 0; i < seer_scheduler_table_count; i++) {
    const seer_scheduler_desc *policy = seer_scheduler_table[i];
    fresh();
    for (uint32_t t = 0; t < N; t++) tasks[t].is_dead = true;
    seer_pick pick;
    assert_false(policy->next(&state_of, &pick));
    assert_true(seer_schedule_is_warm(&state_of));  // nobody waits for the dead
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
  assert_non_null(strstr(seer_status_message(status),
      "seer familyseer familyseer-artifact familyseer-model familyseer-foresee familyseer-warm "
      "familyseer-single ansor ansor-quarter round-robin random"));
  assert_non_null(strstr(seer_status_message(status), "sketch.xgb.family_ind"));
  seer_status_free(status);
}

// The words before the colon of an option's doc are the table's, in its order.
static void doc_has(seer_option option, const char *const *name, size_t n, const char *fallback) {
  char list[256] = "";
  for (size_t i = 0; i < n; i++) strcat(strcat(list, i ? "|" : ""), name[i]);
  const char *doc = seer_option_table[option].doc;
  assert_int_equal(strcspn(doc, ":"), strlen(list));
  assert_memory_equal(doc, list, strlen(list));
  assert_string_equal(seer_option_table[option].fallback, fallback);
}

static void test_options_name_what_the_tables_have(void **state) {
  (void)state;
  const char *names[24];
  for (size_t i = 0; i < seer_scheduler_table_count; i++) names[i] = seer_scheduler_table[i]->name;
  doc_has(SEER_OPT_SEARCH_POLICY, names, seer_scheduler_table_count, *names);
  for (size_t i = 0; i < seer_family_table_count; i++) names[i] = seer_family_table[i]->name;
  doc_has(SEER_OPT_FAMILY, names, seer_family_table_count, *names);
  for (size_t i = 0; i < seer_cost_table_count; i++) names[i] = seer_cost_table[i]->name;
  doc_has(SEER_OPT_COST_MODEL, names, seer_cost_table_count, "");
  for (size_t i = 0; i < seer_measure_table_count; i++) names[i] = seer_measure_table[i]->name;
  doc_has(SEER_OPT_MEASURE, names, seer_measure_table_count, *names);
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
  history[1][0].best_s = 0.9e-6;
  history[2][0].best_s = 0.5e-6;
  assert_true(seer_scheduler_seer.next(&state_of, &pick));
  assert_int_equal(pick.task, 2);
}

// What a task is expected to gain is what the second half of its trials has brought; one whose
// neighbours wait, or which has others' winners to try, counts with a guess; and the network's
// gain weighs them by their latencies.
static void test_expected_gain(void **state) {
  (void)state;
  static double after[64];
  for (int i = 0; i < 64; i++) after[i] = i < 20 ? 1.25e-3 : i < 40 ? 1.1e-3 : 1e-3;
  const seer_policy_traits *seer = &seer_traits_seer, *control = &seer_traits_control;
  fresh();
  for (uint32_t t = 0; t < N; t++) {
    tasks[t].best_after = after;
    tasks[t].is_confirmed = true;
  }
  seer_task_state *task = &tasks[0];
  assert_true(fabs(seer_task_expected_gain(task, seer) - (1 - 1 / 1.1)) < 1e-9);
  for (int i = 20; i < 64; i++) after[i] = 1e-3;
  assert_true(fabs(seer_task_expected_gain(task, seer) - 0.05) < 1e-9);
  task->optimum_s = 1e-3;
  assert_true(seer_task_expected_gain(task, seer) == 0);
  assert_string_equal(seer_task_state_name(task), "optimum");
  task->best_s = 0.995e-3;  // no more than times scatter
  assert_true(seer_task_is_at_optimum(task));
  task->best_s = 0.9e-3;
  assert_true(!seer_task_is_at_optimum(task) && seer_task_expected_gain(task, seer) > 0.09);
  task->best_s = 1e-3;
  task->is_confirmed = false;
  assert_true(seer_task_expected_gain(task, seer) > 0);
  task->is_confirmed = true;
  task->n_queued = 1;
  assert_true(seer_task_expected_gain(task, seer) > 0);
  task->n_queued = 0;
  // Luck that was found out is no loss that goes on; nor is more left than there is to the bound.
  task->best_s = 1.2e-3;
  assert_true(seer_task_expected_gain(task, seer) == 0);
  task->best_s = 1e-3;
  tasks[1].bound_s = 0.96e-3;
  assert_true(fabs(seer_task_expected_gain(&tasks[1], seer) - 0.04) < 1e-9);
  // A policy without neighbours has trials without a gain instead.
  assert_true(seer_task_expected_gain(task, control) > 0);
  task->n_trial = 128;
  static double more[128];
  for (int i = 0; i < 128; i++) more[i] = 1e-3;
  task->best_after = more;
  assert_true(seer_task_expected_gain(task, control) == 0);
  task->trial_of_best = 1;
  assert_true(seer_task_expected_gain(task, control) > 0);
  // Of the network: task 1 weighs a tenth of the rest, which is settled.
  tasks[1].weight = 0.3;
  tasks[2].optimum_s = tasks[3].optimum_s = 1e-3;
  assert_true(fabs(seer_schedule_expected_gain(&state_of, seer) - 0.04 * 0.3 / 3.3) < 1e-9);
  tasks[1].is_done = true;  // it is not gone on with
  assert_true(seer_schedule_expected_gain(&state_of, seer) == 0);
  tasks[2].best_s = 0;
  assert_true(seer_schedule_expected_gain(&state_of, seer) == 1);
  tasks[2].is_dead = true;
  assert_true(seer_schedule_expected_gain(&state_of, seer) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ansor_warms_up_then_takes_the_heaviest),
      cmocka_unit_test(test_gradients_by_hand),
      cmocka_unit_test(test_a_quarter_round_counts_as_a_quarter),
      cmocka_unit_test(test_ties_are_drawn), cmocka_unit_test(test_familyseer_step_by_step),
      cmocka_unit_test(test_the_artifact_foresees_by_stale_gradients),
      cmocka_unit_test(test_ansor_quarter_takes_the_second_steepest),
      cmocka_unit_test(test_ansor_schedules_families_models), cmocka_unit_test(test_traits),
      cmocka_unit_test(test_patience), cmocka_unit_test(test_seer_leaves_saturated_tasks_alone),
      cmocka_unit_test(test_seer_tries_what_is_queued_first),
      cmocka_unit_test(test_seer_looks_at_light_tasks_later), cmocka_unit_test(test_nothing_left),
      cmocka_unit_test(test_round_robin_takes_turns),
      cmocka_unit_test(test_random_takes_any_open_task),
      cmocka_unit_test(test_foreign_names_say_policy_grouping_and_model),
      cmocka_unit_test(test_options_name_what_the_tables_have),
      cmocka_unit_test(test_a_beaten_bound_is_none), cmocka_unit_test(test_expected_gain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
