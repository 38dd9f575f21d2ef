// setup.c - options, a network and its records -> a campaign that can run: policy, families,
// models, searches, measurer, untuned choices. The contract: campaign.h (create, destroy).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "choose/choose.h"
#include "choose/untuned.h"
#include "front/select.h"
#include "learn/pretrained.h"
#include "learn/roofline.h"
#include "tune/campaign/budget.h"
#include "tune/campaign/known.h"
#include "tune/campaign/store.h"
#include "tune/scheduler/ingredient.h"

// cold_bytes: weights that are read from one run of a task to its next one.
static seer_status add_task(seer_campaign *s, uint32_t t, double cold_bytes) {
  const seer_task *task = &s->network->task[t];
  seer_campaign_task *entry = &s->task[t];
  s->space = seer_choice_space(s->context);
  SEER_TRYF(seer_choice_sketches(s->context, task->dag, s->arena, &entry->sketches), "task %u, %s",
      t, task->name);
  seer_search_options options = {.task = t,
      .sketches = entry->sketches,
      .target = s->target,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .strategy = s->policy->traits->search,
      .max_packed_bytes = seer_campaign_max_packed_bytes(s, t),
      .n_threads = (uint32_t)seer_context_i64(s->context, SEER_OPT_SEARCH_THREADS)};
  SEER_TRY(seer_search_create(&options, &entry->search));
  seer_task_state *state = &s->state.task[t];
  state->weight = (double)task->weight / s->network->n_set;
  state->flops = task->flops;
  if (seer_target_has_own_rates(s->target))
    state->bound_s = seer_roofline_task_seconds(task->dag, entry->sketches, s->target, cold_bytes);
  if (s->store.records) {
    SEER_TRY(seer_records_workload(
        s->store.records, task->dag, task->key, task->name, &entry->workload));
  }
  return SEER_OK;
}

// Of a measurer that knows some schedules only: the best of those by the estimate. The task's
// search is for no others.
static seer_status choose_of_pool(seer_campaign *s, uint32_t t) {
  seer_campaign_task *entry = &s->task[t];
  const seer_schedule *pool;
  uint32_t n;
  SEER_TRY(s->device.desc->pool(s->device.measurer, t, &pool, &n));
  SEER_TRY(seer_search_restrict(entry->search, pool, n));
  double *least_s = &s->state.task[t].estimate_s;
  *least_s = INFINITY;
  for (uint32_t i = 0; i < n; i++) {
    if (entry->sketches->sketch[pool[i].sketch]->needs_trials) continue;
    double estimate_s = seer_search_estimate(entry->search, &pool[i]);
    if (estimate_s >= *least_s) continue;
    entry->untuned = pool[i];
    *least_s = estimate_s;
  }
  if (!isfinite(*least_s))
    return SEER_FAIL(INVALID, "none of the %u schedules to search can be the untuned one", n);
  return SEER_OK;
}

