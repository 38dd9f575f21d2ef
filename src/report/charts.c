// charts.c - curves, the roofline, the bar of a run -> inline SVG. Axes end at round numbers
// (1, 2, 5 times a power of ten), and are logarithmic where that shows more.
#include <math.h>

#include "report/data.h"

#define WIDTH 420.0
#define HEIGHT 290.0
#define LEFT 46.0
#define RIGHT 18.0
#define TOP 14.0
#define BOTTOM 38.0
#define LOG_FROM 3.0  // where the largest value is so many times the least
#define MAX_DOTS 60

typedef struct {
  double low, high, step;  // of values; step: between ticks, of a linear axis
  bool is_log;
  double from, to;  // of pixels
} axis;

static double place(const axis *a, double value) {
  double share = a->is_log ? log(value / a->low) / log(a->high / a->low)
                           : (value - a->low) / (a->high - a->low);
  return a->from + (a->to - a->from) * fmax(0, fmin(1, share));
}

// The next of 1, 2, 5 times a power of ten, from `value` upwards or downwards.
static double round_125(double value, bool is_up) {
  double power = pow(10, floor(log10(value) + 1e-9)), rest = value / power;
  static const double steps[] = {1, 2, 5, 10};
  if (is_up) {
    for (size_t k = 0; k < SEER_COUNT_OF(steps); k++)
      if (rest <= steps[k] * (1 + 1e-9)) return steps[k] * power;
  }
  for (size_t k = SEER_COUNT_OF(steps); k-- > 0;)
    if (rest >= steps[k] * (1 - 1e-9)) return steps[k] * power;
  return power;
}

static axis make_axis(double low, double high, bool is_log, double from, double to) {
  axis a = {.is_log = is_log, .from = from, .to = to};
  if (is_log) {
    a.low = round_125(low, false);
    a.high = round_125(high, true);
    if (a.high <= a.low) a.high = 10 * a.low;
    return a;
  }
  // Steps are to be large enough to be added to what they begin at.
  if (high <= low * (1 + 1e-4)) high = low > 0 ? low * 1.1 : 1;
  a.step = round_125((high - low) / 5, true);
  a.low = floor(low / a.step + 1e-9) * a.step;
  a.high = ceil(high / a.step - 1e-9) * a.step;
  return a;
}

// The tick behind `value`.
static double next_tick(const axis *a, double value) {
  if (!a->is_log) return value + a->step;
  bool is_wide = a->high / a->low > 300;
  return is_wide ? 10 * pow(10, floor(log10(value) + 1e-9)) : round_125(value * 1.5, true);
}

static double first_tick(const axis *a) {
  if (!a->is_log || a->high / a->low <= 300) return a->low;
  return pow(10, ceil(log10(a->low) - 1e-9));
}

static void put_tick(seer_text *html, double value) {
  if (value == 0)
    seer_text_put(html, "0");
  else if (value >= 1e4)
    seer_text_printf(html, "%.4gk", value / 1e3);
  else
    seer_text_printf(html, "%.4g", value);
}

static void put_axes(seer_text *html, const axis *x, const axis *y, const char *x_name) {
  for (double v = first_tick(y); v <= y->high * (1 + 1e-9); v = next_tick(y, v)) {
    double at = place(y, v);
    seer_text_printf(html,
        "<path class='grid' d='M%.1f %.1fH%.1f'/><text class='end' x='%.1f' y='%.1f'>", x->from, at,
        x->to, x->from - 5, at + 4);
    put_tick(html, fabs(v) < y->step * 1e-6 ? 0 : v);
    seer_text_put(html, "</text>");
  }
  for (double v = first_tick(x); v <= x->high * (1 + 1e-9); v = next_tick(x, v)) {
    double at = place(x, v);
    seer_text_printf(html,
        "<path class='grid' d='M%.1f %.1fV%.1f'/><text class='mid' x='%.1f' y='%.1f'>", at, y->from,
        y->to, at, y->from + 15);
    put_tick(html, v);
    seer_text_put(html, "</text>");
  }
  seer_text_printf(html, "<text class='mid' x='%.1f' y='%.1f'>%s</text>\n", (x->from + x->to) / 2,
      HEIGHT - 6, x_name);
}

