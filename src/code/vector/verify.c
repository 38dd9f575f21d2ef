// verify.c - judges vector code by its form: blocks and definitions first, then every instruction's
// types and what it states. What depends on values is the interpreter's (eval.c).
#include <string.h>

#include "code/vector/internal.h"
#include "space/items/items.h"

typedef enum { UNSEEN, IN_SCOPE, GONE } scope_state;

// What a pointer may have been moved from.
typedef struct {
  uint32_t buf;  // SEER_VEC_NO_BUF: none
  bool has_scratch, has_fill;
  bool is_mixed;  // of two buffers, or a slot and something else
} pointer_roots;

typedef struct {
  const seer_vec_code *code;
  const seer_vec_phase *phase;
  seer_arena *arena;
  bool has_items;  // the phase is a block program
  bool has_warps;  // of blocks of whole warps
  // By instruction: its value may be another one for another item of the block; of the warp.
  bool *varies, *splits;
  // LOOPs and WHENs around that items of a block, or of a warp, may go through otherwise than
  // others.
  uint32_t n_varying, n_splitting;
  uint8_t *state;  // by instruction: scope_state
  pointer_roots *roots;  // by instruction that gives a pointer
  uint32_t n_scope;
  uint32_t *scope;  // instructions in scope, oldest first
} verifier;

#define FAULT(v, id, format, ...) \
  SEER_FAIL(                      \
      INVALID, "%s: " format, seer_vec_line((v)->code, (v)->phase, id, (v)->arena), __VA_ARGS__)

static const seer_vec_node *at(const verifier *v, seer_vec x) { return seer_vec_at(v->code, x); }

static const char *type_of(const verifier *v, seer_vec x) {
  const seer_vec_node *node = at(v, x);
  const char *name = seer_vec_elem_names[node->elem];
  return node->lanes == 1 ? name : seer_arena_printf(v->arena, "%sx%u", name, node->lanes);
}

static bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }
static bool is_int(uint8_t elem) { return elem >= SEER_VEC_I8 && elem <= SEER_VEC_I64; }
static bool is_in_memory(uint8_t elem) {
  return is_int(elem) || seer_vec_is_float((seer_vec_elem)elem);
}

// ---- blocks and definitions

static bool has_blocks(const seer_vec_node *node) {
  return node->op == SEER_VEC_LOOP || node->op == SEER_VEC_WHEN;
}

// Links and depths only: until they are known to be sound nothing can be printed.
static seer_status check_links(verifier *v, seer_vec_block block, uint32_t depth) {
  if (depth > SEER_VEC_MAX_DEPTH)
    return SEER_FAIL(INVALID, "more than %d blocks inside each other", SEER_VEC_MAX_DEPTH);
  uint32_t last = 0;
  for (uint32_t id = block.first; id != 0; id = v->code->node[id].next) {
    if (id >= v->code->n) return SEER_FAIL(INVALID, "instruction %u, there are %u", id, v->code->n);
    if (v->state[id] != UNSEEN) return SEER_FAIL(INVALID, "instruction %u is in two places", id);
    v->state[id] = GONE;
    last = id;
    const seer_vec_node *node = &v->code->node[id];
    if (node->op >= SEER_VEC_OP_COUNT || node->elem >= SEER_VEC_ELEM_COUNT)
      return SEER_FAIL(INVALID, "instruction %u: operator %u, type %u", id, node->op, node->elem);
    for (uint32_t k = 0; k < 2 && has_blocks(node); k++)
      SEER_TRY(check_links(v, node->body[k], depth + 1));
  }
  if (block.last != last)
    return SEER_FAIL(INVALID, "a block's last instruction is %u, it says %u", last, block.last);
  return SEER_OK;
}

static seer_status check_slot(const verifier *v, seer_vec slot) {
  if (slot.i == 0 || slot.i >= v->code->n || at(v, slot)->op != SEER_VEC_SLOT)
    return SEER_FAIL(INVALID, "slot %u is none", slot.i);
  const seer_vec_node *node = at(v, slot);
  if (!is_in_memory(node->of) || node->lanes == 0 || node->lanes > SEER_VEC_MAX_LANES ||
      node->imm < 1)
    return SEER_FAIL(INVALID, "a slot of %" PRId64 " %sx%u", node->imm,
        node->of < SEER_VEC_ELEM_COUNT ? seer_vec_elem_names[node->of] : "?", node->lanes);
  if (node->align != 0 && !is_power_of_two(node->align))
    return SEER_FAIL(INVALID, "a slot aligned to %u, must be a power of two", node->align);
  return SEER_OK;
}

