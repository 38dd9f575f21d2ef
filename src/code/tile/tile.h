// tile.h - tile IR: a schedule's loops with what is decided about them before a back end translates
// them. Loop IR says what is computed in which order; here stands, for each loop, what becomes of
// it, and for each local buffer, where it is kept. Passes (pass.h) decide one thing each, from the
// loops and what a processor's vectors are like; nothing here knows of LLVM.
//
// Memory: everything is in the arena that seer_tile_create was given; the loop is kept as long as
// the tile. Threads: a tile is one thread's, reading it too (visits stamp what they have seen).
#ifndef SEER_CODE_TILE_TILE_H
#define SEER_CODE_TILE_TILE_H

#include "code/tile/sum.h"
#include "setup/target.h"
#include "space/lanes.h"
#include "space/loop.h"
#include "space/warps.h"

typedef enum {
  SEER_TILE_LOOP,  // stays a loop
  SEER_TILE_COPIES,  // one copy of the body per value
  SEER_TILE_LANES  // vectors
} seer_tile_mode;

// What becomes of a FOR of the loop IR.
typedef struct {
  // facts
  bool is_exact;  // the bound never cuts
  int64_t bound_low;  // static lower end of the bound, the extent if there is none
  // modes
  seer_tile_mode mode;
  bool is_chunk_loop;  // LANES: so many vectors that they are a loop at run time
  uint16_t step;  // LOOP: copies of the body per iteration (partial unrolling)
  uint16_t lanes;  // LANES: of a full vector
  // matrices
  bool is_matrix;  // LOOP of a reduction: its body is products of matrices
  bool is_of_warps;  // likewise, of a block program: products of its warps
  // registers
  bool is_register_choice;  // COPIES of a SERIAL loop, wherever bounds cut: it chooses registers
  // windows
  bool is_tight;  // iterations must not share their loads
  // series
  bool takes_turns;  // statements that come of it (LOOP: of an iteration) do so by turns
  // COPIES of an UNROLL loop: they stand inside of a loop over the vectors of seer_tile_vectors_of
  bool is_interchanged;
} seer_tile_for;

// Where a LOCAL or PRIVATE buffer is kept.
typedef struct {
  bool is_register;  // every address is a constant (beside the lanes, and a PRIVATE one's items)
  bool is_one_writer;  // only one stage stores to it
  uint64_t scratch_offset;  // of the others, in the thread's scratch
} seer_tile_buf;

// Bytes at the beginning of the scratch for stores without a valid place: the longest that there
// is, and as much again, so that what lies behind stays where it was when a longer one comes.
#define SEER_TILE_SINK_BYTES 256
_Static_assert(SEER_TILE_SINK_BYTES >= SEER_LANES_MAX_BYTES, "a vector store fits into the sink");

// What decisions depend on.
typedef struct {
  uint32_t vector_bytes;  // 0: no vectors, and no copies: all loops stay loops
  uint32_t n_vector_registers;
  bool multiplies_bytes, multiplies_halves;  // matrices of words: setup/target.h
  // Block programs: items have registers and no other memory of their own. Lanes are items, and
  // vector_bytes is 1: every lane is written out.
  bool has_items;
  bool multiplies_by_warps;  // of these: MMA of vector code
} seer_tile_machine;
seer_tile_machine seer_tile_machine_of(const seer_target *target);

typedef struct {
  const seer_loop *loop;
  seer_arena *arena;
  seer_tile_machine machine;
  uint32_t gives;  // SEER_TILE_GIVES_..., of the passes that have run
  seer_tile_for *of;  // by node of the loop IR; zeros but for FOR
  seer_tile_buf *buf;  // by buffer of the loop IR
  uint64_t scratch_bytes;  // of a thread
  bool needs_sink;  // a store without a valid place goes to the scratch's first bytes
  const int64_t *low, *high;  // by variable: static range of its values
  const seer_expr *let_of;  // by variable: its LET's value, 0 for loop variables
  uint32_t *stamp, stamp_now;  // by expression: visited
} seer_tile;

// All passes have run on it. Nothing is refused: what a pass cannot decide stays as the loop IR
// has it.
seer_tile *seer_tile_create(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena);

