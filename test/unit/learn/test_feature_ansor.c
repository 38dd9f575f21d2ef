// Ansor's columns: their places, their values for nests worked out by hand (two of them from TVM's
// own tests), what the published code gets wrong among them, and what holds of every row.
#include <math.h>
#include <string.h>

#include "learn/feature.h"
#include "learn_nets.h"
#include "support/random_dag.h"
#include "support/test.h"
#include "support/test_target.h"

enum { N_COLUMN = 164 };

static seer_nest nest;
static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];

static size_t column(const char *name) { return learn_column(&seer_feature_ansor, name); }
#define EXPECT(row, ...) LEARN_EXPECT(&seer_feature_ansor, row, __VA_ARGS__)

static uint32_t extract(void) {
  return seer_feature_ansor.extract(&nest, &test_target_wide, 1, rows);
}

// Who knows the published vectors finds each column where they have it.
static void columns_are_where_they_are_published(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t at;
  } places[] = {{"float_mad", 0}, {"int_mad", 7}, {"bool_op", 14}, {"select_op", 15},
      {"vec_num", 16}, {"vec_type.kPosNone", 19}, {"vec_type.kPosMixed", 26}, {"unroll_num", 27},
      {"unroll_len", 29}, {"parallel_prod", 39}, {"parallel_type.kPosMixed", 48}, {"is_gpu", 49},
      {"blockIdx_x_len", 50}, {"threadIdx_z_len", 55}, {"vthread_len", 56},
      {"B0.acc_type.kRead", 57}, {"B0.bytes", 60}, {"B0.reuse_type.kNoReuse", 66},
      {"B0.stride", 74}, {"B1.acc_type.kRead", 75}, {"B4.stride", 146},
      {"arith_intensity_curve_0", 147}, {"arith_intensity_curve_9", 156}, {"alloc_size", 157},
      {"alloc_inner_prod", 160}, {"outer_prod", 161}, {"auto_unroll_max_step", 163}};
  for (size_t i = 0; i < SEER_COUNT_OF(places); i++)
    assert_int_equal(column(places[i].name), places[i].at);
  assert_int_equal(seer_feature_ansor.n_column, N_COLUMN);
  for (size_t c = 0; c < N_COLUMN; c++) {
    for (size_t k = 0; k < c; k++)
      assert_string_not_equal(seer_feature_ansor.column[c], seer_feature_ansor.column[k]);
  }
}

// Begins a nest of statements whose loops the caller fills.
static seer_nest_statement *add_statement(uint8_t stage, uint32_t n_loop) {
  seer_nest_statement *st = &nest.statement[nest.n_statement++];
  memset(st, 0, sizeof *st);
  st->stage = stage;
  st->n_loop = st->first_tile = (uint8_t)n_loop;
  st->max_unroll = 1;
  return st;
}

static seer_nest_loop loop_of(
    uint8_t stage, uint8_t axis, uint8_t level, int64_t extent, seer_loop_ann ann, bool is_reduce) {
  seer_nest_loop loop = learn_loop(extent, ann, is_reduce);
  loop.stage = stage;
  loop.axis = axis;
  loop.level = level;
  return loop;
}

