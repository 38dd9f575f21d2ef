// implicit.c - a convolution as one product of matrices, rows by channels, for GPUs:
//   y[i, j, c] = sum ky, kx, k: x[i + ky, j + kx, k] * w[c, ky, kx, k]
//   -> patch[r, ky, kx, k] = x[r / J + ky, r % J + kx, k]
//      y[r, c] = sum ky, kx, k: patch[r, ky, kx, k] * w[c, ky, kx, k]
// Tiles of rows r then are of any number of pixels, whatever the extents of an image: of 7x7 there
// are 49, and warps have their multiples of eight (space/warps.h). Nothing holds all of `patch`:
// the rules inline it into what a block fetches for a step (rule/fetch.c), so that its quotients
// and remainders are the fetch's own indices, with the guards of padding.
//
// The axes that are one are neighbours in the result, the first factor's alone: an image's rows and
// columns, and the images where channels are last. Elementwise stages around the product have them
// as one as well, and so have the buffers that nothing else reads or writes: each element stays
// where it was, and no index has a quotient. All of a 1x1 convolution without strides is such: it
// becomes a product, and has no patch.
//
// It adds the same products in the same order. Of operands that are multiplied in words of two
// there is a form of its own, made of what dot2.c makes. A convolution by groups has it as well,
// with the groups an axis as before; a depthwise one is none, as nothing of it is used twice.
#include "dag/access.h"
#include "dag/edit.h"
#include "space/formulation.h"
#include "space/formulation/common.h"

extern const seer_formulation seer_formulation_dot2;

typedef struct {
  const seer_dag *dag;  // as it was
  uint32_t anchor, n_axis;
  seer_expr factor[2];  // of the rows; of the columns
  seer_expr load;  // the only one in the rows' factor
  uint32_t n;  // axes that become one
  int64_t extent[SEER_DAG_MAX_AXES], total;
  // The first of them in each stage that has them as one, plus one, and in each buffer; 0: apart
  uint8_t of_stage[SEER_DAG_MAX_STAGES], of_buf[SEER_DAG_MAX_BUFFERS];
} rows;

// ---- which axes

static bool uses(const rows *r, seer_expr e, uint32_t axis) {
  return seer_expr_uses_var(&r->dag->expr, e, r->dag->stage[r->anchor].var0 + axis);
}

// The longest run of axes of the result that the rows' factor alone moves with, those of extent 1
// inside of it; false: it has less than two.
static bool find_run(rows *r) {
  const seer_dag_stage *s = &r->dag->stage[r->anchor];
  uint32_t best = 0, n_columns = 0;
  for (uint32_t a = 0; a < s->n_space; a++)
    n_columns += s->axis[a].extent > 1 && !uses(r, r->factor[0], a) && uses(r, r->factor[1], a);
  for (uint32_t first = 0; first < s->n_space; first++) {
    uint32_t n_moving = 0;
    for (uint32_t a = first; a < s->n_space; a++) {
      bool is_one = s->axis[a].extent == 1;
      if (!is_one && (!uses(r, r->factor[0], a) || uses(r, r->factor[1], a))) break;
      if (is_one && a == first) break;
      n_moving += !is_one;
      if (is_one || n_moving <= best) continue;
      best = n_moving;
      r->of_stage[r->anchor] = (uint8_t)(first + 1);
      r->n = a + 1 - first;
    }
  }
  r->total = 1;
  for (uint32_t k = 0; k < r->n; k++) {
    r->extent[k] = s->axis[r->of_stage[r->anchor] - 1u + k].extent;
    r->total *= r->extent[k];
  }
  return best >= 2 && n_columns > 0;
}

static bool find_product(rows *r) {
  const seer_dag_stage *s = &r->dag->stage[r->anchor];
  const seer_expr_pool *pool = &r->dag->expr;
  if (s->combiner != SEER_COMBINE_SUM || s->n_values != 1 || s->is_const) return false;
  const seer_expr_node *body = seer_expr_at(pool, s->body[0]);
  bool is_product = body->dtype == SEER_DTYPE_F32 &&
      (body->op == SEER_EXPR_MUL || seer_expr_is_dot2((seer_expr_op)body->op));
  for (uint32_t k = 0; k < 2 && is_product; k++) {
    r->factor[0] = body->arg[k];
    r->factor[1] = body->arg[!k];
    r->load = seer_formulation_only_load(pool, r->factor[0]);
    r->n = 0;
    if (r->load.i != 0 && find_run(r)) return true;
  }
  return false;
}

