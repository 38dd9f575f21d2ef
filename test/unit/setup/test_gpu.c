// GPUs as targets: names, text both ways, facts that go together, keys, and that nothing which is
// made for a CPU takes one.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "setup/context.h"
#include "setup/gpu/gpu.h"
#include "support/test_arena.h"

static seer_target parse(const char *text) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (status) fail_msg("%s: %s", text, seer_status_message(status));
  return target;
}

// All that have a name: devices, then architectures.
static size_t list_all(seer_target out[64]) {
  size_t n = 0;
  for (size_t i = 0; i < seer_gpu_table_count; i++)
    seer_gpu_of_device(&seer_gpu_table[i], &out[n++]);
  const char *at = seer_gpu_architectures(arena);
  for (const char *word; (word = seer_fields_next_word(&at, arena)) != NULL;)
    out[n++] = parse(word);
  seer_gpu_of_opencl(&out[n++]);
  return n;
}

static void round_trips(const seer_target *t) {
  const char *text = seer_target_print(t, arena);
  seer_target back = parse(text);
  assert_string_equal(seer_target_print(&back, arena), text);
  assert_memory_equal(&back.gpu, &t->gpu, sizeof t->gpu);
  assert_string_equal(back.model_name, t->model_name);
  assert_int_equal(back.kind, t->kind);
  assert_int_equal(back.is_measured, t->is_measured);
  assert_true(seer_target_key(&back) == seer_target_key(t));
  assert_true(seer_target_feature_key(&back) == seer_target_feature_key(t));
}

static void all_round_trip(void **state) {
  (void)state;
  seer_target all[64];
  size_t n = list_all(all);
  assert_true(n >= 7 + 8 + 1);
  for (size_t i = 0; i < n; i++) round_trips(&all[i]);
  static const char *const texts[] = {"cuda -arch=sm_80", "cuda:sm_80 -processors=20",
      "cuda:h100,-processors=114,-dram-gbs=2039", "cuda:a100 -model=\"A B, C\" -measured",
      "opencl -l2=8M -warp=64 -block-items=1024 -launch-s=1.5e-05",
      "opencl:generic -registers=65536 -item-registers=128 -register-unit=64", "  cuda:t4 "};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++) {
    seer_target t = parse(texts[i]);
    round_trips(&t);
  }
}

static void names_are_what_they_print(void **state) {
  (void)state;
  char name[SEER_TARGET_NAME_BYTES];
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    const seer_gpu_device *device = &seer_gpu_table[i];
    seer_target t = parse(device->name);
    assert_int_equal(t.kind, device->kind);
    seer_target_name(&t, name);
    assert_string_equal(name, device->name);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(device->name, seer_gpu_table[k].name);
      assert_string_not_equal(device->model_name, seer_gpu_table[k].model_name);
    }
  }
  static const char *const pairs[][2] = {{"cuda:sm_90", "cuda:sm_90"},
      {"cuda -arch=sm_75 -processors=3", "cuda:sm_75"}, {"opencl", "opencl"},
      {"cuda:h100 -processors=114", "cuda:h100"}, {"x86_64-linux-gnu", "x86_64-linux-gnu"}};
  for (size_t i = 0; i < SEER_COUNT_OF(pairs); i++) {
    seer_target t = parse(pairs[i][0]);
    seer_target_name(&t, name);
    assert_string_equal(name, pairs[i][1]);
  }
  assert_true(seer_target_text_is_gpu("cuda:x") && seer_target_text_is_gpu(" opencl -l2=1"));
  assert_false(seer_target_text_is_gpu("cudax") || seer_target_text_is_gpu("native -model=cuda"));
}

