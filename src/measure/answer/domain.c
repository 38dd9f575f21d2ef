// domain.c - a DAG and ranges of its inputs -> ranges of all its values, and what may be undefined;
// from that, ranges of the inputs by which as little as possible is.

#include "measure/answer/domain.h"

#include <math.h>
#include <string.h>

#include "measure/answer/interval.h"

typedef struct {
  uint64_t bits[SEER_DAG_MAX_BUFFERS / 64];
} buffers;

// What is known of an expression, whichever stage it is part of.
typedef struct {
  bool is_known, is_undefined;
  bool is_inexact;  // real arithmetic, whose last digit is the schedule's
  bool has_jump;
  seer_domain range;
  buffers from;  // inputs that feed it
} fact;

typedef struct {
  const seer_dag *dag;
  const seer_domain *domains;
  const int64_t *extent;  // of axes, by variable
  fact *node;  // by expression
  fact buf[SEER_DAG_MAX_BUFFERS];
} walk;

static void add_buffers(buffers *to, const buffers *from) {
  for (size_t k = 0; k < SEER_COUNT_OF(to->bits); k++) to->bits[k] |= from->bits[k];
}
static bool has_buffer(const buffers *set, uint32_t b) { return set->bits[b / 64] >> b % 64 & 1; }

static const fact *find(walk *w, seer_expr e);

static void inherit(fact *to, const fact *from) {
  add_buffers(&to->from, &from->from);
  to->is_inexact |= from->is_inexact;
  to->has_jump |= from->has_jump;
}

// ---- expressions
static void find_load(walk *w, const seer_expr_node *node, seer_expr e, fact *out) {
  const fact *source = &w->buf[node->ref];
  out->range = source->range;
  inherit(out, source);
  for (uint32_t k = 0; k < node->n_index; k++) {
    const fact *index = find(w, seer_expr_index(&w->dag->expr, e, k));
    add_buffers(&out->from, &index->from);
    out->has_jump |= index->has_jump || index->is_inexact;
  }
  if (node->arg[0].i == 0) return;
  const fact *predicate = find(w, node->arg[0]), *otherwise = find(w, node->arg[1]);
  out->has_jump |= predicate->has_jump || predicate->is_inexact;
  inherit(out, otherwise);
  out->range = seer_interval_union(out->range, otherwise->range);
}

// Whole numbers of reals, and what is true of them: where they lie between two, the last digit
// decides.
static bool jumps(const seer_dag *dag, const seer_expr_node *node) {
  seer_dtype from = (seer_dtype)seer_expr_at(&dag->expr, node->arg[0])->dtype;
  switch (node->op) {
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
    case SEER_EXPR_SIGN:
    case SEER_EXPR_MOD:
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
      return seer_dtype_is_float(from);
    case SEER_EXPR_CAST:
      return seer_dtype_is_float(from) && !seer_dtype_is_float((seer_dtype)node->dtype);
    default:
      return false;
  }
}

// Exact whatever the schedule: chosen, moved, or of whole numbers.
static bool is_exact_op(const seer_expr_node *node) {
  switch (node->op) {
    case SEER_EXPR_MIN:
    case SEER_EXPR_MAX:
    case SEER_EXPR_NEG:
    case SEER_EXPR_ABS:
    case SEER_EXPR_SIGN:
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
    case SEER_EXPR_SELECT:
    case SEER_EXPR_CAST:
      return true;
    default:
      return !seer_dtype_is_float((seer_dtype)node->dtype);
  }
}

static void find_operation(walk *w, const seer_expr_node *node, fact *out) {
  seer_domain arg[3] = {{0, 0}, {0, 0}, {0, 0}};
  uint32_t n = seer_expr_arity((seer_expr_op)node->op);
  for (uint32_t k = 0; k < n; k++) {
    const fact *own = find(w, node->arg[k]);
    arg[k] = own->range;
    inherit(out, own);
  }
  const seer_interval_op op = {.op = (seer_expr_op)node->op,
      .dtype = (seer_dtype)node->dtype,
      .is_same = n == 2 && node->arg[0].i == node->arg[1].i,
      .arg = {arg[0], arg[1], arg[2]}};
  out->range = seer_interval_apply(&op, &out->is_undefined);
  out->has_jump |= out->is_inexact && jumps(w->dag, node);
  if (!is_exact_op(node)) out->is_inexact = true;
  if (!seer_dtype_is_float((seer_dtype)node->dtype)) out->is_inexact = false;
}

