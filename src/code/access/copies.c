// copies.c - of block programs: what a nest stores into LATE memory (space/loop.h) as it has loaded
// it becomes a COPY, which the device makes by itself and no item waits for; in front of each
// barrier items wait for what they have copied. Other stores stay what they are.
//
// Requires: behind seer_gen_join_accesses, so that a copy is as long as an access.
#include "code/gen/gen.h"
#include "code/vector/internal.h"

typedef struct {
  seer_vec_code *code;
  uint32_t *n_uses;  // by instruction
  uint32_t *block, n_block;  // by instruction: the number of its block, once it has been passed
  bool has_copies;
} copier;

static seer_vec_block *block_of(copier *c, seer_vec_phase *phase, uint32_t owner, uint32_t side) {
  return owner == 0 ? &phase->body : &c->code->node[owner].body[side];
}

static uint32_t list(const copier *c, seer_vec_block block, uint32_t n, uint32_t *out) {
  for (uint32_t id = block.first; id != 0; id = c->code->node[id].next) {
    out[n++] = id;
    for (uint32_t side = 0; side < 2; side++) n = list(c, c->code->node[id].body[side], n, out);
  }
  return n;
}

// By what is used itself: uses stand behind definitions.
static void count_uses(copier *c, const seer_vec_phase *phase, seer_arena *arena) {
  uint32_t *all = SEER_NEW_ARRAY(arena, uint32_t, c->code->n);
  for (uint32_t n = list(c, phase->body, 0, all); n-- > 0;) {
    const seer_vec_node *node = &c->code->node[all[n]];
    if (node->elem != SEER_VEC_VOID && c->n_uses[all[n]] == 0) continue;
    for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) c->n_uses[node->arg[k].i]++;
  }
}

static bool is_copy(const copier *c, uint32_t block, const seer_vec_node *node) {
  if (node->op != SEER_VEC_STORE || node->buf == SEER_VEC_NO_BUF) return false;
  if (!c->code->loop->buf[node->buf].is_late || c->n_uses[node->arg[1].i] != 1) return false;
  uint32_t n_bytes = seer_vec_access_bytes(c->code, node);
  if (node->align != 0 && node->align < n_bytes) return false;
  return seer_vec_is_copied(c->code, node->arg[1]) && c->block[node->arg[1].i] == block;
}

static void make_copies(copier *c, seer_vec_block block) {
  uint32_t own = ++c->n_block;
  for (uint32_t id = block.first; id != 0; id = c->code->node[id].next) {
    seer_vec_node *node = &c->code->node[id];
    c->block[id] = own;
    if (is_copy(c, own, node)) {
      node->op = SEER_VEC_COPY;
      c->has_copies = true;
    }
    for (uint32_t side = 0; side < 2; side++) make_copies(c, node->body[side]);
  }
}

static void add_arrivals(copier *c, seer_vec_phase *phase, uint32_t owner, uint32_t side) {
  uint32_t n = 0;
  seer_vec_block block = *block_of(c, phase, owner, side);
  for (uint32_t id = block.first; id != 0; id = c->code->node[id].next) n++;
  if (n == 0) return;
  seer_arena *arena = seer_arena_create("arrivals");
  uint32_t *all = SEER_NEW_ARRAY(arena, uint32_t, 2 * (size_t)n), n_all = 0;
  for (uint32_t id = block.first; id != 0; id = c->code->node[id].next) {
    if (c->code->node[id].op == SEER_VEC_BARRIER)
      all[n_all++] = seer_vec_add_node(c->code, &(seer_vec_node){.op = SEER_VEC_ARRIVE}).i;
    all[n_all++] = id;
  }
  seer_vec_link(c->code, block_of(c, phase, owner, side), all, n_all);
  for (uint32_t k = 0; k < n_all; k++) {
    if (c->code->node[all[k]].op != SEER_VEC_LOOP && c->code->node[all[k]].op != SEER_VEC_WHEN)
      continue;
    for (uint32_t inside = 0; inside < 2; inside++) add_arrivals(c, phase, all[k], inside);
  }
  seer_arena_destroy(arena);
}

static bool has_late_memory(const seer_loop *loop) {
  for (uint32_t b = 0; b < loop->n_buf; b++)
    if (loop->buf[b].is_late) return true;
  return false;
}

void seer_gen_make_copies(seer_vec_code *code) {
  if (!has_late_memory(code->loop)) return;
  seer_arena *arena = seer_arena_create("copies");
  for (uint32_t p = 0; p < code->n_phase; p++) {
    copier c = {.code = code,
        .n_uses = SEER_NEW_ARRAY(arena, uint32_t, code->n),
        .block = SEER_NEW_ARRAY(arena, uint32_t, code->n)};
    count_uses(&c, &code->phase[p], arena);
    make_copies(&c, code->phase[p].body);
    if (c.has_copies) add_arrivals(&c, &code->phase[p], 0, 0);
  }
  seer_arena_destroy(arena);
}
