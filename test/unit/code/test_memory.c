// The static memory plan: blocks alive together never overlap, alignment, reuse, and close to the
// lower bound.
#include <string.h>

#include "base/rng.h"
#include "code/plan/internal.h"
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
  uint64_t total = seer_memory_place(blocks, 6, 1, arena);
  assert_int_equal(check(blocks, 6, total), 2 * 4032);
  assert_int_equal(total, 2 * 4032);
  assert_int_equal(seer_memory_place(blocks, 0, 2, arena), 0);
  seer_arena_destroy(arena);
}

static void random_lives(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_rng rng;
  seer_rng_init(&rng, 3);
  double sum = 0;
  uint32_t n_less = 0;
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
    uint64_t total = seer_memory_place(blocks, n, 1, arena);
    uint64_t lower = check(blocks, n, total);
    sum += (double)total / (double)lower;
    assert_int_equal(seer_memory_place(again, n, 1, arena), total);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(again[i].offset, blocks[i].offset);
    uint32_t n_threads = 2 + (uint32_t)round % 3;
    uint64_t moved = seer_memory_moved(blocks, n, n_threads, arena),
             shared = seer_memory_place(again, n, n_threads, arena);
    check(again, n, shared);
    assert_true(shared <= total * 3 / 2);
    assert_true(seer_memory_moved(again, n, n_threads, arena) <= moved);
    n_less += seer_memory_moved(again, n, n_threads, arena) < moved / 2;
    seer_arena_reset(arena);
  }
  assert_true(n_less > 10);  // half as much moves, of random lives
  assert_true(sum / 200 < 1.1);  // on average within a tenth of what is alive at once
  seer_arena_destroy(arena);
}

// A large tensor and a small one by turns: beside each other's edges half of the small one's memory
// is the other thread's; around one middle nothing is.
static void threads_keep_their_bytes(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_memory_block blocks[4];
  const uint64_t bytes[4] = {6400, 6400, 1280, 1280};
  for (uint32_t i = 0; i < 4; i++) blocks[i] = (seer_memory_block){bytes[i], i, i + 1, 0};
  assert_int_equal(seer_memory_place(blocks, 4, 1, arena), 2 * 6400);
  // Thread 0's half of a small one is its own; thread 1's lies in thread 0's half of a large one,
  // and next time the other way round.
  assert_int_equal(seer_memory_moved(blocks, 4, 2, arena), 4 * 640);
  assert_int_equal(seer_memory_moved(blocks, 4, 1, arena), 0);
  assert_int_equal(seer_memory_place(blocks, 4, 2, arena), 2 * 6400);
  assert_int_equal(seer_memory_moved(blocks, 4, 2, arena), 0);
  check(blocks, 4, 2 * 6400);
  // Of four threads the middle ones' quarters are smaller than those of the large one.
  assert_in_range(seer_memory_moved(blocks, 4, 4, arena), 1, 4 * 1280 - 1);
  seer_arena_destroy(arena);
}

// Small blocks alive together with others have no free middle: they get one of their own if that is
// not more memory than it is worth.
static void new_middles_have_a_price(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_memory_block blocks[] = {
      {6400, 0, 2, 0}, {6400, 2, 4, 0}, {640, 0, 1, 0}, {640, 1, 2, 0}, {640, 3, 4, 0}};
  uint64_t packed = seer_memory_place(blocks, 5, 1, arena);
  uint64_t before = seer_memory_moved(blocks, 5, 2, arena);
  uint64_t total = seer_memory_place(blocks, 5, 2, arena);
  check(blocks, 5, total);
  assert_true(total <= packed * 3 / 2);
  assert_true(seer_memory_moved(blocks, 5, 2, arena) <= before);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chain), cmocka_unit_test(random_lives),
      cmocka_unit_test(threads_keep_their_bytes), cmocka_unit_test(new_middles_have_a_price)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
