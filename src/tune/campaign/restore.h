// restore.h - what the records have of a campaign's tasks. One thread, the campaign's.
// Errors: those of the records and of the models.
#ifndef SEER_TUNE_SESSION_RESTORE_H
#define SEER_TUNE_SESSION_RESTORE_H

#include "tune/campaign.h"

// Measurements are learnt from as if they had been made in the campaign, and the winners are in
// place, as holders (accept.h).
SEER_MUST_USE seer_status seer_campaign_restore(seer_campaign *campaign);
// What was found elsewhere and on similar machines is measured first; what was found for other
// shapes joins the drafts.
SEER_MUST_USE seer_status seer_campaign_queue_transfers(seer_campaign *campaign);

#endif
