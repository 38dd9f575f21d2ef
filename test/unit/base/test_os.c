// The operating system: files that are never half-written, children that end, faults that are
// reported.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "support/test.h"

static seer_arena *arena;
static const char *folder;

static void fails_with(seer_status status, seer_code code) {
  assert_non_null(status);
  if (seer_status_code(status) != code) fail_msg("%s", seer_status_message(status));
  seer_status_free(status);
}

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  seer_status status = seer_os_temp_dir("seer-test", arena, &folder);
  seer_status_free(status);
  return status != SEER_OK;
}

static int teardown(void **state) {
  (void)state;
  seer_status status = seer_os_remove_tree(folder);
  seer_status_free(status);
  seer_arena_destroy(arena);
  return status != SEER_OK;
}

static const char *in_folder(const char *name) { return seer_os_path_join(arena, folder, name); }

static size_t n_files(void) {
  DIR *dir = opendir(folder);
  size_t n = 0;
  while (readdir(dir)) n++;
  closedir(dir);
  return n - 2;
}

// What is cut off while it is mapped reads as zeros, and is said.
static void a_map_survives_its_file_being_cut(void **state) {
  (void)state;
  size_t n = (size_t)1 << 20;
  char *bytes = seer_arena_alloc(arena, n, 1);
  memset(bytes, 'x', n);
  const char *path = in_folder("cut");
  must(seer_os_write_file(path, bytes, n));
  seer_os_map map, other;
  must(seer_os_map_file(path, &map));
  must(seer_os_map_check(&map));
  assert_int_equal(truncate(path, 5), 0);
  assert_int_equal(map.data[4], 'x');
  assert_int_equal(map.data[n - 1], 0);
  assert_int_equal(map.data[n / 2], 0);
  fails_with(seer_os_map_check(&map), SEER_CODE_IO);
  seer_os_unmap(&map);
  // Within the last page nothing but the size tells.
  must(seer_os_map_file(path, &map));
  assert_int_equal(truncate(path, 2), 0);
  fails_with(seer_os_map_check(&map), SEER_CODE_IO);
  seer_os_unmap(&map);
  // A new file of the same name leaves the old one as it was.
  must(seer_os_write_file(path, bytes, n));
  must(seer_os_map_file(path, &map));
  must(seer_os_write_file(path, bytes, 1));
  must(seer_os_map_file(path, &other));
  assert_int_equal(map.data[n - 1], 'x');
  must(seer_os_map_check(&map));
  must(seer_os_map_check(&other));
  seer_os_unmap(&map);
  seer_os_unmap(&other);
  assert_int_equal(unlink(path), 0);
}

