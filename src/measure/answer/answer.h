// answer.h - is a buffer what it must be? Element by element, as its type and what makes it allow.
//
// - What must be NaN is undefined: such elements count for nothing. An infinity must be the same.
//   At least SEER_ANSWER_LEAST_SHARE of the elements must be defined, else nothing is shown.
// - Reals may differ by a share of the largest magnitude: the sketch's tolerance, or a few of the
//   last digits that the type has. Whole numbers that come of whole numbers only are exact.
// - Where rounding makes whole numbers of reals (domain.h: has_jumps), an element in
//   SEER_ANSWER_JUMPS may differ: the order of a sum decides on which side of a step it falls.
// Pure: safe from any thread.
#ifndef SEER_MEASURE_ANSWER_ANSWER_H
#define SEER_MEASURE_ANSWER_ANSWER_H

#include "measure/measure.h"

#define SEER_ANSWER_LEAST_SHARE (1.0 / 16)
#define SEER_ANSWER_JUMPS 256

typedef struct {
  const seer_dag_buf *buf;
  bool has_jumps;
  double tolerance;  // of reals, relative to `scale`; 0: as the type has it
  double scale;  // the reference's largest magnitude
  int64_t n, n_defined, n_off;  // elements held against others so far
  int64_t first;  // that is off
  double got, want;  // of that
} seer_answer;

// The largest finite magnitude of a buffer.
double seer_answer_scale(const seer_dag_buf *buf, const void *data);
void seer_answer_init(
    seer_answer *answer, const seer_dag_buf *buf, bool has_jumps, double tolerance, double scale);
void seer_answer_hold(seer_answer *answer, int64_t at, double got, double want);
void seer_answer_hold_all(seer_answer *answer, const void *got, const void *want);
// Sets class and message of *out where it is not right.
void seer_answer_judge(const seer_answer *answer, seer_measure_result *out);

#endif
