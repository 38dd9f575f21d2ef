// verify_report.h - what the command verify says, as text while it goes or as one JSON object at
// its end. One thread; names come from files and are made safe to show.
#ifndef SEER_CLI_VERIFY_REPORT_H
#define SEER_CLI_VERIFY_REPORT_H

#include <jansson.h>

#include "cli/layers.h"
#include "front/width/kinds.h"
#include "library/deviations.h"
#include "library/steps.h"

typedef struct {
  bool is_json;
  json_t *root, *set;  // NULL for text
  seer_arena *arena;
} seer_verify_report;

void seer_report_init(seer_verify_report *report, bool is_json, const char *library,
    const char *model, seer_arena *arena);
// A set of input shapes; all that follows is of it. Text says it where there are several.
void seer_report_set(seer_verify_report *report, const char *shapes, bool is_one_of_many);
// Whose values are those that the library's are held against.
void seer_report_judge(seer_verify_report *report, const char *name);
// `difference` NULL: the shapes are what differs.
void seer_report_output(seer_verify_report *report, const seer_io_info *found,
    const seer_io_info *expected, const seer_difference *difference);
// Of the same output, behind that: what the library's precision has changed.
void seer_report_precision(
    seer_verify_report *report, seer_precision precision, const seer_deviation *deviation);
void seer_report_nodes(seer_verify_report *report, const seer_steps_verdict *verdict);
void seer_report_layers(seer_verify_report *report, const seer_layers_verdict *verdict);
// Prints the object, and releases it in any case. RESOURCE: no memory for it.
SEER_MUST_USE seer_status seer_report_end(seer_verify_report *report, bool is_ok);

#endif
