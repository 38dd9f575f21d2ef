// cost_xgboost.h - gradient-boosted trees through XGBoost's C API.
#ifndef SEER_LEARN_COST_XGBOOST_H
#define SEER_LEARN_COST_XGBOOST_H

#include "learn/cost.h"

extern const seer_cost_desc seer_cost_xgboost;

#endif
