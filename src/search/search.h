// search.h - one task's search: what has been measured, what looks promising, what to measure next.
// Draft, then verify: cheap analytic scores filter many drafts; the learned model ranks what is
// left and guides a few generations of evolution. The population is kept between rounds. Or, as the
// strategy says, Ansor's evolution, which knows no estimates and keeps nothing (search/evolve.h).
// Repeatable: the same results and models give the same proposals, on any number of threads.
//
// Threads: one at a time uses a search (which drafts on several), and nobody trains the bank
// meanwhile.
#ifndef SEER_SEARCH_SEARCH_H
#define SEER_SEARCH_SEARCH_H

#include "learn/bank.h"
#include "measure/measure.h"
#include "search/counts.h"
#include "search/strategy.h"
#include "space/origin.h"

typedef struct {
  uint32_t task;
  const seer_sketch_list *sketches;  // kept
  const seer_target *target;  // kept
  const seer_search_strategy *strategy;  // kept
  uint64_t seed;
  uint64_t max_packed_bytes;  // packed weights of a schedule; 0: any number
  uint32_t n_threads;  // that draft; 0: as many as this process may use
} seer_search_options;

typedef struct {
  seer_schedule schedule;
  float predicted;  // relative throughput by the learned model; 0 when it was not asked
  double estimate_s;
  seer_origin origin;
} seer_proposal;

typedef struct seer_search seer_search;
// Owned: seer_search_destroy.
SEER_MUST_USE seer_status seer_search_create(
    const seer_search_options *options, seer_search **out_search);
void seer_search_destroy(seer_search *search);
// From now on every proposal is one of these n (copied; normalised and allowed, each once): a
// proposal's pool are those that are not measured yet, all of them, and nothing is drawn or bred.
// What is queued and not among them is rejected. Before anything else is asked of the search.
// Errors: RESOURCE.
SEER_MUST_USE seer_status seer_search_restrict(
    seer_search *search, const seer_schedule *schedules, uint32_t n);

// To be measured before anything else: the untuned choice, what records have of this very task.
// Known or invalid ones are left out.
void seer_search_queue(seer_search *search, const seer_schedule *schedule, seer_origin origin);
uint32_t seer_search_queued(const seer_search *search);
// Joins the drafts of the next proposal, ranked like everything else, and stays among them as long
// as it ranks well. False: it is known or invalid, or the population has no room.
bool seer_search_suggest(seer_search *search, const seer_schedule *schedule);
// At most n new schedules; fewer, or none, when the space is exhausted. Errors: RESOURCE, and those
// of the models.
SEER_MUST_USE seer_status seer_search_propose(
    seer_search *search, const seer_bank *bank, uint32_t n, seer_proposal *out, uint32_t *out_n);
// What came of one. seconds 0: failed; only a full measurement may become the best. Also used to
// restore from records.
void seer_search_report(
    seer_search *search, const seer_schedule *schedule, double seconds, bool is_full);
// One of the best was measured again: its time is now the median of all its times.
void seer_search_witness(seer_search *search, const seer_schedule *schedule, double seconds);
// Those near the top that were measured too seldom to be trusted, best first; at most k.
uint32_t seer_search_unconfirmed(const seer_search *search, uint32_t k, seer_schedule *out);
// The best was measured often enough for its time to be believed.
bool seer_search_is_confirmed(const seer_search *search);
// The best was, and all of its neighbours have been tried that could be worth it: none is better,
// as far as their times say. Always false under a strategy without neighbours.
bool seer_search_is_local_optimum(seer_search *search);
// Of one of the best; 0: it is not among them.
double seer_search_seconds(const seer_search *search, const seer_schedule *schedule);
bool seer_search_knows(const seer_search *search, const seer_schedule *schedule);
double seer_search_best(
    const seer_search *search, seer_schedule *out_schedule);  // seconds; 0: none
// The k best measured ones, best first.
uint32_t seer_search_top(
    const seer_search *search, uint32_t k, seer_schedule *out, double *out_seconds);
const seer_search_counts *seer_search_get_counts(const seer_search *search);
// A schedule that was meant for this task and could not be made.
void seer_search_reject(seer_search *search, seer_reject why);
// A schedule as models learn it, its rows in `arena`; not raced out.
seer_sample seer_search_sample(const seer_search *search, const seer_feature_set *features,
    const seer_schedule *schedule, double seconds, seer_arena *arena);
uint64_t seer_search_packed_bytes(const seer_search *search, const seer_schedule *schedule);
double seer_search_estimate(const seer_search *search, const seer_schedule *schedule);

#endif
