// landlock.c - Landlock: rights that a thread and what it starts give up. Rights of which there is
// no rule are gone; there is none for workers, and for hosts those of the program that they start.
// The system's headers may be older than the system, so what it knows is spelled out here, by the
// version that it says it has.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
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
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define GET_VERSION 1u

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_WATCHED 1
#else
#define IS_WATCHED 0
#endif

typedef struct {
  uint64_t files, net, scopes;
} rights;

// Of files: execute 0, write 1; (read 2 and 3 stay); remove 4 and 5, make 6 to 12.
#define FILES_1 0x1ff3u
#define FILES_2 (1u << 13)  // move to another folder
#define FILES_3 (1u << 14)  // cut off
#define FILES_5 (1u << 15)  // ioctl of devices
#define NET_4 3u  // bind, connect
#define CONNECT_4 2u
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

// ---- programs
#define EXECUTE 1u
#define BENEATH 1  // a rule of a file, or of all below a folder
typedef struct {
  uint64_t rights;
  int32_t fd;
} __attribute__((packed)) beneath;

// The loader that `program` names, as ELF has it: "" for none. False: it is no ELF file of this
// processor's word, but a script, say.
static bool read_loader(const char *program, char *out, size_t out_bytes) {
  ElfW(Ehdr) head;
  ElfW(Phdr) part;
  int fd = open(program, O_RDONLY | O_CLOEXEC);
  bool is_elf = fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phentsize == sizeof part;
  out[0] = '\0';
  for (unsigned i = 0; is_elf && i < head.e_phnum; i++) {
    off_t at = (off_t)(head.e_phoff + i * sizeof part);
    is_elf = pread(fd, &part, sizeof part, at) == (ssize_t)sizeof part;
    if (!is_elf || part.p_type != PT_INTERP) continue;
    is_elf = part.p_filesz > 0 && part.p_filesz <= out_bytes &&
        pread(fd, out, part.p_filesz, (off_t)part.p_offset) == (ssize_t)part.p_filesz;
    out[is_elf ? part.p_filesz - 1 : 0] = '\0';
  }
  if (fd >= 0) close(fd);
  return is_elf;
}

static bool let_execute(int ruleset, const char *path) {
  beneath rule = {EXECUTE, open(path, O_PATH | O_CLOEXEC)};
  if (rule.fd < 0) return false;
  bool is_done = syscall(SYS_landlock_add_rule, ruleset, BENEATH, &rule, 0) == 0;
  close(rule.fd);
  return is_done;
}

// ---- rights that are given up
// program, loader  NULL or "": there is none.
static seer_status give_up(
    rights *given_up, size_t n_bytes, const char *program, const char *loader) {
  int fd = (int)syscall(SYS_landlock_create_ruleset, given_up, n_bytes, 0);
  if (fd < 0) return fail("cannot give up files");
  bool is_done = (!program || let_execute(fd, program)) &&
      (!loader[0] || let_execute(fd, loader)) && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  seer_status status = is_done ? SEER_OK : fail("cannot give up files");
  close(fd);
  return status;
}

// *out_version  of Landlock; 0: not built in, or not switched on.
static seer_status begin(long *out_version) {
  const struct rlimit none = {0, 0};
  *out_version = 0;
  if (seer_os_fault_hits()) return fail("cannot give up files");
  if (setrlimit(RLIMIT_CORE, &none) != 0) return fail("cannot do without dumps of cores");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("cannot set no_new_privs");
  *out_version = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);
  return SEER_OK;
}

seer_status seer_confine_files(void) {
  long version;
  rights given_up;
  if (IS_WATCHED) return SEER_OK;
  SEER_TRY(begin(&version));
  if (version < 1) return SEER_OK;
  size_t n_bytes = rights_of(version, &given_up);
  return give_up(&given_up, n_bytes, NULL, "");
}

seer_status seer_confine_files_of_host(const char *program) {
  long version;
  rights given_up;
  char loader[PATH_MAX] = "";
  if (IS_WATCHED) return SEER_OK;
  SEER_TRY(begin(&version));
  if (version < 1) return SEER_OK;
  size_t n_bytes = rights_of(version, &given_up);
  given_up.net &= ~(uint64_t)CONNECT_4;
  if (program && !read_loader(program, loader, sizeof loader)) {
    given_up.files &= ~(uint64_t)EXECUTE;
    program = NULL;
  }
  return give_up(&given_up, n_bytes, program, loader);
}
