// cpu.h - what the machine that runs a model offers: processors that we may use, instruction sets
// that it has. Part of the archive inside every model.so: libc only.
#ifndef SEER_RUNTIME_CPU_H
#define SEER_RUNTIME_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Processors that may be used: those of an affinity mask of n_affine (0: this thread's mask), cut
// by the cgroup quota rounded down, at least 1.
uint32_t seer_cpu_allowed(uint32_t n_affine);

// True if `name` (LLVM's spelling, without + or -, `n` bytes) is a feature that seer_cpu_missing
// can look up.
bool seer_cpu_knows(const char *name, size_t n);

// Checks a list like "+avx2,+fma". NULL if this machine has all of them; else the first that it
// lacks (or that is not known here), copied into `out` and cut to n_out bytes.
const char *seer_cpu_missing(const char *features, char *out, size_t n_out);

#endif
