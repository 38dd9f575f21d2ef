// os_file.c - files, folders, locks, shared memory, pipes, dynamic libraries on Linux (os/map.c:
// maps). Every failure becomes one status here, with the path and the system's words; errno leaves
// this file nowhere.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_fault.h"

// ---- faults and deaths planted by tests (os_fault.h), before anything that could fail runs

// Calls that may still succeed before one fails; 0 = none planted.
static _Atomic uint64_t calls_to_fault;

void seer_os_plant_fault(uint64_t nth) { calls_to_fault = nth; }

bool seer_os_fault_hits(void) { return calls_to_fault != 0 && --calls_to_fault == 0; }

seer_status seer_os_fail(int error, const char *what, const char *name) {
  const char *why = strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return SEER_FAIL(NOT_FOUND, "%s: %s: %s", name, what, why);
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EAGAIN:
      return SEER_FAIL(RESOURCE, "%s: %s: %s", name, what, why);
    default:
      return SEER_FAIL(IO, "%s: %s: %s", name, what, why);
  }
}

typedef struct {
  const char *point, *once;
  uint64_t nth;
} death;

static death deaths[SEER_OS_MAX_DEATHS];
static size_t n_deaths;

void seer_os_plant_death(const char *point, uint64_t nth, const char *once) {
  SEER_ASSERT(n_deaths < SEER_OS_MAX_DEATHS, "%zu deaths planted", n_deaths);
  deaths[n_deaths++] = (death){point, once, nth};
}

static const char *pause_point;
static uint64_t pause_ns;

void seer_os_plant_pause(const char *point, uint64_t ns) {
  pause_point = point;
  pause_ns = ns;
}

static struct {
  const char *point;
  void (*act)(void *user);
  void *user;
} planted;

void seer_os_plant_act(const char *point, void (*act)(void *user), void *user) {
  planted.point = point;
  planted.act = act;
  planted.user = user;
}

void seer_os_reach(const char *point) {
  if (planted.point && strcmp(point, planted.point) == 0) planted.act(planted.user);
  if (pause_point && strcmp(point, pause_point) == 0) seer_os_sleep_ns(pause_ns);
  for (size_t i = 0; i < n_deaths; i++) {
    death *d = &deaths[i];
    if (strcmp(d->point, point) != 0 || d->nth == 0 || --d->nth > 0) continue;
    int fd = open(d->once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) continue;  // somebody has died of this before
    close(fd);
    (void)raise(SIGKILL);
  }
}

#define TRY_FAULT(what, name)                                           \
  do {                                                                  \
    if (seer_os_fault_hits()) return seer_os_fail(EIO, (what), (name)); \
  } while (0)

// ---- clock

