// holders.c - whether a job is due: held for so long / allowed for so long. The contract:
// holders.h.

#include "measure/fleet/holders.h"

#include <math.h>

#define CHECK_RUNS 26  // that a check may take: of the candidate, and of what is not tiled
#define UNPAIRED_RUNS 4  // of each kernel of a comparison, before its pairs

// What is asked, at most: each build and each run once.
static double most_seconds(const seer_letter_job *job, double build_s, double run_s) {
  double n_builds = job->n, n_runs = job->n;
  switch (job->kind) {
    case SEER_JOB_MEASURE:
      break;
    case SEER_JOB_CHECK:
      n_builds = 2;
      n_runs = CHECK_RUNS;
      break;
    case SEER_JOB_COMPARE:
      n_runs = 1 + (double)job->n * (job->n_pairs + UNPAIRED_RUNS);
      break;
    case SEER_JOB_KIND_COUNT:
      break;
  }
  return n_builds * build_s + n_runs * run_s;
}

static bool is_out(const seer_ledger_job *job) {
  return job->at && !job->is_done && !job->is_forgone;
}

static bool is_wanted(const seer_ledger_job *job) {
  return is_out(job) && !(job->is_foreseen && job->letter.is_maybe);
}

void seer_holders_note(seer_ledger_job *job, uint32_t holder, double passed_s) {
  if (holder == job->holder) {
    job->held_s = is_wanted(job) ? job->held_s + passed_s : 0;
    return;
  }
  job->n_holders += holder != SEER_HOLDER_NOBODY;
  job->holder = holder;
  job->held_s = job->allowed_s = 0;
}

// All that has the same holder; of one that nobody of the tuning has, all that there is.
static double all_of(const seer_ledger *ledger, const seer_roster *roster, uint32_t holder) {
  double sum = 0, build_s = seer_context_f64(roster->context, SEER_OPT_BUILD_TIMEOUT),
         run_s = seer_context_f64(roster->context, SEER_OPT_TIMEOUT);
  bool is_any = holder >= roster->n;
  if (!is_any) build_s = roster->worker[holder].build_s;
  if (!is_any) run_s = roster->worker[holder].run_s;
  for (const seer_ledger_job *job = ledger->first; job; job = job->next)
    if (is_out(job) && (is_any || job->holder == holder))
      sum += most_seconds(&job->letter, build_s, run_s);
  return sum;
}

void seer_holders_allow(seer_ledger *ledger, const seer_roster *roster, uint32_t n_tunings) {
  for (seer_ledger_job *job = ledger->first; job; job = job->next) {
    if (!is_out(job)) continue;
    // The others may be done before it, and it is not to be due for what they took.
    job->allowed_s = fmax(
        job->allowed_s, SEER_HOLDERS_GRACE_S + n_tunings * all_of(ledger, roster, job->holder));
  }
}

bool seer_holders_is_due(const seer_ledger_job *job) {
  return is_wanted(job) && job->allowed_s > 0 && job->held_s > job->allowed_s;
}
