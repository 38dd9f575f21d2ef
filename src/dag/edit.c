// edit.c - changes of a DAG. All that knows how stages and buffers refer to each other by index is
// here and in build.c.
#include "dag/edit.h"

#include <string.h>

// The stages from `at` on move up by one; a copy of stage `at` stays where it was, without buffers.
static void make_room(seer_dag *dag, uint32_t at) {
  SEER_ASSERT(dag->n_stage < dag->cap_stage, "dag %s: %u stages", dag->name, dag->n_stage);
  memmove(&dag->stage[at + 1], &dag->stage[at], (dag->n_stage - at) * sizeof dag->stage[0]);
  dag->n_stage++;
  dag->access = NULL;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE && dag->buf[b].stage >= at) dag->buf[b].stage++;
  }
}

uint32_t seer_dag_insert_stage(seer_dag *dag, uint32_t before, const char *name,
    seer_stage_role role, const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce) {
  SEER_ASSERT(before <= dag->n_stage, "stage %u of %u", before, dag->n_stage);
  const seer_dag_stage made =
      dag->stage[seer_dag_add_stage(dag, name, role, axes, n_space, n_reduce)];
  dag->n_stage--;
  make_room(dag, before);
  dag->stage[before] = made;
  return before;
}

void seer_dag_reopen_stage(seer_dag *dag, uint32_t stage, seer_stage_role role,
    const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce) {
  seer_dag_axis own[SEER_DAG_MAX_AXES];
  SEER_ASSERT(n_space + n_reduce <= SEER_DAG_MAX_AXES, "%u + %u axes", n_space, n_reduce);
  memcpy(own, axes, (n_space + n_reduce) * sizeof own[0]);
  dag->stage[stage].role = role;
  seer_dag_set_axes(dag, stage, own, n_space, n_reduce);
}

uint32_t seer_dag_replace_body(seer_dag *dag, uint32_t stage, seer_expr body) {
  seer_dag_stage *s = &dag->stage[stage];
  SEER_ASSERT(s->n_values == 1, "stage %s has %u values", s->name, s->n_values);
  s->n_values = 0;
  dag->access = NULL;
  return seer_dag_set_body(dag, stage, s->combiner, &body, 1);
}

bool seer_dag_may_merge(const seer_dag_buf *buf, uint32_t first, uint32_t n) {
  bool has_last = first + n == buf->rank;
  return n > 0 && first + n <= buf->rank && (!has_last || buf->pitch == buf->dim[buf->rank - 1]);
}

void seer_dag_merge_dims(seer_dag *dag, uint32_t buf, uint32_t first, uint32_t n) {
  seer_dag_buf *b = &dag->buf[buf];
  SEER_ASSERT(
      seer_dag_may_merge(b, first, n), "buffer %s, %u dimensions from %u", b->name, n, first);
  bool has_last = first + n == b->rank;
  for (uint32_t d = first + 1; d < first + n; d++) b->dim[first] *= b->dim[d];
  for (uint32_t d = first + n; d < b->rank; d++) b->dim[d + 1 - n] = b->dim[d];
  b->rank = (uint8_t)(b->rank + 1 - n);
  if (has_last) b->pitch = b->dim[first];
  dag->access = NULL;
}

void seer_dag_rename_stage(seer_dag *dag, uint32_t stage, const char *name) {
  seer_dag_stage *s = &dag->stage[stage];
  s->name = seer_dag_fresh_name(dag, name);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    seer_dag_buf *buf = &dag->buf[b];
    if (buf->kind != SEER_BUF_STAGE || buf->stage != stage) continue;
    buf->name = seer_dag_value_name(dag, s, buf->value);
  }
}

void seer_dag_insert_copy(seer_dag *dag, uint32_t stage, const char *name) {
  const char *fresh = seer_dag_fresh_name(dag, name);
  make_room(dag, stage);
  seer_dag_stage *compute = &dag->stage[stage], *copy = &dag->stage[stage + 1];
  uint32_t n_values = compute->n_values;
  compute->name = fresh;
  compute->n_values = 0;
  seer_dag_set_body(dag, stage, compute->combiner, copy->body, n_values);
  seer_dag_reopen_stage(dag, stage + 1, SEER_STAGE_EPILOGUE, copy->axis, copy->n_space, 0);
  seer_expr index[SEER_DAG_MAX_AXES], body[SEER_DAG_MAX_VALUES];
  for (uint32_t a = 0; a < copy->n_space; a++) index[a] = seer_dag_var(dag, stage + 1, a);
  for (uint32_t v = 0; v < n_values; v++) body[v] = seer_dag_load(dag, compute->out[v], index);
  seer_dag_set_body(dag, stage + 1, SEER_COMBINE_NONE, body, n_values);
}

typedef struct {
  uint32_t from, to;
  const uint8_t *order;
} redirect;

static seer_expr redirect_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  const redirect *r = user;
  seer_expr moved[SEER_MAX_RANK];
  bool is_it = load->ref == r->from;
  for (uint32_t d = 0; d < load->n_index; d++) moved[d] = index[is_it ? r->order[d] : d];
  return seer_expr_load_guarded(to, (seer_dtype)load->dtype, is_it ? r->to : load->ref, moved,
      load->n_index, predicate, otherwise);
}

void seer_dag_redirect_loads(
    seer_dag *dag, uint32_t stage, uint32_t from, uint32_t to, const uint8_t *order) {
  seer_dag_stage *s = &dag->stage[stage];
  redirect r = {from, to, order};
  dag->access = NULL;
  for (uint32_t v = 0; v < s->n_values; v++)
    s->body[v] = seer_expr_copy(&dag->expr, &dag->expr, s->body[v], NULL, 0, redirect_load, &r);
}
