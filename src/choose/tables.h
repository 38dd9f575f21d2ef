// tables.h - a large constant that some steps gather from and others multiply with is stored once,
// in the form of the latter, where that costs little.
// Threads: any. Errors: those of lowering a step.
#ifndef SEER_CHOOSE_TABLES_H
#define SEER_CHOOSE_TABLES_H

#include "code/artefact.h"

// By set of shapes, then by step; in `arena`. A function of the choices alone. A table is read in
// another's form where
// - it has at least SEER_PERMUTED_MIN_BYTES, and --share-weights is not 0,
// - all steps that read it as it lies gather from it, and others read it packed (or turned round),
// - a cache line from memory for each element that is gathered comes to no more than 2 % of the
//   time that the other steps of the set of shapes take.
// The form is that of the steps that take longest with it. For tests.
SEER_MUST_USE seer_status seer_choice_tables(const seer_context *context,
    const seer_network *network, const seer_choice *choice, seer_arena *arena,
    seer_step_packs ***out_packs);

// Builds what was chosen, choice[task id], with that. `kept` as of seer_build_model.
SEER_MUST_USE seer_status seer_choice_build(const seer_context *context,
    const seer_network *network, const seer_choice *choice, seer_build_kind kind,
    seer_build_kept *kept, const char *out_dir);

#endif
