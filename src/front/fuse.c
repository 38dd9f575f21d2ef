// fuse.c - which nodes share one kernel.
// A group grows from an anchor (a convolution, a product, a reduction) over elementwise nodes of
// the anchor's shape that read it: nodes are added in topological order, and the group is cut back
// to the last point where only one value was still needed outside. So chains, residual additions
// and diamonds (x * sigmoid(x)) all join, a value that is needed elsewhere ends the group, and a
// group has one output. Since it has, running it where its last node stands is a valid order, and
// no cycle can arise. A group does not end on what only widens a narrow value if its reader can do
// that: what lies in memory between them is the narrow one. Elementwise and index-map nodes that
// nobody took join their only consumer as prologues; what is left forms groups of its own.
#include "front/fuse.h"

#include <stdlib.h>
#include <string.h>

#include "front/pass/pass.h"

enum { NO_GROUP = UINT32_MAX };

// Nodes that a group has left to their reader, which is to take them as prologues.
typedef struct {
  uint32_t n;
  uint32_t node[SEER_GROUP_MAX_NODES];
} tail;

typedef struct {
  const seer_graph *graph;
  seer_graph_uses uses;
  seer_group *group;
  size_t n_group;
  tail **left;  // by group; NULL: none
  seer_arena *arena;
  uint32_t *group_of;  // by node
  uint8_t *depth;  // by node: loops that it runs in; a group stays in one of them
} fuser;

static seer_fuse_kind kind_of(const fuser *f, uint32_t node) {
  return f->graph->node[node].op->fuse;
}

static uint32_t new_group(fuser *f, seer_step_kind kind, uint32_t node) {
  uint32_t g = (uint32_t)f->n_group++;
  f->group[g] = (seer_group){.kind = kind, .anchor = node, .n = 1, .node = {node}};
  f->group_of[node] = g;
  return g;
}

static bool same_dims(const seer_value *a, const seer_value *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

// Outputs of `node` that something uses.
static uint32_t used_outputs(const fuser *f, uint32_t node, seer_val *out_only) {
  const seer_node *n = &f->graph->node[node];
  uint32_t count = 0;
  for (uint32_t k = 0; k < n->n_out; k++) {
    seer_val v = n->out[k];
    if (v.i == 0) continue;
    bool is_used = f->graph->value[v.i].is_output || f->uses.first[v.i + 1] > f->uses.first[v.i];
    if (!is_used) continue;
    count++;
    *out_only = v;
  }
  return count;
}

static bool in_set(const uint32_t *set, uint32_t n, uint32_t node) {
  for (uint32_t k = 0; k < n; k++) {
    if (set[k] == node) return true;
  }
  return false;
}

// How many values of the set are needed outside it, counting to 2 at most; *out_open is the last
// one.
static uint32_t count_open(const fuser *f, const uint32_t *set, uint32_t n, seer_val *out_open) {
  uint32_t n_open = 0;
  for (uint32_t k = 0; k < n; k++) {
    const seer_node *node = &f->graph->node[set[k]];
    for (uint32_t i = 0; i < node->n_out; i++) {
      uint32_t v = node->out[i].i;
      if (v == 0) continue;
      bool is_open = f->graph->value[v].is_output;
      for (uint32_t u = f->uses.first[v]; !is_open && u < f->uses.first[v + 1]; u++) {
        is_open = !in_set(set, n, f->uses.node[u]);
      }
      if (!is_open) continue;
      *out_open = (seer_val){v};
      if (++n_open > 1) return n_open;
    }
  }
  return n_open;
}

static uint32_t n_operands(const fuser *f, const uint32_t *set, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < n; k++) count += f->graph->node[set[k]].n_in;
  return count;
}

// The next node after `after` that may join: elementwise, of shape `shape`, free, reading the set.
static uint32_t next_candidate(
    const fuser *f, const uint32_t *set, uint32_t n, uint32_t after, const seer_value *shape) {
  uint32_t best = UINT32_MAX;
  for (uint32_t k = 0; k < n; k++) {
    const seer_node *node = &f->graph->node[set[k]];
    for (uint32_t i = 0; i < node->n_out; i++) {
      uint32_t v = node->out[i].i;
      for (uint32_t u = v ? f->uses.first[v] : 0; v && u < f->uses.first[v + 1]; u++) {
        uint32_t c = f->uses.node[u];
        const seer_node *consumer = &f->graph->node[c];
        if (c >= best || c <= after || in_set(set, n, c) || f->group_of[c] != NO_GROUP) continue;
        if (kind_of(f, c) != SEER_FUSE_ELEMENTWISE || consumer->n_out != 1) continue;
        if (f->depth[c] != f->depth[set[0]]) continue;
        if (!same_dims(shape, &f->graph->value[consumer->out[0].i])) continue;
        // The operand that is read must not be broadcast: then elements are needed that this tile
        // does not have.
        if (!same_dims(shape, &f->graph->value[v])) continue;
        best = c;
      }
    }
  }
  return best;
}

