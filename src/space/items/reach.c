// reach.c - accesses of a nest to one buffer: loads are found by walking values down from their
// statements, with the guards and selections on the way; then what all of them depend on is closed
// over LETs, and loops are marked by it.
#include "space/items/reach.h"

typedef struct {
  const seer_loop *loop;
  const uint32_t *def;
  seer_arena *arena;
  seer_reach *reach;
  uint32_t store;
  uint32_t n_guard;
  seer_reach_guard guard[SEER_REACH_MAX_GUARDS];
  seer_status status;
} finder;

static bool loads(const seer_loop *loop, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&loop->expr, e);
  if (node->op == SEER_EXPR_LOAD) return true;
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++) {
    if (loads(loop, node->arg[k])) return true;
  }
  return false;
}

static void refuse(finder *f, const char *what) {
  if (f->status) return;
  f->status = SEER_FAIL(UNSUPPORTED, "$%s: %s depends on data: what its items do is not known",
      f->loop->buf[f->reach->buf].name, what);
}

static void add_access(finder *f, const seer_expr *index, uint32_t n, bool is_write) {
  for (uint32_t k = 0; k < n; k++) {
    if (loads(f->loop, index[k])) refuse(f, "an index");
  }
  seer_reach_access access = {f->store, is_write, index, n, 0, {{{0}, false}}};
  for (uint32_t k = 0; k < f->n_guard; k++) {
    bool is_known = !loads(f->loop, f->guard[k].is);
    if (is_known) access.guard[access.n_guard++] = f->guard[k];
    if (!is_known) f->reach->is_most = true;
  }
  seer_reach *reach = f->reach;
  size_t cap = reach->cap_access;
  reach->access = SEER_GROW(f->arena, seer_reach_access, reach->access, reach->n_access, &cap);
  reach->cap_access = (uint32_t)cap;
  reach->access[reach->n_access++] = access;
}

static void find_loads(finder *f, seer_expr e);

static bool is_read(const finder *f, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&f->loop->expr, e);
  if (node->op == SEER_EXPR_LOAD && node->ref == f->reach->buf) return true;
  for (uint32_t k = 0; k < node->n_index; k++) {
    if (is_read(f, f->loop->expr.index[node->index0 + k])) return true;
  }
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++) {
    if (node->arg[k].i != 0 && is_read(f, node->arg[k])) return true;
  }
  return false;
}

static void find_loads_if(finder *f, seer_expr guard, bool holds, seer_expr e) {
  if (f->n_guard == SEER_REACH_MAX_GUARDS) {
    if (is_read(f, e)) refuse(f, "an access under many guards");
    return;
  }
  f->guard[f->n_guard++] = (seer_reach_guard){guard, holds};
  find_loads(f, e);
  f->n_guard--;
}

// Of the buffer, in `e` and below. As the interpreter has it, what is not chosen is not read.
static void find_loads(finder *f, seer_expr e) {
  const seer_expr_pool *pool = &f->loop->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_SELECT) {
    find_loads(f, node->arg[0]);
    find_loads_if(f, node->arg[0], true, node->arg[1]);
    find_loads_if(f, node->arg[0], false, node->arg[2]);
    return;
  }
  if (op != SEER_EXPR_LOAD) {
    for (uint32_t k = 0; k < seer_expr_arity(op); k++) find_loads(f, node->arg[k]);
    return;
  }
  seer_expr guard = node->arg[0];
  if (guard.i != 0) {
    find_loads(f, guard);
    find_loads_if(f, guard, false, node->arg[1]);
  }
  for (uint32_t k = 0; k < node->n_index; k++) find_loads(f, pool->index[node->index0 + k]);
  if (node->ref != f->reach->buf) return;
  bool has_room = guard.i == 0 || f->n_guard < SEER_REACH_MAX_GUARDS;
  if (!has_room) refuse(f, "an access under many guards");
  if (guard.i != 0 && has_room) f->guard[f->n_guard++] = (seer_reach_guard){guard, true};
  add_access(f, &pool->index[node->index0], node->n_index, false);
  if (guard.i != 0 && has_room) f->n_guard--;
}

