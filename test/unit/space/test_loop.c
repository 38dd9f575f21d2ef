// Loop IR: text, verify, interpreter, packing, on hand-written loops.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space/loop.h"
#include "support/test.h"

static seer_loop *parse(seer_arena *arena, const char *text) {
  seer_loop *loop;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  return loop;
}

static const char gemm[] =
    "loop gemm {\n"
    "  input $a f32[10, 8] of 0\n"
    "  packed $b.pack f32[2, 8, 4] of 1 pack [1 * 4, 0 * 1, 1 * 1]\n"
    "  output $c f32[10, 7] of 2\n"
    "  local $acc f32[4, 4] of 3\n"
    "  phase {\n"
    "    parallel @i < 3 stage 1 {\n"
    "      for @j < 2 stage 1 {\n"
    "        alloc $acc stage 0\n"
    "        unroll @ii.init < 4 stage 0 bound @i * -4 + 10 {\n"
    "          vector @jj.init < 4 stage 0 bound @j * -4 + 7 {\n"
    "            init $acc[@ii.init, @jj.init] stage 0 = 0.0\n"
    "          }\n"
    "        }\n"
    "        for @k < 8 stage 0 reduce copies 16 {\n"
    "          unroll @ii < 4 stage 0 bound @i * -4 + 10 {\n"
    "            vector @jj < 4 stage 0 bound @j * -4 + 7 {\n"
    "              sum $acc[@ii, @jj] stage 0 = $a[@i * 4 + @ii, @k] * $b.pack[@j, @k, @jj]\n"
    "            }\n"
    "          }\n"
    "        }\n"
    "        for @r < 4 stage 1 bound @i * -4 + 10 {\n"
    "          vector @s < 4 stage 1 bound @j * -4 + 7 {\n"
    "            store $c[@i * 4 + @r, @j * 4 + @s] stage 1 = max($acc[@r, @s], 0.0)\n"
    "          }\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

static void text_is_a_fixpoint(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = parse(arena, gemm);
  const char *once = seer_loop_print(loop, arena);
  assert_string_equal(once, gemm);
  assert_string_equal(seer_loop_print(parse(arena, once), arena), once);
  assert_int_equal(seer_loop_phase_parts(loop, 0), 3);
  seer_arena_destroy(arena);
}

static void gemm_is_right(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = parse(arena, gemm);
  must(seer_loop_verify(loop));
  float a[80], b[56], c[70], packed[64];
  for (int k = 0; k < 80; k++) a[k] = (float)(k % 11 - 5);
  for (int k = 0; k < 56; k++) b[k] = (float)(k % 7 - 3);
  seer_dag_buf source = {
      .dtype = SEER_DTYPE_F32, .kind = SEER_BUF_WEIGHT, .rank = 2, .dim = {8, 7}, .pitch = 7};
  assert_int_equal(seer_pack_elems(loop->buf[1].pack), 64);
  seer_pack_fill(loop->buf[1].pack, &source, b, packed);
  for (int j = 0; j < 2; j++) {
    for (int k = 0; k < 8; k++) {
      for (int l = 0; l < 4; l++) {
        float want = j * 4 + l < 7 ? b[k * 7 + j * 4 + l] : 0;
        assert_true(packed[(j * 8 + k) * 4 + l] == want);
      }
    }
  }
  for (uint64_t seed = 0; seed < 4; seed++) {
    for (int k = 0; k < 70; k++) c[k] = NAN;
    seer_rng rng;
    seer_rng_init(&rng, seed);
    void *data[4] = {a, packed, c, NULL};
    assert_true(seer_loop_eval(loop, data, seed ? &rng : NULL) == SEER_OK);
    for (int i = 0; i < 10; i++) {
      for (int j = 0; j < 7; j++) {
        float sum = 0;
        for (int k = 0; k < 8; k++) sum += a[i * 8 + k] * b[k * 7 + j];
        assert_true(c[i * 7 + j] == (sum > 0 ? sum : 0));
      }
    }
  }
  seer_arena_destroy(arena);
}

