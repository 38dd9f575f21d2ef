// isa.c - see isa.h. A set of features is a bit mask over the architecture's part of the table.
#include "setup/isa.h"

#include <string.h>

#include "base/near.h"
#include "base/text.h"

typedef struct {
  seer_isa isa;
  const char *name;
  // "avx,sse3,...": of a processor all, of a feature what it implies, itself too
  const char *features;
} entry;

static const entry feature_table[] = {
#define SEER_ISA_FEATURE(isa, name, implies) {SEER_ISA_##isa, name, implies},
#define SEER_ISA_CPU(isa, name, features)
#include "setup/isa.inc"
#undef SEER_ISA_FEATURE
#undef SEER_ISA_CPU
};
static const entry cpu_table[] = {
#define SEER_ISA_FEATURE(isa, name, implies)
#define SEER_ISA_CPU(isa, name, features) {SEER_ISA_##isa, name, features},
#include "setup/isa.inc"
#undef SEER_ISA_FEATURE
#undef SEER_ISA_CPU
};

static const struct {
  const char *name, *other_name, *base_cpu, *base_features;
  const char *always;  // every machine has these: no list names them, and no change takes them away
} isas[SEER_ISA_COUNT] = {
    [SEER_ISA_X86_64] = {"x86_64", "x86_64", "x86-64", "", ",cmov,cx8,fxsr,mmx,sse,sse2,x87,"},
    [SEER_ISA_AARCH64] = {"aarch64", "arm64", "generic", "+fp-armv8,+neon", ","},
    // rv64gc: what Linux distributions are built for, and whose calling convention the triple means
    [SEER_ISA_RISCV64] = {"riscv64", "riscv64", "generic-rv64", "+a,+c,+d,+f,+m", ",i,"},
};

bool seer_isa_of(const char *triple, seer_isa *out) {
  size_t n = strcspn(triple, "-");
  for (int k = 0; k < SEER_ISA_COUNT && triple[n]; k++) {
    const char *names[2] = {isas[k].name, isas[k].other_name};
    for (int i = 0; i < 2; i++) {
      if (strlen(names[i]) != n || memcmp(names[i], triple, n) != 0) continue;
      *out = (seer_isa)k;
      return true;
    }
  }
  return false;
}

const char *seer_isa_name(seer_isa isa) { return isas[isa].name; }
const char *seer_isa_base_cpu(seer_isa isa) { return isas[isa].base_cpu; }
const char *seer_isa_base_features(seer_isa isa) { return isas[isa].base_features; }

// ---- sets

