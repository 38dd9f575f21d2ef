// cost.h - cost models: predict a schedule's throughput relative to its task's best (in (0, 1],
// higher is better) as the sum over its statements' rows (pack-sum: squared error on the sum). A
// model sees rows only; what they mean, which task they came from and how models build on each
// other is the bank's business (bank.h).
//
// Memory: a model is owned, by create and destroy; data are borrowed. Threads: a model is one
// thread's at a time, but any number may predict. Errors: RESOURCE, INTERNAL (the library's words);
// the model is of no use then.
#ifndef SEER_LEARN_COST_H
#define SEER_LEARN_COST_H

#include "base/status.h"
#include "learn/feature.h"

typedef struct {
  const float *rows;  // n_row x seer_feature_count, sample after sample
  size_t n_row;
  const uint32_t *n_rows;  // by sample
  size_t n_sample;
  const float *label;  // by sample
  const float *weight;  // by sample
  const float *margin;  // by row: what a model underneath already predicts; NULL: 0
} seer_cost_data;

typedef struct seer_cost_model seer_cost_model;

typedef struct {
  const char *name, *doc;
  bool is_estimate;  // scores are the analytic estimates: nothing is learnt, the functions are NULL
  seer_status (*create)(uint64_t seed, seer_cost_model **out_model);
  void (*destroy)(seer_cost_model *model);
  // Adds up to `max_trees` trees on `train`. Stops when `held_out` (may be empty) has not improved
  // for 10 trees, and then keeps the best number. *out_error: mean squared error on held_out (train
  // if that is empty).
  seer_status (*fit)(seer_cost_model *model, const seer_cost_data *train,
      const seer_cost_data *held_out, uint32_t max_trees, double *out_error);
  // out[row] += prediction
  seer_status (*predict)(seer_cost_model *model, const float *rows, size_t n_row, float *out);
  // *out_bytes in `arena`.
  seer_status (*save)(
      const seer_cost_model *model, seer_arena *arena, const void **out_bytes, size_t *out_n_bytes);
  // CORRUPT: not such a model.
  seer_status (*load)(seer_cost_model *model, const void *bytes, size_t n_bytes);
} seer_cost_desc;

extern const seer_cost_desc *const seer_cost_table[];
extern const size_t seer_cost_table_count;
// Errors: INVALID lists the names.
SEER_MUST_USE seer_status seer_cost_find(const char *name, const seer_cost_desc **out_desc);

#endif
