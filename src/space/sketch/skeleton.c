// skeleton.c - finished plan -> sketch: the loops of every stage with their knobs, and the static
// lists of locations.
//   TILED    S0.. S1.. R0.. S2.. R1.. S3..   all axes of one level adjacent, in the DAG's order
//   FOLLOW   S0.. [S1..] | T0.. T1..         its tiled stage: the rest (rule/tile.c)
//   SIMPLE   a.. u0 v0 | R.. | u1 v1         v the last axis, u the one before it (rule/simple.c: another)
//            a.. v0 | R.. small.. v1         a transform: reductions, small index axes are unrolled
//            a.. v0 | y1 x1 v1               a transform's tiles y1 x1 are put together: unrolled
//            a.. u0 v0 p | r | u1 v1         the parts p of a reduction in two, by its outer length
//            a.. u0 | r | u1 p               by its inner length, which is the vectors
// On a GPU SIMPLE and FETCH have loops for their reductions alone: they are FLAT (frame.h).
// Block loops B.. come before these in a stage that others are computed in (S0 where there are S0
// and S1). Axes of extent 1 have no loops.
#include <string.h>

#include "space/lanes.h"
#include "space/matrix.h"
#include "space/schedule/draw.h"
#include "space/schedule/factorise.h"
#include "space/sketch/skeleton.h"
#include "space/warps.h"

static uint16_t add_choice(
    seer_skeleton *b, uint32_t stage, seer_knob_kind kind, const char *suffix, size_t n_values) {
  if (n_values <= 1) return SEER_NO_KNOB;
  seer_knob knob = {.kind = kind, .stage = (uint8_t)stage, .n_values = (uint16_t)n_values};
  const seer_plan_stage *s = &b->plan->stage[stage];
  // A FOLLOW stage's knobs belong to what it follows: the same names whether fused or not.
  const char *prefix = s->role == SEER_ROLE_FOLLOW ? b->plan->stage[s->partner].prefix : s->prefix;
  knob.name = seer_arena_printf(b->context->arena, "%s.%s", prefix, suffix);
  return seer_skeleton_knob(b, &knob);
}

static void add_loops(
    seer_skeleton *b, uint32_t stage, uint32_t n, const uint8_t *axis, const uint16_t *knob) {
  for (uint32_t k = 0; k < n; k++)
    seer_skeleton_add(b, stage, axis[k], knob ? knob[k] : SEER_NO_KNOB);
}

// Puts the loops of a stage in their order of significance, numbers those of each axis by it, and
// marks what each is.
static void finish_loops(seer_skeleton *b, uint32_t stage) {
  seer_sketch_stage *s = &b->sketch->stage[stage];
  const uint8_t *rank = b->rank[stage];
  for (uint32_t l = 0; l < s->n_loop; l++) {
    uint32_t k = l;
    for (; k > 0 && rank[s->by_rank[k - 1]] > rank[l]; k--) s->by_rank[k] = s->by_rank[k - 1];
    s->by_rank[k] = (uint8_t)l;
  }
  uint8_t n[SEER_DAG_MAX_AXES] = {0};
  for (uint32_t k = 0; k < s->n_loop; k++) {
    seer_sketch_loop *loop = &s->loop[s->by_rank[k]];
    loop->level = n[loop->axis]++;
  }
  for (uint32_t l = 0; l < s->n_loop; l++) {
    seer_sketch_loop *loop = &s->loop[l];
    loop->is_reduce = loop->axis >= b->plan->dag->stage[stage].n_space;
    loop->is_tile = l >= s->first_tile_loop;
    loop->is_vector = s->is_vectorised && l + 1 == s->n_loop;
    loop->is_item = loop->binding == SEER_BIND_ITEM;
  }
}

// ---- lanes

// What a stage loads, and what is inlined into it does.
static void add_loads(const seer_skeleton *b, uint32_t stage, seer_lane *lane) {
  const seer_dag *dag = b->plan->dag;
  const seer_access_table *table = dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_dag_buf *buf = &dag->buf[table->load[k].buf];
    if (buf->kind == SEER_BUF_STAGE && b->plan->stage[buf->stage].role == SEER_ROLE_INLINE)
      add_loads(b, buf->stage, lane);
    else
      seer_lane_loads(lane, buf->dtype);
  }
}

