// watch.h - what one thread waits for at a time: the descriptors of those that it has asked
// something, and the first moment at which one of them has taken too long; or until what is not
// done is to be left (seer_measure_pace).
#ifndef SEER_MEASURE_LOCAL_WATCH_H
#define SEER_MEASURE_LOCAL_WATCH_H

#include "base/os.h"

#define SEER_WATCH_MAX 65  // builders, devices, and the caller's own work
typedef struct {
  uint32_t n;
  int fd[SEER_WATCH_MAX + 1];  // the last one's place is the wait's own
  bool is_ready[SEER_WATCH_MAX + 1];
  uint64_t until_ns;
} seer_watch;

static inline void seer_watch_begin(seer_watch *watch) {
  watch->n = 0;
  watch->until_ns = UINT64_MAX;
}
static inline void seer_watch_add(seer_watch *watch, int fd, uint64_t until_ns) {
  watch->fd[watch->n++] = fd;
  if (until_ns < watch->until_ns) watch->until_ns = until_ns;
}
// Is there anything to wait for?
static inline bool seer_watch_has_any(const seer_watch *watch) {
  bool has_any = watch->until_ns != UINT64_MAX;
  for (uint32_t k = 0; k < watch->n; k++) has_any |= watch->fd[k] >= 0;
  return has_any;
}
// leave_fd  can be read when nothing is to be waited for any more, which fails with DEVICE; 0: none
static inline seer_status seer_watch_wait(seer_watch *watch, int leave_fd) {
  uint64_t now = seer_os_now_ns(), until = watch->until_ns;
  uint64_t left = until == UINT64_MAX ? until : until > now ? until - now : 0;
  watch->fd[watch->n] = leave_fd > 0 ? leave_fd : -1;
  watch->is_ready[watch->n] = false;
  (void)seer_os_poll_in(watch->fd, watch->n + 1, left, watch->is_ready);
  if (!watch->is_ready[watch->n]) return SEER_OK;
  return SEER_FAIL(DEVICE, "what was not done was left, as it was to be");
}

#endif
