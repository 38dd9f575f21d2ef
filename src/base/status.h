// status.h - errors of the world: files, models, the OS, devices (style: three channels, never
// mixed). A status is a pointer; SEER_OK is NULL. A non-NULL status is owned by whoever holds it:
// return it, or end it with seer_status_print / seer_status_free.
//
// Threads: any may make one; each is one holder's at a time.
#ifndef SEER_BASE_STATUS_H
#define SEER_BASE_STATUS_H

#include "base/base.h"

typedef enum {
  SEER_CODE_INVALID,  // the input is at fault
  SEER_CODE_UNSUPPORTED,  // legal, not built (yet)
  SEER_CODE_NOT_FOUND,
  SEER_CODE_IO,
  SEER_CODE_CORRUPT,  // a file of ours that is damaged
  SEER_CODE_RESOURCE,  // memory, descriptors, space
  SEER_CODE_TIMEOUT,
  SEER_CODE_DEVICE,
  SEER_CODE_STOPPED,  // somebody has asked for it
  SEER_CODE_INTERNAL,
  SEER_CODE_COUNT
} seer_code;

typedef struct seer_status_data *seer_status;
#define SEER_OK ((seer_status)0)

// SEER_FAIL(INVALID, "conv1: attribute 'group' is %d, must divide channels %d", g, c)
#define SEER_FAIL(code, ...) \
  SEER_STATUS_FAILED(seer_status_make(SEER_CODE_##code, __FILE__, __LINE__, __VA_ARGS__))

// The analyser follows both answers of every function; a made status is never NULL, so say so.
#ifdef __clang_analyzer__
#define SEER_STATUS_FAILED(make)              \
  __extension__({                             \
    seer_status seer_made_ = (make);          \
    if (!seer_made_) __builtin_unreachable(); \
    seer_made_;                               \
  })
#else
#define SEER_STATUS_FAILED(make) (make)
#endif

#define SEER_TRY(expr)               \
  do {                               \
    seer_status seer_try_ = (expr);  \
    if (seer_try_) return seer_try_; \
  } while (0)

// As SEER_TRY, and adds where we were: SEER_TRYF(lower(task), "task %s", name)
#define SEER_TRYF(expr, ...)                                                               \
  do {                                                                                     \
    seer_status seer_try_ = (expr);                                                        \
    if (seer_try_) return SEER_STATUS_FAILED(seer_status_context(seer_try_, __VA_ARGS__)); \
  } while (0)

// Never fails: when memory is out it returns a static status with the code.
SEER_MUST_USE SEER_NEVER_NULL SEER_PRINTF(4, 5) seer_status
    seer_status_make(seer_code code, const char *file, int line, const char *format, ...);

// Adds a line "while <context>" to `status` (owned, returned). NULL stays NULL.
SEER_MUST_USE SEER_PRINTF(2, 3) seer_status
    seer_status_context(seer_status status, const char *format, ...);

// Keeps the first failure: returns `first` if it failed (and frees `second`), else `second`.
SEER_MUST_USE seer_status seer_status_join(seer_status first, seer_status second);

seer_code seer_status_code(seer_status status);  // status != NULL
// message and context lines; lives as long as `status`
const char *seer_status_message(seer_status status);
// For tests.
const char *seer_code_name(seer_code code);  // "invalid", "not-found", ...
void seer_status_free(seer_status status);  // NULL is fine

#endif
