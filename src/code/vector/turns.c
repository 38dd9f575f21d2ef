// turns.c - instructions that do not need each other, by turns.
#include "code/vector/internal.h"

typedef struct {
  uint32_t next, behind;  // instruction that is to come; the first of the next part
} part;

typedef struct {
  seer_vec_code *code;
  uint32_t first;  // the smallest number of an instruction that takes part
  bool *is_open;  // by number from `first` on: takes part and is not placed yet
} turns;

seer_vec seer_vec_end_of_block(const seer_vec_builder *b) {
  const seer_vec_block *block = seer_vec_open_block(b);
  return (seer_vec){block->last};
}

static uint32_t after(const seer_vec_builder *b, seer_vec mark) {
  return mark.i != 0 ? b->code->node[mark.i].next : seer_vec_open_block(b)->first;
}

// Of accesses that are told apart by buffers alone: none reads what another one writes.
static bool is_order_free(const seer_vec_code *code, uint32_t first) {
  for (uint32_t i = first; i != 0; i = code->node[i].next) {
    const seer_vec_node *node = &code->node[i];
    if (node->op == SEER_VEC_LOOP || node->op == SEER_VEC_WHEN || node->op == SEER_VEC_FENCE ||
        node->op == SEER_VEC_BARRIER || node->op == SEER_VEC_LEAVE_UNLESS ||
        seer_vec_is_of_matrices(node))
      return false;
    if (!seer_vec_is_store(node)) continue;
    for (uint32_t k = first; k != 0; k = code->node[k].next) {
      if (seer_vec_is_load(&code->node[k]) && code->node[k].buf == node->buf) return false;
    }
  }
  return true;
}

static bool is_ready(const turns *t, const seer_vec_node *node) {
  for (uint32_t k = 0; k < SEER_COUNT_OF(node->arg); k++) {
    uint32_t arg = node->arg[k].i;
    if (arg >= t->first && t->is_open[arg - t->first]) return false;
  }
  return true;
}

static void open_all(turns *t, uint32_t first) {
  t->first = UINT32_MAX;
  for (uint32_t i = first; i != 0; i = t->code->node[i].next)
    if (i < t->first) t->first = i;
  t->is_open = SEER_NEW_ARRAY(t->code->arena, bool, t->code->n - t->first);
  for (uint32_t i = first; i != 0; i = t->code->node[i].next) t->is_open[i - t->first] = true;
}

void seer_vec_take_turns(seer_vec_builder *b, const seer_vec *mark, uint32_t n) {
  seer_vec_code *code = b->code;
  seer_vec_block *block = seer_vec_open_block(b);
  uint32_t first = after(b, mark[0]);
  if (n < 2 || first == 0 || !is_order_free(code, first)) return;
  turns t = {.code = code};
  open_all(&t, first);
  part *parts = SEER_NEW_ARRAY(code->arena, part, n);
  for (uint32_t k = 0; k < n; k++) {
    parts[k].next = after(b, mark[k]);
    parts[k].behind = k + 1 < n ? after(b, mark[k + 1]) : 0;
  }
  uint32_t last = mark[0].i;
  // The first part is always ready: what it uses comes before it.
  for (bool is_any = true; is_any;) {
    is_any = false;
    for (uint32_t k = 0; k < n; k++) {
      uint32_t i = parts[k].next;
      if (i == parts[k].behind || !is_ready(&t, &code->node[i])) continue;
      parts[k].next = code->node[i].next;
      t.is_open[i - t.first] = false;
      *(last != 0 ? &code->node[last].next : &block->first) = i;
      last = i;
      is_any = true;
    }
  }
  code->node[last].next = 0;
  block->last = last;
}
