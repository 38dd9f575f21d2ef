// candidates.c - shares of a table by origin, and who makes them: the drafts of searches (draft.h),
// ordered by nothing or by the estimate, and a search with its bank of models.
#include "study/candidates.h"

#include <stdlib.h>

#include "choose/choose.h"
#include "learn/bank.h"
#include "search/draft.h"
#include "search/search.h"

// Of a task's schedules: what is drawn blindly shows the whole space, what is liked and searched is
// where policies go. The rest is searched.
#define DRAWN_SHARE 0.3
#define LIKED_SHARE 0.3
#define DEFAULT_SHARE 0.25  // of those drawn, at most: tasks with many sketches
#define LIKED_OF 8  // times as many drafts as are taken
#define DRAW_TRIES 8
#define ROUND 64
#define WARM_UP 32

struct seer_candidates {
  const seer_sketch_list *sketches;
  const seer_target *target;
  uint64_t seed, max_packed_bytes;
  uint32_t n_threads;
  seer_arena *arena;
  seer_summariser *summariser;
  seer_table known;  // hashes
  seer_search *search;
  seer_bank *bank;
  seer_status failure;  // a sample could not be learnt: said at the next question
  seer_search_counts counts;
  uint32_t n_asked;
  bool has_fixed;  // the untuned choice and the defaults were given out
};

static seer_status create_models(seer_candidates *c) {
  static const char *const name[] = {"task"};
  static const uint32_t family_of[] = {0};
  const seer_cost_desc *model;
  SEER_TRY(seer_cost_find("xgboost", &model));
  seer_bank_options bank = {.n_family = 1,
      .family_name = name,
      .n_task = 1,
      .family_of = family_of,
      .is_over_estimate = true,
      .model = model,
      .seed = c->seed,
      .warm_up = WARM_UP};
  SEER_TRY(seer_bank_create(&bank, &c->bank));
  seer_search_options search = {.task = 0,
      .sketches = c->sketches,
      .target = c->target,
      .strategy = &seer_strategy_seer,
      .seed = c->seed,
      .max_packed_bytes = c->max_packed_bytes,
      .n_threads = c->n_threads};
  return seer_search_create(&search, &c->search);
}

seer_status seer_candidates_create(seer_context *context, const seer_sketch_list *sketches,
    const seer_times_task *task, seer_arena *arena, seer_candidates **out) {
  seer_candidates *c = *out = SEER_NEW(arena, seer_candidates);
  *c = (seer_candidates){.sketches = sketches,
      .target = seer_context_target(context),
      .seed = seer_hash_u64(task->key.structure ^ task->key.shape,
          (uint64_t)seer_context_i64(context, SEER_OPT_SEED)),
      .max_packed_bytes =
          seer_choose_max_packed_bytes(seer_context_f64(context, SEER_OPT_MAX_WEIGHTS), task->dag),
      .n_threads = (uint32_t)seer_context_i64(context, SEER_OPT_SEARCH_THREADS),
      .arena = arena};
  c->summariser = seer_summariser_create(sketches, arena);
  seer_status status = create_models(c);
  if (!status) return SEER_OK;
  seer_candidates_destroy(c);
  *out = NULL;
  return status;
}

void seer_candidates_destroy(seer_candidates *c) {
  if (!c) return;
  seer_search_destroy(c->search);
  seer_bank_destroy(c->bank);
  seer_table_destroy(&c->known);
  seer_status_free(c->failure);
}

void seer_candidates_learn(seer_candidates *c, const seer_schedule *schedule, double seconds) {
  (void)seer_table_add(&c->known, seer_schedule_hash(schedule));
  seer_search_report(c->search, schedule, seconds, true);
  seer_arena *scratch = seer_arena_create("sample");
  seer_sample sample =
      seer_search_sample(c->search, seer_bank_features(c->bank), schedule, seconds, scratch);
  c->failure = seer_status_join(c->failure, seer_bank_add(c->bank, &sample, 1));
  seer_arena_destroy(scratch);
}

// ---- drafts
static bool add(seer_candidates *c, const seer_schedule *schedule, seer_time_origin origin,
    seer_candidate_choice *out, uint32_t *n) {
  if (!seer_table_add(&c->known, seer_schedule_hash(schedule))) return false;
  out[(*n)++] = (seer_candidate_choice){*schedule, origin};
  return true;
}

static seer_status add_fixed(
    seer_candidates *c, uint32_t room, seer_candidate_choice *out, uint32_t *n) {
  seer_schedule schedule;
  double seconds;
  SEER_TRY(
      seer_choose_untuned(c->target, c->sketches, 0, c->seed, c->n_threads, &schedule, &seconds));
  if (room > 0) (void)add(c, &schedule, SEER_TIME_UNTUNED, out, n);
  for (uint32_t k = 0; k < c->sketches->n && *n < room; k++) {
    seer_schedule_default(c->sketches, k, &schedule);
    seer_schedule_normalise(c->sketches, &schedule);
    if (seer_schedule_check(c->sketches, &schedule) == SEER_REJECT_NONE)
      (void)add(c, &schedule, SEER_TIME_DEFAULT, out, n);
  }
  return SEER_OK;
}

