// store.h - how a campaign writes its records: all at once or nothing, and after the first failure
// nothing any more. One thread, the campaign's.
#ifndef SEER_TUNE_SESSION_STORE_H
#define SEER_TUNE_SESSION_STORE_H

#include "tune/campaign/inside.h"

// By seer_records_write; while another process has the file, listeners hear of the wait. Without
// records nothing is done. After an error the campaign has no records any more: what has failed
// once to be written would be missing from what is written later.
SEER_MUST_USE seer_status seer_campaign_write(
    seer_campaign *campaign, seer_records_writer write, void *user);

// Does it begin as if the records had nothing of its tasks?
bool seer_campaign_starts_anew(const seer_campaign *campaign);

// Sets which worker and device a record is of. `part`: of a worker; UINT32_MAX: which one of its
// devices is not known. Texts in campaign->round, or the measurer's.
void seer_campaign_name_device(
    const seer_campaign *campaign, uint32_t device, uint32_t part, seer_record *record);

// A schedule that took turns with others, and how it did.
typedef struct {
  seer_schedule schedule;
  seer_measure_ab ab;
} seer_contender;
// What is stored of one that took turns with `baseline`. Texts in campaign->round.
seer_record seer_contender_record(const seer_campaign *campaign, uint32_t task,
    const seer_contender *contender, const seer_schedule *baseline);

#endif
