// Scatters, TopK and running sums as the runtime does them on the host (runtime/host/*.c), against
// loops that know one element at a time: random shapes, all types, dimensions of which a part is in
// use, indices out of range, equal elements, NaN; with 1 to 3 threads, which may not matter. Every
// buffer ends in front of a mark that must stay.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "dag/dtype.h"
#include "front/onnx/dtype.h"
#include "runtime/exec.h"
#include "runtime/host.h"
#include "runtime/host/elem.h"
#include "support/test.h"

enum { MAX_BYTES = 1 << 24, N_MARK = 64, MARK = 0x5A, N_TRIALS = 400, N_THREADS = 3 };
static const uint64_t seed = 20261125;

typedef struct {
  seer_host_tensor t;
  seer_dtype dtype;
  int64_t n;  // at the bounds
  uint8_t *bytes;
} buffer;

typedef struct {
  seer_rng rng;
  seer_arena *arena;
  seer_pool *pool[N_THREADS];
} scene;

static const seer_dtype all_types[] = {SEER_DTYPE_F32, SEER_DTYPE_F64, SEER_DTYPE_F16,
    SEER_DTYPE_BF16, SEER_DTYPE_I8, SEER_DTYPE_I16, SEER_DTYPE_I32, SEER_DTYPE_I64, SEER_DTYPE_U8,
    SEER_DTYPE_U16, SEER_DTYPE_U32, SEER_DTYPE_U64, SEER_DTYPE_BOOL};

static buffer make(scene *s, seer_dtype dtype, int32_t rank, const int64_t *bound) {
  buffer b = {.dtype = dtype, .n = 1};
  b.t = (seer_host_tensor){.onnx_dtype = seer_onnx_dtype_number(dtype), .rank = rank};
  for (int32_t d = 0; d < rank; d++) {
    b.t.bound[d] = b.t.dim[d] = bound[d];
    b.n *= bound[d];
  }
  size_t n_bytes = (size_t)b.n * seer_dtype_bytes(dtype);
  assert_true(n_bytes <= MAX_BYTES);
  b.bytes = seer_arena_alloc(s->arena, n_bytes + N_MARK, 64);
  memset(b.bytes, 0xEE, n_bytes);
  memset(b.bytes + n_bytes, MARK, N_MARK);
  b.t.data = b.bytes;
  return b;
}

static void check_mark(const buffer *b) {
  const uint8_t *end = b->bytes + (size_t)b->n * seer_dtype_bytes(b->dtype);
  for (int i = 0; i < N_MARK; i++) assert_int_equal(end[i], MARK);
}

static void fill(scene *s, const buffer *b) {
  bool has_ties = seer_rng_chance(&s->rng, 0.5);
  for (int64_t i = 0; i < b->n; i++) {
    if (b->dtype == SEER_DTYPE_BOOL) {
      seer_dtype_store_i64(b->dtype, b->bytes, i, (int64_t)seer_rng_below(&s->rng, 2));
    } else if (!seer_dtype_is_float(b->dtype)) {
      int64_t value = has_ties ? seer_rng_range(&s->rng, -3, 3) : (int64_t)seer_rng_u64(&s->rng);
      seer_dtype_store_i64(b->dtype, b->bytes, i, value);
    } else {
      double value = seer_rng_f64(&s->rng) * 8 - 4;
      if (has_ties) value = floor(value) / 2;
      // with its sign: what inf - inf is on x86
      if (seer_rng_chance(&s->rng, 0.02))
        value = copysign((double)NAN, seer_rng_f64(&s->rng) - 0.5);
      if (seer_rng_chance(&s->rng, 0.02)) value = seer_rng_chance(&s->rng, 0.5) ? 0.0 : -0.0;
      if (seer_rng_chance(&s->rng, 0.01)) value = (double)INFINITY;
      seer_dtype_store_f64(b->dtype, b->bytes, i, value);
    }
  }
}

// Indices below `extent`, many of them from the end, some far outside.
static void fill_indices(scene *s, const buffer *b, int64_t extent) {
  static const int64_t outside[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN};
  for (int64_t i = 0; i < b->n; i++) {
    int64_t k = seer_rng_range(&s->rng, -extent - 1, extent);
    if (seer_rng_chance(&s->rng, 0.02)) k = outside[seer_rng_below(&s->rng, 4)];
    seer_dtype_store_i64(b->dtype, b->bytes, i, k);
  }
}

