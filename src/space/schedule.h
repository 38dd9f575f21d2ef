// schedule.h - a schedule = a sketch + a vector of knobs. Small, fixed size: copied by memcpy,
// hashed in nanoseconds. Only inner factors are stored; the outermost is implied (ceiling). A
// factor need not divide its extent.
#ifndef SEER_SPACE_SCHEDULE_H
#define SEER_SPACE_SCHEDULE_H

#include "base/base.h"

#define SEER_SCHEDULE_MAX_KNOBS 124
#define SEER_MAX_FACTOR 4096

typedef struct {
  uint16_t sketch;  // index into the task's sketches
  uint16_t n;
  uint16_t knob[SEER_SCHEDULE_MAX_KNOBS];
} seer_schedule;

#endif
