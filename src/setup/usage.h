// usage.h - errors of how something was asked for, not of what: the program ends with status 2
// then, and shows how it is to be asked.
// Threads: any.
#ifndef SEER_SETUP_USAGE_H
#define SEER_SETUP_USAGE_H

#include "base/status.h"

// INVALID with a mark in front of its message: a status has no room for "whose fault".
SEER_MUST_USE SEER_PRINTF(1, 2) seer_status seer_usage_error(const char *format, ...);
// A message without the mark. *out_is_usage (may be NULL): it had one.
const char *seer_usage_text(const char *message, bool *out_is_usage);

#endif
