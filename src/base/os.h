// os.h - the operating system: clock, files, memory maps, processes, threads, dynamic libraries.
// Nothing else in the tree calls the OS for these. Linux first; names follow POSIX where they match
// it.
//
// Threads: any may call, unless said; a handle (process, folder, thread) is one thread's at a
// time. Errors: NOT_FOUND, RESOURCE (memory, descriptors, room on a disk) or IO, with the path and
// the system's words; nothing is left open.
#ifndef SEER_BASE_OS_H
#define SEER_BASE_OS_H

#include <sched.h>
#include <signal.h>

#include "base/arena.h"
#include "base/status.h"

// ---- clock
uint64_t seer_os_now_ns(void);  // monotonic
uint64_t seer_os_thread_ns(void);  // of processor time that this thread has had
void seer_os_sleep_ns(uint64_t ns);

// ---- files
typedef struct {
  const uint8_t *data;  // NULL for an empty file
  size_t n_bytes;
} seer_os_map;

// Read only, private; owned: seer_os_unmap. Regular files only. Reading what others have cut off
// since gives zeros (SIGBUS is handled, in the whole process) and is said by seer_os_map_check.
SEER_MUST_USE seer_status seer_os_map_file(const char *path, seer_os_map *out_map);
// The file `location` of folders[0], when what it is - links followed - lies beneath one of the n
// folders. INVALID when it does not.
SEER_MUST_USE seer_status seer_os_map_beneath(const char *const *folders, uint32_t n,
    const char *location, seer_arena *scratch, seer_os_map *out_map);
// IO when the file has become shorter since: then what was read of it is not to be used.
SEER_MUST_USE seer_status seer_os_map_check(const seer_os_map *map);
void seer_os_unmap(seer_os_map *map);
SEER_MUST_USE seer_status seer_os_read_file(const char *path, seer_arena *arena, size_t max_bytes,
    char **out_data,
    size_t *out_n_bytes);  // NUL-terminated copy; INVALID for a file of more than max_bytes
// Writes a temporary file beside `path` and renames it: `path` is never half-written. What is there
// and no file (/dev/stdout, a pipe) is written to.
SEER_MUST_USE seer_status seer_os_write_file(const char *path, const void *data, size_t n_bytes);
// Could it, now? Nothing is there afterwards that was not before. For who writes when the work is
// done, and would rather know before it.
SEER_MUST_USE seer_status seer_os_check_writable(const char *path);
SEER_MUST_USE seer_status seer_os_make_dirs(const char *path);  // as mkdir -p
// Which file is at `path`; zeros: none. A file that was moved away and another one put in its place
// differ.
typedef struct {
  uint64_t device, file;
  uint64_t n_bytes, written_ns;  // its length, and when it was last written to
} seer_os_file_id;
void seer_os_identify(const char *path, seer_os_file_id *out_id);
bool seer_os_exists(const char *path);
SEER_MUST_USE seer_status seer_os_file_bytes(const char *path, uint64_t *out_n_bytes);
bool seer_os_is_dir(const char *path);
// Names of what is in a folder, in order of their bytes, in `arena`.
SEER_MUST_USE seer_status seer_os_list_dir(
    const char *path, seer_arena *arena, const char ***out_names, size_t *out_n);
SEER_MUST_USE seer_status seer_os_remove_tree(const char *path);
// A folder in which nothing lies; any other stays.
void seer_os_remove_empty(const char *path);
SEER_MUST_USE seer_status seer_os_temp_dir(
    const char *prefix, seer_arena *arena, const char **out_path);
SEER_MUST_USE seer_status seer_os_temp_dir_in(
    const char *folder, const char *prefix, seer_arena *arena, const char **out_path);
// A folder to work in that outlives no one: `path` = <folder>/<prefix>.XXXXXX. What processes that
// were killed have left in `folder` is removed first: their work folders of this prefix, and the
// temporary files of seer_os_write_file. Owners that live are known by the lock that they hold, so
// that neither pids that come again nor clocks matter. Where the file system has no locks nothing
// is removed.
typedef struct {
  const char *path;  // in the arena
  int lock_fd;
} seer_os_work_dir;
SEER_MUST_USE seer_status seer_os_work_dir_open(
    const char *folder, const char *prefix, seer_arena *arena, seer_os_work_dir *out);
// Removes it. One that was not opened (path NULL) is fine.
SEER_MUST_USE seer_status seer_os_work_dir_close(seer_os_work_dir *dir);
// replaces `to`; same file system
SEER_MUST_USE seer_status seer_os_rename(const char *from, const char *to);
// The file is at `to` as well (a hard link), where nothing is.
SEER_MUST_USE seer_status seer_os_link(const char *from, const char *to);
// <user cache>/familyseer, made
SEER_MUST_USE seer_status seer_os_cache_dir(seer_arena *arena, const char **out_path);
// The file that this code was loaded from: the program, or the library that a program has loaded.
SEER_MUST_USE seer_status seer_os_self_path(
    seer_arena *arena, const char **out_path, bool *out_is_library);
const char *seer_os_path_join(seer_arena *arena, const char *folder, const char *name);
const char *seer_os_path_dir(seer_arena *arena, const char *path);
const char *seer_os_path_base(const char *path);  // a part of `path`
// The folder of the file that `path` is, links followed; NULL when there is none.
const char *seer_os_real_folder(const char *path, seer_arena *arena);

