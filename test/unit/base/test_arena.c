// Arena: zeroed memory, alignment, save and rewind across blocks, growth.
#include <string.h>

#include "base/arena.h"
#include "support/test.h"

static bool all_zero(const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (bytes[i]) return false;
  }
  return true;
}

static void memory_is_zero_also_after_reuse(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (int round = 0; round < 4; round++) {
    for (size_t n = 1; n < 100000; n = n * 3 + 1) {
      uint8_t *bytes = seer_arena_alloc(arena, n, 1);
      assert_true(all_zero(bytes, n));
      memset(bytes, 0xff, n);
    }
    seer_arena_reset(arena);
    assert_int_equal(seer_arena_bytes(arena), 0);
  }
  seer_arena_destroy(arena);
}

static void allocations_are_aligned_and_apart(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint8_t *last = NULL;
  for (size_t align = 1; align <= 64; align *= 2) {
    uint8_t *at = seer_arena_alloc(arena, 3, align);
    assert_int_equal((uintptr_t)at % align, 0);
    if (last) assert_true(at >= last + 3 || at + 3 <= last);
    last = at;
  }
  assert_ptr_not_equal(seer_arena_alloc(arena, 0, 1), seer_arena_alloc(arena, 0, 1));
  seer_arena_destroy(arena);
}

static void rewind_frees_what_came_after(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_arena_mark empty = seer_arena_save(arena);
  char *kept = seer_arena_strdup(arena, "kept");
  seer_arena_mark mark = seer_arena_save(arena);
  size_t bytes = seer_arena_bytes(arena);
  void *first = NULL;
  for (int round = 0; round < 10; round++) {
    void *again = seer_arena_alloc(arena, 100, 8);
    if (round == 0) first = again;
    assert_ptr_equal(again, first);
    seer_arena_alloc(arena, 10 << 20, 8);  // beyond every block
    seer_arena_alloc(arena, 100, 8);
    seer_arena_rewind(arena, mark);
    assert_int_equal(seer_arena_bytes(arena), bytes);
    assert_string_equal(kept, "kept");
  }
  seer_arena_rewind(arena, empty);
  assert_int_equal(seer_arena_bytes(arena), 0);
  seer_arena_destroy(arena);
}

static void growing_keeps_items_and_zeroes_the_rest(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t *items = NULL;
  size_t cap = 0;
  for (uint32_t n = 0; n < 1000; n++) {
    items = SEER_GROW(arena, uint32_t, items, n, &cap);
    assert_true(cap > n);
    assert_int_equal(items[n], 0);
    items[n] = n + 1;
  }
  for (uint32_t i = 0; i < 1000; i++) assert_int_equal(items[i], i + 1);
  seer_arena_destroy(arena);
}

static void strings(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  assert_string_equal(seer_arena_strndup(arena, "abcdef", 3), "abc");
  assert_string_equal(seer_arena_printf(arena, "%s-%d", "x", 7), "x-7");
  uint64_t value = 0x1122334455667788u;
  assert_memory_equal(seer_arena_memdup(arena, &value, sizeof value), &value, sizeof value);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zero_also_after_reuse),
      cmocka_unit_test(allocations_are_aligned_and_apart),
      cmocka_unit_test(rewind_frees_what_came_after),
      cmocka_unit_test(growing_keeps_items_and_zeroes_the_rest),
      cmocka_unit_test(strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
