// test_ansor.c - the space ansor as Ansor published it: factorisations are counted and drawn
// uniformly; what is sampled is exact and never refused for its registers; locations, parallel
// loops and unroll limits as its rules have them; mutations of each kind in their shares.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "space/schedule/factorise.h"
#include "space_nets.h"
#include "support/random_dag.h"
#include "support/test.h"

#define N_CELL 4096

// ---- factorisations

// Counted by trying: ordered lengths whose product divides `left`.
static uint64_t count_ways(int64_t left, uint32_t n_length) {
  uint64_t n = 0;
  if (n_length == 0) return 1;
  for (int64_t f = 1; f <= left && f <= SEER_MAX_FACTOR; f++) {
    if (left % f == 0) n += count_ways(left / f, n_length - 1);
  }
  return n;
}

static void test_factorisations_are_counted(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  // The innermost length is limited, so it is tried apart. 4099 is a prime beyond every length.
  static const int64_t extents[] = {1, 2, 7, 12, 56, 60, 64, 97, 128, 720, 1024, 3072, 4099, 8192};
  for (size_t e = 0; e < SEER_COUNT_OF(extents); e++) {
    for (uint32_t n_length = 1; n_length <= SEER_FACTORISE_MAX_LENGTHS; n_length++) {
      uint64_t expected = 0;
      for (int64_t f = 1; f <= 64; f++)
        if (extents[e] % f == 0) expected += count_ways(extents[e] / f, n_length - 1);
      const seer_factorisations *ways = seer_factorisations_build(extents[e], n_length, arena);
      assert_int_equal(ways->n_way, expected);
    }
  }
  assert_int_equal(seer_factorisations_build(12, 3, arena)->n_way, 40);
  seer_arena_destroy(arena);
}

// Chi-square against a uniform choice, at its quantile of 0.999 (Wilson and Hilferty).
static void check_uniform(int64_t extent, uint32_t n_length) {
  seer_arena *arena = seer_arena_create("test");
  const seer_factorisations *ways = seer_factorisations_build(extent, n_length, arena);
  static uint32_t key[N_CELL], count[N_CELL];
  uint32_t n_cell = 0, n = 1000 * (uint32_t)ways->n_way;
  seer_rng rng;
  seer_rng_init(&rng, 11);
  for (uint32_t i = 0; i < n; i++) {
    uint16_t length[SEER_FACTORISE_MAX_LENGTHS];
    seer_factorisations_draw(ways, &rng, length);
    int64_t product = 1;
    uint32_t k = 0, own = 0;
    for (uint32_t l = 0; l < n_length; l++) {
      product *= length[l];
      own = own * 256 + length[l];
    }
    assert_int_equal(extent % product, 0);
    assert_in_range(length[n_length - 1], 1, 64);
    while (k < n_cell && key[k] != own) k++;
    if (k == n_cell) {
      assert_true(n_cell < N_CELL);
      key[n_cell] = own;
      count[n_cell++] = 0;
    }
    count[k]++;
  }
  assert_int_equal(n_cell, ways->n_way);  // each of them comes
  double chi_square = 0;
  for (uint32_t k = 0; k < n_cell; k++) {
    double off = (double)count[k] - 1000;
    chi_square += off * off / 1000;
  }
  double degrees = n_cell - 1, part = 2 / (9 * degrees);
  double most = degrees * pow(1 - part + 3.09 * sqrt(part), 3);
  if (chi_square > most)
    fail_msg("%d: chi-square %g over %u cells", (int)extent, chi_square, n_cell);
  seer_arena_destroy(arena);
}

static void test_factorisations_are_uniform(void **state) {
  (void)state;
  check_uniform(12, 3);  // into four lengths, the outermost implied: 40 ways
  check_uniform(192, 2);  // some of them beyond the limit of the innermost length
  check_uniform(30, 1);
}

// ---- samples

typedef void (*on_sample)(const seer_sketch_list *list, const seer_schedule *schedule,
    const seer_frame *frame, seer_rng *rng);
static uint32_t n_sampled, n_spilling, n_refused[SEER_REJECT_COUNT];

