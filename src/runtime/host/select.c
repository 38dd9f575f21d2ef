// select.c - operators whose result's size only data decides: NonZero and Unique, as plain loops on
// one thread. NonMaxSuppression has a file of its own.
#include "runtime/host/elem.h"

// ---- sorting: a heap, since it needs no memory and never takes quadratic time

typedef struct {
  bool (*before)(const void *context, uint32_t a, uint32_t b);
  const void *context;
} order;

static inline void sift(const order *by, uint32_t *item, uint32_t at, uint32_t n) {
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= n) return;
    if (child + 1 < n && by->before(by->context, item[child], item[child + 1])) child++;
    if (!by->before(by->context, item[at], item[child])) return;
    uint32_t swap = item[at];
    item[at] = item[child];
    item[child] = swap;
    at = child;
  }
}

static inline void make_heap(const order *by, uint32_t *item, uint32_t n) {
  for (uint32_t at = n / 2; at-- > 0;) sift(by, item, at, n);
}

static void sort(const order *by, uint32_t *item, uint32_t n) {
  make_heap(by, item, n);
  for (uint32_t end = n; end > 1; end--) {
    uint32_t last = item[0];
    item[0] = item[end - 1];
    item[end - 1] = last;
    sift(by, item, 0, end - 1);
  }
}

// ---- NonZero

static bool is_nonzero(seer_host_order by, const void *data, int64_t i) {
  uint64_t bits = seer_host_bits(data, i, by.n_bytes);
  return by.infinity ? (bits & ~by.sign) != 0 : bits != 0;
}

static void non_zero(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0], *out = call->out;
  const seer_host_order by = seer_host_order_of(x->onnx_dtype);
  (void)part;
  int64_t index[SEER_HOST_MAX_RANK] = {0}, most = out[0].bound[1], n = 0, *found = out[0].data;
  seer_host_clear(&out[0]);
  for (bool more = seer_host_product(x->dim, 0, x->rank) > 0; more && n < most;
       more = seer_host_next(index, x->dim, x->rank)) {
    if (!is_nonzero(by, x->data, seer_host_offset(index, x->bound, x->rank))) continue;
    for (int32_t d = 0; d < x->rank; d++) found[d * most + n] = index[d];
    n++;
  }
  seer_host_put_count(&out[1], n);
}

static bool fits_non_zero(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)param;
  return in[0].onnx_dtype && in[0].rank > 0 && out[0].onnx_dtype == SEER_HOST_I64 &&
      out[0].rank == 2 && out[0].dim[0] == in[0].rank &&
      seer_host_is_absent_or(&out[1], SEER_HOST_I64, 1);
}

const seer_host_desc seer_host_non_zero = {.function = SEER_HOST_NONZERO,
    .n_in = 1,
    .n_out = 2,
    .fits = fits_non_zero,
    .n_phase = 1,
    .phase = {non_zero}};

// ---- Unique: items are elements, or slices along an axis

typedef struct {
  const seer_host_tensor *x;
  seer_host_order by;
  int64_t n_outer, extent, n_inner;  // item i: elements (o * extent + i) * n_inner + [0, n_inner)
} items;

static uint64_t key_of(const items *all, int64_t i) {
  return seer_host_key(all->by, seer_host_bits(all->x->data, i, all->by.n_bytes));
}

static int compare(const items *all, uint32_t a, uint32_t b) {
  for (int64_t o = 0; o < all->n_outer; o++) {
    for (int64_t k = 0; k < all->n_inner; k++) {
      int64_t row = o * all->extent;
      uint64_t x = key_of(all, (row + a) * all->n_inner + k);
      uint64_t y = key_of(all, (row + b) * all->n_inner + k);
      if (x != y) return x < y ? -1 : 1;
    }
  }
  return 0;
}

static bool item_before(const void *context, uint32_t a, uint32_t b) {
  int way = compare(context, a, b);
  return way < 0 || (way == 0 && a < b);
}

