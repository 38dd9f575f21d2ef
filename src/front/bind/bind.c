// bind.c - --bind: an input and a value -> a constant of the graph. Where the value is text, it is
// of the input's type; where it is a file, the file says which type it has, and must be right.
#include "front/bind.h"

#include <string.h>

#include "base/near.h"
#include "front/bind/literal.h"
#include "front/limit.h"
#include "front/onnx/dtype.h"
#include "setup/npy.h"

typedef struct {
  const char *text;  // as given: NAME=VALUE
  const char *name, *value;
} binding;

static seer_status split(const char *text, seer_arena *arena, binding *out) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return SEER_FAIL(INVALID, "--bind: '%s' must be NAME=x.npy, NAME=3 or NAME=[1,2]", text);
  *out = (binding){text, seer_arena_strndup(arena, text, (size_t)(equals - text)), equals + 1};
  return SEER_OK;
}

static const char *value_text(const seer_value *value, seer_arena *arena) {
  return seer_arena_printf(
      arena, "%s%s", seer_value_type_text(value, arena), value->has_shape ? "" : " of any shape");
}

// ---- which input

static seer_status no_input(const seer_graph *graph, const char *name, seer_arena *scratch) {
  seer_near near = seer_near_to(name);
  for (uint32_t k = 0; k < graph->n_input; k++)
    seer_near_offer(&near, seer_graph_value(graph, graph->input[k])->name);
  for (size_t v = 1; v < graph->n_value; v++) {
    const seer_value *value = &graph->value[v];
    if (value->constant && strcmp(value->name, name) == 0)
      return SEER_FAIL(INVALID, "--bind: '%s' is a constant of the model (%s) and no input", name,
          seer_value_type_text(value, scratch));
  }
  const char *hint =
      near.best ? seer_arena_printf(scratch, ", did you mean '%s'?", near.best) : ";";
  return SEER_FAIL(INVALID, "--bind: no input is named '%s'%s inputs are %s", name, hint,
      seer_graph_inputs_text(graph, scratch));
}

static seer_status find_input(
    const seer_graph *graph, const char *name, seer_arena *scratch, uint32_t *out_index) {
  for (uint32_t k = 0; k < graph->n_input; k++) {
    *out_index = k;
    if (strcmp(seer_graph_value(graph, graph->input[k])->name, name) == 0) return SEER_OK;
  }
  return no_input(graph, name, scratch);
}

// ---- which value

// Bits that the type does not have are no business of those who read it: a bool is 0 or 1, four
// bits are a number of four bits. (Floats of four bits are read by those alone.)
static void make_plain(seer_tensor *tensor, seer_arena *arena) {
  if (tensor->dtype != SEER_DTYPE_BOOL && !seer_dtype_is_small_int(tensor->dtype)) return;
  uint8_t *data = seer_arena_memdup(arena, tensor->data, tensor->n_bytes);
  for (size_t i = 0; i < tensor->n_bytes; i++) {
    if (tensor->dtype == SEER_DTYPE_BOOL)
      data[i] = data[i] != 0;
    else
      seer_dtype_store_i64(
          tensor->dtype, data, (int64_t)i, seer_dtype_load_i64(tensor->dtype, data, (int64_t)i));
  }
  tensor->data = data;
}

static seer_status read_file(const seer_context *context, const binding *b, const seer_value *input,
    seer_arena *arena, seer_tensor *out) {
  double limit_gib = seer_context_f64(context, SEER_OPT_MODEL_LIMIT);
  size_t limit = (size_t)(limit_gib * (double)((size_t)1 << 30));
  int32_t own = seer_onnx_dtype_number(input->dtype), carrier = seer_npy_carrier(own);
  seer_npy npy;
  SEER_TRYF(seer_npy_read_at_most(b->value, limit, arena, &npy), "--bind %s", b->text);
  seer_front_allow(npy.n_bytes);  // it is a part of the model now
  if (npy.onnx_dtype != carrier) {
    const char *bits = carrier == own ? "" : ", in a file as ";
    return SEER_FAIL(INVALID, "--bind %s: the file has elements of %s, input '%s' has %s%s%s",
        b->text, seer_npy_dtype_name(npy.onnx_dtype), b->name, seer_dtype_name(input->dtype), bits,
        *bits ? seer_npy_dtype_name(carrier) : "");
  }
  *out = (seer_tensor){
      .dtype = input->dtype, .rank = (uint8_t)npy.rank, .data = npy.data, .n_bytes = npy.n_bytes};
  memcpy(out->dim, npy.dim, sizeof out->dim);
  make_plain(out, arena);
  return SEER_OK;
}

