// find.c - a network -> its steps that compute images apart, the stretches of them that are chosen,
// and the tasks that there are then.
//
// A value is in images if it is n blocks, each made of one image alone. Inputs of the network are,
// whose first dimension is the batch; what a step makes that computes images apart; views of such a
// value whose blocks are the same bytes (a part of a whole is, whose blocks lie in the whole's).
// What other steps make counts anew, by its first dimension: it is there for all images before a
// stretch begins that reads it.
#include <string.h>

#include "base/map.h"
#include "front/images.h"

typedef enum { UNKNOWN, IN_IMAGES, NOT_IN_IMAGES } in_images;

typedef struct {
  seer_network *network;
  const seer_graph *graph;
  seer_arena *arena, *scratch;
  uint32_t n;
  in_images *of_value;
  bool *can;  // by step: it can be part of a stretch
  const seer_dag **one;  // by step: its DAG for one image
  seer_images_cost *cost;  // by step
  seer_map *known;  // DAG and what is split -> 1 + index into `one`, or 0: it cannot be
} finder;

// ---- values

static uint32_t first_dim(const seer_value *value) {
  return value->has_layout ? value->order[0] : 0;
}

static bool begins_with_batch(const finder *f, const seer_value *value) {
  return value->rank > 0 && !value->constant && !value->list && first_dim(value) == 0 &&
      value->dim[0] == f->n && !seer_value_is_sized(value);
}

// Elements from image to image; 0: its memory is no n blocks.
static int64_t block_elems(const seer_value *value, uint32_t n) {
  if (value->rank == 0 || value->dim[first_dim(value)] % n != 0) return 0;
  int64_t row = seer_value_row(value), pitch = seer_value_pitch(value);
  if (value->rank == 1) return pitch == row ? row / n : 0;
  return row > 0 ? seer_value_elems(value) / row * pitch / n : 0;
}

bool seer_images_are_same_blocks(const seer_graph *graph, seer_val a, seer_val b, uint32_t n) {
  const seer_value *x = seer_graph_value(graph, a), *y = seer_graph_value(graph, b);
  int64_t block = block_elems(x, n);
  if (block == 0 || block_elems(y, n) != block || x->dtype != y->dtype) return false;
  return (!x->base.i || x->offset < block) && (!y->base.i || y->offset < block);
}

static bool is_in_images(finder *f, seer_val v) {
  if (f->of_value[v.i] == UNKNOWN)
    f->of_value[v.i] =
        begins_with_batch(f, seer_graph_value(f->graph, v)) ? IN_IMAGES : NOT_IN_IMAGES;
  return f->of_value[v.i] == IN_IMAGES;
}

// ---- steps

static bool is_sized(const finder *f, const seer_step *step) {
  for (uint32_t b = 0; b < step->dag->n_buf; b++)
    if (step->value_of_buf[b].i &&
        seer_value_is_sized(seer_graph_value(f->graph, step->value_of_buf[b])))
      return true;
  return false;
}

// What all images read is what reading n of them takes less than n times reading one.
static seer_images_cost cost_of(const finder *f, const seer_dag *all, const seer_dag *one) {
  seer_dag_io of_all = seer_dag_count_io(all, 0), of_one = seer_dag_count_io(one, 0);
  double own = (of_all.read - of_one.read) / (f->n - 1);
  return (seer_images_cost){
      .read = own,
      .written = of_one.written,
      .flops = seer_dag_flops(one),
      .weights = of_one.read > own ? of_one.read - own : 0,
  };
}

