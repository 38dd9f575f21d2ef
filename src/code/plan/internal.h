// internal.h - the parts of making a plan and what they hand to each other. Internal to code/plan.
//   plan.c     steps, in order -> the plan's sections
//   place.c    values -> where they live, and for how long
//   memory.c   live intervals -> offsets
//   host.c     host steps, sizes of outputs -> their parts of the plan
//   custom.c   of host steps that are operators of users: attributes
//   made.c     what each step leaves in memory -> its part of the plan
//   sides.c    of what lies on a device: which copy of a value is good (sides.h)
//   device.c   the plan's part about the device
//   range.c    how a batch of a range is run by several plans (make.h)
//   weights.c  packed weights -> weights.bin (make.h)
//
// Memory: what has no other owner is in the arena that is given.
#ifndef SEER_CODE_PLAN_INTERNAL_H
#define SEER_CODE_PLAN_INTERNAL_H

#include "base/roots.h"
#include "code/plan/make.h"
#include "front/custom/custom.h"
#include "runtime/host.h"

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

// ---- place.c
typedef struct {
  seer_plan_arg_kind kind;  // 0: not placed
  uint64_t offset;
  bool is_used;
  uint32_t first, last;
  uint64_t n_bytes;
  uint64_t image_bytes;  // of one image, where that is what steps of a stretch use
  // 0: not used; 1 + index of the stretch that alone uses it, by images; else SEER_HOME_OF_ALL
  uint32_t home;
} seer_value_place;
#define SEER_HOME_OF_ALL UINT32_MAX

// What one phase of a kernel leaves to another lies in the arena for its step.
typedef struct {
  uint32_t step;
  uint64_t n_bytes, offset;
} seer_between_phases;

typedef struct {
  const seer_network *network;  // of one set of shapes
  const seer_graph *graph;
  const seer_built_kernels *kernels;
  const uint32_t *kernel_of_step;
  uint32_t n_threads;
  seer_arena *arena;
  // out
  uint32_t *root;  // by value id
  seer_value_place *place;  // by root
  bool *is_in_place;  // by graph->shared: the output is made in the input's memory, if both are one
  seer_between_phases *between;  // in the order of steps and arguments
  size_t n_between, cap_between;
  uint64_t arena_bytes, private_bytes;  // of each thread, for images that run apart
} seer_places;

// The members above `out` are set.
void seer_place_values(seer_places *places);
static inline uint32_t seer_place_root(const seer_places *places, seer_val v) {
  return seer_root_of(places->root, v.i);
}
static inline const seer_value_place *seer_place_of(const seer_places *places, seer_val v) {
  return &places->place[seer_place_root(places, v)];
}
uint64_t seer_place_value_bytes(const seer_graph *graph, seer_val v);  // dense, at its bounds
// Where in its root's memory the value begins.
uint64_t seer_place_part_offset(const seer_graph *graph, seer_val v);
// Of step s; NULL: it runs whole.
const seer_stretch *seer_place_stretch(const seer_places *places, uint32_t s);
// The stretch whose steps have one image of the value in buffer `k` of step s; NULL: all of it.
const seer_stretch *seer_place_stretch_of_operand(
    const seer_places *places, uint32_t s, uint32_t k);
// By value: the step whose memory it is in, whatever views are in between; UINT32_MAX: none.
uint32_t *seer_place_makers(const seer_places *places);
// The value lies in memory of one image: of a stretch.
bool seer_place_is_of_image(const seer_value_place *place);

// ---- host.c: what the plan says of values whose sizes only a run knows
typedef struct {
  uint32_t host;  // of the list's
  const seer_node *node;
} seer_custom_call;
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
  seer_custom_call *custom;  // those that are operators of users
  size_t n_custom, cap_custom;
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

// ---- custom.c: into `blob`, before the list's calls are, which say where.
typedef uint32_t (*seer_put_string)(void *user, const char *text);
void seer_build_custom(
    seer_host_list *list, seer_put_string put_string, void *user, seer_text *blob);

// ---- made.c: what each step of the plan leaves in memory, for who looks at a run
typedef struct {
  seer_plan_made *made;
  size_t n_made, cap_made;
  int64_t *extent;
  size_t n_extent, cap_extent;
  seer_arena *arena;
} seer_made_list;
// `value`, of which argument `arg` holds all, is there once step `step` of the plan has run. Its
// elements lie as its order and pitch say. is_on_device: there alone.
void seer_build_made(seer_made_list *list, const seer_value *value, uint32_t step, uint32_t arg,
    uint32_t name, bool is_on_device);
// Into the order of steps: that of a loop comes before those of its body, and was put behind them.
void seer_build_sort_made(seer_made_list *list);

// ---- device.c: what the plan says of its device
typedef struct {
  seer_plan_launch *launch;  // by phase
  size_t n_launch, cap_launch;
  uint8_t *is_on_device;  // by move
  size_t n_move, cap_move;
  seer_arena *arena;
} seer_launch_list;
void seer_build_launch(
    seer_launch_list *list, uint32_t module, uint32_t name_string, const seer_kernel_launch *as);
void seer_build_move_on_device(seer_launch_list *list, bool is_on_device);
// Behind all strings but its own: `put` puts them. Sets the header's device_offset.
//   kernels  whose images are listed, each kernel's as a module; NULL: the first plan has them
void seer_build_device(const seer_launch_list *list, const seer_built_kernels *kernels,
    const char *driver, seer_put_string put, void *user, seer_text *blob, seer_plan_header *header);

#endif
