// verify.c - judges loop IR: its form (names in scope, annotations in their places, types) and, by
// the prover of linear.h, that every access lies inside its buffer on every iteration that reaches
// it. What items of a block program do to each other is items/judge.c's.
#include <string.h>

#include "space/items/items.h"
#include "space/loop/internal.h"
#include "space/loop/linear.h"

// Where a block of nodes is.
typedef enum {
  IN_GRID,  // the whole body of the chain of PARALLEL loops so far
  IN_PART,  // of a phase without items
  IN_BLOCK,  // of a block program, outside of nests: what all items do alike
  IN_THREAD,  // the body of a THREAD loop
  IN_ITEM  // further inside of one
} place;

typedef struct {
  const seer_loop *loop;
  seer_arena *scratch;
  bool has_items;  // the phase is a block program
  uint32_t *def, *depth;  // by variable, as the prover wants them
  uint32_t n_scope;  // variables in scope
  bool *node_seen, *var_defined, *buf_live;
  uint32_t vector_depth;  // > 0 inside a VECTOR loop
  bool *expr_checked;  // by expression: form is known to be right in the current scope
  seer_prover prover;
  const char *where;  // buffer name of the statement in hand, for messages
} verifier;

static const char *text(const verifier *v, seer_expr e) {
  return seer_loop_expr_print(v->loop, e, v->scratch);
}

static seer_status check_bufs(const seer_loop *loop) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->rank > SEER_MAX_RANK) {
      return SEER_FAIL(INVALID, "$%s: rank %u, allowed %d", buf->name, buf->rank, SEER_MAX_RANK);
    }
    int64_t last = 0, inner = 1;
    for (uint32_t k = buf->rank; k-- > 0;) {
      if (buf->dim[k] <= 0) {
        return SEER_FAIL(INVALID, "$%s: dimension %u is %" PRId64 ", must be positive", buf->name,
            k, buf->dim[k]);
      }
      if (buf->stride[k] < inner) {
        return SEER_FAIL(INVALID, "$%s: stride %u is %" PRId64 ", must be at least %" PRId64,
            buf->name, k, buf->stride[k], inner);
      }
      int64_t span;
      if (__builtin_mul_overflow(buf->dim[k], buf->stride[k], &inner) ||
          inner > ((int64_t)1 << 56)) {
        return SEER_FAIL(INVALID, "$%s: too large", buf->name);
      }
      span = (buf->dim[k] - 1) * buf->stride[k];
      last += span;
    }
    if (buf->n_elems <= last) {
      return SEER_FAIL(INVALID, "$%s: %" PRId64 " elements, its indices reach %" PRId64, buf->name,
          buf->n_elems, last);
    }
    if ((buf->storage == SEER_STORE_PACKED) != (buf->pack != NULL)) {
      return SEER_FAIL(INVALID, "$%s: packed buffers, and only they, have a pack", buf->name);
    }
    if (!buf->pack) continue;
    bool is_equal = buf->pack->n == buf->rank;
    for (uint32_t k = 0; is_equal && k < buf->rank; k++)
      is_equal = buf->pack->dim[k].extent == buf->dim[k];
    if (!is_equal || seer_pack_elems(buf->pack) != buf->n_elems) {
      return SEER_FAIL(INVALID, "$%s: its pack has another shape", buf->name);
    }
  }
  return SEER_OK;
}

// 0 <= e < dim on every iteration; the prover knows the place.
static seer_status check_index(
    verifier *v, uint32_t buf, uint32_t k, seer_expr e, const char *what) {
  const seer_loop_buf *b = &v->loop->buf[buf];
  seer_linear x, negated = {.constant = 0};
  bool is_form = seer_linear_from(&v->loop->expr, e, &x) && seer_linear_add(&negated, &x, -1);
  if (!is_form || !seer_prove_not_positive(&v->prover, &negated)) {
    return SEER_FAIL(
        INVALID, "%s $%s: index %u = %s may be negative", what, b->name, k, text(v, e));
  }
  x.constant -= b->dim[k] - 1;
  if (!seer_prove_not_positive(&v->prover, &x)) {
    return SEER_FAIL(INVALID, "%s $%s: index %u = %s may reach its extent %" PRId64, what, b->name,
        k, text(v, e), b->dim[k]);
  }
  return SEER_OK;
}

static seer_status check_indices(verifier *v, uint32_t buf, const seer_expr *index, uint32_t n,
    seer_expr predicate, const char *what) {
  const seer_loop_buf *b = &v->loop->buf[buf];
  if (n != b->rank)
    return SEER_FAIL(INVALID, "%s $%s: %u indices, rank %u", what, b->name, n, b->rank);
  if (!seer_loop_is_argument(b->storage) && !v->buf_live[buf]) {
    return SEER_FAIL(INVALID, "%s $%s: not allocated here", what, b->name);
  }
  v->prover.n_fact = v->prover.n_quotient = 0;
  seer_prover_assume(&v->prover, predicate);
  seer_prover_assume_loops(&v->prover);
  for (uint32_t k = 0; k < n; k++) SEER_TRY(check_index(v, buf, k, index[k], what));
  return SEER_OK;
}