// The text form (doc/ir/tile.md); printing, parsing and printing again gives the same.
const char *seer_tile_print(const seer_tile *tile, seer_arena *arena);
// Of the text, but for what code does not depend on: how variables are called, and up to how many
// copies were allowed. Equal ones of a task come to equal code (not the other way round).
uint64_t seer_tile_hash(const seer_tile *tile, seer_arena *scratch);
// For tests. Decisions as the text has them; what follows from the loops is found again.
SEER_MUST_USE seer_status seer_tile_parse(const char *source, const char *text, size_t n_bytes,
    const seer_tile_machine *machine, seer_arena *arena, seer_tile **out_tile);
// That decisions are ones that code can be generated from: INVALID names the loop or buffer. For
// tests.
SEER_MUST_USE seer_status seer_tile_verify(seer_tile *tile);

static inline const seer_expr_node *seer_tile_at(const seer_tile *tile, seer_expr e) {
  return seer_expr_at(&tile->loop->expr, e);
}

// The value of `e` may differ between iterations of the loop `var` (LETs are looked through).
bool seer_tile_depends(const seer_tile *tile, seer_expr e, uint32_t var);
bool seer_tile_index_depends(
    const seer_tile *tile, const seer_expr *index, uint32_t n, uint32_t var);
// Calls visit once for each load below `e` (LETs are looked through). `visit` does not do so.
void seer_tile_visit_loads(
    seer_tile *tile, seer_expr e, void (*visit)(void *user, seer_expr load), void *user);
// Calls visit for each load and each target of a store in the block `id`; a load that several
// statements share, once for each.
typedef void seer_tile_visit(
    void *user, uint32_t buf, const seer_expr *index, uint32_t n_index, bool is_store);
void seer_tile_visit_accesses(seer_tile *tile, uint32_t id, seer_tile_visit *visit, void *user);
// Elements from lane to lane of an access, if they are the same for all lanes of a loop over `var`.
bool seer_tile_lane_step(
    const seer_tile *tile, uint32_t buf, const seer_expr *index, uint32_t var, int64_t *out_step);
// Lanes so many elements apart, and no further, are loaded as the vectors that they lie in, of
// which shuffles pick them: with more, that is as many instructions as there are lanes, or more.
static inline bool seer_tile_is_picked(int64_t step, uint32_t lanes) {
  int64_t apart = step < 0 ? -step : step;
  return step != 1 && apart != 0 && apart <= 8 && apart <= lanes / 2;
}
// Lanes of the next vector of a LANES loop when `rest` elements are left.
uint32_t seer_tile_next_lanes(const seer_tile_for *of, int64_t rest);
// A reduction's loop and what is inside, as products of matrices: x times y, added to the sums.
typedef struct {
  // Loops. `inner`, where it is not 0, is one right inside of `reduce` whose words go on from one
  // iteration of it to the next: both together are the depth. Others between `first`, the first one
  // inside of the reduction's, and `columns` count matrices.
  uint32_t reduce, inner, first, rows, columns;
  uint32_t store;
  bool is_halves;  // words of two bf16, else of four bytes
  seer_expr x, y;  // loads of words, or of their first parts
  int64_t x_stride, y_stride, sum_stride;  // bytes from row to row
} seer_tile_matrix;
// Whether the loop `id` is one, as far as loops and addresses say. Needs modes.
bool seer_tile_matrix_of(const seer_tile *tile, uint32_t id, seer_tile_matrix *out);
// A reduction's loop of a block program and what is inside, as products of warps (space/warps.h).
#define SEER_TILE_MAX_PATH 48
typedef struct {
  uint32_t n, loop[SEER_TILE_MAX_PATH];  // nodes on the way to the store, outermost first
  seer_warps_tile tile;  // its loops are numbers in `loop`; the reduction's is `depth`
  uint32_t store;
  seer_warps_type type;
  seer_expr factor[2];  // words
} seer_tile_warps;
// Whether the loop `id` is one, as far as loops and indices say: exact ones but for those of the
// reduction. Needs modes.
bool seer_tile_warps_of(const seer_tile *tile, uint32_t id, seer_tile_warps *out);
// Copies from so many on stand inside of a loop over their vectors, also of those that a version
// has: far less is alive at a time, and less is compiled (a Winograd transform: 4x4 elements of 4
// vectors).
#define SEER_TILE_MIN_INTERCHANGED 8
// The VECTOR loop at the end of a chain of UNROLL loops from `id` on, all copies, around plain
// stores, where its vectors can be a loop around all of these; 0: there is none. Needs modes and
// registers.
uint32_t seer_tile_vectors_of(seer_tile *tile, uint32_t id);
// Whether the loop `var` around block `id` chooses between registers.
bool seer_tile_chooses_register(seer_tile *tile, uint32_t id, uint32_t var);

#endif