// TVM's test of features: C[512, 512] += A[i, k] * B[k, j], i split by 16, j by 8;
//   0: parallel i.0 < 32   1: parallel j.0 < 64   2: unrolled k < 512   3: vector j.1 < 8
//   4: i.1 < 16
static void make_product(void) {
  static const int64_t dim[2] = {512, 512};
  nest.n_statement = 0;
  seer_nest_statement *st = add_statement(0, 5);
  st->is_reduction = true;
  st->n_fma = 1;
  st->max_unroll = 16;
  st->loop[0] = loop_of(0, 0, 0, 32, SEER_LOOP_PARALLEL, false);
  st->loop[1] = loop_of(0, 1, 0, 64, SEER_LOOP_PARALLEL, false);
  st->loop[2] = loop_of(0, 2, 0, 512, SEER_LOOP_UNROLL, true);
  st->loop[3] = loop_of(0, 1, 1, 8, SEER_LOOP_VECTOR, false);
  st->loop[4] = loop_of(0, 0, 1, 16, SEER_LOOP_SERIAL, false);
  seer_nest_access *c = learn_access(st, SEER_NEST_ARG, true, 2, dim);
  learn_move(c, 0, 0, 16);
  learn_move(c, 1, 1, 8);
  learn_move(c, 3, 1, 1);
  learn_move(c, 4, 0, 1);
  seer_nest_access *a = learn_access(st, SEER_NEST_ARG, false, 2, dim);
  learn_move(a, 0, 0, 16);
  learn_move(a, 2, 1, 1);
  learn_move(a, 4, 0, 1);
  seer_nest_access *b = learn_access(st, SEER_NEST_ARG, false, 2, dim);
  learn_move(b, 1, 1, 8);
  learn_move(b, 2, 0, 1);
  learn_move(b, 3, 1, 1);
}

static void columns_of_a_product(void **state) {
  (void)state;
  make_product();
  assert_int_equal(extract(), 1);
  const double n = 512.0 * 512 * 512, mib = 1 << 20;
  // A multiply-add is an addition and a product.
  EXPECT(rows, {"float_mad", 0}, {"float_addsub", learn_slog(n)}, {"float_mul", learn_slog(n)},
      {"float_divmod", 0}, {"float_cmp", 0}, {"float_mathfunc", 0}, {"int_addsub", 0});
  EXPECT(rows, {"vec_num", learn_slog(1)}, {"vec_prod", learn_slog(8)}, {"vec_len", learn_slog(8)},
      {"vec_type.kPosNone", 0}, {"vec_type.kPosMiddleSpatial", 0}, {"vec_type.kPosMixed", 1},
      {"unroll_num", learn_slog(1)}, {"unroll_prod", learn_slog(512)},
      {"unroll_len", learn_slog(512)}, {"unroll_type.kPosMixed", 1},
      {"parallel_num", learn_slog(2)}, {"parallel_prod", learn_slog(2048)},
      {"parallel_len", learn_slog(64)}, {"parallel_type.kPosMixed", 1}, {"is_gpu", 0},
      {"blockIdx_x_len", 1}, {"threadIdx_y_len", 1}, {"vthread_len", 1});
  // i.1 steps over rows of 512 in C and A: a line each time. B stays for its 16 iterations, then
  // j.1 steps by an element: n / 16 * 4 / 64 lines. C comes before A, as its number does.
  EXPECT(rows, {"B0.acc_type.kRead", 0}, {"B0.acc_type.kReadWrite", 1},
      {"B0.bytes", learn_slog(n * 4)}, {"B0.unique_bytes", learn_slog(mib)},
      {"B0.lines", learn_slog(n)},
      {"B0.unique_lines", learn_slog(mib / 64)},  // rows of 2,048 bytes: whole lines
      {"B0.reuse_type.kLoopMultipleRead", 1}, {"B0.reuse_type.kNoReuse", 0},
      {"B0.reuse_dis_iter", learn_slog(16 * 8)},  // of i.1 and j.1, then k leaves it where it is
      {"B0.reuse_dis_bytes", learn_slog((128 + 8 + 16) * 4)}, {"B0.reuse_ct", learn_slog(512)},
      {"B0.bytes_d_reuse_ct", learn_slog(n * 4 / 512)},
      {"B0.unique_bytes_d_reuse_ct", learn_slog(mib / 512)},
      {"B0.lines_d_reuse_ct", learn_slog(n / 512)},
      {"B0.unique_lines_d_reuse_ct", learn_slog(mib / 64 / 512)}, {"B0.stride", learn_slog(512)});
  EXPECT(rows, {"B1.acc_type.kRead", 1}, {"B1.lines", learn_slog(n)},
      {"B1.stride", learn_slog(512)}, {"B1.reuse_dis_iter", learn_slog(16)},
      {"B1.reuse_ct", learn_slog(8)},
      {"B1.reuse_dis_bytes", learn_slog((16 + 16 + 1) * 4)});  // what i.1 touches: C, A, B
  EXPECT(rows, {"B2.acc_type.kRead", 1}, {"B2.unique_bytes", learn_slog(mib)},
      {"B2.lines", learn_slog(n / 16 * 4 / 64)}, {"B2.stride", 0},
      // The innermost loop: none before it, an element of each.
      {"B2.reuse_dis_iter", learn_slog(1)}, {"B2.reuse_dis_bytes", learn_slog(12)},
      {"B2.reuse_ct", learn_slog(16)}, {"B3.bytes", 0}, {"B3.acc_type.kRead", 0},
      {"B3.reuse_type.kNoReuse", 0});
  // Two operations an iteration: 32, 256, 2^17, 2^23, 2^28 of them inside each loop from i.1
  // outwards; elements touched: 33, 152, 128 + 16 * 512 + 512 * 8, ..., all of three matrices.
  const double y[] = {5 / log2(33 * 4), 8 / log2(152 * 4), 17 / log2(12416 * 4)};
  EXPECT(rows, {"arith_intensity_curve_0", y[0]},  // up to 2.8: as the first point
      {"arith_intensity_curve_1", y[0] + (y[1] - y[0]) * (5.6 - 5) / (8 - 5)},
      {"arith_intensity_curve_2", y[1] + (y[2] - y[1]) * (8.4 - 8) / (17 - 8)},
      {"arith_intensity_curve_9", 28 / log2(3 * mib)}, {"alloc_size", 0}, {"alloc_outer_prod", 0},
      {"outer_prod", learn_slog(n)}, {"num_loops", learn_slog(5)},
      {"auto_unroll_max_step", learn_slog(16)});
}

