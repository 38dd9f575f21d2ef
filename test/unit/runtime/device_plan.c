#include "device_plan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { F32 = 1, I64 = 7, BOOL = 9 };

const char device_plan_kernel[] =
    "static void add(void *const *b, unsigned block) {\n"
    "  const float *x = (const float *)b[0] + 64 * block, *y = (const float *)b[1] + 64 * block;\n"
    "  for (int i = 0; i < 64; i++) ((float *)b[2])[64 * block + i] = x[i] + y[i];\n"
    "}\n";

// Strings, by where they begin.
static const char strings[] = "\0x\0trips\0c\0y\0z\0rows\0add\0cuda\0opencl\0s\0a\0r\0";
enum {
  S_X = 1,
  S_TRIPS = 3,
  S_C = 9,
  S_Y = 11,
  S_Z = 13,
  S_ROWS = 15,
  S_ADD = 20,
  S_CUDA = 24,
  S_OPENCL = 29,
  S_S = 36,
  S_A = 38,
  S_R = 40
};

// Places in the arena, of 512 bytes each.
enum { A_A, A_S, A_IN, A_OUT, A_P, A_R, A_H, A_SMALL, A_N };

// Arguments that steps of more than one use begin with: see put_args.
enum {
  UP_X,
  FIRST,  // x, w, a
  COPY = FIRST + 3,  // a, before
  BODY = COPY + 2,  // in, a, out
  GO = BODY + 3,  // go, next
  DOUBLE = GO + 2,  // s, s, p
  UP_H = DOUBLE + 3,
  LAST,  // r, h, y
  DOWN_Y = LAST + 3,
  DOWN_ROWS,
  TO_Z,  // h, z
  TRIPS = TO_Z + 2,
  C,
  RESULT_S,
  NUMBER,
  COUNT,
  W,
  END
};
_Static_assert((int)END <= (int)DP_N_ARG, "arguments");

static void put_args(seer_plan_arg *arg, uint64_t bytes) {
#define ARENA(place) \
  (seer_plan_arg) { SEER_ARG_ARENA, 0, 512u * (place), bytes }
#define SMALL(k, n) \
  (seer_plan_arg) { SEER_ARG_ARENA, 0, 512u * A_SMALL + 64u * (k), n }
  const seer_plan_arg x = {SEER_ARG_INPUT, 0, 0, bytes}, w = {SEER_ARG_WEIGHT, 0, 0, bytes};
  const seer_plan_arg y = {SEER_ARG_OUTPUT, 0, 0, bytes}, z = {SEER_ARG_OUTPUT, 0, 1, bytes};
  const seer_plan_arg rows = {SEER_ARG_OUTPUT, 0, 2, DEVICE_PLAN_ROWS * bytes};
  const seer_plan_arg all[END] = {x, x, w, ARENA(A_A), ARENA(A_A), ARENA(A_P), ARENA(A_IN),
      ARENA(A_A), ARENA(A_OUT), SMALL(0, 1), SMALL(1, 1), ARENA(A_S), ARENA(A_S), ARENA(A_P),
      ARENA(A_H), ARENA(A_R), ARENA(A_H), y, y, rows, ARENA(A_H), z, {SEER_ARG_INPUT, 0, 1, 8},
      {SEER_ARG_INPUT, 0, 2, 1}, ARENA(A_S), SMALL(2, 8), SMALL(3, 8), w};
  memcpy(arg, all, sizeof all);
}

