// The main property: for random DAGs and random schedules, running the loops gives what the
// interpreter of the DAG gives, to the bit. Also: verify holds, print -> parse -> print is a
// fixpoint, every rule, knob kind, tail, location and DAG kind was met often enough, and every
// planted fault is caught.
// SEER_TEST: timeout=300 cost=20

#include <string.h>

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

// Of the space ansor: reductions whose axes are one that is in two, of lengths that are drawn
// (rule/rfactor.c). Each kind of length is met; `n_crossed`: neither divides an inner axes' product
// nor is a multiple of it, so that an axis is the quotient of a sum.
typedef struct {
  trial trial;
  uint64_t n_ones, n_wholes, n_others, n_two, n_crossed, n_args;
} split_trial;

static bool is_crossed(const seer_dag *dag, const char *name, int64_t inner) {
  int64_t product = 1;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    for (uint32_t a = stage->n_reduce; a-- > 0 && strcmp(stage->name, name) == 0;) {
      product *= stage->axis[stage->n_space + a].extent;
      if (product % inner != 0 && inner % product != 0) return true;
    }
  }
  return false;
}

static const char *check_split(void *user, const random_program *p, seer_arena *arena) {
  split_trial *t = user;
  for (uint32_t k = 0; k < p->sketch->n_split; k++) {
    uint32_t knob = p->sketch->split_knob[k], whole = p->sketch->knob[knob].stage;
    const seer_dag_stage *parts = &p->sketch->dag->stage[whole - 1];
    int64_t inner = p->sketch->knob[knob].number[p->schedule->knob[knob]],
            space_axis = parts->axis[parts->n_space - 1].extent,
            reduce_axis = parts->axis[parts->n_space].extent;
    if (inner != space_axis && inner != reduce_axis) return "another length";
    t->n_ones += inner == 1;
    t->n_wholes += inner == space_axis * reduce_axis;
    t->n_others += inner > 1 && inner < space_axis * reduce_axis;
    const char *name = p->sketch->dag->stage[whole].name;
    t->n_crossed += is_crossed(p->expect->list->dag, name, inner);
    t->n_args += seer_combiner_is_arg(parts->combiner);
  }
  t->n_two += p->sketch->n_split > 1;
  return check(&t->trial, p, arena);
}

static void reductions_in_two_equal_dag(void **state) {
  (void)state;
  split_trial t = {.trial = {.fault = SEER_LOWER_FAULT_NONE}};
  random_programs how = programs(&t.trial);
  how.space = SEER_SPACE_ANSOR;
  how.only = "rfactor@";
  how.check = check_split;
  how.user = &t;
  uint64_t n = random_programs_check(&how, "reductions in two", 1, N_PAIRS / 2);
  print_message("%" PRIu64 " of length 1, %" PRIu64 " of all, %" PRIu64 " others, %" PRIu64
                " across axes; %" PRIu64 " programs with two such reductions, %" PRIu64
                " of places\n",
      t.n_ones, t.n_wholes, t.n_others, t.n_crossed, t.n_two, t.n_args);
  assert_true(t.n_ones >= n / 20 && t.n_wholes >= n / 20 && t.n_others >= n / 5);
  assert_true(t.n_crossed >= QUOTA && t.n_two >= QUOTA && t.n_args >= QUOTA);
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
      cmocka_unit_test(reductions_in_two_equal_dag),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
