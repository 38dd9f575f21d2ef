// target_text.c - targets as text, both ways, and the keys of records.
// One table lists the options, so what is printed is what is parsed: print(parse(print(t))) ==
// print(t).
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "setup/isa.h"
#include "setup/target_table.h"

// Of one core, a thousand times what is built in 2026; the arithmetic of all models is exact or
// finite within these.
#define MOST_BYTES 1099511627776.0
#define MOST_RATE 1e6

typedef enum { TEXT, COUNT, BYTES, RATE, LANES, FLAG } field_kind;

static const struct {
  const char *name;
  field_kind kind;
  size_t offset;
  double min, max;
} fields[] = {
#define FIELD(name, kind, member, min, max) \
  { name, kind, offsetof(seer_target, member), min, max }
    FIELD("triple", TEXT, triple, 0, 0),
    FIELD("cpu", TEXT, cpu, 0, 0),
    FIELD("features", TEXT, features, 0, 0),
    FIELD("model", TEXT, model_name, 0, 0),
    FIELD("threads", COUNT, threads, 1, 4096),
    FIELD("lanes", LANES, vector_bytes, 1, SEER_TARGET_MAX_VECTOR_BYTES),
    FIELD("registers", COUNT, n_vector_registers, 4, 256),
    FIELD("fma-ports", COUNT, n_fma_ports, 1, 16),
    FIELD("fma-latency", COUNT, fma_latency_cycles, 1, 64),
    FIELD("cache-line", COUNT, cache_line_bytes, 16, 1024),
    FIELD("l1", BYTES, l1_bytes, 1024, MOST_BYTES),
    FIELD("l2", BYTES, l2_bytes, 0, MOST_BYTES),
    FIELD("l3", BYTES, l3_bytes, 0, MOST_BYTES),
    FIELD("gflops", RATE, peak_gflops, 1e-3, MOST_RATE),
    FIELD("dram-gbs", RATE, dram_gbs, 1e-3, MOST_RATE),
    FIELD("l2-gbs", RATE, l2_gbs, 1e-3, MOST_RATE),
    FIELD("l3-gbs", RATE, l3_gbs, 1e-3, MOST_RATE),
    FIELD("measured", FLAG, is_measured, 0, 1),
};

static const char *const kind_names[SEER_TARGET_KIND_COUNT] = {"cpu", "cuda", "opencl"};

static const void *member(const seer_target *target, size_t i) {
  return (const char *)target + fields[i].offset;
}

const char *seer_target_print(const seer_target *target, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, kind_names[target->kind]);
  for (size_t i = 0; i < SEER_COUNT_OF(fields); i++) {
    const void *at = member(target, i);
    if (fields[i].kind == FLAG) {
      if (*(const bool *)at) seer_text_printf(&text, " -%s", fields[i].name);
      continue;
    }
    // No features is a statement: where it is left out, the triple's own are meant.
    bool is_features = fields[i].offset == offsetof(seer_target, features);
    const char *value = "";
    if (fields[i].kind == TEXT) {
      value = *(const char *const *)at;
      if (!value || (!*value && !is_features)) continue;
    }
    seer_text_printf(&text, " -%s=", fields[i].name);
    switch (fields[i].kind) {
      case TEXT:
        seer_text_printf(&text, strpbrk(value, " ,") && !is_features ? "\"%s\"" : "%s", value);
        break;
      case COUNT:
        seer_text_printf(&text, "%u", *(const uint32_t *)at);
        break;
      case LANES:
        seer_text_printf(&text, "%u", *(const uint32_t *)at / 4);
        break;
      case BYTES:
        seer_text_printf(&text, "%" PRIu64, *(const uint64_t *)at);
        break;
      case RATE:
        seer_text_put_f64(&text, *(const double *)at);
        break;
      case FLAG:
        break;
    }
  }
  return text.data;
}

// ---- parsing

// A word of the text: up to a blank, or to a comma behind which an option "-name=" begins; quotes
// hold blanks.
static const char *next_word(const char **at, seer_arena *arena) {
  while (**at == ' ' || **at == '\t' || **at == ',') ++*at;
  const char *start = *at;
  bool quoted = false;
  for (; **at; ++*at) {
    if (**at == '"') quoted = !quoted;
    if (quoted) continue;
    if (**at == ' ' || **at == '\t') break;
    if (**at == ',' && (*at)[1] == '-') {
      size_t n = strcspn(*at + 2, "=, ");
      if ((*at)[2 + n] == '=') break;
    }
  }
  return *at == start ? NULL : seer_arena_strndup(arena, start, (size_t)(*at - start));
}

