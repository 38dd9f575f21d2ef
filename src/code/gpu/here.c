// here.c - see here.h.
#include "code/gpu/here.h"

#include <string.h>

#include "setup/gpu/gpu.h"

#define MESSAGE_BYTES 1024
#define MOST_LISTED 64

static seer_status failed(
    const seer_device_driver *is, seer_rt_code code, uint32_t number, const char *message) {
  if (code == SEER_RT_UNSUPPORTED)
    return SEER_FAIL(UNSUPPORTED, "target %s:%u: %s", is->name, number, message);
  return SEER_FAIL(DEVICE, "target %s:%u: %s", is->name, number, message);
}

static seer_status not_found(
    const seer_device_driver *is, uint32_t number, const char *message, seer_arena *arena) {
  uint32_t n = 0;
  seer_text there;
  seer_text_init(&there, arena);
  if (is->count(&n, NULL, 0) != SEER_RT_OK) n = 0;
  for (uint32_t k = 0; k < n && k < MOST_LISTED; k++) {
    seer_device_info info;
    bool is_described = is->describe(k, &info, NULL, 0) == SEER_RT_OK;
    seer_text_printf(&there, "%s %s:%u (%s)", k ? "," : "; there are", is->name, k,
        is_described ? info.name : "which cannot be used");
  }
  return SEER_FAIL(NOT_FOUND, "target %s:%u: %s%s; `familyseer devices` lists all", is->name,
      number, message, n ? there.data : "");
}

// None of these is read here: whether they are options of the command is for it to say.
static bool is_timed_here(const seer_context *context) {
  const char *measure = seer_context_shown(context, SEER_OPT_MEASURE, 0);
  return !seer_context_is_set(context, SEER_OPT_DEVICES) &&
      !*seer_context_shown(context, SEER_OPT_FLEET, 0) && strncmp(measure, "local", 5) == 0;
}

seer_status seer_gpu_find_here(seer_context *context, bool times) {
  seer_arena *arena = seer_context_arena(context);
  const char *text = seer_context_shown(context, SEER_OPT_TARGET, 0), *rest;
  char message[MESSAGE_BYTES] = "";
  seer_target_kind kind;
  uint32_t number;
  if (!seer_gpu_read_number(text, &kind, &number, &rest)) return SEER_OK;
  const seer_device_driver *is = kind == SEER_TARGET_CUDA ? &seer_device_cuda : &seer_device_opencl;
  seer_device_info info;
  seer_rt_code code = is->describe(number, &info, message, sizeof message);
  if (code == SEER_RT_NOT_FOUND) return not_found(is, number, message, arena);
  if (code != SEER_RT_OK) return failed(is, code, number, message);
  seer_target target;
  SEER_TRYF(seer_gpu_of_described(kind, &info, arena, &target), "target %s:%u", is->name, number);
  SEER_TRY(seer_context_set(context, seer_option_table[SEER_OPT_TARGET].name,
      seer_arena_printf(arena, "%s%s", seer_target_print(&target, arena), rest)));
  if (!times || !is_timed_here(context)) return SEER_OK;
  return seer_context_set(context, seer_option_table[SEER_OPT_DEVICES].name,
      seer_arena_printf(arena, "%s:%u", is->name, number));
}
