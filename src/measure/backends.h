// backends.h - the entries of the table of measurers.
#ifndef SEER_MEASURE_BACKENDS_H
#define SEER_MEASURE_BACKENDS_H

#include "measure/measure.h"

extern const seer_measure_desc seer_measure_local;  // worker processes on this machine
extern const seer_measure_desc
    seer_measure_fake;  // an analytic formula and seeded noise: tests without hardware
extern const seer_measure_desc seer_measure_fleet;  // other machines, by a broker
extern const seer_measure_desc seer_measure_replay;  // a table of measured times

#endif
