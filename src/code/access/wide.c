// wide.c - of items: loads of neighbours become one load of several lanes, and stores one store. An
// item has one lane of everything else, so what is loaded is taken apart at once, and what is
// stored put together; 16 bytes are one instruction of every GPU, and a quarter of the requests.
//
// Accesses of a block of instructions belong together where their pointers differ by a constant,
// their conditions are equal, and the first one is aligned whatever its index is (numbers.h): a
// vector loop of four over rows whose length four divides, guarded or not, or copies of an unrolled
// loop. Loads are done where the first one was and stores where the last one was, which nothing in
// between may tell from the order that was written: no access to the same buffer, no barrier. Where
// alignment is not known, or a tail's conditions differ, every lane stays for itself.
#include "code/access/numbers.h"
#include "code/gen/gen.h"
#include "code/vector/internal.h"

#define MOST_BYTES SEER_VEC_ITEMS_ALIGN
#define MOST_LANES 8
// Instructions between the first access and the last: what is loaded stays in registers so long.
#define MAX_APART 160

typedef struct {
  uint32_t access;  // LOAD, LOAD_MASKED, STORE; 0: another instruction
  uint32_t when;  // a WHEN that holds nothing but the STORE; 0: there is none
  uint32_t cond;  // number of what it is done under; 0: nothing
  uint32_t elem, bytes;  // of an element
  seer_sum at;  // of the pointer, in bytes
  bool is_done;  // one of a wide access, or taken out
} entry;

typedef struct {
  seer_vec_code *code;
  seer_vec_builder b;  // for constants
  seer_arena *arena;
  const seer_numbers *numbers;
  // The block in hand: its instructions, what is known of each, and what comes in front of each.
  uint32_t n;
  uint32_t *id;
  entry *of;
  uint32_t (*front)[MOST_LANES + 2];
} widener;

static const seer_vec_node *at(const widener *w, uint32_t id) { return &w->code->node[id]; }

// ---- accesses

// The STORE that a WHEN is all about; 0: it is about something else.
static uint32_t guarded_store(const widener *w, const seer_vec_node *when) {
  bool is_one = when->op == SEER_VEC_WHEN && when->body[0].first != 0 &&
      when->body[0].first == when->body[0].last && when->body[1].first == 0;
  return is_one && at(w, when->body[0].first)->op == SEER_VEC_STORE ? when->body[0].first : 0;
}

static entry entry_of(const widener *w, uint32_t id) {
  entry e = {.access = id};
  uint32_t guarded = guarded_store(w, at(w, id));
  if (guarded != 0) {
    e.access = guarded;
    e.when = id;
    e.cond = seer_numbers_of(w->numbers, at(w, id)->arg[0]);
  }
  const seer_vec_node *node = at(w, e.access);
  bool is_load = node->op == SEER_VEC_LOAD || node->op == SEER_VEC_LOAD_MASKED;
  const seer_vec_node *value = is_load ? node : seer_vec_at(w->code, node->arg[1]);
  if ((!is_load && node->op != SEER_VEC_STORE) || node->buf == SEER_VEC_NO_BUF || value->lanes != 1)
    return (entry){0};
  if (node->op == SEER_VEC_LOAD_MASKED) e.cond = seer_numbers_of(w->numbers, node->arg[1]);
  e.elem = value->elem;
  e.bytes = seer_vec_elem_bytes((seer_vec_elem)value->elem);
  e.at = seer_numbers_sum(w->numbers, node->arg[0]);
  return e;
}

static bool is_store(const widener *w, const entry *e) {
  return e->access != 0 && at(w, e->access)->op == SEER_VEC_STORE;
}

// Bytes from x to y; false: not known.
static bool distance(const entry *x, const entry *y, int64_t *out) {
  *out = y->at.c - x->at.c;
  return seer_numbers_is_apart(&x->at, &y->at);
}

