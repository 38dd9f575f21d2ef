// test_items_oclgrind.c - small random schedules of random DAGs for GPUs under Oclgrind: of those
// of every kind of sketch it says nothing, and they come to what the DAG's interpreter gives; of
// faults it says something.
//
// SEER_PROPERTY_PAIRS=n runs so many in place of 100.
// SEER_TEST: timeout=300 labels=full
#include "space/items/items.h"
#include "support/drawn_faults.h"
#include "support/drawn_kernels.h"
#include "support/oclgrind.h"
#include "support/test.h"

#define N_KERNELS 100
#define N_FAULTS 24
#define MOST_ITEMS 3000  // of all blocks and phases: it runs them one by one
#define MOST_NODES 1000

static bool lacks(const void *user) {
  const drawn_choice *choice = user;
  return choice->n < choice->most;
}

static const char *compare(const void *user, void *const *data, seer_arena *arena) {
  const random_program *p = user;
  return loop_expect_compare(p->expect, p->sketch, p->loop, data, arena);
}

static bool is_small(const random_program *p, const seer_vec_code *code) {
  int64_t items = 0;
  for (uint32_t r = 0; r < p->loop->n_phase; r++)
    items += seer_items_of_phase(p->loop, r) * seer_loop_phase_parts(p->loop, r);
  return items <= MOST_ITEMS && code->n <= MOST_NODES;
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  drawn_choice *choice = user;
  const char *wrong = NULL;
  seer_vec_code *code = drawn_wants(choice, p) ? drawn_code(p, "f", arena, &wrong) : NULL;
  if (!code || !is_small(p, code)) return wrong;
  void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  drawn_take(choice, p);
  const char *said = oclgrind_said(code, data, compare, p, arena);
  return said[0] == '\0' ? NULL : said;
}

static void nothing_is_said(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("target");
  seer_target target;
  must(seer_target_parse("opencl:generic", arena, &target));
  drawn_choice choice = drawn_choose(N_KERNELS);
  random_programs how = {.targets = &target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 1,
      .check = check,
      .user = &choice,
      .lacks = lacks};
  random_programs_check(&how, "oclgrind", 40000, DRAWN_OF * N_KERNELS);
  drawn_check(&choice);
  seer_arena_destroy(arena);
}

// What the interpreter of vector code refuses: a barrier that is missing, a fetch that is short.
static const char *check_fault(void *user, const random_program *p, seer_arena *arena) {
  static const drawn_fault faults[] = {
      DRAWN_FAULT_NO_BARRIER, DRAWN_FAULT_HALF_FETCH, DRAWN_FAULT_SHORT_FETCH};
  drawn_choice *choice = user;
  random_program faulty = *p;
  const char *wrong;
  seer_rng rng;
  seer_rng_init(&rng, p->draw);
  if (choice->n == choice->most) return NULL;
  faulty.loop = drawn_fault_plant(faults[choice->n % SEER_COUNT_OF(faults)], p, &rng, arena);
  seer_vec_code *code = faulty.loop ? drawn_code(&faulty, "f", arena, &wrong) : NULL;
  if (!code || !is_small(p, code)) return NULL;
  void **data = loop_expect_data(p->expect, p->sketch, faulty.loop, arena);
  seer_status status = seer_vec_eval(code, data, &rng);
  if (!status) return NULL;
  const char *says = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
  drawn_take(choice, p);
  data = loop_expect_data(p->expect, p->sketch, faulty.loop, arena);
  if (oclgrind_said(code, data, NULL, NULL, arena)[0] != '\0') return NULL;
  return seer_arena_printf(arena, "it says nothing of: %s", says);
}

static void faults_are_seen(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("target");
  seer_target target;
  must(seer_target_parse("opencl:generic", arena, &target));
  drawn_choice choice = {.most = N_FAULTS};
  random_programs how = {.targets = &target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 1,
      .check = check_fault,
      .user = &choice,
      .lacks = lacks};
  random_programs_check(&how, "faults under oclgrind", 41000, 10 * N_FAULTS);
  assert_int_equal(choice.n, N_FAULTS);
  seer_arena_destroy(arena);
}

int main(void) {
  if (!oclgrind_begin(SEER_BUILD_DIR "/test/oclgrind-drawn.log")) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_said), cmocka_unit_test(faults_are_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
