// drift.h - how much slower each device is than the first one was at the start: the untuned
// schedule of the heaviest task, timed again and again. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_DRIFT_H
#define SEER_TUNE_SESSION_DRIFT_H

#include "tune/campaign.h"

// The first time that it is measured the reference is set. Errors: those of the measurer; DEVICE
// the first time, if that schedule cannot be timed.
SEER_MUST_USE seer_status seer_campaign_begin_drift(seer_campaign *campaign);
// Measures it again where that is due and the policy follows it. Where rounds are away nobody has
// the time: a device is measured when it joins, and followed by its rounds (see_drift).
SEER_MUST_USE seer_status seer_campaign_follow_drift(seer_campaign *campaign);
// What a round says of its device: how much slower than usual its incumbent was there. Many
// devices have each other's incumbents, so how fast they are against each other becomes known.
void seer_campaign_see_drift(seer_campaign *campaign, uint32_t device, double slowness);
// How fast a device is against the first one of which that is known.
seer_measure_bias seer_campaign_bias(const seer_campaign *campaign, uint32_t device);

#endif