// Constants stand in no block; slots are in scope in their phase, all else behind its definition.
static seer_status check_use(const verifier *v, uint32_t id, uint32_t k) {
  seer_vec x = v->code->node[id].arg[k];
  if (x.i == 0 || x.i >= v->code->n) return FAULT(v, id, "argument %u is missing", k + 1);
  const seer_vec_node *node = at(v, x);
  switch ((int)node->op) {
    case SEER_VEC_CONST:
    case SEER_VEC_UNDEF:
      if (node->elem == SEER_VEC_VOID || node->elem >= SEER_VEC_PTR)
        return FAULT(v, id, "argument %u is a constant %s", k + 1, type_of(v, x));
      if (node->imm != 0 && !is_int(node->elem))
        return FAULT(v, id, "argument %u is a series of %s", k + 1, type_of(v, x));
      break;
    case SEER_VEC_FILL:
      if (node->imm < 0 || node->imm >= v->code->n_fill)
        return FAULT(v, id, "fill %" PRId64 ", there are %u", node->imm, v->code->n_fill);
      break;
    default:
      if (v->state[x.i] != IN_SCOPE)
        return FAULT(v, id, "argument %u is not defined in front of it", k + 1);
      if (node->elem == SEER_VEC_VOID) return FAULT(v, id, "argument %u has no value", k + 1);
  }
  bool is_sound = node->lanes > 0 && node->lanes <= SEER_VEC_MAX_LANES;
  if (node->elem == SEER_VEC_PTR && node->op != SEER_VEC_SLOT) is_sound = node->lanes == 1;
  return is_sound ? SEER_OK : FAULT(v, id, "argument %u has %u lanes", k + 1, node->lanes);
}

// ---- types

typedef enum {
  OTHER,  // has rules of its own
  INTEGERS,  // one type, i8 to i64
  BITS,  // i1 too
  INDICES,  // i64
  WORDS,  // i32
  FLOATS
} arg_kind;

static const uint8_t arg_kinds[SEER_VEC_OP_COUNT] = {[SEER_VEC_ADD] = INTEGERS,
    [SEER_VEC_SUB] = INTEGERS,
    [SEER_VEC_MUL] = INTEGERS,
    [SEER_VEC_ADD_INDEX] = INDICES,
    [SEER_VEC_SUB_INDEX] = INDICES,
    [SEER_VEC_MUL_INDEX] = INDICES,
    [SEER_VEC_NEG] = INTEGERS,
    [SEER_VEC_SDIV] = INTEGERS,
    [SEER_VEC_UDIV] = INTEGERS,
    [SEER_VEC_SREM] = INTEGERS,
    [SEER_VEC_UREM] = INTEGERS,
    [SEER_VEC_AND] = BITS,
    [SEER_VEC_OR] = BITS,
    [SEER_VEC_XOR] = BITS,
    [SEER_VEC_NOT] = BITS,
    [SEER_VEC_SHL] = INTEGERS,
    [SEER_VEC_LSHR] = INTEGERS,
    [SEER_VEC_ASHR] = INTEGERS,
    [SEER_VEC_SMIN] = INTEGERS,
    [SEER_VEC_SMAX] = INTEGERS,
    [SEER_VEC_UMIN] = BITS,
    [SEER_VEC_UMAX] = BITS,
    [SEER_VEC_ABS] = INTEGERS,
    [SEER_VEC_DOT4] = WORDS,
    [SEER_VEC_EQ] = BITS,
    [SEER_VEC_NE] = BITS,
    [SEER_VEC_SLT] = INTEGERS,
    [SEER_VEC_SLE] = INTEGERS,
    [SEER_VEC_SGT] = INTEGERS,
    [SEER_VEC_SGE] = INTEGERS,
    [SEER_VEC_ULT] = BITS,
    [SEER_VEC_ULE] = BITS,
    [SEER_VEC_UGT] = BITS,
    [SEER_VEC_UGE] = BITS,
    [SEER_VEC_FADD] = FLOATS,
    [SEER_VEC_FSUB] = FLOATS,
    [SEER_VEC_FMUL] = FLOATS,
    [SEER_VEC_FDIV] = FLOATS,
    [SEER_VEC_FNEG] = FLOATS,
    [SEER_VEC_FMULADD] = FLOATS,
    [SEER_VEC_FABS] = FLOATS,
    [SEER_VEC_COPYSIGN] = FLOATS,
    [SEER_VEC_SQRT] = FLOATS,
    [SEER_VEC_FLOOR] = FLOATS,
    [SEER_VEC_CEIL] = FLOATS,
    [SEER_VEC_FTRUNC] = FLOATS,
    [SEER_VEC_ROUND] = FLOATS,
    [SEER_VEC_FMINIMUM] = FLOATS,
    [SEER_VEC_FMAXIMUM] = FLOATS,
    [SEER_VEC_FEQ] = FLOATS,
    [SEER_VEC_FLT] = FLOATS,
    [SEER_VEC_FLE] = FLOATS,
    [SEER_VEC_FGT] = FLOATS,
    [SEER_VEC_FGE] = FLOATS,
    [SEER_VEC_FNAN] = FLOATS,
    [SEER_VEC_FEQ_NAN] = FLOATS,
    [SEER_VEC_FNE_NAN] = FLOATS,
    [SEER_VEC_FGE_NAN] = FLOATS};

static bool is_of_kind(arg_kind kind, uint8_t elem) {
  switch (kind) {
    case OTHER:
      return true;
    case INTEGERS:
      return is_int(elem);
    case BITS:
      return is_int(elem) || elem == SEER_VEC_I1;
    case INDICES:
      return elem == SEER_VEC_I64;
    case WORDS:
      return elem == SEER_VEC_I32;
    case FLOATS:
      return seer_vec_is_float((seer_vec_elem)elem);
  }
  return false;
}

