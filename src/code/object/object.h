// object.h - an object's bytes -> functions of this process. Needs no compiler and no linker.
// In: a relocatable ELF file as llvm/module.c makes them of one kernel: code, constants,
// relocations between the two.  Out: functions, in memory of their own.
// What is read is checked first: a file that is damaged, is for another processor or has anything
// that such a kernel does not have (writable data, names that are defined elsewhere, relocations
// of other types) is refused, and nothing outside of it is read. What its code then does is its
// own. Memory is written, and then executed or read: never both at a time.
// Threads: any, each with objects of its own; functions may be called by any while theirs is
// loaded.
#ifndef SEER_CODE_OBJECT_H
#define SEER_CODE_OBJECT_H

#include "base/status.h"

// A phase of a kernel (code/kernel.h).
typedef void (*seer_kernel_phase)(void *const *buffers, uint32_t part);

typedef struct {
  void *memory;  // NULL: nothing is loaded
  size_t n_bytes;
} seer_loaded;

// Loads `bytes`, which may be gone afterwards.
//   out_phase   n_phase functions: <symbol>_p0, <symbol>_p1, ...; until seer_object_unload
//   out_loaded  owned: seer_object_unload
// Errors: CORRUPT, UNSUPPORTED what of it is refused; RESOURCE no memory, or none that may be
// executed. Nothing is loaded then.
SEER_MUST_USE seer_status seer_object_load(const void *bytes, size_t n_bytes, const char *symbol,
    uint32_t n_phase, seer_kernel_phase *out_phase, seer_loaded *out_loaded);
void seer_object_unload(seer_loaded *loaded);  // once more does nothing

#endif
