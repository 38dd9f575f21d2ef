// session.c - the loop: pick a task, give it a round (round.c); at the end hold the winners against
// the untuned one (accept.c). Decisions are made between rounds, from all results so far in
// candidate order, so that a session with the fake machine repeats to the byte.

#include "tune/session.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "choose/choose.h"
#include "choose/transfer.h"
#include "choose/untuned.h"
#include "front/select.h"
#include "learn/pretrained.h"
#include "learn/roofline.h"
#include "record/sound.h"
#include "tune/accept.h"
#include "tune/scheduler/ingredient.h"
#include "tune/session_internal.h"

#define DRIFT_PERIOD_S 20.0
#define DRIFT_SHARE 0.01  // of the time, by what the last measurement of the drift has cost
#define DRIFT_PAIRS 5
// Reserved at the end of a time budget for holding winners against untuned ones: what their finals
// take, or as long as they need to outlast slow phases of the machine, which are seconds; at most a
// share of the budget, unless the least that finals can be takes longer, and then at most a larger
// one.
#define ACCEPT_LEAST_S 10.0
#define ACCEPT_WANTED 0.05  // of the budget
#define ACCEPT_SHARE 0.2
#define ACCEPT_MOST 0.4
// Without a budget of time: of a trial, which takes some 0.05 s (measured 2026-11).
#define ACCEPT_S_PER_TRIAL 0.01

static const char *const kind_names[SEER_EVENT_KIND_COUNT] = {
    "start", "round", "measurement", "round-end", "best", "accept", "note", "wait", "done"};
const char *seer_event_kind_name(seer_event_kind kind) { return kind_names[kind]; }

// Since it began to run, until it has ended, with what is reckoned. What is asked of a session
// later is asked behind compiling and comparing.
static double elapsed_s(const seer_session *s) {
  uint64_t until_ns = s->end_ns ? s->end_ns : seer_os_now_ns();
  return (double)(until_ns - s->start_ns) * 1e-9 + s->reckoned_s;
}

void seer_session_emit(seer_session *s, seer_event *event) {
  event->elapsed_s = elapsed_s(s);
  event->trials = s->totals.trials;
  event->estimated_s = s->totals.estimated_s;
  for (size_t i = 0; i < s->n_listener; i++) s->listener[i].call(s->listener[i].user, event);
}

void seer_session_note(seer_session *s, const char *text) {
  seer_event event = {.kind = SEER_EVENT_NOTE, .text = text};
  seer_session_emit(s, &event);
}

void seer_session_listen(seer_session *s, seer_listener listener, void *user) {
  SEER_ASSERT(s->n_listener < SEER_COUNT_OF(s->listener), "%zu listeners", s->n_listener);
  s->listener[s->n_listener].call = listener;
  s->listener[s->n_listener++].user = user;
}

void seer_session_stop(seer_session *s) { s->is_stopped = 1; }
const seer_budget *seer_session_budget(const seer_session *s) { return &s->budget; }
const seer_families *seer_session_families(const seer_session *s) { return &s->families; }
const seer_schedule_state *seer_session_state(const seer_session *s) { return &s->state; }
void seer_session_get_totals(const seer_session *s, seer_session_totals *out) {
  *out = s->totals;
  out->elapsed_s = elapsed_s(s);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    seer_search_counts_add(&out->search, seer_search_get_counts(s->task[t].search));
    out->n_tuned += s->task[t].is_tuned;
    out->n_optimum += s->task[t].is_tuned && seer_task_is_at_optimum(&s->state.task[t]);
  }
  out->expected_gain = seer_schedule_expected_gain(&s->state, s->policy->traits);
}

// ---- setting up
static bool starts_anew(const seer_session *s) {
  return !s->records || seer_context_bool(s->context, SEER_OPT_NO_RESUME);
}

static void fill_budget(seer_session *s) {
  const seer_context *c = s->context;
  seer_budget *b = &s->budget;
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
  if (b->trials || b->is_none || b->time_s > 0) return;
  bool is_given =
      seer_context_is_set(c, SEER_OPT_PRESET) || seer_context_is_set(c, SEER_OPT_UNTIL_DONE);
  if (!is_given) b->is_until_done = true;
  const char *preset = seer_context_str(c, SEER_OPT_PRESET);
  b->time_s = strcmp(preset, "quick") == 0 ? 60 : strcmp(preset, "thorough") == 0 ? 1800 : 300;
}

