// Compiled loops against the interpreter of loop IR: each way that the code generator treats loops,
// tails, guards, accumulators and types, on hand-written loops. Buffers end or begin at
// inaccessible pages.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/count.h"
#include "support/jit_check.h"
#include "support/levels.h"
#include "support/test.h"

static seer_loop *parse(seer_arena *arena, const char *text) {
  seer_loop *loop;
  seer_status status = seer_loop_parse("test", text, strlen(text), arena, &loop);
  if (!status) status = seer_loop_verify(loop);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
  return loop;
}

// Operands: small integers; for integer inputs whose name starts with "index", 0 to 6; for inputs
// of one byte called "codes" all bytes; for f32 called "near" all signs, exponents and first four
// bits of the mantissa, with the numbers just below and above.
static void fill(const seer_loop_buf *buf, void *data, seer_rng *rng) {
  if (strcmp(buf->name, "codes") == 0 || strcmp(buf->name, "near") == 0) {
    for (int64_t k = 0; k < buf->n_elems; k++) {
      uint32_t bits = ((uint32_t)(k / 3) << 19) + (uint32_t)(k % 3) - 1;
      if (buf->name[0] == 'c')
        ((uint8_t *)data)[k] = (uint8_t)k;
      else
        ((uint32_t *)data)[k] = bits;
    }
    return;
  }
  for (int64_t k = 0; k < buf->n_elems; k++) {
    double value = strncmp(buf->name, "index", 5) == 0 ? (double)seer_rng_range(rng, 0, 6)
        : buf->dtype == SEER_DTYPE_BOOL                ? (double)seer_rng_range(rng, 0, 1)
        : seer_dtype_is_signed(buf->dtype)             ? (double)seer_rng_range(rng, -5, 5)
                                                       : (double)seer_rng_range(rng, 0, 200);
    seer_dtype_store_f64(buf->dtype, data, k, value);
  }
}

static void compare(const seer_loop *loop, void *const *want, void *const *got, double tolerance,
    uint32_t vector_bytes) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->storage != SEER_STORE_OUTPUT && buf->storage != SEER_STORE_SHARED) continue;
    for (int64_t k = 0; k < buf->n_elems; k++) {
      double x = seer_dtype_load_f64(buf->dtype, want[b], k),
             y = seer_dtype_load_f64(buf->dtype, got[b], k);
      bool is_float8 = seer_dtype_is_float(buf->dtype) && seer_dtype_bytes(buf->dtype) == 1;
      if (is_float8 && !isnan(x) && signbit(x) != signbit(y)) y = NAN;  // the zero counts too
      bool same = x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * (1 + fabs(x));
      if (same) continue;
      fail_msg("%s, %u bytes: $%s[%" PRId64 "] is %.9g, expected %.9g", loop->name, vector_bytes,
          buf->name, k, y, x);
    }
  }
}

// Runs the loop compiled for each level of x86-64 that this machine has, and for the machine's own
// features with vectors of 16, 32 and 64 bytes (wider than the machine's: LLVM splits them). Other
// levels are compiled.
static void check_within(const char *text, double tolerance) {
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop = parse(arena, text);
  void **want = SEER_NEW_ARRAY(arena, void *, loop->n_buf + 1),
       **got = SEER_NEW_ARRAY(arena, void *, loop->n_buf + 1);
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    size_t n_bytes = (size_t)loop->buf[b].n_elems * seer_dtype_bytes(loop->buf[b].dtype);
    if (loop->buf[b].storage == SEER_STORE_LOCAL) continue;
    want[b] = seer_arena_alloc(arena, n_bytes + 64, 64);
    got[b] = seer_arena_alloc(arena, n_bytes + 64, 64);
    if (loop->buf[b].storage == SEER_STORE_INPUT || loop->buf[b].storage == SEER_STORE_PACKED) {
      fill(&loop->buf[b], want[b], &rng);
    } else {
      memset(want[b], 0xFF, n_bytes);
    }
    memcpy(got[b], want[b], n_bytes);
  }
  must(seer_loop_eval(loop, want, NULL));
  for (uint32_t l = 0; l < TEST_LEVELS; l++) {
    test_level level = test_level_get(l, arena);
    bool is_native = l == TEST_LEVEL_NATIVE;
    uint32_t first = is_native ? 16 : level.target.vector_bytes, last = is_native ? 64 : first;
    for (uint32_t bytes = first; bytes <= last; bytes *= 2) {
      level.target.vector_bytes = bytes;
      jit_runner *runner = jit_runner_create(&level.target);
      for (uint64_t seed = 0; seed < 2; seed++) {
        const char *wrong = level.runs_here ? jit_run(runner, loop, got, seed, arena)
                                            : jit_compile(runner, loop, arena);
        if (wrong) fail_msg("%s, %s, %u bytes: %s", loop->name, level.name, bytes, wrong);
        if (level.runs_here) compare(loop, want, got, tolerance, bytes);
        if (!is_native) break;
      }
      jit_runner_destroy(runner);
    }
  }
  seer_arena_destroy(arena);
}