bool seer_target_is_plain(const seer_target *target) {
  return target->triple && strcmp(target->triple, "c") == 0;
}

bool seer_target_is_c(const seer_target *target) {
  return seer_target_is_plain(target) ||
      (target->triple && strcmp(target->triple, "c-vectors") == 0);
}

// Facts of an architecture before options are read; a cross target has no more to go by. Its
// processor is the plainest that the triple stands for.
static seer_status begin_triple(const char *triple, seer_target *out) {
  bool is_c = seer_target_is_c(&(seer_target){.triple = triple});
  seer_isa isa = SEER_ISA_X86_64;
  for (const char *c = triple; *c; c++) {
    if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
      return SEER_FAIL(INVALID, "target: a triple has letters, digits and - _ . only");
  }
  if (!is_c && !seer_isa_of(triple, &isa))
    return SEER_FAIL(UNSUPPORTED,
        "target '%s': known are native, cpu, c, c-vectors, and triples of x86_64, aarch64, riscv64",
        triple);
  *out = (seer_target){.kind = SEER_TARGET_CPU,
      .triple = triple,
      .cpu = is_c ? "" : seer_isa_base_cpu(isa),
      .features = is_c ? "" : seer_isa_base_features(isa),
      .model_name = "",
      .threads = 1,
      .n_vector_registers = isa == SEER_ISA_X86_64 ? 16 : 32,
      .cache_line_bytes = 64,
      .l1_bytes = 32u << 10,
      .l2_bytes = 512u << 10,
      .l3_bytes = 8u << 20,
      .dram_gbs = 10,
      .l2_gbs = 80,
      .l3_gbs = 20};
  return SEER_OK;
}

static bool parse_number(const char *text, bool is_bytes, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (end == text) return false;
  if (is_bytes && *end) {
    if (*end == 'K')
      *out *= 1024;
    else if (*end == 'M')
      *out *= 1024 * 1024;
    else if (*end == 'G')
      *out *= 1024.0 * 1024 * 1024;
    else
      return false;
    end++;
  }
  return *end == '\0';
}

static size_t field_of(const char *name) {
  size_t i = 0;
  while (strcmp(fields[i].name, name) != 0) i++;
  return i;
}

// Nothing is known of the processor, so nothing can be said of its instructions.
static seer_status check_c(const seer_target *target, const bool *given) {
  if (given[field_of("cpu")] || *target->features)
    return SEER_FAIL(INVALID,
        "target: '%s' has no -%s=; what the compiler is to use is said to it, by make CFLAGS=",
        target->triple, given[field_of("cpu")] ? "cpu" : "features");
  return SEER_OK;
}

// The instruction set. `before` is the list that the options began with (this machine's, or a
// triple's); a processor that is named takes its place. -features= then adds and takes away; in the
// form that is printed, "cpu ...", it is the whole list.
static seer_status settle_features(seer_target *target, const char *before, const bool *given,
    bool is_printed_form, seer_arena *arena) {
  bool has_cpu = given[field_of("cpu")], has_features = given[field_of("features")];
  const char *changes = has_features ? target->features : "", *brought = before;
  seer_isa isa = SEER_ISA_X86_64;
  bool is_known = seer_isa_of(target->triple, &isa);
  SEER_ASSERT(is_known, "triple %s", target->triple);
  if (has_cpu) SEER_TRY(seer_isa_cpu_features(isa, target->cpu, arena, &brought));
  if (is_printed_form && has_features) {
    if (changes[0] == '-' || strstr(changes, ",-"))
      return SEER_FAIL(INVALID,
          "target: after 'cpu', -features=%s must be a whole list, such as +avx2,+fma; behind a "
          "triple or 'native' it adds and takes away",
          changes);
    brought = "";
  }
  SEER_TRY(seer_isa_change(isa, brought, changes, arena, &target->features));
  // Vectors and the calling convention of floats stand on these.
  const char *least = isa == SEER_ISA_AARCH64 ? "neon" : isa == SEER_ISA_RISCV64 ? "d" : NULL;
  if (least && !seer_target_has_feature(target->features, least))
    return SEER_FAIL(UNSUPPORTED, "target: %s without +%s (processor %s, features '%s')",
        seer_isa_name(isa), least, target->cpu, target->features);
  return SEER_OK;
}

