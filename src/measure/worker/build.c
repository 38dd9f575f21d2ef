// build.c - a builder's requests: a schedule -> an object, or a kernel for a device.
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/os_fault.h"
#include "code/gpu/maker.h"
#include "measure/wire/message.h"
#include "measure/worker/worker.h"
#include "space/lower.h"

typedef struct {
  seer_codegen *codegen;  // NULL: code is for a device
  seer_gpu_maker *maker;
} builder;

static seer_status build(const builder *s, const seer_worker_request *r,
    const seer_message_build *order, seer_kernel *kernel) {
  const seer_worker_task_state *task;
  seer_schedule schedule;
  SEER_TRY(seer_worker_find_task(r->loop, order->task, &task));
  SEER_TRY(seer_message_read_schedule(task->sketches, order->schedule, r->arena, &schedule));
  seer_loop *loop = NULL;
  SEER_TRY(seer_loop_lower(task->sketches, &schedule, r->arena, &loop));
  if (s->codegen) return seer_codegen_build(s->codegen, loop, "candidate", r->arena, kernel);
  seer_device_image images[SEER_GPU_MAX_IMAGES];
  uint32_t n;
  return seer_gpu_make(s->maker, loop, "candidate", r->arena, kernel, images, &n);
}

static seer_status answer_build(builder *s, const seer_worker_request *r, seer_text *out) {
  seer_message_build order;
  SEER_TRY(seer_message_get_build(r->payload, r->n_bytes, r->arena, &order));
  seer_message_built *built = SEER_NEW(r->arena, seer_message_built);
  seer_worker_tell_begun(r->loop);
  seer_os_reach("build");
  uint64_t start = seer_os_now_ns();
  seer_status status = build(s, r, &order, &built->kernel);
  built->seconds = (double)(seer_os_now_ns() - start) * 1e-9;
  built->is_ok = status == SEER_OK;
  if (status) {
    (void)snprintf(built->message, sizeof built->message, "%s", seer_status_message(status));
    seer_status_free(status);
  } else {
    built->object_hash = seer_hash_bytes(built->kernel.object, built->kernel.n_object_bytes, 0);
  }
  seer_message_put_built(out, built);
  return SEER_OK;
}

static seer_status answer(void *state, const seer_worker_request *r, seer_text *out) {
  if (r->type == SEER_WIRE_BUILD) return answer_build(state, r, out);
  return SEER_FAIL(CORRUPT, "a builder got message type %d", (int)r->type);
}

static seer_status open_builder(seer_context *context, seer_worker_loop *loop, void **out_state) {
  (void)loop;
  builder *s = calloc(1, sizeof *s);
  *out_state = s;
  if (!s) return SEER_FAIL(RESOURCE, "no memory for a builder");
  const seer_target *target = seer_context_target(context);
  const char *nvrtc = seer_context_str(context, SEER_OPT_NVRTC);
  if (target->kind == SEER_TARGET_CPU) return seer_codegen_create(context, target, &s->codegen);
  return seer_gpu_maker_create(
      target, nvrtc, seer_device_first_number(seer_context_devices(context)), &s->maker);
}

static void close_builder(void *state) {
  builder *s = state;
  if (s && s->codegen) seer_codegen_destroy(s->codegen);
  if (s) seer_gpu_maker_destroy(s->maker);
  free(s);
}

const seer_worker_job seer_worker_builder = {"builder", open_builder, close_builder, answer};
