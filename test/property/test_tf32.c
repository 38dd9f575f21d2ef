// Numbers of f32 rounded to TF32 (tf32(x)): ties and their neighbours at every exponent, denormal
// numbers, what becomes infinite, infinities, NaNs of all kinds, random bits. All schedules,
// interpreted and compiled, for every level of the processor that runs here, give to the bit what
// the DAG's interpreter gives; that is held against arithmetic in double: the magnitude in steps of
// its 11th digit, plus a half, cut. A constant is folded to the same.
// SEER_TEST: timeout=120 cost=10
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "dag/scalar.h"
#include "support/levels.h"
#include "support/schedule_sweep.h"
#include "support/test.h"

enum { N = 5003, N_TIES = 256 * 8 };  // vectors of any length, and a tail

static float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Half a step, and a place beside it, of an odd and of an even number, or of the last one before
// the next exponent; of either sign.
static uint32_t tie(int64_t k, seer_rng *rng) {
  uint32_t exponent = (uint32_t)(k / 8), beside = (uint32_t)(k % 4) - 1,
           digits = k % 8 < 4 ? 0x3FF : (uint32_t)seer_rng_below(rng, 1024);
  if (k % 4 == 3) beside = 0u - 0x1000;  // exact
  uint32_t sign = (uint32_t)seer_rng_below(rng, 2) << 31;
  return sign | exponent << 23 | ((digits << 13) + 0x1000 + beside);
}

static uint32_t number(int64_t k, seer_rng *rng) {
  static const uint32_t hard[] = {0, 0x80000000, 1, 0x80000001, 0xFFF, 0x1000, 0x1001, 0x1FFF,
      0x7FEFFF, 0x7FFFFF, 0x800000, 0x7F7FEFFF, 0x7F7FF000, 0x7F7FFFFF, 0xFF7FF000, 0x7F800000,
      0xFF800000, 0x7F800001, 0xFF800001, 0x7F801000, 0x7FBFFFFF, 0x7FC00000, 0xFFC00000,
      0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF, 0x3F800000, 0x3F801000, 0x3F803000, 0xBF801000};
  int64_t n_hard = SEER_COUNT_OF(hard);
  if (k < n_hard) return hard[k];
  if (k < n_hard + N_TIES) return tie(k - n_hard, rng);
  return (uint32_t)seer_rng_u64(rng);
}

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  (void)user;
  uint32_t *bits = data;
  for (int64_t k = 0; k < seer_dag_buf_elems(buf); k++) bits[k] = number(k, rng);
}

static bool are_same(float a, float b) { return isnan(a) ? isnan(b) : bits_of(a) == bits_of(b); }

static const char *compare(
    const seer_dag_buf *buf, const void *want, const void *got, int64_t n, seer_arena *arena) {
  (void)buf;
  const float *a = want, *b = got;
  for (int64_t k = 0; k < n; k++)
    if (!are_same(a[k], b[k]))
      return seer_arena_printf(
          arena, "element %" PRId64 " is %a, expected %a", k, (double)b[k], (double)a[k]);
  return NULL;
}

// Without a look at bits.
static float rounded(float x) {
  int exponent;
  double magnitude = fabs((double)x);
  if (isnan(x) || isinf(x)) return x;
  (void)frexp(magnitude, &exponent);
  double step = ldexp(1, exponent < -125 ? -136 : exponent - 11);
  double near = floor(magnitude / step + 0.5) * step;
  return (float)copysign(near >= 0x1p128 ? (double)INFINITY : near, (double)x);
}

static void judge(const void *user, const loop_expect *expect, seer_arena *arena) {
  (void)user, (void)arena;
  const seer_dag *dag = expect->list->dag;
  const float *in = NULL, *out = NULL;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (expect->input[b]) in = expect->input[b];
    if (expect->output[b]) out = expect->output[b];
  }
  for (int64_t k = 0; k < N; k++)
    if (!are_same(out[k], rounded(in[k])))
      fail_msg("%a (%08x): the DAG's interpreter gives %a, not %a", (double)in[k], bits_of(in[k]),
          (double)out[k], (double)rounded(in[k]));
}

static seer_dag *build(seer_arena *arena) {
  static const char text[] =
      "dag t { input $x f32[5003] stage y role epilogue [i<5003] = tf32($x[i]) output $y }";
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  return dag;
}

static void check_all(void *user, jit_runner *runner) {
  (void)user;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    seer_arena *arena = seer_arena_create("task");
    schedule_sweep sweep = {
        .label = "tf32", .n_samples = 4, .fill = fill, .compare = compare, .judge = judge};
    assert_true(schedule_sweep_run(&sweep, build(arena), seed, runner) > 1);
    seer_arena_destroy(arena);
  }
}

static void every_tie(void **state) {
  (void)state;
  test_levels_run(check_all, NULL);
}

static void constants(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_expr_pool pool;
  seer_rng rng;
  seer_rng_init(&rng, 7);
  seer_expr_pool_init(&pool, arena);
  for (int64_t k = 0; k < N; k++) {
    float x = of_bits(number(k, &rng));
    seer_expr e =
        seer_expr_unary(&pool, SEER_EXPR_TF32, seer_expr_f(&pool, SEER_DTYPE_F32, (double)x));
    const seer_expr_node *node = seer_expr_at(&pool, e);
    assert_int_equal(node->op, SEER_EXPR_CONST_F);
    assert_true(are_same((float)node->value.f, rounded(x)));
  }
  seer_arena_destroy(arena);
}

static void of_f32_alone(void **state) {
  (void)state;
  static const char *const texts[] = {
      "dag t { input $x f64[4] stage y role epilogue [i<4] = tf32($x[i]) output $y }",
      "dag t { input $x f16[4] stage y role epilogue [i<4] = tf32($x[i]) output $y }",
      "dag t { input $x i32[4] stage y role epilogue [i<4] = tf32($x[i]) output $y }"};
  for (size_t k = 0; k < SEER_COUNT_OF(texts); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag;
    seer_status status = seer_dag_parse("test", texts[k], strlen(texts[k]), arena, &dag);
    assert_non_null(status);
    assert_non_null(strstr(seer_status_message(status), "tf32 of "));
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_tie), cmocka_unit_test(constants), cmocka_unit_test(of_f32_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