// What an option does not say is the architecture's; a name's facts are its own.
static void facts_follow_from_the_architecture(void **state) {
  (void)state;
  seer_target t = parse("cuda -arch=sm_86 -processors=28");
  assert_int_equal(t.gpu.n_processors, 28);
  assert_int_equal(t.gpu.max_processor_items, 1536);
  assert_int_equal(t.gpu.max_block_bytes, 99 << 10);
  t = parse("cuda:h200");
  assert_int_equal(t.gpu.n_processors, 132);
  // bench/gpu/facts-h200.json has what the device says and what was measured.
  assert_int_equal(t.gpu.processor_bytes, 233472);
  assert_int_equal(t.gpu.max_block_bytes, 232448);
  assert_int_equal(t.gpu.block_bytes, 49152);
  assert_int_equal(t.gpu.block_bytes_reserved, 1024);
  assert_int_equal(t.gpu.l2_bytes, 60 << 20);
  assert_int_equal(t.gpu.f16_flops, 2660);
  assert_true(t.is_measured && t.gpu.dram_gbs == 4497);
  assert_false(parse("cuda:h100").is_measured);
  t = parse("opencl:generic");
  assert_int_equal(t.gpu.architecture, 0);
  assert_int_equal(t.gpu.n_registers, 0);
}

// The table's processors, rates and clocks come to what is published of the whole device.
static void rates_come_to_what_is_published(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double f32, f16, bf16, tf32;  // TFLOP/s, dense, sums in f32
  } cases[] = {{"cuda:v100", 15.7, 125, 0, 0}, {"cuda:t4", 8.1, 65, 0, 0},
      {"cuda:a100", 19.5, 312, 312, 156}, {"cuda:rtx4090", 82.6, 165.2, 165.2, 82.6},
      {"cuda:h100", 66.9, 989.4, 989.4, 494.7}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = parse(cases[i].name);
    double ghz = 1e-3 * t.gpu.clock_ghz * t.gpu.n_processors;
    const double pairs[][2] = {{seer_gpu_gflops(&t.gpu) * 1e-3, cases[i].f32},
        {t.gpu.f16_flops * ghz, cases[i].f16}, {t.gpu.bf16_flops * ghz, cases[i].bf16},
        {t.gpu.tf32_flops * ghz, cases[i].tf32}};
    for (size_t k = 0; k < SEER_COUNT_OF(pairs); k++)
      if (fabs(pairs[k][0] - pairs[k][1]) > 0.01 * pairs[k][1])
        fail_msg("%s, rate %zu: %g, published are %g", cases[i].name, k, pairs[k][0], pairs[k][1]);
  }
}

