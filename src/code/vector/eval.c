// eval.c - the interpreter of vector code: every lane by the operators of scalar.c, memory as
// objects that know their bounds, their alignment and which of their bytes were written.
//
// Requires: seer_vec_verify. Iterations and lanes beyond a bound compute with whatever their safe
// loads give, so what was never written, and UNDEF, may be loaded and computed with: lanes carry
// whether they are known, and it is a fault where an unknown one reaches a buffer that others
// read, the address or the mask of an access, or decides which way control goes. An unknown lane
// that is selected away leaves nothing behind; and'ed with 0 or or'ed with 1, an i1 is known.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "code/vector/internal.h"

// What the code may count on (code/kernel.h): packed weights and the scratch are aligned to so many
// bytes, other buffers to their elements.
#define BASE_ALIGN 64

#define MAX_SHOWN 16  // lanes of a value in a message

typedef struct {
  uint8_t *bytes;  // NULL: no data
  uint8_t *known;  // by byte: 1 if it was written; NULL: all are
  int64_t n_bytes;
  uint32_t align;
  bool is_fixed;  // read only
  bool is_shared;  // others read it
} object;

typedef struct {
  uint32_t rows, columns;  // 0: it has no shape yet
  uint32_t bits[SEER_MATRIX_SIDE][SEER_MATRIX_SIDE];
  bool is_hazy[SEER_MATRIX_SIDE][SEER_MATRIX_SIDE];
} matrix;

typedef struct {
  const seer_vec_code *code;
  const seer_vec_phase *phase;
  seer_arena *arena;
  seer_status status;
  int64_t part;
  bool *is_stored_to;  // by buffer: in this phase
  uint32_t n_object;
  object *object;  // by buffer, the scratch, by fill, by slot of the phase
  uint32_t slot0;  // first of the slots
  // By instruction: its first lane, the object that it points into, whether a lane is unknown.
  uint32_t *at, *into;
  bool *is_hazy;
  uint64_t *lane;
  bool *hazy;  // by lane: it is unknown, and 0
  matrix matrix[SEER_VEC_MATRICES];
} machine;

// ---- faults

static void put_value(const machine *m, seer_vec x, seer_text *text) {
  const seer_vec_node *node = seer_vec_at(m->code, x);
  const uint64_t *lane = &m->lane[m->at[x.i]];
  bool is_pointer = node->elem == SEER_VEC_PTR;
  uint32_t n = seer_vec_elem_bits[node->elem], lanes = is_pointer ? 1 : node->lanes;
  seer_text_put(text, "(");
  for (uint32_t l = 0; l < lanes && l < MAX_SHOWN; l++) {
    if (l > 0) seer_text_put(text, ", ");
    float single;
    double real;
    memcpy(&single, &lane[l], sizeof(single));
    memcpy(&real, &lane[l], sizeof(real));
    if (m->hazy[m->at[x.i] + l])
      seer_text_put(text, "?");
    else if (is_pointer)
      seer_text_printf(text, "byte %" PRId64, (int64_t)lane[l]);
    else if (n == 1)
      seer_text_put(text, lane[l] ? "1" : "0");
    else if (seer_vec_is_float((seer_vec_elem)node->elem))
      seer_text_put_f64(text, n == 32 ? (double)single : real);
    else
      seer_text_printf(text, "%" PRId64, (int64_t)(lane[l] << (64 - n)) >> (64 - n));
  }
  seer_text_put(text, lanes > MAX_SHOWN ? ", ...)" : ")");
}

// Says what happened, where, and with which values.
SEER_PRINTF(3, 4) static void fault(machine *m, uint32_t id, const char *format, ...) {
  if (m->status) return;
  const seer_vec_node *node = &m->code->node[id];
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  seer_text values;
  seer_text_init(&values, m->arena);
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    seer_text_put(&values, k > 0 ? ", " : "");
    put_value(m, node->arg[k], &values);
  }
  m->status = SEER_FAIL(INVALID, "phase %s, part %" PRId64 ": %s: %s, of %s", m->phase->name,
      m->part, seer_vec_line(m->code, m->phase, id, m->arena), what, values.data);
}

static bool is_known(machine *m, uint32_t id, uint32_t k, const char *what) {
  if (!m->is_hazy[m->code->node[id].arg[k].i]) return true;
  fault(m, id, "%s is not known", what);
  return false;
}

// ---- values

