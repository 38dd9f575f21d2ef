// schedule_sweep.c - see schedule_sweep.h.
#include "support/schedule_sweep.h"

#include "support/test.h"

#define FEW 16  // sketches; with 9, a fault that was planted (turns across blocks) went unseen

static const char *compare(const schedule_sweep *sweep, const loop_expect *expect,
    const seer_loop *loop, void *const *data, seer_arena *arena) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].storage != SEER_STORE_OUTPUT) continue;
    uint32_t of = loop->buf[b].dag_buf;
    const seer_dag_buf *buf = &expect->list->dag->buf[of];
    const char *wrong =
        sweep->compare(buf, expect->output[of], data[b], seer_dag_buf_elems(buf), arena);
    if (wrong) return wrong;
  }
  return NULL;
}

static const char *try_schedule(const schedule_sweep *sweep, jit_runner *runner,
    const loop_expect *expect, const seer_schedule *schedule, seer_arena *arena) {
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  seer_loop *loop;
  seer_rng rng;
  seer_rng_init(&rng, 1);
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  void **data = loop_expect_data(expect, sketch, loop, arena);
  must(seer_loop_eval(loop, data, &rng));
  const char *wrong = compare(sweep, expect, loop, data, arena), *how = "interpreted";
  if (!wrong) {
    how = "compiled";
    wrong = jit_run(runner, loop, data, 1, arena);
    if (!wrong) wrong = compare(sweep, expect, loop, data, arena);
  }
  return wrong ? seer_arena_printf(arena, "%s: %s\n%s", how, wrong, seer_loop_print(loop, arena))
               : NULL;
}

uint32_t schedule_sweep_run(
    const schedule_sweep *sweep, const seer_dag *dag, uint64_t seed, jit_runner *runner) {
  seer_arena *arena = seer_arena_create("test"), *scratch = seer_arena_create("scratch");
  seer_sketch_list *list;
  seer_rng rng;
  seer_rng_init(&rng, seed);
  must(seer_sketch_generate(dag, jit_runner_target(runner), sweep->space, arena, &list));
  loop_expect *expect = loop_expect_of(list, sweep->fill, sweep->user, &rng, arena);
  if (sweep->judge) sweep->judge(sweep->user, expect, arena);
  uint32_t n = 0;
  for (uint32_t s = 0; s < list->n; s++) {
    must(seer_dag_verify(list->sketch[s]->dag));
    // Turns that go along with no stage's own: by the number of ones in s.
    uint32_t first = list->n > FEW ? (uint32_t)__builtin_parity(s) : 0;
    uint32_t last = list->n > FEW ? first : sweep->n_samples;
    for (uint32_t k = first; k <= last; k++) {
      seer_schedule schedule;
      bool is_drawn =
          k > 0 && seer_schedule_sample(list, s, &rng, &schedule, NULL) == SEER_REJECT_NONE;
      if (k > first && !is_drawn) continue;
      if (!is_drawn) seer_schedule_default(list, s, &schedule);
      const char *wrong = try_schedule(sweep, runner, expect, &schedule, scratch);
      if (wrong) fail_msg("%s, seed %" PRIu64 ", sketch %u: %s", sweep->label, seed, s, wrong);
      seer_arena_reset(scratch);
      n++;
    }
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return n;
}