static int64_t some_size(scene *s) {
  static const int64_t sizes[] = {1, 2, 3, 5, 7, 16, 31, 64};
  return sizes[seer_rng_below(&s->rng, 8)];
}

static void run_call(scene *s, seer_host_function function, const buffer *in, uint32_t n_in,
    buffer *out, uint32_t n_out, const int64_t *param) {
  seer_host_tensor x[3] = {{0}}, y[2] = {{0}};
  seer_plan_tensor all[5] = {{0}};
  for (uint32_t k = 0; k < n_in + n_out; k++) {
    const seer_host_tensor *t = k < n_in ? &in[k].t : &out[k - n_in].t;
    *(k < n_in ? &x[k] : &y[k - n_in]) = *t;
    all[k].onnx_dtype = t->onnx_dtype;
    all[k].rank = t->rank;
    memcpy(all[k].dim, t->bound, sizeof all[k].dim);
  }
  seer_plan_host host = {.function = function, .n_in = n_in, .n_out = n_out};
  memcpy(host.param, param, sizeof host.param);
  seer_host_room room = seer_host_scratch(function, all, all + n_in, param);
  const char *wrong = seer_host_check(&host, all, all + n_in, room);
  if (wrong) fail_msg("%s", wrong);
  if (room.shared > 0) {
    seer_host_room less = {room.shared - 1, room.thread};
    assert_non_null(seer_host_check(&host, all, all + n_in, less));
  }
  uint8_t *first[2] = {NULL, NULL};
  for (uint32_t k = 0; k < N_THREADS; k++) {
    // Exactly as much scratch as is asked for, where the sanitizer sees its end.
    seer_host_call call = {.function = function,
        .in = x,
        .out = y,
        .param = param,
        .scratch = aligned_alloc(64, (room.shared + 63) / 64 * 64 + 64),
        .thread_stride = (room.thread + 63) / 64 * 64 + 64};
    call.thread_scratch = aligned_alloc(64, (k + 1) * call.thread_stride);
    seer_pool_fault fault;
    seer_pool_begin(s->pool[k]);
    assert_true(seer_host_run(&call, s->pool[k], NULL, &fault));
    seer_pool_end(s->pool[k]);
    free(call.scratch);
    free(call.thread_scratch);
    for (uint32_t o = 0; o < n_out; o++) {
      if (!out[o].t.onnx_dtype) continue;
      size_t n_bytes = (size_t)out[o].n * seer_dtype_bytes(out[o].dtype);
      check_mark(&out[o]);
      if (k == 0) first[o] = seer_arena_memdup(s->arena, out[o].bytes, n_bytes + 1);
      assert_memory_equal(first[o], out[o].bytes, n_bytes);
    }
  }
}

static bool next(int64_t *index, const int64_t *dim, int32_t rank) {
  for (int32_t d = rank; d-- > 0;) {
    if (++index[d] < dim[d]) return true;
    index[d] = 0;
  }
  return false;
}

static int64_t offset(const int64_t *index, const int64_t *bound, int32_t rank) {
  int64_t at = 0;
  for (int32_t d = 0; d < rank; d++) at = at * bound[d] + index[d];
  return at;
}

static bool is_same(seer_dtype dtype, const void *got, const void *want, int64_t i) {
  if (!seer_dtype_is_float(dtype))
    return seer_dtype_load_i64(dtype, got, i) == seer_dtype_load_i64(dtype, want, i);
  double a = seer_dtype_load_f64(dtype, got, i), b = seer_dtype_load_f64(dtype, want, i);
  return (isnan(a) && isnan(b)) || a == b;
}

// ---- scatters

