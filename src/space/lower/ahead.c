// ahead.c - what is fetched for the next step of a tiled stage is on its way while this one is
// added up: it is loaded into registers of the items first, and moved to the block's memory when
// that has been read. One buffer of the block's, and two barriers a step, as without.
//   [what step 0 needs]                         fetched as ever
//   for @k < steps {
//     let @next = min(@k + 1, steps - 1)
//     [registers of items] = [what step @next needs] if @k + 1 < steps else 0
//     [the tile's loops]
//     [the block's memory] = [registers of items]
//   }
// Where several axes have steps, @next counts those of all, and quotients say which they are.
// Or it is copied into a second buffer of the block's, which needs no register, no store and one
// barrier a step:
//   for @k < steps {
//     barrier                                     what step @k needs is there, and step @k - 1's
//     let @next = ...                             has been read
//     [half (@k + 1) % 2] = [what step @next needs] if @k + 1 < steps else 0
//     [the tile's loops, from half @k % 2]
//   }
// Until the next barrier nobody reads it (LATE, space/loop.h): devices that can leave it on its
// way.
// Behind the last step there is nothing to load, and nobody reads what is moved. (A condition
// around both instead would have registers that are one value or another: to choose, items wait for
// the load before they add up.)
// Requires: steps without bounds (a reduction's outermost loops have none); where registers are
// loaded, fetches whose turns are written out.
#include "space/lower/lower.h"

_Static_assert(SEER_FRAME_STEPS_AHEAD <= SEER_LOWER_LOADS_AT_ONCE, "their turns are written out");

// The variables of a stage's loops over steps.
typedef struct {
  uint32_t s, n;  // loops [0, n) of stage s
  uint32_t var[SEER_LOWER_MAX_LOOPS];  // as they were
} steps;

static const char *name_of(seer_lower *lower, uint32_t s, uint32_t k, const char *what) {
  const seer_dag_stage *stage = &lower->dag->stage[s];
  return seer_arena_printf(lower->scratch, "%s.%s.%s", stage->name,
      stage->axis[lower->frame->stage[s].loop[k].axis].name, what);
}

static bool is_mine(const seer_lower *lower, uint32_t s, uint32_t fetch) {
  return seer_lower_is_fetch(lower, fetch) && lower->frame->stage[fetch].at == s;
}

static bool is_step(const seer_lower *lower, uint32_t s, uint32_t k) {
  return lower->frame->stage[s].loop[k].extent > 1;
}

// LETs take the places of the loops' variables, until `restore`.
static void put(seer_lower *lower, steps *st, uint32_t k, const char *what, seer_expr value,
    seer_lower_block *block) {
  int64_t extent = lower->frame->stage[st->s].loop[k].extent;
  uint32_t var =
      seer_lower_let(lower, name_of(lower, st->s, k, what), 0, extent - 1, value, st->s, block);
  lower->stage[st->s].var[k] = var;
  SEER_ASSERT(lower->n_for < SEER_COUNT_OF(lower->scope), "stage %u: %u loops", st->s, k);
  lower->scope[lower->n_for++] = var;
}

static steps save(const seer_lower *lower, uint32_t s, uint32_t n) {
  steps st = {.s = s, .n = n};
  for (uint32_t k = 0; k < n; k++) st.var[k] = lower->stage[s].var[k];
  return st;
}

static void restore(seer_lower *lower, const steps *st) {
  for (uint32_t k = 0; k < st->n; k++) {
    lower->n_for -= is_step(lower, st->s, k);
    lower->stage[st->s].var[k] = st->var[k];
  }
}

static seer_status start_fetches(seer_lower *lower, uint32_t s, seer_lower_block *block) {
  for (uint32_t f = s; f-- > 0;) {
    if (!is_mine(lower, s, f)) continue;
    lower->stage[f].has_start = false;
    SEER_TRY(seer_lower_start(lower, f, block));
  }
  return SEER_OK;
}

static seer_status emit_fetches(
    seer_lower *lower, uint32_t s, bool is_loading, seer_lower_emit emit, seer_lower_block *block) {
  for (uint32_t f = 0; f < s; f++) {
    if (!is_mine(lower, s, f)) continue;
    lower->stage[f].is_loading = is_loading;
    seer_status status = seer_lower_flat(lower, f, emit, block);
    lower->stage[f].is_loading = false;
    lower->stage[f].n_open = 0;
    SEER_TRY(status);
  }
  return SEER_OK;
}

// ---- registers

