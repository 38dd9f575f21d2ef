// search.c - what to draft, evolution and selection over knobs.
// A pool of candidates is drafted (draft.h): the kept population, children of the best measured
// schedules, and fresh samples, with more samples for sketches that have done well. The analytic
// model cuts the pool; the learned model, once it knows something, scores it and breeds a few
// generations. What is proposed is the top of the ranking, look-alikes apart, and a few random
// drafts. Untried neighbours of the best, where a strategy asks for them, come before that, in the
// same order. A strategy of proportional selection has evolve.c for all of this, and no estimates.

#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/parallel.h"
#include "base/stats.h"
#include "tune/search/evolve.h"

#define KEPT 128
#define BEST_PER_PICK 2  // of an evolution: what it hands on is twice what is measured
#define RANDOM_PER_PICK 3  // of those that are picked at random: drawn, as some are known
#define N_TIMES 9  // of a schedule that was measured again
#define CONFIRMED 3  // times that make one trustworthy
#define NEAR_TOP 6
#define EARLY_TRIALS 64  // of a task, of which each formulation gets a share
#define FORMULATION_DRAFTS 24  // when the pool has none of it
#define SKETCH_FLOOR 0.08  // share of a uniform draw that a bad sketch keeps
// Drafts estimated slower than the best by this factor are not scored by the model.
#define ANALYTIC_SLACK 6.0
#define NEW_TRIES 8  // draws for a random candidate without known look-alikes

// Look-alikes: schedules with the same estimate, to the last bit. They differ in what hardly
// matters: the order of two reductions, a loop of one iteration that stands elsewhere, what is
// unrolled. Two thirds of what the models alone would have measured are such (doc/decisions, 31).

typedef struct {
  seer_schedule schedule;
  double seconds;  // median of its times
  uint32_t n_time;
  double time[N_TIMES];  // the latest
} elite;

typedef struct {
  seer_schedule schedule;
  seer_origin origin;
} queued;

struct seer_search {
  seer_search_options options;
  seer_arena *arena;
  seer_summariser *summariser;
  seer_table measured;  // hashes
  seer_table alike;  // number of measured schedules by estimate
  uint32_t n_elite;
  elite *elites;  // the strategy's number of them
  double *sketch_best;  // seconds by sketch; 0: none
  uint32_t *sketch_n;
  double *sketch_weight;  // of the draw in hand
  const seer_schedule **from;  // of the order in hand: room for the pool
  uint32_t n_formulation, *formulation_of;  // by sketch
  size_t n_queue, cap_queue, queue_at;
  queued *queue;
  uint32_t n_kept;
  seer_schedule kept[KEPT];
  uint32_t n_propose;
  bool is_restricted;  // to these
  uint32_t n_only;
  const seer_schedule **only;
  const seer_schedule **open;  // of the proposal in hand: those that are not measured
  seer_table only_hashes;
  seer_draft_pool pool;
  seer_arena *around;  // of the neighbours below; emptied for those of another schedule
  uint64_t around_hash;  // of that schedule; n_near means nothing before there is one
  bool has_around;
  uint32_t n_near;
  const seer_schedule **near, **near_open;  // open: not measured yet
  seer_draft_pool near_pool;
  seer_search_counts counts;
};