static void put_steps(seer_plan_step *step, uint64_t bytes) {
  const seer_plan_step all[DP_N_STEP] = {{SEER_PLAN_UPLOAD, S_X, 0, 0, 0, UP_X, 1, bytes, 0},
      {SEER_PLAN_LAUNCH, S_ADD, 0, 0, 1, FIRST, 3, 0, 64},
      {SEER_PLAN_COPY_ON_DEVICE, S_S, 0, 0, 0, COPY, 2, bytes, 0},
      {SEER_PLAN_LOOP, S_S, 0, 0, 0, 0, 0, 0, 0},
      {SEER_PLAN_LAUNCH, S_ADD, 0, 1, 1, BODY, 3, 0, 64},
      {SEER_PLAN_COPY_BYTES, S_S, 0, 0, 0, GO, 2, 1, 0},
      {SEER_PLAN_BRANCH, S_R, 0, 0, 0, 0, 0, 0, 0},
      {SEER_PLAN_LAUNCH, S_ADD, 0, 2, 1, DOUBLE, 3, 0, 64},
      {SEER_PLAN_UPLOAD, S_R, 0, 0, 0, UP_H, 1, bytes, 0},
      {SEER_PLAN_LAUNCH, S_ADD, 0, 3, 1, LAST, 3, 0, 64},
      {SEER_PLAN_DOWNLOAD, S_Y, 0, 0, 0, DOWN_Y, 1, bytes, 0},
      {SEER_PLAN_DOWNLOAD, S_ROWS, 0, 0, 0, DOWN_ROWS, 1, DEVICE_PLAN_ROWS * bytes, 0},
      {SEER_PLAN_COPY_BYTES, S_Z, 0, 0, 0, TO_Z, 2, bytes, 0}};
  memcpy(step, all, sizeof all);
}

// Numbers of arguments are 1 + index.
static void put_control(device_plan *p, uint64_t bytes) {
  p->loop = (seer_plan_loop){.n_body = 2,
      .trip_arg = TRIPS + 1,
      .number_arg = NUMBER + 1,
      .go_arg = GO + 1,
      .next_arg = GO + 2,
      .count_arg = COUNT + 1,
      .n_carried = 1,
      .n_scan = 1};
  p->branch = (seer_plan_branch){C + 1, 1, 0, 2, 2, 2};
  const uint32_t a = FIRST + 3, before = COPY + 2, in = BODY + 1, out = BODY + 3, s = RESULT_S + 1;
  const uint32_t r = LAST + 1, h = UP_H + 1, doubled = DOUBLE + 3;
  const seer_plan_move moves[DP_N_MOVE] = {{before, in, out, s, bytes},
      {0, 0, out, DOWN_ROWS + 1, bytes}, {0, 0, doubled, r, bytes}, {0, 0, UP_X + 1, h, bytes},
      {0, 0, a, r, bytes}, {0, 0, W + 1, h, bytes}};
  const uint8_t is_on_device[DP_N_MOVE] = {1, 1, 1, 0, 1, 0};
  memcpy(p->move, moves, sizeof moves);
  memcpy(p->is_on_device, is_on_device, sizeof is_on_device);
}

static void put_device(device_plan *p, const char *driver, uint32_t n) {
  p->device = (seer_plan_device){strcmp(driver, "cuda") == 0 ? S_CUDA : S_OPENCL,
      offsetof(device_plan, launch), offsetof(device_plan, is_on_device), 0, 0, 0, 0, 0};
  for (uint32_t k = 0; k < 4; k++) {
    p->phase[k].n_parts = n / 64;
    p->launch[k] = (seer_plan_launch){0, S_ADD, 64, 0};
  }
}

