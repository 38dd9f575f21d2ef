// accept_shared.c - several sets of input shapes: the tasks whose winners pack the same weights
// differently -> schedules that read one packed form (share.c), measured in turns with the winner;
// the best that is right is judged by fresh pairs (decision 47) and recorded, so that compiling
// from the records finds it.
#include <stdlib.h>
#include <string.h>

#include "choose/share.h"
#include "tune/campaign/accept.h"
#include "tune/campaign/events.h"
#include "tune/campaign/store.h"

#define FROM_SEARCH 16  // of the best measured schedules, those of the form take part
#define PAIRS 15

static bool add(seer_schedule *list, uint32_t *n, const seer_schedule *schedule) {
  for (uint32_t k = 0; k < *n; k++)
    if (seer_schedule_equal(&list[k], schedule)) return true;
  if (*n < SEER_MEASURE_MAX_CONTENDERS) list[(*n)++] = *schedule;
  return *n < SEER_MEASURE_MAX_CONTENDERS;
}

// What the campaign has measured of this form, then what is offered.
static seer_status line_up(
    seer_campaign *s, const seer_share_offer *offer, seer_schedule *list, uint32_t *out_n) {
  seer_schedule top[FROM_SEARCH];
  double seconds[FROM_SEARCH];
  const seer_campaign_task *task = &s->task[offer->task];
  uint32_t n = seer_search_top(task->search, FROM_SEARCH, top, seconds);
  *out_n = 0;
  for (uint32_t k = 0; k < n && *out_n + offer->n < SEER_MEASURE_MAX_CONTENDERS; k++) {
    uint64_t form;
    SEER_TRY(seer_share_form(task->sketches, &top[k], offer->weights, &form));
    if (form == offer->form) (void)add(list, out_n, &top[k]);
  }
  for (uint32_t k = 0; k < offer->n; k++) (void)add(list, out_n, &offer->schedule[k]);
  return SEER_OK;
}

typedef struct {
  seer_campaign *s;
  uint32_t task;
  const seer_schedule *unshared;  // that the task would have without sharing, which took turns
  const seer_contender *contender;
} sharing;

static seer_status write_sharing(void *user) {
  const sharing *w = user;
  seer_record record = seer_contender_record(w->s, w->task, w->contender, w->unshared);
  record.state = SEER_RECORD_CHECKED;
  return seer_records_add(w->s->store.records, &record);
}

static seer_status store(
    seer_campaign *s, uint32_t t, const seer_schedule *unshared, const seer_contender *c) {
  sharing w = {s, t, unshared, c};
  return seer_campaign_write(s, write_sharing, &w);
}

// One that may take the place, by the pairs that it was chosen by: is it right, and is it fast
// enough by others, which are in *c then?
static seer_status passes(seer_campaign *s, const seer_share_offer *offer, double max_loss,
    seer_contender *c, bool *out_passes) {
  seer_measure_request request = {.task = offer->task, .schedule = c->schedule};
  seer_measured_class cls;
  char message[SEER_MEASURE_MESSAGE_BYTES] = "";
  *out_passes = false;
  SEER_TRY(s->device.desc->check(s->device.measurer, &request, &cls, message, sizeof message));
  if (cls != SEER_MEASURED_OK) {
    s->totals.failed[cls]++;
    return SEER_OK;
  }
  SEER_TRY(s->device.desc->compare(s->device.measurer, SEER_MEASURE_HOME, offer->task, &c->schedule,
      1, &offer->unshared->schedule, PAIRS, &c->ab, NULL));
  *out_passes = c->ab.n_pairs > 0 && c->ab.speedup * (1 + max_loss) >= 1;
  return SEER_OK;
}

// Best first.
static int by_speedup(const void *a, const void *b) {
  const seer_contender *x = a, *y = b;
  if (x->ab.speedup != y->ab.speedup) return x->ab.speedup > y->ab.speedup ? -1 : 1;
  return seer_schedule_hash(&x->schedule) > seer_schedule_hash(&y->schedule) ? 1 : -1;
}

static seer_status try_offer(
    void *user, const seer_share_offer *offer, seer_choice *out_choice, double *out_ratio) {
  seer_campaign *s = user;
  uint32_t t = offer->task, n;
  seer_schedule list[SEER_MEASURE_MAX_CONTENDERS];
  seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS];
  seer_contender contenders[SEER_MEASURE_MAX_CONTENDERS];
  seer_arena_reset(s->round);
  *out_ratio = 0;
  SEER_TRY(line_up(s, offer, list, &n));
  if (n == 0) return SEER_OK;
  SEER_TRY(s->device.desc->compare(s->device.measurer, SEER_MEASURE_HOME, t, list, n,
      &offer->unshared->schedule, PAIRS, ab, NULL));
  for (uint32_t k = 0; k < n; k++) {
    contenders[k] = (seer_contender){.schedule = list[k], .ab = ab[k]};
    if (ab[k].n_pairs == 0) contenders[k].ab.speedup = 0;
  }
  qsort(contenders, n, sizeof *contenders, by_speedup);
  double max_loss = seer_context_f64(s->context, SEER_OPT_SHARE_WEIGHTS);
  for (uint32_t k = 0; k < n && contenders[k].ab.speedup * (1 + max_loss) >= 1; k++) {
    bool does_pass;
    SEER_TRY(passes(s, offer, max_loss, &contenders[k], &does_pass));
    if (!does_pass) continue;
    SEER_TRY(store(s, t, &offer->unshared->schedule, &contenders[k]));
    out_choice->schedule = contenders[k].schedule;
    out_choice->seconds = contenders[k].ab.seconds;
    out_choice->origin = SEER_ORIGIN_TUNED;
    out_choice->untuned_seconds = out_choice->speedup = 0;  // these pairs were with the winner
    out_choice->n_pairs = 0;
    *out_ratio = 1 / contenders[k].ab.speedup;
    return SEER_OK;
  }
  return SEER_OK;
}

seer_status seer_campaign_accept_shared(seer_campaign *s) {
  uint32_t n = s->network->n_task;
  seer_choice *choice = SEER_NEW_ARRAY(s->arena, seer_choice, n + 1);
  seer_campaign_choices(s, choice);
  seer_share_counts counts;
  SEER_TRY(seer_share_weights(s->network, s->target,
      seer_context_f64(s->context, SEER_OPT_SHARE_WEIGHTS), try_offer, s, choice, &counts));
  for (uint32_t t = 0; t < n; t++) {
    seer_campaign_task *task = &s->task[t];
    const seer_schedule *before = task->is_accepted ? &task->winner : &task->untuned;
    if (seer_schedule_equal(&choice[t].schedule, before)) continue;
    task->is_accepted = true;
    task->winner = choice[t].schedule;
    task->winner_ab = (seer_measure_ab){.seconds = choice[t].seconds, .p_value = 1};
  }
  if (counts.n_adapted + counts.n_apart > 0)
    seer_campaign_note(s,
        seer_arena_printf(s->arena,
            "weights in common: %u tasks adapted to others' packing, %u keep their "
            "own",
            counts.n_adapted, counts.n_apart));
  return SEER_OK;
}
