// worker.c - which job a worker process has.
#include <stdlib.h>
#include <string.h>

#include "measure/backends.h"
#include "measure/remote/remote.h"
#include "measure/worker/worker.h"

seer_status seer_worker_main(seer_context *context, int argc, char **argv) {
  static const seer_worker_job *const jobs[] = {
      &seer_worker_builder, &seer_worker_runner, &seer_worker_device};
  bool is_caller = argc == 3 && strcmp(argv[0], "caller") == 0;
  if (is_caller) return seer_remote_call(context, argv[2], atoi(argv[1]));
  if (argc != 2)
    return SEER_FAIL(INVALID,
        "worker: expected <builder|runner|device> <socket>, or caller <socket> <address>; it is "
        "started "
        "by `tune`");
  for (size_t k = 0; k < SEER_COUNT_OF(jobs); k++)
    if (strcmp(argv[0], jobs[k]->name) == 0)
      return seer_worker_serve(context, jobs[k], atoi(argv[1]));
  return SEER_FAIL(INVALID, "worker: unknown job '%s'; allowed: builder, runner, device", argv[0]);
}