// One copy of a body is no unrolling, and several loops of an annotation are counted.
static void annotations_are_counted(void **state) {
  (void)state;
  make_product();
  nest.statement[0].max_unroll = 1;
  nest.statement[0].loop[4].ann = SEER_LOOP_VECTOR;
  nest.statement[0].loop[2].ann = SEER_LOOP_VECTOR;
  nest.statement[0].loop[1].ann = SEER_LOOP_SERIAL;
  extract();
  EXPECT(rows, {"auto_unroll_max_step", 0}, {"vec_type.kPosMixed", 1}, {"vec_num", learn_slog(3)},
      {"vec_prod", learn_slog(512 * 8 * 16)}, {"unroll_num", 0}, {"unroll_type.kPosNone", 1},
      {"unroll_prod", 0}, {"parallel_num", learn_slog(1)}, {"parallel_prod", learn_slog(32)});
}

// TVM's test of reuse between statements: B[i, j] = A[i, j] inside the loops of C[i, j] = B[i, j],
// 64 x 32. Readers come first in a nest.
static void make_chain(void) {
  static const int64_t dim[2] = {64, 32};
  nest.n_statement = 0;
  for (uint32_t s = 0; s < 2; s++) {
    seer_nest_statement *st = add_statement(s == 0 ? 1 : 0, 2);
    st->loop[0] = loop_of(1, 0, 0, 64, SEER_LOOP_PARALLEL, false);
    st->loop[1] = loop_of(1, 1, 0, 32, SEER_LOOP_SERIAL, false);
    st->first_own = s == 0 ? 0 : 2;
    st->first_tile = 2;
    static const uint32_t buf[2][2] = {{2, 1}, {1, 0}};  // written, read
    for (uint32_t k = 0; k < 2; k++) {
      bool is_local = buf[s][k] == 1;
      seer_nest_access *access =
          learn_access(st, is_local ? SEER_NEST_LOCAL : SEER_NEST_ARG, k == 0, 2, dim);
      access->buf = buf[s][k];
      learn_move(access, 0, 0, 1);
      learn_move(access, 1, 1, 1);
    }
  }
}

