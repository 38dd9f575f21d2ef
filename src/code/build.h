// build.h - NETWORK + SCHEDULES -> ARTEFACT: kernels, packed weights, memory plan, model.so,
// model.h, weights.bin, model.json. Reproducible to the byte: nothing in the output depends on
// time, paths or addresses.
#ifndef SEER_CODE_BUILD_H
#define SEER_CODE_BUILD_H

#include "code/kernel.h"
#include "front/front.h"
#include "space/frame.h"

typedef struct {
  const seer_sketch_list *sketches;  // of the task
  seer_schedule schedule;
  const char *source;  // "default", "record", "similar", "sibling", "naive"
  double seconds;  // best known, 0: never measured
} seer_choice;

// choice[task id]. Writes into `out_dir` (made if missing) through temporary names, all or nothing.
// A network for several sets of input shapes becomes one library: a plan for each set, over the
// kernels that they share and one weights.bin. A large constant that some steps gather from and
// others multiply with is stored once, in the form of the latter, where that costs little
// (build/tie.c).
SEER_MUST_USE seer_status seer_build_model(const seer_context *context, const seer_network *network,
    const seer_choice *choice, const char *out_dir);

#endif
