// page.h - what studies say, as one self-contained HTML page and, but for the pictures, as
// markdown. Nothing is fetched and no script is needed. All text is made safe.
// In an arena. Threads: one at a time uses a page. Errors: those of writing.
#ifndef SEER_STUDY_PAPER_PAGE_H
#define SEER_STUDY_PAPER_PAGE_H

#include "base/text.h"
#include "study/paper/statistics.h"

typedef struct {
  seer_arena *arena;
  seer_text html, markdown;
  uint32_t n_column;  // of the table that is open
} seer_page;

void seer_page_begin(seer_page *page, const char *title, seer_arena *arena);
void seer_page_heading(seer_page *page, const char *text);
void seer_page_paragraph(seer_page *page, const char *text);
// SVG as picture.h makes it: markdown has none.
void seer_page_picture(seer_page *page, const seer_text *svg);
// Columns, then rows of as many cells; the first column is text, the others are numbers.
void seer_page_table(seer_page *page, const char *const *columns, uint32_t n_column);
void seer_page_row(seer_page *page, const char *const *cells);
void seer_page_end_table(seer_page *page);
SEER_MUST_USE seer_status seer_page_write(
    seer_page *page, const char *html_path, const char *markdown_path);

// Cells, in the arena. "-" where there is no number.
const char *seer_cell_number(seer_arena *arena, double value, int n_digits);  // behind the point
// "77.1 [75.9, 78.2]", of values times `scale`.
const char *seer_cell_interval(seer_arena *arena, seer_interval value, double scale, int n_digits);
// One cell of a CSV, in quotes where it needs them.
const char *seer_cell_csv(seer_arena *arena, const char *text);

#endif
