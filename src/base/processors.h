// processors.h - how many processors this process may use at a time, and which of them are threads
// of one core: the tightest quota of its control groups, and the system's topology; and registers
// that the system wants to be asked for. Linux.
// Header only, and of libc alone: the runtime, which is linked with none of our other code, has the
// same (runtime/pool.c), so that a library and the program that made it count alike.
// root: "" for this machine; tests give a folder that has `proc` and `sys`.
// Threads: any. Errors: what cannot be read limits nothing, and is a core of its own.
#ifndef SEER_BASE_PROCESSORS_H
#define SEER_BASE_PROCESSORS_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEER_PROCESSORS_PATH 4352

// ---- small files

static inline bool seer_processors_read(const char *path, char *out, size_t n_out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t n = 0;
  for (ssize_t got; n < n_out - 1 && (got = read(fd, out + n, n_out - 1 - n)) > 0;)
    n += (size_t)got;
  close(fd);
  out[n] = 0;
  return n > 0;
}

// The number that *at begins with, after blanks; 0 when there is none ("max", "-1"). Not strtoll:
// the headers of glibc 2.38 rename that to a symbol that no older glibc has.
static inline uint64_t seer_processors_number(const char **at) {
  uint64_t n = 0;
  while (**at == ' ') ++*at;
  for (; **at >= '0' && **at <= '9' && n < UINT64_MAX / 16; ++*at)
    n = n * 10 + (uint64_t)(**at - '0');
  return n;
}

// ---- quotas of control groups

// What the folder of one group grants [processors], 0 where it sets no limit. Version 2 has one
// file, "<quota>|max <period>", version 1 has two.
static inline double seer_processors_grant(const char *folder) {
  char path[SEER_PROCESSORS_PATH + 32], text[128];
  const char *at = text;
  uint64_t limit = 0, period = 0;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (seer_processors_read(path, text, sizeof text)) {
    limit = seer_processors_number(&at);
    period = seer_processors_number(&at);
  } else {
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (seer_processors_read(path, text, sizeof text)) limit = seer_processors_number(&at);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    at = text;
    if (limit > 0 && seer_processors_read(path, text, sizeof text))
      period = seer_processors_number(&at);
  }
  return limit > 0 && period > 0 ? (double)limit / (double)period : 0;
}

static inline void seer_processors_least(double *least, double grant) {
  if (grant > 0 && (*least == 0 || grant < *least)) *least = grant;
}

// Of `group` ("/a/b", `n` bytes) below `mount` and of all groups above it: a child may be granted
// more than its parent has.
static inline void seer_processors_walk(
    const char *mount, const char *group, size_t n, double *least) {
  char folder[SEER_PROCESSORS_PATH];
  size_t n_mount = strlen(mount);
  if (n_mount + n >= sizeof folder) n = 0;
  memcpy(folder, mount, n_mount);
  memcpy(folder + n_mount, group, n);
  for (size_t end = n_mount + n;;) {
    folder[end] = 0;
    seer_processors_least(least, seer_processors_grant(folder));
    if (end == n_mount) return;
    while (end > n_mount && folder[end - 1] != '/') end--;  // the last name, and what parts it off
    while (end > n_mount && folder[end - 1] == '/') end--;
  }
}

// Whether a line's list of controllers, "cpu,cpuacct", has the one that limits time.
static inline bool seer_processors_has_cpu(const char *list, size_t n) {
  for (size_t at = 0; at < n;) {
    size_t end = at;
    while (end < n && list[end] != ',') end++;
    if (end - at == 3 && memcmp(list + at, "cpu", 3) == 0) return true;
    at = end + 1;
  }
  return false;
}

