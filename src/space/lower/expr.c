// expr.c - bodies of stages to expressions of the loop IR. Inlined stages are substituted first,
// over axes (the flat bodies); then axes become sums of loop variables and buffers of the DAG
// become buffers of the loop IR: a region buffer is addressed relative to its start, a weight that
// is read by plain axes is addressed by the loops themselves.
#include <string.h>

#include "dag/access.h"
#include "space/lower/lower.h"

// ---- inlining

typedef struct {
  seer_lower *lower;
  seer_expr *var_map;  // by axis of the DAG
  seer_expr predicate;  // of the guarded load that is being replaced; 0: none
} inliner;

static seer_expr zero_of(seer_expr_pool *pool, seer_dtype dtype) {
  return seer_dtype_is_float(dtype) ? seer_expr_f(pool, dtype, 0) : seer_expr_int(pool, dtype, 0);
}

static seer_expr flat_copy(seer_lower *lower, seer_expr e, seer_expr *var_map, seer_expr predicate);

static seer_expr on_flat_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  inliner *in = user;
  seer_lower *lower = in->lower;
  const seer_dag_buf *buf = &lower->dag->buf[load->ref];
  seer_dtype dtype = (seer_dtype)load->dtype;
  // Where the outer guard is false nothing may be touched; what stands here is not used then.
  seer_expr guard = predicate;
  if (in->predicate.i != 0) {
    guard =
        predicate.i ? seer_expr_binary(to, SEER_EXPR_AND, in->predicate, predicate) : in->predicate;
    if (predicate.i == 0) otherwise = zero_of(to, dtype);
  }
  bool is_inline =
      buf->kind == SEER_BUF_STAGE && lower->frame->stage[buf->stage].place == SEER_PLACE_INLINE;
  if (!is_inline)
    return seer_expr_load_guarded(to, dtype, load->ref, index, load->n_index, guard, otherwise);
  const seer_dag_stage *stage = &lower->dag->stage[buf->stage];
  seer_expr kept[SEER_DAG_MAX_AXES];
  for (uint32_t k = 0; k < stage->n_space; k++) {
    kept[k] = in->var_map[stage->var0 + k];
    // Whatever the index of an axis of extent 1 says, it is 0.
    in->var_map[stage->var0 + k] = stage->axis[k].extent == 1 ? seer_expr_i(to, 0) : index[k];
  }
  seer_expr body = flat_copy(lower, stage->body[buf->value], in->var_map, guard);
  for (uint32_t k = 0; k < stage->n_space; k++) in->var_map[stage->var0 + k] = kept[k];
  if (predicate.i == 0) return body;
  const seer_expr_node made = *seer_expr_at(to, body);
  if (made.op == SEER_EXPR_LOAD && made.arg[0].i == guard.i &&
      guard.i == predicate.i) {  // a mere copy
    seer_expr again[SEER_MAX_RANK];
    memcpy(again, &to->index[made.index0], made.n_index * sizeof(seer_expr));
    return seer_expr_load_guarded(to, dtype, made.ref, again, made.n_index, guard, otherwise);
  }
  return seer_expr_select(to, predicate, body, otherwise);
}

static seer_expr flat_copy(
    seer_lower *lower, seer_expr e, seer_expr *var_map, seer_expr predicate) {
  inliner in = {.lower = lower, .var_map = var_map, .predicate = predicate};
  return seer_expr_copy(
      &lower->flat, &lower->dag->expr, e, var_map, lower->dag->n_var, on_flat_load, &in);
}

typedef struct {
  seer_lower *lower;
  seer_lower_stage *stage;
  size_t cap;
} load_list;

