// bank.c - samples -> labels -> a model for each family.
// Labels are throughput relative to the task's best so far, so they change whenever a task
// improves: they are made anew for each training. Over loaded models some of the samples (every
// tenth of a family, by order of arrival, where the settings say so) are held out; they decide how
// many trees are better than none. Over the estimate alone every sample is needed more than that
// (doc/decisions, 84).

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/bank/internal.h"

#define MAX_LOG_SCORE 30.0F  // beyond that nothing is finite for long

seer_status seer_bank_no_memory(const char *what) {
  return SEER_FAIL(RESOURCE, "no memory for %s", what);
}

void seer_bank_destroy(seer_bank *bank) {
  if (!bank) return;
  const seer_cost_desc *desc = bank->options.model;
  for (uint32_t f = 0; bank->family && f < bank->options.n_family; f++) {
    if (bank->family[f]) desc->destroy(bank->family[f]);
  }
  if (bank->shared) desc->destroy(bank->shared);
  seer_bank_destroy(bank->under);
  if (bank->names) seer_arena_destroy(bank->names);
  free(bank->family_of);
  free(bank->samples);
  free(bank->rows);
  free(bank->best);
  free(bank->slack);
  free(bank->n_of_family);
  free(bank->n_added_of_family);
  free(bank->n_at_fit);
  free(bank->family);
  free(bank->warm_up_of);
  free(bank);
}

static void copy_names(seer_bank *bank) {
  bank->names = seer_arena_create("families");
  const char **name = SEER_NEW_ARRAY(bank->names, const char *, bank->options.n_family + 1);
  for (uint32_t f = 0; f < bank->options.n_family; f++)
    name[f] = bank->options.family_name
        ? seer_arena_strdup(bank->names, bank->options.family_name[f])
        : seer_arena_printf(bank->names, "family %u", f);
  bank->options.family_name = name;
}

size_t seer_bank_n_column(const seer_bank *bank) { return bank->options.features->n_column; }

const seer_feature_set *seer_bank_features(const seer_bank *bank) { return bank->options.features; }

seer_status seer_bank_create(const seer_bank_options *options, seer_bank **out_bank) {
  *out_bank = NULL;
  seer_bank *bank = calloc(1, sizeof(*bank));
  if (!bank) return seer_bank_no_memory("the cost models");
  bank->options = *options;
  if (!options->features) bank->options.features = seer_feature_set_table[0];
  if (!options->learning) bank->options.learning = seer_learning_table[0];
  bank->family_of = calloc(options->n_task + 1, sizeof(uint32_t));
  bank->best = calloc(options->n_task + 1, sizeof(double));
  bank->slack = calloc(options->n_task + 1, sizeof(double));
  bank->n_of_family = calloc(options->n_family + 1, sizeof(size_t));
  bank->n_added_of_family = calloc(options->n_family + 1, sizeof(size_t));
  bank->n_at_fit = calloc(options->n_family + 1, sizeof(size_t));
  bank->family = calloc(options->n_family + 1, sizeof(seer_cost_model *));
  bank->warm_up_of = calloc(options->n_family + 1, sizeof(uint32_t));
  bool has_memory = bank->family_of && bank->best && bank->slack && bank->n_of_family &&
      bank->n_added_of_family && bank->n_at_fit && bank->family && bank->warm_up_of;
  seer_status status = has_memory ? seer_cost_probe(options->model, options->device)
                                  : seer_bank_no_memory("the cost models");
  if (status) {
    seer_bank_destroy(bank);
    return status;
  }
  memcpy(bank->family_of, options->family_of, options->n_task * sizeof(uint32_t));
  bank->options.family_of = bank->family_of;
  for (uint32_t f = 0; f < options->n_family; f++)
    bank->warm_up_of[f] = options->warm_up_of ? options->warm_up_of[f]
        : options->warm_up                    ? options->warm_up - 1
                                              : 0;
  bank->options.warm_up_of = NULL;  // the caller's
  copy_names(bank);
  *out_bank = bank;
  return SEER_OK;
}

// ---- fitting
static seer_bank_part choose_family(
    const seer_bank *bank, uint32_t family, const seer_bank_kept *sample) {
  bool is_its_own = bank->family_of[sample->task] == family;
  if (!is_its_own && sample->nth >= bank->n_shared) return SEER_BANK_LEFT_OUT;
  uint32_t hold_out = bank->under ? bank->options.learning->hold_out : 0;
  bool is_held = hold_out > 0 && sample->nth_of_family % hold_out == hold_out - 1;
  return is_held ? SEER_BANK_HELD : SEER_BANK_TRAIN;
}

// The shared model's: all.
static seer_bank_part choose_any(
    const seer_bank *bank, uint32_t arg, const seer_bank_kept *sample) {
  (void)bank, (void)arg, (void)sample;
  return SEER_BANK_TRAIN;
}

seer_status seer_bank_renew(const seer_bank *bank, seer_cost_model **model, uint32_t stream) {
  if (*model) bank->options.model->destroy(*model);
  *model = NULL;
  seer_cost_options options = {.n_column = seer_bank_n_column(bank),
      .learning = bank->options.learning,
      .device = bank->options.device,
      .has_margin = bank->options.is_over_estimate || bank->under,
      .seed = bank->options.seed + stream};
  return bank->options.model->create(&options, model);
}

