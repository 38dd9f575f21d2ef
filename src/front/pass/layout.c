// layout.c - assigns physical orders and pitches.
#include <string.h>

#include "front/pass/pass.h"

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  (void)graph;
  return SEER_OK;
}

const seer_pass_desc seer_pass_layout = {"layout", "physical order of dimensions and pitch of each value", run};
