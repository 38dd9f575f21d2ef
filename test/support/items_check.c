// items_check.c - see items_check.h.
#include "support/items_check.h"

#include "base/rng.h"
#include "code/gen/generate.h"
#include "space/items/items.h"

// A wait for copies that is left out is seen, wherever it was; and what is on its way when others
// go on.
static const char *without_waits(
    seer_vec_code *code, void *const *data, seer_rng *rng, seer_arena *arena) {
  for (uint32_t k = 1; k < code->n; k++)
    if (code->node[k].op == SEER_VEC_ARRIVE) code->node[k].op = SEER_VEC_FENCE;
  seer_status status = seer_vec_eval(code, data, rng);
  if (!status) return seer_arena_printf(arena, "nobody misses the waits for copies");
  seer_status_free(status);
  return NULL;
}

const char *items_check_code(const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, uint64_t seed, seer_arena *arena, bool *out_has_copies) {
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_vec_code *code = NULL;
  void **data = loop_expect_data(expect, sketch, loop, arena);
  seer_rng rng;
  seer_rng_init(&rng, seed);
  seer_status status = seer_gen_code(loop, &machine, "items", arena, &code);
  if (!status) status = seer_vec_verify(code);
  if (!status) status = seer_vec_eval(code, data, &rng);
  if (!status) {
    const char *differs = loop_expect_compare(expect, sketch, loop, data, arena);
    bool has_copies = !differs && seer_vec_has_copies(code);
    if (out_has_copies) *out_has_copies = has_copies;
    return has_copies ? without_waits(code, data, &rng, arena) : differs;
  }
  const char *wrong = seer_arena_printf(arena, "code: %s", seer_status_message(status));
  seer_status_free(status);
  return wrong;
}

const char *items_check_serial(jit_runner *runner, const loop_expect *expect,
    const seer_sketch *sketch, const seer_loop *loop, uint64_t seed, seer_arena *arena) {
  const seer_loop *serial = seer_items_serial(loop);
  void **data = loop_expect_data(expect, sketch, serial, arena);
  const char *wrong = jit_run(runner, serial, data, seed, arena);
  return wrong ? wrong : loop_expect_compare(expect, sketch, serial, data, arena);
}
