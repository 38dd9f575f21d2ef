// places.h - which processors devices and builders have.
//
//   no devices are named     one device of all processors; builders have them, too, and take turns
//   some processors are left builders have these, without the siblings of what is timed on where
//                            others are there, and go on while candidates are timed
//   none is left             each builder has a device's, and takes turns with that one
//   devices are elsewhere    builders have all processors
//   devices have drivers     builders have all processors; devices that run on processors themselves
//                            share those out
//
// Pure but for the system's topology. Threads: any.
#ifndef SEER_MEASURE_LOCAL_PLACES_H
#define SEER_MEASURE_LOCAL_PLACES_H

#include "measure/measure.h"
#include "setup/device.h"

typedef struct {
  uint32_t n_devices, n_places, n_builders;
  const char *name[SEER_MEASURE_MAX_DEVICES];  // of a device; those of the list, or static
  cpu_set_t device[SEER_MEASURE_MAX_DEVICES];
  cpu_set_t place[SEER_MEASURE_MAX_DEVICES];  // of builders, in turns
} seer_local_places;

// n_builders: that were asked for; 0: as many as they have processors to work on at a time, by
// `n_threads`, which this process may use, where no devices are named.
void seer_local_places_find(const seer_device_list *devices, const seer_device_machine *machine,
    uint32_t n_builders, uint32_t n_threads, seer_local_places *out_places);

// Of devices that have drivers: all processors are builders', and, of one that runs on processors
// itself, its. Several of those are dealt equal shares of them (whole cores where there are
// enough), so that none is timed beside another one on the same; where all devices are of this
// sort, builders have what find says.
//   is_cpu  by device of the list
//   name    of the one where none is named; kept
// Errors: INVALID fewer processors than such devices.
SEER_MUST_USE seer_status seer_local_places_of_drivers(const seer_device_list *devices,
    const bool *is_cpu, const seer_device_machine *machine, uint32_t n_builders, uint32_t n_threads,
    const char *name, seer_local_places *out);

#endif
