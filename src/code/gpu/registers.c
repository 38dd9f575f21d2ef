// registers.c - see registers.h. Equal values are one, loads of one place between two barriers too,
// as compilers see it. Then backwards through blocks: a value is alive from its definition to its
// last use, one that a loop uses as long as the loop runs, a variable (slot) from a store to the
// last load that may read it. What is part of another instruction counts with that: a move by a
// constant, lanes that are taken out of a load or put into a store. Truths have registers of their
// own.
//
// A compiler begins loads early, as long as there are registers: those of a stretch of code that no
// loop, branch or barrier cuts count with what is alive.
#include "code/gpu/registers.h"

#include "code/access/numbers.h"
#include "code/vector/internal.h"

// The estimate, in quarters of a register: a fit to 554 kernels of four networks on sm_80, each
// default schedule and five drawn ones, NVRTC 13.0 (2026-11-27).
#define BESIDES 36
#define PER_VALUE 3  // compilers order what is computed so that less is alive
#define PER_INDEX 4
#define PER_ADDRESS 2  // of two registers one is often shared, or in a constant
#define PER_NEAR 3
#define MOST_NEAR 64  // begun ahead
// Where far loads are all that counts, as in a transform: they, their addresses, and this.
#define BESIDES_FAR 8

typedef struct {
  const seer_vec_code *code;
  seer_arena *arena;
  const seer_numbers *numbers;
  uint32_t n;  // instructions, and variables behind them
  uint32_t *variable0;  // by instruction: of a slot, its first variable
  uint32_t *width;  // by variable, counted behind instructions: registers
  bool *is_used;  // by instruction: so far
  bool *is_copied;  // by instruction: a COPY's load, which is in no register
  uint32_t *same;  // by instruction: the one that gives its value; 0: none, or itself
  // By number: the value that is in scope, the last load from there; 0: there is none.
  uint32_t *known, *loaded;
  uint32_t n_scope, *scope;  // numbers of values in scope, oldest first
  uint32_t n_loaded, *loads;  // numbers of places since the last barrier
  seer_gpu_registers now, most;
  bool counts;
} finder;

static const seer_vec_node *at(const finder *f, seer_vec v) { return seer_vec_at(f->code, v); }

// ---- equal values

static bool is_wall(const seer_vec_node *node) {
  return node->op == SEER_VEC_LOOP || node->op == SEER_VEC_WHEN || node->op == SEER_VEC_BARRIER ||
      node->op == SEER_VEC_FENCE;
}

static void forget_loads(finder *f) {
  while (f->n_loaded > 0) f->loaded[f->loads[--f->n_loaded]] = 0;
}

static uint32_t number_of(const finder *f, seer_vec v) { return seer_numbers_of(f->numbers, v); }

static void find_same_load(finder *f, uint32_t id) {
  const seer_vec_node *node = &f->code->node[id];
  uint32_t place = number_of(f, node->arg[0]);
  const seer_vec_node *other = &f->code->node[f->loaded[place]];
  bool is_same = f->loaded[place] != 0 && other->op == node->op && other->lanes == node->lanes &&
      number_of(f, other->arg[1]) == number_of(f, node->arg[1]);
  if (is_same) {
    f->same[id] = f->loaded[place];
    return;
  }
  if (f->loaded[place] == 0) f->loads[f->n_loaded++] = place;
  f->loaded[place] = id;
}

static void find_same(finder *f, seer_vec_block block) {
  uint32_t before = f->n_scope;
  for (uint32_t id = block.first; id != 0; id = f->code->node[id].next) {
    const seer_vec_node *node = &f->code->node[id];
    if (is_wall(node)) forget_loads(f);
    for (uint32_t k = 0; k < 2; k++) find_same(f, node->body[k]);
    if (is_wall(node)) forget_loads(f);
    if (node->elem == SEER_VEC_VOID) continue;
    uint32_t number = number_of(f, (seer_vec){id});
    if (seer_vec_is_load(node)) {
      if (node->buf != SEER_VEC_NO_BUF) find_same_load(f, id);
    } else if (f->known[number] != 0) {
      f->same[id] = f->known[number];
    } else {
      f->known[number] = id;
      f->scope[f->n_scope++] = number;
    }
  }
  while (f->n_scope > before) f->known[f->scope[--f->n_scope]] = 0;
}

// ---- what is loaded ahead

static uint32_t registers_of(const seer_vec_node *node) {
  uint32_t bits = seer_vec_elem_bits[node->elem] * node->lanes;
  return bits <= 32 ? 1 : bits / 32;
}

