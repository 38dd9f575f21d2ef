// For chains of stages of mixed types, every sketch and random schedules: the lanes that the sketch
// reckons with are those that tile IR generates for its statements, and no access of a vector loop
// is longer than what a store without a place has room for. Types are drawn, of inputs, of what is
// in between (inlined or not), of indices that data give, and of what is reduced.
#include <stdio.h>
#include <string.h>

#include "code/tile/pass.h"
#include "space/lower.h"
#include "support/test.h"
#include "support/test_target.h"

#define N_DAGS 1500
#define SAMPLES 2

static const seer_dtype types[] = {SEER_DTYPE_I8, SEER_DTYPE_U8, SEER_DTYPE_I16, SEER_DTYPE_I32,
    SEER_DTYPE_I64, SEER_DTYPE_U64, SEER_DTYPE_BOOL, SEER_DTYPE_F16, SEER_DTYPE_BF16,
    SEER_DTYPE_F8E4M3FN, SEER_DTYPE_F32, SEER_DTYPE_F64};

static seer_dtype any_type(seer_rng *rng) {
  return types[seer_rng_below(rng, SEER_COUNT_OF(types))];
}

typedef struct {
  seer_dag *dag;
  seer_rng rng;
  uint32_t n_input;
  int64_t rows, columns;
} builder;

static const int64_t table_rows = 11;

static seer_expr load_input(builder *b, seer_expr i, seer_expr j) {
  seer_dag *dag = b->dag;
  char name[16];
  snprintf(name, sizeof name, "x%u", b->n_input++);
  if (seer_rng_below(&b->rng, 3) > 0) {
    const int64_t dim[2] = {b->rows, b->columns};
    uint32_t buf = seer_dag_add_input(dag, name, SEER_BUF_ACTIVATION, any_type(&b->rng), dim, 2, 0);
    return seer_dag_load(dag, buf, (seer_expr[2]){i, j});
  }
  // Where an index says, along the lanes.
  uint32_t table =
      seer_dag_add_input(dag, name, SEER_BUF_ACTIVATION, any_type(&b->rng), &table_rows, 1, 0);
  name[0] = 'g';
  seer_dtype index_type = seer_rng_below(&b->rng, 2) ? SEER_DTYPE_I64 : SEER_DTYPE_I32;
  uint32_t index =
      seer_dag_add_input(dag, name, SEER_BUF_ACTIVATION, index_type, &b->columns, 1, 0);
  seer_expr at = seer_expr_cast(&dag->expr, SEER_DTYPE_I64, seer_dag_load(dag, index, &j));
  at = seer_expr_binary(&dag->expr, SEER_EXPR_MAX, at, seer_expr_i(&dag->expr, 0));
  at = seer_expr_binary(&dag->expr, SEER_EXPR_MIN, at, seer_expr_i(&dag->expr, table_rows - 1));
  return seer_dag_load(dag, table, &at);
}

static void axes_of(const builder *b, seer_dag_axis *out) {
  out[0] = (seer_dag_axis){"i", b->rows, SEER_AXIS_OTHER};
  out[1] = (seer_dag_axis){"j", b->columns, SEER_AXIS_OTHER};
}

// The larger of what is there (or an input) and an input, both in a type of its own.
static uint32_t add_map(builder *b, uint32_t before) {
  seer_dag *dag = b->dag;
  seer_dag_axis axes[2];
  axes_of(b, axes);
  uint32_t stage = seer_dag_add_stage(dag, "s", SEER_STAGE_EPILOGUE, axes, 2, 0);
  seer_expr at[2] = {seer_dag_var(dag, stage, 0), seer_dag_var(dag, stage, 1)};
  seer_dtype type = any_type(&b->rng);
  seer_expr first =
      before == UINT32_MAX ? load_input(b, at[0], at[1]) : seer_dag_load(dag, before, at);
  seer_expr body = seer_expr_cast(&dag->expr, type, first);
  if (seer_rng_below(&b->rng, 2))
    body = seer_expr_binary(&dag->expr, SEER_EXPR_MAX, body,
        seer_expr_cast(&dag->expr, type, load_input(b, at[0], at[1])));
  return seer_dag_set_body(dag, stage, SEER_COMBINE_NONE, &body, 1);
}