static void look_at_kernel(finder *f, uint32_t s) {
  const seer_step *step = &f->network->step[s];
  bool is_split[SEER_DAG_MAX_BUFFERS] = {0};
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    const seer_dag_buf *buf = &step->dag->buf[b];
    is_split[b] = buf->kind == SEER_BUF_ACTIVATION && step->value_of_buf[b].i &&
        is_in_images(f, step->value_of_buf[b]);
  }
  // Steps that are alike share a DAG, and are looked at once.
  uint64_t key = seer_hash_bytes(is_split, sizeof is_split, (uint64_t)(uintptr_t)step->dag), found;
  if (!seer_map_get(f->known, key, &found)) {
    seer_dag *one = NULL;
    const char *why = NULL;
    found = 0;
    if (!is_sized(f, step) && seer_images_one(step->dag, f->n, is_split, f->arena, &one, &why)) {
      f->one[s] = one;
      f->cost[s] = cost_of(f, step->dag, one);
      found = s + 1;
    }
    seer_map_set(f->known, key, found);
  }
  f->can[s] = found > 0;
  if (found > 0) {
    f->one[s] = f->one[found - 1];
    f->cost[s] = f->cost[found - 1];
  }
  for (uint32_t b = 0; b < step->dag->n_buf; b++)
    if (step->dag->buf[b].is_output && step->value_of_buf[b].i)
      f->of_value[step->value_of_buf[b].i] = f->can[s] ? IN_IMAGES : UNKNOWN;
}

// A whole is made by a view for each of its parts: it is in images if all of them are.
static void look_at_view(finder *f, uint32_t s) {
  const seer_step *step = &f->network->step[s];
  in_images *out = &f->of_value[step->view_out.i];
  bool is_first = *out == UNKNOWN;
  f->can[s] = is_in_images(f, step->view_in) &&
      seer_images_are_same_blocks(f->graph, step->view_in, step->view_out, f->n) &&
      (is_first || *out == IN_IMAGES);
  *out = f->can[s] ? IN_IMAGES : NOT_IN_IMAGES;
}

static void look_at_steps(finder *f) {
  const seer_network *network = f->network;
  for (uint32_t s = 0; s < network->n_step; s++) {
    const seer_step *step = &network->step[s];
    switch (step->kind) {
      case SEER_STEP_KERNEL:
      case SEER_STEP_COPY:
        look_at_kernel(f, s);
        break;
      case SEER_STEP_VIEW:
        look_at_view(f, s);
        break;
      case SEER_STEP_HOST:
      case SEER_STEP_LOOP_END:
        break;
      case SEER_STEP_LOOP_BEGIN:
        s += step->n_body;
        break;
      case SEER_STEP_BRANCH:
        s += step->n_then + step->n_else;
        break;
    }
  }
}

// ---- stretches and tasks

typedef struct {
  finder *f;
  seer_map *task_of_number;
  size_t cap_task, cap_stretch;
} maker;

static uint64_t number_of(const seer_dag *dag, const seer_dag_key *key) {
  uint32_t of[SEER_DAG_MAX_BUFFERS];
  seer_dag_numbers(dag, of);
  return seer_task_number(key, of, dag->n_buf);
}

// The step runs image by image: its DAG and its task are those of one.
static void retask(maker *m, uint32_t s) {
  seer_network *network = m->f->network;
  seer_step *step = &network->step[s];
  seer_dag_key key = seer_dag_hash(m->f->one[s]);
  uint64_t number = number_of(m->f->one[s], &key), id;
  seer_task *old = &network->task[step->task];
  old->weight--;
  if (!seer_map_get(m->task_of_number, number, &id)) {
    seer_task made = *old;
    made.id = (uint32_t)(id = network->n_task);
    made.dag = m->f->one[s];
    made.key = key;
    made.number = number;
    made.weight = 0;
    made.flops = seer_dag_flops(made.dag);
    made.anchor_class = seer_dag_anchor_class(made.dag, m->f->arena);
    network->task = SEER_GROW(m->f->arena, seer_task, network->task, network->n_task, &m->cap_task);
    network->task[network->n_task++] = made;
    seer_map_set(m->task_of_number, number, id);
  }
  step->task = (uint32_t)id;
  step->dag = m->f->one[s];
  step->content = key.content;
  network->task[id].weight += m->f->n;
}

static void add_stretch(maker *m, uint32_t first, const seer_images_choice *choice) {
  seer_network *network = m->f->network;
  network->stretch =
      SEER_GROW(m->f->arena, seer_stretch, network->stretch, network->n_stretch, &m->cap_stretch);
  network->stretch[network->n_stretch++] = (seer_stretch){.first = first + choice->first,
      .n_step = choice->n_step,
      .n_images = m->f->n,
      .is_apart = choice->is_apart};
  for (uint32_t k = 0; k < choice->n_step; k++) {
    uint32_t s = first + choice->first + k;
    network->step[s].stretch = network->n_stretch;
    if (seer_step_has_task(&network->step[s])) retask(m, s);
  }
}

