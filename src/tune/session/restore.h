// restore.h - what the records have of a session's tasks. One thread, the session's.
// Errors: those of the records and of the models.
#ifndef SEER_TUNE_SESSION_RESTORE_H
#define SEER_TUNE_SESSION_RESTORE_H

#include "tune/session.h"

// Measurements are learnt from as if they had been made in the session, and the winners are in
// place, as holders (accept.h).
SEER_MUST_USE seer_status seer_session_restore(seer_session *session);
// What was found elsewhere and on similar machines is measured first; what was found for other
// shapes joins the drafts.
SEER_MUST_USE seer_status seer_session_queue_transfers(seer_session *session);

#endif
