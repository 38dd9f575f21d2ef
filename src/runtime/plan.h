// plan.h - the plan inside a model.so: what runs, on which buffers, in which order. Written by
// code/artefact, read by the runtime. A flat blob of little-endian structs without pointers;
// strings are offsets into a string table. The runtime trusts nothing: seer_plan_check bounds every
// offset.
//
//   [seer_plan_header][steps][args][ios][phases][host calls][tensors][sizes][loops][branches]
//   [moves][made values][extents][images][device][range][strings][json]
//
// A library has one plan for each set of input shapes that it was compiled for: their blobs lie one
// after another, each at a multiple of SEER_PLAN_ALIGN. They have the same inputs and outputs, but
// for the shapes, and read the same weights.bin. The kernel table has the phases of the first plan,
// then those of the second, ...; what two plans have in common is linked once. The first one's json
// speaks for the library.
#ifndef SEER_RUNTIME_PLAN_H
#define SEER_RUNTIME_PLAN_H

#include <stdint.h>

#define SEER_PLAN_MAGIC 0x6E616C7072656573u  // "seerplan"
#define SEER_PLAN_VERSION 5
#define SEER_WEIGHTS_MAGIC 0x7374677772656573u
#define SEER_PLAN_ALIGN 64
#define SEER_PLAN_PART_ALIGN 8  // of parts of values in the arena: the largest element's bytes
#define SEER_PLAN_MAX_DEPTH 32  // of loops and branches in each other
#define SEER_PLAN_MAX_SETS 64  // plans of a library
#define SEER_PLAN_MAX_BATCH 256  // of a range

typedef struct {
  uint64_t magic;
  uint32_t version, n_bytes;
  uint32_t n_step, step_offset;
  uint32_t n_arg, arg_offset;
  uint32_t n_input, n_output, io_offset;  // inputs then outputs
  // seer_plan_phase, indexed by steps; phase i is entry i of the plan's part of the kernel table
  uint32_t n_phase, phase_offset;
  uint32_t strings_offset, strings_bytes;
  uint32_t json_offset, json_bytes;
  // "+avx512f,..." that the kernels need, checked when opening; and the processor that they were
  // compiled for, for the message
  uint32_t features_string, cpu_string;
  uint32_t images_offset;  // 0: all steps run whole; else of a seer_plan_images
  // activations of a session, all steps, and what phases of a kernel leave to each other (static
  // memory plan)
  uint64_t arena_bytes;
  // scratch of host steps (max over steps), also in the arena: at arena_bytes. Libraries of
  // versions before have what phases leave to each other there.
  uint64_t shared_bytes;
  uint64_t scratch_bytes;  // per thread, of kernels and host steps (max over steps)
  uint64_t weight_bytes;  // payload of weights.bin
  uint64_t weight_hash;  // XXH3 of the payload
  uint32_t n_host, host_offset;  // seer_plan_host, indexed by steps
  uint32_t n_tensor, tensor_offset;  // seer_plan_tensor, indexed by host calls
  uint32_t n_size, size_offset;  // seer_plan_size
  uint32_t n_loop, loop_offset;  // seer_plan_loop, indexed by steps
  uint32_t n_move, move_offset;  // seer_plan_move, indexed by loops and branches
  uint32_t n_branch, branch_offset;  // seer_plan_branch, indexed by steps
  uint32_t n_made, made_offset;  // seer_plan_made, in the order of their steps
  uint32_t n_extent, extent_offset;  // int64_t, indexed by made values
  uint32_t flushes_denormals;  // kernels take denormal numbers for zeros, and make none
  uint32_t device_offset;  // 0: kernels run on processors; else of a seer_plan_device
  uint32_t range_offset;  // of a seer_plan_range, in the first plan alone; 0: there is none
  uint32_t reserved;
} seer_plan_header;

typedef enum {
  SEER_PLAN_KERNEL = 1,
  SEER_PLAN_VIEW = 2,
  SEER_PLAN_COPY_BYTES = 3,
  SEER_PLAN_HOST = 4,
  SEER_PLAN_LOOP = 5,  // its body are the steps behind it
  SEER_PLAN_BRANCH = 6,  // its sides are the steps behind it: then, else
  // ends the run with a message: what could not be built, but may never be taken
  SEER_PLAN_FAIL = 7,
  SEER_PLAN_IMAGES = 8,  // the steps behind it, kernels and views, run for each image of a batch
  // Of plans with a device: a kernel whose phases are launched there; a copy of its argument's
  // bytes to the device's memory, and back; COPY_BYTES there
  SEER_PLAN_LAUNCH = 9,
  SEER_PLAN_UPLOAD = 10,
  SEER_PLAN_DOWNLOAD = 11,
  SEER_PLAN_COPY_ON_DEVICE = 12
} seer_plan_step_kind;
#define SEER_PLAN_IS_ON_DEVICE(kind) ((kind) >= SEER_PLAN_LAUNCH)

