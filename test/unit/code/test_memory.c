// The static memory plan: blocks alive together never overlap, alignment, reuse, and close to the
// lower bound.
#include <string.h>

#include "base/rng.h"
#include "code/build/internal.h"
#include "support/test.h"

static uint64_t check(const seer_memory_block *blocks, uint32_t n, uint64_t total) {
  uint64_t lower = 0;
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(blocks[i].offset % SEER_PLAN_ALIGN, 0);
    assert_true(blocks[i].offset + blocks[i].n_bytes <= total);
    for (uint32_t k = 0; k < i; k++) {
      if (blocks[i].last < blocks[k].first || blocks[i].first > blocks[k].last) continue;
      assert_true(blocks[i].offset + blocks[i].n_bytes <= blocks[k].offset ||
          blocks[k].offset + blocks[k].n_bytes <= blocks[i].offset);
    }
  }
  for (uint32_t step = 0; step < 300; step++) {
    uint64_t alive = 0;
    for (uint32_t i = 0; i < n; i++)
      if (blocks[i].first <= step && step <= blocks[i].last)
        alive += (blocks[i].n_bytes + 63) / 64 * 64;
    if (alive > lower) lower = alive;
  }
  return lower;
}

// t0 -> t1 -> t2 ...: two buffers in turn, the two largest neighbours together.
static void chain(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_memory_block blocks[6];
  const uint64_t bytes[6] = {1000, 4000, 4000, 100, 2000, 64};
  for (uint32_t i = 0; i < 6; i++) blocks[i] = (seer_memory_block){bytes[i], i, i + 1, 99};
  uint64_t total = seer_memory_place(blocks, 6, arena);
  assert_int_equal(check(blocks, 6, total), 2 * 4032);
  assert_int_equal(total, 2 * 4032);
  assert_int_equal(seer_memory_place(blocks, 0, arena), 0);
  seer_arena_destroy(arena);
}

static void random_lives(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_rng rng;
  seer_rng_init(&rng, 3);
  double sum = 0;
  for (int round = 0; round < 200; round++) {
    seer_memory_block blocks[200], again[200];
    uint32_t n = (uint32_t)seer_rng_range(&rng, 1, 200);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t first = (uint32_t)seer_rng_below(&rng, 200);
      uint32_t last = first +
          (uint32_t)(seer_rng_chance(&rng, 0.8) ? 1 + seer_rng_below(&rng, 3)
                                                : seer_rng_below(&rng, 60));
      blocks[i] = (seer_memory_block){
          (uint64_t)seer_rng_range(&rng, 1, 1 << seer_rng_range(&rng, 4, 20)), first, last, 0};
    }
    memcpy(again, blocks, sizeof blocks);
    uint64_t total = seer_memory_place(blocks, n, arena);
    uint64_t lower = check(blocks, n, total);
    sum += (double)total / (double)lower;
    assert_int_equal(seer_memory_place(again, n, arena), total);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(again[i].offset, blocks[i].offset);
    seer_arena_reset(arena);
  }
  assert_true(sum / 200 < 1.1);  // on average within a tenth of what is alive at once
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chain), cmocka_unit_test(random_lives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