static void join(seer_dtype dtype, int64_t how, void *y, int64_t to, const void *u, int64_t from) {
  if (seer_dtype_is_float(dtype)) {
    double a = seer_dtype_load_f64(dtype, y, to), b = seer_dtype_load_f64(dtype, u, from);
    double all[] = {b, a + b, a * b, fmin(a, b), fmax(a, b)};
    bool is_nan = isnan(a) || isnan(b);
    seer_dtype_store_f64(dtype, y, to, how >= SEER_HOST_MIN && is_nan ? (double)NAN : all[how]);
    return;
  }
  int64_t a = seer_dtype_load_i64(dtype, y, to), b = seer_dtype_load_i64(dtype, u, from);
  bool is_less = dtype == SEER_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
  int64_t all[] = {b, (int64_t)((uint64_t)a + (uint64_t)b), (int64_t)((uint64_t)a * (uint64_t)b),
      is_less ? a : b, is_less ? b : a};
  if (dtype == SEER_DTYPE_BOOL) all[1] = a | b;
  seer_dtype_store_i64(dtype, y, to, all[how]);
}

// Halves' sums are rounded once: they are compared with what f64 has.
static void check_scatter(const buffer *x, const buffer *y, const uint8_t *want, bool is_half) {
  for (int64_t i = 0; i < y->n; i++) {
    if (!is_half) {
      if (!is_same(y->dtype, y->bytes, want, i))
        fail_msg("element %lld of %lld, %s, is %g, must be %g", (long long)i, (long long)y->n,
            seer_dtype_name(y->dtype), seer_dtype_load_f64(y->dtype, y->bytes, i),
            seer_dtype_load_f64(y->dtype, want, i));
      continue;
    }
    double a = seer_dtype_load_f64(y->dtype, y->bytes, i),
           b = ((const double *)(const void *)want)[i];
    double largest = seer_dtype_load_f64(SEER_DTYPE_F32, &(float){65504}, 0);
    double step = y->dtype == SEER_DTYPE_F16 ? 1.0 / 1024 : 1.0 / 128;
    bool is_close = (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= step * fabs(b) + 1e-6 ||
        (fabs(b) >= largest && isinf(a));
    if (!is_close)
      fail_msg(
          "element %lld is %g, must be %g (%s)", (long long)i, a, b, seer_dtype_name(x->dtype));
  }
}

static void start_want(scene *s, const buffer *x, const buffer *y, bool is_half, buffer *out) {
  *out = make(s, is_half ? SEER_DTYPE_F64 : y->dtype, y->t.rank, y->t.bound);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t from = x->n == 1 ? 0 : i;
    if (seer_dtype_is_float(y->dtype))
      seer_dtype_store_f64(
          out->dtype, out->bytes, i, seer_dtype_load_f64(x->dtype, x->bytes, from));
    else
      seer_dtype_store_i64(
          out->dtype, out->bytes, i, seer_dtype_load_i64(x->dtype, x->bytes, from));
  }
}

static buffer in_f64(scene *s, const buffer *u) {
  buffer wide = make(s, SEER_DTYPE_F64, u->t.rank, u->t.bound);
  for (int64_t i = 0; i < u->n; i++)
    seer_dtype_store_f64(wide.dtype, wide.bytes, i, seer_dtype_load_f64(u->dtype, u->bytes, i));
  return wide;
}

