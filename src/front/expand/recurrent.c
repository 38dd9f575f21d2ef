// recurrent.c - RNN, GRU and LSTM. What needs no earlier step (the input's part of all gates, for
// all steps) is one matrix product; the steps come behind it, each a product with the hidden state
// and an elementwise rest. Few steps are unrolled: equal ones are one task, so that they tune no
// slower than one. Many are a loop of the plan, whose body is one step: what is compiled and what a
// session holds do not grow with them.
// Shapes as in ONNX: X [steps, batch, inputs], W [directions, gates * hidden, inputs], R
// [directions, gates * hidden, hidden], B [directions, 2 * gates * hidden], states [directions,
// batch, hidden]; with layout 1, batch comes before steps and directions.
#include <string.h>

#include "front/expand/expand.h"

// Up to so many steps are unrolled. A loop takes 1.02 times as long at 16 steps of 64 units, 1.08
// at 64, 1.00 at 64 of 256, and its library is half as large at 64. 2026-11-25, AVX-512, one
// thread.
enum { MAX_UNROLLED = 64 };
enum { MAX_STEPS = 1 << 20, X_IN = 0, W_IN, R_IN, B_IN, LENGTHS_IN, H_IN, C_IN, P_IN };

typedef struct {
  seer_expand *e;
  uint32_t n_gate;
  uint32_t n_activation;  // of one direction
  int64_t n_step, n_batch, n_direction, hidden;
  seer_dtype dtype;
  bool is_batch_first;
  seer_val x;  // [steps, batch, inputs]
} cells;

// ---- activations

static const struct {
  const char *name, *op_type;
  double alpha, beta;  // defaults; NAN: has none
} activations[] = {
    {"Sigmoid", "Sigmoid", -1, -1},
    {"Tanh", "Tanh", -1, -1},
    {"Relu", "Relu", -1, -1},
    {"Softsign", "Softsign", -1, -1},
    {"Softplus", "Softplus", -1, -1},
    {"LeakyRelu", "LeakyRelu", 0.01, -1},
    {"ThresholdedRelu", "ThresholdedRelu", 1, -1},
    {"HardSigmoid", "HardSigmoid", 0.2, 0.5},
    {"Elu", "Elu", 1, -1},
};

static double listed(const seer_expand *e, const char *name, uint32_t k, double otherwise) {
  const seer_attr *attr = seer_node_attr(&e->node, name);
  return attr && attr->kind == SEER_ATTR_FLOATS && k < attr->n ? attr->floats[k] : otherwise;
}

static const char *activation_name(const seer_expand *e, uint32_t k, const char *otherwise) {
  const seer_attr *attr = seer_node_attr(&e->node, "activations");
  return attr && attr->kind == SEER_ATTR_STRINGS && k < attr->n ? attr->strings[k] : otherwise;
}

// The k-th activation of the node (of all directions).
static seer_status activate(
    cells *c, uint32_t k, const char *otherwise, seer_val x, seer_val *out_value) {
  seer_expand *e = c->e;
  const char *name = activation_name(e, k, otherwise);
  double alpha = listed(e, "activation_alpha", k, -1), beta = listed(e, "activation_beta", k, -1);
  for (size_t i = 0; i < SEER_COUNT_OF(activations); i++) {
    if (strcmp(activations[i].name, name) != 0) continue;
    seer_attr attr[2] = {
        {.name = "alpha", .kind = SEER_ATTR_FLOAT}, {.name = "beta", .kind = SEER_ATTR_FLOAT}};
    attr[0].f = alpha >= 0 ? alpha : activations[i].alpha;
    attr[1].f = beta >= 0 ? beta : activations[i].beta;
    uint32_t n_attr = activations[i].beta >= 0 ? 2 : activations[i].alpha >= 0 ? 1 : 0;
    *out_value = seer_expand_add(e, activations[i].op_type, &x, 1, attr, n_attr);
    return SEER_OK;
  }
  bool is_affine = strcmp(name, "Affine") == 0, is_scaled = strcmp(name, "ScaledTanh") == 0;
  if (!is_affine && !is_scaled)
    return SEER_FAIL(UNSUPPORTED, "activation '%s' is not supported", name);
  seer_val a = seer_expand_scalar(e, c->dtype, alpha >= 0 ? alpha : 1);
  seer_val b = seer_expand_scalar(e, c->dtype, beta >= 0 ? beta : is_affine ? 0 : 1);
  *out_value = is_affine
      ? seer_expand_2(e, "Add", seer_expand_2(e, "Mul", x, a), b)
      : seer_expand_2(e, "Mul", a, seer_expand_1(e, "Tanh", seer_expand_2(e, "Mul", x, b)));
  return SEER_OK;
}

