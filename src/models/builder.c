// builder.c - nodes and seeded weights; the layers that transformers share (see builder.h).
#include "models/builder.h"

#include <math.h>

void seer_builder_init(
    seer_builder *b, const char *name, const seer_model_options *options, seer_arena *arena) {
  *b = (seer_builder){.graph = seer_graph_create(arena, name),
      .arena = arena,
      .options = *options,
      .norm_epsilon = 1e-5};
  b->graph->producer = "familyseer";
  b->like = seer_map_create(arena);
  for (size_t v = 1; options->like && v < options->like->n_value; v++)
    if (options->like->value[v].constant)
      seer_map_set_str(b->like, options->like->value[v].name, v);
  seer_builder_set_opset(b, 13);
}

void seer_builder_set_opset(seer_builder *b, int32_t opset) {
  b->opset = opset;
  b->graph->opset = opset;
}

// ---- tensors

seer_val seer_builder_input(
    seer_builder *b, const char *name, seer_dtype dtype, const int64_t *dim, uint32_t rank) {
  seer_val value = seer_graph_add_value(b->graph, name, dtype, dim, (int32_t)rank);
  seer_graph_mark_input(b->graph, value);
  return value;
}

void seer_builder_output(
    seer_builder *b, seer_val v, const char *name, const int64_t *dim, uint32_t rank) {
  seer_value *value = seer_graph_value(b->graph, v);
  value->name = name;
  value->dtype = SEER_DTYPE_F32;
  value->rank = (uint8_t)rank;
  value->has_shape = true;
  for (uint32_t d = 0; d < rank; d++) value->dim[d] = dim[d];
  seer_graph_mark_output(b->graph, v);
}

static float next_weight(seer_rng *rng, double center, double half) {
  return (float)(center + half * (2 * seer_rng_f64(rng) - 1));
}

// The other network's weights of this name, if these would be equal.
static const float *weights_like(
    const seer_builder *b, const char *name, int64_t n, double center, double half) {
  uint64_t found;
  if (!seer_map_get_str(b->like, name, &found)) return NULL;
  const seer_tensor *tensor = b->options.like->value[found].constant;
  if (tensor->dtype != SEER_DTYPE_F32 || seer_tensor_elems(tensor) != n) return NULL;
  const float *data = tensor->data;
  seer_rng rng;
  seer_rng_init_stream(&rng, b->options.seed, seer_hash_str(name, 0));
  for (int64_t i = 0; i < n; i++)
    if (data[i] != next_weight(&rng, center, half)) return NULL;
  return data;
}

const float *seer_builder_weights(
    seer_builder *b, const char *name, int64_t n, double center, double half) {
  enum { LARGE = 65536 };
  if (b->options.is_outline && n > LARGE) {
    if (n > b->n_zeros) {
      b->zeros = SEER_NEW_ARRAY(b->arena, float, n);
      b->n_zeros = n;
    }
    return b->zeros;
  }
  const float *same = weights_like(b, name, n, center, half);
  if (same) return same;
  float *data = seer_arena_alloc(b->arena, (size_t)n * sizeof(float), 64);
  seer_rng rng;
  seer_rng_init_stream(&rng, b->options.seed, seer_hash_str(name, 0));
  for (int64_t i = 0; i < n; i++) data[i] = next_weight(&rng, center, half);
  return data;
}

seer_val seer_builder_f32(
    seer_builder *b, const char *name, const float *data, const int64_t *dim, uint32_t rank) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_F32, .rank = (uint8_t)rank, .data = data};
  for (uint32_t d = 0; d < rank; d++) tensor.dim[d] = dim[d];
  tensor.n_bytes = (size_t)seer_tensor_elems(&tensor) * sizeof(float);
  return seer_graph_add_constant(b->graph, name, &tensor);
}

seer_val seer_builder_constant(seer_builder *b, const char *name, const int64_t *dim, uint32_t rank,
    double center, double half) {
  const float *data = seer_builder_weights(b, name, seer_dims_elems(dim, rank), center, half);
  return seer_builder_f32(b, name, data, dim, rank);
}

