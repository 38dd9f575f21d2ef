// order.h - the order of a network's steps, where not all of them run once. Private to src/front.
// requires: steps in topological order.  provides: a loop's body is what stands between its ends,
// and nothing else; what only one side of a branch needs stands behind the branch's step. Steps of
// loops and branches have the lengths of what they govern (front.h): nobody else looks for ends.
// After a failure the network is of no use.
#ifndef SEER_FRONT_ORDER_H
#define SEER_FRONT_ORDER_H

#include "front/front.h"

// A step is in a side of a branch when all that read what it makes are, or take it as that side's
// result, and in a loop only if it was; so sides hold branches and loops, and what both sides read,
// or the caller, stands in front. Where that nests deeper than plans may (runtime/plan.h), sides
// are left empty: what they need is computed either way.
// Errors: UNSUPPORTED for too many loops, or loops in loops too deep; INVALID for loops that lie
// across each other, or have no end or two (in texts only).
SEER_MUST_USE seer_status seer_order_steps(seer_network *network, seer_arena *scratch);

#endif
