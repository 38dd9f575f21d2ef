// confine.c - a filter of system calls (seccomp), from a table.
//
// The filter is put together by hand, in 60 lines that know two processors. libseccomp would do, at
// 24,000 instructions for a list like this one, and would be one more library for every program and
// for every processor that one is built for. Calls that are allowed whatever their arguments are
// come first: the kernel keeps them in a bitmap and does not run the filter for them, so that the
// futexes of a pool cost what they did.

#include "base/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
// Whatever their arguments are.
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

enum { MAX_INSTRUCTIONS = 256 };
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
  uint32_t mask, value[2];
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

static void make_filter(int fd, program *p) {
  p->n = 0;
  put_load(p, offsetof(struct seccomp_data, arch));
  put(p, BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 1, 0);
  put_return(p, ENDS);
  put_load(p, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < SEER_COUNT_OF(always); i++) {
    put_if_equal(p, always[i]);
    put_return(p, SECCOMP_RET_ALLOW);
  }
  put_conditions(p, fd);
  put_return(p, ENDS);
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

seer_status seer_confine_calls(int fd) {
  const char *why_not;
  if (!seer_confine_is_there(&why_not))
    return SEER_FAIL(UNSUPPORTED, "this process cannot be confined: %s", why_not);
  if (seer_os_fault_hits()) return fail("cannot filter system calls");
  SEER_TRY(close_descriptors());
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("cannot set no_new_privs");
  program p;
  make_filter(fd, &p);
  // For all threads, and without what slows all loads down on processors that may speculate past
  // stores: older systems do that to whoever has a filter, and what is timed here would not be
  // what a user gets.
  int error = install(&p, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
  if (error > 0) return SEER_FAIL(UNSUPPORTED, "thread %d has a filter of its own", error);
  return error < 0 ? fail("cannot filter system calls") : SEER_OK;
}
