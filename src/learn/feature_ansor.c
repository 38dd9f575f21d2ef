// feature_ansor.c - nest summary -> Ansor's 164 columns, one row per statement.
// Written from the published definitions (Ansor, OSDI'20, appendix B, and src/auto_scheduler/
// feature.cc of TVM), in closed form: what TVM finds by a walk over a lowered program with a bound
// analysis per loop, a nest has as extents and coefficients. What the published code gets wrong
// (feature.h) is wrong here, too. Groups: operations; annotated loops; processors of a GPU, of
// which there are none here; five operands; intensity; allocation; loops around.

#include <math.h>
#include <string.h>

#include "learn/feature.h"

#define LINE_BYTES 64.0  // published, for every target
#define N_OPERAND 5
#define N_SAMPLE 10
#define UNKNOWN_STRIDE 2  // published: of what an index is not understood in
#define WITHOUT_REUSE 2.0  // published: what stands for 1 / reuse where there is none

// ---- names
#define PLACES(of)                                                                          \
  of "_type.kPosNone", of "_type.kPosInnerSpatial", of "_type.kPosMiddleSpatial",           \
      of "_type.kPosOuterSpatial", of "_type.kPosInnerReduce", of "_type.kPosMiddleReduce", \
      of "_type.kPosOuterReduce", of "_type.kPosMixed"
#define ANNOTATION(of) of "_num", of "_prod", of "_len", PLACES(of)
#define OPERAND(b)                                                                              \
  b ".acc_type.kRead", b ".acc_type.kWrite", b ".acc_type.kReadWrite", b ".bytes",              \
      b ".unique_bytes", b ".lines", b ".unique_lines", b ".reuse_type.kLoopMultipleRead",      \
      b ".reuse_type.kSerialMultipleReadWrite", b ".reuse_type.kNoReuse", b ".reuse_dis_iter",  \
      b ".reuse_dis_bytes", b ".reuse_ct", b ".bytes_d_reuse_ct", b ".unique_bytes_d_reuse_ct", \
      b ".lines_d_reuse_ct", b ".unique_lines_d_reuse_ct", b ".stride"
#define CURVE(i) "arith_intensity_curve_" i

static const char *const names[] = {"float_mad", "float_addsub", "float_mul", "float_divmod",
    "float_cmp", "float_mathfunc", "float_otherfunc", "int_mad", "int_addsub", "int_mul",
    "int_divmod", "int_cmp", "int_mathfunc", "int_otherfunc", "bool_op", "select_op",
    ANNOTATION("vec"), ANNOTATION("unroll"), ANNOTATION("parallel"), "is_gpu", "blockIdx_x_len",
    "blockIdx_y_len", "blockIdx_z_len", "threadIdx_x_len", "threadIdx_y_len", "threadIdx_z_len",
    "vthread_len", OPERAND("B0"), OPERAND("B1"), OPERAND("B2"), OPERAND("B3"), OPERAND("B4"),
    CURVE("0"), CURVE("1"), CURVE("2"), CURVE("3"), CURVE("4"), CURVE("5"), CURVE("6"), CURVE("7"),
    CURVE("8"), CURVE("9"), "alloc_size", "alloc_prod", "alloc_outer_prod", "alloc_inner_prod",
    "outer_prod", "num_loops", "auto_unroll_max_step"};

// First columns of groups.
enum {
  FLOAT_MAD = 0,
  INT_ADDSUB = 8,
  VEC = 16,
  N_ANNOTATION = 11,
  UNROLL = VEC + N_ANNOTATION,
  PARALLEL = UNROLL + N_ANNOTATION,
  IS_GPU = PARALLEL + N_ANNOTATION,
  N_GPU_LENGTH = 7,
  OPERANDS = IS_GPU + 1 + N_GPU_LENGTH,
  N_OF_OPERAND = 18,
  INTENSITY = OPERANDS + N_OPERAND * N_OF_OPERAND,
  ALLOC = INTENSITY + N_SAMPLE,
  OUTER = ALLOC + 4,
  N_COLUMN = OUTER + 3
};
_Static_assert(N_COLUMN == SEER_COUNT_OF(names) && N_COLUMN == 164, "Ansor's columns");
_Static_assert(N_COLUMN <= SEER_FEATURE_MAX, "more columns than callers make room for");

static float slog(double x) { return (float)(x < 0 ? -log2(1 - x) : log2(1 + x)); }

// ---- buffers of a statement

