// test_items_faults.c - faults planted in random schedules of random DAGs for GPUs, in lowering and
// in what comes of it: each is seen by verify, by the interpreters of loops and of vector code, or
// by the numbers that these give; or it is none, and all come to the same.
// SEER_TEST: timeout=120 cost=10
#include <string.h>

#include "code/gen/generate.h"
#include "setup/target.h"
#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/drawn_faults.h"
#include "support/drawn_kernels.h"
#include "support/test.h"

#define N_PROGRAMS 600
#define PLACES 2  // of each fault in each of them; it may be the same one
#define N_TARGETS 3
#define MAX_PROGRAMS_FOR_A_FAULT 2000

// Of those planted so many must be seen [%]; the others come to the same. What may not: a barrier
// between items that read what they wrote, a wrong element of what is equal or is stored nowhere.
static const uint32_t least_seen[DRAWN_FAULT_COUNT] = {[DRAWN_FAULT_NO_BARRIER] = 70,
    [DRAWN_FAULT_BRANCH] = 100,
    [DRAWN_FAULT_HALF_FETCH] = 90,
    [DRAWN_FAULT_SHORT_FETCH] = 90,
    [DRAWN_FAULT_SMALL_BUFFER] = 90,
    [DRAWN_FAULT_NO_PAD] = 90,
    [DRAWN_FAULT_COEFFICIENT] = 70,
    [DRAWN_FAULT_TWO_OWNERS] = 90,
    [DRAWN_FAULT_STALE] = 80};

typedef struct {
  uint32_t n, by_verify, by_loops, by_code, by_numbers, by_any;
} tally;

typedef struct {
  drawn_choice choice;
  tally of[DRAWN_FAULT_COUNT];
} faults;

typedef struct {
  seer_status verify, loops, code;
  const char *numbers;  // of either interpreter
} verdicts;

static void judge(const random_program *p, verdicts *out, seer_arena *arena) {
  seer_rng rng;
  seer_rng_init(&rng, p->draw);
  void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  *out =
      (verdicts){.verify = seer_loop_verify(p->loop), .loops = seer_loop_eval(p->loop, data, &rng)};
  if (!out->loops) out->numbers = loop_expect_compare(p->expect, p->sketch, p->loop, data, arena);
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_vec_code *code = NULL;
  data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  out->code = seer_gen_code(p->loop, &machine, "items", arena, &code);
  if (!out->code) out->code = seer_vec_verify(code);
  if (!out->code) out->code = seer_vec_eval(code, data, &rng);
  if (!out->code && !out->numbers)
    out->numbers = loop_expect_compare(p->expect, p->sketch, p->loop, data, arena);
}

// Of a buffer of a block, whose elements verify knows the owners of. Of an argument's it says
// nothing: that is the interpreters'.
static bool is_of_block(const seer_loop *loop, const char *message, seer_arena *arena) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const char *name = seer_arena_printf(arena, " of $%s, ", loop->buf[b].name);
    if (!seer_loop_is_argument(loop->buf[b].storage) && strstr(message, name)) return true;
  }
  return false;
}

static const char *say(seer_status status) {
  return status ? seer_status_message(status) : "nothing";
}

// What the judges must agree on. NULL: they do.
static const char *disagree(
    drawn_fault fault, const seer_loop *loop, const verdicts *v, seer_arena *arena) {
  bool is_of_items = v->verify && block_program_is_of_items(v->verify);
  bool is_sure = v->verify && seer_status_code(v->verify) == SEER_CODE_INVALID;
  // It is not sure where what is read depends on data, and says of what.
  if (v->verify && !is_sure && !is_of_items) return "verify gives up";
  if (is_sure && is_of_items && !(v->loops && v->code)) return "only verify sees it";
  if (v->verify) return NULL;
  // Registers that are not all items' alike are no matter of what is accessed.
  if (fault == DRAWN_FAULT_SMALL_BUFFER && !v->loops && !v->numbers) return NULL;
  // Code is not made where one place names an item's registers by other terms than another (fewer
  // items move what more have loaded), though it may be the item's own that is meant.
  if (v->code && seer_status_code(v->code) == SEER_CODE_UNSUPPORTED) return NULL;
  if ((v->loops != NULL) != (v->code != NULL)) return "one interpreter sees it";
  if (v->loops &&
      (is_of_block(loop, seer_status_message(v->loops), arena) ||
          !block_program_is_of_items(v->loops)))
    return "verify does not see it";
  return NULL;
}

