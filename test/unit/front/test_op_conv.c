// Conv and pooling against direct loops in NCHW.
#include <math.h>

#include "op_case.h"

typedef struct {
  int64_t n, c, h, w, oc, kh, kw, sh, sw, dh, dw, group, pt, pl, pb, pr;
  const char *auto_pad;  // NULL: the pads above
  bool has_bias;
} conv;

// The paddings that auto_pad stands for, worked out here anew.
static void resolve(int64_t in, int64_t k, int64_t s, int64_t d, const char *auto_pad,
    int64_t *begin, int64_t *end) {
  int64_t total = ((in + s - 1) / s - 1) * s + (k - 1) * d + 1 - in;
  if (total < 0) total = 0;
  if (auto_pad[0] == 'V') total = 0;
  *begin = auto_pad[5] == 'U' ? total / 2 : (total + 1) / 2;
  *end = total - *begin;
}

static void run_conv(conv p) {
  op_case *c = case_open("Conv", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(p.n, p.c, p.h, p.w));
  case_weight(c, SEER_DTYPE_F32, DIMS(p.oc, p.c / p.group, p.kh, p.kw));
  if (p.has_bias) case_weight(c, SEER_DTYPE_F32, DIMS(p.oc));
  case_ints(c, "strides", DIMS(p.sh, p.sw));
  case_ints(c, "dilations", DIMS(p.dh, p.dw));
  case_ints(c, "kernel_shape", DIMS(p.kh, p.kw));
  if (p.group > 1) case_i(c, "group", p.group);
  if (p.auto_pad) {
    case_s(c, "auto_pad", p.auto_pad);
    resolve(p.h, p.kh, p.sh, p.dh, p.auto_pad, &p.pt, &p.pb);
    resolve(p.w, p.kw, p.sw, p.dw, p.auto_pad, &p.pl, &p.pr);
  } else {
    case_ints(c, "pads", DIMS(p.pt, p.pl, p.pb, p.pr));
  }
  case_run(c);
  int64_t oh = (p.h + p.pt + p.pb - (p.kh - 1) * p.dh - 1) / p.sh + 1;
  int64_t ow = (p.w + p.pl + p.pr - (p.kw - 1) * p.dw - 1) / p.sw + 1;
  expect_dims(&c->y[0], DIMS(p.n, p.oc, oh, ow));
  double *expected = new_values(c, 0);
  int64_t at = 0, cg = p.c / p.group, og = p.oc / p.group;
  for (int64_t n = 0; n < p.n; n++) {
    for (int64_t o = 0; o < p.oc; o++) {
      for (int64_t y = 0; y < oh; y++) {
        for (int64_t x = 0; x < ow; x++, at++) {
          double sum = p.has_bias ? c->x[2].v[o] : 0;
          for (int64_t i = 0; i < cg; i++) {
            for (int64_t ky = 0; ky < p.kh; ky++) {
              for (int64_t kx = 0; kx < p.kw; kx++) {
                sum += tensor_at4(&c->x[0], n, o / og * cg + i, y * p.sh + ky * p.dh - p.pt,
                           x * p.sw + kx * p.dw - p.pl) *
                    tensor_at4(&c->x[1], o, i, ky, kx);
              }
            }
          }
          expected[at] = sum;
        }
      }
    }
  }
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_conv(void **state) {
  (void)state;
  conv base = {.n = 1,
      .c = 3,
      .h = 7,
      .w = 5,
      .oc = 4,
      .kh = 3,
      .kw = 3,
      .sh = 1,
      .sw = 1,
      .dh = 1,
      .dw = 1,
      .group = 1};
  run_conv(base);
  conv p = base;
  p.n = 2, p.has_bias = true, p.pt = p.pl = p.pb = p.pr = 1;
  run_conv(p);
  p.sh = 2, p.sw = 3, p.pb = 0, p.pl = 2;  // uneven
  run_conv(p);
  p.dh = 2, p.dw = 1, p.pt = 3;
  run_conv(p);
  p = base;
  p.kh = p.kw = 1, p.sh = p.sw = 2;  // one reduction axis: ic
  run_conv(p);
  p.c = 1, p.has_bias = true;  // nothing but an ic of extent 1
  run_conv(p);
  p = base;
  p.kh = 1, p.kw = 5, p.pl = p.pr = 2, p.oc = 1;
  run_conv(p);
  p = base;
  p.pb = p.pr = 1, p.sh = p.sw = 2;  // trailing pads that no window reads
  run_conv(p);
}

static void test_groups(void **state) {
  (void)state;
  conv base = {.n = 1,
      .c = 6,
      .h = 5,
      .w = 7,
      .oc = 6,
      .kh = 3,
      .kw = 3,
      .sh = 1,
      .sw = 1,
      .dh = 1,
      .dw = 1,
      .pt = 1,
      .pl = 1,
      .pb = 1,
      .pr = 1,
      .group = 6};
  run_conv(base);  // depthwise
  base.sh = base.sw = 2, base.has_bias = true;
  run_conv(base);
  base.oc = 12;  // multiplier 2
  run_conv(base);
  base.group = 3, base.oc = 9;
  run_conv(base);
  base.group = 2, base.oc = 4, base.kh = base.kw = 1, base.pt = base.pl = base.pb = base.pr = 0;
  run_conv(base);
}

static void test_auto_pad(void **state) {
  (void)state;
  static const char *const kinds[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  for (uint32_t k = 0; k < 3; k++) {
    for (int64_t stride = 1; stride <= 3; stride++) {
      conv p = {.n = 1,
          .c = 2,
          .h = 8,
          .w = 7,
          .oc = 2,
          .kh = 4,
          .kw = 3,
          .sh = stride,
          .sw = stride,
          .dh = 1,
          .dw = 2,
          .group = 1,
          .auto_pad = kinds[k]};
      run_conv(p);
    }
  }
}

// What the scheduler relies on: stages, roles and axes of a padded convolution with bias, channels
// last.
static void test_conv_form(void **state) {
  (void)state;
  op_case *c = case_open("Conv", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 3, 9, 9));
  case_weight(c, SEER_DTYPE_F32, DIMS(8, 3, 3, 3));
  case_weight(c, SEER_DTYPE_F32, DIMS(8));
  case_ints(c, "pads", DIMS(1, 1, 1, 1));
  case_ints(c, "strides", DIMS(2, 2));
  case_run(c);
  const seer_dag *dag = c->dag;
  assert_int_equal(dag->n_stage, 3);
  const seer_dag_stage *pad = &dag->stage[0], *acc = &dag->stage[1], *out = &dag->stage[2];
  assert_int_equal(pad->role, SEER_STAGE_PAD);
  assert_int_equal(acc->role, SEER_STAGE_ANCHOR);
  assert_int_equal(out->role, SEER_STAGE_EPILOGUE);
  static const seer_axis_role roles[7] = {SEER_AXIS_BATCH, SEER_AXIS_Y, SEER_AXIS_X,
      SEER_AXIS_OUT_CHANNEL, SEER_AXIS_KY, SEER_AXIS_KX, SEER_AXIS_IN_CHANNEL};
  assert_int_equal(acc->n_space, 4);
  assert_int_equal(acc->n_reduce, 3);
  for (uint32_t k = 0; k < 7; k++) assert_int_equal(acc->axis[k].role, roles[k]);
  assert_int_equal(pad->axis[1].extent, 11);  // (5 - 1) * 2 + 3
  assert_int_equal(pad->axis[3].extent, 3);
  assert_int_equal(acc->combiner, SEER_COMBINE_SUM);
  assert_int_equal(seer_expr_at(&dag->expr, acc->body[0])->op, SEER_EXPR_MUL);
  case_close(c);
}

static void test_conv_1d_3d(void **state) {
  (void)state;
  op_case *c = case_open("Conv", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 11));
  case_weight(c, SEER_DTYPE_F32, DIMS(5, 3, 3));
  case_ints(c, "pads", DIMS(2, 1));
  case_ints(c, "strides", DIMS(2));
  case_run(c);
  expect_dims(&c->y[0], DIMS(2, 5, 6));
  double *expected = new_values(c, 0);
  for (int64_t i = 0; i < 60; i++) {
    int64_t n = i / 30, o = i / 6 % 5, x = i % 6;
    for (int64_t ic = 0; ic < 3; ic++) {
      for (int64_t k = 0; k < 3; k++) {
        int64_t at = x * 2 + k - 2;
        if (at >= 0 && at < 11)
          expected[i] += c->x[0].v[(n * 3 + ic) * 11 + at] * c->x[1].v[(o * 3 + ic) * 3 + k];
      }
    }
  }
  expect_values(c, 0, expected);
  case_close(c);

  c = case_open("Conv", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, 4, 3, 5));
  case_weight(c, SEER_DTYPE_F32, DIMS(2, 2, 2, 1, 3));
  case_ints(c, "pads", DIMS(1, 0, 1, 0, 0, 1));
  case_run(c);
  expect_dims(&c->y[0], DIMS(1, 2, 4, 3, 5));
  expected = new_values(c, 0);
  int64_t at[5] = {0}, i = 0;
  do {
    for (int64_t ic = 0; ic < 2; ic++) {
      for (int64_t kz = 0; kz < 2; kz++) {
        for (int64_t kx = 0; kx < 3; kx++) {
          int64_t z = at[2] + kz - 1, x = at[4] + kx - 1;
          if (z < 0 || z >= 4 || x < 0 || x >= 5) continue;
          expected[i] += c->x[0].v[((ic * 4 + z) * 3 + at[3]) * 5 + x] *
              c->x[1].v[((at[1] * 2 + ic) * 2 + kz) * 3 + kx];
        }
      }
    }
    i++;
  } while (next_index(at, c->y[0].dim, 5));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_conv_errors(void **state) {
  (void)state;
  struct {
    int64_t c, wc, group, kernel, pad;
    const char *part;
  } cases[] = {
      {4, 4, 3, 3, 0, "'group' is 3, must divide channels 4"},
      {4, 3, 1, 3, 0, "must be channels / group = 4 / 1"},
      {4, 4, 1, 9, 0, "larger than spatial dimension 0"},
      {4, 4, 1, 3, -1, "'pads' has entry -1, must be at least 0"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    op_case *c = case_open("Conv", 11);
    case_in(c, SEER_DTYPE_F32, DIMS(1, cases[k].c, 5, 5));
    case_weight(c, SEER_DTYPE_F32, DIMS(6, cases[k].wc, cases[k].kernel, cases[k].kernel));
    case_i(c, "group", cases[k].group);
    case_ints(c, "pads", DIMS(cases[k].pad, 0, 0, 0));
    case_expect_error(c, cases[k].part);
    case_close(c);
  }
  op_case *c = case_open("Conv", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 4, 5, 5));
  case_weight(c, SEER_DTYPE_F32, DIMS(6, 4, 3, 3));
  case_weight(c, SEER_DTYPE_F32, DIMS(5));
  case_expect_error(c, "bias is [5], must be [6]");
  case_close(c);
  c = case_open("Conv", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 4, 5, 5));
  case_weight(c, SEER_DTYPE_F32, DIMS(6, 4, 3, 3));
  case_ints(c, "strides", DIMS(1, 2, 3));
  case_expect_error(c, "'strides' has 3 entries, must have 2");
  case_close(c);
}