static uint16_t lanes_of(const seer_skeleton *b, uint32_t stage) {
  const seer_dag *dag = b->plan->dag;
  const seer_dag_stage *s = &dag->stage[stage];
  seer_lane lane = {0};
  for (uint32_t v = 0; v < s->n_values; v++) seer_lane_stores(&lane, dag->buf[s->out[v]].dtype, v);
  add_loads(b, stage, &lane);
  return (uint16_t)seer_lanes(&lane, b->context->target->vector_bytes);
}

// Whether all that `stage` may be computed inside of, reading it or what it is inlined into, store
// elements of so many bytes: narrower ones that they load do not matter to their lanes.
static bool is_inside_wider(const seer_skeleton *b, uint32_t stage, uint32_t bytes) {
  const seer_dag *dag = b->plan->dag;
  for (uint32_t r = stage + 1; r < dag->n_stage; r++) {
    if (!(dag->access->readers[stage] >> r & 1)) continue;
    const seer_plan_stage *reader = &b->plan->stage[r];
    bool is_inline = reader->role == SEER_ROLE_INLINE;
    seer_lane stored = {0};
    seer_lane_stores(&stored, dag->buf[dag->stage[r].out[0]].dtype, 0);
    if (!is_inline && stored.bytes < bytes) return false;
    if ((is_inline || reader->may_inline) && !is_inside_wider(b, r, bytes)) return false;
  }
  return true;
}

// Inline is a schedule's choice where it leaves lanes as they are.
static bool may_inline(const seer_skeleton *b, uint32_t stage) {
  if (!b->plan->stage[stage].may_inline) return false;
  const seer_dag *dag = b->plan->dag;
  seer_lane loads = {0}, itself = {0};
  add_loads(b, stage, &loads);
  seer_lane_loads(&itself, dag->buf[dag->stage[stage].out[0]].dtype);
  uint32_t wider = loads.bytes > itself.bytes ? loads.bytes : itself.bytes;
  return loads.bytes == itself.bytes || is_inside_wider(b, stage, wider);
}

// ---- loops

// The index axes of a transform that are unrolled: from the last one on, as many as leave registers
// for vectors where they accumulate, else all (within reason).
static uint32_t take_small(
    const seer_dag_stage *s, uint8_t *space, uint32_t *n, uint8_t *out_small) {
  int64_t limit = s->n_reduce > 0 ? SEER_PLAN_SMALL : SEER_PLAN_SMALL * SEER_PLAN_SMALL;
  uint8_t kept[SEER_DAG_MAX_AXES];
  uint32_t n_kept = 0, n_small = 0;
  int64_t product = 1;
  for (uint32_t k = *n; k-- > 0;) {
    const seer_dag_axis *axis = &s->axis[space[k]];
    bool is_small = k + 1 < *n && axis->role == SEER_AXIS_OTHER && product * axis->extent <= limit;
    if (is_small) product *= axis->extent;
    if (is_small) {
      out_small[n_small++] = space[k];
    } else {
      kept[n_kept++] = space[k];
    }
  }
  for (uint32_t k = 0; k < n_kept; k++) space[k] = kept[n_kept - 1 - k];
  *n = n_kept;
  return n_small;
}

// Something is read at axis / c, a constant: the axis counts through tiles of c. Or every so
// many-th block of `lanes` of it: c lanes of such blocks are the tile, and one of them stays whole.
static void take_steps(const seer_dag *dag, uint32_t stage, uint8_t *step, uint8_t *lanes) {
  const seer_access_table *table = dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    for (uint32_t d = 0; d < table->load[k].rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, &table->load[k], d);
      int axis = seer_access_axis(dim);
      bool is_tile = axis >= 0 && dim->constant == 0 && dim->div > 1 && !dim->is_mod &&
          dim->div <= SEER_PLAN_SMALL;
      if (is_tile) step[axis] = (uint8_t)dim->div;
      if (dim->lanes == 0 || dim->div > UINT8_MAX) continue;
      axis = __builtin_ctz(dim->axes);
      step[axis] = (uint8_t)dim->div;
      lanes[axis] = (uint8_t)dim->lanes;
    }
  }
}

