// traits.c - what policies do besides picking tasks.
#include "tune/scheduler.h"

// What the default and its controls have in common.
// clang-format off
#define OWN \
  .features = &seer_feature_program, \
  .learning = &seer_learning_seer, \
  .cost_model = "xgboost-rank", \
  .round_size = 16, \
  .has_one_model = true, \
  .learns_over_estimate = true, \
  .warm_up = 32, \
  .learns_beside = true, \
  .is_raced = true, \
  .has_witnesses = true, \
  .follows_drift = true, \
  .tries_untuned = true, \
  .tries_transfers = true
// clang-format on

const seer_policy_traits seer_traits_seer = {OWN, .search = &seer_strategy_seer};
const seer_policy_traits seer_traits_control = {OWN, .search = &seer_strategy_control};

// What all published policies have in common.
#define PUBLISHED                                                              \
  .search = &seer_strategy_ansor, .features = &seer_feature_ansor,             \
  .learning = &seer_learning_ansor, .cost_model = "xgboost", .round_size = 64, \
  .counts_rounds = true, .times = &seer_timing_published

const seer_policy_traits seer_traits_published = {PUBLISHED};
const seer_policy_traits seer_traits_one_model = {PUBLISHED, .has_one_model = true};
const seer_policy_traits seer_traits_warm = {PUBLISHED, .shares_warm_up = true};
const seer_policy_traits seer_traits_artifact = {PUBLISHED, .usual_grouping = "artifact-op"};
