// Every operator on every type, every conversion and every reduction, as vector code of made-up
// processors: what its interpreter gives is what the interpreter of the loops gives. Random DAGs
// (test_vector.c) have whole numbers and few operators; here are the others, with NaN, infinities
// and what does not fit.
#include <stdio.h>
#include <string.h>

#include <math.h>

#include "dag/expr.h"
#include "support/test.h"
#include "vector_machines.h"

enum { ROWS = 7, COLUMNS = 19, N = ROWS * COLUMNS };

typedef enum {
  ANYTHING,  // NaN, infinities, the largest and the smallest too
  MODERATE,  // reals of a few digits
  SMALL  // 1, -1 or 2: sums and products are exact
} numbers;

typedef struct {
  seer_arena *arena;
  seer_rng rng;
  uint64_t n_checked, n_refused, met[SEER_VEC_OP_COUNT];
} trial;

static double real_number(seer_rng *rng, numbers kind) {
  static const double special[] = {0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.5, -128.5, 255.5, 32768,
      65504, 65520, 1e6, -1e6, 2147483648.0, 4294967296.0, 1e15, 0x1p63, 0x1p64, 1e30, -1e30,
      3.4028234663852886e38, 1e-5, 1e-8, 1e-40, (double)INFINITY, -(double)INFINITY, (double)NAN};
  if (kind == SMALL) return seer_rng_below(rng, 3) == 0 ? -1 : 1 + (double)seer_rng_below(rng, 2);
  if (kind == ANYTHING && seer_rng_below(rng, 2) == 0)
    return special[seer_rng_below(rng, SEER_COUNT_OF(special))];
  return (double)(float)((seer_rng_f64(rng) - 0.5) * (kind == ANYTHING ? 300 : 20));
}

// Never 0: a division by it has no meaning, and no trap.
static int64_t whole_number(seer_rng *rng, numbers kind) {
  uint64_t some = seer_rng_below(rng, 4);
  if (kind == SMALL) return seer_rng_below(rng, 3) == 0 ? -1 : 1 + (int64_t)seer_rng_below(rng, 2);
  if (kind == MODERATE || some < 2)
    return seer_rng_below(rng, 9) == 0 ? -1 : seer_rng_range(rng, 1, 9);
  return (int64_t)(seer_rng_u64(rng) >> (some == 2 ? 0 : seer_rng_below(rng, 64)) | 1);
}

static void fill(seer_rng *rng, const seer_loop_buf *buf, numbers kind, void *data) {
  for (int64_t k = 0; k < buf->n_elems; k++) {
    if (seer_dtype_is_float(buf->dtype))
      seer_dtype_store_f64(buf->dtype, data, k, real_number(rng, kind));
    else if (buf->dtype == SEER_DTYPE_BOOL)
      seer_dtype_store_i64(buf->dtype, data, k, (int64_t)seer_rng_below(rng, 2));
    else {
      seer_dtype_store_i64(buf->dtype, data, k, whole_number(rng, kind));
      // A divisor is no zero: of 4 two bits are.
      if (seer_dtype_load_i64(buf->dtype, data, k) == 0)
        seer_dtype_store_i64(buf->dtype, data, k, 1);
    }
  }
}

static bool is_near(
    const seer_loop_buf *buf, const void *a, const void *b, int64_t k, double tolerance) {
  if (!seer_dtype_is_float(buf->dtype))
    return seer_dtype_load_i64(buf->dtype, a, k) == seer_dtype_load_i64(buf->dtype, b, k);
  double x = seer_dtype_load_f64(buf->dtype, a, k), y = seer_dtype_load_f64(buf->dtype, b, k);
  return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * fabs(x);
}

static void expect_ok(seer_status status, const char *what, const char *text) {
  if (status) fail_msg("%s: %s\n%s", what, seer_status_message(status), text);
}

