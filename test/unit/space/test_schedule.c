// test_schedule.c - schedules as values, on all nets and 300 random DAGs: defaults valid, normalise
// idempotent and without effect on the frame, print -> parse -> print a fixpoint, samples, mutants
// and children valid, re-fitting to siblings valid, exact divisors in the ansor space; hashes; and
// parse errors.
#include <stdlib.h>
#include <string.h>

#include "space_nets.h"
#include "support/random_dag.h"
#include "support/test.h"

typedef void (*on_list)(const seer_sketch_list *list, seer_rng *rng, seer_arena *arena);

static void for_all(on_list visit, uint32_t n_random, seer_space_kind space) {
  seer_target target = space_target(2);
  for (size_t i = 0; i < space_nets_count + n_random; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag =
        i < space_nets_count ? space_parse(arena, space_nets[i].text) : random_dag_of(i, arena);
    seer_rng rng;
    seer_rng_init(&rng, i);
    visit(space_sketches(arena, dag, &target, space), &rng, arena);
    seer_arena_destroy(arena);
  }
}

static bool same_frame(const seer_frame *a, const seer_frame *b) {
  if (a->n_root != b->n_root || memcmp(a->root, b->root, a->n_root) != 0) return false;
  for (uint32_t s = 0; s < a->sketch->dag->n_stage; s++) {
    const seer_frame_stage *x = &a->stage[s], *y = &b->stage[s];
    if (x->place != y->place || x->n_loop != y->n_loop) return false;
    if (x->n_loop == 0) continue;
    if (x->n_parallel != y->n_parallel || x->max_unroll != y->max_unroll) return false;
    if (x->place == SEER_PLACE_AT && (x->at != y->at || x->depth != y->depth)) return false;
    for (uint32_t l = 0; l < x->n_loop; l++) {
      const seer_frame_loop *p = &x->loop[l], *q = &y->loop[l];
      bool same = p->axis == q->axis && p->extent == q->extent && p->coef == q->coef &&
          p->is_exact == q->is_exact && p->is_parallel == q->is_parallel &&
          p->is_tile == q->is_tile && p->is_vector == q->is_vector;
      if (!same) return false;
    }
  }
  return true;
}

// ---- normalise, text

static void check_normal_form(const seer_sketch_list *list, seer_rng *rng, seer_arena *arena) {
  for (uint32_t k = 0; k < list->n; k++) {
    for (int n = 0; n < 8; n++) {
      seer_schedule raw, s;
      memset(&raw, 0, sizeof raw);
      raw.sketch = (uint16_t)k;
      raw.n = (uint16_t)list->sketch[k]->n_knob;
      for (uint32_t i = 0; i < raw.n; i++) {  // any numbers at all
        raw.knob[i] = (uint16_t)(seer_rng_chance(rng, 0.1) ? seer_rng_below(rng, 65536)
                                                           : seer_rng_below(rng, 30));
      }
      seer_frame before, after;
      seer_frame_make(list, &raw, &before);
      s = raw;
      seer_schedule_normalise(list, &s);
      seer_frame_make(list, &s, &after);
      assert_true(same_frame(&before, &after));
      seer_schedule again = s;
      seer_schedule_normalise(list, &again);
      assert_memory_equal(&again, &s, sizeof s);
      for (uint32_t i = 0; i < s.n; i++) {
        const seer_knob *knob = &list->sketch[k]->knob[i];
        if (knob->kind == SEER_KNOB_FACTOR) {
          assert_in_range(s.knob[i], 1, SEER_MAX_FACTOR);
        } else {
          assert_true(s.knob[i] < knob->n_values);
        }
      }
      const char *text = seer_schedule_print(list, &s, arena);
      seer_status status = seer_schedule_parse(list, "printed", text, strlen(text), &again);
      if (status) fail_msg("%s\n%s", seer_status_message(status), text);
      assert_true(seer_schedule_equal(&s, &again));
      assert_string_equal(seer_schedule_print(list, &again, arena), text);
    }
  }
}

static void test_normalise_and_text(void **state) {
  (void)state;
  for_all(check_normal_form, 300, SEER_SPACE_FULL);
}

// ---- sampling and search moves

static uint64_t n_sampled, n_rejected, n_mutated, n_crossed, n_jumped;

