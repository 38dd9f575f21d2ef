// test_target.h - machines that tests make sketches for and hold choices against; nothing runs on
// them. Those of test/targets are files, which shell and Python tests read too.
#ifndef SEER_TEST_TARGET_H
#define SEER_TEST_TARGET_H

#include "setup/target.h"

extern const seer_target test_target_narrow;  // 2 threads, 4 lanes of f32, 16 registers
extern const seer_target test_target_wide;  // 2 threads, AVX-512: 16 lanes, 32 registers

// 2 threads and such vectors (0 bytes: as of 16), and nothing else is known of it.
seer_target test_target_with(uint32_t vector_bytes, uint32_t n_vector_registers);

// The machines that choices are asserted for; tool/quick_on_targets.sh takes the same.
enum { TEST_TARGETS = 6 };
extern const char *const test_target_names[TEST_TARGETS];
// test/targets/<name>.target; fails the test if it is not there. Text in `arena`.
const char *test_target_text(const char *name, seer_arena *arena);
seer_target test_target_read(const char *name, seer_arena *arena);

#endif
