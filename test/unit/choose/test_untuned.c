// The choice without trials: as many drafts as it is told, the same on any number of threads, no
// worse by the estimate than any sketch's default, within what formulations may add and weights may
// take; where models are trained, theirs.
#include <string.h>

#include "choose/untuned.h"
#include "search/unmeasured.h"
#include "space/nest.h"
#include "support/search_scene.h"
#include "support/test.h"
#include "support/test_target.h"

static const char product[] =
    "dag gemm {\n"
    "  input $a f32[128, 256]\n"
    "  weight $b f32[256, 256]\n"
    "  stage gemm role anchor [i:m<128, j:n<256] sum[k:k<256] = $a[i, k] * $b[k, j]\n"
    "  output $gemm\n}\n";

#define DRAFTS 8000  // more than end a search early

static seer_unmeasured find(const search_scene *s, uint32_t n_drafts, uint32_t n_threads) {
  seer_unmeasured_options options = {.sketches = s->sketches,
      .target = &s->target,
      .seed = 1,
      .n_drafts = n_drafts,
      .n_threads = n_threads};
  seer_unmeasured out;
  must(seer_unmeasured_find(&options, &out));
  return out;
}

static const seer_sketch *sketch_of(const search_scene *s, const seer_schedule *schedule) {
  return s->sketches->sketch[schedule->sketch];
}

static double estimate(const search_scene *s, const seer_schedule *schedule) {
  return seer_analytic_seconds(
      seer_summarise(seer_summariser_create(s->sketches, s->arena), schedule), &s->target);
}

static uint64_t packed_bytes(const search_scene *s, const seer_schedule *schedule) {
  return seer_summarise(seer_summariser_create(s->sketches, s->arena), schedule)->packed_bytes;
}

static void test_as_many_drafts_as_told(void **state) {
  (void)state;
  static const uint32_t numbers[] = {0, 1, 255, 256, 1000, 3000};
  search_scene s;
  search_scene_open(&s, "server", search_scene_conv);
  for (size_t k = 0; k < SEER_COUNT_OF(numbers); k++) {
    seer_unmeasured found = find(&s, numbers[k], 2);
    assert_int_equal(found.n_drafts, numbers[k]);
    // Each try is a candidate or has been refused, some several times; so has each default.
    uint64_t n = found.counts.drafted;
    for (int r = 0; r < SEER_REJECT_COUNT; r++) n += found.counts.rejected[r];
    assert_true(n >= numbers[k]);
    assert_true(found.counts.drafted <= numbers[k] + s.sketches->n);
    assert_true(numbers[k] < 1000 || found.counts.drafted > numbers[k] / 2);
  }
  search_scene_close(&s);
}

static void test_ends_when_nothing_improves(void **state) {
  (void)state;
  search_scene s;
  search_scene_open(&s, "server", search_scene_conv);
  seer_unmeasured_options options = {
      .sketches = s.sketches, .target = &s.target, .seed = 1, .n_drafts = 1000000, .n_stale = 1024};
  seer_unmeasured found;
  must(seer_unmeasured_find(&options, &found));
  assert_true(found.n_drafts >= 1024 && found.n_drafts < 1000000);
  search_scene_close(&s);
}

static void test_threads_do_not_matter(void **state) {
  (void)state;
  search_scene s;
  search_scene_open(&s, "laptop", search_scene_conv);
  seer_unmeasured one = find(&s, 2000, 1), many = find(&s, 2000, 8);
  assert_true(seer_schedule_equal(&one.schedule, &many.schedule));
  assert_true(one.estimate_s == many.estimate_s);
  // Several tasks at a time: the same as each for itself.
  seer_untuned_task together[3] = {{0}}, alone[3] = {{0}};
  for (uint32_t t = 0; t < 3; t++) {
    together[t] = alone[t] = (seer_untuned_task){.task = t, .sketches = s.sketches};
    must(seer_untuned_choose(
        &(seer_untuned_how){&s.target, 1, DRAFTS, 3, NULL, NULL}, &alone[t], 1));
  }
  must(seer_untuned_choose(&(seer_untuned_how){&s.target, 1, DRAFTS, 2, NULL, NULL}, together, 3));
  for (uint32_t t = 0; t < 3; t++) {
    assert_true(seer_schedule_equal(&together[t].schedule, &alone[t].schedule));
    assert_true(together[t].seconds == alone[t].seconds);
  }
  search_scene_close(&s);
}

