// control.c - If, Loop and Scan. Sizes are fixed when a model is compiled, and so is control flow:
// a condition that folds picks its branch, and loops are unrolled. A loop that runs long, or as
// often as data says, is kept, with its body once; an If whose condition is data keeps both
// branches, and runs one.
#include <string.h>

#include "front/expand/extent.h"
#include "front/sized.h"

// Loops of more iterations are kept if they can be: values keep their shapes, and nothing needs to
// know the iteration's number before it runs. (recurrent.c says what it costs.)
enum { MAX_UNROLLED = 64, MAX_ITERATIONS = 4096 };

static seer_status body_of(const seer_expand *e, const char *name, const seer_attr **out_body) {
  const seer_attr *attr = seer_node_attr(&e->node, name);
  if (!attr || attr->kind != SEER_ATTR_GRAPH)
    return SEER_FAIL(INVALID, "attribute '%s' must be a graph", name);
  *out_body = attr;
  return SEER_OK;
}

static seer_val *new_constants(const seer_expand *e, const seer_attr *body) {
  return SEER_NEW_ARRAY(e->scratch, seer_val, body->graph->n_value);
}

// The one element of a constant; false when `v` is none.
static bool constant_int(const seer_expand *e, seer_val v, int64_t *out) {
  const seer_tensor *tensor = seer_graph_value(e->graph, v)->constant;
  if (!tensor || seer_tensor_elems(tensor) != 1) return false;
  *out = seer_dtype_load_i64(tensor->dtype, tensor->data, 0);
  return true;
}

static void kill_nodes(seer_expand *e, uint32_t from, uint32_t to) {
  for (uint32_t k = from; k < to; k++) seer_graph_kill_node(e->graph, (seer_node_id){k});
}

// ---- If

// If the condition is data, both sides are computed, and a Where picks, when all that they need is
// at most MAX_CHEAP operators that join the Where's kernel, or work on next to nothing: elementwise
// ones, index maps, reductions of at most MAX_FEW elements. Views are free. Else only the side that
// is taken is computed; that is a step of its own, and a place where kernels end.
enum { MAX_CHEAP = 8, MAX_FEW = 1024, MAX_SEEN = 32 };

// Operators of the sides that were looked at; those before node `first` stand outside.
typedef struct {
  uint32_t first, n_cheap, n, node[MAX_SEEN];
} cheap_set;

static bool is_cheap(const seer_expand *e, seer_val v, cheap_set *set) {
  const seer_value *value = v.i ? seer_graph_value(e->graph, v) : NULL;
  if (!value || value->constant || value->producer.i < set->first) return true;
  for (uint32_t k = 0; k < set->n; k++)
    if (set->node[k] == value->producer.i) return true;
  const seer_node *node = seer_graph_node(e->graph, value->producer);
  seer_fuse_kind fuse = node->op->fuse;
  bool is_small = fuse == SEER_FUSE_REDUCTION &&
      seer_value_elems(seer_graph_value(e->graph, node->in[0])) <= MAX_FEW;
  bool is_view = fuse == SEER_FUSE_VIEW,
       is_joined = fuse == SEER_FUSE_ELEMENTWISE || fuse == SEER_FUSE_INJECTIVE;
  if ((!is_view && !is_joined && !is_small) || set->n == MAX_SEEN) return false;
  if (!is_view && ++set->n_cheap > MAX_CHEAP) return false;
  set->node[set->n++] = value->producer.i;
  for (uint32_t k = 0; k < node->n_in; k++)
    if (!is_cheap(e, node->in[k], set)) return false;
  return true;
}

// A side of an If whose condition is data: what it gives, or why it cannot be built for these
// shapes. A run that takes it ends with that (SEER_CONTROL_BRANCH).
typedef struct {
  seer_val *out;  // by output of its body
  const char *why;  // NULL: it is built; else in the graph's arena
  seer_code code;
} side;

// One of two values, as the condition says; out: the one. A side that is not built has none.
typedef struct {
  seer_val side[2], out;  // else, then
} choice;

// An output of an If: a choice, and choices of its sizes where the sides differ.
typedef struct {
  uint32_t value, n_axes;  // indices of choices
  uint32_t size[SEER_MAX_RANK];
  int64_t axis[SEER_MAX_RANK];
} if_output;

