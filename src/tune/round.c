// round.c - one round of one task: propose, build, time, store, learn.
// The best schedule so far (in the first round the default) is every candidate's rival: both take
// turns, and the candidate's time is the ratio times what the rival usually takes. A neighbour on
// the machine slows all that runs by up to 1.7, for a tenth of a second or for many; of times that
// are not held against what ran beside them, the luckiest would win. Those that stand right behind
// the best are measured again (witnesses): among dozens of ratios several are lucky, too.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "tune/session_internal.h"

#define TRANSPLANTS 3  // winners of a round that are re-fitted to relatives
#define MAX_RELATIVES 24
#define CONFIRMATIONS 3  // per round: others near the top that were measured once or twice
// The task's times are restated when the rival takes less than so much of what it was believed to
// take: what was measured before was measured in a slow phase.
#define FASTER 0.97

// ---- learning from a result
void seer_session_refresh_best(seer_session *s, uint32_t t) {
  s->state.task[t].best_s = seer_search_best(s->task[t].search, NULL);
  s->state.task[t].is_confirmed = seer_search_is_confirmed(s->task[t].search);
}

seer_status seer_session_learn(
    seer_session *s, uint32_t t, const seer_schedule *schedule, double seconds, bool is_full) {
  seer_search *search = s->task[t].search;
  seer_search_report(search, schedule, seconds, is_full);
  s->state.task[t].n_trial++;
  seer_session_refresh_best(s, t);
  float *rows = SEER_NEW_ARRAY(s->round, float, SEER_NEST_MAX_STATEMENTS *seer_feature_count);
  seer_sample sample = {.task = t,
      .rows = rows,
      .seconds = seconds,
      .estimate_s = seer_search_analytic(search, schedule),
      .is_raced_out = !is_full};
  sample.n_row = seer_search_features(search, schedule, rows);
  return seer_bank_add(s->bank, &sample, 1);
}

// The models learn from a round's results while the next round's candidates are built: proposals
// are one round behind, and no time is spent on learning alone.
typedef struct {
  seer_session *s;
  uint32_t family;
  seer_status status;
} lesson;

static void study(void *user) {
  lesson *l = user;
  uint64_t start = seer_os_now_ns();
  l->status = seer_bank_train(l->s->bank, l->family);
  l->s->totals.train_s += (double)(seer_os_now_ns() - start) * 1e-9;
}

// ---- records
static seer_status store(seer_session *s, uint32_t t, const seer_proposal *proposal,
    const seer_measure_result *result, int64_t *out_id) {
  *out_id = 0;
  if (!s->records) return SEER_OK;
  seer_record record = {.session = s->session_id,
      .workload = s->task[t].workload,
      .target = s->target_id,
      .schedule = seer_schedule_print(s->task[t].sketches, &proposal->schedule, s->round),
      .cls = result->cls,
      .is_raced_out = result->is_raced_out,
      .is_twin = result->is_twin,
      .seconds = result->seconds,
      .reference_s = s->reference_s,
      .n_samples = result->n_samples,
      .predicted = (double)proposal->predicted,
      .round = s->state.n_pick,
      .message = result->message};
  memcpy(record.sample, result->sample, sizeof record.sample);
  SEER_TRY(seer_records_add(s->records, &record));
  *out_id = record.id;
  return SEER_OK;
}

// ---- transplants
// Winners of task t go to the relatives' queues, re-fitted to their extents.
static void transplant(seer_session *s, uint32_t t) {
  if (s->policy->is_faithful) return;
  seer_schedule top[TRANSPLANTS], fitted;
  uint32_t n = seer_search_top(s->task[t].search, TRANSPLANTS, top, NULL), n_relative = 0;
  for (uint32_t r = 0; r < s->network->n_task && n_relative < MAX_RELATIVES; r++) {
    if (r == t || s->families.family_of[r] != s->families.family_of[t]) continue;
    if (!seer_task_is_open(&s->state.task[r])) continue;
    n_relative++;
    for (uint32_t k = 0; k < n; k++) {
      if (seer_schedule_refit(s->task[t].sketches, &top[k], s->task[r].sketches, &fitted) !=
          SEER_REJECT_NONE)
        continue;
      // Only what the analytic model does not think hopeless for the relative.
      double best = s->state.task[r].best_s > 0 ? s->state.task[r].best_s : s->task[r].estimate_s;
      if (seer_search_analytic(s->task[r].search, &fitted) > 4 * best) continue;
      seer_search_queue(s->task[r].search, &fitted, "sibling");
    }
    s->state.task[r].n_queued = seer_search_queued(s->task[r].search);
  }
}

