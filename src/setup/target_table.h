// target_table.h - facts about processors that can't be asked from them: LLVM's name, FMA pipes,
// latency. Inside src/setup only.
// All that is returned is constant.
#ifndef SEER_SETUP_TARGET_TABLE_H
#define SEER_SETUP_TARGET_TABLE_H

#include "setup/target.h"

typedef struct {
  const char *name;  // LLVM's
  uint32_t vector_bytes;  // its widest
  uint32_t n_fma_ports;  // for vectors of that width
  uint32_t fma_latency_cycles;
  // Features, LLVM's names, that code for this CPU may use and a hypervisor may have masked:
  // without one of them the next entry for the same processor is tried.
  const char *needs;
} seer_target_cpu;

// A processor as x86's cpuid names it -> its CPUs, best first.
typedef struct {
  const char *vendor;  // "GenuineIntel"
  uint32_t family, first_model, last_model;
  const char *cpus[4];  // names in the table above, then NULL
} seer_target_model;

const seer_target_cpu *seer_target_find_cpu(const char *name);  // NULL when unknown
// The best entry for the processor that `features` (sorted list, "+a,+b") allows; by the features
// alone where they are more than the model has. Never NULL.
const seer_target_cpu *seer_target_match_cpu(
    const char *vendor, uint32_t family, uint32_t model, const char *features);
bool seer_target_has_feature(const char *features, const char *name);

#endif
