// bank.c - samples -> labels -> a base over all families and a residual per family.
// The base is two models, each fitted on every other sample: a sample's margin comes from the one
// that has not seen it. (A base that had seen it would have learnt its label by heart, and the
// residual would find nothing left to learn: on two families of 200 made-up samples whose taste
// differs in one column, 0.79 and 0.70 of all pairs came out in the right order; crossed, as here,
// 0.85 and 0.84: test_bank.c.) A new candidate's margin is the mean of the two. Labels are
// throughput relative to the task's best so far, so they change whenever a task improves: they are
// made anew for each training. Some of the samples (every tenth of a family, by order of arrival,
// where the settings say so) are held out; they decide the number of trees and whether a residual
// helps at all.

#include "learn/bank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"

#define REFIT_GROWTH 1.25  // the base is fitted anew when the data grew by a quarter
#define FAMILY_GROWTH 1.1  // a residual is continued when its family has a tenth more samples
#define GOOD 2.0  // times the best: samples that say how estimates relate to times
#define MAX_PRIOR 1.5F  // relative throughput that an estimate alone may promise
#define MAX_LOG_SCORE 30.0F  // beyond that nothing is finite for long
// Files with the first set of features are as they were before there were others.
#define BANK_MAGIC "seerbnk2"
#define BANK_MAGIC_SET "seerbnk3"

typedef struct {
  uint32_t task, n_row;
  size_t first_row;
  double seconds, estimate_s;
  bool is_raced_out;
} sample;

// A model as a file has it.
typedef struct {
  void *bytes;  // NULL: none
  size_t n_bytes;
} stored;

struct seer_bank {
  seer_bank_options options;
  seer_arena *names;
  uint32_t *family_of;
  size_t n_sample, cap_sample, n_row, cap_row;
  sample *samples;
  float *rows;
  double *best;  // seconds, by task; 0: none
  double *pace;  // by task: what good schedules take, relative to their estimates; 0: unknown
  size_t *n_of_family;  // samples
  seer_cost_model *base[2];
  seer_cost_model **family;  // residual (or the whole model without a base); NULL: none yet
  seer_cost_model *shared;  // of all families until they split; NULL: none yet
  bool is_split;
  size_t n_shared;  // samples before they did, which come first
  uint32_t *warm_up_of;  // by family: more samples than that are needed
  stored loaded_base[2], *loaded_family;  // what models begin with; none: with nothing
  bool *is_useless;  // the residual did not help on the held-out tenth
  size_t n_at_base;
  size_t *n_at_family;  // samples of a family when its residual was last fitted
  uint64_t generation;
};

static seer_status no_memory(const char *what) {
  return SEER_FAIL(RESOURCE, "no memory for %s", what);
}

