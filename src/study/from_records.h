// from_records.h - records of tunings -> a table of times (times.h), which says what they say in a
// thirtieth of the room: what cost models are fitted to (study/pretrain.h), so that they can be
// fitted again. Of each task of a network: the untuned choice and all that a search has timed, each
// once, with the time of its first measurement as its one visit, and what has failed. Those that a
// race cut short are among them: their times are of a few runs, but of clear losers, and models
// that never see losers choose worse (doc/decisions, 62). Left out are times of a moment: of twins,
// of comparisons in turns, of the network.
//
// Goes on with what a table has: a schedule that it knows stays as it is. Threads: one. Errors: of
// the records; NOT_FOUND where they have nothing of the network on the table's target.
#ifndef SEER_STUDY_FROM_RECORDS_H
#define SEER_STUDY_FROM_RECORDS_H

#include "measure/times/times.h"
#include "record/record.h"

typedef struct {
  uint32_t n_task, n_schedule;  // that were added to, and were added
  uint32_t n_known;  // to the table already
  uint32_t n_left_out;  // times of a moment
  uint32_t n_unsound;  // of no form that is known today, or no times of a machine
} seer_gather_counts;

// network: of one set of input shapes; `name`: what the table calls it. times: begun or read, of
// the context's target.
SEER_MUST_USE seer_status seer_gather(seer_context *context, const char *name,
    const seer_network *network, seer_records *records, seer_times *times,
    seer_gather_counts *out_counts);

#endif
