// nest_walk.c - loop IR -> nest summary, by walking the tree: the second opinion on nest.c, for
// tests. One statement per STORE that is no init, last stage first. Which way an index moves is
// read off its linear form, with LETs replaced by what they clamp; trips are counted by running the
// loops without their bodies.
#include "support/nest_walk.h"

#include <string.h>

#include "space/loop/linear.h"

typedef struct {
  const seer_loop *loop;
  const seer_dag *dag;
  seer_nest *nest;
  uint32_t path[SEER_NEST_MAX_LOOPS];  // FORs around the place in hand, extent 1 left out
  uint32_t n_path, n_skipped;  // n_skipped: loops that did not fit
  int64_t *var;
  double *trips;  // by node: how often a STORE ran
  int64_t base[SEER_NEST_MAX_ACCESSES]
              [SEER_MAX_RANK];  // constants of the accesses of the statement in hand
  const uint32_t *let_of;  // by variable: its LET node, 0: none
} walker;

// ---- trips

static int64_t eval(const walker *w, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&w->loop->expr, e);
  if (node->op == SEER_EXPR_CONST_I) return node->value.i;
  if (node->op == SEER_EXPR_VAR) return w->var[node->ref];
  int64_t a = eval(w, node->arg[0]);
  int64_t b = seer_expr_arity((seer_expr_op)node->op) > 1 ? eval(w, node->arg[1]) : 0;
  switch ((int)node->op) {
    case SEER_EXPR_ADD:
      return a + b;
    case SEER_EXPR_SUB:
      return a - b;
    case SEER_EXPR_MUL:
      return a * b;
    case SEER_EXPR_MIN:
      return seer_min_i64(a, b);
    case SEER_EXPR_MAX:
      return seer_max_i64(a, b);
    case SEER_EXPR_DIV:
      SEER_ASSERT(b > 0, "divided by %" PRId64, b);
      return seer_floor_div(a, b);
    case SEER_EXPR_MOD:
      SEER_ASSERT(b > 0, "divided by %" PRId64, b);
      return seer_floor_mod(a, b);
    case SEER_EXPR_NEG:
      return -a;
    default:
      return 0;  // a bound of another kind: lowering makes none
  }
}

static bool is_used(const walker *w, uint32_t id, uint32_t var) {  // in a bound or LET of the block
  for (; id != 0; id = w->loop->node[id].next) {
    const seer_loop_node *node = &w->loop->node[id];
    if (node->kind == SEER_NODE_LET && seer_expr_uses_var(&w->loop->expr, node->value[0], var))
      return true;
    if (node->kind != SEER_NODE_FOR) continue;
    if (seer_expr_uses_var(&w->loop->expr, node->bound, var) || is_used(w, node->body, var))
      return true;
  }
  return false;
}

static void count(walker *w, uint32_t id, double times) {
  for (; id != 0; id = w->loop->node[id].next) {
    const seer_loop_node *node = &w->loop->node[id];
    if (node->kind == SEER_NODE_STORE) w->trips[id] += times;
    if (node->kind == SEER_NODE_LET) w->var[node->var] = eval(w, node->value[0]);
    if (node->kind != SEER_NODE_FOR) continue;
    int64_t n = node->extent;
    if (node->bound.i != 0) n = seer_min_i64(n, eval(w, node->bound));
    if (!is_used(w, node->body, node->var)) {
      if (n > 0) count(w, node->body, times * (double)n);
      continue;
    }
    for (int64_t i = 0; i < n; i++) {
      w->var[node->var] = i;
      count(w, node->body, times);
    }
  }
}

// ---- accesses

