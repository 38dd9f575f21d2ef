// block_shape.c - see block_shape.h.
#include "space/block_shape.h"

#include "dag/access.h"

// Registers for addresses, counters and what is being computed.
#define OTHER_REGISTERS 24
#define MAX_ITEM_REGISTERS 255  // where the target does not say
#define MAX_APART 8  // Ansor: max_vthread_extent on a warp of 32
// Copies of one multiply-add: code of 1,024 takes a compiler 0.4 to 0.7 s, of 2,048 1.25 s.
#define MAX_COPIES 512
#define MAX_WIDE 4  // elements of f32 that one access reads
// Registers that a compiler gives to loads of steps to come, at most, and not more than it needs
// for the step in hand. (Fitted by eye: with it none of 3,000 schedules drawn for networks spills.)
#define MAX_AHEAD 64
#define MAX_BLOCKS INT32_MAX  // CUDA's first dimension of a grid
#define MAX_SMALL_WARPS 2  // warps' worth of work that is not asked to fill one (Ansor)

static int64_t times(int64_t a, int64_t b) {
  return a > INT32_MAX / (b > 0 ? b : 1) ? INT32_MAX : a * b;
}

// Steps of its innermost reduction loops, of all levels that are written out.
static int64_t steps_of(const seer_frame_stage *s) {
  int64_t steps = 1;
  for (uint32_t l = 0; l < s->n_loop; l++) {
    if (s->loop[l].is_reduce && s->loop[l].level > 0) steps = times(steps, s->loop[l].extent);
  }
  return seer_min_i64(steps, seer_max_i64(1, s->max_unroll));
}

// How many steps' elements one access may read: those along the last index, if they are written
// out.
static int64_t wide_of(
    const seer_frame_stage *s, const seer_access_table *table, const seer_access *load) {
  if (load->rank == 0) return 1;
  const seer_access_dim *last = seer_access_index(table, load, load->rank - 1u);
  int64_t n = 1;
  for (uint32_t l = 0; l < s->n_loop; l++) {
    const seer_frame_loop *loop = &s->loop[l];
    if (loop->is_reduce && loop->level > 0 && last->coef[loop->axis] == 1)
      n = times(n, loop->extent);
  }
  return seer_min_i64(seer_min_i64(n, seer_max_i64(1, s->max_unroll)), MAX_WIDE);
}

// Elements of a tile that a load of a tiled stage meets: those of the axes that it moves with.
static int64_t operands_of(const seer_frame *frame, uint32_t stage) {
  const seer_dag *dag = frame->sketch->dag;
  const seer_access_table *table = dag->access;
  const seer_frame_stage *s = &frame->stage[stage];
  int64_t sum = 0;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    uint64_t moving = 0;
    for (uint32_t d = 0; d < table->load[k].rank; d++)
      moving |= seer_access_index(table, &table->load[k], d)->moving;
    int64_t n = 1;
    for (uint32_t l = 0; l < s->n_loop; l++) {
      if (s->loop[l].is_tile && (moving >> s->loop[l].axis & 1)) n = times(n, s->loop[l].extent);
    }
    sum = seer_min_i64(sum + times(n, wide_of(s, table, &table->load[k])), INT32_MAX);
  }
  return sum;
}

static void add_tiled(const seer_frame *frame, uint32_t stage, seer_block_shape *out) {
  const seer_frame_stage *s = &frame->stage[stage];
  int64_t inner = 1;
  uint8_t last = (uint8_t)(seer_levels_of(SEER_TARGET_CUDA)->n_reduce - 1);
  for (uint32_t l = 0; l < s->n_loop; l++) {
    const seer_frame_loop *loop = &s->loop[l];
    if (loop->is_tile) out->sums = times(out->sums, loop->extent);
    // S0 is its reader's
    if (loop->is_tile && loop->level == 0) out->apart = times(out->apart, loop->extent);
    if (loop->is_reduce && loop->level == last) inner = times(inner, loop->extent);
  }
  int64_t steps = steps_of(s);
  seer_warps_tile warps;
  if (seer_frame_is_of_warps(frame, stage, &warps)) {
    int64_t products = times(warps.patches[0], warps.patches[1]), x = warps.patches[warps.rows],
            y = warps.patches[!warps.rows];
    steps = seer_min_i64(seer_ceil_div(inner, SEER_WARPS_WORDS), SEER_WARPS_WRITTEN);
    out->copies = times(products, steps);
    out->operands = seer_min_i64(x * SEER_WARPS_X_WORDS + y * SEER_WARPS_Y_WORDS, INT32_MAX);
  } else {
    out->copies = times(out->sums, inner);
    out->operands = operands_of(frame, stage);
  }
  out->ahead = times(out->operands, steps - 1);
  out->ahead = seer_min_i64(out->ahead, seer_min_i64(out->sums + out->operands, MAX_AHEAD));
}

// Loads of an element, those of what is inlined too.
static int64_t loads_of(const seer_frame *frame, uint32_t stage) {
  const seer_access_table *table = frame->sketch->dag->access;
  int64_t n = table->first_load[stage + 1] - table->first_load[stage];
  for (uint32_t p = 0; p < stage; p++) {
    if ((table->readers[p] >> stage & 1) && frame->stage[p].place == SEER_PLACE_INLINE)
      n = seer_min_i64(n + loads_of(frame, p), INT32_MAX);
  }
  return n;
}