// `e`, k elements further on, as one of the same kind.
static bool is_neighbour(const widener *w, const entry *first, const entry *e, uint32_t k) {
  if (e->access == 0 || e->is_done) return false;
  const seer_vec_node *x = at(w, first->access), *y = at(w, e->access);
  int64_t apart;
  bool is_alike = x->op == y->op && x->buf == y->buf && first->elem == e->elem &&
      first->cond == e->cond && (first->when != 0) == (e->when != 0);
  if (x->op == SEER_VEC_LOAD_MASKED)
    is_alike = is_alike && x->arg[2].i == y->arg[2].i && seer_vec_is_const(w->code, x->arg[2]);
  return is_alike && distance(first, e, &apart) && apart == (int64_t)k * first->bytes;
}

// ---- what stands in between

// Whether the load, or the store, of `e` must stay on its side of the instruction.
static bool hinders(const widener *w, uint32_t id, const entry *e) {
  const seer_vec_node *node = at(w, id), *access = at(w, e->access);
  bool moves_store = access->op == SEER_VEC_STORE;
  switch ((int)node->op) {
    case SEER_VEC_BARRIER:
    case SEER_VEC_LEAVE_UNLESS:
      return true;
    case SEER_VEC_FENCE:
      return !moves_store;
    case SEER_VEC_LOOP:
    case SEER_VEC_WHEN:
      for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t k = node->body[side].first; k != 0; k = at(w, k)->next)
          if (hinders(w, k, e)) return true;
      }
      return false;
    default:
      return seer_vec_is_of_matrices(node) ||
          ((seer_vec_is_store(node) || (moves_store && seer_vec_is_load(node))) &&
              node->buf == access->buf);
  }
}

static bool is_hindered_at(const widener *w, uint32_t place, const entry *e) {
  for (uint32_t k = 0; w->front[place][k] != 0; k++)
    if (hinders(w, w->front[place][k], e)) return true;
  return w->id[place] != 0 && hinders(w, w->id[place], e);
}

// Of places from `first` to `last`, those of `member` are the wide access.
static bool is_free(
    const widener *w, const uint32_t *member, uint32_t n, uint32_t first, uint32_t last) {
  bool moves_store = is_store(w, &w->of[member[0]]);
  uint32_t passed = 0;  // by how many members that move
  for (uint32_t place = first; place <= last; place++) {
    bool is_member = false;
    for (uint32_t k = 0; k < n; k++) is_member |= member[k] == place;
    passed += is_member;
    bool is_passed = moves_store ? passed > 0 : passed < n;
    if (!is_member && is_passed && is_hindered_at(w, place, &w->of[member[0]])) return false;
  }
  return true;
}

// The members of a wide access that begins with the one at `place`; false: there is none.
static bool find_members(const widener *w, uint32_t place, uint32_t lanes, uint32_t *member) {
  const entry *first = &w->of[place];
  uint32_t n_bytes = lanes * first->bytes, last = place;
  if (seer_numbers_divisor(w->numbers, &first->at) < n_bytes) return false;
  member[0] = place;
  for (uint32_t k = 1; k < lanes; k++) {
    member[k] = 0;
    for (uint32_t at = place + 1; at < w->n && at - place <= MAX_APART && member[k] == 0; at++)
      if (is_neighbour(w, first, &w->of[at], k)) member[k] = at;
    if (member[k] == 0) return false;
    if (member[k] > last) last = member[k];
  }
  return is_free(w, member, lanes, place, last);
}

// ---- wide accesses

static void put_in_front(widener *w, uint32_t place, uint32_t id) {
  uint32_t k = 0;
  while (w->front[place][k] != 0) k++;
  w->front[place][k] = id;
}

// The constant of one lane, in all.
static seer_vec spread(widener *w, seer_vec constant, uint32_t lanes) {
  const seer_vec_node *node = seer_vec_at(w->code, constant);
  return seer_vec_const(&w->b, (seer_vec_elem)node->elem, lanes, node->bits);
}