static void trial_scatter(scene *s, bool is_nd, seer_dtype dtype) {
  int32_t rank = 1 + (int32_t)seer_rng_below(&s->rng, 3),
          axis = (int32_t)seer_rng_below(&s->rng, (uint64_t)rank);
  int64_t bound[3], index_bound[4], update_bound[6], zero = 0;
  for (int32_t d = 0; d < rank; d++) bound[d] = some_size(s) % 33 + (some_size(s) % 33) * (d == 0);
  int32_t n_place = 1 + (int32_t)seer_rng_below(&s->rng, 2),
          n_index = 1 + (int32_t)seer_rng_below(&s->rng, (uint64_t)rank);
  for (int32_t d = 0; d < rank; d++)
    if (bound[d] == 0) bound[d] = 1;
  int32_t index_rank = is_nd ? n_place + 1 : rank,
          update_rank = is_nd ? n_place + rank - n_index : rank;
  for (int32_t d = 0; d < index_rank; d++) {
    if (is_nd)
      index_bound[d] = d < n_place ? some_size(s) : n_index;
    else
      index_bound[d] = d == axis ? some_size(s) : seer_rng_range(&s->rng, 1, bound[d]);
  }
  for (int32_t d = 0; d < update_rank; d++)
    update_bound[d] = !is_nd || d < n_place ? index_bound[d] : bound[n_index + d - n_place];
  if (update_rank == 0) update_bound[0] = zero;
  bool is_one = seer_rng_chance(&s->rng, 0.2);
  buffer in[3] = {is_one ? make(s, dtype, 0, NULL) : make(s, dtype, rank, bound),
      make(s, seer_rng_chance(&s->rng, 0.5) ? SEER_DTYPE_I64 : SEER_DTYPE_I32, index_rank,
          index_bound),
      make(s, dtype, update_rank, update_bound)};
  buffer y = make(s, dtype, rank, bound), want;
  fill(s, &in[0]);
  fill(s, &in[2]);
  fill_indices(s, &in[1], bound[is_nd ? 0 : axis]);
  int64_t how = seer_rng_range(&s->rng, 0, SEER_HOST_MAX), param[4] = {is_nd ? 0 : axis, how};
  // Of some dimensions a part is in use.
  for (int32_t d = 0; d < (is_nd ? n_place : rank); d++)
    if (seer_rng_chance(&s->rng, 0.2)) in[1].t.dim[d] = seer_rng_range(&s->rng, 0, index_bound[d]);
  for (int32_t d = 0; d < rank && !is_one; d++)
    if (seer_rng_chance(&s->rng, 0.2)) in[0].t.dim[d] = seer_rng_range(&s->rng, 0, bound[d]);
  const int64_t *extent = is_one ? bound : in[0].t.dim;
  bool is_half = how != SEER_HOST_PUT && (dtype == SEER_DTYPE_F16 || dtype == SEER_DTYPE_BF16);
  run_call(s, is_nd ? SEER_HOST_SCATTER_ND : SEER_HOST_SCATTER_ELEMENTS, in, 3, &y, 1, param);

  start_want(s, &in[0], &y, is_half, &want);
  buffer update = is_half ? in_f64(s, &in[2]) : in[2];
  int64_t at[6] = {0}, dim[6], n = 1, to[3], n_inner = 1;
  for (int32_t d = n_index; d < rank; d++) n_inner *= bound[d];
  for (int32_t d = 0; d < index_rank; d++)
    n *= dim[d] = d == index_rank - 1 && is_nd ? 1 : in[1].t.dim[d];
  for (bool more = n > 0; more; more = next(at, dim, index_rank)) {
    bool is_inside = true;
    int64_t nth = offset(at, index_bound, index_rank);
    for (int32_t d = 0; d < (is_nd ? n_index : rank); d++) {
      to[d] = is_nd || d == axis
          ? seer_dtype_load_i64(in[1].dtype, in[1].bytes, nth + (is_nd ? d : 0))
          : at[d];
      if ((is_nd || d == axis) && to[d] < 0) to[d] += extent[d];
      is_inside = is_inside && to[d] >= 0 && (to[d] < extent[d] || !(is_nd || d == axis));
    }
    if (!is_inside) continue;
    if (!is_nd)
      join(want.dtype, how, want.bytes, offset(to, bound, rank), update.bytes, nth);
    else
      for (int64_t i = 0; i < n_inner; i++)
        join(want.dtype, how, want.bytes, offset(to, bound, n_index) * n_inner + i, update.bytes,
            nth / n_index * n_inner + i);
  }
  check_scatter(&in[0], &y, want.bytes, is_half);
}

static void scatter(void **state) {
  scene *s = *state;
  for (int t = 0; t < N_TRIALS; t++) {
    seer_arena_mark mark = seer_arena_save(s->arena);
    trial_scatter(s, t % 2, all_types[t / 2 % (int)SEER_COUNT_OF(all_types)]);
    seer_arena_rewind(s->arena, mark);
  }
}

