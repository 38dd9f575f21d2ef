// Bytes as a .npy file: read or refused, never beyond the bytes.
#include "fuzz/fuzz.h"
#include "setup/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  seer_npy npy;
  seer_status_free(seer_npy_parse("fuzz", data, n_bytes, arena, &npy));
  seer_arena_destroy(arena);
  return 0;
}