// The code of one machine against the loops.
static void check_machine(trial *t, const seer_loop *loop, const seer_gen_machine *machine,
    numbers kind, double tolerance, const char *text) {
  void *want[8], *got[8];
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    size_t n_bytes = (size_t)loop->buf[b].n_elems * seer_dtype_bytes(loop->buf[b].dtype);
    want[b] = seer_arena_alloc(t->arena, n_bytes, 64);
    if (loop->buf[b].storage == SEER_STORE_INPUT) fill(&t->rng, &loop->buf[b], kind, want[b]);
    got[b] = seer_arena_memdup(t->arena, want[b], n_bytes);
  }
  seer_vec_code *code;
  seer_status status = seer_gen_code(loop, machine, "kernel", t->arena, &code);
  if (status && seer_status_code(status) == SEER_CODE_UNSUPPORTED) {
    seer_status_free(status);
    t->n_refused++;
    return;
  }
  expect_ok(status, "generate", text);
  const char *both = seer_arena_printf(t->arena, "%s\n%s", text, seer_vec_print(code, t->arena));
  expect_ok(seer_vec_verify(code), "verify", both);
  expect_ok(seer_loop_eval(loop, want, NULL), "loops", text);
  expect_ok(seer_vec_eval(code, got, NULL), "eval", both);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    for (int64_t k = 0; k < buf->n_elems; k++) {
      if (is_near(buf, want[b], got[b], k, tolerance)) continue;
      fail_msg("$%s, element %" PRId64 ": %.17g, expected %.17g\n%s", buf->name, k,
          seer_dtype_load_f64(buf->dtype, got[b], k), seer_dtype_load_f64(buf->dtype, want[b], k),
          both);
    }
  }
  for (uint32_t i = 1; i < code->n; i++) t->met[code->node[i].op]++;
  t->n_checked++;
}

// False: the text is no loop (an operator that is not defined on a type).
static bool check_text(trial *t, const char *text, numbers kind, double tolerance) {
  seer_loop *loop;
  seer_status status = seer_loop_parse("test", text, strlen(text), t->arena, &loop);
  if (!status) status = seer_loop_verify(loop);
  if (status) {
    seer_status_free(status);
    return false;
  }
  for (size_t m = 0; m < SEER_COUNT_OF(vector_machines); m++)
    check_machine(t, loop, &vector_machines[m], kind, tolerance, text);
  return true;
}

// z = the expression, of $x and $y (their types: `from`).
static bool check_expr(
    trial *t, const char *from, const char *to, const char *expr, numbers kind, double tolerance) {
  const char *text = seer_arena_printf(t->arena,
      "loop test {\n"
      "  input $x %s[%d, %d] of 0\n"
      "  input $y %s[%d, %d] of 1\n"
      "  output $z %s[%d, %d] of 2\n"
      "  phase {\n"
      "    parallel @o < %d stage 0 {\n"
      "      vector @i < %d stage 0 {\n"
      "        store $z[@o, @i] stage 0 = %s\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n",
      from, ROWS, COLUMNS, from, ROWS, COLUMNS, to, ROWS, COLUMNS, ROWS, COLUMNS, expr);
  bool is_done = check_text(t, text, kind, tolerance);
  seer_arena_reset(t->arena);
  return is_done;
}

static void begin(trial *t) {
  *t = (trial){.arena = seer_arena_create("test")};
  seer_rng_init(&t->rng, 1);
}

static void end(trial *t, uint64_t n_expected) {
  print_message("%" PRIu64 " times, %" PRIu64 " have no code\n", t->n_checked, t->n_refused);
  assert_true(t->n_checked >= n_expected);
  seer_arena_destroy(t->arena);
}

