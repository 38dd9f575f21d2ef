// accept.c - the best few of each task -> in turns with the default -> the fastest, checked ->
// accepted or refused, and recorded so.

#include "tune/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tune/session_internal.h"

#define CONTENDERS 5
#define NEAR 1.15  // of the best recorded time: who takes part
#define PAIRS 15
#define MORE_PAIRS 45  // when the median says faster and the sign test does not yet
#define MIN_SPEEDUP (1 / 0.98)  // decisions 6: median ratio below 0.98
#define MAX_P 0.05

typedef struct {
  seer_session *s;
  uint32_t task;
  const char *schedule;
  seer_record_state state;
} marker;

static seer_status mark_one(void *user, const seer_record *record) {
  marker *m = user;
  if (record->cls != SEER_MEASURED_OK || strcmp(record->schedule, m->schedule) != 0) return SEER_OK;
  return seer_records_set_state(m->s->records, record->id, m->state);
}

static seer_status mark(
    seer_session *s, uint32_t t, const seer_schedule *schedule, seer_record_state state) {
  if (!s->records) return SEER_OK;
  marker m = {s, t, seer_schedule_print(s->task[t].sketches, schedule, s->round), state};
  return seer_records_each(s->records, s->task[t].workload, s->target_id, mark_one, &m);
}

int seer_contender_by_speedup(const void *a, const void *b) {
  const seer_contender *x = a, *y = b;
  if (x->ab.speedup != y->ab.speedup) return x->ab.speedup > y->ab.speedup ? -1 : 1;
  return seer_schedule_hash(&x->schedule) > seer_schedule_hash(&y->schedule) ? 1 : -1;
}

// The best recorded schedules take turns with the default: what looked best in a single measurement
// has most often been lucky. Best first.
static seer_status line_up(seer_session *s, uint32_t t, seer_contender *out, uint32_t *out_n) {
  seer_schedule top[CONTENDERS];
  double seconds[CONTENDERS];
  seer_measure_ab ab[CONTENDERS];
  const seer_schedule *fallback = &s->task[t].fallback;
  uint32_t n = seer_search_top(s->task[t].search, CONTENDERS, top, seconds), n_kept = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (seconds[k] > NEAR * seconds[0] || seer_schedule_equal(&top[k], fallback)) continue;
    top[n_kept++] = top[k];
  }
  *out_n = n_kept;
  if (n_kept == 0) return SEER_OK;
  SEER_TRY(s->measure->compare(s->measurer, t, top, n_kept, fallback, PAIRS, ab));
  bool is_lost = true;  // one of them took the runner along: then each on its own
  for (uint32_t k = 0; k < n_kept; k++) is_lost = is_lost && ab[k].n_pairs == 0;
  for (uint32_t k = 0; k < n_kept; k++) {
    if (is_lost) SEER_TRY(s->measure->compare(s->measurer, t, &top[k], 1, fallback, PAIRS, &ab[k]));
    out[k] = (seer_contender){top[k], ab[k]};
  }
  qsort(out, n_kept, sizeof(*out), seer_contender_by_speedup);
  return SEER_OK;
}

static seer_status finish(seer_session *s, uint32_t t, const seer_contender *c, const char *text) {
  bool is_ok = text == NULL;
  if (is_ok) {
    SEER_TRY(mark(s, t, &c->schedule, SEER_RECORD_ACCEPTED));
    s->task[t].is_accepted = true;
    s->task[t].winner = c->schedule;
    s->task[t].winner_s = c->ab.seconds;
  }
  seer_event event = {.kind = SEER_EVENT_ACCEPT,
      .task = t,
      .before_s = c->ab.baseline_seconds,
      .after_s = c->ab.seconds,
      .is_accepted = is_ok,
      .text = is_ok ? "accepted" : text};
  seer_session_emit(s, &event);
  return SEER_OK;
}

// *out_done: nobody after this one needs to be looked at.
static seer_status try_one(seer_session *s, uint32_t t, seer_contender *c, bool *out_done) {
  *out_done = true;
  bool may_be_faster = c->ab.n_pairs > 0 && c->ab.speedup >= MIN_SPEEDUP;
  if (may_be_faster && c->ab.p_value > MAX_P) {
    SEER_TRY(s->measure->compare(
        s->measurer, t, &c->schedule, 1, &s->task[t].fallback, MORE_PAIRS, &c->ab));
  }
  if (!may_be_faster || c->ab.speedup < MIN_SPEEDUP || c->ab.p_value > MAX_P)
    return finish(s, t, c, "not faster than the default");
  seer_measure_request request = {.task = t, .schedule = c->schedule};
  seer_measured_class cls;
  char message[200] = "";
  SEER_TRY(s->measure->check(s->measurer, &request, &cls, message, sizeof message));
  if (cls == SEER_MEASURED_OK) return finish(s, t, c, NULL);
  *out_done = false;
  s->totals.failed[cls]++;
  SEER_TRY(mark(s, t, &c->schedule, SEER_RECORD_REFUSED));
  seer_event event = {.kind = SEER_EVENT_ACCEPT,
      .task = t,
      .before_s = c->ab.baseline_seconds,
      .after_s = c->ab.seconds,
      .text = seer_arena_printf(s->arena, "%s: %s", seer_measured_class_name(cls), message)};
  seer_session_emit(s, &event);
  return SEER_OK;
}

static seer_status accept_task(seer_session *s, uint32_t t) {
  seer_contender contenders[CONTENDERS];
  uint32_t n;
  seer_arena_reset(s->round);
  SEER_TRY(line_up(s, t, contenders, &n));
  bool is_done = false;
  for (uint32_t k = 0; k < n && !is_done; k++) SEER_TRY(try_one(s, t, &contenders[k], &is_done));
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
    if (s->state.task[t].best_s > 0)
      SEER_TRYF(accept_task(s, t), "checking task %u, %s", t, s->network->task[t].name);
  }
  return SEER_OK;
}
