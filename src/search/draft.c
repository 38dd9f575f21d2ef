// draft.c - orders -> islands -> candidates -> ratings. An island writes where the islands before
// it cannot reach even if all that was asked of them came to something; joining closes the gaps.
// What is rated is then cut anew, by threads: a call of the models costs as much as ten candidates,
// and what they say of one does not depend on the others.
#include "search/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/parallel.h"
#include "base/rng.h"
#include "search/roulette.h"
#include "space/frame.h"
#include "space/nest.h"

#include <math.h>

#define SKETCH_FLOOR 0.08  // share of a uniform draw that a bad sketch keeps
#define MAX_TRIES 6  // of a sampler or mutator that refuses
#define CROSS_SHARE 0.15
#define MAX_PARENTS 64  // drawn for one offspring, of which none has a mutation
// Tries, or candidates to rate, for which one more thread is worth its while: a millisecond's.
// Starting a thread takes 50 microseconds, and milliseconds where others keep the processors busy.
#define MIN_SHARE 128

int seer_candidate_by_estimate(const void *a, const void *b) {
  const seer_candidate *x = a, *y = b;
  if (x->estimate_s != y->estimate_s) return x->estimate_s < y->estimate_s ? -1 : 1;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

// ---- the pool
seer_status seer_draft_pool_create(uint32_t cap, seer_draft_pool *out) {
  *out = (seer_draft_pool){.cap = cap, .at = malloc(cap * sizeof *out->at)};
  // What leaves the pool stays seen: several times as many as it holds.
  if (seer_table_create(4 * (size_t)cap, 0, &out->seen) && out->at) return SEER_OK;
  seer_draft_pool_destroy(out);
  return SEER_FAIL(RESOURCE, "no memory for %u candidates", cap);
}

void seer_draft_pool_destroy(seer_draft_pool *pool) {
  free(pool->at);
  seer_table_destroy(&pool->seen);
  *pool = (seer_draft_pool){0};
}

void seer_draft_pool_clear(seer_draft_pool *pool) {
  pool->n = 0;
  seer_table_clear(&pool->seen);
}

bool seer_draft_pool_see(seer_draft_pool *pool, uint64_t hash) {
  return seer_table_add(&pool->seen, hash);
}

// ---- islands

// A thread's: it drafts one island at a time.
typedef struct {
  seer_frame frame[2];  // of the draft in hand, and of its next step
  seer_nest nest;
  seer_table seen;  // on this island
} workspace;

typedef struct {
  uint32_t first, room;  // new candidates [first, first + room) are its to fill
  uint32_t n;  // candidates there
  seer_search_counts counts;
  seer_status status;
} island;

typedef struct {
  const seer_draft_space *space;
  const seer_draft_order *orders;
  uint32_t n_orders;
  uint32_t max_room;  // of an island
  uint64_t seed;
  const seer_draft_pool *pool;
  uint32_t n_new;  // candidates; while they are drafted, how many there may be
  seer_candidate *new;  // behind the pool's
  const seer_feature_set *features;  // the bank's; NULL: nobody rates
  size_t row_floats, candidate_floats;  // of one row; of a candidate, at most
  float *rows;  // of each island behind candidate_floats * first. NULL: nobody rates
  uint32_t *n_rows;  // by new candidate
  float *rating;
  workspace **workspace;  // by thread; NULL: it has not worked yet
  island island[SEER_DRAFT_ISLANDS];
} job;

static void destroy_workspace(workspace *p) {
  if (p) seer_table_destroy(&p->seen);
  free(p);
}

static workspace *create_workspace(const job *j) {
  workspace *p = malloc(sizeof *p);  // large, and used as far as a task has stages
  if (!p || seer_table_create(j->max_room, 0, &p->seen)) return p;
  free(p);
  return NULL;
}

typedef struct {
  const job *job;
  workspace *workspace;
  island *island;
  seer_rng *rng;
  float *row;  // where the next one goes
} drafter;

static void reject(drafter *d, seer_reject why) { d->island->counts.rejected[why]++; }

// New, allowed, within the limit: then it is a candidate. `frame`: the schedule's, checked; NULL
// where nobody has made one.
static void add(drafter *d, const seer_schedule *schedule, const seer_frame *frame) {
  const job *j = d->job;
  const seer_draft_space *space = j->space;
  workspace *p = d->workspace;
  uint64_t hash = seer_schedule_hash(schedule);
  bool is_known = space->known &&
      (!seer_table_add(&p->seen, hash) || seer_table_has(&j->pool->seen, hash) ||
          seer_table_has(space->known, hash));
  if (is_known) {
    reject(d, SEER_REJECT_DUPLICATE);
    return;
  }
  if (!frame) {
    frame = &p->frame[0];
    seer_frame_make(space->sketches, schedule, &p->frame[0]);
    seer_reject why = seer_frame_check(space->sketches, frame);
    if (why != SEER_REJECT_NONE) {
      reject(d, why);
      return;
    }
  }
  seer_nest_make(space->facts, frame, &p->nest);
  d->island->counts.cut[SEER_CUT_ACCESSES] += p->nest.n_left_out;
  if (space->max_packed_bytes > 0 && p->nest.packed_bytes > space->max_packed_bytes) {
    reject(d, SEER_REJECT_WEIGHTS);
    return;
  }
  uint32_t nth = d->island->first + d->island->n++;
  seer_candidate *c = &j->new[nth];
  *c = (seer_candidate){.schedule = *schedule,
      .hash = hash,
      .estimate_s = seer_analytic_seconds(&p->nest, space->target)};
  if (!j->rows) return;
  j->n_rows[nth] = j->features->extract(&p->nest, space->target, c->estimate_s, d->row);
  SEER_ASSERT(j->n_rows[nth] * j->row_floats <= j->candidate_floats, "%u rows, room for %zu floats",
      j->n_rows[nth], j->candidate_floats);
  d->row += j->n_rows[nth] * j->row_floats;
}

static uint32_t draw_sketch(seer_rng *rng, const double *weight, uint32_t n) {
  double total = 0;
  for (uint32_t k = 0; k < n; k++) total += weight[k];
  double at = seer_rng_f64(rng) * total;
  uint32_t last = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (weight[k] <= 0) continue;
    last = k;
    at -= weight[k];
    if (at < 0) break;
  }
  return last;
}

