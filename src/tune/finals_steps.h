// finals_steps.h - finals from within: what one task does at a time, for those who say in which
// order tasks do it (finals_hold.c).
#ifndef SEER_TUNE_FINALS_STEPS_H
#define SEER_TUNE_FINALS_STEPS_H

#include "tune/finals.h"

// ---- halving (finals.c)
// outlook  NULL: the visit is done; else it is foreseen, and nothing changes
SEER_MUST_USE seer_status seer_final_visit_left(
    const seer_finals *finals, seer_final *final, const seer_outlook *outlook);
// The slower half leaves.
void seer_final_cut(seer_final *final);

// ---- deciding (finals_decide.c)
// From list[at] on: until somebody needs fresh pairs, or the task is over.
SEER_MUST_USE seer_status seer_final_ask_next(const seer_finals *finals, seer_final *final);
// As visit_left, of the one that is asked and the holder.
SEER_MUST_USE seer_status seer_final_visit_asked(
    const seer_finals *finals, seer_final *final, const seer_outlook *outlook);
// Is there a visit number v, from 0? How many there are says nothing of what they have shown.
bool seer_finals_is_visit(const seer_finals *finals, uint32_t v);
// What the visits have shown. *out_next: the next one is to be asked.
SEER_MUST_USE seer_status seer_final_look(
    const seer_finals *finals, seer_final *final, bool *out_next);
// That ask_next will be called: all that it will ask, as far as that is known now, and the visits
// of the one that is asked then; behind that, what may follow by what the halving has shown.
SEER_MUST_USE seer_status seer_final_foresee_next(
    const seer_finals *finals, const seer_final *final);
// The same of `look`, when the visits are done.
SEER_MUST_USE seer_status seer_final_foresee_look(
    const seer_finals *finals, const seer_final *final);

// ---- all tasks in turns, each after its halving
SEER_MUST_USE seer_status seer_finals_decide(
    const seer_finals *finals, seer_final *tasks, uint32_t n);

#endif