static seer_val clipped(cells *c, seer_val x) {
  double clip = seer_node_attr_f(&c->e->node, "clip", 0);
  if (clip <= 0) return x;
  return seer_expand_3(c->e, "Clip", x, seer_expand_scalar(c->e, c->dtype, -clip),
      seer_expand_scalar(c->e, c->dtype, clip));
}

// ---- operands

static seer_status check_shape(const cells *c, uint32_t k, const int64_t *want, uint32_t rank) {
  if (!seer_expand_has_in(c->e, k)) return SEER_OK;
  const seer_value *value = seer_expand_in(c->e, k);
  bool is_right = value->rank == rank;
  for (uint32_t d = 0; d < rank && is_right; d++) is_right = value->dim[d] == want[d];
  if (is_right) return SEER_OK;
  seer_value wanted = {.rank = (uint8_t)rank};
  memcpy(wanted.dim, want, rank * sizeof *want);
  return SEER_FAIL(INVALID, "input %u is %s, must be %s", k,
      seer_op_shape_text(value, c->e->scratch), seer_op_shape_text(&wanted, c->e->scratch));
}

static seer_status start(seer_expand *e, uint32_t n_gate, uint32_t n_activation, cells *c) {
  const char *direction = seer_node_attr_s(&e->node, "direction", "forward");
  const seer_value *x = seer_expand_in(e, X_IN), *r = seer_expand_in(e, R_IN);
  *c = (cells){.e = e, .n_gate = n_gate, .n_activation = n_activation, .dtype = x->dtype};
  c->is_batch_first = seer_node_attr_i(&e->node, "layout", 0) == 1;
  SEER_TRY(seer_op_want_float(x, X_IN));
  if (x->rank != 3 || r->rank != 3) return SEER_FAIL(INVALID, "inputs 0 and 2 must have rank 3");
  bool is_both = strcmp(direction, "bidirectional") == 0;
  if (!is_both && strcmp(direction, "forward") != 0 && strcmp(direction, "reverse") != 0) {
    return SEER_FAIL(INVALID,
        "attribute 'direction' is '%s', must be forward, reverse or bidirectional", direction);
  }
  c->n_step = x->dim[c->is_batch_first ? 1 : 0];
  c->n_batch = x->dim[c->is_batch_first ? 0 : 1];
  c->n_direction = is_both ? 2 : 1;
  c->hidden = r->dim[2];
  int64_t n_input = x->dim[2], rows = n_gate * c->hidden;
  int64_t asked = seer_node_attr_i(&e->node, "hidden_size", c->hidden);
  if (asked != c->hidden) {
    return SEER_FAIL(
        INVALID, "attribute 'hidden_size' is %" PRId64 ", input 2 has %" PRId64, asked, c->hidden);
  }
  if (c->n_step < 1 || c->n_step > MAX_STEPS)
    return SEER_FAIL(UNSUPPORTED, "%" PRId64 " steps, must be 1 to %d", c->n_step, MAX_STEPS);
  int64_t state[3] = {c->n_direction, c->n_batch, c->hidden};
  if (c->is_batch_first) {
    state[0] = c->n_batch;
    state[1] = c->n_direction;
  }
  SEER_TRY(check_shape(c, W_IN, (int64_t[]){c->n_direction, rows, n_input}, 3));
  SEER_TRY(check_shape(c, R_IN, (int64_t[]){c->n_direction, rows, c->hidden}, 3));
  SEER_TRY(check_shape(c, B_IN, (int64_t[]){c->n_direction, 2 * rows}, 2));
  SEER_TRY(check_shape(c, LENGTHS_IN, &c->n_batch, 1));
  SEER_TRY(check_shape(c, H_IN, state, 3));
  SEER_TRY(check_shape(c, C_IN, state, 3));
  SEER_TRY(check_shape(c, P_IN, (int64_t[]){c->n_direction, 3 * c->hidden}, 2));
  c->x = e->node.in[X_IN];
  if (c->is_batch_first) {
    seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){1, 0, 2}, 3);
    c->x = seer_expand_add(e, "Transpose", &c->x, 1, &perm, 1);
  }
  return SEER_OK;
}

