// sets.c - one model, several sets of input shapes -> networks over one list of tasks.
// Everything behind the reader depends on shapes, so each set is resolved, fused and emitted on a
// copy of the graph; what they have in common is found afterwards: tasks by their numbers,
// constants by name and content (those that were read are shared already; folded ones are equal
// unless a shape went into them).
#include "front/sets.h"

#include <string.h>

#include "base/map.h"
#include "setup/shapes.h"

typedef struct {
  const char *text;
  seer_named_shape *shape;
  uint32_t n;
} given_set;

// Every input that set `b` names is named by set `a`, too.
static seer_status check_names(const given_set *set, uint32_t a, uint32_t b) {
  for (uint32_t k = 0; k < set[b].n; k++) {
    bool is_named = false;
    for (uint32_t i = 0; i < set[a].n && !is_named; i++)
      is_named = strcmp(set[a].shape[i].name, set[b].shape[k].name) == 0;
    if (!is_named)
      return SEER_FAIL(INVALID,
          "--input-shapes: set %u ('%s') does not name input '%s', set %u ('%s') does; all sets "
          "name the same inputs",
          a + 1, set[a].text, set[b].shape[k].name, b + 1, set[b].text);
  }
  return SEER_OK;
}

static seer_status check_sets(const char *const *shapes, uint32_t n, seer_arena *scratch) {
  given_set *set = SEER_NEW_ARRAY(scratch, given_set, n);
  for (uint32_t s = 0; s < n; s++) {
    set[s].text = shapes[s];
    SEER_TRY(seer_shapes_parse(shapes[s], scratch, &set[s].shape, &set[s].n));
  }
  for (uint32_t s = 1; s < n; s++) {
    SEER_TRY(check_names(set, s, 0));
    SEER_TRY(check_names(set, 0, s));
  }
  return SEER_OK;
}

seer_status seer_sets_check(const char *const *shapes, uint32_t n) {
  if (n > SEER_FRONT_MAX_SETS)
    return SEER_FAIL(INVALID, "--input-shapes: given %u times, at most %d", n, SEER_FRONT_MAX_SETS);
  if (n == 1) return SEER_OK;  // resolving says more about it
  seer_arena *scratch = seer_arena_create("sets");
  seer_status status = check_sets(shapes, n, scratch);
  seer_arena_destroy(scratch);
  return status;
}

// ---- what sets have in common

static bool same_inputs(const seer_graph *a, const seer_graph *b) {
  for (uint32_t k = 0; k < a->n_input; k++) {
    const seer_value *x = seer_graph_value(a, a->input[k]), *y = seer_graph_value(b, b->input[k]);
    if (x->rank != y->rank || memcmp(x->dim, y->dim, x->rank * sizeof x->dim[0]) != 0) return false;
  }
  return true;
}

static bool same_tensor(const seer_tensor *a, const seer_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->n_bytes == b->n_bytes &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0 &&
      (a->data == b->data || memcmp(a->data, b->data, a->n_bytes) == 0);
}

// Constants of `graph` that `first` has, too, become the same tensor: equal constants of different
// sets can then be told by their address.
static void share_constants(const seer_graph *first, seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("sets");
  seer_map *by_name = seer_map_create(scratch);
  for (size_t v = 1; v < first->n_value; v++)
    if (first->value[v].constant) seer_map_set_str(by_name, first->value[v].name, v);
  for (size_t v = 1; v < graph->n_value; v++) {
    seer_value *value = &graph->value[v];
    uint64_t found;
    if (!value->constant || !seer_map_get_str(by_name, value->name, &found)) continue;
    const seer_tensor *other = first->value[found].constant;
    if (same_tensor(value->constant, other)) value->constant = other;
  }
  seer_arena_destroy(scratch);
}

static void add_tasks(seer_network *network, seer_network *all, size_t *cap, seer_map *id_of_number,
    seer_arena *arena) {
  uint32_t *id_of = SEER_NEW_ARRAY(arena, uint32_t, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    uint64_t id;
    if (!seer_map_get(id_of_number, task->number, &id)) {
      all->task = SEER_GROW(arena, seer_task, all->task, all->n_task, cap);
      id = all->n_task++;
      seer_map_set(id_of_number, task->number, id);
      all->task[id] = *task;
      all->task[id].id = (uint32_t)id;
      all->task[id].weight = 0;
    }
    SEER_ASSERT(id < all->n_task && all->task, "no task %" PRIu64, id);
    all->task[id].weight += task->weight;
    all->task[id].ops = seer_task_join_ops(all->task[id].ops, task->ops, arena);
    id_of[t] = (uint32_t)id;
  }
  for (uint32_t s = 0; s < network->n_step; s++)
    if (seer_step_has_task(&network->step[s])) network->step[s].task = id_of[network->step[s].task];
}

static const char *shapes_text(const seer_graph *graph, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < graph->n_input; k++) {
    const seer_value *value = seer_graph_value(graph, graph->input[k]);
    if (k > 0) seer_text_put(&text, " ");
    seer_text_put_safe(&text, value->name);
    seer_text_put(&text, "[");
    for (uint32_t d = 0; d < value->rank; d++)
      seer_text_printf(&text, "%s%" PRId64, d > 0 ? "," : "", value->dim[d]);
    seer_text_put(&text, "]");
  }
  return text.n_bytes > 0 ? text.data : "";
}

seer_status seer_sets_join(seer_network **network, uint32_t n, seer_arena *arena) {
  seer_network all = {0};
  size_t cap = 0;
  seer_map *id_of_number = seer_map_create(arena);
  for (uint32_t s = 0; s < n; s++) {
    for (uint32_t other = 0; other < s; other++)
      if (same_inputs(network[s]->graph, network[other]->graph))
        return SEER_FAIL(INVALID, "--input-shapes: sets %u and %u are the same: %s", other + 1,
            s + 1, shapes_text(network[s]->graph, arena));
    if (s > 0) share_constants(network[0]->graph, network[s]->graph);
    add_tasks(network[s], &all, &cap, id_of_number, arena);
  }
  for (uint32_t s = 0; s < n; s++) {
    seer_network *own = network[s];
    own->n_task = all.n_task;
    own->task = all.task;
    own->n_set = n;
    own->set = network;
    own->shapes = shapes_text(own->graph, arena);
    own->count = SEER_NEW_ARRAY(arena, uint32_t, all.n_task + 1);
    for (uint32_t k = 0; k < own->n_step; k++)
      if (seer_step_has_task(&own->step[k]))
        own->count[own->step[k].task] += seer_step_n_images(own, &own->step[k]);
  }
  return SEER_OK;
}
