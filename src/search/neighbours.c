// neighbours.c - what is one step away from the best.
#include <math.h>

#include "search/internal.h"

static void learn_code(seer_search *s, const seer_schedule *schedule) {
  uint64_t code = seer_search_code(s, schedule);
  if (code) (void)seer_table_add(&s->codes, code);
}

// Of what the records brought nobody knows the code, and to find it for all would take longer than
// to measure some again. What is equal to one of the best, or to a neighbour that was measured, is
// known as well as that one.
static void leave_out_equal_code(seer_search *s) {
  for (uint32_t i = 0; i < s->n_elite; i++) learn_code(s, &s->elites[i].schedule);
  for (uint32_t i = 0; i < s->n_near; i++)
    if (seer_search_knows(s, s->near[i])) learn_code(s, s->near[i]);
  for (uint32_t i = 0; i < s->n_near; i++) {
    uint64_t code = seer_search_knows(s, s->near[i]) ? 0 : seer_search_code(s, s->near[i]);
    if (code && seer_table_has(&s->codes, code))
      (void)seer_table_add(&s->measured, seer_schedule_hash(s->near[i]));
  }
}

// Those of a schedule that may be worth a measurement, tried or not. They are found once for each.
static void look_around(seer_search *s, const seer_schedule *schedule) {
  uint64_t hash = seer_schedule_hash(schedule);
  if (s->has_around && hash == s->around_hash) return;
  seer_arena_reset(s->around);
  seer_schedule *all;
  uint32_t n = seer_schedule_neighbours(s->options.sketches, schedule, s->around, &all);
  double most_s = SEER_SEARCH_SLACK * seer_search_estimate(s, schedule);
  s->near = SEER_NEW_ARRAY(s->around, const seer_schedule *, n + 1);
  s->near_open = SEER_NEW_ARRAY(s->around, const seer_schedule *, n + 1);
  s->n_near = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool is_there =
        !s->is_restricted || seer_table_has(&s->only_hashes, seer_schedule_hash(&all[i]));
    if (is_there && seer_search_estimate(s, &all[i]) <= most_s &&
        seer_search_may_pack(s, seer_search_packed_bytes(s, &all[i])))
      s->near[s->n_near++] = &all[i];
  }
  s->around_hash = hash;
  s->has_around = true;
  if (s->has_uncoded) leave_out_equal_code(s);
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
static const seer_search_elite *believed_best(const seer_search *s) {
  for (uint32_t i = 0; i < s->n_elite && i < SEER_SEARCH_NEAR_TOP; i++)
    if (s->elites[i].n_time >= SEER_SEARCH_CONFIRMED) return &s->elites[i];
  return NULL;
}

seer_status seer_search_propose_neighbours(seer_search *s, const seer_bank *bank, seer_rng *rng,
    uint32_t n, seer_proposal *out, uint32_t *n_out) {
  double share = s->options.strategy->neighbour_share;
  const seer_search_elite *best = share > 0 ? believed_best(s) : NULL;
  if (!best) return SEER_OK;
  look_around(s, &best->schedule);
  uint32_t n_open = list_open(s), most = *n_out + (uint32_t)ceil(share * (n - *n_out));
  if (n_open == 0) return SEER_OK;
  seer_draft_pool *pool = &s->near_pool;
  seer_draft_pool_clear(pool);
  for (uint32_t i = 0; i < *n_out; i++)
    (void)seer_draft_pool_see(pool, seer_schedule_hash(&out[i].schedule));
  const seer_draft_order all = {.kind = SEER_DRAFT_GIVEN, .n = n_open, .from = s->near_open};
  seer_draft_space space = seer_search_space(s, bank);
  SEER_TRY(seer_draft(&space, &all, 1, seer_rng_u64(rng), pool, &s->counts));
  if (bank) SEER_TRY(seer_draft_score(&space, pool, 0));
  seer_search_find_look_alikes(s, pool, out, *n_out);
  while (*n_out < most && pool->n > 0) {
    uint32_t at = seer_search_most_promising(s, pool, bank != NULL);
    (void)seer_draft_pool_see(&s->pool, pool->at[at].hash);
    seer_search_take(s, pool, at, SEER_ORIGIN_NEIGHBOUR, out, n_out);
  }
  return SEER_OK;
}