uint64_t seer_os_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t seer_os_thread_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void seer_os_sleep_ns(uint64_t ns) {
  struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// ---- files

seer_status seer_os_stat_regular(int fd, const char *path, struct stat *out_info) {
  if (fstat(fd, out_info) != 0) return seer_os_fail(errno, "cannot open", path);
  if (S_ISREG(out_info->st_mode)) return SEER_OK;
  return SEER_FAIL(INVALID, "%s: is %s, must be a file", path,
      S_ISDIR(out_info->st_mode) ? "a folder" : "a special file");
}

// Opens a regular file for reading; *out_size is its length (0 for those of /proc, which do not
// know it).
static seer_status open_regular(const char *path, int *out_fd, size_t *out_size) {
  *out_fd = -1;
  *out_size = 0;
  TRY_FAULT("cannot open", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return seer_os_fail(errno, "cannot open", path);
  struct stat info;
  seer_status status = seer_os_stat_regular(fd, path, &info);
  if (status) {
    close(fd);
    return status;
  }
  *out_fd = fd;
  *out_size = (size_t)info.st_size;
  return SEER_OK;
}

seer_status seer_os_file_bytes(const char *path, uint64_t *out_n_bytes) {
  int fd;
  size_t size;
  *out_n_bytes = 0;
  SEER_TRY(open_regular(path, &fd, &size));
  close(fd);
  *out_n_bytes = size;
  return SEER_OK;
}

seer_status seer_os_read_file(
    const char *path, seer_arena *arena, size_t max_bytes, char **out_data, size_t *out_n_bytes) {
  int fd;
  size_t size;
  SEER_TRY(open_regular(path, &fd, &size));
  size_t cap = size ? size : 4096, n = 0;
  seer_status status = SEER_OK;
  char *data = NULL;
  if (size <= max_bytes) data = seer_arena_alloc(arena, cap + 1, 16);
  while (data) {
    if (n == cap) {
      // Exactly full: only a further byte tells whether there is more than the size promised.
      char byte;
      ssize_t got = read(fd, &byte, 1);
      if (got == 0) break;
      if (got == 1) {
        if (n + 1 > max_bytes) {
          data = NULL;
          break;
        }
        char *more = seer_arena_alloc(arena, cap * 2 + 1, 16);
        memcpy(more, data, n);
        data = more;
        cap *= 2;
        data[n++] = byte;
        continue;
      }
    }
    ssize_t got = n < cap ? read(fd, data + n, cap - n) : -1;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      status = seer_os_fail(errno, "cannot read", path);
      break;
    }
    if (got == 0) break;
    n += (size_t)got;
    if (n > max_bytes) data = NULL;
  }
  close(fd);
  if (status) return status;
  if (!data)
    return SEER_FAIL(INVALID, "%s: is longer than the %zu bytes allowed here", path, max_bytes);
  data[n] = '\0';
  *out_data = data;
  if (out_n_bytes) *out_n_bytes = n;
  return SEER_OK;
}

static seer_status write_to(int fd, const char *path, const void *data, size_t n_bytes) {
  seer_status status = seer_os_write_all(fd, data, n_bytes);
  if (!status) return SEER_OK;
  seer_code code = seer_status_code(status);
  seer_status_free(status);
  return seer_os_fail(code == SEER_CODE_RESOURCE ? ENOSPC : EIO, "cannot write", path);
}

// A device, a pipe: what is written there goes on, and is not replaced.
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static seer_status write_special(const char *path, const void *data, size_t n_bytes) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return seer_os_fail(errno, "cannot write", path);
  seer_status status = write_to(fd, path, data, n_bytes);
  close(fd);
  return status;
}