static void find_in_store(finder *f, uint32_t id) {
  const seer_loop_node *node = &f->loop->node[id];
  f->store = id;
  for (uint32_t k = 0; k < node->n_values; k++) find_loads(f, node->value[k]);
  for (uint32_t k = 0; k < node->n_index; k++) find_loads(f, node->index[k]);
  for (uint32_t k = 0; k < node->n_values; k++) {
    if (node->buf[k] != f->reach->buf) continue;
    if (node->combiner != SEER_COMBINE_NONE) add_access(f, node->index, node->n_index, false);
    add_access(f, node->index, node->n_index, true);
  }
}

typedef struct {
  const seer_loop *loop;
  const uint32_t *def;
  bool *needs;
} needing;

// A LET's variable brings what its value needs.
static void need(void *user, seer_expr e) {
  needing *n = user;
  const seer_expr_node *node = seer_expr_at(&n->loop->expr, e);
  if (node->op != SEER_EXPR_VAR || n->needs[node->ref]) return;
  n->needs[node->ref] = true;
  const seer_loop_node *def = &n->loop->node[n->def[node->ref]];
  if (n->def[node->ref] != 0 && def->kind == SEER_NODE_LET)
    seer_expr_visit(&n->loop->expr, def->value[0], need, n);
}

void seer_reach_need(const seer_loop *loop, const uint32_t *def, seer_expr e, bool *needs) {
  needing n = {loop, def, needs};
  seer_expr_visit(&loop->expr, e, need, &n);
}

// Marks what is in the block: how each node is gone through. True if it touches the buffer.
static bool mark(finder *f, uint32_t id) {
  bool any = false;
  for (; id != 0; id = f->loop->node[id].next) {
    const seer_loop_node *node = &f->loop->node[id];
    uint32_t before = f->reach->n_access;
    f->reach->first[id] = before;
    if (node->kind == SEER_NODE_STORE) find_in_store(f, id);
    bool is_in = node->kind == SEER_NODE_FOR ? mark(f, node->body) : f->reach->n_access > before;
    f->reach->how[id] = is_in ? SEER_REACH_ONCE : SEER_REACH_SKIP;
    any |= is_in;
    // It has to be known whether the loop runs at all.
    if (is_in && node->kind == SEER_NODE_FOR && node->bound.i != 0)
      seer_reach_need(f->loop, f->def, node->bound, f->reach->needs);
  }
  return any;
}

seer_status seer_reach_find(const seer_loop *loop, uint32_t nest, uint32_t buf, const uint32_t *def,
    seer_arena *arena, seer_reach *out, bool *out_any) {
  *out = (seer_reach){.buf = buf};
  out->how = SEER_NEW_ARRAY(arena, uint8_t, loop->n_node);
  out->first = SEER_NEW_ARRAY(arena, uint32_t, loop->n_node);
  out->needs = SEER_NEW_ARRAY(arena, bool, loop->n_var + 1);
  finder f = {.loop = loop, .def = def, .arena = arena, .reach = out};
  seer_items items = seer_items_of(loop, nest);
  *out_any = mark(&f, items.body);
  if (f.status || !*out_any) return f.status;
  for (uint32_t k = 0; k < items.n; k++) {
    seer_expr bound = loop->node[items.loop[k]].bound;
    if (bound.i != 0) seer_reach_need(loop, def, bound, out->needs);
  }
  for (uint32_t a = 0; a < out->n_access; a++) {
    const seer_reach_access *access = &out->access[a];
    for (uint32_t k = 0; k < access->n_index; k++)
      seer_reach_need(loop, def, access->index[k], out->needs);
    for (uint32_t k = 0; k < access->n_guard; k++)
      seer_reach_need(loop, def, access->guard[k].is, out->needs);
  }
  for (uint32_t id = 1; id < loop->n_node; id++) {
    const seer_loop_node *node = &loop->node[id];
    bool is_each =
        out->how[id] == SEER_REACH_ONCE && node->kind == SEER_NODE_FOR && out->needs[node->var];
    if (is_each) out->how[id] = SEER_REACH_EACH;
  }
  return SEER_OK;
}
