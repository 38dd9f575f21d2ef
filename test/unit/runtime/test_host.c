// The functions that run on the host against direct loops, and their checks against what is
// damaged. Every buffer ends in front of a mark that must stay.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "runtime/exec.h"
#include "runtime/host.h"
#include "support/test.h"

enum {
  F32 = 1,
  I8 = 3,
  I16 = 5,
  I64 = 7,
  BOOL = 9,
  F16 = 10,
  F64 = 11,
  MARK = 0x5A,
  N_MARK = 64,
  MAX_BYTES = 1 << 16
};

typedef struct {
  seer_host_tensor t;
  uint8_t bytes[MAX_BYTES + N_MARK];
} buffer;

static buffer in[5], out[5];
static uint8_t scratch[MAX_BYTES];

static void make(buffer *b, int32_t dtype, int32_t rank, const int64_t *bound) {
  uint64_t n = seer_onnx_dtype_bytes(dtype);
  b->t = (seer_host_tensor){.onnx_dtype = dtype, .rank = rank, .data = b->bytes};
  for (int32_t d = 0; d < rank; d++) {
    b->t.bound[d] = b->t.dim[d] = bound[d];
    n *= (uint64_t)bound[d];
  }
  assert_true(n <= MAX_BYTES);
  memset(b->bytes, 0xEE, n);
  memset(b->bytes + n, MARK, N_MARK);
}

static void check_mark(const buffer *b) {
  uint64_t n = seer_onnx_dtype_bytes(b->t.onnx_dtype);
  for (int32_t d = 0; d < b->t.rank; d++) n *= (uint64_t)b->t.bound[d];
  for (int i = 0; i < N_MARK; i++) assert_int_equal(b->bytes[n + (uint64_t)i], MARK);
}

static void run(seer_host_function function, uint32_t n_in, uint32_t n_out, int64_t a, int64_t b) {
  seer_host_tensor x[5] = {{0}}, y[5] = {{0}};
  const int64_t param[4] = {a, b};
  for (uint32_t i = 0; i < n_in; i++) x[i] = in[i].t;
  for (uint32_t i = 0; i < n_out; i++) y[i] = out[i].t;
  const seer_host_call call = {
      .function = function, .in = x, .out = y, .param = param, .scratch = scratch};
  seer_pool_fault fault;
  assert_true(seer_host_run(&call, NULL, NULL, &fault));
  for (uint32_t i = 0; i < n_out; i++)
    if (out[i].t.onnx_dtype) check_mark(&out[i]);
}

