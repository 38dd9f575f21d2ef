// SEER_TEST: labels=serial
// Targets: detection, text both ways, limits, keys, measured speeds of sane size.
#include <math.h>
#include <string.h>

#include "setup/context.h"
#include "setup/isa.h"
#include "setup/target.h"
#include "setup/target_table.h"
#include "support/test_arena.h"
#include "support/test_target.h"

static seer_target parse(const char *text) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (status) fail_msg("%s: %s", text, seer_status_message(status));
  return target;
}

static void native_is_complete_and_round_trips(void **state) {
  (void)state;
  seer_target t = parse("native");
  assert_true(
      t.threads >= 1 && t.vector_bytes >= 16 && t.n_vector_registers >= 16 && t.n_fma_ports >= 1);
  assert_true(t.l1_bytes > 0 && t.cache_line_bytes >= 16 && !t.is_measured);
  assert_true(t.peak_gflops > 0 && t.dram_gbs > 0 && t.l2_gbs > 0 && t.l3_gbs > 0);
  const char *text = seer_target_print(&t, arena);
  seer_target back = parse(text);
  assert_string_equal(seer_target_print(&back, arena), text);
  assert_true(seer_target_key(&t) == seer_target_key(&back));
}

static void texts_round_trip(void **state) {
  (void)state;
  static const char *const texts[] = {"x86_64-linux-gnu",
      "aarch64-linux-gnu -cpu=neoverse-n1 -threads=8", "riscv64-linux-gnu",
      "cpu -cpu=znver4 -l2=1M -l3=32M", "native -threads=3", "arm64-linux-gnu -features=", "c",
      "c-vectors -lanes=8 -threads=4 -l2=1M",
      "x86_64-linux-gnu -model=\"A B, C\" -gflops=117.25 -measured"};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++) {
    seer_target t = parse(texts[i]);
    const char *text = seer_target_print(&t, arena);
    seer_target back = parse(text);
    assert_string_equal(seer_target_print(&back, arena), text);
    assert_string_equal(back.features, t.features);
  }
}

static void facts_follow_from_cpu_and_features(void **state) {
  (void)state;
  seer_target t = parse("x86_64-linux-gnu,-cpu=znver4,-threads=4");
  assert_int_equal(t.vector_bytes, 64);
  assert_int_equal(t.n_vector_registers, 32);
  assert_int_equal(t.n_fma_ports, 1);
  assert_int_equal(t.threads, 4);
  t = parse("x86_64-linux-gnu -cpu=znver4 -features=+fma,+avx2,+avx,+fma,-avx512f");
  assert_true(seer_target_has_feature(t.features, "fma"));
  assert_false(seer_target_has_feature(t.features, "avx512f"));
  assert_false(seer_target_has_feature(t.features, "avx512vl"));  // it implies avx512f
  assert_int_equal(t.vector_bytes, 32);
  assert_int_equal(t.n_vector_registers, 16);
  assert_int_equal(t.n_fma_ports, 2);
  t = parse("cpu -l2=512K -triple=aarch64-linux-gnu -lanes=4");
  assert_string_equal(t.cpu, "generic");
  assert_int_equal(t.l2_bytes, 512 << 10);
}

// A name brings what LLVM knows of it; a bare triple is the plainest machine.
static void names_mean_what_they_say(void **state) {
  (void)state;
  static const struct {
    const char *text, *features;
    uint32_t lanes, registers, ports;
  } cases[] = {
      {"x86_64-linux-gnu", "", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64", "", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64-v2", "+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64-v3",
          "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 8,
          16, 2},
      {"cpu -cpu=x86-64-v4",
          "+avx,+avx2,+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,+bmi,+bmi2,+f16c,+fma,"
          "+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3",
          16, 32, 1},
      {"x86_64-linux-gnu -cpu=sandybridge", "+avx,+pclmul,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 8,
          16, 1},
      {"x86_64-linux-gnu -features=+fma", "+avx,+fma,+sse3,+sse4.1,+sse4.2,+ssse3", 8, 16, 2},
      {"x86_64-linux-gnu -cpu=haswell -features=-avx",
          "+bmi,+bmi2,+lzcnt,+movbe,+pclmul,+popcnt,"
          "+sse3,+sse4.1,+sse4.2,+ssse3",
          4, 16, 1},
      {"cpu -cpu=haswell -features=+sse4.1,+sse3", "+sse3,+sse4.1,+ssse3", 4, 16, 1},
      {"cpu -cpu=haswell -features=", "", 4, 16, 1},
      {"x86_64-linux-gnu -features=+sse2", "", 4, 16, 1},
      {"aarch64-linux-gnu", "+fp-armv8,+neon", 4, 32, 2},
      {"arm64-linux-gnu -cpu=neoverse-n1", "+dotprod,+fp-armv8,+fullfp16,+lse,+neon,+rdm", 4, 32,
          2},
      {"riscv64-linux-gnu", "+a,+c,+d,+f,+m", 1, 32, 2},
      {"riscv64-linux-gnu -features=+v", "+a,+c,+d,+f,+m,+v", 4, 32, 2},
      {"riscv64-linux-gnu -cpu=sifive-x280", "+a,+c,+d,+f,+m,+v", 4, 32, 2},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = parse(cases[i].text);
    if (strcmp(t.features, cases[i].features) != 0)
      fail_msg("%s: %s, expected %s", cases[i].text, t.features, cases[i].features);
    assert_int_equal(seer_target_lanes(&t), cases[i].lanes);
    assert_int_equal(t.n_vector_registers, cases[i].registers);
    assert_int_equal(t.n_fma_ports, cases[i].ports);
    const char *text = seer_target_print(&t, arena);
    seer_target back = parse(text);
    assert_string_equal(seer_target_print(&back, arena), text);
    assert_true(seer_target_key(&t) == seer_target_key(&back));
  }
  for (const char *const *cpu = (const char *const[]){"skylake-avx512", "icelake-server", "znver5",
           "sapphirerapids", "cascadelake", NULL};
       *cpu; cpu++) {
    seer_target t = parse(seer_arena_printf(arena, "x86_64-linux-gnu -cpu=%s", *cpu));
    assert_true(seer_target_has_feature(t.features, "avx512vl"));
    assert_int_equal(t.vector_bytes, 64);
  }
}

