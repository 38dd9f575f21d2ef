// What stages read: every index of random expressions against its value at all places, faults that
// this must see, and the table's lists against a walk over random DAGs.

#include <string.h>

#include "base/rng.h"
#include "dag/access.h"
#include "dag/scalar.h"
#include "nets.h"
#include "support/random_dag.h"
#include "support/test.h"

#define N_AXES 4

// The value of an index without loads at a place.
static int64_t eval(const seer_dag *dag, const seer_dag_stage *s, seer_expr e, const int64_t *at) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op == SEER_EXPR_CONST_I) return node->value.i;
  if (node->op == SEER_EXPR_VAR) return at[node->ref - s->var0];
  seer_scalar x[3] = {{.i = 0}, {.i = 0}, {.i = 0}};
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++)
    x[k].i = eval(dag, s, node->arg[k], at);
  seer_dtype arg = (seer_dtype)seer_expr_at(&dag->expr, node->arg[0])->dtype;
  return seer_scalar_apply((seer_expr_op)node->op, (seer_dtype)node->dtype, arg, x[0], x[1], x[2])
      .i;
}

static int64_t value_of(const seer_access_dim *dim, const int64_t *at) {
  int64_t sum = dim->constant;
  for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
    if (dim->coef[a] != 0) sum += dim->coef[a] * at[a];
  }
  return dim->is_mod ? seer_floor_mod(sum, dim->div) : seer_floor_div(sum, dim->div);
}

// The only axis of an index that takes every so many-th block of lanes.
static int64_t lanes_of(const seer_access_dim *dim, const int64_t *at) {
  int64_t axis = at[__builtin_ctz(dim->axes)];
  return axis / dim->div * dim->lanes + axis % dim->lanes;
}

static bool next_place(const seer_dag_stage *s, int64_t *at) {
  for (uint32_t a = 0; a < (uint32_t)s->n_space + s->n_reduce; a++) {
    if (++at[a] < s->axis[a].extent) return true;
    at[a] = 0;
  }
  return false;
}

// Does the form say what is true of index `e`, at every place?
static bool is_right(
    const seer_dag *dag, const seer_dag_stage *s, seer_expr e, const seer_access_dim *dim) {
  int64_t at[SEER_DAG_MAX_AXES] = {0};
  if (dim->div < 1 || dim->span != 1) return false;
  if (dim->is_whole != (!dim->is_affine || dim->is_mod)) return false;  // few axes here
  do {
    int64_t value = eval(dag, s, e, at);
    if (dim->is_affine && value != value_of(dim, at)) return false;
    if (dim->axis >= 0 && value != at[dim->axis]) return false;
    if (dim->lanes > 0 && value != lanes_of(dim, at)) return false;
    for (uint32_t a = 0; a < (uint32_t)s->n_space + s->n_reduce; a++) {
      int64_t other[SEER_DAG_MAX_AXES];
      memcpy(other, at, sizeof other);
      other[a] = 0;
      bool depends = eval(dag, s, e, other) != value;
      if (depends && !(dim->axes >> a & 1)) return false;
      if (depends && dim->is_affine && !(dim->moving >> a & 1)) return false;
    }
  } while (next_place(s, at));
  for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
    bool moves = dim->coef[a] != 0 && s->axis[a].extent > 1;
    if (moves != (dim->moving >> a & 1)) return false;
  }
  return dim->is_affine || (dim->constant == 0 && dim->axis < 0);
}

// Every so many-th block of lanes of an axis; or nearly so.
static seer_expr random_lanes(seer_dag *dag, uint32_t stage, seer_rng *rng) {
  seer_expr_pool *pool = &dag->expr;
  int64_t lanes = seer_rng_range(rng, 1, 2), scale = lanes + seer_rng_chance(rng, 0.2);
  int64_t blocks = lanes * seer_rng_range(rng, 1, 2) + seer_rng_chance(rng, 0.2);
  uint32_t axis = (uint32_t)seer_rng_below(rng, N_AXES), other = axis;
  if (seer_rng_chance(rng, 0.2)) other = (uint32_t)seer_rng_below(rng, N_AXES);
  seer_expr block = seer_expr_binary(
      pool, SEER_EXPR_DIV, seer_dag_var(dag, stage, axis), seer_expr_i(pool, blocks));
  seer_expr lane = seer_expr_binary(
      pool, SEER_EXPR_MOD, seer_dag_var(dag, stage, other), seer_expr_i(pool, lanes));
  return seer_expr_binary(pool, SEER_EXPR_ADD,
      seer_expr_binary(pool, SEER_EXPR_MUL, block, seer_expr_i(pool, scale)), lane);
}