static void add_flat(const seer_frame *frame, uint32_t stage, seer_block_shape *out) {
  const seer_sketch_stage *sketch = &frame->sketch->stage[stage];
  for (uint32_t d = 0; d < frame->sketch->dag->stage[stage].n_space; d++)
    out->sums = times(out->sums, sketch->step[d]);
  // Of a transform's tile all that is read is held.
  if (out->sums > 1) out->operands = times(loads_of(frame, stage), frame->stage[stage].flat.width);
  out->sums = times(out->sums, frame->stage[stage].flat.width);
}

void seer_block_shape_make(const seer_frame *frame, uint32_t root, seer_block_shape *out) {
  const seer_sketch *sketch = frame->sketch;
  const seer_frame_stage *at_root = &frame->stage[root];
  *out = (seer_block_shape){.sums = 1, .apart = 1, .copies = 1};
  out->blocks = seer_min_i64(seer_frame_parts(frame, root), INT32_MAX);
  out->items = at_root->is_flat ? at_root->flat.items : seer_frame_items(at_root);
  if (at_root->is_flat) add_flat(frame, root, out);
  if (at_root->tree_items > 0) {
    uint8_t partner = sketch->stage[root].partner;
    uint32_t value = sketch->dag->stage[partner == SEER_NO_STAGE ? root : partner].out[0];
    out->items = at_root->tree_items;
    out->workgroup_bytes = out->items * seer_dtype_bytes(sketch->dag->buf[value].dtype);
  }
  for (uint32_t k = 0; k < sketch->n_order; k++) {
    uint32_t stage = sketch->order[k];
    const seer_frame_stage *s = &frame->stage[stage];
    if (s->place != SEER_PLACE_AT) continue;
    bool is_fetch = sketch->stage[stage].role == SEER_ROLE_FETCH;
    uint32_t kernel = is_fetch ? frame->stage[s->at].at : s->at;
    if (kernel != root) continue;
    if (!is_fetch) {
      add_tiled(frame, stage, out);
      continue;
    }
    bool is_copied = frame->stage[s->at].is_copied;
    if (frame->stage[s->at].is_ahead && !is_copied)
      out->held = seer_min_i64(out->held + times(s->flat.n_steps, s->flat.width), INT32_MAX);
    int64_t bytes = seer_dtype_bytes(sketch->dag->buf[sketch->dag->stage[stage].out[0]].dtype);
    uint32_t n_space = sketch->dag->stage[stage].n_space;
    for (uint32_t d = 0; d < n_space; d++)
      bytes = times(bytes, s->region[d] + (d + 1 == n_space ? s->flat.pad : 0));
    if (is_copied) {
      int64_t apart = seer_ceil_div(bytes, SEER_TARGET_ITEMS_ALIGN) * SEER_TARGET_ITEMS_ALIGN;
      bytes = seer_min_i64(bytes + apart, INT32_MAX);
    }
    out->workgroup_bytes = seer_min_i64(out->workgroup_bytes + bytes, INT32_MAX);
  }
}

// Sums, operands, what is held, and addresses, counters, what is being computed.
static int64_t registers_of(const seer_block_shape *shape) {
  return seer_min_i64(
      shape->sums + shape->operands + shape->ahead + shape->held + OTHER_REGISTERS, INT32_MAX);
}

static seer_reject check_kernel(
    const seer_sketch_list *list, const seer_frame *frame, uint32_t root) {
  const seer_target_gpu *gpu = &list->target->gpu;
  seer_block_shape shape;
  seer_block_shape_make(frame, root, &shape);
  if (shape.blocks > MAX_BLOCKS - 1) return SEER_REJECT_TOO_MANY_PARTS;
  if (shape.items > gpu->max_block_items) return SEER_REJECT_ITEMS;
  if (shape.workgroup_bytes > (int64_t)gpu->block_bytes) return SEER_REJECT_LOCAL_BYTES;
  if (shape.apart > MAX_APART) return SEER_REJECT_UNROLL;
  if (shape.copies > MAX_COPIES) return SEER_REJECT_UNROLL;
  int64_t registers = gpu->max_item_registers ? gpu->max_item_registers : MAX_ITEM_REGISTERS;
  // All items of a block are in hand at the same time.
  if (gpu->n_registers > 0)
    registers = seer_min_i64(registers, gpu->n_registers / seer_max_i64(shape.items, 1));
  if (list->space == SEER_SPACE_FULL && registers_of(&shape) > registers)
    return SEER_REJECT_REGISTERS;
  if (frame->stage[root].is_flat) return SEER_REJECT_NONE;
  // Work that could fill warps does.
  const seer_dag_stage *stage = &frame->sketch->dag->stage[root];
  uint32_t grid = frame->sketch->stage[root].grid_axes;
  int64_t work = 1, warp = gpu->warp_items;
  for (uint32_t a = 0; a < stage->n_space; a++)
    if (!(grid >> a & 1)) work = times(work, stage->axis[a].extent);
  if (work <= MAX_SMALL_WARPS * warp) return SEER_REJECT_NONE;
  bool fills = list->space == SEER_SPACE_FULL ? shape.items % warp == 0 : shape.items >= warp;
  return fills ? SEER_REJECT_NONE : SEER_REJECT_ITEMS;
}

seer_reject seer_block_check(const seer_sketch_list *list, const seer_frame *frame) {
  for (uint32_t r = 0; r < frame->n_root; r++) {
    seer_reject reject = check_kernel(list, frame, frame->root[r]);
    if (reject != SEER_REJECT_NONE) return reject;
  }
  return SEER_REJECT_NONE;
}
