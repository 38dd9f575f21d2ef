// repack.c - a weight that is read as it lies -> the same weight read in another schedule's packed
// form. Where the pack's strides are the place values of a mixed radix, an element's index in the
// source is a number and its pack indices are that number's digits: quotients and remainders.
#include <string.h>

#include "space/loop.h"

// The pack's dimensions of source dimension `d`, least stride first; false where they are no mixed
// radix that names 0 .. dim - 1.
static bool is_radix(const seer_pack *pack, uint32_t d, int64_t dim) {
  int64_t place = 1;
  for (uint32_t step = 0; step < pack->n; step++) {
    const seer_pack_dim *digit = NULL;
    for (uint32_t k = 0; k < pack->n; k++) {
      const seer_pack_dim *p = &pack->dim[k];
      if (p->source_dim == d && p->extent > 1 && p->stride == place) {
        if (digit) return false;
        digit = p;
      }
    }
    if (!digit) break;
    if (__builtin_mul_overflow(place, digit->extent, &place)) return false;
  }
  int64_t all = 1;
  for (uint32_t k = 0; k < pack->n; k++)
    if (pack->dim[k].source_dim == d) all *= pack->dim[k].extent;
  return place == all && place >= dim;
}

bool seer_pack_is_radix(const seer_pack *pack, const int64_t *dim, uint32_t rank) {
  for (uint32_t k = 0; k < pack->n; k++)
    if (pack->dim[k].source_dim >= rank) return false;
  for (uint32_t d = 0; d < rank; d++)
    if (!is_radix(pack, d, dim[d])) return false;
  return true;
}

typedef struct {
  const seer_loop *loop;
  uint32_t buf;
  const seer_pack *pack;
  int64_t dim[SEER_MAX_RANK];  // of the source
} repacking;

static seer_expr on_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const repacking *r = user;
  seer_dtype dtype = (seer_dtype)load->dtype;
  if (load->ref != r->buf)
    return seer_expr_load_guarded(to, dtype, load->ref, index, load->n_index, predicate, otherwise);
  seer_expr at[SEER_MAX_RANK];
  for (uint32_t k = 0; k < r->pack->n; k++) {
    const seer_pack_dim *digit = &r->pack->dim[k];
    bool is_first = digit->stride * digit->extent >= r->dim[digit->source_dim];
    at[k] = index[digit->source_dim];
    if (digit->stride != 1)
      at[k] = seer_expr_binary(to, SEER_EXPR_DIV, at[k], seer_expr_i(to, digit->stride));
    if (!is_first)
      at[k] = seer_expr_binary(to, SEER_EXPR_MOD, at[k], seer_expr_i(to, digit->extent));
    if (digit->extent == 1) at[k] = seer_expr_i(to, 0);
  }
  return seer_expr_load_guarded(to, dtype, load->ref, at, r->pack->n, predicate, otherwise);
}

void seer_loop_repack(seer_loop *loop, uint32_t b, const seer_pack *pack) {
  seer_loop_buf *buf = &loop->buf[b];
  SEER_ASSERT(buf->storage == SEER_STORE_INPUT && pack->source_buf == buf->dag_buf &&
          seer_pack_is_radix(pack, buf->dim, buf->rank),
      "$%s cannot be read in this form", buf->name);
  repacking r = {.loop = loop, .buf = b, .pack = pack};
  memcpy(r.dim, buf->dim, sizeof r.dim);
  // Expressions are never changed in place, and equal ones are one: they move to a new pool.
  seer_expr_pool old = loop->expr;
  seer_expr_pool_init(&loop->expr, loop->arena);
  for (uint32_t k = 1; k < loop->n_node; k++) {
    seer_loop_node *node = &loop->node[k];
    seer_expr *part[1 + SEER_DAG_MAX_VALUES + SEER_MAX_RANK];
    uint32_t n = 0;
    part[n++] = &node->bound;
    for (uint32_t v = 0; v < SEER_DAG_MAX_VALUES; v++) part[n++] = &node->value[v];
    for (uint32_t d = 0; d < SEER_MAX_RANK; d++) part[n++] = &node->index[d];
    for (uint32_t p = 0; p < n; p++)
      if (part[p]->i != 0)
        *part[p] = seer_expr_copy(&loop->expr, &old, *part[p], NULL, 0, on_load, &r);
  }
  buf->storage = SEER_STORE_PACKED;
  buf->pack = seer_arena_memdup(loop->arena, pack, sizeof *pack);
  buf->rank = (uint8_t)pack->n;
  int64_t stride = 1;
  for (uint32_t k = pack->n; k-- > 0;) {
    buf->dim[k] = pack->dim[k].extent;
    buf->stride[k] = stride;
    stride *= buf->dim[k];
  }
  buf->n_elems = stride;
}