static void columns_of_a_chain(void **state) {
  (void)state;
  make_chain();
  assert_int_equal(extract(), 2);
  const float *c = rows, *b = rows + N_COLUMN;
  // C's row: B has the smaller number. 2,048 elements one after another: 128 lines.
  EXPECT(c, {"float_addsub", 0}, {"vec_num", 0}, {"vec_prod", 0}, {"vec_type.kPosNone", 1},
      {"parallel_prod", learn_slog(64)}, {"B0.acc_type.kRead", 1}, {"B0.bytes", learn_slog(8192)},
      {"B0.unique_bytes", learn_slog(8192)}, {"B0.lines", learn_slog(128)},
      {"B0.unique_lines", learn_slog(128)}, {"B0.reuse_type.kSerialMultipleReadWrite", 1},
      {"B0.reuse_dis_iter", learn_slog(1)}, {"B0.reuse_dis_bytes", learn_slog(16)},
      {"B0.reuse_ct", learn_slog(1)}, {"B0.stride", learn_slog(1)},
      {"B0.bytes_d_reuse_ct", learn_slog(8192)});
  EXPECT(c, {"B1.acc_type.kWrite", 1}, {"B1.reuse_type.kNoReuse", 1}, {"B1.reuse_dis_iter", 0},
      {"B1.reuse_dis_bytes", 0}, {"B1.reuse_ct", 0}, {"B1.bytes_d_reuse_ct", learn_slog(2 * 8192)},
      {"B1.unique_bytes_d_reuse_ct", learn_slog(2 * 8192)},
      {"B1.lines_d_reuse_ct", learn_slog(256)}, {"B1.unique_lines_d_reuse_ct", learn_slog(256)},
      {"arith_intensity_curve_9", 0}, {"alloc_size", 0}, {"auto_unroll_max_step", 0},
      {"num_loops", learn_slog(2)});
  // B's row: nothing was seen of C yet. Its buffer is made anew in each iteration.
  EXPECT(b, {"B1.acc_type.kWrite", 1}, {"B1.reuse_type.kNoReuse", 1}, {"B0.acc_type.kRead", 1},
      {"alloc_size", learn_slog(8192)}, {"alloc_prod", learn_slog(2048.0 * 2048)},
      {"alloc_outer_prod", learn_slog(2048)}, {"alloc_inner_prod", learn_slog(1)});
  // A sum of what has been copied, with loops of its own: it shares none.
  nest.statement[0].loop[1].stage = 2;
  nest.statement[0].loop[0].stage = 2;
  nest.statement[0].n_add = 1;
  extract();
  EXPECT(c, {"B0.reuse_type.kNoReuse", 1}, {"float_addsub", learn_slog(2048)},
      {"arith_intensity_curve_9", 11 / log2(2 * 8192)});
}

// y[i] = sum over r < 4, q < 8: y stays for both. Its lines: published, a step of i is 1 / 64 of
// the iterations, as if both had eight.
static void lines_of_a_sum(void **state) {
  (void)state;
  static const int64_t of_y[1] = {4096}, of_x[3] = {4096, 4, 8};
  nest.n_statement = 0;
  seer_nest_statement *st = add_statement(0, 3);
  st->is_reduction = true;
  st->n_add = 1;
  st->loop[0] = loop_of(0, 0, 0, 4096, SEER_LOOP_SERIAL, false);
  st->loop[1] = loop_of(0, 1, 0, 4, SEER_LOOP_SERIAL, true);
  st->loop[2] = loop_of(0, 2, 0, 8, SEER_LOOP_SERIAL, true);
  seer_nest_access *y = learn_access(st, SEER_NEST_SHARED, true, 1, of_y);
  learn_move(y, 0, 0, 1);
  seer_nest_access *x = learn_access(st, SEER_NEST_ARG, false, 3, of_x);
  for (uint8_t l = 0; l < 3; l++) learn_move(x, l, l, 1);
  const double n = 4096 * 32;
  extract();
  EXPECT(rows, {"B0.lines", learn_slog(n / 16)}, {"B0.stride", learn_slog(1)},
      {"B0.acc_type.kRead", 1}, {"B1.acc_type.kReadWrite", 1},
      {"B1.lines", learn_slog(n / 64 / 16)}, {"B1.reuse_ct", learn_slog(8)}, {"B1.stride", 0},
      {"B1.unique_bytes", learn_slog(4 * 4096)},
      // Whole in the scratch of the kernel: outside of all loops.
      {"alloc_size", learn_slog(4 * 4096)}, {"alloc_outer_prod", learn_slog(1)},
      {"alloc_prod", learn_slog(4096)}, {"alloc_inner_prod", learn_slog(n)});
  // Half of x's last dimension is read: runs of 16 bytes. It is y's region that is looked at, which
  // is all of 4,096.
  st->loop[2].extent = 4;
  extract();
  EXPECT(rows, {"B0.unique_bytes", learn_slog(4096 * 16 * 4)},
      {"B0.unique_lines", learn_slog(4096 * 16 * 4 / 64.0)});
}

