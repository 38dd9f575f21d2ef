// picture.h - pictures as inline SVG: lines, bars with intervals, a matrix of shares. Appended to a
// text; names are made safe.
#ifndef SEER_STUDY_PAPER_PICTURE_H
#define SEER_STUDY_PAPER_PICTURE_H

#include "base/text.h"
#include "study/paper/statistics.h"

typedef struct {
  const char *name;
  uint32_t n;
  const double *x, *y;  // not finite: left out
} seer_picture_line;
// From y_min upwards; what is above y_max is cut off.
typedef struct {
  const char *title, *x_label;
  double x_max, y_min, y_max;
} seer_picture_axes;
void seer_picture_lines(
    seer_text *out, const seer_picture_axes *axes, const seer_picture_line *lines, uint32_t n);

typedef struct {
  const char *name;
  seer_interval value;
} seer_picture_bar;
// Horizontal, from `from` to `to`.
void seer_picture_bars(seer_text *out, const char *title, double from, double to,
    const seer_picture_bar *bars, uint32_t n);

// n x n shares, row by row; `low` is white, 1 is dark. Rows are named, columns numbered as rows.
void seer_picture_matrix(seer_text *out, const char *title, const char *const *names,
    const double *values, uint32_t n, double low);

#endif