static seer_status check_expr(verifier *v, seer_expr e, bool may_load) {
  const seer_expr_pool *pool = &v->loop->expr;
  if (e.i == 0 || e.i >= pool->n)
    return SEER_FAIL(INVALID, "%s: an expression is missing", v->where);
  if (v->expr_checked[e.i]) return SEER_OK;
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_VAR) {
    if (node->ref >= v->loop->n_var || v->depth[node->ref] == 0) {
      return SEER_FAIL(INVALID, "%s: variable @%s is not in scope", v->where,
          node->ref < v->loop->n_var ? v->loop->var[node->ref].name : "?");
    }
  } else if (op == SEER_EXPR_LOAD) {
    if (!may_load) return SEER_FAIL(INVALID, "%s: a load in a bound or let", v->where);
    if (node->ref >= v->loop->n_buf)
      return SEER_FAIL(INVALID, "%s: load of buffer %u", v->where, node->ref);
    if (v->loop->buf[node->ref].dtype != (seer_dtype)node->dtype) {
      return SEER_FAIL(INVALID, "%s: load of $%s as %s", v->where, v->loop->buf[node->ref].name,
          seer_dtype_name((seer_dtype)node->dtype));
    }
    for (uint32_t k = 0; k < node->n_index; k++)
      SEER_TRY(check_expr(v, pool->index[node->index0 + k], true));
    for (uint32_t k = 0; k < 2 && node->arg[0].i != 0; k++)
      SEER_TRY(check_expr(v, node->arg[k], true));
    SEER_TRY(check_indices(
        v, node->ref, &pool->index[node->index0], node->n_index, node->arg[0], "load of"));
  } else {
    for (uint32_t k = 0; k < seer_expr_arity(op); k++)
      SEER_TRY(check_expr(v, node->arg[k], may_load));
  }
  v->expr_checked[e.i] = true;
  return SEER_OK;
}

// Starts a fresh memory of checked expressions: what holds in one scope need not hold in the next.
static void forget(verifier *v) { memset(v->expr_checked, 0, v->loop->expr.n * sizeof(bool)); }

static seer_status check_int(verifier *v, seer_expr e, const char *what) {
  forget(v);
  SEER_TRY(check_expr(v, e, false));
  if (seer_expr_at(&v->loop->expr, e)->dtype == SEER_DTYPE_I64) return SEER_OK;
  return SEER_FAIL(INVALID, "%s: %s is not i64", v->where, what);
}

static seer_status define(verifier *v, uint32_t id) {
  const seer_loop_node *node = &v->loop->node[id];
  if (node->var >= v->loop->n_var)
    return SEER_FAIL(INVALID, "node %u defines variable %u", id, node->var);
  const seer_loop_var *var = &v->loop->var[node->var];
  if (v->var_defined[node->var])
    return SEER_FAIL(INVALID, "variable @%s is defined twice", var->name);
  v->where = var->name;
  v->var_defined[node->var] = true;
  if (node->kind == SEER_NODE_FOR) {
    if (node->extent <= 0) {
      return SEER_FAIL(
          INVALID, "@%s: extent %" PRId64 ", must be positive", var->name, node->extent);
    }
    if (var->low != 0 || var->high != node->extent - 1) {
      return SEER_FAIL(INVALID,
          "@%s: range [%" PRId64 ", %" PRId64 "] is not that of its extent %" PRId64, var->name,
          var->low, var->high, node->extent);
    }
    if (node->bound.i != 0) SEER_TRY(check_int(v, node->bound, "bound"));
  } else {
    SEER_TRY(check_int(v, node->value[0], "value"));
    seer_linear above, below = {.constant = 0};
    bool is_form = seer_linear_from(&v->loop->expr, node->value[0], &above) &&
        seer_linear_add(&below, &above, -1);
    above.constant -= var->high;
    below.constant += var->low;
    v->prover.n_fact = v->prover.n_quotient = 0;
    if (!is_form || !seer_prove_not_positive(&v->prover, &above) ||
        !seer_prove_not_positive(&v->prover, &below)) {
      return SEER_FAIL(INVALID, "let @%s: %s may leave [%" PRId64 ", %" PRId64 "]", var->name,
          text(v, node->value[0]), var->low, var->high);
    }
  }
  v->def[node->var] = id;
  v->depth[node->var] = ++v->n_scope;
  return SEER_OK;
}

