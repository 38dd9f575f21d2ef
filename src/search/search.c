// search.c - what a search knows: results, what is queued and suggested.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/parallel.h"
#include "base/stats.h"
#include "search/evolve.h"
#include "search/internal.h"

void seer_search_destroy(seer_search *search) {
  if (!search) return;
  seer_arena_destroy(search->around);
  seer_arena_destroy(search->lowered);
  seer_arena_destroy(search->arena);
  seer_draft_pool_destroy(&search->near_pool);
  seer_draft_pool_destroy(&search->pool);
  seer_table_destroy(&search->measured);
  seer_table_destroy(&search->alike);
  seer_table_destroy(&search->codes);
  seer_table_destroy(&search->only_hashes);
  free(search);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// That the pool may have to hold: of a proposal first drafts, then what is bred from those that
// went on and what formulations ask for.
static uint32_t most_candidates(const seer_search *s) {
  const seer_search_strategy *y = s->options.strategy;
  uint32_t n_first =
      SEER_SEARCH_KEPT + y->n_from_elites + larger(y->n_drawn_untrained, y->n_drawn_trained);
  uint32_t n_on = larger(y->cuts_by_estimate ? y->n_pool : n_first, y->n_survivors);
  uint32_t n_bred = n_on + y->n_children + SEER_SEARCH_FORMULATION_DRAFTS * s->n_formulation;
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
  s->elites = SEER_NEW_ARRAY(s->arena, seer_search_elite, options->strategy->n_elites);
  s->sketch_best = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  s->sketch_n = SEER_NEW_ARRAY(s->arena, uint32_t, options->sketches->n);
  s->sketch_weight = SEER_NEW_ARRAY(s->arena, double, options->sketches->n);
  s->formulation_of = SEER_NEW_ARRAY(s->arena, uint32_t, options->sketches->n);
  s->n_formulation = seer_sketch_formulations(options->sketches, s->formulation_of);
  s->options.n_threads = seer_parallel_threads(options->n_threads, SEER_DRAFT_ISLANDS);
  uint32_t cap = most_candidates(s);
  s->from = SEER_NEW_ARRAY(s->arena, const seer_schedule *, cap);
  s->lowered = seer_arena_create("lowered");
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

bool seer_search_may_pack(const seer_search *s, uint64_t packed_bytes) {
  return s->options.max_packed_bytes == 0 || packed_bytes <= s->options.max_packed_bytes;
}

seer_sample seer_search_sample(const seer_search *s, const seer_feature_set *features,
    const seer_schedule *schedule, double seconds, seer_arena *arena) {
  const seer_nest *nest = seer_summarise(s->summariser, schedule);
  float *rows = SEER_NEW_ARRAY(arena, float, (size_t)SEER_NEST_MAX_STATEMENTS * features->n_column);
  seer_sample sample = seer_sample_of(nest, s->options.target, features, rows);
  sample.task = s->options.task;
  sample.seconds = seconds;
  return sample;
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

uint32_t seer_search_n_alike(const seer_search *s, double estimate_s) {
  const uint64_t *n = seer_table_values(&s->alike, likeness(estimate_s));
  return n ? (uint32_t)*n : 0;
}

static void count_alike(seer_search *s, const seer_schedule *schedule) {
  uint64_t key = likeness(seer_search_estimate(s, schedule));
  (void)seer_table_add(&s->alike, key);
  ++*seer_table_values(&s->alike, key);
}

// ---- results
static void insert_elite(seer_search *s, seer_search_elite e) {
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
  seer_search_elite e = s->elites[at];
  e.time[e.n_time++ % SEER_SEARCH_TIMES] = seconds;
  uint32_t n = e.n_time < SEER_SEARCH_TIMES ? e.n_time : SEER_SEARCH_TIMES;
  double sorted[SEER_SEARCH_TIMES];
  memcpy(sorted, e.time, n * sizeof(double));
  e.seconds = seer_median(sorted, n);
  memmove(&s->elites[at], &s->elites[at + 1], (s->n_elite - at - 1) * sizeof(seer_search_elite));
  s->n_elite--;
  insert_elite(s, e);
}

bool seer_search_is_confirmed(const seer_search *s) {
  return s->n_elite > 0 && s->elites[0].n_time >= SEER_SEARCH_CONFIRMED;
}

uint32_t seer_search_unconfirmed(const seer_search *s, uint32_t k, seer_schedule *out) {
  uint32_t n = 0;
  for (uint32_t i = 1; i < s->n_elite && i < SEER_SEARCH_NEAR_TOP && n < k; i++) {
    if (s->elites[i].n_time < SEER_SEARCH_CONFIRMED) out[n++] = s->elites[i].schedule;
  }
  return n;
}

void seer_search_report(
    seer_search *s, const seer_schedule *schedule, double seconds, bool is_full) {
  uint64_t hash = seer_schedule_hash(schedule);
  bool was_known = !seer_table_add(&s->measured, hash);
  if (!was_known && s->n_propose == 0) s->has_uncoded = true;
  if (!was_known && s->options.strategy->alike_cost > 0) count_alike(s, schedule);
  s->sketch_n[schedule->sketch]++;
  if (seconds <= 0) return;
  double *best = &s->sketch_best[schedule->sketch];
  if (*best <= 0 || seconds < *best) *best = seconds;
  if (is_full && !was_known)
    insert_elite(s,
        (seer_search_elite){
            .schedule = *schedule, .seconds = seconds, .n_time = 1, .time = {seconds}});
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

// ---- the queue, and what is suggested

// *schedule is normalised. False: it is known or not allowed, which is counted.
static bool may_measure(seer_search *s, seer_schedule *schedule) {
  seer_schedule_normalise(s->options.sketches, schedule);
  seer_reject why = seer_schedule_check(s->options.sketches, schedule);
  if (why == SEER_REJECT_NONE && seer_search_knows(s, schedule)) why = SEER_REJECT_DUPLICATE;
  if (why == SEER_REJECT_NONE && !seer_search_may_pack(s, seer_search_packed_bytes(s, schedule)))
    why = SEER_REJECT_WEIGHTS;
  if (why == SEER_REJECT_NONE && s->is_restricted &&
      !seer_table_has(&s->only_hashes, seer_schedule_hash(schedule)))
    why = SEER_REJECT_POOL;
  if (why != SEER_REJECT_NONE) seer_search_reject(s, why);
  return why == SEER_REJECT_NONE;
}

bool seer_search_suggest(seer_search *s, const seer_schedule *schedule) {
  seer_schedule normal = *schedule;
  if (s->n_kept == SEER_SEARCH_KEPT || !may_measure(s, &normal)) return false;
  s->kept[s->n_kept++] = normal;
  return true;
}

void seer_search_queue(seer_search *s, const seer_schedule *schedule, seer_origin origin) {
  seer_schedule normal = *schedule;
  if (!may_measure(s, &normal)) return;
  for (size_t i = s->queue_at; i < s->n_queue; i++) {
    if (seer_schedule_equal(&s->queue[i].schedule, &normal)) return;
  }
  if (s->queue_at > s->n_queue / 2) {  // what has been taken makes room
    s->n_queue -= s->queue_at;
    memmove(s->queue, s->queue + s->queue_at, s->n_queue * sizeof(seer_queued_schedule));
    s->queue_at = 0;
  }
  s->queue = SEER_GROW(s->arena, seer_queued_schedule, s->queue, s->n_queue, &s->cap_queue);
  s->queue[s->n_queue++] = (seer_queued_schedule){normal, origin};
}

uint32_t seer_search_queued(const seer_search *s) { return (uint32_t)(s->n_queue - s->queue_at); }