void seer_bank_destroy(seer_bank *bank) {
  if (!bank) return;
  const seer_cost_desc *desc = bank->options.model;
  for (uint32_t f = 0; bank->family && f < bank->options.n_family; f++) {
    if (bank->family[f]) desc->destroy(bank->family[f]);
  }
  for (int h = 0; h < 2; h++) {
    if (bank->base[h]) desc->destroy(bank->base[h]);
  }
  if (bank->shared) desc->destroy(bank->shared);
  for (uint32_t f = 0; bank->loaded_family && f < bank->options.n_family; f++)
    free(bank->loaded_family[f].bytes);
  for (int h = 0; h < 2; h++) free(bank->loaded_base[h].bytes);
  free(bank->loaded_family);
  if (bank->names) seer_arena_destroy(bank->names);
  free(bank->family_of);
  free(bank->samples);
  free(bank->rows);
  free(bank->best);
  free(bank->pace);
  free(bank->n_of_family);
  free(bank->n_at_family);
  free(bank->family);
  free(bank->is_useless);
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

static size_t n_column(const seer_bank *bank) { return bank->options.features->n_column; }

const seer_feature_set *seer_bank_features(const seer_bank *bank) { return bank->options.features; }

static seer_status check_options(const seer_bank_options *options) {
  const char *start = options->learning->trees.base_score;
  if (options->has_base && strcmp(start, "0") != 0)
    return SEER_FAIL(INVALID,
        "learning %s: rows begin with %s, must begin with 0 where a base is under the families",
        options->learning->name, start);
  return seer_cost_probe(options->model, options->device);
}

seer_status seer_bank_create(const seer_bank_options *options, seer_bank **out_bank) {
  *out_bank = NULL;
  seer_bank *bank = calloc(1, sizeof(*bank));
  if (!bank) return no_memory("the cost models");
  bank->options = *options;
  if (!options->features) bank->options.features = seer_feature_set_table[0];
  if (!options->learning) bank->options.learning = seer_learning_table[0];
  bank->family_of = calloc(options->n_task + 1, sizeof(uint32_t));
  bank->best = calloc(options->n_task + 1, sizeof(double));
  bank->pace = calloc(options->n_task + 1, sizeof(double));
  bank->n_of_family = calloc(options->n_family + 1, sizeof(size_t));
  bank->n_at_family = calloc(options->n_family + 1, sizeof(size_t));
  bank->family = calloc(options->n_family + 1, sizeof(seer_cost_model *));
  bank->is_useless = calloc(options->n_family + 1, sizeof(bool));
  bank->loaded_family = calloc(options->n_family + 1, sizeof(stored));
  bank->warm_up_of = calloc(options->n_family + 1, sizeof(uint32_t));
  bool has_memory = bank->family_of && bank->best && bank->pace && bank->n_of_family &&
      bank->n_at_family && bank->family && bank->is_useless && bank->loaded_family &&
      bank->warm_up_of;
  seer_status status = has_memory ? check_options(&bank->options) : no_memory("the cost models");
  if (status) {
    seer_bank_destroy(bank);
    return status;
  }
  memcpy(bank->family_of, options->family_of, options->n_task * sizeof(uint32_t));
  bank->options.family_of = bank->family_of;
  SEER_ASSERT(!(options->has_base && options->shares_first), "a base is shared for good");
  for (uint32_t f = 0; f < options->n_family; f++)
    bank->warm_up_of[f] = options->warm_up_of ? options->warm_up_of[f]
        : options->warm_up                    ? options->warm_up - 1
                                              : 0;
  bank->options.warm_up_of = NULL;  // the caller's
  copy_names(bank);
  *out_bank = bank;
  return SEER_OK;
}

static bool reserve(void **items, size_t item_bytes, size_t need, size_t *cap) {
  if (need <= *cap) return true;
  size_t new_cap = *cap ? *cap * 2 : 256;
  while (new_cap < need) new_cap *= 2;
  void *grown = realloc(*items, new_cap * item_bytes);
  if (!grown) return false;
  *items = grown;
  *cap = new_cap;
  return true;
}

// ---- forgetting
// A quarter of the samples: of the older half what failed or was raced out, then every other one.
static bool is_forgotten(const seer_bank *bank, size_t i, size_t n_left, size_t *n_passed) {
  if (i >= bank->n_sample / 2 || n_left == 0) return false;
  const sample *s = &bank->samples[i];
  return s->is_raced_out || s->seconds <= 0 || (*n_passed)++ % 2 == 1;
}

static size_t scaled(size_t value, size_t now, size_t before) {
  return before ? (size_t)((double)value * (double)now / (double)before) : 0;
}

// Counts at the last fits shrink with what they counted, so that the next ones are as due as
// before.
static void forget(seer_bank *bank) {
  size_t n = 0, n_row = 0, n_before = bank->n_sample, n_left = n_before / 4, n_passed = 0;
  size_t row_bytes = n_column(bank) * sizeof(float);
  size_t *lost = calloc(bank->options.n_family + 1, sizeof(size_t)), n_shared = 0;
  if (!lost) return;  // tried again with the next sample
  for (size_t i = 0; i < n_before; i++) {
    sample s = bank->samples[i];
    if (is_forgotten(bank, i, n_left, &n_passed)) {
      n_left--;
      lost[bank->family_of[s.task]]++;
      continue;
    }
    memmove(bank->rows + n_row * n_column(bank), bank->rows + s.first_row * n_column(bank),
        s.n_row * row_bytes);
    s.first_row = n_row;
    n_row += s.n_row;
    n_shared += i < bank->n_shared;
    bank->samples[n++] = s;
  }
  bank->n_shared = n_shared;
  for (uint32_t f = 0; f < bank->options.n_family; f++) {
    size_t now = bank->n_of_family[f] - lost[f];
    bank->n_at_family[f] = scaled(bank->n_at_family[f], now, bank->n_of_family[f]);
    bank->n_of_family[f] = now;
  }
  bank->n_at_base = scaled(bank->n_at_base, n, n_before);
  bank->n_sample = n;
  bank->n_row = n_row;
  free(lost);
}

seer_status seer_bank_add(seer_bank *bank, const seer_sample *samples, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const seer_sample *in = &samples[i];
    SEER_ASSERT(in->task < bank->options.n_task, "task %u, n %u", in->task, bank->options.n_task);
    if (in->n_row == 0) continue;
    uint32_t most = bank->options.learning->max_samples;
    if (most > 0 && bank->n_sample >= most) forget(bank);
    void *rows = bank->rows, *list = bank->samples;
    bool is_ok =
        reserve(&rows, n_column(bank) * sizeof(float), bank->n_row + in->n_row, &bank->cap_row);
    bank->rows = rows;
    is_ok = reserve(&list, sizeof(sample), bank->n_sample + 1, &bank->cap_sample) && is_ok;
    bank->samples = list;
    if (!is_ok) return no_memory("a sample");
    memcpy(bank->rows + bank->n_row * n_column(bank), in->rows,
        in->n_row * n_column(bank) * sizeof(float));
    bank->samples[bank->n_sample++] =
        (sample){in->task, in->n_row, bank->n_row, in->seconds, in->estimate_s, in->is_raced_out};
    bank->n_row += in->n_row;
    bank->n_of_family[bank->family_of[in->task]]++;
    double *best = &bank->best[in->task];
    if (in->seconds > 0 && (*best <= 0 || in->seconds < *best)) *best = in->seconds;
  }
  return SEER_OK;
}