// Sixteen registers and vectors of 16 bytes are what most 64-bit processors have at least. Rows of
// plain loops are of 16 floats, whatever the vectors that compilers make of them: ResNet-18 and
// MobileNetV2 took 162 and 24 ms with these, 258 and 64 with 8, 1,159 and 134 with single ones (GCC
// 12 -O3, x86-64; with -march=native 105 and 11, 220 and 21, 954 and 137; one thread, 2026-11).
static void derive_c(seer_target *target, const bool *given) {
  if (!given[field_of("lanes")]) target->vector_bytes = seer_target_is_plain(target) ? 64 : 16;
  if (!given[field_of("registers")]) target->n_vector_registers = 16;
  if (!given[field_of("fma-ports")]) target->n_fma_ports = 1;
  if (!given[field_of("fma-latency")]) target->fma_latency_cycles = 4;
  if (!given[field_of("gflops")])
    target->peak_gflops = 2.5 * 2 * seer_target_lanes(target) * target->n_fma_ports;
}

static uint32_t vector_bytes_of(const seer_target *target, seer_isa isa) {
  const char *features = target->features;
  switch (isa) {
    case SEER_ISA_X86_64:
      return seer_target_has_feature(features, "avx512f") ? 64
          : seer_target_has_feature(features, "avx")      ? 32
                                                          : 16;
    case SEER_ISA_AARCH64:
      return 16;
    case SEER_ISA_RISCV64:
      return seer_target_has_feature(features, "v") ? 16 : 4;  // V has 128 bits at least
    case SEER_ISA_COUNT:
      break;
  }
  SEER_ASSERT(false, "architecture %d", (int)isa);
}

// The entry whose pipes are the target's: the processor's own, if its vectors are as wide as the
// features let them be and it may use FMAs; else what the features come to.
static const seer_target_cpu *pipes_of(const seer_target *target, seer_isa isa, uint32_t bytes) {
  const seer_target_cpu *cpu = seer_target_find_cpu(target->cpu);
  if (isa != SEER_ISA_X86_64) return cpu ? cpu : seer_target_find_cpu("generic");
  if (!seer_target_has_feature(target->features, "fma")) return seer_target_find_cpu("x86-64");
  if (cpu && cpu->vector_bytes == bytes) return cpu;
  return seer_target_find_cpu(bytes == 64 ? "x86-64-v4" : "x86-64-v3");
}

// Width, registers and pipes that follow from processor and features, where no option states them.
static void derive(seer_target *target, const bool *given) {
  seer_isa isa = SEER_ISA_X86_64;
  bool is_known = seer_isa_of(target->triple, &isa);
  SEER_ASSERT(is_known, "triple %s", target->triple);
  uint32_t bytes = vector_bytes_of(target, isa);
  const seer_target_cpu *cpu = pipes_of(target, isa, bytes);
  for (size_t i = 0; i < SEER_COUNT_OF(fields); i++) {
    if (given[i]) continue;
    if (strcmp(fields[i].name, "lanes") == 0) target->vector_bytes = bytes;
    if (strcmp(fields[i].name, "registers") == 0 && isa == SEER_ISA_X86_64)
      target->n_vector_registers = target->vector_bytes == 64 ? 32 : 16;
    if (strcmp(fields[i].name, "fma-ports") == 0) target->n_fma_ports = cpu->n_fma_ports;
    if (strcmp(fields[i].name, "fma-latency") == 0)
      target->fma_latency_cycles = cpu->fma_latency_cycles;
    if (strcmp(fields[i].name, "gflops") == 0)
      target->peak_gflops = 2.5 * 2 * seer_target_lanes(target) * target->n_fma_ports;
  }
}

static seer_status set_field(
    seer_target *target, const char *word, bool *given, seer_arena *arena) {
  size_t n_name = strcspn(word + 1, "=");
  const char *value = word[1 + n_name] ? word + 2 + n_name : "";
  size_t i = 0;
  while (i < SEER_COUNT_OF(fields) &&
      (strlen(fields[i].name) != n_name || memcmp(fields[i].name, word + 1, n_name) != 0))
    i++;
  if (i == SEER_COUNT_OF(fields)) {
    seer_text known;
    seer_text_init(&known, arena);
    for (size_t k = 0; k < SEER_COUNT_OF(fields); k++)
      seer_text_printf(&known, " -%s", fields[k].name);
    return SEER_FAIL(INVALID, "target: unknown option '%s', known are%s", word, known.data);
  }
  given[i] = true;
  void *at = (char *)target + fields[i].offset;
  if (fields[i].kind == FLAG) {
    *(bool *)at = true;
    return SEER_OK;
  }
  if (fields[i].kind == TEXT) {
    size_t n = strlen(value);
    bool is_quoted = n >= 2 && value[0] == '"' && value[n - 1] == '"';
    if (is_quoted) value = seer_arena_strndup(arena, value + 1, n - 2);
    for (const char *c = value; *c; c++) {
      if ((unsigned char)*c < ' ' || *c == '"')
        return SEER_FAIL(
            INVALID, "target: option -%s has a quote or a control character", fields[i].name);
    }
    bool may_be_empty = fields[i].offset == offsetof(seer_target, features);
    if (!*value && !may_be_empty)
      return SEER_FAIL(INVALID, "target: option -%s has no value", fields[i].name);
    *(const char **)at = value;
    return SEER_OK;
  }
  double number;
  if (!parse_number(value, fields[i].kind == BYTES, &number) ||
      !(number >= fields[i].min && number <= fields[i].max) ||
      (fields[i].kind != RATE && number != (double)(uint64_t)number))
    return SEER_FAIL(INVALID, "target: option '%s' must be a number from %g to %g", word,
        fields[i].min, fields[i].max);
  switch (fields[i].kind) {
    case COUNT:
      *(uint32_t *)at = (uint32_t)number;
      break;
    case LANES:
      *(uint32_t *)at = (uint32_t)number * 4;
      break;
    case BYTES:
      *(uint64_t *)at = (uint64_t)number;
      break;
    case RATE:
      *(double *)at = number;
      break;
    case TEXT:
    case FLAG:
      break;
  }
  return SEER_OK;
}

