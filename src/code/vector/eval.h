// eval.h - what the files of the interpreter of vector code share.
//   eval_memory.c   faults, objects
//   eval_matrix.c   matrices
//   eval_values.c   what an item does with an instruction
//   eval_warp.c     products of warps
//   eval_control.c  blocks, as all items of a part go through them
//   eval.c          objects and values are made; phases
// Values, and slots, are there once for each item of a block; a part without items has one. What is
// done is done for the item that seer_vec_set_item has chosen. Internal to code/vector.
#ifndef SEER_CODE_VECTOR_EVAL_H
#define SEER_CODE_VECTOR_EVAL_H

#include "code/vector/internal.h"
#include "space/items/shadow.h"

// What the code may count on (code/kernel.h): packed weights, the scratch and a block's memory are
// aligned to so many bytes, other buffers to their elements, or to SEER_VEC_ITEMS_ALIGN where a
// phase has items.
#define SEER_VEC_BASE_ALIGN 64

typedef struct {
  uint8_t *bytes;  // NULL: no data
  uint8_t *known;  // by byte: 1 if it was written; NULL: all are
  int64_t n_bytes;
  uint32_t align;
  bool is_fixed;  // read only
  bool is_shared;  // others read it
} seer_vec_object;

// What an item copies, until it ARRIVEs.
typedef struct {
  seer_vec_object *to;
  int64_t offset;
  uint32_t n_bytes, item;
  uint8_t bytes[8];  // of a lane
  bool is_known;
} seer_vec_underway;

typedef struct {
  uint32_t rows, columns;  // 0: it has no shape yet
  uint32_t bits[SEER_MATRIX_SIDE][SEER_MATRIX_SIDE];
  bool is_hazy[SEER_MATRIX_SIDE][SEER_MATRIX_SIDE];
} seer_vec_held_matrix;

typedef struct {
  const seer_vec_code *code;
  const seer_vec_phase *phase;
  seer_arena *arena;
  seer_status status;
  int64_t part;
  bool *is_stored_to;  // by buffer: in this phase
  uint32_t n_object;
  seer_vec_object *object;  // by buffer, the scratch, by fill, by item and slot of the phase
  uint32_t slot0;  // first of the slots
  // By instruction: its first lane.
  uint32_t *at;
  // Of the item in hand. By instruction: the object that it points into, whether a lane is unknown;
  // by lane: its bits, whether it is unknown, and 0.
  uint32_t *into;
  bool *is_hazy;
  uint64_t *lane;
  bool *hazy;
  // Items
  uint32_t most_items, n_items;  // of any phase, of this one's parts; 1: no items
  bool has_items;  // a phase has
  uint32_t item;
  uint32_t n_lane;  // of all instructions
  uint32_t *all_into;  // as above, item after item
  bool *all_is_hazy, *all_hazy;
  uint64_t *all_lane;
  uint32_t *active;  // by depth of control, most_items each: those that go through a block
  seer_shadow *shadow;  // by buffer; NULL: no block program
  uint64_t epoch;
  seer_vec_traffic *traffic;  // NULL: not asked for
  size_t n_underway, cap_underway;
  seer_vec_underway *underway;
  seer_vec_held_matrix matrix[SEER_VEC_MATRICES];
} seer_vec_machine;

static inline uint64_t *seer_vec_lanes_of(const seer_vec_machine *m, seer_vec x) {
  return &m->lane[m->at[x.i]];
}
static inline bool *seer_vec_haze_of(const seer_vec_machine *m, seer_vec x) {
  return &m->hazy[m->at[x.i]];
}
static inline void seer_vec_set_item(seer_vec_machine *m, uint32_t item) {
  m->item = item;
  m->into = m->all_into + (size_t)item * m->code->n;
  m->is_hazy = m->all_is_hazy + (size_t)item * m->code->n;
  m->lane = m->all_lane + (size_t)item * m->n_lane;
  m->hazy = m->all_hazy + (size_t)item * m->n_lane;
}

static inline void seer_vec_set_pointer(seer_vec_machine *m, uint32_t id, uint32_t into) {
  m->lane[m->at[id]] = 0;
  m->into[id] = into;
}

// ---- eval_memory.c
// Says what happened, where, and with which values.
SEER_PRINTF(3, 4) void seer_vec_fault(seer_vec_machine *m, uint32_t id, const char *format, ...);
bool seer_vec_is_known(seer_vec_machine *m, uint32_t id, uint32_t k, const char *what);
// The object of an access; NULL: it may not be done.
seer_vec_object *seer_vec_object_of(seer_vec_machine *m, uint32_t id);
bool seer_vec_is_inside(
    seer_vec_machine *m, uint32_t id, const seer_vec_object *o, int64_t offset, uint32_t n_bytes);
bool seer_vec_is_written(const seer_vec_object *o, int64_t offset, uint32_t n_bytes);
// A COPY of one lane to a place that has been looked at, and what the item in hand has on its way.
void seer_vec_send(seer_vec_machine *m, seer_vec_object *to, int64_t offset, const uint64_t *lane,
    uint32_t n_bytes, bool is_known);
void seer_vec_arrive_now(seer_vec_machine *m);
// ---- eval_matrix.c
void seer_vec_set_shapes(seer_vec_machine *m, const seer_vec_shapes *shapes);
bool seer_vec_run_matrices(seer_vec_machine *m, uint32_t id);

// ---- eval_values.c
// An instruction that is none of control, by the item in hand. False: a fault.
bool seer_vec_run_node(seer_vec_machine *m, uint32_t id);

// ---- eval_warp.c
// An MMA by the n items of `item`, ascending. False: a fault.
bool seer_vec_run_mma(seer_vec_machine *m, uint32_t id, const uint32_t *item, uint32_t n);

// ---- eval_control.c
void seer_vec_run_part(seer_vec_machine *m);

#endif