// ---- pooling

typedef struct {
  int64_t h, w, kh, kw, s, d, pad[4];
  bool is_average, is_ceil, counts_pads;
} pool;

static void run_pool(pool p) {
  op_case *c = case_open(p.is_average ? "AveragePool" : "MaxPool", 19);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, p.h, p.w));
  case_ints(c, "kernel_shape", DIMS(p.kh, p.kw));
  case_ints(c, "strides", DIMS(p.s, p.s));
  case_ints(c, "dilations", DIMS(p.d, p.d));
  case_ints(c, "pads", 4, p.pad);
  case_i(c, "ceil_mode", p.is_ceil);
  if (p.is_average) case_i(c, "count_include_pad", p.counts_pads);
  case_run(c);
  int64_t in[2] = {p.h, p.w}, k[2] = {p.kh, p.kw}, out[2];
  for (int d = 0; d < 2; d++) {
    int64_t room = in[d] + p.pad[d] + p.pad[d + 2] - (k[d] - 1) * p.d - 1;
    out[d] = room / p.s + 1;
    if (p.is_ceil && room % p.s && out[d] * p.s < in[d] + p.pad[d]) out[d]++;
  }
  expect_dims(&c->y[0], DIMS(2, 3, out[0], out[1]));
  double *expected = new_values(c, 0);
  int64_t at[4] = {0}, i = 0;
  do {
    double best = -INFINITY, sum = 0, count = 0;
    for (int64_t ky = 0; ky < p.kh; ky++) {
      for (int64_t kx = 0; kx < p.kw; kx++) {
        int64_t y = at[2] * p.s + ky * p.d - p.pad[0], x = at[3] * p.s + kx * p.d - p.pad[1];
        bool is_inside = y >= 0 && x >= 0 && y < p.h && x < p.w;
        if (is_inside) best = fmax(best, tensor_at4(&c->x[0], at[0], at[1], y, x));
        if (is_inside) sum += tensor_at4(&c->x[0], at[0], at[1], y, x);
        // What ceil_mode has beyond the trailing padding is no padding.
        count += p.counts_pads ? y < p.h + p.pad[2] && x < p.w + p.pad[3] : is_inside;
      }
    }
    expected[i++] = p.is_average ? sum / count : best;
  } while (next_index(at, c->y[0].dim, 4));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_pool(void **state) {
  (void)state;
  for (int bits = 0; bits < 8; bits++) {
    bool average = bits & 1, ceil = bits & 2, counts = bits & 4;
    if (counts && !average) continue;
    run_pool((pool){7, 9, 2, 2, 2, 1, {0, 0, 0, 0}, average, ceil, counts});
    run_pool((pool){7, 6, 3, 3, 2, 1, {1, 1, 1, 1}, average, ceil, counts});
    run_pool((pool){8, 7, 3, 2, 3, 1, {1, 0, 0, 1}, average, ceil, counts});
    run_pool((pool){9, 11, 3, 3, 2, 2, {2, 1, 1, 2}, average, ceil, counts});
    run_pool((pool){5, 5, 1, 1, 2, 1, {0, 0, 0, 0}, average, ceil, counts});
    run_pool((pool){6, 6, 1, 3, 1, 1, {0, 1, 0, 1}, average, ceil, counts});
    // ceil_mode drops a window
    run_pool((pool){4, 4, 3, 3, 3, 1, {1, 1, 1, 1}, average, ceil, counts});
    // that begins just outside
    run_pool((pool){4, 4, 2, 2, 5, 1, {1, 1, 1, 1}, average, ceil, counts});
  }
}

