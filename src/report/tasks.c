// tasks.c - tasks -> the table, before and after, each one's schedule, what was left out.
#include <string.h>

#include "report/data.h"

static double speedup_of(const seer_report_task *task) {
  if (task->is_fallen || !task->has_winner) return 0;
  if (task->n_pairs > 0) return task->speedup;
  return task->best_s > 0 ? task->untuned_s / task->best_s : 0;
}

// What became of it, in a word or two.
static const char *fate_of(const seer_report_task *task) {
  if (task->is_fallen) return "slower in the network";
  if (task->has_winner) return task->n_pairs > 0 ? "" : "shares weights";
  return task->n_trial > 0 ? "untuned is kept" : "not tried";
}

static void put_swatch(seer_text *html, const seer_report_task *task) {
  seer_text_printf(html, "<i class='s c%u'></i> ", task->colour);
}

static void put_row(seer_text *html, const seer_report_task *task, bool is_run) {
  seer_arena *arena = html->arena;
  const char *fate = fate_of(task);
  double per_s = task->one_s > 0 ? task->flops / task->one_s * 1e-9 : 0,
         of_bound = task->one_s > 0 ? 100 * task->bound_s / task->one_s : 0;
  seer_text_put(html, "<tr><th scope='row'>");
  put_swatch(html, task);
  seer_text_put_html(html, task->name);
  seer_text_printf(html, "<td>%s<td>%s", seer_report_number(arena, task->weight, ""),
      seer_report_share(arena, task->tenths));
  if (is_run) seer_text_printf(html, "<td>%s", seer_report_time(arena, task->network_s));
  seer_text_printf(html, "<td>%s<td>%s<td>%s", seer_report_time(arena, task->untuned_s),
      seer_report_time(arena, task->best_s), seer_report_ratio(arena, speedup_of(task)));
  seer_text_printf(html, "<td>%s<td>%s<td>%u<td class='l'>%s%s%s</tr>\n",
      seer_report_number(arena, per_s, ""), seer_report_number(arena, of_bound, ""), task->n_trial,
      task->state, task->state[0] && fate[0] ? ", " : "", fate);
}

static void put_rest(seer_text *html, const seer_report_data *data) {
  if (data->rest_tenths == 0) return;
  seer_text_printf(html,
      "<tr><th scope='row'><i class='s c%d'></i> what is no task's<td>"
      "<td>%s<td><td><td><td><td><td><td>%s</tr>\n",
      SEER_REPORT_COLOURS + 1, seer_report_share(html->arena, data->rest_tenths),
      data->latency_s > 0 ? "<td>" : "");
}

void seer_report_put_tasks(seer_text *html, const seer_report_data *data) {
  enum { IN_NETWORK = 2 };
  static const struct {
    const char *name, *title;
  } column[] = {{"Runs", "in a run of the network"}, {"Share", "of a run of the network"},
      {"In the network", "one of them, in the library"}, {"Untuned", "measured alone"},
      {"Tuned", "measured alone"}, {"Times as fast", "in pairs, where there were any"},
      {"GFLOP/s", "tuned"}, {"% of bound", "of what no schedule gets below on this machine"},
      {"Trials", "measurements"}, {"State", "of the search, and of what was found"}};
  seer_text_put(html,
      "<section><h2>Tasks</h2>\n<div class='box' tabindex='0' role='region' aria-label='Tasks'>"
      "<table><thead><tr><th scope='col'>Task");
  bool is_run = data->latency_s > 0;
  for (size_t k = 0; k < SEER_COUNT_OF(column); k++) {
    if (k == IN_NETWORK && !is_run) continue;
    seer_text_printf(html, "<th scope='col' title='%s'%s>%s", column[k].title,
        k + 1 == SEER_COUNT_OF(column) ? " class='l'" : "", column[k].name);
  }
  seer_text_put(html, "</tr></thead><tbody>\n");
  for (uint32_t k = 0; k < data->n_task; k++) put_row(html, &data->task[data->order[k]], is_run);
  put_rest(html, data);
  seer_text_printf(html,
      "</tbody><tfoot><tr><th scope='row'>all of it<td><td>%s%s%s<td><td><td><td><td><td>%u<td>"
      "</tr></tfoot></table></div></section>\n",
      seer_report_share(html->arena, data->total_s > 0 ? 1000 : 0), is_run ? "<td>" : "",
      is_run ? seer_report_time(html->arena, data->latency_s) : "", data->trials);
}

// ---- one by one
// Before and after on one scale, that of the task which takes longest.
static void put_bars(seer_text *html, const seer_report_task *task, double most_s) {
  double before = task->weight * task->untuned_s, after = task->weight * task->best_s;
  seer_text_printf(html,
      "<svg class='pair' viewBox='0 0 200 14' preserveAspectRatio='none' role='img' "
      "aria-label='before and after'><title>above untuned, below tuned; all runs of the task, "
      "alone</title><desc>%s untuned, %s tuned</desc><rect class='before' width='%.1f' height='6'/>"
      "<rect class='part c%u' y='7' width='%.1f' height='6'/></svg>",
      seer_report_time(html->arena, before), seer_report_time(html->arena, after),
      200 * before / most_s, task->colour, 200 * after / most_s);
}

static void put_fact(seer_text *html, const char *name, const char *value) {
  if (!value[0]) return;
  seer_text_printf(html, "<dt>%s</dt><dd>", name);
  seer_text_put_html(html, value);
  seer_text_put(html, "</dd>\n");
}

