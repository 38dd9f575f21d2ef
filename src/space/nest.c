// nest.c - (frame of a schedule) -> nest summary, by arithmetic alone.
// What does not depend on knobs (operation counts, affine accesses over a stage's own axes) is made
// once per sketch list. Per candidate, stages are visited consumers first: an inlined stage's
// accesses are composed into its consumer's, and the way an attached stage moves with the loops
// around it is read off its consumer's access to it.

#include "space/nest.h"

#include <math.h>
#include <string.h>

#define MAX_FACT_LOADS 24
#define MAX_AXES SEER_DAG_MAX_AXES

// An index: constant dropped, coefficient per axis of the stage that holds the load, the sum divided.
typedef struct {
  bool is_affine;
  int32_t div;
  int32_t coef[MAX_AXES];
} index_fact;

typedef struct {
  uint32_t buf;
  bool is_guarded;
  uint8_t rank;
  index_fact index[SEER_MAX_RANK];
} load_fact;

typedef struct {
  float n_mul, n_add, n_div, n_cmp, n_special, n_int;
  bool is_product_sum;  // SUM over a product: each term is one fused multiply-add
  uint32_t n_load;
  load_fact load[MAX_FACT_LOADS];
} stage_fact;

struct seer_nest_facts {
  const seer_sketch_list *list;
  stage_fact **of_sketch;  // by sketch, by stage; sketches of one DAG share them
};

// ---- facts
typedef struct {
  const seer_dag *dag;
  const seer_dag_stage *stage;
  stage_fact *fact;
  // Of a transform whose index axes are unrolled: what its copies share is counted once.
  bool is_transform;
  uint8_t *is_counted;  // by expression
  uint32_t n_unique_load;
} collector;

static void count_op(stage_fact *fact, const seer_expr_node *node) {
  bool is_real = seer_dtype_is_float((seer_dtype)node->dtype);
  switch ((seer_expr_op)node->op) {
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
    case SEER_EXPR_NEG:
    case SEER_EXPR_ABS:
    case SEER_EXPR_SIGN:
      *(is_real ? &fact->n_add : &fact->n_int) += 1;
      break;
    case SEER_EXPR_MUL:
      *(is_real ? &fact->n_mul : &fact->n_int) += 1;
      break;
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD:
    case SEER_EXPR_SQRT:
      *(is_real ? &fact->n_div : &fact->n_int) += 1;
      break;
    case SEER_EXPR_MIN:
    case SEER_EXPR_MAX:
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
    case SEER_EXPR_SELECT:
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
    case SEER_EXPR_ISNAN:
    case SEER_EXPR_AND:
    case SEER_EXPR_OR:
    case SEER_EXPR_XOR:
    case SEER_EXPR_NOT:
    case SEER_EXPR_SHL:
    case SEER_EXPR_SHR:
    case SEER_EXPR_CAST:
      fact->n_cmp += 1;
      break;
    case SEER_EXPR_EXP:
    case SEER_EXPR_LOG:
    case SEER_EXPR_SIN:
    case SEER_EXPR_COS:
    case SEER_EXPR_TANH:
    case SEER_EXPR_ERF:
    case SEER_EXPR_SIGMOID:
    case SEER_EXPR_POW:
      fact->n_special += 1;
      break;
    case SEER_EXPR_NONE:
    case SEER_EXPR_CONST_F:
    case SEER_EXPR_CONST_I:
    case SEER_EXPR_VAR:
    case SEER_EXPR_LOAD:
    case SEER_EXPR_COUNT:
      break;
  }
}

static void fill_index(const collector *c, seer_expr index, index_fact *out) {
  memset(out, 0, sizeof(*out));
  seer_affine affine;
  out->div = 1;
  out->is_affine = seer_expr_affine(&c->dag->expr, index, &affine);
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, index);
  if (!out->is_affine && c->is_transform && node->op == SEER_EXPR_DIV) {
    // Its axes are walked in tiles of the divisor (skeleton.c): outer loops move by multiples of it.
    const seer_expr_node *by = seer_expr_at(&c->dag->expr, node->arg[1]);
    out->is_affine = by->op == SEER_EXPR_CONST_I && by->value.i > 0 && by->value.i <= INT32_MAX &&
        seer_expr_affine(&c->dag->expr, node->arg[0], &affine);
    if (out->is_affine) out->div = (int32_t)by->value.i;
  }
  if (!out->is_affine) return;
  for (uint32_t t = 0; t < affine.n; t++) {
    uint32_t axis = affine.term[t].var - c->stage->var0;
    if (axis < MAX_AXES) out->coef[axis] = (int32_t)affine.term[t].coef;
  }
}

