// One task's search: a lucky best is found out, every formulation gets its share of the first
// trials, the user's limit on packed weights holds, look-alikes of what is known wait.
// SEER_TEST: cost=20
#include <string.h>

#include "base/table.h"
#include "code/tile/tile.h"
#include "search/search.h"
#include "space/lower.h"
#include "support/search_scene.h"
#include "support/test.h"
#include "support/test_target.h"

static const char depthwise_text[] =
    "dag depthwise {\n"
    "  input $x f32[1, 14, 14, 64]\n"
    "  weight $w f32[3, 3, 64]\n"
    "  stage pad role pad [n:batch<1, y:y<16, x:x<16, c:in_channel<64] = "
    "$x[n, y - 1, x - 1, c] if (y >= 1) & (y < 15) & ((x >= 1) & (x < 15)) else 0.0\n"
    "  stage conv role anchor [n:batch<1, y:y<14, x:x<14, c:in_channel<64] "
    "sum[ky:ky<3, kx:kx<3] = $pad[n, y + ky, x + kx, c] * $w[ky, kx, c]\n"
    "  output $conv\n}\n";
// Of search_scene_conv.
#define WEIGHT_BYTES (32 * 3 * 3 * 32 * 4)

typedef struct {
  search_scene scene;
  seer_search *search;
} world;

static void open_world_of(world *w, const char *machine, const char *text,
    uint64_t max_packed_bytes, const seer_search_strategy *strategy) {
  search_scene_open(&w->scene, machine, text);
  seer_search_options options = {.sketches = w->scene.sketches,
      .target = &w->scene.target,
      .seed = 1,
      .strategy = strategy,
      .max_packed_bytes = max_packed_bytes};
  must(seer_search_create(&options, &w->search));
}

static void open_world(world *w, const char *machine, const char *text, uint64_t max_packed_bytes) {
  open_world_of(w, machine, text, max_packed_bytes, &seer_strategy_seer);
}

static void close_world(world *w) {
  seer_search_destroy(w->search);
  search_scene_close(&w->scene);
}

static void a_lucky_best_is_found_out(const char *machine) {
  world w;
  open_world(&w, machine, search_scene_conv, 0);
  seer_proposal p[3];
  uint32_t n;
  must(seer_search_propose(w.search, NULL, 3, p, &n));
  assert_int_equal(n, 3);
  seer_search_report(w.search, &p[0].schedule, 1.0, true);
  seer_search_report(w.search, &p[1].schedule, 0.8, true);  // 1.1 in truth
  seer_search_report(w.search, &p[2].schedule, 0.1, false);  // raced out or a twin: never the best
  seer_schedule best;
  assert_true(seer_search_best(w.search, &best) == 0.8);
  assert_true(seer_schedule_equal(&best, &p[1].schedule));
  seer_search_witness(w.search, &p[1].schedule, 1.1);
  seer_search_witness(w.search, &p[1].schedule, 1.12);
  assert_true(seer_search_best(w.search, &best) == 1.0);
  assert_true(seer_schedule_equal(&best, &p[0].schedule));
  assert_true(seer_search_seconds(w.search, &p[1].schedule) == 1.1);  // the median
  assert_true(seer_search_seconds(w.search, &p[2].schedule) == 0);
  // Unlucky once and vindicated: it comes back.
  for (int i = 0; i < 4; i++) seer_search_witness(w.search, &p[1].schedule, 0.9);
  assert_true(seer_search_best(w.search, &best) == 0.9);
  close_world(&w);
}

