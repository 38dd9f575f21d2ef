// No schedule changes what NaN, infinities and zeros of both signs come to: reductions, pools,
// elementwise operators and products on data that has them at random places, every sketch, its
// default and random schedules, interpreted and compiled, give what the interpreter of the DAG
// gives. That gives what ONNX says, by direct loops here: the largest of numbers among which is NaN
// is NaN, and stands at the first one. Seeded; the seed is in the message.
// SEER_TEST: timeout=300 cost=60
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/levels.h"
#include "support/schedule_sweep.h"
#include "support/task_dag.h"
#include "support/test.h"

#define SAMPLES 2

// What one output element comes from: `n` numbers of input 0, `stride` apart.
typedef double (*formula)(const double *x, int64_t n, int64_t stride);

static double largest(const double *x, int64_t n, int64_t stride) {
  double best = -(double)INFINITY;
  for (int64_t k = 0; k < n; k++) {
    if (isnan(x[k * stride])) return (double)NAN;
    best = fmax(best, x[k * stride]);
  }
  return best;
}

static double least(const double *x, int64_t n, int64_t stride) {
  double best = (double)INFINITY;
  for (int64_t k = 0; k < n; k++) {
    if (isnan(x[k * stride])) return (double)NAN;
    best = fmin(best, x[k * stride]);
  }
  return best;
}

static double place_of(const double *x, int64_t n, int64_t stride, double best, bool is_last) {
  int64_t at = -1;
  for (int64_t k = 0; k < n; k++) {
    double one = x[k * stride];
    if ((isnan(best) ? isnan(one) : one == best) && (at < 0 || is_last)) at = k;
  }
  return (double)at;
}

static double first_largest(const double *x, int64_t n, int64_t stride) {
  return place_of(x, n, stride, largest(x, n, stride), false);
}
static double last_largest(const double *x, int64_t n, int64_t stride) {
  return place_of(x, n, stride, largest(x, n, stride), true);
}
static double first_least(const double *x, int64_t n, int64_t stride) {
  return place_of(x, n, stride, least(x, n, stride), false);
}
static double last_least(const double *x, int64_t n, int64_t stride) {
  return place_of(x, n, stride, least(x, n, stride), true);
}

static double sum(const double *x, int64_t n, int64_t stride) {
  double all = 0;
  for (int64_t k = 0; k < n; k++) all += x[k * stride];
  return all;
}
static double product(const double *x, int64_t n, int64_t stride) {
  double all = 1;
  for (int64_t k = 0; k < n; k++) all *= x[k * stride];
  return all;
}

static double relu(const double *x, int64_t n, int64_t stride) {
  (void)n, (void)stride;
  return x[0] < 0 ? 0 : x[0];
}
static double clip(const double *x, int64_t n, int64_t stride) {
  (void)n, (void)stride;
  return x[0] < -0.5 ? -0.5 : x[0] > 0.75 ? 0.75 : x[0];
}

// Of [A, B]: along which of them it reduces; ELSEWHERE: not judged by a formula.
typedef enum { ROWS, COLUMNS, EACH, ELSEWHERE } along;

typedef struct {
  const char *name, *text;
  along axis;
  formula want;
} network_text;

#define ROW(op, rest, want) \
  { op " of rows", "input %x TYPE[6,217];%y TYPE = " op " \"r\" v11 (%x) {" rest "1]}", ROWS, want }
#define COLUMN(op, rest, want)                                                             \
  {                                                                                        \
    op " of columns", "input %x TYPE[217,6];%y TYPE = " op " \"r\" v11 (%x) {" rest "0]}", \
        COLUMNS, want                                                                      \
  }
#define PLACE(op, name, axis, late, along, want)                                             \
  {                                                                                          \
    op " " name, "input %x TYPE[" axis "];%y i64 = " op " \"r\" v13 (%x) {axis = " late "}", \
        along, want                                                                          \
  }