static void check(const char *text) { check_within(text, 0); }

// Registers, tails of rows and lanes in one tile, packed weights read unmasked.
static void gemm_with_tails(void **state) {
  (void)state;
  check(
      "loop gemm {\n"
      "  input $a f32[13, 9] of 0\n  packed $b f32[2, 9, 16] of 1 pack [1 * 16, 0 * 1, 1 * 1]\n"
      "  output $c f32[13, 27] of 2\n  local $acc f32[4, 16] of 3\n"
      "  phase {\n    parallel @i < 4 stage 1 {\n      for @j < 2 stage 1 {\n        alloc $acc "
      "stage 0\n"
      "        unroll @p < 4 stage 0 bound @i * -4 + 13 {\n          vector @q < 16 stage 0 {\n"
      "            init $acc[@p, @q] stage 0 = 0.0\n          }\n        }\n"
      "        for @k < 9 stage 0 reduce {\n          unroll @r < 4 stage 0 bound @i * -4 + 13 {\n"
      "            vector @s < 16 stage 0 {\n"
      "              sum $acc[@r, @s] stage 0 = $a[@i * 4 + @r, @k] * $b[@j, @k, @s]\n            "
      "}\n          }\n        }\n"
      "        unroll @u < 4 stage 1 bound @i * -4 + 13 {\n          vector @v < 16 stage 1 bound "
      "@j * -16 + 27 {\n"
      "            store $c[@i * 4 + @u, @j * 16 + @v] stage 1 = max($acc[@u, @v], 0.0)\n"
      "          }\n        }\n      }\n    }\n  }\n}\n");
}

// The target in memory, split reduction with a tail, the tile accumulated in registers.
static void gemm_in_memory(void **state) {
  (void)state;
  check(
      "loop gemm2 {\n"
      "  input $a f32[7, 11] of 0\n  input $b f32[11, 21] of 1\n  output $c f32[7, 21] of 2\n"
      "  phase {\n    for @i < 3 stage 0 {\n      for @j < 3 stage 0 {\n"
      "        unroll @p < 3 stage 0 bound @i * -3 + 7 {\n          vector @q < 8 stage 0 bound @j "
      "* -8 + 21 {\n"
      "            init $c[@i * 3 + @p, @j * 8 + @q] stage 0 = 0.0\n          }\n        }\n"
      "        for @ko < 3 stage 0 reduce {\n          for @ki < 4 stage 0 reduce copies 4 bound "
      "@ko * -4 + 11 {\n"
      "            unroll @r < 3 stage 0 bound @i * -3 + 7 {\n              vector @s < 8 stage 0 "
      "bound @j * -8 + 21 {\n"
      "                sum $c[@i * 3 + @r, @j * 8 + @s] stage 0 = $a[@i * 3 + @r, @ko * 4 + @ki] * "
      "$b[@ko * 4 + @ki, @j * 8 + @s]\n"
      "              }\n            }\n          }\n        }\n      }\n    }\n  }\n}\n");
}

