// build.c - makes vector code. Constants are unique and operators on them are folded, so that who
// writes code can ask whether something is known.
#include <string.h>

#include "code/vector/internal.h"

#define BUCKETS 256

// Values that are in no block, by content.
struct seer_vec_consts {
  uint32_t bucket[BUCKETS];  // the newest of each
};

seer_vec_code *seer_vec_code_create(const seer_loop *loop, seer_arena *arena) {
  seer_vec_code *code = SEER_NEW(arena, seer_vec_code);
  *code = (seer_vec_code){.loop = loop, .arena = arena, .n = 1};
  code->cap = 1024;
  code->node = SEER_NEW_ARRAY(arena, seer_vec_node, code->cap);
  code->consts = SEER_NEW(arena, struct seer_vec_consts);
  return code;
}

seer_vec seer_vec_add_node(seer_vec_code *code, const seer_vec_node *node) {
  size_t cap = code->cap;
  code->node = SEER_GROW(code->arena, seer_vec_node, code->node, code->n, &cap);
  code->cap = (uint32_t)cap;
  code->node[code->n] = *node;
  return (seer_vec){code->n++};
}

seer_vec_block *seer_vec_open_block(const seer_vec_builder *b) {
  if (b->depth == 0) return &b->phase->body;
  return &b->code->node[b->open[b->depth - 1].id].body[b->open[b->depth - 1].side];
}

static seer_vec append(seer_vec_builder *b, const seer_vec_node *node) {
  seer_vec v = seer_vec_add_node(b->code, node);
  seer_vec_block *block = seer_vec_open_block(b);
  if (block->last != 0)
    b->code->node[block->last].next = v.i;
  else
    block->first = v.i;
  block->last = v.i;
  return v;
}

void seer_vec_begin_phase(seer_vec_builder *b, seer_vec_code *code, const char *name) {
  SEER_ASSERT(code->n_phase < SEER_DAG_MAX_STAGES, "%u phases", code->n_phase);
  *b = (seer_vec_builder){.code = code, .phase = &code->phase[code->n_phase++]};
  b->phase->name = name;
}

// ---- constants

static uint64_t cut(seer_vec_elem elem, uint64_t bits) {
  uint32_t n = seer_vec_elem_bits[elem];
  return n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1);
}

// The value that is in no block and has this content.
static seer_vec unique(seer_vec_code *code, const seer_vec_node *node) {
  uint64_t hash = node->bits * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)node->imm;
  hash = (hash ^ (hash >> 31) ^ node->op ^ (uint64_t)node->elem << 8 ^ (uint64_t)node->lanes << 16);
  hash *= UINT64_C(0xBF58476D1CE4E5B9);
  uint32_t *bucket = &code->consts->bucket[hash >> 56];
  for (uint32_t i = *bucket; i != 0; i = code->node[i].next) {
    const seer_vec_node *old = &code->node[i];
    if (old->op == node->op && old->elem == node->elem && old->lanes == node->lanes &&
        old->bits == node->bits && old->imm == node->imm)
      return (seer_vec){i};
  }
  seer_vec v = seer_vec_add_node(code, node);
  code->node[v.i].next = *bucket;
  *bucket = v.i;
  return v;
}

seer_vec seer_vec_series(
    seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, int64_t first, int64_t step) {
  seer_vec_node node = {.op = SEER_VEC_CONST,
      .elem = (uint8_t)elem,
      .lanes = (uint16_t)lanes,
      .bits = cut(elem, (uint64_t)first),
      .imm = lanes == 1 ? 0 : step};
  return unique(b->code, &node);
}

seer_vec seer_vec_const(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, uint64_t bits) {
  return seer_vec_series(b, elem, lanes, (int64_t)bits, 0);
}

seer_vec seer_vec_real(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, double value) {
  uint64_t bits = 0;
  float single = (float)value;
  memcpy(&bits, elem == SEER_VEC_F32 ? (void *)&single : (void *)&value, seer_vec_elem_bytes(elem));
  return seer_vec_const(b, elem, lanes, bits);
}

seer_vec seer_vec_undef(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes) {
  seer_vec_node node = {.op = SEER_VEC_UNDEF, .elem = (uint8_t)elem, .lanes = (uint16_t)lanes};
  return unique(b->code, &node);
}

bool seer_vec_is_const(const seer_vec_code *code, seer_vec v) {
  return v.i != 0 && code->node[v.i].op == SEER_VEC_CONST;
}

