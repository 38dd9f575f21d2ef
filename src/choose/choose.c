// choose.c - records and the analytic model -> one schedule per task.

#include "choose/choose.h"

#include <string.h>

#include "choose/share.h"
#include "choose/transfer.h"
#include "choose/untuned.h"
#include "record/sound.h"
#include "record/speeds.h"

#define MAX_AGAIN 3  // reading records that somebody begins to write to
#define RANDOM_TRIES 200

seer_status seer_choose_untuned(const seer_target *target, const seer_sketch_list *sketches,
    uint32_t task, uint64_t seed, uint32_t n_threads, seer_schedule *out_schedule,
    double *out_seconds) {
  seer_untuned_task one = {.task = task, .sketches = sketches};
  seer_untuned_how how = {
      .target = target, .seed = seed, .n_drafts = SEER_UNTUNED_DRAFTS, .n_threads = n_threads};
  SEER_TRY(seer_untuned_choose(&how, &one, 1));
  *out_schedule = one.schedule;
  *out_seconds = one.seconds;
  return SEER_OK;
}

typedef struct {
  const seer_context *context;
  const seer_target *target;
  seer_records *records;
  int64_t target_id;
  seer_arena *arena;
  seer_space_kind space;
  double max_weights;
  uint64_t seed;
  uint32_t n_threads;  // of an untuned search
  bool is_random;  // schedules drawn by `draw`
  uint64_t draw;
} chooser;

static bool fits_weights(const chooser *c, const seer_task *task, const seer_sketch_list *sketches,
    const seer_schedule *schedule, seer_estimate *out) {
  *out = seer_choose_estimate(c->target, sketches, schedule);
  return out->packed_bytes <= seer_choose_max_packed_bytes(c->max_weights, task->dag);
}

static void take_winner(
    seer_choice *choice, const seer_record *record, const seer_schedule *schedule) {
  choice->schedule = *schedule;
  choice->origin = SEER_ORIGIN_TUNED;
  choice->seconds = record->seconds;
  choice->untuned_seconds = record->ab.baseline_seconds;
  choice->speedup = record->ab.speedup;
  choice->n_pairs = record->ab.n_pairs;
}

// True if the winner of exactly this task was taken.
static seer_status from_record(
    chooser *c, const seer_task *task, seer_choice *choice, bool *out_found) {
  int64_t workload;
  seer_record record;
  seer_schedule schedule;
  seer_estimate estimate;
  seer_record_rule rule = seer_record_rule_of(choice->sketches);
  *out_found = false;
  SEER_TRY(seer_records_find_workload(c->records, task->key, &workload));
  SEER_TRY(
      seer_records_winner(c->records, workload, c->target_id, &rule, c->arena, &record, &schedule));
  if (record.id == 0) return SEER_OK;
  *out_found = fits_weights(c, task, choice->sketches, &schedule, &estimate);
  if (*out_found) {
    take_winner(choice, &record, &schedule);
    return SEER_OK;
  }
  seer_log(c->context, "record", 0,
      "task %u, %s: the winner packs its weights into %" PRIu64
      " bytes, --max-weights allows %" PRIu64 ": not used",
      task->id, task->name, estimate.packed_bytes,
      seer_choose_max_packed_bytes(c->max_weights, task->dag));
  return SEER_OK;
}

// The first transfer that is believed: one that was measured on a similar machine, or any whose
// estimate beats the untuned choice's.
static seer_status from_transfer(
    chooser *c, const seer_task *task, double untuned_s, seer_choice *choice, bool *out_found) {
  static const seer_origin origins[] = {
      SEER_ORIGIN_ELSEWHERE, SEER_ORIGIN_SIMILAR, SEER_ORIGIN_SIBLING};
  seer_transfer near[SEER_TRANSFER_MAX];
  uint32_t n;
  *out_found = false;
  SEER_TRY(seer_find_transfers(c->records, c->target, c->space, task, choice->sketches, near, &n));
  for (uint32_t i = 0; i < n && !*out_found; i++) {
    seer_estimate estimate;
    bool is_measured = near[i].kind == SEER_TRANSFER_SIMILAR_TARGET && !near[i].is_elsewhere;
    if (!fits_weights(c, task, choice->sketches, &near[i].schedule, &estimate)) continue;
    if (!is_measured && estimate.seconds > untuned_s) continue;
    choice->schedule = near[i].schedule;
    choice->origin = origins[near[i].kind];
    *out_found = true;
  }
  return SEER_OK;
}