// Enough to be shared by threads.
static void large_scatter(void **state) {
  scene *s = *state;
  enum { N = 20000, ROWS = 4000, WIDTH = 5 };
  buffer in[3] = {make(s, SEER_DTYPE_F32, 2, (int64_t[]){ROWS, WIDTH}),
      make(s, SEER_DTYPE_I64, 2, (int64_t[]){N / 2, 1}),
      make(s, SEER_DTYPE_F32, 2, (int64_t[]){N / 2, WIDTH})};
  buffer y = make(s, SEER_DTYPE_F32, 2, (int64_t[]){ROWS, WIDTH});
  for (int64_t how = 0; how <= SEER_HOST_MAX; how++) {
    fill(s, &in[0]);
    fill(s, &in[2]);
    fill_indices(s, &in[1], ROWS);
    run_call(s, SEER_HOST_SCATTER_ND, in, 3, &y, 1, (int64_t[4]){0, how});
    for (int64_t i = 0; i < N / 2; i++) {
      int64_t row = ((int64_t *)(void *)in[1].bytes)[i];
      if (row < 0) row += ROWS;
      for (int64_t c = 0; c < WIDTH && row >= 0 && row < ROWS; c++)
        join(SEER_DTYPE_F32, how, in[0].bytes, row * WIDTH + c, in[2].bytes, i * WIDTH + c);
    }
    check_scatter(&in[0], &y, in[0].bytes, false);
  }
}

// A caller's parallel-for that leaves parts out, or is on a thread that is none, is found.
typedef struct {
  bool is_lazy;
} loan;

static void lend(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  const loan *l = user;
  for (uint32_t i = 0; i + l->is_lazy < n_parts; i++) body(arg, i, l->is_lazy ? 0 : 7);
}

static void lent_threads(void **state) {
  scene *s = *state;
  enum { N = 1 << 15 };
  buffer x = make(s, SEER_DTYPE_F32, 2, (int64_t[]){4, N}),
         y = make(s, SEER_DTYPE_F32, 2, x.t.bound);
  fill(s, &x);
  for (int is_lazy = 0; is_lazy < 2; is_lazy++) {
    loan l = {is_lazy};
    seer_pool *pool = seer_pool_wrap(lend, &l, 2);
    const seer_host_call call = {
        .function = SEER_HOST_RUNNING, .in = &x.t, .out = &y.t, .param = (int64_t[4]){1}};
    seer_pool_fault fault;
    assert_false(seer_host_run(&call, pool, NULL, &fault));
    assert_int_equal(fault.is_bad_call, !is_lazy);
    assert_int_equal(fault.n_parts, 2);
    assert_int_equal(is_lazy ? fault.n_calls : fault.thread, is_lazy ? 1 : 7);
    seer_pool_destroy(pool);
  }
}

// ---- TopK

static bool is_before(seer_dtype dtype, const void *x, int64_t a, int64_t b, bool is_largest) {
  if (seer_dtype_is_float(dtype)) {
    double va = seer_dtype_load_f64(dtype, x, a), vb = seer_dtype_load_f64(dtype, x, b);
    if (isnan(va) || isnan(vb)) return isnan(va) == isnan(vb) ? a < b : is_largest == isnan(va);
    return va == vb ? a < b : is_largest == (va > vb);
  }
  int64_t va = seer_dtype_load_i64(dtype, x, a), vb = seer_dtype_load_i64(dtype, x, b);
  bool is_more = dtype == SEER_DTYPE_U64 ? (uint64_t)va > (uint64_t)vb : va > vb;
  return va == vb ? a < b : is_largest == is_more;
}

