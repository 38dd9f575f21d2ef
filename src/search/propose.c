// propose.c - what to draft, evolution and selection over knobs.
// A pool of candidates is drafted (draft.h): the kept population, children of the best measured
// schedules, and fresh samples, with more samples for sketches that have done well. The analytic
// model cuts the pool; the learned model, once it knows something, scores it and breeds a few
// generations. What is proposed is the top of the ranking, look-alikes apart, and a few random
// drafts. Untried neighbours of the best, where a strategy asks for them, come before that, in the
// same order. A strategy of proportional selection has evolve.c for all of this, and no estimates.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/tile/tile.h"
#include "search/evolve.h"
#include "search/internal.h"
#include "space/lower.h"

#define BEST_PER_PICK 2  // of an evolution: what it hands on is twice what is measured
#define RANDOM_PER_PICK 3  // of those that are picked at random: drawn, as some are known
#define EARLY_TRIALS 64  // of a task, of which each formulation gets a share
#define NEW_TRIES 8  // draws for a random candidate without known look-alikes

// ---- the pool

// Drafts into the pool. The bank rates what is new; NULL: nobody does.
static seer_status draft(seer_search *s, const seer_draft_order *orders, uint32_t n_orders,
    const seer_bank *bank, seer_rng *rng) {
  seer_draft_space space = seer_search_space(s, bank);
  return seer_draft(&space, orders, n_orders, seer_rng_u64(rng), &s->pool, &s->counts);
}

// By sketch: all alike, or more of those that have done well.
static const double *weigh_sketches(seer_search *s) {
  double best = s->n_elite ? s->elites[0].seconds : 0, *weight = s->sketch_weight;
  for (uint32_t k = 0; k < s->options.sketches->n; k++) {
    double ratio = s->sketch_best[k] > 0 && best > 0 ? best / s->sketch_best[k] : 1;
    bool is_weighed = s->options.strategy->favours_good_sketches;
    weight[k] = is_weighed ? seer_draft_sketch_weight(ratio) : 1;
  }
  return weight;
}

static seer_draft_order fresh(seer_search *s, uint32_t n) {
  return (seer_draft_order){.kind = SEER_DRAFT_DRAWN, .n = n, .sketch_weight = weigh_sketches(s)};
}

// n children of the first n_parents of the pool.
static seer_draft_order children(seer_search *s, uint32_t n, uint32_t n_parents) {
  for (uint32_t i = 0; i < n_parents; i++) s->from[i] = &s->pool.at[i].schedule;
  return (seer_draft_order){.kind = SEER_DRAFT_BRED,
      .n = n,
      .from = s->from,
      .n_from = n_parents,
      .has_two_parents = true};
}

static int by_score(const void *a, const void *b) {
  const seer_candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return seer_candidate_by_estimate(a, b);
}

static void cut_by_estimate(seer_search *s, uint32_t keep) {
  seer_draft_pool *pool = &s->pool;
  if (pool->n == 0 || !s->options.strategy->cuts_by_estimate) return;
  qsort(pool->at, pool->n, sizeof *pool->at, seer_candidate_by_estimate);
  double most_s = SEER_SEARCH_SLACK * pool->at[0].estimate_s;
  uint32_t n = 0;
  while (n < pool->n && n < keep && pool->at[n].estimate_s <= most_s) n++;
  pool->n = n;
}

static void sort_by_score(seer_search *s) {
  qsort(s->pool.at, s->pool.n, sizeof *s->pool.at, by_score);
}

// Of what the bank has rated: the pool from `first` on.
static seer_status score(seer_search *s, const seer_bank *bank, uint32_t first) {
  seer_draft_space space = seer_search_space(s, bank);
  return seer_draft_score(&space, &s->pool, first);
}

// The pool, best first, has children, which join it.
static seer_status evolve(seer_search *s, const seer_bank *bank, seer_rng *rng) {
  const seer_search_strategy *y = s->options.strategy;
  sort_by_score(s);
  for (uint32_t g = 0; g < y->n_generations; g++) {
    uint32_t n = s->pool.n, most = y->n_survivors / 2;
    seer_draft_order order = children(s, y->n_children, n < most ? n : most);
    SEER_TRY(draft(s, &order, 1, bank, rng));
    SEER_TRY(score(s, bank, n));
    sort_by_score(s);
    if (s->pool.n > y->n_survivors) s->pool.n = y->n_survivors;
  }
  return SEER_OK;
}