// 0 if there is none, else 1 + its index.
static size_t find(const entry *table, size_t n_table, seer_isa isa, const char *name, size_t n) {
  for (size_t i = 0; i < n_table; i++) {
    if (table[i].isa == isa && strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
      return i + 1;
  }
  return 0;
}

static size_t find_feature(seer_isa isa, const char *name, size_t n) {
  return find(feature_table, SEER_COUNT_OF(feature_table), isa, name, n);
}

// Bits count from the architecture's first feature.
static uint64_t bit_of(size_t feature) {
  size_t first = feature;
  while (first > 0 && feature_table[first - 1].isa == feature_table[feature].isa) first--;
  SEER_ASSERT(feature - first < 64, "%zu features", feature - first);
  return UINT64_C(1) << (feature - first);
}

// Names with commas between them, each after `skip` characters (the sign); unknown ones are left
// out.
static uint64_t set_of(seer_isa isa, const char *names, size_t skip) {
  uint64_t set = 0;
  for (const char *at = names; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    size_t found = n > skip ? find_feature(isa, at + skip, n - skip) : 0;
    if (found) set |= bit_of(found - 1);
    at += n;
  }
  return set;
}

static const char *text_of(seer_isa isa, uint64_t set, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (size_t i = 0; i < SEER_COUNT_OF(feature_table); i++) {  // in the order of their names
    if (feature_table[i].isa == isa && (set & bit_of(i)))
      seer_text_printf(&text, "%s+%s", text.n_bytes ? "," : "", feature_table[i].name);
  }
  return text.n_bytes ? text.data : "";
}

// What implies one of `gone`.
static uint64_t needing(seer_isa isa, uint64_t gone) {
  uint64_t set = 0;
  for (size_t i = 0; i < SEER_COUNT_OF(feature_table); i++) {
    if (feature_table[i].isa == isa && (set_of(isa, feature_table[i].features, 0) & gone))
      set |= bit_of(i);
  }
  return set;
}

// ---- names that are near

#define MAX_NEAR 4

// "haswell, skylake": at most MAX_NEAR, the nearest first.
static const char *near_names(const entry *table, size_t n_table, seer_isa isa, const char *name,
    size_t n, seer_arena *arena) {
  const char *wanted = seer_arena_strndup(arena, name, n), *nearest[MAX_NEAR];
  size_t distance[MAX_NEAR], n_near = 0;
  for (size_t i = 0; i < n_table; i++) {
    size_t d = table[i].isa == isa ? seer_name_distance(wanted, table[i].name) : SIZE_MAX;
    if (d > n || (n_near == MAX_NEAR && d >= distance[MAX_NEAR - 1])) continue;
    size_t at = n_near < MAX_NEAR ? n_near++ : MAX_NEAR - 1;
    for (; at > 0 && distance[at - 1] > d; at--) {
      distance[at] = distance[at - 1];
      nearest[at] = nearest[at - 1];
    }
    distance[at] = d;
    nearest[at] = table[i].name;
  }
  seer_text text;
  seer_text_init(&text, arena);
  for (size_t k = 0; k < n_near; k++) seer_text_printf(&text, "%s%s", k ? ", " : "", nearest[k]);
  return n_near ? text.data : "nothing like it";
}

// ---- lists

seer_status seer_isa_cpu_features(
    seer_isa isa, const char *cpu, seer_arena *arena, const char **out_features) {
  size_t found = find(cpu_table, SEER_COUNT_OF(cpu_table), isa, cpu, strlen(cpu));
  if (!found)
    return SEER_FAIL(INVALID, "target: LLVM knows no %s processor '%s'; it knows %s",
        isas[isa].name, cpu,
        near_names(cpu_table, SEER_COUNT_OF(cpu_table), isa, cpu, strlen(cpu), arena));
  *out_features = text_of(isa, set_of(isa, cpu_table[found - 1].features, 0), arena);
  return SEER_OK;
}

seer_status seer_isa_change(seer_isa isa, const char *features, const char *changes,
    seer_arena *arena, const char **out_features) {
  uint64_t set = set_of(isa, features, 1);
  for (const char *at = changes; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    if (n < 2 || (*at != '+' && *at != '-'))
      return SEER_FAIL(
          INVALID, "target: features '%s' must be a list such as +avx2,+fma,-avx512f", changes);
    size_t found = find_feature(isa, at + 1, n - 1);
    bool is_always = !found &&
        strstr(isas[isa].always, seer_arena_printf(arena, ",%.*s,", (int)(n - 1), at + 1)) != NULL;
    if (is_always && *at == '-')
      return SEER_FAIL(
          INVALID, "target: '%.*s': every %s machine has it", (int)n, at, isas[isa].name);
    if (!found && !is_always)
      return SEER_FAIL(INVALID, "target: '%.*s' is no feature that %s code may use; there are %s",
          (int)(n - 1), at + 1, isas[isa].name,
          near_names(feature_table, SEER_COUNT_OF(feature_table), isa, at + 1, n - 1, arena));
    if (found && *at == '+') set |= set_of(isa, feature_table[found - 1].features, 0);
    if (found && *at == '-') set &= ~needing(isa, bit_of(found - 1));
    at += n;
  }
  *out_features = text_of(isa, set, arena);
  return SEER_OK;
}

const char *seer_isa_usable(seer_isa isa, const char *features, seer_arena *arena) {
  uint64_t set = set_of(isa, features, 1);
  return text_of(isa, set & ~needing(isa, ~set), arena);
}
