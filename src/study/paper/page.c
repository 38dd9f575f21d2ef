// page.c - tables and text -> HTML and markdown.
#include "study/paper/page.h"

#include <math.h>
#include <string.h>

#include "base/os.h"

static const char style[] =
    "body{font:14px/1.45 sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#1a1a1a}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 9px;border-bottom:1px solid "
    "#ddd;"
    "text-align:right}td:first-child,th:first-child,.l{text-align:left}"
    "svg{max-width:100%;font-size:11px;margin:.5em 1em .5em 0}.grid{stroke:#ddd}"
    ".num{text-anchor:end}.mid{text-anchor:middle}.line{fill:none;stroke-width:1.6}"
    ".range{stroke:#222;stroke-width:1.5}";

// The beginning of a page, up to its heading.
static void put_head(seer_text *html, const char *title) {
  seer_text_put(html, "<!doctype html><html lang='en'><meta charset='utf-8'><title>");
  seer_text_put_html(html, title);
  seer_text_put(html, "</title><style>");
  seer_text_put(html, style);
  seer_text_put(html, "</style>\n<h1>");
  seer_text_put_html(html, title);
  seer_text_put(html, "</h1>\n");
}

void seer_page_begin(seer_page *page, const char *title, seer_arena *arena) {
  *page = (seer_page){.arena = arena};
  seer_text_init(&page->html, arena);
  seer_text_init(&page->markdown, arena);
  put_head(&page->html, title);
  seer_text_put(&page->markdown, "# ");
  seer_text_put_safe(&page->markdown, title);
  seer_text_put(&page->markdown, "\n");
}

void seer_page_heading(seer_page *page, const char *text) {
  seer_text_put(&page->html, "<h2>");
  seer_text_put_html(&page->html, text);
  seer_text_put(&page->html, "</h2>\n");
  seer_text_put(&page->markdown, "\n## ");
  seer_text_put_safe(&page->markdown, text);
  seer_text_put(&page->markdown, "\n");
}

void seer_page_paragraph(seer_page *page, const char *text) {
  seer_text_put(&page->html, "<p>");
  seer_text_put_html(&page->html, text);
  seer_text_put(&page->html, "</p>\n");
  seer_text_put(&page->markdown, "\n");
  seer_text_put_safe(&page->markdown, text);
  seer_text_put(&page->markdown, "\n");
}

void seer_page_picture(seer_page *page, const seer_text *svg) {
  seer_text_put_n(&page->html, svg->data, svg->n_bytes);
}

// ---- tables
static void put_row(seer_page *page, const char *const *cells, const char *tag) {
  seer_text_put(&page->html, "<tr>");
  for (uint32_t c = 0; c < page->n_column; c++) {
    seer_text_printf(&page->html, "<%s>", tag);
    seer_text_put_html(&page->html, cells[c]);
    seer_text_put(&page->markdown, c ? " | " : "| ");
    const char *safe = seer_text_safe(page->arena, cells[c]);
    for (const char *at = safe; *at; at++)
      seer_text_put_n(&page->markdown, *at == '|' ? "/" : at, 1);
  }
  seer_text_put(&page->html, "</tr>\n");
  seer_text_put(&page->markdown, " |\n");
}

void seer_page_table(seer_page *page, const char *const *columns, uint32_t n_column) {
  page->n_column = n_column;
  seer_text_put(&page->html, "<table>");
  seer_text_put(&page->markdown, "\n");
  put_row(page, columns, "th");
  for (uint32_t c = 0; c < n_column; c++) seer_text_put(&page->markdown, "|---");
  seer_text_put(&page->markdown, "|\n");
}

void seer_page_row(seer_page *page, const char *const *cells) { put_row(page, cells, "td"); }

void seer_page_end_table(seer_page *page) { seer_text_put(&page->html, "</table>\n"); }

seer_status seer_page_write(seer_page *page, const char *html_path, const char *markdown_path) {
  seer_text_put(&page->html, "</html>\n");
  SEER_TRY(seer_os_write_file(html_path, page->html.data, page->html.n_bytes));
  return seer_os_write_file(markdown_path, page->markdown.data, page->markdown.n_bytes);
}

// ---- cells
const char *seer_cell_number(seer_arena *arena, double value, int n_digits) {
  return isfinite(value) ? seer_arena_printf(arena, "%.*f", n_digits, value) : "-";
}

const char *seer_cell_interval(seer_arena *arena, seer_interval value, double scale, int n_digits) {
  if (!isfinite(value.mean)) return "-";
  return seer_arena_printf(arena, "%.*f [%.*f, %.*f]", n_digits, scale * value.mean, n_digits,
      scale * value.low, n_digits, scale * value.high);
}

const char *seer_cell_csv(seer_arena *arena, const char *text) {
  const char *safe = seer_text_safe_whole(arena, text);
  if (!strpbrk(safe, ",\"")) return safe;
  seer_text out;
  seer_text_init(&out, arena);
  seer_text_put(&out, "\"");
  for (const char *at = safe; *at; at++) {
    if (*at == '"') seer_text_put(&out, "\"");
    seer_text_put_n(&out, at, 1);
  }
  seer_text_put(&out, "\"");
  return out.data;
}