// Slice [from, to) of the second axis of operand k, for one direction, without that axis.
static seer_val part_of(cells *c, uint32_t k, int64_t d, int64_t from, int64_t to) {
  const int64_t first = 0;
  seer_val one = seer_expand_slice(c->e, c->e->node.in[k], 0, d, d + 1);
  one = seer_expand_2(c->e, "Squeeze", one, seer_expand_ints(c->e, &first, 1));
  return seer_expand_slice(c->e, one, 0, from, to);
}

// The weights of gates [from, to), transposed: [columns, (to - from) * hidden].
static seer_val weights_of(cells *c, uint32_t k, int64_t d, int64_t from, int64_t to) {
  seer_val w = part_of(c, k, d, from * c->hidden, to * c->hidden);
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){1, 0}, 2);
  return seer_expand_add(c->e, "Transpose", &w, 1, &perm, 1);
}

// Bias of gates [from, to): of the input's half, or the hidden state's.
static seer_val bias_of(cells *c, int64_t d, bool is_hidden, int64_t from, int64_t to) {
  int64_t base = is_hidden ? c->n_gate * c->hidden : 0;
  return part_of(c, B_IN, d, base + from * c->hidden, base + to * c->hidden);
}

static seer_status initial(cells *c, uint32_t k, int64_t d, seer_val *out_state) {
  seer_expand *e = c->e;
  if (!seer_expand_has_in(e, k)) {
    double *zeros = NULL;
    SEER_TRY(seer_expand_table(e, c->n_batch, c->hidden, &zeros));
    *out_state = seer_expand_tensor(e, c->dtype, (int64_t[]){c->n_batch, c->hidden}, 2, zeros);
    return SEER_OK;
  }
  const int64_t axis = c->is_batch_first ? 1 : 0;
  seer_val one = seer_expand_slice(e, e->node.in[k], axis, d, d + 1);
  *out_state = seer_expand_2(e, "Squeeze", one, seer_expand_ints(e, &axis, 1));
  return SEER_OK;
}

// Gate g of a row of gates [batch, n * hidden].
static seer_val gate(cells *c, seer_val gates, int64_t g) {
  return seer_expand_slice(c->e, gates, 1, g * c->hidden, (g + 1) * c->hidden);
}

// ---- steps

// One direction's state and results.
typedef struct {
  int64_t d;
  seer_val w, r, r_hidden, b_hidden, lengths;  // r: of all gates, or GRU's first two
  seer_val h, c;
  seer_val peephole[3];  // of LSTM: input, output, forget
  seer_val y;  // of the step that was made last
  seer_val all;  // of all steps
} run;

// What the input gives to all gates of all steps [steps, batch, gates * hidden], with the biases
// that can be added there: `n_shared` gates get the hidden state's bias, too.
static seer_val input_part(cells *c, int64_t d, uint32_t n_shared) {
  seer_val all = seer_expand_2(c->e, "MatMul", c->x, weights_of(c, W_IN, d, 0, c->n_gate));
  if (!seer_expand_has_in(c->e, B_IN)) return all;
  seer_val bias = bias_of(c, d, false, 0, c->n_gate);
  if (n_shared == c->n_gate) {
    bias = seer_expand_2(c->e, "Add", bias, bias_of(c, d, true, 0, c->n_gate));
  } else if (n_shared > 0) {
    seer_val part[2] = {seer_expand_slice(c->e, bias, 0, 0, n_shared * c->hidden),
        seer_expand_slice(c->e, bias, 0, n_shared * c->hidden, c->n_gate * c->hidden)};
    part[0] = seer_expand_2(c->e, "Add", part[0], bias_of(c, d, true, 0, n_shared));
    bias = seer_expand_concat(c->e, part, 2, 0);
  }
  return seer_expand_2(c->e, "Add", all, bias);
}

static seer_val input_of_step(cells *c, seer_val all, int64_t t) {
  const int64_t axis = 0;
  seer_val one = seer_expand_slice(c->e, all, 0, t, t + 1);
  return seer_expand_2(c->e, "Squeeze", one, seer_expand_ints(c->e, &axis, 1));
}

