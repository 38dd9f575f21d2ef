// facts.c - a sketch's DAG -> operation counts and affine accesses of each stage, over the
// stage's own axes. Made once per sketch list; everything per candidate is nest.c's.
#include <string.h>

#include "space/nest/internal.h"
#include "space/warps.h"

// Operators on integers that round an f32 (code/gen/small.c): to f16 it is an instruction, of two
// steps, wherever it matters. 0: the type is no narrow float.
static float rounding_of(seer_dtype dtype) {
  if (!seer_dtype_format(dtype)) return 0;
  return dtype == SEER_DTYPE_F16 ? 2 : dtype == SEER_DTYPE_BF16 ? 10 : 25;
}

static float rounding_by(const seer_expr_node *node) {
  if (node->op == SEER_EXPR_TF32) return SEER_NEST_TF32_ROUNDING;
  return node->op == SEER_EXPR_CAST ? rounding_of((seer_dtype)node->dtype) : 0;
}

static void count_op(op_count *ops, const seer_expr_node *node) {
  float rounding = rounding_by(node);
  ops->rounding += rounding;
  if (rounding > 0) return;
  bool is_real = seer_dtype_is_float((seer_dtype)node->dtype);
  switch (seer_expr_op_cost((seer_expr_op)node->op)) {
    case SEER_COST_SUM:
      *(is_real ? &ops->add : &ops->integer) += 1;
      break;
    case SEER_COST_PRODUCT:
      if (seer_expr_is_dot2((seer_expr_op)node->op)) {
        ops->halves += 1;
        break;
      }
      *(is_real ? &ops->mul : &ops->integer) += 1;
      if (!is_real) *(node->op == SEER_EXPR_DOT4 ? &ops->dot : &ops->product) += 1;
      break;
    case SEER_COST_QUOTIENT:
      *(is_real ? &ops->div : &ops->integer) += 1;
      break;
    case SEER_COST_CHOICE:
      ops->cmp += 1;
      break;
    case SEER_COST_SERIES:
      ops->special += 1;
      break;
    case SEER_COST_NOTHING:
      break;
  }
}

static bool loads_nothing(const seer_expr_pool *pool, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op == SEER_EXPR_LOAD) return false;
  for (uint32_t a = 0; a < seer_expr_arity((seer_expr_op)node->op); a++) {
    if (!loads_nothing(pool, node->arg[a])) return false;
  }
  return true;
}

// A number is widened where it is loaded, once for all that reads it.
static bool widens_load(const seer_expr_pool *pool, const seer_expr_node *node) {
  if (node->op != SEER_EXPR_CAST) return false;
  const seer_expr_node *from = seer_expr_at(pool, node->arg[0]);
  bool is_float = seer_dtype_is_float((seer_dtype)node->dtype);
  return from->op == SEER_EXPR_LOAD && is_float == seer_dtype_is_float((seer_dtype)from->dtype) &&
      (!is_float || seer_dtype_format((seer_dtype)from->dtype));
}

// Takes `more` into `load` where they differ by small constants only.
static bool merge_load(load_fact *load, const load_fact *more) {
  if (load->buf != more->buf) return false;
  for (uint32_t d = 0; d < load->rank; d++) {
    const seer_access_dim *a = &load->index[d], *b = &more->index[d];
    bool same = a->is_affine && b->is_affine && a->div == b->div && a->is_mod == b->is_mod &&
        memcmp(a->coef, b->coef, sizeof(a->coef)) == 0;
    if (!same) return false;
    int64_t low = seer_min_i64(a->constant, b->constant);
    int64_t high = seer_max_i64(a->constant + a->span, b->constant + b->span);
    bool is_near = a->div > 1 ? high - low == 1
                              : seer_nest_are_beside(a->constant, a->span, b->constant, b->span) &&
            high - low <= UINT16_MAX;
    if (!is_near) return false;
  }
  for (uint32_t d = 0; d < load->rank; d++) {
    seer_access_dim *a = &load->index[d];
    const seer_access_dim *b = &more->index[d];
    int64_t high = seer_max_i64(a->constant + a->span, b->constant + b->span);
    a->constant = seer_min_i64(a->constant, b->constant);
    a->span = (uint16_t)(high - a->constant);
  }
  load->is_guarded |= more->is_guarded;
  return true;
}

static void add_loads(const seer_dag *dag, uint32_t stage, stage_fact *fact, seer_arena *arena) {
  const seer_access_table *table = dag->access;
  for (uint32_t i = table->first_load[stage]; i < table->first_load[stage + 1]; i++) {
    const seer_access *access = &table->load[i];
    seer_access_dim index[SEER_MAX_RANK];
    for (uint32_t d = 0; d < access->rank; d++) {
      index[d] = *seer_access_index(table, access, d);
      for (uint32_t still = index[d].axes & ~(uint32_t)index[d].moving; still; still &= still - 1)
        index[d].coef[__builtin_ctz(still)] = 0;
    }
    load_fact load = {access->buf, access->is_guarded, access->rank, index};
    uint32_t k = 0;
    while (k < fact->n_load && !merge_load(&fact->load[k], &load)) k++;
    if (k < fact->n_load) continue;
    if (fact->n_load == MAX_FACT_LOADS) {
      fact->n_left_out++;
      continue;
    }
    load.index = seer_arena_memdup(arena, index, access->rank * sizeof index[0]);
    fact->load[fact->n_load++] = load;
  }
}

