// budget.c - options -> a budget; what was used of it -> whether to go on. The contract: budget.h.
#include "tune/campaign/budget.h"

#include <math.h>
#include <string.h>

#include "tune/campaign/events.h"
#include "tune/campaign/inside.h"

seer_budget seer_budget_of(const seer_context *c) {
  seer_budget budget = {0}, *b = &budget;
  if (seer_context_is_set(c, SEER_OPT_TRIALS)) {
    b->trials = (uint32_t)seer_context_i64(c, SEER_OPT_TRIALS);
    b->is_none = b->trials == 0;
  }
  if (seer_context_is_set(c, SEER_OPT_TIME_BUDGET))
    b->time_s = seer_context_f64(c, SEER_OPT_TIME_BUDGET);
  if (seer_context_is_set(c, SEER_OPT_TARGET_LATENCY))
    b->target_latency_s = seer_context_f64(c, SEER_OPT_TARGET_LATENCY);
  if (seer_context_is_set(c, SEER_OPT_EARLY_STOPPING)) {
    b->early_stopping = (uint32_t)seer_context_i64(c, SEER_OPT_EARLY_STOPPING);
  }
  if (seer_context_is_set(c, SEER_OPT_TASK_EARLY_STOPPING)) {
    b->task_early_stopping = (uint32_t)seer_context_i64(c, SEER_OPT_TASK_EARLY_STOPPING);
  }
  b->is_until_done = seer_context_bool(c, SEER_OPT_UNTIL_DONE);
  if (b->trials || b->is_none || b->time_s > 0) return budget;
  bool is_given =
      seer_context_is_set(c, SEER_OPT_PRESET) || seer_context_is_set(c, SEER_OPT_UNTIL_DONE);
  if (!is_given) b->is_until_done = true;
  const char *preset = seer_context_str(c, SEER_OPT_PRESET);
  b->time_s = strcmp(preset, "quick") == 0 ? 60 : strcmp(preset, "thorough") == 0 ? 1800 : 300;
  return budget;
}

#define LEAST_SHARE 0.5  // of the budget, that is the campaign's whatever the end takes

void seer_campaign_keep_for_end(
    seer_campaign *s, double before_s, seer_campaign_end end_s, void *user) {
  s->kept.before_s = before_s;
  s->kept.end_s = end_s;
  s->kept.user = user;
}

double seer_campaign_time_s(const seer_campaign *s) {
  double all_s = s->budget.time_s;
  if (all_s <= 0 || !s->kept.end_s) return all_s;
  double end_s = s->kept.end_s(s->kept.user, s->totals.estimated_s, s->totals.untuned_s);
  return fmax(all_s - s->kept.before_s - end_s, LEAST_SHARE * all_s);
}

static const char *why_done(const seer_campaign *s) {
  seer_campaign_totals now;
  seer_campaign_get_totals(s, &now);
  if (now.expected_gain >= SEER_DONE_BELOW) return NULL;
  seer_text text;
  seer_text_init(&text, s->arena);
  seer_text_printf(&text,
      "done: as many measurements again are expected to bring %.2f %%, less than %.0f %%",
      now.expected_gain * 100, SEER_DONE_BELOW * 100);
  if (s->policy->traits->search->neighbour_share > 0)
    seer_text_printf(&text, "; %u of %u tasks are at a local optimum", now.n_optimum, now.n_tuned);
  return text.data;
}

const char *seer_campaign_why_end(
    const seer_campaign *s, double reserve_s, uint32_t trials_of_best) {
  double elapsed = seer_campaign_elapsed_s(s);
  const seer_budget *b = &s->budget;
  if (s->is_stopped) return "stopped by the user";
  if (s->events.fault) return "something went wrong; what is known is kept";
  if (b->is_none) return "the budget is no trials";
  if (b->trials && s->totals.trials >= b->trials) return "the budget of trials is used up";
  if (b->time_s > 0 && elapsed + reserve_s >= seer_campaign_time_s(s))
    return "the time budget is used up";
  if (b->target_latency_s > 0 && s->totals.estimated_s <= b->target_latency_s)
    return "the target latency is reached";
  if (b->early_stopping && s->totals.trials - trials_of_best >= b->early_stopping)
    return "no progress any more";
  return b->is_until_done ? why_done(s) : NULL;
}
