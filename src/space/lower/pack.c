// pack.c - weights in the order in which a schedule reads them: of a tiled stage that of its loops,
// those of items last, which read neighbours at the same time; of what a GPU's block fetches, all
// of a step's elements one behind the other, in the order in which they are dealt out, zeros where
// the weight ends, and the steps of a block behind each other.
#include <string.h>

#include "space/lower/lower.h"

static const seer_loop_node *loop_of(const seer_lower *lower, uint32_t var) {
  return &lower->loop->node[lower->def[var]];
}

// ---- of loops

// Dimensions of the pack for the loops around this place that have a stride in a source dimension.
static void add_loops(const seer_lower *lower, const int64_t *stride, const uint8_t *dim_of,
    seer_pack *out, seer_expr *out_index) {
  for (int of_items = 0; of_items < 2; of_items++) {
    for (uint32_t place = 0; place < lower->n_for; place++) {
      const seer_loop_node *loop = loop_of(lower, lower->scope[place]);
      if (stride[place] == 0 || (loop->ann == SEER_LOOP_THREAD) != of_items) continue;
      int64_t extent = lower->loop->var[lower->scope[place]].high + 1;
      out_index[out->n] = seer_expr_var(&lower->loop->expr, lower->scope[place]);
      out->dim[out->n++] = (seer_pack_dim){dim_of[place], stride[place], extent};
    }
  }
}

// Describes the order in which the loops around this place read weight `dag_buf` at `index`; false:
// not by plain axes.
static bool pack_of(seer_lower *lower, uint32_t dag_buf, const seer_expr *index, uint32_t n_index,
    seer_pack *out, seer_expr *out_index) {
  seer_expr_pool *pool = &lower->loop->expr;
  int64_t stride[256] = {0};
  uint8_t dim_of[256] = {0};
  uint32_t n_found = 0;
  for (uint32_t d = 0; d < n_index; d++) {
    seer_linear at;
    if (!seer_linear_from(pool, index[d], &at) || at.constant != 0) return false;
    for (uint32_t t = 0; t < at.n; t++) {
      const seer_expr_node *node = seer_expr_at(pool, at.term[t].atom);
      if (node->op != SEER_EXPR_VAR || at.term[t].coef < 0) return false;
      uint32_t place = 0;
      while (place < lower->n_for && lower->scope[place] != node->ref) place++;
      if (place == lower->n_for || stride[place] != 0) return false;  // a LET, or in two indices
      stride[place] = at.term[t].coef;
      dim_of[place] = (uint8_t)d;
      n_found++;
    }
  }
  if (n_found > SEER_MAX_RANK) return false;
  *out = (seer_pack){.source_buf = dag_buf};
  add_loops(lower, stride, dim_of, out, out_index);
  return true;
}

static bool same_pack(const seer_pack *a, const seer_pack *b) {
  if (a->source_buf != b->source_buf || a->n != b->n) return false;
  for (uint32_t k = 0; k < a->n; k++) {
    bool equal = a->dim[k].source_dim == b->dim[k].source_dim &&
        a->dim[k].stride == b->dim[k].stride && a->dim[k].extent == b->dim[k].extent;
    if (!equal) return false;
  }
  return true;
}

static uint32_t packed_buf(seer_lower *lower, const seer_pack *pack) {
  for (uint32_t b = 0; b < lower->loop->n_buf; b++) {
    const seer_loop_buf *buf = &lower->loop->buf[b];
    if (buf->storage == SEER_STORE_PACKED && same_pack(buf->pack, pack)) return b;
  }
  const seer_dag_buf *from = &lower->dag->buf[pack->source_buf];
  seer_loop_buf buf = {.name = seer_arena_printf(lower->scratch, "%s.pack", from->name),
      .dtype = from->dtype,
      .storage = SEER_STORE_PACKED,
      .dag_buf = pack->source_buf,
      .rank = (uint8_t)pack->n};
  seer_pack *kept = seer_arena_memdup(lower->loop->arena, pack, sizeof(*pack));
  for (uint32_t k = 0; k < pack->n; k++) buf.dim[k] = pack->dim[k].extent;
  seer_lower_row_major(&buf, pack->n ? buf.dim[pack->n - 1] : 1);
  for (uint32_t k = 0; k + 1 < pack->n;
       k++) {  // planted fault: what another schedule's order would look like
    seer_pack_dim *x = &kept->dim[k], *y = &kept->dim[k + 1];
    if (x->source_dim != y->source_dim || x->extent == 1 || y->extent == 1) continue;
    if (!seer_lower_is_faulty(lower, SEER_LOWER_FAULT_STALE_PACK)) break;
    int64_t other = x->stride;
    x->stride = y->stride;
    y->stride = other;
  }
  buf.pack = kept;
  return seer_loop_add_buf(lower->loop, &buf);
}

