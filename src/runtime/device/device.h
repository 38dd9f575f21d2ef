// device.h - DEVICES THAT RUN KERNELS, behind one table for each driver: what models, sessions and
// runners of candidates ask of OpenCL and CUDA alike.
//
//   driver  a library that is opened when it is asked for (nothing is linked), with its devices
//   device  one of them, opened: its memory, and modules that were loaded into it
//   queue   what is done on a device in order; of a device there may be many
//
// To add a driver: a file here with its row, a line in table.c.
//
// Memory. Addresses on a device are void pointers, and arithmetic on them is allowed: a kernel may
// be given any address within an allocation. The host never follows one. Allocations are at
// multiples of at least 256 bytes.
// Order. What takes a queue returns when it is queued: it is done in the order of the queue, and
// has been done when seer_device_driver.sync returned. Memory of the host that is copied from or to
// stays where it is, and as it is, until then.
// Threads. Drivers and devices: any, at once. A queue, and kernels, marks and graphs of it: one at
// a time, whichever. A process that was forked does not use its parent's devices.
// Errors. A code and, where `message` is given, the reason with the driver's own name of it:
//   NOT_FOUND    the driver's library is not there, or has not so many devices
//   UNSUPPORTED  the device lacks what is asked for; an image for another kind or architecture
//   CORRUPT      an image that the driver refuses, or that lacks a kernel
//   RESOURCE     memory of the host or of the device is not to be had: how much was asked for
//   DEVICE       the device is lost, a kernel has left its memory, the driver fails. Such a device
//                answers every later call so; it is closed, and may be opened again.
//   INVALID      a mistake of the caller's
// After an error what was to be made is not there. Everything that is made is destroyed before what
// it is of; destroying is nothing but that for NULL.
#ifndef SEER_RUNTIME_DEVICE_DEVICE_H
#define SEER_RUNTIME_DEVICE_DEVICE_H

#include <stdbool.h>

#include "seer/runtime.h"

#define SEER_DEVICE_MAX_ARGS 128  // of a kernel
#define SEER_DEVICE_NAME_BYTES 128

typedef struct seer_device seer_device;
typedef struct seer_device_queue seer_device_queue;
typedef struct seer_device_module seer_device_module;  // of a device
typedef struct seer_device_kernel seer_device_kernel;  // of a queue and a module
typedef struct seer_device_mark seer_device_mark;  // of a queue: a moment in its order
typedef struct seer_device_graph seer_device_graph;  // of a queue

// What a device says of itself.
typedef struct {
  char name[SEER_DEVICE_NAME_BYTES];  // "NVIDIA H100 PCIe"
  // Who runs it: OpenCL's platform and the driver's version, "CUDA 12.4". Binaries of one name and
  // driver are of no use to others.
  char driver[SEER_DEVICE_NAME_BYTES];
  uint32_t architecture;  // CUDA's: 90 for sm_90; else 0
  uint32_t n_processors;
  uint32_t max_items;  // of a block
  uint32_t clock_mhz;  // at most; 0: not known
  uint64_t group_bytes;  // of a block's memory
  uint64_t memory_bytes, cache_bytes;  // of the last level; 0: not known
  bool is_cpu;  // runs on processors of the host
  uint32_t n_lanes;  // f32 of a vector of its processors; 0: not known
} seer_device_info;

// Numbers are in libraries.
typedef enum {
  SEER_IMAGE_OPENCL_C = 1,  // a text; built when it is loaded
  SEER_IMAGE_OPENCL = 2,  // a binary for the device and driver that `made_for` names
  SEER_IMAGE_PTX = 3,  // for architecture `architecture` and later ones
  SEER_IMAGE_CUBIN = 4  // for `architecture`, and those later of the same ten
} seer_image_format;

typedef struct {
  seer_image_format format;
  uint32_t architecture;  // PTX, CUBIN
  const char *made_for;  // OPENCL: the device's name and driver, "NAME, DRIVER"; else ""
  const void *data;  // texts are not NUL-terminated
  size_t n_bytes;
} seer_device_image;

#define SEER_DEVICE_MADE_FOR_BYTES (2 * SEER_DEVICE_NAME_BYTES + 2)

typedef struct {
  uint32_t n_blocks, n_items;  // of one dimension; of a block
  uint32_t group_bytes;  // of a block's memory, which the code declares itself
} seer_device_launch;