// ---- training sets
typedef struct {
  float *rows, *label, *weight, *margin;
  uint32_t *n_rows, *task;
  uint8_t *half;  // by sample: which base has seen it
  size_t n_column, n_row, n_sample;
} set;

static void set_free(set *s) {
  free(s->rows);
  free(s->label);
  free(s->weight);
  free(s->margin);
  free(s->n_rows);
  free(s->task);
  free(s->half);
}

static bool set_alloc(set *s, size_t columns, size_t n_row, size_t n_sample) {
  *s = (set){.n_column = columns};
  s->rows = malloc((n_row + 1) * columns * sizeof(float));
  s->label = malloc((n_sample + 1) * sizeof(float));
  s->weight = malloc((n_sample + 1) * sizeof(float));
  s->margin = calloc(n_row + 1, sizeof(float));
  s->n_rows = malloc((n_sample + 1) * sizeof(uint32_t));
  s->task = malloc((n_sample + 1) * sizeof(uint32_t));
  s->half = malloc(n_sample + 1);
  return s->rows && s->label && s->weight && s->margin && s->n_rows && s->task && s->half;
}

// ---- the estimate underneath
// Pace: the median of time to estimate over the task's good half of samples.
static seer_status find_pace(seer_bank *bank, uint32_t task) {
  double *ratio = malloc((bank->n_sample + 1) * sizeof(double));
  if (!ratio) return no_memory("estimates");
  size_t n = 0;
  for (size_t i = 0; i < bank->n_sample; i++) {
    const sample *in = &bank->samples[i];
    if (in->task == task && in->seconds > 0 && in->estimate_s > 0 &&
        in->seconds <= GOOD * bank->best[task])
      ratio[n++] = in->seconds / in->estimate_s;
  }
  bank->pace[task] = n ? seer_median(ratio, n) : 0;
  free(ratio);
  return SEER_OK;
}

// Relative throughput as the estimate sees it, or its logarithm, as the models have it. (That has
// no upper end: all of a task's may be above it, and still differ.)
static float prior(const seer_bank *bank, double reference_s, double estimate_s) {
  if (estimate_s <= 0) return 0;
  if (bank->options.model->is_log) return (float)log(reference_s / estimate_s);
  return fminf(MAX_PRIOR, (float)(reference_s / estimate_s));
}

