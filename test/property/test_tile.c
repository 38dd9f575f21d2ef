// For random DAGs, random schedules and processors with vectors of 16, 32 and 64 bytes: what is
// decided passes its verifier, its text form comes back as it was, and each kind of fault that is
// planted in it is caught. SEER_PROPERTY_SEED=n starts elsewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/tile/pass.h"
#include "space/lower.h"
#include "support/random_dag.h"

#define N_DAGS 250
#define SAMPLES 4
#define QUOTA 10

// Each plants one fault, and says whether there was a place for it.
typedef bool (*plant)(seer_tile *tile);

static uint32_t find_for(const seer_tile *tile, bool (*is_place)(const seer_tile *, uint32_t)) {
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    if (tile->loop->node[id].kind == SEER_NODE_FOR && tile->of[id].mode != 0 && is_place(tile, id))
      return id;
  }
  return 0;
}

static bool any(const seer_tile *tile, uint32_t id) { return (void)tile, (void)id, true; }
static bool is_lanes(const seer_tile *tile, uint32_t id) {
  return tile->of[id].mode == SEER_TILE_LANES;
}
static bool is_always(const seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  return tile->of[id].is_register_choice &&
      seer_tile_chooses_register((seer_tile *)tile, node->body, node->var);
}

static bool odd_lanes(seer_tile *tile) {
  uint32_t id = find_for(tile, is_lanes);
  tile->of[id].lanes = 3;
  return id != 0;
}

static bool wide_lanes(seer_tile *tile) {
  uint32_t id = find_for(tile, is_lanes);
  tile->of[id].lanes = (uint16_t)(2 * tile->machine.vector_bytes);
  return id != 0;
}

static bool lanes_as_copies(seer_tile *tile) {
  uint32_t id = find_for(tile, is_lanes);
  tile->of[id].mode = SEER_TILE_COPIES;
  return id != 0;
}

static bool step_of_copies(seer_tile *tile) {
  uint32_t id = find_for(tile, any);
  tile->of[id].step = 2;
  return id != 0;
}

static bool no_step(seer_tile *tile) {
  uint32_t id = find_for(tile, any);
  tile->of[id].step = 0;
  return id != 0;
}

static bool loops_over_registers(seer_tile *tile) {
  uint32_t id = find_for(tile, is_always);
  tile->of[id].is_register_choice = false;
  return id != 0;
}

static bool tight_lanes(seer_tile *tile) {
  uint32_t id = find_for(tile, is_lanes);
  tile->of[id].is_tight = true;
  return id != 0;
}

static bool everything_in_registers(seer_tile *tile) {
  bool found = false;
  for (uint32_t b = 0; b < tile->loop->n_buf; b++) {
    if (tile->buf[b].is_register) continue;
    tile->buf[b].is_register = found = true;
  }
  return found;
}

// Buffers with places in the first phase that has `want` of them.
static bool placed(const seer_tile *tile, uint32_t want, uint32_t *out) {
  for (uint32_t p = 0; p < tile->loop->n_phase; p++) {
    uint32_t n = 0, stack[256], n_stack = 0;
    stack[n_stack++] = tile->loop->phase[p];
    while (n_stack > 0) {
      for (uint32_t id = stack[--n_stack]; id != 0; id = tile->loop->node[id].next) {
        const seer_loop_node *node = &tile->loop->node[id];
        if (node->kind == SEER_NODE_FOR && n_stack < SEER_COUNT_OF(stack))
          stack[n_stack++] = node->body;
        if (node->kind == SEER_NODE_ALLOC && n < want && !tile->buf[node->buf[0]].is_register)
          out[n++] = node->buf[0];
      }
    }
    if (n == want) return true;
  }
  return false;
}

static bool shared_place(seer_tile *tile) {
  uint32_t buf[2];
  if (!placed(tile, 2, buf)) return false;
  tile->buf[buf[0]].scratch_offset = tile->buf[buf[1]].scratch_offset;
  return true;
}

static bool place_in_sink(seer_tile *tile) {
  uint32_t buf;
  if (!tile->needs_sink || !placed(tile, 1, &buf)) return false;
  tile->buf[buf].scratch_offset = 0;
  return true;
}