static void operators(void **state) {
  (void)state;
  static const char *const exact[] = {"$x[@o, @i] + $y[@o, @i]", "$x[@o, @i] - $y[@o, @i]",
      "$x[@o, @i] * $y[@o, @i]", "$x[@o, @i] / $y[@o, @i]", "min($x[@o, @i], $y[@o, @i])",
      "max($x[@o, @i], $y[@o, @i])", "neg($x[@o, @i])", "abs($x[@o, @i])", "sign($x[@o, @i])",
      "floor($x[@o, @i])", "ceil($x[@o, @i])", "round($x[@o, @i])", "sqrt($x[@o, @i])",
      "isnan($x[@o, @i])", "$x[@o, @i] < $y[@o, @i]", "$x[@o, @i] <= $y[@o, @i]",
      "$x[@o, @i] > $y[@o, @i]", "$x[@o, @i] >= $y[@o, @i]", "$x[@o, @i] == $y[@o, @i]",
      "$x[@o, @i] != $y[@o, @i]", "$x[@o, @i] & $y[@o, @i]", "$x[@o, @i] | $y[@o, @i]",
      "$x[@o, @i] ^ $y[@o, @i]", "not($x[@o, @i])", "shl($x[@o, @i], $y[@o, @i])",
      "shr($x[@o, @i], $y[@o, @i])", "dot4($x[@o, @i], $y[@o, @i])",
      "dot4($y[@o, @i], 16843009:i32)", "select($x[@o, @i] < $y[@o, @i], $x[@o, @i], $y[@o, @i])",
      "$x[@o, @i] if @i * 2 + @o < 23 else $y[@o, @i]"};
  trial t;
  begin(&t);
  for (int d = SEER_DTYPE_NONE + 1; d < SEER_DTYPE_COUNT; d++) {
    const char *dtype = seer_dtype_name((seer_dtype)d);
    bool is_float = seer_dtype_is_float((seer_dtype)d);
    for (size_t k = 0; k < SEER_COUNT_OF(exact); k++) {
      bool is_shift = strncmp(exact[k], "sh", 2) == 0;
      if (d == SEER_DTYPE_BOOL && is_shift) continue;  // says nothing
      check_expr(&t, dtype, dtype, exact[k], ANYTHING, 0);
      check_expr(&t, dtype, "bool", exact[k], ANYTHING, 0);
    }
    if (!is_float) check_expr(&t, dtype, dtype, "$x[@o, @i] % $y[@o, @i]", ANYTHING, 0);
    if (d == SEER_DTYPE_I32) {
      check_expr(&t, dtype, "f32", "dot2($x[@o, @i], $y[@o, @i])", ANYTHING, 1e-6);
      check_expr(&t, dtype, "f32", "dot2_f16($x[@o, @i], $y[@o, @i])", ANYTHING, 1e-6);
    }
    if (is_float) check_expr(&t, dtype, "f32", "cast.f32(bits($x[@o, @i]))", ANYTHING, 0);
    check_expr(&t, dtype, "f32", "cast.f32(@i) * 0.5 + cast.f32($x[@o, @i])", MODERATE, 0);
  }
  // Four bits of a word, in the middle and at its top.
  check_expr(&t, "i32", "f32", "cast.f32(shr(shl($x[@o, @i], 20:i32), 28:i32))", ANYTHING, 0);
  check_expr(&t, "i32", "f32", "cast.f32(shr($x[@o, @i], 28:i32))", ANYTHING, 0);
  end(&t, 1000);
}

static void functions(void **state) {
  (void)state;
  static const char *const near[] = {"exp($x[@o, @i])", "log($x[@o, @i])", "sin($x[@o, @i])",
      "cos($x[@o, @i])", "tanh($x[@o, @i])", "erf($x[@o, @i])", "sigmoid($x[@o, @i])",
      "pow($x[@o, @i], $y[@o, @i])", "pow($x[@o, @i], 2.0)", "pow(abs($x[@o, @i]), 0.5)"};
  trial t;
  begin(&t);
  for (size_t k = 0; k < SEER_COUNT_OF(near); k++) {
    assert_true(check_expr(&t, "f32", "f32", near[k], MODERATE, 1e-4));
    check_expr(&t, "f64", "f64", near[k], MODERATE, 1e-4);
  }
  end(&t, 30);
}

static void conversions(void **state) {
  (void)state;
  trial t;
  begin(&t);
  for (int from = SEER_DTYPE_NONE + 1; from < SEER_DTYPE_COUNT; from++) {
    for (int to = SEER_DTYPE_NONE + 1; to < SEER_DTYPE_COUNT; to++) {
      const char *name = seer_dtype_name((seer_dtype)to);
      const char *expr = seer_arena_printf(t.arena, "cast.%s($x[@o, @i])", name);
      char copy[64];
      snprintf(copy, sizeof copy, "%s", expr);
      assert_true(check_expr(&t, seer_dtype_name((seer_dtype)from), name, copy, ANYTHING, 0));
    }
  }
  end(&t, 1000);
}

