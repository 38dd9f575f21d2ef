// answer.c - elements held against what they must be -> right, wrong and where, or not to be
// judged.

#include "measure/answer/answer.h"

#include <math.h>
#include <stdio.h>

// Of the largest magnitude: what sums in another order differ by, and one rounding at the store.
static double usual_tolerance(seer_dtype dtype) {
  const seer_float_format *format = seer_dtype_format(dtype);
  if (format) return fmax(1e-4, 2 * exp2(-format->mantissa_bits));
  if (!seer_dtype_is_float(dtype)) return 0;
  return dtype == SEER_DTYPE_F64 ? 1e-9 : 1e-4;
}

static bool is_padding(const seer_dag_buf *buf, int64_t i) {
  return buf->rank > 0 && i % buf->pitch >= buf->dim[buf->rank - 1];
}

double seer_answer_scale(const seer_dag_buf *buf, const void *data) {
  double scale = 0;
  for (int64_t i = 0, n = seer_dag_buf_elems(buf); i < n; i++) {
    if (is_padding(buf, i)) continue;
    double v = fabs(seer_dtype_load_f64(buf->dtype, data, i));
    if (isfinite(v) && v > scale) scale = v;
  }
  return scale;
}

void seer_answer_init(
    seer_answer *a, const seer_dag_buf *buf, bool has_jumps, double tolerance, double scale) {
  double usual = usual_tolerance(buf->dtype);
  *a = (seer_answer){.buf = buf,
      .has_jumps = has_jumps,
      .tolerance = seer_dtype_is_float(buf->dtype) ? fmax(tolerance, usual) : 0,
      .scale = scale};
}

void seer_answer_hold(seer_answer *a, int64_t at, double got, double want) {
  a->n++;
  if (isnan(want)) return;
  a->n_defined++;
  bool is_near = isfinite(want) && fabs(got - want) <= a->tolerance * fmax(a->scale, fabs(want));
  if (got == want || is_near) return;
  if (a->n_off++ > 0) return;
  a->first = at;
  a->got = got;
  a->want = want;
}

void seer_answer_hold_all(seer_answer *a, const void *got, const void *want) {
  for (int64_t i = 0, n = seer_dag_buf_elems(a->buf); i < n; i++) {
    if (is_padding(a->buf, i)) continue;
    seer_answer_hold(a, i, seer_dtype_load_f64(a->buf->dtype, got, i),
        seer_dtype_load_f64(a->buf->dtype, want, i));
  }
}

void seer_answer_judge(const seer_answer *a, seer_measure_result *out) {
  int64_t allowed = a->has_jumps ? a->n / SEER_ANSWER_JUMPS : 0;
  if (a->n_off > allowed) {
    out->cls = SEER_MEASURED_WRONG_RESULT;
    (void)snprintf(out->message, sizeof out->message, "%s[%" PRId64 "] is %g, must be %g",
        a->buf->name, a->first, a->got, a->want);
  } else if ((double)a->n_defined < SEER_ANSWER_LEAST_SHARE * (double)a->n) {
    out->cls = SEER_MEASURED_WRONG_RESULT;
    (void)snprintf(out->message, sizeof out->message,
        "cannot be judged: with made-up inputs only %" PRId64 " of %" PRId64
        " elements of %s are defined, at least one of 16 must be",
        a->n_defined, a->n, a->buf->name);
  }
}
