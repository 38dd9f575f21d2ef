// scatter.c - ScatterElements and ScatterND: y is x, then each update goes to its place, in
// their order. Who shares the work must keep that order for every element of y: parts of
// ScatterElements have columns of their own along a dimension that is not the axis, parts of
// ScatterND rows of y, for which each looks through all places.
//
//   phase 0  y = x (halves that are joined: as f32 in the scratch)
//   phase 1  the updates
//   phase 2  halves: y = the scratch, rounded
#include "runtime/host/elem.h"

#define COPY_BYTES (1 << 17)  // worth a part
#define WORTH_ELEMS (1 << 13)

static bool has_sums(const seer_host_call *call) {
  int32_t dtype = call->out[0].onnx_dtype;
  return call->param[1] != SEER_HOST_PUT && (dtype == SEER_HOST_F16 || dtype == SEER_HOST_BF16);
}

static int64_t n_elems(const seer_host_tensor *t) {
  return seer_host_product(t->bound, 0, t->rank);
}

// ---- updates to elements of y: y[at[i]] joins u[i]; at -1: nowhere

typedef void (*join_function)(void *y, const void *u, const int64_t *at, uint32_t n);

#define JOIN(name, type, result)                                                      \
  static void name(void *y_data, const void *u_data, const int64_t *at, uint32_t n) { \
    type *y = y_data;                                                                 \
    const type *u = u_data;                                                           \
    for (uint32_t i = 0; i < n; i++) {                                                \
      if (at[i] < 0) continue;                                                        \
      type a = y[at[i]], b = u[i];                                                    \
      (void)a;                                                                        \
      y[at[i]] = (type)(result);                                                      \
    }                                                                                 \
  }
