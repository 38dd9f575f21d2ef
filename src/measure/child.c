// child.c - the life of a worker process.
// A death costs what the worker was doing, never more: who asked counts a builder's as a failure of
// the candidate and a runner's when it is the second one over the same candidate (local/queue.h),
// and the worker starts again. There is no number of deaths after which a tuning ends:
// a task of which all candidates crash is given up by the campaign after 64 of them. A worker
// counts as lost only when it cannot be started for a while, or when for a minute nothing but
// deaths comes of it.

#include "measure/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/confine.h"
#include "measure/remote/remote.h"
#include "measure/wire/socket.h"

#define SECOND_NS 1000000000u
#define HELLO_TIMEOUT_NS (20u * (uint64_t)SECOND_NS)
#define SEND_TIMEOUT_NS (20u * (uint64_t)SECOND_NS)  // a worker that waits reads at once
// A candidate that crashes costs about 0.1 s, most of it the start of the next worker: 20 deaths
// are two bad rounds, a minute of them is a machine on which nothing runs.
#define LOST_RESTARTS 20
#define LOST_NS (60u * (uint64_t)SECOND_NS)
#define RESTART_PATIENCE_NS (10u * (uint64_t)SECOND_NS)
// However long they take: a start on a busy machine may be longer than all patience, and one that
// is killed before it says hello says nothing of the device.
#define RESTART_ATTEMPTS 3
#define FIRST_PAUSE_NS (SECOND_NS / 20)
#define BURIAL_NS (SECOND_NS / 5)  // for its end to be known once its socket has ended

void seer_child_init(seer_child *child, const seer_child_home *home, const char *job,
    const char *address, const cpu_set_t *processors) {
  *child = (seer_child){
      .home = home, .job = job, .address = address, .processors = processors, .fd = -1};
}

static bool is_up(const seer_child *child) { return child->process.pid > 0; }

// ---- the end
void seer_child_bury(seer_child *child, char *out, size_t out_bytes) {
  bool is_done = false;
  int code = 0;
  seer_os_close(child->fd);
  child->fd = -1;
  if (child->process.pid > 0)
    seer_status_free(seer_os_wait(&child->process, BURIAL_NS, &is_done, &code));
  seer_os_kill(&child->process);
  if (child->knows) memset(child->knows, 0, child->cap_knows);
  if (!out_bytes) return;
  if (is_done && code == 128 + SIGSYS) {
    (void)snprintf(
        out, out_bytes, "the %s was killed for a system call that it may not make", child->job);
  } else if (is_done && code > 128) {
    (void)snprintf(out, out_bytes, "the %s was killed by signal %d", child->job, code - 128);
  } else if (is_done) {
    (void)snprintf(out, out_bytes, "the %s ended with status %d", child->job, code);
  } else {
    (void)snprintf(out, out_bytes, "the %s was ended", child->job);
  }
}

// At once, whatever it is doing.
static void kill_child(seer_child *child) {
  seer_os_kill(&child->process);
  seer_child_bury(child, NULL, 0);
}

void seer_child_clear(seer_child *child) {
  if (!child->home) return;
  kill_child(child);
  free(child->knows);
  child->knows = NULL;
  child->cap_knows = 0;
}

// ---- the start

// Drivers of devices read and write files, start compilers and open devices: whatever they do is
// theirs.
static bool may_be_confined(const seer_context *context) {
  return seer_context_bool(context, SEER_OPT_CONFINE) &&
      seer_context_target(context)->kind == SEER_TARGET_CPU;
}

void seer_child_tell_confinement(const seer_context *context) {
  const char *why_not;
  if (!seer_context_bool(context, SEER_OPT_CONFINE)) return;
  if (!may_be_confined(context)) {
    seer_log(context, "measure", 0,
        "workers are not confined: drivers of devices need files and processes (--no-confine: as "
        "intended)");
    return;
  }
  if (seer_confine_is_there(&why_not)) return;
  seer_log(
      context, "measure", 0, "workers are not confined: %s (--no-confine: as intended)", why_not);
}

seer_status seer_child_find_program(
    const seer_context *context, seer_arena *arena, const char **out) {
  const char *path = seer_context_str(context, SEER_OPT_WORKER_PATH);
  if (path[0]) {
    *out = seer_arena_strdup(arena, path);
    return SEER_OK;
  }
  bool is_library;
  SEER_TRY(seer_os_self_path(arena, out, &is_library));
  if (!is_library) return SEER_OK;
  const char *folder = seer_os_path_dir(arena, *out);
  static const char *const places[] = {"familyseer", "../bin/familyseer"};
  for (size_t i = 0; i < SEER_COUNT_OF(places); i++) {
    *out = seer_os_path_join(arena, folder, places[i]);
    if (seer_os_exists(*out) && !seer_os_is_dir(*out)) return SEER_OK;
  }
  return SEER_FAIL(NOT_FOUND,
      "no program familyseer beside the library in %s or in ../bin of it; --worker-path names one",
      folder);
}

