// eval.c - the interpreter of vector code: objects, values and phases; what is done with them
// stands in eval_*.c.
//
// Requires: seer_vec_verify.
#include "code/vector/eval.h"

#include <string.h>

#include "base/rng.h"
#include "space/items/items.h"

static void note_stores(const seer_vec_machine *m, seer_vec_block block) {
  for (uint32_t id = block.first; id != 0; id = m->code->node[id].next) {
    const seer_vec_node *node = &m->code->node[id];
    if (seer_vec_is_store(node) && node->buf != SEER_VEC_NO_BUF) m->is_stored_to[node->buf] = true;
    if (node->op != SEER_VEC_LOOP && node->op != SEER_VEC_WHEN) continue;
    note_stores(m, node->body[0]);
    note_stores(m, node->body[1]);
  }
}

// Memory of which nothing is known yet.
static seer_vec_object private_object(seer_vec_machine *m, uint64_t n_bytes, uint32_t align) {
  seer_vec_object o = {.n_bytes = (int64_t)n_bytes, .align = align};
  o.bytes = seer_arena_alloc(m->arena, n_bytes + 1, SEER_VEC_BASE_ALIGN);
  o.known = seer_arena_alloc(m->arena, n_bytes + 1, 1);
  return o;
}

static void make_fills(seer_vec_machine *m) {
  for (uint32_t k = 0; k < m->code->n_fill; k++) {
    const seer_vec_node *value = seer_vec_at(m->code, m->code->fill[k].value);
    uint32_t size = seer_vec_elem_bytes((seer_vec_elem)value->elem);
    seer_vec_object *o = &m->object[m->n_object++];
    *o = (seer_vec_object){
        .n_bytes = m->code->fill[k].n_bytes, .align = SEER_VEC_BASE_ALIGN, .is_fixed = true};
    o->bytes = seer_arena_alloc(m->arena, (size_t)o->n_bytes, SEER_VEC_BASE_ALIGN);
    for (int64_t at = 0; at < o->n_bytes; at += size) memcpy(o->bytes + at, &value->bits, size);
  }
}

static void make_objects(seer_vec_machine *m, void *const *data) {
  const seer_loop *loop = m->code->loop;
  uint32_t most = 0;
  for (uint32_t p = 0; p < m->code->n_phase; p++) {
    if (m->code->phase[p].n_slot > most) most = m->code->phase[p].n_slot;
  }
  m->object = SEER_NEW_ARRAY(
      m->arena, seer_vec_object, loop->n_buf + 1 + m->code->n_fill + most * m->most_items);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    uint32_t size = seer_dtype_bytes(buf->dtype);
    bool is_packed = buf->storage == SEER_STORE_PACKED;
    if (buf->storage == SEER_STORE_WORKGROUP) {
      seer_vec_object *o = &m->object[m->n_object++];
      *o = private_object(m, (uint64_t)buf->n_elems * size, SEER_VEC_BASE_ALIGN);
      o->is_shared = true;
      continue;
    }
    m->object[m->n_object++] = (seer_vec_object){.bytes = data[b],
        .n_bytes = buf->n_elems * size,
        .align = is_packed ? SEER_VEC_BASE_ALIGN
            : m->has_items ? SEER_VEC_ITEMS_ALIGN
                           : size,
        .is_fixed = is_packed || buf->storage == SEER_STORE_INPUT,
        .is_shared = true};
  }
  m->object[m->n_object++] = private_object(m, m->code->scratch_bytes, SEER_VEC_BASE_ALIGN);
  make_fills(m);
  m->slot0 = m->n_object;
}

// Of the item in hand: constants, and pointers to them.
static void set_constants(seer_vec_machine *m) {
  const seer_vec_code *code = m->code;
  for (uint32_t i = 1; i < code->n; i++) {
    const seer_vec_node *node = &code->node[i];
    seer_vec_elem elem = (seer_vec_elem)node->elem;
    if (node->op == SEER_VEC_FILL)
      seer_vec_set_pointer(m, i, code->loop->n_buf + 1 + (uint32_t)node->imm);
    if (node->op != SEER_VEC_CONST && node->op != SEER_VEC_UNDEF) continue;
    m->is_hazy[i] = node->op == SEER_VEC_UNDEF;
    uint32_t above = 64 - seer_vec_elem_bits[elem];
    for (uint32_t l = 0; l < node->lanes; l++) {
      m->lane[m->at[i] + l] = (node->bits + (uint64_t)node->imm * l) << above >> above;
      m->hazy[m->at[i] + l] = m->is_hazy[i];
    }
  }
}

