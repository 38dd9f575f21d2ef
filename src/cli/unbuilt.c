// unbuilt.c - the same of a network and of a library: by the graph's nodes, and by model.json.
#include "cli/unbuilt.h"

#include <stdio.h>

#include "base/text.h"
#include "library/description.h"

void seer_unbuilt_list(const seer_graph *graph, json_t *list, seer_arena *arena) {
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const char *text = seer_front_unbuilt_text(&graph->node[k], arena);
    if (text) json_array_append_new(list, json_string(seer_text_safe_whole(arena, text)));
  }
}

static void print_steps(const json_t *steps, seer_arena *arena) {
  size_t i;
  const json_t *step;
  json_array_foreach(steps, i, step) {
    if (!json_object_get(step, "not_built")) continue;
    printf("%-12s'%s', %s side: %s\n", "not built", seer_description_text(step, "name", arena),
        seer_description_text(step, "not_built", arena),
        seer_text_safe_whole(arena, seer_description_raw(step, "why")));
  }
}

void seer_unbuilt_print(const json_t *info, seer_arena *arena) {
  const json_t *sets = json_object_get(info, "sets"), *set;
  size_t i;
  if (!sets) print_steps(json_object_get(info, "steps"), arena);
  json_array_foreach(sets, i, set) { print_steps(json_object_get(set, "steps"), arena); }
}