static seer_status spawn(seer_child *child, int own_fd) {
  const seer_child_home *home = child->home;
  char fd_text[16], threads[32], pin[16], confine[16];
  (void)snprintf(fd_text, sizeof fd_text, "%d", own_fd);
  (void)snprintf(
      threads, sizeof threads, "--threads=%u", seer_context_target(home->context)->threads);
  (void)snprintf(
      pin, sizeof pin, "--pin=%d", seer_context_bool(home->context, SEER_OPT_PIN) ? 1 : 0);
  (void)snprintf(confine, sizeof confine, "--confine=%d", may_be_confined(home->context) ? 1 : 0);
  const char *device_flag = child->device_flag ? child->device_flag : home->device_flag;
  const char *argv[14] = {home->program, "worker", child->job, fd_text};
  size_t n = 4;
  if (child->address) argv[n++] = child->address;
  if (child->address) argv[n++] = home->key_flag;
  argv[n++] = home->target_flag;
  argv[n++] = threads;
  argv[n++] = pin;
  argv[n++] = confine;
  if (device_flag) argv[n++] = device_flag;
  if (home->nvrtc_flag) argv[n++] = home->nvrtc_flag;
  seer_os_spawn_options options = {.argv = argv,
      .keep_fds = &own_fd,
      .n_keep_fds = 1,
      .hidden_variable = SEER_FLEET_PASSWORD,
      .processors = child->processors};
  // CUDA's driver takes more addresses than the machine has memory, and starts with no fewer.
  if (!device_flag)
    options.max_memory_bytes =
        (uint64_t)(seer_context_f64(home->context, SEER_OPT_MAX_MEMORY) * 0x1p30);
  return seer_os_spawn(&options, &child->process);
}

static seer_status hear_hello(seer_child *child, uint64_t timeout_ns) {
  seer_arena *arena = seer_arena_create("hello");
  seer_wire_header header;
  const void *payload;
  seer_message_hello hello,
      own = seer_message_hello_here(seer_context_target(child->home->context));
  seer_status status = seer_socket_receive(child->fd, arena, timeout_ns, &header, &payload);
  if (!status && header.type == SEER_WIRE_REFUSED)
    status = seer_remote_get_refused(payload, (size_t)header.n_bytes);
  if (!status && header.type != SEER_WIRE_HELLO)
    status = SEER_FAIL(CORRUPT, "its first message is of type %d", (int)header.type);
  if (!status) status = seer_message_get_hello(payload, header.n_bytes, arena, &hello);
  if (!status) status = seer_status_context(seer_message_hello_fits(&own, &hello), "its hello");
  seer_arena_destroy(arena);
  return status;
}

// Memory and processes may be there again in a moment; a program that is missing or of another
// version stays so.
static bool may_pass(seer_status status) {
  seer_code code = seer_status_code(status);
  return code == SEER_CODE_RESOURCE || code == SEER_CODE_IO;
}

// `status` of an attempt, which is over: another one after a while, or the end.
static seer_status pause_or_end(seer_child *child, seer_status status) {
  char end[SEER_MEASURE_MESSAGE_BYTES] = "it did not start";
  if (is_up(child) && seer_status_code(status) == SEER_CODE_IO) {
    seer_child_bury(child, end, sizeof end);
  } else {
    kill_child(child);
  }
  status = seer_status_context(
      status, "starting '%s worker %s' (%s)", child->home->program, child->job, end);
  uint64_t now = seer_os_now_ns();
  bool is_patient = now - child->began_ns + child->pause_ns <= child->patience_ns ||
      (child->n_restarts > 0 && child->n_attempts < RESTART_ATTEMPTS);
  if (may_pass(status) && is_patient) {
    seer_log(child->home->context, "measure", 1, "%s; trying again", seer_status_message(status));
    seer_status_free(status);
    child->until_ns = now + child->pause_ns;
    child->pause_ns *= 2;
    return SEER_OK;
  }
  child->is_starting = false;
  if (child->n_restarts == 0) return status;
  seer_status lost = SEER_FAIL(DEVICE, "%s", seer_status_message(status));
  seer_status_free(status);
  return lost;
}