typedef struct {
  uint32_t kind;
  uint32_t name_string, source_string;
  // KERNEL, LAUNCH; HOST: its entry of the host calls, 0; LOOP: of the loops, 0; BRANCH: of those,
  // 0; FAIL: offset of its message in the strings, 0; IMAGES: of the stretches, 0
  uint32_t first_phase, n_phase;
  // KERNEL, LAUNCH: arguments in kernel order (scratch is added by the runtime); COPY_BYTES,
  // COPY_ON_DEVICE: from, to; UPLOAD, DOWNLOAD: the one
  uint32_t first_arg, n_arg;
  uint64_t n_bytes;  // of copies
  double flops;
} seer_plan_step;

typedef struct {
  uint32_t n_parts;
  uint32_t reserved;
} seer_plan_phase;

typedef enum {
  SEER_ARG_ARENA = 1,  // offset into the session's arena
  SEER_ARG_WEIGHT = 2,  // offset into the payload of weights.bin
  SEER_ARG_INPUT = 3,  // index of a model input
  SEER_ARG_OUTPUT = 4,  // index of a model output
  SEER_ARG_SHARED = 5,  // offset into the shared scratch
  SEER_ARG_PRIVATE = 6  // offset into what a thread has for images of its own
} seer_plan_arg_kind;

typedef struct {
  uint32_t kind;
  // Of steps that run for each image: bytes from one image to the next; 0: all have the same
  // memory. Of others nobody reads it.
  uint32_t image_bytes;
  uint64_t offset;
  uint64_t n_bytes;
} seer_plan_arg;

typedef struct {
  uint32_t name_string;
  int32_t onnx_dtype;
  int32_t rank;
  // Of an output: 1 + the input whose memory it may have, of as many bytes; 0: none, and of inputs
  uint32_t shared;
  int64_t dim[12];
  uint64_t n_bytes;
} seer_plan_io;

// A value that a host call reads or writes: dense and row-major at its bounds. A dimension whose
// size is known only while running names the argument that holds the size (i64, cut to the bound).
typedef struct {
  int32_t onnx_dtype;  // 0: absent
  int32_t rank;
  int64_t dim[12];
  uint32_t size_arg[12];  // 0: dim is the size; else 1 + index of the argument
  uint32_t arg;
  uint32_t reserved;
} seer_plan_tensor;

typedef struct {
  uint32_t function;  // seer_host_function
  uint32_t n_in, n_out;  // tensors from first_tensor on
  uint32_t first_tensor;
  uint32_t scratch_arg;  // 0: none; else 1 + index of the argument
  uint32_t reserved;
  int64_t param[4];
} seer_plan_host;

// What a call of an operator of a user's is about (runtime/host/custom.h): at a multiple of 8 in
// the plan, where the call's param[0] says.
typedef struct {
  uint32_t table, index;  // of those that the library is linked with; in it
  uint32_t domain_string, name_string;  // that entry's
  uint32_t n_attribute, reserved;  // seer_plan_attribute, right behind this
} seer_plan_custom;

typedef struct {
  uint32_t name_string;
  int32_t kind;  // seer/operator.h has them
  uint32_t n;
  uint32_t offset;  // in the plan, a multiple of 8: int64_t[n], float[n], or uint32_t[n] of strings
} seer_plan_attribute;

// Output `output` has in dimension `dim` as many elements as argument `arg` says (i64).
typedef struct {
  uint32_t output, dim, arg;
  uint32_t reserved;
} seer_plan_size;

// A loop runs while fewer than `trip` iterations are done and the condition holds. All numbers of
// arguments are 1 + index; 0: absent (no limit; true).
typedef struct {
  uint32_t n_body;  // steps
  uint32_t trip_arg, start_arg;  // i64; bool before the first iteration
  uint32_t number_arg, go_arg;  // what the body reads: i64 number of the iteration, bool
  uint32_t next_arg;  // bool that the body makes
  uint32_t count_arg;  // i64: iterations that ran
  uint32_t first_move, n_carried, n_scan;
} seer_plan_loop;

// A value from iteration to iteration: `before` the loop, `in` the body, made by it as `out`, and
// as `result` after it. Scanned: `out` is row number so-and-so of `result`; before and in are 0.
typedef struct {
  uint32_t before_arg, in_arg, out_arg, result_arg;
  uint64_t n_bytes;  // of one iteration
} seer_plan_move;