typedef struct {
  const char *untuned;  // schedule
  bool was_measured;  // the task, with any schedule
  bool has_pairs;
  double seconds;  // of the untuned one, the newest; of pairs, if there were any
} task_times;

static seer_status note_times(void *user, const seer_record *record) {
  task_times *h = user;
  if (record->provenance == SEER_RECORD_ELSEWHERE) return SEER_OK;
  h->was_measured = true;
  if (strcmp(record->origin, seer_origin_name(SEER_ORIGIN_NETWORK)) == 0) return SEER_OK;
  bool is_pairs = strcmp(record->origin, seer_origin_name(SEER_ORIGIN_PAIRS)) == 0;
  bool counts = record->cls == SEER_MEASURED_OK && !record->is_raced_out &&
      (is_pairs || !h->has_pairs) && strcmp(record->schedule, h->untuned) == 0;
  if (!counts) return SEER_OK;
  h->seconds = record->seconds;
  h->has_pairs = is_pairs;
  return SEER_OK;
}

// Was this task measured on this target? Then the untuned one is what its tuning has ended with.
static seer_status ask_records(
    chooser *c, const seer_task *task, seer_choice *choice, bool *out_was_measured) {
  int64_t workload;
  task_times h = {.untuned = seer_schedule_print(choice->sketches, &choice->schedule, c->arena)};
  SEER_TRY(seer_records_find_workload(c->records, task->key, &workload));
  SEER_TRY(seer_records_each(c->records, workload, c->target_id, note_times, &h));
  choice->seconds = h.seconds;
  *out_was_measured = h.was_measured;
  return SEER_OK;
}

// A random schedule of a random sketch. For tests of compiled networks: the space has much that no
// search would pick.
static seer_status draw_schedule(const chooser *c, const seer_task *task, seer_choice *choice) {
  seer_rng rng;
  seer_rng_init_stream(&rng, c->draw, task->id);
  choice->origin = SEER_ORIGIN_RANDOM;
  for (int i = 0; i < RANDOM_TRIES; i++) {
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, choice->sketches->n);
    if (seer_schedule_sample(choice->sketches, sketch, &rng, &choice->schedule, NULL) ==
        SEER_REJECT_NONE)
      return SEER_OK;
  }
  return SEER_FAIL(INTERNAL, "no valid schedule in %d draws", RANDOM_TRIES);
}

// *out_is_done: nothing is asked of the untuned search.
static seer_status choose_known(chooser *c, const seer_task *task, int64_t opt_level,
    seer_choice *choice, seer_choose_counts *counts, bool *out_is_done) {
  seer_sketch_list *sketches;
  SEER_TRY(seer_choice_sketches(c->context, task->dag, c->arena, &sketches));
  choice->sketches = sketches;
  *out_is_done = c->is_random;
  if (c->is_random) {
    counts->n_untuned++;
    return draw_schedule(c, task, choice);
  }
  if (c->records && opt_level >= 2) SEER_TRY(from_record(c, task, choice, out_is_done));
  counts->n_record += *out_is_done;
  return SEER_OK;
}

static seer_status take_untuned(chooser *c, const seer_task *task, const seer_untuned_task *untuned,
    int64_t opt_level, seer_choice *choice, seer_choose_counts *counts) {
  choice->schedule = untuned->schedule;
  choice->origin = SEER_ORIGIN_UNTUNED;
  bool was = true, is_found = false;
  if (c->records && opt_level >= 2) SEER_TRY(ask_records(c, task, choice, &was));
  if (!was && opt_level >= 3) SEER_TRY(from_transfer(c, task, untuned->seconds, choice, &is_found));
  *(is_found ? &counts->n_sibling : &counts->n_untuned) += 1;
  return SEER_OK;
}

static seer_status choose_untuned(
    chooser *c, uint32_t n_task, seer_untuned_task *asked, uint32_t n) {
  seer_bank *bank;
  SEER_TRY(seer_untuned_bank(c->context, n_task, &bank));
  seer_untuned_how how = {.target = c->target,
      .seed = c->seed,
      .n_drafts = (uint32_t)seer_context_i64(c->context, SEER_OPT_UNTUNED_DRAFTS),
      .n_threads = c->n_threads,
      .bank = bank,
      .stop = seer_context_stop(c->context)};
  seer_status status = seer_untuned_choose(&how, asked, n);
  seer_bank_destroy(bank);
  return status;
}