static seer_status check_store(verifier *v, const seer_loop_node *node) {
  if (node->n_values == 0 || node->n_values > SEER_DAG_MAX_VALUES) {
    return SEER_FAIL(INVALID, "a store of %u values", node->n_values);
  }
  forget(v);
  for (uint32_t k = 0; k < node->n_values; k++) {
    if (node->buf[k] >= v->loop->n_buf)
      return SEER_FAIL(INVALID, "store to buffer %u", node->buf[k]);
    const seer_loop_buf *buf = &v->loop->buf[node->buf[k]];
    v->where = buf->name;
    if (buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED) {
      return SEER_FAIL(INVALID, "store to $%s, which is read only", buf->name);
    }
    SEER_TRY(check_expr(v, node->value[k], true));
    seer_dtype dtype = (seer_dtype)seer_expr_at(&v->loop->expr, node->value[k])->dtype;
    if (dtype != buf->dtype) {
      return SEER_FAIL(INVALID, "store of %s to $%s of %s", seer_dtype_name(dtype), buf->name,
          seer_dtype_name(buf->dtype));
    }
    for (uint32_t d = 0; d < node->n_index; d++) {
      SEER_TRY(check_expr(v, node->index[d], true));
      if (seer_expr_at(&v->loop->expr, node->index[d])->dtype != SEER_DTYPE_I64) {
        return SEER_FAIL(INVALID, "store to $%s: index %u is not i64", buf->name, d);
      }
    }
    SEER_TRY(
        check_indices(v, node->buf[k], node->index, node->n_index, (seer_expr){0}, "store to"));
  }
  bool is_pair = seer_combiner_is_arg(node->combiner);
  if (is_pair && node->n_values != 2)
    return SEER_FAIL(INVALID, "%s of %u values", v->where, node->n_values);
  if (node->is_init && node->combiner != SEER_COMBINE_NONE) {
    return SEER_FAIL(INVALID, "$%s: an init store combines", v->where);
  }
  return SEER_OK;
}

static seer_status check_block(verifier *v, uint32_t first, place where);

static bool is_of_item(place where) { return where == IN_THREAD || where == IN_ITEM; }

// That the FOR may stand there; *out_body: where its body is.
static seer_status check_annotation(
    const verifier *v, uint32_t id, place where, bool is_alone, place *out_body) {
  const seer_loop_node *node = &v->loop->node[id];
  const char *name = v->loop->var[node->var].name;
  place plain = v->has_items ? IN_BLOCK : IN_PART;
  *out_body = is_of_item(where) ? IN_ITEM : plain;
  if (node->ann == SEER_LOOP_PARALLEL) {
    *out_body = IN_GRID;
    if (where == IN_GRID && is_alone) return SEER_OK;
    return SEER_FAIL(INVALID, "@%s: parallel loops must be the outermost chain of a phase", name);
  }
  if (v->vector_depth > 0) return SEER_FAIL(INVALID, "@%s: a loop inside a vector loop", name);
  if (node->ann == SEER_LOOP_THREAD) {
    *out_body = IN_THREAD;
    bool is_further = where == IN_THREAD && is_alone;
    if (is_of_item(where) && !is_further) {
      return SEER_FAIL(INVALID,
          "@%s: a thread loop inside of a nest is the whole body of another thread loop", name);
    }
    if (is_further) return SEER_OK;
    seer_items items = seer_items_of(v->loop, id);
    int64_t n_items = items.n_items;
    const seer_loop_node *inside = &v->loop->node[items.body];
    if (items.body != 0 && inside->kind == SEER_NODE_FOR && inside->ann == SEER_LOOP_THREAD)
      return SEER_FAIL(INVALID, "@%s: a nest of more than %d thread loops", name, SEER_MAX_RANK);
    if (n_items <= SEER_ITEMS_MAX) return SEER_OK;
    return SEER_FAIL(
        INVALID, "@%s: a nest of %" PRId64 " items, allowed %d", name, n_items, SEER_ITEMS_MAX);
  }
  if (node->ann == SEER_LOOP_VECTOR && *out_body == IN_BLOCK) {
    return SEER_FAIL(INVALID, "@%s: a vector loop of a block program outside of its nests", name);
  }
  return SEER_OK;
}

static seer_status check_for(verifier *v, uint32_t id, place where, bool is_alone) {
  const seer_loop_node *node = &v->loop->node[id];
  place body;
  SEER_TRY(define(v, id));
  SEER_TRY(check_annotation(v, id, where, is_alone, &body));
  v->vector_depth += node->ann == SEER_LOOP_VECTOR;
  if (node->body == 0) return SEER_FAIL(INVALID, "@%s: empty body", v->loop->var[node->var].name);
  SEER_TRY(check_block(v, node->body, body));
  v->vector_depth -= node->ann == SEER_LOOP_VECTOR;
  v->depth[node->var] = 0;
  v->n_scope--;
  return SEER_OK;
}

