// nest.c - (frame of a schedule) -> nest summary, by arithmetic alone.
// What does not depend on knobs (operation counts, affine accesses over a stage's own axes) is made
// once per sketch list. Per candidate, stages are visited readers first: an inlined stage's
// accesses are composed into its reader's, and the way an attached stage moves with the loops
// around it is read off its reader's access to it. Trips are sums over the lengths that a region
// has at the tiles of its reader: few different ones, kept with how often each occurs.

#include <string.h>

#include "dag/access.h"
#include "space/in_place.h"
#include "space/nest/internal.h"

// ---- per candidate

// The statement of the stage that `s` is attached in; -1: none.
static int attached_in(const maker *m, uint32_t s) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  return stage->place == SEER_PLACE_AT ? m->statement_of[stage->at] : -1;
}

// ---- trips

static void add_length(lengths *to, int64_t length, double count) {
  if (count <= 0) return;
  uint32_t k = 0;
  while (k < to->n && to->length[k] != length) k++;
  if (k == MAX_LENGTHS) {  // the last one stands for the average
    k--;
    double sum = to->count[k] + count;
    to->length[k] =
        (int64_t)((to->count[k] * (double)to->length[k] + count * (double)length) / sum + 0.5);
    to->count[k] = sum;
    return;
  }
  if (k == to->n) {
    to->length[to->n] = length;
    to->count[to->n++] = 0;
  }
  to->count[k] += count;
}

// The pieces that the first `depth` loops of a stage cut its axis into; *out_full: a whole piece.
static void cut(const seer_frame_stage *stage, uint32_t axis, uint32_t depth, const lengths *whole,
    lengths *out, int64_t *out_full) {
  int64_t piece = stage->region[axis];
  bool is_cut = false;
  for (uint32_t l = 0; l < depth; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (loop->axis != axis || loop->extent <= 1) continue;
    piece = seer_min_i64(piece, loop->coef);
    is_cut = true;
  }
  *out_full = piece;
  if (!is_cut) {
    *out = *whole;
    return;
  }
  out->n = 0;
  for (uint32_t k = 0; k < whole->n; k++) {
    int64_t n = seer_ceil_div(whole->length[k], piece);
    if (n <= 0) continue;
    if (n > 1) add_length(out, piece, whole->count[k] * (double)(n - 1));
    add_length(out, whole->length[k] - (n - 1) * piece, whole->count[k]);
  }
}

static double total(const lengths *x, bool by_length) {
  double sum = 0;
  for (uint32_t k = 0; k < x->n; k++) sum += x->count[k] * (by_length ? (double)x->length[k] : 1);
  return sum;
}

// The lengths of stage `s`, attached at `at`, over the visits.
static void fill_attached(maker *m, uint32_t s, const seer_region *region, stage_state *state,
    const stage_state *at_state) {
  const seer_frame_stage *stage = &m->frame->stage[s], *at = &m->frame->stage[stage->at];
  const seer_dag_stage *dag = &m->dag->stage[s], *at_dag = &m->dag->stage[stage->at];
  uint32_t n_at_axis = (uint32_t)at_dag->n_space + at_dag->n_reduce, used = 0;
  lengths piece[MAX_AXES];
  int64_t full[MAX_AXES];
  for (uint32_t a = 0; a < n_at_axis; a++) {
    cut(at, a, stage->depth, &at_state->axis[a], &piece[a], &full[a]);
  }
  for (uint32_t d = 0; d < dag->n_space; d++) {
    lengths *out = &state->axis[d];
    out->n = 1;
    out->length[0] = stage->region[d];
    out->count[0] = 1;
    if (region[d].is_whole) continue;
    for (uint32_t t = 0; t < region[d].n; t++) {
      uint32_t a = region[d].axis[t];
      int64_t coef = region[d].coef[t] < 0 ? -region[d].coef[t] : region[d].coef[t];
      lengths before = *out;
      bool is_first = !(used >> a & 1);
      double all = is_first ? 1 : total(&piece[a], false);
      used |= 1u << a;
      out->n = 0;
      for (uint32_t i = 0; i < before.n; i++) {
        for (uint32_t j = 0; j < piece[a].n; j++) {
          int64_t less = seer_divide(coef * (full[a] - piece[a].length[j]), region[d].div).quotient;
          add_length(out, seer_max_i64(before.length[i] - less, 0),
              before.count[i] * piece[a].count[j] / all);
        }
      }
    }
  }
  state->visits_apart = at_state->visits_apart;
  for (uint32_t a = 0; a < n_at_axis; a++) {
    if (!(used >> a & 1)) state->visits_apart *= total(&piece[a], false);
  }
}

