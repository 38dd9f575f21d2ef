// gather.c - events, and a campaign that has ended -> the data of a report.
#include <math.h>
#include <string.h>

#include "base/os.h"
#include "report/data.h"
#include "report/report.h"

#define MAX_POINTS 1000
// Loops are long: of tasks that take next to nothing they are left out, and so is the end of
// others.
#define MAX_LOOPS 40
#define MAX_LOOP_BYTES 8192

// What events say of a task.
typedef struct {
  uint32_t n_raced, n_twin, failed[SEER_MEASURED_COUNT];
  const char *verdict;
} heard;

struct seer_report {
  const char *model_name;
  seer_arena *arena;
  size_t n, cap, n_note, cap_note, n_heard, cap_heard;
  seer_report_point *points;
  const char **notes;
  heard *heard;  // by task, as far as there was something to say
  const seer_verdict_report *verdict;  // NULL: none
};

seer_report *seer_report_create(const char *model_name, seer_arena *arena) {
  seer_report *r = SEER_NEW(arena, seer_report);
  r->model_name = seer_arena_strdup(arena, seer_os_path_base(model_name));
  r->arena = arena;
  return r;
}

static heard *heard_of(seer_report *r, uint32_t task) {
  while (r->n_heard <= task) {
    r->heard = SEER_GROW(r->arena, heard, r->heard, r->n_heard, &r->cap_heard);
    r->heard[r->n_heard++] = (heard){.verdict = ""};
  }
  return &r->heard[task];
}

void seer_report_on_event(void *user, const seer_event *event) {
  seer_report *r = user;
  bool is_line = event->kind == SEER_EVENT_NOTE || event->kind == SEER_EVENT_WAIT ||
      event->kind == SEER_EVENT_DONE;
  if (is_line) {
    r->notes = SEER_GROW(r->arena, const char *, r->notes, r->n_note, &r->cap_note);
    r->notes[r->n_note++] = seer_arena_strdup(r->arena, event->text);
  }
  if (event->kind == SEER_EVENT_MEASUREMENT) {
    heard *of = heard_of(r, event->task);
    of->n_raced += event->result->is_raced_out;
    of->n_twin += event->result->is_twin;
    of->failed[event->result->cls]++;
  }
  if (event->kind == SEER_EVENT_ACCEPT && event->text)
    heard_of(r, event->task)->verdict = seer_arena_strdup(r->arena, event->text);
  if (event->kind != SEER_EVENT_START && event->kind != SEER_EVENT_ROUND_END) return;
  r->points = SEER_GROW(r->arena, seer_report_point, r->points, r->n, &r->cap);
  r->points[r->n++] = (seer_report_point){event->elapsed_s, event->estimated_s, event->trials};
}

// ---- tasks

static bool has_fallen(const seer_verdict_report *verdict, uint32_t task) {
  for (uint32_t k = 0; verdict && k < verdict->n_fallen; k++)
    if (verdict->fallen[k] == task) return true;
  return false;
}

static void gather_task(seer_report *r, const seer_campaign *campaign, const seer_network *network,
    uint32_t t, seer_report_task *out) {
  const seer_task_state *state = &seer_campaign_state(campaign)->task[t];
  const seer_families *families = seer_campaign_families(campaign);
  const seer_task *task = &network->task[t];
  const seer_measure_ab *winner = seer_campaign_winner(campaign, t);
  const heard *of = heard_of(r, t);
  *out = (seer_report_task){.name = seer_text_safe(r->arena, task->name),
      .family = seer_text_safe(r->arena, families->name[state->family]),
      .ops = seer_text_safe(r->arena, task->ops),
      .key = seer_arena_printf(
          r->arena, "%016" PRIx64 "-%016" PRIx64, task->key.structure, task->key.shape),
      .state = seer_task_state_name(state),
      .weight = state->weight,
      .flops = state->flops,
      .bytes = seer_dag_io_bytes(task->dag),
      .bound_s = state->bound_s,
      .untuned_s = state->untuned_s,
      .best_s = state->best_s,
      .estimate_s = state->estimate_s,
      .n_trial = state->n_trial,
      .n_raced = of->n_raced,
      .n_twin = of->n_twin,
      .has_winner = winner != NULL,
      .is_fallen = has_fallen(r->verdict, t),
      .verdict = of->verdict,
      .schedule = "",
      .loops = ""};
  memcpy(out->failed, of->failed, sizeof out->failed);
  if (!winner || winner->n_pairs == 0) return;
  out->pair_untuned_s = winner->baseline_seconds;
  out->pair_s = winner->seconds;
  out->speedup = winner->speedup;
  out->n_pairs = winner->n_pairs;
}

