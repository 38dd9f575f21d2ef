// extent.h - numbers that shape arithmetic works on, while types are inferred: an element of a
// small integer value as a sum of constants times what only data knows. Two values that are the
// same sum are the same size, whatever nodes compute them (30 - n + n is 30), and a sum of bounded
// parts has a bound. Also which host operators search the same thing twice.
// Memory: what is found is kept in the graph's arena, with the graph. Threads: as the graph's.
// Private to src/front.
#ifndef SEER_FRONT_EXPAND_EXTENT_H
#define SEER_FRONT_EXPAND_EXTENT_H

#include "front/expand/expand.h"

typedef uint32_t seer_extent;  // 0: none

// Element i of `v`, an integer or bool; 0 where it has a type or a size that none has.
seer_extent seer_extent_of(seer_graph *graph, seer_val v, int64_t i);
seer_extent seer_extent_number(seer_graph *graph, int64_t number);
// Dimension d of `v`: a number, or what its size is.
seer_extent seer_extent_of_dim(seer_graph *graph, seer_val v, uint32_t d);
seer_extent seer_extent_sum(seer_graph *graph, seer_extent a, seer_extent b);  // 0: too large
seer_extent seer_extent_quotient(
    seer_graph *graph, seer_extent x, int64_t by);  // 0: not in whole numbers
seer_extent seer_extent_times(seer_graph *graph, seer_extent x, int64_t factor);  // 0: overflow
bool seer_extent_is_number(const seer_graph *graph, seer_extent x, int64_t *out_number);
// The least and the largest that it can be; beyond +-SEER_EXTENT_FAR nothing is known.
#define SEER_EXTENT_FAR (INT64_C(1) << 40)
void seer_extent_range(
    const seer_graph *graph, seer_extent x, int64_t *out_least, int64_t *out_most);
// The sizes (i64[1]) are known to be equal.
bool seer_extent_same_size(seer_graph *graph, seer_val a, seer_val b);

// Between what all elements of `v` lie (bounds.c), +-SEER_EXTENT_FAR where that is not known. NaNs
// aside.
void seer_extent_elements(
    const seer_graph *graph, seer_val v, int64_t *out_least, int64_t *out_most);
// The most that `v`, one integer, can be; false where nothing bounds it.
bool seer_extent_at_most(seer_graph *graph, seer_val v, int64_t *out_most);

// A node of the host with these operands that is there already; 0: none. Afterwards `add` is known.
seer_node_id seer_extent_find_host(seer_graph *graph, const char *op_type, const seer_val *in,
    uint32_t n_in, const seer_attr *attr, uint32_t n_attr);
void seer_extent_note_host(seer_graph *graph, seer_node_id node);

#endif
