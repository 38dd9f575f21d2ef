// loop_check.c - see loop_check.h.
#include "support/loop_check.h"

#include <math.h>
#include <string.h>

#include "support/random_dag.h"

static void *buf_new(const seer_dag_buf *buf, seer_arena *arena) {
  return seer_arena_alloc(
      arena, (size_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype) + 1, 64);
}

static void note_inexact(void *user, seer_expr e) {
  struct {
    const seer_expr_pool *pool;
    bool is_exact;
  } *look = user;
  const seer_expr_node *node = seer_expr_at(look->pool, e);
  if (!seer_dtype_is_float((seer_dtype)node->dtype)) return;
  if (node->op == SEER_EXPR_CONST_F) {
    if (isfinite(node->value.f) && node->value.f != rint(node->value.f)) look->is_exact = false;
    return;
  }
  bool is_real = node->op == SEER_EXPR_DIV || node->op == SEER_EXPR_POW ||
      node->op == SEER_EXPR_SQRT || (node->op >= SEER_EXPR_EXP && node->op <= SEER_EXPR_SIGMOID);
  if (is_real) look->is_exact = false;
}

static bool dag_is_exact(const seer_dag *dag) {
  struct {
    const seer_expr_pool *pool;
    bool is_exact;
  } look = {&dag->expr, true};
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++) {
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_inexact, &look);
    }
  }
  return look.is_exact;
}

static seer_dag_eval *evaluator(const loop_expect *expect, const seer_dag *dag, seer_arena *arena) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, expect->input[b]);
  }
  return eval;
}

// The outputs, where all of expect->input is there.
static void evaluate(loop_expect *expect, seer_arena *arena) {
  const seer_dag *dag = expect->list->dag;
  seer_dag_eval *eval = evaluator(expect, dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    expect->output[b] = buf_new(&dag->buf[b], arena);
    seer_dag_eval_all(eval, b, expect->output[b]);
  }
}

loop_expect *loop_expect_make(const seer_sketch_list *list, uint64_t seed, seer_arena *arena) {
  loop_expect *expect = SEER_NEW(arena, loop_expect);
  const seer_dag *dag = list->dag;
  seer_rng rng;
  seer_rng_init(&rng, seed);
  expect->list = list;
  expect->is_exact = dag_is_exact(dag);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    expect->input[b] = random_dag_input(dag, b, &rng, arena);
  }
  evaluate(expect, arena);
  return expect;
}

loop_expect *loop_expect_of(const seer_sketch_list *list, loop_expect_fill fill, const void *user,
    seer_rng *rng, seer_arena *arena) {
  loop_expect *expect = SEER_NEW(arena, loop_expect);
  const seer_dag *dag = list->dag;
  expect->list = list;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    expect->input[b] = buf_new(&dag->buf[b], arena);
    fill(user, &dag->buf[b], rng, expect->input[b]);
  }
  evaluate(expect, arena);
  return expect;
}

static bool next_index(const seer_dag_buf *buf, int64_t *index) {
  for (uint32_t d = buf->rank; d-- > 0;) {
    if (++index[d] < buf->dim[d]) return true;
    index[d] = 0;
  }
  return false;
}

static const char *compare(const seer_dag_buf *buf, const void *want, const void *got,
    double tolerance, seer_arena *arena) {
  int64_t index[SEER_MAX_RANK] = {0};
  do {
    int64_t offset = 0;
    for (uint32_t d = 0; d < buf->rank; d++)
      offset = offset * (d + 1u == buf->rank ? buf->pitch : buf->dim[d]) + index[d];
    double a = seer_dtype_load_f64(buf->dtype, want, offset),
           b = seer_dtype_load_f64(buf->dtype, got, offset);
    bool same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * (1 + fabs(a));
    if (!seer_dtype_is_float(buf->dtype))  // 64 bits are more than a double has
      same = seer_dtype_load_i64(buf->dtype, want, offset) ==
          seer_dtype_load_i64(buf->dtype, got, offset);
    if (!same)
      return seer_arena_printf(
          arena, "$%s: element %" PRId64 " is %g, expected %g", buf->name, offset, b, a);
  } while (next_index(buf, index));
  return NULL;
}

