// loop.h - loop IR: a schedule made explicit, the last form before code.
// In: a DAG (after its sketch has rewritten it) and a complete schedule.  Out: phases of loops over
// flat buffers. Loop IR does not peel: an inexact split is a loop whose trip count is min(extent,
// bound). Peeling, masking, guard hoisting and scalar replacement happen in code/.
// Invariants: extents > 0; every access in bounds (seer_loop_verify); PARALLEL loops are the
// outermost chain of a phase; at most one VECTOR loop encloses a statement and it is the innermost
// loop. Text form: doc/ir/loop.md.
//
// For a GPU a phase is a *block program*: PARALLEL loops are the grid, a part is a block, and
// inside of it nests of THREAD loops stand one after another, in serial loops and between BARRIERs.
// A nest is run by the block's items (threads), one for each combination of its THREAD loops'
// variables; what stands outside of nests, every item does alike. loop/items.h judges what items do
// to each other.
//
// Memory: a loop and all that it points to are in the arena that it was made with; names that go in
// are copied. Threads: one builds or changes it; then any number may read. Errors of parsing and
// verifying: INVALID with line and column, or the place in the loop.
#ifndef SEER_SPACE_LOOP_H
#define SEER_SPACE_LOOP_H

#include "base/rng.h"
#include "base/status.h"
#include "base/text.h"
#include "dag/dag.h"

typedef enum {
  SEER_STORE_INPUT,  // argument: DAG input, read only (activation, or weight in its own layout)
  // argument: a weight (or const stage) re-ordered at compile time; see `pack`; read only
  SEER_STORE_PACKED,
  SEER_STORE_OUTPUT,  // argument: DAG output
  // An intermediate between phases, whole; an argument, too: the network's plan has a place for it
  // among the activations while the kernel runs.
  SEER_STORE_SHARED,
  // per thread, allocated at its `alloc` node; codegen may keep it in registers
  SEER_STORE_LOCAL,
  // Of a block, allocated outside of nests: what all of its items see, across BARRIERs.
  SEER_STORE_WORKGROUP,
  // Of a block, allocated outside of nests; each element is one item's alone, which finds it again
  // in the next nest: registers.
  SEER_STORE_PRIVATE
} seer_loop_storage;

// An argument of the code; else it is allocated by it.
static inline bool seer_loop_is_argument(seer_loop_storage storage) {
  return storage <= SEER_STORE_SHARED;
}

// How a packed weight is made. Element at pack index (p0, p1, ...) = source at index_d = sum over
// dims with source_dim == d of stride * p; 0 where any index_d is outside the source.
typedef struct {
  uint8_t source_dim;
  int64_t stride;
  int64_t extent;
} seer_pack_dim;
typedef struct {
  uint32_t source_buf;  // DAG buffer: a WEIGHT input, or the output of a const stage
  uint32_t n;
  seer_pack_dim dim[SEER_MAX_RANK];
} seer_pack;

typedef struct {
  const char *name;
  seer_dtype dtype;
  seer_loop_storage storage;
  uint32_t dag_buf;  // the DAG buffer that it holds (part of)
  uint8_t rank;
  int64_t dim[SEER_MAX_RANK];
  int64_t stride[SEER_MAX_RANK];  // elements
  int64_t n_elems;  // to allocate
  // WORKGROUP: what is stored there is read behind the next BARRIER, not sooner, by no item; until
  // then it may be on its way
  bool is_late;
  const seer_pack *pack;  // PACKED only
} seer_loop_buf;

typedef enum {
  SEER_LOOP_SERIAL,
  SEER_LOOP_PARALLEL,
  SEER_LOOP_UNROLL,
  SEER_LOOP_VECTOR,
  SEER_LOOP_THREAD  // iterations are items of a block
} seer_loop_ann;

typedef enum {
  SEER_NODE_FOR,  // for var < min(extent, bound)
  SEER_NODE_LET,  // var = value, visible in the rest of the block
  // buffer `buf` (LOCAL, WORKGROUP, PRIVATE) begins its life here, contents undefined; ends with
  // the block
  SEER_NODE_ALLOC,
  SEER_NODE_STORE,  // buf[k][index] = value[k], or combine(buf[index], value) for combiner != NONE
  // All items of the block come here before any goes on, and see what the others have written.
  SEER_NODE_BARRIER
} seer_node_kind;

