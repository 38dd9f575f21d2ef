// runtime.h - loading and running a tuned network (model.so + weights.bin). Needs no compiler, no
// database.
//
//   model    immutable, shareable between threads          seer_model_open / seer_model_close
//   session  activations; one thread at a time uses it     api->session_create / session_destroy
//   pool     threads; passed in, shared by models          api->pool_create / pool_destroy
//
// Inputs and outputs are bound by pointer, without copies: dense, row-major, in ONNX's order of
// dimensions.
#ifndef SEER_RUNTIME_H
#define SEER_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct seer_model seer_model;
typedef struct seer_session seer_session;
typedef struct seer_pool seer_pool;

typedef enum {
  SEER_RT_OK = 0,
  SEER_RT_INVALID = 1,
  SEER_RT_UNSUPPORTED = 2,
  SEER_RT_NOT_FOUND = 3,
  SEER_RT_IO = 4,
  SEER_RT_CORRUPT = 5,
  SEER_RT_RESOURCE = 6,
  SEER_RT_INTERNAL = 7
} seer_rt_code;

// Element types by ONNX's numbers (1 = f32, 7 = i64, ...). float16 (10), bfloat16 (16) and the
// float8 types (17 to 20) are passed as their bits, in uint16_t and uint8_t. uint4 (21) and int4
// (22) are passed one a byte, never packed: uint8_t 0..15 and int8_t -8..7; the high four bits of
// what is passed in are ignored.
typedef struct {
  const char *name;
  int32_t onnx_dtype;
  int32_t rank;
  int64_t dim[12];
  uint64_t n_bytes;
  // Bit d: dim[d] is a bound. How large the dimension is, a run decides (output_shape); n_bytes is
  // for the bounds.
  uint32_t bounded;
} seer_io_info;

typedef struct {
  const char *name;  // of the step
  const char *kind;  // "kernel", "copy", "view", "host", "loop", "branch"
  const char *source;  // where its schedule comes from: "default", "record", "similar", "sibling"
  double flops;
  double seconds;  // filled by session_profile: best of the runs
} seer_step_info;

// The caller's own parallel-for: calls body(arg, part) for part in [0, n_parts), on at most
// `n_threads` threads at a time, `thread` in [0, n_threads) distinct among the concurrent calls.
typedef void (*seer_parallel_body)(void *arg, uint32_t part, uint32_t thread);
typedef void (*seer_parallel_for)(void *user, uint32_t n_parts, seer_parallel_body body, void *arg);

// Append only; check struct_size before using a later member. Functions that return a code write a
// message (NUL-terminated) into message[message_bytes] when it is not 0.
typedef struct {
  uint32_t struct_size;
  uint32_t abi_version;  // 1
  // weights_path NULL: weights.bin beside the library. weights != NULL: memory instead of a file
  // (kept).
  seer_rt_code (*open)(const char *weights_path, const void *weights, uint64_t n_weight_bytes,
      int verify_hash, seer_model **out_model, char *message, size_t message_bytes);
  void (*close)(seer_model *model);
  int32_t (*n_inputs)(const seer_model *model);
  int32_t (*n_outputs)(const seer_model *model);
  const seer_io_info *(*input)(const seer_model *model, int32_t index);
  const seer_io_info *(*output)(const seer_model *model, int32_t index);
  const char *(*info_json)(const seer_model *model);
  // 0 threads: what the machine allows; NULL when out of memory. `pin`: each thread keeps to one
  // processor, the calling thread too, until the pool is destroyed: make one pool for all models.
  seer_pool *(*pool_create)(uint32_t n_threads, int pin);
  seer_pool *(*pool_wrap)(seer_parallel_for parallel_for, void *user, uint32_t n_threads);
  void (*pool_destroy)(seer_pool *pool);
  uint32_t (*pool_threads)(const seer_pool *pool);
  seer_rt_code (*session_create)(const seer_model *model, seer_pool *pool,
      seer_session **out_session, char *message, size_t message_bytes);
  void (*session_destroy)(seer_session *session);
  seer_rt_code (*bind_input)(seer_session *session, int32_t index, const void *data);
  seer_rt_code (*bind_output)(seer_session *session, int32_t index, void *data);
  seer_rt_code (*run)(seer_session *session);  // all bound; never allocates
  int32_t (*n_steps)(const seer_model *model);
  // Runs `n_runs` times with a clock around every step; steps[n_steps] is filled.
  seer_rt_code (*session_profile)(seer_session *session, uint32_t n_runs, seer_step_info *steps);
  // The dimensions that output `index` had in the last run: its elements lie dense at the start of
  // the bound memory. Before the first run INVALID where dimensions are bounded.
  seer_rt_code (*output_shape)(const seer_session *session, int32_t index, int64_t out_dim[12]);

  // ---- several sets of input shapes in one library (compile --input-shapes, given several times).
  // The functions above speak of the first set; a session starts with it. One session serves all
  // sets, with memory for the largest.
  int32_t (*n_sets)(const seer_model *model);  // at least 1
  const seer_io_info *(*set_input)(const seer_model *model, int32_t set, int32_t index);
  const seer_io_info *(*set_output)(const seer_model *model, int32_t set, int32_t index);
  int32_t (*set_n_steps)(const seer_model *model, int32_t set);
  // The first set whose input i has the shape dims[i][0 .. ranks[i]), for all inputs; dims[i] NULL:
  // any. INVALID: there is none; the message lists those that there are.
  seer_rt_code (*find_set)(const seer_model *model, const int64_t *const *dims,
      const int32_t *ranks, int32_t *out_set, char *message, size_t message_bytes);
  // What bind_input, bind_output, run and session_profile work on from now on. Each set has
  // bindings of its own, which stay while another one is selected.
  seer_rt_code (*select)(seer_session *session, int32_t set);
  int32_t (*selected)(const seer_session *session);
} seer_model_api;

// What a model.so exports.
const seer_model_api *seer_model_v1(void);

// dlopen + the table. *out_library is closed with seer_model_unload (after all models of it are
// closed).
seer_rt_code seer_model_load(const char *so_path, void **out_library,
    const seer_model_api **out_api, char *message, size_t message_bytes);
void seer_model_unload(void *library);

#ifdef __cplusplus
}
#endif
#endif