// Index and predicate expressions are addressing, not work: only loads inside them are followed.
static void collect(collector *c, seer_expr e, bool is_addressing) {
  if (e.i == 0) return;
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, e);
  if (c->is_transform && !is_addressing) {
    if (c->is_counted[e.i]) return;
    c->is_counted[e.i] = 1;
  }
  if (node->op == SEER_EXPR_LOAD) {
    c->n_unique_load += !is_addressing;
    if (c->fact->n_load < MAX_FACT_LOADS) {
      load_fact *load = &c->fact->load[c->fact->n_load++];
      load->buf = node->ref;
      load->is_guarded = node->arg[0].i != 0;
      load->rank = node->n_index;
      for (uint32_t d = 0; d < node->n_index; d++)
        fill_index(c, seer_expr_index(&c->dag->expr, e, d), &load->index[d]);
    }
    for (uint32_t d = 0; d < node->n_index; d++)
      collect(c, seer_expr_index(&c->dag->expr, e, d), true);
    collect(c, node->arg[0], true);
    collect(c, node->arg[1], is_addressing);
    return;
  }
  bool is_choice = c->is_transform && (node->op == SEER_EXPR_SELECT || node->op == SEER_EXPR_EQ);
  if (!is_addressing && !is_choice) count_op(c->fact, node);
  for (uint32_t a = 0; a < seer_expr_arity((seer_expr_op)node->op); a++) {
    // What chooses is known when the copies are made.
    bool chooses = c->is_transform && node->op == SEER_EXPR_SELECT && a == 0;
    collect(c, node->arg[a], is_addressing || chooses);
  }
}

// Operations of one copy of a two-dimensional transform. The body names the sums of its first step
// for each of the n columns of the input, those of the second once; n and m of them are computed for
// m * m copies.
static void share(collector *c) {
  double copies = 1;
  const seer_dag_stage *stage = c->stage;
  if (stage->role == SEER_STAGE_TRANSFORM_OUT) {
    for (uint32_t d = 0; d < c->fact->load[0].rank; d++) copies *= c->fact->load[0].index[d].div;
  } else {
    for (uint32_t a = 0; a < stage->n_space; a++) {
      if (stage->axis[a].role == SEER_AXIS_OTHER) copies *= (double)stage->axis[a].extent;
    }
  }
  double n = sqrt((double)c->n_unique_load), m = sqrt(copies);
  float factor = (float)((n + m) / (n + 1) / copies);
  c->fact->n_add *= factor;
  c->fact->n_mul *= factor;
}

static void fill_stage(const seer_dag *dag, uint32_t s, stage_fact *fact, seer_arena *arena) {
  const seer_dag_stage *stage = &dag->stage[s];
  collector c = {dag, stage, fact, false, NULL, 0};
  bool has_role = stage->role == SEER_STAGE_TRANSFORM_IN || stage->role == SEER_STAGE_TRANSFORM_OUT;
  c.is_transform = has_role && stage->n_reduce == 0;
  if (c.is_transform) c.is_counted = SEER_NEW_ARRAY(arena, uint8_t, dag->expr.n);
  for (uint32_t v = 0; v < stage->n_values; v++) collect(&c, stage->body[v], false);
  if (c.is_transform && c.n_unique_load > 0) share(&c);
  const seer_expr_node *top = seer_expr_at(&dag->expr, stage->body[0]);
  fact->is_product_sum = stage->combiner == SEER_COMBINE_SUM && top->op == SEER_EXPR_MUL;
}

