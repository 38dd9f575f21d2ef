// cmd_worker.c - familyseer worker: the process in which candidates are built or run. Started by
// `tune`.
#include "cli/command.h"
#include "measure/measure.h"

static seer_status run_worker(seer_context *context, int argc, char **argv) {
  SEER_TRY(seer_context_find_target(context));
  return seer_worker_main(context, argc, argv);
}

const seer_command seer_command_worker = {
    .name = "worker",
    .args = "builder|runner SOCKET",
    .doc = "builds or runs candidates for `tune`, which starts it",
    .min_args = 2,
    .max_args = 2,
    .run = run_worker,
};
