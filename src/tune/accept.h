// accept.h - a tuned schedule never ships if its answer is wrong or if it is slower than the
// default.
#ifndef SEER_TUNE_ACCEPT_H
#define SEER_TUNE_ACCEPT_H

#include "tune/session.h"

// For every task with measurements: the best schedules in turn, until one gives the right answer
// and beats the default in interleaved pairs (median ratio, sign test); heaviest tasks first.
SEER_MUST_USE seer_status seer_session_accept(seer_session *session);
// After that: tasks that would pack the same weights differently (above all those of several sets
// of input shapes) get schedules that read one packed form, right and at most --share-weights
// slower.
SEER_MUST_USE seer_status seer_session_accept_shared(seer_session *session);

#endif
