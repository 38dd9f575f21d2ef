// pretrained.h - cost models of other networks that come with the program: what a tuning's models
// begin with, and what ranks drafts where nothing is measured. They are files of
// src/learn/pretrained/, named by the class of the machine that they were measured on, and are in
// the program as bytes; `familyseer pretrain` makes them.
// Pure: safe from any thread.
#ifndef SEER_LEARN_PRETRAINED_H
#define SEER_LEARN_PRETRAINED_H

#include "learn/bank.h"
#include "setup/target.h"

// "x86_64-512-l2_1024k": the architecture, the bits of its vectors, the size of its level 2 cache to
// a power of two. What orders a task's programs is much the same within one. "" of a target without
// an instruction set of its own ("c").
typedef struct {
  char text[64];
} seer_machine_class;
seer_machine_class seer_machine_class_of(const seer_target *target);

// Loads what there is for the target into a bank that goes on from it (the default policy's
// features and kind of model, with a base). *out_has: whether there is any. Errors: those of
// seer_bank_load.
SEER_MUST_USE seer_status seer_pretrained_load(
    const seer_target *target, seer_bank *bank, bool *out_has);

#endif