static void errors_name_what_was_found_and_what_is_allowed(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {{"cuda", "cuda without -arch="}, {"cuda", "cuda:sm_70 cuda:sm_75"},
      {"cuda:h1000", "'cuda:h1000' is not known, did you mean 'cuda:h100'?"},
      {"cuda:k40", "known are cuda:v100, cuda:t4"}, {"cuda:", "'cuda:' is not known"},
      {"cuda:sm_61", "architectures alone: cuda:sm_70"}, {"cuda:sm_", "is not known"},
      {"cuda:sm_090", "is not known"}, {"cuda:sm_90a", "is not known"},
      {"cuda:sm_4294967386", "is not known"}, {"cuda:0", "'cuda:0' is not known"},
      {"opencl:1 -l2=1M", "'opencl:1' is not known"},
      {"cuda:generic", "'cuda:generic' is not known"}, {"opencl:h100", "known are opencl:generic"},
      {"cuda -arch=sm_60", "-arch=sm_60 is not known; known are those of cuda:sm_70"},
      {"cuda -arch=90", "-arch=90 is not known"},
      {"cuda:h100 -arch=sm_80", "'-arch=sm_80' contradicts cuda:h100"},
      {"cuda:h100 -arch=90", "must be -arch=sm_ and a number"},
      {"opencl -arch=sm_90", "'-arch=sm_90' contradicts opencl"},
      {"cuda:h100 -threads=4", "unknown option '-threads=4', known are -arch -model"},
      {"cuda:h100 processors=4", "'processors=4' is not an option"},
      {"cuda:h100 -processors=0", "must be a number from 1 to 4096"},
      {"cuda:h100 -processors=1.5", "must be a number from 1 to 4096"},
      {"cuda:h100 -dram-gbs=nan", "must be a number from 0.001 to 1e+06"},
      {"cuda:h100 -launch-s=-1", "must be a number from 0 to 1"},
      {"cuda:h100 -warp=24", "-warp=24 must be a power of two"},
      {"cuda:h100 -banks=31", "-banks=31 must be a power of two"},
      {"cuda:h100 -block-items=2048", "from 1 to 1024"},
      {"cuda:h100 -block-items=100", "-block-items=100 must be a multiple of -warp, which is 32"},
      {"cuda:h100 -processor-items=512",
          "-block-items=1024 must be at most -processor-items, which is 512"},
      {"cuda:h100 -max-block-bytes=16K",
          "-block-bytes=49152 must be at most -max-block-bytes, which is 16384"},
      {"cuda:h100 -processor-bytes=100K",
          "-max-block-bytes=232448 must be at most -processor-bytes less -bytes-reserved, which is "
          "101376"},
      {"cuda:h100 -processor-bytes=1024 -bytes-reserved=2048", "which is 0"},
      {"cuda:h100 -registers=0", "must all be known, or all 0"},
      {"opencl -item-registers=64", "must all be known, or all 0"},
      {"cuda:h100 -registers=100 -item-registers=200",
          "-item-registers=200 must be at most -registers, which is 100"},
      {"native -processors=4", "unknown option '-processors=4', known are -triple"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target target;
    seer_status status = seer_target_parse(cases[i].text, arena, &target);
    if (!status) fail_msg("accepted '%s'", cases[i].text);
    assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
    if (!strstr(seer_status_message(status), cases[i].message))
      fail_msg("'%s': %s", cases[i].text, seer_status_message(status));
    seer_status_free(status);
  }
}

// Of two kinds nothing has one key, and facts that are the same do not help.
static void keys_carry_the_kind(void **state) {
  (void)state;
  seer_target all[72];
  size_t n = list_all(all);
  all[n++] = parse("native");
  all[n++] = parse("x86_64-linux-gnu");
  all[n++] = parse("c");
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) {
      bool same = strcmp(seer_target_print(&all[i], arena), seer_target_print(&all[k], arena)) == 0;
      assert_int_equal(seer_target_key(&all[i]) == seer_target_key(&all[k]), same);
      if (all[i].kind == all[k].kind) continue;
      assert_true(seer_target_feature_key(&all[i]) != seer_target_feature_key(&all[k]));
    }
    for (int kind = 0; kind < SEER_TARGET_KIND_COUNT; kind++) {
      seer_target other = all[i];
      other.kind = (seer_target_kind)kind;
      bool is_it = other.kind == all[i].kind;
      assert_int_equal(seer_target_key(&other) == seer_target_key(&all[i]), is_it);
      assert_int_equal(seer_target_feature_key(&other) == seer_target_feature_key(&all[i]), is_it);
    }
  }
}

static void keys_see_what_they_should(void **state) {
  (void)state;
  seer_target a = parse("cuda:h100");
  static const struct {
    const char *text;
    bool same_key, same_feature_key;
  } cases[] = {{"cuda:h200", false, true}, {"cuda:a100", false, false},
      {"cuda:h100 -processors=114", false, true}, {"cuda:h100 -l2=1M", false, true},
      {"cuda:h100 -processor-items=1024", false, true},
      {"cuda:h100 -max-block-bytes=64K", false, false},
      {"cuda:h100 -block-items=512", false, false}, {"cuda:h100 -item-registers=128", false, false},
      {"cuda:h100 -dram-gbs=1 -clock-ghz=1 -fmas=1 -f16-flops=0 -launch-s=1 -measured", true,
          true}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target b = parse(cases[i].text);
    if ((seer_target_key(&a) == seer_target_key(&b)) != cases[i].same_key)
      fail_msg("%s: key", cases[i].text);
    if ((seer_target_feature_key(&a) == seer_target_feature_key(&b)) != cases[i].same_feature_key)
      fail_msg("%s: feature key", cases[i].text);
  }
}

// ---- devices as their drivers describe them

static seer_target described(seer_target_kind kind, const seer_device_info *info) {
  seer_target target;
  seer_status status = seer_gpu_of_described(kind, info, arena, &target);
  if (status) fail_msg("%s: %s", info->name, seer_status_message(status));
  round_trips(&target);
  return target;
}

