// expand_case.c - a graph of one node, resolved.
#include "expand_case.h"

#include <math.h>
#include <stdio.h>

expand_case open_expand_case(void) {
  expand_case c = {.arena = seer_arena_create("test"), .domain = ""};
  c.graph = seer_graph_create(c.arena, "test");
  return c;
}

void close_expand_case(expand_case *c) { seer_arena_destroy(c->arena); }

static seer_val expand_constant(seer_graph *graph, const char *name, seer_dtype dtype,
    const int64_t *dim, uint32_t rank, const double *data) {
  seer_tensor t = {.dtype = dtype, .rank = (uint8_t)rank};
  for (uint32_t d = 0; d < rank; d++) t.dim[d] = dim[d];
  int64_t n = seer_tensor_elems(&t);
  t.n_bytes = (size_t)n * seer_dtype_bytes(dtype);
  void *bytes = seer_arena_alloc(graph->arena, t.n_bytes + 1, 64);
  for (int64_t i = 0; i < n; i++) seer_dtype_store_f64(dtype, bytes, i, data[i]);
  t.data = bytes;
  return seer_graph_add_constant(graph, name, &t);
}

// Values: NULL gives random ones.
double *expand_operand(
    expand_case *c, seer_dtype dtype, const double *values, const int64_t *dim, uint32_t rank) {
  int64_t n = seer_dims_elems(dim, rank);
  double *data = SEER_NEW_ARRAY(c->arena, double, n + 1);
  seer_rng rng;
  seer_rng_init_stream(&rng, 11, c->n_in);
  for (int64_t i = 0; i < n; i++) {
    data[i] = values ? values[i] : 2 * seer_rng_f64(&rng) - 1;
    if (dtype == SEER_DTYPE_F32) data[i] = (double)(float)data[i];
  }
  c->x[c->n_in] = data;
  c->in[c->n_in] = expand_constant(
      c->graph, seer_arena_printf(c->arena, "in%u", c->n_in), dtype, dim, rank, data);
  return c->x[c->n_in++];
}

void expand_absent(expand_case *c) { c->n_in++; }

seer_status expand_try(expand_case *c, const char *op, int32_t opset, uint32_t n_out) {
  for (uint32_t k = 0; k < n_out; k++) {
    c->out[k] = seer_graph_add_value(
        c->graph, seer_arena_printf(c->arena, "out%u", k), SEER_DTYPE_NONE, NULL, -1);
    seer_graph_mark_output(c->graph, c->out[k]);
  }
  seer_graph_add_node(
      c->graph, "node", c->domain, op, opset, c->in, c->n_in, c->out, n_out, c->attr, c->n_attr);
  return seer_front_resolve(c->graph, "", NULL);
}

void expand_run(expand_case *c, const char *op, int32_t opset, uint32_t n_out) {
  seer_status status = expand_try(c, op, opset, n_out);
  if (status) fail_msg("%s: %s", op, seer_status_message(status));
}

void expand_expect(const expand_case *c, uint32_t k, const double *want, const int64_t *dim,
    uint32_t rank, double tolerance) {
  const seer_value *out = seer_graph_value(c->graph, c->out[k]);
  if (!out->constant) fail_msg("output %u did not fold", k);
  assert_int_equal(out->rank, rank);
  for (uint32_t d = 0; d < rank; d++) assert_int_equal(out->dim[d], dim[d]);
  for (int64_t i = 0, n = seer_dims_elems(dim, rank); i < n; i++) {
    double got = seer_dtype_load_f64(out->constant->dtype, out->constant->data, i);
    if (got != want[i] && !(fabs(got - want[i]) <= tolerance))
      fail_msg("output %u[%d] is %g, expected %g", k, (int)i, got, want[i]);
  }
}