// The frame that came with a drawn schedule is the one that the schedule makes.
static void check_frame(
    const seer_sketch_list *list, const seer_schedule *schedule, const seer_frame *drawn) {
  static seer_frame made;
  seer_frame_make(list, schedule, &made);
  assert_ptr_equal(made.sketch, drawn->sketch);
  assert_int_equal(made.n_root, drawn->n_root);
  assert_memory_equal(made.root, drawn->root, made.n_root);
  for (uint32_t k = 0; k < made.sketch->n_order; k++) {
    uint32_t stage = made.sketch->order[k];
    const seer_frame_stage *a = &made.stage[stage], *b = &drawn->stage[stage];
    assert_int_equal(a->place, b->place);
    assert_int_equal(a->n_loop, b->n_loop);
    if (a->place == SEER_PLACE_AT) assert_true(a->at == b->at && a->depth == b->depth);
    if (a->place != SEER_PLACE_AT && a->place != SEER_PLACE_ROOT) continue;
    assert_int_equal(a->n_parallel, b->n_parallel);
    assert_int_equal(a->max_unroll, b->max_unroll);
    for (uint32_t l = 0; l < a->n_loop; l++) {
      assert_int_equal(a->loop[l].extent, b->loop[l].extent);
      assert_int_equal(a->loop[l].coef, b->loop[l].coef);
      assert_int_equal(a->loop[l].is_parallel, b->loop[l].is_parallel);
      assert_int_equal(a->loop[l].is_exact, b->loop[l].is_exact);
    }
    const seer_dag_stage *dag = &made.sketch->dag->stage[stage];
    for (uint32_t x = 0; x < dag->n_space; x++) assert_int_equal(a->region[x], b->region[x]);
  }
}

static void check_moves(const seer_sketch_list *list, seer_rng *rng, seer_arena *arena) {
  (void)arena;
  for (uint32_t k = 0; k < list->n; k++) {
    seer_schedule s, mother = {.n = 0}, child;
    static seer_frame frame;
    seer_schedule_default(list, k, &s);
    assert_int_equal(s.sketch, k);
    assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);
    seer_schedule normal = s;
    seer_schedule_normalise(list, &normal);
    assert_true(seer_schedule_equal(&s, &normal));
    for (int n = 0; n < 6; n++) {
      if (seer_schedule_sample(list, k, rng, &s, &frame) != SEER_REJECT_NONE) {
        n_rejected++;
        continue;
      }
      n_sampled++;
      check_frame(list, &s, &frame);
      normal = s;
      seer_schedule_normalise(list, &normal);
      assert_memory_equal(&normal, &s, sizeof s);
      assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);
      if (seer_schedule_mutate(list, rng, &s, &child, &frame) == SEER_REJECT_NONE) {
        n_mutated++;
        check_frame(list, &child, &frame);
        n_jumped += child.sketch != s.sketch;
        assert_int_equal(seer_schedule_check(list, &child), SEER_REJECT_NONE);
        assert_false(seer_schedule_equal(&s, &child));
        assert_int_not_equal(seer_schedule_hash(&s), seer_schedule_hash(&child));
        normal = child;
        seer_schedule_normalise(list, &normal);
        assert_memory_equal(&normal, &child, sizeof child);
      }
      if (mother.n > 0 &&
          seer_schedule_cross(list, rng, &mother, &s, &child, &frame) == SEER_REJECT_NONE) {
        n_crossed++;
        check_frame(list, &child, &frame);
        assert_int_equal(child.sketch, k);
        assert_int_equal(seer_schedule_check(list, &child), SEER_REJECT_NONE);
        assert_false(seer_schedule_equal(&s, &child) || seer_schedule_equal(&mother, &child));
      }
      mother = s;
    }
  }
}

static void test_moves_are_valid(void **state) {
  (void)state;
  n_sampled = n_rejected = n_mutated = n_crossed = n_jumped = 0;
  for_all(check_moves, 300, SEER_SPACE_FULL);
  print_message("sampled %d (rejected %d), mutated %d (jumps %d), crossed %d\n", (int)n_sampled,
      (int)n_rejected, (int)n_mutated, (int)n_jumped, (int)n_crossed);
  assert_true(
      n_sampled > 3000 && n_mutated > n_sampled / 2 && n_crossed > n_sampled / 3 && n_jumped > 20);
  assert_true(n_rejected < n_sampled / 50);
}

