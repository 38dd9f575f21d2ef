// The judge of references: steps against the interpreter, what it says of values that were changed,
// and how far outputs may be apart by their types.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "library/steps.h"
#include "library/tolerance.h"
#include "support/net_eval.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;
static const char *path;

static const char text[] =
    "graph \"g\" {\n"
    "  input %x f32[3,37]\n"
    "  const $w f32[37,19] = splat 0.25\n"
    "  %a f32 = MatMul \"product\" v13 (%x, $w)\n"
    "  %b f32 = Tanh \"bend\" v13 (%a)\n"
    "  %c f32 = Softmax \"share\" v13 (%b) {axis=1}\n"
    "  %d i64 = ArgMax \"place\" v13 (%c) {axis=1}\n"
    "  output %c\n  output %d\n}\n";

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_context_create(&context));
  const char *dir = NULL;
  must(seer_os_temp_dir("familyseer-verify", arena, &dir));
  path = seer_os_path_join(arena, dir, "g.graph");
  must(seer_os_write_file(path, text, sizeof text - 1));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  must(seer_os_remove_tree(seer_os_path_dir(arena, path)));
  seer_context_destroy(context);
  seer_arena_destroy(arena);
  return 0;
}

typedef struct {
  const seer_graph *graph;
  const void **output, *input;
} run;

static seer_seen_value see(void *user, seer_val v) {
  const run *r = user;
  if (seer_graph_value(r->graph, v)->is_input) return (seer_seen_value){r->input, NULL};
  for (uint32_t k = 0; k < r->graph->n_output; k++)
    if (r->graph->output[k].i == v.i) return (seer_seen_value){r->output[k], NULL};
  return (seer_seen_value){NULL, NULL};
}

static run evaluate(seer_network **out_network) {
  enum { SEED = 3 };
  must(seer_front_load_literal(context, path, NULL, arena, out_network));
  const seer_graph *graph = (*out_network)->graph;
  return (run){graph, net_eval_steps(*out_network, SEED, arena),
      net_input(seer_graph_value(graph, graph->input[0]), 0, SEED, arena)};
}

static seer_steps_verdict judge(const seer_network *network, run *r, double budget) {
  seer_steps_verdict verdict;
  must(seer_verify_steps(network, see, r, budget, 1, false, arena, &verdict));
  return verdict;
}

static void test_every_value_is_an_output(void **state) {
  (void)state;
  seer_network *network;
  evaluate(&network);
  assert_int_equal(network->n_step, 4);  // no node has joined another
  assert_int_equal(network->graph->n_output, 4);
  assert_string_equal(seer_graph_value(network->graph, network->graph->output[0])->name, "c");
  assert_string_equal(seer_graph_value(network->graph, network->graph->output[1])->name, "d");
}

static void test_right_values(void **state) {
  (void)state;
  seer_network *network;
  run r = evaluate(&network);
  seer_steps_verdict all = judge(network, &r, 1e9), few = judge(network, &r, 1);
  assert_string_equal(all.wrong, "");
  assert_int_equal(all.n_judged, 4);
  assert_int_equal(all.n_runtime + all.n_unseen, 0);
  assert_true(all.n_compared == all.n_elems && all.n_elems == 3 * 19 * 3 + 3);
  assert_string_equal(few.wrong, "");
}

// A value that is off is named by the node that made it, not by one that reads it; and so is one
// that is no number, and a place of a maximum that is another.
static void test_wrong_values(void **state) {
  (void)state;
  static const struct {
    const char *value, *node;
    double add;
  } faults[] = {
      {"a", "product", 1e-2}, {"b", "bend", 1e-3}, {"c", "share", NAN}, {"d", "place", 1}};
  seer_network *network;
  run r = evaluate(&network);
  for (size_t f = 0; f < SEER_COUNT_OF(faults); f++) {
    for (uint32_t k = 0; k < r.graph->n_output; k++) {
      const seer_value *value = seer_graph_value(r.graph, r.graph->output[k]);
      if (strcmp(value->name, faults[f].value) != 0) continue;
      void *data = (void *)(uintptr_t)r.output[k];
      int64_t last = seer_value_elems(value) - 1;
      double right = seer_dtype_load_f64(value->dtype, data, last);
      seer_dtype_store_f64(value->dtype, data, last, right + faults[f].add);
      seer_steps_verdict all = judge(network, &r, 1e9), few = judge(network, &r, 1);
      assert_string_equal(all.wrong_node, faults[f].node);
      assert_non_null(strstr(all.wrong, "the interpreter says"));
      assert_string_equal(few.wrong_node, faults[f].node);  // it is in a corner
      seer_dtype_store_f64(value->dtype, data, last, right);
    }
  }
}

// Values that nobody kept are counted, not taken for right.
static seer_seen_value see_nothing(void *user, seer_val v) {
  (void)user, (void)v;
  return (seer_seen_value){NULL, NULL};
}

static void test_unseen(void **state) {
  (void)state;
  seer_network *network;
  evaluate(&network);
  seer_steps_verdict verdict;
  must(seer_verify_steps(network, see_nothing, NULL, 1e9, 1, false, arena, &verdict));
  assert_int_equal(verdict.n_unseen, 4);
  assert_int_equal(verdict.n_judged, 0);
}