static void join_loads(widener *w, const uint32_t *member, uint32_t lanes) {
  const entry *first = &w->of[member[0]];
  seer_vec_node wide = *at(w, first->access);
  wide.lanes = (uint16_t)lanes;
  wide.align = (uint16_t)(lanes * first->bytes);
  wide.next = 0;
  for (uint32_t k = 0; k < lanes; k++)
    wide.is_invariant = wide.is_invariant && at(w, w->of[member[k]].access)->is_invariant;
  if (wide.op == SEER_VEC_LOAD_MASKED) {
    seer_vec_node mask = {
        .op = SEER_VEC_SPLAT, .elem = SEER_VEC_I1, .lanes = (uint16_t)lanes, .arg = {wide.arg[1]}};
    wide.arg[1] = seer_vec_add_node(w->code, &mask);
    wide.arg[2] = spread(w, wide.arg[2], lanes);
    put_in_front(w, member[0], wide.arg[1].i);
  }
  seer_vec v = seer_vec_add_node(w->code, &wide);
  put_in_front(w, member[0], v.i);
  for (uint32_t k = 0; k < lanes; k++) {
    entry *e = &w->of[member[k]];
    seer_vec_node *node = &w->code->node[e->access];
    *node = (seer_vec_node){.op = SEER_VEC_EXTRACT,
        .elem = node->elem,
        .lanes = 1,
        .next = node->next,
        .arg = {v},
        .imm = k};
    e->is_done = true;
  }
}

// Whether the values of all members are the lanes of one, in their order.
static bool is_one_value(const widener *w, const uint32_t *member, uint32_t lanes) {
  const seer_vec_node *first = seer_vec_at(w->code, at(w, w->of[member[0]].access)->arg[1]);
  bool is_whole =
      first->op == SEER_VEC_EXTRACT && seer_vec_at(w->code, first->arg[0])->lanes == lanes;
  for (uint32_t k = 0; k < lanes; k++) {
    const seer_vec_node *v = seer_vec_at(w->code, at(w, w->of[member[k]].access)->arg[1]);
    is_whole =
        is_whole && v->op == SEER_VEC_EXTRACT && v->arg[0].i == first->arg[0].i && v->imm == k;
  }
  return is_whole;
}

// The values of all members, in the order of their lanes, as one, and the *out_n instructions that
// are made for that.
static seer_vec joined_value(
    widener *w, const uint32_t *member, uint32_t lanes, uint32_t *out_made, uint32_t *out_n) {
  *out_n = 0;
  const seer_vec_node *first = seer_vec_at(w->code, at(w, w->of[member[0]].access)->arg[1]);
  if (is_one_value(w, member, lanes)) return first->arg[0];
  seer_vec all = seer_vec_undef(&w->b, (seer_vec_elem)first->elem, lanes);
  for (uint32_t k = 0; k < lanes; k++) {
    seer_vec one = at(w, w->of[member[k]].access)->arg[1];
    seer_vec_node insert = {.op = SEER_VEC_INSERT,
        .elem = seer_vec_at(w->code, one)->elem,
        .lanes = (uint16_t)lanes,
        .arg = {all, one},
        .imm = k};
    all = seer_vec_add_node(w->code, &insert);
    out_made[(*out_n)++] = all.i;
  }
  return all;
}

