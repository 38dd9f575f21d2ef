// A range of batches: which sizes get sets, how the others are cut up (against every way there is),
// what --input-shapes becomes, and of which networks it is known that a batch may be cut up.
#include "front/range.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "setup/shapes.h"
#include "support/test.h"

static seer_arena *arena;
static const char *path;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  const char *dir = NULL;
  must(seer_os_temp_dir("familyseer-range", arena, &dir));
  path = seer_os_path_join(arena, dir, "g.graph");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  must(seer_os_remove_tree(seer_os_path_dir(arena, path)));
  seer_arena_destroy(arena);
  return 0;
}

static void fails_with(seer_status status, const char *message) {
  assert_non_null(status);
  if (!strstr(seer_status_message(status), message))
    fail_msg("'%s', must have '%s'", seer_status_message(status), message);
  seer_status_free(status);
}

// ---- sizes and splits

// The least time of `size`, by trying every first part.
static double least(
    const int64_t *sizes, const double *seconds, uint32_t n, int64_t size, double *known) {
  if (size == 0) return 0;
  if (known[size] >= 0) return known[size];
  double best = INFINITY;
  for (uint32_t k = 0; k < n; k++) {
    double rest =
        size < sizes[k] ? INFINITY : least(sizes, seconds, n, size - sizes[k], known) + seconds[k];
    best = rest < best ? rest : best;
    if (size == sizes[k]) return known[size] = seconds[k];  // its own set runs it
  }
  return known[size] = best;
}

static void check_splits(int64_t first, int64_t last, seer_rng *rng) {
  int64_t sizes[SEER_RANGE_MAX_SETS];
  double seconds[SEER_RANGE_MAX_SETS], known[SEER_SHAPES_MAX_BATCH + 1];
  uint32_t next[SEER_SHAPES_MAX_BATCH + 1];
  uint32_t n = seer_range_sizes(first, last, sizes);
  assert_in_range(n, first < last ? 2 : 1, SEER_RANGE_MAX_SETS);
  assert_int_equal(sizes[n - 1], last);
  assert_true(sizes[0] == first || sizes[0] == 1);
  for (uint32_t k = 1; k < n; k++) assert_true(sizes[k] > sizes[k - 1]);
  for (uint32_t k = 0; k < n; k++) seconds[k] = 0.1 + seer_rng_f64(rng) * (double)sizes[k];
  for (int64_t size = 0; size <= last; size++) known[size] = -1;
  seer_range_split(sizes, seconds, n, next);
  assert_int_equal(next[0], 0);
  for (int64_t size = 1; size <= last; size++) {
    double want = least(sizes, seconds, n, size, known), got = 0;
    assert_true(size < first || isfinite(want));
    assert_int_equal(next[size] > 0, isfinite(want));
    if (next[size] == 0) continue;
    int64_t left = size;
    for (; left > 0; left -= sizes[next[left] - 1]) {
      assert_in_range(next[left], 1, n);
      assert_true(sizes[next[left] - 1] <= left);
      got += seconds[next[left] - 1];
    }
    assert_true(got <= want * (1 + 1e-12) && got >= want * (1 - 1e-12));
  }
}

static void every_size_is_cut_up_best(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (int64_t last = 1; last <= 40; last++)
    for (int64_t first = 1; first <= last; first++) check_splits(first, last, &rng);
  for (int64_t first = 1; first <= SEER_SHAPES_MAX_BATCH; first += 15)
    check_splits(first, SEER_SHAPES_MAX_BATCH, &rng);
}

static void known_sizes(void **state) {
  (void)state;
  int64_t sizes[SEER_RANGE_MAX_SETS];
  static const int64_t of_32[] = {1, 2, 4, 8, 16, 32}, of_3_to_8[] = {1, 2, 3, 4, 8};
  assert_int_equal(seer_range_sizes(1, 32, sizes), 6);
  assert_memory_equal(sizes, of_32, sizeof of_32);
  assert_int_equal(seer_range_sizes(3, 8, sizes), 5);  // 5 is no sum of 3, 4 and 8
  assert_memory_equal(sizes, of_3_to_8, sizeof of_3_to_8);
  // Runs that take as long in all: as few as can be, the largest first.
  const double seconds[] = {1, 2, 4, 8, 16, 32};
  uint32_t next[33];
  seer_range_split(of_32, seconds, 6, next);
  assert_int_equal(next[7], 3);
  assert_int_equal(next[3], 2);
  assert_int_equal(next[31], 5);
  // Sums that rounding makes differ are equals all the same.
  const double rounded[] = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2};
  seer_range_split(of_32, rounded, 6, next);
  for (uint32_t size = 1; size <= 32; size++) {
    uint32_t largest = 0;
    while (largest + 1 < 6 && of_32[largest + 1] <= size) largest++;
    assert_int_equal(next[size], largest + 1);
  }
}

// ---- what is given

static void expect_expanded(const char *given, const char *const *want, uint32_t n_want) {
  seer_range *range;
  const char *const *shapes;
  uint32_t n;
  must(seer_range_expand(&given, 1, arena, &range, &shapes, &n));
  assert_int_equal(n, n_want);
  for (uint32_t k = 0; k < n; k++) assert_string_equal(shapes[k], want[k]);
  assert_int_equal(range != NULL, n_want > 1);
}

static void ranges_become_sets(void **state) {
  (void)state;
  const char *const three[] = {"x:1x6,m:4", "x:2x6,m:4", "x:3x6,m:4"};
  expect_expanded("x:1..3x6,m:4", three, 3);
  const char *const both[] = {"a:b:1,y:1x2", "a:b:2,y:2x2"};
  expect_expanded("a:b:1..2;y:1..2x2", both, 2);
  const char *const one[] = {"x:4x6"};
  expect_expanded("x:4..4x6", one, 1);
  const char *const plain[] = {"x:4x6"};
  expect_expanded("x:4x6", plain, 1);
}

