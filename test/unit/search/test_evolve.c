// test_evolve.c - Ansor's evolution: parents are drawn in proportion to their scores, the list of
// the best holds what differs and is not known, measured schedules join the first population, and a
// proposal has the shares that were published, whatever the number of threads and whatever the
// analytic model thinks.
#include <stdlib.h>
#include <string.h>

#include "learn/cost/xgboost.h"
#include "search/evolve.h"
#include "search/roulette.h"
#include "search/search.h"
#include "space/nest.h"
#include "support/search_scene.h"
#include "support/test.h"
#include "support/test_target.h"

// ---- parts

static void parents_are_drawn_in_proportion(void **state) {
  (void)state;
  enum { N = 80000 };
  static const float scores[] = {0, 1, 2, -3, 5, 0};
  static const float bad[] = {-1, 0, -2, 0};
  double sum[SEER_COUNT_OF(scores)];
  uint32_t n_drawn[SEER_COUNT_OF(scores)] = {0}, n_bad[SEER_COUNT_OF(bad)] = {0};
  seer_rng rng;
  seer_rng_init(&rng, 3);
  seer_roulette_fill(scores, SEER_COUNT_OF(scores), sum);
  for (int i = 0; i < N; i++) n_drawn[seer_roulette_draw(sum, SEER_COUNT_OF(scores), &rng)]++;
  assert_int_equal(n_drawn[0] + n_drawn[3] + n_drawn[5], 0);
  assert_in_range(n_drawn[1], 0.95 * N / 8, 1.05 * N / 8);
  assert_in_range(n_drawn[2], 0.97 * N / 4, 1.03 * N / 4);
  assert_in_range(n_drawn[4], 0.98 * N * 5 / 8, 1.02 * N * 5 / 8);
  seer_roulette_fill(bad, SEER_COUNT_OF(bad), sum);  // nobody is above 0: all alike
  for (int i = 0; i < N; i++) n_bad[seer_roulette_draw(sum, SEER_COUNT_OF(bad), &rng)]++;
  for (uint32_t k = 0; k < SEER_COUNT_OF(bad); k++)
    assert_in_range(n_bad[k], 0.95 * N / 4, 1.05 * N / 4);
}

static int by_score(const void *a, const void *b) {
  const seer_candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->hash < y->hash ? -1 : 1;
}

static void the_best_differ_and_are_not_known(void **state) {
  (void)state;
  enum { N = 500, CAP = 32 };
  static seer_candidate offered[N], right[N], room[CAP];
  seer_table known = {0};
  seer_rng rng;
  seer_rng_init(&rng, 8);
  for (uint32_t round = 0; round < 20; round++) {
    seer_table_clear(&known);
    uint32_t n_right = 0, cap = 1 + round * CAP / 20;
    for (uint32_t i = 0; i < N; i++)
      offered[i] = (seer_candidate){.hash = 100 + i, .score = (float)seer_rng_f64(&rng)};
    for (uint32_t i = 0; i < N; i += 3) (void)seer_table_add(&known, offered[i].hash);
    for (uint32_t i = 0; i < N; i++)
      if (i % 3 != 0) right[n_right++] = offered[i];
    qsort(right, n_right, sizeof *right, by_score);
    seer_best best = {.known = &known, .cap = cap, .at = room};
    for (uint32_t i = 0; i < N; i++) {
      seer_best_offer(&best, &offered[i]);
      seer_best_offer(&best, &offered[seer_rng_below(&rng, i + 1)]);  // again
    }
    seer_best_sort(&best);
    assert_int_equal(best.n, cap);
    for (uint32_t i = 0; i < cap; i++) assert_int_equal(best.at[i].hash, right[i].hash);
  }
  seer_table_destroy(&known);
}

// ---- populations

typedef struct {
  seer_arena *arena;
  seer_target target;
  seer_sketch_list *sketches;
  seer_summariser *summariser;
  seer_bank *bank;
} world;

static void open_world(world *w) {
  seer_dag *dag;
  w->arena = seer_arena_create("test");
  w->target = test_target_read("server", w->arena);
  must(seer_dag_parse("test", search_scene_conv, strlen(search_scene_conv), w->arena, &dag));
  must(seer_sketch_generate(dag, &w->target, SEER_SPACE_ANSOR, w->arena, &w->sketches));
  w->summariser = seer_summariser_create(w->sketches, w->arena);
  static const uint32_t family_of[1] = {0};
  const seer_bank_options options = {.n_family = 1,
      .n_task = 1,
      .family_of = family_of,
      .model = &seer_cost_xgboost,
      .seed = 1,
      .warm_up = 16};
  must(seer_bank_create(&options, &w->bank));
}