// By --images, of n_step steps from `first` on, which all can be in one.
static void choose(maker *m, const seer_context *context, uint32_t first, uint32_t n_step) {
  const finder *f = m->f;
  const char *how = seer_context_str(context, SEER_OPT_IMAGES);
  seer_images_choice *choice = SEER_NEW_ARRAY(f->scratch, seer_images_choice, n_step + 1);
  bool has_kernel = false;
  for (uint32_t k = 0; k < n_step; k++) has_kernel |= f->one[first + k] != NULL;
  uint32_t n = has_kernel;
  if (strcmp(how, "auto") == 0)
    n = seer_images_choose(seer_context_target(context), f->n, &f->cost[first], n_step, choice);
  else
    choice[0] = (seer_images_choice){0, n_step, strcmp(how, "apart") == 0};
  for (uint32_t k = 0; k < n; k++) add_stretch(m, first, &choice[k]);
}

// Tasks that no step has any more go; the others move up.
static void drop_tasks(finder *f) {
  seer_network *network = f->network;
  uint32_t *id_of = SEER_NEW_ARRAY(f->scratch, uint32_t, network->n_task + 1), n = 0;
  for (uint32_t t = 0; t < network->n_task; t++) {
    if (network->task[t].weight == 0) continue;
    id_of[t] = n;
    network->task[n] = network->task[t];
    network->task[n].id = n;
    n++;
  }
  network->n_task = n;
  for (uint32_t s = 0; s < network->n_step; s++)
    if (seer_step_has_task(&network->step[s])) network->step[s].task = id_of[network->step[s].task];
}

static void make_stretches(finder *f, const seer_context *context) {
  seer_network *network = f->network;
  maker m = {.f = f, .task_of_number = seer_map_create(f->scratch), .cap_task = network->n_task};
  for (uint32_t t = 0; t < network->n_task; t++)
    seer_map_set(m.task_of_number, network->task[t].number, t);
  for (uint32_t s = 0; s < network->n_step;) {
    uint32_t n = 0;
    while (s + n < network->n_step && f->can[s + n]) n++;
    if (n > 0) choose(&m, context, s, n);
    s += n + 1;
  }
  if (network->n_stretch > 0) drop_tasks(f);
}

static uint32_t batch_of(const seer_graph *graph) {
  for (uint32_t k = 0; k < graph->n_input; k++) {
    const seer_value *value = seer_graph_value(graph, graph->input[k]);
    if (value->rank > 0 && value->dim[0] > 1 && value->dim[0] <= SEER_IMAGES_MAX)
      return (uint32_t)value->dim[0];
  }
  return 1;
}

bool seer_images_is_one(const seer_graph *graph, seer_val v, const seer_dag_buf *buf, uint32_t n) {
  int64_t elems = 1;
  for (uint32_t d = 0; d < buf->rank; d++) elems *= buf->dim[d];
  return elems * n == seer_value_elems(seer_graph_value(graph, v));
}

seer_status seer_images_make(
    const seer_context *context, seer_network *network, seer_arena *arena) {
  uint32_t n = batch_of(network->graph);
  // A GPU's caches do not hold what one image leaves for its next step.
  const seer_target *target = seer_context_target(context);
  bool is_wanted = target && target->kind == SEER_TARGET_CPU &&
      strcmp(seer_context_str(context, SEER_OPT_IMAGES), "whole") != 0;
  if (n < 2 || !is_wanted) return SEER_OK;
  seer_arena *scratch = seer_arena_create("images");
  finder f = {
      .network = network, .graph = network->graph, .arena = arena, .scratch = scratch, .n = n};
  f.of_value = SEER_NEW_ARRAY(scratch, in_images, network->graph->n_value + 1);
  f.can = SEER_NEW_ARRAY(scratch, bool, network->n_step + 1);
  f.one = SEER_NEW_ARRAY(scratch, const seer_dag *, network->n_step + 1);
  f.cost = SEER_NEW_ARRAY(scratch, seer_images_cost, network->n_step + 1);
  f.known = seer_map_create(scratch);
  look_at_steps(&f);
  make_stretches(&f, context);
  seer_arena_destroy(scratch);
  return seer_network_verify(network);
}