static void trial_top(scene *s, seer_dtype dtype, bool is_long) {
  int32_t rank = 1 + (int32_t)seer_rng_below(&s->rng, 3),
          axis = (int32_t)seer_rng_below(&s->rng, (uint64_t)rank);
  int64_t bound[3], result[3];
  for (int32_t d = 0; d < rank; d++)
    bound[d] = is_long ? 1 + (int64_t)seer_rng_below(&s->rng, 3) : some_size(s) % 17 + 1;
  bound[axis] = is_long ? 1000 + seer_rng_range(&s->rng, 0, 3000) : some_size(s);
  memcpy(result, bound, sizeof result);
  result[axis] =
      seer_rng_chance(&s->rng, 0.3) ? bound[axis] : seer_rng_range(&s->rng, 1, bound[axis]);
  buffer in[2] = {make(s, dtype, rank, bound), {.t = {0}}};
  buffer out[2] = {make(s, dtype, rank, result), make(s, SEER_DTYPE_I64, rank, result)};
  fill(s, &in[0]);
  if (seer_rng_chance(&s->rng, 0.3)) in[0].t.dim[axis] = seer_rng_range(&s->rng, 0, bound[axis]);
  int64_t k = result[axis], n = in[0].t.dim[axis];
  if (seer_rng_chance(&s->rng, 0.3)) {
    in[1] = make(s, SEER_DTYPE_I64, 1, (int64_t[]){1});
    int64_t given = seer_rng_range(&s->rng, -1, bound[axis] + 2);
    memcpy(in[1].bytes, &given, sizeof given);
    k = given < 0 ? 0 : given < k ? given : k;
  }
  if (k > n) k = n;
  uint32_t absent = (uint32_t)seer_rng_below(&s->rng, 4);
  if (absent < 2) out[absent] = (buffer){.t = {0}};
  int64_t is_largest = (int64_t)seer_rng_below(&s->rng, 2), param[4] = {axis, is_largest};
  run_call(s, SEER_HOST_TOP, in, 2, out, 2, param);

  int64_t at[3] = {0}, n_inner = 1, n_row = result[axis];
  for (int32_t d = axis + 1; d < rank; d++) n_inner *= bound[d];
  int64_t *place = SEER_NEW_ARRAY(s->arena, int64_t, n + 1);
  do {
    if (at[axis] != 0) continue;
    int64_t first = offset(at, bound, rank), to = offset(at, result, rank);
    for (int64_t j = 0; j < n; j++) {  // insertion, so many places are kept
      int64_t i = j < k ? j : k;
      for (; i > 0 &&
           is_before(
               dtype, in[0].bytes, first + j * n_inner, first + place[i - 1] * n_inner, is_largest);
           i--)
        if (i < k) place[i] = place[i - 1];
      if (i < k) place[i] = j;
    }
    for (int64_t j = 0; j < n_row; j++) {
      int64_t index = j < k ? place[j] : 0, found = to + j * n_inner;
      if (out[1].t.onnx_dtype) assert_int_equal(((int64_t *)(void *)out[1].bytes)[found], index);
      if (!out[0].t.onnx_dtype) continue;
      uint32_t n_bytes = seer_dtype_bytes(dtype);
      uint8_t none[8] = {0};
      assert_memory_equal(out[0].bytes + found * n_bytes,
          j < k ? in[0].bytes + (first + index * n_inner) * n_bytes : none, n_bytes);
    }
  } while (next(at, result, rank));
}

static void top(void **state) {
  scene *s = *state;
  for (int t = 0; t < N_TRIALS; t++) {
    seer_arena_mark mark = seer_arena_save(s->arena);
    trial_top(s, all_types[t % (int)SEER_COUNT_OF(all_types)], t % 20 == 0);
    seer_arena_rewind(s->arena, mark);
  }
}

// ---- running sums

static void trial_running(scene *s, seer_dtype dtype, bool is_wide) {
  int32_t rank = 1 + (int32_t)seer_rng_below(&s->rng, 3),
          axis = (int32_t)seer_rng_below(&s->rng, (uint64_t)rank);
  int64_t bound[3];
  for (int32_t d = 0; d < rank; d++) bound[d] = some_size(s) % 17 + 1;
  bound[axis] = some_size(s);
  if (is_wide) bound[rank - 1] = 300;  // more than a tile
  buffer x = make(s, dtype, rank, bound), y = make(s, dtype, rank, bound);
  fill(s, &x);
  if (seer_rng_chance(&s->rng, 0.3)) x.t.dim[axis] = seer_rng_range(&s->rng, 0, bound[axis]);
  int64_t form = (int64_t)seer_rng_below(&s->rng, 8), param[4] = {axis, form}, n = x.t.dim[axis];
  run_call(s, SEER_HOST_RUNNING, &x, 1, &y, 1, param);
  buffer want = make(s, dtype, rank, bound);
  memset(want.bytes, 0, (size_t)want.n * seer_dtype_bytes(dtype));
  int64_t at[3] = {0}, n_inner = 1;
  for (int32_t d = axis + 1; d < rank; d++) n_inner *= bound[d];
  do {
    if (at[axis] >= n) continue;
    double real = form & 4 ? 1 : 0;
    uint64_t whole = form & 4 ? 1 : 0;
    int64_t first = offset(at, bound, rank) - at[axis] * n_inner;
    for (int64_t k = 0; k < n; k++) {
      int64_t j = form & 2 ? n - 1 - k : k;  // in the order of the sum
      bool counts = form & 2 ? j >= at[axis] : j <= at[axis];
      if (!counts || ((form & 1) && j == at[axis])) continue;
      double a = seer_dtype_load_f64(dtype, x.bytes, first + j * n_inner);
      uint64_t b = (uint64_t)seer_dtype_load_i64(dtype, x.bytes, first + j * n_inner);
      real = form & 4 ? real * a : real + a;
      whole = form & 4 ? whole * b : whole + b;
    }
    if (seer_dtype_is_float(dtype))
      seer_dtype_store_f64(dtype, want.bytes, offset(at, bound, rank),
          dtype == SEER_DTYPE_F64 ? real : (double)(float)real);
    else
      seer_dtype_store_i64(dtype, want.bytes, offset(at, bound, rank), (int64_t)whole);
  } while (next(at, bound, rank));
  for (int64_t i = 0; i < y.n; i++)
    if (!is_same(dtype, y.bytes, want.bytes, i))
      fail_msg(
          "element %lld of %s, form %lld", (long long)i, seer_dtype_name(dtype), (long long)form);
}

