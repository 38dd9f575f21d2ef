// share.h - inputs and outputs for which a caller may have one memory: --share INPUT:OUTPUT.
// Private to src/front.
#ifndef SEER_FRONT_SHARE_H
#define SEER_FRONT_SHARE_H

#include "front/graph.h"
#include "setup/context.h"

// Notes the pairs that --share names, behind seer_graph_bind: names may have colons.
// Errors: INVALID for what is no INPUT:OUTPUT, and for an input or output in two pairs.
SEER_MUST_USE seer_status seer_graph_share(const seer_context *context, seer_graph *graph);
// Once types are known. INVALID: a pair is of two types or shapes. UNSUPPORTED: sizes that a run
// decides; an output that is another input as it came, whose memory may be written by then.
SEER_MUST_USE seer_status seer_graph_check_shared(const seer_graph *graph, seer_arena *scratch);

#endif
