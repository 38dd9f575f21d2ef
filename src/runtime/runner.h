// runner.h - what models and sessions ask of whoever runs their kernels on a device
// (runtime/runner/run.c). Libraries for processors have no runner, and nothing of one is linked
// into them: all is asked by way of this table.
//
// What is bound to memory of the host has memory of the runner's on the device as well; of what is
// bound to the device's, steps of the host that need it have a copy (which `bound` then is).
//
// Of a model with a runner the host's part is as ever (exec.c): host steps, loops, branches, sizes
// of outputs. Errors are those of device.h.
#ifndef SEER_RUNTIME_RUNNER_H
#define SEER_RUNTIME_RUNNER_H

#include "runtime/exec.h"

typedef struct seer_runner {
  // NULL, or what is wrong with what a plan says of its device. `first` is the library's first
  // plan; both have passed seer_library_check.
  const char *(*check)(const void *first, const void *plan);
  // Devices of the driver that a plan names; name and driver of one of them.
  seer_rt_code (*count)(const void *plan, int32_t *out_n, char *message, size_t message_bytes);
  seer_rt_code (*name)(const void *plan, int32_t device, char out_name[256], char out_driver[256],
      char *message, size_t message_bytes);
  // Behind everything else of open: opens device number `index`, loads modules, copies the weights.
  seer_rt_code (*open)(seer_model *model, uint32_t index, char *message, size_t message_bytes);
  void (*close)(seer_model *model);
  // Memory of the device for callers, and copies that are done when they return.
  seer_rt_code (*alloc)(const seer_model *model, uint64_t n_bytes, void **out_data, char *message,
      size_t message_bytes);
  void (*free)(const seer_model *model, void *data);
  seer_rt_code (*upload)(const seer_model *model, void *to, const void *from, uint64_t n_bytes,
      char *message, size_t message_bytes);
  seer_rt_code (*download)(const seer_model *model, void *to, const void *from, uint64_t n_bytes,
      char *message, size_t message_bytes);
  // Memory of the host for a session; zeroed.
  seer_rt_code (*host_alloc)(const seer_model *model, uint64_t n_bytes, void **out_memory,
      char *message, size_t message_bytes);
  void (*host_free)(const seer_model *model, void *memory, uint64_t n_bytes);
  seer_rt_code (*session_create)(seer_session *session, char *message, size_t message_bytes);
  void (*session_destroy)(seer_session *session);
  // The caller is inside the session for what follows; reasons go into its message.
  // Input or output `slot` (inputs first) of the selected plan is at `data` on the device, until it
  // is bound elsewhere. *out_copy: memory of the host for steps there, as what it is bound to.
  seer_rt_code (*bind)(seer_session *session, uint32_t slot, void *data, void **out_copy);
  seer_rt_code (*begin)(seer_session *session);  // of a run: all is bound
  // Steps from `from` on, as far as they are on the device, or views, and before `to`. *out_next:
  // the first step that is not done. What they leave on the host is there.
  seer_rt_code (*run)(seer_session *session, uint32_t from, uint32_t to, uint32_t *out_next);
  // A move that is the device's: n_bytes from one argument to another, at `offset` of it.
  seer_rt_code (*move)(
      seer_session *session, uint32_t to_arg, uint64_t offset, uint32_t from_arg, uint64_t n_bytes);
  // What argument `arg` holds on the device comes to the host, for who looks at it.
  seer_rt_code (*show)(seer_session *session, uint32_t arg);
  // Of a run that went well so far: all is done, outputs are where they were bound.
  seer_rt_code (*end)(seer_session *session);
} seer_runner;

extern const seer_runner seer_device_runner;  // runtime/runner/run.c

#endif
