// gpu.h - targets that are GPUs: those that are built in, and their text form.
//
//   cuda:h100                                a device of the table
//   cuda:0, opencl:1                         a device that is here, as its driver describes it: found
//                                            by code/gpu/here.h, which makes the printed form of it
//   cuda:sm_90                               an architecture alone: a plain device of it
//   opencl:generic                           what OpenCL's devices have at least, or nearly all
//   cuda:h100 -processors=114 -dram-gbs=2039 one of these, but for what is said
//   cuda -arch=sm_90 -processors=132 ...     the form that is printed; what no option says is as in
//   opencl -processors=16 ...                a plain device
//
// A *plain device* has the limits and rates that its architecture has, and 16 processors at 1.5
// GHz, 4 MiB of L2 and 300 GB/s: less than nearly all that are sold. What is made for it runs on
// all of them; how many blocks fill a device is a matter of the device, so name it, or say
// -processors=, before something is tuned.
//
//
// Threads: any; the table is constant.
#ifndef SEER_SETUP_GPU_GPU_H
#define SEER_SETUP_GPU_GPU_H

#include "runtime/device/device.h"
#include "setup/target_fields.h"

// ---- the table
// How to add one: table.c.
typedef struct {
  const char *name;  // "cuda:h100"
  seer_target_kind kind;
  const char *model_name;
  uint32_t architecture;
  uint32_t n_processors;
  double clock_ghz;
  uint32_t l2_mib;
  double dram_gbs;
  // Where the device differs from its architecture; 0: it does not
  uint32_t n_fmas, f16_flops, bf16_flops, tf32_flops;
  double l2_cycle_bytes;
  bool is_measured;
  uint32_t n_lanes;  // OpenCL: a processor with vectors of so many f32; 0: it is none
} seer_gpu_device;

extern const seer_gpu_device seer_gpu_table[];
extern const size_t seer_gpu_table_count;

void seer_gpu_of_device(const seer_gpu_device *device, seer_target *out);
// A plain device of `architecture` (90 for sm_90); false: it is not known.
bool seer_gpu_of_architecture(uint32_t architecture, seer_target *out);
void seer_gpu_of_opencl(seer_target *out);  // the plain one
// A plain one that is a processor with vectors of so many f32. OpenCL.
void seer_gpu_of_lanes(uint32_t n_lanes, seer_target *out);

// A device as its driver describes it: with its own numbers, and for what no driver says those of
// the table's device where it is one, else of a plain one. Of one model all are the same target.
// UNSUPPORTED: of an architecture that is not known.
SEER_MUST_USE seer_status seer_gpu_of_described(
    seer_target_kind kind, const seer_device_info *info, seer_arena *arena, seer_target *out);

// "cuda:sm_70 cuda:sm_75 ...", oldest first; in `arena`.
const char *seer_gpu_architectures(seer_arena *arena);

// f32, all processors at its clock.
static inline double seer_gpu_gflops(const seer_target_gpu *gpu) {
  return 2.0 * gpu->n_fmas * gpu->n_processors * gpu->clock_ghz;
}

// ---- text, for target_text.c
extern const seer_fields seer_gpu_fields;

// `name`, "cuda" or "opencl:...", with the options behind it.
// INVALID: no such device, with those that there are; an option that is not known, has no such
// value or contradicts the name; facts that contradict each other, with both.
SEER_MUST_USE seer_status seer_gpu_parse(
    const char *name, const char *options, seer_arena *arena, seer_target *out);
void seer_gpu_name(const seer_target *target, char out[SEER_TARGET_NAME_BYTES]);
// "opencl:12", perhaps with options: the kind, the number, and in *out_rest what stands behind it.
// False: it names no device by number.
bool seer_gpu_read_number(
    const char *text, seer_target_kind *out_kind, uint32_t *out_number, const char **out_rest);

// What target.h says of keys; `h` has the kind in it.
uint64_t seer_gpu_feature_key(const seer_target *target, uint64_t h);
uint64_t seer_gpu_key(const seer_target *target, uint64_t h);

#endif
