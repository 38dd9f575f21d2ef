// events.c - the clock and the listeners of a campaign. The contract: events.h.
#include "tune/campaign/events.h"

#include "base/os.h"
#include "tune/campaign/inside.h"

static const char *const kind_names[SEER_EVENT_KIND_COUNT] = {
    "start", "round", "measurement", "round-end", "best", "accept", "note", "wait", "done"};
const char *seer_event_kind_name(seer_event_kind kind) { return kind_names[kind]; }

double seer_campaign_elapsed_s(const seer_campaign *s) {
  uint64_t until_ns = s->events.end_ns ? s->events.end_ns : seer_os_now_ns();
  return (double)(until_ns - s->events.start_ns) * 1e-9 + s->events.reckoned_s;
}

void seer_campaign_emit(seer_campaign *s, seer_event *event) {
  event->elapsed_s = seer_campaign_elapsed_s(s);
  event->trials = s->totals.trials;
  event->estimated_s = s->totals.estimated_s;
  for (size_t i = 0; i < s->events.n_listener; i++)
    s->events.listener[i].call(s->events.listener[i].user, event);
}

void seer_campaign_note(seer_campaign *s, const char *text) {
  seer_event event = {.kind = SEER_EVENT_NOTE, .text = text};
  seer_campaign_emit(s, &event);
}

void seer_campaign_listen(seer_campaign *s, seer_listener listener, void *user) {
  SEER_ASSERT(s->events.n_listener < SEER_COUNT_OF(s->events.listener), "%zu listeners",
      s->events.n_listener);
  s->events.listener[s->events.n_listener].call = listener;
  s->events.listener[s->events.n_listener++].user = user;
}

// ---- what goes wrong on the way
void seer_campaign_survive(seer_campaign *s, seer_status status) {
  if (!status) return;
  seer_campaign_note(s, seer_arena_printf(s->arena, "%s", seer_status_message(status)));
  if (seer_status_code(status) == SEER_CODE_DEVICE) s->events.is_device_lost = true;
  if (s->events.fault) {
    seer_status_free(status);
  } else {
    s->events.fault = status;
  }
}

seer_status seer_campaign_take_fault(seer_campaign *s) {
  seer_status fault = s->events.fault;
  s->events.fault = SEER_OK;
  return fault;
}
