// Policies on made-up histories: who gets the next round, and why.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tune/scheduler.h"

enum { N = 4 };
static seer_task_state tasks[N];
static double history[N][8];
static seer_schedule_state state_of;

// Tasks 0 and 1 are one family, 2 and 3 another; every one has had its first round.
static seer_schedule_state *fresh(void) {
  memset(tasks, 0, sizeof tasks);
  for (uint32_t t = 0; t < N; t++) {
    tasks[t] = (seer_task_state){.weight = 1,
        .flops = 1e6,
        .bound_s = 1e-6,
        .default_s = 1e-3,
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ansor_warms_up_then_takes_the_heaviest),
      cmocka_unit_test(test_familyseer_foresees),
      cmocka_unit_test(test_seer_leaves_saturated_tasks_alone),
      cmocka_unit_test(test_seer_tries_relatives_winners_first),
      cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_round_robin_takes_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