// All that a statement does with one buffer.
typedef struct {
  const seer_nest_access *first;  // of its accesses; the write, if there is one
  uint32_t buf;
  bool is_read, is_written;
  uint64_t moving;  // bit l: loop l moves some access
  double elems;  // of the buffer
  double touched[SEER_NEST_MAX_LOOPS + 1];  // by depth
} use;

typedef struct {
  const seer_nest_statement *st;
  double iterations;
  uint32_t first_reduce;  // loops before it are around the init, too; none: 0
  uint32_t n_use;
  use use[SEER_NEST_MAX_ACCESSES];
} uses;

static bool moves(const seer_nest_access *a, uint32_t l) {
  bool is_known = a->loop_dim[l] != SEER_NEST_NO_DIM && a->loop_coef[l] != 0;
  return is_known || (a->is_whole && a->storage != SEER_NEST_PACKED);
}

// Elements of the smallest box around what the loops from each depth inwards touch.
static void box_by_depth(const seer_nest_statement *st, const seer_nest_access *a, double *out) {
  if (a->is_whole || a->storage == SEER_NEST_PACKED) {  // anywhere; or as exact as its layout
    seer_nest_touched_by_depth(st, a, out);
    return;
  }
  double length[SEER_MAX_RANK];
  for (uint32_t d = 0; d < a->rank; d++) length[d] = a->span[d];
  for (uint32_t l = st->n_loop + 1u; l-- > 0;) {
    if (l < st->n_loop && a->loop_dim[l] < a->rank)
      length[a->loop_dim[l]] += fabs((double)a->loop_coef[l]) * (double)(st->loop[l].extent - 1);
    out[l] = 1;
    for (uint32_t d = 0; d < a->rank; d++) out[l] *= fmin(length[d], (double)a->dim[d]);
  }
}

static use *find_use(uses *all, const seer_nest_access *a) {
  uint32_t u = 0;
  while (u < all->n_use && all->use[u].buf != a->buf) u++;
  use *own = &all->use[u];
  if (u < all->n_use) return own;
  all->n_use++;
  *own = (use){.first = a, .buf = a->buf, .elems = 1};
  for (uint32_t d = 0; d < a->rank; d++) own->elems *= (double)a->dim[d];
  return own;
}

static void find_uses(const seer_nest_statement *st, uses *out) {
  out->st = st;
  out->n_use = 0;
  out->iterations = 1;
  for (uint32_t l = 0; l < st->n_loop; l++) out->iterations *= (double)st->loop[l].extent;
  out->first_reduce = 0;
  if (st->is_reduction) {
    out->first_reduce = st->first_own;
    while (out->first_reduce < st->n_loop && !st->loop[out->first_reduce].is_reduce)
      out->first_reduce++;
  }
  for (uint32_t k = 0; k < st->n_access; k++) {
    const seer_nest_access *a = &st->access[k];
    use *own = find_use(out, a);
    own->is_written |= a->is_write;
    own->is_read |= !a->is_write || st->is_reduction;
    double touched[SEER_NEST_MAX_LOOPS + 1];
    box_by_depth(st, a, touched);
    for (uint32_t l = 0; l <= st->n_loop; l++)
      own->touched[l] = fmin(own->touched[l] + touched[l], fmax(own->elems, touched[l]));
    for (uint32_t l = 0; l < st->n_loop; l++) own->moving |= (uint64_t)moves(a, l) << l;
  }
}

// ---- lines

// Elements between iterations of loop `l`, which moves `a`.
static double stride_of_access(
    const seer_nest_statement *st, const seer_nest_access *a, uint32_t l) {
  double inside = 1;
  if (a->storage == SEER_NEST_PACKED) {
    for (uint32_t k = l + 1; k < st->n_loop; k++)
      inside *= moves(a, k) ? (double)st->loop[k].extent : 1;
    return inside;
  }
  if (a->loop_dim[l] == SEER_NEST_NO_DIM || a->loop_coef[l] == 0) return UNKNOWN_STRIDE;
  for (uint32_t d = a->loop_dim[l] + 1u; d < a->rank; d++)
    inside *= d + 1u == a->rank ? (double)a->row_pitch : (double)a->dim[d];
  return inside * fabs((double)a->loop_coef[l]);
}

// The least of the buffer's accesses; 0: the loop moves none.
static double stride_of(const seer_nest_statement *st, uint32_t buf, uint32_t l) {
  double least = 0;
  for (uint32_t k = 0; k < st->n_access; k++) {
    const seer_nest_access *a = &st->access[k];
    if (a->buf != buf || !moves(a, l)) continue;
    double stride = stride_of_access(st, a, l);
    if (least == 0 || stride < least) least = stride;
  }
  return least;
}