// The tiles of output transforms that `stage` is or that are inlined into it element by element.
static void find_steps(const seer_skeleton *b, uint32_t stage, uint8_t *step, uint8_t *lanes) {
  const seer_dag *dag = b->plan->dag;
  const seer_dag_stage *s = &dag->stage[stage];
  if (s->role == SEER_STAGE_TRANSFORM_OUT && s->n_reduce == 0) {
    take_steps(dag, stage, step, lanes);
    return;
  }
  for (uint32_t p = 0; p < stage; p++) {
    bool is_inline = (dag->access->readers[p] >> stage & 1) &&
        b->plan->stage[p].role == SEER_ROLE_INLINE && seer_access_is_elementwise(dag, p, stage);
    if (is_inline) find_steps(b, p, step, lanes);
  }
}

// Adds the loops of a transform that have a given extent, of `copies` vectors or rows.
static void add_given(
    seer_skeleton *b, uint32_t stage, uint32_t axis, int64_t extent, int64_t copies) {
  seer_sketch_stage *mine = &b->sketch->stage[stage];
  seer_skeleton_add(b, stage, axis, SEER_NO_KNOB);
  mine->loop[mine->n_loop - 1].fixed = (uint8_t)extent;
  mine->tile_copies = (uint16_t)(mine->tile_copies * copies);
}

// The axis of the tile's rows comes before the last one.
static void move_rows(uint8_t rows_axis, uint32_t n, uint8_t *space) {
  for (uint32_t k = 0; k + 2 < n && rows_axis > 0; k++) {
    if (space[k] != rows_axis - 1) continue;
    space[k] = space[k + 1];
    space[k + 1] = (uint8_t)(rows_axis - 1);
  }
}

static void build_simple(seer_skeleton *b, uint32_t stage, bool is_cut) {
  const seer_dag_stage *s = &b->plan->dag->stage[stage];
  seer_sketch_stage *mine = &b->sketch->stage[stage];
  uint8_t space[SEER_DAG_MAX_AXES], reduce[SEER_DAG_MAX_AXES], small[SEER_DAG_MAX_AXES];
  uint16_t outer[SEER_DAG_MAX_AXES];
  uint32_t n = seer_skeleton_axes(b, stage, false, space),
           n_reduce = seer_skeleton_axes(b, stage, true, reduce), n_small = 0;
  seer_plan_part part = b->plan->stage[stage].part;
  if (part != SEER_PART_NONE) n--;  // is cut nowhere: outside of the reduction, or the vectors
  move_rows(b->plan->stage[stage].rows_axis, n, space);
  bool unrolls = b->plan->stage[stage].unrolls_small && n > 0;
  if (unrolls) n_small = take_small(s, space, &n, small);
  bool has_steps = false;
  uint8_t lanes[SEER_DAG_MAX_AXES] = {0};
  if (s->n_reduce == 0) find_steps(b, stage, mine->step, lanes);
  for (uint32_t k = 0; k < n; k++) has_steps |= mine->step[space[k]] > 1;
  uint32_t most_split = unrolls || has_steps || part == SEER_PART_INNER ? 1 : 2;
  uint32_t n_split = n < most_split ? n : most_split;
  if (is_cut) n_split = 0;
  seer_skeleton_block(b, stage, n, space, outer);
  add_loops(b, stage, n, space, outer);
  if (part == SEER_PART_OUTER) seer_skeleton_add(b, stage, space[n], SEER_NO_KNOB);
  mine->max_parallel = mine->n_loop;
  if (unrolls) mine->first_tile_loop = mine->n_loop;
  add_loops(b, stage, n_reduce, reduce, NULL);
  if (!unrolls) mine->first_tile_loop = mine->n_loop;
  for (uint32_t k = n_small; k-- > 0;) {
    int64_t extent = s->axis[small[k]].extent;
    add_given(b, stage, small[k], extent, extent);
  }
  for (uint32_t k = 0; k < n; k++) {
    int64_t step = mine->step[space[k]];
    if (lanes[space[k]] > 0) step /= lanes[space[k]];
    if (step > 1) add_given(b, stage, space[k], step, step);
  }
  for (uint32_t k = n - n_split; k < n; k++) {
    if (lanes[space[k]] > 0) {
      int64_t vectors = seer_ceil_div(lanes[space[k]], mine->vector_lanes);
      add_given(b, stage, space[k], lanes[space[k]], vectors);
      continue;
    }
    uint16_t knob = seer_skeleton_factor(b, stage, space[k], 1);
    seer_skeleton_mark_tile(b, knob, k + 1 == n && part != SEER_PART_INNER);
    seer_skeleton_add(b, stage, space[k], knob);
  }
  mine->is_vectorised = n_split > 0;
  mine->vector_axis = n > 0 ? space[n - 1] : 0;
  if (part != SEER_PART_INNER) return;
  seer_skeleton_add(b, stage, space[n], SEER_NO_KNOB);
  mine->is_vectorised = true;
  mine->vector_axis = space[n];
}