seer_nest_facts *seer_nest_facts_build(const seer_sketch_list *list, seer_arena *arena) {
  seer_nest_facts *facts = SEER_NEW(arena, seer_nest_facts);
  facts->list = list;
  facts->of_sketch = SEER_NEW_ARRAY(arena, stage_fact *, list->n);
  for (uint32_t k = 0; k < list->n; k++) {
    const seer_dag *dag = list->sketch[k]->dag;
    for (uint32_t j = 0; j < k && !facts->of_sketch[k]; j++) {
      if (list->sketch[j]->dag == dag) facts->of_sketch[k] = facts->of_sketch[j];
    }
    if (facts->of_sketch[k]) continue;
    facts->of_sketch[k] = SEER_NEW_ARRAY(arena, stage_fact, dag->n_stage);
    for (uint32_t s = 0; s < dag->n_stage; s++) fill_stage(dag, s, &facts->of_sketch[k][s], arena);
  }
  return facts;
}

// ---- per candidate
typedef struct {
  const seer_frame *frame;
  const seer_dag *dag;
  const stage_fact *facts;
  seer_nest *nest;
  uint32_t vector_bytes;
  int8_t statement_of[SEER_DAG_MAX_STAGES];  // -1: none
} maker;

// The loops around and of stage s. Loops of extent 1 are left out.
static void add_path(
    const maker *m, uint32_t s, uint32_t depth, uint32_t leaf, seer_nest_statement *out) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  if (stage->place == SEER_PLACE_AT) add_path(m, stage->at, stage->depth, leaf, out);
  if (s == leaf) out->first_own = out->n_loop;
  bool has_tile = false;
  for (uint32_t l = 0; l < depth && l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (loop->extent == 1 || out->n_loop == SEER_NEST_MAX_LOOPS) continue;
    if (s == leaf && loop->is_tile && !has_tile) {
      out->first_tile = out->n_loop;
      has_tile = true;
    }
    uint8_t ann = loop->is_vector ? SEER_LOOP_VECTOR
        : loop->is_tile           ? SEER_LOOP_UNROLL
        : loop->is_parallel       ? SEER_LOOP_PARALLEL
                                  : SEER_LOOP_SERIAL;
    out->loop[out->n_loop++] = (seer_nest_loop){
        loop->extent, ann, loop->is_reduce, loop->is_exact, (uint8_t)s, loop->axis, loop->level};
  }
  if (s == leaf && !has_tile) out->first_tile = out->n_loop;
}

// Elements by which each axis of stage s moves per iteration of loop l of its statement.
typedef struct {
  int32_t by_loop[MAX_AXES][SEER_NEST_MAX_LOOPS];
} movement;

static void fill_movement(
    const maker *m, uint32_t s, const seer_nest_statement *st, movement *out) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  const seer_dag_stage *dag_stage = &m->dag->stage[s];
  uint32_t n_axis = (uint32_t)dag_stage->n_space + dag_stage->n_reduce;
  memset(out->by_loop, 0, n_axis * sizeof(out->by_loop[0]));
  uint32_t own = st->first_own;
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    if (stage->loop[l].extent == 1 || own >= st->n_loop) continue;
    out->by_loop[stage->loop[l].axis][own++] = (int32_t)stage->loop[l].coef;
  }
  if (st->first_own == 0) return;
  // Moves with the loops around it as its consumer's access does.
  for (uint32_t i = 0; i < m->nest->n_statement; i++) {
    const seer_nest_statement *consumer = &m->nest->statement[i];
    if (consumer == st) continue;
    for (uint32_t a = 0; a < consumer->n_access; a++) {
      const seer_nest_access *access = &consumer->access[a];
      const seer_dag_buf *buf = &m->dag->buf[access->buf];
      if (access->is_write || buf->kind != SEER_BUF_STAGE || buf->stage != s) continue;
      for (uint32_t l = 0; l < st->first_own && l < consumer->n_loop; l++) {
        if (access->loop_dim[l] != SEER_NEST_NO_DIM)
          out->by_loop[access->loop_dim[l]][l] = access->loop_coef[l];
      }
      return;
    }
  }
}

