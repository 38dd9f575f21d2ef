// vector_faults.c - see vector_faults.h.
#include "vector_faults.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define QUOTA 10  // each is found so often, at least
#define ROOM 8  // for instructions that a fault adds
#define TRIES 4  // to draw a place that is run

// ---- changing code

static seer_vec_node *at(seer_vec_code *code, uint32_t id) { return &code->node[id]; }

static uint32_t add_node(seer_vec_code *code, const seer_vec_node *node) {
  SEER_ASSERT(code->n < code->cap, "%u instructions", code->n);
  code->node[code->n] = *node;
  return code->n++;
}

static seer_vec constant(seer_vec_code *code, uint8_t elem, uint16_t lanes, uint64_t bits) {
  seer_vec_node node = {.op = SEER_VEC_CONST, .elem = elem, .lanes = lanes, .bits = bits};
  return (seer_vec){add_node(code, &node)};
}

// What says that `id` comes next: a block, or the instruction in front of it.
static uint32_t *link_to(seer_vec_code *code, uint32_t id) {
  for (uint32_t p = 0; p < code->n_phase; p++) {
    if (code->phase[p].body.first == id) return &code->phase[p].body.first;
  }
  for (uint32_t i = 1; i < code->n; i++) {
    seer_vec_node *node = at(code, i);
    bool is_const = node->op == SEER_VEC_CONST || node->op == SEER_VEC_UNDEF;
    if (node->next == id && !is_const && node->op != SEER_VEC_FILL) return &node->next;
    for (uint32_t k = 0; k < 2; k++) {
      if (node->body[k].first == id) return &node->body[k].first;
    }
  }
  fail_msg("instruction %u is nowhere", id);
  return NULL;
}

static seer_vec insert_before(seer_vec_code *code, uint32_t id, const seer_vec_node *node) {
  uint32_t *link = link_to(code, id);
  *link = add_node(code, node);
  at(code, *link)->next = id;
  return (seer_vec){*link};
}

// Its block's last instruction stays.
static void drop(seer_vec_code *code, uint32_t id) { *link_to(code, id) = at(code, id)->next; }

// ---- faults

static bool is_access(const seer_vec_node *node) {
  return node->op == SEER_VEC_LOAD || node->op == SEER_VEC_STORE ||
      node->op == SEER_VEC_LOAD_MASKED || node->op == SEER_VEC_STORE_MASKED;
}

static bool is_load(const seer_vec_code *code, const seer_vec_node *node) {
  (void)code;
  return (node->op == SEER_VEC_LOAD || node->op == SEER_VEC_LOAD_MASKED) &&
      node->buf != SEER_VEC_NO_BUF;
}

static bool load_beyond(seer_vec_code *code, uint32_t id) {
  seer_vec_node node = {.op = SEER_VEC_MOVE,
      .elem = SEER_VEC_PTR,
      .of = at(code, id)->elem,
      .lanes = 1,
      .arg = {at(code, id)->arg[0], constant(code, SEER_VEC_I64, 1, 1)}};
  at(code, id)->arg[0] = insert_before(code, id, &node);
  at(code, id)->align = (uint16_t)(seer_vec_elem_bits[at(code, id)->elem] / 8);
  return true;
}

static bool is_when(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_WHEN;
}

static bool swap_sides(seer_vec_code *code, uint32_t id) {
  seer_vec_node *node = at(code, id);
  seer_vec_block first = node->body[0];
  node->body[0] = node->body[1];
  node->body[1] = first;
  return true;
}

static bool always_first_side(seer_vec_code *code, uint32_t id) {
  at(code, id)->arg[0] = constant(code, SEER_VEC_I1, 1, 1);
  return true;
}

static bool is_masked(const seer_vec_code *code, const seer_vec_node *node) {
  (void)code;
  return node->op == SEER_VEC_LOAD_MASKED || node->op == SEER_VEC_STORE_MASKED;
}

static bool all_lanes(seer_vec_code *code, uint32_t id) {
  seer_vec *mask = &at(code, id)->arg[at(code, id)->op == SEER_VEC_LOAD_MASKED ? 1 : 2];
  *mask = constant(code, SEER_VEC_I1, at(code, mask->i)->lanes, 1);
  return true;
}

static bool is_guard(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_SELECT && node->elem == SEER_VEC_PTR;
}

static bool is_choice(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_SELECT && node->elem != SEER_VEC_PTR;
}

static bool other_choice(seer_vec_code *code, uint32_t id) {
  seer_vec_node *node = at(code, id);
  seer_vec yes = node->arg[1];
  node->arg[1] = node->arg[2];
  node->arg[2] = yes;
  return yes.i != node->arg[1].i;
}

