// vector.h - vector code: what a kernel does, one instruction after the other, on vectors of so
// many lanes. The last form that is ours: a back end translates it instruction by instruction and
// decides nothing (llvm/, source/). gen/ makes it from loop IR and what tile IR decided: copies are
// written out, lanes and masks are vectors, guards are selects, versions are WHENs.
//
// Values are in SSA form: an instruction gives at most one value and is named by it; it is defined
// once, in front of its uses, in the same block or one around it. Control is structured: LOOP and
// WHEN hold blocks. What changes lies in memory: buffers, the scratch, and slots, which are
// variables that a back end keeps in registers (they are only loaded from and stored to, at
// constant offsets). Pointers know their object: a pointer that was moved from a buffer is
// dereferenced inside that buffer, and buffers do not overlap.
//
// Of a block program (space/items/items.h) it is what each item of a block does: ITEM says which
// one, PART which block; WORKGROUP buffers are the block's, slots an item's, and there is no
// scratch.
//
// Memory: all in the arena of seer_vec_code_create; the loop is kept as long. Threads: one builds;
// then any number may read. Errors of building are assertions. Text form: doc/ir/vector.md.
#ifndef SEER_CODE_VECTOR_H
#define SEER_CODE_VECTOR_H

#include "base/status.h"
#include "space/loop.h"
#include "space/matrix.h"

typedef enum {
  SEER_VEC_VOID,
  SEER_VEC_I1,  // 0 or 1; never in memory
  SEER_VEC_I8,
  SEER_VEC_I16,
  SEER_VEC_I32,
  SEER_VEC_I64,
  SEER_VEC_F32,
  SEER_VEC_F64,
  SEER_VEC_PTR,
  SEER_VEC_ELEM_COUNT
} seer_vec_elem;

typedef enum {
#define SEER_VEC_OP(name, text, n_args, type, fold) SEER_VEC_##name,
#include "code/vector/ops.inc"
#undef SEER_VEC_OP
  SEER_VEC_OP_COUNT
} seer_vec_op;

typedef enum { SEER_VEC_SAME, SEER_VEC_TRUTH, SEER_VEC_GIVEN, SEER_VEC_NONE } seer_vec_rule;

typedef struct {
  const char *text;
  uint8_t n_args;
  seer_vec_rule rule;
  bool is_folded;
} seer_vec_op_info;
extern const seer_vec_op_info seer_vec_ops[SEER_VEC_OP_COUNT];
extern const char *const seer_vec_elem_names[SEER_VEC_ELEM_COUNT];  // "i64"; "void", "ptr"
extern const uint8_t seer_vec_elem_bits[SEER_VEC_ELEM_COUNT];  // 0: VOID, PTR

// An instruction, and the value that it gives. 0: none.
typedef struct {
  uint32_t i;
} seer_vec;

#define SEER_VEC_NO_BUF UINT32_MAX
// Of block programs: what the code of an item may count on. Arguments are aligned to the longest
// access of an item (a part of another tensor's memory begins at a multiple of it, too), a block's
// memory to more.
#define SEER_VEC_ITEMS_ALIGN SEER_TARGET_ITEMS_ALIGN
#define SEER_VEC_GROUP_ALIGN 64
#define SEER_VEC_MAX_LANES 256
#define SEER_VEC_TABLE_BYTES 256  // of a LOOKUP
#define SEER_VEC_PICKS 16  // elements that a PICK picks from
#define SEER_VEC_MAX_COUNTERS 16  // of a loop
#define SEER_VEC_MAX_DEPTH 64  // of LOOPs and WHENs inside each other
// Bytes of the largest fill.
#define SEER_VEC_MAX_FILL_BYTES (1 << 20)

typedef struct {
  uint32_t first, last;  // instructions; 0: empty
} seer_vec_block;

typedef struct {
  uint8_t op;  // seer_vec_op
  uint8_t elem;  // of the value; VOID: there is none
  uint8_t of;  // MOVE: what is counted; SLOT: what it is made of
  bool is_invariant;  // LOAD: nothing in the phase changes what it reads
  uint16_t lanes;  // of the value; SLOT: of what it is made of
  uint16_t align;  // accesses, SLOT: bytes; 0: the element's or vector's own
  // in the same block; 0: the last one. CONST, UNDEF, FILL and SLOT are in no block
  uint32_t next;
  uint32_t buf;  // BUFFER, accesses: of code->loop; SEER_VEC_NO_BUF: a slot
  seer_vec arg[3];
  uint64_t bits;  // CONST: of lane 0, as wide as the element; integers are not extended
  int64_t imm;  // CONST: the step; SLOT: elements; others: see ops.inc
  seer_vec_block body[2];  // LOOP, WHEN
} seer_vec_node;

