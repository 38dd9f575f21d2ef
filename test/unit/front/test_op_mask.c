// Trilu, CumSum, OneHot, GatherElements and Einsum against direct loops.
#include <math.h>
#include <string.h>

#include "op_case.h"

static void test_trilu(void **state) {
  (void)state;
  for (int upper = 0; upper < 2; upper++) {
    for (int64_t k = -6; k <= 6; k++) {
      op_case *c = case_open("Trilu", 14);
      case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 5));
      if (k != 0) case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){(double)k});
      case_i(c, "upper", upper);
      case_run(c);
      double *expected = new_values(c, 0);
      int64_t at[3] = {0}, i = 0;
      do {
        bool stays = upper ? at[2] - at[1] >= k : at[2] - at[1] <= k;
        expected[i] = stays ? c->x[0].v[i] : 0;
        i++;
      } while (next_index(at, c->y[0].dim, 3));
      expect_values(c, 0, expected);
      case_close(c);
    }
  }
}

static void test_cum_sum(void **state) {
  (void)state;
  for (int form = 0; form < 24; form++) {
    bool is_exclusive = form & 1, is_reverse = form & 2, is_product = form / 12;
    int64_t axis = form / 4 % 3, dim[3] = {3, 4, 5}, at[3] = {0}, i = 0;
    op_case *c = is_product ? case_open("CumProd", 26) : case_open("CumSum", 14);
    case_in(c, SEER_DTYPE_F32, DIMS(3, 4, 5));
    case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){(double)(axis - 3 * (axis & 1))});
    case_i(c, "exclusive", is_exclusive);
    case_i(c, "reverse", is_reverse);
    case_run(c);
    double *expected = new_values(c, 0);
    do {
      int64_t from[3] = {at[0], at[1], at[2]};
      expected[i] = is_product;
      for (int64_t k = 0; k < dim[axis]; k++) {
        bool counts = is_reverse ? k >= at[axis] : k <= at[axis];
        if (is_exclusive && k == at[axis]) counts = false;
        from[axis] = k;
        double element = tensor_at(&c->x[0], from);
        if (counts) expected[i] = is_product ? expected[i] * element : expected[i] + element;
      }
      i++;
    } while (next_index(at, dim, 3));
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void test_one_hot(void **state) {
  (void)state;
  static const double indices[6] = {0, 3, -1, 4, 7, -5};  // 7: nowhere; negative: from the end
  for (int64_t axis = -3; axis < 3; axis++) {
    op_case *c = case_open("OneHot", 11);
    case_const(c, SEER_DTYPE_I64, DIMS(2, 3), indices);
    case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){5});
    case_in(c, SEER_DTYPE_F32, DIMS(2));
    case_i(c, "axis", axis);
    case_run(c);
    double *expected = new_values(c, 0);
    int64_t a = axis < 0 ? axis + 3 : axis, at[3] = {0}, i = 0;
    do {
      int64_t from[2] = {at[a == 0 ? 1 : 0], at[a == 2 ? 1 : 2]};
      double k = indices[from[0] * 3 + from[1]];
      expected[i++] = c->x[2].v[(k < 0 ? k + 5 : k) == (double)at[a]];
    } while (next_index(at, c->y[0].dim, 3));
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *c = case_open("OneHot", 11);
  case_in(c, SEER_DTYPE_I64, DIMS(3));
  case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){0});
  case_in(c, SEER_DTYPE_F32, DIMS(2));
  case_expect_error(c, "'depth' is 0, must be at least 1");
  case_close(c);
}

