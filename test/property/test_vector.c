// For random DAGs, random schedules and made-up processors: the vector code that is made of them
// passes its verifier, its text form comes back as it was, and the interpreter finds no fault in it
// and gives what the interpreter of the DAG gives, to the bit. Faults that are planted in the
// finished code are caught by one of them, or give a wrong answer.
// SEER_TEST: timeout=300
#include <string.h>

#include "code/gen/generate.h"
#include "support/random_programs.h"
#include "support/test.h"
#include "support/test_target.h"
#include "vector_faults.h"
#include "vector_machines.h"

#define N_PAIRS 600
#define QUOTA 3
#define N_FAULTY_PAIRS 1000

static const char *failed(seer_status status, const char *what, seer_arena *arena) {
  const char *message = seer_arena_printf(arena, "%s: %s", what, seer_status_message(status));
  seer_status_free(status);
  return message;
}

// Verified, printed, parsed and printed again.
static const char *check_text(const seer_vec_code *code, seer_arena *arena) {
  const char *text = seer_vec_print(code, arena);
  seer_vec_code *again;
  seer_status status = seer_vec_verify(code);
  if (status) return failed(status, "verify", arena);
  status = seer_vec_parse("printed", text, strlen(text), code->loop, arena, &again);
  if (status) return failed(status, "parse", arena);
  status = seer_vec_verify(again);
  if (status) return failed(status, "verify what was parsed", arena);
  return strcmp(seer_vec_print(again, arena), text) == 0 ? NULL : "another text after parsing";
}

static const char *check_answer(
    const random_program *p, const seer_vec_code *code, seer_arena *arena) {
  void **data = loop_expect_data(p->expect, p->sketch, code->loop, arena);
  seer_rng rng;
  seer_rng_init(&rng, p->draw);
  seer_status status = seer_vec_eval(code, data, &rng);
  if (status) return failed(status, "eval", arena);
  return loop_expect_compare(p->expect, p->sketch, code->loop, data, arena);
}

// How a fault shows.
static vector_fault_found find_fault(void *user, const seer_vec_code *code, seer_arena *arena) {
  const random_program *p = user;
  seer_status status = seer_vec_verify(code);
  if (status) {
    seer_status_free(status);
    return VECTOR_FAULT_VERIFY;
  }
  const char *wrong = check_answer(p, code, arena);
  if (!wrong) return VECTOR_FAULT_NOT_FOUND;
  return strncmp(wrong, "eval", 4) == 0 ? VECTOR_FAULT_EVAL : VECTOR_FAULT_ANSWER;
}

// `user`: the tally of faults, or NULL, and none are planted.
static const char *check(void *user, const random_program *p, seer_arena *arena) {
  seer_vec_code *code;
  seer_status status = seer_gen_code(p->loop, &vector_machines[p->target], "kernel", arena, &code);
  if (status) return failed(status, "generate", arena);
  const char *wrong = check_text(code, arena);
  if (!wrong) wrong = check_answer(p, code, arena);
  if (wrong) return seer_arena_printf(arena, "%s\n%s", wrong, seer_vec_print(code, arena));
  if (user) vector_faults_plant(user, code, p->draw, find_fault, (void *)p);
  return NULL;
}

static bool faults_lack(const void *user) { return vector_faults_lack(user); }

static random_programs programs(seer_arena *arena) {
  const uint32_t n = SEER_COUNT_OF(vector_machines);
  seer_target *targets = SEER_NEW_ARRAY(arena, seer_target, n);
  for (uint32_t k = 0; k < n; k++) {
    const seer_tile_machine *tile = &vector_machines[k].tile;
    targets[k] = test_target_with(tile->vector_bytes, tile->n_vector_registers);
  }
  return (random_programs){.targets = targets,
      .n_targets = n,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 2,
      .check = check};
}

static void code_gives_what_the_dag_gives(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  random_programs how = programs(arena);
  how.coverage = SEER_NEW(arena, loop_coverage);
  how.quota = QUOTA;
  random_programs_check(&how, "vector code", 1, N_PAIRS);
  seer_arena_destroy(arena);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  vector_fault_tally *tally = vector_fault_tally_create(arena);
  random_programs how = programs(arena);
  how.user = tally;
  how.lacks = faults_lack;
  random_programs_check(&how, "faults", 1000001, N_FAULTY_PAIRS);
  vector_faults_check(tally);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_gives_what_the_dag_gives),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
