// generate.c - phases: what they read, and which part a call does.
#include "code/gen/generate.h"

#include <string.h>

#include "code/gen/gen.h"
#include "space/items/items.h"

static void find_written(seer_gen *g, uint32_t id) {
  for (; id != 0; id = g->loop->node[id].next) {
    const seer_loop_node *node = &g->loop->node[id];
    if (node->kind == SEER_NODE_FOR) find_written(g, node->body);
    if (node->kind != SEER_NODE_STORE) continue;
    for (uint32_t k = 0; k < node->n_values; k++) g->buf[node->buf[k]].is_written = true;
  }
}

static void name_buffers(seer_gen *g) {
  for (uint32_t b = 0; b < g->loop->n_buf; b++) {
    const seer_loop_buf *decl = &g->loop->buf[b];
    bool is_own = decl->storage == SEER_STORE_LOCAL || decl->storage == SEER_STORE_PRIVATE;
    bool is_aligned =
        is_own || decl->storage == SEER_STORE_PACKED || decl->storage == SEER_STORE_WORKGROUP;
    g->buf[b].align = is_aligned ? 64 : seer_dtype_bytes(decl->dtype);
    if (!is_own) g->buf[b].base = seer_vec_buffer(g->b, b);
  }
  if (!g->machine->tile.has_items) g->scratch = seer_vec_scratch(g->b);
}

// Decodes `part` into the variables of the PARALLEL loops; returns the block inside them.
static uint32_t decode_part(seer_gen *g, uint32_t phase) {
  const seer_loop *loop = g->loop;
  seer_vec part = seer_vec_part(g->b);
  int64_t rest = seer_loop_phase_parts(loop, phase);
  uint32_t id = loop->phase[phase];
  bool is_outermost = true;
  while (
      id != 0 && loop->node[id].kind == SEER_NODE_FOR && loop->node[id].ann == SEER_LOOP_PARALLEL) {
    const seer_loop_node *node = &loop->node[id];
    rest /= node->extent;
    seer_vec i = seer_vec2(g->b, SEER_VEC_UDIV, part, seer_gen_const_i64(g, rest));
    if (!is_outermost) i = seer_vec2(g->b, SEER_VEC_UREM, i, seer_gen_const_i64(g, node->extent));
    is_outermost = false;
    if (node->extent == 1) {
      seer_gen_bind_var(g, node->var, SEER_GEN_CONST, 0, SEER_GEN_NONE);
    } else {
      seer_gen_bind_var(g, node->var, SEER_GEN_VALUE, 0, i);
    }
    seer_gen_open_loop(g, id, node->extent, false);
    if (!g->tile->of[id].is_exact)
      seer_vec_leave_unless(
          g->b, seer_vec2(g->b, SEER_VEC_SLT, i, seer_gen_expr(g, node->bound).v));
    id = node->body;
  }
  return id;
}

static void phase_code(seer_gen *g, uint32_t phase, const char *name) {
  seer_vec_begin_phase(g->b, g->code, name);
  seer_gen_memo_init(g);
  g->depth = 0;
  g->n_open = 0;
  g->n_pred = 0;
  g->lanes = 1;
  g->lane_var = SEER_GEN_NO_VAR;
  g->lane_mask = SEER_GEN_NONE;
  for (uint32_t b = 0; b < g->loop->n_buf; b++) g->buf[b].is_written = false;
  find_written(g, g->loop->phase[phase]);
  name_buffers(g);
  uint32_t block = decode_part(g, phase);
  seer_gen_items_begin(g, phase);
  seer_gen_matrix_phase(g, block);
  seer_gen_block(g, block);
}

seer_gen_machine seer_gen_machine_of(const seer_target *target) {
  bool is_c = seer_target_is_c(target);  // which instructions there are is not known
  bool is_x86 = strncmp(target->triple, "x86_64", 6) == 0;
  bool is_arm = strncmp(target->triple, "aarch64", 7) == 0;
  return (seer_gen_machine){.tile = seer_tile_machine_of(target),
      .l2_bytes = target->l2_bytes,
      .has_half = is_arm || seer_target_has(target, "f16c") || seer_target_has(target, "avx512f"),
      .has_rounding = !is_c && (!is_x86 || seer_target_has(target, "sse4.1")),
      .has_extremes = is_arm,
      .has_picks = is_x86 && target->vector_bytes >= 64 && seer_target_has(target, "avx512f"),
      .masked_bytes = seer_target_has(target, "avx512bw") ? 1
          : seer_target_has(target, "avx")                ? 4
                                                          : 255};
}

seer_gen_machine seer_gen_machine_of_items(bool multiplies_by_warps) {
  return (seer_gen_machine){.tile = {.vector_bytes = 1,
                                .n_vector_registers = 255,
                                .has_items = true,
                                .multiplies_by_warps = multiplies_by_warps},
      .l2_bytes = UINT64_MAX,
      .has_rounding = true,
      .masked_bytes = 1};
}

seer_gen_machine seer_gen_machine_of_c(const seer_target *target) {
  seer_gen_machine machine = seer_gen_machine_of(target);
  machine.tile.multiplies_bytes = machine.tile.multiplies_halves = false;
  machine.has_picks = false;
  return machine;
}

seer_status seer_gen_code(const seer_loop *loop, const seer_gen_machine *machine,
    const char *symbol, seer_arena *arena, seer_vec_code **out_code) {
  *out_code = NULL;
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    if ((seer_items_of_phase(loop, p) > 0) == machine->tile.has_items) continue;
    return SEER_FAIL(UNSUPPORTED, "phase %u of %s is %s block program, and this target %s items", p,
        loop->name, machine->tile.has_items ? "no" : "a",
        machine->tile.has_items ? "runs" : "has no");
  }
  seer_gen *g = SEER_NEW(arena, seer_gen);
  g->loop = loop;
  g->arena = arena;
  g->machine = machine;
  g->code = seer_vec_code_create(loop, arena);
  g->b = SEER_NEW(arena, seer_vec_builder);
  g->tile = seer_tile_create(loop, &machine->tile, arena);
  g->code->scratch_bytes = g->tile->scratch_bytes;
  g->now = SEER_NEW_ARRAY(arena, seer_gen_now, loop->n_node);
  for (uint32_t id = 1; id < loop->n_node; id++) g->now[id].trip = loop->node[id].extent;
  g->buf = SEER_NEW_ARRAY(arena, seer_gen_buf, loop->n_buf + 1);
  g->var = SEER_NEW_ARRAY(arena, seer_gen_var, loop->n_var + 1);
  g->proof = SEER_NEW_ARRAY(arena, uint8_t, loop->expr.n + 1);
  g->full_proof = SEER_NEW_ARRAY(arena, bool, loop->expr.n + 1);
  g->memo_tick = SEER_NEW_ARRAY(arena, uint32_t, loop->expr.n + 1);
  g->memo_value = SEER_NEW_ARRAY(arena, seer_gen_value, loop->expr.n + 1);
  for (uint32_t p = 0; p < loop->n_phase && !g->status; p++)
    phase_code(g, p, seer_arena_printf(arena, "%s_p%u", symbol, p));
  if (!g->status && machine->tile.has_items) {
    seer_gen_join_accesses(g->code);
    seer_gen_make_copies(g->code);
  }
  if (!g->status) *out_code = g->code;
  return g->status;
}
