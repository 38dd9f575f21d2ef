// drawn_kernels.c - see drawn_kernels.h.
#include "support/drawn_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/gen/generate.h"
#include "support/random_dag.h"
#include "support/test.h"

bool drawn_has(const random_program *p, drawn_kind kind) {
  if (kind == DRAWN_PARTS) return p->sketch->n_split > 0;
  for (uint32_t k = 0; k < p->sketch->n_order; k++) {
    const seer_sketch_stage *s = &p->sketch->stage[p->sketch->order[k]];
    const bool has[DRAWN_KIND_COUNT] = {[DRAWN_TILE] = s->role == SEER_ROLE_TILED,
        [DRAWN_FUSE] = s->role == SEER_ROLE_FOLLOW && !strstr(p->sketch->signature, "/cachewrite("),
        [DRAWN_FETCH] = s->role == SEER_ROLE_FETCH,
        [DRAWN_CROSSTHREAD] = s->is_tree,
        [DRAWN_AHEAD] = s->ahead_knob != SEER_NO_KNOB && p->schedule->knob[s->ahead_knob] > 0,
        [DRAWN_FLAT] = s->role == SEER_ROLE_SIMPLE && s->is_flat};
    if (has[kind]) return true;
  }
  return false;
}

static bool is_dealt(const random_program *p) {
  return !drawn_has(p, DRAWN_TILE) && !drawn_has(p, DRAWN_CROSSTHREAD);
}

drawn_choice drawn_choose(uint32_t most) {
  const char *asked = getenv("SEER_PROPERTY_PAIRS");
  return (drawn_choice){.most = asked ? (uint32_t)strtoul(asked, NULL, 10) : most};
}

bool drawn_wants(const drawn_choice *choice, const random_program *p) {
  bool is_any_rare = false, has_rare = false;
  for (uint32_t k = 0; k < DRAWN_KIND_COUNT; k++) {
    bool is_rare = choice->n_of[k] * 6 <= choice->n;
    is_any_rare |= is_rare;
    has_rare |= is_rare && drawn_has(p, (drawn_kind)k);
  }
  if (choice->n == choice->most || (is_any_rare && !has_rare)) return false;
  return !is_dealt(p) || choice->n_dealt * 4 <= choice->n;
}

void drawn_take(drawn_choice *choice, const random_program *p) {
  choice->n++;
  choice->n_dealt += is_dealt(p);
  for (uint32_t k = 0; k < DRAWN_KIND_COUNT; k++) choice->n_of[k] += drawn_has(p, (drawn_kind)k);
}

void drawn_check(const drawn_choice *choice) {
  const uint32_t *n_of = choice->n_of;
  print_message(
      "of %u schedules %u have tiles, %u of them with a reader of the DAG's, %u fetches, %u sums "
      "that items share, %u stages dealt out, %u products in parts, %u fetched a step ahead\n",
      choice->n, n_of[DRAWN_TILE], n_of[DRAWN_FUSE], n_of[DRAWN_FETCH], n_of[DRAWN_CROSSTHREAD],
      n_of[DRAWN_FLAT], n_of[DRAWN_PARTS], n_of[DRAWN_AHEAD]);
  assert_int_equal(choice->n, choice->most);
  for (uint32_t k = 0; k < DRAWN_KIND_COUNT; k++) assert_true(n_of[k] >= choice->most / 6);
}

seer_vec_code *drawn_code(
    const random_program *program, const char *symbol, seer_arena *arena, const char **out_wrong) {
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_vec_code *code = NULL;
  seer_status status = seer_gen_code(program->loop, &machine, symbol, arena, &code);
  if (!status) status = seer_vec_verify(code);
  *out_wrong = NULL;
  if (!status) return code;
  *out_wrong = seer_arena_printf(arena, "code: %s", seer_status_message(status));
  seer_status_free(status);
  return NULL;
}

typedef struct {
  const seer_dag *dag;
  seer_arena *arena;
  bool is_hard;
} numbers;

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  static const double hard[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0};
  const numbers *from = user;
  int64_t n = seer_dag_buf_elems(buf);
  uint32_t b = (uint32_t)(buf - from->dag->buf);
  memcpy(data, random_dag_input(from->dag, b, rng, from->arena),
      (size_t)n * seer_dtype_bytes(buf->dtype));
  if (!from->is_hard || buf->dtype != SEER_DTYPE_F32) return;
  for (int64_t k = 0; k < n; k++) {
    if (seer_rng_below(rng, 24) == 0)
      seer_dtype_store_f64(buf->dtype, data, k, hard[seer_rng_below(rng, SEER_COUNT_OF(hard))]);
  }
}

loop_expect *drawn_expect(
    const seer_sketch_list *list, uint64_t seed, bool is_hard, seer_arena *arena) {
  const numbers from = {list->dag, arena, is_hard};
  seer_rng rng;
  seer_rng_init(&rng, seed);
  loop_expect *expect = loop_expect_of(list, fill, &from, &rng, arena);
  expect->is_exact = true;
  return expect;
}
