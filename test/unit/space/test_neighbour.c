// Neighbours of a schedule, on all nets and random DAGs, in both spaces: valid, in normal form,
// each once; one knob is what differs, and the others only as far as that knob makes them; who
// takes a step of one knob alone is a neighbour of what it came from; every kind of knob takes
// steps; and exactly which ones there are, for one schedule.
#include <stdlib.h>
#include <string.h>

#include "space_nets.h"
#include "support/random_dag.h"
#include "support/test.h"

static uint64_t n_seen, n_back, n_alone, n_step[SEER_KNOB_KIND_COUNT];

static uint32_t index_of(const seer_schedule *all, uint32_t n, const seer_schedule *one) {
  uint32_t i = 0;
  while (i < n && !seer_schedule_equal(&all[i], one)) i++;
  return i;
}

// The knob whose value in `near`, put into `from`, makes `near`; -1: there is none.
static int stepped_knob(
    const seer_sketch_list *list, const seer_schedule *from, const seer_schedule *near) {
  for (uint32_t k = 0; k < from->n; k++) {
    if (from->knob[k] == near->knob[k]) continue;
    seer_schedule made = *from;
    made.knob[k] = near->knob[k];
    seer_schedule_normalise(list, &made);
    if (seer_schedule_equal(&made, near)) return (int)k;
  }
  return -1;
}

static uint32_t n_different(const seer_schedule *a, const seer_schedule *b) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < a->n; k++) n += a->knob[k] != b->knob[k];
  return n;
}

// Not by a step of one knob: a stage has moved, and got loops or parallel ones in its new place.
static bool has_moved(
    const seer_sketch *sketch, const seer_schedule *from, const seer_schedule *near) {
  uint32_t stage = UINT32_MAX;
  for (uint32_t k = 0; k < from->n; k++)
    if (sketch->knob[k].kind == SEER_KNOB_LOCATION && from->knob[k] != near->knob[k])
      stage = sketch->knob[k].stage;
  return stage != UINT32_MAX;
}

// `near` came of `from` by a step of knob k alone, which therefore stands on a rung in it: of what
// another step of k alone makes, `near` is a neighbour again.
static void check_back(const seer_sketch_list *list, const seer_schedule *near, uint32_t k,
    const seer_schedule *on, uint32_t n_on, seer_arena *arena) {
  for (uint32_t i = 0; i < n_on; i++) {
    if (on[i].knob[k] == near->knob[k] || n_different(&on[i], near) != 1) continue;
    seer_schedule *back;
    uint32_t n = seer_schedule_neighbours(list, &on[i], arena, &back);
    if (index_of(back, n, near) == n)
      fail_msg("%s: %u -> %u, and not back\n%s", list->sketch[near->sketch]->knob[k].name,
          near->knob[k], on[i].knob[k], seer_schedule_print(list, near, arena));
    n_back++;
  }
}

// The ansor space: every split still divides.
static void check_exact(const seer_sketch_list *list, const seer_schedule *from,
    const seer_schedule *near, seer_arena *arena) {
  seer_frame frame;
  seer_frame_make(list, near, &frame);
  for (uint32_t r = 0; r < frame.n_root; r++) {
    const seer_frame_stage *stage = &frame.stage[frame.root[r]];
    for (uint32_t l = 0; l < stage->n_loop; l++)
      if (!stage->loop[l].is_exact)
        fail_msg("inexact:\n%s\nof\n%s", seer_schedule_print(list, near, arena),
            seer_schedule_print(list, from, arena));
  }
}

static void check_one(
    const seer_sketch_list *list, const seer_schedule *from, bool goes_on, seer_arena *arena) {
  const seer_sketch *sketch = list->sketch[from->sketch];
  seer_schedule *near, *again;
  uint32_t n = seer_schedule_neighbours(list, from, arena, &near);
  assert_true(n <= 2u * from->n);
  assert_int_equal(seer_schedule_neighbours(list, from, arena, &again), n);
  assert_memory_equal(near, again, n * sizeof *near);
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(near[i].sketch, from->sketch);
    assert_false(seer_schedule_equal(&near[i], from));
    assert_int_equal(index_of(near, n, &near[i]), i);
    assert_int_equal(seer_schedule_check(list, &near[i]), SEER_REJECT_NONE);
    seer_schedule normal = near[i];
    seer_schedule_normalise(list, &normal);
    assert_memory_equal(&normal, &near[i], sizeof normal);
    int k = stepped_knob(list, from, &near[i]);
    if (k < 0 && !has_moved(sketch, from, &near[i]))
      fail_msg("no knob makes\n%s\nof\n%s", seer_schedule_print(list, &near[i], arena),
          seer_schedule_print(list, from, arena));
    n_seen++;
    if (list->space == SEER_SPACE_ANSOR) check_exact(list, from, &near[i], arena);
    if (k < 0) continue;
    seer_knob_kind kind = sketch->knob[k].kind;
    n_step[kind]++;
    bool is_alone = n_different(from, &near[i]) == 1;
    n_alone += is_alone;
    if (!goes_on || !is_alone || kind == SEER_KNOB_LOCATION) continue;
    seer_schedule *on;
    uint32_t n_on = seer_schedule_neighbours(list, &near[i], arena, &on);
    check_back(list, &near[i], (uint32_t)k, on, n_on, arena);
  }
}