static const fact *find(walk *w, seer_expr e) {
  fact *out = &w->node[e.i];
  if (out->is_known) return out;
  const seer_expr_node *node = seer_expr_at(&w->dag->expr, e);
  *out = (fact){.is_known = true};
  switch (node->op) {
    case SEER_EXPR_CONST_F:
      out->range = (seer_domain){node->value.f, node->value.f};
      break;
    case SEER_EXPR_CONST_I:
      out->range = (seer_domain){(double)node->value.i, (double)node->value.i};
      break;
    case SEER_EXPR_VAR:
      out->range = (seer_domain){0, (double)w->extent[node->ref] - 1};
      break;
    case SEER_EXPR_LOAD:
      find_load(w, node, e, out);
      break;
    default:
      find_operation(w, node, out);
  }
  return out;
}

// ---- stages
static int64_t reduced_elems(const seer_dag_stage *stage) {
  int64_t n = 1;
  for (uint32_t k = 0; k < stage->n_reduce; k++) n *= stage->axis[stage->n_space + k].extent;
  return n;
}

static void find_stage(walk *w, const seer_dag_stage *stage) {
  bool is_arg = seer_combiner_is_arg(stage->combiner);
  for (uint32_t v = 0; v < stage->n_values; v++) {
    const fact *body = find(w, stage->body[v]);
    fact *out = &w->buf[stage->out[v]];
    seer_dtype dtype = w->dag->buf[stage->out[v]].dtype;
    *out = *body;
    out->range = seer_interval_combine(stage->combiner, dtype, body->range, reduced_elems(stage));
    bool is_sum = stage->combiner == SEER_COMBINE_SUM || stage->combiner == SEER_COMBINE_PROD;
    out->is_inexact |= is_sum && seer_dtype_is_float(dtype);
    // Which of two that are nearly equal is the larger?
    if (is_arg && v > 0) out->has_jump |= find(w, stage->body[0])->is_inexact;
  }
}

static const int64_t *extents_of(const seer_dag *dag, seer_arena *arena) {
  int64_t *extent = SEER_NEW_ARRAY(arena, int64_t, dag->n_var + 1);
  for (uint32_t v = 0; v <= dag->n_var; v++) extent[v] = 1;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++)
      if (stage->var0 + k <= dag->n_var) extent[stage->var0 + k] = stage->axis[k].extent;
  }
  return extent;
}

static void walk_all(walk *w, const seer_dag *dag, const seer_domain *domains) {
  w->domains = domains;
  memset(w->node, 0, dag->expr.n * sizeof(*w->node));
  memset(w->buf, 0, sizeof w->buf);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    w->buf[b].range = domains[b];
    w->buf[b].from.bits[b / 64] |= (uint64_t)1 << b % 64;
  }
  for (uint32_t s = 0; s < dag->n_stage; s++) find_stage(w, &dag->stage[s]);
}

static walk *new_walk(const seer_dag *dag, seer_arena *arena) {
  walk *w = SEER_NEW(arena, walk);
  *w = (walk){.dag = dag,
      .extent = extents_of(dag, arena),
      .node = SEER_NEW_ARRAY(arena, fact, dag->expr.n + 1)};
  return w;
}

static uint32_t count_undefined(const walk *w) {
  uint32_t n = 0;
  for (size_t e = 0; e < w->dag->expr.n; e++) n += w->node[e].is_known && w->node[e].is_undefined;
  return n;
}

