// drivers.h - the devices that drivers of this machine have, OpenCL's and CUDA's, each asked for
// x + 1: what `familyseer devices` lists.
//
// A driver may crash or hang, so none is called here: the program starts itself with a job,
// `familyseer devices check opencl` (how many devices are there?) or `... check opencl 0` (what is
// number 0, and does it count right?), waits for 20 s at most, and lists what became of it. A job
// prints a JSON object a line, each as soon as it is known; what a driver prints between them is
// not read.
//
// Threads: one.
#ifndef SEER_CLI_DRIVERS_H
#define SEER_CLI_DRIVERS_H

#include <jansson.h>

#include "setup/context.h"

// An array, an object a driver: `driver`, "opencl"; `devices`; `why`, where there are none, and
// `is_broken` where that is because the driver did not answer well; `is_late` where it, or
// a device, was waited for in vain. Of a device: `name`, "opencl:0", `answers`, and `check`,
// "answers right" or what was wrong. As far as its driver has said it: `model`, `driver`,
// `architecture`, `processors`, `items`, `clock_mhz`, `block_bytes`, `memory_bytes`, `cache_bytes`,
// `is_cpu`; numbers that are not known are 0. Owned by the caller: json_decref. NULL, without an
// error: no memory. Errors: those of this machine: no process, no folder for temporary files.
//   most_s  for the jobs of a driver together; 0: each job has its 20 s
SEER_MUST_USE seer_status seer_cli_drivers_find(
    seer_context *context, double most_s, json_t **out_drivers);
void seer_cli_drivers_print(const json_t *drivers);

// The job of argv[0 .. argc), which stands behind `devices`; a usage error if it is none.
SEER_MUST_USE seer_status seer_cli_drivers_job(int argc, char **argv);

#endif
