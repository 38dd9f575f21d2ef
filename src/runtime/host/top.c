// top.c - the first k along an axis, sorted. x is [outer, axis, inner]. For each row a heap of
// the best k so far has the worst of them at its root: an element that is not better costs one
// comparison, and what is in the heap at the end is sorted in place. Rows that lie next to each
// other (inner > 1) are gone through together, so that each line of memory is read once.
#include "runtime/host/elem.h"
#include "runtime/host/heap.h"

#define COLUMNS 8  // rows that are gone through together
#define BLOCK 64  // elements of a row at a time
#define HEAP_BYTES (1u << 20)  // of such rows' heaps, about: what stays in a core's cache
#define WORTH_ELEMS (1 << 13)

typedef struct {
  uint64_t key;
  uint32_t at;
} item;

static inline bool is_before(item a, item b) {
  return (a.key < b.key) | ((a.key == b.key) & (a.at < b.at));
}

SEER_HOST_HEAP(item, is_before)

typedef struct {
  item *heap;
  uint32_t n, k;
} best;

// Sorts a heap.
static void sort(item *heap, uint32_t n) {
  for (; n > 1; n--) heap[n - 1] = take_root(heap, n);
}

// Elements first, first + 1, ... of a row.
static void take(best *b, const uint64_t *key, uint32_t first, uint32_t n) {
  uint32_t i = 0;
  for (; i < n && b->n < b->k; i++) {
    b->heap[b->n++] = (item){key[i], first + i};
    if (b->n == b->k) make_heap(b->heap, b->k);
  }
  for (; i < n; i++)  // of equals the root was first
    if (key[i] < b->heap[0].key) sift(b->heap, 0, b->k, (item){key[i], first + i});
}

// Keys of n elements, `step` apart; `flip`: all ones where the largest come first, else 0.
#define KEYS(name, type)                                                                     \
  static void name(const void *data, int64_t first, int64_t step, uint32_t n, uint64_t flip, \
      seer_host_order by, uint64_t *out) {                                                   \
    const type *x = (const type *)data + first;                                              \
    for (uint32_t i = 0; i < n; i++) out[i] = seer_host_key(by, x[i * step]) ^ flip;         \
  }
KEYS(keys_1, uint8_t)
KEYS(keys_2, uint16_t)
KEYS(keys_4, uint32_t)
KEYS(keys_8, uint64_t)
typedef void (*key_function)(const void *data, int64_t first, int64_t step, uint32_t n,
    uint64_t flip, seer_host_order by, uint64_t *out);

static key_function find_keys(uint32_t n_bytes) {
  return n_bytes == 1 ? keys_1 : n_bytes == 2 ? keys_2 : n_bytes == 4 ? keys_4 : keys_8;
}

typedef struct {
  int64_t n_outer, n, bound, n_inner, k, k_bound;  // n, k: of what is in use
  int64_t n_column, n_tile;  // rows that are gone through together; such tiles of inner
} shape;

static int64_t columns(int64_t n_inner, int64_t k_bound) {
  int64_t n = (int64_t)(HEAP_BYTES / sizeof(item)) / (k_bound > 0 ? k_bound : 1);
  if (n > COLUMNS) n = COLUMNS;
  if (n > n_inner) n = n_inner;
  return n < 1 ? 1 : n;
}

static shape shape_of(const seer_host_call *call) {
  const seer_host_tensor *x = &call->in[0], *k = &call->in[1];
  const seer_host_tensor *y = call->out[0].onnx_dtype ? &call->out[0] : &call->out[1];
  int32_t axis = (int32_t)call->param[0];
  shape s = {.n_outer = seer_host_product(x->bound, 0, axis),
      .n = x->dim[axis],
      .bound = x->bound[axis],
      .n_inner = seer_host_product(x->bound, axis + 1, x->rank),
      .k = y->bound[axis],
      .k_bound = y->bound[axis]};
  if (k->onnx_dtype && *(const int64_t *)k->data < s.k) s.k = *(const int64_t *)k->data;
  if (s.k > s.n) s.k = s.n;
  if (s.k < 0) s.k = 0;
  s.n_column = columns(s.n_inner, s.k_bound);
  s.n_tile = (s.n_inner + s.n_column - 1) / s.n_column;
  return s;
}

