// target.c - what this machine is: /proc/cpuinfo and /sys say it, cpuid fills what a virtual
// machine hides. Figures that only a clock can tell (peak, bandwidths) are estimated here and
// measured in target_measure.c.
#include "setup/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/os.h"
#include "base/processors.h"
#include "setup/isa.h"
#include "setup/target_table.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef struct {
  const char *os, *llvm;
} feature_name;

#if defined(__x86_64__)
// The kernel's word -> LLVM's, where code may use it. Sorted by LLVM's name, so the list comes out
// sorted.
// clang-format off
static const feature_name feature_names[] = {
    {"adx", "adx"}, {"aes", "aes"}, {"amx_bf16", "amx-bf16"}, {"amx_fp16", "amx-fp16"},
    {"amx_int8", "amx-int8"}, {"amx_tile", "amx-tile"}, {"avx", "avx"}, {"avx2", "avx2"},
    {"avx512_bf16", "avx512bf16"}, {"avx512_bitalg", "avx512bitalg"}, {"avx512bw", "avx512bw"},
    {"avx512cd", "avx512cd"}, {"avx512dq", "avx512dq"}, {"avx512f", "avx512f"},
    {"avx512_fp16", "avx512fp16"}, {"avx512ifma", "avx512ifma"}, {"avx512vbmi", "avx512vbmi"},
    {"avx512_vbmi2", "avx512vbmi2"}, {"avx512vl", "avx512vl"}, {"avx512_vnni", "avx512vnni"},
    {"avx512_vpopcntdq", "avx512vpopcntdq"}, {"avx_vnni", "avxvnni"}, {"bmi1", "bmi"},
    {"bmi2", "bmi2"}, {"cx16", "cx16"}, {"f16c", "f16c"}, {"fma", "fma"}, {"gfni", "gfni"},
    {"abm", "lzcnt"}, {"movbe", "movbe"}, {"pclmulqdq", "pclmul"}, {"popcnt", "popcnt"},
    {"lahf_lm", "sahf"}, {"sha_ni", "sha"}, {"pni", "sse3"}, {"sse4_1", "sse4.1"},
    {"sse4_2", "sse4.2"}, {"ssse3", "ssse3"}, {"vaes", "vaes"}, {"vpclmulqdq", "vpclmulqdq"},
};
// clang-format on
#else
static const feature_name feature_names[] = {
    {"bf16", "bf16"},
    {"asimddp", "dotprod"},
    {"fp", "fp-armv8"},
    {"asimdhp", "fullfp16"},
    {"i8mm", "i8mm"},
    {"atomics", "lse"},
    {"asimd", "neon"},
};
#endif

// The value of the first line "key : value" of /proc/cpuinfo, or "".
static const char *cpuinfo_value(const char *text, const char *key, seer_arena *arena) {
  size_t n_key = strlen(key);
  for (const char *line = text; *line;) {
    size_t n_line = strcspn(line, "\n");
    if (strncmp(line, key, n_key) == 0) {
      const char *at = line + n_key;
      while (*at == ' ' || *at == '\t') at++;
      if (*at == ':') {
        at++;
        while (*at == ' ' || *at == '\t') at++;
        return seer_arena_strndup(arena, at, (size_t)(line + n_line - at));
      }
    }
    line += n_line;
    if (*line) line++;
  }
  return "";
}

static const char *list_features(seer_isa isa, const char *flags, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  bool has_tiles = seer_words_have(flags, "amx_tile") && seer_processors_ask_for_tiles();
  for (size_t i = 0; i < SEER_COUNT_OF(feature_names); i++) {
    if (!has_tiles && strncmp(feature_names[i].os, "amx_", 4) == 0) continue;
    if (seer_words_have(flags, feature_names[i].os))
      seer_text_printf(&text, "%s+%s", text.n_bytes ? "," : "", feature_names[i].llvm);
  }
  return seer_isa_usable(isa, text.n_bytes ? text.data : "", arena);
}

// ---- caches

// First line of a small file of /sys; false when it is not there.
static bool read_line(const char *path, char *out, size_t n) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool ok = fgets(out, (int)n, file) != NULL;
  fclose(file);
  if (ok) out[strcspn(out, "\n")] = '\0';
  return ok;
}

// "0-3,8" -> 5
static uint32_t count_cpus(const char *list) {
  uint32_t n = 0;
  while (*list) {
    char *end;
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (end == list) break;
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    n += (uint32_t)(last - first + 1);
    list = *end == ',' ? end + 1 : end;
  }
  return n ? n : 1;
}

