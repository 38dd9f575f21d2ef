// text.c - building text: a string that doubles in an arena, floats that parse back to the same
// bits, and texts from files made such that they can be shown.
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void seer_text_init(seer_text *text, seer_arena *arena) {
  text->arena = arena;
  text->cap_bytes = 64;
  text->data = seer_arena_alloc(arena, text->cap_bytes, 1);
  text->n_bytes = 0;
}

// Makes room for n more bytes and the NUL.
static void reserve(seer_text *text, size_t n) {
  if (text->n_bytes + n < text->cap_bytes) return;
  size_t cap = text->cap_bytes;
  while (text->n_bytes + n >= cap) cap *= 2;
  char *data = seer_arena_alloc(text->arena, cap, 1);
  memcpy(data, text->data, text->n_bytes + 1);
  text->data = data;
  text->cap_bytes = cap;
}

void seer_text_put_n(seer_text *text, const char *bytes, size_t n) {
  reserve(text, n);
  if (n) memcpy(text->data + text->n_bytes, bytes, n);
  text->n_bytes += n;
  text->data[text->n_bytes] = '\0';
}

size_t seer_text_put_aligned(seer_text *text, const void *data, size_t n_bytes, size_t align) {
  while (text->n_bytes % align != 0) seer_text_put_n(text, "", 1);
  size_t at = text->n_bytes;
  seer_text_put_n(text, data, n_bytes);
  return at;
}

void seer_text_put(seer_text *text, const char *string) {
  seer_text_put_n(text, string, strlen(string));
}

void seer_text_printf(seer_text *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t room = text->cap_bytes - text->n_bytes;
  int n = vsnprintf(text->data + text->n_bytes, room, format, args);
  va_end(args);
  SEER_ASSERT(n >= 0, "format '%s' gives %d", format, n);
  if ((size_t)n >= room) {
    text->data[text->n_bytes] = '\0';
    reserve(text, (size_t)n);
    vsnprintf(text->data + text->n_bytes, (size_t)n + 1, format, again);
  }
  va_end(again);
  text->n_bytes += (size_t)n;
}

void seer_text_put_f64(seer_text *text, double value) {
  if (isnan(value)) {
    seer_text_put(text, "nan");
    return;
  }
  if (isinf(value)) {
    seer_text_put(text, value < 0 ? "-inf" : "inf");
    return;
  }
  char digits[40];
  // 15 digits name every short decimal without trailing noise; 17 are always enough.
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (strtod(digits, NULL) == value) break;
  }
  // A foreign locale may spell the decimal point otherwise: whatever is no digit, sign or exponent
  // is the point.
  size_t n = 0;
  bool in_point = false;
  for (const char *at = digits; *at; at++) {
    bool plain = (*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == 'e';
    if (plain) {
      digits[n++] = *at;
    } else if (!in_point) {
      digits[n++] = '.';
    }
    in_point = !plain;
  }
  seer_text_put_n(text, digits, n);
}

// ---- texts from files
// What is let through is sound UTF-8 (RFC 3629: no overlong forms, no surrogates) without the
// characters that do something instead of being seen: C0 and C1 controls, the marks that turn the
// direction of writing, separators of lines, what has no width, and tags.

static const char ellipsis[] = "\xE2\x80\xA6";

// The bytes of the character at `s`, at most n, and what it is; 0 when it is no UTF-8.
static size_t decode(const uint8_t *s, size_t n, uint32_t *out_char) {
  size_t length = s[0] < 0x80 ? 1
      : s[0] < 0xC2           ? 0
      : s[0] < 0xE0           ? 2
      : s[0] < 0xF0           ? 3
      : s[0] < 0xF5           ? 4
                              : 0;
  if (length == 0 || length > n) return 0;
  uint32_t c = length == 1 ? s[0] : s[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3Fu);
  }
  bool is_overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (is_overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
  *out_char = c;
  return length;
}

// First and last of what is not seen, in order.
static const uint32_t unseen[][2] = {
    {0x80, 0x9F},  // C1 controls
    {0xAD, 0xAD},  // soft hyphen
    {0x34F, 0x34F},  // grapheme joiner
    {0x61C, 0x61C},  // Arabic letter mark
    {0x115F, 0x1160},  // Hangul fillers
    {0x17B4, 0x17B5},  // Khmer vowels without a shape
    {0x180B, 0x180F},  // Mongolian selectors and vowel separator
    {0x200B, 0x200F},  // zero width space and joiners, marks of direction
    {0x2028, 0x202E},  // separators of lines, embeddings and overrides of direction
    {0x2060, 0x206F},  // word joiner, invisible operators, isolates, deprecated formats
    {0x3164, 0x3164},  // Hangul filler
    {0xFE00, 0xFE0F},  // variation selectors
    {0xFEFF, 0xFEFF},  // byte order mark
    {0xFFA0, 0xFFA0},  // Hangul filler
    {0xFFF0, 0xFFFB},  // interlinear annotation
    {0xFFFE, 0xFFFF},  // no characters
    {0x1D173, 0x1D17A},  // musical formats
    {0xE0000, 0xE0FFF},  // tags and more selectors
};