static void expect_error(const char *text, const char *part) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (!status) fail_msg("accepted '%s'", text);
  if (!strstr(seer_status_message(status), part))
    fail_msg("'%s' is not in '%s'", part, seer_status_message(status));
  seer_status_free(status);
}

static void unknown_names_have_near_ones(void **state) {
  (void)state;
  expect_error("x86_64-linux-gnu -cpu=haswel", "haswell");
  expect_error("x86_64-linux-gnu -cpu=x86_64-v3", "x86-64-v3");
  expect_error("x86_64-linux-gnu -cpu=pentium4", "knows no x86_64 processor 'pentium4'");
  expect_error("x86_64-linux-gnu -cpu=neoverse-n1", "knows no x86_64 processor");
  expect_error("native -features=+avx3", "avx");
  expect_error("x86_64-linux-gnu -features=+neon", "no feature that x86_64 code may use");
  expect_error("x86_64-linux-gnu -features=-sse2", "every x86_64 machine has it");
  expect_error("cpu -cpu=haswell -features=-avx2", "must be a whole list");
  expect_error("aarch64-linux-gnu -features=-neon", "without +neon");
  expect_error("riscv64-linux-gnu -cpu=rocket-rv64", "without +d");
}

// The processors that are recognised, with the features that recognising them needs, are LLVM's.
static void known_processors_are_those_of_llvm(void **state) {
  (void)state;
  static const char *const names[] = {"znver5", "znver4", "znver3", "znver2", "znver1",
      "graniterapids", "sapphirerapids", "icelake-server", "icelake-client", "cascadelake",
      "skylake-avx512", "alderlake", "skylake", "haswell", "x86-64-v4", "x86-64-v3", "x86-64-v2",
      "x86-64"};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) {
    const seer_target_cpu *cpu = seer_target_find_cpu(names[i]);
    seer_target t = parse(seer_arena_printf(arena, "x86_64-linux-gnu -cpu=%s", names[i]));
    for (const char *at = cpu->needs; *at; at += *at == ',') {
      size_t n = strcspn(at, ",");
      const char *need = seer_arena_strndup(arena, at, n);
      if (!seer_target_has_feature(t.features, need)) fail_msg("%s has no %s", names[i], need);
      at += n;
    }
    assert_int_equal(t.vector_bytes, cpu->vector_bytes);
    assert_int_equal(t.n_fma_ports, cpu->n_fma_ports);
  }
}

