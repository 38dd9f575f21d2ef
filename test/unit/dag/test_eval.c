// The interpreter against hand-written loops, and what it promises: on demand, guarded loads touch
// nothing.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nets.h"
#include "support/test.h"

static float *numbers(seer_arena *arena, int64_t n, uint64_t seed) {
  float *x = SEER_NEW_ARRAY(arena, float, n);
  for (int64_t k = 0; k < n; k++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[k] = (float)((int64_t)(seed >> 33) % 9 - 4);
  }
  return x;
}

static void check_conv(conv_shape s) {
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  seer_dag *dag = make_conv(arena, &s, &out);
  float *x = numbers(arena, s.n * s.y * s.x * s.ic, 1),
        *w = numbers(arena, s.oc * s.k * s.k * s.ic, 2);
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, x);
  seer_dag_eval_set_input(eval, 1, w);
  int64_t oy = conv_out(s.y, &s), ox = conv_out(s.x, &s);
  float *got = SEER_NEW_ARRAY(arena, float, s.n *oy *ox *s.oc);
  seer_dag_eval_all(eval, out, got);
  for (int64_t n = 0; n < s.n; n++)
    for (int64_t yy = 0; yy < oy; yy++)
      for (int64_t xx = 0; xx < ox; xx++)
        for (int64_t oc = 0; oc < s.oc; oc++) {
          float sum = 0;
          for (int64_t ky = 0; ky < s.k; ky++)
            for (int64_t kx = 0; kx < s.k; kx++) {
              int64_t iy = yy * s.stride + ky * s.dilation - s.pad,
                      ix = xx * s.stride + kx * s.dilation - s.pad;
              if (iy < 0 || iy >= s.y || ix < 0 || ix >= s.x) continue;
              for (int64_t ic = 0; ic < s.ic; ic++) {
                sum += x[((n * s.y + iy) * s.x + ix) * s.ic + ic] *
                    w[((oc * s.k + ky) * s.k + kx) * s.ic + ic];
              }
            }
          if (s.relu && sum < 0) sum = 0;
          assert_float_equal(got[((n * oy + yy) * ox + xx) * s.oc + oc], sum, 0);
        }
  seer_arena_destroy(arena);
}

static void conv_equals_loops(void **state) {
  (void)state;
  check_conv((conv_shape){1, 7, 9, 5, 3, 3, 1, 1, 1, true});
  check_conv((conv_shape){2, 8, 8, 3, 5, 3, 2, 1, 1, false});
  check_conv((conv_shape){1, 11, 11, 1, 17, 5, 1, 2, 3, true});
  check_conv((conv_shape){1, 5, 5, 2, 2, 1, 1, 1, 0, false});
}

static void matmul_equals_loops(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  int64_t m = 13, n = 7, k = 300;
  uint32_t out;
  seer_dag *dag = make_matmul(arena, m, n, k, true, &out);
  float *a = numbers(arena, m * k, 3), *b = numbers(arena, k * n, 4);
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, a);
  seer_dag_eval_set_input(eval, 1, b);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t kk = 0; kk < k; kk++) sum += (double)(a[i * k + kk] * b[kk * n + j]);
      double got = seer_dag_eval_at(eval, out, (int64_t[]){i, j});
      assert_true(got == fmax(sum, 0));
    }
  seer_arena_destroy(arena);
}

