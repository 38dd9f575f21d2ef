// feature.h - features of a schedule for the cost model: one row per statement of its nest summary.
// Columns are named in feature.inc; the version changes whenever a column's meaning does.
// All is pure, over the caller's storage: safe from any thread.
#ifndef SEER_LEARN_FEATURE_H
#define SEER_LEARN_FEATURE_H

#include "setup/target.h"
#include "space/nest.h"

#define SEER_FEATURE_VERSION 3

extern const char *const seer_feature_name[];
extern const size_t seer_feature_count;
#define SEER_FEATURE_MAX 128

// Writes n rows of seer_feature_count floats; returns the number of rows (at most
// SEER_NEST_MAX_STATEMENTS). `seconds`: what seer_analytic_seconds says of the nest.
uint32_t seer_feature_extract(
    const seer_nest *nest, const seer_target *target, double seconds, float *out_rows);

// The closed-form model: estimated seconds of one run (roofline by cache level, register pressure,
// vector efficiency, parallel balance). Filters drafts and gives the untuned choice.
double seer_analytic_seconds(const seer_nest *nest, const seer_target *target);

#endif
