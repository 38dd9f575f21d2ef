// cpu.c - allowed processors and instruction sets, straight from the kernel and from cpuid.
// cpuid rather than __builtin_cpu_supports: that needs libgcc, and the archive stands on libc
// alone.
#include "runtime/cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
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

// ---- instruction sets

enum { LEAF1_ECX, LEAF7_EBX, LEAF7_ECX, LEAF7_EDX, LEAF7_1_EAX, EXTENDED_ECX, HWCAP, HWCAP2 };
_Static_assert((int)HWCAP2 < (int)SEER_CPU_WORDS, "words of seer_cpu_facts");

// Bits of XCR0: registers that the system saves. Without them an instruction of the processor
// traps.
enum { SSE = 0, AVX = 0x06, AVX512 = 0xE6, AMX = 0x60006 };

typedef struct {
  const char *name;
  uint8_t word, bit;
  uint32_t saved;
} feature;

static const feature features_of_x86[] = {
#define SEER_CPU_X86(name, word, bit, saved) {name, word, bit, saved},
#define SEER_CPU_ARM(name, word, bit)
#define SEER_CPU_RISCV(name)
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
};
static const feature features_of_arm[] = {
#define SEER_CPU_X86(name, word, bit, saved)
#define SEER_CPU_ARM(name, word, bit) {name, word, bit, 0},
#define SEER_CPU_RISCV(name)
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
};
static const feature features_of_riscv[] = {
#define SEER_CPU_X86(name, word, bit, saved)
#define SEER_CPU_ARM(name, word, bit)
#define SEER_CPU_RISCV(name) {name, HWCAP, name[0] - 'a', 0},
#include "runtime/cpu_features.inc"
#undef SEER_CPU_X86
#undef SEER_CPU_ARM
#undef SEER_CPU_RISCV
};

static const struct {
  const char *name;
  const feature *feature;
  size_t n;
} architectures[] = {
#define TABLE(table) table, sizeof table / sizeof table[0]
    {"x86_64", TABLE(features_of_x86)},
    {"aarch64", TABLE(features_of_arm)},
    {"riscv64", TABLE(features_of_riscv)},
#undef TABLE
};

void seer_cpu_read(seer_cpu_facts *out) {
  memset(out, 0, sizeof *out);
#if defined(__x86_64__)
  out->architecture = "x86_64";
  uint32_t a, b, c, d, *word = out->word;
  if (__get_cpuid(1, &a, &b, &c, &d)) word[LEAF1_ECX] = c;
  bool has_xgetbv = (word[LEAF1_ECX] >> 27) & 1;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    word[LEAF7_EBX] = b;
    word[LEAF7_ECX] = c;
    word[LEAF7_EDX] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) word[LEAF7_1_EAX] = a;
  }
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) word[EXTENDED_ECX] = c;
  if (has_xgetbv) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    out->saved = (uint64_t)high << 32 | low;
  }
#elif defined(__aarch64__) || defined(__riscv)
  out->architecture = sizeof(void *) < 8 ? "" :
#if defined(__aarch64__)
                                         "aarch64";
#else
                                         "riscv64";
#endif
  out->word[HWCAP] = (uint32_t)getauxval(AT_HWCAP);
  out->word[HWCAP2] = (uint32_t)getauxval(AT_HWCAP2);
#else
  out->architecture = "";
#endif
}

static const feature *find(const char *architecture, const char *name, size_t n) {
  for (size_t a = 0; a < sizeof architectures / sizeof architectures[0]; a++) {
    if (strcmp(architectures[a].name, architecture) != 0) continue;
    for (size_t i = 0; i < architectures[a].n; i++) {
      const feature *f = &architectures[a].feature[i];
      if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
    }
  }
  return NULL;
}

bool seer_cpu_knows(const char *architecture, const char *name, size_t n) {
  return find(architecture, name, n) != NULL;
}

const char *seer_cpu_missing(
    const seer_cpu_facts *facts, const char *features, char *out, size_t n_out) {
  size_t n_written = 0;
  out[0] = 0;
  for (const char *at = features; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    const char *name = at + 1;
    bool is_needed = n > 1 && at[0] == '+';
    at += n;
    if (!is_needed) continue;
    const feature *f = find(facts->architecture, name, n - 1);
    bool is_there = f && ((facts->word[f->word] >> f->bit) & 1);
    bool is_saved = f && (facts->saved & f->saved) == f->saved;
    if (is_there && is_saved) continue;
    const char *why = is_there ? " (switched off by the system)" : "";
    int m = snprintf(out + n_written, n_out - n_written, "%s%.*s%s", n_written ? ", " : "",
        (int)(n - 1), name, why);
    if (m < 0 || (size_t)m >= n_out - n_written) break;  // the first ones tell enough
    n_written += (size_t)m;
  }
  return out[0] ? out : NULL;
}
