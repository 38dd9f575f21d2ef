// eval.c - the interpreter of loop IR: the same scalar operators as the interpreter of the DAG, in
// the order that the loops say. Contents of LOCAL buffers are NaN (or a pattern) at their ALLOC, so
// that reading what was never written shows. Accesses are checked against the buffers' extents:
// outside is INVALID, not undefined.
#include <math.h>
#include <string.h>

#include "dag/scalar.h"
#include "space/items/items.h"
#include "space/items/shadow.h"

typedef struct {
  const seer_loop *loop;
  void **data;  // by buffer
  int64_t *var;
  seer_rng *shuffle;  // NULL: parts and items in order
  // Of a block program; NULL in a phase that is none.
  seer_shadow *shadow;  // by buffer
  uint32_t *order;  // of items
  int64_t n_items;  // of a block
  uint64_t epoch;
  uint32_t block, item;
  seer_status status;
} machine;

// An access of a block program's item.
static void watch(machine *m, uint32_t buf, int64_t offset, bool is_write) {
  seer_shadow *shadow = &m->shadow[buf];
  if (shadow->n == 0) return;
  uint32_t other;
  seer_shadow_verdict verdict = seer_shadow_touch(shadow, is_write, (uint64_t)offset,
      m->block * (uint32_t)m->n_items, m->item, m->epoch, &other);
  if (verdict == SEER_SHADOW_FINE || m->status) return;
  m->status = SEER_FAIL(INVALID, "loop %s: block %u: item %u %s element %" PRId64 " of $%s, and %s",
      m->loop->name, m->block, m->item, is_write ? "writes" : "reads", offset,
      m->loop->buf[buf].name, seer_shadow_verdict_text(verdict));
}

static seer_scalar eval(machine *m, seer_expr e);

// An I64 expression: most of the work of an interpreter of loops is indices.
static int64_t eval_index(machine *m, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&m->loop->expr, e);
  if (node->op == SEER_EXPR_CONST_I) return node->value.i;
  if (node->op == SEER_EXPR_VAR) return m->var[node->ref];
  bool is_plain = node->op == SEER_EXPR_ADD || node->op == SEER_EXPR_MUL;
  if (!is_plain) return eval(m, e).i;
  uint64_t a = (uint64_t)eval_index(m, node->arg[0]), b = (uint64_t)eval_index(m, node->arg[1]);
  return (int64_t)(node->op == SEER_EXPR_ADD ? a + b : a * b);  // wraps
}

// Flat offset of the indices `index`; false (and a status) when one is out of bounds.
static bool offset_of(
    machine *m, uint32_t buf, const seer_expr *index, const char *what, int64_t *out) {
  const seer_loop_buf *b = &m->loop->buf[buf];
  int64_t offset = 0;
  for (uint32_t k = 0; k < b->rank; k++) {
    int64_t at = eval_index(m, index[k]);
    if (at < 0 || at >= b->dim[k]) {
      if (!m->status) {
        m->status = SEER_FAIL(INVALID,
            "loop %s: %s $%s: index %u is %" PRId64 ", must be in [0, %" PRId64 ")", m->loop->name,
            what, b->name, k, at, b->dim[k]);
      }
      return false;
    }
    offset += at * b->stride[k];
  }
  if (!m->data[buf]) {
    if (!m->status)
      m->status = SEER_FAIL(INVALID, "loop %s: %s $%s: no data", m->loop->name, what, b->name);
    return false;
  }
  *out = offset;
  return true;
}

static seer_scalar eval_load(machine *m, const seer_expr_node *node) {
  seer_scalar zero = {.i = 0};
  if (node->arg[0].i != 0 && !eval(m, node->arg[0]).i) return eval(m, node->arg[1]);
  int64_t offset;
  if (!offset_of(m, node->ref, &m->loop->expr.index[node->index0], "load of", &offset)) return zero;
  if (m->shadow) watch(m, node->ref, offset, false);
  return seer_scalar_load((seer_dtype)node->dtype, m->data[node->ref], offset);
}

