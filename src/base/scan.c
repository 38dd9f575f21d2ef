// scan.c - reading text forms: tokens by recursive descent, with a line and a column for every
// complaint. Blanks and comments are skipped before a token is looked at, so `at` rests behind the
// last token and a message names the token that was found instead.
#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void seer_scan_init(seer_scan *scan, const char *source, const char *text, size_t n_bytes) {
  *scan = (seer_scan){source, text, text + n_bytes, text, 1};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool in_name(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

static void skip(seer_scan *scan) {
  while (scan->at < scan->end) {
    char c = *scan->at;
    if (c == '#') {
      while (scan->at < scan->end && *scan->at != '\n') scan->at++;
    } else if (c == '\n') {
      scan->line++;
      scan->line_start = ++scan->at;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      scan->at++;
    } else {
      return;
    }
  }
}

bool seer_scan_at_end(seer_scan *scan) {
  skip(scan);
  return scan->at == scan->end;
}

// True if `token` stands at `at`; a token that ends like a name must end there in the text too.
static bool matches(seer_scan *scan, const char *token, size_t *out_n) {
  skip(scan);
  size_t n = strlen(token);
  SEER_ASSERT(n > 0, "empty token, length %zu", n);
  if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, token, n) != 0) return false;
  const char *behind = scan->at + n;
  if (in_name(token[n - 1]) && token[n - 1] != '.' && behind < scan->end && in_name(*behind))
    return false;
  *out_n = n;
  return true;
}

bool seer_scan_peek(seer_scan *scan, const char *token) {
  size_t n;
  return matches(scan, token, &n);
}

bool seer_scan_try(seer_scan *scan, const char *token) {
  size_t n;
  if (!matches(scan, token, &n)) return false;
  scan->at += n;
  return true;
}

seer_status seer_scan_expect(seer_scan *scan, const char *token) {
  if (seer_scan_try(scan, token)) return SEER_OK;
  return seer_scan_fail(scan, "expected '%s'", token);
}

bool seer_scan_try_name(seer_scan *scan, seer_arena *arena, const char **out_name) {
  skip(scan);
  if (scan->at == scan->end || !starts_name(*scan->at)) return false;
  const char *start = scan->at;
  while (scan->at < scan->end && in_name(*scan->at)) scan->at++;
  *out_name = seer_arena_strndup(arena, start, (size_t)(scan->at - start));
  return true;
}

seer_status seer_scan_name(seer_scan *scan, seer_arena *arena, const char **out_name) {
  if (seer_scan_try_name(scan, arena, out_name)) return SEER_OK;
  return seer_scan_fail(scan, "expected a name");
}

typedef enum { NO_NUMBER, OVERFLOWS, IS_NUMBER } number_result;

static number_result read_i64(seer_scan *scan, int64_t *out_value) {
  skip(scan);
  const char *at = scan->at;
  bool negative = at < scan->end && *at == '-';
  if (negative) at++;
  if (at == scan->end || !is_digit(*at)) return NO_NUMBER;
  uint64_t magnitude = 0;
  bool overflow = false;
  for (; at < scan->end && is_digit(*at); at++) {
    overflow |= __builtin_mul_overflow(magnitude, (uint64_t)10, &magnitude);
    overflow |= __builtin_add_overflow(magnitude, (uint64_t)(*at - '0'), &magnitude);
  }
  // 1.5 and 1e3 are floats, not an integer with something behind it; 3..5 and 1x3 are.
  const char *next = at;
  if (next + 1 < scan->end && *next == '.' && is_digit(next[1])) return NO_NUMBER;
  if (next < scan->end && (*next == 'e' || *next == 'E')) {
    next++;
    if (next < scan->end && (*next == '+' || *next == '-')) next++;
    if (next < scan->end && is_digit(*next)) return NO_NUMBER;
  }
  uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  if (overflow || magnitude > limit) return OVERFLOWS;
  *out_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  scan->at = at;
  return IS_NUMBER;
}

bool seer_scan_try_i64(seer_scan *scan, int64_t *out_value) {
  return read_i64(scan, out_value) == IS_NUMBER;
}

seer_status seer_scan_i64(seer_scan *scan, int64_t *out_value) {
  number_result result = read_i64(scan, out_value);
  if (result == IS_NUMBER) return SEER_OK;
  return seer_scan_fail(
      scan, result == OVERFLOWS ? "number does not fit in 64 bits" : "expected an integer");
}