// `v`, of known size, in the corner of something larger.
static seer_val widened(seer_expand *e, seer_val v, const int64_t *bound) {
  const seer_value value = *seer_graph_value(e->graph, v);
  int64_t pads[2 * SEER_MAX_RANK] = {0};
  if (seer_value_is_sized(&value)) seer_expand_inner(e, "AtBound", &v, 1, NULL, 0, &v, 1);
  if (seer_value_elems(&value) == 0)
    return seer_expand_2(
        e, "Expand", seer_expand_scalar(e, value.dtype, 0), seer_expand_ints(e, bound, value.rank));
  if (memcmp(value.dim, bound, value.rank * sizeof *bound) == 0) return v;
  for (uint32_t d = 0; d < value.rank; d++) pads[value.rank + d] = bound[d] - value.dim[d];
  return seer_expand_2(e, "Pad", v, seer_expand_ints(e, pads, 2u * value.rank));
}

// A dimension that is not the same on both sides becomes a bound, and its size a choice as well.
// value[s] absent: side s is not built, and the other says what type comes out.
static seer_status add_choices(
    seer_expand *e, uint32_t k, const seer_val value[2], choice *all, uint32_t *n, if_output *out) {
  const seer_value x[2] = {*seer_graph_value(e->graph, value[value[0].i == 0]),
      *seer_graph_value(e->graph, value[value[1].i != 0])};
  int64_t bound[SEER_MAX_RANK];
  if (x[0].list || x[1].list)
    return SEER_FAIL(
        UNSUPPORTED, "the condition is known only while running, and output %u is a sequence", k);
  if (x[0].dtype != x[1].dtype || x[0].rank != x[1].rank)
    return SEER_FAIL(UNSUPPORTED,
        "the condition is known only while running, and output %u is %s or %s", k,
        seer_value_type_text(&x[1], e->scratch), seer_value_type_text(&x[0], e->scratch));
  out->value = (*n)++;
  for (uint32_t d = 0; d < x[0].rank; d++) {
    bound[d] = seer_max_i64(x[0].dim[d], x[1].dim[d]);
    if (x[0].dim[d] == x[1].dim[d] && !x[0].size[d].i && !x[1].size[d].i) continue;
    for (int s = 0; s < 2; s++)
      if (value[s].i)
        all[*n].side[s] = x[s].size[d].i ? x[s].size[d] : seer_expand_ints(e, &x[s].dim[d], 1);
    out->axis[out->n_axes] = d;
    out->size[out->n_axes++] = (*n)++;
  }
  for (int s = 0; s < 2; s++)
    if (value[s].i) all[out->value].side[s] = widened(e, value[s], bound);
  return SEER_OK;
}

// why: of the side that is not built; NULL: both are.
static void choose(seer_expand *e, bool by_where, const char *why, choice *all, uint32_t n_all) {
  seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, 2 * n_all + 1),
           *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_all);
  choice **open = SEER_NEW_ARRAY(e->scratch, choice *, n_all);
  uint32_t n = 0;
  for (uint32_t k = 0; k < n_all; k++) {
    all[k].out = all[k].side[0];
    if (all[k].side[0].i != all[k].side[1].i) open[n++] = &all[k];
  }
  if (n == 0) return;
  if (by_where) {
    seer_val condition = seer_expand_reshape(e, e->node.in[0], NULL, 0);
    for (uint32_t k = 0; k < n; k++)
      open[k]->out = seer_expand_3(e, "Where", condition, open[k]->side[1], open[k]->side[0]);
    return;
  }
  in[0] = e->node.in[0];
  for (uint32_t k = 0; k < n; k++) {
    in[1 + k] = open[k]->side[1];
    in[1 + n + k] = open[k]->side[0];
  }
  const seer_attr attr = seer_expand_string("why", why);
  seer_expand_inner(e, "Branch", in, 2 * n + 1, &attr, why ? 1 : 0, out, n);
  for (uint32_t k = 0; k < n; k++) open[k]->out = out[k];
}

// A status on one line, and not without end: sides in sides have reasons in reasons.
static const char *reason_of(seer_status status, seer_arena *arena) {
  char cut[1000];
  seer_text text;
  seer_text_init(&text, arena);
  for (const char *at = seer_status_message(status); *at;) {
    size_t n = strcspn(at, "\n");
    seer_text_put_n(&text, at, n);
    at += n;
    at += strspn(at, "\n ");
    if (*at) seer_text_put(&text, ", ");
  }
  seer_text_safe_copy(cut, sizeof cut, text.data, text.n_bytes, SEER_TEXT_ONE_LINE);
  return seer_arena_strdup(arena, cut);
}

