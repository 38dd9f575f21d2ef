// target_table.c - the table of x86 processors; see target_table.h.
// Sources: vendors' optimisation manuals and LLVM 19's processor definitions (names and feature
// sets). Ports are those that take a vector FMA of the entry's width: Zen 4 issues two 256-bit or
// one 512-bit FMA a cycle, for example (measured on Zen 4 at 3.66 GHz, 2026: 117 GFLOP/s with
// either).
#include "setup/target_table.h"

#include <string.h>

#define AVX2_NEEDS "avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt"
#define AVX512_NEEDS AVX2_NEEDS ",avx512bw,avx512cd,avx512dq,avx512f,avx512vl"
#define ICELAKE_NEEDS \
  AVX512_NEEDS ",avx512bitalg,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512vpopcntdq,gfni"

static const seer_target_cpu cpus[] = {
    // name, bytes, ports, latency, needs
    {"znver5", 64, 2, 4, ICELAKE_NEEDS ",avx512bf16,avxvnni"},
    {"znver4", 64, 1, 4, ICELAKE_NEEDS ",avx512bf16"},
    {"znver3", 32, 2, 4, AVX2_NEEDS ",vaes,vpclmulqdq"},
    {"znver2", 32, 2, 5, AVX2_NEEDS},
    {"znver1", 32, 1, 5, AVX2_NEEDS},
    {"graniterapids", 64, 2, 4,
        ICELAKE_NEEDS ",amx-bf16,amx-fp16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni"},
    {"sapphirerapids", 64, 2, 4,
        ICELAKE_NEEDS ",amx-bf16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni"},
    {"icelake-server", 64, 2, 4, ICELAKE_NEEDS},
    {"icelake-client", 64, 1, 4, ICELAKE_NEEDS},
    {"cascadelake", 64, 2, 4, AVX512_NEEDS ",avx512vnni"},
    {"skylake-avx512", 64, 2, 4, AVX512_NEEDS},
    {"alderlake", 32, 2, 4, AVX2_NEEDS ",avxvnni,gfni,vaes,vpclmulqdq"},
    {"skylake", 32, 2, 4, AVX2_NEEDS},
    {"haswell", 32, 2, 5, AVX2_NEEDS},
    {"x86-64-v4", 64, 1, 4, AVX512_NEEDS},
    {"x86-64-v3", 32, 2, 4, AVX2_NEEDS},
    {"x86-64-v2", 16, 1, 8, "popcnt,sse4.1,sse4.2,ssse3"},
    {"x86-64", 16, 1, 8, ""},
    {"generic", 16, 2, 4, ""},
    {"cortex-a72", 16, 1, 7, ""},
    {"cortex-a76", 16, 2, 4, ""},
    {"neoverse-n1", 16, 2, 4, ""},
    {"neoverse-n2", 16, 2, 4, ""},
    {"neoverse-v1", 16, 4, 4, ""},
    {"neoverse-v2", 16, 4, 4, ""},
};

static const seer_target_model models[] = {
    {"AuthenticAMD", 0x1a, 0x00, 0xff, {"znver5", "znver3", NULL}},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, {"znver4", "znver3", NULL}},
    {"AuthenticAMD", 0x19, 0x60, 0xaf, {"znver4", "znver3", NULL}},
    {"AuthenticAMD", 0x19, 0x00, 0x5f, {"znver3", "znver2", NULL}},
    {"AuthenticAMD", 0x17, 0x30, 0xff, {"znver2", NULL}},
    {"AuthenticAMD", 0x17, 0x00, 0x2f, {"znver1", NULL}},
    {"GenuineIntel", 6, 0xad, 0xae,
        {"graniterapids", "sapphirerapids", "icelake-server", "skylake"}},
    {"GenuineIntel", 6, 0xcf, 0xcf, {"sapphirerapids", "icelake-server", "skylake", NULL}},
    {"GenuineIntel", 6, 0x8f, 0x8f, {"sapphirerapids", "icelake-server", "skylake", NULL}},
    {"GenuineIntel", 6, 0x6a, 0x6c, {"icelake-server", "skylake", NULL}},
    {"GenuineIntel", 6, 0x7d, 0x8d, {"icelake-client", "skylake", NULL}},
    {"GenuineIntel", 6, 0x55, 0x55, {"cascadelake", "skylake-avx512", "skylake", NULL}},
    {"GenuineIntel", 6, 0xa7, 0xa7, {"icelake-client", "skylake", NULL}},  // Rocket Lake
    {"GenuineIntel", 6, 0x97, 0xbf, {"alderlake", "skylake", NULL}},
    {"GenuineIntel", 6, 0x4e, 0x5e, {"skylake", NULL}},
    {"GenuineIntel", 6, 0x3c, 0x4f, {"haswell", NULL}},
};

