// sized.h - values with dimensions whose size is known only while running (seer_value.size), while
// types are inferred. Whoever reads such a value computes at its bound; which sizes the result has,
// or that the operator cannot do that, its entry says (op.h: carry_sizes, expands_sized), with what
// several operators share from here. Private to src/front.
// Memory, threads and failures are expand.h's.
#ifndef SEER_FRONT_SIZED_H
#define SEER_FRONT_SIZED_H

#include "front/expand/expand.h"

// An operand of `node` has such a dimension.
bool seer_sized_reads(const seer_graph *graph, const seer_node *node);
// UNSUPPORTED, by name, for composites that take their operands' dimensions as sizes.
SEER_MUST_USE seer_status seer_sized_check_composite(
    const seer_graph *graph, const seer_node *node);
// Sets the sizes of the outputs of e->node (inferred at its bounds); new sizes are nodes, added by
// `e`. UNSUPPORTED names the dimension.
SEER_MUST_USE seer_status seer_sized_carry(seer_expand *e);
// The most that the one element of `v`, an integer, can be; false when that is not known.
bool seer_sized_at_most(const seer_graph *graph, seer_val v, int64_t *out_most);
// Sizes of the graph's outputs are kept, though no node reads them.
void seer_sized_keep(seer_graph *graph);

// ---- what carry_sizes of an entry may be
// Broadcasting from the right. ELEMENTWISE operators have this one without saying so.
seer_status seer_sized_broadcast(seer_expand *e);
seer_status seer_sized_same(seer_expand *e);  // all outputs have the sizes of input 0
seer_status seer_sized_batch(seer_expand *e);  // only dimension 0 of input 0 may have one
// Softmax and its like: input 0's sizes, also of what is normalised.
seer_status seer_sized_softmax(seer_expand *e);

// ---- what it is made of
// Each dimension of an operand that has such a size: at.d of input at.k.
typedef struct {
  uint32_t k, d;
} seer_sized_place;
bool seer_sized_next(const seer_expand *e, seer_sized_place *at);
#define SEER_SIZED_EACH(e, at) for (seer_sized_place at = {0, 0}; seer_sized_next(e, &at); at.d++)
// UNSUPPORTED: dimension `at` and `why` its size must be known.
SEER_MUST_USE seer_status seer_sized_refuse(
    const seer_expand *e, seer_sized_place at, const char *why);
// Of any dimension: the first.
SEER_MUST_USE seer_status seer_sized_refuse_any(
    const seer_graph *graph, const seer_node *node, const char *why);
// Output k's dimension `to` is as large as dimension `from`.
SEER_MUST_USE seer_status seer_sized_give(
    seer_expand *e, seer_sized_place from, uint32_t k, uint32_t to);
// Dimension `axis` is the operator's business, the others stay: all inputs have the same ones, or
// (only_first) the other inputs are parameters.
SEER_MUST_USE seer_status seer_sized_but(
    seer_expand *e, int64_t axis, bool only_first, const char *why_not_axis);
// The dimensions of input k with such a size, as bits.
uint32_t seer_sized_dims(const seer_graph *graph, const seer_node *node, uint32_t k);
// The dimensions that a Reduce operator reduces, as bits.
uint32_t seer_sized_reduced(const seer_graph *graph, const seer_node *node);
// Input 0 is read with `neutral` beyond the sizes of its dimensions `mask`, where it has any.
void seer_sized_mask(seer_expand *e, uint32_t mask, seer_val neutral);
// Integers that are known to be 0 or more: constants, and what something that counts made.
bool seer_sized_is_position(const seer_graph *graph, seer_val v);
// Input 1 of e->node are indices into dimension d of input 0: negative ones count from its size.
SEER_MUST_USE seer_status seer_sized_count_from_size(seer_expand *e, uint32_t d);

static inline const seer_value *seer_sized_out(const seer_expand *e, uint32_t k) {
  return seer_graph_value(e->graph, e->node.out[k]);
}

#endif
