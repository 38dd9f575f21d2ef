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

// Of "cpu:0, cpu:1" the nth.
static const char *nth_name(const char *names, uint32_t n, seer_arena *arena) {
  for (; n > 0 && *names; n--) {
    names += strcspn(names, ",");
    names += strspn(names, ", ");
  }
  return seer_arena_strndup(arena, names, strcspn(names, ","));
}

void seer_campaign_name_device(
    const seer_campaign *s, uint32_t device, uint32_t part, seer_record *record) {
  const seer_measure_facts *facts = &s->device.facts;
  record->worker = record->device = "";
  if (device >= facts->n_devices) return;
  const char *parts = facts->parts[device];
  record->device = facts->name[device];
  if (!parts) return;
  bool is_alone = !strchr(parts, ',');
  record->worker = facts->name[device];
  record->device = is_alone ? parts : part == UINT32_MAX ? "" : nth_name(parts, part, s->round);
}

// Where a task's comparisons are made now: all but a few of those that a record has.
static uint32_t home_of(const seer_campaign *s, uint32_t t) {
  uint32_t k = 0;
  if (s->device.desc->home) return s->device.desc->home(s->device.measurer, t);
  while (k < s->device.facts.n_devices && s->device.facts.is_left_out[k]) k++;
  return k;
}

seer_record seer_contender_record(
    const seer_campaign *s, uint32_t t, const seer_contender *c, const seer_schedule *baseline) {
  const seer_campaign_task *task = &s->task[t];
  seer_record record = {.campaign = s->store.campaign_id,
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
  seer_campaign_name_device(s, home_of(s, t), UINT32_MAX, &record);
  return record;
}
