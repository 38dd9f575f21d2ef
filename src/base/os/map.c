// map.c - files mapped to be read, by path or only beneath a folder.
// A file that others cut short while it is mapped gives SIGBUS where the missing pages are read.
// The handler that is installed with the first map puts zeros there, and notes it for
// seer_os_map_check: who reads a map asks that before the result is used. What is no address of a
// map goes to the handler that was there before.
//
// Beneath a folder: the path is resolved as a text first, links followed; what leaves the folder is
// refused; then the file is opened part by part from the folder down, following no link at all. So
// whoever exchanges a part for a link in between gets an error, on every kernel (openat2, which
// does the same in one call, is missing before Linux 5.6 and under older seccomp filters).

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/os_fault.h"

// Maps that the handler knows. Entries are never freed, but used again.
typedef struct seer_os_guard seer_os_guard;
struct seer_os_guard {
  seer_os_guard *next;
  _Atomic(uintptr_t) start;  // 0: free
  size_t n_bytes;
  _Atomic(bool) is_cut;
  dev_t device;
  ino_t inode;
  char *path;
};

static struct {
  pthread_mutex_t lock;  // of those who add and remove; the handler only reads
  _Atomic(seer_os_guard *) first;
  struct sigaction before;
} guards = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_bus_error(int number, siginfo_t *info, void *context) {
  (void)context;
  uintptr_t at = (uintptr_t)info->si_addr, page = (uintptr_t)sysconf(_SC_PAGESIZE);
  int error = errno;
  for (seer_os_guard *g = atomic_load(&guards.first); g; g = g->next) {
    uintptr_t start = atomic_load(&g->start);
    if (start == 0 || at < start || at - start >= g->n_bytes) continue;
    atomic_store(&g->is_cut, true);
    void *zeros = mmap((void *)(at / page * page), page, PROT_READ,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    if (zeros != MAP_FAILED) return;
    break;
  }
  // Not ours: what was there before gets it when the same is read again.
  sigaction(number, &guards.before, NULL);
}

// Under the lock. Again with each map: someone else may have set another handler since.
static void install(void) {
  struct sigaction now, action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, NULL, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error) return;
  guards.before = now;
  sigaction(SIGBUS, &action, NULL);
}

static seer_os_guard *take_guard(const char *path, const struct stat *info) {
  char *kept = strdup(path);
  if (!kept) return NULL;
  pthread_mutex_lock(&guards.lock);
  install();
  seer_os_guard *g = atomic_load(&guards.first);
  while (g && g->path) g = g->next;
  if (!g && (g = calloc(1, sizeof *g)) != NULL) {
    g->next = atomic_load(&guards.first);
    atomic_store(&guards.first, g);
  }
  if (g) {
    g->path = kept;
    g->device = info->st_dev;
    g->inode = info->st_ino;
    atomic_store(&g->is_cut, false);
  }
  pthread_mutex_unlock(&guards.lock);
  if (!g) free(kept);
  return g;
}

// NULL for an empty file.
static seer_os_guard *guard_of(const seer_os_map *map) {
  seer_os_guard *g = map->data ? atomic_load(&guards.first) : NULL;
  while (g && atomic_load(&g->start) != (uintptr_t)map->data) g = g->next;
  return g;
}

static void free_guard(seer_os_guard *g) {
  pthread_mutex_lock(&guards.lock);
  atomic_store(&g->start, 0);
  free(g->path);
  g->path = NULL;
  pthread_mutex_unlock(&guards.lock);
}

static seer_status map_open_file(int fd, const char *path, seer_os_map *out_map) {
  struct stat info;
  SEER_TRY(seer_os_stat_regular(fd, path, &info));
  if (info.st_size == 0) return SEER_OK;
  seer_os_guard *guard = take_guard(path, &info);
  if (!guard) return SEER_FAIL(RESOURCE, "%s: no memory to map it", path);
  size_t n_bytes = (size_t)info.st_size;
  guard->n_bytes = n_bytes;
  void *data = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    int error = errno;
    free_guard(guard);
    return seer_os_fail(error, "cannot map", path);
  }
  atomic_store(&guard->start, (uintptr_t)data);
  *out_map = (seer_os_map){data, n_bytes};
  return SEER_OK;
}