// ---- schedules
// The first step of a task, and the network of the set of shapes that has it.
static const seer_step *find_step(
    const seer_network *network, uint32_t task, const seer_network **out_set) {
  for (uint32_t s = 0; s < network->n_set; s++) {
    *out_set = network->set[s];
    for (uint32_t k = 0; k < (*out_set)->n_step; k++) {
      const seer_step *step = &(*out_set)->step[k];
      if (seer_step_has_task(step) && step->task == task) return step;
    }
  }
  return NULL;
}

static const char *cut(seer_arena *arena, const char *text) {
  size_t n = strlen(text);
  if (n <= MAX_LOOP_BYTES) return text;
  n = MAX_LOOP_BYTES;
  while (n > 0 && text[n - 1] != '\n') n--;
  return seer_arena_printf(arena, "%.*s...\n", (int)n, text);
}

// What can't be lowered has no loops: the report says the rest.
static void gather_loops(const seer_report *r, const seer_context *context,
    const seer_network *network, uint32_t t, const seer_choice *choice, seer_report_task *out) {
  const seer_network *set = NULL;
  const seer_step *step = find_step(network, t, &set);
  const seer_sketch_list *list;
  seer_loop *loop;
  if (!step) return;
  seer_arena *arena = seer_arena_create("report's loops");
  seer_status status = seer_build_lower(context, set, step, choice, arena, &list, &loop);
  if (!status) out->loops = cut(r->arena, seer_loop_print(loop, r->arena));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void gather_schedules(seer_report *r, const seer_context *context,
    const seer_campaign *campaign, const seer_network *network, const seer_choice *choices,
    seer_report_data *data) {
  if (!choices) {
    seer_choice *found = SEER_NEW_ARRAY(r->arena, seer_choice, network->n_task + 1);
    seer_campaign_choices(campaign, found);
    choices = found;
  }
  for (uint32_t k = 0; k < data->n_task; k++) {
    uint32_t t = data->order[k];
    seer_report_task *task = &data->task[t];
    if (!choices[t].sketches) continue;
    task->schedule = seer_schedule_print(choices[t].sketches, &choices[t].schedule, r->arena);
    if (k < MAX_LOOPS) gather_loops(r, context, network, t, &choices[t], task);
  }
}

// ---- steps
// Which shown step makes each value; a view is as what it looks at.
static void gather_steps(seer_report *r, const seer_network *network, seer_report_data *data) {
  const seer_graph *graph = network->graph;
  uint32_t *maker = SEER_NEW_ARRAY(r->arena, uint32_t, graph->n_value + 1);  // 1 + step; 0: none
  seer_report_step *steps = SEER_NEW_ARRAY(r->arena, seer_report_step, SEER_REPORT_MAX_STEPS);
  uint32_t n = 0;
  for (uint32_t s = 0; s < network->n_step && n < SEER_REPORT_MAX_STEPS; s++) {
    const seer_step *step = &network->step[s];
    if (step->kind == SEER_STEP_VIEW) {
      maker[step->view_out.i] = maker[step->view_in.i];
      continue;
    }
    bool is_shown = seer_step_has_task(step);
    uint32_t n_value = seer_step_n_values(graph, step), n_from = 0;
    uint32_t *from = SEER_NEW_ARRAY(r->arena, uint32_t, n_value + 1);
    uint32_t source = 0;
    for (uint32_t k = 0; k < n_value; k++) {
      bool is_made;
      seer_val value = seer_step_value(graph, step, k, &is_made);
      if (is_made || !value.i || !maker[value.i]) continue;
      source = maker[value.i];
      uint32_t at = n_from;
      while (at > 0 && from[at - 1] >= source - 1) at--;
      if (at < n_from && from[at] == source - 1) continue;
      memmove(from + at + 1, from + at, (n_from - at) * sizeof *from);
      from[at] = source - 1;
      n_from++;
    }
    // What is not shown hands on: its readers hang on what it has read last.
    for (uint32_t k = 0; k < n_value; k++) {
      bool is_made;
      seer_val value = seer_step_value(graph, step, k, &is_made);
      if (is_made && value.i) maker[value.i] = is_shown ? n + 1 : source;
    }
    if (is_shown)
      steps[n++] = (seer_report_step){.task = step->task,
          .n_images = seer_step_n_images(network, step),
          .name = seer_text_safe(r->arena, step->name),
          .n_from = n_from,
          .from = from};
  }
  data->step = steps;
  data->n_step = n;
}

// ---- the machine
static void add_roof(seer_report_data *data, const char *name, double gbs) {
  if (gbs > 0 && data->n_roof < SEER_REPORT_MAX_ROOFS)
    data->roof[data->n_roof++] = (seer_report_roof){name, gbs};
}

static void gather_machine(seer_report *r, const seer_context *context, seer_report_data *data) {
  const seer_target *target = seer_context_target(context);
  const char *model = seer_text_safe(r->arena, target->model_name);
  if (target->kind == SEER_TARGET_CPU) {
    double n = target->threads;
    data->machine = seer_arena_printf(
        r->arena, "%s, %u thread%s", model, target->threads, target->threads == 1 ? "" : "s");
    data->peak_gflops = n * target->peak_gflops;
    if (target->l2_bytes) add_roof(data, "L2", n * target->l2_gbs);
    if (target->l3_bytes) add_roof(data, "L3", n * target->l3_gbs);
    add_roof(data, "memory", n * target->dram_gbs);
    return;
  }
  const seer_target_gpu *gpu = &target->gpu;
  double rate = gpu->n_processors * gpu->clock_ghz;
  data->machine = seer_arena_printf(r->arena, "%s, %u processors", model, gpu->n_processors);
  data->peak_gflops = 2 * rate * gpu->n_fmas;
  add_roof(data, "L2", rate * gpu->l2_cycle_bytes);
  add_roof(data, "memory", gpu->dram_gbs);
}

// ---- settings
static bool is_one_of(seer_option option, const seer_option *options, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (options[i] == option) return true;
  }
  return false;
}

