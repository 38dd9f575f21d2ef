// text.h - building and scanning text. All text forms print through seer_text and parse through
// seer_scan.
// Threads: a text and a scanner are one thread's at a time.
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
// Bytes at a multiple of `align` (a power of two), behind zeros where there is a gap; where they
// are.
size_t seer_text_put_aligned(seer_text *text, const void *data, size_t n_bytes, size_t align);
SEER_PRINTF(2, 3) void seer_text_printf(seer_text *text, const char *format, ...);
// A float so that parsing gives the same bits (shortest that does; inf, -inf, nan spelled so). No
// locale.
void seer_text_put_f64(seer_text *text, double value);

// ---- texts from files
// Names, messages and descriptions that come from a file, a record or another process hold whatever
// their maker liked. Before one goes to a terminal, a log, a report or JSON it is made safe: sound
// UTF-8 that can be seen stays; control characters and bytes that are no UTF-8 become \xNN, what
// turns the direction of writing or has no width becomes \u{NNNN}. Making a safe text safe again
// changes nothing. Two texts may become the same one: it is for reading, not for keys.
enum {
  SEER_TEXT_SAFE_BYTES = 256,  // a name longer than this is cut, and ends in "..." as one character
  SEER_TEXT_SAFE_LINE_BYTES = 8192,  // the same for a whole message: a status, a line of a log
};
// The text itself when it is safe and short, else a copy in `arena`.
const char *seer_text_safe(seer_arena *arena, const char *from_file);
// The same, not cut: for programs that read it.
const char *seer_text_safe_whole(seer_arena *arena, const char *from_file);
void seer_text_put_safe(seer_text *text, const char *from_file);
void seer_text_put_html(seer_text *text, const char *from_file);  // safe, and as HTML has it
// The bytes of the character that stands at `at`, 1 to 4 of at most n_bytes > 0, when it is one
// that stays; 0 when it has to be escaped.
size_t seer_text_seen(const char *at, size_t n_bytes);
typedef enum {
  SEER_TEXT_ONE_LINE,  // a line break is a control character
  SEER_TEXT_INDENT,  // line breaks stay, and the lines behind the first are indented by two blanks:
  // nothing in a file looks like a line of ours
} seer_text_lines;
// Into `out`, NUL-terminated, cut at out_bytes >= 4. Returns the bytes written without the NUL.
size_t seer_text_safe_copy(
    char *out, size_t out_bytes, const char *from_file, size_t n_bytes, seer_text_lines lines);

// A scanner over borrowed text. Blanks, newlines and comments (# to end of line) are skipped
// between tokens. Functions named try_* consume nothing when they return false; the others fail as
// seer_scan_fail does, and the scanner is of no use then.
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