// `id` is of letters. The description is for those who don't see the picture.
static void begin(seer_text *html, const char *id, const char *title, const char *description) {
  seer_text_printf(html,
      "<figure><svg viewBox='0 0 %g %g' role='img' aria-labelledby='%s-t %s-d'><title id='%s-t'>",
      WIDTH, HEIGHT, id, id, id);
  seer_text_put_html(html, title);
  seer_text_printf(html, "</title><desc id='%s-d'>", id);
  seer_text_put_html(html, description);
  seer_text_put(html, "</desc>\n");
}

static void end(seer_text *html, const char *caption) {
  seer_text_put(html, "</svg><figcaption>");
  seer_text_put_html(html, caption);
}

// ---- curves
typedef struct {
  double x_max, low, high;
} extent;

static double x_of(const seer_report_point *point, bool by_trials) {
  return by_trials ? point->trials : point->elapsed_s;
}

static extent extent_of(const seer_report_curve *curves, uint32_t n, bool by_trials) {
  extent e = {0};
  for (uint32_t c = 0; c < n; c++) {
    for (uint32_t k = 0; k < curves[c].data->n_point; k++) {
      const seer_report_point *point = &curves[c].data->point[k];
      if (!(point->estimate_s > 0)) continue;
      e.x_max = fmax(e.x_max, x_of(point, by_trials));
      e.high = fmax(e.high, point->estimate_s);
      e.low = e.low > 0 ? fmin(e.low, point->estimate_s) : point->estimate_s;
    }
  }
  return e;
}

// What is known stays until something better is.
static void put_stairs(seer_text *html, const seer_report_data *data, const axis *x, const axis *y,
    double x_scale, double y_scale, bool by_trials, uint32_t colour) {
  bool is_first = true;
  seer_text_printf(html, "<path class='curve c%u' d='", colour);
  for (uint32_t k = 0; k < data->n_point; k++) {
    const seer_report_point *point = &data->point[k];
    if (!(point->estimate_s > 0)) continue;
    double px = place(x, x_of(point, by_trials) / x_scale),
           py = place(y, point->estimate_s / y_scale);
    seer_text_printf(html, is_first ? "M%.1f %.1f" : "H%.1fV%.1f", px, py);
    is_first = false;
  }
  seer_text_put(html, "'/>\n");
}

void seer_report_put_curves(
    seer_text *html, const seer_report_curve *curves, uint32_t n, bool by_trials) {
  extent e = extent_of(curves, n, by_trials);
  if (!(e.low > 0) || !(e.x_max > 0)) return;
  double x_scale = by_trials || e.x_max < 300 ? 1 : e.x_max < 18000 ? 60 : 3600;
  double y_scale = e.high < 1e-3 ? 1e-6 : e.high < 1 ? 1e-3 : 1;
  const char *x_name = by_trials ? "measurements"
      : x_scale == 1             ? "seconds of tuning"
      : x_scale == 60            ? "minutes of tuning"
                                 : "hours of tuning";
  const char *unit = y_scale == 1e-6 ? "\u00b5s" : y_scale == 1e-3 ? "ms" : "s";
  axis x = make_axis(0, e.x_max / x_scale, false, LEFT, WIDTH - RIGHT);
  axis y =
      make_axis(e.low / y_scale, e.high / y_scale, e.high > LOG_FROM * e.low, HEIGHT - BOTTOM, TOP);
  const char *from = seer_report_time(html->arena, e.high),
             *to = seer_report_time(html->arena, e.low);
  begin(html, by_trials ? "by-trials" : "by-time",
      by_trials ? "Sum of the tasks over measurements" : "Sum of the tasks over time",
      seer_arena_printf(html->arena, "falls from %s to %s", from, to));
  put_axes(html, &x, &y, x_name);
  for (uint32_t c = 0; c < n; c++)
    put_stairs(html, curves[c].data, &x, &y, x_scale, y_scale, by_trials, c);
  end(html,
      seer_arena_printf(html->arena, "Sum of the tasks, each measured alone [%s%s], over %s", unit,
          y.is_log ? ", logarithmic" : "", by_trials ? "measurements" : "time"));
  for (uint32_t c = 0; c < n && n > 1; c++) {
    seer_text_printf(html, " <span class='key'><i class='s c%u'></i> ", c);
    seer_text_put_html(html, curves[c].name);
    seer_text_put(html, "</span>");
  }
  seer_text_put(html, "</figcaption></figure>\n");
}

