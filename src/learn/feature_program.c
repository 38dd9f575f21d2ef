// feature_program.c - one row a program, of what its statements' rows say (feature.c): the sum and
// the maximum of each column, the row of the statement with the most iterations, and how many
// statements there are. A sum over statements of trees knows each of them alone; what orders
// programs is often how they stand together (how much of the work is in a transform beside the
// product). On 51,000 schedules of twelve networks, trees that had not seen the network that was
// asked ordered better with these than with a sum over rows (doc/study.md).
#include "base/base.h"
#include "learn/feature.h"

enum {
#define SEER_COLUMN(name) OWN_##name,
#include "learn/feature.inc"
#undef SEER_COLUMN
  N_OWN,
  N_COLUMN = 3 * N_OWN + 1
};

static const char *const names[] = {
#define SEER_COLUMN(name) "sum_" #name,
#include "learn/feature.inc"
#undef SEER_COLUMN
#define SEER_COLUMN(name) "max_" #name,
#include "learn/feature.inc"
#undef SEER_COLUMN
#define SEER_COLUMN(name) "main_" #name,
#include "learn/feature.inc"
#undef SEER_COLUMN
    "n_statements"};
_Static_assert(SEER_COUNT_OF(names) == N_COLUMN, "a column without a name");
_Static_assert(N_COLUMN <= SEER_FEATURE_MAX, "more columns than callers make room for");

static uint32_t extract(
    const seer_nest *nest, const seer_target *target, double seconds, float *out_rows) {
  float rows[SEER_NEST_MAX_STATEMENTS * N_OWN];
  uint32_t n = seer_feature_seer.extract(nest, target, seconds, rows), most = 0;
  if (n == 0) return 0;
  for (uint32_t i = 1; i < n; i++)
    if (nest->statement[i].iterations > nest->statement[most].iterations) most = i;
  for (uint32_t c = 0; c < N_OWN; c++) {
    float sum = 0, max = rows[c];
    for (uint32_t i = 0; i < n; i++) {
      float x = rows[(size_t)i * N_OWN + c];
      sum += x;
      max = x > max ? x : max;
    }
    out_rows[c] = sum;
    out_rows[N_OWN + c] = max;
    out_rows[2 * N_OWN + c] = rows[(size_t)most * N_OWN + c];
  }
  out_rows[3 * N_OWN] = (float)n;
  return 1;
}

const seer_feature_set seer_feature_program = {"program",
    "one row a program: sums, maxima and the main statement of seer's", 1, N_COLUMN, names, extract,
    false};