static void draw(drafter *d, const double *weight) {
  const seer_sketch_list *sketches = d->job->space->sketches;
  seer_schedule schedule;
  uint32_t sketch = draw_sketch(d->rng, weight, sketches->n);
  for (int t = 0; t < MAX_TRIES; t++) {
    seer_reject why =
        seer_schedule_sample(sketches, sketch, d->rng, &schedule, &d->workspace->frame[0]);
    if (why == SEER_REJECT_NONE) {
      add(d, &schedule, &d->workspace->frame[0]);
      return;
    }
    reject(d, why);
  }
}

// Better ranks are drawn more often: the smaller of two draws.
static const seer_schedule *draw_parent(drafter *d, const seer_draft_order *order) {
  uint64_t a = seer_rng_below(d->rng, order->n_from), b = seer_rng_below(d->rng, order->n_from);
  return order->from[a < b ? a : b];
}

static void breed(drafter *d, const seer_draft_order *order) {
  const seer_sketch_list *sketches = d->job->space->sketches;
  seer_frame *frame = d->workspace->frame;
  const seer_schedule *a = draw_parent(d, order);
  const seer_schedule *b = order->has_two_parents ? draw_parent(d, order) : NULL;
  seer_schedule child = *a, next;
  bool has_frame = false;  // `child` is not `a` itself: its frame is the one that is not spare
  uint32_t spare = 0;
  bool is_crossed = b && seer_rng_chance(d->rng, CROSS_SHARE) &&
      seer_schedule_cross(sketches, d->rng, a, b, &child, &frame[spare]) == SEER_REJECT_NONE;
  if (is_crossed) {
    has_frame = true;
    spare ^= 1;
  }
  // Several small steps now and then: neighbours of the best are soon all known.
  uint64_t steps = is_crossed ? seer_rng_below(d->rng, 2) : 1 + seer_rng_below(d->rng, 3);
  for (uint64_t i = 0; i < steps; i++) {
    for (int t = 0; t < MAX_TRIES; t++) {
      seer_reject why = seer_schedule_mutate(sketches, d->rng, &child, &next, &frame[spare]);
      if (why == SEER_REJECT_NONE) {
        child = next;
        has_frame = true;
        spare ^= 1;
        break;
      }
      reject(d, why);
    }
  }
  add(d, &child, has_frame ? &frame[spare ^ 1] : NULL);
}