// The form of `e` with LETs replaced by what they clamp: the first operand of minima and maxima,
// the others stand for the buffer's ends and for tails.
static bool movement_of(const walker *w, seer_expr e, int64_t scale, seer_linear *out) {
  seer_linear form;
  const seer_expr_pool *pool = &w->loop->expr;
  if (!seer_linear_from(pool, e, &form)) return false;
  out->constant += scale * form.constant;
  for (uint32_t t = 0; t < form.n; t++) {
    const seer_expr_node *atom = seer_expr_at(pool, form.term[t].atom);
    int64_t coef = form.term[t].coef * scale;
    if (atom->op == SEER_EXPR_VAR && w->let_of[atom->ref] != 0) {
      const seer_loop_node *let = &w->loop->node[w->let_of[atom->ref]];
      if (!movement_of(w, let->value[0], coef, out)) return false;
    } else if (atom->op == SEER_EXPR_VAR) {
      if (!seer_linear_add_term(out, form.term[t].atom, coef)) return false;
    } else if (atom->op == SEER_EXPR_MIN || atom->op == SEER_EXPR_MAX) {
      if (!movement_of(w, atom->arg[0], coef, out)) return false;
    } else if (atom->op == SEER_EXPR_DIV &&
        seer_expr_at(pool, atom->arg[1])->op == SEER_EXPR_CONST_I) {
      int64_t by = seer_expr_at(pool, atom->arg[1])->value.i;  // exact where it moves by multiples
      seer_linear inner = {.constant = 0}, quotient = {.constant = 0};
      if (by <= 0 || !movement_of(w, atom->arg[0], 1, &inner)) return false;
      quotient.constant = seer_floor_div(inner.constant, by);
      for (uint32_t k = 0; k < inner.n; k++) {
        if (inner.term[k].coef % by != 0) return false;
        if (!seer_linear_add_term(&quotient, inner.term[k].atom, inner.term[k].coef / by))
          return false;
      }
      if (!seer_linear_add(out, &quotient, coef)) return false;
    } else {
      return false;
    }
  }
  return true;
}

static seer_nest_storage storage_of(const walker *w, uint32_t buf) {
  switch (w->loop->buf[buf].storage) {
    case SEER_STORE_INPUT:
    case SEER_STORE_OUTPUT:
      return SEER_NEST_ARG;
    case SEER_STORE_PACKED:
      return SEER_NEST_PACKED;
    case SEER_STORE_SHARED:
      return SEER_NEST_SHARED;
    case SEER_STORE_LOCAL:
    case SEER_STORE_WORKGROUP:
    case SEER_STORE_PRIVATE:
      return SEER_NEST_LOCAL;
  }
  return SEER_NEST_ARG;
}

static void add_access(walker *w, seer_nest_statement *st, uint32_t buf, const seer_expr *index,
    bool is_write, bool is_guarded) {
  if (st->n_access == SEER_NEST_MAX_ACCESSES) return;
  const seer_loop_buf *b = &w->loop->buf[buf];
  const seer_dag_buf *from = &w->dag->buf[b->dag_buf];
  seer_nest_access *out = &st->access[st->n_access++];
  *out = (seer_nest_access){.buf = b->dag_buf,
      .storage = storage_of(w, buf),
      .is_write = is_write,
      .is_guarded = is_guarded,
      .elem_bytes = (uint8_t)seer_dtype_bytes(b->dtype),
      .rank = from->rank,
      .row_pitch = from->pitch};
  bool is_region = b->storage == SEER_STORE_LOCAL;
  for (uint32_t d = 0; d < from->rank; d++) {
    out->dim[d] = is_region ? b->dim[d] : from->dim[d];
    out->span[d] = 1;
    w->base[st->n_access - 1][d] = 0;
  }
  if (is_region && from->rank > 0)
    out->row_pitch = from->rank > 1 ? b->stride[from->rank - 2] : b->dim[0];
  memset(out->loop_dim, SEER_NEST_NO_DIM, st->n_loop);
  memset(out->loop_coef, 0, st->n_loop * sizeof(out->loop_coef[0]));
  for (uint32_t k = 0; k < b->rank; k++) {
    seer_linear form = {.constant = 0};
    if (!b->pack && from->dim[k] == 1) continue;  // whatever the index says, it is 0
    if (!movement_of(w, index[k], 1, &form)) {
      out->is_whole = true;
      continue;
    }
    uint32_t dim = b->pack ? b->pack->dim[k].source_dim : k;
    int64_t stride = b->pack ? b->pack->dim[k].stride : 1;
    if (!b->pack) w->base[st->n_access - 1][k] = form.constant;
    for (uint32_t t = 0; t < form.n; t++) {
      uint32_t var = seer_expr_at(&w->loop->expr, form.term[t].atom)->ref;
      for (uint32_t l = 0; l < st->n_loop; l++) {
        if (w->loop->node[w->path[l]].var != var) continue;
        out->loop_dim[l] = (uint8_t)dim;
        out->loop_coef[l] += (int32_t)(form.term[t].coef * stride);
      }
    }
  }
}

