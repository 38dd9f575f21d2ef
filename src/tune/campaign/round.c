// round.c - one round of one task: propose, build, time, store, learn.
// The best schedule so far is measured again among its challengers (the witness): what the machine
// does to all of them at that moment cancels out, and a best that was only lucky is found out. So
// are those that stand right behind it: among dozens of noisy times several are lucky.

#include "tune/campaign/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/recover.h"
#include "tune/campaign/drift.h"
#include "tune/campaign/events.h"
#include "tune/campaign/known.h"
#include "tune/campaign/store.h"

#define NEW_PER_WITNESS 5  // one more known schedule is run for so many new ones
#define MAX_CONFIRMATIONS 3  // per round: others near the top that were measured once or twice
// The best: in front on each device, and in the middle.
#define MAX_WITNESSES (SEER_MEASURE_MAX_DEVICES + 1 + MAX_CONFIRMATIONS)

// The models learn from a round's results while the next round's candidates are built: proposals
// are one round behind, and no time is spent on learning alone.
typedef struct {
  seer_campaign *s;
  uint32_t model;
  seer_status status;
} lesson;

static seer_status train(void *user) {
  lesson *l = user;
  return seer_bank_train(l->s->learning.bank, l->model);
}

static void study(void *user) {
  lesson *l = user;
  uint64_t start = seer_os_now_ns(), generation = seer_bank_generation(l->s->learning.bank);
  l->status = seer_recover(train, l);  // it may be on a thread of its own
  // Fitting takes some 25 MB for a moment, which malloc would keep for this thread's successors.
  if (seer_bank_generation(l->s->learning.bank) != generation) seer_os_return_memory();
  l->s->totals.train_s += (double)(seer_os_now_ns() - start) * 1e-9;
}

// ---- records
static seer_status store(seer_campaign *s, uint32_t t, const seer_proposal *proposal,
    const seer_measure_result *result, seer_arena *arena, int64_t *out_id) {
  *out_id = 0;
  if (!s->store.records) return SEER_OK;
  seer_record record = {.campaign = s->store.campaign_id,
      .workload = s->task[t].workload,
      .target = s->store.target_id,
      .schedule = seer_schedule_print(s->task[t].sketches, &proposal->schedule, arena),
      .cls = result->cls,
      .is_raced_out = result->is_raced_out,
      .is_twin = result->is_twin,
      .seconds = result->seconds,
      .reference_s = s->drift.reference_s * s->drift.now[result->device],
      .n_samples = result->n_samples,
      .predicted = (double)proposal->predicted,
      .origin = seer_origin_name(proposal->origin),
      .round = s->state.n_pick,
      .message = result->message};
  memcpy(record.sample, result->sample, sizeof record.sample);
  seer_campaign_name_device(s, result->device, result->part, &record);
  SEER_TRY(seer_records_add(s->store.records, &record));
  *out_id = record.id;
  return SEER_OK;
}

// ---- a round
typedef struct {
  uint32_t n;  // witnesses included
  seer_proposal *proposals;
  seer_measure_request *requests;
  seer_measure_result *results;
} batch;

typedef struct seer_campaign_flight {
  seer_arena *arena;  // what is made for it
  seer_pick pick;
  batch b;
  double before_s;  // the task's best, when it began
  seer_search_counts counts;  // its search's, then
  struct seer_campaign_flight *next;  // that is away, too
  uint32_t number;  // the measurer's, of one that is away
} flight;

static bool is_fine(const batch *b, uint32_t i) { return b->results[i].cls == SEER_MEASURED_OK; }

static void insert_witness(batch *b, uint32_t at, const seer_schedule *schedule, uint32_t wanted) {
  memmove(&b->proposals[at + 1], &b->proposals[at], (b->n - at) * sizeof(seer_proposal));
  memmove(&b->requests[at + 1], &b->requests[at], (b->n - at) * sizeof(seer_measure_request));
  b->proposals[at] = (seer_proposal){.schedule = *schedule, .origin = SEER_ORIGIN_WITNESS};
  b->requests[at] = (seer_measure_request){.is_witness = true, .wanted = wanted};
  b->n++;
}

