// source_cases.h - every instruction of vector code, on every type and several numbers of lanes,
// and kernels of accesses, slots, masks, control: printed in a dialect, to be compiled and run, and
// held against seer_vec_apply lane by lane.
#ifndef SEER_TEST_SOURCE_CASES_H
#define SEER_TEST_SOURCE_CASES_H

#include "support/source_run.h"

typedef struct source_cases source_cases;

// For each of `n` numbers of lanes, one in `every` of the instructions' cases.
source_cases *source_cases_create(
    const char *dialect, const uint32_t *lanes, uint32_t n, uint32_t every);
void source_cases_destroy(source_cases *cases);
// Fails the test where an answer is wrong. False: not run, something that it needs is not there.
//   machine  borrowed; NULL: this one
bool source_cases_run(
    source_cases *cases, const source_machine *machine, const char *cc, const char *flags);
// The same, and its kernels call nothing: neither libm nor libgcc are meant to be.
bool source_cases_run_alone(
    source_cases *cases, const source_machine *machine, const char *cc, const char *flags);
// Fails the test if the kernels call anything: neither libm nor libgcc are meant to be.
//   machine  borrowed; NULL: this one. Nothing is checked where it has no compiler
void source_cases_check_calls(
    source_cases *cases, const source_machine *machine, const char *cc, const char *flags);

#endif
