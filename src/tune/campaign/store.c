// store.c - what a campaign has found -> its records. The contract: store.h.
#include "tune/campaign/store.h"

#include "tune/campaign/events.h"

bool seer_campaign_starts_anew(const seer_campaign *s) {
  return !s->store.records || seer_context_bool(s->context, SEER_OPT_NO_RESUME);
}

static bool is_stopped(void *user) { return ((const seer_campaign *)user)->is_stopped; }

static void tell_wait(void *user, const char *text) {
  seer_event event = {.kind = SEER_EVENT_WAIT, .text = text};
  seer_campaign_emit(user, &event);
}

seer_status seer_campaign_write(seer_campaign *s, seer_records_writer write, void *user) {
  if (!s->store.records) return SEER_OK;
  const seer_waiter waiter = {is_stopped, tell_wait, s};
  seer_status status = seer_records_write(s->store.records, write, user, &waiter);
  if (status) s->store.records = NULL;
  return status;
}

seer_record seer_contender_record(
    const seer_campaign *s, uint32_t t, const seer_contender *c, const seer_schedule *baseline) {
  const seer_campaign_task *task = &s->task[t];
  return (seer_record){.campaign = s->store.campaign_id,
      .workload = task->workload,
      .target = s->store.target_id,
      .schedule = seer_schedule_print(task->sketches, &c->schedule, s->round),
      .cls = SEER_MEASURED_OK,
      .origin = seer_origin_name(SEER_ORIGIN_PAIRS),
      .seconds = c->ab.seconds,
      .reference_s = s->drift.reference_s * s->drift.now[0],
      .n_samples = 1,
      .sample = {c->ab.seconds},
      .round = s->state.n_pick,
      .ab = c->ab,
      .baseline = seer_schedule_print(task->sketches, baseline, s->round)};
}