// ---- proposing
static uint32_t take_queue(seer_search *s, uint32_t n, seer_proposal *out) {
  uint32_t taken = 0;
  while (taken < n && s->queue_at < s->n_queue) {
    const seer_queued_schedule *q = &s->queue[s->queue_at++];
    if (seer_search_knows(s, &q->schedule) ||
        !seer_draft_pool_see(&s->pool, seer_schedule_hash(&q->schedule)))
      continue;
    out[taken++] =
        (seer_proposal){q->schedule, 0, seer_search_estimate(s, &q->schedule), q->origin};
  }
  return taken;
}

// *out_at: index in the pool of the best candidate of formulation f, or the pool's end. Drafts some
// when there is none.
static seer_status best_of_formulation(
    seer_search *s, seer_rng *rng, uint32_t f, uint32_t *out_at) {
  seer_draft_pool *pool = &s->pool;
  for (*out_at = 0; *out_at < pool->n; (*out_at)++) {
    if (s->formulation_of[pool->at[*out_at].schedule.sketch] == f) return SEER_OK;
  }
  if (s->is_restricted) return SEER_OK;  // nothing is left of it
  for (uint32_t k = 0; k < s->options.sketches->n; k++)
    s->sketch_weight[k] = s->formulation_of[k] == f;
  seer_draft_order order = {.kind = SEER_DRAFT_DRAWN,
      .n = SEER_SEARCH_FORMULATION_DRAFTS,
      .sketch_weight = s->sketch_weight};
  SEER_TRY(draft(s, &order, 1, NULL, rng));
  for (uint32_t i = *out_at; i < pool->n; i++)
    if (pool->at[i].estimate_s < pool->at[*out_at].estimate_s) *out_at = i;
  return SEER_OK;
}

// The models know little of a formulation that was hardly measured: they must not drop it unseen.
static seer_status fill_quotas(
    seer_search *s, seer_rng *rng, uint32_t n, seer_proposal *out, uint32_t *n_out) {
  uint32_t measured = (uint32_t)s->measured.n;
  double share = s->options.strategy->formulation_share;
  if (share <= 0 || s->n_formulation < 2 || measured >= EARLY_TRIALS) return SEER_OK;
  uint32_t quota = (uint32_t)ceil(share * (measured + n));
  for (uint32_t f = 0; f < s->n_formulation; f++) {
    uint32_t have = 0;
    for (uint32_t k = 0; k < s->options.sketches->n; k++)
      have += s->formulation_of[k] == f ? s->sketch_n[k] : 0;
    for (uint32_t i = 0; i < *n_out; i++) have += s->formulation_of[out[i].schedule.sketch] == f;
    for (; have < quota && *n_out < n; have++) {
      uint32_t at;
      SEER_TRY(best_of_formulation(s, rng, f, &at));
      if (at >= s->pool.n) break;
      seer_search_take(s, &s->pool, at, SEER_ORIGIN_FORMULATION, out, n_out);
    }
  }
  return SEER_OK;
}

static uint32_t draw_random(const seer_search *s, seer_rng *rng) {
  uint32_t at = (uint32_t)seer_rng_below(rng, s->pool.n);
  for (int t = 1;
       t < NEW_TRIES && s->pool.at[at].n_alike > 0 && s->options.strategy->alike_cost > 0; t++)
    at = (uint32_t)seer_rng_below(rng, s->pool.n);
  return at;
}

static void pick(seer_search *s, seer_rng *rng, bool is_trained, uint32_t n, seer_proposal *out,
    uint32_t *n_out) {
  const seer_search_strategy *y = s->options.strategy;
  double share = is_trained ? y->random_share : y->random_share_untrained;
  // Ansor's scores are random numbers as long as there is no model (of a restricted search; else
  // evolve.c sees to that).
  if (!is_trained && y->selection == SEER_SELECT_PROPORTIONAL) share = 1;
  uint32_t n_random = (uint32_t)((double)(n - *n_out) * share);
  while (*n_out < n - n_random && s->pool.n > 0)
    seer_search_take(s, &s->pool, seer_search_most_promising(s, &s->pool, is_trained),
        is_trained ? SEER_ORIGIN_MODEL : SEER_ORIGIN_ANALYTIC, out, n_out);
  // The rest at random from what is left, so that the models also learn what is not at the top.
  while (*n_out < n && s->pool.n > 0)
    seer_search_take(s, &s->pool, draw_random(s, rng), SEER_ORIGIN_RANDOM, out, n_out);
}

