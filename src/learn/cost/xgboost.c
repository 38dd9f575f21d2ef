// xgboost.c - rows -> boosted trees. The prediction of a program is the sum over its rows, and
// a loss is one of these sums: their weighted squared error (the pack-sum objective of Ansor,
// OSDI'20, 5.2), or that of pairs of a task's programs (pairs.h). Every row of a program gets the
// same gradient and hessian, those of its sum. One thread: families are trained side by side, and
// results must not depend on the number of threads.
//
// On a GPU trees are fitted by histograms. Before 2.0 that is tree_method=gpu_hist with gpu_id, and
// from then on device=cuda; fail_on_invalid_gpu_id makes a missing device an error in both, where
// the library would go on without. Rows to be scored stay in the processor's memory, and
// XGBoosterPredictFromDense takes them as they are:
// - Before 2.0 it hands them to the predictor that is set, and gpu_predictor refuses such rows
//   ("Unsupported data type for inplace predict"; dmlc/xgboost issue 6990). So `predictor` is left
//   at auto, which asks the processor's first: scoring happens there, by any number of threads.
// - From 2.0 there is no `predictor`; rows elsewhere than the booster are copied into a DMatrix and
//   scored on the booster's device, with a warning, which verbosity=0 keeps still ("Falling back to
//   prediction using DMatrix due to mismatched devices"; dmlc/xgboost issue 9791). Right, and
//   slower than in place.
// This is from their sources and issues; what is tested here is a library without CUDA.

#include "learn/cost/xgboost.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xgboost/c_api.h>

#include "learn/cost/pairs.h"

struct seer_cost_model {
  BoosterHandle booster;
  bool ranks;  // its loss is that of pairs
  seer_cost_options options;
  uint32_t n_tree;
};

static seer_status check(int rc, const char *what) {
  if (rc == 0) return SEER_OK;
  const char *why = XGBGetLastError();  // the first line; a stack trace follows
  if (strstr(why, "bad_alloc")) return SEER_FAIL(RESOURCE, "no memory for a cost model (%s)", what);
  return SEER_FAIL(INTERNAL, "xgboost: %s: %.*s", what, (int)strcspn(why, "\n"), why);
}

typedef struct {
  const char *name, *value;
} parameter;

static seer_status set_all(BoosterHandle booster, const parameter *all, size_t n) {
  for (size_t i = 0; i < n; i++)
    SEER_TRY(check(XGBoosterSetParam(booster, all[i].name, all[i].value), all[i].name));
  return SEER_OK;
}

static seer_status set_device(BoosterHandle booster, seer_learn_device device) {
  if (device == SEER_LEARN_CPU) return SEER_OK;
  static const parameter before_2[] = {
      {"tree_method", "gpu_hist"}, {"gpu_id", "0"}, {"fail_on_invalid_gpu_id", "1"}};
  static const parameter from_2[] = {
      {"tree_method", "hist"}, {"device", "cuda"}, {"fail_on_invalid_gpu_id", "1"}};
  int major = 0;
  XGBoostVersion(&major, NULL, NULL);
  return major < 2 ? set_all(booster, before_2, SEER_COUNT_OF(before_2))
                   : set_all(booster, from_2, SEER_COUNT_OF(from_2));
}

static seer_status configure(seer_cost_model *model) {
  const seer_tree_settings *t = &model->options.learning->trees;
  const char *start = model->options.has_margin ? "0" : t->base_score;
  char seed[24], columns[24];
  (void)snprintf(columns, sizeof columns, "%zu", model->options.n_column);
  (void)snprintf(seed, sizeof seed, "%u", (unsigned)(model->options.seed & 0x7fffffff));
  const parameter all[] = {{"tree_method", t->tree_method}, {"max_depth", t->max_depth},
      {"eta", t->eta}, {"max_bin", t->max_bin}, {"min_child_weight", t->min_child_weight},
      {"gamma", t->gamma}, {"lambda", t->lambda}, {"nthread", "1"}, {"base_score", start},
      {"verbosity", "0"}, {"disable_default_eval_metric", "1"}, {"num_feature", columns},
      {"subsample", t->row_share}, {"colsample_bytree", t->column_share}, {"seed", seed}};
  SEER_TRY(set_all(model->booster, all, SEER_COUNT_OF(all)));
  return set_device(model->booster, model->options.device);
}

