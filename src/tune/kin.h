// kin.h - what records know that is nearly about a task: schedules of exactly this task and target
// that came from elsewhere, its best ones on machines with the same features and as many threads,
// and those of other shapes of its structure, re-fitted. Each is valid for the task and within the
// limits of its candidates; none was timed for it on this machine.
#ifndef SEER_TUNE_KIN_H
#define SEER_TUNE_KIN_H

#include "tune/record.h"

#define SEER_KIN_HEARD 4
#define SEER_KIN_SHAPES 4
#define SEER_KIN_MAX (SEER_KIN_HEARD + SEER_RECORD_MAX_TARGETS - 1 + SEER_KIN_SHAPES)

typedef enum { SEER_KIN_HEARD_OF, SEER_KIN_SIMILAR_TARGET, SEER_KIN_NEAR_SHAPE } seer_kin_kind;

typedef struct {
  seer_schedule schedule;
  seer_kin_kind kind;
  bool is_elsewhere;  // nobody whose word counts has measured it (record.h)
} seer_kin;

// What was heard of this very task first, then similar machines, then shapes from the nearest on;
// of these two accepted records only.
//   sketches  of the task, in the space `space`
// What does not parse or fit any more is left out.
SEER_MUST_USE seer_status seer_find_kin(seer_records *records, const seer_target *target,
    seer_space_kind space, const seer_task *task, const seer_sketch_list *sketches,
    seer_kin out[SEER_KIN_MAX], uint32_t *out_n);

#endif
