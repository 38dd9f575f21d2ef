// flat.c - a FLAT stage (frame.h): its groups of neighbours are dealt out to a GPU's items, step by
// step; which elements those are is read off the group's number by divisions.
//   parallel @b < steps {                       at the root; of a stage that is AT: for
//     thread @t < items bound groups - @b * items {
//       let @e = @b * items + @t
//       let @y = @e / columns, @x = @e % columns
//       [reductions] vector @v < width { store [@y, @x * width + @v] }
// Of a transform's tile an item makes all elements: unroll @i < step around the vector loop.
#include "space/lower/lower.h"

static const char *name_of(seer_lower *lower, uint32_t s, const char *what) {
  return seer_arena_printf(lower->scratch, "%s.%s", lower->dag->stage[s].name, what);
}

static seer_expr var_of(seer_lower *lower, const seer_lower_open *open) {
  return seer_expr_var(&lower->loop->expr, lower->loop->node[open->id].var);
}

// state->dealt of the group in hand, its neighbours at the first. Group: a value of 0 ..
// n_groups-1.
static void deal(seer_lower *lower, uint32_t s, const seer_linear *group, seer_lower_block *block) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  uint32_t n_space = lower->dag->stage[s].n_space;
  int64_t length[SEER_DAG_MAX_AXES], step[SEER_DAG_MAX_AXES];
  for (uint32_t d = 0; d < n_space; d++) {
    step[d] = lower->sketch->stage[s].step[d] * (d + 1 == n_space ? frame->flat.width : 1);
    length[d] = seer_ceil_div(frame->region[d], step[d]);
  }
  seer_lower_deal(lower, s, group, 0, n_space, length, step, block);
}

static seer_status deal_items(seer_lower *lower, uint32_t s, const seer_expr *step,
    seer_lower_emit emit, seer_lower_block *block) {
  const seer_frame_flat *flat = &lower->frame->stage[s].flat;
  seer_expr_pool *pool = &lower->loop->expr;
  seer_loop_node node = {.stage = s, .extent = flat->items, .ann = SEER_LOOP_THREAD};
  if (step && flat->n_steps * flat->items != flat->n_groups) {
    seer_linear left = {.constant = flat->n_groups};
    bool ok = seer_linear_add_term(&left, *step, -flat->items);
    SEER_ASSERT(ok, "stage %u: one term", s);
    node.bound = seer_linear_emit(pool, &left);
  }
  seer_lower_open open = seer_lower_open_for(lower, name_of(lower, s, "item"), node, block);
  seer_lower_block body = {0, 0};
  lower->stage[s].turn = step ? *step : (seer_expr){0};
  lower->stage[s].item = var_of(lower, &open);
  seer_linear group;
  seer_lower_number(
      lower, s, step, var_of(lower, &open), flat->items, flat->n_groups, &group, &body);
  deal(lower, s, &group, &body);
  lower->stage[s].is_dealt = true;
  seer_status status = emit(lower, s, &body);
  lower->stage[s].is_dealt = false;
  seer_lower_close_for(lower, &open, &body);
  return status;
}

// A block for each result, whose items share the sum.
static seer_status deal_results(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  const seer_frame_flat *flat = &lower->frame->stage[s].flat;
  seer_linear group = {.constant = 0};
  if (flat->n_groups == 1) {
    deal(lower, s, &group, block);
    return seer_lower_tree(lower, s, block);
  }
  seer_loop_node node = {.stage = s, .extent = flat->n_groups, .ann = SEER_LOOP_PARALLEL};
  seer_lower_open open = seer_lower_open_for(lower, name_of(lower, s, "block"), node, block);
  seer_lower_block body = {0, 0};
  bool ok = seer_linear_add_term(&group, var_of(lower, &open), 1);
  SEER_ASSERT(ok, "stage %u: one term", s);
  deal(lower, s, &group, &body);
  seer_status status = seer_lower_tree(lower, s, &body);
  seer_lower_close_for(lower, &open, &body);
  return status;
}

seer_status seer_lower_flat(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  if (frame->tree_items > 0) return deal_results(lower, s, block);
  if (frame->flat.n_steps == 1) return deal_items(lower, s, NULL, emit, block);
  bool is_root = frame->place == SEER_PLACE_ROOT;
  seer_loop_node node = {.stage = s,
      .extent = frame->flat.n_steps,
      .ann = is_root                                        ? SEER_LOOP_PARALLEL
          : frame->flat.n_steps <= SEER_LOWER_LOADS_AT_ONCE ? SEER_LOOP_UNROLL
                                                            : SEER_LOOP_SERIAL};
  seer_lower_open open =
      seer_lower_open_for(lower, name_of(lower, s, is_root ? "block" : "step"), node, block);
  seer_lower_block body = {0, 0};
  seer_expr step = var_of(lower, &open);
  seer_status status = deal_items(lower, s, &step, emit, &body);
  seer_lower_close_for(lower, &open, &body);
  return status;
}

// The elements of dimension `d` that a group has, and what is inside of them.
static seer_status emit_elements(
    seer_lower *lower, uint32_t s, uint32_t d, seer_lower_emit emit, seer_lower_block *block) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  uint32_t n_space = lower->dag->stage[s].n_space;
  if (d == n_space) return emit(lower, s, block);
  bool is_last = d + 1 == n_space;
  int64_t n = is_last ? frame->flat.width : lower->sketch->stage[s].step[d];
  if (n == 1) return emit_elements(lower, s, d + 1, emit, block);
  seer_linear *at = &lower->stage[s].dealt[d], before = *at;
  seer_loop_node node = {
      .stage = s, .extent = n, .ann = is_last ? SEER_LOOP_VECTOR : SEER_LOOP_UNROLL};
  if (frame->region[d] % n != 0) {
    seer_linear left = {.constant = frame->region[d]};
    bool fits = seer_linear_add(&left, at, -1);
    SEER_ASSERT(fits, "stage %u: one term", s);
    node.bound = seer_linear_emit(&lower->loop->expr, &left);
  }
  seer_lower_open open =
      seer_lower_open_for(lower, name_of(lower, s, is_last ? "neighbour" : "element"), node, block);
  seer_lower_block body = {0, 0};
  bool ok = seer_linear_add_term(at, var_of(lower, &open), 1);
  SEER_ASSERT(ok, "stage %u: two terms", s);
  if (is_last) lower->stage[s].neighbour = var_of(lower, &open);
  seer_status status = emit_elements(lower, s, d + 1, emit, &body);
  *at = before;
  if (is_last) lower->stage[s].neighbour = (seer_expr){0};
  seer_lower_close_for(lower, &open, &body);
  return status;
}

seer_status seer_lower_group(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block) {
  bool is_dealt = lower->frame->stage[s].is_flat && lower->frame->stage[s].tree_items == 0;
  return is_dealt ? emit_elements(lower, s, 0, emit, block) : emit(lower, s, block);
}

seer_expr seer_lower_inside(seer_lower *lower, uint32_t s, const seer_expr *axis) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  seer_expr_pool *pool = &lower->loop->expr;
  seer_expr inside = {0};
  for (uint32_t a = 0; a < stage->n_space && seer_lower_is_fetch(lower, s); a++) {
    if (!lower->stage[s].is_cut[a]) continue;
    seer_expr below =
        seer_expr_binary(pool, SEER_EXPR_LT, axis[a], seer_expr_i(pool, stage->axis[a].extent));
    inside = inside.i ? seer_expr_binary(pool, SEER_EXPR_AND, inside, below) : below;
  }
  return inside;
}