// ---- a round
typedef struct {
  uint32_t n;  // witnesses included
  uint32_t n_other;  // witnesses but for the rival
  seer_proposal *proposals;
  seer_measure_request *requests;
  seer_measure_result *results;
} batch;

static bool is_fine(const batch *b, uint32_t i) { return b->results[i].cls == SEER_MEASURED_OK; }

static void insert_witness(batch *b, uint32_t at, const seer_schedule *schedule) {
  memmove(&b->proposals[at + 1], &b->proposals[at], (b->n - at) * sizeof(seer_proposal));
  memmove(&b->requests[at + 1], &b->requests[at], (b->n - at) * sizeof(seer_measure_request));
  b->proposals[at] = (seer_proposal){.schedule = *schedule, .origin = "witness"};
  b->requests[at] = (seer_measure_request){.is_witness = true};
  b->n++;
}

// n_new proposals are in place from index 0; the rival goes in front, others that need another look
// into the middle.
static void add_witnesses(seer_session *s, uint32_t t, uint32_t n_new, batch *b) {
  const seer_search *search = s->task[t].search;
  seer_schedule top[2], others[CONFIRMATIONS];
  b->n = n_new;
  if (s->policy->is_faithful || n_new == 0) return;
  uint32_t n_top = seer_search_top(search, 2, top, NULL);
  if (n_top > 0) {
    b->n_other = seer_search_unconfirmed(search, CONFIRMATIONS, others);
    // A new best is held against the one before it.
    if (b->n_other == 0 && n_top > 1 && !seer_search_is_confirmed(search))
      others[b->n_other++] = top[1];
    insert_witness(b, 0, &top[0]);
    for (uint32_t k = 0; k < b->n_other; k++) insert_witness(b, n_new / 2 + 1 + k, &others[k]);
  }
  b->requests[0].is_rival = true;
}

static seer_status measure(seer_session *s, uint32_t t, batch *b) {
  double best_s = s->policy->is_faithful ? 0 : s->state.task[t].best_s * s->drift;
  for (uint32_t i = 0; i < b->n; i++) {
    b->requests[i].task = t;
    b->requests[i].schedule = b->proposals[i].schedule;
    b->requests[i].best_seconds = b->requests[i].is_witness ? 0 : best_s;
  }
  lesson l = {s, s->family_to_study, SEER_OK};
  seer_meanwhile meanwhile = {study, &l, 0};
  bool is_sequential = s->policy->is_faithful;
  uint64_t start = seer_os_now_ns();
  seer_status status = s->measure->measure(
      s->measurer, b->requests, b->n, is_sequential ? NULL : &meanwhile, b->results);
  s->totals.measure_s += (double)(seer_os_now_ns() - start) * 1e-9 - meanwhile.waited_s;
  if (!status) return l.status;
  seer_status_free(l.status);
  return status;
}

// ---- what a time means
// The rival of a round, and what its own times in all turns of the round say.
typedef struct {
  double usual_s;  // what it takes by what was known before the round; 0: no rival
  double slow;  // how much slower than usual the machine is
} pace;

static double rival_now(const batch *b, const seer_session *s) {
  double *all = SEER_NEW_ARRAY(s->round, double, b->n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    if (i == 0 ? is_fine(b, i) : b->results[i].rival_s > 0)
      all[n++] = i == 0 ? b->results[i].seconds : b->results[i].rival_s;
  }
  seer_sort_f64(all, n);
  return n ? seer_sorted_quartile(all, n) : 0;
}