static void beget(drafter *d, const seer_draft_order *order) {
  seer_frame *frame = &d->workspace->frame[0];
  for (int t = 0; t < MAX_PARENTS; t++) {
    const seer_schedule *parent =
        order->from[seer_roulette_draw(order->score_sum, order->n_from, d->rng)];
    if (!seer_rng_chance(d->rng, order->mutation_chance)) {
      add(d, parent, NULL);
      return;
    }
    seer_schedule child;
    seer_reject why = seer_schedule_mutate(d->job->space->sketches, d->rng, parent, &child, frame);
    if (why == SEER_REJECT_NONE) {
      add(d, &child, frame);
      return;
    }
    reject(d, why);
  }
}

// Of n tries those of island k: [share(n, k), share(n, k + 1)).
static uint32_t share(uint32_t n, uint32_t k) {
  return (uint32_t)((uint64_t)n * k / SEER_DRAFT_ISLANDS);
}

static void draft_island(void *user, uint32_t k, uint32_t thread) {
  job *j = user;
  island *own = &j->island[k];
  if (own->room == 0) return;
  if (!j->workspace[thread]) j->workspace[thread] = create_workspace(j);
  workspace *p = j->workspace[thread];
  if (!p) {
    own->status = SEER_FAIL(RESOURCE, "no memory to draft in");
    return;
  }
  seer_table_clear(&p->seen);
  seer_rng rng;
  drafter d = {.job = j, .workspace = p, .island = own, .rng = &rng};
  if (j->rows) d.row = j->rows + (size_t)own->first * j->candidate_floats;
  seer_rng_init_stream(&rng, j->seed, k);
  for (uint32_t o = 0; o < j->n_orders; o++) {
    const seer_draft_order *order = &j->orders[o];
    for (uint32_t i = share(order->n, k); i < share(order->n, k + 1); i++) {
      if (order->kind == SEER_DRAFT_GIVEN) add(&d, order->from[i], NULL);
      if (order->kind == SEER_DRAFT_DRAWN) draw(&d, order->sketch_weight);
      if (order->kind == SEER_DRAFT_BRED && order->n_from > 0) breed(&d, order);
      if (order->kind == SEER_DRAFT_OFFSPRING && order->n_from > 0) beget(&d, order);
    }
  }
}

// ---- all of them

// A stage is a statement, where it is not inlined.
static size_t most_statements(const seer_sketch_list *sketches) {
  size_t most = 0;
  for (uint32_t k = 0; k < sketches->n; k++) {
    size_t n = sketches->sketch[k]->dag->n_stage;
    if (n > most) most = n;
  }
  return most < SEER_NEST_MAX_STATEMENTS ? most : SEER_NEST_MAX_STATEMENTS;
}

// Room for every try that is asked for.
static seer_status place_islands(job *j) {
  for (uint32_t k = 0; k < SEER_DRAFT_ISLANDS; k++) {
    island *own = &j->island[k];
    own->first = j->n_new;
    for (uint32_t o = 0; o < j->n_orders; o++)
      own->room += share(j->orders[o].n, k + 1) - share(j->orders[o].n, k);
    if (own->room > j->max_room) j->max_room = own->room;
    j->n_new += own->room;
  }
  const seer_draft_pool *pool = j->pool;
  SEER_ASSERT(j->n_new <= pool->cap - pool->n, "%u candidates for a pool of %u that holds %u",
      j->n_new, pool->cap, pool->n);
  j->new = pool->at + pool->n;
  if (!j->space->bank || j->n_new == 0) return SEER_OK;
  j->features = seer_bank_features(j->space->bank);
  j->row_floats = j->features->n_column;
  j->candidate_floats = most_statements(j->space->sketches) * j->row_floats;
  j->rows = malloc(j->n_new * j->candidate_floats * sizeof(float));
  j->n_rows = malloc(j->n_new * sizeof *j->n_rows);
  j->rating = malloc(j->n_new * sizeof *j->rating);
  if (j->rows && j->n_rows && j->rating) return SEER_OK;
  return SEER_FAIL(RESOURCE, "no memory for the features of %u candidates", j->n_new);
}

// The islands' candidates, one behind another; not what an island before had, too.
static void join(job *j, seer_draft_pool *pool, seer_search_counts *counts) {
  float *to = j->rows;
  j->n_new = 0;
  for (uint32_t k = 0; k < SEER_DRAFT_ISLANDS; k++) {
    const island *own = &j->island[k];
    const float *row = j->rows ? j->rows + (size_t)own->first * j->candidate_floats : NULL;
    seer_search_counts_add(counts, &own->counts);
    for (uint32_t i = own->first; i < own->first + own->n; i++) {
      size_t n_floats = j->rows ? j->n_rows[i] * j->row_floats : 0;
      if (!j->space->known || seer_draft_pool_see(pool, j->new[i].hash)) {
        j->new[j->n_new] = j->new[i];
        if (row) {
          j->n_rows[j->n_new] = j->n_rows[i];
          memmove(to, row, n_floats * sizeof(float));
          to += n_floats;
        }
        j->n_new++;
      } else {
        counts->rejected[SEER_REJECT_DUPLICATE]++;
      }
      if (row) row += n_floats;
    }
  }
  pool->n += j->n_new;
  counts->drafted += j->n_new;
}

