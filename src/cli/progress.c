// progress.c - what people see while a network is tuned.
#include "cli/progress.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/task_table.h"
#include "cli/terminal.h"

#define TABLE_ROWS 16
#define LIVE_PERIOD_S 0.25
#define LINE_PERIOD_S 10.0
#define LEAST_NAME 12  // columns of a task's name
#define AROUND_ROWS \
  4  // of the terminal: the table's title, its last lines, and where the cursor is

void seer_progress_init(seer_progress *p, const seer_context *context, seer_campaign *campaign,
    const seer_network *network, const volatile sig_atomic_t *is_ending) {
  bool has_log = seer_context_str(context, SEER_OPT_LOG)[0] != '\0';
  *p = (seer_progress){.campaign = campaign,
      .network = network,
      .is_live = seer_terminal_is_there() && !has_log,
      .is_ending = is_ending};
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
// The longest of these that fits.
static void put_status(
    seer_text *to, const seer_progress *p, const seer_event *event, uint32_t columns) {
  const seer_budget *budget = seer_campaign_budget(p->campaign);
  const seer_schedule_state *state = seer_campaign_state(p->campaign);
  char of_time[32] = "", of_trials[32] = "", last[32] = "";
  if (budget->time_s > 0) (void)snprintf(of_time, sizeof of_time, " of %.0f s", budget->time_s);
  if (budget->trials) (void)snprintf(of_trials, sizeof of_trials, "  of %u trials", budget->trials);
  if (p->is_judging)
    (void)snprintf(last, sizeof last, "  Checking winners");
  else
    (void)snprintf(last, sizeof last, "  Last: task %u", state->last.task);
  for (int turn = 0;; turn++) {
    const char *title = turn < 3 ? "Sum of tasks: " : "", *dot = turn < 3 ? "Trials: " : "trials ",
               *used = turn < 2 ? "Used time: " : "";
    char text[256];
    (void)snprintf(text, sizeof text, "%s%.3f ms  %s%u  %s%.0f s%s%s%s", title,
        event->estimated_s * 1e3, dot, event->trials, used, event->elapsed_s, of_time,
        turn < 3 ? of_trials : "", turn < 1 ? last : "");
    bool fits = columns == 0 || strlen(text) <= columns;
    if (!fits && turn < 3) continue;
    if (fits)
      seer_text_put(to, text);
    else
      seer_terminal_put_cut(to, text, columns);
    seer_text_put(to, "\n");
    return;
  }
}

// ---- the terminal
static bool is_ending(const seer_progress *p) { return p->is_ending && *p->is_ending; }

// At once, so that nobody sees half of it, and nothing comes between.
static void show(const seer_text *text) {
  if (text->n_bytes > 0) (void)fwrite(text->data, 1, text->n_bytes, stderr);
}

// The cursor stands below the table. It goes to its top only where the terminal is as wide as it
// was: else lines may lie otherwise now, and the table stays.
static void put_away(seer_progress *p, seer_text *to, uint32_t columns) {
  if (p->n_lines > 0 && p->columns == columns && !is_ending(p))
    seer_text_printf(to, "\033[%uA\033[J", p->n_lines);
  p->n_lines = 0;
}

static void put_table(
    seer_progress *p, seer_text *to, const seer_event *event, seer_terminal_size size) {
  uint32_t rows = size.rows > AROUND_ROWS ? size.rows - AROUND_ROWS : 1;
  const seer_task_table_size table = {size.columns - 1, rows < TABLE_ROWS ? rows : TABLE_ROWS};
  p->n_lines = seer_task_table_put(to, p->campaign, p->network, NULL, event->estimated_s, table);
  put_status(to, p, event, size.columns - 1);
  p->n_lines++;
  p->columns = size.columns;
}

// What is news, above a table that stands there. `text` NULL: none. `event` NULL: no table any
// more.
static void show_live(seer_progress *p, const char *text, const seer_event *event) {
  seer_arena *arena = seer_arena_create("frame");
  seer_terminal_size size = seer_terminal_ask();
  seer_text frame;
  seer_text_init(&frame, arena);
  bool had_table = p->n_lines > 0;
  put_away(p, &frame, size.columns);
  if (text) seer_terminal_put_wrapped(&frame, text, size.columns - 1);
  if (event && (had_table || !text) && !is_ending(p)) put_table(p, &frame, event, size);
  show(&frame);
  seer_arena_destroy(arena);
}

// As wide as the terminal, where there is one.
static void say(const seer_progress *p, const char *text) {
  safe_line line;
  if (!p->is_live) {
    fprintf(stderr, "%s\n", safe(text, &line));
    return;
  }
  seer_arena *arena = seer_arena_create("line");
  seer_text wrapped;
  seer_text_init(&wrapped, arena);
  seer_terminal_put_wrapped(&wrapped, safe(text, &line), seer_terminal_ask().columns - 1);
  show(&wrapped);
  seer_arena_destroy(arena);
}

static void show_status(const seer_progress *p, const seer_event *event) {
  seer_arena *arena = seer_arena_create("line");
  seer_text text;
  seer_text_init(&text, arena);
  put_status(&text, p, event, 0);
  show(&text);
  seer_arena_destroy(arena);
}

// `event`: what the table shows when the note stands above it; NULL: there is none any more.
static void on_note(seer_progress *p, const char *text, const seer_event *event) {
  safe_line line;
  if (p->is_live)
    show_live(p, safe(text, &line), event);
  else
    say(p, text);
}

static void on_start(const seer_progress *p, const seer_event *event) {
  const seer_budget *budget = seer_campaign_budget(p->campaign);
  const seer_families *families = seer_campaign_families(p->campaign);
  seer_arena *arena = seer_arena_create("line");
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "%u tasks in %u families", p->network->n_task, families->n_family);
  if (budget->time_s >= 60)
    seer_text_printf(&text, ", about %.0f min %02.0f s", floor(budget->time_s / 60),
        floor(fmod(budget->time_s, 60)));
  else if (budget->time_s > 0)
    seer_text_printf(&text, ", about %.0f s", budget->time_s);
  if (budget->trials) seer_text_printf(&text, ", %u measurements", budget->trials);
  if (budget->is_until_done) seer_text_put(&text, ", until it is done");
  seer_text_printf(&text, "; before tuning: about %.3f ms", event->estimated_s * 1e3);
  if (p->network->n_set > 1)
    seer_text_printf(&text, ", mean of %u sets of shapes", p->network->n_set);
  say(p, text.data);
  seer_arena_destroy(arena);
}

