// Normalisations and reductions against direct loops.
#include <math.h>
#include <string.h>

#include "op_case.h"

static void batch_norm(seer_dtype dtype) {
  op_case *c = case_open("BatchNormalization", 15);
  case_in(c, dtype, DIMS(2, 5, 3, 4));
  for (int k = 0; k < 4; k++) case_weight(c, SEER_DTYPE_F32, DIMS(5));
  float *var = (float *)(uintptr_t)seer_graph_value(c->graph, c->in[4])->constant->data;
  for (int i = 0; i < 5; i++) c->x[4].v[i] = (double)(var[i] = fabsf(var[i]) + 0.5f);
  case_f(c, "epsilon", 1e-3);
  case_run(c);
  double *expected = new_values(c, 0);
  for (int64_t i = 0; i < 120; i++) {
    int64_t ch = i / 12 % 5;
    expected[i] =
        (c->x[0].v[i] - c->x[3].v[ch]) / sqrt(c->x[4].v[ch] + 1e-3) * c->x[1].v[ch] + c->x[2].v[ch];
    double stored;
    seer_dtype_store_f64(dtype, &stored, 0, expected[i]);
    expected[i] = seer_dtype_load_f64(dtype, &stored, 0);
  }
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_batch_norm(void **state) {
  (void)state;
  batch_norm(SEER_DTYPE_F32);
  batch_norm(SEER_DTYPE_BF16);  // scale, bias and statistics stay f32
  batch_norm(SEER_DTYPE_F16);
  batch_norm(SEER_DTYPE_F64);
  op_case *c = case_open("BatchNormalization", 15);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 5, 3, 4));
  for (int k = 0; k < 4; k++) case_weight(c, SEER_DTYPE_F32, DIMS(k == 2 ? 4 : 5));
  case_expect_error(c, "input 3 (mean) is [4], must have 1 dimensions, of 5");
  case_close(c);
}

static void test_lrn(void **state) {
  (void)state;
  static const struct {
    int64_t size;
    double beta;
  } cases[] = {{5, 0.75}, {3, 0.5}, {4, 1}, {1, 0.75}, {3, 0.6}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    op_case *c = case_open("LRN", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 7, 3, 2));
    case_i(c, "size", cases[k].size);
    case_f(c, "alpha", 0.5);
    case_f(c, "beta", cases[k].beta);
    case_f(c, "bias", 2);
    case_run(c);
    double *expected = new_values(c, 0);
    int64_t at[4] = {0}, i = 0;
    do {
      double sum = 0;
      // floor and ceil of (size - 1) / 2
      int64_t before = (cases[k].size - 1) / 2, after = cases[k].size / 2;
      for (int64_t ch = at[1] - before; ch <= at[1] + after; ch++) {
        double x = tensor_at4(&c->x[0], at[0], ch, at[2], at[3]);
        sum += x * x;
      }
      expected[i] = c->x[0].v[i] / pow(2 + 0.5 / (double)cases[k].size * sum, cases[k].beta);
      i++;
    } while (next_index(at, c->y[0].dim, 4));
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void run_softmax(int32_t opset, int64_t axis, bool is_log) {
  op_case *c = case_open(is_log ? "LogSoftmax" : "Softmax", opset);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5, 4));
  case_i(c, "axis", axis);
  c->x[0].v[7] = 90;  // e^90 overflows f32 unless the maximum is taken off
  case_run(c);
  int64_t dim[4] = {2, 3, 5, 4}, first = axis < 0 ? axis + 4 : axis, outer = 1, n = 1, inner = 1;
  for (int64_t d = 0; d < 4; d++) {
    bool is_row = opset < 13 ? d >= first : d == first;
    *(is_row ? &n : d < first ? &outer : &inner) *= dim[d];
  }
  double *expected = new_values(c, 0);
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t i = 0; i < inner; i++) {
      double sum = 0;
      for (int64_t k = 0; k < n; k++) sum += exp(c->x[0].v[(o * n + k) * inner + i]);
      for (int64_t k = 0; k < n; k++) {
        int64_t at = (o * n + k) * inner + i;
        expected[at] = is_log ? c->x[0].v[at] - log(sum) : exp(c->x[0].v[at]) / sum;
      }
    }
  }
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_softmax(void **state) {
  (void)state;
  for (int is_log = 0; is_log < 2; is_log++) {
    for (int64_t axis = -4; axis < 4; axis++) {
      run_softmax(13, axis, is_log);
      run_softmax(11, axis, is_log);
    }
  }
  op_case *c = case_open("Softmax", 13);  // defaults: the last axis, rank 1
  case_in(c, SEER_DTYPE_F32, DIMS(5));
  case_run(c);
  double sum = 0;
  for (int i = 0; i < 5; i++) sum += c->y[0].v[i];
  assert_true(fabs(sum - 1) < 1e-6);
  case_close(c);
  c = case_open("Softmax", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 5));
  case_i(c, "axis", 2);
  case_expect_error(c, "attribute 'axis' is 2, must be in [-2, 2)");
  case_close(c);
}

