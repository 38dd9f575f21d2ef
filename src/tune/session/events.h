// events.h - what a session says, and when: its clock, its listeners, and what went wrong on the
// way. One thread, the session's.
#ifndef SEER_TUNE_SESSION_EVENTS_H
#define SEER_TUNE_SESSION_EVENTS_H

#include "tune/session.h"

// Since it began to run, until it has ended, with what is reckoned. What is asked of a session
// later is asked behind compiling and comparing.
double seer_session_elapsed_s(const seer_session *session);
// Fills in time, trials and estimate; calls every listener.
void seer_session_emit(seer_session *session, seer_event *event);
void seer_session_note(seer_session *session, const char *text);
// Takes `status` (SEER_OK: nothing). What was found is worth more than a clean end: the search
// ends, but the session goes on to its end without what failed: without workers where they are lost
// (DEVICE), without the records where those could not be written (store.h), which hold what was
// announced.
void seer_session_survive(seer_session *session, seer_status status);

#endif