// Of what is suggested the good ones are proposed, by their estimates as if they had been drawn;
// what is known is not taken.
static void suggestions_are_drafts(const char *machine) {
  enum { ROUND = 16 };
  seer_search_strategy strategy = seer_strategy_seer;
  strategy.random_share_untrained = strategy.formulation_share = strategy.alike_cost = 0;
  world w, other;
  open_world_of(&w, machine, search_scene_conv, 0, &strategy);
  open_world_of(&other, machine, search_scene_conv, 0, &strategy);
  seer_proposal without[ROUND], good[ROUND], with[ROUND];
  uint32_t n, n_good, n_taken = 0, n_better = 0;
  strategy.n_drawn_untrained = 32;  // few: what others found is better than most of it
  must(seer_search_propose(w.search, NULL, ROUND, without, &n));
  strategy.n_drawn_untrained = 320;
  must(seer_search_propose(other.search, NULL, ROUND, good, &n_good));
  assert_int_equal(n, ROUND);
  assert_int_equal(n_good, ROUND);
  for (uint32_t i = 0; i < n; i++) seer_search_report(w.search, &without[i].schedule, 1, true);
  assert_false(seer_search_suggest(w.search, &without[0].schedule));
  for (uint32_t i = 0; i < n_good; i++)
    if (seer_search_suggest(w.search, &good[i].schedule)) good[n_taken++] = good[i];
  strategy.n_drawn_untrained = 32;
  must(seer_search_propose(w.search, NULL, ROUND, with, &n));
  for (uint32_t i = 0; i < n_taken; i++) {
    bool is_in = false;
    for (uint32_t k = 0; k < n; k++)
      is_in = is_in || seer_schedule_equal(&with[k].schedule, &good[i].schedule);
    if (good[i].estimate_s < with[n - 1].estimate_s) assert_true(is_in);
    n_better += is_in;
  }
  assert_true(n_better > 0);
  close_world(&other);
  close_world(&w);
}

// Direct convolution is reported fast and all others slow: without a quota nobody would ask for
// them again.
static void every_formulation_gets_a_tenth(const char *machine) {
  world w;
  open_world(&w, machine, search_scene_conv, 0);
  enum { ROUNDS = 4, ROUND = 16 };
  const char *names[8];
  uint32_t counts[8] = {0}, n_name = 0, total = 0;
  for (int round = 0; round < ROUNDS; round++) {
    seer_proposal p[ROUND];
    uint32_t n;
    must(seer_search_propose(w.search, NULL, ROUND, p, &n));
    for (uint32_t i = 0; i < n; i++) {
      const char *name = w.scene.sketches->sketch[p[i].schedule.sketch]->formulation;
      uint32_t k = 0;
      while (k < n_name && strcmp(names[k], name) != 0) k++;
      if (k == n_name) names[n_name++] = name;
      counts[k]++;
      total++;
      seer_search_report(w.search, &p[i].schedule, strcmp(name, "direct") == 0 ? 1e-3 : 1e-1, true);
    }
  }
  assert_int_equal(n_name, 3);  // direct, winograd2, winograd4
  for (uint32_t k = 0; k < n_name; k++) {
    if (counts[k] * 10 < total) fail_msg("%s got %u of %u", names[k], counts[k], total);
  }
  close_world(&w);
}

enum { PICKS = 8 };

static bool is_among(const seer_schedule *all, uint32_t n, const seer_schedule *one) {
  for (uint32_t i = 0; i < n; i++)
    if (seer_schedule_equal(&all[i], one)) return true;
  return false;
}

// How many of 8 proposals of 32 come to the same code as an earlier one.
static uint32_t count_same_code(const char *machine, const seer_search_strategy *strategy) {
  world w;
  open_world_of(&w, machine, search_scene_conv, 0, strategy);
  enum { ROUND = 32 };
  uint32_t n_same = 0;
  seer_table codes = {0};
  for (int round = 0; round < 8; round++) {
    seer_proposal p[ROUND];
    uint32_t n;
    must(seer_search_propose(w.search, NULL, ROUND, p, &n));
    for (uint32_t i = 0; i < n; i++) {
      seer_loop *loop;
      must(seer_loop_lower(w.scene.sketches, &p[i].schedule, w.scene.arena, &loop));
      seer_tile_machine tile = seer_tile_machine_of(&w.scene.target);
      uint64_t code = seer_tile_hash(seer_tile_create(loop, &tile, w.scene.arena), w.scene.arena);
      n_same += !seer_table_add(&codes, code);
      seer_search_report(w.search, &p[i].schedule, 1 + 1e-3 * i, true);
    }
  }
  uint64_t n_known = seer_search_get_counts(w.search)->rejected[SEER_REJECT_SAME_CODE];
  assert_true((n_known > 0) == strategy->skips_equal_code);
  seer_table_destroy(&codes);
  close_world(&w);
  return n_same;
}