// n tries, evenly of all sketches, into an empty pool.
static seer_status draft(seer_candidates *c, uint32_t n, seer_draft_pool *pool) {
  double *weight = SEER_NEW_ARRAY(c->arena, double, c->sketches->n);
  for (uint32_t k = 0; k < c->sketches->n; k++) weight[k] = 1;
  seer_draft_space space = {.sketches = c->sketches,
      .facts = seer_summariser_facts(c->summariser),
      .target = c->target,
      .max_packed_bytes = c->max_packed_bytes,
      .known = &c->known,
      .n_threads = c->n_threads};
  seer_draft_order order = {.kind = SEER_DRAFT_DRAWN, .n = n, .sketch_weight = weight};
  uint64_t seed = seer_hash_u64(c->seed, c->known.n + 1000003u * c->n_asked++);
  return seer_draft(&space, &order, 1, seed, pool, &c->counts);
}

// Look-alikes are passed over where the model chooses: they have the same estimate.
static seer_status add_drafts(seer_candidates *c, seer_time_origin origin, uint32_t n_wanted,
    seer_candidate_choice *out, uint32_t *n) {
  bool is_liked = origin == SEER_TIME_LIKED;
  uint32_t n_had = *n;
  for (int t = 0; t < DRAW_TRIES && *n - n_had < n_wanted; t++) {
    uint32_t n_tries = (n_wanted - (*n - n_had)) * (is_liked ? LIKED_OF : 1);
    seer_draft_pool pool;
    SEER_TRY(seer_draft_pool_create(n_tries, &pool));
    seer_status status = draft(c, n_tries, &pool);
    if (is_liked && !status) qsort(pool.at, pool.n, sizeof *pool.at, seer_candidate_by_estimate);
    for (uint32_t i = 0; i < pool.n && !status && *n - n_had < n_wanted; i++) {
      bool is_alike = is_liked && i > 0 && pool.at[i].estimate_s == pool.at[i - 1].estimate_s;
      if (!is_alike) (void)add(c, &pool.at[i].schedule, origin, out, n);
    }
    seer_draft_pool_destroy(&pool);
    SEER_TRY(status);
  }
  return SEER_OK;
}

// ---- what is missing
static seer_status add_searched(
    seer_candidates *c, uint32_t room, seer_candidate_choice *out, uint32_t *n) {
  seer_proposal proposals[ROUND];
  uint32_t n_new;
  SEER_TRY(seer_bank_train(c->bank, 0));
  SEER_TRY(seer_search_propose(c->search, c->bank, room < ROUND ? room : ROUND, proposals, &n_new));
  for (uint32_t i = 0; i < n_new; i++)
    (void)add(c, &proposals[i].schedule, SEER_TIME_SEARCHED, out, n);
  return SEER_OK;
}

static uint32_t missing(double share, uint32_t n_all, uint32_t n_have) {
  uint32_t n = (uint32_t)(share * n_all);
  return n > n_have ? n - n_have : 0;
}

seer_status seer_candidates_next(seer_candidates *c, const seer_times_task *task, uint32_t room,
    seer_candidate_choice *out, uint32_t *out_n) {
  *out_n = 0;
  if (c->failure) {
    seer_status failure = c->failure;
    c->failure = SEER_OK;
    return failure;
  }
  uint32_t n_have[SEER_TIME_ORIGIN_COUNT] = {0}, n_all = (uint32_t)c->known.n + room;
  for (uint32_t i = 0; i < task->n_time; i++) n_have[task->time[i].origin]++;
  if (!c->has_fixed) {
    c->has_fixed = true;
    uint32_t n_drawn = missing(DRAWN_SHARE, n_all, n_have[SEER_TIME_DRAWN]),
             n_liked = missing(LIKED_SHARE, n_all, n_have[SEER_TIME_LIKED]),
             n_fixed = 1 + (uint32_t)(DEFAULT_SHARE * DRAWN_SHARE * n_all);
    SEER_TRY(add_fixed(c, n_fixed < room ? n_fixed : room, out, out_n));
    uint32_t left = room - *out_n;
    SEER_TRY(add_drafts(c, SEER_TIME_DRAWN, n_drawn < left ? n_drawn : left, out, out_n));
    left = room - *out_n;
    SEER_TRY(add_drafts(c, SEER_TIME_LIKED, n_liked < left ? n_liked : left, out, out_n));
    if (*out_n > 0) return SEER_OK;
  }
  return add_searched(c, room, out, out_n);
}
