// Bytes as --input-shapes: refused, or ranks and sizes within their limits.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "setup/shapes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  const char *text = seer_arena_strndup(arena, (const char *)data, n_bytes);
  seer_named_shape *shape;
  uint32_t n;
  seer_status status = seer_shapes_parse(text, arena, &shape, &n);
  for (uint32_t i = 0; i < n && !status; i++) {
    if (shape[i].rank > SEER_SHAPES_MAX_RANK || !strstr(text, shape[i].name)) abort();
    for (uint32_t d = 0; d < shape[i].rank; d++) {
      if (shape[i].dim[d] < 0) abort();
    }
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