static const network_text texts[] = {
    ROW("ReduceMax", "axes = [", largest),
    COLUMN("ReduceMax", "axes = [", largest),
    ROW("ReduceMin", "axes = [", least),
    COLUMN("ReduceMin", "axes = [", least),
    ROW("ReduceSum", "axes = [", sum),
    COLUMN("ReduceSum", "axes = [", sum),
    ROW("ReduceProd", "axes = [", product),
    COLUMN("ReduceProd", "axes = [", product),
    PLACE("ArgMax", "of rows", "6,217", "1", ROWS, first_largest),
    PLACE("ArgMax", "of columns", "217,6", "0", COLUMNS, first_largest),
    PLACE("ArgMin", "of rows", "6,217", "1", ROWS, first_least),
    PLACE("ArgMin", "of columns", "217,6", "0", COLUMNS, first_least),
    PLACE("ArgMax", "of rows, the last", "6,217", "1, select_last_index = 1", ROWS, last_largest),
    PLACE(
        "ArgMin", "of columns, the last", "217,6", "0, select_last_index = 1", COLUMNS, last_least),
    {"Relu", "input %x TYPE[6,217];%y TYPE = Relu \"r\" v14 (%x)", EACH, relu},
    {"Clip",
        "input %x TYPE[6,217];%y TYPE = Clip \"c\" v6 (%x) {min = float -0.5, max = float 0.75}",
        EACH, clip},
    {"Max of three",
        "input %x TYPE[6,217];input %a TYPE[6,1];input %b TYPE[217];%y TYPE = Max \"m\" v13 (%x, "
        "%a, "
        "%b)",
        ELSEWHERE, NULL},
    {"Min of three",
        "input %x TYPE[6,217];input %a TYPE[6,1];input %b TYPE[217];%y TYPE = Min \"m\" v13 (%x, "
        "%a, "
        "%b)",
        ELSEWHERE, NULL},
    {"MaxPool",
        "input %x TYPE[2,5,13,18];%y TYPE = MaxPool \"p\" v12 (%x) {kernel_shape = [3,2], pads = "
        "[1,1,1,0], strides = [2,1]}",
        ELSEWHERE, NULL},
    {"MaxPool, dilated",
        "input %x TYPE[2,5,60];%y TYPE = MaxPool \"p\" v12 (%x) {kernel_shape = [5], dilations = "
        "[3], pads = [2,2]}",
        ELSEWHERE, NULL},
    {"GlobalMaxPool", "input %x TYPE[2,5,13,18];%y TYPE = GlobalMaxPool \"p\" v1 (%x)", ELSEWHERE,
        NULL},
    {"AveragePool",
        "input %x TYPE[2,5,13,18];%y TYPE = AveragePool \"p\" v11 (%x) {kernel_shape = [3,3], pads "
        "= "
        "[1,1,1,1]}",
        ELSEWHERE, NULL},
    {"ReduceL1", "input %x TYPE[6,217];%y TYPE = ReduceL1 \"r\" v11 (%x) {axes = [1]}", ELSEWHERE,
        NULL},
    {"ReduceSumSquare",
        "input %x TYPE[217,6];%y TYPE = ReduceSumSquare \"r\" v11 (%x) {axes = [0]}", ELSEWHERE,
        NULL},
    {"ReduceLogSumExp",
        "input %x TYPE[6,217];%y TYPE = ReduceLogSumExp \"r\" v11 (%x) {axes = [1]}", ELSEWHERE,
        NULL},
    {"Softmax", "input %x TYPE[6,217];%y TYPE = Softmax \"s\" v13 (%x)", ELSEWHERE, NULL},
    {"product",
        "input %x TYPE[7,60];input %w TYPE[60,20];%p TYPE = MatMul \"m\" v13 (%x, %w);%y TYPE = "
        "Relu "
        "\"r\" v14 (%p)",
        ELSEWHERE, NULL},
    {"largest of a product",
        "input %x TYPE[7,60];input %w TYPE[60,20];%p TYPE = MatMul \"m\" v13 (%x, %w);%c TYPE = "
        "Clip "
        "\"c\" v6 (%p) {min = float 0., max = float 6.};%y TYPE = Neg \"n\" v13 (%c)",
        ELSEWHERE, NULL},
    {"convolution",
        "input %x TYPE[1,6,9,9];input %w TYPE[20,6,3,3];%y TYPE = Conv \"c\" v11 (%x, %w) {pads = "
        "[1,1,1,1]}",
        ELSEWHERE, NULL},
};

// Of some rows all are plain, so that a network of many numbers does not come to NaN alone.
static double number(seer_rng *rng, bool is_hard) {
  static const double hard[] = {
      (double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, -1e-40, 1.0, -1.0};
  bool is_plain = !is_hard || seer_rng_f64(rng) > 0.04;
  double sign = seer_rng_f64(rng) < 0.5 ? -1 : 1;
  if (is_plain) return sign * (0.9 + 0.2 * seer_rng_f64(rng));  // products stay in the type
  return hard[(size_t)(seer_rng_f64(rng) * (double)SEER_COUNT_OF(hard)) % SEER_COUNT_OF(hard)];
}

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  (void)user;
  int64_t row = buf->rank ? buf->dim[buf->rank - 1] : 1;
  for (int64_t k = 0; k < seer_dag_buf_elems(buf); k++)
    seer_dtype_store_f64(
        buf->dtype, data, k, number(rng, buf->kind != SEER_BUF_WEIGHT && k / row % 3 != 2));
}

