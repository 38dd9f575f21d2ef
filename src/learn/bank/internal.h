// internal.h - what the files of the bank share (learn/bank.h): its parts, and training sets.
#ifndef SEER_LEARN_BANK_INTERNAL_H
#define SEER_LEARN_BANK_INTERNAL_H

#include "learn/bank.h"

typedef struct {
  uint32_t task, n_row;
  size_t first_row;
  double seconds, estimate_s;
  float inherited;  // what the bank underneath says of it
  bool is_raced_out;
  // How many samples came before it, of all and of its family: what is held out is so for good,
  // also when others are forgotten.
  size_t nth, nth_of_family;
} seer_bank_kept;

struct seer_bank {
  seer_bank_options options;
  seer_arena *names;
  uint32_t *family_of;
  seer_bank *under;  // loaded: what the models here stand on; NULL: nothing
  size_t n_sample, cap_sample, n_row, cap_row;
  size_t n_added;  // ever
  seer_bank_kept *samples;
  float *rows;
  double *best;  // seconds, by task; 0: none
  double *slack;  // by task: what good schedules take, relative to their estimates; 0: unknown
  size_t *n_of_family;  // samples
  size_t *n_added_of_family;
  seer_cost_model **family;  // NULL: none yet
  seer_cost_model *shared;  // of all families until they split; NULL: none yet
  bool is_split;
  size_t n_shared;  // samples that came before they did
  uint32_t *warm_up_of;  // by family: more samples than that are needed
  size_t *n_at_fit;  // samples of a family when its model was last fitted
  uint64_t generation;
};

size_t seer_bank_n_column(const seer_bank *bank);
seer_status seer_bank_no_memory(const char *what);

// Relative throughput as the estimate sees it, or its logarithm, as the models have it. 0: none.
float seer_bank_prior(const seer_bank *bank, double reference_s, double estimate_s);

// ---- samples.c
// Asks the bank underneath again about every sample.
SEER_MUST_USE seer_status seer_bank_inherit(seer_bank *bank);
// Brings `slack` up to date.
SEER_MUST_USE seer_status seer_bank_find_slacks(seer_bank *bank);

typedef struct {
  float *rows, *label, *weight;
  // By row: what is underneath the models, on a sample's first row: estimate and loaded models.
  float *margin;
  uint32_t *n_rows, *task;
  size_t n_column, n_row, n_sample;
} seer_bank_set;

typedef enum { SEER_BANK_LEFT_OUT, SEER_BANK_TRAIN, SEER_BANK_HELD } seer_bank_part;

// Where a sample goes.
typedef seer_bank_part (*seer_bank_choice)(
    const seer_bank *bank, uint32_t arg, const seer_bank_kept *sample);

// Owned, also after an error: seer_bank_set_free.
SEER_MUST_USE seer_status seer_bank_make_sets(const seer_bank *bank, seer_bank_choice choose,
    uint32_t arg, seer_bank_set *train, seer_bank_set *held);
void seer_bank_set_free(seer_bank_set *set);
seer_cost_data seer_bank_set_data(const seer_bank_set *set);

// ---- bank.c
// A model to be fitted or loaded. Its stream of random numbers is the family; behind those, what
// they share at first.
SEER_MUST_USE seer_status seer_bank_renew(
    const seer_bank *bank, seer_cost_model **model, uint32_t stream);
// What ranks a family's tasks; NULL: nothing yet.
seer_cost_model *seer_bank_model_of(const seer_bank *bank, uint32_t family);

#endif
