// models.c - schedules of a table -> samples; a bank for each way of grouping -> what it orders.
// Groupings that come to the same families are fitted once: nothing in a fit is drawn, so the
// models would be the same.
#include "study/paper/models.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "base/rng.h"
#include "learn/bank.h"
#include "learn/family.h"
#include "search/search.h"
#include "study/paper/statistics.h"
#include "study/tuning.h"

#define MOST_HELD_OUT 512

// Schedules as a bank sees them.
typedef struct {
  uint32_t n;
  double *seconds;
  size_t n_row;
  uint32_t *n_rows;
  float *rows;
} asked;

typedef struct {
  asked seen, held_out;
} task_samples;

typedef struct {
  seer_context *context;
  const seer_network *network;
  const seer_times_task *const *of;
  const seer_cost_desc *model;
  uint64_t seed;
  task_samples *task;
  seer_arena *arena;
  seer_accuracies *out;
} measuring;

static void extract(const seer_search *search, const seer_times_pool *pool, const uint32_t *which,
    uint32_t n, seer_arena *arena, asked *out) {
  const seer_feature_set *features = &seer_feature_ansor;
  *out = (asked){.n = n,
      .seconds = SEER_NEW_ARRAY(arena, double, n + 1),
      .n_rows = SEER_NEW_ARRAY(arena, uint32_t, n + 1)};
  const float **rows = SEER_NEW_ARRAY(arena, const float *, n + 1);
  seer_arena *one = seer_arena_create("sample");
  for (uint32_t i = 0; i < n; i++) {
    double seconds = out->seconds[i] = pool->time[which[i]]->seconds;
    seer_sample sample =
        seer_search_sample(search, features, &pool->schedule[which[i]], seconds, one);
    size_t n_bytes = sample.n_row * features->n_column * sizeof(float);
    rows[i] = seer_arena_memdup(arena, sample.rows, n_bytes);
    out->n_row += out->n_rows[i] = sample.n_row;
    seer_arena_reset(one);
  }
  seer_arena_destroy(one);
  float *at = out->rows = SEER_NEW_ARRAY(arena, float, (out->n_row + 1) * features->n_column);
  for (uint32_t i = 0; i < n; at += out->n_rows[i++] * features->n_column)
    memcpy(at, rows[i], out->n_rows[i] * features->n_column * sizeof *at);
}

// Those of the pool that have a time, in an order that the seed draws.
static uint32_t shuffled(
    const seer_times_pool *pool, uint64_t seed, uint32_t task, seer_arena *arena, uint32_t **out) {
  uint32_t n = 0, *which = *out = SEER_NEW_ARRAY(arena, uint32_t, pool->n + 1);
  for (uint32_t i = 0; i < pool->n; i++)
    if (pool->time[i]->seconds > 0) which[n++] = i;
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, task);
  seer_rng_shuffle_u32(&rng, which, n);
  return n;
}

static seer_status make_samples(measuring *m, uint32_t t, uint32_t n_samples, seer_arena *scratch) {
  const seer_target *target = seer_context_target(m->context);
  seer_sketch_list *sketches;
  SEER_TRY(
      seer_sketch_generate(m->network->task[t].dag, target, m->of[t]->space, scratch, &sketches));
  seer_search_options options = {.task = t,
      .sketches = sketches,
      .target = target,
      .strategy = &seer_strategy_ansor,
      .seed = m->seed,
      .n_threads = 1};
  seer_search *search;
  SEER_TRY(seer_search_create(&options, &search));
  seer_times_pool pool;
  seer_times_pool_make(m->of[t], sketches, scratch, &pool);
  uint32_t *which, n = shuffled(&pool, m->seed, t, scratch, &which);
  uint32_t n_seen = n_samples < n / 2 ? n_samples : n / 2;
  uint32_t n_held = n - n_seen < MOST_HELD_OUT ? n - n_seen : MOST_HELD_OUT;
  extract(search, &pool, which, n_seen, scratch, &m->task[t].seen);
  extract(search, &pool, which + n_seen, n_held, scratch, &m->task[t].held_out);
  m->out->n_fitted[t] = n_seen;
  m->out->n_held_out[t] = n_held;
  seer_search_destroy(search);
  return SEER_OK;
}

static seer_status add_samples(const measuring *m, seer_bank *bank, uint32_t t) {
  const asked *a = &m->task[t].seen;
  const float *rows = a->rows;
  for (uint32_t i = 0; i < a->n; i++) {
    seer_sample sample = {.task = t, .n_row = a->n_rows[i], .rows = rows, .seconds = a->seconds[i]};
    SEER_TRY(seer_bank_add(bank, &sample, 1));
    rows += a->n_rows[i] * seer_feature_ansor.n_column;
  }
  return SEER_OK;
}

static seer_status fill_bank(const measuring *m, seer_bank *bank, uint32_t n_family) {
  for (uint32_t t = 0; t < m->network->n_task; t++) SEER_TRY(add_samples(m, bank, t));
  for (uint32_t f = 0; f < n_family; f++) SEER_TRY(seer_bank_train(bank, f));
  return SEER_OK;
}

// What the model of task `by` says of schedules of any.
static seer_status rate(
    const seer_bank *bank, uint32_t by, const asked *a, seer_arena *scratch, float **out_scores) {
  *out_scores = SEER_NEW_ARRAY(scratch, float, a->n + 1);
  seer_bank_candidates candidates = {a->n, a->rows, a->n_rows, NULL};
  return seer_bank_rate(bank, by, &candidates, *out_scores);
}

