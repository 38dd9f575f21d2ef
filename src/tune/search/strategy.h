// strategy.h - how a task is searched, as sizes and rules: what is drafted, what survives, what is
// picked. Search (search.c) is the same code for all of them; a policy names one (scheduler.h).
// All are constant.
#ifndef SEER_TUNE_SEARCH_STRATEGY_H
#define SEER_TUNE_SEARCH_STRATEGY_H

#include "base/base.h"

typedef struct {
  // Drafts of a proposal: drawn from sketches, before and after there is a trained model; children
  // of the best measured schedules, one each where is_one_each.
  uint32_t n_drawn_untrained, n_drawn_trained, n_from_elites;
  bool is_one_each;
  uint32_t n_pool;  // of the drafts, those that go on; cut by the analytic estimate, or not at all
  bool is_cut_by_estimate;  // and without a model ranked by it; else ranked at random
  uint32_t n_generations, n_children, n_survivors;  // of the evolution under a trained model
  bool favours_good_sketches;  // by their best times; else each sketch is drawn alike
  double random_share, random_share_untrained;  // of a proposal: picked at random
  // Of a task's first trials each formulation gets this share, whatever the models say; 0: none.
  double formulation_share;
  // Of relative throughput, by which a candidate is worth less each time that the number of known
  // look-alikes doubles; 0: they are not counted (doc/decisions, 31).
  double alike_cost;
} seer_search_strategy;

extern const seer_search_strategy seer_strategy_seer;
extern const seer_search_strategy seer_strategy_ansor;  // Ansor's: no estimate anywhere

#endif