// The initial state, but 0 where the sequence has no steps: then that is what is left of it, as in
// ONNX Runtime.
static seer_val of_begun(cells *c, const run *r, seer_val state) {
  seer_expand *e = c->e;
  const int64_t axis = 1;
  seer_val none = seer_expand_scalar(e, seer_graph_value(e->graph, r->lengths)->dtype, 0);
  seer_val begins = seer_expand_2(e, "Less", none, r->lengths);
  begins = seer_expand_2(e, "Unsqueeze", begins, seer_expand_ints(e, &axis, 1));
  return seer_expand_3(e, "Where", begins, state, seer_expand_scalar(e, c->dtype, 0));
}

// A sequence that has ended keeps its state, and its output is zero.
static void end_of_sequence(cells *c, run *r, seer_val t, seer_val h, seer_val state) {
  seer_expand *e = c->e;
  r->y = h;
  if (r->lengths.i) {
    const int64_t axis = 1;
    seer_val at = seer_expand_cast(e, t, seer_graph_value(e->graph, r->lengths)->dtype);
    seer_val runs = seer_expand_2(e, "Less", at, r->lengths);
    runs = seer_expand_2(e, "Unsqueeze", runs, seer_expand_ints(e, &axis, 1));
    r->y = seer_expand_3(e, "Where", runs, h, seer_expand_scalar(e, c->dtype, 0));
    h = seer_expand_3(e, "Where", runs, h, r->h);
    if (state.i) state = seer_expand_3(e, "Where", runs, state, r->c);
  }
  r->h = h;
  r->c = state;
}

static seer_status rnn_step(cells *c, run *r, seer_val t, seer_val x) {
  seer_val h, sum = seer_expand_2(c->e, "Add", x, seer_expand_2(c->e, "MatMul", r->h, r->r));
  SEER_TRY(activate(c, (uint32_t)r->d, "Tanh", clipped(c, sum), &h));
  end_of_sequence(c, r, t, h, (seer_val){0});
  return SEER_OK;
}

// Gates: update, reset, hidden.
static seer_status gru_step(cells *c, run *r, seer_val t, seer_val x) {
  seer_expand *e = c->e;
  seer_val z, reset, n;
  uint32_t act = (uint32_t)r->d * c->n_activation;
  seer_val both = seer_expand_2(e, "MatMul", r->h, r->r);
  seer_val xs = seer_expand_slice(e, x, 1, 0, 2 * c->hidden);
  seer_val gates;
  SEER_TRY(activate(c, act, "Sigmoid", clipped(c, seer_expand_2(e, "Add", xs, both)), &gates));
  z = gate(c, gates, 0);
  reset = gate(c, gates, 1);
  bool is_after = seer_node_attr_i(&e->node, "linear_before_reset", 0) != 0;
  seer_val from = is_after ? r->h : seer_expand_2(e, "Mul", reset, r->h);
  seer_val recur = seer_expand_2(e, "MatMul", from, r->r_hidden);
  if (r->b_hidden.i) recur = seer_expand_2(e, "Add", recur, r->b_hidden);
  if (is_after) recur = seer_expand_2(e, "Mul", reset, recur);
  seer_val sum = seer_expand_2(e, "Add", gate(c, x, 2), recur);
  SEER_TRY(activate(c, act + 1, "Tanh", clipped(c, sum), &n));
  // (1 - z) n + z h
  seer_val rest = seer_expand_2(e, "Sub", seer_expand_scalar(e, c->dtype, 1), z);
  seer_val h =
      seer_expand_2(e, "Add", seer_expand_2(e, "Mul", rest, n), seer_expand_2(e, "Mul", z, r->h));
  end_of_sequence(c, r, t, h, (seer_val){0});
  return SEER_OK;
}

static seer_val peep(cells *c, seer_val x, seer_val weight, seer_val state) {
  if (!weight.i) return x;
  return seer_expand_2(c->e, "Add", x, seer_expand_2(c->e, "Mul", weight, state));
}

