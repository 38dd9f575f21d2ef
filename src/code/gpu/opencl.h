// opencl.h - OpenCL C -> a device's own code, by the driver that its vendor's library brings: found
// through the loader (libOpenCL), which is opened when it is asked for; nothing is linked. What is
// built is a binary that another process can load, with what each kernel needs.
//
// Memory: what is said of devices and programs is in the arena. Threads: one at a time for each
// that was opened. Errors: as said; the driver's own text is in them.
#ifndef SEER_CODE_GPU_OPENCL_H
#define SEER_CODE_GPU_OPENCL_H

#include "base/arena.h"
#include "base/status.h"

typedef struct seer_opencl seer_opencl;

//   path  of the loader, or of a driver that can do without one; NULL: by its name
// Owned: seer_opencl_close. NOT_FOUND: it is not there, or is something else. For tests.
SEER_MUST_USE seer_status seer_opencl_open(const char *path, seer_opencl **out);
void seer_opencl_close(seer_opencl *opencl);  // NULL is fine. For tests.

typedef enum {
  SEER_OPENCL_ANY,
  SEER_OPENCL_CPU,
  SEER_OPENCL_GPU,
  SEER_OPENCL_ACCELERATOR,
  SEER_OPENCL_KIND_COUNT
} seer_opencl_kind;

typedef struct {
  void *handle;  // cl_device_id
  seer_opencl_kind kind;  // not ANY
  const char *platform, *name, *version;  // "Portable Computing Language", ..., "OpenCL 3.0 ..."
  uint32_t n_units;
  uint64_t max_items;  // of a block
  uint64_t group_bytes, memory_bytes;  // of a block's memory, of its own
} seer_opencl_device;

// Device number `index` of those of a kind, platform by platform as the loader has them; of those
// alone whose platform's name contains `platform` (NULL: all).
// Errors: NOT_FOUND: there are not so many; it says how many. For tests.
SEER_MUST_USE seer_status seer_opencl_find(seer_opencl *opencl, const char *platform,
    seer_opencl_kind kind, uint32_t index, seer_arena *arena, seer_opencl_device *out);

typedef struct {
  const char *name;
  uint64_t items;  // of a block, as the text says; 0: any number
  uint64_t max_items;  // that the device can run of it
  uint64_t group_bytes;  // of a block's memory
  uint64_t private_bytes;  // of an item's own memory, as far as the driver says
} seer_opencl_kernel;

#define SEER_OPENCL_MAX_KERNELS 64
typedef struct {
  const void *binary;  // for clCreateProgramWithBinary, on the same device and driver
  size_t n_binary_bytes;
  uint32_t n;
  seer_opencl_kernel kernel[SEER_OPENCL_MAX_KERNELS];
} seer_opencl_program;

// The text of seer_source_prelude and of kernels.
//   name     of the program, for messages
//   options  beside the language's version; NULL: none
// Errors: INVALID: the compiler refuses it, with what it says; RESOURCE, DEVICE: memory or device
// are not to be had; CORRUPT: the driver gives something else. For tests.
SEER_MUST_USE seer_status seer_opencl_build(seer_opencl *opencl, const seer_opencl_device *device,
    const char *name, const char *const *texts, uint32_t n_texts, const char *options,
    seer_arena *arena, seer_opencl_program *out);

#endif
