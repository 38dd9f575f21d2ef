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

// What is built once is timed on each of them: each must run it.
static seer_status check_model(const seer_device_driver *driver, uint32_t number,
    const seer_target *target, const seer_device_info *first, seer_device_info *out) {
  char message[SEER_MEASURE_MESSAGE_BYTES], own[SEER_DEVICE_MADE_FOR_BYTES],
      of_first[SEER_DEVICE_MADE_FOR_BYTES];
  if (driver->describe(number, out, message, sizeof message) != SEER_RT_OK)
    return SEER_FAIL(DEVICE, "device %s:%u: %s", driver->name, number, message);
  uint32_t needed = target->gpu.architecture;
  if (target->kind == SEER_TARGET_CUDA && !seer_device_runs(out->architecture, needed))
    return SEER_FAIL(UNSUPPORTED,
        "device %s:%u, %s, is of sm_%u, on which code for sm_%u does not run: a target for it is "
        "%s:%u",
        driver->name, number, out->name, out->architecture, needed, driver->name, number);
  seer_device_made_for(out, own);
  seer_device_made_for(first ? first : out, of_first);
  // CUDA's code is for an architecture, OpenCL's for a model and its driver.
  if (target->kind == SEER_TARGET_CUDA || strcmp(own, of_first) == 0) return SEER_OK;
  return SEER_FAIL(INVALID,
      "device %s:%u is %s, the first one is %s: all devices of a tuning must be alike",
      driver->name, number, own, of_first);
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
  if (n < needed)
    return SEER_FAIL(
        NOT_FOUND, "there is no device %s:%u here: the driver has %u", kind, needed - 1, n);
  seer_device_info first, other;
  SEER_TRY(check_model(driver, seer_device_first_number(devices), target, NULL, &first));
  for (uint32_t k = 1; k < devices->n; k++)
    SEER_TRY(check_model(driver, devices->device[k].number, target, &first, &other));
  return SEER_OK;
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