// True if nothing between stage `s` and the root reads it under a guard or by quotients.
static bool is_known(const maker *m, uint32_t s) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  if (stage->place == SEER_PLACE_ROOT) return true;
  const seer_access_table *table = m->frame->sketch->dag->access;
  for (uint32_t k = table->first_read[s]; k < table->first_read[s + 1]; k++) {
    const seer_access *access = &table->read[k];
    if (access->is_guarded) return false;
    for (uint32_t d = 0; d < access->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, access, d);
      if (dim->div > 1 && !dim->is_mod) return false;
    }
    int8_t reader = m->statement_of[access->reader];
    if (reader >= 0 ? !m->state[reader].is_known : !is_known(m, access->reader)) return false;
  }
  return stage->place != SEER_PLACE_AT || m->state[m->statement_of[stage->at]].is_known;
}

// Which loops of stage `s` run their extent whenever they run.
static void fill_exact(const maker *m, uint32_t s, stage_state *state) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  state->is_exact = 0;
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    bool is_exact = loop->is_exact;
    if (!is_exact && state->is_known) {
      lengths piece;
      int64_t full;
      cut(stage, loop->axis, l, &state->axis[loop->axis], &piece, &full);
      is_exact = true;
      for (uint32_t k = 0; k < piece.n; k++) {
        is_exact &= seer_ceil_div(piece.length[k], loop->coef) == loop->extent;
      }
    }
    if (is_exact) state->is_exact |= (uint64_t)1 << l;
  }
}

// The loops around and of stage s: those of the stage that it is attached in, as far as they are
// around it, then its own. Loops of extent 1 are left out.
static void add_path(
    const maker *m, uint32_t s, const stage_state *state, seer_nest_statement *out) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  uint32_t n = 0;
  int at_index = attached_in(m, s);
  if (at_index >= 0) {
    const seer_nest_statement *at = &m->nest->statement[at_index];
    const seer_frame_stage *around = &m->frame->stage[stage->at];
    n = at->first_own;
    for (uint32_t l = 0; l < stage->depth && l < around->n_loop; l++)
      n += around->loop[l].extent > 1;
    n = n < at->n_loop ? n : at->n_loop;
    memcpy(out->loop, at->loop, n * sizeof(out->loop[0]));
  }
  out->first_own = (uint8_t)n;
  uint32_t first_tile = SEER_NEST_MAX_LOOPS;
  for (uint32_t l = 0; l < stage->n_loop && n < SEER_NEST_MAX_LOOPS; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (loop->extent == 1) continue;
    if (loop->is_tile && n < first_tile) first_tile = n;
    uint8_t ann = loop->is_parallel ? SEER_LOOP_PARALLEL
        : loop->is_item             ? SEER_LOOP_THREAD
        : loop->is_vector           ? SEER_LOOP_VECTOR
        : loop->is_tile             ? SEER_LOOP_UNROLL
                                    : SEER_LOOP_SERIAL;
    bool is_exact = state->is_exact >> l & 1;
    out->loop[n++] = (seer_nest_loop){
        loop->extent, ann, loop->is_reduce, is_exact, (uint8_t)s, loop->axis, loop->level};
  }
  out->n_loop = (uint8_t)n;
  out->first_tile = (uint8_t)(first_tile < n ? first_tile : n);
}

// ---- movement

// to += coef * from / div, of the loops in `loops`.
static inline void add_motion(
    motion *to, const motion *from, uint64_t loops, int64_t coef, int64_t div) {
  for (uint64_t left = from->loops & loops; left; left &= left - 1) {
    uint32_t l = (uint32_t)__builtin_ctzll(left);
    int64_t by = coef * from->by[l];
    if (div != 1) by = seer_divide(by, div).quotient;
    if (!(to->loops >> l & 1)) to->by[l] = 0;
    to->by[l] += by;
    to->loops |= (uint64_t)1 << l;
  }
}

