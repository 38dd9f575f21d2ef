// A library for any batch of a range: the plans of a few sizes, by hand, and how the others are
// run; what fits no range is refused, whatever is damaged.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "runtime/exec.h"
#include "support/test.h"

// Of batches of 2, 3 and 5, taken from 3 to 9: y[b][i] = x[b][i] * w[i] + the plan's size, over two
// rows of an image; w is an input that all images have in common.
enum { N_SET = 3, FIRST = 3, LAST = 9, ROWS = 2, ROW = 4, IMAGE = ROWS * ROW };
static const uint32_t sizes[N_SET] = {2, 3, 5};
static const uint32_t ways[LAST + 1] = {0, 0, 1, 2, 1, 3, 2, 3, 3, 1};  // 9 = 2 + 7 = 2 + 5 + 2

typedef struct {
  seer_plan_header header;
  seer_plan_step step;
  seer_plan_arg arg[3];
  seer_plan_io io[3];
  seer_plan_phase phase;
  seer_plan_range range;
  uint32_t size[N_SET], next[LAST + 1];
  uint8_t ranged[4];
  char strings[16];
  char json[4];
} plan;

#define STRIDE ((sizeof(plan) + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN)
static _Alignas(SEER_PLAN_ALIGN) uint8_t library[N_SET * STRIDE];
static const uint64_t n_library = (N_SET - 1) * STRIDE + sizeof(plan);
static struct {
  seer_weights_header header;
  char pad[SEER_PLAN_ALIGN - sizeof(seer_weights_header)];
} weights;

static plan *plan_of(int s) { return (plan *)(void *)(library + (size_t)s * STRIDE); }

static void compute(void *const *buffers, uint32_t size) {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  for (uint32_t i = 0; i < size * IMAGE; i++) y[i] = x[i] * w[i % ROW] + (float)size;
}
static void of_2(void *const *buffers, uint32_t part) { (void)part, compute(buffers, 2); }
static void of_3(void *const *buffers, uint32_t part) { (void)part, compute(buffers, 3); }
static void of_5(void *const *buffers, uint32_t part) { (void)part, compute(buffers, 5); }
static const seer_phase_function kernels[N_SET] = {of_2, of_3, of_5};

static void make_plan(plan *p, uint32_t size) {
  seer_plan_header *h = &p->header;
  const uint64_t bytes = (uint64_t)size * IMAGE * sizeof(float), shared = ROW * sizeof(float);
  *h = (seer_plan_header){.magic = SEER_PLAN_MAGIC,
      .version = SEER_PLAN_VERSION,
      .n_bytes = sizeof *p,
      .n_step = 1,
      .step_offset = offsetof(plan, step),
      .n_arg = 3,
      .arg_offset = offsetof(plan, arg),
      .n_input = 2,
      .n_output = 1,
      .io_offset = offsetof(plan, io),
      .n_phase = 1,
      .phase_offset = offsetof(plan, phase),
      .strings_offset = offsetof(plan, strings),
      .strings_bytes = sizeof p->strings,
      .json_offset = offsetof(plan, json),
      .json_bytes = sizeof p->json};
  memcpy(p->strings, "\0x\0w\0y\0step", 12);
  memcpy(p->json, "{}", 3);
  p->step = (seer_plan_step){SEER_PLAN_KERNEL, 7, 7, 0, 1, 0, 3, 0, 1000};
  p->arg[0] = (seer_plan_arg){SEER_ARG_INPUT, 0, 0, bytes};
  p->arg[1] = (seer_plan_arg){SEER_ARG_INPUT, 0, 1, shared};
  p->arg[2] = (seer_plan_arg){SEER_ARG_OUTPUT, 0, 0, bytes};
  p->io[0] = (seer_plan_io){1, 1, 2, 0, {size, IMAGE}, bytes};
  p->io[1] = (seer_plan_io){3, 1, 1, 0, {ROW}, shared};
  p->io[2] = (seer_plan_io){5, 1, 2, 0, {size * ROWS, ROW}, bytes};
  p->phase.n_parts = 1;
}