// The tightest quota of this process [processors, also parts of one]; 0: there is none. A process
// in a container may see a path of the host, which its own tree does not have: the root of what is
// mounted is looked at in any case.
static inline double seer_processors_quota(const char *root) {
  char path[512], v2[512], v1[512], groups[8192];
  double least = 0;
  snprintf(v2, sizeof v2, "%s/sys/fs/cgroup", root);
  snprintf(v1, sizeof v1, "%s/sys/fs/cgroup/cpu", root);
  seer_processors_walk(v2, "", 0, &least);
  seer_processors_walk(v1, "", 0, &least);
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!seer_processors_read(path, groups, sizeof groups)) return least;
  for (const char *entry = groups; *entry;) {  // "<number>:<controllers>:<group>"
    size_t n = strcspn(entry, "\n"), number = strcspn(entry, ":");
    const char *list = entry + number + 1;
    size_t n_list = number < n ? strcspn(list, ":\n") : 0;
    if (number < n && list + n_list < entry + n) {
      const char *group = list + n_list + 1;
      size_t n_group = (size_t)(entry + n - group);
      if (n_list == 0) seer_processors_walk(v2, group, n_group, &least);
      if (seer_processors_has_cpu(list, n_list)) seer_processors_walk(v1, group, n_group, &least);
    }
    entry += n + (entry[n] == '\n');
  }
  return least;
}

// ---- cores

// How many of a processor's siblings in `allowed`, as "0,64" or "2-3" lists them, have a lower
// number: its place among the threads of its core.
static inline uint32_t seer_processors_place(
    const char *siblings, const cpu_set_t *allowed, uint32_t cpu) {
  uint32_t place = 0;
  for (const char *at = siblings; *at >= '0' && *at <= '9';) {
    uint64_t from = seer_processors_number(&at), to = from;
    if (*at == '-') {
      at++;
      to = seer_processors_number(&at);
    }
    for (uint64_t c = from; c <= to && c < cpu; c++) place += CPU_ISSET((size_t)c, allowed) ? 1 : 0;
    if (*at != ',') break;
    at++;
  }
  return place;
}

typedef struct {
  uint32_t n, n_cores;  // n: processors in `order`
  uint16_t order[CPU_SETSIZE];
} seer_processors;

// The processors of `allowed`: the first of each core in ascending order, then the second ones, and
// so on. n threads on the first n of them share cores only where there are more threads than cores.
static inline void seer_processors_by_core(
    const char *root, const cpu_set_t *allowed, seer_processors *out) {
  uint8_t place[CPU_SETSIZE];
  uint32_t most = 0;
  out->n = out->n_cores = 0;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, allowed)) continue;
    char path[512], text[256];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
        root, cpu);
    uint32_t k = seer_processors_read(path, text, sizeof text)
        ? seer_processors_place(text, allowed, cpu)
        : 0;
    place[cpu] = (uint8_t)(k < UINT8_MAX ? k : UINT8_MAX);
    if (place[cpu] > most) most = place[cpu];
    if (k == 0) out->n_cores++;
  }
  for (uint32_t k = 0; k <= most; k++) {
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, allowed) && place[cpu] == k) out->order[out->n++] = (uint16_t)cpu;
  }
}

// x86: a process has to ask the system (Linux 5.16) before any of its threads uses the tiles of
// AMX: without, the first instruction ends it. Once is for all threads, and what they fork; more
// often is the same. False: refused, or there are none.
static inline bool seer_processors_ask_for_tiles(void) {
#if defined(__x86_64__)
  enum { ASK_FOR_REGISTERS = 0x1023, TILE_DATA = 18 };  // <asm/prctl.h>, which may be older
  return syscall(SYS_arch_prctl, ASK_FOR_REGISTERS, TILE_DATA) == 0;
#else
  return false;
#endif
}

// A number of processors or cores, cut by a quota (0: none) to whole ones: at least 1.
static inline uint32_t seer_processors_cut(uint32_t n, double quota) {
  if (quota > 0 && quota < n) n = (uint32_t)quota;
  return n > 0 ? n : 1;
}

#endif
