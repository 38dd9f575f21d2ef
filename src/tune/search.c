// search.c - drafts, evolution and selection over knobs.
// A pool of candidates is drafted: the kept population, children of the best measured schedules,
// and fresh samples, with more samples for sketches that have done well. The analytic model cuts
// the pool; the learned model, once it knows something, scores it and breeds a few generations.
// What is proposed is the top of the ranking, look-alikes apart, and a few random drafts.

#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/stats.h"

// Sizes of one proposal. Chosen so that a proposal costs well under a tenth of building and timing
// what it proposes.
#define POOL 512
#define FRESH_UNTRAINED 320
#define FRESH_TRAINED 96
#define FROM_ELITES 128
#define KEPT 128
#define GENERATIONS 3
#define CHILDREN 128
#define ANSOR_POPULATION 2048
#define ANSOR_GENERATIONS 4
#define N_ELITE 48
#define N_TIMES 9  // of a schedule that was measured again
#define CONFIRMED 3  // times that make one trustworthy
#define NEAR_TOP 6
// Of a task's first trials, each formulation gets at least this share before it may be dropped.
#define EARLY_TRIALS 64
#define FORMULATION_SHARE 0.1
#define FORMULATION_DRAFTS 24  // when the pool has none of it
#define MAX_TRIES 6  // of a sampler or mutator that refuses
#define SKETCH_FLOOR 0.08  // share of a uniform draw that a bad sketch keeps
#define CROSS_SHARE 0.15
#define ANALYTIC_SLACK \
  6.0  // drafts estimated slower than the best by this factor are not scored by the model

// Schedules with the same estimate, to the last bit, differ in what hardly matters: the order of
// two reductions, a loop of one iteration that stands elsewhere, what is unrolled. Two thirds of
// what the models alone would have measured are such look-alikes (doc/decisions, 31).
#define ALIKE_COST 0.04  // of relative throughput, each time that the known look-alikes double
#define NEW_TRIES 8  // draws for a random candidate without known look-alikes

typedef struct {
  seer_schedule schedule;
  uint64_t hash;
  double analytic_s;
  float score;
  uint32_t n_alike;  // known look-alikes; set when candidates are picked
  uint32_t n_rows;  // of features, in the order of drafting (search.rows)
} candidate;

typedef struct {
  seer_schedule schedule;
  double seconds;  // median of its times
  uint32_t n_time;
  double time[N_TIMES];  // the latest
} elite;

typedef struct {
  seer_schedule schedule;
  const char *origin;
} queued;

struct seer_search {
  seer_search_options options;
  seer_arena *arena;
  seer_summariser *summariser;
  seer_map *measured;  // a set of hashes
  seer_map *alike;  // number of measured schedules by estimate
  uint32_t n_elite;
  elite elites[N_ELITE];
  double *sketch_best;  // seconds by sketch; 0: none
  uint32_t *sketch_n;
  double *sketch_weight;  // of the draw at hand
  uint32_t n_formulation, *formulation_of;  // by sketch
  size_t n_queue, cap_queue, queue_at;
  queued *queue;
  uint32_t n_kept;
  seer_schedule kept[KEPT];
  uint32_t n_propose;
  seer_frame frame[2];  // of the draft in hand, and of its next step
  candidate *pool;
  uint32_t n_pool, cap_pool;
  uint64_t *seen;  // open-addressing set of hashes of the pool
  uint32_t n_seen_slots;
  float *rows;  // features of drafts that are not scored yet; NULL while there is no model
  size_t n_row;
  seer_search_counts counts;
};

void seer_search_destroy(seer_search *search) {
  if (!search) return;
  seer_arena_destroy(search->arena);
  free(search->pool);
  free(search->seen);
  free(search);
}

static void number_formulations(seer_search *s) {
  const seer_sketch_list *list = s->options.sketches;
  s->formulation_of = SEER_NEW_ARRAY(s->arena, uint32_t, list->n);
  for (uint32_t k = 0; k < list->n; k++) {
    uint32_t j = 0;
    while (strcmp(list->sketch[j]->formulation, list->sketch[k]->formulation) != 0) j++;
    s->formulation_of[k] = j < k ? s->formulation_of[j] : s->n_formulation++;
  }
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
  s->measured = seer_map_create(s->arena);
  s->alike = seer_map_create(s->arena);
  s->sketch_best = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  s->sketch_n = SEER_NEW_ARRAY(s->arena, uint32_t, options->sketches->n);
  s->sketch_weight = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  number_formulations(s);
  s->cap_pool = options->is_ansor ? 2 * ANSOR_POPULATION : 2 * POOL;
  s->n_seen_slots = 1;
  while (s->n_seen_slots < 8 * s->cap_pool) s->n_seen_slots *= 2;
  s->pool = malloc(s->cap_pool * sizeof(candidate));
  s->seen = malloc(s->n_seen_slots * sizeof(uint64_t));
  if (!s->pool || !s->seen) {
    seer_search_destroy(s);
    return SEER_FAIL(RESOURCE, "no memory for a search");
  }
  *out_search = s;
  return SEER_OK;
}

