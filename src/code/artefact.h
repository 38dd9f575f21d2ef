// artefact.h - NETWORK + SCHEDULES -> ARTEFACT: kernels, packed weights, memory plan; model.so (or
// its source), model.h, weights.bin, model.json. Reproducible to the byte: nothing in the output
// depends on time, paths or addresses.
//
// Memory: all that goes in is borrowed. Threads: one call compiles on all that the process may use;
// two calls should not build into one folder at a time. Errors: those of lowering, code generation
// and the linker, by step; IO, RESOURCE of files. A folder that was missing may be there then.
#ifndef SEER_CODE_ARTEFACT_H
#define SEER_CODE_ARTEFACT_H

#include "code/kernel.h"
#include "front/front.h"
#include "space/frame.h"
#include "space/origin.h"

typedef struct {
  const seer_sketch_list *sketches;  // of the task
  seer_schedule schedule;
  seer_origin origin;  // one of those of what is compiled
  double seconds;  // best known, 0: never measured
  // Of pairs with the untuned schedule, which a tuned one was accepted by: what that took in
  // them, and the median of the pairs' ratios. 0: there were none.
  double untuned_seconds, speedup;
  uint32_t n_pairs;
  // Of one occurrence in the whole library, when that was last held against the untuned one: what
  // is told of the task. 0: it was not.
  double network_seconds;
} seer_choice;

// Constants of a step that lie packed, though its schedule would read them as they are.
typedef struct {
  uint32_t n;
  const seer_pack *pack;  // source_buf: the buffer of the step's DAG
} seer_step_packs;

// What is written beside model.h, weights.bin and model.json.
typedef enum {
  SEER_BUILD_LIBRARY,  // model.so
  // model.o: kernels, plan and runtime as one relocatable object to link into a program (with libc;
  // one model a program, whose entry is seer_model_v1). Weights are beside that program, or where
  // its call of open says.
  SEER_BUILD_OBJECT,
  // model.so as C: a Makefile, plan.c, kernels/ and the runtime's own sources. For every target,
  // of other machines too.
  SEER_BUILD_SOURCE
} seer_build_kind;
// What builds of one process have in common: a kernel that one has made, and weights that all
// kernels read as they did, are not made again; what is written is the same to the byte. For
// networks that live as long, and one target. One build at a time has it. After an error it may be
// in use still; after memory has run out it can be destroyed alone.
typedef struct seer_build_kept seer_build_kept;
seer_build_kept *seer_build_kept_create(void);
void seer_build_kept_destroy(seer_build_kept *kept);  // NULL is fine
// Kernels that were not made again. For tests.
uint32_t seer_build_kept_found(const seer_build_kept *kept);

// Writes into `out_dir` (made if missing) through temporary names, all or nothing: after an error
// an older library there is as it was, to the byte. (Several files change their names, one after
// the other: a process that is killed between two leaves a library that does not open.) A network
// for several sets of input shapes becomes one library: a plan for each set, over the kernels that
// they share and one weights.bin. What is compiled is chosen elsewhere (choose/).
//   choice  by task
//   packs   by set of shapes, then by step
//   kept    NULL: none; of libraries alone, and without dumps
SEER_MUST_USE seer_status seer_build_model(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_step_packs *const *packs, seer_build_kind kind,
    seer_build_kept *kept, const char *out_dir);
// Moves what was built into `from` as a library to `to` (made if missing, same file system), all or
// nothing: for libraries that are judged before they replace another. What else lies in `to` stays;
// what was replaced lies in `from`, whose end is the caller's.
SEER_MUST_USE seer_status seer_build_move(const char *from, const char *to);

// ---- for those who choose
// The constant that buffer `buf` stands for in terms of the tensor of which it may be a permuted
// copy: dimension d of the buffer is dimension out_perm[d] of it. False: the value is no constant,
// or has other dimensions.
bool seer_build_view(const seer_graph *graph, seer_val value, const seer_dag_buf *buf,
    seer_tensor *out_of, uint8_t *out_perm);
// The loops of a step, and the sketches that they are of: its task's, or its own where its literals
// are not the task's. *out_list may lie in `arena`.
SEER_MUST_USE seer_status seer_build_lower(const seer_context *context, const seer_network *network,
    const seer_step *step, const seer_choice *choice, seer_arena *arena,
    const seer_sketch_list **out_list, seer_loop **out_loop);

#endif
