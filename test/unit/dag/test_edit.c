// Edits of DAGs: after each the DAG is one (seer_dag_verify), buffers have kept their ids, and the
// interpreter gives the answers that it gave.

#include <string.h>

#include "base/rng.h"
#include "dag/access.h"
#include "dag/edit.h"
#include "nets.h"
#include "support/random_dag.h"
#include "support/test.h"

typedef struct {
  const seer_dag *dag;  // as it was
  const void *input[SEER_DAG_MAX_BUFFERS];
  void *output[SEER_DAG_MAX_BUFFERS];
  seer_arena *arena;
} answers;

static size_t n_bytes(const seer_dag_buf *buf) { return 8 * (size_t)seer_dag_buf_elems(buf); }

static void *evaluate(const answers *of, const seer_dag *dag, uint32_t buf) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, of->arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, of->input[b]);
  }
  uint8_t *out = SEER_NEW_ARRAY(of->arena, uint8_t, n_bytes(&dag->buf[buf]));
  seer_dag_eval_all(eval, buf, out);
  return out;
}

static void remember(answers *of, const seer_dag *dag, seer_rng *rng, seer_arena *arena) {
  *of = (answers){.dag = dag, .arena = arena};
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) of->input[b] = random_dag_input(dag, b, rng, arena);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].is_output) of->output[b] = evaluate(of, dag, b);
  }
}

// Finishes the DAG; true if it is one and all that was an output or an input is what it was.
static bool is_same(const answers *of, seer_dag *dag) {
  seer_dag_finish(dag);
  seer_status status = seer_dag_verify(dag);
  if (status) {
    seer_status_free(status);
    return false;
  }
  for (uint32_t b = 0; b < of->dag->n_buf; b++) {
    const seer_dag_buf *was = &of->dag->buf[b], *is = &dag->buf[b];
    if (was->kind != is->kind || was->is_output != is->is_output) return false;
    if (was->kind != SEER_BUF_STAGE && strcmp(was->name, is->name) != 0) return false;
    if (!was->is_output) continue;
    if (memcmp(of->output[b], evaluate(of, dag, b), n_bytes(was)) != 0) return false;
  }
  return true;
}

// A load of the stage; NULL if it has none with an index.
static const seer_access *random_load(const seer_dag *dag, uint32_t stage, seer_rng *rng) {
  uint32_t first = dag->access->first_load[stage], end = dag->access->first_load[stage + 1];
  if (first == end) return NULL;
  const seer_access *load = &dag->access->load[first + seer_rng_below(rng, end - first)];
  return load->rank > 0 ? load : NULL;
}

// What the stage reads is copied with its dimensions in another order; `fault`: two of them are
// taken for each other.
static bool read_through_copy(seer_dag *dag, uint32_t stage, seer_rng *rng, bool fault) {
  const seer_access *load = random_load(dag, stage, rng);
  if (!load) return false;
  uint32_t buf = load->buf;
  const seer_dag_buf from = dag->buf[buf];
  uint8_t order[SEER_MAX_RANK];
  for (uint8_t d = 0; d < from.rank; d++) order[d] = d;
  for (uint32_t d = from.rank; d-- > 1;) {
    uint32_t other = (uint32_t)seer_rng_below(rng, d + 1);
    uint8_t swap = order[d];
    order[d] = order[other];
    order[other] = swap;
  }
  seer_dag_axis axis[SEER_MAX_RANK] = {{.extent = 0}};
  for (uint32_t d = 0; d < from.rank; d++)
    axis[d] = (seer_dag_axis){"d", from.dim[order[d]], SEER_AXIS_OTHER};
  uint32_t at = seer_dag_insert_stage(dag, stage, from.name, SEER_STAGE_PACK, axis, from.rank, 0);
  assert_int_equal(at, stage);
  seer_expr index[SEER_MAX_RANK];
  for (uint32_t d = 0; d < from.rank; d++) index[order[d]] = seer_dag_var(dag, stage, d);
  seer_expr body = seer_dag_load(dag, buf, index);
  uint32_t copy = seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
  assert_int_equal(copy, dag->n_buf - 1);
  if (fault) {
    if (from.rank < 2 || from.dim[order[0]] == 1 || from.dim[order[1]] == 1) return false;
    uint8_t swap = order[0];
    order[0] = order[1];
    order[1] = swap;
  }
  seer_dag_redirect_loads(dag, stage + 1, buf, copy, order);
  return true;
}

// The same stage again, over new variables.
static void make_anew(seer_dag *dag, uint32_t stage) {
  const seer_dag_stage old = dag->stage[stage];
  seer_dag_reopen_stage(dag, stage, old.role, dag->stage[stage].axis, old.n_space, old.n_reduce);
  if (old.n_space + old.n_reduce > 0) assert_int_not_equal(dag->stage[stage].var0, old.var0);
  seer_expr *map = SEER_NEW_ARRAY(dag->arena, seer_expr, dag->n_var), body[SEER_DAG_MAX_VALUES];
  for (uint32_t a = 0; a < (uint32_t)old.n_space + old.n_reduce; a++)
    map[old.var0 + a] = seer_dag_var(dag, stage, a);
  for (uint32_t v = 0; v < old.n_values; v++)
    body[v] = seer_expr_copy(&dag->expr, &dag->expr, old.body[v], map, dag->n_var, NULL, NULL);
  seer_dag_set_body(dag, stage, old.combiner, body, old.n_values);
  for (uint32_t v = 0; v < old.n_values; v++)
    assert_int_equal(dag->stage[stage].out[v], old.out[v]);
}

