// samples.c - what was measured, and training sets of it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "learn/bank/internal.h"

#define GOOD 2.0  // times the best: samples that say how estimates relate to times
#define MAX_PRIOR 1.5F  // relative throughput that an estimate alone may promise

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

seer_sample seer_sample_of(const seer_nest *nest, const seer_target *target,
    const seer_feature_set *features, float *rows) {
  double estimate_s = seer_analytic_seconds(nest, target);
  return (seer_sample){.n_row = features->extract(nest, target, estimate_s, rows),
      .rows = rows,
      .estimate_s = estimate_s};
}

// ---- forgetting
// A quarter of the samples: of the older half what failed or was raced out, then every other two:
// of what is held out, which is every tenth of a family, about as many go as of the rest.
static bool is_forgotten(const seer_bank *bank, size_t i, size_t n_left, size_t *n_passed) {
  if (i >= bank->n_sample / 2 || n_left == 0) return false;
  const seer_bank_kept *s = &bank->samples[i];
  return s->is_raced_out || s->seconds <= 0 || (*n_passed)++ % 4 >= 2;
}

static size_t scaled(size_t value, size_t now, size_t before) {
  return before ? (size_t)((double)value * (double)now / (double)before) : 0;
}

// Counts at the last fits shrink with what they counted, so that the next ones are as due as
// before.
static void forget(seer_bank *bank) {
  size_t n = 0, n_row = 0, n_before = bank->n_sample, n_left = n_before / 4, n_passed = 0;
  size_t row_bytes = seer_bank_n_column(bank) * sizeof(float);
  size_t *lost = calloc(bank->options.n_family + 1, sizeof(size_t));
  if (!lost) return;  // tried again with the next sample
  for (size_t i = 0; i < n_before; i++) {
    seer_bank_kept s = bank->samples[i];
    if (is_forgotten(bank, i, n_left, &n_passed)) {
      n_left--;
      lost[bank->family_of[s.task]]++;
      continue;
    }
    memmove(bank->rows + n_row * seer_bank_n_column(bank),
        bank->rows + s.first_row * seer_bank_n_column(bank), s.n_row * row_bytes);
    s.first_row = n_row;
    n_row += s.n_row;
    bank->samples[n++] = s;
  }
  for (uint32_t f = 0; f < bank->options.n_family; f++) {
    size_t now = bank->n_of_family[f] - lost[f];
    bank->n_at_fit[f] = scaled(bank->n_at_fit[f], now, bank->n_of_family[f]);
    bank->n_of_family[f] = now;
  }
  bank->n_sample = n;
  bank->n_row = n_row;
  free(lost);
}

static seer_status inherit(const seer_bank *bank, seer_bank_kept *s) {
  s->inherited = 0;
  if (!bank->under) return SEER_OK;
  const seer_bank_candidates alone = {
      .n = 1, .rows = bank->rows + s->first_row * seer_bank_n_column(bank), .n_rows = &s->n_row};
  return seer_bank_rate(bank->under, s->task, &alone, &s->inherited);
}

seer_status seer_bank_inherit(seer_bank *bank) {
  for (size_t i = 0; i < bank->n_sample; i++) SEER_TRY(inherit(bank, &bank->samples[i]));
  return SEER_OK;
}

seer_status seer_bank_add(seer_bank *bank, const seer_sample *samples, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const seer_sample *in = &samples[i];
    SEER_ASSERT(in->task < bank->options.n_task, "task %u, n %u", in->task, bank->options.n_task);
    if (in->n_row == 0) continue;
    uint32_t most = bank->options.learning->max_samples;
    if (most > 0 && bank->n_sample >= most) forget(bank);
    void *rows = bank->rows, *list = bank->samples;
    bool is_ok = reserve(
        &rows, seer_bank_n_column(bank) * sizeof(float), bank->n_row + in->n_row, &bank->cap_row);
    bank->rows = rows;
    is_ok = reserve(&list, sizeof(seer_bank_kept), bank->n_sample + 1, &bank->cap_sample) && is_ok;
    bank->samples = list;
    if (!is_ok) return seer_bank_no_memory("a sample");
    memcpy(bank->rows + bank->n_row * seer_bank_n_column(bank), in->rows,
        in->n_row * seer_bank_n_column(bank) * sizeof(float));
    size_t *n_added = &bank->n_added_of_family[bank->family_of[in->task]];
    bank->samples[bank->n_sample++] = (seer_bank_kept){.task = in->task,
        .n_row = in->n_row,
        .first_row = bank->n_row,
        .seconds = in->seconds,
        .estimate_s = in->estimate_s,
        .is_raced_out = in->is_raced_out,
        .nth = bank->n_added++,
        .nth_of_family = (*n_added)++};
    bank->n_row += in->n_row;
    bank->n_of_family[bank->family_of[in->task]]++;
    double *best = &bank->best[in->task];
    if (in->seconds > 0 && (*best <= 0 || in->seconds < *best)) *best = in->seconds;
    SEER_TRY(inherit(bank, &bank->samples[bank->n_sample - 1]));
  }
  return SEER_OK;
}

