// accept.c - winners -> checked -> compared with the default -> accepted or refused, and recorded
// so.

#include "tune/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tune/session_internal.h"

#define CANDIDATES 3
#define PAIRS 15
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

static seer_status try_one(
    seer_session *s, uint32_t t, const seer_schedule *schedule, double seconds, bool *out_ok) {
  seer_session_task *task = &s->task[t];
  seer_measure_request request = {t, *schedule, 0};
  seer_measured_class cls;
  char message[200] = "";
  *out_ok = false;
  seer_event event = {.kind = SEER_EVENT_ACCEPT,
      .task = t,
      .before_s = s->state.task[t].default_s,
      .after_s = seconds};
  SEER_TRY(s->measure->check(s->measurer, &request, &cls, message, sizeof message));
  if (cls != SEER_MEASURED_OK) {
    s->totals.failed[cls]++;
    SEER_TRY(mark(s, t, schedule, SEER_RECORD_REFUSED));
    event.text = seer_arena_printf(s->arena, "%s: %s", seer_measured_class_name(cls), message);
    seer_session_emit(s, &event);
    return SEER_OK;
  }
  bool is_default = seer_schedule_equal(schedule, &task->fallback);
  seer_measure_ab ab = {.speedup = 1, .seconds = seconds, .baseline_seconds = seconds};
  if (!is_default)
    SEER_TRY(s->measure->compare(s->measurer, &request, &task->fallback, PAIRS, &ab));
  *out_ok = is_default || (ab.speedup >= MIN_SPEEDUP && ab.p_value <= MAX_P);
  SEER_TRY(mark(s, t, schedule, *out_ok ? SEER_RECORD_ACCEPTED : SEER_RECORD_CHECKED));
  event.before_s = ab.baseline_seconds;
  event.after_s = ab.seconds;
  event.is_accepted = *out_ok;
  event.text = *out_ok ? "accepted" : "not faster than the default";
  if (*out_ok) {
    task->is_accepted = true;
    task->winner = *schedule;
    task->winner_s = ab.seconds;
  }
  seer_session_emit(s, &event);
  return SEER_OK;
}

static seer_status accept_task(seer_session *s, uint32_t t) {
  seer_schedule top[CANDIDATES];
  double seconds[CANDIDATES];
  seer_arena_reset(s->round);
  uint32_t n = seer_search_top(s->task[t].search, CANDIDATES, top, seconds);
  for (uint32_t k = 0; k < n; k++) {
    bool is_ok;
    SEER_TRYF(try_one(s, t, &top[k], seconds[k], &is_ok), "checking task %u, %s", t,
        s->network->task[t].name);
    if (is_ok) return SEER_OK;
  }
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
    if (s->state.task[order[i].task].best_s > 0) SEER_TRY(accept_task(s, order[i].task));
  }
  return SEER_OK;
}
