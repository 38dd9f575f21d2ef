// frame.h - the loops of one schedule with numbers: what (sketch, knobs) come to, by arithmetic
// alone. Lowering, the nest summary, normalisation and the validity checks all read it. No
// allocation: the caller owns the struct.
//
// Threads: any; lists of sketches are only read. A frame points into its list, which outlives it.
// Errors: none, but the verdict of a check.
#ifndef SEER_SPACE_FRAME_H
#define SEER_SPACE_FRAME_H

#include "space/sketch.h"
#include "space/warps.h"

typedef struct {
  uint8_t axis, level;
  bool is_reduce;
  bool is_tile;  // part of the register tile: unrolled
  bool is_vector;  // the last loop
  bool is_item;  // its iterations are items of a block
  bool is_parallel;
  bool is_exact;  // trip count is always `extent`
  int64_t extent;  // nominal
  int64_t coef;  // the axis's index = region start + sum coef * var
} seer_frame_loop;

typedef enum {
  SEER_PLACE_NONE,
  SEER_PLACE_INLINE,
  SEER_PLACE_ROOT,
  SEER_PLACE_AT,
  SEER_PLACE_CONST,
  SEER_PLACE_SHARED  // a sum of its reader's block (SEER_ROLE_SHARED)
} seer_place;

// A FLAT stage's spatial axes have no loops: the elements of its region, its dimensions row by row,
// are dealt out in groups of `width` neighbours along the last one, and of a transform's tile
// (step[] of its sketch) along the others. Step s gives group s * items + i to item i. At the root
// the steps are blocks; of a stage that is AT its block goes through them.
typedef struct {
  int64_t n_groups, n_steps;
  int64_t items, width;
  int64_t pad;  // elements between rows in the block's memory
} seer_frame_flat;

// What is needed of one dimension of a stage that is AT, at one visit. Its start = constant + sum
// coef[k] * S(axis[k]) / div, where S(a) is the start of axis `a` of stage `at` at that depth:
// region start of `at` + sum coef*var over its loops of `a` outside. A whole dimension starts at 0.
// Not yet cut to the buffer: start may lie below 0 or start + length beyond the dimension.
#define SEER_REGION_MAX_TERMS 4
typedef struct {
  int64_t length;  // at most the dimension
  bool is_whole;
  bool is_exact;  // inside the buffer at every visit without cutting
  uint8_t n;
  uint8_t axis[SEER_REGION_MAX_TERMS];  // of `at`, ascending
  int64_t coef[SEER_REGION_MAX_TERMS];
  int64_t constant;
  int64_t div;  // the sum is always a multiple of it
  int64_t step;  // sum / div is always a multiple of it; 0 where it is 0
} seer_region;

typedef struct {
  seer_place place;
  uint8_t at, depth;  // AT: inside the first `depth` loops of stage `at`
  bool in_place;  // AT: it has no memory of its own (space/in_place.h)
  uint8_t n_loop;
  uint8_t n_parallel;
  uint16_t max_unroll;
  // Extent per axis of what is computed at one visit: the whole axis at the root, the region that
  // the readers need (hull, cut to the buffer) when attached; reduction axes whole. A product of
  // warps that would end within a patch, and what is fetched for it, go on beyond the axis's end.
  int64_t region[SEER_DAG_MAX_AXES];
  bool is_region_exact[SEER_DAG_MAX_AXES];  // never shorter than region[] at any visit
  seer_region start[SEER_DAG_MAX_AXES];  // AT: where it lies; not set otherwise
  seer_frame_loop loop[SEER_DAG_MAX_AXES * 4];
  bool is_flat;
  seer_frame_flat flat;
  // Of a FLAT stage whose blocks have one result each: the items that share its reduction; else 0
  int64_t tree_items;
  // TILED: what is fetched for its next step is on its way while this one is added up: it is loaded
  // into registers, or copied into a second buffer of the block's.
  bool is_ahead, is_copied;
} seer_frame_stage;

// Steps of a fetch (frame.h, FLAT) that a block may load into registers ahead: all are written out.
#define SEER_FRAME_STEPS_AHEAD 8

typedef struct seer_frame {
  const seer_sketch *sketch;
  uint32_t n_root;  // root stages in execution order = phases
  uint8_t root[SEER_DAG_MAX_STAGES];
  seer_frame_stage stage[SEER_DAG_MAX_STAGES];
} seer_frame;

// Fills `out` for a schedule (need not be normalised: factors are clamped on the fly as normalise
// does).
void seer_frame_make(const seer_sketch_list *list, const seer_schedule *schedule, seer_frame *out);
// Frame and normalised schedule in one go (drafting), and the check on a frame that is at hand.
void seer_frame_normalise(const seer_sketch_list *list, seer_schedule *schedule, seer_frame *out);
seer_reject seer_frame_check(const seer_sketch_list *list, const seer_frame *frame);

// Whether a stage may be computed at one of its locations: all that read it run inside. `frame`
// must already hold all readers.
bool seer_frame_may_stand(const seer_frame *frame, uint32_t stage, const seer_location *location);

// What is needed of stage `producer_stage` inside the first `depth` loops of stage `at`: its length
// along each dimension, one hull for all readers there. (Where it starts as an expression is
// lowering's business.) `frame` must already hold all readers. Data-dependent or non-affine
// indices: the whole dimension.
void seer_frame_region(const seer_frame *frame, uint32_t producer_stage, uint32_t at,
    uint32_t depth, int64_t *out_extent);

// The same with its start. For tests.
void seer_frame_region_start(const seer_frame *frame, uint32_t producer_stage, uint32_t at,
    uint32_t depth, seer_region *out_dim);

// Bytes of the buffers of stages that are AT and not in place, per thread; n vectors and rows of a
// stage's register tile.
int64_t seer_frame_local_bytes(const seer_frame *frame);
typedef struct {
  // rows * vectors registers hold the tile; vectors = 1 without a vector loop
  int64_t rows, vectors;
  int64_t steps;  // unrolled reduction steps (a transform's); else 1
} seer_frame_tile;
seer_frame_tile seer_frame_register_tile(const seer_frame *frame, uint32_t stage);
// Whether all loops of a stage that is AT are of its register tile or of a reduction: what it makes
// is kept in registers, else in memory.
static inline bool seer_frame_is_in_registers(const seer_frame_stage *stage) {
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (!loop->is_reduce && !loop->is_tile && loop->extent > 1) return false;
  }
  return true;
}
// Whether it is products of matrices, as far as loops say.
bool seer_frame_is_of_matrices(const seer_frame *frame, uint32_t stage);
// Whether it is products of warps, and which: loops are numbers of the stage's.
bool seer_frame_is_of_warps(const seer_frame *frame, uint32_t stage, seer_warps_tile *out_tile);
// Product of its parallel loops; of a FLAT stage its steps.
int64_t seer_frame_parts(const seer_frame *frame, uint32_t stage);
// Steps of a tiled stage for which operands are fetched: of its loops around its fetches.
int64_t seer_frame_fetch_steps(const seer_frame_stage *stage);
// Of the loops that are bound to items; 1 where there are none.
int64_t seer_frame_items(const seer_frame_stage *stage);

#endif