static bool is_loop(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_LOOP;
}

static bool once_more(seer_vec_code *code, uint32_t id) {
  seer_vec_node node = {.op = SEER_VEC_ADD_INDEX,
      .elem = SEER_VEC_I64,
      .lanes = 1,
      .arg = {at(code, id)->arg[0], constant(code, SEER_VEC_I64, 1, 1)}};
  at(code, id)->arg[0] = insert_before(code, id, &node);
  return true;
}

static bool once_less(seer_vec_code *code, uint32_t id) {
  seer_vec_node node = {.op = SEER_VEC_SUB_INDEX,
      .elem = SEER_VEC_I64,
      .lanes = 1,
      .arg = {at(code, id)->arg[0], constant(code, SEER_VEC_I64, 1, 1)}};
  at(code, id)->arg[0] = insert_before(code, id, &node);
  return true;
}

static bool is_stride(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_COUNTER && node->imm != 1;
}

static bool is_counter(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_COUNTER && node->imm == 1;
}

static bool double_step(seer_vec_code *code, uint32_t id) {
  at(code, id)->imm *= 2;
  return true;
}

static bool is_slot_store(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_STORE && node->buf == SEER_VEC_NO_BUF && node->next != 0;
}

static bool is_store(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code,
         (node->op == SEER_VEC_STORE || node->op == SEER_VEC_STORE_MASKED) &&
             node->buf != SEER_VEC_NO_BUF;
}

static bool is_output(const seer_vec_code *code, const seer_vec_node *node) {
  return is_store(code, node) && node->next != 0 &&
      code->loop->buf[node->buf].storage != SEER_STORE_LOCAL;
}

static bool leave_out(seer_vec_code *code, uint32_t id) {
  drop(code, id);
  return true;
}

static bool is_start(const seer_vec_code *code, const seer_vec_node *node) {
  return is_slot_store(code, node) && seer_vec_is_const(code, node->arg[1]);
}

static bool other_start(seer_vec_code *code, uint32_t id) {
  const seer_vec_node *old = at(code, at(code, id)->arg[1].i);
  float single = 4096;
  double real = 4096;
  uint64_t bits = old->bits ^ 5;
  if (old->elem == SEER_VEC_F32) memcpy(&bits, &single, sizeof(single));
  if (old->elem == SEER_VEC_F64) memcpy(&bits, &real, sizeof(real));
  at(code, id)->arg[1] = constant(code, old->elem, old->lanes, bits);
  return true;
}

static bool is_aligned(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, is_access(node) && node->align != 0 && node->buf != SEER_VEC_NO_BUF;
}

static bool more_aligned(seer_vec_code *code, uint32_t id) {
  at(code, id)->align = (uint16_t)(at(code, id)->align * 2);
  return true;
}

static bool odd_align(seer_vec_code *code, uint32_t id) {
  at(code, id)->align = (uint16_t)(at(code, id)->align + 1);
  return at(code, id)->align > 2;
}

static bool is_stored_to(const seer_vec_code *code, const seer_vec_node *node) {
  if (!is_load(code, node) || node->is_invariant) return false;
  seer_loop_storage storage = code->loop->buf[node->buf].storage;
  return storage != SEER_STORE_INPUT && storage != SEER_STORE_PACKED;
}

static bool say_invariant(seer_vec_code *code, uint32_t id) {
  at(code, id)->is_invariant = true;
  for (uint32_t i = 1; i < code->n; i++) {  // a fence may be why it does not say so
    if (is_store(code, at(code, i)) && at(code, i)->buf == at(code, id)->buf) return true;
  }
  return false;
}

static bool to_other_buffer(seer_vec_code *code, uint32_t id) {
  for (uint32_t i = 1; i < id; i++) {
    if (at(code, i)->op != SEER_VEC_BUFFER || at(code, i)->buf == at(code, id)->buf) continue;
    at(code, id)->arg[0] = (seer_vec){i};
    return true;
  }
  return false;
}

static bool is_moved(const seer_vec_code *code, const seer_vec_node *node) {
  return node->op == SEER_VEC_MOVE && seer_vec_is_const(code, node->arg[1]);
}

static bool move_further(seer_vec_code *code, uint32_t id) {
  const seer_vec_node *by = at(code, at(code, id)->arg[1].i);
  at(code, id)->arg[1] = constant(code, SEER_VEC_I64, 1, by->bits + 1);
  return true;
}

