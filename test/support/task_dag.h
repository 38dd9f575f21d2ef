// task_dag.h - the DAG of a network of one task, from a short text: nodes as a .graph has them, a
// semicolon as the end of a line, TYPE where the type stands. Inputs whose names begin with w are
// weights; %y is the output.
#ifndef SEER_TEST_TASK_DAG_H
#define SEER_TEST_TASK_DAG_H

#include "dag/dag.h"

// In `arena`. Fails the test where the network cannot be read or is not one task.
seer_dag *task_dag_of(const char *name, const char *text, const char *type, seer_arena *arena);

#endif