// Elementwise, of one operand and constants.
static bool is_of_one(const seer_graph *graph, const seer_node *node) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < node->n_in; i++)
    n += node->in[i].i != 0 && !seer_node_constant(graph, node, i);
  return n == 1 && node->n_out == 1 && !seer_node_constant(graph, node, 0);
}

static bool is_cheap(const seer_node *node) {
  return node->op == &seer_op_add || node->op == &seer_op_sub || node->op == &seer_op_mul ||
      node->op == &seer_op_cast || node->op == &seer_op_dequantize_linear;
}

// Where the set of `n` is to end, of which `n_first` stay: in front of a widening, and of what is
// done to its result by constants, if all that is behind it is one reader that can take it.
static uint32_t end_of_narrow(const fuser *f, const uint32_t *set, uint32_t n_first, uint32_t n) {
  const seer_graph *graph = f->graph;
  seer_val out = graph->node[set[n - 1]].out[0];
  uint32_t reader = seer_pass_only_reader(graph, &f->uses, out), end = n;
  if (reader == 0 || f->depth[reader] != f->depth[set[0]] || graph->value[out.i].base.i) return n;
  if (!seer_pass_takes_prologue(graph, &graph->node[reader])) return n;
  uint32_t g = f->group_of[reader];
  if (g != NO_GROUP &&
      (f->group[g].kind != SEER_STEP_KERNEL || kind_of(f, f->group[g].anchor) == SEER_FUSE_OPAQUE))
    return n;
  for (uint32_t k = n; k > n_first; k--) {
    const seer_node *node = &graph->node[set[k - 1]];
    if (!is_of_one(graph, node) || !is_cheap(node)) break;
    if (graph->value[node->in[0].i].producer.i != set[k - 2] ||
        seer_pass_only_reader(graph, &f->uses, node->in[0]) != set[k - 1])
      break;
    if (seer_pass_widens(graph, node)) end = k - 1;
  }
  return end;
}

static void leave_tail(fuser *f, uint32_t g, const uint32_t *set, uint32_t n) {
  if (n == 0) return;
  f->left[g] = SEER_NEW(f->arena, tail);
  f->left[g]->n = n;
  memcpy(f->left[g]->node, set, n * sizeof *set);
}

static void grow(fuser *f, uint32_t g) {
  seer_group *group = &f->group[g];
  uint32_t set[SEER_GROUP_MAX_NODES], n = group->n, n_kept = n;
  memcpy(set, group->node, n * sizeof *set);
  const seer_node *last = &f->graph->node[set[n - 1]];
  const seer_value *shape = &f->graph->value[last->out[0].i];
  uint32_t after = set[n - 1];
  while (n < SEER_GROUP_MAX_NODES) {
    uint32_t c = next_candidate(f, set, n, after, shape);
    if (c == UINT32_MAX || n_operands(f, set, n) + f->graph->node[c].n_in > SEER_OP_KERNEL_IN)
      break;
    set[n++] = c;
    after = c;
    seer_val open;
    if (count_open(f, set, n, &open) == 1 && open.i == f->graph->node[c].out[0].i) n_kept = n;
  }
  uint32_t end = n_kept > 1 ? end_of_narrow(f, set, group->n, n_kept) : n_kept;
  leave_tail(f, g, set + end, n_kept - end);
  n_kept = end;
  for (uint32_t k = group->n; k < n_kept; k++) {
    group->node[k] = set[k];
    f->group_of[set[k]] = g;
  }
  group->n = n_kept;
}

// A prologue goes in front; nodes stay in topological order.
static void add_prologue(fuser *f, uint32_t g, uint32_t node) {
  seer_group *group = &f->group[g];
  uint32_t at = group->n++;
  for (; at > 0 && group->node[at - 1] > node; at--) {
    group->node[at] = group->node[at - 1];
    group->is_prologue[at] = group->is_prologue[at - 1];
  }
  group->node[at] = node;
  group->is_prologue[at] = true;
  f->group_of[node] = g;
}