static uint64_t max_packed_bytes(const seer_session *s, uint32_t t) {
  return seer_choose_max_packed_bytes(
      seer_context_f64(s->context, SEER_OPT_MAX_WEIGHTS), s->network->task[t].dag);
}

// cold_bytes: weights that are read from one run of a task to its next one.
static seer_status add_task(seer_session *s, uint32_t t, double cold_bytes) {
  const seer_task *task = &s->network->task[t];
  seer_session_task *own = &s->task[t];
  s->space = seer_choice_space(s->context);
  SEER_TRYF(seer_choice_sketches(s->context, task->dag, s->arena, &own->sketches), "task %u, %s", t,
      task->name);
  seer_search_options options = {.task = t,
      .sketches = own->sketches,
      .target = s->target,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .strategy = s->policy->traits->search,
      .max_packed_bytes = max_packed_bytes(s, t),
      .n_threads = (uint32_t)seer_context_i64(s->context, SEER_OPT_SEARCH_THREADS),
      .luck = &s->luck[s->families.family_of[t]]};
  SEER_TRY(seer_search_create(&options, &own->search));
  seer_task_state *state = &s->state.task[t];
  state->weight = (double)task->weight / s->network->n_set;
  state->flops = task->flops;
  state->bound_s = seer_roofline_task_seconds(task->dag, own->sketches, s->target, cold_bytes);
  if (s->records) {
    SEER_TRY(seer_records_workload(s->records, task->dag, task->key, task->name, &own->workload));
  }
  return SEER_OK;
}

// Of a measurer that knows some schedules only: the best of those by the estimate. The task's
// search is for no others.
static seer_status choose_of_pool(seer_session *s, uint32_t t) {
  seer_session_task *own = &s->task[t];
  const seer_schedule *pool;
  uint32_t n;
  SEER_TRY(s->measure->pool(s->measurer, t, &pool, &n));
  SEER_TRY(seer_search_restrict(own->search, pool, n));
  double *least_s = &s->state.task[t].estimate_s;
  *least_s = INFINITY;
  for (uint32_t i = 0; i < n; i++) {
    if (own->sketches->sketch[pool[i].sketch]->needs_trials) continue;
    double estimate_s = seer_search_estimate(own->search, &pool[i]);
    if (estimate_s >= *least_s) continue;
    own->untuned = pool[i];
    *least_s = estimate_s;
  }
  if (!isfinite(*least_s))
    return SEER_FAIL(INVALID, "none of the %u schedules to search can be the untuned one", n);
  return SEER_OK;
}

// What -O1 would compile.
static seer_status choose_untuned(seer_session *s) {
  uint32_t n = s->network->n_task;
  seer_untuned_task *asked = SEER_NEW_ARRAY(s->arena, seer_untuned_task, n + 1);
  for (uint32_t t = 0; t < n; t++)
    asked[t] = (seer_untuned_task){
        .task = t, .sketches = s->task[t].sketches, .max_packed_bytes = max_packed_bytes(s, t)};
  seer_bank *bank;
  SEER_TRY(seer_untuned_bank(s->context, n, &bank));
  seer_untuned_how how = {.target = s->target,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .n_threads = (uint32_t)seer_context_i64(s->context, SEER_OPT_SEARCH_THREADS),
      .bank = bank};
  seer_status status = seer_untuned_choose(&how, asked, n);
  seer_bank_destroy(bank);
  SEER_TRY(status);
  for (uint32_t t = 0; t < n; t++) {
    s->task[t].untuned = asked[t].schedule;
    s->state.task[t].estimate_s = asked[t].seconds;
  }
  return SEER_OK;
}

static seer_status open_measurer(seer_session *s, uint64_t weight_bytes) {
  SEER_TRY(s->measure->open(s->context, s->target, s->measure_argument, &s->measurer));
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_task *task = &s->network->task[t];
    seer_measure_task own = {t, task->dag, s->task[t].sketches, s->space, weight_bytes};
    SEER_TRYF(s->measure->add_task(s->measurer, &own), "task %u, %s", t, task->name);
  }
  if (!s->measure->pool) return choose_untuned(s);
  for (uint32_t t = 0; t < s->network->n_task; t++)
    SEER_TRYF(choose_of_pool(s, t), "task %u, %s", t, s->network->task[t].name);
  return SEER_OK;
}

