// transfer.h - what records know that is nearly about a task: schedules of exactly this task and
// target that came from elsewhere, its best ones on machines with the same features and as many
// threads, and those of other shapes of its structure, re-fitted. Each is valid for the task and
// within the limits of its candidates; none was timed for it on this machine.
// One thread, the records'. Errors: those of the records.
#ifndef SEER_CHOOSE_TRANSFER_H
#define SEER_CHOOSE_TRANSFER_H

#include "record/record.h"

#define SEER_TRANSFER_HEARD 4
#define SEER_TRANSFER_SHAPES 4
#define SEER_TRANSFER_MAX (SEER_TRANSFER_HEARD + SEER_RECORD_MAX_TARGETS - 1 + SEER_TRANSFER_SHAPES)

typedef enum {
  SEER_TRANSFER_HEARD_OF,
  SEER_TRANSFER_SIMILAR_TARGET,
  SEER_TRANSFER_NEAR_SHAPE
} seer_transfer_kind;

typedef struct {
  seer_schedule schedule;
  seer_transfer_kind kind;
  bool is_elsewhere;  // nobody whose word counts has measured it (record.h)
} seer_transfer;

// What was heard of this very task first, then similar machines, then shapes from the nearest on;
// of these two accepted records only.
//   sketches  of the task, in the space `space`
// What does not parse or fit any more is left out.
SEER_MUST_USE seer_status seer_find_transfers(seer_records *records, const seer_target *target,
    seer_space_kind space, const seer_task *task, const seer_sketch_list *sketches,
    seer_transfer out[SEER_TRANSFER_MAX], uint32_t *out_n);

#endif
