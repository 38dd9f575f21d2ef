// cmd_completion.c - familyseer completion bash|zsh|fish|man [COMMAND], or `all` into a folder:
// what shells and man have of the program, from its tables.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "base/os.h"
#include "cli/command.h"
#include "cli/completion.h"

static void print_man(FILE *to, seer_arena *arena) { seer_man_program(to, arena); }

// `place`: below share/, where each shell looks.
static const struct {
  const char *name, *place;
  void (*print)(FILE *to, seer_arena *arena);
} forms[] = {
    {"bash", "bash-completion/completions/familyseer", seer_completion_bash},
    {"zsh", "zsh/site-functions/_familyseer", seer_completion_zsh},
    {"fish", "fish/vendor_completions.d/familyseer.fish", seer_completion_fish},
    {"man", "man/man1/familyseer.1", print_man},
};

static seer_status open_file(const char *folder, const char *place, seer_arena *arena, FILE **out) {
  const char *path = seer_os_path_join(arena, folder, place);
  SEER_TRY(seer_os_make_dirs(seer_os_path_dir(arena, path)));
  *out = fopen(path, "wb");
  return *out ? SEER_OK : SEER_FAIL(IO, "%s: %s", path, strerror(errno));
}

static seer_status close_file(FILE *file, const char *place) {
  bool is_lost = ferror(file) != 0;
  is_lost |= fclose(file) != 0;
  return is_lost ? SEER_FAIL(IO, "%s: cannot be written", place) : SEER_OK;
}

static seer_status write_all(const char *folder, seer_arena *arena) {
  FILE *file;
  for (size_t i = 0; i < SEER_COUNT_OF(forms); i++) {
    SEER_TRY(open_file(folder, forms[i].place, arena, &file));
    forms[i].print(file, arena);
    SEER_TRY(close_file(file, forms[i].place));
  }
  for (size_t i = 0; i < seer_command_table_count; i++) {
    const char *place =
        seer_arena_printf(arena, "man/man1/familyseer-%s.1", seer_command_table[i]->name);
    SEER_TRY(open_file(folder, place, arena, &file));
    seer_man_command(file, seer_command_table[i], arena);
    SEER_TRY(close_file(file, place));
  }
  return SEER_OK;
}

static seer_status print_page(const char *name, seer_arena *arena) {
  seer_near near = seer_near_to(name);
  for (size_t i = 0; i < seer_command_table_count; i++) {
    seer_near_offer(&near, seer_command_table[i]->name);
    if (strcmp(seer_command_table[i]->name, name) != 0) continue;
    seer_man_command(stdout, seer_command_table[i], arena);
    return SEER_OK;
  }
  return near.best ? seer_usage_error("no command '%s', did you mean '%s'?", name, near.best)
                   : seer_usage_error("no command '%s'", name);
}

static seer_status run(seer_context *context, int argc, char **argv) {
  seer_arena *arena = seer_context_arena(context);
  const char *folder = seer_context_str(context, SEER_OPT_OUTPUT);
  if (strcmp(argv[0], "all") == 0) {
    if (!folder[0]) return seer_usage_error("completion all: which folder? (-o)");
    return write_all(folder, arena);
  }
  if (argc > 1 && strcmp(argv[0], "man") == 0) return print_page(argv[1], arena);
  for (size_t i = 0; i < SEER_COUNT_OF(forms); i++) {
    if (strcmp(argv[0], forms[i].name) != 0) continue;
    forms[i].print(stdout, arena);
    return SEER_OK;
  }
  return seer_usage_error("unknown '%s'; known are bash, zsh, fish, man, all", argv[0]);
}

const seer_command seer_command_completion = {
    .name = "completion",
    .args = "bash | zsh | fish | man [COMMAND] | all -o DIR",
    .doc =
        "what a shell needs to complete commands and flags, and manual pages; all: into a folder, "
        "as "
        "`make install` does",
    .example = "  source <(familyseer completion bash)\n",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