// Beneath a folder: links inside are followed, links out of it are not, whatever they are made of.
static void files_beneath_a_folder(void **state) {
  (void)state;
  const char *inside = in_folder("model"), *blobs = in_folder("blobs");
  const char *const folders[2] = {inside, blobs};
  must(seer_os_make_dirs(seer_os_path_join(arena, inside, "sub")));
  must(seer_os_make_dirs(blobs));
  must(seer_os_write_file(seer_os_path_join(arena, inside, "w"), "inside", 6));
  must(seer_os_write_file(seer_os_path_join(arena, blobs, "b"), "blob", 4));
  must(seer_os_write_file(in_folder("secret"), "secret", 6));
  static const char *const links[][2] = {{"w", "model/here"}, {"../w", "model/sub/up"},
      {"../secret", "model/out"}, {"../blobs/b", "model/b"}, {"..", "model/parent"},
      {"/etc/passwd", "model/far"}, {"loop", "model/loop"}, {"../modelx", "model/near"}};
  for (size_t k = 0; k < SEER_COUNT_OF(links); k++)
    assert_int_equal(symlink(links[k][0], in_folder(links[k][1])), 0);
  assert_int_equal(mkfifo(in_folder("model/fifo"), 0600), 0);
  must(seer_os_write_file(in_folder("modelx"), "a folder's name as prefix", 25));
  static const struct {
    const char *location;
    int code;  // -1: is read
    bool with_blobs;
  } cases[] = {{"w", -1, false}, {"./w", -1, false}, {"sub/../w", -1, false}, {"here", -1, false},
      {"sub/up", -1, false}, {"out", SEER_CODE_INVALID, false}, {"out", SEER_CODE_INVALID, true},
      {"parent/secret", SEER_CODE_INVALID, true}, {"far", SEER_CODE_INVALID, true},
      {"near", SEER_CODE_INVALID, false}, {"b", SEER_CODE_INVALID, false}, {"b", -1, true},
      {"../secret", SEER_CODE_INVALID, false}, {"sub", SEER_CODE_INVALID, false},
      {"fifo", SEER_CODE_INVALID, false}, {".", SEER_CODE_INVALID, false},
      {"none", SEER_CODE_NOT_FOUND, false}, {"w/x", SEER_CODE_NOT_FOUND, false},
      {"loop", SEER_CODE_IO, false}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_os_map map;
    seer_status status =
        seer_os_map_beneath(folders, cases[k].with_blobs ? 2 : 1, cases[k].location, arena, &map);
    if (cases[k].code >= 0) {
      fails_with(status, (seer_code)cases[k].code);
    } else {
      must(status);
      seer_os_unmap(&map);
    }
  }
  must(seer_os_remove_tree(inside));
  must(seer_os_remove_tree(blobs));
  assert_int_equal(unlink(in_folder("secret")) + unlink(in_folder("modelx")), 0);
}

static void files_round_trip(void **state) {
  (void)state;
  const char *path = in_folder("a");
  must(seer_os_write_file(path, "hello", 5));
  must(seer_os_write_file(path, "world!", 6));
  char *data;
  size_t n;
  must(seer_os_read_file(path, arena, 6, &data, &n));
  assert_int_equal(n, 6);
  assert_string_equal(data, "world!");
  fails_with(seer_os_read_file(path, arena, 5, &data, &n), SEER_CODE_INVALID);
  seer_os_map map;
  must(seer_os_map_file(path, &map));
  assert_int_equal(map.n_bytes, 6);
  assert_memory_equal(map.data, "world!", 6);
  seer_os_unmap(&map);
  must(seer_os_write_file(path, "", 0));
  must(seer_os_map_file(path, &map));
  assert_null(map.data);
  // a file that says it has no bytes
  must(seer_os_read_file("/proc/self/status", arena, 1 << 20, &data, &n));
  assert_non_null(strstr(data, "VmRSS"));
  assert_int_equal(n, strlen(data));
}

