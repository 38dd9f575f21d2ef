// plan.h - what the end of a campaign takes: which tasks have finals, and the time that is kept for
// these. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_PLAN_H
#define SEER_TUNE_SESSION_PLAN_H

#include "tune/campaign.h"
#include "tune/finals.h"

// Tasks that have finals, heaviest first, and what their finals are planned with.
typedef struct {
  uint32_t n, *task;  // [n]
  seer_finals_entry *entry;  // [n]
  double build_s;  // of one kernel, as the builders get on together
} seer_finals_list;
// In `arena`.
seer_finals_list seer_campaign_list_finals(const seer_campaign *campaign, seer_arena *arena);

// What the end of a campaign is planned to take: holding winners against untuned ones.
double seer_campaign_acceptance_s(const seer_campaign *campaign);

#endif
