// drawn_run.c - see drawn_run.h.
#include "support/drawn_run.h"

#include "support/test.h"

#define N_IN_PROGRAM 10  // kernels: what a compiler takes to start is shared
#define N_RUNS 3  // of each kernel, the last one with hard numbers
#define N_FAULTY 12
#define MOST_FAULTY_NODES 1500

typedef struct kernel kernel;
struct kernel {
  random_program program;
  const seer_vec_code *code;
  kernel *next;
};

typedef struct {
  const drawn_runner *runner;
  seer_arena *arena;  // until all have run
  kernel *first, **end;
  uint32_t n_long;  // left out
  drawn_choice choice;
  const drawn_fault *faults;
  uint32_t n_faults;
} drawn;

static void keep(drawn *d, const random_program *p, const seer_vec_code *code) {
  kernel *own = SEER_NEW(d->arena, kernel);
  *own = (kernel){.program = *p, .code = code};
  *d->end = own;
  d->end = &own->next;
  drawn_take(&d->choice, p);
}

static seer_vec_code *code_of(
    drawn *d, const random_program *p, seer_arena *arena, const char **out_wrong) {
  const char *symbol = seer_arena_printf(d->arena, "k%u", d->choice.n);
  return drawn_code(p, symbol, arena, out_wrong);
}

static const char *take(void *user, const random_program *p, seer_arena *arena) {
  drawn *d = user;
  const char *wrong;
  if (!drawn_wants(&d->choice, p)) return NULL;
  seer_vec_code *code = code_of(d, p, arena, &wrong);
  if (!code) return wrong;
  if (d->runner->most_nodes > 0 && code->n > d->runner->most_nodes)
    d->n_long++;
  else
    keep(d, p, code);
  return NULL;
}

static bool lacks(const void *user) {
  const drawn *d = user;
  return d->choice.n < d->choice.most;
}

static const char *take_faulty(void *user, const random_program *p, seer_arena *arena) {
  drawn *d = user;
  const char *wrong;
  seer_rng rng;
  if (!lacks(d) || !drawn_has(p, DRAWN_FETCH)) return NULL;
  random_program faulty = *p;
  seer_rng_init(&rng, p->draw);
  faulty.loop = drawn_fault_plant(d->faults[d->choice.n % d->n_faults], p, &rng, d->arena);
  if (!faulty.loop) return NULL;
  seer_vec_code *code = code_of(d, &faulty, arena, &wrong);
  if (!code || code->n > MOST_FAULTY_NODES) return NULL;  // of some no code is made
  void **data = loop_expect_data(p->expect, p->sketch, faulty.loop, arena);
  seer_status status = seer_vec_eval(code, data, &rng);
  if (status) keep(d, &faulty, code);
  seer_status_free(status);
  return NULL;
}

typedef const char *(*taker)(void *user, const random_program *program, seer_arena *scratch);

// Until d->choice has what it wants.
static void draw(drawn *d, taker take_it, const char *name, uint64_t first_seed, uint64_t n) {
  seer_target *target = SEER_NEW(d->arena, seer_target);  // sketches point to it
  must(seer_target_parse(d->runner->target, d->arena, target));
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

static void run_kernel(const drawn_runner *runner, void *program, const kernel *k) {
  const random_program *p = &k->program;
  for (uint64_t run = 0; run < N_RUNS; run++) {
    seer_arena *arena = seer_arena_create("run");
    const loop_expect *expect =
        drawn_expect(p->expect->list, p->draw * N_RUNS + run, run + 1 == N_RUNS, arena);
    void **data = loop_expect_data(expect, p->sketch, p->loop, arena);
    const char *wrong = runner->launch(program, k->code, data, arena);
    if (!wrong) wrong = loop_expect_compare(expect, p->sketch, p->loop, data, arena);
    if (wrong)
      fail_msg("SEER_PROPERTY_SEED=%" PRIu64 ", run %d: %s\n%s", p->seed, (int)run, wrong,
          seer_loop_print(p->loop, arena));
    seer_arena_destroy(arena);
  }
}

// Of *next and those behind it, as many as a program has; *next: what is left.
static void *build(
    const drawn_runner *runner, const kernel **next, uint32_t most, seer_arena *arena) {
  const seer_vec_code *codes[N_FAULTY > N_IN_PROGRAM ? N_FAULTY : N_IN_PROGRAM];
  void *program;
  uint32_t n = 0;
  for (; *next && n < most; *next = (*next)->next) codes[n++] = (*next)->code;
  const char *wrong = runner->build(runner->runner, codes, n, arena, &program);
  if (wrong) fail_msg("%s", wrong);
  return program;
}

void drawn_run(const drawn_runner *runner, const char *name, uint64_t first_seed, uint32_t n) {
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.runner = runner, .arena = arena, .choice = drawn_choose(n)};
  draw(&d, take, name, first_seed, (uint64_t)DRAWN_OF * d.choice.most);
  print_message("%u left out as too long\n", d.n_long);
  drawn_check(&d.choice);
  for (const kernel *k = d.first; k;) {
    seer_arena *work = seer_arena_create("program");
    const kernel *one = k;
    void *program = build(runner, &k, N_IN_PROGRAM, work);
    for (; one != k; one = one->next) run_kernel(runner, program, one);
    runner->free(program);
    seer_arena_destroy(work);
  }
  seer_arena_destroy(arena);
}

void drawn_run_faulty(const drawn_runner *runner, const char *name, uint64_t first_seed,
    const drawn_fault *faults, uint32_t n_faults) {
  seer_arena *arena = seer_arena_create("test");
  drawn d = {.runner = runner,
      .arena = arena,
      .choice = {.most = N_FAULTY},
      .faults = faults,
      .n_faults = n_faults};
  draw(&d, take_faulty, name, first_seed, 10 * N_FAULTY);
  assert_int_equal(d.choice.n, N_FAULTY);
  uint32_t n_seen = 0;
  const kernel *end = d.first;
  void *program = build(runner, &end, N_FAULTY, arena);
  for (const kernel *k = d.first; k; k = k->next) {
    const random_program *p = &k->program;
    void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
    const char *wrong = runner->launch(program, k->code, data, arena);
    if (wrong) fail_msg("%s", wrong);
    n_seen += loop_expect_compare(p->expect, p->sketch, p->loop, data, arena) != NULL;
  }
  runner->free(program);
  print_message("%u of %u are seen\n", n_seen, d.choice.n);
  // Some wait of themselves, and some read for what is stored nowhere.
  assert_true(n_seen * 2 > d.choice.n);
  seer_arena_destroy(arena);
}
