// picture.c - numbers -> SVG.
#include "study/paper/picture.h"

#include <math.h>

#define WIDTH 560.0
#define HEIGHT 300.0
#define LEFT 48.0
#define RIGHT 150.0  // for the legend
#define TOP 22.0
#define BOTTOM 34.0
#define BAR 18.0
#define NAMES 380.0  // left of bars and matrices: some 65 letters
#define BARS 760.0  // width of a picture of bars, with what its longest one says
#define CELL 26.0

static const char *const colours[] = {"#000000", "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
    "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};

static void begin(seer_text *out, double width, double height, const char *title) {
  seer_text_printf(
      out, "<svg viewBox='0 0 %g %g' width='%g' role='img'><title>", width, height, width);
  seer_text_put_html(out, title);
  seer_text_put(out, "</title><text x='4' y='14' font-weight='bold'>");
  seer_text_put_html(out, title);
  seer_text_put(out, "</text>\n");
}

// ---- lines
static double x_at(const seer_picture_axes *a, double x) {
  return LEFT + (WIDTH - LEFT - RIGHT) * x / a->x_max;
}

static double y_at(const seer_picture_axes *a, double y) {
  double share = (fmin(y, a->y_max) - a->y_min) / (a->y_max - a->y_min);
  return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share;
}

static void put_axes(seer_text *out, const seer_picture_axes *a) {
  for (int i = 0; i <= 4; i++) {
    double x = a->x_max * i / 4, y = a->y_min + (a->y_max - a->y_min) * i / 4;
    seer_text_printf(out,
        "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/><text x='%.1f' y='%.1f' "
        "class='num'>%.3g</text><text x='%.1f' y='%.1f' class='mid'>%.4g</text>\n",
        LEFT, y_at(a, y), WIDTH - RIGHT, y_at(a, y), LEFT - 5, y_at(a, y) + 4, y, x_at(a, x),
        HEIGHT - BOTTOM + 14, x);
  }
  seer_text_printf(out, "<text x='%.1f' y='%.1f' class='mid'>", x_at(a, a->x_max / 2), HEIGHT - 4);
  seer_text_put_html(out, a->x_label);
  seer_text_put(out, "</text>\n");
}

static void put_line(
    seer_text *out, const seer_picture_axes *a, const seer_picture_line *line, uint32_t at) {
  const char *colour = colours[at % SEER_COUNT_OF(colours)];
  seer_text_printf(out, "<polyline class='line' stroke='%s' points='", colour);
  for (uint32_t i = 0; i < line->n; i++)
    if (isfinite(line->y[i]) && isfinite(line->x[i]))
      seer_text_printf(out, "%.1f,%.1f ", x_at(a, line->x[i]), y_at(a, line->y[i]));
  double y = TOP + 14 * at;
  seer_text_printf(out, "'/><rect x='%.1f' y='%.1f' width='10' height='3' fill='%s'/>",
      WIDTH - RIGHT + 8, y + 4, colour);
  seer_text_printf(out, "<text x='%.1f' y='%.1f'>", WIDTH - RIGHT + 22, y + 9);
  seer_text_put_html(out, line->name);
  seer_text_put(out, "</text>\n");
}

void seer_picture_lines(
    seer_text *out, const seer_picture_axes *axes, const seer_picture_line *lines, uint32_t n) {
  begin(out, WIDTH, HEIGHT, axes->title);
  put_axes(out, axes);
  for (uint32_t i = 0; i < n; i++) put_line(out, axes, &lines[i], i);
  seer_text_put(out, "</svg>\n");
}

// ---- bars
static double along(double from, double to, double value) {
  double share = (value - from) / (to - from);
  return NAMES + (BARS - NAMES - 60) * fmax(0, fmin(1, share));
}

void seer_picture_bars(seer_text *out, const char *title, double from, double to,
    const seer_picture_bar *bars, uint32_t n) {
  begin(out, BARS, TOP + n * BAR + 6, title);
  for (uint32_t i = 0; i < n; i++) {
    seer_interval v = bars[i].value;
    double y = TOP + i * BAR;
    seer_text_printf(out, "<text x='%.1f' y='%.1f' class='num'>", NAMES - 6, y + 12);
    seer_text_put_html(out, bars[i].name);
    seer_text_put(out, "</text>");
    if (!isfinite(v.mean)) continue;
    seer_text_printf(out,
        "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#9db8d9'/><line x1='%.1f' "
        "x2='%.1f' y1='%.1f' y2='%.1f' class='range'/><text x='%.1f' y='%.1f'>%.4g</text>\n",
        NAMES, y + 2, along(from, to, v.mean) - NAMES, BAR - 4, along(from, to, v.low),
        along(from, to, v.high), y + BAR / 2, y + BAR / 2,
        fmax(along(from, to, v.high), along(from, to, v.mean)) + 5, y + 12, v.mean);
  }
  seer_text_put(out, "</svg>\n");
}

// ---- matrix
void seer_picture_matrix(seer_text *out, const char *title, const char *const *names,
    const double *values, uint32_t n, double low) {
  double left = NAMES;
  begin(out, left + n * CELL + 10, TOP + (n + 1) * CELL, title);
  for (uint32_t r = 0; r < n; r++) {
    double y = TOP + (r + 1) * CELL;
    seer_text_printf(out, "<text x='%.1f' y='%.1f' class='num'>", left - 6, y + 16);
    seer_text_put_html(out, names[r]);
    seer_text_printf(out, " (%u)</text><text x='%.1f' y='%.1f' class='mid'>%u</text>", r,
        left + (r + 0.5) * CELL, TOP + 16, r);
    for (uint32_t c = 0; c < n; c++) {
      double value = values[(size_t)r * n + c];
      if (!isfinite(value)) continue;
      double share = fmax(0, fmin(1, (value - low) / (1 - low)));
      int light = (int)(255 - 175 * share);
      seer_text_printf(out,
          "<rect x='%.1f' y='%.1f' width='%g' height='%g' fill='rgb(%d,%d,255)'/><text x='%.1f' "
          "y='%.1f' class='mid'>%.0f</text>",
          left + c * CELL, y, CELL, CELL, light, light, left + (c + 0.5) * CELL, y + 17,
          100 * value);
    }
    seer_text_put(out, "\n");
  }
  seer_text_put(out, "</svg>\n");
}