void seer_ranges_find(
    const seer_dag *dag, const seer_domain *domains, seer_arena *arena, seer_ranges *out) {
  walk *w = new_walk(dag, arena);
  walk_all(w, dag, domains);
  out->n_undefined = count_undefined(w);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    out->of[b] = w->buf[b].range;
    out->has_jumps[b] = w->buf[b].has_jump;
  }
}

// ---- what may be chosen from
// In this order: the first that helps most is taken. The usual one is the first.
static const seer_domain reals[] = {{-1, 1},  // whatever is defined everywhere
    {-0.875, 0.875},  // atanh, acos, log(1 + x)
    {0.125, 1},  // logarithms, roots, divisors, bases
    {0.125, 0.875},  // log(x) - log(1 - x)
    {-1, -0.125},  // the same of -x
    {1.0625, 2},  // acosh
    {-2, -1.0625}};
static const seer_domain wholes[] = {{0, 1}, {1, 4}};  // and divisors
#define MAX_CHOICES (2 * SEER_COUNT_OF(reals))

typedef struct {
  uint32_t n, at;
  seer_domain domain[MAX_CHOICES];
} choices;

// Of a weight, so that sums of as many products as it has rows are near 1.
static double scale_of(const seer_dag_buf *buf) {
  if (buf->kind != SEER_BUF_WEIGHT || buf->rank <= 1) return 1;
  return sqrt(3.0 / (double)seer_max_i64(1, seer_dag_buf_elems(buf) / buf->dim[0]));
}

static void list_choices(const seer_dag_buf *buf, double last_place, choices *out) {
  *out = (choices){0};
  if (!seer_dtype_is_float(buf->dtype)) {
    size_t n = buf->dtype == SEER_DTYPE_BOOL ? 1 : SEER_COUNT_OF(wholes);
    bool is_place = isfinite(last_place) && buf->dtype != SEER_DTYPE_BOOL;
    if (is_place) out->domain[out->n++] = (seer_domain){0, last_place};
    for (size_t k = 0; k < n && !is_place; k++) out->domain[out->n++] = wholes[k];
    return;
  }
  double scale = scale_of(buf);
  for (size_t k = 0; k < SEER_COUNT_OF(reals); k++)
    out->domain[out->n++] = (seer_domain){reals[k].low * scale, reals[k].high * scale};
  for (size_t k = 1; k < SEER_COUNT_OF(reals) && scale != 1; k++) out->domain[out->n++] = reals[k];
}

// ---- places
// The last place that each integer input may name, as far as its uses say so: as an index, or held
// against an axis.
typedef struct {
  walk *w;
  double last[SEER_DAG_MAX_BUFFERS];  // infinite: none is named by it
} places;

static void limit(places *p, const fact *index, double last) {
  for (uint32_t b = 0; b < p->w->dag->n_buf; b++)
    if (has_buffer(&index->from, b) && !seer_dtype_is_float(p->w->dag->buf[b].dtype))
      p->last[b] = fmin(p->last[b], last);
}

static bool is_axis(const seer_dag *dag, seer_expr e) {
  seer_affine affine;
  return seer_expr_at(&dag->expr, e)->op != SEER_EXPR_CONST_I &&
      seer_expr_affine(&dag->expr, e, &affine) && affine.n > 0;
}

static void find_places(places *p) {
  const seer_dag *dag = p->w->dag;
  for (uint32_t b = 0; b < dag->n_buf; b++) p->last[b] = INFINITY;
  for (uint32_t e = 1; e < dag->expr.n; e++) {
    if (!p->w->node[e].is_known) continue;
    const seer_expr_node *node = &dag->expr.node[e];
    if (node->op == SEER_EXPR_LOAD) {
      const seer_dag_buf *buf = &dag->buf[node->ref];
      for (uint32_t k = 0; k < node->n_index; k++)
        limit(p, &p->w->node[seer_expr_index(&dag->expr, (seer_expr){e}, k).i],
            (double)buf->dim[k] - 1);
    }
    if (node->op < SEER_EXPR_LT || node->op > SEER_EXPR_NE) continue;
    for (int k = 0; k < 2; k++)
      if (is_axis(dag, node->arg[k]))
        limit(p, &p->w->node[node->arg[1 - k].i], fmax(0, p->w->node[node->arg[k].i].range.high));
  }
}

