// cli.c - from the command line to a command and an exit status.
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "base/os.h"
#include "base/recover.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/help.h"
#include "code/gpu/here.h"
#include "front/front.h"

uint32_t seer_cli_words(const char *text, seer_arena *arena, const char *const **out) {
  uint32_t n = 0;
  size_t cap = 0;
  const char **names = NULL;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, ",");
    names = SEER_GROW(arena, const char *, names, n, &cap);
    if (length > 0) names[n++] = seer_arena_strndup(arena, at, length);
    at += length + (at[length] == ',');
  }
  *out = names;
  return n;
}

seer_status seer_cli_one_shape(const seer_context *context, const char **out_shapes) {
  size_t n = seer_context_n_values(context, SEER_OPT_INPUT_SHAPES);
  *out_shapes = n > 0 ? seer_context_value(context, SEER_OPT_INPUT_SHAPES, 0) : "";
  if (n <= 1) return SEER_OK;
  return seer_usage_error("--input-shapes is given %zu times; this command takes one set", n);
}

void seer_cli_print_notices(const seer_network *network) {
  for (uint32_t s = 0; s < network->n_set; s++) {
    const char *notice = seer_network_notice(network, s);
    if (!*notice) continue;
    char safe[SEER_TEXT_SAFE_LINE_BYTES];
    seer_text_safe_copy(safe, sizeof safe, notice, strlen(notice), SEER_TEXT_ONE_LINE);
    fprintf(stderr, "%s\n", safe);
  }
}

// ---- flags

// Splits argv[at] into option and value. *out_option NULL: positional. *out_n: arguments used.
static seer_status split_flag(int argc, char **argv, int at, seer_arena *arena,
    const char **out_option, const char **out_value, int *out_n) {
  const char *arg = argv[at];
  const char *value = NULL;
  *out_option = NULL;
  *out_n = 1;
  if (arg[0] != '-' || arg[1] == '\0') return SEER_OK;
  if (arg[1] != '-') {
    for (size_t i = 0; i < seer_short_flags_count; i++) {
      if (strncmp(arg, seer_short_flags[i].flag, 2) != 0) continue;
      *out_option = seer_short_flags[i].option;
      if (arg[2]) value = arg[2] == '=' ? arg + 3 : arg + 2;
      break;
    }
    if (!*out_option) return seer_usage_error("unknown flag '%s'; short ones are -o -i -O", arg);
  } else {
    size_t n = strcspn(arg, "=");
    const char *name = seer_arena_strndup(arena, arg + 2, n - 2);
    if (arg[n] == '=') value = arg + n + 1;
    bool takes_value;
    if (!seer_context_has_option(name, &takes_value)) {
      // A switch that is on by default is turned off by --no-<switch>.
      bool is_off = strncmp(name, "no-", 3) == 0 &&
          seer_context_has_option(name + 3, &takes_value) && !takes_value;
      if (is_off && !value) {
        *out_option = name + 3;
        *out_value = "0";
        return SEER_OK;
      }
      const char *near = seer_option_nearest(name);
      return near
          ? seer_usage_error("unknown flag '--%s', did you mean '--%s'?", name, near)
          : seer_usage_error("unknown flag '--%s'; `familyseer list options` names all", name);
    }
    *out_option = name;
    if (!takes_value && !value) value = "1";
  }
  if (!value) {
    if (at + 1 >= argc) return seer_usage_error("flag '%s' needs a value", arg);
    value = argv[at + 1];
    *out_n = 2;
  }
  *out_value = value;
  return SEER_OK;
}

// A flag that the command does not take would be believed to have done something.
static seer_status check_taken(const seer_command *command, const char *option) {
  const seer_option_desc *desc = seer_option_find(option);
  if (!command || !desc || seer_option_is_of(desc, command->name)) return SEER_OK;
  return seer_usage_error(
      "%s takes no --%s; it is a flag of: %s", command->name, desc->name, desc->commands);
}

// Sorts flags from positional arguments: sets options in `context`, moves the rest to argv[0 ..
// *io_argc). A flag that `command` does not take is refused (NULL: all are taken).
// --name value, --name=value, --switch, --no-switch, -o, -i, -O0 .. -O3; everything behind -- is
// positional. Failures are usage errors.
static seer_status parse_flags(
    seer_context *context, const seer_command *command, int *io_argc, char **argv) {
  int n = 0;
  bool only_positional = false;
  for (int at = 0; at < *io_argc;) {
    if (!only_positional && strcmp(argv[at], "--") == 0) {
      only_positional = true;
      at++;
      continue;
    }
    const char *option = NULL, *value = NULL;
    int n_used = 1;
    if (!only_positional)
      SEER_TRY(
          split_flag(*io_argc, argv, at, seer_context_arena(context), &option, &value, &n_used));
    if (option) {
      SEER_TRY(check_taken(command, option));
      seer_status status = seer_context_set(context, option, value);
      if (status) {
        seer_status usage = seer_usage_error("%s", seer_status_message(status));
        seer_status_free(status);
        return usage;
      }
    } else {
      argv[n++] = argv[at];
    }
    at += n_used;
  }
  *io_argc = n;
  argv[n] = NULL;
  return SEER_OK;
}

