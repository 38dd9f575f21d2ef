// facts.c - what a phase's instructions tell before they are printed: which values anything uses
// (the others are not written), how wide the integers of a mask are, which pointers lead to what is
// only read, and which pieces a slot falls into.
#include <stdlib.h>

#include "code/source/internal.h"

static bool is_store(uint32_t op) {
  return op == SEER_VEC_STORE || op == SEER_VEC_STORE_MASKED || op == SEER_VEC_COPY;
}
static bool is_access(uint32_t op) {
  return is_store(op) || op == SEER_VEC_LOAD || op == SEER_VEC_LOAD_MASKED;
}

// Does something beside giving a value.
static bool is_act(uint32_t op) {
  return is_store(op) || op == SEER_VEC_PREFETCH || op == SEER_VEC_FENCE || op == SEER_VEC_LOOP ||
      op == SEER_VEC_WHEN || op == SEER_VEC_LEAVE_UNLESS || op == SEER_VEC_BARRIER ||
      op == SEER_VEC_ARRIVE;
}

// ---- order

static void walk(seer_source *s, seer_vec_block block) {
  for (uint32_t id = block.first; id != 0; id = s->code->node[id].next) {
    const seer_vec_node *node = &s->code->node[id];
    s->order = SEER_GROW(s->arena, uint32_t, s->order, s->n_order, &s->cap_order);
    s->order[s->n_order++] = id;
    for (uint32_t k = 0; k < 2; k++) walk(s, node->body[k]);
  }
}

seer_vec_op seer_source_extreme(const seer_source *s, const seer_vec_node *node) {
  const seer_vec_node *cond = seer_source_at(s, node->arg[0]);
  bool is_compared = node->op == SEER_VEC_SELECT && cond->arg[0].i == node->arg[1].i &&
      cond->arg[1].i == node->arg[2].i;
  bool is_extreme = cond->op == SEER_VEC_FGT || cond->op == SEER_VEC_FLT;
  return is_compared && is_extreme ? (seer_vec_op)cond->op : SEER_VEC_UNDEF;
}

// Two uses of a value that a compiler makes one of.
static bool is_same_conversion(const seer_vec_node *a, const seer_vec_node *b) {
  return a->op >= SEER_VEC_ZEXT && a->op <= SEER_VEC_BITCAST && a->op == b->op &&
      a->elem == b->elem;
}

bool seer_source_is_spread_half(const seer_source *s, const seer_vec_node *node) {
  return node->op == SEER_VEC_SPLAT && node->lanes > 1 &&
      seer_source_at(s, node->arg[0])->op == SEER_VEC_BITS_HALF;
}

// Uses stand behind definitions: backwards, all uses of a value are known when it comes.
static void count_uses(seer_source *s) {
  for (size_t k = s->n_order; k-- > 0;) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    if (!is_act(node->op) && s->fact[s->order[k]].n_uses == 0) continue;
    uint32_t first = seer_source_extreme(s, node) == SEER_VEC_UNDEF ? 0 : 1;
    for (uint32_t a = first; a < seer_vec_ops[node->op].n_args; a++) {
      seer_vec arg = node->arg[a];
      if (seer_source_is_spread_half(s, node)) arg = seer_source_at(s, arg)->arg[0];
      seer_source_fact *fact = &s->fact[arg.i];
      if (fact->n_uses++ > 0 && !is_same_conversion(node, &s->code->node[fact->user]))
        fact->has_kinds = true;
      fact->user = s->order[k];
    }
  }
}

// ---- values

static uint8_t mask_bits_of(const seer_source *s, const seer_vec_node *node) {
  if (!seer_source_is_mask(node) || node->op == SEER_VEC_SPLAT) return 0;
  const seer_vec_node *first = seer_source_at(s, node->arg[0]);
  if (first->elem != SEER_VEC_I1) return seer_vec_elem_bits[first->elem];
  uint8_t bits = 0;  // the narrowest of the masks that it is made of
  for (uint32_t a = 0; a < seer_vec_ops[node->op].n_args; a++) {
    uint8_t other = s->fact[node->arg[a].i].mask_bits;
    if (bits == 0 || (other != 0 && other < bits)) bits = other;
  }
  return bits == 0 ? 32 : bits;
}

// Leads to what is only read. Slots are cut up; fills and arguments that are no outputs are.
static bool is_read_only(const seer_source *s, const seer_vec_node *node) {
  switch ((int)node->op) {
    case SEER_VEC_FILL:
      return true;
    case SEER_VEC_BUFFER: {
      seer_loop_storage storage = s->code->loop->buf[node->buf].storage;
      return storage == SEER_STORE_INPUT || storage == SEER_STORE_PACKED;
    }
    case SEER_VEC_MOVE:
      return s->fact[node->arg[0].i].is_read_only;
    case SEER_VEC_SELECT:
      return s->fact[node->arg[1].i].is_read_only || s->fact[node->arg[2].i].is_read_only;
    default:
      return false;
  }
}