bool seer_vec_const_bits(const seer_vec_code *code, seer_vec v, uint64_t *out_bits) {
  if (!seer_vec_is_const(code, v) || code->node[v.i].imm != 0) return false;
  *out_bits = code->node[v.i].bits;
  return true;
}

bool seer_vec_const_int(const seer_vec_code *code, seer_vec v, int64_t *out) {
  const seer_vec_node *node = seer_vec_at(code, v);
  if (!seer_vec_is_const(code, v) || node->lanes != 1 || seer_vec_is_float(node->elem))
    return false;
  uint32_t above = 64 - seer_vec_elem_bits[node->elem];
  *out = (int64_t)(node->bits << above) >> above;
  return true;
}

bool seer_vec_const_real(const seer_vec_code *code, seer_vec v, double *out) {
  const seer_vec_node *node = seer_vec_at(code, v);
  if (!seer_vec_is_const(code, v) || !seer_vec_is_float(node->elem)) return false;
  float single;
  memcpy(&single, &node->bits, sizeof(single));
  if (node->elem == SEER_VEC_F32)
    *out = (double)single;
  else
    memcpy(out, &node->bits, sizeof(*out));
  return true;
}

// ---- operators

static bool fold(
    seer_vec_builder *b, seer_vec_op op, seer_vec_elem to, const seer_vec *arg, seer_vec *out) {
  const seer_vec_op_info *info = &seer_vec_ops[op];
  uint64_t bits[3] = {0}, result;
  if (!info->is_folded) return false;
  for (uint32_t k = 0; k < info->n_args; k++) {
    if (!seer_vec_is_const(b->code, arg[k])) return false;
  }
  const seer_vec_node *x = seer_vec_at(b->code, arg[0]), *y = seer_vec_at(b->code, arg[1]);
  bool is_sum = op == SEER_VEC_ADD || op == SEER_VEC_ADD_INDEX;
  if (is_sum && x->imm + y->imm != 0) {
    *out = seer_vec_series(b, to, x->lanes, (int64_t)(x->bits + y->bits), x->imm + y->imm);
    return true;
  }
  for (uint32_t k = 0; k < info->n_args; k++) {
    if (!seer_vec_const_bits(b->code, arg[k], &bits[k])) return false;
  }
  uint32_t lanes = x->lanes;
  if (!seer_vec_apply(op, (seer_vec_elem)x->elem, to, bits[0], bits[1], bits[2], &result))
    return false;
  *out = seer_vec_const(b, to, lanes, result);
  return true;
}

static seer_vec operate(
    seer_vec_builder *b, seer_vec_op op, seer_vec_elem to, seer_vec x, seer_vec y, seer_vec z) {
  seer_vec arg[3] = {x, y, z}, folded;
  if (fold(b, op, to, arg, &folded)) return folded;
  seer_vec_node node = {.op = (uint8_t)op,
      .elem = (uint8_t)to,
      .lanes = seer_vec_at(b->code, x)->lanes,
      .arg = {x, y, z}};
  return append(b, &node);
}

static seer_vec_elem elem_of(const seer_vec_builder *b, seer_vec v) {
  return (seer_vec_elem)seer_vec_at(b->code, v)->elem;
}

static seer_vec_elem result_of(const seer_vec_builder *b, seer_vec_op op, seer_vec x) {
  return seer_vec_ops[op].rule == SEER_VEC_TRUTH ? SEER_VEC_I1 : elem_of(b, x);
}

#define NO_VALUE ((seer_vec){0})

seer_vec seer_vec1(seer_vec_builder *b, seer_vec_op op, seer_vec x) {
  return operate(b, op, result_of(b, op, x), x, NO_VALUE, NO_VALUE);
}

seer_vec seer_vec2(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec y) {
  return operate(b, op, result_of(b, op, x), x, y, NO_VALUE);
}

seer_vec seer_vec3(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec y, seer_vec z) {
  return operate(b, op, op == SEER_VEC_DOT2 ? elem_of(b, z) : result_of(b, op, x), x, y, z);
}

seer_vec seer_vec_to(seer_vec_builder *b, seer_vec_op op, seer_vec x, seer_vec_elem elem) {
  return elem_of(b, x) == elem ? x : operate(b, op, elem, x, NO_VALUE, NO_VALUE);
}

