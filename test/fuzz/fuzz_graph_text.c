// Bytes as the text of a graph: what is accepted prints, and the print parses to the same print.
#include <stdlib.h>
#include <string.h>

#include "front/graph.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  seer_graph *graph, *again;
  seer_status status = seer_graph_parse("fuzz", (const char *)data, n_bytes, arena, &graph);
  if (!status) {
    const char *text = seer_graph_print(graph, arena);
    status = seer_graph_parse("print", text, strlen(text), arena, &again);
    if (status || strcmp(seer_graph_print(again, arena), text) != 0) abort();
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
