// For random DAGs, random schedules and made-up processors: the vector code that is made of them
// passes its verifier, its text form comes back as it was, and the interpreter finds no fault in it
// and gives what the interpreter of the DAG gives, to the bit. Faults that are planted in the
// finished code are caught by one of them, or give a wrong answer.
// SEER_TEST: timeout=300 cost=25
#include <string.h>

#include "code/gen/generate.h"
#include "support/random_programs.h"
#include "support/test.h"
#include "support/test_target.h"
#include "vector_faults.h"
#include "vector_machines.h"

#define N_PAIRS 400  // and more while a quota is not met
#define QUOTA 3
#define N_FAULTY_PAIRS 400  // and more, until each fault was found often enough

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
  how.coverage = NULL;
  how.space = SEER_SPACE_ANSOR;
  how.only = "rfactor@";
  random_programs_check(&how, "reductions in two", 1, N_PAIRS / 2);
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

// ---- vectors that are a loop, and end inside of one

static seer_dag *squares(seer_arena *arena) {
  seer_dag *dag = seer_dag_create(arena, "squares");
  const int64_t dim[1] = {139};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 1, 0);
  const seer_dag_axis axis = {"i", 139, SEER_AXIS_OTHER};
  uint32_t stage = seer_dag_add_stage(dag, "y", SEER_STAGE_EPILOGUE, &axis, 1, 0);
  seer_expr at = seer_dag_var(dag, stage, 0), value = seer_dag_load(dag, x, &at);
  seer_expr body = seer_expr_binary(&dag->expr, SEER_EXPR_MUL, value, value);
  seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, dag->stage[stage].out[0], 0);
  must(seer_dag_verify(dag));
  seer_dag_finish(dag);
  return dag;
}

// The loops of random DAGs are too short for more vectors than are written out one by one. Here
// the second part ends one element into a vector, in its middle, and one before its end.
static void loops_of_vectors_end_inside_of_one(void **state) {
  (void)state;
  static const int parts[] = {138, 137, 136, 90, 73, 70};
  seer_arena *arena = seer_arena_create("test");
  const seer_tile_machine *machine = &vector_machines[0].tile;
  seer_target target = test_target_with(machine->vector_bytes, machine->n_vector_registers);
  seer_sketch_list *list;
  must(seer_sketch_generate(squares(arena), &target, SEER_SPACE_FULL, arena, &list));
  random_program p = {.expect = loop_expect_make(list, 1, arena), .sketch = list->sketch[0]};
  for (size_t k = 0; k < SEER_COUNT_OF(parts); k++) {
    const char *text = seer_arena_printf(arena,
        "loop squares {\n  output $y f32[139] of 1\n  input $x f32[139] of 0\n  phase {\n"
        "    parallel @p < 2 stage 0 {\n      vector @v < %d stage 0 bound @p * -%d + 139 {\n"
        "        store $y[@p * %d + @v] stage 0 = $x[@p * %d + @v] * $x[@p * %d + @v]\n"
        "      }\n    }\n  }\n}\n",
        parts[k], parts[k], parts[k], parts[k], parts[k]);
    must(seer_loop_parse("squares", text, strlen(text), arena, &p.loop));
    const seer_tile *tile = seer_tile_create(p.loop, machine, arena);
    uint32_t n_long = 0;
    for (uint32_t id = 1; id < p.loop->n_node; id++)
      n_long += tile->of[id].is_chunk_loop && !tile->of[id].is_exact;
    assert_int_equal(n_long, 1);
    const char *wrong = check(NULL, &p, arena);
    if (wrong) fail_msg("%s", wrong);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_gives_what_the_dag_gives),
      cmocka_unit_test(loops_of_vectors_end_inside_of_one),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