seer_vec seer_vec_select(seer_vec_builder *b, seer_vec cond, seer_vec yes, seer_vec no) {
  uint64_t is_true;
  bool is_known = seer_vec_is_const(b->code, yes) && seer_vec_is_const(b->code, no) &&
      seer_vec_const_bits(b->code, cond, &is_true);
  if (is_known) return is_true ? yes : no;
  const seer_vec_node *value = seer_vec_at(b->code, yes);
  seer_vec_node node = {
      .op = SEER_VEC_SELECT, .elem = value->elem, .lanes = value->lanes, .arg = {cond, yes, no}};
  return append(b, &node);
}

// ---- between lanes

static seer_vec across(seer_vec_builder *b, seer_vec_op op, seer_vec_elem elem, uint32_t lanes,
    seer_vec x, seer_vec y, int64_t imm) {
  seer_vec_node node = {.op = (uint8_t)op,
      .elem = (uint8_t)elem,
      .lanes = (uint16_t)lanes,
      .arg = {x, y},
      .imm = imm};
  return append(b, &node);
}

seer_vec seer_vec_splat(seer_vec_builder *b, seer_vec x, uint32_t lanes) {
  uint64_t bits;
  if (lanes == 1) return x;
  if (seer_vec_const_bits(b->code, x, &bits)) return seer_vec_const(b, elem_of(b, x), lanes, bits);
  return across(b, SEER_VEC_SPLAT, elem_of(b, x), lanes, x, NO_VALUE, 0);
}

seer_vec seer_vec_extract(seer_vec_builder *b, seer_vec x, uint32_t lane) {
  if (seer_vec_is_const(b->code, x)) {
    const seer_vec_node *node = seer_vec_at(b->code, x);
    return seer_vec_const(b, elem_of(b, x), 1, node->bits + (uint64_t)node->imm * lane);
  }
  return across(b, SEER_VEC_EXTRACT, elem_of(b, x), 1, x, NO_VALUE, lane);
}

seer_vec seer_vec_insert(seer_vec_builder *b, seer_vec x, seer_vec one, uint32_t lane) {
  return across(b, SEER_VEC_INSERT, elem_of(b, x), seer_vec_at(b->code, x)->lanes, x, one, lane);
}

seer_vec seer_vec_half(seer_vec_builder *b, seer_vec x, bool is_high) {
  uint32_t lanes = seer_vec_at(b->code, x)->lanes / 2u;
  if (lanes == 1) return seer_vec_extract(b, x, is_high);
  return across(
      b, is_high ? SEER_VEC_HIGH_HALF : SEER_VEC_LOW_HALF, elem_of(b, x), lanes, x, NO_VALUE, 0);
}

uint32_t seer_vec_add_order(seer_vec_code *code, uint32_t n, const uint16_t *lane) {
  for (uint32_t k = 0; k < code->n_order; k++) {
    const seer_vec_order *order = &code->order[k];
    if (order->n == n && memcmp(order->lane, lane, n * sizeof(*lane)) == 0) return k;
  }
  size_t cap = code->cap_order;
  code->order = SEER_GROW(code->arena, seer_vec_order, code->order, code->n_order, &cap);
  code->cap_order = (uint32_t)cap;
  seer_vec_order *order = &code->order[code->n_order];
  *order = (seer_vec_order){.n = n, .lane = SEER_NEW_ARRAY(code->arena, uint16_t, n)};
  memcpy(order->lane, lane, n * sizeof(*lane));
  return code->n_order++;
}

seer_vec seer_vec_shuffle(seer_vec_builder *b, seer_vec x, seer_vec y, const uint16_t *lane) {
  uint32_t lanes = seer_vec_at(b->code, x)->lanes;
  return across(
      b, SEER_VEC_SHUFFLE, elem_of(b, x), lanes, x, y, seer_vec_add_order(b->code, lanes, lane));
}

uint32_t seer_vec_add_picks(seer_vec_code *code, const seer_vec_picks *picks) {
  for (uint32_t k = 0; k < code->n_picks; k++)
    if (memcmp(&code->picks[k], picks, sizeof(*picks)) == 0) return k;
  size_t cap = code->cap_picks;
  code->picks = SEER_GROW(code->arena, seer_vec_picks, code->picks, code->n_picks, &cap);
  code->cap_picks = (uint32_t)cap;
  code->picks[code->n_picks] = *picks;
  return code->n_picks++;
}

