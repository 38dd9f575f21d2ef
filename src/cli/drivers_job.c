// drivers_job.c - the job of drivers.h that calls a driver: one question, in a process of its own.
// What a device is asked for is a copy of a kernel that familyseer has no part in making: should it
// be wrong, so is the driver, or the device.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/drivers.h"
#include "cli/json.h"
#include "runtime/device/device.h"
#include "setup/usage.h"

#define N_BLOCKS 64
#define N_ITEMS 64
#define N (N_BLOCKS * N_ITEMS)
#define MESSAGE_BYTES 1024
#define MOST_DEVICES 1024

static const char opencl_text[] =
    "__kernel void seer_check(__global const float *x, __global float *y) {\n"
    "  y[get_global_id(0)] = x[get_global_id(0)] + 1.0f;\n"
    "}\n";

// Of the oldest architecture that is known here.
static const char cuda_text[] =
    ".version 6.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry seer_check(.param .u64 from, .param .u64 to) {\n"
    "  .reg .b32 %r<5>;\n"
    "  .reg .f32 %f<3>;\n"
    "  .reg .b64 %d<8>;\n"
    "  ld.param.u64 %d1, [from];\n"
    "  ld.param.u64 %d2, [to];\n"
    "  cvta.to.global.u64 %d3, %d1;\n"
    "  cvta.to.global.u64 %d4, %d2;\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "  mul.wide.u32 %d5, %r4, 4;\n"
    "  add.u64 %d6, %d3, %d5;\n"
    "  add.u64 %d7, %d4, %d5;\n"
    "  ld.global.f32 %f1, [%d6];\n"
    "  add.rn.f32 %f2, %f1, 0f3F800000;\n"
    "  st.global.f32 [%d7], %f2;\n"
    "  ret;\n"
    "}\n";

static const seer_device_image images[] = {
    {SEER_IMAGE_OPENCL_C, 0, "", opencl_text, sizeof opencl_text - 1},
    {SEER_IMAGE_PTX, 70, "", cuda_text, sizeof cuda_text - 1}};

// ---- the check

typedef struct {
  const seer_device_driver *is;
  seer_device *device;
  seer_device_module *module;
  seer_device_queue *queue;
  seer_device_kernel *kernel;
  void *x, *y;  // on the device
  char message[MESSAGE_BYTES];
} asked;

static void fill(float x[N]) {
  static const float others[] = {
      NAN, INFINITY, -INFINITY, -0.0f, 1e-30f, 3e38f, -1.0f, 16777216.0f};
  for (uint32_t i = 0; i < N; i++)
    x[i] = i % 5 == 3 ? others[i / 5 % SEER_COUNT_OF(others)] : 0.37f * (float)i - 700.0f;
}

static bool prepare(asked *a, uint32_t number) {
  const seer_device_image *image = &images[a->is == &seer_device_cuda];
  const seer_device_launch launch = {N_BLOCKS, N_ITEMS, 0};
  size_t n = sizeof a->message;
  return a->is->open(number, &a->device, a->message, n) == SEER_RT_OK &&
      a->is->load(a->device, image, 1, &a->module, a->message, n) == SEER_RT_OK &&
      a->is->queue_create(a->device, &a->queue, a->message, n) == SEER_RT_OK &&
      a->is->kernel_create(a->queue, a->module, "seer_check", &launch, &a->kernel, a->message, n) ==
      SEER_RT_OK &&
      a->is->alloc(a->device, N * sizeof(float), &a->x, a->message, n) == SEER_RT_OK &&
      a->is->alloc(a->device, N * sizeof(float), &a->y, a->message, n) == SEER_RT_OK;
}

static bool compute(asked *a, const float x[N], float y[N]) {
  void *const args[] = {a->x, a->y};
  size_t n = sizeof a->message, n_bytes = N * sizeof(float);
  return a->is->upload(a->queue, a->x, x, n_bytes, a->message, n) == SEER_RT_OK &&
      a->is->fill(a->queue, a->y, 0xFF, n_bytes, a->message, n) == SEER_RT_OK &&
      a->is->launch(a->queue, a->kernel, args, 2, a->message, n) == SEER_RT_OK &&
      a->is->download(a->queue, y, a->y, n_bytes, a->message, n) == SEER_RT_OK &&
      a->is->sync(a->queue, a->message, n) == SEER_RT_OK;
}