// A packed weight is as it is measured: what stands inside of a loop that moves it is contiguous.
static void a_packed_weight_has_its_layout(void **state) {
  (void)state;
  learn_gemm(&nest);
  for (uint32_t l = 0; l < 5; l++) nest.statement[0].loop[l].axis = (uint8_t)l;
  extract();
  const double n = 64 * 64 * 64;
  // C and A first: lines of C n / 16, of A n / 32 (a row of 64 a step of m.1: a line each), of B
  // n / 16 as the vector walks. The figures of B are those of B1.
  EXPECT(rows, {"B0.acc_type.kReadWrite", 1}, {"B0.lines", learn_slog(n / 16)},
      {"B1.acc_type.kRead", 1}, {"B1.lines", learn_slog(n / 16)}, {"B1.stride", learn_slog(1)},
      {"B1.unique_bytes", learn_slog(64 * 64 * 4)}, {"B1.unique_lines", learn_slog(256)},
      {"B1.reuse_ct", learn_slog(8)},
      {"B1.reuse_dis_iter", learn_slog(32)},  // m.1 leaves it where it is
      {"B2.lines", learn_slog(n / 32)}, {"B2.stride", 0});
  // Without n.1, k is the innermost loop that moves B: 2 x 64 elements, one after another; a step
  // each 8 * 32 iterations, which count as 32 * 32.
  nest.statement[0].access[2].loop_dim[4] = SEER_NEST_NO_DIM;
  nest.statement[0].access[2].loop_coef[4] = 0;
  extract();
  EXPECT(rows, {"B2.acc_type.kRead", 1}, {"B2.lines", learn_slog(n / 1024 / 16)}, {"B2.stride", 0},
      {"B2.unique_bytes", learn_slog(512)}, {"B2.unique_lines", learn_slog(8)},
      {"B2.reuse_ct", learn_slog(32)});
}

// ---- what holds of every row

static double sum_of(const float *row, size_t first, size_t n) {
  double sum = 0;
  for (size_t c = first; c < first + n; c++) {
    assert_true(row[c] == 0 || row[c] == 1);
    sum += (double)row[c];
  }
  return sum;
}

