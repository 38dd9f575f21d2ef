// runtime.h - loading and running a tuned network (model.so + weights.bin). Needs no compiler, no
// database.
//
//   model    immutable, shareable between threads          seer_model_open / seer_model_close
//   session  activations; one thread at a time uses it     api->session_create / session_destroy
//   pool     threads; passed in, shared by models          api->pool_create / pool_destroy
//
// Inputs and outputs are bound by pointer, without copies: dense, row-major, in ONNX's order of
// dimensions, at a multiple of the bytes of their element (more helps nobody). Inputs may share
// memory with each other; an output with nothing, but for the input that it was compiled to share
// with (compile --share; `shared` in info_json): both are bound to one address then, or apart.
//
// What holds between versions. Programs and libraries are compiled at different times, and either
// may be the older one:
//   - A library's table begins with struct_size and abi_version, and is only ever appended to. The
//     members up to `selected` are in every library; a later one is there if SEER_API_HAS says so.
//   - seer_model_load refuses abi_version other than 1, and nothing else: smaller tables than its
//     own, and larger ones, are as good.
//   - seer_io_info stays as it is: what more there is to say will have a function of its own.
//   - seer_step_info is only ever appended to; its bytes are passed along.
//   - Codes are only ever appended to seer_rt_code: what is not SEER_RT_OK has failed.
//   - A model, a session and what input() and the like return are of the library that made them. A
//     pool may be made by one library and used by another, of whatever version.
//
// Processes. After fork, the child may go on with models, sessions and pools; a pool makes its
// threads anew when the child first runs something. What another thread of the parent was doing at
// that moment is not done in the child: its session is free. (Before Linux 4.14 it is still in
// use.) A fork while another thread is in pool_create, pool_destroy or open is the program's
// mistake.
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
  SEER_RT_INTERNAL = 7,
  SEER_RT_BUSY = 8,  // another thread uses this session
  // the device that the model is on is lost or fails: close the model, and open it again
  SEER_RT_DEVICE = 9,
  SEER_RT_TIMEOUT = 10,  // a run's deadline has passed (session_limit)
  SEER_RT_STOPPED = 11  // by seer_tuner_stop (familyseer.h); no library says it
} seer_rt_code;

// "ok", "invalid", "not found", ...; "unknown" for what later versions have. Never NULL.
static inline const char *seer_rt_code_text(int code) {
  static const char *const text[] = {"ok", "invalid", "unsupported", "not found", "io", "corrupt",
      "resource", "internal", "busy", "device", "timeout", "stopped"};
  return code >= 0 && code < (int)(sizeof text / sizeof text[0]) ? text[code] : "unknown";
}

// Element types by ONNX's numbers (1 = f32, 7 = i64, ...). float16 (10), bfloat16 (16) and the
// float8 types (17 to 20, 24) are passed as their bits, in uint16_t and uint8_t. uint4 (21), int4
// (22), float4e2m1 (23), uint2 (25) and int2 (26) are passed one a byte, never packed: uint8_t
// 0..15, int8_t -8..7, bits in uint8_t, uint8_t 0..3 and int8_t -2..1; the high bits of what is
// passed in are ignored.
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
  // "kernel", "copy", "view", "host", "custom" (an operator of operator.h), "loop", "branch",
  // "fail"; "images": the steps behind it, as far as its own name says, run for each image of a
  // batch (their times are those of all images); of libraries with a device also "upload" and
  // "download", and times of kernels and copies are by the device's clock
  const char *kind;
  // where its schedule comes from: "plain", "untuned", "tuned", "elsewhere", "similar", "sibling",
  // "random"
  const char *source;
  double flops;
  double seconds;  // median of the runs
  // Parts of `seconds`; the rest is work. While threads on average waited, for each other or for
  // work; and what the step would not take if it were run again at once: its code, weights and
  // operands are in caches then. 0 for what is no kernel.
  double wait_seconds, cold_seconds;
} seer_step_info;

// Bytes of an element as it was first, up to `seconds`.
#define SEER_STEP_INFO_FIRST_BYTES offsetof(seer_step_info, wait_seconds)

// What a step has left in memory, while a run is watched (session_watch). Only ever appended to:
// struct_bytes says how much of it the library knows. All that it points to is the session's, and
// holds until the watcher returns.
typedef struct {
  uint32_t struct_bytes;
  int32_t step;  // its number; those of a loop's body come again
  const char *step_name, *step_kind;  // as in seer_step_info
  const char *name;  // of the value, as the network has it
  int32_t onnx_dtype, rank;
  const int64_t *dim;  // at their bounds
  const int64_t *stride;  // elements from one to the next along each dimension
  uint32_t bounded;  // as in seer_io_info: how large these are, the value's size in this run says
  const void *data;  // element 0
} seer_made_value;
typedef void (*seer_watcher)(void *user, const seer_made_value *value);