// ---- training sets
void seer_bank_set_free(seer_bank_set *s) {
  free(s->rows);
  free(s->label);
  free(s->weight);
  free(s->margin);
  free(s->n_rows);
  free(s->task);
}

static bool set_alloc(seer_bank_set *s, size_t columns, size_t n_row, size_t n_sample) {
  *s = (seer_bank_set){.n_column = columns};
  s->rows = malloc((n_row + 1) * columns * sizeof(float));
  s->label = malloc((n_sample + 1) * sizeof(float));
  s->weight = malloc((n_sample + 1) * sizeof(float));
  s->margin = calloc(n_row + 1, sizeof(float));
  s->n_rows = malloc((n_sample + 1) * sizeof(uint32_t));
  s->task = malloc((n_sample + 1) * sizeof(uint32_t));
  return s->rows && s->label && s->weight && s->margin && s->n_rows && s->task;
}

// ---- the estimate underneath
// The median of time to estimate over the task's good half of samples.
static seer_status find_slack(seer_bank *bank, uint32_t task) {
  double *ratio = malloc((bank->n_sample + 1) * sizeof(double));
  if (!ratio) return seer_bank_no_memory("estimates");
  size_t n = 0;
  for (size_t i = 0; i < bank->n_sample; i++) {
    const seer_bank_kept *in = &bank->samples[i];
    if (in->task == task && in->seconds > 0 && in->estimate_s > 0 &&
        in->seconds <= GOOD * bank->best[task])
      ratio[n++] = in->seconds / in->estimate_s;
  }
  bank->slack[task] = n ? seer_median(ratio, n) : 0;
  free(ratio);
  return SEER_OK;
}

seer_status seer_bank_find_slacks(seer_bank *bank) {
  for (uint32_t t = 0; t < bank->options.n_task; t++) SEER_TRY(find_slack(bank, t));
  return SEER_OK;
}

// Relative throughput as the estimate sees it, or its logarithm, as the models have it. (That has
// no upper end: all of a task's may be above it, and still differ.)
float seer_bank_prior(const seer_bank *bank, double reference_s, double estimate_s) {
  if (estimate_s <= 0) return 0;
  if (bank->options.model->is_log) return (float)log(reference_s / estimate_s);
  return fminf(MAX_PRIOR, (float)(reference_s / estimate_s));
}

static void set_put(seer_bank_set *s, const seer_bank *bank, size_t index) {
  const seer_bank_kept *in = &bank->samples[index];
  double slack = bank->slack[in->task];
  float *margin = &s->margin[s->n_row];
  *margin = in->inherited;
  if (bank->options.is_over_estimate && slack > 0)
    *margin += seer_bank_prior(bank, bank->best[in->task] / slack, in->estimate_s);
  const seer_learning *how = bank->options.learning;
  bool has_failed = in->seconds <= 0 || bank->best[in->task] <= 0;
  float label = has_failed ? 0 : (float)(bank->best[in->task] / in->seconds);
  if (bank->best[in->task] <= 0 && how->all_failed_is_best) label = 1;
  s->label[s->n_sample] = label;
  float weight = fmaxf(label, how->least_weight);
  s->weight[s->n_sample] = in->is_raced_out ? fminf(weight, how->raced_weight) : weight;
  s->task[s->n_sample] = in->task;
  s->n_rows[s->n_sample++] = in->n_row;
  memcpy(s->rows + s->n_row * seer_bank_n_column(bank),
      bank->rows + in->first_row * seer_bank_n_column(bank),
      in->n_row * seer_bank_n_column(bank) * sizeof(float));
  s->n_row += in->n_row;
}

seer_status seer_bank_make_sets(const seer_bank *bank, seer_bank_choice choose, uint32_t arg,
    seer_bank_set *train, seer_bank_set *held) {
  size_t n_row[SEER_BANK_HELD + 1] = {0}, n_sample[SEER_BANK_HELD + 1] = {0};
  for (size_t i = 0; i < bank->n_sample; i++) {
    seer_bank_part where = choose(bank, arg, &bank->samples[i]);
    n_row[where] += bank->samples[i].n_row;
    n_sample[where]++;
  }
  if (!set_alloc(
          train, seer_bank_n_column(bank), n_row[SEER_BANK_TRAIN], n_sample[SEER_BANK_TRAIN]) ||
      !set_alloc(held, seer_bank_n_column(bank), n_row[SEER_BANK_HELD], n_sample[SEER_BANK_HELD]))
    return seer_bank_no_memory("a training set");
  for (size_t i = 0; i < bank->n_sample; i++) {
    seer_bank_part where = choose(bank, arg, &bank->samples[i]);
    if (where == SEER_BANK_LEFT_OUT) continue;
    set_put(where == SEER_BANK_HELD ? held : train, bank, i);
  }
  return SEER_OK;
}

seer_cost_data seer_bank_set_data(const seer_bank_set *s) {
  return (seer_cost_data){.n_column = s->n_column,
      .rows = s->rows,
      .n_row = s->n_row,
      .n_rows = s->n_rows,
      .n_sample = s->n_sample,
      .label = s->label,
      .weight = s->weight,
      .task = s->task,
      .margin = s->margin};
}
