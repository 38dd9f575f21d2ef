// pretrained.h - cost models of other networks that come with the program: what a tuning's models
// begin with, and what ranks drafts where nothing is measured. They are files of
// src/learn/pretrained/, named by the class of the machine that they were measured on, and are in
// the program as bytes; `familyseer pretrain` makes them.
// Pure: safe from any thread.
#ifndef SEER_LEARN_PRETRAINED_H
#define SEER_LEARN_PRETRAINED_H

#include "learn/bank.h"
#include "setup/target.h"

// "x86_64-512-l2_1024k": the architecture, the bits of its vectors, the size of its level 2 cache
// to a power of two. What orders a task's programs is much the same within one. "" of a target
// without an instruction set of its own ("c").
typedef struct {
  char text[64];
} seer_machine_class;
seer_machine_class seer_machine_class_of(const seer_target *target);

// Models of the kind that they are, of one family, for tasks with ids under n_task. Owned:
// seer_bank_destroy.
SEER_MUST_USE seer_status seer_pretrained_create(uint32_t n_task, seer_bank **out_bank);
// Whether a bank of these options can begin with them.
bool seer_pretrained_fits(const seer_bank_options *options);

// Loads into a bank that fits, which goes on from it, what there is for the target, or `path`,
// where that is not "". *out_has: whether there is anything. Errors: those of seer_bank_load.
SEER_MUST_USE seer_status seer_pretrained_load(
    const seer_target *target, const char *path, seer_bank *bank, bool *out_has);

#endif
