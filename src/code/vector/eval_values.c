// eval_values.c - what an item does with an instruction: lanes by the operators of scalar.c, and
// accesses.
//
// Iterations and lanes beyond a bound compute with whatever their safe loads give, so what was
// never written, and UNDEF, may be loaded and computed with: lanes carry whether they are known,
// and it is a fault where an unknown one reaches a buffer that others read, the address or the mask
// of an access, or decides which way control goes. An unknown lane that is selected away leaves
// nothing behind; and'ed with 0 or or'ed with 1, an i1 is known.
#include <string.h>

#include "code/vector/eval.h"

// ---- values

// To be called with all lanes set: an unknown lane is 0.
static void settle(seer_vec_machine *m, uint32_t id) {
  seer_vec v = {id};
  uint64_t *lane = seer_vec_lanes_of(m, v);
  const bool *hazy = seer_vec_haze_of(m, v);
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
static bool compute_hazy(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id], *x = seer_vec_at(m->code, node->arg[0]);
  uint32_t n_args = seer_vec_ops[node->op].n_args;
  uint64_t *out = seer_vec_lanes_of(m, (seer_vec){id});
  bool *hazy = seer_vec_haze_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    uint64_t arg[3] = {0};
    bool unknown[3] = {false};
    for (uint32_t k = 0; k < n_args; k++) {
      arg[k] = seer_vec_lanes_of(m, node->arg[k])[l];
      unknown[k] = seer_vec_haze_of(m, node->arg[k])[l];
    }
    hazy[l] = unknown[0] || unknown[1] || unknown[2];
    if (hazy[l] && node->elem == SEER_VEC_I1)
      hazy[l] = !is_decided((seer_vec_op)node->op, arg[0], unknown[0], arg[1], unknown[1]);
    if (!hazy[l] &&
        !seer_vec_apply((seer_vec_op)node->op, (seer_vec_elem)x->elem, (seer_vec_elem)node->elem,
            arg[0], arg[1], arg[2], &out[l])) {
      seer_vec_fault(m, id, "is not defined in lane %u", l);
      return false;
    }
  }
  settle(m, id);
  return true;
}

static bool compute(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  uint32_t n_args = seer_vec_ops[node->op].n_args;
  const uint64_t *arg[3];
  bool any_hazy = false;
  for (uint32_t k = 0; k < 3; k++) {
    arg[k] = seer_vec_lanes_of(m, node->arg[k < n_args ? k : 0]);
    any_hazy |= k < n_args && m->is_hazy[node->arg[k].i];
  }
  if (any_hazy) return compute_hazy(m, id);
  if (m->is_hazy[id]) memset(seer_vec_haze_of(m, (seer_vec){id}), 0, node->lanes * sizeof(bool));
  m->is_hazy[id] = false;
  seer_vec_elem elem = (seer_vec_elem)seer_vec_at(m->code, node->arg[0])->elem;
  uint64_t *out = seer_vec_lanes_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    if (seer_vec_apply((seer_vec_op)node->op, elem, (seer_vec_elem)node->elem, arg[0][l], arg[1][l],
            arg[2][l], &out[l]))
      continue;
    seer_vec_fault(m, id, "is not defined in lane %u", l);
    return false;
  }
  return true;
}

static void take_lane(seer_vec_machine *m, uint32_t id, uint32_t to, seer_vec from, uint32_t lane) {
  seer_vec_lanes_of(m, (seer_vec){id})[to] = seer_vec_lanes_of(m, from)[lane];
  seer_vec_haze_of(m, (seer_vec){id})[to] = seer_vec_haze_of(m, from)[lane];
}

static void select_lanes(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  seer_vec cond = node->arg[0];
  uint32_t step = seer_vec_at(m->code, cond)->lanes > 1;
  for (uint32_t l = 0; l < node->lanes; l++) {
    seer_vec from = node->arg[seer_vec_lanes_of(m, cond)[l * step] ? 1 : 2];
    take_lane(m, id, l, from, l);
    if (seer_vec_haze_of(m, cond)[l * step]) seer_vec_haze_of(m, (seer_vec){id})[l] = true;
    if (node->elem == SEER_VEC_PTR) m->into[id] = m->into[from.i];
  }
  settle(m, id);
}