// ---- roofline
// Before and after are measured in one way: alone. What was not, stands where the network has it.
static double dot_s(const seer_report_task *task) {
  return task->best_s > 0 ? task->best_s : task->one_s;
}

static bool has_dot(const seer_report_task *task) {
  return task->flops > 0 && task->bytes > 0 && dot_s(task) > 0;
}

// False: nothing to show.
static bool roof_axes(const seer_report_data *data, axis *out_x, axis *out_y) {
  double x_low = INFINITY, x_high = 0, y_low = INFINITY, y_high = data->peak_gflops;
  for (uint32_t k = 0; k < data->n_task && k < MAX_DOTS; k++) {
    const seer_report_task *task = &data->task[data->order[k]];
    if (!has_dot(task)) continue;
    double x = task->flops / task->bytes, now = task->flops / dot_s(task) * 1e-9,
           before = task->untuned_s > 0 ? task->flops / task->untuned_s * 1e-9 : now;
    x_low = fmin(x_low, x);
    x_high = fmax(x_high, x);
    y_low = fmin(y_low, fmin(before, now));
    y_high = fmax(y_high, fmax(before, now));
  }
  if (!(x_high > 0) || !(data->peak_gflops > 0)) return false;
  // The knee of the slowest memory belongs to the picture, unless that is far away.
  if (data->n_roof > 0) {
    double knee = data->peak_gflops / data->roof[data->n_roof - 1].gbs;
    x_low = fmin(x_low, knee / 2);
    x_high = fmax(x_high, knee * 2);
  }
  *out_x = make_axis(x_low / 1.2, x_high * 1.2, true, LEFT, WIDTH - RIGHT);
  *out_y = make_axis(fmax(y_low / 1.2, y_high * 1e-6), y_high * 1.2, true, HEIGHT - BOTTOM, TOP);
  return true;
}

static void put_roofs(seer_text *html, const seer_report_data *data, const axis *x, const axis *y) {
  double peak = data->peak_gflops, slope = 0;
  for (uint32_t k = 0; k < data->n_roof; k++) {
    double gbs = data->roof[k].gbs, x0 = fmax(x->low, y->low / gbs), x1 = fmin(x->high, peak / gbs);
    if (x1 <= x0) continue;
    double px = place(x, x0), py = place(y, gbs * x0), qx = place(x, x1), qy = place(y, gbs * x1);
    slope = atan2(qy - py, qx - px) * 45 / atan(1);
    seer_text_printf(html, "<path class='roof' d='M%.1f %.1fL%.1f %.1f'/>", px, py, qx, qy);
    // Behind the last one, where it has room.
    if (hypot(qx - px, qy - py) < 90) continue;
    seer_text_printf(html,
        "<text x='%.1f' y='%.1f' transform='rotate(%.1f %.1f %.1f)' dx='6' dy='%s'>%s %s</text>\n",
        px, py, slope, px, py, k + 1 < data->n_roof ? "-3" : "12", data->roof[k].name,
        seer_report_number(html->arena, gbs, "GB/s"));
  }
  double knee = data->n_roof > 0 ? fmax(x->low, peak / data->roof[0].gbs) : x->low;
  seer_text_printf(html,
      "<path class='roof' d='M%.1f %.1fH%.1f'/><text class='end' x='%.1f' y='%.1f'>peak of f32 %s"
      "</text>\n",
      place(x, fmin(knee, x->high)), place(y, peak), x->to, x->to, place(y, peak) - 4,
      seer_report_number(html->arena, peak, "GFLOP/s"));
}

