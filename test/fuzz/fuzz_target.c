// Target descriptions: any text is refused or prints to what parses to the same.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "setup/target.h"

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
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