static seer_scalar eval(machine *m, seer_expr e) {
  const seer_expr_pool *pool = &m->loop->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  seer_scalar v = {.i = 0};
  if (op == SEER_EXPR_CONST_F) {
    v.f = node->value.f;
    return v;
  }
  if (op == SEER_EXPR_CONST_I) {
    v.i = node->value.i;
    return v;
  }
  if (op == SEER_EXPR_VAR) {
    v.i = m->var[node->ref];
    return v;
  }
  if (op == SEER_EXPR_LOAD) return eval_load(m, node);
  if (op == SEER_EXPR_SELECT) return eval(m, eval(m, node->arg[0]).i ? node->arg[1] : node->arg[2]);
  if (node->dtype == SEER_DTYPE_I64 && (op == SEER_EXPR_ADD || op == SEER_EXPR_MUL)) {
    v.i = eval_index(m, e);
    return v;
  }
  seer_dtype arg_dtype = (seer_dtype)seer_expr_at(pool, node->arg[0])->dtype;
  if (arg_dtype == SEER_DTYPE_I64 && (op == SEER_EXPR_LT || op == SEER_EXPR_GE)) {
    bool is_less = eval_index(m, node->arg[0]) < eval_index(m, node->arg[1]);
    v.i = is_less == (op == SEER_EXPR_LT);
    return v;
  }
  if (op == SEER_EXPR_AND && arg_dtype == SEER_DTYPE_BOOL) {
    v.i = eval(m, node->arg[0]).i && eval(m, node->arg[1]).i;
    return v;
  }
  seer_scalar a = eval(m, node->arg[0]), b = v;
  if (seer_expr_arity(op) > 1) b = eval(m, node->arg[1]);
  return seer_scalar_apply(op, (seer_dtype)node->dtype, arg_dtype, a, b, v);
}

static void poison(const seer_loop_buf *buf, void *data) {
  if (seer_dtype_is_float(buf->dtype)) {
    for (int64_t k = 0; k < buf->n_elems; k++)
      seer_dtype_store_f64(buf->dtype, data, k, (double)NAN);
  } else {
    memset(data, 0xA5, (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype));
  }
}

static void store(machine *m, const seer_loop_node *node) {
  seer_scalar value[SEER_DAG_MAX_VALUES], acc[SEER_DAG_MAX_VALUES];
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
  int64_t offset[SEER_DAG_MAX_VALUES];
  for (uint32_t k = 0; k < node->n_values; k++) {
    value[k] = eval(m, node->value[k]);
    dtype[k] = m->loop->buf[node->buf[k]].dtype;
    if (!offset_of(m, node->buf[k], node->index, "store to", &offset[k])) return;
    if (node->combiner == SEER_COMBINE_NONE) continue;
    if (m->shadow) watch(m, node->buf[k], offset[k], false);
    acc[k] = seer_scalar_load(dtype[k], m->data[node->buf[k]], offset[k]);
  }
  if (node->combiner != SEER_COMBINE_NONE) {
    seer_combiner_apply(node->combiner, dtype, node->n_values, acc, value);
    memcpy(value, acc, sizeof(value));
  }
  for (uint32_t k = 0; k < node->n_values; k++) {
    if (m->shadow) watch(m, node->buf[k], offset[k], true);
    seer_scalar_store(dtype[k], m->data[node->buf[k]], offset[k], value[k]);
  }
}

static void run_block(machine *m, uint32_t id);

// Each item through the whole nest: there is no barrier in it.
static void run_items(machine *m, uint32_t id) {
  seer_items items = seer_items_of(m->loop, id);
  for (int64_t k = 0; k < items.n_items; k++) m->order[k] = (uint32_t)k;
  if (m->shuffle) seer_rng_shuffle_u32(m->shuffle, m->order, (size_t)items.n_items);
  for (int64_t k = 0; k < items.n_items && !m->status; k++) {
    bool runs = true;
    m->item = m->order[k];
    seer_items_place(m->loop, &items, m->item, m->var);
    for (uint32_t l = 0; l < items.n && runs; l++) {
      const seer_loop_node *node = &m->loop->node[items.loop[l]];
      runs = node->bound.i == 0 || m->var[node->var] < eval(m, node->bound).i;
    }
    if (runs) run_block(m, items.body);
  }
}