static void nothing_is_built_twice(const char *machine) {
  seer_search_strategy builds_all = seer_strategy_seer;
  builds_all.skips_equal_code = false;
  assert_true(count_same_code(machine, &builds_all) > 0);
  assert_int_equal(count_same_code(machine, &seer_strategy_seer), 0);
}

// A best whose time is believed: three proposals, the first of which is the fastest.
static seer_schedule believed(world *w, const char *machine, const seer_search_strategy *strategy) {
  open_world_of(w, machine, search_scene_conv, 0, strategy);
  seer_proposal p[3];
  uint32_t n;
  must(seer_search_propose(w->search, NULL, 3, p, &n));
  for (uint32_t i = 0; i < 3; i++)
    seer_search_report(w->search, &p[i].schedule, i == 0 ? 1.0 : 1.5, true);
  for (int i = 0; i < 2; i++) {
    assert_false(seer_search_is_local_optimum(w->search));
    seer_search_witness(w->search, &p[0].schedule, 1.0);
  }
  return p[0].schedule;
}

// Half of each proposal are neighbours of the best, until all have been tried: then it is a local
// optimum. One that turns out better has its turn once its time is believed.
static void neighbours_are_tried(const char *machine) {
  world w;
  seer_schedule best = believed(&w, machine, &seer_strategy_seer), *near, better;
  uint32_t n_near = seer_schedule_neighbours(w.scene.sketches, &best, w.scene.arena, &near);
  assert_true(n_near > PICKS);
  for (uint32_t n_tried = 0, n_now = PICKS / 2; n_now == PICKS / 2; n_tried += n_now) {
    seer_proposal p[PICKS];
    uint32_t n;
    must(seer_search_propose(w.search, NULL, PICKS, p, &n));
    assert_int_equal(n, PICKS);
    n_now = 0;
    for (uint32_t i = 0; i < n; i++) {
      bool is_near = p[i].origin == SEER_ORIGIN_NEIGHBOUR;
      assert_true(!is_near || is_among(near, n_near, &p[i].schedule));
      if (is_near) better = p[i].schedule;
      n_now += is_near;
      if (is_near) assert_false(seer_search_is_local_optimum(w.search));
      seer_search_report(w.search, &p[i].schedule, is_near ? 1.9 : 2.0, true);
    }
    assert_true(n_now <= PICKS / 2 && n_tried + n_now <= n_near);
  }
  seer_proposal p[PICKS];
  uint32_t n, n_of_better = 0, n_around;
  must(seer_search_propose(w.search, NULL, PICKS, p, &n));
  for (uint32_t i = 0; i < n; i++) assert_int_not_equal(p[i].origin, SEER_ORIGIN_NEIGHBOUR);
  assert_true(seer_search_is_local_optimum(w.search));
  for (int i = 0; i < 6; i++) seer_search_witness(w.search, &better, 0.5);
  assert_false(seer_search_is_local_optimum(w.search));
  n_around = seer_schedule_neighbours(w.scene.sketches, &better, w.scene.arena, &near);
  must(seer_search_propose(w.search, NULL, PICKS, p, &n));
  for (uint32_t i = 0; i < n; i++) {
    if (p[i].origin != SEER_ORIGIN_NEIGHBOUR) continue;
    n_of_better++;
    assert_true(is_among(near, n_around, &p[i].schedule));
  }
  assert_int_equal(n_of_better, PICKS / 2);
  close_world(&w);
}

static void neighbours_can_be_left_out(const char *machine) {
  world w;
  (void)believed(&w, machine, &seer_strategy_control);
  for (int round = 0; round < 4; round++) {
    seer_proposal p[PICKS];
    uint32_t n;
    must(seer_search_propose(w.search, NULL, PICKS, p, &n));
    for (uint32_t i = 0; i < n; i++) {
      assert_int_not_equal(p[i].origin, SEER_ORIGIN_NEIGHBOUR);
      seer_search_report(w.search, &p[i].schedule, 2.0, true);
    }
  }
  assert_false(seer_search_is_local_optimum(w.search));
  close_world(&w);
}