static void answers_stay(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 5);
  uint32_t n_edit[4] = {0}, n_fault = 0, n_seen = 0;
  for (uint32_t k = 0; k < 200; k++) {
    seer_arena *arena = seer_arena_create("test");
    const seer_dag *before = random_dag_of(k, arena);
    answers of;
    remember(&of, before, &rng, arena);
    seer_dag *dag = seer_dag_clone(before, arena);
    for (uint32_t n = 0; n < 4; n++) {
      uint32_t kind = (uint32_t)seer_rng_below(&rng, 4);
      uint32_t stage = (uint32_t)seer_rng_below(&rng, dag->n_stage);
      bool is_done = true;
      if (kind == 0) seer_dag_insert_copy(dag, stage, dag->stage[0].name);
      if (kind == 1) is_done = read_through_copy(dag, stage, &rng, false);
      if (kind == 2) make_anew(dag, stage);
      if (kind == 3) seer_dag_rename_stage(dag, stage, "other name");
      n_edit[kind] += is_done;
      assert_true(!is_done || !dag->access || kind == 3);
      assert_true(is_same(&of, dag));
    }
    dag = seer_dag_clone(before, arena);
    uint32_t stage = (uint32_t)seer_rng_below(&rng, dag->n_stage);
    if (read_through_copy(dag, stage, &rng, true)) {
      n_fault++;
      n_seen += !is_same(&of, dag);
    }
    seer_arena_destroy(arena);
  }
  for (uint32_t kind = 0; kind < 4; kind++) assert_true(n_edit[kind] > 100);
  assert_true(n_fault > 30 && n_seen > n_fault * 3 / 4);
}

static void stages_keep_their_places(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint32_t out;
  seer_dag *dag = make_argmax(arena, 4, 6, &out);  // a stage of two values
  dag->stage[0].tolerance = 0.5;
  uint32_t n_buf = dag->n_buf;
  seer_dag_insert_copy(dag, 0, "acc");
  seer_dag_finish(dag);
  assert_null(seer_dag_verify(dag));
  assert_int_equal(dag->n_stage, 2);
  assert_int_equal(dag->n_buf, n_buf + 2);
  assert_string_equal(dag->stage[0].name, "acc");
  assert_string_equal(dag->buf[n_buf + 1].name, "acc.1");
  assert_int_equal(dag->buf[n_buf].stage, 0);
  assert_int_equal(dag->buf[out].stage, 1);
  assert_true(dag->stage[1].tolerance == 0.5);
  assert_true(seer_access_is_elementwise(dag, 0, 1));
  seer_dag_rename_stage(dag, 1, "acc");  // taken
  assert_string_equal(dag->stage[1].name, "acc_2");
  assert_string_equal(dag->buf[out].name, "acc_2");
  assert_string_equal(dag->buf[out + 1].name, "acc_2.1");
  seer_arena_destroy(arena);
}

// A stage whose reader is made for it may take another shape.
static void buffers_take_new_shapes(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const char *text =
      "dag t { input $x f32[4, 6] stage a role prologue [y<4, x<6] = $x[y, x] + 1.0 "
      "stage b role anchor [y<4, x<6] = $a[y, x] * 2.0 output $b }";
  seer_dag *dag;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  assert_null(seer_dag_parse("test", text, strlen(text), arena, &dag));
  answers of;
  remember(&of, dag, &rng, arena);
  dag = seer_dag_clone(dag, arena);
  seer_expr_pool *pool = &dag->expr;
  uint32_t a = dag->stage[0].out[0];
  seer_dag_axis axis = {"flat", 24, SEER_AXIS_OTHER};
  seer_dag_reopen_stage(dag, 0, SEER_STAGE_PROLOGUE, &axis, 1, 0);
  seer_expr flat = seer_dag_var(dag, 0, 0), six = seer_expr_i(pool, 6);
  seer_expr at[2] = {seer_expr_binary(pool, SEER_EXPR_DIV, flat, six),
      seer_expr_binary(pool, SEER_EXPR_MOD, flat, six)};
  seer_expr body = seer_expr_binary(pool, SEER_EXPR_ADD, seer_dag_load(dag, 0, at), f32(dag, 1));
  assert_int_equal(seer_dag_set_body(dag, 0, SEER_COMBINE_NONE, &body, 1), a);
  assert_int_equal(dag->buf[a].rank, 1);
  assert_int_equal(dag->buf[a].dim[0], 24);
  assert_int_equal(dag->buf[a].pitch, 24);
  assert_false(is_same(&of, dag));  // its reader has two indices yet
  seer_dag_reopen_stage(dag, 1, SEER_STAGE_ANCHOR, dag->stage[1].axis, 2, 0);
  seer_expr index = add(dag, muli(dag, seer_dag_var(dag, 1, 0), 6), seer_dag_var(dag, 1, 1));
  body = seer_expr_binary(pool, SEER_EXPR_MUL, seer_dag_load(dag, a, &index), f32(dag, 2));
  seer_dag_set_body(dag, 1, SEER_COMBINE_NONE, &body, 1);
  assert_true(is_same(&of, dag));
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_stay),
      cmocka_unit_test(stages_keep_their_places),
      cmocka_unit_test(buffers_take_new_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
