// learn_nets.h - small DAGs as text, nest summaries written by hand, and columns of feature rows by
// name, for the tests of learn/.
#ifndef SEER_TEST_LEARN_NETS_H
#define SEER_TEST_LEARN_NETS_H

#include <math.h>

#include "learn/feature.h"
#include "setup/target.h"
#include "space/nest.h"

typedef struct {
  const char *name, *text;
} learn_net;

extern const learn_net learn_nets[];
extern const size_t learn_nets_count;
seer_dag *learn_parse(seer_arena *arena, const char *text);  // fails the test if it does not verify
seer_sketch_list *learn_sketches(seer_arena *arena, const seer_dag *dag, const seer_target *target);

// Visits `per_sketch` random schedules of each sketch of `dag`.
typedef void (*learn_visit)(
    void *user, const seer_sketch_list *list, const seer_schedule *schedule, const seer_nest *nest);
void learn_each_schedule(const seer_dag *dag, const seer_target *target, uint32_t per_sketch,
    learn_visit visit, void *user);

void learn_near(double value, double want, const char *what);  // to 1e-6 of it

// ---- columns by name: no such column fails the test.
size_t learn_column(const seer_feature_set *set, const char *name);
typedef struct {
  const char *name;
  double value;  // to 1e-5 of it, or of 1
} learn_expectation;
void learn_expect(
    const seer_feature_set *set, const float *row, const learn_expectation *all, size_t n);
#define LEARN_EXPECT(set, row, ...)                  \
  do {                                               \
    const learn_expectation all[] = {__VA_ARGS__};   \
    learn_expect(set, row, all, SEER_COUNT_OF(all)); \
  } while (0)
// log2(1 + x), as most columns are.
static inline double learn_slog(double x) { return log2(1 + x); }

// ---- by hand. The caller's memory is not cleared: what the fields do not speak of stays there.
seer_nest_loop learn_loop(int64_t extent, seer_loop_ann ann, bool is_reduce);
// Adds an access of f32 that moves with no loop yet.
seer_nest_access *learn_access(seer_nest_statement *st, seer_nest_storage storage, bool is_write,
    uint8_t rank, const int64_t *dim);
void learn_move(seer_nest_access *access, uint32_t loop, uint8_t dim, int32_t coef);
// C[64, 64] = sum k<64: A[m, k] * B[k, n], B packed; 64^3 iterations in eight parts.
//   0: parallel m.0 < 8    1: n.0 < 2    2: k < 64 (4 copies)    3: m.1 < 8    4: vector n.1 < 32
// Accesses: C, A, B.
void learn_gemm(seer_nest *out);
// y[4096] = x[4096] + 1, in 4 parts of 64 vectors of 16.   0: parallel < 4   1: < 64   2: < 16
void learn_map(seer_nest *out);
// 3x3 depthwise convolution of 16 channels, 8x8, over a padded buffer of 10x10.
//   0: y < 8   1: x.0 < 2   2: ky < 3   3: kx < 3   4: x.1 < 4   5: vector c < 16; 4 copies
// Accesses: y, x, w.
void learn_depthwise(seer_nest *out);

#endif
