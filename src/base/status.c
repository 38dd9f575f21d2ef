// status.c - failures as small heap objects: code, place, message, context lines.
// A status is made rarely and on the way out, so it is plain malloc. When memory itself is what
// failed, a static status per code is returned: it has no message of its own and freeing it does
// nothing.
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct seer_status_data {
  seer_code code;
  bool is_static;
  char *message;
};

static const char *const code_names[SEER_CODE_COUNT] = {
    "invalid",
    "unsupported",
    "not-found",
    "io",
    "corrupt",
    "resource",
    "timeout",
    "device",
    "stopped",
    "internal",
};

// Never written to: context and free leave static statuses alone.
static struct seer_status_data static_status[SEER_CODE_COUNT] = {
    {SEER_CODE_INVALID, true, NULL},
    {SEER_CODE_UNSUPPORTED, true, NULL},
    {SEER_CODE_NOT_FOUND, true, NULL},
    {SEER_CODE_IO, true, NULL},
    {SEER_CODE_CORRUPT, true, NULL},
    {SEER_CODE_RESOURCE, true, NULL},
    {SEER_CODE_TIMEOUT, true, NULL},
    {SEER_CODE_DEVICE, true, NULL},
    {SEER_CODE_STOPPED, true, NULL},
    {SEER_CODE_INTERNAL, true, NULL},
};

void seer_assert_fail(const char *file, int line, const char *cond, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: assertion failed: %s: ", file, line, cond);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  abort();
}

const char *seer_code_name(seer_code code) {
  return (unsigned)code < SEER_CODE_COUNT ? code_names[code] : "unknown";
}

// Names from files are in nearly every message, so all messages are made safe to print here, once.
// Returns < 0 when there is no memory.
static int format_safe(char **out, const char *format, va_list args) {
  char *raw = NULL;
  int n = vasprintf(&raw, format, args);
  if (n < 0) return n;
  size_t cap =
      (size_t)n < SEER_TEXT_SAFE_LINE_BYTES / 4 ? 4 * (size_t)n + 8 : SEER_TEXT_SAFE_LINE_BYTES;
  *out = malloc(cap);
  if (*out) seer_text_safe_copy(*out, cap, raw, (size_t)n, SEER_TEXT_INDENT);
  free(raw);
  return *out ? n : -1;
}

seer_status seer_status_make(seer_code code, const char *file, int line, const char *format, ...) {
  struct seer_status_data *status = malloc(sizeof *status);
  if (!status) return &static_status[code];
  va_list args;
  va_start(args, format);
  int n = format_safe(&status->message, format, args);
  va_end(args);
  if (n < 0) {
    free(status);
    return &static_status[code];
  }
  status->code = code;
  status->is_static = false;
  // An internal error is ours to find: it says where it was made.
  if (code == SEER_CODE_INTERNAL) {
    char *with_place = NULL;
    if (asprintf(&with_place, "%s (%s:%d)", status->message, file, line) >= 0) {
      free(status->message);
      status->message = with_place;
    }
  }
  return status;
}

seer_status seer_status_context(seer_status status, const char *format, ...) {
  if (!status || status->is_static) return status;
  char *context = NULL, *joined = NULL;
  va_list args;
  va_start(args, format);
  int n = format_safe(&context, format, args);
  va_end(args);
  if (n < 0) return status;
  if (asprintf(&joined, "%s\n  while %s", status->message, context) >= 0) {
    free(status->message);
    status->message = joined;
  }
  free(context);
  return status;
}

seer_status seer_status_join(seer_status first, seer_status second) {
  if (!first) return second;
  seer_status_free(second);
  return first;
}

seer_code seer_status_code(seer_status status) {
  SEER_ASSERT(status != SEER_OK, "code of a status that is OK (%p)", (void *)status);
  return status->code;
}

const char *seer_status_message(seer_status status) {
  if (!status) return "ok";
  return status->message ? status->message : seer_code_name(status->code);
}

void seer_status_free(seer_status status) {
  if (!status || status->is_static) return;
  free(status->message);
  free(status);
}
