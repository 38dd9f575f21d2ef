// device_check.h - what every row of devices must do (runtime/device/device.h), asked of one device
// with kernels that the test brings.
#ifndef SEER_TEST_DEVICE_CHECK_H
#define SEER_TEST_DEVICE_CHECK_H

#include "runtime/device/device.h"

// Blocks of 64 items: add(a, b, y): y = a + b; and turn(x, y): y is x with each block's 64
// the other way round, through the block's memory (of 256 bytes).
#define DEVICE_CHECK_ITEMS 64

// Both in OpenCL C, and behind them what is no such text.
#define DEVICE_CHECK_OPENCL_BYTES strcspn(device_check_opencl, "@")
extern const char device_check_opencl[];

typedef struct {
  const seer_device_driver *driver;
  uint32_t index;
  const seer_device_image *images;  // of them one is for the device, with both kernels
  uint32_t n_images;
  const seer_device_image *refused;  // of the device's kind, but damaged or of no sense
} device_case;

// Each a cmocka test whose state is a device_case.
void device_check_numbers(void **state);  // devices are counted and described
void device_check_work(void **state);  // copies, fills, launches, and addresses inside allocations
void device_check_order(void **state);  // a long chain, queued before anything is waited for
void device_check_threads(void **state);  // two queues on two threads
void device_check_marks(void **state);
void device_check_graphs(void **state);  // where the driver has them
void device_check_refusals(void **state);
void device_check_fork(void **state);

#endif
