// eval_control.c - blocks of instructions, each done by all items that go through the block before
// the next one is: a WHEN or LOOP leaves out those whose condition or number of turns says so. And
// what the accesses of warps come to.
#include <string.h>

#include "code/vector/eval.h"

// Those that go through a block.
typedef struct {
  uint32_t n;
  const uint32_t *item;  // ascending
} group;

static bool run_block(seer_vec_machine *m, uint32_t first, group all, uint32_t depth);

static void choose(seer_vec_machine *m, const group *all, uint32_t k) {
  if (m->n_items > 1) seer_vec_set_item(m, all->item[k]);
}

// ---- control

static bool run_loop(seer_vec_machine *m, uint32_t id, group all, uint32_t depth) {
  const seer_vec_node *node = &m->code->node[id];
  uint32_t body = node->body[0].first, *inside = &m->active[(size_t)depth * m->most_items];
  for (uint32_t k = 0; k < all.n; k++) {
    choose(m, &all, k);
    if (!seer_vec_is_known(m, id, 0, "how often")) return false;
    if (node->imm == 0 || (int64_t)*seer_vec_lanes_of(m, node->arg[0]) >= 1) continue;
    seer_vec_fault(m, id, "it does not run");
    return false;
  }
  for (int64_t i = 0;; i++) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < all.n; k++) {
      choose(m, &all, k);
      if (i >= (int64_t)*seer_vec_lanes_of(m, node->arg[0])) continue;
      inside[n++] = all.item[k];
      for (uint32_t c = body; c != 0 && m->code->node[c].op == SEER_VEC_COUNTER;
           c = m->code->node[c].next)
        m->lane[m->at[c]] = (uint64_t)i * (uint64_t)m->code->node[c].imm;
    }
    if (n == 0) return true;
    if (!run_block(m, body, (group){n, inside}, depth + 1)) return false;
  }
}

static bool run_when(seer_vec_machine *m, uint32_t id, group all, uint32_t depth) {
  const seer_vec_node *node = &m->code->node[id];
  uint32_t *inside = &m->active[(size_t)depth * m->most_items];
  for (uint32_t side = 0; side < 2; side++) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < all.n; k++) {
      choose(m, &all, k);
      if (!seer_vec_is_known(m, id, 0, "the condition")) return false;
      bool is_true = *seer_vec_lanes_of(m, node->arg[0]) != 0;
      if (is_true == (side == 0)) inside[n++] = all.item[k];
    }
    if (n > 0 && !run_block(m, node->body[side].first, (group){n, inside}, depth + 1)) return false;
  }
  return true;
}

// False: the part ends here.
static bool go_on(seer_vec_machine *m, uint32_t id, group all) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < all.n; k++) {
    choose(m, &all, k);
    if (!seer_vec_is_known(m, id, 0, "the condition")) return false;
    n += *seer_vec_lanes_of(m, m->code->node[id].arg[0]) != 0;
  }
  if (n != 0 && n != all.n) seer_vec_fault(m, id, "%u of %u items leave", all.n - n, all.n);
  return n == all.n;
}

static bool meet(seer_vec_machine *m, uint32_t id, group all) {
  m->epoch++;
  if (all.n == m->n_items) return true;
  seer_vec_fault(m, id, "%u of %u items come to it", all.n, m->n_items);
  return false;
}

// ---- traffic

typedef struct {
  uint32_t n;
  int64_t unit[SEER_VEC_WARP * 64];
} units;

// Sorted in, once each.
static void add_unit(units *u, int64_t unit) {
  uint32_t at = u->n;
  while (at > 0 && u->unit[at - 1] > unit) at--;
  if (at > 0 && u->unit[at - 1] == unit) return;
  if (u->n == SEER_COUNT_OF(u->unit)) return;
  memmove(&u->unit[at + 1], &u->unit[at], (u->n - at) * sizeof(int64_t));
  u->unit[at] = unit;
  u->n++;
}

static uint64_t most_of_a_bank(const units *words) {
  uint64_t of_bank[SEER_VEC_BANKS] = {0}, most = 0;
  for (uint32_t k = 0; k < words->n; k++) {
    uint64_t n = ++of_bank[(uint64_t)words->unit[k] % SEER_VEC_BANKS];
    if (n > most) most = n;
  }
  return most;
}

