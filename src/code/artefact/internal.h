// internal.h - the parts of the build and what they hand to each other. Internal to code/artefact.
//   build.c    the order of things; the table of what can be built
//   files.c    what is written, in a temporary folder; renames
//   kernels.c  steps -> distinct kernels, lowered and compiled on all threads
//   weights.c  packed weights -> weights.bin, each content once
//   memory.c   live intervals -> offsets
//   plan.c     steps, buffers -> the plan blob, one for each set of input shapes
//   host.c     host steps, sizes of outputs -> their parts of the plan
//   made.c     what each step leaves in memory -> its part of the plan
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

#include "base/map.h"
#include "base/os.h"
#include "code/artefact.h"
#include "runtime/host.h"
#include "runtime/plan.h"

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
typedef struct seer_built_kernels seer_built_kernels;
typedef struct seer_built_library seer_built_library;

// A row for each seer_build_kind.
typedef struct {
  const char *file;  // what it is all for: the last one
  const char *maker;  // of kernels, for the log
  bool has_codegen;  // `kernel` is given the thread's code generator; else NULL
  // UNSUPPORTED: not for this target; INVALID: not into this folder (which may not be there)
  seer_status (*check)(const seer_target *target, const char *out_dir);
  seer_status (*kernel)(const seer_target *target, seer_codegen *codegen, const seer_loop *loop,
      const char *symbol, seer_arena *arena, seer_kernel *out);
  seer_status (*finish)(const seer_context *context, const seer_built_kernels *kernels,
      const seer_built_library *library, seer_built_files *files);
  // (optional) After all files are in place: removes those of an earlier build that are none of
  // this one.
  seer_status (*tidy)(const seer_built_files *files, const char *out_dir);
} seer_build_form;

// ---- kernels.c
typedef struct {
  const seer_step *step;  // the first one that needs it
  const seer_choice *choice;
  const seer_step_packs *packs;
  const seer_sketch *sketch;  // of the step's own DAG; kernel.arg's buffer ids are of its DAG
  const char *schedule_text;
  seer_kernel kernel;
  uint32_t n_arg;  // without the thread's scratch
  double codegen_s;  // that its code took
} seer_built_kernel;

struct seer_built_kernels {
  uint32_t n;
  seer_built_kernel *kernel;
  uint32_t **of_step;  // by set of shapes, then by step; UINT32_MAX for views and host steps
  uint32_t n_arenas;
  seer_arena **arenas;  // hold the kernels
};

// Errors: what lowering and code generation say, for the first kernel
// in step order.
SEER_MUST_USE seer_status seer_build_kernels(const seer_context *context,
    const seer_network *network, const seer_choice *choice, const seer_build_form *form,
    seer_step_packs *const *packs, seer_arena *arena, seer_built_kernels *out);
void seer_build_kernels_clear(seer_built_kernels *kernels);  // its objects and texts end here

// ---- weights.c
typedef struct seer_weight_file seer_weight_file;
// RESOURCE once more than max_bytes are to be in it.
SEER_MUST_USE seer_status seer_weight_file_create(
    const char *path, uint64_t max_bytes, seer_arena *arena, seer_weight_file **out_file);
// Appends, or finds what is there already. The offset is a multiple of SEER_PLAN_ALIGN.
SEER_MUST_USE seer_status seer_weight_file_add(
    seer_weight_file *file, const void *data, uint64_t n_bytes, uint64_t *out_offset);
SEER_MUST_USE seer_status seer_weight_file_finish(
    seer_weight_file *file, uint64_t *out_bytes, uint64_t *out_hash);
void seer_weight_file_close(seer_weight_file *file);  // NULL and finished ones are fine

// Makes argument `arg` of `kernel` for `step` and adds it: raw constants and packed ones.
SEER_MUST_USE seer_status seer_build_weight(seer_weight_file *file, const seer_graph *graph,
    const seer_step *step, const seer_sketch *sketch, const seer_kernel_arg *arg,
    uint64_t *out_offset, uint64_t *out_bytes);

// ---- memory.c
typedef struct {
  uint64_t n_bytes;  // > 0
  uint32_t first, last;  // steps during which it must be kept, both included
  uint64_t offset;  // out
} seer_memory_block;
// Places blocks so that those alive together do not overlap, at multiples of SEER_PLAN_ALIGN:
// largest first, each into the smallest gap that holds it, or with several threads so that threads
// meet their own lines again, which may take half as much memory more. Returns the bytes needed.
// Deterministic. Cost O(n^2).
uint64_t seer_memory_place(
    seer_memory_block *blocks, uint32_t n, uint32_t n_threads, seer_arena *arena);
// Bytes that another thread had in the block before, over one of many runs; thread t has the t-th
// n-th of each block. For tests.
uint64_t seer_memory_moved(
    const seer_memory_block *blocks, uint32_t n, uint32_t n_threads, seer_arena *arena);