// The matrices of a call (MATRIX_...): rows and columns of each, 1 to SEER_MATRIX_SIDE, or 0 of one
// that is not used.
#define SEER_VEC_MATRICES 8
typedef struct {
  uint8_t rows[SEER_VEC_MATRICES], columns[SEER_VEC_MATRICES];
} seer_vec_shapes;

// What the words of an MMA are.
typedef enum {
  SEER_VEC_MMA_F16,
  SEER_VEC_MMA_BF16,
  SEER_VEC_MMA_TF32,
  SEER_VEC_MMA_KIND_COUNT
} seer_vec_mma_kind;
extern const char *const seer_vec_mma_names[SEER_VEC_MMA_KIND_COUNT];  // "f16"

// Those that an instruction names: a load and a store the first.
typedef struct {
  uint32_t sum, x, y;
} seer_vec_matrix_regs;
static inline bool seer_vec_is_of_matrices(const seer_vec_node *node) {
  return node->op >= SEER_VEC_MATRIX_SHAPES && node->op <= SEER_VEC_MATRIX_DOT2;
}
static inline seer_vec_matrix_regs seer_vec_matrix_regs_of(const seer_vec_node *node) {
  return (seer_vec_matrix_regs){(uint32_t)(node->imm & 255), (uint32_t)(node->imm >> 8 & 255),
      (uint32_t)(node->imm >> 16 & 255)};
}
static inline int64_t seer_vec_matrix_imm(seer_vec_matrix_regs r) {
  return (int64_t)(r.sum | r.x << 8 | r.y << 16);
}

// `value` as often as fits n_bytes, a multiple of 64; aligned to 64.
typedef struct {
  seer_vec value;  // CONST, one lane
  uint32_t n_bytes;
} seer_vec_fill;

// The lanes that a SHUFFLE takes.
typedef struct {
  uint32_t n;  // as many as its arguments have each
  uint16_t *lane;  // below 2 n
} seer_vec_order;

// The elements that a PICK picks from.
typedef struct {
  float value[SEER_VEC_PICKS];
} seer_vec_picks;

typedef struct {
  const char *name;  // of the function
  seer_vec_block body;
  uint32_t n_slot, cap_slot;
  seer_vec *slot;  // in the order in which they were made
} seer_vec_phase;

typedef struct {
  const seer_loop *loop;  // borrowed: its buffers (names, types, sizes, storage)
  seer_arena *arena;
  uint64_t scratch_bytes;  // of a thread
  uint32_t n, cap;
  seer_vec_node *node;  // [0] unused
  uint32_t n_fill, cap_fill;
  seer_vec_fill *fill;
  uint32_t n_order, cap_order;
  seer_vec_order *order;  // all different
  uint32_t n_picks, cap_picks;
  seer_vec_picks *picks;  // all different
  uint32_t n_shapes, cap_shapes;
  seer_vec_shapes *shapes;  // all different
  uint32_t n_phase;
  seer_vec_phase phase[SEER_DAG_MAX_STAGES];
  struct seer_vec_consts *consts;  // build.c
} seer_vec_code;

seer_vec_code *seer_vec_code_create(const seer_loop *loop, seer_arena *arena);

static inline const seer_vec_node *seer_vec_at(const seer_vec_code *code, seer_vec v) {
  return &code->node[v.i];
}
// Bytes of an element in memory (I1: 0).
static inline uint32_t seer_vec_elem_bytes(seer_vec_elem elem) {
  return seer_vec_elem_bits[elem] / 8;
}
static inline bool seer_vec_is_float(seer_vec_elem elem) {
  return elem == SEER_VEC_F32 || elem == SEER_VEC_F64;
}

// ---- building. Instructions are added at the end of the block that is open.
typedef struct {
  seer_vec_code *code;
  seer_vec_phase *phase;
  uint32_t depth;
  struct {
    uint32_t id, side;  // LOOP or WHEN, which of its bodies
  } open[SEER_VEC_MAX_DEPTH];  // outermost first
} seer_vec_builder;

void seer_vec_begin_phase(seer_vec_builder *b, seer_vec_code *code, const char *name);

// Constants: equal ones are one value. Integers are cut to their width.
seer_vec seer_vec_const(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, uint64_t bits);
// `value` is rounded to the element.
seer_vec seer_vec_real(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, double value);
// first, first + step, ...
seer_vec seer_vec_series(
    seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, int64_t first, int64_t step);