static seer_nest_storage storage_of(const maker *m, uint32_t b) {
  const seer_dag_buf *buf = &m->dag->buf[b];
  if (buf->kind != SEER_BUF_STAGE || buf->is_output) {
    return SEER_NEST_ARG;
  }
  const seer_frame_stage *stage = &m->frame->stage[buf->stage];
  if (stage->place == SEER_PLACE_CONST) return SEER_NEST_PACKED;
  if (stage->place != SEER_PLACE_AT) return SEER_NEST_SHARED;
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (!loop->is_reduce && !loop->is_tile && loop->extent > 1) return SEER_NEST_LOCAL;
  }
  return SEER_NEST_REGISTER;
}

static void add_access(const maker *m, seer_nest_statement *st, const movement *move,
    const load_fact *load, const index_fact *index, bool is_write, bool packs) {
  if (st->n_access == SEER_NEST_MAX_ACCESSES) return;
  seer_nest_access *out = &st->access[st->n_access++];
  const seer_dag_buf *buf = &m->dag->buf[load->buf];
  *out = (seer_nest_access){.buf = load->buf,
      .storage = storage_of(m, load->buf),
      .is_write = is_write,
      .is_guarded = load->is_guarded,
      .elem_bytes = (uint8_t)seer_dtype_bytes(buf->dtype),
      .rank = buf->rank,
      .row_pitch = buf->pitch};
  memset(out->loop_dim, SEER_NEST_NO_DIM, st->n_loop);
  memset(out->loop_coef, 0, st->n_loop * sizeof(out->loop_coef[0]));
  bool is_region = out->storage == SEER_NEST_LOCAL || out->storage == SEER_NEST_REGISTER;
  bool is_plain = true;
  for (uint32_t d = 0; d < buf->rank; d++) {
    out->dim[d] = is_region ? m->frame->stage[buf->stage].region[d] : buf->dim[d];
    if (is_region && d + 1 == buf->rank) {
      out->row_pitch = seer_loop_local_pitch(buf->dtype, out->dim[d], m->vector_bytes);
    }
    if (!index[d].is_affine) {
      out->is_whole = true;
      is_plain = false;
      continue;
    }
    uint32_t n_axis = 0;
    for (uint32_t a = 0; a < MAX_AXES; a++) {
      int32_t coef = index[d].coef[a];
      if (coef == 0) continue;
      n_axis++;
      if (coef != 1) is_plain = false;
      for (uint32_t l = 0; l < st->n_loop; l++) {
        if (move->by_loop[a][l] == 0) continue;
        out->loop_dim[l] = (uint8_t)d;
        out->loop_coef[l] += coef * move->by_loop[a][l];
      }
    }
    if (n_axis > 1) is_plain = false;
    for (uint32_t l = 0; index[d].div > 1 && l < st->n_loop; l++) {
      is_plain = false;
      if (out->loop_dim[l] != d) continue;
      out->loop_coef[l] /= index[d].div;
      if (out->loop_coef[l] == 0) out->loop_dim[l] = SEER_NEST_NO_DIM;
    }
  }
  if (packs && is_plain && buf->kind == SEER_BUF_WEIGHT && buf->rank > 1)
    out->storage = SEER_NEST_PACKED;
}

