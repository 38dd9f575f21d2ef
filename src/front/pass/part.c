// part.c - Concat, Split and Slice that move nothing: one side is part of the other's memory.
// The parts of a Concat are written where the whole has them, and what Split and Slice give is read
// where it lies, if an offset and the whole's pitch can say so: cut along the physically last
// dimension (rows lie at the whole's pitch), or along an outer one behind which nothing is further
// out.
//
//   whole, channels last, pitch 96     a: 64 channels at 0        b: 32 channels at 64
//   |a a a a|b b| |a a a a|b b| ...    its rows at pitch 96       its rows at pitch 96
//
// A part may be a whole itself, so that chains (DenseNet: each concat begins with the one before)
// have one memory: wholes are looked at from the last one on, and always know where they lie
// themselves. What is a view of a part goes with it.
// A part must be made whole by a kernel of ours and read by kernels only, as those know pitches; it
// must not be the caller's, a constant, or another whole's part already. What fails is copied by
// itself. Accesses of several elements count on where a part begins: at a multiple of as many bytes
// as the target's code wants (align_for). A Concat is left as it is if that would not move less
// than what fuse.c makes of it: what only a Concat reads is computed in its kernel, and what
// follows it may be, too. requires: sorted, resolved, laid out. provides: seer_value.base, offset,
// pitch.
#include <string.h>

#include "base/roots.h"
#include "front/fuse.h"
#include "front/pass/pass.h"
#include "runtime/plan.h"

typedef struct {
  seer_graph *graph;
  seer_arena *scratch;
  seer_graph_uses uses;
  const seer_group *group;  // that fuse.c makes while nothing is a part
  uint32_t *group_of;  // by node; those that are added have none
  uint32_t *alike;  // by value: the next one of a ring that views make one memory
  uint32_t *root;  // by value: one of its ring
  uint32_t *taken_by;  // by root: the last node that wants the ring as its part
  bool *is_size;  // by value
  int64_t align;  // parts begin at multiples of so many bytes
  uint32_t n_known, n_ring;  // nodes and values that these know
} parter;

// ---- where a part lies

// In elements of `whole`, which begins at 0. out_pitch: 0 where rows follow each other.
static bool locate(const seer_value *whole, const seer_value *part, const int64_t *start,
    int64_t *out_offset, int64_t *out_pitch) {
  uint8_t order[SEER_MAX_RANK], own[SEER_MAX_RANK];
  uint32_t rank = whole->rank;
  if (rank == 0 || part->rank != rank || part->dtype != whole->dtype) return false;
  seer_pass_order(whole, order);
  seer_pass_order(part, own);
  if (memcmp(order, own, rank) != 0) return false;
  uint32_t outermost = 0;
  while (outermost + 1 < rank && whole->dim[order[outermost]] == 1) outermost++;
  int64_t pitch = seer_value_pitch(whole), stride = 1;
  *out_offset = 0;
  for (uint32_t k = rank; k-- > 0;) {
    uint32_t d = order[k];
    bool is_whole = part->dim[d] == whole->dim[d];
    if (!is_whole && k + 1 != rank && k > outermost) return false;
    if (start[d] < 0 || start[d] > whole->dim[d] - part->dim[d]) return false;
    *out_offset += start[d] * stride;
    stride = k + 1 == rank ? pitch : stride * whole->dim[d];
  }
  bool has_rows = seer_value_elems(part) > seer_value_row(part);
  *out_pitch = has_rows && pitch != seer_value_row(part) ? pitch : 0;
  return true;
}

typedef struct {
  seer_val base;
  int64_t offset, pitch;
} part_place;

// What a node joins, or gives: n_parts of them, in one whole.
static uint32_t n_parts(const seer_node *node) {
  return node->op->joins_parts ? node->n_in : node->n_out;
}
static seer_val part_of(const seer_node *node, uint32_t k) {
  return node->op->joins_parts ? node->in[k] : node->out[k];
}
static seer_val whole_of(const seer_node *node) {
  return node->op->joins_parts ? node->out[0] : node->in[0];
}

// Of a target's code: the runtime asks for no more than an element, items of a GPU may read and
// write 16 bytes at a time. (None: a graph alone, as tests have it.)
static int64_t align_for(const seer_target *target) {
  bool has_items = target && target->kind != SEER_TARGET_CPU;
  return has_items ? SEER_TARGET_ITEMS_ALIGN : SEER_PLAN_PART_ALIGN;
}

