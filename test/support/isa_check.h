// isa_check.h - whether compiled code keeps to its target's instruction set: by disassembling it,
// so that it shows on machines that have more.
#ifndef SEER_TEST_ISA_CHECK_H
#define SEER_TEST_ISA_CHECK_H

#include "code/kernel.h"

// NULL, or the first instruction that needs a feature that is not in target->features (in `arena`).
// Looks at x86-64 code only; of AVX-512 it tells apart no more than that.
const char *isa_check(const seer_kernel *kernel, const seer_target *target, seer_arena *arena);
// The feature that an instruction (AT&T text) needs; "" where every x86-64 machine has it.
const char *isa_feature_of(const char *instruction);

#endif
