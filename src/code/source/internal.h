// internal.h - what the files of the printer share. Internal to code/source and code/gpu.
//
//   table.c      the dialects
//   print.c      kernels: functions, blocks, loops, accesses
//   pointer.c    names of arguments and of constants in memory, pointers moved from them
//   value.c      the expression of one instruction: patterns over its arguments
//   literal.c    names of types, constants
//   facts.c      which values are used, how masks are kept, where slots are cut into variables
//   ../gpu/ranges.c    of items' code, which indices are of 32 bits
//   ../gpu/spread.c    of items' code, whether items can be lanes of vectors
//   ../gpu/frame.c     the frame of a kernel whose parts are blocks of items
//   c.c          plain C17: helpers on one lane
//   ../gpu/dialects.c  OpenCL C and CUDA C
//   c_vectors.c  C with vector extensions: types and helpers for each number of lanes
//   c_convert.c  of these, what converts
//   lanes.c      how they are written
//
// The kernels of all dialects look alike: values are `const` variables, an operator that C has not
// is a helper <operator>_<type>, accesses and pointers go through macros of the prelude. A dialect
// is a prelude that defines these, and the words below.
#ifndef SEER_CODE_SOURCE_INTERNAL_H
#define SEER_CODE_SOURCE_INTERNAL_H

#include "base/text.h"
#include "code/source/source.h"

#define SEER_SOURCE_MAX_LANES 64

// Of a dialect for block programs: what stands around an item's code. $F is the kernel's name, or a
// buffer's; $N its items, or a buffer's bytes.
typedef struct {
  const char *kernel;  // up to the arguments
  const char *memory;  // the declaration of a WORKGROUP buffer
  const char *numbers;  // of the block and of the item
  // in front of the type of a pointer to an argument, to a block's memory
  const char *global, *group;
  // What stands in front of the code of a phase for items as lanes, $N of them, of a further such
  // form, of an item's own code, and behind that; NULL: there is none
  const char *spread, *or_spread, *single, *end;
  const char *loop;  // in front of each loop: a compiler writes out none that the schedule did not
} seer_source_frame;
// Of such a dialect an item computes on one lane; loads and stores have several, which are taken
// apart by LANE(v, k) and put together by PACK4(f32x4, a, b, c, d).

struct seer_dialect {
  const char *name, *doc;
  uint32_t max_lanes;
  void (*put_prelude)(seer_text *text);
  const seer_source_frame *frame;  // NULL: it has no items
  bool has_mma;  // words for MMA and COPY; whether a processor has it, the target says
};
extern const seer_dialect seer_dialect_c, seer_dialect_c_vectors, seer_dialect_opencl,
    seer_dialect_cuda;

// What is known of a node, by its id.
typedef struct {
  uint32_t n_uses;  // by what is printed
  uint32_t user;  // one of them
  uint32_t number;  // in its name; 0: it has none yet
  // More than one lane of i1 are integers of so many bits, 0 or -1, as comparisons give them.
  // 0: as wide as whoever uses it likes (constants, one bit for all lanes).
  uint8_t mask_bits;
  bool is_read_only;  // PTR: leads to what is only read
  bool is_later;  // INSERT: written with the last one of its vector
  bool has_kinds;  // of uses: several, not all of which are the same conversion
  // An i64 that is written as i32; an instruction that takes all its i64 as such (a MOVE: whose
  // bytes fit, too).
  bool is_short, takes_short;
  // Where items are lanes: a value for each; a STORE: to each one's own place; a WHEN: not for all.
  // Accesses: bytes from an item's to the next one's. Integers: the next item's less an item's
  bool is_spread;
  int64_t apart, step;
} seer_source_fact;

// A piece of a slot: accesses to different pieces share no byte.
typedef struct {
  uint32_t slot;  // node
  int64_t at, end;  // bytes of the slot
  // What it is a variable of; VOID: of bytes, as accesses of different types overlap
  seer_vec_elem elem;
  uint32_t lanes;
  bool is_read, is_spread;
} seer_source_piece;

typedef struct {
  const seer_vec_code *code;
  const seer_dialect *dialect;
  const seer_vec_phase *phase;
  seer_arena *arena;  // of what is not the text
  seer_text *text;
  uint32_t indent;
  uint32_t n_name;  // values that have one
  uint32_t n_spread;  // items that are lanes; 0: none
  const char *mask;  // of these, those that do what is printed; NULL: all
  seer_source_fact *fact;
  size_t n_order, cap_order;
  uint32_t *order;  // the instructions of the phase, as they stand
  size_t n_piece, cap_piece;
  seer_source_piece *piece;
} seer_source;