// Part k of `node`, as `part` has it, within what its whole is part of. `align` in bytes.
static bool place_as(const seer_graph *graph, int64_t align, const seer_node *node, uint32_t k,
    const seer_value *part, part_place *out_place) {
  int64_t start[SEER_MAX_RANK];
  seer_val whole = whole_of(node);
  const seer_value *of = seer_graph_value(graph, whole);
  if (!node->op->part_start(graph, node, k, start) ||
      !locate(of, part, start, &out_place->offset, &out_place->pitch))
    return false;
  out_place->base = of->base.i ? of->base : whole;
  out_place->offset += of->base.i ? of->offset : 0;
  return out_place->offset * seer_dtype_bytes(of->dtype) % align == 0;
}

static bool place_in(const parter *p, const seer_node *node, uint32_t k, part_place *out_place) {
  const seer_value *part = seer_graph_value(p->graph, part_of(node, k));
  return place_as(p->graph, p->align, node, k, part, out_place);
}

bool seer_pass_is_in_place(const seer_graph *graph, const seer_node *node) {
  if (node->is_dead || !node->op || !node->op->part_start || node->in[0].i == 0) return false;
  uint32_t n_placed = 0;
  for (uint32_t k = 0; k < n_parts(node); k++) {
    seer_val v = part_of(node, k);
    part_place place;
    if (v.i == 0) continue;
    const seer_value *part = seer_graph_value(graph, v);
    if (part->base.i == 0 || !place_as(graph, SEER_PLAN_PART_ALIGN, node, k, part, &place))
      return false;
    if (part->base.i != place.base.i || part->offset != place.offset || part->pitch != place.pitch)
      return false;
    n_placed++;
  }
  return n_placed > 0;
}

// ---- what may be part, and what may have parts

// A kernel of ours, which knows pitches.
static bool is_kernel(const parter *p, uint32_t node) {
  const seer_op_desc *op = p->graph->node[node].op;
  return node != 0 && !seer_op_is_for_runtime(op);
}

static bool may_be_part(const parter *p, uint32_t v) {
  const seer_value *value = &p->graph->value[v];
  bool may_be = is_kernel(p, value->producer.i) && !value->is_input && !value->is_output &&
      !value->constant && value->base.i == 0 && !p->is_size[v];
  for (uint32_t u = p->uses.first[v]; may_be && u < p->uses.first[v + 1]; u++)
    may_be = is_kernel(p, p->uses.node[u]);
  return may_be;
}

// All of v's ring can lie with rows at `pitch` (0: one after another). Views keep rows, then.
static bool can_place(const parter *p, seer_val v, int64_t pitch) {
  uint32_t m = v.i;
  int64_t row = seer_value_row(seer_graph_value(p->graph, v));
  do {
    if (!may_be_part(p, m) || (pitch && seer_value_row(&p->graph->value[m]) != row)) return false;
    m = p->alike[m];
  } while (m != v.i);
  return true;
}

static void set_place(const parter *p, seer_val v, const part_place *place) {
  uint32_t m = v.i;
  do {
    seer_value *value = &p->graph->value[m];
    value->base = place->base;
    value->offset = place->offset;
    value->pitch = place->pitch;
    m = m < p->n_ring ? p->alike[m] : m;  // what was added is nobody's view
  } while (m != v.i);
}

static bool is_control(const parter *p, uint32_t node) {
  return p->graph->node[node].op && p->graph->node[node].op->control != SEER_CONTROL_NONE;
}

// The memory is ours alone: the caller, a loop and a branch want theirs where they say.
static bool may_be_whole(const parter *p, seer_val v) {
  uint32_t m = v.i;
  do {
    const seer_value *value = &p->graph->value[m];
    if (value->is_input || value->is_output || value->constant || p->is_size[m]) return false;
    if (value->producer.i == 0 || is_control(p, value->producer.i)) return false;
    for (uint32_t u = p->uses.first[m]; u < p->uses.first[m + 1]; u++)
      if (is_control(p, p->uses.node[u])) return false;
    m = p->alike[m];
  } while (m != v.i);
  return true;
}

// ---- copies of what cannot be part

