// A worker of a fleet, which a broker talks to, gives up what it does not need. This program is
// the worker: when it is about to serve it tries what it may not do and what it may, and its status
// tells which went otherwise.
// SEER_TEST: timeout=120
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/os_fault.h"
#include "cli/command.h"
#include "support/redis_server.h"
#include "support/test_arena.h"

// ---- the worker. Each: below 0, with errno, where it was refused.
static const char *path;  // of a file that is there

static long open_to_write(void) { return open(path, O_WRONLY | O_CLOEXEC); }
static long open_to_append(void) { return open(path, O_RDWR | O_APPEND | O_CLOEXEC); }
static long make_file(void) { return open("made", O_RDONLY | O_CREAT | O_CLOEXEC, 0666); }
static long make_unnamed(void) { return open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666); }
static long make_folder(void) { return mkdir("made", 0777); }
static long rename_file(void) { return rename(path, "made"); }
static long remove_file(void) { return unlink(path); }
static long cut_file(void) { return truncate(path, 0); }
static long change_mode(void) { return chmod(path, 0777); }
static long link_file(void) { return symlink(path, "made"); }

static long trace(void) { return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL); }
static long mount_it(void) { return mount("none", "/tmp", "tmpfs", 0, NULL); }
static long leave_namespace(void) { return unshare(CLONE_NEWUSER); }
static long be_root(void) { return setuid(0); }
static long watch_kernel(void) { return syscall(SYS_bpf, 0, NULL, 0); }
static long ring(void) { return syscall(SYS_io_uring_setup, 1, NULL); }
static long read_memory(void) {
  return syscall(SYS_process_vm_readv, getpid(), NULL, 0ul, NULL, 0ul, 0ul);
}

static long fork_elsewhere(void) {
  long pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, NULL, NULL, NULL, 0);
  if (pid == 0) _exit(0);
  return pid;
}

static long raw_socket(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static long accept_one(void) { return accept4(0, NULL, NULL, 0); }

// In a child: 0 when it was refused, by Landlock or by nobody being there to signal.
static long in_child(long (*act)(void)) {
  pid_t pid = fork();
  if (pid == 0) _exit(act() < 0 && (errno == EACCES || errno == EPERM) ? 1 : 2);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 0;
  errno = EACCES;
  return WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -1 : 0;
}

static long execute_true(void) {
  char *argv[] = {(char *)(uintptr_t) "true", NULL};
  return execve("/bin/true", argv, NULL);
}

static long execute_in_child(void) { return in_child(execute_true); }
static long write_in_child(void) { return in_child(open_to_write); }

static const struct {
  const char *name;
  long (*act)(void);
  bool needs_landlock;
} refused[] = {{"write", open_to_write, false}, {"append", open_to_append, false},
    {"make", make_file, false}, {"unnamed", make_unnamed, false}, {"folder", make_folder, false},
    {"rename", rename_file, false}, {"remove", remove_file, false}, {"cut", cut_file, false},
    {"mode", change_mode, false}, {"link", link_file, false}, {"trace", trace, false},
    {"mount", mount_it, false}, {"namespace", leave_namespace, false}, {"root", be_root, false},
    {"bpf", watch_kernel, false}, {"ring", ring, false}, {"memory", read_memory, false},
    {"fork elsewhere", fork_elsewhere, false}, {"raw socket", raw_socket, false},
    {"accept", accept_one, false}, {"execute", execute_in_child, true},
    {"write in a child", write_in_child, false}};

static void *return_it(void *arg) { return arg; }

static bool reads_files(void) {
  int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  return fd >= 0 && close(fd) == 0;
}

static bool has_threads(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, return_it, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

// Nobody may be there; then it is refused by who is not.
static bool connects(void) {
  struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(9)};
  nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  bool is_through =
      connect(fd, (struct sockaddr *)&nobody, sizeof nobody) == 0 || errno == ECONNREFUSED;
  return close(fd) == 0 && is_through;
}

static bool looks_up_names(void) {
  struct addrinfo *list = NULL;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  if (getaddrinfo("localhost", "9", &hints, &list) != 0) return false;
  freeaddrinfo(list);
  return true;
}

// The program that its workers are: it ends with 7.
static bool starts_workers(void) {
  pid_t pid = fork();
  char *argv[] = {(char *)(uintptr_t) "self", (char *)(uintptr_t) "seven", NULL};
  if (pid == 0) {
    execve("/proc/self/exe", argv, NULL);
    _exit(1);
  }
  int status = -1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
      WEXITSTATUS(status) == 7;
}

static const struct {
  const char *name;
  bool (*act)(void);
} allowed[] = {{"read", reads_files}, {"threads", has_threads}, {"connect", connects},
    {"names", looks_up_names}, {"start", starts_workers}};

#define WAS_LET 100  // status: one that is refused, and its number
#define WAS_NOT_LET 50

static void try_all(void *user) {
  const bool has_landlock = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) >= 1;
  path = user;
  if (chdir("/tmp") != 0) _exit(1);
  for (int i = 0; i < (int)SEER_COUNT_OF(refused); i++) {
    if (refused[i].needs_landlock && !has_landlock) continue;
    errno = 0;
    bool is_refused = refused[i].act() < 0 && (errno == EPERM || errno == EACCES);
    if (!is_refused) _exit(WAS_LET + i);
  }
  for (int i = 0; i < (int)SEER_COUNT_OF(allowed); i++)
    if (!allowed[i].act()) _exit(WAS_NOT_LET + i);
  _exit(0);
}

