// host.c - NonZero, NonMaxSuppression, Unique, and putting elements together, as plain loops.
// Elements are compared by keys: 64-bit numbers in the same order as the elements, so that one
// comparison serves all types.
#include "runtime/host.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/exec.h"

enum { F32 = 1, I64 = 7, MAX_RANK = 12, MAX_ITEMS = 1 << 28 };

static int64_t product(const int64_t *dim, int32_t from, int32_t to) {
  int64_t n = 1;
  for (int32_t d = from; d < to; d++) n *= dim[d];
  return n;
}

static uint64_t bound_bytes(const seer_host_tensor *t) {
  return (uint64_t)product(t->bound, 0, t->rank) * seer_onnx_dtype_bytes(t->onnx_dtype);
}

static void clear(const seer_host_tensor *t) {
  if (t->onnx_dtype) memset(t->data, 0, bound_bytes(t));
}

static void put_count(const seer_host_tensor *t, int64_t n) {
  if (t->onnx_dtype) *(int64_t *)t->data = n;
}

// Steps `index` through `dim` in row-major order, last dimension first; false after the last.
static bool next(int64_t *index, const int64_t *dim, int32_t rank) {
  for (int32_t d = rank; d-- > 0;) {
    if (++index[d] < dim[d]) return true;
    index[d] = 0;
  }
  return false;
}

static int64_t offset_of(const int64_t *index, const int64_t *bound, int32_t rank) {
  int64_t at = 0;
  for (int32_t d = 0; d < rank; d++) at = at * bound[d] + index[d];
  return at;
}

// ---- keys

static uint64_t bits_of(const void *data, int64_t i, uint32_t n_bytes) {
  const uint8_t *at = (const uint8_t *)data + (uint64_t)i * n_bytes;
  uint64_t wide = 0;
  memcpy(&wide, at, n_bytes);  // little-endian, as the plan is
  return wide;
}

// Bits of the exponent, 0 for integers.
static uint32_t exponent_bits(int32_t onnx_dtype) {
  switch (onnx_dtype) {
    case 1:  // float
    case 16:  // bfloat16
      return 8;
    case 10:  // float16
      return 5;
    case 11:  // double
      return 11;
    default:
      return 0;
  }
}

// In the elements' order; -0 and 0 are equal, and all NaN are equal and greatest.
static uint64_t key_of(int32_t onnx_dtype, const void *data, int64_t i) {
  uint32_t n_bytes = seer_onnx_dtype_bytes(onnx_dtype), exponent = exponent_bits(onnx_dtype);
  uint64_t bits = bits_of(data, i, n_bytes), sign = UINT64_C(1) << (8 * n_bytes - 1);
  bool is_signed = onnx_dtype == 3 || onnx_dtype == 5 || onnx_dtype == 6 || onnx_dtype == 7;
  if (exponent == 0) return is_signed ? bits ^ sign : bits;
  uint64_t size = bits & (sign - 1), infinity = sign - (sign >> exponent);
  if (size > infinity) return UINT64_MAX;
  if (size == 0) return sign;
  return bits & sign ? sign - size : sign + size;
}

static bool is_nonzero(int32_t onnx_dtype, const void *data, int64_t i) {
  uint32_t n_bytes = seer_onnx_dtype_bytes(onnx_dtype);
  uint64_t bits = bits_of(data, i, n_bytes);
  if (exponent_bits(onnx_dtype)) bits &= ~(UINT64_C(1) << (8 * n_bytes - 1));
  return bits != 0;
}

// ---- sorting: a heap, since it needs no memory and never takes quadratic time

typedef struct {
  bool (*before)(const void *context, uint32_t a, uint32_t b);
  const void *context;
} order;

