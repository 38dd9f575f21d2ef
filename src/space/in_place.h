// in_place.h - stages that need no memory of their own: what one makes is read for the last time
// where its reader's value takes its place. A softmax's exponentials lie where their quotients will
// be: the lines of the output come while exponentials are computed, and no scratch pushes others
// out of the first cache (doc/decisions/82-in-place.md).
#ifndef SEER_SPACE_IN_PLACE_H
#define SEER_SPACE_IN_PLACE_H

#include "space/frame.h"

// Sets `in_place` of the stages of a frame that is filled but for that. Such a stage is no
// reduction (its sums stay in a tile of their own), and attached in a root stage `at` that is none,
// which at each visit computes just the elements that the stage does, of the same type, each of
// them from the same element of the stage, if from any; nobody reads that one later. The stage is
// in memory (not in registers), and the only one in the memory of `at`.
void seer_in_place_find(seer_frame *frame);

// The loops of `at`, outermost first, in each iteration of which a stage that is in place in it is
// made: a visit; loops of one iteration are not counted. UINT32_MAX: no stage is in place in `at`.
uint32_t seer_in_place_visit(const seer_frame *frame, uint32_t at);

#endif
