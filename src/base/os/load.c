// load.c - what the system says of memory, load and disks: small files, and statvfs.
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/os.h"
#include "base/processors.h"

static bool read_file(const char *root, const char *path, char *out, size_t n_out) {
  char whole[SEER_PROCESSORS_PATH];
  (void)snprintf(whole, sizeof whole, "%s%s", root, path);
  return seer_processors_read(whole, out, n_out);
}

uint64_t seer_os_available_bytes(const char *root) {
  static const char word[] = "MemAvailable:";
  char text[8192];
  if (!read_file(root, "/proc/meminfo", text, sizeof text)) return 0;
  const char *at = strstr(text, word);
  if (!at) return 0;
  at += sizeof word - 1;
  return seer_processors_number(&at) * 1024;
}

double seer_os_load(const char *root) {
  char text[256];
  double value = 0;
  if (!read_file(root, "/proc/loadavg", text, sizeof text)) return 0;
  return sscanf(text, "%lf", &value) == 1 && value > 0 ? value : 0;
}

uint64_t seer_os_free_disk_bytes(const char *path, seer_arena *arena) {
  struct statvfs of;
  for (;;) {
    if (statvfs(path, &of) == 0) return (uint64_t)of.f_bavail * of.f_frsize;
    const char *folder = seer_os_path_dir(arena, path);
    if (strlen(folder) >= strlen(path)) return 0;
    path = folder;
  }
}
