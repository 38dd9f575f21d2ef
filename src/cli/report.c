// report.c - events -> points of curves; curves and tables -> HTML.

#include "cli/report.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "study/paper/page.h"
#include "study/paper/picture.h"

#define MAX_POINTS 2000

typedef struct {
  double elapsed_s, estimate_ms;
  uint32_t trials;
} point;

struct seer_report {
  const char *model_name;
  seer_arena *arena;
  size_t n, cap;
  point *points;
  size_t n_note, cap_note;
  const char **notes;
  const seer_verdict_report *verdict;  // NULL: none
};

seer_report *seer_report_create(const char *model_name, seer_arena *arena) {
  seer_report *r = SEER_NEW(arena, seer_report);
  r->model_name = seer_arena_strdup(arena, seer_os_path_base(model_name));
  r->arena = arena;
  return r;
}

void seer_report_on_event(void *user, const seer_event *event) {
  seer_report *r = user;
  bool is_line = event->kind == SEER_EVENT_NOTE || event->kind == SEER_EVENT_WAIT ||
      event->kind == SEER_EVENT_DONE;
  if (is_line) {
    r->notes = SEER_GROW(r->arena, const char *, r->notes, r->n_note, &r->cap_note);
    r->notes[r->n_note++] = seer_arena_strdup(r->arena, event->text);
  }
  if (event->kind != SEER_EVENT_START && event->kind != SEER_EVENT_ROUND_END) return;
  r->points = SEER_GROW(r->arena, point, r->points, r->n, &r->cap);
  r->points[r->n++] = (point){event->elapsed_s, event->estimated_s * 1e3, event->trials};
}

void seer_report_verdict(seer_report *r, const seer_verdict_report *verdict) {
  r->verdict = verdict;
}

// ---- curves
static void put_curve(seer_text *out, const seer_report *r, bool by_trials) {
  size_t step = r->n / MAX_POINTS + 1, n = 0;
  double *x = SEER_NEW_ARRAY(r->arena, double, r->n + 1),
         *y = SEER_NEW_ARRAY(r->arena, double, r->n + 1);
  seer_picture_axes axes = {.title = by_trials ? "latency over measurements" : "latency over time",
      .x_label = by_trials ? "measurements" : "seconds of tuning",
      .x_max = 1e-9,
      .y_max = 1e-9};
  for (size_t i = 0; i < r->n; i++) {
    double at = by_trials ? r->points[i].trials : r->points[i].elapsed_s;
    axes.x_max = fmax(axes.x_max, at);
    axes.y_max = fmax(axes.y_max, r->points[i].estimate_ms);
    if (i % step) continue;
    x[n] = at;
    y[n++] = r->points[i].estimate_ms;
  }
  axes.y_max *= 1.05;
  const seer_picture_line line = {"ms", (uint32_t)n, x, y};
  seer_picture_lines(out, &axes, &line, 1);
}

// ---- tables
static bool has_fallen(const seer_verdict_report *verdict, uint32_t task) {
  for (uint32_t k = 0; verdict && k < verdict->n_fallen; k++)
    if (verdict->fallen[k] == task) return true;
  return false;
}

// The times of one moment, by which the winner was accepted; what was not accepted has none.
static void put_pairs(seer_text *out, const seer_measure_ab *winner, bool has_lost) {
  if (has_lost)
    seer_text_put(out, "<td>-<td>-<td>slower in the network");
  else if (winner && winner->n_pairs > 0)
    seer_text_printf(out, "<td>%.1f us<td>%.1f us<td>%.2f (%u)", winner->baseline_seconds * 1e6,
        winner->seconds * 1e6, winner->speedup, winner->n_pairs);
  else
    seer_text_printf(out, "<td>-<td>-<td>%s", winner ? "shares weights" : "untuned");
}

static void put_times(
    seer_text *out, const seer_task_state *task, double network_s, double total_s) {
  double one_s = network_s > 0 ? network_s : task->best_s;
  if (task->best_s > 0)
    seer_text_printf(out, "<td>%.1f us<td>%.1f us", task->untuned_s * 1e6, task->best_s * 1e6);
  else
    seer_text_put(out, "<td>-<td>-");
  if (network_s > 0)
    seer_text_printf(out, "<td>%.1f us", network_s * 1e6);
  else
    seer_text_put(out, "<td>-");
  if (one_s > 0)
    seer_text_printf(out, "<td>%.1f<td>%.0f<td>%.1f %%", task->flops / one_s * 1e-9,
        100 * task->bound_s / one_s, 100 * task->weight * one_s / total_s);
  else
    seer_text_put(out, "<td>-<td>-<td>-");
}