static void sample_list(seer_sketch_list *list, uint64_t seed, uint32_t n, on_sample check) {
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t k = 0; k < list->n; k++) {
    for (uint32_t i = 0; i < n; i++) {
      seer_schedule s, normal;
      static seer_frame frame;
      seer_reject why = seer_schedule_sample(list, k, &rng, &s, &frame);
      n_refused[why]++;
      if (why != SEER_REJECT_NONE) continue;
      n_sampled++;
      normal = s;
      seer_schedule_normalise(list, &normal);
      assert_memory_equal(&normal, &s, sizeof s);
      assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);
      check(list, &s, &frame, &rng);
    }
  }
}

static void sample_all(on_sample check) {
  seer_target target = space_target(2);
  n_sampled = n_spilling = 0;
  memset(n_refused, 0, sizeof n_refused);
  for (size_t i = 0; i < space_nets_count + 100; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag =
        i < space_nets_count ? space_parse(arena, space_nets[i].text) : random_dag_of(i, arena);
    sample_list(space_sketches(arena, dag, &target, SEER_SPACE_ANSOR), i, 8, check);
    seer_arena_destroy(arena);
  }
}

static int64_t axis_steps(const seer_sketch *sketch, uint32_t stage, uint32_t axis) {
  return seer_ceil_div(
      sketch->dag->stage[stage].axis[axis].extent, sketch->stage[stage].step[axis]);
}

// Where a stage is computed at a loop its factors are cut to the region there.
static bool is_whole(const seer_frame *frame, uint32_t stage) {
  return frame->stage[stage].place == SEER_PLACE_ROOT ||
      (frame->sketch->stage[stage].role == SEER_ROLE_TILED &&
          frame->stage[stage].place == SEER_PLACE_AT);
}

static void check_splits(const seer_sketch_list *list, const seer_schedule *schedule,
    const seer_frame *frame, seer_rng *rng) {
  (void)rng;
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++) {
    if (!is_whole(frame, s)) continue;
    for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
      int64_t product = 1, innermost = 1;
      for (uint32_t level = 0; level < 4; level++) {
        uint16_t knob = sketch->stage[s].factor[a][level];
        if (!sketch->stage[s].ways[a] || knob == SEER_NO_KNOB) continue;
        product *= innermost = schedule->knob[knob];
      }
      if (sketch->stage[s].ways[a]) assert_int_equal(axis_steps(sketch, s, a) % product, 0);
      assert_in_range(innermost, 1, 64);
    }
    seer_frame_tile tile = seer_frame_register_tile(frame, s);
    n_spilling += tile.rows * tile.vectors >= list->target->n_vector_registers;
  }
}

static void test_samples_are_exact_and_may_spill(void **state) {
  (void)state;
  sample_all(check_splits);
  assert_true(n_sampled > 3000);
  assert_true(n_spilling > n_sampled / 50);
  for (uint32_t why = 0; why < SEER_REJECT_COUNT; why++) {
    bool is_limit = why == SEER_REJECT_LOCAL_BYTES || why == SEER_REJECT_TOO_MANY_PARTS;
    if (why != SEER_REJECT_NONE && !is_limit && n_refused[why] > 0)
      fail_msg("%u are refused for %s", n_refused[why], seer_reject_name((seer_reject)why));
  }
}

// As many loops as it takes for more than 16 parts a thread, or as many as there can be.
static void check_parallel(const seer_sketch_list *list, const seer_schedule *schedule,
    const seer_frame *frame, seer_rng *rng) {
  (void)rng;
  seer_schedule most = *schedule;
  static seer_frame wide;
  for (uint32_t k = 0; k < most.n; k++) {
    const seer_knob *knob = &frame->sketch->knob[k];
    if (knob->kind == SEER_KNOB_PARALLEL) most.knob[k] = (uint16_t)(knob->n_values - 1);
  }
  seer_frame_make(list, &most, &wide);
  for (uint32_t r = 0; r < frame->n_root; r++) {
    const seer_frame_stage *s = &frame->stage[frame->root[r]];
    int64_t all = seer_frame_parts(frame, frame->root[r]), but_one = all;
    if (s->n_parallel > 0) but_one /= s->loop[s->n_parallel - 1].extent;
    bool is_enough = all > 16 * (int64_t)list->target->threads;
    assert_true(is_enough || s->n_parallel == wide.stage[frame->root[r]].n_parallel);
    assert_true(but_one <= 16 * (int64_t)list->target->threads);
  }
}

static void test_parallel_follows(void **state) {
  (void)state;
  sample_all(check_parallel);
  assert_true(n_sampled > 3000);
}