static seer_status try_once(seer_child *child) {
  int fds[2];
  child->n_attempts++;
  seer_status status = seer_os_socket_pair(fds);
  if (status) return pause_or_end(child, status);
  child->fd = fds[0];
  child->seq = 0;
  status = spawn(child, fds[1]);
  seer_os_close(fds[1]);
  child->until_ns = seer_os_now_ns() + HELLO_TIMEOUT_NS;
  return status ? pause_or_end(child, status) : SEER_OK;
}

static seer_status begin(seer_child *child, uint64_t patience_ns) {
  child->is_starting = true;
  child->began_ns = seer_os_now_ns();
  child->patience_ns = patience_ns;
  child->pause_ns = FIRST_PAUSE_NS;
  child->n_attempts = 0;
  return try_once(child);
}

void seer_child_await(const seer_child *child, int *out_fd, uint64_t *out_until_ns) {
  *out_fd = is_up(child) ? child->fd : -1;
  *out_until_ns = child->until_ns;
}

seer_status seer_child_rise(seer_child *child, bool *out_is_up) {
  *out_is_up = false;
  uint64_t now = seer_os_now_ns();
  if (!is_up(child)) return now < child->until_ns ? SEER_OK : try_once(child);
  seer_status status = hear_hello(child, child->until_ns > now ? child->until_ns - now : 0);
  if (status) return pause_or_end(child, status);
  child->is_starting = false;
  *out_is_up = true;
  return SEER_OK;
}

seer_status seer_child_start(seer_child *child, uint64_t patience_ns) {
  SEER_TRY(begin(child, patience_ns));
  for (bool is_there = false; !is_there;) {
    int fd;
    uint64_t until_ns;
    bool is_ready;
    seer_child_await(child, &fd, &until_ns);
    uint64_t now = seer_os_now_ns();
    (void)seer_os_poll_in(&fd, 1, until_ns > now ? until_ns - now : 0, &is_ready);
    SEER_TRY(seer_child_rise(child, &is_there));
  }
  return SEER_OK;
}

seer_status seer_child_restart(seer_child *child) {
  kill_child(child);
  if (child->n_restarts == 0) child->died_ns = seer_os_now_ns();
  uint64_t silent_ns = seer_os_now_ns() - child->died_ns;
  if (++child->n_restarts > LOST_RESTARTS && silent_ns > LOST_NS)
    return SEER_FAIL(DEVICE, "the %s has died %u times in %.0f s without one answer", child->job,
        child->n_restarts, (double)silent_ns / SECOND_NS);
  return begin(child, RESTART_PATIENCE_NS);
}

// ---- requests
static seer_status tell(seer_child *child, size_t index, const seer_message_task *task) {
  if (index >= child->cap_knows) {
    size_t cap = (index + 64) * 2;
    uint8_t *grown = realloc(child->knows, cap);
    if (!grown) return SEER_FAIL(RESOURCE, "no memory for %zu tasks", cap);
    memset(grown + child->cap_knows, 0, cap - child->cap_knows);
    child->knows = grown;
    child->cap_knows = cap;
  }
  if (child->knows[index]) return SEER_OK;
  seer_arena *arena = seer_arena_create("task message");
  seer_text text;
  seer_text_init(&text, arena);
  seer_message_put_task(&text, task);
  seer_status status = seer_socket_send(child->fd, SEER_WIRE_TASK, 0, &text, SEND_TIMEOUT_NS);
  seer_arena_destroy(arena);
  child->knows[index] = status == SEER_OK;
  return status;
}

seer_status seer_child_ask(seer_child *child, size_t index, const seer_message_task *task,
    seer_wire_type type, const seer_text *message) {
  SEER_TRY(tell(child, index, task));
  child->has_begun = false;
  return seer_socket_send(child->fd, type, ++child->seq, message, SEND_TIMEOUT_NS);
}

seer_status seer_child_hear(seer_child *child, seer_wire_type type, seer_arena *arena,
    uint64_t timeout_ns, bool *out_has_begun, const void **out_payload, size_t *out_n) {
  seer_wire_header header;
  *out_n = 0;
  SEER_TRY(seer_socket_receive(child->fd, arena, timeout_ns, &header, out_payload));
  *out_has_begun = header.type == SEER_WIRE_BEGUN && !child->has_begun;
  if ((!*out_has_begun && (int)header.type != (int)type + 1) || header.seq != child->seq)
    return SEER_FAIL(CORRUPT, "answer of type %d to request %u, expected type %d to request %u",
        (int)header.type, header.seq, (int)type + 1, child->seq);
  child->has_begun = child->has_begun || *out_has_begun;
  *out_n = (size_t)header.n_bytes;
  child->n_restarts = 0;
  return SEER_OK;
}
