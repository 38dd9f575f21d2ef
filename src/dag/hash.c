// hash.c - the three keys of a DAG: structure, shape, content; and whether two are alike.
// The stages are walked from the outputs, producers first, and what is met gets its number in that
// order; so names, the order of inputs and of independent stages do not matter. The walk appends
// tokens to the structure; every index becomes a slot there (with a class where it decides which
// sketches exist) and its value is appended to the shape; every float becomes its class, and its
// bits are appended to the content, as those of integers are that are data. Strides, dilations and
// pads of 1, 1 and 0 fold away in the builders, so "is it 1 (0)" is part of the form of the
// expression already.
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "dag/dag.h"

typedef struct {
  const seer_dag *dag;
  uint64_t structure, shape, content;
  uint32_t n_buf, n_stage;
  uint32_t buf_number[SEER_DAG_MAX_BUFFERS], stage_number[SEER_DAG_MAX_STAGES];  // 0: not met yet
  uint32_t *node_number;  // by expression, within a stage: 0 not met yet
  uint32_t n_node;
} hasher;

static void token(hasher *h, uint64_t value) {
  h->structure = seer_hash_u64(value + 1, h->structure);
}
static void slot(hasher *h, int64_t value) {
  h->shape = seer_hash_u64((uint64_t)value + 1, h->shape);
}

// As a bound (of min or max) 1 is a number like any other: Clip(0, 6) and Clip(0, 1) are one task.
static void literal(hasher *h, double value, bool is_bound) {
  uint64_t bits, kind = 5;
  memcpy(&bits, &value, sizeof bits);
  if (value == 0) kind = 0;
  if (value == 1 && !is_bound) kind = 1;
  if (value == -1 && !is_bound) kind = 2;
  if (isinf(value)) kind = value > 0 ? 3 : 4;
  token(h, kind);
  h->content = seer_hash_u64(bits, h->content);
}

// Indices are of 64 bits. What has fewer is data: a zero point, what an image is padded with.
static void number(hasher *h, seer_dtype dtype, int64_t value) {
  if (seer_dtype_bytes(dtype) == 8 || dtype == SEER_DTYPE_BOOL)
    slot(h, value);
  else
    h->content = seer_hash_u64((uint64_t)value + 1, h->content);
}

static void walk_stage(hasher *h, uint32_t stage);

static void walk_buf(hasher *h, uint32_t b) {
  const seer_dag_buf *buf = &h->dag->buf[b];
  if (h->buf_number[b] != 0) {
    token(h, h->buf_number[b]);
    return;
  }
  if (buf->kind == SEER_BUF_STAGE) {
    SEER_ASSERT(
        h->stage_number[buf->stage] != 0, "stage %u is read before it was walked", buf->stage);
    token(h, 1000 + h->stage_number[buf->stage] * SEER_DAG_MAX_VALUES + buf->value);
    return;
  }
  h->buf_number[b] = ++h->n_buf;
  token(h, 100 + h->n_buf);
  token(h, (uint64_t)buf->kind);
  token(h, (uint64_t)buf->dtype);
  token(h, buf->rank);
  for (uint32_t k = 0; k < buf->rank; k++) slot(h, buf->dim[k]);
  slot(h, buf->pitch);
}

static void walk_expr(hasher *h, const seer_dag_stage *stage, seer_expr e, bool is_bound) {
  if (e.i == 0) {
    token(h, 0);
    return;
  }
  const seer_expr_node *node = seer_expr_at(&h->dag->expr, e);
  // Shared data is walked once. Constants and index arithmetic are not: there two nodes may be one
  // only because two numbers happen to be equal, which must not show in the structure.
  bool is_shareable = node->op != SEER_EXPR_CONST_F && seer_dtype_is_float((seer_dtype)node->dtype);
  if (is_shareable && h->node_number[e.i] != 0) {
    token(h, 500);
    token(h, h->node_number[e.i]);
    return;
  }
  if (is_shareable) h->node_number[e.i] = ++h->n_node;
  token(h, node->op);
  token(h, node->dtype);
  if (node->op == SEER_EXPR_CONST_F) {
    literal(h, node->value.f, is_bound);
  } else if (node->op == SEER_EXPR_CONST_I) {
    number(h, (seer_dtype)node->dtype, node->value.i);
  } else if (node->op == SEER_EXPR_VAR) {
    token(h, node->ref - stage->var0);
  } else if (node->op == SEER_EXPR_LOAD) {
    walk_buf(h, node->ref);
    for (uint32_t k = 0; k < node->n_index; k++)
      walk_expr(h, stage, h->dag->expr.index[node->index0 + k], false);
    walk_expr(h, stage, node->arg[0], false);
    walk_expr(h, stage, node->arg[1], false);
  } else {
    bool bounds = node->op == SEER_EXPR_MIN || node->op == SEER_EXPR_MAX;
    for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++)
      walk_expr(h, stage, node->arg[k], bounds);
  }
}

typedef struct {
  hasher *h;
  uint32_t stage;
} producer_walk;