void seer_search_destroy(seer_search *search) {
  if (!search) return;
  seer_arena_destroy(search->around);
  seer_arena_destroy(search->arena);
  seer_draft_pool_destroy(&search->near_pool);
  seer_draft_pool_destroy(&search->pool);
  seer_table_destroy(&search->measured);
  seer_table_destroy(&search->alike);
  seer_table_destroy(&search->only_hashes);
  free(search);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// That the pool may have to hold: of a proposal first drafts, then what is bred from those that
// went on and what formulations ask for.
static uint32_t most_candidates(const seer_search *s) {
  const seer_search_strategy *y = s->options.strategy;
  uint32_t n_first = KEPT + y->n_from_elites + larger(y->n_drawn_untrained, y->n_drawn_trained);
  uint32_t n_on = larger(y->n_pool, y->n_survivors);
  uint32_t n_bred = n_on + y->n_children + FORMULATION_DRAFTS * s->n_formulation;
  uint32_t n_evolved = y->selection == SEER_SELECT_PROPORTIONAL ? seer_evolve_room(y) : 0;
  return larger(larger(n_first, n_bred), n_evolved);
}

seer_status seer_search_create(const seer_search_options *options, seer_search **out_search) {
  *out_search = NULL;
  seer_search *s = calloc(1, sizeof(*s));
  if (!s) return SEER_FAIL(RESOURCE, "no memory for a search");
  s->options = *options;
  s->counts.cut[SEER_CUT_PLANS] = options->sketches->n_plans_cut;
  s->counts.cut[SEER_CUT_SKETCHES] = options->sketches->n_sketches_cut;
  s->arena = seer_arena_create("search");
  s->summariser = seer_summariser_create(options->sketches, s->arena);
  s->alike.n_values = 1;
  s->elites = SEER_NEW_ARRAY(s->arena, elite, options->strategy->n_elites);
  s->sketch_best = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  s->sketch_n = SEER_NEW_ARRAY(s->arena, uint32_t, options->sketches->n);
  s->sketch_weight = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  s->formulation_of = SEER_NEW_ARRAY(s->arena, uint32_t, options->sketches->n);
  s->n_formulation = seer_sketch_formulations(options->sketches, s->formulation_of);
  s->options.n_threads = seer_parallel_threads(options->n_threads, SEER_DRAFT_ISLANDS);
  uint32_t cap = most_candidates(s);
  s->from = SEER_NEW_ARRAY(s->arena, const seer_schedule *, cap);
  s->around = seer_arena_create("neighbours");
  seer_status status = seer_draft_pool_create(cap, &s->pool);
  if (!status && options->strategy->neighbour_share > 0)
    status = seer_draft_pool_create(SEER_SCHEDULE_MAX_NEIGHBOURS, &s->near_pool);
  if (status) {
    seer_search_destroy(s);
    return status;
  }
  *out_search = s;
  return SEER_OK;
}

seer_status seer_search_restrict(seer_search *s, const seer_schedule *schedules, uint32_t n) {
  SEER_ASSERT(!s->is_restricted && s->n_propose == 0, "restricted twice, or too late: %u proposals",
      s->n_propose);
  s->is_restricted = true;
  s->only = SEER_NEW_ARRAY(s->arena, const seer_schedule *, n);
  s->open = SEER_NEW_ARRAY(s->arena, const seer_schedule *, n);
  const seer_schedule *own = seer_arena_memdup(s->arena, schedules, n * sizeof *schedules);
  for (uint32_t i = 0; i < n; i++) {
    if (seer_table_add(&s->only_hashes, seer_schedule_hash(&own[i])))
      s->only[s->n_only++] = &own[i];
  }
  if (n <= s->pool.cap) return SEER_OK;
  seer_draft_pool_destroy(&s->pool);
  return seer_draft_pool_create(n, &s->pool);
}

// ---- facts about one schedule
double seer_search_estimate(const seer_search *s, const seer_schedule *schedule) {
  return seer_analytic_seconds(seer_summarise(s->summariser, schedule), s->options.target);
}

uint64_t seer_search_packed_bytes(const seer_search *s, const seer_schedule *schedule) {
  return seer_summarise(s->summariser, schedule)->packed_bytes;
}

static bool may_pack(const seer_search *s, uint64_t packed_bytes) {
  return s->options.max_packed_bytes == 0 || packed_bytes <= s->options.max_packed_bytes;
}

seer_sample seer_search_sample(const seer_search *s, const seer_feature_set *features,
    const seer_schedule *schedule, double seconds, seer_arena *arena) {
  const seer_nest *nest = seer_summarise(s->summariser, schedule);
  double estimate_s = seer_analytic_seconds(nest, s->options.target);
  float *rows = SEER_NEW_ARRAY(arena, float, (size_t)SEER_NEST_MAX_STATEMENTS * features->n_column);
  uint32_t n_row = features->extract(nest, s->options.target, estimate_s, rows);
  return (seer_sample){.task = s->options.task,
      .n_row = n_row,
      .rows = rows,
      .seconds = seconds,
      .estimate_s = estimate_s};
}

bool seer_search_knows(const seer_search *s, const seer_schedule *schedule) {
  return seer_table_has(&s->measured, seer_schedule_hash(schedule));
}

const seer_search_counts *seer_search_get_counts(const seer_search *s) { return &s->counts; }
void seer_search_reject(seer_search *s, seer_reject why) { s->counts.rejected[why]++; }

// ---- look-alikes
static uint64_t likeness(double estimate_s) {
  uint64_t bits;
  memcpy(&bits, &estimate_s, sizeof bits);
  return seer_hash_u64(bits, 0);  // one to one
}

static uint32_t n_alike(const seer_search *s, double estimate_s) {
  const uint64_t *n = seer_table_values(&s->alike, likeness(estimate_s));
  return n ? (uint32_t)*n : 0;
}

static void count_alike(seer_search *s, const seer_schedule *schedule) {
  uint64_t key = likeness(seer_search_estimate(s, schedule));
  (void)seer_table_add(&s->alike, key);
  ++*seer_table_values(&s->alike, key);
}

// ---- results
static void insert_elite(seer_search *s, elite e) {
  uint32_t at = s->n_elite, most = s->options.strategy->n_elites;
  if (at == most) {
    if (e.seconds >= s->elites[most - 1].seconds) return;
    at = most - 1;
  } else {
    s->n_elite++;
  }
  while (at > 0 && s->elites[at - 1].seconds > e.seconds) {
    s->elites[at] = s->elites[at - 1];
    at--;
  }
  s->elites[at] = e;
}

static uint32_t find_elite(const seer_search *s, const seer_schedule *schedule) {
  uint32_t at = 0;
  while (at < s->n_elite && !seer_schedule_equal(&s->elites[at].schedule, schedule)) at++;
  return at;
}

double seer_search_seconds(const seer_search *s, const seer_schedule *schedule) {
  uint32_t at = find_elite(s, schedule);
  return at < s->n_elite ? s->elites[at].seconds : 0;
}

void seer_search_witness(seer_search *s, const seer_schedule *schedule, double seconds) {
  uint32_t at = find_elite(s, schedule);
  if (at == s->n_elite) return;
  elite e = s->elites[at];
  e.time[e.n_time++ % N_TIMES] = seconds;
  uint32_t n = e.n_time < N_TIMES ? e.n_time : N_TIMES;
  double sorted[N_TIMES];
  memcpy(sorted, e.time, n * sizeof(double));
  e.seconds = seer_median(sorted, n);
  memmove(&s->elites[at], &s->elites[at + 1], (s->n_elite - at - 1) * sizeof(elite));
  s->n_elite--;
  insert_elite(s, e);
}

bool seer_search_is_confirmed(const seer_search *s) {
  return s->n_elite > 0 && s->elites[0].n_time >= CONFIRMED;
}

uint32_t seer_search_unconfirmed(const seer_search *s, uint32_t k, seer_schedule *out) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < s->n_elite && i < NEAR_TOP && n < k; i++) {
    if (s->elites[i].n_time < CONFIRMED) out[n++] = s->elites[i].schedule;
  }
  return n;
}

