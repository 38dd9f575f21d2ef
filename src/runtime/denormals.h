// denormals.h - denormal numbers of f32 and f64 as zeros: operands and results, in the calling
// thread, from `flush` to `restore`. Other processors than these go on as they are: who compiles
// for one is told so (code/artefact).
#ifndef SEER_RUNTIME_DENORMALS_H
#define SEER_RUNTIME_DENORMALS_H

#include <stdint.h>

// What the thread's control register was.
typedef uint64_t seer_denormals;

static inline seer_denormals seer_denormals_flush(void) {
#if defined(__x86_64__)
  const uint32_t was = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(was | 1u << 15 | 1u << 6);  // FTZ: results, DAZ: operands
  return was;
#elif defined(__aarch64__)
  uint64_t was;
  __asm__ volatile("mrs %0, fpcr" : "=r"(was));
  __asm__ volatile("msr fpcr, %0" : : "r"(was | 1u << 24) : "memory");  // FZ: both
  return was;
#else
  return 0;
#endif
}

static inline void seer_denormals_restore(seer_denormals was) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr((uint32_t)was);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(was) : "memory");
#else
  (void)was;
#endif
}

#endif