static uint32_t n_parts(const seer_host_call *call, uint32_t phase, uint32_t n_threads) {
  (void)phase;
  shape s = shape_of(call);
  int64_t n_tile = s.n_outer * s.n_tile;
  if (n_tile < n_threads) n_threads = n_tile < 1 ? 1 : (uint32_t)n_tile;
  return seer_host_parts_of(s.n_outer * s.n * s.n_inner, WORTH_ELEMS, n_threads);
}

// The row's k, sorted, to where they belong; zeros behind them.
static void write(
    const seer_host_call *call, const shape *s, const best *b, int64_t outer, int64_t inner) {
  const seer_host_tensor *x = &call->in[0], *value = &call->out[0], *index = &call->out[1];
  const uint32_t n_bytes = seer_onnx_dtype_bytes(x->onnx_dtype);
  for (int64_t j = 0; j < s->k_bound; j++) {
    bool is_one = j < b->n;
    int64_t to = (outer * s->k_bound + j) * s->n_inner + inner;
    int64_t at = is_one ? (outer * s->bound + b->heap[j].at) * s->n_inner + inner : 0;
    uint64_t bits = is_one ? seer_host_bits(x->data, at, n_bytes) : 0;
    if (value->onnx_dtype) memcpy((uint8_t *)value->data + (uint64_t)to * n_bytes, &bits, n_bytes);
    if (index->onnx_dtype) ((int64_t *)index->data)[to] = is_one ? b->heap[j].at : 0;
  }
}

static void top(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0];
  const shape s = shape_of(call);
  const seer_host_order by = seer_host_order_of(x->onnx_dtype);
  const key_function keys = find_keys(by.n_bytes);
  const uint64_t flip = call->param[1] ? UINT64_MAX : 0;
  uint64_t key[BLOCK];
  best row[COLUMNS];
  int64_t from, to;
  seer_host_share(part, s.n_outer * s.n_tile, &from, &to);
  for (int64_t t = from; t < to; t++) {
    int64_t outer = t / s.n_tile, inner = t % s.n_tile * s.n_column, n_row = s.n_inner - inner;
    if (n_row > s.n_column) n_row = s.n_column;
    for (int64_t c = 0; c < n_row; c++)
      row[c] = (best){(item *)part.scratch + c * s.k_bound, 0, (uint32_t)s.k};
    for (int64_t i = 0; i < s.n && s.k > 0; i += BLOCK) {
      uint32_t n = s.n - i < BLOCK ? (uint32_t)(s.n - i) : BLOCK;
      for (int64_t c = 0; c < n_row; c++) {
        keys(x->data, (outer * s.bound + i) * s.n_inner + inner + c, s.n_inner, n, flip, by, key);
        take(&row[c], key, (uint32_t)i, n);
      }
    }
    for (int64_t c = 0; c < n_row; c++) {
      sort(row[c].heap, row[c].n);
      write(call, &s, &row[c], outer, inner + c);
    }
  }
}

static bool is_result(
    const seer_plan_tensor *x, const seer_plan_tensor *y, int32_t onnx_dtype, int64_t axis) {
  if (y->onnx_dtype == 0) return true;
  seer_plan_tensor same = *y;
  same.onnx_dtype = x->onnx_dtype;
  return y->onnx_dtype == onnx_dtype && seer_host_alike(x, &same, axis) &&
      y->dim[axis] <= x->dim[axis];
}

static bool fits(const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  const seer_plan_tensor *x = &in[0];
  int64_t axis = param[0];
  bool has_one = out[0].onnx_dtype || out[1].onnx_dtype;
  return x->onnx_dtype && axis >= 0 && axis < x->rank && x->dim[axis] <= SEER_HOST_MAX_ITEMS &&
      seer_host_is_absent_or(&in[1], SEER_HOST_I64, 1) && has_one &&
      is_result(x, &out[0], x->onnx_dtype, axis) && is_result(x, &out[1], SEER_HOST_I64, axis) &&
      (!out[0].onnx_dtype || !out[1].onnx_dtype || out[0].dim[axis] == out[1].dim[axis]);
}

static seer_host_room room(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  int64_t axis = param[0], k = out[out[0].onnx_dtype ? 0 : 1].dim[axis];
  int64_t n = columns(seer_host_product(in[0].dim, (int32_t)axis + 1, in[0].rank), k);
  return (seer_host_room){.thread = (uint64_t)n * (uint64_t)k * sizeof(item)};
}

const seer_host_desc seer_host_top = {.function = SEER_HOST_TOP,
    .n_in = 2,
    .n_out = 2,
    .fits = fits,
    .room = room,
    .n_phase = 1,
    .n_parts = n_parts,
    .phase = {top}};
