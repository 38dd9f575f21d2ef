// expand_case.h - one composite operator whose operands are all constants, so that resolving a
// graph expands it, folds every part of it, and leaves the answer as a constant.
#ifndef TEST_EXPAND_CASE_H
#define TEST_EXPAND_CASE_H

#include "base/rng.h"
#include "front/front.h"
#include "support/test.h"

#define DIMS(...) (int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8)

typedef struct {
  seer_arena *arena;
  seer_graph *graph;
  seer_val in[10], out[4];
  uint32_t n_in;
  seer_attr attr[8];
  uint32_t n_attr;
  const char *domain;
  double *x[10];
} expand_case;

expand_case open_expand_case(void);
void close_expand_case(expand_case *c);
// The next operand, and its numbers. Values: NULL gives random ones.
double *expand_operand(
    expand_case *c, seer_dtype dtype, const double *values, const int64_t *dim, uint32_t rank);
void expand_absent(expand_case *c);
seer_status expand_try(expand_case *c, const char *op, int32_t opset, uint32_t n_out);
void expand_run(expand_case *c, const char *op, int32_t opset, uint32_t n_out);
void expand_expect(const expand_case *c, uint32_t k, const double *want, const int64_t *dim,
    uint32_t rank, double tolerance);

#endif
