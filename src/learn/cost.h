// cost.h - cost models: predict a schedule's throughput relative to its task's best (in (0, 1], higher is better).
#ifndef SEER_LEARN_COST_H
#define SEER_LEARN_COST_H

#include "base/status.h"
#include "learn/feature.h"

// One measured schedule.
typedef struct {
  uint32_t task;        // labels are normalised per task
  uint32_t n_row;
  const float *rows;    // kept by the model as long as it lives (task's arena)
  double seconds;       // relative to the session's drift reference; 0: failed
  bool is_raced_out;    // few-run time
} seer_sample;

typedef struct seer_cost_model seer_cost_model;

typedef struct {
  const char *name;  // "xgboost", "random", "analytic"
  const char *doc;
  seer_status (*create)(uint64_t seed, seer_cost_model **out_model);
  void (*destroy)(seer_cost_model *model);
  seer_status (*add)(seer_cost_model *model, const seer_sample *samples, size_t n);
  seer_status (*train)(seer_cost_model *model);  // on all samples so far; may decide to do nothing
  bool (*is_trained)(const seer_cost_model *model);
  // scores[i] for candidate i with n_row[i] rows, rows of all candidates one after another
  seer_status (*predict)(seer_cost_model *model, const float *rows, const uint32_t *n_row, size_t n, float *scores);
  seer_status (*save)(const seer_cost_model *model, const char *path);
  seer_status (*load)(seer_cost_model *model, const char *path);  // INVALID on another feature version
} seer_cost_desc;

extern const seer_cost_desc *const seer_cost_table[];
extern const size_t seer_cost_table_count;
SEER_MUST_USE seer_status seer_cost_find(const char *name, const seer_cost_desc **out_desc);

// ---- the bank: one model per family over a base that all share (decisions 7).
typedef struct seer_bank seer_bank;
typedef struct {
  uint32_t n_family;
  const uint32_t *family_of;  // by task; kept
  uint32_t n_task;
  bool has_base;      // false: plain separate models (policies ansor, familyseer)
  const char *model;  // cost table name
  uint64_t seed;
} seer_bank_options;
SEER_MUST_USE seer_status seer_bank_create(const seer_bank_options *options, seer_bank **out_bank);
void seer_bank_destroy(seer_bank *bank);
SEER_MUST_USE seer_status seer_bank_add(seer_bank *bank, const seer_sample *samples, size_t n);
SEER_MUST_USE seer_status seer_bank_train(seer_bank *bank, uint32_t family);
bool seer_bank_is_trained(const seer_bank *bank, uint32_t task);
SEER_MUST_USE seer_status seer_bank_predict(seer_bank *bank, uint32_t task, const float *rows, const uint32_t *n_row,
    size_t n, float *scores);
uint64_t seer_bank_generation(const seer_bank *bank);
SEER_MUST_USE seer_status seer_bank_save(const seer_bank *bank, const char *path);
SEER_MUST_USE seer_status seer_bank_load(seer_bank *bank, const char *path);

#endif
