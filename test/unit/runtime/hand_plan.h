// hand_plan.h - small plans made by hand, for tests of the runtime without any compiler.
#ifndef TEST_HAND_PLAN_H
#define TEST_HAND_PLAN_H

#include "runtime/exec.h"

// Two kernels over a vector of 1,000 floats, in two steps and a copy:
//   t = x * w (7 parts);  y = t + sum of x (2 phases: 1 part, 5 parts; the sum lies in shared scratch);  z = y (bytes)
// Made are t, as a transposed [125,8], by the first step, and y by the second one.
#define HAND_N 1000

typedef struct {
  seer_plan_header header;
  seer_plan_step step[3];
  seer_plan_arg arg[9];
  seer_plan_io io[3];
  seer_plan_phase phase[3];
  seer_plan_made made[2];
  int64_t extent[8];
  char strings[64];
  char json[8];
} hand_plan;

typedef struct {
  seer_weights_header header;
  char pad[SEER_PLAN_ALIGN - sizeof(seer_weights_header)];
  float w[HAND_N];
} hand_weights;

extern const seer_phase_function hand_kernels[3];
void hand_plan_make(hand_plan *plan, hand_weights *weights);

// A model of it, as a test's or a group's setup and teardown.
extern seer_model *hand_model;
int hand_model_open(void **state);
int hand_model_close(void **state);

#endif
