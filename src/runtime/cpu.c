// cpu.c - allowed processors and instruction sets, straight from the kernel and from cpuid.
// cpuid rather than __builtin_cpu_supports: that needs libgcc, and the archive stands on libc
// alone.
#include "runtime/cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool read_small(const char *path, char *out, size_t n_out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, out, n_out - 1);
  close(fd);
  if (n <= 0) return false;
  out[n] = 0;
  return true;
}

// The number that *at begins with, after blanks; 0 when there is none ("max", "-1"). Not strtoll:
// the headers of glibc 2.38 rename that to a symbol that no older glibc has.
static uint64_t number(const char **at) {
  uint64_t n = 0;
  while (**at == ' ') ++*at;
  for (; **at >= '0' && **at <= '9' && n < UINT64_MAX / 16; ++*at)
    n = n * 10 + (uint64_t)(**at - '0');
  return n;
}

static uint32_t whole_processors(uint64_t limit, uint64_t period) {
  if (limit == 0 || period == 0) return 0;
  uint64_t n = limit / period;
  return n == 0 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

// Whole processors of a CPU bandwidth quota, 0 when there is none.
static uint32_t quota(void) {
  char limit[128], period[128];
  const char *at = limit, *of = period;
  // version 2: "<quota>|max <period>"
  if (read_small("/sys/fs/cgroup/cpu.max", limit, sizeof limit)) {
    uint64_t n = number(&at);
    return whole_processors(n, number(&at));
  }
  if (read_small("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", limit, sizeof limit) &&
      read_small("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period))
    return whole_processors(number(&at), number(&of));
  return 0;
}

uint32_t seer_cpu_allowed(uint32_t n_affine) {
  cpu_set_t set;
  uint32_t n = n_affine;
  if (n == 0 && sched_getaffinity(0, sizeof set, &set) == 0) {
    n = (uint32_t)CPU_COUNT(&set);
  } else if (n == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);  // more than CPU_SETSIZE processors
    n = online > 0 ? (uint32_t)online : 1;
  }
  uint32_t limit = quota();
  if (limit > 0 && limit < n) n = limit;
  return n > 0 ? n : 1;
}

#if defined(__x86_64__)

enum { R_EAX, R_EBX, R_ECX, R_EDX };
// What the OS must save for a feature to be usable: nothing beyond SSE, the ymm halves, or the zmm
// registers too.
enum { OS_NONE, OS_YMM, OS_ZMM };

typedef struct {
  const char *name;
  uint32_t leaf, subleaf;
  uint8_t reg, bit, os;
} feature;

// Only what changes the code that a compiler may emit for us; a list that is passed in is cut to
// these when building.
static const feature table[] = {
    {"sse3", 1, 0, R_ECX, 0, OS_NONE},
    {"pclmul", 1, 0, R_ECX, 1, OS_NONE},
    {"ssse3", 1, 0, R_ECX, 9, OS_NONE},
    {"fma", 1, 0, R_ECX, 12, OS_YMM},
    {"cx16", 1, 0, R_ECX, 13, OS_NONE},
    {"sse4.1", 1, 0, R_ECX, 19, OS_NONE},
    {"sse4.2", 1, 0, R_ECX, 20, OS_NONE},
    {"movbe", 1, 0, R_ECX, 22, OS_NONE},
    {"popcnt", 1, 0, R_ECX, 23, OS_NONE},
    {"aes", 1, 0, R_ECX, 25, OS_NONE},
    {"avx", 1, 0, R_ECX, 28, OS_YMM},
    {"f16c", 1, 0, R_ECX, 29, OS_YMM},
    {"bmi", 7, 0, R_EBX, 3, OS_NONE},
    {"avx2", 7, 0, R_EBX, 5, OS_YMM},
    {"bmi2", 7, 0, R_EBX, 8, OS_NONE},
    {"avx512f", 7, 0, R_EBX, 16, OS_ZMM},
    {"avx512dq", 7, 0, R_EBX, 17, OS_ZMM},
    {"adx", 7, 0, R_EBX, 19, OS_NONE},
    {"avx512ifma", 7, 0, R_EBX, 21, OS_ZMM},
    {"avx512cd", 7, 0, R_EBX, 28, OS_ZMM},
    {"avx512bw", 7, 0, R_EBX, 30, OS_ZMM},
    {"avx512vl", 7, 0, R_EBX, 31, OS_ZMM},
    {"avx512vbmi", 7, 0, R_ECX, 1, OS_ZMM},
    {"avx512vbmi2", 7, 0, R_ECX, 6, OS_ZMM},
    {"gfni", 7, 0, R_ECX, 8, OS_NONE},
    {"vaes", 7, 0, R_ECX, 9, OS_YMM},
    {"vpclmulqdq", 7, 0, R_ECX, 10, OS_YMM},
    {"avx512vnni", 7, 0, R_ECX, 11, OS_ZMM},
    {"avx512bitalg", 7, 0, R_ECX, 12, OS_ZMM},
    {"avx512vpopcntdq", 7, 0, R_ECX, 14, OS_ZMM},
    {"amx-bf16", 7, 0, R_EDX, 22, OS_ZMM},
    {"avx512fp16", 7, 0, R_EDX, 23, OS_ZMM},
    {"amx-tile", 7, 0, R_EDX, 24, OS_ZMM},
    {"amx-int8", 7, 0, R_EDX, 25, OS_ZMM},
    {"avxvnni", 7, 1, R_EAX, 4, OS_YMM},
    {"avx512bf16", 7, 1, R_EAX, 5, OS_ZMM},
    {"lzcnt", 0x80000001u, 0, R_ECX, 5, OS_NONE},
    {"sse4a", 0x80000001u, 0, R_ECX, 6, OS_NONE},
    {"xop", 0x80000001u, 0, R_ECX, 11, OS_YMM},
    {"fma4", 0x80000001u, 0, R_ECX, 16, OS_YMM},
    {"tbm", 0x80000001u, 0, R_ECX, 21, OS_NONE},
};

static const feature *find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0) return &table[i];
  return NULL;
}

