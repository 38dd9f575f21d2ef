// strategy.c - the strategies.
#include "search/strategy.h"

// Sizes are chosen so that a proposal costs well under a tenth of building and timing what it
// proposes.
// clang-format off
#define OWN \
  .selection = SEER_SELECT_TRUNCATION, \
  .n_elites = 48, \
  .n_drawn_untrained = 320, \
  .n_drawn_trained = 96, \
  .n_from_elites = 128, \
  .n_pool = 512, \
  .n_generations = 3, \
  .n_children = 128, \
  .n_survivors = 256, \
  .favours_good_sketches = true, \
  .random_share = 0.1, \
  .random_share_untrained = 0.5, \
  .formulation_share = 0.1, \
  .alike_cost = 0.04, \
  .cuts_by_estimate = true
// clang-format on

const seer_search_strategy seer_strategy_seer = {
    OWN, .estimate_share = 0.5, .neighbour_share = 0.5, .skips_equal_code = true};
const seer_search_strategy seer_strategy_control = {OWN};

// Ansor's loop (OSDI'20, 5.1; its parameters: python/tvm/auto_scheduler/search_policy.py).
const seer_search_strategy seer_strategy_ansor = {
    .selection = SEER_SELECT_PROPORTIONAL,
    .n_elites = 409,  // a fifth of a population
    .n_generations = 4,
    .random_share = 0.05,
    .random_share_untrained = 0.05,
    .n_population = 2048,
    .measured_share = 0.2,
    .mutation_chance = 0.85,
};
