// region.c - where an attached stage's region starts, and which loops need a bound.
// The frame says how long a region is; here its start becomes an expression of the loops around it:
// the least index that the readers inside ask for, their own inner loops at 0. A start that may
// be negative (padding: the guard keeps those elements from being used) is clamped to [0, N -
// length], the whole region then lies inside. A start that is never negative stays a plain sum, so
// that addresses relative to it are constants, and the loops stop at the axis's end.
#include <string.h>

#include "space/lower/lower.h"

static seer_expr_pool *pool_of(seer_lower *lower) { return &lower->loop->expr; }

static bool start_form(seer_lower *lower, uint32_t p, uint32_t axis, seer_linear *out);
static bool inline_start(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out);
static bool greatest_form(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out);

bool seer_lower_axis(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out) {
  const seer_frame_stage *frame = &lower->frame->stage[stage];
  const seer_lower_stage *state = &lower->stage[stage];
  *out = (seer_linear){.constant = 0};
  if (frame->place == SEER_PLACE_INLINE) return inline_start(lower, stage, axis, out);
  bool is_region = frame->place == SEER_PLACE_AT && axis < lower->dag->stage[stage].n_space;
  if (is_region && state->has_start) {
    if (!seer_linear_from(pool_of(lower), state->start[axis], out)) return false;
  } else if (is_region) {
    if (!start_form(lower, stage, axis, out)) return false;
  }
  if (state->is_dealt && axis < lower->dag->stage[stage].n_space &&
      !seer_linear_add(out, &state->dealt[axis], 1))
    return false;
  for (uint32_t k = 0; k < state->n_open; k++) {
    if (frame->loop[k].axis != axis || state->var[k] == SEER_LOWER_NO_VAR) continue;
    if (!seer_linear_add_term(
            out, seer_expr_var(pool_of(lower), state->var[k]), frame->loop[k].coef))
      return false;
  }
  return true;
}

// seer_lower_axis counts loops that are not open as 0: by how much more they can raise the axis's
// index.
static int64_t axis_span(const seer_lower *lower, uint32_t stage, uint32_t axis) {
  const seer_frame_stage *frame = &lower->frame->stage[stage];
  int64_t length = frame->region[axis];
  for (uint32_t k = 0; k < lower->stage[stage].n_open; k++) {
    const seer_frame_loop *loop = &frame->loop[k];
    if (loop->axis == axis && loop->extent > 1) length = seer_min_i64(length, loop->coef);
  }
  return length - 1;
}

// The stage is computed inside this place, and where its region starts is not known: not decided
// yet, or, of an inlined stage, never decided.
static bool is_unstarted(const seer_lower *lower, uint32_t stage, uint32_t axis) {
  seer_place place = lower->frame->stage[stage].place;
  bool is_region = place == SEER_PLACE_AT && !lower->stage[stage].has_start;
  return (is_region || place == SEER_PLACE_INLINE) && axis < lower->dag->stage[stage].n_space;
}

// The interval of an index's part that is no axis (a division, a load) of stage `reader`.
static bool atom_range(
    seer_lower *lower, uint32_t reader, seer_expr atom, int64_t *from, int64_t *to) {
  const seer_dag_stage *stage = &lower->dag->stage[reader];
  int64_t *low = SEER_NEW_ARRAY(lower->scratch, int64_t, lower->dag->n_var + 1);
  int64_t *high = SEER_NEW_ARRAY(lower->scratch, int64_t, lower->dag->n_var + 1);
  for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++) {
    high[stage->var0 + k] = stage->axis[k].extent - 1;
  }
  return seer_expr_range(&lower->dag->expr, atom, low, high, from, to);
}

static bool is_division(const seer_expr_pool *pool, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op != SEER_EXPR_DIV || node->dtype != SEER_DTYPE_I64) return false;
  const seer_expr_node *by = seer_expr_at(pool, node->arg[1]);
  return by->op == SEER_EXPR_CONST_I && by->value.i > 0;
}

// floor(x / c): without a division where c divides the coefficients.
static bool divide(seer_lower *lower, const seer_linear *x, int64_t c, seer_linear *out) {
  seer_linear rest;
  seer_linear_part(x, c, out, &rest);
  if (rest.n == 0) return true;
  seer_expr_pool *pool = pool_of(lower);
  seer_expr quotient =
      seer_expr_binary(pool, SEER_EXPR_DIV, seer_linear_emit(pool, &rest), seer_expr_i(pool, c));
  return seer_linear_add_term(out, quotient, 1);
}