// A new file beside `path`, whose name is the caller's to free.
static seer_status open_beside(const char *path, char **out_name, int *out_fd) {
  // Unique among processes (pid) and among this one's threads and calls (counter).
  static _Atomic uint32_t counter;
  if (asprintf(out_name, "%s.%d.%u.tmp", path, (int)getpid(), counter++) < 0)
    return SEER_FAIL(RESOURCE, "%s: out of memory", path);
  *out_fd = open(*out_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (*out_fd < 0) {
    int error = errno;
    free(*out_name);
    return seer_os_fail(error, "cannot write", path);
  }
  (void)flock(*out_fd, LOCK_EX | LOCK_NB);  // its owner lives: sweep()
  return SEER_OK;
}

seer_status seer_os_check_writable(const char *path) {
  TRY_FAULT("cannot write", path);
  if (seer_os_is_dir(path)) return SEER_FAIL(IO, "%s: cannot write: is a folder", path);
  if (is_special(path))
    return access(path, W_OK) == 0 ? SEER_OK : seer_os_fail(errno, "cannot write", path);
  char *temporary;
  int fd;
  SEER_TRY(open_beside(path, &temporary, &fd));
  close(fd);
  unlink(temporary);
  free(temporary);
  return SEER_OK;
}

seer_status seer_os_write_file(const char *path, const void *data, size_t n_bytes) {
  TRY_FAULT("cannot write", path);
  if (is_special(path)) return write_special(path, data, n_bytes);
  char *temporary;
  int fd;
  SEER_TRY(open_beside(path, &temporary, &fd));
  seer_status status = write_to(fd, path, data, n_bytes);
  if (close(fd) != 0 && !status) status = seer_os_fail(errno, "cannot write", path);
  if (!status && seer_os_fault_hits()) status = seer_os_fail(EIO, "cannot rename to", path);
  if (!status && rename(temporary, path) != 0)
    status = seer_os_fail(errno, "cannot rename to", path);
  if (status) unlink(temporary);
  free(temporary);
  return status;
}

void seer_os_identify(const char *path, seer_os_file_id *out_id) {
  struct stat info;
  *out_id = (seer_os_file_id){0, 0, 0, 0};
  if (stat(path, &info) != 0) return;
  uint64_t written_ns =
      (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
  *out_id = (seer_os_file_id){info.st_dev, info.st_ino, (uint64_t)info.st_size, written_ns};
}

bool seer_os_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

bool seer_os_is_dir(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

seer_status seer_os_make_dirs(const char *path) {
  TRY_FAULT("cannot make folder", path);
  char *part = strdup(path);
  if (!part) return SEER_FAIL(RESOURCE, "%s: out of memory", path);
  seer_status status = SEER_OK;
  for (char *at = part; *at && !status;) {
    while (*at == '/') at++;
    while (*at && *at != '/') at++;
    char kept = *at;
    *at = '\0';
    if (*part && mkdir(part, 0777) != 0) {
      int error = errno;
      if (error != EEXIST) {
        status = seer_os_fail(error, "cannot make folder", part);
      } else if (!seer_os_is_dir(part)) {
        status = SEER_FAIL(INVALID, "%s: is a file, must be a folder", part);
      }
    }
    *at = kept;
  }
  free(part);
  return status;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

seer_status seer_os_list_dir(
    const char *path, seer_arena *arena, const char ***out_names, size_t *out_n) {
  size_t cap = 0;
  *out_names = NULL;
  *out_n = 0;
  TRY_FAULT("cannot read folder", path);
  DIR *folder = opendir(path);
  if (!folder) return seer_os_fail(errno, "cannot read folder", path);
  struct dirent *item;
  while (errno = 0, (item = readdir(folder))) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    *out_names = SEER_GROW(arena, const char *, *out_names, *out_n, &cap);
    (*out_names)[(*out_n)++] = seer_arena_strdup(arena, item->d_name);
  }
  int error = errno;
  closedir(folder);
  if (error != 0) return seer_os_fail(error, "cannot read folder", path);
  if (*out_n > 0) qsort((void *)*out_names, *out_n, sizeof **out_names, by_bytes);
  return SEER_OK;
}

static seer_status remove_at(int folder_fd, const char *name, const char *path) {
  if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) return SEER_OK;
  if (errno != EISDIR && errno != EPERM) return seer_os_fail(errno, "cannot remove", path);
  int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return seer_os_fail(errno, "cannot remove", path);
  DIR *folder = fdopendir(fd);
  if (!folder) {
    int error = errno;
    close(fd);
    return seer_os_fail(error, "cannot remove", path);
  }
  seer_status status = SEER_OK;
  for (struct dirent *item; !status && (item = readdir(folder));) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    status = remove_at(fd, item->d_name, path);
  }
  closedir(folder);
  if (!status && unlinkat(folder_fd, name, AT_REMOVEDIR) != 0)
    status = seer_os_fail(errno, "cannot remove", path);
  return status;
}

seer_status seer_os_remove_tree(const char *path) {
  TRY_FAULT("cannot remove", path);
  return remove_at(AT_FDCWD, path, path);
}

void seer_os_remove_empty(const char *path) { (void)rmdir(path); }

seer_status seer_os_temp_dir_in(
    const char *folder, const char *prefix, seer_arena *arena, const char **out_path) {
  TRY_FAULT("cannot make a temporary folder in", folder);
  char *path = seer_arena_printf(arena, "%s/%s.XXXXXX", folder, prefix);
  if (!mkdtemp(path)) return seer_os_fail(errno, "cannot make a temporary folder in", folder);
  *out_path = path;
  return SEER_OK;
}

seer_status seer_os_temp_dir(const char *prefix, seer_arena *arena, const char **out_path) {
  const char *root = getenv("TMPDIR");
  return seer_os_temp_dir_in(root && *root ? root : "/tmp", prefix, arena, out_path);
}

seer_status seer_os_rename(const char *from, const char *to) {
  TRY_FAULT("cannot rename to", to);
  if (rename(from, to) != 0) return seer_os_fail(errno, "cannot rename to", to);
  return SEER_OK;
}

seer_status seer_os_link(const char *from, const char *to) {
  TRY_FAULT("cannot link to", to);
  if (link(from, to) != 0) return seer_os_fail(errno, "cannot link to", to);
  return SEER_OK;
}

seer_status seer_os_cache_dir(seer_arena *arena, const char **out_path) {
  const char *cache = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  const char *path;
  if (cache && cache[0] == '/') {
    path = seer_os_path_join(arena, cache, "familyseer");
  } else if (home && home[0] == '/') {
    path = seer_os_path_join(arena, home, ".cache/familyseer");
  } else {
    return SEER_FAIL(NOT_FOUND, "no user cache folder: neither XDG_CACHE_HOME nor HOME is set");
  }
  SEER_TRY(seer_os_make_dirs(path));
  *out_path = path;
  return SEER_OK;
}

seer_status seer_os_self_path(seer_arena *arena, const char **out_path, bool *out_is_library) {
  static const char here;
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
    return SEER_FAIL(INTERNAL, "the file that this code was loaded from is unknown");
  *out_is_library = map->l_name[0] != '\0';  // the program's own is ""
  const char *from = *out_is_library ? map->l_name : "/proc/self/exe";
  char path[PATH_MAX];
  if (!realpath(from, path)) return seer_os_fail(errno, "cannot find", from);
  *out_path = seer_arena_strdup(arena, path);
  return SEER_OK;
}

const char *seer_os_path_join(seer_arena *arena, const char *folder, const char *name) {
  size_t n = strlen(folder);
  if (n == 0 || name[0] == '/') return seer_arena_strdup(arena, name);
  return seer_arena_printf(arena, folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

const char *seer_os_path_dir(seer_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return ".";
  if (slash == path) return "/";
  return seer_arena_strndup(arena, path, (size_t)(slash - path));
}

const char *seer_os_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// ---- descriptors

seer_status seer_os_pipe(int out_fds[2]) {
  out_fds[0] = out_fds[1] = -1;
  TRY_FAULT("cannot make", "pipe");
  if (pipe2(out_fds, O_CLOEXEC) != 0) return seer_os_fail(errno, "cannot make", "pipe");
  return SEER_OK;
}

seer_status seer_os_write_all(int fd, const void *data, size_t n_bytes) {
  TRY_FAULT("cannot write", "descriptor");
  const uint8_t *at = data;
  while (n_bytes > 0) {
    ssize_t n = write(fd, at, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return seer_os_fail(errno, "cannot write", "descriptor");
    at += n;
    n_bytes -= (size_t)n;
  }
  return SEER_OK;
}

seer_status seer_os_read_all(int fd, void *data, size_t n_bytes, uint64_t timeout_ns) {
  TRY_FAULT("cannot read", "descriptor");
  uint8_t *at = data;
  uint64_t start = seer_os_now_ns();
  size_t left = n_bytes;
  while (left > 0) {
    if (timeout_ns != UINT64_MAX) {
      uint64_t elapsed = seer_os_now_ns() - start;
      uint64_t remaining = elapsed < timeout_ns ? timeout_ns - elapsed : 0;
      uint64_t ms = (remaining + 999999) / 1000000;
      struct pollfd wait = {fd, POLLIN, 0};
      int n = poll(&wait, 1, ms > 3600000 ? 3600000 : (int)ms);
      if (n < 0 && errno != EINTR) return seer_os_fail(errno, "cannot read", "descriptor");
      if (n <= 0) {
        if (remaining == 0)
          return SEER_FAIL(TIMEOUT, "%zu of %zu bytes came within %.3f s", n_bytes - left, n_bytes,
              (double)timeout_ns * 1e-9);
        continue;
      }
    }
    ssize_t n = read(fd, at, left);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return seer_os_fail(errno, "cannot read", "descriptor");
    if (n == 0) return SEER_FAIL(IO, "end of file after %zu of %zu bytes", n_bytes - left, n_bytes);
    at += n;
    left -= (size_t)n;
  }
  return SEER_OK;
}

void seer_os_close(int fd) {
  if (fd >= 0) close(fd);
}

// ---- locks

#define LOCK_MODE 0444  // who may read it may lock it
#define LOCK_TRIES 20  // while somebody makes the file, or puts another one in its place
#define LOCK_PAUSE_NS 5000000u

// Never by O_CREAT of a file that is there: in folders that all share the kernel refuses that to
// all but its owner (fs.protected_regular).
static int open_lock(const char *path) {
  int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int fd = open(path, O_RDONLY | flags);
  if (fd >= 0 || errno != ENOENT) return fd;
  fd = open(path, O_RDONLY | O_CREAT | O_EXCL | flags, LOCK_MODE);
  if (fd >= 0) (void)fchmod(fd, LOCK_MODE);  // whatever the umask
  return fd;
}

static bool is_at(int fd, const char *path) {
  struct stat own, now;
  return fstat(fd, &own) == 0 && lstat(path, &now) == 0 && own.st_dev == now.st_dev &&
      own.st_ino == now.st_ino;
}

// *out_again: what is at the path is being made, or was removed meanwhile.
static seer_status try_lock_once(const char *path, bool is_shared, int *out_fd, bool *out_again) {
  *out_again = false;
  int fd = open_lock(path);
  if (fd < 0) {
    *out_again = errno == EEXIST || errno == EACCES;
    return seer_os_fail(errno, "cannot lock", path);
  }
  struct stat info;
  seer_status status = seer_os_stat_regular(fd, path, &info);
  if (!status && info.st_nlink > 1)
    status = SEER_FAIL(INVALID, "%s: cannot lock: the file has another name as well", path);
  int result = 0;
  if (!status) {
    do {
      result = flock(fd, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    } while (result != 0 && errno == EINTR);
  }
  bool is_held = !status && result != 0 && errno == EWOULDBLOCK;
  if (!status && result != 0 && !is_held) status = seer_os_fail(errno, "cannot lock", path);
  if (!status && !is_held && !is_at(fd, path)) {
    *out_again = true;
    status = SEER_FAIL(IO, "%s: cannot lock: it is removed again and again", path);
  }
  if (!status && !is_held) {
    *out_fd = fd;
  } else {
    close(fd);
  }
  return status;
}

seer_status seer_os_try_lock(const char *path, bool is_shared, int *out_fd) {
  *out_fd = -1;
  TRY_FAULT("cannot lock", path);
  for (int i = 1;; i++) {
    bool is_again;
    seer_status status = try_lock_once(path, is_shared, out_fd, &is_again);
    if (!status || !is_again || i == LOCK_TRIES) return status;
    seer_status_free(status);
    seer_os_sleep_ns(LOCK_PAUSE_NS);
  }
}

bool seer_os_is_shared_dir(const char *path) {
  struct stat info;
  mode_t shared = S_ISVTX | S_IWOTH | S_IXOTH;
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & shared) == shared;
}