static void note_load(void *user, seer_expr e) {
  load_list *list = user;
  const seer_dag *dag = list->lower->dag;
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op != SEER_EXPR_LOAD || dag->buf[node->ref].kind != SEER_BUF_STAGE) return;
  seer_lower_stage *stage = list->stage;
  for (uint32_t k = 0; k < stage->n_load; k++) {
    if (stage->load[k].i == e.i) return;
  }
  stage->load = SEER_GROW(list->lower->scratch, seer_expr, stage->load, stage->n_load, &list->cap);
  stage->load[stage->n_load++] = e;
}

// Whether all that a GPU's tile reads has been fetched, whatever of the tile is needed. Not under a
// guard: what is fetched then lies where the guard has it, and not beyond.
static bool reads_fetched(const seer_lower *lower, uint32_t stage) {
  if (!seer_lower_is_private(lower, stage)) return false;
  const seer_access_table *table = lower->dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_dag_buf *buf = &lower->dag->buf[table->load[k].buf];
    bool is_fetched = buf->kind == SEER_BUF_STAGE && seer_lower_is_fetch(lower, buf->stage);
    if (!is_fetched || table->load[k].is_guarded) return false;
  }
  return true;
}

void seer_lower_flatten(seer_lower *lower) {
  const seer_dag *dag = lower->dag;
  seer_expr_pool_init(&lower->flat, lower->scratch);
  seer_expr *var_map = SEER_NEW_ARRAY(lower->scratch, seer_expr, dag->n_var + 1);
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_place place = lower->frame->stage[s].place;
    if (place == SEER_PLACE_CONST || place == SEER_PLACE_NONE) continue;
    load_list list = {.lower = lower, .stage = &lower->stage[s]};
    lower->stage[s].is_full = reads_fetched(lower, s);
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++) {
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_load, &list);
      if (place == SEER_PLACE_INLINE) continue;
      lower->stage[s].body[v] = flat_copy(lower, dag->stage[s].body[v], var_map, (seer_expr){0});
    }
  }
}

// ---- buffers

static void local_layout(seer_lower *lower, uint32_t stage, seer_loop_buf *buf) {
  const seer_frame_stage *frame = &lower->frame->stage[stage];
  for (uint32_t k = 0; k < buf->rank; k++) buf->dim[k] = frame->region[k];
  // An item's registers are there for all that its loops come to, also where the axis ends before.
  for (uint32_t l = 0; l < frame->n_loop && seer_lower_is_private(lower, stage); l++) {
    const seer_frame_loop *loop = &frame->loop[l];
    if (loop->is_reduce) continue;
    buf->dim[loop->axis] = seer_max_i64(buf->dim[loop->axis], loop->coef * loop->extent);
  }
  int64_t row = buf->rank ? buf->dim[buf->rank - 1] : 1;
  bool is_cpu = lower->list->target->kind == SEER_TARGET_CPU;
  if (is_cpu) row = seer_loop_local_pitch(buf->dtype, row, lower->list->target->vector_bytes);
  if (seer_lower_is_fetch(lower, stage)) row += frame->flat.pad;
  seer_lower_row_major(buf, row);
}

// A constant stage's value that is not read in loop order: as it is, dense.
static const seer_pack *whole_pack(seer_lower *lower, uint32_t dag_buf) {
  const seer_dag_buf *from = &lower->dag->buf[dag_buf];
  seer_pack *pack = SEER_NEW(lower->loop->arena, seer_pack);
  pack->source_buf = dag_buf;
  pack->n = from->rank;
  for (uint32_t k = 0; k < from->rank; k++)
    pack->dim[k] = (seer_pack_dim){(uint8_t)k, 1, from->dim[k]};
  return pack;
}

// Two of what it was. Each begins where the longest access of an item may.
static void double_buf(seer_loop_buf *buf) {
  int64_t align = SEER_TARGET_ITEMS_ALIGN / (int64_t)seer_dtype_bytes(buf->dtype);
  int64_t apart = seer_ceil_div(buf->n_elems, align) * align;
  SEER_ASSERT(buf->rank < SEER_MAX_RANK, "buffer %s: rank %u", buf->name, buf->rank);
  memmove(&buf->dim[1], &buf->dim[0], buf->rank * sizeof(buf->dim[0]));
  memmove(&buf->stride[1], &buf->stride[0], buf->rank * sizeof(buf->stride[0]));
  buf->dim[0] = 2;
  buf->stride[0] = apart;
  buf->n_elems += apart;
  buf->rank++;
  buf->is_late = true;
}

