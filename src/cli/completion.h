// completion.h - the tables of commands and options -> what shells and man want: completion for
// bash, zsh and fish, and manual pages.
// Prints only; tables are constant. One thread.
#ifndef SEER_CLI_COMPLETION_H
#define SEER_CLI_COMPLETION_H

#include <stdio.h>

#include "base/arena.h"
#include "cli/command.h"

void seer_completion_bash(FILE *to, seer_arena *arena);
void seer_completion_zsh(FILE *to, seer_arena *arena);
void seer_completion_fish(FILE *to, seer_arena *arena);

// familyseer(1), or familyseer-<command>(1); in roff.
void seer_man_program(FILE *to, seer_arena *arena);
void seer_man_command(FILE *to, const seer_command *command, seer_arena *arena);

#endif