// ---- facts about one schedule
double seer_search_analytic(const seer_search *s, const seer_schedule *schedule) {
  return seer_analytic_seconds(seer_summarise(s->summariser, schedule), s->options.target);
}

uint64_t seer_search_packed_bytes(const seer_search *s, const seer_schedule *schedule) {
  return seer_summarise(s->summariser, schedule)->packed_bytes;
}

static bool may_pack(const seer_search *s, uint64_t packed_bytes) {
  return s->options.max_packed_bytes == 0 || packed_bytes <= s->options.max_packed_bytes;
}

uint32_t seer_search_features(
    const seer_search *s, const seer_schedule *schedule, float *out_rows) {
  const seer_nest *nest = seer_summarise(s->summariser, schedule);
  double seconds = seer_analytic_seconds(nest, s->options.target);
  return seer_feature_extract(nest, s->options.target, seconds, out_rows);
}

bool seer_search_knows(const seer_search *s, const seer_schedule *schedule) {
  return seer_map_get(s->measured, seer_schedule_hash(schedule), NULL);
}

uint32_t seer_search_n_measured(const seer_search *s) {
  return (uint32_t)seer_map_count(s->measured);
}
const seer_search_counts *seer_search_get_counts(const seer_search *s) { return &s->counts; }
void seer_search_reject(seer_search *s, seer_reject why) { s->counts.rejected[why]++; }

// ---- look-alikes
static uint64_t likeness(double analytic_s) {
  uint64_t bits;
  memcpy(&bits, &analytic_s, sizeof bits);
  return bits;
}

static uint32_t n_alike(const seer_search *s, double analytic_s) {
  uint64_t n = 0;
  return seer_map_get(s->alike, likeness(analytic_s), &n) ? (uint32_t)n : 0;
}

static void count_alike(seer_search *s, const seer_schedule *schedule) {
  double analytic_s = seer_search_analytic(s, schedule);
  seer_map_set(s->alike, likeness(analytic_s), n_alike(s, analytic_s) + 1);
}

