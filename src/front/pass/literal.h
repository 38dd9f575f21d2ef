// literal.h - a network as its file has it, with all that it computes in sight. Private to
// src/front. One thread for a graph.
#ifndef SEER_FRONT_PASS_LITERAL_H
#define SEER_FRONT_PASS_LITERAL_H

#include "front/front.h"

// What each node makes becomes an output of the network, behind the model's own, so that nodes are
// not fused: a group ends where a value is needed outside. Left out: constants, the runtime's
// places (what a loop's begin gives and all that is made in loops), types that no caller can hold.
// requires: sorted, resolved, no pass has run.  provides: sorted, verified.
SEER_MUST_USE seer_status seer_literal_show(seer_graph *graph);

#endif