// What is out of bounds is refused with the bounds.
static void limits_are_stated(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {{"native -threads=5000", "'-threads=5000' must be a number from 1 to 4096"},
      {"native -lanes=128", "from 1 to 64"}, {"native -lanes=0", "from 1 to 64"},
      {"native -registers=1", "from 4 to 256"}, {"native -fma-ports=0", "from 1 to 16"},
      {"native -fma-latency=1000", "from 1 to 64"}, {"native -l1=0", "from 1024 to 1.09951e+12"},
      {"native -l2=-1", "from 0 to 1.09951e+12"}, {"native -l3=2048G", "from 0 to 1.09951e+12"},
      {"native -gflops=0", "from 0.001 to 1e+06"}, {"native -gflops=nan", "from 0.001 to 1e+06"},
      {"native -l2-gbs=inf", "from 0.001 to 1e+06"}, {"native -l3-gbs=1e9", "from 0.001 to 1e+06"},
      {"native -dram-gbs=1e-9", "from 0.001 to 1e+06"}, {"native -cache-line=8", "from 16 to 1024"},
      {"native -cache-line=96", "-cache-line=96 must be a power of two"},
      {"native -lanes=6", "-lanes=6 must be a power of two"},
      {"native -lanes=0", "'-lanes=0' must be a number from 1 to 64"},
      {"c -cpu=znver4", "'c' has no -cpu="},
      {"c-vectors -features=+avx2", "'c-vectors' has no -features="},
      {"c-lanes", "known are native, cpu, c, c-vectors"}, {"c-lanes", "familyseer list targets"},
      {"cpu -triple=c -features=+avx2", "'c' has no -features="},
      {"c -lanes=3", "-lanes=3 must be a power of two"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target target;
    seer_status status = seer_target_parse(cases[i].text, arena, &target);
    if (!status) fail_msg("accepted '%s'", cases[i].text);
    if (!strstr(seer_status_message(status), cases[i].message))
      fail_msg("'%s': %s", cases[i].text, seer_status_message(status));
    seer_status_free(status);
  }
}

// Code for other machines can be made, not run.
static void what_can_not_run_here_is_named(void **state) {
  (void)state;
  seer_target native = parse("native"), other = parse("riscv64-linux-gnu"), more = native;
  assert_null(seer_target_check_here(&native));
  seer_status status = seer_target_check_here(&other);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "riscv64"));
  seer_status_free(status);
#if defined(__x86_64__)
  more.features = "+amx-fp16,+sse3";
  bool has_it = seer_target_has_feature(native.features, "amx-fp16");
  status = seer_target_check_here(&more);
  assert_int_equal(status == SEER_OK, has_it);
  if (status) assert_non_null(strstr(seer_status_message(status), "it lacks amx-fp16"));
  seer_status_free(status);
#endif
  (void)more;
}

// The plain ones: nothing that a division needs is 0, and what runs here is none of their business.
static void c_is_a_target_without_instructions(void **state) {
  (void)state;
  seer_target c = parse("c"), wide = parse("c-vectors -lanes=8"), native = parse("native");
  assert_true(seer_target_is_c(&c) && seer_target_is_c(&wide) && !seer_target_is_c(&native));
  assert_true(seer_target_is_plain(&c) && !seer_target_is_plain(&wide));
  assert_int_equal(parse("c-vectors").vector_bytes, 16);
  assert_int_equal(wide.vector_bytes, 32);
  assert_true(c.vector_bytes > 0);
  assert_string_equal(c.features, "");
  assert_true(c.n_vector_registers > 0 && c.n_fma_ports > 0 && c.fma_latency_cycles > 0);
  assert_true(c.peak_gflops > 0 && c.l1_bytes > 0 && c.cache_line_bytes > 0 && c.threads > 0);
  assert_true(seer_target_key(&c) != seer_target_key(&wide));
  seer_status status = seer_target_check_here(&c);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "compile --emit c"));
  seer_status_free(status);
}

// A text that says what was measured is believed.
static void stated_speeds_are_kept(void **state) {
  (void)state;
  seer_context *context;
  assert_null(seer_context_create(&context));
  assert_null(seer_context_set(context, "target", "native -gflops=7 -l2-gbs=3 -measured"));
  assert_null(seer_context_measure_target(context));
  assert_true(seer_context_target(context)->peak_gflops == 7);
  assert_true(seer_context_target(context)->l2_gbs == 3);
  seer_context_destroy(context);
}

// The machines that tests choose for: the files parse, say all that `devices` prints, and
// differ.
static void made_up_machines_are_complete(void **state) {
  (void)state;
  uint64_t key[TEST_TARGETS];
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    const char *text = test_target_text(test_target_names[m], arena);
    seer_target t = parse(text);
    assert_string_equal(seer_target_print(&t, arena), text);
    assert_string_equal(t.model_name, test_target_names[m]);
    assert_true(t.is_measured);
    key[m] = seer_target_key(&t);
    for (uint32_t k = 0; k < m; k++) assert_true(key[k] != key[m]);
  }
}

static void bad_texts_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"", "  ", "mips-linux", "cuda", "native -threads=0",
      "native -threads=x", "native -threads=1.5", "native -what=1", "native threads=1",
      "native -l2=5Q", "native -features=avx", "x86_64-linux-gnu -lanes=5", "native -gflops=-3"};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    seer_target target;
    seer_status status = seer_target_parse(bad[i], arena, &target);
    if (!status) fail_msg("accepted '%s'", bad[i]);
    seer_status_free(status);
  }
}

