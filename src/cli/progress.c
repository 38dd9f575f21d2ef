// progress.c - what people see while a network is tuned. The table has Ansor's columns and those
// that tell why a task is where it is: family, bound (the roofline), share of the network's time.
#include "cli/progress.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define TABLE_ROWS 16
#define LIVE_PERIOD_S 0.25
#define LINE_PERIOD_S 10.0
#define NAME_WIDTH 44

void seer_progress_init(seer_progress *p, seer_campaign *campaign, const seer_network *network) {
  *p = (seer_progress){
      .campaign = campaign, .network = network, .is_terminal = isatty(STDERR_FILENO) == 1};
}

// ---- texts that may hold what files and other processes wrote
typedef struct {
  char text[SEER_TEXT_SAFE_LINE_BYTES];
} safe_line;

static const char *safe(const char *text, safe_line *into) {
  seer_text_safe_copy(
      into->text, sizeof into->text, text ? text : "", text ? strlen(text) : 0, SEER_TEXT_ONE_LINE);
  return into->text;
}

static json_t *safe_json(const char *text) {
  safe_line line;
  return json_string(safe(text, &line));
}

// ---- the table
typedef struct {
  uint32_t task;
  double one_s, share_s;  // a step, and all of the task's
} row;

static int by_share(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->share_s != y->share_s) return x->share_s > y->share_s ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

// `choices`: of the library that was run, whose times in the network these are then; else NULL.
static uint32_t print_table(const seer_progress *p, const seer_choice *choices, double total_s) {
  const seer_schedule_state *state = seer_campaign_state(p->campaign);
  const seer_families *families = seer_campaign_families(p->campaign);
  row *rows = calloc(state->n_task + 1, sizeof(row));
  if (!rows) return 0;
  for (uint32_t t = 0; t < state->n_task; t++) {
    double one_s = choices ? choices[t].network_seconds : state->task[t].best_s;
    rows[t] = (row){t, one_s, state->task[t].weight * one_s};
  }
  qsort(rows, state->n_task, sizeof(row), by_share);
  fprintf(stderr, "%4s  %-*s %-18s %3s %10s %9s %7s %6s %6s  %s\n", "ID", NAME_WIDTH, "Task",
      "Family", "x", choices ? "In network" : "Latency", "GFLOP/s", "% bound", "Share", "Trials",
      "State");
  uint32_t n = state->n_task < TABLE_ROWS ? state->n_task : TABLE_ROWS;
  for (uint32_t i = 0; i < n; i++) {
    const seer_task_state *task = &state->task[rows[i].task];
    const char *what = task->is_dead || task->best_s > 0 ? seer_task_state_name(task) : "-";
    safe_line name, family;
    fprintf(stderr, "%4u  %-*.*s %-18.18s %3.0f ", rows[i].task, NAME_WIDTH, NAME_WIDTH,
        safe(p->network->task[rows[i].task].name, &name),
        safe(families->name[task->family], &family), (double)p->network->task[rows[i].task].weight);
    double one_s = rows[i].one_s;
    if (one_s > 0) {
      fprintf(stderr, "%7.1f us %9.1f %7.0f %5.1f%% ", one_s * 1e6, task->flops / one_s * 1e-9,
          100 * task->bound_s / one_s, 100 * rows[i].share_s / total_s);
    } else {
      fprintf(stderr, "%10s %9s %7s %6s ", "-", "-", "-", "-");
    }
    fprintf(stderr, "%6u  %s\n", task->n_trial, what);
  }
  free(rows);
  if (state->n_task > n) fprintf(stderr, "      ... and %u lighter tasks\n", state->n_task - n);
  return n + 1 + (state->n_task > n);
}

static void print_status(const seer_progress *p, const seer_event *event) {
  const seer_budget *budget = seer_campaign_budget(p->campaign);
  const seer_schedule_state *state = seer_campaign_state(p->campaign);
  fprintf(stderr, "Sum of tasks: %.3f ms  Trials: %u  Used time: %.0f s", event->estimated_s * 1e3,
      event->trials, event->elapsed_s);
  if (budget->time_s > 0) fprintf(stderr, " of %.0f s", budget->time_s);
  if (budget->trials) fprintf(stderr, "  of %u trials", budget->trials);
  fprintf(stderr, "  Last: task %u\n", state->last.task);
}

static void show_live(seer_progress *p, const seer_event *event) {
  if (p->n_lines) fprintf(stderr, "\033[%uA\033[J", p->n_lines);
  p->n_lines = print_table(p, NULL, event->estimated_s) + 1;
  print_status(p, event);
}

static void on_note(seer_progress *p, const char *text) {
  safe_line line;
  if (p->n_lines) fprintf(stderr, "\033[%uA\033[J", p->n_lines);
  p->n_lines = 0;
  fprintf(stderr, "%s\n", safe(text, &line));
}

