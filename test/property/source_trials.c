// source_trials.c - see source_trials.h.
#include "source_trials.h"

#include "space/items/items.h"
#include "space/lower.h"
#include "support/drawn_kernels.h"
#include "support/levels.h"
#include "support/random_programs.h"
#include "support/test.h"

typedef struct kernel kernel;
struct kernel {
  random_program program;
  void **data;
  kernel *next;
};

typedef struct {
  const source_trial *how;
  source_batch *batch;
  seer_arena *arena;  // until all have run
  kernel *kernels;
  drawn_choice choice;  // of schedules for GPUs
} trials;

static const char *add_kernel(void *user, const random_program *p, seer_arena *arena) {
  trials *t = user;
  if (t->how->target && !drawn_wants(&t->choice, p)) return NULL;
  seer_vec_code *code;
  const char *symbol = seer_arena_printf(arena, "k%u", source_batch_n(t->batch));
  kernel *own = SEER_NEW(arena, kernel);
  *own = (kernel){*p, NULL, t->kernels};
  if (t->how->target) {
    own->program.loop = seer_items_serial(p->loop);
    drawn_take(&t->choice, p);
  }
  const seer_loop *loop = own->program.loop;
  must(seer_gen_code(loop, &t->how->code, symbol, arena, &code));
  uint32_t n_parts[SEER_DAG_MAX_STAGES];
  for (uint32_t k = 0; k < loop->n_phase; k++)
    n_parts[k] = (uint32_t)seer_loop_phase_parts(loop, k);
  own->data = loop_expect_data(p->expect, p->sketch, loop, arena);
  t->kernels = own;
  return source_batch_add(t->batch, code, n_parts, own->data);
}

static bool lacks(const void *user) {
  const trials *t = user;
  return t->how->target && t->choice.n < t->choice.most;
}

static void compare(const trials *t) {
  for (const kernel *k = t->kernels; k; k = k->next) {
    const random_program *p = &k->program;
    const char *wrong = loop_expect_compare(p->expect, p->sketch, p->loop, k->data, t->arena);
    if (wrong)
      fail_msg("seed %" PRIu64 ": %s\n%s", p->seed, wrong, seer_loop_print(p->loop, t->arena));
  }
}

bool source_trials_run(const source_trial *how, const source_machine *machine, const char *cc,
    const char *const *flags) {
  seer_arena *arena = seer_arena_create("test");
  const char *missing = source_missing(machine, cc, arena);
  if (missing) {
    print_message("%s: NOT RUN, there is no %s\n", how->dialect, missing);
    seer_arena_destroy(arena);
    return false;
  }
  test_level level = test_level_get(0, arena);
  uint32_t bytes = how->code.tile.vector_bytes;
  level.target.vector_bytes = bytes < 16 ? 16 : bytes;
  if (how->target) must(seer_target_parse(how->target, arena, &level.target));
  trials t = {.how = how,
      .batch = source_batch_create(how->dialect, arena),
      .arena = arena,
      .choice = drawn_choose(how->n_kernel)};
  random_programs programs = {.targets = &level.target,
      .n_targets = 1,
      .max_sketches = 1,
      .has_default = true,
      .n_samples = 2,
      .check = add_kernel,
      .user = &t,
      .lacks = lacks,
      .keep = arena};
  const char *name =
      seer_arena_printf(arena, "%s, %u bytes, %s %s", how->dialect, bytes, cc, flags[0]);
  random_programs_check(
      &programs, name, how->seed, how->target ? DRAWN_OF * how->n_kernel : how->n_kernel);
  if (how->target) drawn_check(&t.choice);
  programs.space = SEER_SPACE_ANSOR;
  programs.only = "rfactor@";  // reductions in two, whose indices are quotients
  if (!how->target) random_programs_check(&programs, name, how->seed, how->n_kernel / 4);
  for (uint32_t k = 0; flags[k]; k++) {
    const char *wrong = source_batch_run(t.batch, machine, cc, flags[k]);
    if (wrong) fail_msg("%s", wrong);
    compare(&t);
  }
  seer_arena_destroy(arena);
  return true;
}