// How each axis of stage s moves: where it is attached, its region starts with the axes of that
// stage over the loops around; then by its own loops.
static void fill_motion(
    const maker *m, uint32_t s, const seer_nest_statement *st, stage_state *state) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  const seer_dag_stage *dag = &m->dag->stage[s];
  for (uint32_t a = 0; a < (uint32_t)dag->n_space + dag->n_reduce; a++) state->motion[a].loops = 0;
  int at_index = attached_in(m, s);
  uint64_t around = ((uint64_t)1 << st->first_own) - 1;
  for (uint32_t d = 0; at_index >= 0 && d < dag->n_space; d++) {
    const seer_region *region = &stage->start[d];
    const motion *at = m->state[at_index].motion;
    for (uint32_t t = 0; !region->is_whole && t < region->n; t++) {
      add_motion(&state->motion[d], &at[region->axis[t]], around, region->coef[t], region->div);
    }
  }
  uint32_t own = st->first_own;
  for (uint32_t l = 0; l < stage->n_loop && own < st->n_loop; l++) {
    if (stage->loop[l].extent == 1) continue;
    motion *axis = &state->motion[stage->loop[l].axis];
    axis->by[own] = stage->loop[l].coef;
    axis->loops |= (uint64_t)1 << own++;
  }
}

// ---- accesses

static seer_nest_storage storage_of(const maker *m, uint32_t b) {
  const seer_dag_buf *buf = &m->dag->buf[b];
  if (buf->kind != SEER_BUF_STAGE || buf->is_output) {
    return SEER_NEST_ARG;
  }
  const seer_frame_stage *stage = &m->frame->stage[buf->stage];
  if (stage->place == SEER_PLACE_CONST) return SEER_NEST_PACKED;
  if (stage->place == SEER_PLACE_SHARED) return SEER_NEST_REGISTER;
  if (stage->place != SEER_PLACE_AT) return SEER_NEST_SHARED;
  if (m->is_gpu) return stage->is_flat ? SEER_NEST_LOCAL : SEER_NEST_REGISTER;
  return seer_frame_is_in_registers(stage) ? SEER_NEST_REGISTER : SEER_NEST_LOCAL;
}

// The constant of an index behind its division.
static int64_t base_of(const seer_access_dim *index) {
  return index->is_mod ? seer_floor_mod(index->constant, index->div)
                       : seer_floor_div(index->constant, index->div);
}

// Adds dimension `d` of an access; false if it is not a plain sum of loops, each of which moves no
// other dimension.
static bool add_dim(const seer_nest_statement *st, const stage_state *state,
    const seer_access_dim *index, uint32_t n_space, uint32_t n_axis, uint32_t d,
    seer_nest_access *out) {
  bool is_plain = index->span == 1, is_clamped = false;
  int64_t constant = index->constant;
  motion sum;
  sum.loops = 0;
  for (uint32_t a = 0; a < n_axis; a++) {
    int32_t coef = index->coef[a];
    if (coef == 0) continue;
    add_motion(&sum, &state->motion[a], UINT64_MAX, coef, 1);
    if (a >= n_space) continue;
    is_clamped |= state->is_clamped >> a & 1;
    constant += coef * state->base[a];
  }
  int64_t inside = seer_floor_mod(constant, index->div);
  if (is_clamped || constant - inside != 0 || (index->div == 1 && constant != 0)) is_plain = false;
  if (index->div > 1) {  // (c q + r) / c is q, % c is r, where r stays in [0, c)
    for (uint64_t left = sum.loops; left; left &= left - 1) {
      uint32_t l = (uint32_t)__builtin_ctzll(left);
      int64_t rest = seer_floor_mod(sum.by[l], index->div);
      inside += rest * (st->loop[l].extent - 1);
      sum.by[l] = index->is_mod ? rest : seer_divide(sum.by[l] - rest, index->div).quotient;
    }
    if (inside >= index->div || is_clamped) {
      out->is_whole = true;
      return false;
    }
  }
  for (uint64_t left = sum.loops; left; left &= left - 1) {
    uint32_t l = (uint32_t)__builtin_ctzll(left);
    if (sum.by[l] == 0) continue;
    if (sum.by[l] < 0 || out->loop_dim[l] != SEER_NEST_NO_DIM) is_plain = false;
    out->loop_dim[l] = (uint8_t)d;
    out->loop_coef[l] += (int32_t)sum.by[l];
  }
  return is_plain;
}