// Copies a side into the graph and resolves it. Where that fails for what the network is, nothing
// of it stays but the reason: the other side may be all that is ever taken.
static seer_status build_side(seer_expand *e, const seer_attr *body, side *out) {
  uint32_t first = (uint32_t)e->graph->n_node;
  seer_expand_inline(e, body, NULL, new_constants(e, body), out->out);
  seer_status status = e->resolve(e);
  if (!status) return SEER_OK;
  out->code = seer_status_code(status);
  if (out->code != SEER_CODE_INVALID && out->code != SEER_CODE_UNSUPPORTED) return status;
  out->why = reason_of(status, e->graph->arena);
  seer_status_free(status);
  e->next = (uint32_t)e->graph->n_node;
  kill_nodes(e, first, e->next);
  return SEER_OK;
}

static seer_status refuse_both(const side *sides) {
  bool is_unsupported = false;
  for (int s = 0; s < 2; s++) is_unsupported |= sides[s].code == SEER_CODE_UNSUPPORTED;
  if (is_unsupported)
    return SEER_FAIL(
        UNSUPPORTED, "neither side can be built; then: %s; else: %s", sides[1].why, sides[0].why);
  return SEER_FAIL(
      INVALID, "neither side can be built; then: %s; else: %s", sides[1].why, sides[0].why);
}

// Outputs of which a branch would have nothing to do are constants already: it would be gone, and
// nothing would end the run.
static seer_status want_elements(const seer_expand *e, const side *good, const char *why) {
  for (uint32_t k = 0; k < e->node.n_out; k++)
    if (seer_value_elems(seer_graph_value(e->graph, good->out[k])) != 0) return SEER_OK;
  return SEER_FAIL(
      UNSUPPORTED, "one side gives nothing but values without elements, the other fails: %s", why);
}

static seer_status combine_sides(seer_expand *e, const side *sides, uint32_t first) {
  uint32_t n = 0, n_out = e->node.n_out;
  choice *all = SEER_NEW_ARRAY(e->scratch, choice, n_out * (SEER_MAX_RANK + 1u));
  if_output *outputs = SEER_NEW_ARRAY(e->scratch, if_output, n_out);
  bool *is_chosen = SEER_NEW_ARRAY(e->scratch, bool, n_out);
  cheap_set cheap = {.first = first};
  const char *why = sides[0].why ? sides[0].why : sides[1].why;
  int good = sides[0].why ? 1 : 0;
  bool by_where = !why;
  if (why) SEER_TRY(want_elements(e, &sides[good], why));
  for (uint32_t k = 0; k < n_out; k++) {
    seer_val value[2];
    for (int s = 0; s < 2; s++) value[s] = sides[s].why ? (seer_val){0} : sides[s].out[k];
    is_chosen[k] = seer_expand_wants(e, k) && value[0].i != value[1].i;
    if (!is_chosen[k]) continue;
    for (int s = 0; s < 2; s++) by_where = by_where && is_cheap(e, value[s], &cheap);
    SEER_TRY(add_choices(e, k, value, all, &n, &outputs[k]));
  }
  SEER_TRY(e->resolve(e));
  choose(e, by_where, why, all, n);
  SEER_TRY(e->resolve(e));
  for (uint32_t k = 0; k < n_out; k++) {
    seer_val value = sides[good].out[k], sizes[SEER_MAX_RANK];
    const if_output *o = &outputs[k];
    if (is_chosen[k]) {
      value = all[o->value].out;
      for (uint32_t i = 0; i < o->n_axes; i++) sizes[i] = all[o->size[i]].out;
      if (o->n_axes > 0) value = seer_expand_sized(e, value, o->axis, sizes, o->n_axes);
    }
    seer_expand_output(e, k, value);
  }
  return SEER_OK;
}

static seer_status expand_if_of_data(seer_expand *e, const seer_attr *const body[2]) {
  side sides[2] = {0};
  uint32_t first = (uint32_t)e->graph->n_node;
  for (int s = 0; s < 2; s++) {
    sides[s].out = SEER_NEW_ARRAY(e->scratch, seer_val, body[s]->graph->n_output);
    SEER_TRY(build_side(e, body[s], &sides[s]));
  }
  return sides[0].why && sides[1].why ? refuse_both(sides) : combine_sides(e, sides, first);
}

// The side that is taken, as if there were no If; the other one is not looked at.
static void expand_if_of_constant(seer_expand *e, const seer_attr *body) {
  seer_val *out = SEER_NEW_ARRAY(e->scratch, seer_val, body->graph->n_output);
  seer_expand_inline(e, body, NULL, new_constants(e, body), out);
  for (uint32_t k = 0; k < e->node.n_out; k++) seer_expand_output(e, k, out[k]);
}