void seer_search_report(
    seer_search *s, const seer_schedule *schedule, double seconds, bool is_full) {
  bool was_known = !seer_table_add(&s->measured, seer_schedule_hash(schedule));
  if (!was_known && s->options.strategy->alike_cost > 0) count_alike(s, schedule);
  s->sketch_n[schedule->sketch]++;
  if (seconds <= 0) return;
  double *best = &s->sketch_best[schedule->sketch];
  if (*best <= 0 || seconds < *best) *best = seconds;
  if (is_full && !was_known)
    insert_elite(
        s, (elite){.schedule = *schedule, .seconds = seconds, .n_time = 1, .time = {seconds}});
}

double seer_search_best(const seer_search *s, seer_schedule *out_schedule) {
  if (s->n_elite == 0) return 0;
  if (out_schedule) *out_schedule = s->elites[0].schedule;
  return s->elites[0].seconds;
}

uint32_t seer_search_top(
    const seer_search *s, uint32_t k, seer_schedule *out, double *out_seconds) {
  uint32_t n = k < s->n_elite ? k : s->n_elite;
  for (uint32_t i = 0; i < n; i++) {
    out[i] = s->elites[i].schedule;
    if (out_seconds) out_seconds[i] = s->elites[i].seconds;
  }
  return n;
}

