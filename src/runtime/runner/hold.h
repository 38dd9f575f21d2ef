// hold.h - what a model and its sessions hold on a device: made in hold.c, worked with in run.c.
#ifndef SEER_RUNTIME_RUNNER_HOLD_H
#define SEER_RUNTIME_RUNNER_HOLD_H

#include "runtime/device/device.h"
#include "runtime/runner.h"
#include "runtime/session.h"

struct seer_model_on_device {
  const seer_device_driver *driver;
  seer_device *device;
  const seer_plan_device *first;  // with the modules
  seer_device_module **module;
  void *weights;
};

// What a plan has on the device.
typedef struct {
  seer_device_kernel **kernel;  // by phase
  void **at;  // by argument
  uint64_t *offset;  // by input, then output: in the memory for them
  void **given;  // likewise: the caller's own memory on the device, or NULL
  void **used;  // likewise: where `at` has it
  bool *is_used_by_host;  // likewise: by steps of the host
  seer_device_graph **graph;  // by step: of the stretch that begins there
} seer_plan_on_device;

struct seer_session_on_device {
  seer_device_queue *queue;
  seer_device_mark *mark[2];
  uint8_t *arena, *io;
  uint8_t *staging;  // on the host, for inputs and outputs; NULL: there is none yet
  uint64_t n_io_bytes;
  seer_plan_on_device *plan;
};

// Rows of seer_device_runner (runner.h).
seer_rt_code seer_hold_open(seer_model *model, uint32_t index, char *message, size_t message_bytes);
void seer_hold_close(seer_model *model);
seer_rt_code seer_hold_count(const void *plan, int32_t *out_n, char *message, size_t message_bytes);
seer_rt_code seer_hold_name(const void *plan, int32_t device, char out_name[256],
    char out_driver[256], char *message, size_t message_bytes);
seer_rt_code seer_hold_alloc(const seer_model *model, uint64_t n_bytes, void **out_data,
    char *message, size_t message_bytes);
void seer_hold_free(const seer_model *model, void *data);
seer_rt_code seer_hold_upload(const seer_model *model, void *to, const void *from, uint64_t n_bytes,
    char *message, size_t message_bytes);
seer_rt_code seer_hold_download(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_hold_host_alloc(const seer_model *model, uint64_t n_bytes, void **out_memory,
    char *message, size_t message_bytes);
void seer_hold_host_free(const seer_model *model, void *memory, uint64_t n_bytes);
seer_rt_code seer_hold_session_create(seer_session *session, char *message, size_t message_bytes);
void seer_hold_session_destroy(seer_session *session);
seer_rt_code seer_hold_bind(seer_session *session, uint32_t slot, void *data, void **out_copy);

static inline uint32_t seer_hold_n_io(const seer_rt_set *of) {
  return of->plan->n_input + of->plan->n_output;
}

static inline seer_plan_on_device *seer_hold_selected(const seer_session *session) {
  return &session->on_device->plan[session->selected - session->plan];
}

// Of an argument that is an input or output; UINT32_MAX: it is none.
static inline uint32_t seer_hold_slot(const seer_rt_set *of, uint32_t arg) {
  const seer_plan_arg *a = &of->arg[arg];
  if (a->kind == SEER_ARG_INPUT) return (uint32_t)a->offset;
  return a->kind == SEER_ARG_OUTPUT ? of->plan->n_input + (uint32_t)a->offset : UINT32_MAX;
}

// Input or output `slot` of the selected plan lies on the device, where the caller gave it, and has
// been bound to nothing else since.
static inline bool seer_hold_is_given(const seer_session *session, uint32_t slot) {
  const seer_plan_on_device *plan = seer_hold_selected(session);
  return plan->given[slot] &&
      session->selected->bound[slot] == session->on_device->staging + plan->offset[slot];
}

// Addresses of arguments, where a binding of the selected plan has changed.
void seer_hold_follow_bindings(seer_session *session);

#endif
