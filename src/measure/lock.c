// device.c - a lock on a file that all users of a machine share.
#include "measure/lock.h"

#include "base/os.h"

#define LOOK_NS 100000000u  // from one look at the lock to the next one

// The first of these in which all may make files: the same one for everybody. /run/lock and
// /dev/shm are emptied by nobody, and are no user's own as /tmp may be (PrivateTmp of systemd).
static const char *const folders[] = {"/run/lock", "/dev/shm", "/tmp"};
static const char file[] = "familyseer-cpu.lock";

static const char *find_path(const seer_context *context, seer_arena *arena) {
  const char *named = seer_context_str(context, SEER_OPT_DEVICE_LOCK);
  if (named[0]) return named;
  for (size_t i = 0; i < SEER_COUNT_OF(folders); i++)
    if (seer_os_is_shared_dir(folders[i])) return seer_os_path_join(arena, folders[i], file);
  return NULL;
}

static seer_status take_one(
    const char *path, bool is_shared, seer_measure_lock *lock, bool *out_is_held) {
  int fd;
  SEER_TRY(seer_os_try_lock(path, is_shared, &fd));
  *out_is_held = fd >= 0;
  if (fd >= 0) lock->fd[lock->n++] = fd;
  return SEER_OK;
}

// The machine, or it shared and each of `processors` (NULL: all of it). All or none: who waits
// holds nothing that another one waits for.
static seer_status take_all(
    const char *path, const cpu_set_t *processors, seer_arena *arena, seer_measure_lock *lock) {
  bool is_held;
  seer_status status = take_one(path, processors != NULL, lock, &is_held);
  for (uint32_t cpu = 0; processors && !status && is_held && cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, processors))
      status = take_one(seer_arena_printf(arena, "%s.%u", path, cpu), false, lock, &is_held);
  if (status || !is_held) seer_measure_lock_release(lock);
  return status;
}

static seer_status await(const char *path, const cpu_set_t *processors, seer_arena *arena,
    const seer_waiter *waiter, seer_measure_lock *out, bool *out_is_over) {
  for (bool is_told = false;; is_told = true) {
    SEER_TRY(take_all(path, processors, arena, out));
    if (seer_measure_lock_is_held(out)) return SEER_OK;
    if (!is_told)
      waiter->tell(waiter->user,
          processors ? "another tuner is measuring on these processors; waiting for it to end"
                     : "another tuner is measuring on this machine; waiting for it to end");
    *out_is_over = seer_waiter_is_over(waiter);
    if (*out_is_over) return SEER_OK;
    seer_os_sleep_ns(LOOK_NS);
  }
}

seer_status seer_measure_lock_take(const seer_context *context, const seer_measure_desc *measure,
    const seer_waiter *waiter, seer_measure_lock *out_lock, bool *out_is_over) {
  out_lock->n = 0;
  *out_is_over = false;
  if (!seer_measure_is_here(context, measure)) return SEER_OK;
  seer_arena *arena = seer_arena_create("device");
  const char *path = find_path(context, arena);
  const seer_device_machine here = seer_device_machine_here(0);
  const cpu_set_t *processors = seer_context_devices(context)->n > 0 ? &here.allowed : NULL;
  seer_status status = path ? await(path, processors, arena, waiter, out_lock, out_is_over)
                            : SEER_FAIL(NOT_FOUND, "no folder that all users share");
  if (status && !seer_context_is_set(context, SEER_OPT_DEVICE_LOCK)) {
    seer_log(context, "measure", 0, "%s; a second tuner on this machine would not be noticed",
        seer_status_message(status));
    seer_status_free(status);
    status = SEER_OK;
  }
  seer_arena_destroy(arena);
  return status;
}

void seer_measure_lock_release(seer_measure_lock *lock) {
  while (lock->n > 0) seer_os_close(lock->fd[--lock->n]);
}
