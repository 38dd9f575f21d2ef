// doctor.h - what of this machine makes things slow or wrong: a finding a topic, with a verdict
// and, where something can be done, what. Nothing is changed, and nothing is kept.
//
// It asks where the rest of the program asks: threads and quotas as the runtime's pool counts them
// (base/processors.h), NUMA nodes as --devices cpu splits them, distances as a tuning looks at them
// (measure/distance.h), devices as `familyseer devices` lists them. Takes 3 s at most.
//
// Memory: texts are in the arena. One thread, which wants the machine for itself while it times.
#ifndef SEER_CLI_DOCTOR_H
#define SEER_CLI_DOCTOR_H

#include "setup/context.h"
#include "setup/device.h"

typedef enum {
  SEER_DOCTOR_OK,
  SEER_DOCTOR_NOTE,  // worth knowing; often it is as it has to be
  SEER_DOCTOR_WARNING,  // makes things slow, or times wrong, or ends in an error
  SEER_DOCTOR_VERDICT_COUNT
} seer_doctor_verdict;
const char *seer_doctor_verdict_name(seer_doctor_verdict verdict);

typedef struct {
  seer_doctor_verdict verdict;
  const char *topic, *text;
  const char *advice;  // "": nothing is to be done
} seer_doctor_finding;

#define SEER_DOCTOR_MAX 40
typedef struct {
  seer_arena *arena;
  const char *topic;  // of what is looked at now
  uint32_t n;
  seer_doctor_finding finding[SEER_DOCTOR_MAX];
} seer_doctor_report;

// For what looks. What is found beyond SEER_DOCTOR_MAX is left out.
SEER_PRINTF(4, 5)
void seer_doctor_add(seer_doctor_report *report, seer_doctor_verdict verdict, const char *advice,
    const char *format, ...);

// What the system's files say of a machine: processors, clocks, load, huge pages, memory.
void seer_doctor_read_system(const seer_device_machine *machine, seer_doctor_report *report);
// What takes time to find out: how even times are, how far threads are from each other.
void seer_doctor_time(uint32_t threads, seer_doctor_report *report);
// All of it, for the machine that this process runs on.
// Errors: INVALID options.
SEER_MUST_USE seer_status seer_doctor_look(
    seer_context *context, seer_arena *arena, seer_doctor_report *out);

#endif
