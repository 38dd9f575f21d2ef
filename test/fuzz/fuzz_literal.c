// Bytes as a value of --bind: refused, or a tensor whose text is read as the same tensor.
#include <stdlib.h>
#include <string.h>

#include "front/bind/literal.h"
#include "fuzz/fuzz.h"

static void check(const char *text, seer_dtype dtype, seer_arena *arena) {
  seer_tensor tensor, again;
  seer_status status = seer_literal_parse(text, dtype, arena, &tensor);
  if (!status) {
    if (tensor.n_bytes != (size_t)seer_tensor_elems(&tensor) * seer_dtype_bytes(dtype)) abort();
    const char *printed = seer_literal_print(&tensor, 64, arena);
    if (printed && seer_literal_parse(printed, dtype, arena, &again)) abort();
    if (printed && (again.rank != tensor.rank || again.n_bytes != tensor.n_bytes)) abort();
    if (printed && memcmp(again.data, tensor.data, tensor.n_bytes) != 0) abort();
  }
  seer_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  const char *text = seer_arena_strndup(arena, (const char *)data, n_bytes);
  (void)seer_literal_is_meant(text);
  for (int dtype = SEER_DTYPE_F32; dtype < SEER_DTYPE_COUNT; dtype++)
    check(text, (seer_dtype)dtype, arena);
  seer_arena_destroy(arena);
  return 0;
}
