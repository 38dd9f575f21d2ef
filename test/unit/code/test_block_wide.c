// Accesses of several lanes by an item: where neighbours are one, where they are not, that what
// they say of alignment is so, and what warps' accesses come to.
#include <string.h>

#include "base/rng.h"
#include "code/gen/generate.h"
#include "support/count.h"
#include "support/test.h"

static seer_loop *parsed(const char *text, seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  must(seer_loop_verify(loop));
  return loop;
}

static seer_vec_code *code_of(const seer_loop *loop, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_vec_code *code;
  must(seer_gen_code(loop, &machine, "f", arena, &code));
  must(seer_vec_verify(code));
  return code;
}

// A copy of rows of `dim` elements by 16 items, four each, to y. Where the index is.
static const char *copy(const char *from, const char *guard, seer_arena *arena) {
  return seer_arena_printf(arena,
      "loop copy { input $x f32[4, 44] of 0 output $y f32[16, 4] of 1\n"
      "phase { thread @t < 16 stage 0 { %s @w < 4 stage 0 {\n"
      "let @m in [0, 3] stage 0 = (@t * 4 + @w) / 16\n"
      "let @n in [0, 15] stage 0 = (@t * 4 + @w) %% 16\n"
      "store $y[@t, @w] stage 0 = $x[@m, @n%s] %s } } } }",
      strchr("vu", from[0]) ? (from[0] == 'v' ? "vector" : "unroll") : "for", from + 1, guard);
}

// Which loads and stores there are of a copy: by four where that is known to be aligned and of one
// condition, by two where only that is, else one by one.
static void neighbours_are_joined_where_they_may_be(void **state) {
  (void)state;
  static const struct {
    const char *from, *guard;  // vector or unroll, and what is added to the column
    const char *has, *has_not;
  } cases[] = {
      {"v", "", "f32x4 = load %", "f32 = load"},
      {"u", "", "f32x4 = load %", "f32 = load"},
      {"v + 4", "", "f32x4 = load %", "f32 = load"},
      {"v + 2", "", "f32x2 = load %", "f32x4 = load"},
      {"v + 1", "", "f32 = load %", "f32x4 = load"},
      {"v", "if @n < 12 else 0.5", "f32x4 = load_masked %", "f32 = load"},
      {"v", "if @n < 14 else 0.5", "f32x2 = load_masked %", "f32x4 = load_masked"},
      {"v", "if @n < 13 else 0.5", "f32 = load_masked %", "f32x4 = load_masked"},
      {"v", "if (@m < 3) & (@n >= 4) else 0.5", "f32x4 = load_masked %", "f32 = load"},
      // What is read instead is another one in each lane.
      {"v", "if @n < 12 else $x[0, @w]", "f32x4 = load_masked %", "f32 = load"},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_loop *loop = parsed(copy(cases[k].from, cases[k].guard, arena), arena);
    const char *text = seer_vec_print(code_of(loop, arena), arena);
    if (!strstr(text, cases[k].has) || strstr(text, cases[k].has_not))
      fail_msg("%s, %s: %s", cases[k].from, cases[k].guard, text);
    assert_int_equal(count_words(text, "  store %"), 1);
    seer_arena_destroy(arena);
  }
}

// Nothing that is written may be told apart: a store to the same buffer, a barrier, in between.
static void what_stands_between_keeps_them_apart(void **state) {
  (void)state;
  static const struct {
    const char *between;
    bool is_joined;
  } cases[] = {
      {"", true},
      {"store $z[@t] stage 0 = 1.0", true},
      {"store $x[@t * 4] stage 0 = 1.0", false},
      {"for @q < 2 stage 0 { for @p < 3000 stage 0 { store $x[@p] stage 0 = 1.0 } }", false},
      {"for @q < 2 stage 0 { for @p < 3000 stage 0 { store $z[@p] stage 0 = 1.0 } }", true},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    const char *text = seer_arena_printf(arena,
        "loop apart { shared $x f32[4096] of 0 output $y f32[4096] of 1 output $z f32[4096] of 2\n"
        "phase { thread @t < 16 stage 0 {\n"
        "store $y[@t * 4] stage 0 = $x[@t * 4]\n%s\n"
        "store $y[@t * 4 + 1] stage 0 = $x[@t * 4 + 1] } } }",
        cases[k].between);
    seer_loop *loop;
    must(seer_loop_parse("test", text, strlen(text), arena, &loop));
    text = seer_vec_print(code_of(loop, arena), arena);
    if ((strstr(text, "f32x2 = load") != NULL) != cases[k].is_joined) fail_msg("%s", text);
    assert_int_equal(count_words(text, "align 8 $y"), 1);  // stores may be later
    seer_arena_destroy(arena);
  }
}

