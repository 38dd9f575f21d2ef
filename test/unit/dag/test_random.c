// Random DAGs: they verify, round-trip through text with equal keys and equal answers, agree with a
// plain walk over the expressions, keep their values exact, cover the grammar, and shrink.

#include <math.h>
#include <string.h>

#include "support/random_dag.h"
#include "support/test.h"

#define N_DAGS 300

// ---- a second opinion: stage by stage, point by point, by recursion over the tree; everything in
// doubles (values are small integers, so that is exact)

typedef struct {
  const seer_dag *dag;
  const seer_dag_stage *stage;
  double *value[SEER_DAG_MAX_BUFFERS];  // dense
  int64_t at[SEER_DAG_MAX_AXES];
} walker;

static double dot4(int64_t a, int64_t b) {
  double sum = 0;
  for (uint32_t k = 0; k < 32; k += 8) {
    int64_t x = a >> k & 255, y = b >> k & 255;
    sum += (double)(x * (y < 128 ? y : y - 256));
  }
  return sum;
}

static double walk(walker *w, seer_expr e) {
  const seer_expr_node *n = seer_expr_at(&w->dag->expr, e);
  if (n->op == SEER_EXPR_CONST_F) return n->value.f;
  if (n->op == SEER_EXPR_CONST_I) return (double)n->value.i;
  if (n->op == SEER_EXPR_VAR) return (double)w->at[n->ref - w->stage->var0];
  if (n->op == SEER_EXPR_LOAD) {
    if (n->arg[0].i != 0 && walk(w, n->arg[0]) == 0) return walk(w, n->arg[1]);
    const seer_dag_buf *b = &w->dag->buf[n->ref];
    int64_t offset = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
      int64_t i = (int64_t)walk(w, w->dag->expr.index[n->index0 + k]);
      if (i < 0 || i >= b->dim[k]) fail_msg("$%s index %u is %ld", b->name, k, (long)i);
      offset = offset * b->dim[k] + i;
    }
    return w->value[n->ref][offset];
  }
  double a = walk(w, n->arg[0]), b = n->arg[1].i ? walk(w, n->arg[1]) : 0,
         c = n->arg[2].i ? walk(w, n->arg[2]) : 0;
  switch ((int)n->op) {
    case SEER_EXPR_ADD:
      return a + b;
    case SEER_EXPR_SUB:
      return a - b;
    case SEER_EXPR_MUL:
      return n->dtype == SEER_DTYPE_I32 ? (double)(int32_t)(int64_t)(a * b) : a * b;
    case SEER_EXPR_DOT4:
      return dot4((int64_t)a, (int64_t)b);
    case SEER_EXPR_DIV:
      return floor(a / b);
    case SEER_EXPR_MOD:
      return a - floor(a / b) * b;
    case SEER_EXPR_MIN:
      return fmin(a, b);
    case SEER_EXPR_MAX:
      return fmax(a, b);
    case SEER_EXPR_NEG:
      return -a;
    case SEER_EXPR_ABS:
      return fabs(a);
    case SEER_EXPR_LT:
      return a < b;
    case SEER_EXPR_GT:
      return a > b;
    case SEER_EXPR_GE:
      return a >= b;
    case SEER_EXPR_AND:
      return a != 0 && b != 0;
    case SEER_EXPR_SELECT:
      return a != 0 ? b : c;
    case SEER_EXPR_CAST:
      return n->dtype == SEER_DTYPE_U8 ? (double)(uint8_t)(int64_t)a : a;
    default:
      fail_msg("operator %s", seer_expr_op_text((seer_expr_op)n->op));
      return 0;
  }
}

static int64_t points(const seer_dag_buf *b) {
  int64_t n = 1;
  for (uint32_t k = 0; k < b->rank; k++) n *= b->dim[k];
  return n;
}

