// round.h - one round of one task: propose, build, time, store, learn. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_ROUND_H
#define SEER_TUNE_SESSION_ROUND_H

#include "tune/campaign.h"

#define SEER_SESSION_MAX_ROUND 1024  // as --round-size has it

// One round of pick->task (pick->n is cut to what the budget leaves). Errors: the measurer is lost,
// or a model cannot be trained; records that refuse are survived (events.h).
SEER_MUST_USE seer_status seer_campaign_round(seer_campaign *campaign, seer_pick *pick);

#endif
