// exec.h - what load.c of the first version took from its own runtime.
#include <stdarg.h>
#include <stdio.h>

#include "seer/runtime.h"

static inline seer_rt_code seer_rt_fail(
    seer_rt_code code, char *message, size_t message_bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, message_bytes, format, args);
  va_end(args);
  return code;
}