static void keep_population(seer_search *s) {
  s->n_kept = s->pool.n < SEER_SEARCH_KEPT ? s->pool.n : SEER_SEARCH_KEPT;
  for (uint32_t i = 0; i < s->n_kept; i++) s->kept[i] = s->pool.at[i].schedule;
}

// All of a restricted search that is not measured.
static seer_draft_order those_open(seer_search *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n_only; i++)
    if (!seer_search_knows(s, s->only[i])) s->open[n++] = s->only[i];
  return (seer_draft_order){.kind = SEER_DRAFT_GIVEN, .n = n, .from = s->open};
}

// The best measured ones, in the order in which they are.
static const seer_schedule *const *elites_of(seer_search *s) {
  for (uint32_t i = 0; i < s->n_elite; i++) s->from[i] = &s->elites[i].schedule;
  return s->from;
}

// The first pool of a proposal, scored if there are models.
static seer_status fill_pool(seer_search *s, const seer_bank *bank, seer_rng *rng) {
  const seer_search_strategy *y = s->options.strategy;
  if (s->is_restricted) {
    seer_draft_order all = those_open(s);
    SEER_TRY(draft(s, &all, 1, bank, rng));
    return bank ? score(s, bank, 0) : SEER_OK;
  }
  const seer_schedule *kept[SEER_SEARCH_KEPT];
  for (uint32_t i = 0; i < s->n_kept; i++) kept[i] = &s->kept[i];
  const seer_draft_order orders[] = {
      {.kind = SEER_DRAFT_GIVEN, .n = s->n_kept, .from = kept},
      {.kind = SEER_DRAFT_BRED,
          .n = y->n_from_elites,
          .from = elites_of(s),
          .n_from = s->n_elite,
          .has_two_parents = true},
      fresh(s, bank ? y->n_drawn_trained : y->n_drawn_untrained),
  };
  SEER_TRY(draft(s, orders, SEER_COUNT_OF(orders), bank, rng));
  return bank ? score(s, bank, 0) : SEER_OK;
}

// A formulation that has just been cut off keeps its best: in a restricted search no other can be
// drafted for its quota. The pool was of n_before, best first; what was cut is still behind it.
static void keep_formulations(seer_search *s, uint32_t n_before) {
  seer_draft_pool *pool = &s->pool;
  for (uint32_t i = pool->n; i < n_before; i++) {
    uint32_t f = s->formulation_of[pool->at[i].schedule.sketch], k = 0;
    while (k < pool->n && s->formulation_of[pool->at[k].schedule.sketch] != f) k++;
    if (k == pool->n) pool->at[pool->n++] = pool->at[i];
  }
}

static void cut(seer_search *s) {
  if (s->options.strategy->selection != SEER_SELECT_TRUNCATION) return;
  uint32_t n_before = s->pool.n;
  cut_by_estimate(s, s->options.strategy->n_pool);
  if (s->is_restricted) keep_formulations(s, n_before);
}

// A share of what is picked under a model is what the estimate alone would pick: where the model is
// wrong it is wrong of a whole formulation, and all of its picks are.
static void pick_by_estimate(seer_search *s, uint32_t n, seer_proposal *out, uint32_t *n_out) {
  uint32_t end = *n_out + (uint32_t)(s->options.strategy->estimate_share * (n - *n_out));
  while (*n_out < end && s->pool.n > 0)
    seer_search_take(s, &s->pool, seer_search_most_promising(s, &s->pool, false),
        SEER_ORIGIN_ANALYTIC, out, n_out);
}

