// accept.c - the best few of each task and the records' winner -> in turns with the untuned one,
// and with each other -> the fastest, checked -> accepted or refused, and recorded so. The rule:
// accept.h.

#include "tune/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tune/session_internal.h"

#define CONTENDERS 5
#define NEAR 1.15  // of the best recorded time: who takes part
#define PAIRS 15
#define MORE_PAIRS 45  // when the median says faster and the sign test does not yet
#define MIN_SPEEDUP (1 / 0.98)  // median of the times' ratios below 0.98
// A winner that is as fast as the untuned one in the median has lost its place.
#define NO_WORSE 1.0
#define MAX_P 0.05

// ---- records
typedef struct {
  seer_records *records;
  const char *schedule;
} marker;

static seer_status refuse_one(void *user, const seer_record *record) {
  marker *m = user;
  if (record->cls != SEER_MEASURED_OK || strcmp(record->schedule, m->schedule) != 0) return SEER_OK;
  return seer_records_set_state(m->records, record->id, SEER_RECORD_REFUSED);
}

// All measurements of a schedule whose answer is wrong.
static seer_status refuse(seer_session *s, uint32_t t, const seer_schedule *schedule) {
  if (!s->records) return SEER_OK;
  marker m = {s->records, seer_schedule_print(s->task[t].sketches, schedule, s->round)};
  return seer_records_each(s->records, s->task[t].workload, s->target_id, refuse_one, &m);
}

seer_record seer_contender_record(
    const seer_session *s, uint32_t t, const seer_contender *c, const seer_schedule *baseline) {
  const seer_session_task *task = &s->task[t];
  return (seer_record){.session = s->session_id,
      .workload = task->workload,
      .target = s->target_id,
      .schedule = seer_schedule_print(task->sketches, &c->schedule, s->round),
      .cls = SEER_MEASURED_OK,
      .origin = seer_origin_name(SEER_ORIGIN_PAIRS),
      .seconds = c->ab.seconds,
      .reference_s = s->reference_s,
      .n_samples = 1,
      .sample = {c->ab.seconds},
      .round = s->state.n_pick,
      .ab = c->ab,
      .baseline = seer_schedule_print(task->sketches, baseline, s->round)};
}

static seer_status store_winner(seer_session *s, uint32_t t, const seer_contender *c) {
  if (!s->records) return SEER_OK;
  seer_record record = seer_contender_record(s, t, c, &s->task[t].untuned);
  return seer_records_accept(s->records, &record);
}

static seer_status dethrone(seer_session *s, uint32_t t, seer_record_state state) {
  s->task[t].has_holder = false;
  return seer_records_dethrone(s->records, s->task[t].workload, s->target_id, state);
}

// ---- pairs
int seer_contender_by_speedup(const void *a, const void *b) {
  const seer_contender *x = a, *y = b;
  if (x->ab.speedup != y->ab.speedup) return x->ab.speedup > y->ab.speedup ? -1 : 1;
  return seer_schedule_hash(&x->schedule) > seer_schedule_hash(&y->schedule) ? 1 : -1;
}

static bool is_among(const seer_schedule *list, uint32_t n, const seer_schedule *schedule) {
  for (uint32_t k = 0; k < n; k++)
    if (seer_schedule_equal(&list[k], schedule)) return true;
  return false;
}

// The winner of the records, then the search's best: what looked best in a single measurement has
// most often been lucky.
static uint32_t gather(const seer_session *s, uint32_t t, seer_schedule *out) {
  seer_schedule top[CONTENDERS];
  double seconds[CONTENDERS];
  const seer_session_task *task = &s->task[t];
  uint32_t n = seer_search_top(task->search, CONTENDERS, top, seconds), n_kept = 0;
  if (task->has_holder) out[n_kept++] = task->holder;
  for (uint32_t k = 0; k < n; k++) {
    if (seconds[k] > NEAR * seconds[0] || seer_schedule_equal(&top[k], &task->untuned)) continue;
    if (!is_among(out, n_kept, &top[k])) out[n_kept++] = top[k];
  }
  return n_kept;
}

