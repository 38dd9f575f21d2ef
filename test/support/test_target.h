// test_target.h - machines that tests make sketches for; nothing runs on them.
#ifndef SEER_TEST_TARGET_H
#define SEER_TEST_TARGET_H

#include "setup/target.h"

extern const seer_target test_target_narrow;  // 2 threads, 4 lanes of f32, 16 registers
extern const seer_target test_target_wide;  // 2 threads, AVX-512: 16 lanes, 32 registers

#endif
