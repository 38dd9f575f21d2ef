// cost.h - cost models: predict a schedule's throughput relative to its task's best (in (0, 1],
// higher is better), or its logarithm, as the sum over its rows. A model sees rows only, of a
// number of columns that it knows from its creation, and which of them are of one task; what they
// mean and how models build on each other is the bank's business (bank.h).
//
// Memory: a model is owned, by create and destroy; data are borrowed. Threads: a model is one
// thread's at a time, but any number may predict. Errors: RESOURCE, INTERNAL (the library's words);
// the model is of no use then.
#ifndef SEER_LEARN_COST_H
#define SEER_LEARN_COST_H

#include "base/arena.h"
#include "base/status.h"
#include "learn/learning.h"

// Where models are fitted.
typedef enum { SEER_LEARN_CPU, SEER_LEARN_CUDA } seer_learn_device;

typedef struct {
  size_t n_column;
  const seer_learning *learning;  // kept
  seer_learn_device device;
  bool has_margin;  // is fitted with margins, and so has none of its own
  uint64_t seed;
} seer_cost_options;

typedef struct {
  size_t n_column;  // as at creation
  const float *rows;  // n_row x n_column, sample after sample
  size_t n_row;
  const uint32_t *n_rows;  // by sample
  size_t n_sample;
  const float *label;  // by sample
  const float *weight;  // by sample
  const uint32_t *task;  // by sample: any numbers; for models that compare samples of a task
  const float *margin;  // by row: what is underneath already predicts; where the
  // model has_margin
} seer_cost_data;

typedef struct seer_cost_model seer_cost_model;

typedef struct {
  const char *name, *doc;
  bool is_estimate;  // scores are the analytic estimates: nothing is learnt, the functions are NULL
  // Sums are logarithms: only differences within a task mean anything, and so do margins'.
  bool is_log;
  // Can models be fitted there? It is tried. NULL: only on SEER_LEARN_CPU. Errors: UNSUPPORTED the
  // library has no such device; DEVICE the machine has none, or it does not work.
  seer_status (*probe)(seer_learn_device device);
  seer_status (*create)(const seer_cost_options *options, seer_cost_model **out_model);
  void (*destroy)(seer_cost_model *model);
  // A new model's trees, on `train`; how many the settings say (learning.h), and `held_out`, which
  // may be empty: none where its margins alone predict it best.
  seer_status (*fit)(
      seer_cost_model *model, const seer_cost_data *train, const seer_cost_data *held_out);
  // out[row] += prediction; any number of threads at a time
  seer_status (*predict)(seer_cost_model *model, const float *rows, size_t n_row, float *out);
  // *out_bytes in `arena`.
  seer_status (*save)(
      const seer_cost_model *model, seer_arena *arena, const void **out_bytes, size_t *out_n_bytes);
  // CORRUPT: not such a model.
  seer_status (*load)(seer_cost_model *model, const void *bytes, size_t n_bytes);
} seer_cost_desc;

extern const seer_cost_desc *const seer_cost_table[];
extern const size_t seer_cost_table_count;
// INVALID where the model cannot be fitted on `device`, and what its probe says.
SEER_MUST_USE seer_status seer_cost_probe(const seer_cost_desc *desc, seer_learn_device device);
// Errors: INVALID lists the names.
SEER_MUST_USE seer_status seer_cost_find(const char *name, const seer_cost_desc **out_desc);

#endif
