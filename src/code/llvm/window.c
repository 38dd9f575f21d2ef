// window.c - unrolled windows that must not share their loads.
// Iterations of an unrolled window (3x3 neighbours) read some of the same elements. LLVM loads each
// of them once and keeps it, which is right while registers last: when the accumulators fill most
// of them, it stores the shared elements to the stack and loads them again from there. A
// multiply-add takes an operand from memory for nothing, so then each iteration loads what it
// needs: a fence between the iterations keeps LLVM from seeing that these loads are the same.
// Measured (AVX2, 16 registers, depthwise 3x3): with 12 and 14 accumulators 10 to 35 % faster, with
// 10 the same, with 8 up to 10 % slower.
#include "code/llvm/gen.h"

typedef struct {
  seer_gen *g;
  uint32_t window;  // variable of the reduction loop
  uint32_t n_tile, tile[16];  // variables of the copies below it that are no reductions
  int64_t accumulators;  // vectors
  bool shares;
} look;

// One index moves with the window and with the tile: neighbours of the tile read the same element.
static void look_at_load(void *user, seer_expr load) {
  look *l = user;
  const seer_expr_node *node = seer_gen_at(l->g, load);
  for (uint32_t k = 0; k < node->n_index; k++) {
    seer_expr index = l->g->loop->expr.index[node->index0 + k];
    if (!seer_gen_depends(l->g, index, l->window)) continue;
    for (uint32_t t = 0; t < l->n_tile; t++)
      l->shares = l->shares || seer_gen_depends(l->g, index, l->tile[t]);
  }
}

static void look_below(look *l, uint32_t id, int64_t copies) {
  for (; id != 0; id = l->g->loop->node[id].next) {
    const seer_loop_node *node = &l->g->loop->node[id];
    const seer_gen_node *plan = &l->g->node[id];
    if (node->kind == SEER_NODE_STORE && node->combiner != SEER_COMBINE_NONE) {
      l->accumulators += copies * node->n_values;
      for (uint32_t k = 0; k < node->n_values; k++)
        seer_gen_visit_loads(l->g, node->value[k], look_at_load, l);
    }
    if (node->kind != SEER_NODE_FOR) continue;
    if (node->is_reduce || plan->mode == SEER_GEN_LOOP) {
      look_below(l, node->body, copies);
      continue;
    }
    bool is_lanes = plan->mode == SEER_GEN_LANES;
    bool is_known = !is_lanes && l->n_tile < SEER_COUNT_OF(l->tile);
    if (is_known) l->tile[l->n_tile++] = node->var;
    int64_t times = is_lanes ? (plan->trip + plan->lanes - 1) / plan->lanes : plan->trip;
    look_below(l, node->body, copies * times);
    if (is_known) l->n_tile--;
  }
}

bool seer_gen_is_tight_window(seer_gen *g, uint32_t id) {
  const seer_loop_node *node = &g->loop->node[id];
  if (!node->is_reduce) return false;
  if (g->node[id].mode != SEER_GEN_COPIES && g->node[id].step <= 1) return false;
  look l = {.g = g, .window = node->var};
  look_below(&l, node->body, 1);
  return l.shares && 4 * l.accumulators >= 3 * (int64_t)g->n_vector_registers;
}

void seer_gen_fence(seer_gen *g) {
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->context), NULL, 0, false);
  static const char clobbers[] = "~{memory}";
  LLVMValueRef nothing = LLVMGetInlineAsm(
      type, "", 0, clobbers, sizeof clobbers - 1, true, false, LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(g->b, type, nothing, NULL, 0, "");
  g->fence++;
}
