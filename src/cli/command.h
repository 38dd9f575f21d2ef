// command.h - the table of commands and what they share.
// A command is one file, cmd_<name>.c, and one line in table.c. Flags are the options of
// setup/options.inc whose line names the command: they are set in the context when `run` is called.
// One thread. Descriptions are constant, texts in the context's arena unless said.
#ifndef SEER_CLI_COMMAND_H
#define SEER_CLI_COMMAND_H

#include "setup/context.h"
#include "setup/usage.h"

typedef struct {
  const char *name;
  const char *args;  // what stands behind the name in the usage line: "MODEL [-o DIR]"
  const char *doc;  // one line
  const char *group;  // of commands that the program's help shows together; NULL: the one before's
  const char *example;  // lines of a shell, or NULL
  // Flags that most who use it need, separated by spaces, for a help of one screen; NULL: all.
  const char *flags;
  int min_args, max_args;  // positional arguments; max -1: any number
  // A reader of its output that goes away is an error, as a full disk is, and does not end it by
  // SIGPIPE.
  bool outlives_readers;
  // Of those that take --target: GPUs, too. To the others they are an error before anything is
  // done.
  bool takes_gpus;
  // argv[0 .. argc): the positional arguments, without the command's name. argv[argc] is NULL.
  // OK: exit status 0. A failure: its message on stderr, exit status 1, or 2 if
  // seer_usage_error made it. Results go to stdout, progress and tables for people to stderr.
  seer_status (*run)(seer_context *context, int argc, char **argv);
} seer_command;

extern const seer_command *const seer_command_table[];
extern const size_t seer_command_table_count;

// --input-shapes of a command that works on one set of them; "" when not given. A usage error when
// it was given several times.
SEER_MUST_USE seer_status seer_cli_one_shape(const seer_context *context, const char **out_shapes);

// "a,b" -> names, in `arena`; returns how many.
uint32_t seer_cli_words(const char *text, seer_arena *arena, const char *const **out);

struct seer_network;
// What was assumed about input shapes, to stderr; what was assumed for several sets of them once.
void seer_cli_print_notices(const struct seer_network *network);

// The whole program behind main(): 0 done, 1 the input or the world was at fault, 2 wrong usage.
int seer_cli_main(int argc, char **argv);

#endif
