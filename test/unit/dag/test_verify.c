// Verify accepts what is right and names what is wrong: each planted fault must be caught.

#include <string.h>

#include "nets.h"
#include "support/random_dag.h"
#include "support/test.h"

static seer_status verify_text(seer_arena *arena, const char *text) {
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  return seer_dag_verify(dag);
}

static void accepts(seer_arena *arena, const char *text) {
  seer_status status = verify_text(arena, text);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
}

static void refuses(seer_arena *arena, const char *text, const char *why) {
  seer_status status = verify_text(arena, text);
  if (!status) fail_msg("accepted\n%s", text);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  if (!strstr(seer_status_message(status), why))
    fail_msg("'%s' lacks '%s'", seer_status_message(status), why);
  seer_status_free(status);
}

static const char *replaced(const char *text, const char *type, seer_arena *arena) {
  seer_text out;
  seer_text_init(&out, arena);
  for (const char *at = text; *at;) {
    bool is_type = strncmp(at, "TYPE", 4) == 0;
    if (is_type)
      seer_text_put(&out, type);
    else
      seer_text_put_n(&out, at, 1);
    at += is_type ? 4 : 1;
  }
  return out.data;
}

#define ONE(body) \
  "dag t { input $x f32[5] input $g i64[5] stage s role anchor [i<5, j<4] = " body " output $s }"

static void loads_must_be_in_bounds(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  accepts(arena, ONE("$x[i] * $x[j + 1]"));
  refuses(arena, ONE("$x[j + 2]"), "'j + 2', is 2 to 5, must be 0 to 4");
  refuses(arena, ONE("$x[i - 1]"), "is -1 to 3");
  accepts(arena, ONE("$x[i - 1] if i >= 1 else 0.0"));
  refuses(arena, ONE("$x[i - 2] if i >= 1 else 0.0"), "where its guard holds");
  accepts(arena, ONE("$x[i + j - 2] if (i + j >= 2) & (i + j < 7) else 0.0"));
  refuses(arena, ONE("$x[i + j - 2] if (i + j >= 2) & (i + j <= 7) else 0.0"), "0 to 5");
  refuses(arena, ONE("$x[i + j - 3] if (i + j >= 3) | (i + j < 8) else 0.0"), "-3 to 4");
  accepts(arena, ONE("$x[(i * 4 + j) / 4]"));
  accepts(arena, ONE("$x[(i * 4 + j) % 5]"));
  refuses(arena, ONE("$x[(i * 4 + j) % 6]"), "0 to 5");
  refuses(arena, ONE("$x[(i * 4 + j) / 3]"), "0 to 6");
  accepts(arena, ONE("$x[select(i < 4, i + 1, i - 4)]"));
  refuses(arena, ONE("$x[select(i < 4, i + 2, i - 4)]"), "0 to 5");
  // An outer guard does not protect an inner load.
  refuses(arena, ONE("$x[i] if i < 2 else $x[i + 1]"), "1 to 5");
  refuses(arena, ONE("select(i < 4, $x[i + 1], 0.0)"), "1 to 5");
  // Data as an index.
  refuses(arena, ONE("$x[$g[i]]"), "no provable bounds");
  accepts(arena, ONE("$x[max(min($g[i], 4), 0)]"));
  refuses(arena, ONE("$x[max(min($g[i], 5), 0)]"), "0 to 5");
  accepts(arena, ONE("$x[$g[i]] if ($g[i] >= 0) & ($g[i] < 5) else 0.0"));
  refuses(arena, ONE("$x[$g[i]] if ($g[i] >= 0) & ($g[j] < 5) else 0.0"), "no provable bounds");
  // A guard that never holds protects everything.
  accepts(arena, ONE("$x[i + 100] if i > 7 else 0.0"));
  // Overflow is no way around.
  refuses(arena, ONE("$x[i * 9223372036854775807]"), "");
  seer_arena_destroy(arena);
}

// Floats narrower than f32 are stored, moved and compared; nothing is computed with them.
static void narrow_floats_are_not_computed_with(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
#define NARROW(type, body)                                                                  \
  "dag t { input $x " type "[5, 9] input $y " type "[5, 9] stage s role anchor [i<5] " body \
  " output $s }"
  const char *const types[] = {"f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"};
  for (size_t t = 0; t < SEER_COUNT_OF(types); t++) {
    const char *const good[] = {"= max($x[i, 0], $y[i, 1])", "= neg(abs($x[i, 0]))",
        "max[k<9] = $x[i, k]", "min[k<9] = select($x[i, k] < $y[i, k], $x[i, k], $y[i, k])",
        "sum[k<9] = cast.f32($x[i, k]) * cast.f32($y[i, k])", "or[k<9] = $x[i, k] != $y[i, k]",
        "prod[k<9] = cast.f64($x[i, k])"};
    const struct {
      const char *body, *why;
    } bad[] = {
        {"sum[k<9] = $x[i, k]", "a sum of TYPE, whose partial results would be rounded to it"},
        {"prod[k<9] = max($x[i, k], $y[i, k])", "a prod of TYPE"},
        {"= $x[i, 0] + $y[i, 1]", "'+' of TYPE, which is stored, moved and compared only"},
        {"= exp($x[i, 0])", "'exp' of TYPE"}, {"max[k<9] = $x[i, k] * $y[i, k]", "'*' of TYPE"},
        {"sum[k<9] = cast.f32($x[i, k] - $y[i, k])", "'-' of TYPE"}};
#define OF_TYPE(text) replaced(text, types[t], arena)
    for (size_t k = 0; k < SEER_COUNT_OF(good); k++)
      accepts(arena, OF_TYPE(seer_arena_printf(arena, NARROW("TYPE", "%s"), good[k])));
    for (size_t k = 0; k < SEER_COUNT_OF(bad); k++)
      refuses(arena, OF_TYPE(seer_arena_printf(arena, NARROW("TYPE", "%s"), bad[k].body)),
          OF_TYPE(bad[k].why));
  }
  seer_arena_destroy(arena);
}