static seer_status select_tasks(seer_session *s) {
  bool *is_selected = SEER_NEW_ARRAY(s->arena, bool, s->network->n_task + 1);
  SEER_TRY(seer_network_select(s->context, s->network, is_selected));
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    s->task[t].is_tuned = is_selected[t];
    s->state.task[t].is_done = !is_selected[t];
  }
  return SEER_OK;
}

// What a policy's name says and what an option says of the same must not contradict each other.
static seer_status contradiction(
    const seer_policy *policy, const char *theirs, seer_option option, const char *given) {
  return SEER_FAIL(INVALID,
      "--search-policy %s means --%s %s, and --%s is %s: leave one of them out", policy->name,
      seer_option_table[option].name, theirs, seer_option_table[option].name, given);
}

static seer_status find_grouping(
    const seer_session *s, const seer_policy *policy, const seer_family_desc **out) {
  const char *given = seer_context_str(s->context, SEER_OPT_FAMILY);
  bool is_given = seer_context_is_set(s->context, SEER_OPT_FAMILY);
  const char *usual = policy->policy->traits->usual_grouping;
  SEER_TRY(seer_family_find(usual && !is_given ? usual : given, out));
  if (!policy->grouping) return SEER_OK;
  const seer_family_desc *asked = *out;
  SEER_TRY(seer_family_find(policy->grouping, out));
  return is_given && asked != *out ? contradiction(policy, policy->grouping, SEER_OPT_FAMILY, given)
                                   : SEER_OK;
}

static seer_status find_cost_model(
    const seer_session *s, const seer_policy *policy, const seer_cost_desc **out) {
  const char *given = seer_context_str(s->context, SEER_OPT_COST_MODEL);
  SEER_TRY(seer_cost_find(given[0] ? given : policy->policy->traits->cost_model, out));
  if (!policy->cost_model) return SEER_OK;
  const seer_cost_desc *asked = *out;
  SEER_TRY(seer_cost_find(policy->cost_model, out));
  bool is_given = seer_context_is_set(s->context, SEER_OPT_COST_MODEL);
  return is_given && asked != *out
      ? contradiction(policy, policy->cost_model, SEER_OPT_COST_MODEL, given)
      : SEER_OK;
}

// "cost model m: base and 2 of 3 families go on from it; new are conv.f32"
static void note_loaded(seer_session *s, const char *path) {
  seer_text text;
  seer_text_init(&text, s->arena);
  uint32_t n_continued = 0, n = s->models.n_family;
  for (uint32_t f = 0; f < n; f++) n_continued += seer_bank_is_continued(s->bank, f);
  seer_text_printf(&text, "cost model %s: %s%u of %u families go on from it", path,
      s->policy->traits->has_base ? "the base and " : "", n_continued, n);
  const char *before = "; new are ";
  for (uint32_t f = 0; f < n; f++) {
    if (seer_bank_is_continued(s->bank, f)) continue;
    seer_text_printf(&text, "%s%s", before, s->models.name[f]);
    before = ", ";
  }
  s->loaded_note = text.data;
}

// Ansor's: a model is used once it has more samples than a round for each of its tasks.
static const uint32_t *warm_up_of_models(seer_session *s) {
  uint32_t *need = SEER_NEW_ARRAY(s->arena, uint32_t, s->models.n_family + 1);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    if (seer_task_is_open(&s->state.task[t])) need[s->models.family_of[t]] += s->state.round_size;
  }
  return need;
}

// What other networks have taught, where nothing of the user's own is loaded.
static seer_status begin_pretrained(seer_session *s, const seer_bank_options *options) {
  const char *path = seer_context_str(s->context, SEER_OPT_PRETRAINED);
  if (seer_context_bool(s->context, SEER_OPT_NO_PRETRAINED)) return SEER_OK;
  if (!seer_pretrained_fits(options)) {
    if (!path[0]) return SEER_OK;
    return SEER_FAIL(INVALID,
        "--pretrained %s: search policy %s with cost model %s goes on from no other network's",
        path, s->policy->name, options->model->name);
  }
  bool has;
  SEER_TRY(seer_pretrained_load(s->target, path, s->bank, &has));
  if (has)
    s->loaded_note = seer_arena_printf(s->arena, "cost models of other networks: %s",
        path[0] ? path : seer_machine_class_of(s->target).text);
  return SEER_OK;
}

