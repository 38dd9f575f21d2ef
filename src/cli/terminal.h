// terminal.h - the terminal behind standard error, and texts cut and wrapped to its width.
// A text is counted in columns: a character that is none of Latin's neighbours may take two, and
// is taken to do so, so that what is said to fit does.
// Texts are safe ones (base/text.h). All functions may be called from any thread.
#ifndef SEER_CLI_TERMINAL_H
#define SEER_CLI_TERMINAL_H

#include "base/text.h"

typedef struct {
  uint32_t columns, rows;
} seer_terminal_size;

bool seer_terminal_is_there(void);
// As it is now. Where nobody says: 80 by 24; less than 40 columns are taken for 40.
seer_terminal_size seer_terminal_ask(void);

uint32_t seer_terminal_columns_of(const char *text);
// At most `columns` of a text: from what is longer the middle is left out, for an ellipsis.
// Names of tasks differ at both ends. Returns the columns that were put.
uint32_t seer_terminal_put_cut(seer_text *to, const char *text, uint32_t columns);
// A line, broken at blanks (within a word where it must be) so that none is longer than `columns`;
// the lines behind the first are indented by two. Ends with a line break.
void seer_terminal_put_wrapped(seer_text *to, const char *text, uint32_t columns);

#endif
