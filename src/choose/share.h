// share.h - weights that several tasks of a kind read (for several sets of input shapes, or for
// another number of rows within one) are stored once: their schedules are made to read one packed
// form. A weight that tasks of two kinds read is gather.c's business.
//
// Threads: any, each with choices of its own. Errors: those of lowering and of `trial`; choices
// that were changed until then stay changed, and each is sound.
#ifndef SEER_CHOOSE_SHARE_H
#define SEER_CHOOSE_SHARE_H

#include "base/map.h"
#include "code/artefact.h"

#define SEER_SHARE_OFFERS 4

// Which weights a group of tasks has in common.
typedef struct {
  const seer_map *shared;  // set of hashes of (group, extents)
  uint32_t group;
} seer_share_weight_list;

// The form in which a schedule reads these weights: equal values, equal bytes in weights.bin.
// Costs a lowering, well under a millisecond.
SEER_MUST_USE seer_status seer_share_form(const seer_sketch_list *sketches,
    const seer_schedule *schedule, const seer_share_weight_list *weights, uint64_t *out_form);

// A task is asked to read the form that is best for all tasks that read the same weights.
typedef struct {
  uint32_t task;
  const seer_share_weight_list *weights;
  uint64_t form;
  const seer_choice *unshared;  // what it would be compiled with by itself
  uint32_t n;  // may be 0
  seer_schedule schedule[SEER_SHARE_OFFERS];  // all of that form; best first by the analytic model
  double ratio[SEER_SHARE_OFFERS];  // of times by that model: against unshared, at least 1
} seer_share_offer;

// Takes one of the offers, or another schedule of that form, into *out_choice. *out_ratio: its time
// against unshared's; 0: there is none.
typedef seer_status (*seer_share_trial)(
    void *user, const seer_share_offer *offer, seer_choice *out_choice, double *out_ratio);

typedef struct {
  uint32_t n_adapted;  // tasks that gave up a form of their own
  uint32_t n_apart;  // tasks whose weights are stored once more: too slow otherwise
} seer_share_counts;

// Changes choice[task id] of tasks that share weights (others are left as they are).
//   max_loss  share of its time that a task may lose (option share-weights)
SEER_MUST_USE seer_status seer_share_weights(const seer_network *network, const seer_target *target,
    double max_loss, seer_share_trial trial, void *user, seer_choice *choice,
    seer_share_counts *out_counts);

#endif
