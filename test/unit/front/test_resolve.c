// What resolving settles by itself: values without elements, sequences and optional values. Graphs
// whose outputs fold to constants, so that resolving alone gives the answer.
#include <math.h>
#include <string.h>

#include "front/front.h"
#include "support/test.h"

typedef struct {
  const char *body;  // of the graph
  const char *type;  // of output 0; or NULL
  double values[8];
  const char *error;
} resolve_case;

static void check_values(const resolve_case *c, const seer_tensor *tensor) {
  for (int64_t i = 0; i < seer_tensor_elems(tensor); i++) {
    double got = seer_dtype_load_f64(tensor->dtype, tensor->data, i), want = c->values[i];
    bool is_same = isnan(want) ? isnan(got) : got == want || fabs(got - want) < 1e-6;
    if (!is_same) fail_msg("%s: element %d is %g, must be %g", c->body, (int)i, got, want);
  }
}

static void run(const resolve_case *cases, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const resolve_case *c = &cases[k];
    seer_arena *arena = seer_arena_create("test");
    const char *text = seer_arena_printf(arena, "graph \"g\" { %s }", c->body);
    seer_graph *graph = NULL;
    seer_status status = seer_graph_parse("test", text, strlen(text), arena, &graph);
    if (!status) status = seer_front_resolve(graph, "", NULL);
    if (!c->error && status) fail_msg("%s: %s", c->body, seer_status_message(status));
    if (c->error && !status) fail_msg("%s: no error", c->body);
    if (c->error && !strstr(seer_status_message(status), c->error))
      fail_msg("%s: '%s' does not contain '%s'", c->body, seer_status_message(status), c->error);
    if (!c->error) {
      const seer_value *value = seer_graph_value(graph, graph->output[0]);
      assert_string_equal(seer_value_type_text(value, arena), c->type);
      if (!value->constant) fail_msg("%s: the output did not fold", c->body);
      check_values(c, value->constant);
      assert_int_equal(graph->n_node, 1);  // nothing is left to run
    }
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

#define X20 "input %x f32[2,0] const $one i64[1] = [1] "
#define REDUCED(op, version) "%y ? = " op " \"y\" v" version " (%x, $one) {keepdims=0} output %y"

static void nothing_is_known(void **state) {
  (void)state;
  static const resolve_case cases[] = {
      {"input %x f32[0,4] %y ? = Relu \"y\" v14 (%x) output %y", "f32[0,4]", {0}, NULL},
      {X20 REDUCED("ReduceSum", "13"), "f32[2]", {0, 0}, NULL},
      {X20 REDUCED("ReduceMax", "20"), "f32[2]", {-INFINITY, -INFINITY}, NULL},
      {X20 REDUCED("ReduceMin", "20"), "f32[2]", {INFINITY, INFINITY}, NULL},
      {X20 REDUCED("ReduceProd", "18"), "f32[2]", {1, 1}, NULL},
      {X20 REDUCED("ReduceMean", "18"), "f32[2]", {NAN, NAN}, NULL},
      {X20 REDUCED("ReduceLogSum", "18"), "f32[2]", {-INFINITY, -INFINITY}, NULL},
      {X20 REDUCED("ReduceLogSumExp", "18"), "f32[2]", {-INFINITY, -INFINITY}, NULL},
      {X20 REDUCED("ReduceL2", "18"), "f32[2]", {0, 0}, NULL},
      {"input %x i32[0] %y ? = ReduceMax \"y\" v12 (%x) {keepdims=0} output %y", "i32[]",
          {-2147483648.0}, NULL},
      {"input %x i64[0] %y ? = ReduceMin \"y\" v12 (%x) {keepdims=0} output %y", "i64[]", {0x1p63},
          NULL},
      {"input %x u8[0] %y ? = ReduceMin \"y\" v12 (%x) {keepdims=0} output %y", "u8[]", {255},
          NULL},
      {"input %a f32[2,0] input %b f32[0,2] %y ? = MatMul \"y\" v13 (%a, %b) output %y", "f32[2,2]",
          {0, 0, 0, 0}, NULL},
      {"input %a f32[2,0] input %b f32[0,2] const $c f32[2] = [3,4] %y ? = Gemm \"y\" v13 (%a, %b, "
       "$c) {alpha=float 2} output %y",
          "f32[2,2]", {3, 4, 3, 4}, NULL},
      {"const $a f32[2] = [1,2] input %b f32[0] %y ? = Einsum \"y\" v12 ($a, %b) "
       "{equation=\"i,j->i\"} output %y",
          "f32[2]", {0, 0}, NULL},
      {"const $a f32[2] = [1,2] input %b f32[0] %y ? = Concat \"y\" v13 (%b, $a, %b) {axis=0} "
       "output %y",
          "f32[2]", {1, 2}, NULL},
      {"input %x f32[0,2] const $p i64[4] = [1,0,1,1] %y ? = Pad \"y\" v13 (%x, $p) output %y",
          "f32[2,3]", {0}, NULL},
      {"const $x f32[2] = [5,6] const $s i64[3] = [0,2,0] %a ?, %y ?, %c ? = Split \"y\" v13 ($x, "
       "$s) output %y output %a output %c",
          "f32[2]", {5, 6}, NULL},
      {X20 "%y ? = ArgMax \"y\" v13 (%x) {axis=1} output %y", NULL, {0},
          "no elements to choose from"},
      {"input %x f32[1,0,4,4] const $w f32[2,0,3,3] = [] %y ? = Conv \"y\" v11 (%x, $w) "
       "{pads=[1,1,1,1]} output %y",
          NULL, {0}, "no input channels"},
  };
  run(cases, SEER_COUNT_OF(cases));
}

#define AB "const $a f32[2] = [1,2] const $b f32[2] = [3,4] "
#define SEQ AB "%s ? = SequenceConstruct \"s\" v11 ($a, $b, $a) "
#define AT(n) "const $at i64[] = [" n "] %y ? = SequenceAt \"y\" v11 (%t, $at) output %y"

static void sequences_disappear(void **state) {
  (void)state;
  static const resolve_case cases[] = {
      {SEQ "%y ? = SequenceLength \"y\" v11 (%s) output %y", "i64[]", {3}, NULL},
      {SEQ "%t ? = Identity \"t\" v14 (%s) " AT("-2"), "f32[2]", {3, 4}, NULL},
      {SEQ "%t ? = Identity \"t\" v14 (%s) " AT("3"), NULL, {0}, "must be in [-3, 3)"},
      {SEQ "%t ? = SequenceErase \"t\" v11 (%s) " AT("-1"), "f32[2]", {3, 4}, NULL},
      {SEQ "const $p i32[] = [0] %t ? = SequenceErase \"t\" v11 (%s, $p) " AT("0"), "f32[2]",
          {3, 4}, NULL},
      {SEQ "const $p i64[] = [-1] %t ? = SequenceInsert \"t\" v11 (%s, $b, $p) " AT("2"), "f32[2]",
          {3, 4}, NULL},
      {SEQ "const $p i64[] = [3] %t ? = SequenceInsert \"t\" v11 (%s, $b, $p) " AT("3"), "f32[2]",
          {3, 4}, NULL},
      {AB "%e ? = SequenceEmpty \"e\" v11 () %t ? = SequenceInsert \"t\" v11 (%e, $b) " AT("0"),
          "f32[2]", {3, 4}, NULL},
      {SEQ "%y ? = ConcatFromSequence \"y\" v11 (%s) {axis=0} output %y", "f32[6]",
          {1, 2, 3, 4, 1, 2}, NULL},
      {SEQ "%y ? = ConcatFromSequence \"y\" v11 (%s) {axis=-1, new_axis=1} output %y", "f32[2,3]",
          {1, 3, 1, 2, 4, 2}, NULL},
      {"const $x f32[5] = [1,2,3,4,5] const $n i64[] = [2] %t ? = SplitToSequence \"t\" v11 ($x, "
       "$n) " AT("2"),
          "f32[1]", {5}, NULL},
      {"const $x f32[5] = [1,2,3,4,5] const $n i64[2] = [2,3] %t ? = SplitToSequence \"t\" v11 "
       "($x, $n) " AT("1"),
          "f32[3]", {3, 4, 5}, NULL},
      {"const $x f32[2,2] = [1,2,3,4] %t ? = SplitToSequence \"t\" v11 ($x) {axis=1, "
       "keepdims=0} " AT("1"),
          "f32[2]", {2, 4}, NULL},
      {"const $x f32[5] = [1,2,3,4,5] const $n i64[2] = [2,2] %t ? = SplitToSequence \"t\" v11 "
       "($x, $n) " AT("1"),
          NULL, {0}, "adds up to 4, must be 5"},
      {SEQ "const $i i64[1] = [7] %t ? = SequenceInsert \"t\" v11 (%s, $i) " AT("0"), NULL, {0},
          "input 1 ('i') is i64, must be f32"},
      {SEQ "%y ? = Relu \"y\" v14 (%s) output %y", NULL, {0},
          "input 0 ('s') is a sequence, must be a tensor"},
      {SEQ "output %s", NULL, {0}, "output 's' is a sequence, must be a tensor"},
      {AB "%o ? = Optional \"o\" v15 ($b) %t ? = OptionalGetElement \"t\" v15 (%o) %y ? = Neg "
          "\"y\" v13 (%t) output %y",
          "f32[2]", {-3, -4}, NULL},
      {SEQ "%o ? = Optional \"o\" v15 (%s) %t ? = OptionalGetElement \"t\" v15 (%o) " AT("1"),
          "f32[2]", {3, 4}, NULL},
      {"%o ? = Optional \"o\" v15 () %y ? = OptionalHasElement \"y\" v15 (%o) output %y", "bool[]",
          {0}, NULL},
      {AB "%o ? = Optional \"o\" v15 ($a) %y ? = OptionalHasElement \"y\" v15 (%o) output %y",
          "bool[]", {1}, NULL},
      {"%o ? = Optional \"o\" v15 () %y ? = OptionalGetElement \"y\" v15 (%o) output %y", NULL, {0},
          "without an element"},
  };
  run(cases, SEER_COUNT_OF(cases));
}

// What is said of an input is what the model has, not what was written into it on the way.
static void shapes_that_do_not_fit(void **state) {
  (void)state;
  static const struct {
    const char *shapes, *error;
  } cases[] = {
      {"x:2x3x5", "input 'x' is f32[?,?,4] in the model, dimension 2 cannot be 5"},
      {"x:2x3", "input 'x' has 3 dimensions (f32[?,?,4]), '2x3' gives 2"},
      {"y:2", "no input is named 'y'; inputs are x f32[?,?,4]"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    static const char text[] =
        "graph \"g\" { input %x f32[?,?,4] %y ? = Relu \"y\" v14 (%x) output %y }";
    seer_graph *graph = NULL;
    seer_status status = seer_graph_parse("test", text, sizeof text - 1, arena, &graph);
    assert_null(status);
    status = seer_front_resolve(graph, cases[k].shapes, NULL);
    if (!status) fail_msg("%s: no error", cases[k].shapes);
    if (!strstr(seer_status_message(status), cases[k].error))
      fail_msg("'%s' does not contain '%s'", seer_status_message(status), cases[k].error);
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_known),
      cmocka_unit_test(sequences_disappear),
      cmocka_unit_test(shapes_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
