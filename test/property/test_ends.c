// Reductions of every type at every length from 1 to 40, of data at the ends of the type: the
// largest and the least numbers, alone and mixed. Loops of every sketch, and compiled code, against
// hand-written ones; so is the interpreter.
// SEER_TEST: timeout=300
#include <math.h>
#include <string.h>

#include "support/jit_check.h"
#include "support/loop_check.h"
#include "support/test.h"

#define N_ROWS 4
#define MAX_LENGTH 40

typedef struct {
  seer_combiner combiner;
  seer_dtype dtype;
  int64_t length;
} reduction;

static const seer_dtype types[] = {SEER_DTYPE_I8, SEER_DTYPE_U8, SEER_DTYPE_I16, SEER_DTYPE_U16,
    SEER_DTYPE_I32, SEER_DTYPE_U32, SEER_DTYPE_I64, SEER_DTYPE_U64, SEER_DTYPE_BOOL, SEER_DTYPE_I4,
    SEER_DTYPE_U4, SEER_DTYPE_I2, SEER_DTYPE_U2, SEER_DTYPE_F32, SEER_DTYPE_F64, SEER_DTYPE_F16,
    SEER_DTYPE_BF16};

static const seer_combiner combiners[] = {SEER_COMBINE_MAX, SEER_COMBINE_MIN, SEER_COMBINE_ARGMAX,
    SEER_COMBINE_ARGMIN, SEER_COMBINE_SUM, SEER_COMBINE_PROD, SEER_COMBINE_AND, SEER_COMBINE_OR};

static bool has_type(seer_combiner combiner, seer_dtype dtype) {
  if (combiner == SEER_COMBINE_AND || combiner == SEER_COMBINE_OR)
    return !seer_dtype_is_float(dtype) && seer_dtype_bits(dtype) > 4;
  if (combiner != SEER_COMBINE_SUM && combiner != SEER_COMBINE_PROD) return true;
  return !seer_dtype_is_float(dtype) && dtype != SEER_DTYPE_BOOL && seer_dtype_bits(dtype) > 4;
}

// ---- numbers at the ends, written down a second time

static seer_scalar end_of(seer_dtype dtype, bool is_highest) {
  switch ((int)dtype) {
    case SEER_DTYPE_I4:
      return (seer_scalar){.i = is_highest ? 7 : -8};
    case SEER_DTYPE_U4:
      return (seer_scalar){.i = is_highest ? 15 : 0};
    case SEER_DTYPE_I2:
      return (seer_scalar){.i = is_highest ? 1 : -2};
    case SEER_DTYPE_U2:
      return (seer_scalar){.i = is_highest ? 3 : 0};
    case SEER_DTYPE_BOOL:
      return (seer_scalar){.i = is_highest};
    case SEER_DTYPE_I8:
      return (seer_scalar){.i = is_highest ? INT8_MAX : INT8_MIN};
    case SEER_DTYPE_I16:
      return (seer_scalar){.i = is_highest ? INT16_MAX : INT16_MIN};
    case SEER_DTYPE_I32:
      return (seer_scalar){.i = is_highest ? INT32_MAX : INT32_MIN};
    case SEER_DTYPE_I64:
      return (seer_scalar){.i = is_highest ? INT64_MAX : INT64_MIN};
    case SEER_DTYPE_U8:
      return (seer_scalar){.i = is_highest ? UINT8_MAX : 0};
    case SEER_DTYPE_U16:
      return (seer_scalar){.i = is_highest ? UINT16_MAX : 0};
    case SEER_DTYPE_U32:
      return (seer_scalar){.i = is_highest ? (int64_t)UINT32_MAX : 0};
    case SEER_DTYPE_U64:
      return (seer_scalar){.i = is_highest ? (int64_t)UINT64_MAX : 0};
    default:
      return (seer_scalar){.f = is_highest ? (double)INFINITY : -(double)INFINITY};
  }
}

// Row 0: all the highest; 1: all the lowest; 2: either, or a step from it; 3: anything.
static seer_scalar number(seer_dtype dtype, uint32_t row, seer_rng *rng) {
  bool is_highest = row == 0 || (row > 1 && seer_rng_below(rng, 2));
  seer_scalar end = end_of(dtype, is_highest);
  if (row < 2) return end;
  bool is_near = seer_rng_below(rng, 2);
  if (seer_dtype_is_float(dtype)) {
    double finite = (double)(int64_t)seer_rng_below(rng, 200) - 100;
    return row == 2 && !is_near ? end : (seer_scalar){.f = finite};
  }
  if (row == 2 && dtype != SEER_DTYPE_BOOL) end.i += is_near ? (is_highest ? -1 : 1) : 0;
  if (row == 3) end.i = (int64_t)seer_rng_u64(rng);
  return (seer_scalar){.i = seer_scalar_wrap(dtype, end.i)};
}