// ---- help

static const seer_command *find_command(const char *name) {
  for (size_t i = 0; i < seer_command_table_count; i++) {
    if (strcmp(seer_command_table[i]->name, name) == 0) return seer_command_table[i];
  }
  return NULL;
}

// Whether the arguments ask for a command's help; *out_is_whole: for all of it.
static bool wants_help(int argc, char **argv, bool *out_is_whole) {
  bool wants = false;
  *out_is_whole = false;
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    *out_is_whole |= strcmp(argv[i], "--help-all") == 0;
    wants |= *out_is_whole || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
  }
  return wants;
}

static void refuse_command(const char *name) {
  char safe[SEER_TEXT_SAFE_BYTES];
  seer_text_safe_copy(safe, sizeof safe, name, strlen(name), SEER_TEXT_ONE_LINE);
  seer_near near = seer_near_to(name);
  for (size_t i = 0; i < seer_command_table_count; i++)
    seer_near_offer(&near, seer_command_table[i]->name);
  fprintf(stderr, "familyseer: unknown command '%s'", safe);
  if (near.best)
    fprintf(stderr, ", did you mean '%s'?\n", near.best);
  else
    fprintf(stderr, "; `familyseer --help` shows those that there are\n");
}

// ---- running

static void log_options(seer_context *context) {
  seer_text names;
  seer_text_init(&names, seer_context_arena(context));
  for (seer_option o = 0; o < SEER_OPT_COUNT; o++)
    if (seer_context_was_read(context, o))
      seer_text_printf(&names, " %s", seer_option_table[o].name);
  seer_log(context, "options", 1, "read:%s", names.n_bytes ? names.data : "");
}

typedef struct {
  const seer_command *command;
  seer_context *context;
  int argc;
  char **argv;
} invocation;

static seer_status make_context(void *user) {
  invocation *i = user;
  SEER_TRY(seer_context_create(&i->context));
  seer_context_restrict(i->context, i->command->name);
  return SEER_OK;
}

static seer_status parse_and_run(void *user) {
  invocation *i = user;
  const seer_command *command = i->command;
  SEER_TRY(parse_flags(i->context, command, &i->argc, i->argv));
  if (i->argc < command->min_args) return seer_usage_error("an argument is missing");
  if (command->max_args >= 0 && i->argc > command->max_args)
    return seer_usage_error("'%s' is one argument too many", i->argv[command->max_args]);
  const seer_option_desc *target = &seer_option_table[SEER_OPT_TARGET];
  bool takes_target = seer_option_is_of(target, command->name);
  // `devices` only shows them.
  bool times = seer_option_is_of(&seer_option_table[SEER_OPT_MEASURE], command->name) &&
      seer_option_is_of(&seer_option_table[SEER_OPT_DEVICES], command->name);
  if (takes_target) SEER_TRY(seer_gpu_find_here(i->context, times));
  if (takes_target && !command->takes_gpus) SEER_TRY(seer_context_check_target(i->context));
  return command->run(i->context, i->argc, i->argv);
}

static seer_status run_command(const seer_command *command, int argc, char **argv) {
  invocation i = {command, NULL, argc, argv};
  seer_os_held_signal held;
  SEER_TRY(seer_recover(make_context, &i));
  if (command->outlives_readers) seer_os_hold_sigpipe(&held);
  seer_status status = seer_recover(parse_and_run, &i);
  if (seer_log_on(i.context, "options", 1)) log_options(i.context);
  // A failed write may have emptied the buffer: then there is nothing left for fflush to fail on.
  bool is_lost = fflush(stdout) != 0 || ferror(stdout);
  if (!status && is_lost) status = SEER_FAIL(IO, "cannot write to standard output");
  if (command->outlives_readers) seer_os_release_sigpipe(&held);
  seer_context_destroy(i.context);
  return status;
}

int seer_cli_main(int argc, char **argv) {
  if (argc < 2) {
    seer_help_print_program(stderr);
    return 2;
  }
  const char *name = argv[1];
  if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
    printf("familyseer %s\n", SEER_VERSION);
    return 0;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    const seer_command *about = argc > 2 ? find_command(argv[2]) : NULL;
    if (argc > 2 && !about) {
      refuse_command(argv[2]);
      return 2;
    }
    if (about)
      seer_help_print_command(stdout, about, false);
    else
      seer_help_print_program(stdout);
    return 0;
  }
  const seer_command *command = find_command(name);
  if (!command) {
    refuse_command(name);
    return 2;
  }
  bool is_whole;
  if (wants_help(argc - 2, argv + 2, &is_whole)) {
    seer_help_print_command(stdout, command, is_whole);
    return 0;
  }
  seer_status status = run_command(command, argc - 2, argv + 2);
  if (!status) return 0;
  const char *message = seer_status_message(status);
  bool is_usage;
  const char *text = seer_usage_text(message, &is_usage);
  fprintf(stderr, "familyseer %s: %s\n", name, text);
  if (is_usage) seer_help_print_usage(stderr, command);
  seer_status_free(status);
  return is_usage ? 2 : 1;
}