static void xgb_destroy(seer_cost_model *model) {
  if (!model) return;
  if (model->booster) XGBoosterFree(model->booster);
  free(model);
}

// Of OpenMP's runtime, which the library works with: reading a model starts as many threads as
// there are processors, whatever `nthread` says, and where none can be started it ends the program.
extern void omp_set_num_threads(int n);

static void work_alone(void) { omp_set_num_threads(1); }  // of this thread

static seer_status create(
    const seer_cost_options *options, bool ranks, seer_cost_model **out_model) {
  *out_model = NULL;
  seer_cost_model *model = calloc(1, sizeof(*model));
  if (!model) return SEER_FAIL(RESOURCE, "no memory for a cost model");
  model->options = *options;
  model->ranks = ranks;
  work_alone();
  seer_status status = check(XGBoosterCreate(NULL, 0, &model->booster), "create");
  if (!status) status = configure(model);
  if (status) {
    xgb_destroy(model);
    return status;
  }
  *out_model = model;
  return SEER_OK;
}

static seer_status xgb_create(const seer_cost_options *options, seer_cost_model **out_model) {
  return create(options, false, out_model);
}

static seer_status rank_create(const seer_cost_options *options, seer_cost_model **out_model) {
  return create(options, true, out_model);
}

static seer_status make_matrix(
    const seer_cost_model *model, const seer_cost_data *data, DMatrixHandle *out) {
  SEER_TRY(
      check(XGDMatrixCreateFromMat(data->rows, data->n_row, data->n_column, NAN, out), "matrix"));
  if (!model->options.has_margin) return SEER_OK;
  return check(XGDMatrixSetFloatInfo(*out, "base_margin", data->margin, data->n_row), "margin");
}

// ---- losses
// Of the sums of a set of samples.
typedef struct {
  const seer_cost_data *data;
  seer_pairs pairs;  // where the model ranks
  double *sum, *grad, *hess;  // by sample
} scored;

static void scored_free(scored *s) {
  seer_pairs_free(&s->pairs);
  free(s->sum);
}

static seer_status scored_make(const seer_cost_data *data, bool ranks, scored *out) {
  *out = (scored){.data = data, .sum = malloc((3 * data->n_sample + 1) * sizeof(double))};
  if (!out->sum) return SEER_FAIL(RESOURCE, "no memory for %zu samples", data->n_sample);
  out->grad = out->sum + data->n_sample;
  out->hess = out->grad + data->n_sample;
  seer_status status = ranks ? seer_pairs_make(data->task, data->n_sample, &out->pairs) : SEER_OK;
  if (status) scored_free(out);
  return status;
}

static void add_up(scored *s, const float *prediction) {
  size_t row = 0;
  for (size_t i = 0; i < s->data->n_sample; i++) {
    s->sum[i] = 0;
    for (uint32_t r = 0; r < s->data->n_rows[i]; r++) s->sum[i] += (double)prediction[row++];
  }
}

// The weighted mean of squared errors.
static double square_loss(scored *s) {
  double loss = 0, total = 0;
  for (size_t i = 0; i < s->data->n_sample; i++) {
    double error = s->sum[i] - (double)s->data->label[i], weight = (double)s->data->weight[i];
    loss += weight * error * error;
    total += weight;
    s->grad[i] = error * weight;
    s->hess[i] = weight;
  }
  return total > 0 ? loss / total : 0;
}

// Of the sums, and its gradients. seed: which pairs are looked at.
static double loss_of(scored *s, bool ranks, uint64_t seed) {
  if (!ranks) return square_loss(s);
  return seer_pairs_loss(
      &s->pairs, s->data->label, s->data->weight, s->sum, seed, s->grad, s->hess);
}