static void on_start(const seer_progress *p, const seer_event *event) {
  const seer_budget *budget = seer_campaign_budget(p->campaign);
  const seer_families *families = seer_campaign_families(p->campaign);
  fprintf(stderr, "%u tasks in %u families", p->network->n_task, families->n_family);
  if (budget->time_s > 0)
    fprintf(stderr, ", about %.0f min %02.0f s",
        budget->time_s / 60 - 0.5 > 0 ? (double)(int)(budget->time_s / 60) : 0.0,
        budget->time_s - 60.0 * (int)(budget->time_s / 60));
  if (budget->trials) fprintf(stderr, ", %u measurements", budget->trials);
  if (budget->is_until_done) fprintf(stderr, ", until it is done");
  fprintf(stderr, "; before tuning: about %.3f ms", event->estimated_s * 1e3);
  if (p->network->n_set > 1) fprintf(stderr, ", mean of %u sets of shapes", p->network->n_set);
  fprintf(stderr, "\n");
}

static void on_accept(seer_progress *p, const seer_event *event) {
  if (event->is_accepted && p->is_terminal) return;
  if (p->n_lines) p->n_lines = 0;
  safe_line line;
  fprintf(stderr, "task %u: %s (%.1f us, untuned %.1f us)\n", event->task, safe(event->text, &line),
      event->after_s * 1e6, event->before_s * 1e6);
}

void seer_progress_on_event(void *user, const seer_event *event) {
  seer_progress *p = user;
  switch (event->kind) {
    case SEER_EVENT_START:
      on_start(p, event);
      break;
    case SEER_EVENT_NOTE:
    case SEER_EVENT_WAIT:
      on_note(p, event->text);
      break;
    case SEER_EVENT_ROUND_END: {
      double period = p->is_terminal ? LIVE_PERIOD_S : LINE_PERIOD_S;
      if (event->elapsed_s - p->last_shown_s < period) break;
      p->last_shown_s = event->elapsed_s;
      if (p->is_terminal) {
        show_live(p, event);
      } else {
        print_status(p, event);
      }
      break;
    }
    case SEER_EVENT_ACCEPT:
      on_accept(p, event);
      break;
    case SEER_EVENT_DONE:
      p->last_estimate_s = event->estimated_s;
      on_note(p, event->text);
      break;
    case SEER_EVENT_ROUND:
    case SEER_EVENT_MEASUREMENT:
    case SEER_EVENT_BEST:
    case SEER_EVENT_KIND_COUNT:
      break;
  }
}

// What each of several takes for the same.
static void print_devices(const seer_progress *p) {
  seer_campaign_device_totals device[SEER_MEASURE_MAX_DEVICES];
  uint32_t n = seer_campaign_get_devices(p->campaign, device);
  if (n < 2) return;
  fprintf(stderr, "%-32s %6s %16s %12s\n", "Device", "Takes", "Shared rounds", "Measurements");
  for (uint32_t k = 0; k < n; k++) {
    safe_line name;
    fprintf(stderr, "%-32s ", safe(device[k].name, &name));
    if (device[k].bias.takes > 0)
      fprintf(stderr, "%6.2f ", device[k].bias.takes);
    else
      fprintf(stderr, "%6s ", "-");
    fprintf(stderr, "%16u %12u%s\n", device[k].bias.n_shared, device[k].n_measured,
        device[k].is_left_out ? "  gone" : "");
  }
}

void seer_progress_summary(
    const seer_progress *p, const seer_choice *choices, const seer_verdict_report *verdict) {
  seer_campaign_totals totals;
  seer_campaign_get_totals(p->campaign, &totals);
  bool is_run = choices && verdict->latency_s > 0;
  (void)print_table(p, is_run ? choices : NULL, is_run ? verdict->latency_s : totals.estimated_s);
  if (is_run) fprintf(stderr, "      the whole library: %.3f ms\n", verdict->latency_s * 1e3);
  for (uint32_t s = 0; s < p->network->n_set && p->network->n_set > 1; s++)
    fprintf(stderr, "%s: %.3f ms\n", p->network->set[s]->shapes,
        seer_campaign_set_seconds(p->campaign, s) * 1e3);
  if (p->network->n_set > 1) fprintf(stderr, "mean: %.3f ms\n", totals.estimated_s * 1e3);
  print_devices(p);
  uint32_t n_failed = 0;
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++) n_failed += totals.failed[c];
  fprintf(stderr,
      "%u measurements in %.0f s (%.1f a second), %u dropped early, %u twins, %u failed",
      totals.trials, totals.elapsed_s, totals.trials / totals.elapsed_s, totals.raced_out,
      totals.twins, n_failed);
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++) {
    if (totals.failed[c])
      fprintf(
          stderr, ", %s %u", seer_measured_class_name((seer_measured_class)c), totals.failed[c]);
  }
  uint32_t n_run = totals.trials + totals.repeats;
  fprintf(stderr, "; %u more runs of known schedules, %.0f %% of all", totals.repeats,
      n_run ? 100.0 * totals.repeats / n_run : 0.0);
  if (totals.n_optimum > 0)
    fprintf(stderr, "; %u of %u tasks at a local optimum", totals.n_optimum, totals.n_tuned);
  fprintf(stderr,
      "; search %.0f %%, learning %.0f %% of the time; building %.0f s, timing %.0f s, summed over "
      "workers\n",
      100 * totals.propose_s / totals.elapsed_s, 100 * totals.train_s / totals.elapsed_s,
      totals.build_s, totals.run_s);
}

