// makefile.h - the Makefile of a library that is written as C (build/source.c says which files
// there are).
#ifndef SEER_CODE_MAKEFILE_H
#define SEER_CODE_MAKEFILE_H

#include "setup/target.h"

// In the first line, and in no other Makefile.
#define SEER_MAKEFILE_MARK ", made by familyseer "

typedef struct {
  const char *name;  // of the network, as its file has it
  const seer_target *target;
  // objects of either kind, and the runtime's headers, as paths; end in NULL
  const char *const *kernels, *const *runtime, *const *headers;
} seer_makefile_parts;
// In `arena`; any thread.
const char *seer_source_makefile(const seer_makefile_parts *parts, seer_arena *arena);

#endif
