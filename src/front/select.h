// select.h - which tasks of a network the options --tasks and --ops mean.
// Reads only: safe from any thread.
#ifndef SEER_FRONT_SELECT_H
#define SEER_FRONT_SELECT_H

#include "front/front.h"

// out_is_selected[task id]: named by --tasks (ids and ranges) and holding one of the operators of
// --ops; all where neither is given.
// Errors: INVALID an id that the network has not, an operator that nobody knows (with those that
// are spelt alike), nothing left to work on (with the operators that the tasks have).
SEER_MUST_USE seer_status seer_network_select(
    const seer_context *context, const seer_network *network, bool *out_is_selected);

#endif
