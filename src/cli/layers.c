// layers.c - a watched run of a library and a judge's values -> the first step that differs. Values
// are the same by their names: a pass may move a value, never change what its name means
// (front/pass/pass.h).
#include "cli/layers.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "front/onnx/dtype.h"
#include "library/tolerance.h"

typedef struct {
  const seer_expected *expected;
  seer_map *by_name;  // output of the graph
  bool *is_seen;  // by value
  const double *rtol;  // by value; NULL: `only`
  const bool *is_decided;
  double only, atol;
  seer_arena *arena;
  seer_layers_verdict *out;
} judge;

// ---- elements

static const char *place_text(const int64_t *index, const seer_io_info *io, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "[");
  for (int32_t d = 0; d < io->rank; d++)
    seer_text_printf(&text, "%s%" PRId64, d > 0 ? "," : "", index[d]);
  seer_text_printf(&text, "] of %s", seer_shape_text(io->dim, io->rank, arena));
  return text.data;
}

// The largest error, at *out_at of the expected elements; infinity where only one is a number.
static double find_worst(const seer_made_value *made, const seer_io_info *io, const void *data,
    int64_t *out_at, double *out_largest) {
  int64_t index[SEER_MAX_RANK] = {0}, n = seer_dims_elems(io->dim, (uint32_t)io->rank), from = 0;
  double most = 0;
  *out_largest = 0;
  for (int64_t i = 0; i < n; i++) {
    double a = seer_element_f64(made->onnx_dtype, made->data, (uint64_t)from),
           b = seer_element_f64(io->onnx_dtype, data, (uint64_t)i);
    double error = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
    if (isnan(error)) error = INFINITY;
    if (error > most) {
      most = error;
      *out_at = i;
    }
    if (isfinite(b)) *out_largest = fmax(*out_largest, fabs(b));
    for (int32_t d = io->rank; d-- > 0;) {
      from += made->stride[d];
      if (++index[d] < io->dim[d]) break;
      from -= made->stride[d] * io->dim[d];
      index[d] = 0;
    }
  }
  return most;
}

static seer_worst tell_worst(const judge *j, const seer_made_value *made, const seer_io_info *io,
    const void *data, int64_t at, double tolerance) {
  int64_t index[SEER_MAX_RANK] = {0}, from = 0, rest = at;
  for (int32_t d = io->rank; d-- > 0;) {
    index[d] = rest % io->dim[d];
    rest /= io->dim[d];
    from += index[d] * made->stride[d];
  }
  return (seer_worst){place_text(index, io, j->arena),
      seer_element_f64(made->onnx_dtype, made->data, (uint64_t)from),
      seer_element_f64(io->onnx_dtype, data, (uint64_t)at), tolerance};
}

// NULL, or how the shapes differ. A dimension that is a bound holds what the run needed of it.
static const char *compare_shapes(
    const judge *j, const seer_made_value *made, const seer_io_info *io) {
  bool fits = made->rank == io->rank;
  for (int32_t d = 0; d < io->rank && fits; d++)
    fits = made->bounded >> d & 1 ? io->dim[d] <= made->dim[d] : io->dim[d] == made->dim[d];
  if (fits) return NULL;
  return seer_arena_printf(j->arena, "is %s, must be %s",
      seer_shape_text(made->dim, made->rank, j->arena),
      seer_shape_text(io->dim, io->rank, j->arena));
}

// ---- nodes

// Those between what was seen before and `v`, in their order. By number in is_between.
static uint32_t mark_between(const judge *j, seer_val v, bool *is_between) {
  const seer_graph *graph = j->expected->graph;
  uint32_t *stack = SEER_NEW_ARRAY(j->arena, uint32_t, graph->n_node), depth = 0, n = 0;
  uint32_t producer = seer_graph_value(graph, v)->producer.i;
  if (producer) {
    is_between[producer] = true;
    stack[depth++] = producer;
  }
  while (depth > 0) {
    const seer_node *node = &graph->node[stack[--depth]];
    n++;
    for (uint32_t i = 0; i < node->n_in; i++) {
      uint32_t before = node->in[i].i, maker = graph->value[before].producer.i;
      if (before == 0 || maker == 0 || j->is_seen[before] || is_between[maker]) continue;
      is_between[maker] = true;
      stack[depth++] = maker;
    }
  }
  return n;
}

