// sides.c - see sides.h.
#include "code/plan/sides.h"

#include <string.h>

static uint32_t n_root(const seer_sides *s) { return (uint32_t)s->places->graph->n_value; }

static uint8_t *copy_of(const seer_sides *s) {
  return seer_arena_memdup(s->places->arena, s->good, n_root(s));
}

void seer_sides_begin(
    seer_sides *out, const seer_places *places, bool has_device, seer_put_copy put, void *user) {
  *out = (seer_sides){.places = places, .put = put, .user = user};
  if (!has_device) return;
  out->good = SEER_NEW_ARRAY(places->arena, uint8_t, n_root(out) + 1);
  out->maker = seer_place_makers(places);
  for (uint32_t i = 0; i < places->graph->n_input; i++)
    out->good[seer_place_root(places, places->graph->input[i])] = SEER_SIDE_HOST;
  for (uint32_t v = 1; v < n_root(out); v++)
    if (places->graph->value[v].constant && places->root[v] == v && out->good[v] == 0)
      out->good[v] = SEER_SIDE_HOST | SEER_SIDE_DEVICE;
}

static void need_root(seer_sides *s, uint32_t root, seer_side side) {
  if (s->good[root] == 0 || s->good[root] & side) return;
  s->put(s->user, root, side);
  s->good[root] |= (uint8_t)side;
}

void seer_sides_need(seer_sides *sides, seer_val v, seer_side side) {
  if (sides->good && v.i) need_root(sides, seer_place_root(sides->places, v), side);
}

void seer_sides_need_sizes(seer_sides *sides, seer_val v) {
  if (!sides->good || v.i == 0) return;
  const seer_value *value = seer_graph_value(sides->places->graph, v);
  for (uint32_t d = 0; d < value->rank; d++) seer_sides_need(sides, value->size[d], SEER_SIDE_HOST);
}

// It has all of its root's memory.
static bool is_whole(const seer_sides *s, seer_val v) {
  const seer_value_place *place = seer_place_of(s->places, v);
  return s->places->graph->value[v.i].base.i == 0 &&
      seer_place_value_bytes(s->places->graph, v) >= place->n_bytes;
}

void seer_sides_will_make(seer_sides *sides, seer_val v, seer_side side) {
  if (sides->good && v.i && !is_whole(sides, v)) seer_sides_need(sides, v, side);
}

void seer_sides_made(seer_sides *sides, seer_val v, seer_side side) {
  if (sides->good && v.i) sides->good[seer_place_root(sides->places, v)] = (uint8_t)side;
}

bool seer_sides_is_on_device_alone(const seer_sides *sides, seer_val v) {
  return sides->good && v.i && sides->good[seer_place_root(sides->places, v)] == SEER_SIDE_DEVICE;
}

// Where who makes it leaves it, as far as that is known before it is put.
static seer_side side_of_maker(const seer_sides *s, seer_val v) {
  uint32_t at = s->maker[v.i];
  bool is_of_host = at != UINT32_MAX && s->places->network->step[at].kind == SEER_STEP_HOST;
  return is_of_host ? SEER_SIDE_HOST : SEER_SIDE_DEVICE;
}

// ---- loops

static const seer_node *node_of(const seer_sides *s, uint32_t step) {
  return seer_step_node(s->places->graph, &s->places->network->step[step]);
}

static void find_written(const seer_sides *s, uint32_t from, uint32_t to, bool *is_written) {
  const seer_graph *graph = s->places->graph;
  for (uint32_t i = from; i < to; i++) {
    const seer_step *step = &s->places->network->step[i];
    for (uint32_t k = 0, n = seer_step_n_values(graph, step); k < n; k++) {
      bool is_made;
      seer_val v = seer_step_value(graph, step, k, &is_made);
      if (v.i && is_made && step->kind != SEER_STEP_VIEW)
        is_written[seer_place_root(s->places, v)] = true;
    }
  }
}

