// compare.c - the data of two reports -> a page that holds one against the other. Tasks are one
// where they compute the same (the key of records), whatever they are called.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/data.h"

// ---- which is which
typedef struct {
  const char *key;
  uint32_t task;
} keyed;

static int by_key(const void *x, const void *y) {
  const keyed *a = x, *b = y;
  int order = strcmp(a->key, b->key);
  return order ? order : (a->task > b->task) - (a->task < b->task);
}

static int by_difference(const void *x, const void *y) {
  const seer_report_match *a = x, *b = y;
  double of_a = fabs(a->a_s - a->b_s), of_b = fabs(b->a_s - b->b_s);
  return (of_a < of_b) - (of_a > of_b);
}

static keyed *sort_keys(const seer_report_data *data, seer_arena *arena) {
  keyed *keys = SEER_NEW_ARRAY(arena, keyed, data->n_task + 1);
  for (uint32_t t = 0; t < data->n_task; t++) keys[t] = (keyed){data->task[t].key, t};
  qsort(keys, data->n_task, sizeof *keys, by_key);
  return keys;
}

static double seconds_of(const seer_report_task *task) {
  return task ? task->weight * task->one_s : 0;
}

seer_report_match *seer_report_match_tasks(
    const seer_report_data *a, const seer_report_data *b, seer_arena *arena, uint32_t *out_n) {
  keyed *of_a = sort_keys(a, arena), *of_b = sort_keys(b, arena);
  seer_report_match *out = SEER_NEW_ARRAY(arena, seer_report_match, a->n_task + b->n_task + 1);
  uint32_t n = 0, i = 0, k = 0;
  while (i < a->n_task || k < b->n_task) {
    int order = i == a->n_task ? 1 : k == b->n_task ? -1 : strcmp(of_a[i].key, of_b[k].key);
    seer_report_match *match = &out[n++];
    if (order <= 0) match->a = &a->task[of_a[i++].task];
    if (order >= 0) match->b = &b->task[of_b[k++].task];
    match->a_s = seconds_of(match->a);
    match->b_s = seconds_of(match->b);
  }
  qsort(out, n, sizeof *out, by_difference);
  *out_n = n;
  return out;
}

// ---- the page
static void put_figures(seer_text *html, const seer_report_data *a, const seer_report_data *b) {
  seer_arena *arena = html->arena;
  double a_s = seer_report_run_s(a), b_s = seer_report_run_s(b);
  const char *what[] = {"sum of the tasks, each alone", "the whole library by itself"};
  seer_text_put(html, "<dl class='figures'>\n");
  seer_report_put_figure(html, "A", seer_report_time(arena, a_s), what[a->latency_s > 0], true);
  seer_report_put_figure(html, "B", seer_report_time(arena, b_s), what[b->latency_s > 0], false);
  if (a_s > 0 && b_s > 0)
    seer_report_put_figure(html, "A is", seer_report_ratio(arena, b_s / a_s),
        "as fast as B: from two tunings, not in turns", false);
  seer_text_put(html, "</dl>\n");
  if ((a->latency_s > 0) != (b->latency_s > 0))
    seer_text_put(html,
        "<p>One of them is a latency, the other one a sum of tasks: what the network adds is in "
        "one "
        "alone.</p>\n");
  if (strcmp(a->machine, b->machine) != 0)
    seer_text_put(html, "<p>The machines differ: so do their times, whatever was tuned.</p>\n");
}

static void put_bars(seer_text *html, const seer_report_data *a, const seer_report_data *b) {
  double scale_s = fmax(a->total_s, b->total_s);
  seer_text_put(html,
      "<section><h2>Where the time goes</h2>\n<p>A above, B below; equal colours "
      "are equal tasks.</p>\n");
  seer_report_put_bar(html, a, "A, split by task", scale_s);
  seer_report_put_bar(html, b, "B, split by task", scale_s);
  seer_text_put(html, "<ul class='legend'>\n");
  for (uint32_t k = 0; k < a->n_task && k < SEER_REPORT_COLOURS; k++) {
    const seer_report_task *task = &a->task[a->order[k]];
    seer_text_printf(html, "<li><i class='s c%u'></i> ", task->colour);
    seer_text_put_html(html, task->name);
    seer_text_put(html, "</li>\n");
  }
  seer_text_put(html, "</ul></section>\n");
}

static void put_match(seer_text *html, const seer_report_match *match) {
  seer_arena *arena = html->arena;
  const seer_report_task *task = match->a ? match->a : match->b;
  double ratio = match->a_s > 0 ? match->b_s / match->a_s : 0, less = match->b_s - match->a_s;
  bool has_both = match->a_s > 0 && match->b_s > 0;
  seer_text_printf(html, "<tr><th scope='row'><i class='s c%u'></i> ", task->colour);
  seer_text_put_html(html, task->name);
  seer_text_printf(html, "<td>%s<td>%s",
      match->a ? seer_report_number(arena, match->a->weight, "") : "",
      match->b ? seer_report_number(arena, match->b->weight, "") : "");
  seer_text_printf(html, "<td>%s<td>%s", seer_report_time(arena, match->a_s),
      seer_report_time(arena, match->b_s));
  if (has_both)
    seer_text_printf(html, "<td class='%s'>%s%s<td class='%s'>%s</tr>\n",
        less > 0 ? "better" : "worse", less > 0 ? "\u2212" : "+",
        seer_report_time(arena, fabs(less)), less > 0 ? "better" : "worse",
        seer_report_ratio(arena, ratio));
  else
    seer_text_printf(html, "<td><td>%s</tr>\n",
        !match->b       ? "A alone"
            : !match->a ? "B alone"
                        : "not known");
}