// Mostly what indices are: sums with constants, now and then divided; else anything.
static seer_expr random_index(seer_dag *dag, uint32_t stage, seer_rng *rng, uint32_t depth) {
  seer_expr_pool *pool = &dag->expr;
  uint64_t kind = depth == 0 ? seer_rng_below(rng, 2) : seer_rng_below(rng, 10);
  if (kind == 0) return seer_expr_i(pool, seer_rng_range(rng, -3, 9));
  if (kind == 1) return seer_dag_var(dag, stage, (uint32_t)seer_rng_below(rng, N_AXES));
  if (kind == 7 && seer_rng_chance(rng, 0.5)) return random_lanes(dag, stage, rng);
  seer_expr a = random_index(dag, stage, rng, depth - 1);
  if (kind == 2)
    return seer_expr_binary(pool, SEER_EXPR_MUL, a, seer_expr_i(pool, seer_rng_range(rng, -2, 6)));
  if (kind == 3 || kind == 4) {
    seer_expr_op op = kind == 3 ? SEER_EXPR_DIV : SEER_EXPR_MOD;
    return seer_expr_binary(pool, op, a, seer_expr_i(pool, seer_rng_range(rng, 1, 5)));
  }
  seer_expr b = random_index(dag, stage, rng, depth - 1);
  if (kind == 5) return seer_expr_binary(pool, SEER_EXPR_SUB, a, b);
  if (kind == 6) return seer_expr_binary(pool, SEER_EXPR_MAX, a, b);
  return seer_expr_binary(pool, SEER_EXPR_ADD, a, b);
}

// A stage [N_AXES - 1 spatial, 1 reduction; some of extent 1] that loads at `index`.
static seer_dag *make_load(seer_arena *arena, seer_rng *rng, uint32_t depth, seer_expr *out_index) {
  seer_dag *dag = seer_dag_create(arena, "t");
  int64_t dim = 64;
  uint32_t x = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, &dim, 1, 0);
  seer_dag_axis axis[N_AXES];
  for (uint32_t a = 0; a < N_AXES; a++)
    axis[a] = (seer_dag_axis){"a", seer_rng_range(rng, 1, 4), SEER_AXIS_OTHER};
  uint32_t s = seer_dag_add_stage(dag, "s", SEER_STAGE_ANCHOR, axis, N_AXES - 1, 1);
  *out_index = random_index(dag, s, rng, depth);
  seer_expr body = seer_dag_load(dag, x, out_index);
  seer_dag_set_body(dag, s, SEER_COMBINE_SUM, &body, 1);
  seer_dag_finish(dag);
  return dag;
}

static void indices_are_what_they_say(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 7);
  uint32_t n_affine = 0, n_divided = 0, n_axis = 0, n_lanes = 0, n_fault = 0, n_seen = 0;
  for (uint32_t round = 0; round < 3000; round++) {
    seer_arena *arena = seer_arena_create("test");
    seer_expr index;
    seer_dag *dag = make_load(arena, &rng, 1 + round % 4, &index);
    const seer_dag_stage *s = &dag->stage[0];
    assert_int_equal(dag->access->n_load, 1);
    seer_access_dim dim = dag->access->dim[0];
    assert_true(is_right(dag, s, index, &dim));
    seer_affine affine;
    if (seer_expr_affine(&dag->expr, index, &affine)) assert_true(seer_access_is_sum(&dim));
    n_affine += dim.is_affine;
    n_divided += dim.is_affine && dim.div > 1;
    n_axis += dim.axis >= 0;
    n_lanes += dim.lanes > 0;
    // Faults in a sum are seen at once; those in a quotient where it has more than one value.
    seer_access_dim bad = dim;
    bad.constant++;
    if (dim.is_affine && dim.div == 1) assert_false(is_right(dag, s, index, &bad));
    for (uint32_t a = 0; a < N_AXES; a++) {
      if (!(dim.moving >> a & 1)) continue;
      bad = dim;
      bad.coef[a] = bad.coef[a] == -1 ? -2 : bad.coef[a] + 1;
      n_fault++;
      n_seen += !is_right(dag, s, index, &bad);
      if (dim.div == 1) assert_false(is_right(dag, s, index, &bad));
      bad = dim;
      bad.moving &= (uint16_t) ~(1u << a);
      assert_false(is_right(dag, s, index, &bad));
      bad = dim;
      bad.axes &= (uint16_t) ~(1u << a);
      if (dim.div == 1) assert_false(is_right(dag, s, index, &bad));
    }
    bad = dim;
    bad.lanes++;
    n_fault += dim.lanes > 0;
    n_seen += dim.lanes > 0 && !is_right(dag, s, index, &bad);
    bad = dim;
    bad.is_mod = !bad.is_mod;
    if (dim.is_affine && dim.div > 1) assert_false(is_right(dag, s, index, &bad));
    seer_arena_destroy(arena);
  }
  assert_true(n_affine > 1500 && n_divided > 100 && n_axis > 200 && n_lanes > 20);
  assert_true(n_seen > n_fault * 3 / 4);
}

