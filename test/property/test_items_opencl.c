// test_items_opencl.c - random schedules of random DAGs for GPUs as OpenCL C, on PoCL, which makes
// code for this processor: with new numbers for each run, hard ones too, and outputs and blocks'
// memory full of NaN at first they come to what the DAG's interpreter gives, to the bit; and a
// fetch that is short shows.
//
// SEER_PROPERTY_PAIRS=n runs so many in place of some dozens; SEER_TEST_OPENCL=name on the platform
// that has that in its name (tool/check_gpu.sh: Intel's).
// SEER_TEST: timeout=300 cost=60
#include <stdlib.h>

#include "support/drawn_faults.h"
#include "support/drawn_kernels.h"
#include "support/opencl_run.h"
#include "support/test.h"

#define N_KERNELS 60
#define POCL "Portable Computing Language"

// PoCL takes seconds for long ones.
#define MOST_NODES 1500
#define N_IN_PROGRAM 10  // kernels: what a compiler takes to start is shared
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

static const char *take(void *user, const random_program *p, seer_arena *arena) {
  drawn *d = user;
  const char *wrong;
  if (!drawn_wants(&d->choice, p)) return NULL;
  seer_vec_code *code =
      drawn_code(p, seer_arena_printf(d->arena, "k%u", d->choice.n), arena, &wrong);
  if (!code) return wrong;
  if (d->is_short && code->n > MOST_NODES) {
    d->n_long++;
    return NULL;
  }
  kernel *own = SEER_NEW(d->arena, kernel);
  *own = (kernel){.program = *p, .code = code};
  *d->end = own;
  d->end = &own->next;
  drawn_take(&d->choice, p);
  return NULL;
}

static bool lacks(const void *user) {
  const drawn *d = user;
  return d->choice.n < d->choice.most;
}

typedef const char *(*taker)(void *user, const random_program *program, seer_arena *scratch);

// Until d->choice has what it wants.
static void draw(drawn *d, taker take_it, const char *name, uint64_t first_seed, uint64_t n) {
  seer_target *target = SEER_NEW(d->arena, seer_target);  // sketches point to it
  must(seer_target_parse("opencl:generic", d->arena, target));
  d->end = &d->first;
  random_programs how = {.targets = target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 1,
      .check = take_it,
      .user = d,
      .lacks = lacks,
      .keep = d->arena};
  random_programs_check(&how, name, first_seed, n);
}

static void run_kernel(opencl_program *program, const kernel *k) {
  const random_program *p = &k->program;
  for (uint64_t run = 0; run < N_RUNS; run++) {
    seer_arena *arena = seer_arena_create("run");
    const loop_expect *expect =
        drawn_expect(p->expect->list, p->draw * N_RUNS + run, run + 1 == N_RUNS, arena);
    void **data = loop_expect_data(expect, p->sketch, p->loop, arena);
    const char *wrong = opencl_launch(program, k->code, data, arena);
    if (!wrong) wrong = loop_expect_compare(expect, p->sketch, p->loop, data, arena);
    if (wrong)
      fail_msg("SEER_PROPERTY_SEED=%" PRIu64 ", run %d: %s\n%s", p->seed, (int)run, wrong,
          seer_loop_print(p->loop, arena));
    seer_arena_destroy(arena);
  }
}

static void run_all(opencl_runner *runner, const drawn *d) {
  for (const kernel *k = d->first; k;) {
    seer_arena *arena = seer_arena_create("program");
    const seer_vec_code *codes[N_IN_PROGRAM];
    opencl_program *program;
    const kernel *begin = k;
    uint32_t n = 0;
    for (; k && n < N_IN_PROGRAM; k = k->next) codes[n++] = k->code;
    const char *wrong = opencl_build(runner, codes, n, arena, &program);
    if (wrong) fail_msg("%s", wrong);
    for (const kernel *one = begin; one != k; one = one->next) run_kernel(program, one);
    opencl_program_free(program);
    seer_arena_destroy(arena);
  }
}

