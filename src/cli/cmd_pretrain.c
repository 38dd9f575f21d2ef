// cmd_pretrain.c - familyseer pretrain: what was measured of other networks -> cost models to begin
// with.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "learn/pretrained.h"
#include "study/pretrain.h"

// -o FOLDER: its file is named by the machine's class, as the program's own are.
static seer_status file_of(const seer_context *context, seer_arena *arena, const char **out_path) {
  const char *output = seer_context_str(context, SEER_OPT_OUTPUT), *dot = strrchr(output, '.');
  if (!output[0]) return seer_usage_error("pretrain: -o FOLDER is missing");
  *out_path = output;
  if (dot && strcmp(dot, ".bank") == 0) return SEER_OK;
  seer_machine_class class = seer_machine_class_of(seer_context_target(context));
  *out_path = seer_arena_printf(arena, "%s/%s.bank", output, class.text);
  return seer_os_make_dirs(output);
}

static seer_status run(seer_context *context, int argc, char **argv) {
  seer_arena *arena = seer_context_arena(context);
  SEER_TRY(seer_context_find_target(context));
  seer_pretrain_options options = {.paths = (const char *const *)argv, .n_path = (uint32_t)argc};
  options.n_left_out =
      seer_cli_words(seer_context_str(context, SEER_OPT_LEAVE_OUT), arena, &options.left_out);
  SEER_TRY(file_of(context, arena, &options.path));
  SEER_TRY(seer_os_check_writable(options.path));
  seer_pretrain_counts counts;
  SEER_TRY(seer_pretrain(context, &options, &counts));
  printf("%s: %u schedules of %u tasks", options.path, counts.n_sample, counts.n_task);
  if (counts.n_unusable > 0) printf("; %u of no form that is known today", counts.n_unusable);
  if (counts.n_foreign > 0) printf("; %u tables of other machines left out", counts.n_foreign);
  printf("\n");
  return SEER_OK;
}

const seer_command seer_command_pretrain = {
    .name = "pretrain",
    .args = "FILE... -o FOLDER [--leave-out a,b]",
    .doc = "files of records and tables of times -> cost models that other networks begin with",
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
