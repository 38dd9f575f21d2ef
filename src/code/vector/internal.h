// internal.h - what the files of vector code share among themselves. Reads only.
#ifndef SEER_CODE_VECTOR_INTERNAL_H
#define SEER_CODE_VECTOR_INTERNAL_H

#include "code/vector/vector.h"

// An instruction as the text form spells it in its phase (of a LOOP or WHEN: its head), for
// messages. Every block of the phase ends.
const char *seer_vec_line(
    const seer_vec_code *code, const seer_vec_phase *phase, uint32_t id, seer_arena *arena);

seer_vec_block *seer_vec_open_block(const seer_vec_builder *b);

// The number of an order in code->order; added if there is none like it. `lane` is borrowed.
uint32_t seer_vec_add_order(seer_vec_code *code, uint32_t n, const uint16_t *lane);

// The same of code->picks, bit by bit.
uint32_t seer_vec_add_picks(seer_vec_code *code, const seer_vec_picks *picks);

// The same of code->shapes.
uint32_t seer_vec_add_shapes(seer_vec_code *code, const seer_vec_shapes *shapes);

static inline bool seer_vec_is_load(const seer_vec_node *node) {
  return node->op == SEER_VEC_LOAD || node->op == SEER_VEC_LOAD_MASKED ||
      node->op == SEER_VEC_LOOKUP;
}
static inline bool seer_vec_is_store(const seer_vec_node *node) {
  return node->op == SEER_VEC_STORE || node->op == SEER_VEC_STORE_MASKED ||
      node->op == SEER_VEC_COPY || node->op == SEER_VEC_MATRIX_STORE;
}
// Whether the second argument of a COPY can be one, but for its other uses.
bool seer_vec_is_copied(const seer_vec_code *code, seer_vec value);

static inline bool seer_vec_is_matrix_access(const seer_vec_node *node) {
  return node->op == SEER_VEC_MATRIX_LOAD || node->op == SEER_VEC_MATRIX_STORE;
}
// Bytes that an access of this instruction covers (of a matrix: an element of it), and those that
// its pointer is aligned to.
static inline uint32_t seer_vec_access_bytes(const seer_vec_code *code, const seer_vec_node *node) {
  if (node->op == SEER_VEC_LOOKUP) return SEER_VEC_TABLE_BYTES;
  if (seer_vec_is_matrix_access(node)) return 4;
  const seer_vec_node *value = seer_vec_is_store(node) ? seer_vec_at(code, node->arg[1]) : node;
  return seer_vec_elem_bytes((seer_vec_elem)value->elem) * value->lanes;
}
static inline uint32_t seer_vec_align(uint32_t align, uint32_t n_bytes) {
  uint32_t own = 1;
  while (own < n_bytes) own *= 2;
  return align != 0 ? align : own;
}

#endif