// axes as bits; -1: not given
static void run_reduce(
    const char *op, int32_t opset, bool axes_are_input, int mask, bool keeps, bool is_noop) {
  op_case *c = case_open(op, opset);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5, 4));
  int64_t axes[4], dim[4] = {2, 3, 5, 4}, n = 1;
  double as_double[4];
  uint32_t n_axes = 0;
  for (int d = 0; d < 4; d++) {
    if (mask < 0 || !((mask >> d) & 1)) continue;
    axes[n_axes] = d % 2 ? d : d - 4;  // some from the end
    as_double[n_axes] = (double)axes[n_axes];
    n_axes++;
  }
  if (mask >= 0 && axes_are_input)
    case_const(c, SEER_DTYPE_I64, 1, (int64_t[]){n_axes}, as_double);
  else if (mask >= 0)
    case_ints(c, "axes", n_axes, axes);
  if (!keeps) case_i(c, "keepdims", 0);
  if (is_noop) case_i(c, "noop_with_empty_axes", 1);
  for (int64_t k = 0; strcmp(op, "ReduceLogSum") == 0 && k < 120; k++)
    c->x[0].v[k] = fabs(c->x[0].v[k]) + 0.25;
  case_run(c);
  int reduced = mask > 0 ? mask : is_noop ? 0 : 15;
  int64_t y_dim[4];
  uint32_t y_rank = 0;
  for (int d = 0; d < 4; d++) {
    bool is_reduced = (reduced >> d) & 1;
    n *= is_reduced ? dim[d] : 1;
    if (!is_reduced || keeps) y_dim[y_rank++] = is_reduced ? 1 : dim[d];
  }
  expect_dims(&c->y[0], y_rank, y_dim);
  double *expected = new_values(c, 0);
  int64_t index[4] = {0}, i = 0, count[120] = {0};
  do {
    int64_t at = 0;
    for (int d = 0; d < 4; d++) {
      if (!((reduced >> d) & 1)) at = at * dim[d] + index[d];
    }
    double x = c->x[0].v[i++], *y = &expected[at];
    bool is_first = count[at]++ == 0;
    if (strcmp(op, "ReduceMax") == 0)
      *y = is_first ? x : fmax(*y, x);
    else if (strcmp(op, "ReduceMin") == 0)
      *y = is_first ? x : fmin(*y, x);
    else if (strcmp(op, "ReduceProd") == 0)
      *y = is_first ? x : *y * x;
    else if (strcmp(op, "ReduceSumSquare") == 0 || strcmp(op, "ReduceL2") == 0)
      *y += x * x;
    else if (strcmp(op, "ReduceL1") == 0)
      *y += fabs(x);
    else if (strcmp(op, "ReduceLogSumExp") == 0)
      *y += exp(x);
    else
      *y += strcmp(op, "ReduceMean") == 0 ? x / (double)n : x;
  } while (next_index(index, dim, 4));
  bool is_root = strcmp(op, "ReduceL2") == 0, is_log = strncmp(op, "ReduceLog", 9) == 0;
  for (int64_t k = 0; (is_root || is_log) && k < tensor_elems(&c->y[0]); k++)
    expected[k] = is_root ? sqrt(expected[k]) : log(expected[k]);
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_reduce(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
      "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"};
  for (size_t k = 0; k < SEER_COUNT_OF(ops); k++) {
    for (int mask = -1; mask < 16; mask += 3) {
      run_reduce(ops[k], 11, false, mask, mask & 1, false);
      run_reduce(ops[k], 18, true, mask, !(mask & 1), false);
    }
    run_reduce(ops[k], 18, true, 12, true, false);  // the mean over rows and columns
    run_reduce(ops[k], 18, true, -1, true, true);  // nothing at all
  }
  op_case *c = case_open("ReduceMean", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_ints(c, "axes", DIMS(1, -1));
  case_expect_error(c, "'axes' names dimension 1 twice");
  case_close(c);
  c = case_open("ReduceSum", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_I64, DIMS(1));
  case_expect_error(c, "must be constant after folding");
  case_close(c);
}

static void test_arg(void **state) {
  (void)state;
  for (int bits = 0; bits < 8; bits++) {
    op_case *c = case_open(bits & 1 ? "ArgMax" : "ArgMin", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(3, 5, 4));
    for (int i = 0; i < 60; i++) c->x[0].v[i] = floor(c->x[0].v[i]);  // with ties: the first wins
    case_i(c, "axis", 1);
    case_i(c, "keepdims", bits >> 1 & 1);
    if (bits & 4) case_i(c, "select_last_index", 1);
    case_run(c);
    assert_int_equal(c->y[0].dtype, SEER_DTYPE_I64);
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 12; i++) {
      int64_t best = 0;
      for (int64_t k = 1; k < 5; k++) {
        double a = c->x[0].v[(i / 4 * 5 + k) * 4 + i % 4],
               b = c->x[0].v[(i / 4 * 5 + best) * 4 + i % 4];
        if (bits & 1 ? a > b : a < b) best = k;
        if (bits & 4 && a == b) best = k;
      }
      expected[i] = (double)best;
    }
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void test_hardmax(void **state) {
  (void)state;
  op_case *c = case_open("Hardmax", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3, 5, 4));
  for (int i = 0; i < 60; i++) c->x[0].v[i] = floor(c->x[0].v[i]);
  case_i(c, "axis", 1);
  case_run(c);
  double *expected = new_values(c, 0);
  for (int64_t i = 0; i < 12; i++) {
    int64_t best = 0;
    for (int64_t k = 1; k < 5; k++) {
      if (c->x[0].v[(i / 4 * 5 + k) * 4 + i % 4] > c->x[0].v[(i / 4 * 5 + best) * 4 + i % 4])
        best = k;
    }
    expected[(i / 4 * 5 + best) * 4 + i % 4] = 1;
  }
  expect_values(c, 0, expected);
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batch_norm),
      cmocka_unit_test(test_lrn),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_arg),
      cmocka_unit_test(test_hardmax),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