static const char *tried(const seer_report_task *task, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "%u", task->n_trial);
  if (task->n_raced) seer_text_printf(&text, ", %u dropped early as clearly slower", task->n_raced);
  if (task->n_twin) seer_text_printf(&text, ", %u of equal code", task->n_twin);
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++)
    if (task->failed[c])
      seer_text_printf(
          &text, ", %s %u", seer_measured_class_name((seer_measured_class)c), task->failed[c]);
  return text.data;
}

static void put_facts(seer_text *html, const seer_report_task *task) {
  seer_arena *arena = html->arena;
  seer_text_put(html, "<dl class='facts'>");
  put_fact(html, "operators", task->ops);
  put_fact(html, "family", task->family);
  put_fact(html, "operations", seer_report_number(arena, task->flops * 1e-6, "MFLOP"));
  put_fact(html, "reads and writes", seer_report_number(arena, task->bytes / 1024, "KiB"));
  put_fact(html, "bound", seer_report_time(arena, task->bound_s));
  if (task->n_pairs > 0)
    put_fact(html, "in pairs",
        seer_arena_printf(arena, "untuned %s, tuned %s, %s as fast, %u pairs",
            seer_report_time(arena, task->pair_untuned_s), seer_report_time(arena, task->pair_s),
            seer_report_ratio(arena, task->speedup), task->n_pairs));
  put_fact(html, "tried", tried(task, arena));
  put_fact(html, "verdict", task->verdict);
  seer_text_put(html, "</dl>\n");
}

static void put_pre(seer_text *html, const char *title, const char *text) {
  if (!text[0]) return;
  seer_text_printf(html, "<p>%s</p><pre tabindex='0'>", title);
  seer_report_put_lines(html, text);
  seer_text_put(html, "</pre>\n");
}

static void put_times(seer_text *html, const seer_report_task *task) {
  seer_arena *arena = html->arena;
  const char *fate = fate_of(task);
  double ratio = speedup_of(task);
  seer_text_put(html, " <span class='times'>");
  if (task->best_s > 0)
    seer_text_printf(html, "%s \u2192 %s ", seer_report_time(arena, task->weight * task->untuned_s),
        seer_report_time(arena, task->weight * task->best_s));
  seer_text_printf(
      html, "<b>%s</b></span></summary>\n", ratio > 0 ? seer_report_ratio(arena, ratio) : fate);
}

void seer_report_put_details(seer_text *html, const seer_report_data *data) {
  double most_s = 0;
  for (uint32_t t = 0; t < data->n_task; t++) {
    const seer_report_task *task = &data->task[t];
    double longer_s = task->untuned_s > task->best_s ? task->untuned_s : task->best_s;
    if (task->weight * longer_s > most_s) most_s = task->weight * longer_s;
  }
  seer_text_put(html,
      "<section><h2>Before and after, and the schedules</h2>\n<p>Bars: all runs of a task in a run "
      "of the network, untuned above, tuned below, each measured alone. A click shows what was "
      "tried, and the loops that are compiled.</p>\n");
  for (uint32_t k = 0; k < data->n_task; k++) {
    const seer_report_task *task = &data->task[data->order[k]];
    seer_text_put(html, "<details><summary><span class='name'>");
    put_swatch(html, task);
    seer_text_put_html(html, task->name);
    seer_text_put(html, "</span> ");
    if (most_s > 0) put_bars(html, task, most_s);
    put_times(html, task);
    put_facts(html, task);
    put_pre(html, "Schedule", task->schedule);
    put_pre(html, "Loops", task->loops);
    seer_text_put(html, "</details>\n");
  }
  seer_text_put(html, "</section>\n");
}

// ---- what was left out
static void put_count(seer_text *html, const char *name, uint64_t n) {
  seer_text_printf(html, "<tr><th scope='row'>%s<td>%" PRIu64 "</tr>\n", name, n);
}

void seer_report_put_refused(seer_text *html, const seer_report_data *data) {
  seer_text_put(html,
      "<section><h2>Tried and left out</h2>\n<div class='columns'>\n<div class='box'><table>"
      "<caption>Measurements</caption><tbody>\n");
  put_count(html, "measured", data->trials);
  put_count(html, "from the records", data->restored);
  put_count(html, "dropped early, clearly slower", data->raced_out);
  put_count(html, "twins: equal code, not run again", data->twins);
  for (uint32_t c = 1; c < SEER_MEASURED_COUNT; c++)
    put_count(html, seer_measured_class_name((seer_measured_class)c), data->failed[c]);
  seer_text_put(html,
      "</tbody></table></div>\n<div class='box'><table><caption>Schedules</caption><tbody>\n");
  put_count(html, "drafted", data->drafted);
  put_count(html, "scored by a model", data->scored);
  for (uint32_t k = 0; k < data->n_rejected; k++)
    seer_text_printf(html, "<tr><th scope='row'>rejected: %s<td>%s</tr>\n", data->rejected[k].name,
        data->rejected[k].value);
  seer_arena *arena = html->arena;
  seer_text_printf(html,
      "</tbody></table></div>\n<div class='box'><table><caption>Time</caption><tbody>\n"
      "<tr><th scope='row'>of the tuning<td>%s</tr><tr><th scope='row'>search<td>%s</tr>",
      seer_report_time(arena, data->elapsed_s), seer_report_time(arena, data->search_s));
  seer_text_printf(html,
      "<tr><th scope='row'>learning<td>%s</tr><tr><th scope='row'>checks<td>%s</tr></tbody>"
      "</table></div>\n</div></section>\n",
      seer_report_time(arena, data->learn_s), seer_report_time(arena, data->check_s));
}