// The model of `stream`, anew, of the samples that `choose` chooses.
static seer_status fit(seer_bank *bank, seer_cost_model **model, uint32_t stream,
    seer_bank_choice choose, uint32_t arg) {
  bank->generation++;
  if (bank->options.is_over_estimate) SEER_TRY(seer_bank_find_slacks(bank));
  seer_bank_set train = {0}, held = {0};
  seer_status status = seer_bank_make_sets(bank, choose, arg, &train, &held);
  if (!status) status = seer_bank_renew(bank, model, stream);
  if (!status) {
    seer_cost_data t = seer_bank_set_data(&train), h = seer_bank_set_data(&held);
    status = bank->options.model->fit(*model, &t, &h);
  }
  seer_bank_set_free(&train);
  seer_bank_set_free(&held);
  return status;
}

void seer_bank_split(seer_bank *bank) {
  if (!bank->options.shares_first || bank->is_split) return;
  bank->is_split = true;
  bank->n_shared = bank->n_added;
}

// Enough samples for a first model, and then so many times as many as the last one was fitted to.
static bool is_due(const seer_bank *bank, uint32_t family) {
  size_t n = bank->n_of_family[family], n_before = bank->n_at_fit[family];
  double growth = bank->options.learning->growth;
  if (growth <= 1) return n > 0;
  return n_before > 0 ? (double)n >= growth * (double)n_before : n > bank->warm_up_of[family];
}

seer_status seer_bank_train(seer_bank *bank, uint32_t family) {
  SEER_ASSERT(family < bank->options.n_family, "family %u, n %u", family, bank->options.n_family);
  if (bank->n_sample == 0 || bank->options.model->is_estimate) return SEER_OK;
  if (bank->options.shares_first && !bank->is_split)
    return fit(bank, &bank->shared, bank->options.n_family, choose_any, 0);
  if (!is_due(bank, family)) return SEER_OK;
  bank->n_at_fit[family] = bank->n_of_family[family];
  return fit(bank, &bank->family[family], family, choose_family, family);
}

seer_cost_model *seer_bank_model_of(const seer_bank *bank, uint32_t family) {
  return bank->family[family] ? bank->family[family] : bank->shared;
}

// Has models for a family's tasks, or stands on some.
static bool says_something(const seer_bank *bank, uint32_t family) {
  return seer_bank_model_of(bank, family) || (bank->under && says_something(bank->under, family));
}

bool seer_bank_is_trained(const seer_bank *bank, uint32_t task) {
  uint32_t family = bank->family_of[task];
  if (bank->options.model->is_estimate) return true;
  if (bank->under && says_something(bank->under, family)) return true;
  if (!seer_bank_model_of(bank, family)) return false;
  if (!bank->options.shares_first) return bank->n_of_family[family] > bank->warm_up_of[family];
  size_t need = 0;
  for (uint32_t f = 0; f < bank->options.n_family; f++) need += bank->warm_up_of[f];
  return bank->n_sample > need;
}

bool seer_bank_is_continued(const seer_bank *bank, uint32_t family) {
  SEER_ASSERT(family < bank->options.n_family, "family %u, n %u", family, bank->options.n_family);
  const seer_bank *under = bank->under;
  return under && (under->family[family] || seer_bank_is_continued(under, family));
}

// The estimate that stands for a relative throughput of 1: the best time's, or, before anything of
// the task was measured, the least of the candidates'. 0: estimates are not used.
static double reference_estimate(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *c) {
  if (!bank->options.is_over_estimate || !c->estimates_s) return 0;
  if (bank->slack[task] > 0) return bank->best[task] / bank->slack[task];
  double least = INFINITY;
  for (size_t i = 0; i < c->n; i++) least = fmin(least, c->estimates_s[i]);
  return c->n ? least : 0;
}

// Throughput relative to the candidate that the estimate likes best.
static seer_status score_by_estimate(const seer_bank_candidates *c, float *scores) {
  if (!c->estimates_s && c->n > 0)
    return SEER_FAIL(INTERNAL, "%zu candidates without estimates", c->n);
  double least = INFINITY;
  for (size_t i = 0; i < c->n; i++) least = fmin(least, c->estimates_s[i]);
  for (size_t i = 0; i < c->n; i++) scores[i] = (float)(least / c->estimates_s[i]);
  return SEER_OK;
}

seer_status seer_bank_rate(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *c, float *out) {
  size_t n_row = 0, row = 0;
  for (size_t i = 0; i < c->n; i++) {
    out[i] = 0;
    n_row += c->n_rows[i];
  }
  if (bank->options.model->is_estimate) return SEER_OK;
  if (bank->under) SEER_TRY(seer_bank_rate(bank->under, task, c, out));
  seer_cost_model *model = seer_bank_model_of(bank, bank->family_of[task]);
  if (!model) return SEER_OK;
  float *by_row = calloc(n_row + 1, sizeof(float));
  if (!by_row) return seer_bank_no_memory("predictions");
  seer_status status = bank->options.model->predict(model, c->rows, n_row, by_row);
  for (size_t i = 0; !status && i < c->n; i++) {
    for (uint32_t r = 0; r < c->n_rows[i]; r++) out[i] += by_row[row++];
  }
  free(by_row);
  return status;
}

seer_status seer_bank_score(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *c, float *scores) {
  if (bank->options.model->is_estimate) return score_by_estimate(c, scores);
  double reference = reference_estimate(bank, task, c);
  for (size_t i = 0; reference > 0 && i < c->n; i++)
    scores[i] += seer_bank_prior(bank, reference, c->estimates_s[i]);
  for (size_t i = 0; bank->options.model->is_log && i < c->n; i++)
    scores[i] = expf(fminf(scores[i], MAX_LOG_SCORE));
  return SEER_OK;
}

uint64_t seer_bank_generation(const seer_bank *bank) { return bank->generation; }
