// test_items_device.c - random schedules of random DAGs on a device of the table of devices, as
// libraries and candidates run them: with new numbers for each run, hard ones too, outputs and
// blocks' memory full of NaN at first, they come to what the DAG's interpreter gives, to the bit;
// and what is planted in others shows. What runs here needs no GPU; with one it is judged by it:
//
//   SEER_TEST_DEVICE=cuda:0   the device; else OpenCL's first
//   SEER_PROPERTY_PAIRS=n     so many schedules in place of some
//   SEER_TEST_NO_FAULTS=1     those alone: what is planted is what judges of memory complain of
// SEER_TEST: timeout=300 cost=20
#include <stdlib.h>

#include "support/device_run.h"
#include "support/drawn_faults.h"
#include "support/drawn_kernels.h"
#include "support/test.h"

#define N_KERNELS 18
#define MOST_NODES 1500  // where a driver of processors compiles, which takes seconds for long ones
#define N_IN_PROGRAM 10
#define N_RUNS 3  // of each kernel, the last one with hard numbers
#define N_FAULTS 12

typedef struct kernel kernel;
struct kernel {
  random_program program;
  const seer_vec_code *code;
  kernel *next;
};

typedef struct {
  seer_arena *arena;  // until all have run
  kernel *first, **end;
  uint32_t n_long;  // left out
  bool is_short;
  drawn_choice choice;
} drawn;

static void keep(drawn *d, kernel *k) {
  *d->end = k;
  d->end = &k->next;
  drawn_take(&d->choice, &k->program);
}

static const char *symbol(drawn *d) { return seer_arena_printf(d->arena, "k%u", d->choice.n); }

static const char *take(void *user, const random_program *p, seer_arena *arena) {
  drawn *d = user;
  const char *wrong;
  if (!drawn_wants(&d->choice, p)) return NULL;
  seer_vec_code *code = drawn_code(p, symbol(d), arena, &wrong);
  if (!code) return wrong;
  if (d->is_short && code->n > MOST_NODES) {
    d->n_long++;
    return NULL;
  }
  kernel *own = SEER_NEW(d->arena, kernel);
  *own = (kernel){.program = *p, .code = code};
  keep(d, own);
  return NULL;
}

static bool lacks(const void *user) {
  const drawn *d = user;
  return d->choice.n < d->choice.most;
}

typedef const char *(*taker)(void *user, const random_program *program, seer_arena *scratch);

static void draw(drawn *d, const device_runner *runner, taker take_it, uint64_t seed, uint64_t n) {
  seer_target *target = SEER_NEW(d->arena, seer_target);  // sketches point to it
  must(seer_target_parse(device_run_target(runner, d->arena), d->arena, target));
  d->end = &d->first;
  d->is_short = device_run_info(runner)->is_cpu;
  random_programs how = {.targets = target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 1,
      .check = take_it,
      .user = d,
      .lacks = lacks,
      .keep = d->arena};
  random_programs_check(&how, "device", seed, n);
}

static void run_kernel(device_program *program, const kernel *k) {
  const random_program *p = &k->program;
  for (uint64_t run = 0; run < N_RUNS; run++) {
    seer_arena *arena = seer_arena_create("run");
    const loop_expect *expect =
        drawn_expect(p->expect->list, p->draw * N_RUNS + run, run + 1 == N_RUNS, arena);
    void **data = loop_expect_data(expect, p->sketch, p->loop, arena);
    const char *wrong = device_run_launch(program, k->code, data, arena);
    if (!wrong) wrong = loop_expect_compare(expect, p->sketch, p->loop, data, arena);
    if (wrong)
      fail_msg("SEER_PROPERTY_SEED=%" PRIu64 ", run %d: %s\n%s", p->seed, (int)run, wrong,
          seer_loop_print(p->loop, arena));
    seer_arena_destroy(arena);
  }
}

