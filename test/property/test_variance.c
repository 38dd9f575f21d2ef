// A variance is never negative, and its root never NaN: E[x^2] - E[x]^2 on rows of one number,
// whose square is no f32, chosen such that every sum of the numbers and of their rounded squares is
// exact in any order. Then both terms are the same f32, unless a product goes into a sum or a
// difference unrounded. Compiled for each instruction set, default and random schedules, against
// the interpreter, to the bit; the forms that normalisations and exported networks have.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "space/lower.h"
#include "support/jit_check.h"
#include "support/levels.h"
#include "support/loop_check.h"
#include "support/test.h"

#define ROWS 13
#define SAMPLES 1
#define MAX_SKETCHES 4

typedef struct {
  const char *name, *stages;
} form;

// N: the elements of a row; S: 1 / N.
static const form forms[] = {
    {"root of E[x^2] - E[x]^2",
        "  stage mean role epilogue [r<13] = $sum[r] * S\n"
        "  stage out role epilogue [r<13, k<N] = sqrt($squares[r] * S - $mean[r] * $mean[r])\n"},
    {"divided",
        "  stage out role epilogue [r<13, k<N] = sqrt($squares[r] / N.0 - "
        "($sum[r] / N.0) * ($sum[r] / N.0))\n"},
    {"by pow",
        "  stage mean role epilogue [r<13] = $sum[r] / N.0\n"
        "  stage out role epilogue [r<13, k<N] = sqrt($squares[r] / N.0 - pow($mean[r], 2.0))\n"},
    {"the other way round",
        "  stage mean role epilogue [r<13] = $sum[r] * S\n"
        "  stage out role epilogue [r<13, k<N] = sqrt(-1.0 * ($mean[r] * $mean[r] - $squares[r] * "
        "S))\n"},
    {"added",
        "  stage mean role epilogue [r<13] = $sum[r] * S\n"
        "  stage out role epilogue [r<13, k<N] = sqrt($squares[r] * S + $mean[r] * "
        "neg($mean[r]))\n"},
    {"normalised",
        "  stage mean role epilogue [r<13] = $sum[r] * S\n"
        "  stage scale role epilogue [r<13] = 1.0 / sqrt($squares[r] * S - $mean[r] * $mean[r] + "
        "1e-12)\n"
        "  stage out role epilogue [r<13, k<N] = ($x[r, k] - $mean[r]) * $scale[r] + 0.5\n"},
    {"two passes, as LayerNormalization",
        "  stage mean role epilogue [r<13] = $sum[r] * S\n"
        "  stage away role reduce_local [r<13] sum[k<N] = ($x[r, k] - $mean[r]) * ($x[r, k] - "
        "$mean[r])\n"
        "  stage scale role epilogue [r<13] = 1.0 / sqrt($away[r] * S + 1e-12)\n"
        "  stage out role epilogue [r<13, k<N] = ($x[r, k] - $mean[r]) * $scale[r] + 0.5\n"},
};

static const char *replaced(const char *text, int n, seer_arena *arena) {
  seer_text out;
  seer_text_init(&out, arena);
  for (const char *at = text; *at; at++) {
    if (*at == 'N')
      seer_text_printf(&out, "%d", n);
    else if (*at == 'S')
      seer_text_printf(&out, "%.9g", 1.0 / n);
    else
      seer_text_put_n(&out, at, 1);
  }
  return out.data;
}

static seer_dag *dag_of(const form *f, int n, seer_arena *arena) {
  const char *text = seer_arena_printf(arena,
      "dag variance {\n  input $x f32[13, N]\n"
      "  stage sum role reduce_local [r<13] sum[k<N] = $x[r, k]\n"
      "  stage squares role reduce_local [r<13] sum[k<N] = $x[r, k] * $x[r, k]\n%s  output "
      "$out\n}\n",
      f->stages);
  text = replaced(text, n, arena);
  seer_dag *dag;
  seer_status status = seer_dag_parse("variance", text, strlen(text), arena, &dag);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
  return dag;
}