// Integers wrap.
#define JOINS_OF_INT(name, type)                    \
  JOIN(add_##name, type, (uint64_t)a + (uint64_t)b) \
  JOIN(mul_##name, type, (uint64_t)a *(uint64_t)b)  \
  JOIN(min_##name, type, b < a ? b : a)             \
  JOIN(max_##name, type, b > a ? b : a)
#define JOINS_OF_FLOAT(name, type)                             \
  JOIN(add_##name, type, a + b)                                \
  JOIN(mul_##name, type, a *b)                                 \
  JOIN(min_##name, type, a != a ? a : b < a || b != b ? b : a) \
  JOIN(max_##name, type, a != a ? a : b > a || b != b ? b : a)
JOIN(put_1, uint8_t, b)
JOIN(put_2, uint16_t, b)
JOIN(put_4, uint32_t, b)
JOIN(put_8, uint64_t, b)
JOIN(or_bool, uint8_t, a | b)
JOIN(and_bool, uint8_t, a &b)
JOINS_OF_INT(i8, int8_t)
JOINS_OF_INT(i16, int16_t)
JOINS_OF_INT(i32, int32_t)
JOINS_OF_INT(i64, int64_t)
JOINS_OF_INT(u8, uint8_t)
JOINS_OF_INT(u16, uint16_t)
JOINS_OF_INT(u32, uint32_t)
JOINS_OF_INT(u64, uint64_t)
JOINS_OF_FLOAT(f32, float)
JOINS_OF_FLOAT(f64, double)

#define ROW(dtype, name)                                            \
  {                                                                 \
    dtype, { NULL, add_##name, mul_##name, min_##name, max_##name } \
  }
static const struct {
  int32_t onnx_dtype;
  join_function join[SEER_HOST_MAX + 1];
} joins[] = {
    ROW(SEER_HOST_F32, f32),
    ROW(SEER_HOST_F64, f64),
    ROW(SEER_HOST_F16, f32),
    ROW(SEER_HOST_BF16, f32),
    ROW(SEER_HOST_I8, i8),
    ROW(SEER_HOST_I16, i16),
    ROW(SEER_HOST_I32, i32),
    ROW(SEER_HOST_I64, i64),
    ROW(SEER_HOST_U8, u8),
    ROW(SEER_HOST_U16, u16),
    ROW(SEER_HOST_U32, u32),
    ROW(SEER_HOST_U64, u64),
    {SEER_HOST_BOOL, {NULL, or_bool, and_bool, and_bool, or_bool}},
};

// NULL: there is none.
static join_function find_join(int32_t onnx_dtype, int64_t how) {
  if (how == SEER_HOST_PUT) {
    switch (seer_onnx_dtype_bytes(onnx_dtype)) {
      case 1:
        return put_1;
      case 2:
        return put_2;
      case 4:
        return put_4;
      case 8:
        return put_8;
      default:
        return NULL;
    }
  }
  for (size_t k = 0; k < sizeof joins / sizeof *joins; k++)
    if (joins[k].onnx_dtype == onnx_dtype && how > 0 && how <= SEER_HOST_MAX)
      return joins[k].join[how];
  return NULL;
}

// Updates on their way to y, as long as they are neighbours.
typedef struct {
  join_function join;
  void *y;
  const uint8_t *update;
  uint32_t n_bytes;  // of an update
  int32_t half;  // its type, if it is widened; else 0
  uint32_t n;
  int64_t first;  // element of the updates
  int64_t at[256];
} queue;

static void start(queue *q, const seer_host_call *call) {
  const seer_host_tensor *y = &call->out[0];
  bool is_half = has_sums(call);
  q->join = find_join(y->onnx_dtype, call->param[1]);
  q->y = is_half ? call->scratch : y->data;
  q->update = call->in[2].data;
  q->n_bytes = seer_onnx_dtype_bytes(y->onnx_dtype);
  q->half = is_half ? y->onnx_dtype : 0;
  q->n = 0;
  q->first = 0;
}

static void flush(queue *q) {
  const uint8_t *from = q->update + (uint64_t)q->first * q->n_bytes;
  float wide[sizeof q->at / sizeof *q->at];
  if (q->half) {
    for (uint32_t i = 0; i < q->n; i++)
      wide[i] = seer_host_from_half(q->half, ((const uint16_t *)(const void *)from)[i]);
    from = (const uint8_t *)wide;
  }
  q->join(q->y, from, q->at, q->n);
  q->n = 0;
}

static void put(queue *q, int64_t update, int64_t at) {
  if (q->n == sizeof q->at / sizeof *q->at || update != q->first + q->n) flush(q);
  if (q->n == 0) q->first = update;
  q->at[q->n++] = at;
}

// An index that is data; -1: out of range.
static int64_t place_of(const seer_host_tensor *index, int64_t i, int64_t extent) {
  int64_t k = index->onnx_dtype == SEER_HOST_I64 ? ((const int64_t *)index->data)[i]
                                                 : ((const int32_t *)index->data)[i];
  if (k < 0) k += extent;
  return k >= 0 && k < extent ? k : -1;
}

// The size of y's dimension d: x's, which may have just one element.
static int64_t extent_of(const seer_host_call *call, int32_t d) {
  const seer_host_tensor *x = &call->in[0], *y = &call->out[0];
  return x->rank == y->rank && x->bound[d] == y->bound[d] ? x->dim[d] : y->bound[d];
}

// ---- y = x, and back from f32

static uint32_t n_copies(const seer_host_call *call, uint32_t n_threads) {
  return seer_host_parts_of((int64_t)seer_host_bytes(&call->out[0]), COPY_BYTES, n_threads);
}

static void copy(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0], *y = &call->out[0];
  const uint32_t n_bytes = seer_onnx_dtype_bytes(y->onnx_dtype);
  const bool is_one = n_elems(x) == 1;
  int64_t from, to;
  seer_host_share(part, n_elems(y), &from, &to);
  if (from == to) return;
  if (x->data == y->data && !has_sums(call)) return;  // one memory for both
  if (has_sums(call)) {
    const uint16_t *half = x->data;
    float *wide = (float *)(void *)call->scratch;
    for (int64_t i = from; i < to; i++)
      wide[i] = seer_host_from_half(y->onnx_dtype, half[is_one ? 0 : i]);
    return;
  }
  uint8_t *first = (uint8_t *)y->data + (uint64_t)from * n_bytes;
  uint64_t n = (uint64_t)(to - from) * n_bytes, done = n_bytes;
  if (!is_one) {
    memcpy(first, (const uint8_t *)x->data + (uint64_t)from * n_bytes, n);
    return;
  }
  for (memcpy(first, x->data, n_bytes); done < n;) {  // what is there, again
    uint64_t more = done < n - done ? done : n - done;
    if (more > 4096) more = 4096 / n_bytes * n_bytes;
    memcpy(first + done, first, more);
    done += more;
  }
}

static void narrow(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *y = &call->out[0];
  const float *wide = (const float *)(const void *)call->scratch;
  uint16_t *half = y->data;
  int64_t from, to;
  seer_host_share(part, n_elems(y), &from, &to);
  for (int64_t i = from; i < to; i++) half[i] = seer_host_to_half(y->onnx_dtype, wide[i]);
}

// ---- ScatterElements

// The dimension along which parts divide; the axis: none.
static int32_t widest(const seer_host_call *call) {
  const seer_host_tensor *index = &call->in[1];
  int32_t best = (int32_t)call->param[0];
  int64_t most = 1;
  for (int32_t d = 0; d < index->rank; d++) {
    if (d == call->param[0] || index->dim[d] <= most) continue;
    best = d;
    most = index->dim[d];
  }
  return best;
}

static uint32_t n_parts_elements(const seer_host_call *call, uint32_t phase, uint32_t n_threads) {
  if (phase == 0) return n_copies(call, n_threads);
  if (phase == 2) return has_sums(call) ? n_copies(call, n_threads) : 0;
  const seer_host_tensor *index = &call->in[1];
  int64_t n = seer_host_product(index->dim, 0, index->rank);
  int32_t along = widest(call);
  int64_t most = along == call->param[0] ? 1 : index->dim[along];
  if (n == 0) return 0;
  return seer_host_parts_of(n, WORTH_ELEMS, most < n_threads ? (uint32_t)most : n_threads);
}

static void scatter_elements(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *index = &call->in[1], *y = &call->out[0];
  const int32_t axis = (int32_t)call->param[0], along = widest(call), last = index->rank - 1;
  const int64_t extent = extent_of(call, axis);
  int64_t step[SEER_HOST_MAX_RANK], at[SEER_HOST_MAX_RANK] = {0}, first = 0, end = 0;
  for (int32_t d = 0; d <= last; d++) step[d] = seer_host_product(y->bound, d + 1, y->rank);
  if (along != axis) seer_host_share(part, index->dim[along], &first, &end);
  queue q;
  start(&q, call);
  // Rows of the last dimension, of which the part has some, or in each of which it has a piece.
  bool is_cut = along != axis && along == last;
  int64_t from = is_cut ? first : 0, to = is_cut ? end : index->dim[last];
  do {
    if (along != axis && along != last && (at[along] < first || at[along] >= end)) continue;
    int64_t update = seer_host_offset(at, index->bound, index->rank), base = 0;
    for (int32_t d = 0; d < last; d++) base += d == axis ? 0 : at[d] * step[d];
    for (int64_t i = from; i < to; i++) {
      int64_t k = place_of(index, update + i, extent);
      int64_t column = last == axis ? 0 : i;
      put(&q, update + i, k < 0 ? -1 : base + k * step[axis] + column);
    }
  } while (seer_host_next(at, index->dim, last));
  flush(&q);
}

static bool fits_all(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  bool is_one =
      in[0].onnx_dtype == out[0].onnx_dtype && seer_host_product(in[0].dim, 0, in[0].rank) == 1;
  return out[0].onnx_dtype && (is_one || seer_host_alike(&in[0], &out[0], -1)) &&
      (in[1].onnx_dtype == SEER_HOST_I32 || in[1].onnx_dtype == SEER_HOST_I64) &&
      in[2].onnx_dtype == out[0].onnx_dtype && find_join(out[0].onnx_dtype, param[1]);
}

static bool fits_elements(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  const seer_plan_tensor *index = &in[1];
  bool fits = fits_all(in, out, param) && param[0] >= 0 && param[0] < out[0].rank &&
      index->rank == out[0].rank && in[2].rank == index->rank;
  for (int32_t d = 0; d < out[0].rank && fits; d++)
    fits = in[2].dim[d] == index->dim[d] && (d == param[0] || index->dim[d] <= out[0].dim[d]);
  return fits;
}

static seer_host_room room(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)in;
  bool is_half = out[0].onnx_dtype == SEER_HOST_F16 || out[0].onnx_dtype == SEER_HOST_BF16;
  if (!is_half || param[1] == SEER_HOST_PUT) return (seer_host_room){0};
  return (seer_host_room){
      .shared = (uint64_t)seer_host_product(out[0].dim, 0, out[0].rank) * sizeof(float)};
}

const seer_host_desc seer_host_scatter_elements = {.function = SEER_HOST_SCATTER_ELEMENTS,
    .n_in = 3,
    .n_out = 1,
    .fits = fits_elements,
    .room = room,
    .n_phase = 3,
    .n_parts = n_parts_elements,
    .phase = {copy, scatter_elements, narrow}};

// ---- ScatterND: rows of y, which an index tuple names each

typedef struct {
  int32_t n_index;  // dimensions that are indexed
  int64_t n_row, n_inner;  // of y
} row_shape;

static row_shape rows_of(const seer_host_call *call) {
  const seer_host_tensor *index = &call->in[1], *y = &call->out[0];
  int32_t n = (int32_t)index->bound[index->rank - 1];
  return (row_shape){n, seer_host_product(y->bound, 0, n), seer_host_product(y->bound, n, y->rank)};
}

static uint32_t n_parts_nd(const seer_host_call *call, uint32_t phase, uint32_t n_threads) {
  if (phase == 0) return n_copies(call, n_threads);
  if (phase == 2) return has_sums(call) ? n_copies(call, n_threads) : 0;
  const seer_host_tensor *index = &call->in[1];
  row_shape rows = rows_of(call);
  int64_t n = seer_host_product(index->dim, 0, index->rank - 1) * rows.n_inner;
  if (n == 0) return 0;
  return seer_host_parts_of(
      n, WORTH_ELEMS, rows.n_row < n_threads ? (uint32_t)rows.n_row : n_threads);
}

// The row that the tuple from element `at` of the indices on names; -1: none.
static int64_t row_at(const seer_host_call *call, row_shape rows, int64_t at) {
  int64_t row = 0;
  for (int32_t j = 0; j < rows.n_index; j++) {
    int64_t k = place_of(&call->in[1], at + j, extent_of(call, j));
    if (k < 0) return -1;
    row = row * call->out[0].bound[j] + k;
  }
  return row;
}

static void scatter_nd(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *index = &call->in[1], *y = &call->out[0];
  const row_shape rows = rows_of(call);
  const uint64_t n_bytes = (uint64_t)rows.n_inner * seer_onnx_dtype_bytes(y->onnx_dtype);
  const int32_t n_place = index->rank - 1;
  int64_t place[SEER_HOST_MAX_RANK] = {0}, first, end;
  seer_host_share(part, rows.n_row, &first, &end);
  queue q;
  start(&q, call);
  do {
    int64_t nth = seer_host_offset(place, index->bound, n_place);
    int64_t row = row_at(call, rows, nth * rows.n_index);
    if (row < first || row >= end) continue;
    if (call->param[1] == SEER_HOST_PUT) {
      memcpy((uint8_t *)y->data + (uint64_t)row * n_bytes,
          (const uint8_t *)call->in[2].data + (uint64_t)nth * n_bytes, n_bytes);
      continue;
    }
    for (int64_t i = 0; i < rows.n_inner; i++)
      put(&q, nth * rows.n_inner + i, row * rows.n_inner + i);
  } while (seer_host_next(place, index->dim, n_place));
  flush(&q);
}

static bool fits_nd(const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  const seer_plan_tensor *index = &in[1], *update = &in[2];
  if (!fits_all(in, out, param) || index->rank < 1) return false;
  int32_t n_place = index->rank - 1;
  int64_t n = index->dim[n_place];
  if (n < 0 || n > out[0].rank || index->size_arg[n_place]) return false;
  bool fits = update->rank == n_place + out[0].rank - n;
  for (int32_t d = 0; d < update->rank && fits; d++)
    fits = update->dim[d] == (d < n_place ? index->dim[d] : out[0].dim[n + d - n_place]);
  return fits;
}

const seer_host_desc seer_host_scatter_nd = {.function = SEER_HOST_SCATTER_ND,
    .n_in = 3,
    .n_out = 1,
    .fits = fits_nd,
    .room = room,
    .n_phase = 3,
    .n_parts = n_parts_nd,
    .phase = {copy, scatter_nd, narrow}};
