// Target descriptions: any text is refused or prints to what parses to the same; a GPU's facts are
// such that the arithmetic on them goes through.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "setup/gpu/occupancy.h"

static void occupy(const seer_target_gpu *gpu) {
  const seer_occupancy_block blocks[] = {{1, 0, 0},
      {gpu->max_block_items, gpu->max_item_registers, gpu->max_block_bytes},
      {UINT32_MAX, UINT32_MAX, UINT64_MAX}};
  for (size_t i = 0; i < SEER_COUNT_OF(blocks); i++) {
    seer_occupancy o = seer_occupancy_of(gpu, &blocks[i]);
    if (o.n_blocks > gpu->max_processor_blocks || (i == 2 && o.n_blocks > 0)) abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  const char *text = seer_arena_strndup(arena, (const char *)data, n_bytes);
  seer_target target, back;
  // "native" would read this machine's /proc each time.
  seer_status status = strstr(text, "native") ? SEER_OK : seer_target_parse(text, arena, &target);
  if (!status && !strstr(text, "native") && !strchr(text, '"')) {
    const char *printed = seer_target_print(&target, arena);
    seer_status again = seer_target_parse(printed, arena, &back);
    if (again || strcmp(seer_target_print(&back, arena), printed) != 0) abort();
  }
  if (!status && !strstr(text, "native") && target.kind != SEER_TARGET_CPU) occupy(&target.gpu);
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