static seer_status create_bank(seer_session *s, const seer_cost_desc *model) {
  const char *device = seer_context_str(s->context, SEER_OPT_LEARN_DEVICE);
  seer_bank_options options = {.n_family = s->models.n_family,
      .family_name = s->models.name,
      .n_task = s->network->n_task,
      .family_of = s->models.family_of,
      .has_base = s->policy->traits->has_base,
      .shares_first = s->policy->traits->shares_warm_up,
      .model = model,
      .features = s->policy->traits->features,
      .learning = s->policy->traits->learning,
      .device = strcmp(device, "cuda") == 0 ? SEER_LEARN_CUDA : SEER_LEARN_CPU,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .warm_up = s->policy->traits->warm_up,
      .warm_up_of = s->policy->traits->warm_up ? NULL : warm_up_of_models(s)};
  SEER_TRYF(seer_bank_create(&options, &s->bank), "--learn-device %s", device);
  const char *from = seer_context_str(s->context, SEER_OPT_LOAD_MODEL),
             *to = seer_context_str(s->context, SEER_OPT_SAVE_MODEL);
  if (model->is_estimate && (from[0] || to[0]))
    return SEER_FAIL(INVALID, "--%s: cost model %s learns nothing that could be kept in a file",
        from[0] ? "load-model" : "save-model", model->name);
  if (to[0]) SEER_TRYF(seer_os_check_writable(to), "--save-model");
  if (!from[0]) return begin_pretrained(s, &options);
  SEER_TRY(seer_bank_load(s->bank, from));
  note_loaded(s, from);
  return SEER_OK;
}

static seer_status choose_measurer(seer_session *s) {
  seer_measure_choice choice;
  SEER_TRY(seer_measure_find(seer_context_str(s->context, SEER_OPT_MEASURE), s->arena, &choice));
  s->measure = choice.desc;
  s->measure_argument = choice.argument;
  s->delay_s = choice.delay_s;
  return SEER_OK;
}

static seer_status choose_ingredients(seer_session *s, const seer_scheduler_desc *policy) {
  const seer_ingredient_place place = {
      .has_pool = s->measure->pool != NULL, .has_records = !starts_anew(s)};
  return seer_policy_without(
      policy, seer_context_str(s->context, SEER_OPT_WITHOUT), &place, s->arena, &s->policy);
}

// So that a budget of trials has a round for each of the tasks that are tuned.
static void fit_round_size(seer_session *s) {
  uint32_t n = 0, *size = &s->state.round_size;
  for (uint32_t t = 0; t < s->network->n_task; t++) n += s->task[t].is_tuned;
  if (s->budget.trials && n && *size > s->budget.trials / n)
    *size = s->budget.trials / n ? s->budget.trials / n : 1;
}