// ---- plan.c
typedef struct {
  seer_plan_header header;  // sizes; weight_bytes and weight_hash are not known yet
  seer_text body;  // the sections behind the header
  const char **phase_symbol;  // header.n_phase of them
  uint64_t private_bytes;  // of each thread, for images that run apart
} seer_built_plan;
// Of set `set`: its steps, and its weights into `weights`.
SEER_MUST_USE seer_status seer_build_plan(const seer_context *context, const seer_network *network,
    uint32_t set, const seer_built_kernels *kernels, const seer_choice *choice,
    seer_weight_file *weights, seer_arena *arena, seer_built_plan *out);

// What is linked: the plans of all sets, with `json` in the first, and their kernels in order.
struct seer_built_library {
  const char *name;  // of the network, as its file has it; set by the caller
  const uint8_t *blob;
  uint64_t n_bytes, hash;  // XXH3
  uint32_t n_phase;
  const char **phase_symbol;
};

// ---- host.c: what the plan says of values whose sizes only a run knows
typedef struct {
  seer_plan_host *host;
  size_t n_host, cap_host;
  seer_plan_tensor *tensor;
  size_t n_tensor, cap_tensor;
  seer_plan_size *size;
  size_t n_size, cap_size;
  seer_plan_loop *loop;
  size_t n_loop, cap_loop;
  seer_plan_branch *branch;
  size_t n_branch, cap_branch;
  seer_plan_move *move;
  size_t n_move, cap_move;
  seer_arena *arena;
} seer_host_list;
// Puts an argument that stands for `value` into the plan, and returns its index.
typedef seer_status (*seer_put_value)(void *user, seer_val value, uint32_t *out_arg);
typedef struct {
  const seer_graph *graph;
  seer_put_value put;
  void *user;
} seer_value_args;
// The call of host step `node`. *out_room: what it needs of scratch; if that is not 0 for the call
// as a whole, seer_build_host_scratch is to be called with its argument.
SEER_MUST_USE seer_status seer_build_host(seer_host_list *list, const seer_value_args *args,
    const seer_node *node, seer_host_room *out_room);
void seer_build_host_scratch(seer_host_list *list, uint32_t arg);  // of the last one
// Output `output`, whose elements argument `from` holds at the bounds, is made dense.
SEER_MUST_USE seer_status seer_build_compact(
    seer_host_list *list, const seer_value_args *args, seer_val value, uint32_t from, uint32_t to);
SEER_MUST_USE seer_status seer_build_sizes_of(
    seer_host_list *list, const seer_value_args *args, seer_val value, uint32_t output);
// The loop between the nodes `begin` and `end`; its n_body is set by the caller.
SEER_MUST_USE seer_status seer_build_loop(seer_host_list *list, const seer_value_args *args,
    const seer_node *begin, const seer_node *end);
// The branch that `node` is. is_there (by then results, then else results): it is made where the
// result lies, or nobody wants it, so nothing moves. n_then and n_else are set by the caller.
SEER_MUST_USE seer_status seer_build_branch(
    seer_host_list *list, const seer_value_args *args, const seer_node *node, const bool *is_there);
// The elements in use do not stand at the start of the bound memory.
bool seer_build_has_gaps(const seer_value *value);

// ---- made.c: what each step of the plan leaves in memory, for who looks at a run
typedef struct {
  seer_plan_made *made;
  size_t n_made, cap_made;
  int64_t *extent;
  size_t n_extent, cap_extent;
  seer_arena *arena;
} seer_made_list;
// `value`, of which argument `arg` holds all, is there once step `step` of the plan has run. Its
// elements lie as its order and pitch say.
void seer_build_made(
    seer_made_list *list, const seer_value *value, uint32_t step, uint32_t arg, uint32_t name);
// Into the order of steps: that of a loop comes before those of its body, and was put behind them.
void seer_build_sort_made(seer_made_list *list);

// ---- link.c: model.so and model.o, and the kernels in them. As seer_build_form has them.
// Errors: UNSUPPORTED the target has no instruction set; NOT_FOUND no runtime for its processors
// was built here.
SEER_MUST_USE seer_status seer_build_can_link(const seer_target *target, const char *out_dir);
SEER_MUST_USE seer_status seer_build_object_kernel(const seer_target *target, seer_codegen *codegen,
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_kernel *out);
SEER_MUST_USE seer_status seer_build_link(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);
// The same as one relocatable object that exports seer_model_v1 and asks for libc alone.
SEER_MUST_USE seer_status seer_build_relink(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);

// ---- source.c: the same as C
// Errors: INVALID there is a Makefile that none of us has made.
SEER_MUST_USE seer_status seer_build_can_write(const seer_target *target, const char *out_dir);
SEER_MUST_USE seer_status seer_build_source_kernel(const seer_target *target, seer_codegen *codegen,
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_kernel *out);
SEER_MUST_USE seer_status seer_build_sources(const seer_context *context,
    const seer_built_kernels *kernels, const seer_built_library *library, seer_built_files *files);
SEER_MUST_USE seer_status seer_build_tidy_sources(
    const seer_built_files *files, const char *out_dir);

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