// ---- what else has them as one

static bool is_axis(const rows *r, uint32_t stage, seer_expr e, uint32_t k) {
  const seer_dag_stage *s = &r->dag->stage[stage];
  const seer_expr_node *node = seer_expr_at(&r->dag->expr, e);
  return node->op == SEER_EXPR_VAR && node->ref == s->var0 + r->of_stage[stage] - 1u + k;
}

static bool uses_rows(const rows *r, uint32_t stage, seer_expr e) {
  uint32_t var0 = r->dag->stage[stage].var0 + r->of_stage[stage] - 1u;
  for (uint32_t k = 0; k < r->n; k++)
    if (seer_expr_uses_var(&r->dag->expr, e, var0 + k)) return true;
  return false;
}

// The first dimension in which a load has the axes, one after another and nowhere else, plus one.
static uint32_t find_dims(const rows *r, const seer_access *access) {
  const seer_expr_pool *pool = &r->dag->expr;
  const seer_dag_buf *buf = &r->dag->buf[access->buf];
  uint32_t stage = access->reader, first = 0;
  if (r->of_stage[stage] == 0 || access->is_guarded) return 0;
  while (first < access->rank && !is_axis(r, stage, seer_expr_index(pool, access->load, first), 0))
    first++;
  if (first + r->n > access->rank) return 0;
  for (uint32_t d = 0; d < access->rank; d++) {
    seer_expr e = seer_expr_index(pool, access->load, d);
    uint32_t k = d - first;
    bool is_row = d >= first && k < r->n;
    bool is_right = is_row
        ? buf->dim[d] == r->extent[k] && (r->extent[k] == 1 || is_axis(r, stage, e, k))
        : !uses_rows(r, stage, e);
    if (!is_right) return 0;
  }
  return first + 1;
}

// All that read the buffer have the axes as one, in the same dimensions.
static bool join_buf(rows *r, uint32_t buf) {
  const seer_access_table *table = r->dag->access;
  uint32_t at = 0;
  for (uint32_t k = 0; k < table->n_load; k++) {
    if (table->load[k].buf != buf) continue;
    uint32_t dims = find_dims(r, &table->load[k]);
    if (dims == 0 || (at != 0 && at != dims)) return false;
    at = dims;
  }
  if (at == 0 || !seer_dag_may_merge(&r->dag->buf[buf], at - 1, r->n)) return false;
  r->of_buf[buf] = (uint8_t)at;
  return true;
}

static bool reads_rows(const rows *r, uint32_t stage, bool *out_elementwise) {
  const seer_access_table *table = r->dag->access;
  bool reads = false;
  *out_elementwise = r->dag->stage[stage].n_reduce == 0;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    if (r->of_buf[table->load[k].buf] == 0) continue;
    reads = true;
    *out_elementwise &= seer_access_is_elementwise(r->dag, table->load[k].maker, stage);
  }
  return reads;
}

static bool join_outputs_of(rows *r, uint32_t stage) {
  const seer_dag_stage *s = &r->dag->stage[stage];
  r->of_stage[stage] = r->of_stage[r->anchor];
  for (uint32_t v = 0; v < s->n_values; v++) {
    if (!seer_dag_may_merge(&r->dag->buf[s->out[v]], r->of_stage[stage] - 1u, r->n)) return false;
    r->of_buf[s->out[v]] = r->of_stage[stage];
  }
  return true;
}

// False: what the product gives is not read element by element, or can't have the axes as one.
static bool join_all(rows *r) {
  const seer_dag *dag = r->dag;
  if (!join_outputs_of(r, r->anchor)) return false;
  for (uint32_t s = r->anchor + 1; s < dag->n_stage; s++) {
    bool is_elementwise;
    if (reads_rows(r, s, &is_elementwise) && !(is_elementwise && join_outputs_of(r, s)))
      return false;
  }
  for (uint32_t s = dag->n_stage; s-- > 0;) {
    const seer_dag_stage *stage = &dag->stage[s];
    bool may = r->of_stage[s] == 0 && !stage->is_const && stage->n_reduce == 0 &&
        stage->n_values == 1 && !dag->buf[stage->out[0]].is_output;
    if (may && join_buf(r, stage->out[0])) r->of_stage[s] = r->of_buf[stage->out[0]];
  }
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].kind == SEER_BUF_ACTIVATION) (void)join_buf(r, b);
  return true;
}