// What -O1 would compile.
static seer_status choose_untuned(seer_campaign *s) {
  uint32_t n = s->network->n_task;
  seer_untuned_task *asked = SEER_NEW_ARRAY(s->arena, seer_untuned_task, n + 1);
  for (uint32_t t = 0; t < n; t++)
    asked[t] = (seer_untuned_task){.task = t,
        .sketches = s->task[t].sketches,
        .max_packed_bytes = seer_campaign_max_packed_bytes(s, t)};
  seer_bank *bank;
  SEER_TRY(seer_untuned_bank(s->context, n, &bank));
  seer_untuned_how how = {.target = s->target,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .n_drafts = (uint32_t)seer_context_i64(s->context, SEER_OPT_UNTUNED_DRAFTS),
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

static seer_status open_measurer(seer_campaign *s, uint64_t weight_bytes) {
  SEER_TRY(s->device.desc->open(s->context, s->target, s->device.argument, &s->device.measurer));
  s->device.desc->describe(s->device.measurer, &s->device.facts);
  if (s->device.desc->set_pace) s->device.desc->set_pace(s->device.measurer, &s->device.pace);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_task *task = &s->network->task[t];
    seer_measure_task measured = {t, task->dag, s->task[t].sketches, s->space, weight_bytes};
    SEER_TRYF(
        s->device.desc->add_task(s->device.measurer, &measured), "task %u, %s", t, task->name);
  }
  if (!s->device.desc->pool) return choose_untuned(s);
  for (uint32_t t = 0; t < s->network->n_task; t++)
    SEER_TRYF(choose_of_pool(s, t), "task %u, %s", t, s->network->task[t].name);
  return SEER_OK;
}

static seer_status select_tasks(seer_campaign *s) {
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
    const seer_campaign *s, const seer_policy *policy, const seer_family_desc **out) {
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
    const seer_campaign *s, const seer_policy *policy, const seer_cost_desc **out) {
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

// "cost model m: 2 of 3 families go on from it; new are conv.f32"
static void note_loaded(seer_campaign *s, const char *path) {
  seer_text text;
  seer_text_init(&text, s->arena);
  uint32_t n_continued = 0, n = s->learning.models.n_family;
  for (uint32_t f = 0; f < n; f++) n_continued += seer_bank_is_continued(s->learning.bank, f);
  seer_text_printf(&text, "cost model %s: %u of %u families go on from it", path, n_continued, n);
  const char *before = "; new are ";
  for (uint32_t f = 0; f < n; f++) {
    if (seer_bank_is_continued(s->learning.bank, f)) continue;
    seer_text_printf(&text, "%s%s", before, s->learning.models.name[f]);
    before = ", ";
  }
  s->learning.loaded_note = text.data;
}

// Ansor's: a model is used once it has more samples than a round for each of its tasks.
static const uint32_t *warm_up_of_models(seer_campaign *s) {
  uint32_t *need = SEER_NEW_ARRAY(s->arena, uint32_t, s->learning.models.n_family + 1);
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    if (seer_task_is_open(&s->state.task[t]))
      need[s->learning.models.family_of[t]] += s->state.round_size;
  }
  return need;
}

// What other networks have taught, where nothing of the user's own is loaded.
static seer_status begin_pretrained(seer_campaign *s, const seer_bank_options *options) {
  const char *path = seer_context_str(s->context, SEER_OPT_PRETRAINED);
  if (seer_context_bool(s->context, SEER_OPT_NO_PRETRAINED)) return SEER_OK;
  if (!seer_pretrained_fits(options)) {
    if (!path[0]) return SEER_OK;
    return SEER_FAIL(INVALID,
        "--pretrained %s: search policy %s with cost model %s goes on from no other network's",
        path, s->policy->name, options->model->name);
  }
  bool has;
  SEER_TRY(seer_pretrained_load(s->target, path, s->learning.bank, &has));
  if (has)
    s->learning.loaded_note = seer_arena_printf(s->arena, "cost models of other networks: %s",
        path[0] ? path : seer_machine_class_of(s->target).text);
  return SEER_OK;
}

static seer_status create_bank(seer_campaign *s, const seer_cost_desc *model) {
  const char *device = seer_context_str(s->context, SEER_OPT_LEARN_DEVICE);
  seer_bank_options options = {.n_family = s->learning.models.n_family,
      .family_name = s->learning.models.name,
      .n_task = s->network->n_task,
      .family_of = s->learning.models.family_of,
      .is_over_estimate = s->policy->traits->learns_over_estimate,
      .shares_first = s->policy->traits->shares_warm_up,
      .model = model,
      .features =
          seer_feature_set_of(s->policy->traits->features, seer_context_target(s->context)->kind),
      .learning = s->policy->traits->learning,
      .device = strcmp(device, "cuda") == 0 ? SEER_LEARN_CUDA : SEER_LEARN_CPU,
      .seed = (uint64_t)seer_context_i64(s->context, SEER_OPT_SEED),
      .warm_up = s->policy->traits->warm_up,
      .warm_up_of = s->policy->traits->warm_up ? NULL : warm_up_of_models(s)};
  SEER_TRYF(seer_bank_create(&options, &s->learning.bank), "--learn-device %s", device);
  const char *from = seer_context_str(s->context, SEER_OPT_LOAD_MODEL),
             *to = seer_context_str(s->context, SEER_OPT_SAVE_MODEL);
  if (model->is_estimate && (from[0] || to[0]))
    return SEER_FAIL(INVALID, "--%s: cost model %s learns nothing that could be kept in a file",
        from[0] ? "load-model" : "save-model", model->name);
  if (to[0]) SEER_TRYF(seer_os_check_writable(to), "--save-model");
  if (!from[0]) return begin_pretrained(s, &options);
  SEER_TRY(seer_bank_load(s->learning.bank, from));
  note_loaded(s, from);
  return SEER_OK;
}

static seer_status choose_measurer(seer_campaign *s) {
  seer_measure_choice choice;
  SEER_TRY(seer_measure_choose(s->context, s->arena, &choice));
  s->device.desc = choice.desc;
  s->device.argument = choice.argument;
  s->device.pace = (seer_measure_pace){choice.delay_s, &s->is_stopped, 0};
  return SEER_OK;
}

static seer_status choose_ingredients(seer_campaign *s, const seer_scheduler_desc *policy) {
  const seer_ingredient_basis basis = {
      .has_pool = s->device.desc->pool != NULL, .has_records = !seer_campaign_starts_anew(s)};
  return seer_policy_without(
      policy, seer_context_str(s->context, SEER_OPT_WITHOUT), &basis, s->arena, &s->policy);
}

// So that a budget of trials has a round for each of the tasks that are tuned.
static void fit_round_size(seer_campaign *s) {
  uint32_t n = 0, *size = &s->state.round_size;
  for (uint32_t t = 0; t < s->network->n_task; t++) n += s->task[t].is_tuned;
  if (s->budget.trials && n && *size > s->budget.trials / n)
    *size = s->budget.trials / n ? s->budget.trials / n : 1;
}

static seer_status set_up(seer_campaign *s, const char *model_name) {
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
  seer_families_build(grouping, s->network->task, n, s->arena, &s->learning.models);
  s->budget = seer_budget_of(c);
  s->target = seer_context_target(c);
  s->task = SEER_NEW_ARRAY(s->arena, seer_campaign_task, n);
  s->state.task = SEER_NEW_ARRAY(s->arena, seer_task_state, n);
  s->state.n_task = n;
  s->state.foresee = seer_context_f64(c, SEER_OPT_FORESEE);
  s->state.round_size = s->policy->traits->round_size;
  if (seer_context_is_set(c, SEER_OPT_ROUND_SIZE))
    s->state.round_size = (uint32_t)seer_context_i64(c, SEER_OPT_ROUND_SIZE);
  seer_rng_init(&s->state.rng, (uint64_t)seer_context_i64(c, SEER_OPT_SEED));
  if (s->store.records) {
    SEER_TRY(seer_records_target(s->store.records, s->target, &s->store.target_id));
    SEER_TRY(seer_records_campaign(
        s->store.records, c, model_name, s->policy->name, &s->store.campaign_id));
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

static void destroy_owned(void *s) { seer_campaign_destroy(s); }

typedef struct {
  seer_context *context;
  const seer_network *network;
  seer_records *records;
  const char *model_name;
  seer_campaign *campaign;
} creation;

static seer_status create(void *user) {
  creation *c = user;
  seer_campaign *s = calloc(1, sizeof(*s));
  if (!s) return SEER_FAIL(RESOURCE, "no memory for a campaign");
  seer_recover_own(&s->owned, destroy_owned, s);
  s->context = c->context;
  s->network = c->network;
  s->store.records = c->records;
  s->arena = seer_arena_create("campaign");
  s->round = seer_arena_create("round");
  s->events.start_ns = seer_os_now_ns();
  seer_status status = set_up(s, c->model_name);
  seer_recover_disown(&s->owned);  // from here on it is the caller's
  if (status) {
    seer_campaign_destroy(s);
    return status;
  }
  c->campaign = s;
  return SEER_OK;
}

seer_status seer_campaign_create(seer_context *context, const seer_network *network,
    seer_records *records, const char *model_name, seer_campaign **out_campaign) {
  creation c = {context, network, records, model_name, NULL};
  seer_status status = seer_recover(create, &c);
  *out_campaign = c.campaign;
  return status;
}

void seer_campaign_destroy(seer_campaign *s) {
  if (!s) return;
  seer_status_free(s->events.fault);
  if (s->device.measurer) s->device.desc->close(s->device.measurer);
  seer_bank_destroy(s->learning.bank);
  for (uint32_t t = 0; s->task && t < s->network->n_task; t++)
    seer_search_destroy(s->task[t].search);
  seer_arena_destroy(s->round);
  seer_arena_destroy(s->arena);
  free(s);
}