static void numbers_name_devices_here(void **state) {
  (void)state;
  static const struct {
    const char *text;
    seer_target_kind kind;
    uint32_t number;
    const char *rest;
  } cases[] = {{"cuda:0", SEER_TARGET_CUDA, 0, ""}, {"opencl:12", SEER_TARGET_OPENCL, 12, ""},
      {" opencl:1 -l2=8M", SEER_TARGET_OPENCL, 1, " -l2=8M"},
      {"cuda:1,-l2=8M", SEER_TARGET_CUDA, 1, ",-l2=8M"},
      {"cuda:00000000000000000001", SEER_TARGET_CUDA, 1, ""}};
  static const char *const others[] = {"cuda", "cuda:", "cuda:h100", "cuda:sm_90", "cuda:3d",
      "cuda:-1", "cuda0", "native", "opencl", "opencl:generic", "opencl -processors=1", "cpu:0"};
  seer_target_kind kind;
  uint32_t number;
  const char *rest;
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    assert_true(seer_gpu_read_number(cases[i].text, &kind, &number, &rest));
    assert_int_equal(kind, cases[i].kind);
    assert_int_equal(number, cases[i].number);
    assert_string_equal(rest, cases[i].rest);
  }
  for (size_t i = 0; i < SEER_COUNT_OF(others); i++)
    assert_false(seer_gpu_read_number(others[i], &kind, &number, &rest));
  // 2^32 + 1 is no other name of 1.
  assert_true(seer_gpu_read_number("cuda:4294967297", &kind, &number, &rest));
  assert_true(number > 999999);
}

static void opencl_is_as_described(void **state) {
  (void)state;
  seer_device_info info = {.name = "Some \"GPU\"\n, -l2=1",
      .driver = "Platform 1.0",
      .n_processors = 24,
      .max_items = 500,
      .clock_mhz = 1700,
      .group_bytes = 49152,
      .memory_bytes = UINT64_C(8) << 30,
      .cache_bytes = 3 << 20};
  seer_target plain, t = described(SEER_TARGET_OPENCL, &info);
  seer_gpu_of_opencl(&plain);
  assert_string_equal(t.model_name, "Some  GPU  , -l2=1");
  assert_int_equal(t.gpu.n_processors, 24);
  assert_int_equal(t.gpu.max_block_items, 480);  // whole warps
  assert_int_equal(t.gpu.block_bytes, 49152);
  assert_int_equal(t.gpu.max_block_bytes, 49152);
  assert_int_equal(t.gpu.processor_bytes, plain.gpu.processor_bytes);
  assert_int_equal(t.gpu.l2_bytes, 3 << 20);
  assert_true(t.gpu.clock_ghz == 1e-3 * 1700 && !t.is_measured);
  // The other one of two, by another driver, is the same machine to records.
  snprintf(info.driver, sizeof info.driver, "Platform 1.1");
  seer_target other = described(SEER_TARGET_OPENCL, &info);
  assert_string_equal(seer_target_print(&other, arena), seer_target_print(&t, arena));
  assert_true(seer_target_key(&other) == seer_target_key(&t));
  info.n_processors = 23;
  other = described(SEER_TARGET_OPENCL, &info);
  assert_true(seer_target_key(&other) != seer_target_key(&t));
  assert_true(seer_target_feature_key(&other) == seer_target_feature_key(&t));
  // What is not known, and what no text form has.
  info = (seer_device_info){.name = "", .n_processors = 100000, .max_items = 3};
  t = described(SEER_TARGET_OPENCL, &info);
  assert_int_equal(t.gpu.n_processors, 4096);
  assert_int_equal(t.gpu.warp_items, 2);
  assert_int_equal(t.gpu.max_block_items, 2);
  assert_int_equal(t.gpu.max_block_bytes, 1024);
  assert_int_equal(t.gpu.l2_bytes, plain.gpu.l2_bytes);
  assert_true(t.gpu.clock_ghz == plain.gpu.clock_ghz);
  info = (seer_device_info){.max_items = UINT32_MAX, .group_bytes = UINT64_MAX};
  t = described(SEER_TARGET_OPENCL, &info);
  assert_int_equal(t.gpu.max_block_items, 1024);
  assert_int_equal(t.gpu.processor_bytes, 1 << 30);
  assert_int_equal(t.gpu.n_processors, 1);
}

