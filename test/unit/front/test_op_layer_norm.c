// Normalisations by the input's own statistics against direct loops.
#include <math.h>
#include <string.h>

#include "op_case.h"

// Row of element (n, c, y, x) of a [2, 6, 3, 4] input.
typedef int64_t (*row_fn)(const int64_t *at, int64_t arg);

static int64_t row_from_axis(const int64_t *at, int64_t axis) {
  static const int64_t dim[4] = {2, 6, 3, 4};
  int64_t row = 0;
  for (int64_t d = 0; d < axis; d++) row = row * dim[d] + at[d];
  return row;
}
static int64_t row_of_group(const int64_t *at, int64_t groups) {
  return at[0] * groups + at[1] / (6 / groups);
}
static int64_t row_of_channel(const int64_t *at, int64_t unused) {
  (void)unused;
  return at[1];
}

typedef struct {
  double mean[64], scale[64];
} statistics;

static statistics measure(const op_case *c, row_fn row, int64_t arg, double epsilon) {
  static const int64_t dim[4] = {2, 6, 3, 4};
  statistics s = {{0}, {0}};
  double count[64] = {0}, squares[64] = {0};
  for (int pass = 0; pass < 2; pass++) {
    int64_t at[4] = {0}, i = 0;
    do {
      int64_t r = row(at, arg);
      double x = c->x[0].v[i++];
      if (pass == 0) {
        s.mean[r] += x;
        count[r]++;
      } else {
        squares[r] += (x - s.mean[r]) * (x - s.mean[r]);
      }
    } while (next_index(at, dim, 4));
    for (int r = 0; r < 64 && pass == 0; r++) s.mean[r] /= count[r] > 0 ? count[r] : 1;
  }
  for (int r = 0; r < 64; r++)
    s.scale[r] = 1 / sqrt(squares[r] / (count[r] > 0 ? count[r] : 1) + epsilon);
  return s;
}

static op_case *open_case(const char *op, int32_t opset) {
  op_case *c = case_open(op, opset);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 6, 3, 4));
  return c;
}

static void test_layer_norm(void **state) {
  (void)state;
  for (int64_t axis = 0; axis < 4; axis++) {
    op_case *c = open_case("LayerNormalization", 17);
    int64_t dim[4] = {2, 6, 3, 4}, at[4] = {0}, i = 0;
    case_weight(c, SEER_DTYPE_F32, (uint32_t)(4 - axis), &dim[axis]);
    case_weight(c, SEER_DTYPE_F32, DIMS(4));
    case_i(c, "axis", axis % 2 ? axis : axis - 4);
    case_f(c, "epsilon", 1e-3);
    c->n_out = 3;
    case_run(c);
    statistics s = measure(c, row_from_axis, axis, 1e-3);
    double *expected = new_values(c, 0);
    do {
      int64_t r = row_from_axis(at, axis);
      expected[i] = (c->x[0].v[i] - s.mean[r]) * s.scale[r] * tensor_at(&c->x[1], at + axis) +
          tensor_at(&c->x[2], at + 3);
      i++;
    } while (next_index(at, dim, 4));
    expect_values(c, 0, expected);
    expect_values(c, 1, s.mean);
    expect_values(c, 2, s.scale);
    for (int64_t d = axis; d < 4; d++) dim[d] = 1;
    expect_dims(&c->y[1], 4, dim);
    case_close(c);
  }
  op_case *c = open_case("LayerNormalization", 17);
  case_weight(c, SEER_DTYPE_F32, DIMS(5));
  case_expect_error(c, "input 1");
  case_close(c);
}

static void run_channels(const char *op, int32_t opset, int64_t groups, bool factor_per_group) {
  op_case *c = open_case(op, opset);
  int64_t n = factor_per_group ? groups : 6, at[4] = {0}, i = 0;
  case_weight(c, SEER_DTYPE_F32, 1, &n);
  case_weight(c, SEER_DTYPE_F32, 1, &n);
  if (strcmp(op, "GroupNormalization") == 0) case_i(c, "num_groups", groups);
  case_run(c);
  statistics s = measure(c, row_of_group, groups, 1e-5);
  double *expected = new_values(c, 0);
  do {
    int64_t r = row_of_group(at, groups), f = factor_per_group ? at[1] / (6 / groups) : at[1];
    expected[i] = (c->x[0].v[i] - s.mean[r]) * s.scale[r] * c->x[1].v[f] + c->x[2].v[f];
    i++;
  } while (next_index(at, c->y[0].dim, 4));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_channels(void **state) {
  (void)state;
  run_channels("InstanceNormalization", 6, 6, false);
  for (int64_t groups = 1; groups <= 6; groups++) {
    if (6 % groups != 0) continue;
    run_channels("GroupNormalization", 18, groups, true);
    run_channels("GroupNormalization", 21, groups, false);
  }
  op_case *c = open_case("GroupNormalization", 21);
  case_weight(c, SEER_DTYPE_F32, DIMS(6));
  case_weight(c, SEER_DTYPE_F32, DIMS(6));
  case_i(c, "num_groups", 4);
  case_expect_error(c, "attribute 'num_groups' is 4, must divide the 6 channels");
  case_close(c);
}

static void test_mean_variance(void **state) {
  (void)state;
  op_case *c = open_case("MeanVarianceNormalization", 13);
  case_run(c);
  statistics s = measure(c, row_of_channel, 0, 0);
  double *expected = new_values(c, 0);
  int64_t at[4] = {0}, i = 0;
  do {
    expected[i] = (c->x[0].v[i] - s.mean[at[1]]) * s.scale[at[1]];
    i++;
  } while (next_index(at, c->y[0].dim, 4));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_lp(void **state) {
  (void)state;
  for (int64_t p = 1; p <= 2; p++) {
    op_case *c = open_case("LpNormalization", 1);
    case_i(c, "axis", 1);
    case_i(c, "p", p);
    const int64_t *dim = c->x[0].dim;  // a row of zeros
    for (int64_t k = 0; k < 6; k++) c->x[0].v[(k * dim[2] + 1) * dim[3] + 2] = 0;
    case_run(c);
    double *expected = new_values(c, 0);
    int64_t at[4] = {0}, i = 0;
    do {
      double sum = 0;
      for (int64_t k = 0; k < 6; k++) {
        double x = tensor_at4(&c->x[0], at[0], k, at[2], at[3]);
        sum += p == 1 ? fabs(x) : x * x;
      }
      expected[i] = sum == 0 ? 0 : c->x[0].v[i] / (p == 1 ? sum : sqrt(sum));
      i++;
    } while (next_index(at, c->y[0].dim, 4));
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *zero = case_open("LpNormalization", 1);
  case_const(zero, SEER_DTYPE_F32, DIMS(2, 3), (double[]){0, 0, 0, 3, 0, -4});
  case_run(zero);
  expect_values(zero, 0, (double[]){0, 0, 0, 0.6, 0, -0.8});
  case_close(zero);
  op_case *c = open_case("LpNormalization", 1);
  case_i(c, "p", 3);
  case_expect_error(c, "attribute 'p' is 3, must be 1 or 2");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_channels),
      cmocka_unit_test(test_mean_variance),
      cmocka_unit_test(test_lp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
