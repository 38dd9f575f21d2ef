// verdict.c - pairs of times -> medians and sign tests -> what falls back. The rule: verdict.h.

#include "library/verdict.h"

#include "base/stats.h"

#define MAX_P_WHOLE 0.05
#define MAX_P_TASK 0.01
#define MIN_LOSS_TASK 0.98  // a task that is slower has less than this speedup

void seer_pairs_summarise(const seer_pairs *pairs, seer_pairs_summary *out) {
  double ratio[SEER_VERDICT_MAX_PAIRS], a[SEER_VERDICT_MAX_PAIRS], b[SEER_VERDICT_MAX_PAIRS];
  uint32_t n = 0, n_lost = 0, n_equal = 0;
  SEER_ASSERT(pairs->n <= SEER_VERDICT_MAX_PAIRS, "%u pairs", pairs->n);
  for (uint32_t k = 0; k < pairs->n; k++) {
    double tuned = pairs->tuned[k], untuned = pairs->untuned[k];
    if (!(tuned > 0) || !(untuned > 0)) continue;
    n_lost += tuned > untuned;
    n_equal += tuned == untuned;
    a[n] = tuned;
    b[n] = untuned;
    ratio[n++] = untuned / tuned;
  }
  *out = (seer_pairs_summary){.speedup = 1, .p_slower = 1, .n = n};
  if (n == 0) return;
  out->speedup = seer_median(ratio, n);
  seer_sort_f64(a, n);
  seer_sort_f64(b, n);
  out->tuned_s = seer_sorted_quartile(a, n);
  out->untuned_s = seer_sorted_quartile(b, n);
  out->p_slower = seer_sign_test(n_lost, n - n_equal);
}

void seer_verdict_decide(const seer_pairs *whole, const seer_pairs *task, const bool *is_tuned,
    uint32_t n_task, bool is_last, bool *out_falls, seer_verdict *out) {
  *out = (seer_verdict){0};
  seer_pairs_summarise(whole, &out->whole);
  out->is_slower = out->whole.speedup < 1 && out->whole.p_slower <= MAX_P_WHOLE;
  for (uint32_t t = 0; t < n_task; t++) {
    seer_pairs_summary own;
    seer_pairs_summarise(&task[t], &own);
    out_falls[t] = is_tuned[t] && own.speedup < MIN_LOSS_TASK && own.p_slower <= MAX_P_TASK;
    out->n_falls += out_falls[t];
  }
  out->is_all = out->is_slower && (is_last || out->n_falls == 0);
  if (!out->is_all) return;
  out->n_falls = 0;
  for (uint32_t t = 0; t < n_task; t++) {
    out_falls[t] = is_tuned[t];
    out->n_falls += out_falls[t];
  }
}