// Of the winners most hold, and those that do not are none: the untuned one ships. On a terminal
// that is no news; the report and the events tell.
static void on_accept(seer_progress *p, const seer_event *event) {
  safe_line line;
  p->is_judging = true;
  if (!p->is_live) {
    fprintf(stderr, "task %u: %s (%.1f us, untuned %.1f us)\n", event->task,
        safe(event->text, &line), event->after_s * 1e6, event->before_s * 1e6);
    return;
  }
  if (!event->is_accepted) {
    if (p->n_lines > 0) show_live(p, NULL, event);
    return;
  }
  seer_arena *arena = seer_arena_create("line");
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "task %u: %.1f us", event->task, event->after_s * 1e6);
  if (event->before_s > 0)
    seer_text_printf(&text, ", %.2f times as fast as untuned", event->before_s / event->after_s);
  // The name, if there is room for one.
  uint32_t columns = seer_terminal_ask().columns - 1;
  if (text.n_bytes + 2 + LEAST_NAME <= columns) {
    safe(p->network->task[event->task].name, &line);
    uint32_t room = columns - (uint32_t)text.n_bytes - 2;
    seer_text_put(&text, "  ");
    seer_terminal_put_cut(&text, line.text, room);
  }
  show_live(p, text.data, event);
  seer_arena_destroy(arena);
}

