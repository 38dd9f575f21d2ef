// rule.h - what a sketch rule sees and makes. A plan is a half-made sketch: the rules walk the
// stages from the last to the first and decide each one's role; rules that add stages rewrite the
// plan's own copy of the DAG. skeleton.c turns a finished plan into a sketch. Internal to space;
// how to add a rule: rule/table.c.
//
// Memory: plans, their texts and what rules add to DAGs are in context->arena. One thread makes the
// sketches of a task; tasks are independent. Errors: none; a rule that cannot apply skips.
#ifndef SEER_SPACE_RULE_H
#define SEER_SPACE_RULE_H

#include "dag/access.h"
#include "space/sketch.h"

typedef enum {
  SEER_PLAN_ROOT,  // fixed at the root
  SEER_PLAN_FUSED,  // fixed at its FOLLOW partner's loops
  SEER_PLAN_FREE,  // a location knob: readers' loops or the root
  SEER_PLAN_BLOCK,  // fixed at the block loops of stage `block`
  SEER_PLAN_FETCHED  // fixed inside the outermost reduction loops of its tiled partner
} seer_plan_place;

// The stage that computes the parts of a reduction in two (seer_plan_split): which of both lengths
// counts them. That is its last spatial axis; the other length is its only reduction axis. BLOCKS:
// parts of one reduction axis, dealt out over a GPU's grid: its first spatial axis.
typedef enum { SEER_PART_NONE, SEER_PART_OUTER, SEER_PART_INNER, SEER_PART_BLOCKS } seer_plan_part;

#define SEER_PLAN_SMALL 8  // extent of an index axis of a transform: F(6x6, 3x3) has 8

typedef struct {
  bool is_decided;
  seer_sketch_role role;
  seer_plan_place place;
  bool may_inline;  // FREE: inline is one of the locations
  bool has_block;  // its outermost loops are block loops, in which others are computed
  bool is_rewritten;  // made by cache-write or rfactor: not again
  bool is_read_cached;  // one of its operands is packed
  bool is_tree;  // SIMPLE: the items of a block share its reduction, or its partner's
  bool unrolls_small;  // its reductions and small index axes are part of the tile
  uint8_t partner, fuse_level, block;
  uint8_t rows_axis;  // SIMPLE: the axis of its tile's rows, plus one; 0: the one before the last
  seer_plan_part part;
  uint16_t open_axes;  // bit a: the axis's extent is a knob's, so that it has loops whatever it is
  uint16_t grid_axes;  // bit a: of a GPU's tile, a block has one index of the axis
  const char *prefix;  // of knob names
} seer_plan_stage;

typedef struct seer_plan_split seer_plan_split;  // split.h

typedef struct {
  const seer_dag *dag;  // shared until a rule rewrites it
  const char *formulation;
  double tolerance;
  bool needs_trials;
  const char *signature;
  // the list is sorted by it: what is likely to be good without search comes first
  int rank;
  uint32_t cursor;  // stages [0, cursor) are to be decided; cursor - 1 is next
  // Reductions in two: the stages of their parts; `dag` has each split by its first length.
  uint32_t n_split;
  uint8_t split_stage[SEER_SKETCH_MAX_SPLITS];
  const seer_plan_split *split[SEER_SKETCH_MAX_SPLITS];
  seer_plan_stage stage[SEER_DAG_MAX_STAGES];
} seer_plan;

typedef struct seer_rule_run seer_rule_run;  // sketch.c

typedef struct seer_rule_context seer_rule_context;
struct seer_rule_context {
  const seer_target *target;
  seer_space_kind space;
  seer_arena *arena;
  seer_rule_run *run;
  void (*go_on)(const seer_rule_context *context, const seer_plan *plan);  // seer_plan_push
};

typedef enum {
  SEER_RULE_SKIP,  // does not apply
  SEER_RULE_GO_ON,  // made plans; later rules are tried on the same stage as well
  SEER_RULE_STOP  // made plans; no other rule
} seer_rule_answer;

// Kinds of targets that a rule is for: bits of seer_target_kind.
#define SEER_RULE_CPU (1u << SEER_TARGET_CPU)
#define SEER_RULE_GPU (1u << SEER_TARGET_CUDA | 1u << SEER_TARGET_OPENCL)
#define SEER_RULE_ALL (SEER_RULE_CPU | SEER_RULE_GPU)

typedef struct {
  const char *name;
  const char *doc;
  bool is_ansor;  // in the ansor space too
  uint8_t kinds;
  seer_rule_answer (*apply)(
      const seer_rule_context *context, const seer_plan *plan, uint32_t stage);
} seer_rule;

extern const seer_rule *const seer_rule_table[];
extern const size_t seer_rule_table_count;

