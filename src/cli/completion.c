// completion.c - a function for each shell that knows the commands, the flags that each takes, and
// the words that a flag may have. Where a network is wanted, built-in ones are offered beside
// files.
#include "cli/completion.h"

#include <string.h>

#include "base/text.h"
#include "cli/help.h"
#include "models/models.h"

// "--time-budget"; a switch that is on is turned off, "--no-pin".
static const char *flag_of(const seer_option_desc *o, seer_arena *arena) {
  bool is_on = o->type == SEER_OPTION_BOOL && o->fallback[0] == '1';
  return seer_arena_printf(arena, "--%s%s", is_on ? "no-" : "", o->name);
}

static bool takes_network(const seer_command *command) {
  return strncmp(command->args, "MODEL ", 6) == 0;
}

// Of "quick|normal|thorough: how long"; a CHOICE's or WORDS' documentation begins with them.
static const char *words_of(const seer_option_desc *o, seer_arena *arena) {
  if (!seer_help_has_choices(o)) return "";
  char *words = seer_arena_strndup(arena, o->doc, strcspn(o->doc, ":"));
  for (char *c = words; *c; c++)
    if (*c == '|') *c = ' ';
  return words;
}

// A file's name, or what only the user knows; shells offer files then.
static bool takes_value(const seer_option_desc *o) { return o->type != SEER_OPTION_BOOL; }

// ---- bash

static void bash_words(FILE *to, seer_arena *arena) {
  fprintf(to, "  case $prev in\n");
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    const char *words = words_of(&seer_option_table[i], arena);
    if (*words) fprintf(to, "    --%s) words='%s' ;;\n", seer_option_table[i].name, words);
  }
  fprintf(to, "    -*) files=1 ;;\n  esac\n");
}

static void bash_command(FILE *to, const seer_command *command, seer_arena *arena) {
  fprintf(to, "    %s)\n      flags='--help --help-all", command->name);
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    const seer_option_desc *o = &seer_option_table[i];
    if (!seer_option_is_of(o, command->name)) continue;
    fprintf(to, " %s", flag_of(o, arena));
    const char *letter = seer_help_short_of(o);
    if (letter) fprintf(to, " %s", letter);
  }
  fprintf(to, "'\n");
  if (takes_network(command)) fprintf(to, "      words=$networks\n");
  fprintf(to, "      ;;\n");
}

// Behind --flag= bash's words are the flag, "=" and what follows.
static const char bash_head[] =
    "# Completion for bash, made by `familyseer completion bash`.\n"
    "_familyseer() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flags= words= "
    "files=\n"
    "  COMPREPLY=()\n"
    "  if [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
    "  if [ \"$cur\" = = ]; then cur=; fi\n";
static const char bash_tail[] =
    "  esac\n"
    "  case $cur in\n"
    "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
    "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n"
    "  esac\n"
    "}\n"
    "complete -o filenames -F _familyseer familyseer\n";