// A GPU's stage whose elements are dealt out to items, those of a transform's tile together.
static void build_flat(seer_skeleton *b, uint32_t stage) {
  const seer_dag_stage *s = &b->plan->dag->stage[stage];
  seer_sketch_stage *mine = &b->sketch->stage[stage];
  uint8_t space[SEER_DAG_MAX_AXES], reduce[SEER_DAG_MAX_AXES], small[SEER_DAG_MAX_AXES],
      lanes[SEER_DAG_MAX_AXES];
  uint32_t n = seer_skeleton_axes(b, stage, false, space),
           n_reduce = seer_skeleton_axes(b, stage, true, reduce);
  if (s->n_reduce == 0) find_steps(b, stage, mine->step, lanes);
  uint32_t n_small = b->plan->stage[stage].unrolls_small ? take_small(s, space, &n, small) : 0;
  for (uint32_t k = 0; k < n_small; k++) mine->step[small[k]] = (uint8_t)s->axis[small[k]].extent;
  mine->is_tree = b->plan->stage[stage].is_tree;
  if (!mine->is_tree) add_loops(b, stage, n_reduce, reduce, NULL);
  mine->first_tile_loop = mine->n_loop;
  mine->is_flat = true;
}

// ---- weights

// Every index is a constant or an axis: the order in which it is read can be that of its bytes.
static bool is_packable(const seer_plan *plan, const seer_access *load) {
  bool is_weight = seer_plan_is_weight(plan, load->buf);
  for (uint32_t d = 0; d < load->rank && is_weight; d++) {
    const seer_access_dim *dim = seer_access_index(plan->dag->access, load, d);
    bool is_axis = seer_access_axis(dim) >= 0 && dim->constant == 0;
    if (!seer_access_is_sum(dim) || (dim->axes != 0 && !is_axis)) return false;
  }
  return is_weight && load->rank > 0 && !load->is_guarded;
}

static bool has_packable(const seer_plan *plan, uint32_t stage) {
  const seer_access_table *table = plan->dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    if (is_packable(plan, &table->load[k])) return true;
  }
  return false;
}

// ---- locations

// The nearest stage that every way from `stage` to a result passes; -1 if there is none.
static int nearest_postdominator(const uint64_t *postdominators, uint32_t stage) {
  uint64_t others = postdominators[stage] & ~((uint64_t)1 << stage);
  return others ? __builtin_ctzll(others) : -1;
}

static void find_postdominators(const seer_skeleton *b, uint64_t *out) {
  const seer_plan *plan = b->plan;
  for (uint32_t s = plan->dag->n_stage; s-- > 0;) {
    out[s] = (uint64_t)1 << s;
    if (seer_plan_is_output(plan, s) || plan->dag->access->readers[s] == 0) continue;
    uint64_t common = UINT64_MAX;
    for (uint32_t c = s + 1; c < plan->dag->n_stage; c++) {
      if (plan->dag->access->readers[s] >> c & 1) common &= out[c];
    }
    out[s] |= common;
  }
}

