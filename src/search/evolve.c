// evolve.c - samples and measured schedules -> generations -> the best that were met.
#include "search/evolve.h"

#include <stdlib.h>
#include <string.h>

#include "search/roulette.h"

#define MIN_SAMPLED 50  // of a first population; fewer where MAX_IDLE passes bring nothing new
#define MAX_IDLE 5

// ---- the best

static bool is_better(const seer_candidate *a, const seer_candidate *b) {
  return a->score != b->score ? a->score > b->score : a->hash < b->hash;
}

static void sink(seer_best *best, uint32_t at) {
  for (;;) {
    uint32_t worst = at;
    for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < best->n; child++)
      if (is_better(&best->at[worst], &best->at[child])) worst = child;
    if (worst == at) return;
    seer_candidate swap = best->at[at];
    best->at[at] = best->at[worst];
    best->at[worst] = swap;
    at = worst;
  }
}

void seer_best_offer(seer_best *best, const seer_candidate *c) {
  bool is_full = best->n == best->cap;
  if (best->cap == 0 || (is_full && c->score <= best->at[0].score)) return;
  if (seer_table_has(best->known, c->hash)) return;
  for (uint32_t i = 0; i < best->n; i++)
    if (best->at[i].hash == c->hash) return;
  if (is_full) {
    best->at[0] = *c;
    sink(best, 0);
    return;
  }
  best->at[best->n++] = *c;
  // As long as it grows it is made anew: a few dozen.
  for (uint32_t i = best->n / 2; i-- > 0;) sink(best, i);
}

static int by_score(const void *a, const void *b) { return is_better(b, a) - is_better(a, b); }

void seer_best_sort(seer_best *best) { qsort(best->at, best->n, sizeof *best->at, by_score); }

// ---- generations

typedef struct {
  const seer_evolution *evolution;
  seer_draft_space distinct, any;  // without what a population has; whatever comes
  seer_table nothing;
  seer_rng *rng;
  seer_draft_pool *pool;
  seer_search_counts *counts;
  const seer_schedule **from;
  float *score;
  double *sum;
} run;

uint32_t seer_evolve_room(const seer_search_strategy *y) {
  return 2 * y->n_population + y->n_elites + MIN_SAMPLED;
}

static seer_status draft(run *r, const seer_draft_space *space, const seer_draft_order *order) {
  return seer_draft(space, order, 1, seer_rng_u64(r->rng), r->pool, r->counts);
}

static seer_status sample(run *r) {
  const seer_evolution *e = r->evolution;
  const seer_draft_order drawn = {
      .kind = SEER_DRAFT_DRAWN, .n = e->strategy->n_population, .sketch_weight = e->sketch_weight};
  seer_draft_pool_clear(r->pool);
  for (int idle = 0; r->pool->n < MIN_SAMPLED && idle < MAX_IDLE;) {
    uint32_t n = r->pool->n;
    SEER_TRY(draft(r, &r->distinct, &drawn));
    idle = r->pool->n > n ? 0 : idle + 1;
  }
  uint32_t most = (uint32_t)(e->strategy->measured_share * e->strategy->n_population);
  const seer_draft_order given = {.kind = SEER_DRAFT_GIVEN,
      .n = e->n_measured < most ? e->n_measured : most,
      .from = e->measured};
  return draft(r, &r->any, &given);
}

static seer_status evaluate(run *r, seer_best *best) {
  const seer_draft_space *space = r->evolution->space;
  seer_draft_pool *pool = r->pool;
  if (space->bank) SEER_TRY(seer_draft_score(space, pool, 0));
  for (uint32_t i = 0; i < pool->n; i++) {
    if (!space->bank) pool->at[i].score = (float)seer_rng_f64(r->rng);
    seer_best_offer(best, &pool->at[i]);
  }
  return SEER_OK;
}

// The children take the place of the population.
static seer_status breed(run *r) {
  seer_draft_pool *pool = r->pool;
  uint32_t n = pool->n;
  for (uint32_t i = 0; i < n; i++) {
    r->from[i] = &pool->at[i].schedule;
    r->score[i] = pool->at[i].score;
  }
  seer_roulette_fill(r->score, n, r->sum);
  const seer_draft_order order = {.kind = SEER_DRAFT_OFFSPRING,
      .n = r->evolution->strategy->n_population,
      .from = r->from,
      .n_from = n,
      .score_sum = r->sum,
      .mutation_chance = r->evolution->strategy->mutation_chance};
  SEER_TRY(draft(r, &r->any, &order));
  pool->n -= n;
  memmove(pool->at, pool->at + n, pool->n * sizeof *pool->at);
  return SEER_OK;
}

static seer_status generations(run *r, seer_best *best, uint32_t n_random,
    seer_candidate *out_random, uint32_t *out_n_random) {
  const seer_draft_pool *pool = r->pool;
  SEER_TRY(sample(r));
  SEER_TRY(evaluate(r, best));
  for (; *out_n_random < n_random && pool->n > 0; ++*out_n_random)
    out_random[*out_n_random] = pool->at[seer_rng_below(r->rng, pool->n)];
  for (uint32_t g = 0; g < r->evolution->strategy->n_generations && pool->n > 0; g++) {
    SEER_TRY(breed(r));
    SEER_TRY(evaluate(r, best));
  }
  return SEER_OK;
}

seer_status seer_evolve(const seer_evolution *evolution, seer_rng *rng, seer_draft_pool *pool,
    seer_search_counts *counts, seer_best *best, uint32_t n_random, seer_candidate *out_random,
    uint32_t *out_n_random) {
  *out_n_random = 0;
  uint32_t room = seer_evolve_room(evolution->strategy);
  run r = {.evolution = evolution,
      .distinct = *evolution->space,
      .any = *evolution->space,
      .rng = rng,
      .pool = pool,
      .counts = counts,
      .from = malloc(room * sizeof *r.from),
      .score = malloc(room * sizeof *r.score),
      .sum = malloc(room * sizeof *r.sum)};
  r.distinct.known = &r.nothing;
  r.any.known = NULL;
  seer_status status = r.from && r.score && r.sum
      ? SEER_OK
      : SEER_FAIL(RESOURCE, "no memory for a population of %u", room);
  if (!status) status = generations(&r, best, n_random, out_random, out_n_random);
  seer_best_sort(best);
  free(r.from);
  free(r.score);
  free(r.sum);
  return status;
}
