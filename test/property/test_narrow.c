// No schedule changes an answer in half precision by more than f32 is rounded: for products,
// convolutions, sums and normalisations of f16 and bf16, every sketch, its default and random
// schedules, interpreted and compiled, gives what the interpreter of the DAG gives, but for the
// last place of what is stored. Numbers are real, and have a mean: sums kept or combined in the
// narrow type would stand still, or lose three digits.
// SEER_TEST: timeout=300 cost=30
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/schedule_sweep.h"
#include "support/task_dag.h"
#include "support/test.h"

// Of each sketch, in each of two types: sums that a planted fault keeps in the type are seen.
#define SAMPLES 1

// As support/task_dag.h has them.
typedef struct {
  const char *name, *text;
} network_text;

static const network_text texts[] = {
    {"product", "input %x TYPE[7,600];input %w TYPE[600,20];%y TYPE = MatMul \"m\" v13 (%x, %w)"},
    {"product with a bias",
        "input %x TYPE[7,600];input %w TYPE[600,20];input %b TYPE[20]"
        ";%y TYPE = Gemm \"m\" v13 (%x, %w, %b) {alpha = float 0.5}"},
    {"product and more",
        "input %x TYPE[7,600];input %w TYPE[600,20];input %b TYPE[20];%p TYPE = MatMul \"m\" v13 "
        "(%x, %w);%s TYPE = Add \"a\" v14 (%p, %b);%y TYPE = Relu \"r\" v14 (%s)"},
    {"product of activations",
        "input %x TYPE[3,7,300];input %z TYPE[3,300,9];%y TYPE = MatMul \"m\" v13 (%x, %z)"},
    {"convolution",
        "input %x TYPE[1,48,7,9];input %w TYPE[20,48,3,3];input %b TYPE[20]"
        ";%y TYPE = Conv \"c\" v11 (%x, %w, %b) {pads = [1,1,1,1]}"},
    {"depthwise",
        "input %x TYPE[1,18,9,9];input %w TYPE[18,1,5,5];%y TYPE = Conv \"c\" v11 (%x, %w)"
        " {pads = [2,2,2,2], group = 18}"},
    {"sum", "input %x TYPE[5,3001];%y TYPE = ReduceSum \"s\" v11 (%x) {axes = [1]}"},
    {"sum of few columns", "input %x TYPE[901,5];%y TYPE = ReduceSum \"s\" v11 (%x) {axes = [0]}"},
    {"product of all", "input %x TYPE[5,40];%y TYPE = ReduceProd \"s\" v11 (%x) {axes = [1]}"},
    {"mean", "input %x TYPE[5,3001];%y TYPE = ReduceMean \"s\" v11 (%x) {axes = [1]}"},
    {"log of a sum", "input %x TYPE[5,1500];%y TYPE = ReduceLogSumExp \"s\" v11 (%x) {axes = [1]}"},
    {"softmax", "input %x TYPE[5,1200];%y TYPE = Softmax \"s\" v13 (%x)"},
    {"log softmax", "input %x TYPE[5,1200];%y TYPE = LogSoftmax \"s\" v13 (%x)"},
    {"layer norm",
        "input %x TYPE[5,1200];input %g TYPE[1200];input %b TYPE[1200]"
        ";%y TYPE = LayerNormalization \"n\" v17 (%x, %g, %b)"},
    {"instance norm",
        "input %x TYPE[1,5,30,40];input %g TYPE[5];input %b TYPE[5]"
        ";%y TYPE = InstanceNormalization \"n\" v6 (%x, %g, %b)"},
    {"pool", "input %x TYPE[1,5,40,30];%y TYPE = GlobalAveragePool \"p\" v1 (%x)"},
};

// ---- numbers

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  const network_text *t = user;
  bool is_product = strcmp(t->name, "product of all") == 0;
  for (int64_t k = 0; k < seer_dag_buf_elems(buf); k++) {
    double x = is_product ? 1 + 0.1 * seer_rng_normal(rng) : 0.4 + seer_rng_normal(rng);
    seer_dtype_store_f64(buf->dtype, data, k, x);
  }
}

// One step of the type where the numbers in f32 are rounded to both sides of its middle, and what
// f32 sums lose.
static const char *compare(
    const seer_dag_buf *buf, const void *want, const void *got, int64_t n, seer_arena *arena) {
  double step = ldexp(1, -(int)seer_dtype_format(buf->dtype)->mantissa_bits), largest = 0;
  for (int64_t k = 0; k < n; k++)
    largest = fmax(largest, fabs(seer_dtype_load_f64(buf->dtype, want, k)));
  for (int64_t k = 0; k < n; k++) {
    double x = seer_dtype_load_f64(buf->dtype, want, k),
           y = seer_dtype_load_f64(buf->dtype, got, k);
    if (!(fabs(x - y) <= 1.001 * step * fabs(x) + 2e-6 * largest))
      return seer_arena_printf(
          arena, "$%s: element %" PRId64 " is %g, expected %g", buf->name, k, y, x);
  }
  return NULL;
}

static uint32_t check(const network_text *t, const char *type, jit_runner *runner) {
  seer_arena *arena = seer_arena_create("task");
  schedule_sweep sweep = {.label = seer_arena_printf(arena, "%s of %s", t->name, type),
      .n_samples = SAMPLES,
      .fill = fill,
      .compare = compare,
      .user = t};
  uint32_t n = schedule_sweep_run(&sweep, task_dag_of(t->name, t->text, type, arena), 4, runner);
  seer_arena_destroy(arena);
  return n;
}

static void run(const char *type) {
  jit_runner *runner = jit_runner_create(NULL);
  for (size_t k = 0; k < SEER_COUNT_OF(texts); k++) {
    uint32_t n = check(&texts[k], type, runner);
    print_message("%s of %s: %u schedules\n", texts[k].name, type, n);
    assert_true(n > 1);
  }
  jit_runner_destroy(runner);
}

static void of_f16(void **state) { (void)state, run("f16"); }
static void of_bf16(void **state) { (void)state, run("bf16"); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(of_f16), cmocka_unit_test(of_bf16)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
