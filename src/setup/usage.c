// usage.c - the mark of usage errors. The contract: usage.h.
#include "setup/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char mark[] = "usage: ";

seer_status seer_usage_error(const char *format, ...) {
  char message[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return SEER_FAIL(INVALID, "%s%s", mark, message);
}

const char *seer_usage_text(const char *message, bool *out_is_usage) {
  bool is_usage = strncmp(message, mark, sizeof mark - 1) == 0;
  if (out_is_usage) *out_is_usage = is_usage;
  return is_usage ? message + sizeof mark - 1 : message;
}
