// tf32.h - for the pass "precision": products that round their operands to TF32. Of resolved
// graphs, whose sizes are known; one thread.
#ifndef SEER_FRONT_WIDTH_TF32_H
#define SEER_FRONT_WIDTH_TF32_H

#include "front/op/util.h"

// Whether tensor cores have a product of the node's shape: `node` is a product of f32.
bool seer_front_multiplies_by_warps(const seer_graph *graph, const seer_node *node);
void seer_front_mark_tf32(seer_graph *graph, seer_node *node);

#endif