// One sum a column, in the lanes; one a row, across them or in a register.
static void reductions(void **state) {
  (void)state;
  static const seer_dtype dtypes[] = {SEER_DTYPE_F32, SEER_DTYPE_F64, SEER_DTYPE_I8, SEER_DTYPE_U8,
      SEER_DTYPE_I32, SEER_DTYPE_I64, SEER_DTYPE_U64, SEER_DTYPE_BOOL};
  static const char *const inner[] = {"vector", "vector", "unroll", "for"};
  trial t;
  begin(&t);
  for (int c = SEER_COMBINE_NONE + 1; c < SEER_COMBINE_COUNT; c++) {
    bool is_pair = seer_combiner_is_arg((seer_combiner)c);
    for (size_t k = 0; k < SEER_COUNT_OF(dtypes) * SEER_COUNT_OF(inner); k++) {
      const char *dtype = seer_dtype_name(dtypes[k / SEER_COUNT_OF(inner)]);
      size_t how = k % SEER_COUNT_OF(inner);
      bool by_column = how == 0;
      const char *target = is_pair ? "($z, $at)" : "$z", *index = by_column ? "@i" : "@o";
      const char *value = !is_pair ? "$x[@o, @i]"
          : by_column              ? "($x[@o, @i], @o)"
                                   : "($x[@o, @i], @i)";
      const char *text = seer_arena_printf(t.arena,
          "loop test {\n"
          "  input $x %s[%d, %d] of 0\n"
          "  input $first %s[%d] of 1\n"
          "  output $z %s[%d] of 2\n"
          "  output $at i64[%d] of 3\n"
          "  phase {\n"
          "    for @j < %d stage 0 {\n"
          "      init %s[@j] stage 0 = %s\n"
          "    }\n"
          "    for @o < %d stage 0 %s{\n"
          "      %s @i < %d stage 0 %s{\n"
          "        %s %s[%s] stage 0 = %s\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n",
          dtype, ROWS, COLUMNS, dtype, COLUMNS, dtype, COLUMNS, COLUMNS, COLUMNS, target,
          is_pair ? "($first[@j], 9223372036854775807)" : "$first[@j]", ROWS,
          by_column ? "reduce " : "", inner[how], COLUMNS, by_column ? "" : "reduce ",
          seer_combiner_name((seer_combiner)c), target, index, value);
      check_text(&t, text, SMALL, 0);
      seer_arena_reset(t.arena);
    }
  }
  end(&t, 300);
}

// Lanes every `step` elements, from the row's first element or up to its last one, in loops that
// cut into vectors of many lengths; with a guard that masks lanes at both ends.
static void steps(void **state) {
  (void)state;
  trial t;
  begin(&t);
  for (int d = SEER_DTYPE_NONE + 1; d < SEER_DTYPE_COUNT; d++) {
    const char *dtype = seer_dtype_name((seer_dtype)d);
    for (int step = -9; step <= 9; step++) {
      if (step == 0 || step == 1) continue;
      int apart = step < 0 ? -step : step, n = apart * (COLUMNS - 1) + 1;
      int first = step < 0 ? n - 1 : 0;
      static const char *const guards[] = {"", " if (@i >= 2) & (@i < 17) else $y[0]",
          " if @o < 3 else $y[0]", " if (@i + @o < 12) & (@o > 1) else $y[0]"};
      for (size_t k = 0; k < SEER_COUNT_OF(guards); k++) {
        const char *text = seer_arena_printf(t.arena,
            "loop test {\n"
            "  input $x %s[%d, %d] of 0\n"
            "  input $y %s[1] of 1\n"
            "  output $z %s[%d, %d] of 2\n"
            "  phase {\n"
            "    parallel @o < %d stage 0 {\n"
            "      vector @i < %d stage 0 {\n"
            "        store $z[@o, @i] stage 0 = $x[@o, @i * %d + %d]%s\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n",
            dtype, ROWS, n, dtype, dtype, ROWS, COLUMNS, ROWS, COLUMNS, step, first, guards[k]);
        assert_true(check_text(&t, text, ANYTHING, 0));
        seer_arena_reset(t.arena);
      }
    }
  }
  assert_true(t.met[SEER_VEC_SHUFFLE] > 1000);
  end(&t, 1000);
}