// The first of a row of INSERTs, each used by the next one only, is written with the last one.
static bool is_later(const seer_source *s, uint32_t id) {
  const seer_vec_node *node = &s->code->node[id];
  const seer_source_fact *fact = &s->fact[id];
  if (node->op != SEER_VEC_INSERT || fact->n_uses != 1) return false;
  const seer_vec_node *user = &s->code->node[fact->user];
  return user->op == SEER_VEC_INSERT && user->arg[0].i == id;
}

// ---- slots

bool seer_source_into_slot(
    const seer_source *s, seer_vec pointer, uint32_t *out_slot, int64_t *out_at) {
  *out_at = 0;
  for (;;) {
    const seer_vec_node *node = seer_source_at(s, pointer);
    int64_t by;
    *out_slot = pointer.i;
    if (node->op == SEER_VEC_SLOT) return true;
    if (node->op != SEER_VEC_MOVE || !seer_vec_const_int(s->code, node->arg[1], &by)) return false;
    *out_at += by * (int64_t)seer_vec_elem_bytes((seer_vec_elem)node->of);
    pointer = node->arg[0];
  }
}

const seer_vec_node *seer_source_accessed(const seer_source *s, const seer_vec_node *access) {
  return is_store(access->op) ? seer_source_at(s, access->arg[1]) : access;
}

static int compare_pieces(const void *a, const void *b) {
  const seer_source_piece *x = a, *y = b;
  if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return (x->end < y->end) - (x->end > y->end);  // the longest first
}

// One lane, at a whole number of lanes, of a vector of such.
static bool is_lane_of(const seer_source_piece *one, const seer_source_piece *all) {
  return one->lanes == 1 && one->elem == all->elem &&
      (one->at - all->at) % seer_vec_elem_bytes(one->elem) == 0 && one->end <= all->end;
}

// `one` begins inside `into`.
static void merge(seer_source_piece *into, const seer_source_piece *one) {
  bool is_same = one->at == into->at && one->elem == into->elem && one->lanes == into->lanes;
  if (!is_same && !is_lane_of(one, into)) into->elem = SEER_VEC_VOID;
  if (one->end > into->end) into->end = one->end;
  into->is_read = into->is_read || one->is_read;
}

static void find_pieces(seer_source *s) {
  for (size_t k = 0; k < s->n_order; k++) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    uint32_t slot;
    int64_t at;
    if (!is_access(node->op) || (!is_store(node->op) && s->fact[s->order[k]].n_uses == 0)) continue;
    if (!seer_source_into_slot(s, node->arg[0], &slot, &at)) continue;
    const seer_vec_node *value = seer_source_accessed(s, node);
    bool is_whole = node->op == SEER_VEC_LOAD || node->op == SEER_VEC_STORE;
    s->piece = SEER_GROW(s->arena, seer_source_piece, s->piece, s->n_piece, &s->cap_piece);
    s->piece[s->n_piece++] = (seer_source_piece){.slot = slot,
        .at = at,
        .end = at + (int64_t)value->lanes * seer_vec_elem_bytes((seer_vec_elem)value->elem),
        .elem = is_whole ? (seer_vec_elem)value->elem : SEER_VEC_VOID,
        .lanes = value->lanes,
        .is_read = !is_store(node->op)};
  }
  if (s->n_piece == 0) return;
  qsort(s->piece, s->n_piece, sizeof(*s->piece), compare_pieces);
  size_t n = 1;
  for (size_t k = 1; k < s->n_piece; k++) {
    seer_source_piece *last = &s->piece[n - 1];
    if (s->piece[k].slot == last->slot && s->piece[k].at < last->end)
      merge(last, &s->piece[k]);
    else
      s->piece[n++] = s->piece[k];
  }
  s->n_piece = n;
}

const seer_source_piece *seer_source_piece_of(const seer_source *s, uint32_t slot, int64_t at) {
  for (size_t low = 0, high = s->n_piece; low < high;) {
    size_t mid = low + (high - low) / 2;
    const seer_source_piece *piece = &s->piece[mid];
    if (piece->slot == slot && at >= piece->at && at < piece->end) return piece;
    if (piece->slot < slot || (piece->slot == slot && piece->at <= at))
      low = mid + 1;
    else
      high = mid;
  }
  SEER_ASSERT(false, "slot %u: nothing is accessed at byte %" PRId64, slot, at);
}

void seer_source_find_facts(seer_source *s) {
  s->n_order = s->n_piece = 0;
  for (uint32_t id = 0; id < s->code->n; id++) s->fact[id] = (seer_source_fact){0};
  walk(s, s->phase->body);
  count_uses(s);
  for (uint32_t id = 1; id < s->code->n; id++)  // in no block
    s->fact[id].is_read_only = s->code->node[id].op == SEER_VEC_FILL;
  for (size_t k = 0; k < s->n_order; k++) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    seer_source_fact *fact = &s->fact[s->order[k]];
    fact->mask_bits = mask_bits_of(s, node);
    fact->is_read_only = node->elem == SEER_VEC_PTR && is_read_only(s, node);
    fact->is_later = is_later(s, s->order[k]);
  }
  find_pieces(s);
}