// Of an item those of one index of the second dimension.
static void make_held(seer_lower *lower, uint32_t f, seer_lower_block *block) {
  const seer_frame_flat *flat = &lower->frame->stage[f].flat;
  uint32_t value = lower->dag->stage[f].out[0];
  const seer_dag_buf *from = &lower->dag->buf[value];
  seer_loop_buf buf = {.name = seer_arena_printf(lower->scratch, "%s.next", from->name),
      .dtype = from->dtype,
      .storage = SEER_STORE_PRIVATE,
      .dag_buf = value,
      .rank = 3,
      .dim = {flat->n_steps, flat->items, flat->width}};
  SEER_ASSERT(lower->dag->stage[f].n_values == 1, "stage %u: a fetch is a copy", f);
  seer_lower_row_major(&buf, flat->width);
  lower->stage[f].held = seer_loop_add_buf(lower->loop, &buf) + 1;
  seer_loop_node alloc = {.kind = SEER_NODE_ALLOC, .stage = f, .n_values = 1};
  alloc.buf[0] = lower->stage[f].held - 1;
  seer_lower_append(lower, block, &alloc);
}

static void index_held(const seer_lower *lower, uint32_t f, seer_expr *out) {
  const seer_lower_stage *state = &lower->stage[f];
  seer_expr zero = seer_expr_i(&lower->loop->expr, 0);
  out[0] = state->turn.i ? state->turn : zero;
  out[1] = state->item;
  out[2] = state->neighbour.i ? state->neighbour : zero;
}

void seer_lower_ahead_hold(const seer_lower *lower, uint32_t s, seer_loop_node *inout_store) {
  inout_store->buf[0] = lower->stage[s].held - 1;
  inout_store->n_index = 3;
  index_held(lower, s, inout_store->index);
}

static seer_status emit_move(seer_lower *lower, uint32_t f, seer_lower_block *block) {
  const seer_dag_stage *stage = &lower->dag->stage[f];
  seer_expr_pool *pool = &lower->loop->expr;
  seer_loop_node node = {
      .kind = SEER_NODE_STORE, .stage = f, .n_values = 1, .n_index = stage->n_space};
  node.buf[0] = seer_lower_buf(lower, stage->out[0]);
  for (uint32_t d = 0; d < stage->n_space; d++)
    node.index[d] = seer_linear_emit(pool, &lower->stage[f].dealt[d]);
  seer_expr index[3];
  index_held(lower, f, index);
  seer_dtype dtype = lower->dag->buf[stage->out[0]].dtype;
  node.value[0] = seer_expr_load(pool, dtype, lower->stage[f].held - 1, index, 3);
  seer_lower_append(lower, block, &node);
  return SEER_OK;
}

static seer_status emit_moves(seer_lower *lower, uint32_t f, seer_lower_block *block) {
  return seer_lower_group(lower, f, emit_move, block);
}

// ---- the next step

// The number of the step that is `further` steps behind this one.
static seer_expr step_number(seer_lower *lower, const steps *st, int64_t further) {
  const seer_frame_stage *frame = &lower->frame->stage[st->s];
  seer_expr_pool *pool = &lower->loop->expr;
  int64_t inner = seer_frame_fetch_steps(frame);
  seer_linear number = {.constant = further};
  bool ok = true;
  for (uint32_t k = 0; k < st->n; k++) {
    if (!is_step(lower, st->s, k)) continue;
    inner /= frame->loop[k].extent;
    ok = ok && seer_linear_add_term(&number, seer_expr_var(pool, st->var[k]), inner);
  }
  SEER_ASSERT(ok, "stage %u: a term for each of %u loops", st->s, st->n);
  return seer_linear_emit(pool, &number);
}

