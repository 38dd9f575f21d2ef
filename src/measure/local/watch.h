// watch.h - what one thread waits for at a time: the descriptors of those that it has asked
// something, and the first moment at which one of them has taken too long.
#ifndef SEER_MEASURE_LOCAL_WATCH_H
#define SEER_MEASURE_LOCAL_WATCH_H

#include "base/os.h"

#define SEER_WATCH_MAX 65  // builders, devices, and the caller's own work
typedef struct {
  uint32_t n;
  int fd[SEER_WATCH_MAX];
  bool is_ready[SEER_WATCH_MAX];
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
static inline void seer_watch_wait(seer_watch *watch) {
  uint64_t now = seer_os_now_ns(), until = watch->until_ns;
  uint64_t left = until == UINT64_MAX ? until : until > now ? until - now : 0;
  (void)seer_os_poll_in(watch->fd, watch->n, left, watch->is_ready);
}

#endif
