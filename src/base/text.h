// text.h - building and scanning text. All text forms print through seer_text and parse through
// seer_scan.
#ifndef SEER_BASE_TEXT_H
#define SEER_BASE_TEXT_H

#include "base/arena.h"
#include "base/status.h"

// A growing string in an arena. `data` is always NUL-terminated.
typedef struct {
  seer_arena *arena;
  char *data;
  size_t n_bytes, cap_bytes;
} seer_text;

void seer_text_init(seer_text *text, seer_arena *arena);  // `arena` kept as long as `text`
void seer_text_put(seer_text *text, const char *string);
void seer_text_put_n(seer_text *text, const char *bytes, size_t n);
SEER_PRINTF(2, 3) void seer_text_printf(seer_text *text, const char *format, ...);
// A float so that parsing gives the same bits (shortest that does; inf, -inf, nan spelled so). No
// locale.
void seer_text_put_f64(seer_text *text, double value);

// A scanner over borrowed text. Blanks, newlines and comments (# to end of line) are skipped
// between tokens. Functions named try_* consume nothing when they return false.
typedef struct {
  const char *source;  // name for messages, borrowed
  const char *at, *end;
  const char *line_start;
  uint32_t line;
} seer_scan;

void seer_scan_init(seer_scan *scan, const char *source, const char *text, size_t n_bytes);
bool seer_scan_at_end(seer_scan *scan);
bool seer_scan_try(seer_scan *scan, const char *token);  // exact punctuation or whole keyword
bool seer_scan_peek(seer_scan *scan, const char *token);
SEER_MUST_USE seer_status seer_scan_expect(seer_scan *scan, const char *token);
// [A-Za-z_][A-Za-z0-9_.]* ; copied into `arena`
SEER_MUST_USE seer_status seer_scan_name(seer_scan *scan, seer_arena *arena, const char **out_name);
bool seer_scan_try_name(seer_scan *scan, seer_arena *arena, const char **out_name);
// overflow is an error
SEER_MUST_USE seer_status seer_scan_i64(seer_scan *scan, int64_t *out_value);
bool seer_scan_try_i64(seer_scan *scan, int64_t *out_value);
SEER_MUST_USE seer_status seer_scan_f64(seer_scan *scan, double *out_value);  // inf, -inf, nan too
// "..." with \" \\ \n \t \xHH
SEER_MUST_USE seer_status seer_scan_string(
    seer_scan *scan, seer_arena *arena, const char **out_string);
// INVALID "<source>:<line>:<column>: <message>, found '<token>'"
SEER_MUST_USE SEER_PRINTF(2, 3) seer_status
    seer_scan_fail(seer_scan *scan, const char *format, ...);

#endif
