// linear_attention.c - LinearAttention: attention without a softmax, whose past is a matrix for
// each head (state, [batch, groups, d, value_d]) that every token changes and then reads:
//   state = decay * state + key (x) value        o = scale * query state
// where, by the rule, there is a decay or none, and value is v or beta * (v - key state): what the
// state does not yet give for this key. Few tokens are unrolled, many are a loop of the plan.
// Computed in f32, whatever the types: the state is a long sum.
#include <math.h>
#include <string.h>

#include "front/expand/expand.h"

enum { QUERY, KEY, VALUE, STATE, DECAY, BETA, N_INPUT };
enum { MAX_UNROLLED = 16, MAX_TOKENS = 1 << 20 };

typedef struct {
  int64_t batch, tokens, heads, groups, d, value_d;
  double scale;
  seer_dtype type, state_type;
  // By token, [tokens, batch, groups, rows, columns], f32: queries' heads of one group are rows;
  // keys, values and what is by key or by group for them. 0: none
  seer_val queries, keys, keys_as_rows, values, decay, beta;
} linear;

// ---- operands

static seer_status read_rule(const seer_expand *e) {
  static const struct {
    const char *name;
    bool has_decay, has_beta;
  } rules[] = {{"linear", false, false}, {"gated", true, false}, {"delta", false, true},
      {"gated_delta", true, true}};
  const char *name = seer_node_attr_s(&e->node, "update_rule", "gated_delta");
  for (size_t k = 0; k < SEER_COUNT_OF(rules); k++) {
    if (strcmp(name, rules[k].name) != 0) continue;
    bool has[2] = {seer_expand_has_in(e, DECAY), seer_expand_has_in(e, BETA)};
    if (has[0] == rules[k].has_decay && has[1] == rules[k].has_beta) return SEER_OK;
    return SEER_FAIL(INVALID,
        "attribute 'update_rule' is '%s', which needs %s decay (input %d, %s) and %s beta (input "
        "%d, %s)",
        name, rules[k].has_decay ? "a" : "no", DECAY, has[0] ? "given" : "absent",
        rules[k].has_beta ? "a" : "no", BETA, has[1] ? "given" : "absent");
  }
  return SEER_FAIL(INVALID,
      "attribute 'update_rule' is '%s', must be linear, gated, delta or gated_delta", name);
}

// Whether input k is [batch, tokens, width].
static bool is_rows(const seer_expand *e, const linear *l, uint32_t k, int64_t width) {
  const seer_value *x = seer_expand_in(e, k);
  return x->rank == 3 && x->dim[0] == l->batch && x->dim[1] == l->tokens && x->dim[2] == width;
}

static seer_status read_gates(const seer_expand *e, const linear *l) {
  const seer_value *decay = seer_expand_has_in(e, DECAY) ? seer_expand_in(e, DECAY) : NULL,
                   *beta = seer_expand_has_in(e, BETA) ? seer_expand_in(e, BETA) : NULL;
  if (decay && !is_rows(e, l, DECAY, l->groups) && !is_rows(e, l, DECAY, l->groups * l->d))
    return SEER_FAIL(INVALID,
        "input %d (decay) is %s, must be [%" PRId64 ",%" PRId64 ",%" PRId64 " or %" PRId64 "]",
        DECAY, seer_op_shape_text(decay, e->scratch), l->batch, l->tokens, l->groups,
        l->groups * l->d);
  if (beta && !is_rows(e, l, BETA, l->groups) && !is_rows(e, l, BETA, 1))
    return SEER_FAIL(INVALID,
        "input %d (beta) is %s, must be [%" PRId64 ",%" PRId64 ",%" PRId64 " or 1]", BETA,
        seer_op_shape_text(beta, e->scratch), l->batch, l->tokens, l->groups);
  if (!seer_expand_has_in(e, STATE)) return SEER_OK;
  const seer_value *state = seer_expand_in(e, STATE);
  SEER_TRY(seer_op_want_float(state, STATE));
  bool fits = state->rank == 4 && state->dim[0] == l->batch && state->dim[1] == l->groups &&
      state->dim[2] == l->d && state->dim[3] == l->value_d;
  if (fits) return SEER_OK;
  return SEER_FAIL(INVALID,
      "input %d (past_state) is %s, must be [%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
      STATE, seer_op_shape_text(state, e->scratch), l->batch, l->groups, l->d, l->value_d);
}