// All take turns with the untuned one. Best first.
static seer_status line_up(seer_session *s, uint32_t t, seer_contender *out, uint32_t *out_n) {
  seer_schedule list[CONTENDERS + 1];
  seer_measure_ab ab[CONTENDERS + 1];
  const seer_schedule *untuned = &s->task[t].untuned;
  uint32_t n = *out_n = gather(s, t, list);
  if (n == 0) return SEER_OK;
  SEER_TRY(s->measure->compare(s->measurer, t, list, n, untuned, PAIRS, ab));
  // Nothing of anybody: one of them has crashed the runner twice. Then each takes turns by itself.
  bool is_lost = true;
  for (uint32_t k = 0; k < n; k++) is_lost = is_lost && ab[k].n_pairs == 0;
  for (uint32_t k = 0; k < n; k++) {
    if (is_lost) SEER_TRY(s->measure->compare(s->measurer, t, &list[k], 1, untuned, PAIRS, &ab[k]));
    if (ab[k].n_pairs == 0) ab[k] = (seer_measure_ab){.p_value = 1};
    out[k] = (seer_contender){list[k], ab[k], s->task[t].has_holder && k == 0};
  }
  qsort(out, n, sizeof(*out), seer_contender_by_speedup);
  return SEER_OK;
}

// Is `schedule` faster than `baseline` by at least `min_speedup`, in pairs that are not chance?
// *ab: what is known, and what was measured last.
static seer_status beats(seer_session *s, uint32_t t, const seer_schedule *schedule,
    const seer_schedule *baseline, double min_speedup, seer_measure_ab *ab, bool *out_beats) {
  if (ab->n_pairs > 0 && ab->speedup >= min_speedup && ab->p_value > MAX_P)
    SEER_TRY(s->measure->compare(s->measurer, t, schedule, 1, baseline, MORE_PAIRS, ab));
  *out_beats = ab->n_pairs > 0 && ab->speedup >= min_speedup && ab->p_value <= MAX_P;
  return SEER_OK;
}

static seer_status beats_holder(
    seer_session *s, uint32_t t, const seer_contender *c, bool *out_beats) {
  const seer_session_task *task = &s->task[t];
  seer_measure_ab ab;
  *out_beats = true;
  if (!task->has_holder) return SEER_OK;
  SEER_TRY(s->measure->compare(s->measurer, t, &c->schedule, 1, &task->holder, PAIRS, &ab));
  return beats(s, t, &c->schedule, &task->holder, 1, &ab, out_beats);
}

// ---- verdicts
static void tell(
    seer_session *s, uint32_t t, const seer_measure_ab *ab, bool is_accepted, const char *text) {
  seer_event event = {.kind = SEER_EVENT_ACCEPT,
      .task = t,
      .before_s = ab->baseline_seconds,
      .after_s = ab->seconds,
      .is_accepted = is_accepted,
      .text = text};
  seer_session_emit(s, &event);
}

static void crown(seer_session *s, uint32_t t, const seer_schedule *schedule,
    const seer_measure_ab *ab, const char *text) {
  s->task[t].is_accepted = true;
  s->task[t].winner = *schedule;
  s->task[t].winner_ab = *ab;
  tell(s, t, ab, true, text);
}

// Is the answer right? Else said, and recorded so.
static seer_status is_right(seer_session *s, uint32_t t, const seer_contender *c, bool *out_right) {
  seer_measure_request request = {.task = t, .schedule = c->schedule};
  seer_measured_class cls;
  char message[200] = "";
  SEER_TRY(s->measure->check(s->measurer, &request, &cls, message, sizeof message));
  *out_right = cls == SEER_MEASURED_OK;
  if (*out_right) return SEER_OK;
  s->totals.failed[cls]++;
  SEER_TRY(refuse(s, t, &c->schedule));
  tell(s, t, &c->ab, false,
      seer_arena_printf(s->arena, "%s: %s", seer_measured_class_name(cls), message));
  return SEER_OK;
}