seer_status seer_os_map_file(const char *path, seer_os_map *out_map) {
  *out_map = (seer_os_map){0};
  if (seer_os_fault_hits()) return seer_os_fail(EIO, "cannot open", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return seer_os_fail(errno, "cannot open", path);
  seer_status status = map_open_file(fd, path, out_map);
  close(fd);
  return status;
}

void seer_os_unmap(seer_os_map *map) {
  seer_os_guard *guard = guard_of(map);
  if (guard) free_guard(guard);
  if (map->data) munmap((void *)(uintptr_t)map->data, map->n_bytes);
  *map = (seer_os_map){0};
}

seer_status seer_os_map_check(const seer_os_map *map) {
  const seer_os_guard *guard = guard_of(map);
  if (!guard) return SEER_OK;
  struct stat info;
  // Another file of that name is nothing to us: ours is still mapped.
  bool is_it =
      stat(guard->path, &info) == 0 && info.st_dev == guard->device && info.st_ino == guard->inode;
  bool is_cut = atomic_load(&guard->is_cut) || (is_it && (size_t)info.st_size < map->n_bytes);
  if (!is_cut) return SEER_OK;
  return SEER_FAIL(
      IO, "%s: was cut short while it was read (it had %zu bytes)", guard->path, map->n_bytes);
}

// ---- files beneath a folder

// What of `real` lies beneath the real folder `base`; NULL: it does not.
static const char *part_beneath(const char *real, const char *base) {
  size_t n = strlen(base);
  if (n == 1) return real + 1;  // "/"
  return strncmp(real, base, n) == 0 && real[n] == '/' ? real + n + 1 : NULL;
}

// `path` has neither links nor "." nor ".." in it, or is refused.
static int open_without_links(const char *base, const char *path) {
  int folder = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0) {
    size_t n = strcspn(path, "/");
    char part[NAME_MAX + 1];
    if (n == 0 || n > NAME_MAX) {
      close(folder);
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(part, path, n);
    part[n] = '\0';
    bool is_last = path[n] == '\0';
    int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
    int next = openat(folder, part, flags | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    close(folder);
    errno = error;
    if (is_last || next < 0) return next;
    folder = next;
    path += n + 1;
  }
  return -1;
}

// realpath in `arena`; NULL and errno when there is none.
static char *real_path(const char *path, seer_arena *arena) {
  char *real = realpath(path, NULL);
  char *kept = real ? seer_arena_strdup(arena, real) : NULL;
  free(real);
  return kept;
}

seer_status seer_os_map_beneath(const char *const *folders, uint32_t n, const char *location,
    seer_arena *scratch, seer_os_map *out_map) {
  *out_map = (seer_os_map){0};
  const char *path = seer_os_path_join(scratch, folders[0], location);
  if (seer_os_fault_hits()) return seer_os_fail(EIO, "cannot open", path);
  const char *real = real_path(path, scratch);
  if (!real) return seer_os_fail(errno, "cannot open", path);
  for (uint32_t k = 0; k < n; k++) {
    const char *base = real_path(folders[k], scratch);
    const char *part = base ? part_beneath(real, base) : NULL;
    if (!part) continue;
    int fd = open_without_links(base, part);
    if (fd < 0) return seer_os_fail(errno, "cannot open", path);
    seer_status status = map_open_file(fd, path, out_map);
    close(fd);
    return status;
  }
  return SEER_FAIL(INVALID, "%s: is a link to %s, outside of the folder", path, real);
}

const char *seer_os_real_folder(const char *path, seer_arena *arena) {
  const char *real = real_path(path, arena);
  return real ? seer_os_path_dir(arena, real) : NULL;
}
