// xgboost.h - gradient-boosted trees through XGBoost's C API: fitted to throughput (pack-sum:
// squared error on the sum over a program's rows), and to the order of a task's programs (pairs.h).
#ifndef SEER_LEARN_COST_XGBOOST_H
#define SEER_LEARN_COST_XGBOOST_H

#include "learn/cost.h"

extern const seer_cost_desc seer_cost_xgboost, seer_cost_xgboost_rank;

#endif
