// plan.c - what becomes of each loop and each local buffer, decided before any code is
// emitted.
//
// Loops: UNROLL and short SERIAL loops become copies, VECTOR loops lanes, the rest stays loops
// (unrolled in part where the schedule allows). Buffers: a LOCAL buffer whose address is a constant
// in every copy becomes an alloca, which LLVM's SROA turns into registers; the others get a place
// in the thread's scratch. Places are never shared, not even by buffers that live one after the
// other: the alias metadata says that different buffers do not overlap.
#include <string.h>

#include "code/llvm/gen.h"

// More copies of statements than this in one nest: the outer loops stay loops. LLVM's time grows
// faster than the code (measured: 64 copies of a 14x1 tile's init, 0.9 s). A 14x2 tile in a 3x3
// window is 252.
#define MAX_COPIES 1024
#define MAX_SERIAL_COPIES 256
#define MAX_PARTIAL_COPIES 64
// More vectors than this in one VECTOR loop: a loop over vectors.
#define MAX_CHUNKS 16
// Registers: at most so many vectors are kept in one local buffer (LLVM spills what is too much).
#define MAX_REG_VECTORS 64
#define SINK_BYTES 256

bool seer_gen_depends(const seer_gen *g, seer_expr e, uint32_t var) {
  const seer_expr_node *node = seer_gen_at(g, e);
  if (node->op == SEER_EXPR_VAR) {
    if (node->ref == var) return true;
    return g->let_of[node->ref].i != 0 && seer_gen_depends(g, g->let_of[node->ref], var);
  }
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0 && seer_gen_depends(g, node->arg[k], var)) return true;
  }
  return node->op == SEER_EXPR_LOAD &&
      seer_gen_index_depends(g, &g->loop->expr.index[node->index0], node->n_index, var);
}

bool seer_gen_index_depends(const seer_gen *g, const seer_expr *index, uint32_t n, uint32_t var) {
  for (uint32_t k = 0; k < n; k++) {
    if (seer_gen_depends(g, index[k], var)) return true;
  }
  return false;
}

static void visit_loads(
    seer_gen *g, seer_expr e, void (*visit)(void *user, seer_expr load), void *user) {
  if (g->stamp[e.i] == g->stamp_now) return;
  g->stamp[e.i] = g->stamp_now;
  const seer_expr_node *node = seer_gen_at(g, e);
  for (uint32_t k = 0; k < 3; k++) {
    if (node->arg[k].i != 0) visit_loads(g, node->arg[k], visit, user);
  }
  if (node->op == SEER_EXPR_VAR && g->let_of[node->ref].i != 0)
    visit_loads(g, g->let_of[node->ref], visit, user);
  if (node->op != SEER_EXPR_LOAD) return;
  for (uint32_t k = 0; k < node->n_index; k++) {
    visit_loads(g, g->loop->expr.index[node->index0 + k], visit, user);
  }
  visit(user, e);
}

void seer_gen_visit_loads(
    seer_gen *g, seer_expr e, void (*visit)(void *user, seer_expr load), void *user) {
  g->stamp_now++;
  visit_loads(g, e, visit, user);
}

uint32_t seer_gen_chunk_lanes(const seer_gen_node *node, int64_t rest) {
  uint32_t lanes = node->lanes;
  while ((int64_t)lanes > rest) lanes /= 2;
  return lanes;
}

// ---- loops

typedef struct {
  int64_t copies;  // of statements
  int64_t serial;  // of bodies, by unrolled SERIAL loops
  bool has_loop;  // a loop that stays
  bool has_reduction;
} size;

typedef struct {
  seer_gen *g;
  uint32_t bytes;
} widest;

static void widen_by(void *user, seer_expr load) {
  widest *w = user;
  seer_dtype dtype = (seer_dtype)seer_gen_at(w->g, load)->dtype;
  uint32_t bytes = seer_dtype_bytes(dtype);
  if (dtype != SEER_DTYPE_I64 && bytes > w->bytes) w->bytes = bytes;  // I64: indices of a gather
}

