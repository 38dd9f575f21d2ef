// where.c - on which machine what a tuning builds is timed, by its options.
#include <string.h>

#include "measure/measure.h"
#include "runtime/device/device.h"

bool seer_measure_is_elsewhere(const seer_context *context) {
  const seer_device_list *devices = seer_context_devices(context);
  return devices->n > 0 && devices->device[0].kind == SEER_DEVICE_RUNNER;
}

bool seer_measure_is_here(const seer_context *context, const seer_measure_desc *measure) {
  return measure->is_on_device && !seer_measure_is_elsewhere(context);
}

seer_status seer_measure_check_devices(const seer_context *context) {
  const seer_target *target = seer_context_target(context);
  const seer_device_list *devices = seer_context_devices(context);
  const char *kind = seer_target_kind_name(target->kind);
  const seer_device_driver *driver = seer_device_driver_find(kind);
  char message[SEER_MEASURE_MESSAGE_BYTES];
  uint32_t n = 0, needed = 1;
  for (uint32_t k = 0; k < devices->n; k++)
    if (devices->device[k].number >= needed) needed = devices->device[k].number + 1;
  if (driver->count(&n, message, sizeof message) != SEER_RT_OK)
    return SEER_FAIL(NOT_FOUND, "nothing can be timed on %s here: %s", kind, message);
  if (n >= needed) return SEER_OK;
  return SEER_FAIL(
      NOT_FOUND, "there is no device %s:%u here: the driver has %u", kind, needed - 1, n);
}

seer_status seer_measure_check_target(const seer_context *context) {
  bool is_of_fleet = seer_context_str(context, SEER_OPT_FLEET)[0];
  const seer_target *target = seer_context_target(context);
  bool is_made_up = strncmp(seer_context_str(context, SEER_OPT_MEASURE), "local", 5) != 0;
  if (target->kind != SEER_TARGET_CPU) {
    if (is_made_up) return SEER_OK;
    if (is_of_fleet)
      return SEER_FAIL(UNSUPPORTED, "--fleet: devices of kind %s are tuned on their own machine",
          seer_target_kind_name(target->kind));
    return seer_measure_check_devices(context);
  }
  bool is_timed_here = !is_of_fleet && !seer_measure_is_elsewhere(context);
  // That "c" is no machine holds everywhere.
  return is_timed_here || seer_target_is_c(target) ? seer_target_check_here(target) : SEER_OK;
}