// ---- the expected results, by the rules of C

static bool is_above(seer_dtype dtype, seer_scalar a, seer_scalar b) {
  if (seer_dtype_is_float(dtype)) return a.f > b.f;
  return dtype == SEER_DTYPE_U64 ? (uint64_t)a.i > (uint64_t)b.i : a.i > b.i;
}

static seer_scalar join(const reduction *r, seer_scalar a, seer_scalar b) {
  uint64_t ua = (uint64_t)a.i, ub = (uint64_t)b.i;
  switch ((int)r->combiner) {
    case SEER_COMBINE_SUM:
      return (seer_scalar){.i = (int64_t)(ua + ub)};
    case SEER_COMBINE_PROD:
      return (seer_scalar){.i = (int64_t)(ua * ub)};
    case SEER_COMBINE_AND:
      return (seer_scalar){.i = (int64_t)(ua & ub)};
    case SEER_COMBINE_OR:
      return (seer_scalar){.i = (int64_t)(ua | ub)};
    case SEER_COMBINE_MAX:
    case SEER_COMBINE_ARGMAX:
      return is_above(r->dtype, b, a) ? b : a;
    default:
      return is_above(r->dtype, a, b) ? b : a;
  }
}

static bool same(seer_dtype dtype, seer_scalar a, seer_scalar b) {
  return seer_dtype_is_float(dtype) ? a.f == b.f : a.i == b.i;
}

static void expect_row(const reduction *r, const void *x, int64_t row, loop_expect *expect,
    const seer_dag_stage *stage) {
  seer_scalar acc = seer_scalar_load(r->dtype, x, row * r->length);
  int64_t first = 0;
  for (int64_t k = 1; k < r->length; k++) {
    seer_scalar joined = join(r, acc, seer_scalar_load(r->dtype, x, row * r->length + k));
    if (!same(r->dtype, joined, acc)) first = k;
    acc = joined;
  }
  seer_scalar_store(r->dtype, expect->output[stage->out[0]], row, acc);
  if (seer_combiner_is_arg(r->combiner))
    seer_scalar_store(
        SEER_DTYPE_I64, expect->output[stage->out[1]], row, (seer_scalar){.i = first});
}

// ---- one reduction

static seer_dag *build(const reduction *r, seer_arena *arena) {
  seer_dag *dag = seer_dag_create(arena, "ends");
  const int64_t dim[2] = {N_ROWS, r->length};
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, r->dtype, dim, 2, 0);
  const seer_dag_axis axes[2] = {{"i", N_ROWS, SEER_AXIS_OTHER}, {"k", r->length, SEER_AXIS_OTHER}};
  uint32_t stage = seer_dag_add_stage(dag, "r", SEER_STAGE_ANCHOR, axes, 1, 1);
  seer_expr at[2] = {seer_dag_var(dag, stage, 0), seer_dag_var(dag, stage, 1)};
  seer_expr body[2] = {seer_dag_load(dag, x, at), at[1]};
  uint32_t n = seer_combiner_is_arg(r->combiner) ? 2 : 1;
  seer_dag_set_body(dag, stage, r->combiner, body, n);
  for (uint32_t v = 0; v < n; v++) seer_dag_mark_output(dag, dag->stage[stage].out[v], 0);
  must(seer_dag_verify(dag));
  seer_dag_finish(dag);
  return dag;
}

static loop_expect *expect_of(
    const reduction *r, const seer_sketch_list *list, seer_rng *rng, seer_arena *arena) {
  const seer_dag *dag = list->dag;
  loop_expect *expect = SEER_NEW(arena, loop_expect);
  *expect = (loop_expect){.list = list, .is_exact = true};
  void *x = seer_arena_alloc(arena, (size_t)(N_ROWS * r->length) * 8, 64);
  for (int64_t k = 0; k < N_ROWS * r->length; k++)
    seer_scalar_store(r->dtype, x, k, number(r->dtype, (uint32_t)(k / r->length), rng));
  expect->input[0] = x;
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_dag_eval_set_input(eval, 0, x);
  const seer_dag_stage *stage = &dag->stage[0];
  for (uint32_t v = 0; v < stage->n_values; v++)
    expect->output[stage->out[v]] = seer_arena_alloc(arena, N_ROWS * 8, 64);
  for (int64_t row = 0; row < N_ROWS; row++) expect_row(r, x, row, expect, stage);
  for (uint32_t v = 0; v < stage->n_values; v++) {
    uint64_t got[N_ROWS];
    seer_dag_eval_all(eval, stage->out[v], got);
    assert_memory_equal(got, expect->output[stage->out[v]],
        N_ROWS * seer_dtype_bytes(dag->buf[stage->out[v]].dtype));
  }
  return expect;
}