typedef struct seer_loop_node {
  seer_node_kind kind;
  uint32_t next;  // node id of the next in the block, 0 = last
  // FOR, LET
  uint32_t var;
  int64_t extent;
  seer_expr bound;  // 0: exact. Integer over outer variables; may be <= 0 (no iterations)
  seer_loop_ann ann;
  bool is_reduce;  // FOR: a reduction axis's loop (iterations update the same targets)
  // FOR, SERIAL: code may unroll this loop while the body's copies stay within this number
  uint16_t max_unroll;
  uint32_t body;  // FOR: first node of the block
  seer_expr value[SEER_DAG_MAX_VALUES];  // LET value[0]; STORE
  // ALLOC, STORE
  uint32_t n_values;
  uint32_t buf[SEER_DAG_MAX_VALUES];
  seer_combiner combiner;
  uint8_t n_index;
  seer_expr index[SEER_MAX_RANK];  // equal for all values
  uint32_t stage;  // STORE, FOR: DAG stage that it computes (for dumps, features)
  bool is_init;  // STORE: the identity of a reduction
} seer_loop_node;

typedef struct {
  const char *name;
  int64_t low, high;  // inclusive static range of values (LET: of the value; FOR: [0, extent-1])
} seer_loop_var;

typedef struct seer_loop {
  seer_arena *arena;
  const char *name;
  seer_expr_pool expr;  // VAR = loop variable, LOAD = loop buffer
  uint32_t n_var, cap_var;
  seer_loop_var *var;
  uint32_t n_buf, cap_buf;
  seer_loop_buf *buf;
  uint32_t n_node, cap_node;
  seer_loop_node *node;  // [0] unused
  uint32_t n_phase;
  uint32_t phase[SEER_DAG_MAX_STAGES];  // first node of each phase's block
} seer_loop;

// Number of parts of a phase: product of the extents of its leading PARALLEL loops (1 if none). A
// part index is the mixed-radix number of these loop variables, outermost most significant;
// iterations beyond a bound do nothing.
int64_t seer_loop_phase_parts(const seer_loop *loop, uint32_t phase);

seer_loop *seer_loop_create(seer_arena *arena, const char *name);
uint32_t seer_loop_add_var(seer_loop *loop, const char *name, int64_t low, int64_t high);
uint32_t seer_loop_add_buf(seer_loop *loop, const seer_loop_buf *buf);
uint32_t seer_loop_add_node(seer_loop *loop, const seer_loop_node *node);

// Elements from row to row of a LOCAL buffer whose rows have `row_elems`: whole vectors, and no
// power-of-two strides.
int64_t seer_loop_local_pitch(seer_dtype dtype, int64_t row_elems, uint32_t vector_bytes);

const char *seer_loop_print(const seer_loop *loop, seer_arena *arena);
// For tests.
SEER_MUST_USE seer_status seer_loop_parse(
    const char *source, const char *text, size_t n_bytes, seer_arena *arena, seer_loop **out_loop);
// What a later form says of FORs and ALLOCs, behind all else in their headers. `parse` is called
// for each of them before what is inside it; ids are those of the loop that is being read.
typedef struct {
  const char *form;  // the first word of the text, in place of "loop"
  void *user;
  void (*print)(void *user, uint32_t id, seer_text *text);
  seer_status (*parse)(void *user, seer_scan *scan, uint32_t id, const seer_loop_node *node);
} seer_loop_notes;
const char *seer_loop_print_noted(
    const seer_loop *loop, const seer_loop_notes *notes, seer_arena *arena);
SEER_MUST_USE seer_status seer_loop_parse_noted(const char *source, const char *text,
    size_t n_bytes, const seer_loop_notes *notes, seer_arena *arena, seer_loop **out_loop);
SEER_MUST_USE seer_status seer_loop_verify(const seer_loop *loop);

// Interpreter: data[b] for INPUT, PACKED, OUTPUT, SHARED buffers (others may be NULL). Phases in
// order, parts in order, and a nest's items in order (shuffled by `shuffle` if not NULL: they must
// be independent). What items of one block do to each other is an error (loop/items.h), and so is a
// write of two items, or of two blocks, to one place of an argument. For tests.
SEER_MUST_USE seer_status seer_loop_eval(
    const seer_loop *loop, void *const *data, seer_rng *shuffle);
// Fills `out` (n elements of the pack's dtype) from the source data (dense row-major, or with the
// source's pitch).
void seer_pack_fill(
    const seer_pack *pack, const seer_dag_buf *source, const void *source_data, void *out);
int64_t seer_pack_elems(const seer_pack *pack);
// True if every element of a source of these dimensions has a place of its own in the pack, which
// its indices give by quotients and remainders. (False for windows that overlap, and for a part.)
bool seer_pack_is_radix(const seer_pack *pack, const int64_t *dim, uint32_t rank);
// INPUT buffer `buf` of `loop` is read in the form of `pack` instead: it becomes PACKED, and the
// indices of its loads quotients and remainders of those that they were.
//   pack  borrowed; seer_pack_is_radix for the buffer, of which it is (source_buf: its dag_buf)
// The result is as the loop was, but that seer_loop_verify may be unable to prove a bound.
void seer_loop_repack(seer_loop *loop, uint32_t buf, const seer_pack *pack);

#endif
