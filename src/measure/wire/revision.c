// revision.c - the hash that the build has made (tool/revision.cmake).

#include "measure/wire/revision.h"

#include SEER_REVISION_INC

const char *seer_revision(void) { return SEER_REVISION; }
