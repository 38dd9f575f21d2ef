// table.c - drivers, one line each. To add one: a row in a file of its own, declared in device.h.
#include <stdio.h>
#include <string.h>

#include "runtime/device/device.h"

static const seer_device_driver *const drivers[] = {
    &seer_device_opencl,
    &seer_device_cuda,
};

const seer_device_driver *seer_device_driver_find(const char *name) {
  for (size_t k = 0; k < sizeof drivers / sizeof drivers[0]; k++) {
    if (strcmp(drivers[k]->name, name) == 0) return drivers[k];
  }
  return NULL;
}

void seer_device_made_for(const seer_device_info *info, char out[SEER_DEVICE_MADE_FOR_BYTES]) {
  snprintf(out, SEER_DEVICE_MADE_FOR_BYTES, "%s, %s", info->name, info->driver);
}
