// drawn_faults.c - see drawn_faults.h. The loops are copied expression by expression, twice: the
// first time the places are counted, the second time the one that is drawn is changed.
#include "support/drawn_faults.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct {
  drawn_fault fault;
  const random_program *program;
  const seer_loop *from;
  seer_loop *to;
  const bool *is_item;  // by variable: a THREAD loop's
  uint32_t n, pick;  // places so far; the one to change
} planting;

const char *drawn_fault_name(drawn_fault fault) {
  static const char *const names[DRAWN_FAULT_COUNT] = {"a barrier is missing",
      "a barrier in an item's branch", "half of a fetch", "a fetch that is one short",
      "a buffer that is too small", "a pad that is left out", "an item's coefficient is wrong",
      "two items write one element", "a stale stage of a double buffer"};
  return names[fault];
}

static bool is_here(planting *p, drawn_fault fault) {
  return p->fault == fault && p->n++ == p->pick;
}

static bool is_of_block(const planting *p, uint32_t buf) {
  seer_loop_storage storage = p->from->buf[buf].storage;
  return storage == SEER_STORE_WORKGROUP || storage == SEER_STORE_PRIVATE;
}

// An item's variable that is in `e`, of the copy; NONE: there is none.
static uint32_t item_of(const planting *p, seer_expr e) {
  for (uint32_t v = 0; v < p->from->n_var; v++) {
    if (p->is_item[v] && seer_expr_uses_var(&p->to->expr, e, v)) return v;
  }
  return NONE;
}

// An index, or that with a coefficient that is one less.
static seer_expr index_of(planting *p, drawn_fault fault, seer_expr e) {
  uint32_t item = item_of(p, e);
  if (item == NONE || !is_here(p, fault)) return e;
  seer_expr_pool *pool = &p->to->expr;
  return seer_expr_binary(pool, SEER_EXPR_SUB, e, seer_expr_var(pool, item));
}

static seer_expr copy_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  planting *p = user;
  seer_expr changed[SEER_MAX_RANK];
  for (uint32_t d = 0; d < load->n_index; d++) {
    changed[d] =
        is_of_block(p, load->ref) ? index_of(p, DRAWN_FAULT_COEFFICIENT, index[d]) : index[d];
  }
  return seer_expr_load_guarded(
      to, (seer_dtype)load->dtype, load->ref, changed, load->n_index, predicate, otherwise);
}

static seer_expr copy(planting *p, seer_expr e, const seer_expr *map) {
  if (e.i == 0) return e;
  return seer_expr_copy(
      &p->to->expr, &p->from->expr, e, map, map ? p->from->n_var : 0, copy_load, p);
}

// Where the next step's number is, min(step + 1, last): this one's.
static seer_expr stale_step(planting *p, const seer_loop_node *let, seer_expr e) {
  bool is_of_tile = p->program->sketch->stage[let->stage].role == SEER_ROLE_TILED;
  const seer_expr_node *node = seer_expr_at(&p->to->expr, e);
  seer_expr next = node->arg[0], last = node->arg[1];
  const char *name = p->from->var[let->var].name;
  const char *kind = strrchr(name, '.');
  bool is_next = kind && (strcmp(kind, ".next") == 0 || strcmp(kind, ".step") == 0);
  if (!is_of_tile || !is_next || node->op != SEER_EXPR_MIN || !is_here(p, DRAWN_FAULT_STALE))
    return e;
  seer_expr_pool *pool = &p->to->expr;
  seer_expr one = seer_expr_i(pool, 1);
  return seer_expr_binary(
      pool, SEER_EXPR_MIN, seer_expr_binary(pool, SEER_EXPR_SUB, next, one), last);
}

// What a LET of a store's place is: without the item's number.
static seer_expr copy_let(planting *p, const seer_loop_node *let, seer_expr e, seer_arena *arena) {
  seer_expr same = stale_step(p, let, copy(p, e, NULL));
  uint32_t item = item_of(p, same);
  if (item == NONE || !is_here(p, DRAWN_FAULT_TWO_OWNERS)) return same;
  seer_expr *map = SEER_NEW_ARRAY(arena, seer_expr, p->from->n_var);
  map[item] = seer_expr_i(&p->to->expr, 0);
  return copy(p, e, map);
}

static void set_extent(planting *p, seer_loop_node *node, int64_t extent) {
  node->extent = extent;
  p->to->var[node->var].high = extent - 1;
}

static bool is_nest_end(const seer_loop *loop, const seer_loop_node *node) {
  const seer_loop_node *body = &loop->node[node->body];
  return node->ann == SEER_LOOP_THREAD &&
      !(body->kind == SEER_NODE_FOR && body->ann == SEER_LOOP_THREAD);
}

