// What a statement touches of a buffer: against the definition (decisions 4), and never less than
// what enumerating the loops counts.
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "space/nest.h"
#include "support/test.h"

#define MAX_DIM 40

static int64_t gcd(int64_t a, int64_t b) { return b == 0 ? a : gcd(b, a % b); }

static void draw(seer_rng *rng, seer_nest_statement *st, seer_nest_access *access) {
  memset(st, 0, sizeof *st);
  memset(access, 0, sizeof *access);
  st->n_loop = (uint8_t)seer_rng_range(rng, 0, 5);
  access->rank = (uint8_t)seer_rng_range(rng, 1, 3);
  access->elem_bytes = 4;
  for (uint32_t d = 0; d < access->rank; d++) {
    access->dim[d] = seer_rng_range(rng, 1, MAX_DIM);
    access->span[d] = (uint16_t)(seer_rng_chance(rng, 0.2) ? seer_rng_range(rng, 1, 3) : 1);
  }
  for (uint32_t l = 0; l < st->n_loop; l++) {
    st->loop[l].extent = seer_rng_range(rng, 1, 5);
    bool moves = seer_rng_chance(rng, 0.8);
    access->loop_dim[l] =
        moves ? (uint8_t)seer_rng_below(rng, access->rank) : (uint8_t)SEER_NEST_NO_DIM;
    access->loop_coef[l] = moves ? (int32_t)seer_rng_range(rng, -6, 6) : 0;
  }
}

// min(N, product of the extents that move it, 1 + sum |c| / g (e - 1)), by dimension.
static double defined(
    const seer_nest_statement *st, const seer_nest_access *access, uint32_t depth) {
  double touched = 1;
  for (uint32_t d = 0; d < access->rank; d++) {
    double product = access->span[d], span = access->span[d];
    int64_t g = access->span[d] > 1;
    for (uint32_t l = depth; l < st->n_loop; l++) {
      if (access->loop_dim[l] == d) g = gcd(g, llabs(access->loop_coef[l]));
    }
    for (uint32_t l = depth; l < st->n_loop; l++) {
      if (access->loop_dim[l] != d || access->loop_coef[l] == 0) continue;
      product *= (double)st->loop[l].extent;
      span += (double)(llabs(access->loop_coef[l]) / g * (st->loop[l].extent - 1));
    }
    double n = product < span ? product : span;
    touched *= n < (double)access->dim[d] ? n : (double)access->dim[d];
  }
  return touched;
}

// Distinct indices of dimension d that the loops from `depth` inwards reach, at most the dimension.
static double counted(
    const seer_nest_statement *st, const seer_nest_access *access, uint32_t depth, uint32_t d) {
  static uint8_t seen[4096];
  memset(seen, 0, sizeof seen);
  uint32_t iterations = 1, n = 0;
  for (uint32_t l = depth; l < st->n_loop; l++) iterations *= (uint32_t)st->loop[l].extent;
  for (uint32_t i = 0; i < iterations; i++) {
    int64_t at = 2048;
    uint32_t rest = i;
    for (uint32_t l = depth; l < st->n_loop; l++) {
      if (access->loop_dim[l] == d)
        at += access->loop_coef[l] * (int64_t)(rest % (uint32_t)st->loop[l].extent);
      rest /= (uint32_t)st->loop[l].extent;
    }
    for (int64_t k = 0; k < access->span[d]; k++) {
      n += !seen[at + k];
      seen[at + k] = 1;
    }
  }
  return n < access->dim[d] ? n : (double)access->dim[d];
}

static void test_against_definition_and_count(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 11);
  uint32_t n_equal = 0, n_total = 0;
  for (int i = 0; i < 4000; i++) {
    seer_nest_statement st;
    seer_nest_access access;
    draw(&rng, &st, &access);
    double by_depth[SEER_NEST_MAX_LOOPS + 1];
    seer_nest_touched_by_depth(&st, &access, by_depth);
    for (uint32_t depth = 0; depth <= st.n_loop; depth++) {
      double want = defined(&st, &access, depth), count = 1;
      for (uint32_t d = 0; d < access.rank; d++) count *= counted(&st, &access, depth, d);
      assert_true(by_depth[depth] == want);
      assert_true(seer_nest_touched(&st, &access, depth) == want);
      assert_true(count <= want);
      n_equal += count == want;
      n_total++;
    }
  }
  assert_true(n_equal > n_total / 2);  // and mostly it is exact
}

static void test_packed_and_whole(void **state) {
  (void)state;
  seer_nest_statement st = {.n_loop = 3};
  seer_nest_access access = {.rank = 1, .dim = {7}, .span = {1}};
  for (uint32_t l = 0; l < 3; l++) {
    st.loop[l].extent = (int64_t)l + 2;
    access.loop_dim[l] = l == 1 ? (uint8_t)SEER_NEST_NO_DIM : 0;
    access.loop_coef[l] = l == 1 ? 0 : 1;
  }
  access.storage = SEER_NEST_PACKED;  // 2 and 4 are dimensions of the packing
  assert_true(seer_nest_touched(&st, &access, 0) == 8);
  assert_true(seer_nest_touched(&st, &access, 2) == 4);
  access.storage = SEER_NEST_ARG;
  access.is_whole = true;
  assert_true(seer_nest_touched(&st, &access, 3) == 1);  // an element an iteration, anywhere
  assert_true(seer_nest_touched(&st, &access, 2) == 4);
  assert_true(seer_nest_touched(&st, &access, 0) == 7);  // of 24 iterations
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_definition_and_count), cmocka_unit_test(test_packed_and_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