static void check_row(const float *row, const seer_nest_statement *st) {
  for (size_t c = 0; c < N_COLUMN; c++) {
    if (!isfinite(row[c]) || row[c] < 0)
      fail_msg("%s is %g", seer_feature_ansor.column[c], (double)row[c]);
  }
  static const size_t places[] = {19, 30, 41};
  for (size_t k = 0; k < SEER_COUNT_OF(places); k++) assert_true(sum_of(row, places[k], 8) == 1);
  uint64_t bufs = 0;
  for (uint32_t a = 0; a < st->n_access; a++) bufs |= (uint64_t)1 << (st->access[a].buf & 63);
  double lines = INFINITY, bytes = 0;
  for (int b = 0; b < 5; b++) {
    const float *own = row + 57 + 18 * b;
    bool is_there = b < __builtin_popcountll(bufs);
    assert_true(sum_of(own, 0, 3) == is_there && sum_of(own, 7, 3) == is_there);
    assert_true((double)own[5] <= lines);
    lines = (double)own[5];
    bytes += exp2((double)own[4]) - 1;
    if (own[9] == 1) assert_true(own[12] == 0 && own[13] >= own[3]);
    if (own[7] == 1 || own[8] == 1) assert_true(own[12] >= 1);  // an extent, or a count
  }
  // The curve ends where all operations and all that is touched are.
  double ops = 0;
  for (size_t c = 0; c < 7; c++) ops += exp2((double)row[c]) - 1;
  if (ops < 1 || __builtin_popcountll(bufs) > 5 || st->n_loop == 0) return;
  double mad = exp2((double)row[0]) - 1, end = log2(ops + mad) / log2(fmax(2, bytes));
  if (fabs((double)row[156] - end) > 1e-3 * end)
    fail_msg("the curve ends at %g, not %g", (double)row[156], end);
}

// The same statements in another order have the same rows.
static void check_order(const seer_nest *of, const float *first) {
  static seer_nest turned;
  static float other[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];
  turned = *of;
  uint32_t n = of->n_statement;
  for (uint32_t i = 0; i < n; i++) turned.statement[i] = of->statement[n - 1 - i];
  assert_int_equal(seer_feature_ansor.extract(&turned, &test_target_wide, 1, other), n);
  for (uint32_t i = 0; i < n; i++) {
    for (size_t c = 0; c < N_COLUMN; c++) {
      float a = first[i * N_COLUMN + c], b = other[(n - 1 - i) * N_COLUMN + c];
      if (fabs((double)(a - b)) > 1e-5 * fmax(1, fabs((double)a)))  // sums in another order
        fail_msg("%s: %g, and %g the other way round", seer_feature_ansor.column[c], (double)a,
            (double)b);
    }
  }
}

static void check_nest(
    void *user, const seer_sketch_list *list, const seer_schedule *schedule, const seer_nest *of) {
  (void)schedule;
  for (size_t i = 0; i < SEER_COUNT_OF(rows); i++) rows[i] = -7;
  uint32_t n = seer_feature_ansor.extract(of, list->target, 1, rows);
  assert_int_equal(n, of->n_statement);
  for (uint32_t i = 0; i < n; i++) check_row(rows + i * N_COLUMN, &of->statement[i]);
  assert_true(n == SEER_NEST_MAX_STATEMENTS || rows[n * N_COLUMN] == -7);
  check_order(of, rows);
  *(uint32_t *)user += n;
}

static void rows_are_sound(void **state) {
  (void)state;
  uint32_t n = 0;
  for (uint32_t i = 0; i < learn_nets_count + 20; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag =
        i < learn_nets_count ? learn_parse(arena, learn_nets[i].text) : random_dag_of(i, arena);
    learn_each_schedule(dag, &test_target_wide, 4, check_nest, &n);
    seer_arena_destroy(arena);
  }
  assert_true(n > 250);
}

// What the analytic model says of a nest is in no column.
static void the_estimate_is_not_among_them(void **state) {
  (void)state;
  static float other[SEER_FEATURE_MAX];
  make_product();
  extract();
  seer_feature_ansor.extract(&nest, &test_target_narrow, 1e-6, other);
  assert_memory_equal(rows, other, N_COLUMN * sizeof(float));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_where_they_are_published),
      cmocka_unit_test(columns_of_a_product), cmocka_unit_test(annotations_are_counted),
      cmocka_unit_test(columns_of_a_chain), cmocka_unit_test(lines_of_a_sum),
      cmocka_unit_test(a_packed_weight_has_its_layout), cmocka_unit_test(rows_are_sound),
      cmocka_unit_test(the_estimate_is_not_among_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