// What a constant is, the same in all lanes; false: it is none, or lanes differ.
bool seer_vec_is_const(const seer_vec_code *code, seer_vec v);
bool seer_vec_const_bits(const seer_vec_code *code, seer_vec v, uint64_t *out_bits);
// One lane, sign-extended.
bool seer_vec_const_int(const seer_vec_code *code, seer_vec v, int64_t *out);
bool seer_vec_const_real(const seer_vec_code *code, seer_vec v, double *out);

// An operator of rule SAME or TRUTH, or DOT2, with 1, 2 or 3 arguments; a constant where it is
// folded.
seer_vec seer_vec1(seer_vec_builder *b, seer_vec_op op, seer_vec x);
seer_vec seer_vec2(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec y);
seer_vec seer_vec3(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec y, seer_vec z);
seer_vec seer_vec_select(seer_vec_builder *b, seer_vec cond, seer_vec yes, seer_vec no);
// x as `elem`, by one of the conversions; x itself if it is of that type.
seer_vec seer_vec_to(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec_elem elem);
seer_vec seer_vec_splat(seer_vec_builder *b, seer_vec x, uint32_t lanes);  // x: one lane
seer_vec seer_vec_extract(seer_vec_builder *b, seer_vec x, uint32_t lane);
seer_vec seer_vec_insert(seer_vec_builder *b, seer_vec x, seer_vec one, uint32_t lane);
seer_vec seer_vec_half(seer_vec_builder *b, seer_vec x, bool is_high);  // of one lane: no vector
// Lane l is lane[l] of x or, from as many on as x has lanes, of y; `lane` is borrowed.
seer_vec seer_vec_shuffle(seer_vec_builder *b, seer_vec x, seer_vec y, const uint16_t *lane);
// f32: the element of `from` that each lane of `number` (i32) names, by its lowest four bits.
seer_vec seer_vec_pick(seer_vec_builder *b, seer_vec number, const seer_vec_picks *from);
seer_vec seer_vec_any(seer_vec_builder *b, seer_vec mask);  // of one lane: itself
seer_vec seer_vec_undef(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes);
// c: f32x4, x: i32x4, y: i32x2; what ops.inc says of MMA.
seer_vec seer_vec_mma(
    seer_vec_builder *b, seer_vec_mma_kind kind, seer_vec c, seer_vec x, seer_vec y);

bool seer_vec_has_mma(const seer_vec_code *code);
bool seer_vec_has_copies(const seer_vec_code *code);

seer_vec seer_vec_part(seer_vec_builder *b);
seer_vec seer_vec_item(seer_vec_builder *b);
seer_vec seer_vec_buffer(seer_vec_builder *b, uint32_t buf);
seer_vec seer_vec_scratch(seer_vec_builder *b);
// At least n_bytes full of `value` (CONST, one lane).
seer_vec seer_vec_filled(seer_vec_builder *b, seer_vec value, int64_t n_bytes);
// n elements (or vectors) of a variable.
seer_vec seer_vec_slot(
    seer_vec_builder *b, seer_vec_elem of, uint32_t lanes, int64_t n, uint32_t align);
seer_vec seer_vec_move(seer_vec_builder *b, seer_vec_elem of, seer_vec pointer, seer_vec by);
seer_vec seer_vec_load(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, seer_vec pointer,
    uint32_t align, uint32_t buf, bool is_invariant);
// The table lies at `pointer`, aligned to `align` bytes; number: i8.
seer_vec seer_vec_lookup(seer_vec_builder *b, seer_vec pointer, seer_vec number, uint32_t align,
    uint32_t buf, bool is_invariant);
void seer_vec_store(
    seer_vec_builder *b, seer_vec value, seer_vec pointer, uint32_t align, uint32_t buf);
seer_vec seer_vec_load_masked(seer_vec_builder *b, seer_vec pointer, seer_vec mask,
    seer_vec otherwise, uint32_t align, uint32_t buf, bool is_invariant);
void seer_vec_store_masked(seer_vec_builder *b, seer_vec value, seer_vec pointer, seer_vec mask,
    uint32_t align, uint32_t buf);
void seer_vec_matrix_shapes(seer_vec_builder *b, const seer_vec_shapes *shapes);
void seer_vec_matrix_zero(seer_vec_builder *b, uint32_t matrix);
void seer_vec_matrix_load(seer_vec_builder *b, uint32_t matrix, seer_vec pointer, seer_vec stride,
    uint32_t align, uint32_t buf);
void seer_vec_matrix_store(seer_vec_builder *b, uint32_t matrix, seer_vec pointer, seer_vec stride,
    uint32_t align, uint32_t buf);