// Loads of stage `s`, whose axis k is map[k] in the axes of the statement's stage.
static void add_loads(const maker *m, seer_nest_statement *st, const movement *move, uint32_t s,
    const index_fact *map, bool packs, uint32_t level) {
  const stage_fact *fact = &m->facts[s];
  float n_mul = fact->n_mul, n_add = fact->n_add;
  const seer_dag_stage *stage = &m->dag->stage[s];
  if (fact->is_product_sum) {
    st->n_fma += 1;
    n_mul -= 1;
  } else if (stage->n_reduce) {
    bool is_sum = stage->combiner == SEER_COMBINE_SUM || stage->combiner == SEER_COMBINE_PROD;
    *(is_sum ? &n_add : &st->n_cmp) += 1;
  }
  st->n_mul += n_mul;
  st->n_add += n_add;
  st->n_div += fact->n_div;
  st->n_cmp += fact->n_cmp;
  st->n_special += fact->n_special;
  st->n_int += fact->n_int;
  for (uint32_t k = 0; k < fact->n_load; k++) {
    const load_fact *load = &fact->load[k];
    index_fact composed[SEER_MAX_RANK];
    const index_fact *index = load->index;
    if (map) {
      for (uint32_t d = 0; d < load->rank; d++) {
        composed[d] =
            (index_fact){.is_affine = load->index[d].is_affine, .div = load->index[d].div};
        for (uint32_t a = 0; a < (uint32_t)stage->n_space; a++) {
          int32_t coef = load->index[d].coef[a];
          if (coef == 0) continue;
          if (!map[a].is_affine || map[a].div > 1) composed[d].is_affine = false;
          for (uint32_t b = 0; b < MAX_AXES; b++) composed[d].coef[b] += coef * map[a].coef[b];
        }
      }
      index = composed;
    }
    const seer_dag_buf *buf = &m->dag->buf[load->buf];
    bool is_inline =
        buf->kind == SEER_BUF_STAGE && m->frame->stage[buf->stage].place == SEER_PLACE_INLINE;
    if (is_inline && level < SEER_DAG_MAX_STAGES) {
      index_fact next[SEER_MAX_RANK];
      memcpy(next, index, load->rank * sizeof(next[0]));
      add_loads(m, st, move, buf->stage, next, packs, level + 1);
    } else {
      add_access(m, st, move, load, index, false, packs);
    }
  }
}

static void add_statement(maker *m, uint32_t s) {
  if (m->nest->n_statement == SEER_NEST_MAX_STATEMENTS) return;
  const seer_dag_stage *stage = &m->dag->stage[s];
  const seer_frame_stage *frame_stage = &m->frame->stage[s];
  m->statement_of[s] = (int8_t)m->nest->n_statement;
  seer_nest_statement *st = &m->nest->statement[m->nest->n_statement++];
  memset(st, 0, offsetof(seer_nest_statement, loop));
  st->stage = (uint8_t)s;
  st->is_reduction = stage->n_reduce > 0;
  st->max_unroll = frame_stage->max_unroll;
  add_path(m, s, frame_stage->n_loop, s, st);
  movement move;
  fill_movement(m, s, st, &move);
  st->iterations = st->padded_iterations = 1;
  for (uint32_t l = 0; l < st->n_loop; l++) {
    st->padded_iterations *= (double)st->loop[l].extent;
    if (l < st->first_own) st->iterations *= (double)st->loop[l].extent;
  }
  for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++) {
    st->iterations *= (double)frame_stage->region[a];
  }
  // The target: dimension d is axis d.
  for (uint32_t v = 0; v < stage->n_values; v++) {
    load_fact target = {.buf = stage->out[v], .rank = stage->n_space};
    for (uint32_t d = 0; d < stage->n_space; d++) {
      target.index[d].is_affine = true;
      target.index[d].div = 1;
      target.index[d].coef[d] = 1;
    }
    add_access(m, st, &move, &target, target.index, true, false);
  }
  add_loads(m, st, &move, s, NULL, m->frame->sketch->stage[s].pack_weights, 0);
}

// A region buffer's address does not depend on the loops around its allocation.
static void localise(maker *m) {
  for (uint32_t i = 0; i < m->nest->n_statement; i++) {
    seer_nest_statement *st = &m->nest->statement[i];
    for (uint32_t a = 0; a < st->n_access; a++) {
      seer_nest_access *access = &st->access[a];
      if (access->storage != SEER_NEST_LOCAL && access->storage != SEER_NEST_REGISTER) continue;
      int8_t maker_index = m->statement_of[m->dag->buf[access->buf].stage];
      uint32_t n = maker_index < 0 ? 0 : m->nest->statement[maker_index].first_own;
      for (uint32_t l = 0; l < n && l < st->n_loop; l++) {
        access->loop_dim[l] = SEER_NEST_NO_DIM;
        access->loop_coef[l] = 0;
      }
    }
  }
}

