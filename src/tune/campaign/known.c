// known.c - results -> what is known of tasks. The contract: known.h; what others ask of it:
// campaign.h.
#include "tune/campaign/known.h"

#include "choose/choose.h"
#include "tune/campaign/events.h"

#define HOPELESS 4  // times the best's time, by the analytic model

// ---- from a result
void seer_campaign_refresh_best(seer_campaign *s, uint32_t t) {
  s->state.task[t].best_s = seer_search_best(s->task[t].search, NULL);
  s->state.task[t].is_confirmed = seer_search_is_confirmed(s->task[t].search);
}

seer_status seer_campaign_learn(
    seer_campaign *s, uint32_t t, const seer_schedule *schedule, double seconds, bool is_full) {
  seer_search *search = s->task[t].search;
  seer_search_report(search, schedule, seconds, is_full);
  seer_task_state *state = &s->state.task[t];
  seer_campaign_refresh_best(s, t);
  seer_campaign_task *entry = &s->task[t];
  entry->best_after = SEER_GROW(
      s->arena, double, entry->best_after, (size_t)state->n_trial, &entry->cap_best_after);
  entry->best_after[state->n_trial++] = state->best_s;
  state->best_after = entry->best_after;
  seer_sample sample =
      seer_search_sample(search, seer_bank_features(s->learning.bank), schedule, seconds, s->round);
  sample.is_raced_out = !is_full;
  return seer_bank_add(s->learning.bank, &sample, 1);
}

void seer_campaign_remember(seer_campaign *s, uint32_t t) {
  seer_task_state *state = &s->state.task[t];
  state->history = SEER_GROW(
      s->arena, seer_task_point, state->history, (size_t)state->n_history, &s->task[t].cap_history);
  state->history[state->n_history++] = (seer_task_point){state->t, state->best_s};
  if (seer_search_is_local_optimum(s->task[t].search)) state->optimum_s = state->best_s;
}

void seer_campaign_update_estimate(seer_campaign *s) {
  double total = 0, start = 0;
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_task_state *state = &s->state.task[t];
    double first = state->untuned_s > 0 ? state->untuned_s : state->estimate_s;
    start += state->weight * first;
    total += state->weight * (state->best_s > 0 ? state->best_s : first);
  }
  s->totals.untuned_s = start;
  s->totals.estimated_s = total;
}

// ---- schedules from elsewhere
static bool is_hopeless(const seer_campaign *s, uint32_t t, const seer_schedule *schedule) {
  double best_s =
      s->state.task[t].best_s > 0 ? s->state.task[t].best_s : s->state.task[t].estimate_s;
  return seer_search_estimate(s->task[t].search, schedule) > HOPELESS * best_s;
}

void seer_campaign_queue(
    seer_campaign *s, uint32_t t, const seer_schedule *schedule, seer_origin origin) {
  if (is_hopeless(s, t, schedule)) return;
  seer_search_queue(s->task[t].search, schedule, origin);
  s->state.task[t].n_queued = seer_search_queued(s->task[t].search);
}

bool seer_campaign_suggest(seer_campaign *s, uint32_t t, const seer_schedule *schedule) {
  return !is_hopeless(s, t, schedule) && seer_search_suggest(s->task[t].search, schedule);
}

uint64_t seer_campaign_max_packed_bytes(const seer_campaign *s, uint32_t t) {
  return seer_choose_max_packed_bytes(
      seer_context_f64(s->context, SEER_OPT_MAX_WEIGHTS), s->network->task[t].dag);
}

// ---- for those who ask
const seer_budget *seer_campaign_budget(const seer_campaign *s) { return &s->budget; }
const seer_families *seer_campaign_families(const seer_campaign *s) { return &s->families; }
const seer_schedule_state *seer_campaign_state(const seer_campaign *s) { return &s->state; }
void seer_campaign_get_totals(const seer_campaign *s, seer_campaign_totals *out) {
  *out = s->totals;
  out->elapsed_s = seer_campaign_elapsed_s(s);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    seer_search_counts_add(&out->search, seer_search_get_counts(s->task[t].search));
    out->n_tuned += s->task[t].is_tuned;
    out->n_optimum += s->task[t].is_tuned && seer_task_is_at_optimum(&s->state.task[t]);
  }
  out->expected_gain = seer_schedule_expected_gain(&s->state, s->policy->traits);
}

double seer_campaign_set_seconds(const seer_campaign *s, uint32_t set) {
  const seer_network *of_set = s->network->set[set];
  double total = 0;
  for (uint32_t t = 0; t < of_set->n_task; t++) {
    const seer_task_state *state = &s->state.task[t];
    double first = state->untuned_s > 0 ? state->untuned_s : state->estimate_s;
    total += of_set->count[t] * (state->best_s > 0 ? state->best_s : first);
  }
  return total;
}

void seer_campaign_choices(const seer_campaign *s, seer_choice *out) {
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_campaign_task *task = &s->task[t];
    out[t] = (seer_choice){.sketches = task->sketches,
        .schedule = task->untuned,
        .origin = SEER_ORIGIN_UNTUNED,
        .seconds = s->state.task[t].untuned_s};
    if (task->is_accepted) {
      out[t].schedule = task->winner;
      out[t].origin = SEER_ORIGIN_TUNED;
      out[t].seconds = task->winner_ab.seconds;
    }
    if (task->is_accepted && task->winner_ab.n_pairs > 0) {
      out[t].untuned_seconds = task->winner_ab.baseline_seconds;
      out[t].speedup = task->winner_ab.speedup;
      out[t].n_pairs = task->winner_ab.n_pairs;
    }
  }
}

int64_t seer_campaign_record_id(const seer_campaign *s) { return s->store.campaign_id; }
bool seer_campaign_has_records(const seer_campaign *s) { return s->store.records != NULL; }

const seer_measure_ab *seer_campaign_winner(const seer_campaign *s, uint32_t task) {
  return s->task[task].is_accepted ? &s->task[task].winner_ab : NULL;
}

seer_status seer_campaign_score(seer_campaign *s, uint32_t t, const seer_schedule *schedules,
    uint32_t n, float *out_scores, bool *out_is_trained) {
  *out_is_trained = seer_bank_is_trained(s->learning.bank, t);
  if (!*out_is_trained) return SEER_OK;
  seer_arena *arena = seer_arena_create("scores"), *scratch = seer_arena_create("rows");
  double *estimates = SEER_NEW_ARRAY(arena, double, n);
  seer_status status = SEER_OK;
  for (uint32_t i = 0; i < n && !status; i++) {
    seer_arena_reset(scratch);
    seer_sample one = seer_search_sample(
        s->task[t].search, seer_bank_features(s->learning.bank), &schedules[i], 0, scratch);
    estimates[i] = one.estimate_s;
    seer_bank_candidates alone = {.n = 1, .rows = one.rows, .n_rows = &one.n_row};
    status = seer_bank_rate(s->learning.bank, t, &alone, &out_scores[i]);
  }
  seer_bank_candidates all = {.n = n, .estimates_s = estimates};
  if (!status) status = seer_bank_score(s->learning.bank, t, &all, out_scores);
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return status;
}
