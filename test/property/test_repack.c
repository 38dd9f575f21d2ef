// For random DAGs and random schedules: a buffer that is read as it lies may as well be read in any
// packed form of another schedule. The loops then give what the interpreter of the DAG gives, to
// the bit, by their interpreter and compiled; what data index always passes the verifier. And the
// test would see a form that is not the one that was packed.
// SEER_PROPERTY_SEED=n starts elsewhere, SEER_PROPERTY_PAIRS=n tries more. SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "space/lower.h"
#include "support/jit_check.h"
#include "support/loop_check.h"
#include "support/random_dag.h"

#define N_PAIRS 1500
#define COMPILE_EVERY 8
#define STALE_EVERY 5
#define QUOTA 20

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

typedef struct {
  jit_runner *runner;
  uint64_t n_pairs, n_gather, n_unproved, n_compiled, n_stale, n_stale_seen;
  const char *wrong;
  seer_arena *arena;
} trial;

// Each extent into 1 to 3 factors, not all of which divide it; all in random order.
static seer_pack random_pack(const seer_loop_buf *buf, seer_rng *rng) {
  seer_pack pack = {.source_buf = buf->dag_buf};
  for (uint32_t d = 0; d < buf->rank; d++) {
    uint64_t n_factor = 1 + seer_rng_below(rng, buf->rank <= 4 ? 3 : 1);
    int64_t stride = 1, left = buf->dim[d];
    for (uint64_t k = 0; k < n_factor; k++) {
      bool is_last = k + 1 == n_factor;
      int64_t extent = is_last ? left : 1 + (int64_t)seer_rng_below(rng, (uint64_t)left);
      pack.dim[pack.n++] = (seer_pack_dim){(uint8_t)d, stride, extent};
      stride *= extent;
      left = (left + extent - 1) / extent;
    }
  }
  for (uint32_t k = pack.n; k > 1; k--) {
    uint32_t other = (uint32_t)seer_rng_below(rng, k);
    seer_pack_dim kept = pack.dim[k - 1];
    pack.dim[k - 1] = pack.dim[other];
    pack.dim[other] = kept;
  }
  return pack;
}

static void note_load(void *user, seer_expr e) {
  struct {
    const seer_expr_pool *pool;
    bool has_load;
  } *look = user;
  look->has_load = look->has_load || seer_expr_at(look->pool, e)->op == SEER_EXPR_LOAD;
}

// Some index of some load of the buffer is itself loaded.
static bool is_gathered(const seer_loop *loop, uint32_t buf) {
  struct {
    const seer_expr_pool *pool;
    bool has_load;
  } look = {&loop->expr, false};
  for (uint32_t e = 1; e < loop->expr.n; e++) {
    const seer_expr_node *node = &loop->expr.node[e];
    if (node->op != SEER_EXPR_LOAD || node->ref != buf) continue;
    for (uint32_t k = 0; k < node->n_index; k++)
      seer_expr_visit(
          &loop->expr, seer_expr_index(&loop->expr, (seer_expr){e}, k), note_load, &look);
  }
  return look.has_load;
}

static const char *interpret(const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, void **data, seer_arena *arena) {
  seer_status status = seer_loop_eval(loop, data, NULL);
  if (status) {
    const char *wrong = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    return wrong;
  }
  return loop_expect_compare(expect, sketch, loop, data, arena);
}

// The buffer's content packed in another order than the loops expect.
static void check_stale(trial *t, const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, uint32_t buf, void **data, seer_arena *arena) {
  seer_pack other = *loop->buf[buf].pack;
  if (other.n < 2) return;
  seer_pack_dim first = other.dim[0];
  other.dim[0] = other.dim[1];
  other.dim[1] = first;
  size_t n_bytes = (size_t)loop->buf[buf].n_elems * seer_dtype_bytes(loop->buf[buf].dtype);
  void *packed = seer_arena_alloc(arena, n_bytes + 1, 64);
  seer_pack_fill(
      &other, &sketch->dag->buf[other.source_buf], expect->input[other.source_buf], packed);
  if (memcmp(packed, data[buf], n_bytes) == 0) return;
  data[buf] = packed;
  t->n_stale++;
  t->n_stale_seen += interpret(expect, sketch, loop, data, arena) != NULL;
}