static void set_put(set *s, const seer_bank *bank, size_t index) {
  const sample *in = &bank->samples[index];
  double pace = bank->pace[in->task];
  if (pace > 0) s->margin[s->n_row] = prior(bank, bank->best[in->task] / pace, in->estimate_s);
  const seer_learning *how = bank->options.learning;
  bool has_failed = in->seconds <= 0 || bank->best[in->task] <= 0;
  float label = has_failed ? 0 : (float)(bank->best[in->task] / in->seconds);
  if (bank->best[in->task] <= 0 && how->all_failed_is_best) label = 1;
  s->label[s->n_sample] = label;
  float weight = fmaxf(label, how->least_weight);
  s->weight[s->n_sample] = in->is_raced_out ? fminf(weight, how->raced_weight) : weight;
  s->half[s->n_sample] = index % 2;
  s->task[s->n_sample] = in->task;
  s->n_rows[s->n_sample++] = in->n_row;
  memcpy(s->rows + s->n_row * n_column(bank), bank->rows + in->first_row * n_column(bank),
      in->n_row * n_column(bank) * sizeof(float));
  s->n_row += in->n_row;
}

typedef enum { IN_NONE, IN_TRAIN, IN_HELD } part;

// Splits the samples: `choose` says where each one goes.
static bool make_sets(const seer_bank *bank,
    part (*choose)(const seer_bank *, uint32_t, size_t, size_t), uint32_t arg, set *train,
    set *held) {
  size_t n_row[IN_HELD + 1] = {0}, n_sample[IN_HELD + 1] = {0}, nth = 0;
  for (size_t i = 0; i < bank->n_sample; i++) {
    part where = choose(bank, arg, i, nth);
    n_row[where] += bank->samples[i].n_row;
    n_sample[where]++;
    nth += where != IN_NONE;
  }
  if (!set_alloc(train, n_column(bank), n_row[IN_TRAIN], n_sample[IN_TRAIN]) ||
      !set_alloc(held, n_column(bank), n_row[IN_HELD], n_sample[IN_HELD]))
    return false;
  nth = 0;
  for (size_t i = 0; i < bank->n_sample; i++) {
    part where = choose(bank, arg, i, nth);
    if (where == IN_NONE) continue;
    nth++;
    set_put(where == IN_HELD ? held : train, bank, i);
  }
  return true;
}

// Base `half`: every other sample; some of the others decide the number of trees.
static part choose_half(const seer_bank *bank, uint32_t half, size_t index, size_t nth) {
  (void)nth;
  uint32_t hold_out = bank->options.learning->hold_out;
  if (index % 2 == half) return IN_TRAIN;
  return hold_out > 0 && index % hold_out < 2 ? IN_HELD : IN_NONE;
}

static part choose_family(const seer_bank *bank, uint32_t family, size_t index, size_t nth) {
  bool is_its_own = bank->family_of[bank->samples[index].task] == family;
  if (!is_its_own && index >= bank->n_shared) return IN_NONE;
  uint32_t hold_out = bank->options.has_base ? bank->options.learning->hold_out : 0;
  return hold_out > 0 && nth % hold_out == hold_out - 1 ? IN_HELD : IN_TRAIN;
}

// The shared model's: all.
static part choose_any(const seer_bank *bank, uint32_t arg, size_t index, size_t nth) {
  (void)bank, (void)arg, (void)index, (void)nth;
  return IN_TRAIN;
}

static seer_cost_data data_of(const set *s, bool has_margin) {
  return (seer_cost_data){.n_column = s->n_column,
      .rows = s->rows,
      .n_row = s->n_row,
      .n_rows = s->n_rows,
      .n_sample = s->n_sample,
      .label = s->label,
      .weight = s->weight,
      .task = s->task,
      .margin = has_margin ? s->margin : NULL};
}

// Stream 0 and 1: the two bases; then the families; then what they share at first.
static const stored *loaded_of(const seer_bank *bank, uint32_t stream) {
  return stream < 2 ? &bank->loaded_base[stream] : &bank->loaded_family[stream - 2];
}