static bool moves_alike(
    const seer_nest_statement *st, const seer_nest_access *a, const seer_nest_access *b) {
  if (a->buf != b->buf || a->is_whole != b->is_whole || a->storage != b->storage) return false;
  if (a->is_whole) return true;
  return memcmp(a->loop_dim, b->loop_dim, st->n_loop) == 0 &&
      memcmp(a->loop_coef, b->loop_coef, st->n_loop * sizeof(a->loop_coef[0])) == 0;
}

static bool are_beside(const maker *m, const seer_nest_statement *st, uint32_t k, uint32_t last) {
  const seer_nest_access *a = &st->access[k], *b = &st->access[last];
  for (uint32_t d = 0; d < a->rank; d++) {
    if (!seer_nest_are_beside(m->base[k][d], a->span[d], m->base[last][d], b->span[d]))
      return false;
  }
  return true;
}

// The last access may differ from an earlier one by small constants only: then it is the same
// access, over more neighbours.
static void merge_access(maker *m, seer_nest_statement *st) {
  uint32_t last = st->n_access - 1u;
  const seer_nest_access *more = &st->access[last];
  for (uint32_t k = 0; k < last; k++) {
    seer_nest_access *into = &st->access[k];
    if (into->is_write || !moves_alike(st, into, more) || !are_beside(m, st, k, last)) continue;
    for (uint32_t d = 0; d < into->rank; d++) {
      int64_t low = seer_min_i64(m->base[k][d], m->base[last][d]);
      int64_t high = seer_max_i64(m->base[k][d] + into->span[d], m->base[last][d] + more->span[d]);
      m->base[k][d] = low;
      into->span[d] = (uint16_t)seer_min_i64(high - low, UINT16_MAX);
    }
    into->is_guarded |= more->is_guarded;
    st->n_access--;
    return;
  }
}

// The buffer in whose memory the values of `buf` are, and what the access says of it.
static uint32_t home_of(const maker *m, uint32_t buf, seer_nest_access *access) {
  access->visit = 0;
  access->is_first = false;
  if (m->dag->buf[buf].kind != SEER_BUF_STAGE) return buf;
  uint32_t at = m->dag->buf[buf].stage;
  const seer_frame_stage *stage = &m->frame->stage[at];
  bool is_elsewhere = stage->place == SEER_PLACE_AT && stage->in_place;
  if (is_elsewhere) at = stage->at;
  // Who reads the root's value does so in a later phase.
  bool has_visit = is_elsewhere || (stage->place == SEER_PLACE_ROOT && access->is_write);
  if (has_visit) access->visit = (uint8_t)(seer_in_place_visit(m->frame, at) + 1);
  access->is_first = is_elsewhere && access->is_write;
  return is_elsewhere ? m->dag->stage[at].out[0] : buf;
}