static pace find_pace(seer_session *s, uint32_t t, const batch *b) {
  pace p = {0, s->drift};
  if (b->n == 0 || !b->requests[0].is_rival || !is_fine(b, 0)) return p;
  seer_search *search = s->task[t].search;
  double now = rival_now(b, s), usual = seer_search_seconds(search, &b->proposals[0].schedule);
  if (usual > 0 && now < FASTER * usual * s->drift) {
    double factor = now / s->drift / usual;
    seer_search_rescale(search, factor);
    seer_bank_rescale(s->bank, t, factor);
    s->state.task[t].default_s *= factor;
    usual *= factor;
  }
  p.usual_s = usual > 0 ? usual : now / s->drift;
  p.slow = now / p.usual_s;
  return p;
}

// As it would have been at the usual speed. A twin was measured at another moment. What would be
// faster than the task's bound is not believed.
static double usual_time(
    const seer_session *s, uint32_t t, const seer_measure_result *result, pace p) {
  double seconds = result->seconds / (result->is_twin ? s->drift : p.slow);
  if (result->ratio > 0 && p.usual_s > 0) seconds = result->ratio * p.usual_s;
  return fmax(seconds, fmin(result->seconds / s->drift, s->state.task[t].bound_s));
}

// Of the rival and another one that was measured in turns with it, that which is known less learns
// from the other: else each new best would keep the luck that made it the best.
static void take_witness(seer_session *s, uint32_t t, const batch *b, uint32_t i, pace p) {
  seer_search *search = s->task[t].search;
  const seer_schedule *best = &b->proposals[0].schedule, *other = &b->proposals[i].schedule;
  double ratio = b->results[i].ratio, usual = seer_search_seconds(search, other);
  if (i == 0) {
    if (b->n_other == 0) seer_search_witness(search, best, p.usual_s);
  } else if (ratio > 0 && usual > 0 &&
      seer_search_n_times(search, best) < seer_search_n_times(search, other)) {
    seer_search_witness(search, best, usual / ratio);
  } else {
    seer_search_witness(search, other, usual_time(s, t, &b->results[i], p));
  }
}

static seer_status take_result(
    seer_session *s, uint32_t t, const batch *b, uint32_t i, pace p, int64_t record) {
  seer_task_state *state = &s->state.task[t];
  const seer_measure_result *result = &b->results[i];
  bool is_ok = is_fine(b, i), is_witness = b->requests[i].is_witness;
  double seconds = is_ok ? usual_time(s, t, result, p) : 0;
  if (is_ok && b->requests[i].is_rival) seconds = p.usual_s;
  s->totals.failed[result->cls] += !is_ok;
  s->totals.twins += result->is_twin;
  s->totals.raced_out += result->is_raced_out;
  if (is_ok && !result->is_twin && !is_witness) s->totals.trials++;
  s->totals.build_s += result->build_s;
  s->totals.run_s += result->run_s;
  state->spent_s += result->build_s / s->target->threads + result->run_s;
  const seer_schedule *schedule = &b->proposals[i].schedule;
  if (is_ok && state->default_s <= 0 && seer_schedule_equal(schedule, &s->task[t].fallback))
    state->default_s = seconds;
  // A twin's time is that of another moment: it tells the models something, but is no new best.
  if (!is_witness) {
    bool is_full = !result->is_raced_out && !result->is_twin;
    SEER_TRY(seer_session_learn(s, t, schedule, seconds, is_full));
  } else if (is_ok) {
    take_witness(s, t, b, i, p);
  }
  seer_event event = {.kind = SEER_EVENT_MEASUREMENT,
      .task = t,
      .proposal = &b->proposals[i],
      .result = result,
      .record = record};
  seer_session_emit(s, &event);
  return SEER_OK;
}

static seer_status take_results(seer_session *s, uint32_t t, const batch *b) {
  int64_t *ids = SEER_NEW_ARRAY(s->round, int64_t, b->n);
  if (s->records) SEER_TRY(seer_records_begin(s->records));
  for (uint32_t i = 0; i < b->n; i++)
    SEER_TRY(store(s, t, &b->proposals[i], &b->results[i], &ids[i]));
  if (s->records) SEER_TRY(seer_records_commit(s->records));
  pace p = find_pace(s, t, b);
  for (uint32_t i = 0; i < b->n; i++) SEER_TRY(take_result(s, t, b, i, p, ids[i]));
  seer_session_refresh_best(s, t);  // witnesses' times count, too
  return SEER_OK;
}

