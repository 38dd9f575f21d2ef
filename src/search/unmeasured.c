// unmeasured.c - defaults -> batches, drawn and bred -> what is kept of each -> the choice.
#include "search/unmeasured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/parallel.h"
#include "search/draft.h"
#include "space/nest.h"

#define BATCH 256  // tries; smaller ones climb faster: doc/decisions, 57
#define DRAWN_SHARE 0.2  // of a batch; of the first one all
#define FORMULATION_FLOOR 0.1  // likewise of what is bred, by formulation
// Kept from batch to batch: the best of all, of each formulation, of each sketch.
#define KEPT 32
#define KEPT_OF_FORMULATION 12
#define KEPT_OF_SKETCH 1
// That models are asked of: of all drafts those with the least estimates.
#define RATED 256
#define MIN_GAIN 1e-3  // of an estimate, for a batch not to be stale

typedef struct {
  double best_s;  // estimate; INFINITY: none
  uint32_t n;  // kept
} kept;

typedef struct {
  const seer_unmeasured_options *options;
  seer_arena *arena;
  seer_draft_space space;
  seer_draft_pool pool;
  seer_search_counts counts;
  uint32_t n_formulation, *formulation_of;  // by sketch
  kept *sketch, *formulation;
  double *sketch_weight;
  seer_draft_order *orders;
  const seer_schedule **from;  // of all orders: room for what is kept
  seer_table nothing;
  // Where models are asked: the best drafts so far, least estimate first.
  uint32_t n_rated;
  seer_candidate *rated;  // room for twice RATED
} finder;

static void clear_kept(kept *t, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) t[k] = (kept){.best_s = INFINITY};
}

static bool needs_trials(const finder *f, uint32_t sketch) {
  return f->options->sketches->sketch[sketch]->needs_trials;
}

// What models are asked of, from a pool that has its best first. What was kept of earlier batches
// comes again.
static void remember(finder *f) {
  uint32_t n = f->n_rated, n_new = 0;
  for (uint32_t i = 0; i < f->pool.n && n_new < RATED; i++) {
    const seer_candidate *c = &f->pool.at[i];
    if (n == RATED && c->estimate_s >= f->rated[RATED - 1].estimate_s) break;
    bool is_known = needs_trials(f, c->schedule.sketch);
    for (uint32_t k = 0; k < n && !is_known; k++) is_known = f->rated[k].hash == c->hash;
    if (!is_known) f->rated[n + n_new++] = *c;
  }
  qsort(f->rated, n + n_new, sizeof *f->rated, seer_candidate_by_estimate);
  f->n_rated = n + n_new < RATED ? n + n_new : RATED;
}

// Cuts the pool to what is bred from, best first.
static void keep_best(finder *f) {
  seer_draft_pool *pool = &f->pool;
  qsort(pool->at, pool->n, sizeof *pool->at, seer_candidate_by_estimate);
  if (f->options->bank) remember(f);
  clear_kept(f->sketch, f->options->sketches->n);
  clear_kept(f->formulation, f->n_formulation);
  uint32_t n = 0;
  for (uint32_t i = 0; i < pool->n; i++) {
    const seer_candidate *c = &pool->at[i];
    if (needs_trials(f, c->schedule.sketch)) continue;  // a mutation has led there
    kept *sketch = &f->sketch[c->schedule.sketch];
    kept *formulation = &f->formulation[f->formulation_of[c->schedule.sketch]];
    if (n >= KEPT && formulation->n >= KEPT_OF_FORMULATION && sketch->n >= KEPT_OF_SKETCH) continue;
    sketch->best_s = fmin(sketch->best_s, c->estimate_s);
    formulation->best_s = fmin(formulation->best_s, c->estimate_s);
    sketch->n++;
    formulation->n++;
    if (n < i) pool->at[n] = *c;
    n++;
  }
  pool->n = n;
}

static double best_s(const finder *f) { return f->pool.n ? f->pool.at[0].estimate_s : INFINITY; }

