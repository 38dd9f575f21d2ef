// budget.h - what a campaign may take, and why it ends.
// One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_BUDGET_H
#define SEER_TUNE_SESSION_BUDGET_H

#include "tune/campaign.h"

// What the options give. Without a limit of trials or time it is that of the preset; and it ends
// when it is done (SEER_DONE_BELOW), unless a preset was asked for.
seer_budget seer_budget_of(const seer_context *context);

// Of a budget of time, what is the campaign's; 0: no limit.
double seer_campaign_time_s(const seer_campaign *campaign);

// NULL: it is worth going on. Texts are the campaign's.
//   reserve_s       of a budget of time, for what comes after the search
//   trials_of_best  trials when the estimate became better the last time
const char *seer_campaign_why_end(
    const seer_campaign *campaign, double reserve_s, uint32_t trials_of_best);

#endif
