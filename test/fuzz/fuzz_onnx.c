// Bytes as an ONNX file, all the way to tasks, within the limits of a file of that size.
#include "front/front.h"
#include "front/limit.h"
#include "fuzz/fuzz.h"

typedef struct {
  seer_context *context;
  const uint8_t *data;
  size_t n_bytes;
} file;

static seer_status load(void *user) {
  const file *f = user;
  seer_arena *arena = seer_arena_create("fuzz");
  seer_graph *graph = seer_graph_create(arena, "");
  seer_network *network;
  seer_status status = seer_onnx_read_bytes("fuzz", f->data, f->n_bytes, NULL, graph);
  if (!status) status = seer_front_resolve(graph, "", NULL);
  if (!status) status = seer_front_run_passes(f->context, graph);
  if (!status) status = seer_network_build(f->context, graph, arena, &network);
  seer_graph_close(graph);
  seer_arena_destroy(arena);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  file f = {NULL, data, n_bytes};
  seer_status status = seer_context_create(&f.context);
  if (!status) status = seer_front_limited(f.context, 1, load, &f);
  seer_status_free(status);
  seer_context_destroy(f.context);
  return 0;
}