static const char *check(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    seer_rng *rng, seer_arena *arena) {
  const seer_sketch *sketch = expect->list->sketch[schedule->sketch];
  seer_loop *loop;
  seer_status status = seer_loop_lower(expect->list, schedule, arena, &loop);
  if (status) {
    seer_status_free(status);
    return NULL;
  }
  uint32_t input[SEER_DAG_MAX_BUFFERS], n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++)
    if (loop->buf[b].storage == SEER_STORE_INPUT) input[n++] = b;
  if (n == 0) return NULL;
  uint32_t buf = input[seer_rng_below(rng, n)];
  for (uint32_t k = 0; k < n; k++)
    if (is_gathered(loop, input[k])) buf = input[k];  // there are few
  seer_pack pack = random_pack(&loop->buf[buf], rng);
  bool gathers = is_gathered(loop, buf);
  seer_loop_repack(loop, buf, &pack);
  t->n_pairs++;
  t->n_gather += gathers;
  status = seer_loop_verify(loop);
  if (status) {
    const char *why = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    t->n_unproved++;
    return gathers ? seer_arena_printf(arena, "%s\n%s", why, seer_loop_print(loop, arena)) : NULL;
  }
  void **data = loop_expect_data(expect, sketch, loop, arena);
  const char *wrong = interpret(expect, sketch, loop, data, arena);
  if (!wrong && t->n_pairs % COMPILE_EVERY == 0) {
    data = loop_expect_data(expect, sketch, loop, arena);
    wrong = jit_run(t->runner, loop, data, t->n_pairs, arena);
    if (!wrong) wrong = loop_expect_compare(expect, sketch, loop, data, arena);
    t->n_compiled++;
  }
  if (!wrong && t->n_pairs % STALE_EVERY == 0)
    check_stale(t, expect, sketch, loop, buf, data, arena);
  return wrong ? seer_arena_printf(arena, "%s\n%s", wrong, seer_loop_print(loop, arena)) : NULL;
}

static bool try_recipe(trial *t, const random_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  seer_dag *dag = random_dag_build(recipe, arena, NULL);
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(dag, jit_runner_target(t->runner), SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  bool is_wrong = false;
  for (uint32_t s = 0; s < list->n && !is_wrong; s++) {
    seer_schedule schedule;
    if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE)
      seer_schedule_default(list, s, &schedule);
    const char *wrong = check(t, expect, &schedule, &rng, scratch);
    is_wrong = wrong != NULL;
    if (wrong) t->wrong = seer_arena_strdup(t->arena, wrong);
    seer_arena_reset(scratch);
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return is_wrong;
}

static bool still_fails(void *user, const random_dag_recipe *recipe) {
  trial t = {.runner = ((trial *)user)->runner, .arena = ((trial *)user)->arena};
  return try_recipe(&t, recipe);
}

static void any_form_will_do(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  uint64_t seed = number("SEER_PROPERTY_SEED", 1), pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  trial t = {.runner = jit_runner_create(NULL), .arena = arena};
  for (; t.n_pairs < pairs; seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (!try_recipe(&t, &recipe)) continue;
    recipe = random_dag_shrink(recipe, still_fails, &t, 200);
    trial again = {.runner = t.runner, .arena = arena};
    bool still = try_recipe(&again, &recipe);
    fail_msg("seed %" PRIu64 ": %s", seed, still ? again.wrong : t.wrong);
  }
  print_message("%" PRIu64 " pairs, %" PRIu64 " gather, %" PRIu64 " not proved, %" PRIu64
                " compiled, %" PRIu64 " of %" PRIu64 " stale forms seen\n",
      t.n_pairs, t.n_gather, t.n_unproved, t.n_compiled, t.n_stale_seen, t.n_stale);
  assert_true(t.n_gather >= QUOTA && t.n_compiled >= QUOTA && t.n_stale >= QUOTA);
  assert_true(t.n_unproved * 100 < t.n_pairs);
  assert_true(t.n_stale_seen * 2 > t.n_stale);
  jit_runner_destroy(t.runner);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_form_will_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