static bool moves_alike(
    const seer_nest_statement *st, const seer_nest_access *a, const seer_nest_access *b) {
  if (a->buf != b->buf || a->is_whole != b->is_whole || a->storage != b->storage) return false;
  if (a->is_whole) return true;
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (a->loop_coef[l] != b->loop_coef[l]) return false;
    if (a->loop_coef[l] != 0 && a->loop_dim[l] != b->loop_dim[l]) return false;
  }
  return true;
}

static bool are_beside(const walker *w, const seer_nest_statement *st, uint32_t k, uint32_t last) {
  const seer_nest_access *a = &st->access[k], *b = &st->access[last];
  for (uint32_t d = 0; d < a->rank; d++) {
    if (!seer_nest_are_beside(w->base[k][d], a->span[d], w->base[last][d], b->span[d]))
      return false;
  }
  return true;
}

// Accesses that differ by small constants only are one.
static void merge_access(walker *w, seer_nest_statement *st) {
  uint32_t last = st->n_access - 1u;
  const seer_nest_access *more = &st->access[last];
  for (uint32_t k = 0; k < last; k++) {
    seer_nest_access *into = &st->access[k];
    if (into->is_write || !moves_alike(st, into, more) || !are_beside(w, st, k, last)) continue;
    for (uint32_t d = 0; d < into->rank; d++) {
      int64_t low = seer_min_i64(w->base[k][d], w->base[last][d]);
      int64_t high = seer_max_i64(w->base[k][d] + into->span[d], w->base[last][d] + 1);
      w->base[k][d] = low;
      into->span[d] = (uint16_t)(high - low);
    }
    into->is_guarded |= more->is_guarded;
    st->n_access--;
    return;
  }
}

// Index and predicate expressions are addressing, not work: only the loads in them are followed.
static void collect(walker *w, seer_nest_statement *st, seer_expr e) {
  if (e.i == 0) return;
  const seer_expr_node *node = seer_expr_at(&w->loop->expr, e);
  if (node->op == SEER_EXPR_LOAD) {
    bool has_room = st->n_access < SEER_NEST_MAX_ACCESSES;
    add_access(w, st, node->ref, &w->loop->expr.index[node->index0], false, node->arg[0].i != 0);
    if (has_room) merge_access(w, st);
    for (uint32_t d = 0; d < node->n_index; d++)
      collect(w, st, seer_expr_index(&w->loop->expr, e, d));
    collect(w, st, node->arg[0]);
    collect(w, st, node->arg[1]);
    return;
  }
  for (uint32_t a = 0; a < seer_expr_arity((seer_expr_op)node->op); a++)
    collect(w, st, node->arg[a]);
}

static void add_statement(walker *w, uint32_t id) {
  const seer_loop_node *store = &w->loop->node[id];
  if (w->nest->n_statement == SEER_NEST_MAX_STATEMENTS) return;
  uint32_t at = w->nest->n_statement++;
  for (; at > 0 && w->nest->statement[at - 1].stage < store->stage; at--) {
    w->nest->statement[at] = w->nest->statement[at - 1];
  }
  seer_nest_statement *st = &w->nest->statement[at];
  memset(st, 0, sizeof(*st));
  st->stage = (uint8_t)store->stage;
  st->is_reduction = store->combiner != SEER_COMBINE_NONE;
  st->n_loop = (uint8_t)w->n_path;
  st->first_own = st->first_tile = st->n_loop;
  st->padded_iterations = 1;
  for (uint32_t l = 0; l < w->n_path; l++) {
    const seer_loop_node *node = &w->loop->node[w->path[l]];
    st->loop[l] = (seer_nest_loop){node->extent, (uint8_t)node->ann, node->is_reduce,
        node->bound.i == 0, (uint8_t)node->stage, 0xFF, 0xFF};
    st->padded_iterations *= (double)node->extent;
    if (node->stage != store->stage) continue;
    if (l < st->first_own) st->first_own = (uint8_t)l;
    bool is_tile = node->ann == SEER_LOOP_UNROLL || node->ann == SEER_LOOP_VECTOR;
    if (is_tile && l < st->first_tile) st->first_tile = (uint8_t)l;
    if (node->ann == SEER_LOOP_SERIAL) st->max_unroll = node->max_unroll;
  }
  st->iterations = w->trips[id];
  for (uint32_t v = 0; v < store->n_values; v++)
    add_access(w, st, store->buf[v], store->index, true, false);
  for (uint32_t v = 0; v < store->n_values; v++) collect(w, st, store->value[v]);
}

