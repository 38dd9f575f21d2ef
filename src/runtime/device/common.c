// common.c - see common.h.
#include "runtime/device/common.h"

#include <stdio.h>
#include <string.h>

#include "runtime/fork.h"

#define MAX_LIST_BYTES 512

void seer_device_health_init(seer_device_health *health) {
  memset(health, 0, sizeof *health);
  health->owner = seer_fork_word_create();
  if (health->owner) *health->owner = 1;
}

void seer_device_health_clear(seer_device_health *health) { seer_fork_word_destroy(health->owner); }

bool seer_device_is_parents(const seer_device_health *health) {
  return health->owner && atomic_load_explicit(health->owner, memory_order_relaxed) == 0;
}

static seer_rt_code lost(const seer_device_health *health, char *message, size_t message_bytes) {
  bool is_written = atomic_load_explicit(&health->stage, memory_order_acquire) == 2;
  return seer_rt_fail(SEER_RT_DEVICE, message, message_bytes, "%s",
      is_written ? health->why : "the device is lost");
}

seer_rt_code seer_device_enter(
    const seer_device_health *health, char *message, size_t message_bytes) {
  if (seer_device_is_parents(health))
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "the device is of the process that opened it: this one was forked from it");
  if (atomic_load_explicit(&health->stage, memory_order_relaxed) == 0) return SEER_RT_OK;
  return lost(health, message, message_bytes);
}

seer_rt_code seer_device_lose(
    seer_device_health *health, const char *why, char *message, size_t message_bytes) {
  int well = 0;
  if (atomic_compare_exchange_strong(&health->stage, &well, 1)) {
    snprintf(health->why, sizeof health->why, "%s", why);
    atomic_store_explicit(&health->stage, 2, memory_order_release);
  }
  return lost(health, message, message_bytes);
}

static int say_image(const seer_device_image *image, char *to, size_t n_bytes) {
  switch (image->format) {
    case SEER_IMAGE_OPENCL_C:
      return snprintf(to, n_bytes, "a text in OpenCL C");
    case SEER_IMAGE_OPENCL:
      return snprintf(to, n_bytes, "a binary for %s", image->made_for);
    case SEER_IMAGE_PTX:
      return snprintf(to, n_bytes, "PTX for sm_%u and later", image->architecture);
    case SEER_IMAGE_CUBIN:
      return snprintf(to, n_bytes, "code for sm_%u", image->architecture);
  }
  return snprintf(to, n_bytes, "format %d", (int)image->format);
}

seer_rt_code seer_device_refuse_images(const seer_device_info *info,
    const seer_device_image *images, uint32_t n_images, char *message, size_t message_bytes) {
  char list[MAX_LIST_BYTES] = "nothing", kind[32] = "";
  size_t n = 0;
  for (uint32_t k = 0; k < n_images && n < sizeof list; k++) {
    int more = snprintf(list + n, sizeof list - n, "%s", k > 0 ? "; " : "");
    if (more > 0) n += (size_t)more;
    if (n >= sizeof list) break;
    more = say_image(&images[k], list + n, sizeof list - n);
    if (more > 0) n += (size_t)more;
  }
  if (info->architecture > 0) snprintf(kind, sizeof kind, ", sm_%u", info->architecture);
  return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
      "no code for this device, %s, %s%s: there is %s", info->name, info->driver, kind, list);
}
