// test_split.c - reductions in two, as Ansor published them (rfactor): which lengths there are and
// how they are drawn and mutated, what their loops are, where parts may be computed, their text,
// and re-fitting. That the DAGs are right: test_sketch.c; the loops: test/property.
#include <string.h>

#include "space_nets.h"
#include "support/test.h"

static const char total[] =
    "dag total {\n  input $A f32[3, 10, 128]\n"
    "  stage C role anchor [m<3] sum[y<10, x<128] = $A[m, y, x]\n  output $C\n}\n";

static const char other_total[] =
    "dag total {\n  input $A f32[3, 9, 40]\n"
    "  stage C role anchor [m<3] sum[y<9, x<40] = $A[m, y, x]\n  output $C\n}\n";

static seer_target target;

static seer_sketch_list *open_text(seer_arena *arena, const char *text) {
  target = space_target(4);
  return space_sketches(arena, space_parse(arena, text), &target, SEER_SPACE_ANSOR);
}

static uint16_t find(const seer_sketch_list *list, const char *signature) {
  for (uint16_t k = 0; k < list->n; k++)
    if (strcmp(list->sketch[k]->signature, signature) == 0) return k;
  fail_msg("no sketch %s", signature);
  return 0;
}

static int knob_of(const seer_sketch *sketch, const char *name) {
  for (uint32_t k = 0; k < sketch->n_knob; k++)
    if (strcmp(sketch->knob[k].name, name) == 0) return (int)k;
  return -1;
}

static const char *const signatures[] = {"direct/rfactor@outer(C)", "direct/rfactor@inner(C)"};

// All divisors of 1280 up to 64.
static const uint16_t lengths[] = {1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64};
#define N_LENGTH SEER_COUNT_OF(lengths)

static void test_lengths_are_drawn_alike(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = open_text(arena, total);
  for (uint32_t i = 0; i < 2; i++) {
    uint16_t at = find(list, signatures[i]);
    const seer_sketch *sketch = list->sketch[at];
    int k = knob_of(sketch, "C.rfactor");
    assert_true(k >= 0);
    const seer_knob *knob = &sketch->knob[k];
    assert_int_equal(knob->n_values, N_LENGTH);
    assert_memory_equal(knob->number, lengths, sizeof lengths);
    uint32_t n[N_LENGTH] = {0};
    seer_rng rng;
    seer_rng_init(&rng, 7);
    for (uint32_t draw = 0; draw < 1000 * N_LENGTH; draw++) {
      seer_schedule s;
      assert_int_equal(seer_schedule_sample(list, at, &rng, &s, NULL), SEER_REJECT_NONE);
      n[s.knob[k]]++;
    }
    for (uint32_t v = 0; v < N_LENGTH; v++) assert_in_range(n[v], 880, 1120);  // 4 deviations
  }
  seer_arena_destroy(arena);
}

// Each length its own variant of equal loops: the parts' two axes, of which the inner one is a
// whole vector loop, or the outer one the last loop outside of the reduction.
static void test_loops_have_the_lengths(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = open_text(arena, total);
  for (uint32_t i = 0; i < 2; i++) {
    uint16_t at = find(list, signatures[i]);
    const seer_sketch *sketch = list->sketch[at];
    int k = knob_of(sketch, "C.rfactor");
    assert_int_equal(sketch->n_variant, N_LENGTH);
    for (uint16_t v = 0; v < N_LENGTH + 2; v++) {  // beyond the last it is the last
      seer_schedule s;
      seer_frame frame;
      int64_t inner = lengths[v < N_LENGTH ? v : N_LENGTH - 1], outer = 1280 / inner;
      seer_schedule_default(list, at, &s);
      s.knob[k] = v;
      seer_frame_normalise(list, &s, &frame);
      assert_int_equal(s.knob[k], v < N_LENGTH ? v : N_LENGTH - 1);
      assert_ptr_equal(frame.sketch, seer_sketch_of(list, &s));
      assert_int_equal(frame.sketch->dag->stage[0].axis[1].extent, i == 0 ? outer : inner);
      assert_int_equal(frame.sketch->dag->stage[0].axis[2].extent, i == 0 ? inner : outer);
      const seer_frame_stage *parts = &frame.stage[0];
      assert_int_equal(parts->n_loop, 4);  // m twice
      const seer_frame_loop *last = &parts->loop[3], *part = i == 0 ? &parts->loop[1] : last,
                            *reduce = &parts->loop[i == 0 ? 2 : 1];
      assert_int_equal(part->axis, 1);
      assert_int_equal(part->extent, i == 0 ? outer : inner);
      assert_true(reduce->is_reduce && reduce->extent == (i == 0 ? inner : outer));
      assert_true(last->is_vector && part->is_vector == (i == 1));
      assert_int_equal(frame.stage[1].loop[1].extent, i == 0 ? outer : inner);
    }
  }
  seer_arena_destroy(arena);
}

// From either length a divisor goes to the other; which one gives first is drawn, and what gives is
// any of its divisors above 1 that the inner length's limit leaves.
static void check_mutations(const seer_sketch_list *list, uint16_t at, uint16_t from,
    const uint32_t share[N_LENGTH], uint32_t n_share) {
  enum { N = 24000 };
  int k = knob_of(list->sketch[at], "C.rfactor");
  uint32_t n[N_LENGTH] = {0}, n_moved = 0;
  seer_rng rng;
  seer_rng_init(&rng, from);
  for (uint32_t draw = 0; draw < N; draw++) {
    seer_schedule parent, child;
    seer_schedule_default(list, at, &parent);
    parent.knob[k] = from;
    seer_schedule_normalise(list, &parent);
    if (seer_schedule_mutate(list, &rng, &parent, &child, NULL) != SEER_REJECT_NONE) continue;
    if (child.knob[k] == from) continue;
    n[child.knob[k]]++;
    n_moved++;
  }
  // One of three splits: the lengths', m's of the parts and of the result.
  assert_in_range(n_moved, 0.28 * N, 0.32 * N);
  for (uint32_t v = 0; v < N_LENGTH; v++) {
    double expected = (double)n_moved * share[v] / n_share;
    if (n[v] < 0.85 * expected || n[v] > 1.15 * expected)
      fail_msg("%u -> %u: %u times, not %g", lengths[from], lengths[v], n[v], expected);
  }
}