static void depthwise_and_pool_equal_loops(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  int64_t y = 10, c = 6;
  float *x = numbers(arena, y * y * c, 5), *w = numbers(arena, 9 * c, 6);
  uint32_t dw, pool;
  seer_dag *d = make_depthwise(arena, y, c, &dw), *p = make_max_pool(arena, y, c, &pool);
  seer_dag_eval *de = seer_dag_eval_create(d, arena), *pe = seer_dag_eval_create(p, arena);
  seer_dag_eval_set_input(de, 0, x);
  seer_dag_eval_set_input(de, 1, w);
  seer_dag_eval_set_input(pe, 0, x);
  float *got = SEER_NEW_ARRAY(arena, float, y *y *c);
  seer_dag_eval_all(de, dw, got);
  for (int64_t i = 0; i < y - 2; i++)
    for (int64_t j = 0; j < y - 2; j++)
      for (int64_t k = 0; k < c; k++) {
        float sum = 0;
        for (int64_t u = 0; u < 3; u++)
          for (int64_t v = 0; v < 3; v++)
            sum += x[((i + u) * y + j + v) * c + k] * w[(u * 3 + v) * c + k];
        assert_float_equal(got[(i * (y - 2) + j) * c + k], sum, 0);
      }
  seer_dag_eval_all(pe, pool, got);
  for (int64_t i = 0; i < y / 2; i++)
    for (int64_t j = 0; j < y / 2; j++)
      for (int64_t k = 0; k < c; k++) {
        float best = -1000;
        for (int64_t u = 0; u < 4; u++)
          best = fmaxf(best, x[((i * 2 + u / 2) * y + j * 2 + u % 2) * c + k]);
        assert_float_equal(got[(i * (y / 2) + j) * c + k], best, 0);
      }
  seer_arena_destroy(arena);
}

static void softmax_equals_loops(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  int64_t rows = 3, cols = 700;
  uint32_t out;
  seer_dag *dag = make_softmax(arena, rows, cols, &out);
  float *x = numbers(arena, rows * cols, 7), *got = SEER_NEW_ARRAY(arena, float, rows *cols);
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, x);
  seer_dag_eval_all(eval, out, got);
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0;
    for (int64_t k = 0; k < cols; k++) sum += exp((double)x[i * cols + k]);
    for (int64_t k = 0; k < cols; k++) {
      double want = exp((double)x[i * cols + k]) / sum;
      assert_true(fabs((double)got[i * cols + k] - want) < 2e-5 * want);
    }
  }
  seer_arena_destroy(arena);
}

static void argmax_takes_the_first(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  seer_dag *dag = make_argmax(arena, 3, 5, &out);
  float x[15] = {
      1, 4, 4, 2, 4, -1, -1, -2, -1, -3, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, x);
  float value[3];
  int64_t index[3];
  seer_dag_eval_all(eval, out, value);
  seer_dag_eval_all(eval, out + 1, index);
  assert_true(value[0] == 4 && value[1] == -1 && value[2] < -1e38f);
  assert_int_equal(index[0], 1);
  assert_int_equal(index[1], 0);
  assert_int_equal(index[2], 0);
  seer_arena_destroy(arena);
}

// One element of a stack of convolutions costs its cone, not the whole buffers: all inputs but the
// first rows lie in memory that must not be read.
static void on_demand_touches_only_the_cone(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  conv_shape s = {1, 100, 8, 4, 4, 3, 1, 1, 1, true};
  uint32_t out;
  seer_dag *dag = make_conv(arena, &s, &out);
  float *x = numbers(arena, s.y * s.x * s.ic, 8), *w = numbers(arena, s.oc * 9 * s.ic, 9);
  for (int64_t k = 2 * s.x * s.ic; k < s.y * s.x * s.ic; k++) x[k] = NAN;
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, x);
  seer_dag_eval_set_input(eval, 1, w);
  for (int64_t xx = 0; xx < s.x; xx++) {
    double got = seer_dag_eval_at(eval, out, (int64_t[]){0, 0, xx, 1});
    assert_true(got == got);
  }
  double nan_row = seer_dag_eval_at(eval, out, (int64_t[]){0, 1, 0, 0});
  assert_true(nan_row != nan_row);
  seer_arena_destroy(arena);
}