seer_vec seer_vec_pick(seer_vec_builder *b, seer_vec number, const seer_vec_picks *from) {
  return across(b, SEER_VEC_PICK, SEER_VEC_F32, seer_vec_at(b->code, number)->lanes, number,
      NO_VALUE, seer_vec_add_picks(b->code, from));
}

seer_vec seer_vec_any(seer_vec_builder *b, seer_vec mask) {
  if (seer_vec_at(b->code, mask)->lanes == 1) return mask;
  return across(b, SEER_VEC_ANY, SEER_VEC_I1, 1, mask, NO_VALUE, 0);
}

// ---- pointers and memory

static seer_vec object(seer_vec_builder *b, seer_vec_op op, uint32_t buf) {
  seer_vec_node node = {.op = (uint8_t)op, .elem = SEER_VEC_PTR, .lanes = 1, .buf = buf};
  return append(b, &node);
}

seer_vec seer_vec_mma(
    seer_vec_builder *b, seer_vec_mma_kind kind, seer_vec c, seer_vec x, seer_vec y) {
  seer_vec_node node = {
      .op = SEER_VEC_MMA, .elem = SEER_VEC_F32, .lanes = 4, .arg = {c, x, y}, .imm = (int64_t)kind};
  return append(b, &node);
}

static bool has_op(const seer_vec_code *code, seer_vec_op op) {
  for (uint32_t i = 1; i < code->n; i++) {
    if (code->node[i].op == op) return true;
  }
  return false;
}

bool seer_vec_has_copies(const seer_vec_code *code) { return has_op(code, SEER_VEC_COPY); }
bool seer_vec_has_mma(const seer_vec_code *code) { return has_op(code, SEER_VEC_MMA); }

bool seer_vec_is_copied(const seer_vec_code *code, seer_vec value) {
  const seer_vec_node *load = seer_vec_at(code, value);
  uint32_t n_bytes = seer_vec_elem_bytes((seer_vec_elem)load->elem) * load->lanes;
  bool is_of_size = n_bytes == 4 || n_bytes == 8 || n_bytes == 16;
  if (!is_of_size || load->buf == SEER_VEC_NO_BUF) return false;
  if (load->align != 0 && load->align < n_bytes) return false;
  if (load->op == SEER_VEC_LOAD) return true;
  if (load->op != SEER_VEC_LOAD_MASKED) return false;
  uint64_t otherwise;
  bool is_one = load->lanes == 1 || seer_vec_at(code, load->arg[1])->op == SEER_VEC_SPLAT;
  return is_one && seer_vec_const_bits(code, load->arg[2], &otherwise) && otherwise == 0;
}

seer_vec seer_vec_part(seer_vec_builder *b) {
  seer_vec_node node = {.op = SEER_VEC_PART, .elem = SEER_VEC_I64, .lanes = 1};
  return append(b, &node);
}

seer_vec seer_vec_item(seer_vec_builder *b) {
  seer_vec_node node = {.op = SEER_VEC_ITEM, .elem = SEER_VEC_I64, .lanes = 1};
  return append(b, &node);
}

seer_vec seer_vec_buffer(seer_vec_builder *b, uint32_t buf) {
  return object(b, SEER_VEC_BUFFER, buf);
}

seer_vec seer_vec_scratch(seer_vec_builder *b) {
  return object(b, SEER_VEC_SCRATCH, SEER_VEC_NO_BUF);
}

seer_vec seer_vec_filled(seer_vec_builder *b, seer_vec value, int64_t n_bytes) {
  seer_vec_code *code = b->code;
  uint32_t size = 64;
  while (size < n_bytes) size *= 2;
  SEER_ASSERT(size <= SEER_VEC_MAX_FILL_BYTES, "a fill of %u bytes", size);
  uint32_t k = 0;
  while (k < code->n_fill && (code->fill[k].value.i != value.i || code->fill[k].n_bytes != size))
    k++;
  if (k == code->n_fill) {
    size_t cap = code->cap_fill;
    code->fill = SEER_GROW(code->arena, seer_vec_fill, code->fill, code->n_fill, &cap);
    code->cap_fill = (uint32_t)cap;
    code->fill[code->n_fill++] = (seer_vec_fill){.value = value, .n_bytes = size};
  }
  seer_vec_node node = {.op = SEER_VEC_FILL, .elem = SEER_VEC_PTR, .lanes = 1, .imm = k};
  return unique(code, &node);
}

