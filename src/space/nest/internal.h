// internal.h - the facts of a sketch's stages that no knob changes, shared by facts.c (makes them)
// and nest.c (reads them); and what is known of a schedule while its nest is made, shared by nest.c
// and items.c (stages of GPUs).
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
// own; `halves`: dot2 and dot2_f16, which are counted as nothing else. `widened`: narrow floats
// where they are loaded. `rounding`: operators that floats are rounded to narrow ones by.
typedef struct {
  float fma, mul, add, div, cmp, special, integer, product, dot, halves, widened, rounding;
} op_count;

typedef struct {
  op_count ops;
  bool is_real;  // its values are floats
  bool is_product_sum;  // SUM over a product of floats: each term is one fused multiply-add
  bool is_of_tf32;  // of these: of two factors that are rounded to TF32
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

// ---- per candidate

#define MAX_LENGTHS 6

// The lengths that an axis has at the visits of its stage, and how often.
typedef struct {
  uint32_t n;
  int64_t length[MAX_LENGTHS];
  double count[MAX_LENGTHS];
} lengths;

// Elements by which something moves per iteration of each loop of its statement: by[l] where bit l
// of `loops` is set, else none.
typedef struct {
  uint64_t loops;
  int64_t by[SEER_NEST_MAX_LOOPS];
} motion;

// What is remembered of a stage that has been visited. Filled as far as it is used, never cleared.
typedef struct {
  // Visits come from loops around the stage. Those that decide the length of one of its axes are
  // counted with that axis's lengths; this is the product of all others.
  double visits_apart;
  lengths axis[MAX_AXES];
  motion motion[MAX_AXES];  // of each axis
  bool is_known;  // its lengths are right at every visit: no padding shifts or cuts its region
  uint64_t is_exact;  // bit l: its loop l (of the frame) never runs shorter
  // Bit d: the start of dimension d is clamped. Else its constant is base[d].
  uint32_t is_clamped;
  int64_t base[SEER_MAX_RANK];
} stage_state;

typedef struct {
  const seer_frame *frame;
  const seer_dag *dag;
  const stage_fact *facts;
  seer_nest *nest;
  uint32_t vector_bytes;
  bool is_gpu;
  int8_t statement_of[SEER_DAG_MAX_STAGES];  // -1: none
  int64_t base[SEER_NEST_MAX_ACCESSES]
              [SEER_MAX_RANK];  // constants of the accesses of the statement in hand
  stage_state state[SEER_NEST_MAX_STATEMENTS];  // by statement
} maker;

// Of a GPU; state and statement are of stage `s`, in the making. The loops of a sum that the items
// of `reader`'s block share: a block a result, whose items are dealt the elements of the reduction.
void seer_nest_add_tree(
    const maker *m, uint32_t s, uint32_t reader, stage_state *state, seer_nest_statement *out);
// Those of a stage that is dealt out: groups, its reductions, and what an item makes of a group.
// The path has its reductions already; they go behind the groups.
void seer_nest_add_flat(const maker *m, uint32_t s, stage_state *state, seer_nest_statement *out);
// The phase that a stage runs in: its own place among the roots, or that of where it stands.
uint8_t seer_nest_phase_of(const maker *m, uint32_t s);

#endif
