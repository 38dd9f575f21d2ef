// target.h - what is known about the hardware, with units. A target is a parameter, never a copy of
// code. Text forms: "cpu -triple=x86_64-linux-gnu -cpu=znver4 -features=+avx512f,... -threads=2
// -lanes=16 ...", "cuda -arch=sm_90 -processors=132 ...", "opencl -processors=16 ...".
//
// A target is of a kind. What a field is of stands at it; what is of another kind is "" or 0, and
// code that reads it has been given a target that it cannot serve: seer_target_check_cpu stands at
// the entrance (seer_context_find_target has it), and says so.
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
#define SEER_TARGET_NAME_BYTES 96
// Of a GPU's kernels: each argument lies at a multiple of so many bytes, a part of another value's
// memory too: the longest access of an item.
#define SEER_TARGET_ITEMS_ALIGN 16

typedef enum {
  SEER_TARGET_CPU,
  SEER_TARGET_CUDA,
  SEER_TARGET_OPENCL,
  SEER_TARGET_KIND_COUNT
} seer_target_kind;

// Of kinds CUDA and OPENCL. A *processor* is a multiprocessor (OpenCL: compute unit), a *block* is
// what one of them runs together, of *items* (CUDA: threads; OpenCL: work-items); *workgroup bytes*
// are those that a block's items share (CUDA: shared memory; OpenCL: local memory). What vendors
// publish, or what was measured; gpu/table.c has the sources.
typedef struct {
  uint32_t architecture;  // CUDA: 90 is sm_90. OpenCL: 0, code is compiled where it runs
  uint32_t n_processors;
  uint32_t warp_items;  // items that run one instruction together
  // Parts of a processor with a scheduler and their share of the registers each; a warp stays in
  // one
  uint32_t n_schedulers;
  uint32_t max_block_items;
  uint32_t max_processor_items, max_processor_blocks;  // that a processor has in hand at a time
  // Of 32 bits: of a processor; most of an item; how many a warp is given at a time. 0: not known,
  // and no limit to what is in hand (OpenCL, whose compilers do not say)
  uint32_t n_registers, max_item_registers, warp_register_unit;
  // Workgroup bytes of a block: as it is, and where more is asked for
  uint64_t block_bytes, max_block_bytes;
  uint64_t processor_bytes;  // workgroup bytes of all blocks that it has in hand
  // What these are counted in, and what the driver takes of each block beside its own
  uint64_t block_bytes_unit, block_bytes_reserved;
  uint64_t l2_bytes;  // of the last cache, shared by all processors, as the device reports it
  double dram_gbs;  // GB/s, all processors
  double clock_ghz;  // the highest one: what it runs at when it is not hot
  uint32_t n_fmas;  // f32, a cycle of a processor
  // Operations of tensor cores a cycle of a processor (an FMA is two), sums in f32; 0: there are
  // none for such operands
  uint32_t f16_flops, bf16_flops, tf32_flops;
  uint32_t n_banks;  // of workgroup memory
  uint32_t workgroup_cycle_bytes;  // that its banks give in a cycle
  double l2_cycle_bytes;  // that a processor gets from L2 in a cycle, while all others do, too
  // From a load to its value [cycles], and of a block's barrier: so much, and more for each warp
  uint32_t dram_cycles, l2_cycles, l1_cycles, workgroup_cycles;
  uint32_t barrier_cycles, barrier_warp_cycles;
  double launch_s;  // from a kernel's end to the next one's work, in a captured graph or queue
  // OpenCL on processors: a warp is the lanes of a vector, which the driver's compiler makes of
  // items that follow each other, and a block's memory is memory as any other
  bool items_are_lanes;
} seer_target_gpu;

