// Guests of a search: they are ranked with everything else, a few a proposal, until they are
// measured; how they have done is counted, and counts.
#include "search/guest.h"

#include <string.h>

#include "search/search.h"
#include "support/search_scene.h"
#include "support/test.h"
#include "support/test_target.h"

enum { ROUND = 16, MOST = 64 };

typedef struct {
  search_scene scene;
  seer_search_strategy strategy;
  seer_guest_luck luck;
  seer_search *search;
} world;

static void open_world(world *w, const char *machine) {
  *w = (world){.strategy = seer_strategy_seer};
  search_scene_open(&w->scene, machine, search_scene_conv);
  w->strategy.random_share_untrained = 0;
  w->strategy.formulation_share = 0;
  w->strategy.guest_prior = 0;
}

static void open_search(world *w) {
  seer_search_options options = {.sketches = w->scene.sketches,
      .target = &w->scene.target,
      .seed = 1,
      .strategy = &w->strategy,
      .luck = &w->luck};
  must(seer_search_create(&options, &w->search));
}

static void close_world(world *w) {
  seer_search_destroy(w->search);
  search_scene_close(&w->scene);
}

// Schedules by their estimates, best first, of another search of the same task: as a relative's.
static uint32_t find_good(world *w, seer_schedule *out, uint32_t n_wanted) {
  seer_search_options options = {.sketches = w->scene.sketches,
      .target = &w->scene.target,
      .seed = 7,
      .strategy = &w->strategy};
  seer_search *other;
  seer_proposal p[MOST];
  uint32_t n;
  must(seer_search_create(&options, &other));
  must(seer_search_propose(other, NULL, n_wanted, p, &n));
  for (uint32_t i = 0; i < n; i++) out[i] = p[i].schedule;
  seer_search_destroy(other);
  return n;
}

// All of them before anything else.
static void let_guests_win(world *w) {
  w->strategy.guest_prior = 10;
  w->luck.guests = (seer_tally){1000, 900};
}

static uint32_t count_guests(const seer_proposal *p, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += p[i].origin == SEER_ORIGIN_SIBLING;
  return count;
}

static void at_most_so_many_of_a_proposal(const char *machine) {
  world w;
  open_world(&w, machine);
  let_guests_win(&w);
  open_search(&w);
  seer_schedule good[12];
  seer_proposal p[ROUND];
  uint32_t n, n_good = find_good(&w, good, 12);
  assert_int_equal(n_good, 12);
  for (uint32_t i = 0; i < n_good; i++) seer_search_invite(w.search, &good[i], SEER_ORIGIN_SIBLING);
  seer_search_invite(w.search, &good[3], SEER_ORIGIN_SIBLING);  // again
  assert_int_equal(seer_search_invited(w.search), 12);
  assert_int_equal(seer_search_queued(w.search), 0);
  for (uint32_t round = 0; round < 3; round++) {
    must(seer_search_propose(w.search, NULL, ROUND, p, &n));
    assert_int_equal(n, ROUND);
    assert_int_equal(count_guests(p, n), 4);
    for (uint32_t i = 0; i < n; i++) seer_search_report(w.search, &p[i].schedule, 1 + i, true);
    assert_int_equal(seer_search_invited(w.search), 12 - 4 * (round + 1));
  }
  must(seer_search_propose(w.search, NULL, ROUND, p, &n));
  assert_int_equal(count_guests(p, n), 0);
  seer_search_invite(w.search, &good[0], SEER_ORIGIN_SIBLING);  // it is known now
  assert_int_equal(seer_search_invited(w.search), 0);
  close_world(&w);
}

// The slowest by the estimate of what is drawn: it waits behind what is better, while the queue
// takes whatever comes.
static void they_are_ranked(const char *machine) {
  world w;
  open_world(&w, machine);
  open_search(&w);
  seer_rng rng;
  seer_rng_init(&rng, 5);
  seer_schedule bad = {0}, one, good[1];
  double most_s = 0;
  for (int i = 0; i < 200; i++) {
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, w.scene.sketches->n);
    if (seer_schedule_sample(w.scene.sketches, sketch, &rng, &one, NULL) != SEER_REJECT_NONE)
      continue;
    double estimate_s = seer_search_estimate(w.search, &one);
    if (estimate_s <= most_s) continue;
    most_s = estimate_s;
    bad = one;
  }
  assert_true(most_s > 0);
  assert_int_equal(find_good(&w, good, 1), 1);
  seer_search_invite(w.search, &bad, SEER_ORIGIN_SIBLING);
  seer_search_invite(w.search, &good[0], SEER_ORIGIN_RECORD);
  seer_proposal p[ROUND];
  uint32_t n, n_good = 0;
  must(seer_search_propose(w.search, NULL, ROUND, p, &n));
  assert_int_equal(n, ROUND);
  assert_int_equal(count_guests(p, n), 0);
  for (uint32_t i = 0; i < n; i++) {
    assert_false(seer_schedule_equal(&p[i].schedule, &bad));
    n_good += p[i].origin == SEER_ORIGIN_RECORD && seer_schedule_equal(&p[i].schedule, &good[0]);
  }
  assert_int_equal(n_good, 1);
  seer_search_queue(w.search, &bad, SEER_ORIGIN_SIBLING);
  must(seer_search_propose(w.search, NULL, 1, p, &n));
  assert_true(n == 1 && seer_schedule_equal(&p[0].schedule, &bad));
  close_world(&w);
}

