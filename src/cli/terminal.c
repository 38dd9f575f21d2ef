#include "cli/terminal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INDENT 2  // of what is wrapped
#define LEAST_COLUMNS 40

bool seer_terminal_is_there(void) { return isatty(STDERR_FILENO) == 1; }

seer_terminal_size seer_terminal_ask(void) {
  struct winsize size = {0};
  seer_terminal_size here = {80, 24};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) here.columns = size.ws_col;
    if (size.ws_row > 0) here.rows = size.ws_row;
  }
  if (here.columns < LEAST_COLUMNS) here.columns = LEAST_COLUMNS;
  return here;
}

// ---- characters

// Bytes of the one that stands at `at`.
static size_t length_of(const char *at) {
  size_t n = 1;
  while (((unsigned char)at[n] & 0xC0) == 0x80) n++;
  return n;
}

// From U+1100 on there are wide ones; punctuation and signs (U+2000 to U+2BFF) are not.
static uint32_t width_of(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  if (byte[0] < 0xE1) return 1;
  if (byte[0] == 0xE1) return byte[1] < 0x84 ? 1 : 2;
  return byte[0] == 0xE2 && byte[1] < 0xB0 ? 1 : 2;
}

uint32_t seer_terminal_columns_of(const char *text) {
  uint32_t n = 0;
  for (; *text; text += length_of(text)) n += width_of(text);
  return n;
}

// Bytes of as many characters from `text` on as fit; *io_columns: what they leave.
static size_t head_of(const char *text, uint32_t *io_columns) {
  size_t n = 0;
  while (text[n] && width_of(&text[n]) <= *io_columns) {
    *io_columns -= width_of(&text[n]);
    n += length_of(&text[n]);
  }
  return n;
}

uint32_t seer_terminal_put_cut(seer_text *to, const char *text, uint32_t columns) {
  uint32_t all = seer_terminal_columns_of(text);
  if (all <= columns) {
    seer_text_put(to, text);
    return all;
  }
  if (columns == 0) return 0;
  uint32_t tail = (columns - 1) / 2, rest = columns - 1 - tail, head = rest;
  size_t n = head_of(text, &rest);
  seer_text_put_n(to, text, n);
  seer_text_put(to, "\xE2\x80\xA6");
  const char *from = text;
  uint32_t left = all;
  for (; left > tail; from += length_of(from)) left -= width_of(from);
  seer_text_put(to, from);
  return head - rest + 1 + left;
}

void seer_terminal_put_wrapped(seer_text *to, const char *text, uint32_t columns) {
  SEER_ASSERT(columns > 2 * INDENT, "%u columns", columns);
  for (uint32_t indent = 0;; indent = INDENT) {
    uint32_t rest = columns - indent;
    size_t n = head_of(text, &rest), at = n;
    if (text[n]) {
      while (at > 0 && text[at] != ' ') at--;
      if (at == 0) at = n;
    }
    seer_text_printf(to, "%*s%.*s\n", (int)indent, "", (int)at, text);
    text += at;
    text += strspn(text, " ");
    if (!*text) return;
  }
}