static bool is_equal(seer_dtype dtype, double want, double got) {
  if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : got == want;
  if (!seer_dtype_is_float(dtype)) return got == want;
  double step = dtype == SEER_DTYPE_F16 ? 2e-3 : 1e-5;
  return fabs(want - got) <= step * fmax(1, fabs(want));
}

static double at(const seer_dag_buf *buf, const void *data, int64_t k) {
  if (!seer_dtype_is_float(buf->dtype)) return (double)seer_dtype_load_i64(buf->dtype, data, k);
  return seer_dtype_load_f64(buf->dtype, data, k);
}

static const char *compare(
    const seer_dag_buf *buf, const void *expected, const void *data, int64_t n, seer_arena *arena) {
  for (int64_t k = 0; k < n; k++) {
    double want = at(buf, expected, k), got = at(buf, data, k);
    if (!is_equal(buf->dtype, want, got))
      return seer_arena_printf(
          arena, "$%s: element %" PRId64 " is %g, expected %g", buf->name, k, got, want);
  }
  return NULL;
}

// What one sweep is about.
typedef struct {
  const network_text *text;
  const char *type;
} subject;

// The interpreter of the DAG against the formula.
static void judge(const void *user, const loop_expect *expect, seer_arena *arena) {
  const network_text *t = ((const subject *)user)->text;
  const char *type = ((const subject *)user)->type;
  const seer_dag *dag = expect->list->dag;
  if (t->axis == ELSEWHERE) return;
  uint32_t in = 0, out = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (expect->input[b]) in = b;
    if (expect->output[b]) out = b;
  }
  const seer_dag_buf *x = &dag->buf[in], *y = &dag->buf[out];
  int64_t n = seer_dag_buf_elems(x), a = x->dim[0], rest = n / a;
  double *numbers = SEER_NEW_ARRAY(arena, double, n);
  for (int64_t k = 0; k < n; k++) numbers[k] = at(x, expect->input[in], k);
  for (int64_t k = 0; k < seer_dag_buf_elems(y); k++) {
    double want = t->axis == ROWS ? t->want(&numbers[k * rest], rest, 1)
        : t->axis == COLUMNS      ? t->want(&numbers[k], a, rest)
                                  : t->want(&numbers[k], 1, 1);
    double got = at(y, expect->output[out], k);
    if (!is_equal(y->dtype, want, got) &&
        !(seer_dtype_is_float(y->dtype) && strcmp(type, "f16") == 0 && fabs(want) > 1e4))
      fail_msg("%s of %s: the DAG's interpreter gives %g for element %" PRId64 ", not %g", t->name,
          type, got, k, want);
  }
}

static uint32_t check(const network_text *t, const char *type, uint64_t seed, jit_runner *runner) {
  seer_arena *arena = seer_arena_create("task");
  const subject of = {t, type};
  schedule_sweep sweep = {.label = seer_arena_printf(arena, "%s of %s", t->name, type),
      .n_samples = SAMPLES,
      .fill = fill,
      .compare = compare,
      .judge = judge,
      .user = &of};
  seer_dag *dag = task_dag_of(t->name, t->text, type, arena);
  uint32_t n = schedule_sweep_run(&sweep, dag, seed, runner);
  sweep.space = SEER_SPACE_ANSOR;  // whose reductions are in two by other lengths
  if (t->axis != EACH) n += schedule_sweep_run(&sweep, dag, seed, runner);
  seer_arena_destroy(arena);
  return n;
}

static void run(void *user, jit_runner *runner) {
  const char *type = user;
  for (size_t k = 0; k < SEER_COUNT_OF(texts); k++) {
    uint32_t n = check(&texts[k], type, 17 + k, runner);
    print_message("%s of %s: %u schedules\n", texts[k].name, type, n);
    assert_true(n > 1);
  }
}

static void run_native(char *type) {
  jit_runner *runner = jit_runner_create(NULL);
  run(type, runner);
  jit_runner_destroy(runner);
}

// Machines differ in how their vectors take the larger of two numbers.
static void in_f32(void **state) {
  (void)state;
  test_levels_run(run, "f32");
}
static void in_f64(void **state) { (void)state, run_native("f64"); }
static void in_f16(void **state) { (void)state, run_native("f16"); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_f32),
      cmocka_unit_test(in_f64),
      cmocka_unit_test(in_f16),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