// ---- choosing
typedef struct {
  const seer_dag *dag;
  walk *w;
  choices of[SEER_DAG_MAX_BUFFERS];
  seer_domain *domains;
  uint32_t n_undefined;
} search;

static uint32_t rate(search *s) {
  for (uint32_t b = 0; b < s->dag->n_buf; b++)
    if (s->of[b].n > 0) s->domains[b] = s->of[b].domain[s->of[b].at];
  walk_all(s->w, s->dag, s->domains);
  return count_undefined(s->w);
}

// Choice k for all of these inputs that have as many.
static uint32_t try(search *s, const buffers *which, uint32_t k, uint32_t at[]) {
  uint32_t before[SEER_DAG_MAX_BUFFERS];
  for (uint32_t b = 0; b < s->dag->n_buf; b++) {
    before[b] = s->of[b].at;
    if (has_buffer(which, b) && k < s->of[b].n) s->of[b].at = k;
    at[b] = s->of[b].at;
  }
  uint32_t n = rate(s);
  for (uint32_t b = 0; b < s->dag->n_buf; b++) s->of[b].at = before[b];
  return n;
}

typedef struct {
  uint32_t n_undefined;
  uint32_t at[SEER_DAG_MAX_BUFFERS];
} move;

static void consider(search *s, const buffers *which, move *best) {
  for (uint32_t k = 0; k < MAX_CHOICES; k++) {
    uint32_t at[SEER_DAG_MAX_BUFFERS];
    uint32_t n = try(s, which, k, at);
    if (n >= best->n_undefined) continue;
    best->n_undefined = n;
    memcpy(best->at, at, sizeof at);
  }
}

// One input, or all that feed an undefined operation: a sum of products is positive if both are.
static bool improve(search *s, seer_arena *arena) {
  uint32_t n_set = 0;
  buffers *set = SEER_NEW_ARRAY(arena, buffers, s->n_undefined + 1), any = {{0}};
  for (size_t e = 1; e < s->dag->expr.n; e++) {
    const fact *f = &s->w->node[e];
    if (!f->is_known || !f->is_undefined) continue;
    bool is_new = true;
    for (uint32_t k = 0; k < n_set; k++)
      is_new = is_new && memcmp(&set[k], &f->from, sizeof f->from) != 0;
    if (is_new) set[n_set++] = f->from;
    add_buffers(&any, &f->from);
  }
  move best = {.n_undefined = s->n_undefined};
  for (uint32_t b = 0; b < s->dag->n_buf; b++) {
    buffers one = {{0}};
    if (!has_buffer(&any, b) || s->of[b].n < 2) continue;
    one.bits[b / 64] |= (uint64_t)1 << b % 64;
    consider(s, &one, &best);
  }
  if (best.n_undefined > 0)
    for (uint32_t k = 0; k < n_set; k++) consider(s, &set[k], &best);
  bool is_better = best.n_undefined < s->n_undefined;
  for (uint32_t b = 0; is_better && b < s->dag->n_buf; b++) s->of[b].at = best.at[b];
  s->n_undefined = rate(s);
  return is_better;
}

void seer_domains_choose(
    const seer_dag *dag, seer_arena *arena, seer_domain out[SEER_DAG_MAX_BUFFERS]) {
  search *s = SEER_NEW(arena, search);
  places *p = SEER_NEW(arena, places);
  *s = (search){.dag = dag, .w = new_walk(dag, arena), .domains = out};
  p->w = s->w;
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].kind != SEER_BUF_STAGE) list_choices(&dag->buf[b], INFINITY, &s->of[b]);
  (void)rate(s);
  find_places(p);
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].kind != SEER_BUF_STAGE) list_choices(&dag->buf[b], p->last[b], &s->of[b]);
  s->n_undefined = rate(s);
  while (s->n_undefined > 0 && improve(s, arena)) continue;
}