// ---- the stages

typedef struct {
  const rows *of;
  seer_expr row;  // of the stage in hand
  seer_expr in_place;  // of all loads; 0: they stay
  seer_expr *map;  // by variable
} turned;

static seer_expr turn_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const turned *t = user;
  if (t->in_place.i != 0) return t->in_place;
  seer_expr at[SEER_MAX_RANK];
  uint32_t n = 0, first = t->of->of_buf[load->ref];
  for (uint32_t d = 0; d < load->n_index; d++) {
    if (first == 0 || d + 1 < first || d + 1 >= first + t->of->n)
      at[n++] = index[d];
    else if (d + 1 == first)
      at[n++] = t->row;
  }
  return seer_expr_load_guarded(
      to, (seer_dtype)load->dtype, load->ref, at, n, predicate, otherwise);
}

static seer_expr turn(seer_dag *dag, turned *t, seer_expr e) {
  return seer_expr_copy(&dag->expr, &dag->expr, e, t->map, dag->n_var, turn_load, t);
}

// The axis number `k` of those that are one.
static seer_expr axis_of(seer_dag *dag, const rows *r, seer_expr row, uint32_t k) {
  int64_t step = 1;
  if (r->extent[k] == 1) return seer_expr_i(&dag->expr, 0);
  for (uint32_t i = k + 1; i < r->n; i++) step *= r->extent[i];
  seer_expr at = seer_expr_binary(&dag->expr, SEER_EXPR_DIV, row, seer_expr_i(&dag->expr, step));
  if (k == 0) return at;
  return seer_expr_binary(&dag->expr, SEER_EXPR_MOD, at, seer_expr_i(&dag->expr, r->extent[k]));
}

// The axes of `s`, those that are one from `first` on; *out_place: by old axis.
static uint32_t merge_axes(const rows *r, const seer_dag_stage *s, uint32_t first,
    seer_dag_axis *out, uint32_t *out_place) {
  uint32_t n = 0;
  for (uint32_t a = 0; a < (uint32_t)s->n_space + s->n_reduce; a++) {
    out_place[a] = n;
    if (a + 1 < first + r->n && a >= first) continue;
    out[n++] = a + 1 == first + r->n ? (seer_dag_axis){"row", r->total, SEER_AXIS_M} : s->axis[a];
  }
  return n;
}

// Variables of `was` in terms of those of `stage`, whose axes stand at place[].
static turned begin(seer_dag *dag, const rows *r, const seer_dag_stage *was, uint32_t first,
    uint32_t stage, const uint32_t *place) {
  turned t = {.of = r, .row = seer_dag_var(dag, stage, place[first])};
  t.map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var);
  for (uint32_t a = 0; a < (uint32_t)was->n_space + was->n_reduce; a++) {
    bool is_row = a >= first && a < first + r->n;
    if (place[a] == UINT32_MAX) continue;
    t.map[was->var0 + a] =
        is_row ? axis_of(dag, r, t.row, a - first) : seer_dag_var(dag, stage, place[a]);
  }
  return t;
}

