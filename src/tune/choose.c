// choose.c - records and the analytic model -> one schedule per task.

#include "tune/choose.h"

#include <string.h>

#include "tune/kin.h"
#include "tune/search.h"
#include "tune/share.h"

#define DRAFTS 400
#define RANDOM_TRIES 200
#define SMALL_BYTES 65536

seer_status seer_choose_untuned(const seer_target *target, const seer_sketch_list *sketches,
    uint32_t task, uint64_t seed, seer_schedule *out_schedule, double *out_seconds) {
  seer_search_options options = {
      .task = task, .sketches = sketches, .target = target, .seed = seed};
  seer_search *search;
  SEER_TRY(seer_search_create(&options, &search));
  seer_search_zero_trial(search, DRAFTS, out_schedule);
  *out_seconds = seer_search_analytic(search, out_schedule);
  seer_search_destroy(search);
  return SEER_OK;
}

uint64_t seer_choose_max_packed_bytes(const seer_context *context, const seer_dag *dag) {
  double share = seer_context_f64(context, SEER_OPT_MAX_WEIGHTS);
  return (uint64_t)(share * seer_dag_weight_bytes(dag)) + SMALL_BYTES;
}

seer_estimate seer_choose_estimate(
    const seer_target *target, const seer_sketch_list *sketches, const seer_schedule *schedule) {
  seer_arena *arena = seer_arena_create("estimate");
  const seer_nest *nest = seer_summarise(seer_summariser_create(sketches, arena), schedule);
  seer_estimate estimate = {seer_analytic_seconds(nest, target), nest->packed_bytes};
  seer_arena_destroy(arena);
  return estimate;
}

typedef struct {
  const seer_context *context;
  const seer_target *target;
  seer_records *records;
  int64_t target_id;
  seer_arena *arena;
  seer_space_kind space;
} chooser;

// True if an accepted record of exactly this task was taken.
static seer_status from_record(
    chooser *c, const seer_task *task, seer_choice *choice, bool *out_found) {
  int64_t workload;
  seer_record record;
  *out_found = false;
  SEER_TRY(seer_records_find_workload(c->records, task->key, &workload));
  SEER_TRY(seer_records_best(
      c->records, workload, c->target_id, SEER_RECORD_ACCEPTED, c->arena, &record));
  if (record.id == 0) return SEER_OK;
  seer_schedule schedule;
  seer_status status = seer_schedule_parse(
      choice->sketches, "record", record.schedule, strlen(record.schedule), &schedule);
  if (status) {  // made by other rules: `records check` names it
    seer_log(c->context, "record", 1, "task %u: record %" PRId64 " does not parse: %s", task->id,
        record.id, seer_status_message(status));
    seer_status_free(status);
    return SEER_OK;
  }
  uint64_t bytes = seer_choose_estimate(c->target, choice->sketches, &schedule).packed_bytes,
           most = seer_choose_max_packed_bytes(c->context, task->dag);
  if (bytes > most) {
    seer_log(c->context, "record", 0,
        "task %u, %s: the best record packs its weights into %" PRIu64
        " bytes, --max-weights "
        "allows %" PRIu64 ": not used",
        task->id, task->name, bytes, most);
    return SEER_OK;
  }
  choice->schedule = schedule;
  choice->seconds = record.seconds;
  choice->source = "record";
  *out_found = true;
  return SEER_OK;
}

// What was accepted on a similar machine; else the best of the nearest shapes, re-fitted, if its
// estimate beats the default's.
static seer_status from_kin(
    chooser *c, const seer_task *task, double default_s, seer_choice *choice, bool *out_found) {
  seer_kin kin[SEER_KIN_MAX];
  uint32_t n;
  *out_found = false;
  SEER_TRY(seer_find_kin(c->records, c->target, c->space, task, choice->sketches, kin, &n));
  uint64_t most = seer_choose_max_packed_bytes(c->context, task->dag);
  for (uint32_t i = 0; i < n && !*out_found; i++) {
    seer_estimate estimate = seer_choose_estimate(c->target, choice->sketches, &kin[i].schedule);
    bool is_similar = kin[i].kind == SEER_KIN_SIMILAR_TARGET;
    if (estimate.packed_bytes > most || (!is_similar && estimate.seconds > default_s)) continue;
    choice->schedule = kin[i].schedule;
    choice->source = is_similar ? "similar" : "sibling";
    *out_found = true;
  }
  return SEER_OK;
}

// Harder on code than any winner: whatever the space allows, of any formulation.
static seer_status draw_schedule(const chooser *c, const seer_task *task, seer_choice *choice) {
  seer_rng rng;
  seer_rng_init_stream(
      &rng, (uint64_t)seer_context_i64(c->context, SEER_OPT_RANDOM_SCHEDULES), task->id);
  choice->source = "random";
  for (int i = 0; i < RANDOM_TRIES; i++) {
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, choice->sketches->n);
    if (seer_schedule_sample(choice->sketches, sketch, &rng, &choice->schedule, NULL) ==
        SEER_REJECT_NONE)
      return SEER_OK;
  }
  return SEER_FAIL(INTERNAL, "no valid schedule in %d draws", RANDOM_TRIES);
}