static void any_lane(seer_vec_machine *m, uint32_t id) {
  seer_vec x = m->code->node[id].arg[0];
  bool some = false, unknown = false;
  for (uint32_t l = 0; l < seer_vec_at(m->code, x)->lanes; l++) {
    some |= seer_vec_lanes_of(m, x)[l] != 0;
    unknown |= seer_vec_haze_of(m, x)[l];
  }
  seer_vec_lanes_of(m, (seer_vec){id})[0] = some;
  seer_vec_haze_of(m, (seer_vec){id})[0] = unknown && !some;
  settle(m, id);
}

static void shuffle(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const seer_vec_order *order = &m->code->order[node->imm];
  for (uint32_t l = 0; l < order->n; l++) {
    uint32_t from = order->lane[l];
    take_lane(m, id, l, node->arg[from / order->n], from % order->n);
  }
  settle(m, id);
}

static void pick(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const float *from = m->code->picks[node->imm].value;
  for (uint32_t l = 0; l < node->lanes; l++) {
    uint64_t number = seer_vec_lanes_of(m, node->arg[0])[l];
    uint32_t bits;
    memcpy(&bits, &from[number % SEER_VEC_PICKS], sizeof(bits));
    seer_vec_lanes_of(m, (seer_vec){id})[l] = bits;
    seer_vec_haze_of(m, (seer_vec){id})[l] = seer_vec_haze_of(m, node->arg[0])[l];
  }
  settle(m, id);
}

