// kernel.h - LOOPS -> CODE: one loop IR becomes one function per phase: an object, through LLVM 19,
// or the text of a program (build/source.c).
//   void <symbol>_p<phase>(void *const *buffers, uint32_t part)
// buffers[k] is argument k of seer_kernel.arg; the last one is the calling thread's scratch. No
// libc, no libm, no calls, no writable globals: an object is position-independent and
// self-contained.
//
// Of a block program each phase is a kernel for a GPU, a function of the arguments in their order:
// n_parts blocks of n_items items, one-dimensional, with group_bytes of a block's memory that the
// code declares itself. It has no scratch, and every argument is aligned to 16 bytes.
//
// Memory: a kernel, its texts and its object are in the arena that is given; packs are the loop's.
//
// Threads: a code generator is one thread's at a time.
#ifndef SEER_CODE_KERNEL_H
#define SEER_CODE_KERNEL_H

#include "code/object/object.h"
#include "setup/context.h"
#include "space/loop.h"

typedef struct {
  // INPUT, PACKED, OUTPUT, SHARED; LOCAL = the per-thread scratch (the last argument)
  seer_loop_storage storage;
  uint32_t dag_buf;
  uint64_t n_bytes;
  const seer_pack *pack;  // PACKED
  seer_dtype dtype;
} seer_kernel_arg;

typedef enum {
  SEER_KERNEL_ELF,  // an object
  SEER_KERNEL_SOURCE,  // functions of C, without what stands once in front of all kernels
  // Of block programs: the text of kernels, as above, and what compilers make of it
  SEER_KERNEL_OPENCL_C,
  SEER_KERNEL_OPENCL,  // a binary for one device and driver
  SEER_KERNEL_CUDA_C,
  SEER_KERNEL_CUBIN,  // for one architecture
  SEER_KERNEL_FORMAT_COUNT
} seer_kernel_format;
const char *seer_kernel_format_name(seer_kernel_format format);  // "cubin"
static inline bool seer_kernel_has_items(seer_kernel_format format) {
  return format >= SEER_KERNEL_OPENCL_C;
}

// More than any GPU has.
#define SEER_KERNEL_MAX_GROUP_BYTES (1u << 20)

// How a phase of a block program is launched.
typedef struct {
  uint32_t n_items;  // of a block; 0: it is no block program
  uint32_t group_bytes;  // of its memory, each buffer aligned to 64
} seer_kernel_launch;

typedef struct {
  const char *symbol;
  uint32_t n_phase;
  uint32_t n_parts[SEER_DAG_MAX_STAGES];
  seer_kernel_launch launch[SEER_DAG_MAX_STAGES];
  // Of block programs: runs where seer_target_has_mma, seer_target_has_copies
  bool has_mma, has_copies;
  uint32_t n_arg;
  seer_kernel_arg arg[SEER_DAG_MAX_BUFFERS];
  uint64_t scratch_bytes;  // per thread
  // Facts for reports and for the analytic model's test
  uint32_t code_bytes;  // SOURCE: 0
  seer_kernel_format format;
  const void *object;  // what `format` says, in the arena
  size_t n_object_bytes;
} seer_kernel;

// All of a kernel but its code and its scratch, the last argument.
// Errors: UNSUPPORTED a phase has more parts than can be run, or more of a block's memory than any
// GPU has.
SEER_MUST_USE seer_status seer_kernel_describe(
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_kernel *out);
// What a thread needs, as the last argument.
void seer_kernel_set_scratch(seer_kernel *kernel, uint64_t n_bytes);

// An LLVM context and target machine; one per thread. While one lives, two passes of LLVM are off
// for the whole process (llvm/switches.c).
typedef struct seer_codegen seer_codegen;

// Owned: seer_codegen_destroy. Context and target are kept.
// Errors: UNSUPPORTED, INVALID: LLVM has no such target, processor or feature.
SEER_MUST_USE seer_status seer_codegen_create(
    const seer_context *context, const seer_target *target, seer_codegen **out);
void seer_codegen_destroy(seer_codegen *codegen);

// Compiles. `symbol` names the functions; equal loops and symbols give equal bytes.
// Errors: UNSUPPORTED for an expression or type without code; INTERNAL when LLVM refuses the
// module.
SEER_MUST_USE seer_status seer_codegen_build(seer_codegen *codegen, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_kernel *out_kernel);
// IR or assembly text, in `arena`. What has no code is said in it, as a comment in front.
const char *seer_codegen_print(
    seer_codegen *codegen, const seer_loop *loop, bool assembly, seer_arena *arena);

// ---- in this process, for measuring and tests
// Loads its object (code/object/object.h), of format ELF: n_phase functions, until
// seer_object_unload.
SEER_MUST_USE seer_status seer_kernel_load(
    const seer_kernel *kernel, seer_kernel_phase *out_phase, seer_loaded *out_loaded);

#endif
