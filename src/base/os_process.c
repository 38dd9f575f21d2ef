// os_process.c - child processes, threads, processors.
// A child is forked and at once exec'd; between the two only async-signal-safe calls are made. It
// reports a failed exec through a pipe that a successful one closes. It has its own process group,
// so that Ctrl-C reaches only the parent, which then ends its children in order.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/os.h"
#include "base/os_fault.h"
#include "base/processors.h"

// ---- processes

static bool redirect(const char *path, int fd) {
  if (!path) return true;
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0666);
  if (file < 0) return false;
  bool ok = file == fd || dup2(file, fd) >= 0;
  if (file != fd) close(file);
  return ok;
}

static void close_all_on_exec(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0) return;
#endif
  long n = sysconf(_SC_OPEN_MAX);
  for (int fd = 3; fd < n && fd < 65536; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Runs in the child; returns only when something failed, with errno set.
static void exec_child(
    const seer_os_spawn_options *options, char *const *environment, pid_t parent) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (getppid() != parent) _exit(128 + SIGKILL);  // the parent died before the line above
  bool keeps_stdin = false;
  for (size_t i = 0; i < options->n_keep_fds; i++) keeps_stdin |= options->keep_fds[i] == 0;
  if (!keeps_stdin) {
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0) return;
    if (null != 0) close(null);
  }
  if (!redirect(options->stdout_path, 1) || !redirect(options->stderr_path, 2)) return;
// Sanitizers reserve terabytes of address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (options->max_memory_bytes) {
    struct rlimit limit = {options->max_memory_bytes, options->max_memory_bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return;
  }
#endif
  if (options->processors &&
      sched_setaffinity(0, sizeof *options->processors, options->processors) != 0)
    return;
  close_all_on_exec();
  for (size_t i = 0; i < options->n_keep_fds; i++) {
    if (fcntl(options->keep_fds[i], F_SETFD, 0) != 0) return;
  }
  execve(options->argv[0], (char *const *)(uintptr_t)options->argv, environment);
}

// The environment without `hidden` (NULL: all of it); free() for it. NULL: no memory.
static char **environment_without(const char *hidden) {
  size_t n = 0, n_hidden = hidden ? strlen(hidden) : 0;
  while (environ && environ[n]) n++;
  char **kept = malloc((n + 1) * sizeof *kept);
  size_t n_kept = 0;
  for (size_t i = 0; i < n && kept; i++) {
    bool is_hidden =
        hidden && strncmp(environ[i], hidden, n_hidden) == 0 && environ[i][n_hidden] == '=';
    if (!is_hidden) kept[n_kept++] = environ[i];
  }
  if (kept) kept[n_kept] = NULL;
  return kept;
}

const char *seer_os_find_program(const char *name, seer_arena *arena) {
  const char *path = getenv("PATH");
  if (strchr(name, '/')) return seer_os_exists(name) ? name : NULL;
  while (path && *path) {
    size_t n = strcspn(path, ":");
    const char *at = seer_os_path_join(arena, seer_arena_strndup(arena, path, n), name);
    if (n > 0 && seer_os_exists(at)) return at;
    path += n + (path[n] == ':');
  }
  return NULL;
}