static uint32_t find_knob(const seer_sketch *sketch, const char *name) {
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if (strcmp(sketch->knob[k].name, name) == 0) return k;
  }
  fail_msg("no knob %s", name);
  return 0;
}

static seer_sketch_list *open_conv(seer_arena *arena, seer_target *target) {
  *target = space_target(2);
  seer_dag *dag = space_parse(arena, space_net_text("conv"));
  return space_sketches(arena, dag, target, SEER_SPACE_ANSOR);
}

// Two of (loops + 2) choices leave padding at the root, none inlines it; every loop is drawn, and
// all unroll limits alike.
static void test_locations_and_limits(void **state) {
  (void)state;
  enum { N = 20000 };
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  seer_sketch_list *list = open_conv(arena, &target);
  uint32_t at = find_knob(list->sketch[0], "pad.at"),
           unroll = find_knob(list->sketch[0], "conv.unroll"), n_limit[4] = {0}, n_root = 0,
           n_inline = 0;
  const seer_location *location = list->sketch[0]->stage[list->sketch[0]->knob[at].stage].location;
  double expected_root = 0;
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (uint32_t i = 0; i < N; i++) {
    seer_schedule s;
    static seer_frame frame;
    assert_int_equal(seer_schedule_sample(list, 0, &rng, &s, &frame), SEER_REJECT_NONE);
    n_limit[s.knob[unroll]]++;
    n_root += location[s.knob[at]].is_root;
    n_inline += location[s.knob[at]].is_inline;
    uint32_t n_loop = 0;
    for (uint16_t k = 0; k < list->sketch[0]->knob[at].n_values; k++) {
      const seer_location *l = &location[k];
      n_loop += !l->is_root && !l->is_inline && frame.stage[l->at].loop[l->depth - 1].extent > 1;
    }
    expected_root += 2.0 / (n_loop + 2);
  }
  assert_int_equal(n_inline, 0);
  // Within four deviations: of the root, and of a quarter.
  assert_true(n_root > expected_root - 4 * 65 && n_root < expected_root + 4 * 65);
  for (uint32_t k = 0; k < 4; k++) assert_in_range(n_limit[k], 4760, 5240);
  seer_arena_destroy(arena);
}

// ---- mutations

typedef enum { NOTHING, TILE_SIZE, LOCATION, UNROLL, PARALLEL, KINDS } kind;

static kind find_kind(
    const seer_sketch *sketch, const seer_schedule *parent, const seer_schedule *child) {
  bool differs[SEER_KNOB_KIND_COUNT] = {false};
  for (uint32_t k = 0; k < parent->n; k++)
    differs[sketch->knob[k].kind] |= parent->knob[k] != child->knob[k];
  // Another place has other regions, to which factors are cut; other lengths may leave one loop
  // less that is parallel.
  if (differs[SEER_KNOB_LOCATION]) return LOCATION;
  if (differs[SEER_KNOB_UNROLL]) return UNROLL;
  if (differs[SEER_KNOB_FACTOR]) return TILE_SIZE;
  return differs[SEER_KNOB_PARALLEL] ? PARALLEL : NOTHING;
}

// Of a tiled stage's axis: one length gives to another what divides it.
static void check_tile_size(
    const seer_sketch *sketch, const seer_schedule *parent, const seer_schedule *child) {
  uint32_t n_axis = 0;
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++) {
    if (sketch->stage[s].role != SEER_ROLE_TILED) continue;
    for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
      if (!sketch->stage[s].ways[a]) continue;
      int64_t before[5], after[5], was = axis_steps(sketch, s, a), is = was;
      uint32_t n = 1, n_less = 0, n_more = 0;
      for (uint32_t level = 0; level < 4; level++) {
        uint16_t knob = sketch->stage[s].factor[a][level];
        if (knob == SEER_NO_KNOB) continue;
        was /= before[n] = parent->knob[knob];
        is /= after[n++] = child->knob[knob];
      }
      before[0] = was;
      after[0] = is;
      for (uint32_t k = 0; k < n; k++) {
        n_less += after[k] < before[k] && before[k] % after[k] == 0;
        n_more += after[k] > before[k] && after[k] % before[k] == 0;
        if (after[k] == before[k]) continue;
        assert_true(before[k] % after[k] == 0 || after[k] % before[k] == 0);
      }
      assert_true(n_less == n_more && n_less <= 1);
      n_axis += n_less;
    }
  }
  assert_true(n_axis <= 1);
}

