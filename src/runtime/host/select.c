// select.c - operators whose result's size only data decides: NonZero, NonMaxSuppression,
// Unique, as plain loops on one thread.
#include "runtime/host/elem.h"

static void put_count(const seer_host_tensor *t, int64_t n) {
  if (t->onnx_dtype) *(int64_t *)t->data = n;
}

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
  put_count(&out[1], n);
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

// ---- NonMaxSuppression

typedef struct {
  float low[2], high[2], area;
} box;

static float area_of(const float *low, const float *high) {
  return (high[0] - low[0]) * (high[1] - low[1]);
}

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
  b.area = area_of(b.low, b.high);
  return b;
}

static bool overlaps(const box *a, const box *b, float threshold) {
  float low[2], high[2];
  for (int d = 0; d < 2; d++) {
    low[d] = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
    high[d] = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
    if (high[d] <= low[d]) return false;
  }
  float shared = area_of(low, high), all = a->area + b->area - shared;
  if (shared <= 0 || a->area <= 0 || b->area <= 0 || all <= 0) return false;
  return shared / all > threshold;
}

static bool worse_score(const void *context, uint32_t a, uint32_t b) {
  const float *score = context;
  if (score[a] != score[b]) return score[a] < score[b];
  return a > b;  // of equals the first is the best
}

// Boxes of one batch, and the scores of one of their classes.
typedef struct {
  const float *corner, *score;
  int64_t n_box;
  bool is_center;
  float iou;
  const float *least;  // score; NULL: any
  // scratch, room for n_box: those that were selected, and those that may be
  box *kept;
  uint32_t *candidate;
} class_scores;

// At most `most`; their numbers go to selected[0], [3], [6], ...
static int64_t select_boxes(const class_scores *c, int64_t most, int64_t *selected) {
  const order by = {worse_score, c->score};
  uint32_t n_candidate = 0;
  int64_t n = 0;
  const float least = c->least ? *c->least : 0;
  for (int64_t i = 0; i < c->n_box; i++)
    if (!c->least || c->score[i] > least) c->candidate[n_candidate++] = (uint32_t)i;
  // The best is at the heap's root: only those that are looked at are taken out, most often few.
  make_heap(&by, c->candidate, n_candidate);
  while (n_candidate > 0 && n < most) {
    uint32_t best = c->candidate[0];
    c->candidate[0] = c->candidate[--n_candidate];
    sift(&by, c->candidate, 0, n_candidate);
    c->kept[n] = read_box(c->corner + (int64_t)best * 4, c->is_center);
    bool is_free = true;
    for (int64_t k = 0; k < n && is_free; k++)
      is_free = !overlaps(&c->kept[n], &c->kept[k], c->iou);
    if (is_free) selected[3 * n++] = best;
  }
  return n;
}

static void suppress(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *in = call->in, *out = call->out;
  const seer_host_tensor *boxes = &in[0], *scores = &in[1];
  int64_t most = in[2].onnx_dtype ? *(const int64_t *)in[2].data : 0, room = out[0].bound[0], n = 0;
  int64_t *selected = out[0].data;
  (void)part;
  class_scores one = {.is_center = call->param[0] != 0,
      .n_box = boxes->dim[1] < scores->dim[2] ? boxes->dim[1] : scores->dim[2],
      .iou = in[3].onnx_dtype ? *(const float *)in[3].data : 0,
      .least = in[4].onnx_dtype ? in[4].data : NULL,
      .kept = (box *)(void *)call->scratch};
  one.candidate = (uint32_t *)(void *)(one.kept + boxes->bound[1]);
  seer_host_clear(&out[0]);
  for (int64_t b = 0; b < scores->dim[0] && b < boxes->dim[0]; b++) {
    one.corner = (const float *)boxes->data + b * boxes->bound[1] * 4;
    for (int64_t c = 0; c < scores->dim[1]; c++) {
      one.score = (const float *)scores->data + (b * scores->bound[1] + c) * scores->bound[2];
      int64_t first = n;
      n += select_boxes(&one, most < room - n ? most : room - n, selected + 3 * n + 2);
      for (int64_t k = first; k < n; k++) {
        selected[3 * k] = b;
        selected[3 * k + 1] = c;
      }
    }
  }
  put_count(&out[1], n);
}

static bool fits_nms(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)param;
  return in[0].onnx_dtype == SEER_HOST_F32 && in[0].rank == 3 && in[0].dim[2] == 4 &&
      in[1].onnx_dtype == SEER_HOST_F32 && in[1].rank == 3 && in[0].dim[1] <= SEER_HOST_MAX_ITEMS &&
      seer_host_is_absent_or(&in[2], SEER_HOST_I64, 1) &&
      seer_host_is_absent_or(&in[3], SEER_HOST_F32, 1) &&
      seer_host_is_absent_or(&in[4], SEER_HOST_F32, 1) && out[0].onnx_dtype == SEER_HOST_I64 &&
      out[0].rank == 2 && out[0].dim[1] == 3 && seer_host_is_absent_or(&out[1], SEER_HOST_I64, 1);
}

static seer_host_room room_nms(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)out;
  (void)param;
  return (seer_host_room){.shared = (uint64_t)in[0].dim[1] * (sizeof(box) + sizeof(uint32_t))};
}

const seer_host_desc seer_host_nms = {.function = SEER_HOST_NMS,
    .n_in = 5,
    .n_out = 2,
    .fits = fits_nms,
    .room = room_nms,
    .n_phase = 1,
    .phase = {suppress}};

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
  put_count(&out[4], n_found);
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