static const char *plant(
    tally *t, drawn_fault fault, uint64_t draw, const random_program *p, seer_arena *arena) {
  random_program faulty = *p;
  seer_rng rng;
  verdicts v;
  seer_rng_init(&rng, p->draw * DRAWN_FAULT_COUNT * PLACES + draw);
  faulty.loop = drawn_fault_plant(fault, p, &rng, arena);
  if (!faulty.loop) return NULL;
  judge(&faulty, &v, arena);
  t->n++;
  t->by_verify += v.verify != NULL;
  t->by_loops += v.loops != NULL;
  t->by_code += v.code != NULL;
  t->by_numbers += v.numbers != NULL;
  t->by_any += v.verify || v.loops || v.code || v.numbers;
  const char *wrong = disagree(fault, faulty.loop, &v, arena);
  if (wrong)
    wrong = seer_arena_printf(arena, "%s: %s; verify: %s; loops: %s; code: %s\n%s",
        drawn_fault_name(fault), wrong, say(v.verify), say(v.loops), say(v.code),
        seer_loop_print(faulty.loop, arena));
  seer_status_free(v.verify);
  seer_status_free(v.loops);
  seer_status_free(v.code);
  return wrong;
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  faults *f = user;
  const char *wrong = NULL;
  if (!drawn_wants(&f->choice, p)) return NULL;
  drawn_take(&f->choice, p);
  for (uint32_t k = 0; k < DRAWN_FAULT_COUNT * PLACES && !wrong; k++)
    wrong = plant(&f->of[k / PLACES], (drawn_fault)(k / PLACES), k, p, arena);
  return wrong;
}

static bool lacks(const void *user) {
  const faults *f = user;
  return f->choice.n < f->choice.most;
}

static void read_targets(seer_target *out, seer_arena *arena) {
  static const char *const texts[N_TARGETS] = {"cuda:h100", "cuda:v100", "opencl:generic"};
  for (uint32_t k = 0; k < N_TARGETS; k++) must(seer_target_parse(texts[k], arena, &out[k]));
}

static void faults_are_seen(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[N_TARGETS];
  read_targets(targets, arena);
  faults f = {.choice = drawn_choose(N_PROGRAMS)};
  random_programs how = {.targets = targets,
      .n_targets = N_TARGETS,
      .max_sketches = 2,
      .has_default = true,
      .n_samples = 2,
      .check = check,
      .user = &f,
      .lacks = lacks};
  random_programs_check(&how, "faults", 60000, DRAWN_OF * N_PROGRAMS);
  drawn_check(&f.choice);
  for (uint32_t k = 0; k < DRAWN_FAULT_COUNT; k++) {
    const tally *t = &f.of[k];
    print_message("%s: of %u %u are seen; by verify %u, loops %u, code %u, numbers %u\n",
        drawn_fault_name((drawn_fault)k), t->n, t->by_any, t->by_verify, t->by_loops, t->by_code,
        t->by_numbers);
    bool is_rare = k == DRAWN_FAULT_NO_PAD || k == DRAWN_FAULT_STALE;
    assert_true(t->n >= f.choice.n / (is_rare ? 20 : 4));
    assert_true(t->by_any * 100 >= t->n * least_seen[k]);
  }
  seer_arena_destroy(arena);
}

// ---- in lowering, where it goes wrong of itself

typedef struct {
  seer_lower_fault fault;
  uint32_t n_planted;
} trial;

static const char *lower_wrongly(void *user, const random_program *p, seer_arena *arena) {
  trial *t = user;
  bool was_planted;
  const char *wrong = loop_check(p->expect, p->schedule, t->fault, p->draw, arena, &was_planted);
  t->n_planted += was_planted;
  return wrong;
}

static void faults_of_lowering_are_seen(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[N_TARGETS];
  read_targets(targets, arena);
  for (int fault = SEER_LOWER_FAULT_NONE + 1; fault < SEER_LOWER_FAULT_COUNT; fault++) {
    trial t = {.fault = (seer_lower_fault)fault};
    const random_programs how = {.targets = targets,
        .n_targets = N_TARGETS,
        .max_sketches = 3,
        .has_default = true,
        .n_samples = 2,
        .check = lower_wrongly,
        .user = &t};
    uint64_t n = random_programs_until_wrong(&how, 61000, MAX_PROGRAMS_FOR_A_FAULT);
    print_message("%s: seen after %u programs, planted in %u\n", seer_lower_fault_name(t.fault),
        (unsigned)n, t.n_planted);
    assert_true(n > 0);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults_are_seen), cmocka_unit_test(faults_of_lowering_are_seen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
