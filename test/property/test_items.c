// test_items.c - random schedules of random DAGs for GPUs: the block programs that they lower to
// are accepted by verify and its judge of items, ask of a block what was foretold, and come to what
// the DAG's interpreter gives, to the bit: run as loops in any order of blocks and items, as vector
// code with all items of a block side by side, and, of some, without items by LLVM.
// SEER_TEST: timeout=600 cost=60
#include "setup/target.h"
#include "space/block_shape.h"
#include "space/items/items.h"
#include "support/items_check.h"
#include "support/random_programs.h"
#include "support/test.h"

#define N_PAIRS 2000
#define N_IN_PARTS 200
#define N_WINDOWS 200
#define N_IMPLICIT 200

static const char *const target_texts[] = {
    "cuda:h100", "cuda:v100", "opencl:generic", "opencl:cpu"};

#define JIT_EVERY 8  // of the programs: compiling takes longest

typedef struct {
  seer_space_kind space;
  jit_runner *runner;
  uint64_t n, n_compiled;
  uint64_t n_fetched, n_flat, n_tiled, n_barriers, n_wide, n_tree, n_padded, n_packed, n_shared,
      n_parts, n_more, n_cut, n_ahead, n_axes_ahead, n_copied, n_sent, n_patches;
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

static int64_t steps_of(const seer_dag_stage *s) {
  int64_t n = 1;
  for (uint32_t a = s->n_space; a < (uint32_t)s->n_space + s->n_reduce; a++) n *= s->axis[a].extent;
  return n;
}

// Whether the parts of a product's reduction are not all of one length.
static bool is_cut(const seer_sketch *sketch, const seer_dag *canonical) {
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++) {
    const seer_dag_stage *part = &sketch->dag->stage[s];
    if (sketch->stage[s].role != SEER_ROLE_TILED || strcmp(part->axis[0].name, "part") != 0)
      continue;
    for (uint32_t c = 0; c < canonical->n_stage; c++) {
      const seer_dag_stage *whole = &canonical->stage[c];
      if (strcmp(whole->name, sketch->stage[s].prefix) == 0)
        return part->axis[0].extent * steps_of(part) != steps_of(whole);
    }
  }
  return false;
}

// A weight has one packed form for all steps, whichever step it is fetched for.
static const char *check_packs(const random_program *p, seer_arena *arena) {
  for (uint32_t b = 0; b < p->loop->n_buf; b++) {
    for (uint32_t a = 0; a < b && p->loop->buf[b].pack; a++) {
      if (p->loop->buf[a].pack && p->loop->buf[a].dag_buf == p->loop->buf[b].dag_buf)
        return seer_arena_printf(arena, "$%s has two packed forms", p->loop->buf[b].name);
    }
  }
  return NULL;
}

static uint32_t axes_with_steps(const seer_frame_stage *f) {
  uint32_t n = 0;
  for (uint32_t l = 0; l < f->n_loop; l++)
    n += f->loop[l].is_reduce && f->loop[l].level == 0 && f->loop[l].extent > 1;
  return n;
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
    bool is_ahead = s->role == SEER_ROLE_TILED && f->is_ahead;
    c->n_ahead += is_ahead;
    c->n_axes_ahead += is_ahead && axes_with_steps(f) > 1;
    c->n_copied += is_ahead && f->is_copied;
  }
  c->n_patches += strstr(p->sketch->signature, "/inline(patch") != NULL;
  if (p->sketch->n_split > 0) {
    uint32_t parts = p->sketch->knob[p->sketch->split_knob[0]].stage - 1u;
    c->n_parts++;
    c->n_more += frame->stage[parts].loop[0].extent > 2;
    c->n_cut += is_cut(p->sketch, p->expect->list->dag);
  }
  for (uint32_t b = 0; b < p->loop->n_buf; b++)
    c->n_packed += strstr(p->loop->buf[b].name, ".pack") != NULL;
  seer_reject reject = seer_schedule_check(p->expect->list, p->schedule);
  if (reject != SEER_REJECT_NONE)
    return seer_arena_printf(arena, "refused: %s", seer_reject_name(reject));
  const char *wrong = check_shapes(p, frame, arena);
  if (!wrong) wrong = check_packs(p, arena);
  if (!wrong)
    wrong = loop_check(p->expect, p->schedule, SEER_LOWER_FAULT_NONE, p->draw, arena, NULL);
  bool has_copies = false;
  if (!wrong) wrong = items_check_code(p->expect, p->sketch, p->loop, p->draw, arena, &has_copies);
  c->n_sent += has_copies;
  return wrong ? wrong : check_compiled(c, p, arena);
}

static void read_targets(seer_target *out, seer_arena *arena) {
  for (uint32_t k = 0; k < SEER_COUNT_OF(target_texts); k++)
    must(seer_target_parse(target_texts[k], arena, &out[k]));
}