// Depths of `target` at which something may be computed: outside its register tile, and not inside
// spatial loops that stand in a reduction (Ansor).
static uint32_t deepest(const seer_skeleton *b, uint32_t target) {
  const seer_sketch_stage *t = &b->sketch->stage[target];
  const seer_dag_stage *dag = &b->plan->dag->stage[target];
  if (t->role != SEER_ROLE_TILED) return t->max_parallel;
  uint32_t depth = 0;
  bool in_reduction = false;
  for (; depth < t->first_tile_loop; depth++) {
    bool is_reduce = t->loop[depth].axis >= dag->n_space;
    if (in_reduction && !is_reduce) break;
    in_reduction |= is_reduce;
  }
  return depth;
}

static void build_locations(seer_skeleton *b, const uint64_t *postdominators, uint32_t stage) {
  seer_sketch_stage *s = &b->sketch->stage[stage];
  const seer_plan_stage *plan = &b->plan->stage[stage];
  const uint32_t cap = SEER_COUNT_OF(s->location) - 1;
  if (plan->place == SEER_PLAN_FUSED) return;  // tiled.c
  if (plan->place == SEER_PLAN_FETCHED) {
    const seer_sketch_stage *reader = &b->sketch->stage[plan->partner];
    uint8_t depth = 0;
    while (depth < reader->n_loop && reader->loop[depth].level == 0 &&
        reader->loop[depth].axis >= b->plan->dag->stage[plan->partner].n_space)
      depth++;
    s->location[s->n_location++] = (seer_location){.at = plan->partner, .depth = depth};
    return;
  }
  // Of a GPU's what is not inlined is a kernel of its own (as Ansor has it).
  if (plan->place == SEER_PLAN_FREE && !seer_plan_is_gpu(b->context)) {
    if (may_inline(b, stage)) s->location[s->n_location++] = (seer_location){.is_inline = true};
    int t = nearest_postdominator(postdominators, stage);
    for (; t >= 0; t = nearest_postdominator(postdominators, (uint32_t)t)) {
      const seer_plan_stage *target = &b->plan->stage[t];
      if (target->role == SEER_ROLE_INLINE) continue;
      // Inside a product's loops over a transform's elements it would not be computed as a whole.
      bool is_whole = plan->unrolls_small && b->plan->dag->stage[stage].n_reduce == 0;
      if (is_whole && !seer_plan_is_output(b->plan, (uint32_t)t)) {
        if (target->place == SEER_PLAN_ROOT) break;
        continue;
      }
      for (uint32_t d = deepest(b, (uint32_t)t); d >= 1 && s->n_location < cap; d--) {
        s->location[s->n_location++] = (seer_location){.at = (uint8_t)t, .depth = (uint8_t)d};
      }
      if (target->place == SEER_PLAN_ROOT) break;
    }
  }
  if (plan->place == SEER_PLAN_BLOCK) {
    uint8_t depth = b->sketch->stage[plan->block].block_depth;
    if (depth > 0)
      s->location[s->n_location++] = (seer_location){.at = plan->block, .depth = depth};
  }
  s->location[s->n_location++] = (seer_location){.is_root = true};
}

// ---- factorisations

static void count_ways(seer_skeleton *b) {
  const seer_dag *dag = b->plan->dag;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_sketch_stage *stage = &b->sketch->stage[s];
    for (uint32_t a = 0; a < (uint32_t)dag->stage[s].n_space + dag->stage[s].n_reduce; a++) {
      uint32_t n = 0;
      for (uint32_t level = 0; level < SEER_COUNT_OF(stage->factor[a]); level++)
        n += stage->factor[a][level] != SEER_NO_KNOB;
      int64_t extent = seer_ceil_div(dag->stage[s].axis[a].extent, stage->step[a]);
      if (n > 0) stage->ways[a] = seer_factorisations_build(extent, n, b->context->arena);
    }
  }
}

// ---- choices

#define ITEMS_VALUES 5  // 32 .. 512
#define WIDTH_VALUES 3  // 1 .. 4 elements, of f32 16 bytes
#define PAD_VALUES 3  // none, a bank, 16 bytes

