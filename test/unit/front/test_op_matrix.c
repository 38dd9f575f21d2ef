// Gemm and MatMul against the three loops.
#include "op_case.h"

static void run_gemm(
    int ta, int tb, double alpha, double beta, uint32_t c_rank, const int64_t *c_dim) {
  enum { M = 5, N = 7, K = 3 };
  op_case *c = case_open("Gemm", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(ta ? K : M, ta ? M : K));
  case_weight(c, SEER_DTYPE_F32, DIMS(tb ? N : K, tb ? K : N));
  bool has_c = c_rank != UINT32_MAX;
  if (has_c) case_weight(c, SEER_DTYPE_F32, c_rank, c_dim);
  case_i(c, "transA", ta);
  case_i(c, "transB", tb);
  case_f(c, "alpha", alpha);
  case_f(c, "beta", beta);
  case_run(c);
  expect_dims(&c->y[0], DIMS(M, N));
  double *expected = new_values(c, 0);
  for (int64_t m = 0; m < M; m++) {
    for (int64_t n = 0; n < N; n++) {
      double sum = 0;
      for (int64_t k = 0; k < K; k++) {
        sum += c->x[0].v[ta ? k * M + m : m * K + k] * c->x[1].v[tb ? n * K + k : k * N + n];
      }
      int64_t at[2] = {m, n};
      expected[m * N + n] = alpha * sum + (has_c ? beta * tensor_at(&c->x[2], at + 2 - c_rank) : 0);
    }
  }
  expect_values(c, 0, expected);
  bool has_epilogue = alpha != 1 || (has_c && beta != 0);
  assert_int_equal(c->dag->n_stage, has_epilogue ? 2 : 1);
  assert_int_equal(c->dag->stage[0].role, SEER_STAGE_ANCHOR);
  assert_int_equal(c->dag->stage[0].axis[2].role, SEER_AXIS_K);
  case_close(c);
}

static void test_gemm(void **state) {
  (void)state;
  for (int bits = 0; bits < 4; bits++) {
    int ta = bits & 1, tb = bits >> 1;
    run_gemm(ta, tb, 1, 1, UINT32_MAX, NULL);
    run_gemm(ta, tb, 1, 1, DIMS(7));
    run_gemm(ta, tb, 0.5, 2, DIMS(5, 1));
    run_gemm(ta, tb, 1, 0, DIMS(5, 7));
    run_gemm(ta, tb, 2, 1, DIMS(1, 7));
    run_gemm(ta, tb, 1, 1, 0, NULL);
    run_gemm(ta, tb, 3, 1, UINT32_MAX, NULL);
  }
}

static void test_gemm_errors(void **state) {
  (void)state;
  op_case *c = case_open("Gemm", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(4, 5));
  case_i(c, "transB", 1);
  case_expect_error(c,
      "inputs are [2,3] (transA 0) and [4,5] (transB 1): inner dimensions 3 and 5 must be equal");
  case_close(c);
  c = case_open("Gemm", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(3, 5));
  case_in(c, SEER_DTYPE_F32, DIMS(2, 2, 5));
  case_expect_error(c, "must broadcast to [2,5]");
  case_close(c);
  c = case_open("Gemm", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4));
  case_in(c, SEER_DTYPE_F32, DIMS(3, 5));
  case_expect_error(c, "both must be matrices");
  case_close(c);
}

// Dimensions of the operands as matrices with batches; the loops below use NumPy's definition by
// themselves.
static void run_matmul(
    uint32_t ra, const int64_t *a, uint32_t rb, const int64_t *b, uint32_t ry, const int64_t *y) {
  op_case *c = case_open("MatMul", 13);
  case_in(c, SEER_DTYPE_F32, ra, a);
  case_in(c, SEER_DTYPE_F32, rb, b);
  case_run(c);
  expect_dims(&c->y[0], ry, y);
  double *expected = new_values(c, 0);
  int64_t index[SEER_MAX_RANK] = {0}, i = 0, n_k = a[ra - 1];
  do {
    uint32_t n_batch = ry - (ra > 1) - (rb > 1);
    for (int64_t k = 0; k < n_k; k++) {
      int64_t at_a[SEER_MAX_RANK], at_b[SEER_MAX_RANK];
      uint32_t na = 0, nb = 0;
      for (uint32_t d = 0; ra > 2 && d < ra - 2; d++) at_a[na++] = index[n_batch - (ra - 2) + d];
      for (uint32_t d = 0; rb > 2 && d < rb - 2; d++) at_b[nb++] = index[n_batch - (rb - 2) + d];
      if (ra > 1) at_a[na++] = index[n_batch];
      at_a[na] = k;
      at_b[nb++] = k;
      if (rb > 1) at_b[nb] = index[ry - 1];
      expected[i] += tensor_at(&c->x[0], at_a) * tensor_at(&c->x[1], at_b);
    }
    i++;
  } while (next_index(index, c->y[0].dim, ry));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_matmul(void **state) {
  (void)state;
  run_matmul(DIMS(5, 3), DIMS(3, 7), DIMS(5, 7));
  run_matmul(DIMS(2, 5, 3), DIMS(3, 7), DIMS(2, 5, 7));
  run_matmul(DIMS(2, 5, 3), DIMS(2, 3, 7), DIMS(2, 5, 7));
  run_matmul(DIMS(2, 1, 5, 3), DIMS(4, 3, 7), DIMS(2, 4, 5, 7));
  run_matmul(DIMS(5, 3), DIMS(2, 3, 7), DIMS(2, 5, 7));
  run_matmul(DIMS(3), DIMS(3, 7), DIMS(7));
  run_matmul(DIMS(5, 3), DIMS(3), DIMS(5));
  run_matmul(DIMS(3), DIMS(2, 3, 7), DIMS(2, 7));
  run_matmul(DIMS(2, 5, 3), DIMS(3), DIMS(2, 5));
  run_matmul(DIMS(3), DIMS(3), 0, NULL);
  run_matmul(DIMS(1, 1), DIMS(1, 1), DIMS(1, 1));
}

static void test_matmul_errors(void **state) {
  (void)state;
  op_case *c = case_open("MatMul", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(4, 5));
  case_expect_error(c, "inputs are [2,3] and [4,5]: inner dimensions 3 and 4");
  case_close(c);
  c = case_open("MatMul", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 4, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(3, 3, 5));
  case_expect_error(c, "to broadcast");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm),
      cmocka_unit_test(test_gemm_errors),
      cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_matmul_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
