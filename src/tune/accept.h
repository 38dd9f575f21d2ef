// accept.h - what ships: a schedule whose answer is right and that has beaten the untuned one.
//
// The rule
// 1. A task's contenders are the best few of its search and the winner that the records name, if
//    there is one. All take turns with the untuned one.
// 2. A contender becomes the winner if it is at least 2 % faster than the untuned one there (the
//    median of the pairs' ratios; by a sign test at 5 %, with more pairs where only that is
//    missing), if it beats the winner of the records in pairs with it (median and sign test), and
//    if its answer is right. The fastest is asked first.
// 3. The winner of the records keeps its place otherwise: noise at the end of one tuning takes
//    nothing away. It loses it if its code does not run any more or its answer is wrong; if another
//    has beaten it (2); or if pairs with the untuned one, as many as it was accepted by at least,
//    show a median that is no faster than the untuned one. A winner of which no pairs are known (of
//    a file of version 1) is a contender like any other.
// 4. What its pairs showed is stored with the winner: its time, the untuned one's, the ratio, how
//    many, when. That is what `compile` takes and reports. One that keeps its place keeps its
//    pairs, unless they are those of another machine that is trusted and it has won here, too.
//
// One thread, the session's. Errors: the measurer or the records are lost; winners so far stay.
#ifndef SEER_TUNE_ACCEPT_H
#define SEER_TUNE_ACCEPT_H

#include "tune/session.h"

// For every task with measurements or a winner in the records, heaviest first.
SEER_MUST_USE seer_status seer_session_accept(seer_session *session);
// After that: tasks that would pack the same weights differently (above all those of several sets
// of input shapes) get schedules that read one packed form, right and at most --share-weights
// slower.
SEER_MUST_USE seer_status seer_session_accept_shared(seer_session *session);

#endif
