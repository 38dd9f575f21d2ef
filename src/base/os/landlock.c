// landlock.c - Landlock: rights that a thread and what it starts give up. Rights of which there is
// no rule are gone; there is none. The system's headers may be older than the system, so what it
// knows is spelled out here, by the version that it says it has.

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/os_fault.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#define GET_VERSION 1u

typedef struct {
  uint64_t files, net, scopes;
} rights;

// Of files: execute 0, write 1; (read 2 and 3 stay); remove 4 and 5, make 6 to 12.
#define FILES_1 0x1ff3u
#define FILES_2 (1u << 13)  // move to another folder
#define FILES_3 (1u << 14)  // cut off
#define FILES_5 (1u << 15)  // ioctl of devices
#define NET_4 3u  // bind, connect
#define SCOPES_6 3u  // abstract sockets of others, signals to others

static size_t rights_of(long version, rights *out) {
  *out = (rights){FILES_1, 0, 0};
  if (version >= 2) out->files |= FILES_2;
  if (version >= 3) out->files |= FILES_3;
  if (version >= 5) out->files |= FILES_5;
  if (version >= 4) out->net = NET_4;
  if (version >= 6) out->scopes = SCOPES_6;
  return version >= 6 ? sizeof *out : version >= 4 ? offsetof(rights, scopes) : sizeof out->files;
}

static seer_status fail(const char *what) {
  return SEER_FAIL(
      UNSUPPORTED, "this process %s: %s (--no-confine goes without)", what, strerror(errno));
}

seer_status seer_confine_files(void) {
  const struct rlimit none = {0, 0};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return SEER_OK;
#endif
  if (seer_os_fault_hits()) return fail("cannot give up files");
  if (setrlimit(RLIMIT_CORE, &none) != 0) return fail("cannot do without dumps of cores");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("cannot set no_new_privs");
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);
  if (version < 1) return SEER_OK;  // not built in, or not switched on
  rights given_up;
  size_t n_bytes = rights_of(version, &given_up);
  int fd = (int)syscall(SYS_landlock_create_ruleset, &given_up, n_bytes, 0);
  if (fd < 0) return fail("cannot give up files");
  bool is_done = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  seer_status status = is_done ? SEER_OK : fail("cannot give up files");
  close(fd);
  return status;
}
