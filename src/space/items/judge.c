// judge.c - goes through the accesses of a block program: blocks one after another, in each the
// serial part as it is, in each nest item after item, and of an item the accesses to one buffer
// after those to another (whose order does not matter, only what is read before it is written
// does). Blocks that do the same (signature.h) are gone through once; and serial iterations that do
// the same from where the memory's state is as it was are left out.
#include <string.h>

#include "base/map.h"
#include "dag/scalar.h"
#include "space/items/reach.h"
#include "space/items/shadow.h"
#include "space/items/signature.h"
#include "space/loop/internal.h"

// Accesses, at some 20 ns each.
#define MAX_ACCESSES ((uint64_t)1 << 27)
// Elements of a buffer, iterations of a loop, blocks: what is remembered of each is some bytes.
#define MAX_ELEMS ((int64_t)1 << 22)
// Iterations after which a loop's body may come back to the same state: as many stages as buffers
// can have, and those of one that is inside.
#define MAX_PERIOD 8

typedef struct {
  uint32_t nest;
  seer_reach reach;
} plan;

typedef struct {
  const seer_loop *loop;
  uint32_t phase;
  seer_arena *arena;
  int64_t *var;
  uint32_t *def;  // by variable
  uint32_t n_plan, cap_plan;
  plan *plan;
  uint32_t n_root, cap_root, cap_extent;
  seer_expr *root;
  int64_t *extent;  // by root
  bool *needs;  // by variable: decides on accesses
  bool *is_fixed;  // by variable: of the grid and of the serial loops that are being run
  seer_signature **of_loop;  // by node: of a serial loop outside of nests
  seer_shadow *shadow;  // by buffer
  uint64_t epoch, n_access;
  uint32_t item;
  bool *is_most;  // by buffer: not all of its reads need take place (seer_reach)
  seer_status status;
} judge;

// ---- values

static int64_t value(void *user, seer_expr e) {
  const judge *j = user;
  const seer_expr_pool *pool = &j->loop->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_CONST_I) return node->value.i;
  if (op == SEER_EXPR_VAR) return j->var[node->ref];
  if (op == SEER_EXPR_SELECT)
    return value(user, value(user, node->arg[0]) ? node->arg[1] : node->arg[2]);
  seer_scalar arg[3] = {{.i = 0}};
  for (uint32_t k = 0; k < seer_expr_arity(op); k++) arg[k].i = value(user, node->arg[k]);
  seer_dtype of = (seer_dtype)seer_expr_at(pool, node->arg[0])->dtype;
  return seer_scalar_apply(op, (seer_dtype)node->dtype, of, arg[0], arg[1], arg[2]).i;
}

// Iterations of a FOR.
static int64_t turns(judge *j, const seer_loop_node *node) {
  return node->bound.i == 0 ? node->extent : seer_min_i64(node->extent, value(j, node->bound));
}

// ---- items

static const char *block_text(const judge *j) {
  seer_text text;
  seer_text_init(&text, j->arena);
  for (uint32_t v = 0; v < j->loop->n_var; v++) {
    if (j->is_fixed[v]) seer_text_printf(&text, " @%s %" PRId64, j->loop->var[v].name, j->var[v]);
  }
  return text.data ? text.data : "";
}

static void refuse(judge *j, const seer_reach_access *access, uint32_t buf, const int64_t *at,
    seer_shadow_verdict verdict, uint32_t other) {
  seer_text text;
  seer_text_init(&text, j->arena);
  for (uint32_t k = 0; k < access->n_index; k++)
    seer_text_printf(&text, "%s%" PRId64, k ? ", " : "", at[k]);
  const char *who = "";
  if (verdict != SEER_SHADOW_UNWRITTEN && other < SEER_SHADOW_MANY)
    who = seer_arena_printf(j->arena, " (item %u)", other);
  const char *what = seer_arena_printf(j->arena,
      "loop %s, phase %u, block%s: item %u %s $%s[%s], and %s%s", j->loop->name, j->phase,
      block_text(j), j->item, access->is_write ? "writes" : "reads", j->loop->buf[buf].name,
      text.data ? text.data : "", seer_shadow_verdict_text(verdict), who);
  j->status = j->is_most[buf]
      ? SEER_FAIL(UNSUPPORTED, "%s, if all is read that depends on data; it is not known", what)
      : SEER_FAIL(INVALID, "%s", what);
}