// Every kind of knob takes more than one value, and sampling covers places, tails and exact splits.
static void test_sampling_is_diverse(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  seer_rng rng;
  seer_rng_init(&rng, 7);
  const seer_sketch *sketch = list->sketch[0];
  uint64_t seen[SEER_SCHEDULE_MAX_KNOBS] = {0};
  uint32_t n_tail = 0, n_whole = 0, n_inline = 0, n_root = 0, n_at = 0, n_full_tile = 0, n = 2000;
  for (uint32_t i = 0; i < n; i++) {
    seer_schedule s;
    assert_int_equal(seer_schedule_sample(list, 0, &rng, &s, NULL), SEER_REJECT_NONE);
    for (uint32_t k = 0; k < s.n; k++) seen[k] |= (uint64_t)1 << (s.knob[k] & 63);
    seer_frame frame;
    seer_frame_make(list, &s, &frame);
    bool has_tail = false;
    for (uint32_t l = 0; l < frame.stage[3].n_loop; l++)
      has_tail |= !frame.stage[3].loop[l].is_exact;
    n_tail += has_tail;
    n_whole += !has_tail;
    n_inline += frame.stage[0].place == SEER_PLACE_INLINE;
    n_root += frame.stage[0].place == SEER_PLACE_ROOT;
    n_at += frame.stage[0].place == SEER_PLACE_AT;
    seer_frame_tile tile = seer_frame_register_tile(&frame, 1);
    n_full_tile += tile.rows * tile.vectors >= 16;
  }
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if ((seen[k] & (seen[k] - 1)) == 0) fail_msg("%s never changes", sketch->knob[k].name);
  }
  assert_true(n_tail > n / 10 && n_whole > n / 10);
  assert_true(n_inline > n / 10 && n_root > n / 10 && n_at > n / 5);
  assert_true(n_full_tile > n / 4);
  seer_arena_destroy(arena);
}

// The ansor space: every split divides.
static void check_exact(const seer_sketch_list *list, seer_rng *rng, seer_arena *arena) {
  (void)arena;
  for (uint32_t k = 0; k < list->n; k++) {
    for (int n = 0; n < 4; n++) {
      seer_schedule s;
      if (seer_schedule_sample(list, k, rng, &s, NULL) != SEER_REJECT_NONE) continue;
      seer_frame frame;
      seer_frame_make(list, &s, &frame);
      for (uint32_t r = 0; r < frame.n_root; r++) {
        const seer_frame_stage *stage = &frame.stage[frame.root[r]];
        for (uint32_t l = 0; l < stage->n_loop; l++) assert_true(stage->loop[l].is_exact);
      }
    }
  }
}

static void test_ansor_space_is_exact(void **state) {
  (void)state;
  for_all(check_exact, 100, SEER_SPACE_ANSOR);
}

// ---- re-fitting

static void test_refit_between_siblings(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *a = space_net_sketches(arena, "conv");
  seer_sketch_list *b = space_net_sketches(arena, "conv_sibling");
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (uint32_t i = 0; i < 300; i++) {
    seer_sketch_list *from = i % 2 ? a : b, *to = i % 2 ? b : a;
    seer_schedule s, t, back;
    assert_int_equal(seer_schedule_sample(from, i % from->n, &rng, &s, NULL), SEER_REJECT_NONE);
    assert_int_equal(seer_schedule_refit(from, &s, to, &t), SEER_REJECT_NONE);
    // The sibling with stride 2 has another Winograd formulation: it is the nearest to one.
    bool is_direct = strcmp(from->sketch[s.sketch]->formulation, "direct") == 0;
    if (is_direct)
      assert_string_equal(from->sketch[s.sketch]->signature, to->sketch[t.sketch]->signature);
    bool is_winograd = strncmp(to->sketch[t.sketch]->formulation, "winograd", 8) == 0;
    assert_true(is_winograd == !is_direct);
    assert_int_equal(seer_schedule_check(to, &t), SEER_REJECT_NONE);
    // To itself it is the same schedule.
    assert_int_equal(seer_schedule_refit(from, &s, from, &back), SEER_REJECT_NONE);
    assert_true(seer_schedule_equal(&s, &back));
  }
  // The register tile comes along where it fits.
  seer_schedule s, t;
  seer_schedule_default(a, 0, &s);
  assert_int_equal(seer_schedule_refit(a, &s, b, &t), SEER_REJECT_NONE);
  seer_frame frame;
  seer_frame_make(a, &s, &frame);
  seer_frame_tile x = seer_frame_register_tile(&frame, 1);
  seer_frame_make(b, &t, &frame);
  seer_frame_tile y = seer_frame_register_tile(&frame, 1);
  assert_int_equal(x.rows, y.rows);
  assert_int_equal(x.vectors, y.vectors);
  seer_arena_destroy(arena);
}