static void test_mutations_move_divisors(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = open_text(arena, total);
  for (uint32_t i = 0; i < 2; i++) {
    uint16_t at = find(list, signatures[i]);
    // 8 x 160: to 16, 32, 64, 40, or to 1, 2, 4.
    check_mutations(list, at, 4,
        (const uint32_t[N_LENGTH]){[0] = 4, [1] = 4, [2] = 4, [6] = 3, [8] = 3, [9] = 3, [10] = 3},
        24);
    // 1 x 1280: the inner one has none to give.
    check_mutations(list, at, 0, (const uint32_t[N_LENGTH]){0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10);
    // 64 x 20: it can take none.
    check_mutations(list, at, 10,
        (const uint32_t[N_LENGTH]){[0] = 1, [1] = 1, [2] = 1, [4] = 1, [6] = 1, [8] = 1}, 6);
  }
  seer_arena_destroy(arena);
}

// Parts of a product, which would be tiled, have no place to choose; others may be computed at the
// loops of what combines them.
static void test_places(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = open_text(arena, space_net_text("matmul_8_8_512"));
  for (uint32_t i = 0; i < 2; i++) {
    const seer_sketch *sketch = list->sketch[find(list, signatures[i])];
    assert_true(knob_of(sketch, "C.part.at") < 0);
    assert_true(knob_of(sketch, "C.part.parallel") >= 0);
  }
  list = open_text(arena, total);
  for (uint32_t i = 0; i < 2; i++)
    assert_true(knob_of(list->sketch[find(list, signatures[i])], "C.part.at") >= 0);
  seer_arena_destroy(arena);
}

static seer_status parse(const seer_sketch_list *list, const char *text, seer_schedule *out) {
  return seer_schedule_parse(list, "text", text, strlen(text), out);
}

static void test_text(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = open_text(arena, total);
  seer_schedule s, again;
  must(parse(list, "sched \"direct/rfactor@inner(C)\" { rfactor C 20 }", &s));
  const seer_sketch *sketch = seer_sketch_of(list, &s);
  assert_int_equal(lengths[s.knob[knob_of(sketch, "C.rfactor")]], 20);
  const char *text = seer_schedule_print(list, &s, arena);
  assert_non_null(strstr(text, "\n  rfactor C 20\n"));
  must(parse(list, text, &again));
  assert_true(seer_schedule_equal(&s, &again));
  static const struct {
    const char *text, *message;
  } wrong[] = {{"sched \"direct/rfactor@inner(C)\" { rfactor C 3 }",
                   "3 is no rfactor of C: 1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64"},
      {"sched \"direct/simple(C)\" { rfactor C 4 }", "no knob C.rfactor"},
      {"sched \"direct/lanes(C)\" { }", "no sketch \"direct/lanes(C)\""}};  // an earlier version's
  for (size_t k = 0; k < SEER_COUNT_OF(wrong); k++) {
    seer_status status = parse(list, wrong[k].text, &s);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), wrong[k].message))
      fail_msg("%s", seer_status_message(status));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// The same inner length, or the next smaller one that there is.
static void test_refit(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *from = open_text(arena, total), *to = open_text(arena, other_total);
  static const uint16_t expected[N_LENGTH] = {1, 2, 4, 5, 8, 10, 15, 20, 30, 40, 60};
  for (uint32_t i = 0; i < 2; i++) {
    for (uint16_t v = 0; v < N_LENGTH; v++) {
      seer_schedule s, t, back;
      seer_schedule_default(from, find(from, signatures[i]), &s);
      s.knob[knob_of(from->sketch[s.sketch], "C.rfactor")] = v;
      assert_int_equal(seer_schedule_refit(from, &s, to, &t), SEER_REJECT_NONE);
      assert_string_equal(to->sketch[t.sketch]->signature, signatures[i]);
      int k = knob_of(to->sketch[t.sketch], "C.rfactor");
      assert_int_equal(to->sketch[t.sketch]->knob[k].number[t.knob[k]], expected[v]);
      assert_int_equal(seer_schedule_refit(from, &s, from, &back), SEER_REJECT_NONE);
      assert_true(back.knob[k] == v);
    }
  }
  seer_arena_destroy(arena);
}

// A prime has no length between 1 and itself, and one beyond the limit has 1 alone.
static void test_primes(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static const struct {
    const char *text;
    uint32_t n;
  } cases[] = {{"dag total {\n  input $A f32[2, 61]\n"
                "  stage C role anchor [m<2] sum[x<61] = $A[m, x]\n  output $C\n}\n",
                   2},
      {"dag total {\n  input $A f32[2, 67]\n"
       "  stage C role anchor [m<2] sum[x<67] = $A[m, x]\n  output $C\n}\n",
          1}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_sketch_list *list = open_text(arena, cases[i].text);
    assert_int_equal(list->n, 3);
    for (uint32_t k = 0; k < 2; k++)
      assert_int_equal(list->sketch[find(list, signatures[k])]->n_variant, cases[i].n);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lengths_are_drawn_alike),
      cmocka_unit_test(test_loops_have_the_lengths),
      cmocka_unit_test(test_mutations_move_divisors),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_refit),
      cmocka_unit_test(test_primes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