static bool is_sum(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_FADD || node->op == SEER_VEC_FMULADD;
}

static bool no_sum(seer_vec_code *code, uint32_t id) {
  seer_vec_node *node = at(code, id);
  if (node->op == SEER_VEC_FADD) {
    node->op = SEER_VEC_FSUB;
  } else {
    node->op = SEER_VEC_FMUL;  // without the sum so far
  }
  return true;
}

static bool is_compared(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_SLT || node->op == SEER_VEC_SGT;
}

static bool or_equal(seer_vec_code *code, uint32_t id) {
  at(code, id)->op = at(code, id)->op == SEER_VEC_SLT ? SEER_VEC_SLE : SEER_VEC_SGE;
  return true;
}

static bool is_lane(const seer_vec_code *code, const seer_vec_node *node) {
  return (node->op == SEER_VEC_INSERT || node->op == SEER_VEC_EXTRACT) &&
      seer_vec_at(code, node->arg[0])->lanes > 1;
}

static bool other_lane(seer_vec_code *code, uint32_t id) {
  seer_vec_node *node = at(code, id);
  node->imm = (node->imm + 1) % at(code, node->arg[0].i)->lanes;
  return true;
}

static bool is_shuffle(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_SHUFFLE;
}

static bool other_order(seer_vec_code *code, uint32_t id) {
  const seer_vec_order *order = &code->order[at(code, id)->imm];
  uint16_t lane[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < order->n; l++)
    lane[l] = (uint16_t)((order->lane[l] + 1u) % (2 * order->n));
  code->order =
      SEER_GROW(code->arena, seer_vec_order, code->order, code->n_order, &(size_t){code->n_order});
  code->order[code->n_order] = (seer_vec_order){.n = order->n};
  code->order[code->n_order].lane = seer_arena_memdup(code->arena, lane, sizeof(lane));
  at(code, id)->imm = code->n_order++;
  return true;
}

static bool has_user_next(const seer_vec_code *code, const seer_vec_node *node) {
  const seer_vec_node *next = &code->node[node->next];
  uint32_t id = (uint32_t)(node - code->node);
  bool uses = false;
  for (uint32_t k = 0; k < seer_vec_ops[next->op].n_args; k++) uses |= next->arg[k].i == id;
  return node->next != 0 && uses && next->next != 0 && node->op != SEER_VEC_COUNTER;
}

static bool behind_its_use(seer_vec_code *code, uint32_t id) {
  uint32_t next = at(code, id)->next;
  *link_to(code, id) = next;
  at(code, id)->next = at(code, next)->next;
  at(code, next)->next = id;
  return true;
}

static bool is_leave(const seer_vec_code *code, const seer_vec_node *node) {
  return (void)code, node->op == SEER_VEC_LEAVE_UNLESS && node->next != 0;
}

static const struct {
  const char *name;
  bool (*is_place)(const seer_vec_code *code, const seer_vec_node *node);
  bool (*plant)(seer_vec_code *code, uint32_t id);
  double share;  // at least so many of those planted are found
} faults[] = {
    {"a load one element further", is_load, load_beyond, 0.6},
    {"a WHEN's sides swapped", is_when, swap_sides, 0.85},
    {"a WHEN's first side always", is_when, always_first_side, 0.8},
    {"a mask of all lanes", is_masked, all_lanes, 0.4},
    {"a guard's pointers swapped", is_guard, other_choice, 0.75},
    {"a choice's values swapped", is_choice, other_choice, 0.65},
    {"a loop once more", is_loop, once_more, 0.8},
    {"a loop once less", is_loop, once_less, 0.8},
    {"a stride doubled", is_stride, double_step, 0.85},
    {"a counter doubled", is_counter, double_step, 1},
    {"a slot's store left out", is_slot_store, leave_out, 0.7},
    {"a buffer's store left out", is_output, leave_out, 0.8},
    {"another identity", is_start, other_start, 0.8},
    {"twice the alignment", is_aligned, more_aligned, 0.85},
    {"an odd alignment", is_aligned, odd_align, 1},
    {"invariant, and stored to", is_stored_to, say_invariant, 0.9},
    {"a store to another buffer", is_store, to_other_buffer, 1},
    {"a pointer moved further", is_moved, move_further, 0.7},
    {"no sum", is_sum, no_sum, 0.6},
    {"less or equal", is_compared, or_equal, 0.4},
    {"another lane", is_lane, other_lane, 0.6},
    {"another order of lanes", is_shuffle, other_order, 0.6},
    {"behind its use", has_user_next, behind_its_use, 1},
    {"parts beyond their bound", is_leave, leave_out, 0.7},
};

