// pretrain.h - what was measured of other networks -> a file of cost models that a tuning, and a
// choice without trials, begin with (learn/pretrained.h). Sources are files of records (record.h)
// and tables of times (measure/times/times.h); each of their tasks is a group of its own, as times
// of two files need not compare. The models are those of
// learn/pretrained.h.
//
// Threads: one. Errors: those of the files; NOT_FOUND where they have nothing of the context's
// target. Nothing is written then.
#ifndef SEER_STUDY_PRETRAIN_H
#define SEER_STUDY_PRETRAIN_H

#include "setup/context.h"

typedef struct {
  const char *const *paths;  // of sources
  uint32_t n_path;
  // Networks of tables whose tasks are left out, wherever else they are used: for holding models
  // against networks that they have not seen. Of records files are left out.
  const char *const *left_out;
  uint32_t n_left_out;
  const char *path;  // to be written
} seer_pretrain_options;

typedef struct {
  uint32_t n_task, n_sample;
  uint32_t n_unusable;  // of the target, and of no form that today's rules know
  uint32_t n_foreign;  // tables of machines with other features or threads
} seer_pretrain_counts;

// context: of the target whose records count: those of machines with its features and as many
// threads.
SEER_MUST_USE seer_status seer_pretrain(
    seer_context *context, const seer_pretrain_options *options, seer_pretrain_counts *out);

#endif
