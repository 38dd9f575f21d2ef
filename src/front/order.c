// order.c - steps in topological order -> loops with nothing in them that runs once would do, and
// branches whose sides hold all that only they need.
// Where loops end is searched for here, and nowhere else: the steps come out with the lengths of
// what they govern. Sides are found in one walk from the last step to the first. Where steps may
// run are the places of a tree: its root, the bodies of loops, the sides of branches. A step's
// place is the lowest one that is above all places where its results are read, but never inside a
// loop that it is not in (it would run again and again).
#include "front/order.h"

#include <string.h>

#include "runtime/plan.h"

// The node of step s if it is of that kind, else NULL.
static const seer_node *node_of(const seer_network *network, uint32_t s, seer_step_kind kind) {
  const seer_step *step = &network->step[s];
  return step->kind == kind ? seer_step_node(network->graph, step) : NULL;
}

// ---- loops

static bool reads_marked(const seer_graph *graph, const seer_step *step, const bool *marked) {
  for (uint32_t k = 0, n = seer_step_n_values(graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(graph, step, k, &is_made);
    if (!is_made && v.i && marked[v.i]) return true;
  }
  return false;
}

static void mark_made(const seer_graph *graph, const seer_step *step, bool *marked) {
  for (uint32_t k = 0, n = seer_step_n_values(graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(graph, step, k, &is_made);
    if (is_made && v.i) marked[v.i] = true;
  }
}

static uint32_t end_of_loop(const seer_network *network, uint32_t begin, const seer_node *node) {
  for (uint32_t s = begin + 1; s < network->n_step; s++) {
    const seer_node *end = node_of(network, s, SEER_STEP_LOOP_END);
    if (end && end->in[end->n_in - 1].i == node->out[0].i) return s;
  }
  return 0;
}

// Which of the steps s to end, the ends of a loop, are in it: those that depend on its begin. A
// loop inside is in it as a whole, though its begin may not depend on the outer one.
static void find_inside(
    const seer_network *network, uint32_t s, uint32_t end, bool *is_inside, bool *marked) {
  const seer_graph *graph = network->graph;
  memset(marked, 0, graph->n_value * sizeof *marked);
  memset(is_inside + s, 0, (end + 1 - s) * sizeof *is_inside);
  is_inside[s] = is_inside[end] = true;
  for (bool has_more = true; has_more;) {  // at most once for each level of loops inside
    has_more = false;
    for (uint32_t t = s; t <= end; t++) {
      const seer_step *step = &network->step[t];
      const seer_node *begin = node_of(network, t, SEER_STEP_LOOP_BEGIN),
                      *last = node_of(network, t, SEER_STEP_LOOP_END);
      is_inside[t] =
          is_inside[t] || reads_marked(graph, step, marked) || (begin && marked[begin->out[0].i]);
      if (is_inside[t]) mark_made(graph, step, marked);
      seer_val number = last && is_inside[t] ? last->in[last->n_in - 1] : (seer_val){0};
      if (number.i == 0 || marked[number.i]) continue;
      marked[number.i] = has_more = true;
    }
  }
}

// The steps between a loop's ends run again and again, or never. Those that do not depend on its
// begin are moved in front of it. Loops among them, which may have stood across its ends, are next.
static seer_status settle_loops(seer_network *network, seer_arena *scratch) {
  enum { MAX_LOOPS = 256, MAX_VISITS = MAX_LOOPS * MAX_LOOPS };
  const seer_graph *graph = network->graph;
  seer_step *moved = SEER_NEW_ARRAY(scratch, seer_step, network->n_step + 1);
  bool *marked = SEER_NEW_ARRAY(scratch, bool, graph->n_value),
       *is_inside = SEER_NEW_ARRAY(scratch, bool, network->n_step + 1);
  uint32_t n_loop = 0, n_visit = 0;
  for (uint32_t s = 0; s < network->n_step;) {
    const seer_node *node = node_of(network, s, SEER_STEP_LOOP_BEGIN);
    if (!node) {
      s++;
      continue;
    }
    if (n_loop == MAX_LOOPS || n_visit++ == MAX_VISITS)
      return SEER_FAIL(UNSUPPORTED, "more than %d loops that are not unrolled", MAX_LOOPS);
    uint32_t end = end_of_loop(network, s, node), n_kept = 0, to = s;
    if (end == 0) return SEER_FAIL(INVALID, "loop '%s' has no end", node->name);
    find_inside(network, s, end, is_inside, marked);
    for (uint32_t t = s; t < end; t++) {
      const seer_step step = network->step[t];
      if (is_inside[t])
        moved[n_kept++] = step;
      else
        network->step[to++] = step;
    }
    memcpy(&network->step[to], moved, n_kept * sizeof *moved);
    if (to > s) continue;  // first what was moved
    n_loop++;
    s++;
  }
  return SEER_OK;
}

// ---- bodies and sides

enum { NOWHERE = 0, ROOT = 1 };  // ids of places

typedef struct {
  uint32_t above;
  uint32_t depth;  // of steps that hold steps
  bool is_body;  // of a loop
  uint32_t first, last;  // its steps, by next; UINT32_MAX: none
} place;

typedef struct {
  seer_network *network;
  seer_arena *scratch;
  place *place;
  size_t n_place, cap_place;
  uint32_t *read_at;  // by value: the lowest place above all that read it so far
  uint32_t *height;  // by step: loops in loops from this loop's end on; 0 for other steps
  uint32_t *inside;  // by step: body of a loop's begin, then side of a branch (else is the next)
  uint32_t *next;  // by step: in its place
  const char *crowded;  // a step that stands further up than it could; NULL: none
} orderer;

static uint32_t add_place(orderer *o, uint32_t above, bool is_body) {
  o->place = SEER_GROW(o->scratch, place, o->place, o->n_place, &o->cap_place);
  o->place[o->n_place] = (place){.above = above,
      .depth = above == NOWHERE ? 0 : o->place[above].depth + 1,
      .is_body = is_body,
      .first = UINT32_MAX};
  return (uint32_t)o->n_place++;
}

static uint32_t lowest_above(const orderer *o, uint32_t a, uint32_t b) {
  if (a == NOWHERE || b == NOWHERE) return a == NOWHERE ? b : a;
  while (a != b) {
    if (o->place[a].depth < o->place[b].depth)
      b = o->place[b].above;
    else
      a = o->place[a].above;
  }
  return a;
}

static void read_value(orderer *o, seer_val v, uint32_t at) {
  if (v.i) o->read_at[v.i] = lowest_above(o, o->read_at[v.i], at);
}

// Where step s belongs, which is in the loop whose body is `body` (or ROOT): so far up that it is
// in no loop in that one, and that `height` more levels fit.
static uint32_t place_of(orderer *o, uint32_t s, uint32_t body, uint32_t height) {
  const seer_graph *graph = o->network->graph;
  const seer_step *step = &o->network->step[s];
  uint32_t at = NOWHERE;
  for (uint32_t k = 0, n = seer_step_n_values(graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(graph, step, k, &is_made);
    if (!is_made || v.i == 0) continue;
    at = lowest_above(o, at, seer_graph_value(graph, v)->is_output ? ROOT : o->read_at[v.i]);
  }
  uint32_t found = at == NOWHERE ? body : at;
  for (uint32_t p = found; p != body; p = o->place[p].above) {
    if (p == ROOT) return body;  // read outside of its loop: the verifier says so
    bool is_too_deep = o->place[p].depth + height > SEER_PLAN_MAX_DEPTH;
    if (is_too_deep) o->crowded = step->name;
    if (o->place[p].is_body || is_too_deep) found = o->place[p].above;
  }
  return found;
}

static void read_operands(orderer *o, uint32_t s, uint32_t at) {
  const seer_graph *graph = o->network->graph;
  const seer_step *step = &o->network->step[s];
  for (uint32_t k = 0, n = seer_step_n_values(graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(graph, step, k, &is_made);
    if (!is_made) read_value(o, v, at);
  }
}

static void read_results(orderer *o, uint32_t s, const seer_node *branch, uint32_t at) {
  uint32_t n = branch->n_out, sides[2] = {at, at};
  if (o->place[at].depth < SEER_PLAN_MAX_DEPTH) {
    o->inside[s] = sides[0] = add_place(o, at, false);
    sides[1] = add_place(o, at, false);
  } else {
    o->crowded = branch->name;
  }
  read_value(o, branch->in[0], at);
  for (uint32_t k = 0; k < 2 * n; k++) read_value(o, branch->in[k + 1], sides[k / n]);
  for (uint32_t k = 2 * n + 1; k < branch->n_in; k++) read_value(o, branch->in[k], at);
}

// The heights of loops, by their ends. Each ends the innermost one that is open.
static seer_status measure_loops(orderer *o) {
  uint32_t depth = 0, below[SEER_PLAN_MAX_DEPTH + 1] = {0};
  seer_val number[SEER_PLAN_MAX_DEPTH + 1] = {{0}};
  for (uint32_t s = 0; s < o->network->n_step; s++) {
    const seer_node *begin = node_of(o->network, s, SEER_STEP_LOOP_BEGIN),
                    *end = node_of(o->network, s, SEER_STEP_LOOP_END);
    if (begin) {
      if (depth == SEER_PLAN_MAX_DEPTH)
        return SEER_FAIL(UNSUPPORTED, "loop '%s' is in %d others, must be in fewer",
            o->network->step[s].name, SEER_PLAN_MAX_DEPTH);
      below[++depth] = 0;
      number[depth] = begin->out[0];
    } else if (end) {
      if (depth == 0 || end->in[end->n_in - 1].i != number[depth].i)
        return SEER_FAIL(
            INVALID, "'%s' ends a loop that it is not the end of, or not in", end->name);
      o->height[s] = below[depth--] + 1;
      if (o->height[s] > below[depth]) below[depth] = o->height[s];
    }
  }
  return SEER_OK;
}

static void find_places(orderer *o) {
  uint32_t body[SEER_PLAN_MAX_DEPTH + 1] = {ROOT}, depth = 0;
  for (uint32_t s = o->network->n_step; s-- > 0;) {
    const seer_node *begin = node_of(o->network, s, SEER_STEP_LOOP_BEGIN);
    uint32_t at;
    if (begin) {
      o->inside[s] = body[depth--];
      at = o->place[o->inside[s]].above;
    } else {
      at = place_of(o, s, body[depth], o->height[s]);
    }
    place *p = &o->place[at];  // from the back: it becomes the first
    o->next[s] = p->first;
    p->first = s;
    const seer_node *branch = node_of(o->network, s, SEER_STEP_BRANCH);
    if (o->height[s] > 0) {
      body[++depth] = add_place(o, at, true);
      read_operands(o, s, body[depth]);
    } else if (branch) {
      read_results(o, s, branch, at);
    } else {
      read_operands(o, s, at);
    }
  }
}

// The steps of a place, with what they hold behind them and how many that is. At most
// SEER_PLAN_MAX_DEPTH calls deep.
static uint32_t put_steps(const orderer *o, uint32_t at, seer_step *out, uint32_t n) {
  for (uint32_t s = o->place[at].first; s != UINT32_MAX; s = o->next[s]) {
    seer_step *step = &out[n++];
    *step = o->network->step[s];
    if (o->inside[s] == NOWHERE) continue;
    uint32_t first = n;
    n = put_steps(o, o->inside[s], out, n);
    if (step->kind == SEER_STEP_LOOP_BEGIN) {
      step->n_body = n - first;
    } else {
      step->n_then = n - first;
      n = put_steps(o, o->inside[s] + 1, out, n);
      step->n_else = n - first - step->n_then;
    }
  }
  return n;
}

// What stands further up than it could is computed without need; but what may end the run must not
// be.
static seer_status check_failing(const orderer *o) {
  for (uint32_t s = 0; o->crowded && s < o->network->n_step; s++) {
    const seer_node *branch = node_of(o->network, s, SEER_STEP_BRANCH);
    if (branch && seer_branch_why(branch))
      return SEER_FAIL(UNSUPPORTED,
          "'%s' is in more than %d other loops and branches, where one side of '%s' cannot be "
          "built: %s",
          o->crowded, SEER_PLAN_MAX_DEPTH, branch->name, seer_branch_why(branch));
  }
  return SEER_OK;
}

static seer_status settle_places(seer_network *network, seer_arena *scratch) {
  bool has_control = false;
  uint32_t n = network->n_step;
  orderer o = {.network = network, .scratch = scratch};
  o.height = SEER_NEW_ARRAY(scratch, uint32_t, n + 1);
  SEER_TRY(measure_loops(&o));
  for (uint32_t s = 0; s < n; s++)
    has_control |= o.height[s] > 0 || network->step[s].kind == SEER_STEP_BRANCH;
  if (!has_control) return SEER_OK;
  o.read_at = SEER_NEW_ARRAY(scratch, uint32_t, network->graph->n_value);
  o.inside = SEER_NEW_ARRAY(scratch, uint32_t, n);
  o.next = SEER_NEW_ARRAY(scratch, uint32_t, n);
  add_place(&o, NOWHERE, false);  // NOWHERE itself
  add_place(&o, NOWHERE, false);  // ROOT
  find_places(&o);
  SEER_TRY(check_failing(&o));
  seer_step *ordered = SEER_NEW_ARRAY(scratch, seer_step, n);
  uint32_t n_put = put_steps(&o, ROOT, ordered, 0);
  SEER_ASSERT(n_put == n, "%u of %u steps", n_put, n);
  memcpy(network->step, ordered, n * sizeof *ordered);
  return SEER_OK;
}

seer_status seer_order_steps(seer_network *network, seer_arena *scratch) {
  SEER_TRY(settle_loops(network, scratch));
  return settle_places(network, scratch);
}
