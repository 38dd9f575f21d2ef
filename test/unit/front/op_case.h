// op_case.h - one operator, its inputs and attributes: inferred, emitted, interpreted; against a
// plain loop. A tensor here is logical (ONNX order) and holds doubles, so that the loops of the
// tests know nothing of layouts.
#ifndef TEST_OP_CASE_H
#define TEST_OP_CASE_H

#include "base/rng.h"
#include "front/op.h"
#include "support/test.h"

typedef struct {
  seer_dtype dtype;
  uint32_t rank;
  int64_t dim[SEER_MAX_RANK];
  double *v;
} tensor;

int64_t tensor_elems(const tensor *t);
double tensor_at(const tensor *t, const int64_t *index);  // with broadcasting from the right
double tensor_at4(const tensor *t, int64_t a, int64_t b, int64_t c, int64_t d);  // 0 outside

typedef struct {
  seer_arena *arena;
  seer_graph *graph;
  seer_rng rng;
  const char *op;
  int32_t opset;
  uint32_t n_in, n_attr, n_out;
  seer_val in[160], out[8];
  tensor x[160];  // inputs
  seer_attr attr[16];
  seer_node *node;  // after case_infer
  tensor y[8];  // outputs, after case_run
  seer_dag *dag;
} op_case;

op_case *case_open(const char *op, int32_t opset);
void case_close(op_case *c);
// Inputs: random activations (in [-2, 2], or small integers), activations and constants with given
// values, an absent one.
uint32_t case_in(op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim);
uint32_t case_weight(op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim);
uint32_t case_const(
    op_case *c, seer_dtype dtype, uint32_t rank, const int64_t *dim, const double *values);
void case_absent(op_case *c);
void case_i(op_case *c, const char *name, int64_t value);
void case_f(op_case *c, const char *name, double value);
void case_s(op_case *c, const char *name, const char *value);
void case_ints(op_case *c, const char *name, uint32_t n, const int64_t *values);
#define DIMS(...) \
  (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

// Resolves and infers; fails the test unless it works.
void case_infer(op_case *c);
// The error's text must contain `part`.
void case_expect_error(op_case *c, const char *part);
// Infers, emits and interprets, every value of rank 3 or more once in ONNX order and once with
// dimension 1 innermost; both must agree. y[k] holds the outputs. Also verifies the DAG.
void case_run(op_case *c);
// Both halves of case_run, for tests that expect failures.
seer_status case_try_infer(op_case *c);
seer_status case_try_run(op_case *c);
// The entry's own fold (constant inputs) into y.
void case_fold(op_case *c);
// Inference works, emission fails: the error's text must contain `part`.
void case_expect_emit_error(op_case *c, const char *part);
void expect_dims(const tensor *t, uint32_t rank, const int64_t *dim);
// y[k] against `expected` (row-major), with the entry's tolerances.
void expect_values(const op_case *c, uint32_t k, const double *expected);
double *new_values(op_case *c, uint32_t k);  // zeroed, as many as y[k] has
// Steps `index` through `dim` in row-major order; false after the last.
bool next_index(int64_t *index, const int64_t *dim, uint32_t rank);

#endif