static seer_status propose(seer_session *s, seer_pick *pick, batch *b) {
  uint32_t t = pick->task, n = 0;
  seer_task_state *state = &s->state.task[t];
  if (pick->n > SEER_SESSION_MAX_ROUND) pick->n = SEER_SESSION_MAX_ROUND;
  if (s->budget.trials && s->totals.trials + pick->n > s->budget.trials)
    pick->n = s->budget.trials - s->totals.trials;
  seer_event event = {.kind = SEER_EVENT_ROUND, .task = t, .pick = pick};
  seer_session_emit(s, &event);
  if (!s->policy->is_faithful && state->n_trial == 0)
    seer_search_queue(s->task[t].search, &s->task[t].fallback, "default");
  b->proposals = SEER_NEW_ARRAY(s->round, seer_proposal, pick->n + 1 + CONFIRMATIONS);
  b->requests = SEER_NEW_ARRAY(s->round, seer_measure_request, pick->n + 1 + CONFIRMATIONS);
  b->results = SEER_NEW_ARRAY(s->round, seer_measure_result, pick->n + 1 + CONFIRMATIONS);
  uint64_t start = seer_os_now_ns();
  SEER_TRY(seer_search_propose(s->task[t].search, s->bank, pick->n, b->proposals, &n));
  s->totals.propose_s += (double)(seer_os_now_ns() - start) * 1e-9;
  state->n_queued = seer_search_queued(s->task[t].search);
  state->n_round++;
  s->state.n_pick++;
  s->state.last = *pick;
  add_witnesses(s, t, n, b);
  return SEER_OK;
}

// What a round's end means for the task: a new best goes to its relatives, patience runs out.
static void conclude(seer_session *s, const seer_pick *pick, double before) {
  uint32_t t = pick->task;
  seer_task_state *state = &s->state.task[t];
  state->history = SEER_GROW(
      s->arena, double, state->history, (size_t)state->n_history, &s->task[t].cap_history);
  state->history[state->n_history++] = state->best_s;
  if (state->n_trial >= 64 && state->best_s <= 0) {
    state->is_dead = true;
    seer_session_note(
        s, seer_arena_printf(s->arena, "task %u: all of %u schedules failed", t, state->n_trial));
  }
  seer_session_update_estimate(s);
  seer_event event;
  if (state->best_s > 0 && (before <= 0 || state->best_s < before)) {
    s->task[t].trial_of_best = state->n_trial;
    event = (seer_event){
        .kind = SEER_EVENT_BEST, .task = t, .before_s = before, .after_s = state->best_s};
    seer_session_emit(s, &event);
    transplant(s, t);
  } else if (s->budget.task_early_stopping &&
      state->n_trial - s->task[t].trial_of_best >= s->budget.task_early_stopping) {
    state->is_done = true;
  }
  event = (seer_event){.kind = SEER_EVENT_ROUND_END, .task = t, .pick = pick};
  seer_session_emit(s, &event);
}

seer_status seer_session_round(seer_session *s, seer_pick *pick) {
  uint32_t t = pick->task;
  seer_arena_reset(s->round);
  batch b = {0};
  SEER_TRY(propose(s, pick, &b));
  if (b.n == 0) {
    s->state.task[t].is_dead = true;
    seer_session_note(s, seer_arena_printf(s->arena, "task %u has no new schedules left", t));
    return SEER_OK;
  }
  double before = s->state.task[t].best_s;
  SEER_TRY(measure(s, t, &b));
  SEER_TRY(take_results(s, t, &b));
  s->family_to_study = s->families.family_of[t];
  if (s->policy->is_faithful) {
    lesson l = {s, s->family_to_study, SEER_OK};
    study(&l);
    SEER_TRY(l.status);
  }
  conclude(s, pick, before);
  return SEER_OK;
}
