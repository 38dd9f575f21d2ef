// round.c - rounding to integers, by an instruction or, where the machine has none (SSE2), by sums.
#include "code/gen/gen.h"

static seer_vec real_of(seer_gen *g, seer_vec like, double v) {
  return seer_gen_real_like(g, like, v);
}
static seer_vec two(seer_gen *g, seer_vec_op op, seer_vec a, seer_vec b) {
  return seer_vec2(g->b, op, a, b);
}

// Where numbers are so large that their last place is 1, adding and taking away again rounds to
// nearest even.
static seer_vec round_even_by_sum(seer_gen *g, seer_vec x) {
  double c = seer_vec_at(g->code, x)->elem == SEER_VEC_F64 ? 0x1p52 : 0x1p23;
  seer_vec large = two(g, SEER_VEC_COPYSIGN, real_of(g, x, c), x);
  seer_vec r =
      two(g, SEER_VEC_COPYSIGN, two(g, SEER_VEC_FSUB, two(g, SEER_VEC_FADD, x, large), large), x);
  return seer_vec_select(
      g->b, two(g, SEER_VEC_FLT, seer_vec1(g->b, SEER_VEC_FABS, x), real_of(g, x, c)), r, x);
}

// x, or the integer below (or above) it: what the nearest one is on the wrong side of.
static seer_vec towards(seer_gen *g, seer_vec x, bool is_up) {
  seer_vec r = round_even_by_sum(g, x), one = real_of(g, x, is_up ? 1.0 : -1.0);
  seer_vec is_wrong = seer_vec2(g->b, is_up ? SEER_VEC_FLT : SEER_VEC_FGT, r, x);
  return two(
      g, SEER_VEC_COPYSIGN, seer_vec_select(g->b, is_wrong, two(g, SEER_VEC_FADD, r, one), r), x);
}

seer_vec seer_gen_round(seer_gen *g, seer_gen_rounding how, seer_vec x) {
  static const seer_vec_op instruction[] = {
      SEER_VEC_FLOOR, SEER_VEC_CEIL, SEER_VEC_FTRUNC, SEER_VEC_ROUND};
  if (g->machine->has_rounding) return seer_vec1(g->b, instruction[how], x);
  switch (how) {
    case SEER_GEN_FLOOR:
      return towards(g, x, false);
    case SEER_GEN_CEIL:
      return towards(g, x, true);
    case SEER_GEN_TRUNC:
      return two(g, SEER_VEC_COPYSIGN, towards(g, seer_vec1(g->b, SEER_VEC_FABS, x), false), x);
    case SEER_GEN_EVEN:
      return round_even_by_sum(g, x);
  }
  SEER_ASSERT(false, "rounding %d", (int)how);
}