// Copies along rows, lanes from row to row: all of them, cut by bounds that only data of the loops
// around give, or guarded; squares and what is left beside them.
static void squares(void **state) {
  (void)state;
  static const char *const bounds[][2] = {{"", ""}, {" bound 21 - @o", ""},
      {"", " bound 23 - @o * 2"}, {" bound @o * 9 + 3", " bound 20"}};
  static const char *const values[] = {"$x[@i, @o, @u]", "$x[@i, @o, @u + 1]",
      "$x[@i, @o, @u - 2] if @u >= 2 else $y[0]", "$x[@i, @o + 1, @u] if @o < 2 else $y[0]",
      "$x[@i + 1, @o, 24 - @u] + $x[@i, @o, @u]", "$x[@i + 1, @o, @u + 2] if @u < 23 else $y[0]"};
  trial t;
  begin(&t);
  for (int d = SEER_DTYPE_NONE + 1; d < SEER_DTYPE_COUNT; d++) {
    const char *dtype = seer_dtype_name((seer_dtype)d);
    for (size_t k = 0; k < SEER_COUNT_OF(values) * SEER_COUNT_OF(bounds); k++) {
      const char *const *bound = bounds[k % SEER_COUNT_OF(bounds)];
      const char *text = seer_arena_printf(t.arena,
          "loop test {\n"
          "  input $x %s[25, 3, 25] of 0\n"
          "  input $y %s[1] of 1\n"
          "  output $z %s[3, 24, 24] of 2\n"
          "  phase {\n"
          "    parallel @o < 3 stage 0 {\n"
          "      unroll @u < 24 stage 0%s {\n"
          "        vector @i < 24 stage 0%s {\n"
          "          store $z[@o, @u, @i] stage 0 = %s\n"
          "        }\n"
          "      }\n"
          "    }\n"
          "  }\n"
          "}\n",
          dtype, dtype, dtype, bound[0], bound[1], values[k / SEER_COUNT_OF(bounds)]);
      check_text(&t, text, MODERATE, 0);
      seer_arena_reset(t.arena);
    }
  }
  assert_true(t.met[SEER_VEC_SHUFFLE] > 1000);
  end(&t, 1000);
}

// The same of what the kernel has written itself, row by row: each time other values in one place,
// read by two loops with a change between them, and by one that changes it as it goes.
static void own_squares(void **state) {
  (void)state;
  static const char *const outer[] = {"for", "unroll"};
  static const char *const changes[][2] = {{"", ""},
      {"        unroll @a < 9 stage 0 {\n          vector @b < 24 stage 0 {\n"
       "            store $x[@a, @b] stage 0 = $y[@o, @a, @b] * $y[@o, @a, @b]\n"
       "          }\n        }\n",
          ""},
      {"",
          "          vector @c < 9 stage 0 {\n"
          "            store $x[@c, @u + 1] stage 0 = $z[@o, @u, @c]\n          }\n"}};
  trial t;
  begin(&t);
  for (int d = SEER_DTYPE_NONE + 1; d < SEER_DTYPE_COUNT; d++) {
    const char *dtype = seer_dtype_name((seer_dtype)d);
    for (size_t k = 0; k < SEER_COUNT_OF(outer) * SEER_COUNT_OF(changes); k++) {
      const char *const *change = changes[k / SEER_COUNT_OF(outer)];
      const char *text = seer_arena_printf(t.arena,
          "loop test {\n"
          "  input $y %s[3, 9, 25] of 0\n"
          "  local $x %s[9, 25] of 1\n"
          "  output $z %s[3, 24, 9] of 2\n"
          "  output $w %s[3, 24, 9] of 3\n"
          "  phase {\n"
          "      %s @o < 3 stage 0 {\n"
          "        alloc $x stage 0\n"
          "        unroll @i < 9 stage 0 {\n"
          "          vector @j < 25 stage 0 {\n"
          "            store $x[@i, @j] stage 0 = $y[@o, @i, @j]\n"
          "          }\n"
          "        }\n"
          "        unroll @u < 24 stage 0 {\n"
          "          vector @v < 9 stage 0 {\n"
          "            store $z[@o, @u, @v] stage 0 = $x[@v, @u]\n"
          "          }\n%s"
          "        }\n%s"
          "        unroll @p < 24 stage 0 {\n"
          "          vector @q < 9 stage 0 {\n"
          "            store $w[@o, @p, @q] stage 0 = $x[@q, @p]\n"
          "          }\n"
          "        }\n"
          "      }\n"
          "  }\n"
          "}\n",
          dtype, dtype, dtype, dtype, outer[k % SEER_COUNT_OF(outer)], change[1], change[0]);
      assert_true(check_text(&t, text, MODERATE, 0));
      seer_arena_reset(t.arena);
    }
  }
  assert_true(t.met[SEER_VEC_SHUFFLE] > 100);
  end(&t, 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators),
      cmocka_unit_test(functions),
      cmocka_unit_test(conversions),
      cmocka_unit_test(reductions),
      cmocka_unit_test(steps),
      cmocka_unit_test(squares),
      cmocka_unit_test(own_squares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