// A model to be fitted: it begins with what was loaded.
static seer_status renew(seer_bank *bank, seer_cost_model **model, uint32_t stream) {
  if (*model) bank->options.model->destroy(*model);
  *model = NULL;
  seer_cost_options options = {
      n_column(bank), bank->options.learning, bank->options.device, bank->options.seed + stream};
  SEER_TRY(bank->options.model->create(&options, model));
  const stored *loaded = loaded_of(bank, stream);
  return loaded->bytes ? bank->options.model->load(*model, loaded->bytes, loaded->n_bytes)
                       : SEER_OK;
}

static seer_status fit_base(seer_bank *bank, uint32_t half) {
  set train = {0}, held = {0};
  seer_status status =
      make_sets(bank, choose_half, half, &train, &held) ? SEER_OK : no_memory("a training set");
  if (!status) status = renew(bank, &bank->base[half], half);
  if (!status) {
    seer_cost_data t = data_of(&train, true), h = data_of(&held, true);
    double error;
    status = bank->options.model->fit(
        bank->base[half], &t, &h, bank->options.learning->trees.max_trees, &error);
  }
  set_free(&train);
  set_free(&held);
  bank->n_at_base = bank->n_sample;
  return status;
}

// Adds to the margins what the base says that has not seen the sample.
static seer_status fill_margins(seer_bank *bank, set *s) {
  float *by_base[2] = {calloc(s->n_row + 1, sizeof(float)), calloc(s->n_row + 1, sizeof(float))};
  seer_status status = by_base[0] && by_base[1] ? SEER_OK : no_memory("margins");
  for (int h = 0; h < 2 && !status; h++) {
    status = bank->options.model->predict(bank->base[h], s->rows, s->n_row, by_base[h]);
  }
  size_t row = 0;
  for (size_t i = 0; i < s->n_sample && !status; i++) {
    for (uint32_t r = 0; r < s->n_rows[i]; r++, row++)
      s->margin[row] += by_base[1 - s->half[i]][row];
  }
  free(by_base[0]);
  free(by_base[1]);
  return status;
}

static seer_status fit_family(seer_bank *bank, uint32_t family, bool is_anew) {
  bank->n_at_family[family] = bank->n_of_family[family];
  bool has_base = bank->options.has_base;
  set train = {0}, held = {0};
  seer_status status =
      make_sets(bank, choose_family, family, &train, &held) ? SEER_OK : no_memory("a training set");
  if (!status && has_base) status = fill_margins(bank, &train);
  if (!status && has_base) status = fill_margins(bank, &held);
  if (!status && (is_anew || !bank->family[family]))
    status = renew(bank, &bank->family[family], family + 2);
  if (!status) {
    seer_cost_data t = data_of(&train, has_base), h = data_of(&held, has_base);
    double error = 0;
    const seer_learning *how = bank->options.learning;
    status = bank->options.model->fit(
        bank->family[family], &t, &h, is_anew ? how->trees.max_trees : how->continue_trees, &error);
    // What was loaded stays: trees that do not help it are cut off when they are fitted.
    bool is_judged = has_base && !bank->loaded_family[family].bytes && h.n_sample > 0;
    double without = INFINITY;
    if (!status && is_judged) status = bank->options.model->margin_error(&h, &without);
    bank->is_useless[family] = is_judged && error >= without;
  }
  set_free(&train);
  set_free(&held);
  return status;
}

static seer_status fit_shared(seer_bank *bank) {
  set train = {0}, held = {0};
  seer_status status =
      make_sets(bank, choose_any, 0, &train, &held) ? SEER_OK : no_memory("a training set");
  if (!status) status = renew(bank, &bank->shared, bank->options.n_family + 2);
  if (!status) {
    seer_cost_data t = data_of(&train, false), h = data_of(&held, false);
    double error;
    status = bank->options.model->fit(
        bank->shared, &t, &h, bank->options.learning->trees.max_trees, &error);
  }
  set_free(&train);
  set_free(&held);
  return status;
}

void seer_bank_split(seer_bank *bank) {
  if (!bank->options.shares_first || bank->is_split) return;
  bank->is_split = true;
  bank->n_shared = bank->n_sample;
}