// ---- processes. Children are exec'd, never forked to run our code; they die with the parent
// (PR_SET_PDEATHSIG). Descriptors in `keep_fds` stay open in the child at the same numbers; all
// others are closed.
typedef struct {
  int32_t pid;  // 0 = none
} seer_os_process;

typedef struct {
  const char *const *argv;  // NULL-terminated, argv[0] is the path
  const int *keep_fds;
  size_t n_keep_fds;
  const char *stdout_path, *stderr_path;  // NULL: inherited
  uint64_t max_memory_bytes;  // RLIMIT_AS; 0: no limit
  const cpu_set_t *processors;  // that it may use; NULL: those that the caller may
  const char *hidden_variable;  // of the environment, which it does not get; NULL: it gets all
} seer_os_spawn_options;

// The first of the folders of PATH that has `name`; a name with a slash stands for itself. NULL: it
// is nowhere.
const char *seer_os_find_program(const char *name, seer_arena *arena);
// Owned: until seer_os_wait says that it is done, or seer_os_kill. Strings of `options` are
// borrowed.
SEER_MUST_USE seer_status seer_os_spawn(
    const seer_os_spawn_options *options, seer_os_process *out_process);
// Waits at most `timeout_ns` (UINT64_MAX: for ever; 0: only looks). *out_done false on time-out.
// Exit status, or 128 + signal.
SEER_MUST_USE seer_status seer_os_wait(
    seer_os_process *process, uint64_t timeout_ns, bool *out_done, int *out_status);
void seer_os_kill(seer_os_process *process);  // SIGKILL and reap; 0 is fine

// [0] reads, [1] writes; close-on-exec; each is closed by seer_os_close. For tests.
SEER_MUST_USE seer_status seer_os_pipe(int out_fds[2]);
// For tests.
SEER_MUST_USE seer_status seer_os_write_all(int fd, const void *data, size_t n_bytes);
// Reads exactly n_bytes; TIMEOUT after timeout_ns without them, IO at end of file.
SEER_MUST_USE seer_status seer_os_read_all(int fd, void *data, size_t n_bytes, uint64_t timeout_ns);
void seer_os_close(int fd);  // -1 is fine
// A connected pair for two processes, close-on-exec, numbered from 3 on; each is closed by
// seer_os_close.
SEER_MUST_USE seer_status seer_os_socket_pair(int out_fds[2]);
// Sends all of it, or says why not: RESOURCE or IO when the other end is gone (never SIGPIPE),
// TIMEOUT when it does not read.
SEER_MUST_USE seer_status seer_os_send_all(
    int fd, const void *data, size_t n_bytes, uint64_t timeout_ns);
// Makes sure that descriptors 0, 1 and 2 are taken, so that no file of ours gets one of them and is
// written into by who prints: what was closed stays of no use. For main(), first of all.
void seer_os_guard_standard_fds(void);
// From hold to release a write of this thread to a pipe without a reader fails with an error and
// raises no signal. For programs' own streams; nothing is changed for other threads.
typedef struct {
  sigset_t before;
  bool was_pending;
} seer_os_held_signal;
void seer_os_hold_sigpipe(seer_os_held_signal *out_held);
void seer_os_release_sigpipe(const seer_os_held_signal *held);
// Waits until one of the descriptors can be read or has ended; out_ready[i] says which. False on
// time-out.
bool seer_os_poll_in(const int *fds, size_t n, uint64_t timeout_ns, bool *out_ready);

// ---- threads
typedef struct seer_os_thread seer_os_thread;
// Owned: seer_os_thread_join, which waits for `run` to return. `arg` is kept until then.
SEER_MUST_USE seer_status seer_os_thread_create(
    void (*run)(void *), void *arg, seer_os_thread **out_thread);
void seer_os_thread_join(seer_os_thread *thread);
// Threads that this process may use: affinity mask, cut by the tightest cgroup quota rounded down,
// at least 1; and cores, of which each may be several processors.
uint32_t seer_os_n_threads(void);
uint32_t seer_os_n_cores(void);
// Memory that was freed and that malloc keeps goes back to the system, where libc can do that.
void seer_os_return_memory(void);

// ---- what the machine has left. `root` as in base/processors.h; 0: the system does not say
uint64_t seer_os_available_bytes(const char *root);  // of memory, without swapping
double seer_os_load(const char *root);  // processes that ran or waited to, mean of a minute
// Of the file system that `path` is on; of what is not there yet, the folder that it would be in.
uint64_t seer_os_free_disk_bytes(const char *path, seer_arena *arena);

// ---- advisory lock on a file (flock), which other users' processes may lock, too: made readable
// for all where it is not there, opened without following a link. *out_fd -1: somebody else holds
// it, or, of a shared lock, not shared; seer_os_close releases it. Errors: IO, INVALID what is at
// the path is no file of its own.
SEER_MUST_USE seer_status seer_os_try_lock(const char *path, bool is_shared, int *out_fd);
// A folder, no link to one, in which everybody may make files and remove their own only.
bool seer_os_is_shared_dir(const char *path);

#endif