seer_vec seer_vec_slot(
    seer_vec_builder *b, seer_vec_elem of, uint32_t lanes, int64_t n, uint32_t align) {
  seer_vec_phase *phase = b->phase;
  seer_vec_node node = {.op = SEER_VEC_SLOT,
      .elem = SEER_VEC_PTR,
      .of = (uint8_t)of,
      .lanes = (uint16_t)lanes,
      .align = (uint16_t)align,
      .imm = n};
  seer_vec v = seer_vec_add_node(b->code, &node);
  size_t cap = phase->cap_slot;
  phase->slot = SEER_GROW(b->code->arena, seer_vec, phase->slot, phase->n_slot, &cap);
  phase->cap_slot = (uint32_t)cap;
  phase->slot[phase->n_slot++] = v;
  return v;
}

seer_vec seer_vec_move(seer_vec_builder *b, seer_vec_elem of, seer_vec pointer, seer_vec by) {
  seer_vec_node node = {.op = SEER_VEC_MOVE,
      .elem = SEER_VEC_PTR,
      .of = (uint8_t)of,
      .lanes = 1,
      .arg = {pointer, by}};
  return append(b, &node);
}

seer_vec seer_vec_load(seer_vec_builder *b, seer_vec_elem elem, uint32_t lanes, seer_vec pointer,
    uint32_t align, uint32_t buf, bool is_invariant) {
  seer_vec_node node = {.op = SEER_VEC_LOAD,
      .elem = (uint8_t)elem,
      .lanes = (uint16_t)lanes,
      .align = (uint16_t)align,
      .buf = buf,
      .is_invariant = is_invariant,
      .arg = {pointer}};
  return append(b, &node);
}

seer_vec seer_vec_lookup(seer_vec_builder *b, seer_vec pointer, seer_vec number, uint32_t align,
    uint32_t buf, bool is_invariant) {
  seer_vec_node node = {.op = SEER_VEC_LOOKUP,
      .elem = SEER_VEC_I8,
      .lanes = seer_vec_at(b->code, number)->lanes,
      .align = (uint16_t)align,
      .buf = buf,
      .is_invariant = is_invariant,
      .arg = {pointer, number}};
  return append(b, &node);
}

void seer_vec_store(
    seer_vec_builder *b, seer_vec value, seer_vec pointer, uint32_t align, uint32_t buf) {
  seer_vec_node node = {.op = SEER_VEC_STORE,
      .lanes = seer_vec_at(b->code, value)->lanes,
      .align = (uint16_t)align,
      .buf = buf,
      .arg = {pointer, value}};
  append(b, &node);
}

seer_vec seer_vec_load_masked(seer_vec_builder *b, seer_vec pointer, seer_vec mask,
    seer_vec otherwise, uint32_t align, uint32_t buf, bool is_invariant) {
  const seer_vec_node *value = seer_vec_at(b->code, otherwise);
  seer_vec_node node = {.op = SEER_VEC_LOAD_MASKED,
      .elem = value->elem,
      .lanes = value->lanes,
      .align = (uint16_t)align,
      .buf = buf,
      .is_invariant = is_invariant,
      .arg = {pointer, mask, otherwise}};
  return append(b, &node);
}

void seer_vec_store_masked(seer_vec_builder *b, seer_vec value, seer_vec pointer, seer_vec mask,
    uint32_t align, uint32_t buf) {
  seer_vec_node node = {.op = SEER_VEC_STORE_MASKED,
      .lanes = seer_vec_at(b->code, value)->lanes,
      .align = (uint16_t)align,
      .buf = buf,
      .arg = {pointer, value, mask}};
  append(b, &node);
}

uint32_t seer_vec_add_shapes(seer_vec_code *code, const seer_vec_shapes *shapes) {
  for (uint32_t k = 0; k < code->n_shapes; k++)
    if (memcmp(&code->shapes[k], shapes, sizeof(*shapes)) == 0) return k;
  size_t cap = code->cap_shapes;
  code->shapes = SEER_GROW(code->arena, seer_vec_shapes, code->shapes, code->n_shapes, &cap);
  code->cap_shapes = (uint32_t)cap;
  code->shapes[code->n_shapes] = *shapes;
  return code->n_shapes++;
}

