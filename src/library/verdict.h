// verdict.h - is a tuned library faster than the untuned one, as a whole, and which of its tasks
// are not, where they are used? Decided from times that took turns: nothing here has a clock.
//
// The rule
// 1. The whole is slower if the median of its pairs is below 1 and a sign test at 5 % says that
//    this is not chance. Noise is no reason to give up anything.
// 2. A task is slower if it lost by 2 % in the median of the profiles, all steps of it together,
//    and by a sign test at 1 %: there are many tasks, and each may be unlucky. Such tasks fall
//    back to their untuned schedules, whether the whole is slower or not.
// 3. If the whole is slower and no task can be named, or it is the last time that it is asked, all
//    tasks fall back.
// Pure: safe from any thread.
#ifndef SEER_LIBRARY_VERDICT_H
#define SEER_LIBRARY_VERDICT_H

#include "base/base.h"

#define SEER_VERDICT_MAX_PAIRS 256

// Times [s] of the same moments: the k-th of both are a pair.
typedef struct {
  uint32_t n;  // at most SEER_VERDICT_MAX_PAIRS
  double tuned[SEER_VERDICT_MAX_PAIRS], untuned[SEER_VERDICT_MAX_PAIRS];
} seer_pairs;

typedef struct {
  double speedup;  // median of untuned / tuned; 1 without pairs
  double tuned_s, untuned_s;  // lower quartiles: disturbances come to neither; 0 without pairs
  // How likely the tuned one is slower in as many pairs, or more, if both are equally fast.
  double p_slower;
  uint32_t n;  // pairs that count
} seer_pairs_summary;
// Pairs in which one took no time count for nothing.
void seer_pairs_summarise(const seer_pairs *pairs, seer_pairs_summary *out);

typedef struct {
  seer_pairs_summary whole;
  bool is_slower;  // the whole
  bool is_all;  // everything that is tuned falls back
  uint32_t n_falls;  // tasks in out_falls
} seer_verdict;
//   task       pairs of profiles, by task; is_tuned[n_task]: its schedule is not the untuned one
//   is_last    nobody asks again: a whole that is slower falls back
//   out_falls  [n_task]: these tasks get their untuned schedules; of those that are tuned
void seer_verdict_decide(const seer_pairs *whole, const seer_pairs *task, const bool *is_tuned,
    uint32_t n_task, bool is_last, bool *out_falls, seer_verdict *out);

// What became of a library, for reports.
typedef struct {
  uint32_t n_pairs;  // 0: it was not compared; or all fell back, and it is the untuned one
  double speedup;
  double tuned_s, untuned_s;  // of a run, as in the summary; 0 without pairs
  // Of a run of the library that was written, opened by itself: the median, as `bench` tells it; of
  // several sets of input shapes the mean. 0: not measured.
  double latency_s;
  bool is_all;
  uint32_t n_fallen;  // tasks that fell back, and which
  const uint32_t *fallen;
  const char *text;  // "tuned against untuned, ..."; "": nothing to say
  const char *precision;  // lines on what --precision has changed; NULL or "": nothing to say
} seer_verdict_report;

#endif
