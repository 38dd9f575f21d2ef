// device.h - what a tuning times on, as option --devices names it: of a kind, with a slot among the
// tuning's devices and, where it is a part of this machine, with processors.
//
//   cpu:0-3         processors 0 to 3, together: a library for four threads
//   cpu:0+8         processors 0 and 8
//   cpu:0,cpu:1     two devices of one processor each
//   cpu             as many as there is room for, one processor a core: devices of --threads
//                   processors within a NUMA node, or one a node
//   runner:pi4      the program familyseer-runner on another machine, a board; runner:10.0.0.7:7337,
//                   runner:[fe80::1]:7337
//   opencl:0        OpenCL's first device of this machine, cuda:1 CUDA's second one: for targets of
//                   that kind
//   fake:0,fake:1   two that are made of arithmetic, for --measure fake
//
// All devices of a tuning are for one target: what is timed on one is held against what is timed on
// another. Devices share no processor.
//
// Text -> devices; pure but for the small files of the system's topology that `machine` names.
// Memory: names are in `arena`. Threads: any.
#ifndef SEER_SETUP_DEVICE_H
#define SEER_SETUP_DEVICE_H

#include "base/arena.h"
#include "base/processors.h"
#include "base/status.h"

#define SEER_DEVICES_MAX 32

typedef enum {
  SEER_DEVICE_CPU,
  SEER_DEVICE_FAKE,
  SEER_DEVICE_RUNNER,
  SEER_DEVICE_OPENCL,
  SEER_DEVICE_CUDA,
  SEER_DEVICE_KIND_COUNT
} seer_device_kind;
const char *seer_device_kind_name(seer_device_kind kind);  // "cpu"

typedef struct {
  seer_device_kind kind;
  uint32_t slot;  // its number among the tuning's devices, from 0
  const char *name;  // "cpu:0-3"
  uint32_t number;  // of OPENCL, CUDA: as its driver counts them
  uint32_t n_processors;  // threads that run on it; 0: it has none of this machine's
  cpu_set_t processors;
} seer_tuning_device;

typedef struct {
  uint32_t n;
  seer_tuning_device device[SEER_DEVICES_MAX];
} seer_device_list;

// Where it is parsed.
typedef struct {
  const char *root;  // as in base/processors.h
  cpu_set_t allowed;  // processors that there are and that this process may use
  double quota;  // that it may use at a time, by its control groups; 0: all
  uint32_t threads;  // that were asked for; 0: none were
} seer_device_machine;
// This machine, for this process.
seer_device_machine seer_device_machine_here(uint32_t threads);

// "": none. Errors: INVALID what is no device, a processor that is not there or may not be used, or
// in two devices; devices of unlike kinds, or numbers or sorts of processors; more of them, or more
// processors, than there may be. UNSUPPORTED kinds that are not built yet.
SEER_MUST_USE seer_status seer_devices_parse(const char *text, const seer_device_machine *machine,
    seer_arena *arena, seer_device_list *out_devices);

// Where a runner is: what stands behind "runner:". *out_host has no brackets, in `arena`; a port
// that is not named is `port`. INVALID: it is no address.
SEER_MUST_USE seer_status seer_device_read_address(const char *address, uint16_t port,
    seer_arena *arena, const char **out_host, uint16_t *out_port);

// The number of the first one that has a driver, which what is made of a tuning is run on; 0 where
// there is none, as its driver's first.
uint32_t seer_device_first_number(const seer_device_list *devices);

// Do two of them have threads of one core? Then what one is timed with the other one disturbs.
bool seer_devices_share_a_core(const char *root, const seer_device_list *devices,
    const seer_tuning_device **out_one, const seer_tuning_device **out_other);

// Those that share a core with one of `set`, and `set` itself.
void seer_device_with_siblings(const char *root, const cpu_set_t *set, cpu_set_t *out);

#endif
