// family_artifact.h - what FamilySeer's code calls a task's operator. It is no good grouping, but
// the published one: a baseline must have it.
// Pure but for the arena: safe from any thread.
#ifndef SEER_LEARN_FAMILY_ARTIFACT_H
#define SEER_LEARN_FAMILY_ARTIFACT_H

#include "front/front.h"

// Of the task's first operator: its name in Relay, up to the first underscore: "nn.conv2d", also of
// "nn.conv2d_transpose"; "nn.batch" of "nn.batch_matmul"; "subtract". Needs task->ops and ->dag. In
// `arena`, or a literal.
const char *seer_family_artifact_op(const seer_task *task, seer_arena *arena);

#endif
