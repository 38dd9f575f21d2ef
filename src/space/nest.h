// nest.h - the nest summary: what features and the analytic model read of a schedule, without any
// tree. Statements; per statement its loops from outermost to innermost over the whole path from
// the root (the loops of the stages that it is attached in come first), and its accesses. Made from
// a frame by arithmetic (no allocation, about a microsecond); a test holds it against a walk over
// the loop IR (test/support/nest_walk.h).
// Of a GPU, loops of the grid are PARALLEL, those of a block's items THREAD; stages that are dealt
// out have loops of their region in the frame's place, which has none; a sum that a block's items
// share has a statement of its own (test/property/test_items_estimate.c holds what follows from it
// against vector code).
//
// Threads: facts any number may read; a summariser is one thread's. A nest points to nothing.
// Errors: none; what there is no room for is counted.
#ifndef SEER_SPACE_NEST_H
#define SEER_SPACE_NEST_H

#include "space/frame.h"
#include "space/loop.h"

#define SEER_NEST_MAX_LOOPS 40
#define SEER_NEST_MAX_ACCESSES 12
#define SEER_NEST_MAX_STATEMENTS 40
#define SEER_NEST_NO_DIM 0xFF
#define SEER_NEST_MAX_GAP 16  // elements
#define SEER_NEST_TF32_ROUNDING 4  // operators on integers that an f32 is rounded to TF32 by

typedef enum {
  SEER_NEST_ARG,  // DAG input or output in its own layout
  SEER_NEST_PACKED,  // weight in read order
  SEER_NEST_SHARED,  // whole intermediate between phases
  SEER_NEST_LOCAL,  // per-thread region buffer in memory; of a GPU a block's
  // region buffer of at most a register tile, read and written at constant addresses
  SEER_NEST_REGISTER
} seer_nest_storage;

typedef struct {
  int64_t extent;  // nominal trip count
  uint8_t ann;  // seer_loop_ann
  bool is_reduce;
  bool is_exact;  // never shorter than `extent`
  uint8_t stage, axis, level;
} seer_nest_loop;

typedef struct {
  uint32_t buf;  // buffer of the sketch's DAG
  seer_nest_storage storage;
  bool is_write;  // the statement's own target (reductions: read and written)
  bool is_guarded;
  bool is_whole;  // some index is not affine: each iteration touches an element anywhere
  bool is_weight;  // of the network, or made of its weights alone
  uint8_t elem_bytes;
  bool is_narrow;  // floats narrower than f32
  uint8_t rank;
  int64_t dim[SEER_MAX_RANK];  // extents of the buffer (of the region, when LOCAL or REGISTER)
  uint8_t loop_dim[SEER_NEST_MAX_LOOPS];  // dimension that loop l moves in; NO_DIM: none
  int32_t loop_coef[SEER_NEST_MAX_LOOPS];  // elements of that dimension per iteration
  // Of memory that a value and one in place in it share (space/in_place.h): 1 + n, where what an
  // iteration of the statement's first n loops touches is touched in no other. 0: of all other
  // memory.
  uint8_t visit;
  bool is_first;  // of the accesses of a visit: it brings what the others find
  int64_t row_pitch;  // elements between rows (last dimension's neighbours)
  // Elements along each dimension that one iteration reads at constant distances (a transform reads
  // a window of its own): 1 where it is a single one. Those further apart than SEER_NEST_MAX_GAP
  // are accesses of their own: what lies between them is not touched.
  uint16_t span[SEER_MAX_RANK];
} seer_nest_access;

// Of a GPU's stage whose elements are dealt out to items (frame.h, FLAT): loops [first, first + n)
// number what is dealt out, the last one fastest, and `items` of a block take turns, n_steps of
// them (at the root of a kernel each step is a block of its own, and none is left to take). What
// an item makes together is its tile. n_steps is 0 of any other stage.
typedef struct {
  uint8_t first, n;
  bool is_root;
  bool is_ahead;  // what is fetched for a step is on its way while the one before is added up
  bool is_copied;  // into a second buffer of the block's, not by way of registers
  bool is_tree;  // these are a reduction's: its items add up what they have, a block one result
  int64_t items, n_groups, n_steps;
} seer_nest_dealt;