static seer_status expand_if(seer_expand *e) {
  static const char *const names[2] = {"else_branch", "then_branch"};
  const seer_attr *body[2];
  int64_t condition = 0;
  if (seer_op_elems(seer_expand_in(e, 0)) != 1)
    return SEER_FAIL(INVALID, "input 0 (cond) must have one element");
  for (int b = 0; b < 2; b++) {
    SEER_TRY(body_of(e, names[b], &body[b]));
    if (body[b]->graph->n_output < e->node.n_out || seer_expand_n_formal(body[b]) != 0) {
      return SEER_FAIL(INVALID, "attribute '%s' has %u outputs and %u inputs, must have %u and 0",
          names[b], body[b]->graph->n_output, seer_expand_n_formal(body[b]), e->node.n_out);
    }
  }
  if (!constant_int(e, e->node.in[0], &condition)) return expand_if_of_data(e, body);
  expand_if_of_constant(e, body[condition != 0]);
  return SEER_OK;
}

// ---- Loop

// Parts of a scan output, one an iteration.
typedef struct {
  seer_val *part;
  size_t cap;
} scan;

static void add_part(seer_expand *e, scan *s, uint32_t n, seer_val value, int64_t axis) {
  s->part = SEER_GROW(e->scratch, seer_val, s->part, n, &s->cap);
  s->part[n] = seer_expand_2(e, "Unsqueeze", value, seer_expand_ints(e, &axis, 1));
}

// The scan output of no iteration: of the type that `part`, made for that only, says.
static seer_status output_nothing(seer_expand *e, uint32_t k, seer_val part, int64_t axis) {
  const seer_value *value = seer_graph_value(e->graph, part);
  int64_t dim[SEER_MAX_RANK];
  uint32_t along, rank = 0;
  if (value->rank == SEER_MAX_RANK)
    return SEER_FAIL(
        UNSUPPORTED, "output %u has rank %d, at most %d", k, value->rank + 1, SEER_MAX_RANK);
  SEER_TRY(seer_op_axis(axis, value->rank + 1u, "an entry of 'scan_output_axes'", &along));
  for (uint32_t d = 0; d <= value->rank; d++) dim[d] = d == along ? 0 : value->dim[rank++];
  seer_expand_output(e, k, seer_expand_tensor(e, value->dtype, dim, value->rank + 1u, NULL));
  return SEER_OK;
}

// A branch that may end the run is no step that could as well be taken in front of the loop, which
// may not run at all: it reads the number of the iteration.
static void hold_in_loop(seer_expand *e, uint32_t first, seer_val number) {
  for (uint32_t k = first; k < e->graph->n_node; k++) {
    seer_node *node = &e->graph->node[k];
    if (node->is_dead || !seer_branch_why(node)) continue;
    seer_val *in = SEER_NEW_ARRAY(e->graph->arena, seer_val, node->n_in + 1);
    memcpy(in, node->in, node->n_in * sizeof *in);
    in[node->n_in++] = number;
    node->in = in;
  }
}

