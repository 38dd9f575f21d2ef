// profile.h - what the kernels of a GPU's schedule ask of the device, by arithmetic on its nest
// summary: instructions, turns of banks, bytes by level, waits, and how many blocks are in hand at
// a time. Shared by the estimate and the features.
// Source: doc/decisions/81-gpu-measured.md (what counts), 104 (how far it is off).
//
// A kernel is a phase. Of its statements, one block's share is added up: statements of a block
// follow each other, what they ask of one pipe adds up, and barriers stand between.
// All is pure, over the caller's storage: safe from any thread.
#ifndef SEER_LEARN_GPU_PROFILE_H
#define SEER_LEARN_GPU_PROFILE_H

#include "setup/gpu/occupancy.h"
#include "space/nest.h"

#define SEER_PROFILE_MAX_KERNELS 32  // what is beyond has no profile, and costs nothing

typedef struct {
  double blocks, items, warps;  // warps of a block
  // Of an item: sums that it adds up, what one term of each needs, terms that are written out; what
  // it loads from far at the same time, and the results of a group that it makes at the same time
  double sums, operands, depth, loads, own;
  double held;  // elements that have been loaded for the next step
  double estimated_registers;  // by a rule of thumb, not held to what a block leaves
  double workgroup_bytes;  // of a block
  double resident;  // blocks that a processor has in hand; at least 1

  // Of a block, from its beginning to its end
  double fmas;  // instructions of warps
  double products, tf32_products;  // likewise, of matrices (space/warps.h): of halves, of TF32
  double issues;  // all instructions of warps, these included
  double turns;  // of the banks of its memory, and of the pipe that global accesses take
  double group_requests, group_turns;  // of these the banks': accesses of warps, and turns
  double requests, sectors;  // accesses of warps to global memory, and what they touch
  double l2_bytes;  // that come from L2, or go there
  double steps;  // for which operands are fetched
  double ahead;  // steps whose fetches are on their way while one is added up
  bool is_copied;  // so, and into a second buffer: a step has one barrier
  double barriers;
  // Waits of an item one after another that nothing of its own hides
  double near_waits;  // for a block's memory
  double l1_waits, l2_waits, dram_waits;
  double fetch_l2_waits, fetch_dram_waits;  // likewise, for what is fetched

  // Of the whole kernel
  double flops;  // operations on numbers, an FMA is two
  double weight_bytes, read_bytes, written_bytes;  // distinct: weights, other reads, and writes
  // Of these, what no other kernel of the program reads (its arguments, each once), and its results
  double arg_bytes, result_bytes;
} seer_kernel_profile;

// Returns the number of kernels: out[] by phase, SEER_PROFILE_MAX_KERNELS of them at most.
uint32_t seer_profile_kernels(
    const seer_nest *nest, const seer_target *target, seer_kernel_profile *out);

// Blocks in hand, from its other figures. For tests.
void seer_profile_residence(const seer_target_gpu *gpu, seer_kernel_profile *kernel);

// Cycles of a kernel on its target, launch and ends left out: the busiest processor's.
double seer_kernel_cycles(const seer_kernel_profile *kernel, const seer_target_gpu *gpu);
// With its launch, its ends, and what memory takes for what L2 does not keep.
double seer_kernel_seconds(const seer_kernel_profile *kernel, const seer_target *target);
// Of all kernels in turn: their sum, and no less than memory takes for all together.
double seer_kernels_seconds(
    const seer_kernel_profile *kernels, uint32_t n, const seer_target *target);

#endif