// ---- of fetches

// Splits a source index into the loops around the fetch, which become dimensions of the pack, and
// what its own loops and LETs make of it.
static bool split_index(seer_lower *lower, uint32_t stage, uint32_t d, seer_expr index,
    int64_t *stride, uint8_t *dim_of, seer_linear *out_own) {
  seer_expr_pool *pool = &lower->loop->expr;
  seer_linear at;
  if (!seer_linear_from(pool, index, &at) || at.constant != 0) return false;
  *out_own = (seer_linear){.constant = 0};
  for (uint32_t t = 0; t < at.n; t++) {
    const seer_expr_node *node = seer_expr_at(pool, at.term[t].atom);
    if (node->op != SEER_EXPR_VAR || at.term[t].coef < 0) return false;
    uint32_t place = 0;
    while (place < lower->n_for && lower->scope[place] != node->ref) place++;
    bool is_around = place < lower->n_for && loop_of(lower, node->ref)->stage != stage;
    bool is_own = loop_of(lower, node->ref)->stage == stage;
    if (!is_around && !is_own) return false;  // where a region starts, as a LET
    if (is_around && stride[place] != 0) return false;
    if (is_around) {
      stride[place] = at.term[t].coef;
      dim_of[place] = (uint8_t)d;
    } else if (!seer_linear_add_term(out_own, at.term[t].atom, at.term[t].coef)) {
      return false;
    }
  }
  return true;
}

// A fetch of the weight itself, its axes in any order.
static bool pack_of_fetch(seer_lower *lower, uint32_t s, uint32_t dag_buf, const seer_expr *index,
    uint32_t n_index, seer_pack *out, seer_expr *out_index) {
  const seer_dag *dag = lower->dag;
  const seer_dag_stage *stage = &dag->stage[s];
  const seer_expr_node *body = seer_expr_at(&dag->expr, stage->body[0]);
  if (body->op != SEER_EXPR_LOAD || body->ref != dag_buf || body->arg[0].i != 0) return false;
  int64_t stride[256] = {0};
  uint8_t dim_of[256] = {0}, dim_of_axis[SEER_DAG_MAX_AXES] = {0};
  seer_linear own[SEER_DAG_MAX_AXES];
  uint32_t n = 0;
  for (uint32_t d = 0; d < n_index; d++) {
    const seer_expr_node *axis = seer_expr_at(&dag->expr, dag->expr.index[body->index0 + d]);
    if (axis->op != SEER_EXPR_VAR) return false;
    uint32_t a = axis->ref - stage->var0;
    dim_of_axis[a] = (uint8_t)d;
    if (!split_index(lower, s, d, index[d], stride, dim_of, &own[a])) return false;
  }
  *out = (seer_pack){.source_buf = dag_buf};
  for (uint32_t place = 0; place < lower->n_for; place++) n += stride[place] != 0;
  for (uint32_t a = 0; a < stage->n_space; a++) n += lower->frame->stage[s].region[a] > 1;
  if (n > SEER_MAX_RANK) return false;
  add_loops(lower, stride, dim_of, out, out_index);
  for (uint32_t a = 0; a < stage->n_space; a++) {
    int64_t extent = lower->frame->stage[s].region[a];
    if (extent == 1) continue;
    out_index[out->n] = seer_linear_emit(&lower->loop->expr, &own[a]);
    out->dim[out->n++] = (seer_pack_dim){dim_of_axis[a], 1, extent};
  }
  return true;
}

bool seer_lower_packed(seer_lower *lower, uint32_t stage, uint32_t dag_buf, const seer_expr *index,
    uint32_t n_index, uint32_t *out_buf, seer_expr *out_index, uint32_t *out_n) {
  seer_pack pack;
  if (!lower->sketch->stage[stage].pack_weights) return false;
  bool is_packed = seer_lower_is_fetch(lower, stage)
      ? pack_of_fetch(lower, stage, dag_buf, index, n_index, &pack, out_index)
      : pack_of(lower, dag_buf, index, n_index, &pack, out_index);
  if (!is_packed) return false;
  *out_buf = packed_buf(lower, &pack);
  *out_n = pack.n;
  return true;
}
