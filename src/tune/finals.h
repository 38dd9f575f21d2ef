// finals.h - which of a task's contenders is the fastest, and is that one faster than the untuned
// one: pairs of times from several moments, and never the same pairs for both questions.
//
// 1. plan: how many contenders a task has, and how often it is visited, for the time there is.
// 2. halve: all tasks in turns; each visit, what is left of a task's contenders takes turns with
//    the untuned one for a few pairs; after each round of visits the slower half leaves. Pairs
//    accumulate: who stays longer is known better.
// 3. decide: the one that is left gets fresh pairs with the untuned one, and with the holder, the
//    winner of the records, of the same moments; again all tasks in turns. Who fails gives way to
//    the next best. The n-th look at a task's fresh pairs is a sign test at 5 % / 2^n, so that all
//    of them together err in 5 % at most.
//
// Where the measurer can begin what it will be asked (foresee), no task waits for another one:
// each goes on as soon as all that its next step asks is known (finals_hold.c), and what it may
// come to is begun behind that.
//
// What passes and what becomes of it is the court's: a campaign's (campaign/accept.c), or a test's.
//
// Memory: all in `arena`. Threads: one. Errors: the measurer's and the court's; finals that are
// not over then stay so.
#ifndef SEER_TUNE_FINALS_H
#define SEER_TUNE_FINALS_H

#include "measure/measure.h"

#define SEER_FINALS_MAX 24  // contenders of a task
#define SEER_FINALS_MIN 5  // where there is time; and the holder
#define SEER_FINALS_LEAST 2  // whatever the time; and the holder
#define SEER_FINALS_PAIRS 5  // of a visit
#define SEER_FINALS_VERDICT_VISITS 3  // at least: no verdict by fewer than 15 pairs
#define SEER_FINALS_MAX_VISITS 16
#define SEER_FINALS_SECOND_PAIRS 15  // of a winner, on a second device
// Kernels of all tasks that take part at a time: what the measurer keeps.
#define SEER_FINALS_MAX_KERNELS 600
#define SEER_FINALS_MIN_SPEEDUP (1 / 0.98)  // median of the times' ratios below 0.98
#define SEER_FINALS_NO_FASTER 1.0  // nor is one with this speedup, at most, any use
#define SEER_FINALS_MAX_P 0.05

typedef struct {
  seer_measure_pair *pair;
  size_t n, cap;
} seer_pair_list;

// How sure it is that something will be asked: so many times in all.
typedef struct {
  uint32_t n_times;
  bool is_certain;
} seer_outlook;

typedef struct {
  seer_schedule schedule;
  bool is_holder;
  seer_measured_class lost;  // why nothing more comes of it: no code, a crash, no time; OK: nothing
  seer_pair_list pairs;  // of the halving, with the untuned one
  seer_measure_ab ab;  // what they show
} seer_finalist;
static inline bool seer_finalist_is_lost(const seer_finalist *c) {
  return c->lost != SEER_MEASURED_OK;
}

// What a task does next, where each goes its own way.
typedef enum {
  SEER_FINAL_HALVES,  // a round of visits, after which the slower half leaves
  SEER_FINAL_CALLS,  // up the next one, whose answer is checked; or the holder defends itself
  SEER_FINAL_ASKS,  // that one has visits
  SEER_FINAL_JUDGES  // by what these have shown
} seer_final_turn;

// A task. Set by the caller: task, untuned, list, n.
typedef struct {
  uint32_t task;
  const seer_schedule *untuned;
  seer_finalist *list;  // after halving: best first
  uint32_t n, n_left;
  bool is_over;
  // The one that is asked, and its fresh pairs. The holder's accumulate.
  uint32_t at, n_refused, n_looks;
  bool is_second_look, has_refusal;
  seer_pair_list fresh, against_holder, holder_fresh;
  seer_measure_ab refusal;  // of the first that was refused
  seer_final_turn turn;
  uint32_t n_visited;  // in this turn
} seer_final;

typedef enum {
  SEER_FINALS_EARLY,  // there is time for more visits than planned before a verdict
  SEER_FINALS_ON_TIME,
  SEER_FINALS_LATE,  // nothing is measured any more that can be left out
} seer_finals_clock;