static seer_status find_paces(seer_bank *bank) {
  for (uint32_t t = 0; t < bank->options.n_task; t++) SEER_TRY(find_pace(bank, t));
  return SEER_OK;
}

static seer_status fit_bases(seer_bank *bank) {
  for (uint32_t half = 0; half < 2; half++) SEER_TRY(fit_base(bank, half));
  return SEER_OK;
}

seer_status seer_bank_train_base(seer_bank *bank) {
  SEER_ASSERT(bank->options.has_base, "there is none");
  if (bank->n_sample == 0 || bank->options.model->is_estimate) return SEER_OK;
  bank->generation++;
  SEER_TRY(find_paces(bank));
  return fit_bases(bank);
}

seer_status seer_bank_train(seer_bank *bank, uint32_t family) {
  SEER_ASSERT(family < bank->options.n_family, "family %u, n %u", family, bank->options.n_family);
  if (bank->n_sample == 0 || bank->options.model->is_estimate) return SEER_OK;
  if (!bank->options.has_base) bank->generation++;
  if (bank->options.shares_first && !bank->is_split) return fit_shared(bank);
  if (!bank->options.has_base)
    return bank->n_of_family[family] ? fit_family(bank, family, true) : SEER_OK;
  bool is_due = !bank->base[1] || (double)bank->n_sample >= REFIT_GROWTH * (double)bank->n_at_base;
  bool has_news =
      (double)bank->n_of_family[family] >= FAMILY_GROWTH * (double)bank->n_at_family[family];
  if (!is_due && !has_news) return SEER_OK;
  bank->generation++;
  SEER_TRY(find_paces(bank));
  if (!is_due) return bank->n_of_family[family] ? fit_family(bank, family, false) : SEER_OK;
  SEER_TRY(fit_bases(bank));
  for (uint32_t f = 0; f < bank->options.n_family; f++) {
    if (bank->n_of_family[f]) SEER_TRY(fit_family(bank, f, true));
  }
  return SEER_OK;
}

// What ranks a family's tasks, but for the base; NULL: nothing yet.
static seer_cost_model *model_of(const seer_bank *bank, uint32_t family) {
  return bank->family[family] ? bank->family[family] : bank->shared;
}

bool seer_bank_is_trained(const seer_bank *bank, uint32_t task) {
  uint32_t family = bank->family_of[task];
  if (bank->options.model->is_estimate) return true;
  if (bank->options.has_base) return bank->base[1] && bank->n_at_base >= bank->options.warm_up;
  if (!model_of(bank, family)) return false;
  if (bank->loaded_family[family].bytes) return true;
  if (!bank->options.shares_first) return bank->n_of_family[family] > bank->warm_up_of[family];
  size_t need = 0;
  for (uint32_t f = 0; f < bank->options.n_family; f++) need += bank->warm_up_of[f];
  return bank->n_sample > need;
}

bool seer_bank_is_continued(const seer_bank *bank, uint32_t family) {
  SEER_ASSERT(family < bank->options.n_family, "family %u, n %u", family, bank->options.n_family);
  return bank->loaded_family[family].bytes != NULL;
}

// The estimate that stands for a relative throughput of 1: the best time's, or, before anything of
// the task was measured, the least of the candidates'. 0: estimates are not used.
static double reference_estimate(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *c) {
  if (!bank->options.has_base || !c->estimates_s) return 0;
  if (bank->pace[task] > 0) return bank->best[task] / bank->pace[task];
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
  float *by_row = calloc(n_row + 1, sizeof(float));
  if (!by_row) return no_memory("predictions");
  uint32_t family = bank->family_of[task];
  seer_status status = SEER_OK;
  if (bank->base[1]) {
    for (int h = 0; h < 2 && !status; h++)
      status = bank->options.model->predict(bank->base[h], c->rows, n_row, by_row);
    for (size_t i = 0; i < n_row; i++) by_row[i] *= 0.5F;
  }
  seer_cost_model *model = model_of(bank, family);
  if (!status && model && !bank->is_useless[family])
    status = bank->options.model->predict(model, c->rows, n_row, by_row);
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
    scores[i] += prior(bank, reference, c->estimates_s[i]);
  for (size_t i = 0; bank->options.model->is_log && i < c->n; i++)
    scores[i] = expf(fminf(scores[i], MAX_LOG_SCORE));
  return SEER_OK;
}