static seer_status set_up(seer_session *s, const char *model_name) {
  seer_context *c = s->context;
  uint32_t n = s->network->n_task;
  seer_policy policy;
  const seer_family_desc *grouping;
  const seer_cost_desc *model;
  SEER_TRY(seer_policy_find(seer_context_str(c, SEER_OPT_SEARCH_POLICY), &policy));
  SEER_TRY(find_grouping(s, &policy, &grouping));
  SEER_TRY(find_cost_model(s, &policy, &model));
  SEER_TRY(choose_measurer(s));
  SEER_TRY(choose_ingredients(s, policy.policy));
  seer_families_build(grouping, s->network->task, n, s->arena, &s->families);
  if (s->policy->traits->has_one_model) SEER_TRY(seer_family_find("all", &grouping));
  seer_families_build(grouping, s->network->task, n, s->arena, &s->models);
  fill_budget(s);
  s->target = seer_context_target(c);
  s->luck = SEER_NEW_ARRAY(s->arena, seer_guest_luck, s->families.n_family + 1);
  s->task = SEER_NEW_ARRAY(s->arena, seer_session_task, n);
  s->state.task = SEER_NEW_ARRAY(s->arena, seer_task_state, n);
  s->state.n_task = n;
  s->state.foresee = seer_context_f64(c, SEER_OPT_FORESEE);
  s->state.round_size = s->policy->traits->round_size;
  if (seer_context_is_set(c, SEER_OPT_ROUND_SIZE))
    s->state.round_size = (uint32_t)seer_context_i64(c, SEER_OPT_ROUND_SIZE);
  seer_rng_init(&s->state.rng, (uint64_t)seer_context_i64(c, SEER_OPT_SEED));
  if (s->records) {
    SEER_TRY(seer_records_target(s->records, s->target, &s->target_id));
    SEER_TRY(seer_records_session(s->records, c, model_name, s->policy->name, &s->session_id));
  }
  uint64_t weight_bytes = seer_measure_network_bytes(s->network);
  double cold_bytes = seer_measure_cold_bytes(s->target, weight_bytes);
  for (uint32_t t = 0; t < n; t++) {
    SEER_TRY(add_task(s, t, cold_bytes));
    s->state.task[t].family = s->families.family_of[t];
  }
  SEER_TRY(select_tasks(s));
  fit_round_size(s);
  SEER_TRY(create_bank(s, model));
  return open_measurer(s, weight_bytes);
}

static void destroy_owned(void *s) { seer_session_destroy(s); }

typedef struct {
  seer_context *context;
  const seer_network *network;
  seer_records *records;
  const char *model_name;
  seer_session *session;
} creation;

static seer_status create(void *user) {
  creation *c = user;
  seer_session *s = calloc(1, sizeof(*s));
  if (!s) return SEER_FAIL(RESOURCE, "no memory for a session");
  seer_recover_own(&s->owned, destroy_owned, s);
  s->context = c->context;
  s->network = c->network;
  s->records = c->records;
  s->arena = seer_arena_create("session");
  s->round = seer_arena_create("round");
  s->start_ns = seer_os_now_ns();
  seer_status status = set_up(s, c->model_name);
  seer_recover_disown(&s->owned);  // from here on it is the caller's
  if (status) {
    seer_session_destroy(s);
    return status;
  }
  c->session = s;
  return SEER_OK;
}

seer_status seer_session_create(seer_context *context, const seer_network *network,
    seer_records *records, const char *model_name, seer_session **out_session) {
  creation c = {context, network, records, model_name, NULL};
  seer_status status = seer_recover(create, &c);
  *out_session = c.session;
  return status;
}

void seer_session_destroy(seer_session *s) {
  if (!s) return;
  seer_status_free(s->fault);
  if (s->measurer) s->measure->close(s->measurer);
  seer_bank_destroy(s->bank);
  for (uint32_t t = 0; s->task && t < s->network->n_task; t++)
    seer_search_destroy(s->task[t].search);
  seer_arena_destroy(s->round);
  seer_arena_destroy(s->arena);
  free(s);
}

void seer_session_update_estimate(seer_session *s) {
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

double seer_session_set_seconds(const seer_session *s, uint32_t set) {
  const seer_network *own = s->network->set[set];
  double total = 0;
  for (uint32_t t = 0; t < own->n_task; t++) {
    const seer_task_state *state = &s->state.task[t];
    double first = state->untuned_s > 0 ? state->untuned_s : state->estimate_s;
    total += own->count[t] * (state->best_s > 0 ? state->best_s : first);
  }
  return total;
}

// ---- records
typedef struct {
  seer_session *s;
  uint32_t task;
  seer_record_rule rule;
  seer_record_counts *counts;
  seer_map *references;  // session -> its first, as bits
} restorer;

// By how much the machine was slower then than when that session began: its times are compared with
// those of other moments as the session itself compared them.
static seer_status drift_then(restorer *r, const seer_record *record, double *out_drift) {
  uint64_t bits;
  double first_s;
  *out_drift = 1;
  if (record->reference_s <= 0) return SEER_OK;
  if (!seer_map_get(r->references, (uint64_t)record->session, &bits)) {
    SEER_TRY(
        seer_records_first_reference(r->s->records, record->session, record->target, &first_s));
    memcpy(&bits, &first_s, sizeof bits);
    seer_map_set(r->references, (uint64_t)record->session, bits);
  }
  memcpy(&first_s, &bits, sizeof first_s);
  if (first_s > 0) *out_drift = record->reference_s / first_s;
  return SEER_OK;
}

static seer_status restore_one(void *user, const seer_record *record) {
  restorer *r = user;
  seer_session *s = r->s;
  seer_arena_reset(s->round);
  seer_schedule schedule;
  // What was measured elsewhere is measured here before it counts: it waits in the queue
  // (transfer.h).
  if (record->place == SEER_RECORD_ELSEWHERE) return SEER_OK;
  // No measurement of the kernel alone.
  if (strcmp(record->origin, seer_origin_name(SEER_ORIGIN_NETWORK)) == 0) return SEER_OK;
  seer_record_verdict verdict = seer_record_judge(&r->rule, record, &schedule, NULL);
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
    seer_session_refresh_best(s, r->task);
    return SEER_OK;
  }
  s->totals.restored++;
  if (seer_schedule_equal(&schedule, &s->task[r->task].untuned))
    s->state.task[r->task].untuned_s = seconds;
  bool is_full = !record->is_raced_out && !record->is_twin;
  return seer_session_learn(s, r->task, &schedule, seconds, is_full);
}

