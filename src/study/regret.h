// regret.h - tunings on a table of measured times (times.h): how far what a policy has found, after
// so many trials, is from the best that the table knows.
//
// A trial is a schedule that was measured (no failure, nothing measured again), trials a task are
// all trials over the number of tasks (tuning.h). Regret: sum over tasks of count x true time of
// its best so far, over the same sum of the best times that the table knows, less 1; a task without
// a measurement counts with its untuned choice. Times are exact, so that what a campaign takes for
// its best is.
//
// Threads: one. Errors: those of the table, of campaigns, of options.
#ifndef SEER_STUDY_REGRET_H
#define SEER_STUDY_REGRET_H

#include "study/tuning.h"

enum { SEER_REGRET_BUDGETS = 7 };
extern const uint32_t seer_regret_budgets[SEER_REGRET_BUDGETS];  // trials a task: 4, 8, ... 256

typedef struct {
  double regret[SEER_REGRET_BUDGETS];  // where the table was used up before: what was left
  uint32_t n_task, n_trial;
  // Of rounds with at least 8 picks of the learned model: the mean of their rank correlations
  // (Spearman) between its score and the measured throughput.
  double rank_correlation;
  uint32_t n_rounds;
  // Of tasks, once they have had 64 trials: of the 16 that the model ranks first among all that the
  // table has and that were not measured yet, how many are of the best 1 % of those (of at most 16
  // of them: 1 is all that can be). The mean.
  double recall;
  uint32_t n_recalled;
  double seconds;  // wall time
} seer_regret;

// One tuning of as many trials a task as the last of the budgets, whatever `options` say of that.
// `context`: as seer_tuning_context makes it.
SEER_MUST_USE seer_status seer_regret_measure(
    seer_context *context, const seer_tuning_options *options, seer_regret *out);

// Rank correlation of n pairs, ties sharing their mean rank; 0 where one side is constant. For
// tests.
double seer_rank_correlation(const double *a, const double *b, uint32_t n, seer_arena *scratch);

#endif