static seer_status choose_tasks(chooser *c, const seer_network *network, int64_t opt_level,
    seer_choice *choices, seer_choose_counts *counts) {
  seer_untuned_task *asked = SEER_NEW_ARRAY(c->arena, seer_untuned_task, network->n_task + 1);
  uint32_t n = 0;
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    bool is_done;
    SEER_TRY(seer_context_check_stop(c->context));
    SEER_TRYF(choose_known(c, task, opt_level, &choices[t], counts, &is_done), "task %u, %s", t,
        task->name);
    if (is_done) continue;
    asked[n++] = (seer_untuned_task){.task = t,
        .sketches = choices[t].sketches,
        .max_packed_bytes = seer_choose_max_packed_bytes(c->max_weights, task->dag)};
  }
  SEER_TRY(choose_untuned(c, network->n_task, asked, n));
  for (uint32_t k = 0; k < n; k++) {
    uint32_t t = asked[k].task;
    SEER_TRYF(take_untuned(c, &network->task[t], &asked[k], opt_level, &choices[t], counts),
        "task %u, %s", t, network->task[t].name);
  }
  return SEER_OK;
}

// ---- times in the network

typedef struct {
  const char *schedule;
  double seconds;  // the newest
} in_network;

static seer_status note_in_network(void *user, const seer_record *record) {
  in_network *n = user;
  bool counts = record->provenance != SEER_RECORD_ELSEWHERE && record->cls == SEER_MEASURED_OK &&
      strcmp(record->origin, seer_origin_name(SEER_ORIGIN_NETWORK)) == 0;
  if (counts && strcmp(record->schedule, n->schedule) == 0) n->seconds = record->seconds;
  return SEER_OK;
}

static seer_status take_network_times(
    const chooser *c, const seer_network *network, seer_choice *choices) {
  for (uint32_t t = 0; t < network->n_task; t++) {
    int64_t workload;
    seer_choice *choice = &choices[t];
    in_network n = {.schedule = seer_schedule_print(choice->sketches, &choice->schedule, c->arena)};
    SEER_TRY(seer_records_find_workload(c->records, network->task[t].key, &workload));
    SEER_TRY(seer_records_each(c->records, workload, c->target_id, note_in_network, &n));
    choice->network_seconds = n.seconds;
  }
  return SEER_OK;
}

// ---- weights that several tasks read

typedef struct {
  const chooser *c;
  const seer_network *network;
  const seer_share_offer *offer;
  seer_record_rule rule;
  const char *unshared_text;  // of the schedule that the task would be compiled with by itself
  seer_schedule best;
  double best_s, ratio;  // 0: none
} form_finder;

// Times of one moment are compared where there are pairs with the task's own choice; else medians
// of two moments. Without a time of its own the task has the untuned one, and was recorded with
// that beside it.
static double ratio_of(const form_finder *f, const seer_record *record) {
  bool has_pairs = record->ab.n_pairs > 0 && strcmp(record->baseline, f->unshared_text) == 0;
  if (has_pairs) return 1 / record->ab.speedup;
  return f->offer->unshared->seconds > 0 ? record->seconds / f->offer->unshared->seconds : 1;
}

static seer_status of_form(void *user, const seer_record *record) {
  form_finder *f = user;
  bool is_checked = record->state == SEER_RECORD_CHECKED || record->state == SEER_RECORD_ACCEPTED;
  bool is_ok = is_checked && record->cls == SEER_MEASURED_OK && !record->is_raced_out &&
      record->provenance != SEER_RECORD_ELSEWHERE;
  seer_schedule schedule;
  uint64_t form;
  if (!is_ok || seer_record_examine(&f->rule, record, &schedule, NULL) != SEER_RECORD_SOUND)
    return SEER_OK;
  double ratio = ratio_of(f, record);
  bool is_better =
      f->ratio == 0 || ratio < f->ratio || (ratio == f->ratio && record->seconds < f->best_s);
  if (!is_better) return SEER_OK;
  SEER_TRY(seer_share_form(f->offer->unshared->sketches, &schedule, f->offer->weights, &form));
  if (form != f->offer->form) return SEER_OK;
  f->best = schedule;
  f->best_s = record->seconds;
  f->ratio = ratio;
  return SEER_OK;
}

static seer_status find_of_form(form_finder *f, const seer_share_offer *offer) {
  int64_t workload;
  f->offer = offer;
  if (!f->c->records) return SEER_OK;
  f->rule = seer_record_rule_of(offer->unshared->sketches);
  f->unshared_text =
      seer_schedule_print(offer->unshared->sketches, &offer->unshared->schedule, f->c->arena);
  SEER_TRY(seer_records_find_workload(f->c->records, f->network->task[offer->task].key, &workload));
  return seer_records_each(f->c->records, workload, f->c->target_id, of_form, f);
}

