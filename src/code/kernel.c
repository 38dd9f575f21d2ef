// kernel.c - what can be done with a compiled kernel without a compiler.

#include "code/kernel.h"

#include <string.h>

seer_kernel *seer_kernel_copy(const seer_kernel *kernel, seer_arena *arena) {
  seer_kernel *copy = seer_arena_memdup(arena, kernel, sizeof(*kernel));
  copy->symbol = seer_arena_strdup(arena, kernel->symbol);
  copy->object = seer_arena_memdup(arena, kernel->object, kernel->n_object_bytes);
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_pack *pack = kernel->arg[a].pack;
    if (pack) copy->arg[a].pack = seer_arena_memdup(arena, pack, sizeof(*pack));
  }
  return copy;
}
