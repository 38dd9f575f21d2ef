// suppress.c - NonMaxSuppression: of each class the best boxes that overlap none of its better ones
// by too much. The scores of those that pass the least score become a heap of keys, out of which as
// many are taken as are looked at, most often few; a box is read when it is looked at.
#include "runtime/host/elem.h"
#include "runtime/host/heap.h"

#define BLOCK 16  // scores that are asked at once whether any is good enough

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

// Without a branch for each side: most boxes are apart, by either.
static inline bool overlaps(const box *a, const box *b, float threshold) {
  float low[2], high[2];
  for (int d = 0; d < 2; d++) {
    low[d] = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
    high[d] = a->high[d] < b->high[d] ? a->high[d] : b->high[d];
  }
  if (!((high[0] > low[0]) & (high[1] > low[1]))) return false;
  float shared = area_of(low, high), all = a->area + b->area - shared;
  if (shared <= 0 || a->area <= 0 || b->area <= 0 || all <= 0) return false;
  return shared / all > threshold;
}

// Boxes of one batch, and the scores of one of their classes.
typedef struct {
  const float *corner, *score;
  uint32_t n_box;
  bool is_center;
  float iou;
  const float *least;  // score; NULL: any
  // scratch, room for n_box: those that were selected, and those that may be
  box *kept;
  uint64_t *heap;
} class_scores;

// A candidate is one number, the greatest is the best: the score's key above, NaN least of all, and
// below it the box's number from the end, as of equals the first is the best.
static inline uint64_t candidate_of(float score, uint32_t number) {
  const seer_host_order by = seer_host_order_of(SEER_HOST_F32);
  uint64_t key = seer_host_key(by, seer_host_bits(&score, 0, sizeof score));
  return (key == UINT64_MAX ? 0 : key << 32) | (uint32_t)~number;
}

static inline bool is_worse(uint64_t a, uint64_t b) { return a < b; }

SEER_HOST_HEAP(uint64_t, is_worse)

static inline bool is_any_above(const float *score, float least) {
  int32_t any = 0;
  for (uint32_t i = 0; i < BLOCK; i++) any |= score[i] > least;
  return any != 0;
}

// How many boxes may be selected, which are put into the heap.
static uint32_t gather(const class_scores *c) {
  const float least = c->least ? *c->least : 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n_box;) {
    uint32_t end = c->n_box - i < BLOCK ? c->n_box : i + BLOCK;
    if (c->least && end == i + BLOCK && !is_any_above(c->score + i, least)) i = end;
    for (; i < end; i++) {
      c->heap[n] = candidate_of(c->score[i], i);
      n += !c->least || c->score[i] > least;
    }
  }
  return n;
}

// At most `most`; their numbers go to selected[0], [3], [6], ...
static int64_t select_boxes(const class_scores *c, int64_t most, int64_t *selected) {
  uint32_t n_candidate = gather(c);
  int64_t n = 0;
  make_heap(c->heap, n_candidate);
  for (; n_candidate > 0 && n < most; n_candidate--) {
    const uint32_t best = ~(uint32_t)take_root(c->heap, n_candidate);
    const box found = read_box(c->corner + (uint64_t)best * 4, c->is_center);
    bool is_free = true;
    for (int64_t k = 0; k < n && is_free; k++) is_free = !overlaps(&found, &c->kept[k], c->iou);
    if (!is_free) continue;
    c->kept[n] = found;
    selected[3 * n++] = best;
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
      .n_box = (uint32_t)(boxes->dim[1] < scores->dim[2] ? boxes->dim[1] : scores->dim[2]),
      .iou = in[3].onnx_dtype ? *(const float *)in[3].data : 0,
      .least = in[4].onnx_dtype ? in[4].data : NULL,
      .heap = (uint64_t *)(void *)call->scratch};
  one.kept = (box *)(void *)(one.heap + boxes->bound[1]);
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
  seer_host_put_count(&out[1], n);
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
  return (seer_host_room){.shared = (uint64_t)in[0].dim[1] * (sizeof(box) + sizeof(uint64_t))};
}

const seer_host_desc seer_host_nms = {.function = SEER_HOST_NMS,
    .n_in = 5,
    .n_out = 2,
    .fits = fits_nms,
    .room = room_nms,
    .n_phase = 1,
    .phase = {suppress}};
