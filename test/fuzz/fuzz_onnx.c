// Bytes as an ONNX file, all the way to tasks.
#include "front/front.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_context *context;
  seer_status status = seer_context_create(&context);
  if (status) {
    seer_status_free(status);
    return 0;
  }
  seer_arena *arena = seer_arena_create("fuzz");
  seer_graph *graph = seer_graph_create(arena, "");
  seer_network *network;
  status = seer_onnx_read_bytes("fuzz", data, n_bytes, NULL, graph);
  if (!status) status = seer_front_resolve(graph, "", NULL);
  if (!status) status = seer_front_run_passes(context, graph);
  if (!status) status = seer_network_build(context, graph, arena, &network);
  seer_status_free(status);
  seer_graph_close(graph);
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}