static int setup(void **state) {
  (void)state;
  memset(library, 0, sizeof library);
  for (int s = 0; s < N_SET; s++) make_plan(plan_of(s), sizes[s]);
  plan *first = plan_of(0);
  first->header.range_offset = offsetof(plan, range);
  first->range = (seer_plan_range){
      FIRST, LAST, offsetof(plan, size), offsetof(plan, next), offsetof(plan, ranged), 0};
  memcpy(first->size, sizes, sizeof sizes);
  memcpy(first->next, ways, sizeof ways);
  first->ranged[0] = 1;
  weights.header =
      (seer_weights_header){SEER_WEIGHTS_MAGIC, SEER_PLAN_VERSION, SEER_PLAN_ALIGN, 0, 0};
  return 0;
}

static const char *check(const void *bytes, uint64_t n_bytes) {
  uint64_t begins[SEER_PLAN_MAX_SETS];
  uint32_t n = 0;
  return seer_library_check(bytes, n_bytes, begins, &n);
}

static seer_rt_code open_bytes(const void *bytes, uint64_t n_bytes, seer_model **out) {
  seer_model_source source = {.blob = bytes,
      .n_blob_bytes = n_bytes,
      .kernels = kernels,
      .weights = &weights,
      .n_weight_bytes = sizeof weights};
  return seer_rt_open(&source, out, NULL, 0);
}

static seer_model *open_library(void) {
  seer_model *model = NULL;
  if (check(library, n_library)) fail_msg("%s", check(library, n_library));
  assert_int_equal(open_bytes(library, n_library, &model), SEER_RT_OK);
  return model;
}

static int32_t find(const seer_model *model, int64_t batch) {
  const int64_t x[2] = {batch, IMAGE};
  const int64_t *dims[2] = {x, NULL};
  const int32_t ranks[2] = {2, 1};
  int32_t set = -1;
  return seer_rt_find_set(model, dims, ranks, &set, NULL, 0) == SEER_RT_OK ? set : -1;
}

// Sizes that have a plan are it, also below the range; the others have numbers behind those.
static void shapes_find_a_batch(void **state) {
  (void)state;
  seer_model *model = open_library();
  assert_int_equal(seer_rt_n_sets(model), N_SET);
  for (int64_t batch = 0; batch <= LAST + 1; batch++) {
    int32_t want = batch < FIRST || batch > LAST ? -1 : N_SET + (int32_t)batch - FIRST;
    for (int s = 0; s < N_SET; s++)
      if (batch == sizes[s]) want = s;
    int32_t set = find(model, batch);
    assert_int_equal(set, want);
    if (set < 0) continue;
    assert_int_equal(seer_rt_set_input(model, set, 0)->dim[0], batch);
    assert_int_equal(seer_rt_set_input(model, set, 0)->n_bytes, batch * IMAGE * 4);
    assert_int_equal(seer_rt_set_input(model, set, 1)->dim[0], ROW);
    assert_int_equal(seer_rt_set_output(model, set, 0)->dim[0], batch * ROWS);
    assert_int_equal(seer_rt_set_output(model, set, 0)->n_bytes, batch * IMAGE * 4);
    assert_int_equal(seer_rt_set_n_steps(model, set), set < N_SET ? 1 : 0);
  }
  assert_null(seer_rt_set_input(model, N_SET + LAST - FIRST + 1, 0));
  const int64_t x[2] = {LAST + 1, IMAGE};
  const int64_t *dims[2] = {x, NULL};
  const int32_t ranks[2] = {2, 1};
  int32_t set;
  char message[200];
  assert_int_equal(
      seer_rt_find_set(model, dims, ranks, &set, message, sizeof message), SEER_RT_INVALID);
  assert_non_null(strstr(message, "; and any batch from 3 to 9"));
  seer_rt_close(model);
}

