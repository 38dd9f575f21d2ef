// drift.c - pairs of one schedule with itself -> how fast the machine is now. The contract:
// drift.h.
#include "tune/campaign/drift.h"

#include <math.h>

#include "base/os.h"
#include "tune/campaign/events.h"
#include "tune/campaign/inside.h"

#define DRIFT_PERIOD_S 20.0
#define DRIFT_SHARE 0.01  // of the time, by what the last measurement of the drift has cost
#define DRIFT_PAIRS 5
#define FIRST_TRIES 3  // a device may hang once, or be lost for another one
#define NOTED 0.1  // what is worth a line
#define SEEN_SHARE \
  0.125  // of what a round says, the rest is what was known: a round may be disturbed

// Of device k, in seconds; 0: it was not timed, and *out_why says why.
static seer_status time_device(
    seer_campaign *s, uint32_t task, uint32_t k, double *out_s, seer_measured_class *out_why) {
  seer_measure_ab ab;
  const seer_schedule *untuned = &s->task[task].untuned;
  SEER_TRY(s->device.desc->compare(
      s->device.measurer, k, task, untuned, 1, untuned, DRIFT_PAIRS, &ab, NULL));
  *out_why = ab.cls;
  *out_s = ab.n_pairs > 0 ? fmin(ab.seconds, ab.baseline_seconds) : 0;
  return SEER_OK;
}

static uint32_t heaviest_task(const seer_campaign *s) {
  uint32_t heaviest = 0;
  for (uint32_t t = 1; t < s->network->n_task; t++) {
    const seer_task_state *a = &s->state.task[t], *b = &s->state.task[heaviest];
    if (a->weight * a->flops > b->weight * b->flops) heaviest = t;
  }
  return heaviest;
}

// The reference is what the first device took at the start: how much slower another one is, is
// part of its drift.
static void set_drift(seer_campaign *s, uint32_t k, double seconds, bool is_first) {
  if (seconds <= 0) return;  // what was known of the drift holds until the next time
  if (s->drift.reference_s <= 0) s->drift.reference_s = seconds;
  s->drift.now[k] = seconds / s->drift.reference_s;
  s->drift.is_known[k] = s->drift.is_timed[k] = true;
  if (is_first || fabs(s->drift.now[k] - 1) <= NOTED) return;
  const char *of = s->device.facts.n_devices > 1
      ? seer_arena_printf(s->arena, " of device %s", s->device.facts.name[k])
      : "";
  seer_campaign_note(s,
      seer_arena_printf(s->arena, "the machine's speed%s moved by %.0f %% since the start", of,
          (s->drift.now[k] - 1) * 100));
}

static bool is_asked(const seer_campaign *s, uint32_t k, bool is_new) {
  return !s->device.facts.is_left_out[k] && !(is_new && s->drift.is_known[k]);
}

// Devices that can be timed at once are.
static seer_status foresee(seer_campaign *s, uint32_t task, bool is_new) {
  const seer_schedule both[2] = {s->task[task].untuned, s->task[task].untuned};
  for (uint32_t k = 0; s->device.desc->foresee && k < s->device.facts.n_devices; k++) {
    const seer_measure_question question = {k, task, both, 2, DRIFT_PAIRS};
    if (!is_asked(s, k, is_new)) continue;
    SEER_TRY(s->device.desc->foresee(s->device.measurer, &question, 1, true));
  }
  return SEER_OK;
}

// is_first: the reference is set. is_new: of the devices that were not timed yet.
static seer_status measure_drift(seer_campaign *s, bool is_first, bool is_new) {
  uint32_t task = heaviest_task(s);
  uint64_t start_ns = seer_os_now_ns();
  SEER_TRY(foresee(s, task, is_new));
  for (uint32_t k = 0; k < s->device.facts.n_devices; k++) {
    seer_measured_class why = SEER_MEASURED_OK;
    double seconds = 0;
    if (!is_asked(s, k, is_new)) continue;
    uint32_t n_tries = is_first ? FIRST_TRIES : 1;
    for (uint32_t i = 0; i < n_tries && seconds <= 0; i++)
      SEER_TRY(time_device(s, task, k, &seconds, &why));
    bool is_lost = why == SEER_MEASURED_DEVICE_LOST;  // the next one takes its place
    if (seconds <= 0 && is_first && !is_lost && s->drift.reference_s <= 0)
      return SEER_FAIL(DEVICE, "the untuned schedule of task %u, %s, cannot be timed: %s%s", task,
          s->network->task[task].name, seer_measured_class_name(why),
          why == SEER_MEASURED_RUN_TIMEOUT ? "; --timeout says how long a run may take" : "");
    set_drift(s, k, seconds, is_first);
    s->drift.is_known[k] = s->drift.is_known[k] || is_new;  // it was asked, once
  }
  // The measurer keeps the kernel, so only the first time has a build in it.
  s->drift.taken_ns = seer_os_now_ns();
  s->drift.wait_s =
      fmax(DRIFT_PERIOD_S, (double)(s->drift.taken_ns - start_ns) * 1e-9 / DRIFT_SHARE);
  return SEER_OK;
}

seer_status seer_campaign_begin_drift(seer_campaign *s) {
  for (uint32_t k = 0; k < SEER_MEASURE_MAX_DEVICES; k++) s->drift.now[k] = 1;
  return measure_drift(s, true, false);
}

seer_status seer_campaign_follow_drift(seer_campaign *s) {
  if (!s->policy->traits->follows_drift) return SEER_OK;
  if (s->device.facts.n_rounds) return measure_drift(s, false, true);
  bool is_due = (double)(seer_os_now_ns() - s->drift.taken_ns) * 1e-9 > s->drift.wait_s;
  return is_due ? measure_drift(s, false, false) : SEER_OK;
}

void seer_campaign_see_drift(seer_campaign *s, uint32_t k, double slowness) {
  if (!s->device.facts.n_rounds || !s->policy->traits->follows_drift) return;
  s->drift.now[k] *= pow(slowness / s->drift.now[k], SEEN_SHARE);
  s->drift.n_seen[k]++;
}

static bool has_bias(const seer_campaign *s, uint32_t k) {
  return s->drift.is_timed[k] || s->drift.n_seen[k] > 0;
}

seer_measure_bias seer_campaign_bias(const seer_campaign *s, uint32_t k) {
  uint32_t first = 0;
  while (first < s->device.facts.n_devices && !has_bias(s, first)) first++;
  seer_measure_bias bias = {.n_shared = s->drift.n_seen[k]};
  if (has_bias(s, k)) bias.takes = s->drift.now[k] / s->drift.now[first];
  return bias;
}

uint32_t seer_campaign_get_devices(
    const seer_campaign *s, seer_campaign_device_totals out[SEER_MEASURE_MAX_DEVICES]) {
  const seer_measure_facts *facts = &s->device.facts;
  for (uint32_t k = 0; k < facts->n_devices; k++)
    out[k] = (seer_campaign_device_totals){
        facts->name[k], facts->is_left_out[k], s->device.n_measured[k], seer_campaign_bias(s, k)};
  return facts->n_devices;
}