// Another value like `of`, in the order of `as`.
static seer_val add_value(parter *p, seer_val of, seer_val as) {
  seer_graph *graph = p->graph;
  const seer_value from = *seer_graph_value(graph, of), ordered = *seer_graph_value(graph, as);
  const char *name =
      seer_graph_fresh_name(graph, seer_arena_printf(graph->arena, "%s.part", from.name));
  seer_val v = seer_graph_add_value(graph, name, from.dtype, from.dim, from.rank);
  seer_value *value = seer_graph_value(graph, v);
  value->has_layout = ordered.has_layout;
  memcpy(value->order, ordered.order, sizeof value->order);
  memcpy(value->size, from.size, sizeof value->size);
  return v;
}

static void add_copy(parter *p, seer_val from, seer_val to) {
  enum { OPSET = 13 };
  const char *name =
      seer_arena_printf(p->graph->arena, "%s.copy", seer_graph_value(p->graph, from)->name);
  seer_node_id id =
      seer_graph_add_node(p->graph, name, "", "Identity", OPSET, &from, 1, &to, 1, NULL, 0);
  seer_graph_node(p->graph, id)->op = seer_op_find("", "Identity", OPSET);
}

// Part k of `node` gets its place, or is copied there (from there).
static void settle_part(parter *p, uint32_t node, uint32_t k, bool fits) {
  bool is_joined = p->graph->node[node].op->joins_parts;
  seer_node *n = &p->graph->node[node];
  seer_val v = part_of(n, k), part = v;
  part_place place;
  if (!fits) {
    part = add_value(p, v, whole_of(n));
    n = &p->graph->node[node];
    if (is_joined) {
      n->in[k] = part;
      add_copy(p, v, part);
    } else {
      n->out[k] = part;
      add_copy(p, part, v);
      seer_graph_value(p->graph, part)->producer = (seer_node_id){node};
    }
  }
  bool has_place = place_in(p, &p->graph->node[node], k, &place);
  SEER_ASSERT(has_place, "'%s': part %u has no place", p->graph->node[node].name, k);
  set_place(p, part, &place);
}

// All parts have places, if they come in the order of the whole.
static bool has_places(const parter *p, const seer_node *node) {
  const seer_value *of = seer_graph_value(p->graph, whole_of(node));
  for (uint32_t k = 0; k < n_parts(node); k++) {
    part_place place;
    if (part_of(node, k).i == 0) continue;
    seer_value part = *seer_graph_value(p->graph, part_of(node, k));
    part.has_layout = of->has_layout;
    memcpy(part.order, of->order, sizeof part.order);
    if (part.constant || !place_as(p->graph, p->align, node, k, &part, &place)) return false;
  }
  return true;
}

// ---- Split, Slice

// It would be a kernel of its own, or with others: what joins a kernel on its way in costs nothing.
static bool stands_alone(const parter *p, uint32_t node) {
  const seer_group *group = &p->group[p->group_of[node]];
  return group->kind != SEER_STEP_VIEW && group->n == 1;
}

static bool can_give(const parter *p, uint32_t node) {
  const seer_node *n = &p->graph->node[node];
  return n->op->gives_parts && n->op->part_start && n->in[0].i && stands_alone(p, node) &&
      may_be_whole(p, n->in[0]) && has_places(p, n);
}

static void give(parter *p, uint32_t node) {
  const seer_node *n = &p->graph->node[node];
  if (!can_give(p, node)) return;
  uint32_t n_out = n->n_out;
  bool *fits = SEER_NEW_ARRAY(p->scratch, bool, n_out);
  int64_t all = 0, free = 0;
  for (uint32_t k = 0; k < n_out; k++) {
    part_place place;
    if (n->out[k].i == 0) continue;
    fits[k] = place_in(p, n, k, &place) && can_place(p, n->out[k], place.pitch);
    int64_t elems = seer_value_elems(seer_graph_value(p->graph, n->out[k]));
    all += elems;
    free += fits[k] ? elems : 0;
  }
  if (2 * free < all) return;
  for (uint32_t k = 0; k < n_out; k++)
    if (p->graph->node[node].out[k].i) settle_part(p, node, k, fits[k]);
}

// ---- Concat

// v, or what it is a view of, is read in place as a part of something already.
static bool is_given(const parter *p, seer_val v) {
  uint32_t m = v.i;
  do {
    uint32_t producer = p->graph->value[m].producer.i;
    bool is_others =
        p->graph->node[producer].n_out > 1 || p->uses.first[m + 1] - p->uses.first[m] > 1;
    if (producer && is_others && can_give(p, producer)) return true;
    m = p->alike[m];
  } while (m != v.i);
  return false;
}

