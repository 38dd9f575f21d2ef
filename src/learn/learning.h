// learning.h - how cost models are fitted, and on what: settings that a policy chooses
// (tune/scheduler.h) and a bank carries (bank.h), as a table. Doc of each published number:
// doc/fidelity.md. All are constant.
#ifndef SEER_LEARN_LEARNING_H
#define SEER_LEARN_LEARNING_H

#include "base/base.h"

// Of boosted trees. Texts are values of XGBoost's parameters of these names.
typedef struct {
  const char *tree_method;  // on a processor; on a GPU it is histograms
  const char *max_depth, *max_bin, *eta, *gamma, *min_child_weight, *lambda;
  const char *base_score;  // what each row begins with
  const char *row_share, *column_share;  // that a tree sees, drawn at random
  uint32_t max_trees;  // of a model fitted anew
  // Growing ends when the error has not fallen for `patience` trees; it is looked at after every
  // check_every-th one.
  uint32_t patience, check_every;
  // The error is the root mean square of the training rows' pack sums, unweighted, to six decimals,
  // and all trees stay. Else it is the weighted one of held-out samples, and the best number of
  // trees stays (without any: max_trees, all of them).
  bool stops_on_training;
} seer_tree_settings;

typedef struct {
  const char *name, *doc;
  seer_tree_settings trees;
  // A model is fitted anew when it has so many times as many samples as the last time; 1: always.
  double growth;
  // Over loaded models every n-th sample of a family is kept from training; 0: none.
  uint32_t hold_out;
  // A sample weighs as much as its label, but at least this; one that was raced out, at most that.
  float least_weight, raced_weight;
  // When there are so many, a quarter is forgotten, all of the older half: what failed or was raced
  // out, then every other two. 0: none is.
  uint32_t max_samples;
  // A published defect: while all of a task's programs have failed, each counts as its best.
  bool all_failed_is_best;
} seer_learning;

extern const seer_learning seer_learning_seer;
// Of models that other networks begin with: small steps, on all samples.
extern const seer_learning seer_learning_pretrain;
// Ansor's (OSDI'20, 5.2, and xgb_model.py of TVM), and FamilySeer's for each family: everything
// that was measured, trees of depth 10 until they fit it.
extern const seer_learning seer_learning_ansor;

// The first one is the default.
extern const seer_learning *const seer_learning_table[];
extern const size_t seer_learning_table_count;

#endif
