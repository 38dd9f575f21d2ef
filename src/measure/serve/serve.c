// serve.c - the life of a worker. The contract: serve.h.

#include "measure/serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/os.h"
#include "base/os_fault.h"
#include "measure/child.h"
#include "measure/lock.h"
#include "measure/serve/desk.h"

#define SLICE_NS 200000000u
#define SLICES 10  // between two looks for a broker that is not there

// host:pid:random, of characters that a place at the broker may have.
static seer_status name_worker(seer_arena *arena, const char **out) {
  char host[64] = "";
  uint32_t random;
  if (getrandom(&random, sizeof random, 0) != sizeof random)
    return SEER_FAIL(RESOURCE, "no random number from the system");
  if (gethostname(host, sizeof host - 1) != 0) (void)snprintf(host, sizeof host, "host");
  for (char *c = host; *c; c++) {
    bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
        (*c >= '0' && *c <= '9') || *c == '-' || *c == '.' || *c == '_';
    if (!is_plain) *c = '_';
  }
  *out = seer_arena_printf(arena, "%s:%d:%08x", host, (int)getpid(), random);
  return SEER_OK;
}

static seer_status describe(seer_desk *desk) {
  const seer_target *target = seer_context_target(desk->context);
  const char *measure = seer_context_str(desk->context, SEER_OPT_MEASURE);
  desk->own = seer_message_hello_here(target);
  desk->measurer = seer_arena_strndup(desk->arena, measure, strcspn(measure, ":"));
  SEER_TRY(name_worker(desk->arena, &desk->id));
  desk->letter = (seer_letter_worker){.hello = desk->own,
      .id = desk->id,
      .target = seer_target_print(target, desk->arena),
      .devices = "",
      .measurer = desk->measurer,
      .doing = ""};
  return SEER_OK;
}

// ---- work
// Is `a` to be done before `b`, which came before it? What may not be needed comes last. Of one
// tuning, tasks that were begun come to their end before others: what depends on their answers is
// on its way then while there is still something to do. Comparisons of one task are to be of
// several moments, so those of others come between them, where there are any.
static bool is_before(const seer_desk *desk, const seer_desk_job *a, const seer_desk_job *b) {
  if (a->letter.is_maybe != b->letter.is_maybe) return b->letter.is_maybe;
  if (a->session != b->session) return false;
  bool is_again = a->letter.kind == SEER_JOB_COMPARE && a->letter.task == desk->last_task,
       would_be = b->letter.kind == SEER_JOB_COMPARE && b->letter.task == desk->last_task;
  return is_again != would_be ? would_be : a->order < b->order;
}

static seer_desk_job *pick(const seer_desk *desk) {
  seer_desk_job *best = desk->waiting;
  for (seer_desk_job *job = best ? best->next : NULL; job; job = job->next)
    if (is_before(desk, job, best)) best = job;
  return best;
}

static seer_desk_job *next_job(seer_desk *desk) {
  seer_desk_lock(desk);
  if (!desk->waiting && !*desk->is_stopped) seer_desk_wait(desk, SLICE_NS);
  seer_desk_job *job = *desk->is_stopped ? NULL : pick(desk);
  if (job) {
    seer_desk_job **at = &desk->waiting;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    job->task_name = "a task";
    desk->last_task = job->letter.task;
    desk->running = job;
    pthread_cond_broadcast(&desk->changed);
  }
  seer_desk_unlock(desk);
  return job;
}

static void count(seer_desk *desk, const seer_desk_job *job, double seconds) {
  desk->letter.busy_s += seconds;
  desk->letter.n_rounds++;
  desk->letter.n_candidates += job->letter.n;
  for (uint32_t k = 0; k < desk->n_tunings; k++)
    if (desk->tuning[k].session == job->session)
      desk->tuning[k].turn += seconds / desk->tuning[k].priority;
}

// status: of the job; one that could not be done is somebody else's.
static void put_down(seer_desk *desk, seer_desk_job *job, double seconds, bool is_done) {
  seer_desk_lock(desk);
  job->done_ns = seer_os_now_ns();
  job->is_given_back = !is_done;
  if (is_done) count(desk, job, seconds);
  desk->running = NULL;
  seer_desk_append(&desk->done, job);
  pthread_cond_broadcast(&desk->changed);
  seer_desk_unlock(desk);
}

static seer_status work(seer_desk *desk, seer_work *worker) {
  seer_status status = SEER_OK;
  while (!status && !*desk->is_stopped) {
    seer_desk_job *job = next_job(desk);
    if (!job) continue;
    uint64_t start_ns = seer_os_now_ns();
    status = seer_work_do(worker, job);
    put_down(desk, job, (double)(seer_os_now_ns() - start_ns) * 1e-9, status == SEER_OK);
  }
  if (!status || !*desk->is_stopped) return status;
  seer_log(desk->context, "measure", 0, "what was in hand is given back: %s",
      seer_status_message(status));
  seer_status_free(status);  // somebody else does it
  return SEER_OK;
}

