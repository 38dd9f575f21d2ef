// Items as lanes of vectors, which OpenCL's compilers for processors are given (code/gpu/spread.c),
// on PoCL: drawn schedules for processors behind OpenCL come to what the DAG does, to the bit where
// numbers are whole, and most of their kernels have that form. Memory ends where the buffer does,
// so that an access of an item that a mask leaves out is seen.
// SEER_TEST: timeout=600 cost=80
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "code/gen/generate.h"
#include "code/source/source.h"
#include "space/lower.h"
#include "support/loop_check.h"
#include "support/opencl_run.h"
#include "support/test.h"

#define POCL "Portable Computing Language"
#define N_SAMPLES 8
#define MOST_NODES 1000

static const char *const dags[] = {
    "dag p { input $x f32[14, 14, 24] weight $w f32[48, 24] "
    "stage y role anchor [h:y<14, w:x<14, o:out_channel<48] sum[c:in_channel<24] = "
    "$x[h, w, c] * $w[o, c] "
    "stage r role epilogue [h:y<14, w:x<14, o:out_channel<48] = min(max($y[h, w, o], 0.0), 6.0) "
    "output $r }",
    "dag d { input $x f32[12, 12, 32] weight $w f32[3, 3, 32] "
    "stage pad role pad [i:y<14, j:x<14, c:out_channel<32] = "
    "($x[i - 1, j - 1, c] if (i >= 1) & (i < 13) & ((j >= 1) & (j < 13)) else 0.0) "
    "stage y role anchor [h:y<12, w:x<12, c:out_channel<32] sum[ky:ky<3, kx:kx<3] = "
    "$pad[h + ky, w + kx, c] * $w[ky, kx, c] output $y }",
    // a tail of channels
    "dag t { input $x f32[24, 20] weight $w f32[20, 40] "
    "stage y role anchor [m:m<24, n:n<40] sum[k:k<20] = $x[m, k] * $w[k, n] output $y }",
    // borders along a row, one of them in each lane; of steps of two
    "dag b { input $x f32[4, 40] weight $w f32[4, 5] "
    "stage pad role pad [c:out_channel<4, j:x<44] = "
    "($x[c, j - 2] if (j >= 2) & (j < 42) else 0.0) "
    "stage y role anchor [c:out_channel<4, w:x<40] sum[k:kx<5] = $pad[c, w + k] * $w[c, k] "
    "output $y }",
    "dag s { input $x f32[2, 6, 64] weight $w f32[16, 2, 3, 3] "
    "stage pad role pad [c:in_channel<2, i:y<8, j:x<66] = "
    "($x[c, i - 1, j - 1] if (i >= 1) & (i < 7) & ((j >= 1) & (j < 65)) else 0.0) "
    "stage y role anchor [h:y<3, w:x<32, o:out_channel<16] "
    "sum[c:in_channel<2, ky:ky<3, kx:kx<3] = "
    "$pad[c, 2 * h + ky, 2 * w + kx] * $w[o, c, ky, kx] output $y }",
    // what the mask of an item leaves out is of all of them
    "dag a { input $x f32[4, 5] weight $w f32[4, 5] "
    "stage pad role pad [c:out_channel<4, w:x<40, j:kx<5] = "
    "($x[c, j] if (w + j >= 2) & (w + j < 40) else 0.0) "
    "stage y role anchor [c:out_channel<4, w:x<40] sum[k:kx<5] = $pad[c, w, k] * $w[c, k] "
    "output $y }",
    // odd sizes: tails of all axes
    "dag o { input $x f32[19, 16] weight $w f32[16, 37] "
    "stage y role anchor [m:m<19, n:n<37] sum[k:k<16] = $x[m, k] * $w[k, n] "
    "stage r role epilogue [m:m<19, n:n<37] = max($y[m, n], $x[m, 3]) output $r }",
    // every operator that has lanes, rows that are far apart
    "dag e { input $x f32[32, 64] input $v f32[64] "
    "stage y role anchor [i:n<64, j:m<32] = "
    "select($x[j, i] < $v[i], floor($x[j, i] / 3.0) - ceil($v[i] * 0.5), "
    "sqrt(abs($x[j, i])) + round($v[i] * 0.25)) + neg($x[j, i]) "
    "stage z role epilogue [i:n<64, j:m<32] = select($y[i, j] >= 1.0, $y[i, j], $v[i]) output $z }",
};

typedef struct {
  uint32_t n, n_spread, n_apart, n_masked;
} counts;

static bool has(const char *text, const char *word) { return strstr(text, word) != NULL; }

static void check(
    opencl_runner *runner, const loop_expect *expect, const seer_schedule *schedule, counts *c) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_arena *arena = seer_arena_create("candidate");
  seer_loop *loop = NULL;
  seer_vec_code *code = NULL;
  const char *text = NULL;
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  must(seer_gen_code(loop, &machine, "kernel", arena, &code));
  must(seer_source_print(code, seer_dialect_find("opencl"), arena, &text));
  if (code->n < MOST_NODES) {
    const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
    void **data = loop_expect_data(expect, sketch, loop, arena);
    const char *wrong = opencl_run(runner, code, data, arena);
    if (!wrong) wrong = loop_expect_compare(expect, sketch, loop, data, arena);
    if (wrong)
      fail_msg("%s\n%s\n%s", wrong, seer_schedule_print(expect->list, schedule, arena), text);
    c->n++;
    c->n_spread += has(text, "#if ITEMS_ARE_LANES >= ");
    c->n_masked += has(text, "if (any(") || has(text, "load_some_");
    c->n_apart += has(text, "load_apart_") || has(text, "store_apart_");
  }
  seer_arena_destroy(arena);
}

static void drawn_schedules_compute_what_the_dag_does(void **state) {
  counts all = {0};
  for (size_t k = 0; k < SEER_COUNT_OF(dags); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target;
    seer_sketch_list *list;
    seer_dag *dag = NULL;
    seer_rng rng;
    counts c = {0};
    seer_rng_init(&rng, k + 1);
    must(seer_target_parse("opencl:cpu", arena, &target));
    must(seer_dag_parse("test", dags[k], strlen(dags[k]), arena, &dag));
    seer_dag_finish(dag);
    must(seer_dag_verify(dag));
    must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
    const loop_expect *expect = loop_expect_make(list, k + 7, arena);
    for (uint32_t i = 0; i < list->n; i++) {
      seer_schedule schedule;
      seer_schedule_default(list, i, &schedule);
      check(*state, expect, &schedule, &c);
      for (uint32_t n = 0; n < N_SAMPLES; n++)
        if (seer_schedule_sample(list, i, &rng, &schedule, NULL) == SEER_REJECT_NONE)
          check(*state, expect, &schedule, &c);
    }
    printf(
        "%s: %u schedules, %u with items as lanes, %u of them with elements that lie apart, %u "
        "with masks\n",
        dag->name, c.n, c.n_spread, c.n_apart, c.n_masked);
    all = (counts){
        all.n + c.n, all.n_spread + c.n_spread, all.n_apart + c.n_apart, all.n_masked + c.n_masked};
    assert_true(c.n_spread > 0);
    seer_arena_destroy(arena);
  }
  assert_true(
      all.n >= 20 && all.n_spread >= all.n / 3 && all.n_apart > 0 && all.n_masked >= all.n / 10);
}

int main(void) {
  const char *why;
  seer_arena *arena = seer_arena_create("opencl");
  opencl_runner *runner = opencl_open(POCL, OPENCL_POISON, arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs it
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(drawn_schedules_compute_what_the_dag_does, runner)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opencl_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