static seer_draft_order drawn(finder *f, uint32_t n) {
  for (uint32_t k = 0; k < f->options->sketches->n; k++) {
    bool is_known = f->sketch[k].n > 0;
    double ratio = is_known ? best_s(f) / f->sketch[k].best_s : 1;
    f->sketch_weight[k] = needs_trials(f, k) ? 0 : seer_draft_sketch_weight(ratio);
  }
  return (seer_draft_order){.kind = SEER_DRAFT_DRAWN, .n = n, .sketch_weight = f->sketch_weight};
}

// 0: nothing is kept of it.
static double breeding_weight(const finder *f, uint32_t formulation) {
  double ratio = best_s(f) / f->formulation[formulation].best_s;
  return f->formulation[formulation].n ? fmax(FORMULATION_FLOOR, ratio * ratio) : 0;
}

// n children: an order for each formulation, whose parents are its kept ones. Returns how many
// orders.
static uint32_t bred(finder *f, uint32_t n, seer_draft_order *orders) {
  double total = 0, so_far = 0;
  uint32_t n_orders = 0, n_from = 0, n_before = 0;
  for (uint32_t k = 0; k < f->n_formulation; k++) total += breeding_weight(f, k);
  for (uint32_t k = 0; k < f->n_formulation; k++) {
    if (f->formulation[k].n == 0) continue;
    seer_draft_order *order = &orders[n_orders++];
    *order = (seer_draft_order){
        .kind = SEER_DRAFT_BRED, .from = &f->from[n_from], .has_two_parents = true};
    for (uint32_t i = 0; i < f->pool.n; i++) {
      if (f->formulation_of[f->pool.at[i].schedule.sketch] != k) continue;
      f->from[n_from++] = &f->pool.at[i].schedule;
      order->n_from++;
    }
    so_far += breeding_weight(f, k);
    order->n = (uint32_t)(n * so_far / total + 0.5) - n_before;  // all n together
    n_before += order->n;
  }
  return n_orders;
}

static seer_status draft(finder *f, uint32_t n_orders, seer_rng *rng) {
  return seer_draft(&f->space, f->orders, n_orders, seer_rng_u64(rng), &f->pool, &f->counts);
}

static seer_status draft_defaults(finder *f, seer_rng *rng) {
  uint32_t n = f->options->sketches->n;
  seer_schedule *defaults = SEER_NEW_ARRAY(f->arena, seer_schedule, n);
  for (uint32_t k = 0; k < n; k++) {
    seer_schedule_default(f->options->sketches, k, &defaults[k]);
    f->from[k] = &defaults[k];
  }
  f->orders[0] = (seer_draft_order){.kind = SEER_DRAFT_GIVEN, .n = n, .from = f->from};
  SEER_TRY(draft(f, 1, rng));
  keep_best(f);
  return SEER_OK;
}

static seer_status search(finder *f, seer_rng *rng, uint32_t *out_n) {
  uint32_t most = f->options->n_drafts, stale = f->options->n_stale, n_stale = 0;
  SEER_TRY(draft_defaults(f, rng));
  for (*out_n = 0; *out_n < most && (stale == 0 || n_stale < stale);) {
    uint32_t n = most - *out_n < BATCH ? most - *out_n : BATCH, n_orders = 1;
    bool is_first = *out_n == 0;
    uint32_t n_drawn = is_first ? n : (uint32_t)(DRAWN_SHARE * n);
    double before = best_s(f);
    f->orders[0] = drawn(f, n_drawn);
    if (!is_first) n_orders += bred(f, n - n_drawn, &f->orders[1]);
    SEER_TRY(draft(f, n_orders, rng));
    keep_best(f);
    *out_n += n;
    n_stale = best_s(f) < (1 - MIN_GAIN) * before ? 0 : n_stale + n;
  }
  return SEER_OK;
}

// ---- the models' word