static void check_list(const seer_sketch_list *list, seer_rng *rng) {
  for (uint32_t k = 0; k < list->n; k++) {
    seer_schedule s;
    for (int n = 0; n < 3; n++) {
      if (seer_schedule_sample(list, k, rng, &s, NULL) != SEER_REJECT_NONE) continue;
      seer_arena *arena = seer_arena_create("neighbours");
      check_one(list, &s, n == 0, arena);
      seer_arena_destroy(arena);
    }
  }
}

static void check_space(seer_space_kind space) {
  n_seen = n_back = n_alone = 0;
  memset(n_step, 0, sizeof n_step);
  seer_target target = space_target(2);
  for (size_t i = 0; i < space_nets_count + 60; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag =
        i < space_nets_count ? space_parse(arena, space_nets[i].text) : random_dag_of(i, arena);
    seer_rng rng;
    seer_rng_init(&rng, i);
    check_list(space_sketches(arena, dag, &target, space), &rng);
    seer_arena_destroy(arena);
  }
  print_message(
      "%d neighbours, %d by one knob alone, %d ways back; factors %d, places %d, parallel %d, "
      "unroll %d\n",
      (int)n_seen, (int)n_alone, (int)n_back, (int)n_step[SEER_KNOB_FACTOR],
      (int)n_step[SEER_KNOB_LOCATION], (int)n_step[SEER_KNOB_PARALLEL],
      (int)n_step[SEER_KNOB_UNROLL]);
  assert_true(n_seen > 5000 && n_alone > n_seen / 2 && n_back > 1000);
  // What processors have: ITEMS and WIDTH are of GPUs.
  for (int kind = 0; kind <= SEER_KNOB_UNROLL; kind++) assert_true(n_step[kind] > 100);
  assert_true(space == SEER_SPACE_FULL || n_step[SEER_KNOB_RFACTOR] > 100);
}

static void test_full_space(void **state) {
  (void)state;
  check_space(SEER_SPACE_FULL);
}

static void test_ansor_space(void **state) {
  (void)state;
  check_space(SEER_SPACE_ANSOR);
}

// ---- which ones there are

// The values that a knob has among the neighbours that differ in it, in their order: "2 8".
static const char *values_of(
    const seer_sketch_list *list, const seer_schedule *from, const char *name, seer_arena *arena) {
  seer_schedule *near;
  uint32_t n = seer_schedule_neighbours(list, from, arena, &near), k = 0;
  const seer_sketch *sketch = list->sketch[from->sketch];
  while (k < sketch->n_knob && strcmp(sketch->knob[k].name, name) != 0) k++;
  assert_true(k < sketch->n_knob);
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t i = 0; i < n; i++)
    if (stepped_knob(list, from, &near[i]) == (int)k)
      seer_text_printf(&text, "%s%u", text.n_bytes ? " " : "", near[i].knob[k]);
  return text.n_bytes ? text.data : "";
}

static void set(const seer_sketch_list *list, seer_schedule *s, const char *name, uint16_t value) {
  const seer_sketch *sketch = list->sketch[s->sketch];
  for (uint32_t k = 0; k < sketch->n_knob; k++)
    if (strcmp(sketch->knob[k].name, name) == 0) s->knob[k] = value;
}

// conv, 56x56, 64 channels in and out, 16 lanes, 32 registers: tile of 7 columns by 2 vectors.
static seer_schedule tiled_conv(const seer_sketch_list *list) {
  seer_schedule s;
  seer_schedule_default(list, 0, &s);
  set(list, &s, "conv.y.1", 2);
  set(list, &s, "conv.y.2", 4);
  set(list, &s, "conv.y.3", 1);
  set(list, &s, "conv.x.1", 1);
  set(list, &s, "conv.x.2", 1);
  set(list, &s, "conv.x.3", 7);
  set(list, &s, "conv.oc.1", 1);
  set(list, &s, "conv.oc.2", 1);
  set(list, &s, "conv.oc.3", 32);
  set(list, &s, "conv.ic.1", 16);
  set(list, &s, "conv.unroll", 1);
  seer_schedule_normalise(list, &s);
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);
  return s;
}

