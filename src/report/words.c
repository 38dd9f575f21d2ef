// words.c - numbers and texts -> what a page says.
#include <math.h>
#include <string.h>

#include "report/data.h"

#define BLANK "\u00a0"  // does not wrap

// As many digits behind the point as leave `digits` significant ones.
static int decimals(double value, int digits) {
  if (value <= 0) return 0;
  int before = (int)floor(log10(value) + 1e-9) + 1;
  return before >= digits ? 0 : digits - before > 6 ? 6 : digits - before;
}

const char *seer_report_time(seer_arena *arena, double seconds) {
  static const struct {
    double s;
    const char *name;
    int digits;
  } unit[] = {{1, "s", 4}, {1e-3, "ms", 4}, {1e-6, "\u00b5s", 3}, {1e-9, "ns", 3}};
  if (!(seconds > 0)) return "\u2013";
  size_t k = 0;
  while (k + 1 < SEER_COUNT_OF(unit) && seconds < unit[k].s) k++;
  double value = seconds / unit[k].s;
  return seer_arena_printf(
      arena, "%.*f" BLANK "%s", decimals(value, unit[k].digits), value, unit[k].name);
}

const char *seer_report_number(seer_arena *arena, double value, const char *unit) {
  if (!(value > 0)) return "\u2013";
  bool is_whole = value < 1e15 && value == floor(value);
  return seer_arena_printf(
      arena, "%.*f%s%s", is_whole ? 0 : decimals(value, 3), value, unit[0] ? BLANK : "", unit);
}

const char *seer_report_ratio(seer_arena *arena, double ratio) {
  if (!(ratio > 0)) return "\u2013";
  return seer_arena_printf(
      arena, "%.*f\u00d7", decimals(ratio, 3) > 2 ? 2 : decimals(ratio, 3), ratio);
}

const char *seer_report_share(seer_arena *arena, int tenths) {
  return seer_arena_printf(arena, "%d.%d" BLANK "%%", tenths / 10, tenths % 10);
}

// A text is cut where it is longer than a name: lines are not.
void seer_report_put_lines(seer_text *html, const char *text) {
  for (const char *line = text; *line; line += *line == '\n') {
    size_t n = strcspn(line, "\n");
    seer_text_put_html(html, seer_arena_strndup(html->arena, line, n));
    seer_text_put(html, "\n");
    line += n;
  }
}

void seer_report_put_figure(
    seer_text *html, const char *name, const char *figure, const char *note, bool is_large) {
  seer_text_printf(html, "<div%s><dt>", is_large ? " class='large'" : "");
  seer_text_put_html(html, name);
  seer_text_printf(html, "</dt><dd>%s", figure);
  if (note[0]) {
    seer_text_put(html, "<small>");
    seer_text_put_html(html, note);
    seer_text_put(html, "</small>");
  }
  seer_text_put(html, "</dd></div>\n");
}