static double tolerance_with(const char *graph_text, seer_precision products) {
  seer_graph *graph;
  must(seer_graph_parse("test", graph_text, strlen(graph_text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  return seer_verify_tolerances(graph, products, arena)[graph->output[0].i];
}

static double tolerance_of(const char *graph_text) {
  return tolerance_with(graph_text, SEER_PRECISION_F32);
}

// What is made of a product whose operands were rounded; of nothing else.
static void test_tolerance_follows_products(void **state) {
  (void)state;
  const char *product =
      "graph \"g\" {\n  input %x f32[4,4]\n  %y f32 = MatMul \"t\" v13 (%x, %x)\n"
      "  %z f32 = Relu \"u\" v13 (%y)\n  output %z\n}\n";
  const char *other =
      "graph \"g\" {\n  input %x f32[4]\n  %y f32 = Tanh \"t\" v13 (%x)\n  output %y\n}\n";
  double wide = tolerance_of(product);
  assert_true(wide == tolerance_of(other));
  assert_true(wide == tolerance_with(other, SEER_PRECISION_BF16));
  assert_true(tolerance_with(product, SEER_PRECISION_BF16) == 16.0 / 256);
  assert_true(tolerance_with(product, SEER_PRECISION_F16) == 16.0 / 2048);
  assert_true(tolerance_with(product, SEER_PRECISION_TF32) == 16.0 / 2048);
}

// Of many, one behind the other, as their square root.
static void test_tolerance_of_many_products(void **state) {
  (void)state;
  enum { N = 64 };
  char many[N * 48 + 128];
  int n = snprintf(many, sizeof many, "graph \"g\" {\n  input %%x0 f32[4,4]\n");
  for (int k = 0; k < N; k++)
    n += snprintf(many + n, sizeof many - (size_t)n,
        "  %%x%d f32 = MatMul \"\" v13 (%%x%d, %%x%d)\n", k + 1, k, k);
  snprintf(many + n, sizeof many - (size_t)n, "  output %%x%d\n}\n", N);
  assert_true(tolerance_with(many, SEER_PRECISION_BF16) == 4.0 * 8 / 256);
  assert_true(tolerance_with(many, SEER_PRECISION_F16) == 4.0 * 8 / 2048);
  assert_true(tolerance_of(many) == 1e-3);
}

static void test_tolerance_follows_types(void **state) {
  (void)state;
  double wide = tolerance_of(
      "graph \"g\" {\n  input %x f32[4]\n  input %h f16[4]\n  %y f32 = Tanh \"t\" v13 (%x)\n"
      "  %z f16 = Tanh \"u\" v13 (%h)\n  output %y\n  output %z\n}\n");
  double half = tolerance_of(
      "graph \"g\" {\n  input %x f32[4]\n  %h f16 = Cast \"c\" v13 (%x) {to=10}\n"
      "  %y f32 = Cast \"d\" v13 (%h) {to=1}\n  output %y\n}\n");
  double byte = tolerance_of(
      "graph \"g\" {\n  input %x f32[4]\n  const $s f32[] = [0.1]\n  const $z u8[] = [7]\n"
      "  %q u8 = QuantizeLinear \"q\" v13 (%x, $s, $z)\n"
      "  %y f32 = DequantizeLinear \"d\" v13 (%q, $s, $z)\n  output %y\n}\n");
  assert_true(wide == 1e-3);  // the f16 that is not on the way does not count
  assert_true(half == ldexp(16, -11));
  assert_true(byte == ldexp(16, -8));
}

// Each behind the one before: so many may add up as their square root says, more than 16 of 16.
static void test_tolerance_follows_depth(void **state) {
  (void)state;
  static const uint32_t depth[] = {16, 64};
  for (size_t k = 0; k < SEER_COUNT_OF(depth); k++) {
    seer_text net;
    seer_text_init(&net, arena);
    seer_text_put(&net,
        "graph \"g\" {\n  input %y0 f32[4]\n  const $s f32[] = [0.1]\n  const $z u8[] = [7]\n");
    for (uint32_t i = 0; i < depth[k]; i++)
      seer_text_printf(&net,
          "  %%q%u u8 = QuantizeLinear \"q%u\" v13 (%%y%u, $s, $z)\n"
          "  %%y%u f32 = DequantizeLinear \"d%u\" v13 (%%q%u, $s, $z)\n",
          i, i, i, i + 1, i, i);
    seer_text_printf(&net, "  output %%y%u\n}\n", depth[k]);
    assert_true(tolerance_of(net.data) == ldexp(4 * sqrt(depth[k]), -8));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_value_is_an_output),
      cmocka_unit_test(test_right_values),
      cmocka_unit_test(test_wrong_values),
      cmocka_unit_test(test_unseen),
      cmocka_unit_test(test_tolerance_follows_types),
      cmocka_unit_test(test_tolerance_follows_depth),
      cmocka_unit_test(test_tolerance_follows_products),
      cmocka_unit_test(test_tolerance_of_many_products),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