// The value has this type; of VOID any number of lanes.
static seer_status check_value(const verifier *v, uint32_t id, uint8_t elem, uint32_t lanes) {
  const seer_vec_node *node = &v->code->node[id];
  if (node->elem == elem && (elem == SEER_VEC_VOID || node->lanes == lanes)) return SEER_OK;
  return FAULT(v, id, "the value is %s, must be %sx%u", type_of(v, (seer_vec){id}),
      seer_vec_elem_names[elem], lanes);
}

static seer_status check_arg(
    const verifier *v, uint32_t id, uint32_t k, uint8_t elem, uint32_t lanes) {
  seer_vec x = v->code->node[id].arg[k];
  if (at(v, x)->elem == elem && at(v, x)->lanes == lanes) return SEER_OK;
  return FAULT(v, id, "argument %u is %s, must be %sx%u", k + 1, type_of(v, x),
      seer_vec_elem_names[elem], lanes);
}

static seer_status check_operator(const verifier *v, uint32_t id, arg_kind kind) {
  const seer_vec_node *node = &v->code->node[id], *x = at(v, node->arg[0]);
  if (!is_of_kind(kind, x->elem))
    return FAULT(v, id, "is not defined on %s", type_of(v, node->arg[0]));
  for (uint32_t k = 1; k < seer_vec_ops[node->op].n_args; k++)
    SEER_TRY(check_arg(v, id, k, x->elem, x->lanes));
  bool is_truth = seer_vec_ops[node->op].rule == SEER_VEC_TRUTH;
  return check_value(v, id, is_truth ? SEER_VEC_I1 : x->elem, x->lanes);
}

static bool converts(seer_vec_op op, uint8_t from, uint8_t to) {
  uint32_t n = seer_vec_elem_bits[from], m = seer_vec_elem_bits[to];
  bool from_float = seer_vec_is_float((seer_vec_elem)from);
  bool to_float = seer_vec_is_float((seer_vec_elem)to);
  bool from_int = is_of_kind(BITS, from), to_int = is_of_kind(BITS, to);
  switch ((int)op) {
    case SEER_VEC_ZEXT:
    case SEER_VEC_SEXT:
      return from_int && to_int && m > n;
    case SEER_VEC_TRUNC:
      return from_int && to_int && m < n;
    case SEER_VEC_SINT_FLOAT:
    case SEER_VEC_UINT_FLOAT:
      return from_int && to_float;
    case SEER_VEC_FLOAT_SINT:
    case SEER_VEC_FLOAT_UINT:
      return from_float && is_int(to);
    case SEER_VEC_FLOAT_WIDER:
      return from == SEER_VEC_F32 && to == SEER_VEC_F64;
    case SEER_VEC_FLOAT_SHORTER:
      return from == SEER_VEC_F64 && to == SEER_VEC_F32;
    case SEER_VEC_HALF_BITS:
      return from == SEER_VEC_F32 && to == SEER_VEC_I16;
    case SEER_VEC_BITS_HALF:
      return from == SEER_VEC_I16 && to == SEER_VEC_F32;
    default:  // BITCAST
      return is_in_memory(from) && is_in_memory(to) && from != to && n == m;
  }
}

static seer_status check_conversion(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id], *x = at(v, node->arg[0]);
  if (converts((seer_vec_op)node->op, x->elem, node->elem) && node->lanes == x->lanes)
    return SEER_OK;
  return FAULT(
      v, id, "does not make %s of %s", type_of(v, (seer_vec){id}), type_of(v, node->arg[0]));
}

static seer_status check_dot_of_halves(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id], *x = at(v, node->arg[0]);
  if (x->elem != SEER_VEC_I32)
    return FAULT(v, id, "is not defined on %s", type_of(v, node->arg[0]));
  SEER_TRY(check_arg(v, id, 1, SEER_VEC_I32, x->lanes));
  SEER_TRY(check_arg(v, id, 2, SEER_VEC_F32, x->lanes));
  return check_value(v, id, SEER_VEC_F32, x->lanes);
}

static seer_status check_select(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id], *yes = at(v, node->arg[1]);
  SEER_TRY(check_arg(v, id, 2, yes->elem, yes->lanes));
  SEER_TRY(check_value(v, id, yes->elem, yes->lanes));
  SEER_TRY(check_arg(v, id, 0, SEER_VEC_I1,
      at(v, node->arg[0])->lanes == 1 ? 1 : yes->lanes));  // one for all, or each its own
  const pointer_roots *roots = &v->roots[id];
  if (yes->elem == SEER_VEC_PTR && roots->is_mixed)
    return FAULT(v, id, "%s", "pointers to two buffers, or to a slot");
  return SEER_OK;
}

