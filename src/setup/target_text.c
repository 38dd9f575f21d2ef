// target_text.c - targets as text, both ways, and the keys of records; those of GPUs: gpu/text.c.
// One table lists the options, so what is printed is what is parsed: print(parse(print(t))) ==
// print(t).
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "setup/gpu/gpu.h"
#include "setup/isa.h"
#include "setup/target_fields.h"
#include "setup/target_table.h"

static const seer_field cpu_fields[] = {
    SEER_FIELD("triple", TEXT, triple, 0, 0),
    SEER_FIELD("cpu", TEXT, cpu, 0, 0),
    SEER_FIELD("features", WORDS, features, 0, 0),
    SEER_FIELD("model", TEXT, model_name, 0, 0),
    SEER_FIELD("threads", COUNT, threads, 1, 4096),
    SEER_FIELD("lanes", LANES, vector_bytes, 1, SEER_TARGET_MAX_VECTOR_BYTES),
    SEER_FIELD("registers", COUNT, n_vector_registers, 4, 256),
    SEER_FIELD("fma-ports", COUNT, n_fma_ports, 1, 16),
    SEER_FIELD("fma-latency", COUNT, fma_latency_cycles, 1, 64),
    SEER_FIELD("cache-line", COUNT, cache_line_bytes, 16, 1024),
    SEER_FIELD("l1", BYTES, l1_bytes, 1024, SEER_FIELD_MOST_BYTES),
    SEER_FIELD("l2", BYTES, l2_bytes, 0, SEER_FIELD_MOST_BYTES),
    SEER_FIELD("l3", BYTES, l3_bytes, 0, SEER_FIELD_MOST_BYTES),
    SEER_FIELD("gflops", RATE, peak_gflops, 1e-3, SEER_FIELD_MOST_RATE),
    SEER_FIELD("dram-gbs", RATE, dram_gbs, 1e-3, SEER_FIELD_MOST_RATE),
    SEER_FIELD("l2-gbs", RATE, l2_gbs, 1e-3, SEER_FIELD_MOST_RATE),
    SEER_FIELD("l3-gbs", RATE, l3_gbs, 1e-3, SEER_FIELD_MOST_RATE),
    SEER_FIELD("measured", FLAG, is_measured, 0, 1),
};
_Static_assert(SEER_COUNT_OF(cpu_fields) <= SEER_FIELDS_MAX, "room for what was given");
static const seer_fields fields = {cpu_fields, SEER_COUNT_OF(cpu_fields)};

static const char *const kind_names[SEER_TARGET_KIND_COUNT] = {"cpu", "cuda", "opencl"};
const char *seer_target_kind_name(seer_target_kind kind) { return kind_names[kind]; }

void seer_target_name(const seer_target *target, char out[SEER_TARGET_NAME_BYTES]) {
  if (target->kind == SEER_TARGET_CPU)
    (void)snprintf(out, SEER_TARGET_NAME_BYTES, "%s", target->triple ? target->triple : "");
  else
    seer_gpu_name(target, out);
}

bool seer_target_has_own_rates(const seer_target *target) {
  char name[SEER_TARGET_NAME_BYTES];
  seer_target_name(target, name);  // of no device of the table: "cuda:sm_90"
  return target->kind == SEER_TARGET_CPU ||
      (target->kind == SEER_TARGET_CUDA && strncmp(name, "cuda:sm_", 8) != 0);
}

seer_status seer_target_check_cpu(const seer_target *target) {
  if (target->kind == SEER_TARGET_CPU) return SEER_OK;
  char name[SEER_TARGET_NAME_BYTES];
  seer_target_name(target, name);
  return SEER_FAIL(UNSUPPORTED,
      "target %s: GPUs are served by compile and tune, and by run, bench and verify of what these "
      "make",
      name);
}

const char *seer_target_print(const seer_target *target, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, kind_names[target->kind]);
  seer_fields_print(target->kind == SEER_TARGET_CPU ? &fields : &seer_gpu_fields, target, &text);
  return text.data;
}

// ---- parsing

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
        "target '%s': known are native, cpu, c, c-vectors, triples of x86_64, aarch64, riscv64, "
        "and "
        "GPUs as `familyseer list targets` names them",
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

static bool is_given(const bool *given, const char *name) {
  return given[seer_fields_index(&fields, name)];
}