static bool crooked_place(seer_tile *tile) {
  uint32_t buf;
  if (!placed(tile, 1, &buf)) return false;
  tile->buf[buf].scratch_offset += 4;
  return true;
}

static bool small_scratch(seer_tile *tile) {
  uint32_t buf;
  if (!placed(tile, 1, &buf)) return false;
  tile->scratch_bytes = tile->buf[buf].scratch_offset;
  return true;
}

static const struct {
  const char *name;
  plant plant;
} faults[] = {{"lanes that are no power of two", odd_lanes}, {"too many lanes", wide_lanes},
    {"a vector loop as copies", lanes_as_copies}, {"copies by two", step_of_copies},
    {"by none", no_step}, {"a loop that chooses registers", loops_over_registers},
    {"tight lanes", tight_lanes}, {"everything in registers", everything_in_registers},
    {"two buffers in one place", shared_place}, {"a buffer in the sink", place_in_sink},
    {"a place that is not aligned", crooked_place}, {"a scratch that is too small", small_scratch}};

typedef struct {
  uint64_t n, n_planted[SEER_COUNT_OF(faults)];
} tally;

static void expect_ok(seer_status status, const char *what, const char *text) {
  if (status) fail_msg("%s: %s\n%s", what, seer_status_message(status), text);
}

static void check_text(const seer_tile *tile, seer_arena *arena) {
  const char *text = seer_tile_print(tile, arena);
  seer_tile *again;
  expect_ok(
      seer_tile_parse("tile", text, strlen(text), &tile->machine, arena, &again), "parse", text);
  expect_ok(seer_tile_verify(again), "what was parsed", text);
  assert_string_equal(seer_tile_print(again, arena), text);
  assert_true(again->scratch_bytes == tile->scratch_bytes);
}

static void check_faults(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena, tally *t) {
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    seer_tile *tile = seer_tile_create(loop, machine, arena);
    if (!faults[k].plant(tile)) continue;
    t->n_planted[k]++;
    seer_status status = seer_tile_verify(tile);
    if (!status) fail_msg("%s: not caught\n%s", faults[k].name, seer_tile_print(tile, arena));
    seer_status_free(status);
  }
}

static void check_schedule(const seer_sketch_list *list, const seer_schedule *schedule,
    const seer_tile_machine *machine, tally *t) {
  seer_arena *arena = seer_arena_create("tile");
  seer_loop *loop;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (!status) {
    seer_tile *tile = seer_tile_create(loop, machine, arena);
    expect_ok(seer_tile_verify(tile), "verify", seer_tile_print(tile, arena));
    check_text(tile, arena);
    check_faults(loop, machine, arena, t);
    t->n++;
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void decisions_stand(void **state) {
  (void)state;
  static const seer_tile_machine machines[] = {{16, 16}, {32, 16}, {64, 32}, {0, 16}};
  const char *from = getenv("SEER_PROPERTY_SEED");
  uint64_t seed = from ? strtoull(from, NULL, 10) : 1;
  tally t = {0};
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint64_t i = 0; i < N_DAGS; i++) {
    seer_arena *arena = seer_arena_create("dag");
    random_dag_recipe recipe = random_dag_draw(seed + i);
    const seer_tile_machine *machine = &machines[i % SEER_COUNT_OF(machines)];
    seer_target target = {.vector_bytes = machine->vector_bytes ? machine->vector_bytes : 16,
        .threads = 2,
        .n_vector_registers = machine->n_vector_registers};
    seer_sketch_list *list;
    expect_ok(seer_sketch_generate(
                  random_dag_build(&recipe, arena, NULL), &target, SEER_SPACE_FULL, arena, &list),
        "sketches", "");
    for (uint32_t k = 0; k < SAMPLES; k++) {
      seer_schedule schedule;
      uint32_t sketch = (uint32_t)seer_rng_below(&rng, list->n);
      if (seer_schedule_sample(list, sketch, &rng, &schedule, NULL) == SEER_REJECT_NONE)
        check_schedule(list, &schedule, machine, &t);
    }
    seer_arena_destroy(arena);
  }
  printf("%" PRIu64 " tiles\n", t.n);
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    printf("%6" PRIu64 " times caught: %s\n", t.n_planted[k], faults[k].name);
    assert_true(t.n_planted[k] >= QUOTA);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(decisions_stand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
