// exec.h - models and sessions inside the runtime; api.c makes runtime.h's table of it, tests call
// it directly. Owners, threads and errors are as there; a source's members are borrowed where they
// are not said to be kept.
//
//   session memory, one allocation, 64-byte aligned, for the plan that needs most:
//   [arena: activations by the plan, and what the phases of a kernel leave to each other]
//   [shared: what the phases of a host step leave to each other][scratch of thread 0][of 1]...
//   [of thread 0, for images of its own][of 1]...
#ifndef SEER_RUNTIME_EXEC_H
#define SEER_RUNTIME_EXEC_H

#include "runtime/plan.h"
#include "runtime/pool.h"
#include "seer/runtime.h"

#define SEER_PLAN_MAX_ARGS 128

// Bytes of one element by ONNX's number; 0 for types that have no plain elements.
uint32_t seer_onnx_dtype_bytes(int32_t onnx_dtype);

typedef struct {
  const void *blob;  // kept; the plans of a library
  uint64_t n_blob_bytes;
  const seer_phase_function *kernels;  // kept; one per phase of each plan
  const char *weights_path;  // NULL: `weights`; both are refused
  const void *weights;  // kept; a whole weights.bin
  uint64_t n_weight_bytes;
  int verify_hash;
  const uint64_t *blob_hash;  // XXH3 of the blob; NULL: not known
  // kept; tables of operators, NULL behind the last; NULL: there are none
  const struct seer_operator_table *const *operators;
  const struct seer_runner *runner;  // kept; NULL: there is none
  uint32_t device;  // its number; runner.h
} seer_model_source;

// Writes "what" into message (if any) and returns `code`.
__attribute__((format(printf, 4, 5))) seer_rt_code seer_rt_fail(
    seer_rt_code code, char *message, size_t message_bytes, const char *format, ...);

// Errors: CORRUPT for a plan or weights that are damaged or of another model; UNSUPPORTED names the
// instruction set that this machine lacks; NOT_FOUND, IO for the file; RESOURCE; the runner's.
seer_rt_code seer_rt_open(
    const seer_model_source *source, seer_model **out_model, char *message, size_t message_bytes);
void seer_rt_close(seer_model *model);
int32_t seer_rt_n_inputs(const seer_model *model);
int32_t seer_rt_n_outputs(const seer_model *model);
const seer_io_info *seer_rt_input(const seer_model *model, int32_t index);
const seer_io_info *seer_rt_output(const seer_model *model, int32_t index);
const char *seer_rt_info_json(const seer_model *model);
int32_t seer_rt_find_input(const seer_model *model, const char *name);
int32_t seer_rt_find_output(const seer_model *model, const char *name);
void seer_rt_sizes(const seer_model *model, uint32_t n_threads, uint64_t *out_weight_bytes,
    uint64_t *out_session_bytes);
int32_t seer_rt_n_steps(const seer_model *model);
int32_t seer_rt_n_sets(const seer_model *model);
const seer_io_info *seer_rt_set_input(const seer_model *model, int32_t set, int32_t index);
const seer_io_info *seer_rt_set_output(const seer_model *model, int32_t set, int32_t index);
int32_t seer_rt_set_n_steps(const seer_model *model, int32_t set);
seer_rt_code seer_rt_find_set(const seer_model *model, const int64_t *const *dims,
    const int32_t *ranks, int32_t *out_set, char *message, size_t message_bytes);

// ---- libraries with a device, as runtime.h has it
seer_rt_code seer_rt_n_devices(
    const seer_model_source *source, int32_t *out_n, char *message, size_t message_bytes);
seer_rt_code seer_rt_device_name(const seer_model_source *source, int32_t device,
    char out_name[256], char out_driver[256], char *message, size_t message_bytes);
seer_rt_code seer_rt_device_alloc(const seer_model *model, uint64_t n_bytes, void **out_data,
    char *message, size_t message_bytes);