// Nothing is known of the processor, so nothing can be said of its instructions.
static seer_status check_c(const seer_target *target, const bool *given) {
  if (is_given(given, "cpu") || *target->features)
    return SEER_FAIL(INVALID,
        "target: '%s' has no -%s=; what the compiler is to use is said to it, by make CFLAGS=",
        target->triple, is_given(given, "cpu") ? "cpu" : "features");
  return SEER_OK;
}

// The instruction set. `before` is the list that the options began with (this machine's, or a
// triple's); a processor that is named takes its place. -features= then adds and takes away; in the
// form that is printed, "cpu ...", it is the whole list.
static seer_status settle_features(seer_target *target, const char *before, const bool *given,
    bool is_printed_form, seer_arena *arena) {
  bool has_cpu = is_given(given, "cpu"), has_features = is_given(given, "features");
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
  if (!is_given(given, "lanes")) target->vector_bytes = seer_target_is_plain(target) ? 64 : 16;
  if (!is_given(given, "registers")) target->n_vector_registers = 16;
  if (!is_given(given, "fma-ports")) target->n_fma_ports = 1;
  if (!is_given(given, "fma-latency")) target->fma_latency_cycles = 4;
  if (!is_given(given, "gflops"))
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
  if (!is_given(given, "lanes")) target->vector_bytes = bytes;
  if (!is_given(given, "registers") && isa == SEER_ISA_X86_64)
    target->n_vector_registers = target->vector_bytes == 64 ? 32 : 16;
  if (!is_given(given, "fma-ports")) target->n_fma_ports = cpu->n_fma_ports;
  if (!is_given(given, "fma-latency")) target->fma_latency_cycles = cpu->fma_latency_cycles;
  if (!is_given(given, "gflops"))
    target->peak_gflops = 2.5 * 2 * seer_target_lanes(target) * target->n_fma_ports;
}

seer_status seer_target_parse(const char *text, seer_arena *arena, seer_target *out_target) {
  const char *at = text;
  const char *word = seer_fields_next_word(&at, arena);
  if (!word)
    return SEER_FAIL(
        INVALID, "target is empty, must be native, cpu, c, c-vectors, a triple, or a GPU");
  if (seer_target_text_is_gpu(word)) return seer_gpu_parse(word, at, arena, out_target);
  seer_target target;
  bool given[SEER_FIELDS_MAX] = {false};
  bool is_native = strcmp(word, "native") == 0, is_printed_form = strcmp(word, "cpu") == 0;
  const char *options = at;
  if (is_native) {
    SEER_TRY(seer_target_detect(arena, &target));
  } else {
    const char *triple = word;
    if (is_printed_form) {
      // The triple is an option then; it must be known before the rest.
      triple = "x86_64-linux-gnu";
      for (const char *w, *ahead = at; (w = seer_fields_next_word(&ahead, arena)) != NULL;) {
        if (strncmp(w, "-triple=", 8) == 0) triple = w + 8;
      }
    }
    SEER_TRY(begin_triple(triple, &target));
  }
  const char *before = target.features;
  while ((word = seer_fields_next_word(&options, arena)) != NULL) {
    if (strncmp(word, "-triple=", 8) == 0 && strcmp(word + 8, target.triple) != 0)
      return SEER_FAIL(INVALID, "target: '%s' contradicts the triple %s", word, target.triple);
    SEER_TRY(seer_fields_set(&fields, word, arena, &target, given));
  }
  if (seer_target_is_c(&target)) {
    SEER_TRY(check_c(&target, given));
    derive_c(&target, given);
  } else {
    SEER_TRY(settle_features(&target, before, given, is_printed_form, arena));
    bool cpu_changed =
        is_given(given, "cpu") || is_given(given, "features") || is_given(given, "lanes");
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
  if (target->kind != SEER_TARGET_CPU) return seer_gpu_feature_key(target, h);
  h = seer_hash_str(target->triple, h);
  h = seer_hash_str(target->features, h);
  h = seer_hash_u64(target->vector_bytes, h);
  return seer_hash_u64(target->threads, h);
}

uint64_t seer_target_key(const seer_target *target) {
  uint64_t h = seer_target_feature_key(target);
  if (target->kind != SEER_TARGET_CPU) return seer_gpu_key(target, h);
  h = seer_hash_str(target->cpu, h);
  h = seer_hash_str(target->model_name ? target->model_name : "", h);
  h = seer_hash_u64(target->l1_bytes, h);
  h = seer_hash_u64(target->l2_bytes, h);
  return seer_hash_u64(target->l3_bytes, h);
}
