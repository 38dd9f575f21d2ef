// spread.c - an item's code -> the code of so many items that follow each other, as lanes of
// vectors: for OpenCL's compilers that make code for a processor and do not make vectors of items
// by themselves across loops (PoCL: a product ran at a lane's speed; doc/decisions, 119).
//
//   one     the same for all of them, or an integer or pointer: that of the first item, from which
//           the others' differ by a step (an address by the element's bytes)
//   spread  f32, and masks (i1 that items differ in): a lane for each
//
// What a WHEN of a mask holds is done where any item of the vector does it: variables keep what
// they had in the others' lanes, and memory is accessed for those items alone (print.c).
//
// The first item's number is a multiple of the lanes, so that quotients and comparisons by such
// multiples are the same for all. Elements that are not side by side are loaded and stored lane by
// lane, but in no loop, unless two apart: there an item's own neighbours make better vectors (a 1x1
// of 56x56x96 to 24 whose items are pixels: 300 us in place of 5,036). What is none of both (a
// barrier, an integer that is computed from lanes) has no such form, and the phase is an item's
// alone.
#include "code/source/internal.h"
#include "space/items/items.h"

typedef struct {
  int64_t step;  // from an item to the next one; of pointers bytes
  bool is_whole;  // of the first item: a multiple of the lanes
} progress;

typedef struct {
  seer_source *s;
  progress *of;  // by node
  int64_t lanes;
  bool is_in_loop, is_masked;  // what is taken: by a LOOP, by a WHEN of a mask
  bool has_changed;  // a variable turned out to be spread
} spreader;

static const seer_vec_node *at(const spreader *p, seer_vec v) { return seer_source_at(p->s, v); }
static bool is_spread(const spreader *p, seer_vec v) { return p->s->fact[v.i].is_spread; }
static int64_t step_of(const spreader *p, seer_vec v) { return p->of[v.i].step; }

static bool is_const(const spreader *p, seer_vec v, int64_t *out) {
  return seer_vec_const_int(p->s->code, v, out);
}

static bool is_whole(const spreader *p, seer_vec v) {
  int64_t value;
  return is_const(p, v, &value) ? value % p->lanes == 0 : p->of[v.i].is_whole;
}

// All arguments are the same for all items.
static bool is_of_one(const spreader *p, const seer_vec_node *node) {
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++)
    if (is_spread(p, node->arg[k]) || step_of(p, node->arg[k]) != 0) return false;
  return true;
}

// Counts items from a multiple of the lanes on, against such a multiple that all items have.
static bool counts_items(const spreader *p, const seer_vec_node *node) {
  return step_of(p, node->arg[0]) == 1 && is_whole(p, node->arg[0]) &&
      step_of(p, node->arg[1]) == 0 && is_whole(p, node->arg[1]);
}

// The same for all items: whether it is a multiple of the lanes.
static bool is_whole_of_one(const spreader *p, const seer_vec_node *node) {
  seer_vec x = node->arg[0], y = node->arg[1];
  switch ((int)node->op) {
    case SEER_VEC_ADD:
    case SEER_VEC_ADD_INDEX:
    case SEER_VEC_SUB:
    case SEER_VEC_SUB_INDEX:
      return is_whole(p, x) && is_whole(p, y);
    case SEER_VEC_MUL:
    case SEER_VEC_MUL_INDEX:
      return is_whole(p, x) || is_whole(p, y);
    default:
      return false;
  }
}

// Written in 32 bits.
static bool is_narrow(const spreader *p, seer_vec v) {
  int64_t value;
  if (is_const(p, v, &value)) return value == (int32_t)value;
  return at(p, v)->elem == SEER_VEC_I32 || p->s->fact[v.i].is_short;
}

// A comparison, a lane for each item.
static bool truth(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  if (node->lanes != 1 || !seer_source_has_mask(p->s, node)) return false;
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    bool is_mask = at(p, node->arg[k])->elem == SEER_VEC_I1;
    if (!is_mask && (is_spread(p, node->arg[k]) || !is_narrow(p, node->arg[k]))) return false;
  }
  p->s->fact[id].is_spread = true;
  return true;
}