// Who says what happens; `user` is the court's own. What is borrowed is so for the call.
typedef struct {
  void *user;
  seer_finals_clock (*look_at_clock)(void *user);
  seer_status (*check)(void *user, uint32_t task, const seer_finalist *c, bool *out_right);
  // (with the measurer's foresee) `accept` will be called of this one, or may be: what it asks may
  // be begun. The same of `defend`, which certainly will be.
  seer_status (*foresee)(
      void *user, uint32_t task, const seer_finalist *c, const seer_outlook *outlook);
  seer_status (*foresee_defence)(
      void *user, uint32_t task, const seer_finalist *holder, const seer_measure_ab *fresh);
  // *out_accepted false: it was not faster elsewhere, and gives way to the next best.
  seer_status (*accept)(void *user, uint32_t task, const seer_finalist *c,
      const seer_measure_ab *fresh, bool *out_accepted);
  // Nobody better is left. n_pairs 0: fresh->cls says why it was not timed.
  seer_status (*defend)(void *user, uint32_t task, const seer_finalist *holder,
      const seer_measure_ab *fresh, bool *out_stays);
  // Nothing more comes of this task. refusal: of the best that was not faster, or (n_pairs 0) could
  // not be timed, cls says why; NULL: none was refused.
  seer_status (*conclude)(void *user, uint32_t task, const seer_measure_ab *refusal);
} seer_finals_court;

typedef struct {
  const seer_measure_desc *measure;
  seer_measurer *measurer;
  seer_arena *arena;
  seer_finals_court court;
  uint32_t n_visits;  // of each round
} seer_finals;

// ---- the plan
typedef struct {
  double seconds;  // of its best
  double share;  // of the whole, any unit
  uint32_t n_have;  // contenders there are, the holder's place included
  bool is_confirmed;  // the winner is held against the untuned one on a second device, too
  uint32_t n;  // out: those that take part, at most SEER_FINALS_MAX
} seer_finals_entry;
// Wall time of it all; build_s: of one kernel, as the measurer's builders get on together.
double seer_finals_cost(
    const seer_finals_entry *entries, uint32_t n, uint32_t n_visits, double build_s);
// The same where each has `each` contenders and the holder, and one visit a round: sets n of all.
double seer_finals_cost_of(seer_finals_entry *entries, uint32_t n, uint32_t each, double build_s);
// Sets n of all and *out_visits for `available_s`; the least that is done may take longer.
void seer_finals_plan(seer_finals_entry *entries, uint32_t n, double build_s, double available_s,
    uint32_t *out_visits);
// Pairs, summed over contenders, that the halving of n of them takes. For tests.
uint32_t seer_finals_halving_pairs(uint32_t n, uint32_t n_visits);

// ---- pairs
// Contenders take turns with the untuned one; where nothing came of anybody, because one of them
// crashes the runner, each takes turns by itself. Appends what was measured of contender i to
// *out_lists[i]; out_turns[i] points at it.
typedef struct {
  const seer_measure_pair *pair;  // n_pairs of them; NULL: it is lost
  seer_measured_class lost;  // why; OK where there are pairs
} seer_finals_turn;
SEER_MUST_USE seer_status seer_finals_take_turns(const seer_finals *finals, const seer_final *final,
    const seer_schedule *contenders, uint32_t n, uint32_t n_pairs, seer_pair_list *const *out_lists,
    seer_finals_turn *out_turns);
// That take_turns will be called so.
SEER_MUST_USE seer_status seer_finals_foresee_turns(const seer_finals *finals,
    const seer_final *final, const seer_schedule *contenders, uint32_t n, uint32_t n_pairs,
    const seer_outlook *outlook);

// All of it: 2 and 3.
SEER_MUST_USE seer_status seer_finals_hold(
    const seer_finals *finals, seer_final *tasks, uint32_t n);
// 2 alone, all tasks in turns. For tests.
SEER_MUST_USE seer_status seer_finals_halve(
    const seer_finals *finals, seer_final *tasks, uint32_t n);

#endif