static void running(void **state) {
  scene *s = *state;
  for (int t = 0; t < N_TRIALS; t++) {
    seer_arena_mark mark = seer_arena_save(s->arena);
    trial_running(s, all_types[t % ((int)SEER_COUNT_OF(all_types) - 1)], t % 10 == 0);
    seer_arena_rewind(s->arena, mark);
  }
}

// ---- halves: all of f16 and bf16 there and back, as the compiler has them

static void halves(void **state) {
  scene *s = *state;
  for (int which = 0; which < 2; which++) {
    seer_dtype dtype = which ? SEER_DTYPE_BF16 : SEER_DTYPE_F16;
    int32_t number = seer_onnx_dtype_number(dtype);
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint16_t half = (uint16_t)bits, back;
      double want = seer_dtype_load_f64(dtype, &half, 0),
             got = (double)seer_host_from_half(number, half);
      assert_true((isnan(want) && isnan(got)) || memcmp(&want, &got, sizeof want) == 0);
      back = seer_host_to_half(number, (float)got);
      assert_true(isnan(got) ? isnan(seer_dtype_load_f64(dtype, &back, 0)) : back == half);
    }
    for (int t = 0; t < 200000; t++) {
      uint32_t bits = (uint32_t)seer_rng_u64(&s->rng);
      if (t % 2) bits = (bits & 0x80ffffffu) | (uint32_t)seer_rng_range(&s->rng, 0x30, 0x48) << 24;
      float value;
      memcpy(&value, &bits, sizeof value);
      uint16_t want, got = seer_host_to_half(number, value);
      seer_dtype_store_f64(dtype, &want, 0, (double)value);
      if (isnan(value))
        assert_true(isnan(seer_dtype_load_f64(dtype, &got, 0)));
      else
        assert_int_equal(got, want);
    }
  }
}

// ---- what does not fit is refused

