// study.h - one figure or table of the paper: what it must be given, and what it says.
//
// All is of some networks of a table, each with several seeds. In arenas of who runs them
// (paper.h). Threads: one at a time. Nothing here fails: studies only say what was measured.
#ifndef SEER_STUDY_PAPER_STUDY_H
#define SEER_STUDY_PAPER_STUDY_H

#include "study/paper/models.h"
#include "study/paper/page.h"
#include "study/paper/policies.h"

typedef enum {
  SEER_PAPER_MODELS = 1,  // accuracies, of the two extremes and the default grouping
  SEER_PAPER_GROUPINGS = 2,  // of all
  SEER_PAPER_REFERENCE = 4,  // tunings with Ansor's policy
  SEER_PAPER_ALONE = 8,  // and with that of each task by itself
  SEER_PAPER_POLICIES = 16,  // tunings with all policies
} seer_paper_need;

typedef struct {
  uint32_t n_network, n_policy, n_seed, trials_a_task, n_samples;
  const char *const *network, *const *policy;  // policy[0]: the reference, Ansor's
  seer_accuracies *accuracies;  // [network][seed]
  seer_run *run;  // [network][policy][seed]
  seer_run **alone;  // [network][seed], by task
  seer_arena *arena;
} seer_paper_data;

static inline const seer_accuracies *seer_paper_accuracies(
    const seer_paper_data *d, uint32_t network, uint32_t seed) {
  return &d->accuracies[network * d->n_seed + seed];
}
static inline seer_run *seer_paper_run(
    const seer_paper_data *d, uint32_t network, uint32_t policy, uint32_t seed) {
  return &d->run[(network * d->n_policy + policy) * d->n_seed + seed];
}

typedef struct {
  const char *name, *title;
  unsigned needs;  // seer_paper_need
  // A file of comma-separated values with a line of names, and a part of the page.
  void (*write)(const seer_paper_data *data, seer_text *csv, seer_page *page);
} seer_paper_study;

extern const seer_paper_study seer_paper_fig1, seer_paper_fig2, seer_paper_table2, seer_paper_fig3,
    seer_paper_fig4, seer_paper_fig7, seer_paper_table5, seer_paper_fig8;

// In their order.
extern const seer_paper_study *const seer_paper_study_table[];
extern const size_t seer_paper_study_count;

#endif
