// lower.h - the inside of lowering, shared by its files and by the tests of tests. Internal to
// space.
//   lower.c         stages to loops, phases, buffers
//   block.c         blocks that are being filled, planted faults
//   deal.c          which element an item has, of those that are dealt out by numbers
//   flat.c          stages whose elements are dealt out to a GPU's items
//   ahead.c         what is fetched for the next step while one is added up
//   tree.c          reductions that the items of a block share
//   barrier.c       barriers between what a GPU's items do
//   region.c        where an attached stage's region starts, which loops need a bound
//   expr.c          inlining, loads of DAG buffers to loads of loop buffers
//   pack.c          weights in the order in which they are read
//   simplify.c      integer expressions made smaller by the ranges of their variables
// A seer_lower lives for one call: what it holds is in its scratch, what comes out in the loop's
// arena. One thread. Errors: UNSUPPORTED names the stage; the loop is of no use then.
#ifndef SEER_SPACE_LOWER_LOWER_H
#define SEER_SPACE_LOWER_LOWER_H

#include "space/loop/linear.h"
#include "space/lower.h"

// Planted faults: what lowering gets wrong on purpose, so that tests can show that they would see
// it.
typedef enum {
  SEER_LOWER_FAULT_NONE,
  SEER_LOWER_FAULT_TAIL_BOUND,  // a bound is one too large
  SEER_LOWER_FAULT_NO_TAIL,  // a bound is left out
  SEER_LOWER_FAULT_SHORT_TAIL,  // a bound is one too small
  SEER_LOWER_FAULT_SWAPPED_AXES,  // two indices of a store are swapped
  SEER_LOWER_FAULT_NO_INIT,  // a reduction starts from what was there
  SEER_LOWER_FAULT_WRONG_IDENTITY,  // a reduction starts from 1
  SEER_LOWER_FAULT_GUARD_OFF,  // a guard lets one element too many through
  SEER_LOWER_FAULT_NO_GUARD,  // a guard is left out
  SEER_LOWER_FAULT_STALE_PACK,  // a packed weight has two extents of one source dimension swapped
  SEER_LOWER_FAULT_REGION_START,  // a region starts one element late
  SEER_LOWER_FAULT_WRONG_COEF,  // one loop's coefficient is one too large
  SEER_LOWER_FAULT_LATE_INIT,  // an init stands inside the reduction loop
  SEER_LOWER_FAULT_COUNT
} seer_lower_fault;
const char *seer_lower_fault_name(seer_lower_fault fault);

#define SEER_LOWER_MAX_LOOPS (SEER_DAG_MAX_AXES * 4)

#define SEER_LOWER_MAX_ENDS 12

// Steps of a GPU's item that only load, or add up, and are written out, so that their loads are on
// their way at the same time.
#define SEER_LOWER_LOADS_AT_ONCE 8

// A block that is being filled.
typedef struct {
  uint32_t first, last;
} seer_lower_block;