seer_status seer_target_parse(const char *text, seer_arena *arena, seer_target *out_target) {
  const char *at = text;
  const char *word = next_word(&at, arena);
  if (!word)
    return SEER_FAIL(INVALID, "target is empty, must be native, cpu, c, c-vectors, or a triple");
  for (int kind = SEER_TARGET_CUDA; kind < SEER_TARGET_KIND_COUNT; kind++) {
    if (strcmp(word, kind_names[kind]) == 0)
      return SEER_FAIL(UNSUPPORTED, "target '%s' is not built yet, only CPUs are", word);
  }
  seer_target target;
  bool given[SEER_COUNT_OF(fields)] = {false};
  bool is_native = strcmp(word, "native") == 0, is_printed_form = strcmp(word, "cpu") == 0;
  const char *options = at;
  if (is_native) {
    SEER_TRY(seer_target_detect(arena, &target));
  } else {
    const char *triple = word;
    if (is_printed_form) {
      // The triple is an option then; it must be known before the rest.
      triple = "x86_64-linux-gnu";
      for (const char *w, *ahead = at; (w = next_word(&ahead, arena)) != NULL;) {
        if (strncmp(w, "-triple=", 8) == 0) triple = w + 8;
      }
    }
    SEER_TRY(begin_triple(triple, &target));
  }
  const char *before = target.features;
  while ((word = next_word(&options, arena)) != NULL) {
    if (word[0] != '-')
      return SEER_FAIL(INVALID, "target: '%s' is not an option, options begin with '-'", word);
    if (strncmp(word, "-triple=", 8) == 0 && strcmp(word + 8, target.triple) != 0)
      return SEER_FAIL(INVALID, "target: '%s' contradicts the triple %s", word, target.triple);
    SEER_TRY(set_field(&target, word, given, arena));
  }
  if (seer_target_is_c(&target)) {
    SEER_TRY(check_c(&target, given));
    derive_c(&target, given);
  } else {
    SEER_TRY(settle_features(&target, before, given, is_printed_form, arena));
    bool cpu_changed =
        given[field_of("cpu")] || given[field_of("features")] || given[field_of("lanes")];
    if (!is_native || cpu_changed) derive(&target, given);
  }
  if (target.vector_bytes & (target.vector_bytes - 1))
    return SEER_FAIL(
        INVALID, "target: -lanes=%u must be a power of two", seer_target_lanes(&target));
  if (target.cache_line_bytes & (target.cache_line_bytes - 1))
    return SEER_FAIL(
        INVALID, "target: -cache-line=%u must be a power of two", target.cache_line_bytes);
  *out_target = target;
  return SEER_OK;
}

// ---- keys

uint64_t seer_target_feature_key(const seer_target *target) {
  uint64_t h = seer_hash_u64((uint64_t)target->kind, 0x7461726765743031u);
  h = seer_hash_str(target->triple, h);
  h = seer_hash_str(target->features, h);
  h = seer_hash_u64(target->vector_bytes, h);
  return seer_hash_u64(target->threads, h);
}

uint64_t seer_target_key(const seer_target *target) {
  uint64_t h = seer_target_feature_key(target);
  h = seer_hash_str(target->cpu, h);
  h = seer_hash_str(target->model_name ? target->model_name : "", h);
  h = seer_hash_u64(target->l1_bytes, h);
  h = seer_hash_u64(target->l2_bytes, h);
  return seer_hash_u64(target->l3_bytes, h);
}