static seer_status choose_by_models(finder *f, seer_unmeasured *out) {
  seer_draft_pool rated;
  uint32_t at = 0;
  SEER_TRY(seer_draft_pool_create(f->n_rated, &rated));
  const seer_schedule **from = SEER_NEW_ARRAY(f->arena, const seer_schedule *, f->n_rated);
  for (uint32_t i = 0; i < f->n_rated; i++) from[i] = &f->rated[i].schedule;
  seer_draft_order given = {.kind = SEER_DRAFT_GIVEN, .n = f->n_rated, .from = from};
  seer_search_counts again = {0};  // they are counted already
  f->space.bank = f->options->bank;
  seer_status status = seer_draft(&f->space, &given, 1, 0, &rated, &again);
  f->counts.scored += again.scored;
  if (!status) status = seer_draft_score(&f->space, &rated, 0);
  for (uint32_t i = 1; i < rated.n; i++)
    if (rated.at[i].score > rated.at[at].score) at = i;
  if (!status) {
    out->schedule = rated.at[at].schedule;
    out->estimate_s = rated.at[at].estimate_s;
  }
  seer_draft_pool_destroy(&rated);
  return status;
}

// ---- all of it

static seer_status set_up(finder *f) {
  const seer_unmeasured_options *o = f->options;
  uint32_t n = o->sketches->n;
  f->formulation_of = SEER_NEW_ARRAY(f->arena, uint32_t, n);
  f->n_formulation = seer_sketch_formulations(o->sketches, f->formulation_of);
  uint32_t n_kept = KEPT + KEPT_OF_FORMULATION * f->n_formulation + KEPT_OF_SKETCH * n;
  f->sketch = SEER_NEW_ARRAY(f->arena, kept, n);
  f->formulation = SEER_NEW_ARRAY(f->arena, kept, f->n_formulation);
  f->sketch_weight = SEER_NEW_ARRAY(f->arena, double, n);
  f->orders = SEER_NEW_ARRAY(f->arena, seer_draft_order, f->n_formulation + 1);
  f->from = SEER_NEW_ARRAY(f->arena, const seer_schedule *, n_kept);
  if (o->bank) f->rated = SEER_NEW_ARRAY(f->arena, seer_candidate, 2 * RATED);
  seer_summariser *summariser = seer_summariser_create(o->sketches, f->arena);
  uint64_t most_bytes = o->max_packed_bytes;
  if (most_bytes > 0) {
    seer_schedule first;
    seer_schedule_default(o->sketches, 0, &first);
    uint64_t least = seer_summarise(summariser, &first)->packed_bytes;
    if (least > most_bytes) most_bytes = least;
  }
  f->space = (seer_draft_space){.sketches = o->sketches,
      .facts = seer_summariser_facts(summariser),
      .target = o->target,
      .max_packed_bytes = most_bytes,
      .known = &f->nothing,
      .task = o->task,
      .n_threads = seer_parallel_threads(o->n_threads, SEER_DRAFT_ISLANDS)};
  return seer_draft_pool_create(n_kept + BATCH, &f->pool);
}

static seer_status find(finder *f, seer_unmeasured *out) {
  seer_rng rng;
  seer_rng_init_stream(&rng, f->options->seed + f->options->task, UINT64_MAX);
  SEER_TRY(search(f, &rng, &out->n_drafts));
  if (f->pool.n == 0) return SEER_FAIL(INTERNAL, "no default schedule of a sketch is valid");
  out->schedule = f->pool.at[0].schedule;
  out->estimate_s = f->pool.at[0].estimate_s;
  return f->options->bank ? choose_by_models(f, out) : SEER_OK;
}

seer_status seer_unmeasured_find(const seer_unmeasured_options *options, seer_unmeasured *out) {
  *out = (seer_unmeasured){.n_drafts = 0};
  finder f = {.options = options, .arena = seer_arena_create("untuned")};
  seer_status status = set_up(&f);
  if (!status) status = find(&f, out);
  out->counts = f.counts;
  seer_draft_pool_destroy(&f.pool);
  seer_arena_destroy(f.arena);
  return status;
}