// Whether items have time to wait for what is fetched, and something is. (Of lanes of a processor
// nothing is on its way while they compute.)
static bool has_fetches(const seer_skeleton *b, uint32_t stage) {
  if (b->context->target->gpu.items_are_lanes) return false;
  for (uint32_t f = 0; f < stage; f++) {
    const seer_plan_stage *plan = &b->plan->stage[f];
    if (plan->role == SEER_ROLE_FETCH && plan->partner == stage) return true;
  }
  return false;
}

// Whether `e` is what lies in memory, element by element or as words of several, seen through what
// is substituted into it.
static bool is_moved(const seer_skeleton *b, seer_expr e) {
  const seer_dag *dag = b->plan->dag;
  seer_expr first;
  if (seer_expr_is_word_load(&dag->expr, e, &first)) return is_moved(b, first);
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return false;
  const seer_dag_buf *from = &dag->buf[node->ref];
  if (from->kind != SEER_BUF_STAGE || b->plan->stage[from->stage].role != SEER_ROLE_INLINE)
    return true;
  const seer_dag_stage *maker = &dag->stage[from->stage];
  return maker->n_values == 1 && is_moved(b, maker->body[0]);
}

// Whether a device can copy what is fetched for the stage into a block's memory by itself.
static bool has_copies(const seer_skeleton *b, uint32_t stage) {
  if (!seer_target_has_copies(b->context->target)) return false;
  for (uint32_t f = 0; f < stage; f++) {
    const seer_plan_stage *plan = &b->plan->stage[f];
    if (plan->role == SEER_ROLE_FETCH && plan->partner == stage &&
        !is_moved(b, b->plan->dag->stage[f].body[0]))
      return false;
  }
  return true;
}

static void add_choices(seer_skeleton *b, uint32_t s, bool is_cut) {
  seer_sketch_stage *stage = &b->sketch->stage[s];
  seer_target_kind kind = b->context->target->kind;
  stage->location_knob = add_choice(b, s, SEER_KNOB_LOCATION, "at", stage->n_location);
  bool may_be_root = stage->location[stage->n_location - 1].is_root;
  if (is_cut && b->n_knob + 4 > SEER_SCHEDULE_MAX_KNOBS) return;
  if (may_be_root && kind == SEER_TARGET_CPU) {
    stage->parallel_knob =
        add_choice(b, s, SEER_KNOB_PARALLEL, "parallel", stage->max_parallel + 1u);
  }
  bool has_reduce_loop = false;
  for (uint32_t l = 0; l < stage->n_loop; l++)
    has_reduce_loop |= stage->loop[l].axis >= b->plan->dag->stage[s].n_space;
  if (stage->role == SEER_ROLE_TILED || has_reduce_loop)
    stage->unroll_knob = add_choice(b, s, SEER_KNOB_UNROLL, "unroll", seer_unroll_limits(kind));
  bool is_full = b->context->space == SEER_SPACE_FULL;
  if (stage->is_flat && stage->role == SEER_ROLE_SIMPLE && (is_full || stage->is_tree))
    stage->items_knob = add_choice(b, s, SEER_KNOB_ITEMS, "items", ITEMS_VALUES);
  if (stage->is_flat && !stage->is_tree && (stage->role == SEER_ROLE_FETCH || is_full))
    stage->width_knob = add_choice(b, s, SEER_KNOB_WIDTH, "width", WIDTH_VALUES);
  // Weights lie as they are read, but for those of products of warps.
  bool may_pad = !stage->pack_weights ||
      (stage->partner != SEER_NO_STAGE &&
          b->sketch->stage[stage->partner].warps_type != SEER_WARPS_NONE);
  if (stage->role == SEER_ROLE_FETCH && is_full && may_pad)
    stage->pad_knob = add_choice(b, s, SEER_KNOB_PAD, "pad", PAD_VALUES);
  if (stage->role == SEER_ROLE_TILED && is_full && has_fetches(b, s))
    stage->ahead_knob = add_choice(b, s, SEER_KNOB_AHEAD, "ahead",
        has_copies(b, s) ? SEER_AHEAD_BY_COPIES + 1 : SEER_AHEAD_BY_COPIES);
}

