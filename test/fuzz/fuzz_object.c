// Bytes as an object of a kernel: refused, or placed in memory within its bounds, at two addresses.
// Where instructions are, and which constants, does not depend on the address. Nothing is run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/object/internal.h"
#include "fuzz/fuzz.h"

#define PAGE 4096
#define MAX_MEMORY (1 << 22)

static bool place(const seer_object *object, uint64_t address) {
  uint8_t *memory = calloc(1, object->n_memory_bytes);
  if (!memory) abort();
  seer_status status = seer_object_place(object, memory, address);
  bool is_placed = !status;
  seer_status_free(status);
  free(memory);
  return is_placed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_object object;
  seer_status status = seer_object_read(data, n_bytes, PAGE, &object);
  if (!status && object.n_memory_bytes <= MAX_MEMORY) {
    // Distances stay, and so does what becomes of them, but for the ends of the address space.
    if (place(&object, UINT64_C(1) << 46) != place(&object, (UINT64_C(1) << 46) + 64 * PAGE))
      abort();
    uint64_t at = 0;
    status = seer_object_find(&object, "kernel_p0", &at);
    if (!status && at > object.n_code_bytes) abort();
  }
  seer_status_free(status);
  return 0;
}
