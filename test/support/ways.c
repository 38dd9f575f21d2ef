#include "support/ways.h"

#include <string.h>

#include "support/test.h"

static void check(const ways *all, const processor_way *way, jit_runner *runner, bool is_run,
    size_t k, seer_rng *rng) {
  seer_arena *arena = seer_arena_create("test");
  uint32_t columns = all->columns[k];
  const char *text = all->text(columns, arena);
  seer_loop *loop;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  must(seer_loop_verify(loop));
  if (k + 1 == all->n_columns) {
    const char *code = seer_codegen_print(jit_runner_codegen(runner), loop, true, arena);
    if (!strstr(code, way->instruction))
      fail_msg("%s has no %s:\n%s", way->target, way->instruction, code);
    if (*way->never && strstr(code, way->never))
      fail_msg("%s has %s:\n%s", way->target, way->never, code);
  }
  if (is_run) {
    all->run(way, runner, loop, columns, rng, arena);
  } else {
    const char *wrong = jit_compile(runner, loop, arena);
    if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
  }
  seer_arena_destroy(arena);
}

void ways_check(const ways *all) {
  seer_rng rng;
  seer_rng_init(&rng, 8);
  for (size_t w = 0; w < all->n_way; w++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target;
    must(seer_target_parse(all->way[w].target, arena, &target));
    seer_status lacks = seer_target_check_here(&target);
    bool is_run = !lacks;
    if (lacks) print_message("compiled only: %s\n", seer_status_message(lacks));
    seer_status_free(lacks);
    jit_runner *runner = jit_runner_create(&target);
    for (size_t k = 0; k < all->n_columns; k++) check(all, &all->way[w], runner, is_run, k, &rng);
    jit_runner_destroy(runner);
    seer_arena_destroy(arena);
  }
}