// Lines that all iterations bring, counted by how the innermost loop that moves the buffer walks.
// Published: each loop inside that one counts with the innermost one's extent.
static double lines_of(const uses *all, const use *own) {
  const seer_nest_statement *st = all->st;
  double reduce = 1, stride = 0;
  for (uint32_t l = st->n_loop; l-- > 0 && stride == 0;) {
    stride = stride_of(st, own->buf, l);
    if (stride == 0) reduce *= (double)st->loop[st->n_loop - 1u].extent;
  }
  return fmax(1, all->iterations / reduce * fmin(1, stride * own->first->elem_bytes / LINE_BYTES));
}

// A buffer's dimensions and what of them all loops touch. Packed: a dimension for each loop.
typedef struct {
  uint32_t rank;
  double dim[SEER_NEST_MAX_LOOPS], touched[SEER_NEST_MAX_LOOPS];
} shape;

static shape shape_of(const seer_nest_statement *st, const seer_nest_access *a) {
  _Static_assert(SEER_MAX_RANK <= SEER_NEST_MAX_LOOPS, "room for dimensions");
  shape s;
  s.rank = 0;
  if (a->storage == SEER_NEST_PACKED) {
    for (uint32_t l = 0; l < st->n_loop; l++) {
      if (moves(a, l)) s.dim[s.rank] = s.touched[s.rank] = (double)st->loop[l].extent;
      s.rank += moves(a, l);
    }
    return s;
  }
  for (; s.rank < a->rank; s.rank++) {
    s.dim[s.rank] = (double)a->dim[s.rank];
    s.touched[s.rank] = a->is_whole ? (double)a->dim[s.rank] : a->span[s.rank];
  }
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (a->loop_dim[l] >= a->rank) continue;
    s.touched[a->loop_dim[l]] += fabs((double)a->loop_coef[l]) * (double)(st->loop[l].extent - 1);
  }
  for (uint32_t d = 0; d < s.rank; d++) s.touched[d] = fmin(s.touched[d], s.dim[d]);
  return s;
}

// Elements that lie one after another. Published: the innermost dimension that is touched from end
// to end, wherever it stands, by the region that was computed last, of any buffer: here the
// target's. (There it hangs on the order of a hash map, which has what came first at its end.)
static double contiguous_elems(const uses *all, const use *own) {
  shape mine = shape_of(all->st, own->first), region = mine;
  for (uint32_t u = all->n_use; u-- > 0;) {
    if (all->use[u].is_written) region = shape_of(all->st, all->use[u].first);
  }
  uint32_t d = mine.rank < region.rank ? mine.rank : region.rank;
  while (d > 0 && region.touched[d - 1] != mine.dim[d - 1]) d--;
  return d > 0 ? mine.dim[d - 1] : 1;
}

