// For random DAGs, random schedules and processors with vectors of 16, 32 and 64 bytes: what is
// decided passes its verifier, its text form comes back as it was, its hash knows what matters, and
// each kind of fault that is planted in it is caught.
#include <stdio.h>
#include <string.h>

#include "code/tile/pass.h"
#include "support/random_programs.h"
#include "support/test.h"
#include "support/test_target.h"

#define N_PAIRS 1000
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

static bool is_of_wide(const seer_tile *tile, uint32_t id) {
  const seer_loop_node *node = &tile->loop->node[id];
  if (!is_lanes(tile, id) || tile->machine.vector_bytes < 16) return false;
  for (id = node->body; id != 0; id = tile->loop->node[id].next) {
    node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_STORE && seer_dtype_bytes(tile->loop->buf[node->buf[0]].dtype) >= 4)
      return true;
  }
  return false;
}

// As many as of bytes, of elements of four or eight: more than a store without place has room for.
static bool long_access(seer_tile *tile) {
  uint32_t id = find_for(tile, is_of_wide);
  tile->of[id].lanes = (uint16_t)tile->machine.vector_bytes;
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

static bool interchanged_lanes(seer_tile *tile) {
  uint32_t id = find_for(tile, is_lanes);
  tile->of[id].is_interchanged = true;
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
    {"more lanes than the sink has room for", long_access},
    {"a vector loop as copies", lanes_as_copies}, {"copies by two", step_of_copies},
    {"by none", no_step}, {"a loop that chooses registers", loops_over_registers},
    {"tight lanes", tight_lanes}, {"interchanged lanes", interchanged_lanes},
    {"everything in registers", everything_in_registers},
    {"two buffers in one place", shared_place}, {"a buffer in the sink", place_in_sink},
    {"a place that is not aligned", crooked_place}, {"a scratch that is too small", small_scratch}};

static const char *failed(seer_status status, const char *what, seer_arena *arena) {
  const char *message = seer_arena_printf(arena, "%s: %s", what, seer_status_message(status));
  seer_status_free(status);
  return message;
}

static const char *check_text(const seer_tile *tile, seer_arena *arena) {
  const char *text = seer_tile_print(tile, arena);
  seer_tile *again;
  seer_status status = seer_tile_parse("tile", text, strlen(text), &tile->machine, arena, &again);
  if (status) return failed(status, "parse", arena);
  status = seer_tile_verify(again);
  if (status) return failed(status, "verify what was parsed", arena);
  bool is_same = strcmp(seer_tile_print(again, arena), text) == 0 &&
      again->scratch_bytes == tile->scratch_bytes;
  return is_same ? NULL : "another tile after parsing";
}

// Every variable has another name, and may have had more copies.
static const char *disguise(const char *text, seer_arena *arena) {
  seer_text out;
  seer_text_init(&out, arena);
  for (; *text; text++) {
    if (strncmp(text, " copies ", 8) == 0 && strncmp(text - 2, "as", 2) != 0) {
      seer_text_put(&out, " copies 1");
      text += 7;
      continue;
    }
    seer_text_put_n(&out, text, 1);
    if (*text == '@') seer_text_put(&out, "z.");
  }
  return out.data;
}

// What code does not depend on is not in the hash, what was decided is.
static const char *check_hash(const seer_tile *tile, seer_arena *arena) {
  uint64_t hash = seer_tile_hash(tile, arena);
  const char *text = disguise(seer_tile_print(tile, arena), arena);
  seer_tile *other;
  seer_status status = seer_tile_parse("tile", text, strlen(text), &tile->machine, arena, &other);
  if (status) return failed(status, "parse in disguise", arena);
  if (seer_tile_hash(other, arena) != hash) return "another hash in disguise";
  uint32_t id = find_for(tile, any);
  if (id == 0) return NULL;
  other = seer_tile_create(tile->loop, &tile->machine, arena);
  other->of[id].is_tight = !other->of[id].is_tight;
  return seer_tile_hash(other, arena) != hash ? NULL : "the same hash for another decision";
}

static const char *check_faults(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena, uint64_t *planted) {
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    seer_tile *tile = seer_tile_create(loop, machine, arena);
    if (!faults[k].plant(tile)) continue;
    planted[k]++;
    seer_status status = seer_tile_verify(tile);
    if (!status)
      return seer_arena_printf(
          arena, "%s: not caught\n%s", faults[k].name, seer_tile_print(tile, arena));
    seer_status_free(status);
  }
  return NULL;
}

