// test_items_oclgrind.c - small random schedules of random DAGs for GPUs under Oclgrind: of those
// of every kind of sketch it says nothing, and they come to what the DAG's interpreter gives.
//
// SEER_PROPERTY_PAIRS=n runs so many in place of 100.
// SEER_TEST: timeout=300 labels=full
#include <stdlib.h>

#include "space/items/items.h"
#include "support/drawn_kernels.h"
#include "support/oclgrind.h"
#include "support/test.h"

#define N_KERNELS 100
#define MOST_ITEMS 3000  // of all blocks and phases: it runs them one by one
#define MOST_NODES 1000

typedef struct {
  uint32_t n, most;
  uint32_t n_dealt;  // with nothing but elements dealt out
  drawn_kinds kinds;
} drawn;

static bool lacks(const void *user) {
  const drawn *d = user;
  return d->n < d->most;
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
  drawn *d = user;
  const char *wrong;
  bool is_dealt = !drawn_has(p, DRAWN_TILE) && !drawn_has(p, DRAWN_CROSSTHREAD);
  if (d->n == d->most || (is_dealt && d->n_dealt * 4 > d->n)) return NULL;
  seer_vec_code *code = drawn_code(p, "f", arena, &wrong);
  if (!code || !is_small(p, code)) return wrong;
  void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  d->n++;
  d->n_dealt += is_dealt;
  drawn_kinds_note(&d->kinds, p);
  const char *said = oclgrind_said(code, data, compare, p, arena);
  return said[0] == '\0' ? NULL : said;
}

static void nothing_is_said(void **state) {
  (void)state;
  const char *wanted = getenv("SEER_PROPERTY_PAIRS");
  seer_arena *arena = seer_arena_create("target");
  seer_target target;
  must(seer_target_parse("opencl:generic", arena, &target));
  drawn d = {.most = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : N_KERNELS};
  random_programs how = {.targets = &target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 1,
      .check = check,
      .user = &d,
      .lacks = lacks};
  random_programs_check(&how, "oclgrind", 40000, d.most);
  drawn_kinds_check(&d.kinds, d.most / 10);
  assert_int_equal(d.n, d.most);
  seer_arena_destroy(arena);
}

int main(void) {
  if (!oclgrind_begin(SEER_BUILD_DIR "/test/oclgrind-drawn.log")) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
