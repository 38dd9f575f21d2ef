// tree.c - a reduction that the items of a block share (frame.h, FLAT with tree_items): each adds
// up every so many-th element into a register of its own, then half of them add what the other half
// has, in the block's memory, until one is left.
//   parallel @b < results {
//     thread @t < items {
//       init $part[@t]; for @k < steps { let @e = @k * items + @t; sum $part[@t] = ... }
//       store $tree[@t] = $part[@t]
//     }
//     thread @u < items / 2 { sum $tree[@u] = $tree[@u + items / 2] }
//     ...
//     thread @u < 1 { sum $tree[@u] = $tree[@u + 1]; store $y[...] = $tree[@u] }
//   }
// The barriers between are barrier.c's.
#include "dag/scalar.h"
#include "space/lower/lower.h"

typedef struct {
  seer_lower *lower;
  uint32_t s, part, tree;
  int64_t items;
} sharer;

static const char *name_of(const sharer *h, const char *what) {
  return seer_arena_printf(h->lower->scratch, "%s.%s", h->lower->dag->stage[h->s].name, what);
}

static uint32_t add_buf(const sharer *h, const char *what, seer_loop_storage storage) {
  uint32_t out = h->lower->dag->stage[h->s].out[0];
  seer_loop_buf buf = {.name = name_of(h, what),
      .dtype = h->lower->dag->buf[out].dtype,
      .storage = storage,
      .dag_buf = out,
      .rank = 1,
      .dim = {h->items},
      .stride = {1},
      .n_elems = h->items};
  return seer_loop_add_buf(h->lower->loop, &buf);
}

static seer_expr load(const sharer *h, uint32_t buf, seer_expr at) {
  seer_loop *loop = h->lower->loop;
  return seer_expr_load_guarded(
      &loop->expr, loop->buf[buf].dtype, buf, &at, 1, (seer_expr){0}, (seer_expr){0});
}

static void store(const sharer *h, uint32_t buf, seer_expr at, seer_combiner combiner,
    seer_expr value, seer_lower_block *block) {
  seer_loop_node node = {
      .kind = SEER_NODE_STORE, .stage = h->s, .n_values = 1, .n_index = 1, .combiner = combiner};
  node.buf[0] = buf;
  node.index[0] = at;
  node.value[0] = value;
  seer_lower_append(h->lower, block, &node);
}

static seer_expr var_of(const sharer *h, const seer_lower_open *open) {
  return seer_expr_var(&h->lower->loop->expr, h->lower->loop->node[open->id].var);
}

static int64_t n_reduced(const sharer *h) {
  const seer_dag_stage *stage = &h->lower->dag->stage[h->s];
  int64_t n = 1;
  for (uint32_t a = 0; a < stage->n_reduce; a++) n *= stage->axis[stage->n_space + a].extent;
  return n;
}

// The element of step `step` of item `item`, by the axes of the reduction, the last one fastest.
static void deal_element(
    const sharer *h, const seer_expr *step, seer_expr item, seer_lower_block *block) {
  const seer_dag_stage *stage = &h->lower->dag->stage[h->s];
  int64_t extent[SEER_DAG_MAX_AXES], one[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < stage->n_reduce; a++) {
    extent[a] = stage->axis[stage->n_space + a].extent;
    one[a] = 1;
  }
  seer_linear element;
  seer_lower_number(h->lower, h->s, step, item, h->items, n_reduced(h), &element, block);
  seer_lower_deal(h->lower, h->s, &element, stage->n_space, stage->n_reduce, extent, one, block);
}

static void add_up_element(
    const sharer *h, const seer_expr *step, seer_expr item, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->s];
  deal_element(h, step, item, block);
  seer_expr axis[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++)
    axis[a] = seer_linear_emit(&lower->loop->expr, &lower->stage[h->s].dealt[a]);
  seer_expr value = seer_lower_expr(lower, h->s, lower->stage[h->s].body[0], axis, (seer_expr){0});
  store(h, h->part, item, stage->combiner, value, block);
}