// ---- for rules (plan.c)
// A copy to change. `rule` is appended to the signature as "/rule(stage)"; the cursor is moved
// below `stage`.
seer_plan *seer_plan_next(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule);
// goes on with the remaining stages
void seer_plan_push(const seer_rule_context *context, const seer_plan *plan);
bool seer_plan_is_output(const seer_plan *plan, uint32_t stage);
// Readers of `stage`, seen through inlined ones. *out_elementwise: the way to each of them is
// elementwise.
uint64_t seer_plan_readers(const seer_plan *plan, uint32_t stage, bool *out_elementwise);
// The only reader seen through inlined stages when it is an elementwise, reduction-free one that a
// tiled `stage` may be fused into; else -1.
int seer_plan_fusable_reader(const seer_plan *plan, uint32_t stage);
bool seer_plan_needs_tiling(const seer_plan *plan, uint32_t stage);
int64_t seer_plan_space(const seer_plan *plan, uint32_t stage);  // product of extents
int64_t seer_plan_reduce(const seer_plan *plan, uint32_t stage);
// Whether buffer `buf` is a weight, or is made of weights alone: known when compiling.
bool seer_plan_is_weight(const seer_plan *plan, uint32_t buf);
bool seer_plan_is_transform(const seer_plan *plan, uint32_t stage);  // into a form, or out of it
// A plan in which `rule` has made this stage SIMPLE, to be pushed.
seer_plan *seer_plan_simple(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule);
// Goes on with a plan in which `rule` has decided this transform: its small loops are unrolled.
void seer_plan_unroll_transform(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule);

static inline bool seer_plan_is_gpu(const seer_rule_context *context) {
  return context->target->kind != SEER_TARGET_CPU;
}

// Whether tiles read arguments themselves: a block's memory is no nearer than those, so that a copy
// would be work and a barrier (target.h, items_are_lanes).
static inline bool seer_plan_is_unfetched(const seer_rule_context *context) {
  return context->space == SEER_SPACE_FULL && seer_plan_is_gpu(context) &&
      context->target->gpu.items_are_lanes;
}

// The result that everything made of `stage` ends in, if there is just one and it is a root; else
// -1.
int seer_plan_result(const seer_plan *plan, uint32_t stage);

// ---- rewriting (rewrite.c, split.c, split_blocks.c, variant.c). Each gives plan->dag a new stage
// before `stage` (which moves up by one) and keeps the ids of all buffers. The new stage has index
// `stage`.
// The plan's own copy of its DAG, to be rewritten so.
seer_dag *seer_plan_open_slot(const seer_rule_context *context, seer_plan *plan, uint32_t stage);
// cache-write: the new stage computes; the old one copies it out.
bool seer_plan_has_room(const seer_plan *plan);
void seer_plan_cache_write(const seer_rule_context *context, seer_plan *plan, uint32_t stage);
// rfactor: reduction axis `axis` is split; the new stage keeps one part of size `factor` as a last
// (is_inner: lanes of a contiguous index) or first axis (chunks) and reduces the other; the old
// stage combines the parts. One value only. The new stage's name is the old one's and `name`.
void seer_plan_rfactor(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t axis, int64_t factor, bool is_inner, const char *name);
// split: all reduction axes are one, and that is in two, an outer and an inner length: the new
// stage keeps the part's as its last axis and reduces the other, the old stage combines the parts.
// The inner length is a knob's, of each divisor up to a limit: seer_plan_variant has the DAG for
// given ones, by values of the knobs.
bool seer_plan_may_split(const seer_plan *plan, uint32_t stage);
void seer_plan_split_reduction(
    const seer_rule_context *context, seer_plan *plan, uint32_t stage, seer_plan_part part);
// split K: reduction axis `axis` is in several parts, a knob's number of them, which blocks of the
// grid have. The new stage keeps the part as its first axis and is undecided, to be tiled; the old
// one adds the parts up, written out as one sum without reduction, undecided, too. Sums of one
// value only.
bool seer_plan_may_split_blocks(const seer_plan *plan, uint32_t stage, uint32_t axis);
void seer_plan_split_blocks(
    const seer_rule_context *context, seer_plan *plan, uint32_t stage, uint32_t axis);
uint32_t seer_plan_split_lengths(const seer_plan_split *split, const uint16_t **out_length);
const seer_dag *seer_plan_variant(
    const seer_rule_context *context, const seer_plan *plan, const uint16_t *value);
// cache-read: loads of `buf` in `stage` go through a copy whose dimension d is the buffer's
// dimension order[d]. The new stage's role is PACK or FETCH.
void seer_plan_cache_read(const seer_rule_context *context, seer_plan *plan, uint32_t stage,
    uint32_t buf, const uint8_t *order, seer_stage_role role);

// ---- skeleton.c: a finished plan -> sketch; NULL when it needs too many knobs and `is_cut` is
// false (is_cut: stages beyond the limit get no knobs).
seer_sketch *seer_skeleton_build(
    const seer_rule_context *context, const seer_plan *plan, bool is_cut);

#endif