// Between lanes.
static seer_status check_lanes(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id], *x = at(v, node->arg[0]);
  if (x->elem == SEER_VEC_PTR) return FAULT(v, id, "is not defined on %s", "ptr");
  switch ((int)node->op) {
    case SEER_VEC_SPLAT:
      SEER_TRY(check_arg(v, id, 0, x->elem, 1));
      if (node->lanes < 2 || node->lanes > SEER_VEC_MAX_LANES)
        return FAULT(v, id, "%u lanes, must be 2 to %d", node->lanes, SEER_VEC_MAX_LANES);
      return check_value(v, id, x->elem, node->lanes);
    case SEER_VEC_EXTRACT:
    case SEER_VEC_INSERT:
      if (node->imm < 0 || node->imm >= x->lanes)
        return FAULT(v, id, "lane %" PRId64 ", there are %u", node->imm, x->lanes);
      if (node->op == SEER_VEC_EXTRACT) return check_value(v, id, x->elem, 1);
      SEER_TRY(check_arg(v, id, 1, x->elem, 1));
      return check_value(v, id, x->elem, x->lanes);
    case SEER_VEC_LOW_HALF:
    case SEER_VEC_HIGH_HALF:
      if (x->lanes % 2 != 0) return FAULT(v, id, "%u lanes have no halves", x->lanes);
      return check_value(v, id, x->elem, x->lanes / 2u);
    case SEER_VEC_SHUFFLE: {
      SEER_TRY(check_arg(v, id, 1, x->elem, x->lanes));
      SEER_TRY(check_value(v, id, x->elem, x->lanes));
      if (node->imm < 0 || node->imm >= v->code->n_order)
        return FAULT(v, id, "order %" PRId64 ", there are %u", node->imm, v->code->n_order);
      const seer_vec_order *order = &v->code->order[node->imm];
      if (order->n != x->lanes)
        return FAULT(v, id, "an order of %u lanes, must be %u", order->n, x->lanes);
      for (uint32_t l = 0; l < order->n; l++) {
        if (order->lane[l] >= 2u * order->n)
          return FAULT(v, id, "lane %u, there are %u", order->lane[l], 2u * order->n);
      }
      return SEER_OK;
    }
    case SEER_VEC_PICK:
      SEER_TRY(check_arg(v, id, 0, SEER_VEC_I32, x->lanes));
      if (node->imm < 0 || node->imm >= v->code->n_picks)
        return FAULT(v, id, "picks %" PRId64 ", there are %u", node->imm, v->code->n_picks);
      return check_value(v, id, SEER_VEC_F32, x->lanes);
    default:  // ANY
      SEER_TRY(check_arg(v, id, 0, SEER_VEC_I1, x->lanes));
      return check_value(v, id, SEER_VEC_I1, 1);
  }
}

// ---- memory

static bool is_slot(const verifier *v, seer_vec pointer) {
  const seer_vec_node *node = at(v, pointer);
  if (node->op == SEER_VEC_MOVE) node = at(v, node->arg[0]);
  return node->op == SEER_VEC_SLOT;
}

static void find_roots(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  pointer_roots r = {.buf = SEER_VEC_NO_BUF};
  if (node->op == SEER_VEC_BUFFER) r.buf = node->buf;
  r.has_scratch = node->op == SEER_VEC_SCRATCH;
  uint32_t first = node->op == SEER_VEC_SELECT, n = seer_vec_ops[node->op].n_args;
  for (uint32_t k = first; k < n; k++) {
    seer_vec x = node->arg[k];
    if (at(v, x)->elem != SEER_VEC_PTR) continue;
    const pointer_roots *other = &v->roots[x.i];
    r.has_fill |= at(v, x)->op == SEER_VEC_FILL;
    r.is_mixed |= node->op == SEER_VEC_SELECT && is_slot(v, x);
    if (at(v, x)->op == SEER_VEC_FILL || is_slot(v, x)) continue;
    r.is_mixed |= other->is_mixed ||
        (r.buf != SEER_VEC_NO_BUF && other->buf != SEER_VEC_NO_BUF && r.buf != other->buf);
    r.has_scratch |= other->has_scratch;
    r.has_fill |= other->has_fill;
    if (other->buf != SEER_VEC_NO_BUF) r.buf = other->buf;
  }
  v->roots[id] = r;
}

static seer_status check_move(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  int64_t by;
  SEER_TRY(check_value(v, id, SEER_VEC_PTR, 1));
  if (at(v, node->arg[0])->elem != SEER_VEC_PTR)
    return FAULT(v, id, "argument 1 is %s, must be ptr", type_of(v, node->arg[0]));
  SEER_TRY(check_arg(v, id, 1, SEER_VEC_I64, 1));
  if (!is_in_memory(node->of)) return FAULT(v, id, "%s", "elements that are never in memory");
  if (!is_slot(v, node->arg[0])) return SEER_OK;
  if (at(v, node->arg[0])->op != SEER_VEC_SLOT || !seer_vec_const_int(v->code, node->arg[1], &by))
    return FAULT(v, id, "%s", "a slot is moved once, and by a constant");
  return SEER_OK;
}

static seer_status check_slot_access(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id], *pointer = at(v, node->arg[0]), *slot = pointer;
  if (node->op == SEER_VEC_LOAD_MASKED || node->op == SEER_VEC_STORE_MASKED)
    return FAULT(v, id, "%s", "a slot has no masked access");
  if (node->op == SEER_VEC_LOOKUP) return FAULT(v, id, "%s", "a slot is no table");
  if (seer_vec_is_matrix_access(node)) return FAULT(v, id, "%s", "a slot has no rows");
  if (node->buf != SEER_VEC_NO_BUF || node->is_invariant)
    return FAULT(v, id, "%s", "a slot is no buffer, and never invariant");
  int64_t by = 0, offset;
  if (pointer->op == SEER_VEC_MOVE) {
    slot = at(v, pointer->arg[0]);
    seer_vec_const_int(v->code, pointer->arg[1], &by);
  }
  uint32_t elem =
      pointer->op == SEER_VEC_MOVE ? seer_vec_elem_bytes((seer_vec_elem)pointer->of) : 0;
  int64_t n_bytes = slot->imm * slot->lanes * seer_vec_elem_bytes((seer_vec_elem)slot->of);
  int64_t width = seer_vec_access_bytes(v->code, node);
  bool is_far = __builtin_mul_overflow(by, (int64_t)elem, &offset);
  if (is_far || offset < 0 || offset > n_bytes - width)
    return FAULT(v, id, "bytes %" PRId64 " to %" PRId64 " of a slot of %" PRId64,
        is_far ? by : offset, (is_far ? by : offset) + width, n_bytes);
  return SEER_OK;
}