static int work(int argc, char **argv) {
  seer_os_plant_act("serve", try_all, getenv("TEST_PATH"));
  return seer_cli_main(argc, argv);
}

// ---- the tests
static int serve(const char *confine, const char *file) {
  redis_server server;
  redis_server_start(&server, &(redis_server_options){0}, arena);
  const char *self;
  bool is_library;
  must(seer_os_self_path(arena, &self, &is_library));
  setenv("TEST_PATH", file, 1);
  const char *argv[] = {self, "worker", seer_arena_printf(arena, "--fleet=unix://%s", server.path),
      "--measure=local", "--threads=1", "--builders=1", confine,
      seer_arena_printf(arena, "--worker-path=%s", self),
      seer_arena_printf(arena, "--device-lock=%s.lock", file), NULL};
  seer_os_process process;
  seer_os_spawn_options options = {.argv = argv};
  bool is_done;
  int status;
  must(seer_os_spawn(&options, &process));
  must(seer_os_wait(&process, UINT64_MAX, &is_done, &status));
  redis_server_stop(&server);
  return status;
}

static void what_is_tried_is_refused_and_what_is_needed_works(void **state) {
  (void)state;
  const char *why_not, *folder;
  if (!seer_confine_is_there(&why_not)) skip();
  must(seer_os_temp_dir("seer-test", arena, &folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  const char *file = seer_os_path_join(arena, folder, "file");
  must(seer_os_write_file(file, "x", 1));
  int status = serve("--confine=1", file);
  if (status >= WAS_LET && status < WAS_LET + (int)SEER_COUNT_OF(refused))
    fail_msg("%s was not refused", refused[status - WAS_LET].name);
  if (status >= WAS_NOT_LET && status < WAS_NOT_LET + (int)SEER_COUNT_OF(allowed))
    fail_msg("%s was refused", allowed[status - WAS_NOT_LET].name);
  assert_int_equal(status, 0);
  // Who says so may: the first one already goes through.
  assert_int_equal(serve("--confine=0", file), WAS_LET);
  must(seer_os_remove_tree(folder));
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "seven") == 0) return 7;
  if (argc > 2 && strcmp(argv[1], "worker") == 0) return work(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
      what_is_tried_is_refused_and_what_is_needed_works, arena_open, arena_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