static void between_lanes(seer_vec_machine *m, uint32_t id) {
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

static void move(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  uint64_t by = *seer_vec_lanes_of(m, node->arg[1]) * seer_vec_elem_bytes((seer_vec_elem)node->of);
  m->lane[m->at[id]] = *seer_vec_lanes_of(m, node->arg[0]) + by;  // wraps: only accesses are judged
  m->into[id] = m->into[node->arg[0].i];
  m->hazy[m->at[id]] = m->is_hazy[node->arg[0].i] || m->is_hazy[node->arg[1].i];
  settle(m, id);
}

// What another item of the block, or of another block, has to do with the bytes of an access.
static bool watch(seer_vec_machine *m, uint32_t id, int64_t offset, uint32_t n_bytes) {
  uint32_t buf = m->code->node[id].buf;
  if (buf == SEER_VEC_NO_BUF || m->shadow[buf].n == 0) return true;
  seer_shadow *shadow = &m->shadow[buf];
  uint32_t elem_bytes = seer_dtype_bytes(m->code->loop->buf[buf].dtype);
  uint32_t before = (uint32_t)m->part * m->n_items, other;
  bool is_store = seer_vec_is_store(&m->code->node[id]);
  for (int64_t at = offset / elem_bytes; at * elem_bytes < offset + n_bytes; at++) {
    seer_shadow_verdict verdict =
        seer_shadow_touch(shadow, is_store, (uint64_t)at, before, m->item, m->epoch, &other);
    // What was never written is not known, and a fault where that matters.
    if (verdict == SEER_SHADOW_FINE || verdict == SEER_SHADOW_UNWRITTEN) continue;
    seer_vec_fault(m, id, "item %u, element %" PRId64 " of $%s: %s", m->item, at,
        m->code->loop->buf[buf].name, seer_shadow_verdict_text(verdict));
    return false;
  }
  return true;
}

// The lanes of a mask (NULL: all) that are 1.
static bool load_lanes(seer_vec_machine *m, uint32_t id, const uint64_t *mask) {
  const seer_vec_node *node = &m->code->node[id];
  const seer_vec_object *o = NULL;
  uint32_t size = seer_vec_elem_bytes((seer_vec_elem)node->elem);
  int64_t base = (int64_t)*seer_vec_lanes_of(m, node->arg[0]);
  uint64_t *lane = seer_vec_lanes_of(m, (seer_vec){id});
  bool *hazy = seer_vec_haze_of(m, (seer_vec){id});
  for (uint32_t l = 0; l < node->lanes; l++) {
    if (mask && !mask[l]) {
      take_lane(m, id, l, node->arg[2], l);
      continue;
    }
    int64_t offset = base + (int64_t)l * size;
    if (!o) o = seer_vec_object_of(m, id);
    if (!o || !seer_vec_is_inside(m, id, o, offset, size) ||
        (m->shadow && !watch(m, id, offset, size)))
      return false;
    lane[l] = 0;
    memcpy(&lane[l], o->bytes + offset, size);
    hazy[l] = !seer_vec_is_written(o, offset, size);
  }
  settle(m, id);
  return true;
}

static bool look_up(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  const seer_vec_object *o = seer_vec_object_of(m, id);
  int64_t base = (int64_t)*seer_vec_lanes_of(m, node->arg[0]);
  const uint64_t *number = seer_vec_lanes_of(m, node->arg[1]);
  const bool *is_unknown = seer_vec_haze_of(m, node->arg[1]);
  if (!o || !seer_vec_is_inside(m, id, o, base, SEER_VEC_TABLE_BYTES)) return false;
  for (uint32_t l = 0; l < node->lanes; l++) {
    int64_t offset = base + (int64_t)(number[l] & 255);
    seer_vec_lanes_of(m, (seer_vec){id})[l] = (uint8_t)o->bytes[offset];
    seer_vec_haze_of(m, (seer_vec){id})[l] = is_unknown[l] || !seer_vec_is_written(o, offset, 1);
  }
  settle(m, id);
  return true;
}

static bool store_lanes(seer_vec_machine *m, uint32_t id, const uint64_t *mask) {
  const seer_vec_node *node = &m->code->node[id], *value = seer_vec_at(m->code, node->arg[1]);
  seer_vec_object *o = NULL;
  uint32_t size = seer_vec_elem_bytes((seer_vec_elem)value->elem);
  int64_t base = (int64_t)*seer_vec_lanes_of(m, node->arg[0]);
  const uint64_t *lane = seer_vec_lanes_of(m, node->arg[1]);
  const bool *hazy = seer_vec_haze_of(m, node->arg[1]);
  for (uint32_t l = 0; l < value->lanes; l++) {
    if (mask && !mask[l]) continue;
    int64_t offset = base + (int64_t)l * size;
    if (!o) o = seer_vec_object_of(m, id);
    if (!o || !seer_vec_is_inside(m, id, o, offset, size) ||
        (m->shadow && !watch(m, id, offset, size)))
      return false;
    if (hazy[l] && o->is_shared) {
      seer_vec_fault(m, id, "lane %u is not known, and others read it", l);
      return false;
    }
    if (node->op == SEER_VEC_COPY) {
      seer_vec_send(m, o, offset, &lane[l], size, !hazy[l]);
      continue;
    }
    memcpy(o->bytes + offset, &lane[l], size);
    if (o->known) memset(o->known + offset, !hazy[l], size);
  }
  return true;
}

static bool access(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  switch ((int)node->op) {
    case SEER_VEC_LOAD:
      return load_lanes(m, id, NULL);
    case SEER_VEC_LOOKUP:
      return look_up(m, id);
    case SEER_VEC_STORE:
    case SEER_VEC_COPY:
      return store_lanes(m, id, NULL);
    case SEER_VEC_LOAD_MASKED:
      return seer_vec_is_known(m, id, 1, "the mask") &&
          load_lanes(m, id, seer_vec_lanes_of(m, node->arg[1]));
    default:
      return seer_vec_is_known(m, id, 2, "the mask") &&
          store_lanes(m, id, seer_vec_lanes_of(m, node->arg[2]));
  }
}

bool seer_vec_run_node(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  if (seer_vec_is_of_matrices(node)) return seer_vec_run_matrices(m, id);
  switch ((int)node->op) {
    case SEER_VEC_PART:
      m->lane[m->at[id]] = (uint64_t)m->part;
      return true;
    case SEER_VEC_ITEM:
      m->lane[m->at[id]] = m->item;
      return true;
    case SEER_VEC_BUFFER:
      seer_vec_set_pointer(m, id, node->buf);
      return true;
    case SEER_VEC_SCRATCH:
      seer_vec_set_pointer(m, id, m->code->loop->n_buf);
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
    case SEER_VEC_COPY:
      return access(m, id);
    case SEER_VEC_ARRIVE:
      seer_vec_arrive_now(m);
      return true;
    case SEER_VEC_COUNTER:  // its loop sets it
    case SEER_VEC_PREFETCH:
    case SEER_VEC_FENCE:
      return true;
    default:
      return compute(m, id);
  }
}