// What a batch of `batch` must be: by the parts that `ways` says. A NaN stays where it is.
static void check_batch(
    seer_session *session, int32_t set, uint32_t batch, const float *x, const float *w) {
  float y[(LAST + 1) * IMAGE];
  for (uint32_t i = 0; i < (LAST + 1) * IMAGE; i++) y[i] = -77;
  assert_int_equal(seer_rt_select(session, set), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_input(session, 0, x), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_input(session, 1, w), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, y), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
  uint32_t part = 0, left_of_part = 0;
  for (uint32_t i = 0; i < (LAST + 1) * IMAGE; i++) {
    if (i % IMAGE == 0 && i < batch * IMAGE && left_of_part == 0) {
      part = sizes[ways[batch - i / IMAGE] - 1];
      left_of_part = part;
    }
    if (i % IMAGE == 0 && left_of_part > 0) left_of_part--;
    float want = i < batch * IMAGE ? x[i] * w[i % ROW] + (float)part : -77;
    if (isnan(want) ? !isnan(y[i]) : y[i] != want)
      fail_msg("batch %u, element %u: %g, must be %g", batch, i, y[i], want);
  }
}

static void every_size_runs(void **state) {
  (void)state;
  static float x[LAST * IMAGE], other[LAST * IMAGE];
  const float w[ROW] = {0.5f, -2, 3, 1};
  seer_model *model = open_library();
  seer_session *session = NULL;
  assert_int_equal(seer_rt_session_create(model, NULL, &session, NULL, 0), SEER_RT_OK);
  for (uint32_t i = 0; i < LAST * IMAGE; i++) x[i] = (float)i * 0.25f, other[i] = -(float)i;
  x[4 * IMAGE + 1] = NAN;
  x[5 * IMAGE] = INFINITY;
  for (uint32_t batch = LAST; batch >= FIRST; batch--)
    check_batch(session, find(model, batch), batch, x, w);
  // Sets keep what is bound to them while a batch is run by their plans.
  float of_set[5 * IMAGE];
  assert_int_equal(seer_rt_select(session, 2), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_input(session, 0, other), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_input(session, 1, w), SEER_RT_OK);
  assert_int_equal(seer_rt_bind_output(session, 0, of_set), SEER_RT_OK);
  check_batch(session, find(model, 7), 7, x, w);
  assert_int_equal(seer_rt_select(session, 2), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_OK);
  for (uint32_t i = 0; i < 5 * IMAGE; i++) assert_true(of_set[i] == other[i] * w[i % ROW] + 5);
  // A batch has no steps that could be timed; it runs only when all is bound.
  assert_int_equal(seer_rt_select(session, find(model, 8)), SEER_RT_OK);
  seer_step_info step;
  char message[200];
  assert_int_equal(seer_rt_session_time_steps(session, 1, &step, sizeof step, 1, message, 200),
      SEER_RT_UNSUPPORTED);
  assert_non_null(strstr(message, "a batch of 8"));
  seer_rt_session_destroy(session);
  assert_int_equal(seer_rt_session_create(model, NULL, &session, NULL, 0), SEER_RT_OK);
  assert_int_equal(seer_rt_select(session, find(model, 7)), SEER_RT_OK);
  assert_int_equal(seer_rt_run(session), SEER_RT_INVALID);
  seer_rt_session_destroy(session);
  seer_rt_close(model);
}