// The winner takes part in the end even when tuning starts anew: its pairs are measured then.
static seer_status restore_holder(seer_session *s, uint32_t t) {
  seer_session_task *task = &s->task[t];
  seer_record_rule rule = seer_record_rule_of(task->sketches);
  seer_record record;
  seer_arena_reset(s->round);
  SEER_TRY(seer_records_winner(
      s->records, task->workload, s->target_id, &rule, s->round, &record, &task->holder));
  task->has_holder = record.id != 0 &&
      seer_search_packed_bytes(task->search, &task->holder) <= max_packed_bytes(s, t);
  task->holder_ab = record.ab;
  task->is_holder_trusted = record.place == SEER_RECORD_TRUSTED;
  return SEER_OK;
}

static void note_unsound(seer_session *s, const seer_record_counts *counts) {
  if (seer_record_counts_bad(counts) == 0) return;
  seer_session_note(s,
      seer_arena_printf(s->arena, "records of these tasks that are not used: %s",
          seer_record_counts_print(counts, s->arena)));
}

static seer_status restore(seer_session *s) {
  for (uint32_t t = 0; s->records && t < s->network->n_task; t++) SEER_TRY(restore_holder(s, t));
  if (starts_anew(s)) return SEER_OK;
  seer_record_counts counts = {0};
  seer_map *references = seer_map_create(s->arena);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    restorer r = {s, t, seer_record_rule_of(s->task[t].sketches), &counts, references};
    SEER_TRY(seer_records_each(s->records, s->task[t].workload, s->target_id, restore_one, &r));
    seer_task_state *state = &s->state.task[t];
    if (state->n_trial == 0) continue;
    state->n_round = (state->n_trial + s->state.round_size - 1) / s->state.round_size;
    state->t = state->n_round;
    seer_session_remember(s, t);
  }
  note_unsound(s, &counts);
  if (s->totals.restored == 0) return SEER_OK;
  for (uint32_t f = 0; f < s->models.n_family; f++) SEER_TRY(seer_bank_train(s->bank, f));
  seer_session_note(
      s, seer_arena_printf(s->arena, "%u measurements from the records", s->totals.restored));
  return SEER_OK;
}

// What was found elsewhere and on similar machines is measured first; so is what was found for
// other shapes, unless that is for guests.
static seer_status queue_transfers(seer_session *s) {
  if (starts_anew(s) || !s->policy->traits->tries_transfers) return SEER_OK;
  bool has_guests = seer_session_has_guests(s);
  uint32_t n_queued = 0, n_invited = 0;
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    if (!seer_task_is_open(&s->state.task[t])) continue;
    seer_transfer near[SEER_TRANSFER_MAX];
    uint32_t n;
    SEER_TRY(seer_find_transfers(
        s->records, s->target, s->space, &s->network->task[t], s->task[t].sketches, near, &n));
    for (uint32_t i = 0; i < n; i++) {
      bool is_guest = has_guests && near[i].kind == SEER_TRANSFER_NEAR_SHAPE;
      (is_guest ? seer_session_invite : seer_session_queue)(
          s, t, &near[i].schedule, SEER_ORIGIN_RECORD);
    }
    n_queued += s->state.task[t].n_queued;
    n_invited += seer_search_invited(s->task[t].search);
  }
  if (n_queued > 0) {
    seer_session_note(s,
        seer_arena_printf(s->arena,
            has_guests ? "%u schedules from records of other machines are tried first"
                       : "%u schedules from records of other machines and other shapes are tried "
                         "first",
            n_queued));
  }
  if (n_invited > 0) {
    seer_session_note(s,
        seer_arena_printf(
            s->arena, "%u schedules from records of other shapes are candidates", n_invited));
  }
  return SEER_OK;
}