static bool has(const feature *f) {
  uint32_t r[4] = {0, 0, 0, 0};
  if (f->leaf == 7 && f->subleaf > 0) {
    if (!__get_cpuid_count(7, 0, &r[0], &r[1], &r[2], &r[3]) || r[R_EAX] < f->subleaf) return false;
  }
  if (!__get_cpuid_count(f->leaf, f->subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
  if (!((r[f->reg] >> f->bit) & 1)) return false;
  if (f->os == OS_NONE) return true;
  // OSXSAVE
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || !((r[R_ECX] >> 27) & 1)) return false;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  uint32_t need = f->os == OS_ZMM ? 0xE6u : 0x06u;
  return (low & need) == need;
}

#else

// Other machines: the baseline of the triple is all that is used so far, so no list is ever written
// for them.
typedef struct {
  int unused;
} feature;
static const feature *find(const char *name, size_t n) {
  (void)name;
  (void)n;
  return NULL;
}
static bool has(const feature *f) {
  (void)f;
  return false;
}

#endif

bool seer_cpu_knows(const char *name, size_t n) { return find(name, n) != NULL; }

const char *seer_cpu_missing(const char *features, char *out, size_t n_out) {
  for (const char *at = features; *at;) {
    size_t n = strcspn(at, ",");
    if (n > 1 && at[0] == '+') {
      const feature *f = find(at + 1, n - 1);
      if (!f || !has(f)) {
        size_t m = n - 1 < n_out - 1 ? n - 1 : n_out - 1;
        memcpy(out, at + 1, m);
        out[m] = 0;
        return out;
      }
    }
    at += n;
    if (*at == ',') at++;
  }
  return NULL;
}
