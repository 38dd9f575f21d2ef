// tree.c - a reduction that the items of a block share (frame.h, FLAT with tree_items): each adds
// up every so many-th element into a register of its own, then half of them add what the other half
// has, in the block's memory, until one is left. That one makes the result, or what its elementwise
// reader makes of it.
//   parallel @b < results {
//     thread @t < items {
//       init $part[@t]; for @k < steps { let @e = @k * items + @t; sum $part[@t] = ... }
//     }
//     thread @t < items bound elements % items { let @e = steps * items + @t; sum $part[@t] = ... }
//     thread @t < items { store $tree[@t] = $part[@t] }
//     thread @u < items / 2 { sum $tree[@u] = $tree[@u + items / 2] }
//     ...
//     thread @u < 1 { sum $tree[@u] = $tree[@u + 1]; store $y[...] = $tree[@u] }
//   }
// The barriers between are barrier.c's.
#include "dag/scalar.h"
#include "space/lower/lower.h"

typedef struct {
  seer_lower *lower;
  uint32_t s, reader;  // the reduction, and what is stored
  uint32_t part, tree;
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

// Adds up element `first + step * items + item`, by the axes of the reduction, the last one
// fastest.
static void add_up_element(const sharer *h, int64_t first, const seer_expr *step, seer_expr item,
    seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->s];
  int64_t extent[SEER_DAG_MAX_AXES], one[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < stage->n_reduce; a++) {
    extent[a] = stage->axis[stage->n_space + a].extent;
    one[a] = 1;
  }
  seer_linear element = {.constant = first};
  bool ok = seer_linear_add_term(&element, item, 1);
  if (step) ok = ok && seer_linear_add_term(&element, *step, h->items);
  SEER_ASSERT(ok, "stage %u: two terms", h->s);
  seer_lower_deal(lower, h->s, &element, stage->n_space, stage->n_reduce, extent, one, block);
  seer_expr axis[SEER_DAG_MAX_AXES];
  for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++)
    axis[a] = seer_linear_emit(&lower->loop->expr, &lower->stage[h->s].dealt[a]);
  seer_expr value = seer_lower_expr(lower, h->s, lower->stage[h->s].body[0], axis, (seer_expr){0});
  store(h, h->part, item, stage->combiner, value, block);
}

typedef void (*emit_item)(const sharer *h, seer_expr item, seer_lower_block *block);

// The first `n` of the block's items.
static void emit_nest(
    const sharer *h, const char *name, int64_t n, emit_item emit, seer_lower_block *block) {
  seer_loop_node node = {.stage = h->s, .extent = h->items, .ann = SEER_LOOP_THREAD};
  if (n < h->items) node.bound = seer_expr_i(&h->lower->loop->expr, n);
  seer_lower_open nest = seer_lower_open_for(h->lower, name_of(h, name), node, block);
  seer_lower_block body = {0, 0};
  emit(h, var_of(h, &nest), &body);
  seer_lower_close_for(h->lower, &nest, &body);
}

// All steps in which every item has an element: their number is known, so that a compiler may begin
// the loads of several together.
static void emit_steps(const sharer *h, seer_expr item, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->s];
  int64_t steps = n_reduced(h) / h->items;
  seer_dtype dtype = lower->loop->buf[h->part].dtype;
  seer_expr identity = seer_expr_scalar(
      &lower->loop->expr, dtype, seer_combiner_identity(stage->combiner, 0, dtype));
  store(h, h->part, item, SEER_COMBINE_NONE, identity, block);
  lower->loop->node[block->last].is_init = true;
  if (steps == 0) return;
  if (steps == 1) {
    add_up_element(h, 0, NULL, item, block);
    return;
  }
  seer_loop_node node = {.stage = h->s,
      .extent = steps,
      .ann = SEER_LOOP_SERIAL,
      .is_reduce = true,
      .max_unroll = SEER_LOWER_LOADS_AT_ONCE};
  seer_lower_open loop = seer_lower_open_for(lower, name_of(h, "step"), node, block);
  seer_lower_block inner = {0, 0};
  seer_expr step = var_of(h, &loop);
  add_up_element(h, 0, &step, item, &inner);
  seer_lower_close_for(lower, &loop, &inner);
}

static void emit_rest(const sharer *h, seer_expr item, seer_lower_block *block) {
  int64_t n = n_reduced(h);
  add_up_element(h, n - n % h->items, NULL, item, block);
}

static void hand_over(const sharer *h, seer_expr item, seer_lower_block *block) {
  store(h, h->tree, item, SEER_COMBINE_NONE, load(h, h->part, item), block);
}

// Each item's own part.
static void emit_parts(const sharer *h, seer_lower_block *block) {
  int64_t rest = n_reduced(h) % h->items;
  emit_nest(h, "item", h->items, emit_steps, block);
  if (rest > 0) emit_nest(h, "rest", rest, emit_rest, block);
  emit_nest(h, "part", h->items, hand_over, block);
}

static void emit_result(const sharer *h, seer_expr value, seer_lower_block *block) {
  seer_lower *lower = h->lower;
  const seer_dag_stage *stage = &lower->dag->stage[h->reader];
  seer_loop_node node = {.kind = SEER_NODE_STORE,
      .stage = h->reader,
      .n_values = stage->n_values,
      .n_index = stage->n_space};
  for (uint32_t a = 0; a < stage->n_space; a++)
    node.index[a] = seer_linear_emit(&lower->loop->expr, &lower->stage[h->reader].dealt[a]);
  if (h->reader != h->s) lower->stage[h->s].shared = value;
  for (uint32_t v = 0; v < stage->n_values; v++) {
    node.buf[v] = seer_lower_buf(lower, stage->out[v]);
    node.value[v] = value;
    if (h->reader != h->s)
      node.value[v] = seer_lower_expr(
          lower, h->reader, lower->stage[h->reader].body[v], node.index, (seer_expr){0});
  }
  lower->stage[h->s].shared = (seer_expr){0};
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
  uint8_t partner = lower->sketch->stage[s].partner;
  sharer h = {.lower = lower,
      .s = partner == SEER_NO_STAGE ? s : partner,
      .reader = s,
      .items = lower->frame->stage[s].tree_items};
  for (uint32_t a = 0; a < lower->dag->stage[s].n_space; a++)
    lower->stage[h.s].dealt[a] = lower->stage[s].dealt[a];
  h.part = add_buf(&h, "part", SEER_STORE_PRIVATE);
  h.tree = add_buf(&h, "tree", SEER_STORE_WORKGROUP);
  const uint32_t own[] = {h.part, h.tree};
  for (uint32_t k = 0; k < SEER_COUNT_OF(own); k++) {
    seer_loop_node alloc = {.kind = SEER_NODE_ALLOC, .stage = h.s, .n_values = 1};
    alloc.buf[0] = own[k];
    seer_lower_append(lower, block, &alloc);
  }
  emit_parts(&h, block);
  emit_tree(&h, block);
  return SEER_OK;
}
