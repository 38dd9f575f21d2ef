// isa.h - instruction sets as LLVM has them: which features a processor's name brings, and which
// features come with others. The features are those of runtime/cpu_features.inc, so that whatever
// code was allowed to use can be asked for where it runs. Facts: isa.inc, made from LLVM itself by
// tool/isa.c (`make docs`; lint finds it stale).
//
// Lists are text: "+avx,+fma", sorted, each feature with all that it implies, none twice.
//
// Threads: any; the facts are constants.
#ifndef SEER_SETUP_ISA_H
#define SEER_SETUP_ISA_H

#include "base/arena.h"
#include "base/status.h"

typedef enum { SEER_ISA_X86_64, SEER_ISA_AARCH64, SEER_ISA_RISCV64, SEER_ISA_COUNT } seer_isa;

// The architecture of a triple ("x86_64-linux-gnu", "arm64-..."); false where it is none of these.
bool seer_isa_of(const char *triple, seer_isa *out);
const char *seer_isa_name(seer_isa isa);  // as a triple begins: "x86_64"
// LLVM's name of the processor that has what every machine of the architecture has, and no feature
// of the list beyond that: code is compiled for it, plus a list.
const char *seer_isa_base_cpu(seer_isa isa);
// What a bare triple stands for: the features that every Linux of the architecture may count on.
const char *seer_isa_base_features(seer_isa isa);

// What the processor `cpu` (LLVM's name) brings. In `arena`.
// Errors: INVALID no such processor, with those of similar names.
SEER_MUST_USE seer_status seer_isa_cpu_features(
    seer_isa isa, const char *cpu, seer_arena *arena, const char **out_features);

// `features` (a list) after `changes`, such as "+avx2,-fma": what is added brings what it implies,
// what is removed takes with it what implies it; in the order of the text. In `arena`.
// Errors: INVALID no such feature, with those that there are; or not a list.
SEER_MUST_USE seer_status seer_isa_change(seer_isa isa, const char *features, const char *changes,
    seer_arena *arena, const char **out_features);

// Of a list that an operating system gave, those that can be used: without a feature that implies
// one that is not there. In `arena`.
const char *seer_isa_usable(seer_isa isa, const char *features, seer_arena *arena);

#endif