// Whether the mask of the item in hand lets the access through (its first lane).
static bool is_done(const seer_vec_machine *m, const seer_vec_node *node) {
  if (node->op == SEER_VEC_LOAD_MASKED) return *seer_vec_lanes_of(m, node->arg[1]) != 0;
  if (node->op == SEER_VEC_STORE_MASKED) return *seer_vec_lanes_of(m, node->arg[2]) != 0;
  return true;
}

// Adds the units of an access by the items of all.item[*io_k] on that belong together, `n_together`
// that follow each other; *io_k is behind them.
static units units_of(seer_vec_machine *m, const seer_vec_node *node, group all,
    uint32_t n_together, int64_t unit_bytes, uint32_t *io_k) {
  units touched = {.n = 0};
  uint32_t width = seer_vec_access_bytes(m->code, node);
  uint32_t together = all.item[*io_k] / n_together;
  for (; *io_k < all.n && all.item[*io_k] / n_together == together; ++*io_k) {
    choose(m, &all, *io_k);
    if (!is_done(m, node)) continue;
    int64_t offset = (int64_t)*seer_vec_lanes_of(m, node->arg[0]);
    for (int64_t at = offset / unit_bytes; at * unit_bytes < offset + width; at++)
      add_unit(&touched, at);
  }
  return touched;
}

// A block's memory gives 128 bytes a turn: a warp that wants 8 or 16 bytes an item is served by
// halves or quarters, one after another, and only what one of these wants is in each other's way.
static void count_group_access(seer_vec_machine *m, const seer_vec_node *node, group all) {
  uint32_t width = seer_vec_access_bytes(m->code, node);
  uint32_t n_together = width <= 4 ? SEER_VEC_WARP : SEER_VEC_WARP * 4 / width;
  uint32_t last_warp = UINT32_MAX;
  if (n_together == 0) n_together = 1;
  for (uint32_t k = 0; k < all.n;) {
    uint32_t warp = all.item[k] / SEER_VEC_WARP;
    units touched = units_of(m, node, all, n_together, 4, &k);
    if (touched.n == 0) continue;
    m->traffic->group_requests += warp != last_warp;
    m->traffic->group_turns += most_of_a_bank(&touched);
    last_warp = warp;
  }
}

static void count_access(seer_vec_machine *m, uint32_t id, group all) {
  const seer_vec_node *node = &m->code->node[id];
  if (m->code->loop->buf[node->buf].storage == SEER_STORE_WORKGROUP) {
    count_group_access(m, node, all);
    return;
  }
  for (uint32_t k = 0; k < all.n;) {
    units touched = units_of(m, node, all, SEER_VEC_WARP, SEER_VEC_SECTOR_BYTES, &k);
    if (touched.n == 0) continue;
    m->traffic->requests++;
    m->traffic->sectors += touched.n;
  }
}

// ---- blocks

static bool run_each(seer_vec_machine *m, uint32_t id, group all) {
  const seer_vec_node *node = &m->code->node[id];
  for (uint32_t k = 0; k < all.n; k++) {
    choose(m, &all, k);
    if (!seer_vec_run_node(m, id)) return false;
  }
  bool is_access = seer_vec_is_load(node) || seer_vec_is_store(node);
  if (m->traffic && is_access && node->buf != SEER_VEC_NO_BUF) count_access(m, id, all);
  return true;
}

static bool run_block(seer_vec_machine *m, uint32_t first, group all, uint32_t depth) {
  for (uint32_t id = first; id != 0; id = m->code->node[id].next) {
    bool goes_on;
    switch ((int)m->code->node[id].op) {
      case SEER_VEC_LOOP:
        goes_on = run_loop(m, id, all, depth);
        break;
      case SEER_VEC_WHEN:
        goes_on = run_when(m, id, all, depth);
        break;
      case SEER_VEC_LEAVE_UNLESS:
        goes_on = go_on(m, id, all);
        break;
      case SEER_VEC_BARRIER:
        goes_on = meet(m, id, all);
        break;
      case SEER_VEC_MMA:
        goes_on = seer_vec_run_mma(m, id, all.item, all.n);
        break;
      default:
        goes_on = m->n_items == 1 && !m->traffic ? seer_vec_run_node(m, id) : run_each(m, id, all);
        break;
    }
    if (!goes_on) return false;
  }
  return true;
}

void seer_vec_run_part(seer_vec_machine *m) {
  for (uint32_t k = 0; k < m->n_items; k++) m->active[k] = k;
  (void)run_block(m, m->phase->body.first, (group){m->n_items, m->active}, 1);
}
