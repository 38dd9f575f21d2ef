// cpu.h - what the machine that runs a model offers: processors that we may use, instruction sets
// that it has. Part of the archive inside every model.so: libc only.
#ifndef SEER_RUNTIME_CPU_H
#define SEER_RUNTIME_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Processors that may be used: those of an affinity mask of n_affine (0: this thread's mask), cut
// by the tightest cgroup quota rounded down, at least 1.
uint32_t seer_cpu_allowed(uint32_t n_affine);

// What a processor and its system say of themselves, in the words that cpu_features.inc names.
enum { SEER_CPU_WORDS = 8 };
typedef struct {
  const char *architecture;  // as a triple begins: "x86_64"; "" where no feature is known
  uint32_t word[SEER_CPU_WORDS];
  uint64_t saved;  // x86: XCR0
} seer_cpu_facts;

// Of this machine. Asks for tiles where the processor has them.
void seer_cpu_read(seer_cpu_facts *out);

// True if `name` (LLVM's spelling, without + or -, `n` bytes) is a feature that seer_cpu_missing
// can look up. For tests.
bool seer_cpu_knows(const char *architecture, const char *name, size_t n);

// Checks a list like "+avx2,+fma". NULL if all are there; else those that are not (or that are not
// known here), "avx2, fma", in `out`, cut to n_out bytes (at least 1).
const char *seer_cpu_missing(
    const seer_cpu_facts *facts, const char *features, char *out, size_t n_out);

#endif