static void walk_stage(walker *w, uint32_t s, seer_arena *arena) {
  const seer_dag_stage *st = w->stage = &w->dag->stage[s];
  uint32_t n_axes = (uint32_t)st->n_space + st->n_reduce;
  int64_t n = points(&w->dag->buf[st->out[0]]), n_reduce = 1;
  for (uint32_t k = st->n_space; k < n_axes; k++) n_reduce *= st->axis[k].extent;
  for (uint32_t v = 0; v < st->n_values; v++)
    w->value[st->out[v]] = SEER_NEW_ARRAY(arena, double, n);
  for (int64_t p = 0; p < n; p++) {
    for (int64_t r = 0; r < n_reduce; r++) {
      int64_t rest = r;
      for (uint32_t k = n_axes; k-- > st->n_space; rest /= st->axis[k].extent)
        w->at[k] = rest % st->axis[k].extent;
      rest = p;
      for (uint32_t k = st->n_space; k-- > 0; rest /= st->axis[k].extent)
        w->at[k] = rest % st->axis[k].extent;
      double *acc = &w->value[st->out[0]][p], x = walk(w, st->body[0]);
      bool is_max = st->combiner == SEER_COMBINE_ARGMAX,
           is_arg = is_max || st->combiner == SEER_COMBINE_ARGMIN;
      if (is_arg) {
        if (r == 0 || (is_max ? x > *acc : x < *acc))
          *acc = x, w->value[st->out[1]][p] = walk(w, st->body[1]);
      } else if (r == 0) {
        *acc = x;
      } else {
        *acc = st->combiner == SEER_COMBINE_SUM ? *acc + x : fmax(*acc, x);
      }
      // All partial sums are exact in f32, so no order matters.
      if (!(fabs(*acc) < 16777216.0) || *acc != floor(*acc)) fail_msg("value %g", *acc);
    }
  }
}

static void evaluate(
    const seer_dag *dag, uint64_t seed, seer_arena *arena, void **input, void **output) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    input[b] = random_dag_input(dag, b, &rng, arena);
    seer_dag_eval_set_input(eval, b, input[b]);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    output[b] = seer_arena_alloc(arena, (size_t)seer_dag_buf_elems(&dag->buf[b]) * 8, 16);
    seer_dag_eval_all(eval, b, output[b]);
  }
}

static void check_one(uint64_t seed, uint32_t *kinds) {
  seer_arena *arena = seer_arena_create("test");
  random_dag_recipe recipe = random_dag_draw(seed);
  seer_dag *dag = random_dag_build(&recipe, arena, kinds);
  // Text
  const char *text = seer_dag_print(dag, arena);
  seer_dag *again;
  seer_status status = seer_dag_parse("random", text, strlen(text), arena, &again);
  if (status) fail_msg("seed %lu: %s\n%s", (unsigned long)seed, seer_status_message(status), text);
  assert_string_equal(seer_dag_print(again, arena), text);
  assert_null(seer_dag_verify(again));
  seer_dag_key a = seer_dag_hash(dag), b = seer_dag_hash(again);
  assert_true(a.structure == b.structure && a.shape == b.shape && a.content == b.content);
  // Answers
  void *in[SEER_DAG_MAX_BUFFERS] = {NULL}, *out[SEER_DAG_MAX_BUFFERS] = {NULL};
  void *in2[SEER_DAG_MAX_BUFFERS] = {NULL}, *out2[SEER_DAG_MAX_BUFFERS] = {NULL};
  evaluate(dag, seed, arena, in, out);
  evaluate(again, seed, arena, in2, out2);
  walker w = {.dag = dag};
  for (uint32_t k = 0; k < dag->n_buf; k++) {
    const seer_dag_buf *buf = &dag->buf[k];
    if (buf->kind == SEER_BUF_STAGE) {
      if (buf->value == 0) walk_stage(&w, buf->stage, arena);
      continue;
    }
    w.value[k] = SEER_NEW_ARRAY(arena, double, points(buf));
    int64_t row = buf->rank > 0 ? buf->dim[buf->rank - 1] : 1;
    for (int64_t p = 0; p < points(buf); p++) {
      w.value[k][p] = seer_dtype_load_f64(buf->dtype, in[k], p / row * buf->pitch + p % row);
    }
  }
  for (uint32_t k = 0; k < dag->n_buf; k++) {
    const seer_dag_buf *buf = &dag->buf[k];
    if (!buf->is_output) continue;
    int64_t row = buf->rank > 0 ? buf->dim[buf->rank - 1] : 1;
    for (int64_t p = 0; p < points(buf); p++) {
      int64_t at = p / row * buf->pitch + p % row;
      double got = seer_dtype_load_f64(buf->dtype, out[k], at),
             same = seer_dtype_load_f64(buf->dtype, out2[k], at);
      if (got != w.value[k][p] || same != got) {
        fail_msg("seed %lu: $%s[%ld] is %g and %g, must be %g\n%s", (unsigned long)seed, buf->name,
            (long)p, got, same, w.value[k][p], text);
      }
    }
  }
  seer_arena_destroy(arena);
}

