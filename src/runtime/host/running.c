// running.c - running sums and products along an axis. x is [outer, axis, inner]: where inner
// is 1 a sum is a register that walks along a row; else a tile of neighbouring sums walks from row
// to row. Floats are summed in f64, so that a long sum is as good as a short one; integers wrap.
#include "runtime/host/elem.h"

enum { IS_EXCLUSIVE = 1, IS_REVERSE = 2, IS_PRODUCT = 4 };
#define TILE 128
#define WORTH_ELEMS (1 << 13)

typedef struct {
  const void *x;
  void *y;
  int64_t n, step;  // elements along the axis, and from one to the next: below 0 from the end
  uint32_t n_column;  // neighbours, at most TILE
  bool is_exclusive, is_product;
} line;

// `load` and `store`: the element x[at], and what of a sum is stored. The four forms are loops of
// their own: nothing is asked about an element.
#define RUN_FORM(name, type, wide, load, store, join, is_after)   \
  static void name(const line *l, int32_t dtype, wide first) {    \
    const type *restrict x = l->x;                                \
    type *restrict y = l->y;                                      \
    wide all[TILE];                                               \
    (void)dtype;                                                  \
    if (l->n_column == 1) {                                       \
      for (int64_t i = 0, at = 0; i < l->n; i++, at += l->step) { \
        wide old = first, element = load;                         \
        first = old join element;                                 \
        y[at] = store(is_after ? first : old);                    \
      }                                                           \
      return;                                                     \
    }                                                             \
    for (uint32_t c = 0; c < l->n_column; c++) all[c] = first;    \
    for (int64_t i = 0, row = 0; i < l->n; i++, row += l->step) { \
      for (uint32_t c = 0; c < l->n_column; c++) {                \
        int64_t at = row + c;                                     \
        wide old = all[c], element = load;                        \
        all[c] = old join element;                                \
        y[at] = store(is_after ? all[c] : old);                   \
      }                                                           \
    }                                                             \
  }
#define RUN(name, type, wide, load, store)                                     \
  RUN_FORM(name##_sum, type, wide, load, store, +, true)                       \
  RUN_FORM(name##_sum_before, type, wide, load, store, +, false)               \
  RUN_FORM(name##_product, type, wide, load, store, *, true)                   \
  RUN_FORM(name##_product_before, type, wide, load, store, *, false)           \
  static void name(const line *l, int32_t dtype) {                             \
    if (l->is_product)                                                         \
      (l->is_exclusive ? name##_product_before : name##_product)(l, dtype, 1); \
    else                                                                       \
      (l->is_exclusive ? name##_sum_before : name##_sum)(l, dtype, 0);         \
  }
#define AS(type) (type)
#define RUN_PLAIN(name, type, wide) RUN(name, type, wide, (wide)x[at], AS(type))
RUN_PLAIN(run_f32, float, double)
RUN_PLAIN(run_f64, double, double)
// Integers' sums are the same with and without sign, cut to as many bits.
RUN_PLAIN(run_8, uint8_t, uint64_t)
RUN_PLAIN(run_16, uint16_t, uint64_t)
RUN_PLAIN(run_32, uint32_t, uint64_t)
RUN_PLAIN(run_64, uint64_t, uint64_t)
#define TO_HALF(sum) seer_host_to_half(dtype, (float)(sum))
RUN(run_half, uint16_t, double, (double)seer_host_from_half(dtype, x[at]), TO_HALF)

typedef void (*run_function)(const line *l, int32_t dtype);

// NULL: there is none.
static run_function find_run(int32_t onnx_dtype) {
  switch (onnx_dtype) {
    case SEER_HOST_F32:
      return run_f32;
    case SEER_HOST_F64:
      return run_f64;
    case SEER_HOST_F16:
    case SEER_HOST_BF16:
      return run_half;
    case SEER_HOST_I8:
    case SEER_HOST_U8:
      return run_8;
    case SEER_HOST_I16:
    case SEER_HOST_U16:
      return run_16;
    case SEER_HOST_I32:
    case SEER_HOST_U32:
      return run_32;
    case SEER_HOST_I64:
    case SEER_HOST_U64:
      return run_64;
    default:
      return NULL;
  }
}

typedef struct {
  int64_t n_outer, n, bound, n_inner, n_tile;  // tiles: of inner
} shape;

static shape shape_of(const seer_host_call *call) {
  const seer_host_tensor *x = &call->in[0];
  int32_t axis = (int32_t)call->param[0];
  shape s = {.n_outer = seer_host_product(x->bound, 0, axis),
      .n = x->dim[axis],
      .bound = x->bound[axis],
      .n_inner = seer_host_product(x->bound, axis + 1, x->rank)};
  s.n_tile = (s.n_inner + TILE - 1) / TILE;
  return s;
}

static uint32_t n_parts(const seer_host_call *call, uint32_t phase, uint32_t n_threads) {
  (void)phase;
  shape s = shape_of(call);
  int64_t n_line = s.n_outer * s.n_tile;
  if (n_line < n_threads) n_threads = n_line < 1 ? 1 : (uint32_t)n_line;
  return seer_host_parts_of(s.n_outer * s.n * s.n_inner, WORTH_ELEMS, n_threads);
}

static void run(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0], *y = &call->out[0];
  const shape s = shape_of(call);
  const uint64_t n_bytes = seer_onnx_dtype_bytes(x->onnx_dtype);
  const run_function function = find_run(x->onnx_dtype);
  const bool is_reverse = call->param[1] & IS_REVERSE;
  int64_t from, to;
  seer_host_share(part, s.n_outer * s.n_tile, &from, &to);
  for (int64_t k = from; k < to; k++) {
    int64_t outer = k / s.n_tile, column = k % s.n_tile * TILE, n_column = s.n_inner - column;
    if (n_column > TILE) n_column = TILE;
    int64_t first = outer * s.bound * s.n_inner + column;
    for (int64_t i = s.n; i < s.bound; i++)
      memset((uint8_t *)y->data + (uint64_t)(first + i * s.n_inner) * n_bytes, 0,
          (uint64_t)n_column * n_bytes);
    if (s.n == 0) continue;
    if (is_reverse) first += (s.n - 1) * s.n_inner;
    const line l = {.x = (const uint8_t *)x->data + (uint64_t)first * n_bytes,
        .y = (uint8_t *)y->data + (uint64_t)first * n_bytes,
        .n = s.n,
        .step = is_reverse ? -s.n_inner : s.n_inner,
        .n_column = (uint32_t)n_column,
        .is_exclusive = call->param[1] & IS_EXCLUSIVE,
        .is_product = call->param[1] & IS_PRODUCT};
    function(&l, x->onnx_dtype);
  }
}

static bool fits(const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  return seer_host_alike(&in[0], &out[0], -1) && find_run(in[0].onnx_dtype) && param[0] >= 0 &&
      param[0] < in[0].rank && (param[1] & ~7) == 0;
}

const seer_host_desc seer_host_running = {.function = SEER_HOST_RUNNING,
    .n_in = 1,
    .n_out = 1,
    .fits = fits,
    .n_phase = 1,
    .n_parts = n_parts,
    .phase = {run}};
