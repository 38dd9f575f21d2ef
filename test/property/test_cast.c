// Every type of floats to every type of integers, at the ends of the integer, a place and half a
// step around them, at halves, zeros of both signs, the smallest and the largest numbers,
// infinities and NaN: all schedules, interpreted and compiled, for every level of the processor
// that runs here, give to the bit what the DAG's interpreter gives. That is held against a formula
// in long double: cut towards zero, the nearest end beyond them, NaN is 0; of bool
// everything is true but zeros.
// SEER_TEST: timeout=300
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/levels.h"
#include "support/schedule_sweep.h"
#include "support/test.h"

enum { N = 259 };  // vectors of any length, and a tail

typedef struct {
  const char *name;
  seer_dtype dtype;
  int bits;
  bool is_signed;
} whole_type;

static const whole_type wholes[] = {{"i8", SEER_DTYPE_I8, 8, true}, {"u8", SEER_DTYPE_U8, 8, false},
    {"i16", SEER_DTYPE_I16, 16, true}, {"u16", SEER_DTYPE_U16, 16, false},
    {"i32", SEER_DTYPE_I32, 32, true}, {"u32", SEER_DTYPE_U32, 32, false},
    {"i64", SEER_DTYPE_I64, 64, true}, {"u64", SEER_DTYPE_U64, 64, false},
    {"i4", SEER_DTYPE_I4, 4, true}, {"u4", SEER_DTYPE_U4, 4, false}, {"i2", SEER_DTYPE_I2, 2, true},
    {"u2", SEER_DTYPE_U2, 2, false}, {"bool", SEER_DTYPE_BOOL, 1, false}};

static const seer_dtype reals[] = {SEER_DTYPE_F32, SEER_DTYPE_F64, SEER_DTYPE_F16, SEER_DTYPE_BF16};

// The k-th of the numbers that are looked at; they are rounded to the float's type.
static double number(const whole_type *to, int64_t k, seer_rng *rng) {
  static const double hard[] = {0.0, -0.0, 0.5, -0.5, 0.99999994, -0.99999994, 1.5, -1.5, 2.5, -2.5,
      1e-45, -1e-45, 1e-40, 3.4028234663852886e38, -3.4028234663852886e38, 2147483520.0,
      2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0, 0x1p63, -0x1p63,
      0x1p64, 0x1.fffffep62, 0x1.fffffffffffffp62, 0x1.fffffffffffffp63, (double)INFINITY,
      -(double)INFINITY, (double)NAN, -(double)NAN};
  static const double beside[] = {0, 1, -1, 0.5, -0.5, 0.25, -0.25, 2, -2, 0.9999, -0.9999};
  int64_t n_hard = SEER_COUNT_OF(hard), n_beside = SEER_COUNT_OF(beside);
  double high = ldexp(1, to->bits - to->is_signed), end[2] = {high - 1, to->is_signed ? -high : 0};
  if (k < n_hard) return hard[k];
  k -= n_hard;
  if (k < 2 * n_beside) return end[k % 2] + beside[k / 2];
  k -= 2 * n_beside;
  if (k < 8) {  // the next float of either width
    double e = k & 4 ? high : end[k & 1], far = k & 2 ? (double)INFINITY : -(double)INFINITY;
    return k & 1 ? nextafter(e, far) : (double)nextafterf((float)e, (float)far);
  }
  double x = (seer_rng_f64(rng) - 0.5) * 4 * high;
  return k % 2 ? x : x * ldexp(1, -(int)seer_rng_below(rng, (uint64_t)to->bits));
}

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  for (int64_t k = 0; k < seer_dag_buf_elems(buf); k++)
    seer_dtype_store_f64(buf->dtype, data, k, number(user, k, rng));
}

static const char *compare(
    const seer_dag_buf *buf, const void *want, const void *got, int64_t n, seer_arena *arena) {
  for (int64_t k = 0; k < n; k++) {
    int64_t a = seer_dtype_load_i64(buf->dtype, want, k),
            b = seer_dtype_load_i64(buf->dtype, got, k);
    if (a != b)
      return seer_arena_printf(
          arena, "element %" PRId64 " is %" PRId64 ", expected %" PRId64, k, b, a);
  }
  return NULL;
}

static int64_t cut(const whole_type *to, double x) {
  long double high = ldexpl(1, to->bits - to->is_signed), low = to->is_signed ? -high : 0;
  if (to->dtype == SEER_DTYPE_BOOL) return x != 0;  // of NaN, too
  if (isnan(x)) return 0;
  long double whole = truncl((long double)x);
  if (whole > high - 1) whole = high - 1;
  if (whole < low) whole = low;
  return to->is_signed ? (int64_t)whole : (int64_t)(uint64_t)whole;
}

static void judge(const void *user, const loop_expect *expect, seer_arena *arena) {
  (void)arena;
  const whole_type *to = user;
  const seer_dag *dag = expect->list->dag;
  uint32_t in = 0, out = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (expect->input[b]) in = b;
    if (expect->output[b]) out = b;
  }
  for (int64_t k = 0; k < N; k++) {
    double x = seer_dtype_load_f64(dag->buf[in].dtype, expect->input[in], k);
    int64_t got = seer_dtype_load_i64(dag->buf[out].dtype, expect->output[out], k);
    if (got != cut(to, x))
      fail_msg("%s of %a: the DAG's interpreter gives %" PRId64 ", not %" PRId64, to->name, x, got,
          cut(to, x));
  }
}

static seer_dag *build(seer_dtype from, seer_dtype to, seer_arena *arena) {
  seer_dag *dag = seer_dag_create(arena, "cast");
  const int64_t dim[1] = {N};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, from, dim, 1, 0);
  const seer_dag_axis axis = {"i", N, SEER_AXIS_OTHER};
  uint32_t stage = seer_dag_add_stage(dag, "y", SEER_STAGE_EPILOGUE, &axis, 1, 0);
  seer_expr at = seer_dag_var(dag, stage, 0);
  seer_expr body = seer_expr_cast(&dag->expr, to, seer_dag_load(dag, x, &at));
  seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  seer_dag_mark_output(dag, dag->stage[stage].out[0], 0);
  must(seer_dag_verify(dag));
  seer_dag_finish(dag);
  return dag;
}

static uint32_t check(seer_dtype from, const whole_type *to, jit_runner *runner) {
  seer_arena *arena = seer_arena_create("task");
  schedule_sweep sweep = {
      .label = seer_arena_printf(arena, "%s to %s", seer_dtype_name(from), to->name),
      .n_samples = 3,
      .fill = fill,
      .compare = compare,
      .judge = judge,
      .user = to};
  uint32_t n = schedule_sweep_run(&sweep, build(from, to->dtype, arena), 1, runner);
  seer_arena_destroy(arena);
  return n;
}

static void check_all(void *user, jit_runner *runner) {
  (void)user;
  for (size_t f = 0; f < SEER_COUNT_OF(reals); f++) {
    for (size_t w = 0; w < SEER_COUNT_OF(wholes); w++)
      assert_true(check(reals[f], &wholes[w], runner) > 1);
  }
}

static void every_type_at_its_ends(void **state) {
  (void)state;
  test_levels_run(check_all, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_type_at_its_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
