// The built-in networks, small images: node by node as ONNX defines them, against the tasks that
// all passes made of them, both interpreted. And the logits discriminate: random weights have not
// driven the signal to 0 or infinity.
// SEER_TEST: timeout=300
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "front/front.h"
#include "models/models.h"
#include "support/part_memory.h"
#include "support/test.h"

static seer_graph *build(seer_arena *arena, const char *name, const char *options) {
  seer_graph *graph = NULL;
  must(seer_model_build(name, options, NULL, arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  return graph;
}

// The input, dense in ONNX order: the same numbers for every graph of a network.
static float *random_input(const seer_graph *graph, seer_arena *arena) {
  const seer_value *value = seer_graph_value(graph, graph->input[0]);
  int64_t n = seer_value_elems(value);
  float *data = SEER_NEW_ARRAY(arena, float, n);
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (int64_t i = 0; i < n; i++) data[i] = (float)seer_rng_normal(&rng);
  return data;
}

// Evaluates one DAG: inputs by graph value from data[], outputs into it.
static void eval_dag(const seer_graph *graph, const seer_dag *dag, const seer_val *value_of_buf,
    const void **data, seer_arena *arena) {
  seer_arena *scratch = seer_arena_create("eval");
  seer_dag_eval *eval = seer_dag_eval_create(dag, scratch);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    uint32_t v = value_of_buf[b].i;
    const seer_tensor *constant = graph->value[v].constant;
    assert_true(v != 0 && (constant || data[v]));
    seer_dag_eval_set_input(eval, b, constant ? constant->data : data[v]);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    seer_dag_eval_all(eval, b, part_memory(graph, value_of_buf[b], data, arena));
  }
  seer_arena_destroy(scratch);
}

// Every node by itself, ONNX order everywhere, nothing folded or fused.
static const float *eval_nodes(const seer_graph *graph, seer_arena *arena) {
  const void **data = SEER_NEW_ARRAY(arena, const void *, graph->n_value);
  data[graph->input[0].i] = random_input(graph, arena);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead) continue;
    seer_dag *dag = seer_dag_create(arena, "node");
    seer_emit emit;
    seer_emit_init(&emit, graph, dag, arena);
    must(seer_emit_node(&emit, node));
    seer_emit_output(&emit, node->out[0], 0);
    seer_val *value_of_buf = SEER_NEW_ARRAY(arena, seer_val, dag->n_buf + 1);
    for (uint32_t v = 1; v < graph->n_value; v++) {
      if (emit.buf_of_value[v]) value_of_buf[emit.buf_of_value[v] - 1].i = v;
    }
    seer_dag_finish(dag);
    eval_dag(graph, dag, value_of_buf, data, arena);
  }
  return (const float *)data[graph->output[0].i];
}

static const float *eval_network(const seer_network *network, seer_arena *arena) {
  const seer_graph *graph = network->graph;
  const void **data = SEER_NEW_ARRAY(arena, const void *, graph->n_value);
  data[graph->input[0].i] = random_input(graph, arena);
  for (uint32_t k = 0; k < network->n_step; k++) {
    const seer_step *step = &network->step[k];
    if (step->kind == SEER_STEP_VIEW)
      part_view(graph, step, data, arena);
    else
      eval_dag(graph, step->dag, step->value_of_buf, data, arena);
  }
  return (const float *)data[graph->output[0].i];
}

static void run(const char *name, const char *options) {
  seer_arena *arena = seer_arena_create("test");
  seer_graph *plain = build(arena, name, options), *passed = build(arena, name, options);
  seer_context *context = NULL;
  seer_network *network = NULL;
  must(seer_context_create(&context));
  must(seer_front_run_passes(context, passed));
  must(seer_network_build(context, passed, arena, &network));
  const float *a = eval_nodes(plain, arena), *b = eval_network(network, arena);
  int64_t n = seer_value_elems(seer_graph_value(plain, plain->output[0]));
  double largest = 0, error = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = (double)a[i];
    largest = fmax(largest, fabs(x));
    error = fmax(error, fabs(x - (double)b[i]));
    sum += x;
    squares += x * x;
  }
  double deviation = sqrt(squares / (double)n - sum / (double)n * (sum / (double)n));
  print_message("%s: largest %.3g, deviation %.3g, error %.2g\n", name, largest, deviation, error);
  assert_true(error <= 1e-4 * largest);
  assert_true(deviation > 0.05 * largest);
  assert_true(largest > 0.1 && largest < 1000);
  seer_graph_close(plain);
  seer_graph_close(passed);
  seer_context_destroy(context);
  seer_arena_destroy(arena);
}

static void test_mlp(void **state) {
  (void)state;
  run("mlp", "batch=3");
}
static void test_mobilenet(void **state) {
  (void)state;
  run("mobilenet", "size=64");
}
static void test_mobilenet_v2(void **state) {
  (void)state;
  run("mobilenet_v2", "size=64,batch=2");
}
static void test_resnet18(void **state) {
  (void)state;
  run("resnet18", "size=39");
}
static void test_resnet50_v1(void **state) {
  (void)state;
  run("resnet50_v1", "size=33");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mlp),
      cmocka_unit_test(test_mobilenet),
      cmocka_unit_test(test_mobilenet_v2),
      cmocka_unit_test(test_resnet18),
      cmocka_unit_test(test_resnet50_v1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