static seer_dag *parse(const char *text, seer_arena *arena) {
  seer_dag *dag;
  assert_null(seer_dag_parse("test", text, strlen(text), arena, &dag));
  assert_null(seer_dag_verify(dag));
  return dag;
}

static void forms_by_hand(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = parse(
      "dag t { input $x f32[40, 40, 40] input $i i64[9] stage s role anchor "
      "[n<1, y<4, x<9, c<3] = $x[n * 2 + y * 3 + 1, (x + 5) / 3, max(min($i[x], 39), 0)] * "
      "$x[c, x % 2, (4 * y + 1) / 4] output $s }",
      arena);
  const seer_access_table *table = dag->access;
  assert_int_equal(table->n_load, 3);  // the load in an index behind that which it is in
  const seer_access_dim *sum = seer_access_index(table, &table->load[0], 0);
  assert_true(seer_access_is_sum(sum));
  assert_int_equal(sum->axes, 3);
  assert_int_equal(sum->moving, 2);
  assert_int_equal(sum->coef[0], 2);
  assert_int_equal(sum->coef[1], 3);
  assert_int_equal(sum->constant, 1);
  assert_int_equal(seer_access_axis(sum), -1);
  const seer_access_dim *quotient = seer_access_index(table, &table->load[0], 1);
  assert_true(quotient->is_affine && !quotient->is_mod && !quotient->is_whole);
  assert_int_equal(quotient->div, 3);
  assert_int_equal(quotient->constant, 5);
  assert_int_equal(seer_access_axis(quotient), 2);
  const seer_access_dim *data = seer_access_index(table, &table->load[0], 2);
  assert_true(!data->is_affine && data->is_whole);
  assert_int_equal(data->axes, 4);
  assert_int_equal(table->load[1].buf, 1);
  const seer_access_dim *other = seer_access_index(table, &table->load[2], 0);
  assert_int_equal(other[0].axis, 3);
  assert_true(other[1].is_mod && other[1].is_whole && other[1].is_affine);
  assert_int_equal(other[2].axis, 1);  // (4 y + 1) / 4
  dag = parse(
      "dag t { input $x f32[9] stage s role anchor [a<2, b<2, c<2, d<2, e<2, f<2, g<2] = "
      "$x[a + b + c + d + e + f + g] + $x[a + b + c + d + e + f] output $s }",
      arena);
  assert_true(dag->access->dim[0].is_affine && dag->access->dim[0].is_whole);  // too many axes
  assert_true(dag->access->dim[1].is_affine && !dag->access->dim[1].is_whole);
  seer_arena_destroy(arena);
}

static void lists_leave_constants_out(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = parse(
      "dag t { input $x f32[4, 6] weight $w f32[6] "
      "stage k role prologue [c<6] = $w[c] * 2.0 "
      "stage p role prologue [y<4, c<6] = $x[y, c] + 1.0 "
      "stage s role anchor [y<4, c<6] = $p[y, c] * $p[y, c] + ($p[y, 5 - c] - $k[c]) "
      "output $s }",
      arena);
  const seer_access_table *table = dag->access;
  assert_true(dag->stage[0].is_const);
  assert_int_equal(table->readers[0], 0);
  assert_int_equal(table->readers[1], 4);
  assert_int_equal(table->first_load[3] - table->first_load[2], 3);
  const seer_access *first = &table->load[table->first_load[2]];
  assert_int_equal(first->n_times, 2);
  assert_int_equal(first->maker, 1);
  assert_int_equal(table->load[table->first_load[1]].maker, SEER_ACCESS_INPUT);
  assert_int_equal(table->first_read[2] - table->first_read[1], 2);
  assert_int_equal(table->n_read, 2);
  assert_false(seer_access_is_elementwise(dag, 1, 2));
  uint32_t list[SEER_DAG_MAX_STAGES];
  assert_int_equal(seer_dag_readers(dag, 0, list), 1);
  // What a clone says is the clone's own; what is edited says nothing.
  seer_dag *clone = seer_dag_clone(dag, arena);
  assert_true(clone->access != dag->access && clone->access->dim != table->dim);
  assert_memory_equal(clone->access->dim, table->dim, table->n_dim * sizeof table->dim[0]);
  seer_dag_axis axis = {"i", 4, SEER_AXIS_OTHER};
  seer_dag_add_stage(clone, "more", SEER_STAGE_EPILOGUE, &axis, 1, 0);
  assert_null(clone->access);
  seer_arena_destroy(arena);
}