// A tuning has measured and checked one: its time counts. Else what the model likes best.
static seer_status try_unmeasured(
    void *user, const seer_share_offer *offer, seer_choice *out_choice, double *out_ratio) {
  form_finder f = *(const form_finder *)user;
  SEER_TRY(find_of_form(&f, offer));
  if (f.ratio > 0) {
    out_choice->schedule = f.best;
    out_choice->origin = SEER_ORIGIN_TUNED;
    out_choice->seconds = f.best_s;
    *out_ratio = f.ratio;
  } else if (offer->n > 0) {
    bool is_tuned = offer->unshared->origin != SEER_ORIGIN_UNTUNED;
    out_choice->schedule = offer->schedule[0];
    out_choice->seconds = 0;
    if (is_tuned) out_choice->origin = SEER_ORIGIN_SIBLING;
    *out_ratio = offer->ratio[0];
  }
  if (f.ratio > 0 || offer->n > 0) {  // pairs were another schedule's
    out_choice->untuned_seconds = out_choice->speedup = 0;
    out_choice->n_pairs = 0;
  }
  return SEER_OK;
}

seer_status seer_choose(const seer_context *context, const seer_network *network,
    seer_records *records, int64_t opt_level, seer_arena *arena, seer_choice **out_choices,
    seer_choose_counts *out_counts) {
  *out_counts = (seer_choose_counts){0};
  if (opt_level == 0) return seer_plain_choices(context, network, arena, out_choices);
  chooser c = {.context = context,
      .target = seer_context_target(context),
      .records = records,
      .arena = arena,
      .space = seer_choice_space(context),
      .max_weights = seer_context_f64(context, SEER_OPT_MAX_WEIGHTS),
      .seed = (uint64_t)seer_context_i64(context, SEER_OPT_SEED),
      .n_threads = (uint32_t)seer_context_i64(context, SEER_OPT_SEARCH_THREADS),
      .is_random = seer_context_is_set(context, SEER_OPT_RANDOM_SCHEDULES)};
  if (c.is_random) c.draw = (uint64_t)seer_context_i64(context, SEER_OPT_RANDOM_SCHEDULES);
  if (records) {
    int64_t ids[SEER_RECORD_MAX_TARGETS];
    uint32_t n;
    SEER_TRY(seer_records_find_targets(records, c.target, ids, &n));
    c.target_id = ids[0];
  }
  seer_choice *choices = SEER_NEW_ARRAY(arena, seer_choice, network->n_task + 1);
  SEER_TRY(choose_tasks(&c, network, opt_level, choices, out_counts));
  *out_choices = choices;
  if (c.is_random) return SEER_OK;
  form_finder finder = {.c = &c, .network = network};
  seer_share_counts shared;
  SEER_TRY(seer_share_weights(network, c.target, seer_context_f64(context, SEER_OPT_SHARE_WEIGHTS),
      try_unmeasured, &finder, choices, &shared));
  out_counts->n_apart = shared.n_apart;
  return records && opt_level >= 2 ? take_network_times(&c, network, choices) : SEER_OK;
}

static seer_status choose_from_file(seer_context *context, const seer_network *network,
    int64_t level, seer_arena *arena, seer_choice **out_choices, seer_choose_counts *out_counts) {
  seer_records *records = NULL;
  if (level >= 2) SEER_TRY(seer_records_open_by_options(context, false, &records));
  seer_status status = seer_speeds_recall(context, records);
  if (!status)
    status = seer_choose(context, network, records, level, arena, out_choices, out_counts);
  seer_records_close(records);
  return status;
}

seer_status seer_choose_by_options(seer_context *context, const seer_network *network,
    seer_arena *arena, seer_choice **out_choices, seer_choose_counts *out_counts) {
  int64_t level = seer_context_i64(context, SEER_OPT_OPT_LEVEL);
  seer_status status = choose_from_file(context, network, level, arena, out_choices, out_counts);
  // A tuning has begun to write to it: it is read with locks the next time.
  for (int k = 0; k < MAX_AGAIN && status && seer_status_code(status) == SEER_CODE_TIMEOUT; k++) {
    seer_status_free(status);
    status = choose_from_file(context, network, level, arena, out_choices, out_counts);
  }
  SEER_TRY(status);
  if (!seer_context_bool(context, SEER_OPT_STRICT) || out_counts->n_record == network->n_task)
    return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "%u of %u tasks have no accepted record (--strict)",
      network->n_task - out_counts->n_record, network->n_task);
}