static uint64_t *lanes_of(const machine *m, seer_vec x) { return &m->lane[m->at[x.i]]; }
static bool *haze_of(const machine *m, seer_vec x) { return &m->hazy[m->at[x.i]]; }

// To be called with all lanes set: an unknown lane is 0.
static void settle(machine *m, uint32_t id) {
  seer_vec v = {id};
  uint64_t *lane = lanes_of(m, v);
  const bool *hazy = haze_of(m, v);
  bool any = false;
  for (uint32_t l = 0; l < m->code->node[id].lanes; l++) {
    if (!hazy[l]) continue;
    lane[l] = 0;
    any = true;
  }
  m->is_hazy[id] = any;
}

// i1 lanes of which one decides, whatever the other is.
static bool is_decided(seer_vec_op op, uint64_t x, bool x_hazy, uint64_t y, bool y_hazy) {
  if (op == SEER_VEC_AND) return (!x_hazy && x == 0) || (!y_hazy && y == 0);
  return op == SEER_VEC_OR && ((!x_hazy && x == 1) || (!y_hazy && y == 1));
}

// An operator on some unknown lanes.
static bool compute_hazy(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id], *x = seer_vec_at(m->code, node->arg[0]);
  uint32_t n_args = seer_vec_ops[node->op].n_args;
  uint64_t *out = lanes_of(m, (seer_vec){id});
  bool *hazy = haze_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    uint64_t arg[3] = {0};
    bool unknown[3] = {false};
    for (uint32_t k = 0; k < n_args; k++) {
      arg[k] = lanes_of(m, node->arg[k])[l];
      unknown[k] = haze_of(m, node->arg[k])[l];
    }
    hazy[l] = unknown[0] || unknown[1] || unknown[2];
    if (hazy[l] && node->elem == SEER_VEC_I1)
      hazy[l] = !is_decided((seer_vec_op)node->op, arg[0], unknown[0], arg[1], unknown[1]);
    if (!hazy[l] &&
        !seer_vec_apply((seer_vec_op)node->op, (seer_vec_elem)x->elem, (seer_vec_elem)node->elem,
            arg[0], arg[1], arg[2], &out[l])) {
      fault(m, id, "is not defined in lane %u", l);
      return false;
    }
  }
  settle(m, id);
  return true;
}

static bool compute(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  uint32_t n_args = seer_vec_ops[node->op].n_args;
  const uint64_t *arg[3];
  bool any_hazy = false;
  for (uint32_t k = 0; k < 3; k++) {
    arg[k] = lanes_of(m, node->arg[k < n_args ? k : 0]);
    any_hazy |= k < n_args && m->is_hazy[node->arg[k].i];
  }
  if (any_hazy) return compute_hazy(m, id);
  if (m->is_hazy[id]) memset(haze_of(m, (seer_vec){id}), 0, node->lanes * sizeof(bool));
  m->is_hazy[id] = false;
  seer_vec_elem elem = (seer_vec_elem)seer_vec_at(m->code, node->arg[0])->elem;
  uint64_t *out = lanes_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    if (seer_vec_apply((seer_vec_op)node->op, elem, (seer_vec_elem)node->elem, arg[0][l], arg[1][l],
            arg[2][l], &out[l]))
      continue;
    fault(m, id, "is not defined in lane %u", l);
    return false;
  }
  return true;
}

static void take_lane(machine *m, uint32_t id, uint32_t to, seer_vec from, uint32_t lane) {
  lanes_of(m, (seer_vec){id})[to] = lanes_of(m, from)[lane];
  haze_of(m, (seer_vec){id})[to] = haze_of(m, from)[lane];
}

static void select_lanes(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  seer_vec cond = node->arg[0];
  uint32_t step = seer_vec_at(m->code, cond)->lanes > 1;
  for (uint32_t l = 0; l < node->lanes; l++) {
    seer_vec from = node->arg[lanes_of(m, cond)[l * step] ? 1 : 2];
    take_lane(m, id, l, from, l);
    if (haze_of(m, cond)[l * step]) haze_of(m, (seer_vec){id})[l] = true;
    if (node->elem == SEER_VEC_PTR) m->into[id] = m->into[from.i];
  }
  settle(m, id);
}