static void outputs_are_needed(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  refuses(arena, "dag t { input $x f32[5] stage s role anchor [i<5] = $x[i] }", "0 output stages");
  accepts(arena, "dag t { input $x f32[] stage s role anchor [] = $x[] + 1.0 output $s }");
  accepts(arena, "dag t { stage s role anchor [i<3] = cast.f32(i) output $s }");
  accepts(arena, "dag t { input $x bool[4] stage s role anchor [] and[i<4] = $x[i] output $s }");
  seer_arena_destroy(arena);
}

// Faults planted into a sound DAG, as a wrong pass would leave them.
static void expect_fault(seer_dag *dag, const char *what) {
  seer_status status = seer_dag_verify(dag);
  if (!status) fail_msg("not caught: %s", what);
  seer_status_free(status);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  conv_shape s = {1, 9, 9, 4, 5, 3, 1, 1, 1, true};
  const seer_dag *good = make_conv(arena, &s, &out);
  assert_null(seer_dag_verify(good));
  seer_dag *d = seer_dag_clone(good, arena);
  d->stage[1].axis[1].extent++;
  expect_fault(d, "an extent that is not the buffer's");
  d = seer_dag_clone(good, arena);
  d->stage[1].axis[4].extent = 4;
  expect_fault(d, "a window that leaves the padded image");
  d = seer_dag_clone(good, arena);
  d->buf[1].dim[0] = 4, d->buf[1].pitch = d->buf[1].dim[3];
  expect_fault(d, "a weight that is too small");
  d = seer_dag_clone(good, arena);
  d->buf[0].pitch = 3;
  expect_fault(d, "a pitch below the row");
  d = seer_dag_clone(good, arena);
  d->stage[1].combiner = SEER_COMBINE_NONE;
  expect_fault(d, "reduction axes without combiner");
  d = seer_dag_clone(good, arena);
  d->stage[1].combiner = SEER_COMBINE_ARGMAX;
  expect_fault(d, "argmax of one value");
  d = seer_dag_clone(good, arena);
  seer_expr body = d->stage[1].body[0];
  d->stage[1].body[0] = d->stage[2].body[0];
  expect_fault(d, "a stage that reads itself");
  d->stage[1].body[0] = body;
  d->stage[2].body[0] = body;
  expect_fault(d, "another stage's variables");
  d = seer_dag_clone(good, arena);
  d->buf[d->stage[2].out[0]].is_output = false;
  expect_fault(d, "no output");
  d = seer_dag_clone(good, arena);
  d->buf[d->stage[1].out[0]].dtype = SEER_DTYPE_I32;
  expect_fault(d, "a buffer of another type");
  d = seer_dag_clone(good, arena);
  d->buf[0].rank = 3;
  expect_fault(d, "a buffer of another rank");
  d = seer_dag_clone(good, arena);
  d->stage[2].body[0] = (seer_expr){0};
  expect_fault(d, "no body");
  d = seer_dag_clone(good, arena);
  for (uint32_t e = 1; e < d->expr.n; e++) {  // y - 1 becomes y - 2: guard off by one
    if (d->expr.node[e].op == SEER_EXPR_CONST_I && d->expr.node[e].value.i == -1)
      d->expr.node[e].value.i = -2;
  }
  expect_fault(d, "a guard that is off by one");
  seer_arena_destroy(arena);
}

// In random DAGs: growing any reduction axis or shrinking any input either is caught or changes no
// load.
static void shrunk_inputs_are_caught(void **state) {
  (void)state;
  uint32_t n_caught = 0, n_all = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    seer_arena *arena = seer_arena_create("test");
    const seer_dag *good = random_dag_of(seed, arena);
    const seer_dag_buf *x = &good->buf[0];
    for (uint32_t k = 0; k < x->rank; k++) {
      if (x->dim[k] == 1) continue;
      seer_dag *d = seer_dag_clone(good, arena);
      d->buf[0].dim[k]--;
      seer_status status = seer_dag_verify(d);
      n_all++;
      if (status) n_caught++;
      seer_status_free(status);
    }
    seer_arena_destroy(arena);
  }
  // Not all: a slice or a stride may leave the last element unread, a gather clamps.
  assert_true(n_caught * 10 > n_all * 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loads_must_be_in_bounds),
      cmocka_unit_test(narrow_floats_are_not_computed_with),
      cmocka_unit_test(outputs_are_needed),
      cmocka_unit_test(planted_faults_are_caught),
      cmocka_unit_test(shrunk_inputs_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