static void close_world(world *w) {
  seer_bank_destroy(w->bank);
  seer_arena_destroy(w->arena);
}

static bool has(const seer_draft_pool *pool, uint64_t hash) {
  for (uint32_t i = 0; i < pool->n; i++)
    if (pool->at[i].hash == hash) return true;
  return false;
}

// One generation without mutations, then with nothing else: copies of the first population's, the
// measured ones among them; and children that are not.
static void measured_ones_join_and_breed(void **state) {
  (void)state;
  enum { N = 512, MEASURED = 300 };
  world w;
  open_world(&w);
  seer_search_strategy strategy = seer_strategy_ansor;
  strategy.n_population = N;
  strategy.measured_share = 0.25;  // 128 of them
  seer_table known = {0};
  static seer_schedule schedules[MEASURED];
  const seer_schedule *measured[MEASURED];
  seer_rng rng;
  seer_rng_init(&rng, 21);
  for (uint32_t i = 0; i < MEASURED; i++) {
    assert_int_equal(
        seer_schedule_sample(w.sketches, (uint32_t)(i % w.sketches->n), &rng, &schedules[i], NULL),
        SEER_REJECT_NONE);
    measured[i] = &schedules[i];
    (void)seer_table_add(&known, seer_schedule_hash(&schedules[i]));
  }
  double *weight = SEER_NEW_ARRAY(w.arena, double, w.sketches->n);
  for (uint32_t k = 0; k < w.sketches->n; k++) weight[k] = 1;
  const seer_draft_space space = {.sketches = w.sketches,
      .facts = seer_summariser_facts(w.summariser),
      .target = &w.target,
      .known = &known,
      .n_threads = 1};
  const seer_evolution evolution = {.space = &space,
      .strategy = &strategy,
      .sketch_weight = weight,
      .n_measured = MEASURED,
      .measured = measured};
  seer_draft_pool pool;
  must(seer_draft_pool_create(seer_evolve_room(&strategy), &pool));
  static seer_candidate room[2 * N];
  seer_search_counts counts = {0};
  uint32_t n_random;
  seer_table first = {0};
  for (strategy.n_generations = 0; strategy.n_generations <= 2; strategy.n_generations++) {
    strategy.mutation_chance = strategy.n_generations == 1 ? 0 : 1;
    seer_best best = {.known = &known, .cap = 2 * N, .at = room};
    seer_rng_init(&rng, 22);  // the first population is the same each time
    must(seer_evolve(&evolution, &rng, &pool, &counts, &best, 0, NULL, &n_random));
    for (uint32_t i = 0; i < best.n; i++) assert_false(seer_table_has(&known, best.at[i].hash));
    uint32_t n_old = 0;
    for (uint32_t i = 0; i < pool.n; i++) n_old += seer_table_has(&first, pool.at[i].hash);
    if (strategy.n_generations == 0) {
      for (uint32_t i = 0; i < pool.n; i++) (void)seer_table_add(&first, pool.at[i].hash);
      for (uint32_t i = 0; i < 128; i++) assert_true(has(&pool, seer_schedule_hash(measured[i])));
      assert_in_range(pool.n, 0.9 * N + 128, N + 128);
    } else {
      assert_int_equal(pool.n, N);
      if (strategy.n_generations == 1) {
        assert_int_equal(n_old, N);
        uint32_t n_measured = 0;
        for (uint32_t i = 0; i < pool.n; i++) n_measured += seer_table_has(&known, pool.at[i].hash);
        assert_in_range(n_measured, N / 8, N / 3);  // a fifth
      } else {
        assert_true(n_old < N / 4);
      }
    }
  }
  seer_draft_pool_destroy(&pool);
  seer_table_destroy(&first);
  seer_table_destroy(&known);
  close_world(&w);
}

// ---- proposals

