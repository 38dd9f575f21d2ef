// Workers give up what they do not need: what a candidate could try ends the process that it runs
// in, and is told as what it is. This program is its own worker: it does what TEST_ACT names where
// a worker begins to build or to time.
// SEER_TEST: timeout=120
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/os.h"
#include "base/os_fault.h"
#include "cli/command.h"
#include "measure/backends.h"
#include "models/models.h"
#include "support/test.h"
#include "tune/campaign.h"

// ---- the worker: 0 when what it tried was refused in another way than by its end
static long write_file(const char *path) { return open(path, O_WRONLY | O_CREAT, 0666) + 1; }

static long read_file(const char *path) {
  (void)path;
  return open("/etc/hostname", O_RDONLY) + 1;
}

static long connect_somewhere(const char *path) {
  (void)path;
  return socket(AF_INET, SOCK_STREAM, 0) + 1;
}

static long execute(const char *path) {
  char *argv[] = {(char *)(uintptr_t)path, NULL};
  return execve("/bin/true", argv, NULL) + 1;
}

static long trace(const char *path) {
  (void)path;
  return ptrace(PTRACE_PEEKDATA, getppid(), NULL, NULL) + 1;
}

static long read_memory(const char *path) {
  (void)path;
  return syscall(SYS_process_vm_readv, getpid(), NULL, 0ul, NULL, 0ul, 0ul) + 1;
}

static long kill_it(const char *path) {
  (void)path;
  return syscall(SYS_kill, getpid(), 0) + 1;
}

static long signal_other(const char *path) {
  (void)path;
  return syscall(SYS_tgkill, 1, 1, 0) + 1;
}

static long fork_it(const char *path) {
  (void)path;
  pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
  if (pid == 0) _exit(0);
  return pid + 1;
}

static long print(const char *path) {
  (void)path;
  return write(STDOUT_FILENO, "x", 1) + 1;
}

static long raise_limits(const char *path) {
  (void)path;
  const struct rlimit many = {100, 100};
  return setrlimit(RLIMIT_NOFILE, &many) + 1;
}

static long ask_for_rights(const char *path) {
  (void)path;
  return syscall(SYS_setuid, 0) + 1;
}

static void *return_it(void *arg) { return arg; }

// What it may.
static long stay_within(const char *path) {
  (void)path;
  pthread_t thread;
  int token;
  void *result = NULL;
  if (pthread_create(&thread, NULL, return_it, &token) != 0) return 0;
  if (pthread_join(thread, &result) != 0 || result != &token) return 0;
  uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED || mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 0;
  usleep(1000);
  return munmap(code, 4096) + 1;
}

static const struct {
  const char *name;
  long (*act)(const char *path);
} acts[] = {{"write", write_file}, {"read", read_file}, {"connect", connect_somewhere},
    {"execute", execute}, {"trace", trace}, {"read-memory", read_memory}, {"kill", kill_it},
    {"signal", signal_other}, {"fork", fork_it}, {"print", print}, {"limits", raise_limits},
    {"rights", ask_for_rights}, {"within", stay_within}};

static void act(void *user) {
  for (size_t i = 0; i < SEER_COUNT_OF(acts); i++)
    if (strcmp(acts[i].name, user) == 0 && acts[i].act(getenv("TEST_PATH")) == 0) abort();
}

static int work(int argc, char **argv) {
  const char *name = getenv("TEST_ACT"), *point = getenv("TEST_POINT");
  if (name && point) seer_os_plant_act(point, act, (void *)(uintptr_t)name);
  if (getenv(SEER_FLEET_PASSWORD)) return 3;
  return seer_cli_main(argc, argv);
}

// ---- the tests
typedef struct {
  seer_context *context;
  seer_arena *arena;
  seer_network *network;
  const char *folder, *path;
  seer_sketch_list *sketches;
  seer_measurer *measurer;
} world;

static void open_world(world *w, const char *point, const char *name, bool is_confined) {
  memset(w, 0, sizeof(*w));
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  w->path = seer_os_path_join(w->arena, w->folder, "written");
  setenv("XDG_CACHE_HOME", w->folder, 1);
  setenv("TEST_POINT", point, 1);
  setenv("TEST_ACT", name, 1);
  setenv("TEST_PATH", w->path, 1);
  must(seer_context_create(&w->context));
  const char *self;
  bool is_library;
  must(seer_os_self_path(w->arena, &self, &is_library));
  must(seer_context_set(w->context, "worker-path", self));
  must(seer_context_set(w->context, "threads", "2"));
  must(seer_context_set(w->context, "builders", "1"));
  must(seer_context_set(w->context, "confine", is_confined ? "1" : "0"));
  must(seer_context_find_target(w->context));
  must(seer_front_load(w->context, "mlp", seer_model_build, w->arena, &w->network));
  const seer_target *target = seer_context_target(w->context);
  const seer_task *task = &w->network->task[0];
  must(seer_sketch_generate(task->dag, target, SEER_SPACE_FULL, w->arena, &w->sketches));
  must(seer_measure_local.open(w->context, target, "", &w->measurer));
  seer_measure_task announced = {0, task->dag, w->sketches, SEER_SPACE_FULL, 0};
  must(seer_measure_local.add_task(w->measurer, &announced));
}