// Nodes whose only reader is in a group join it. From the back, so that chains join link by link.
static void take_prologues(fuser *f) {
  for (uint32_t k = (uint32_t)f->graph->n_node; k-- > 1;) {
    const seer_node *node = &f->graph->node[k];
    if (f->group_of[k] != NO_GROUP || node->n_out != 1) continue;
    seer_fuse_kind kind = kind_of(f, k);
    bool is_joint = node->n_in > 1 && node->op->joins_parts;
    if ((kind != SEER_FUSE_ELEMENTWISE && kind != SEER_FUSE_INJECTIVE) || is_joint) continue;
    seer_val v = node->out[0];
    if (f->graph->value[v.i].is_output || f->uses.first[v.i + 1] == f->uses.first[v.i]) continue;
    uint32_t g = f->group_of[f->uses.node[f->uses.first[v.i]]];
    for (uint32_t u = f->uses.first[v.i]; u < f->uses.first[v.i + 1]; u++) {
      if (f->group_of[f->uses.node[u]] != g) g = NO_GROUP;
    }
    if (g == NO_GROUP || f->group[g].kind != SEER_STEP_KERNEL) continue;
    if (f->group[g].n == SEER_GROUP_MAX_NODES || f->depth[k] != f->depth[f->group[g].anchor])
      continue;
    if (kind_of(f, f->group[g].anchor) == SEER_FUSE_OPAQUE) continue;  // stands alone
    if (n_operands(f, f->group[g].node, f->group[g].n) + node->n_in > SEER_OP_KERNEL_IN) continue;
    // What it reads must not depend on the group itself: it does not, as the group's only output
    // comes last.
    add_prologue(f, g, k);
  }
}

// What the reader had no room for stays with what makes it.
static void take_back(fuser *f, uint32_t g) {
  const tail *left = f->left[g];
  seer_group *group = &f->group[g];
  if (!left || f->group_of[left->node[left->n - 1]] != NO_GROUP) return;
  for (uint32_t k = 0; k < left->n; k++) {
    group->node[group->n++] = left->node[k];
    f->group_of[left->node[k]] = g;
  }
}

// ---- views

// Values that are the same bytes share a root; a class may be bound to one pointer of the caller's
// at most.
static bool make_view(const fuser *f, uint32_t node, uint32_t *root, bool *has_io) {
  const seer_graph *graph = f->graph;
  const seer_node *n = &graph->node[node];
  if (!seer_pass_is_view(graph, n)) return false;
  uint32_t in = root[n->in[0].i], out = n->out[0].i;
  if (graph->value[in].constant) return false;
  if (graph->value[out].is_output && has_io[in]) return false;
  root[out] = in;
  has_io[in] |= graph->value[out].is_output;
  return true;
}

static void settle_inner_values(seer_graph *graph, const seer_group *group) {
  const seer_value *out = &graph->value[graph->node[group->node[group->n - 1]].out[0].i];
  for (uint32_t k = 0; k + 1 < group->n; k++) {
    const seer_node *node = &graph->node[group->node[k]];
    for (uint32_t i = 0; i < node->n_out; i++) {
      if (node->out[i].i == 0) continue;
      seer_value *value = &graph->value[node->out[i].i];
      SEER_ASSERT(value->base.i == 0, "'%s' is a part, and within a group", value->name);
      value->pitch = 0;
      if (group->is_prologue[k] || !same_dims(value, out)) continue;
      value->has_layout = out->has_layout;
      memcpy(value->order, out->order, sizeof value->order);
    }
  }
}

static int by_last_node(const void *a, const void *b) {
  const seer_group *x = a, *y = b;
  uint32_t i = x->node[x->n - 1], j = y->node[y->n - 1];
  return i < j ? -1 : i > j;
}

// ---- anchors

typedef struct {
  uint32_t group, depth, node;
} candidate;

static int deepest_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
  return x->node > y->node ? -1 : x->node < y->node;
}

// Where two anchors could take the same addition, the one at the end of the longer path does: in a
// residual block that is the main branch, so that blocks with and without a convolution in the
// shortcut are made of the same tasks.
static void grow_anchors(fuser *f, seer_arena *arena) {
  const seer_graph *graph = f->graph;
  uint32_t *depth = SEER_NEW_ARRAY(arena, uint32_t, graph->n_node);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    for (uint32_t i = 0; i < graph->node[k].n_in; i++) {
      uint32_t producer = graph->value[graph->node[k].in[i].i].producer.i;
      if (producer && depth[producer] >= depth[k]) depth[k] = depth[producer] + 1;
    }
  }
  candidate *order = SEER_NEW_ARRAY(arena, candidate, f->n_group);
  size_t n = 0;
  for (uint32_t g = 0; g < f->n_group; g++) {
    uint32_t anchor = f->group[g].anchor;
    seer_val only;
    bool can_grow = f->group[g].kind == SEER_STEP_KERNEL &&
        kind_of(f, anchor) != SEER_FUSE_OPAQUE && used_outputs(f, anchor, &only) == 1 &&
        only.i == graph->node[anchor].out[0].i;
    if (can_grow) order[n++] = (candidate){g, depth[anchor], anchor};
  }
  qsort(order, n, sizeof *order, deepest_first);
  for (size_t k = 0; k < n; k++) grow(f, order[k].group);
}