seer_val seer_builder_scalar(seer_builder *b, const char *name, double value) {
  return seer_builder_constant(b, name, NULL, 0, value, 0);
}

seer_val seer_builder_ints_of(
    seer_builder *b, const char *name, const int64_t *ints, const int64_t *dim, uint32_t rank) {
  seer_tensor tensor = {.dtype = SEER_DTYPE_I64, .rank = (uint8_t)rank};
  for (uint32_t d = 0; d < rank; d++) tensor.dim[d] = dim[d];
  tensor.n_bytes = (size_t)seer_tensor_elems(&tensor) * sizeof *ints;
  tensor.data = seer_arena_memdup(b->arena, ints, tensor.n_bytes);
  return seer_graph_add_constant(b->graph, name, &tensor);
}

seer_val seer_builder_ints(seer_builder *b, const char *name, const int64_t *ints, uint32_t n) {
  const int64_t dim = n;
  return seer_builder_ints_of(b, name, ints, &dim, 1);
}

// ---- nodes

seer_attr seer_builder_ints_attr(
    seer_builder *b, const char *name, const int64_t *ints, uint32_t n) {
  return (seer_attr){.name = name,
      .kind = SEER_ATTR_INTS,
      .n = n,
      .ints = (const int64_t *)seer_arena_memdup(b->arena, ints, n * sizeof *ints)};
}

seer_val seer_builder_node(seer_builder *b, const char *name, const char *op, const seer_val *in,
    uint32_t n_in, const seer_attr *attr, uint32_t n_attr) {
  seer_val out =
      seer_graph_add_value(b->graph, SEER_FMT(b, "%s.out", name), SEER_DTYPE_NONE, NULL, -1);
  seer_graph_add_node(b->graph, name, "", op, b->opset, in, n_in, &out, 1, attr, n_attr);
  return out;
}

seer_val seer_builder_unary(seer_builder *b, const char *name, const char *op, seer_val x) {
  return seer_builder_node(b, name, op, &x, 1, NULL, 0);
}

seer_val seer_builder_binary(
    seer_builder *b, const char *name, const char *op, seer_val x, seer_val y) {
  return seer_builder_node(b, name, op, (seer_val[]){x, y}, 2, NULL, 0);
}

seer_val seer_builder_with_int(seer_builder *b, const char *name, const char *op,
    const seer_val *in, uint32_t n_in, const char *attribute, int64_t value) {
  seer_attr attr = {.name = attribute, .kind = SEER_ATTR_INT, .i = value};
  return seer_builder_node(b, name, op, in, n_in, &attr, 1);
}

seer_val seer_builder_reshape(
    seer_builder *b, const char *name, seer_val x, const int64_t *dim, uint32_t rank) {
  return seer_builder_binary(
      b, name, "Reshape", x, seer_builder_ints(b, SEER_FMT(b, "%s.shape", name), dim, rank));
}

seer_val seer_builder_transpose(
    seer_builder *b, const char *name, seer_val x, const int64_t *perm, uint32_t rank) {
  seer_attr attr = seer_builder_ints_attr(b, "perm", perm, rank);
  return seer_builder_node(b, name, "Transpose", &x, 1, &attr, 1);
}

seer_val seer_builder_slice(seer_builder *b, const char *name, seer_val x, int64_t axis,
    int64_t from, int64_t to, int64_t step) {
  seer_val in[5] = {x, seer_builder_ints(b, SEER_FMT(b, "%s.from", name), &from, 1),
      seer_builder_ints(b, SEER_FMT(b, "%s.to", name), &to, 1),
      seer_builder_ints(b, SEER_FMT(b, "%s.axis", name), &axis, 1)};
  if (step != 1) in[4] = seer_builder_ints(b, SEER_FMT(b, "%s.step", name), &step, 1);
  return seer_builder_node(b, name, "Slice", in, step == 1 ? 4 : 5, NULL, 0);
}

