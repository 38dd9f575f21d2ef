// resolve.c - a name is looked up on a thread of its own, as getaddrinfo has no time limit: who
// does not wait any longer leaves the thread, which then frees what it finds. What is an address
// already needs neither.

#include "base/os/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/os.h"
#include "base/os_fault.h"

#define SECOND_NS 1000000000u

typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_done, is_left;
  int error, error_of_system;
  struct addrinfo *list;
  char service[8];
  char host[];
} lookup;

static const struct addrinfo hints = {
    .ai_flags = AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

static void destroy(lookup *l) {
  if (l->list) freeaddrinfo(l->list);
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->mutex);
  free(l);
}

static void *run(void *arg) {
  lookup *l = arg;
  struct addrinfo *list = NULL;
  int error = getaddrinfo(l->host, l->service, &hints, &list);
  int error_of_system = errno;
  pthread_mutex_lock(&l->mutex);
  l->list = error ? NULL : list;
  l->error = error;
  l->error_of_system = error_of_system;
  l->is_done = true;
  bool is_left = l->is_left;
  pthread_cond_signal(&l->changed);
  pthread_mutex_unlock(&l->mutex);
  if (is_left) destroy(l);
  return NULL;
}

static seer_status create(const char *host, const char *service, lookup **out) {
  size_t n = strlen(host) + 1;
  lookup *l = calloc(1, sizeof *l + n);
  if (!l) return SEER_FAIL(RESOURCE, "%s: no memory to look it up", host);
  memcpy(l->host, host, n);
  (void)snprintf(l->service, sizeof l->service, "%s", service);
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_mutex_init(&l->mutex, NULL);
  pthread_cond_init(&l->changed, &attr);
  pthread_condattr_destroy(&attr);
  *out = l;
  return SEER_OK;
}

static seer_status start(lookup *l) {
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;  // signals go to the thread that the program began with
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle;
  int error = seer_os_fault_hits() ? EAGAIN : pthread_create(&handle, &attr, run, l);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return error ? seer_os_fail(error, "cannot look it up", l->host) : SEER_OK;
}

// True: it is done, and the caller's. False: the thread has it.
static bool wait_for(lookup *l, uint64_t until_ns) {
  const struct timespec until = {(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
  pthread_mutex_lock(&l->mutex);
  int error = 0;
  while (!l->is_done && error != ETIMEDOUT) {
    error = until_ns == UINT64_MAX ? pthread_cond_wait(&l->changed, &l->mutex)
                                   : pthread_cond_timedwait(&l->changed, &l->mutex, &until);
  }
  bool is_done = l->is_done;
  l->is_left = !is_done;
  pthread_mutex_unlock(&l->mutex);
  return is_done;
}

seer_status seer_net_resolve(
    const char *host, uint16_t port, uint64_t until_ns, struct addrinfo **out_list) {
  char service[8];
  (void)snprintf(service, sizeof service, "%u", (unsigned)port);
  struct addrinfo numeric = hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  if (getaddrinfo(host, service, &numeric, out_list) == 0) return SEER_OK;
  *out_list = NULL;
  lookup *l;
  SEER_TRY(create(host, service, &l));
  seer_status status = start(l);
  if (status) {
    destroy(l);
    return status;
  }
  if (!wait_for(l, until_ns))
    return SEER_FAIL(TIMEOUT, "%s: nobody said in time what its address is", host);
  if (l->error) {
    const char *why =
        l->error == EAI_SYSTEM ? strerror(l->error_of_system) : gai_strerror(l->error);
    status = SEER_FAIL(IO, "%s: its address is not known: %s", host, why);
  }
  *out_list = l->list;
  l->list = NULL;
  destroy(l);
  return status;
}