// ---- results
static void insert_elite(seer_search *s, elite e) {
  uint32_t at = s->n_elite;
  if (at == N_ELITE) {
    if (e.seconds >= s->elites[N_ELITE - 1].seconds) return;
    at = N_ELITE - 1;
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
  seer_sort_f64(sorted, n);
  e.seconds = seer_sorted_median(sorted, n);
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
  uint64_t hash = seer_schedule_hash(schedule);
  bool was_known = seer_map_get(s->measured, hash, NULL);
  seer_map_set(s->measured, hash, 1);
  if (!was_known && !s->options.is_ansor) count_alike(s, schedule);
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
void seer_search_queue(seer_search *s, const seer_schedule *schedule, const char *origin) {
  seer_schedule normal = *schedule;
  seer_schedule_normalise(s->options.sketches, &normal);
  seer_reject why = seer_schedule_check(s->options.sketches, &normal);
  if (why == SEER_REJECT_NONE && seer_search_knows(s, &normal)) why = SEER_REJECT_DUPLICATE;
  if (why == SEER_REJECT_NONE && !may_pack(s, seer_search_packed_bytes(s, &normal)))
    why = SEER_REJECT_WEIGHTS;
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
static void clear_pool(seer_search *s) {
  s->n_pool = 0;
  memset(s->seen, 0, s->n_seen_slots * sizeof(uint64_t));
}

static bool see(seer_search *s, uint64_t hash) {
  hash |= hash == 0;
  for (uint32_t at = (uint32_t)hash & (s->n_seen_slots - 1);;
       at = (at + 1) & (s->n_seen_slots - 1)) {
    if (s->seen[at] == hash) return false;
    if (s->seen[at] == 0) {
      s->seen[at] = hash;
      return true;
    }
  }
}

// Normalised, new, valid, not measured: then it is in the pool with its analytic estimate. `frame`:
// the schedule's, checked; NULL where nobody has made one.
static void add_draft(seer_search *s, const seer_schedule *schedule, const seer_frame *frame) {
  if (s->n_pool == s->cap_pool) {
    s->counts.cut[SEER_CUT_POOL]++;
    return;
  }
  uint64_t hash = seer_schedule_hash(schedule);
  if (!see(s, hash) || seer_map_get(s->measured, hash, NULL)) {
    s->counts.rejected[SEER_REJECT_DUPLICATE]++;
    return;
  }
  seer_reject reject = SEER_REJECT_NONE;
  const seer_nest *nest = frame ? seer_summarise_frame(s->summariser, frame)
                                : seer_summarise_checked(s->summariser, schedule, &reject);
  if (!nest) {
    s->counts.rejected[reject]++;
    return;
  }
  s->counts.cut[SEER_CUT_ACCESSES] += nest->n_left_out;
  if (!may_pack(s, nest->packed_bytes)) {
    s->counts.rejected[SEER_REJECT_WEIGHTS]++;
    return;
  }
  candidate *c = &s->pool[s->n_pool++];
  c->schedule = *schedule;
  c->hash = hash;
  c->score = 0;
  c->analytic_s = seer_analytic_seconds(nest, s->options.target);
  c->n_alike = 0;
  c->n_rows = 0;
  if (s->rows) {
    c->n_rows = seer_feature_extract(
        nest, s->options.target, c->analytic_s, s->rows + s->n_row * seer_feature_count);
    s->n_row += c->n_rows;
  }
  s->counts.drafted++;
}

static uint32_t draw_sketch(seer_search *s, seer_rng *rng) {
  uint32_t n = s->options.sketches->n;
  double best = s->n_elite ? s->elites[0].seconds : 0, total = 0, *weight = s->sketch_weight;
  for (uint32_t k = 0; k < n; k++) {
    double ratio = s->sketch_best[k] > 0 && best > 0 ? best / s->sketch_best[k] : 1;
    weight[k] = s->options.is_ansor ? 1 : fmax(SKETCH_FLOOR, ratio * ratio * ratio);
    total += weight[k];
  }
  double at = seer_rng_f64(rng) * total;
  for (uint32_t k = 0; k < n; k++) {
    at -= weight[k];
    if (at < 0) return k;
  }
  return n - 1;
}

static void draft_fresh(seer_search *s, seer_rng *rng, uint32_t n) {
  seer_schedule schedule;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t sketch = draw_sketch(s, rng);
    for (int t = 0; t < MAX_TRIES; t++) {
      seer_reject reject =
          seer_schedule_sample(s->options.sketches, sketch, rng, &schedule, &s->frame[0]);
      if (reject == SEER_REJECT_NONE) {
        add_draft(s, &schedule, &s->frame[0]);
        break;
      }
      s->counts.rejected[reject]++;
    }
  }
}

static void draft_child(
    seer_search *s, seer_rng *rng, const seer_schedule *a, const seer_schedule *b) {
  seer_schedule child = *a, next;
  bool has_frame = false;  // `child` is not `a` itself: its frame is the one that is not spare
  uint32_t spare = 0;
  bool is_crossed = b && seer_rng_chance(rng, CROSS_SHARE) &&
      seer_schedule_cross(s->options.sketches, rng, a, b, &child, &s->frame[spare]) ==
          SEER_REJECT_NONE;
  if (is_crossed) {
    has_frame = true;
    spare ^= 1;
  }
  // Several small steps now and then: neighbours of the best are soon all known.
  uint64_t steps = is_crossed ? seer_rng_below(rng, 2) : 1 + seer_rng_below(rng, 3);
  for (uint64_t i = 0; i < steps; i++) {
    for (int t = 0; t < MAX_TRIES; t++) {
      seer_reject reject =
          seer_schedule_mutate(s->options.sketches, rng, &child, &next, &s->frame[spare]);
      if (reject == SEER_REJECT_NONE) {
        child = next;
        has_frame = true;
        spare ^= 1;
        break;
      }
      s->counts.rejected[reject]++;
    }
  }
  add_draft(s, &child, has_frame ? &s->frame[spare ^ 1] : NULL);
}

// Better ranks are drawn more often: the smaller of two draws.
static uint32_t draw_rank(seer_rng *rng, uint32_t n) {
  uint64_t a = seer_rng_below(rng, n), b = seer_rng_below(rng, n);
  return (uint32_t)(a < b ? a : b);
}

static void draft_from_elites(seer_search *s, seer_rng *rng, uint32_t n) {
  for (uint32_t i = 0; i < n && s->n_elite; i++) {
    const seer_schedule *a = &s->elites[draw_rank(rng, s->n_elite)].schedule;
    draft_child(s, rng, a, &s->elites[draw_rank(rng, s->n_elite)].schedule);
  }
}

static int by_analytic(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->analytic_s != y->analytic_s) return x->analytic_s < y->analytic_s ? -1 : 1;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_score(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return by_analytic(a, b);
}

static void cut_by_analytic(seer_search *s, uint32_t keep) {
  if (s->n_pool == 0) return;
  qsort(s->pool, s->n_pool, sizeof(candidate), by_analytic);
  uint32_t n = 0;
  while (
      n < s->n_pool && n < keep && s->pool[n].analytic_s <= ANALYTIC_SLACK * s->pool[0].analytic_s)
    n++;
  s->n_pool = n;
}

// Scores what was drafted since the last time: the pool from `first` on, still in that order.
static seer_status score(seer_search *s, seer_bank *bank, uint32_t first) {
  uint32_t n = s->n_pool - first;
  if (n == 0) return SEER_OK;
  uint32_t *n_rows = malloc(n * sizeof(uint32_t));
  float *scores = malloc(n * sizeof(float));
  double *estimates = malloc(n * sizeof(double));
  seer_status status =
      n_rows && scores && estimates ? SEER_OK : SEER_FAIL(RESOURCE, "no memory for %u scores", n);
  for (uint32_t i = 0; i < n && !status; i++) {
    n_rows[i] = s->pool[first + i].n_rows;
    estimates[i] = s->pool[first + i].analytic_s;
  }
  if (!status) {
    seer_bank_candidates candidates = {n, s->rows, n_rows, estimates};
    status = seer_bank_predict(bank, s->options.task, &candidates, scores);
  }
  for (uint32_t i = 0; i < n && !status; i++) s->pool[first + i].score = scores[i];
  s->counts.scored += n;
  s->n_row = 0;
  free(n_rows);
  free(scores);
  free(estimates);
  return status;
}

// Parents are the pool, best first; children join it.
static seer_status evolve(seer_search *s, seer_bank *bank, seer_rng *rng, uint32_t generations,
    uint32_t children, uint32_t keep) {
  qsort(s->pool, s->n_pool, sizeof(candidate), by_score);
  for (uint32_t g = 0; g < generations; g++) {
    uint32_t n = s->n_pool, parents = n < keep / 2 ? n : keep / 2;
    for (uint32_t i = 0; i < children && parents; i++) {
      seer_schedule a = s->pool[draw_rank(rng, parents)].schedule,
                    b = s->pool[draw_rank(rng, parents)].schedule;
      draft_child(s, rng, &a, &b);
    }
    SEER_TRY(score(s, bank, n));
    qsort(s->pool, s->n_pool, sizeof(candidate), by_score);
    if (s->n_pool > keep) s->n_pool = keep;
  }
  return SEER_OK;
}

// ---- proposing
static uint32_t take_queue(seer_search *s, uint32_t n, seer_proposal *out) {
  uint32_t taken = 0;
  while (taken < n && s->queue_at < s->n_queue) {
    const queued *q = &s->queue[s->queue_at++];
    if (seer_search_knows(s, &q->schedule) || !see(s, seer_schedule_hash(&q->schedule))) continue;
    out[taken++] =
        (seer_proposal){q->schedule, 0, seer_search_analytic(s, &q->schedule), q->origin};
  }
  return taken;
}

static void take_from_pool(
    seer_search *s, uint32_t at, const char *origin, seer_proposal *out, uint32_t *n_out) {
  candidate *c = &s->pool[at];
  double analytic_s = c->analytic_s;
  out[(*n_out)++] = (seer_proposal){c->schedule, c->score, analytic_s, origin};
  s->n_pool--;
  memmove(c, c + 1, (s->n_pool - at) * sizeof(candidate));
  for (uint32_t i = 0; i < s->n_pool; i++)
    s->pool[i].n_alike += s->pool[i].analytic_s == analytic_s;
}

// Index in the pool of the best candidate of formulation f; drafts some when there is none.
static uint32_t best_of_formulation(seer_search *s, seer_rng *rng, uint32_t f) {
  for (uint32_t i = 0; i < s->n_pool; i++) {
    if (s->formulation_of[s->pool[i].schedule.sketch] == f) return i;
  }
  uint32_t best = s->n_pool, n_sketch = s->options.sketches->n;
  SEER_ASSERT(n_sketch > 0, "formulation %u without a sketch", f);
  for (uint32_t i = 0; i < FORMULATION_DRAFTS; i++) {
    uint32_t sketch = (uint32_t)seer_rng_below(rng, n_sketch);
    while (s->formulation_of[sketch] != f) sketch = (sketch + 1) % n_sketch;
    seer_schedule schedule;
    if (seer_schedule_sample(s->options.sketches, sketch, rng, &schedule, &s->frame[0]) !=
        SEER_REJECT_NONE)
      continue;
    uint32_t at = s->n_pool;
    add_draft(s, &schedule, &s->frame[0]);
    if (s->n_pool > at && s->pool[at].analytic_s < s->pool[best].analytic_s) best = at;
  }
  return best;
}

// The models know little of a formulation that was hardly measured: they must not drop it unseen.
static void fill_quotas(
    seer_search *s, seer_rng *rng, uint32_t n, seer_proposal *out, uint32_t *n_out) {
  uint32_t measured = seer_search_n_measured(s);
  if (s->options.is_ansor || s->n_formulation < 2 || measured >= EARLY_TRIALS) return;
  uint32_t quota = (uint32_t)ceil(FORMULATION_SHARE * (measured + n));
  for (uint32_t f = 0; f < s->n_formulation; f++) {
    uint32_t have = 0;
    for (uint32_t k = 0; k < s->options.sketches->n; k++)
      have += s->formulation_of[k] == f ? s->sketch_n[k] : 0;
    for (uint32_t i = 0; i < *n_out; i++) have += s->formulation_of[out[i].schedule.sketch] == f;
    for (; have < quota && *n_out < n; have++) {
      uint32_t at = best_of_formulation(s, rng, f);
      if (at >= s->n_pool) break;
      take_from_pool(s, at, "formulation", out, n_out);
    }
  }
}

// Expected relative throughput, less for each look-alike that is known. Before there is a model the
// estimates say what is expected, relative to the pool's least.
static uint32_t most_promising(const seer_search *s, bool is_trained) {
  double least_s = INFINITY, most = -INFINITY;
  for (uint32_t i = 0; i < s->n_pool; i++) least_s = fmin(least_s, s->pool[i].analytic_s);
  uint32_t best = 0;
  for (uint32_t i = 0; i < s->n_pool; i++) {
    const candidate *c = &s->pool[i];
    bool has_score = is_trained || s->options.is_ansor;
    double promise = has_score ? (double)c->score : least_s / c->analytic_s;
    if (!s->options.is_ansor) promise -= ALIKE_COST * log2(1 + c->n_alike);
    if (promise > most) {
      most = promise;
      best = i;
    }
  }
  return best;
}

static uint32_t draw_random(const seer_search *s, seer_rng *rng) {
  uint32_t at = (uint32_t)seer_rng_below(rng, s->n_pool);
  for (int t = 1; t < NEW_TRIES && s->pool[at].n_alike > 0 && !s->options.is_ansor; t++)
    at = (uint32_t)seer_rng_below(rng, s->n_pool);
  return at;
}

static void pick(seer_search *s, seer_rng *rng, bool is_trained, uint32_t n, seer_proposal *out,
    uint32_t *n_out) {
  uint32_t n_random =
      (uint32_t)((double)(n - *n_out) * (is_trained ? s->options.random_share : 0.5));
  while (*n_out < n - n_random && s->n_pool > 0)
    take_from_pool(s, most_promising(s, is_trained), is_trained ? "model" : "analytic", out, n_out);
  // The rest at random from what is left, so that the models also learn what is not at the top.
  while (*n_out < n && s->n_pool > 0) take_from_pool(s, draw_random(s, rng), "random", out, n_out);
}

// Of what is in the pool: measured, or taken from the queue.
static void find_look_alikes(seer_search *s, const seer_proposal *taken, uint32_t n_taken) {
  for (uint32_t i = 0; i < s->n_pool; i++) {
    candidate *c = &s->pool[i];
    c->n_alike = n_alike(s, c->analytic_s);
    for (uint32_t k = 0; k < n_taken; k++) c->n_alike += taken[k].analytic_s == c->analytic_s;
  }
}

static void keep_population(seer_search *s) {
  s->n_kept = s->n_pool < KEPT ? s->n_pool : KEPT;
  for (uint32_t i = 0; i < s->n_kept; i++) s->kept[i] = s->pool[i].schedule;
}

seer_status seer_search_propose(
    seer_search *s, seer_bank *bank, uint32_t n, seer_proposal *out, uint32_t *out_n) {
  *out_n = 0;
  clear_pool(s);
  seer_rng rng;
  seer_rng_init_stream(&rng, s->options.seed + s->options.task, s->n_propose++);
  *out_n = take_queue(s, n, out);
  seer_status status = SEER_OK;
  if (*out_n < n) {
    bool is_trained = bank && seer_bank_is_trained(bank, s->options.task);
    if (is_trained) {
      s->rows = malloc(
          (size_t)s->cap_pool * SEER_NEST_MAX_STATEMENTS * seer_feature_count * sizeof(float));
      if (!s->rows) return SEER_FAIL(RESOURCE, "no memory for features");
    }
    for (uint32_t i = 0; i < s->n_kept; i++) add_draft(s, &s->kept[i], NULL);
    if (s->options.is_ansor) {
      draft_from_elites(s, &rng, s->n_elite);
      draft_fresh(s, &rng, ANSOR_POPULATION);
    } else {
      draft_from_elites(s, &rng, FROM_ELITES);
      draft_fresh(s, &rng, is_trained ? FRESH_TRAINED : FRESH_UNTRAINED);
    }
    if (is_trained) status = score(s, bank, 0);
    if (!s->options.is_ansor) cut_by_analytic(s, POOL);
    if (is_trained && !status) {
      uint32_t generations = s->options.is_ansor ? ANSOR_GENERATIONS : GENERATIONS;
      uint32_t size = s->options.is_ansor ? ANSOR_POPULATION : CHILDREN;
      status = evolve(
          s, bank, &rng, generations, size, s->options.is_ansor ? ANSOR_POPULATION : POOL / 2);
    } else if (s->options.is_ansor) {  // Ansor's untrained model scores at random
      for (uint32_t i = 0; i < s->n_pool; i++) s->pool[i].score = (float)seer_rng_f64(&rng);
      qsort(s->pool, s->n_pool, sizeof(candidate), by_score);
    }
    if (!status) {
      find_look_alikes(s, out, *out_n);
      fill_quotas(s, &rng, n, out, out_n);
      pick(s, &rng, is_trained, n, out, out_n);
      keep_population(s);
    }
    free(s->rows);
    s->rows = NULL;
    s->n_row = 0;
  }
  s->counts.proposed += *out_n;
  return status;
}

// What adds an error of its own (Winograd) is for measurements to choose, and for checks to see:
// the schedule without trials is also the reference that winners are compared with.
static void keep_exact(seer_search *s) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n_pool; k++) {
    const seer_sketch *sketch = s->options.sketches->sketch[s->pool[k].schedule.sketch];
    if (sketch->tolerance == 0) s->pool[n++] = s->pool[k];
  }
  s->n_pool = n;
}

