// tuning.c - a table's tasks of a network -> a campaign on them -> what it has found, kept from its
// events.
#include "study/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "learn/pretrained.h"
#include "study/operators.h"
#include "tune/scheduler/ingredient.h"

// ---- the network
uint32_t seer_tuning_networks(
    const seer_times *times, seer_arena *arena, const char *const **out_names) {
  uint32_t n = 0;
  size_t cap = 0;
  const char **names = NULL;
  for (uint32_t t = 0; t < times->n_task; t++) {
    for (uint32_t u = 0; u < times->task[t].n_use; u++) {
      const char *name = times->task[t].use[u].network;
      uint32_t k = 0;
      while (k < n && strcmp(names[k], name) != 0) k++;
      if (k < n) continue;
      names = SEER_GROW(arena, const char *, names, n, &cap);
      names[n++] = name;
    }
  }
  *out_names = names;
  return n;
}

static uint32_t count_in(const seer_times_task *task, const char *network) {
  for (uint32_t u = 0; u < task->n_use; u++)
    if (strcmp(task->use[u].network, network) == 0) return task->use[u].count;
  return 0;
}

static seer_network *empty_network(uint32_t n_task, seer_arena *arena) {
  seer_network *network = SEER_NEW(arena, seer_network);
  network->task = SEER_NEW_ARRAY(arena, seer_task, n_task);
  network->count = SEER_NEW_ARRAY(arena, uint32_t, n_task);
  network->n_set = 1;
  network->set = SEER_NEW(arena, seer_network *);
  network->set[0] = network;
  network->shapes = network->notice = "";
  return network;
}

static void add_task(
    seer_network *network, const seer_times_task *task, uint32_t count, seer_arena *arena) {
  seer_dag *dag = seer_dag_clone(task->dag, arena);
  seer_dag_finish(dag);
  uint32_t id = network->n_task++, n_op;
  const char *ops = seer_operators_of_name(task->name, arena, &n_op);
  network->count[id] = count;
  network->task[id] = (seer_task){.id = id,
      .name = task->name,
      .dag = dag,
      .key = task->key,
      .weight = count,
      .flops = seer_dag_flops(dag),
      .anchor_class = seer_dag_anchor_class(dag, arena),
      .ops = ops,
      .n_op = n_op};
}

seer_status seer_tuning_network(const seer_times *times, const char *name, seer_arena *arena,
    seer_network **out_network, const seer_times_task *const **out_of) {
  seer_network *network = *out_network = empty_network(times->n_task, arena);
  const seer_times_task **of = SEER_NEW_ARRAY(arena, const seer_times_task *, times->n_task);
  *out_of = of;
  for (uint32_t t = 0; t < times->n_task; t++) {
    const seer_times_task *task = &times->task[t];
    uint32_t count = count_in(task, name);
    if (count == 0 || task->n_time == 0) continue;
    if (network->n_task > 0 && task->space != of[0]->space)
      return SEER_FAIL(INVALID, "network %s has tasks of two spaces in the table", name);
    of[network->n_task] = task;
    add_task(network, task, count, arena);
  }
  if (network->n_task > 0) return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "the table has no task of network %s", name);
}

// ---- the campaign
seer_status seer_tuning_context(const seer_times *times, const char *path, const seer_context *from,
    seer_arena *arena, seer_context **out_context) {
  *out_context = NULL;
  seer_target target;
  SEER_TRYF(seer_target_parse(times->target, arena, &target), "%s", path);
  SEER_TRYF(seer_target_check_cpu(&target), "%s", path);
  *out_context = seer_context_create_default();
  seer_context_set_target(*out_context, &target);
  static const seer_option passed[] = {SEER_OPT_SEARCH_THREADS, SEER_OPT_MAX_WEIGHTS,
      SEER_OPT_WITHOUT, SEER_OPT_NO_PRETRAINED, SEER_OPT_LOG};
  for (size_t i = 0; i < SEER_COUNT_OF(passed); i++) {
    const char *value = seer_context_str(from, passed[i]);
    if (!seer_context_is_set(from, passed[i])) continue;
    SEER_TRY(seer_context_set(*out_context, seer_option_table[passed[i]].name, value));
  }
  return SEER_OK;
}

// Do the models of such a tuning begin with those of other networks, where there are any?
static seer_status begins_with_others(const seer_context *context,
    const seer_tuning_options *options, seer_arena *arena, bool *out_does) {
  static const seer_ingredient_basis basis = {.has_pool = true};
  seer_policy policy;
  const seer_scheduler_desc *desc;
  const seer_cost_desc *model;
  SEER_TRY(seer_policy_find(options->policy, &policy));
  SEER_TRY(seer_policy_without(
      policy.policy, seer_context_str(context, SEER_OPT_WITHOUT), &basis, arena, &desc));
  const char *own = policy.cost_model ? policy.cost_model : desc->traits->cost_model;
  SEER_TRY(seer_cost_find(options->cost_model[0] ? options->cost_model : own, &model));
  const seer_bank_options bank = {.is_over_estimate = desc->traits->learns_over_estimate,
      .model = model,
      .features = desc->traits->features};
  *out_does = seer_pretrained_fits(&bank);
  return SEER_OK;
}