// First times count for nobody; of a guest a hit is a full time that is better than the best.
static void luck_is_counted(const char *machine) {
  world w;
  open_world(&w, machine);
  let_guests_win(&w);
  open_search(&w);
  seer_schedule good[3];
  seer_proposal p[ROUND];
  uint32_t n;
  assert_int_equal(find_good(&w, good, 3), 3);
  seer_search_report(w.search, &good[2], 5, true);  // restored
  for (uint32_t i = 0; i < 3; i++) seer_search_invite(w.search, &good[i], SEER_ORIGIN_SIBLING);
  must(seer_search_propose(w.search, NULL, 4, p, &n));
  assert_int_equal(n, 4);
  assert_int_equal(count_guests(p, n), 2);
  assert_true(count_guests(p, 2) == 2);
  seer_search_report(w.search, &p[0].schedule, 4, true);
  seer_search_report(w.search, &p[1].schedule, 3, false);  // raced out, or a twin
  seer_search_report(w.search, &p[2].schedule, 3.5, true);
  seer_search_report(w.search, &p[3].schedule, 0, true);  // failed
  assert_int_equal(w.luck.guests.n, 1000 + 2);
  assert_int_equal(w.luck.guests.n_hit, 900 + 1);
  assert_int_equal(w.luck.others.n, 2);
  assert_int_equal(w.luck.others.n_hit, 1);
  const seer_search_counts *counts = seer_search_get_counts(w.search);
  assert_int_equal(counts->guests, 2);
  assert_int_equal(counts->guest_hits, 1);
  close_world(&w);
}

static void luck_is_a_ratio_of_rates(void **state) {
  (void)state;
  seer_guest_luck luck = {0};
  assert_float_equal(seer_guest_luck_log2(&luck), 0, 1e-6);
  luck.others = (seer_tally){1000, 100};
  double fresh = seer_guest_luck_log2(&luck), before = fresh;
  for (int i = 0; i < 20; i++) {  // each miss costs something
    luck.guests.n++;
    double now = seer_guest_luck_log2(&luck);
    assert_true(now < before);
    before = now;
  }
  assert_true(before < 0);
  luck.guests = (seer_tally){1000, 200};
  assert_float_equal(seer_guest_luck_log2(&luck), 1, 0.05);
  luck.guests = (seer_tally){1000, 0};
  assert_float_equal(seer_guest_luck_log2(&luck), -2, 1e-6);
  luck.guests = (seer_tally){1000, 1000};
  assert_float_equal(seer_guest_luck_log2(&luck), 2, 1e-6);
}

static void the_longest_waiting_leaves(void **state) {
  (void)state;
  seer_guests guests = {0};
  seer_schedule one[SEER_GUESTS + 2];
  memset(one, 0, sizeof one);
  for (uint32_t i = 0; i < SEER_GUESTS + 2; i++) {
    one[i].sketch = (uint16_t)i;
    seer_guests_add(&guests, &one[i], SEER_ORIGIN_SIBLING);
  }
  assert_int_equal(guests.n, SEER_GUESTS);
  assert_null(seer_guests_find(&guests, seer_schedule_hash(&one[1])));
  assert_non_null(seer_guests_find(&guests, seer_schedule_hash(&one[2])));
  assert_true(seer_guests_remove(&guests, seer_schedule_hash(&one[5])));
  assert_false(seer_guests_remove(&guests, seer_schedule_hash(&one[5])));
  assert_int_equal(guests.n, SEER_GUESTS - 1);
}

#define ON_EACH(test)                                                       \
  static void test_##test(void **state) {                                   \
    (void)state;                                                            \
    for (uint32_t m = 0; m < TEST_TARGETS; m++) test(test_target_names[m]); \
  }
ON_EACH(at_most_so_many_of_a_proposal)
ON_EACH(they_are_ranked)
ON_EACH(luck_is_counted)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_at_most_so_many_of_a_proposal),
      cmocka_unit_test(test_they_are_ranked), cmocka_unit_test(test_luck_is_counted),
      cmocka_unit_test(luck_is_a_ratio_of_rates), cmocka_unit_test(the_longest_waiting_leaves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