// What an element of the buffer is in memory.
static seer_vec_elem memory_elem(seer_dtype dtype) {
  if (dtype == SEER_DTYPE_F32) return SEER_VEC_F32;
  if (dtype == SEER_DTYPE_F64) return SEER_VEC_F64;
  switch (seer_dtype_bytes(dtype)) {
    case 1:
      return SEER_VEC_I8;
    case 2:
      return SEER_VEC_I16;
    case 4:
      return SEER_VEC_I32;
    default:
      return SEER_VEC_I64;
  }
}

// A buffer's access goes to that buffer or, where it is not meant, to a fill (loads) or the
// scratch's first bytes.
static seer_status check_place(const verifier *v, uint32_t id, uint8_t elem) {
  const seer_vec_node *node = &v->code->node[id];
  const seer_loop *loop = v->code->loop;
  const pointer_roots *roots = &v->roots[node->arg[0].i];
  if (node->buf >= loop->n_buf)
    return FAULT(v, id, "buffer %u, there are %u", node->buf, loop->n_buf);
  const seer_loop_buf *buf = &loop->buf[node->buf];
  bool is_local = buf->storage == SEER_STORE_LOCAL;
  bool is_other = is_local ? roots->buf != SEER_VEC_NO_BUF
                           : roots->buf != SEER_VEC_NO_BUF && roots->buf != node->buf;
  if (is_other) return FAULT(v, id, "points to $%s", loop->buf[roots->buf].name);
  // Bytes and halves are loaded as words of several, too.
  bool is_word = !seer_vec_is_store(node) && elem == SEER_VEC_I32 &&
      (memory_elem(buf->dtype) == SEER_VEC_I8 || memory_elem(buf->dtype) == SEER_VEC_I16);
  if (elem != memory_elem(buf->dtype) && !is_word)
    return FAULT(
        v, id, "%s, the buffer is of %s", seer_vec_elem_names[elem], seer_dtype_name(buf->dtype));
  if (!seer_vec_is_store(node)) return SEER_OK;
  bool is_fixed = buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
  if (is_fixed || roots->has_fill || at(v, node->arg[0])->op == SEER_VEC_FILL)
    return FAULT(v, id, "%s", "a store to what is only read");
  return SEER_OK;
}

static seer_status check_access(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  bool is_store = seer_vec_is_store(node);
  bool is_masked = node->op == SEER_VEC_LOAD_MASKED || node->op == SEER_VEC_STORE_MASKED;
  uint8_t elem = node->elem;
  uint32_t lanes = node->lanes;
  if (at(v, node->arg[0])->elem != SEER_VEC_PTR)
    return FAULT(v, id, "argument 1 is %s, must be ptr", type_of(v, node->arg[0]));
  if (is_store) {
    elem = at(v, node->arg[1])->elem;
    lanes = at(v, node->arg[1])->lanes;
    SEER_TRY(check_value(v, id, SEER_VEC_VOID, lanes));
  }
  if (is_store && node->is_invariant) return FAULT(v, id, "%s", "a store is never invariant");
  if (!is_in_memory(elem)) return FAULT(v, id, "%s is never in memory", seer_vec_elem_names[elem]);
  if (lanes == 0 || lanes > SEER_VEC_MAX_LANES)
    return FAULT(v, id, "%u lanes, must be 1 to %d", lanes, SEER_VEC_MAX_LANES);
  if (is_masked) SEER_TRY(check_arg(v, id, is_store ? 2 : 1, SEER_VEC_I1, lanes));
  if (is_masked && !is_store) SEER_TRY(check_arg(v, id, 2, elem, lanes));
  if (node->op == SEER_VEC_LOOKUP) {
    SEER_TRY(check_arg(v, id, 1, SEER_VEC_I8, lanes));
    SEER_TRY(check_value(v, id, SEER_VEC_I8, lanes));
  }
  if (node->align != 0 && !is_power_of_two(node->align))
    return FAULT(v, id, "aligned to %u, must be a power of two", node->align);
  if (is_slot(v, node->arg[0])) return check_slot_access(v, id);
  return check_place(v, id, elem);
}

static seer_status check_copy(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  SEER_TRY(check_access(v, id));
  if (!v->has_items) return FAULT(v, id, "%s", "the phase has no items");
  if (node->buf == SEER_VEC_NO_BUF || !v->code->loop->buf[node->buf].is_late)
    return FAULT(v, id, "%s", "its buffer is not late");
  if (!seer_vec_is_copied(v->code, node->arg[1]))
    return FAULT(v, id, "%s", "the second is no load of 4, 8 or 16 bytes, with zeros otherwise");
  return SEER_OK;
}