static void run_block(machine *m, uint32_t id) {
  for (; id != 0 && !m->status; id = m->loop->node[id].next) {
    const seer_loop_node *node = &m->loop->node[id];
    switch (node->kind) {
      case SEER_NODE_FOR: {
        if (node->ann == SEER_LOOP_THREAD) {
          run_items(m, id);
          break;
        }
        int64_t n = node->extent;
        if (node->bound.i != 0) n = seer_min_i64(n, eval(m, node->bound).i);
        for (int64_t i = 0; i < n && !m->status; i++) {
          m->var[node->var] = i;
          run_block(m, node->body);
        }
        break;
      }
      case SEER_NODE_LET:
        m->var[node->var] = eval(m, node->value[0]).i;
        break;
      case SEER_NODE_ALLOC:
        poison(&m->loop->buf[node->buf[0]], m->data[node->buf[0]]);
        if (m->shadow) seer_shadow_alloc(&m->shadow[node->buf[0]]);
        break;
      case SEER_NODE_BARRIER:
        m->epoch++;
        break;
      case SEER_NODE_STORE:
        store(m, node);
        break;
    }
  }
}

static void run_part(machine *m, uint32_t phase, int64_t part) {
  const seer_loop *loop = m->loop;
  m->block = (uint32_t)part;
  m->epoch++;
  int64_t rest = seer_loop_phase_parts(loop, phase);
  uint32_t id = loop->phase[phase];
  while (
      id != 0 && loop->node[id].kind == SEER_NODE_FOR && loop->node[id].ann == SEER_LOOP_PARALLEL) {
    const seer_loop_node *node = &loop->node[id];
    rest /= node->extent;
    int64_t i = part / rest;
    part %= rest;
    if (node->bound.i != 0 && i >= eval(m, node->bound).i) return;
    m->var[node->var] = i;
    id = node->body;
  }
  run_block(m, id);
}

static void watch_phase(machine *m, uint32_t phase, seer_arena *scratch) {
  m->shadow = NULL;
  m->n_items = seer_items_of_phase(m->loop, phase);
  if (m->n_items == 0) return;
  m->order = SEER_NEW_ARRAY(scratch, uint32_t, m->n_items);
  m->shadow = seer_shadow_of_program(m->loop, scratch);
}

seer_status seer_loop_eval(const seer_loop *loop, void *const *data, seer_rng *shuffle) {
  seer_arena *scratch = seer_arena_create("loop eval");
  machine m = {.loop = loop, .shuffle = shuffle};
  m.data = SEER_NEW_ARRAY(scratch, void *, loop->n_buf + 1);
  m.var = SEER_NEW_ARRAY(scratch, int64_t, loop->n_var + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    m.data[b] = data[b];
    if (!seer_loop_is_argument(loop->buf[b].storage)) {
      size_t n_bytes = (size_t)loop->buf[b].n_elems * seer_dtype_bytes(loop->buf[b].dtype);
      m.data[b] = seer_arena_alloc(scratch, n_bytes + 1, 16);
      poison(&loop->buf[b], m.data[b]);
    }
  }
  for (uint32_t phase = 0; phase < loop->n_phase && !m.status; phase++) {
    int64_t n_parts = seer_loop_phase_parts(loop, phase);
    uint32_t *order = SEER_NEW_ARRAY(scratch, uint32_t, n_parts);
    for (int64_t k = 0; k < n_parts; k++) order[k] = (uint32_t)k;
    if (shuffle) seer_rng_shuffle_u32(shuffle, order, (size_t)n_parts);
    watch_phase(&m, phase, scratch);
    for (int64_t k = 0; k < n_parts && !m.status; k++) run_part(&m, phase, order[k]);
  }
  seer_arena_destroy(scratch);
  return m.status;
}