static void any_lane(machine *m, uint32_t id) {
  seer_vec x = m->code->node[id].arg[0];
  bool some = false, unknown = false;
  for (uint32_t l = 0; l < seer_vec_at(m->code, x)->lanes; l++) {
    some |= lanes_of(m, x)[l] != 0;
    unknown |= haze_of(m, x)[l];
  }
  lanes_of(m, (seer_vec){id})[0] = some;
  haze_of(m, (seer_vec){id})[0] = unknown && !some;
  settle(m, id);
}

static void shuffle(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const seer_vec_order *order = &m->code->order[node->imm];
  for (uint32_t l = 0; l < order->n; l++) {
    uint32_t from = order->lane[l];
    take_lane(m, id, l, node->arg[from / order->n], from % order->n);
  }
  settle(m, id);
}

static void pick(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const float *from = m->code->picks[node->imm].value;
  for (uint32_t l = 0; l < node->lanes; l++) {
    uint64_t number = lanes_of(m, node->arg[0])[l];
    uint32_t bits;
    memcpy(&bits, &from[number % SEER_VEC_PICKS], sizeof(bits));
    lanes_of(m, (seer_vec){id})[l] = bits;
    haze_of(m, (seer_vec){id})[l] = haze_of(m, node->arg[0])[l];
  }
  settle(m, id);
}

static void between_lanes(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  uint32_t first = 0, step = 1;
  switch ((int)node->op) {
    case SEER_VEC_SELECT:
      select_lanes(m, id);
      return;
    case SEER_VEC_ANY:
      any_lane(m, id);
      return;
    case SEER_VEC_SHUFFLE:
      shuffle(m, id);
      return;
    case SEER_VEC_PICK:
      pick(m, id);
      return;
    case SEER_VEC_SPLAT:
      step = 0;
      break;
    case SEER_VEC_EXTRACT:
      first = (uint32_t)node->imm;
      break;
    case SEER_VEC_HIGH_HALF:
      first = node->lanes;
      break;
    default:
      break;
  }
  for (uint32_t l = 0; l < node->lanes; l++) take_lane(m, id, l, node->arg[0], first + l * step);
  if (node->op == SEER_VEC_INSERT) take_lane(m, id, (uint32_t)node->imm, node->arg[1], 0);
  settle(m, id);
}

// ---- memory

static void set_pointer(machine *m, uint32_t id, uint32_t into) {
  m->lane[m->at[id]] = 0;
  m->into[id] = into;
}

static void move(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  uint64_t by = *lanes_of(m, node->arg[1]) * seer_vec_elem_bytes((seer_vec_elem)node->of);
  m->lane[m->at[id]] = *lanes_of(m, node->arg[0]) + by;  // wraps: only accesses are judged
  m->into[id] = m->into[node->arg[0].i];
  m->hazy[m->at[id]] = m->is_hazy[node->arg[0].i] || m->is_hazy[node->arg[1].i];
  settle(m, id);
}

// An access of a buffer goes to it, of a local one to the scratch; what is not meant goes to a fill
// or the scratch.
static bool is_own_object(const machine *m, const seer_vec_node *node, uint32_t into) {
  uint32_t scratch = m->code->loop->n_buf;
  if (node->buf == SEER_VEC_NO_BUF) return into >= m->slot0;
  return into == node->buf || (into >= scratch && into < m->slot0);
}

// The object of an access; NULL: it may not be done.
static object *object_of(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (!is_known(m, id, 0, "the address")) return NULL;
  uint32_t into = m->into[node->arg[0].i];
  object *o = &m->object[into];
  int64_t offset = (int64_t)*lanes_of(m, node->arg[0]);
  uint32_t align = seer_vec_align(node->align, seer_vec_access_bytes(m->code, node));
  bool is_slow = node->is_invariant && into == m->code->loop->n_buf;
  if (!o->bytes) {
    fault(m, id, "no data");
  } else if (!is_own_object(m, node, into)) {
    fault(m, id, "the address is in another object");
  } else if (align > o->align || offset % (int64_t)align != 0) {
    fault(m, id, "byte %" PRId64 " of what is aligned to %u is not aligned to %u", offset, o->align,
        align);
  } else if (seer_vec_is_store(node) && o->is_fixed) {
    fault(m, id, "a store to what is only read");
  } else if (is_slow || (node->is_invariant && m->is_stored_to[node->buf])) {
    fault(m, id, "the phase stores to what is said to be invariant");
  } else {
    return o;
  }
  return NULL;
}

