// registers.h - how many registers an item of a kernel takes, before a compiler is asked: what is
// alive at the same time in its vector code, at the place where that is most, and what a compiler
// begins to load ahead of it.
// Source: fitted to NVRTC's figures for the kernels of networks; half are within 13 %, three of
// four within 25 %, for networks that it was not fitted to, too
// (doc/decisions/101-loops-and-registers.md).
//
// Threads: any; pure. Cost: instructions times the depth of loops around them.
#ifndef SEER_CODE_GPU_REGISTERS_H
#define SEER_CODE_GPU_REGISTERS_H

#include "code/vector/vector.h"

// Registers of 32 bits.
typedef struct {
  uint32_t values;  // numbers that are computed with, and variables: sums and operands
  uint32_t indices;  // what addresses and conditions are made of
  uint32_t addresses;  // an argument's are two, a block's memory's one
  // What the stretch between loops, branches and barriers with most of it loads: from blocks'
  // memory and from arguments.
  uint32_t near, far;
  uint32_t estimate;  // with what is not in the code; not held to what a processor has
} seer_gpu_registers;

// Of a block program's code, in a phase. For tests.
seer_gpu_registers seer_gpu_estimate_registers(const seer_vec_code *code, uint32_t phase);

#endif