// Shares are of a run of the library where it was run, else of the sum of tasks.
static void put_tasks(seer_text *out, const seer_report *r, const seer_campaign *campaign,
    const seer_network *network, const seer_choice *choices, double total_s) {
  const seer_schedule_state *state = seer_campaign_state(campaign);
  const seer_families *families = seer_campaign_families(campaign);
  seer_text_put(out,
      "<table><tr><th>ID<th>Task<th>Family<th>times<th>MFLOP<th>Trials<th>Default<th>Best<th>In "
      "the network<th>GFLOP/s<th>% of bound<th>Share<th>Default in pairs<th>Winner in "
      "pairs<th>times as fast (pairs)"
      "<th>State</tr>\n");
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task_state *task = &state->task[t];
    seer_text_printf(out, "<tr><td>%u<td class='l'>", t);
    seer_text_put_html(out, network->task[t].name);
    seer_text_put(out, "<td class='l'>");
    seer_text_put_html(out, families->name[task->family]);
    seer_text_printf(
        out, "<td>%u<td>%.2f<td>%u", network->task[t].weight, task->flops * 1e-6, task->n_trial);
    put_times(out, task, choices ? choices[t].network_seconds : 0, total_s);
    put_pairs(out, seer_campaign_winner(campaign, t), has_fallen(r->verdict, t));
    seer_text_printf(out, "<td>%s</tr>\n", seer_task_state_name(task));
  }
  seer_text_put(out, "</table>\n");
}

static void put_sets(seer_text *out, const seer_campaign *campaign, const seer_network *network) {
  if (network->n_set == 1) return;
  seer_text_put(out,
      "<p>One library for several sets of input shapes; times above are the mean over them.</p>\n"
      "<table><tr><th>Inputs<th>Sum of tasks</tr>\n");
  for (uint32_t s = 0; s < network->n_set; s++) {
    seer_text_put(out, "<tr><td class='l'>");
    seer_text_put_html(out, network->set[s]->shapes);
    seer_text_printf(out, "<td>%.3f ms</tr>\n", seer_campaign_set_seconds(campaign, s) * 1e3);
  }
  seer_text_put(out, "</table>\n");
}

static void put_verdict(
    seer_text *out, const seer_verdict_report *verdict, const seer_network *network) {
  if (!verdict || !verdict->text[0]) return;
  seer_text_put(out, "<p>");
  seer_text_put_html(out, verdict->text);
  seer_text_put(out, ".</p>\n");
  if (verdict->n_fallen == 0) return;
  seer_text_put(out, "<p>Slower in the network, and untuned again:</p>\n<ul>\n");
  for (uint32_t k = 0; k < verdict->n_fallen; k++) {
    seer_text_printf(out, "<li>task %u, ", verdict->fallen[k]);
    seer_text_put_html(out, network->task[verdict->fallen[k]].name);
    seer_text_put(out, "\n");
  }
  seer_text_put(out, "</ul>\n");
}

static void put_precision(seer_text *out, const seer_verdict_report *verdict) {
  if (!verdict || !verdict->precision || !verdict->precision[0]) return;
  seer_text_put(out, "<h2>Precision</h2>\n<pre>");
  for (const char *line = verdict->precision; *line; line += *line == '\n') {
    size_t n = strcspn(line, "\n");
    seer_text_put_html(out, seer_arena_strndup(out->arena, line, n));
    seer_text_put(out, "\n");
    line += n;
  }
  seer_text_put(out, "</pre>\n");
}

static bool is_one_of(seer_option option, const seer_option *options, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (options[i] == option) return true;
  }
  return false;
}

