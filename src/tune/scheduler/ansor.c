// ansor.c - Ansor's task scheduler, and FamilySeer's cost models under it: policies without
// foreseen rounds.

#include "tune/scheduler/gradient.h"

static bool next(seer_schedule_state *state, seer_pick *out) {
  return seer_gradient_pick(state, seer_gradient_of, out);
}

const seer_scheduler_desc seer_scheduler_ansor = {"ansor",
    "Ansor: one model, gradient of the end-to-end latency", &seer_traits_one_model, "all", next};

const seer_scheduler_desc seer_scheduler_familyseer_model = {"familyseer-model",
    "a model per family, but Ansor's scheduler: no foreseen rounds", &seer_traits_published, NULL,
    next};

const seer_scheduler_desc seer_scheduler_familyseer_single = {"familyseer-single",
    "a model per task, and Ansor's scheduler", &seer_traits_published, "single", next};