typedef struct {
  const char *name;  // "opencl", as in targets
  bool has_graphs;  // else the functions of graphs are NULL

  // ---- without a device
  seer_rt_code (*count)(uint32_t *out_n, char *message, size_t message_bytes);
  // Devices are numbered as the driver has them (OpenCL: by kind, opencl.h); the same number is the
  // same device as long as the machine stays as it is.
  seer_rt_code (*describe)(
      uint32_t index, seer_device_info *out, char *message, size_t message_bytes);

  // ---- devices
  seer_rt_code (*open)(
      uint32_t index, seer_device **out_device, char *message, size_t message_bytes);
  void (*close)(seer_device *device);
  const seer_device_info *(*info)(const seer_device *device);
  // At least one byte. What is in it: anything.
  seer_rt_code (*alloc)(
      seer_device *device, uint64_t n_bytes, void **out_at, char *message, size_t message_bytes);
  void (*free)(seer_device *device, void *at);
  // Memory of the host that the device copies from and to without a detour.
  seer_rt_code (*host_alloc)(
      seer_device *device, uint64_t n_bytes, void **out, char *message, size_t message_bytes);
  void (*host_free)(seer_device *device, void *memory);
  // The first of `images` that the device can run: binaries come before texts. UNSUPPORTED: none;
  // it says what each is for, and what the device is.
  seer_rt_code (*load)(seer_device *device, const seer_device_image *images, uint32_t n_images,
      seer_device_module **out_module, char *message, size_t message_bytes);
  void (*unload)(seer_device *device, seer_device_module *module);

  // ---- queues
  seer_rt_code (*queue_create)(
      seer_device *device, seer_device_queue **out_queue, char *message, size_t message_bytes);
  void (*queue_destroy)(seer_device_queue *queue);
  // UNSUPPORTED: the device does not run blocks of so many items of it, or has not so much of a
  // block's memory; CORRUPT: it is not in the module.
  seer_rt_code (*kernel_create)(seer_device_queue *queue, seer_device_module *module,
      const char *name, const seer_device_launch *launch, seer_device_kernel **out_kernel,
      char *message, size_t message_bytes);
  void (*kernel_destroy)(seer_device_queue *queue, seer_device_kernel *kernel);
  // args[k]: address of argument k.
  seer_rt_code (*launch)(seer_device_queue *queue, seer_device_kernel *kernel, void *const *args,
      uint32_t n_args, char *message, size_t message_bytes);
  seer_rt_code (*upload)(seer_device_queue *queue, void *to, const void *from, uint64_t n_bytes,
      char *message, size_t message_bytes);
  seer_rt_code (*download)(seer_device_queue *queue, void *to, const void *from, uint64_t n_bytes,
      char *message, size_t message_bytes);
  // Within the device; the two do not overlap.
  seer_rt_code (*copy)(seer_device_queue *queue, void *to, const void *from, uint64_t n_bytes,
      char *message, size_t message_bytes);
  seer_rt_code (*fill)(seer_device_queue *queue, void *to, uint8_t byte, uint64_t n_bytes,
      char *message, size_t message_bytes);
  seer_rt_code (*sync)(seer_device_queue *queue, char *message, size_t message_bytes);

  // ---- times, by the device's clock
  seer_rt_code (*mark_create)(
      seer_device_queue *queue, seer_device_mark **out_mark, char *message, size_t message_bytes);
  void (*mark_destroy)(seer_device_queue *queue, seer_device_mark *mark);
  // Notes the moment when all that was queued before has been done. A mark may be set again.
  seer_rt_code (*mark_set)(
      seer_device_queue *queue, seer_device_mark *mark, char *message, size_t message_bytes);
  // Between two marks that were set before the last sync.
  seer_rt_code (*elapsed)(seer_device_queue *queue, const seer_device_mark *from,
      const seer_device_mark *to, double *out_seconds, char *message, size_t message_bytes);

  // ---- graphs: what is queued between begin and end is not done, but kept, and done with one call
  // each time that the graph is run. Launches, copies, fills and marks alone; copies from and to
  // memory of host_alloc. After an error between the two the queue is as it was before begin.
  seer_rt_code (*graph_begin)(seer_device_queue *queue, char *message, size_t message_bytes);
  seer_rt_code (*graph_end)(
      seer_device_queue *queue, seer_device_graph **out_graph, char *message, size_t message_bytes);
  seer_rt_code (*graph_run)(
      seer_device_queue *queue, seer_device_graph *graph, char *message, size_t message_bytes);
  void (*graph_destroy)(seer_device_queue *queue, seer_device_graph *graph);
} seer_device_driver;

extern const seer_device_driver seer_device_opencl, seer_device_cuda;

// The row of a name; NULL: there is none. For tests.
const seer_device_driver *seer_device_driver_find(const char *name);

// Does CUDA's binary for `architecture` run on a device of its own? On those of its ten, from its
// number on.
bool seer_device_runs(uint32_t own, uint32_t architecture);

// What a binary for this device carries as `made_for`.
void seer_device_made_for(const seer_device_info *info, char out[SEER_DEVICE_MADE_FOR_BYTES]);

#endif
