// help.c - the tables of commands and options -> help.
#include "cli/help.h"
#include "base/near.h"
#include "cli/command.h"

#include <string.h>

#define FLAG_INDENT 30  // of what a flag does
#define COMMAND_INDENT 13  // of what a command does
#define COLUMNS 100

const seer_short_flag seer_short_flags[] = {{"-o", "output"}, {"-i", "input"}, {"-O", "opt-level"}};
const size_t seer_short_flags_count = SEER_COUNT_OF(seer_short_flags);

// Words of `text` up to COLUMNS, from column `indent` on, where the line is.
static void print_wrapped(FILE *to, const char *text, size_t indent) {
  for (size_t at = indent; *text;) {
    size_t n = strcspn(text, " ");
    if (at > indent && at + 1 + n > COLUMNS) {
      fprintf(to, "\n%*s", (int)indent, "");
      at = indent;
    } else if (at > indent) {
      fputc(' ', to);
      at++;
    }
    fwrite(text, 1, n, to);
    at += n;
    text += n + strspn(text + n, " ");
  }
  fputc('\n', to);
}

void seer_help_print_program(FILE *to) {
  fprintf(to,
      "familyseer %s - tunes trained networks (ONNX) for this machine and writes a library that "
      "runs them\n\n"
      "usage: familyseer COMMAND [ARGUMENTS] [--OPTION VALUE]...\n\n",
      SEER_VERSION);
  for (size_t i = 0; i < seer_command_table_count; i++) {
    const seer_command *command = seer_command_table[i];
    if (command->group) fprintf(to, "%s%s:\n", i ? "\n" : "", command->group);
    fprintf(to, "  %-*s", COMMAND_INDENT - 2, command->name);
    print_wrapped(to, command->doc, COMMAND_INDENT);
  }
  fprintf(to,
      "\nexamples:\n"
      "  familyseer tune my.onnx -o out --time-budget 2m\n"
      "  familyseer bench out/model.so\n"
      "\n`familyseer COMMAND --help` shows a command and the flags that most need, --help-all all "
      "of them. Every\n"
      "option is an environment variable too: --time-budget 5m is SEER_TIME_BUDGET=5m.\n");
}

void seer_help_print_usage(FILE *to, const seer_command *command) {
  fprintf(to, "usage: familyseer %s %s\n", command->name, command->args);
}

// ---- flags

const char *seer_help_short_of(const seer_option_desc *option) {
  for (size_t i = 0; i < seer_short_flags_count; i++)
    if (strcmp(seer_short_flags[i].option, option->name) == 0) return seer_short_flags[i].flag;
  return NULL;
}

bool seer_help_has_choices(const seer_option_desc *o) {
  return o->type == SEER_OPTION_CHOICE || o->type == SEER_OPTION_WORDS;
}

void seer_help_put_flag(seer_text *line, const seer_option_desc *o) {
  static const char *const values[SEER_OPTION_TYPE_COUNT] = {
      " TEXT", " TEXT", "", " N", " X", " TIME", "", ""};
  const char *letter = seer_help_short_of(o);
  bool is_on = o->type == SEER_OPTION_BOOL && o->fallback[0] == '1';
  seer_text_printf(line, "  %s%s--%s%s%s", letter ? letter : "", letter ? ", " : "",
      is_on ? "no-" : "", o->name, values[o->type]);
  if (seer_help_has_choices(o))
    seer_text_printf(line, " %.*s%s", (int)strcspn(o->doc, ":"), o->doc,
        o->type == SEER_OPTION_WORDS ? ",..." : "");
}

void seer_help_put_doc(seer_text *line, const seer_option_desc *o, bool is_whole) {
  size_t n = seer_help_has_choices(o) ? strcspn(o->doc, ":") : 0;
  const char *doc = o->doc + n + strspn(o->doc + n, ": ");
  bool is_on = o->type == SEER_OPTION_BOOL && o->fallback[0] == '1';
  bool has_limits =
      o->type == SEER_OPTION_I64 || o->type == SEER_OPTION_F64 || o->type == SEER_OPTION_DURATION;
  bool has_default = o->type != SEER_OPTION_BOOL && o->fallback[0];
  size_t n_doc = strlen(doc);
  for (size_t k = 0; !is_whole && k + 1 < n_doc; k++)
    if ((doc[k] == ';' || doc[k] == '.') && doc[k + 1] == ' ') n_doc = k;
  seer_text_printf(line, "%s%.*s", is_on ? "do not " : "", (int)n_doc, doc);
  if (o->type == SEER_OPTION_LIST) seer_text_put(line, " (may be given several times)");
  if (has_default || has_limits) seer_text_put(line, " (");
  if (has_default) seer_text_printf(line, "default %s", o->fallback);
  if (has_default && has_limits) seer_text_put(line, ", ");
  if (has_limits) seer_text_printf(line, "%g to %g", o->min, o->max);
  if (has_default || has_limits) seer_text_put(line, ")");
}

static void print_flag(FILE *to, const seer_option_desc *o, bool is_whole, seer_arena *arena) {
  seer_text flag, doc;
  seer_text_init(&flag, arena);
  seer_text_init(&doc, arena);
  seer_help_put_flag(&flag, o);
  seer_help_put_doc(&doc, o, is_whole);
  bool is_long = flag.n_bytes > FLAG_INDENT - 2;
  fprintf(to, "%s%s%*s", flag.data, is_long ? "\n" : "",
      is_long ? FLAG_INDENT : (int)(FLAG_INDENT - flag.n_bytes), "");
  print_wrapped(to, doc.data, FLAG_INDENT);
}

static bool is_shown(const seer_option_desc *o, const seer_command *command, bool is_whole) {
  if (!seer_option_is_of(o, command->name)) return false;
  return is_whole || !command->flags || seer_words_have(command->flags, o->name);
}

static void print_flags(FILE *to, const seer_command *command, bool is_whole, seer_arena *arena) {
  const char *title = is_whole ? NULL : "flags";
  size_t n_group = 0;
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    if (is_whole && n_group < seer_option_groups_count && seer_option_groups[n_group].first == i)
      title = seer_option_groups[n_group++].title;
    if (!is_shown(&seer_option_table[i], command, is_whole)) continue;
    if (title) fprintf(to, "\n%s:\n", title);
    title = NULL;
    print_flag(to, &seer_option_table[i], is_whole, arena);
  }
}

void seer_help_print_command(FILE *to, const seer_command *command, bool is_whole) {
  seer_help_print_usage(to, command);
  fprintf(to, "%s\n", command->doc);
  if (command->example) fprintf(to, "\nexamples:\n%s", command->example);
  seer_arena *arena = seer_arena_create("help");
  print_flags(to, command, is_whole, arena);
  uint32_t n_more = 0;
  for (size_t i = 0; i < SEER_OPT_COUNT; i++)
    n_more += is_shown(&seer_option_table[i], command, true) &&
        !is_shown(&seer_option_table[i], command, is_whole);
  if (n_more > 0)
    fprintf(to, "\n%u more, and more on these: ", n_more);
  else if (!is_whole)
    fprintf(to, "\nmore on these: ");
  if (!is_whole) fprintf(to, "`familyseer %s --help-all`\n", command->name);
  seer_arena_destroy(arena);
}
