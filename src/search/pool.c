// pool.c - what drafts of a search are of; a pool of them -> the next proposal: which one promises
// most, and whether its code is new. The contract: internal.h.
#include <math.h>
#include <string.h>

#include "code/tile/tile.h"
#include "search/internal.h"
#include "space/lower.h"

seer_draft_space seer_search_space(const seer_search *s, const seer_bank *bank) {
  return (seer_draft_space){.sketches = s->options.sketches,
      .facts = seer_summariser_facts(s->summariser),
      .target = s->options.target,
      .max_packed_bytes = s->options.max_packed_bytes,
      .known = &s->measured,
      .bank = bank,
      .task = s->options.task,
      .n_threads = s->options.n_threads};
}

// Not in a table: there each schedule has a time of its own.
uint64_t seer_search_code(seer_search *s, const seer_schedule *schedule) {
  if (!s->options.strategy->skips_equal_code || s->is_restricted) return 0;
  uint64_t hash = 0;
  seer_loop *loop;
  seer_status status = seer_loop_lower(s->options.sketches, schedule, s->lowered, &loop);
  if (!status) {
    seer_tile_machine machine = seer_tile_machine_of(s->options.target);
    hash = seer_tile_hash(seer_tile_create(loop, &machine, s->lowered), s->lowered);
  }
  seer_status_free(status);  // building it says the same, and is counted
  seer_arena_reset(s->lowered);
  return hash;
}

static bool is_new_code(seer_search *s, const seer_schedule *schedule) {
  uint64_t code = seer_search_code(s, schedule);
  return code == 0 || seer_table_add(&s->codes, code);
}

void seer_search_take(seer_search *s, seer_draft_pool *pool, uint32_t at, seer_origin origin,
    seer_proposal *out, uint32_t *n_out) {
  seer_candidate *c = &pool->at[at];
  double estimate_s = c->estimate_s;
  bool is_new = is_new_code(s, &c->schedule);
  if (is_new) {
    out[(*n_out)++] = (seer_proposal){c->schedule, c->score, estimate_s, origin};
  } else {
    (void)seer_table_add(&s->measured, c->hash);
    seer_search_reject(s, SEER_REJECT_SAME_CODE);
  }
  pool->n--;
  memmove(c, c + 1, (pool->n - at) * sizeof *c);
  if (!is_new) return;
  for (uint32_t i = 0; i < pool->n; i++)
    pool->at[i].n_alike += pool->at[i].estimate_s == estimate_s;
}

// Expected relative throughput, less for each look-alike that is known. Before there is a model the
// estimates say what is expected, relative to the pool's least.
uint32_t seer_search_most_promising(
    const seer_search *s, const seer_draft_pool *pool, bool is_trained) {
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

// Of what is in the pool: measured, or taken from the queue.
void seer_search_find_look_alikes(
    const seer_search *s, seer_draft_pool *pool, const seer_proposal *taken, uint32_t n_taken) {
  for (uint32_t i = 0; i < pool->n; i++) {
    seer_candidate *c = &pool->at[i];
    c->n_alike = seer_search_n_alike(s, c->estimate_s);
    for (uint32_t k = 0; k < n_taken; k++) c->n_alike += taken[k].estimate_s == c->estimate_s;
  }
}