void seer_rt_device_free(const seer_model *model, void *data);
seer_rt_code seer_rt_device_upload(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_rt_device_download(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_bind_device_input(seer_session *session, int32_t index,
    const void *data, uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_bind_device_output(seer_session *session, int32_t index, void *data,
    uint64_t n_bytes, char *message, size_t message_bytes);

// `pool` NULL: the caller's thread alone. Both are kept until the session is destroyed.
seer_rt_code seer_rt_session_create(const seer_model *model, seer_pool *pool,
    seer_session **out_session, char *message, size_t message_bytes);
void seer_rt_session_destroy(seer_session *session);
seer_rt_code seer_rt_session_bind_input(seer_session *session, int32_t index, const void *data,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_bind_output(seer_session *session, int32_t index, void *data,
    uint64_t n_bytes, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_run(seer_session *session, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_limit(
    seer_session *session, uint32_t n_threads, double seconds, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_watch(
    seer_session *session, seer_watcher watcher, void *user, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_time_steps(seer_session *session, uint32_t n_runs,
    seer_step_info *steps, size_t step_bytes, int32_t n_steps, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_select(
    seer_session *session, int32_t set, char *message, size_t message_bytes);
seer_rt_code seer_rt_session_output_shape(
    seer_session *session, int32_t index, int64_t out_dim[12], char *message, size_t message_bytes);
seer_rt_code seer_rt_bind_input(seer_session *session, int32_t index, const void *data);
seer_rt_code seer_rt_bind_output(seer_session *session, int32_t index, void *data);
seer_rt_code seer_rt_select(seer_session *session, int32_t set);
int32_t seer_rt_selected(const seer_session *session);
seer_rt_code seer_rt_run(seer_session *session);
seer_rt_code seer_rt_profile(seer_session *session, uint32_t n_runs, seer_step_info *steps);
seer_rt_code seer_rt_output_shape(const seer_session *session, int32_t index, int64_t out_dim[12]);

// ---- shared by open.c and exec.c
// What runs for one set of input shapes.
typedef struct {
  const seer_plan_header *plan;
  const seer_plan_step *step;
  const seer_plan_arg *arg;
  const seer_plan_phase *phase;
  const seer_plan_host *host;
  struct seer_rt_custom *custom;  // by host call; NULL: none is an operator of a user's
  const seer_plan_tensor *tensor;
  const seer_plan_size *size;
  const seer_plan_loop *loop;
  const seer_plan_branch *branch;
  const seer_plan_stretch *stretch;
  uint64_t private_bytes;  // of a thread
  const seer_plan_move *move;
  const uint8_t *is_on_device;  // by move; NULL: none is
  const seer_plan_made *made;
  const int64_t *extent;
  const char *strings;
  const seer_phase_function *kernels;
  seer_io_info *io;  // inputs, then outputs
  const seer_plan_io *plan_io;  // the same
} seer_rt_set;

// The sizes of a range (seer_plan_range) as sets of shapes without a plan of their own: behind
// those that have one, set n_set + k is a batch of first + k.
typedef struct {
  uint32_t first, last;  // 0: there is no range
  const uint32_t *size, *next;
  const uint8_t *ranged;
  seer_rt_set *set;  // by size - first: io alone is its own, all else the first plan's
} seer_rt_range;

struct seer_model {
  uint32_t n_set;
  seer_rt_set *set;
  seer_rt_range range;
  const uint8_t *weights;  // payload
  void *owned;  // pages that close frees: a copy of the payload, or NULL
  uint64_t n_owned_bytes;
  const struct seer_runner *runner;  // NULL: kernels run on processors
  struct seer_model_on_device *on_device;  // the runner's
};

// Sets that can be selected: those with plans, and the sizes of a range.
static inline uint32_t seer_model_n_select(const seer_model *model) {
  const seer_rt_range *range = &model->range;
  return model->n_set + (range->last > 0 ? range->last - range->first + 1 : 0);
}
// Number `set` of those.
static inline const seer_rt_set *seer_model_set(const seer_model *model, uint32_t set) {
  return set < model->n_set ? &model->set[set] : &model->range.set[set - model->n_set];
}

// Zeroed memory from the OS, in huge pages where it gives them; NULL when there is none.
void *seer_rt_pages_alloc(uint64_t n_bytes);
void seer_rt_pages_free(void *pages, uint64_t n_bytes);

#endif