static bool is_inside(machine *m, uint32_t id, const object *o, int64_t offset, uint32_t n_bytes) {
  if (offset >= 0 && offset <= o->n_bytes - (int64_t)n_bytes) return true;
  fault(
      m, id, "bytes %" PRId64 " to %" PRId64 " of %" PRId64, offset, offset + n_bytes, o->n_bytes);
  return false;
}

static bool is_written(const object *o, int64_t offset, uint32_t n_bytes) {
  for (uint32_t k = 0; o->known && k < n_bytes; k++) {
    if (!o->known[offset + k]) return false;
  }
  return true;
}

// The lanes of a mask (NULL: all) that are 1.
static bool load_lanes(machine *m, uint32_t id, const uint64_t *mask) {
  const seer_vec_node *node = &m->code->node[id];
  const object *o = NULL;
  uint32_t size = seer_vec_elem_bytes((seer_vec_elem)node->elem);
  int64_t base = (int64_t)*lanes_of(m, node->arg[0]);
  uint64_t *lane = lanes_of(m, (seer_vec){id});
  bool *hazy = haze_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    if (mask && !mask[l]) {
      take_lane(m, id, l, node->arg[2], l);
      continue;
    }
    int64_t offset = base + (int64_t)l * size;
    if (!o) o = object_of(m, id);
    if (!o || !is_inside(m, id, o, offset, size)) return false;
    lane[l] = 0;
    memcpy(&lane[l], o->bytes + offset, size);
    hazy[l] = !is_written(o, offset, size);
  }
  settle(m, id);
  return true;
}

static bool look_up(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const object *o = object_of(m, id);
  int64_t base = (int64_t)*lanes_of(m, node->arg[0]);
  const uint64_t *number = lanes_of(m, node->arg[1]);
  const bool *is_unknown = haze_of(m, node->arg[1]);
  if (!o || !is_inside(m, id, o, base, SEER_VEC_TABLE_BYTES)) return false;
  for (uint32_t l = 0; l < node->lanes; l++) {
    int64_t offset = base + (int64_t)(number[l] & 255);
    lanes_of(m, (seer_vec){id})[l] = (uint8_t)o->bytes[offset];
    haze_of(m, (seer_vec){id})[l] = is_unknown[l] || !is_written(o, offset, 1);
  }
  settle(m, id);
  return true;
}

static bool store_lanes(machine *m, uint32_t id, const uint64_t *mask) {
  const seer_vec_node *node = &m->code->node[id], *value = seer_vec_at(m->code, node->arg[1]);
  object *o = NULL;
  uint32_t size = seer_vec_elem_bytes((seer_vec_elem)value->elem);
  int64_t base = (int64_t)*lanes_of(m, node->arg[0]);
  const uint64_t *lane = lanes_of(m, node->arg[1]);
  const bool *hazy = haze_of(m, node->arg[1]);
  for (uint32_t l = 0; l < value->lanes; l++) {
    if (mask && !mask[l]) continue;
    int64_t offset = base + (int64_t)l * size;
    if (!o) o = object_of(m, id);
    if (!o || !is_inside(m, id, o, offset, size)) return false;
    if (hazy[l] && o->is_shared) {
      fault(m, id, "lane %u is not known, and others read it", l);
      return false;
    }
    memcpy(o->bytes + offset, &lane[l], size);
    if (o->known) memset(o->known + offset, !hazy[l], size);
  }
  return true;
}

// ---- matrices

static void set_shapes(machine *m, const seer_vec_shapes *shapes) {
  memset(m->matrix, 0, sizeof(m->matrix));
  for (uint32_t k = 0; shapes && k < SEER_VEC_MATRICES; k++) {
    m->matrix[k].rows = shapes->rows[k];
    m->matrix[k].columns = shapes->columns[k];
  }
}

// NULL: it has no shape.
static matrix *matrix_of(machine *m, uint32_t id, uint32_t k) {
  if (m->matrix[k].rows > 0) return &m->matrix[k];
  fault(m, id, "matrix %u has no shape", k);
  return NULL;
}

