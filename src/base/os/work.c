// work.c - folders that somebody works in, and what the dead have left of theirs.
// A work folder is locked (flock) by its owner from its making on; making one and sweeping happen
// under a lock of the folder around it, so that nobody sweeps what was made a moment ago and is not
// locked yet. A lock ends with its process, however that ends.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_fault.h"

#define N_RANDOM 6  // characters that mkdtemp puts in

static int open_folder(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int lock(int fd, int how) {
  int result;
  do {
    result = flock(fd, how);
  } while (result != 0 && errno == EINTR);
  return result;
}

static bool is_work_dir(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && name[n] == '.' && strlen(name + n + 1) == N_RANDOM;
}

// "<name>.<pid>.<number>.tmp" (os_file.c) of a process that is not there. (In another container it
// may be: then it holds the file's lock.)
static bool is_orphan_file(const char *name) {
  size_t n = strlen(name);
  if (n < 4 || strcmp(name + n - 4, ".tmp") != 0) return false;
  const char *end = name + n - 4, *at = end;
  while (at > name && at[-1] >= '0' && at[-1] <= '9') at--;
  if (at == end || at == name || at[-1] != '.') return false;
  const char *pid = --at;
  while (pid > name && pid[-1] >= '0' && pid[-1] <= '9') pid--;
  if (pid == at || pid == name || pid[-1] != '.') return false;
  long number = strtol(pid, NULL, 10);
  return number > 0 && kill((pid_t)number, 0) != 0 && errno == ESRCH;
}

// Gone if nobody holds it. What cannot be removed is left: it is in nobody's way.
static void sweep_one(const char *folder, const char *name, bool is_dir, seer_arena *arena) {
  const char *path = seer_os_path_join(arena, folder, name);
  int fd = is_dir ? open_folder(path) : open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (lock(fd, LOCK_EX | LOCK_NB) == 0) {
    if (is_dir) {
      seer_status_free(seer_os_remove_tree(path));
    } else {
      (void)unlink(path);
    }
  }
  close(fd);
}

static void sweep(const char *folder, const char *prefix, seer_arena *arena) {
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *item; (item = readdir(dir));) {
    bool is_dir = is_work_dir(item->d_name, prefix);
    if (!is_dir && !is_orphan_file(item->d_name)) continue;
    seer_arena_mark mark = seer_arena_save(arena);
    sweep_one(folder, item->d_name, is_dir, arena);
    seer_arena_rewind(arena, mark);
  }
  closedir(dir);
}

seer_status seer_os_work_dir_open(
    const char *folder, const char *prefix, seer_arena *arena, seer_os_work_dir *out) {
  *out = (seer_os_work_dir){NULL, -1};
  int around = open_folder(folder);
  if (around < 0) around = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // a link to one
  bool is_locked = around >= 0 && lock(around, LOCK_EX) == 0;
  if (is_locked) sweep(folder, prefix, arena);
  seer_status status = seer_os_temp_dir_in(folder, prefix, arena, &out->path);
  if (!status) {
    out->lock_fd = open_folder(out->path);
    if (out->lock_fd >= 0) (void)lock(out->lock_fd, LOCK_EX | LOCK_NB);
  }
  seer_os_close(around);
  return status;
}

seer_status seer_os_work_dir_close(seer_os_work_dir *dir) {
  if (!dir->path) return SEER_OK;
  seer_status status = seer_os_remove_tree(dir->path);
  seer_os_close(dir->lock_fd);
  *dir = (seer_os_work_dir){NULL, -1};
  return status;
}
