// one.c - a DAG of n images -> that of one, where it computes them apart.
// Let v be the first axis of a stage, of n * k values. The stage computes images apart if moving v
// on by k changes nothing but the block that is read: then what it computes at v + i k from block i
// is what it computes at v < k from block 0. So each expression is asked by how much its value
// moves: numbers and other axes by 0, v by k; sums, products with constants and floor quotients by
// what follows from that; a load from what is split by 0 if its first index moves by one block of
// the buffer and no other index moves; a load from anything else by 0 if no index moves;
// comparisons of what moves alike by 0; all else must not have a part that moves. That block 0 is
// read alone seer_dag_verify shows, of the DAG whose buffers end there.
#include <string.h>

#include "front/images.h"

enum { UNSEEN, MOVES_BY, UNKNOWN };

typedef struct {
  const seer_dag *dag;
  const bool *is_split;
  uint32_t n, var;  // images; the axis that moves
  int64_t block;  // by so much
  uint8_t *state;  // by expression
  int64_t *shift;
} walker;

static bool find_shift(walker *w, seer_expr e, int64_t *out);

static bool moves_by(walker *w, seer_expr e, int64_t by) {
  int64_t shift;
  return find_shift(w, e, &shift) && shift == by;
}

static bool is_still(walker *w, seer_expr e) { return e.i == 0 || moves_by(w, e, 0); }

static bool is_constant(const walker *w, seer_expr e, int64_t *out) {
  const seer_expr_node *node = seer_expr_at(&w->dag->expr, e);
  *out = node->value.i;
  return node->op == SEER_EXPR_CONST_I;
}

static bool load_is_still(walker *w, const seer_expr_node *node) {
  const seer_dag_buf *buf = &w->dag->buf[node->ref];
  for (uint32_t d = 0; d < node->n_index; d++) {
    bool is_image = d == 0 && w->is_split[node->ref];
    if (!moves_by(w, w->dag->expr.index[node->index0 + d], is_image ? buf->dim[0] / w->n : 0))
      return false;
  }
  return is_still(w, node->arg[0]) && is_still(w, node->arg[1]);
}

// Arithmetic on indices (I64, which wraps nowhere near): how it moves, of operands that may.
static bool shift_of_index(walker *w, const seer_expr_node *node, int64_t *out) {
  int64_t a = 0, b = 0, c;
  *out = 0;
  if (!find_shift(w, node->arg[0], &a)) return false;
  if (node->op == SEER_EXPR_NEG) return !__builtin_sub_overflow((int64_t)0, a, out);
  if (!find_shift(w, node->arg[1], &b)) return false;
  switch ((int)node->op) {
    case SEER_EXPR_ADD:
      return !__builtin_add_overflow(a, b, out);
    case SEER_EXPR_SUB:
      return !__builtin_sub_overflow(a, b, out);
    case SEER_EXPR_MUL:
      if (is_constant(w, node->arg[1], &c)) return !__builtin_mul_overflow(a, c, out);
      if (is_constant(w, node->arg[0], &c)) return !__builtin_mul_overflow(b, c, out);
      return a == 0 && b == 0;
    case SEER_EXPR_DIV:  // floor((x + m c) / c) = floor(x / c) + m
    case SEER_EXPR_MOD:
      if (a == 0 && b == 0) return true;
      if (!is_constant(w, node->arg[1], &c) || c <= 0 || a % c != 0) return false;
      *out = node->op == SEER_EXPR_DIV ? a / c : 0;
      return true;
    case SEER_EXPR_MIN:
    case SEER_EXPR_MAX:
      *out = a;
      return a == b;
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
      return a == b;
    default:
      return a == 0 && b == 0;
  }
}

static bool shift_of(walker *w, const seer_expr_node *node, int64_t *out) {
  *out = 0;
  switch ((int)node->op) {
    case SEER_EXPR_CONST_F:
    case SEER_EXPR_CONST_I:
      return true;
    case SEER_EXPR_VAR:
      if (node->ref == w->var) *out = w->block;
      return true;
    case SEER_EXPR_LOAD:
      return load_is_still(w, node);
    case SEER_EXPR_SELECT:
      return is_still(w, node->arg[0]) && find_shift(w, node->arg[1], out) &&
          moves_by(w, node->arg[2], *out);
    default:
      break;
  }
  uint32_t arity = seer_expr_arity((seer_expr_op)node->op);
  bool is_index = seer_expr_at(&w->dag->expr, node->arg[0])->dtype == SEER_DTYPE_I64;
  if (is_index && (arity == 2 || node->op == SEER_EXPR_NEG)) return shift_of_index(w, node, out);
  for (uint32_t k = 0; k < arity; k++)
    if (!is_still(w, node->arg[k])) return false;
  return true;
}

static bool find_shift(walker *w, seer_expr e, int64_t *out) {
  if (w->state[e.i] == UNSEEN) {
    bool is_known = shift_of(w, seer_expr_at(&w->dag->expr, e), &w->shift[e.i]);
    w->state[e.i] = is_known ? MOVES_BY : UNKNOWN;
  }
  *out = w->shift[e.i];
  return w->state[e.i] == MOVES_BY;
}

typedef struct {
  const seer_dag *dag;
  const bool *is_split;
  bool reads_split;
} reading;