static void keep_cache(seer_target *target, uint32_t level, uint64_t bytes) {
  if (level == 1) target->l1_bytes = bytes;
  if (level == 2) target->l2_bytes = bytes;
  if (level == 3) target->l3_bytes = bytes;
}

static void caches_from_sysfs(seer_target *target) {
  char path[128], text[256];
  const char *cpu0 = "/sys/devices/system/cpu/cpu0";
  uint32_t n_siblings = 1;
  snprintf(path, sizeof path, "%s/topology/thread_siblings_list", cpu0);
  if (read_line(path, text, sizeof text)) n_siblings = count_cpus(text);
  for (int i = 0; i < 8; i++) {
    snprintf(path, sizeof path, "%s/cache/index%d/type", cpu0, i);
    if (!read_line(path, text, sizeof text)) break;
    if (strcmp(text, "Instruction") == 0) continue;
    snprintf(path, sizeof path, "%s/cache/index%d/level", cpu0, i);
    if (!read_line(path, text, sizeof text)) continue;
    uint32_t level = (uint32_t)strtoul(text, NULL, 10);
    snprintf(path, sizeof path, "%s/cache/index%d/size", cpu0, i);
    if (!read_line(path, text, sizeof text)) continue;
    char *unit;
    uint64_t bytes = strtoull(text, &unit, 10);
    if (*unit == 'K') bytes <<= 10;
    if (*unit == 'M') bytes <<= 20;
    // A second-level cache that several cores share counts by the core.
    snprintf(path, sizeof path, "%s/cache/index%d/shared_cpu_list", cpu0, i);
    if (level <= 2 && read_line(path, text, sizeof text)) {
      uint32_t n_cores = count_cpus(text) / n_siblings;
      if (n_cores > 1) bytes /= n_cores;
    }
    keep_cache(target, level, bytes);
    snprintf(path, sizeof path, "%s/cache/index%d/coherency_line_size", cpu0, i);
    if (level == 1 && read_line(path, text, sizeof text)) {
      uint32_t line = (uint32_t)strtoul(text, NULL, 10);
      if (line >= 16 && line <= 1024) target->cache_line_bytes = line;
    }
  }
}

#if defined(__x86_64__)
// Leaf 4 (Intel) and 0x8000001D (AMD) have one layout.
static void caches_from_cpuid(seer_target *target, const char *vendor) {
  uint32_t leaf = strcmp(vendor, "GenuineIntel") == 0 ? 4 : 0x8000001D;
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t a, b, c, d;
    if (!__get_cpuid_count(leaf, i, &a, &b, &c, &d) || (a & 31) == 0) return;
    if ((a & 31) == 2) continue;  // instructions
    uint64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 1023) + 1, line = (b & 4095) + 1,
             sets = (uint64_t)c + 1;
    keep_cache(target, (a >> 5) & 7, ways * partitions * line * sets);
  }
}
#endif

// ---- the machine

static void estimate_speed(seer_target *target, const char *cpuinfo, seer_arena *arena) {
  char text[64];
  double ghz = strtod(cpuinfo_value(cpuinfo, "cpu MHz", arena), NULL) / 1e3;
  if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text))
    ghz = strtod(text, NULL) / 1e6;
  if (!(ghz >= 0.2 && ghz <= 10)) ghz = 2.5;
  // Bytes a cycle of one core, below what was measured (doc/decisions, 63): L2 on all; L3 on Zen 4,
  // whose eight cores have one of their own, and on a server's mesh.
  bool is_amd = strcmp(cpuinfo_value(cpuinfo, "vendor_id", arena), "AuthenticAMD") == 0;
  target->peak_gflops = ghz * 2 * seer_target_lanes(target) * target->n_fma_ports;
  target->l2_gbs = ghz * 32;
  target->l3_gbs = ghz * (is_amd ? 20 : 10);
  target->dram_gbs = 15;
}