static void find_loads(finder *f, seer_vec_block block) {
  uint32_t near = 0, far = 0;
  for (uint32_t id = block.first; id != 0; id = f->code->node[id].next) {
    const seer_vec_node *node = &f->code->node[id];
    for (uint32_t k = 0; k < 2; k++) find_loads(f, node->body[k]);
    if (is_wall(node)) near = far = 0;
    if (f->is_copied[id]) continue;
    if (!seer_vec_is_load(node) || node->buf == SEER_VEC_NO_BUF || f->same[id] != 0) continue;
    bool is_near = f->code->loop->buf[node->buf].storage == SEER_STORE_WORKGROUP;
    // One that is masked has its condition beside it.
    bool is_masked = node->op == SEER_VEC_LOAD_MASKED;
    *(is_near ? &near : &far) += registers_of(node) + is_masked;
    f->most.near = near > f->most.near ? near : f->most.near;
    f->most.far = far > f->most.far ? far : f->most.far;
  }
}

// ---- what is alive

static bool is_group(const finder *f, const seer_vec_node *pointer) {
  while (pointer->op == SEER_VEC_MOVE) pointer = at(f, pointer->arg[0]);
  return pointer->op == SEER_VEC_BUFFER &&
      f->code->loop->buf[pointer->buf].storage == SEER_STORE_WORKGROUP;
}

// Where the registers of a value, or of a variable, are counted; NULL: it has none.
static uint32_t *count_of(finder *f, uint32_t i, uint32_t *out_n) {
  const seer_vec_node *node = i < f->code->n ? &f->code->node[i] : NULL;
  *out_n = node ? 1 : f->width[i - f->code->n];
  if (!node) return &f->now.values;
  if (node->op == SEER_VEC_BUFFER || node->elem == SEER_VEC_I1 || f->is_copied[i]) return NULL;
  if (node->elem == SEER_VEC_PTR) {
    *out_n = is_group(f, node) ? 1 : 2;
    return &f->now.addresses;
  }
  if (node->elem == SEER_VEC_I64 && !seer_vec_is_load(node)) return &f->now.indices;
  *out_n = registers_of(node);
  return &f->now.values;
}

static void set(finder *f, bool *live, uint32_t i, bool is_live) {
  if (live[i] == is_live) return;
  live[i] = is_live;
  uint32_t n, *count = count_of(f, i, &n);
  if (count) *count = is_live ? *count + n : *count - n;
}

static uint32_t bytes_of(const seer_vec_node *slot) {
  return seer_vec_elem_bytes((seer_vec_elem)slot->of) * slot->lanes;
}

// The variable that an access means; 0: it is none.
static uint32_t variable_of(const finder *f, const seer_vec_node *access) {
  if (access->op != SEER_VEC_LOAD && access->op != SEER_VEC_STORE) return 0;
  seer_vec slot = access->arg[0];
  int64_t by = 0;
  if (at(f, slot)->op == SEER_VEC_MOVE) {
    if (!seer_vec_const_int(f->code, at(f, slot)->arg[1], &by)) return 0;
    by *= seer_vec_elem_bytes((seer_vec_elem)at(f, slot)->of);
    slot = at(f, slot)->arg[0];
  }
  const seer_vec_node *of = at(f, slot);
  return of->op == SEER_VEC_SLOT ? f->variable0[slot.i] + (uint32_t)by / bytes_of(of) : 0;
}

static void use(finder *f, bool *live, seer_vec v) {
  if (f->same[v.i] != 0) v.i = f->same[v.i];
  const seer_vec_node *node = at(f, v);
  int64_t by;
  switch ((int)node->op) {
    case SEER_VEC_CONST:
    case SEER_VEC_UNDEF:
    case SEER_VEC_SLOT:
      return;
    case SEER_VEC_EXTRACT:
      use(f, live, node->arg[0]);
      return;
    case SEER_VEC_INSERT:
      use(f, live, node->arg[0]);
      use(f, live, node->arg[1]);
      return;
    case SEER_VEC_MOVE:
      if (!seer_vec_const_int(f->code, node->arg[1], &by)) break;
      use(f, live, node->arg[0]);
      return;
    default:
      break;
  }
  f->is_used[v.i] = true;
  set(f, live, v.i, true);
}

static uint32_t sum_of(const seer_gpu_registers *r) {
  return r->values + r->indices + r->addresses;
}

static void note(finder *f) {
  if (f->counts && sum_of(&f->now) > sum_of(&f->most)) {
    f->most.values = f->now.values;
    f->most.indices = f->now.indices;
    f->most.addresses = f->now.addresses;
  }
}

static void pass_block(finder *f, seer_vec_block block, bool *live);

// As `live`, which is left as it is, becomes in front of the block.
static bool *passed(finder *f, seer_vec_block block, const bool *live) {
  const seer_gpu_registers now = f->now;
  bool *other = seer_arena_memdup(f->arena, live, f->n * sizeof(bool));
  pass_block(f, block, other);
  f->now = now;
  return other;
}

static void join(finder *f, bool *live, const bool *other) {
  for (uint32_t i = 1; i < f->n; i++)
    if (other[i]) set(f, live, i, true);
}

