// own.c - PRIVATE buffers. One is an item's variable for each constant that is left of an index
// when the terms of its THREAD variables are gone. These say whose the element is, and must be the
// same wherever the buffer is used; that each element is one item's was judged
// (space/items/judge.c).
#include "code/access/access.h"

static bool is_item_term(const seer_gen *g, const seer_sum_term *term) {
  for (uint32_t k = 0; k < g->n_item_var; k++) {
    if (term->atom == seer_gen_atom_of(g->item_var[k].value)) return true;
  }
  return false;
}

static bool is_same_owner(const seer_sum *a, const seer_sum *b) {
  if (a->n != b->n) return false;
  for (uint32_t k = 0; k < a->n; k++) {
    bool found = false;
    for (uint32_t l = 0; l < b->n; l++)
      found |= a->term[k].atom == b->term[l].atom && a->term[k].coef == b->term[l].coef;
    if (!found) return false;
  }
  return true;
}

void seer_gen_own_address(seer_gen *g, seer_gen_addr *addr) {
  seer_gen_buf *buf = &g->buf[addr->buf];
  seer_sum *owner = SEER_NEW(g->arena, seer_sum);
  *owner = addr->at;
  bool is_own = addr->is_regular && addr->at.lane == 0;
  for (uint32_t k = 0; k < addr->at.n; k++) is_own &= is_item_term(g, &addr->at.term[k]);
  if (!buf->owner) buf->owner = owner;
  if (!is_own || !is_same_owner(buf->owner, owner)) {
    SEER_GEN_FAIL(g, UNSUPPORTED,
        "$%s: one place says by other terms of the item whose an element is than another",
        g->loop->buf[addr->buf].name);
  }
  addr->at.n = 0;
}