// LETs for the places of the step behind this one; *out_guard: there is one.
static void put_next(seer_lower *lower, steps *st, seer_expr *out_guard, seer_lower_block *block) {
  const seer_frame_stage *frame = &lower->frame->stage[st->s];
  seer_expr_pool *pool = &lower->loop->expr;
  int64_t n = seer_frame_fetch_steps(frame), inner = n;
  bool is_first = true;
  seer_expr e = step_number(lower, st, 1);
  *out_guard = seer_expr_binary(pool, SEER_EXPR_LT, e, seer_expr_i(pool, n));
  e = seer_expr_binary(pool, SEER_EXPR_MIN, e, seer_expr_i(pool, n - 1));
  inner = n;
  for (uint32_t k = 0; k < st->n; k++) {
    if (!is_step(lower, st->s, k)) continue;
    int64_t extent = frame->loop[k].extent;
    if (is_first && inner != extent) {
      const char *name = name_of(lower, st->s, k, "step");
      uint32_t var = seer_lower_let(lower, name, 0, n - 1, e, st->s, block);
      e = seer_expr_var(pool, var);
    }
    inner /= extent;
    seer_expr at = e;
    if (inner > 1) at = seer_expr_binary(pool, SEER_EXPR_DIV, at, seer_expr_i(pool, inner));
    if (!is_first) at = seer_expr_binary(pool, SEER_EXPR_MOD, at, seer_expr_i(pool, extent));
    put(lower, st, k, "next", at, block);
    is_first = false;
  }
}

// ---- halves of a buffer

// The half of what is fetched for `s` that is meant from here on.
static void set_half(seer_lower *lower, uint32_t s, seer_expr half) {
  for (uint32_t f = 0; f < s; f++)
    if (is_mine(lower, s, f)) lower->stage[f].half = half;
}

// Of this step, or the next one.
static seer_expr put_half(
    seer_lower *lower, const steps *st, int64_t further, seer_lower_block *block) {
  seer_expr_pool *pool = &lower->loop->expr;
  seer_expr number = step_number(lower, st, further);
  const char *name = seer_arena_printf(
      lower->scratch, "%s.%s", lower->dag->stage[st->s].name, further ? "other" : "half");
  uint32_t var = seer_lower_let(lower, name, 0, 1,
      seer_expr_binary(pool, SEER_EXPR_MOD, number, seer_expr_i(pool, 2)), st->s, block);
  return seer_expr_var(pool, var);
}

// ---- the parts of a stage

uint32_t seer_lower_step_loops(const seer_lower *lower, uint32_t s) {
  const seer_frame_stage *frame = &lower->frame->stage[s];
  uint32_t n = 0;
  while (n < frame->n_loop && frame->loop[n].is_reduce && frame->loop[n].level == 0) n++;
  return n;
}

seer_status seer_lower_ahead_begin(
    seer_lower *lower, uint32_t s, seer_lower_emit emit, seer_lower_block *block) {
  uint32_t n = seer_lower_step_loops(lower, s);
  for (uint32_t l = 0; l < n; l++) lower->stage[s].var[l] = SEER_LOWER_NO_VAR;
  bool is_copied = lower->frame->stage[s].is_copied;
  for (uint32_t f = 0; f < s; f++)
    if (is_mine(lower, s, f) && !is_copied) make_held(lower, f, block);
  if (is_copied) set_half(lower, s, seer_expr_i(&lower->loop->expr, 0));
  steps st = save(lower, s, n);
  for (uint32_t l = 0; l < n; l++)
    if (is_step(lower, s, l))
      put(lower, &st, l, "first", seer_expr_i(&lower->loop->expr, 0), block);
  lower->stage[s].n_open = n;
  SEER_TRY(start_fetches(lower, s, block));
  SEER_TRY(emit_fetches(lower, s, false, emit, block));
  restore(lower, &st);
  lower->stage[s].n_open = 0;
  return SEER_OK;
}

seer_status seer_lower_ahead_load(
    seer_lower *lower, uint32_t s, uint32_t k, seer_lower_emit emit, seer_lower_block *block) {
  steps st = save(lower, s, k);
  bool is_copied = lower->frame->stage[s].is_copied;
  if (is_copied) {
    seer_lower_append(lower, block, &(seer_loop_node){.kind = SEER_NODE_BARRIER});
    set_half(lower, s, put_half(lower, &st, 1, block));
  }
  put_next(lower, &st, &lower->ahead, block);
  SEER_TRY(start_fetches(lower, s, block));
  SEER_TRY(emit_fetches(lower, s, !is_copied, emit, block));
  lower->ahead = (seer_expr){0};
  restore(lower, &st);
  if (is_copied) set_half(lower, s, put_half(lower, &st, 0, block));
  // Where this step's lie, for what reads them.
  return start_fetches(lower, s, block);
}

seer_status seer_lower_ahead_store(
    seer_lower *lower, uint32_t s, uint32_t k, seer_lower_block *block) {
  lower->stage[s].n_open = k;
  for (uint32_t f = 0; f < s; f++)
    if (is_mine(lower, s, f)) SEER_TRY(seer_lower_flat(lower, f, emit_moves, block));
  return SEER_OK;
}