// ---- JSON lines
static void add_measurement(json_t *line, const seer_event *event) {
  json_object_set_new(line, "class", json_string(seer_measured_class_name(event->result->cls)));
  json_object_set_new(line, "seconds", json_real(event->result->seconds));
  json_object_set_new(line, "raced_out", json_boolean(event->result->is_raced_out));
  json_object_set_new(line, "twin", json_boolean(event->result->is_twin));
  json_object_set_new(line, "predicted", json_real((double)event->proposal->predicted));
  json_object_set_new(line, "origin", safe_json(seer_origin_name(event->proposal->origin)));
  json_object_set_new(line, "record", json_integer(event->record));
  if (event->device) json_object_set_new(line, "device", safe_json(event->device));
  if (event->result->message[0])
    json_object_set_new(line, "message", safe_json(event->result->message));
}

static void add_sets(json_t *line, const seer_campaign *campaign, const seer_network *network) {
  if (network->n_set == 1) return;
  json_t *sets = json_array();
  for (uint32_t s = 0; s < network->n_set; s++)
    json_array_append_new(sets,
        json_pack("{s:s, s:f}", "inputs", network->set[s]->shapes, "estimated_ms",
            seer_campaign_set_seconds(campaign, s) * 1e3));
  json_object_set_new(line, "sets", sets);
}

// What was counted, without what is 0.
static void add_counts(json_t *line, const seer_search_counts *c) {
  json_t *rejected = json_object(), *cut = json_object();
  for (uint32_t i = 0; i < SEER_REJECT_COUNT; i++)
    if (c->rejected[i])
      json_object_set_new(
          rejected, seer_reject_name((seer_reject)i), json_integer((json_int_t)c->rejected[i]));
  for (uint32_t i = 0; i < SEER_CUT_COUNT; i++)
    if (c->cut[i])
      json_object_set_new(cut, seer_cut_name((seer_cut)i), json_integer((json_int_t)c->cut[i]));
  json_object_set_new(line, "drafted", json_integer((json_int_t)c->drafted));
  json_object_set_new(line, "scored", json_integer((json_int_t)c->scored));
  json_object_set_new(line, "rejected", rejected);
  json_object_set_new(line, "left_out", cut);
}

static void add_totals(json_t *line, const seer_campaign *campaign) {
  seer_campaign_totals t;
  seer_campaign_get_totals(campaign, &t);
  double busy_s = t.measure_s + t.check_s;
  json_object_set_new(line, "untuned_ms", json_real(t.untuned_s * 1e3));
  json_object_set_new(line, "trials_per_s", json_real(t.trials / t.elapsed_s));
  json_object_set_new(line, "idle_share", json_real(1 - busy_s / t.elapsed_s));
  json_object_set_new(line, "search_s", json_real(t.propose_s));
  json_object_set_new(line, "learn_s", json_real(t.train_s));
  json_object_set_new(line, "check_s", json_real(t.check_s));
  json_object_set_new(line, "expected_gain", json_real(t.expected_gain));
  json_object_set_new(line, "local_optima", json_integer(t.n_optimum));
  json_object_set_new(line, "repeats", json_integer(t.repeats));
  json_object_set_new(line, "raced_out", json_integer(t.raced_out));
  json_object_set_new(line, "twins", json_integer(t.twins));
}

// None where there is one device.
static void add_devices(json_t *line, const seer_campaign *campaign) {
  seer_campaign_device_totals device[SEER_MEASURE_MAX_DEVICES];
  uint32_t n = seer_campaign_get_devices(campaign, device);
  if (n < 2) return;
  json_t *list = json_array();
  for (uint32_t k = 0; k < n; k++) {
    json_t *one = json_object();
    json_object_set_new(one, "device", safe_json(device[k].name));
    if (device[k].bias.takes > 0)
      json_object_set_new(one, "takes", json_real(device[k].bias.takes));
    json_object_set_new(one, "shared_rounds", json_integer(device[k].bias.n_shared));
    json_object_set_new(one, "measurements", json_integer(device[k].n_measured));
    json_object_set_new(one, "gone", json_boolean(device[k].is_left_out));
    json_array_append_new(list, one);
  }
  json_object_set_new(line, "devices", list);
}

