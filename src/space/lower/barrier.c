// barrier.c - where a block's items wait for each other. A nest that touches WORKGROUP memory
// which another one has written since the last barrier, or writes what another one has read, must
// wait for it. The walk carries what has been touched; a serial loop's end is followed by its
// beginning, so that a barrier may be needed there as well. Where a buffer has two halves (ahead.c)
// a loop over steps begins with a barrier that is there already; the half that is fetched for the
// next step is another one than what this step reads, and at the loop's end they change places.
#include "space/lower/lower.h"

// Since the last barrier, by buffer of the loop (of those that have a bit).
#define MAX_BUFFERS 64
typedef struct {
  uint64_t read, written;
} accesses;
typedef struct {
  // Of what has two halves: the one that a step reads, and the next step's.
  accesses here, next;
} touched;

typedef struct {
  seer_lower *lower;
  touched since;
  // What is touched from the beginning of the loop in hand up to its first barrier.
  touched before_first;
  bool has_barrier;
  bool is_step;  // the loop's body is a step, whose fetches are for the next one
} walk;

static uint64_t bit_of(const seer_lower *lower, uint32_t buf) {
  if (lower->loop->buf[buf].storage != SEER_STORE_WORKGROUP) return 0;
  SEER_ASSERT(buf < MAX_BUFFERS, "buffer %u of a block program", buf);
  return (uint64_t)1 << buf;
}

typedef struct {
  const seer_lower *lower;
  accesses *out;
} collector;

static void note_load(void *user, seer_expr e) {
  const collector *c = user;
  const seer_expr_node *node = seer_expr_at(&c->lower->loop->expr, e);
  if (node->op == SEER_EXPR_LOAD) c->out->read |= bit_of(c->lower, node->ref);
}

// All that a nest touches.
static void collect(const seer_lower *lower, uint32_t block, accesses *out) {
  collector c = {lower, out};
  for (uint32_t id = block; id != 0; id = lower->loop->node[id].next) {
    const seer_loop_node *node = &lower->loop->node[id];
    if (node->kind == SEER_NODE_FOR) collect(lower, node->body, out);
    if (node->kind != SEER_NODE_STORE) continue;
    for (uint32_t v = 0; v < node->n_values; v++) {
      out->written |= bit_of(lower, node->buf[v]);
      if (node->combiner != SEER_COMBINE_NONE) out->read |= bit_of(lower, node->buf[v]);
      seer_expr_visit(&lower->loop->expr, node->value[v], note_load, &c);
    }
  }
}

static bool meet(const accesses *before, const accesses *after) {
  return ((before->read | before->written) & after->written) || (before->written & after->read);
}
static bool must_wait(const touched *before, const touched *after) {
  return meet(&before->here, &after->here) || meet(&before->next, &after->next);
}

static void add(touched *to, const touched *more) {
  to->here.read |= more->here.read;
  to->here.written |= more->here.written;
  to->next.read |= more->next.read;
  to->next.written |= more->next.written;
}

static void pass_barrier(walk *w) {
  w->since = (touched){0};
  w->has_barrier = true;
}

static uint32_t make_barrier(walk *w) {
  pass_barrier(w);
  return seer_loop_add_node(w->lower->loop, &(seer_loop_node){.kind = SEER_NODE_BARRIER});
}

static void exchange(uint64_t *x, uint64_t *y, uint64_t bits) {
  uint64_t differ = (*x ^ *y) & bits;
  *x ^= differ;
  *y ^= differ;
}

// What was the next step is this one.
static void change_halves(const seer_lower *lower, touched *since) {
  uint64_t halved = 0;
  for (uint32_t b = 0; b < lower->loop->n_buf; b++)
    if (lower->loop->buf[b].is_late) halved |= bit_of(lower, b);
  exchange(&since->here.read, &since->next.read, halved);
  exchange(&since->here.written, &since->next.written, halved);
}

static void walk_block(walk *w, uint32_t *inout_first);

// A serial loop: once through its body, then what its end and its beginning do to each other.
static void walk_loop(walk *w, uint32_t id) {
  walk inner = {.lower = w->lower, .since = w->since};
  uint32_t first = w->lower->loop->node[id].body;
  inner.is_step = first != 0 && w->lower->loop->node[first].kind == SEER_NODE_BARRIER;
  walk_block(&inner, &first);
  if (inner.is_step) change_halves(w->lower, &inner.since);
  if (must_wait(&inner.since, &inner.before_first)) {
    uint32_t last = first;
    while (w->lower->loop->node[last].next != 0) last = w->lower->loop->node[last].next;
    uint32_t barrier = make_barrier(&inner);
    w->lower->loop->node[last].next = barrier;
  }
  w->lower->loop->node[id].body = first;
  if (!w->has_barrier) add(&w->before_first, &inner.before_first);
  bool may_be_empty = w->lower->loop->node[id].bound.i != 0;
  if (may_be_empty)
    add(&inner.since, &w->since);
  else
    w->has_barrier |= inner.has_barrier;
  w->since = inner.since;
}

static void walk_block(walk *w, uint32_t *inout_first) {
  uint32_t before = 0;
  for (uint32_t id = *inout_first; id != 0; before = id, id = w->lower->loop->node[id].next) {
    const seer_loop_node *node = &w->lower->loop->node[id];
    if (node->kind == SEER_NODE_BARRIER) pass_barrier(w);
    if (node->kind != SEER_NODE_FOR) continue;
    // The steps of what is fetched make each element once: they need not wait for each other.
    bool is_nest = node->ann == SEER_LOOP_THREAD || seer_lower_is_fetch(w->lower, node->stage);
    if (!is_nest) {
      walk_loop(w, id);
      continue;
    }
    touched mine = {0};
    bool is_next = w->is_step && seer_lower_is_fetch(w->lower, node->stage);
    collect(w->lower, node->body, is_next ? &mine.next : &mine.here);
    if (must_wait(&w->since, &mine)) {
      uint32_t barrier = make_barrier(w);
      w->lower->loop->node[barrier].next = id;
      if (before != 0)
        w->lower->loop->node[before].next = barrier;
      else
        *inout_first = barrier;
    }
    if (!w->has_barrier) add(&w->before_first, &mine);
    add(&w->since, &mine);
  }
}

void seer_lower_barriers(seer_lower *lower, uint32_t phase) {
  walk w = {.lower = lower};
  // The grid is outermost, and blocks know nothing of each other.
  uint32_t id = phase;
  while (id != 0 && lower->loop->node[id].kind == SEER_NODE_FOR &&
      lower->loop->node[id].ann == SEER_LOOP_PARALLEL)
    id = lower->loop->node[id].body;
  uint32_t first = id;
  walk_block(&w, &first);
  SEER_ASSERT(first == id, "phase %u: a block program begins with a barrier", phase);
}
