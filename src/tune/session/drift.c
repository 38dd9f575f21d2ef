// drift.c - pairs of one schedule with itself -> how fast the machine is now. The contract:
// drift.h.
#include "tune/session/drift.h"

#include <math.h>

#include "base/os.h"
#include "tune/session/events.h"
#include "tune/session/inside.h"

#define DRIFT_PERIOD_S 20.0
#define DRIFT_SHARE 0.01  // of the time, by what the last measurement of the drift has cost
#define DRIFT_PAIRS 5

static seer_status measure_drift(seer_session *s, bool is_first) {
  uint32_t heaviest = 0;
  for (uint32_t t = 1; t < s->network->n_task; t++) {
    const seer_task_state *a = &s->state.task[t], *b = &s->state.task[heaviest];
    if (a->weight * a->flops > b->weight * b->flops) heaviest = t;
  }
  seer_measure_ab ab;
  const seer_schedule *untuned = &s->task[heaviest].untuned;
  uint64_t start_ns = seer_os_now_ns();
  SEER_TRY(s->device.desc->compare(
      s->device.measurer, heaviest, untuned, 1, untuned, DRIFT_PAIRS, &ab, NULL));
  // The measurer keeps the kernel, so only the first time has a build in it.
  s->drift.taken_ns = seer_os_now_ns();
  s->drift.wait_s =
      fmax(DRIFT_PERIOD_S, (double)(s->drift.taken_ns - start_ns) * 1e-9 / DRIFT_SHARE);
  if (ab.n_pairs == 0 && is_first)
    return SEER_FAIL(DEVICE, "the untuned schedule of task %u, %s, cannot be timed: %s%s", heaviest,
        s->network->task[heaviest].name, seer_measured_class_name(ab.cls),
        ab.cls == SEER_MEASURED_RUN_TIMEOUT ? "; --timeout says how long a run may take" : "");
  if (ab.n_pairs == 0) return SEER_OK;  // what was known of the drift holds until the next time
  double now = fmin(ab.seconds, ab.baseline_seconds);
  if (is_first) s->drift.reference_s = now;
  s->drift.now = s->drift.reference_s > 0 ? now / s->drift.reference_s : 1;
  if (!is_first && fabs(s->drift.now - 1) > 0.1) {
    seer_session_note(s,
        seer_arena_printf(s->arena, "the machine's speed moved by %.0f %% since the start",
            (s->drift.now - 1) * 100));
  }
  return SEER_OK;
}

seer_status seer_session_begin_drift(seer_session *s) {
  s->drift.now = 1;
  return measure_drift(s, true);
}

seer_status seer_session_follow_drift(seer_session *s) {
  bool is_due = (double)(seer_os_now_ns() - s->drift.taken_ns) * 1e-9 > s->drift.wait_s;
  return is_due && s->policy->traits->follows_drift ? measure_drift(s, false) : SEER_OK;
}