// What was given, and what decides about the search also where it was not.
static void gather_settings(seer_report *r, const seer_context *context, seer_report_data *data) {
  static const seer_option always[] = {SEER_OPT_SEARCH_POLICY, SEER_OPT_FAMILY, SEER_OPT_FORESEE,
      SEER_OPT_SPACE, SEER_OPT_COST_MODEL, SEER_OPT_SEED};
  // Folders and files say nothing about the search, and the report is handed on.
  static const seer_option never[] = {SEER_OPT_OUTPUT, SEER_OPT_REPORT, SEER_OPT_RECORDS,
      SEER_OPT_WORKER_PATH, SEER_OPT_DEVICE_LOCK, SEER_OPT_LOAD_MODEL, SEER_OPT_PRETRAINED,
      SEER_OPT_SAVE_MODEL, SEER_OPT_DUMP_DIR};
  seer_report_pair *settings = SEER_NEW_ARRAY(r->arena, seer_report_pair, SEER_OPT_COUNT);
  for (seer_option o = 0; o < SEER_OPT_COUNT; o++) {
    bool is_set = seer_context_is_set(context, o);
    if (is_one_of(o, never, SEER_COUNT_OF(never))) continue;
    if (!is_set && !is_one_of(o, always, SEER_COUNT_OF(always))) continue;
    seer_text value;
    seer_text_init(&value, r->arena);
    const char *one = seer_context_shown(context, o, 0);
    for (size_t k = 1; one; k++) {
      seer_text_put_safe(&value, one);
      one = seer_context_shown(context, o, k);
      if (one) seer_text_put(&value, "\n");
    }
    if (!is_set) seer_text_put(&value, " (default)");
    settings[data->n_setting++] = (seer_report_pair){seer_option_table[o].name, value.data};
  }
  data->setting = settings;
}

// ---- all of it
static void gather_points(seer_report *r, seer_report_data *data) {
  size_t step = r->n / MAX_POINTS + 1;
  seer_report_point *points = SEER_NEW_ARRAY(r->arena, seer_report_point, MAX_POINTS + 3);
  uint32_t n = 0;
  // Before anything was measured the network was as it is untuned; one that goes on from records
  // begins with what they know.
  if (data->restored == 0) points[n++] = (seer_report_point){0, data->sum_untuned_s, 0};
  for (size_t i = 0; i < r->n; i++)
    if (i % step == 0 || i + 1 == r->n) points[n++] = r->points[i];
  data->point = points;
  data->n_point = n;
}