uint32_t seer_lower_halved(const seer_lower *lower, uint32_t fetch, seer_expr *index, uint32_t n) {
  seer_expr half = lower->stage[fetch].half;
  if (half.i == 0) return n;
  memmove(&index[1], &index[0], n * sizeof(index[0]));
  index[0] = half;
  return n + 1;
}

uint32_t seer_lower_buf(seer_lower *lower, uint32_t dag_buf) {
  if (lower->buf_of[dag_buf] != 0) return lower->buf_of[dag_buf] - 1;
  const seer_dag_buf *from = &lower->dag->buf[dag_buf];
  if (from->kind == SEER_BUF_STAGE && lower->frame->stage[from->stage].place == SEER_PLACE_AT &&
      !seer_lower_has_region(lower, from->stage)) {
    return seer_lower_buf(lower, lower->dag->stage[lower->frame->stage[from->stage].at].out[0]);
  }
  seer_loop_buf buf = {
      .name = from->name, .dtype = from->dtype, .dag_buf = dag_buf, .rank = from->rank};
  memcpy(buf.dim, from->dim, sizeof(buf.dim));
  seer_place place =
      from->kind == SEER_BUF_STAGE ? lower->frame->stage[from->stage].place : SEER_PLACE_NONE;
  if (from->kind != SEER_BUF_STAGE) {
    buf.storage = SEER_STORE_INPUT;
    seer_lower_row_major(&buf, from->pitch);
  } else if (place == SEER_PLACE_CONST) {
    buf.storage = SEER_STORE_PACKED;
    buf.pack = whole_pack(lower, dag_buf);
    seer_lower_row_major(&buf, from->rank ? from->dim[from->rank - 1] : 1);
  } else if (place == SEER_PLACE_AT) {
    buf.storage = seer_lower_is_fetch(lower, from->stage) ? SEER_STORE_WORKGROUP
        : seer_lower_is_private(lower, from->stage)       ? SEER_STORE_PRIVATE
                                                          : SEER_STORE_LOCAL;
    local_layout(lower, from->stage, &buf);
    bool is_copied = buf.storage == SEER_STORE_WORKGROUP &&
        lower->frame->stage[lower->frame->stage[from->stage].at].is_copied;
    if (is_copied) double_buf(&buf);
  } else {
    SEER_ASSERT(place == SEER_PLACE_ROOT, "buffer %s of a stage that is not computed", from->name);
    buf.storage = from->is_output ? SEER_STORE_OUTPUT : SEER_STORE_SHARED;
    seer_lower_row_major(&buf, from->pitch);
  }
  lower->buf_of[dag_buf] = seer_loop_add_buf(lower->loop, &buf) + 1;
  return lower->buf_of[dag_buf] - 1;
}

// ---- to loop IR

typedef struct {
  seer_lower *lower;
  uint32_t stage;
  seer_expr inside;  // 0: everywhere
} emitter;

static seer_expr fault_guard(seer_lower *lower, seer_expr predicate) {
  seer_expr_pool *pool = &lower->loop->expr;
  const seer_expr_node node = *seer_expr_at(pool, predicate);
  if (node.op == SEER_EXPR_AND) {
    seer_expr first = fault_guard(lower, node.arg[0]);
    if (first.i != node.arg[0].i) return seer_expr_binary(pool, SEER_EXPR_AND, first, node.arg[1]);
    return seer_expr_binary(pool, SEER_EXPR_AND, first, fault_guard(lower, node.arg[1]));
  }
  if (node.op != SEER_EXPR_LT || !seer_lower_is_faulty(lower, SEER_LOWER_FAULT_GUARD_OFF))
    return predicate;
  return seer_expr_binary(pool, SEER_EXPR_LE, node.arg[0], node.arg[1]);
}