void seer_builder_split(seer_builder *b, const char *name, seer_val in, int64_t axis,
    const int64_t *extent, uint32_t n, seer_val *out) {
  for (uint32_t k = 0; k < n; k++) {
    out[k] =
        seer_graph_add_value(b->graph, SEER_FMT(b, "%s.out%u", name, k), SEER_DTYPE_NONE, NULL, -1);
  }
  seer_val operands[2] = {in, seer_builder_ints(b, SEER_FMT(b, "%s.sizes", name), extent, n)};
  seer_attr attr = {.name = "axis", .kind = SEER_ATTR_INT, .i = axis};
  seer_graph_add_node(b->graph, name, "", "Split", b->opset, operands, 2, out, n, &attr, 1);
}

// ---- layers

seer_val seer_builder_linear_of(seer_builder *b, const char *name, seer_val x, int64_t in,
    int64_t out, bool has_bias, double gain) {
  int64_t dim[2] = {in, out};
  seer_val w = seer_builder_constant(
      b, SEER_FMT(b, "%s.weight", name), dim, 2, 0, gain * sqrt(3.0 / (double)in));
  seer_val y = seer_builder_binary(b, SEER_FMT(b, "%s.matmul", name), "MatMul", x, w);
  if (!has_bias) return y;
  seer_val bias = seer_builder_constant(b, SEER_FMT(b, "%s.bias", name), &out, 1, 0, gain * 0.1);
  return seer_builder_binary(b, SEER_FMT(b, "%s.add", name), "Add", y, bias);
}

seer_val seer_builder_linear(
    seer_builder *b, const char *name, seer_val x, int64_t in, int64_t out, bool has_bias) {
  return seer_builder_linear_of(b, name, x, in, out, has_bias, 1);
}

seer_val seer_builder_layer_norm(
    seer_builder *b, const char *name, seer_val x, int64_t n, double epsilon) {
  seer_val in[3] = {x, seer_builder_constant(b, SEER_FMT(b, "%s.weight", name), &n, 1, 1, 0.2),
      seer_builder_constant(b, SEER_FMT(b, "%s.bias", name), &n, 1, 0, 0.2)};
  seer_attr attr[2] = {{.name = "axis", .kind = SEER_ATTR_INT, .i = -1},
      {.name = "epsilon", .kind = SEER_ATTR_FLOAT, .f = (double)(float)epsilon}};
  return seer_builder_node(b, name, "LayerNormalization", in, 3, attr, 2);
}

seer_val seer_builder_gelu(seer_builder *b, const char *at, seer_val x) {
  seer_val y = seer_builder_binary(b, SEER_FMT(b, "%s.div", at), "Div", x,
      seer_builder_scalar(b, SEER_FMT(b, "%s.sqrt2", at), M_SQRT2));
  y = seer_builder_unary(b, SEER_FMT(b, "%s.erf", at), "Erf", y);
  y = seer_builder_binary(b, SEER_FMT(b, "%s.plus", at), "Add", y,
      seer_builder_scalar(b, SEER_FMT(b, "%s.one", at), 1));
  y = seer_builder_binary(b, SEER_FMT(b, "%s.times", at), "Mul", x, y);
  return seer_builder_binary(b, SEER_FMT(b, "%s.half", at), "Mul", y,
      seer_builder_scalar(b, SEER_FMT(b, "%s.point5", at), 0.5));
}

seer_val seer_builder_mlp(
    seer_builder *b, const char *name, seer_val x, int64_t channels, int64_t inner) {
  x = seer_builder_linear(b, SEER_FMT(b, "%s.fc1", name), x, channels, inner, true);
  x = seer_builder_gelu(b, SEER_FMT(b, "%s.act", name), x);
  return seer_builder_linear(b, SEER_FMT(b, "%s.fc2", name), x, inner, channels, true);
}
