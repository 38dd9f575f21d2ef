// network.c - steps as they run -> a map of where the time goes: few steps as a line of names with
// arcs for what skips some of them, many as a strip of cells.
#include <math.h>
#include <string.h>

#include "report/data.h"

#define MAX_NAMED 40  // steps that are shown with their names
#define ROW 17.0
#define WIDTH 420.0
#define MAX_REACH 88.0  // of arcs, to the left
#define NAME_BYTES 42  // of a name that is shown; the whole of it is in the title
#define HEATS 5

// What a step takes, as a share of a run.
static double share_of(const seer_report_data *data, const seer_report_step *step) {
  return data->total_s > 0 ? step->n_images * data->task[step->task].one_s / data->total_s : 0;
}

// By the root: of many steps most take a small part of what the longest takes, and differ, too.
static uint32_t heat_of(double share, double most) {
  double heat = most > 0 ? HEATS * sqrt(share / most) : 0;
  return heat >= HEATS ? HEATS - 1 : (uint32_t)heat;
}

// "conv1: conv 7x7 ...", 4.1 %
static void put_title(seer_text *html, const seer_report_data *data, const seer_report_step *step) {
  seer_text_put(html, "<title>");
  seer_text_put_html(html, step->name);
  seer_text_put(html, ": ");
  seer_text_put_html(html, data->task[step->task].name);
  seer_text_printf(html, ", %.1f %%</title>", 100 * share_of(data, step));
}

static const char *shorten(seer_arena *arena, const char *name) {
  size_t n = 0, n_bytes = strlen(name), seen;
  while (n < n_bytes && n < NAME_BYTES && (seen = seer_text_seen(name + n, n_bytes - n)) > 0)
    n += seen;
  return n < n_bytes ? seer_arena_printf(arena, "%.*s\u2026", (int)n, name) : name;
}

// How far to the left of the cells the arc of a value goes that skips so many steps.
static double reach_of(uint32_t n_steps) { return fmin(MAX_REACH, 14 + 7.0 * n_steps); }

// Where cells begin: right of all arcs, whose curves stay within three quarters of their reach.
static double cells_at(const seer_report_data *data) {
  double most = 0;
  for (uint32_t k = 0; k < data->n_step; k++) {
    const seer_report_step *step = &data->step[k];
    if (step->n_from > 0 && step->from[0] + 1 < k) most = fmax(most, reach_of(k - step->from[0]));
  }
  return 2 + 0.75 * most;
}

static void put_edges(seer_text *html, const seer_report_step *step, uint32_t at, double left) {
  double y = ROW * at + ROW / 2;
  for (uint32_t k = 0; k < step->n_from; k++) {
    uint32_t from = step->from[k];
    double y0 = ROW * from + ROW / 2;
    if (from + 1 == at) {
      seer_text_printf(html, "<path class='edge' d='M%.1f %.1fV%.1f'/>", left + 9, y0, y);
      continue;
    }
    double reach = left - reach_of(at - from);
    seer_text_printf(html, "<path class='edge' d='M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f'/>",
        left, y0, reach, y0, reach, y, left, y);
  }
}

static void put_named(seer_text *html, const seer_report_data *data, double most) {
  double left = cells_at(data);
  seer_text_printf(html,
      "<svg class='map' viewBox='0 0 %g %g' role='img' aria-labelledby='map-t map-d'><title "
      "id='map-t'>The network, step by step</title><desc id='map-d'>Steps from above as they run; "
      "the darker a cell, the more time it takes. Arcs: values that skip steps</desc>\n",
      WIDTH, ROW * data->n_step);
  for (uint32_t k = 0; k < data->n_step; k++) put_edges(html, &data->step[k], k, left);
  for (uint32_t k = 0; k < data->n_step; k++) {
    const seer_report_step *step = &data->step[k];
    const seer_report_task *task = &data->task[step->task];
    double share = share_of(data, step), y = ROW * k;
    seer_text_printf(html, "<g><rect class='cell h%u' x='%g' y='%.1f' width='18' height='13'/>",
        heat_of(share, most), left, y + 2);
    seer_text_printf(html, "<rect class='part c%u' x='%g' y='%.1f' width='4' height='13'/>",
        task->colour, left + 21, y + 2);
    seer_text_printf(html, "<text x='%g' y='%.1f'>", left + 30, y + 12);
    seer_text_put_html(html, shorten(html->arena, task->name));
    seer_text_printf(html, "</text><text class='end' x='%g' y='%.1f'>%.1f\u00a0%%</text>",
        WIDTH - 2, y + 12, 100 * share);
    put_title(html, data, step);
    seer_text_put(html, "</g>\n");
  }
  seer_text_put(html, "</svg>\n");
}

static void put_strip(seer_text *html, const seer_report_data *data, double most) {
  uint32_t columns = data->n_step > 400 ? 60 : 30, rows = (data->n_step + columns - 1) / columns;
  double width = 900.0 / columns, height = width * 0.9;
  seer_text_printf(html,
      "<svg class='strip' viewBox='0 0 900 %.1f' role='img' aria-labelledby='map-t map-d'><title "
      "id='map-t'>The network, step by step</title><desc id='map-d'>Steps as they run, row by row; "
      "the darker a cell, the more time it takes</desc>\n",
      rows * height);
  for (uint32_t k = 0; k < data->n_step; k++) {
    const seer_report_step *step = &data->step[k];
    double x = width * (k % columns), y = height * (k / columns), inner = width - 3;
    seer_text_printf(html,
        "<g><rect class='cell h%u' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>",
        heat_of(share_of(data, step), most), x + 1, y + 1, inner, height * 0.66);
    seer_text_printf(html, "<rect class='part c%u' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>",
        data->task[step->task].colour, x + 1, y + 2 + height * 0.66, inner, height * 0.16);
    put_title(html, data, step);
    seer_text_put(html, "</g>\n");
  }
  seer_text_put(html, "</svg>\n");
}

void seer_report_put_network(seer_text *html, const seer_report_data *data) {
  double most = 0;
  for (uint32_t k = 0; k < data->n_step; k++) most = fmax(most, share_of(data, &data->step[k]));
  if (most <= 0) return;
  seer_text_printf(html,
      "<h3>The network, step by step</h3>\n<p>%u kernels%s in the order in "
      "which they run%s.",
      data->n_step, data->n_step == SEER_REPORT_MAX_STEPS ? ", the first ones," : "",
      data->n_set > 1 ? ", of the first set of input shapes" : "");
  seer_text_put(html, " Share of a step, least to most: <span class='key'>");
  for (uint32_t h = 0; h < HEATS; h++) seer_text_printf(html, " <i class='s h%u'></i>", h);
  seer_text_printf(html, " %.1f\u00a0%%</span> <span class='key'>%s: the task</span></p>\n",
      100 * most, data->n_step <= MAX_NAMED ? "beside a cell" : "below a cell");
  if (data->n_step <= MAX_NAMED)
    put_named(html, data, most);
  else
    put_strip(html, data, most);
}
