// deal.c - what is dealt out to items has numbers; which number an item has in a step, and which
// element of a box of axes a number stands for.
#include "space/lower/lower.h"

static const char *name_of(seer_lower *lower, uint32_t s, const char *what) {
  return seer_arena_printf(lower->scratch, "%s.%s", lower->dag->stage[s].name, what);
}

void seer_lower_number(seer_lower *lower, uint32_t s, const seer_expr *step, seer_expr item,
    int64_t items, int64_t n, seer_linear *out, seer_lower_block *block) {
  seer_expr_pool *pool = &lower->loop->expr;
  *out = (seer_linear){.constant = 0};
  bool ok = seer_linear_add_term(out, item, 1);
  if (step) ok = ok && seer_linear_add_term(out, *step, items);
  SEER_ASSERT(ok, "stage %u: two terms", s);
  if (n % items == 0) return;
  seer_expr most = seer_expr_i(pool, n - 1);
  seer_expr value = seer_expr_binary(pool, SEER_EXPR_MIN, seer_linear_emit(pool, out), most);
  uint32_t var = seer_lower_let(lower, name_of(lower, s, "number"), 0, n - 1, value, s, block);
  *out = (seer_linear){.constant = 0};
  ok = seer_linear_add_term(out, seer_expr_var(pool, var), 1);
  SEER_ASSERT(ok, "stage %u: one term", s);
}

void seer_lower_deal(seer_lower *lower, uint32_t s, const seer_linear *number, uint32_t first,
    uint32_t n_axis, const int64_t *length, const int64_t *step, seer_lower_block *block) {
  seer_expr_pool *pool = &lower->loop->expr;
  uint32_t n_moving = 0;
  int64_t left = 1;
  for (uint32_t a = 0; a < n_axis; a++) {
    left *= length[a];
    n_moving += length[a] > 1;
  }
  seer_expr e = seer_linear_emit(pool, number);
  bool is_first = true;
  for (uint32_t a = 0; a < n_axis; a++) {
    seer_linear *out = &lower->stage[s].dealt[first + a];
    *out = (seer_linear){.constant = 0};
    if (length[a] == 1) continue;
    left /= length[a];
    bool ok;
    if (n_moving == 1) {
      ok = seer_linear_add(out, number, step[a]);
    } else {
      seer_expr at = e;
      if (left > 1) at = seer_expr_binary(pool, SEER_EXPR_DIV, at, seer_expr_i(pool, left));
      if (!is_first) at = seer_expr_binary(pool, SEER_EXPR_MOD, at, seer_expr_i(pool, length[a]));
      const char *name = name_of(lower, s, lower->dag->stage[s].axis[first + a].name);
      uint32_t var = seer_lower_let(lower, name, 0, length[a] - 1, at, s, block);
      ok = seer_linear_add_term(out, seer_expr_var(pool, var), step[a]);
    }
    SEER_ASSERT(ok, "stage %u: what its number comes to", s);
    is_first = false;
  }
}
