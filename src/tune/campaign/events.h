// events.h - what a campaign says, and when: its clock, its listeners, and what went wrong on the
// way. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_EVENTS_H
#define SEER_TUNE_SESSION_EVENTS_H

#include "tune/campaign.h"

// Since it began to run, until it has ended, with what is reckoned. What is asked of a campaign
// later is asked behind compiling and comparing.
double seer_campaign_elapsed_s(const seer_campaign *campaign);
// Fills in time, trials and estimate; calls every listener.
void seer_campaign_emit(seer_campaign *campaign, seer_event *event);
void seer_campaign_note(seer_campaign *campaign, const char *text);
// Takes `status` (SEER_OK: nothing). What was found is worth more than a clean end: the search
// ends, but the campaign goes on to its end without what failed: without workers where they are
// lost (DEVICE), without the records where those could not be written (store.h), which hold what
// was announced.
void seer_campaign_survive(seer_campaign *campaign, seer_status status);

#endif
