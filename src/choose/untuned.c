// untuned.c - a search for each task (search/unmeasured.h), tasks side by side.
#include "choose/untuned.h"

#include <stdlib.h>

#include "base/os/parallel.h"
#include "base/recover.h"
#include "learn/pretrained.h"

// What more drafts gain, and what ends a search early: doc/decisions, 57.
#define STALE_DRAFTS 4096

typedef struct {
  const seer_untuned_how *how;
  uint32_t n_threads;  // of one search
  seer_untuned_task *tasks;
  seer_status *status;  // by task
} job;

typedef struct {
  const job *job;
  seer_untuned_task *task;
} part;

static seer_status choose(void *user) {
  const part *p = user;
  seer_unmeasured_options options = {.sketches = p->task->sketches,
      .target = p->job->how->target,
      .task = p->task->task,
      .seed = p->job->how->seed,
      .n_drafts = p->job->how->n_drafts,
      .n_stale = STALE_DRAFTS,
      .n_threads = p->job->n_threads,
      .max_packed_bytes = p->task->max_packed_bytes,
      .bank = p->job->how->bank};
  seer_unmeasured found;
  SEER_TRY(seer_unmeasured_find(&options, &found));
  p->task->schedule = found.schedule;
  p->task->seconds = found.estimate_s;
  return SEER_OK;
}

static void choose_part(void *user, uint32_t k, uint32_t thread) {
  (void)thread;
  const job *j = user;
  part p = {j, &j->tasks[k]};
  const bool is_stopped = j->how->stop && *j->how->stop;
  j->status[k] = is_stopped ? SEER_FAIL(STOPPED, "stopped") : seer_recover(choose, &p);
}

seer_status seer_untuned_choose(const seer_untuned_how *how, seer_untuned_task *tasks, uint32_t n) {
  // A single task's drafts are made side by side, else tasks are: no threads are started then for
  // each batch.
  job j = {how, n > 1 ? 1 : how->n_threads, tasks, calloc(n + 1, sizeof(seer_status))};
  if (!j.status) return SEER_FAIL(RESOURCE, "no memory for %u tasks", n);
  seer_parallel(how->n_threads, n, choose_part, &j);
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k < n; k++) status = seer_status_join(status, j.status[k]);
  free(j.status);
  return status;
}

seer_status seer_untuned_bank(const seer_context *context, uint32_t n_task, seer_bank **out_bank) {
  *out_bank = NULL;
  const char *path = seer_context_str(context, SEER_OPT_PRETRAINED);
  if (seer_context_bool(context, SEER_OPT_NO_PRETRAINED)) return SEER_OK;
  seer_bank *bank;
  bool has;
  SEER_TRY(seer_pretrained_create(n_task, &bank));
  seer_status status = seer_pretrained_load(seer_context_target(context), path, bank, &has);
  if (!status && has)
    *out_bank = bank;
  else
    seer_bank_destroy(bank);
  return status;
}