void seer_completion_bash(FILE *to, seer_arena *arena) {
  fprintf(to, "%s  local networks='", bash_head);
  for (size_t i = 0; i < seer_model_table_count; i++)
    fprintf(to, "%s%s", i ? " " : "", seer_model_table[i]->name);
  fprintf(to, "'\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '");
  for (size_t i = 0; i < seer_command_table_count; i++)
    fprintf(to, "%s ", seer_command_table[i]->name);
  fprintf(to, "help version' -- \"$cur\"))\n    return\n  fi\n");
  bash_words(to, arena);
  fprintf(to,
      "  if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return; fi\n"
      "  case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; i < seer_command_table_count; i++)
    bash_command(to, seer_command_table[i], arena);
  fputs(bash_tail, to);
}

// ---- zsh and fish: with what each flag does

// The first sentence, without what would end the quotes that it stands in.
static const char *doc_of(const seer_option_desc *o, const char *escaped, seer_arena *arena) {
  seer_text doc, out;
  seer_text_init(&doc, arena);
  seer_text_init(&out, arena);
  seer_help_put_doc(&doc, o, false);
  for (const char *c = doc.data; *c; c++) {
    if (*c == '\'') {
      seer_text_put(&out, "'\\''");
      continue;
    }
    if (strchr(escaped, *c)) seer_text_put(&out, "\\");
    seer_text_put_n(&out, c, 1);
  }
  return out.n_bytes ? out.data : "";
}

static void zsh_command(FILE *to, const seer_command *command, seer_arena *arena) {
  fprintf(to, "    %s)\n      _arguments \\\n        '--help[the flags that most need]' \\\n",
      command->name);
  fprintf(to, "        '--help-all[all flags]' \\\n");
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    const seer_option_desc *o = &seer_option_table[i];
    if (!seer_option_is_of(o, command->name)) continue;
    const char *words = words_of(o, arena), *doc = doc_of(o, "[]:\\", arena);
    const char *letter = seer_help_short_of(o);
    const char *names[2] = {flag_of(o, arena), letter};
    for (int k = 0; k < 2 && names[k]; k++) {
      fprintf(to, "        '%s%s%s[%s]", o->type == SEER_OPTION_LIST ? "*" : "", names[k],
          !takes_value(o) ? ""
              : k == 0    ? "="
                          : "+",
          doc);
      if (*words)
        fprintf(to, ":%s:(%s)", o->name, words);
      else if (takes_value(o))
        fprintf(to, ":%s:_files", o->name);
      fprintf(to, "' \\\n");
    }
  }
  fprintf(to, "        '*:argument:%s'\n      ;;\n",
      takes_network(command) ? "_familyseer_networks" : "_files");
}

void seer_completion_zsh(FILE *to, seer_arena *arena) {
  fprintf(to,
      "#compdef familyseer\n# Completion for zsh, made by `familyseer completion zsh`.\n"
      "_familyseer_networks() {\n  _files\n  compadd --");
  for (size_t i = 0; i < seer_model_table_count; i++) fprintf(to, " %s", seer_model_table[i]->name);
  fprintf(to, "\n}\n_familyseer() {\n  if (( CURRENT == 2 )); then\n    compadd -- ");
  for (size_t i = 0; i < seer_command_table_count; i++)
    fprintf(to, "%s ", seer_command_table[i]->name);
  fprintf(to,
      "help version\n    return\n  fi\n  local name=${words[2]}\n  shift words\n"
      "  (( CURRENT-- ))\n  case $name in\n");
  for (size_t i = 0; i < seer_command_table_count; i++)
    zsh_command(to, seer_command_table[i], arena);
  fprintf(to, "  esac\n}\n_familyseer \"$@\"\n");
}

void seer_completion_fish(FILE *to, seer_arena *arena) {
  fprintf(to, "# Completion for fish, made by `familyseer completion fish`.\n");
  for (size_t i = 0; i < seer_command_table_count; i++)
    fprintf(
        to, "complete -c familyseer -n __fish_use_subcommand -a %s\n", seer_command_table[i]->name);
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    const seer_option_desc *o = &seer_option_table[i];
    const char *letter = seer_help_short_of(o), *words = words_of(o, arena);
    bool is_all = strcmp(o->commands, "*") == 0;
    fprintf(to, "complete -c familyseer ");
    if (!is_all) fprintf(to, "-n '__fish_seen_subcommand_from %s' ", o->commands);
    fprintf(to, "-l %s", flag_of(o, arena) + 2);
    if (letter) fprintf(to, " -s %s", letter + 1);
    if (takes_value(o)) fprintf(to, " -r");
    if (*words) fprintf(to, " -f -a '%s'", words);
    fprintf(to, " -d '%s'\n", doc_of(o, "\\", arena));
  }
  fprintf(to, "complete -c familyseer -n '__fish_seen_subcommand_from");
  for (size_t i = 0; i < seer_command_table_count; i++)
    if (takes_network(seer_command_table[i])) fprintf(to, " %s", seer_command_table[i]->name);
  fprintf(to, "' -a '");
  for (size_t i = 0; i < seer_model_table_count; i++)
    fprintf(to, "%s%s", i ? " " : "", seer_model_table[i]->name);
  fprintf(to, "'\n");
}
