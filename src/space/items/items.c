// items.c - nests of items, and loops in their place.
#include "space/items/items.h"

#include <string.h>

static seer_items chain_of(const seer_loop *loop, uint32_t id, seer_loop_ann ann) {
  seer_items items = {.n_items = 1, .body = id};
  while (id != 0 && loop->node[id].kind == SEER_NODE_FOR && loop->node[id].ann == ann &&
      items.n < SEER_MAX_RANK) {
    items.loop[items.n++] = id;
    bool is_large = __builtin_mul_overflow(items.n_items, loop->node[id].extent, &items.n_items) ||
        items.n_items > INT32_MAX;
    if (is_large) items.n_items = INT32_MAX;
    items.body = id = loop->node[id].body;
  }
  return items;
}

seer_items seer_items_of(const seer_loop *loop, uint32_t id) {
  return chain_of(loop, id, SEER_LOOP_THREAD);
}

seer_items seer_items_of_grid(const seer_loop *loop, uint32_t phase) {
  return chain_of(loop, loop->phase[phase], SEER_LOOP_PARALLEL);
}

void seer_items_place(
    const seer_loop *loop, const seer_items *items, int64_t number, int64_t *inout_var) {
  for (uint32_t k = items->n; k-- > 0;) {
    const seer_loop_node *node = &loop->node[items->loop[k]];
    seer_division d = seer_divide(number, node->extent);
    inout_var[node->var] = d.remainder;
    number = d.quotient;
  }
}

static int64_t most_items(const seer_loop *loop, uint32_t id) {
  int64_t most = 0;
  for (; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind != SEER_NODE_FOR) continue;
    int64_t n = node->ann == SEER_LOOP_THREAD ? seer_items_of(loop, id).n_items
                                              : most_items(loop, node->body);
    if (n > most) most = n;
  }
  return most;
}

int64_t seer_items_of_phase(const seer_loop *loop, uint32_t phase) {
  return most_items(loop, loop->phase[phase]);
}

// The first node from `id` on that is no BARRIER.
static uint32_t past_barriers(const seer_loop *loop, uint32_t id) {
  while (id != 0 && loop->node[id].kind == SEER_NODE_BARRIER) id = loop->node[id].next;
  return id;
}

seer_loop *seer_items_serial(const seer_loop *loop) {
  seer_loop *serial = SEER_NEW(loop->arena, seer_loop);
  *serial = *loop;
  serial->node = SEER_NEW_ARRAY(loop->arena, seer_loop_node, loop->n_node);
  serial->cap_node = loop->n_node;
  memcpy(serial->node, loop->node, loop->n_node * sizeof(seer_loop_node));
  for (uint32_t id = 1; id < serial->n_node; id++) {
    seer_loop_node *node = &serial->node[id];
    node->next = past_barriers(loop, node->next);
    node->body = past_barriers(loop, node->body);
    if (node->kind == SEER_NODE_FOR && node->ann == SEER_LOOP_THREAD) node->ann = SEER_LOOP_SERIAL;
  }
  for (uint32_t k = 0; k < serial->n_phase; k++)
    serial->phase[k] = past_barriers(loop, loop->phase[k]);
  serial->buf = SEER_NEW_ARRAY(loop->arena, seer_loop_buf, loop->n_buf + 1);
  serial->cap_buf = loop->n_buf + 1;
  memcpy(serial->buf, loop->buf, loop->n_buf * sizeof(seer_loop_buf));
  for (uint32_t b = 0; b < serial->n_buf; b++) {
    seer_loop_storage *storage = &serial->buf[b].storage;
    if (*storage == SEER_STORE_WORKGROUP || *storage == SEER_STORE_PRIVATE)
      *storage = SEER_STORE_LOCAL;
    serial->buf[b].is_late = false;
  }
  return serial;
}