static void walk_producer(void *user, seer_expr e) {
  producer_walk *walk = user;
  const seer_expr_node *node = seer_expr_at(&walk->h->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &walk->h->dag->buf[node->ref];
  if (buf->kind == SEER_BUF_STAGE && buf->stage < walk->stage) walk_stage(walk->h, buf->stage);
}

static void walk_stage(hasher *h, uint32_t stage) {
  if (h->stage_number[stage] != 0) return;
  const seer_dag_stage *s = &h->dag->stage[stage];
  producer_walk walk = {h, stage};
  for (uint32_t v = 0; v < s->n_values; v++)
    seer_expr_visit(&h->dag->expr, s->body[v], walk_producer, &walk);
  h->stage_number[stage] = ++h->n_stage;
  token(h, 2000);
  token(h, (uint64_t)s->role);
  token(h, (uint64_t)s->combiner);
  token(h, s->n_space);
  token(h, s->n_reduce);
  token(h, s->n_values);
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++) {
    const seer_dag_axis *axis = &s->axis[k];
    token(h, (uint64_t)axis->role);
    slot(h, axis->extent);
    // The extent of a window decides which sketches exist (Winograd needs 3, a 1x1 has no window).
    bool is_window = axis->role == SEER_AXIS_KY || axis->role == SEER_AXIS_KX;
    if (is_window && k >= s->n_space) token(h, axis->extent == 1 ? 1 : axis->extent == 3 ? 3 : 0);
  }
  h->content = seer_hash_u64((uint64_t)(s->tolerance * 1e15), h->content);
  memset(h->node_number, 0, h->dag->expr.n * sizeof h->node_number[0]);
  h->n_node = 0;
  for (uint32_t v = 0; v < s->n_values; v++) {
    walk_expr(h, s, s->body[v], false);
    const seer_dag_buf *buf = &h->dag->buf[s->out[v]];
    token(h, buf->is_output);
    slot(h, buf->pitch);
  }
}

static hasher walk_dag(const seer_dag *dag) {
  seer_arena *scratch = seer_arena_create("dag hash");
  hasher h = {.dag = dag, .structure = 1, .shape = 2, .content = 3};
  h.node_number = SEER_NEW_ARRAY(scratch, uint32_t, dag->expr.n);
  for (int pass = 0; pass < 2; pass++) {  // outputs, then what nobody reads
    for (uint32_t s = 0; s < dag->n_stage; s++) {
      bool is_output = false;
      for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
        is_output |= dag->buf[dag->stage[s].out[v]].is_output;
      if (is_output || pass == 1) walk_stage(&h, s);
    }
  }
  seer_arena_destroy(scratch);
  return h;
}

seer_dag_key seer_dag_hash(const seer_dag *dag) {
  hasher h = walk_dag(dag);
  h.content = seer_hash_u64(h.structure, seer_hash_u64(h.shape, h.content));
  return (seer_dag_key){h.structure, h.shape, h.content};
}

void seer_dag_numbers(const seer_dag *dag, uint32_t out_number[SEER_DAG_MAX_BUFFERS]) {
  const hasher h = walk_dag(dag);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    out_number[b] = buf->kind == SEER_BUF_STAGE
        ? SEER_DAG_MAX_BUFFERS + h.stage_number[buf->stage] * SEER_DAG_MAX_VALUES + buf->value
        : h.buf_number[b];
  }
}

// ---- alike in everything: both were built by the same calls, or one differs. Expressions are
// numbered in the order in which they were made, so ids can be compared.

static bool is_same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_node(const seer_expr_node *a, const seer_expr_node *b) {
  return a->op == b->op && a->dtype == b->dtype && a->n_index == b->n_index && a->ref == b->ref &&
      a->index0 == b->index0 && memcmp(a->arg, b->arg, sizeof a->arg) == 0 &&
      memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

static bool is_same_pool(const seer_expr_pool *a, const seer_expr_pool *b) {
  if (a->n != b->n || a->n_index != b->n_index) return false;
  for (size_t k = 1; k < a->n; k++)
    if (!is_same_node(&a->node[k], &b->node[k])) return false;
  return a->n_index == 0 || memcmp(a->index, b->index, a->n_index * sizeof *a->index) == 0;
}

static bool is_same_buf(const seer_dag_buf *a, const seer_dag_buf *b) {
  return a->dtype == b->dtype && a->kind == b->kind && a->is_output == b->is_output &&
      a->rank == b->rank && a->pitch == b->pitch &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0 && is_same_text(a->name, b->name) &&
      (a->kind != SEER_BUF_STAGE || (a->stage == b->stage && a->value == b->value));
}

static bool is_same_stage(const seer_dag_stage *a, const seer_dag_stage *b) {
  if (a->role != b->role || a->n_space != b->n_space || a->n_reduce != b->n_reduce ||
      a->var0 != b->var0 || a->combiner != b->combiner || a->n_values != b->n_values ||
      a->is_const != b->is_const || memcmp(&a->tolerance, &b->tolerance, sizeof a->tolerance) != 0)
    return false;
  for (uint32_t k = 0; k < (uint32_t)a->n_space + a->n_reduce; k++) {
    const seer_dag_axis *x = &a->axis[k], *y = &b->axis[k];
    if (x->extent != y->extent || x->role != y->role || !is_same_text(x->name, y->name))
      return false;
  }
  for (uint32_t v = 0; v < a->n_values; v++)
    if (a->body[v].i != b->body[v].i || a->out[v] != b->out[v]) return false;
  return is_same_text(a->name, b->name);
}

bool seer_dag_is_like(const seer_dag *a, const seer_dag *b) {
  bool is_like = a->n_buf == b->n_buf && a->n_stage == b->n_stage && a->n_var == b->n_var &&
      is_same_text(a->name, b->name) && is_same_pool(&a->expr, &b->expr);
  for (uint32_t k = 0; is_like && k < a->n_buf; k++) is_like = is_same_buf(&a->buf[k], &b->buf[k]);
  for (uint32_t k = 0; is_like && k < a->n_stage; k++)
    is_like = is_same_stage(&a->stage[k], &b->stage[k]);
  return is_like;
}