static void put_dot(seer_text *html, const seer_report_task *task, const axis *x, const axis *y) {
  double px = place(x, task->flops / task->bytes), now = place(y, task->flops / dot_s(task) * 1e-9);
  seer_text_printf(html, "<g class='c%u'><title>", task->colour);
  seer_text_put_html(html, task->name);
  seer_text_printf(html, ": %s, %s</title>", seer_report_share(html->arena, task->tenths),
      seer_report_number(html->arena, task->flops / dot_s(task) * 1e-9, "GFLOP/s"));
  if (task->untuned_s > 0) {
    double before = place(y, task->flops / task->untuned_s * 1e-9);
    seer_text_printf(html,
        "<path class='way' d='M%.1f %.1fV%.1f'/><circle class='ring' cx='%.1f' cy='%.1f' "
        "r='2.5'/>",
        px, before, now, px, before);
  }
  seer_text_printf(html, "<circle class='dot' cx='%.1f' cy='%.1f' r='4'/></g>\n", px, now);
}

void seer_report_put_roofline(seer_text *html, const seer_report_data *data) {
  axis x, y;
  if (!roof_axes(data, &x, &y)) return;
  seer_text_put(html, "<section><h2>Roofline</h2>\n<div class='charts'>\n");
  begin(html, "roofline", "Roofline of the tasks",
      seer_arena_printf(html->arena,
          "operations a second over operations per byte, both logarithmic; the peak is %s",
          seer_report_number(html->arena, data->peak_gflops, "GFLOP/s")));
  put_axes(html, &x, &y, "operations per byte that is read or written [FLOP/byte]");
  put_roofs(html, data, &x, &y);
  // The largest lie on top.
  for (uint32_t k = data->n_task < MAX_DOTS ? data->n_task : MAX_DOTS; k-- > 0;) {
    const seer_report_task *task = &data->task[data->order[k]];
    if (has_dot(task)) put_dot(html, task, &x, &y);
  }
  end(html, "GFLOP/s over FLOP/byte; rings: untuned, dots: tuned, each alone");
  seer_text_put(html,
      "</figcaption></figure>\n<div class='text'><p>A task cannot be above the roofs: the peak of "
      "the machine's arithmetic, and what its memories give at so many operations per byte. Bytes "
      "are those of inputs, weights and outputs, each once; where they lie decides which of the "
      "slanted roofs counts.</p><p>Operations are those of the network. An algorithm that does "
      "with fewer of them, as Winograd's for convolutions, may stand above the peak.</p></div>"
      "</div></section>\n");
}

// ---- the bar
static double put_part(seer_text *html, double at, double width, uint32_t colour, const char *name,
    const char *share) {
  if (width <= 0) return at;
  seer_text_printf(html, "<rect class='part c%u' x='%.2f' y='0' width='%.2f' height='30'><title>",
      colour, at, width);
  seer_text_put_html(html, name);
  seer_text_printf(html, ": %s</title></rect>", share);
  return at + width;
}

void seer_report_put_bar(
    seer_text *html, const seer_report_data *data, const char *name, double scale_s) {
  if (!(scale_s > 0) || !(data->total_s > 0)) return;
  double at = 0, width = 1000 / scale_s;
  seer_text_printf(html,
      "<svg class='bar' viewBox='0 0 1000 30' preserveAspectRatio='none' role='img' "
      "aria-label='%s'><title>%s</title><desc>The time of a run, split by task, the largest share "
      "first</desc>\n",
      name, name);
  for (uint32_t k = 0; k < data->n_task; k++) {
    const seer_report_task *task = &data->task[data->order[k]];
    at = put_part(html, at, width * task->weight * task->one_s, task->colour, task->name,
        seer_report_share(html->arena, task->tenths));
  }
  (void)put_part(html, at, width * data->total_s - at, SEER_REPORT_COLOURS + 1, "the rest",
      seer_report_share(html->arena, data->rest_tenths));
  seer_text_put(html, "</svg>\n");
}