static void pitch_is_kept(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "copy");
  int64_t dim[2] = {3, 4};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_I32, dim, 2, 6);
  seer_dag_axis ax[2] = {{"i", 3, SEER_AXIS_OTHER}, {"j", 4, SEER_AXIS_OTHER}};
  uint32_t st = seer_dag_add_stage(dag, "y", SEER_STAGE_ANCHOR, ax, 2, 0);
  seer_expr at[2] = {seer_dag_var(dag, st, 0), seer_dag_var(dag, st, 1)};
  seer_expr body =
      mul(dag, seer_dag_load(dag, x, at), seer_expr_int(&dag->expr, SEER_DTYPE_I32, 3));
  uint32_t y = seer_dag_set_body(dag, st, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, y, 5);
  seer_dag_finish(dag);
  int32_t in[18], got[15];
  for (int k = 0; k < 18; k++) in[k] = k;
  for (int k = 0; k < 15; k++) got[k] = -7;
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, x, in);
  seer_dag_eval_all(eval, y, got);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 4; j++) assert_int_equal(got[i * 5 + j], 3 * (i * 6 + j));
    assert_int_equal(got[i * 5 + 4], -7);
  }
  assert_int_equal(seer_dag_buf_elems(&dag->buf[y]), 15);
  seer_arena_destroy(arena);
}

static uint32_t f16_bits(double x) {
  return seer_float_to_bits(seer_dtype_format(SEER_DTYPE_F16), x);
}
static uint32_t bf16_bits(double x) {
  return seer_float_to_bits(seer_dtype_format(SEER_DTYPE_BF16), x);
}

static void half_formats_round_once(void **state) {
  (void)state;
  assert_int_equal(f16_bits(1.0), 0x3C00);
  assert_int_equal(f16_bits(65504.0), 0x7BFF);
  assert_int_equal(f16_bits(65520.0), 0x7C00);
  assert_int_equal(f16_bits(-0.0), 0x8000);
  assert_int_equal(f16_bits(0x1p-24), 1);
  assert_int_equal(f16_bits(0x1p-25), 0);  // ties to even
  assert_int_equal(f16_bits(0x1.8p-24), 2);
  assert_int_equal(f16_bits(1 + 0x1p-11), 0x3C00);  // tie to even
  assert_int_equal(f16_bits(1 + 0x1p-11 + 0x1p-40), 0x3C01);
  assert_int_equal(bf16_bits(1.0), 0x3F80);
  assert_int_equal(bf16_bits(1 + 0x1p-8), 0x3F80);
  assert_int_equal(bf16_bits(3.4e38), 0x7F80);
  for (uint32_t k = 0; k < 65536; k++) {
    double x = seer_float_from_bits(seer_dtype_format(SEER_DTYPE_F16), (uint16_t)k);
    if (!isnan(x)) assert_int_equal(f16_bits(x), k);
    double y = seer_float_from_bits(seer_dtype_format(SEER_DTYPE_BF16), (uint16_t)k);
    if (!isnan(y)) assert_int_equal(bf16_bits(y), k);
  }
}

// All codes of the 8-bit formats come back; what is between two numbers goes to the nearer, the
// even one of two equally near; what is beyond the largest becomes infinity, or NaN.
static void float8_rounds_once(void **state) {
  (void)state;
  for (int t = SEER_DTYPE_F8E4M3FN; t <= SEER_DTYPE_F8E5M2FNUZ; t++) {
    const seer_float_format *f = seer_dtype_format((seer_dtype)t);
    int n_nan = 0;
    for (uint32_t k = 0; k < 256; k++) {
      double x = seer_float_from_bits(f, (uint16_t)k);
      n_nan += isnan(x);
      if (!isnan(x)) assert_int_equal(seer_float_to_bits(f, x), k);
      if ((k & 127) == f->largest || (k & 127) > f->largest) continue;
      double next = seer_float_from_bits(f, (uint16_t)(k + 1)), tie = (x + next) / 2;
      if (isnan(x)) continue;
      assert_true(fabs(next) > fabs(x));
      assert_int_equal(seer_float_to_bits(f, tie), k % 2 ? k + 1 : k);
      assert_int_equal(seer_float_to_bits(f, tie * (1 + 0x1p-40)), k + 1);
    }
    assert_int_equal(n_nan, t == SEER_DTYPE_F8E4M3FN ? 2 : t == SEER_DTYPE_F8E5M2 ? 6 : 1);
  }
  static const struct {
    seer_dtype dtype;
    double value;
    uint32_t bits;
  } cases[] = {
      {SEER_DTYPE_F8E4M3FN, 448, 0x7E},
      {SEER_DTYPE_F8E4M3FN, 464, 0x7E},
      {SEER_DTYPE_F8E4M3FN, 464.001, 0x7F},
      {SEER_DTYPE_F8E4M3FN, -INFINITY, 0xFF},
      {SEER_DTYPE_F8E4M3FN, 0x1p-9, 1},
      {SEER_DTYPE_F8E4M3FNUZ, 240, 0x7F},
      {SEER_DTYPE_F8E4M3FNUZ, 247.9, 0x7F},
      {SEER_DTYPE_F8E4M3FNUZ, -248, 0x80},
      {SEER_DTYPE_F8E4M3FNUZ, -0x1p-12, 0},
      {SEER_DTYPE_F8E4M3FNUZ, -0.0, 0},
      {SEER_DTYPE_F8E5M2, 61439, 0x7B},
      {SEER_DTYPE_F8E5M2, -61440, 0xFC},
      {SEER_DTYPE_F8E5M2, NAN, 0x7F},
      {SEER_DTYPE_F8E5M2FNUZ, INFINITY, 0x80},
      {SEER_DTYPE_F8E5M2FNUZ, 0x1p-17, 1},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const seer_float_format *f = seer_dtype_format(cases[k].dtype);
    assert_int_equal(seer_float_to_bits(f, cases[k].value), cases[k].bits);
  }
  assert_true(seer_dtype_largest(SEER_DTYPE_F8E5M2FNUZ) == 57344);
  assert_null(seer_dtype_format(SEER_DTYPE_F32));
  assert_null(seer_dtype_format(SEER_DTYPE_I4));
}

