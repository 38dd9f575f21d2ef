// cmd_worker.c - familyseer worker: with --fleet, a worker of a fleet, until it is told to stop;
// without, the process in which candidates are built or run, which those that measure start.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/command.h"
#include "measure/measure.h"
#include "measure/remote/remote.h"
#include "measure/serve/serve.h"

// Told to end, a worker has --grace for what it has in hand: an alarm says when that is over, as
// its first thread waits for devices meanwhile, and signals go to no other.
static volatile sig_atomic_t is_stopped;
static unsigned grace_s;
static int leave_fds[2];

static void on_alarm(int signal_number) {
  (void)signal_number;
  int kept = errno;
  if (write(leave_fds[1], "x", 1) != 1) is_stopped = 1;  // it is
  errno = kept;
}

static void on_stop(int signal_number) {
  bool is_first = !is_stopped;
  is_stopped = 1;
  if (is_first && grace_s > 0) (void)alarm(grace_s);
  if (is_first && grace_s == 0) on_alarm(signal_number);
}

static seer_status serve(seer_context *context) {
  static const int signals[] = {SIGINT, SIGTERM, SIGALRM};
  struct sigaction before[SEER_COUNT_OF(signals)];
  SEER_TRY(seer_os_pipe(leave_fds));
  grace_s = (unsigned)ceil(seer_context_f64(context, SEER_OPT_GRACE));
  for (size_t i = 0; i < SEER_COUNT_OF(signals); i++) {
    const struct sigaction action = {.sa_handler = signals[i] == SIGALRM ? on_alarm : on_stop};
    sigaction(signals[i], &action, &before[i]);
  }
  seer_status status = seer_serve(context, &is_stopped, leave_fds[0]);
  (void)alarm(0);
  for (size_t i = 0; i < SEER_COUNT_OF(signals); i++) sigaction(signals[i], &before[i], NULL);
  for (int i = 0; i < 2; i++) seer_os_close(leave_fds[i]);
  return status;
}

static seer_status run_worker(seer_context *context, int argc, char **argv) {
  // Those that a worker of a fleet starts have its environment, SEER_FLEET in it too.
  bool is_of_fleet = seer_context_str(context, SEER_OPT_FLEET)[0] && argc == 0;
  if (is_of_fleet) {
    SEER_TRY(seer_remote_find_target(context));
    SEER_TRY(seer_target_check_cpu(seer_context_target(context)));
    return serve(context);
  }
  SEER_TRY(seer_context_find_any_target(context));
  return seer_worker_main(context, argc, argv);
}

const seer_command seer_command_worker = {
    .name = "worker",
    .args = "",
    .doc = "works for the tunings of a fleet: --fleet URL (doc/fleet.md)",
    .group = "several machines",
    .min_args = 0,
    .max_args = 3,
    .takes_gpus = true,
    .run = run_worker,
};