static void sift(const order *by, uint32_t *item, uint32_t at, uint32_t n) {
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

static void sort(const order *by, uint32_t *item, uint32_t n) {
  for (uint32_t at = n / 2; at-- > 0;) sift(by, item, at, n);
  for (uint32_t end = n; end > 1; end--) {
    uint32_t last = item[0];
    item[0] = item[end - 1];
    item[end - 1] = last;
    sift(by, item, 0, end - 1);
  }
}

// ---- NonZero

static void non_zero(const seer_host_tensor *x, const seer_host_tensor *out) {
  int64_t index[MAX_RANK] = {0}, most = out[0].bound[1], n = 0, *found = out[0].data;
  clear(&out[0]);
  for (bool more = product(x->dim, 0, x->rank) > 0; more && n < most;
       more = next(index, x->dim, x->rank)) {
    if (!is_nonzero(x->onnx_dtype, x->data, offset_of(index, x->bound, x->rank))) continue;
    for (int32_t d = 0; d < x->rank; d++) found[d * most + n] = index[d];
    n++;
  }
  put_count(&out[1], n);
}

// ---- NonMaxSuppression

typedef struct {
  float low[2], high[2];
} box;

static box read_box(const float *at, bool is_center) {
  box b;
  for (int d = 0; d < 2; d++) {
    if (is_center) {
      b.low[d] = at[d] - at[2 + d] / 2;
      b.high[d] = at[d] + at[2 + d] / 2;
    } else {  // any two opposite corners
      b.low[d] = at[d] < at[2 + d] ? at[d] : at[2 + d];
      b.high[d] = at[d] < at[2 + d] ? at[2 + d] : at[d];
    }
  }
  return b;
}

static float area(const box *b) { return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]); }

static bool overlaps(const box *a, const box *b, float threshold) {
  box both;
  for (int d = 0; d < 2; d++) {
    both.low[d] = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
    both.high[d] = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
    if (both.high[d] <= both.low[d]) return false;
  }
  float shared = area(&both), of_a = area(a), of_b = area(b), all = of_a + of_b - shared;
  if (shared <= 0 || of_a <= 0 || of_b <= 0 || all <= 0) return false;
  return shared / all > threshold;
}

static bool better_score(const void *context, uint32_t a, uint32_t b) {
  const float *score = context;
  if (score[a] != score[b]) return score[a] > score[b];  // the best comes first
  return a < b;
}

static void suppress(const seer_host_tensor *in, const seer_host_tensor *out, const int64_t *param,
    uint32_t *candidate) {
  const seer_host_tensor *boxes = &in[0], *scores = &in[1];
  int64_t most = in[2].onnx_dtype ? *(const int64_t *)in[2].data : 0, room = out[0].bound[0], n = 0;
  float iou = in[3].onnx_dtype ? *(const float *)in[3].data : 0;
  int64_t *selected = out[0].data;
  int64_t n_box = boxes->dim[1] < scores->dim[2] ? boxes->dim[1] : scores->dim[2];
  clear(&out[0]);
  for (int64_t b = 0; b < scores->dim[0] && b < boxes->dim[0]; b++) {
    const float *corner = (const float *)boxes->data + b * boxes->bound[1] * 4;
    for (int64_t c = 0; c < scores->dim[1]; c++) {
      const float *score =
          (const float *)scores->data + (b * scores->bound[1] + c) * scores->bound[2];
      uint32_t n_candidate = 0;
      for (int64_t i = 0; i < n_box; i++)
        if (!in[4].onnx_dtype || score[i] > *(const float *)in[4].data)
          candidate[n_candidate++] = (uint32_t)i;
      sort(&(order){better_score, score}, candidate, n_candidate);
      int64_t first = n;
      for (uint32_t k = 0; k < n_candidate && n - first < most && n < room; k++) {
        box mine = read_box(corner + (int64_t)candidate[k] * 4, param[0] != 0);
        bool is_free = true;
        for (int64_t s = first; s < n && is_free; s++) {
          box other = read_box(corner + selected[3 * s + 2] * 4, param[0] != 0);
          is_free = !overlaps(&mine, &other, iou);
        }
        if (!is_free) continue;
        selected[3 * n] = b;
        selected[3 * n + 1] = c;
        selected[3 * n + 2] = candidate[k];
        n++;
      }
    }
  }
  put_count(&out[1], n);
}

// ---- Unique: items are elements, or slices along an axis