// What waits is given back.
static void close_desk(seer_desk *desk) {
  seer_desk_lock(desk);
  desk->is_closed = true;
  pthread_cond_broadcast(&desk->changed);
  seer_desk_unlock(desk);
}

static void end_desk(seer_desk *desk) {
  seer_desk_lock(desk);
  while (desk->waiting) {
    seer_desk_job *job = desk->waiting;
    desk->waiting = job->next;
    job->is_given_back = true;
    job->done_ns = seer_os_now_ns();
    seer_desk_append(&desk->done, job);
  }
  desk->is_over = true;
  pthread_cond_broadcast(&desk->changed);
  seer_desk_unlock(desk);
}

static seer_status run(seer_desk *desk, seer_work *worker) {
  seer_os_thread *looker = NULL, *taker = NULL, *poster = NULL;
  seer_status status = seer_os_thread_create(seer_post, desk, &poster);
  if (!status) status = seer_os_thread_create(seer_look, desk, &looker);
  if (!status) status = seer_os_thread_create(seer_take, desk, &taker);
  if (!status) status = work(desk, worker);
  close_desk(desk);
  if (taker) seer_os_thread_join(taker);
  if (looker) seer_os_thread_join(looker);
  end_desk(desk);
  if (poster) seer_os_thread_join(poster);
  while (desk->done) {
    seer_desk_job *job = desk->done;
    desk->done = job->next;
    seer_desk_end_job(job);
  }
  return status;
}

// ---- life
// Until the broker can be reached, or a signal: a machine that comes up may be sooner than its
// network. Errors: the broker does not let this worker in.
static seer_status find_broker(seer_desk *desk, const char **out_shown) {
  seer_hub hub;
  SEER_TRY(seer_hub_init(&hub, desk->context));
  *out_shown = seer_arena_strdup(desk->arena, hub.address.shown);
  seer_status status = seer_hub_connect(&hub);
  for (bool is_told = false; seer_hub_is_away(status) && !*desk->is_stopped; is_told = true) {
    if (!is_told)
      seer_log(desk->context, "measure", 0, "%s; it is waited for", seer_status_message(status));
    seer_status_free(status);
    for (uint32_t k = 0; k < SLICES && !*desk->is_stopped; k++) seer_os_sleep_ns(SLICE_NS);
    status = seer_hub_connect(&hub);
  }
  bool is_over = *desk->is_stopped && seer_hub_is_away(status);
  seer_hub_clear(&hub);
  if (!is_over) return status;
  seer_status_free(status);
  return SEER_OK;
}

static bool is_over(void *user) { return *((const seer_desk *)user)->is_stopped; }

static void tell(void *user, const char *text) {
  seer_log(((const seer_desk *)user)->context, "measure", 0, "%s", text);
}

// Before it has threads and workers. Letters are read by this very process, of a broker that may be
// anybody's, so it gives up what only who takes it over would need. It writes no files from here
// on. (That a filter of calls is not there, the measurer says.)
static seer_status confine(seer_desk *desk, const seer_measure_desc *measure) {
  const char *program = NULL, *why_not;
  if (!seer_context_bool(desk->context, SEER_OPT_CONFINE)) return SEER_OK;
  if (measure->is_on_device)
    SEER_TRY(seer_child_find_program(desk->context, desk->arena, &program));
  (void)seer_os_n_threads();
  SEER_TRY(seer_confine_files_of_host(program));
  return seer_confine_is_there(&why_not) ? seer_confine_calls_of_host() : SEER_OK;
}

static seer_status serve_on(seer_desk *desk, const char *broker) {
  seer_measure_choice choice;
  seer_measure_lock machine;
  const seer_waiter waiter = {is_over, tell, desk};
  bool is_stopped;
  SEER_TRY(
      seer_measure_find(seer_context_str(desk->context, SEER_OPT_MEASURE), desk->arena, &choice));
  seer_status status =
      seer_measure_lock_take(desk->context, choice.desc, &waiter, &machine, &is_stopped);
  seer_work *worker = NULL;
  if (!status && !is_stopped) status = confine(desk, choice.desc);
  if (!status && !is_stopped) status = seer_work_create(desk, &worker);
  if (!status && !is_stopped) {
    seer_os_reach("serve");
    seer_log(desk->context, "measure", 0, "worker %s serves %s", desk->id, broker);
    status = run(desk, worker);
  }
  seer_work_destroy(worker);
  seer_measure_lock_release(&machine);
  return status;
}

seer_status seer_serve(
    const seer_context *context, const volatile sig_atomic_t *is_stopped, int leave_fd) {
  seer_desk desk = {.context = context,
      .is_stopped = is_stopped,
      .leave_fd = leave_fd,
      .arena = seer_arena_create("fleet desk"),
      .start_ns = seer_os_now_ns()};
  seer_desk_init(&desk);
  const char *broker;
  seer_status status = find_broker(&desk, &broker);
  if (!status) status = describe(&desk);
  if (!status) status = serve_on(&desk, broker);
  seer_desk_clear(&desk);
  seer_arena_destroy(desk.arena);
  return status;
}
