// here.h - "--target opencl:1", "--target cuda:0": devices that are here, as targets.
// Texts of targets are kept and sent (records, workers, fleets), and a number is another device
// elsewhere. So the number is looked up once, where a person gives it, and the option holds the
// printed form from then on.
// Threads: one.
#ifndef SEER_CODE_GPU_HERE_H
#define SEER_CODE_GPU_HERE_H

#include "setup/context.h"

// Where option TARGET names a device by number, puts in its place what the driver says of it, and
// behind that the options that were given. Else nothing. The driver is called in this process.
//   times  the command times what it makes, and where neither DEVICES nor a fleet or a MEASURE that
//          is no device is named it is to do so on that device: DEVICES becomes it
// Errors: NOT_FOUND: no such device, with those that there are, or no driver; UNSUPPORTED: the
// device lacks what is needed, or is of an architecture that is not known; DEVICE.
SEER_MUST_USE seer_status seer_gpu_find_here(seer_context *context, bool times);

#endif