static bool integer(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  seer_vec x = node->arg[0], y = node->arg[1];
  progress *out = &p->of[id];
  int64_t value;
  switch ((int)node->op) {
    case SEER_VEC_ITEM:
      *out = (progress){1, true};
      return true;
    case SEER_VEC_ADD:
    case SEER_VEC_ADD_INDEX:
      *out = (progress){step_of(p, x) + step_of(p, y), is_whole(p, x) && is_whole(p, y)};
      return true;
    case SEER_VEC_SUB:
    case SEER_VEC_SUB_INDEX:
      *out = (progress){step_of(p, x) - step_of(p, y), is_whole(p, x) && is_whole(p, y)};
      return true;
    case SEER_VEC_MUL:
    case SEER_VEC_MUL_INDEX:
      if (is_const(p, x, &value)) {
        *out = (progress){value * step_of(p, y), is_whole(p, y)};
        return true;
      }
      if (!is_const(p, y, &value)) return false;
      *out = (progress){value * step_of(p, x), is_whole(p, x)};
      return true;
    case SEER_VEC_ZEXT:
    case SEER_VEC_SEXT:
    case SEER_VEC_TRUNC:
      *out = p->of[x.i];
      return node->elem == SEER_VEC_I32 || node->elem == SEER_VEC_I64;
    case SEER_VEC_UDIV:
      return counts_items(p, node) && is_const(p, y, &value) && value > 0;
    case SEER_VEC_UREM:
      *out = (progress){1, true};
      return counts_items(p, node) && is_const(p, y, &value) && value > 0;
    case SEER_VEC_SLT:
    case SEER_VEC_ULT:
    case SEER_VEC_SGE:
    case SEER_VEC_UGE:
      return counts_items(p, node) || truth(p, id);
    case SEER_VEC_EQ:
    case SEER_VEC_NE:
    case SEER_VEC_SLE:
    case SEER_VEC_SGT:
    case SEER_VEC_ULE:
    case SEER_VEC_UGT:
      return truth(p, id);
    case SEER_VEC_MOVE:
      *out = (progress){
          step_of(p, x) + step_of(p, y) * (int64_t)seer_vec_elem_bytes((seer_vec_elem)node->of),
          false};
      return true;
    default:
      return false;
  }
}

// Pieces of a variable of which one store is spread, or not done by all items, are spread.
static bool access_variable(spreader *p, uint32_t id, uint32_t slot, int64_t where) {
  const seer_vec_node *node = &p->s->code->node[id];
  seer_source_piece *piece = (seer_source_piece *)seer_source_piece_of(p->s, slot, where);
  bool is_plain = piece->elem == SEER_VEC_F32 && piece->lanes == 1;
  if (node->op == SEER_VEC_LOAD) {
    p->s->fact[id].is_spread = piece->is_spread;
    return true;
  }
  if (node->op != SEER_VEC_STORE || step_of(p, node->arg[1]) != 0) return false;
  if ((is_spread(p, node->arg[1]) || p->is_masked) && !piece->is_spread) {
    piece->is_spread = p->has_changed = true;
    return is_plain;
  }
  return true;
}

static bool is_f32(const seer_vec_node *node) {
  return node->elem == SEER_VEC_F32 && node->lanes == 1;
}

// What a row of INSERTs puts together, lane by lane; false: some lanes come from elsewhere.
bool seer_source_row(const seer_source *s, seer_vec v, seer_vec *out_lanes) {
  const seer_vec_node *node = seer_source_at(s, v);
  uint32_t lanes = node->lanes, n = 0;
  for (uint32_t l = 0; l < lanes; l++) out_lanes[l] = (seer_vec){0};
  for (; node->op == SEER_VEC_INSERT; node = seer_source_at(s, node->arg[0])) {
    if (out_lanes[node->imm].i == 0) n++;
    if (out_lanes[node->imm].i == 0) out_lanes[node->imm] = node->arg[1];
  }
  return n == lanes;
}

static bool row(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  p->s->fact[id].is_spread = true;
  return node->elem == SEER_VEC_F32 && node->lanes <= SEER_SOURCE_MAX_LANES &&
      step_of(p, node->arg[1]) == 0;
}

// Of several lanes: a row that is stored, and what is loaded of memory that nobody writes, whose
// lanes are loaded where they are taken out.
static bool is_taken_apart(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  seer_vec lanes[SEER_SOURCE_MAX_LANES];
  if (node->op == SEER_VEC_STORE)
    return is_spread(p, node->arg[1]) && seer_source_row(p->s, node->arg[1], lanes);
  return node->elem == SEER_VEC_F32 && p->s->fact[node->arg[0].i].is_read_only;
}