static void put_matches(seer_text *html, const seer_report_data *a, const seer_report_data *b) {
  uint32_t n;
  seer_report_match *match = seer_report_match_tasks(a, b, html->arena, &n);
  seer_text_put(html,
      "<section><h2>Tasks</h2>\n<p>All runs of a task in a run of the network; those that differ "
      "most first.</p>\n<div class='box' tabindex='0' role='region' aria-label='Tasks'><table>"
      "<thead><tr><th scope='col'>Task<th scope='col'>Runs in A<th scope='col'>in B<th "
      "scope='col'>A<th scope='col'>B<th scope='col'>A against B<th scope='col'>times as fast"
      "</tr></thead><tbody>\n");
  for (uint32_t k = 0; k < n; k++) put_match(html, &match[k]);
  seer_text_put(html, "</tbody></table></div></section>\n");
}

static const char *value_of(const seer_report_data *data, const char *name) {
  for (uint32_t k = 0; k < data->n_setting; k++)
    if (strcmp(data->setting[k].name, name) == 0) return data->setting[k].value;
  return "";
}

static void put_setting(seer_text *html, const char *name, const char *a, const char *b) {
  seer_text_put(html, "<tr><th scope='row'>");
  seer_text_put_html(html, name);
  seer_text_put(html, "<td class='l'>");
  seer_report_put_lines(html, a[0] ? a : "\u2013");
  seer_text_put(html, "<td class='l'>");
  seer_report_put_lines(html, b[0] ? b : "\u2013");
  seer_text_put(html, "</tr>\n");
}

static void put_settings(seer_text *html, const seer_report_data *a, const seer_report_data *b) {
  seer_arena *arena = html->arena;
  seer_text_put(html,
      "<section><h2>What differs besides</h2>\n<div class='box' tabindex='0' role='region' "
      "aria-label='What differs besides'><table><thead><tr><th scope='col'>Setting<th scope='col' "
      "class='l'>A<th scope='col' class='l'>B</tr></thead><tbody>\n");
  put_setting(html, "network", a->model, b->model);
  put_setting(html, "machine", a->machine, b->machine);
  put_setting(html, "measurements", seer_arena_printf(arena, "%u", a->trials),
      seer_arena_printf(arena, "%u", b->trials));
  put_setting(html, "time of the tuning", seer_report_time(arena, a->elapsed_s),
      seer_report_time(arena, b->elapsed_s));
  for (uint32_t k = 0; k < a->n_setting; k++) {
    const char *other = value_of(b, a->setting[k].name);
    if (strcmp(a->setting[k].value, other) != 0)
      put_setting(html, a->setting[k].name, a->setting[k].value, other);
  }
  for (uint32_t k = 0; k < b->n_setting; k++)
    if (!value_of(a, b->setting[k].name)[0])
      put_setting(html, b->setting[k].name, "", b->setting[k].value);
  seer_text_put(html, "</tbody></table></div></section>\n");
}

void seer_report_put_comparison(seer_text *html, const seer_report_data *a, seer_report_data *b) {
  seer_arena *arena = html->arena;
  uint32_t n;
  const seer_report_match *match = seer_report_match_tasks(a, b, arena, &n);
  for (uint32_t t = 0; t < b->n_task; t++) b->task[t].colour = SEER_REPORT_COLOURS;
  for (uint32_t k = 0; k < n; k++)
    if (match[k].a && match[k].b) b->task[match[k].b - b->task].colour = match[k].a->colour;
  bool is_one = strcmp(a->model, b->model) == 0;
  const char *title = is_one ? seer_arena_printf(arena, "%s: A and B", a->model)
                             : seer_arena_printf(arena, "A: %s, B: %s", a->model, b->model);
  seer_report_put_head(html, title,
      seer_arena_printf(
          arena, "two reports compared. A: tuned for %s. B: tuned for %s", a->machine, b->machine));
  put_figures(html, a, b);
  put_bars(html, a, b);
  const seer_report_curve curves[] = {{"A", a}, {"B", b}};
  seer_text_put(html, "<section><h2>Tuning</h2>\n<div class='charts'>\n");
  seer_report_put_curves(html, curves, 2, false);
  seer_report_put_curves(html, curves, 2, true);
  seer_text_put(html, "</div></section>\n");
  put_matches(html, a, b);
  put_settings(html, a, b);
  seer_report_put_end(html);
}