// From all drafts to those that are picked from: cut, looked through, bred from, scored. bank:
// trained, or NULL. In a restricted search nothing is bred: it has ranked all that there is.
static seer_status propose_by_rank(seer_search *s, const seer_bank *bank, seer_rng *rng, uint32_t n,
    seer_proposal *out, uint32_t *n_out) {
  SEER_TRY(fill_pool(s, bank, rng));
  cut(s);
  seer_search_find_look_alikes(s, &s->pool, out, *n_out);
  if (bank) {
    pick_by_estimate(s, n, out, n_out);
    if (s->is_restricted) sort_by_score(s);
    if (!s->is_restricted) SEER_TRY(evolve(s, bank, rng));
    seer_search_find_look_alikes(s, &s->pool, out, *n_out);
  }
  SEER_TRY(fill_quotas(s, rng, n, out, n_out));
  pick(s, rng, bank != NULL, n, out, n_out);
  keep_population(s);
  return SEER_OK;
}

// ---- proposing by evolution

// Candidates in the order in which they are asked for.
typedef struct {
  const seer_candidate *at;
  uint32_t n, next;
  seer_origin origin;
} list;

// The next one that is neither measured nor picked, to the end of what is picked.
static bool take_next(const seer_search *s, list *from, seer_proposal *out, uint32_t *n_out) {
  while (from->next < from->n) {
    const seer_candidate *c = &from->at[from->next++];
    bool is_new = !seer_table_has(&s->measured, c->hash);
    for (uint32_t i = 0; i < *n_out && is_new; i++)
      is_new = !seer_schedule_equal(&out[i].schedule, &c->schedule);
    if (!is_new) continue;
    out[(*n_out)++] = (seer_proposal){c->schedule, c->score, c->estimate_s, from->origin};
    return true;
  }
  return false;
}

// The best of them, and at the end some of the first population (Ansor: PickStatesWithEpsGreedy);
// where one list is exhausted, the other.
static seer_status propose_by_evolution(seer_search *s, const seer_bank *bank, seer_rng *rng,
    uint32_t n, seer_proposal *out, uint32_t *n_out) {
  const seer_search_strategy *y = s->options.strategy;
  uint32_t n_wanted = n - *n_out,
           n_random = (uint32_t)((bank ? y->random_share : y->random_share_untrained) * n_wanted),
           n_best = BEST_PER_PICK * n_wanted, n_drawn = RANDOM_PER_PICK * n_random;
  seer_candidate *room = malloc((n_best + n_drawn) * sizeof *room);
  if (!room) return SEER_FAIL(RESOURCE, "no memory for %u candidates", n_best + n_drawn);
  seer_draft_space space = seer_search_space(s, bank);
  const seer_evolution evolution = {.space = &space,
      .strategy = y,
      .sketch_weight = weigh_sketches(s),
      .n_measured = s->n_elite,
      .measured = elites_of(s)};
  seer_best best = {.known = &s->measured, .cap = n_best, .at = room};
  list random = {.at = room + n_best, .origin = SEER_ORIGIN_RANDOM};
  seer_status status =
      seer_evolve(&evolution, rng, &s->pool, &s->counts, &best, n_drawn, room + n_best, &random.n);
  list top = {.at = room, .n = best.n, .origin = bank ? SEER_ORIGIN_MODEL : SEER_ORIGIN_RANDOM};
  while (!status && *n_out < n) {
    bool is_random = *n_out >= n - n_random;
    list *first = is_random ? &random : &top, *second = is_random ? &top : &random;
    if (!take_next(s, first, out, n_out) && !take_next(s, second, out, n_out)) break;
  }
  free(room);
  return status;
}

seer_status seer_search_propose(
    seer_search *s, const seer_bank *bank, uint32_t n, seer_proposal *out, uint32_t *out_n) {
  seer_draft_pool_clear(&s->pool);
  seer_rng rng;
  seer_rng_init_stream(&rng, s->options.seed + s->options.task, s->n_propose++);
  *out_n = take_queue(s, n, out);
  bool is_trained = bank && seer_bank_is_trained(bank, s->options.task);
  if (*out_n < n)
    SEER_TRY(seer_search_propose_neighbours(s, is_trained ? bank : NULL, &rng, n, out, out_n));
  if (*out_n < n) {
    bool is_by_rank = s->is_restricted || s->options.strategy->selection == SEER_SELECT_TRUNCATION;
    SEER_TRY((is_by_rank ? propose_by_rank : propose_by_evolution)(
        s, is_trained ? bank : NULL, &rng, n, out, out_n));
  }
  s->counts.proposed += *out_n;
  return SEER_OK;
}