static const char *check_compiled(jit_runner *runner, const loop_expect *expect,
    const seer_schedule *schedule, seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  void **data = loop_expect_data(expect, sketch, loop, arena);
  const char *wrong = jit_run(runner, loop, data, 2, arena);
  return wrong ? wrong : loop_expect_compare(expect, sketch, loop, data, arena);
}

static void check(const reduction *r, jit_runner *runner, seer_rng *rng) {
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list;
  must(seer_sketch_generate(
      build(r, arena), jit_runner_target(runner), SEER_SPACE_FULL, arena, &list));
  loop_expect *expect = expect_of(r, list, rng, arena);
  for (uint32_t k = 0; k < list->n; k++) {
    seer_schedule schedule;
    seer_schedule_default(list, k, &schedule);
    const char *wrong = loop_check(expect, &schedule, SEER_LOWER_FAULT_NONE, 1, arena, NULL);
    // One in five is compiled: what is wrong there hardly depends on the length alone.
    if (!wrong && (r->length + (int64_t)r->dtype) % 5 == 0)
      wrong = check_compiled(runner, expect, &schedule, arena);
    if (wrong)
      fail_msg("%s of %s, %" PRId64 " long: %s", seer_combiner_name(r->combiner),
          seer_dtype_name(r->dtype), r->length, wrong);
  }
  seer_arena_destroy(arena);
}

static void every_type_and_length(void **state) {
  (void)state;
  jit_runner *runner = jit_runner_create(NULL);
  seer_rng rng;
  seer_rng_init(&rng, 11);
  for (size_t c = 0; c < SEER_COUNT_OF(combiners); c++) {
    for (size_t t = 0; t < SEER_COUNT_OF(types); t++) {
      for (int64_t length = 1; length <= MAX_LENGTH && has_type(combiners[c], types[t]); length++)
        check(&(reduction){combiners[c], types[t], length}, runner, &rng);
    }
  }
  jit_runner_destroy(runner);
}

// ---- what all that comes from

static void ends_of_types(void **state) {
  (void)state;
  for (size_t t = 0; t < SEER_COUNT_OF(types); t++) {
    assert_true(same(types[t], seer_scalar_lowest(types[t]), end_of(types[t], false)));
    assert_true(same(types[t], seer_scalar_highest(types[t]), end_of(types[t], true)));
    if (seer_dtype_is_float(types[t])) continue;
    assert_true(seer_scalar_saturate(types[t], 1e300) == end_of(types[t], true).i);
    bool is_bool = types[t] == SEER_DTYPE_BOOL;  // all but 0 is true
    assert_true(seer_scalar_saturate(types[t], -1e300) == end_of(types[t], is_bool).i);
  }
  // Types without infinities end at their largest numbers.
  assert_true(seer_scalar_highest(SEER_DTYPE_F8E4M3FN).f == 448);
  assert_true(seer_scalar_lowest(SEER_DTYPE_F8E5M2FNUZ).f == -57344);
  assert_true(isinf(seer_scalar_highest(SEER_DTYPE_F8E5M2).f));
  // Doubles near 2^63 and 2^64.
  assert_true(seer_scalar_saturate(SEER_DTYPE_I64, 0x1p63) == INT64_MAX);
  assert_true(seer_scalar_saturate(SEER_DTYPE_I64, 0x1.fffffffffffffp62) == 0x7ffffffffffffc00);
  assert_true(seer_scalar_saturate(SEER_DTYPE_I64, -0x1p63) == INT64_MIN);
  assert_true(seer_scalar_saturate(SEER_DTYPE_U64, 0x1p64) == -1);
  assert_true(seer_scalar_saturate(SEER_DTYPE_U64, 0x1.fffffffffffffp63) == -2048);
  assert_true(seer_scalar_saturate(SEER_DTYPE_U64, -0.5) == 0);
  assert_true(seer_combiner_identity(SEER_COMBINE_ARGMAX, 1, SEER_DTYPE_I64).i == INT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_of_types), cmocka_unit_test(every_type_and_length)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