// ---- drift: the untuned schedule of the heaviest task, again and again.
static seer_status measure_drift(seer_session *s, bool is_first) {
  uint32_t heaviest = 0;
  for (uint32_t t = 1; t < s->network->n_task; t++) {
    const seer_task_state *a = &s->state.task[t], *b = &s->state.task[heaviest];
    if (a->weight * a->flops > b->weight * b->flops) heaviest = t;
  }
  seer_measure_ab ab;
  const seer_schedule *untuned = &s->task[heaviest].untuned;
  uint64_t start_ns = seer_os_now_ns();
  SEER_TRY(s->measure->compare(s->measurer, heaviest, untuned, 1, untuned, DRIFT_PAIRS, &ab, NULL));
  // The measurer keeps the kernel, so only the first time has a build in it.
  s->drift_ns = seer_os_now_ns();
  s->drift_wait_s = fmax(DRIFT_PERIOD_S, (double)(s->drift_ns - start_ns) * 1e-9 / DRIFT_SHARE);
  if (ab.n_pairs == 0 && is_first)
    return SEER_FAIL(DEVICE, "the untuned schedule of task %u, %s, cannot be timed: %s%s", heaviest,
        s->network->task[heaviest].name, seer_measured_class_name(ab.cls),
        ab.cls == SEER_MEASURED_RUN_TIMEOUT ? "; --timeout says how long a run may take" : "");
  if (ab.n_pairs == 0) return SEER_OK;  // what was known of the drift holds until the next time
  double now = fmin(ab.seconds, ab.baseline_seconds);
  if (is_first) s->reference_s = now;
  s->drift = s->reference_s > 0 ? now / s->reference_s : 1;
  if (!is_first && fabs(s->drift - 1) > 0.1) {
    seer_session_note(s,
        seer_arena_printf(s->arena, "the machine's speed moved by %.0f %% since the start",
            (s->drift - 1) * 100));
  }
  return SEER_OK;
}

bool seer_session_has_records(const seer_session *s) { return s->records != NULL; }

// ---- what goes wrong on the way
void seer_session_survive(seer_session *s, seer_status status) {
  if (!status) return;
  seer_session_note(s, seer_arena_printf(s->arena, "%s", seer_status_message(status)));
  if (seer_status_code(status) == SEER_CODE_DEVICE) s->is_device_lost = true;
  if (s->fault) {
    seer_status_free(status);
  } else {
    s->fault = status;
  }
}

seer_status seer_session_take_fault(seer_session *s) {
  seer_status fault = s->fault;
  s->fault = SEER_OK;
  return fault;
}

// ---- the loop