static void walk(walker *w, uint32_t id) {
  for (; id != 0; id = w->loop->node[id].next) {
    const seer_loop_node *node = &w->loop->node[id];
    if (node->kind == SEER_NODE_STORE && !node->is_init) add_statement(w, id);
    if (node->kind != SEER_NODE_FOR) continue;
    bool is_kept = node->extent > 1;
    if (is_kept && w->n_path == SEER_NEST_MAX_LOOPS) {
      is_kept = false;
      w->n_skipped++;
    }
    if (is_kept) w->path[w->n_path++] = id;
    walk(w, node->body);
    if (is_kept) w->n_path--;
  }
}

// A region buffer whose maker's spatial loops all belong to the register tile lives in registers.
static void find_registers(walker *w) {
  for (uint32_t b = 0; b < w->loop->n_buf; b++) {
    if (w->loop->buf[b].storage != SEER_STORE_LOCAL) continue;
    uint32_t dag_buf = w->loop->buf[b].dag_buf;
    bool is_tile = true;
    for (uint32_t s = 0; s < w->nest->n_statement; s++) {
      const seer_nest_statement *st = &w->nest->statement[s];
      if (st->stage != w->dag->buf[dag_buf].stage) continue;
      for (uint32_t l = st->first_own; l < st->n_loop; l++) {
        if (!st->loop[l].is_reduce && st->loop[l].ann == SEER_LOOP_SERIAL) is_tile = false;
      }
    }
    for (uint32_t s = 0; is_tile && s < w->nest->n_statement; s++) {
      seer_nest_statement *st = &w->nest->statement[s];
      for (uint32_t a = 0; a < st->n_access; a++) {
        if (st->access[a].buf == dag_buf) st->access[a].storage = SEER_NEST_REGISTER;
      }
    }
    if (is_tile) continue;
    uint64_t n = 1;
    for (uint32_t d = 0; d < w->loop->buf[b].rank; d++) n *= (uint64_t)w->loop->buf[b].dim[d];
    w->nest->local_bytes += n * seer_dtype_bytes(w->loop->buf[b].dtype);
  }
}

seer_status nest_walk(const seer_loop *loop, const seer_dag *dag, seer_nest *out) {
  seer_arena *scratch = seer_arena_create("nest walk");
  walker w = {.loop = loop, .dag = dag, .nest = out};
  w.var = SEER_NEW_ARRAY(scratch, int64_t, loop->n_var + 1);
  w.trips = SEER_NEW_ARRAY(scratch, double, loop->n_node);
  uint32_t *let_of = SEER_NEW_ARRAY(scratch, uint32_t, loop->n_var + 1);
  for (uint32_t k = 1; k < loop->n_node; k++) {
    if (loop->node[k].kind == SEER_NODE_LET) let_of[loop->node[k].var] = k;
  }
  w.let_of = let_of;
  out->n_statement = out->n_phase = 0;
  out->local_bytes = out->packed_bytes = 0;
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    count(&w, loop->phase[p], 1);
    walk(&w, loop->phase[p]);
    out->n_parts[out->n_phase++] = (double)seer_loop_phase_parts(loop, p);
  }
  find_registers(&w);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].storage != SEER_STORE_PACKED) continue;
    out->packed_bytes += (uint64_t)loop->buf[b].n_elems * seer_dtype_bytes(loop->buf[b].dtype);
  }
  uint32_t n_skipped = w.n_skipped;
  seer_arena_destroy(scratch);
  if (n_skipped == 0) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "loop %s: more than %d loops inside each other", loop->name,
      SEER_NEST_MAX_LOOPS);
}