static seer_status measure_accuracy(
    const measuring *m, const seer_bank *bank, seer_accuracy *out, seer_arena *scratch) {
  for (uint32_t t = 0; t < m->network->n_task; t++) {
    const task_samples *s = &m->task[t];
    float *seen, *held_out;
    SEER_TRY(rate(bank, t, &s->seen, scratch, &seen));
    SEER_TRY(rate(bank, t, &s->held_out, scratch, &held_out));
    out[t] = (seer_accuracy){
        .held_out = seer_pair_accuracy(held_out, s->held_out.seconds, s->held_out.n),
        .seen = seer_pair_accuracy(seen, s->seen.seconds, s->seen.n),
        .peak =
            seer_peak(held_out, s->held_out.seconds, s->held_out.n, SEER_ACCURACY_PEAK, scratch)};
  }
  return SEER_OK;
}

static seer_status cross(const measuring *m, const seer_bank *bank, seer_arena *scratch) {
  uint32_t n = m->network->n_task;
  m->out->cross = SEER_NEW_ARRAY(m->arena, double, (size_t)n *n);
  for (uint32_t by = 0; by < n; by++) {
    for (uint32_t t = 0; t < n; t++) {
      const asked *a = &m->task[t].held_out;
      float *scores;
      SEER_TRY(rate(bank, by, a, scratch, &scores));
      m->out->cross[by * n + t] = seer_pair_accuracy(scores, a->seconds, a->n);
    }
  }
  return SEER_OK;
}

static seer_status fit_grouping(
    const measuring *m, uint32_t g, const seer_families *families, seer_arena *scratch) {
  seer_bank_options options = {.n_family = families->n_family,
      .family_name = families->name,
      .n_task = m->network->n_task,
      .family_of = families->family_of,
      .model = m->model,
      .features = &seer_feature_ansor,
      .learning = &seer_learning_ansor,
      .seed = m->seed};
  seer_bank *bank;
  SEER_TRY(seer_bank_create(&options, &bank));
  seer_status status = fill_bank(m, bank, families->n_family);
  if (!status) status = measure_accuracy(m, bank, m->out->of[g], scratch);
  if (!status && families->n_family == m->network->n_task) status = cross(m, bank, scratch);
  seer_bank_destroy(bank);
  return status;
}

// An earlier grouping with the same families.
static uint32_t same_families(const seer_accuracies *out, uint32_t g) {
  for (uint32_t k = 0; k < g; k++)
    if (out->n_family[k] == out->n_family[g] &&
        memcmp(out->family_of[k], out->family_of[g], out->n_task * sizeof(uint32_t)) == 0)
      return k;
  return g;
}

static bool is_wanted(uint32_t g, bool all_groupings) {
  const char *name = seer_family_table[g]->name;
  return all_groupings || g == 0 || strcmp(name, "single") == 0 || strcmp(name, "all") == 0;
}

static seer_status measure(measuring *m, uint32_t n_samples, bool all_groupings, seer_arena *s) {
  seer_accuracies *out = m->out;
  uint32_t n = out->n_task;
  for (uint32_t t = 0; t < n; t++)
    SEER_TRYF(make_samples(m, t, n_samples, s), "%s", out->task_name[t]);
  for (uint32_t g = 0; g < out->n_grouping; g++) {
    if (!is_wanted(g, all_groupings)) continue;
    seer_families families;
    seer_families_build(seer_family_table[g], m->network->task, n, m->arena, &families);
    out->n_family[g] = families.n_family;
    out->family_of[g] = families.family_of;
    uint32_t same = same_families(out, g);
    if (same < g)
      memcpy(out->of[g], out->of[same], n * sizeof *out->of[g]);
    else
      SEER_TRYF(fit_grouping(m, g, &families, s), "grouping %s", seer_family_table[g]->name);
  }
  return SEER_OK;
}

seer_status seer_accuracies_measure(seer_context *context, const seer_times *times,
    const char *network_name, uint32_t n_samples, uint64_t seed, bool all_groupings,
    seer_arena *arena, seer_accuracies *out) {
  uint64_t start_ns = seer_os_now_ns();
  seer_network *network;
  measuring m = {.context = context, .seed = seed, .arena = arena, .out = out};
  SEER_TRY(seer_tuning_network(times, network_name, arena, &network, &m.of));
  SEER_TRY(seer_cost_find("xgboost", &m.model));
  m.network = network;
  uint32_t n = network->n_task, n_grouping = (uint32_t)seer_family_table_count;
  *out = (seer_accuracies){.n_task = n,
      .n_grouping = n_grouping,
      .task_name = SEER_NEW_ARRAY(arena, const char *, n),
      .n_fitted = SEER_NEW_ARRAY(arena, uint32_t, n),
      .n_held_out = SEER_NEW_ARRAY(arena, uint32_t, n),
      .n_family = SEER_NEW_ARRAY(arena, uint32_t, n_grouping),
      .family_of = SEER_NEW_ARRAY(arena, uint32_t *, n_grouping),
      .of = SEER_NEW_ARRAY(arena, seer_accuracy *, n_grouping)};
  for (uint32_t t = 0; t < n; t++) out->task_name[t] = network->task[t].name;
  for (uint32_t g = 0; g < n_grouping; g++) out->of[g] = SEER_NEW_ARRAY(arena, seer_accuracy, n);
  seer_arena *scratch = seer_arena_create("samples");
  m.task = SEER_NEW_ARRAY(scratch, task_samples, n);
  seer_status status = measure(&m, n_samples, all_groupings, scratch);
  seer_arena_destroy(scratch);
  out->seconds = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  return status;
}
