// eval_memory.c - faults, and objects in memory that know their bounds, their alignment and which
// of their bytes were written.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "code/vector/eval.h"

#define MAX_SHOWN 16  // lanes of a value in a message

// ---- faults

static void put_value(const seer_vec_machine *m, seer_vec x, seer_text *text) {
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
void seer_vec_fault(seer_vec_machine *m, uint32_t id, const char *format, ...) {
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

bool seer_vec_is_known(seer_vec_machine *m, uint32_t id, uint32_t k, const char *what) {
  if (!m->is_hazy[m->code->node[id].arg[k].i]) return true;
  seer_vec_fault(m, id, "%s is not known", what);
  return false;
}

// ---- objects

// An access of a buffer goes to it, of a local one to the scratch; what is not meant goes to a fill
// or the scratch.
static bool is_own_object(const seer_vec_machine *m, const seer_vec_node *node, uint32_t into) {
  uint32_t scratch = m->code->loop->n_buf;
  if (node->buf == SEER_VEC_NO_BUF) return into >= m->slot0;
  return into == node->buf || (into >= scratch && into < m->slot0);
}

// The object of an access; NULL: it may not be done.
seer_vec_object *seer_vec_object_of(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (!seer_vec_is_known(m, id, 0, "the address")) return NULL;
  uint32_t into = m->into[node->arg[0].i];
  seer_vec_object *o = &m->object[into];
  int64_t offset = (int64_t)*seer_vec_lanes_of(m, node->arg[0]);
  uint32_t align = seer_vec_align(node->align, seer_vec_access_bytes(m->code, node));
  bool is_slow = node->is_invariant && into == m->code->loop->n_buf;
  if (!o->bytes) {
    seer_vec_fault(m, id, "no data");
  } else if (!is_own_object(m, node, into)) {
    seer_vec_fault(m, id, "the address is in another object");
  } else if (align > o->align || offset % (int64_t)align != 0) {
    seer_vec_fault(m, id, "byte %" PRId64 " of what is aligned to %u is not aligned to %u", offset,
        o->align, align);
  } else if (seer_vec_is_store(node) && o->is_fixed) {
    seer_vec_fault(m, id, "a store to what is only read");
  } else if (is_slow || (node->is_invariant && m->is_stored_to[node->buf])) {
    seer_vec_fault(m, id, "the phase stores to what is said to be invariant");
  } else {
    return o;
  }
  return NULL;
}

bool seer_vec_is_inside(
    seer_vec_machine *m, uint32_t id, const seer_vec_object *o, int64_t offset, uint32_t n_bytes) {
  if (offset >= 0 && offset <= o->n_bytes - (int64_t)n_bytes) return true;
  seer_vec_fault(
      m, id, "bytes %" PRId64 " to %" PRId64 " of %" PRId64, offset, offset + n_bytes, o->n_bytes);
  return false;
}

bool seer_vec_is_written(const seer_vec_object *o, int64_t offset, uint32_t n_bytes) {
  for (uint32_t k = 0; o->known && k < n_bytes; k++) {
    if (!o->known[offset + k]) return false;
  }
  return true;
}

// ---- what is on its way

// Whoever looks before it is there finds nothing.
void seer_vec_send(seer_vec_machine *m, seer_vec_object *to, int64_t offset, const uint64_t *lane,
    uint32_t n_bytes, bool is_known) {
  m->underway =
      SEER_GROW(m->arena, seer_vec_underway, m->underway, m->n_underway, &m->cap_underway);
  seer_vec_underway *one = &m->underway[m->n_underway++];
  *one = (seer_vec_underway){
      .to = to, .offset = offset, .n_bytes = n_bytes, .item = m->item, .is_known = is_known};
  memcpy(one->bytes, lane, n_bytes);
  memset(to->known + offset, 0, n_bytes);
}

void seer_vec_arrive_now(seer_vec_machine *m) {
  size_t left = 0;
  for (size_t k = 0; k < m->n_underway; k++) {
    const seer_vec_underway *one = &m->underway[k];
    if (one->item != m->item) {
      m->underway[left++] = *one;
      continue;
    }
    memcpy(one->to->bytes + one->offset, one->bytes, one->n_bytes);
    memset(one->to->known + one->offset, one->is_known, one->n_bytes);
  }
  m->n_underway = left;
}
