// round.h - one round of one task: propose, build, time, store, learn. Where the measurer lets
// rounds go on their way (seer_measure_desc.send), the two halves of it lie apart, and several are
// away at a time. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_ROUND_H
#define SEER_TUNE_SESSION_ROUND_H

#include "tune/campaign.h"

#define SEER_SESSION_MAX_ROUND 1024  // as --round-size has it

// One round of pick->task (pick->n is cut to what the budget leaves), or its first half, where the
// measurer does the rest by itself. Errors: the measurer is lost, or a model cannot be trained;
// records that refuse are survived (events.h).
SEER_MUST_USE seer_status seer_campaign_round(seer_campaign *campaign, seer_pick *pick);

// May another round begin? As many may be away as the measurer says; without `send`, always.
bool seer_campaign_has_room(const seer_campaign *campaign);
// The second half of the next round that is back, or nothing for so long. Errors: as above.
SEER_MUST_USE seer_status seer_campaign_land(seer_campaign *campaign, double patience_s);
// At the end: what is away is waited for as long as that, and what is not back by then is
// forgotten.
SEER_MUST_USE seer_status seer_campaign_land_all(seer_campaign *campaign, double patience_s);
// Forgets all that is away, or was foreseen.
void seer_campaign_recall(seer_campaign *campaign);

#endif
