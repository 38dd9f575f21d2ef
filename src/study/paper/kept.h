// kept.h - pieces of a study that are done, in files, so that a study that was ended goes on: each
// tuning and each network's cost models, under what it was made with (the table's bytes, this
// program's sources, all options that it depends on). What is there is taken; what is damaged, or
// was made with anything else, is as if it were not there.
//
// Results in `arena`, as the table's tasks are named. Threads: any, for different keys. Errors:
// those of writing.
#ifndef SEER_STUDY_PAPER_KEPT_H
#define SEER_STUDY_PAPER_KEPT_H

#include "study/paper/models.h"
#include "study/paper/policies.h"

typedef struct {
  const char *folder;
  const char *key;  // all that it was made with, in words
} seer_study_kept_piece;

bool seer_study_kept_find_run(
    const seer_study_kept_piece *piece, const seer_times *times, seer_arena *arena, seer_run *out);
SEER_MUST_USE seer_status seer_study_kept_write_run(const seer_study_kept_piece *piece,
    const seer_times *times, seer_arena *arena, const seer_run *run);
bool seer_study_kept_find_accuracies(
    const seer_study_kept_piece *piece, seer_arena *arena, seer_accuracies *out);
SEER_MUST_USE seer_status seer_study_kept_write_accuracies(
    const seer_study_kept_piece *piece, seer_arena *arena, const seer_accuracies *accuracies);

#endif