// What a Concat's kernel also computes behind it becomes a kernel, unless another one takes it.
static bool leaves_kernel(const parter *p, uint32_t node) {
  const seer_group *group = &p->group[p->group_of[node]];
  uint32_t last = group->node[group->n - 1];
  if (last == node) return false;
  uint32_t v = p->graph->node[last].out[0].i;
  if (p->graph->value[v].is_output || p->uses.first[v + 1] - p->uses.first[v] != 1) return true;
  const seer_group *reader = &p->group[p->group_of[p->uses.node[p->uses.first[v]]]];
  seer_fuse_kind kind = p->graph->node[reader->anchor].op->fuse;
  return reader->kind != SEER_STEP_KERNEL ||
      (kind != SEER_FUSE_ANCHOR && kind != SEER_FUSE_REDUCTION);
}

static void join(parter *p, uint32_t node) {
  const seer_node *n = &p->graph->node[node];
  if (!n->op->joins_parts || !n->op->part_start) return;
  if (!may_be_whole(p, n->out[0]) || !has_places(p, n)) return;
  uint32_t n_in = n->n_in;
  bool *fits = SEER_NEW_ARRAY(p->scratch, bool, n_in);
  // Elements that are read and written: by its kernel, and without it.
  int64_t all = seer_value_elems(seer_graph_value(p->graph, n->out[0]));
  int64_t with = all, without = leaves_kernel(p, node) ? all : 0;
  for (uint32_t k = 0; k < n_in; k++) {
    part_place place;
    uint32_t root = p->root[n->in[k].i];
    fits[k] = place_in(p, n, k, &place) && p->taken_by[root] != node &&
        can_place(p, n->in[k], place.pitch) && !is_given(p, n->in[k]);
    if (fits[k]) p->taken_by[root] = node;
    const seer_value *part = seer_graph_value(p->graph, n->in[k]);
    bool is_own = part->producer.i && p->group_of[part->producer.i] == p->group_of[node];
    without += ((fits[k] ? 0 : 1) + (is_own ? 1 : 0)) * seer_value_elems(part);
  }
  if (2 * without > with) return;
  for (uint32_t k = 0; k < n_in; k++) settle_part(p, node, k, fits[k]);
}

// ---- before: operands that are wholes already

static int64_t joined_axis(const seer_graph *graph, const seer_node *node) {
  int64_t axis = seer_node_attr_i(node, "axis", 1);
  return axis < 0 ? axis + seer_graph_value(graph, node->out[0])->rank : axis;
}

// How many operands from k on are, one after another, all of what they are parts of.
static uint32_t find_run(
    const seer_graph *graph, const seer_node *node, uint32_t k, int64_t axis, seer_val *out_whole) {
  int64_t end = 0, start[SEER_MAX_RANK];
  *out_whole = (seer_val){0};
  for (uint32_t i = k; i < node->n_in; i++) {
    const seer_value *part = seer_graph_value(graph, node->in[i]);
    const seer_node *giver = seer_graph_node(graph, part->producer);
    if (part->producer.i == 0 || !giver->op->gives_parts) return 0;
    if (i == k) *out_whole = giver->in[0];
    if (giver->in[0].i != out_whole->i) return 0;
    const seer_value *whole = seer_graph_value(graph, *out_whole);
    uint32_t number = 0;
    while (giver->out[number].i != node->in[i].i) number++;
    if (!giver->op->part_start(graph, giver, number, start)) return 0;
    for (uint32_t d = 0; d < whole->rank; d++)
      if (d == axis ? start[d] != end : part->dim[d] != whole->dim[d]) return 0;
    end += part->dim[axis];
    if (end == whole->dim[axis]) return i + 1 - k;
  }
  return 0;
}

static void replace_operands(seer_node *node, uint32_t k, uint32_t n, seer_val by) {
  node->in[k] = by;
  memmove(&node->in[k + 1], &node->in[k + n], (node->n_in - k - n) * sizeof *node->in);
  node->n_in -= n - 1;
}

// Concats by their first operand, the last one first.
typedef struct {
  uint32_t *first, *next;  // by value; by node. 0: none
} joined_list;