// ---- the queue
void seer_search_queue(seer_search *s, const seer_schedule *schedule, seer_origin origin) {
  seer_schedule normal = *schedule;
  seer_schedule_normalise(s->options.sketches, &normal);
  seer_reject why = seer_schedule_check(s->options.sketches, &normal);
  if (why == SEER_REJECT_NONE && seer_search_knows(s, &normal)) why = SEER_REJECT_DUPLICATE;
  if (why == SEER_REJECT_NONE && !may_pack(s, seer_search_packed_bytes(s, &normal)))
    why = SEER_REJECT_WEIGHTS;
  if (why == SEER_REJECT_NONE && s->is_restricted &&
      !seer_table_has(&s->only_hashes, seer_schedule_hash(&normal)))
    why = SEER_REJECT_POOL;
  if (why != SEER_REJECT_NONE) {
    seer_search_reject(s, why);
    return;
  }
  for (size_t i = s->queue_at; i < s->n_queue; i++) {
    if (seer_schedule_equal(&s->queue[i].schedule, &normal)) return;
  }
  if (s->queue_at > s->n_queue / 2) {  // what has been taken makes room
    s->n_queue -= s->queue_at;
    memmove(s->queue, s->queue + s->queue_at, s->n_queue * sizeof(queued));
    s->queue_at = 0;
  }
  s->queue = SEER_GROW(s->arena, queued, s->queue, s->n_queue, &s->cap_queue);
  s->queue[s->n_queue++] = (queued){normal, origin};
}

uint32_t seer_search_queued(const seer_search *s) { return (uint32_t)(s->n_queue - s->queue_at); }

// ---- the pool

static seer_draft_space space_of(const seer_search *s, const seer_bank *bank) {
  return (seer_draft_space){.sketches = s->options.sketches,
      .facts = seer_summariser_facts(s->summariser),
      .target = s->options.target,
      .max_packed_bytes = s->options.max_packed_bytes,
      .known = &s->measured,
      .bank = bank,
      .task = s->options.task,
      .n_threads = s->options.n_threads};
}

// Drafts into the pool. The bank rates what is new; NULL: nobody does.
static seer_status draft(seer_search *s, const seer_draft_order *orders, uint32_t n_orders,
    const seer_bank *bank, seer_rng *rng) {
  seer_draft_space space = space_of(s, bank);
  return seer_draft(&space, orders, n_orders, seer_rng_u64(rng), &s->pool, &s->counts);
}

// By sketch: all alike, or more of those that have done well.
static const double *weigh_sketches(seer_search *s) {
  double best = s->n_elite ? s->elites[0].seconds : 0, *weight = s->sketch_weight;
  for (uint32_t k = 0; k < s->options.sketches->n; k++) {
    double ratio = s->sketch_best[k] > 0 && best > 0 ? best / s->sketch_best[k] : 1;
    bool is_weighed = s->options.strategy->favours_good_sketches;
    weight[k] = is_weighed ? fmax(SKETCH_FLOOR, ratio * ratio * ratio) : 1;
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
  if (pool->n == 0) return;
  qsort(pool->at, pool->n, sizeof *pool->at, seer_candidate_by_estimate);
  double most_s = ANALYTIC_SLACK * pool->at[0].estimate_s;
  uint32_t n = 0;
  while (n < pool->n && n < keep && pool->at[n].estimate_s <= most_s) n++;
  pool->n = n;
}

static void sort_by_score(seer_search *s) {
  qsort(s->pool.at, s->pool.n, sizeof *s->pool.at, by_score);
}

// Of what the bank has rated: the pool from `first` on.
static seer_status score(seer_search *s, const seer_bank *bank, uint32_t first) {
  seer_draft_space space = space_of(s, bank);
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
    const queued *q = &s->queue[s->queue_at++];
    if (seer_search_knows(s, &q->schedule) ||
        !seer_draft_pool_see(&s->pool, seer_schedule_hash(&q->schedule)))
      continue;
    out[taken++] =
        (seer_proposal){q->schedule, 0, seer_search_estimate(s, &q->schedule), q->origin};
  }
  return taken;
}

