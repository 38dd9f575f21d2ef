// block.c - what lowering fills: blocks of nodes, variables, strides of buffers; and the faults
// that tests plant in it.
#include <string.h>

#include "space/lower/lower.h"

uint32_t seer_lower_append(seer_lower *lower, seer_lower_block *block, const seer_loop_node *node) {
  uint32_t id = seer_loop_add_node(lower->loop, node);
  if (block->last != 0) {
    lower->loop->node[block->last].next = id;
  } else {
    block->first = id;
  }
  block->last = id;
  return id;
}

static uint32_t define(seer_lower *lower, const char *name, int64_t low, int64_t high) {
  uint32_t var = seer_loop_add_var(lower->loop, name, low, high);
  if (var >= lower->cap_var) {
    uint32_t cap = lower->cap_var ? lower->cap_var * 2 : 64;
    uint32_t *def = SEER_NEW_ARRAY(lower->scratch, uint32_t, cap),
             *depth = SEER_NEW_ARRAY(lower->scratch, uint32_t, cap);
    if (lower->cap_var) {
      memcpy(def, lower->def, lower->cap_var * sizeof(*def));
      memcpy(depth, lower->depth, lower->cap_var * sizeof(*depth));
    }
    lower->def = def;
    lower->depth = depth;
    lower->cap_var = cap;
  }
  return var;
}

seer_lower_open seer_lower_open_for(
    seer_lower *lower, const char *name, seer_loop_node node, seer_lower_block *block) {
  node.kind = SEER_NODE_FOR;
  node.var = define(lower, name, 0, node.extent - 1);
  uint32_t id = seer_lower_append(lower, block, &node);
  seer_lower_open open = {id, lower->n_scope};
  SEER_ASSERT(
      lower->n_for < SEER_COUNT_OF(lower->scope), "%u loops around one statement", lower->n_for);
  lower->scope[lower->n_for++] = node.var;
  lower->def[node.var] = id;
  lower->depth[node.var] = ++lower->n_scope;
  return open;
}

void seer_lower_close_for(
    seer_lower *lower, const seer_lower_open *open, const seer_lower_block *body) {
  lower->loop->node[open->id].body = body->first;
  seer_lower_leave(lower, body, open->n_scope);
  lower->depth[lower->loop->node[open->id].var] = 0;
  lower->n_for--;
}

void seer_lower_leave(seer_lower *lower, const seer_lower_block *block, uint32_t n_scope) {
  for (uint32_t id = block->first; id != 0; id = lower->loop->node[id].next) {
    const seer_loop_node *node = &lower->loop->node[id];
    if (node->kind == SEER_NODE_LET) lower->depth[node->var] = 0;
  }
  lower->n_scope = n_scope;
}

uint32_t seer_lower_let(seer_lower *lower, const char *name, int64_t low, int64_t high,
    seer_expr value, uint32_t stage, seer_lower_block *block) {
  seer_loop_node let = {.kind = SEER_NODE_LET, .stage = stage};
  let.var = define(lower, name, low, high);
  let.value[0] = value;
  uint32_t id = seer_lower_append(lower, block, &let);
  lower->def[let.var] = id;
  lower->depth[let.var] = ++lower->n_scope;
  return let.var;
}

void seer_lower_row_major(seer_loop_buf *buf, int64_t pitch) {
  int64_t step = pitch;
  for (uint32_t k = buf->rank; k-- > 0;) {
    buf->stride[k] = k + 1u == buf->rank ? 1 : step;
    if (k + 1u < buf->rank) step *= buf->dim[k];
  }
  buf->n_elems = buf->rank == 0 ? 1 : buf->dim[0] * buf->stride[0];
  if (buf->rank == 1) buf->n_elems = seer_max_i64(buf->dim[0], pitch);
}

const char *seer_lower_fault_name(seer_lower_fault fault) {
  switch (fault) {
    case SEER_LOWER_FAULT_NONE:
      return "none";
    case SEER_LOWER_FAULT_TAIL_BOUND:
      return "tail-bound";
    case SEER_LOWER_FAULT_NO_TAIL:
      return "no-tail";
    case SEER_LOWER_FAULT_SHORT_TAIL:
      return "short-tail";
    case SEER_LOWER_FAULT_SWAPPED_AXES:
      return "swapped-axes";
    case SEER_LOWER_FAULT_NO_INIT:
      return "no-init";
    case SEER_LOWER_FAULT_WRONG_IDENTITY:
      return "wrong-identity";
    case SEER_LOWER_FAULT_GUARD_OFF:
      return "guard-off";
    case SEER_LOWER_FAULT_NO_GUARD:
      return "no-guard";
    case SEER_LOWER_FAULT_STALE_PACK:
      return "stale-pack";
    case SEER_LOWER_FAULT_REGION_START:
      return "region-start";
    case SEER_LOWER_FAULT_WRONG_COEF:
      return "wrong-coef";
    case SEER_LOWER_FAULT_LATE_INIT:
      return "late-init";
    case SEER_LOWER_FAULT_COUNT:
      break;
  }
  return "?";
}

bool seer_lower_is_faulty(seer_lower *lower, seer_lower_fault fault) {
  if (lower->fault != fault || lower->was_faulty) return false;
  lower->was_faulty = true;
  return true;
}
