// Bytes as --input-shapes: refused, or ranks and sizes within their limits; of a range, sets that a
// reader of sizes takes.
#include <stdlib.h>
#include <string.h>

#include "front/range.h"
#include "fuzz/fuzz.h"
#include "setup/shapes.h"

static seer_status check_sizes(const char *text, seer_arena *arena, uint32_t *out_n) {
  seer_named_shape *shape;
  SEER_TRY(seer_shapes_parse(text, arena, &shape, out_n));
  for (uint32_t i = 0; i < *out_n; i++) {
    if (shape[i].rank > SEER_SHAPES_MAX_RANK || !strstr(text, shape[i].name)) abort();
    for (uint32_t d = 0; d < shape[i].rank; d++)
      if (shape[i].dim[d] < 0) abort();
  }
  return SEER_OK;
}

static void check_range(const char *text, seer_arena *arena) {
  seer_range *range;
  const char *const *shapes;
  uint32_t n, n_input = 0, n_first = 0;
  seer_status status = seer_range_expand(&text, 1, arena, &range, &shapes, &n);
  for (uint32_t s = 0; s < n && !status && range; s++) {
    if (check_sizes(shapes[s], arena, &n_input)) abort();
    if (s == 0) n_first = n_input;
    if (n_input != n_first) abort();
  }
  seer_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  const char *text = seer_arena_strndup(arena, (const char *)data, n_bytes);
  uint32_t n;
  seer_status_free(check_sizes(text, arena, &n));
  check_range(text, arena);
  seer_arena_destroy(arena);
  return 0;
}
