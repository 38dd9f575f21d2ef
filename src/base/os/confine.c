// confine.c - a filter of system calls (seccomp), from a table.
//
// The filter is put together by hand, in 60 lines that know two processors. libseccomp would do, at
// 24,000 instructions for a list like this one, and would be one more library for every program and
// for every processor that one is built for. Calls that are allowed whatever their arguments are
// come first: the kernel keeps them in a bitmap and does not run the filter for them, so that the
// futexes of a pool cost what they did.
//
// There are two such lists. The one of workers ends who leaves it, as nothing in a worker has a
// reason to. The one of hosts is for a process that runs what the system's C library and OpenSSL
// do to look up a name and to connect, and whose children, which keep its filter for good, load
// programs and set themselves up: what those call is the system's business and changes with it. So
// it is longer, and a call that is not in it fails with EPERM, which a library can live with, in
// place of ending a machine's worker. What is worth having to who has taken over such a process is
// not in it: writing, renaming and removing files, mounting, namespaces, other users' rights,
// looking into other processes, listening, sockets of other families, keys, BPF, io_uring, modules.

#include "base/confine.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os_fault.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_WATCHED 1
#else
#define IS_WATCHED 0
#endif

#if defined(__x86_64__)
#define PROCESSOR AUDIT_ARCH_X86_64
#define IS_KNOWN 1
#elif defined(__aarch64__)
#define PROCESSOR AUDIT_ARCH_AARCH64
#define IS_KNOWN 1
#else
#define PROCESSOR 0
#define IS_KNOWN 0
#endif

// ---- calls
// Whatever their arguments are: of workers, and of hosts.
static const uint16_t always[] = {
    // memory
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    // threads: their locks, their places, their beginning and end
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_exit,
    SYS_exit_group,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_getcpu,
    // clocks and waiting
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_restart_syscall,
    SYS_ppoll,
    // signals: that a handler is set, that abort lifts a mask
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    // what the C library asks for
    SYS_getpid,
    SYS_getrandom,
    SYS_sysinfo,
    // bytes of what is open
    SYS_read,
    SYS_close,
#ifdef __x86_64__
    SYS_poll,
    SYS_time,
#endif
};

// Of hosts alone, the same way.
static const uint16_t always_of_hosts[] = {
    // files that are read; where they may be opened for is below
    SYS_newfstatat,
    SYS_fstat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_lseek,
    SYS_pread64,
    SYS_readv,
    SYS_fcntl,
    SYS_flock,
    SYS_fadvise64,
    // descriptors
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_close_range,
    SYS_pselect6,
    // bytes that go out
    SYS_write,
    SYS_writev,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    // sockets that connect; bind is for netlink, by which the C library asks for addresses
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_shutdown,
    // programs that are started, waited for and ended
    SYS_execve,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tgkill,
    SYS_pidfd_open,
    SYS_setpgid,
    SYS_getpgid,
    SYS_getppid,
    SYS_set_tid_address,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_uname,
    SYS_umask,
    // what they may use, and give up
    SYS_prlimit64,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_getrusage,
    SYS_times,
    SYS_prctl,
    SYS_seccomp,
    444,  // landlock_create_ruleset, _add_rule, _restrict_self
    445,
    446,
    SYS_getpriority,
    SYS_setpriority,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    SYS_mbind,
    SYS_mincore,
    SYS_membarrier,
    // alarms, and signals that are waited for
    SYS_setitimer,
    SYS_getitimer,
    SYS_sigaltstack,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_rt_sigpending,
#ifdef __x86_64__
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_dup2,
    SYS_pipe,
    SYS_select,
    SYS_getpgrp,
    SYS_vfork,
    SYS_alarm,
    SYS_arch_prctl,
#endif
};

enum { MAX_INSTRUCTIONS = 512 };
typedef struct {
  struct sock_filter at[MAX_INSTRUCTIONS];
  uint16_t n;
} program;

static void put(program *p, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false) {
  SEER_ASSERT(p->n < MAX_INSTRUCTIONS, "%u instructions", (unsigned)p->n);
  p->at[p->n++] = (struct sock_filter){code, if_true, if_false, k};
}