// Padding as a guard: rows chosen by pointer, channels in lanes; stride 2.
static void guarded_conv(void **state) {
  (void)state;
  check(
      "loop conv {\n"
      "  input $x f32[7, 7, 6] of 0\n  packed $w f32[3, 3, 6, 8] of 1 pack [1 * 1, 2 * 1, 3 * 1, 0 "
      "* 1]\n"
      "  output $y f32[4, 4, 8] of 2\n  local $acc f32[4, 8] of 3\n"
      "  phase {\n    parallel @y < 4 stage 1 {\n      alloc $acc stage 0\n"
      "      unroll @p < 4 stage 0 {\n        vector @q < 8 stage 0 {\n          init $acc[@p, @q] "
      "stage 0 = 0.0\n        }\n      }\n"
      "      for @ky < 3 stage 0 reduce copies 64 {\n        for @kx < 3 stage 0 reduce copies 64 "
      "{\n          for @c < 6 stage 0 reduce {\n"
      "            unroll @r < 4 stage 0 {\n              vector @s < 8 stage 0 {\n"
      "                sum $acc[@r, @s] stage 0 = ($x[@y * 2 + @ky - 1, @r * 2 + @kx - 1, @c] if "
      "(@y * 2 + @ky >= 1) & (@y * 2 + @ky < 8) & "
      "((@r * 2 + @kx >= 1) & (@r * 2 + @kx < 8)) else 0.0) * $w[@ky, @kx, @c, @s]\n"
      "              }\n            }\n          }\n        }\n      }\n"
      "      unroll @u < 4 stage 1 {\n        vector @v < 8 stage 1 {\n"
      "          store $y[@y, @u, @v] stage 1 = $acc[@u, @v]\n        }\n      }\n    }\n  }\n}\n");
}

// Lanes along x: the guard differs between lanes; the value outside is not zero; a row's end.
static void pool_along_lanes(void **state) {
  (void)state;
  check(
      "loop pool {\n"
      "  input $x f32[3, 9, 13] of 0\n  output $y f32[3, 9, 13] of 1\n"
      "  phase {\n    parallel @c < 3 stage 0 {\n      for @y < 9 stage 0 {\n        for @xo < 2 "
      "stage 0 {\n"
      "          vector @i < 8 stage 0 bound @xo * -8 + 13 {\n            init $y[@c, @y, @xo * 8 "
      "+ @i] stage 0 = -inf\n          }\n"
      "          for @ky < 3 stage 0 reduce {\n            for @kx < 3 stage 0 reduce {\n"
      "              vector @j < 8 stage 0 bound @xo * -8 + 13 {\n"
      "                max $y[@c, @y, @xo * 8 + @j] stage 0 = $x[@c, @y + @ky - 1, @xo * 8 + @j + "
      "@kx - 1] if (@y + @ky >= 1) & (@y + @ky < 10) & "
      "((@xo * 8 + @j + @kx >= 1) & (@xo * 8 + @j + @kx < 14)) else -1000.0\n"
      "              }\n            }\n          }\n        }\n      }\n    }\n  }\n}\n");
}

// Reductions across lanes: sum, max, a tail of lanes, and exp.
static void softmax(void **state) {
  (void)state;
  check_within(
      "loop softmax {\n"
      "  input $x f32[5, 19] of 0\n  output $y f32[5, 19] of 1\n  local $m f32[1] of 2\n  local $s "
      "f32[1] of 3\n"
      "  phase {\n    parallel @i < 5 stage 2 {\n      alloc $m stage 0\n      alloc $s stage 1\n"
      "      init $m[0] stage 0 = -inf\n      for @ko < 3 stage 0 reduce {\n        vector @ki < 8 "
      "stage 0 reduce bound @ko * -8 + 19 {\n"
      "          max $m[0] stage 0 = $x[@i, @ko * 8 + @ki]\n        }\n      }\n"
      "      init $s[0] stage 1 = 0.0\n      for @lo < 3 stage 1 reduce {\n        vector @li < 8 "
      "stage 1 reduce bound @lo * -8 + 19 {\n"
      "          sum $s[0] stage 1 = exp($x[@i, @lo * 8 + @li] - $m[0])\n        }\n      }\n"
      "      vector @v < 19 stage 2 {\n        store $y[@i, @v] stage 2 = exp($x[@i, @v] - $m[0]) "
      "/ $s[0]\n      }\n"
      "    }\n  }\n}\n",
      3e-7);
}