static bool access_matrix(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  matrix *x = matrix_of(m, id, seer_vec_matrix_regs_of(node).sum);
  object *o = x ? object_of(m, id) : NULL;
  bool is_store = node->op == SEER_VEC_MATRIX_STORE;
  if (!o || !is_known(m, id, 1, "what is between rows")) return false;
  int64_t base = (int64_t)*lanes_of(m, node->arg[0]), stride = (int64_t)*lanes_of(m, node->arg[1]);
  for (uint32_t r = 0; r < x->rows; r++) {
    if (!is_inside(m, id, o, base + r * stride, 4 * x->columns)) return false;
    for (uint32_t c = 0; c < x->columns; c++) {
      int64_t offset = base + r * stride + 4 * (int64_t)c;
      if (!is_store) {
        memcpy(&x->bits[r][c], o->bytes + offset, 4);
        x->is_hazy[r][c] = !is_written(o, offset, 4);
        continue;
      }
      if (x->is_hazy[r][c] && o->is_shared) {
        fault(m, id, "row %u, column %u is not known, and others read it", r, c);
        return false;
      }
      memcpy(o->bytes + offset, &x->bits[r][c], 4);
      if (o->known) memset(o->known + offset, !x->is_hazy[r][c], 4);
    }
  }
  return true;
}

// Row by column, by the operator on one lane.
static bool multiply_matrices(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  seer_vec_matrix_regs regs = seer_vec_matrix_regs_of(node);
  bool is_halves = node->op == SEER_VEC_MATRIX_DOT2;
  matrix *sum = matrix_of(m, id, regs.sum);
  const matrix *x = matrix_of(m, id, regs.x), *y = matrix_of(m, id, regs.y);
  if (!sum || !x || !y) return false;
  if (sum->rows != x->rows || sum->columns != y->columns || x->columns != y->rows) {
    fault(m, id, "%u by %u is no product of %u by %u and %u by %u", sum->rows, sum->columns,
        x->rows, x->columns, y->rows, y->columns);
    return false;
  }
  for (uint32_t r = 0; r < sum->rows; r++) {
    for (uint32_t c = 0; c < sum->columns; c++) {
      for (uint32_t k = 0; k < x->columns; k++) {
        uint64_t made = 0;
        if (!seer_vec_apply(is_halves ? SEER_VEC_DOT2 : SEER_VEC_DOT4, SEER_VEC_I32,
                is_halves ? SEER_VEC_F32 : SEER_VEC_I32, x->bits[r][k], y->bits[k][c],
                sum->bits[r][c], &made)) {
          fault(m, id, "is not defined in row %u, column %u", r, c);
          return false;
        }
        sum->bits[r][c] = (uint32_t)made;
        sum->is_hazy[r][c] |= x->is_hazy[r][k] || y->is_hazy[k][c];
      }
    }
  }
  return true;
}

static bool clear_matrix(machine *m, uint32_t id) {
  matrix *x = matrix_of(m, id, seer_vec_matrix_regs_of(&m->code->node[id]).sum);
  if (!x) return false;
  memset(x->bits, 0, sizeof(x->bits));
  memset(x->is_hazy, 0, sizeof(x->is_hazy));
  return true;
}

static bool run_matrices(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  switch ((int)node->op) {
    case SEER_VEC_MATRIX_SHAPES:
      set_shapes(m, &m->code->shapes[node->imm]);
      return true;
    case SEER_VEC_MATRIX_ZERO:
      return clear_matrix(m, id);
    case SEER_VEC_MATRIX_LOAD:
    case SEER_VEC_MATRIX_STORE:
      return access_matrix(m, id);
    default:
      return multiply_matrices(m, id);
  }
}

static bool access(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  switch ((int)node->op) {
    case SEER_VEC_LOAD:
      return load_lanes(m, id, NULL);
    case SEER_VEC_LOOKUP:
      return look_up(m, id);
    case SEER_VEC_STORE:
      return store_lanes(m, id, NULL);
    case SEER_VEC_LOAD_MASKED:
      return is_known(m, id, 1, "the mask") && load_lanes(m, id, lanes_of(m, node->arg[1]));
    default:
      return is_known(m, id, 2, "the mask") && store_lanes(m, id, lanes_of(m, node->arg[2]));
  }
}

// ---- control

static bool run_block(machine *m, uint32_t first);

static bool run_loop(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (!is_known(m, id, 0, "how often")) return false;
  int64_t n = (int64_t)*lanes_of(m, node->arg[0]);
  if (node->imm != 0 && n < 1) {
    fault(m, id, "it does not run");
    return false;
  }
  uint32_t body = node->body[0].first;
  for (int64_t i = 0; i < n; i++) {
    for (uint32_t c = body; c != 0 && m->code->node[c].op == SEER_VEC_COUNTER;
         c = m->code->node[c].next)
      m->lane[m->at[c]] = (uint64_t)i * (uint64_t)m->code->node[c].imm;
    if (!run_block(m, body)) return false;
  }
  return true;
}

