// limit.h - what a model may take beyond its files: one budget for reading, resolving, folding and
// compiling it.
// A few bytes of a file can ask for any amount of memory and work: functions that call functions,
// tables of sines, constants of a given size, loops that are unrolled. What networks really need is
// in proportion to their files: types that are widened (int4 to f32 is 8 times), layouts, names. So
// the budget is a multiple of the files' bytes and a constant, --model-memory.
//   counted  what is held in arenas at a time: graph, names, constants that are not in the file,
//            folded values, tables, decoded messages, scratch; and operations, where they are not
//            in proportion to what is held: interpreted scalars, elements of tables, nodes
//   not      the mapped files, and what LLVM takes
// What passes it is RESOURCE, which names the node, what it asked for, and the option.
//
// Threads: a budget is that of the thread that runs `call`, as seer_recover's; what other threads
// take is not counted.
#ifndef SEER_FRONT_LIMIT_H
#define SEER_FRONT_LIMIT_H

#include "base/recover.h"
#include "setup/context.h"

// Runs call(user) within the budget of a model whose files have `file_bytes` so far; 0: it is not
// from a file, and there is no budget.
SEER_MUST_USE seer_status seer_front_limited(
    const seer_context *context, uint64_t file_bytes, seer_recover_call call, void *user);
// A file (of so many bytes) is part of the model: more for the budgets that are open.
void seer_front_allow(uint64_t file_bytes);
// The model is built in, and trusted.
void seer_front_allow_all(void);
// What a node costs besides what it folds, in interpreted operations: when it is read, and again
// when it is resolved.
#define SEER_FRONT_NODE_OPS 1000
// Bytes of weights that may be written for a model with such files.
uint64_t seer_front_limit_bytes(const seer_context *context, uint64_t file_bytes);

#endif