// Random programs for all targets, each of which `check` judges and counts in `c`; what is not
// said of them in `how` is the same for all.
static void run_programs(counts *c, random_programs how, uint64_t seed, uint32_t n) {
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[SEER_COUNT_OF(target_texts)];
  read_targets(targets, arena);
  c->runner = jit_runner_create(NULL);
  how.targets = targets;
  how.n_targets = SEER_COUNT_OF(targets);
  how.space = c->space;
  how.has_default = how.has_children = true;
  how.check = check;
  how.user = c;
  random_programs_check(&how, "items", seed, n);
  jit_runner_destroy(c->runner);
  seer_arena_destroy(arena);
}

static void run_space(seer_space_kind space) {
  counts c = {.space = space};
  run_programs(&c, (random_programs){.max_sketches = 3, .n_samples = 3}, 1, N_PAIRS);
  print_message("%u tiled, %u fetched, %u flat, %u of them wide, %u sums shared, %u barriers\n",
      (unsigned)c.n_tiled, (unsigned)c.n_fetched, (unsigned)c.n_flat, (unsigned)c.n_wide,
      (unsigned)c.n_tree, (unsigned)c.n_barriers);
  bool has_all = c.n_tiled > c.n / 10 && c.n_fetched > c.n / 5 && c.n_flat > c.n / 5 &&
      c.n_wide > c.n / 10 && c.n_tree > c.n / 50;
  // Beyond Ansor.
  if (space == SEER_SPACE_FULL)
    has_all &= c.n_padded > c.n / 50 && c.n_packed > c.n / 100 && c.n_ahead > c.n / 20 &&
        c.n_axes_ahead > c.n / 100 && c.n_copied > c.n / 200 && c.n_copied < c.n_ahead &&
        c.n_sent > c.n_copied * 3 / 4;
  else
    has_all &= c.n_ahead == 0;
  has_all &= c.n_shared > c.n / 100;
  print_message(
      "%u padded, %u packed, %u fetched a step ahead, %u of them by several axes, %u by copies (%u "
      "have some), "
      "%u sums in their readers, %u in parts\n",
      (unsigned)c.n_padded, (unsigned)c.n_packed, (unsigned)c.n_ahead, (unsigned)c.n_axes_ahead,
      (unsigned)c.n_copied, (unsigned)c.n_sent, (unsigned)c.n_shared, (unsigned)c.n_parts);
  assert_true(has_all && c.n_compiled > c.n / JIT_EVERY / 2);
}

static void all_of_full(void **state) {
  (void)state;
  run_space(SEER_SPACE_FULL);
}

static void all_of_ansor(void **state) {
  (void)state;
  run_space(SEER_SPACE_ANSOR);
}

// Products whose reduction is in parts over the grid, alone: few random DAGs have reductions as
// long as that.
static void all_in_parts(void **state) {
  (void)state;
  counts c = {.space = SEER_SPACE_FULL};
  run_programs(&c, (random_programs){.only = "/splitk(", .max_sketches = 2, .n_samples = 6}, 20000,
      N_IN_PARTS);
  print_message(
      "%u in parts, %u in more than 2, %u of them with a shorter last one; %u fetched a step "
      "ahead\n",
      (unsigned)c.n_parts, (unsigned)c.n_more, (unsigned)c.n_cut, (unsigned)c.n_ahead);
  assert_true(c.n_parts > c.n * 9 / 10 && c.n_more > c.n / 12 && c.n_cut > c.n / 10);
  assert_true(c.n_ahead > c.n / 10);
}

// Convolutions whose pixels are one axis.
static void all_implicit(void **state) {
  (void)state;
  counts c = {.space = SEER_SPACE_FULL};
  run_programs(&c, (random_programs){.only = "implicit", .max_sketches = 2, .n_samples = 4}, 40000,
      N_IMPLICIT);
  print_message("%u schedules, %u read windows as they are fetched, %u a step ahead, %u in parts\n",
      (unsigned)c.n, (unsigned)c.n_patches, (unsigned)c.n_ahead, (unsigned)c.n_parts);
  assert_true(c.n_patches > c.n / 2 && c.n_patches < c.n);
  assert_true(c.n_ahead > c.n / 20 && c.n_parts > c.n / 50);
}

// Windows that begin outside of what they read: where they lie a step ahead must be where this step
// looks for them. The first of these once were elsewhere.
static void all_windows(void **state) {
  (void)state;
  counts c = {.space = SEER_SPACE_FULL};
  run_programs(&c, (random_programs){.only = "fetch(depthwise)", .max_sketches = 3, .n_samples = 3},
      30393, N_WINDOWS);
  print_message("%u schedules, %u a step ahead\n", (unsigned)c.n, (unsigned)c.n_ahead);
  assert_true(c.n_ahead > c.n / 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_of_full),
      cmocka_unit_test(all_of_ansor),
      cmocka_unit_test(all_in_parts),
      cmocka_unit_test(all_implicit),
      cmocka_unit_test(all_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