static bool run_control(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (node->op == SEER_VEC_LOOP) return run_loop(m, id);
  if (!is_known(m, id, 0, "the condition")) return false;
  bool is_true = *lanes_of(m, node->arg[0]) != 0;
  if (node->op == SEER_VEC_WHEN) return run_block(m, node->body[is_true ? 0 : 1].first);
  return is_true;
}

static bool run_node(machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (seer_vec_is_of_matrices(node)) return run_matrices(m, id);
  switch ((int)node->op) {
    case SEER_VEC_PART:
      m->lane[m->at[id]] = (uint64_t)m->part;
      return true;
    case SEER_VEC_BUFFER:
      set_pointer(m, id, node->buf);
      return true;
    case SEER_VEC_SCRATCH:
      set_pointer(m, id, m->code->loop->n_buf);
      return true;
    case SEER_VEC_SELECT:
    case SEER_VEC_SPLAT:
    case SEER_VEC_EXTRACT:
    case SEER_VEC_INSERT:
    case SEER_VEC_LOW_HALF:
    case SEER_VEC_HIGH_HALF:
    case SEER_VEC_SHUFFLE:
    case SEER_VEC_PICK:
    case SEER_VEC_ANY:
      between_lanes(m, id);
      return true;
    case SEER_VEC_MOVE:
      move(m, id);
      return true;
    case SEER_VEC_LOAD:
    case SEER_VEC_LOOKUP:
    case SEER_VEC_STORE:
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_STORE_MASKED:
      return access(m, id);
    case SEER_VEC_LOOP:
    case SEER_VEC_WHEN:
    case SEER_VEC_LEAVE_UNLESS:
      return run_control(m, id);
    case SEER_VEC_COUNTER:  // run_loop sets it
    case SEER_VEC_PREFETCH:
    case SEER_VEC_FENCE:
      return true;
    default:
      return compute(m, id);
  }
}

// False: the part ends here.
static bool run_block(machine *m, uint32_t first) {
  for (uint32_t id = first; id != 0; id = m->code->node[id].next) {
    if (!run_node(m, id)) return false;
  }
  return true;
}

// ---- all of it

static void note_stores(const machine *m, seer_vec_block block) {
  for (uint32_t id = block.first; id != 0; id = m->code->node[id].next) {
    const seer_vec_node *node = &m->code->node[id];
    if (seer_vec_is_store(node) && node->buf != SEER_VEC_NO_BUF) m->is_stored_to[node->buf] = true;
    if (node->op != SEER_VEC_LOOP && node->op != SEER_VEC_WHEN) continue;
    note_stores(m, node->body[0]);
    note_stores(m, node->body[1]);
  }
}

// Memory of which nothing is known yet.
static object private_object(machine *m, uint64_t n_bytes, uint32_t align) {
  object o = {.n_bytes = (int64_t)n_bytes, .align = align};
  o.bytes = seer_arena_alloc(m->arena, n_bytes + 1, BASE_ALIGN);
  o.known = seer_arena_alloc(m->arena, n_bytes + 1, 1);
  return o;
}

static void make_fills(machine *m) {
  for (uint32_t k = 0; k < m->code->n_fill; k++) {
    const seer_vec_node *value = seer_vec_at(m->code, m->code->fill[k].value);
    uint32_t size = seer_vec_elem_bytes((seer_vec_elem)value->elem);
    object *o = &m->object[m->n_object++];
    *o = (object){.n_bytes = m->code->fill[k].n_bytes, .align = BASE_ALIGN, .is_fixed = true};
    o->bytes = seer_arena_alloc(m->arena, (size_t)o->n_bytes, BASE_ALIGN);
    for (int64_t at = 0; at < o->n_bytes; at += size) memcpy(o->bytes + at, &value->bits, size);
  }
}

