// draft.h - candidates by the hundred: drawn or bred, checked, summarised, estimated, and rated by
// the learned models, on several threads. What is asked for is cut into islands, as many whatever
// the number of threads: each has random numbers of its own, and sees what is known and what it has
// drafted itself. They are joined in their order, so that the same calls give the same candidates
// on any number of threads.
//
// Threads: one call at a time for each pool; what the space borrows is only read meanwhile. Errors:
// RESOURCE, and those of the models; of what is new the pool may hold a part then.
#ifndef SEER_SEARCH_DRAFT_H
#define SEER_SEARCH_DRAFT_H

#include "base/table.h"
#include "learn/bank.h"
#include "search/counts.h"

#define SEER_DRAFT_ISLANDS 8

typedef struct {
  seer_schedule schedule;
  uint64_t hash;
  double estimate_s;
  float score;  // of a new one: what seer_bank_rate says; 0 when no models were asked
  uint32_t n_alike;  // for the search: 0 of a new one
} seer_candidate;

int seer_candidate_by_estimate(const void *a, const void *b);  // for qsort: least first

// Candidates that differ from each other, and from what the pool has held since it was cleared.
typedef struct {
  uint32_t n, cap;
  seer_candidate *at;
  seer_table seen;  // hashes
} seer_draft_pool;
// Owned: seer_draft_pool_destroy.
SEER_MUST_USE seer_status seer_draft_pool_create(uint32_t cap, seer_draft_pool *out);
void seer_draft_pool_destroy(seer_draft_pool *pool);
void seer_draft_pool_clear(seer_draft_pool *pool);
bool seer_draft_pool_see(seer_draft_pool *pool, uint64_t hash);  // false: it was seen before

// Whose candidates they are, and who works. All is borrowed.
typedef struct {
  const seer_sketch_list *sketches;
  const seer_nest_facts *facts;  // of the sketches
  const seer_target *target;
  uint64_t max_packed_bytes;  // of packed weights; 0: any number
  // Hashes of what is not to be drafted. NULL: whatever comes is a candidate, twins too; the pool
  // does not remember them.
  const seer_table *known;
  const seer_bank *bank;  // that rates; NULL: nobody does
  uint32_t task;  // as the bank knows it
  uint32_t n_threads;
} seer_draft_space;

typedef enum {
  SEER_DRAFT_GIVEN,  // `from`, one each: they need not be valid
  SEER_DRAFT_DRAWN,  // of sketches by weight
  SEER_DRAFT_BRED,  // from one of `from`, or two: mutated, crossed
  SEER_DRAFT_OFFSPRING  // of one of `from`, drawn by score: mutated once, or a copy
} seer_draft_kind;

// n tries. What the schedules do not allow, what is known and what has been seen comes to nothing.
typedef struct {
  seer_draft_kind kind;
  uint32_t n;
  // GIVEN: n; BRED: n_from parents, the better ones first; OFFSPRING: n_from
  const seer_schedule *const *from;
  uint32_t n_from;
  bool has_two_parents;
  const double *sketch_weight;  // DRAWN: by sketch, at least one of them above 0
  // OFFSPRING: of the parents' scores (roulette.h). A mutation that fails is drawn anew, its parent
  // and all.
  const double *score_sum;
  double mutation_chance;
} seer_draft_order;

// How often a sketch is drawn, beside others, whose best time is 1 / ratio of the best of all: in
// proportion to the cube, but a bad one keeps a share of what a uniform draw would be.
double seer_draft_sketch_weight(double ratio);

// Adds to the pool, and to the counts. Candidates that are there stay where they are.
SEER_MUST_USE seer_status seer_draft(const seer_draft_space *space, const seer_draft_order *orders,
    uint32_t n_orders, uint64_t seed, seer_draft_pool *pool, seer_search_counts *counts);

// From what the bank said of the pool's candidates from `first` on to their scores among each
// other.
SEER_MUST_USE seer_status seer_draft_score(
    const seer_draft_space *space, seer_draft_pool *pool, uint32_t first);

#endif
