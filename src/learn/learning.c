// learning.c - the settings.
#include "learn/learning.h"

// Shallower and fewer trees than Ansor's: training must not keep the machine from measuring
// (doc/decisions, 5). Failures are few and mostly say "not here": their weight is enough to steer
// away, not to dominate; the floor keeps slow programs from being forgotten altogether.
const seer_learning seer_learning_seer = {
    .name = "seer",
    .doc = "few shallow trees, judged on samples that are held out",
    .trees = {.tree_method = "hist",
        .max_depth = "4",
        .max_bin = "16",
        .eta = "0.25",
        .gamma = "0.001",
        .min_child_weight = "0",
        .lambda = "1",
        .base_score = "0",
        .row_share = "1",
        .column_share = "0.3",
        .max_trees = 40,
        .patience = 10,
        .check_every = 1},
    .growth = 1.25,
    .hold_out = 10,
    .least_weight = 0.1F,
    .raced_weight = 0.3F,  // few-run times of clear losers
    // Half an hour at 75 measurements a second would be 135,000 samples, 90 MB of features and
    // three times that while they are fitted. A tuner of 12,500 samples had grown by 22 MB since
    // its fifth minute (test/safety/soak.py, 2026-11-23), nearly all of it for fitting.
    .max_samples = 8192,
};

// Nobody waits for it; what it has not seen it must order, too.
const seer_learning seer_learning_pretrain = {
    .name = "pretrain",
    .doc = "many trees of small steps, each on a part of rows and columns",
    .trees = {.tree_method = "hist",
        .max_depth = "6",
        .max_bin = "256",
        .eta = "0.1",
        .gamma = "0",
        .min_child_weight = "0",
        .lambda = "1",
        .base_score = "0",
        .row_share = "0.8",
        .column_share = "0.5",
        .max_trees = 200,
        .patience = 200,
        .check_every = 1},
    .growth = 1,
    .least_weight = 0.1F,
    .raced_weight = 0.3F,
};

// What is not set in xgb_model.py has XGBoost's default of its time (before 1.6): lambda 1, 256
// bins, base_score 0.5, and the exact method, which `auto` chose for fewer than 4 million rows. One
// fit of 1,000 samples takes 2.0 s, and 0.4 s by histograms (2026-11, one thread, some 80 trees).
#define ANSOR_TREES                                                                              \
  {                                                                                              \
    .tree_method = "exact", .max_depth = "10", .max_bin = "256", .eta = "0.2", .gamma = "0.001", \
    .min_child_weight = "0", .lambda = "1", .base_score = "0.5", .row_share = "1",               \
    .column_share = "1", .max_trees = 10000, .patience = 50, .check_every = 2,                   \
    .stops_on_training = true                                                                    \
  }

const seer_learning seer_learning_ansor = {
    .name = "ansor",
    .doc = "Ansor's: deep trees on all samples until they fit them, with its defects",
    .trees = ANSOR_TREES,
    .growth = 1,
    .raced_weight = 1,
    .all_failed_is_best = true,
};

// To add settings: here, and their line.
const seer_learning *const seer_learning_table[] = {
    &seer_learning_seer, &seer_learning_pretrain, &seer_learning_ansor};
const size_t seer_learning_table_count = SEER_COUNT_OF(seer_learning_table);