// ---- matrices

static seer_status check_shapes(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  if (node->imm < 0 || node->imm >= v->code->n_shapes)
    return FAULT(v, id, "shapes %" PRId64 ", there are %u", node->imm, v->code->n_shapes);
  const seer_vec_shapes *s = &v->code->shapes[node->imm];
  for (uint32_t k = 0; k < SEER_VEC_MATRICES; k++) {
    bool fits = s->rows[k] <= SEER_MATRIX_SIDE && s->columns[k] <= SEER_MATRIX_SIDE;
    if (!fits || (s->rows[k] == 0) != (s->columns[k] == 0))
      return FAULT(v, id, "%u by %u, must be 1 to %d, or 0 by 0", s->rows[k], s->columns[k],
          SEER_MATRIX_SIDE);
  }
  return SEER_OK;
}

static seer_status check_numbers(const verifier *v, uint32_t id) {
  seer_vec_matrix_regs r = seer_vec_matrix_regs_of(&v->code->node[id]);
  bool is_one =
      seer_vec_is_matrix_access(&v->code->node[id]) || v->code->node[id].op == SEER_VEC_MATRIX_ZERO;
  bool is_different = is_one || (r.sum != r.x && r.sum != r.y && r.x != r.y);
  if (r.sum < SEER_VEC_MATRICES && r.x < SEER_VEC_MATRICES && r.y < SEER_VEC_MATRICES &&
      is_different)
    return SEER_OK;
  return FAULT(v, id, "must be different matrices below %d", SEER_VEC_MATRICES);
}

// Elements are words, whatever those of the buffer are, or sums, which are its elements.
static seer_status check_matrix_access(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  SEER_TRY(check_numbers(v, id));
  if (at(v, node->arg[0])->elem != SEER_VEC_PTR)
    return FAULT(v, id, "argument 1 is %s, must be ptr", type_of(v, node->arg[0]));
  SEER_TRY(check_arg(v, id, 1, SEER_VEC_I64, 1));
  if (node->is_invariant) return FAULT(v, id, "%s", "a matrix is never said to be invariant");
  if (node->align != 0 && !is_power_of_two(node->align))
    return FAULT(v, id, "aligned to %u, must be a power of two", node->align);
  if (is_slot(v, node->arg[0])) return check_slot_access(v, id);
  if (node->buf >= v->code->loop->n_buf)
    return FAULT(v, id, "buffer %u, there are %u", node->buf, v->code->loop->n_buf);
  return check_place(v, id, (uint8_t)memory_elem(v->code->loop->buf[node->buf].dtype));
}

static seer_status check_matrices(const verifier *v, uint32_t id) {
  SEER_TRY(check_value(v, id, SEER_VEC_VOID, 0));
  switch ((int)v->code->node[id].op) {
    case SEER_VEC_MATRIX_SHAPES:
      return check_shapes(v, id);
    case SEER_VEC_MATRIX_LOAD:
    case SEER_VEC_MATRIX_STORE:
      return check_matrix_access(v, id);
    default:
      return check_numbers(v, id);
  }
}

// Values that are there.
static seer_status check_given(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  const seer_loop *loop = v->code->loop;
  if (node->op == SEER_VEC_ITEM && !v->has_items)
    return FAULT(v, id, "%s", "the phase has no items");
  if (node->op == SEER_VEC_PART || node->op == SEER_VEC_ITEM)
    return check_value(v, id, SEER_VEC_I64, 1);
  if (node->op == SEER_VEC_SCRATCH && v->has_items)
    return FAULT(v, id, "%s", "items have no scratch");
  if (node->op != SEER_VEC_BUFFER && node->op != SEER_VEC_SCRATCH)
    return FAULT(v, id, "%s", "is in no block");
  SEER_TRY(check_value(v, id, SEER_VEC_PTR, 1));
  if (node->op == SEER_VEC_SCRATCH) return SEER_OK;
  if (node->buf >= loop->n_buf || loop->buf[node->buf].storage == SEER_STORE_LOCAL ||
      loop->buf[node->buf].storage == SEER_STORE_PRIVATE)
    return FAULT(v, id, "buffer %u is none of the %u, or a local one", node->buf, loop->n_buf);
  return SEER_OK;
}

// ---- control

// A value that is made of what varies varies, and so does what is loaded: items have addresses, or
// see other items' writes sooner or later.
static bool value_varies(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  if (node->op == SEER_VEC_ITEM || node->op == SEER_VEC_MMA || seer_vec_is_load(node)) return true;
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    if (v->varies[node->arg[k].i]) return true;
  }
  return false;
}

// The item's number divided by a multiple of a warp's items says which warp it is of.
static bool is_of_warp(const verifier *v, const seer_vec_node *node) {
  int64_t by;
  bool is_division = node->op == SEER_VEC_SDIV || node->op == SEER_VEC_UDIV;
  bool is_shift = node->op == SEER_VEC_LSHR || node->op == SEER_VEC_ASHR;
  if (!is_division && !is_shift) return false;
  if (at(v, node->arg[0])->op != SEER_VEC_ITEM || !seer_vec_const_int(v->code, node->arg[1], &by))
    return false;
  return is_shift ? by >= 0 && by < 64 && (INT64_C(1) << by) % SEER_VEC_WARP == 0
                  : by > 0 && by % SEER_VEC_WARP == 0;
}

