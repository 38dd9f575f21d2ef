#include "support/net_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "front/onnx/dtype.h"
#include "front/pass/pass.h"
#include "runtime/host.h"
#include "support/part_memory.h"
#include "support/test.h"

const void *net_input(const seer_value *value, uint32_t k, uint64_t seed, seer_arena *arena) {
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, k + 100);
  int64_t n = seer_value_elems(value);
  void *data = seer_arena_alloc(arena, (size_t)n * seer_dtype_bytes(value->dtype) + 1, 64);
  for (int64_t i = 0; i < n; i++) {
    if (seer_dtype_is_float(value->dtype)) {
      seer_dtype_store_f64(value->dtype, data, i, seer_rng_f64(&rng) * 2 - 1);
    } else {
      seer_dtype_store_i64(value->dtype, data, i, seer_rng_range(&rng, 0, 3));
    }
  }
  return data;
}

// Runs one DAG; data[value id] is what its buffers stand for.
static void eval_dag(const seer_graph *graph, const seer_dag *dag, const seer_val *value_of_buf,
    const void **data, seer_arena *arena) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    assert_int_not_equal(value_of_buf[b].i, 0);
    assert_non_null(data[value_of_buf[b].i]);
    seer_dag_eval_set_input(eval, b, data[value_of_buf[b].i]);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    seer_dag_eval_all(eval, b, part_memory(graph, value_of_buf[b], data, arena));
  }
}

static const void **start(const seer_graph *graph, uint64_t seed, seer_arena *arena) {
  const void **data = SEER_NEW_ARRAY(arena, const void *, graph->n_value);
  for (uint32_t v = 1; v < graph->n_value; v++) {
    if (graph->value[v].constant) data[v] = graph->value[v].constant->data;
  }
  for (uint32_t k = 0; k < graph->n_input; k++) {
    data[graph->input[k].i] = net_input(seer_graph_value(graph, graph->input[k]), k, seed, arena);
  }
  return data;
}

static const void **outputs(const seer_graph *graph, const void **data, seer_arena *arena) {
  const void **out = SEER_NEW_ARRAY(arena, const void *, graph->n_output);
  for (uint32_t k = 0; k < graph->n_output; k++) {
    out[k] = data[graph->output[k].i];
    assert_non_null(out[k]);
  }
  return out;
}

const void **net_eval_nodes(const seer_graph *graph, uint64_t seed, seer_arena *arena) {
  const void **data = start(graph, seed, arena);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    seer_dag *dag = seer_dag_create(arena, "node");
    seer_emit emit;
    seer_emit_init(&emit, graph, dag, arena);
    seer_status status = seer_emit_node(&emit, node);
    if (status) fail_msg("%s: %s", node->name, seer_status_message(status));
    seer_val *value_of_buf = NULL;
    for (uint32_t i = 0; i < node->n_out; i++) {
      if (node->out[i].i) seer_emit_output(&emit, node->out[i], 0);
    }
    value_of_buf = SEER_NEW_ARRAY(arena, seer_val, dag->n_buf);
    for (uint32_t v = 1; v < graph->n_value; v++) {
      if (emit.buf_of_value[v]) value_of_buf[emit.buf_of_value[v] - 1] = (seer_val){v};
    }
    seer_dag_finish(dag);
    eval_dag(graph, dag, value_of_buf, data, arena);
  }
  return outputs(graph, data, arena);
}

static seer_host_tensor host_tensor(const seer_graph *graph, seer_val v, const void *data) {
  seer_host_tensor t = {0};
  if (v.i == 0) return t;
  const seer_value *value = seer_graph_value(graph, v);
  t = (seer_host_tensor){.onnx_dtype = seer_onnx_dtype_number(value->dtype), .rank = value->rank};
  memcpy(t.dim, value->dim, sizeof t.dim);
  memcpy(t.bound, value->dim, sizeof t.bound);
  t.data = (void *)(uintptr_t)data;
  return t;
}

static seer_plan_tensor plan_tensor(const seer_host_tensor *t) {
  seer_plan_tensor out = {.onnx_dtype = t->onnx_dtype, .rank = t->rank};
  memcpy(out.dim, t->bound, sizeof out.dim);
  return out;
}