// n_new proposals are in place from index 0; the best goes in front, once for each device that may
// have a part of the round, others
// that need another look behind the middle, and, where there is room, the best once more before
// those.
static void add_witnesses(seer_campaign *s, uint32_t t, uint32_t n_new, batch *b) {
  seer_schedule best, others[MAX_CONFIRMATIONS];
  double best_s = seer_search_best(s->task[t].search, &best);
  b->n = n_new;
  if (!s->policy->traits->has_witnesses || best_s <= 0 || n_new == 0) return;
  uint32_t room = n_new / NEW_PER_WITNESS < MAX_CONFIRMATIONS + 1 ? n_new / NEW_PER_WITNESS
                                                                  : MAX_CONFIRMATIONS + 1;
  uint32_t n = seer_search_unconfirmed(
      s->task[t].search, room < MAX_CONFIRMATIONS ? room : MAX_CONFIRMATIONS, others);
  uint32_t at = 0, n_devices = s->device.facts.n_rounds ? 0 : s->device.facts.n_devices;
  for (uint32_t k = 0; k < n_devices; k++)
    if (!s->device.facts.is_left_out[k]) insert_witness(b, at++, &best, k + 1);
  if (s->device.facts.n_rounds) insert_witness(b, at++, &best, 0);  // one device has all of it
  at += n_new / 2;
  if (n < room) insert_witness(b, at++, &best, 0);
  for (uint32_t k = 0; k < n; k++) insert_witness(b, at++, &others[k], 0);
}

// As for a slower device: where nobody waits for it, the rest of what the round would have taken
// there goes by.
static void reckon_delay(seer_campaign *s, uint64_t start_ns, batch *b) {
  if (s->device.desc->set_pace || s->device.pace.delay_s <= 0) return;
  double took_s = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  double left_s = seer_measure_delay(s->device.pace.delay_s, took_s, b->results, b->n);
  s->events.reckoned_s += left_s;
  s->totals.measure_s += left_s;
}

// A device that is lost for good is worth a line, and so is one that is new.
static void look_at_devices(seer_campaign *s) {
  seer_measure_facts now, *before = &s->device.facts;
  s->device.desc->describe(s->device.measurer, &now);
  uint32_t n_left = seer_measure_devices_left(&now);
  for (uint32_t k = 0; k < now.n_devices; k++)
    if (now.is_left_out[k] && !before->is_left_out[k])
      seer_campaign_note(s,
          seer_arena_printf(s->arena, "device %s is lost; the tuning goes on with %u of %u",
              now.name[k], n_left, now.n_devices));
  for (uint32_t k = before->n_devices; k < now.n_devices; k++)
    seer_campaign_note(s, seer_arena_printf(s->arena, "device %s has joined", now.name[k]));
  *before = now;
}

static void order(const seer_campaign *s, uint32_t t, batch *b) {
  double best_s = s->policy->traits->is_raced ? s->state.task[t].best_s * s->drift.now[0] : 0;
  for (uint32_t i = 0; i < b->n; i++) {
    b->requests[i].task = t;
    b->requests[i].schedule = b->proposals[i].schedule;
    b->requests[i].best_seconds = b->requests[i].is_witness ? 0 : best_s;
    b->requests[i].timing = s->policy->traits->times;
  }
}

static seer_status measure(seer_campaign *s, batch *b) {
  lesson l = {s, s->learning.model_to_train, SEER_OK};
  seer_meanwhile meanwhile = {study, &l, 0};
  uint64_t start = seer_os_now_ns();
  seer_status status = s->device.desc->measure(s->device.measurer, b->requests, b->n,
      s->policy->traits->learns_beside ? &meanwhile : NULL, b->results);
  if (!status) reckon_delay(s, start, b);
  s->totals.measure_s += (double)(seer_os_now_ns() - start) * 1e-9 - meanwhile.waited_s;
  if (!status) look_at_devices(s);
  if (!status) return l.status;
  seer_status_free(l.status);
  return status;
}

// How much slower than usual each device is now.
typedef struct {
  double of[SEER_MEASURE_MAX_DEVICES];
} slowness;

// A time as it would have been at the usual speed. The machine's phase may have changed since the
// witness was timed: a time corrected to below the task's bound is not believed, unless a confirmed
// one is below it already (seer_task_beats_bound).
static double usual_time(
    const seer_campaign *s, uint32_t t, const seer_measure_result *result, const slowness *slow) {
  const seer_task_state *state = &s->state.task[t];
  double seconds = result->seconds / slow->of[result->device];
  if (seer_task_beats_bound(state)) return seconds;
  return fmax(seconds, fmin(result->seconds / s->drift.now[result->device], state->bound_s));
}

