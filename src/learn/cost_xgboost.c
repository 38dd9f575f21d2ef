// cost_xgboost.c - rows -> boosted trees, with the pack-sum objective (Ansor, OSDI'20, 5.2): the
// prediction of a program is the sum over its statements, the loss is the weighted squared error of
// that sum. Every row of a program gets the same gradient, (sum - label) * weight, and the hessian
// `weight`. One thread: families are trained side by side, and results must not depend on the
// number of threads.

#include "learn/cost_xgboost.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xgboost/c_api.h>

// Shallower and fewer trees than Ansor's (depth 10): training must not keep the machine from
// measuring. doc/decisions, 5.
#define MAX_DEPTH "6"
#define ETA "0.25"
#define MAX_BIN "64"
#define PATIENCE 10

struct seer_cost_model {
  BoosterHandle booster;
  uint64_t seed;
  uint32_t n_tree;
};

static seer_status check(int rc, const char *what) {
  if (rc == 0) return SEER_OK;
  const char *why = XGBGetLastError();  // the first line; a stack trace follows
  return SEER_FAIL(INTERNAL, "xgboost: %s: %.*s", what, (int)strcspn(why, "\n"), why);
}

static seer_status configure(seer_cost_model *model) {
  char seed[24], columns[24];
  (void)snprintf(columns, sizeof columns, "%zu", seer_feature_count);
  (void)snprintf(seed, sizeof seed, "%u", (unsigned)(model->seed & 0x7fffffff));
  const char *const options[][2] = {{"tree_method", "hist"}, {"max_depth", MAX_DEPTH}, {"eta", ETA},
      {"max_bin", MAX_BIN}, {"min_child_weight", "0"}, {"gamma", "0.001"}, {"lambda", "1"},
      {"nthread", "1"}, {"base_score", "0"}, {"verbosity", "0"},
      {"disable_default_eval_metric", "1"}, {"num_feature", columns}, {"seed", seed}};
  for (size_t i = 0; i < SEER_COUNT_OF(options); i++) {
    SEER_TRY(check(XGBoosterSetParam(model->booster, options[i][0], options[i][1]), options[i][0]));
  }
  return SEER_OK;
}

static void xgb_destroy(seer_cost_model *model) {
  if (!model) return;
  if (model->booster) XGBoosterFree(model->booster);
  free(model);
}

static seer_status xgb_create(uint64_t seed, seer_cost_model **out_model) {
  *out_model = NULL;
  seer_cost_model *model = calloc(1, sizeof(*model));
  if (!model) return SEER_FAIL(RESOURCE, "no memory for a cost model");
  model->seed = seed;
  seer_status status = check(XGBoosterCreate(NULL, 0, &model->booster), "create");
  if (!status) status = configure(model);
  if (status) {
    xgb_destroy(model);
    return status;
  }
  *out_model = model;
  return SEER_OK;
}

static seer_status make_matrix(
    const float *rows, size_t n_row, const float *margin, DMatrixHandle *out) {
  SEER_TRY(check(XGDMatrixCreateFromMat(rows, n_row, seer_feature_count, NAN, out), "matrix"));
  if (margin) return check(XGDMatrixSetFloatInfo(*out, "base_margin", margin, n_row), "margin");
  return SEER_OK;
}

// Mean weighted squared error of the pack sums; writes gradients when asked.
static double pack_sum(
    const seer_cost_data *data, const float *prediction, float *grad, float *hess) {
  double loss = 0, total = 0;
  size_t row = 0;
  for (size_t s = 0; s < data->n_sample; s++) {
    double sum = 0;
    for (uint32_t r = 0; r < data->n_rows[s]; r++) sum += (double)prediction[row + r];
    double error = sum - (double)data->label[s], weight = (double)data->weight[s];
    loss += weight * error * error;
    total += weight;
    for (uint32_t r = 0; grad && r < data->n_rows[s]; r++) {
      grad[row + r] = (float)(error * weight);
      hess[row + r] = (float)weight;
    }
    row += data->n_rows[s];
  }
  return total > 0 ? loss / total : 0;
}

static seer_status margin_of(seer_cost_model *model, DMatrixHandle matrix, const float **out) {
  bst_ulong n = 0;
  return check(XGBoosterPredict(model->booster, matrix, 1, 0, 0, &n, out), "predict");
}

// Keeps the first `n_tree` trees. (A slice of none is not allowed.)
static seer_status cut(seer_cost_model *model, uint32_t n_tree) {
  BoosterHandle sliced = NULL;
  if (n_tree == 0) {
    SEER_TRY(check(XGBoosterCreate(NULL, 0, &sliced), "create"));
  } else {
    SEER_TRY(check(XGBoosterSlice(model->booster, 0, (int)n_tree, 1, &sliced), "slice"));
  }
  XGBoosterFree(model->booster);
  model->booster = sliced;
  model->n_tree = n_tree;
  return configure(model);
}