static void touch(judge *j, const seer_reach *reach, const seer_reach_access *access) {
  for (uint32_t k = 0; k < access->n_guard; k++) {
    if ((value(j, access->guard[k].is) != 0) != access->guard[k].holds) return;
  }
  if (++j->n_access > MAX_ACCESSES) {
    j->status = SEER_FAIL(UNSUPPORTED,
        "loop %s, phase %u: more than %" PRIu64 " accesses to go through: not judged",
        j->loop->name, j->phase, MAX_ACCESSES);
    return;
  }
  const seer_loop_buf *buf = &j->loop->buf[reach->buf];
  int64_t at[SEER_MAX_RANK], offset = 0;
  for (uint32_t k = 0; k < access->n_index; k++) {
    at[k] = value(j, access->index[k]);
    offset += at[k] * buf->stride[k];
  }
  uint32_t other = SEER_SHADOW_NOBODY;
  seer_shadow *shadow = &j->shadow[reach->buf];
  seer_shadow_verdict verdict =
      seer_shadow_touch(shadow, access->is_write, (uint64_t)offset, 0, j->item, j->epoch, &other);
  if (verdict != SEER_SHADOW_FINE) refuse(j, access, reach->buf, at, verdict, other);
}

static void run_item(judge *j, const seer_reach *reach, uint32_t id) {
  for (; id != 0 && !j->status; id = j->loop->node[id].next) {
    const seer_loop_node *node = &j->loop->node[id];
    if (node->kind == SEER_NODE_LET && reach->needs[node->var])
      j->var[node->var] = value(j, node->value[0]);
    if (node->kind == SEER_NODE_STORE) {
      uint32_t a = reach->first[id];
      for (; a < reach->n_access && reach->access[a].store == id && !j->status; a++)
        touch(j, reach, &reach->access[a]);
    }
    if (node->kind != SEER_NODE_FOR || reach->how[id] == SEER_REACH_SKIP) continue;
    int64_t n = turns(j, node);
    if (reach->how[id] == SEER_REACH_ONCE) n = seer_min_i64(n, 1);
    for (int64_t i = 0; i < n && !j->status; i++) {
      j->var[node->var] = i;
      run_item(j, reach, node->body);
    }
  }
}

// Whether the item, or part, whose variables are set, runs.
static bool runs(judge *j, const seer_items *items) {
  for (uint32_t k = 0; k < items->n; k++) {
    const seer_loop_node *node = &j->loop->node[items->loop[k]];
    if (j->var[node->var] >= turns(j, node)) return false;
  }
  return true;
}

static void run_nest(judge *j, const seer_reach *reach, const seer_items *items) {
  for (int64_t item = 0; item < items->n_items && !j->status; item++) {
    seer_items_place(j->loop, items, item, j->var);
    j->item = (uint32_t)item;
    if (runs(j, items)) run_item(j, reach, items->body);
  }
}

// ---- what all items do alike

static uint64_t state(const judge *j) {
  uint64_t hash = 1;
  for (uint32_t b = 0; b < j->loop->n_buf; b++) {
    if (j->shadow[b].n > 0) hash = seer_shadow_hash(&j->shadow[b], j->epoch, hash);
  }
  return hash;
}

// False, and a status, where there is more of something than can be remembered.
static bool is_few(judge *j, const char *name, int64_t n) {
  if (n <= MAX_ELEMS) return true;
  j->status = SEER_FAIL(UNSUPPORTED,
      "loop %s, phase %u: %s has %" PRId64 ", more than %" PRId64 ": not judged", j->loop->name,
      j->phase, name, n, MAX_ELEMS);
  return false;
}

static void run_block(judge *j, uint32_t id);

// Where the iterations up to i have come back to a state that they were in, and those behind do as
// those before did, the next that does not. States are known from *io_first on.
static int64_t next_turn(
    const uint64_t *signature, uint64_t *after, int64_t *io_first, int64_t i, int64_t n) {
  for (int64_t period = 1; period <= MAX_PERIOD && i - period >= *io_first; period++) {
    if (after[i - period] != after[i]) continue;
    int64_t last = i;
    while (last + 1 < n && signature[last + 1] == signature[last + 1 - period]) last++;
    int64_t skipped = (last - i) / period * period;
    if (skipped == 0) continue;
    for (int64_t k = 0; k < period; k++) after[i + skipped - k] = after[i - k];
    *io_first = i + skipped + 1 - period;
    return i + skipped + 1;
  }
  return i + 1;
}

