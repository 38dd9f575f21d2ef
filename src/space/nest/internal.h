// internal.h - the facts of a sketch's stages that no knob changes, shared by facts.c (makes them)
// and nest.c (reads them).
// Written once, then read by any thread.
#ifndef SEER_SPACE_NEST_INTERNAL_H
#define SEER_SPACE_NEST_INTERNAL_H

#include "dag/access.h"
#include "space/nest.h"

#define MAX_FACT_LOADS 24
#define MAX_AXES SEER_DAG_MAX_AXES

// Loads of one buffer that differ by constants only are one, over a span of neighbours. Axes of
// extent 1 have no coefficients; `axis` of an index is not kept.
typedef struct {
  uint32_t buf;
  bool is_guarded;
  uint8_t rank;
  seer_access_dim *index;
} load_fact;

// `integer`: all operators on integers, of which `product` and `dot` (dot4) have rates of their
// own; `halves`: dot2, which is counted as nothing else. `widened`: narrow floats where they are
// loaded. `rounding`: operators that floats are rounded to narrow ones by.
typedef struct {
  float fma, mul, add, div, cmp, special, integer, product, dot, halves, widened, rounding;
} op_count;

typedef struct {
  op_count ops;
  bool is_real;  // its values are floats
  bool is_product_sum;  // SUM over a product of floats: each term is one fused multiply-add
  bool is_dot_sum;  // SUM over a dot4 or dot2, which adds by the way
  uint32_t n_load;
  load_fact load[MAX_FACT_LOADS];
  uint32_t n_left_out;  // loads beyond these
} stage_fact;

struct seer_nest_facts {
  const seer_sketch_list *list;
  stage_fact ***of_sketch;  // by sketch, by variant, by stage; sketches of one DAG share them
};

static inline void add_ops(op_count *to, const op_count *from, float weight) {
  to->fma += weight * from->fma;
  to->mul += weight * from->mul;
  to->add += weight * from->add;
  to->div += weight * from->div;
  to->cmp += weight * from->cmp;
  to->special += weight * from->special;
  to->integer += weight * from->integer;
  to->product += weight * from->product;
  to->dot += weight * from->dot;
  to->halves += weight * from->halves;
  to->widened += weight * from->widened;
  to->rounding += weight * from->rounding;
}

#endif