static void write_line(seer_progress *p, const char *line) {
  if (p->is_unheard) return;
  p->is_unheard = puts(line) == EOF || fflush(stdout) != 0;
  if (!p->is_unheard) return;
  on_note(p, "nobody takes the events on standard output any more; the search ends");
  seer_campaign_stop(p->campaign);
}

void seer_progress_put_json(seer_progress *p, json_t *line) {
  char *dump = json_dumps(line, JSON_COMPACT);
  if (dump) write_line(p, dump);
  free(dump);
  json_decref(line);
}

static json_t *begin_line(const seer_event *event) {
  return json_pack("{s:s, s:f, s:i, s:f}", "event", seer_event_kind_name(event->kind), "elapsed_s",
      event->elapsed_s, "trials", (int)event->trials, "estimated_ms", event->estimated_s * 1e3);
}

void seer_progress_before(seer_event_kind kind, const char *text, bool is_json) {
  safe_line line;
  fprintf(stderr, "%s\n", safe(text, &line));
  if (!is_json) return;
  const seer_event event = {.kind = kind};
  json_t *object = begin_line(&event);
  if (object) json_object_set_new(object, "text", safe_json(text));
  char *dump = object ? json_dumps(object, JSON_COMPACT) : NULL;
  if (dump) (void)(puts(dump) == EOF || fflush(stdout) != 0);
  free(dump);
  json_decref(object);
}

void seer_progress_on_event_json(void *user, const seer_event *event) {
  seer_progress *p = user;
  const seer_network *network = p->network;
  json_t *line = begin_line(event);
  if (!line) return;
  bool has_task = event->kind != SEER_EVENT_START && event->kind != SEER_EVENT_NOTE &&
      event->kind != SEER_EVENT_WAIT && event->kind != SEER_EVENT_DONE;
  if (has_task) {
    json_object_set_new(line, "task", json_integer(event->task));
    json_object_set_new(line, "name", safe_json(network->task[event->task].name));
  }
  if (event->pick && event->kind == SEER_EVENT_ROUND) {
    json_object_set_new(line, "n", json_integer(event->pick->n));
    json_object_set_new(line, "foreseen", json_boolean(event->pick->is_foreseen));
    json_object_set_new(line, "reason", safe_json(event->pick->reason));
  }
  if (event->kind == SEER_EVENT_MEASUREMENT) add_measurement(line, event);
  if (event->kind == SEER_EVENT_BEST || event->kind == SEER_EVENT_ACCEPT) {
    json_object_set_new(line, "before_ms", json_real(event->before_s * 1e3));
    json_object_set_new(line, "after_ms", json_real(event->after_s * 1e3));
  }
  if (event->kind == SEER_EVENT_ACCEPT)
    json_object_set_new(line, "accepted", json_boolean(event->is_accepted));
  if (event->text) json_object_set_new(line, "text", safe_json(event->text));
  if (event->counts) add_counts(line, event->counts);
  if (event->kind == SEER_EVENT_DONE) {
    add_totals(line, p->campaign);
    add_sets(line, p->campaign, network);
    add_devices(line, p->campaign);
    p->done = line;
    return;
  }
  seer_progress_put_json(p, line);
}

void seer_progress_done_json(seer_progress *p, const seer_verdict_report *verdict) {
  json_t *line = p->done;
  p->done = NULL;
  if (!line) return;
  json_object_set(line, "sum_of_tasks_ms", json_object_get(line, "estimated_ms"));
  if (verdict->latency_s > 0) {
    json_object_set_new(line, "estimated_ms", json_real(verdict->latency_s * 1e3));
    json_object_set_new(line, "latency_ms", json_real(verdict->latency_s * 1e3));
  }
  seer_progress_put_json(p, line);
}

void seer_progress_verdict_json(seer_progress *p, const seer_verdict_report *verdict) {
  if (!verdict->text[0]) return;
  json_t *line = json_pack("{s:s, s:i, s:f, s:s}", "event", "verdict", "pairs",
      (int)verdict->n_pairs, "speedup", verdict->speedup, "text", verdict->text);
  if (!line) return;
  if (verdict->n_pairs > 0) {
    json_object_set_new(line, "seconds", json_real(verdict->tuned_s));
    json_object_set_new(line, "untuned_seconds", json_real(verdict->untuned_s));
  }
  json_t *fallen = json_array();
  for (uint32_t k = 0; k < verdict->n_fallen; k++)
    json_array_append_new(fallen, json_integer(verdict->fallen[k]));
  json_object_set_new(line, "fallen_back", fallen);
  seer_progress_put_json(p, line);
}
