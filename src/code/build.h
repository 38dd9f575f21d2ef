// build.h - NETWORK + SCHEDULES -> ARTEFACT: kernels, packed weights, memory plan; model.so (or its
// source), model.h, weights.bin, model.json. Reproducible to the byte: nothing in the output
// depends on time, paths or addresses.
#ifndef SEER_CODE_BUILD_H
#define SEER_CODE_BUILD_H

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
} seer_choice;

// choice[task id]. Writes into `out_dir` (made if missing) through temporary names, all or nothing.
// A network for several sets of input shapes becomes one library: a plan for each set, over the
// kernels that they share and one weights.bin. A large constant that some steps gather from and
// others multiply with is stored once, in the form of the latter, where that costs little
// (build/tie.c).
SEER_MUST_USE seer_status seer_build_model(const seer_context *context, const seer_network *network,
    const seer_choice *choice, const char *out_dir);

// What is written beside model.h, weights.bin and model.json.
typedef enum {
  SEER_BUILD_LIBRARY,  // model.so
  // model.o: kernels, plan and runtime as one relocatable object to link into a program (with libc;
  // one model a program, whose entry is seer_model_v1). Weights are beside that program, or where
  // its call of open says.
  SEER_BUILD_OBJECT,
  // model.so as C: a Makefile, model.c, kernels/ and the runtime's own sources. For every target,
  // of other machines too.
  SEER_BUILD_SOURCE
} seer_build_kind;
SEER_MUST_USE seer_status seer_build_model_as(const seer_context *context,
    const seer_network *network, const seer_choice *choice, seer_build_kind kind,
    const char *out_dir);

#endif