// ---- variants

static void add_split_knobs(seer_skeleton *b) {
  const seer_plan *plan = b->plan;
  for (uint32_t k = 0; k < plan->n_split; k++) {
    uint32_t whole = plan->split_stage[k] + 1u;
    seer_knob knob = {.kind = SEER_KNOB_RFACTOR, .stage = (uint8_t)whole};
    knob.n_values = (uint16_t)seer_plan_split_lengths(plan->split[k], &knob.number);
    knob.name = seer_arena_printf(b->context->arena, "%s.rfactor", plan->stage[whole].prefix);
    b->sketch->split_knob[b->sketch->n_split++] = seer_skeleton_knob(b, &knob);
  }
}

// The sketch is whole, but for this.
static void add_variants(const seer_rule_context *context, const seer_plan *plan, seer_sketch *s) {
  s->n_variant = 1;
  for (uint32_t k = 0; k < s->n_split; k++) s->n_variant *= s->knob[s->split_knob[k]].n_values;
  const seer_sketch **variant = SEER_NEW_ARRAY(context->arena, const seer_sketch *, s->n_variant);
  s->variant = variant;
  variant[0] = s;
  for (uint32_t v = 1; v < s->n_variant; v++) {
    seer_sketch *other = (seer_sketch *)seer_arena_memdup(context->arena, s, sizeof *s);
    uint16_t value[SEER_SKETCH_MAX_SPLITS];
    uint32_t left = v;
    for (uint32_t k = s->n_split; k-- > 0; left /= s->knob[s->split_knob[k]].n_values)
      value[k] = (uint16_t)(left % s->knob[s->split_knob[k]].n_values);
    other->number = v;
    other->dag = seer_plan_variant(context, plan, value);
    variant[v] = other;
  }
}

static bool is_all_fetched(const seer_plan *plan, uint32_t stage) {
  const seer_access_table *table = plan->dag->access;
  bool is_all = true;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_dag_buf *buf = &plan->dag->buf[table->load[k].buf];
    is_all &= buf->kind == SEER_BUF_STAGE && plan->stage[buf->stage].role == SEER_ROLE_FETCH;
  }
  return is_all;
}

// Axes of a product of warps that its operands have as they are, so that it is known what of them
// lies beyond the axis's end: 0 (lower/flat.c).
static uint16_t padded_axes_of(const seer_plan *plan, uint32_t stage) {
  const seer_access_table *table = plan->dag->access;
  uint32_t axes = (1u << plan->dag->stage[stage].n_space) - 1;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    for (uint32_t d = 0; d < table->load[k].rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, &table->load[k], d);
      if (dim->axis < 0) axes &= ~(uint32_t)dim->axes;
    }
  }
  return (uint16_t)axes;
}

static void find_warps(const seer_skeleton *b, uint32_t s) {
  seer_sketch_stage *stage = &b->sketch->stage[s];
  if (!is_all_fetched(b->plan, s)) return;
  stage->warps_type =
      (uint8_t)seer_warps_type_of(b->plan->dag, s, b->context->target, stage->factor_axes);
  if (stage->warps_type == SEER_WARPS_NONE || stage->partner == SEER_NO_STAGE) return;
  stage->padded_axes = padded_axes_of(b->plan, s);
}