// The least value of index `e` (in a body of `reader`) at this place.
static bool least_index(seer_lower *lower, uint32_t reader, seer_expr e, seer_linear *out) {
  const seer_dag_stage *stage = &lower->dag->stage[reader];
  seer_linear form;
  if (!seer_linear_from(&lower->dag->expr, e, &form)) return false;
  *out = (seer_linear){.constant = form.constant};
  for (uint32_t t = 0; t < form.n; t++) {
    const seer_expr_node *node = seer_expr_at(&lower->dag->expr, form.term[t].atom);
    int64_t coef = form.term[t].coef;
    if (coef > 0 && is_division(&lower->dag->expr, form.term[t].atom)) {
      seer_linear inner, quotient;
      int64_t by = seer_expr_at(&lower->dag->expr, node->arg[1])->value.i;
      if (!least_index(lower, reader, node->arg[0], &inner)) return false;
      if (!divide(lower, &inner, by, &quotient) || !seer_linear_add(out, &quotient, coef))
        return false;
      continue;
    }
    if (node->op != SEER_EXPR_VAR) {
      int64_t from, to;
      if (!atom_range(lower, reader, form.term[t].atom, &from, &to)) return false;
      out->constant += coef * (coef > 0 ? from : to);
      continue;
    }
    uint32_t axis = node->ref - stage->var0;
    if (stage->axis[axis].extent == 1) continue;
    seer_linear at;
    bool found = coef > 0 ? seer_lower_axis(lower, reader, axis, &at)
                          : greatest_form(lower, reader, axis, &at);
    if (!found) return false;
    if (!seer_linear_add(out, &at, coef)) return false;
  }
  return true;
}

static bool same_atoms(const seer_linear *a, const seer_linear *b) {
  return a->n == b->n && memcmp(a->term, b->term, a->n * sizeof(a->term[0])) == 0;
}

// The least index over all loads of `p`'s values, not clamped.
static bool raw_start(seer_lower *lower, uint32_t p, uint32_t axis, seer_linear *out) {
  bool has_any = false;
  for (uint32_t reader = p + 1; reader < lower->dag->n_stage; reader++) {
    for (uint32_t k = 0; k < lower->stage[reader].n_load; k++) {
      seer_expr load = lower->stage[reader].load[k];
      const seer_dag_buf *buf = &lower->dag->buf[seer_expr_at(&lower->dag->expr, load)->ref];
      if (buf->kind != SEER_BUF_STAGE || buf->stage != p) continue;
      seer_linear mine;
      if (!least_index(lower, reader, seer_expr_index(&lower->dag->expr, load, axis), &mine))
        return false;
      if (!has_any) {
        *out = mine;
      } else if (same_atoms(out, &mine)) {
        out->constant = seer_min_i64(out->constant, mine.constant);
      } else {
        seer_expr least = seer_expr_binary(pool_of(lower), SEER_EXPR_MIN,
            seer_linear_emit(pool_of(lower), out), seer_linear_emit(pool_of(lower), &mine));
        if (!seer_linear_from(pool_of(lower), least, out)) return false;
      }
      has_any = true;
    }
  }
  return has_any;
}

// x <= 0 at this place?
static bool proves(seer_lower *lower, const seer_linear *x) {
  seer_prover_init(&lower->prover, lower->loop, lower->def, lower->depth);
  return seer_prove_not_positive(&lower->prover, x);
}

// The least index of an inlined stage that this place asks for; the whole axis counts from 0, as in
// the frame.
static bool inline_start(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out) {
  int64_t length[SEER_DAG_MAX_AXES];
  *out = (seer_linear){.constant = 0};
  seer_frame_region(lower->frame, stage, lower->place_at, lower->place_depth, length);
  if (length[axis] >= lower->dag->stage[stage].axis[axis].extent) return true;
  if (!raw_start(lower, stage, axis, out)) return false;
  seer_linear negated = {.constant = 0};
  if (!seer_linear_add(&negated, out, -1)) return false;
  if (proves(lower, &negated)) return true;
  // Where a guard reads it from below 0 on, only what is inside is asked for.
  seer_expr start = seer_expr_binary(pool_of(lower), SEER_EXPR_MAX,
      seer_linear_emit(pool_of(lower), out), seer_expr_i(pool_of(lower), 0));
  return seer_linear_from(pool_of(lower), start, out);
}