static void random_dags_hold_what_they_promise(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= N_DAGS; seed++) {
    uint32_t kinds;
    check_one(seed, &kinds);
  }
}

static void the_grammar_is_covered(void **state) {
  (void)state;
  uint32_t count[RANDOM_DAG_KIND_COUNT] = {0}, n_by_stages[16] = {0}, n_prime = 0, n_other = 0;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    seer_arena *arena = seer_arena_create("test");
    random_dag_recipe recipe = random_dag_draw(seed);
    uint32_t kinds;
    seer_dag *dag = random_dag_build(&recipe, arena, &kinds);
    for (uint32_t k = 0; k < RANDOM_DAG_KIND_COUNT; k++) count[k] += kinds >> k & 1;
    n_by_stages[dag->n_stage]++;
    for (uint32_t k = 0; k < dag->buf[0].rank; k++) {
      int64_t d = dag->buf[0].dim[k];
      bool is_prime = d == 2 || d == 3 || d == 5 || d == 7 || d == 11 || d == 13 || d == 17;
      n_prime += is_prime;
      n_other += !is_prime;
      assert_true(d >= 1 && d <= 17);
    }
    seer_arena_destroy(arena);
  }
  for (uint32_t k = 0; k < RANDOM_DAG_KIND_COUNT; k++) {
    if (count[k] < 20)
      fail_msg("%s only %u times", random_dag_kind_name((random_dag_kind)k), count[k]);
  }
  for (uint32_t k = 1; k <= 6; k++) assert_true(n_by_stages[k] >= 20);
  assert_true(n_prime > n_other);
}

static bool has_conv(void *user, const random_dag_recipe *recipe) {
  (void)user;
  seer_arena *arena = seer_arena_create("test");
  uint32_t kinds;
  random_dag_build(recipe, arena, &kinds);
  seer_arena_destroy(arena);
  return kinds >> RANDOM_DAG_CONV & 1;
}

static void failures_shrink(void **state) {
  (void)state;
  uint32_t n = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (!has_conv(NULL, &recipe)) continue;
    n++;
    recipe = random_dag_shrink(recipe, has_conv, NULL, 300);
    assert_true(has_conv(NULL, &recipe));
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = random_dag_build(&recipe, arena, NULL);
    int64_t most = 0;
    for (uint32_t k = 0; k < dag->buf[0].rank; k++) most = seer_max_i64(most, dag->buf[0].dim[k]);
    if (most > 1)
      fail_msg("seed %lu shrank to\n%s", (unsigned long)seed, seer_dag_print(dag, arena));
    seer_arena_destroy(arena);
  }
  assert_true(n > 5);
}

static void the_same_recipe_gives_the_same_dag(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  random_dag_recipe recipe = random_dag_draw(77);
  const char *a = seer_dag_print(random_dag_build(&recipe, arena, NULL), arena);
  assert_string_equal(seer_dag_print(random_dag_build(&recipe, arena, NULL), arena), a);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_dags_hold_what_they_promise),
      cmocka_unit_test(the_grammar_is_covered),
      cmocka_unit_test(failures_shrink),
      cmocka_unit_test(the_same_recipe_gives_the_same_dag),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