void seer_search_zero_trial(seer_search *s, uint32_t n_drafts, seer_schedule *out) {
  clear_pool(s);
  seer_rng rng;
  seer_rng_init_stream(&rng, s->options.seed + s->options.task, UINT64_MAX);
  seer_schedule schedule;
  for (uint32_t k = 0; k < s->options.sketches->n; k++) {
    seer_schedule_default(s->options.sketches, k, &schedule);
    add_draft(s, &schedule, NULL);
  }
  uint32_t n_fresh = n_drafts < s->cap_pool / 2 ? n_drafts : s->cap_pool / 2;
  draft_fresh(s, &rng, n_fresh);
  for (uint32_t left = n_drafts - n_fresh; left > 0;) {  // what the pool cannot hold at once
    uint32_t n = left < n_fresh ? left : n_fresh;
    keep_exact(s);
    cut_by_analytic(s, POOL / 4);
    draft_fresh(s, &rng, n);
    left -= n;
  }
  for (int g = 0; g < 4; g++) {  // climb by the estimate
    keep_exact(s);
    cut_by_analytic(s, POOL / 4);
    uint32_t n = s->n_pool;
    for (uint32_t i = 0; i < n_fresh / 4 && n; i++) {
      seer_schedule a = s->pool[draw_rank(&rng, n)].schedule;
      draft_child(s, &rng, &a, NULL);
    }
  }
  keep_exact(s);
  cut_by_analytic(s, 1);
  if (s->n_pool) {
    *out = s->pool[0].schedule;
  } else {
    seer_schedule_default(s->options.sketches, 0, out);
  }
}