uint64_t seer_bank_generation(const seer_bank *bank) { return bank->generation; }

// ---- file: magic, feature version, columns, families, kind of model; with BANK_MAGIC_SET the name
// of the set of features (length, bytes), else it is the first; then the two bases and the
// residuals, each as name (length, bytes) and model (length, bytes; length 0: none).
#define MAX_MODEL_NAME 16

typedef struct {
  char magic[8];
  uint32_t feature_version, n_column, n_family, has_base;
  char model[MAX_MODEL_NAME];
} bank_header;

static void put_bytes(seer_text *out, const void *bytes, uint64_t n_bytes) {
  seer_text_put_n(out, (const char *)&n_bytes, sizeof n_bytes);
  if (n_bytes) seer_text_put_n(out, bytes, n_bytes);
}

static bool has_first_set(const seer_bank *bank) {
  return bank->options.features == seer_feature_set_table[0];
}

static bank_header header_of(const seer_bank *bank) {
  bank_header header = {BANK_MAGIC, bank->options.features->version, (uint32_t)n_column(bank),
      bank->options.n_family, bank->options.has_base, ""};
  if (!has_first_set(bank)) memcpy(header.magic, BANK_MAGIC_SET, sizeof header.magic);
  size_t n = strlen(bank->options.model->name);
  SEER_ASSERT(n < sizeof header.model, "cost model %s", bank->options.model->name);
  memcpy(header.model, bank->options.model->name, n);
  return header;
}

static seer_status save_into(const seer_bank *bank, seer_arena *arena, seer_text *out) {
  bank_header header = header_of(bank);
  seer_text_put_n(out, (const char *)&header, sizeof header);
  const char *features = bank->options.features->name;
  if (!has_first_set(bank)) put_bytes(out, features, strlen(features));
  for (uint32_t f = 0; f < bank->options.n_family + 2; f++) {
    seer_cost_model *model = f < 2 ? bank->base[f] : model_of(bank, f - 2);
    const char *name = f < 2 ? "base" : bank->options.family_name[f - 2];
    const void *bytes = NULL;
    size_t n_bytes = 0;
    bool is_kept = model && (f < 2 || !bank->is_useless[f - 2]);
    if (is_kept) SEER_TRY(bank->options.model->save(model, arena, &bytes, &n_bytes));
    put_bytes(out, name, strlen(name));
    put_bytes(out, bytes, n_bytes);
  }
  return SEER_OK;
}

seer_status seer_bank_save(const seer_bank *bank, const char *path) {
  seer_arena *arena = seer_arena_create("bank save");
  seer_text out;
  seer_text_init(&out, arena);
  seer_status status = save_into(bank, arena, &out);
  if (!status) status = seer_os_write_file(path, out.data, out.n_bytes);
  seer_arena_destroy(arena);
  return status;
}

typedef struct {
  const char *path, *at, *end;
} reader;

static seer_status take_bytes(
    reader *r, const char *what, uint32_t f, const char **out_bytes, size_t *out_n) {
  uint64_t n = 0;
  size_t left = (size_t)(r->end - r->at);
  if (left < sizeof n) return SEER_FAIL(CORRUPT, "%s: cut off at %s %u", r->path, what, f);
  memcpy(&n, r->at, sizeof n);
  r->at += sizeof n;
  left -= sizeof n;
  if (left < n)
    return SEER_FAIL(
        CORRUPT, "%s: %s %u has %" PRIu64 " bytes, %zu are left", r->path, what, f, n, left);
  *out_bytes = r->at;
  *out_n = (size_t)n;
  r->at += n;
  return SEER_OK;
}