static seer_status read_linear(const seer_expand *e, linear *l) {
  const seer_value *q = seer_expand_in(e, QUERY), *k = seer_expand_in(e, KEY),
                   *v = seer_expand_in(e, VALUE);
  int64_t heads = seer_node_attr_i(&e->node, "q_num_heads", 0),
          groups = seer_node_attr_i(&e->node, "kv_num_heads", 0);
  SEER_TRY(seer_op_want_float(q, QUERY));
  bool fits = q->rank == 3 && v->rank == 3 && heads > 0 && groups > 0 && heads % groups == 0 &&
      q->dim[2] % heads == 0 && v->dim[2] % groups == 0 && q->dim[2] > 0;
  if (fits) {
    *l = (linear){.batch = q->dim[0],
        .tokens = q->dim[1],
        .heads = heads,
        .groups = groups,
        .d = q->dim[2] / heads,
        .value_d = v->dim[2] / groups,
        .type = q->dtype,
        .state_type = seer_expand_has_in(e, STATE) ? seer_expand_in(e, STATE)->dtype : q->dtype};
    fits = is_rows(e, l, KEY, groups * l->d) && is_rows(e, l, VALUE, groups * l->value_d) &&
        l->tokens > 0 && l->tokens <= MAX_TOKENS;
  }
  if (!fits)
    return SEER_FAIL(INVALID,
        "inputs 0, 1 and 2 are %s, %s and %s, with %" PRId64 " heads of queries and %" PRId64
        " of keys and values: must be [batch, tokens, heads * d], of 1 to %d tokens, and the heads "
        "of queries a multiple of the others",
        seer_op_shape_text(q, e->scratch), seer_op_shape_text(k, e->scratch),
        seer_op_shape_text(v, e->scratch), heads, groups, MAX_TOKENS);
  l->scale = seer_node_attr_f(&e->node, "scale", 0);
  if (l->scale == 0) l->scale = 1 / sqrt((double)l->d);
  SEER_TRY(read_rule(e));
  return read_gates(e, l);
}

// Input k [batch, tokens, groups * rows * columns] by token, [tokens, batch, groups, rows,
// columns], in f32; 0 where it is absent.
static seer_val by_token(
    seer_expand *e, const linear *l, uint32_t k, int64_t groups, int64_t rows, int64_t columns) {
  if (!seer_expand_has_in(e, k)) return (seer_val){0};
  const int64_t dim[5] = {l->batch, l->tokens, groups, rows, columns};
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){1, 0, 2, 3, 4}, 5);
  seer_val x = seer_expand_reshape(e, e->node.in[k], dim, 5);
  x = seer_expand_add(e, "Transpose", &x, 1, &perm, 1);
  return seer_expand_in(e, k)->dtype == SEER_DTYPE_F32 ? x : seer_expand_cast(e, x, SEER_DTYPE_F32);
}

static void arrange(seer_expand *e, linear *l) {
  l->queries = by_token(e, l, QUERY, l->groups, l->heads / l->groups, l->d);
  l->queries = seer_expand_2(e, "Mul", l->queries, seer_expand_scalar(e, SEER_DTYPE_F32, l->scale));
  l->keys = by_token(e, l, KEY, l->groups, l->d, 1);
  l->keys_as_rows = by_token(e, l, KEY, l->groups, 1, l->d);
  l->values = by_token(e, l, VALUE, l->groups, 1, l->value_d);
  if (seer_expand_has_in(e, DECAY)) {
    int64_t rows = seer_expand_in(e, DECAY)->dim[2] / l->groups;
    l->decay = seer_expand_1(e, "Exp", by_token(e, l, DECAY, l->groups, rows, 1));
  }
  if (seer_expand_has_in(e, BETA))
    l->beta = by_token(e, l, BETA, seer_expand_in(e, BETA)->dim[2], 1, 1);
}

// ---- tokens

static seer_val of_token(seer_expand *e, seer_val all, seer_val t) {
  return seer_expand_2i(e, "Gather", all, t, "axis", 0);
}