static void run_serial(judge *j, uint32_t id) {
  const seer_loop_node *node = &j->loop->node[id];
  int64_t n = turns(j, node);
  if (n <= 0 || !is_few(j, j->loop->var[node->var].name, n)) return;
  j->is_fixed[node->var] = true;
  if (!j->of_loop[id]) {
    j->of_loop[id] =
        seer_signature_make(j->loop, j->is_fixed, j->root, j->extent, j->n_root, j->arena);
  }
  uint64_t *signature = SEER_NEW_ARRAY(j->arena, uint64_t, n);
  uint64_t *after = SEER_NEW_ARRAY(j->arena, uint64_t, n);
  for (int64_t i = 0; i < n; i++) {
    j->var[node->var] = i;
    signature[i] = seer_signature_now(j->of_loop[id], value, j);
  }
  for (int64_t i = 0, first = 0; i < n && !j->status;) {
    j->var[node->var] = i;
    run_block(j, node->body);
    after[i] = state(j);
    i = next_turn(signature, after, &first, i, n);
  }
  j->is_fixed[node->var] = false;
}

static void run_block(judge *j, uint32_t id) {
  for (; id != 0 && !j->status; id = j->loop->node[id].next) {
    const seer_loop_node *node = &j->loop->node[id];
    switch (node->kind) {
      case SEER_NODE_FOR:
        if (node->ann != SEER_LOOP_THREAD) {
          run_serial(j, id);
          break;
        }
        {
          seer_items items = seer_items_of(j->loop, id);
          for (uint32_t p = 0; p < j->n_plan && !j->status; p++) {
            if (j->plan[p].nest == id) run_nest(j, &j->plan[p].reach, &items);
          }
        }
        break;
      case SEER_NODE_LET:
        j->var[node->var] = value(j, node->value[0]);
        break;
      case SEER_NODE_ALLOC:
        seer_shadow_alloc(&j->shadow[node->buf[0]]);
        break;
      case SEER_NODE_BARRIER:
        j->epoch++;
        break;
      case SEER_NODE_STORE:
        break;
    }
  }
}

// ---- the phase

static void add_root(judge *j, seer_expr e, int64_t extent) {
  if (e.i == 0) return;
  size_t cap = j->cap_root;
  j->root = SEER_GROW(j->arena, seer_expr, j->root, j->n_root, &cap);
  j->cap_root = (uint32_t)cap;
  cap = j->cap_extent;
  j->extent = SEER_GROW(j->arena, int64_t, j->extent, j->n_root, &cap);
  j->cap_extent = (uint32_t)cap;
  j->root[j->n_root] = e;
  j->extent[j->n_root++] = extent;
}

// With all that its accesses depend on.
static void add_plan(judge *j, uint32_t nest, const seer_reach *reach) {
  size_t cap = j->cap_plan;
  j->plan = SEER_GROW(j->arena, plan, j->plan, j->n_plan, &cap);
  j->cap_plan = (uint32_t)cap;
  j->plan[j->n_plan++] = (plan){nest, *reach};
  for (uint32_t a = 0; a < reach->n_access; a++) {
    const seer_reach_access *access = &reach->access[a];
    for (uint32_t k = 0; k < access->n_index; k++) add_root(j, access->index[k], 0);
    for (uint32_t k = 0; k < access->n_guard; k++) add_root(j, access->guard[k].is, 0);
  }
  for (uint32_t id = 1; id < j->loop->n_node; id++) {
    const seer_loop_node *node = &j->loop->node[id];
    if (reach->how[id] != SEER_REACH_SKIP && node->kind == SEER_NODE_FOR)
      add_root(j, node->bound, node->extent);
  }
  seer_items items = seer_items_of(j->loop, nest);
  for (uint32_t k = 0; k < items.n; k++) {
    const seer_loop_node *node = &j->loop->node[items.loop[k]];
    add_root(j, node->bound, node->extent);
  }
  for (uint32_t v = 0; v < j->loop->n_var; v++) j->needs[v] |= reach->needs[v];
}