// One of two sides runs. What it has as a result is then moved to where both have it, unless it was
// made there: moves of `out` to `result`, those of the then side first.
typedef struct {
  uint32_t condition_arg;  // bool; 1 + index of the argument
  uint32_t n_then, n_else;  // steps
  uint32_t first_move, n_then_move, n_else_move;
} seer_plan_branch;

// Steps that run for each of n_images images. is_apart: each image runs on one thread, with the
// private memory of that thread; else one after another, each on all threads.
typedef struct {
  uint32_t n_body;  // steps
  uint32_t n_images;
  uint32_t is_apart;
  uint32_t reserved;
} seer_plan_stretch;

// Where a plan has steps that run image by image.
typedef struct {
  uint64_t private_bytes;  // of each thread: what steps that run apart leave to each other
  uint32_t n_stretch;  // seer_plan_stretch, right behind this; indexed by steps
  uint32_t reserved;
} seer_plan_images;

// Kernels on a device. Arguments have memory on the host and on the device: the arena, weights,
// inputs and outputs, at the same offsets. Kernels of steps LAUNCH and what lies between their
// phases know the device's alone, steps of the host theirs; whichever copy of a value is to be read
// was written there before, or copied by a step.
typedef struct {
  uint32_t driver_string;  // "opencl": runtime/device/device.h
  uint32_t launch_offset;  // seer_plan_launch, one for each phase of this plan
  uint32_t place_offset;  // uint8_t, one for each move: 1 if it is done on the device
  // Of the library, in its first plan; in others 0
  uint32_t n_module, module_offset;  // seer_plan_module, indexed by launches of all plans
  uint32_t n_image, image_offset;  // seer_plan_image, indexed by modules
  uint32_t reserved;
} seer_plan_device;

// How a phase is launched: as many blocks as it has parts.
typedef struct {
  uint32_t module, name_string;
  uint32_t n_items, group_bytes;
} seer_plan_launch;

// What a device loads: the first of its images that it can run.
typedef struct {
  uint32_t first_image, n_image;
} seer_plan_module;

typedef struct {
  uint32_t format;  // seer_image_format
  uint32_t architecture;
  uint32_t made_for_string;
  uint32_t reserved;
  uint64_t offset, n_bytes;  // of its bytes, in the plan
} seer_plan_image;

// A library for any batch from `first` to `last`: each of its plans is for one size, and what is no
// plan's size is run by several, one after another, each on the next part of the inputs and
// outputs. Of an output, and an input with the batch, an image has dim[0] / size of the first
// dimension.
typedef struct {
  uint32_t first, last;
  uint32_t size_offset;  // uint32_t, by plan: the batch that it is for
  // uint32_t, by size from 0 to `last`: 1 + the plan that runs first, behind it what is left; 0:
  // there is no way
  uint32_t next_offset;
  uint32_t ranged_offset;  // uint8_t, by input: 1 if its first dimension is the batch
  uint32_t reserved;
} seer_plan_range;

// A value of the network that is in memory once `step` has run: for who looks at a run
// (session_watch), nothing else reads it. Element 0 is where argument `arg` begins; from
// first_extent on there are `rank` dimensions, at their bounds, and as many strides in elements.
typedef struct {
  uint32_t step, name_string;
  int32_t onnx_dtype, rank;
  uint32_t first_extent, arg;
  uint32_t bounded;  // as seer_io_info has it
  uint32_t is_on_device;  // and not on the host
} seer_plan_made;

// weights.bin: this header, then the payload at SEER_PLAN_ALIGN.
typedef struct {
  uint64_t magic;
  uint32_t version, header_bytes;
  uint64_t n_bytes;  // payload
  uint64_t hash;  // of the payload
} seer_weights_header;

// A model.so defines these (made by code/artefact); the runtime archive linked into it reads them.
extern const uint8_t seer_plan_blob[];
extern const uint64_t seer_plan_blob_bytes;
extern const uint64_t seer_plan_blob_hash;  // XXH3
extern void (*const seer_plan_kernels[])(void *const *buffers, uint32_t part);
// What runs kernels on devices (runtime/runner.h): linked into libraries that have a device, and
// defined in those alone.
extern const struct seer_runner *const seer_plan_runner __attribute__((weak, visibility("hidden")));

// Tables of operators of users, NULL behind the last: in libraries that have such operators.
extern const struct seer_operator_table *const seer_plan_operators[]
    __attribute__((weak, visibility("hidden")));

// Bounds of everything; returns NULL if sound, else what is wrong. For tests.
const char *seer_plan_check(const void *blob, uint64_t n_bytes);
// The same for all plans of a library, and that they fit together, but for what they say of a
// device (runtime/runner/check.h). out_plan[SEER_PLAN_MAX_SETS]:
// where each begins.
const char *seer_library_check(
    const void *blob, uint64_t n_bytes, uint64_t *out_plan, uint32_t *out_n_plan);

#endif
