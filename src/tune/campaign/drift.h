// drift.h - how much slower each device is than the first one was at the start: the untuned
// schedule of the heaviest task, timed again and again. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_DRIFT_H
#define SEER_TUNE_SESSION_DRIFT_H

#include "tune/campaign.h"

// The first time that it is measured the reference is set. Errors: those of the measurer; DEVICE
// the first time, if that schedule cannot be timed.
SEER_MUST_USE seer_status seer_campaign_begin_drift(seer_campaign *campaign);
// Measures it again where that is due and the policy follows it.
SEER_MUST_USE seer_status seer_campaign_follow_drift(seer_campaign *campaign);

#endif
