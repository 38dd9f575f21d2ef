// bank.h - the bank of cost models: one model per family, on its own or over the analytic estimate,
// of which it learns only what that gets wrong, and over the models of a file, where one is loaded:
// schedules unlike any measured one are then ranked by more than a tree's last leaf. Repeatable:
// same samples in the same order give the same models and scores, whatever the machine does.
//
// Memory: samples and models are the bank's. Threads: one at a time but for rating. Errors:
// RESOURCE, and those of the kind of model; what is measured is not lost by them, but the models
// may be half trained.
#ifndef SEER_LEARN_BANK_H
#define SEER_LEARN_BANK_H

#include "learn/cost.h"
#include "learn/feature.h"

// One measured schedule.
typedef struct {
  uint32_t task;  // labels are normalised by the task's best
  uint32_t n_row;
  const float *rows;  // n_row x the columns of the bank's set of features; copied
  double seconds;  // relative to the campaign's drift reference; 0: failed
  double estimate_s;  // by the analytic model; 0: none
  bool is_raced_out;  // few-run time
} seer_sample;

// What the models are to learn of a schedule: what its nest says to `features`, and the analytic
// estimate. rows: room for SEER_NEST_MAX_STATEMENTS of them; kept by the sample. Task, seconds and
// the rest are the caller's to say.
seer_sample seer_sample_of(const seer_nest *nest, const seer_target *target,
    const seer_feature_set *features, float *rows);

typedef struct {
  uint32_t n_family, n_task;
  // by family, copied: the same in other networks, for files; NULL: numbered
  const char *const *family_name;
  const uint32_t *family_of;  // by task; copied
  bool is_over_estimate;  // false: models know nothing but samples (policies ansor and familyseer)
  bool shares_first;  // until seer_bank_split, all families have one model, of all samples
  const seer_cost_desc *model;
  const seer_feature_set *features;  // kept; NULL: the first of the table
  const seer_learning *learning;  // kept; NULL: the first of the table
  seer_learn_device device;
  uint64_t seed;
  // Samples of a family (of all, where they share a model at first) before predictions are used.
  uint32_t warm_up;
  const uint32_t *warm_up_of;  // in place of it, by family: more than so many. Copied; or NULL
} seer_bank_options;

typedef struct seer_bank seer_bank;
// Owned: seer_bank_destroy. The options are copied, `model` is kept. Errors: those of
// seer_cost_probe.
SEER_MUST_USE seer_status seer_bank_create(const seer_bank_options *options, seer_bank **out_bank);
void seer_bank_destroy(seer_bank *bank);
const seer_feature_set *seer_bank_features(const seer_bank *bank);  // rows have its columns
SEER_MUST_USE seer_status seer_bank_add(seer_bank *bank, const seer_sample *samples, size_t n);
// Brings the model of `family`, or the one that all share, up to date with the samples: fitted anew
// where they have grown as much as the settings of learning ask.
SEER_MUST_USE seer_status seer_bank_train(seer_bank *bank, uint32_t family);
// Where all shared a model so far: from now on each family has one of its own, fitted to the
// samples that were shared and to its own since. Until it is trained, the shared model is used.
// Else, and the second time, nothing changes.
void seer_bank_split(seer_bank *bank);
bool seer_bank_is_trained(const seer_bank *bank, uint32_t task);
// n candidates: rows of all of them one after another, and their analytic estimates (NULL: none).
typedef struct {
  size_t n;
  const float *rows;
  const uint32_t *n_rows;
  const double *estimates_s;
} seer_bank_candidates;
// Two steps. Rating reads the rows: out[i] is what the models say of candidate i, whatever others
// there are. Several threads may rate at a time, while nobody trains, adds or loads. Scoring reads
// the estimates: from ratings, in place, to relative throughput among all n.
SEER_MUST_USE seer_status seer_bank_rate(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *candidates, float *out);
SEER_MUST_USE seer_status seer_bank_score(
    const seer_bank *bank, uint32_t task, const seer_bank_candidates *candidates, float *scores);
uint64_t seer_bank_generation(const seer_bank *bank);  // rises whenever scores may have changed
// One file with the version of the features and the families' names, and all layers of models. What
// is loaded is used at once and stays, as a layer underneath, never fitted again: what it says of a
// sample is part of that sample's margin. (A file grows with each campaign that goes on from it.)
// Of the file's families those count that have a name of this bank's. Loading takes the place of
// what was loaded before; samples stay as they are. Errors: INVALID other features, another version
// of them, another kind of model, over the estimate where this bank's are not (or the other way
// round), a file of before format 5; CORRUPT. Nothing changes then.
SEER_MUST_USE seer_status seer_bank_save(const seer_bank *bank, const char *path);
SEER_MUST_USE seer_status seer_bank_load(seer_bank *bank, const char *path);
// The same of a file's bytes; name: for messages.
SEER_MUST_USE seer_status seer_bank_load_bytes(
    seer_bank *bank, const char *name, const void *bytes, size_t n_bytes);
bool seer_bank_is_continued(const seer_bank *bank, uint32_t family);  // stands on a loaded one

#endif