// Bytes of the widest element that the statements of a block compute with.
static void element_bytes(seer_gen *g, uint32_t id, widest *w) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind == SEER_NODE_FOR) element_bytes(g, node->body, w);
    if (node->kind != SEER_NODE_STORE) continue;
    seer_dtype dtype = g->loop->buf[node->buf[0]].dtype;
    uint32_t bytes = seer_dtype_bytes(dtype);
    if (seer_dtype_format(dtype)) bytes = 4;  // computed in f32
    if (bytes > w->bytes) w->bytes = bytes;
    seer_gen_visit_loads(g, node->value[0], widen_by, w);
  }
}

static size plan_block(seer_gen *g, uint32_t id);

static size plan_for(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  seer_gen_node *plan = &g->node[id];
  size inner = plan_block(g, node->body), all = inner;
  plan->is_exact = true;
  plan->step = 1;
  plan->trip = node->extent;
  plan->mode = SEER_GEN_LOOP;
  plan->bound_low = node->extent;
  if (node->bound.i != 0) {
    int64_t low, high;
    if (!seer_expr_range(&g->loop->expr, node->bound, g->low, g->high, &low, &high))
      low = INT64_MIN;
    plan->bound_low = low;
    plan->is_exact = low >= node->extent;
  }
  switch (node->ann) {
    case SEER_LOOP_PARALLEL:
      break;
    case SEER_LOOP_UNROLL:
      if (node->extent * inner.copies <= MAX_COPIES) plan->mode = SEER_GEN_COPIES;
      break;
    case SEER_LOOP_VECTOR: {
      widest w = {.g = g};
      element_bytes(g, node->body, &w);
      uint32_t lanes = g->vector_bytes / (w.bytes ? w.bytes : 4);
      plan->lanes = (uint16_t)(lanes ? lanes : 1);
      plan->mode = SEER_GEN_LANES;
      int64_t chunks = 0;
      for (int64_t at = 0; at < node->extent && chunks <= MAX_CHUNKS; chunks++) {
        at += seer_gen_chunk_lanes(plan, node->extent - at);
      }
      plan->is_chunk_loop = chunks > MAX_CHUNKS;
      all.copies *= plan->is_chunk_loop ? 4 : chunks;
      break;
    }
    case SEER_LOOP_SERIAL: {
      // Around a loop that stays, or of plain stores, copies gain nothing.
      int64_t limit =
          node->max_unroll && !inner.has_loop && inner.has_reduction ? node->max_unroll : 1;
      if (node->extent == 1 ||
          (node->extent * inner.serial <= limit &&
              node->extent * inner.copies <= MAX_SERIAL_COPIES)) {
        plan->mode = SEER_GEN_COPIES;
        all.serial *= node->extent;
        break;
      }
      for (int64_t step = limit / inner.serial; step > 1 && plan->is_exact; step--) {
        if (node->extent % step == 0 && step * inner.copies <= MAX_PARTIAL_COPIES) {
          plan->step = (uint16_t)step;
          all.serial *= step;
          all.copies *= step;
          break;
        }
      }
      break;
    }
  }
  if (plan->mode == SEER_GEN_COPIES) all.copies *= node->extent;
  if (plan->mode == SEER_GEN_LOOP || plan->is_chunk_loop) all.has_loop = true;
  return all;
}

static size plan_block(seer_gen *g, uint32_t id) {
  size sum = {.copies = 0, .serial = 1};
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    size one = {.copies = 1, .serial = 1};
    if (node->kind == SEER_NODE_STORE && node->combiner != SEER_COMBINE_NONE)
      one.has_reduction = true;
    if (node->kind == SEER_NODE_FOR) one = plan_for(g, id);
    sum.copies += one.copies;
    sum.has_loop = sum.has_loop || one.has_loop;
    sum.has_reduction = sum.has_reduction || one.has_reduction;
    sum.serial = seer_max_i64(sum.serial, one.serial);
  }
  if (sum.copies == 0) sum.copies = 1;
  return sum;
}

// ---- buffers

static void refuse(seer_gen *g, uint32_t buf) { g->buf[buf].is_reg = false; }