static void what_fits_no_range_is_refused(void **state) {
  plan *first = plan_of(0), *last = plan_of(2);
  assert_null(check(library, n_library));
#define EXPECT_BAD(text, change)                                                                 \
  do {                                                                                           \
    setup(state);                                                                                \
    change;                                                                                      \
    const char *wrong = check(library, n_library);                                               \
    if (!wrong || !strstr(wrong, text)) fail_msg("%s: %s", #change, wrong ? wrong : "accepted"); \
  } while (0)
  const char *bounds = "range out of bounds", *no_plan = "a size of a range has no plan",
             *unfit = "does not fit its range";
  EXPECT_BAD(bounds, first->header.range_offset = sizeof(plan) - 8);
  EXPECT_BAD(bounds, first->header.range_offset += 2);
  EXPECT_BAD(bounds, first->range.size_offset = UINT32_MAX - 3);
  EXPECT_BAD(bounds, first->range.size_offset += 1);
  EXPECT_BAD(bounds, first->range.next_offset = sizeof(plan) - 4);
  EXPECT_BAD(bounds, first->range.ranged_offset = sizeof(plan));
  EXPECT_BAD("has no sizes", first->range.first = 0);
  EXPECT_BAD("has no sizes", first->range.first = LAST + 1);
  EXPECT_BAD("has no sizes", first->range.last = SEER_PLAN_MAX_BATCH + 1);
  EXPECT_BAD("without a batch", first->size[0] = 0);
  EXPECT_BAD("without a batch", first->size[2] = UINT32_MAX);
  EXPECT_BAD("not the first", last->header.range_offset = offsetof(plan, range));
  EXPECT_BAD("not the first",
      (first->header.range_offset = 0, last->header.range_offset = offsetof(plan, range)));
  EXPECT_BAD(no_plan, first->next[7] = 0);
  EXPECT_BAD(no_plan, first->next[7] = N_SET + 1);
  EXPECT_BAD(no_plan, first->next[1] = 1);  // 2 of one image
  EXPECT_BAD(no_plan, first->next[6] = 3);  // 5 and 1
  EXPECT_BAD("no image", first->next[0] = 1);
  EXPECT_BAD(unfit, first->size[1] = 4);
  EXPECT_BAD(unfit, first->ranged[0] = 0);
  EXPECT_BAD(unfit, first->ranged[1] = 1);
  EXPECT_BAD(unfit, (last->io[0].dim[1] = 5 * IMAGE, last->io[0].dim[0] = 1));
  EXPECT_BAD(unfit, (last->io[2].dim[0] = 5, last->io[2].dim[1] = IMAGE));
  EXPECT_BAD(unfit, (last->io[1].rank = 2, last->io[1].dim[0] = 1, last->io[1].dim[1] = ROW));
}

// Refused, or run within what is bound to it (ASan sees to it).
static void random_damage(void **state) {
  seer_rng rng;
  seer_rng_init(&rng, 23);
  int refused = 0, n_run = 0;
  for (int round = 0; round < 4000; round++) {
    setup(state);
    const size_t part = offsetof(plan, range);
    for (uint64_t n = 1 + seer_rng_below(&rng, 3); n > 0; n--) {
      bool is_near = seer_rng_below(&rng, 2) == 0;  // the range's own part, by small numbers
      size_t at = is_near ? part + seer_rng_below(&rng, offsetof(plan, strings) - part)
                          : seer_rng_below(&rng, n_library);
      library[at] = (uint8_t)seer_rng_below(&rng, is_near ? 12 : 256);
    }
    uint64_t n_bytes = round % 7 == 0 ? seer_rng_below(&rng, n_library) : n_library;
    uint8_t *copy = aligned_alloc(SEER_PLAN_ALIGN, STRIDE * N_SET);
    assert_non_null(copy);
    memcpy(copy, library, n_bytes);
    seer_model *model = NULL;
    if (check(copy, n_bytes) || open_bytes(copy, n_bytes, &model)) {
      refused++;
    } else {
      for (int64_t batch = 1; batch <= LAST; batch++) n_run += find(model, batch) >= 0;
      seer_rt_close(model);
    }
    free(copy);
  }
  assert_true(refused > 500 && n_run > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(shapes_find_a_batch, setup),
      cmocka_unit_test_setup(every_size_runs, setup),
      cmocka_unit_test_setup(what_fits_no_range_is_refused, setup),
      cmocka_unit_test_setup(random_damage, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
