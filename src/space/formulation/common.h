// common.h - what formulations share. Private to src/space/formulation; pure but for the pool.
#ifndef SEER_SPACE_FORMULATION_COMMON_H
#define SEER_SPACE_FORMULATION_COMMON_H

#include "dag/dag.h"

// choice[index], for an index of 0 .. n - 1, as selects: they fold where the loop of the index is
// unrolled.
seer_expr seer_formulation_choose(
    seer_expr_pool *pool, seer_expr index, const seer_expr *choice, uint32_t n);

// The only load in `e`, however often it is there; 0: there is none, or several.
seer_expr seer_formulation_only_load(const seer_expr_pool *pool, seer_expr e);

// The two loads of a stage's only body where that is their product and one of them, *out_weight, is
// of constant weights; else false.
bool seer_formulation_match_product(
    const seer_dag *dag, uint32_t stage, seer_expr *out_other, seer_expr *out_weight);

#endif