static uint32_t add_reduction(builder *b, uint32_t before) {
  static const seer_combiner combiners[] = {SEER_COMBINE_MAX, SEER_COMBINE_ARGMIN};
  seer_dag *dag = b->dag;
  seer_dag_axis axes[2], turned[2];
  axes_of(b, axes);
  bool over_rows = seer_rng_below(&b->rng, 2);
  turned[0] = axes[over_rows ? 1 : 0];
  turned[1] = axes[over_rows ? 0 : 1];
  uint32_t stage = seer_dag_add_stage(dag, "r", SEER_STAGE_ANCHOR, turned, 1, 1);
  seer_expr space = seer_dag_var(dag, stage, 0), k = seer_dag_var(dag, stage, 1);
  seer_expr at[2] = {over_rows ? k : space, over_rows ? space : k};
  seer_expr body[2] = {seer_dag_load(dag, before, at), k};
  seer_combiner combiner = combiners[seer_rng_below(&b->rng, 2)];
  return seer_dag_set_body(dag, stage, combiner, body, seer_combiner_is_arg(combiner) ? 2 : 1);
}

static seer_dag *build(uint64_t seed, seer_arena *arena) {
  builder b = {.dag = seer_dag_create(arena, "lanes")};
  seer_rng_init(&b.rng, seed);
  b.rows = seer_rng_range(&b.rng, 1, 20);
  b.columns = seer_rng_range(&b.rng, 2, 200);
  uint32_t last = UINT32_MAX, n = 1 + (uint32_t)seer_rng_below(&b.rng, 4);
  for (uint32_t k = 0; k < n; k++) last = add_map(&b, last);
  if (seer_rng_below(&b.rng, 2)) last = add_reduction(&b, last);
  seer_dag_mark_output(b.dag, last, 0);
  must(seer_dag_verify(b.dag));
  seer_dag_finish(b.dag);
  return b.dag;
}

typedef struct {
  const seer_sketch *sketch;
  const seer_tile *tile;
  uint64_t n, n_differ_from_bytes;  // statements in vectors; lanes that are not of the output alone
} walk;

// NULL, or the stage whose lanes are others.
static const char *wrong_in(walk *w, uint32_t id, uint32_t lanes) {
  const seer_loop *loop = w->tile->loop;
  for (; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind == SEER_NODE_STORE && lanes > 0) {
      w->n++;
      w->n_differ_from_bytes +=
          lanes * seer_dtype_bytes(loop->buf[node->buf[0]].dtype) != w->tile->machine.vector_bytes;
      if (w->sketch->stage[node->stage].vector_lanes != lanes)
        return w->sketch->dag->stage[node->stage].name;
    }
    if (node->kind != SEER_NODE_FOR) continue;
    const seer_tile_for *of = &w->tile->of[id];
    const char *wrong = wrong_in(w, node->body, of->mode == SEER_TILE_LANES ? of->lanes : lanes);
    if (wrong) return wrong;
  }
  return NULL;
}

static void check(walk *w, const seer_sketch_list *list, const seer_schedule *schedule,
    uint64_t seed, seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_lower(list, schedule, arena, &loop));
  seer_tile_machine machine = seer_tile_machine_of(list->target);
  seer_tile *tile = seer_tile_create(loop, &machine, arena);
  must(seer_tile_verify(tile));
  w->sketch = seer_sketch_of(list, schedule);
  w->tile = tile;
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    const char *wrong = wrong_in(w, loop->phase[p], 0);
    if (wrong)
      fail_msg("seed %" PRIu64 ": lanes of stage %s, of which the sketch has %u\n%s\n%s", seed,
          wrong, w->sketch->stage[0].vector_lanes, seer_dag_print(w->sketch->dag, arena),
          seer_tile_print(tile, arena));
  }
}

static void checked_as_generated(void **state) {
  (void)state;
  walk w = {.n = 0};
  for (uint64_t seed = 1; seed <= N_DAGS; seed++) {
    seer_arena *arena = seer_arena_create("test");
    static const uint32_t bytes[] = {16, 32, 64};
    seer_target target = test_target_with(bytes[seed % 3], 16);
    seer_sketch_list *list;
    seer_rng rng;
    seer_rng_init(&rng, seed);
    must(seer_sketch_generate(build(seed, arena), &target, SEER_SPACE_FULL, arena, &list));
    for (uint32_t s = 0; s < list->n; s++) {
      seer_schedule schedule;
      seer_schedule_default(list, s, &schedule);
      check(&w, list, &schedule, seed, arena);
      for (int k = 0; k < SAMPLES; k++) {
        if (seer_schedule_sample(list, s, &rng, &schedule, NULL) == SEER_REJECT_NONE)
          check(&w, list, &schedule, seed, arena);
      }
    }
    seer_arena_destroy(arena);
  }
  print_message("%" PRIu64 " statements in vectors, %" PRIu64
                " not by the bytes of what is stored\n",
      w.n, w.n_differ_from_bytes);
  assert_true(w.n > 2 * N_DAGS && w.n_differ_from_bytes > N_DAGS / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(checked_as_generated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
