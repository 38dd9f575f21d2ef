// The main property: for random DAGs and random schedules, running the loops gives what the
// interpreter of the DAG gives, to the bit. Also: verify holds, print -> parse -> print is a
// fixpoint, every rule, knob kind, tail, location and DAG kind was met often enough, and every
// planted fault is caught.
// SEER_TEST: timeout=300 cost=20

#include "support/random_programs.h"
#include "support/test.h"
#include "support/test_target.h"

#define N_PAIRS 3000
#define MAX_PAIRS_FOR_A_FAULT 1000
#define QUOTA 20

typedef struct {
  seer_lower_fault fault;
  uint64_t n_planted;
} trial;

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  trial *t = user;
  bool was_planted;
  const char *wrong = loop_check(p->expect, p->schedule, t->fault, p->draw, arena, &was_planted);
  t->n_planted += was_planted;
  return wrong;
}

static random_programs programs(trial *t) {
  return (random_programs){.targets = &test_target_narrow,
      .n_targets = 1,
      .max_sketches = 3,
      .has_default = true,
      .n_samples = 2,
      .has_children = true,
      .check = check,
      .user = t};
}

static void loops_equal_dag(void **state) {
  (void)state;
  static loop_coverage c;
  trial t = {.fault = SEER_LOWER_FAULT_NONE};
  random_programs how = programs(&t);
  how.coverage = &c;
  how.quota = QUOTA;
  random_programs_check(&how, "loops", 1, N_PAIRS);
  assert_true(c.mutated >= QUOTA && c.crossed >= QUOTA);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  for (int fault = SEER_LOWER_FAULT_NONE + 1; fault < SEER_LOWER_FAULT_COUNT; fault++) {
    trial t = {.fault = (seer_lower_fault)fault};
    const random_programs how = programs(&t);
    uint64_t n = random_programs_until_wrong(&how, 1, MAX_PAIRS_FOR_A_FAULT);
    const char *name = seer_lower_fault_name(t.fault);
    if (n == 0) fail_msg("fault %s is not caught, planted in %" PRIu64, name, t.n_planted);
    print_message(
        "%s: caught after %" PRIu64 " pairs, planted in %" PRIu64 "\n", name, n, t.n_planted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_equal_dag),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
