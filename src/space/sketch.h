// sketch.h - the skeleton of loops that the rules give a task; everything sampled is a knob.
// task -> formulations (DAGs with equal results) -> sketches -> knobs. A sketch owns its DAG: the
// formulation's DAG, rewritten by cache-write, cache-read and rfactor (which add stages; the
// canonical DAG's buffers keep their ids, so that arguments bind by the same numbers in every
// sketch). Stages are computed readers first: what an attached stage's factors split is the
// region that its reader needs.
//
// The loops of a stage, outer to inner, for the structure SSRSRS of a tiled stage that is computed
// at a reader's loops (fused at level 2): reader [S0 S1 | T], stage at the reader's last S1
// loop: [R0 S2 R1 S3], T = the region.
//
// Memory: a list, its sketches and their DAGs are in one arena, the canonical DAG and the target
// are kept. Threads: one makes a list; then nothing in it changes, and any number may read.
#ifndef SEER_SPACE_SKETCH_H
#define SEER_SPACE_SKETCH_H

#include "base/rng.h"
#include "dag/dag.h"
#include "setup/target.h"
#include "space/schedule.h"
#include "space/sketch/levels.h"

// Value of AHEAD: into a second buffer of the block's, on the way while a step is added up.
#define SEER_AHEAD_BY_COPIES 2

typedef enum {
  SEER_ROLE_CONST,  // weights only: evaluated at compile time, read as a packed weight
  SEER_ROLE_INLINE,  // substituted into its readers
  SEER_ROLE_TILED,  // multi-level tiling
  SEER_ROLE_SIMPLE,  // its axes in order, the last split (outer, lanes), reductions inside
  // reader of a tiled stage: its loops follow the tiling down to where the stage is attached
  SEER_ROLE_FOLLOW,
  // copy of what a tiled stage reads, made by all items of a block for each step of its reduction
  SEER_ROLE_FETCH,
  // reduction without memory of its own: the items of its elementwise reader's block share it
  SEER_ROLE_SHARED
} seer_sketch_role;

typedef enum {
  SEER_KNOB_FACTOR,  // inner factor of (stage, axis, level)
  SEER_KNOB_LOCATION,  // index into the stage's list of locations
  SEER_KNOB_PARALLEL,  // how many leading loops of a root stage are parallel
  // at most so many copies of the register tile's body in the loops around it (0 and 1: none):
  // seer_knob_number
  SEER_KNOB_UNROLL,
  SEER_KNOB_ITEMS,  // items of the blocks of a FLAT stage: seer_knob_number
  SEER_KNOB_WIDTH,  // neighbours that an item of a FLAT stage makes together: seer_knob_number
  // elements between the rows of a FETCH in the block's memory: seer_knob_number
  SEER_KNOB_PAD,
  // Whether a TILED stage's FETCHes are a step ahead of what is added up: 0, 1 by registers, or
  // SEER_AHEAD_BY_COPIES (the frame says where it can be)
  SEER_KNOB_AHEAD,
  // inner length of a reduction in two, or how many parts it is in (split K): seer_knob_number
  // (seer_sketch, variant)
  SEER_KNOB_RFACTOR,
  SEER_KNOB_KIND_COUNT
} seer_knob_kind;

typedef enum {
  SEER_SPACE_FULL,  // everything
  // What Ansor published: its rules, exact divisors, its sampler and mutations (schedule/ansor.h)
  SEER_SPACE_ANSOR,
  SEER_SPACE_COUNT
} seer_space_kind;

uint32_t seer_unroll_limits(seer_target_kind kind);  // how many values an UNROLL knob has