static seer_status choose_task(chooser *c, const seer_task *task, int64_t opt_level,
    seer_choice *choice, seer_choose_counts *counts) {
  SEER_TRY(seer_sketch_generate(
      task->dag, c->target, c->space, c->arena, (seer_sketch_list **)&choice->sketches));
  if (seer_context_is_set(c->context, SEER_OPT_RANDOM_SCHEDULES)) {
    counts->n_default++;
    return draw_schedule(c, task, choice);
  }
  bool is_found = false;
  if (c->records && opt_level >= 2) SEER_TRY(from_record(c, task, choice, &is_found));
  counts->n_record += is_found;
  if (is_found) return SEER_OK;
  double seconds;
  uint64_t seed = (uint64_t)seer_context_i64(c->context, SEER_OPT_SEED);
  SEER_TRY(seer_choose_untuned(
      c->target, choice->sketches, task->id, seed, &choice->schedule, &seconds));
  choice->source = "default";
  if (c->records && opt_level >= 3) SEER_TRY(from_kin(c, task, seconds, choice, &is_found));
  *(is_found ? &counts->n_sibling : &counts->n_default) += 1;
  return SEER_OK;
}

// ---- weights that several tasks read

typedef struct {
  const chooser *c;
  const seer_network *network;
  const seer_share_offer *offer;
  seer_schedule best;
  double best_s;  // 0: none
} form_finder;

static seer_status of_form(void *user, const seer_record *record) {
  form_finder *f = user;
  bool is_checked = record->state == SEER_RECORD_CHECKED || record->state == SEER_RECORD_ACCEPTED;
  bool is_ok = is_checked && record->cls == SEER_MEASURED_OK && record->seconds > 0 &&
      (f->best_s == 0 || record->seconds < f->best_s);
  seer_schedule schedule;
  uint64_t form;
  if (!is_ok) return SEER_OK;
  seer_status status = seer_schedule_parse(
      f->offer->own->sketches, "record", record->schedule, strlen(record->schedule), &schedule);
  if (status) {
    seer_status_free(status);
    return SEER_OK;
  }
  SEER_TRY(seer_share_form(f->offer->own->sketches, &schedule, f->offer->weights, &form));
  if (form != f->offer->form) return SEER_OK;
  f->best = schedule;
  f->best_s = record->seconds;
  return SEER_OK;
}

// A tuning has measured and checked one: its time counts. Else what the model likes best.
static seer_status judge_unmeasured(
    void *user, const seer_share_offer *offer, seer_choice *out_choice, double *out_ratio) {
  form_finder f = *(const form_finder *)user;
  f.offer = offer;
  if (f.c->records) {
    int64_t workload;
    SEER_TRY(seer_records_find_workload(f.c->records, f.network->task[offer->task].key, &workload));
    SEER_TRY(seer_records_each(f.c->records, workload, f.c->target_id, of_form, &f));
  }
  if (f.best_s > 0) {
    out_choice->schedule = f.best;
    out_choice->seconds = f.best_s;
    out_choice->source = "record";
    // Without a time of its own the task has the default, and was recorded with that beside it.
    *out_ratio = offer->own->seconds > 0 ? f.best_s / offer->own->seconds : 1;
  } else if (offer->n > 0) {
    bool is_tuned = strcmp(offer->own->source, "default") != 0;
    out_choice->schedule = offer->schedule[0];
    out_choice->seconds = 0;
    if (is_tuned) out_choice->source = "sibling";
    *out_ratio = offer->ratio[0];
  }
  return SEER_OK;
}

seer_status seer_choose(const seer_context *context, const seer_network *network,
    seer_records *records, int64_t opt_level, seer_arena *arena, seer_choice **out_choices,
    seer_choose_counts *out_counts) {
  *out_counts = (seer_choose_counts){0};
  if (opt_level == 0) return seer_default_choices(context, network, 0, arena, out_choices);
  chooser c = {.context = context,
      .target = seer_context_target(context),
      .records = records,
      .arena = arena,
      .space = seer_choice_space(context)};
  if (records) {
    int64_t ids[SEER_RECORD_MAX_TARGETS];
    uint32_t n;
    SEER_TRY(seer_records_find_targets(records, c.target, ids, &n));
    c.target_id = ids[0];
  }
  seer_choice *choices = SEER_NEW_ARRAY(arena, seer_choice, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) {
    SEER_TRYF(choose_task(&c, &network->task[t], opt_level, &choices[t], out_counts), "task %u, %s",
        t, network->task[t].name);
  }
  *out_choices = choices;
  if (seer_context_is_set(context, SEER_OPT_RANDOM_SCHEDULES)) return SEER_OK;
  form_finder finder = {.c = &c, .network = network};
  seer_share_counts shared;
  SEER_TRY(seer_share_weights(network, c.target, seer_context_f64(context, SEER_OPT_SHARE_WEIGHTS),
      judge_unmeasured, &finder, choices, &shared));
  out_counts->n_apart = shared.n_apart;
  return SEER_OK;
}

seer_status seer_choose_by_options(const seer_context *context, const seer_network *network,
    seer_arena *arena, seer_choice **out_choices, seer_choose_counts *out_counts) {
  int64_t level = seer_context_i64(context, SEER_OPT_OPT_LEVEL);
  seer_records *records = NULL;
  if (level >= 2) SEER_TRY(seer_records_open_by_options(context, &records));
  seer_status status =
      seer_choose(context, network, records, level, arena, out_choices, out_counts);
  seer_records_close(records);
  SEER_TRY(status);
  if (!seer_context_bool(context, SEER_OPT_STRICT) || out_counts->n_record == network->n_task)
    return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "%u of %u tasks have no accepted record (--strict)",
      network->n_task - out_counts->n_record, network->n_task);
}