// The lanes that a sketch reckons with are those that are generated: those of the statements in the
// loop, for each of them.
static const char *check_lanes_in(
    const random_program *p, const seer_tile *tile, uint32_t id, uint32_t lanes, uint64_t *n) {
  for (; id != 0; id = tile->loop->node[id].next) {
    const seer_loop_node *node = &tile->loop->node[id];
    if (node->kind == SEER_NODE_STORE && lanes > 0) {
      *n += 1;
      if (p->sketch->stage[node->stage].vector_lanes != lanes) return "lanes differ";
    }
    if (node->kind != SEER_NODE_FOR) continue;
    bool is_vector = tile->of[id].mode == SEER_TILE_LANES;
    const char *wrong =
        check_lanes_in(p, tile, node->body, is_vector ? tile->of[id].lanes : lanes, n);
    if (wrong) return wrong;
  }
  return NULL;
}

static const char *check_lanes(
    const random_program *p, const seer_tile *tile, uint64_t *n, seer_arena *arena) {
  if (tile->machine.vector_bytes == 0) return NULL;
  for (uint32_t k = 0; k < tile->loop->n_phase; k++) {
    const char *wrong = check_lanes_in(p, tile, tile->loop->phase[k], 0, n);
    if (wrong) return seer_arena_printf(arena, "%s", wrong);
  }
  return NULL;
}

static const seer_tile_machine machines[] = {{.vector_bytes = 16, .n_vector_registers = 16},
    {.vector_bytes = 32, .n_vector_registers = 16}, {.vector_bytes = 64, .n_vector_registers = 32},
    {.vector_bytes = 64,
        .n_vector_registers = 32,
        .multiplies_bytes = true,
        .multiplies_halves = true},
    {.vector_bytes = 0, .n_vector_registers = 16}};

typedef struct {
  uint64_t n_planted[SEER_COUNT_OF(faults)];  // how often each fault was
  uint64_t n_vector;  // statements in vector loops
} seen;

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  seen *s = user;
  const seer_tile_machine *machine = &machines[p->target];
  seer_tile *tile = seer_tile_create(p->loop, machine, arena);
  seer_status status = seer_tile_verify(tile);
  const char *wrong = status ? failed(status, "verify", arena) : check_text(tile, arena);
  if (!wrong) wrong = check_hash(tile, arena);
  if (!wrong) wrong = check_lanes(p, tile, &s->n_vector, arena);
  if (wrong) return seer_arena_printf(arena, "%s\n%s", wrong, seer_tile_print(tile, arena));
  return check_faults(p->loop, machine, arena, s->n_planted);
}

static void decisions_stand(void **state) {
  (void)state;
  seer_target targets[SEER_COUNT_OF(machines)];
  for (size_t k = 0; k < SEER_COUNT_OF(machines); k++)
    targets[k] = test_target_with(machines[k].vector_bytes, machines[k].n_vector_registers);
  seen s = {.n_vector = 0};
  random_programs how = {.targets = targets,
      .n_targets = SEER_COUNT_OF(machines),
      .max_sketches = 4,
      .n_samples = 1,
      .check = check,
      .user = &s};
  random_programs_check(&how, "tiles", 1, N_PAIRS);
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    printf("%6" PRIu64 " times caught: %s\n", s.n_planted[k], faults[k].name);
    assert_true(s.n_planted[k] >= QUOTA);
  }
  assert_true(s.n_vector >= N_PAIRS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(decisions_stand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
