#include "test_target.h"

#include <string.h>

#include "base/os.h"
#include "support/test.h"

#define COMMON                                                                                 \
  .kind = SEER_TARGET_CPU, .triple = "x86_64-linux-gnu", .features = "", .model_name = "test", \
  .threads = 2, .n_fma_ports = 2, .fma_latency_cycles = 4, .cache_line_bytes = 64,             \
  .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20, .peak_gflops = 100,         \
  .dram_gbs = 10, .l2_gbs = 100, .l3_gbs = 50

const seer_target test_target_narrow = {
    COMMON, .cpu = "test", .vector_bytes = 16, .n_vector_registers = 16};

const seer_target test_target_wide = {
    COMMON, .cpu = "znver4", .vector_bytes = 64, .n_vector_registers = 32};

seer_target test_target_with(uint32_t vector_bytes, uint32_t n_vector_registers) {
  return (seer_target){.vector_bytes = vector_bytes ? vector_bytes : 16,
      .threads = 2,
      .n_vector_registers = n_vector_registers};
}

const char *const test_target_names[TEST_TARGETS] = {
    "laptop", "zen4-avx2", "zen4-avx512", "server", "server-estimated", "one-core"};

const char *test_target_text(const char *name, seer_arena *arena) {
  char *text;
  const char *path = seer_arena_printf(arena, SEER_SOURCE_DIR "/test/targets/%s.target", name);
  must(seer_os_read_file(path, arena, 1u << 16, &text, NULL));
  text[strcspn(text, "\n")] = '\0';
  return text;
}

seer_target test_target_read(const char *name, seer_arena *arena) {
  seer_target target;
  seer_status status = seer_target_parse(test_target_text(name, arena), arena, &target);
  if (status) fail_msg("%s: %s", name, seer_status_message(status));
  return target;
}