static void processors_have_lanes(void **state) {
  (void)state;
  seer_device_info info = {.name = "Some processor",
      .n_processors = 2,
      .max_items = 8192,
      .group_bytes = 262144,
      .is_cpu = true,
      .n_lanes = 16};
  seer_target t = described(SEER_TARGET_OPENCL, &info);
  assert_true(t.gpu.items_are_lanes);
  assert_int_equal(t.gpu.warp_items, 16);
  assert_int_equal(t.gpu.max_block_items, 1024);
  seer_target again = parse(seer_target_print(&t, arena));
  assert_true(again.gpu.items_are_lanes && seer_target_key(&again) == seer_target_key(&t));
  // Their code is no GPU's: neither are their records.
  again.gpu.items_are_lanes = false;
  assert_true(seer_target_feature_key(&again) != seer_target_feature_key(&t));
  assert_true(seer_target_key(&again) != seer_target_key(&t));
  // A GPU with vectors, a processor without, one with more than vectors have.
  info.is_cpu = false;
  assert_false(described(SEER_TARGET_OPENCL, &info).gpu.items_are_lanes);
  info.is_cpu = true;
  static const uint32_t none[] = {0, 1, 2, 65, UINT32_MAX};
  for (size_t k = 0; k < SEER_COUNT_OF(none); k++) {
    info.n_lanes = none[k];
    assert_false(described(SEER_TARGET_OPENCL, &info).gpu.items_are_lanes);
  }
  assert_true(parse("opencl:cpu").gpu.items_are_lanes);
  assert_int_equal(parse("opencl:cpu").gpu.warp_items, 8);
}

static void cuda_is_as_described(void **state) {
  (void)state;
  seer_device_info info = {.name = "NVIDIA H200",
      .driver = "CUDA 13.0",
      .architecture = 90,
      .n_processors = 132,
      .max_items = 1024,
      .clock_mhz = 1980,
      .group_bytes = 49152,
      .cache_bytes = 60 << 20};
  // bench/gpu/facts-h200.json has these: the table's device.
  seer_target t = described(SEER_TARGET_CUDA, &info), table = parse("cuda:h200");
  assert_string_equal(seer_target_print(&t, arena), seer_target_print(&table, arena));
  info.n_processors = 60;  // a part of one
  t = described(SEER_TARGET_CUDA, &info);
  assert_int_equal(t.gpu.n_processors, 60);
  assert_false(t.is_measured);
  assert_true(seer_target_key(&t) != seer_target_key(&table));
  assert_true(t.gpu.dram_gbs == table.gpu.dram_gbs);
  snprintf(info.name, sizeof info.name, "Tesla T4");
  t = described(SEER_TARGET_CUDA, &info);  // a name of another architecture is none of the table's
  assert_string_equal(t.model_name, "Tesla T4");
  info.architecture = 75;
  t = described(SEER_TARGET_CUDA, &info);
  assert_string_equal(t.model_name, "NVIDIA T4");
  // Of no name that is known: the architecture's limits and rates, its own numbers.
  snprintf(info.name, sizeof info.name, "NVIDIA A10");
  info.architecture = 86;
  info.n_processors = 72;
  info.clock_mhz = 0;
  info.cache_bytes = 6 << 20;
  t = described(SEER_TARGET_CUDA, &info);
  seer_target plain = parse("cuda:sm_86");
  assert_string_equal(t.model_name, "NVIDIA A10");
  assert_int_equal(t.gpu.n_processors, 72);
  assert_int_equal(t.gpu.l2_bytes, 6 << 20);
  assert_int_equal(t.gpu.max_block_bytes, plain.gpu.max_block_bytes);
  assert_int_equal(t.gpu.processor_bytes, plain.gpu.processor_bytes);
  assert_true(t.gpu.clock_ghz == plain.gpu.clock_ghz);
  assert_true(seer_target_feature_key(&t) == seer_target_feature_key(&plain));
  info.architecture = 61;
  seer_status status = seer_gpu_of_described(SEER_TARGET_CUDA, &info, arena, &t);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "sm_61; known are cuda:sm_70"));
  seer_status_free(status);
}

// ---- nothing that is made for a CPU takes one
static void is_refused(seer_status status, const char *name) {
  const char *message = seer_arena_printf(arena,
      "target %s: GPUs are served by compile and tune, and by run, bench and verify of what these "
      "make",
      name);
  if (!status) fail_msg("%s was taken", name);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_string_equal(seer_status_message(status), message);
  seer_status_free(status);
}