seer_status seer_os_spawn(const seer_os_spawn_options *options, seer_os_process *out_process) {
  out_process->pid = 0;
  const char *path = options->argv[0];
  if (seer_os_fault_hits()) return seer_os_fail(EAGAIN, "cannot start", path);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return seer_os_fail(errno, "cannot start", path);
  char **environment = environment_without(options->hidden_variable);
  pid_t parent = getpid();
  fflush(NULL);  // what stdio holds must not be written twice
  pid_t pid = environment ? fork() : -1;
  if (pid < 0) {
    int error = environment ? errno : ENOMEM;
    free((void *)environment);
    close(report[0]);
    close(report[1]);
    return seer_os_fail(error, "cannot start", path);
  }
  if (pid == 0) {
    exec_child(options, environment, parent);
    int error = errno;
    if (write(report[1], &error, sizeof error) < 0) _exit(126);
    _exit(127);
  }
  free((void *)environment);
  setpgid(pid, pid);  // here too: whoever comes first, so that a kill of the group cannot miss it
  close(report[1]);
  int error = 0;
  ssize_t n;
  do {
    n = read(report[0], &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  close(report[0]);
  if (n == (ssize_t)sizeof error) {
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return seer_os_fail(error, "cannot start", path);
  }
  out_process->pid = (int32_t)pid;
  return SEER_OK;
}

// Sleeps until the child ends or the time is over.
static void wait_for_end(pid_t pid, uint64_t timeout_ns) {
#ifdef SYS_pidfd_open
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) {
    uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
    struct pollfd wait = {fd, POLLIN, 0};
    poll(&wait, 1, ms > 3600000 ? 3600000 : (int)ms);
    close(fd);
    return;
  }
#endif
  seer_os_sleep_ns(timeout_ns < 1000000 ? timeout_ns : 1000000);
}

seer_status seer_os_wait(
    seer_os_process *process, uint64_t timeout_ns, bool *out_done, int *out_status) {
  *out_done = false;
  SEER_ASSERT(process->pid > 0, "wait for pid %d", process->pid);
  uint64_t start = seer_os_now_ns();
  for (;;) {
    int status;
    pid_t pid = waitpid(process->pid, &status, WNOHANG);
    if (pid < 0 && errno != EINTR) return seer_os_fail(errno, "cannot wait for", "child process");
    if (pid > 0) {
      process->pid = 0;
      *out_done = true;
      *out_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return SEER_OK;
    }
    uint64_t elapsed = seer_os_now_ns() - start;
    if (elapsed >= timeout_ns) return SEER_OK;
    wait_for_end(process->pid, timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns - elapsed);
  }
}

void seer_os_kill(seer_os_process *process) {
  if (process->pid <= 0) return;
  kill(-process->pid, SIGKILL);  // the group: the child and what it started
  kill(process->pid, SIGKILL);
  while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  process->pid = 0;
}

// ---- threads

struct seer_os_thread {
  pthread_t handle;
  void (*run)(void *);
  void *arg;
};

static void *thread_main(void *arg) {
  seer_os_thread *thread = arg;
  thread->run(thread->arg);
  return NULL;
}

seer_status seer_os_thread_create(void (*run)(void *), void *arg, seer_os_thread **out_thread) {
  *out_thread = NULL;
  if (seer_os_fault_hits()) return seer_os_fail(EAGAIN, "cannot start", "thread");
  seer_os_thread *thread = calloc(1, sizeof *thread);
  if (!thread) return SEER_FAIL(RESOURCE, "out of memory for a thread");
  thread->run = run;
  thread->arg = arg;
  // Signals go to the thread that the program began with.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread->handle, NULL, thread_main, thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) {
    free(thread);
    return seer_os_fail(error, "cannot start", "thread");
  }
  *out_thread = thread;
  return SEER_OK;
}

void seer_os_thread_join(seer_os_thread *thread) {
  if (!thread) return;
  pthread_join(thread->handle, NULL);
  free(thread);
}

// The mask that the process began with, as later ones may be our own pins, and what its control
// groups grant, which a confined process could not read later. Written once, under pthread_once.
static pthread_once_t first_mask_once = PTHREAD_ONCE_INIT;
static cpu_set_t first_mask;
static double first_quota;

static void read_first_mask(void) {
  if (sched_getaffinity(0, sizeof first_mask, &first_mask) != 0 || CPU_COUNT(&first_mask) == 0) {
    CPU_ZERO(&first_mask);
    CPU_SET(0, &first_mask);
  }
  first_quota = seer_processors_quota("");
}

uint32_t seer_os_n_threads(void) {
  pthread_once(&first_mask_once, read_first_mask);
  return seer_processors_cut((uint32_t)CPU_COUNT(&first_mask), first_quota);
}

uint32_t seer_os_n_cores(void) {
  pthread_once(&first_mask_once, read_first_mask);
  seer_processors processors;
  seer_processors_by_core("", &first_mask, &processors);
  return seer_processors_cut(processors.n_cores, first_quota);
}

void seer_os_return_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}
