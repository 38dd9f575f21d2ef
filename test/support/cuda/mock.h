// mock.h - a libcuda.so.1 without a device. It keeps to the driver's rules, refuses what real
// drivers refuse, counts what would be undefined with one, and computes: kernels are functions of
// C in the images that tests make (support/mock_image.h).
//
//   - What is queued is done when it is waited for, in the order of its stream; streams that are
//     not waited for do nothing. So who forgets to wait reads what was there before.
//   - Addresses of the device are none of the host's: following one ends the process.
//   - Memory begins as ones (NaN), each block's, too.
//   - A handle that was destroyed is known to be so.
// This header is of the library's own files.
#ifndef SEER_TEST_CUDA_MOCK_H
#define SEER_TEST_CUDA_MOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/mock_cuda.h"

#define API __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

typedef int result;
typedef uint64_t address;
enum {
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  LAUNCH_FAILED = 719,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
};

typedef enum { CONTEXT, MODULE, FUNCTION, STREAM, EVENT, GRAPH, INSTANCE, KIND_COUNT } object_kind;

// Objects stay, dead ones too.
typedef struct object object;
struct object {
  object *next;
  object_kind kind;
  bool is_dead;
  object *of;  // the context; of a function the module
};

// Of the device or pinned, of the host.
typedef struct allocation allocation;
struct allocation {
  allocation *next;
  uint8_t *memory;
  size_t n_bytes;
  bool is_host;
};

typedef struct {
  object head;
  uint32_t n_users;
  result lost;  // 0: well
  allocation *memory;
} context;

typedef struct {
  object head;
  void *library;
  int file;  // that it was opened from; -1: a file by name
  bool stalls, is_wild;  // what its kernels do
} module;

typedef struct {
  object head;
  const mock_kernel *kernel;
} function;

typedef struct {
  object head;
  bool is_set, is_pending, is_captured;
  double at_s;
} event;

typedef enum { UPLOAD, DOWNLOAD, COPY, FILL, LAUNCH, RECORD } action;
typedef struct operation operation;
struct operation {
  operation *next;
  action action;
  address to, from;
  void *host_to;
  const void *host_from;
  size_t n_bytes;
  uint8_t byte;
  function *function;
  uint32_t n_blocks;
  address args[MOCK_MAX_ARGS];
  event *event;
};

typedef struct {
  operation *first, *last;
} list;

typedef struct {
  object head;
  list queued;
  bool is_capturing, is_broken;  // a capture that something has ended
  list captured;
} stream;

typedef struct {
  object head;
  list operations;
} graph;  // and an instance of one

// ---- mock.c: all behind one lock
HIDDEN extern pthread_mutex_t mock_lock;
// The context that is current here and well, with the lock held; else NULL, and *out_result says
// what the call answers, without the lock.
HIDDEN context *mock_enter(const char *call, result *out_result);
HIDDEN result mock_leave(result is);  // lets the lock go
HIDDEN int mock_option(const char *name, int otherwise);  // of MOCK_CUDA
HIDDEN bool mock_counts_to(const char *option);  // this is the n-th since MOCK_CUDA was set
HIDDEN void *mock_object(size_t n_bytes, object_kind kind, object *of);
// The live object of this kind behind a handle of the context; NULL: there is none, and that is
// counted.
HIDDEN void *mock_known(const context *in, void *handle, object_kind kind, const char *call);
HIDDEN __attribute__((format(printf, 1, 2))) void mock_broken(const char *format, ...);
// Whether `n_bytes` from `at` are in one allocation of the device.
HIDDEN bool mock_is_inside(const context *in, address at, size_t n_bytes);
HIDDEN bool mock_is_pinned(const context *in, const void *at, size_t n_bytes);
HIDDEN uint8_t *mock_memory_at(address at);
// ---- mock_queue.c
HIDDEN result mock_run_all(stream *s);  // what is queued
HIDDEN void mock_forget(list *operations);

#endif