void seer_vec_matrix_shapes(seer_vec_builder *b, const seer_vec_shapes *shapes) {
  append(b,
      &(seer_vec_node){.op = SEER_VEC_MATRIX_SHAPES, .imm = seer_vec_add_shapes(b->code, shapes)});
}

void seer_vec_matrix_zero(seer_vec_builder *b, uint32_t matrix) {
  append(b, &(seer_vec_node){.op = SEER_VEC_MATRIX_ZERO, .imm = matrix});
}

static void matrix_access(seer_vec_builder *b, seer_vec_op op, uint32_t matrix, seer_vec pointer,
    seer_vec stride, uint32_t align, uint32_t buf) {
  seer_vec_node node = {.op = (uint8_t)op,
      .align = (uint16_t)align,
      .buf = buf,
      .arg = {pointer, stride},
      .imm = matrix};
  append(b, &node);
}

void seer_vec_matrix_load(seer_vec_builder *b, uint32_t matrix, seer_vec pointer, seer_vec stride,
    uint32_t align, uint32_t buf) {
  matrix_access(b, SEER_VEC_MATRIX_LOAD, matrix, pointer, stride, align, buf);
}

void seer_vec_matrix_store(seer_vec_builder *b, uint32_t matrix, seer_vec pointer, seer_vec stride,
    uint32_t align, uint32_t buf) {
  matrix_access(b, SEER_VEC_MATRIX_STORE, matrix, pointer, stride, align, buf);
}

void seer_vec_matrix_dot(seer_vec_builder *b, seer_vec_op op, seer_vec_matrix_regs regs) {
  append(b, &(seer_vec_node){.op = (uint8_t)op, .imm = seer_vec_matrix_imm(regs)});
}

void seer_vec_prefetch(seer_vec_builder *b, seer_vec pointer, uint32_t level) {
  seer_vec_node node = {.op = SEER_VEC_PREFETCH, .arg = {pointer}, .imm = level};
  append(b, &node);
}

void seer_vec_fence(seer_vec_builder *b) { append(b, &(seer_vec_node){.op = SEER_VEC_FENCE}); }

void seer_vec_barrier(seer_vec_builder *b) { append(b, &(seer_vec_node){.op = SEER_VEC_BARRIER}); }

// ---- control

static void open_side(seer_vec_builder *b, uint32_t id, uint32_t side) {
  SEER_ASSERT(b->depth < SEER_VEC_MAX_DEPTH, "%u open loops and versions", b->depth);
  b->open[b->depth].id = id;
  b->open[b->depth++].side = side;
}

void seer_vec_leave_unless(seer_vec_builder *b, seer_vec cond) {
  append(b, &(seer_vec_node){.op = SEER_VEC_LEAVE_UNLESS, .arg = {cond}});
}

seer_vec seer_vec_begin_loop(seer_vec_builder *b, seer_vec n, bool runs, uint32_t *out_loop) {
  *out_loop = append(b, &(seer_vec_node){.op = SEER_VEC_LOOP, .arg = {n}, .imm = runs}).i;
  open_side(b, *out_loop, 0);
  return seer_vec_counter(b, *out_loop, 1);
}

seer_vec seer_vec_counter(seer_vec_builder *b, uint32_t loop, int64_t step) {
  seer_vec_node node = {.op = SEER_VEC_COUNTER, .elem = SEER_VEC_I64, .lanes = 1, .imm = step};
  seer_vec v = seer_vec_add_node(b->code, &node);
  seer_vec_block *body = &b->code->node[loop].body[0];
  b->code->node[v.i].next = body->first;
  body->first = v.i;
  if (body->last == 0) body->last = v.i;
  return v;
}

void seer_vec_begin_when(seer_vec_builder *b, seer_vec cond) {
  open_side(b, append(b, &(seer_vec_node){.op = SEER_VEC_WHEN, .arg = {cond}}).i, 0);
}

void seer_vec_otherwise(seer_vec_builder *b) { b->open[b->depth - 1].side = 1; }

void seer_vec_end(seer_vec_builder *b) { b->depth--; }

// ---- changes

void seer_vec_link(
    seer_vec_code *code, seer_vec_block *block, const uint32_t *instructions, uint32_t n) {
  *block = (seer_vec_block){n > 0 ? instructions[0] : 0, n > 0 ? instructions[n - 1] : 0};
  for (uint32_t k = 0; k < n; k++)
    code->node[instructions[k]].next = k + 1 < n ? instructions[k + 1] : 0;
}
