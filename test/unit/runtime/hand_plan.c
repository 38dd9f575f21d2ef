#include "hand_plan.h"

#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void range(uint32_t part, uint32_t n_parts, uint32_t *from, uint32_t *to) {
  uint32_t each = (HAND_N + n_parts - 1) / n_parts;
  *from = part * each < HAND_N ? part * each : HAND_N;
  *to = *from + each < HAND_N ? *from + each : HAND_N;
}

static void scale(void *const *buffers, uint32_t part) {
  const float *x = buffers[0], *w = buffers[1];
  float *t = buffers[2], *scratch = buffers[3];
  uint32_t from, to;
  range(part, 7, &from, &to);
  for (uint32_t i = from; i < to; i++) scratch[i - from] = x[i];  // a thread's own memory
  for (uint32_t i = from; i < to; i++) t[i] = scratch[i - from] * w[i];
}

static void total(void *const *buffers, uint32_t part) {
  const float *x = buffers[1];
  float *sum = buffers[3];
  (void)part;
  *sum = 0;
  for (uint32_t i = 0; i < HAND_N; i++) *sum += x[i];
}

static void add(void *const *buffers, uint32_t part) {
  const float *t = buffers[0], *sum = buffers[3];
  float *y = buffers[2];
  uint32_t from, to;
  range(part, 5, &from, &to);
  for (uint32_t i = from; i < to; i++) y[i] = t[i] + *sum;
}

const seer_phase_function hand_kernels[3] = {scale, total, add};

void hand_plan_make(hand_plan *plan, hand_weights *weights) {
  memset(plan, 0, sizeof *plan);
  memset(weights, 0, sizeof *weights);
  for (int i = 0; i < HAND_N; i++) weights->w[i] = (float)(i % 10);
  const uint64_t bytes = HAND_N * sizeof(float);
  weights->header = (seer_weights_header){SEER_WEIGHTS_MAGIC, SEER_PLAN_VERSION, SEER_PLAN_ALIGN,
      bytes, XXH3_64bits(weights->w, bytes)};
  seer_plan_header *h = &plan->header;
  h->magic = SEER_PLAN_MAGIC;
  h->version = SEER_PLAN_VERSION;
  h->n_bytes = sizeof *plan;
  h->n_step = 3, h->step_offset = offsetof(hand_plan, step);
  h->n_arg = 9, h->arg_offset = offsetof(hand_plan, arg);
  h->n_input = 1, h->n_output = 2, h->io_offset = offsetof(hand_plan, io);
  h->n_phase = 3, h->phase_offset = offsetof(hand_plan, phase);
  h->strings_offset = offsetof(hand_plan, strings), h->strings_bytes = sizeof plan->strings;
  h->json_offset = offsetof(hand_plan, json), h->json_bytes = sizeof plan->json;
  h->arena_bytes = 4032, h->shared_bytes = 64, h->scratch_bytes = bytes, h->weight_bytes = bytes;
  h->weight_hash = weights->header.hash;
  memcpy(plan->strings, "\0x\0y\0z\0scale\0add\0copy\0hand\0t", 29);
  memcpy(plan->json, "{}", 3);
  const uint64_t t = 0;
  plan->arg[0] = (seer_plan_arg){SEER_ARG_INPUT, 0, 0, bytes};
  plan->arg[1] = (seer_plan_arg){SEER_ARG_WEIGHT, 0, 0, bytes};
  plan->arg[2] = (seer_plan_arg){SEER_ARG_ARENA, 0, t, bytes};
  plan->arg[3] = plan->arg[2];
  plan->arg[4] = plan->arg[0];
  plan->arg[5] = (seer_plan_arg){SEER_ARG_OUTPUT, 0, 0, bytes};
  plan->arg[6] = (seer_plan_arg){SEER_ARG_SHARED, 0, 0, sizeof(float)};
  plan->arg[7] = plan->arg[5];
  plan->arg[8] = (seer_plan_arg){SEER_ARG_OUTPUT, 0, 1, bytes};
  plan->step[0] = (seer_plan_step){SEER_PLAN_KERNEL, 7, 22, 0, 1, 0, 3, 0, 1000};
  plan->step[1] = (seer_plan_step){SEER_PLAN_KERNEL, 13, 22, 1, 2, 3, 4, 0, 2000};
  plan->step[2] = (seer_plan_step){SEER_PLAN_COPY_BYTES, 17, 22, 0, 0, 7, 2, bytes, 0};
  for (uint32_t i = 0; i < 3; i++)
    plan->io[i] = (seer_plan_io){1 + 2 * i, 1, 2, 0, {8, HAND_N / 8}, bytes};
  h->n_made = 2, h->made_offset = offsetof(hand_plan, made);
  h->n_extent = 8, h->extent_offset = offsetof(hand_plan, extent);
  const int64_t extent[8] = {HAND_N / 8, 8, 1, HAND_N / 8, 8, HAND_N / 8, HAND_N / 8, 1};
  memcpy(plan->extent, extent, sizeof extent);
  plan->made[0] = (seer_plan_made){0, 27, 1, 2, 0, 2, 0, 0};
  plan->made[1] = (seer_plan_made){1, 3, 1, 2, 4, 5, 0, 0};
  plan->phase[0].n_parts = 7;
  plan->phase[1].n_parts = 1;
  plan->phase[2].n_parts = 5;
}

seer_model *hand_model;

int hand_model_open(void **state) {
  (void)state;
  static hand_plan plan;
  static hand_weights weights;
  hand_plan_make(&plan, &weights);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights, 1, NULL, NULL, NULL, 0};
  return seer_rt_open(&source, &hand_model, NULL, 0) != SEER_RT_OK;
}

int hand_model_close(void **state) {
  (void)state;
  seer_rt_close(hand_model);
  return 0;
}