// By the features alone, the newest of the vendor first; any vendor's at the end.
static const struct {
  const char *vendor;
  const char *cpus[8];
} by_features[] = {
    {"AuthenticAMD", {"znver5", "znver4", "znver3", NULL}},
    {"GenuineIntel",
        {"graniterapids", "sapphirerapids", "icelake-server", "cascadelake", "skylake-avx512",
            "alderlake", NULL}},
    {"", {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64", NULL}},
};

const seer_target_cpu *seer_target_find_cpu(const char *name) {
  for (size_t i = 0; i < SEER_COUNT_OF(cpus); i++) {
    if (strcmp(cpus[i].name, name) == 0) return &cpus[i];
  }
  return NULL;
}

bool seer_target_has_feature(const char *features, const char *name) {
  size_t n = strlen(name);
  for (const char *at = features; *at; at += *at == ',') {
    size_t n_entry = strcspn(at, ",");
    if (n_entry == n + 1 && *at == '+' && memcmp(at + 1, name, n) == 0) return true;
    at += n_entry;
  }
  return false;
}

static bool has_all(const char *features, const char *needs) {
  char name[32];
  for (const char *at = needs; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    SEER_ASSERT(n < sizeof name, "feature of %zu letters in '%s'", n, needs);
    memcpy(name, at, n);
    name[n] = '\0';
    if (!seer_target_has_feature(features, name)) return false;
    at += n;
  }
  return true;
}

bool seer_target_has(const seer_target *target, const char *features) {
  return target->features && has_all(target->features, features);
}

bool seer_target_dots_halves(const seer_target *target) {
  if (strncmp(target->triple, "aarch64", 7) == 0) return seer_target_has(target, "bf16");
  return seer_target_has(target, "avx512bf16") && !seer_target_has(target, "amx-tile");
}

bool seer_target_multiplies_bytes(const seer_target *target) {
  return seer_target_has(target, "amx-tile,amx-int8,avx512f");
}

bool seer_target_multiplies_halves(const seer_target *target) {
  return seer_target_has(target, "amx-tile,amx-bf16,avx512f");
}

bool seer_target_has_copies(const seer_target *target) {
  return target->kind == SEER_TARGET_CUDA &&
      target->gpu.architecture >= SEER_TARGET_COPY_ARCHITECTURE;
}

bool seer_target_has_mma(const seer_target *target) {
  return target->kind == SEER_TARGET_CUDA &&
      target->gpu.architecture >= SEER_TARGET_MMA_ARCHITECTURE && target->gpu.warp_items == 32;
}

static const seer_target_cpu *first_that_fits(
    const char *const *names, size_t n, const char *features) {
  for (size_t i = 0; i < n && names[i]; i++) {
    const seer_target_cpu *cpu = seer_target_find_cpu(names[i]);
    SEER_ASSERT(cpu != NULL, "processor '%s' is not in the table", names[i]);
    if (has_all(features, cpu->needs)) return cpu;
  }
  return NULL;
}

// Whether code for `a` needs a feature that code for `b` does not.
static bool needs_more(const seer_target_cpu *a, const seer_target_cpu *b) {
  for (const char *at = a->needs; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    bool is_of_b = false;
    for (const char *other = b->needs; *other && !is_of_b; other += *other == ',') {
      size_t n_other = strcspn(other, ",");
      is_of_b = n_other == n && memcmp(other, at, n) == 0;
      other += n_other;
    }
    if (!is_of_b) return true;
    at += n;
  }
  return false;
}

static const seer_target_cpu *match_model(
    const char *vendor, uint32_t family, uint32_t model, const char *features) {
  for (size_t i = 0; i < SEER_COUNT_OF(models); i++) {
    const seer_target_model *m = &models[i];
    if (strcmp(m->vendor, vendor) == 0 && m->family == family && model >= m->first_model &&
        model <= m->last_model)
      return first_that_fits(m->cpus, SEER_COUNT_OF(m->cpus), features);
  }
  return NULL;
}

static const seer_target_cpu *match_features(const char *vendor, const char *features) {
  for (size_t i = 0; i < SEER_COUNT_OF(by_features); i++) {
    if (by_features[i].vendor[0] && strcmp(by_features[i].vendor, vendor) != 0) continue;
    const seer_target_cpu *cpu =
        first_that_fits(by_features[i].cpus, SEER_COUNT_OF(by_features[i].cpus), features);
    if (cpu) return cpu;
  }
  return NULL;
}

// A hypervisor can hide features, and make a model's number up (a machine with tiles and AVX-512
// called itself Rocket Lake, and had been taken for its neighbours of 256 bits); it can't add
// features.
const seer_target_cpu *seer_target_match_cpu(
    const char *vendor, uint32_t family, uint32_t model, const char *features) {
  const seer_target_cpu *of_model = match_model(vendor, family, model, features);
  const seer_target_cpu *of_features = match_features(vendor, features);
  SEER_ASSERT(of_features != NULL, "no processor has features '%s'", features);
  return of_model && !needs_more(of_features, of_model) ? of_model : of_features;
}
