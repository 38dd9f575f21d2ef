// rival.h - a library beside ONNX Runtime, where that is installed: runs in turns, on the same
// inputs, with as many threads, so that the machine's drift falls on both.
//
// ONNX Runtime is a process of its own, as people run it (all its optimisations, its package for
// Python, cli/against.h), which is stopped while the library runs. One thread.
#ifndef SEER_CLI_RIVAL_H
#define SEER_CLI_RIVAL_H

#include <sched.h>

#include "cli/samples.h"
#include "library/use.h"

typedef struct {
  const char *version;
  seer_samples ours, theirs;  // single runs
  double ratio;  // median over turns of a turn's medians, the library's over ONNX Runtime's
  uint32_t n_turns;
  double deviation;  // of the answers, over the largest value; infinity: their outputs are others
} seer_rival;

// `use` has its inputs; `model` is the network that it was made of, with the inputs that `context`
// binds; `processors` those that the other may use: the caller's may be pinned. At least `seconds`
// and --iterations runs of each. What comes is in use->arena.
// Errors: those of seer_against_onnxruntime; INVALID an option that names another rival.
SEER_MUST_USE seer_status seer_rival_race(seer_context *context, seer_use *use, const char *model,
    const cpu_set_t *processors, double seconds, seer_rival *out);
// "`ours` is 1.20 times as fast as ONNX Runtime 1.32.0 (...)", in `arena`.
const char *seer_rival_text(const seer_rival *of, const char *ours, seer_arena *arena);
void seer_rival_put(const seer_rival *of, json_t *object);

#endif
