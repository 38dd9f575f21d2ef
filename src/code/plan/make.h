// make.h - STEPS AND KERNELS -> PLAN: what a library runs, on which buffers, in which order
// (runtime/plan.h), one for each set of input shapes; and the weights that it reads.
//
// Memory: plans are in the arena that is given. One thread. Whatever fails, the build ends: what
// was made for it is of no use.
#ifndef SEER_CODE_PLAN_MAKE_H
#define SEER_CODE_PLAN_MAKE_H

#include "code/plan/kernels.h"
#include "runtime/plan.h"

// ---- weights.c: packed weights -> weights.bin, each content once
typedef struct seer_weight_file seer_weight_file;
// RESOURCE once more than max_bytes are to be in it.
SEER_MUST_USE seer_status seer_weight_file_create(
    const char *path, uint64_t max_bytes, seer_arena *arena, seer_weight_file **out_file);
// Appends, or finds what is there already. The offset is a multiple of SEER_PLAN_ALIGN.
SEER_MUST_USE seer_status seer_weight_file_add(
    seer_weight_file *file, const void *data, uint64_t n_bytes, uint64_t *out_offset);
// What a file has answered, call by call, and what it is.
typedef struct {
  uint64_t offset, n_bytes;
} seer_weight_place;
typedef struct {
  size_t n;
  const seer_weight_place *place;
  uint64_t n_bytes, hash;
} seer_weight_answers;
// Of a file that is finished; in its arena.
const seer_weight_answers *seer_weight_file_answers(const seer_weight_file *file);
// In place of one that is made anew: the file is there, and the same calls in the same order get
// the answers (kept) that they got when it was made.
SEER_MUST_USE seer_status seer_weight_file_recall(
    const seer_weight_answers *known, seer_arena *arena, seer_weight_file **out_file);
SEER_MUST_USE seer_status seer_weight_file_finish(
    seer_weight_file *file, uint64_t *out_bytes, uint64_t *out_hash);
void seer_weight_file_close(seer_weight_file *file);  // NULL and finished ones are fine

// Makes argument `arg` of `kernel` for `step` and adds it: raw constants and packed ones.
SEER_MUST_USE seer_status seer_build_weight(seer_weight_file *file, const seer_graph *graph,
    const seer_step *step, const seer_sketch *sketch, const seer_kernel_arg *arg,
    uint64_t *out_offset, uint64_t *out_bytes);

// ---- plan.c
typedef struct {
  seer_plan_header header;  // sizes; weight_bytes and weight_hash are not known yet
  seer_text body;  // the sections behind the header
  const char **phase_symbol;  // header.n_phase of them
  uint64_t private_bytes;  // of each thread, for images that run apart
  const bool *is_in_place;  // by graph->shared
  const uint32_t *next;  // of a range, in the first plan, as seer_plan_range has it; NULL: none
} seer_built_plan;
// Of set `set`: its steps, and its weights into `weights`.
SEER_MUST_USE seer_status seer_build_plan(const seer_context *context, const seer_network *network,
    uint32_t set, const seer_built_kernels *kernels, const seer_choice *choice,
    seer_weight_file *weights, seer_arena *arena, seer_built_plan *out);

// ---- range.c
// Appends what the first plan says of the network's range, if it has one.
void seer_build_range(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_arena *arena, seer_built_plan *first);

#endif