static const char *check_text(const seer_loop *loop, seer_arena *arena) {
  const char *once = seer_loop_print(loop, arena);
  seer_loop *parsed;
  seer_status status = seer_loop_parse("printed", once, strlen(once), arena, &parsed);
  if (status) {
    const char *message = seer_arena_printf(arena, "parse: %s", seer_status_message(status));
    seer_status_free(status);
    return message;
  }
  if (strcmp(once, seer_loop_print(parsed, arena)) != 0)
    return "print, parse, print is no fixpoint";
  return NULL;
}

void **loop_expect_data(const loop_expect *expect, const seer_sketch *sketch, const seer_loop *loop,
    seer_arena *arena) {
  const seer_dag *dag = sketch->dag;
  void **data = SEER_NEW_ARRAY(arena, void *, loop->n_buf + 1);
  seer_dag_eval *eval = NULL;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    size_t n_bytes = (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype) + 1;
    if (buf->storage == SEER_STORE_INPUT) data[b] = expect->input[buf->dag_buf];
    if (buf->storage == SEER_STORE_OUTPUT || buf->storage == SEER_STORE_SHARED) {
      data[b] = seer_arena_alloc(arena, n_bytes, 64);
      memset(data[b], 0xFF, n_bytes);  // NaN in every float
    }
    if (buf->storage != SEER_STORE_PACKED) continue;
    data[b] = seer_arena_alloc(arena, n_bytes, 64);
    seer_dag_buf source = dag->buf[buf->pack->source_buf];
    const void *from = expect->input[buf->pack->source_buf];
    if (source.kind == SEER_BUF_STAGE) {
      if (!eval) eval = evaluator(expect, dag, arena);
      void *made = buf_new(&source, arena);
      seer_dag_eval_all(eval, buf->pack->source_buf, made);
      from = made;
    }
    seer_pack_fill(buf->pack, &source, from, data[b]);
  }
  return data;
}

const char *loop_expect_compare(const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, void *const *data, seer_arena *arena) {
  bool is_exact = expect->is_exact && dag_is_exact(sketch->dag);
  for (uint32_t b = 0; b < expect->list->dag->n_buf; b++) {
    if (!expect->output[b]) continue;
    uint32_t at = 0;
    while (at < loop->n_buf &&
        !(loop->buf[at].storage == SEER_STORE_OUTPUT && loop->buf[at].dag_buf == b))
      at++;
    if (at == loop->n_buf) {
      return seer_arena_printf(arena, "no buffer for output $%s", expect->list->dag->buf[b].name);
    }
    double tolerance = is_exact ? 0 : sketch->tolerance > 1e-5 ? sketch->tolerance : 1e-5;
    const char *wrong =
        compare(&expect->list->dag->buf[b], expect->output[b], data[at], tolerance, arena);
    if (wrong) return wrong;
  }
  return NULL;
}

static const char *run(const loop_expect *expect, const seer_sketch *sketch, const seer_loop *loop,
    uint64_t seed, seer_arena *arena) {
  void **data = loop_expect_data(expect, sketch, loop, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  seer_status status = seer_loop_eval(loop, data, &rng);
  if (status) {
    const char *message = seer_arena_printf(arena, "eval: %s", seer_status_message(status));
    seer_status_free(status);
    return message;
  }
  return loop_expect_compare(expect, sketch, loop, data, arena);
}

const char *loop_check(const loop_expect *expect, const seer_schedule *schedule,
    seer_lower_fault fault, uint64_t seed, seer_arena *arena, bool *out_was_planted) {
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_make(expect->list, schedule, frame);
  seer_loop *loop;
  seer_status status = seer_lower_frame(expect->list, frame, fault, arena, &loop, out_was_planted);
  const char *stage = "lower";
  if (!status) {
    stage = "verify";
    status = seer_loop_verify(loop);
  }
  if (status) {
    const char *message = seer_arena_printf(arena, "%s: %s\n%s", stage, seer_status_message(status),
        strcmp(stage, "verify") == 0 ? seer_loop_print(loop, arena) : "");
    seer_status_free(status);
    return message;
  }
  const char *wrong = check_text(loop, arena);
  if (!wrong) wrong = run(expect, frame->sketch, loop, seed, arena);
  return wrong ? seer_arena_printf(arena, "%s\n%s", wrong, seer_loop_print(loop, arena)) : NULL;
}
