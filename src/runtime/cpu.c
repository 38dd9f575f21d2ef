// cpu.c - allowed processors and instruction sets, straight from the kernel and from cpuid.
// cpuid rather than __builtin_cpu_supports: that needs libgcc, and the archive stands on libc
// alone.
#include "runtime/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/processors.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

uint32_t seer_cpu_allowed(uint32_t n_affine) {
  cpu_set_t set;
  uint32_t n = n_affine;
  if (n == 0 && sched_getaffinity(0, sizeof set, &set) == 0) {
    n = (uint32_t)CPU_COUNT(&set);
  } else if (n == 0) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);  // more than CPU_SETSIZE processors
    n = online > 0 ? (uint32_t)online : 1;
  }
  return seer_processors_cut(n, seer_processors_quota(""));
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
    if ((out->saved & AMX) == AMX && !seer_processors_ask_for_tiles())
      out->saved &= ~(uint64_t)AMX | AVX512;
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