// A device or a pipe is written to, and stays what it is: to root, /dev/null could be lost.
static void what_is_no_file_is_written_to(void **state) {
  (void)state;
  const char *path = in_folder("pipe");
  char got[8] = {0};
  struct stat info;
  assert_int_equal(mkfifo(path, 0600), 0);
  int fd = open(path, O_RDONLY | O_NONBLOCK);
  assert_true(fd >= 0);
  must(seer_os_check_writable(path));
  must(seer_os_write_file(path, "through", 7));
  assert_int_equal(read(fd, got, sizeof got), 7);
  assert_string_equal(got, "through");
  close(fd);
  assert_int_equal(stat(path, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  fails_with(seer_os_write_file("/dev/full", "x", 1), SEER_CODE_RESOURCE);
  assert_int_equal(stat("/dev/full", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  assert_int_equal(unlink(path), 0);
}

static void bad_paths_are_named(void **state) {
  (void)state;
  char *data;
  seer_os_map map;
  const char *missing = in_folder("no/such");
  seer_status status = seer_os_read_file(missing, arena, 100, &data, NULL);
  assert_non_null(strstr(seer_status_message(status), missing));
  fails_with(status, SEER_CODE_NOT_FOUND);
  fails_with(seer_os_map_file(folder, &map), SEER_CODE_INVALID);
  fails_with(seer_os_map_file("/dev/zero", &map), SEER_CODE_INVALID);
  fails_with(seer_os_write_file(missing, "x", 1), SEER_CODE_NOT_FOUND);
  fails_with(seer_os_write_file("/proc/none", "x", 1), SEER_CODE_NOT_FOUND);
}

// Wherever a write breaks off, the old file is there whole and nothing else is.
static void failed_writes_leave_nothing(void **state) {
  (void)state;
  const char *path = in_folder("kept");
  must(seer_os_write_file(path, "old", 3));
  size_t n_before = n_files();
  int n_failed = 0;
  for (uint64_t nth = 1;; nth++) {
    seer_os_plant_fault(nth);
    seer_status status = seer_os_write_file(path, "new", 3);
    seer_os_plant_fault(0);
    assert_int_equal(n_files(), n_before);
    char *data;
    must(seer_os_read_file(path, arena, 100, &data, NULL));
    if (!status) {
      assert_string_equal(data, "new");
      break;
    }
    assert_string_equal(data, "old");
    fails_with(status, SEER_CODE_IO);
    n_failed++;
  }
  assert_int_equal(n_failed, 3);  // open, write, rename
  must(seer_os_make_dirs(in_folder("dir")));
  n_before = n_files();
  seer_status status = seer_os_write_file(in_folder("dir"), "x", 1);  // rename fails for real
  assert_non_null(status);
  seer_status_free(status);
  assert_int_equal(n_files(), n_before);
}

static void trees_are_made_and_removed(void **state) {
  (void)state;
  const char *deep = in_folder("tree/a//b/c/");
  must(seer_os_make_dirs(deep));
  must(seer_os_make_dirs(deep));
  assert_true(seer_os_is_dir(deep));
  must(seer_os_write_file(in_folder("tree/a/file"), "x", 1));
  must(seer_os_write_file(in_folder("outside"), "x", 1));
  assert_int_equal(symlink(in_folder("outside"), in_folder("tree/link")), 0);
  assert_int_equal(symlink(folder, in_folder("tree/up")), 0);
  fails_with(seer_os_make_dirs(in_folder("tree/a/file/x")), SEER_CODE_INVALID);
  must(seer_os_remove_tree(in_folder("tree")));
  assert_false(seer_os_exists(in_folder("tree")));
  assert_true(seer_os_exists(in_folder("outside")));
  must(seer_os_remove_tree(in_folder("tree")));
}

static void paths(void **state) {
  (void)state;
  assert_string_equal(seer_os_path_join(arena, "a", "b"), "a/b");
  assert_string_equal(seer_os_path_join(arena, "a/", "b"), "a/b");
  assert_string_equal(seer_os_path_join(arena, "a", "/b"), "/b");
  assert_string_equal(seer_os_path_join(arena, "", "b"), "b");
  assert_string_equal(seer_os_path_dir(arena, "/a/b"), "/a");
  assert_string_equal(seer_os_path_dir(arena, "/a"), "/");
  assert_string_equal(seer_os_path_dir(arena, "a"), ".");
  assert_string_equal(seer_os_path_base("/a/b"), "b");
  const char *self;
  bool is_library;
  must(seer_os_self_path(arena, &self, &is_library));
  assert_false(is_library);
  assert_string_equal(seer_os_path_base(self), "test_base_os");
}

// ---- processes

static seer_os_process spawn(const char *script, const char *out) {
  const char *argv[] = {"/bin/sh", "-c", script, NULL};
  seer_os_process process;
  must(seer_os_spawn(&(seer_os_spawn_options){.argv = argv, .stdout_path = out}, &process));
  assert_true(process.pid > 0);
  return process;
}

static int finish(seer_os_process *process) {
  bool done;
  int status = -1;
  must(seer_os_wait(process, 10000000000u, &done, &status));
  assert_true(done);
  assert_int_equal(process->pid, 0);
  return status;
}

static void children_report_their_end(void **state) {
  (void)state;
  const char *out = in_folder("stdout");
  seer_os_process process = spawn("echo hi; exit 7", out);
  assert_int_equal(finish(&process), 7);
  char *data;
  must(seer_os_read_file(out, arena, 100, &data, NULL));
  assert_string_equal(data, "hi\n");
  process = spawn("kill -SEGV $$", NULL);
  assert_int_equal(finish(&process), 128 + SIGSEGV);
  const char *argv[] = {"/no/such/program", NULL};
  fails_with(seer_os_spawn(&(seer_os_spawn_options){.argv = argv}, &process), SEER_CODE_NOT_FOUND);
  assert_int_equal(process.pid, 0);
  seer_os_kill(&process);
  seer_os_plant_fault(1);
  argv[0] = "/bin/true";
  fails_with(seer_os_spawn(&(seer_os_spawn_options){.argv = argv}, &process), SEER_CODE_RESOURCE);
}

static void waiting_has_a_limit_and_kill_reaps_the_group(void **state) {
  (void)state;
  const char *out = in_folder("pid");
  seer_os_process process = spawn("sleep 100 & echo $!; wait", out);
  bool done;
  int status;
  must(seer_os_wait(&process, 0, &done, &status));
  assert_false(done);
  uint64_t start = seer_os_now_ns();
  must(seer_os_wait(&process, 100000000, &done, &status));
  assert_false(done);
  assert_true(seer_os_now_ns() - start >= 100000000);
  char *data;
  must(seer_os_read_file(out, arena, 100, &data, NULL));
  int grandchild = 0;
  assert_int_equal(sscanf(data, "%d", &grandchild), 1);
  assert_true(grandchild > 1);
  seer_os_kill(&process);
  assert_int_equal(process.pid, 0);
  seer_os_kill(&process);
  // Killed; init may take a moment to reap it.
  bool gone = false;
  for (int i = 0; i < 200 && !gone; i++) {
    char path[64], *text;
    snprintf(path, sizeof path, "/proc/%d/stat", grandchild);
    seer_status missing = seer_os_read_file(path, arena, 4096, &text, NULL);
    gone = missing != SEER_OK || strstr(text, ") Z ");
    seer_status_free(missing);
    if (!gone) seer_os_sleep_ns(5000000);
  }
  assert_true(gone);
}

static void children_keep_only_named_descriptors(void **state) {
  (void)state;
  int leaked = open("/dev/null", O_RDONLY);  // not close-on-exec
  int fds[2];
  must(seer_os_pipe(fds));
  char script[128];
  snprintf(script, sizeof script,
      "echo word >&%d; test ! -e /proc/self/fd/%d && test ! -e /proc/self/fd/%d", fds[1], leaked,
      fds[0]);
  const char *argv[] = {"/bin/sh", "-c", script, NULL};
  seer_os_process process;
  must(seer_os_spawn(
      &(seer_os_spawn_options){.argv = argv, .keep_fds = &fds[1], .n_keep_fds = 1}, &process));
  assert_int_equal(finish(&process), 0);
  seer_os_close(fds[1]);
  char word[5];
  must(seer_os_read_all(fds[0], word, 5, 1000000000));
  assert_memory_equal(word, "word\n", 5);
  fails_with(seer_os_read_all(fds[0], word, 1, 1000000000), SEER_CODE_IO);  // end of file
  seer_os_close(fds[0]);
  seer_os_close(leaked);
  seer_os_close(-1);
}

static void memory_limit_holds(void **state) {
  (void)state;
#ifndef __SANITIZE_ADDRESS__
  const char *argv[] = {"/bin/sh", "-c", "ulimit -v", NULL};
  const char *out = in_folder("limit");
  seer_os_process process;
  must(seer_os_spawn(
      &(seer_os_spawn_options){.argv = argv, .stdout_path = out, .max_memory_bytes = 256u << 20},
      &process));
  assert_int_equal(finish(&process), 0);
  char *data;
  must(seer_os_read_file(out, arena, 100, &data, NULL));
  assert_string_equal(data, "262144\n");
#endif
}

static void reading_times_out(void **state) {
  (void)state;
  int fds[2];
  must(seer_os_pipe(fds));
  must(seer_os_write_all(fds[1], "ab", 2));
  char data[4];
  uint64_t start = seer_os_now_ns();
  fails_with(seer_os_read_all(fds[0], data, 4, 30000000), SEER_CODE_TIMEOUT);
  assert_true(seer_os_now_ns() - start >= 30000000);
  seer_os_close(fds[0]);
  seer_os_close(fds[1]);
}

static void count_up(void *arg) { ++*(_Atomic int *)arg; }

static void threads_run_and_join(void **state) {
  (void)state;
  _Atomic int n = 0;
  seer_os_thread *threads[4];
  for (int i = 0; i < 4; i++) must(seer_os_thread_create(count_up, &n, &threads[i]));
  for (int i = 0; i < 4; i++) seer_os_thread_join(threads[i]);
  assert_int_equal(n, 4);
  uint32_t before = seer_os_n_threads();
  assert_true(before >= 1);
  cpu_set_t own, one;
  assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
  CPU_ZERO(&one);
  for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &own)) CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(seer_os_n_threads(), before);  // our own pin does not count
  assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
}

static void locks_exclude(void **state) {
  (void)state;
  const char *path = in_folder("lock"), *link_path = in_folder("link");
  int first, second;
  mode_t before = umask(0077);
  must(seer_os_try_lock(path, false, &first));
  (void)umask(before);
  assert_true(first >= 0);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0444);  // other users can open it
  must(seer_os_try_lock(path, false, &second));
  assert_int_equal(second, -1);
  // Removed: who has it locked holds what nobody comes to any more.
  assert_int_equal(unlink(path), 0);
  must(seer_os_try_lock(path, false, &second));
  assert_true(second >= 0);
  seer_os_close(first);
  must(seer_os_try_lock(path, false, &first));
  assert_int_equal(first, -1);
  seer_os_close(second);
  // What stands under the name of somebody's choice is neither followed nor made nor waited for.
  const char *const others[] = {"target", "pipe", "both"};
  assert_int_equal(symlink(in_folder(others[0]), link_path), 0);
  fails_with(seer_os_try_lock(link_path, false, &first), SEER_CODE_IO);
  assert_false(seer_os_exists(in_folder(others[0])));
  assert_int_equal(mkfifo(in_folder(others[1]), 0666), 0);
  fails_with(seer_os_try_lock(in_folder(others[1]), false, &first), SEER_CODE_INVALID);
  assert_int_equal(link(path, in_folder(others[2])), 0);
  fails_with(seer_os_try_lock(path, false, &first), SEER_CODE_INVALID);
  assert_int_equal(first, -1);
}

static void folders_of_all_are_known(void **state) {
  (void)state;
  const char *path = in_folder("shared"), *link_path = in_folder("link to shared");
  must(seer_os_make_dirs(path));
  assert_false(seer_os_is_shared_dir(path));
  assert_int_equal(chmod(path, 0777), 0);
  assert_false(seer_os_is_shared_dir(path));  // anybody could put another file in its place
  assert_int_equal(chmod(path, 01777), 0);
  assert_true(seer_os_is_shared_dir(path));
  assert_int_equal(symlink(path, link_path), 0);
  assert_false(seer_os_is_shared_dir(link_path));
  assert_false(seer_os_is_shared_dir(in_folder("none")));
}

// Sending to a process that is gone is an error and no signal; so is a write to a pipe without a
// reader while SIGPIPE is held, and none is left for later.
static void nobody_reads(void **state) {
  (void)state;
  struct sigaction before;
  assert_int_equal(sigaction(SIGPIPE, NULL, &before), 0);
  assert_true(before.sa_handler == SIG_DFL);
  int fds[2];
  must(seer_os_socket_pair(fds));
  assert_true(fds[0] > 2 && fds[1] > 2);
  static char much[1 << 22];
  fails_with(
      seer_os_send_all(fds[0], much, sizeof much, 20000000), SEER_CODE_TIMEOUT);  // nobody reads
  seer_os_close(fds[1]);
  fails_with(seer_os_send_all(fds[0], "x", 1, 1000000000), SEER_CODE_IO);  // nobody is there
  seer_os_close(fds[0]);
  must(seer_os_pipe(fds));
  seer_os_close(fds[0]);
  seer_os_held_signal held;
  seer_os_hold_sigpipe(&held);
  fails_with(seer_os_write_all(fds[1], "x", 1), SEER_CODE_IO);
  seer_os_release_sigpipe(&held);
  seer_os_close(fds[1]);
}

static bool has(const char *name) { return seer_os_exists(in_folder(name)); }

static void touch(const char *name) { must(seer_os_write_file(in_folder(name), "x", 1)); }

// A process that is killed at work: what it leaves goes with the next one that works there. Who
// lives keeps what is his, and files with other names are nobody's business here.
static void the_dead_leave_nothing(void **state) {
  (void)state;
  const char *shared = folder;
  folder = in_folder("swept");
  must(seer_os_make_dirs(folder));
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  pid_t child = fork();
  if (child == 0) {
    seer_os_work_dir mine;
    if (seer_os_work_dir_open(folder, ".build", arena, &mine)) _exit(1);
    char text[300];
    (void)snprintf(text, sizeof text, "%s/weights.bin.%d.0.tmp", folder, (int)getpid());
    if (seer_os_write_file(text, "x", 1)) _exit(1);
    (void)snprintf(text, sizeof text, "%s", mine.path);
    if (write(fds[1], text, sizeof text) < 0) _exit(1);
    for (;;) pause();
  }
  char theirs[300];
  assert_int_equal(read(fds[0], theirs, sizeof theirs), sizeof theirs);
  const char *file = seer_arena_printf(arena, "weights.bin.%d.0.tmp", (int)child);
  const char *own = seer_arena_printf(arena, "weights.bin.%d.0.tmp", (int)getpid());
  touch(own);
  touch("notes.tmp");
  touch("a.1x.0.tmp");
  must(seer_os_make_dirs(in_folder(".buildings")));
  seer_os_work_dir first, second;
  must(seer_os_work_dir_open(folder, ".build", arena, &first));
  assert_true(seer_os_is_dir(theirs) && has(file));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  must(seer_os_work_dir_open(folder, ".build", arena, &second));
  assert_false(seer_os_is_dir(theirs) || has(file));
  assert_true(seer_os_is_dir(first.path) && seer_os_is_dir(second.path));
  must(seer_os_work_dir_close(&first));
  must(seer_os_work_dir_close(&second));
  must(seer_os_work_dir_close(&second));
  assert_true(has(own) && has("notes.tmp") && has("a.1x.0.tmp") && has(".buildings"));
  assert_int_equal(n_files(), 4);
  close(fds[0]);
  close(fds[1]);
  folder = shared;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_round_trip),
      cmocka_unit_test(a_map_survives_its_file_being_cut),
      cmocka_unit_test(files_beneath_a_folder),
      cmocka_unit_test(what_is_no_file_is_written_to),
      cmocka_unit_test(bad_paths_are_named),
      cmocka_unit_test(failed_writes_leave_nothing),
      cmocka_unit_test(trees_are_made_and_removed),
      cmocka_unit_test(paths),
      cmocka_unit_test(children_report_their_end),
      cmocka_unit_test(waiting_has_a_limit_and_kill_reaps_the_group),
      cmocka_unit_test(children_keep_only_named_descriptors),
      cmocka_unit_test(memory_limit_holds),
      cmocka_unit_test(reading_times_out),
      cmocka_unit_test(threads_run_and_join),
      cmocka_unit_test(locks_exclude),
      cmocka_unit_test(folders_of_all_are_known),
      cmocka_unit_test(nobody_reads),
      cmocka_unit_test(the_dead_leave_nothing),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