// What the task's times of this round are to be divided by: how much slower than usual the machine
// is, by each device's witness if there was one, else by the last drift measurement.
static void find_slowness(seer_campaign *s, uint32_t t, const batch *b, slowness *out) {
  seer_search *search = s->task[t].search;
  memcpy(out->of, s->drift.now, sizeof out->of);
  if (b->n == 0 || !b->requests[0].is_witness) return;
  const seer_schedule *best = &b->requests[0].schedule;
  double least[SEER_MEASURE_MAX_DEVICES];  // a disturbed witness would make its round look fast
  for (uint32_t k = 0; k < SEER_MEASURE_MAX_DEVICES; k++) least[k] = INFINITY;
  for (uint32_t i = 0; i < b->n; i++) {
    bool is_best = b->requests[i].is_witness && seer_schedule_equal(&b->requests[i].schedule, best);
    if (!is_best || !is_fine(b, i)) continue;
    uint32_t k = b->results[i].device;
    seer_search_witness(search, best, b->results[i].seconds / s->drift.now[k]);
    least[k] = fmin(least[k], b->results[i].seconds);
  }
  double usual = seer_search_seconds(search, best);
  for (uint32_t k = 0; k < SEER_MEASURE_MAX_DEVICES && usual > 0; k++)
    if (isfinite(least[k])) {
      out->of[k] = least[k] / usual;
      seer_campaign_see_drift(s, k, out->of[k]);
    }
  for (uint32_t i = 0; i < b->n; i++) {
    bool is_other =
        b->requests[i].is_witness && !seer_schedule_equal(&b->requests[i].schedule, best);
    if (is_other && is_fine(b, i))
      seer_search_witness(search, &b->requests[i].schedule, usual_time(s, t, &b->results[i], out));
  }
}

// record: what it is stored as; NULL: it could not be, and is learnt from but not announced.
static seer_status take_result(seer_campaign *s, uint32_t t, const batch *b, uint32_t i,
    const slowness *slow, const int64_t *record) {
  seer_task_state *state = &s->state.task[t];
  const seer_measure_result *result = &b->results[i];
  bool is_ok = is_fine(b, i), is_witness = b->requests[i].is_witness;
  double seconds = is_ok ? usual_time(s, t, result, slow) : 0;
  s->totals.failed[result->cls] += !is_ok;
  s->device.n_measured[result->device]++;
  s->totals.twins += result->is_twin;
  s->totals.repeats += is_witness;
  s->totals.raced_out += result->is_raced_out;
  bool is_new = is_ok && !result->is_twin;
  if (!is_witness && (is_new || s->policy->traits->counts_rounds)) s->totals.trials++;
  s->totals.build_s += result->build_s;
  s->totals.run_s += result->run_s;
  state->spent_s += result->build_s / s->device.facts.n_builders +
      result->run_s / s->device.facts.n_devices;  // wall time
  const seer_schedule *schedule = &b->proposals[i].schedule;
  if (is_ok && state->untuned_s <= 0 && seer_schedule_equal(schedule, &s->task[t].untuned))
    state->untuned_s = seconds;
  // A twin's time is that of another moment: it tells the models something, but is no new best.
  if (!is_witness) {
    bool is_full = !result->is_raced_out && !result->is_twin;
    SEER_TRY(seer_campaign_learn(s, t, schedule, seconds, is_full));
  }
  if (!record) return SEER_OK;
  seer_event event = {.kind = SEER_EVENT_MEASUREMENT,
      .task = t,
      .proposal = &b->proposals[i],
      .result = result,
      .device = s->device.facts.n_devices > 1 ? s->device.facts.name[result->device] : NULL,
      .record = *record};
  seer_campaign_emit(s, &event);
  return SEER_OK;
}

typedef struct {
  seer_campaign *s;
  uint32_t task;
  const batch *b;
  seer_arena *arena;
  int64_t *ids;
} round_records;

static seer_status store_round(void *user) {
  round_records *r = user;
  for (uint32_t i = 0; i < r->b->n; i++)
    SEER_TRY(store(r->s, r->task, &r->b->proposals[i], &r->b->results[i], r->arena, &r->ids[i]));
  return SEER_OK;
}

static seer_status take_results(seer_campaign *s, uint32_t t, const flight *r) {
  const batch *b = &r->b;
  int64_t *ids = SEER_NEW_ARRAY(r->arena, int64_t, b->n);
  bool is_announced = true;
  if (s->store.records) {
    round_records records = {s, t, b, r->arena, ids};
    seer_status status = seer_campaign_write(s, store_round, &records);
    is_announced = status == SEER_OK;
    seer_campaign_survive(s, status);
  }
  slowness slow;
  find_slowness(s, t, b, &slow);
  for (uint32_t i = 0; i < b->n; i++)
    SEER_TRY(take_result(s, t, b, i, &slow, is_announced ? &ids[i] : NULL));
  seer_campaign_refresh_best(s, t);  // witnesses' times count, too
  return SEER_OK;
}