// The caller's own parallel-for: calls body(arg, part) for part in [0, n_parts), on at most
// `n_threads` threads at a time, `thread` in [0, n_threads) distinct among the concurrent calls. A
// part or thread that is none, and parts that are left out, are errors of the run.
typedef void (*seer_parallel_body)(void *arg, uint32_t part, uint32_t thread);
typedef void (*seer_parallel_for)(void *user, uint32_t n_parts, seer_parallel_body body, void *arg);

// True if a library has this member of the table.
#define SEER_API_HAS(api, member) \
  ((api)->struct_size >= offsetof(seer_model_api, member) + sizeof((api)->member))

// Functions that return a code write a message (NUL-terminated) into message[message_bytes] when it
// is not 0. After a failure what was to be made is not there, and what was set is as it was. What
// goes in is borrowed, but for weights in memory (kept until close), data that are bound (until
// another binding or session_destroy), a session's model and pool (until session_destroy) and
// `user` of pool_wrap (until pool_destroy).
// What input, output, info_json and their like return is the model's, until close; NULL: no such
// index.
typedef struct {
  uint32_t struct_size;
  uint32_t abi_version;  // 1
  // weights_path NULL: weights.bin beside the library. The file is read into memory of the model's
  // own: what happens to it later is of no concern, and children of a fork share the pages. weights
  // != NULL: memory instead of a file (kept; used where it lies if at a multiple of 64): for
  // processes that share one map of the file, which then nobody may shorten. A path and memory at a
  // time are refused, and so are other sizes and other models' weights; that the numbers are those
  // that were written is checked with verify_hash.
  seer_rt_code (*open)(const char *weights_path, const void *weights, uint64_t n_weight_bytes,
      int verify_hash, seer_model **out_model, char *message, size_t message_bytes);
  void (*close)(seer_model *model);
  int32_t (*n_inputs)(const seer_model *model);
  int32_t (*n_outputs)(const seer_model *model);
  const seer_io_info *(*input)(const seer_model *model, int32_t index);
  const seer_io_info *(*output)(const seer_model *model, int32_t index);
  const char *(*info_json)(const seer_model *model);
  // 0 threads: one for each core that may be used; NULL when out of memory. `pin`: each thread
  // keeps to one processor, the calling thread too, until the pool is destroyed: make one pool for
  // all models.
  seer_pool *(*pool_create)(uint32_t n_threads, int pin);
  seer_pool *(*pool_wrap)(seer_parallel_for parallel_for, void *user, uint32_t n_threads);
  void (*pool_destroy)(seer_pool *pool);
  uint32_t (*pool_threads)(const seer_pool *pool);
  seer_rt_code (*session_create)(const seer_model *model, seer_pool *pool,
      seer_session **out_session, char *message, size_t message_bytes);
  void (*session_destroy)(seer_session *session);
  // bind_*, run, session_profile, output_shape and select have followers below, which say what is
  // wrong.
  seer_rt_code (*bind_input)(seer_session *session, int32_t index, const void *data);
  seer_rt_code (*bind_output)(seer_session *session, int32_t index, void *data);
  seer_rt_code (*run)(seer_session *session);  // all bound; never allocates
  int32_t (*n_steps)(const seer_model *model);
  // Runs `n_runs` times with a clock around every step, and a quarter as often with each kernel run
  // twice; steps[n_steps] is filled, elements of SEER_STEP_INFO_FIRST_BYTES. session_time_steps
  // fills whole ones.
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
  // any. INVALID: there is none; the message lists those that there are. Of a library for a range
  // of batches (--input-shapes x:1..32x3x224x224) a size without a set has a number, too, from
  // n_sets on: set_input, set_output and select take it, and a run does several sets one after
  // another, each on the next images of what is bound. It has no steps (set_n_steps: 0; timing them
  // is UNSUPPORTED), and a watcher is shown what each of its runs makes.
  seer_rt_code (*find_set)(const seer_model *model, const int64_t *const *dims,
      const int32_t *ranks, int32_t *out_set, char *message, size_t message_bytes);
  // What bind_input, bind_output, run and session_profile work on from now on. Each set has
  // bindings of its own, which stay while another one is selected.
  seer_rt_code (*select)(seer_session *session, int32_t set);
  int32_t (*selected)(const seer_session *session);

  // ---- from here on: SEER_API_HAS.
  // `n_bytes` lie at `data`: at least as many as the set's seer_io_info says, and no more than
  // those are read or written. INVALID: too few, not a multiple of an element's bytes, or in the
  // session's memory or (an output) the model's weights. The binding stays until another one.
  seer_rt_code (*session_bind_input)(seer_session *session, int32_t index, const void *data,
      uint64_t n_bytes, char *message, size_t message_bytes);
  seer_rt_code (*session_bind_output)(seer_session *session, int32_t index, void *data,
      uint64_t n_bytes, char *message, size_t message_bytes);
  // Never allocates, but for threads in a child (see above). INVALID: something is not bound, an
  // output overlaps with what else is bound, or a wrapped parallel-for did wrong. UNSUPPORTED: the
  // data led to a part of the network that could not be compiled. After a failure outputs hold
  // anything. BUSY, from this and all other functions of sessions: another thread is inside one.
  seer_rt_code (*session_run)(seer_session *session, char *message, size_t message_bytes);
  // Runs `n_runs` times with a clock around every step. `steps`: n_steps elements, at least as many
  // as set_n_steps, of step_bytes each: sizeof(seer_step_info) as the caller knows it. What a
  // library does not know of is 0.
  seer_rt_code (*session_time_steps)(seer_session *session, uint32_t n_runs, seer_step_info *steps,
      size_t step_bytes, int32_t n_steps, char *message, size_t message_bytes);
  seer_rt_code (*session_select)(
      seer_session *session, int32_t set, char *message, size_t message_bytes);
  seer_rt_code (*session_output_shape)(seer_session *session, int32_t index, int64_t out_dim[12],
      char *message, size_t message_bytes);
  // Runs once, as session_run does, and after each step calls watcher(user, value) on the calling
  // thread for each value of the network that is in memory whole since then. Values that exist
  // only inside a step (fused into a kernel, rewritten at compile time), or for one image of a
  // batch at a time, are not shown. The watcher
  // may not call functions of this session (BUSY). INVALID: there is no watcher.
  seer_rt_code (*session_watch)(
      seer_session *session, seer_watcher watcher, void *user, char *message, size_t message_bytes);

  // ---- libraries whose kernels run on a device (compile --target cuda:..., opencl:...). Those for
  // processors have no device: 0, and UNSUPPORTED.
  // The devices that such a library may be opened on. Errors: NOT_FOUND: no driver, UNSUPPORTED.
  seer_rt_code (*n_devices)(int32_t *out_n, char *message, size_t message_bytes);
  // Its name and its driver, of at most 255 bytes each with their NUL.
  seer_rt_code (*device_name)(int32_t device, char out_name[256], char out_driver[256],
      char *message, size_t message_bytes);
  // As open, which takes device 0.
  seer_rt_code (*open_on)(int32_t device, const char *weights_path, const void *weights,
      uint64_t n_weight_bytes, int verify_hash, seer_model **out_model, char *message,
      size_t message_bytes);
  // Memory on the model's device, at a multiple of 256 bytes; what is in it: anything. Copies are
  // done when they return.
  seer_rt_code (*device_alloc)(const seer_model *model, uint64_t n_bytes, void **out_data,
      char *message, size_t message_bytes);
  void (*device_free)(const seer_model *model, void *data);
  seer_rt_code (*device_upload)(const seer_model *model, void *to, const void *from,
      uint64_t n_bytes, char *message, size_t message_bytes);
  seer_rt_code (*device_download)(const seer_model *model, void *to, const void *from,
      uint64_t n_bytes, char *message, size_t message_bytes);
  // Binds to memory of the device, at a multiple of 16 bytes: of device_alloc, or (CUDA) any that
  // the device's primary context has. What the caller does with it is done before a run begins. As
  // the other bindings else, which take its place and whose place it takes.
  seer_rt_code (*session_bind_device_input)(seer_session *session, int32_t index, const void *data,
      uint64_t n_bytes, char *message, size_t message_bytes);
  seer_rt_code (*session_bind_device_output)(seer_session *session, int32_t index, void *data,
      uint64_t n_bytes, char *message, size_t message_bytes);

  // ---- about a library, before anything is made of it
  // Of familyseer, that made it: "1.2.3".
  const char *(*version)(void);
  // Where in set 0, and so in all sets, the input or output of that name is; -1: there is none.
  int32_t (*find_input)(const seer_model *model, const char *name);
  int32_t (*find_output)(const seer_model *model, const char *name);
  // Of memory: what open has taken for weights (0: they lie in the caller's memory), and what a
  // session with so many threads takes. What the system counts beside is some pages.
  void (*sizes)(const seer_model *model, uint32_t n_threads, uint64_t *out_weight_bytes,
      uint64_t *out_session_bytes);
  // As pool_create, and says why not: RESOURCE.
  seer_rt_code (*pool_make)(
      uint32_t n_threads, int pin, seer_pool **out_pool, char *message, size_t message_bytes);
  // What runs of this session may take from now on.
  //   n_threads  at most so many of the pool's at a time; 0: all. Results are the same
  //   seconds    a run that takes longer ends with TIMEOUT at the end of the step that it is in,
  //              and outputs hold anything; 0: no limit. A step is not cut short: that would leave
  //              threads inside its code. Libraries with a device look at it when they hand a step
  //              over, not when the device has done it
  seer_rt_code (*session_limit)(seer_session *session, uint32_t n_threads, double seconds,
      char *message, size_t message_bytes);
} seer_model_api;

// What a model.so exports.
const seer_model_api *seer_model_v1(void);

// dlopen + the table, which may have fewer members than this header, of the file that is at so_path
// now, also where an earlier one of that path is still open. *out_library is closed with
// seer_model_unload (after all models of it are closed).
seer_rt_code seer_model_load(const char *so_path, void **out_library,
    const seer_model_api **out_api, char *message, size_t message_bytes);
void seer_model_unload(void *library);

#ifdef __cplusplus
}
#endif
#endif