// Each item's own part.
static void emit_parts(const sharer *h, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->s];
  seer_expr_pool *pool = &lower->loop->expr;
  int64_t n = n_reduced(h), steps = seer_ceil_div(n, h->items);
  seer_lower_open nest = seer_lower_open_for(lower, name_of(h, "item"),
      (seer_loop_node){.stage = h->s, .extent = h->items, .ann = SEER_LOOP_THREAD}, block);
  seer_lower_block body = {0, 0};
  seer_expr item = var_of(h, &nest);
  seer_dtype dtype = lower->loop->buf[h->part].dtype;
  seer_expr identity =
      seer_expr_scalar(pool, dtype, seer_combiner_identity(stage->combiner, 0, dtype));
  store(h, h->part, item, SEER_COMBINE_NONE, identity, &body);
  lower->loop->node[body.last].is_init = true;
  if (h->items == n) {
    add_up_element(h, NULL, item, &body);
  } else {
    seer_loop_node node = {
        .stage = h->s, .extent = steps, .ann = SEER_LOOP_SERIAL, .is_reduce = true};
    if (steps * h->items != n) {
      seer_expr above =
          seer_expr_binary(pool, SEER_EXPR_SUB, seer_expr_i(pool, n + h->items - 1), item);
      node.bound = seer_expr_binary(pool, SEER_EXPR_DIV, above, seer_expr_i(pool, h->items));
    }
    seer_lower_open loop = seer_lower_open_for(lower, name_of(h, "step"), node, &body);
    seer_lower_block inner = {0, 0};
    seer_expr step = var_of(h, &loop);
    add_up_element(h, &step, item, &inner);
    seer_lower_close_for(lower, &loop, &inner);
  }
  store(h, h->tree, item, SEER_COMBINE_NONE, load(h, h->part, item), &body);
  seer_lower_close_for(lower, &nest, &body);
}

static void emit_result(const sharer *h, seer_expr value, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->s];
  seer_loop_node node = {
      .kind = SEER_NODE_STORE, .stage = h->s, .n_values = 1, .n_index = stage->n_space};
  node.buf[0] = seer_lower_buf(lower, stage->out[0]);
  node.value[0] = value;
  for (uint32_t a = 0; a < stage->n_space; a++)
    node.index[a] = seer_linear_emit(&lower->loop->expr, &lower->stage[h->s].dealt[a]);
  seer_lower_append(lower, block, &node);
}

// Half of the items add what the other half has; the last one has the result.
static void emit_tree(const sharer *h, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  seer_expr_pool *pool = &lower->loop->expr;
  for (int64_t half = h->items / 2; half >= 1; half /= 2) {
    seer_lower_open nest = seer_lower_open_for(lower,
        name_of(h, seer_arena_printf(lower->scratch, "tree%" PRId64, half)),
        (seer_loop_node){.stage = h->s, .extent = half, .ann = SEER_LOOP_THREAD}, block);
    seer_lower_block body = {0, 0};
    seer_expr item = var_of(h, &nest);
    seer_expr other = seer_expr_binary(pool, SEER_EXPR_ADD, item, seer_expr_i(pool, half));
    store(h, h->tree, item, lower->dag->stage[h->s].combiner, load(h, h->tree, other), &body);
    if (half == 1) emit_result(h, load(h, h->tree, item), &body);
    seer_lower_close_for(lower, &nest, &body);
  }
}

seer_status seer_lower_tree(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  sharer h = {.lower = lower, .s = s, .items = lower->frame->stage[s].tree_items};
  h.part = add_buf(&h, "part", SEER_STORE_PRIVATE);
  h.tree = add_buf(&h, "tree", SEER_STORE_WORKGROUP);
  const uint32_t own[] = {h.part, h.tree};
  for (uint32_t k = 0; k < SEER_COUNT_OF(own); k++) {
    seer_loop_node alloc = {.kind = SEER_NODE_ALLOC, .stage = s, .n_values = 1};
    alloc.buf[0] = own[k];
    seer_lower_append(lower, block, &alloc);
  }
  emit_parts(&h, block);
  emit_tree(&h, block);
  return SEER_OK;
}