static seer_status propose(seer_campaign *s, seer_pick *pick, flight *r) {
  batch *b = &r->b;
  uint32_t t = pick->task, n = 0, n_begun = s->totals.trials + s->away.n_trials;
  seer_task_state *state = &s->state.task[t];
  if (pick->n > SEER_SESSION_MAX_ROUND) pick->n = SEER_SESSION_MAX_ROUND;
  if (s->budget.trials && n_begun + pick->n > s->budget.trials)
    pick->n = s->budget.trials - n_begun;
  seer_event event = {.kind = SEER_EVENT_ROUND, .task = t, .pick = pick};
  seer_campaign_emit(s, &event);
  if (s->policy->traits->tries_untuned && state->n_trial == 0)
    seer_search_queue(s->task[t].search, &s->task[t].untuned, SEER_ORIGIN_UNTUNED);
  b->proposals = SEER_NEW_ARRAY(r->arena, seer_proposal, pick->n + MAX_WITNESSES);
  b->requests = SEER_NEW_ARRAY(r->arena, seer_measure_request, pick->n + MAX_WITNESSES);
  b->results = SEER_NEW_ARRAY(r->arena, seer_measure_result, pick->n + MAX_WITNESSES);
  uint64_t start = seer_os_now_ns();
  SEER_TRY(seer_search_propose(s->task[t].search, s->learning.bank, pick->n, b->proposals, &n));
  s->totals.propose_s += (double)(seer_os_now_ns() - start) * 1e-9;
  state->n_queued = seer_search_queued(s->task[t].search);
  state->n_round++;
  state->t += pick->counts_as;
  s->state.n_pick++;
  s->state.last = *pick;
  add_witnesses(s, t, n, b);
  return SEER_OK;
}

// What a round's end means for the task: a better best, or patience that runs out.
static void conclude(seer_campaign *s, const flight *r, const seer_search_counts *counts) {
  const seer_pick *pick = &r->pick;
  uint32_t t = pick->task;
  double before = r->before_s;
  seer_task_state *state = &s->state.task[t];
  seer_campaign_remember(s, t);
  if (state->n_trial >= 64 && state->best_s <= 0) {
    state->is_dead = true;
    seer_campaign_note(
        s, seer_arena_printf(s->arena, "task %u: all of %u schedules failed", t, state->n_trial));
  }
  if (seer_task_beats_bound(state) && state->best_s != before)
    seer_log(s->context, "search", 1,
        "task %u, %s: %.4g us is faster than its bound, %.4g us, which is none", t,
        s->network->task[t].name, state->best_s * 1e6, state->bound_s * 1e6);
  seer_campaign_update_estimate(s);
  seer_event event;
  bool is_new_best = state->best_s > 0 && (before <= 0 || state->best_s < before);
  if (is_new_best) {
    state->trial_of_best = state->n_trial;
    state->t_of_best = state->t;
    event = (seer_event){
        .kind = SEER_EVENT_BEST, .task = t, .before_s = before, .after_s = state->best_s};
    seer_campaign_emit(s, &event);
  } else if (s->budget.task_early_stopping &&
      seer_task_has_lost_patience(
          state, s->policy->traits, s->state.round_size, s->budget.task_early_stopping)) {
    state->is_done = true;
  }
  seer_log(s->context, "search", 2, "task %u: %s", t, seer_search_counts_print(counts, s->round));
  event = (seer_event){.kind = SEER_EVENT_ROUND_END, .task = t, .pick = pick, .counts = counts};
  seer_campaign_emit(s, &event);
}

static void tell_bias(seer_campaign *s) {
  seer_measure_bias bias[SEER_MEASURE_MAX_DEVICES];
  uint32_t n = s->device.facts.n_devices;
  if (!s->device.desc->tell_bias) return;
  for (uint32_t k = 0; k < n; k++) bias[k] = seer_campaign_bias(s, k);
  s->device.desc->tell_bias(s->device.measurer, bias, n);
}