static void test_mutations_have_their_shares(void **state) {
  (void)state;
  enum { N = 40000 };
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  seer_sketch_list *list = open_conv(arena, &target);
  const seer_sketch *sketch = list->sketch[0];
  uint32_t at = find_knob(sketch, "pad.at"), parallel = find_knob(sketch, "conv.parallel");
  const seer_location *location = sketch->stage[sketch->knob[at].stage].location;
  uint32_t n[KINDS] = {0}, n_none = 0, n_parent = 0;
  seer_rng rng;
  seer_rng_init(&rng, 9);
  while (n_parent < N) {
    seer_schedule parent, child;
    if (seer_schedule_sample(list, 0, &rng, &parent, NULL) != SEER_REJECT_NONE) continue;
    // one that each rule applies to
    if (location[parent.knob[at]].is_root || parent.knob[parallel] < 3) continue;
    n_parent++;
    seer_reject why = seer_schedule_mutate(list, &rng, &parent, &child, NULL);
    n_none += why != SEER_REJECT_NONE;
    if (why != SEER_REJECT_NONE) continue;
    assert_int_equal(child.sketch, parent.sketch);  // never another sketch
    kind found = find_kind(sketch, &parent, &child);
    n[found]++;
    if (found == TILE_SIZE) check_tile_size(sketch, &parent, &child);
  }
  // Nothing changes where a limit or a place is drawn as it was, or a factor is cut to a region.
  assert_in_range(n[TILE_SIZE], 0.72 * N, 0.91 * N);
  assert_in_range(n[LOCATION], 0.035 * N, 0.053 * N);
  assert_in_range(n[UNROLL], 0.027 * N, 0.033 * N);  // three quarters of 4 %
  assert_in_range(n[PARALLEL], 0.003 * N, 0.013 * N);
  assert_true(n_none < N / 20);
  print_message("of %d: tile size %u, location %u, unroll %u, parallel %u, nothing %u, none %u\n",
      N, n[TILE_SIZE], n[LOCATION], n[UNROLL], n[PARALLEL], n[NOTHING], n_none);
  seer_arena_destroy(arena);
}

// ---- text

static seer_status parse_limit(const seer_sketch_list *list, uint32_t limit, seer_schedule *out) {
  char text[256];
  snprintf(text, sizeof text, "sched \"%s\" { unroll conv %u }", list->sketch[0]->signature, limit);
  return seer_schedule_parse(list, "text", text, strlen(text), out);
}

static void test_limits_in_text(void **state) {
  (void)state;
  static const uint32_t of_space[SEER_SPACE_COUNT][4] = {{1, 4, 16, 64}, {0, 16, 64, 512}};
  for (seer_space_kind space = SEER_SPACE_FULL; space < SEER_SPACE_COUNT; space++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target = space_target(2);
    seer_dag *dag = space_parse(arena, space_net_text("conv"));
    seer_sketch_list *list = space_sketches(arena, dag, &target, space);
    uint32_t unroll = find_knob(list->sketch[0], "conv.unroll");
    for (uint32_t k = 0; k < 4; k++) {
      seer_schedule s, again;
      seer_frame frame;
      must(parse_limit(list, of_space[space][k], &s));
      assert_int_equal(s.knob[unroll], k);
      seer_frame_make(list, &s, &frame);
      assert_int_equal(frame.stage[1].max_unroll, of_space[space][k]);
      const char *text = seer_schedule_print(list, &s, arena);
      must(seer_schedule_parse(list, "printed", text, strlen(text), &again));
      assert_true(seer_schedule_equal(&s, &again));
    }
    seer_schedule s;
    seer_status status = parse_limit(list, space == SEER_SPACE_FULL ? 512 : 4, &s);
    assert_non_null(status);
    const char *allowed = space == SEER_SPACE_FULL ? "1, 4, 16, 64" : "0, 16, 64, 512";
    assert_non_null(strstr(seer_status_message(status), allowed));
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factorisations_are_counted),
      cmocka_unit_test(test_factorisations_are_uniform),
      cmocka_unit_test(test_samples_are_exact_and_may_spill),
      cmocka_unit_test(test_parallel_follows),
      cmocka_unit_test(test_locations_and_limits),
      cmocka_unit_test(test_mutations_have_their_shares),
      cmocka_unit_test(test_limits_in_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