static void on_round_end(seer_progress *p, const seer_event *event) {
  double period = p->is_live ? LIVE_PERIOD_S : LINE_PERIOD_S;
  if (event->elapsed_s - p->last_shown_s < period || (p->is_live && is_ending(p))) return;
  p->last_shown_s = event->elapsed_s;
  if (p->is_live)
    show_live(p, NULL, event);
  else
    show_status(p, event);
}

void seer_progress_on_event(void *user, const seer_event *event) {
  seer_progress *p = user;
  switch (event->kind) {
    case SEER_EVENT_START:
      on_start(p, event);
      break;
    case SEER_EVENT_NOTE:
    case SEER_EVENT_WAIT:
      on_note(p, event->text, event);
      break;
    case SEER_EVENT_ROUND_END:
      on_round_end(p, event);
      break;
    case SEER_EVENT_ACCEPT:
      on_accept(p, event);
      break;
    case SEER_EVENT_DONE:
      on_note(p, event->text, NULL);
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

static void put_totals(seer_text *to, const seer_campaign_totals *totals) {
  uint32_t n_failed = 0, n_run = totals->trials + totals->repeats;
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++) n_failed += totals->failed[c];
  seer_text_printf(to,
      "%u measurements in %.0f s (%.1f a second), %u dropped early, %u twins, %u failed",
      totals->trials, totals->elapsed_s, totals->trials / totals->elapsed_s, totals->raced_out,
      totals->twins, n_failed);
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++) {
    if (totals->failed[c])
      seer_text_printf(
          to, ", %s %u", seer_measured_class_name((seer_measured_class)c), totals->failed[c]);
  }
  seer_text_printf(to, "; %u more runs of known schedules, %.0f %% of all", totals->repeats,
      n_run ? 100.0 * totals->repeats / n_run : 0.0);
  if (totals->n_optimum > 0)
    seer_text_printf(to, "; %u of %u tasks at a local optimum", totals->n_optimum, totals->n_tuned);
  seer_text_printf(to,
      "; search %.0f %%, learning %.0f %% of the time; building %.0f s, timing %.0f s, summed over "
      "workers",
      100 * totals->propose_s / totals->elapsed_s, 100 * totals->train_s / totals->elapsed_s,
      totals->build_s, totals->run_s);
}

void seer_progress_summary(
    const seer_progress *p, const seer_choice *choices, const seer_verdict_report *verdict) {
  seer_arena *arena = seer_arena_create("summary");
  seer_text table, sums;
  seer_text_init(&table, arena);
  seer_text_init(&sums, arena);
  seer_campaign_totals totals;
  seer_campaign_get_totals(p->campaign, &totals);
  bool is_run = choices && verdict->latency_s > 0;
  const seer_task_table_size size = {p->is_live ? seer_terminal_ask().columns - 1 : 0, TABLE_ROWS};
  (void)seer_task_table_put(&table, p->campaign, p->network, is_run ? choices : NULL,
      is_run ? verdict->latency_s : totals.estimated_s, size);
  show(&table);
  if (is_run) fprintf(stderr, "      the whole library: %.3f ms\n", verdict->latency_s * 1e3);
  for (uint32_t s = 0; s < p->network->n_set && p->network->n_set > 1; s++)
    fprintf(stderr, "%s: %.3f ms\n", p->network->set[s]->shapes,
        seer_campaign_set_seconds(p->campaign, s) * 1e3);
  if (p->network->n_set > 1) fprintf(stderr, "mean: %.3f ms\n", totals.estimated_s * 1e3);
  print_devices(p);
  put_totals(&sums, &totals);
  say(p, sums.data);
  seer_arena_destroy(arena);
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
  on_note(p, "nobody takes the events on standard output any more; the search ends", NULL);
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
