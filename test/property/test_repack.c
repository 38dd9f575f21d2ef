// For random DAGs and random schedules: a buffer that is read as it lies may as well be read in any
// packed form of another schedule. The loops then give what the interpreter of the DAG gives, to
// the bit, by their interpreter and compiled; what data index always passes the verifier. And the
// test would see a form that is not the one that was packed.
// SEER_TEST: timeout=300
#include <string.h>

#include "support/jit_check.h"
#include "support/random_programs.h"
#include "support/test.h"

#define N_PAIRS 1500
#define COMPILE_EVERY 8
#define STALE_EVERY 5
#define QUOTA 20

typedef struct {
  jit_runner *runner;
  uint64_t n_pairs, n_gather, n_unproved, n_compiled, n_stale, n_stale_seen;
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

static const char *interpret(const random_program *p, void **data, seer_arena *arena) {
  seer_status status = seer_loop_eval(p->loop, data, NULL);
  if (status) {
    const char *wrong = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    return wrong;
  }
  return loop_expect_compare(p->expect, p->sketch, p->loop, data, arena);
}

// The buffer's content packed in another order than the loops expect.
static void check_stale(
    trial *t, const random_program *p, uint32_t buf, void **data, seer_arena *arena) {
  const seer_loop *loop = p->loop;
  seer_pack other = *loop->buf[buf].pack;
  if (other.n < 2) return;
  seer_pack_dim first = other.dim[0];
  other.dim[0] = other.dim[1];
  other.dim[1] = first;
  size_t n_bytes = (size_t)loop->buf[buf].n_elems * seer_dtype_bytes(loop->buf[buf].dtype);
  void *packed = seer_arena_alloc(arena, n_bytes + 1, 64);
  const seer_dag_buf *source = &p->sketch->dag->buf[other.source_buf];
  seer_pack_fill(&other, source, p->expect->input[other.source_buf], packed);
  if (memcmp(packed, data[buf], n_bytes) == 0) return;
  data[buf] = packed;
  t->n_stale++;
  t->n_stale_seen += interpret(p, data, arena) != NULL;
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  trial *t = user;
  seer_loop *loop = p->loop;
  seer_rng rng;
  seer_rng_init(&rng, p->draw);
  uint32_t input[SEER_DAG_MAX_BUFFERS], n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++)
    if (loop->buf[b].storage == SEER_STORE_INPUT) input[n++] = b;
  if (n == 0) return NULL;
  uint32_t buf = input[seer_rng_below(&rng, n)];
  for (uint32_t k = 0; k < n; k++)
    if (is_gathered(loop, input[k])) buf = input[k];  // there are few
  seer_pack pack = random_pack(&loop->buf[buf], &rng);
  bool gathers = is_gathered(loop, buf);
  seer_loop_repack(loop, buf, &pack);
  t->n_pairs++;
  t->n_gather += gathers;
  seer_status status = seer_loop_verify(loop);
  if (status) {
    const char *why = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    t->n_unproved++;
    return gathers ? why : NULL;
  }
  void **data = loop_expect_data(p->expect, p->sketch, loop, arena);
  const char *wrong = interpret(p, data, arena);
  if (!wrong && t->n_pairs % COMPILE_EVERY == 0) {
    data = loop_expect_data(p->expect, p->sketch, loop, arena);
    wrong = jit_run(t->runner, loop, data, p->draw, arena);
    if (!wrong) wrong = loop_expect_compare(p->expect, p->sketch, loop, data, arena);
    t->n_compiled++;
  }
  if (!wrong && t->n_pairs % STALE_EVERY == 0) check_stale(t, p, buf, data, arena);
  return wrong;
}

static void any_form_will_do(void **state) {
  (void)state;
  trial t = {.runner = jit_runner_create(NULL)};
  random_programs how = {.targets = jit_runner_target(t.runner),
      .n_targets = 1,
      .max_sketches = UINT32_MAX,
      .n_samples = 1,
      .check = check,
      .user = &t};
  random_programs_check(&how, "repacked", 1, N_PAIRS);
  print_message("%" PRIu64 " pairs, %" PRIu64 " gather, %" PRIu64 " not proved, %" PRIu64
                " compiled, %" PRIu64 " of %" PRIu64 " stale forms seen\n",
      t.n_pairs, t.n_gather, t.n_unproved, t.n_compiled, t.n_stale_seen, t.n_stale);
  assert_true(t.n_gather >= QUOTA && t.n_compiled >= QUOTA && t.n_stale >= QUOTA);
  assert_true(t.n_unproved * 100 < t.n_pairs);
  assert_true(t.n_stale_seen * 2 > t.n_stale);
  jit_runner_destroy(t.runner);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_form_will_do)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
