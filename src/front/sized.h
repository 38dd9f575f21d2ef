// sized.h - values with dimensions whose size is known only while running (seer_value.size), while
// types are inferred. Whoever reads such a value computes at its bound; what is said here is which
// sizes the result has, or that the operator cannot do that. Private to src/front.
#ifndef SEER_FRONT_SIZED_H
#define SEER_FRONT_SIZED_H

#include "front/expand/expand.h"

// An operand of `node` has such a dimension.
bool seer_sized_reads(const seer_graph *graph, const seer_node *node);
// What replaces `node`, when sizes (or a count, k or limit that is data) make it something else
// than its entry says: Shape, Size, NonZero, Range, TopK, and along such a dimension ReduceMean and
// Concat. NULL: nothing.
typedef seer_status (*seer_sized_expand)(seer_expand *e);
seer_sized_expand seer_sized_rewrite(const seer_graph *graph, const seer_node *node);
// UNSUPPORTED, by name, for composites that take their operands' dimensions as sizes.
SEER_MUST_USE seer_status seer_sized_check_composite(
    const seer_graph *graph, const seer_node *node);
// The dimensions that a Reduce operator reduces, as bits.
uint32_t seer_sized_reduced(const seer_graph *graph, const seer_node *node);
// Sets the sizes of the outputs of e->node (inferred at its bounds); new sizes are nodes, added by
// `e`. UNSUPPORTED names the dimension.
SEER_MUST_USE seer_status seer_sized_carry(seer_expand *e);
// The most that the one element of `v`, an integer, can be; false when that is not known.
bool seer_sized_at_most(const seer_graph *graph, seer_val v, int64_t *out_most);
// Sizes of the graph's outputs are kept, though no node reads them.
void seer_sized_keep(seer_graph *graph);

#endif
