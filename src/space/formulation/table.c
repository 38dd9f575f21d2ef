// table.c - all formulations, in the order in which their sketches are listed. To add one: a file
// here with a seer_formulation, a line below; its make() must keep the ids of input and output
// buffers (start from seer_dag_clone, and change it by dag/edit.h), because arguments are bound by
// them.
#include "space/formulation.h"

extern const seer_formulation seer_formulation_direct, seer_formulation_winograd2,
    seer_formulation_winograd4, seer_formulation_winograd2s, seer_formulation_strassen,
    seer_formulation_strassen2, seer_formulation_dot4, seer_formulation_dot2,
    seer_formulation_implicit, seer_formulation_implicit_dot2;

const seer_formulation *const seer_formulation_table[] = {
    &seer_formulation_direct,  // the canonical DAG itself: first, so that sketch 0 is always exact
    &seer_formulation_winograd4,  // before F(2x2,3x3): it saves more, which costs accuracy
    &seer_formulation_winograd2,
    &seer_formulation_winograd2s,  // tiles of 4 save hardly more, and cost accuracy
    &seer_formulation_strassen,
    &seer_formulation_strassen2,  // where products are large enough to pay for its sums
    &seer_formulation_dot4,  // of integers, which the others leave alone
    // behind those that compute in f32: where its instruction is missing it gains nothing
    &seer_formulation_dot2,
    &seer_formulation_implicit,
    &seer_formulation_implicit_dot2,
};
const size_t seer_formulation_table_count = SEER_COUNT_OF(seer_formulation_table);
