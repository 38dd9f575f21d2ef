// options.c - prints doc/options.md from the table of options.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "setup/context.h"

static const char *const type_names[SEER_OPTION_TYPE_COUNT] = {"text", "text, repeatable", "switch",
    "whole number", "number", "time", "choice", "list of choices"};

static void print_group(const char *title) {
  printf(
      "\n## %c%s\n\n| flag | variable | type | default | limits | commands | what "
      "|\n|---|---|---|---|---|---|---|\n",
      toupper((unsigned char)title[0]), title + 1);
}

int main(void) {
  printf("# Options\n\n");
  printf(
      "Generated from `src/setup/options.inc` by `make docs`. Every option is a flag "
      "(`--time-budget 5m` or\n");
  printf(
      "`--time-budget=5m`) and an environment variable (`SEER_TIME_BUDGET=5m`); the flag wins. "
      "Times are seconds,\n");
  printf(
      "or have a unit: `200ms`, `90s`, `5m`, `1h30m`. Short forms: `-o` output, `-i` input, `-O0` "
      "to `-O3`.\n"
      "A flag is for the commands that its row names (*: all); others refuse it. A variable is for "
      "all that take it.\n");
  size_t n_group = 0;
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    if (n_group < seer_option_groups_count && seer_option_groups[n_group].first == i)
      print_group(seer_option_groups[n_group++].title);
    const seer_option_desc *o = &seer_option_table[i];
    printf("| `--%s` | `SEER_", o->name);
    for (const char *c = o->name; *c; c++) putchar(*c == '-' ? '_' : toupper((unsigned char)*c));
    bool is_switch = o->type == SEER_OPTION_BOOL;
    const char *fallback = is_switch ? (o->fallback[0] == '1' ? "on" : "off") : o->fallback;
    printf("` | %s | %s | ", type_names[o->type], *fallback ? fallback : "-");
    if (o->type == SEER_OPTION_I64 || o->type == SEER_OPTION_F64 || o->type == SEER_OPTION_DURATION)
      printf("%g to %g | ", o->min, o->max);
    else
      printf("- | ");
    printf("%s | ", strcmp(o->commands, "*") == 0 ? "\\*" : o->commands);
    for (const char *c = o->doc; *c; c++) printf(*c == '|' ? "\\%c" : "%c", *c);
    printf(" |\n");
  }
  return 0;
}