// `from` replaced by `to` in the gemm must be refused by verify with `message` in the text.
static void refuses(const char *from, const char *to, const char *message) {
  seer_arena *arena = seer_arena_create("test");
  const char *at = strstr(gemm, from);
  assert_non_null(at);
  const char *text =
      seer_arena_printf(arena, "%.*s%s%s", (int)(at - gemm), gemm, to, at + strlen(from));
  seer_status status = seer_loop_verify(parse(arena, text));
  if (!status) fail_msg("accepted: %s -> %s", from, to);
  if (!strstr(seer_status_message(status), message)) {
    fail_msg("%s -> %s: expected '%s', got '%s'", from, to, message, seer_status_message(status));
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// The bytes of element `nth` of a pack, as its definition has them: dimension by dimension.
static void define(const seer_pack *pack, const seer_dag_buf *source, const char *from, int64_t nth,
    size_t elem_bytes, char *out) {
  int64_t index[SEER_MAX_RANK] = {0}, at = 0;
  for (uint32_t k = pack->n; k-- > 0;) {
    index[pack->dim[k].source_dim] += pack->dim[k].stride * (nth % pack->dim[k].extent);
    nth /= pack->dim[k].extent;
  }
  memset(out, 0, elem_bytes);
  for (uint32_t d = 0; d < source->rank; d++) {
    if (index[d] < 0 || index[d] >= source->dim[d]) return;
    at = at * (d + 1 == source->rank ? source->pitch : source->dim[d]) + index[d];
  }
  memcpy(out, from + (size_t)at * elem_bytes, elem_bytes);
}

// Overlapping windows, steps beyond the source on both sides, padded rows; every size of an
// element.
static void packs_as_they_are_defined(void **state) {
  (void)state;
  static const seer_dtype dtype[] = {
      SEER_DTYPE_I8, SEER_DTYPE_BF16, SEER_DTYPE_F32, SEER_DTYPE_F64};
  uint32_t n_outside = 0, n_inside = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    seer_rng rng;
    seer_rng_init(&rng, seed);
    seer_dag_buf source = {.dtype = dtype[seed % 4], .kind = SEER_BUF_WEIGHT};
    source.rank = (uint8_t)seer_rng_range(&rng, seed % 40 == 0 ? 0 : 1, 4);
    int64_t n_source = 1;
    for (uint32_t d = 0; d < source.rank; d++) source.dim[d] = seer_rng_range(&rng, 1, 9);
    source.pitch = source.rank ? source.dim[source.rank - 1] + seer_rng_range(&rng, 0, 3) : 1;
    for (uint32_t d = 0; d < source.rank; d++)
      n_source *= d + 1 == source.rank ? source.pitch : source.dim[d];
    seer_pack pack = {.n = source.rank ? (uint32_t)seer_rng_range(&rng, 0, 6) : 0};
    for (uint32_t k = 0; k < pack.n; k++) {
      pack.dim[k].source_dim = (uint8_t)seer_rng_range(&rng, 0, source.rank - 1);
      pack.dim[k].stride = seer_rng_range(&rng, -2, 5);
      pack.dim[k].extent = seer_rng_range(&rng, 1, seed % 8 == 7 && k == 0 ? 3000 : 12);
    }
    while (seer_pack_elems(&pack) > 3000000) pack.n--;
    size_t elem_bytes = seer_dtype_bytes(source.dtype);
    int64_t n = seer_pack_elems(&pack);
    char *from = malloc((size_t)n_source * elem_bytes), *to = malloc((size_t)n * elem_bytes);
    assert_true(from && to);
    for (size_t i = 0; i < (size_t)n_source * elem_bytes; i++)
      from[i] = (char)seer_rng_range(&rng, 1, 100);
    memset(to, 0x55, (size_t)n * elem_bytes);
    seer_pack_fill(&pack, &source, from, to);
    for (int64_t e = 0; e < n; e++) {
      char want[8];
      define(&pack, &source, from, e, elem_bytes, want);
      assert_memory_equal(to + (size_t)e * elem_bytes, want, elem_bytes);
      if (want[0]) n_inside++;
      if (!want[0]) n_outside++;
    }
    free(from);
    free(to);
  }
  assert_true(n_inside > 100000 && n_outside > 100000);
}

static void verify_refuses(void **state) {
  (void)state;
  refuses("@r < 4 stage 1 bound @i * -4 + 10", "@r < 4 stage 1 bound @i * -4 + 11",
      "may reach its extent 10");
  refuses("@r < 4 stage 1 bound @i * -4 + 10", "@r < 4 stage 1", "may reach its extent 10");
  refuses("@j * 4 + @s]", "@j * 4 + @s - 1]", "may be negative");
  refuses("for @r < 4 stage 1 bound", "parallel @r < 4 stage 1 bound", "outermost chain");
  refuses("for @r < 4", "vector @r < 4", "inside a vector loop");
  refuses("        alloc $acc stage 0\n", "", "not allocated");
  refuses("max($acc[@r, @s], 0.0)", "$acc[@k, @s]", "not in scope");
  refuses("store $c[@i", "store $a[@i", "read only");
  refuses("f32[4, 4] of 3", "f32[4, 3] of 3", "may reach its extent 3");
  refuses("bound @j * -4 + 7 {\n            store", "bound 3:i32 {\n            store", "not i64");
}

static void text_refuses(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "loop",
      "loop x {",
      "loop x { phase { } } y",
      "loop x { input $a f33[2] of 0 }",
      "loop x { input $a f32[0] of 0 }",
      "loop x { input $a f32[2] of 0 input $a f32[2] of 0 }",
      "loop x { input $a f32[2] stride [1, 1] of 0 }",
      "loop x { phase { store $q[0] stage 0 = 1.0 } }",
      "loop x { output $q f32[2] of 0 phase { store $q[@i] stage 0 = 1.0 } }",
      "loop x { output $q f32[2] of 0 phase { for @i < 2 stage 0 { store $q[@i] stage 0 = } } }",
      "loop x { output $q f32[2] of 0 phase { for @i < 2 stage 0 { } for @i < 2 stage 0 { } } }",
      "loop x { output $q f32[1099511627776, 1099511627776] of 0 }",
  };
  for (size_t k = 0; k < SEER_COUNT_OF(bad); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_loop *loop;
    seer_status status = seer_loop_parse("test", bad[k], strlen(bad[k]), arena, &loop);
    if (!status) fail_msg("accepted: %s", bad[k]);
    assert_null(loop);
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

// A guarded load with a clamped start: what padding by a region needs; verify has to see through
// both.
static void guards_and_lets(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = parse(arena,
      "loop pool {\n"
      "  input $x f32[9] of 0\n"
      "  output $y f32[9] of 2\n"
      "  local $r f32[5] of 1\n"
      "  phase {\n"
      "    for @i < 3 stage 1 {\n"
      "      let @s in [0, 4] stage 0 = max(min(@i * 3 - 1, 4), 0)\n"
      "      alloc $r stage 0\n"
      "      for @a < 5 stage 0 { store $r[@a] stage 0 = $x[@s + @a] * 2.0 }\n"
      "      for @j < 3 stage 1 {\n"
      "        init $y[@i * 3 + @j] stage 1 = 0.0\n"
      "        for @k < 3 stage 1 reduce {\n"
      "          sum $y[@i * 3 + @j] stage 1 = $r[@i * 3 + @j + @k - 1 - @s] if (@i * 3 + @j + @k "
      "- 1 >= 0) & "
      "(@i * 3 + @j + @k - 1 < 9) else 0.0\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n");
  must(seer_loop_verify(loop));
  float x[9], y[9];
  for (int k = 0; k < 9; k++) x[k] = (float)(k * k);
  void *data[3] = {x, y, NULL};
  assert_true(seer_loop_eval(loop, data, NULL) == SEER_OK);
  for (int i = 0; i < 9; i++) {
    float want = 0;
    for (int k = -1; k <= 1; k++) want += i + k >= 0 && i + k < 9 ? 2 * x[i + k] : 0;
    assert_true(y[i] == want);
  }
  seer_arena_destroy(arena);
}

// A fetch decoded by a quotient and a remainder, of which guards say more than their ranges: two of
// these bound an index of twice as large steps, and only the second one closely enough.
static void guards_of_quotients(void **state) {
  (void)state;
  static const char text[] =
      "loop fetch { input $x f32[14, 10] of 0 output $y f32[8, 3] of 1 workgroup $f f32[3, 3] of "
      "2\n"
      "phase { parallel @y < 4 stage 1 { parallel @x < 2 stage 1 { parallel @o < 2 stage 1 {\n"
      "alloc $f stage 0 for @k < 3 stage 0 reduce { for @c < 2 stage 0 reduce {\n"
      "thread @t < 9 stage 0 {\n"
      "let @a in [0, 2] stage 0 = @t / 3 let @b in [0, 2] stage 0 = @t %% 3\n"
      "store $f[@a, @b] stage 0 = $x[@y * 4 + @a - 2, @x * 8 + @k * 2 + @c + @b * 2 - 2]\n"
      "if (@x * 4 + @k + @b < 7) & ((@y * 4 + @a - 2 >= 0) & ((@x * 4 + @k + @b - 1 >= 0) &\n"
      "(@x * 4 + @k + @b - 1 < %d))) else 0.0 } barrier } } } } } } }";
  seer_arena *arena = seer_arena_create("test");
  must(seer_loop_verify(parse(arena, seer_arena_printf(arena, text, 5))));
  seer_status status = seer_loop_verify(parse(arena, seer_arena_printf(arena, text, 6)));
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "may reach its extent 10"));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// A fetch of an image's pixels as one axis, the window's last step cut: the window's guard is of
// what stands beside the pixel's quotient, and neither's range is close enough.
static void guard_beside_a_quotient(void **state) {
  (void)state;
  static const char text[] =
      "loop fetch { input $x f32[28, 28] of 0 output $y f32[196] of 1 workgroup $f f32[16, 2] of "
      "2\n"
      "phase { parallel @row < 13 stage 1 { alloc $f stage 0 for @ky < 2 stage 0 reduce {\n"
      "thread @t < 32 stage 0 {\n"
      "let @a in [0, 15] stage 0 = @t / 2 let @b in [0, 1] stage 0 = @t %% 2\n"
      "store $f[@a, @b] stage 0 = $x[@row * 2 + @ky * 2 + @b + (@row * 2 + @a) / 14 * 2 - 1, 0]\n"
      "if (@row * 16 + @a < %d) & (@ky * 2 + @b < %d) &\n"
      "(@row * 2 + @ky * 2 + @b + (@row * 2 + @a) / 14 * 2 - 1 >= 0) else 0.0\n"
      "} barrier } } } }";
  seer_arena *arena = seer_arena_create("test");
  must(seer_loop_verify(parse(arena, seer_arena_printf(arena, text, 196, 3))));
  for (int too_far = 0; too_far < 2; too_far++) {
    seer_status status =
        seer_loop_verify(parse(arena, seer_arena_printf(arena, text, 196 + too_far, 4 - too_far)));
    assert_non_null(status);
    assert_non_null(strstr(seer_status_message(status), "may reach its extent 28"));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// Reading what was never written is seen: region buffers start as NaN.
static void unwritten_is_nan(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = parse(arena,
      "loop x { output $y f32[2] of 0 local $t f32[2] of 1 phase { alloc $t stage 0 store $t[0] "
      "stage 0 = 1.0 "
      "for @i < 2 stage 1 { store $y[@i] stage 1 = $t[@i] } } }");
  float y[2] = {5, 5};
  void *data[2] = {y, NULL};
  assert_true(seer_loop_eval(loop, data, NULL) == SEER_OK);
  assert_true(y[0] == 1 && isnan(y[1]));
  loop = parse(arena,
      "loop x { output $y f32[2] of 0 phase { for @i < 3 stage 1 { store $y[@i] stage 1 = 1.0 } } "
      "}");
  seer_status status = seer_loop_eval(loop, data, NULL);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "index 0 is 2"));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// What is a number system for the indices of a source, and what is not.
static void packs_that_are_a_radix(void **state) {
  (void)state;
  const int64_t dim[2] = {7, 12};
  const struct {
    seer_pack pack;
    bool is_radix;
  } cases[] = {
      {{0, 2, {{0, 1, 7}, {1, 1, 12}}}, true},
      {{0, 2, {{1, 1, 12}, {0, 1, 7}}}, true},  // turned
      {{0, 4, {{0, 4, 2}, {1, 3, 4}, {1, 1, 3}, {0, 1, 4}}}, true},  // with a tail
      {{0, 4, {{0, 1, 7}, {1, 12, 1}, {1, 4, 3}, {1, 1, 4}}}, true},  // a loop that runs once
      {{0, 3, {{0, 1, 7}, {1, 2, 6}, {1, 1, 3}}}, false},  // overlap
      {{0, 3, {{0, 1, 7}, {1, 4, 3}, {1, 1, 3}}}, false},  // a gap
      {{0, 2, {{0, 1, 6}, {1, 1, 12}}}, false},  // a part
      {{0, 2, {{0, 2, 7}, {1, 1, 12}}}, false},
      {{0, 2, {{0, 1, 7}, {2, 1, 12}}}, false},  // no such dimension
      {{0, 3, {{0, 1, 7}, {1, 1, 12}, {1, 1, 12}}}, false},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++)
    assert_int_equal(seer_pack_is_radix(&cases[k].pack, dim, 2), cases[k].is_radix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_a_fixpoint),
      cmocka_unit_test(gemm_is_right),
      cmocka_unit_test(packs_as_they_are_defined),
      cmocka_unit_test(packs_that_are_a_radix),
      cmocka_unit_test(verify_refuses),
      cmocka_unit_test(text_refuses),
      cmocka_unit_test(guards_and_lets),
      cmocka_unit_test(guards_of_quotients),
      cmocka_unit_test(guard_beside_a_quotient),
      cmocka_unit_test(unwritten_is_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