static void test_refit_to_strangers(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target = space_target(2);
  seer_rng rng;
  seer_rng_init(&rng, 4);
  seer_sketch_list *list[32];
  for (size_t i = 0; i < space_nets_count; i++) {
    list[i] =
        space_sketches(arena, space_parse(arena, space_nets[i].text), &target, SEER_SPACE_FULL);
  }
  uint32_t n_fit = 0;
  for (size_t i = 0; i < space_nets_count; i++) {
    for (size_t j = 0; j < space_nets_count; j++) {
      seer_schedule s, t;
      if (seer_schedule_sample(list[i], (uint32_t)(j % list[i]->n), &rng, &s, NULL) !=
          SEER_REJECT_NONE)
        continue;
      seer_reject reject = seer_schedule_refit(list[i], &s, list[j], &t);
      assert_true(reject == SEER_REJECT_NONE || reject == SEER_REJECT_NO_MATCH);
      if (reject != SEER_REJECT_NONE) continue;
      n_fit++;
      assert_int_equal(seer_schedule_check(list[j], &t), SEER_REJECT_NONE);
    }
  }
  assert_true(n_fit > space_nets_count);
  // No knob in common: nothing to carry.
  seer_schedule s, t;
  seer_schedule_default(list[0], 0, &s);
  seer_sketch_list *pool = space_net_sketches(arena, "pool");
  assert_int_equal(seer_schedule_refit(list[0], &s, pool, &t), SEER_REJECT_NO_MATCH);
  seer_arena_destroy(arena);
}

// ---- parse errors

static void expect_parse_error(const seer_sketch_list *list, const char *text, const char *says) {
  seer_schedule s;
  seer_status status = seer_schedule_parse(list, "t", text, strlen(text), &s);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  if (!strstr(seer_status_message(status), says))
    fail_msg("'%s' lacks '%s'", seer_status_message(status), says);
  seer_status_free(status);
}

static void test_parse_errors(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
#define HEAD "sched \"direct/simple(relu)/inline(bias)/fuse@2(conv)/simple(pad)\" {"
  expect_parse_error(list, "sched \"direct/foo\" { }", "no sketch");
  expect_parse_error(list, HEAD " split conv.z 1:2 }", "no knob conv.z.1");
  expect_parse_error(list, HEAD " split conv.y 1:0 }", "factor 0");
  expect_parse_error(list, HEAD " split conv.y 1:5000 }", "factor 5000");
  expect_parse_error(list, HEAD " place pad inside conv.oc.7 }", "cannot be placed");
  expect_parse_error(list, HEAD " parallel conv 7 }", "at most 6");
  expect_parse_error(list, HEAD " unroll conv 5 }", "no unroll limit");
  expect_parse_error(list, HEAD " fuse conv }", "a step is");
  expect_parse_error(list, HEAD "} x", "after the schedule");
  expect_parse_error(list, HEAD, "a step is");
  // What is not named is the default's.
  seer_schedule s, d;
  const char *text = HEAD "}";
  assert_null(seer_schedule_parse(list, "t", text, strlen(text), &s));
  seer_schedule_default(list, 0, &d);
  assert_true(seer_schedule_equal(&s, &d));
  seer_arena_destroy(arena);
}

static void test_default_text(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  seer_schedule s;
  seer_schedule_default(list, 0, &s);
  assert_string_equal(seer_schedule_print(list, &s, arena),
      HEAD
      "\n  split pad.x 1:1\n  split pad.c 1:64\n"
      "  split conv.y 1:8 2:1 3:1\n  split conv.x 1:4 2:1 3:14\n  split conv.oc 1:1 2:1 3:32\n"
      "  split conv.ky 1:3\n  split conv.kx 1:3\n  split conv.ic 1:64\n"
      "  place pad root\n  parallel pad 1\n  unroll conv 1\n  parallel conv 4\n}\n");
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_normalise_and_text),
      cmocka_unit_test(test_moves_are_valid),
      cmocka_unit_test(test_sampling_is_diverse),
      cmocka_unit_test(test_ansor_space_is_exact),
      cmocka_unit_test(test_refit_between_siblings),
      cmocka_unit_test(test_refit_to_strangers),
      cmocka_unit_test(test_parse_errors),
      cmocka_unit_test(test_default_text),
  };
  return cmocka_run_group_tests_name("space/schedule", tests, NULL, NULL);
}