// What was given, and what decides about the search also where it was not.
static void put_settings(
    seer_text *out, const seer_context *context, const seer_families *families) {
  static const seer_option always[] = {SEER_OPT_SEARCH_POLICY, SEER_OPT_FAMILY, SEER_OPT_FORESEE,
      SEER_OPT_SPACE, SEER_OPT_COST_MODEL, SEER_OPT_SEED};
  // Folders and files say nothing about the search, and the report is handed on.
  static const seer_option never[] = {SEER_OPT_OUTPUT, SEER_OPT_REPORT, SEER_OPT_RECORDS,
      SEER_OPT_WORKER_PATH, SEER_OPT_DEVICE_LOCK, SEER_OPT_LOAD_MODEL, SEER_OPT_PRETRAINED,
      SEER_OPT_SAVE_MODEL, SEER_OPT_DUMP_DIR};
  seer_text_put(out, "<h2>Settings</h2><table>\n");
  for (seer_option o = 0; o < SEER_OPT_COUNT; o++) {
    bool is_set = seer_context_is_set(context, o);
    if (is_one_of(o, never, SEER_COUNT_OF(never))) continue;
    if (!is_set && !is_one_of(o, always, SEER_COUNT_OF(always))) continue;
    seer_text_printf(out, "<tr><td class='l'>%s<td class='l'>", seer_option_table[o].name);
    const char *value = seer_context_shown(context, o, 0);
    for (size_t k = 1; value; k++) {
      seer_text_put_html(out, value);
      value = seer_context_shown(context, o, k);
      if (value) seer_text_put(out, "<br>");
    }
    seer_text_put(out, is_set ? "</tr>\n" : " (default)</tr>\n");
  }
  seer_text_printf(out, "<tr><td class='l'>families<td class='l'>%u</tr>\n", families->n_family);
  const seer_target *target = seer_context_target(context);
  seer_text_put(out, "<tr><td class='l'>machine<td class='l'>");
  seer_text_put_html(out, target->model_name);
  seer_text_printf(out, ", %u threads, %.1f GFLOP/s a thread, memory %.1f GB/s</tr></table>\n",
      target->threads, target->peak_gflops, target->dram_gbs);
}

static void put_counts(seer_text *out, const seer_campaign_totals *t) {
  seer_text_printf(out,
      "<h2>Measurements</h2><table><tr><td class='l'>measured<td>%u</tr><tr><td class='l'>from the "
      "records<td>%u</tr>"
      "<tr><td class='l'>dropped early<td>%u</tr><tr><td class='l'>twins<td>%u</tr>\n",
      t->trials, t->restored, t->raced_out, t->twins);
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++) {
    seer_text_printf(out, "<tr><td class='l'>%s<td>%u</tr>\n",
        seer_measured_class_name((seer_measured_class)c), t->failed[c]);
  }
  seer_text_printf(out,
      "<tr><td class='l'>drafted / scored<td>%" PRIu64 " / %" PRIu64
      "</tr>"
      "<tr><td class='l'>seconds: search, learning, checks<td>%.1f, %.1f, %.1f of "
      "%.1f</tr></table>\n",
      t->search.drafted, t->search.scored, t->propose_s, t->train_s, t->check_s, t->elapsed_s);
}

seer_status seer_report_write(seer_report *r, const seer_context *context,
    const seer_campaign *campaign, const seer_network *network, const seer_choice *choices,
    const char *path) {
  seer_campaign_totals totals;
  seer_campaign_get_totals(campaign, &totals);
  seer_text out;
  seer_text_init(&out, r->arena);
  seer_page_put_head(&out, r->model_name);
  seer_text_put(&out, "<p>");
  double latency_s = r->verdict ? r->verdict->latency_s : 0;
  if (latency_s > 0)
    seer_text_printf(&out, "Latency: <b>%.3f ms</b>, the whole library by itself%s.</p>\n<p>",
        latency_s * 1e3, network->n_set > 1 ? ", mean of the sets of shapes" : "");
  seer_text_printf(&out,
      "Sum of tasks, each measured alone: %s%.3f ms%s, before tuning %.3f ms; %u measurements in "
      "%.0f s (%.1f a second).</p>\n",
      latency_s > 0 ? "" : "<b>", totals.estimated_s * 1e3, latency_s > 0 ? "" : "</b>",
      totals.untuned_s * 1e3, totals.trials, totals.elapsed_s, totals.trials / totals.elapsed_s);
  put_verdict(&out, r->verdict, network);
  put_precision(&out, r->verdict);
  put_sets(&out, campaign, network);
  put_curve(&out, r, false);
  put_curve(&out, r, true);
  seer_text_put(&out, "<h2>Tasks</h2>\n");
  const seer_choice *run = latency_s > 0 ? choices : NULL;
  put_tasks(&out, r, campaign, network, run, run ? latency_s : totals.estimated_s);
  put_counts(&out, &totals);
  put_settings(&out, context, seer_campaign_families(campaign));
  if (r->n_note) seer_text_put(&out, "<h2>Notes</h2><ul>\n");
  for (size_t i = 0; i < r->n_note; i++) {
    seer_text_put(&out, "<li>");
    seer_text_put_html(&out, r->notes[i]);
  }
  seer_text_put(&out, r->n_note ? "</ul></html>\n" : "</html>\n");
  return seer_os_write_file(path, out.data, out.n_bytes);
}
