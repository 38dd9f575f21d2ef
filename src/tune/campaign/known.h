// known.h - what is known of each task: a result goes to the task's search, to the model of its
// family and to the state that the scheduler sees; what all that comes to is the estimate, and the
// choice. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_KNOWN_H
#define SEER_TUNE_SESSION_KNOWN_H

#include "tune/campaign/inside.h"

// seconds 0: failed; is_full: neither raced out nor a twin, so it may be the task's best.
SEER_MUST_USE seer_status seer_campaign_learn(seer_campaign *campaign, uint32_t task,
    const seer_schedule *schedule, double seconds, bool is_full);
// The task's best, as its search knows it now, into the state that the scheduler sees.
void seer_campaign_refresh_best(seer_campaign *campaign, uint32_t task);
void seer_campaign_update_estimate(seer_campaign *campaign);
// The task's state after a round, into its history.
void seer_campaign_remember(seer_campaign *campaign, uint32_t task);

// A schedule waits to be measured before anything else, or joins the drafts of the next proposal
// (search.h), unless the analytic model thinks it hopeless. False: it does not join.
void seer_campaign_queue(
    seer_campaign *campaign, uint32_t task, const seer_schedule *schedule, seer_origin origin);
bool seer_campaign_suggest(seer_campaign *campaign, uint32_t task, const seer_schedule *schedule);

// A schedule of the task may pack so many bytes of weights (--max-weights).
uint64_t seer_campaign_max_packed_bytes(const seer_campaign *campaign, uint32_t task);

#endif