// ---- random DAGs

typedef struct {
  const seer_dag *dag;
  uint32_t stage;
  uint32_t n_seen, n_read;  // loads; of them those of values that are made per run
  seer_rng *rng;
} walk;

static bool has_load(const seer_dag *dag, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op == SEER_EXPR_LOAD) return true;
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++) {
    if (has_load(dag, node->arg[k])) return true;
  }
  return false;
}

static void check_load(void *user, seer_expr e) {
  walk *w = user;
  const seer_dag *dag = w->dag;
  const seer_dag_stage *s = &dag->stage[w->stage];
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_access *access = seer_access_find(dag, w->stage, e);
  assert_non_null(access);
  assert_int_equal(access->buf, node->ref);
  assert_int_equal(access->rank, node->n_index);
  assert_int_equal(access->is_guarded, node->arg[0].i != 0);
  const seer_dag_buf *buf = &dag->buf[node->ref];
  bool is_made = buf->kind == SEER_BUF_STAGE;
  assert_int_equal(access->maker, is_made ? buf->stage : SEER_ACCESS_INPUT);
  w->n_seen++;
  bool is_read = is_made && !dag->stage[buf->stage].is_const && !s->is_const;
  w->n_read += is_read;
  if (is_made) assert_int_equal(dag->access->readers[buf->stage] >> w->stage & 1, is_read);
  for (uint32_t d = 0; d < node->n_index; d++) {
    seer_expr index = seer_expr_index(&dag->expr, e, d);
    const seer_access_dim *dim = seer_access_index(dag->access, access, d);
    if (!dim->is_affine) continue;
    assert_false(has_load(dag, index));
    for (uint32_t n = 0; n < 8; n++) {
      int64_t at[SEER_DAG_MAX_AXES] = {0};
      for (uint32_t a = 0; a < (uint32_t)s->n_space + s->n_reduce; a++)
        at[a] = (int64_t)seer_rng_below(w->rng, (uint64_t)s->axis[a].extent);
      assert_int_equal(eval(dag, s, index, at), value_of(dim, at));
    }
  }
}

static void tables_of_random_dags(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 3);
  uint32_t n_load = 0, n_read = 0, n_affine = 0;
  for (uint32_t k = 0; k < 300; k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = random_dag_of(k, arena);
    const seer_access_table *table = dag->access;
    uint32_t n_read_here = 0;
    for (uint32_t s = 0; s < dag->n_stage; s++) {
      walk w = {dag, s, 0, 0, &rng};
      for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
        seer_expr_visit(&dag->expr, dag->stage[s].body[v], check_load, &w);
      uint32_t n_times = 0;
      for (uint32_t i = table->first_load[s]; i < table->first_load[s + 1]; i++)
        n_times += table->load[i].n_times;
      assert_int_equal(n_times, w.n_seen);
      n_read_here += w.n_read;
    }
    assert_true(table->n_read <= n_read_here);
    for (uint32_t i = 1; i < table->n_read; i++) {
      const seer_access *a = &table->read[i - 1], *b = &table->read[i];
      assert_true(a->maker < b->maker || (a->maker == b->maker && a->reader <= b->reader));
    }
    for (uint32_t i = 0; i < table->n_dim; i++) n_affine += table->dim[i].is_affine;
    n_load += table->n_load;
    n_read += table->n_read;
    seer_arena_destroy(arena);
  }
  assert_true(n_load > 1000 && n_read > 300 && n_affine > 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_are_what_they_say),
      cmocka_unit_test(forms_by_hand),
      cmocka_unit_test(lists_leave_constants_out),
      cmocka_unit_test(tables_of_random_dags),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