static void change_loop(planting *p, seer_loop_node *node) {
  bool is_thread = node->ann == SEER_LOOP_THREAD;
  bool is_fetch =
      p->program->sketch->stage[node->stage].role == SEER_ROLE_FETCH && node->extent > 1;
  if (is_fetch && (is_thread || node->ann == SEER_LOOP_SERIAL) &&
      is_here(p, DRAWN_FAULT_HALF_FETCH))
    set_extent(p, node, node->extent / 2);
  if (is_fetch && is_thread && is_here(p, DRAWN_FAULT_SHORT_FETCH))
    set_extent(p, node, node->extent - 1);
  if (is_nest_end(p->from, node) && is_here(p, DRAWN_FAULT_BRANCH)) {
    p->to->node[p->to->n_node] =
        (seer_loop_node){.kind = SEER_NODE_BARRIER, .next = node->body, .stage = node->stage};
    node->body = p->to->n_node++;
  }
}

static void leave_out(seer_loop *loop, uint32_t barrier) {
  uint32_t next = loop->node[barrier].next;
  for (uint32_t id = 1; id < loop->n_node; id++) {
    seer_loop_node *node = &loop->node[id];
    if (node->next == barrier) node->next = next;
    if (node->kind == SEER_NODE_FOR && node->body == barrier) node->body = next;
  }
  for (uint32_t k = 0; k < loop->n_phase; k++) {
    if (loop->phase[k] == barrier) loop->phase[k] = next;
  }
}

static void leave_out_pad(planting *p, seer_loop_buf *buf) {
  for (uint32_t d = 0; d + 1 < buf->rank; d++) {
    int64_t row = buf->dim[d + 1] * buf->stride[d + 1];
    if (buf->dim[d] == 1 || row < 2 || buf->stride[d] <= row) continue;
    if (is_here(p, DRAWN_FAULT_NO_PAD)) buf->stride[d] = row - 1;
  }
}

static void change_buffer(planting *p, seer_loop_buf *buf) {
  leave_out_pad(p, buf);
  uint32_t d = 0;
  while (d < buf->rank && buf->dim[d] == 1) d++;
  if (d == buf->rank || !is_here(p, DRAWN_FAULT_SMALL_BUFFER)) return;
  buf->dim[d]--;
  buf->n_elems -= buf->stride[d];
}

static void copy_node(planting *p, uint32_t id, seer_arena *arena) {
  seer_loop_node *node = &p->to->node[id];
  bool is_let = node->kind == SEER_NODE_LET;
  node->bound = copy(p, node->bound, NULL);
  for (uint32_t k = 0; k < SEER_DAG_MAX_VALUES; k++)
    node->value[k] =
        is_let && k == 0 ? copy_let(p, node, node->value[k], arena) : copy(p, node->value[k], NULL);
  for (uint32_t d = 0; d < node->n_index; d++)
    node->index[d] = index_of(p, DRAWN_FAULT_TWO_OWNERS, copy(p, node->index[d], NULL));
  if (node->kind == SEER_NODE_FOR) change_loop(p, node);
  if (node->kind == SEER_NODE_BARRIER && is_here(p, DRAWN_FAULT_NO_BARRIER)) leave_out(p->to, id);
}

static void copy_all(planting *p, seer_arena *arena) {
  const seer_loop *from = p->from;
  seer_loop *to = SEER_NEW(arena, seer_loop);
  p->to = to;
  p->n = 0;
  *to = *from;
  seer_expr_pool_init(&to->expr, arena);
  to->cap_node = from->n_node + 1;
  to->node = SEER_NEW_ARRAY(arena, seer_loop_node, to->cap_node);
  memcpy(to->node, from->node, from->n_node * sizeof(*to->node));
  to->cap_var = from->n_var;
  to->var = seer_arena_memdup(arena, from->var, from->n_var * sizeof(*to->var));
  to->cap_buf = from->n_buf;
  to->buf = seer_arena_memdup(arena, from->buf, from->n_buf * sizeof(*to->buf));
  for (uint32_t id = 1; id < from->n_node; id++) copy_node(p, id, arena);
  for (uint32_t b = 0; b < from->n_buf; b++) {
    if (is_of_block(p, b)) change_buffer(p, &to->buf[b]);
  }
}

seer_loop *drawn_fault_plant(
    drawn_fault fault, const random_program *program, seer_rng *rng, seer_arena *arena) {
  const seer_loop *from = program->loop;
  bool *is_item = SEER_NEW_ARRAY(arena, bool, from->n_var + 1);
  for (uint32_t id = 1; id < from->n_node; id++) {
    const seer_loop_node *node = &from->node[id];
    if (node->kind == SEER_NODE_FOR && node->ann == SEER_LOOP_THREAD && node->extent > 1)
      is_item[node->var] = true;
  }
  planting p = {.fault = fault, .program = program, .from = from, .is_item = is_item, .pick = NONE};
  copy_all(&p, arena);
  if (p.n == 0) return NULL;
  p.pick = (uint32_t)seer_rng_below(rng, p.n);
  copy_all(&p, arena);
  return p.to;
}