typedef struct {
  // All kinds.
  seer_target_kind kind;
  const char *model_name;  // as the OS or the driver names it
  bool is_measured;  // its rates are measured; else they are estimated, or published

  // CPU.
  const char *triple;  // LLVM's, or "c", "c-vectors"
  const char *cpu;  // LLVM's name, e.g. "znver4"
  const char *features;  // all that code may use, e.g. "+avx2,+avx512f,+fma"; see setup/isa.h
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

  // CUDA, OPENCL.
  seer_target_gpu gpu;
} seer_target;

const char *seer_target_kind_name(seer_target_kind kind);  // "cuda"
// As --target takes it, short: "cuda:h100"; "cuda:sm_90" and "opencl" where it is no device that is
// built in; a CPU's triple. Cut where `out` ends.
void seer_target_name(const seer_target *target, char out[SEER_TARGET_NAME_BYTES]);
// Whether its rates are those of a device: a CPU's, or what a vendor publishes of a named GPU. What
// is assumed of others (cuda:sm_90, opencl) is less than most have, and bounds nothing.
bool seer_target_has_own_rates(const seer_target *target);
// UNSUPPORTED, with the target's name, unless it is a CPU, and with what there is for others.
SEER_MUST_USE seer_status seer_target_check_cpu(const seer_target *target);

// ---- CPUs. The functions are for any kind unless they say otherwise; GPUs are no "c" and have no
// such features.

// f32 lanes of a full vector. Of a CPU.
static inline uint32_t seer_target_lanes(const seer_target *target) {
  SEER_ASSERT(target->kind == SEER_TARGET_CPU, "kind %d", (int)target->kind);
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
// Whether warps of 32 items multiply matrices (MMA of vector code): CUDA's from sm_80 on, of f16,
// bf16 and tf32.
#define SEER_TARGET_MMA_ARCHITECTURE 80
bool seer_target_has_mma(const seer_target *target);
// Whether items copy words into a block's memory that they do not wait for (COPY of vector code).
#define SEER_TARGET_COPY_ARCHITECTURE 80
#define SEER_TARGET_COPY_BYTES 4  // at least
bool seer_target_has_copies(const seer_target *target);

// The machine that we run on; figures that must be measured are estimated. Strings in `arena`.
SEER_MUST_USE seer_status seer_target_detect(seer_arena *arena, seer_target *out_target);
// Parses the text form, or "native", or a bare triple, or "c" or "c-vectors", or a GPU by name
// ("cuda:h100", "cuda:sm_90", "opencl:generic"; gpu/gpu.h), each with
// options ("aarch64-linux-gnu -cpu=neoverse-n1"); no device by number, which would be another one
// elsewhere (code/gpu/here.h). A bare triple is what every machine of it has:
// x86_64-linux-gnu is plain x86-64. "c" and "c-vectors" take no -cpu= and -features=; the latter's
// vectors are as wide as -lanes= says, 4 else. -cpu= brings its features, -features=
// adds and takes away ("+avx2,-fma"); only in the text form, which begins with "cpu", it is the
// whole list. Lanes, registers and pipes that no option states follow from the features. Errors
// name what there is in place of an unknown name.
SEER_MUST_USE seer_status seer_target_parse(
    const char *text, seer_arena *arena, seer_target *out_target);
// Does the text name a GPU, known or not? Nothing is detected.
bool seer_target_text_is_gpu(const char *text);
const char *seer_target_print(const seer_target *target, seer_arena *arena);
// Errors: UNSUPPORTED where this machine can't run code for the target (kind, architecture, or a
// feature that it lacks, by name).
SEER_MUST_USE seer_status seer_target_check_here(const seer_target *target);
// Measures peak_gflops and the bandwidths (about 0.3 s, one thread). Of a CPU, as the next two.
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
// The part that records are keyed by: instruction set, CPU model, threads, cache sizes; of a GPU
// all but its rates. And the part that must match for a record to be usable at all: features and
// threads; of a GPU the architecture and what a block may have. Both have the kind in them.
uint64_t seer_target_key(const seer_target *target);
uint64_t seer_target_feature_key(const seer_target *target);

#endif