typedef struct {
  // of `flat`: over this stage's axes, inlined stages substituted
  seer_expr body[SEER_DAG_MAX_VALUES];
  uint32_t n_load;
  seer_expr *load;  // loads of stages' values in its bodies, of the DAG
  uint32_t n_open;  // its loops that are open now
  // loop variable by loop of the frame; NO_VAR: left out (always 0)
  uint32_t var[SEER_LOWER_MAX_LOOPS];
  bool has_start;
  // AT, by spatial axis: where the region starts, and ends that the index stays below (the first is
  // start + length).
  seer_expr start[SEER_DAG_MAX_AXES];
  uint8_t n_end[SEER_DAG_MAX_AXES];
  seer_expr end[SEER_DAG_MAX_AXES][SEER_LOWER_MAX_ENDS];
  // Computed over its whole region at each visit, whatever of it is needed: all that it reads is
  // there (a GPU's tile, whose operands are fetched, with zeros beyond their ends).
  bool is_full;
  // FLAT, by spatial axis (where items share a sum, of the reduction, too): the element that the
  // item in hand makes, from the region's start; and, of one that is AT, whether the region may
  // reach beyond the axis's end.
  seer_expr shared;  // SHARED, where its reader is lowered: the sum
  bool is_dealt;
  seer_linear dealt[SEER_DAG_MAX_AXES];
  bool is_cut[SEER_DAG_MAX_AXES];
  // Of an item, where it is being dealt to: its turn, itself, and which of a group's neighbours (0:
  // there is one).
  seer_expr turn, item, neighbour;
  uint32_t held;  // FETCH: the buffer of what is loaded ahead, + 1
  bool is_loading;  // the next step's is loaded: it goes there
  // FETCH whose steps are copied ahead: which half of its buffer is meant, 0 or 1; 0: it has none
  seer_expr half;
} seer_lower_stage;

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  const seer_dag *dag;
  const seer_frame *frame;
  seer_lower_fault fault;
  bool was_faulty;  // the fault found a place
  uint32_t late_init;  // LATE_INIT: the stage it hit, + 1
  seer_loop *loop;
  seer_arena *scratch;
  seer_expr_pool flat;  // bodies after inlining; VAR = axis of the DAG, LOAD = buffer of the DAG
  uint32_t buf_of[SEER_DAG_MAX_BUFFERS];  // loop buffer + 1
  uint32_t *def, *depth;  // by loop variable, for the prover
  uint32_t cap_var, n_scope;
  // loop variables that enclose the place in hand, outermost first (FORs only, and LETs that stand
  // for those of another step: ahead.c)
  uint32_t scope[256];
  uint32_t n_for;
  uint32_t place_at, place_depth;  // the place of the regions that are being decided
  seer_expr ahead;  // where what a step behind is fetched for is loaded: there is one; else 0
  seer_expr *simple;  // by expression of the loop IR: what it simplifies to, 0: not seen yet
  uint32_t cap_simple;
  seer_prover prover;
  seer_lower_stage stage[SEER_DAG_MAX_STAGES];
} seer_lower;

#define SEER_LOWER_NO_VAR UINT32_MAX

// ---- block.c
uint32_t seer_lower_append(seer_lower *lower, seer_lower_block *block, const seer_loop_node *node);
// A FOR with a variable of its own, opened in `block`: what follows is inside it until it is
// closed.
typedef struct {
  uint32_t id, n_scope;
} seer_lower_open;
seer_lower_open seer_lower_open_for(
    seer_lower *lower, const char *name, seer_loop_node node, seer_lower_block *block);
void seer_lower_close_for(
    seer_lower *lower, const seer_lower_open *open, const seer_lower_block *body);
// LETs of a finished block go out of scope.
void seer_lower_leave(seer_lower *lower, const seer_lower_block *block, uint32_t n_scope);
// A LET, in scope from here on. Its variable.
uint32_t seer_lower_let(seer_lower *lower, const char *name, int64_t low, int64_t high,
    seer_expr value, uint32_t stage, seer_lower_block *block);
void seer_lower_row_major(seer_loop_buf *buf, int64_t pitch);  // strides, of rows `pitch` apart
bool seer_lower_is_faulty(
    seer_lower *lower, seer_lower_fault fault);  // true: plant it here (once per lowering)

// True if stage `s` has a buffer of its own that is addressed relative to its region's start.
static inline bool seer_lower_has_region(const seer_lower *lower, uint32_t s) {
  return lower->frame->stage[s].place == SEER_PLACE_AT && !lower->frame->stage[s].in_place;
}

// Whether stage `s` is a tile of a GPU's items.
static inline bool seer_lower_is_private(const seer_lower *lower, uint32_t s) {
  return lower->list->target->kind != SEER_TARGET_CPU &&
      lower->sketch->stage[s].role == SEER_ROLE_TILED;
}
static inline bool seer_lower_is_fetch(const seer_lower *lower, uint32_t s) {
  return lower->sketch->stage[s].role == SEER_ROLE_FETCH;
}

// ---- deal.c
// The number, below `n`, that `item` of `items` has in step `step` (NULL: there is one): kept in
// range where the last step has numbers for some items only, as the loop's bound does, which no
// prover follows.
void seer_lower_number(seer_lower *lower, uint32_t s, const seer_expr *step, seer_expr item,
    int64_t items, int64_t n, seer_linear *out, seer_lower_block *block);
// Fills state->dealt of stage `s` for its axes [first, first + n_axis): where `number` stands among
// length[0] x ... x length[n_axis - 1], the last one fastest, each counted in steps of step[]
// elements. LETs go to `block`.
void seer_lower_deal(seer_lower *lower, uint32_t s, const seer_linear *number, uint32_t first,
    uint32_t n_axis, const int64_t *length, const int64_t *step, seer_lower_block *block);