// Codes 0 to 7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6; what is beyond is 6, and NaN is -0.
static void float4_rounds_once(void **state) {
  (void)state;
  static const double number[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const seer_float_format *f = seer_dtype_format(SEER_DTYPE_F4E2M1);
  for (uint32_t k = 0; k < 16; k++) {
    double x = seer_float_from_bits(f, (uint16_t)k);
    assert_true(x == (k < 8 ? number[k] : -number[k - 8]));
    assert_true(seer_float_from_bits(f, (uint16_t)(k | 0xF0)) == x);
    assert_int_equal(seer_float_to_bits(f, x), k);
    if (k % 8 == 7) continue;
    double tie = (x + seer_float_from_bits(f, (uint16_t)(k + 1))) / 2;
    assert_int_equal(seer_float_to_bits(f, tie), k % 2 ? k + 1 : k);
    assert_int_equal(seer_float_to_bits(f, tie * (1 + 0x1p-40)), k + 1);
  }
  assert_int_equal(seer_float_to_bits(f, 1e9), 7);
  assert_int_equal(seer_float_to_bits(f, -INFINITY), 15);
  assert_int_equal(seer_float_to_bits(f, NAN), 8);
  assert_true(seer_scalar_highest(SEER_DTYPE_F4E2M1).f == 6);
}

// All codes but one are powers of two; what has no neighbour among them is NaN.
static void powers_of_two_have_no_sign(void **state) {
  (void)state;
  const seer_float_format *f = seer_dtype_format(SEER_DTYPE_F8E8M0);
  for (uint32_t k = 0; k < 255; k++) {
    double x = ldexp(1, (int)k - 127);
    assert_true(seer_float_from_bits(f, (uint16_t)k) == x);
    assert_int_equal(seer_float_to_bits(f, x), k);
    assert_int_equal(seer_float_to_bits(f, 1.4999 * x), k);
    assert_int_equal(seer_float_to_bits(f, 1.5 * x), k + 1);  // of two as near the larger
  }
  const double others[] = {0, -0.0, -1, NAN, INFINITY, -INFINITY, 0x1.fp-128, 0x1.8p127};
  for (size_t k = 0; k < SEER_COUNT_OF(others); k++)
    assert_int_equal(seer_float_to_bits(f, others[k]), 255);
  assert_true(isnan(seer_float_from_bits(f, 255)));
  assert_true(seer_scalar_lowest(SEER_DTYPE_F8E8M0).f == 0x1p-127);
  assert_true(seer_scalar_highest(SEER_DTYPE_F8E8M0).f == 0x1p127);
}

// One value a byte, whose high bits do not count.
static void two_bit_integers(void **state) {
  (void)state;
  uint8_t bytes[2] = {0xFE, 0x01};
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_I2, bytes, 0), -2);
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_U2, bytes, 0), 2);
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_I2, bytes, 1), 1);
  seer_dtype_store_f64(SEER_DTYPE_I2, bytes, 0, 7);
  assert_int_equal(bytes[0], 1);
  seer_dtype_store_i64(SEER_DTYPE_U2, bytes, 0, 7);
  assert_int_equal(bytes[0], 3);
  assert_true(seer_dtype_is_small_int(SEER_DTYPE_I2) && !seer_dtype_is_small_int(SEER_DTYPE_I8));
  assert_false(seer_dtype_is_small_int(SEER_DTYPE_F4E2M1));
}