// What is told of a network's tasks reaches their searches: with few drafts less is found.
static void test_tasks_have_as_many_drafts_as_told(void **state) {
  (void)state;
  search_scene s;
  search_scene_open(&s, "server", search_scene_conv);
  seer_untuned_task few = {.sketches = s.sketches}, many = few;
  must(seer_untuned_choose(&(seer_untuned_how){&s.target, 1, 1, 1, NULL, NULL}, &few, 1));
  must(seer_untuned_choose(&(seer_untuned_how){&s.target, 1, DRAFTS, 1, NULL, NULL}, &many, 1));
  assert_true(many.seconds < 0.99 * few.seconds);
  assert_true(few.seconds == find(&s, 1, 1).estimate_s);
  search_scene_close(&s);
}

static void test_no_worse_than_any_default(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    const char *const texts[] = {search_scene_conv, product};
    for (size_t k = 0; k < SEER_COUNT_OF(texts); k++) {
      search_scene s;
      search_scene_open(&s, test_target_names[m], texts[k]);
      seer_unmeasured found = find(&s, 600, 2);
      assert_int_equal(seer_schedule_check(s.sketches, &found.schedule), SEER_REJECT_NONE);
      assert_true(found.estimate_s == estimate(&s, &found.schedule));
      for (uint32_t i = 0; i < s.sketches->n; i++) {
        seer_schedule usual;
        if (s.sketches->sketch[i]->needs_trials) continue;
        seer_schedule_default(s.sketches, i, &usual);
        assert_true(found.estimate_s <= estimate(&s, &usual));
      }
      search_scene_close(&s);
    }
  }
}

// Winograd's is chosen where it is allowed (the models of these machines say so), Strassen's never.
static void test_inexact_ones_within_the_tolerance(void **state) {
  (void)state;
  static const struct {
    double tolerance;
    bool has4, has2;
  } of[] = {{1, true, true}, {2e-3, true, true}, {1e-3, false, true}, {1e-4, false, true},
      {9e-5, false, false}, {0, false, false}};
  for (size_t k = 0; k < SEER_COUNT_OF(of); k++) {
    search_scene s;
    search_scene_open(&s, "server", search_scene_conv);
    seer_sketch_keep_within(s.sketches, of[k].tolerance);
    assert_true(s.sketches->tolerance == of[k].tolerance);
    bool has4 = false, has2 = false;
    for (uint32_t i = 0; i < s.sketches->n; i++) {
      const seer_sketch *sketch = s.sketches->sketch[i];
      assert_true(sketch->tolerance <= of[k].tolerance);
      has4 = has4 || strcmp(sketch->formulation, "winograd4") == 0;
      has2 = has2 || strcmp(sketch->formulation, "winograd2") == 0;
    }
    assert_true(has4 == of[k].has4 && has2 == of[k].has2);
    seer_unmeasured found = find(&s, 600, 2);
    bool is_exact = sketch_of(&s, &found.schedule)->tolerance == 0;
    assert_true(is_exact == !of[k].has2);
    search_scene_close(&s);
  }
  search_scene s;
  search_scene_open(&s, "server", product);
  bool has_strassen = false;
  for (uint32_t i = 0; i < s.sketches->n; i++)
    has_strassen = has_strassen || s.sketches->sketch[i]->needs_trials;
  assert_true(has_strassen);
  seer_unmeasured found = find(&s, 2000, 2);
  assert_false(sketch_of(&s, &found.schedule)->needs_trials);
  search_scene_close(&s);
}

