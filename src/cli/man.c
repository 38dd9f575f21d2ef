// man.c - manual pages in roff: what --help-all says, with all that is documented.
#include <string.h>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/help.h"

// Text as roff has it: a backslash and a leading dot or quote mean something, a "-" is a dash.
static void put_roff(FILE *to, const char *text) {
  bool is_first = true;
  for (const char *c = text; *c; c++) {
    if (is_first && (*c == '.' || *c == '\'')) fputs("\\&", to);
    if (*c == '\\')
      fputs("\\e", to);
    else if (*c == '-')
      fputs("\\-", to);
    else
      fputc(*c, to);
    is_first = *c == '\n';
  }
}

static void put_title(FILE *to, const char *name, const char *doc) {
  fprintf(to, ".TH %s 1 \"\" \"familyseer %s\"\n.SH NAME\n", name, SEER_VERSION);
  put_roff(to, name);
  fputs(" \\- ", to);
  put_roff(to, doc);
  fputs("\n", to);
}

static void put_option(FILE *to, const seer_option_desc *o, seer_arena *arena) {
  seer_text flag, doc;
  seer_text_init(&flag, arena);
  seer_text_init(&doc, arena);
  seer_help_put_flag(&flag, o);
  seer_help_put_doc(&doc, o, true);
  fputs(".TP\n.B ", to);
  put_roff(to, flag.data + strspn(flag.data, " "));
  fputs("\n", to);
  put_roff(to, doc.data);
  fputs("\n", to);
}

static void put_options(FILE *to, const seer_command *command, seer_arena *arena) {
  const char *title = NULL;
  size_t n_group = 0;
  fputs(".SH OPTIONS\n", to);
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    if (n_group < seer_option_groups_count && seer_option_groups[n_group].first == i)
      title = seer_option_groups[n_group++].title;
    if (!seer_option_is_of(&seer_option_table[i], command->name)) continue;
    if (title) {
      fputs(".SS ", to);
      put_roff(to, title);
      fputs("\n", to);
    }
    title = NULL;
    put_option(to, &seer_option_table[i], arena);
  }
}

// Lines as they stand.
static void put_example(FILE *to, const char *text) {
  fputs(".SH EXAMPLES\n.nf\n", to);
  put_roff(to, text);
  fputs(".fi\n", to);
}

void seer_man_command(FILE *to, const seer_command *command, seer_arena *arena) {
  put_title(to, seer_arena_printf(arena, "familyseer-%s", command->name), command->doc);
  fprintf(to, ".SH SYNOPSIS\n.B familyseer %s\n", command->name);
  put_roff(to, command->args);
  fputs("\n", to);
  put_options(to, command, arena);
  fputs(".SH ENVIRONMENT\nEach option is a variable, too: ", to);
  put_roff(to, "--time-budget 5m is SEER_TIME_BUDGET=5m. The flag wins.\n");
  if (command->example) put_example(to, command->example);
  fputs(".SH EXIT STATUS\n0: done. 1: the input or the world was at fault. 2: wrong usage.\n", to);
  fputs(".SH SEE ALSO\n.BR familyseer (1)\n", to);
}

void seer_man_program(FILE *to, seer_arena *arena) {
  put_title(to, "familyseer",
      "tunes trained networks (ONNX) for this machine and writes a library that runs them");
  fputs(".SH SYNOPSIS\n.B familyseer\nCOMMAND [ARGUMENTS] [", to);
  put_roff(to, "--OPTION VALUE]...\n");
  fputs(".SH COMMANDS\n", to);
  for (size_t i = 0; i < seer_command_table_count; i++) {
    const seer_command *command = seer_command_table[i];
    if (command->group) {
      fputs(".SS ", to);
      put_roff(to, command->group);
      fputs("\n", to);
    }
    fputs(".TP\n.BR familyseer\\-", to);
    put_roff(to, seer_arena_printf(arena, "%s (1)\n", command->name));
    put_roff(to, command->doc);
    fputs("\n", to);
  }
  put_example(to,
      "  familyseer tune my.onnx -o out --time-budget 2m\n"
      "  familyseer bench out/model.so\n");
}