// Gates: input, output, forget, cell.
static seer_status lstm_step(cells *c, run *r, seer_val t, seer_val x) {
  seer_expand *e = c->e;
  uint32_t act = (uint32_t)r->d * c->n_activation;
  seer_val gates = seer_expand_2(e, "Add", x, seer_expand_2(e, "MatMul", r->h, r->r));
  seer_val i, f, o, n, squashed;
  SEER_TRY(activate(
      c, act, "Sigmoid", clipped(c, peep(c, gate(c, gates, 0), r->peephole[0], r->c)), &i));
  if (seer_node_attr_i(&e->node, "input_forget", 0) != 0) {
    f = seer_expand_2(e, "Sub", seer_expand_scalar(e, c->dtype, 1), i);
  } else {
    SEER_TRY(activate(
        c, act, "Sigmoid", clipped(c, peep(c, gate(c, gates, 2), r->peephole[2], r->c)), &f));
  }
  SEER_TRY(activate(c, act + 1, "Tanh", clipped(c, gate(c, gates, 3)), &n));
  seer_val state =
      seer_expand_2(e, "Add", seer_expand_2(e, "Mul", f, r->c), seer_expand_2(e, "Mul", i, n));
  SEER_TRY(activate(
      c, act, "Sigmoid", clipped(c, peep(c, gate(c, gates, 1), r->peephole[1], state)), &o));
  SEER_TRY(activate(c, act + 2, "Tanh", state, &squashed));
  end_of_sequence(c, r, t, seer_expand_2(e, "Mul", o, squashed), state);
  return SEER_OK;
}

typedef seer_status (*step)(cells *c, run *r, seer_val t, seer_val x);

// Outputs [steps, directions, batch, hidden] and the last states [directions, batch, hidden].
static void give_outputs(cells *c, const run *runs) {
  seer_expand *e = c->e;
  const int64_t axis = c->is_batch_first ? 2 : 1, state_axis = c->is_batch_first ? 1 : 0;
  uint32_t n = (uint32_t)c->n_direction;
  seer_val all[2], h[2], state[2];
  for (uint32_t d = 0; d < n; d++) {
    if (seer_expand_wants(e, 0))
      all[d] = seer_expand_2(e, "Unsqueeze", runs[d].all, seer_expand_ints(e, &axis, 1));
    h[d] = seer_expand_2(e, "Unsqueeze", runs[d].h, seer_expand_ints(e, &state_axis, 1));
    if (runs[d].c.i)
      state[d] = seer_expand_2(e, "Unsqueeze", runs[d].c, seer_expand_ints(e, &state_axis, 1));
  }
  if (seer_expand_wants(e, 0)) seer_expand_output(e, 0, seer_expand_concat(e, all, n, axis));
  if (seer_expand_wants(e, 1)) seer_expand_output(e, 1, seer_expand_concat(e, h, n, state_axis));
  if (seer_expand_wants(e, 2))
    seer_expand_output(e, 2, seer_expand_concat(e, state, n, state_axis));
}

// All steps, one after another, each with nodes of its own.
static seer_status unroll(cells *c, run *r, seer_val x, bool is_reverse, step one) {
  seer_expand *e = c->e;
  const int64_t axis = c->is_batch_first ? 1 : 0;
  bool wants_all = seer_expand_wants(e, 0);
  seer_val *by_step = SEER_NEW_ARRAY(e->scratch, seer_val, c->n_step);
  for (int64_t k = 0; k < c->n_step; k++) {
    int64_t t = is_reverse ? c->n_step - 1 - k : k;
    seer_val at = seer_expand_scalar(e, SEER_DTYPE_I64, (double)t);
    SEER_TRY(one(c, r, at, input_of_step(c, x, t)));
    if (wants_all) by_step[t] = seer_expand_2(e, "Unsqueeze", r->y, seer_expand_ints(e, &axis, 1));
  }
  if (wants_all) r->all = seer_expand_concat(e, by_step, (uint32_t)c->n_step, axis);
  return SEER_OK;
}

// The rows of all steps, in the order in which the loop made them [steps, batch, hidden] -> as
// `layout` wants them.
static seer_val rows_in_order(cells *c, seer_val rows, bool is_reverse) {
  seer_expand *e = c->e;
  seer_expand_inner(e, "AtBound", &rows, 1, NULL, 0, &rows, 1);  // it runs as often as it may
  if (is_reverse) rows = seer_expand_reversed(e, rows, 0);
  if (!c->is_batch_first) return rows;
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){1, 0, 2}, 3);
  return seer_expand_add(e, "Transpose", &rows, 1, &perm, 1);
}

