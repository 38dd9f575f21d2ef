// help.c - the tables of commands and options -> help.
#include "cli/help.h"
#include "cli/command.h"

#include <string.h>

#define INDENT 30  // of what a flag does
#define COLUMNS 100

const seer_short_flag seer_short_flags[] = {{"-o", "output"}, {"-i", "input"}, {"-O", "opt-level"}};
const size_t seer_short_flags_count = SEER_COUNT_OF(seer_short_flags);

void seer_help_print_program(FILE *to) {
  fprintf(to,
      "familyseer %s - tunes trained networks (ONNX) for this machine and writes a library that "
      "runs them\n\n"
      "usage: familyseer COMMAND [ARGUMENTS] [--OPTION VALUE]...\n\n",
      SEER_VERSION);
  for (size_t i = 0; i < seer_command_table_count; i++)
    fprintf(to, "  %-10s %s\n", seer_command_table[i]->name, seer_command_table[i]->doc);
  fprintf(to,
      "\n`familyseer COMMAND --help` shows a command and its flags, `familyseer list options` all "
      "options. Every\n"
      "option is an environment variable too: --time-budget 5m is SEER_TIME_BUDGET=5m.\n");
}

void seer_help_print_usage(FILE *to, const seer_command *command) {
  fprintf(to, "usage: familyseer %s %s\n", command->name, command->args);
}

// ---- flags

// Words of `text` up to COLUMNS, the lines behind the first one indented; `at`: the column to begin
// at.
static void print_wrapped(FILE *to, const char *text, size_t at) {
  while (*text) {
    size_t n = strcspn(text, " ");
    if (at > INDENT && at + 1 + n > COLUMNS) {
      fprintf(to, "\n%*s", INDENT, "");
      at = INDENT;
    } else if (at > INDENT) {
      fputc(' ', to);
      at++;
    }
    fwrite(text, 1, n, to);
    at += n;
    text += n + strspn(text + n, " ");
  }
  fputc('\n', to);
}

static const char *short_of(const seer_option_desc *option) {
  for (size_t i = 0; i < seer_short_flags_count; i++)
    if (strcmp(seer_short_flags[i].option, option->name) == 0) return seer_short_flags[i].flag;
  return NULL;
}

static bool has_choices(const seer_option_desc *o) {
  return o->type == SEER_OPTION_CHOICE || o->type == SEER_OPTION_WORDS;
}

// "-o, --output TEXT"
static void put_flag(seer_text *line, const seer_option_desc *o) {
  static const char *const values[SEER_OPTION_TYPE_COUNT] = {
      " TEXT", " TEXT", "", " N", " X", " TIME", "", ""};
  const char *letter = short_of(o);
  bool is_on = o->type == SEER_OPTION_BOOL && o->fallback[0] == '1';
  seer_text_printf(line, "  %s%s--%s%s%s", letter ? letter : "", letter ? ", " : "",
      is_on ? "no-" : "", o->name, values[o->type]);
  if (has_choices(o))
    seer_text_printf(line, " %.*s%s", (int)strcspn(o->doc, ":"), o->doc,
        o->type == SEER_OPTION_WORDS ? ",..." : "");
}

// "what it does (default 0, 0 to 4096)"
static void put_doc(seer_text *line, const seer_option_desc *o) {
  size_t n = has_choices(o) ? strcspn(o->doc, ":") : 0;
  const char *doc = o->doc + n + strspn(o->doc + n, ": ");
  bool is_on = o->type == SEER_OPTION_BOOL && o->fallback[0] == '1';
  bool has_limits =
      o->type == SEER_OPTION_I64 || o->type == SEER_OPTION_F64 || o->type == SEER_OPTION_DURATION;
  bool has_default = o->type != SEER_OPTION_BOOL && o->fallback[0];
  seer_text_printf(line, "%s%s", is_on ? "do not " : "", doc);
  if (o->type == SEER_OPTION_LIST) seer_text_put(line, " (may be given several times)");
  if (has_default || has_limits) seer_text_put(line, " (");
  if (has_default) seer_text_printf(line, "default %s", o->fallback);
  if (has_default && has_limits) seer_text_put(line, ", ");
  if (has_limits) seer_text_printf(line, "%g to %g", o->min, o->max);
  if (has_default || has_limits) seer_text_put(line, ")");
}

static void print_flag(FILE *to, const seer_option_desc *o, seer_arena *arena) {
  seer_text flag, doc;
  seer_text_init(&flag, arena);
  seer_text_init(&doc, arena);
  put_flag(&flag, o);
  put_doc(&doc, o);
  bool is_long = flag.n_bytes > INDENT - 2;
  fprintf(to, "%s%s%*s", flag.data, is_long ? "\n" : "",
      is_long ? INDENT : (int)(INDENT - flag.n_bytes), "");
  print_wrapped(to, doc.data, INDENT);
}

void seer_help_print_command(FILE *to, const seer_command *command) {
  seer_help_print_usage(to, command);
  fprintf(to, "%s\n\nflags:\n", command->doc);
  seer_arena *arena = seer_arena_create("help");
  for (size_t i = 0; i < SEER_OPT_COUNT; i++)
    if (seer_option_is_of(&seer_option_table[i], command->name))
      print_flag(to, &seer_option_table[i], arena);
  seer_arena_destroy(arena);
}