// The Concat before `node` with the most operands that `node` begins with; 0: none.
static uint32_t find_beginning(const seer_graph *graph, const joined_list *list, uint32_t node) {
  enum { MAX_TRIED = 64 };
  const seer_node *n = &graph->node[node];
  uint32_t best = 0, n_best = 1, n_tried = 0;
  for (uint32_t u = list->first[n->in[0].i]; u != 0 && n_tried < MAX_TRIED; u = list->next[u]) {
    const seer_node *other = &graph->node[u];
    n_tried++;
    if (other->n_in > n_best && other->n_in < n->n_in &&
        joined_axis(graph, other) == joined_axis(graph, n) &&
        memcmp(other->in, n->in, other->n_in * sizeof *n->in) == 0) {
      best = u;
      n_best = other->n_in;
    }
  }
  return best;
}

// Concat(Split(x)...) is x, and Concat(a, b, c) begins with Concat(a, b): fewer parts, which are
// wholes of their own.
static bool gather_operands(seer_graph *graph, seer_arena *scratch) {
  bool is_changed = false;
  joined_list list = {SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value),
      SEER_NEW_ARRAY(scratch, uint32_t, graph->n_node)};
  for (uint32_t k = 1; k < graph->n_node; k++) {
    seer_node *node = &graph->node[k];
    if (!node->op || !node->op->joins_parts || !node->op->part_start) continue;
    int64_t axis = joined_axis(graph, node);
    for (uint32_t i = 0; i < node->n_in; i++) {
      seer_val whole;
      uint32_t n = find_run(graph, node, i, axis, &whole);
      if (n > 1) replace_operands(node, i, n, whole);
      is_changed |= n > 1;
    }
    for (uint32_t other; (other = find_beginning(graph, &list, k)) != 0; is_changed = true)
      replace_operands(node, 0, graph->node[other].n_in, graph->node[other].out[0]);
    list.next[k] = list.first[node->in[0].i];
    list.first[node->in[0].i] = k;
  }
  return is_changed;
}

// ---- the pass

static void find_rings(parter *p) {
  uint32_t n_value = (uint32_t)p->graph->n_value;
  for (uint32_t v = 0; v < n_value; v++) p->alike[v] = p->root[v] = v;
  for (uint32_t k = 1; k < p->n_known; k++) {
    if (p->group[p->group_of[k]].kind != SEER_STEP_VIEW) continue;
    uint32_t a = p->graph->node[k].in[0].i, b = p->graph->node[k].out[0].i;
    p->root[seer_root_of(p->root, b)] = seer_root_of(p->root, a);
    uint32_t next = p->alike[a];  // two rings become one
    p->alike[a] = p->alike[b];
    p->alike[b] = next;
  }
  for (uint32_t v = 0; v < n_value; v++) p->root[v] = seer_root_of(p->root, v);
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("part");
  bool is_changed = gather_operands(graph, scratch);
  if (is_changed) seer_pass_remove_dead(graph);
  seer_status status = is_changed ? seer_graph_sort(graph) : SEER_OK;
  parter p = {.graph = graph,
      .scratch = scratch,
      .align = align_for(seer_context_target(context)),
      .n_known = (uint32_t)graph->n_node,
      .n_ring = (uint32_t)graph->n_value};
  seer_group *group;
  size_t n_group;
  if (!status) status = seer_fuse_groups(graph, scratch, &group, &n_group);
  if (!status) {
    p.group = group;
    p.uses = seer_graph_index_uses(graph, scratch);
    p.group_of = SEER_NEW_ARRAY(scratch, uint32_t, p.n_known);
    p.alike = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
    p.root = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
    p.taken_by = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value);
    p.is_size = SEER_NEW_ARRAY(scratch, bool, graph->n_value);
    for (size_t g = 0; g < n_group; g++)
      for (uint32_t k = 0; k < group[g].n; k++) p.group_of[group[g].node[k]] = (uint32_t)g;
    for (uint32_t v = 1; v < graph->n_value; v++)
      for (uint32_t d = 0; d < graph->value[v].rank; d++)
        p.is_size[graph->value[v].size[d].i] = true;
    find_rings(&p);
    for (uint32_t k = p.n_known; k-- > 1;) join(&p, k);
    for (uint32_t k = 1; k < p.n_known; k++) give(&p, k);
  }
  seer_arena_destroy(scratch);
  return status;
}

const seer_pass_desc seer_pass_part = {
    "part", "values as parts of others' memory: Concat, Split, Slice without copies", run};
