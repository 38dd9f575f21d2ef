#include "test_target.h"

#define COMMON                                                                                 \
  .kind = SEER_TARGET_CPU, .triple = "x86_64-linux-gnu", .features = "", .model_name = "test", \
  .threads = 2, .n_fma_ports = 2, .fma_latency_cycles = 4, .cache_line_bytes = 64,             \
  .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20, .peak_gflops = 100,         \
  .dram_gbs = 10, .l2_gbs = 100, .l3_gbs = 50

const seer_target test_target_narrow = {
    COMMON, .cpu = "test", .vector_bytes = 16, .n_vector_registers = 16};

const seer_target test_target_wide = {
    COMMON, .cpu = "znver4", .vector_bytes = 64, .n_vector_registers = 32};