// *out_done: nobody after this one needs to be looked at.
static seer_status challenge(seer_session *s, uint32_t t, seer_contender *c, bool *out_done) {
  bool is_faster, is_first = false, is_fine = false;
  const seer_schedule *untuned = &s->task[t].untuned;
  SEER_TRY(beats(s, t, &c->schedule, untuned, MIN_SPEEDUP, &c->ab, &is_faster));
  if (!is_faster && !s->task[t].has_holder) {
    *out_done = true;
    tell(s, t, &c->ab, false, "not faster than the untuned one");
    return SEER_OK;
  }
  if (is_faster) SEER_TRY(beats_holder(s, t, c, &is_first));
  if (is_first) SEER_TRY(is_right(s, t, c, &is_fine));
  if (!is_fine) return SEER_OK;
  *out_done = true;
  SEER_TRY(store_winner(s, t, c));
  crown(s, t, &c->schedule, &c->ab, "accepted");
  return SEER_OK;
}

// The winner of the records: what is left of the others was slower in turns with the untuned one,
// or has not beaten it.
static seer_status defend(seer_session *s, uint32_t t, seer_contender *c, bool *out_done) {
  seer_session_task *task = &s->task[t];
  bool is_fine = c->ab.n_pairs > 0;
  if (is_fine && c->ab.speedup <= NO_WORSE) {
    uint32_t n = task->holder_ab.n_pairs > MORE_PAIRS ? task->holder_ab.n_pairs : MORE_PAIRS;
    SEER_TRY(s->measure->compare(s->measurer, t, &c->schedule, 1, &task->untuned, n, &c->ab));
    is_fine = c->ab.n_pairs > 0;
  }
  if (!is_fine) {
    tell(s, t, &c->ab, false, "the winner of the records does not run any more");
    return dethrone(s, t, SEER_RECORD_REFUSED);
  }
  if (c->ab.speedup <= NO_WORSE) {
    tell(s, t, &c->ab, false,
        "the winner of the records is no faster than the untuned one any more");
    return dethrone(s, t, SEER_RECORD_CHECKED);
  }
  SEER_TRY(is_right(s, t, c, &is_fine));
  if (!is_fine) return dethrone(s, t, SEER_RECORD_REFUSED);
  *out_done = true;
  bool has_won_here = false;
  if (task->is_holder_trusted)
    SEER_TRY(beats(s, t, &c->schedule, &task->untuned, MIN_SPEEDUP, &c->ab, &has_won_here));
  if (has_won_here) {
    SEER_TRY(store_winner(s, t, c));
    task->holder_ab = c->ab;
  }
  crown(s, t, &task->holder, &task->holder_ab, "the winner of the records stays");
  return SEER_OK;
}

static seer_status accept_task(seer_session *s, uint32_t t) {
  seer_contender contenders[CONTENDERS + 1];
  uint32_t n;
  bool is_done = false, was_held = s->task[t].has_holder;
  seer_arena_reset(s->round);
  SEER_TRY(line_up(s, t, contenders, &n));
  // A winner of which no pairs are known is a contender like any other.
  if (s->task[t].holder_ab.n_pairs == 0) {
    s->task[t].has_holder = false;
    for (uint32_t k = 0; k < n; k++) contenders[k].is_holder = false;
  }
  for (uint32_t k = 0; k < n && !is_done; k++) {
    seer_contender *c = &contenders[k];
    SEER_TRY(c->is_holder ? defend(s, t, c, &is_done) : challenge(s, t, c, &is_done));
  }
  if (was_held && !s->task[t].is_accepted) return dethrone(s, t, SEER_RECORD_CHECKED);
  return SEER_OK;
}

typedef struct {
  uint32_t task;
  double share;
} heavy;

static int by_share(const void *a, const void *b) {
  const heavy *x = a, *y = b;
  if (x->share != y->share) return x->share > y->share ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

seer_status seer_session_accept(seer_session *s) {
  uint32_t n = s->network->n_task;
  heavy *order = SEER_NEW_ARRAY(s->arena, heavy, n);
  for (uint32_t t = 0; t < n; t++)
    order[t] = (heavy){t, s->state.task[t].weight * s->state.task[t].best_s};
  qsort(order, n, sizeof(heavy), by_share);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t t = order[i].task;
    if (s->task[t].is_judged) continue;  // before something went wrong
    if (s->state.task[t].best_s > 0 || s->task[t].has_holder)
      SEER_TRYF(accept_task(s, t), "checking task %u, %s", t, s->network->task[t].name);
    s->task[t].is_judged = true;
  }
  return SEER_OK;
}