// Reductions across lanes of which no accumulator is made, as the loop does something else, too:
// what stands for the lanes beyond the bound is the combiner's.
static void reduction_beside_a_store(void **state) {
  (void)state;
  static const struct {
    const char *combiner, *first;
  } cases[] = {{"sum", "0.0"}, {"prod", "1.0"}, {"min", "inf"}, {"max", "-inf"}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    char text[1024];
    snprintf(text, sizeof(text),
        "loop beside {\n"
        "  input $x f32[5, 21] of 0\n  output $y f32[5] of 1\n  output $z f32[5, 24] of 2\n"
        "  phase {\n    for @i < 5 stage 0 {\n      init $y[@i] stage 0 = %s\n"
        "      vector @k < 24 stage 0 reduce bound 21 {\n"
        "        %s $y[@i] stage 0 = abs($x[@i, @k]) + 1.0\n"
        "        store $z[@i, @k] stage 1 = $x[@i, @k] * 2.0\n"
        "      }\n    }\n  }\n}\n",
        cases[k].first, cases[k].combiner);
    check_within(text, 3e-6);
  }
}

// First index of the extreme, across lanes, with ties.
static void argmax_across_lanes(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    char text[2048];
    const char *op = k ? "argmin" : "argmax";
    snprintf(text, sizeof(text),
        "loop arg {\n"
        "  input $x f32[6, 37] of 0\n  output $v f32[6] of 1\n  output $i i64[6] of 2\n"
        "  phase {\n    for @r < 6 stage 0 {\n      init ($v, $i)[@r] stage 0 = (%s, "
        "9223372036854775807)\n"
        "      for @ko < 5 stage 0 reduce {\n        vector @ki < 8 stage 0 reduce bound @ko * -8 "
        "+ 37 {\n"
        "          %s ($v, $i)[@r] stage 0 = ($x[@r, @ko * 8 + @ki], @ko * 8 + @ki)\n"
        "        }\n      }\n    }\n  }\n}\n",
        k ? "inf" : "-inf", op);
    check(text);
  }
}

// A vector of everything else: gather, transpose (strides), reverse, a broadcast, a long VECTOR
// loop.
static void movement(void **state) {
  (void)state;
  check(
      "loop gather {\n  input $x f32[7, 10] of 0\n  input $index i64[11] of 1\n  output $y f32[11, "
      "10] of 2\n  output $z f32[10, 11] of 3\n"
      "  phase {\n    for @i < 11 stage 0 {\n      vector @j < 10 stage 0 {\n        store $y[@i, "
      "@j] stage 0 = $x[max(min($index[@i], 6), 0), @j]\n      }\n    }\n"
      "    for @j2 < 10 stage 1 {\n      vector @i2 < 16 stage 1 bound 11 {\n        store $z[@j2, "
      "@i2] stage 1 = $x[max(min($index[@i2], 6), 0), @j2]\n      }\n    }\n  }\n}\n");
  check(
      "loop move {\n  input $x f32[12, 9] of 0\n  output $t f32[9, 12] of 1\n  output $r f32[12, "
      "9] of 2\n  output $m f32[108] of 3\n"
      "  phase {\n    for @i < 9 stage 0 {\n      vector @j < 12 stage 0 {\n        store $t[@i, "
      "@j] stage 0 = $x[@j, @i]\n      }\n    }\n"
      "    for @k < 12 stage 1 {\n      vector @l < 9 stage 1 {\n        store $r[@k, 8 - @l] "
      "stage 1 = $x[11 - @k, @l] + $x[@k, 0]\n      }\n    }\n"
      "    for @p < 7 stage 2 {\n      vector @q < 16 stage 2 bound @p * -16 + 108 {\n"
      "        store $m[@p * 16 + @q] stage 2 = $x[(@p * 16 + @q) / 9, (@p * 16 + @q) % 9]\n      "
      "}\n    }\n  }\n}\n");
  check(
      "loop long {\n  input $x f32[3, 1000] of 0\n  output $y f32[3, 1000] of 1\n  output $s "
      "f32[3] of 2\n"
      "  phase {\n    parallel @i < 3 stage 0 {\n      vector @j < 1000 stage 0 {\n        store "
      "$y[@i, @j] stage 0 = $x[@i, @j] * 2.0\n      }\n"
      "      init $s[@i] stage 1 = 0.0\n      vector @k < 1024 stage 1 reduce bound 997 {\n        "
      "sum $s[@i] stage 1 = $x[@i, @k]\n      }\n    }\n  }\n}\n");
}