// A number without brackets has the shape of an input of one element.
static void take_shape(seer_tensor *tensor, const seer_value *input) {
  bool is_one = tensor->rank == 0 && input->has_shape;
  for (uint32_t k = 0; k < input->rank; k++) is_one = is_one && input->dim[k] == 1;
  if (!is_one) return;
  tensor->rank = input->rank;
  memcpy(tensor->dim, input->dim, sizeof tensor->dim);
}

static seer_status check_shape(
    const binding *b, const seer_tensor *tensor, const seer_value *input, seer_arena *scratch) {
  bool fits = !input->has_shape || tensor->rank == input->rank;
  for (uint32_t k = 0; fits && input->has_shape && k < input->rank; k++)
    fits = input->dim[k] < 0 || input->dim[k] == tensor->dim[k];
  if (fits) return SEER_OK;
  seer_value found = {.dtype = tensor->dtype, .rank = tensor->rank, .has_shape = true};
  memcpy(found.dim, tensor->dim, sizeof found.dim);
  return SEER_FAIL(INVALID, "--bind %s: the value is %s, input '%s' is %s", b->text,
      seer_value_type_text(&found, scratch), b->name, value_text(input, scratch));
}

static seer_status bind(
    const seer_context *context, seer_graph *graph, const binding *b, seer_arena *scratch) {
  uint32_t index;
  seer_tensor tensor;
  SEER_TRY(find_input(graph, b->name, scratch, &index));
  const seer_value *input = seer_graph_value(graph, graph->input[index]);
  if (seer_literal_is_meant(b->value)) {
    SEER_TRYF(seer_literal_parse(b->value, input->dtype, graph->arena, &tensor), "--bind '%s', %s",
        b->name, value_text(input, scratch));
    take_shape(&tensor, input);
  } else {
    SEER_TRY(read_file(context, b, input, graph->arena, &tensor));
  }
  SEER_TRY(check_shape(b, &tensor, input, scratch));
  seer_graph_bind_input(graph, index, &tensor);
  return SEER_OK;
}

static seer_status bind_all(const seer_context *context, seer_graph *graph, seer_arena *scratch) {
  size_t n = seer_context_n_values(context, SEER_OPT_BIND);
  binding *all = SEER_NEW_ARRAY(scratch, binding, n + 1);
  for (size_t i = 0; i < n; i++) {
    SEER_TRY(split(seer_context_value(context, SEER_OPT_BIND, i), scratch, &all[i]));
    for (size_t k = 0; k < i; k++)
      if (strcmp(all[k].name, all[i].name) == 0)
        return SEER_FAIL(INVALID, "--bind: input '%s' is bound twice: '%s' and '%s'", all[i].name,
            all[k].text, all[i].text);
  }
  for (size_t i = 0; i < n; i++) SEER_TRY(bind(context, graph, &all[i], scratch));
  return SEER_OK;
}

seer_status seer_graph_bind(const seer_context *context, seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("bind");
  seer_status status = bind_all(context, graph, scratch);
  seer_arena_destroy(scratch);
  return status;
}

const char *seer_bound_text(const seer_bound *bound, seer_arena *arena) {
  seer_value value = {.dtype = bound->tensor.dtype, .rank = bound->tensor.rank, .has_shape = true};
  memcpy(value.dim, bound->tensor.dim, sizeof value.dim);
  const char *literal = seer_literal_print(&bound->tensor, SEER_BOUND_SHOWN, arena);
  return seer_arena_printf(arena, "%s %s%s%s", seer_text_safe(arena, bound->name),
      seer_value_type_text(&value, arena), literal ? " = " : "", literal ? literal : "");
}