// Counters go on from turn to turn; the one that ends the loop is one that is used, if there is
// any.
static void use_counters(finder *f, seer_vec_block body, bool *live) {
  bool is_any = false;
  for (uint32_t id = body.first; id != 0; id = f->code->node[id].next) {
    if (f->code->node[id].op != SEER_VEC_COUNTER) break;
    uint32_t after = f->code->node[id].next;
    bool is_last = after == 0 || f->code->node[after].op != SEER_VEC_COUNTER;
    if (f->is_used[id] || (is_last && !is_any)) set(f, live, id, true);
    is_any |= f->is_used[id];
  }
}

// What a turn of a loop needs at its beginning, it needs at the end of the one before.
static void pass_loop(finder *f, const seer_vec_node *node, bool *live) {
  const bool counts = f->counts;
  f->counts = false;
  const bool *first = passed(f, node->body[0], live);
  f->counts = counts;
  join(f, live, first);
  use_counters(f, node->body[0], live);
  pass_block(f, node->body[0], live);
}

static void pass_node(finder *f, uint32_t id, bool *live) {
  const seer_vec_node *node = &f->code->node[id];
  uint32_t variable = variable_of(f, node);
  if (node->elem != SEER_VEC_VOID && !live[id]) return;  // nobody uses it, or it is another's
  note(f);
  if (node->elem != SEER_VEC_VOID) set(f, live, id, false);
  if (variable != 0) set(f, live, variable, node->op == SEER_VEC_LOAD);
  for (uint32_t k = 0; k < seer_vec_ops[node->op].n_args; k++) use(f, live, node->arg[k]);
  note(f);
}

static void pass_block(finder *f, seer_vec_block block, bool *live) {
  uint32_t n = 0;
  for (uint32_t id = block.first; id != 0; id = f->code->node[id].next) n++;
  uint32_t *order = SEER_NEW_ARRAY(f->arena, uint32_t, n + 1);
  n = 0;
  for (uint32_t id = block.first; id != 0; id = f->code->node[id].next) order[n++] = id;
  while (n-- > 0) {
    const seer_vec_node *node = &f->code->node[order[n]];
    if (node->op == SEER_VEC_LOOP) pass_loop(f, node, live);
    if (node->op == SEER_VEC_WHEN) {
      const bool *other = passed(f, node->body[1], live);
      pass_block(f, node->body[0], live);
      join(f, live, other);
    }
    pass_node(f, order[n], live);
  }
}

static uint32_t estimate(const seer_gpu_registers *r) {
  uint32_t near = r->near < MOST_NEAR ? r->near : MOST_NEAR;
  uint32_t quarters = BESIDES + PER_VALUE * r->values + PER_INDEX * r->indices +
      PER_ADDRESS * r->addresses + PER_NEAR * near;
  uint32_t of_far = BESIDES_FAR + r->addresses + r->far;
  return quarters / 4 > of_far ? quarters / 4 : of_far;
}

seer_gpu_registers seer_gpu_estimate_registers(const seer_vec_code *code, uint32_t phase) {
  seer_arena *arena = seer_arena_create("registers");
  const seer_vec_phase *p = &code->phase[phase];
  finder f = {.code = code,
      .arena = arena,
      .numbers = seer_numbers_find(code, &p->body, arena),
      .n = code->n,
      .variable0 = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .is_used = SEER_NEW_ARRAY(arena, bool, code->n),
      .is_copied = SEER_NEW_ARRAY(arena, bool, code->n),
      .same = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .known = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .loaded = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .scope = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .loads = SEER_NEW_ARRAY(arena, uint32_t, code->n),
      .counts = true};
  for (uint32_t k = 0; k < p->n_slot; k++) {
    f.variable0[p->slot[k].i] = f.n;
    f.n += (uint32_t)code->node[p->slot[k].i].imm;
  }
  f.width = SEER_NEW_ARRAY(arena, uint32_t, f.n - code->n + 1);
  for (uint32_t k = 0; k < p->n_slot; k++) {
    const seer_vec_node *slot = seer_vec_at(code, p->slot[k]);
    uint32_t first = f.variable0[p->slot[k].i] - code->n;
    for (uint32_t i = 0; i < (uint32_t)slot->imm; i++)
      f.width[first + i] = bytes_of(slot) <= 4 ? 1 : bytes_of(slot) / 4;
  }
  for (uint32_t i = 1; i < code->n; i++)
    if (code->node[i].op == SEER_VEC_COPY) f.is_copied[code->node[i].arg[1].i] = true;
  find_same(&f, p->body);
  find_loads(&f, p->body);
  pass_block(&f, p->body, SEER_NEW_ARRAY(arena, bool, f.n));
  f.most.estimate = estimate(&f.most);
  seer_arena_destroy(arena);
  return f.most;
}
