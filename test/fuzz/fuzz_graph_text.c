// Bytes as the text of a graph: what is accepted prints, and the print parses to the same print.
#include <stdlib.h>
#include <string.h>

#include "front/graph.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz"), *back = seer_arena_create("fuzz-back");
  seer_graph *graph, *again;
  seer_status status = seer_graph_parse("fuzz", (const char *)data, n_bytes, arena, &graph);
  if (!status) {
    const char *text = seer_graph_print(graph, back);
    // The constants of a text may take a gigabyte: one graph at a time.
    seer_arena_destroy(arena);
    arena = seer_arena_create("fuzz");
    status = seer_graph_parse("print", text, strlen(text), back, &again);
    if (status || strcmp(seer_graph_print(again, back), text) != 0) abort();
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  seer_arena_destroy(back);
  return 0;
}