static void make_objects(machine *m, void *const *data) {
  const seer_loop *loop = m->code->loop;
  uint32_t most = 0;
  for (uint32_t p = 0; p < m->code->n_phase; p++) {
    if (m->code->phase[p].n_slot > most) most = m->code->phase[p].n_slot;
  }
  m->object = SEER_NEW_ARRAY(m->arena, object, loop->n_buf + 1 + m->code->n_fill + most);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    uint32_t size = seer_dtype_bytes(buf->dtype);
    bool is_packed = buf->storage == SEER_STORE_PACKED;
    m->object[m->n_object++] = (object){.bytes = data[b],
        .n_bytes = buf->n_elems * size,
        .align = is_packed ? BASE_ALIGN : size,
        .is_fixed = is_packed || buf->storage == SEER_STORE_INPUT,
        .is_shared = true};
  }
  m->object[m->n_object++] = private_object(m, m->code->scratch_bytes, BASE_ALIGN);
  make_fills(m);
  m->slot0 = m->n_object;
}

static void make_values(machine *m) {
  const seer_vec_code *code = m->code;
  uint32_t n_lane = 0;
  m->at = SEER_NEW_ARRAY(m->arena, uint32_t, code->n);
  m->into = SEER_NEW_ARRAY(m->arena, uint32_t, code->n);
  m->is_hazy = SEER_NEW_ARRAY(m->arena, bool, code->n);
  for (uint32_t i = 1; i < code->n; i++) {
    m->at[i] = n_lane;
    n_lane += code->node[i].elem == SEER_VEC_VOID ? 0 : code->node[i].lanes;
  }
  m->lane = SEER_NEW_ARRAY(m->arena, uint64_t, n_lane + 1);
  m->hazy = SEER_NEW_ARRAY(m->arena, bool, n_lane + 1);
  for (uint32_t i = 1; i < code->n; i++) {
    const seer_vec_node *node = &code->node[i];
    seer_vec_elem elem = (seer_vec_elem)node->elem;
    if (node->op == SEER_VEC_FILL) set_pointer(m, i, code->loop->n_buf + 1 + (uint32_t)node->imm);
    if (node->op != SEER_VEC_CONST && node->op != SEER_VEC_UNDEF) continue;
    m->is_hazy[i] = node->op == SEER_VEC_UNDEF;
    uint32_t above = 64 - seer_vec_elem_bits[elem];
    for (uint32_t l = 0; l < node->lanes; l++) {
      m->lane[m->at[i] + l] = (node->bits + (uint64_t)node->imm * l) << above >> above;
      m->hazy[m->at[i] + l] = m->is_hazy[i];
    }
  }
}

static void begin_phase(machine *m) {
  const seer_vec_phase *phase = m->phase;
  memset(m->is_stored_to, 0, m->code->loop->n_buf * sizeof(bool));
  note_stores(m, phase->body);
  m->n_object = m->slot0;
  for (uint32_t k = 0; k < phase->n_slot; k++) {
    const seer_vec_node *slot = seer_vec_at(m->code, phase->slot[k]);
    uint32_t of_bytes = seer_vec_elem_bytes((seer_vec_elem)slot->of) * slot->lanes;
    set_pointer(m, phase->slot[k].i, m->n_object);
    m->object[m->n_object++] =
        private_object(m, (uint64_t)slot->imm * of_bytes, seer_vec_align(slot->align, of_bytes));
  }
}

static void run_part(machine *m, int64_t part) {
  m->part = part;
  set_shapes(m, NULL);
  for (uint32_t k = 0; k < m->n_object; k++) {
    object *o = &m->object[k];
    if (o->known) memset(o->known, 0, (size_t)o->n_bytes);
  }
  run_block(m, m->phase->body.first);
}

seer_status seer_vec_eval(const seer_vec_code *code, void *const *data, seer_rng *part_shuffle) {
  seer_arena *arena = seer_arena_create("vector eval");
  machine m = {.code = code, .arena = arena};
  m.is_stored_to = SEER_NEW_ARRAY(arena, bool, code->loop->n_buf + 1);
  make_objects(&m, data);
  make_values(&m);
  for (uint32_t p = 0; p < code->n_phase && !m.status; p++) {
    int64_t n_parts = seer_loop_phase_parts(code->loop, p);
    uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, n_parts);
    m.phase = &code->phase[p];
    begin_phase(&m);
    for (int64_t k = 0; k < n_parts; k++) order[k] = (uint32_t)k;
    if (part_shuffle) seer_rng_shuffle_u32(part_shuffle, order, (size_t)n_parts);
    for (int64_t k = 0; k < n_parts && !m.status; k++) run_part(&m, order[k]);
  }
  seer_arena_destroy(arena);
  return m.status;
}
