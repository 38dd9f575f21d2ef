// campaign.c - the loop: pick a task, give it a round (round.h); at the end hold the winners
// against the untuned ones (accept.h). Decisions are made between rounds, from all results so far
// in candidate order, so that a campaign with the fake machine repeats to the byte.

#include "tune/campaign.h"

#include "base/os.h"
#include "tune/campaign/accept.h"
#include "tune/campaign/budget.h"
#include "tune/campaign/drift.h"
#include "tune/campaign/events.h"
#include "tune/campaign/known.h"
#include "tune/campaign/plan.h"
#include "tune/campaign/restore.h"
#include "tune/campaign/round.h"

#define LOOK_S 0.5  // while rounds are away, budgets are looked at so often
#define LANDING_S 5.0  // at the end rounds that are away are waited for so long

void seer_campaign_stop(seer_campaign *s) { s->is_stopped = 1; }

static seer_status tune(seer_campaign *s, const char **out_why) {
  double best_estimate = s->totals.estimated_s;
  uint32_t trials_of_best = 0;
  for (;;) {
    *out_why = seer_campaign_why_end(s, seer_campaign_acceptance_s(s), trials_of_best);
    if (*out_why) return seer_campaign_land_all(s, LANDING_S);
    SEER_TRY(seer_campaign_follow_drift(s));
    seer_pick pick;
    if (seer_campaign_has_room(s) && s->policy->next(&s->state, &pick)) {
      SEER_TRYF(seer_campaign_round(s, &pick), "task %u, %s", pick.task,
          s->network->task[pick.task].name);
    } else if (s->away.n > 0) {
      SEER_TRY(seer_campaign_land(s, LOOK_S));
    } else {
      *out_why = "nothing is left to gain";
      return SEER_OK;
    }
    if (s->totals.estimated_s < best_estimate * 0.999) {
      best_estimate = s->totals.estimated_s;
      trials_of_best = s->totals.trials;
    }
  }
}

static seer_status hold_finals(seer_campaign *s, bool *out_is_decided) {
  if (s->events.is_device_lost) return SEER_OK;
  SEER_TRY(seer_campaign_accept(s));
  SEER_TRY(seer_campaign_accept_shared(s));
  seer_campaign_recall(s);  // what was foreseen and not asked for
  *out_is_decided = true;
  return SEER_OK;
}

static seer_status run(void *user) {
  seer_campaign *s = user;
  s->events.start_ns = seer_os_now_ns();
  SEER_TRY(seer_campaign_restore(s));
  SEER_TRY(seer_campaign_queue_transfers(s));
  seer_campaign_update_estimate(s);
  seer_event event = {.kind = SEER_EVENT_START};
  seer_campaign_emit(s, &event);
  if (s->learning.loaded_note) seer_campaign_note(s, s->learning.loaded_note);
  const char *why = "";
  if (s->network->n_task > 0) {
    SEER_TRY(seer_campaign_begin_drift(s));
    seer_campaign_survive(s, tune(s, &why));
    seer_campaign_recall(s);
    uint64_t start = seer_os_now_ns();
    bool is_decided = false;
    seer_campaign_survive(s, hold_finals(s, &is_decided));
    // Where it was the records that failed, the winners are still found and compiled, as where
    // something else has: the finals may go where the search did not.
    if (s->events.fault && !is_decided) seer_campaign_survive(s, hold_finals(s, &is_decided));
    s->totals.check_s = (double)(seer_os_now_ns() - start) * 1e-9;
  }
  const char *path = seer_context_str(s->context, SEER_OPT_SAVE_MODEL);
  if (path[0]) seer_campaign_survive(s, seer_bank_save(s->learning.bank, path));
  if (s->events.fault) why = "something went wrong; what is known is kept";
  seer_campaign_totals totals;
  seer_campaign_get_totals(s, &totals);
  seer_log(s->context, "search", 1, "%s", seer_search_counts_print(&totals.search, s->arena));
  event = (seer_event){.kind = SEER_EVENT_DONE, .text = why, .counts = &totals.search};
  s->events.end_ns = seer_os_now_ns();
  seer_campaign_emit(s, &event);
  return SEER_OK;
}

// Also without memory the campaign can be asked, and ended, afterwards.
seer_status seer_campaign_run(seer_campaign *s) { return seer_recover(run, s); }