// ---- flat.c
// The loops that deal out the elements of a FLAT stage, around `emit`, which is given the block
// inside of them.
typedef seer_status (*seer_lower_emit)(seer_lower *lower, uint32_t s, seer_lower_block *block);
seer_status seer_lower_flat(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block);
// The group's elements around `emit`: its tile's loops, written out, and a VECTOR loop of
// neighbours.
seer_status seer_lower_group(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block);
// Where all axes at axis[] are inside, of those that a FLAT stage's region may reach beyond; 0:
// everywhere.
seer_expr seer_lower_inside(seer_lower *lower, uint32_t s, const seer_expr *axis);

// ---- ahead.c
// How many of a tiled stage's loops, its first ones, are over steps for which operands are fetched.
uint32_t seer_lower_step_loops(const seer_lower *lower, uint32_t s);
// A tiled stage whose fetches are a step ahead (frame.h, is_ahead): what comes in front of its
// loops over steps; at the beginning of a step's body, which those `k` loops enclose; and at its
// end. `emit` makes what is inside of a fetch's loops.
seer_status seer_lower_ahead_begin(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block);
seer_status seer_lower_ahead_load(
    seer_lower *lower, uint32_t s, uint32_t k, seer_lower_emit emit, seer_lower_block *block);
seer_status seer_lower_ahead_store(
    seer_lower *lower, uint32_t s, uint32_t k, seer_lower_block *block);
// A store of FETCH stage `s` goes to its item's registers instead, where those are being loaded.
void seer_lower_ahead_hold(const seer_lower *lower, uint32_t s, seer_loop_node *inout_store);

// ---- tree.c
// What a block does for the result at state->dealt, with tree_items items: `s` is the reduction, or
// its reader.
seer_status seer_lower_tree(seer_lower *lower, uint32_t s, seer_lower_block *block);

// ---- barrier.c
// Puts BARRIERs into a finished phase, which begins with node `phase`: as few as its WORKGROUP
// buffers ask for.
void seer_lower_barriers(seer_lower *lower, uint32_t phase);

// ---- expr.c
// Substitutes inlined stages into the bodies of all others.
void seer_lower_flatten(seer_lower *lower);
// `e` of a flat body of `stage` as an expression of the loop IR, axis k being axis[k].
// Where `inside` (0: everywhere) does not hold nothing is loaded, and the value is of no use.
seer_expr seer_lower_expr(
    seer_lower *lower, uint32_t stage, seer_expr e, const seer_expr *axis, seer_expr inside);
uint32_t seer_lower_buf(
    seer_lower *lower, uint32_t dag_buf);  // loop buffer of a DAG buffer, made when first needed
// Of a FETCH's buffer that has two halves: the one that is meant goes in front of an index of n,
// which has room for it. Gives how many there are.
uint32_t seer_lower_halved(const seer_lower *lower, uint32_t fetch, seer_expr *index, uint32_t n);

// ---- pack.c
// The packed form of weight `dag_buf` that `stage` reads at `index`, and where in it that is, which
// is inside of it everywhere; false: it has none.
bool seer_lower_packed(seer_lower *lower, uint32_t stage, uint32_t dag_buf, const seer_expr *index,
    uint32_t n_index, uint32_t *out_buf, seer_expr *out_index, uint32_t *out_n);

// ---- region.c
// Axis `axis` of `stage` as a sum over its loops that are open now (the others at 0).
bool seer_lower_axis(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out);
// Decides where the region of stage `p`, attached here, starts; LETs go to `block`.
seer_status seer_lower_start(seer_lower *lower, uint32_t p, seer_lower_block *block);
// The bound that loop `k` of `stage` needs where the first loops of its axis are open; 0: it is
// exact.
seer_expr seer_lower_bound(
    seer_lower *lower, uint32_t stage, uint32_t k, const seer_linear *before);

// ---- simplify.c
seer_expr seer_lower_simplify(seer_lower *lower, seer_expr e);

// ---- lower.c
// Lowers a frame. out_was_faulty (may be NULL): the fault found a place. For tests.
SEER_MUST_USE seer_status seer_lower_frame(const seer_sketch_list *list, const seer_frame *frame,
    seer_lower_fault fault, seer_arena *arena, seer_loop **out_loop, bool *out_was_faulty);

#endif
