// tiled.c - the loops of multi-level tiling, as the level table of the target's kind has them.
#include "space/sketch/skeleton.h"

// The axes of a stage that have loops, and the knobs of their levels.
typedef struct {
  const seer_levels *levels;
  uint32_t n[2];  // spatial axes, reduction axes
  uint8_t axis[2][SEER_DAG_MAX_AXES];
  uint16_t knob[2][SEER_MAX_LEVELS][SEER_DAG_MAX_AXES];
  uint16_t grid;  // bit a: a block has one index of the axis, so that only the outermost level cuts
} cuts;

static bool is_of_grid(const cuts *c, uint32_t kind, uint32_t k) {
  return kind == 0 && (c->grid >> c->axis[0][k] & 1);
}

// Adds the loops of one level to `to`, the stage itself or its reader. Without knobs (is_implied)
// they run over what the less significant ones leave.
static void add_level(
    seer_skeleton *b, uint32_t to, const cuts *c, const seer_level *level, bool is_implied) {
  seer_sketch_stage *s = &b->sketch->stage[to];
  if (level->binding == SEER_BIND_TILE && s->first_tile_loop == 0) s->first_tile_loop = s->n_loop;
  const uint16_t *knob = c->knob[level->is_reduce][level->level],
                 *with = c->knob[level->is_reduce][level->with];
  for (uint32_t k = 0; k < c->n[level->is_reduce]; k++) {
    if (!is_implied && level->level > 0 && is_of_grid(c, level->is_reduce, k)) continue;
    seer_sketch_loop loop = {.axis = c->axis[level->is_reduce][k],
        .knob = is_implied ? SEER_NO_KNOB : knob[k],
        .knob2 = level->with ? with[k] : SEER_NO_KNOB,
        .binding = (uint8_t)level->binding};
    seer_skeleton_loop(b, to, loop, 1u + level->level);  // block loops have 0
  }
}

static void add_knobs(seer_skeleton *b, uint32_t stage, cuts *c) {
  for (uint32_t kind = 0; kind < 2; kind++) {
    const seer_levels *levels = c->levels;
    uint32_t n_level = kind ? (uint32_t)levels->n_reduce : (uint32_t)levels->n_space;
    for (uint32_t level = 1; level < n_level; level++) {
      for (uint32_t k = 0; k < c->n[kind]; k++)
        c->knob[kind][level][k] = is_of_grid(c, kind, k)
            ? SEER_NO_KNOB
            : seer_skeleton_factor(b, stage, c->axis[kind][k], level);
    }
    if (kind) continue;
    for (uint32_t l = 0; l < c->levels->n_loop; l++) {
      const seer_level *level = &c->levels->loop[l];
      if (level->binding != SEER_BIND_TILE) continue;
      bool is_last = level->level + 1u == n_level && c->levels->is_vectorised;
      for (uint32_t k = 0; k < c->n[0]; k++)
        seer_skeleton_mark_tile(b, c->knob[0][level->level][k], is_last && k + 1 == c->n[0]);
    }
  }
}

static void end_tile(seer_skeleton *b, uint32_t stage, const cuts *c) {
  seer_sketch_stage *s = &b->sketch->stage[stage];
  if (s->first_tile_loop == 0) s->first_tile_loop = s->n_loop;
  s->is_vectorised = c->levels->is_vectorised && c->n[0] > 0;
  s->vector_axis = c->n[0] > 0 ? c->axis[0][c->n[0] - 1] : 0;
}

void seer_skeleton_tiled(seer_skeleton *b, uint32_t stage) {
  const seer_plan_stage *plan = &b->plan->stage[stage];
  bool is_fused = plan->place == SEER_PLAN_FUSED;
  uint32_t owner = is_fused ? plan->partner : stage;  // of the outer levels
  seer_sketch_stage *mine = &b->sketch->stage[stage], *other = &b->sketch->stage[owner];
  cuts *c = SEER_NEW(b->context->arena, cuts);
  c->levels = seer_levels_of(b->context->target->kind);
  c->grid = b->plan->stage[owner].grid_axes;
  c->n[0] = seer_skeleton_axes(b, stage, false, c->axis[0]);
  c->n[1] = seer_skeleton_axes(b, stage, true, c->axis[1]);
  for (uint32_t k = 0; k < c->n[1]; k++) c->knob[1][0][k] = SEER_NO_KNOB;
  seer_skeleton_block(b, owner, c->n[0], c->axis[0], c->knob[0][0]);
  add_knobs(b, stage, c);
  uint32_t n_outer = is_fused ? plan->fuse_level : 0;
  for (uint32_t l = 0; l < c->levels->n_loop; l++) {
    const seer_level *level = &c->levels->loop[l];
    if (!level->is_reduce && level->level < n_outer) add_level(b, owner, c, level, false);
  }
  if (is_fused) {
    const seer_follow_levels *follow = seer_levels_follow(c->levels, n_outer);
    mine->location[0] = (seer_location){
        .at = (uint8_t)owner, .depth = other->n_loop, .is_root = other->n_loop == 0};
    mine->n_location = 1;
    other->max_parallel = other->n_loop;
    for (uint32_t l = 0; l < follow->n_loop; l++) add_level(b, owner, c, &follow->loop[l], false);
    end_tile(b, owner, c);
  }
  for (uint32_t l = 0; l < c->levels->n_loop; l++) {
    const seer_level *level = &c->levels->loop[l];
    if (!level->is_reduce && level->level < n_outer) continue;
    bool is_outermost = !level->is_reduce && level->level == n_outer;
    if (level->is_reduce && level->level == 0 && !is_fused) mine->max_parallel = mine->n_loop;
    add_level(b, stage, c, level, is_fused && is_outermost);
  }
  end_tile(b, stage, c);
}
