// strategy.c - the strategies.
#include "tune/search/strategy.h"

// Sizes are chosen so that a proposal costs well under a tenth of building and timing what it
// proposes.
const seer_search_strategy seer_strategy_seer = {
    .n_drawn_untrained = 320,
    .n_drawn_trained = 96,
    .n_from_elites = 128,
    .n_pool = 512,
    .is_cut_by_estimate = true,
    .n_generations = 3,
    .n_children = 128,
    .n_survivors = 256,
    .favours_good_sketches = true,
    .random_share = 0.1,
    .random_share_untrained = 0.5,
    .formulation_share = 0.1,
    .alike_cost = 0.04,
};

// Ansor's loop (OSDI'20, 5.1, and its code): 2,048 individuals, 4 generations, 5 % at random.
const seer_search_strategy seer_strategy_ansor = {
    .n_drawn_untrained = 2048,
    .n_drawn_trained = 2048,
    .is_one_each = true,
    .n_generations = 4,
    .n_children = 2048,
    .n_survivors = 2048,
    .random_share = 0.05,
    .random_share_untrained = 0.5,
};
