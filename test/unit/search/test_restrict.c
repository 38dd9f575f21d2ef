// A search that is restricted to a pool: all of it and nothing else is proposed, each once, with
// and without models; what is queued from outside is rejected and counted; the untuned choice is
// the pool's best by the estimate, of those that are exact.
#include <string.h>

#include "search/search.h"
#include "support/search_scene.h"
#include "support/test.h"
#include "support/test_target.h"

enum { POOL = 90, ROUND = 16 };

typedef struct {
  search_scene scene;
  seer_search *search;
  seer_schedule pool[POOL], outside;
  bool seen[POOL];
} world;

static bool is_exact(const world *w, const seer_schedule *schedule) {
  return w->scene.sketches->sketch[schedule->sketch]->tolerance == 0;
}

static uint32_t index_of(const world *w, const seer_schedule *schedule) {
  uint32_t i = 0;
  while (i < POOL && !seer_schedule_equal(&w->pool[i], schedule)) i++;
  return i;
}

// One that the pool does not have yet.
static seer_schedule draw(const world *w, seer_rng *rng, bool may_be_exact) {
  seer_schedule out;
  uint32_t sketch;
  do {
    sketch = (uint32_t)seer_rng_below(rng, w->scene.sketches->n);
  } while (seer_schedule_sample(w->scene.sketches, sketch, rng, &out, NULL) != SEER_REJECT_NONE ||
      index_of(w, &out) < POOL || (!may_be_exact && is_exact(w, &out)));
  return out;
}

static void open_world(
    world *w, const char *machine, const seer_search_strategy *strategy, bool is_exact_too) {
  *w = (world){0};
  search_scene_open(&w->scene, machine, search_scene_conv);
  seer_search_options options = {
      .sketches = w->scene.sketches, .target = &w->scene.target, .seed = 1, .strategy = strategy};
  must(seer_search_create(&options, &w->search));
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (uint32_t i = 0; i < POOL; i++) w->pool[i] = draw(w, &rng, is_exact_too);
  w->outside = draw(w, &rng, true);
  must(seer_search_restrict(w->search, w->pool, POOL));
}

static void close_world(world *w) {
  seer_search_destroy(w->search);
  search_scene_close(&w->scene);
}

static void learn(world *w, const seer_schedule *schedule) {
  seer_sample sample =
      seer_search_sample(w->search, seer_bank_features(w->scene.bank), schedule, 0, w->scene.arena);
  sample.seconds = 2 * sample.estimate_s;
  seer_search_report(w->search, schedule, sample.seconds, true);
  must(seer_bank_add(w->scene.bank, &sample, 1));
}

static void try_all(const char *machine, const seer_search_strategy *strategy) {
  world w;
  open_world(&w, machine, strategy, true);
  uint32_t n_seen = 0, n_model = 0, n = 1;
  for (uint32_t round = 0; n > 0; round++) {
    seer_proposal p[ROUND];
    must(seer_search_propose(w.search, w.scene.bank, ROUND, p, &n));
    for (uint32_t i = 0; i < n; i++) {
      uint32_t at = index_of(&w, &p[i].schedule);
      assert_true(at < POOL);
      assert_false(w.seen[at]);
      w.seen[at] = true;
      n_model += p[i].origin == SEER_ORIGIN_MODEL;
      learn(&w, &p[i].schedule);
    }
    must(seer_bank_train(w.scene.bank, 0));
    n_seen += n;
    assert_true(n == ROUND || n_seen == POOL);
  }
  assert_int_equal(n_seen, POOL);
  assert_true(n_model > 0);
  close_world(&w);
}

static void all_of_a_pool_and_nothing_else(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    try_all(test_target_names[m], &seer_strategy_seer);
    try_all(test_target_names[m], &seer_strategy_ansor);
  }
}

static void what_is_queued_from_outside_is_rejected(void **state) {
  (void)state;
  world w;
  open_world(&w, "server", &seer_strategy_seer, true);
  seer_search_queue(w.search, &w.outside, SEER_ORIGIN_SIBLING);
  assert_int_equal(seer_search_queued(w.search), 0);
  assert_int_equal(seer_search_get_counts(w.search)->rejected[SEER_REJECT_POOL], 1);
  seer_search_queue(w.search, &w.pool[7], SEER_ORIGIN_SIBLING);
  assert_int_equal(seer_search_queued(w.search), 1);
  seer_proposal p;
  uint32_t n;
  must(seer_search_propose(w.search, NULL, 1, &p, &n));
  assert_true(n == 1 && seer_schedule_equal(&p.schedule, &w.pool[7]));
  assert_int_equal(p.origin, SEER_ORIGIN_SIBLING);
  close_world(&w);
}

// The estimate would cut all of a formulation off; its quota is met all the same.
static void formulations_keep_their_share(void **state) {
  (void)state;
  world w;
  open_world(&w, "server", &seer_strategy_seer, true);
  seer_proposal p[ROUND];
  uint32_t n, n_inexact = 0;
  must(seer_search_propose(w.search, NULL, ROUND, p, &n));
  for (uint32_t i = 0; i < n; i++) n_inexact += !is_exact(&w, &p[i].schedule);
  assert_true(n_inexact >= 4);  // two formulations, a tenth of 16 each
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_a_pool_and_nothing_else),
      cmocka_unit_test(what_is_queued_from_outside_is_rejected),
      cmocka_unit_test(formulations_keep_their_share)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