static void total_bytes(maker *m) {
  uint64_t counted =
      0;  // weights counted once, by buffer (first 64 are enough to tell tasks' weights apart)
  for (uint32_t s = 0; s < m->dag->n_stage; s++) {
    if (m->frame->stage[s].place != SEER_PLACE_AT) continue;
    uint64_t elems = 1;
    for (uint32_t d = 0; d < m->dag->stage[s].n_space; d++)
      elems *= (uint64_t)m->frame->stage[s].region[d];
    const seer_dag_buf *buf = &m->dag->buf[m->dag->stage[s].out[0]];
    if (storage_of(m, m->dag->stage[s].out[0]) == SEER_NEST_LOCAL) {
      m->nest->local_bytes += elems * seer_dtype_bytes(buf->dtype);
    }
  }
  for (uint32_t i = 0; i < m->nest->n_statement; i++) {
    const seer_nest_statement *st = &m->nest->statement[i];
    for (uint32_t a = 0; a < st->n_access; a++) {
      const seer_nest_access *access = &st->access[a];
      if (access->storage != SEER_NEST_PACKED || (access->buf < 64 && (counted >> access->buf & 1)))
        continue;
      if (access->buf < 64) counted |= (uint64_t)1 << access->buf;
      m->nest->packed_bytes += (uint64_t)(seer_nest_touched(st, access, 0) * access->elem_bytes);
    }
  }
}

void seer_nest_make(const seer_nest_facts *facts, const seer_frame *frame, seer_nest *out) {
  uint32_t k = 0;
  while (k < facts->list->n && facts->list->sketch[k] != frame->sketch) k++;
  SEER_ASSERT(k < facts->list->n, "sketch %s is not in the list of %u", frame->sketch->signature,
      facts->list->n);
  maker m = {
      frame, frame->sketch->dag, facts->of_sketch[k], out, facts->list->target->vector_bytes, {0}};
  memset(m.statement_of, -1, sizeof m.statement_of);
  out->n_statement = out->n_phase = 0;
  out->local_bytes = out->packed_bytes = 0;
  for (uint32_t s = m.dag->n_stage; s-- > 0;) {
    seer_place place = frame->stage[s].place;
    if (place == SEER_PLACE_ROOT || place == SEER_PLACE_AT) add_statement(&m, s);
  }
  localise(&m);
  total_bytes(&m);
  for (uint32_t r = 0; r < frame->n_root; r++) {
    const seer_frame_stage *root = &frame->stage[frame->root[r]];
    double parts = 1;
    for (uint32_t l = 0; l < root->n_parallel; l++) parts *= (double)root->loop[l].extent;
    out->n_parts[out->n_phase++] = parts;
  }
}

double seer_nest_touched(
    const seer_nest_statement *st, const seer_nest_access *access, uint32_t depth) {
  if (access->storage == SEER_NEST_PACKED) {
    double n = 1;  // every loop that moves it is a dimension of its own
    for (uint32_t l = depth; l < st->n_loop; l++) {
      if (access->loop_dim[l] != SEER_NEST_NO_DIM) n *= (double)st->loop[l].extent;
    }
    return n;
  }
  double touched = 1;
  for (uint32_t d = 0; d < access->rank; d++) {
    if (access->is_whole) {
      touched *= (double)access->dim[d];
      continue;
    }
    double product = 1, span = 1;
    int64_t gcd = 0;
    for (uint32_t l = depth; l < st->n_loop; l++) {
      if (access->loop_dim[l] != d || access->loop_coef[l] == 0) continue;
      int64_t a = access->loop_coef[l] < 0 ? -(int64_t)access->loop_coef[l] : access->loop_coef[l];
      while (a) {
        int64_t r = gcd % a;
        gcd = a;
        a = r;
      }
      product *= (double)st->loop[l].extent;
    }
    for (uint32_t l = depth; gcd && l < st->n_loop; l++) {
      if (access->loop_dim[l] != d) continue;
      int64_t c = access->loop_coef[l] < 0 ? -(int64_t)access->loop_coef[l] : access->loop_coef[l];
      span += (double)(c / gcd) * (double)(st->loop[l].extent - 1);
    }
    double n = product < span ? product : span;
    touched *= n < (double)access->dim[d] ? n : (double)access->dim[d];
  }
  return touched;
}