static inline const seer_vec_node *seer_source_at(const seer_source *s, seer_vec v) {
  return &s->code->node[v.i];
}
static inline bool seer_source_is_mask(const seer_vec_node *node) {
  return node->elem == SEER_VEC_I1 && node->lanes > 1;
}

// ---- facts.c
void seer_source_find_facts(seer_source *s);  // of s->phase
// Of a SELECT of the larger (smaller) of what it compares: FGT (FLT). UNDEF: it is none. Compilers
// make one instruction of it for scalars, but not for vectors.
seer_vec_op seer_source_extreme(const seer_source *s, const seer_vec_node *node);
// A SPLAT of an f16: its bits are spread, and then converted in all lanes, which is as much work as
// in one (a gemm in f16, 128 x 256 x 256, AVX2: 4.91 million instructions, 6.59 the other way
// round).
bool seer_source_is_spread_half(const seer_source *s, const seer_vec_node *node);
// A slot, or a pointer into one: which, and how far in [bytes]. False: it is none.
bool seer_source_into_slot(
    const seer_source *s, seer_vec pointer, uint32_t *out_slot, int64_t *out_at);
const seer_source_piece *seer_source_piece_of(const seer_source *s, uint32_t slot, int64_t at);
// Of what a LOAD or a STORE moves.
const seer_vec_node *seer_source_accessed(const seer_source *s, const seer_vec_node *access);

// ---- literal.c
// "f32", "f32x8", "bool"
const char *seer_source_type(const seer_source *s, seer_vec_elem elem, uint32_t lanes);
// "i32x8": of masks of so many bits
const char *seer_source_mask_type(const seer_source *s, uint32_t bits, uint32_t lanes);
seer_vec_elem seer_source_int_of_bits(uint32_t bits);
const char *seer_source_literal(
    const seer_source *s, seer_vec_elem elem, uint32_t lanes, uint64_t bits, int64_t step);
// `item` n times, n a power of two, with commas.
const char *seer_source_repeat(const seer_source *s, const char *item, uint64_t n);

// ---- pointer.c
const char *seer_source_buffer_name(const seer_source *s, uint32_t buf);
const char *seer_source_fill_name(const seer_source *s, int64_t fill);
// An address in memory; not in a slot.
const char *seer_source_pointer(const seer_source *s, seer_vec pointer);
// Whether it leads to a WORKGROUP buffer.
bool seer_source_is_of_group(const seer_source *s, seer_vec pointer);

// ---- ../gpu/ranges.c
// is_short and takes_short of s->phase; behind seer_source_find_facts.
void seer_source_find_short(seer_source *s, uint32_t phase);

// ---- ../gpu/spread.c
// is_spread of s->phase, and of its pieces, where so many items are to be lanes; right behind
// seer_source_find_short. False: it has no such form, and what was set is of no use.
bool seer_source_spread(seer_source *s, uint32_t phase, uint32_t lanes);
// Of a row of INSERTs: the value of each lane. False: not all lanes are put.
bool seer_source_row(const seer_source *s, seer_vec v, seer_vec *out_lanes);

// ---- ../gpu/frame.c
// From the kernel's name to where its slots are declared, and the end of its arguments.
void seer_source_begin_items(seer_source *s, uint32_t phase);

// ---- value.c
const char *seer_source_operand(seer_source *s, seer_vec v);
// A value of i1 lanes as integers of `bits` bits.
const char *seer_source_mask(seer_source *s, seer_vec v, uint32_t bits);
// `one`, an expression for each lane, as a value of so many lanes.
const char *seer_source_lanes(
    seer_source *s, const char *type, const char *const *one, uint32_t lanes);
// The right side of a value's definition.
const char *seer_source_value(seer_source *s, seer_vec v);
// Whether a value of that operator can be spread: f32, or what compares it; a mask of integers or
// of masks.
bool seer_source_has_spread(const seer_vec_node *node);
bool seer_source_has_mask(const seer_source *s, const seer_vec_node *node);
// `text` as so many lanes, where `v` is one.
const char *seer_source_widened(const seer_source *s, seer_vec v, const char *text);

// ---- c.c: what all C has: types, and helpers on one lane.
void seer_source_put_scalars(seer_text *text);
// What of it needs nothing but types and bitcasts: operators of integers and of f32, words, halves;
// and the operators of f64.
void seer_source_put_singles(seer_text *text);
void seer_source_put_doubles(seer_text *text);
void seer_source_put_rounding(seer_text *text);
void seer_source_put_halves(seer_text *text);
// Puts `pattern`, in which $A to $Z stand for the words given for them, by pairs: a letter's text
// and what stands for it; NULL ends them.
void seer_source_put_words(seer_text *text, const char *pattern, const char *const *words);

#endif