static void bad_ranges_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *given, *message;
  } bad[] = {{"x:0..3x6", "1 <= LO <= HI <= 256"}, {"x:3..2x6", "1 <= LO <= HI <= 256"},
      {"x:1..257x6", "1 <= LO <= HI <= 256"}, {"x:1..99999999999999999999x6", "no list of sizes"},
      {"x:1x2..4", "only the batch"}, {"x:1..x4", "no list of sizes"},
      {"x:..4", "no list of sizes"}, {"x:1..2..3", "no list of sizes"},
      {"x:1...3x6", "no list of sizes"},
      {"x:1..2x6,y:1..3x6", "inputs 'x' and 'y' have different ranges"}};
  seer_range *range;
  const char *const *shapes;
  uint32_t n;
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++)
    fails_with(seer_range_expand(&bad[i].given, 1, arena, &range, &shapes, &n), bad[i].message);
  const char *const two[] = {"x:1..3x6", "x:5x6"};
  fails_with(seer_range_expand(two, 2, arena, &range, &shapes, &n), "stands alone");
}

// ---- networks

static seer_status load(const char *text, const char *shapes, seer_network **out) {
  seer_context *context;
  must(seer_os_write_file(path, text, strlen(text)));
  must(seer_context_create(&context));
  must(seer_context_set(context, "verify", "2"));
  must(seer_context_set(context, "input-shapes", shapes));
  seer_status status = seer_front_load(context, path, NULL, arena, out);
  seer_context_destroy(context);
  return status;
}

static void images_apart_are_accepted(void **state) {
  (void)state;
  seer_network *network;
  // products of rows, an input that has no batch, sizes that follow from the batch, a view of rows
  must(
      load("graph \"g\" {\n  input %x f32[?,6]\n  input %m f32[6]\n"
           "  const $w f32[6,4] = splat 0.5\n  const $s i64[2] = [-1,2]\n"
           "  %a ? = Add \"a\" v13 (%x, %m)\n  %b ? = MatMul \"b\" v13 (%a, $w)\n"
           "  %c ? = Reshape \"c\" v13 (%b, $s)\n  %d ? = Softmax \"d\" v13 (%c) {axis=1}\n"
           "  output %d\n}\n",
          "x:1..5x6,m:6", &network));
  assert_non_null(network->range);
  assert_int_equal(network->range->first, 1);
  assert_int_equal(network->range->last, 5);
  assert_int_equal(network->n_set, network->range->n);
  assert_true(network->range->is_ranged[0] && !network->range->is_ranged[1]);
}

static void images_mixed_are_refused(void **state) {
  (void)state;
#define X "graph \"g\" {\n  input %x f32[?,6]\n"
#define END "  output %y\n}\n"
  static const struct {
    const char *text, *message;
  } bad[] = {
      {X "  %y ? = ReduceMean \"mean\" v13 (%x) {axes=[0]}\n" END, "mean"},
      {X "  %y ? = Softmax \"soft\" v13 (%x) {axis=0}\n" END, "soft"},
      {X "  %y ? = Transpose \"turn\" v13 (%x) {perm=[1,0]}\n" END, "y"},
      // it comes back, but what lies between has no images
      {X "  const $z i64[] = [0]\n  %a ? = Transpose \"into\" v13 (%x) {perm=[1,0]}\n  %b ? = "
         "CumSum \"along\" v14 (%a, $z)\n"
         "  %y ? = Transpose \"back\" v13 (%b) {perm=[1,0]}\n" END,
          "along"},
      {X "  const $z i64[] = [0]\n  %y ? = CumSum \"sum\" v14 (%x, $z)\n" END, "sum"},
      // the number of images, as a factor; folded to a constant
      {X "  %s ? = Shape \"shape\" v13 (%x)\n  %f ? = Cast \"cast\" v13 (%s) {to=1}\n"
         "  const $z i64[] = [0]\n  %n ? = Gather \"pick\" v13 (%f, $z)\n"
         "  %y ? = Mul \"times\" v13 (%x, %n)\n" END,
          "times"},
      // the first image for all
      {X "  const $z i64[1] = [0]\n  %o ? = Gather \"pick\" v13 (%x, $z)\n"
         "  %y ? = Add \"plus\" v13 (%x, %o)\n" END,
          "pick"},
      // images in another order
      {X "  const $b i64[1] = [-1]\n  const $e i64[1] = [-1000]\n  const $a i64[1] = [0]\n"
         "  %y ? = Slice \"back\" v13 (%x, $b, $e, $a, $b)\n" END,
          "back"},
      // a value that no image goes into, though it could be as many
      {X "  const $w f32[4] = splat 0.5\n  %y ? = Tanh \"t\" v13 ($w)\n"
         "  %z ? = Tanh \"u\" v13 (%x)\n  output %z\n" END,
          "output 'y'"},
  };
  seer_network *network;
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    seer_status status = load(bad[i].text, "x:1..4x6", &network);
    if (!status) fail_msg("accepted: %s", bad[i].text);
    fails_with(status, bad[i].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_is_cut_up_best),
      cmocka_unit_test(known_sizes),
      cmocka_unit_test(ranges_become_sets),
      cmocka_unit_test(bad_ranges_are_refused),
      cmocka_unit_test(images_apart_are_accepted),
      cmocka_unit_test(images_mixed_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