// By the ranges that the loop's variables have; false: it has none.
static bool range_of(seer_lower *lower, seer_expr e, int64_t *out_from, int64_t *out_to) {
  int64_t *low = SEER_NEW_ARRAY(lower->scratch, int64_t, lower->loop->n_var + 1);
  int64_t *high = SEER_NEW_ARRAY(lower->scratch, int64_t, lower->loop->n_var + 1);
  for (uint32_t v = 0; v < lower->loop->n_var; v++) {
    low[v] = lower->loop->var[v].low;
    high[v] = lower->loop->var[v].high;
  }
  return seer_expr_range(pool_of(lower), e, low, high, out_from, out_to);
}

// Is the start of `p`'s region never negative? Of what is fetched a step ahead the first step, the
// next one and the one that reads must all get the same answer, and of one more can be proved than
// of another (what is loaded ahead is not of step 0): there the ranges alone count, which the
// variables of all three have alike.
static bool is_never_negative(seer_lower *lower, uint32_t p, const seer_linear *start) {
  if (seer_lower_is_fetch(lower, p) && lower->frame->stage[lower->frame->stage[p].at].is_ahead) {
    int64_t from, to;
    return range_of(lower, seer_linear_emit(pool_of(lower), start), &from, &to) && from >= 0;
  }
  seer_linear negated = {.constant = 0};
  return seer_linear_add(&negated, start, -1) && proves(lower, &negated);
}

// The start of `p`'s region on `axis` in terms of the loops open here. *out_is_cut: the region may
// reach beyond the axis's end; *out_is_whole_piece: the start was clamped, so the region is inside
// whatever the loops are, and is computed in full.
static bool region_start(seer_lower *lower, uint32_t p, uint32_t axis, seer_linear *out,
    bool *out_is_cut, bool *out_is_whole_piece) {
  int64_t extent = lower->dag->stage[p].axis[axis].extent,
          length = lower->frame->stage[p].region[axis];
  *out = (seer_linear){.constant = 0};
  *out_is_cut = length > extent;
  *out_is_whole_piece = false;
  if (length >= extent) return true;
  if (!raw_start(lower, p, axis, out)) return false;
  if (is_never_negative(lower, p, out)) {
    seer_linear over = *out;
    over.constant += length - extent;
    *out_is_cut = !proves(lower, &over);
    return true;
  }
  *out_is_whole_piece = seer_linear_is_affine(pool_of(lower), out);
  seer_expr_pool *pool = pool_of(lower);
  seer_expr last = seer_expr_i(pool, extent - length);
  seer_expr start = seer_expr_binary(pool, SEER_EXPR_MIN, seer_linear_emit(pool, out), last);
  start = seer_expr_binary(pool, SEER_EXPR_MAX, start, seer_expr_i(pool, 0));
  return seer_linear_from(pool, start, out);
}

static bool start_form(seer_lower *lower, uint32_t p, uint32_t axis, seer_linear *out) {
  bool is_cut, is_whole_piece;
  return region_start(lower, p, axis, out, &is_cut, &is_whole_piece);
}

// ---- ends. Readers in their last, shorter block ask for less of a region than its length. No
// more than they ask for is computed, and no more may be: the regions of its own producers were
// made for what is asked for, so beyond it there would be nothing to read.

typedef struct {
  uint32_t n;
  seer_linear form[SEER_LOWER_MAX_ENDS];  // the value is at most each of them
  bool is_merged;  // else form[0] is the end without any tail
} bounds;

static bool greatest_needed(seer_lower *lower, uint32_t p, uint32_t axis, bounds *out);

static void push(bounds *out, const seer_linear *form) {
  for (uint32_t k = 0; k < out->n; k++) {
    if (out->form[k].constant == form->constant && same_atoms(&out->form[k], form)) return;
  }
  if (out->n < SEER_LOWER_MAX_ENDS) out->form[out->n++] = *form;
}

