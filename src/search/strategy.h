// strategy.h - how a task is searched, as sizes and rules: what is drafted, what survives, what is
// picked. Search (search.c) is the same code for all of them; a policy names one (scheduler.h).
// All are constant.
#ifndef SEER_SEARCH_STRATEGY_H
#define SEER_SEARCH_STRATEGY_H

#include "base/base.h"

typedef enum {
  // The best by rank: drafts are cut by the analytic estimate, and children join their parents.
  SEER_SELECT_TRUNCATION,
  SEER_SELECT_PROPORTIONAL  // Ansor's evolution (evolve.h): no estimate anywhere
} seer_selection;

typedef struct {
  seer_selection selection;
  uint32_t n_elites;  // the best measured schedules, which are remembered, and bred from
  uint32_t n_generations;  // of the evolution. TRUNCATION: under a trained model
  bool favours_good_sketches;  // by their best times; else each sketch is drawn alike
  double random_share, random_share_untrained;  // of a proposal: picked at random

  // ---- TRUNCATION
  // Drafts of a proposal: drawn from sketches, before and after there is a trained model; children
  // of the best measured schedules.
  uint32_t n_drawn_untrained, n_drawn_trained, n_from_elites;
  uint32_t n_pool;  // of the drafts, those that go on; cut by the analytic estimate
  uint32_t n_children, n_survivors;  // of a generation
  double estimate_share;  // of what is picked under a trained model: by the estimate alone
  // Of a task's first trials each formulation gets this share, whatever the models say; 0: none.
  double formulation_share;
  // Of relative throughput, by which a candidate is worth less each time that the number of known
  // look-alikes doubles; 0: they are not counted (doc/decisions, 31).
  double alike_cost;
  bool cuts_by_estimate;  // n_pool, and what is far above the best estimate; else all are rated
  // Of a proposal: neighbours of the best whose time is believed, as long as there are any that
  // have not been tried, ranked like everything else; 0: none.
  double neighbour_share;
  bool skips_equal_code;  // nothing is picked whose loops equal those of something picked before

  // ---- PROPORTIONAL
  uint32_t n_population;
  double measured_share;  // of the population: the best measured ones, which join the samples
  double mutation_chance;  // of a child; else it is a copy of its parent
} seer_search_strategy;

extern const seer_search_strategy seer_strategy_seer;
// Of the controls: models have the only word, and the best is not looked around from.
extern const seer_search_strategy seer_strategy_control;
extern const seer_search_strategy seer_strategy_ansor;

#endif