static void let_go(asked *a) {
  if (!a->device) return;
  if (a->queue) a->is->kernel_destroy(a->queue, a->kernel);
  a->is->queue_destroy(a->queue);
  a->is->free(a->device, a->y);
  a->is->free(a->device, a->x);
  a->is->unload(a->device, a->module);
  a->is->close(a->device);
}

// To the bit, but for which NaN it is. `y` began as NaN, so what was not computed differs, too.
static bool is_right(const float x[N], const float y[N], char *message) {
  for (uint32_t i = 0; i < N; i++) {
    const float wanted = x[i] + 1.0f;
    if (memcmp(&wanted, &y[i], sizeof wanted) == 0 || (isnan(wanted) && isnan(y[i]))) continue;
    (void)snprintf(message, MESSAGE_BYTES, "wrong: %.9g + 1 is %.9g there, not %.9g (number %u)",
        (double)x[i], (double)y[i], (double)wanted, i);
    return false;
  }
  return true;
}

static seer_status ask(const seer_device_driver *is, uint32_t number) {
  static float x[N], y[N];
  char safe[SEER_TEXT_SAFE_LINE_BYTES];
  asked a = {.is = is};
  fill(x);
  bool answers = prepare(&a, number) && compute(&a, x, y) && is_right(x, y, a.message);
  const char *says = answers ? "answers right" : a.message;
  seer_text_safe_copy(safe, sizeof safe, says, strlen(says), SEER_TEXT_ONE_LINE);
  SEER_TRY(seer_cli_put_json(json_pack("{s:b, s:s}", "answers", answers, "check", safe)));
  // Behind the answer: a driver that ends the process here has given it.
  if (fflush(stdout) != 0) return SEER_FAIL(IO, "cannot write to standard output");
  let_go(&a);
  return SEER_OK;
}

// ---- the jobs

static seer_status describe(const seer_device_driver *is, uint32_t number) {
  char message[MESSAGE_BYTES] = "", safe[SEER_TEXT_SAFE_LINE_BYTES],
       driver[SEER_TEXT_SAFE_LINE_BYTES];
  seer_device_info info;
  if (is->describe(number, &info, message, sizeof message) != SEER_RT_OK) {
    seer_text_safe_copy(safe, sizeof safe, message, strlen(message), SEER_TEXT_ONE_LINE);
    return seer_cli_put_json(json_pack("{s:b, s:s}", "answers", false, "check", safe));
  }
  seer_text_safe_copy(safe, sizeof safe, info.name, strlen(info.name), SEER_TEXT_ONE_LINE);
  seer_text_safe_copy(driver, sizeof driver, info.driver, strlen(info.driver), SEER_TEXT_ONE_LINE);
  SEER_TRY(seer_cli_put_json(json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:b}",
      "model", safe, "driver", driver, "architecture", (int)info.architecture, "processors",
      (int)info.n_processors, "items", (int)info.max_items, "clock_mhz", (int)info.clock_mhz,
      "block_bytes", (json_int_t)info.group_bytes, "memory_bytes", (json_int_t)info.memory_bytes,
      "cache_bytes", (json_int_t)info.cache_bytes, "is_cpu", info.is_cpu)));
  if (fflush(stdout) != 0) return SEER_FAIL(IO, "cannot write to standard output");
  return ask(is, number);
}

static seer_status count(const seer_device_driver *is) {
  char message[MESSAGE_BYTES] = "", safe[SEER_TEXT_SAFE_LINE_BYTES];
  uint32_t n = 0;
  bool is_there = is->count(&n, message, sizeof message) == SEER_RT_OK;
  if (is_there) return seer_cli_put_json(json_pack("{s:i}", "n", (int)n));
  seer_text_safe_copy(safe, sizeof safe, message, strlen(message), SEER_TEXT_ONE_LINE);
  return seer_cli_put_json(json_pack("{s:s}", "why", safe));
}

seer_status seer_cli_drivers_job(int argc, char **argv) {
  const seer_device_driver *is = argc > 1 ? seer_device_driver_find(argv[1]) : NULL;
  if (strcmp(argv[0], "check") != 0 || !is)
    return seer_usage_error("'%s' is one argument too many", argv[0]);
  if (argc == 2) return count(is);
  char *end;
  unsigned long number = strtoul(argv[2], &end, 10);
  if (*end || number >= MOST_DEVICES) return seer_usage_error("'%s' is no number", argv[2]);
  return describe(is, (uint32_t)number);
}