static void what_serves_cpus_refuses_others(void **state) {
  (void)state;
  static const char *const names[] = {"cuda:h100", "cuda:sm_90", "opencl:generic", "opencl"};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) {
    seer_target t = parse(names[i]);
    double gflops;
    is_refused(seer_target_check_cpu(&t), names[i]);
    is_refused(seer_target_check_here(&t), names[i]);
    is_refused(seer_target_measure(&t), names[i]);
    is_refused(seer_target_peak_now(&t, 1e-3, 1e-3, &gflops), names[i]);
    is_refused(seer_target_fed_now(&t, 1e-3, 1e-3, &gflops), names[i]);
    assert_false(seer_target_is_c(&t) || seer_target_has(&t, "avx2") ||
        seer_target_dots_halves(&t) || seer_target_multiplies_bytes(&t));
    seer_context *context;
    assert_null(seer_context_create(&context));
    assert_null(seer_context_set(context, "target", names[i]));
    is_refused(seer_context_check_target(context), names[i]);
    is_refused(seer_context_find_target(context), names[i]);
    is_refused(seer_context_measure_target(context), names[i]);
    assert_null(seer_context_find_any_target(context));
    assert_int_equal(seer_context_target(context)->kind, t.kind);
    is_refused(seer_context_find_target(context), names[i]);  // found is not served
    seer_context_destroy(context);
  }
  seer_target native = parse("native");
  assert_null(seer_target_check_cpu(&native));
}

// Texts and keys of CPUs are what they were before there were kinds: records in the field have
// them.
static void keys_of_cpus_stay(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t key, feature_key;
  } cases[] = {
      {"cpu -triple=x86_64-linux-gnu -cpu=znver3 "
       "-features=+avx,+avx2,+fma,+sse3,+sse4.1,+sse4.2,+ssse3 -model=\"A B, C\" -threads=2 "
       "-lanes=8 -registers=16 -fma-ports=2 -fma-latency=4 -cache-line=64 -l1=32768 -l2=524288 "
       "-l3=33554432 -gflops=117.25 -dram-gbs=10 -l2-gbs=80 -l3-gbs=20 -measured",
          0x7b9ba227aa08a5ad, 0x9edb72b60ec96d5a},
      {"cpu -triple=aarch64-linux-gnu -cpu=generic -features=+fp-armv8,+neon -threads=1 -lanes=4 "
       "-registers=32 -fma-ports=2 -fma-latency=4 -cache-line=64 -l1=32768 -l2=524288 -l3=8388608 "
       "-gflops=40 -dram-gbs=10 -l2-gbs=80 -l3-gbs=20",
          0x19719b6585c8e98f, 0xccccf48399da87d5},
      {"cpu -triple=c -features= -threads=1 -lanes=16 -registers=16 -fma-ports=1 -fma-latency=4 "
       "-cache-line=64 -l1=32768 -l2=524288 -l3=8388608 -gflops=80 -dram-gbs=10 -l2-gbs=80 "
       "-l3-gbs=20",
          0xa8da932f472f3e85, 0x5bd21753cf584be1},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = parse(cases[i].text);
    assert_string_equal(seer_target_print(&t, arena), cases[i].text);
    if (seer_target_key(&t) != cases[i].key || seer_target_feature_key(&t) != cases[i].feature_key)
      fail_msg("%s: %016" PRIx64 ", %016" PRIx64, cases[i].text, seer_target_key(&t),
          seer_target_feature_key(&t));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_round_trip),
      cmocka_unit_test(names_are_what_they_print),
      cmocka_unit_test(facts_follow_from_the_architecture),
      cmocka_unit_test(rates_come_to_what_is_published),
      cmocka_unit_test(errors_name_what_was_found_and_what_is_allowed),
      cmocka_unit_test(keys_carry_the_kind),
      cmocka_unit_test(keys_see_what_they_should),
      cmocka_unit_test(numbers_name_devices_here),
      cmocka_unit_test(opencl_is_as_described),
      cmocka_unit_test(processors_have_lanes),
      cmocka_unit_test(cuda_is_as_described),
      cmocka_unit_test(what_serves_cpus_refuses_others),
      cmocka_unit_test(keys_of_cpus_stay),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