static seer_status grow(seer_cost_model *model, DMatrixHandle train_matrix,
    DMatrixHandle held_matrix, const seer_cost_data *train, const seer_cost_data *held_out,
    uint32_t max_trees, float *grad, double *out_error) {
  float *hess = grad + train->n_row;
  uint32_t start = model->n_tree, best = start;
  const float *prediction = NULL;
  double best_error = INFINITY, error = 0;
  for (uint32_t t = 0;; t++) {
    if (held_matrix) {
      SEER_TRY(margin_of(model, held_matrix, &prediction));
      error = pack_sum(held_out, prediction, NULL, NULL);
    }
    SEER_TRY(margin_of(model, train_matrix, &prediction));
    double train_error = pack_sum(train, prediction, grad, hess);
    if (!held_matrix) error = train_error;
    if (error < best_error) {
      best_error = error;
      best = model->n_tree;
    }
    if (t == max_trees || (held_matrix && model->n_tree >= best + PATIENCE)) break;
    SEER_TRY(check(
        XGBoosterBoostOneIter(model->booster, train_matrix, grad, hess, train->n_row), "boost"));
    model->n_tree++;
  }
  *out_error = best_error;
  if (held_matrix && best < model->n_tree) return cut(model, best);
  return SEER_OK;
}

static seer_status xgb_fit(seer_cost_model *model, const seer_cost_data *train,
    const seer_cost_data *held_out, uint32_t max_trees, double *out_error) {
  *out_error = 0;
  if (train->n_row == 0) return SEER_OK;
  DMatrixHandle train_matrix = NULL, held_matrix = NULL;
  float *grad = malloc(2 * train->n_row * sizeof(float));
  seer_status status =
      grad ? SEER_OK : SEER_FAIL(RESOURCE, "no memory for %zu gradients", train->n_row);
  if (!status) status = make_matrix(train->rows, train->n_row, train->margin, &train_matrix);
  if (!status && held_out->n_row) {
    status = make_matrix(held_out->rows, held_out->n_row, held_out->margin, &held_matrix);
  }
  if (!status)
    status = grow(model, train_matrix, held_matrix, train, held_out, max_trees, grad, out_error);
  if (train_matrix) XGDMatrixFree(train_matrix);
  if (held_matrix) XGDMatrixFree(held_matrix);
  free(grad);
  return status;
}

// In place: a matrix of its own would copy and scan every row for each model that predicts.
static seer_status xgb_predict(
    seer_cost_model *model, const float *rows, size_t n_row, float *out) {
  if (n_row == 0 || model->n_tree == 0) return SEER_OK;
  char array[160];
  (void)snprintf(array, sizeof array,
      "{\"data\": [%" PRIuPTR
      ", true], \"shape\": [%zu, %zu], \"typestr\": \"<f4\", "
      "\"version\": 3}",
      (uintptr_t)rows, n_row, seer_feature_count);
  static const char config[] =
      "{\"type\": 1, \"missing\": NaN, \"iteration_begin\": 0, \"iteration_end\": 0, "
      "\"strict_shape\": false, \"cache_id\": 0}";
  const bst_ulong *shape = NULL;
  bst_ulong rank = 0;
  const float *prediction = NULL;
  SEER_TRY(check(
      XGBoosterPredictFromDense(model->booster, array, config, NULL, &shape, &rank, &prediction),
      "predict"));
  for (size_t i = 0; i < n_row; i++) out[i] += prediction[i];
  return SEER_OK;
}

static seer_status xgb_save(
    const seer_cost_model *model, seer_arena *arena, const void **out_bytes, size_t *out_n_bytes) {
  bst_ulong n = 0;
  const char *bytes = NULL;
  SEER_TRY(check(
      XGBoosterSaveModelToBuffer(model->booster, "{\"format\":\"ubj\"}", &n, &bytes), "save"));
  uint8_t *copy = SEER_NEW_ARRAY(arena, uint8_t, n + sizeof(uint32_t));
  memcpy(copy, &model->n_tree, sizeof(uint32_t));
  memcpy(copy + sizeof(uint32_t), bytes, n);
  *out_bytes = copy;
  *out_n_bytes = n + sizeof(uint32_t);
  return SEER_OK;
}

static seer_status xgb_load(seer_cost_model *model, const void *bytes, size_t n_bytes) {
  if (n_bytes <= sizeof(uint32_t))
    return SEER_FAIL(CORRUPT, "a boosted-tree model of %zu bytes", n_bytes);
  memcpy(&model->n_tree, bytes, sizeof(uint32_t));
  SEER_TRY(check(XGBoosterLoadModelFromBuffer(model->booster,
                     (const uint8_t *)bytes + sizeof(uint32_t), n_bytes - sizeof(uint32_t)),
      "load"));
  return configure(model);
}

const seer_cost_desc seer_cost_xgboost = {"xgboost",
    "gradient-boosted trees (XGBoost), pack-sum objective", false, xgb_create, xgb_destroy, xgb_fit,
    xgb_predict, xgb_save, xgb_load};
