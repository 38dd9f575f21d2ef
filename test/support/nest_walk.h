// nest_walk.h - the nest summary of a schedule by a walk over its loop IR: what the arithmetic of
// space/nest.h is held against.
#ifndef SEER_TEST_NEST_WALK_H
#define SEER_TEST_NEST_WALK_H

#include "space/nest.h"

SEER_MUST_USE seer_status nest_walk(const seer_loop *loop, const seer_dag *dag, seer_nest *out);

#endif
