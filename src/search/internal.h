// internal.h - what the files of a search share (search/search.h).
#ifndef SEER_SEARCH_INTERNAL_H
#define SEER_SEARCH_INTERNAL_H

#include "base/map.h"
#include "search/draft.h"
#include "search/search.h"

#define SEER_SEARCH_KEPT 128
#define SEER_SEARCH_TIMES 9  // of a schedule that was measured again
#define SEER_SEARCH_CONFIRMED 3  // times that make one trustworthy
#define SEER_SEARCH_NEAR_TOP 6
#define SEER_SEARCH_FORMULATION_DRAFTS 24  // when the pool has none of it
// Drafts estimated slower than the best by this factor are not scored by the model.
#define SEER_SEARCH_SLACK 6.0
typedef struct {
  seer_schedule schedule;
  double seconds;  // median of its times
  uint32_t n_time;
  double time[SEER_SEARCH_TIMES];  // the latest
} seer_search_elite;

typedef struct {
  seer_schedule schedule;
  seer_origin origin;
} seer_queued_schedule;

struct seer_search {
  seer_search_options options;
  seer_arena *arena;
  seer_summariser *summariser;
  seer_table measured;  // hashes
  seer_table alike;  // number of measured schedules by estimate
  uint32_t n_elite;
  seer_search_elite *elites;  // the strategy's number of them
  double *sketch_best;  // seconds by sketch; 0: none
  uint32_t *sketch_n;
  double *sketch_weight;  // of the draw in hand
  const seer_schedule **from;  // of the order in hand: room for the pool
  uint32_t n_formulation, *formulation_of;  // by sketch
  size_t n_queue, cap_queue, queue_at;
  seer_queued_schedule *queue;
  uint32_t n_kept;
  seer_schedule kept[SEER_SEARCH_KEPT];  // the last population, and what was suggested
  uint32_t n_propose;
  bool is_restricted;  // to these
  uint32_t n_only;
  const seer_schedule **only;
  const seer_schedule **open;  // of the proposal in hand: those that are not measured
  seer_table only_hashes;
  seer_draft_pool pool;
  // Neighbours (neighbours.c).
  seer_arena *around;  // of the neighbours below; emptied for those of another schedule
  uint64_t around_hash;  // of that schedule; n_near means nothing before there is one
  bool has_around;
  uint32_t n_near;
  const seer_schedule **near, **near_open;  // open: not measured yet
  seer_draft_pool near_pool;
  seer_table codes;  // hashes of the loops of what was picked
  bool has_uncoded;  // something is known that was never picked here: from the records
  seer_arena *lowered;  // a schedule's loops, while they are hashed
  seer_search_counts counts;
};

// ---- search.c
bool seer_search_may_pack(const seer_search *s, uint64_t packed_bytes);
// Measured look-alikes: schedules with the same estimate, to the last bit. They differ in what
// hardly matters: the order of two reductions, a loop of one iteration that stands elsewhere, what
// is unrolled. Two thirds of what the models alone would have measured are such (doc/decisions,
// 31).
uint32_t seer_search_n_alike(const seer_search *s, double estimate_s);

// ---- propose.c
seer_draft_space seer_search_space(const seer_search *s, const seer_bank *bank);
// Counts a pool's look-alikes: measured, or among those taken.
void seer_search_find_look_alikes(
    const seer_search *s, seer_draft_pool *pool, const seer_proposal *taken, uint32_t n_taken);
// Expected relative throughput, less for each look-alike that is known. Before there is a model the
// estimates say what is expected, relative to the pool's least.
uint32_t seer_search_most_promising(
    const seer_search *s, const seer_draft_pool *pool, bool is_trained);
// Hash of what was decided about the loops of a schedule; 0: it has none, or nobody asks (a
// strategy that does not skip equal code, a table).
uint64_t seer_search_code(seer_search *s, const seer_schedule *schedule);
// From a pool to the proposal. What is the same code as something that was taken before only leaves
// the pool, and counts as known.
void seer_search_take(seer_search *s, seer_draft_pool *pool, uint32_t at, seer_origin origin,
    seer_proposal *out, uint32_t *n_out);

// ---- neighbours.c
SEER_MUST_USE seer_status seer_search_propose_neighbours(seer_search *s, const seer_bank *bank,
    seer_rng *rng, uint32_t n, seer_proposal *out, uint32_t *n_out);

#endif