static void add_access(maker *m, seer_nest_statement *st, uint32_t buf_id,
    const seer_access_dim *index, bool is_guarded, bool is_write, bool packs) {
  if (st->n_access == SEER_NEST_MAX_ACCESSES) {
    m->nest->n_left_out++;
    return;
  }
  seer_nest_access *out = &st->access[st->n_access++];
  out->is_write = is_write;
  buf_id = home_of(m, buf_id, out);
  const seer_dag_buf *buf = &m->dag->buf[buf_id];
  const seer_dag_stage *stage = &m->dag->stage[st->stage];
  uint32_t n_axis = (uint32_t)stage->n_space + stage->n_reduce;
  out->buf = buf_id;
  out->storage = storage_of(m, buf_id);
  out->is_guarded = is_guarded;
  out->is_whole = false;
  out->is_weight = buf->kind == SEER_BUF_WEIGHT || out->storage == SEER_NEST_PACKED;
  out->elem_bytes = (uint8_t)seer_dtype_bytes(buf->dtype);
  out->is_narrow = seer_dtype_format(buf->dtype) != NULL;
  out->rank = buf->rank;
  out->row_pitch = buf->pitch;
  memset(out->loop_dim, SEER_NEST_NO_DIM, sizeof(out->loop_dim));  // a known size is no call
  memset(out->loop_coef, 0, sizeof(out->loop_coef));
  const stage_state *state = &m->state[m->statement_of[st->stage]];
  // A sum that items share is an element of each, and has no region.
  bool is_region = out->storage == SEER_NEST_LOCAL ||
      (out->storage == SEER_NEST_REGISTER &&
          m->frame->stage[buf->stage].place != SEER_PLACE_SHARED);
  bool is_plain = true;
  for (uint32_t d = 0; d < buf->rank; d++) {
    out->dim[d] = is_region ? m->frame->stage[buf->stage].region[d] : buf->dim[d];
    out->span[d] = index[d].span;
    m->base[st->n_access - 1][d] = base_of(&index[d]);
    if (is_region && d + 1 == buf->rank) {
      out->row_pitch = m->is_gpu ? out->dim[d] + m->frame->stage[buf->stage].flat.pad
                                 : seer_loop_local_pitch(buf->dtype, out->dim[d], m->vector_bytes);
    }
    if (buf->dim[d] == 1) {  // whatever the index says, it is 0
      m->base[st->n_access - 1][d] = 0;
      out->span[d] = 1;
      continue;
    }
    if (!index[d].is_affine) {
      out->is_whole = true;
      is_plain = false;
      continue;
    }
    is_plain &= add_dim(st, state, &index[d], stage->n_space, n_axis, d, out);
  }
  if (packs && is_plain && buf->kind == SEER_BUF_WEIGHT) out->storage = SEER_NEST_PACKED;
  if (!is_write) merge_access(m, st);
}

// Index `in` over the axes of an inlined stage whose axis a is map[a]; false: not affine.
static bool compose(
    const seer_access_dim *in, const seer_access_dim *map, uint32_t n_axis, seer_access_dim *out) {
  *out = (seer_access_dim){
      .is_affine = in->is_affine, .is_mod = in->is_mod, .div = in->div, .constant = in->constant};
  int64_t span = in->span;
  uint32_t n = 0;
  for (uint32_t a = 0; a < n_axis && out->is_affine; a++) {
    int32_t coef = in->coef[a];
    if (coef == 0) continue;
    n++;
    if (!map[a].is_affine) return out->is_affine = false;
    if (map[a].div > 1) {  // a quotient may only be handed on as it is
      if (coef != 1 || in->div > 1 || in->constant != 0 || n > 1) return out->is_affine = false;
      out->div = map[a].div;
      out->is_mod = map[a].is_mod;
    }
    out->constant += coef * map[a].constant;
    span += (int64_t)(coef < 0 ? -coef : coef) * (map[a].span - 1);
    for (uint32_t b = 0; b < MAX_AXES; b++) out->coef[b] += coef * map[a].coef[b];
  }
  if (n > 1 && out->div > 1 && in->div == 1) return out->is_affine = false;
  out->span = (uint16_t)seer_min_i64(span, UINT16_MAX);
  return out->is_affine;
}

// Loads of stage `s`, whose axis k is map[k] in the axes of the statement's stage (NULL: itself).
static void add_loads(maker *m, seer_nest_statement *st, uint32_t s, const seer_access_dim *map,
    bool is_guarded, bool packs) {
  const stage_fact *fact = &m->facts[s];
  const seer_dag_stage *stage = &m->dag->stage[s];
  float n_mul = fact->ops.mul, n_add = fact->ops.add;
  if (fact->is_product_sum) {
    st->is_of_tf32 = fact->is_of_tf32;
    st->n_fma += 1;
    n_mul -= 1;
  } else if (stage->n_reduce && !fact->is_dot_sum) {
    bool is_sum = stage->combiner == SEER_COMBINE_SUM || stage->combiner == SEER_COMBINE_PROD;
    *(!is_sum ? &st->n_cmp : fact->is_real ? &n_add : &st->n_int) += 1;
    if (!fact->is_real && stage->combiner == SEER_COMBINE_PROD) st->n_int_mul += 1;
  }
  st->n_fma += fact->ops.fma;
  st->n_mul += n_mul;
  st->n_add += n_add;
  st->n_div += fact->ops.div;
  st->n_cmp += fact->ops.cmp;
  st->n_special += fact->ops.special;
  st->n_int += fact->ops.integer;
  st->n_int_mul += fact->ops.product;
  st->n_dot += fact->ops.dot;
  st->n_fma += fact->ops.halves;
  st->n_halves += fact->ops.halves;
  st->n_widened += fact->ops.widened;
  st->n_rounding += fact->ops.rounding;
  for (uint32_t k = 0; k < fact->n_load; k++) {
    const load_fact *load = &fact->load[k];
    seer_access_dim composed[SEER_MAX_RANK];
    const seer_access_dim *index = load->index;
    if (map) {
      for (uint32_t d = 0; d < load->rank; d++) {
        compose(&load->index[d], map, stage->n_space, &composed[d]);
      }
      index = composed;
    }
    bool guarded = is_guarded || load->is_guarded;
    const seer_dag_buf *buf = &m->dag->buf[load->buf];
    bool is_inline =
        buf->kind == SEER_BUF_STAGE && m->frame->stage[buf->stage].place == SEER_PLACE_INLINE;
    if (is_inline) {
      add_loads(m, st, buf->stage, index, guarded, packs);
    } else {
      add_access(m, st, load->buf, index, guarded, false, packs);
    }
  }
}