// One step, as the body of a loop that has the states as its values.
static seer_status keep_loop(cells *c, run *r, seer_val x, bool is_reverse, step one) {
  seer_expand *e = c->e;
  bool wants_all = seer_expand_wants(e, 0);
  uint32_t n_carried = r->c.i ? 2 : 1, n = 0;
  seer_val trip = seer_expand_scalar(e, SEER_DTYPE_I64, (double)c->n_step);
  seer_val before[4] = {trip, {0}, r->h, r->c}, begin[4], out[4], in[5];
  seer_expand_inner(e, "LoopBegin", before, 2 + n_carried, NULL, 0, begin, 2 + n_carried);
  seer_val t = begin[0];
  r->h = begin[2];
  if (n_carried == 2) r->c = begin[3];
  if (is_reverse)
    t = seer_expand_2(
        e, "Sub", seer_expand_scalar(e, SEER_DTYPE_I64, (double)(c->n_step - 1)), begin[0]);
  SEER_TRY(one(c, r, t, seer_expand_2i(e, "Gather", x, t, "axis", 0)));
  in[n++] = seer_expand_scalar(e, SEER_DTYPE_BOOL, 1);
  in[n++] = r->h;
  if (n_carried == 2) in[n++] = r->c;
  if (wants_all) in[n++] = r->y;
  in[n++] = begin[0];
  const seer_attr attrs[2] = {
      seer_expand_int("n_carried", n_carried), seer_expand_int("bound", c->n_step)};
  seer_expand_inner(e, "LoopEnd", in, n, attrs, 2, out, n - 1);
  SEER_TRY(e->resolve(e));
  r->h = out[0];
  if (n_carried == 2) r->c = out[1];
  if (wants_all) r->all = rows_in_order(c, out[n_carried], is_reverse);
  return SEER_OK;
}

// `n_shared`: gates whose two biases are simply added; `n_r`: gates of one product with the state.
static seer_status run_all(cells *c, uint32_t n_shared, uint32_t n_r, bool has_state, step one) {
  seer_expand *e = c->e;
  run runs[2] = {0};
  for (int64_t d = 0; d < c->n_direction; d++) {
    run *r = &runs[d];
    bool is_reverse =
        d == 1 || strcmp(seer_node_attr_s(&e->node, "direction", "forward"), "reverse") == 0;
    seer_val x = input_part(c, d, n_shared);
    *r = (run){.d = d, .r = weights_of(c, R_IN, d, 0, n_r)};
    SEER_TRY(initial(c, H_IN, d, &r->h));
    if (has_state) SEER_TRY(initial(c, C_IN, d, &r->c));
    if (n_r < c->n_gate) r->r_hidden = weights_of(c, R_IN, d, n_r, c->n_gate);
    if (n_shared < c->n_gate && seer_expand_has_in(e, B_IN))
      r->b_hidden = bias_of(c, d, true, n_shared, c->n_gate);
    if (seer_expand_has_in(e, LENGTHS_IN)) {
      r->lengths = e->node.in[LENGTHS_IN];
      r->h = of_begun(c, r, r->h);
      if (has_state) r->c = of_begun(c, r, r->c);
    }
    for (uint32_t k = 0; k < 3 && seer_expand_has_in(e, P_IN); k++)
      r->peephole[k] = part_of(c, P_IN, d, k * c->hidden, (k + 1) * c->hidden);
    bool is_long = c->n_step > MAX_UNROLLED && c->n_batch > 0 && c->hidden > 0;
    SEER_TRY(is_long ? keep_loop(c, r, x, is_reverse, one) : unroll(c, r, x, is_reverse, one));
  }
  give_outputs(c, runs);
  return SEER_OK;
}

static seer_status expand_rnn(seer_expand *e) {
  cells c;
  SEER_TRY(start(e, 1, 1, &c));
  return run_all(&c, 1, 1, false, rnn_step);
}

static seer_status expand_gru(seer_expand *e) {
  cells c;
  SEER_TRY(start(e, 3, 2, &c));
  return run_all(&c, 2, 2, false, gru_step);
}

static seer_status expand_lstm(seer_expand *e) {
  cells c;
  SEER_TRY(start(e, 4, 3, &c));
  return run_all(&c, 4, 4, true, lstm_step);
}

#define RECURRENT(id, onnx, in_max, out_max, attributes)                                           \
  SEER_COMPOSITE(id, "", onnx, 7, SEER_OPSET_NEWEST, 3, in_max, 0, out_max,                        \
      "activation_alpha activation_beta activations clip direction hidden_size layout" attributes, \
      expand_##id, "all directions and layouts; up to 64 steps are unrolled, more are a loop",     \
      .computes = true)

RECURRENT(rnn, "RNN", 6, 2, "")
RECURRENT(gru, "GRU", 6, 2, " linear_before_reset")
RECURRENT(lstm, "LSTM", 8, 3, " input_forget")