// A loop whose number of iterations only a run knows (or that is too long to unroll): its body
// stands in the graph once, between the two ends. n_trip: -1 when it is data.
static seer_status keep_loop(seer_expand *e, const seer_attr *body, int64_t n_trip) {
  uint32_t n_formal = seer_expand_n_formal(body), n_out = body->graph->n_output, n = 0, n_scan = 0;
  uint32_t n_carried = n_formal - 2;
  seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal + n_out + 2),
           *formal = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal),
           *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out + 1);
  for (uint32_t k = 0; k < n_formal; k++) {
    in[k] = k < body->i ? e->node.in[k] : (seer_val){0};
    if (in[k].i && seer_graph_value(e->graph, in[k])->list)
      return SEER_FAIL(UNSUPPORTED,
          "how often the loop runs is known only while running, and input %u is a sequence", k);
  }
  seer_expand_inner(e, "LoopBegin", in, n_formal, NULL, 0, formal, n_formal);
  SEER_TRY(e->resolve(e));
  uint32_t first = (uint32_t)e->graph->n_node;
  seer_expand_inline(e, body, formal, new_constants(e, body), out);
  SEER_TRY(e->resolve(e));
  hold_in_loop(e, first, formal[0]);
  for (uint32_t k = 0; k <= n_carried; k++) in[n++] = out[k];
  for (uint32_t k = n_carried; k + 1 < n_out; k++) {
    if (!seer_expand_wants(e, k)) continue;
    in[n++] = out[k + 1];
    n_scan++;
  }
  for (uint32_t k = 0; k < n; k++) {
    const seer_value *value = seer_graph_value(e->graph, in[k]);
    if (value->list || seer_value_is_sized(value))
      return SEER_FAIL(UNSUPPORTED,
          "how often the loop runs is known only while running, and so is the size of what its "
          "body makes: '%s', %s: inputs 0 and 1 must then be constant after folding (--bind)",
          value->name, value->list ? "a sequence" : seer_value_type_text(value, e->scratch));
  }
  in[n++] = formal[0];
  int64_t bound = n_trip >= 0 ? seer_max_i64(n_trip, 1) : 1;
  bool is_bound =
      n_trip >= 0 || (e->node.in[0].i && seer_extent_at_most(e->graph, e->node.in[0], &bound));
  if (n_scan > 0 && (!is_bound || bound > INT32_MAX))
    return SEER_FAIL(UNSUPPORTED,
        "how often the loop runs is known only while running, and an output has a part for each "
        "iteration: input 0 must then be constant after folding, or have a bound");
  const seer_attr attrs[2] = {seer_expand_int("n_carried", n_carried),
      seer_expand_int("bound", is_bound ? seer_max_i64(bound, 1) : 1)};
  int64_t starts = 1, goes_on = 0;
  bool is_certain = n_trip > 0 && constant_int(e, in[0], &goes_on) && goes_on &&
      (!e->node.in[1].i || constant_int(e, e->node.in[1], &starts)) && starts;
  seer_expand_inner(e, "LoopEnd", in, n, attrs, 2, out, n - 1);
  for (uint32_t k = 0, at = 0; k < e->node.n_out; k++) {
    if (k >= n_carried && !seer_expand_wants(e, k)) continue;
    seer_val made = out[at++];
    // It runs as often as it may.
    if (k >= n_carried && is_certain) seer_expand_inner(e, "AtBound", &made, 1, NULL, 0, &made, 1);
    seer_expand_output(e, k, made);
  }
  return SEER_OK;
}

// `status` is of what was added from node `first` on. Where it failed for what the network is,
// nothing of that stays.
static seer_status undo_if_failed(
    seer_expand *e, uint32_t first, seer_status status, bool *out_is_there) {
  *out_is_there = !status;
  if (!status) return SEER_OK;
  seer_code code = seer_status_code(status);
  if (code != SEER_CODE_INVALID && code != SEER_CODE_UNSUPPORTED) return status;
  seer_status_free(status);
  e->next = (uint32_t)e->graph->n_node;
  kill_nodes(e, first, e->next);
  return SEER_OK;
}

// A long loop, in place of what was unrolled so far, which nobody reads then. *out_is_there false:
// it cannot be kept.
static seer_status try_keep_loop(
    seer_expand *e, const seer_attr *body, int64_t n_trip, bool *out_is_there) {
  uint32_t own = (uint32_t)e->graph->n_node;
  seer_status status = keep_loop(e, body, n_trip);
  if (!status) status = e->resolve(e);
  return undo_if_failed(e, own, status, out_is_there);
}