seer_status seer_target_detect(seer_arena *arena, seer_target *out_target) {
  char *cpuinfo;
  SEER_TRY(seer_os_read_file("/proc/cpuinfo", arena, 64u << 20, &cpuinfo, NULL));
  seer_target target = {.kind = SEER_TARGET_CPU, .cache_line_bytes = 64};
  const seer_target_cpu *cpu;
#if defined(__x86_64__)
  target.triple = "x86_64-linux-gnu";
  target.features = list_features(SEER_ISA_X86_64, cpuinfo_value(cpuinfo, "flags", arena), arena);
  target.model_name = cpuinfo_value(cpuinfo, "model name", arena);
  const char *vendor = cpuinfo_value(cpuinfo, "vendor_id", arena);
  uint32_t family = (uint32_t)strtoul(cpuinfo_value(cpuinfo, "cpu family", arena), NULL, 10);
  uint32_t model = (uint32_t)strtoul(cpuinfo_value(cpuinfo, "model", arena), NULL, 10);
  cpu = seer_target_match_cpu(vendor, family, model, target.features);
  target.n_vector_registers = cpu->vector_bytes == 64 ? 32 : 16;
#elif defined(__aarch64__)
  static const struct {
    unsigned part;
    const char *name;
  } parts[] = {{0xd08, "cortex-a72"}, {0xd0b, "cortex-a76"}, {0xd0c, "neoverse-n1"},
      {0xd49, "neoverse-n2"}, {0xd40, "neoverse-v1"}, {0xd4f, "neoverse-v2"}};
  target.triple = "aarch64-linux-gnu";
  target.features =
      list_features(SEER_ISA_AARCH64, cpuinfo_value(cpuinfo, "Features", arena), arena);
  // An emulator shows the file of the machine that it runs on; what all have is here, too.
  if (!seer_target_has_feature(target.features, "neon"))
    target.features = seer_isa_base_features(SEER_ISA_AARCH64);
  unsigned part = (unsigned)strtoul(cpuinfo_value(cpuinfo, "CPU part", arena), NULL, 16);
  const char *name = "generic";
  for (size_t i = 0; i < SEER_COUNT_OF(parts); i++) {
    if (parts[i].part == part) name = parts[i].name;
  }
  cpu = seer_target_find_cpu(name);
  target.model_name = name;
  target.n_vector_registers = 32;
#else
  return SEER_FAIL(
      UNSUPPORTED, "this machine's architecture is not known: build on x86-64 or aarch64");
#endif
  target.cpu = cpu->name;
  target.vector_bytes = cpu->vector_bytes;
  target.n_fma_ports = cpu->n_fma_ports;
  target.fma_latency_cycles = cpu->fma_latency_cycles;
  target.threads = seer_os_n_cores();
  caches_from_sysfs(&target);
#if defined(__x86_64__)
  if (!target.l1_bytes || !target.l2_bytes) caches_from_cpuid(&target, vendor);
#endif
  if (!target.l1_bytes) target.l1_bytes = 32u << 10;
  if (!target.l2_bytes) target.l2_bytes = 256u << 10;
  estimate_speed(&target, cpuinfo, arena);
  *out_target = target;
  return SEER_OK;
}

// Of others (LLVM knows hundreds) nothing is known here.
static bool is_detected(const char *name) {
  for (size_t i = 0; i < SEER_COUNT_OF(feature_names); i++) {
    if (strcmp(feature_names[i].llvm, name) == 0) return true;
  }
  return false;
}

seer_status seer_target_check_here(const seer_target *target) {
  SEER_TRY(seer_target_check_cpu(target));
  if (seer_target_is_c(target))
    return SEER_FAIL(UNSUPPORTED,
        "target '%s' is no machine that code is run or measured on: tune for the machine itself "
        "(--target native), and write C of what was found by compile --emit c",
        target->triple);
  seer_arena *arena = seer_arena_create("target");
  seer_target here;
  seer_status status = seer_target_detect(arena, &here);
  size_t n_arch = status ? 0 : strcspn(here.triple, "-") + 1;
  if (!status && strncmp(target->triple, here.triple, n_arch) != 0)
    status = SEER_FAIL(
        UNSUPPORTED, "this machine (%s) can't run code for %s", here.triple, target->triple);
  for (const char *at = status ? "" : target->features; *at && !status; at += *at == ',') {
    size_t n = strcspn(at, ",");
    const char *name = seer_arena_strndup(arena, at + 1, n - 1);
    if (*at == '+' && is_detected(name) && !seer_target_has_feature(here.features, name))
      status = SEER_FAIL(UNSUPPORTED,
          "this machine can't run code for the target: it lacks %s (-features=)", name);
    at += n;
  }
  seer_arena_destroy(arena);
  return status;
}