static void they_compute_what_the_dag_does(void **state) {
  device_runner *runner = *state;
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.arena = arena, .choice = drawn_choose(N_KERNELS)};
  draw(&d, runner, take, 40000, (uint64_t)DRAWN_OF * d.choice.most);
  print_message("%u left out as too long\n", d.n_long);
  drawn_check(&d.choice);
  for (const kernel *k = d.first; k;) {
    seer_arena *work = seer_arena_create("program");
    const seer_vec_code *codes[N_IN_PROGRAM];
    device_program *program;
    const kernel *begin = k;
    uint32_t n = 0;
    for (; k && n < N_IN_PROGRAM; k = k->next) codes[n++] = k->code;
    const char *wrong = device_run_build(runner, codes, n, work, &program);
    if (wrong) fail_msg("%s", wrong);
    for (const kernel *one = begin; one != k; one = one->next) run_kernel(program, one);
    device_run_free(program);
    seer_arena_destroy(work);
  }
  seer_arena_destroy(arena);
}

// A kernel with half of a fetch, or a fetch that is one item short, where the interpreter says that
// this is a fault: it stays within its memory, so a device that it runs on is as good as before.
static const char *take_faulty(void *user, const random_program *p, seer_arena *arena) {
  static const drawn_fault faults[] = {DRAWN_FAULT_HALF_FETCH, DRAWN_FAULT_SHORT_FETCH};
  drawn *d = user;
  const char *wrong;
  seer_rng rng;
  if (!lacks(d) || !drawn_has(p, DRAWN_FETCH)) return NULL;
  kernel *own = SEER_NEW(d->arena, kernel);
  seer_rng_init(&rng, p->draw);
  own->program = *p;
  own->program.loop =
      drawn_fault_plant(faults[d->choice.n % SEER_COUNT_OF(faults)], p, &rng, d->arena);
  if (!own->program.loop) return NULL;
  seer_vec_code *code = drawn_code(&own->program, symbol(d), arena, &wrong);
  if (!code || code->n > MOST_NODES) return wrong;
  void **data = loop_expect_data(p->expect, p->sketch, own->program.loop, arena);
  seer_status status = seer_vec_eval(code, data, &rng);
  bool is_fault = status != NULL;
  seer_status_free(status);
  own->code = code;
  if (is_fault) keep(d, own);
  return NULL;
}

static void what_is_not_there_shows(void **state) {
  device_runner *runner = *state;
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.arena = arena, .choice = {.most = N_FAULTS}};
  draw(&d, runner, take_faulty, 41000, 10 * N_FAULTS);
  const seer_vec_code *codes[N_FAULTS];
  uint32_t n = 0, n_seen = 0;
  for (const kernel *k = d.first; k; k = k->next) codes[n++] = k->code;
  assert_int_equal(n, N_FAULTS);
  device_program *program;
  const char *wrong = device_run_build(runner, codes, n, arena, &program);
  if (wrong) fail_msg("%s", wrong);
  for (const kernel *k = d.first; k; k = k->next) {
    const random_program *p = &k->program;
    void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
    wrong = device_run_launch(program, k->code, data, arena);
    if (wrong) fail_msg("%s", wrong);
    n_seen += loop_expect_compare(p->expect, p->sketch, p->loop, data, arena) != NULL;
  }
  device_run_free(program);
  print_message("%u of %u are seen\n", n_seen, n);
  assert_true(n_seen * 2 > n);  // some read for what is stored nowhere
  seer_arena_destroy(arena);
}

int main(void) {
  const char *name = getenv("SEER_TEST_DEVICE"), *why;
  seer_arena *arena = seer_arena_create("device");
  device_runner *runner = device_run_open(name ? name : "opencl:0", arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs a driver of OpenCL
  }
  const seer_device_info *info = device_run_info(runner);
  print_message("on %s, %s\n", info->name, info->driver);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(they_compute_what_the_dag_does, runner),
      cmocka_unit_test_prestate(what_is_not_there_shows, runner)};
  const struct CMUnitTest first[] = {tests[0]};
  int failed = getenv("SEER_TEST_NO_FAULTS") ? cmocka_run_group_tests(first, NULL, NULL)
                                             : cmocka_run_group_tests(tests, NULL, NULL);
  device_run_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