// Element types in memory and in arithmetic; floor division; saturating casts; logic.
static void element_types(void **state) {
  (void)state;
  static const char *const types[] = {"f32", "f64", "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz",
      "f8e5m2", "f8e5m2fnuz", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "i4", "u4"};
  for (size_t k = 0; k < SEER_COUNT_OF(types); k++) {
    char text[2048];
    bool is_float = types[k][0] == 'f' || types[k][0] == 'b';
    const char *t = types[k];
    snprintf(text, sizeof(text),
        "loop %s {\n  input $x %s[37] of 0\n  input $y %s[37] of 1\n  output $a %s[37] of 2\n  "
        "output $b %s[37] of 3\n"
        "  output $c f32[37] of 4\n  output $d i32[37] of 5\n  output $e bool[37] of 6\n  phase "
        "{\n    for @o < 3 stage 0 {\n"
        "      vector @i < 16 stage 0 bound @o * -16 + 37 {\n"
        "        store $a[@o * 16 + @i] stage 0 = max($x[@o * 16 + @i] + $y[@o * 16 + @i], "
        "abs($x[@o * 16 + @i]))\n"
        "        store $b[@o * 16 + @i] stage 0 = %s\n"
        "        store $c[@o * 16 + @i] stage 0 = cast.f32($x[@o * 16 + @i])\n"
        "        store $d[@o * 16 + @i] stage 0 = cast.i32($y[@o * 16 + @i])\n"
        "        store $e[@o * 16 + @i] stage 0 = $x[@o * 16 + @i] < $y[@o * 16 + @i]\n"
        "      }\n    }\n  }\n}\n",
        t, t, t, t, t,
        is_float ? "select($x[@o * 16 + @i] == $y[@o * 16 + @i], floor($x[@o * 16 + @i]), "
                   "min($x[@o * 16 + @i], $y[@o * 16 + @i]))"
                 : "$x[@o * 16 + @i] / 3:@ + $y[@o * 16 + @i] % 5:@");
    for (char *at; (at = strstr(text, ":@")) != NULL;) {  // constants carry their type
      char rest[2048];
      snprintf(rest, sizeof(rest), "%s", at + 2);
      snprintf(at, sizeof(text) - (size_t)(at - text), ":%s%s", t, rest);
    }
    check(text);
  }
}