#define DIMS(...) \
  (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

static void non_zero(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (int trial = 0; trial < 50; trial++) {
    make(&in[0], F32, DIMS(4, 5, 3));
    make(&out[0], I64, DIMS(3, 60));
    make(&out[1], I64, DIMS(1));
    float *x = (float *)(void *)in[0].bytes;
    for (int i = 0; i < 60; i++) {
      uint64_t kind = seer_rng_below(&rng, 4);
      x[i] = kind == 0 ? 0.0f : kind == 1 ? -0.0f : kind == 2 ? 1e-40f : -3.0f;
    }
    in[0].t.dim[0] = (int64_t)seer_rng_below(&rng, 5);  // a part is in use
    in[0].t.dim[1] = (int64_t)seer_rng_below(&rng, 6);
    run(SEER_HOST_NONZERO, 1, 2, 0, 0);
    const int64_t *found = (const int64_t *)(void *)out[0].bytes;
    int64_t n = 0;
    for (int64_t a = 0; a < in[0].t.dim[0]; a++) {
      for (int64_t b = 0; b < in[0].t.dim[1]; b++) {
        for (int64_t c = 0; c < 3; c++) {
          if (x[(a * 5 + b) * 3 + c] == 0) continue;
          assert_int_equal(found[n], a);
          assert_int_equal(found[60 + n], b);
          assert_int_equal(found[120 + n], c);
          n++;
        }
      }
    }
    assert_int_equal(*(const int64_t *)(void *)out[1].bytes, n);
    for (; n < 60; n++) assert_int_equal(found[60 + n], 0);
  }
}

// ---- NonMaxSuppression: the best that is left, again and again

static float overlap(const float *a, const float *b) {
  float y0 = a[0] > b[0] ? a[0] : b[0], x0 = a[1] > b[1] ? a[1] : b[1];
  float y1 = a[2] < b[2] ? a[2] : b[2], x1 = a[3] < b[3] ? a[3] : b[3];
  if (y1 <= y0 || x1 <= x0) return 0;
  float both = (y1 - y0) * (x1 - x0);
  return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

static bool is_better(float a, float b) {
  return a > b || (isnan(b) && !isnan(a));  // NaN is behind all numbers
}

static void suppression(void **state) {
  (void)state;
  enum { B = 2, C = 3, S = 45 };
  seer_rng rng;
  seer_rng_init(&rng, 4);
  for (int trial = 0; trial < 60; trial++) {
    int64_t most = (int64_t)seer_rng_below(&rng, 12);
    bool is_on_grid = trial % 2;  // then parts overlap by just the limit, which suppresses nobody
    bool has_least = trial % 5 != 0;
    uint64_t n_good = trial % 3 ? S : 2;  // of a class, about: then most are below the least score
    float iou = is_on_grid ? 0.5f : 0.1f + 0.2f * (float)seer_rng_below(&rng, 4), least = 0.25f;
    make(&in[0], F32, DIMS(B, S, 4));
    make(&in[1], F32, DIMS(B, C, S));
    make(&in[2], I64, DIMS(1));
    make(&in[3], F32, DIMS(1));
    make(&in[4], F32, DIMS(1));
    memcpy(in[2].bytes, &most, sizeof most);
    memcpy(in[3].bytes, &iou, sizeof iou);
    memcpy(in[4].bytes, &least, sizeof least);
    int64_t bound = B * C * (most > 0 ? most : 1);
    make(&out[0], I64, DIMS(bound, 3));
    make(&out[1], I64, DIMS(1));
    float *box = (float *)(void *)in[0].bytes, *score = (float *)(void *)in[1].bytes;
    for (int i = 0; i < B * S; i++) {
      for (int d = 0; d < 2; d++) {
        box[4 * i + d] = (float)seer_rng_f64(&rng) * 4;
        box[4 * i + 2 + d] = box[4 * i + d] + 0.5f + (float)seer_rng_f64(&rng) * 2;
        if (is_on_grid) box[4 * i + d] = (float)seer_rng_below(&rng, 3);
        if (is_on_grid) box[4 * i + 2 + d] = box[4 * i + d] + 1 + (float)seer_rng_below(&rng, 2);
      }
    }
    for (int i = 0; i < B * C * S; i++) {
      score[i] = seer_rng_below(&rng, S) < n_good ? (float)seer_rng_below(&rng, 9) / 8 : 0;  // ties
      if (seer_rng_below(&rng, 8) == 0) score[i] = seer_rng_below(&rng, 2) ? NAN : -0.0f;
    }
    if (!has_least) in[4].t.onnx_dtype = 0;
    int64_t used = 1 + (int64_t)seer_rng_below(&rng, S);
    in[0].t.dim[1] = in[1].t.dim[2] = used;
    run(SEER_HOST_NMS, 5, 2, 0, 0);
    const int64_t *row = (const int64_t *)(void *)out[0].bytes;
    int64_t n = 0;
    for (int b = 0; b < B; b++) {
      for (int c = 0; c < C; c++) {
        bool is_out[S] = {false};
        const float *s = score + (b * C + c) * S;
        for (int64_t taken = 0; taken < most; taken++) {
          int best = -1;
          for (int i = 0; i < used; i++)
            if (!is_out[i] && (!has_least || s[i] > least) &&
                (best < 0 || is_better(s[i], s[best])))
              best = i;
          if (best < 0) break;
          assert_int_equal(row[3 * n], b);
          assert_int_equal(row[3 * n + 1], c);
          assert_int_equal(row[3 * n + 2], best);
          n++;
          is_out[best] = true;
          for (int i = 0; i < used; i++)
            if (overlap(box + 4 * (b * S + best), box + 4 * (b * S + i)) > iou) is_out[i] = true;
        }
      }
    }
    assert_int_equal(*(const int64_t *)(void *)out[1].bytes, n);
  }
}

// ---- Unique: quadratic, first by first

static void unique_along(int32_t dtype, bool is_sorted, seer_rng *rng) {
  enum { A = 3, N = 12, C = 2 };
  make(&in[0], dtype, DIMS(A, N, C));
  make(&out[0], dtype, DIMS(A, N, C));
  for (int k = 1; k < 4; k++) make(&out[k], I64, DIMS(N));
  make(&out[4], I64, DIMS(1));
  int8_t small[A * N * C];
  for (int i = 0; i < A * N * C; i++) {
    small[i] = (int8_t)((int)seer_rng_below(rng, 2) - 1);
    if (dtype == I8) in[0].bytes[i] = (uint8_t)small[i];
    if (dtype == I64) ((int64_t *)(void *)in[0].bytes)[i] = small[i];
    if (dtype == F32) ((float *)(void *)in[0].bytes)[i] = small[i];
    if (dtype == F64) ((double *)(void *)in[0].bytes)[i] = small[i];
    if (dtype == F16) ((uint16_t *)(void *)in[0].bytes)[i] = small[i] ? 0xBC00 : 0x8000;  // -1, -0
  }
  run(SEER_HOST_UNIQUE, 1, 5, 1, is_sorted);
  const int64_t *first = (const int64_t *)(void *)out[1].bytes,
                *inverse = (const int64_t *)(void *)out[2].bytes,
                *count = (const int64_t *)(void *)out[3].bytes;
  int64_t n = *(const int64_t *)(void *)out[4].bytes, n_want = 0;
#define AT(a, i, c) small[((a)*N + (i)) * C + (c)]
  for (int i = 0; i < N; i++) {
    int same = -1, n_same = 0;
    for (int j = 0; j < N; j++) {
      int way = 0;
      for (int a = 0; a < A && way == 0; a++)
        for (int c = 0; c < C && way == 0; c++) way = AT(a, j, c) - AT(a, i, c);
      if (way == 0 && same < 0) same = j;
      n_same += way == 0;
      if (is_sorted && inverse[j] < inverse[i]) assert_true(way < 0);
    }
    n_want += same == i;
    assert_in_range(inverse[i], 0, n - 1);
    assert_int_equal(first[inverse[i]], same);
    assert_int_equal(count[inverse[i]], n_same);
    for (int a = 0; a < A; a++) {
      uint32_t size = C * seer_onnx_dtype_bytes(dtype);
      assert_memory_equal(out[0].bytes + (uint32_t)(a * N + (int)inverse[i]) * size,
          in[0].bytes + (uint32_t)(a * N + same) * size, size);
    }
  }
  assert_int_equal(n, n_want);
  for (int64_t k = 1; k < n && !is_sorted; k++) assert_true(first[k] > first[k - 1]);
}

static void unique_items(void **state) {
  (void)state;
  static const int32_t dtypes[] = {F32, I8, I64, F16, F64};
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (int trial = 0; trial < 60; trial++) unique_along(dtypes[trial % 5], trial % 2 == 0, &rng);
}

static void compacted(void **state) {
  (void)state;
  make(&in[0], I8, DIMS(3, 4, 5));
  make(&out[0], I8, DIMS(3, 4, 5));
  for (int i = 0; i < 60; i++) in[0].bytes[i] = (uint8_t)i;
  in[0].t.dim[0] = 2;
  in[0].t.dim[1] = 3;
  run(SEER_HOST_COMPACT, 1, 1, 0, 0);
  for (int i = 0; i < 30; i++) assert_int_equal(out[0].bytes[i], i / 15 * 20 + i % 15);
  in[0].t.dim[1] = 0;
  out[0].bytes[0] = 77;
  run(SEER_HOST_COMPACT, 1, 1, 0, 0);
  assert_int_equal(out[0].bytes[0], 77);  // there is nothing to write
}

static void same_bits(void **state) {
  (void)state;
  make(&in[0], F16, DIMS(3, 7));
  make(&out[0], I16, DIMS(3, 7));
  for (int i = 0; i < 42; i++) in[0].bytes[i] = (uint8_t)(255 - i);
  run(SEER_HOST_BITS, 1, 1, I16, 0);
  assert_memory_equal(in[0].bytes, out[0].bytes, 42);
}

// ---- checks

static seer_plan_tensor described(int32_t dtype, int32_t rank, const int64_t *dim) {
  seer_plan_tensor t = {.onnx_dtype = dtype, .rank = rank};
  for (int32_t d = 0; d < rank; d++) t.dim[d] = dim[d];
  return t;
}

static const char *check(const seer_plan_host *host, const seer_plan_tensor *x,
    const seer_plan_tensor *y, uint64_t n_scratch) {
  return seer_host_check(host, x, y, (seer_host_room){.shared = n_scratch});
}

static void refused(void **state) {
  (void)state;
  seer_plan_host host = {.function = SEER_HOST_NONZERO, .n_in = 1, .n_out = 2};
  seer_plan_tensor x[5] = {described(F32, DIMS(4, 5))},
                   y[5] = {described(I64, DIMS(2, 20)), described(I64, DIMS(1))};
  assert_null(check(&host, x, y, 0));
  y[0].dim[0] = 1;
  assert_non_null(check(&host, x, y, 0));
  y[0].dim[0] = 2, y[0].onnx_dtype = F32;
  assert_non_null(check(&host, x, y, 0));
  y[0].onnx_dtype = I64, y[1].dim[0] = 0;
  assert_non_null(check(&host, x, y, 0));
  y[1].dim[0] = 1, host.n_out = 1;
  assert_non_null(check(&host, x, y, 0));
  host = (seer_plan_host){.function = SEER_HOST_COUNT, .n_in = 1, .n_out = 2};
  assert_non_null(check(&host, x, y, 0));

  host = (seer_plan_host){.function = SEER_HOST_UNIQUE, .n_in = 1, .n_out = 5, .param = {1, 1}};
  y[0] = described(F32, DIMS(4, 5));
  for (int k = 1; k < 4; k++) y[k] = described(I64, DIMS(5));
  y[4] = described(I64, DIMS(1));
  assert_null(check(&host, x, y, 60));
  assert_non_null(check(&host, x, y, 59));  // scratch
  host.param[0] = 2;
  assert_non_null(check(&host, x, y, 600));  // axis
  host.param[0] = 1, y[2].dim[0] = 4;
  assert_non_null(check(&host, x, y, 600));
  y[2].dim[0] = 5, x[0].size_arg[0] = 1;
  assert_non_null(check(&host, x, y, 600));

  host = (seer_plan_host){.function = SEER_HOST_NMS, .n_in = 5, .n_out = 2};
  memset(x, 0, sizeof x);
  x[0] = described(F32, DIMS(1, 7, 4)), x[1] = described(F32, DIMS(1, 2, 7));
  y[0] = described(I64, DIMS(6, 3)), y[1] = described(I64, DIMS(1));
  assert_null(check(&host, x, y, 196));
  assert_non_null(check(&host, x, y, 195));
  x[0].dim[2] = 5;
  assert_non_null(check(&host, x, y, 196));

  host = (seer_plan_host){.function = SEER_HOST_BITS, .n_in = 1, .n_out = 1};
  x[0] = described(F16, DIMS(4, 5)), y[0] = described(I16, DIMS(4, 5));
  assert_null(check(&host, x, y, 0));
  y[0].onnx_dtype = F32;
  assert_non_null(check(&host, x, y, 0));
  y[0].onnx_dtype = I16, y[0].dim[1] = 6;
  assert_non_null(check(&host, x, y, 0));
  x[0] = described(BOOL, DIMS(4, 5)), y[0] = described(I8, DIMS(4, 5));
  assert_non_null(check(&host, x, y, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(non_zero),
      cmocka_unit_test(suppression),
      cmocka_unit_test(unique_items),
      cmocka_unit_test(compacted),
      cmocka_unit_test(same_bits),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