static void look_at(seer_gen *g, uint32_t buf, const seer_expr *index, bool is_store) {
  if (!g->buf[buf].is_reg) return;
  const seer_loop_buf *decl = &g->loop->buf[buf];
  seer_gen_lin flat;
  memset(&flat, 0, sizeof(flat));
  for (uint32_t k = 0; k < decl->rank; k++) {
    seer_gen_lin at;
    int64_t low, high;
    if (!seer_gen_lin_of(g, index[k], &at) || !seer_gen_lin_add(&flat, &at, decl->stride[k])) {
      refuse(g, buf);
      return;
    }
    // A store outside of its dimension (a cut region) would hit another element.
    if (is_store && (!seer_gen_lin_range(g, &at, &low, &high) || low < 0 || high >= decl->dim[k]))
      refuse(g, buf);
  }
  for (uint32_t k = 0; k < flat.n; k++) {
    if (flat.term[k].value) refuse(g, buf);
  }
  if (flat.lane != 0 && flat.lane != 1) refuse(g, buf);
}

static void look_at_load(void *user, seer_expr load) {
  seer_gen *g = user;
  const seer_expr_node *node = seer_gen_at(g, load);
  look_at(g, node->ref, &g->loop->expr.index[node->index0], false);
}

static void plan_buffers(seer_gen *g, uint32_t id, uint32_t *writer) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    switch (node->kind) {
      case SEER_NODE_ALLOC:
        break;
      case SEER_NODE_LET:
        seer_gen_visit_loads(g, node->value[0], look_at_load, g);
        g->var[node->var] = (seer_gen_var){.kind = SEER_GEN_LET, .let = node->value[0]};
        break;
      case SEER_NODE_FOR: {
        const seer_gen_node *plan = &g->node[id];
        seer_gen_var *var = &g->var[node->var];
        if (node->bound.i != 0) seer_gen_visit_loads(g, node->bound, look_at_load, g);
        *var = (seer_gen_var){.kind = SEER_GEN_UNBOUND};
        uint32_t lanes = g->lanes;
        if (plan->mode == SEER_GEN_COPIES && (plan->is_exact || node->ann == SEER_LOOP_UNROLL)) {
          var->kind = SEER_GEN_HULL;
        } else if (plan->mode == SEER_GEN_LANES && !plan->is_chunk_loop) {
          var->kind = SEER_GEN_LANE;
          g->lanes = (uint32_t)seer_min_i64(node->extent, 256);
        }
        plan_buffers(g, node->body, writer);
        g->lanes = lanes;
        var->kind = SEER_GEN_UNBOUND;
        break;
      }
      case SEER_NODE_STORE:
        for (uint32_t k = 0; k < node->n_values; k++) {
          seer_gen_buf *buf = &g->buf[node->buf[k]];
          seer_gen_visit_loads(g, node->value[k], look_at_load, g);
          look_at(g, node->buf[k], node->index, true);
          if (writer[node->buf[k]] != 0 && writer[node->buf[k]] != node->stage + 1)
            buf->is_one_writer = false;
          writer[node->buf[k]] = node->stage + 1;
        }
        break;
    }
  }
}

typedef struct {
  seer_gen *g;
  uint32_t var;
  bool found;
} reg_search;

static void find_reg(void *user, seer_expr load) {
  reg_search *s = user;
  const seer_expr_node *node = seer_gen_at(s->g, load);
  if (!s->g->buf[node->ref].is_reg) return;
  if (seer_gen_index_depends(s->g, &s->g->loop->expr.index[node->index0], node->n_index, s->var))
    s->found = true;
}

// Then the loop must be copies.
bool seer_gen_chooses_register(seer_gen *g, uint32_t id, uint32_t var) {
  reg_search search = {.g = g, .var = var};
  for (; id != 0 && !search.found; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind == SEER_NODE_FOR) search.found = seer_gen_chooses_register(g, node->body, var);
    if (node->kind == SEER_NODE_LET) seer_gen_visit_loads(g, node->value[0], find_reg, &search);
    if (node->kind != SEER_NODE_STORE) continue;
    for (uint32_t k = 0; k < node->n_values && !search.found; k++) {
      seer_gen_visit_loads(g, node->value[k], find_reg, &search);
      bool is_reg = g->buf[node->buf[k]].is_reg;
      if (is_reg && seer_gen_index_depends(g, node->index, node->n_index, var)) search.found = true;
    }
  }
  return search.found;
}

