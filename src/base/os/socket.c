// socket.c - sockets between two of our processes, waiting for several descriptors at once, and
// SIGPIPE held back. Who sends to a process that has died gets an error, never a signal: what
// signals do to a process is the business of the program, and this is a library.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_fault.h"

#define MAX_FDS 80
#define FIRST_FREE_FD 3  // below are the standard ones, also in a program that has closed them

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

seer_status seer_os_socket_pair(int out_fds[2]) {
  out_fds[0] = out_fds[1] = -1;
  if (seer_os_fault_hits()) return seer_os_fail(EIO, "cannot make", "pair of sockets");
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return seer_os_fail(errno, "cannot make", "pair of sockets");
  for (int i = 0; i < 2; i++) {
    if (fds[i] >= FIRST_FREE_FD) continue;
    int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int error = errno;
    close(fds[i]);
    fds[i] = moved;
    if (moved >= 0) continue;
    seer_os_close(fds[0]);
    seer_os_close(fds[1]);
    return seer_os_fail(error, "cannot make", "pair of sockets");
  }
  out_fds[0] = fds[0];
  out_fds[1] = fds[1];
  return SEER_OK;
}

seer_status seer_os_send_all(int fd, const void *data, size_t n_bytes, uint64_t timeout_ns) {
  if (seer_os_fault_hits()) return seer_os_fail(EIO, "cannot send", "socket");
  const uint8_t *at = data;
  uint64_t start = seer_os_now_ns();
  size_t left = n_bytes;
  while (left > 0) {
    ssize_t n = send(fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      at += n;
      left -= (size_t)n;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return seer_os_fail(errno, "cannot send", "socket");
    uint64_t elapsed = seer_os_now_ns() - start;
    if (elapsed >= timeout_ns)
      return SEER_FAIL(TIMEOUT, "%zu of %zu bytes went within %.3f s", n_bytes - left, n_bytes,
          (double)timeout_ns * 1e-9);
    uint64_t ms = (timeout_ns - elapsed + 999999) / 1000000;
    struct pollfd wait = {fd, POLLOUT, 0};
    if (poll(&wait, 1, ms > 3600000 ? 3600000 : (int)ms) < 0 && errno != EINTR)
      return seer_os_fail(errno, "cannot send", "socket");
  }
  return SEER_OK;
}

void seer_os_guard_standard_fds(void) {
  for (int fd = 0; fd < FIRST_FREE_FD; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong way round: reads from 0 and writes to 1 and 2 fail as they would have.
    int null = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);  // the lowest that is free: fd
    if (null != fd && null >= 0) close(null);
  }
}

// ---- SIGPIPE
void seer_os_hold_sigpipe(seer_os_held_signal *out_held) {
  sigset_t pipe_only, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  out_held->was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_only, &out_held->before);
}

void seer_os_release_sigpipe(const seer_os_held_signal *held) {
  sigset_t pipe_only;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  const struct timespec at_once = {0, 0};
  // What came while it was held was ours; one that had come before is the program's.
  while (!held->was_pending && sigtimedwait(&pipe_only, NULL, &at_once) == SIGPIPE) {
  }
  pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}