// As value_varies, of items of a warp.
static bool value_splits(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  if (!v->varies[id] || is_of_warp(v, node)) return false;
  if (node->op == SEER_VEC_ITEM || node->op == SEER_VEC_MMA || seer_vec_is_load(node)) return true;
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    if (v->splits[node->arg[k].i]) return true;
  }
  return false;
}

static seer_status check_mma(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  SEER_TRY(check_arg(v, id, 0, SEER_VEC_F32, 4));
  SEER_TRY(check_arg(v, id, 1, SEER_VEC_I32, 4));
  SEER_TRY(check_arg(v, id, 2, SEER_VEC_I32, 2));
  SEER_TRY(check_value(v, id, SEER_VEC_F32, 4));
  if (node->imm < 0 || node->imm >= SEER_VEC_MMA_KIND_COUNT)
    return FAULT(v, id, "kind %" PRId64 ", must be below %d", node->imm, SEER_VEC_MMA_KIND_COUNT);
  if (!v->has_items) return FAULT(v, id, "%s", "the phase has no items");
  if (!v->has_warps)
    return FAULT(v, id, "the items of a block are no multiple of %d", SEER_VEC_WARP);
  if (v->n_splitting > 0) return FAULT(v, id, "%s", "not all items of a warp come to it");
  return SEER_OK;
}

static seer_status check_barrier(const verifier *v, uint32_t id) {
  if (!v->has_items) return FAULT(v, id, "%s", "the phase has no items");
  if (v->n_varying > 0) return FAULT(v, id, "%s", "not all items of a block come to it");
  return SEER_OK;
}

static seer_status check_control(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  SEER_TRY(check_value(v, id, SEER_VEC_VOID, 0));
  if (node->op == SEER_VEC_BARRIER) return check_barrier(v, id);
  if (node->op == SEER_VEC_LEAVE_UNLESS && v->has_items && v->varies[node->arg[0].i])
    return FAULT(v, id, "%s", "some items of a block leave, and others do not");
  if (node->op == SEER_VEC_ARRIVE && !v->has_items)
    return FAULT(v, id, "%s", "the phase has no items");
  if (node->op == SEER_VEC_FENCE || node->op == SEER_VEC_ARRIVE) return SEER_OK;
  if (node->op == SEER_VEC_PREFETCH) {
    if (at(v, node->arg[0])->elem != SEER_VEC_PTR || is_slot(v, node->arg[0]))
      return FAULT(
          v, id, "argument 1 is %s, must be a ptr, and to no slot", type_of(v, node->arg[0]));
    if (node->imm >= 1 && node->imm <= 3) return SEER_OK;
    return FAULT(v, id, "level %" PRId64 ", must be 1 to 3", node->imm);
  }
  if (node->op != SEER_VEC_LOOP) return check_arg(v, id, 0, SEER_VEC_I1, 1);
  if (node->body[1].first != 0) return FAULT(v, id, "%s", "a loop has one block");
  return check_arg(v, id, 0, SEER_VEC_I64, 1);
}

// COUNTERs stand in front of a loop's body, the oldest, which counts by 1, behind the others.
static seer_status check_counters(const verifier *v, uint32_t loop) {
  uint32_t last = 0, n = 0, id = v->code->node[loop].body[0].first;
  for (; id != 0 && v->code->node[id].op == SEER_VEC_COUNTER; id = v->code->node[id].next) {
    SEER_TRY(check_value(v, id, SEER_VEC_I64, 1));
    last = id;
    n++;
  }
  if (n > SEER_VEC_MAX_COUNTERS)
    return FAULT(v, loop, "%u counters, at most %d", n, SEER_VEC_MAX_COUNTERS);
  if (last != 0 && v->code->node[last].imm == 1) return SEER_OK;
  return FAULT(v, loop, "%s", "its last counter does not count by 1");
}

// ---- all of it

static seer_status check_node(const verifier *v, uint32_t id) {
  const seer_vec_node *node = &v->code->node[id];
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) SEER_TRY(check_use(v, id, k));
  if (node->elem == SEER_VEC_PTR) find_roots(v, id);
  if (arg_kinds[node->op] != OTHER) return check_operator(v, id, (arg_kind)arg_kinds[node->op]);
  if (node->op >= SEER_VEC_ZEXT && node->op <= SEER_VEC_BITCAST) return check_conversion(v, id);
  if (seer_vec_is_of_matrices(node)) return check_matrices(v, id);
  switch ((int)node->op) {
    case SEER_VEC_DOT2:
      return check_dot_of_halves(v, id);
    case SEER_VEC_MMA:
      return check_mma(v, id);
    case SEER_VEC_SELECT:
      return check_select(v, id);
    case SEER_VEC_SPLAT:
    case SEER_VEC_EXTRACT:
    case SEER_VEC_INSERT:
    case SEER_VEC_LOW_HALF:
    case SEER_VEC_HIGH_HALF:
    case SEER_VEC_SHUFFLE:
    case SEER_VEC_PICK:
    case SEER_VEC_ANY:
      return check_lanes(v, id);
    case SEER_VEC_MOVE:
      return check_move(v, id);
    case SEER_VEC_LOAD:
    case SEER_VEC_STORE:
    case SEER_VEC_LOOKUP:
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_STORE_MASKED:
      return check_access(v, id);
    case SEER_VEC_COPY:
      return check_copy(v, id);
    case SEER_VEC_PREFETCH:
    case SEER_VEC_FENCE:
    case SEER_VEC_LOOP:
    case SEER_VEC_WHEN:
    case SEER_VEC_LEAVE_UNLESS:
    case SEER_VEC_BARRIER:
    case SEER_VEC_ARRIVE:
      return check_control(v, id);
    case SEER_VEC_COUNTER:
      return SEER_OK;
    default:
      return check_given(v, id);
  }
}

