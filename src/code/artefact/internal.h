// internal.h - the parts of the build and what they hand to each other. Internal to code/artefact.
//   build.c    the order of things; the table of what can be built
//   files.c    what is written, in a temporary folder; renames
//   kernels.c  steps -> distinct kernels, lowered and compiled on all threads
//   kept.c     kernels and weights that an earlier build has made
//   (code/plan/ then makes a plan of them, and weights.bin)
//   device.c   of a GPU: kernels -> images that a device loads
//   link.c     plan + kernels + runtime archive -> model.so, model.o
//   source.c   plan + kernels + the runtime's sources -> model.so as C
//   embed.c    the runtime's sources, as this program was built with them
//   describe.c model.json, model.h
//
// Memory: what has no other owner is in the build's arena. Threads: kernels are compiled on
// several, all else is one thread's. Whatever fails, the build ends: what was made for it is of no
// use.
#ifndef SEER_CODE_ARTEFACT_INTERNAL_H
#define SEER_CODE_ARTEFACT_INTERNAL_H

#include "base/os.h"
#include "code/artefact.h"
#include "code/plan/make.h"

// ---- files.c
// Files of the build by their names in the destination, in the order in which they get there: until
// then they are in the work folder.
typedef struct {
  seer_arena *arena;
  const char *work_dir;
  const char **name;
  size_t n, cap;
} seer_built_files;
// Lists `name` (kept), and gives the path at which the file is to be made. Its folder is there
// unless the name has one.
const char *seer_build_add_file(seer_built_files *files, const char *name);
// Lists and writes it, with the folders of its name.
SEER_MUST_USE seer_status seer_build_put_file(
    seer_built_files *files, const char *name, const void *data, size_t n_bytes);

// Renames them, in order; what they replace comes to lie in the work folder. After an error all
// that was in `out_dir` is there as it was. INVALID: a folder has the name of one of them.
SEER_MUST_USE seer_status seer_build_put_in_place(
    const seer_built_files *files, const char *out_dir);

// ---- build.c
typedef struct seer_built_library seer_built_library;

// What a thread makes kernels with.
typedef struct {
  const seer_context *context;
  seer_codegen *codegen;  // NULL: the form has none
  seer_gpu_maker *device;  // likewise
} seer_kernel_maker;

// A row for each seer_build_kind, and for kinds of targets.
typedef struct {
  const char *file;  // what it is all for: the last one
  const char *maker;  // of kernels, for the log
  // UNSUPPORTED: not for this target; INVALID: not into this folder (which may not be there)
  seer_status (*check)(const seer_context *context, const char *out_dir);
  // (optional) Both are called by each thread. What begin has made is to be ended though it failed.
  seer_status (*begin)(seer_kernel_maker *maker);
  void (*end)(seer_kernel_maker *maker);
  // The members `kernel`, `n_image` and `image` of `out`.
  seer_status (*kernel)(const seer_kernel_maker *maker, const seer_loop *loop, const char *symbol,
      seer_arena *arena, seer_built_kernel *out);
  seer_status (*finish)(const seer_context *context, const seer_built_kernels *kernels,
      const seer_built_library *library, seer_built_files *files);
  // (optional) After all files are in place: removes those of an earlier build that are none of
  // this one.
  seer_status (*tidy)(const seer_built_files *files, const char *out_dir);
  bool takes_objects;  // of users: operators
} seer_build_form;

// What is built, and how.
typedef struct {
  const seer_context *context;
  const seer_network *network;
  const seer_build_form *form;
  seer_build_kept *kept;  // NULL: nothing is
} seer_build_scope;

// ---- kernels.c
// Those that are kept are taken from there, the others made.
// Errors: what lowering and code generation say, for the first kernel
// in step order.
SEER_MUST_USE seer_status seer_build_kernels(const seer_build_scope *scope,
    const seer_choice *choice, seer_step_packs *const *packs, seer_arena *arena,
    seer_built_kernels *out);
