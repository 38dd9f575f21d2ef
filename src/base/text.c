// text.c - building text: a string that doubles in an arena, and floats that parse back to the same
// bits.
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
