// unbuilt.h - Ifs of which one side cannot be built, as the commands list them.
#ifndef SEER_CLI_UNBUILT_H
#define SEER_CLI_UNBUILT_H

#include <jansson.h>

#include "front/front.h"

// Appends a text for each such If of a resolved graph to `list`, an array.
void seer_unbuilt_list(const seer_graph *graph, json_t *list, seer_arena *arena);

// Prints those of a compiled library, from its description.
void seer_unbuilt_print(const json_t *info, seer_arena *arena);

#endif