static void unique(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0], *out = call->out;
  const int64_t *param = call->param;
  const seer_host_order by = seer_host_order_of(x->onnx_dtype);
  uint32_t *sorted = (uint32_t *)(void *)call->scratch;
  (void)part;
  int32_t axis = (int32_t)param[0];
  items all = {x, by, 1, seer_host_product(x->bound, 0, x->rank), 1};
  int64_t n = seer_host_product(x->dim, 0, x->rank), n_found = 0;
  if (axis >= 0) {
    all = (items){x, by, seer_host_product(x->bound, 0, axis), x->bound[axis],
        seer_host_product(x->bound, axis + 1, x->rank)};
    n = x->dim[axis];
  }
  uint32_t *first = sorted + n, *number = first + n;  // of an item's equals; by first item
  for (int64_t i = 0; i < n; i++) sorted[i] = (uint32_t)i;
  sort(&(order){item_before, &all}, sorted, (uint32_t)n);
  for (int64_t i = 0; i < n; i++) {
    bool is_new = i == 0 || compare(&all, sorted[i - 1], sorted[i]) != 0;
    first[sorted[i]] = is_new ? sorted[i] : first[sorted[i - 1]];
  }
  for (int k = 0; k < 4; k++) seer_host_clear(&out[k]);
  const seer_host_tensor *y = &out[0];
  int64_t *firsts = out[1].data, *inverse = out[2].data, *counts = out[3].data;
  uint64_t size = (uint64_t)all.n_inner * seer_onnx_dtype_bytes(x->onnx_dtype);
  int64_t room = axis >= 0 ? y->bound[axis] : y->bound[0];
  for (int64_t i = 0; i < n; i++) {
    uint32_t item = param[1] ? sorted[i] : (uint32_t)i;
    if (first[item] != item) continue;
    number[item] = (uint32_t)n_found;
    for (int64_t o = 0; o < all.n_outer; o++)
      memcpy((uint8_t *)y->data + (uint64_t)(o * room + n_found) * size,
          (const uint8_t *)x->data + (uint64_t)(o * all.extent + item) * size, size);
    if (out[1].onnx_dtype) firsts[n_found] = item;
    n_found++;
  }
  for (int64_t i = 0; i < n; i++) {
    if (out[2].onnx_dtype) inverse[i] = number[first[i]];
    if (out[3].onnx_dtype) counts[number[first[i]]]++;
  }
  seer_host_put_count(&out[4], n_found);
}

static int64_t n_items(const seer_plan_tensor *x, int64_t axis) {
  return axis >= 0 ? x->dim[axis] : seer_host_product(x->dim, 0, x->rank);
}

static bool fits_unique(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  int64_t axis = param[0];
  if (in[0].onnx_dtype == 0 || out[0].onnx_dtype == 0 || axis < -1 || axis >= in[0].rank)
    return false;
  int64_t n = n_items(&in[0], axis);
  bool fits = axis >= 0
      ? seer_host_alike(&in[0], &out[0], axis) && out[0].dim[axis] >= n
      : out[0].onnx_dtype == in[0].onnx_dtype && out[0].rank == 1 && out[0].dim[0] >= n;
  // a size inside would put items where they are not
  for (int32_t d = 0; d < in[0].rank; d++)
    fits = fits && (in[0].size_arg[d] == 0 || in[0].rank == 1);
  for (int k = 1; k < 4; k++) fits = fits && seer_host_is_absent_or(&out[k], SEER_HOST_I64, n);
  return fits && n <= SEER_HOST_MAX_ITEMS && seer_host_is_absent_or(&out[4], SEER_HOST_I64, 1);
}

static seer_host_room room_unique(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)out;
  return (seer_host_room){.shared = (uint64_t)n_items(&in[0], param[0]) * 3 * sizeof(uint32_t)};
}

const seer_host_desc seer_host_unique = {.function = SEER_HOST_UNIQUE,
    .n_in = 1,
    .n_out = 5,
    .fits = fits_unique,
    .room = room_unique,
    .n_phase = 1,
    .phase = {unique}};
