// familyseer.c - FamilySeer's Algorithm 1 (2022): a round for the bottleneck, searched with its
// family's model; that model is updated; then a round of p * n for the bottleneck among the *other*
// members of its family. And its parts alone, each of which may be what helps.
//
// What a foreseen round counts as. Ansor's t is the time spent on a task, in rounds of n
// measurements; Algorithm 1 spends p * n of them on the relative, so its t grows by p. (Its code
// does not count them at all.) All measurements count towards the budget, in either.
//
// Which gradients pick the relative. In Algorithm 1, those after the bottleneck's round; in the
// code, those from before it. A round changes the gradient of its own task alone as long as the
// objective is a weighted sum and nothing is carried to relatives, so both pick the same task.

#include <stdio.h>

#include "tune/scheduler/gradient.h"

#define ARTIFACT_ROUND 16  // measurements, whatever the size of a round (its `skip_measures`)

// Was the round before a bottleneck's? Then it was not its task's first one, which is warm-up.
static bool was_bottleneck(const seer_schedule_state *state) {
  const seer_pick *last = &state->last;
  return state->n_pick > 0 && !last->is_foreseen && state->task[last->task].n_round > 1 &&
      seer_schedule_is_warm(state);
}

static bool foresee(
    seer_schedule_state *state, uint32_t family, uint32_t n, double counts_as, seer_pick *out) {
  uint32_t last = state->last.task, best = seer_gradient_steepest(state, family, last);
  if (best == UINT32_MAX || n == 0) return false;
  *out = (seer_pick){.task = best, .n = n, .is_foreseen = true, .counts_as = counts_as};
  (void)snprintf(
      out->reason, sizeof out->reason, "foreseen: bottleneck of task %u's relatives", last);
  if (family == SEER_ANY_FAMILY)
    (void)snprintf(out->reason, sizeof out->reason, "steepest gradient but that of task %u", last);
  return true;
}

// p * n measurements by gradients of now.
static bool foresee_share(seer_schedule_state *state, uint32_t family, seer_pick *out) {
  uint32_t n = (uint32_t)(state->foresee * state->round_size + 0.5);
  seer_gradient_update(state, seer_gradient_of);
  return foresee(state, family, n, (double)n / state->round_size, out);
}

static bool next(seer_schedule_state *state, seer_pick *out) {
  bool is_foreseen =
      was_bottleneck(state) && foresee_share(state, state->task[state->last.task].family, out);
  return is_foreseen || seer_gradient_pick(state, seer_gradient_of, out);
}

const seer_scheduler_desc seer_scheduler_familyseer = {"familyseer",
    "FamilySeer, Algorithm 1: a bottleneck, then the bottleneck among its relatives",
    &seer_traits_published, NULL, next};

const seer_scheduler_desc seer_scheduler_familyseer_foresee = {"familyseer-foresee",
    "rounds as in familyseer, but one model for all", &seer_traits_one_model, NULL, next};

const seer_scheduler_desc seer_scheduler_familyseer_warm = {"familyseer-warm",
    "familyseer; samples of the warm-up are every family's", &seer_traits_warm, NULL, next};

// The relative by gradients from before the bottleneck's round, which seer_gradient_pick left.
static bool next_artifact(seer_schedule_state *state, seer_pick *out) {
  bool is_foreseen = was_bottleneck(state) &&
      foresee(state, state->task[state->last.task].family, ARTIFACT_ROUND, 0, out);
  return is_foreseen || seer_gradient_pick(state, seer_gradient_of_artifact, out);
}

const seer_scheduler_desc seer_scheduler_familyseer_artifact = {"familyseer-artifact",
    "familyseer as its code has it: 16 measurements of a relative that count in no gradient",
    &seer_traits_artifact, NULL, next_artifact};

// The control: is it the family that helps, or a smaller round of some other task?
static bool next_quarter(seer_schedule_state *state, seer_pick *out) {
  bool is_quarter = was_bottleneck(state) && foresee_share(state, SEER_ANY_FAMILY, out);
  return is_quarter || seer_gradient_pick(state, seer_gradient_of, out);
}

const seer_scheduler_desc seer_scheduler_ansor_quarter = {"ansor-quarter",
    "Ansor, and a quarter round for the second steepest gradient after each",
    &seer_traits_one_model, "all", next_quarter};
