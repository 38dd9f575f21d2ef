// os_poll.c - waiting for several descriptors at once.

#include <errno.h>
#include <poll.h>

#include "base/os.h"

#define MAX_FDS 64

bool seer_os_poll_in(const int *fds, size_t n, uint64_t timeout_ns, bool *out_ready) {
  SEER_ASSERT(n <= MAX_FDS, "%zu descriptors, at most %d", n, MAX_FDS);
  struct pollfd wait[MAX_FDS];
  for (size_t i = 0; i < n; i++) wait[i] = (struct pollfd){fds[i], POLLIN, 0};
  uint64_t end = timeout_ns == UINT64_MAX ? UINT64_MAX : seer_os_now_ns() + timeout_ns;
  int count = 0;
  for (;;) {
    uint64_t now = seer_os_now_ns();
    int ms = end == UINT64_MAX ? -1 : now >= end ? 0 : (int)((end - now) / 1000000 + 1);
    count = poll(wait, n, ms);
    if (count != -1 || errno != EINTR) break;
  }
  for (size_t i = 0; i < n; i++) out_ready[i] = count > 0 && wait[i].revents != 0;
  return count > 0;
}
