// internal.h - what the files of the loop IR share among themselves.
// Reads only; texts are in the arena.
#ifndef SEER_SPACE_LOOP_INTERNAL_H
#define SEER_SPACE_LOOP_INTERNAL_H

#include "space/loop.h"

// An expression as the text form spells it, for messages.
const char *seer_loop_expr_print(const seer_loop *loop, seer_expr e, seer_arena *arena);

#endif