static bool access(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  bool is_store = node->op == SEER_VEC_STORE;
  uint32_t slot;
  int64_t where, step = step_of(p, node->arg[0]);
  if (seer_source_into_slot(p->s, node->arg[0], &slot, &where))
    return access_variable(p, id, slot, where);
  if (seer_source_is_of_group(p->s, node->arg[0])) return false;
  if (is_store && step_of(p, node->arg[1]) != 0) return false;
  bool is_masked = node->op == SEER_VEC_LOAD_MASKED &&
      (is_spread(p, node->arg[1]) || is_spread(p, node->arg[2]));
  if (step == 0 && !is_masked) return !is_store || !is_spread(p, node->arg[1]);
  p->s->fact[id].is_spread = true;
  p->s->fact[id].apart = step;
  if (step == 0) return is_f32(node);
  if (step != 4 && (step != 8 || is_store) && p->is_in_loop) return false;
  return is_taken_apart(p, id) || is_f32(is_store ? at(p, node->arg[1]) : node);
}

static bool real(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  if (seer_source_has_mask(p->s, node)) return truth(p, id);
  if (!seer_source_has_spread(node)) return false;
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) {
    const seer_vec_node *arg = at(p, node->arg[k]);
    bool is_condition = node->op == SEER_VEC_SELECT && k == 0;
    if (step_of(p, node->arg[k]) != 0 || (!is_condition && !is_f32(arg))) return false;
  }
  p->s->fact[id].is_spread = true;
  return is_f32(node) || (node->elem == SEER_VEC_I1 && node->lanes == 1);
}

static bool take(spreader *p, uint32_t id) {
  const seer_vec_node *node = &p->s->code->node[id];
  switch ((int)node->op) {
    case SEER_VEC_LOAD:
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_STORE:
      return access(p, id);
    case SEER_VEC_BARRIER:
    case SEER_VEC_MMA:
      return false;
    case SEER_VEC_WHEN:
      p->s->fact[id].is_spread = is_spread(p, node->arg[0]);
      return true;
    case SEER_VEC_SPLAT:  // of what is loaded of memory, all lanes of it or none
      p->s->fact[id].is_spread = is_spread(p, node->arg[0]);
      return step_of(p, node->arg[0]) == 0 && (node->elem == SEER_VEC_I1 || is_of_one(p, node));
    case SEER_VEC_EXTRACT:
      p->s->fact[id].is_spread = is_spread(p, node->arg[0]);
      return !is_spread(p, node->arg[0]) || at(p, node->arg[0])->op == SEER_VEC_LOAD ||
          at(p, node->arg[0])->op == SEER_VEC_LOAD_MASKED;
    case SEER_VEC_INSERT:
      return is_of_one(p, node) || row(p, id);
    case SEER_VEC_ITEM:
      return integer(p, id);
    default:
      break;
  }
  if (is_of_one(p, node)) {
    p->of[id].is_whole = is_whole_of_one(p, node);
    return true;
  }
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++)
    if (is_spread(p, node->arg[k])) return real(p, id);
  return node->lanes <= 1 && integer(p, id);
}

static bool take_block(spreader *p, seer_vec_block block) {
  seer_source *s = p->s;
  for (uint32_t id = block.first; id != 0; id = s->code->node[id].next) {
    const seer_vec_node *node = &s->code->node[id];
    bool is_in_loop = p->is_in_loop, is_masked = p->is_masked;
    s->fact[id].is_spread = false;
    p->of[id] = (progress){0};
    bool is_written = node->elem == SEER_VEC_VOID || s->fact[id].n_uses > 0;
    if (is_written && !take(p, id)) return false;
    s->fact[id].step = p->of[id].step;
    p->is_in_loop = is_in_loop || node->op == SEER_VEC_LOOP;
    p->is_masked = is_masked || (node->op == SEER_VEC_WHEN && s->fact[id].is_spread);
    for (uint32_t k = 0; k < 2; k++)
      if (!take_block(p, node->body[k])) return false;
    p->is_in_loop = is_in_loop;
    p->is_masked = is_masked;
  }
  return true;
}

bool seer_source_spread(seer_source *s, uint32_t phase, uint32_t lanes) {
  if (seer_items_of_phase(s->code->loop, phase) % lanes != 0) return false;
  spreader p = {.s = s, .of = SEER_NEW_ARRAY(s->arena, progress, s->code->n), .lanes = lanes};
  do {
    p.has_changed = false;
    if (!take_block(&p, s->phase->body)) return false;
  } while (p.has_changed);
  return true;
}
