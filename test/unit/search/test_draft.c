// test_draft.c - candidates do not depend on the number of threads that make them; they differ,
// are valid, and are none of those that are known.
#include <string.h>

#include "search/draft.h"
#include "search/search.h"
#include "space/frame.h"
#include "space/nest.h"
#include "support/search_scene.h"
#include "support/test.h"

static const uint32_t thread_counts[] = {1, 2, 3, 8, 64};

typedef struct {
  search_scene scene;
  seer_summariser *summariser;
} world;

static void open_world(world *w) {
  search_scene_open(&w->scene, "server", search_scene_conv);
  w->summariser = seer_summariser_create(w->scene.sketches, w->scene.arena);
}

static void learn(world *w, const seer_schedule *schedule, double noise) {
  static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];
  const seer_nest *nest = seer_summarise(w->summariser, schedule);
  seer_sample sample = seer_sample_of(nest, &w->scene.target, &seer_feature_seer, rows);
  sample.seconds = sample.estimate_s * noise;
  must(seer_bank_add(w->scene.bank, &sample, 1));
}

// A search of its own for each number of threads, with models that learn the same: what they
// propose, round after round, is the same to the last bit of the scores.
static void proposals_do_not_depend_on_threads(void **state) {
  (void)state;
  enum { ROUNDS = 5, ROUND = 16 };
  static seer_proposal of_one_thread[ROUNDS][ROUND];
  uint64_t n_scored = 0;
  for (size_t t = 0; t < SEER_COUNT_OF(thread_counts); t++) {
    world w;
    open_world(&w);
    seer_search_options options = {.sketches = w.scene.sketches,
        .target = &w.scene.target,
        .seed = 7,
        .strategy = &seer_strategy_seer,
        .n_threads = thread_counts[t]};
    seer_search *search;
    must(seer_search_create(&options, &search));
    for (int round = 0; round < ROUNDS; round++) {
      seer_proposal p[ROUND];
      uint32_t n;
      must(seer_search_propose(search, w.scene.bank, ROUND, p, &n));
      assert_int_equal(n, ROUND);
      if (t == 0) memcpy(of_one_thread[round], p, sizeof p);
      for (uint32_t i = 0; i < n; i++) {
        const seer_proposal *other = &of_one_thread[round][i];
        assert_true(seer_schedule_equal(&p[i].schedule, &other->schedule));
        assert_true(p[i].estimate_s == other->estimate_s);
        assert_true(p[i].predicted == other->predicted);
        assert_int_equal(p[i].origin, other->origin);
        double noise = 1 + 0.1 * (i % 5);
        seer_search_report(search, &p[i].schedule, p[i].estimate_s * noise, true);
        learn(&w, &p[i].schedule, noise);
      }
      must(seer_bank_train(w.scene.bank, 0));
    }
    const seer_search_counts *counts = seer_search_get_counts(search);
    if (t == 0) n_scored = counts->scored;
    assert_true(counts->scored == n_scored && n_scored > 1000);
    seer_search_destroy(search);
    search_scene_close(&w.scene);
  }
}

static void is_as_promised(const world *w, const seer_draft_pool *pool, const seer_table *known) {
  seer_table seen = {0};
  for (uint32_t i = 0; i < pool->n; i++) {
    const seer_candidate *c = &pool->at[i];
    assert_true(c->hash == seer_schedule_hash(&c->schedule));
    assert_true(seer_table_add(&seen, c->hash));
    assert_false(seer_table_has(known, c->hash));
    assert_int_equal(seer_schedule_check(w->scene.sketches, &c->schedule), SEER_REJECT_NONE);
    const seer_nest *nest = seer_summarise(w->summariser, &c->schedule);
    assert_true(c->estimate_s == seer_analytic_seconds(nest, &w->scene.target));
  }
  seer_table_destroy(&seen);
}

// Drawn, then the same again with some of them known: what is known, what is given twice and what
// is over the limit comes to nothing, and every try is counted.
static void candidates_are_new_valid_and_counted(void **state) {
  (void)state;
  enum { N = 1200, ALL = 4 * N };  // enough for every island to have a thread
  world w;
  open_world(&w);
  double *weight = SEER_NEW_ARRAY(w.scene.arena, double, w.scene.sketches->n);
  weight[w.scene.sketches->n - 1] = 1;  // of one sketch: there will be duplicates
  seer_table known = {0};
  seer_draft_space space = {.sketches = w.scene.sketches,
      .facts = seer_summariser_facts(w.summariser),
      .target = &w.scene.target,
      .known = &known,
      .n_threads = 8};
  const seer_draft_order drawn = {.kind = SEER_DRAFT_DRAWN, .n = N, .sketch_weight = weight};
  seer_draft_pool pool, again;
  seer_search_counts counts = {0}, counts_again = {0};
  must(seer_draft_pool_create(ALL, &pool));
  must(seer_draft_pool_create(ALL, &again));
  must(seer_draft(&space, &drawn, 1, 3, &pool, &counts));
  assert_true(pool.n > N / 2 && pool.n <= N);
  assert_int_equal(counts.drafted, pool.n);
  is_as_promised(&w, &pool, &known);
  for (uint32_t i = 0; i < pool.n; i++)
    assert_int_equal(pool.at[i].schedule.sketch, w.scene.sketches->n - 1);

  for (uint32_t i = 0; i < pool.n; i += 2) seer_table_add(&known, pool.at[i].hash);
  const seer_schedule *given[N + 1];
  uint32_t n_given = 0;
  for (uint32_t i = 0; i < pool.n; i++) given[n_given++] = &pool.at[i].schedule;
  given[n_given++] = &pool.at[1].schedule;  // on another island than the first one
  const seer_draft_order orders[] = {{.kind = SEER_DRAFT_GIVEN, .n = n_given, .from = given}};
  must(seer_draft(&space, orders, 1, 3, &again, &counts_again));
  is_as_promised(&w, &again, &known);
  assert_int_equal(again.n, pool.n / 2);
  assert_int_equal(counts_again.drafted, again.n);
  assert_int_equal(counts_again.rejected[SEER_REJECT_DUPLICATE], n_given - again.n);

  // Children join what is there; nothing that was there moves.
  seer_candidate first = again.at[0];
  const seer_draft_order bred = {
      .kind = SEER_DRAFT_BRED, .n = N, .from = given, .n_from = pool.n, .has_two_parents = true};
  uint32_t n_before = again.n;
  must(seer_draft(&space, &bred, 1, 4, &again, &counts_again));
  assert_true(again.n > n_before);
  assert_memory_equal(&again.at[0].schedule, &first.schedule, sizeof first.schedule);
  is_as_promised(&w, &again, &known);

  space.max_packed_bytes = 1;
  seer_draft_pool_clear(&again);
  must(seer_draft(&space, &drawn, 1, 5, &again, &counts_again));
  for (uint32_t i = 0; i < again.n; i++) {
    const seer_nest *nest = seer_summarise(w.summariser, &again.at[i].schedule);
    assert_true(nest->packed_bytes <= 1);
  }
  assert_true(counts_again.rejected[SEER_REJECT_WEIGHTS] > 0);
  seer_draft_pool_destroy(&pool);
  seer_draft_pool_destroy(&again);
  seer_table_destroy(&known);
  search_scene_close(&w.scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(proposals_do_not_depend_on_threads),
      cmocka_unit_test(candidates_are_new_valid_and_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
