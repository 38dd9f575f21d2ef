// block.c - what lowering fills: blocks of nodes, variables; and the faults that tests plant in it.
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

uint32_t seer_lower_define(seer_lower *lower, const char *name, int64_t low, int64_t high) {
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