void seer_build_kernels_clear(seer_built_kernels *kernels);  // its objects and texts end here

// ---- kept.c
uint64_t seer_build_hash_packs(const seer_step_packs *packs);
// Fills in a kernel whose step, packs and schedule_text are known; false: it is to be made. Any
// number of threads may ask.
bool seer_build_kept_find(const seer_build_scope *scope, seer_arena *arena, seer_built_kernel *k);
// Puts the weights of an earlier library with these kernels at `path` as well; NULL: they are to be
// made.
const seer_weight_answers *seer_build_kept_weights(
    const seer_build_scope *scope, const seer_built_kernels *kernels, const char *path);
// After a build with something to keep it in: keeps what it has made; its weights lie at
// `weights_path`.
void seer_build_keep(const seer_build_scope *scope, const seer_built_kernels *kernels,
    const seer_weight_answers *answers, const char *weights_path);

// What is linked: the plans of all sets, with `json` in the first, and their kernels in order.
struct seer_built_library {
  const char *name;  // of the network, as its file has it; set by the caller
  const uint8_t *blob;
  uint64_t n_bytes, hash;  // XXH3
  uint32_t n_phase;
  const char **phase_symbol;
  const struct seer_custom *custom;  // operators of users that are to be linked; NULL: it has none
};

// ---- link.c: model.so and model.o, and the kernels in them. As seer_build_form has them.
// Errors: UNSUPPORTED the target has no instruction set; NOT_FOUND no runtime for its processors
// was built here.
SEER_MUST_USE seer_status seer_build_can_link(const seer_context *context, const char *out_dir);
SEER_MUST_USE seer_status seer_build_begin_objects(seer_kernel_maker *maker);
void seer_build_end_objects(seer_kernel_maker *maker);
SEER_MUST_USE seer_status seer_build_object_kernel(const seer_kernel_maker *maker,
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_built_kernel *out);
SEER_MUST_USE seer_status seer_build_link(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);
// The same as one relocatable object that exports seer_model_v1 and asks for libc alone.
SEER_MUST_USE seer_status seer_build_relink(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);

// ---- source.c: the same as C
// Errors: INVALID there is a Makefile that none of us has made.
SEER_MUST_USE seer_status seer_build_can_write(const seer_context *context, const char *out_dir);
SEER_MUST_USE seer_status seer_build_source_kernel(const seer_kernel_maker *maker,
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_built_kernel *out);
SEER_MUST_USE seer_status seer_build_sources(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);
SEER_MUST_USE seer_status seer_build_tidy_sources(
    const seer_built_files *files, const char *out_dir);

// ---- device.c: kernels of libraries for GPUs. The host's part of such a library is for processors
// as this one is; link.c links it.
// Errors: those of compilers that are missing; UNSUPPORTED what it is not built with.
SEER_MUST_USE seer_status seer_build_can_use_device(
    const seer_context *context, const char *out_dir);
SEER_MUST_USE seer_status seer_build_begin_device(seer_kernel_maker *maker);
void seer_build_end_device(seer_kernel_maker *maker);
SEER_MUST_USE seer_status seer_build_device_kernel(const seer_kernel_maker *maker,
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_built_kernel *out);

// ---- embed.c
typedef struct {
  const char *name;  // "runtime/exec.c", as it is included
  const char *data, *end;
} seer_embedded_file;
// The closure of the runtime's sources: what compiles to libseer_rt.a, and all that it includes
// beyond libc.
extern const seer_embedded_file seer_embedded_runtime[];
extern const size_t seer_embedded_runtime_count;

// ---- describe.c
// plan[set], their headers complete.
const char *seer_build_json(const seer_context *context, const seer_network *network,
    const seer_built_kernels *kernels, const seer_choice *choice, const seer_built_plan *plan,
    seer_arena *arena);
const char *seer_build_header(const seer_network *network, seer_arena *arena);

#endif