// What the index of axis `axis` of `stage` is at most, at this place.
static bool greatest_axis(seer_lower *lower, uint32_t stage, uint32_t axis, bounds *out) {
  const seer_lower_stage *state = &lower->stage[stage];
  int64_t extent = lower->dag->stage[stage].axis[axis].extent;
  if (is_unstarted(lower, stage, axis)) {
    int64_t length[SEER_DAG_MAX_AXES];
    seer_frame_region(lower->frame, stage, lower->place_at, lower->place_depth, length);
    out->n = 0;
    out->is_merged = false;
    bool is_whole = length[axis] >= extent;  // then the frame counts on all of it
    if (!is_whole && !greatest_needed(lower, stage, axis, out)) out->n = 0;
    push(out, &(seer_linear){.constant = extent - 1});
    return true;
  }
  out->n = 1;
  out->is_merged = false;
  if (!seer_lower_axis(lower, stage, axis, &out->form[0])) return false;
  out->form[0].constant += axis_span(lower, stage, axis);
  bool is_region =
      lower->frame->stage[stage].place == SEER_PLACE_AT && axis < lower->dag->stage[stage].n_space;
  if (!is_region) {
    push(out, &(seer_linear){.constant = extent - 1});
    return true;
  }
  for (uint32_t k = 0; k < state->n_end[axis]; k++) {
    seer_linear end;
    if (!seer_linear_from(pool_of(lower), state->end[axis][k], &end)) continue;
    end.constant--;
    push(out, &end);
  }
  return true;
}

// What index `e` in a body of `reader` is at most, at this place.
static bool greatest_index(seer_lower *lower, uint32_t reader, seer_expr e, bounds *out) {
  const seer_dag_stage *stage = &lower->dag->stage[reader];
  seer_linear form;
  if (!seer_linear_from(&lower->dag->expr, e, &form)) return false;
  out->n = 1;
  out->is_merged = false;
  out->form[0] = (seer_linear){.constant = form.constant};
  for (uint32_t t = 0; t < form.n; t++) {
    const seer_expr_node *node = seer_expr_at(&lower->dag->expr, form.term[t].atom);
    int64_t coef = form.term[t].coef;
    bounds *term = SEER_NEW(lower->scratch, bounds), before = *out;
    term->n = 1;
    if (coef > 0 && is_division(&lower->dag->expr, form.term[t].atom)) {
      int64_t by = seer_expr_at(&lower->dag->expr, node->arg[1])->value.i;
      bounds *inner = SEER_NEW(lower->scratch, bounds);
      if (!greatest_index(lower, reader, node->arg[0], inner)) return false;
      *term = *inner;
      for (uint32_t k = 0; k < inner->n; k++) {
        if (!divide(lower, &inner->form[k], by, &term->form[k])) return false;
      }
    } else if (node->op != SEER_EXPR_VAR) {
      int64_t from, to;
      if (!atom_range(lower, reader, form.term[t].atom, &from, &to)) return false;
      term->form[0].constant = coef > 0 ? to : from;
    } else if (coef < 0) {
      uint32_t axis = node->ref - stage->var0;
      if (!seer_lower_axis(lower, reader, axis, &term->form[0])) return false;
    } else if (!greatest_axis(lower, reader, node->ref - stage->var0, term)) {
      return false;
    }
    out->n = 0;
    out->is_merged |= term->is_merged;
    for (uint32_t i = 0; i < before.n; i++) {
      for (uint32_t j = 0; j < term->n; j++) {
        seer_linear sum = before.form[i];
        if (!seer_linear_add(&sum, &term->form[j], coef)) return false;
        push(out, &sum);
      }
    }
  }
  return true;
}

static seer_expr least_of(seer_lower *lower, const bounds *b) {
  seer_expr least = seer_linear_emit(pool_of(lower), &b->form[0]);
  for (uint32_t k = 1; k < b->n; k++) {
    least = seer_expr_binary(
        pool_of(lower), SEER_EXPR_MIN, least, seer_linear_emit(pool_of(lower), &b->form[k]));
  }
  return least;
}

static bool same_bounds(const bounds *a, const bounds *b) {
  if (a->n != b->n) return false;
  for (uint32_t k = 0; k < a->n; k++) {
    if (a->form[k].constant != b->form[k].constant || !same_atoms(&a->form[k], &b->form[k]))
      return false;
  }
  return true;
}

