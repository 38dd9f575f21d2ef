// Random schedules of products of bytes for a made-up processor that multiplies matrices: the
// vector code that is made of them passes its verifier, its interpreter finds no fault in it and
// gives what the direct DAG gives; matrices, tails of other shapes and tiles that are left to
// vectors were all met.
// SEER_TEST: timeout=300
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "code/gen/generate.h"
#include "space/lower.h"
#include "support/byte_net.h"
#include "support/count.h"
#include "support/loop_check.h"
#include "support/test.h"

#define TARGET \
  "x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vnni,+amx-tile,+amx-int8 -threads=2"
#define N_SAMPLES 12

static const byte_net nets[] = {
    {.n = 1, .h = 1, .w = 21, .ic = 96, .oc = 40, .has_epilogue = true},
    {.n = 1, .h = 1, .w = 32, .ic = 64, .oc = 32, .is_last = true, .has_epilogue = true},
    {.n = 1, .h = 14, .w = 14, .ic = 48, .oc = 16, .zero = 5, .has_epilogue = true},
    {.n = 1,
        .h = 7,
        .w = 7,
        .ic = 64,
        .oc = 32,
        .window = 3,
        .pad = 1,
        .zero = 131,
        .has_epilogue = true},
    {.n = 1, .h = 9, .w = 18, .ic = 32, .oc = 24, .window = 3, .pad = 1, .stride = 2, .zero = 77},
    {.n = 1, .h = 6, .w = 8, .ic = 24, .oc = 16, .is_signed = true, .zero = -3},
    // words along channels lie apart: no matrices
    {.n = 1, .h = 4, .w = 16, .ic = 64, .oc = 16, .is_nchw = true},
};

typedef struct {
  uint32_t n, n_matrices, n_shapes, n_vectors, n_cleared;
} seen;

static void check(const seer_gen_machine *machine, const loop_expect *expect,
    const seer_schedule *schedule, uint64_t seed, seen *s) {
  seer_arena *arena = seer_arena_create("candidate");
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  seer_loop *loop = NULL;
  seer_vec_code *code = NULL;
  seer_rng rng;
  seer_rng_init(&rng, seed);
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  must(seer_tile_verify(seer_tile_create(loop, &machine->tile, arena)));
  must(seer_gen_code(loop, machine, "kernel", arena, &code));
  must(seer_vec_verify(code));
  const char *text = seer_vec_print(code, arena);
  bool has_matrices = count_words(text, "matrix_dot4") > 0;
  s->n++;
  s->n_matrices += has_matrices;
  s->n_shapes += code->n_shapes > 1;
  s->n_cleared += count_words(text, "matrix_zero") > 0;
  s->n_vectors += has_matrices && count_words(text, "= dot4 ") > 0;
  void **data = loop_expect_data(expect, sketch, loop, arena);
  seer_status status = seer_vec_eval(code, data, &rng);
  const char *wrong =
      status ? seer_status_message(status) : loop_expect_compare(expect, sketch, loop, data, arena);
  if (wrong)
    fail_msg("%s\n%s\n%s", wrong, seer_schedule_print(expect->list, schedule, arena), text);
  seer_arena_destroy(arena);
}

static void check_all(
    const seer_target *target, const seer_dag *dag, uint64_t seed, seer_arena *arena, seen *s) {
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  const loop_expect *expect = loop_expect_make(list, seed, arena);
  seer_gen_machine machine = seer_gen_machine_of(target);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t k = 0; k < list->n; k++) {
    if (strcmp(list->sketch[k]->formulation, "dot4") != 0) continue;
    seer_schedule schedule;
    seer_schedule_default(list, k, &schedule);
    check(&machine, expect, &schedule, k, s);
    for (uint32_t n = 0; n < N_SAMPLES; n++) {
      if (seer_schedule_sample(list, k, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      check(&machine, expect, &schedule, k * 100 + n, s);
    }
  }
}

static void each_net(void **state) {
  (void)state;
  seen s = {0};
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse(TARGET, arena, &target));
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++)
    check_all(&target, byte_net_build(&nets[k], arena), k + 1, arena, &s);
  printf(
      "%u schedules: %u with matrices, %u of several shapes, %u with vectors beside them, %u "
      "cleared\n",
      s.n, s.n_matrices, s.n_shapes, s.n_vectors, s.n_cleared);
  assert_true(s.n_matrices >= s.n / 4);
  assert_true(s.n_shapes >= 3);
  assert_true(s.n_vectors >= 3);
  assert_true(s.n_cleared >= 3 && s.n_cleared < s.n_matrices);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_net)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
