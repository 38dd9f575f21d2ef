// common.h - what the rows of all drivers have: how a device is, whether it is lost, and what is
// said where none of a module's images is for it.
#ifndef SEER_RUNTIME_DEVICE_COMMON_H
#define SEER_RUNTIME_DEVICE_COMMON_H

#include <stdatomic.h>

#include "runtime/device/device.h"
#include "runtime/exec.h"

#define SEER_DEVICE_WHY_BYTES 256

// Threads: any, at once. The first loss is what is told ever after.
typedef struct {
  atomic_int stage;  // 0: well; 1: lost, and why is being written; 2: it is written
  char why[SEER_DEVICE_WHY_BYTES];
  _Atomic uint32_t *owner;  // 1; 0 in a process that was forked. NULL: that cannot be told
} seer_device_health;

void seer_device_health_init(seer_device_health *health);
void seer_device_health_clear(seer_device_health *health);
// True in a process that was forked from the one that opened the device: nothing of it may be
// called here, not even to close it.
bool seer_device_is_parents(const seer_device_health *health);
// What each call begins with. DEVICE: it is lost, and why; INVALID: it is the parent's.
seer_rt_code seer_device_enter(
    const seer_device_health *health, char *message, size_t message_bytes);
// Notes `why` where the device was well, and answers as every later call.
seer_rt_code seer_device_lose(
    seer_device_health *health, const char *why, char *message, size_t message_bytes);

// UNSUPPORTED: what each image is for, and what the device is.
seer_rt_code seer_device_refuse_images(const seer_device_info *info,
    const seer_device_image *images, uint32_t n_images, char *message, size_t message_bytes);

#endif
