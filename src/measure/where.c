// where.c - on which machine what a tuning builds is timed, by its options.
#include "measure/measure.h"

bool seer_measure_is_elsewhere(const seer_context *context) {
  const seer_device_list *devices = seer_context_devices(context);
  return devices->n > 0 && devices->device[0].kind == SEER_DEVICE_RUNNER;
}

bool seer_measure_is_here(const seer_context *context, const seer_measure_desc *measure) {
  return measure->is_on_device && !seer_measure_is_elsewhere(context);
}

seer_status seer_measure_check_target(const seer_context *context) {
  bool is_of_fleet = seer_context_str(context, SEER_OPT_FLEET)[0];
  const seer_target *target = seer_context_target(context);
  bool is_timed_here = !is_of_fleet && !seer_measure_is_elsewhere(context);
  // That "c" is no machine holds everywhere.
  return is_timed_here || seer_target_is_c(target) ? seer_target_check_here(target) : SEER_OK;
}