// ---- random copies

typedef struct {
  uint32_t n_wide, n_single;  // of loads in the text
} tally;

static void add_to(tally *t, const char *text) {
  t->n_wide += count_words(text, "x4 = load") + count_words(text, "x2 = load") +
      count_words(text, "x8 = load");
  t->n_single += count_words(text, "f32 = load") + count_words(text, "i16 = load");
}

// Fetches of any shape, pitch, place and guard, through a block's memory: vector code does what the
// loop says, and nothing that it says of alignment is wrong.
static void random_fetches_are_what_loops_say(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 97);
  tally seen = {0, 0};
  for (uint32_t k = 0; k < 300; k++) {
    seer_arena *arena = seer_arena_create("test");
    uint32_t width = 2u << seer_rng_below(&rng, 2), row = (uint32_t)seer_rng_below(&rng, 24) + 1;
    uint32_t n_items = 4u << seer_rng_below(&rng, 4), n = n_items * width;
    uint32_t pitch = row + (uint32_t)seer_rng_below(&rng, 6), rows = (n + row - 1) / row;
    uint32_t left = (uint32_t)seer_rng_below(&rng, 5), top = (uint32_t)seer_rng_below(&rng, 2);
    const char *type = seer_rng_below(&rng, 4) == 0 ? "f16" : "f32";
    const char *guard =
        seer_arena_printf(arena, "if @n < %u else 0.5", (uint32_t)seer_rng_below(&rng, row + 1));
    if (type[1] == '1') guard = "";
    const char *kind = seer_rng_below(&rng, 2) == 0 ? "vector" : "unroll";
    const char *text = seer_arena_printf(arena,
        "loop fetch { input $x %s[2, %u, %u] of 0 output $y %s[2, %u] of 1\n"
        "workgroup $tile %s[%u, %u] stride [%u, 1] elems %u of 2 phase { parallel @b < 2 stage 0 "
        "{\n"
        "alloc $tile stage 0 thread @t < %u stage 0 { %s @w < %u stage 0 {\n"
        "let @m in [0, %u] stage 0 = (@t * %u + @w) / %u\n"
        "let @n in [0, %u] stage 0 = (@t * %u + @w) %% %u\n"
        "store $tile[@m, @n] stage 0 = $x[@b, @m + %u, @n + %u] %s } }\n"
        "barrier thread @s < %u stage 0 { %s @v < %u stage 0 {\n"
        "store $y[@b, @s * %u + @v] stage 0 = $tile[(@s * %u + @v) / %u, (@s * %u + @v) %% %u]\n"
        "} } } } }",
        type, rows + 1, pitch + 5, type, n, type, rows, row, pitch, pitch * rows, n_items, kind,
        width, rows - 1, width, row, row - 1, width, row, top, left, guard, n_items, kind, width,
        width, width, row, width, row);
    seer_loop *loop = parsed(text, arena);
    seer_vec_code *code = code_of(loop, arena);
    add_to(&seen, seer_vec_print(code, arena));
    uint32_t bytes = type[1] == '3' ? 4 : 2, n_bytes[2];
    void *want[3] = {0}, *got[3] = {0};
    for (uint32_t b = 0; b < 2; b++) {
      n_bytes[b] = (uint32_t)loop->buf[b].n_elems * bytes;
      want[b] = seer_arena_alloc(arena, n_bytes[b], 16);
      for (uint32_t i = 0; i < n_bytes[b]; i++)  // small numbers of both types
        ((uint8_t *)want[b])[i] = (uint8_t)(i % bytes < bytes - 1 ? seer_rng_below(&rng, 256) : 60);
      got[b] = memcpy(seer_arena_alloc(arena, n_bytes[b], 16), want[b], n_bytes[b]);
    }
    must(seer_loop_eval(loop, want, NULL));
    seer_status status = seer_vec_eval(code, got, &rng);
    if (status) fail_msg("%s\n%s", seer_status_message(status), text);
    if (memcmp(want[1], got[1], n_bytes[1]) != 0) fail_msg("another answer: %s", text);
    seer_arena_destroy(arena);
  }
  if (seen.n_wide < 200 || seen.n_single < 300)
    fail_msg("%u wide loads, %u of one lane", seen.n_wide, seen.n_single);
}