static void make_nest_plans(judge *j, uint32_t id) {
  for (uint32_t b = 0; b < j->loop->n_buf && !j->status; b++) {
    if (j->shadow[b].n == 0) continue;
    seer_reach reach;
    bool any;
    j->status = seer_reach_find(j->loop, id, b, j->def, j->arena, &reach, &any);
    j->is_most[b] |= reach.is_most;
    if (!j->status && any) add_plan(j, id, &reach);
  }
}

// Every nest in the block `id` with each buffer that it touches, and bounds of serial loops.
static void make_plans(judge *j, uint32_t id, bool is_in_nest) {
  for (; id != 0 && !j->status; id = j->loop->node[id].next) {
    const seer_loop_node *node = &j->loop->node[id];
    if (node->kind == SEER_NODE_LET) j->def[node->var] = id;
    if (node->kind != SEER_NODE_FOR) continue;
    j->def[node->var] = id;
    bool is_nest = node->ann == SEER_LOOP_THREAD && !is_in_nest;
    if (!is_nest && !is_in_nest && node->bound.i != 0) {
      add_root(j, node->bound, node->extent);
      seer_reach_need(j->loop, j->def, node->bound, j->needs);
    }
    make_plans(j, node->body, is_in_nest || is_nest);
    if (is_nest) make_nest_plans(j, id);
  }
}

static void add_lets(judge *j) {
  for (uint32_t v = 0; v < j->loop->n_var; v++) {
    const seer_loop_node *def = &j->loop->node[j->def[v]];
    if (j->needs[v] && j->def[v] != 0 && def->kind == SEER_NODE_LET) add_root(j, def->value[0], 0);
  }
}

static void run_phase(judge *j) {
  const seer_loop *loop = j->loop;
  seer_items grid = seer_items_of_grid(loop, j->phase);
  for (uint32_t k = 0; k < grid.n; k++) j->is_fixed[loop->node[grid.loop[k]].var] = true;
  make_plans(j, grid.body, false);
  if (j->status) return;
  add_lets(j);
  seer_signature *of_block =
      seer_signature_make(loop, j->is_fixed, j->root, j->extent, j->n_root, j->arena);
  seer_map *seen = seer_map_create(j->arena);
  if (!is_few(j, "the grid", grid.n_items)) return;
  for (int64_t part = 0; part < grid.n_items && !j->status; part++) {
    seer_items_place(loop, &grid, part, j->var);
    uint64_t signature = seer_signature_now(of_block, value, j);
    if (!runs(j, &grid) || seer_map_get(seen, signature, NULL)) continue;
    seer_map_set(seen, signature, 1);
    j->epoch++;
    for (uint32_t b = 0; b < loop->n_buf; b++) seer_shadow_clear(&j->shadow[b]);
    run_block(j, grid.body);
  }
}

seer_status seer_items_judge(const seer_loop *loop, uint32_t phase) {
  seer_arena *arena = seer_arena_create("items judge");
  judge j = {.loop = loop, .phase = phase, .arena = arena};
  j.var = SEER_NEW_ARRAY(arena, int64_t, loop->n_var + 1);
  j.def = SEER_NEW_ARRAY(arena, uint32_t, loop->n_var + 1);
  j.needs = SEER_NEW_ARRAY(arena, bool, loop->n_var + 1);
  j.is_fixed = SEER_NEW_ARRAY(arena, bool, loop->n_var + 1);
  j.of_loop = SEER_NEW_ARRAY(arena, seer_signature *, loop->n_node);
  j.shadow = SEER_NEW_ARRAY(arena, seer_shadow, loop->n_buf + 1);
  j.is_most = SEER_NEW_ARRAY(arena, bool, loop->n_buf + 1);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    seer_loop_storage storage = loop->buf[b].storage;
    if (storage != SEER_STORE_WORKGROUP && storage != SEER_STORE_PRIVATE) continue;
    j.shadow[b].n = (uint64_t)loop->buf[b].n_elems;
    j.shadow[b].is_private = storage == SEER_STORE_PRIVATE;
    j.shadow[b].is_late = loop->buf[b].is_late;
    if (!is_few(&j, loop->buf[b].name, loop->buf[b].n_elems)) break;
    j.shadow[b].cell = SEER_NEW_ARRAY(arena, seer_shadow_cell, loop->buf[b].n_elems);
  }
  if (!j.status) run_phase(&j);
  seer_arena_destroy(arena);
  return j.status;
}