// ---- planting

struct vector_fault_tally {
  uint64_t n[SEER_COUNT_OF(faults)][VECTOR_FAULT_FOUND_COUNT];
};

vector_fault_tally *vector_fault_tally_create(seer_arena *arena) {
  return SEER_NEW(arena, vector_fault_tally);
}

// Those in blocks; what is not, is no place for a fault.
static uint32_t places(const seer_vec_code *code, seer_vec_block block,
    bool (*is_place)(const seer_vec_code *, const seer_vec_node *), uint32_t *out, uint32_t n) {
  for (uint32_t id = block.first; id != 0; id = code->node[id].next) {
    const seer_vec_node *node = &code->node[id];
    if (is_place(code, node)) out[n++] = id;
    for (uint32_t k = 0; k < 2; k++) n = places(code, node->body[k], is_place, out, n);
  }
  return n;
}

static seer_vec_code *copy_of(const seer_vec_code *code, seer_arena *arena) {
  seer_vec_code *copy = seer_arena_memdup(arena, code, sizeof(*code));
  copy->node = SEER_NEW_ARRAY(arena, seer_vec_node, code->n + ROOM);
  memcpy(copy->node, code->node, code->n * sizeof(seer_vec_node));
  copy->cap = code->n + ROOM;
  return copy;
}

typedef vector_fault_found (*finder)(void *user, const seer_vec_code *code, seer_arena *arena);

// Control gets there: a division by 0 in front of it is found.
static bool is_run(const seer_vec_code *code, uint32_t id, finder find, void *user) {
  seer_arena *arena = seer_arena_create("probe");
  seer_vec_code *copy = copy_of(code, arena);
  while (id != 0 && at(copy, id)->op == SEER_VEC_COUNTER) id = at(copy, id)->next;
  if (id != 0) {
    seer_vec zero = constant(copy, SEER_VEC_I64, 1, 0);
    seer_vec_node node = {
        .op = SEER_VEC_UDIV, .elem = SEER_VEC_I64, .lanes = 1, .arg = {zero, zero}};
    insert_before(copy, id, &node);
  }
  vector_fault_found found = find(user, copy, arena);
  seer_arena_destroy(arena);
  return found == VECTOR_FAULT_EVAL;
}

void vector_faults_plant(
    vector_fault_tally *tally, const seer_vec_code *code, uint64_t seed, finder find, void *user) {
  seer_arena *arena = seer_arena_create("faults");
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    seer_arena_reset(arena);
    uint32_t *place = SEER_NEW_ARRAY(arena, uint32_t, code->n), n = 0, id = 0;
    for (uint32_t p = 0; p < code->n_phase; p++)
      n = places(code, code->phase[p].body, faults[k].is_place, place, n);
    for (uint32_t t = 0; t < TRIES && n > 0 && id == 0; t++) {
      uint32_t some = place[seer_rng_below(&rng, n)];
      if (is_run(code, some, find, user)) id = some;
    }
    if (id == 0) continue;
    seer_vec_code *copy = copy_of(code, arena);
    if (faults[k].plant(copy, id)) tally->n[k][find(user, copy, arena)]++;
  }
  seer_arena_destroy(arena);
}

static uint64_t n_found(const vector_fault_tally *tally, size_t k) {
  const uint64_t *n = tally->n[k];
  return n[VECTOR_FAULT_VERIFY] + n[VECTOR_FAULT_EVAL] + n[VECTOR_FAULT_ANSWER];
}

bool vector_faults_lack(const vector_fault_tally *tally) {
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    if (n_found(tally, k) < QUOTA) return true;
  }
  return false;
}

void vector_faults_check(const vector_fault_tally *tally) {
  print_message("planted  found  verifier  interpreter  answer\n");
  bool is_enough = !vector_faults_lack(tally);
  for (size_t k = 0; k < SEER_COUNT_OF(faults); k++) {
    const uint64_t *n = tally->n[k];
    uint64_t found = n_found(tally, k), planted = found + n[VECTOR_FAULT_NOT_FOUND];
    print_message("%7" PRIu64 " %5.1f%% %9" PRIu64 " %12" PRIu64 " %7" PRIu64 "  %s\n", planted,
        planted ? 100.0 * (double)found / (double)planted : 0, n[VECTOR_FAULT_VERIFY],
        n[VECTOR_FAULT_EVAL], n[VECTOR_FAULT_ANSWER], faults[k].name);
    is_enough &= (double)found >= faults[k].share * (double)planted;
  }
  assert_true(is_enough);
}
