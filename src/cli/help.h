// help.h - what the program says of itself: commands, and the flags that each one takes, from their
// tables.
// Prints only; tables are constant.
#ifndef SEER_CLI_HELP_H
#define SEER_CLI_HELP_H

#include <stdio.h>

#include "base/text.h"
#include "cli/command.h"

// A flag of one letter: -o, -i, -O.
typedef struct {
  const char *flag, *option;
} seer_short_flag;
extern const seer_short_flag seer_short_flags[];
extern const size_t seer_short_flags_count;

// The one of an option; NULL: it has none.
const char *seer_help_short_of(const seer_option_desc *option);
// Does its documentation begin with the words that it may have: "quick|normal|thorough: ..."?
bool seer_help_has_choices(const seer_option_desc *option);
void seer_help_put_flag(seer_text *to, const seer_option_desc *option);  // "-o, --output TEXT"
// "what it does (default 0, 0 to 4096)"; where not `is_whole`, its first sentence.
void seer_help_put_doc(seer_text *to, const seer_option_desc *option, bool is_whole);

void seer_help_print_program(FILE *to);
void seer_help_print_usage(FILE *to, const seer_command *command);  // one line
// Usage, what it does, examples, and its flags with their defaults and limits: those that most
// need, or all of them by group.
void seer_help_print_command(FILE *to, const seer_command *command, bool is_whole);

#endif