typedef struct {
  const char *name;  // "conv.oc.3", "pad.at", "conv.parallel", "conv.unroll"
  seer_knob_kind kind;
  uint8_t stage, axis, level;
  // Values are 0 .. n_values-1; FACTOR: 0 (values 1 .. SEER_MAX_FACTOR)
  uint16_t n_values;
  const uint16_t *number;  // RFACTOR: what each value stands for, ascending; else NULL
  // FACTOR: the innermost factor of the vectorised axis: a multiple of the vector length
  bool is_vector;
  bool is_tile;  // FACTOR: part of the register tile
  bool is_reduce;  // FACTOR: of a reduction axis
} seer_knob;

#define SEER_NO_KNOB 0xFFFF

// The number that a value of a PARALLEL, UNROLL, ITEMS, WIDTH, PAD, AHEAD or RFACTOR
// knob stands for.
uint16_t seer_knob_number(const seer_sketch_list *list, const seer_knob *knob, uint16_t value);

typedef struct {
  // As a frame's loop begins (frame.h): filling one copies these together.
  uint8_t axis;  // of the stage
  uint8_t level;  // 0 = most significant part of this axis within this stage
  bool is_reduce, is_tile, is_vector, is_item;
  uint8_t fixed;  // a given extent in place of a knob (a transform's tile); 0: none
  uint8_t binding;  // seer_binding
  uint16_t knob;  // factor; SEER_NO_KNOB for the implied outermost part
  // the extent is the product of both factors (a FOLLOW stage's T0 at level 1); else SEER_NO_KNOB
  uint16_t knob2;
} seer_sketch_loop;
#define SEER_NO_STAGE 0xFF

// Where a stage may be computed: at depth d of stage `at` = inside its first d loops (d >= 1), or
// at the root. A list of several is ordered from the innermost place to the outermost: inline (if
// allowed), deep loops ..., root (always last). Axes of extent 1 have no loops: their index is the
// region's start.
typedef struct {
  bool is_root, is_inline;
  uint8_t at;  // stage
  uint8_t depth;  // number of loops of `at` that enclose it
} seer_location;

typedef struct {
  // What a frame is filled from comes first, close together: that is done a million times a second.
  seer_sketch_role role;
  uint8_t n_location;  // 1: fixed
  uint8_t n_loop;
  // loops from here on are the register tile: unrolled, the last one vectorised
  uint8_t first_tile_loop;
  bool is_vectorised;  // the last loop is a VECTOR loop
  uint8_t max_parallel;  // leading loops that may be parallel
  // TILED: whether its register tile may be products of matrices (space/matrix.h)
  uint8_t matrix_depth;  // seer_matrix_depth
  // TILED: whether its tile may be products of warps (space/warps.h), and the axes of each factor
  uint8_t warps_type;  // seer_warps_type
  uint32_t factor_axes[2];
  // TILED as such, and its FOLLOW: bit a, the tile may reach beyond the axis's end to be of whole
  // patches (frame.h)
  uint16_t padded_axes;
  // Of a GPU's stage whose elements are dealt out one after another (frame.h, FLAT): its spatial
  // axes have no loops. Without a knob it has a warp's items; a FETCH has those of its partner.
  bool is_flat;
  // A reduction is shared by the items of a block, one block a result: its own, or its partner's
  bool is_tree;
  bool pack_weights;  // TILED, FETCH: weights that it loads by plain axes are packed in read order
  // FOLLOW: the tiled stage that it follows; TILED: its FOLLOW stage; FETCH: the tiled stage that
  // reads it; SHARED: its reader; SIMPLE with is_tree: what is SHARED; else SEER_NO_STAGE
  uint8_t partner;
  uint8_t fuse_level;  // TILED with a partner: the levels that this has around it
  uint8_t vector_axis;  // the axis of the VECTOR loop
  uint8_t block_depth;  // leading loops in which blocks of other stages are computed
  uint16_t vector_lanes;  // elements of a full vector of its values
  uint16_t grid_axes;  // bit a: of a GPU's tile; a block has one index of the axis (split K)
  uint16_t tile_copies;  // product of the extents of the tile's loops without knobs
  // SEER_NO_KNOB where the stage has none; location: where it is fixed
  uint16_t location_knob, parallel_knob, unroll_knob, items_knob, width_knob, pad_knob, ahead_knob;
  // its loops from the most to the least significant in their axes (levels.h)
  uint8_t by_rank[SEER_DAG_MAX_AXES * 4];
  seer_sketch_loop loop[SEER_DAG_MAX_AXES * 4];
  seer_location location[40];  // static list
  // by axis: extent of its fixed loop (knobs count these; of a FLAT stage, elements that an item
  // makes together); 1: none
  uint8_t step[SEER_DAG_MAX_AXES];
  // knob of (axis, level as in its name); SEER_NO_KNOB
  uint16_t factor[SEER_DAG_MAX_AXES][SEER_MAX_LEVELS];
  // draw.h; of the axis's extent, NULL where it is 1
  const struct seer_divisors *divisors[SEER_DAG_MAX_AXES];
  // of the space ansor: what its factors may be (factorise.h); NULL where it has none
  const struct seer_factorisations *ways[SEER_DAG_MAX_AXES];
  // of its knobs' names: the stage's own, also after cache-write or rfactor renamed it
  const char *prefix;
} seer_sketch_stage;