static seer_status set_options(seer_context *context, const seer_tuning_options *options,
    const seer_times_task *first, uint32_t n_task, seer_arena *arena) {
  bool has_others;
  SEER_TRY(begins_with_others(context, options, arena, &has_others));
  const char *const values[][2] = {
      {"measure", seer_arena_printf(arena, "replay:%s", options->path)},
      {"search-policy", options->policy},
      {"seed", seer_arena_printf(arena, "%" PRIu64, options->seed)},
      {"trials", seer_arena_printf(arena, "%u", options->trials_a_task * n_task)},
      {"cost-model", options->cost_model},
      {"pretrained", has_others && options->pretrained ? options->pretrained : ""},
      {"space", first->space == SEER_SPACE_ANSOR ? "ansor" : "seer"}};
  for (size_t i = 0; i < SEER_COUNT_OF(values); i++)
    SEER_TRY(seer_context_set(context, values[i][0], values[i][1]));
  if (options->round_size == 0) return SEER_OK;
  return seer_context_set(
      context, "round-size", seer_arena_printf(arena, "%u", options->round_size));
}

static seer_status find_times(seer_tuning *t, const seer_times_task *const *of) {
  t->n_task = t->network->n_task;
  t->task = SEER_NEW_ARRAY(t->arena, seer_tuning_task, t->n_task);
  seer_choice *choices = SEER_NEW_ARRAY(t->arena, seer_choice, t->n_task);
  seer_campaign_choices(t->campaign, choices);
  for (uint32_t k = 0; k < t->n_task; k++) {
    seer_tuning_task *task = &t->task[k];
    task->of = of[k];
    task->count = t->network->count[k];
    seer_times_pool_make(of[k], choices[k].sketches, t->arena, &task->pool);
    const seer_time *untuned = seer_times_pool_find(&task->pool, &choices[k].schedule);
    if (!untuned || untuned->seconds <= 0)
      return SEER_FAIL(INVALID, "task %s: the untuned choice has no time in the table",
          t->network->task[k].name);
    task->untuned_s = untuned->seconds;
    task->known_s = seer_times_pool_best(&task->pool);
  }
  return SEER_OK;
}

static seer_status begin(
    seer_context *context, const seer_tuning_options *options, seer_tuning *t) {
  const seer_times_task *const *of;
  SEER_TRY(seer_tuning_network(options->times, options->network, t->arena, &t->network, &of));
  if (options->only != SEER_TUNING_ALL) {
    SEER_ASSERT(
        options->only < t->network->n_task, "task %u, n %u", options->only, t->network->n_task);
    of += options->only;
    uint32_t count = t->network->count[options->only];
    t->network = empty_network(1, t->arena);
    add_task(t->network, of[0], count, t->arena);
  }
  SEER_TRY(set_options(context, options, of[0], t->network->n_task, t->arena));
  SEER_TRY(seer_campaign_create(context, t->network, NULL, options->network, &t->campaign));
  return find_times(t, of);
}

seer_status seer_tuning_create(
    seer_context *context, const seer_tuning_options *options, seer_tuning **out_tuning) {
  *out_tuning = NULL;
  seer_arena *arena = seer_arena_create("tuning");
  seer_tuning *t = SEER_NEW(arena, seer_tuning);
  *t = (seer_tuning){.arena = arena, .scratch = seer_arena_create("event")};
  seer_status status = begin(context, options, t);
  if (status)
    seer_tuning_destroy(t);
  else
    *out_tuning = t;
  return status;
}

void seer_tuning_destroy(seer_tuning *t) {
  if (!t) return;
  seer_campaign_destroy(t->campaign);
  seer_status_free(t->failure);
  seer_arena_destroy(t->scratch);
  seer_arena_destroy(t->arena);
}

// ---- events
static void on_measurement(seer_tuning *t, const seer_event *event) {
  seer_tuning_task *task = &t->task[event->task];
  if (event->trials > t->n_trial) {  // else it had been measured before
    task->n_trial += event->trials - t->n_trial;
    t->measuring_s += event->result->build_s + event->result->run_s;
    t->n_trial = event->trials;
  }
  if (event->result->cls != SEER_MEASURED_OK) return;
  double seconds = event->result->seconds;
  if (task->best_s <= 0 || seconds < task->best_s) task->best_s = seconds;
}

static void on_event(void *user, const seer_event *event) {
  seer_tuning *t = user;
  if (event->kind == SEER_EVENT_MEASUREMENT) on_measurement(t, event);
  if (t->listener && !t->failure) t->failure = t->listener(t->user, t, event);
  if (event->kind == SEER_EVENT_ROUND_END) seer_arena_reset(t->scratch);
}

seer_status seer_tuning_run(seer_tuning *t, seer_tuning_listener listener, void *user) {
  t->listener = listener;
  t->user = user;
  seer_campaign_listen(t->campaign, on_event, t);
  SEER_TRY(seer_campaign_run(t->campaign));
  SEER_TRY(seer_campaign_take_fault(t->campaign));
  seer_status failure = t->failure;
  t->failure = SEER_OK;
  return failure;
}