// What the readers' loads of `p` ask for at most on `axis`, at this place.
static bool greatest_needed(seer_lower *lower, uint32_t p, uint32_t axis, bounds *out) {
  bool has_any = false;
  bounds *mine = SEER_NEW(lower->scratch, bounds);
  for (uint32_t reader = p + 1; reader < lower->dag->n_stage; reader++) {
    for (uint32_t k = 0; k < lower->stage[reader].n_load; k++) {
      seer_expr load = lower->stage[reader].load[k];
      const seer_dag_buf *buf = &lower->dag->buf[seer_expr_at(&lower->dag->expr, load)->ref];
      if (buf->kind != SEER_BUF_STAGE || buf->stage != p) continue;
      if (!greatest_index(
              lower, reader, seer_expr_index(&lower->dag->expr, load, axis), has_any ? mine : out))
        return false;
      if (has_any && !same_bounds(out, mine)) {
        seer_expr greatest = seer_expr_binary(
            pool_of(lower), SEER_EXPR_MAX, least_of(lower, out), least_of(lower, mine));
        out->n = 1;
        out->is_merged = true;
        if (!seer_linear_from(pool_of(lower), greatest, &out->form[0])) return false;
      }
      out->is_merged |= has_any && mine->is_merged;
      has_any = true;
    }
  }
  return has_any;
}

// What the index of an axis is at most, as one form.
static bool greatest_form(seer_lower *lower, uint32_t stage, uint32_t axis, seer_linear *out) {
  bounds *all = SEER_NEW(lower->scratch, bounds), *kept = SEER_NEW(lower->scratch, bounds);
  if (!greatest_axis(lower, stage, axis, all)) return false;
  for (uint32_t k = 0; k < all->n; k++) {
    bool is_needed = true;
    for (uint32_t j = 0; j < kept->n && is_needed; j++) {
      seer_linear less = kept->form[j];
      if (seer_linear_add(&less, &all->form[k], -1) && proves(lower, &less)) is_needed = false;
    }
    if (is_needed) kept->form[kept->n++] = all->form[k];
  }
  return seer_linear_from(pool_of(lower), least_of(lower, kept), out);
}

static void add_end(
    seer_lower *lower, seer_lower_stage *state, uint32_t axis, const seer_linear *end) {
  // Left out where one that is there is never larger.
  for (uint32_t k = 0; k < state->n_end[axis]; k++) {
    seer_linear less;
    if (!seer_linear_from(pool_of(lower), state->end[axis][k], &less)) continue;
    if (seer_linear_add(&less, end, -1) && proves(lower, &less)) return;
  }
  if (state->n_end[axis] == SEER_LOWER_MAX_ENDS) return;
  state->end[axis][state->n_end[axis]++] = seer_linear_emit(pool_of(lower), end);
}

static void add_ends(seer_lower *lower, uint32_t p, uint32_t axis, const seer_linear *start,
    bool is_cut, bool is_whole_piece) {
  seer_lower_stage *state = &lower->stage[p];
  int64_t extent = lower->dag->stage[p].axis[axis].extent,
          length = lower->frame->stage[p].region[axis];
  seer_linear own = *start;
  own.constant += length;
  state->n_end[axis] = 0;
  add_end(lower, state, axis, &own);
  if (length >= extent) return;  // all of it is computed, and its producers provide for that
  if (is_cut) add_end(lower, state, axis, &(seer_linear){.constant = extent});
  bounds needed;
  if (!greatest_needed(lower, p, axis, &needed)) return;
  // Unless ends were merged, the first is the one without tails, which a clamped region does not
  // stop at: it is computed in full.
  for (uint32_t k = is_whole_piece && !needed.is_merged; k < needed.n; k++) {
    needed.form[k].constant++;
    add_end(lower, state, axis, &needed.form[k]);
  }
}

static bool is_let_of(const seer_lower *lower, uint32_t var, seer_expr value) {
  if (lower->depth[var] == 0) return false;
  const seer_loop_node *node = &lower->loop->node[lower->def[var]];
  return node->kind == SEER_NODE_LET && node->value[0].i == value.i;
}