// Where a reduction is in two and the lengths of both are a knob's (Ansor's rfactor), extents of
// the DAG are: the sketch in the list then stands for several of equal loops and knobs, its
// variants, each with a DAG of its own, and the knobs say which one a schedule is of
// (seer_sketch_of).
#define SEER_SKETCH_MAX_SPLITS 4
typedef struct seer_sketch {
  // ordered text of the rules applied: "direct/tile(conv)/fuse@2(relu)/pad@knob"
  const char *signature;
  const char *formulation;
  const seer_dag *dag;  // of this sketch
  double tolerance;  // relative, of the formulation
  bool needs_trials;  // likewise: only measurements may choose it
  uint32_t n_knob;
  seer_knob *knob;
  // stages that may own loops or pass accesses on, readers first
  uint32_t order[SEER_DAG_MAX_STAGES];
  uint32_t n_order;
  seer_sketch_stage *stage;  // by stage of the DAG; variants share them
  // Its RFACTOR knobs; and its variants by their values, the last knob's fastest: variant[0] is the
  // one in the list. Without such knobs it is its own only variant.
  uint32_t n_split;
  uint16_t split_knob[SEER_SKETCH_MAX_SPLITS];
  uint32_t n_variant, number;  // number: its place among them
  const struct seer_sketch *const *variant;
} seer_sketch;

struct seer_sketch_list {
  const seer_dag *dag;  // the canonical one
  const seer_target *target;
  seer_space_kind space;
  uint32_t n;
  const seer_sketch **sketch;
  // What there was no room for: plans of the rules' walk, and plans that others were ranked before.
  uint32_t n_plans_cut, n_sketches_cut;
  double tolerance;  // no sketch's is larger; 1: whatever formulations there are
};

// The sketch, or the variant of it, that a schedule is of.
const seer_sketch *seer_sketch_of(const seer_sketch_list *list, const seer_schedule *schedule);

// All sketches of all formulations, in a stable order. Never empty for a verified DAG (a simple
// sketch always exists). Errors: INVALID a DAG without stages.
SEER_MUST_USE seer_status seer_sketch_generate(const seer_dag *dag, const seer_target *target,
    seer_space_kind space, seer_arena *arena, seer_sketch_list **out_list);
// Leaves out the sketches of formulations that may add a larger relative error than `tolerance`; 0
// keeps those alone that add none. What stays keeps its order, and is never nothing: the direct
// formulation is exact. Schedules name sketches by index: before any is made.
void seer_sketch_keep_within(seer_sketch_list *list, double tolerance);
// Numbers formulations in the order in which the list has them: out[k] of sketch k. How many.
uint32_t seer_sketch_formulations(const seer_sketch_list *list, uint32_t *out);

#endif
