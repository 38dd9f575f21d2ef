// Bytes as the text of a graph: what is accepted prints, and the print parses to the same print.
// Within a limit, as the commands that read such texts: a few bytes may ask for a gigabyte.
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"
#include "front/graph.h"
#include "fuzz/fuzz.h"

typedef struct {
  const char *text;
  size_t n_bytes;
  seer_arena *arena;  // of the graph, if there is one
  seer_graph *graph;
} input;

static seer_status parse(void *user) {
  input *in = user;
  in->arena = seer_arena_create("fuzz");
  seer_status status = seer_graph_parse("fuzz", in->text, in->n_bytes, in->arena, &in->graph);
  if (status) seer_arena_destroy(in->arena);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  input in = {(const char *)data, n_bytes, NULL, NULL};
  const seer_recover_limits limits = {
      .bytes = 8 << 20, .whose = "a text of this size", .raised_by = "nothing"};
  seer_status status = seer_recover_within(&limits, parse, &in);
  if (status) {
    seer_status_free(status);
    return 0;
  }
  seer_arena *back = seer_arena_create("fuzz-back");
  seer_graph *again;
  const char *text = seer_graph_print(in.graph, back);
  status = seer_graph_parse("print", text, strlen(text), back, &again);
  if (status || strcmp(seer_graph_print(again, back), text) != 0) abort();
  seer_arena_destroy(in.arena);
  seer_arena_destroy(back);
  return 0;
}