static void refused(void **state) {
  (void)state;
  enum { F32 = SEER_HOST_F32, I64 = SEER_HOST_I64, BOOL = SEER_HOST_BOOL, F8 = 17 };
  const seer_plan_tensor x = {.onnx_dtype = F32, .rank = 2, .dim = {4, 5}},
                         index = {.onnx_dtype = I64, .rank = 2, .dim = {3, 5}},
                         update = {.onnx_dtype = F32, .rank = 2, .dim = {3, 5}};
  seer_plan_tensor t[4];
  seer_plan_host host;
  const seer_host_room room = {.thread = 3 * 16};
#define FRESH(what, a, b)                                      \
  t[0] = x, t[1] = index, t[2] = update, t[3] = x;             \
  host = (seer_plan_host) {                                    \
    .function = what, .n_in = 3, .n_out = 1, .param = { a, b } \
  }
#define REFUSED(change)                                              \
  do {                                                               \
    change;                                                          \
    assert_non_null(seer_host_check(&host, t, t + host.n_in, room)); \
  } while (0)
#define ELEMENTS() FRESH(SEER_HOST_SCATTER_ELEMENTS, 0, SEER_HOST_ADD)
  ELEMENTS();
  assert_null(seer_host_check(&host, t, t + 3, room));
  ELEMENTS();
  REFUSED(host.param[0] = 2);
  ELEMENTS();
  REFUSED(host.param[0] = -1);
  ELEMENTS();
  REFUSED(host.param[1] = 5);
  ELEMENTS();
  REFUSED(host.param[1] = -1);
  ELEMENTS();
  REFUSED(t[1].dim[1] = t[2].dim[1] = 6);
  ELEMENTS();
  REFUSED(t[2].dim[0] = 2);
  ELEMENTS();
  REFUSED(t[1].onnx_dtype = F32);
  ELEMENTS();
  REFUSED(t[2].onnx_dtype = I64);
  ELEMENTS();
  REFUSED(t[3].dim[0] = 3);
  ELEMENTS();
  REFUSED(t[0].onnx_dtype = 0);
  ELEMENTS();
  REFUSED(t[0].onnx_dtype = t[2].onnx_dtype = t[3].onnx_dtype = F8);
  ELEMENTS();
  REFUSED(host.n_in = 2);
#define TUPLES()                                 \
  FRESH(SEER_HOST_SCATTER_ND, 0, SEER_HOST_PUT); \
  t[1].dim[1] = 1
  TUPLES();
  assert_null(seer_host_check(&host, t, t + 3, room));
  TUPLES();
  REFUSED(t[1].dim[1] = 2);
  TUPLES();
  REFUSED(t[1].dim[1] = 3);
  TUPLES();
  REFUSED(t[1].size_arg[1] = 1);
  TUPLES();
  REFUSED(t[2].dim[1] = 4);
  TUPLES();
  REFUSED(t[1].rank = 0);
#define TOP()                                                                         \
  memset(t, 0, sizeof t);                                                             \
  t[0] = x, t[2] = x, t[3] = x, t[2].dim[1] = t[3].dim[1] = 3, t[3].onnx_dtype = I64; \
  host = (seer_plan_host) {                                                           \
    .function = SEER_HOST_TOP, .n_in = 2, .n_out = 2, .param = { 1, 1 }               \
  }
  TOP();
  assert_null(seer_host_check(&host, t, t + 2, room));
  assert_non_null(seer_host_check(&host, t, t + 2, (seer_host_room){.thread = 3 * 16 - 1}));
  TOP();
  REFUSED(host.param[0] = 2);
  TOP();
  REFUSED(t[2].dim[1] = t[3].dim[1] = 6);
  TOP();
  REFUSED(t[3].dim[1] = 2);
  TOP();
  REFUSED(t[3].dim[0] = 3);
  TOP();
  REFUSED(t[3].onnx_dtype = F32);
  TOP();
  REFUSED(t[2].onnx_dtype = t[3].onnx_dtype = 0);
  memset(t, 0, sizeof t);
  t[0] = x, t[1] = x;
  host = (seer_plan_host){.function = SEER_HOST_RUNNING, .n_in = 1, .n_out = 1, .param = {1, 7}};
  assert_null(seer_host_check(&host, t, t + 1, room));
  host.param[1] = 8;
  assert_non_null(seer_host_check(&host, t, t + 1, room));
  host.param[1] = 0, host.param[0] = 2;
  assert_non_null(seer_host_check(&host, t, t + 1, room));
  host.param[0] = 0, t[0].onnx_dtype = t[1].onnx_dtype = BOOL;
  assert_non_null(seer_host_check(&host, t, t + 1, room));
}

int main(void) {
  scene s = {.arena = seer_arena_create("ordered")};
  seer_rng_init(&s.rng, seed);
  for (uint32_t k = 0; k < N_THREADS; k++) s.pool[k] = k == 0 ? NULL : seer_pool_create(k + 1, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(scatter, &s),
      cmocka_unit_test_prestate(large_scatter, &s),
      cmocka_unit_test_prestate(lent_threads, &s),
      cmocka_unit_test_prestate(top, &s),
      cmocka_unit_test_prestate(running, &s),
      cmocka_unit_test_prestate(halves, &s),
      cmocka_unit_test_prestate(refused, &s),
  };
  int status = cmocka_run_group_tests(tests, NULL, NULL);
  for (uint32_t k = 0; k < N_THREADS; k++) seer_pool_destroy(s.pool[k]);
  seer_arena_destroy(s.arena);
  return status;
}