// What checks compare with: the first sketch, whatever is left out.
static void test_reference_is_exact(void **state) {
  (void)state;
  static const double tolerances[] = {1, 1e-3, 0};
  for (size_t k = 0; k < SEER_COUNT_OF(tolerances); k++) {
    search_scene s;
    search_scene_open(&s, "server", search_scene_conv);
    seer_sketch_keep_within(s.sketches, tolerances[k]);
    assert_true(s.sketches->sketch[0]->tolerance == 0);
    assert_string_equal(s.sketches->sketch[0]->formulation, "direct");
    search_scene_close(&s);
  }
}

static void test_weights_within_the_limit(void **state) {
  (void)state;
  const uint64_t weight_bytes = 32 * 3 * 3 * 32 * 4;
  search_scene s;
  search_scene_open(&s, "server", search_scene_conv);
  seer_unmeasured_options options = {.sketches = s.sketches,
      .target = &s.target,
      .seed = 1,
      .n_drafts = 600,
      .max_packed_bytes = 3 * weight_bytes / 2};
  seer_unmeasured found;
  must(seer_unmeasured_find(&options, &found));
  assert_true(packed_bytes(&s, &found.schedule) <= 3 * weight_bytes / 2);
  seer_unmeasured free = find(&s, 600, 1);
  assert_true(packed_bytes(&s, &free.schedule) > 3 * weight_bytes / 2);
  // Not even the first default's fit: it is the measure then.
  seer_schedule first;
  seer_schedule_default(s.sketches, 0, &first);
  options.max_packed_bytes = 1;
  must(seer_unmeasured_find(&options, &found));
  assert_true(packed_bytes(&s, &found.schedule) <= packed_bytes(&s, &first));
  search_scene_close(&s);
}

// Models that have learnt that times are the estimates' inverse want another schedule.
static void test_models_have_the_last_word(void **state) {
  (void)state;
  enum { N = 200 };
  static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];
  search_scene s;
  search_scene_open(&s, "server", search_scene_conv);
  seer_summariser *summariser = seer_summariser_create(s.sketches, s.arena);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t n = 0; n < N;) {
    seer_schedule schedule;
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, s.sketches->n);
    if (seer_schedule_sample(s.sketches, sketch, &rng, &schedule, NULL) != SEER_REJECT_NONE)
      continue;
    const seer_nest *nest = seer_summarise(summariser, &schedule);
    bool is_direct = s.sketches->sketch[sketch]->tolerance == 0;
    seer_sample sample = seer_sample_of(nest, &s.target, &seer_feature_seer, rows);
    sample.seconds = is_direct ? 1e-4 : 1e-2;
    must(seer_bank_add(s.bank, &sample, 1));
    n++;
  }
  must(seer_bank_train(s.bank, 0));
  assert_true(seer_bank_is_trained(s.bank, 0));
  seer_unmeasured_options options = {
      .sketches = s.sketches, .target = &s.target, .seed = 1, .n_drafts = 600, .bank = s.bank};
  seer_unmeasured by_models, by_estimate = find(&s, 600, 1);
  must(seer_unmeasured_find(&options, &by_models));
  assert_true(by_models.counts.scored > 0 && by_estimate.counts.scored == 0);
  assert_true(sketch_of(&s, &by_estimate.schedule)->tolerance > 0);
  assert_true(sketch_of(&s, &by_models.schedule)->tolerance == 0);
  search_scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_many_drafts_as_told),
      cmocka_unit_test(test_ends_when_nothing_improves),
      cmocka_unit_test(test_threads_do_not_matter),
      cmocka_unit_test(test_tasks_have_as_many_drafts_as_told),
      cmocka_unit_test(test_no_worse_than_any_default),
      cmocka_unit_test(test_inexact_ones_within_the_tolerance),
      cmocka_unit_test(test_reference_is_exact), cmocka_unit_test(test_weights_within_the_limit),
      cmocka_unit_test(test_models_have_the_last_word)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