typedef struct {
  uint8_t stage;
  uint8_t phase;
  bool is_reduction;  // update of a reduction
  bool adds_integers;  // of one whose accumulators wait for a sum of integers: one cycle
  bool is_of_tf32;  // one of products of factors that are rounded to TF32, which n_rounding has not
  uint8_t n_loop;
  uint8_t first_own;  // loops before it belong to the stages that this one is attached in
  uint8_t first_tile;  // loops from here on are the register tile
  uint8_t n_access;
  uint16_t max_unroll;
  seer_nest_dealt dealt;
  double iterations;  // exact total number of innermost iterations (tails counted once)
  // product of nominal extents: what runs when tails are masked or clamped
  double padded_iterations;
  float n_fma, n_add, n_mul, n_div, n_cmp, n_special;  // per iteration, of floats but for n_cmp
  float n_halves;  // of n_fma: two products of bf16 and their sum
  float n_widened;  // narrow floats, as they are loaded
  float n_rounding;  // operators that narrow floats are rounded by
  float n_int;  // all on integers; of these:
  float n_int_mul, n_dot;  // products; products of four bytes and their sum
  seer_nest_loop loop[SEER_NEST_MAX_LOOPS];
  seer_nest_access access[SEER_NEST_MAX_ACCESSES];
} seer_nest_statement;

typedef struct {
  uint32_t n_statement;
  uint32_t n_left_out;  // loads and statements beyond what there is room for
  uint64_t local_bytes;  // of LOCAL buffers, per thread
  uint64_t packed_bytes;  // of packed weights
  double n_parts[SEER_DAG_MAX_STAGES];  // by phase
  uint32_t n_phase;
  seer_nest_statement statement[SEER_NEST_MAX_STATEMENTS];
} seer_nest;

// Elements [a, a + a_span) and [b, b + b_span) of a dimension: is there little between them?
static inline bool seer_nest_are_beside(int64_t a, int64_t a_span, int64_t b, int64_t b_span) {
  return a - (b + b_span) <= SEER_NEST_MAX_GAP && b - (a + a_span) <= SEER_NEST_MAX_GAP;
}

// Facts of a sketch's DAG that do not depend on knobs (operation counts, affine accesses); made
// once per sketch list, which is kept.
typedef struct seer_nest_facts seer_nest_facts;
// For tests.
seer_nest_facts *seer_nest_facts_build(const seer_sketch_list *list, seer_arena *arena);

// From arithmetic. `frame` of `schedule`.
void seer_nest_make(const seer_nest_facts *facts, const seer_frame *frame, seer_nest *out);
// The same from a schedule, with a place for frame and summary of its own: for many schedules of
// one list, one after another.
typedef struct seer_summariser seer_summariser;
seer_summariser *seer_summariser_create(const seer_sketch_list *list, seer_arena *arena);
const seer_nest_facts *seer_summariser_facts(const seer_summariser *summariser);  // its list's
// Valid until the next call. Asked for the same schedule again it is not made again.
const seer_nest *seer_summarise(seer_summariser *summariser, const seer_schedule *schedule);

// Distinct elements that access `a` touches in the loops [depth, n_loop) for one iteration of the
// outer ones, capped by the buffer; is_whole: an element each iteration.
// For tests.
double seer_nest_touched(
    const seer_nest_statement *statement, const seer_nest_access *access, uint32_t depth);
// For every depth at once: out[0 .. n_loop].
void seer_nest_touched_by_depth(
    const seer_nest_statement *statement, const seer_nest_access *access, double *out);

#endif
