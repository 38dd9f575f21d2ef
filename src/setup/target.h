// target.h - what is known about the hardware, with units. A target is a parameter, never a copy of
// code. Text form: "cpu -triple=x86_64-linux-gnu -cpu=znver4 -features=+avx512f,... -threads=2
// -lanes=16 ...".
//
// The targets "c" and "c-vectors" are CPUs of which nothing is known: they have a C compiler, and
// no instruction set here. Their code is written as C and never run by this program.
//
// Memory: a target holds texts that it does not own; they live in the arena that it was made with.
//
// Threads: any. What measures wants the thread's core for itself.
#ifndef SEER_SETUP_TARGET_H
#define SEER_SETUP_TARGET_H

#include "base/text.h"

#define SEER_TARGET_MAX_VECTOR_BYTES 64

typedef enum {
  SEER_TARGET_CPU,
  SEER_TARGET_CUDA,
  SEER_TARGET_OPENCL,
  SEER_TARGET_KIND_COUNT
} seer_target_kind;

typedef struct {
  seer_target_kind kind;
  const char *triple;  // LLVM's, or "c", "c-vectors"
  const char *cpu;  // LLVM's name, e.g. "znver4"
  const char *features;  // all that code may use, e.g. "+avx2,+avx512f,+fma"; see setup/isa.h
  const char *model_name;  // as the OS names it
  uint32_t threads;  // worker threads of one inference
  // 64 for AVX-512, 32 for AVX2, 16 for SSE/NEON. "c": what the rows of inner loops are made for,
  // so that a compiler can make vectors of them
  uint32_t vector_bytes;  // at most SEER_TARGET_MAX_VECTOR_BYTES
  uint32_t n_vector_registers;
  uint32_t n_fma_ports;  // vector FMAs issued per cycle
  uint32_t fma_latency_cycles;
  uint32_t cache_line_bytes;
  // per core, per core, shared by all; L2 and L3 may be 0: there is none
  uint64_t l1_bytes, l2_bytes, l3_bytes;
  double peak_gflops;  // f32, one thread: measured, else estimated
  double dram_gbs, l2_gbs, l3_gbs;  // GB/s, one thread
  bool is_measured;
} seer_target;

// f32 lanes of a full vector.
static inline uint32_t seer_target_lanes(const seer_target *target) {
  return target->vector_bytes / 4;
}
bool seer_target_is_plain(const seer_target *target);  // "c": no vectors but the compiler's
bool seer_target_is_c(const seer_target *target);  // that, or "c-vectors"
// Whether code may use all of `features`, by LLVM's names: "avx2,fma".
bool seer_target_has(const seer_target *target, const char *features);
// Whether it has an instruction that adds two products of bf16 to an f32 (DOT2) in the time of a
// multiply-add. That of processors with AMX takes as long as four, and two multiply-adds are used
// there: sapphirerapids 0.718 ns for 0.179, latency 4.4 for 1.4; Zen 4 and 5 have it at the
// multiply-add's rate (2026-11).
bool seer_target_dots_halves(const seer_target *target);

// Whether it has instructions that multiply matrices of words of four bytes (DOT4), or of two bf16
// (DOT2): up to 16 x 16 times 16 x 16, in eight registers of that size (AMX).
bool seer_target_multiplies_bytes(const seer_target *target);
bool seer_target_multiplies_halves(const seer_target *target);

// The machine that we run on; figures that must be measured are estimated. Strings in `arena`.
SEER_MUST_USE seer_status seer_target_detect(seer_arena *arena, seer_target *out_target);
// Parses the text form, or "native", or a bare triple, or "c" or "c-vectors", each with
// options ("aarch64-linux-gnu -cpu=neoverse-n1"). A bare triple is what every machine of it has:
// x86_64-linux-gnu is plain x86-64. "c" and "c-vectors" take no -cpu= and -features=; the latter's
// vectors are as wide as -lanes= says, 4 else. -cpu= brings its features, -features=
// adds and takes away ("+avx2,-fma"); only in the text form, which begins with "cpu", it is the
// whole list. Lanes, registers and pipes that no option states follow from the features. Errors
// name what there is in place of an unknown name.
SEER_MUST_USE seer_status seer_target_parse(
    const char *text, seer_arena *arena, seer_target *out_target);
const char *seer_target_print(const seer_target *target, seer_arena *arena);
// Errors: UNSUPPORTED where this machine can't run code for the target (architecture, or a feature
// that it lacks, by name).
SEER_MUST_USE seer_status seer_target_check_here(const seer_target *target);
// Measures peak_gflops and the bandwidths (about 0.3 s, one thread).
SEER_MUST_USE seer_status seer_target_measure(seer_target *target);
// This thread's FMA peak at this moment: to hold a kernel against, in turns. The best of stretches
// of stretch_s each, which is to be as long as the kernel's own samples: in a phase in which others
// use the core every other millisecond, a short stretch may see none of them, a long one never
// does without. For benches.
SEER_MUST_USE seer_status seer_target_peak_now(
    const seer_target *target, double stretch_s, double budget_s, double *out_gflops);
// The same with a load for every two FMAs, as in a kernel's register tile. On a core of one's own
// it equals the peak. Somebody else's thread on the same core takes half of the instructions that
// the core can start: the FMAs alone still fit the other half, this and every kernel does not. A
// control for whether the core is one's own just now. For benches.
SEER_MUST_USE seer_status seer_target_fed_now(
    const seer_target *target, double stretch_s, double budget_s, double *out_gflops);
// The part that records are keyed by: instruction set, CPU model, threads, cache sizes; and the
// part that must match for a record to be usable at all: features and threads.
uint64_t seer_target_key(const seer_target *target);
uint64_t seer_target_feature_key(const seer_target *target);

#endif