static void put_load(program *p, size_t offset) {
  put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_return(program *p, uint32_t verdict) { put(p, BPF_RET | BPF_K, verdict, 0, 0); }

// The next instruction is for who is equal.
static void put_if_equal(program *p, uint32_t value) {
  put(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

#define LOW_WORD(n) (offsetof(struct seccomp_data, args) + 8 * (size_t)(n))

// The call is allowed when the low word of its nth argument, masked, is one of the values; else it
// has another verdict. (Descriptors, ids, codes and clone's flags are 32 bits to the kernel, too.)
typedef struct {
  uint16_t call;
  uint8_t argument, n_values;
  uint32_t mask, value[4];
  uint32_t otherwise;
} condition;

static void put_condition(program *p, const condition *c) {
  uint8_t n_behind = (uint8_t)(3 + 2 * c->n_values);  // two before, the tests, the other verdict
  put(p, BPF_JMP | BPF_JEQ | BPF_K, c->call, 0, n_behind);
  put_load(p, LOW_WORD(c->argument));
  put(p, BPF_ALU | BPF_AND | BPF_K, c->mask, 0, 0);
  for (uint8_t i = 0; i < c->n_values; i++) {
    put_if_equal(p, c->value[i]);
    put_return(p, SECCOMP_RET_ALLOW);
  }
  put_return(p, c->otherwise);
}

#define ENDS SECCOMP_RET_KILL_PROCESS
#define IS_THREAD (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)

static void put_conditions(program *p, int fd) {
  const uint32_t out = (uint32_t)fd, self = (uint32_t)getpid(), all = UINT32_MAX;
  const condition conditions[] = {
      {SYS_sendto, 0, 1, all, {out}, ENDS},
      {SYS_write, 0, 2, all, {out, STDERR_FILENO}, ENDS},
      {SYS_writev, 0, 2, all, {out, STDERR_FILENO}, ENDS},
      {SYS_tgkill, 0, 1, all, {self}, ENDS},
      {SYS_clone, 0, 1, IS_THREAD, {IS_THREAD}, ENDS},
      // Its flags are in memory, which a filter does not see; the C library goes on with clone.
      {SYS_clone3, 0, 0, all, {0}, SECCOMP_RET_ERRNO | ENOSYS},
#ifdef __x86_64__
      // ARCH_GET_XCOMP_PERM, ARCH_REQ_XCOMP_PERM: tiles
      {SYS_arch_prctl, 0, 2, all, {0x1022, 0x1023}, ENDS},
#endif
  };
  for (size_t i = 0; i < SEER_COUNT_OF(conditions); i++) put_condition(p, &conditions[i]);
}

#define FAILS (SECCOMP_RET_ERRNO | EPERM)
#define NAMESPACES                                                                              \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
      CLONE_NEWNET)
#define IS_WRITTEN (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

static void put_conditions_of_hosts(program *p) {
  const uint32_t all = UINT32_MAX;
  static const condition conditions[] = {
      {SYS_openat, 2, 1, IS_WRITTEN, {0}, FAILS},
#ifdef __x86_64__
      {SYS_open, 1, 1, IS_WRITTEN, {0}, FAILS},
#endif
      {SYS_socket, 0, 4, all, {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}, FAILS},
      // What stdio and the C library ask of descriptors. Not what types into a terminal.
      {SYS_ioctl, 1, 4, all, {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO}, FAILS},
      {SYS_clone, 0, 1, NAMESPACES, {0}, FAILS},
      {SYS_clone3, 0, 0, all, {0}, SECCOMP_RET_ERRNO | ENOSYS},  // as above
      {SYS_openat2, 0, 0, all, {0}, SECCOMP_RET_ERRNO | ENOSYS},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(conditions); i++) put_condition(p, &conditions[i]);
}

static void put_always(program *p, const uint16_t *calls, size_t n) {
  for (size_t i = 0; i < n; i++) {
    put_if_equal(p, calls[i]);
    put_return(p, SECCOMP_RET_ALLOW);
  }
}

// What there is of another processor's calls ends a host, too.
static void begin_filter(program *p) {
  p->n = 0;
  put_load(p, offsetof(struct seccomp_data, arch));
  put(p, BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 1, 0);
  put_return(p, ENDS);
  put_load(p, offsetof(struct seccomp_data, nr));
  put_always(p, always, SEER_COUNT_OF(always));
}

static void make_filter(int fd, program *p) {
  begin_filter(p);
  put_conditions(p, fd);
  put_return(p, ENDS);
}

static void make_filter_of_host(program *p) {
  begin_filter(p);
  put_always(p, always_of_hosts, SEER_COUNT_OF(always_of_hosts));
  put_conditions_of_hosts(p);
  put_return(p, FAILS);
}

static int install(program *p, unsigned flags) {
  const struct sock_fprog what = {p->n, p->at};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &what);
}

bool seer_confine_is_there(const char **out_why_not) {
  *out_why_not = NULL;
  const uint32_t verdict = ENDS;
  if (IS_WATCHED) {
    *out_why_not = "sanitizers watch this program";
  } else if (!IS_KNOWN) {
    *out_why_not = "this processor's system calls are not known";
  } else if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &verdict) != 0) {
    *out_why_not = "the system grants no filter of system calls (seccomp)";
  }
  return *out_why_not == NULL;
}

static seer_status fail(const char *what) {
  return SEER_FAIL(
      UNSUPPORTED, "this process %s: %s (--no-confine goes without)", what, strerror(errno));
}

// No descriptor but those that are there; 1, as poll takes no more of them at a time than this.
static seer_status close_descriptors(void) {
  const struct rlimit one = {1, 1};
  return setrlimit(RLIMIT_NOFILE, &one) == 0 ? SEER_OK : fail("cannot limit descriptors");
}

// For all threads, and without what slows all loads down on processors that may speculate past
// stores: older systems do that to whoever has a filter, and what is timed here would not be
// what a user gets.
static seer_status filter_calls(program *p) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("cannot set no_new_privs");
  int error = install(p, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
  if (error > 0) return SEER_FAIL(UNSUPPORTED, "thread %d has a filter of its own", error);
  return error < 0 ? fail("cannot filter system calls") : SEER_OK;
}

static seer_status be_able_to(void) {
  const char *why_not;
  if (!seer_confine_is_there(&why_not))
    return SEER_FAIL(UNSUPPORTED, "this process cannot be confined: %s", why_not);
  return seer_os_fault_hits() ? fail("cannot filter system calls") : SEER_OK;
}

seer_status seer_confine_calls(int fd) {
  SEER_TRY(be_able_to());
  SEER_TRY(close_descriptors());
  program p;
  make_filter(fd, &p);
  return filter_calls(&p);
}

seer_status seer_confine_calls_of_host(void) {
  SEER_TRY(be_able_to());
  program p;
  make_filter_of_host(&p);
  return filter_calls(&p);
}