static void tell_nodes(const judge *j, seer_val v) {
  const seer_graph *graph = j->expected->graph;
  bool *is_between = SEER_NEW_ARRAY(j->arena, bool, graph->n_node);
  uint32_t n = 0, n_between = mark_between(j, v, is_between);
  const seer_node **node = SEER_NEW_ARRAY(j->arena, const seer_node *, n_between + 1);
  for (uint32_t k = 1; k < graph->n_node; k++)
    if (is_between[k]) node[n++] = &graph->node[k];
  j->out->wrong.n_node = n;
  j->out->wrong.node = node;
}

// ---- the run

static void judge_value(judge *j, const seer_made_value *made, uint32_t i) {
  seer_val v = j->expected->graph->output[i];
  const seer_io_info *io = &j->expected->io[i];
  const void *data = j->expected->data[i];
  seer_layers_verdict *out = j->out;
  int64_t at = 0;
  double largest = 0, error = 0, tolerance = 0;
  const char *what = compare_shapes(j, made, io);
  if (!what) {
    error = find_worst(made, io, data, &at, &largest);
    tolerance = j->atol + (j->rtol ? j->rtol[v.i] : j->only) * largest;
    if (error <= tolerance) return;
    if (j->is_decided[v.i]) {
      out->flipped[out->n_flipped++] = seer_graph_value(j->expected->graph, v)->name;
      return;
    }
    out->wrong.worst = tell_worst(j, made, io, data, at, tolerance);
  }
  out->wrong.name = seer_graph_value(j->expected->graph, v)->name;
  out->wrong.what = what;
  out->wrong.step = made->step;
  out->wrong.step_name = made->step_name;
  out->wrong.step_kind = made->step_kind;
  tell_nodes(j, v);
}

// A value may come twice: where it was made, and in the caller's memory, to which it was copied.
static void see(void *user, const seer_made_value *made) {
  judge *j = user;
  uint64_t i;
  if (!seer_map_get_str(j->by_name, made->name, &i) || !j->expected->data[i]) return;
  uint32_t v = j->expected->graph->output[i].i;
  bool is_first = !j->is_seen[v];
  if (is_first) j->out->n_judged++;
  if (is_first && j->is_decided[v]) j->out->n_decided++;
  if (!j->out->wrong.name && (is_first || !j->is_decided[v])) judge_value(j, made, (uint32_t)i);
  j->is_seen[v] = true;
}

seer_status seer_layers_judge(seer_use *use, const seer_expected *expected, double rtol,
    double atol, seer_layers_verdict *out) {
  const seer_graph *graph = expected->graph;
  seer_arena *arena = use->arena;
  *out = (seer_layers_verdict){.hidden = SEER_NEW_ARRAY(arena, const char *, graph->n_output + 1),
      .flipped = SEER_NEW_ARRAY(arena, const char *, graph->n_output + 1)};
  judge j = {.expected = expected,
      .by_name = seer_map_create(arena),
      .is_seen = SEER_NEW_ARRAY(arena, bool, graph->n_value),
      .rtol = rtol < 0 ? seer_verify_tolerances(graph, expected->products, arena) : NULL,
      .is_decided = seer_verify_decided(graph, arena),
      .only = rtol,
      .atol = atol,
      .arena = arena,
      .out = out};
  for (uint32_t i = 0; i < graph->n_output; i++)
    seer_map_set_str(j.by_name, seer_graph_value(graph, graph->output[i])->name, i);
  SEER_TRY(seer_use_watch(use, see, &j));
  for (uint32_t i = 0; i < graph->n_output; i++) {
    const seer_val v = graph->output[i];
    if (!j.is_seen[v.i] && seer_graph_value(graph, v)->producer.i)
      out->hidden[out->n_hidden++] = seer_graph_value(graph, v)->name;
  }
  return SEER_OK;
}