static void take_from_pool(
    seer_draft_pool *pool, uint32_t at, seer_origin origin, seer_proposal *out, uint32_t *n_out) {
  seer_candidate *c = &pool->at[at];
  double estimate_s = c->estimate_s;
  out[(*n_out)++] = (seer_proposal){c->schedule, c->score, estimate_s, origin};
  pool->n--;
  memmove(c, c + 1, (pool->n - at) * sizeof *c);
  for (uint32_t i = 0; i < pool->n; i++)
    pool->at[i].n_alike += pool->at[i].estimate_s == estimate_s;
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
  seer_draft_order order = {
      .kind = SEER_DRAFT_DRAWN, .n = FORMULATION_DRAFTS, .sketch_weight = s->sketch_weight};
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
      take_from_pool(&s->pool, at, SEER_ORIGIN_FORMULATION, out, n_out);
    }
  }
  return SEER_OK;
}

// Expected relative throughput, less for each look-alike that is known. Before there is a model the
// estimates say what is expected, relative to the pool's least.
static uint32_t most_promising(const seer_search *s, const seer_draft_pool *pool, bool is_trained) {
  double least_s = INFINITY, most = -INFINITY;
  for (uint32_t i = 0; i < pool->n; i++) least_s = fmin(least_s, pool->at[i].estimate_s);
  uint32_t best = 0;
  for (uint32_t i = 0; i < pool->n; i++) {
    const seer_candidate *c = &pool->at[i];
    double promise = is_trained ? (double)c->score : least_s / c->estimate_s;
    promise -= s->options.strategy->alike_cost * log2(1 + c->n_alike);
    if (promise > most) {
      most = promise;
      best = i;
    }
  }
  return best;
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
    take_from_pool(&s->pool, most_promising(s, &s->pool, is_trained),
        is_trained ? SEER_ORIGIN_MODEL : SEER_ORIGIN_ANALYTIC, out, n_out);
  // The rest at random from what is left, so that the models also learn what is not at the top.
  while (*n_out < n && s->pool.n > 0)
    take_from_pool(&s->pool, draw_random(s, rng), SEER_ORIGIN_RANDOM, out, n_out);
}

// Of what is in the pool: measured, or taken from the queue.
static void find_look_alikes(
    const seer_search *s, seer_draft_pool *pool, const seer_proposal *taken, uint32_t n_taken) {
  for (uint32_t i = 0; i < pool->n; i++) {
    seer_candidate *c = &pool->at[i];
    c->n_alike = n_alike(s, c->estimate_s);
    for (uint32_t k = 0; k < n_taken; k++) c->n_alike += taken[k].estimate_s == c->estimate_s;
  }
}

static void keep_population(seer_search *s) {
  s->n_kept = s->pool.n < KEPT ? s->pool.n : KEPT;
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
  const seer_schedule *kept[KEPT];
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

// In a restricted search nothing is bred: it has ranked all that there is.
static void refine_restricted(seer_search *s, bool is_trained) {
  if (s->options.strategy->selection == SEER_SELECT_TRUNCATION) {
    uint32_t n_before = s->pool.n;
    cut_by_estimate(s, s->options.strategy->n_pool);
    keep_formulations(s, n_before);
  }
  if (is_trained) sort_by_score(s);
}

// From all drafts to those that are picked from: cut, bred from, scored. bank: trained, or NULL.
static seer_status refine_pool(seer_search *s, const seer_bank *bank, seer_rng *rng) {
  const seer_search_strategy *y = s->options.strategy;
  if (s->is_restricted) {
    refine_restricted(s, bank != NULL);
    return SEER_OK;
  }
  cut_by_estimate(s, y->n_pool);
  return bank ? evolve(s, bank, rng) : SEER_OK;
}

static seer_status propose_by_rank(seer_search *s, const seer_bank *bank, seer_rng *rng, uint32_t n,
    seer_proposal *out, uint32_t *n_out) {
  SEER_TRY(fill_pool(s, bank, rng));
  SEER_TRY(refine_pool(s, bank, rng));
  find_look_alikes(s, &s->pool, out, *n_out);
  SEER_TRY(fill_quotas(s, rng, n, out, n_out));
  pick(s, rng, bank != NULL, n, out, n_out);
  keep_population(s);
  return SEER_OK;
}

// ---- neighbours

// Those of a schedule that may be worth a measurement, tried or not. They are found once for each.
static void look_around(seer_search *s, const seer_schedule *schedule) {
  uint64_t hash = seer_schedule_hash(schedule);
  if (s->has_around && hash == s->around_hash) return;
  seer_arena_reset(s->around);
  seer_schedule *all;
  uint32_t n = seer_schedule_neighbours(s->options.sketches, schedule, s->around, &all);
  double most_s = ANALYTIC_SLACK * seer_search_estimate(s, schedule);
  s->near = SEER_NEW_ARRAY(s->around, const seer_schedule *, n + 1);
  s->near_open = SEER_NEW_ARRAY(s->around, const seer_schedule *, n + 1);
  s->n_near = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool is_there =
        !s->is_restricted || seer_table_has(&s->only_hashes, seer_schedule_hash(&all[i]));
    if (is_there && seer_search_estimate(s, &all[i]) <= most_s &&
        may_pack(s, seer_search_packed_bytes(s, &all[i])))
      s->near[s->n_near++] = &all[i];
  }
  s->around_hash = hash;
  s->has_around = true;
}