// NULL: it is worth going on.
static const char *why_done(const seer_session *s) {
  seer_session_totals now;
  seer_session_get_totals(s, &now);
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

static const char *why_end(seer_session *s, double reserve_s) {
  double elapsed = elapsed_s(s);
  const seer_budget *b = &s->budget;
  if (s->is_stopped) return "stopped by the user";
  if (s->fault) return "something went wrong; what is known is kept";
  if (b->is_none) return "the budget is no trials";
  if (b->trials && s->totals.trials >= b->trials) return "the budget of trials is used up";
  if (b->time_s > 0 && elapsed + reserve_s >= b->time_s) return "the time budget is used up";
  if (b->target_latency_s > 0 && s->totals.estimated_s <= b->target_latency_s)
    return "the target latency is reached";
  if (b->early_stopping && s->totals.trials - s->trials_of_best >= b->early_stopping)
    return "no progress any more";
  return b->is_until_done ? why_done(s) : NULL;
}

double seer_session_acceptance_s(const seer_session *s) {
  double budget_s = s->budget.time_s;
  uint32_t trials = s->budget.trials ? s->budget.trials : s->totals.trials;
  if (budget_s <= 0) return fmin(ACCEPT_LEAST_S, ACCEPT_S_PER_TRIAL * trials);
  double usual_s, least_s;
  seer_session_finals_s(s, &usual_s, &least_s);
  double sets = s->network->n_set > 1 ? 2 : 1;  // once more for weights that sets share
  least_s *= sets;
  double wanted_s = fmax(sets * usual_s, fmax(ACCEPT_LEAST_S, ACCEPT_WANTED * budget_s));
  return fmax(fmin(wanted_s, ACCEPT_SHARE * budget_s), fmin(least_s, ACCEPT_MOST * budget_s));
}

static seer_status tune(seer_session *s, const char **out_why) {
  double best_estimate = s->totals.estimated_s;
  for (;;) {
    *out_why = why_end(s, seer_session_acceptance_s(s));
    if (*out_why) return SEER_OK;
    if ((double)(seer_os_now_ns() - s->drift_ns) * 1e-9 > s->drift_wait_s &&
        s->policy->traits->follows_drift) {
      SEER_TRY(measure_drift(s, false));
    }
    seer_pick pick;
    if (!s->policy->next(&s->state, &pick)) {
      *out_why = "nothing is left to gain";
      return SEER_OK;
    }
    SEER_TRYF(
        seer_session_round(s, &pick), "task %u, %s", pick.task, s->network->task[pick.task].name);
    if (s->totals.estimated_s < best_estimate * 0.999) {
      best_estimate = s->totals.estimated_s;
      s->trials_of_best = s->totals.trials;
    }
  }
}

static seer_status judge(seer_session *s) {
  if (s->is_device_lost) return SEER_OK;
  SEER_TRY(seer_session_accept(s));
  SEER_TRY(seer_session_accept_shared(s));
  s->is_judged = true;
  return SEER_OK;
}

static seer_status run(void *user) {
  seer_session *s = user;
  s->drift = 1;
  s->start_ns = seer_os_now_ns();
  SEER_TRY(restore(s));
  SEER_TRY(queue_transfers(s));
  seer_session_update_estimate(s);
  seer_event event = {.kind = SEER_EVENT_START};
  seer_session_emit(s, &event);
  if (s->loaded_note) seer_session_note(s, s->loaded_note);
  const char *why = "";
  if (s->network->n_task > 0) {
    SEER_TRY(measure_drift(s, true));
    seer_session_survive(s, tune(s, &why));
    uint64_t start = seer_os_now_ns();
    seer_session_survive(s, judge(s));
    // Where it was the records that failed, the winners are still found and compiled, as where
    // something else has: the finals may go where the search did not.
    if (s->fault && !s->is_judged) seer_session_survive(s, judge(s));
    s->totals.check_s = (double)(seer_os_now_ns() - start) * 1e-9;
  }
  const char *path = seer_context_str(s->context, SEER_OPT_SAVE_MODEL);
  if (path[0]) seer_session_survive(s, seer_bank_save(s->bank, path));
  if (s->fault) why = "something went wrong; what is known is kept";
  seer_session_totals totals;
  seer_session_get_totals(s, &totals);
  seer_log(s->context, "search", 1, "%s", seer_search_counts_print(&totals.search, s->arena));
  event = (seer_event){.kind = SEER_EVENT_DONE, .text = why, .counts = &totals.search};
  s->end_ns = seer_os_now_ns();
  seer_session_emit(s, &event);
  return SEER_OK;
}

// Also without memory the session can be asked, and ended, afterwards.
seer_status seer_session_run(seer_session *s) { return seer_recover(run, s); }

void seer_session_choices(const seer_session *s, seer_choice *out) {
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_session_task *task = &s->task[t];
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

int64_t seer_session_record_id(const seer_session *s) { return s->session_id; }

const seer_measure_ab *seer_session_winner(const seer_session *s, uint32_t task) {
  return s->task[task].is_accepted ? &s->task[task].winner_ab : NULL;
}