// Token t (i64, a scalar): *state, and what is read from it [batch, groups, heads / groups,
// value_d].
static seer_val step(seer_expand *e, const linear *l, seer_val t, seer_val *state) {
  seer_val value = of_token(e, l->values, t);
  if (l->decay.i) *state = seer_expand_2(e, "Mul", *state, of_token(e, l->decay, t));
  if (l->beta.i) {
    seer_val known = seer_expand_2(e, "MatMul", of_token(e, l->keys_as_rows, t), *state);
    value = seer_expand_2(e, "Mul", of_token(e, l->beta, t), seer_expand_2(e, "Sub", value, known));
  }
  *state = seer_expand_2(e, "Add", *state, seer_expand_2(e, "Mul", of_token(e, l->keys, t), value));
  return seer_expand_2(e, "MatMul", of_token(e, l->queries, t), *state);
}

// [tokens, batch, groups, heads / groups, value_d]
static seer_val unroll(seer_expand *e, const linear *l, seer_val *state) {
  const int64_t axis = 0;
  seer_val *row = SEER_NEW_ARRAY(e->scratch, seer_val, l->tokens);
  for (int64_t t = 0; t < l->tokens; t++) {
    row[t] = step(e, l, seer_expand_scalar(e, SEER_DTYPE_I64, (double)t), state);
    row[t] = seer_expand_2(e, "Unsqueeze", row[t], seer_expand_ints(e, &axis, 1));
  }
  return seer_expand_concat(e, row, (uint32_t)l->tokens, 0);
}

static seer_val keep_loop(seer_expand *e, const linear *l, seer_val *state) {
  seer_val trip = seer_expand_scalar(e, SEER_DTYPE_I64, (double)l->tokens), begin[3], out[3];
  const seer_val before[3] = {trip, {0}, *state};
  seer_expand_inner(e, "LoopBegin", before, 3, NULL, 0, begin, 3);
  *state = begin[2];
  seer_val row = step(e, l, begin[0], state);
  const seer_val in[4] = {seer_expand_scalar(e, SEER_DTYPE_BOOL, 1), *state, row, begin[0]};
  const seer_attr attrs[2] = {seer_expand_int("n_carried", 1), seer_expand_int("bound", l->tokens)};
  seer_expand_inner(e, "LoopEnd", in, 4, attrs, 2, out, 3);
  *state = out[0];
  seer_expand_inner(e, "AtBound", &out[1], 1, NULL, 0, &row, 1);  // it runs as often as it may
  return row;
}

static seer_status expand_linear_attention(seer_expand *e) {
  linear l;
  SEER_TRY(read_linear(e, &l));
  arrange(e, &l);
  const int64_t dim[4] = {l.batch, l.groups, l.d, l.value_d},
                out[3] = {l.batch, l.tokens, l.heads * l.value_d};
  seer_val state = seer_expand_2(
      e, "Expand", seer_expand_scalar(e, SEER_DTYPE_F32, 0), seer_expand_ints(e, dim, 4));
  if (seer_expand_has_in(e, STATE)) state = seer_expand_cast(e, e->node.in[STATE], SEER_DTYPE_F32);
  SEER_TRY(e->resolve(e));
  seer_val y = l.tokens > MAX_UNROLLED ? keep_loop(e, &l, &state) : unroll(e, &l, &state);
  seer_attr perm = seer_expand_ints_attr("perm", (int64_t[]){1, 0, 2, 3, 4}, 5);
  SEER_TRY(e->resolve(e));
  y = seer_expand_reshape(e, seer_expand_add(e, "Transpose", &y, 1, &perm, 1), out, 3);
  seer_expand_output(e, 0, seer_expand_cast(e, y, l.type));
  seer_expand_output(e, 1, seer_expand_cast(e, state, l.state_type));
  return SEER_OK;
}
SEER_COMPOSITE(linear_attention, "", "LinearAttention", 27, SEER_OPSET_NEWEST, 3, 6, 1, 2,
    "chunk_size kv_num_heads q_num_heads scale update_rule", expand_linear_attention,
    "all rules; up to 16 tokens are unrolled, more are a loop")
