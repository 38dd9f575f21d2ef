// accept.h - what ships: a schedule whose answer is right and that has beaten the untuned one.
//
// The rule
// 1. A task's contenders are the best of its search, as many as there is time for, and the winner
//    that the records name, if there is one. They take turns with the untuned one, and the slower
//    half leaves, until one is left (finals.h).
// 2. That one becomes the winner if its answer is right, and if by fresh pairs, which had no part
// in
//    choosing it, it is at least 2 % faster than the untuned one (the median of the pairs' ratios)
//    and faster than the winner of the records, both by a sign test. There are 15 pairs at least,
//    of three moments, and as many again three times where only the sign test is missing. Who
//    fails gives way to the next best, until three have failed; the n-th look at a task's pairs is
//    at 5 % / 2^n, so that an error is made of one task in twenty at most.
//    Where there is a second device, it has to be faster than the untuned one there, too, by the
//    median of 15 pairs.
// 3. The winner of the records keeps its place otherwise: noise at the end of one tuning takes
//    nothing away, nor does a limit of time that its pairs or its check have passed. It loses it if
//    its code does not run any more or its answer is wrong; if another has beaten it (2; one that
//    was not timed is beaten by who beats the untuned one); or if pairs with the untuned one, as
//    many as it was accepted by at least, show a median that is no faster than the untuned one. A
//    winner of which no pairs are known (of a file of version 1) is a contender like any other.
// 4. What its fresh pairs showed is stored with the winner: its time, the untuned one's, the ratio,
// how
//    many, when. That is what `compile` takes and reports. One that keeps its place keeps its
//    pairs, unless they are those of another machine that is trusted and it has won here, too.
//
// One thread, the campaign's. Errors: the measurer or the records are lost; winners so far stay.
#ifndef SEER_TUNE_SESSION_ACCEPT_H
#define SEER_TUNE_SESSION_ACCEPT_H

#include "tune/campaign.h"

// For every task with measurements or a winner in the records, heaviest first.
SEER_MUST_USE seer_status seer_campaign_accept(seer_campaign *campaign);
// After that: tasks that would pack the same weights differently (above all those of several sets
// of input shapes) get schedules that read one packed form, right and at most --share-weights
// slower.
SEER_MUST_USE seer_status seer_campaign_accept_shared(seer_campaign *campaign);

#endif