static void four_bit_integers(void **state) {
  (void)state;
  uint8_t bytes[3] = {0x1F, 0xF8, 0x77};
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_I4, bytes, 0), -1);
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_I4, bytes, 1), -8);
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_I4, bytes, 2), 7);
  assert_int_equal(seer_dtype_load_i64(SEER_DTYPE_U4, bytes, 1), 8);
  seer_dtype_store_f64(SEER_DTYPE_I4, bytes, 0, -9.5);
  assert_int_equal(bytes[0], 0xF8);
  seer_dtype_store_f64(SEER_DTYPE_U4, bytes, 0, 99);
  assert_int_equal(bytes[0], 15);
  seer_dtype_store_i64(SEER_DTYPE_I4, bytes, 0, 9);
  assert_int_equal(bytes[0], 0xF9);
  assert_true(seer_combiner_identity(SEER_COMBINE_MAX, 0, SEER_DTYPE_I4).i == -8);
  assert_true(seer_combiner_identity(SEER_COMBINE_MIN, 0, SEER_DTYPE_U4).i == 15);
  assert_int_equal(seer_dtype_bits(SEER_DTYPE_I4), 4);
  assert_int_equal(seer_dtype_bytes(SEER_DTYPE_I4), 1);
}

static void dtype_stores_saturate(void **state) {
  (void)state;
  uint8_t u8;
  int8_t i8;
  int64_t i64;
  uint64_t u64;
  seer_dtype_store_f64(SEER_DTYPE_U8, &u8, 0, 300.7);
  assert_int_equal(u8, 255);
  seer_dtype_store_f64(SEER_DTYPE_U8, &u8, 0, -3);
  assert_int_equal(u8, 0);
  seer_dtype_store_f64(SEER_DTYPE_I8, &i8, 0, -128.9);
  assert_int_equal(i8, -128);
  seer_dtype_store_f64(SEER_DTYPE_I64, &i64, 0, 1e30);
  assert_true(i64 == INT64_MAX);
  seer_dtype_store_f64(SEER_DTYPE_I64, &i64, 0, NAN);
  assert_true(i64 == 0);
  seer_dtype_store_f64(SEER_DTYPE_U64, &u64, 0, 1e30);
  assert_true(u64 == UINT64_MAX);
  seer_dtype dtype;
  for (int k = 1; k < SEER_DTYPE_COUNT; k++) {
    assert_true(seer_dtype_parse(seer_dtype_name((seer_dtype)k), &dtype) && dtype == (seer_dtype)k);
  }
  assert_false(seer_dtype_parse("f8", &dtype));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conv_equals_loops),
      cmocka_unit_test(matmul_equals_loops),
      cmocka_unit_test(depthwise_and_pool_equal_loops),
      cmocka_unit_test(softmax_equals_loops),
      cmocka_unit_test(argmax_takes_the_first),
      cmocka_unit_test(on_demand_touches_only_the_cone),
      cmocka_unit_test(pitch_is_kept),
      cmocka_unit_test(half_formats_round_once),
      cmocka_unit_test(float8_rounds_once),
      cmocka_unit_test(float4_rounds_once),
      cmocka_unit_test(powers_of_two_have_no_sign),
      cmocka_unit_test(two_bit_integers),
      cmocka_unit_test(four_bit_integers),
      cmocka_unit_test(dtype_stores_saturate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