void seer_sides_enter_loop(seer_sides *sides, uint32_t begin, uint32_t end, seer_sides_loop *out) {
  *out = (seer_sides_loop){.begin = begin, .end = end};
  if (!sides->good) return;
  const seer_node *first = node_of(sides, begin), *last = node_of(sides, end);
  seer_arena *arena = sides->places->arena;
  uint32_t n_carried = first->n_out - 2u, n_all = last->n_out - 1u;
  out->side = SEER_NEW_ARRAY(arena, seer_side, n_all + 1);
  seer_sides_need(sides, first->in[0], SEER_SIDE_HOST);
  seer_sides_need(sides, first->in[1], SEER_SIDE_HOST);
  for (uint32_t k = 0; k < n_all; k++) {
    out->side[k] = side_of_maker(sides, last->in[k + 1]);
    if (k < n_carried) seer_sides_need(sides, first->in[k + 2], out->side[k]);
  }
  out->entry = copy_of(sides);
  out->kept = SEER_NEW_ARRAY(arena, uint8_t, n_root(sides) + 1);
  out->is_written = SEER_NEW_ARRAY(arena, bool, n_root(sides) + 1);
  find_written(sides, begin, end + 1, out->is_written);
  for (uint32_t r = 0; r < n_root(sides); r++) {
    if (!out->is_written[r] || sides->good[r] == 0) continue;
    out->kept[r] = sides->good[r] & SEER_SIDE_DEVICE ? SEER_SIDE_DEVICE : SEER_SIDE_HOST;
    sides->good[r] = out->kept[r];
  }
  seer_sides_made(sides, first->out[0], SEER_SIDE_HOST);
  seer_sides_made(sides, first->out[1], SEER_SIDE_HOST);
  for (uint32_t k = 0; k < n_carried; k++) {
    seer_sides_made(sides, first->out[k + 2], out->side[k]);
    seer_sides_made(sides, last->out[k], out->side[k]);
  }
}

void seer_sides_end_body(seer_sides *sides, const seer_sides_loop *loop) {
  if (!sides->good) return;
  const seer_node *last = node_of(sides, loop->end);
  seer_sides_need(sides, last->in[0], SEER_SIDE_HOST);
  for (uint32_t k = 0; k + 1 < last->n_out; k++)
    seer_sides_need(sides, last->in[k + 1], loop->side[k]);
  for (uint32_t r = 0; r < n_root(sides); r++)
    if (loop->kept[r]) need_root(sides, r, (seer_side)loop->kept[r]);
}

void seer_sides_leave_loop(seer_sides *sides, const seer_sides_loop *loop) {
  if (!sides->good) return;
  const seer_node *last = node_of(sides, loop->end);
  for (uint32_t r = 0; r < n_root(sides); r++)
    sides->good[r] = loop->is_written[r] ? loop->kept[r] : loop->entry[r];
  for (uint32_t k = 0; k + 1 < last->n_out; k++)
    seer_sides_made(sides, last->out[k], loop->side[k]);
  seer_sides_made(sides, last->out[last->n_out - 1], SEER_SIDE_HOST);
}

// ---- branches

void seer_sides_enter_branch(seer_sides *sides, uint32_t step, seer_sides_branch *out) {
  *out = (seer_sides_branch){.step = step};
  if (!sides->good) return;
  const seer_node *node = node_of(sides, step);
  seer_sides_need(sides, node->in[0], SEER_SIDE_HOST);
  out->entry = copy_of(sides);
  out->side = SEER_NEW_ARRAY(sides->places->arena, seer_side, node->n_out + 1u);
  for (uint32_t k = 0; k < node->n_out; k++) {
    bool is_of_host = true;
    for (uint32_t side = 0; side < 2; side++) {
      seer_val v = node->in[side * node->n_out + k + 1];
      if (v.i) is_of_host = is_of_host && side_of_maker(sides, v) == SEER_SIDE_HOST;
    }
    out->side[k] = is_of_host ? SEER_SIDE_HOST : SEER_SIDE_DEVICE;
  }
}

void seer_sides_begin_side(seer_sides *sides, const seer_sides_branch *branch) {
  if (sides->good) memcpy(sides->good, branch->entry, n_root(sides));
}

// What both sides leave good. What they leave good in different places is brought, at the end of
// the else side, to where the then side has it.
static void join(seer_sides *s, const uint8_t *then_good) {
  for (uint32_t r = 0; r < n_root(s); r++) {
    bool differs = s->good[r] && then_good[r] && !(s->good[r] & then_good[r]);
    if (differs)
      need_root(s, r, then_good[r] & SEER_SIDE_DEVICE ? SEER_SIDE_DEVICE : SEER_SIDE_HOST);
    s->good[r] &= then_good[r];
  }
}

void seer_sides_end_side(
    seer_sides *sides, seer_sides_branch *branch, bool is_else, bool is_built) {
  if (!sides->good) return;
  const seer_node *node = node_of(sides, branch->step);
  for (uint32_t k = 0; k < node->n_out && is_built; k++) {
    seer_val from = node->in[(is_else ? node->n_out : 0u) + k + 1], to = node->out[k];
    if (to.i == 0) continue;
    seer_sides_need(sides, from, branch->side[k]);
    seer_sides_made(sides, to, branch->side[k]);
  }
  if (!is_else)
    branch->then_good = is_built ? copy_of(sides) : NULL;
  else if (!is_built)
    memcpy(sides->good, branch->then_good, n_root(sides));
  else if (branch->then_good)
    join(sides, branch->then_good);
}
