// operators.h - which operators a task of a table is made of. The table has its name and its DAG,
// and names are made of operators (front/task.c): "mul+ conv 1x1 s1 7x7x1152->192 +add" is Mul,
// Conv and Add. Groupings ask for them (learn/family.h).
// Pure but for the arena: safe from any thread.
#ifndef SEER_STUDY_OPERATORS_H
#define SEER_STUDY_OPERATORS_H

#include "base/arena.h"

// In `arena`, each once, those in front first: "Mul Conv Add"; *out_n: how many nodes. Words that
// no operator has are kept as they are.
const char *seer_operators_of_name(const char *name, seer_arena *arena, uint32_t *out_n);

#endif