static bool is_seen(uint32_t c) {
  for (size_t i = 0; i < SEER_COUNT_OF(unseen) && unseen[i][0] <= c; i++)
    if (c <= unseen[i][1]) return false;
  return true;
}

// What stands for the character at `s`: at most 12 bytes and a NUL. Returns the bytes it was.
static size_t show(const uint8_t *s, size_t n, seer_text_lines lines, char shown[16]) {
  uint32_t c = 0;
  size_t length = decode(s, n, &c);
  if (length == 1 && c == '\n' && lines == SEER_TEXT_INDENT) {
    bool is_indented = n > 2 && s[1] == ' ' && s[2] == ' ';
    snprintf(shown, 16, "%s", is_indented ? "\n" : "\n  ");
    return 1;
  }
  if (seer_text_seen((const char *)s, n) > 0) {
    memcpy(shown, s, length);
    shown[length] = '\0';
  } else if (length > 1) {
    snprintf(shown, 16, "\\u{%04" PRIx32 "}", c);
  } else {
    snprintf(shown, 16, "\\x%02x", s[0]);
  }
  return length > 1 ? length : 1;
}

size_t seer_text_seen(const char *at, size_t n_bytes) {
  uint32_t c = 0;
  size_t length = decode((const uint8_t *)at, n_bytes, &c);
  return length > 0 && c >= 0x20 && c != 0x7F && is_seen(c) ? length : 0;
}

// A cut text ends with a whole character and the ellipsis: `fits` is where it may be cut.
size_t seer_text_safe_copy(
    char *out, size_t out_bytes, const char *from_file, size_t n_bytes, seer_text_lines lines) {
  SEER_ASSERT(out_bytes >= sizeof ellipsis, "%zu bytes", out_bytes);
  size_t n = 0, fits = 0;
  for (size_t at = 0; at < n_bytes;) {
    char shown[16];
    at += show((const uint8_t *)from_file + at, n_bytes - at, lines, shown);
    size_t length = strlen(shown);
    if (n + length >= out_bytes) {
      memcpy(out + fits, ellipsis, sizeof ellipsis);
      return fits + sizeof ellipsis - 1;
    }
    memcpy(out + n, shown, length);
    n += length;
    if (n + sizeof ellipsis <= out_bytes) fits = n;
  }
  out[n] = '\0';
  return n;
}

// A NUL ends a text, so show() never gives an empty one.
static bool is_safe(const char *text, size_t n) {
  for (size_t at = 0; at < n;) {
    char shown[16];
    size_t length = show((const uint8_t *)text + at, n - at, SEER_TEXT_ONE_LINE, shown);
    if (strlen(shown) != length || memcmp(shown, text + at, length) != 0) return false;
    at += length;
  }
  return true;
}

const char *seer_text_safe(seer_arena *arena, const char *from_file) {
  size_t n = strlen(from_file);
  if (n < SEER_TEXT_SAFE_BYTES && is_safe(from_file, n)) return from_file;
  char safe[SEER_TEXT_SAFE_BYTES];
  size_t length = seer_text_safe_copy(safe, sizeof safe, from_file, n, SEER_TEXT_ONE_LINE);
  return seer_arena_strndup(arena, safe, length);
}

const char *seer_text_safe_whole(seer_arena *arena, const char *from_file) {
  if (is_safe(from_file, strlen(from_file))) return from_file;
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put_safe(&text, from_file);
  return text.data;
}

void seer_text_put_safe(seer_text *text, const char *from_file) {
  size_t n = strlen(from_file);
  for (size_t at = 0; at < n;) {
    char shown[16];
    at += show((const uint8_t *)from_file + at, n - at, SEER_TEXT_ONE_LINE, shown);
    seer_text_put(text, shown);
  }
}

void seer_text_put_html(seer_text *text, const char *from_file) {
  static const struct {
    char c;
    const char *entity;
  } entities[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  seer_text safe;
  seer_text_init(&safe, text->arena);
  seer_text_put_safe(&safe, from_file);
  for (const char *at = safe.data; *at; at++) {
    size_t k = 0;
    while (k < SEER_COUNT_OF(entities) && entities[k].c != *at) k++;
    if (k < SEER_COUNT_OF(entities))
      seer_text_put(text, entities[k].entity);
    else
      seer_text_put_n(text, at, 1);
  }
}