// Every code of a type of one byte to f32, and f32 values around every tie to it.
static void conversions_of_small_types(void **state) {
  (void)state;
  static const char *const types[] = {
      "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "i4", "u4", "i8", "u8"};
  for (size_t k = 0; k < SEER_COUNT_OF(types); k++) {
    char text[1024];
    snprintf(text, sizeof(text),
        "loop %s {\n  input $codes %s[256] of 0\n  input $near f32[24576] of 1\n"
        "  output $a f32[256] of 2\n  output $b %s[24576] of 3\n  output $c i32[256] of 4\n"
        "  phase {\n    for @p < 16 stage 0 {\n      vector @i < 16 stage 0 {\n"
        "        store $a[@p * 16 + @i] stage 0 = cast.f32($codes[@p * 16 + @i])\n"
        "        store $c[@p * 16 + @i] stage 0 = cast.i32($codes[@p * 16 + @i])\n"
        "      }\n    }\n    for @q < 1536 stage 1 {\n      vector @j < 16 stage 1 {\n"
        "        store $b[@q * 16 + @j] stage 1 = cast.%s($near[@q * 16 + @j])\n"
        "      }\n    }\n  }\n}\n",
        types[k], types[k], types[k], types[k]);
    check(text);
  }
}

// A reduction of rows whose bound cuts the reduction itself: copies beyond it must not count.
static void cut_reduction_in_copies(void **state) {
  (void)state;
  check(
      "loop cut {\n  input $x f32[10, 8] of 0\n  output $y f32[8] of 1\n  local $acc f32[8] of 2\n"
      "  phase {\n    alloc $acc stage 0\n    vector @i < 8 stage 0 {\n      init $acc[@i] stage 0 "
      "= 0.0\n    }\n"
      "    for @ro < 3 stage 0 reduce {\n      unroll @ri < 4 stage 0 reduce bound @ro * -4 + 10 "
      "{\n        vector @j < 8 stage 0 {\n"
      "          sum $acc[@j] stage 0 = $x[@ro * 4 + @ri, @j]\n        }\n      }\n    }\n"
      "    vector @k < 8 stage 1 {\n      store $y[@k] stage 1 = $acc[@k]\n    }\n  }\n}\n");
}

// A producer attached inside: a local panel in memory whose region is cut, LETs, bounds that may be
// empty.
static void attached_producer(void **state) {
  (void)state;
  check(
      "loop attached {\n  input $x f32[21] of 0\n  output $y f32[19] of 1\n  local $p f32[10] of "
      "2\n"
      "  phase {\n    for @o < 4 stage 1 {\n      let @start in [0, 24] stage 1 = @o * 8\n      "
      "alloc $p stage 0\n"
      "      for @i < 2 stage 0 {\n        vector @j < 5 stage 0 bound 21 - @start - @i * 5 {\n"
      "          store $p[@i * 5 + @j] stage 0 = $x[@start + @i * 5 + @j] * 2.0\n        }\n      "
      "}\n"
      "      vector @k < 8 stage 1 bound 19 - @start {\n"
      "        store $y[@start + @k] stage 1 = $p[@k] + $p[@k + 1] + $p[@k + 2]\n      }\n    }\n  "
      "}\n}\n");
}

// Two phases through a shared buffer; parts beyond a parallel loop's bound do nothing.
static void phases(void **state) {
  (void)state;
  check(
      "loop phases {\n  input $x f32[6, 5] of 0\n  shared $t f32[5, 6] of 1\n  output $y f32[5, 6] "
      "of 2\n"
      "  phase {\n    parallel @a < 2 stage 0 {\n      parallel @b < 4 stage 0 bound @a * -4 + 6 "
      "{\n        for @c < 5 stage 0 {\n"
      "          store $t[@c, @a * 4 + @b] stage 0 = $x[@a * 4 + @b, @c]\n        }\n      }\n    "
      "}\n  }\n"
      "  phase {\n    parallel @d < 5 stage 1 {\n      vector @e < 6 stage 1 {\n        store "
      "$y[@d, @e] stage 1 = $t[@d, @e] - $t[@d, 5 - @e]\n      }\n    }\n  }\n}\n");
}

static const char small[] =
    "loop small {\n  input $x f32[40] of 0\n  output $y f32[40] of 1\n"
    "  phase {\n    for @o < 3 stage 0 {\n      vector @i < 16 stage 0 bound @o * -16 + 40 {\n"
    "        store $y[@o * 16 + @i] stage 0 = $x[@o * 16 + @i] + 1.0\n      }\n    }\n  }\n}\n";

static void bytes_repeat(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  jit_runner *a = jit_runner_create(NULL), *b = jit_runner_create(NULL);
  seer_kernel *first = SEER_NEW(arena, seer_kernel), *second = SEER_NEW(arena, seer_kernel);
  for (int round = 0; round < 3; round++) {
    must(seer_codegen_build(jit_runner_codegen(a), parse(arena, small), "same", arena, first));
    must(seer_codegen_build(jit_runner_codegen(b), parse(arena, small), "same", arena, second));
    assert_int_equal(first->n_object_bytes, second->n_object_bytes);
    assert_memory_equal(first->object, second->object, first->n_object_bytes);
    assert_true(first->code_bytes > 0 && first->code_bytes < first->n_object_bytes);
  }
  assert_int_equal(first->n_arg, 3);
  assert_int_equal(first->arg[2].storage, SEER_STORE_LOCAL);
  assert_int_equal(first->arg[1].n_bytes, 160);
  jit_runner_destroy(a);
  jit_runner_destroy(b);
  seer_arena_destroy(arena);
}

// Two loaded kernels with the same symbols; unloading one leaves the other.
static void same_symbols_side_by_side(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  jit_runner *runner = jit_runner_create(NULL);
  char other[sizeof(small)];
  memcpy(other, small, sizeof(small));
  *strstr(other, "1.0\n") = '3';
  seer_kernel *k = SEER_NEW(arena, seer_kernel), *l = SEER_NEW(arena, seer_kernel);
  seer_status status =
      seer_codegen_build(jit_runner_codegen(runner), parse(arena, small), "same", arena, k);
  if (!status)
    status = seer_codegen_build(jit_runner_codegen(runner), parse(arena, other), "same", arena, l);
  if (status) fail_msg("%s", seer_status_message(status));
  float x[40] = {0}, y[40];
  float scratch[128];
  void *buffers[3] = {x, y, scratch};
  for (int round = 0; round < 3; round++) {
    seer_kernel_phase one = NULL, two = NULL;
    seer_loaded loaded_one, loaded_two;
    status = seer_kernel_load(k, &one, &loaded_one);
    if (!status) status = seer_kernel_load(l, &two, &loaded_two);
    if (status) fail_msg("%s", seer_status_message(status));
    one(buffers, 0);
    assert_true(y[0] == 1 && y[39] == 1);
    seer_object_unload(&loaded_one);
    two(buffers, 0);
    assert_true(y[0] == 3 && y[39] == 3);
    seer_object_unload(&loaded_two);
  }
  jit_runner_destroy(runner);
  seer_arena_destroy(arena);
}

// Other targets compile: text of the right machine, no object of the wrong one.
static void cross_targets(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static const struct {
    const char *target, *word;
  } cases[] = {
      {"x86_64-linux-gnu -cpu=znver4 "
       "-features=+avx,+avx2,+avx512bw,+avx512dq,+avx512f,+avx512vl,+fma -lanes=16 -registers=32",
          "zmm"},
      {"x86_64-linux-gnu -cpu=x86-64 -features=+sse2 -lanes=4 -registers=16", "xmm"},
      {"aarch64-linux-gnu -cpu=cortex-a72 -features=+neon -lanes=4 -registers=32", ".4s"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_target target;
    seer_codegen *codegen = NULL;
    seer_status status = seer_target_parse(cases[k].target, arena, &target);
    if (!status) status = seer_codegen_create(NULL, &target, &codegen);
    if (status) fail_msg("%s", seer_status_message(status));
    seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
    status = seer_codegen_build(codegen, parse(arena, small), "cross", arena, kernel);
    if (status) fail_msg("%s", seer_status_message(status));
    const char *text = seer_codegen_print(codegen, parse(arena, small), true, arena);
    if (!strstr(text, cases[k].word))
      fail_msg("%s: no %s in\n%s", cases[k].target, cases[k].word, text);
    assert_non_null(strstr(
        seer_codegen_print(codegen, parse(arena, small), false, arena), "define void @kernel_p0"));
    seer_codegen_destroy(codegen);
  }
  seer_target target;
  seer_codegen *codegen;
  seer_status status = seer_target_parse("x86_64-linux-gnu -cpu=x86-64", arena, &target);
  if (status) fail_msg("%s", seer_status_message(status));
  target.triple = "nothing-known";
  status = seer_codegen_create(NULL, &target, &codegen);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// The checker itself: code that leaves its buffers is seen, at either end, reading or writing.
static void checker_sees_faults(void **state) {
  (void)state;
  static const char *const index[][2] = {
      {"@i", "@i + 1"}, {"@i", "@i - 1"}, {"@i + 900", "@i"}, {"@i - 900", "@i"}};
  for (size_t k = 0; k < SEER_COUNT_OF(index); k++) {
    seer_arena *arena = seer_arena_create("test");
    const char *text = seer_arena_printf(arena,
        "loop bad {\n  input $x f32[40] of 0\n  output $y f32[40] of 1\n  phase {\n"
        "    for @i < 40 stage 0 {\n      store $y[%s] stage 0 = $x[%s]\n    }\n  }\n}\n",
        index[k][1], index[k][0]);
    seer_loop *loop;
    must(seer_loop_parse("bad", text, strlen(text), arena, &loop));
    float x[40] = {0}, y[40];
    void *data[2] = {x, y};
    jit_runner *runner = jit_runner_create(NULL);
    const char *begin = jit_run(runner, loop, data, 0, arena);
    const char *end = jit_run(runner, loop, data, 1, arena);
    if (!begin && !end) fail_msg("not seen:\n%s", text);
    jit_runner_destroy(runner);
    seer_arena_destroy(arena);
  }
}

// A product whose weights lie in panels of [k][32], read by `times` tiles of `rows` rows each.
static const char *product_in_panels(
    seer_arena *arena, int panels, int k, int times, int rows, const char *at) {
  int m = times * rows, n = panels * 32;
  return seer_arena_printf(arena,
      "loop gemm {\n  output $C f32[%d, %d] of 2\n  input $A f32[%d, %d] of 0\n"
      "  packed $B.pack f32[%d, %d, 32] of 1 pack [1 * 32, 0 * 1, 1 * 1]\n  phase {\n"
      "    parallel @n < %d stage 0 {\n      for @m < %d stage 0 {\n"
      "        for @k < %d stage 0 reduce {\n          unroll @r < %d stage 0 {\n"
      "            vector @v < 32 stage 0 {\n"
      "              sum $C[@m * %d + @r, @n * 32 + @v] stage 0 = $A[@m * %d + @r, @k] * "
      "$B.pack[%s, @k, @v]\n            }\n          }\n        }\n      }\n    }\n  }\n}\n",
      m, n, m, k, panels, k, panels, times, k, rows, rows, rows, at);
}

// Packed weights are asked for ahead of time: near where the same line is used often enough, far
// where a panel is read again and there is a next one that the caches do not have.
static void prefetches(void **state) {
  (void)state;
  static const struct {
    const char *why;
    int panels, k, times, rows;
    const char *at;
    uint32_t near, far;  // a vector is a cache line here, a row of a panel two
  } cases[] = {
      {"weights of 1 MB, each panel read five times", 32, 256, 5, 8, "@n", 2, 1},
      {"each panel read once", 32, 256, 1, 8, "@n", 2, 0},
      {"they fit half of the second-level cache", 4, 256, 5, 8, "@n", 2, 0},
      {"they fit the first-level cache", 2, 32, 5, 8, "@n", 0, 0},
      {"two multiply-adds for each load", 32, 256, 5, 2, "@n", 0, 0},
      {"two panels do not fit the second-level cache", 2, 2048, 5, 8, "@n", 2, 0},
      {"there is no next panel", 32, 256, 5, 8, "3", 2, 0},
  };
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  seer_codegen *codegen = NULL;
  must(seer_target_parse(
      "x86_64-linux-gnu -cpu=skylake-avx512 -features=+avx,+avx2,+avx512f,+fma -l2=400K", arena,
      &target));
  must(seer_codegen_create(NULL, &target, &codegen));
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_loop *loop = parse(arena,
        product_in_panels(
            arena, cases[i].panels, cases[i].k, cases[i].times, cases[i].rows, cases[i].at));
    const char *text = seer_codegen_print(codegen, loop, true, arena);
    uint32_t near = count_words(text, "prefetcht0"), far = count_words(text, "prefetcht1");
    if (near != cases[i].near || far != cases[i].far)
      fail_msg("%s: %u near, %u far\n%s", cases[i].why, near, far, text);
  }
  seer_codegen_destroy(codegen);
  seer_arena_destroy(arena);
}

// What has no code says so.
static void refusals(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  jit_runner *runner = jit_runner_create(NULL);
  seer_loop *loop = parse(arena,
      "loop no {\n  input $x i64[4] of 0\n  output $y i64[4] of 1\n  phase {\n    for @i < 4 stage "
      "0 {\n"
      "      store $y[@i] stage 0 = pow($x[@i], $x[@i])\n    }\n  }\n}\n");
  seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
  seer_status status = seer_codegen_build(jit_runner_codegen(runner), loop, "no", arena, kernel);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "pow"));
  seer_status_free(status);
  jit_runner_destroy(runner);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gemm_with_tails),
      cmocka_unit_test(gemm_in_memory),
      cmocka_unit_test(guarded_conv),
      cmocka_unit_test(pool_along_lanes),
      cmocka_unit_test(softmax),
      cmocka_unit_test(reduction_beside_a_store),
      cmocka_unit_test(argmax_across_lanes),
      cmocka_unit_test(movement),
      cmocka_unit_test(element_types),
      cmocka_unit_test(conversions_of_small_types),
      cmocka_unit_test(cut_reduction_in_copies),
      cmocka_unit_test(attached_producer),
      cmocka_unit_test(phases),
      cmocka_unit_test(bytes_repeat),
      cmocka_unit_test(same_symbols_side_by_side),
      cmocka_unit_test(cross_targets),
      cmocka_unit_test(checker_sees_faults),
      cmocka_unit_test(prefetches),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