static void gather_totals(seer_report *r, const seer_campaign *campaign, seer_report_data *data) {
  seer_campaign_totals t;
  seer_campaign_get_totals(campaign, &t);
  data->sum_s = t.estimated_s;
  data->sum_untuned_s = t.untuned_s;
  data->elapsed_s = t.elapsed_s;
  data->search_s = t.propose_s;
  data->learn_s = t.train_s;
  data->check_s = t.check_s;
  data->trials = t.trials;
  data->restored = t.restored;
  data->raced_out = t.raced_out;
  data->twins = t.twins;
  memcpy(data->failed, t.failed, sizeof data->failed);
  data->drafted = t.search.drafted;
  data->scored = t.search.scored;
  seer_report_pair *rejected = SEER_NEW_ARRAY(r->arena, seer_report_pair, SEER_REJECT_COUNT);
  for (uint32_t k = 0; k < SEER_REJECT_COUNT; k++) {
    if (t.search.rejected[k] == 0) continue;
    rejected[data->n_rejected++] = (seer_report_pair){seer_reject_name((seer_reject)k),
        seer_arena_printf(r->arena, "%" PRIu64, t.search.rejected[k])};
  }
  data->rejected = rejected;
}

static void gather_sets(seer_report *r, const seer_campaign *campaign, const seer_network *network,
    seer_report_data *data) {
  seer_report_pair *sets = SEER_NEW_ARRAY(r->arena, seer_report_pair, network->n_set);
  for (uint32_t s = 0; s < network->n_set; s++)
    sets[s] = (seer_report_pair){network->set[s]->shapes,
        seer_report_time(r->arena, seer_campaign_set_seconds(campaign, s))};
  data->set = sets;
  data->n_set = network->n_set;
}

static void gather_verdict(const seer_report *r, seer_report_data *data) {
  const seer_verdict_report *v = r->verdict;
  data->verdict = v && v->text ? v->text : "";
  data->precision = v && v->precision ? v->precision : "";
  if (!v) return;
  data->latency_s = v->latency_s;
  data->n_pairs = v->n_pairs;
  data->untuned_s = v->untuned_s;
  data->tuned_s = v->tuned_s;
  data->speedup = v->n_pairs > 0 ? v->speedup : 0;
}

static const char *path_of(const seer_context *context, const char *folder, seer_arena *arena) {
  const char *path = seer_context_str(context, SEER_OPT_REPORT);
  return path[0] || !folder[0] ? path : seer_os_path_join(arena, folder, "report.html");
}

seer_status seer_report_write(seer_report *r, const seer_context *context,
    const seer_tuning *tuning, const seer_precise *precise, const char *folder) {
  const seer_campaign *campaign = tuning->campaign;
  const seer_choice *choices = tuning->is_written ? tuning->choices : NULL;
  const char *path = path_of(context, folder, r->arena);
  if (!path[0] || !campaign) return SEER_OK;
  const seer_network *network = precise->taken->network;  // decided before a campaign begins
  r->verdict = &tuning->verdict;
  seer_report_data data = {.arena = r->arena,
      .model = seer_text_safe(r->arena, r->model_name),
      .n_task = network->n_task,
      .task = SEER_NEW_ARRAY(r->arena, seer_report_task, network->n_task + 1),
      .n_family = seer_campaign_families(campaign)->n_family,
      .note = r->notes,
      .n_note = (uint32_t)r->n_note};
  gather_verdict(r, &data);
  gather_totals(r, campaign, &data);
  for (uint32_t t = 0; t < network->n_task; t++) {
    gather_task(r, campaign, network, t, &data.task[t]);
    if (choices && data.latency_s > 0) data.task[t].network_s = choices[t].network_seconds;
  }
  gather_steps(r, network->set[0], &data);
  gather_machine(r, context, &data);
  gather_settings(r, context, &data);
  gather_sets(r, campaign, network, &data);
  gather_points(r, &data);
  seer_report_finish(&data);
  gather_schedules(r, context, campaign, network, choices, &data);
  seer_text html;
  seer_text_init(&html, r->arena);
  seer_report_put_page(&html, &data);
  return seer_os_write_file(path, html.data, html.n_bytes);
}