static seer_status expand_loop(seer_expand *e) {
  const seer_attr *body;
  SEER_TRY(body_of(e, "body", &body));
  uint32_t n_formal = seer_expand_n_formal(body), n_out = body->graph->n_output;
  if (n_formal < 2 || body->i > n_formal || n_out + 1 < n_formal || e->node.n_out > n_out - 1) {
    return SEER_FAIL(INVALID,
        "%" PRId64 " inputs and %u outputs do not fit a body of %u inputs and %u outputs", body->i,
        e->node.n_out, n_formal, n_out);
  }
  uint32_t n_carried = n_formal - 2, n_scan = n_out - 1 - n_carried, n = 0;
  int64_t n_trip = INT64_MAX, goes_on = 1;
  seer_val *formal = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal),
           *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out), *constants = new_constants(e, body);
  scan *scans = SEER_NEW_ARRAY(e->scratch, scan, n_scan);
  for (uint32_t k = 0; k < n_formal; k++) {
    if (k < body->i) formal[k] = e->node.in[k];  // behind them are those that the body captures
    if (k > 1 && !formal[k].i) return SEER_FAIL(INVALID, "input %u is absent and may not be", k);
  }
  if (formal[0].i && !constant_int(e, formal[0], &n_trip)) return keep_loop(e, body, -1);
  if (n_trip > MAX_ITERATIONS && n_trip < INT64_MAX) return keep_loop(e, body, n_trip);
  if (!formal[1].i) formal[1] = seer_expand_scalar(e, SEER_DTYPE_BOOL, 1);
  for (; n < n_trip; n++) {
    if (!constant_int(e, formal[1], &goes_on))
      return keep_loop(e, body, n_trip < INT64_MAX ? n_trip : -1);
    if (!goes_on) break;
    bool is_kept = false;
    if (n == MAX_UNROLLED && n_trip < INT64_MAX) SEER_TRY(try_keep_loop(e, body, n_trip, &is_kept));
    if (is_kept) return SEER_OK;
    if (n == MAX_ITERATIONS)
      return SEER_FAIL(UNSUPPORTED, "more than %d iterations", MAX_ITERATIONS);
    formal[0] = seer_expand_scalar(e, SEER_DTYPE_I64, n);
    seer_expand_inline(e, body, formal, constants, out);
    for (uint32_t s = 0; s < n_scan; s++) add_part(e, &scans[s], n, out[1 + n_carried + s], 0);
    SEER_TRY(e->resolve(e));
    for (uint32_t k = 1; k < n_formal; k++) formal[k] = out[k - 1];
  }
  for (uint32_t k = 0; k < n_carried; k++) seer_expand_output(e, k, formal[2 + k]);
  if (n == 0 && n_scan > 0) {
    formal[0] = seer_expand_scalar(e, SEER_DTYPE_I64, 0);
    seer_expand_inline(e, body, formal, constants, out);
    SEER_TRY(e->resolve(e));
  }
  for (uint32_t s = 0; s < n_scan; s++) {
    uint32_t k = n_carried + s;
    if (!seer_expand_wants(e, k)) continue;
    if (n == 0)
      SEER_TRY(output_nothing(e, k, out[1 + k], 0));
    else
      seer_expand_output(e, k, seer_expand_concat(e, scans[s].part, n, 0));
  }
  return SEER_OK;
}

// ---- Scan

// Entry k of a list of n integers, 0 when the list is absent.
static seer_status entry(
    const seer_expand *e, const char *name, uint32_t n, uint32_t k, int64_t *out_value) {
  const seer_attr *attr = seer_node_attr_ints(&e->node, name);
  *out_value = 0;
  if (!attr) return SEER_OK;
  if (attr->n != n)
    return SEER_FAIL(INVALID, "attribute '%s' has %zu entries, must have %u", name, attr->n, n);
  *out_value = attr->ints[k];
  return SEER_OK;
}

// A Scan: its body's inputs are n_state values that go round, then one slice each of n_input
// values; its outputs the n_state values, then n_scan that are put together.
typedef struct {
  const seer_attr *body;
  uint32_t n_state, n_input, n_scan;
  int64_t n_trip;
  uint32_t *axis;  // of each scanned input
  seer_val *formal, *out, *constants;
  scan *scans;
} scan_node;

static seer_status find_scan(seer_expand *e, scan_node *n) {
  SEER_TRY(body_of(e, "body", &n->body));
  uint32_t n_formal = seer_expand_n_formal(n->body), n_out = n->body->graph->n_output;
  int64_t n_input = seer_node_attr_i(&e->node, "num_scan_inputs", 0);
  bool fits = n_input >= 1 && n_input <= n_formal && n->body->i == n_formal &&
      n_out + (uint32_t)n_input >= n_formal && e->node.n_out <= n_out;
  if (!fits) {
    return SEER_FAIL(INVALID,
        "%" PRId64 " inputs (%" PRId64
        " of them scanned) and %u outputs do not fit a body of %u "
        "inputs and %u outputs",
        n->body->i, n_input, e->node.n_out, n_formal, n_out);
  }
  n->n_input = (uint32_t)n_input;
  n->n_state = n_formal - n->n_input;
  n->n_scan = n_out - n->n_state;
  n->axis = SEER_NEW_ARRAY(e->scratch, uint32_t, n_formal);
  n->formal = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal);
  n->out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out);
  n->constants = new_constants(e, n->body);
  n->scans = SEER_NEW_ARRAY(e->scratch, scan, n->n_scan);
  for (uint32_t k = 0; k < n->n_state; k++) n->formal[k] = e->node.in[k];
  return SEER_OK;
}

static seer_status find_trips(seer_expand *e, scan_node *n) {
  n->n_trip = -1;
  for (uint32_t k = 0; k < n->n_input; k++) {
    const seer_value *x = seer_expand_in(e, n->n_state + k);
    int64_t at;
    SEER_TRY(entry(e, "scan_input_axes", n->n_input, k, &at));
    SEER_TRY(seer_op_axis(at, x->rank, "an entry of 'scan_input_axes'", &n->axis[k]));
    int64_t extent = x->dim[n->axis[k]];
    if (n->n_trip >= 0 && extent != n->n_trip)
      return SEER_FAIL(INVALID, "input %u has %" PRId64 " elements to scan, input %u has %" PRId64,
          n->n_state + k, extent, n->n_state, n->n_trip);
    n->n_trip = extent;
  }
  return SEER_OK;
}