// ---- statements

static void add_statement(maker *m, uint32_t s) {
  if (m->nest->n_statement == SEER_NEST_MAX_STATEMENTS) {
    m->nest->n_left_out++;
    return;
  }
  const seer_dag_stage *stage = &m->dag->stage[s];
  const seer_frame_stage *frame_stage = &m->frame->stage[s];
  uint32_t n_axis = (uint32_t)stage->n_space + stage->n_reduce;
  m->statement_of[s] = (int8_t)m->nest->n_statement;
  m->nest->n_left_out += m->facts[s].n_left_out;
  stage_state *state = &m->state[m->nest->n_statement];
  seer_nest_statement *st = &m->nest->statement[m->nest->n_statement++];
  memset(st, 0, offsetof(seer_nest_statement, loop));
  st->stage = (uint8_t)s;
  st->phase = seer_nest_phase_of(m, s);
  st->is_reduction = stage->n_reduce > 0;
  const stage_fact *fact = &m->facts[s];
  st->adds_integers = stage->combiner == SEER_COMBINE_SUM && !fact->is_real && !fact->is_dot_sum;
  st->max_unroll = frame_stage->max_unroll;
  state->visits_apart = 1;
  state->is_clamped = 0;
  memset(state->base, 0, sizeof(state->base));
  for (uint32_t a = 0; a < n_axis; a++) {
    state->axis[a].n = 1;
    bool has_region = frame_stage->place != SEER_PLACE_SHARED;
    state->axis[a].length[0] = has_region ? frame_stage->region[a] : stage->axis[a].extent;
    state->axis[a].count[0] = 1;
  }
  int at_index = attached_in(m, s);
  if (at_index >= 0) {
    const seer_region *region = frame_stage->start;
    const stage_state *at_state = &m->state[at_index];
    fill_attached(m, s, region, state, at_state);
    for (uint32_t d = 0; d < stage->n_space; d++) {
      if (region[d].is_whole) continue;
      int64_t least = region[d].constant;  // start of the last visit where it runs backwards
      bool is_clamped = false;
      state->base[d] = region[d].constant;
      for (uint32_t t = 0; t < region[d].n; t++) {
        uint32_t a = region[d].axis[t];
        if (a >= m->dag->stage[frame_stage->at].n_space) continue;
        is_clamped |= at_state->is_clamped >> a & 1;
        int64_t last = m->dag->stage[frame_stage->at].axis[a].extent - 1;
        if (region[d].coef[t] < 0)
          least += seer_divide(region[d].coef[t] * last, region[d].div).quotient;
        state->base[d] +=
            seer_divide(region[d].coef[t] * at_state->base[a], region[d].div).quotient;
      }
      if (is_clamped || least < 0) state->is_clamped |= 1u << d;
    }
  }
  state->is_known = is_known(m, s);
  fill_exact(m, s, state);
  add_path(m, s, state, st);
  fill_motion(m, s, st, state);
  if (frame_stage->place == SEER_PLACE_SHARED)
    seer_nest_add_tree(m, s, m->frame->sketch->stage[s].partner, state, st);
  else if (frame_stage->tree_items > 0 && st->is_reduction)
    seer_nest_add_tree(m, s, s, state, st);
  else if (frame_stage->is_flat)
    seer_nest_add_flat(m, s, state, st);
  st->padded_iterations = 1;
  for (uint32_t l = 0; l < st->n_loop; l++) st->padded_iterations *= (double)st->loop[l].extent;
  st->iterations = state->visits_apart;
  for (uint32_t a = 0; a < n_axis; a++) st->iterations *= total(&state->axis[a], true);

  // The target: dimension d is axis d.
  for (uint32_t v = 0; v < stage->n_values; v++) {
    seer_access_dim target[SEER_MAX_RANK];
    for (uint32_t d = 0; d < stage->n_space; d++) {
      target[d] = (seer_access_dim){.is_affine = true, .div = 1, .span = 1};
      target[d].coef[d] = 1;
    }
    add_access(m, st, stage->out[v], target, false, true, false);
  }
  const seer_sketch_stage *sketch = &m->frame->sketch->stage[s];
  add_loads(m, st, s, NULL, false,
      (sketch->role == SEER_ROLE_TILED || sketch->role == SEER_ROLE_FETCH) && sketch->pack_weights);
}

