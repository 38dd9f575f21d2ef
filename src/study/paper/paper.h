// paper.h - the studies of FamilySeer's paper on a table of measured times: cost models are fitted
// to some of its schedules and asked about others (models.h), policies tune on it (policies.h).
//
// Writes <folder>/<study>.csv for each study, <folder>/study.html and <folder>/study.md. The same
// table and options give the same files, whatever the number of threads, but for wall times.
// Threads: one calls; what is measured is spread over several. Errors: of the table, of options, of
// tunings and models (the first in the order of the list), of files; without all results no page
// is written. What was measured by then is kept in <folder>/kept (kept.h), and a study with the
// same table, options and program goes on from it.
#ifndef SEER_STUDY_PAPER_PAPER_H
#define SEER_STUDY_PAPER_PAPER_H

#include "study/paper/study.h"

#define SEER_PAPER_ALL "all"  // every study

typedef struct {
  const seer_times *times;
  const char *path, *folder;  // of the table; made if it is not there
  const char *study;  // its name, or SEER_PAPER_ALL
  uint32_t n_network, n_policy, n_seed;
  const char *const *network, *const *policy;  // policies: Ansor's is added in front
  uint32_t trials_a_task, round_size;  // round_size 0: the policies' own
  uint32_t n_samples;  // of a task, that models are fitted on
  const char *pretrained;  // as in seer_tuning_options
  // After each piece of work: what was done, in words, a line. From several threads.
  void (*tell)(void *user, const char *text);
  void *user;
} seer_paper_options;

// All policies that studies compare unless they are told. "ansor" is the first.
extern const char *const seer_paper_policies[];
extern const size_t seer_paper_policy_count;

// Is it a study's name, or SEER_PAPER_ALL?
bool seer_paper_has_study(const char *name);
SEER_MUST_USE seer_status seer_paper_make(
    const seer_context *context, const seer_paper_options *options);

#endif