seer_sketch *seer_skeleton_build(
    const seer_rule_context *context, const seer_plan *plan, bool is_cut) {
  seer_arena *arena = context->arena;
  seer_sketch *sketch = SEER_NEW(arena, seer_sketch);
  seer_skeleton *b = SEER_NEW(arena, seer_skeleton);
  *b = (seer_skeleton){.context = context, .plan = plan, .sketch = sketch};
  sketch->signature = plan->signature;
  sketch->formulation = plan->formulation;
  sketch->dag = plan->dag;
  sketch->tolerance = plan->tolerance;
  sketch->needs_trials = plan->needs_trials;
  const seer_dag *dag = plan->dag;
  sketch->stage = SEER_NEW_ARRAY(arena, seer_sketch_stage, dag->n_stage);
  bool is_gpu = seer_plan_is_gpu(context), is_full = context->space == SEER_SPACE_FULL;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_sketch_stage *stage = &sketch->stage[s];
    stage->role = plan->stage[s].role;
    stage->partner = plan->stage[s].partner;
    stage->fuse_level = plan->stage[s].fuse_level;
    stage->prefix = plan->stage[s].prefix;
    stage->grid_axes = plan->stage[s].grid_axes;
    stage->location_knob = stage->parallel_knob = stage->unroll_knob = SEER_NO_KNOB;
    stage->items_knob = stage->width_knob = stage->pad_knob = stage->ahead_knob = SEER_NO_KNOB;
    stage->vector_lanes = lanes_of(b, s);
    stage->tile_copies = 1;
    memset(stage->step, 1, sizeof stage->step);
    for (uint32_t a = 0; a < (uint32_t)dag->stage[s].n_space + dag->stage[s].n_reduce; a++) {
      for (uint32_t level = 0; level < SEER_MAX_LEVELS; level++)
        stage->factor[a][level] = SEER_NO_KNOB;
      if (dag->stage[s].axis[a].extent > 1)
        stage->divisors[a] = seer_divisors_build(dag->stage[s].axis[a].extent, arena);
    }
    if (stage->role == SEER_ROLE_TILED && context->space == SEER_SPACE_FULL && !is_gpu)
      stage->matrix_depth = (uint8_t)seer_matrix_depth_of(dag, s, context->target);
    if (stage->role == SEER_ROLE_TILED && is_full && is_gpu) find_warps(b, s);
    // Its maker is a stage before it.
    if (stage->role == SEER_ROLE_FOLLOW)
      stage->padded_axes = sketch->stage[stage->partner].padded_axes;
    bool packs = stage->role == SEER_ROLE_TILED && (!is_gpu || seer_plan_is_unfetched(context));
    packs |= is_gpu && context->space == SEER_SPACE_FULL && stage->role == SEER_ROLE_FETCH;
    stage->pack_weights = packs && has_packable(plan, s);
  }
  // Knobs come stage by stage; the fallback stops adding them well before the limit.
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_sketch_role role = sketch->stage[s].role;
    if (role == SEER_ROLE_TILED) seer_skeleton_tiled(b, s);
    bool is_flat = is_gpu && (role == SEER_ROLE_SIMPLE || role == SEER_ROLE_FETCH);
    if (is_flat) build_flat(b, s);
    if (role == SEER_ROLE_SIMPLE && !is_flat)
      build_simple(b, s, is_cut && b->n_knob + 4 > SEER_SCHEDULE_MAX_KNOBS);
  }
  for (uint32_t s = 0; s < dag->n_stage; s++) finish_loops(b, s);
  uint64_t postdominators[SEER_DAG_MAX_STAGES];
  find_postdominators(b, postdominators);
  for (uint32_t s = dag->n_stage; s-- > 0;) {
    seer_sketch_stage *stage = &sketch->stage[s];
    if (stage->role == SEER_ROLE_CONST) continue;
    sketch->order[sketch->n_order++] = s;
    if (stage->role == SEER_ROLE_INLINE || stage->role == SEER_ROLE_SHARED) continue;
    build_locations(b, postdominators, s);
  }
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    seer_sketch_stage *stage = &sketch->stage[s];
    bool has_none = stage->role == SEER_ROLE_CONST || stage->role == SEER_ROLE_INLINE ||
        stage->role == SEER_ROLE_SHARED;
    if (has_none) continue;
    add_choices(b, s, is_cut);
  }
  add_split_knobs(b);
  if (b->is_full) return NULL;
  if (context->space == SEER_SPACE_ANSOR) count_ways(b);
  sketch->n_knob = b->n_knob;
  sketch->knob =
      (seer_knob *)seer_arena_memdup(arena, b->knob, sizeof(seer_knob) * (b->n_knob + 1));
  add_variants(context, plan, sketch);
  return sketch;
}