// By the runtime's own function, of operands whose sizes are known.
static void run_on_host(
    const seer_graph *graph, const seer_node *node, const void **data, seer_arena *arena) {
  seer_host_tensor t[SEER_HOST_MAX_TENSORS];
  seer_plan_tensor plain[SEER_HOST_MAX_TENSORS];
  const uint32_t n_in = node->op->n_host_in;
  seer_plan_host host = {.function = node->op->host, .n_in = n_in, .n_out = node->n_out};
  for (uint32_t k = 0; k < n_in + node->n_out; k++) {
    seer_val v = {0};
    if (k >= n_in)
      v = node->out[k - n_in];
    else if (k < node->n_in)
      v = node->in[k];
    if (k >= n_in && v.i) data[v.i] = part_memory(graph, v, data, arena);
    t[k] = host_tensor(graph, v, data[v.i]);
    plain[k] = plan_tensor(&t[k]);
  }
  const char *at = node->op->attrs;
  for (uint32_t k = 0; *at && k < SEER_COUNT_OF(host.param); k++) {
    size_t n = strcspn(at, " ");
    host.param[k] = seer_node_attr_i(node, seer_arena_strndup(arena, at, n), 0);
    at += n + (at[n] == ' ');
  }
  seer_host_room room =
      seer_host_scratch((seer_host_function)host.function, plain, plain + n_in, host.param);
  const char *wrong = seer_host_check(&host, plain, plain + n_in, room);
  if (wrong) fail_msg("%s: %s", node->name, wrong);
  const seer_host_call call = {.function = (seer_host_function)host.function,
      .in = t,
      .out = t + n_in,
      .param = host.param,
      .scratch = seer_arena_alloc(arena, room.shared + 1, 64),
      .thread_scratch = seer_arena_alloc(arena, room.thread + 1, 64)};
  seer_pool_fault fault;
  assert_true(seer_host_run(&call, NULL, NULL, &fault));
}

const void **net_eval_steps(const seer_network *network, uint64_t seed, seer_arena *arena) {
  const void **data = start(network->graph, seed, arena);
  for (uint32_t k = 0; k < network->n_step; k++) {
    const seer_step *step = &network->step[k];
    if (step->kind == SEER_STEP_VIEW) {
      assert_non_null(data[step->view_in.i]);
      part_view(network->graph, step, data, arena);
    } else if (step->kind == SEER_STEP_HOST) {
      run_on_host(network->graph, seer_step_node(network->graph, step), data, arena);
    } else {
      eval_dag(network->graph, step->dag, step->value_of_buf, data, arena);
    }
  }
  return outputs(network->graph, data, arena);
}

double net_difference(
    const seer_graph *a, const void **out_a, const seer_graph *b, const void **out_b) {
  double worst = 0;
  assert_int_equal(a->n_output, b->n_output);
  for (uint32_t k = 0; k < a->n_output; k++) {
    const seer_value *va = seer_graph_value(a, a->output[k]),
                     *vb = seer_graph_value(b, b->output[k]);
    assert_int_equal(va->dtype, vb->dtype);
    assert_int_equal(va->rank, vb->rank);
    assert_memory_equal(va->dim, vb->dim, va->rank * sizeof va->dim[0]);
    assert_string_equal(va->name, vb->name);
    for (int64_t i = 0; i < seer_value_elems(va); i++) {
      double x = seer_dtype_load_f64(va->dtype, out_a[k], i),
             y = seer_dtype_load_f64(vb->dtype, out_b[k], i);
      double d = fabs(x - y) / (1 + fabs(y));
      if (isnan(d)) return INFINITY;
      if (d > worst) worst = d;
    }
  }
  return worst;
}

seer_network *net_check_text(const char *text, double tolerance, seer_arena *arena) {
  enum { SEED = 7 };
  seer_context *context;
  must(seer_context_create(&context));
  must(seer_context_set(context, "verify", "2"));
  seer_graph *plain, *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &plain));
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(plain, "", NULL));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  seer_network *network;
  must(seer_network_build(context, graph, arena, &network));
  const void **expected = net_eval_nodes(plain, SEED, arena),
             **found = net_eval_steps(network, SEED, arena);
  double difference = net_difference(graph, found, plain, expected);
  if (!(difference <= tolerance)) {
    fail_msg("differs by %g\n%s\n%s", difference, text, seer_graph_print_brief(graph, arena));
  }
  seer_context_destroy(context);
  return network;
}
