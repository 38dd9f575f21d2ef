// part_memory.h - where interpreted steps put what they make: values that are parts of others lie
// in their memory.
#ifndef SEER_TEST_PART_MEMORY_H
#define SEER_TEST_PART_MEMORY_H

#include <string.h>

#include "front/front.h"

// Memory for value v, with its gaps, as data[v]: its base's, which is made with the first part, or
// its own. data[]: by value.
static inline void *part_memory(
    const seer_graph *graph, seer_val v, const void **data, seer_arena *arena) {
  const seer_value *value = seer_graph_value(graph, v);
  size_t size = seer_dtype_bytes(value->dtype);
  if (value->base.i == 0) {
    int64_t n = seer_value_span(value) + seer_value_pitch(value);
    if (!data[v.i]) data[v.i] = seer_arena_alloc(arena, (size_t)n * size + 1, 64);
  } else {
    const char *base = part_memory(graph, value->base, data, arena);
    data[v.i] = base + (size_t)value->offset * size;
  }
  return (void *)(uintptr_t)data[v.i];
}

// Of a step that is a view.
static inline void part_view(
    const seer_graph *graph, const seer_step *step, const void **data, seer_arena *arena) {
  const seer_value *in = seer_graph_value(graph, step->view_in),
                   *out = seer_graph_value(graph, step->view_out);
  if (out->base.i || in->base.i == step->view_out.i)
    (void)part_memory(graph, step->view_out, data, arena);
  else
    data[step->view_out.i] = data[step->view_in.i];
}

#endif
