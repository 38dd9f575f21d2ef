// tunings.h - the tunings of a fleet, for whoever asks. Workers look for those that they fit
// (serve/look.c).
//
// Threads: one.
#ifndef SEER_MEASURE_FLEET_TUNINGS_H
#define SEER_MEASURE_FLEET_TUNINGS_H

#include "measure/fleet/hub.h"

typedef struct {
  uint64_t session;
  seer_letter_tuning letter;
} seer_fleet_tuning;

// Those that can be read: sealed with the fleet's key, and of this version. In `arena`. Errors:
// those of the hub.
SEER_MUST_USE seer_status seer_fleet_list_tunings(
    seer_hub *hub, seer_arena *arena, seer_fleet_tuning **out, uint32_t *out_n);

// What a worker takes for one of them; takes 0: it is not known.
seer_measure_bias seer_fleet_bias(const seer_fleet_tuning *tuning, const char *worker);

#endif