static void they_compute_what_the_dag_does(void **state) {
  opencl_runner *runner = *state;
  const char *platform = getenv("SEER_TEST_OPENCL");
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.arena = arena, .choice = drawn_choose(N_KERNELS), .is_short = !platform};
  draw(&d, take, "opencl", 30000, DRAWN_OF * N_KERNELS);
  print_message("%u left out as too long\n", d.n_long);
  drawn_check(&d.choice);
  run_all(runner, &d);
  seer_arena_destroy(arena);
}

// A kernel without one of its barriers, with half of a fetch or a fetch that is one item short,
// where the interpreter says that this is a fault.
static const char *take_faulty(void *user, const random_program *p, seer_arena *arena) {
  static const drawn_fault faults[] = {
      DRAWN_FAULT_NO_BARRIER, DRAWN_FAULT_HALF_FETCH, DRAWN_FAULT_SHORT_FETCH};
  drawn *d = user;
  kernel *own = SEER_NEW(d->arena, kernel);
  const char *wrong;
  seer_rng rng;
  if (d->choice.n == d->choice.most || !drawn_has(p, DRAWN_FETCH)) return NULL;
  seer_rng_init(&rng, p->draw);
  own->program = *p;
  own->program.loop =
      drawn_fault_plant(faults[d->choice.n % SEER_COUNT_OF(faults)], p, &rng, d->arena);
  if (!own->program.loop) return NULL;
  seer_vec_code *code =
      drawn_code(&own->program, seer_arena_printf(d->arena, "k%u", d->choice.n), arena, &wrong);
  if (!code || code->n > MOST_NODES) return wrong;
  void **data = loop_expect_data(p->expect, p->sketch, own->program.loop, arena);
  seer_status status = seer_vec_eval(code, data, &rng);
  bool is_fault = status != NULL;
  seer_status_free(status);
  if (!is_fault) return NULL;
  own->code = code;
  *d->end = own;
  d->end = &own->next;
  drawn_take(&d->choice, p);
  return NULL;
}

// PoCL takes one item after another as far as they need not wait: a block's memory is full of the
// poison where nothing was fetched, or not yet.
static void what_is_not_there_shows(void **state) {
  opencl_runner *runner = *state;
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.arena = arena, .choice = {.most = N_FAULTS}};
  draw(&d, take_faulty, "faults", 31000, 10 * N_FAULTS);
  const seer_vec_code *codes[N_FAULTS];
  uint32_t n = 0, n_seen = 0;
  for (const kernel *k = d.first; k; k = k->next) codes[n++] = k->code;
  assert_int_equal(n, N_FAULTS);
  opencl_program *program;
  const char *wrong = opencl_build(runner, codes, n, arena, &program);
  if (wrong) fail_msg("%s", wrong);
  for (const kernel *k = d.first; k; k = k->next) {
    const random_program *p = &k->program;
    void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
    wrong = opencl_launch(program, k->code, data, arena);
    if (wrong) fail_msg("%s", wrong);
    n_seen += loop_expect_compare(p->expect, p->sketch, p->loop, data, arena) != NULL;
  }
  opencl_program_free(program);
  print_message("%u of %u are seen\n", n_seen, n);
  // At the end of loops that have barriers it waits of itself, and some read for what is stored
  // nowhere.
  assert_true(n_seen * 2 > n);
  seer_arena_destroy(arena);
}

int main(void) {
  const char *platform = getenv("SEER_TEST_OPENCL"), *why;
  seer_arena *arena = seer_arena_create("opencl");
  opencl_runner *runner = opencl_open(platform ? platform : POCL, OPENCL_POISON, arena, &why);
  if (!runner) {
    print_message("%s\n", why);
    seer_arena_destroy(arena);
    return 1;  // tool/deps.sh installs it
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(they_compute_what_the_dag_does, runner),
      cmocka_unit_test_prestate(what_is_not_there_shows, runner)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  opencl_close(runner);
  seer_arena_destroy(arena);
  return failed;
}