static bool any_cut(const seer_gen *g) {
  for (uint32_t id = 1; id < g->loop->n_node; id++) {
    if (g->loop->node[id].kind == SEER_NODE_FOR && !g->node[id].is_exact) return true;
  }
  return false;
}

static void place(seer_gen *g, uint32_t id, uint64_t *top) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind == SEER_NODE_FOR) place(g, node->body, top);
    if (node->kind != SEER_NODE_ALLOC || g->buf[node->buf[0]].is_reg) continue;
    const seer_loop_buf *decl = &g->loop->buf[node->buf[0]];
    g->buf[node->buf[0]].scratch_offset = *top;
    *top = (*top + (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype) + 63) & ~UINT64_C(63);
  }
}

void seer_gen_plan(seer_gen *g) {
  const seer_loop *loop = g->loop;
  g->node = SEER_NEW_ARRAY(g->arena, seer_gen_node, loop->n_node);
  g->buf = SEER_NEW_ARRAY(g->arena, seer_gen_buf, loop->n_buf + 1);
  g->var = SEER_NEW_ARRAY(g->arena, seer_gen_var, loop->n_var + 1);
  g->let_of = SEER_NEW_ARRAY(g->arena, seer_expr, loop->n_var + 1);
  g->low = SEER_NEW_ARRAY(g->arena, int64_t, loop->n_var + 1);
  g->high = SEER_NEW_ARRAY(g->arena, int64_t, loop->n_var + 1);
  g->proof = SEER_NEW_ARRAY(g->arena, uint8_t, loop->expr.n + 1);
  g->full_proof = SEER_NEW_ARRAY(g->arena, bool, loop->expr.n + 1);
  g->stamp = SEER_NEW_ARRAY(g->arena, uint32_t, loop->expr.n + 1);
  g->memo_tick = SEER_NEW_ARRAY(g->arena, uint32_t, loop->expr.n + 1);
  g->memo_value = SEER_NEW_ARRAY(g->arena, seer_gen_value, loop->expr.n + 1);
  g->lanes = 1;
  g->lane_var = SEER_GEN_NO_VAR;
  for (uint32_t v = 0; v < loop->n_var; v++) {
    g->low[v] = loop->var[v].low;
    g->high[v] = loop->var[v].high;
  }
  for (uint32_t id = 1; id < loop->n_node; id++) {
    if (loop->node[id].kind == SEER_NODE_LET)
      g->let_of[loop->node[id].var] = loop->node[id].value[0];
  }
  g->is_planning = true;
  for (uint32_t p = 0; p < loop->n_phase; p++) plan_block(g, loop->phase[p]);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    g->buf[b].is_one_writer = true;
    g->buf[b].is_reg = decl->storage == SEER_STORE_LOCAL &&
        decl->n_elems * seer_dtype_bytes(decl->dtype) <= MAX_REG_VECTORS * (int64_t)g->vector_bytes;
  }
  uint32_t *writer = SEER_NEW_ARRAY(g->arena, uint32_t, loop->n_buf + 1);
  for (uint32_t p = 0; p < loop->n_phase; p++) plan_buffers(g, loop->phase[p], writer);
  for (uint32_t v = 0; v < loop->n_var; v++) g->var[v].kind = SEER_GEN_UNBOUND;
  g->is_planning = false;
  for (uint32_t id = 1; id < loop->n_node; id++) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind != SEER_NODE_FOR || node->ann != SEER_LOOP_SERIAL) continue;
    g->node[id].is_tight = seer_gen_is_tight_window(g, id);
    if (g->node[id].mode != SEER_GEN_COPIES) continue;
    g->node[id].is_register_choice =
        node->extent == 1 || seer_gen_chooses_register(g, node->body, node->var);
  }
  g->needs_sink = any_cut(g);
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    uint64_t top = g->needs_sink ? SINK_BYTES : 0;
    place(g, loop->phase[p], &top);
    if (top > g->scratch_bytes) g->scratch_bytes = top;
  }
}
