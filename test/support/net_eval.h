// net_eval.h - two ways to compute a network with the interpreter: node by node as the file has it,
// and step by step as the front end made it (fused, laid out, with pitches). Tests hold one against
// the other.
#ifndef SEER_TEST_NET_EVAL_H
#define SEER_TEST_NET_EVAL_H

#include "front/front.h"

// Input k of a graph, seeded: f32 in [-1, 1), integers in [0, 3].
const void *net_input(const seer_value *value, uint32_t k, uint64_t seed, seer_arena *arena);
// Output data by output index, dense, in `arena`. The graph is resolved, no pass has run.
const void **net_eval_nodes(const seer_graph *graph, uint64_t seed, seer_arena *arena);
const void **net_eval_steps(const seer_network *network, uint64_t seed, seer_arena *arena);
// Largest |a - b| / (1 + |b|) over all outputs; also asserts equal output types.
double net_difference(
    const seer_graph *a, const void **out_a, const seer_graph *b, const void **out_b);
// Both ways for one text; fails the test when they differ by more than `tolerance`. Returns the
// network (in `arena`).
seer_network *net_check_text(const char *text, double tolerance, seer_arena *arena);

#endif
