// restore.c - records -> what a campaign knows before it begins. The contract: restore.h.
#include "tune/campaign/restore.h"

#include <string.h>

#include "base/map.h"
#include "choose/transfer.h"
#include "record/sound.h"
#include "tune/campaign/events.h"
#include "tune/campaign/known.h"
#include "tune/campaign/store.h"

typedef struct {
  seer_campaign *s;
  uint32_t task;
  seer_record_rule rule;
  seer_record_counts *counts;
  seer_map *references;  // campaign -> its first, as bits
} restorer;

// By how much the machine was slower then than when that campaign began: its times are compared
// with those of other moments as the campaign itself compared them.
static seer_status drift_then(restorer *r, const seer_record *record, double *out_drift) {
  uint64_t bits;
  double first_s;
  *out_drift = 1;
  if (record->reference_s <= 0) return SEER_OK;
  if (!seer_map_get(r->references, (uint64_t)record->campaign, &bits)) {
    SEER_TRY(seer_records_first_reference(
        r->s->store.records, record->campaign, record->target, &first_s));
    memcpy(&bits, &first_s, sizeof bits);
    seer_map_set(r->references, (uint64_t)record->campaign, bits);
  }
  memcpy(&first_s, &bits, sizeof first_s);
  if (first_s > 0) *out_drift = record->reference_s / first_s;
  return SEER_OK;
}

static seer_status restore_one(void *user, const seer_record *record) {
  restorer *r = user;
  seer_campaign *s = r->s;
  seer_arena_reset(s->round);
  seer_schedule schedule;
  // What was measured elsewhere is measured here before it counts: it waits in the queue
  // (transfer.h).
  if (record->provenance == SEER_RECORD_ELSEWHERE) return SEER_OK;
  // No measurement of the kernel alone.
  if (strcmp(record->origin, seer_origin_name(SEER_ORIGIN_NETWORK)) == 0) return SEER_OK;
  seer_record_verdict verdict = seer_record_examine(&r->rule, record, &schedule, NULL);
  r->counts->n[verdict]++;
  if (verdict != SEER_RECORD_SOUND) return SEER_OK;
  // One whose answer was wrong has failed, however fast it was.
  bool is_fine = record->cls == SEER_MEASURED_OK && record->state != SEER_RECORD_REFUSED;
  double drift;
  SEER_TRY(drift_then(r, record, &drift));
  double seconds = is_fine ? record->seconds / drift : 0;
  if (seer_search_knows(s->task[r->task].search, &schedule)) {  // measured again as a witness
    if (seconds > 0 && !record->is_raced_out)
      seer_search_witness(s->task[r->task].search, &schedule, seconds);
    seer_campaign_refresh_best(s, r->task);
    return SEER_OK;
  }
  s->totals.restored++;
  if (seer_schedule_equal(&schedule, &s->task[r->task].untuned))
    s->state.task[r->task].untuned_s = seconds;
  bool is_full = !record->is_raced_out && !record->is_twin;
  return seer_campaign_learn(s, r->task, &schedule, seconds, is_full);
}

// The winner takes part in the end even when tuning starts anew: its pairs are measured then.
static seer_status restore_holder(seer_campaign *s, uint32_t t) {
  seer_campaign_task *task = &s->task[t];
  seer_record_rule rule = seer_record_rule_of(task->sketches);
  seer_record record;
  seer_arena_reset(s->round);
  SEER_TRY(seer_records_winner(s->store.records, task->workload, s->store.target_id, &rule,
      s->round, &record, &task->holder));
  task->has_holder = record.id != 0 &&
      seer_search_packed_bytes(task->search, &task->holder) <= seer_campaign_max_packed_bytes(s, t);
  task->holder_ab = record.ab;
  task->is_holder_trusted = record.provenance == SEER_RECORD_TRUSTED;
  return SEER_OK;
}

static void note_unsound(seer_campaign *s, const seer_record_counts *counts) {
  if (seer_record_counts_bad(counts) == 0) return;
  seer_campaign_note(s,
      seer_arena_printf(s->arena, "records of these tasks that are not used: %s",
          seer_record_counts_print(counts, s->arena)));
}

seer_status seer_campaign_restore(seer_campaign *s) {
  for (uint32_t t = 0; s->store.records && t < s->network->n_task; t++)
    SEER_TRY(restore_holder(s, t));
  if (seer_campaign_starts_anew(s)) return SEER_OK;
  seer_record_counts counts = {0};
  seer_map *references = seer_map_create(s->arena);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    restorer r = {s, t, seer_record_rule_of(s->task[t].sketches), &counts, references};
    SEER_TRY(seer_records_each(
        s->store.records, s->task[t].workload, s->store.target_id, restore_one, &r));
    seer_task_state *state = &s->state.task[t];
    if (state->n_trial == 0) continue;
    state->n_round = (state->n_trial + s->state.round_size - 1) / s->state.round_size;
    state->t = state->n_round;
    seer_campaign_remember(s, t);
  }
  note_unsound(s, &counts);
  if (s->totals.restored == 0) return SEER_OK;
  for (uint32_t f = 0; f < s->learning.models.n_family; f++)
    SEER_TRY(seer_bank_train(s->learning.bank, f));
  seer_campaign_note(
      s, seer_arena_printf(s->arena, "%u measurements from the records", s->totals.restored));
  return SEER_OK;
}

seer_status seer_campaign_queue_transfers(seer_campaign *s) {
  if (seer_campaign_starts_anew(s) || !s->policy->traits->tries_transfers) return SEER_OK;
  uint32_t n_queued = 0, n_suggested = 0;
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    if (!seer_task_is_open(&s->state.task[t])) continue;
    seer_transfer near[SEER_TRANSFER_MAX];
    uint32_t n;
    SEER_TRY(seer_find_transfers(s->store.records, s->target, s->space, &s->network->task[t],
        s->task[t].sketches, near, &n));
    for (uint32_t i = 0; i < n; i++) {
      if (near[i].kind == SEER_TRANSFER_NEAR_SHAPE)
        n_suggested += seer_campaign_suggest(s, t, &near[i].schedule);
      else
        seer_campaign_queue(s, t, &near[i].schedule, SEER_ORIGIN_RECORD);
    }
    n_queued += s->state.task[t].n_queued;
  }
  if (n_queued > 0)
    seer_campaign_note(s,
        seer_arena_printf(
            s->arena, "%u schedules from records of other machines are tried first", n_queued));
  if (n_suggested > 0)
    seer_campaign_note(s,
        seer_arena_printf(
            s->arena, "%u schedules from records of other shapes are candidates", n_suggested));
  return SEER_OK;
}