static void make_values(seer_vec_machine *m) {
  const seer_vec_code *code = m->code;
  size_t n_item = m->most_items;
  m->at = SEER_NEW_ARRAY(m->arena, uint32_t, code->n);
  for (uint32_t i = 1; i < code->n; i++) {
    m->at[i] = m->n_lane;
    m->n_lane += code->node[i].elem == SEER_VEC_VOID ? 0 : code->node[i].lanes;
  }
  m->n_lane++;
  m->all_into = SEER_NEW_ARRAY(m->arena, uint32_t, code->n * n_item);
  m->all_is_hazy = SEER_NEW_ARRAY(m->arena, bool, code->n *n_item);
  m->all_lane = SEER_NEW_ARRAY(m->arena, uint64_t, m->n_lane * n_item);
  m->all_hazy = SEER_NEW_ARRAY(m->arena, bool, m->n_lane *n_item);
  m->active = SEER_NEW_ARRAY(m->arena, uint32_t, (SEER_VEC_MAX_DEPTH + 2) * n_item);
  for (uint32_t item = 0; item < n_item; item++) {
    seer_vec_set_item(m, item);
    set_constants(m);
  }
  seer_vec_set_item(m, 0);
}

static void begin_phase(seer_vec_machine *m, uint32_t phase) {
  m->phase = &m->code->phase[phase];
  memset(m->is_stored_to, 0, m->code->loop->n_buf * sizeof(bool));
  note_stores(m, m->phase->body);
  m->n_object = m->slot0;
  int64_t n_items = seer_items_of_phase(m->code->loop, phase);
  m->n_items = n_items > 0 ? (uint32_t)n_items : 1;
  m->shadow = n_items > 0 ? seer_shadow_of_program(m->code->loop, m->arena) : NULL;
  for (uint32_t item = 0; item < m->n_items; item++) {
    seer_vec_set_item(m, item);
    for (uint32_t k = 0; k < m->phase->n_slot; k++) {
      const seer_vec_node *slot = seer_vec_at(m->code, m->phase->slot[k]);
      uint32_t of_bytes = seer_vec_elem_bytes((seer_vec_elem)slot->of) * slot->lanes;
      seer_vec_set_pointer(m, m->phase->slot[k].i, m->n_object);
      m->object[m->n_object++] =
          private_object(m, (uint64_t)slot->imm * of_bytes, seer_vec_align(slot->align, of_bytes));
    }
  }
  seer_vec_set_item(m, 0);
}

static void run_part(seer_vec_machine *m, int64_t part) {
  m->part = part;
  m->epoch++;
  m->n_underway = 0;
  seer_vec_set_shapes(m, NULL);
  for (uint32_t k = 0; k < m->n_object; k++) {
    seer_vec_object *o = &m->object[k];
    if (o->known) memset(o->known, 0, (size_t)o->n_bytes);
  }
  seer_vec_run_part(m);
}

seer_status seer_vec_eval(const seer_vec_code *code, void *const *data, seer_rng *part_shuffle) {
  return seer_vec_eval_traffic(code, data, part_shuffle, NULL);
}

seer_status seer_vec_eval_traffic(const seer_vec_code *code, void *const *data,
    seer_rng *part_shuffle, seer_vec_traffic *io_traffic) {
  seer_arena *arena = seer_arena_create("vector eval");
  seer_vec_machine m = {.code = code, .arena = arena, .most_items = 1, .traffic = io_traffic};
  m.is_stored_to = SEER_NEW_ARRAY(arena, bool, code->loop->n_buf + 1);
  for (uint32_t p = 0; p < code->n_phase; p++) {
    int64_t n_items = seer_items_of_phase(code->loop, p);
    if (n_items > m.most_items) m.most_items = (uint32_t)n_items;
    m.has_items = m.has_items || n_items > 0;
  }
  make_objects(&m, data);
  make_values(&m);
  for (uint32_t p = 0; p < code->n_phase && !m.status; p++) {
    int64_t n_parts = seer_loop_phase_parts(code->loop, p);
    uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, n_parts);
    begin_phase(&m, p);
    for (int64_t k = 0; k < n_parts; k++) order[k] = (uint32_t)k;
    if (part_shuffle) seer_rng_shuffle_u32(part_shuffle, order, (size_t)n_parts);
    for (int64_t k = 0; k < n_parts && !m.status; k++) run_part(&m, order[k]);
  }
  seer_arena_destroy(arena);
  return m.status;
}