// `loop`: whose body it is; 0: another block.
static seer_status check_block(verifier *v, seer_vec_block block, uint32_t loop) {
  uint32_t before = v->n_scope;
  bool may_count = loop != 0;
  if (loop != 0) SEER_TRY(check_counters(v, loop));
  for (uint32_t id = block.first; id != 0; id = v->code->node[id].next) {
    const seer_vec_node *node = &v->code->node[id];
    may_count &= node->op == SEER_VEC_COUNTER;
    if (node->op == SEER_VEC_COUNTER && !may_count)
      return FAULT(v, id, "%s", "does not stand in front of a loop's body");
    SEER_TRY(check_node(v, id));
    v->varies[id] = value_varies(v, id);
    v->splits[id] = value_splits(v, id);
    bool is_varying = has_blocks(node) && v->varies[id];
    bool is_splitting = has_blocks(node) && v->splits[id];
    v->n_varying += is_varying;
    v->n_splitting += is_splitting;
    for (uint32_t k = 0; k < 2 && has_blocks(node); k++)
      SEER_TRY(check_block(v, node->body[k], node->op == SEER_VEC_LOOP && k == 0 ? id : 0));
    v->n_varying -= is_varying;
    v->n_splitting -= is_splitting;
    v->state[id] = IN_SCOPE;
    v->scope[v->n_scope++] = id;
  }
  while (v->n_scope > before) v->state[v->scope[--v->n_scope]] = GONE;
  return SEER_OK;
}

static seer_status check_fills(const verifier *v) {
  for (uint32_t k = 0; k < v->code->n_fill; k++) {
    const seer_vec_fill *fill = &v->code->fill[k];
    bool is_const = fill->value.i < v->code->n && seer_vec_is_const(v->code, fill->value) &&
        at(v, fill->value)->lanes == 1 && is_in_memory(at(v, fill->value)->elem);
    if (!is_const) return SEER_FAIL(INVALID, "fill %u: not of a constant of one lane", k);
    if (fill->n_bytes == 0 || fill->n_bytes % 64 != 0 || fill->n_bytes > SEER_VEC_MAX_FILL_BYTES)
      return SEER_FAIL(INVALID, "fill %u: %u bytes, must be a multiple of 64 up to %d", k,
          fill->n_bytes, SEER_VEC_MAX_FILL_BYTES);
  }
  return SEER_OK;
}

static seer_status check_phase(verifier *v, uint32_t phase) {
  v->n_scope = 0;
  int64_t n_items = seer_items_of_phase(v->code->loop, phase);
  v->has_items = n_items > 0;
  v->has_warps = n_items % SEER_VEC_WARP == 0;
  for (uint32_t k = 0; k < v->phase->n_slot; k++) {
    seer_vec slot = v->phase->slot[k];
    SEER_TRY(check_slot(v, slot));
    if (v->state[slot.i] != UNSEEN) return SEER_FAIL(INVALID, "slot %u is there twice", k);
    v->state[slot.i] = IN_SCOPE;
  }
  SEER_TRY(check_links(v, v->phase->body, 0));
  SEER_TRY(check_block(v, v->phase->body, 0));
  for (uint32_t k = 0; k < v->phase->n_slot; k++) v->state[v->phase->slot[k].i] = GONE;
  return SEER_OK;
}

seer_status seer_vec_verify(const seer_vec_code *code) {
  if (code->n_phase != code->loop->n_phase)
    return SEER_FAIL(
        INVALID, "code of %u phases, the loop has %u", code->n_phase, code->loop->n_phase);
  seer_arena *arena = seer_arena_create("vector verify");
  verifier v = {.code = code, .arena = arena};
  v.state = SEER_NEW_ARRAY(arena, uint8_t, code->n);
  v.varies = SEER_NEW_ARRAY(arena, bool, code->n);
  v.splits = SEER_NEW_ARRAY(arena, bool, code->n);
  v.roots = SEER_NEW_ARRAY(arena, pointer_roots, code->n);
  v.scope = SEER_NEW_ARRAY(arena, uint32_t, code->n);
  for (uint32_t i = 0; i < code->n; i++) v.roots[i].buf = SEER_VEC_NO_BUF;
  seer_status status = check_fills(&v);
  for (uint32_t p = 0; p < code->n_phase && !status; p++) {
    v.phase = &code->phase[p];
    status = check_phase(&v, p);
    if (status) status = seer_status_context(status, "verifying phase %s", v.phase->name);
  }
  seer_arena_destroy(arena);
  return status;
}