static void masked_features_choose_a_lesser_cpu(void **state) {
  (void)state;
  const char *avx2 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+vaes,+vpclmulqdq";
  assert_string_equal(seer_target_match_cpu("AuthenticAMD", 0x19, 0x11, avx2)->name, "znver3");
  assert_string_equal(seer_target_match_cpu("Nobody", 1, 1, avx2)->name, "x86-64-v3");
  assert_string_equal(seer_target_match_cpu("Nobody", 1, 1, "")->name, "x86-64");
  assert_string_equal(seer_target_match_cpu("GenuineIntel", 6, 0x55, avx2)->name, "skylake");
  assert_string_equal(seer_target_match_cpu("AuthenticAMD", 0x20, 1, avx2)->name, "znver3");
  assert_true(seer_target_has_feature(avx2, "avx"));
  assert_false(seer_target_has_feature(avx2, "av"));
  assert_false(seer_target_has_feature("-avx", "avx"));
}

static void made_up_models_go_by_features(void **state) {
  (void)state;
  static const struct {
    const char *from;  // whose features the machine shows
    uint32_t model;
    const char *expected;
  } cases[] = {{"sapphirerapids", 0xa7, "sapphirerapids"},
      {"sapphirerapids", 0x8f, "sapphirerapids"}, {"graniterapids", 0x3c, "graniterapids"},
      {"graniterapids", 0xff, "graniterapids"}, {"icelake-client", 0xa7, "icelake-client"},
      {"icelake-client", 0x7e, "icelake-client"}, {"icelake-client", 0x6a, "icelake-server"},
      {"alderlake", 0x97, "alderlake"}, {"alderlake", 0xff, "alderlake"},
      {"skylake-avx512", 0x55, "skylake-avx512"}, {"skylake", 0x5e, "skylake"},
      {"haswell", 0x3c, "haswell"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const char *features;
    assert_null(seer_isa_cpu_features(SEER_ISA_X86_64, cases[i].from, arena, &features));
    assert_string_equal(seer_target_match_cpu("GenuineIntel", 6, cases[i].model, features)->name,
        cases[i].expected);
  }
}

static void keys_see_what_they_should(void **state) {
  (void)state;
  const char *base = "cpu -cpu=znver3 -features=+avx2 -threads=2";
  seer_target a = parse(base);
  static const struct {
    const char *more;
    bool same_key, same_feature_key;
  } cases[] = {{" -threads=4", false, false}, {" -features=+avx", false, false},
      {" -l3=1M", false, true}, {" -cpu=znver2", false, true},
      {" -gflops=5 -measured -dram-gbs=3", true, true}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target b = parse(seer_arena_printf(arena, "%s%s", base, cases[i].more));
    assert_int_equal(seer_target_key(&a) == seer_target_key(&b), cases[i].same_key);
    assert_int_equal(
        seer_target_feature_key(&a) == seer_target_feature_key(&b), cases[i].same_feature_key);
  }
}

static void is_a_speed(double value) { assert_true(isfinite(value) && value > 0); }

static void measured_speeds_are_numbers(void **state) {
  (void)state;
  // Also where there is no cache to measure, or next to none, or one that no buffer is made
  // for.
  static const char *const texts[] = {"native", "native -l2=0 -l3=0", "native -l2=1024 -l3=1024",
      "native -l2=1G -l3=0", "native -l2=1024G -l3=1024G"};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++) {
    seer_target t = parse(texts[i]);
    seer_status status = seer_target_measure(&t);
    assert_null(status);
    assert_true(t.is_measured);
    is_a_speed(t.peak_gflops);
    is_a_speed(t.dram_gbs);
    is_a_speed(t.l2_gbs);
    is_a_speed(t.l3_gbs);
    seer_target back = parse(seer_target_print(&t, arena));
    assert_true(back.l2_gbs == t.l2_gbs && back.is_measured);
  }
  seer_target other = parse("aarch64-linux-gnu");
#if defined(__x86_64__)
  seer_status status = seer_target_measure(&other);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_are_stated),
      cmocka_unit_test(what_can_not_run_here_is_named),
      cmocka_unit_test(c_is_a_target_without_instructions),
      cmocka_unit_test(stated_speeds_are_kept),
      cmocka_unit_test(made_up_machines_are_complete),
      cmocka_unit_test(native_is_complete_and_round_trips),
      cmocka_unit_test(texts_round_trip),
      cmocka_unit_test(facts_follow_from_cpu_and_features),
      cmocka_unit_test(names_mean_what_they_say),
      cmocka_unit_test(unknown_names_have_near_ones),
      cmocka_unit_test(known_processors_are_those_of_llvm),
      cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(masked_features_choose_a_lesser_cpu),
      cmocka_unit_test(made_up_models_go_by_features),
      cmocka_unit_test(keys_see_what_they_should),
      cmocka_unit_test(measured_speeds_are_numbers),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