// ---- what is said is judged

static seer_status run_text(const char *text, seer_loop *loop, seer_vec_traffic *traffic) {
  seer_arena *arena = seer_arena_create("test");
  seer_vec_code *code;
  void *data[3] = {0};
  must(seer_vec_parse("test", text, strlen(text), loop, arena, &code));
  must(seer_vec_verify(code));
  for (uint32_t b = 0; b < 2; b++)
    data[b] = seer_arena_alloc(arena, (size_t)loop->buf[b].n_elems * 4, 16);
  seer_status status = seer_vec_eval_traffic(code, data, NULL, traffic);
  seer_arena_destroy(arena);
  return status;
}

static seer_loop *items32(seer_arena *arena) {
  return parsed(
      "loop items { input $x f32[1024] of 0 output $y f32[1024] of 1 workgroup $g f32[1024] of 2\n"
      "phase { alloc $g stage 0 thread @t < 32 stage 0 { store $y[@t] stage 0 = $x[@t] } } }",
      arena);
}

// Code that says more of an address than is so.
static void wrong_alignment_is_seen(void **state) {
  (void)state;
  static const char *const wrong[] = {
      // by an item's number
      "%2 ptr = move %0, %1 of f32 %3 f32x4 = load %2 align 16 $x",
      // whatever the item
      "%2 ptr = move %0, i64 2 of f32 %3 f32x4 = load %2 align 16 $x",
      // more than a buffer is aligned to
      "%3 f32x4 = load %0 align 32 $x",
  };
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = items32(arena);
  for (uint32_t k = 0; k < SEER_COUNT_OF(wrong); k++) {
    const char *text = seer_arena_printf(arena,
        "vector items { scratch 0 phase f_p0 { %%0 ptr = buffer $x %%1 i64 = item %s } }",
        wrong[k]);
    seer_status status = run_text(text, loop, NULL);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), "is not aligned to"))
      fail_msg("%s", seer_status_message(status));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// 16 bytes an item are 16 sectors a warp; of a block's memory, as many turns as its quarters take.
static void wide_accesses_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *index, *lanes;
    uint64_t turns, sectors;
  } cases[] = {
      {"mul_index %1, i64 1", "f32", 1, 4},
      {"mul_index %1, i64 2", "f32x2", 2, 8},
      {"mul_index %1, i64 4", "f32x4", 4, 16},
      {"mul_index %1, i64 8", "f32x4", 8, 32},  // each second word of 4: two rows in a quarter
      {"mul_index %1, i64 20", "f32x4", 4, 32},  // 5 words of 4 apart: all banks in each quarter
      {"mul_index %1, i64 32", "f32x4", 32, 32},  // one bank for all eight
      {"mul_index %1, i64 0", "f32x4", 4, 1},  // one word for each quarter
      {"mul_index %1, i64 0", "f32", 1, 1},
  };
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = items32(arena);
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_vec_traffic traffic = {0};
    must(
        run_text(seer_arena_printf(arena,
                     "vector items { scratch 0 phase f_p0 { %%0 ptr = buffer $x %%1 i64 = item\n"
                     "%%2 ptr = buffer $g %%3 i64 = %s %%4 ptr = move %%0, %%3 of f32\n"
                     "%%5 ptr = move %%2, %%3 of f32 %%6 %s = load %%4 $x %%7 %s = load %%5 $g } }",
                     cases[k].index, cases[k].lanes, cases[k].lanes),
            loop, &traffic));
    if (traffic.requests != 1 || traffic.group_requests != 1 ||
        traffic.sectors != cases[k].sectors || traffic.group_turns != cases[k].turns)
      fail_msg("%s, %s: %d requests, %d sectors; %d and %d turns", cases[k].index, cases[k].lanes,
          (int)traffic.requests, (int)traffic.sectors, (int)traffic.group_requests,
          (int)traffic.group_turns);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_are_joined_where_they_may_be),
      cmocka_unit_test(what_stands_between_keeps_them_apart),
      cmocka_unit_test(random_fetches_are_what_loops_say),
      cmocka_unit_test(wrong_alignment_is_seen), cmocka_unit_test(wide_accesses_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