// What a loop's begin gives is read one loop deeper, and what its end gives one less deep.
uint8_t *seer_fuse_depths(const seer_graph *graph, seer_arena *arena) {
  uint8_t *found = SEER_NEW_ARRAY(arena, uint8_t, graph->n_node);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    for (uint32_t i = 0; i < node->n_in; i++) {
      uint32_t producer = graph->value[node->in[i].i].producer.i;
      if (node->in[i].i == 0 || producer == 0) continue;
      uint8_t depth = found[producer];
      if (graph->node[producer].op->control == SEER_CONTROL_LOOP_BEGIN) depth++;
      if (graph->node[producer].op->control == SEER_CONTROL_LOOP_END && depth > 0) depth--;
      if (depth > found[k]) found[k] = depth;
    }
  }
  return found;
}

seer_status seer_fuse_groups(
    const seer_graph *graph, seer_arena *arena, seer_group **out_groups, size_t *out_n) {
  fuser f = {.graph = graph, .uses = seer_graph_index_uses(graph, arena), .arena = arena};
  uint32_t n_node = (uint32_t)graph->n_node;
  f.group = SEER_NEW_ARRAY(arena, seer_group, n_node);
  f.group_of = SEER_NEW_ARRAY(arena, uint32_t, n_node);
  f.left = SEER_NEW_ARRAY(arena, tail *, n_node);
  uint32_t *root = SEER_NEW_ARRAY(arena, uint32_t, graph->n_value);
  bool *has_io = SEER_NEW_ARRAY(arena, bool, graph->n_value);
  for (uint32_t v = 0; v < graph->n_value; v++) {
    root[v] = v;
    has_io[v] = graph->value[v].is_input || graph->value[v].is_output;
  }
  for (uint32_t k = 1; k < n_node; k++) {
    const seer_node *node = &graph->node[k];
    f.group_of[k] = NO_GROUP;
    if (node->is_dead || !node->op)
      return SEER_FAIL(INTERNAL, "%s is dead or not resolved", node->name);
    if (node->n_in > SEER_OP_KERNEL_IN && !seer_op_is_for_runtime(node->op)) {
      return SEER_FAIL(UNSUPPORTED, "node '%s' (%s): %u inputs, at most %d are supported",
          node->name, node->op_type, node->n_in, SEER_OP_KERNEL_IN);
    }
  }
  f.depth = seer_fuse_depths(graph, arena);
  // Views first: they end groups on both sides.
  for (uint32_t k = 1; k < n_node; k++) {
    bool is_view = make_view(&f, k, root, has_io) || seer_pass_is_in_place(graph, &graph->node[k]);
    if (is_view || kind_of(&f, k) == SEER_FUSE_VIEW)
      new_group(&f, is_view ? SEER_STEP_VIEW : SEER_STEP_COPY, k);
  }
  for (uint32_t k = 1; k < n_node; k++) {
    seer_fuse_kind kind = kind_of(&f, k);
    if (f.group_of[k] != NO_GROUP) continue;
    if (seer_op_is_for_runtime(graph->node[k].op)) {
      new_group(&f, seer_step_kind_of_op(graph->node[k].op), k);
      continue;
    }
    // Where parts meet, what comes before joins it: index maps, and elementwise nodes too.
    bool is_anchor = kind == SEER_FUSE_ANCHOR || kind == SEER_FUSE_REDUCTION ||
        kind == SEER_FUSE_OPAQUE || graph->node[k].op->joins_parts;
    if (is_anchor) new_group(&f, SEER_STEP_KERNEL, k);
  }
  grow_anchors(&f, arena);
  take_prologues(&f);
  for (uint32_t g = 0; g < f.n_group; g++) take_back(&f, g);
  // What is left: elementwise chains and index maps for themselves.
  for (uint32_t k = 1; k < n_node; k++) {
    if (f.group_of[k] != NO_GROUP) continue;
    uint32_t g = new_group(&f, SEER_STEP_KERNEL, k);
    if (graph->node[k].n_out == 1) grow(&f, g);
  }
  qsort(f.group, f.n_group, sizeof *f.group, by_last_node);
  for (size_t g = 0; g < f.n_group; g++) {
    seer_group *group = &f.group[g];
    bool is_movement = group->kind == SEER_STEP_KERNEL && group->n == 1 &&
        graph->node[group->anchor].op->fuse == SEER_FUSE_INJECTIVE;
    if (is_movement) group->kind = SEER_STEP_COPY;
  }
  *out_groups = f.group;
  *out_n = f.n_group;
  return SEER_OK;
}

seer_status seer_fuse(const seer_context *context, seer_graph *graph, seer_arena *arena,
    seer_group **out_groups, size_t *out_n) {
  (void)context;
  SEER_TRY(seer_fuse_groups(graph, arena, out_groups, out_n));
  for (size_t g = 0; g < *out_n; g++) settle_inner_values(graph, &(*out_groups)[g]);
  return SEER_OK;
}