// c with 18 significant bits, so that n times c is exact for n up to 32; its square needs more than
// f32 has, and is rounded to a number with five zeros at its end, so that n times that is exact.
static float number(seer_rng *rng) {
  for (;;) {
    double c = (double)(131072 + seer_rng_below(rng, 131072)) *
        ldexp(1, (int)seer_rng_range(rng, -20, -8));
    float square = (float)(c * c);
    uint32_t bits;
    memcpy(&bits, &square, sizeof bits);
    if ((double)square != c * c && (bits & 31) == 0)
      return (float)(seer_rng_below(rng, 2) ? c : -c);
  }
}

static const char *try_schedule(jit_runner *runner, const loop_expect *expect,
    const seer_schedule *schedule, const float *want, int n, seer_arena *arena) {
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  seer_loop *loop;
  seer_status status = seer_loop_lower(expect->list, schedule, arena, &loop);
  if (status) {
    seer_status_free(status);
    return NULL;
  }
  void **data = loop_expect_data(expect, sketch, loop, arena);
  const char *wrong = jit_run(runner, loop, data, 1, arena);
  for (uint32_t b = 0; b < loop->n_buf && !wrong; b++) {
    if (loop->buf[b].storage != SEER_STORE_OUTPUT) continue;
    const float *got = data[b];
    for (int i = 0; i < ROWS * n && !wrong; i++) {
      if (!(got[i] == want[i]))
        wrong = seer_arena_printf(arena, "element %d is %g, the interpreter has %g\n%s", i,
            (double)got[i], (double)want[i], seer_loop_print(loop, arena));
    }
  }
  return wrong;
}

static void check(const test_level *level, const form *f, int n, uint64_t seed) {
  seer_arena *arena = seer_arena_create("test"), *scratch = seer_arena_create("scratch");
  jit_runner *runner = jit_runner_create(&level->target);
  seer_dag *dag = dag_of(f, n, arena);
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, &level->target, SEER_SPACE_FULL, arena, &list));
  seer_rng rng;
  seer_rng_init(&rng, seed);
  loop_expect *expect = loop_expect_make(list, seed, arena);
  float *x = SEER_NEW_ARRAY(arena, float, (size_t)(ROWS * n)), *want = NULL;
  for (int r = 0; r < ROWS; r++) {
    float c = number(&rng);
    for (int k = 0; k < n; k++) x[r * n + k] = c;
  }
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    expect->input[b] = x;
    seer_dag_eval_set_input(eval, b, x);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    want = SEER_NEW_ARRAY(arena, float, (size_t)(ROWS * n));
    seer_dag_eval_all(eval, b, want);
  }
  for (int i = 0; i < ROWS * n; i++) assert_true(want[i] == want[i]);
  uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, list->n);
  for (uint32_t k = 0; k < list->n; k++) order[k] = k;
  seer_rng_shuffle_u32(&rng, order, list->n);
  for (uint32_t i = 0; i < list->n && i < MAX_SKETCHES; i++) {
    uint32_t s = order[i];
    seer_schedule schedule;
    seer_schedule_default(list, s, &schedule);
    for (int k = 0; k <= SAMPLES; k++) {
      if (k > 0 && seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE)
        continue;
      const char *wrong = try_schedule(runner, expect, &schedule, want, n, scratch);
      if (wrong) fail_msg("%s, %s, rows of %d: %s", level->name, f->name, n, wrong);
      seer_arena_reset(scratch);
    }
  }
  jit_runner_destroy(runner);
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
}

static void variances_are_not_negative(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("levels");
  for (uint32_t l = 0; l < TEST_LEVELS; l++) {
    test_level level = test_level_get(l, arena);
    if (!level.runs_here) {
      print_message("%s: not run, this machine lacks it\n", level.name);
      continue;
    }
    for (size_t f = 0; f < SEER_COUNT_OF(forms); f++) {
      check(&level, &forms[f], 2 << (f + l) % 5, 1 + f);  // rows of 2 to 32
    }
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(variances_are_not_negative)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