static void packed_weights_stay_within_the_limit(const char *machine) {
  // F(4x4,3x3) has 36 numbers for 9: four times the weights.
  for (int is_limited = 0; is_limited < 2; is_limited++) {
    world w;
    open_world(&w, machine, search_scene_conv, is_limited ? 2 * WEIGHT_BYTES : 0);
    uint32_t n_large = 0;
    for (int round = 0; round < 3; round++) {
      seer_proposal p[16];
      uint32_t n;
      must(seer_search_propose(w.search, NULL, 16, p, &n));
      for (uint32_t i = 0; i < n; i++)
        n_large += seer_search_packed_bytes(w.search, &p[i].schedule) > 2 * WEIGHT_BYTES;
    }
    if (is_limited)
      assert_int_equal(n_large, 0);
    else
      assert_true(n_large > 0);
    close_world(&w);
  }
}

static void learn(world *w, const seer_schedule *schedule) {
  seer_sample sample =
      seer_search_sample(w->search, seer_bank_features(w->scene.bank), schedule, 0, w->scene.arena);
  sample.seconds = 2 * sample.estimate_s;
  seer_search_report(w->search, schedule, sample.seconds, true);
  must(seer_bank_add(w->scene.bank, &sample, 1));
}

// A window of 3x3 has few kinds of code and many schedules: the loops of its reductions in any
// order. Whoever takes the top of the ranking as it is measures the same code again and again.
static void look_alikes_wait(const char *machine) {
  world w;
  open_world(&w, machine, depthwise_text, 0);
  enum { ROUNDS = 6, ROUND = 16 };
  double seen[ROUNDS * ROUND];
  uint32_t n_seen = 0, n_model = 0, n_new = 0;
  for (int round = 0; round < ROUNDS; round++) {
    seer_proposal p[ROUND];
    uint32_t n;
    must(seer_search_propose(w.search, w.scene.bank, ROUND, p, &n));
    for (uint32_t i = 0; i < n; i++) {
      bool is_new = true;
      for (uint32_t k = 0; k < n_seen; k++) is_new = is_new && seen[k] != p[i].estimate_s;
      bool is_by_model = p[i].origin == SEER_ORIGIN_MODEL;
      n_model += is_by_model;
      n_new += is_by_model && is_new;
      seen[n_seen++] = p[i].estimate_s;
      learn(&w, &p[i].schedule);
    }
    must(seer_bank_train(w.scene.bank, 0));
  }
  assert_true(n_model >= 4 * ROUND / 2);
  if (n_new * 4 < n_model * 3) fail_msg("of %u by the model %u are new", n_model, n_new);
  close_world(&w);
}

// What a search asks for it asks for on every machine.
#define ON_EACH(test)                                                       \
  static void test_##test(void **state) {                                   \
    (void)state;                                                            \
    for (uint32_t m = 0; m < TEST_TARGETS; m++) test(test_target_names[m]); \
  }
ON_EACH(a_lucky_best_is_found_out)
ON_EACH(suggestions_are_drafts)
ON_EACH(every_formulation_gets_a_tenth)
ON_EACH(packed_weights_stay_within_the_limit)
ON_EACH(look_alikes_wait)
ON_EACH(nothing_is_built_twice)
ON_EACH(neighbours_are_tried)
ON_EACH(neighbours_can_be_left_out)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lucky_best_is_found_out),
      cmocka_unit_test(test_suggestions_are_drafts),
      cmocka_unit_test(test_every_formulation_gets_a_tenth),
      cmocka_unit_test(test_packed_weights_stay_within_the_limit),
      cmocka_unit_test(test_look_alikes_wait), cmocka_unit_test(test_nothing_is_built_twice),
      cmocka_unit_test(test_neighbours_are_tried),
      cmocka_unit_test(test_neighbours_can_be_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