static void test_gather_elements(void **state) {
  (void)state;
  static const double indices[12] = {0, 3, -1, 2, 1, -4, 3, 0, 2, -2, 1, 1};
  op_case *c = case_open("GatherElements", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3, 4, 2));
  case_const(c, SEER_DTYPE_I64, DIMS(3, 2, 2), indices);
  case_i(c, "axis", 1);
  case_run(c);
  double *expected = new_values(c, 0);
  int64_t at[3] = {0}, i = 0;
  do {
    int64_t k = (int64_t)indices[i], from[3] = {at[0], k < 0 ? k + 4 : k, at[2]};
    expected[i++] = tensor_at(&c->x[0], from);
  } while (next_index(at, c->y[0].dim, 3));
  expect_values(c, 0, expected);
  case_close(c);
  c = case_open("GatherElements", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3, 4));
  case_in(c, SEER_DTYPE_I64, DIMS(5, 4));
  case_i(c, "axis", 1);
  case_expect_error(c, "input 1 is [5,4], must fit input 0's [3,4] but along axis 1");
  case_close(c);
}

static op_case *einsum(const char *equation, uint32_t n, const uint32_t *rank, int64_t dim[][4]) {
  op_case *c = case_open("Einsum", 12);
  for (uint32_t k = 0; k < n; k++) case_in(c, SEER_DTYPE_F32, rank[k], dim[k]);
  case_s(c, "equation", equation);
  return c;
}

static void test_einsum(void **state) {
  (void)state;
  static const uint32_t twos[2] = {2, 2}, threes[2] = {3, 3};
  int64_t ab[2][4] = {{3, 4}, {4, 5}}, batch[2][4] = {{2, 3, 4}, {2, 4, 5}},
          square[1][4] = {{4, 4}};
  static const char *const products[] = {"ij,jk->ik", "ij , jk", "Zj,jk->kZ"};
  for (int form = 0; form < 3; form++) {
    op_case *c = einsum(products[form], 2, twos, ab);
    case_run(c);
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < 3; i++)
      for (int64_t k = 0; k < 5; k++)
        for (int64_t j = 0; j < 4; j++)
          expected[form == 2 ? k * 3 + i : i * 5 + k] +=
              c->x[0].v[i * 4 + j] * c->x[1].v[j * 5 + k];
    expect_values(c, 0, expected);
    case_close(c);
  }
  static const char *const batches[] = {"bij,bjk->bik", "...ij,...jk->...ik"};
  for (int form = 0; form < 2; form++) {
    op_case *c = einsum(batches[form], 2, threes, batch);
    case_run(c);
    double *expected = new_values(c, 0);
    for (int64_t at = 0; at < 2 * 3 * 5 * 4; at++) {
      int64_t j = at % 4, k = at / 4 % 5, i = at / 20 % 3, b = at / 60;
      expected[(b * 3 + i) * 5 + k] +=
          c->x[0].v[(b * 3 + i) * 4 + j] * c->x[1].v[(b * 4 + j) * 5 + k];
    }
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *c = einsum("ii", 1, twos, square);  // the trace
  case_run(c);
  double trace = 0;
  for (int64_t i = 0; i < 4; i++) trace += c->x[0].v[i * 5];
  expect_values(c, 0, &trace);
  case_close(c);
  c = einsum("ii->i", 1, twos, square);
  case_run(c);
  double diagonal[4];
  for (int64_t i = 0; i < 4; i++) diagonal[i] = c->x[0].v[i * 5];
  expect_values(c, 0, diagonal);
  case_close(c);
  static const char *const wrong[][2] = {{"ij,jk->il", "is in no input"},
      {"ijk,jk->ik", "3 labels for an input of rank 2"}, {"i?,jk->ik", "'?' is no label"},
      {"ij,ik->jk", "elsewhere it is"}};
  for (size_t k = 0; k < SEER_COUNT_OF(wrong); k++) {
    c = einsum(wrong[k][0], 2, twos, ab);
    case_expect_error(c, wrong[k][1]);
    case_close(c);
  }
  c = einsum("ij->ij", 2, twos, ab);
  case_expect_error(c, "has 1 terms for 2 inputs");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trilu),
      cmocka_unit_test(test_cum_sum),
      cmocka_unit_test(test_one_hot),
      cmocka_unit_test(test_gather_elements),
      cmocka_unit_test(test_einsum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
