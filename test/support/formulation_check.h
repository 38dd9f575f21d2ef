// formulation_check.h - a formulation held against the DAG that it stands for, by the interpreter.
#ifndef SEER_TEST_FORMULATION_CHECK_H
#define SEER_TEST_FORMULATION_CHECK_H

#include <stdbool.h>

#include "space/formulation.h"

// The largest difference between outputs of `dag`, which has one, and of what `formulation` makes
// of it for a processor, at all their elements, relative to the largest output; -1 if it leaves the
// DAG alone. Operands are seeded, in -1 .. 1, or whole numbers from -3 to 3; of integer types all
// bits are drawn, and their ends often.
double formulation_difference(const seer_formulation *formulation, const seer_dag *dag,
    bool is_integer, double *out_tolerance);
// The same on a target; what it makes may have dimensions of outputs in one: elements are compared
// where they lie.
double formulation_difference_on(const seer_target *target, const seer_formulation *formulation,
    const seer_dag *dag, bool is_integer, double *out_tolerance);

#endif