static void put_plan(device_plan *p, const char *driver, uint32_t n) {
  seer_plan_header *h = &p->header;
  const uint64_t bytes = n * sizeof(float);
  h->magic = SEER_PLAN_MAGIC, h->version = SEER_PLAN_VERSION, h->n_bytes = sizeof *p;
  h->n_step = DP_N_STEP, h->step_offset = offsetof(device_plan, step);
  h->n_arg = END, h->arg_offset = offsetof(device_plan, arg);
  h->n_input = 3, h->n_output = 3, h->io_offset = offsetof(device_plan, io);
  h->n_phase = 4, h->phase_offset = offsetof(device_plan, phase);
  h->strings_offset = offsetof(device_plan, strings), h->strings_bytes = sizeof p->strings;
  h->json_offset = offsetof(device_plan, json), h->json_bytes = sizeof p->json;
  h->arena_bytes = 512 * A_N;
  h->weight_bytes = DEVICE_PLAN_MAX_N * sizeof(float);
  h->n_loop = 1, h->loop_offset = offsetof(device_plan, loop);
  h->n_branch = 1, h->branch_offset = offsetof(device_plan, branch);
  h->n_move = DP_N_MOVE, h->move_offset = offsetof(device_plan, move);
  h->n_made = DP_N_MADE, h->made_offset = offsetof(device_plan, made);
  h->n_extent = 2, h->extent_offset = offsetof(device_plan, extent);
  h->device_offset = offsetof(device_plan, device);
  memcpy(p->strings, strings, sizeof strings);
  memcpy(p->json, "{}", 3);
  put_args(p->arg, bytes);
  put_steps(p->step, bytes);
  p->io[DP_X] = (seer_plan_io){S_X, F32, 1, 0, {n}, bytes};
  p->io[DP_TRIPS] = (seer_plan_io){S_TRIPS, I64, 0, 0, {0}, 8};
  p->io[DP_C] = (seer_plan_io){S_C, BOOL, 0, 0, {0}, 1};
  p->io[DP_Y] = (seer_plan_io){S_Y, F32, 1, 0, {n}, bytes};
  p->io[DP_Z] = (seer_plan_io){S_Z, F32, 1, 0, {n}, bytes};
  p->io[DP_ROWS] =
      (seer_plan_io){S_ROWS, F32, 2, 0, {DEVICE_PLAN_ROWS, n}, DEVICE_PLAN_ROWS * bytes};
  const seer_plan_made made[DP_N_MADE] = {{1, S_A, F32, 1, 0, FIRST + 2, 0, 1},
      {3, S_S, F32, 1, 0, RESULT_S, 0, 1}, {6, S_R, F32, 1, 0, LAST, 0, 1},
      {10, S_Y, F32, 1, 0, DOWN_Y, 0, 0}};
  memcpy(p->made, made, sizeof made);
  p->extent[0] = n, p->extent[1] = 1;
  put_control(p, bytes);
  put_device(p, driver, n);
}

void device_plan_make_weights(device_plan_weights *out) {
  memset(out, 0, sizeof *out);
  for (int i = 0; i < DEVICE_PLAN_MAX_N; i++) out->w[i] = (float)(i % 7) + 0.5f;
  out->header = (seer_weights_header){SEER_WEIGHTS_MAGIC, SEER_PLAN_VERSION, SEER_PLAN_ALIGN,
      sizeof out->w, XXH3_64bits(out->w, sizeof out->w)};
}

device_plan *device_plan_make(
    const char *driver, const seer_device_image *image, uint32_t n_sets, size_t *out_bytes) {
  device_plan_weights weights;
  device_plan_make_weights(&weights);
  size_t n_first = (sizeof(device_plan) + image->n_bytes + 63) / 64 * 64;
  *out_bytes = n_first + (n_sets > 1 ? sizeof(device_plan) : 0);
  uint8_t *blob = aligned_alloc(64, (*out_bytes + 63) / 64 * 64);
  if (!blob) abort();
  memset(blob, 0, (*out_bytes + 63) / 64 * 64);
  device_plan *p = (void *)blob;
  for (uint32_t s = 0; s < n_sets; s++) {
    device_plan *one = (void *)(blob + s * n_first);
    put_plan(one, driver, s == 0 ? DEVICE_PLAN_N : DEVICE_PLAN_MAX_N);
    one->header.weight_hash = weights.header.hash;
  }
  p->header.n_bytes = (uint32_t)n_first;
  p->device.n_module = 1, p->device.module_offset = offsetof(device_plan, module);
  p->device.n_image = 1, p->device.image_offset = offsetof(device_plan, image);
  p->module = (seer_plan_module){0, 1};
  p->image = (seer_plan_image){
      image->format, image->architecture, 0, 0, sizeof(device_plan), image->n_bytes};
  memcpy(blob + sizeof(device_plan), image->data, image->n_bytes);
  return p;
}

void device_plan_expect(const float *x, int64_t n_trips, bool c, uint32_t n, float *y, float *z,
    float rows[DEVICE_PLAN_ROWS][DEVICE_PLAN_MAX_N]) {
  device_plan_weights weights;
  device_plan_make_weights(&weights);
  for (uint32_t i = 0; i < n; i++) {
    float a = x[i] + weights.w[i], s = a;
    for (int64_t k = 0; k < n_trips; k++) {
      s += a;
      if (k < DEVICE_PLAN_ROWS) rows[k][i] = s;
    }
    z[i] = c ? x[i] : weights.w[i];
    y[i] = (c ? s + s : a) + z[i];
  }
}