static void test_global(void **state) {
  (void)state;
  for (int is_max = 0; is_max < 2; is_max++) {
    op_case *c = case_open(is_max ? "GlobalMaxPool" : "GlobalAveragePool", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5, 7));
    case_run(c);
    expect_dims(&c->y[0], DIMS(2, 3, 1, 1));
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 6; i++) {
      double best = -INFINITY, sum = 0;
      for (int64_t k = 0; k < 35; k++) {
        best = fmax(best, c->x[0].v[i * 35 + k]);
        sum += c->x[0].v[i * 35 + k];
      }
      expected[i] = is_max ? best : sum / 35;
    }
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void test_pool_errors(void **state) {
  (void)state;
  op_case *c = case_open("MaxPool", 12);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, 5, 5));
  case_ints(c, "kernel_shape", DIMS(3));
  case_expect_error(c, "'kernel_shape' has 1 entries, must have 2");
  case_close(c);
  c = case_open("MaxPool", 12);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, 5, 5));
  case_ints(c, "kernel_shape", DIMS(3, 3));
  case_s(c, "auto_pad", "SAME");
  case_expect_error(c, "'auto_pad' is 'SAME'");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conv),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_auto_pad),
      cmocka_unit_test(test_conv_form),
      cmocka_unit_test(test_conv_1d_3d),
      cmocka_unit_test(test_conv_errors),
      cmocka_unit_test(test_pool),
      cmocka_unit_test(test_global),
      cmocka_unit_test(test_pool_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