static seer_status check_header(const seer_bank *bank, const char *path, const bank_header *h,
    const char *set_name, size_t n_set) {
  bank_header own = header_of(bank);
  if (memcmp(h->model, own.model, sizeof own.model) != 0)
    return SEER_FAIL(
        INVALID, "%s: cost model %.*s, must be %s", path, MAX_MODEL_NAME - 1, h->model, own.model);
  static const char one_base[] = "one base under all families",
                    separate[] = "separate models for families";
  if (h->has_base != own.has_base)
    return SEER_FAIL(INVALID, "%s: of a policy that has %s, this one has %s", path,
        h->has_base ? one_base : separate, own.has_base ? one_base : separate);
  const seer_feature_set *own_set = bank->options.features;
  if (strlen(own_set->name) != n_set || memcmp(own_set->name, set_name, n_set) != 0)
    return SEER_FAIL(
        INVALID, "%s: features %.*s, must be %s", path, (int)n_set, set_name, own_set->name);
  if (h->feature_version != own_set->version || h->n_column != own_set->n_column)
    return SEER_FAIL(INVALID,
        "%s: features version %u with %u columns, must be version %u with %zu", path,
        h->feature_version, h->n_column, own_set->version, own_set->n_column);
  return SEER_OK;
}

static uint32_t find_family(const seer_bank *bank, const char *name, size_t n) {
  uint32_t f = 0;
  while (f < bank->options.n_family &&
      (strlen(bank->options.family_name[f]) != n ||
          memcmp(bank->options.family_name[f], name, n) != 0))
    f++;
  return f;
}

// Keeps the bytes as what stream `to` begins with, and makes the model of them.
static seer_status take_model(seer_bank *bank, uint32_t to, const char *bytes, size_t n) {
  stored *loaded = to < 2 ? &bank->loaded_base[to] : &bank->loaded_family[to - 2];
  free(loaded->bytes);
  *loaded = (stored){malloc(n), n};
  if (!loaded->bytes) return no_memory("a loaded model");
  memcpy(loaded->bytes, bytes, n);
  return renew(bank, to < 2 ? &bank->base[to] : &bank->family[to - 2], to);
}

static seer_status load_from(seer_bank *bank, const char *path, const char *data, size_t n_bytes) {
  bank_header header;
  bool has_set = n_bytes >= sizeof header && memcmp(data, BANK_MAGIC_SET, 8) == 0;
  if (n_bytes < sizeof header || (!has_set && memcmp(data, BANK_MAGIC, 8) != 0)) {
    return SEER_FAIL(CORRUPT, "%s: not a file of cost models", path);
  }
  memcpy(&header, data, sizeof header);
  reader r = {path, data + sizeof header, data + n_bytes};
  const char *set_name = seer_feature_set_table[0]->name;
  size_t n_set = strlen(set_name);
  if (has_set) SEER_TRY(take_bytes(&r, "features", 0, &set_name, &n_set));
  SEER_TRY(check_header(bank, path, &header, set_name, n_set));
  for (uint64_t f = 0; f < (uint64_t)header.n_family + 2; f++) {
    const char *name, *bytes;
    size_t n_name, n;
    SEER_TRY(take_bytes(&r, "name", (uint32_t)f, &name, &n_name));
    SEER_TRY(take_bytes(&r, "model", (uint32_t)f, &bytes, &n));
    uint32_t to = f < 2 ? (uint32_t)f : 2 + find_family(bank, name, n_name);
    if (n > 0 && to < 2 + bank->options.n_family) SEER_TRY(take_model(bank, to, bytes, n));
  }
  // A loaded base counts as trained; it is fitted on once there are enough samples of our own.
  if (bank->base[1])
    bank->n_at_base =
        bank->n_sample > bank->options.warm_up ? bank->n_sample : bank->options.warm_up;
  bank->generation++;
  return SEER_OK;
}

seer_status seer_bank_load_bytes(
    seer_bank *bank, const char *name, const void *bytes, size_t n_bytes) {
  return load_from(bank, name, bytes, n_bytes);
}

seer_status seer_bank_load(seer_bank *bank, const char *path) {
  seer_arena *arena = seer_arena_create("bank load");
  char *data = NULL;
  size_t n_bytes = 0;
  seer_status status = seer_os_read_file(path, arena, (size_t)1 << 30, &data, &n_bytes);
  if (!status) status = load_from(bank, path, data, n_bytes);
  seer_arena_destroy(arena);
  return status;
}