typedef struct {
  const seer_host_tensor *x;
  int64_t n_outer, extent, n_inner;  // item i: elements (o * extent + i) * n_inner + [0, n_inner)
} items;

static int compare(const items *all, uint32_t a, uint32_t b) {
  for (int64_t o = 0; o < all->n_outer; o++) {
    for (int64_t k = 0; k < all->n_inner; k++) {
      int64_t row = o * all->extent;
      uint64_t x = key_of(all->x->onnx_dtype, all->x->data, (row + a) * all->n_inner + k);
      uint64_t y = key_of(all->x->onnx_dtype, all->x->data, (row + b) * all->n_inner + k);
      if (x != y) return x < y ? -1 : 1;
    }
  }
  return 0;
}

static bool item_before(const void *context, uint32_t a, uint32_t b) {
  int way = compare(context, a, b);
  return way < 0 || (way == 0 && a < b);
}

static void unique(const seer_host_tensor *x, const seer_host_tensor *out, const int64_t *param,
    uint32_t *sorted) {
  int32_t axis = (int32_t)param[0];
  items all = {x, 1, product(x->bound, 0, x->rank), 1};
  int64_t n = product(x->dim, 0, x->rank), n_found = 0;
  if (axis >= 0) {
    all = (items){
        x, product(x->bound, 0, axis), x->bound[axis], product(x->bound, axis + 1, x->rank)};
    n = x->dim[axis];
  }
  uint32_t *first = sorted + n, *number = first + n;  // of an item's equals; by first item
  for (int64_t i = 0; i < n; i++) sorted[i] = (uint32_t)i;
  sort(&(order){item_before, &all}, sorted, (uint32_t)n);
  for (int64_t i = 0; i < n; i++) {
    bool is_new = i == 0 || compare(&all, sorted[i - 1], sorted[i]) != 0;
    first[sorted[i]] = is_new ? sorted[i] : first[sorted[i - 1]];
  }
  for (int k = 0; k < 4; k++) clear(&out[k]);
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
  put_count(&out[4], n_found);
}

// ---- putting together

static void compact(const seer_host_tensor *x, const seer_host_tensor *y) {
  // Whole rows of the dimensions behind the last one that is not full.
  int32_t rank = x->rank;
  while (rank > 0 && x->dim[rank - 1] == x->bound[rank - 1]) rank--;
  uint64_t size = (uint64_t)product(x->bound, rank, x->rank) * seer_onnx_dtype_bytes(x->onnx_dtype);
  int64_t index[MAX_RANK] = {0};
  uint8_t *to = y->data;
  for (bool more = product(x->dim, 0, rank) > 0; more; more = next(index, x->dim, rank)) {
    memcpy(to, (const uint8_t *)x->data + (uint64_t)offset_of(index, x->bound, rank) * size, size);
    to += size;
  }
}

// ---- the list

void seer_host_run(seer_host_function function, const seer_host_tensor *in,
    const seer_host_tensor *out, const int64_t *param, void *scratch) {
  switch (function) {
    case SEER_HOST_NONZERO:
      non_zero(in, out);
      break;
    case SEER_HOST_NMS:
      suppress(in, out, param, scratch);
      break;
    case SEER_HOST_UNIQUE:
      unique(in, out, param, scratch);
      break;
    case SEER_HOST_COMPACT:
      compact(in, out);
      break;
    case SEER_HOST_NONE:
    case SEER_HOST_COUNT:
      break;
  }
}

static int64_t n_items(const seer_plan_tensor *x, int64_t axis) {
  return axis >= 0 ? x->dim[axis] : product(x->dim, 0, x->rank);
}

uint64_t seer_host_scratch_bytes(
    seer_host_function function, const seer_plan_tensor *in, const int64_t *param) {
  switch (function) {
    case SEER_HOST_NMS:
      return (uint64_t)in[0].dim[1] * sizeof(uint32_t);
    case SEER_HOST_UNIQUE:
      return (uint64_t)n_items(&in[0], param[0]) * 3 * sizeof(uint32_t);
    case SEER_HOST_NONE:
    case SEER_HOST_NONZERO:
    case SEER_HOST_COMPACT:
    case SEER_HOST_COUNT:
      break;
  }
  return 0;
}

