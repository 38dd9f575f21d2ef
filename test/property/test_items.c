// test_items.c - random schedules of random DAGs for GPUs: the block programs that they lower to
// are accepted by verify and its judge of items, ask of a block what was foretold, and come to what
// the DAG's interpreter gives, to the bit: run as loops in any order of blocks and items, as vector
// code with all items of a block side by side, and, of some, without items by LLVM.
// SEER_TEST: timeout=300 cost=40
#include "setup/target.h"
#include "space/block_shape.h"
#include "space/items/items.h"
#include "support/items_check.h"
#include "support/random_programs.h"
#include "support/test.h"

#define N_PAIRS 2000

static const char *const target_texts[] = {"cuda:h100", "cuda:v100", "opencl:generic"};

#define JIT_EVERY 8  // of the programs: compiling takes longest

typedef struct {
  seer_space_kind space;
  jit_runner *runner;
  uint64_t n, n_compiled;
  uint64_t n_fetched, n_flat, n_tiled, n_barriers, n_wide, n_tree, n_padded, n_packed, n_shared;
} counts;

// What arithmetic says of each kernel, and what is there.
static const char *check_shapes(
    const random_program *p, const seer_frame *frame, seer_arena *arena) {
  int64_t bytes = 0, most = 0;
  for (uint32_t b = 0; b < p->loop->n_buf; b++) {
    const seer_loop_buf *buf = &p->loop->buf[b];
    if (buf->storage == SEER_STORE_WORKGROUP)
      bytes += buf->n_elems * (int64_t)seer_dtype_bytes(buf->dtype);
  }
  for (uint32_t r = 0; r < frame->n_root; r++) {
    seer_block_shape shape;
    seer_block_shape_make(frame, frame->root[r], &shape);
    int64_t items = seer_items_of_phase(p->loop, r), blocks = seer_loop_phase_parts(p->loop, r);
    if (items != shape.items || blocks != shape.blocks)
      return seer_arena_printf(arena,
          "phase %u: %" PRId64 " items of %" PRId64 " blocks, foretold %" PRId64 " of %" PRId64, r,
          items, blocks, shape.items, shape.blocks);
    most += shape.workgroup_bytes;
  }
  if (bytes == most) return NULL;
  return seer_arena_printf(
      arena, "%" PRId64 " bytes of blocks' memory, foretold %" PRId64, bytes, most);
}

// By LLVM, some of them.
static const char *check_compiled(counts *c, const random_program *p, seer_arena *arena) {
  if (c->n++ % JIT_EVERY != 0) return NULL;
  c->n_compiled++;
  return items_check_serial(c->runner, p->expect, p->sketch, p->loop, p->draw, arena);
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  counts *c = user;
  for (uint32_t n = 1; n < p->loop->n_node; n++)
    c->n_barriers += p->loop->node[n].kind == SEER_NODE_BARRIER;
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_make(p->expect->list, p->schedule, frame);
  for (uint32_t k = 0; k < p->sketch->n_order; k++) {
    const seer_sketch_stage *s = &p->sketch->stage[p->sketch->order[k]];
    const seer_frame_stage *f = &frame->stage[p->sketch->order[k]];
    c->n_fetched += s->role == SEER_ROLE_FETCH;
    c->n_tiled += s->role == SEER_ROLE_TILED;
    c->n_flat += f->is_flat && f->place == SEER_PLACE_ROOT;
    c->n_tree += f->tree_items > 0;
    c->n_shared += s->role == SEER_ROLE_SHARED;
    c->n_wide += f->is_flat && f->flat.width > 1;
    c->n_padded += s->role == SEER_ROLE_FETCH && f->flat.pad > 0;
  }
  for (uint32_t b = 0; b < p->loop->n_buf; b++)
    c->n_packed += strstr(p->loop->buf[b].name, ".pack") != NULL;
  seer_reject reject = seer_schedule_check(p->expect->list, p->schedule);
  if (reject != SEER_REJECT_NONE)
    return seer_arena_printf(arena, "refused: %s", seer_reject_name(reject));
  const char *wrong = check_shapes(p, frame, arena);
  if (!wrong)
    wrong = loop_check(p->expect, p->schedule, SEER_LOWER_FAULT_NONE, p->draw, arena, NULL);
  if (!wrong) wrong = items_check_code(p->expect, p->sketch, p->loop, p->draw, arena);
  return wrong ? wrong : check_compiled(c, p, arena);
}

static void read_targets(seer_target *out, seer_arena *arena) {
  for (uint32_t k = 0; k < SEER_COUNT_OF(target_texts); k++)
    must(seer_target_parse(target_texts[k], arena, &out[k]));
}

static void run_space(seer_space_kind space) {
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[SEER_COUNT_OF(target_texts)];
  read_targets(targets, arena);
  counts c = {.space = space, .runner = jit_runner_create(NULL)};
  random_programs how = {.targets = targets,
      .n_targets = SEER_COUNT_OF(targets),
      .space = space,
      .max_sketches = 3,
      .has_default = true,
      .n_samples = 3,
      .has_children = true,
      .check = check,
      .user = &c};
  random_programs_check(&how, "items", 1, N_PAIRS);
  print_message("%u tiled, %u fetched, %u flat, %u of them wide, %u sums shared, %u barriers\n",
      (unsigned)c.n_tiled, (unsigned)c.n_fetched, (unsigned)c.n_flat, (unsigned)c.n_wide,
      (unsigned)c.n_tree, (unsigned)c.n_barriers);
  bool has_all = c.n_tiled > c.n / 10 && c.n_fetched > c.n / 5 && c.n_flat > c.n / 5 &&
      c.n_wide > c.n / 10 && c.n_tree > c.n / 50;
  // Beyond Ansor.
  if (space == SEER_SPACE_FULL) has_all &= c.n_padded > c.n / 50 && c.n_packed > c.n / 100;
  has_all &= c.n_shared > c.n / 100;
  print_message("%u padded, %u packed, %u sums in their readers\n", (unsigned)c.n_padded,
      (unsigned)c.n_packed, (unsigned)c.n_shared);
  assert_true(has_all && c.n_compiled > c.n / JIT_EVERY / 2);
  jit_runner_destroy(c.runner);
  seer_arena_destroy(arena);
}

static void all_of_full(void **state) {
  (void)state;
  run_space(SEER_SPACE_FULL);
}

static void all_of_ansor(void **state) {
  (void)state;
  run_space(SEER_SPACE_ANSOR);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_of_full),
      cmocka_unit_test(all_of_ansor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