// op: MATRIX_DOT4 or MATRIX_DOT2
void seer_vec_matrix_dot(seer_vec_builder *b, seer_vec_op op, seer_vec_matrix_regs regs);
void seer_vec_prefetch(seer_vec_builder *b, seer_vec pointer, uint32_t level);
void seer_vec_fence(seer_vec_builder *b);
void seer_vec_barrier(seer_vec_builder *b);
void seer_vec_leave_unless(seer_vec_builder *b, seer_vec cond);

// Opens a loop and gives its counter, which counts by 1. `runs`: n is known to be 1 at least.
seer_vec seer_vec_begin_loop(seer_vec_builder *b, seer_vec n, bool runs, uint32_t *out_loop);
// One more counter of an open loop.
seer_vec seer_vec_counter(seer_vec_builder *b, uint32_t loop, int64_t step);
// Opens the first side of a WHEN; seer_vec_otherwise goes on to the second.
void seer_vec_begin_when(seer_vec_builder *b, seer_vec cond);
void seer_vec_otherwise(seer_vec_builder *b);
void seer_vec_end(seer_vec_builder *b);  // of the innermost LOOP or WHEN

// ---- changing what is built
// An instruction that is in no block yet. Pointers into code->node are of no use after it.
seer_vec seer_vec_add_node(seer_vec_code *code, const seer_vec_node *node);
// `block` is these instructions, one after another.
void seer_vec_link(
    seer_vec_code *code, seer_vec_block *block, const uint32_t *instructions, uint32_t n);

// ---- turns.c: order of instructions that do not need each other
// Where the open block ends now.
seer_vec seer_vec_end_of_block(const seer_vec_builder *b);
// What the open block has behind mark[0] is n parts, each of them from its mark to the next one's.
// Their instructions follow by turns, one of each, and stay behind those whose values they use.
// Nothing changes where one of them is a LOOP or WHEN, or loads from a buffer that one stores to.
void seer_vec_take_turns(seer_vec_builder *b, const seer_vec *mark, uint32_t n);

// ---- scalar.c: what an operator gives on one lane. For folding and the interpreter.
// False: `op` is none of those that compute (SELECT, those between lanes, memory, control), or what
// it gives is not defined (a division by 0).
//   elem      of the arguments; to: of the value
//   a, b, c   bits, as wide as their elements
bool seer_vec_apply(seer_vec_op op, seer_vec_elem elem, seer_vec_elem to, uint64_t a, uint64_t b,
    uint64_t c, uint64_t *out);

// ---- text.c, verify.c, eval.c
const char *seer_vec_print(const seer_vec_code *code, seer_arena *arena);
// For tests. `loop` has the buffers that the text speaks of.
SEER_MUST_USE seer_status seer_vec_parse(const char *source, const char *text, size_t n_bytes,
    const seer_loop *loop, seer_arena *arena, seer_vec_code **out_code);
// Types, definitions in front of uses, counters, alignments that are powers of two, slots accessed
// inside at constant offsets: INVALID names the phase and the instruction. For tests.
SEER_MUST_USE seer_status seer_vec_verify(const seer_vec_code *code);
// Interpreter of verified code; `data` as for seer_loop_eval. Phases in order, parts in order
// (shuffled by `part_shuffle` if not NULL); all items of a block do an instruction before the next,
// those that a WHEN or LOOP leaves out wait. INVALID: an access outside of the object that its
// pointer was made from, misaligned against what it states, or to another buffer; what was never
// stored (slots, scratch) or is UNDEF, where it reaches a buffer that others read, an address, a
// mask or a condition; a store to a buffer that is read only; an INVARIANT load of a buffer that
// the phase stores to; an operation that is not defined; of block programs, what items do to each
// other (space/items/shadow.h), a barrier that not all items come to. For tests.
SEER_MUST_USE seer_status seer_vec_eval(
    const seer_vec_code *code, void *const *data, seer_rng *part_shuffle);

// What the accesses of warps, SEER_VEC_WARP items that follow each other, come to.
#define SEER_VEC_WARP 32
#define SEER_VEC_SECTOR_BYTES 32
#define SEER_VEC_BANKS 32  // of 4 bytes
typedef struct {
  uint64_t requests, sectors;  // to arguments: instructions of warps; sectors that they touch
  // To WORKGROUP memory: instructions of warps, and turns that they take. A turn gives one word of
  // each bank, to as many items as want that word.
  uint64_t group_requests, group_turns;
} seer_vec_traffic;
// As seer_vec_eval, and adds to *io_traffic. For tests.
SEER_MUST_USE seer_status seer_vec_eval_traffic(const seer_vec_code *code, void *const *data,
    seer_rng *part_shuffle, seer_vec_traffic *io_traffic);

#endif