// dtype 0: any; n -1: any.
static bool is_list(const seer_plan_tensor *t, int32_t onnx_dtype, int64_t n) {
  return t->onnx_dtype == onnx_dtype && product(t->dim, 0, t->rank) == n;
}

static bool is_absent_or(const seer_plan_tensor *t, int32_t onnx_dtype, int64_t n) {
  return t->onnx_dtype == 0 || is_list(t, onnx_dtype, n);
}

// `but`: a dimension in which b may be larger; the rank: none.
static bool same_bounds(const seer_plan_tensor *a, const seer_plan_tensor *b, int64_t but) {
  bool is_same = a->onnx_dtype == b->onnx_dtype && a->rank == b->rank;
  for (int32_t d = 0; d < a->rank && is_same; d++)
    is_same = d == but ? b->dim[d] >= a->dim[d] : a->dim[d] == b->dim[d];
  return is_same;
}

static bool has_counts(const seer_plan_host *host, uint32_t n_in, uint32_t n_out) {
  return host->n_in == n_in && host->n_out == n_out;
}

static bool is_sound(
    const seer_plan_host *host, const seer_plan_tensor *in, const seer_plan_tensor *out) {
  switch ((seer_host_function)host->function) {
    case SEER_HOST_NONZERO:
      return has_counts(host, 1, 2) && in[0].onnx_dtype && in[0].rank > 0 &&
          out[0].onnx_dtype == I64 && out[0].rank == 2 && out[0].dim[0] == in[0].rank &&
          is_absent_or(&out[1], I64, 1);
    case SEER_HOST_NMS:
      return has_counts(host, 5, 2) && in[0].onnx_dtype == F32 && in[0].rank == 3 &&
          in[0].dim[2] == 4 && in[1].onnx_dtype == F32 && in[1].rank == 3 &&
          in[0].dim[1] <= MAX_ITEMS && is_absent_or(&in[2], I64, 1) &&
          is_absent_or(&in[3], F32, 1) && is_absent_or(&in[4], F32, 1) &&
          out[0].onnx_dtype == I64 && out[0].rank == 2 && out[0].dim[1] == 3 &&
          is_absent_or(&out[1], I64, 1);
    case SEER_HOST_UNIQUE: {
      if (!has_counts(host, 1, 5) || in[0].onnx_dtype == 0 || out[0].onnx_dtype == 0) return false;
      int64_t axis = host->param[0];
      if (axis < -1 || axis >= in[0].rank) return false;
      int64_t n = n_items(&in[0], axis);
      bool fits = axis >= 0
          ? same_bounds(&in[0], &out[0], axis)
          : out[0].onnx_dtype == in[0].onnx_dtype && out[0].rank == 1 && out[0].dim[0] >= n;
      // a size inside would put items where they are not
      for (int32_t d = 0; d < in[0].rank; d++)
        fits = fits && (in[0].size_arg[d] == 0 || in[0].rank == 1);
      return fits && n <= MAX_ITEMS && is_absent_or(&out[1], I64, n) &&
          is_absent_or(&out[2], I64, n) && is_absent_or(&out[3], I64, n) &&
          is_absent_or(&out[4], I64, 1);
    }
    case SEER_HOST_COMPACT:
      return has_counts(host, 1, 1) && in[0].onnx_dtype && same_bounds(&in[0], &out[0], in[0].rank);
    case SEER_HOST_NONE:
    case SEER_HOST_COUNT:
      break;
  }
  return false;
}

const char *seer_host_check(const seer_plan_host *host, const seer_plan_tensor *in,
    const seer_plan_tensor *out, uint64_t n_scratch_bytes) {
  if (host->n_in + host->n_out > SEER_HOST_MAX_TENSORS) return "a host call has too many tensors";
  if (!is_sound(host, in, out)) return "a host call's tensors do not fit it";
  uint64_t need = seer_host_scratch_bytes((seer_host_function)host->function, in, host->param);
  return need <= n_scratch_bytes ? NULL : "a host call's scratch is too small";
}