// The body once, on zeros, for the types of the outputs that nothing is scanned into.
static seer_status type_outputs(seer_expand *e, const scan_node *n) {
  for (uint32_t k = 0; k < n->n_input; k++) {
    seer_value x = *seer_expand_in(e, n->n_state + k);
    double *zeros;
    uint32_t rank = 0;
    for (uint32_t d = 0; d < x.rank; d++) {
      if (d != n->axis[k]) x.dim[rank++] = x.dim[d];
    }
    SEER_TRY(seer_expand_table(e, seer_dims_elems(x.dim, rank), 1, &zeros));
    n->formal[n->n_state + k] = seer_expand_tensor(e, x.dtype, x.dim, rank, zeros);
  }
  seer_expand_inline(e, n->body, n->formal, n->constants, n->out);
  return e->resolve(e);
}

static seer_status scan_once(seer_expand *e, const scan_node *n, int64_t trip) {
  for (uint32_t k = 0; k < n->n_input; k++) {
    int64_t is_reverse, along = n->axis[k];
    SEER_TRY(entry(e, "scan_input_directions", n->n_input, k, &is_reverse));
    int64_t at = is_reverse ? n->n_trip - 1 - trip : trip;
    seer_val slice = seer_expand_slice(e, e->node.in[n->n_state + k], along, at, at + 1);
    n->formal[n->n_state + k] = seer_expand_2(e, "Squeeze", slice, seer_expand_ints(e, &along, 1));
  }
  seer_expand_inline(e, n->body, n->formal, n->constants, n->out);
  for (uint32_t k = 0; k < n->n_state; k++) n->formal[k] = n->out[k];
  for (uint32_t s = 0; s < n->n_scan; s++) {
    int64_t along;
    SEER_TRY(entry(e, "scan_output_axes", n->n_scan, s, &along));
    add_part(e, &n->scans[s], (uint32_t)trip, n->out[n->n_state + s], along);
  }
  return e->resolve(e);
}

static seer_status output_scan(seer_expand *e, const scan_node *n, uint32_t s) {
  int64_t along, is_reverse;
  SEER_TRY(entry(e, "scan_output_axes", n->n_scan, s, &along));
  SEER_TRY(entry(e, "scan_output_directions", n->n_scan, s, &is_reverse));
  seer_val *part = n->scans[s].part;
  for (int64_t a = 0, b = n->n_trip - 1; is_reverse && a < b; a++, b--) {
    seer_val other = part[a];
    part[a] = part[b];
    part[b] = other;
  }
  if (!seer_expand_wants(e, n->n_state + s)) return SEER_OK;
  if (n->n_trip == 0) return output_nothing(e, n->n_state + s, n->out[n->n_state + s], along);
  seer_val joined = seer_expand_concat(e, part, (uint32_t)n->n_trip, along);
  seer_expand_output(e, n->n_state + s, joined);
  return SEER_OK;
}

// The scanned part of input k, in iteration `number` of a loop.
static seer_status scanned_part(
    seer_expand *e, const scan_node *n, uint32_t k, seer_val number, seer_val *out) {
  int64_t is_reverse;
  SEER_TRY(entry(e, "scan_input_directions", n->n_input, k, &is_reverse));
  seer_val last = seer_expand_scalar(e, SEER_DTYPE_I64, (double)(n->n_trip - 1));
  if (is_reverse) number = seer_expand_2(e, "Sub", last, number);
  *out = seer_expand_2i(e, "Gather", e->node.in[n->n_state + k], number, "axis", n->axis[k]);
  return SEER_OK;
}

// Rows in the order of iterations, along the first axis -> as output s wants them.
static seer_status output_rows(seer_expand *e, const scan_node *n, uint32_t s, seer_val rows) {
  int64_t at, is_reverse, perm[SEER_MAX_RANK];
  uint32_t along, rank = seer_graph_value(e->graph, rows)->rank;
  SEER_TRY(entry(e, "scan_output_axes", n->n_scan, s, &at));
  SEER_TRY(entry(e, "scan_output_directions", n->n_scan, s, &is_reverse));
  SEER_TRY(seer_op_axis(at, rank, "an entry of 'scan_output_axes'", &along));
  seer_expand_inner(e, "AtBound", &rows, 1, NULL, 0, &rows, 1);  // all iterations run
  if (is_reverse) rows = seer_expand_reversed(e, rows, 0);
  for (uint32_t d = 0, from = 1; d < rank; d++) perm[d] = d == along ? 0 : from++;
  const seer_attr attr = seer_expand_ints_attr("perm", perm, rank);
  if (along > 0) rows = seer_expand_add(e, "Transpose", &rows, 1, &attr, 1);
  seer_expand_output(e, n->n_state + s, rows);
  return SEER_OK;
}