seer_status seer_scan_f64(seer_scan *scan, double *out_value) {
  skip(scan);
  static const struct {
    const char *name;
    double value;
  } special[] = {{"-inf", -INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
  for (size_t i = 0; i < SEER_COUNT_OF(special); i++) {
    if (seer_scan_try(scan, special[i].name)) {
      *out_value = special[i].value;
      return SEER_OK;
    }
  }
  // The number's own characters, copied so that strtod stops there and sees the point its locale
  // wants.
  const char *at = scan->at;
  char digits[512];
  size_t n = 0;
  bool has_digit = false, has_exponent = false;
  const char *point = localeconv()->decimal_point;
  size_t n_point = strlen(point);
  for (; at < scan->end && n + n_point + 1 < sizeof digits; at++) {
    bool after_exponent = at > scan->at && (at[-1] == 'e' || at[-1] == 'E');
    if (is_digit(*at)) {
      has_digit = true;
    } else if (*at == '-' || *at == '+') {
      if (at != scan->at && !after_exponent) break;
    } else if ((*at == 'e' || *at == 'E') && has_digit && !has_exponent) {
      const char *next = at + 1;
      if (next < scan->end && (*next == '+' || *next == '-')) next++;
      if (next == scan->end || !is_digit(*next)) break;
      has_exponent = true;
    } else if (*at == '.' && !has_exponent && !memchr(scan->at, '.', (size_t)(at - scan->at))) {
      memcpy(digits + n, point, n_point);
      n += n_point;
      continue;
    } else {
      break;
    }
    digits[n++] = *at;
  }
  if (!has_digit) return seer_scan_fail(scan, "expected a number");
  digits[n] = '\0';
  char *stop;
  double value = strtod(digits, &stop);
  if (stop != digits + n) return seer_scan_fail(scan, "expected a number");
  if (isinf(value)) return seer_scan_fail(scan, "number does not fit in a double");
  *out_value = value;
  scan->at = at;
  return SEER_OK;
}

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

seer_status seer_scan_string(seer_scan *scan, seer_arena *arena, const char **out_string) {
  skip(scan);
  if (scan->at == scan->end || *scan->at != '"')
    return seer_scan_fail(scan, "expected a string in quotes");
  seer_text text;
  seer_text_init(&text, arena);
  const char *at = scan->at + 1;
  while (at < scan->end && *at != '"' && *at != '\n') {
    char c = *at++;
    if (c == '\\') {
      char kind = at < scan->end ? *at++ : '\0';
      if (kind == 'n') {
        c = '\n';
      } else if (kind == 't') {
        c = '\t';
      } else if (kind == '"' || kind == '\\') {
        c = kind;
      } else if (kind == 'x' && scan->end - at >= 2 && hex_value(at[0]) >= 0 &&
          hex_value(at[1]) >= 0) {
        int value = hex_value(at[0]) * 16 + hex_value(at[1]);
        c = (char)value;
        at += 2;
        if (!value) return seer_scan_fail(scan, "\\x00 in a string");
      } else {
        return seer_scan_fail(
            scan, "unknown escape in a string, allowed are \\\" \\\\ \\n \\t \\xHH");
      }
    }
    seer_text_put_n(&text, &c, 1);
  }
  if (at == scan->end || *at != '"') return seer_scan_fail(scan, "string without closing quote");
  scan->at = at + 1;
  *out_string = text.data;
  return SEER_OK;
}

seer_status seer_scan_fail(seer_scan *scan, const char *format, ...) {
  skip(scan);
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  // What stands there: a whole name or number, else one character.
  size_t n = 0, left = (size_t)(scan->end - scan->at);
  while (n < left && n < 32 && in_name(scan->at[n])) n++;
  if (n == 0 && left > 0) n = 1;
  size_t column = (size_t)(scan->at - scan->line_start) + 1;
  if (n == 0)
    return SEER_FAIL(
        INVALID, "%s:%u:%zu: %s, found end of text", scan->source, scan->line, column, message);
  char token[40];
  for (size_t i = 0; i < n; i++) {
    char c = scan->at[i];
    token[i] = c >= ' ' && c <= '~' ? c : '?';
  }
  token[n] = '\0';
  return SEER_FAIL(
      INVALID, "%s:%u:%zu: %s, found '%s'", scan->source, scan->line, column, message, token);
}