static seer_status check_alloc(verifier *v, const seer_loop_node *node, place where) {
  const seer_loop_buf *buf = node->buf[0] < v->loop->n_buf ? &v->loop->buf[node->buf[0]] : NULL;
  bool is_block = buf && buf->storage != SEER_STORE_LOCAL;
  if (!buf || seer_loop_is_argument(buf->storage))
    return SEER_FAIL(INVALID, "alloc of a buffer that is an argument");
  if (v->buf_live[node->buf[0]]) return SEER_FAIL(INVALID, "$%s: allocated twice", buf->name);
  if (is_block && (!v->has_items || is_of_item(where)))
    return SEER_FAIL(INVALID,
        "$%s: what a block shares is allocated by it, outside of nests of items", buf->name);
  if (!is_block && v->has_items && !is_of_item(where))
    return SEER_FAIL(INVALID,
        "$%s: a local buffer of a block program is allocated in a nest of items", buf->name);
  v->buf_live[node->buf[0]] = true;
  return SEER_OK;
}

static seer_status check_node(verifier *v, uint32_t id, place where, bool is_alone) {
  const seer_loop_node *node = &v->loop->node[id];
  switch (node->kind) {
    case SEER_NODE_FOR:
      return check_for(v, id, where, is_alone);
    case SEER_NODE_LET:
      return define(v, id);
    case SEER_NODE_ALLOC:
      return check_alloc(v, node, where);
    case SEER_NODE_STORE:
      SEER_TRY(check_store(v, node));
      if (!v->has_items || is_of_item(where)) return SEER_OK;
      return SEER_FAIL(
          INVALID, "store to $%s outside of a nest of items: no item does it", v->where);
    case SEER_NODE_BARRIER:
      if (!v->has_items) return SEER_FAIL(INVALID, "a barrier in a phase without items");
      if (!is_of_item(where)) return SEER_OK;
      return SEER_FAIL(INVALID, "a barrier inside of a nest of items: not all come there");
  }
  return SEER_OK;
}

static seer_status check_block(verifier *v, uint32_t first, place where) {
  uint32_t scope_before = v->n_scope;
  for (uint32_t id = first; id != 0; id = v->loop->node[id].next) {
    if (id >= v->loop->n_node) return SEER_FAIL(INVALID, "node %u of %u", id, v->loop->n_node);
    if (v->node_seen[id]) return SEER_FAIL(INVALID, "node %u is in two places", id);
    v->node_seen[id] = true;
    SEER_TRY(check_node(v, id, where, id == first && v->loop->node[id].next == 0));
  }
  for (uint32_t id = first; id != 0;
       id = v->loop->node[id].next) {  // what the block defined ends here
    const seer_loop_node *node = &v->loop->node[id];
    if (node->kind == SEER_NODE_LET) v->depth[node->var] = 0;
    if (node->kind == SEER_NODE_ALLOC) v->buf_live[node->buf[0]] = false;
  }
  v->n_scope = scope_before;
  return SEER_OK;
}

static seer_status check_phase(verifier *v, uint32_t phase) {
  v->has_items = seer_items_of_phase(v->loop, phase) > 0;
  SEER_TRY(check_block(v, v->loop->phase[phase], IN_GRID));
  return v->has_items ? seer_items_judge(v->loop, phase) : SEER_OK;
}

seer_status seer_loop_verify(const seer_loop *loop) {
  SEER_TRYF(check_bufs(loop), "verifying loop %s", loop->name);
  if (loop->n_phase == 0) return SEER_FAIL(INVALID, "loop %s has no phase", loop->name);
  seer_arena *scratch = seer_arena_create("loop verify");
  verifier v = {.loop = loop, .scratch = scratch};
  v.def = SEER_NEW_ARRAY(scratch, uint32_t, loop->n_var + 1);
  v.depth = SEER_NEW_ARRAY(scratch, uint32_t, loop->n_var + 1);
  v.node_seen = SEER_NEW_ARRAY(scratch, bool, loop->n_node + 1);
  v.var_defined = SEER_NEW_ARRAY(scratch, bool, loop->n_var + 1);
  v.buf_live = SEER_NEW_ARRAY(scratch, bool, loop->n_buf + 1);
  v.expr_checked = SEER_NEW_ARRAY(scratch, bool, loop->expr.n + 1);
  seer_prover_init(&v.prover, loop, v.def, v.depth);
  v.prover.is_thorough = true;
  seer_status status = SEER_OK;
  for (uint32_t phase = 0; phase < loop->n_phase && !status; phase++) {
    status = check_phase(&v, phase);
    if (status)
      status = seer_status_context(status, "verifying loop %s, phase %u", loop->name, phase);
  }
  seer_arena_destroy(scratch);
  return status;
}