static void close_world(world *w) {
  seer_measure_local.close(w->measurer);
  seer_graph_close(w->network->graph);
  seer_context_destroy(w->context);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
}

static seer_measure_result measure(world *w) {
  seer_measure_request request = {.task = 0};
  seer_measure_result result;
  seer_schedule_default(w->sketches, 0, &request.schedule);
  must(seer_measure_local.measure(w->measurer, &request, 1, NULL, &result));
  return result;
}

static bool can_confine(void) {
  const char *why_not;
  if (seer_confine_is_there(&why_not)) return true;
  print_message("not confined: %s\n", why_not);
  return false;
}

#define KILLED "was killed for a system call that it may not make"

static void what_is_tried_ends_the_process(void **state) {
  (void)state;
  if (!can_confine()) skip();
  for (size_t i = 0; i < SEER_COUNT_OF(acts); i++) {
    if (strcmp(acts[i].name, "within") == 0) continue;
    world w;
    // A runner; a builder in turns with it.
    bool is_builder = i % 2 == 1;
    open_world(&w, is_builder ? "build" : "time", acts[i].name, true);
    seer_measure_result result = measure(&w);
    assert_int_equal(result.cls, is_builder ? SEER_MEASURED_BUILD_ERROR : SEER_MEASURED_RUN_CRASH);
    if (!strstr(result.message, KILLED)) fail_msg("%s: %s", acts[i].name, result.message);
    assert_false(seer_os_exists(w.path));
    close_world(&w);
  }
}

static void what_is_needed_works(void **state) {
  (void)state;
  setenv(SEER_FLEET_PASSWORD, "geheim", 1);
  for (int i = 0; i < 2; i++) {
    world w;
    open_world(&w, i ? "build" : "time", "within", true);
    seer_measure_result result = measure(&w);
    if (result.cls) fail_msg("%s", result.message);
    close_world(&w);
  }
  unsetenv(SEER_FLEET_PASSWORD);
}

static void who_says_so_is_not_confined(void **state) {
  (void)state;
  world w;
  open_world(&w, "time", "write", false);
  seer_measure_result result = measure(&w);
  if (result.cls) fail_msg("%s", result.message);
  assert_true(seer_os_exists(w.path));
  close_world(&w);
}

// Without the filter of calls: what Landlock and limits do by themselves. In a process of its own.
static int give_up_files(const char *path) {
  char *argv[] = {(char *)(uintptr_t) "true", NULL};
  struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(9)};
  nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int before = open(path, O_WRONLY | O_CREAT, 0666), fd = socket(AF_INET, SOCK_STREAM, 0);
  long version = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1);
  seer_status status = seer_confine_files();
  if (status || before < 0 || write(before, "x", 1) != 1) return 1;
  struct rlimit core;
  if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0) return 2;
  if (version < 1) return 0;
  if (open(path, O_WRONLY, 0) >= 0 || open(path, O_RDONLY, 0) < 0) return 3;
  if (unlink(path) == 0 || rename(path, "/tmp/elsewhere") == 0 || mkdir("/tmp/new", 0777) == 0)
    return 4;
  execve("/bin/true", argv, NULL);
  if (version >= 3 && truncate(path, 0) == 0) return 5;
  if (version >= 4 &&
      (connect(fd, (struct sockaddr *)&nobody, sizeof nobody) == 0 || errno != EACCES))
    return 6;
  if (version >= 6 && kill(getppid(), 0) == 0) return 7;
  return 0;
}

static void files_are_given_up_without_a_filter(void **state) {
  (void)state;
  if (!can_confine()) skip();
  seer_arena *arena = seer_arena_create("test");
  const char *folder;
  must(seer_os_temp_dir("seer-test", arena, &folder));
  const char *path = seer_os_path_join(arena, folder, "file");
  pid_t pid = fork();
  if (pid == 0) _exit(give_up_files(path));
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(seer_os_exists(path));
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "worker") == 0) return work(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_tried_ends_the_process),
      cmocka_unit_test(what_is_needed_works), cmocka_unit_test(who_says_so_is_not_confined),
      cmocka_unit_test(files_are_given_up_without_a_filter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