// What a sum over an axis adds up is made of products that are added: each such addition is one
// instruction with its product (code/gen/expr.c).
static bool adds_product(const seer_expr_pool *pool, const seer_expr_node *node) {
  if (node->op != SEER_EXPR_ADD || !seer_dtype_is_float((seer_dtype)node->dtype)) return false;
  return seer_expr_at(pool, node->arg[0])->op == SEER_EXPR_MUL ||
      seer_expr_at(pool, node->arg[1])->op == SEER_EXPR_MUL;
}

// Index and predicate expressions are addressing, not work. A choice by indices only (the rows of a
// transform) costs what its branches cost on average; *out_leaves counts them.
static void count_ops(
    const seer_expr_pool *pool, seer_expr e, bool is_summed, op_count *ops, float *out_leaves) {
  *out_leaves = 1;
  if (e.i == 0) return;
  const seer_expr_node *node = seer_expr_at(pool, e);
  float leaves;
  if (node->op == SEER_EXPR_LOAD) {
    count_ops(pool, node->arg[1], is_summed, ops, &leaves);
    return;
  }
  if (node->op == SEER_EXPR_SELECT && loads_nothing(pool, node->arg[0])) {
    op_count then = {0}, otherwise = {0};
    float n_then, n_otherwise;
    count_ops(pool, node->arg[1], is_summed, &then, &n_then);
    count_ops(pool, node->arg[2], is_summed, &otherwise, &n_otherwise);
    *out_leaves = n_then + n_otherwise;
    add_ops(ops, &then, n_then / *out_leaves);
    add_ops(ops, &otherwise, n_otherwise / *out_leaves);
    return;
  }
  seer_expr byte;
  if (seer_expr_is_word_load(pool, e, &byte)) return;
  if (is_summed && adds_product(pool, node)) {
    ops->fma += 1;
    ops->mul -= 1;  // which is counted where it is met
  } else if (!widens_load(pool, node)) {
    count_op(ops, node);
  } else if (seer_dtype_is_float((seer_dtype)node->dtype)) {
    ops->widened += 1;
  }
  for (uint32_t a = 0; a < seer_expr_arity((seer_expr_op)node->op); a++) {
    count_ops(pool, node->arg[a], is_summed, ops, &leaves);
  }
}

static void fill_stage(const seer_dag *dag, uint32_t s, stage_fact *fact, seer_arena *arena) {
  const seer_dag_stage *stage = &dag->stage[s];
  float leaves;
  bool is_summed = stage->n_reduce > 0 && stage->combiner == SEER_COMBINE_SUM;
  for (uint32_t v = 0; v < stage->n_values; v++) {
    count_ops(&dag->expr, stage->body[v], is_summed, &fact->ops, &leaves);
  }
  add_loads(dag, s, fact, arena);
  const seer_expr_node *top = seer_expr_at(&dag->expr, stage->body[0]);
  bool is_sum = stage->combiner == SEER_COMBINE_SUM;
  fact->is_real = seer_dtype_is_float((seer_dtype)top->dtype);
  fact->is_product_sum = is_sum && fact->is_real && top->op == SEER_EXPR_MUL;
  fact->is_of_tf32 = fact->is_product_sum && seer_warps_is_of_tf32(&dag->expr, top);
  // Each factor is rounded once for all products that it is in: whoever counts accesses counts it.
  if (fact->is_of_tf32) fact->ops.rounding -= 2 * SEER_NEST_TF32_ROUNDING;
  fact->is_dot_sum =
      is_sum && (top->op == SEER_EXPR_DOT4 || seer_expr_is_dot2((seer_expr_op)top->op));
}

seer_nest_facts *seer_nest_facts_build(const seer_sketch_list *list, seer_arena *arena) {
  seer_nest_facts *facts = SEER_NEW(arena, seer_nest_facts);
  facts->list = list;
  facts->of_sketch = SEER_NEW_ARRAY(arena, stage_fact **, list->n);
  for (uint32_t k = 0; k < list->n; k++) {
    const seer_sketch *sketch = list->sketch[k];
    for (uint32_t j = 0; j < k && !facts->of_sketch[k]; j++) {
      if (list->sketch[j]->dag == sketch->dag) facts->of_sketch[k] = facts->of_sketch[j];
    }
    if (facts->of_sketch[k]) continue;
    facts->of_sketch[k] = SEER_NEW_ARRAY(arena, stage_fact *, sketch->n_variant);
    for (uint32_t v = 0; v < sketch->n_variant; v++) {
      const seer_dag *dag = sketch->variant[v]->dag;
      facts->of_sketch[k][v] = SEER_NEW_ARRAY(arena, stage_fact, dag->n_stage);
      for (uint32_t s = 0; s < dag->n_stage; s++)
        fill_stage(dag, s, &facts->of_sketch[k][v][s], arena);
    }
  }
  return facts;
}

struct seer_summariser {
  seer_nest_facts *facts;
  seer_frame frame;
  seer_nest nest;  // of `schedule`, when there was one
  bool has_schedule;
  seer_schedule schedule;
};

seer_summariser *seer_summariser_create(const seer_sketch_list *list, seer_arena *arena) {
  seer_summariser *summariser = SEER_NEW(arena, seer_summariser);
  summariser->facts = seer_nest_facts_build(list, arena);
  return summariser;
}

const seer_nest_facts *seer_summariser_facts(const seer_summariser *s) { return s->facts; }

const seer_nest *seer_summarise(seer_summariser *s, const seer_schedule *schedule) {
  if (s->has_schedule && seer_schedule_equal(&s->schedule, schedule)) return &s->nest;
  seer_frame_make(s->facts->list, schedule, &s->frame);
  seer_nest_make(s->facts, &s->frame, &s->nest);
  s->schedule = *schedule;
  s->has_schedule = true;
  return &s->nest;
}