// What has come back.
static seer_status finish(seer_campaign *s, flight *r) {
  uint32_t t = r->pick.task;
  SEER_TRY(take_results(s, t, r));
  tell_bias(s);
  s->learning.model_to_train = s->learning.models.family_of[t];
  if (!s->policy->traits->learns_beside || s->device.facts.n_rounds) {
    lesson l = {s, s->learning.model_to_train, SEER_OK};
    study(&l);
    SEER_TRY(l.status);
  }
  if (s->policy->traits->shares_warm_up && seer_schedule_is_warm(&s->state))
    seer_bank_split(s->learning.bank);
  seer_search_counts counts = *seer_search_get_counts(s->task[t].search);
  seer_search_counts_less(&counts, &r->counts);
  conclude(s, r, &counts);
  return SEER_OK;
}

// Nothing new is left of the task: that ends it, and this is no round.
static seer_status begin(seer_campaign *s, seer_pick *pick, flight *r, bool *out_has_any) {
  uint32_t t = pick->task;
  r->counts = *seer_search_get_counts(s->task[t].search);
  r->before_s = s->state.task[t].best_s;
  SEER_TRY(propose(s, pick, r));
  r->pick = *pick;
  *out_has_any = r->b.n > 0;
  if (*out_has_any) {
    order(s, t, &r->b);
    return SEER_OK;
  }
  s->state.task[t].is_dead = true;
  seer_campaign_note(s, seer_arena_printf(s->arena, "task %u has no new schedules left", t));
  return SEER_OK;
}

// ---- rounds that are away
bool seer_campaign_has_room(const seer_campaign *s) {
  uint32_t n_begun = s->totals.trials + s->away.n_trials;
  if (s->away.n > 0 && s->budget.trials && n_begun >= s->budget.trials) return false;
  return s->device.facts.n_rounds == 0 || s->away.n < s->device.facts.n_rounds;
}

static void forget(seer_campaign *s, flight *r) {
  flight **at = &s->away.first;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  s->away.n--;
  s->away.n_trials -= r->pick.n;
  s->state.task[r->pick.task].n_away--;
}

static seer_status send_away(seer_campaign *s, seer_pick *pick) {
  seer_arena *arena = seer_arena_create("round");
  flight *r = SEER_NEW(arena, flight);
  r->arena = arena;
  bool has_any = false;
  seer_status status = begin(s, pick, r, &has_any);
  if (!status && has_any)
    status =
        s->device.desc->send(s->device.measurer, r->b.requests, r->b.n, r->b.results, &r->number);
  if (status || !has_any) {
    seer_arena_destroy(arena);
    return status;
  }
  r->next = s->away.first;
  s->away.first = r;
  s->away.n++;
  s->away.n_trials += pick->n;
  s->state.task[pick->task].n_away++;
  return SEER_OK;
}

seer_status seer_campaign_land(seer_campaign *s, double patience_s) {
  uint32_t number;
  uint64_t start = seer_os_now_ns();
  SEER_TRY(s->device.desc->await(s->device.measurer, (uint64_t)(patience_s * 1e9), &number));
  s->totals.measure_s += (double)(seer_os_now_ns() - start) * 1e-9;
  look_at_devices(s);
  if (number == SEER_MEASURE_NO_ROUND) return SEER_OK;
  flight *r = s->away.first;
  while (r && r->number != number) r = r->next;
  SEER_ASSERT(r, "round %u is back, which is not away", number);
  forget(s, r);
  seer_arena_reset(s->round);
  seer_status status = finish(s, r);
  status = seer_status_context(status, "task %u", r->pick.task);
  seer_arena_destroy(r->arena);
  return status;
}

void seer_campaign_recall(seer_campaign *s) {
  if (s->device.desc->recall) s->device.desc->recall(s->device.measurer);
  while (s->away.first) {
    flight *r = s->away.first;
    forget(s, r);
    seer_arena_destroy(r->arena);
  }
}

seer_status seer_campaign_land_all(seer_campaign *s, double patience_s) {
  double until_s = seer_campaign_elapsed_s(s) + patience_s;
  seer_status status = SEER_OK;
  while (s->away.n > 0 && !status && !s->is_stopped) {
    double left_s = until_s - seer_campaign_elapsed_s(s);
    if (left_s <= 0) break;
    status = seer_campaign_land(s, fmin(left_s, 1));
  }
  seer_campaign_recall(s);
  return status;
}

seer_status seer_campaign_round(seer_campaign *s, seer_pick *pick) {
  if (s->device.facts.n_rounds) return send_away(s, pick);
  seer_arena_reset(s->round);
  flight r = {.arena = s->round};
  bool has_any = false;
  SEER_TRY(begin(s, pick, &r, &has_any));
  if (!has_any) return SEER_OK;
  SEER_TRY(measure(s, &r.b));
  return finish(s, &r);
}