// A stage before the anchor, `was`, that is what each row reads of x. The last dimension of x stays
// the last one.
static uint32_t add_patch(seer_dag *dag, const rows *r, const seer_dag_stage *was,
    const seer_dag_axis *axes, uint32_t n_axes, const uint32_t *place) {
  const seer_expr_node load = *seer_expr_at(&dag->expr, r->load);
  uint32_t first = r->of_stage[r->anchor] - 1u, own[SEER_DAG_MAX_AXES], n = 0;
  bool is_last = load.n_index > 0 &&
      uses_rows(r, r->anchor, seer_expr_index(&dag->expr, r->load, load.n_index - 1u));
  seer_dag_axis of_patch[SEER_DAG_MAX_AXES];
  uint32_t moved[SEER_DAG_MAX_AXES];  // by axis of the anchor as it will be
  for (uint32_t k = 0; k < n_axes; k++) {
    uint32_t old = k <= place[first] ? k : k + r->n - 1;
    moved[k] = UINT32_MAX;
    if (k == place[first] ? is_last : !uses(r, r->load, old)) continue;
    moved[k] = n;
    of_patch[n++] = axes[k];
  }
  if (is_last) {
    moved[place[first]] = n;
    of_patch[n++] = axes[place[first]];
  }
  for (uint32_t a = 0; a < r->n_axis; a++) own[a] = moved[place[a]];
  uint32_t stage =
      seer_dag_insert_stage(dag, r->anchor, "patch", SEER_STAGE_PROLOGUE, of_patch, n, 0);
  turned t = begin(dag, r, was, first, stage, own);
  seer_expr body = turn(dag, &t, r->load);
  uint32_t buf = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  // As the anchor, which is next, reads it.
  seer_dag_reopen_stage(dag, stage + 1, was->role, axes, was->n_space + 1u - r->n, was->n_reduce);
  seer_expr index[SEER_MAX_RANK];
  for (uint32_t k = 0; k < n_axes; k++)
    if (moved[k] != UINT32_MAX) index[moved[k]] = seer_dag_var(dag, stage + 1, k);
  seer_expr x = seer_dag_load(dag, buf, index);
  t = begin(dag, r, was, first, stage + 1, place);
  seer_expr columns = turn(dag, &t, r->factor[1]);
  t.in_place = x;
  seer_expr_op op = (seer_expr_op)seer_expr_at(&dag->expr, was->body[0])->op;
  body = seer_expr_binary(&dag->expr, op, turn(dag, &t, r->factor[0]), columns);
  return seer_dag_set_body(dag, stage + 1, was->combiner, &body, 1);
}

static void turn_stage(seer_dag *dag, const rows *r, uint32_t stage) {
  const seer_dag_stage was = dag->stage[stage];
  uint32_t first = r->of_stage[stage] - 1u, place[SEER_DAG_MAX_AXES];
  seer_dag_axis axes[SEER_DAG_MAX_AXES];
  uint32_t n = merge_axes(r, &was, first, axes, place);
  bool has_patch = stage == r->anchor && r->of_buf[seer_expr_at(&dag->expr, r->load)->ref] == 0;
  if (has_patch) {
    add_patch(dag, r, &was, axes, n, place);
    return;
  }
  seer_dag_reopen_stage(dag, stage, was.role, axes, was.n_space + 1u - r->n, was.n_reduce);
  turned t = begin(dag, r, &was, first, stage, place);
  seer_expr body[SEER_DAG_MAX_VALUES];
  for (uint32_t v = 0; v < was.n_values; v++) body[v] = turn(dag, &t, was.body[v]);
  seer_dag_set_body(dag, stage, was.combiner, body, was.n_values);
}

static const seer_dag *make(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  bool fetches = target->kind != SEER_TARGET_CPU && !target->gpu.items_are_lanes;
  bool has_room = dag->n_stage < SEER_DAG_MAX_STAGES && dag->n_buf < SEER_DAG_MAX_BUFFERS;
  if (!fetches || !has_room) return NULL;
  rows r = {.dag = dag, .anchor = seer_dag_anchor(dag)};
  r.n_axis = (uint32_t)dag->stage[r.anchor].n_space + dag->stage[r.anchor].n_reduce;
  if (!find_product(&r) || !join_all(&r)) return NULL;
  seer_dag *made = seer_dag_clone(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (r.of_buf[b] != 0) seer_dag_merge_dims(made, b, r.of_buf[b] - 1u, r.n);
  for (uint32_t s = dag->n_stage; s-- > 0;)  // the last first: those before stay where they are
    if (r.of_stage[s] != 0) turn_stage(made, &r, s);
  seer_dag_finish(made);
  seer_status status = seer_dag_verify(made);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  *out_tolerance = 0;
  return made;
}

extern const seer_formulation seer_formulation_implicit;
const seer_formulation seer_formulation_implicit = {.name = "implicit",
    .doc = "a convolution's pixels are one axis, and its windows read as they are fetched",
    .make = make,
    .is_for_gpus = true};

static const seer_dag *make_of_words(
    const seer_dag *dag, const seer_target *target, seer_arena *arena, double *out_tolerance) {
  if (target->kind == SEER_TARGET_CPU) return NULL;
  const seer_dag *words = seer_formulation_dot2.make(dag, target, arena, out_tolerance);
  return words ? make(words, target, arena, out_tolerance) : NULL;
}

extern const seer_formulation seer_formulation_implicit_dot2;
const seer_formulation seer_formulation_implicit_dot2 = {.name = "implicit_dot2",
    .doc = "implicit, of words of two (dot2)",
    .make = make_of_words,
    .is_for_gpus = true};