// A region buffer's address is relative to its region's start.
static void localise(maker *m) {
  for (uint32_t i = 0; i < m->nest->n_statement; i++) {
    seer_nest_statement *st = &m->nest->statement[i];
    for (uint32_t a = 0; a < st->n_access; a++) {
      seer_nest_access *access = &st->access[a];
      if (access->storage != SEER_NEST_LOCAL && access->storage != SEER_NEST_REGISTER) continue;
      int8_t maker_index = m->statement_of[m->dag->buf[access->buf].stage];
      if (maker_index < 0) continue;
      const stage_state *state = &m->state[maker_index];
      uint32_t n = m->nest->statement[maker_index].first_own;
      for (uint32_t l = 0; l < n && l < st->n_loop; l++) {
        if (access->loop_dim[l] == SEER_NEST_NO_DIM) continue;
        const motion *start = &state->motion[access->loop_dim[l]];
        if (start->loops >> l & 1) access->loop_coef[l] -= (int32_t)start->by[l];
        if (access->loop_coef[l] == 0) access->loop_dim[l] = SEER_NEST_NO_DIM;
      }
    }
  }
}

static void total_bytes(maker *m) {
  for (uint32_t s = 0; s < m->dag->n_stage; s++) {
    const seer_dag_stage *stage = &m->dag->stage[s];
    if (m->frame->stage[s].place != SEER_PLACE_AT || m->frame->stage[s].in_place) continue;
    if (storage_of(m, stage->out[0]) != SEER_NEST_LOCAL) continue;
    uint64_t elems = 1;
    for (uint32_t d = 0; d < stage->n_space; d++) elems *= (uint64_t)m->frame->stage[s].region[d];
    for (uint32_t v = 0; v < stage->n_values; v++) {
      m->nest->local_bytes += elems * seer_dtype_bytes(m->dag->buf[stage->out[v]].dtype);
    }
  }
  uint64_t counted[2] = {0, 0};  // each weight once, by buffer
  for (uint32_t i = 0; i < m->nest->n_statement; i++) {
    const seer_nest_statement *st = &m->nest->statement[i];
    for (uint32_t a = 0; a < st->n_access; a++) {
      const seer_nest_access *access = &st->access[a];
      if (access->storage != SEER_NEST_PACKED) continue;
      if (counted[access->buf >> 6] >> (access->buf & 63) & 1) continue;
      counted[access->buf >> 6] |= (uint64_t)1 << (access->buf & 63);
      m->nest->packed_bytes += (uint64_t)(seer_nest_touched(st, access, 0) * access->elem_bytes);
    }
  }
}