static void test_steps_of_a_conv(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  static const struct {
    const char *set;  // knob of the schedule that has another value; NULL: none
    uint16_t value;
    const char *of, *steps;
  } cases[] = {
      {NULL, 0, "conv.y.1", "4 1"},  // 4 * 4 * 4 = 64, within a fifth
      {NULL, 0, "conv.y.2", "7 2"},
      {NULL, 0, "conv.x.3", "8 6"},
      {NULL, 0, "conv.x.1", "2"},
      {NULL, 0, "conv.oc.3", "16"},  // 48 would cover 96, and 64 take too many registers
      {"conv.oc.3", 16, "conv.oc.3", "32 8"},
      {"conv.oc.3", 8, "conv.oc.3", "16 4"},
      {"conv.oc.3", 4, "conv.oc.3", "8"},
      {NULL, 0, "conv.ic.1", "32 8"},
      {NULL, 0, "conv.ky.1", "1"},
      {"conv.unroll", 0, "conv.unroll", "1"},
      {NULL, 0, "conv.unroll", "2 0"},
      {"conv.unroll", 3, "conv.unroll", "2"},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_schedule s = tiled_conv(list);
    if (cases[i].set) set(list, &s, cases[i].set, cases[i].value);
    seer_schedule_normalise(list, &s);
    const char *steps = values_of(list, &s, cases[i].of, arena);
    if (strcmp(steps, cases[i].steps) != 0)
      fail_msg("%s: '%s', not '%s', of\n%s", cases[i].of, steps, cases[i].steps,
          seer_schedule_print(list, &s, arena));
  }
  seer_arena_destroy(arena);
}

// Beyond what the outer factors leave over a factor takes from them.
static void test_outer_factors_make_room(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  seer_schedule s = tiled_conv(list), *near;
  set(list, &s, "conv.y.1", 14);  // 14 * 4: nothing is left over
  seer_schedule_normalise(list, &s);
  seer_schedule wanted = s;
  set(list, &wanted, "conv.y.2", 7);
  set(list, &wanted, "conv.y.1", 8);
  uint32_t n = seer_schedule_neighbours(list, &s, arena, &near);
  assert_true(index_of(near, n, &wanted) < n);
  seer_arena_destroy(arena);
}

// A stage that was inlined comes to stand at a loop, with loops of its own that are vectorised; one
// that comes to the root is not left sequential.
static void test_places(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  uint32_t n_inlined = 0, n_root = 0;
  for (uint32_t k = 0; k < list->n; k++) {
    seer_schedule s, *near;
    seer_frame before, after;
    seer_rng rng;
    seer_rng_init(&rng, 5);
    for (int i = 0; i < 40; i++) {
      if (seer_schedule_sample(list, k, &rng, &s, &before) != SEER_REJECT_NONE) continue;
      uint32_t n = seer_schedule_neighbours(list, &s, arena, &near);
      for (uint32_t j = 0; j < n; j++) {
        seer_frame_make(list, &near[j], &after);
        for (uint32_t t = 0; t < list->sketch[k]->dag->n_stage; t++) {
          const seer_frame_stage *a = &before.stage[t], *b = &after.stage[t];
          if (a->place == b->place) continue;
          if (a->place == SEER_PLACE_INLINE && list->sketch[k]->stage[t].is_vectorised) {
            n_inlined++;
            bool has_one = b->region[list->sketch[k]->stage[t].vector_axis] == 1;
            assert_true(has_one || b->loop[b->n_loop - 1].extent > 1);
          }
          if (b->place != SEER_PLACE_ROOT ||
              list->sketch[k]->stage[t].parallel_knob == SEER_NO_KNOB)
            continue;
          bool is_one = true;
          for (uint32_t l = 0; l < list->sketch[k]->stage[t].max_parallel; l++)
            is_one &= b->loop[l].extent == 1;
          n_root += !is_one;
          if (!is_one && b->n_parallel == 0)
            fail_msg("stage %u: sequential:\n%s\nof\n%s", t,
                seer_schedule_print(list, &near[j], arena), seer_schedule_print(list, &s, arena));
        }
      }
    }
  }
  assert_true(n_inlined > 10 && n_root > 10);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_full_space),
      cmocka_unit_test(test_ansor_space),
      cmocka_unit_test(test_steps_of_a_conv),
      cmocka_unit_test(test_outer_factors_make_room),
      cmocka_unit_test(test_places),
  };
  return cmocka_run_group_tests_name("space/neighbour", tests, NULL, NULL);
}