seer_status seer_lower_start(seer_lower *lower, uint32_t p, seer_lower_block *block) {
  const seer_dag_stage *stage = &lower->dag->stage[p];
  seer_lower_stage *state = &lower->stage[p];
  lower->place_at = lower->frame->stage[p].at;
  lower->place_depth = lower->frame->stage[p].depth;
  for (uint32_t axis = 0; axis < stage->n_space; axis++) {
    seer_linear start;
    bool is_cut, is_whole_piece;
    if (!region_start(lower, p, axis, &start, &is_cut, &is_whole_piece)) {
      return SEER_FAIL(UNSUPPORTED, "stage %s: where its region on axis %s starts cannot be told",
          stage->name, stage->axis[axis].name);
    }
    if (start.n > 0 && seer_lower_is_faulty(lower, SEER_LOWER_FAULT_REGION_START)) start.constant++;
    seer_expr value = seer_linear_emit(pool_of(lower), &start);
    uint32_t same = 0;  // a LET of this value may be in scope; a number is as good as any
    while (same < lower->loop->n_var && (start.n == 0 || !is_let_of(lower, same, value))) same++;
    if (same < lower->loop->n_var) {
      value = seer_expr_var(pool_of(lower), same);
    } else if (!seer_linear_is_affine(pool_of(lower), &start)) {
      int64_t from, to;
      if (!range_of(lower, value, &from, &to)) {
        return SEER_FAIL(UNSUPPORTED, "stage %s: its region on axis %s has no bounds", stage->name,
            stage->axis[axis].name);
      }
      const char *name =
          seer_arena_printf(lower->scratch, "%s.%s.at", stage->name, stage->axis[axis].name);
      uint32_t var = seer_lower_let(lower, name, from, to, value, p, block);
      value = seer_expr_var(pool_of(lower), var);
    }
    state->start[axis] = value;
    SEER_ASSERT(seer_linear_from(pool_of(lower), value, &start),
        "stage %s: its start has too many terms", stage->name);
    state->is_cut[axis] = is_cut;
    // All of what is fetched is made.
    if (!seer_lower_is_fetch(lower, p)) add_ends(lower, p, axis, &start, is_cut, is_whole_piece);
  }
  state->has_start = true;
  return SEER_OK;
}

// ceil(x / c), the part that c divides taken out.
static seer_expr emit_ceil_div(seer_expr_pool *pool, const seer_linear *x, int64_t c) {
  seer_linear above = *x, whole, rest;
  above.constant += c - 1;
  seer_linear_part(&above, c, &whole, &rest);
  if (rest.n == 0) return seer_linear_emit(pool, &whole);
  seer_expr quotient =
      seer_expr_binary(pool, SEER_EXPR_DIV, seer_linear_emit(pool, &rest), seer_expr_i(pool, c));
  if (whole.n == 0 && whole.constant == 0) return quotient;
  return seer_expr_binary(pool, SEER_EXPR_ADD, seer_linear_emit(pool, &whole), quotient);
}

seer_expr seer_lower_bound(seer_lower *lower, uint32_t s, uint32_t k, const seer_linear *before) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  const seer_frame_stage *frame = &lower->frame->stage[s];
  const seer_lower_stage *state = &lower->stage[s];
  const seer_frame_loop *loop = &frame->loop[k];
  seer_expr_pool *pool = pool_of(lower);
  bool is_region = frame->place == SEER_PLACE_AT && loop->axis < stage->n_space;
  seer_expr bound = {0};
  uint32_t n_end = is_region ? state->n_end[loop->axis] : 1;
  if (is_region && state->is_full) n_end = 1;  // the region's own
  for (uint32_t k_end = 0; k_end < n_end; k_end++) {
    seer_linear left = {.constant = stage->axis[loop->axis].extent};
    bool ok = !is_region || seer_linear_from(pool, state->end[loop->axis][k_end], &left);
    ok = ok && seer_linear_add(&left, before, -1);
    SEER_ASSERT(ok, "stage %s, loop %u: too many terms", stage->name, k);
    // Exact when coef * (extent - 1) < left wherever this place is reached.
    seer_linear exact = {.constant = 0};
    ok = seer_linear_add(&exact, &left, -1);
    exact.constant += loop->coef * (loop->extent - 1) + 1;
    if (ok && proves(lower, &exact)) continue;
    seer_expr part = emit_ceil_div(pool, &left, loop->coef);
    bound = bound.i ? seer_expr_binary(pool, SEER_EXPR_MIN, bound, part) : part;
  }
  return bound;
}