static void note_load(void *user, seer_expr e) {
  reading *r = user;
  const seer_expr_node *node = seer_expr_at(&r->dag->expr, e);
  if (node->op == SEER_EXPR_LOAD && r->is_split[node->ref]) r->reads_split = true;
}

// NULL, or what is about the stage. Says of its buffers whether they are split.
static const char *split_stage(walker *w, const seer_dag_stage *stage, bool *io_is_split) {
  reading r = {w->dag, io_is_split, false};
  for (uint32_t v = 0; v < stage->n_values; v++)
    seer_expr_visit(&w->dag->expr, stage->body[v], note_load, &r);
  for (uint32_t v = 0; v < stage->n_values; v++) {
    io_is_split[stage->out[v]] = r.reads_split;
    if (!r.reads_split && w->dag->buf[stage->out[v]].is_output)
      return "is an output and reads no image";
  }
  if (!r.reads_split) return NULL;
  if (stage->n_space == 0 || stage->axis[0].extent % w->n != 0)
    return "has no first axis of as many images";
  w->var = stage->var0;
  w->block = stage->axis[0].extent / w->n;
  memset(w->state, UNSEEN, w->dag->expr.n);
  for (uint32_t v = 0; v < stage->n_values; v++)
    if (!moves_by(w, stage->body[v], 0)) return "reads more than its own image";
  return NULL;
}

static bool buffer_is_blocks(const seer_dag_buf *buf, uint32_t n) {
  if (buf->rank == 0 || buf->dim[0] % n != 0) return false;
  return buf->rank > 1 || buf->pitch == buf->dim[0];
}

typedef struct {
  const seer_dag *dag;
  uint32_t first;  // 1 + a buffer that is read
  bool reads_others;
} operands;

static void note_operand(void *user, seer_expr e) {
  operands *o = user;
  const seer_expr_node *node = seer_expr_at(&o->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  if (o->first == 0) o->first = node->ref + 1;
  o->reads_others |= o->first != node->ref + 1;
}

// An axis of one value is 0. Operators that broadcast (front/op/emit.c) write it so where there is
// one image; as tasks are told apart by how their DAGs are written, so do we. Those have several
// operands, and axes without a role.
static void write_as_one(seer_dag *dag, seer_dag_stage *stage) {
  operands o = {dag, 0, false};
  for (uint32_t v = 0; v < stage->n_values; v++)
    seer_expr_visit(&dag->expr, stage->body[v], note_operand, &o);
  if (stage->axis[0].extent > 1 || stage->axis[0].role != SEER_AXIS_OTHER || !o.reads_others)
    return;
  seer_expr *of_var = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var + 1);
  of_var[stage->var0] = seer_expr_i(&dag->expr, 0);
  for (uint32_t v = 0; v < stage->n_values; v++)
    stage->body[v] =
        seer_expr_copy(&dag->expr, &dag->expr, stage->body[v], of_var, dag->n_var, NULL, NULL);
}

static seer_dag *take_one(
    const seer_dag *dag, uint32_t n, const bool *is_split, seer_arena *arena) {
  seer_dag *one = seer_dag_clone(dag, arena);
  one->access = NULL;
  for (uint32_t b = 0; b < one->n_buf; b++) {
    seer_dag_buf *buf = &one->buf[b];
    if (!is_split[b]) continue;
    buf->dim[0] /= n;
    if (buf->rank == 1) buf->pitch = buf->dim[0];
  }
  for (uint32_t s = 0; s < one->n_stage; s++) {
    if (!is_split[one->stage[s].out[0]]) continue;
    one->stage[s].axis[0].extent /= n;
    write_as_one(one, &one->stage[s]);
  }
  return one;
}

bool seer_images_one(const seer_dag *dag, uint32_t n, bool io_is_split[SEER_DAG_MAX_BUFFERS],
    seer_arena *arena, seer_dag **out_one, const char **out_why) {
  *out_one = NULL;
  *out_why = NULL;
  seer_arena *scratch = seer_arena_create("images");
  walker w = {.dag = dag, .is_split = io_is_split, .n = n};
  w.state = SEER_NEW_ARRAY(scratch, uint8_t, dag->expr.n + 1);
  w.shift = SEER_NEW_ARRAY(scratch, int64_t, dag->expr.n + 1);
  for (uint32_t s = 0; s < dag->n_stage && !*out_why; s++) {
    const char *why = split_stage(&w, &dag->stage[s], io_is_split);
    if (why) *out_why = seer_arena_printf(arena, "stage %s %s", dag->stage[s].name, why);
  }
  seer_arena_destroy(scratch);
  for (uint32_t b = 0; b < dag->n_buf && !*out_why; b++)
    if (io_is_split[b] && !buffer_is_blocks(&dag->buf[b], n))
      *out_why = seer_arena_printf(arena, "buffer %s is not blocks of images", dag->buf[b].name);
  if (*out_why) return false;
  seer_dag *one = take_one(dag, n, io_is_split, arena);
  seer_status status = seer_dag_verify(one);
  if (status) {
    *out_why = seer_arena_printf(arena, "of one image: %s", seer_status_message(status));
    seer_status_free(status);
    return false;
  }
  seer_dag_finish(one);
  *out_one = one;
  return true;
}