static void spread(const scored *s, float *grad, float *hess) {
  size_t row = 0;
  for (size_t i = 0; i < s->data->n_sample; i++) {
    for (uint32_t r = 0; r < s->data->n_rows[i]; r++, row++) {
      grad[row] = (float)s->grad[i];
      hess[row] = (float)s->hess[i];
    }
  }
}

// The published p-rmse: the root mean square error of the pack sums by row (each of a sample's rows
// counts it once more), to six decimals, as it passes through a text there: growing would go on for
// what is less than that (on 1,000 samples to 10,000 trees).
static double row_error(const scored *s) {
  double loss = 0;
  size_t n_row = 0;
  for (size_t i = 0; i < s->data->n_sample; i++) {
    double error = s->sum[i] - (double)s->data->label[i];
    loss += s->data->n_rows[i] * error * error;
    n_row += s->data->n_rows[i];
  }
  return n_row > 0 ? round(sqrt(loss / (double)n_row) * 1e6) / 1e6 : 0;
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

// Published settings look at the error after the first tree, the third, the fifth.
static bool is_checked(const seer_tree_settings *settings, uint32_t n_new) {
  return n_new % settings->check_every == settings->check_every - 1;
}

// Of one fit. held.data NULL: nothing is held out.
typedef struct {
  DMatrixHandle train_matrix, held_matrix;
  scored train, held;
  float *grad, *hess;  // by row of `train`
} fitting;

static seer_status look(seer_cost_model *model, DMatrixHandle matrix, scored *s) {
  const float *prediction;
  SEER_TRY(margin_of(model, matrix, &prediction));
  add_up(s, prediction);
  return SEER_OK;
}

static seer_status grow(seer_cost_model *model, fitting *f) {
  const seer_tree_settings *settings = &model->options.learning->trees;
  uint32_t best = model->n_tree;
  bool may_stop = f->held_matrix || settings->stops_on_training;
  double best_error = INFINITY, error = 0;
  for (uint32_t t = 0;; t++) {
    if (f->held_matrix) {
      SEER_TRY(look(model, f->held_matrix, &f->held));
      error = loss_of(&f->held, model->ranks, 0);
    }
    SEER_TRY(look(model, f->train_matrix, &f->train));
    // Other pairs for each tree.
    double train_error = loss_of(&f->train, model->ranks, model->options.seed + model->n_tree + 1);
    spread(&f->train, f->grad, f->hess);
    if (settings->stops_on_training) {
      error = row_error(&f->train);
    } else if (!f->held_matrix) {
      error = train_error;
    }
    bool is_better = is_checked(settings, t) && error < best_error;
    if (is_better) {
      best_error = error;
      best = model->n_tree;
    }
    bool is_stale = is_checked(settings, t) && model->n_tree >= best + settings->patience;
    if (t == settings->max_trees || (may_stop && is_stale)) break;
    SEER_TRY(check(XGBoosterBoostOneIter(
                       model->booster, f->train_matrix, f->grad, f->hess, f->train.data->n_row),
        "boost"));
    model->n_tree++;
  }
  if (f->held_matrix && best < model->n_tree) return cut(model, best);
  return SEER_OK;
}

static seer_status prepare(seer_cost_model *model, const seer_cost_data *train,
    const seer_cost_data *held_out, fitting *f) {
  SEER_TRY(scored_make(train, model->ranks, &f->train));
  f->grad = malloc(2 * train->n_row * sizeof(float));
  if (!f->grad) return SEER_FAIL(RESOURCE, "no memory for %zu gradients", train->n_row);
  f->hess = f->grad + train->n_row;
  SEER_TRY(make_matrix(model, train, &f->train_matrix));
  if (held_out->n_row == 0 || model->options.learning->trees.stops_on_training) return SEER_OK;
  SEER_TRY(scored_make(held_out, model->ranks, &f->held));
  return make_matrix(model, held_out, &f->held_matrix);
}

static seer_status xgb_fit(
    seer_cost_model *model, const seer_cost_data *train, const seer_cost_data *held_out) {
  if (train->n_row == 0) return SEER_OK;
  work_alone();
  fitting f = {0};
  seer_status status = prepare(model, train, held_out, &f);
  if (!status) status = grow(model, &f);
  if (f.train_matrix) XGDMatrixFree(f.train_matrix);
  if (f.held_matrix) XGDMatrixFree(f.held_matrix);
  scored_free(&f.train);
  scored_free(&f.held);
  free(f.grad);
  return status;
}

// In place: a matrix of its own would copy and scan every row for each model that predicts.
static seer_status xgb_predict(
    seer_cost_model *model, const float *rows, size_t n_row, float *out) {
  if (n_row == 0 || model->n_tree == 0) return SEER_OK;
  work_alone();
  char array[160];
  (void)snprintf(array, sizeof array,
      "{\"data\": [%" PRIuPTR
      ", true], \"shape\": [%zu, %zu], \"typestr\": \"<f4\", "
      "\"version\": 3}",
      (uintptr_t)rows, n_row, model->options.n_column);
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

// "USE_CUDA":true among the library's build flags.
static bool has_cuda(void) {
  const char *info = NULL;
  if (XGBuildInfo(&info) != 0) return false;
  const char *flag = strstr(info, "\"USE_CUDA\"");
  if (!flag) return false;
  flag += strlen("\"USE_CUDA\"");
  flag += strspn(flag, " :\n");
  return strncmp(flag, "true", 4) == 0;
}

// Of two rows.
static seer_status try_fit(const seer_cost_options *options) {
  static const float rows[] = {0, 1}, label[] = {0, 1}, weight[] = {1, 1};
  static const uint32_t n_rows[] = {1, 1};
  const seer_cost_data data = {.n_column = 1,
      .rows = rows,
      .n_row = 2,
      .n_rows = n_rows,
      .n_sample = 2,
      .label = label,
      .weight = weight};
  const seer_cost_data nothing = {.n_column = 1};
  seer_cost_model *model;
  SEER_TRY(xgb_create(options, &model));
  float out[2] = {0, 0};
  seer_status status = xgb_fit(model, &data, &nothing);
  if (!status) status = xgb_predict(model, rows, 2, out);
  xgb_destroy(model);
  return status;
}

static seer_status xgb_probe(seer_learn_device device) {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  if (device == SEER_LEARN_CUDA && !has_cuda())
    return SEER_FAIL(UNSUPPORTED,
        "the XGBoost library (%d.%d.%d) was built without CUDA (its USE_CUDA is off): one that "
        "has it is needed, or cpu in place of cuda",
        major, minor, patch);
  seer_cost_options options = {
      .n_column = 1, .learning = &seer_learning_seer, .device = device, .seed = 1};
  seer_status why = try_fit(&options);
  if (!why) return SEER_OK;
  seer_status status = SEER_FAIL(DEVICE, "no CUDA device fits trees (XGBoost %d.%d.%d): %s", major,
      minor, patch, seer_status_message(why));
  seer_status_free(why);
  return status;
}

const seer_cost_desc seer_cost_xgboost = {.name = "xgboost",
    .doc = "gradient-boosted trees (XGBoost), pack-sum objective",
    .probe = xgb_probe,
    .create = xgb_create,
    .destroy = xgb_destroy,
    .fit = xgb_fit,
    .predict = xgb_predict,
    .save = xgb_save,
    .load = xgb_load};

const seer_cost_desc seer_cost_xgboost_rank = {.name = "xgboost-rank",
    .doc = "gradient-boosted trees (XGBoost), fitted to the order of each task's programs",
    .is_log = true,
    .probe = xgb_probe,
    .create = rank_create,
    .destroy = xgb_destroy,
    .fit = xgb_fit,
    .predict = xgb_predict,
    .save = xgb_save,
    .load = xgb_load};