// The body once, in a loop that has the states as its values.
static seer_status keep_scan(seer_expand *e, scan_node *n) {
  uint32_t n_formal = n->n_state + n->n_input, n_out = n->n_state + n->n_scan, n_in = 0;
  seer_val *in = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal + n_out + 3),
           *formal = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal + 2),
           *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out + 1);
  in[0] = seer_expand_scalar(e, SEER_DTYPE_I64, (double)n->n_trip);
  for (uint32_t k = 0; k < n->n_state; k++) in[2 + k] = e->node.in[k];
  seer_expand_inner(e, "LoopBegin", in, 2 + n->n_state, NULL, 0, formal, 2 + n->n_state);
  for (uint32_t k = 0; k < n->n_input; k++)
    SEER_TRY(scanned_part(e, n, k, formal[0], &formal[2 + n->n_state + k]));
  SEER_TRY(e->resolve(e));
  uint32_t first = (uint32_t)e->graph->n_node;
  seer_expand_inline(e, n->body, formal + 2, new_constants(e, n->body), out);
  SEER_TRY(e->resolve(e));
  hold_in_loop(e, first, formal[0]);
  in[n_in++] = seer_expand_scalar(e, SEER_DTYPE_BOOL, 1);
  for (uint32_t k = 0; k < n_out; k++)
    if (k < n->n_state || seer_expand_wants(e, k)) in[n_in++] = out[k];
  in[n_in++] = formal[0];
  const seer_attr attrs[2] = {
      seer_expand_int("n_carried", n->n_state), seer_expand_int("bound", n->n_trip)};
  seer_expand_inner(e, "LoopEnd", in, n_in, attrs, 2, out, n_in - 1);
  SEER_TRY(e->resolve(e));
  for (uint32_t k = 0; k < n->n_state; k++) seer_expand_output(e, k, out[k]);
  for (uint32_t s = 0, at = n->n_state; s < n->n_scan; s++)
    if (seer_expand_wants(e, n->n_state + s)) SEER_TRY(output_rows(e, n, s, out[at++]));
  return e->resolve(e);
}

static seer_status expand_scan(seer_expand *e) {
  scan_node n = {0};
  bool is_kept = false;
  SEER_TRY(find_scan(e, &n));
  SEER_TRY(find_trips(e, &n));
  if (n.n_trip > MAX_UNROLLED) {
    uint32_t first = (uint32_t)e->graph->n_node;
    SEER_TRY(undo_if_failed(e, first, keep_scan(e, &n), &is_kept));
  }
  if (is_kept) return SEER_OK;
  if (n.n_trip > MAX_ITERATIONS)
    return SEER_FAIL(UNSUPPORTED,
        "%" PRId64 " iterations, must be at most %d where a state changes its shape", n.n_trip,
        MAX_ITERATIONS);
  if (n.n_trip == 0) SEER_TRY(type_outputs(e, &n));
  for (int64_t t = 0; t < n.n_trip; t++) SEER_TRY(scan_once(e, &n, t));
  for (uint32_t k = 0; k < n.n_state; k++) seer_expand_output(e, k, n.formal[k]);
  for (uint32_t s = 0; s < n.n_scan; s++) SEER_TRY(output_scan(e, &n, s));
  return SEER_OK;
}

#define CONTROL(id, onnx, from, in_min, attributes, ...) \
  SEER_LIST_COMPOSITE(id, onnx, from, in_min, SEER_OP_ANY, SEER_OP_ANY, attributes, __VA_ARGS__)

CONTROL(if, "If", 1, 1, "then_branch else_branch",
    "a condition that folds picks a branch; else the plan branches, values of two shapes get a "
    "bound, and a side that cannot be built ends the run that takes it",
    .expands_sized = true, .takes_one_body = true)
CONTROL(loop, "Loop", 1, 0, "body",
    "unrolled where the number of iterations folds and is at most 64, or values change their "
    "shapes; "
    "else a loop of the plan",
    .expands_sized = true)
CONTROL(scan, "Scan", 9, 1,
    "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
    "scan_output_directions",
    "up to 64 iterations are unrolled, more are a loop of the plan")