// The last one's instruction becomes the wide one, the others go.
static void join_stores(widener *w, const uint32_t *member, uint32_t lanes) {
  uint32_t last = member[0], made[MOST_LANES + 1], n;
  for (uint32_t k = 1; k < lanes; k++)
    if (member[k] > last) last = member[k];
  seer_vec pointer = at(w, w->of[member[0]].access)->arg[0];
  seer_vec value = joined_value(w, member, lanes, made, &n);
  const entry *e = &w->of[last];
  seer_vec_node *store = &w->code->node[e->access];
  store->arg[0] = pointer;
  store->arg[1] = value;
  store->lanes = (uint16_t)lanes;
  store->align = (uint16_t)(lanes * e->bytes);
  if (e->when != 0) {
    made[n++] = e->access;
    seer_vec_link(w->code, &w->code->node[e->when].body[0], made, n);
  } else {
    for (uint32_t k = 0; k < n; k++) put_in_front(w, last, made[k]);
  }
  for (uint32_t k = 0; k < lanes; k++) {
    w->of[member[k]].is_done = true;
    if (member[k] != last) w->id[member[k]] = 0;
  }
}

static void join(widener *w, bool stores) {
  for (uint32_t place = 0; place < w->n; place++) {
    const entry *e = &w->of[place];
    if (e->access == 0 || e->is_done || is_store(w, e) != stores) continue;
    uint32_t member[MOST_LANES], lanes = MOST_BYTES / e->bytes;
    if (lanes > MOST_LANES) lanes = MOST_LANES;
    while (lanes > 1 && !find_members(w, place, lanes, member)) lanes /= 2;
    if (lanes < 2) continue;
    // What is copied (copies.c) is taken apart by no item: loads that are not one are not joined.
    if (stores && w->code->loop->buf[at(w, e->access)->buf].is_late &&
        !is_one_value(w, member, lanes))
      continue;
    if (stores)
      join_stores(w, member, lanes);
    else
      join_loads(w, member, lanes);
  }
}

// ---- blocks

static seer_vec_block *block_of(widener *w, seer_vec_phase *phase, uint32_t owner, uint32_t side) {
  return owner == 0 ? &phase->body : &w->code->node[owner].body[side];
}

static void widen_block(widener *w, seer_vec_phase *phase, uint32_t owner, uint32_t side) {
  const seer_vec_block *block = block_of(w, phase, owner, side);
  w->n = 0;
  for (uint32_t id = block->first; id != 0; id = at(w, id)->next) w->n++;
  if (w->n == 0) return;
  w->id = SEER_NEW_ARRAY(w->arena, uint32_t, w->n);
  w->of = SEER_NEW_ARRAY(w->arena, entry, w->n);
  w->front = seer_arena_alloc(w->arena, w->n * sizeof(*w->front), _Alignof(uint32_t));
  uint32_t n = 0;
  for (uint32_t id = block->first; id != 0; id = at(w, id)->next) {
    w->id[n] = id;
    w->of[n++] = entry_of(w, id);
  }
  join(w, false);
  join(w, true);
  uint32_t *all = SEER_NEW_ARRAY(w->arena, uint32_t, w->n * (MOST_LANES + 3)), n_all = 0;
  for (uint32_t place = 0; place < w->n; place++) {
    for (uint32_t k = 0; w->front[place][k] != 0; k++) all[n_all++] = w->front[place][k];
    if (w->id[place] != 0) all[n_all++] = w->id[place];
  }
  seer_vec_link(w->code, block_of(w, phase, owner, side), all, n_all);
  for (uint32_t k = 0; k < n_all; k++) {
    if (at(w, all[k])->op != SEER_VEC_LOOP && at(w, all[k])->op != SEER_VEC_WHEN) continue;
    for (uint32_t inside = 0; inside < 2; inside++) widen_block(w, phase, all[k], inside);
  }
}

void seer_gen_join_accesses(seer_vec_code *code) {
  for (uint32_t p = 0; p < code->n_phase; p++) {
    seer_arena *arena = seer_arena_create("wide accesses");
    seer_vec_phase *phase = &code->phase[p];
    widener w = {.code = code,
        .b = {.code = code, .phase = phase},
        .arena = arena,
        .numbers = seer_numbers_find(code, &phase->body, arena)};
    widen_block(&w, phase, 0, 0);
    seer_arena_destroy(arena);
  }
}
