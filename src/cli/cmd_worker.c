// cmd_worker.c - familyseer worker: with --fleet, a worker of a fleet, until it is told to stop;
// without, the process in which candidates are built or run, which those that measure start.
#include <signal.h>

#include "cli/command.h"
#include "measure/measure.h"
#include "measure/remote/remote.h"
#include "measure/serve/serve.h"

static volatile sig_atomic_t is_stopped;

static void on_stop(int signal_number) {
  (void)signal_number;
  is_stopped = 1;
}

static seer_status run_worker(seer_context *context, int argc, char **argv) {
  bool is_of_fleet = seer_context_str(context, SEER_OPT_FLEET)[0];
  if (!is_of_fleet) {
    SEER_TRY(seer_context_find_target(context));
    return seer_worker_main(context, argc, argv);
  }
  SEER_TRY(seer_remote_find_target(context));
  if (argc > 0)
    return SEER_FAIL(INVALID, "worker --fleet takes nothing else, and got '%s'", argv[0]);
  const struct sigaction stop = {.sa_handler = on_stop};
  struct sigaction interrupt, terminate;
  sigaction(SIGINT, &stop, &interrupt);
  sigaction(SIGTERM, &stop, &terminate);
  seer_status status = seer_serve(context, &is_stopped);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGTERM, &terminate, NULL);
  return status;
}

const seer_command seer_command_worker = {
    .name = "worker",
    .args = "",
    .doc = "works for the tunings of a fleet: --fleet URL (doc/fleet.md)",
    .min_args = 0,
    .max_args = 3,
    .run = run_worker,
};