static void learn(world *w, seer_search *search, const seer_proposal *p) {
  seer_sample sample = seer_search_sample(
      search, seer_bank_features(w->bank), &p->schedule, 2 * p->estimate_s, w->arena);
  seer_search_report(search, &p->schedule, sample.seconds, true);
  must(seer_bank_add(w->bank, &sample, 1));
}

// Rounds of 64, then one of 16, by any number of threads. Of 64 three are drawn at random, of 16
// none; nothing is proposed twice.
static void proposals_are_as_published(void **state) {
  (void)state;
  enum { ROUNDS = 3, ROUND = 64, MOST = ROUNDS * ROUND };
  static const uint32_t thread_counts[] = {1, 2, 8};
  static seer_proposal of_one_thread[ROUNDS][ROUND];
  for (size_t t = 0; t < SEER_COUNT_OF(thread_counts); t++) {
    world w;
    open_world(&w);
    const seer_search_options options = {.sketches = w.sketches,
        .target = &w.target,
        .seed = 7,
        .strategy = &seer_strategy_ansor,
        .n_threads = thread_counts[t]};
    seer_search *search;
    must(seer_search_create(&options, &search));
    seer_table seen = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
      seer_proposal p[ROUND];
      uint32_t n, asked = round + 1 < ROUNDS ? ROUND : 16, n_random = 0;
      must(seer_search_propose(search, w.bank, asked, p, &n));
      assert_int_equal(n, asked);
      for (uint32_t i = 0; i < n; i++) {
        assert_true(seer_table_add(&seen, seer_schedule_hash(&p[i].schedule)));
        n_random += p[i].origin == SEER_ORIGIN_RANDOM;
        if (t == 0) of_one_thread[round][i] = p[i];
        assert_true(seer_schedule_equal(&p[i].schedule, &of_one_thread[round][i].schedule));
        assert_true(p[i].predicted == of_one_thread[round][i].predicted);
        assert_int_equal(p[i].origin, of_one_thread[round][i].origin);
      }
      // The first round knows no model: its scores are random, and it says so.
      assert_int_equal(n_random, round == 0 ? ROUND : round == 1 ? 3 : 0);
      for (uint32_t i = 1; i + 3 < n; i++) assert_true(p[i - 1].predicted >= p[i].predicted);
      for (uint32_t i = 0; i < n; i++) learn(&w, search, &p[i]);
      must(seer_bank_train(w.bank, 0));
    }
    // Five evaluations of some 2,048 in each round, and the measured ones in the first.
    assert_in_range(seer_search_get_counts(search)->drafted, ROUNDS * 9000, ROUNDS * 10400);
    seer_table_destroy(&seen);
    seer_search_destroy(search);
    close_world(&w);
  }
}

// Two machines that differ in what the analytic model reads of them alone.
static void estimates_decide_nothing(void **state) {
  (void)state;
  enum { ROUND = 32 };
  static seer_proposal of_first[ROUND];
  for (int is_slow = 0; is_slow < 2; is_slow++) {
    world w;
    open_world(&w);
    if (is_slow) {
      w.target.fma_latency_cycles *= 20;
      w.target.l1_bytes /= 8;
      w.target.l2_bytes /= 64;
    }
    const seer_search_options options = {.sketches = w.sketches,
        .target = &w.target,
        .seed = 9,
        .strategy = &seer_strategy_ansor,
        .n_threads = 1};
    seer_search *search;
    must(seer_search_create(&options, &search));
    seer_proposal p[ROUND];
    uint32_t n, n_other = 0;
    for (int round = 0; round < 2; round++) {
      must(seer_search_propose(search, NULL, ROUND, p, &n));
      assert_int_equal(n, ROUND);
      for (uint32_t i = 0; i < n; i++) seer_search_report(search, &p[i].schedule, 1.0 + i, true);
    }
    for (uint32_t i = 0; i < n; i++) {
      if (!is_slow) of_first[i] = p[i];
      assert_true(seer_schedule_equal(&p[i].schedule, &of_first[i].schedule));
      n_other += p[i].estimate_s != of_first[i].estimate_s;
    }
    assert_int_equal(n_other > 0, is_slow);
    seer_search_destroy(search);
    close_world(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parents_are_drawn_in_proportion),
      cmocka_unit_test(the_best_differ_and_are_not_known),
      cmocka_unit_test(measured_ones_join_and_breed), cmocka_unit_test(proposals_are_as_published),
      cmocka_unit_test(estimates_decide_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