static seer_expr on_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  emitter *em = user;
  seer_lower *lower = em->lower;
  const seer_dag_buf *from = &lower->dag->buf[load->ref];
  seer_expr at[SEER_MAX_RANK];
  for (uint32_t k = 0; k < load->n_index; k++) {
    at[k] = from->dim[k] == 1 ? seer_expr_i(to, 0) : seer_lower_simplify(lower, index[k]);
  }
  if (predicate.i != 0) {
    predicate = fault_guard(lower, predicate);
    if (seer_lower_is_faulty(lower, SEER_LOWER_FAULT_NO_GUARD)) predicate.i = 0;
  }
  if (em->inside.i != 0) {
    predicate =
        predicate.i ? seer_expr_binary(to, SEER_EXPR_AND, em->inside, predicate) : em->inside;
    if (otherwise.i == 0) otherwise = zero_of(to, (seer_dtype)load->dtype);
  }
  bool is_stage = from->kind == SEER_BUF_STAGE;
  if (is_stage && lower->stage[from->stage].shared.i != 0) {
    seer_expr sum = lower->stage[from->stage].shared;
    return predicate.i ? seer_expr_select(to, predicate, sum, otherwise) : sum;
  }
  seer_place place = is_stage ? lower->frame->stage[from->stage].place : SEER_PLACE_NONE;
  if (from->kind == SEER_BUF_WEIGHT || place == SEER_PLACE_CONST) {
    uint32_t n = 0, buf;
    seer_expr order[SEER_MAX_RANK];
    if (seer_lower_packed(lower, em->stage, load->ref, at, load->n_index, &buf, order, &n)) {
      // Beyond its ends a pack of what is fetched has zeros.
      if (seer_lower_is_fetch(lower, em->stage)) {
        predicate = lower->ahead;
        otherwise = predicate.i ? zero_of(to, (seer_dtype)load->dtype) : (seer_expr){0};
      }
      return seer_expr_load_guarded(
          to, (seer_dtype)load->dtype, buf, order, n, predicate, otherwise);
    }
  }
  if (is_stage && seer_lower_has_region(lower, from->stage)) {
    const seer_lower_stage *maker = &lower->stage[from->stage];
    for (uint32_t k = 0; k < load->n_index; k++) {
      at[k] =
          seer_lower_simplify(lower, seer_expr_binary(to, SEER_EXPR_SUB, at[k], maker->start[k]));
    }
  }
  uint32_t n = is_stage ? seer_lower_halved(lower, from->stage, at, load->n_index) : load->n_index;
  return seer_expr_load_guarded(
      to, (seer_dtype)load->dtype, seer_lower_buf(lower, load->ref), at, n, predicate, otherwise);
}

seer_expr seer_lower_expr(
    seer_lower *lower, uint32_t stage, seer_expr e, const seer_expr *axis, seer_expr inside) {
  const seer_dag_stage *s = &lower->dag->stage[stage];
  seer_expr *var_map = SEER_NEW_ARRAY(lower->scratch, seer_expr, lower->dag->n_var + 1);
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++) var_map[s->var0 + k] = axis[k];
  if (lower->ahead.i != 0)
    inside = inside.i ? seer_expr_binary(&lower->loop->expr, SEER_EXPR_AND, lower->ahead, inside)
                      : lower->ahead;
  emitter em = {.lower = lower, .stage = stage, .inside = inside};
  seer_expr made =
      seer_expr_copy(&lower->loop->expr, &lower->flat, e, var_map, lower->dag->n_var, on_load, &em);
  return seer_lower_simplify(lower, made);
}
