// use.h - a library (model.so) that runs here, for who judges it or shows what it does: loading it,
// its threads, inputs from files or made up, outputs.
//
// Memory: what a seer_use holds is its own, until seer_use_close; texts are in its arena. One
// thread. Errors are the runtime's, by seer_rt_to_status.
#ifndef SEER_LIBRARY_USE_H
#define SEER_LIBRARY_USE_H

#include "seer/runtime.h"
#include "setup/context.h"
#include "setup/npy.h"

// A -i NAME=x.npy.
typedef struct {
  const char *file;
  int32_t input;
  seer_npy npy;
} seer_given;

typedef struct {
  const char *path;
  seer_arena *arena;
  void *library;
  const seer_model_api *api;
  seer_model *model;
  seer_pool *pool;
  bool owns_model, owns_pool;
  seer_session *session;
  int32_t n_inputs, n_outputs;
  int32_t n_sets, set;  // sets of input shapes; the one that is selected
  void **input, **output;  // 64-byte aligned, bound
  void **on_device;  // memory of the device that is bound in their place; n_on_device of them
  int32_t n_on_device;
  seer_given *given;  // NULL: not read yet
  size_t n_given;
} seer_use;

// "model.so", or the folder that compile -o wrote.
const char *seer_use_path(const char *path, seer_arena *arena);
// Loads and opens (weights file `weights`; "": weights.bin beside it), makes a session on `pool`,
// or on threads of its own (--threads, pinned if `pin`) when that is NULL. Selects the first set of
// input shapes. `use` is filled even on failure: always seer_use_close.
SEER_MUST_USE seer_status seer_use_open(seer_context *context, const char *path,
    const char *weights, seer_pool *pool, bool pin, seer_arena *arena, seer_use *use);
// A second session on the model of `of`, which is closed after it, with a pool of `n_threads` that
// are not pinned; no set of shapes is selected. `out` is filled even on failure.
SEER_MUST_USE seer_status seer_use_open_beside(
    const seer_use *of, uint32_t n_threads, seer_arena *arena, seer_use *out);
void seer_use_close(seer_use *use);
// Selects a set of input shapes and binds buffers for it.
SEER_MUST_USE seer_status seer_use_select(seer_use *use, int32_t set);
// Selects the set that -i files ask for and, when it was given once, --input-shapes; else the
// first. Errors: INVALID lists the sets when there is none.
SEER_MUST_USE seer_status seer_use_choose(const seer_context *context, seer_use *use);
// Of the selected set.
const seer_io_info *seer_use_declared(const seer_use *use, int32_t index);  // output, bounds
int32_t seer_use_n_steps(const seer_use *use);
// "input_ids[1,128] mask[1,128]", safe to show, in use->arena.
const char *seer_use_shapes(const seer_use *use, int32_t set);
// What has inputs of these shapes, for seer_use_select: a set, or a size of a library's range,
// whose number is n_sets or more. -1: nothing has.
int32_t seer_use_find(const seer_use *use, const char *shapes);
// Fills all inputs: -i NAME=x.npy, the others by --fill and --seed (the numbers depend on seed,
// position and shape only).
SEER_MUST_USE seer_status seer_use_fill(const seer_context *context, seer_use *use);
// Inputs as they are, and outputs, lie on the library's device from here on, and a run copies
// neither: `input` and `output` are not looked at any more. Once, behind seer_use_fill.
// UNSUPPORTED: it has no device.
SEER_MUST_USE seer_status seer_use_move_to_device(seer_use *use);
SEER_MUST_USE seer_status seer_use_run(seer_use *use);
// The same, while `watcher` is shown what each step has left. UNSUPPORTED: a library of a version
// that cannot.
SEER_MUST_USE seer_status seer_use_watch(seer_use *use, seer_watcher watcher, void *user);
// Medians of n_runs runs; steps[n_steps], seer_use_n_steps of them.
SEER_MUST_USE seer_status seer_use_time_steps(
    seer_use *use, uint32_t n_runs, seer_step_info *steps, int32_t n_steps);
// Output i as the last run left it: where dimensions are bounded, the sizes that it had.
seer_io_info seer_use_output(const seer_use *use, int32_t i);
// Output of that name; -1 if none. A lone output may be called by any name that is "".
int32_t seer_use_find_output(const seer_use *use, const char *name);

SEER_MUST_USE seer_status seer_rt_to_status(
    seer_rt_code code, const char *path, const char *message);
// "name=file" -> both parts; a usage error when there is no =.
SEER_MUST_USE seer_status seer_pair_split(const char *text, const char *flag, seer_arena *arena,
    const char **out_name, const char **out_file);

// Element `i` as a number, for every type that has one.
double seer_element_f64(int32_t onnx_dtype, const void *data, uint64_t i);

typedef struct {
  double max_error;  // largest |a - b|; infinity where only one is a number
  double max_expected;  // largest |b|
  double allowed;  // atol + rtol * max_expected
  uint64_t worst;  // index of the largest error
  bool is_ok;
} seer_difference;
seer_difference seer_compare(int32_t onnx_dtype, const void *found, const void *expected,
    uint64_t n_elems, double rtol, double atol);

#endif