static uint32_t list_open(seer_search *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n_near; i++)
    if (!seer_search_knows(s, s->near[i])) s->near_open[n++] = s->near[i];
  return n;
}

bool seer_search_is_local_optimum(seer_search *s) {
  if (s->options.strategy->neighbour_share <= 0 || !seer_search_is_confirmed(s)) return false;
  look_around(s, &s->elites[0].schedule);
  return list_open(s) == 0;
}

// A best that was measured once may be luck: its neighbours wait until its time is believed, and
// meanwhile those of the best that is have their turn.
static const elite *believed_best(const seer_search *s) {
  for (uint32_t i = 0; i < s->n_elite && i < NEAR_TOP; i++)
    if (s->elites[i].n_time >= CONFIRMED) return &s->elites[i];
  return NULL;
}

static seer_status propose_neighbours(seer_search *s, const seer_bank *bank, seer_rng *rng,
    uint32_t n, seer_proposal *out, uint32_t *n_out) {
  double share = s->options.strategy->neighbour_share;
  const elite *best = share > 0 ? believed_best(s) : NULL;
  if (!best) return SEER_OK;
  look_around(s, &best->schedule);
  uint32_t n_open = list_open(s), most = *n_out + (uint32_t)ceil(share * (n - *n_out));
  if (n_open == 0) return SEER_OK;
  seer_draft_pool *pool = &s->near_pool;
  seer_draft_pool_clear(pool);
  for (uint32_t i = 0; i < *n_out; i++)
    (void)seer_draft_pool_see(pool, seer_schedule_hash(&out[i].schedule));
  const seer_draft_order all = {.kind = SEER_DRAFT_GIVEN, .n = n_open, .from = s->near_open};
  seer_draft_space space = space_of(s, bank);
  SEER_TRY(seer_draft(&space, &all, 1, seer_rng_u64(rng), pool, &s->counts));
  if (bank) SEER_TRY(seer_draft_score(&space, pool, 0));
  find_look_alikes(s, pool, out, *n_out);
  while (*n_out < most && pool->n > 0) {
    take_from_pool(pool, most_promising(s, pool, bank != NULL), SEER_ORIGIN_NEIGHBOUR, out, n_out);
    (void)seer_draft_pool_see(&s->pool, seer_schedule_hash(&out[*n_out - 1].schedule));
  }
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
  seer_draft_space space = space_of(s, bank);
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
  if (*out_n < n) SEER_TRY(propose_neighbours(s, is_trained ? bank : NULL, &rng, n, out, out_n));
  if (*out_n < n) {
    bool is_by_rank = s->is_restricted || s->options.strategy->selection == SEER_SELECT_TRUNCATION;
    SEER_TRY((is_by_rank ? propose_by_rank : propose_by_evolution)(
        s, is_trained ? bank : NULL, &rng, n, out, out_n));
  }
  s->counts.proposed += *out_n;
  return SEER_OK;
}