// ---- reuse
typedef enum { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse_kind;

typedef struct {
  reuse_kind kind;
  double iterations, bytes, count;
} reuse;

// The same loops are around both as far as they are the same.
static uint32_t n_shared(const seer_nest_statement *a, const seer_nest_statement *b) {
  uint32_t l = 0;
  while (l < a->n_loop && l < b->n_loop && a->loop[l].stage == b->loop[l].stage &&
      a->loop[l].axis == b->loop[l].axis && a->loop[l].level == b->loop[l].level)
    l++;
  return l;
}

// What one loop sees of buffers: of each statement inside, and of an init, each buffer once.
typedef struct {
  double bytes, elem_bytes;  // of all
  uint32_t n;  // entries of the buffer in question
  double least;  // elements of one of them
} view;

static void see_entry(view *v, const use *u, uint32_t l, uint32_t buf) {
  v->bytes += u->touched[l] * u->first->elem_bytes;
  v->elem_bytes += u->first->elem_bytes;
  if (u->buf != buf) return;
  v->n++;
  v->least = fmin(v->least, u->touched[l]);
}

static void see_statement(view *v, const uses *all, uint32_t l, uint32_t buf) {
  for (uint32_t u = 0; u < all->n_use; u++) {
    see_entry(v, &all->use[u], l, buf);
    if (l < all->first_reduce && all->use[u].is_written) see_entry(v, &all->use[u], l, buf);
  }
}

// Of loop `l` of statement `at`. Published: statements before it (stages are in their order).
static view see(const uses *all, uint32_t n, uint32_t at, uint32_t l, uint32_t buf) {
  view v = {.least = INFINITY};
  for (uint32_t i = 0; i < n; i++) {
    bool is_seen = i == at || all[i].st->stage < all[at].st->stage;
    if (is_seen && (i == at || n_shared(all[i].st, all[at].st) > l))
      see_statement(&v, &all[i], l, buf);
  }
  return v;
}

static reuse reuse_of(const uses *all, uint32_t n, uint32_t at, const use *own) {
  const seer_nest_statement *st = all[at].st;
  double iterations = 1, bytes = -1;
  for (uint32_t l = st->n_loop; l-- > 0;) {
    view v = see(all, n, at, l, own->buf);
    double extent = (double)st->loop[l].extent;
    if (!(own->moving >> l & 1))
      return (reuse){REUSE_LOOP, iterations, bytes < 0 ? v.elem_bytes : bytes, extent};
    iterations *= extent;
    bytes = v.bytes;
    if (v.n > 1) return (reuse){REUSE_SERIAL, v.least / extent, v.bytes / extent, v.n - 1};
  }
  return (reuse){.kind = REUSE_NONE};
}

// ---- groups

// Published: a multiply-add is never recognised; it counts as an addition and a multiplication.
static void fill_operations(const uses *all, float *row) {
  const seer_nest_statement *st = all->st;
  double n = all->iterations, fma = (double)st->n_fma;
  float *out = row + FLOAT_MAD;
  out[1] = slog(n * ((double)st->n_add + fma));
  out[2] = slog(n * ((double)st->n_mul + fma));
  out[3] = slog(n * (double)st->n_div);
  out[4] = slog(n * (double)st->n_cmp);
  out[5] = slog(n * (double)st->n_special);
  row[INT_ADDSUB] = slog(n * (double)st->n_int);
}

// Published: where loops of an annotation stand is not looked at.
enum { PLACE_NONE, PLACE_MIXED = 7 };

static void fill_annotation(const seer_nest_statement *st, seer_loop_ann ann, float *out) {
  double n = 0, product = 1, length = 0;
  for (uint32_t l = 0; l < st->n_loop; l++) {
    if (st->loop[l].ann != ann) continue;
    n++;
    length = (double)st->loop[l].extent;
    product *= length;
  }
  out[0] = slog(n);
  out[1] = slog(n > 0 ? product : 0);
  out[2] = slog(length);
  out[3 + (n > 0 ? PLACE_MIXED : PLACE_NONE)] = 1;
}

static void fill_operand(const uses *all, uint32_t n, uint32_t at, const use *own, float *out) {
  const uses *mine = &all[at];
  double elem_bytes = own->first->elem_bytes;
  double unique_bytes = own->touched[0] * elem_bytes;
  double run_bytes = contiguous_elems(mine, own) * elem_bytes;
  bool has_loops = mine->st->n_loop > 0;
  double amount[4] = {mine->iterations * elem_bytes, unique_bytes,
      has_loops ? lines_of(mine, own) : 1, fmax(1, unique_bytes / fmin(run_bytes, LINE_BYTES))};
  reuse r = reuse_of(all, n, at, own);
  double by_reuse = r.count > 0.5 ? 1 / r.count : WITHOUT_REUSE;
  out[!own->is_written ? 0 : own->is_read ? 2 : 1] = 1;
  for (uint32_t i = 0; i < 4; i++) {
    out[3 + i] = slog(amount[i]);
    out[13 + i] = slog(amount[i] * by_reuse);
  }
  out[7 + r.kind] = 1;
  out[10] = slog(r.iterations);
  out[11] = slog(r.bytes);
  out[12] = slog(r.count);
  out[17] = slog(has_loops ? stride_of(mine->st, own->buf, mine->st->n_loop - 1u) : 0);
}

// The largest five, by lines. What is equal keeps the order of buffers.
static void fill_operands(const uses *all, uint32_t n, uint32_t at, float *row) {
  const uses *mine = &all[at];
  double lines[SEER_NEST_MAX_ACCESSES];
  bool is_done[SEER_NEST_MAX_ACCESSES] = {false};
  for (uint32_t u = 0; u < mine->n_use; u++) lines[u] = lines_of(mine, &mine->use[u]);
  for (uint32_t slot = 0; slot < N_OPERAND && slot < mine->n_use; slot++) {
    uint32_t best = UINT32_MAX;
    for (uint32_t u = 0; u < mine->n_use; u++) {
      if (is_done[u]) continue;
      if (best == UINT32_MAX) best = u;
      const use *a = &mine->use[u], *b = &mine->use[best];
      bool is_larger = lines[u] > lines[best];
      if (lines[u] == lines[best])
        is_larger = a->first->elem_bytes > b->first->elem_bytes ||
            (a->first->elem_bytes == b->first->elem_bytes && a->buf < b->buf);
      if (is_larger) best = u;
    }
    is_done[best] = true;
    fill_operand(all, n, at, &mine->use[best], row + OPERANDS + slot * N_OF_OPERAND);
  }
}

// For each loop from the innermost outwards: x = log2 of operations inside, y = x / log2 of bytes
// touched inside; the polyline through them at ten equal steps of x. Bytes count as two at least,
// and operations as one: there is a quotient then.
static void fill_intensity(const uses *all, float *row) {
  const seer_nest_statement *st = all->st;
  double ops = (double)(2 * st->n_fma + st->n_add + st->n_mul + st->n_div + st->n_cmp) +
      (double)st->n_special;
  if (ops <= 0 || st->n_loop == 0) return;
  double x[SEER_NEST_MAX_LOOPS], y[SEER_NEST_MAX_LOOPS];
  for (uint32_t i = 0; i < st->n_loop; i++) {
    uint32_t l = st->n_loop - 1u - i;
    double bytes = 0;
    for (uint32_t u = 0; u < all->n_use; u++)
      bytes += all->use[u].touched[l] * all->use[u].first->elem_bytes;
    ops *= (double)st->loop[l].extent;
    x[i] = log2(fmax(1, ops));
    y[i] = x[i] / log2(fmax(2, bytes));
  }
  uint32_t at = 0;
  for (uint32_t k = 0; k < N_SAMPLE; k++) {
    double here = x[st->n_loop - 1u] * (k + 1) / N_SAMPLE;
    while (x[at] < here - 1e-4) at++;
    double value = y[at];
    if (at > 0) value = y[at - 1] + (y[at] - y[at - 1]) / (x[at] - x[at - 1]) * (here - x[at - 1]);
    row[INTENSITY + k] = (float)value;
  }
}

// Of the target, where it is no argument of the kernel.
static void fill_allocation(const uses *all, float *row) {
  const seer_nest_statement *st = all->st;
  uint32_t u = 0;
  while (u < all->n_use && !all->use[u].is_written) u++;
  if (u == all->n_use || all->use[u].first->storage == SEER_NEST_ARG) return;
  const use *target = &all->use[u];
  double outside = 1;
  for (uint32_t l = 0; l < st->first_own && target->first->storage != SEER_NEST_SHARED; l++)
    outside *= (double)st->loop[l].extent;
  row[ALLOC] = slog(target->elems * target->first->elem_bytes);
  row[ALLOC + 1] = slog(target->elems * outside);
  row[ALLOC + 2] = slog(outside);
  row[ALLOC + 3] = slog(all->iterations / outside);
}

static uint32_t extract(
    const seer_nest *nest, const seer_target *target, double seconds, float *out_rows) {
  (void)target, (void)seconds;
  uses all[SEER_NEST_MAX_STATEMENTS];  // filled as far as there are statements
  for (uint32_t i = 0; i < nest->n_statement; i++) find_uses(&nest->statement[i], &all[i]);
  memset(out_rows, 0, nest->n_statement * N_COLUMN * sizeof *out_rows);
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    const seer_nest_statement *st = &nest->statement[i];
    float *row = out_rows + i * N_COLUMN;
    fill_operations(&all[i], row);
    fill_annotation(st, SEER_LOOP_VECTOR, row + VEC);
    fill_annotation(st, SEER_LOOP_UNROLL, row + UNROLL);
    fill_annotation(st, SEER_LOOP_PARALLEL, row + PARALLEL);
    for (uint32_t k = 1; k <= N_GPU_LENGTH; k++) row[IS_GPU + k] = slog(1);
    fill_operands(all, nest->n_statement, i, row);
    fill_intensity(&all[i], row);
    fill_allocation(&all[i], row);
    row[OUTER] = slog(all[i].iterations);
    row[OUTER + 1] = slog(st->n_loop);
    row[OUTER + 2] = slog(st->max_unroll > 1 ? st->max_unroll : 0);  // 1: the body once, no copies
  }
  return nest->n_statement;
}

const seer_feature_set seer_feature_ansor = {
    "ansor", "Ansor's, with their defects", 1, N_COLUMN, names, extract, false};