// ---- ratings
typedef struct {
  const seer_draft_space *space;
  seer_bank_candidates candidates;
  float *rating;
  seer_status status;
} rated_part;

static void rate_part(void *user, uint32_t part, uint32_t thread) {
  (void)thread;
  rated_part *r = (rated_part *)user + part;
  r->status = seer_bank_rate(r->space->bank, r->space->task, &r->candidates, r->rating);
}

static uint32_t worthwhile(uint32_t n_threads, uint32_t n) {
  uint32_t most = n < 2 * MIN_SHARE ? 1 : n / MIN_SHARE;
  return n_threads < most ? n_threads : most;
}

static seer_status rate(const job *j, uint32_t n_threads) {
  rated_part parts[SEER_DRAFT_ISLANDS];
  uint32_t n = worthwhile(n_threads, j->n_new), at = 0;
  const float *row = j->rows;
  for (uint32_t p = 0; p < n; p++) {
    uint32_t end = (uint32_t)((uint64_t)j->n_new * (p + 1) / n);
    parts[p] = (rated_part){
        j->space, {.n = end - at, .rows = row, .n_rows = j->n_rows + at}, j->rating + at, SEER_OK};
    for (; at < end; at++) row += j->n_rows[at] * j->row_floats;
  }
  seer_parallel(n, n, rate_part, parts);
  seer_status status = SEER_OK;
  for (uint32_t p = 0; p < n; p++) status = seer_status_join(status, parts[p].status);
  for (uint32_t i = 0; i < j->n_new && !status; i++) j->new[i].score = j->rating[i];
  return status;
}

static seer_status run_islands(job *j, uint32_t n_threads) {
  workspace *workspaces[SEER_DRAFT_ISLANDS] = {NULL};
  j->workspace = workspaces;
  seer_parallel(n_threads, SEER_DRAFT_ISLANDS, draft_island, j);
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k < SEER_DRAFT_ISLANDS; k++)
    status = seer_status_join(status, j->island[k].status);
  for (uint32_t t = 0; t < n_threads; t++) destroy_workspace(workspaces[t]);
  return status;
}

double seer_draft_sketch_weight(double ratio) { return fmax(SKETCH_FLOOR, ratio * ratio * ratio); }

seer_status seer_draft(const seer_draft_space *space, const seer_draft_order *orders,
    uint32_t n_orders, uint64_t seed, seer_draft_pool *pool, seer_search_counts *counts) {
  uint32_t n_threads = seer_parallel_threads(space->n_threads, SEER_DRAFT_ISLANDS);
  job j = {.space = space, .orders = orders, .n_orders = n_orders, .seed = seed, .pool = pool};
  seer_status status = place_islands(&j);
  if (!status) status = run_islands(&j, worthwhile(n_threads, j.n_new));
  if (!status) join(&j, pool, counts);
  if (!status && space->bank && j.n_new > 0) {
    status = rate(&j, n_threads);
    counts->scored += j.n_new;
  }
  free(j.rows);
  free(j.n_rows);
  free(j.rating);
  return status;
}

seer_status seer_draft_score(const seer_draft_space *space, seer_draft_pool *pool, uint32_t first) {
  uint32_t n = pool->n - first;
  seer_candidate *new = pool->at + first;
  if (n == 0) return SEER_OK;
  float *scores = malloc(n * sizeof(float));
  double *estimates = malloc(n * sizeof(double));
  seer_status status =
      scores && estimates ? SEER_OK : SEER_FAIL(RESOURCE, "no memory for %u scores", n);
  for (uint32_t i = 0; i < n && !status; i++) {
    scores[i] = new[i].score;
    estimates[i] = new[i].estimate_s;
  }
  seer_bank_candidates candidates = {.n = n, .estimates_s = estimates};
  if (!status) status = seer_bank_score(space->bank, space->task, &candidates, scores);
  for (uint32_t i = 0; i < n && !status; i++) new[i].score = scores[i];
  free(scores);
  free(estimates);
  return status;
}