void seer_nest_make(const seer_nest_facts *facts, const seer_frame *frame, seer_nest *out) {
  uint32_t k = 0;
  while (k < facts->list->n && facts->list->sketch[k]->variant != frame->sketch->variant) k++;
  SEER_ASSERT(k < facts->list->n, "sketch %s is not in the list of %u", frame->sketch->signature,
      facts->list->n);
  maker m;  // its states are filled as they are used
  m.frame = frame;
  m.dag = frame->sketch->dag;
  m.facts = facts->of_sketch[k][frame->sketch->number];
  m.nest = out;
  m.vector_bytes = facts->list->target->vector_bytes;
  m.is_gpu = facts->list->target->kind != SEER_TARGET_CPU;
  memset(m.statement_of, -1, sizeof m.statement_of);
  out->n_statement = out->n_phase = out->n_left_out = 0;
  out->local_bytes = out->packed_bytes = 0;
  for (uint32_t s = m.dag->n_stage; s-- > 0;) {
    seer_place place = frame->stage[s].place;
    bool is_one = place == SEER_PLACE_ROOT || place == SEER_PLACE_AT || place == SEER_PLACE_SHARED;
    if (is_one) add_statement(&m, s);
  }
  localise(&m);
  total_bytes(&m);
  for (uint32_t r = 0; r < frame->n_root; r++) {
    const seer_frame_stage *root = &frame->stage[frame->root[r]];
    double parts = root->is_flat ? (double)root->flat.n_steps : 1;
    for (uint32_t l = 0; l < root->n_parallel; l++) parts *= (double)root->loop[l].extent;
    out->n_parts[out->n_phase++] = parts;
  }
}

// ---- touched elements
// One dimension: what the loops so far, from the innermost outwards, touch of it.
typedef struct {
  double product, steps;  // of extents; sum of |coefficient| (extent - 1)
  int64_t gcd;
} reach;

static inline double reached(const seer_nest_access *access, uint32_t d, const reach *r) {
  double span = 1 + (double)(access->span[d] - 1);
  if (r->gcd) span += r->gcd == 1 ? r->steps : r->steps / (double)r->gcd;
  double n = r->product < span ? r->product : span;
  return n < (double)access->dim[d] ? n : (double)access->dim[d];
}

static void reach_by(reach *r, int64_t coef, int64_t extent) {
  int64_t c = coef < 0 ? -coef : coef, a = c;
  if (r->gcd == 0) {
    r->gcd = c;
    a = 0;
  }
  while (a && r->gcd != 1) {
    int64_t rest = seer_divide(r->gcd, a).remainder;
    r->gcd = a;
    a = rest;
  }
  r->product *= (double)extent;
  r->steps += (double)c * (double)(extent - 1);
}

void seer_nest_touched_by_depth(
    const seer_nest_statement *st, const seer_nest_access *access, double *out) {
  double touched = out[st->n_loop] = 1;
  if (access->storage == SEER_NEST_PACKED) {  // every loop that moves it is a dimension of its own
    for (uint32_t l = st->n_loop; l-- > 0;) {
      if (access->loop_dim[l] != SEER_NEST_NO_DIM) touched *= (double)st->loop[l].extent;
      out[l] = touched;
    }
    return;
  }
  uint32_t rank = access->rank;
  if (access->is_whole) {  // anywhere, but an element each time (rows that a gather chooses)
    double most = 1;
    for (uint32_t d = 0; d < rank; d++) most *= (double)access->dim[d];
    for (uint32_t l = st->n_loop; l-- > 0;) {
      touched *= (double)st->loop[l].extent;
      out[l] = touched < most ? touched : most;
    }
    return;
  }
  reach dims[SEER_MAX_RANK];
  double of_dim[SEER_MAX_RANK];
  for (uint32_t d = 0; d < rank; d++) {
    // Elements at constant distances count as a loop over neighbours.
    dims[d] = (reach){access->span[d], 0, access->span[d] > 1};
    of_dim[d] = reached(access, d, &dims[d]);
    touched *= of_dim[d];
  }
  out[st->n_loop] = touched;
  for (uint32_t l = st->n_loop; l-- > 0;) {
    uint8_t d = access->loop_dim[l];
    if (d < rank && access->loop_coef[l] != 0) {
      reach_by(&dims[d], access->loop_coef[l], st->loop[l].extent);
      of_dim[d] = reached(access, d, &dims[d]);
      touched = 1;
      for (uint32_t k = 0; k < rank; k++) touched *= of_dim[k];
    }
    out[l] = touched;
  }
}

double seer_nest_touched(
    const seer_nest_statement *st, const seer_nest_access *access, uint32_t depth) {
  double by_depth[SEER_NEST_MAX_LOOPS + 1];
  seer_nest_touched_by_depth(st, access, by_depth);
  return by_depth[depth];
}
