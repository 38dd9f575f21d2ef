// evolve.h - evolution as Ansor does it (OSDI'20, 5.1; TVM: auto_scheduler/search_policy/
// sketch_policy.cc, SampleInitPopulation and EvolutionarySearch). A population of samples and of
// the best measured schedules; parents drawn with replacement in proportion to their scores,
// mutated or copied, no crossover, nobody survives for being good; what has been seen and not
// measured is offered to a list of the best, which is what comes of it. Before there is a model,
// scores are random numbers, anew in each generation. Unlike the pool of a draft, a population may
// hold a schedule twice, and what has been measured.
//
// Threads: as draft.h. Errors: RESOURCE, and those of the models.
#ifndef SEER_SEARCH_EVOLVE_H
#define SEER_SEARCH_EVOLVE_H

#include "search/draft.h"
#include "search/strategy.h"

// The best ones that differ and are not among those that are known: a heap, the worst at its root.
typedef struct {
  const seer_table *known;  // hashes; borrowed
  uint32_t n, cap;
  seer_candidate *at;  // the caller's
} seer_best;
// For tests.
void seer_best_offer(seer_best *best, const seer_candidate *candidate);
// For tests. Best first; no offers after that.
void seer_best_sort(seer_best *best);

typedef struct {
  const seer_draft_space *space;  // its bank: NULL while it is not trained
  const seer_search_strategy *strategy;
  const double *sketch_weight;
  uint32_t n_measured;  // those that join: at most the strategy's share of a population
  const seer_schedule *const *measured;  // best first
} seer_evolution;

// Candidates that a pool must have room for.
uint32_t seer_evolve_room(const seer_search_strategy *strategy);
// Fills `best`, sorted, and out_random with n_random of the first population, drawn with
// replacement, maybe measured ones (*out_n_random: 0 where the space has no valid schedule).
SEER_MUST_USE seer_status seer_evolve(const seer_evolution *evolution, seer_rng *rng,
    seer_draft_pool *pool, seer_search_counts *counts, seer_best *best, uint32_t n_random,
    seer_candidate *out_random, uint32_t *out_n_random);

#endif
